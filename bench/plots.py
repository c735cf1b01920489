#!/usr/bin/env python3
"""Draws every figure of the documents from the committed results, with matplotlib.

usage: bench/plots.py [--results bench/results] [--out docs/figures] [--document docs/papers.md] [--name cpu] [--device h200] [--host emeraldrapids] [--fits xeon] [--only FIGURE,...] [--png]

Reads NAME_*.csv and FITS_precond.csv of a CPU and DEVICE_*.csv of a GPU, writes one SVG (--png: also a PNG) for each figure, and the tables between the
comments "table" and "end" of the document. Below each figure stands which files it is from. Grounds are transparent, and all colours
are legible on a white one and on a dark one (tests/scripts/plots.py). The same rows give the same files, byte for byte, with
the same matplotlib. Where a file has several runs of a row the last one counts.
"""
import argparse
import csv
import math
import pathlib
import re

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ROOT = pathlib.Path(__file__).resolve().parent.parent
GREY = "#808080"  # text, axes, what is compared with: as far from white as from black
FAINT = "#8a8a8a"
PALETTE = ["#2f86d6", "#e0691c", "#1f9e68", "#d9484c", "#8a6fe0", "#a8800f", "#d1478f", "#808080", "#8f9a1b", "#169ba8"]
plt.rcParams.update(
    {
        "axes.prop_cycle": matplotlib.cycler(color=PALETTE),
        "savefig.transparent": True,
        "text.color": GREY,
        "axes.labelcolor": GREY,
        "axes.titlecolor": GREY,
        "axes.edgecolor": GREY,
        "xtick.color": GREY,
        "ytick.color": GREY,
        "grid.color": FAINT,
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
    header, rows, about = None, [], first_line(path)
    with open(path, newline="") as file:
        for line in file:
            if line.startswith("#"):
                key, _, value = line[1:].strip().partition(": ")
                if key in ("command", "machine", "compiler", "PETSc", "date"):
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


def save(figure, args, name, files, legend, columns):
    """The legend above the panels; below them the files that the figure is from, each with its machine and date"""
    figure.tight_layout(rect=(0, (0.05 + 0.14 * len(files)) / figure.get_figheight(), 1, 1))
    handles, labels = legend.get_legend_handles_labels() if hasattr(legend, "get_legend_handles_labels") else legend
    figure.legend(handles, labels, loc="lower center", ncol=columns, fontsize=8, frameon=False, bbox_to_anchor=(0.5, 0.99))
    for line, (file, about) in enumerate(files):
        what = ", ".join(part for part in (about.get("machine", "").split(", caches")[0].split(", CUDA")[0], about.get("date", "")[:10]) if part)
        figure.text(0.995, (0.02 + 0.13 * (len(files) - 1 - line)) / figure.get_figheight(), "bench/results/" + file + (": " + what if what else ""), ha="right", fontsize=6.5)
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
        panel.axhline(1, color=GREY, linewidth=1)
        powers(panel, sizes)
        panel.set_yscale("log", base=2)
        panel.set_yticks([0.25, 0.5, 1, 2, 4, 8])
        panel.set_yticklabels(["1/4", "1/2", "1", "2", "4", "8"])
        panel.set_title(title)
        panel.set_xlabel("n, rows of a line")
    panels[0].set_ylabel("time over near-Toeplitz\ncyclic reduction (cr)")
    save(figure, args, "paper002_neartoeplitz", [(args.name + "_neartoeplitz.csv", about)], panels[0], 2)
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
            panel.axvline(math.sqrt(n / 2), color=GREY, linestyle=":", label=r"$\sqrt{N/2}$")
            panel.axhline(1, color=GREY, linewidth=1)
            top = max([top] + [v for solver in ("rearranged", "plain") for v in curve(rows, "parts", "speedup", case=case, n=n, solver=solver)[1]])
            panel.set_title("N = $2^{%d}$, %s coefficients" % (round(math.log2(n)), case))
            if line:
                panel.set_xlabel("parts")
        panels[line][0].set_ylim(0, 1.08 * top)
        panels[line][0].set_ylabel("speed-up over the loop")
    save(figure, args, "paper003_parts", [(args.name + "_recurrence.csv", about)], panels[0][0], 3)
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
    save(figure, args, "paper004_variants", [(args.name + "_recurrence.csv", about)], panels[0][0], 5)
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
    style = {"scan": "C2", "thomas": "C0", "cr": "C1", "pscheme": "C4", "dc": "C5", "dpttrs": GREY, "dgttrs": FAINT}
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
        panel.axhline(1.5, color=GREY, linewidth=1, linestyle=":")
        panel.set_title("n lines of n rows along " + axis)
        panel.set_xlabel("n")
    panels[0].set_ylabel("time over a copy")
    save(figure, args, "lines_methods", [(args.name + "_lines.csv", about)], panels[0], 7)


def device(args):
    """Rows of the GPU; its name is in the first comment"""
    rows, about = read(args.results / (args.device + "_lines.csv"))
    return rows, about


def first_line(path):
    """What the first comment of a file says of the machine, as the programs for GPUs write it"""
    with open(path) as file:
        line = file.readline()
    found = re.search(r"(one )?NVIDIA [^;,()]*", line)
    date = re.search(r"20\d\d-\d\d-\d\d", line)
    return {"machine": found.group(0).strip() if line.startswith("#") and found else "", "date": date.group(0) if date else ""}


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
    save(figure, args, "paper002_device", [(args.device + "_lines.csv", about)], panels[0], 3)
    lines = []
    for axis in "xy":
        for n in sorted({r["n"] for r in rows if r["solver"] == "cr shared"}):
            lines.append([axis, "%d" % n] + [number(curve(rows, "n", "time_ms", axis=axis, n=n, case=case(s), solver=of(s, axis)), "%.4f") for s, *_ in solvers])
    table(args, "device_cr", ["along", "n", "`cr` shared, ms", "`cr` global", "general shared", "general global", "cuSPARSE", "`scan`"], lines)


def device_variants(args):
    """Tables of paper 004 on a GPU: the variants on one line against n and against the sequential form"""
    rows, about = device(args)
    rows = [r for r in rows if r["case"] == "line_d=2.05"]
    solvers = {"dc A1D": "C0", "dc A2S": "C3", "dc A2D": "C2", "dc A2SD": "C4", "pscheme": "C1", "scan": GREY}
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
    save(figure, args, "paper004_device", [(args.device + "_lines.csv", about)], panels[0], 6)
    lines = []
    for n in sorted({r["n"] for r in rows}):
        sequential = curve(rows, "n", "time_ms", n=n, solver="dc A1D")[1]
        line = ["2^%d" % round(math.log2(n))]
        for solver in solvers:
            time = curve(rows, "n", "time_ms", n=n, solver=solver)[1]
            line.append(("%.4g" % time[0] + (" (%.0f)" % (sequential[0] / time[0]) if sequential and solver != "dc A1D" else "")) if time else "")
        lines.append(line + [number(curve(rows, "n", "residual", n=n, solver=s), "%.1e") for s in ("dc A2S", "dc A2D", "dc A2SD")])
    table(args, "device_variants", ["n", "A1D, ms"] + ["%s, ms (speed-up)" % s.replace("dc ", "") for s in list(solvers)[1:]] + ["A2S, error", "A2D, error", "A2SD, error"], lines)


SOLVERS = {  # of other solvers the name in the files, what it is called, colour and line
    "bcrpoisson": ("this library", "C0", "o-"),
    "fftw": ("FFTW: sine transforms and lines", "C2", "s--"),
    "cuFFT": ("cuFFT: sine transforms", "C2", "s--"),
    "mumps": ("MUMPS, solve with its factors", "C5", "D--"),
    "cg+mg": ("CG with PCMG, to 1e-8", "C1", "^--"),
    "cg+gamg": ("CG with GAMG, to 1e-8", "C3", "v--"),
    "cg+hypre": ("CG with BoomerAMG, to 1e-8", "C3", "v--"),
}


def time_over_copy(args):
    """Time of a solve in copies of the vector, in two and three dimensions, on a core and on a GPU, beside other solvers"""
    cpu, about_cpu = read(args.results / (args.name + "_poisson.csv"))
    gpu, about_gpu = read(args.results / (args.device + "_peers.csv"))
    cpu = [r for r in cpu if r["case"] == "main" and r["precision"] == "double"]
    names = {"KSPSolve": "bcrpoisson", "cuFFT": "cuFFT", "cg+gamg": "cg+gamg"}
    gpu = [dict(r, solver="cg+mg" if r["solver"].startswith("cg+mg") else names.get(r["solver"], "")) for r in gpu if r["case"] in ("ksp", "matrix")]
    figure, panels = plt.subplots(2, 2, figsize=(8.4, 6.4), sharey=True)
    handles = {}
    for line, (rows, column, where) in enumerate(((cpu, "ratio_min", "one CPU core"), (gpu, "ratio_to_copy", "one " + args.device.upper()))):
        for panel, dim in zip(panels[line], (2, 3)):
            sizes = []
            wanted = [r for r in rows if r["dims"] == dim or str(r["dims"]).endswith("x1") == (dim == 2) and isinstance(r["dims"], str)]
            for solver, (label, colour, style) in SOLVERS.items():
                x, y = curve(wanted, "n", column, solver=solver)
                if x:
                    handles[label] = panel.plot(x, y, style, color=colour)[0]
                    sizes += x
            panel.set_xscale("log", base=2)
            ticks = sorted({v for v in sizes if math.log2(v + 1) == round(math.log2(v + 1))})
            panel.set_xticks(ticks)
            panel.set_xticklabels(["%d" % v for v in ticks])
            panel.minorticks_off()
            panel.set_yscale("log")
            panel.axhline(1, color=GREY, linewidth=1)
            panel.set_ylim(0.8, 12000)
            panel.set_yticks([1, 10, 100, 1000, 10000])
            panel.set_yticklabels(["1", "10", "100", "1000", "10000"])
            panel.set_title("%s, n%s unknowns" % (where, "\u00b2" if dim == 2 else "\u00b3"))
            panel.set_xlabel("n")
        panels[line][0].set_ylabel("time of a solve\nover a copy of the vector")
    save(figure, args, "time_over_copy", [(args.name + "_poisson.csv, least times", about_cpu), (args.device + "_peers.csv", about_gpu)], (list(handles.values()), list(handles)), 4)


def obstacles(args):
    """Rows that differ: iterations, of a direct solve its solves of the box, and times, beside iterative solvers"""
    rows, about = read(args.results / (args.name + "_obstacle.csv"))
    shown = {
        ("capacitance", "first"): ("this library, first right-hand side", "C0", "o"),
        ("capacitance", "tenth"): ("this library, tenth", "C9", "s"),
        ("cg+fit", "tenth"): ("CG, this library's fit", "C4", "P"),
        ("cg+gamg", "tenth"): ("CG with GAMG", "C3", "v"),
        ("cg+boomeramg", "tenth"): ("CG with BoomerAMG", "C1", "^"),
    }
    cases = []
    for row in rows:
        row["what"], _, row["side"] = row["case"].rpartition("; ")
        row["key"] = (row["what"], int(row["dims"]))
        if row["key"] not in cases:
            cases.append(row["key"])
    cases.sort(key=lambda key: key[1])
    largest = {key: max(r["n"] for r in rows if r["key"] == key) for key in cases}
    figure, panels = plt.subplots(1, 2, figsize=(8.4, 4.6), sharey=True)
    for panel, column, title in zip(panels, ("iterations", "time_ms"), ("iterations; this library: solves of the box", "time of a solve, ms")):
        for (solver, side), (label, colour, marker) in shown.items():
            points = [(r[column], len(cases) - 1 - cases.index(r["key"])) for r in rows if r["solver"] == solver and r["side"] == side and r["n"] == largest[r["key"]]]
            panel.plot(*zip(*points), marker, color=colour, label=label, linestyle="none", markersize=5)
        panel.set_xscale("log")
        panel.set_xlabel(title)
    ticks = [1, 2, 5, 10, 20, 50, 100]
    panels[0].set_xticks(ticks)
    panels[0].set_xticklabels(["%d" % v for v in ticks])
    panels[0].minorticks_off()
    panels[0].set_xlim(3, 150)
    panels[0].set_yticks(range(len(cases)))
    panels[0].set_yticklabels(["%s, %d%s" % (what.replace("; ", ", "), largest[what, dim], "\u00b2" if dim == 2 else "\u00b3") for what, dim in reversed(cases)])
    save(figure, args, "obstacles", [(args.name + "_obstacle.csv; this library to rounding, the others to 1e-8", about)], panels[0], 3)


def variable(args):
    """Variable coefficients: iterations of CG against n with the nearest operator as the preconditioner, and with multigrid"""
    rows, about = read(args.results / (args.fits + "_precond.csv"))
    cases = {"1+100xy": "1 + 100xy", "exp(2sin*sin)": "exp(2 sin 2\u03c0x sin 2\u03c0y)", "ex50_smooth": "1 + 0.9 cos \u03c0x cos 2\u03c0y (ex50)", "jump_1000": "a square with 1000, 1 elsewhere,\nsolved directly as rows that differ"}
    figure, panels = plt.subplots(1, 4, figsize=(8.4, 3.0), sharey=True)
    for panel, (case, title) in zip(panels, cases.items()):
        sizes = []
        for solver, label, colour, style in (("bcrpoisson/auto", "CG with this library's fit", "C0", "o-"), ("mg", "CG with PCMG", "C1", "^--"), ("hypre", "CG with BoomerAMG", "C3", "v--")):
            x, y = curve(rows, "n", "iterations", case=case, solver=solver)
            panel.plot(x, y, style, color=colour, label=label)
            sizes += x
        powers(panel, sizes)
        panel.tick_params(axis="x", labelrotation=60)
        panel.set_ylim(0, 70)
        panel.set_title(title, fontsize=8)
        panel.set_xlabel("n, of n\u00b2 nodes")
    panels[0].set_ylabel("iterations to 1e-8")
    save(figure, args, "variable_coefficients", [(args.fits + "_precond.csv", about)], panels[0], 3)


def scaling(args):
    """GPUs of a host: the same work for each, and the same work in all; and what a rank sends"""
    rows, about = read(args.results / (args.device + "_ranks.csv"))
    rows = [dict(r, grid=[int(v) for v in r["grid"].split("x")]) for r in rows if r["solver"] == "bcrpoisson" and r["transport"] in ("-", "nccl")]
    for r in rows:
        r["own"] = r["grid"][0] if r["grid"][0] != 200 else 0
    figure, panels = plt.subplots(1, 3, figsize=(8.4, 3.4))
    for own, label, colour in ((4095, "4095\u00b2 on each", "C0"), (255, "255\u00b3 on each", "C1"), (127, "127\u00b3 on each", "C2")):
        x, y = curve(rows, "ranks", "time_ms", case="weak", own=own)
        panels[0].plot(x, y, "o-", color=colour, label=label)
    panels[0].set_ylim(0, 0.5)
    panels[0].set_ylabel("time of a solve, ms")
    for own, label, colour in ((8191, "8191\u00b2 in all", "C0"), (511, "511\u00b3 in all", "C1")):
        x, y = curve(rows, "ranks", "time_ms", case="strong", own=own)
        panels[1].plot(x, [y[0] / v for v in y], "s-", color=colour, label=label)
    panels[1].plot([1, 2, 4], [1, 2, 4], ":", color=GREY, label="as many times")
    panels[1].set_ylim(0, 4.2)
    panels[1].set_ylabel("speed-up over one GPU")
    for panel in panels[:2]:
        powers(panel, [1, 2, 4])
        panel.set_xlabel("GPUs")
    sent = {}
    with open(args.results / (args.name + "_ranks.csv")) as file:
        for line in file:
            if line.startswith("# sent,2d,2,1023,"):
                solver, ranks, size = line.strip().split(",")[4:7]
                sent.setdefault(solver, []).append((int(ranks), int(size)))
    for solver, label, colour, style in (("bcrpoisson", "this library", "C0", "o-"), ("fftw+transposes", "FFTW and transposes", "C2", "s--"), ("cg+mg", "CG with PCMG", "C1", "^--"), ("cg+hypre", "CG with BoomerAMG", "C3", "v--")):
        panels[2].plot(*zip(*[(r, b / 1024) for r, b in sorted(dict(sent[solver]).items()) if r > 1]), style, color=colour, label=label)
    powers(panels[2], [2, 4, 8])
    panels[2].set_yscale("log")
    panels[2].set_xlabel("ranks, 1023\u00b2 in all")
    panels[2].set_ylabel("KiB a solve, from the rank\nthat sends most")
    for panel, title in zip(panels, ("more work", "the same work", "what is sent")):
        panel.legend(fontsize=6.5, frameon=False)
        panel.set_title(title)
    save(figure, args, "scaling", [(args.device + "_ranks.csv, NCCL; four GPUs in three dimensions with the plan before", about), (args.name + "_ranks.csv, the last panel", read(args.results / (args.name + "_ranks.csv"))[1])], ([], []), 1)


def reduction(args):
    """Figures 3, 4 and 5 of paper 000: radix 2 against radix 4 in two and three dimensions, and a CPU against a GPU"""
    sources = [(args.host + "_reduction.csv", "reduction/"), (args.device + "_radix.csv", "radix"), (args.device + "_reduction.csv", "radix"), (args.device + "_staged.csv", "reduction/")]
    times, files = {}, []
    for place, (file, stem) in zip(("one CPU core", args.device.upper(), args.device.upper(), "staged"), sources):
        path = args.results / file
        if not path.exists():
            continue
        rows, about = read(path)
        files.append((file, about))
        for row in rows:
            name = row["case"] if stem == "reduction/" else row["solver"]
            if not name.startswith(stem) or row["precision"] != "double":
                continue
            radix, _, nested = name[len(stem) :].replace("-", "/").partition("/")
            dim = int(row["dims"]) if isinstance(row["dims"], float) else 2 if row["dims"].endswith("x1") else 3
            times[place, dim, bool(nested), radix, row["n"]] = row["time_ms"]
    count = {2: lambda n: (n + 1) * (math.log2(n + 1) - 1) + 1, 4: lambda n: (n + 1) * (0.75 * math.log2(n + 1) - 1) + 1}  # (17), (18)
    expected = lambda n: count[2](n) / count[4](n)
    figure, panels = plt.subplots(1, 3, figsize=(8.4, 3.6))
    lines = []
    for panel, dim in zip(panels, (2, 3)):
        sizes = set()
        for place, colour in (("one CPU core", "C1"), (args.device.upper(), "C0")):
            for nested in (False, True):
                points = sorted((n, times[place, dim, nested, "2", n] / t) for (p, d, r, radix, n), t in times.items() if (p, d, r, radix) == (place, dim, nested, "4") and (place, dim, nested, "2", n) in times)
                if points:
                    panel.plot(*zip(*points), "s--" if nested else "o-", color=colour, label=place + (", nested" if nested else ""))
                    sizes |= {n for n, _ in points}
        sizes = sorted(sizes)
        panel.plot(sizes, [expected(n) for n in sizes], ":", color=GREY, label="sub-problems, (17) over (18)")
        if dim == 3:
            panel.plot(sizes, [expected(n) ** 2 for n in sizes], "-.", color=GREY, label="the same, squared (20)")
        panel.set_title("%d-D" % dim)
        panel.set_ylabel("time with radix 2 over radix 4")
        if dim == 3:
            panel.set_yscale("log", base=2)
            panel.set_yticks([1, 2, 4, 8])
            panel.set_yticklabels(["1", "2", "4", "8"])
            panel.set_ylim(1, 14)
        else:
            panel.set_ylim(0.9, 2.2)
        grid(panel, sizes)
    places = [("one CPU core", args.device.upper(), "without transfers", "-"), ("one CPU core", "staged", "with transfers", "--")]
    sizes = set()
    for dim, colour, marker in ((2, "C0", "o"), (3, "C4", "s")):
        for host, other, label, style in places:
            points = sorted((n, t / times[other, dim, False, "4", n]) for (p, d, r, radix, n), t in times.items() if (p, d, r, radix) == (host, dim, False, "4") and (other, dim, False, "4", n) in times)
            if points:
                panels[2].plot(*zip(*points), marker + style, color=colour, label="%d-D, %s" % (dim, label))
                sizes |= {n for n, _ in points}
    grid(panels[2], sizes)
    panels[2].axhline(1, color=GREY, linewidth=1)
    panels[2].set_yscale("log")
    panels[2].set_ylim(bottom=0.03)
    panels[2].set_title("radix 4")
    panels[2].set_ylabel("time on a core over time on the GPU")
    for panel, place in zip(panels, ("upper right", "upper right", "lower right")):
        panel.legend(fontsize=6, frameon=False, loc=place)
    save(figure, args, "paper000_radix", files, ([], []), 1)
    text = lambda *key: "%.4g" % times[key] if key in times else ""
    for dim in (2, 3):
        for nested in (False, True) if dim == 3 else (False,):
            for n in sorted({key[4] for key in times if key[1] == dim and key[2] == nested and key[3] in "24"}):
                row = ["%d%s%s" % (n, "\u00b2" if dim == 2 else "\u00b3", ", nested" if nested else "")]
                for place in ("one CPU core", args.device.upper(), "staged"):
                    row += [text(place, dim, nested, "2", n), text(place, dim, nested, "4", n)]
                lines.append(row + [text("one CPU core", dim, False, "auto", n)] + ["%.2f" % (expected(n) ** (2 if nested else 1))])
    table(args, "reduction", ["grid", "core, radix 2, ms", "radix 4", "GPU, radix 2", "radix 4", "with transfers, radix 2", "radix 4", "core, automatic plan", "expected 2 over 4"], lines)


def grid(panel, sizes):
    """A logarithmic axis of 2^k - 1"""
    panel.set_xscale("log", base=2)
    panel.set_xticks(sorted(sizes))
    panel.set_xticklabels(["%d" % v for v in sorted(sizes)], rotation=60)
    panel.minorticks_off()
    panel.set_xlabel("n")


FIGURES = (time_over_copy, obstacles, variable, scaling, reduction, neartoeplitz, parts, variants, lines, device_cr, device_variants)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--results", type=pathlib.Path, default=ROOT / "bench" / "results")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "docs" / "figures")
    parser.add_argument("--name", default="cpu")
    parser.add_argument("--device", default="h200")
    parser.add_argument("--host", default="emeraldrapids", help="the core beside the device, for figure reduction")
    parser.add_argument("--fits", default="xeon", help="the core of figure variable")
    parser.add_argument("--only", default="", help="names of figures, else all")
    parser.add_argument("--document", type=pathlib.Path, default=ROOT / "docs" / "papers.md", help="whose tables are replaced")
    parser.add_argument("--png", action="store_true")
    args = parser.parse_args()
    for figure in FIGURES:
        if not args.only or figure.__name__ in args.only.split(","):
            figure(args)


if __name__ == "__main__":
    main()
