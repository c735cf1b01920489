# ranks: 1 2
# compare: -n 63 -per_cell 6
"""An electrode in a box of plasma: electrons as particles, a uniform background of ions, the potential in each time step.

Lengths are in Debye lengths, times in those of the plasma frequency, potentials in electron temperatures:

    -lap(phi) = 1 - n_e,    d2x/dt2 = grad(phi).

The walls have phi = 0 and plasma behind them, which electrons come from; the round electrode is brought to its voltage and held
there, by rows of the identity in the matrix (MatZeroRows()). The program has no DMDA: rows are numbered node by node.

    python3 plasma.py -pc_type gamg
    python3 plasma.py -dll_append <petscbcr>/lib/libpetscbcr.so -pc_type bcrpoisson

It knows nothing of petscbcr. Options: -n <127> nodes along a side, -voltage <-20>, -per_cell <12> electrons,
-picture <plasma.png> (plasma.pgm without matplotlib; an empty name: none), and those of PETSc (-ksp_view, -log_view).
"""

import sys

import numpy
import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc  # noqa: E402

options = PETSc.Options()
n = options.getInt("n", 127)
voltage = options.getReal("voltage", -20.0)
per_cell = options.getInt("per_cell", 12)
picture = options.getString("picture", "plasma.png")
comm, say = PETSc.COMM_WORLD, PETSc.Sys.Print
length, radius, dt = 40.0, 3.0, 0.15
h = length / (n + 1)
line = h * numpy.arange(n + 2) - length / 2  # nodes with both walls
x, y = numpy.meshgrid(line, line)  # [row][column]
electrode = x**2 + y**2 < radius**2

# -h^2 lap, then the electrode
A = PETSc.Mat().createAIJ((n * n, n * n), nnz=5)
first, last = A.getOwnershipRange()
for k in range(first, last):
    j, i = divmod(k, n)
    A.setValue(k, k, 4.0)
    for column, inside in ((k - 1, i > 0), (k + 1, i < n - 1), (k - n, j > 0), (k + n, j < n - 1)):
        if inside:
            A.setValue(k, column, -1.0)
A.assemble()
held = electrode[1:-1, 1:-1].ravel()
A.zeroRows(first + numpy.flatnonzero(held[first:last]).astype(PETSc.IntType), diag=1.0)

ksp = PETSc.KSP().create()
ksp.setOperators(A)
ksp.setType("gmres")
ksp.setTolerances(rtol=max(1e-10, 1e3 * numpy.finfo(PETSc.RealType).eps))
ksp.setFromOptions()
u, b = A.createVecs()
residual = b.duplicate()
scatter, everything = PETSc.Scatter.toAll(u)
solves = []


def spread(u):
    """a vector as an array of all nodes with 0 at the walls, on all ranks"""
    scatter.scatter(u, everything)
    array = numpy.zeros((n + 2, n + 2))
    array[1:-1, 1:-1] = everything.getArray().real.reshape(n, n)
    return array


def potential(charge, volts):
    """phi at all nodes; charge is nothing on the electrode"""
    rhs = numpy.where(electrode, volts, h * h * charge)[1:-1, 1:-1].ravel()
    b.setArray(rhs[first:last])
    ksp.solve(b, u)
    if ksp.getConvergedReason() <= 0:
        raise RuntimeError(f"KSPConvergedReason {ksp.getConvergedReason()}")
    A.mult(u, residual)
    residual.axpy(-1, b)
    solves.append((ksp.getIterationNumber(), residual.norm() / b.norm()))
    return spread(u)


def on_electrode(phi):
    """the charge of the electrode: what flows out of it along the links to its neighbours"""
    return sum((phi - numpy.roll(phi, step, axis))[electrode].sum() for axis in (0, 1) for step in (-1, 1))


# without plasma it is a wire in a square tube: its capacitance is known to 4 digits of the factor 1.0787
capacitance = on_electrode(potential(0 * x, voltage)) / voltage
known = 2 * numpy.pi / numpy.log(1.0787 * length / (2 * radius))
say(f"result: capacitance {capacitance:.6f}, of a wire in a square tube {known:.6f}")

# this rank's electrons: as even as they can be in space, Maxwell's velocities
random = numpy.random.default_rng(comm.getRank())
number = int(per_cell * (n + 1) ** 2 / comm.getSize())
k = numpy.arange(number) * comm.getSize() + comm.getRank() + 1
position = length * (numpy.outer((0.7548776662466927, 0.5698402909980532), k) % 1)  # from the lower left corner
velocity = random.standard_normal((2, number))


def weights(position):
    """the four nodes around each electron, numbered with the walls, and its parts of them"""
    cell = numpy.minimum(position / h, n + 0.999999)
    corner = cell.astype(int)
    part = cell - corner
    for dj in (0, 1):
        for di in (0, 1):
            yield (corner[1] + dj) * (n + 2) + corner[0] + di, abs(1 - di - part[0]) * abs(1 - dj - part[1])


def density(position):
    """of all ranks' electrons, at all nodes; of no interest, and 0, at the walls"""
    total = numpy.zeros((n + 2) ** 2)
    for node, part in weights(position):
        total += numpy.bincount(node, part, total.size)
    u.set(0)
    u.setValues(numpy.arange(n * n, dtype=PETSc.IntType), total.reshape(n + 2, n + 2)[1:-1, 1:-1].ravel() / per_cell, addv=True)
    u.assemble()
    return spread(u)


