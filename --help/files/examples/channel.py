# ranks: 1 2
# compare: -n 24 -mg_levels_ksp_type richardson -mg_levels_pc_type sor
"""A flow that starts in a channel of rectangular cross-section, in cells that are finer towards its four walls.

The fluid is at rest until a drop of pressure along the channel sets in; in units of half the smaller side, of viscosity
and of the drop the velocity along it is

    u_t = lap(u) + 1,    u = 0 on the walls.

At first it is the same everywhere but in thin layers at the walls, whose width grows as sqrt(t): time steps grow with them, and
with each the matrix changes. Coefficients vary along both axes.

    python3 channel.py -pc_type gamg -mg_levels_ksp_type richardson -mg_levels_pc_type sor
    python3 channel.py -dll_append <petscbcr>/lib/libpetscbcr.so -pc_type bcrpoisson

It knows nothing of petscbcr. Options: -n <96> cells along the smaller side, -width <2> of the channel over its height,
-fine <0.1>: the smallest cell over the mean one, -picture <channel.png> (channel.pgm without matplotlib; an empty name: none), and those of PETSc.
"""

import sys

import numpy
import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc  # noqa: E402

options = PETSc.Options()
n = options.getInt("n", 96)
width = options.getReal("width", 2.0)
fine = options.getReal("fine", 0.1)
picture = options.getString("picture", "channel.png")


def faces(cells, half):
    """of cells between -half and half, by a tanh whose first cell is `fine` of the mean one"""
    low, high = 1e-3, 20.0
    for _ in range(60):
        s = (low + high) / 2
        line = numpy.tanh(s * numpy.linspace(-1, 1, cells + 1)) / numpy.tanh(s)
        low, high = (s, high) if line[1] - line[0] > 2 / cells * fine else (low, s)
    return half * line


def axis(face):
    """middles and widths of cells, and 1/distance across each face"""
    size = numpy.diff(face)
    middle = (face[1:] + face[:-1]) / 2
    return middle, size, 1 / numpy.concatenate(([size[0] / 2], numpy.diff(middle), [size[-1] / 2]))


m = round(n * width)
z_faces, y_faces = faces(m, width), faces(n, 1.0)
(z, dz, across_z), (y, dy, across_y) = axis(z_faces), axis(y_faces)
volume = numpy.outer(dy, dz)  # [row][column]

# -lap, integrated over each of this rank's cells: what flows out through its faces
da = PETSc.DMDA().create((m, n), dof=1, stencil_width=1, stencil_type="star")
L = da.createMat()
row, col = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
(zs, ze), (ys, ye) = da.getRanges()
mine = (slice(ys, ye), slice(zs, ze))
for j in range(ys, ye):
    for i in range(zs, ze):
        row.index = (i, j)
        links = ((-1, 0, dy[j] * across_z[i]), (1, 0, dy[j] * across_z[i + 1]), (0, -1, dz[i] * across_y[j]), (0, 1, dz[i] * across_y[j + 1]))
        L.setValueStencil(row, row, sum(flux for _, _, flux in links))
        for di, dj, flux in links:
            if 0 <= i + di < m and 0 <= j + dj < n:
                col.index = (i + di, j + dj)
                L.setValueStencil(row, col, -flux)
L.assemble()
A = L.duplicate(copy=True)
diagonal, x, b = L.getDiagonal(), da.createGlobalVec(), da.createGlobalVec()

ksp = PETSc.KSP().create()
ksp.setOperators(A)
ksp.setType("gmres")
ksp.setTolerances(rtol=max(1e-11, 1e3 * numpy.finfo(PETSc.RealType).eps))
ksp.setFromOptions()
residual = b.duplicate()
natural = da.createNaturalVec()
scatter, everything = PETSc.Scatter.toAll(natural)
solves = []


def assemble(step):
    """A = volume - step lap"""
    L.copy(A, structure=PETSc.Mat.Structure.SAME_NONZERO_PATTERN)
    A.scale(step)
    b.setArray(volume[mine].ravel())
    b.axpy(step, diagonal)
    A.setDiagonal(b)


