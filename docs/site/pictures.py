"""Draws the pictures of the method: groups, separators, chunks, interfaces, rows that differ. SVG without any library."""
import pathlib

GREY, BLUE, ORANGE, GREEN, VIOLET = "#808080", "#2f86d6", "#e0691c", "#1f9e68", "#8a6fe0"


class Picture:
    def __init__(self, width, height, title):
        self.width, self.height = width, height
        self.parts = ["<title>%s</title>" % title]

    def box(self, x, y, w, h, colour=GREY, fill=0.25, dashed=False):
        self.parts.append('<rect x="%g" y="%g" width="%g" height="%g" rx="2" fill="%s" fill-opacity="%g" stroke="%s"%s/>' % (x, y, w, h, colour, fill, colour, ' stroke-dasharray="4 3"' if dashed else ""))

    def line(self, *points, colour=GREY, arrow=False, dashed=False, width=1.4):
        self.parts.append(
            '<polyline points="%s" fill="none" stroke="%s" stroke-width="%g"%s%s/>'
            % (" ".join("%g,%g" % p for p in points), colour, width, ' marker-end="url(#arrow-%s)"' % colour[1:] if arrow else "", ' stroke-dasharray="4 3"' if dashed else "")
        )

    def text(self, x, y, words, colour=GREY, anchor="middle", size=12, bold=False):
        self.parts.append('<text x="%g" y="%g" fill="%s" text-anchor="%s" font-size="%g"%s>%s</text>' % (x, y, colour, anchor, size, ' font-weight="bold"' if bold else "", words))

    def save(self, path):
        arrows = "".join(
            '<marker id="arrow-%s" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="%s"/></marker>' % (c[1:], c)
            for c in (GREY, BLUE, ORANGE, GREEN, VIOLET)
        )
        path.write_text(
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="DejaVu Sans, Helvetica, Arial, sans-serif" role="img"><defs>%s</defs>%s</svg>\n'
            % (self.width, self.height, self.width, self.height, arrows, "".join(self.parts))
        )


def groups(path):
    """Section 3: fifteen block rows, radix 4, level by level"""
    p = Picture(720, 250, "Fifteen block rows reduced with radix 4")
    step, left = 40, 112
    for level, (q, y) in enumerate(((1, 30), (4, 105), (16, 180))):
        p.text(left - 12, y + 20, "level %d" % level if level < 2 else "solved", anchor="end")
        for row in range(1, 16):
            x = left + (row - 1) * step
            if row % q:
                continue
            kept = row % (4 * q) == 0
            p.box(x, y, step - 8, 30, ORANGE if kept else BLUE, 0.55 if kept else 0.25)
            p.text(x + (step - 8) / 2, y + 20, str(row))
        if level == 0:
            for first in (1, 5, 9, 13):
                x = left + (first - 1) * step
                p.line((x, y - 6), (x, y - 12), (x + 3 * step - 8, y - 12), (x + 3 * step - 8, y - 6))
                p.text(x + 1.5 * step - 4, y - 16, "a group", size=10)
            for row in (4, 8, 12):
                x = left + (row - 1) * step + (step - 8) / 2
                for other, away in ((x - step, -6), (x + step, 6)):
                    p.line((other, y + 32), (x + away, y + 73), colour=BLUE, arrow=True)
    for row in (4, 8, 12):
        x = left + (row - 1) * step + (step - 8) / 2
        p.line((x, 138), (x, 176), arrow=True, dashed=True)
    for row in (4, 8, 12):
        x = left + (row - 1) * step
        p.box(x, 180, step - 8, 30, GREEN, 0.35)
        p.text(x + (step - 8) / 2, 200, str(row))
    p.text(left - 100, 238, "blue: eliminated, each group by itself, by sub-problems (D + a λ) v = right-hand side; orange: separators, kept", anchor="start", size=11)
    p.save(path)


