"""A petsc4py program that knows nothing of petscbcr: it takes its solver from the options, as programs do.

It solves a Poisson problem with random right-hand sides on a 2-D and a 3-D DMDA and compares with PETSc's LU.
usage: petsc4py_poisson.py -dll_append /path/libpetscbcr.so -pc_type bcrpoisson
"""

import sys

import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc  # noqa: E402


def laplacian(da):
    """Minus the Laplacian with Dirichlet ends, eliminated, at unequal spacings; rows scaled by a constant."""
    mat = da.createMat()
    sizes = da.getSizes()
    coupling = [0.3 * (n + 1.0) ** 2 for n in sizes]
    row, col = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
    ranges = list(da.getRanges()) + [(0, 1)] * (3 - len(sizes))
    for k in range(*ranges[2]):
        for j in range(*ranges[1]):
            for i in range(*ranges[0]):
                here = (i, j, k)[: len(sizes)]
                row.index = here
                col.index = here
                mat.setValueStencil(row, col, sum(2.0 * c for c in coupling))
                for axis, c in enumerate(coupling):
                    for step in (-1, 1):
                        there = list(here)
                        there[axis] += step
                        if 0 <= there[axis] < sizes[axis]:
                            col.index = tuple(there)
                            mat.setValueStencil(row, col, -c)
    mat.assemble()
    return mat


def main():
    tolerance = 1e-4 if PETSc.RealType().itemsize == 4 else 1e-11
    passed = failed = 0
    for sizes in ((16, 31), (17, 6, 9)):
        da = PETSc.DMDA().create(sizes, dof=1, stencil_width=1, stencil_type=PETSc.DMDA.StencilType.STAR)
        mat = laplacian(da)
        rhs, x, ref = mat.createVecRight(), mat.createVecLeft(), mat.createVecLeft()
        rhs.setRandom()

        exact = PETSc.KSP().create()
        exact.setOperators(mat)
        exact.setType(PETSc.KSP.Type.PREONLY)
        exact.getPC().setType(PETSc.PC.Type.LU)
        exact.solve(rhs, ref)

        ksp = PETSc.KSP().create()
        ksp.setOperators(mat)
        ksp.setFromOptions()
        ksp.solve(rhs, x)

        x.axpy(-1.0, ref)
        error = x.norm() / ref.norm()
        what = "x".join(map(str, sizes))
        if ksp.getPC().getType() != "bcrpoisson":
            print(f"{what}: the solver is {ksp.getPC().getType()}, not bcrpoisson")
            failed += 1
        elif ksp.getConvergedReason() <= 0 or ksp.getIterationNumber() > 2:
            print(f"{what}: reason {ksp.getConvergedReason()}, {ksp.getIterationNumber()} iterations")
            failed += 1
        elif not error <= tolerance:
            print(f"{what}: differs by {error:.1e} from LU")
            failed += 1
        else:
            print(f"{what}: {ksp.getIterationNumber()} iteration(s), differs by {error:.1e} from LU")
            passed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
