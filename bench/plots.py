#!/usr/bin/env python3
"""Draws the figures of papers 002, 003 and 004 from the committed results, with matplotlib.

usage: bench/plots.py [--results bench/results] [--out docs/figures] [--document docs/papers.md] [--name cpu] [--device h200] [--only FIGURE,...] [--png]

Reads NAME_neartoeplitz.csv, NAME_recurrence.csv and NAME_lines.csv, and DEVICE_lines.csv of a GPU (--device h200), writes one SVG (--png: also a PNG) for each figure, and the
tables between the comments "table" and "end" of the document. The same rows give the same files, byte for byte, with the same
matplotlib. Where a file has several runs of a row the last one counts.
"""
import argparse
import csv
import math
import pathlib

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ROOT = pathlib.Path(__file__).resolve().parent.parent
plt.rcParams.update(
    {
        "svg.hashsalt": "petscbcr",
        "svg.fonttype": "none",
        "font.size": 9,
        "axes.grid": True,
        "grid.alpha": 0.3,
        "lines.markersize": 4,
        "axes.spines.top": False,
        "axes.spines.right": False,
    }
)


def read(path):
    """Rows as dictionaries, numbers as floats; and what the comments say of machine and PETSc, last run."""
    header, rows, about = None, [], {}
    with open(path, newline="") as file:
        for line in file:
            if line.startswith("#"):
                key, _, value = line[1:].strip().partition(": ")
                about[key] = value
                continue
            fields = next(csv.reader([line.strip()]))
            if header is None:
                header = fields
                continue
            row = dict(zip(header, fields))
            for key, value in row.items():
                try:
                    row[key] = float(value)
                except ValueError:
                    pass
            rows.append(row)
    return rows, about


def curve(rows, x, y, **wanted):
    """Points (x, y) of the rows that have these values, in the order of x; y a column or a function of the row."""
    points = {}
    for row in rows:
        if all(row.get(key) == value for key, value in wanted.items()):
            value = y(row) if callable(y) else row[y]
            if isinstance(value, float) and math.isfinite(value):
                points[row[x]] = value
    return sorted(points), [points[k] for k in sorted(points)]


def powers(axis, values, base=2):
    values = sorted(set(values))
    axis.set_xscale("log", base=base)
    axis.set_xticks(values)
    if base == 2 and min(values) >= 4096:
        axis.set_xticklabels(["$2^{%d}$" % round(math.log2(v)) for v in values])
    else:
        axis.set_xticklabels(["%d" % v for v in values])
    axis.minorticks_off()


def save(figure, args, name, about, legend, columns):
    """The legend above the panels, where and when below them"""
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    figure.legend(*legend.get_legend_handles_labels(), loc="lower center", ncol=columns, fontsize=8, frameon=False, bbox_to_anchor=(0.5, 0.99))
    figure.text(0.995, 0.005, about.get("machine", "").split(", caches")[0] + "; " + about.get("date", ""), ha="right", fontsize=6, color="0.4")
    args.out.mkdir(parents=True, exist_ok=True)
    figure.savefig(args.out / (name + ".svg"), metadata={"Date": None}, bbox_inches="tight")
    if args.png:
        figure.savefig(args.out / (name + ".png"), dpi=110, bbox_inches="tight")
    plt.close(figure)
    print(args.out / (name + ".svg"))


def table(args, name, header, rows):
    """Replaces the table of that name in the document"""
    text = args.document.read_text()
    begin, end = "<!-- table %s -->\n" % name, "<!-- end -->\n"
    at = text.index(begin) + len(begin)
    body = "| " + " | ".join(header) + " |\n|" + "---|" * len(header) + "\n" + "".join("| " + " | ".join(row) + " |\n" for row in rows)
    args.document.write_text(text[:at] + "\n" + body + "\n" + text[text.index(end, at) :])


def number(values, format):
    """The one value there is, as text"""
    return format % values[1][0] if values[1] else ""