def separators(path):
    """Sections 4 and 5: one pass down, lines over the separators, one pass up"""
    p = Picture(720, 300, "Groups of seven rows, separators, and lines over the separators")
    for column, (x, title) in enumerate(((30, "1. reduce"), (270, "2. lines over separators"), (510, "3. substitute back"))):
        p.text(x + 90, 18, title, bold=True)
        y = 30
        for group in range(3):
            for row in range(7):
                p.box(x, y, 180, 8, BLUE, 0.25 if column != 1 else 0.05)
                y += 9
            if group < 2:
                p.box(x, y + 1, 180, 9, ORANGE, 0.7)
                if column == 0:
                    p.line((x + 60, y - 22), (x + 60, y - 1), colour=BLUE, arrow=True)
                    p.line((x + 120, y + 34), (x + 120, y + 13), colour=BLUE, arrow=True)
                if column == 2:
                    p.line((x + 60, y - 1), (x + 60, y - 24), colour=ORANGE, arrow=True)
                    p.line((x + 120, y + 13), (x + 120, y + 36), colour=ORANGE, arrow=True)
                y += 12
        if column == 1:
            for k in range(6):
                p.line((x + 15 + 30 * k, 34), (x + 15 + 30 * k, y - 4), colour=ORANGE, dashed=True)
                for s in (1, 2):
                    p.box(x + 11 + 30 * k, 30 + 63 * s + 12 * (s - 1), 8, 12, ORANGE, 1)
    p.line((215, 130), (262, 130), arrow=True)
    p.line((455, 130), (502, 130), arrow=True)
    for x, lines in ((30, ("f is read once; modes of a", "group are lanes of a vector;", "sums go to the separators")), (270, ("an eighth of the rows: transformed", "along x, a tridiagonal line for each", "mode, two numbers for each gap")), (510, ("separators' solutions enter the", "groups; f is read again,", "u is written once"))):
        for i, words in enumerate(lines):
            p.text(x + 90, 262 + 15 * i, words, size=11)
    p.save(path)


def chunks(path):
    """Sections 14 and 16: a line in chunks, two numbers of each, a small system, and back"""
    p = Picture(720, 210, "A line cut into chunks")
    left, width = 120, 130
    p.text(left - 12, 45, "a line", anchor="end")
    p.text(left - 12, 115, "reduced", anchor="end")
    p.text(left - 12, 180, "solution", anchor="end")
    for chunk in range(4):
        x = left + chunk * (width + 14)
        for i in range(10):
            end = i in (0, 9)
            p.box(x + 13 * i, 30, 11, 22, ORANGE if end else BLUE, 0.7 if end else 0.25)
            p.box(x + 13 * i, 165, 11, 22, GREEN if not end else ORANGE, 0.25 if not end else 0.7)
        p.text(x + width / 2, 22, "chunk %d: a part, a block, a rank" % (chunk + 1) if chunk == 0 else "chunk %d" % (chunk + 1), size=10)
        for i, at in ((0, -14), (9, 14)):
            p.box(x + width / 2 + at - 6, 100, 12, 22, ORANGE, 0.7)
            p.line((x + 13 * i + 5, 54), (x + width / 2 + at, 97), colour=BLUE, arrow=True)
            p.line((x + width / 2 + at, 125), (x + 13 * i + 5, 162), colour=ORANGE, arrow=True)
        if chunk < 3:
            p.line((x + width / 2 + 24, 111), (x + width / 2 + width - 10, 111), arrow=True, dashed=True)
    p.text(left, 205, "every chunk is eliminated by itself; what is left of it are its two end rows, tridiagonal from chunk to chunk", anchor="start", size=11)
    p.save(path)