def solve(rhs):
    """rhs and the solution: arrays of all cells, on all ranks"""
    b.setArray((volume * rhs)[mine].ravel())
    ksp.solve(b, x)
    if ksp.getConvergedReason() <= 0:
        raise RuntimeError(f"KSPConvergedReason {ksp.getConvergedReason()}")
    A.mult(x, residual)
    residual.axpy(-1, b)
    solves.append((ksp.getIterationNumber(), residual.norm() / b.norm()))
    da.globalToNatural(x, natural)
    scatter.scatter(natural, everything)
    return everything.getArray().real.reshape(n, m).copy()


def exact(t, terms=400):
    """flow rate and velocity in the middle: the series of the channel's eigenfunctions"""
    k = numpy.arange(1, 2 * terms, 2) * numpy.pi / 2
    sign = (-1.0) ** numpy.arange(terms)
    decay = numpy.add.outer(k**2, (k / width) ** 2)
    part = -numpy.expm1(-decay * t) / decay
    return (numpy.outer(4 / k**2, 4 * width / k**2) * part).sum(), (numpy.outer(2 * sign / k, 2 * sign / k) * part).sum()


# steps of a tenth of the time that has passed; two implicit stages, of second order, that damp what is stiff (SDIRK, L-stable)
gamma = 1 - 2**-0.5
u, t, shown, failed = numpy.zeros((n, m)), 0.0, [], False
centre = (slice((n - 1) // 2, n // 2 + 1), slice((m - 1) // 2, m // 2 + 1))
for target in (0.01, 0.1, 1.0):
    while t < target * (1 - 1e-12):
        step = min(max(dy[0] ** 2, 0.1 * t), target - t)
        assemble(gamma * step)
        stage = solve(u + gamma * step)
        rate = (stage - u) / (gamma * step)
        u = solve(u + (1 - gamma) * step * rate + gamma * step)
        t += step
    found, wanted = ((volume * u).sum(), u[centre].mean()), exact(t)
    PETSc.Sys.Print(f"result: t = {t:.2f}, flow rate {found[0]:.6f}, velocity in the middle {found[1]:.6f}; series {wanted[0]:.6f}, {wanted[1]:.6f}")
    failed |= any(not abs(f / w - 1) < 8 / n**2 for f, w in zip(found, wanted))
    shown.append((t, u.copy()))
worst = max(r for _, r in solves)
PETSc.Sys.Print(f"{m} x {n} cells, the smallest {dy[0] * n / 2:.3f} of the mean; {len(solves) // 2} steps, {len(solves)} solves, "
                f"{max(i for i, _ in solves)} iterations at most, |b - A u| / |b| at most {worst:.1e}")
failed |= not worst < max(1e-8, 1e4 * numpy.finfo(PETSc.RealType).eps)

if picture and PETSc.COMM_WORLD.getRank() == 0:
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:  # the last time, bright where it is fast
        picture = picture.rsplit(".", 1)[0] + ".pgm"
        with open(picture, "wb") as file:
            file.write(b"P5\n%d %d\n255\n" % (m, n) + (255 * u / u.max()).astype(numpy.uint8).tobytes())
    else:
        figure, panes = pyplot.subplots(len(shown), 1, figsize=(6, 2.4 * len(shown) + 0.6), layout="constrained", sharex=True)
        for pane, (time, field) in zip(panes, shown):
            colours = pane.pcolormesh(z_faces, y_faces, field, cmap="viridis", rasterized=True)
            pane.hlines(y_faces[::4], -width, width, colors="w", linewidths=0.2)
            pane.vlines(z_faces[::4], -1, 1, colors="w", linewidths=0.2)
            pane.contour(z, y, field, 6, colors="k", linewidths=0.6)
            pane.set(aspect="equal", yticks=(), title=f"t = {time:g}")
            figure.colorbar(colours, ax=pane)
        figure.suptitle(f"a flow that starts: {m} x {n} cells, every fourth face drawn")
        figure.savefig(picture, dpi=100)
    PETSc.Sys.Print(f"picture: {picture}", comm=PETSc.COMM_SELF)
sys.exit(failed)
