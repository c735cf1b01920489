"""The Python package petscbcr: each of its functions against numpy, PETSc's LU or the equations, and what it refuses.

usage: package.py [PETSc options]
petscbcr is found on PYTHONPATH and the library by PETSCBCR_LIBRARY, or both are installed. With -dll_append the package
has to take the library that PETSc has loaded.
"""

import os
import sys

import petsc4py

petsc4py.init(sys.argv)
import numpy  # noqa: E402
import petscbcr  # noqa: E402
from petsc4py import PETSc  # noqa: E402

comm = PETSc.COMM_WORLD
epsilon = float(numpy.finfo(PETSc.RealType).eps)
generator = numpy.random.default_rng(5 + comm.rank)
counts = {True: 0, False: 0}


def check(passed, text):
    counts[bool(passed)] += 1
    if not passed or comm.rank == 0:
        print(("" if passed else "FAILED: ") + text, flush=True)


def small(value, name, bound=1e3):
    check(value <= bound * epsilon, f"{name}: {value:.1e}")  # not for a NaN


def raises(kind, call, name, code=None):
    """code: what PETSc calls the error, petscerror.h"""
    try:
        call()
    except kind as error:
        check(code is None or error.ierr == code, f"{name}: {type(error).__name__} {getattr(error, 'ierr', error)}")
    else:
        check(False, f"{name}: nothing was raised")


def random(shape):
    values = generator.standard_normal(shape)
    if PETSc.ScalarType().dtype.kind == "c":
        values = values + 1j * generator.standard_normal(shape)
    return values.astype(PETSc.ScalarType)


def grid(sizes, dof=1, periodic=None, width=1):
    kinds = ["periodic" if axis == periodic else "none" for axis in range(len(sizes))]
    return PETSc.DMDA().create(sizes, dof=dof, stencil_width=width, stencil_type="star", boundary_type=kinds, comm=comm)


def whole(vec):
    """All numbers of a vector, on every rank"""
    scatter, everything = PETSc.Scatter.toAll(vec)
    scatter.scatter(vec, everything)
    return everything.getArray(readonly=True).copy()


def field(da, vec):
    """A field of one component on the whole grid, [i][j][k]"""
    natural = da.createNaturalVec()
    da.globalToNatural(vec, natural)
    return whole(natural).reshape(da.getSizes(), order="F")


def axis_matrix(n, h, low, high):
    """T of one axis, as PCBCRPoissonEnd says"""
    t = 2 * numpy.eye(n) - numpy.eye(n, k=1) - numpy.eye(n, k=-1)
    for row, beside, away, end in ((0, 1, n - 1, low), (n - 1, n - 2, 0, high)):
        t[row, row] = {"cell_neumann": 1, "cell_dirichlet": 3}.get(end, 2)
        if end == "neumann":
            t[row, beside] = -2
        if end == "periodic":
            t[row, away] -= 1
    return t / h**2


