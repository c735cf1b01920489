# ranks: 1 2
# compare: -n 24
"""Heat that a warm building sends into ground in layers: rock, gravel, a layer that insulates, soil.

The temperature above that of the season, in time steps of the backward Euler method, in a strip of ground,

    c(y) u_t = div(k(y) grad u),

is held at the surface (1 below the building, 0 beside it) and at the bottom (0); nothing flows through the sides. Conductivity k and heat
capacity c are those of the layer: coefficients that vary along one axis by jumps, and that multiply the other.

    python3 heat.py -pc_type gamg
    python3 heat.py -dll_append <petscbcr>/lib/libpetscbcr.so -pc_type bcrpoisson

It knows nothing of petscbcr. Options: -n <128> cells of the depth, -steps <40>, -picture <heat.png> (heat.pgm without matplotlib; an empty
name: none), and those of PETSc.
"""

import sys

import numpy
import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc  # noqa: E402

options = PETSc.Options()
n = options.getInt("n", 128)
steps = options.getInt("steps", 40)
picture = options.getString("picture", "heat.png")
say = PETSc.Sys.Print

# depth from the bottom up: thickness in parts of the depth, conductivity, heat capacity
layers = ((0.35, 3.0, 1.0), (0.2, 1.0, 1.5), (0.1, 0.05, 0.5), (0.35, 0.6, 2.0))
m = 2 * n  # cells along the surface
h = 1 / n
tops = numpy.cumsum([thickness for thickness, *_ in layers])
layer = numpy.minimum(numpy.searchsorted(tops, h * (numpy.arange(n) + 0.5)), len(layers) - 1)
k, c = (numpy.array([part[what] for part in layers])[layer] for what in (1, 2))
# conductance of the faces below and above each cell: half cells in series; the ends' faces are half a cell away
below = numpy.concatenate(([2 * k[0]], 2 * k[1:] * k[:-1] / (k[1:] + k[:-1])))
above = numpy.concatenate((below[1:], [2 * k[-1]]))
x = (numpy.arange(m) + 0.5) * h
surface = numpy.where(abs(x - 1) < 0.4, 1.0, 0.0)

da = PETSc.DMDA().create((m, n), dof=1, stencil_width=1, stencil_type="star")
(i0, i1), (j0, j1) = da.getRanges()
A = da.createMat()
row, col = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
time, end = 0.0, 0.5
step = end / steps
for j in range(j0, j1):
    for i in range(i0, i1):
        row.index = (i, j)
        diagonal = h * h * c[j] / step + below[j] + above[j]
        for at, inside, flow in (((i - 1, j), i > 0, k[j]), ((i + 1, j), i < m - 1, k[j]), ((i, j - 1), j > 0, below[j]), ((i, j + 1), j < n - 1, above[j])):
            if inside:
                col.index = at
                A.setValueStencil(row, col, -flow)
                if at[1] == j:
                    diagonal += flow
        A.setValueStencil(row, row, diagonal)
A.assemble()

ksp = PETSc.KSP().create()
ksp.setOperators(A)
ksp.setType("cg")
ksp.setTolerances(rtol=max(1e-10, 1e3 * numpy.finfo(PETSc.RealType).eps))
ksp.setFromOptions()
u, b = da.createGlobalVec(), da.createGlobalVec()
residual = b.duplicate()
iterations, worst = [], 0.0
for _ in range(steps):
    old, new = da.getVecArray(u), da.getVecArray(b)
    new[:, :] = h * h / step * c[numpy.newaxis, j0:j1] * old[:, :]
    if j1 == n:
        new[:, n - 1] = new[i0:i1, n - 1] + above[-1] * surface[i0:i1]
    ksp.solve(b, u)
    if ksp.getConvergedReason() <= 0:
        raise RuntimeError(f"KSPConvergedReason {ksp.getConvergedReason()}")
    iterations.append(ksp.getIterationNumber())
    A.mult(u, residual)
    residual.axpy(-1, b)
    worst = max(worst, residual.norm() / b.norm())
say(f"{m} x {n} cells, {steps} steps, {numpy.mean(iterations):.2f} iterations each, |b - A u| / |b| at most {worst:.1e}")

# the field on the first rank, [row][column]
scatter, everything = PETSc.Scatter.toZero(u)
natural = da.createNaturalVec()
da.globalToNatural(u, natural)
scatter.scatter(natural, everything)
failed = False
if PETSc.COMM_WORLD.getRank() == 0:
    field = everything.getArray().real.reshape(n, m)
    # what the mean over the strip does is heat in one dimension, since nothing flows through the sides: solved densely
    line = numpy.diag(h * h * c / step + below + above) - numpy.diag(above[:-1], 1) - numpy.diag(below[1:], -1)
    mean = numpy.zeros(n)
    for _ in range(steps):
        rhs = h * h / step * c * mean
        rhs[-1] += above[-1] * surface.mean()
        mean = numpy.linalg.solve(line, rhs)
    off = abs(field.mean(axis=1) - mean).max()
    flow = above[-1] * (surface - field[-1]).sum()
    say(f"result: heat flow from the surface {flow:.6f}, temperature below the layer {field[int(0.5 * n), n]:.6f}")
    say(f"means along the strip differ from those in one dimension by {off:.1e}")
    failed = off > (1e-6 if numpy.finfo(PETSc.RealType).eps < 1e-10 else 1e-2)
    if picture:
        try:
            import matplotlib

            matplotlib.use("Agg")
            from matplotlib import pyplot
        except ImportError:
            picture = picture.rsplit(".", 1)[0] + ".pgm"
            with open(picture, "wb") as file:
                file.write(b"P5\n%d %d\n255\n" % (m, n) + (255 * field[::-1].clip(0, 1)).astype(numpy.uint8).tobytes())
        else:
            figure, axes = pyplot.subplots(figsize=(8, 4), layout="constrained")
            y = (numpy.arange(n) + 0.5) * h - 1
            image = axes.pcolormesh(x - 1, y, field, cmap="inferno", vmin=0, vmax=1, rasterized=True)
            axes.contour(x - 1, y, field, numpy.arange(0.1, 1, 0.1), colors="w", linewidths=0.6)
            for top, name in zip(tops, ("rock", "gravel", "insulation", "soil")):
                axes.axhline(top - 1, color="0.6", linewidth=0.8)
                axes.text(-0.98, top - 1.02, name, color="w", va="top", fontsize=8)
            axes.set(aspect="equal", xlabel="along the surface, in depths", ylabel="depth")
            figure.colorbar(image, label="temperature")
            figure.savefig(picture, dpi=90)
        say(f"picture: {picture}")
sys.exit(bool(failed))
