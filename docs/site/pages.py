#!/usr/bin/env python3
"""Lays out what Sphinx builds the site from: the documents of the repository, docs/method.md cut into its chapters, and a page for each man-page
comment of the sources. Links between documents and to files of the repository are turned into links of the site.

usage: pages.py FOLDER
"""
import pathlib
import re
import shutil
import sys
import textwrap

import pictures

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = {  # file of the repository: page of the site
    "docs/fits.md": "fits.md",
    "docs/using.md": "using.md",
    "docs/building.md": "building.md",
    "docs/options.md": "options.md",
    "docs/grids.md": "grids.md",
    "docs/accuracy.md": "accuracy.md",
    "docs/performance.md": "performance.md",
    "docs/ranks.md": "ranks.md",
    "docs/architecture.md": "architecture.md",
    "docs/gallery.md": "gallery.md",
    "docs/fishpack.md": "fishpack.md",
    "docs/tests.md": "tests.md",
    "docs/papers.md": "papers.md",
    "bench/README.md": "bench.md",
    "packaging/README.md": "packaging.md",
    "packaging/python/README.md": "python.md",
    "packaging/petsc/README.md": "petsc.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
    "SUPPORT.md": "support.md",
    "docs/method.md": "method/index.md",
    "README.md": "readme.md",
}
DOCUMENTS.update({"docs/tutorials/" + p.name: "tutorials/" + p.name for p in sorted((ROOT / "docs" / "tutorials").glob("*.md"))})
PICTURES = {"1": [], "3": ["groups"], "4": ["separators"], "7": ["cube"], "10": ["differ"], "14": ["chunks"], "15": ["interfaces"]}
CAPTIONS = {
    "groups": "Groups between the separators of each level, radix 4",
    "separators": "One pass down, lines over the separators, one pass up",
    "cube": "Planes of modes",
    "differ": "Rows that differ around an obstacle",
    "chunks": "A line in chunks",
    "interfaces": "Slabs of ranks and the interface rows between them",
}
KINDS = {"@": "function", "MC": "type or constant", "E": "enumeration", "S": "object", "J": "type name"}


def slug(heading):
    """The anchor that a heading has on GitHub"""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


