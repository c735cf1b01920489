"""petsc4py programs whose vectors alone have the DMDA: products, sums and matrix-free operators have lost it.

On cells of a grid, a row of the gradient for each face: A = divergence * mobility * gradient by MatMatMult(), time steps with I + dt A by MatAXPY(), and
a matrix of Python functions, whose operator the options describe. What counts is the true residual.
usage: petsc4py_vectors.py -dll_append /path/libpetscbcr.so -pc_type bcrpoisson
"""

import os
import sys
import tempfile

import petsc4py

petsc4py.init(sys.argv)
import numpy as np  # noqa: E402
from petsc4py import PETSc  # noqa: E402

comm = PETSc.COMM_WORLD
tolerance = 1e-5 if PETSc.RealType().itemsize == 4 else 1e-12
counts = {True: 0, False: 0}


def check(passed, text):
    counts[bool(passed)] += 1
    if not passed:
        PETSc.Sys.Print("FAILED: " + text)
    else:
        PETSc.Sys.Print(text)


def gradient(da, mobility):
    """A row for each face, with the cells on both sides of it, or the one inside: u = 0 behind the others. mobility(axis, lower cell)"""
    sizes = list(da.getSizes()) + [1] * (3 - da.getDim())
    ranges = list(da.getRanges()) + [(0, 1)] * (3 - da.getDim())
    faces = []
    for k in range(*ranges[2]):
        for j in range(*ranges[1]):
            for i in range(*ranges[0]):
                for axis in range(da.getDim()):
                    here = [i, j, k]
                    for step in (0, 1) if here[axis] == 0 else (1,):  # the lower face too, at the lower end
                        low, high = list(here), list(here)
                        low[axis] += step - 1
                        high[axis] += step
                        cells = [(c, sign) for c, sign in ((low, -1.0), (high, 1.0)) if 0 <= c[axis] < sizes[axis]]
                        number = [c[0] + sizes[0] * (c[1] + sizes[1] * c[2]) for c, _ in cells]
                        faces.append((number, [sign for _, sign in cells], mobility(axis, low)))
    cells = da.createGlobalVec().getLocalSize()
    grad = PETSc.Mat().createAIJ(((len(faces), None), (cells, None)), nnz=(2, 2), comm=comm)
    scale = grad.createVecLeft()
    first = grad.getOwnershipRange()[0]
    for face, (number, sign, m) in enumerate(faces, first):
        grad.setValues([face], da.getAO().app2petsc(np.array(number, dtype=PETSc.IntType)), sign)
        scale.setValue(face, m)
    grad.assemble()
    scale.assemble()
    return grad, scale


def solve(ksp, mat, da, name):
    """A random right-hand side that the DMDA has made"""
    rhs, x = da.createGlobalVec(), da.createGlobalVec()
    rhs.setRandom()
    ksp.setOperators(mat)
    ksp.solve(rhs, x)
    residual = (rhs - mat * x).norm() / rhs.norm()
    check(
        ksp.getConvergedReason() > 0 and ksp.getIterationNumber() <= 2 and residual <= tolerance,
        f"{name}: reason {ksp.getConvergedReason()}, {ksp.getIterationNumber()} iteration(s), residual {residual:.1e}",
    )
    text = view(ksp)
    check(comm.rank > 0 or "grid: " + " x ".join(map(str, da.getSizes())) + ", from the DM of the vectors" in text, f"{name}: the grid is that of the vectors")


def view(ksp):
    """What the KSP says about itself, on the first rank"""
    with tempfile.TemporaryDirectory() as folder:  # one for each rank; the first one's is written to
        viewer = PETSc.Viewer().createASCII(os.path.join(folder, "view"), "w", comm)
        ksp.view(viewer)
        viewer.destroy()
        if comm.rank > 0:
            return ""
        with open(os.path.join(folder, "view")) as file:
            return file.read()


class Laplacian:
    """Minus the five-point Laplacian of spacing 1, without a matrix"""

    def __init__(self, da):
        self.da = da

    def mult(self, mat, x, y):
        local = self.da.createLocalVec()
        self.da.globalToLocal(x, local)
        u, v = self.da.getVecArray(local), self.da.getVecArray(y)
        (x0, x1), (y0, y1) = self.da.getRanges()
        nx, ny = self.da.getSizes()
        for j in range(y0, y1):
            for i in range(x0, x1):
                near = [(i + 1, j), (i - 1, j), (i, j + 1), (i, j - 1)]
                v[i, j] = 4 * u[i, j] - sum(u[p] for p in near if 0 <= p[0] < nx and 0 <= p[1] < ny)


def main():
    for sizes in ((12, 17), (7, 6, 9)):
        da = PETSc.DMDA().create(sizes, dof=1, stencil_width=1, comm=comm)
        name = "x".join(map(str, sizes))
        # along the last axis layers, and one face without flow
        grad, mobility = gradient(da, lambda axis, cell: 1.0 + axis if axis < len(sizes) - 1 else (0.0 if cell[axis] == 3 else 1.0 + 0.1 * cell[axis]))
        divergence = grad.copy().transpose()
        divergence.diagonalScale(R=mobility)
        mat = divergence.matMult(grad)
        ksp = PETSc.KSP().create(comm)
        ksp.setFromOptions()
        solve(ksp, mat, da, name + ", divergence times gradient")
        for dt in (0.1, 3.0):
            step = mat.copy()
            step.scale(dt)
            identity = PETSc.Mat().createAIJ(mat.getSizes(), nnz=1, comm=comm)
            for row in range(*identity.getOwnershipRange()):
                identity.setValue(row, row, 1.0)
            identity.assemble()
            identity.axpy(1.0, step, structure=PETSc.Mat.Structure.DIFFERENT_NONZERO_PATTERN)
            solve(ksp, identity, da, f"{name}, I + {dt} A")

    da = PETSc.DMDA().create((12, 17), dof=1, stencil_width=1, stencil_type=PETSc.DMDA.StencilType.STAR, comm=comm)
    cells = da.createGlobalVec().getLocalSize()
    mat = PETSc.Mat().createPython(((cells, None), (cells, None)), Laplacian(da), comm=comm)
    mat.setUp()
    options = PETSc.Options()
    options["shell_pc_type"] = options["pc_type"]
    options["shell_pc_bcrpoisson_spacing"] = 1
    ksp = PETSc.KSP().create(comm)
    ksp.setOptionsPrefix("shell_")
    ksp.setFromOptions()
    solve(ksp, mat, da, "12x17, without a matrix")

    PETSc.Sys.Print(f"{counts[True]} passed, {counts[False]} failed")
    return 1 if counts[False] else 0


sys.exit(main())
