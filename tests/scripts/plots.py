#!/usr/bin/env python3
"""bench/plots.py on the committed results: every figure comes, documents and committed figures name each other, the tables of docs/papers.md are
those of the results, each figure names files that exist, and its colours stand out from a white ground and from a dark one.

usage: plots.py WORKDIR [WHITE-LIKE...]; 77 where there is no matplotlib
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def luminance(colour):
    """Relative luminance of #rrggbb, as the WCAG has it"""
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    high, low = sorted((luminance(a), luminance(b)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def main():
    python = next((p for p in (sys.executable, shutil.which("python3")) if p and subprocess.run([p, "-c", "import matplotlib"], capture_output=True).returncode == 0), None)
    if not python:
        print("skipped: no matplotlib")
        return 77
    work = pathlib.Path(sys.argv[1])
    work.mkdir(parents=True, exist_ok=True)
    document = work / "papers.md"
    shutil.copy(ROOT / "docs" / "papers.md", document)
    subprocess.run([python, str(ROOT / "bench" / "plots.py"), "--out", str(work), "--document", str(document)], check=True, env=dict(os.environ, MPLCONFIGDIR=str(work)))
    bad = []
    if document.read_text() != (ROOT / "docs" / "papers.md").read_text():
        bad.append("docs/papers.md has other tables than bench/results: run bench/plots.py")
    texts = "".join(p.read_text() for p in [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
    made = sorted(p for p in work.glob("*.svg"))
    for path in made:
        svg = path.read_text()
        if not (ROOT / "docs" / "figures" / path.name).exists():
            bad.append("docs/figures lacks %s" % path.name)
        if path.name not in texts:
            bad.append("no document shows %s" % path.name)
        sources = re.findall(r"bench/results/([\w.-]+[.]csv)", svg)
        if not sources:
            bad.append("%s names no source" % path.name)
        bad += ["%s names %s, which does not exist" % (path.name, s) for s in sources if not (ROOT / "bench" / "results" / s).exists()]
        for colour in set(re.findall(r"(?:fill|stroke): (#[0-9a-f]{6})", svg)):
            for ground in ("#ffffff", "#14181e"):
                if contrast(colour, ground) < 3:
                    bad.append("%s: %s on %s has a contrast of %.2f only" % (path.name, colour, ground, contrast(colour, ground)))
    if len(made) < 11:
        bad.append("%d figures only" % len(made))
    print("\n".join(bad) or "%d figures" % len(made))
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
