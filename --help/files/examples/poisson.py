# ranks: 1 2
"""The smallest program in Python: -u'' - v'' = 1 on a rectangle with periodic sides in x and u = 0 at the ends of y.

Needs petsc4py and this library's Python package, both built on the same PETSc (packaging/python).
"""

import sys

import petsc4py

petsc4py.init(sys.argv)
from petsc4py import PETSc  # noqa: E402
import petscbcr  # noqa: E402, F401 (registers the types)

nx, ny = 48, 63
h = 1.0 / (ny + 1)
da = PETSc.DMDA().create((nx, ny), dof=1, stencil_width=1, stencil_type="star", boundary_type=("periodic", "none"))
A = da.createMat()
row, col = PETSc.Mat.Stencil(), PETSc.Mat.Stencil()
(xs, xe), (ys, ye) = da.getRanges()  # this rank's nodes
for j in range(ys, ye):
    for i in range(xs, xe):
        row.index = (i, j)
        for di, dj, value in ((0, 0, 4.0), (-1, 0, -1.0), (1, 0, -1.0), (0, -1, -1.0), (0, 1, -1.0)):
            if 0 <= j + dj < ny:
                col.index = (i + di, j + dj)
                A.setValueStencil(row, col, value / h**2)
A.assemble()
u, b = A.createVecs()
b.set(1.0)

ksp = PETSc.KSP().create()
ksp.setOperators(A)
ksp.setType("bcrpoisson")
ksp.setFromOptions()
ksp.solve(b, u)

# the solution depends on y alone, u = y (1 - y) / 2, and second differences of it are exact
difference = u.duplicate()
exact = da.getVecArray(difference)
for j in range(ys, ye):
    exact[xs:xe, j] = (j + 1) * h * (1 - (j + 1) * h) / 2
difference.axpy(-1.0, u)
error = difference.norm(PETSc.NormType.INFINITY)
PETSc.Sys.Print(f"iterations: {ksp.getIterationNumber()}, error: {error:.1e}")
sys.exit(0 if ksp.getConvergedReason() > 0 and error < 1e-4 else 1)