ramp, settled, end = 15.0, 25.0, 40.0
mean, samples = numpy.zeros((2, n + 2, n + 2)), 0
for step in range(int(end / dt)):
    t = step * dt
    electrons = density(position)
    phi = potential(1 - electrons, voltage * min(1, t / ramp))
    if t > settled:
        mean += electrons, phi
        samples += 1
    slopes = [slope.ravel() for slope in numpy.gradient(phi, h)[::-1]]
    for axis in (0, 1):
        velocity[axis] += dt * sum(slopes[axis][node] * part for node, part in weights(position))
    position += dt * velocity
    # those that left or hit the electrode are gone; others come through the walls as from a plasma of density 1
    stay = ((position > 0) & (position < length)).all(axis=0) & (((position - length / 2) ** 2).sum(axis=0) > radius**2)
    position, velocity = position[:, stay], velocity[:, stay]
    come = 4 * length * dt / numpy.sqrt(2 * numpy.pi) * per_cell / h**2 / comm.getSize()
    new = numpy.empty((2, 2, int(come + random.random())))  # position, velocity
    wall = random.integers(4, size=new.shape[2])
    along, inwards = random.random(len(wall)) * length, numpy.sqrt(-2 * numpy.log(1 - random.random(len(wall))))
    normal, sign = wall % 2, 1 - 2 * (wall // 2)
    index = numpy.arange(len(wall))
    new[0, 1 - normal, index] = along
    new[1, 1 - normal, index] = random.standard_normal(len(wall))
    new[0, normal, index] = length * (wall // 2) + sign * inwards * dt * random.random(len(wall))
    new[1, normal, index] = sign * inwards
    position, velocity = numpy.hstack((position, new[0])), numpy.hstack((velocity, new[1]))
electrons, phi = mean / samples
say(f"{len(solves)} solves, {numpy.mean([its for its, _ in solves]):.2f} iterations, |b - A phi| / |b| at most {max(r for _, r in solves):.1e}")


def equilibrium():
    """where n_e = 1/2 around a round electrode in equilibrium: Newton's method for phi'' + phi' / r = exp(phi) - 1"""
    r = numpy.linspace(radius, length / 2, 800)
    d = r[1] - r[0]
    second = (numpy.eye(800, k=1) - 2 * numpy.eye(800) + numpy.eye(800, k=-1)) / d**2
    radial = second + (numpy.eye(800, k=1) - numpy.eye(800, k=-1)) / (2 * d * r[:, None])
    radial[[0, -1]] = 0
    phi, change = voltage * numpy.exp(radius - r), numpy.ones(1)
    while abs(change).max() > 1e-9:
        f, slope = radial @ phi - numpy.exp(phi) + 1, -numpy.exp(phi)
        f[[0, -1]], slope[[0, -1]] = 0, 1  # both ends are held
        change = numpy.linalg.solve(radial + numpy.diag(slope), f)
        phi -= change
    return numpy.interp(0.5, numpy.exp(phi), r)


distance = numpy.hypot(x, y)
rings = numpy.arange(radius, length / 2, 2 * h)
profile = numpy.array([electrons[(distance >= r - h) & (distance < r + h)].mean() for r in rings])
inner = numpy.flatnonzero(profile < 0.5)[-1]
edge, expected = numpy.interp(0.5, profile[inner : inner + 2], rings[inner : inner + 2]), equilibrium()
say(f"result: half of the electrons' density at {edge:.3f}, in equilibrium {expected:.3f} Debye lengths from the middle")
# the electrode is one of steps: its radius is right to half a cell
failed = not (abs(capacitance / known - 1) < h / 8 and abs(edge - expected) < h and max(r for _, r in solves) < 1e-6)

if picture and comm.getRank() == 0:
    try:
        import matplotlib

        matplotlib.use("Agg")
        from matplotlib import pyplot
    except ImportError:  # bright where electrons are; the electrode is black
        picture = picture.rsplit(".", 1)[0] + ".pgm"
        gray = numpy.where(electrode, 0, 55 + 200 * numpy.minimum(electrons / 1.25, 1))[1:-1, 1:-1]
        with open(picture, "wb") as file:
            file.write(b"P5\n%d %d\n255\n" % (n, n) + gray[::-1].astype(numpy.uint8).tobytes())
    else:
        figure, axes = pyplot.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
        for ax, values, colours, title in ((axes[0], phi, "viridis", "potential"), (axes[1], electrons, "magma", "electrons")):
            image = ax.pcolormesh(x[1:-1, 1:-1], y[1:-1, 1:-1], values[1:-1, 1:-1], cmap=colours, rasterized=True)
            ax.add_patch(pyplot.Circle((0, 0), radius, color="0.7"))
            ax.add_patch(pyplot.Circle((0, 0), expected, fill=False, color="w", linestyle="--"))
            ax.set(aspect="equal", title=title, xlabel="Debye lengths")
            figure.colorbar(image, ax=ax)
        axes[0].contour(x, y, phi, (-15, -10, -5, -2, -1, -0.5), colors="w", linewidths=0.6, linestyles="-")
        figure.savefig(picture, dpi=90)
    say(f"picture: {picture}")
sys.exit(failed)