def interfaces(path):
    """Section 15 and ranks.md: slabs of ranks and the rows between them"""
    p = Picture(720, 300, "Slabs of four ranks and the interface rows between them")
    y = 20
    for rank in range(4):
        p.box(150, y, 260, 48, BLUE, 0.2)
        p.text(138, y + 28, "rank %d" % rank, anchor="end")
        p.text(280, y + 28, "groups and separators of its own", size=11)
        y += 49
        if rank < 3:
            p.box(150, y, 260, 12, ORANGE, 0.7)
            p.line((415, y + 6), (520, 92 + 34 * rank), colour=ORANGE, arrow=True)
            y += 13
    for rank in range(3):
        p.box(525, 82 + 34 * rank, 150, 20, ORANGE, 0.12)
        p.text(600, 96 + 34 * rank, "interface row %d" % rank, size=11)
        if rank < 2:
            p.line((600, 102 + 34 * rank), (600, 114 + 34 * rank))
    p.text(600, 64, "per mode: a tridiagonal", size=11)
    p.text(600, 200, "system of ranks - 1 rows,", size=11)
    p.text(600, 215, "shared out by modes", size=11)
    p.text(150, 288, "what travels is one row (a plane in three dimensions) for each rank, not the field", anchor="start", size=11)
    p.save(path)


def differ(path):
    """Section 10: an obstacle, the rows that differ, and what a solve does"""
    p = Picture(720, 250, "Rows that differ around an obstacle")
    for i in range(16):
        for j in range(10):
            r = ((i - 6.5) / 2.6) ** 2 + ((j - 4.5) / 2.6) ** 2
            inside = r < 1
            near = not inside and any(((i + a - 6.5) / 2.6) ** 2 + ((j + b - 4.5) / 2.6) ** 2 < 1 for a, b in ((1, 0), (-1, 0), (0, 1), (0, -1)))
            p.box(20 + 20 * i, 20 + 20 * j, 18, 18, GREY if inside else ORANGE if near else BLUE, 0.5 if inside else 0.7 if near else 0.15)
    for i, (colour, words) in enumerate(((BLUE, "rows of the box: a stencil that most rows have"), (ORANGE, "m rows that differ: they have lost a link"), (GREY, "the obstacle: rows that nothing asks for"))):
        p.box(365, 28 + 26 * i, 16, 16, colour, 0.5)
        p.text(390, 41 + 26 * i, words, anchor="start", size=12)
    for i, words in enumerate(("1. solve the box", "2. a system of m numbers for what the m rows want else;", "    each of its steps is a solve of the box", "3. solve the box once more, with these as sources")):
        p.text(365, 130 + 22 * i, words, anchor="start", size=12)
    p.text(20, 240, "the steps do not grow with the grid; once all m directions are known a solve is two solves of the box", anchor="start", size=11)
    p.save(path)


def cube(path):
    """Section 7: a transform along one axis makes planes"""
    p = Picture(720, 220, "Three dimensions: a transform along one axis leaves planes")

    def solid(x, y, colour, slices):
        for s in reversed(range(slices)):
            dx, dy = x + s * 60 / slices, y - s * 44 / slices
            p.parts.append('<rect x="%g" y="%g" width="110" height="90" rx="2" fill="%s" fill-opacity="%g" stroke="%s"/>' % (dx, dy, colour, 0.12 if slices > 1 else 0.3, colour))

    solid(30, 80, BLUE, 8)
    solid(290, 80, VIOLET, 8)
    solid(560, 60, VIOLET, 1)
    p.line((215, 110), (280, 110), arrow=True)
    p.line((475, 110), (545, 110), arrow=True)
    p.text(248, 98, "along y", size=11)
    p.text(510, 98, "each", size=11)
    for k in range(5):
        p.line((575 + 20 * k, 66), (575 + 20 * k, 144), colour=ORANGE, dashed=True)
    p.text(115, 198, "f, n³ unknowns", size=12)
    p.text(375, 198, "planes of modes of y, uncoupled", size=12)
    p.text(615, 198, "a plane: 2-D with a shift", size=12)
    p.save(path)


ALL = {"groups": groups, "separators": separators, "chunks": chunks, "interfaces": interfaces, "differ": differ, "cube": cube}


def draw(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, function in ALL.items():
        function(folder / ("method_%s.svg" % name))
