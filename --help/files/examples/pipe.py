# ranks: 1 2
# compare: -n 12
"""A charge in a grounded pipe: the potential in cylindrical coordinates, in cells that are finer where it is steep.

    -lap(phi) = delta(x - x0),    phi = 0 on the wall r = 1 and far away, z = length,

with the charge in the plane of symmetry z = 0, between the axis and the wall. The matrix is that of finite volumes in r, theta and z: cells
of all sizes, links across a cell of a length that varies with r.

    python3 pipe.py -pc_type gamg
    python3 pipe.py -dll_append <petscbcr>/lib/libpetscbcr.so -pc_type bcrpoisson

It knows nothing of petscbcr. Options: -n <32> cells along the radius, -length <4>, -picture <pipe.png> (pipe.pgm
without matplotlib; an empty name: none), and those of PETSc (-ksp_view, -ksp_monitor).
"""

import sys

import numpy
import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc  # noqa: E402

options = PETSc.Options()
n = options.getInt("n", 32)
length = options.getReal("length", 4.0)
picture = options.getString("picture", "pipe.png")

# faces: finer towards the wall, and towards the charge along z
m, k = 2 * n, 2 * n
faces_r = numpy.sin(numpy.pi / 2 * numpy.linspace(0, 1, n + 1))
faces_z = length * (numpy.exp(2 * numpy.linspace(0, 1, k + 1)) - 1) / (numpy.exp(2) - 1)
r, z = (faces_r[1:] + faces_r[:-1]) / 2, (faces_z[1:] + faces_z[:-1]) / 2
dr, dz, dt = numpy.diff(faces_r), numpy.diff(faces_z), 2 * numpy.pi / m
# areas over distances: across the faces of r and z, in units of what the other axes make of them
across_r = faces_r / numpy.concatenate(([1], numpy.diff(r), [dr[-1] / 2]))  # nothing flows through the axis
across_z = 1 / numpy.concatenate(([numpy.inf], numpy.diff(z), [dz[-1] / 2]))  # nor through the plane of symmetry

da = PETSc.DMDA().create((n, m, k), dof=1, stencil_width=1, stencil_type="star", boundary_type=("none", "periodic", "none"))
A = da.createMat()
row, col = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
ranges = da.getRanges()
mine = tuple(slice(*ends) for ends in reversed(ranges))  # arrays are [z][theta][r]
for l in range(*ranges[2]):
    for j in range(*ranges[1]):
        for i in range(*ranges[0]):
            row.index = (i, j, l)
            side, base = dr[i] * dz[l] / (r[i] * dt), r[i] * dr[i] * dt
            links = (
                ((i - 1, j, l), across_r[i] * dt * dz[l]),
                ((i + 1, j, l), across_r[i + 1] * dt * dz[l]),
                ((i, j - 1, l), side),
                ((i, j + 1, l), side),
                ((i, j, l - 1), base * across_z[l]),
                ((i, j, l + 1), base * across_z[l + 1]),
            )
            A.setValueStencil(row, row, sum(link for _, link in links))
            for (ii, jj, ll), link in links:
                if 0 <= ii < n and 0 <= ll < k:
                    col.index = (ii, jj, ll)
                    A.setValueStencil(row, col, -link)
A.assemble()

ksp = PETSc.KSP().create()
ksp.setOperators(A)
ksp.setType("gmres")
ksp.setTolerances(rtol=max(1e-10, 1e3 * numpy.finfo(PETSc.RealType).eps))
ksp.setFromOptions()
x, b = da.createGlobalVec(), da.createGlobalVec()
residual = b.duplicate()

# half of the charge is on this side of the plane of symmetry
charge = numpy.zeros((k, m, n))
at = numpy.searchsorted(faces_r, 0.5) - 1
charge[0, 0, at] = 0.5
b.setArray(charge[mine].ravel())
ksp.solve(b, x)
if ksp.getConvergedReason() <= 0:
    raise RuntimeError(f"KSPConvergedReason {ksp.getConvergedReason()}")
A.mult(x, residual)
residual.axpy(-1, b)
worst = residual.norm() / b.norm()
natural = da.createNaturalVec()
scatter, everything = PETSc.Scatter.toAll(natural)
da.globalToNatural(x, natural)
scatter.scatter(natural, everything)
phi = everything.getArray().real.reshape(k, m, n)

# what is known: all field lines end on the wall or far away; far away the potential is J0(j r) exp(-j z), J0(j) = 0
wall = (phi[:, :, -1] * across_r[-1] * dt * dz[:, None]).sum()
end = (phi[-1] * r * dr * dt).sum() * across_z[-1]
mean = (phi * r * dr).sum(axis=(1, 2))
one, two = numpy.searchsorted(z, 0.35 * length), numpy.searchsorted(z, 0.6 * length)
rate = numpy.log(mean[one] / mean[two]) / (z[two] - z[one])
say = PETSc.Sys.Print
say(f"{n} x {m} x {k} cells, {ksp.getIterationNumber()} iterations, |b - A phi| / |b| = {worst:.1e}")
say(f"result: charge on the wall {-2 * wall:.6f}, at the far end {-2 * end:.6f}; the potential falls as exp(-{rate:.6f} z)")
failed = not abs(wall + end - 0.5) < 1e-4 or not abs(rate / 2.404826 - 1) < 4 / n**2 + 0.01
failed |= not worst < max(1e-8, 1e4 * numpy.finfo(PETSc.RealType).eps)

if picture and PETSc.COMM_WORLD.getRank() == 0:
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:  # the plane of the charge, unrolled: theta to the right, r upwards
        picture = picture.rsplit(".", 1)[0] + ".pgm"
        gray = 255 * numpy.clip(1 + numpy.log10(numpy.abs(phi[0]) / phi.max() + 1e-12) / 4, 0, 1)
        with open(picture, "wb") as file:
            file.write(b"P5\n%d %d\n255\n" % (m, n) + gray.T[::-1].astype(numpy.uint8).tobytes())
    else:
        figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.6), layout="constrained", width_ratios=(1, 1.7))
        level = numpy.log10(numpy.maximum(phi, 1e-9))
        # the plane of the charge, with its faces, and the plane through the axis and the charge
        angle = dt * (numpy.arange(m + 1) - 0.5)
        left.pcolormesh(faces_r * numpy.cos(angle)[:, None], faces_r * numpy.sin(angle)[:, None], level[0], cmap="magma", vmin=-5, vmax=0,
                        edgecolors=(1, 1, 1, 0.15), linewidth=0.2, rasterized=True)
        left.set(aspect="equal", xticks=(), yticks=(), title="z = 0")
        across, section = numpy.concatenate((-faces_r[::-1], faces_r[1:])), numpy.concatenate((level[:, m // 2, ::-1], level[:, 0, :]), axis=1)
        colours = right.pcolormesh(faces_z, across, section.T, cmap="magma", vmin=-5, vmax=0, rasterized=True)
        right.contour(z, numpy.concatenate((-r[::-1], r)), section.T, numpy.arange(-5, 0.1, 0.5), colors="w", linewidths=0.5)
        right.set(aspect="equal", xlabel="z", yticks=(), title="through the charge and the axis")
        figure.colorbar(colours, ax=right, label="log10 of the potential", shrink=0.8)
        figure.savefig(picture, dpi=100)
    say(f"picture: {picture}", comm=PETSc.COMM_SELF)
sys.exit(failed)