class Site:
    def __init__(self, folder):
        self.folder = folder
        self.anchors = {}  # of docs/method.md: the chapter's page
        self.api = {}

    def write(self, page, text):
        path = self.folder / page
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def target(self, source, page, link):
        """Link of a page to what a link in the file that it is from means"""
        if re.match(r"[a-z]+:|#", link) and not (source == "docs/method.md" and link.startswith("#")):
            return link
        name, _, anchor = link.partition("#")
        base = pathlib.PurePosixPath(source).parent
        parts = []
        for part in (base / name).parts if name else pathlib.PurePosixPath(source).parts:
            if part == "..":
                parts.pop()
            else:
                parts.append(part)
        file = "/".join(parts)
        up = "../" * page.count("/")
        if file == "docs/method.md" and anchor:
            return up + self.anchors[anchor] + "#" + anchor
        if file in DOCUMENTS:
            return up + DOCUMENTS[file] + ("#" + anchor if anchor else "")
        if file.startswith("docs/figures/") or file.startswith("figures/"):
            return up + "figures/" + parts[-1]
        if not (ROOT / file).exists():
            raise SystemExit("%s: a link to %s, which does not exist" % (source, link))
        if (ROOT / file).is_dir():
            return up + {"examples": "gallery.md", "packaging": "packaging.md", "bench": "bench.md"}.get(file, "architecture.md")
        copy = self.folder / "files" / file
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, copy)
        return up + "files/" + file

    def links(self, source, page, text):
        """The text with its links turned, code left alone"""

        def turn(match):
            return match.group(1) + self.target(source, page, match.group(2)) + ")"

        out, fence = [], False
        for line in text.split("\n"):
            if line.startswith("```"):
                fence = not fence
            if not fence and not line.startswith("    "):
                line = re.sub(r"(\]\()([^)\s]+)\)", turn, line)
                line = self.marked(line, "", "../" * page.count("/") + "api/")
            out.append(line)
        return "\n".join(out)

    def documents(self):
        for source, page in DOCUMENTS.items():
            if source != "docs/method.md":
                text = (ROOT / source).read_text()
                text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.S)
                if source == "docs/tutorials/index.md":
                    text += "\n```{toctree}\n:hidden:\n\n%s\n```\n" % "\n".join(re.findall(r"(?m)^\d\..*?\((.*?)\)", text))
                self.write(page, self.links(source, page, text))

    def method(self):
        """docs/method.md: its head is the first page, each section, with its number, one more"""
        text = (ROOT / "docs" / "method.md").read_text()
        head, *sections = re.split(r"(?m)^## ", text)
        pages = []
        for section in sections:
            title = section.split("\n", 1)[0]
            number = title.split(".")[0]
            page = "method/%02d-%s.md" % (int(number), slug(title.split(".", 1)[1].strip()))
            pages.append((page, number, title, section.split("\n", 1)[1]))
            for heading in [title] + re.findall(r"(?m)^###+ (.*)$", section):
                self.anchors[slug(heading)] = page
        for page, number, title, body in pages:
            body = re.sub(r"(?m)^##(#+ )", r"#\1", body)
            shown = "".join("\n![%s](../figures/method_%s.svg)\n" % (CAPTIONS[name], name) for name in PICTURES.get(number, []))
            self.write(page, "# %s\n%s%s" % (title, shown, self.links("docs/method.md", page, body)))
        tree = "\n```{toctree}\n:hidden:\n\n%s\n```\n" % "\n".join(page.split("/")[1] for page, *_ in pages)
        shown = "![%s](../figures/method_separators.svg)\n\n![%s](../figures/method_interfaces.svg)\n" % (CAPTIONS["separators"], CAPTIONS["interfaces"])
        self.write("method/index.md", self.links("docs/method.md", "method/index.md", head) + "\n" + shown + tree)

    # ---- the man pages ----

    def comments(self):
        for path in [ROOT / "include" / "petscbcr.h", *sorted(p for f in ("pc", "ksp", "src") for p in (ROOT / f).rglob("*.c"))]:
            lines = path.read_text().split("\n")
            for at, line in enumerate(lines):
                kind = re.fullmatch(r"/\*(@C?|MC|E|S|J)", line)
                if kind:
                    end = next(i for i in range(at, len(lines)) if lines[i].rstrip().endswith("*/"))
                    body = lines[at + 1 : end]
                    blank = next((i for i, b in enumerate(body) if not b.strip()), len(body))
                    body[:blank] = [" ".join(b.strip() for b in body[:blank])]  # what it is may take two lines
                    after = lines[end + 1 :]
                    name = body[0].split()[0]
                    if re.match(r"BCR", name):  # not of the interface
                        continue
                    code = []
                    if kind.group(1)[0] == "@":
                        while not code or not code[-1].startswith("{"):
                            code.append(after[len(code)])
                        code[-1:] = []
                        code[-1] += ";"
                    elif kind.group(1) in ("E", "S"):
                        depth = 0
                        for one in after:
                            code.append(one)
                            depth += one.count("{") - one.count("}")
                            if depth == 0 and one.rstrip().endswith(";"):
                                break
                    self.api[name] = (KINDS["@" if kind.group(1)[0] == "@" else kind.group(1)], path.relative_to(ROOT).as_posix(), body, code)

    def man(self):
        for name, (kind, file, body, code) in self.api.items():
            self.write("api/%s.md" % name, self.page(name, kind, file, body, code))
        groups = (
            ("Poisson", r"(PC|KSP)BCRPOISSON|PCBCRPoisson|KSPBCRPoisson"),
            ("Lines", r"(PC|KSP)NEATO|PCNeato|PetscBCRLines|KSPNeato"),
            ("Compact derivatives", r"Mat|PetscBCRCompact"),
            ("Recurrences, the package", r""),
        )
        left, text = dict(self.api), "# Functions and types\n\nFrom the man-page comments of the sources. Options: [](../options.md).\n"
        for title, pattern in groups:
            names = sorted(n for n in left if re.match(pattern, n))
            text += "\n## %s\n\n| name | what it is or does |\n|---|---|\n" % title
            for name in names:
                summary = left.pop(name)[2][0].split(" - ", 1)[1]
                text += "| [`%s`](%s.md) | %s |\n" % (name, name, summary)
        self.write("api/index.md", text + "\n```{toctree}\n:hidden:\n\n%s\n```\n" % "\n".join(sorted(self.api)))

    def marked(self, text, own, folder=""):
        """Names in backticks that have a page lead there"""

        def turn(match):
            name = match.group(1).rstrip("()")
            return "[%s](%s%s.md)" % (match.group(0), folder, name) if name in self.api and name != own else match.group(0)

        return re.sub(r"(?<!\[)`([A-Za-z_]+(?:\(\))?)`(?!\])", turn, text)

    def page(self, name, kind, file, body, code):
        out = ["# %s" % name, "", self.marked(body[0].split(" - ", 1)[1], name), ""]
        if code:
            if kind == "function":
                one = re.sub("(?<!,) ", "\0", " ".join(c.strip() for c in code))  # blanks but those after commas stay
                code = ["#include <petscbcr.h>", ""] + [c.replace("\0", " ") for c in textwrap.wrap(one, 80, subsequent_indent=" " * 4)]
            out += ["```c"] + code + ["```", ""]
        block, verbatim = [], False

        def flush():
            if block:
                out.extend(["```"] + [b[6:] for b in block] + ["```", ""])
                block.clear()

        for line in body[1:]:
            item = re.match(r"[+.-] (.*?)\s+- (.*)", line)
            if line.startswith(".vb"):
                verbatim = True
                out.append("```")
            elif line.startswith(".ve"):
                verbatim = False
                out += ["```", ""]
            elif verbatim:
                out.append(line)
            elif line.startswith(".seealso:"):
                flush()
                out += ["", "**See also**: " + self.marked(line[len(".seealso:") :].strip(), name)]
            elif item:
                flush()
                key = item.group(1)
                out.append("- %s: %s" % (self.marked(key, name) if "`" in key else "`%s`" % key, self.marked(item.group(2), name)))
            elif line.startswith("      ") and line.strip():
                block.append(line)
            elif re.match(r"  [A-Z][A-Za-z -]*:$", line):
                flush()
                out += ["", "## " + line.strip().rstrip(":"), ""]
            elif re.match(r"  Level: ", line):
                flush()
                out += ["", "**Level**: " + line.split(":")[1].strip(), ""]
            else:
                flush()
                out.append(self.marked(line.strip(), name))
        flush()
        copy = self.folder / "files" / file
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, copy)
        return "\n".join(out) + "\n\n*%s, in* [%s](../files/%s)\n" % (kind, file, file)


def main():
    folder = pathlib.Path(sys.argv[1])
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    here = pathlib.Path(__file__).parent
    shutil.copytree(ROOT / "docs" / "figures", folder / "figures")
    pictures.draw(folder / "figures")
    shutil.copytree(here / "_static", folder / "_static")
    for file in ("conf.py", "index.md"):
        shutil.copy(here / file, folder / file)
    shutil.copy(ROOT / "include" / "petscbcr.h", folder / "petscbcr.h")
    site = Site(folder)
    site.comments()
    site.method()
    site.documents()
    site.man()
    print("%d pages, %d of them of functions and types" % (len(list(folder.rglob("*.md"))), len(site.api)))


if __name__ == "__main__":
    main()