def test_operator():
    sizes, spacing, shift, scale = (9, 12), (0.1, 0.07), 3.5, -2.0
    ends = [("neumann", "dirichlet"), "periodic"]
    da = grid(sizes, periodic=1)
    ksp = PETSc.KSP().create(comm)
    local = da.createGlobalVec().getLocalSize()
    shell = PETSc.Mat().createPython(((local, None), (local, None)), object(), comm=comm)
    shell.setUp()
    ksp.setOperators(shell)
    pc = ksp.getPC()
    pc.setDM(da)
    raises(ValueError, lambda: petscbcr.set_operator(pc, spacing), "a PC of another type")
    pc.setType("bcrpoisson")
    check(petscbcr.get_operator(pc) is None, "no operator yet")
    raises(PETSc.Error, lambda: petscbcr.set_operator(pc, (0.1, -1)), "a negative spacing", 63)
    raises(PETSc.Error, lambda: petscbcr.set_operator(pc, (0.1, 0.2), scale=0), "a scale of zero", 63)
    raises(ValueError, lambda: petscbcr.set_operator(pc, spacing, "robin"), "an end that is not there")
    raises(ValueError, lambda: petscbcr.set_operator(pc, spacing, ["neumann"]), "ends of one axis")
    raises(TypeError, lambda: petscbcr.set_operator(da, spacing), "a DMDA as PC")
    petscbcr.set_operator(pc, spacing, ends, shift, scale)
    said = petscbcr.get_operator(pc)
    check(said.ends == (ends[0], ("periodic", "periodic")) and said.scale == scale, "the operator that was set")
    b, x = da.createGlobalVec(), da.createGlobalVec()
    b.setArray(random(local))
    pc.setUp()
    pc.apply(b, x)
    tx = axis_matrix(sizes[0], spacing[0], *ends[0])
    ty = axis_matrix(sizes[1], spacing[1], ends[1], ends[1])
    u, f = field(da, x), field(da, b)
    residual = scale * (tx @ u + u @ ty.T + shift * u) - f
    norm = abs(scale) * 4 * (spacing[0] ** -2 + spacing[1] ** -2)
    small(abs(residual).max() / (norm * abs(u).max()), "the operator's equations")
    facts = petscbcr.facts(pc)
    check(facts["grid"].startswith("9 x 12"), f"the view: grid: {facts['grid']}")
    check(petscbcr.facts(petscbcr.view(pc)) == facts, "facts of a text")


def test_lines():
    row, first, last = (-1.0, 2.5, -1.2), [(0.0, 1.5, -0.5)], [(-1.1, 2.25, -0.25), (-0.75, 1.25, 0.0)]
    da = grid((7, 21), dof=2)
    (xs, xe), (ys, ye) = da.getRanges()
    f = random((xe - xs, ye - ys, 2))
    with petscbcr.Lines(da, "y", row, first, last, method="thomas") as lines:
        u = lines.solve(f)
        text = lines.view()
        check(petscbcr.facts(lines)["method"].startswith("thomas"), "the view of lines")
        check("method: thomas" in text, "the view of lines on every rank")
        again = f.copy()
        check(lines.solve(again, again) is again and (again == u).all(), "lines in place")
        vec_f = da.createGlobalVec()
        vec_f.setArray(random(vec_f.getLocalSize()))
        vec_u = lines.solve(vec_f)
        raises(ValueError, lambda: lines.solve(f[:, :, :1]), "an array of another shape")
        raises(TypeError, lambda: lines.solve(vec_f, da), "a DMDA as solution")
    a = numpy.diag([row[1]] * 21) + numpy.diag([row[0]] * 20, -1) + numpy.diag([row[2]] * 20, 1)
    a[0, :2] = first[0][1:]
    a[19, 18:] = last[0]
    a[20, 19:] = last[1][:2]
    check(u.shape == f.shape, "shape of the solution")
    if comm.size == 1:
        small(abs(numpy.einsum("jk,ikc->ijc", a, u) - f).max() / abs(u).max(), "equations of lines")
    natural_u, natural_f = da.createNaturalVec(), da.createNaturalVec()
    da.globalToNatural(vec_u, natural_u)
    da.globalToNatural(vec_f, natural_f)
    wu, wf = (whole(v).reshape((2, 7, 21), order="F") for v in (natural_u, natural_f))
    small(abs(wu @ a.T - wf).max() / abs(wu).max(), "equations of lines, vectors")
    raises(PETSc.Error, lambda: petscbcr.Lines(da, "z", row), "an axis that the DMDA has not", 63)
    raises(PETSc.Error, lambda: petscbcr.Lines(da, 0, (1.0, numpy.nan, 1.0)), "a NaN in a row", 72)
    raises(ValueError, lambda: petscbcr.Lines(da, 0, (1.0, 2.0)), "a row of two numbers")
    raises(ValueError, lambda: petscbcr.Lines(da, 0, row, method="lu"), "a method that is not there")


