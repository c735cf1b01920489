# ranks: 1 2
# compare: -n 95 -delta 0.04
# options: -n 95 -delta 0.04 -land 0
"""Stommel's ocean with a rough western coast and islands: the stream function of the currents that a steady wind drives.

On the beta plane, with friction at the bottom, lengths in widths of the basin and delta the friction over beta,

    delta lap(psi) + psi_x = F(y),    F = -pi sin(pi y) the curl of the wind,

psi = 0 on the mainland and a constant on each island, whatever makes its friction balance the wind around it. With
psi = exp(-x / (2 delta)) phi this is the Helmholtz equation -lap(phi) + phi / (4 delta^2) = -exp(x / (2 delta)) F / delta,
and land is rows of the identity, by MatZeroRows(): one solve for the wind and one for each island.

    python3 ocean.py -pc_type gamg
    python3 ocean.py -dll_append <petscbcr>/lib/libpetscbcr.so -pc_type bcrpoisson

This program knows nothing of petscbcr. Options: -n <191> nodes along a side, -delta <0.02>, -land <1> (0: none),
-picture <ocean.png> (ocean.pgm without matplotlib; an empty name: none), and those of PETSc (-ksp_view, -ksp_monitor).
"""

import sys

import numpy
import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc  # noqa: E402

options = PETSc.Options()
n = options.getInt("n", 191)
delta = options.getReal("delta", 0.02)
picture = options.getString("picture", "ocean.png")
h = 1 / (n + 1)
x, y = numpy.meshgrid(h * numpy.arange(1, n + 1), h * numpy.arange(1, n + 1))  # [row][column]; psi = 0 on the frame
wind = -numpy.pi * numpy.sin(numpy.pi * y)

# 0 is water, -1 the mainland, 1, 2, ... islands
land = numpy.zeros((n, n), int)
if options.getBool("land", True):
    coast = 0.09 + 0.03 * numpy.sin(8 * y) + 0.02 * numpy.sin(23 * y + 1) + 0.012 * numpy.sin(71 * y)
    land[x < coast] = -1
    land[y < 0.05 + 0.02 * numpy.sin(17 * x) + 0.012 * numpy.sin(59 * x)] = -1
    for k, (cx, cy, rx, ry) in enumerate(((0.55, 0.62, 0.035, 0.14), (0.42, 0.22, 0.06, 0.03), (0.8, 0.24, 0.03, 0.05))):
        land[((x - cx) / rx) ** 2 + ((y - cy) / ry) ** 2 < 1 + 0.3 * numpy.sin(40 * x + 35 * y)] = k + 1

# the matrix of the box, times h^2, on this rank's nodes; then land
da = PETSc.DMDA().create((n, n), dof=1, stencil_width=1, stencil_type="star")
A = da.createMat()
row, col = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
(xs, xe), (ys, ye) = da.getRanges()
for j in range(ys, ye):
    for i in range(xs, xe):
        row.index = (i, j)
        for di, dj, value in ((0, 0, 4 + (h / delta) ** 2 / 4), (-1, 0, -1), (1, 0, -1), (0, -1, -1), (0, 1, -1)):
            if 0 <= i + di < n and 0 <= j + dj < n:
                col.index = (i + di, j + dj)
                A.setValueStencil(row, col, value)
A.assemble()
first = A.getOwnershipRange()[0]
A.zeroRows(first + numpy.flatnonzero(land[ys:ye, xs:xe]).astype(PETSc.IntType), diag=1.0)  # a rank's nodes are numbered row by row

ksp = PETSc.KSP().create()
ksp.setOperators(A)
ksp.setType("gmres")
ksp.setTolerances(rtol=max(1e-12, 1e3 * numpy.finfo(PETSc.RealType).eps))
ksp.setFromOptions()
phi, b = A.createVecs()
residual = b.duplicate()
natural = da.createNaturalVec()
scatter, everything = PETSc.Scatter.toAll(natural)
solves = []


def solve(rhs):
    """psi on all ranks, for the right-hand side -exp(x / (2 delta)) rhs / delta in water, and psi = rhs on land"""
    scaled = numpy.exp((x - 1) / (2 * delta)) * numpy.where(land, rhs, -rhs * h**2 / delta)
    b.setArray(scaled[ys:ye, xs:xe].ravel())
    ksp.solve(b, phi)
    if ksp.getConvergedReason() <= 0:
        raise RuntimeError(f"KSPConvergedReason {ksp.getConvergedReason()}")
    A.mult(phi, residual)
    residual.axpy(-1, b)
    solves.append((ksp.getIterationNumber(), residual.norm() / b.norm()))
    da.globalToNatural(phi, natural)
    scatter.scatter(natural, everything)
    return numpy.exp((1 - x) / (2 * delta)) * everything.getArray().real.reshape(n, n)