def neartoeplitz(args):
    """Figures 4.3 and 4.4 of paper 002: time over that of NEATO"""
    rows, about = read(args.results / (args.name + "_neartoeplitz.csv"))
    reference = {(r["case"], r["axis"], r["n"]): r["time_ms"] for r in rows if r["solver"] == "cr"}
    relative = lambda r: r["time_ms"] / reference[r["case"], r["axis"], r["n"]]
    solvers = [
        ("cr_general", "general: a, b, c reduced in each solve", "C3"),
        ("cr_stored", "coefficients of all rows stored", "C1"),
        ("dgtsv", "LAPACK dgtsv", "C7"),
        ("scan", "two recurrences (the default)", "C2"),
    ]
    figure, panels = plt.subplots(1, 2, figsize=(8.4, 3.5), sharey=True)
    for panel, case, title in zip(panels, ("2d", "3d"), ("n lines of n rows", "n$^2$ lines of n rows")):
        sizes = []
        for solver, label, colour in solvers:
            for axis, style in (("x", "o-"), ("z", "s--")):
                x, y = curve(rows, "n", relative, case=case, axis=axis, solver=solver)
                if x:
                    panel.plot(x, y, style, color=colour, label=label + ", along " + axis if case == "2d" else None)
                    sizes += x
        panel.axhline(1, color="0.3", linewidth=1)
        powers(panel, sizes)
        panel.set_yscale("log", base=2)
        panel.set_yticks([0.25, 0.5, 1, 2, 4, 8])
        panel.set_yticklabels(["1/4", "1/2", "1", "2", "4", "8"])
        panel.set_title(title)
        panel.set_xlabel("n")
    panels[0].set_ylabel("time over near-Toeplitz\ncyclic reduction (cr)")
    save(figure, args, "paper002_neartoeplitz", about, panels[0], 2)
    lines = []
    for case, shape in (("2d", "n x n"), ("3d", "n x n x n")):
        for axis in "xz":
            for n in sorted({r["n"] for r in rows if r["case"] == case}):
                at = dict(case=case, axis=axis, n=n)
                lines.append([shape, axis, "%d" % n, number(curve(rows, "n", "time_ms", solver="cr", **at), "%.4g")] + [number(curve(rows, "n", relative, solver=s, **at), "%.2f") for s in ("cr_general", "cr_stored", "dgtsv", "scan")])
    table(args, "neartoeplitz", ["grid", "along", "n", "`cr`, ms", "general", "stored", "`dgtsv`", "`scan`"], lines)


def parts(args):
    """Figures 4, 6 and 8 of paper 003: speed-up over the plain loop against the number of parts"""
    rows, about = read(args.results / (args.name + "_recurrence.csv"))
    rows = [r for r in rows if r["case"] in ("constant", "varying")]
    sizes = sorted({r["n"] for r in rows})
    figure, panels = plt.subplots(2, len(sizes), figsize=(8.4, 5.2), sharex=True, squeeze=False, sharey="row")
    for line, case in enumerate(("constant", "varying")):
        top = 1
        for panel, n in zip(panels[line], sizes):
            ticks = []
            for solver, colour in (("rearranged", "C0"), ("plain", "C3")):
                x, y = curve(rows, "parts", "speedup", case=case, n=n, solver=solver)
                panel.plot(x, y, "o-", color=colour, label=solver + " array")
                ticks += [v for v in x if math.log2(v) == round(math.log2(v))]
            powers(panel, ticks)
            panel.tick_params(axis="x", labelrotation=60)
            panel.axvline(math.sqrt(n / 2), color="0.4", linestyle=":", label=r"$\sqrt{N/2}$")
            panel.axhline(1, color="0.3", linewidth=1)
            top = max([top] + [v for solver in ("rearranged", "plain") for v in curve(rows, "parts", "speedup", case=case, n=n, solver=solver)[1]])
            panel.set_title("N = $2^{%d}$, %s coefficients" % (round(math.log2(n)), case))
            if line:
                panel.set_xlabel("parts")
        panels[line][0].set_ylim(0, 1.08 * top)
        panels[line][0].set_ylabel("speed-up over the loop")
    save(figure, args, "paper003_parts", about, panels[0][0], 3)
    columns = [(case, n, solver) for case in ("constant", "varying") for n in sizes for solver in ("rearranged", "plain")]
    table(
        args,
        "parts",
        ["parts"] + ["%s, 2^%d, %s" % (case, round(math.log2(n)), solver) for case, n, solver in columns],
        [["%d" % p] + [number(curve(rows, "parts", "speedup", parts=p, case=case, n=n, solver=solver), "%.2f") for case, n, solver in columns] for p in sorted({r["parts"] for r in rows if r["solver"] != "loop"})],
    )