def test_derivative():
    n = 48
    h = 2 * numpy.pi / n
    da = grid((n, 5), periodic=0, width=3)
    f, d = da.createGlobalVec(), da.createGlobalVec()
    (xs, xe), (ys, ye) = da.getRanges()
    x = h * numpy.arange(xs, xe)
    f.setArray(numpy.repeat(numpy.sin(3 * x)[:, None], ye - ys, 1).ravel(order="F"))
    # a wave of wavenumber k h = w is an eigenvector: Lele 1992, (3.1.4), alpha = 1/3, a = 14/9, b = 1/9
    w = 3 * h
    modified = (14 / 9 * numpy.sin(w) + 1 / 9 / 2 * numpy.sin(2 * w)) / (1 + 2 / 3 * numpy.cos(w)) / h
    derivative = petscbcr.compact_derivative(da, "x", h)
    derivative.mult(f, d)
    exact = numpy.repeat(modified * numpy.cos(3 * x)[:, None], ye - ys, 1).ravel(order="F")
    small(abs(d.getArray() - exact).max(initial=0), "derivative of a wave")
    # without a periodic axis: exact for a cubic, with rows of order 4 at the ends
    open_ = grid((24, 14), width=3)
    f, d = open_.createGlobalVec(), open_.createGlobalVec()
    (xs, xe), (ys, ye) = open_.getRanges()
    x = numpy.repeat((numpy.arange(xs, xe) / 23.0)[:, None], ye - ys, 1).ravel(order="F")
    f.setArray(x**3)
    for axis, exact in (("x", 6 * x), (0, 6 * x), ("y", 0 * x)):
        petscbcr.compact_derivative(open_, axis, 1 / 23, "pade4", 2, closure=4).mult(f, d)
        small(abs(d.getArray() - exact).max(initial=0), f"second derivative of a cubic along {axis}", 1e5)
    check(derivative.getRefCount() == 1, "the matrix belongs to Python alone")
    raises(PETSc.Error, lambda: petscbcr.compact_derivative(da, "x", -1.0), "a negative spacing", 63)
    raises(PETSc.Error, lambda: petscbcr.compact_derivative(da, "x", h, derivative=3), "a third derivative", 63)
    raises(ValueError, lambda: petscbcr.compact_derivative(da, "x", h, "lele10"), "a scheme that is not there")


def test_recurrence():
    def loop(s, t, start):
        w = numpy.empty_like(t)
        for i in range(t.size):
            start = w[i] = s[i] * start + t[i]
        return w

    s, t = 0.9 * random(200) / 2, random(200)
    expected = loop(s, t, 0.5)
    small(abs(petscbcr.recurrence(s, t, 0.5) - expected).max(), "recurrence of arrays")
    one = loop(numpy.full(200, 0.75), t, 0.5)
    small(abs(petscbcr.recurrence(0.75, t, 0.5) - one).max(), "recurrence of one coefficient")
    out = t.copy()
    check(petscbcr.recurrence(s, out, 0.5, out) is out, "recurrence in place: the array that was given")
    small(abs(out - expected).max(), "recurrence in place")
    vec_s, vec_t = (PETSc.Vec().createMPI((31 + comm.rank, None), comm=comm) for _ in range(2))
    vec_s.setArray(0.9 * random(31 + comm.rank) / 2)
    vec_t.setArray(random(31 + comm.rank))
    vec_w = petscbcr.recurrence(vec_s, vec_t, 0.5)
    small(abs(whole(vec_w) - loop(whole(vec_s), whole(vec_t), 0.5)).max(), "recurrence of vectors")
    raises(PETSc.Error, lambda: petscbcr.recurrence(s[:10], t), "arrays of different lengths")
    raises(ValueError, lambda: petscbcr.recurrence(s[:, None], t), "an array of two dimensions")
    if PETSc.ScalarType().dtype.kind != "c":
        raises(TypeError, lambda: petscbcr.recurrence(1j * s, t), "complex coefficients")
        raises(TypeError, lambda: petscbcr.recurrence(s, t, 1j), "a complex start")


def test_library():
    given = PETSc.Options().getString("dll_append", "")
    if given:
        check(os.path.samefile(petscbcr.library, given), "the library is the one of -dll_append")


def main():
    for test in (test_library, test_operator, test_lines, test_derivative, test_recurrence):
        test()
    print(f"rank {comm.rank}: {counts[True]} passed, {counts[False]} failed", flush=True)
    return 1 if counts[False] else 0


sys.exit(main())