def circulation(psi, k):
    """friction around island k: delta times the differences of psi along the links from its nodes to the water"""
    total = 0.0
    for axis, step in ((0, -1), (0, 1), (1, -1), (1, 1)):
        neighbour = numpy.roll(psi, -step, axis)
        total += delta * ((neighbour - psi) * ((land == k) & (numpy.roll(land, -step, axis) == 0))).sum()
    return total


# wind alone, then each island alone with psi = 1; on each island friction = the integral of the wind's curl over it
islands = range(1, land.max() + 1)
psi = solve(numpy.where(land, 0, wind))
responses = [solve(numpy.where(land == k, 1.0, 0.0)) for k in islands]
if responses:
    matrix = [[circulation(response, k) for response in responses] for k in islands]
    missing = [h * h * wind[land == k].sum() - circulation(psi, k) for k in islands]
    constants = numpy.linalg.solve(matrix, missing)
    psi = psi + sum(c * response for c, response in zip(constants, responses))
say = PETSc.Sys.Print
say(f"{len(solves)} solves, iterations {[its for its, _ in solves]}, |b - A phi| / |b| at most {max(r for _, r in solves):.1e}")

# what is known of it
failed = False
sverdrup = -wind * (1 - x)  # far from western coasts: psi_x = F, psi = 0 in the east
if responses:
    # Godfrey's rule: psi of an island is the mean of Sverdrup's along its western coast, if friction is small
    for k, c in zip(islands, constants):
        rows = numpy.flatnonzero((land == k).any(axis=1))
        west = [(land[j] == k).argmax() for j in rows]
        rule = numpy.mean([sverdrup[j, i] for j, i in zip(rows, west)])
        say(f"result: island {k}, transport {c:.6f}, Godfrey's rule {rule:.6f}")
        failed |= k == 1 and not abs(c - rule) < 4 * delta * abs(rule)  # a tall one
else:
    # Stommel's solution
    a, b_ = -0.5 / delta + numpy.sqrt(0.25 / delta**2 + numpy.pi**2), -0.5 / delta - numpy.sqrt(0.25 / delta**2 + numpy.pi**2)
    p = (1 - numpy.exp(b_)) / (numpy.exp(a) - numpy.exp(b_))
    exact = numpy.sin(numpy.pi * y) * (1 - p * numpy.exp(a * x) - (1 - p) * numpy.exp(b_ * x)) / (delta * numpy.pi)
    error = abs(psi - exact).max() / exact.max()
    say(f"result: largest difference from Stommel's solution {error:.6f} of its maximum")
    failed |= not error < 0.25 * (h / delta) ** 2
# the western boundary current: beside Sverdrup's flow, the velocity psi_x falls as exp(-(x - coast) / delta)
j = int(0.36 * (n + 1))
coast = numpy.flatnonzero(land[j] == 0)[0]
one, two = coast + int(0.5 * delta / h), coast + int(1.5 * delta / h)
velocity = (numpy.roll(psi[j], -1) - numpy.roll(psi[j], 1)) / (2 * h) - wind[j]
width = (two - one) * h / numpy.log(velocity[one] / velocity[two])
say(f"result: width of the western boundary current {width / delta:.6f} delta")
failed |= not 0.8 < width / delta < 1.25
failed |= not max(r for _, r in solves) < 1e-6

if picture and PETSc.COMM_WORLD.getRank() == 0:
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:  # bright where much flows around; land is black
        picture = picture.rsplit(".", 1)[0] + ".pgm"
        gray = numpy.where(land, 0, 55 + 200 * (psi - psi.min()) / (psi.max() - psi.min()))
        with open(picture, "wb") as file:
            file.write(b"P5\n%d %d\n255\n" % (n, n) + gray[::-1].astype(numpy.uint8).tobytes())
    else:
        figure, axes = pyplot.subplots(figsize=(6, 5.2), layout="constrained")
        water = numpy.ma.masked_where(land != 0, psi)
        colours = axes.pcolormesh(x, y, water, cmap="Blues", rasterized=True)
        axes.contour(x, y, water, 18, colors="k", linewidths=0.6)
        axes.pcolormesh(x, y, numpy.ma.masked_where(land == 0, land != 0), cmap="copper", vmin=-1.5, vmax=1.5)
        axes.set(aspect="equal", xticks=(), yticks=(), title=f"currents around islands, delta = {delta:g}, {n} x {n} nodes")
        figure.colorbar(colours, label="stream function")
        figure.savefig(picture, dpi=100)
    say(f"picture: {picture}")
sys.exit(failed)