def variants(args):
    """Tables I to IV of paper 004: speed-up over A1D and error of the variants against n"""
    rows, about = read(args.results / (args.name + "_recurrence.csv"))
    colours = {"A1S": "C1", "A1D": "C0", "A2S": "C3", "A2D": "C2", "A2SD": "C4"}
    figure, panels = plt.subplots(2, 2, figsize=(8.4, 5.6), sharex=True, sharey="row")
    for column, problem in enumerate(("P1", "P2")):
        for solver, colour in colours.items():
            x, y = curve(rows, "n", "speedup", case=problem, solver=solver)
            panels[0][column].plot(x, y, "o-" if solver[1] == "2" else "s--", color=colour, label=solver)
            x, e = curve(rows, "n", "error", case=problem, solver=solver)
            panels[1][column].plot(x, e, "o-" if solver[1] == "2" else "s--", color=colour)
        powers(panels[1][column], x)
        panels[0][column].set_ylim(0, 1.08 * max(r["speedup"] for r in rows if r["solver"] in colours))
        panels[1][column].set_yscale("log")
        panels[0][column].set_title("problem %s of the paper" % ("(12)" if problem == "P1" else "(13)"))
        panels[1][column].set_xlabel("n")
    panels[0][0].set_ylabel("speed-up over A1D")
    panels[1][0].set_ylabel("relative error, equation (14)")
    save(figure, args, "paper004_variants", about, panels[0][0], 5)
    lines = []
    for problem in ("P1", "P2"):
        for n in sorted({r["n"] for r in rows if r["case"] == problem}):
            at = dict(case=problem, n=n)
            lines.append([problem, "2^%d" % round(math.log2(n))] + [number(curve(rows, "n", "time_ms", solver=s, **at), "%.3g") for s in colours] + [number(curve(rows, "n", "error", solver=s, **at), "%.2e") for s in colours])
    table(args, "variants", ["", "n"] + ["%s, ms" % s for s in colours] + ["%s, error" % s for s in colours], lines)


def lines(args):
    """The five methods and LAPACK over a copy of the data"""
    rows, about = read(args.results / (args.name + "_lines.csv"))
    rows = [r for r in rows if r["case"] == "batch" and r["precision"] == "double" and r["ranks"] == 1]
    style = {"scan": "C2", "thomas": "C0", "cr": "C1", "pscheme": "C4", "dc": "C5", "dpttrs": "0.4", "dgttrs": "0.6"}
    figure, panels = plt.subplots(1, 2, figsize=(8.4, 3.6), sharey=True)
    for panel, axis in zip(panels, "xz"):
        sizes = []
        for solver, colour in style.items():
            x, y = curve(rows, "n", "ratio_to_copy", axis=axis, solver=solver)
            if x:
                panel.plot(x, y, "s--" if solver.startswith("d") and solver.endswith("s") else "o-", color=colour, label=solver)
                sizes += x
        powers(panel, sizes)
        panel.set_yscale("log", base=2)
        panel.set_yticks([1, 1.5, 2, 4, 8, 16, 32, 64])
        panel.set_yticklabels(["1", "1.5", "2", "4", "8", "16", "32", "64"])
        panel.axhline(1.5, color="0.3", linewidth=1, linestyle=":")
        panel.set_title("n lines of n rows along " + axis)
        panel.set_xlabel("n")
    panels[0].set_ylabel("time over a copy")
    save(figure, args, "lines_methods", about, panels[0], 7)


def device(args):
    """Rows of the GPU; its name is in the first comment"""
    path = args.results / (args.device + "_lines.csv")
    rows, about = read(path)
    return rows, {"machine": path.read_text().splitlines()[0].lstrip("# ").split(";")[0]}


