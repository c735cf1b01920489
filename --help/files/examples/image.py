# ranks: 1 2
# compare: -n 48
"""Editing of a picture by its gradients: a piece of one picture in another without a seam (Perez, Gangnet, Blake, SIGGRAPH 2003).

Inside of a mask the edited picture has the gradients of the piece, outside it is the picture as it was:

    lap(u) = lap(piece) inside,    u = picture outside.

Each pixel is a row of the matrix, those outside of the mask rows of the identity (MatZeroRows()); red, green and blue are three right-hand
sides. The pictures are made here: an evening over the sea, and a moon with its halo on another sky.

    python3 image.py -pc_type gamg
    python3 image.py -dll_append <petscbcr>/lib/libpetscbcr.so -pc_type bcrpoisson

It knows nothing of petscbcr. Options: -n <240> rows of pixels, -picture <image.png> (image.ppm without matplotlib; an empty name: none),
and those of PETSc.
"""

import sys

import numpy
import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc  # noqa: E402

options = PETSc.Options()
n = options.getInt("n", 240)
picture = options.getString("picture", "image.png")
m = 3 * n // 2
say = PETSc.Sys.Print
x, y = numpy.meshgrid((numpy.arange(m) + 0.5) / n, (numpy.arange(n) + 0.5) / n)  # y downwards


def evening():
    """a sky that is red above the horizon, and its glitter in the water"""
    sky = numpy.stack([0.15 + 0.8 * y, 0.2 + 0.35 * y, 0.45 - 0.1 * y], axis=2)
    wave = 0.5 + 0.5 * numpy.sin(40 / (y - 0.62).clip(0.02) + 12 * x + 3 * numpy.sin(7 * x))
    sea = numpy.stack([0.25 + 0.3 * wave * (y - 0.6), 0.2 + 0.3 * wave * (y - 0.6), 0.3 + 0.4 * wave * (y - 0.6)], axis=2)
    return numpy.where((y < 0.66)[:, :, None], sky, sea)


def moon():
    """on a sky that is green and much too bright"""
    r = numpy.hypot(x - 1.0, y - 0.3)
    disc = (1 - ((r - 0.1) * n).clip(-0.5, 0.5)) - 0.5
    craters = 0.1 * numpy.sin(60 * x + 9 * numpy.sin(30 * y)) * numpy.sin(50 * y)
    light = disc * (0.42 + craters) + 0.12 * numpy.exp(-10 * (r - 0.1).clip(0))
    return numpy.array([0.35, 0.55, 0.4]) + light[:, :, None] * numpy.array([1.0, 0.95, 0.8])


target, piece = evening(), moon()
mask = (x - 1.0) ** 2 + (y - 0.3) ** 2 * (1 + 0.3 * numpy.sin(9 * numpy.arctan2(y - 0.3, x - 1.0))) < 0.22**2
mask[[0, -1]] = mask[:, [0, -1]] = False


def laplacian(u):
    """4 u less the four neighbours, within the picture"""
    padded = numpy.pad(u, ((1, 1), (1, 1), (0, 0)), mode="edge")
    return 4 * u - padded[:-2, 1:-1] - padded[2:, 1:-1] - padded[1:-1, :-2] - padded[1:-1, 2:]


A = PETSc.Mat().createAIJ((n * m, n * m), nnz=5)
first, last = A.getOwnershipRange()
for at in range(first, last):
    j, i = divmod(at, m)
    A.setValue(at, at, 4.0)
    for column, inside in ((at - 1, i > 0), (at + 1, i < m - 1), (at - m, j > 0), (at + m, j < n - 1)):
        if inside:
            A.setValue(at, column, -1.0)
A.assemble()
A.zeroRows(first + numpy.flatnonzero(~mask.ravel()[first:last]).astype(PETSc.IntType), diag=1.0)

ksp = PETSc.KSP().create()
ksp.setOperators(A)
ksp.setType("gmres")
ksp.setTolerances(rtol=max(1e-10, 1e3 * numpy.finfo(PETSc.RealType).eps))
ksp.setFromOptions()
u, b = A.createVecs()
residual = b.duplicate()
scatter, everything = PETSc.Scatter.toAll(u)


def edit(inside):
    """the target with the gradients of another picture inside of the mask; iterations and residuals"""
    edited, told = numpy.empty_like(target), []
    rhs = numpy.where(mask[:, :, None], laplacian(inside), target)
    for colour in range(3):
        b.setArray(rhs[:, :, colour].ravel()[first:last])
        ksp.solve(b, u)
        if ksp.getConvergedReason() <= 0:
            raise RuntimeError(f"KSPConvergedReason {ksp.getConvergedReason()}")
        A.mult(u, residual)
        residual.axpy(-1, b)
        told.append((ksp.getIterationNumber(), residual.norm() / b.norm()))
        scatter.scatter(u, everything)
        edited[:, :, colour] = everything.getArray().real.reshape(n, m)
    return edited, told


edited, told = edit(piece)
say(f"{m} x {n} pixels, {mask.sum()} in the mask; iterations {', '.join(str(i) for i, _ in told)}, |b - A u| / |b| at most {max(r for _, r in told):.1e}")
bright = edited[mask].mean(axis=0)
say(f"result: mean colour inside {bright[0]:.6f} {bright[1]:.6f} {bright[2]:.6f}")
# the picture's own gradients give the picture back; outside nothing changes
same, more = edit(target)
back, outside = abs(same - target).max(), abs(edited - target)[~mask].max()
say(f"its own gradients give the picture back to {back:.1e}; outside of the mask it is the picture to {outside:.1e}")
tolerance = 1e-5 if numpy.finfo(PETSc.RealType).eps < 1e-10 else 1e-2
failed = not (back < tolerance and outside < tolerance)

if picture and PETSc.COMM_WORLD.getRank() == 0:
    pasted = numpy.where(mask[:, :, None], piece, target)
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:
        picture = picture.rsplit(".", 1)[0] + ".ppm"
        with open(picture, "wb") as file:
            file.write(b"P6\n%d %d\n255\n" % (m, n) + (255 * edited.clip(0, 1)).astype(numpy.uint8).tobytes())
    else:
        figure, axes = pyplot.subplots(1, 3, figsize=(9.6, 2.5), layout="constrained")
        for ax, shown, title in zip(axes, (piece, pasted, edited), ("the piece", "pasted", "by its gradients")):
            ax.imshow(shown.clip(0, 1))
            ax.set(title=title, xticks=[], yticks=[])
        figure.savefig(picture, dpi=100)
    say(f"picture: {picture}")
sys.exit(bool(failed))
