/*
  PCNEATO as an object of PETSc. What is in it is in neato.h.
*/
#include "neato.h" /*I "petscbcr.h" I*/

/* SUBMANSEC = PC */

static PetscErrorCode PCDestroy_Neato(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCReset_Neato(pc));
  PetscCall(BCROptionsDestroy(pc));
  PetscCall(PetscFree(pc->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  PCNEATO - solves every grid line of one axis of a structured grid as a tridiagonal system: a direct solver
  in one dimension, else a line preconditioner

  Options Database Keys:
+ -pc_neato_axis (auto|x|y|z)                                  - axis of the lines, see `PCNeatoSetAxis()`
. -pc_neato_method (auto|scan|cr|pscheme|dc|thomas)            - how a line is solved, see `PCNeatoSetMethod()`
. -pc_neato_variant (auto|rearranged|plain|parallel|sequential) - form of `pscheme` or `dc`, see `PCNeatoSetVariant()`
. -pc_neato_parts n                                            - parts of a line in `pscheme` and `dc`, see `PCNeatoSetParts()`
. -pc_neato_memory (auto|shared|global)                        - memory of a GPU that `cr` works in, see `PCNeatoSetMemory()`
. -pc_neato_coupling (auto|neighbour|reduced)                  - how ranks that share a line are coupled, see `PCNeatoSetCoupling()`
. -pc_neato_transport (auto|mpi|nccl|host)                     - how data move between ranks, see `PCNeatoSetTransport()`
. -pc_neato_backend (auto|cpu|cuda)                            - where the work is done, see `PCNeatoSetBackend()`
. -pc_neato_precision (double|single|mixed)                    - precision of the work inside, see `PCNeatoSetPrecision()`
. -pc_neato_grid (auto|nx,ny,nz)                               - nodes of the grid of a matrix without a `DMDA`, see `PCNeatoSetGrid()`
. -pc_neato_grid_processors (natural|px,py,pz)                 - ranks that number its rows box after box, see `PCNeatoSetGridProcessors()`
- -pc_neato_otherwise type                                     - `PC` that stands in where there is no grid or there are no such lines, see `PCNeatoSetOtherwise()`

  Level: beginner

  Notes:
  The lines are read out of the assembled preconditioning matrix on a 1-, 2- or 3-dimensional
  grid: row by row the entries of the two neighbours along the axis, and the full diagonal. In one
  dimension that has to be the whole matrix, and this is a direct solver. In two and three
  dimensions the couplings across the lines are left out (line Jacobi): use it as a preconditioner
  of a Krylov method, or as the smoother of `PCMG` for problems whose coupling along one axis is
  much stronger than along the others, with coarsening along the other axes.

  Rows that are the same along a line but for up to three at each end (near-Toeplitz lines), and
  lines that are all the same, are recognised and cost less memory traffic. Any other coefficients
  work too, as long as the lines can be solved without pivoting. Axes may be periodic.

  The grid is that of the `DMDA` of `KSPSetDM()` or `PCSetDM()`, else of the one that the matrix was created
  with by `DMCreateMatrix()`, else of the one that has made the vectors, else that of `-pc_neato_grid`, else it is found in the
  matrix; `PCView()` says which. A `DMDA` may be distributed in any way, along the lines too; each component
  is solved on its own, and it is an error if the matrix couples them.

  `PCMatApply()` (`KSPMatSolve()`) solves all its right-hand sides as one batch, unless coefficients
  differ from line to line or the precision is mixed.

  A line without a unique solution is an error at set-up that names the line
  (`PETSC_ERR_MAT_LU_ZRPVT`): a zero pivot, or all row sums zero as with Neumann or periodic ends
  and no shift. For such problems in one dimension use `PCBCRPOISSON`.

  A NaN or Inf on the right-hand side makes the solution of its line NaN, which Krylov methods
  report as `KSP_DIVERGED_NANORINF`; with `KSPSetErrorIfNotConverged()` it is an error that names
  the entry.

  References:
  A. T. Srinath, A novel approach to evaluating compact finite differences and similar tridiagonal
  schemes on GPU-accelerated clusters, thesis, Clemson University, 2015 (`cr`, and lines over
  several ranks); A. Wakatani, Implementation and evaluation of recurrence equation solvers on GPGPU
  systems using rearrangement of array configurations, 2012 (`pscheme`); P. Stpiczynski, J. Potiopa,
  Solving a kind of BVP for ODEs on heterogeneous CPU + CUDA-enabled GPU systems, 2010 (`dc`).

.seealso: `PCCreate()`, `PCSetType()`, `PCType`, `PC`, `KSPNEATO`, `PCBCRPOISSON`, `PetscBCRLinesCreate()`, `PetscBCRInitializePackage()`, `PCNeatoSetAxis()`, `PCNeatoSetMethod()`,
          `PCNeatoSetVariant()`, `PCNeatoSetParts()`, `PCNeatoSetMemory()`, `PCNeatoSetCoupling()`,
          `PCNeatoSetTransport()`, `PCNeatoSetBackend()`, `PCNeatoSetPrecision()`, `PCNeatoSetGrid()`, `PCNeatoSetOtherwise()`, `PCMG`
M*/
PetscErrorCode PCCreate_Neato(PC pc)
{
  PC_Neato *neato;

  PetscFunctionBegin;
  PetscCall(PetscNew(&neato));
  pc->data = neato;
  PetscCall(BCROptionsCreate(pc, &BCRNeatoOptions));

  pc->ops->setup = PCSetUp_Neato;
  pc->ops->apply = PCApply_Neato;
  pc->ops->applytranspose = PCApplyTranspose_Neato;
  pc->ops->matapply = PCMatApply_Neato;
#if PETSC_VERSION_GE(3, 24, 0)
  pc->ops->matapplytranspose = PCMatApplyTranspose_Neato;
#endif
  pc->ops->setfromoptions = BCROptionsSetFromOptions;
  pc->ops->presolve = PCPreSolve_Neato;
  pc->ops->postsolve = PCPostSolve_Neato;
  pc->ops->view = PCView_Neato;
  pc->ops->reset = PCReset_Neato;
  pc->ops->destroy = PCDestroy_Neato;
  PetscFunctionReturn(PETSC_SUCCESS);
}