def device_cr(args):
    """Section 2 of paper 002 on a GPU: near-Toeplitz against general cyclic reduction, shared against global memory, CUSPARSE"""
    rows, about = device(args)
    rows = [r for r in rows if r["precision"] == "double" and r["axis"] in ("x", "y")]
    solvers = [
        ("cr shared", "near-Toeplitz, shared memory", "C0", "o-"),
        ("cr global", "near-Toeplitz, global memory", "C0", "s--"),
        ("general cr shared", "general, shared memory", "C3", "o-"),
        ("general cr global", "general, global memory", "C3", "s--"),
        ("cusparse", "cuSPARSE gtsv2 / gtsvInterleaved", "C7", "^-"),
        ("scan", "two recurrences (the default)", "C2", "o-"),
    ]
    of = lambda solver, axis: ("cusparse_gtsv2StridedBatch" if axis == "x" else "cusparse_gtsvInterleavedBatch") if solver == "cusparse" else solver
    case = lambda solver: {"general cr shared": "general", "general cr global": "general", "cusparse": "d=2"}.get(solver, "d=4")
    figure, panels = plt.subplots(1, 2, figsize=(8.4, 3.6), sharey=True)
    for panel, axis in zip(panels, "xy"):
        sizes = []
        for solver, label, colour, style in solvers:
            x, y = curve(rows, "n", "ratio_to_copy", axis=axis, case=case(solver), solver=of(solver, axis))
            panel.plot([v for v in x if v <= 4096], [w for v, w in zip(x, y) if v <= 4096], style, color=colour, label=label)
            sizes += [v for v in x if v <= 4096]
        powers(panel, sizes)
        panel.set_yscale("log", base=2)
        panel.set_yticks([1, 2, 4, 8, 16, 32, 64])
        panel.set_yticklabels(["1", "2", "4", "8", "16", "32", "64"])
        panel.set_title("n lines of n rows along " + axis)
        panel.set_xlabel("n")
    panels[0].set_ylabel("time over a copy")
    save(figure, args, "paper002_device", about, panels[0], 3)
    lines = []
    for axis in "xy":
        for n in sorted({r["n"] for r in rows if r["solver"] == "cr shared"}):
            lines.append([axis, "%d" % n] + [number(curve(rows, "n", "time_ms", axis=axis, n=n, case=case(s), solver=of(s, axis)), "%.4f") for s, *_ in solvers])
    table(args, "device_cr", ["along", "n", "`cr` shared, ms", "`cr` global", "general shared", "general global", "cuSPARSE", "`scan`"], lines)


def device_variants(args):
    """Tables of paper 004 on a GPU: the variants on one line against n and against the sequential form"""
    rows, about = device(args)
    rows = [r for r in rows if r["case"] == "line_d=2.05"]
    solvers = {"dc A1D": "C0", "dc A2S": "C3", "dc A2D": "C2", "dc A2SD": "C4", "pscheme": "C1", "scan": "0.4"}
    figure, panels = plt.subplots(1, 2, figsize=(8.4, 3.4))
    for solver, colour in solvers.items():
        x, y = curve(rows, "n", "time_ms", solver=solver)
        panels[0].plot(x, y, "s--" if solver == "dc A1D" else "o-", color=colour, label=solver)
        x, e = curve(rows, "n", "residual", solver=solver)
        panels[1].plot(x, e, "s--" if solver == "dc A1D" else "o-", color=colour)
    for panel in panels:
        powers(panel, [r["n"] for r in rows])
        panel.set_yscale("log")
        panel.set_xlabel("n")
    panels[0].set_ylabel("time, ms")
    panels[1].set_ylabel("backward error")
    save(figure, args, "paper004_device", about, panels[0], 6)
    lines = []
    for n in sorted({r["n"] for r in rows}):
        sequential = curve(rows, "n", "time_ms", n=n, solver="dc A1D")[1]
        line = ["2^%d" % round(math.log2(n))]
        for solver in solvers:
            time = curve(rows, "n", "time_ms", n=n, solver=solver)[1]
            line.append(("%.4g" % time[0] + (" (%.0f)" % (sequential[0] / time[0]) if sequential and solver != "dc A1D" else "")) if time else "")
        lines.append(line + [number(curve(rows, "n", "residual", n=n, solver=s), "%.1e") for s in ("dc A2S", "dc A2D", "dc A2SD")])
    table(args, "device_variants", ["n", "A1D, ms"] + ["%s, ms (speed-up)" % s.replace("dc ", "") for s in list(solvers)[1:]] + ["A2S, error", "A2D, error", "A2SD, error"], lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "bench" / "results")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs" / "figures")
    parser.add_argument("--name", default="cpu")
    parser.add_argument("--device", default="h200")
    parser.add_argument("--only", default="", help="names of figures, else all")
    parser.add_argument("--document", type=pathlib.Path, default=ROOT / "docs" / "papers.md", help="whose tables are replaced")
    parser.add_argument("--png", action="store_true")
    args = parser.parse_args()
    for figure in (neartoeplitz, parts, variants, lines, device_cr, device_variants):
        if not args.only or figure.__name__ in args.only.split(","):
            figure(args)


if __name__ == "__main__":
    main()
