/*
  PCBCRPOISSON as an object of PETSc. What is in it is in bcrpoisson.h.
*/
#include "bcrpoisson.h" /*I "petscbcr.h" I*/

/* SUBMANSEC = PC */

static PetscErrorCode PCDestroy_BCRPoisson(PC pc)
{
  PetscFunctionBegin;
  PetscCall(PCReset_BCRPoisson(pc));
  PetscCall(BCROptionsDestroy(pc));
  for (int d = 0; d < 3; ++d) PetscCall(PetscFree(((PC_BCRPoisson *)pc->data)->axis[d]));
  PetscCall(PetscFree(((PC_BCRPoisson *)pc->data)->times));
  PetscCall(PetscFree(pc->data));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*MC
  PCBCRPOISSON - fast direct solver for separable elliptic problems on a structured grid by block cyclic reduction of any radix

  Options Database Keys:
+ -pc_bcrpoisson_radix (auto|2|4|8|16|...)                - radix of the reduction, see `PCBCRPoissonSetRadix()`
. -pc_bcrpoisson_schedule q0,q1,...                       - radix of each level, overrides the radix, see `PCBCRPoissonSetSchedule()`
. -pc_bcrpoisson_backend (auto|cpu|cuda)                  - where the work is done, see `PCBCRPoissonSetBackend()`
. -pc_bcrpoisson_transport (auto|mpi|nccl|host)           - how data move between the GPUs of several ranks, see `PCBCRPoissonSetTransport()`
. -pc_bcrpoisson_precision (double|single|mixed)          - precision of the work inside, see `PCBCRPoissonSetPrecision()`
. -pc_bcrpoisson_operator (matrix|user)                   - where the coefficients come from, see `PCBCRPoissonSetOperatorSource()`
. -pc_bcrpoisson_fit (auto|scaled|average|profile|exact)  - what to do with a matrix that is not separable, see `PCBCRPoissonSetFit()`
. -pc_bcrpoisson_capacitance (auto|off|extension)                   - what to do with a matrix of which some rows differ, see `PCBCRPoissonSetCapacitance()`
. -pc_bcrpoisson_capacitance_max_rows rows                - directions kept of their system, see `PCBCRPoissonSetCapacitanceMaxRows()`
. -pc_bcrpoisson_recursive (off|on)                       - recursion in three dimensions with a given radix or schedule, see `PCBCRPoissonSetRecursive()`
. -pc_bcrpoisson_tune (off|on)                            - time several plans at set-up and take the fastest, see `PCBCRPoissonSetTune()`
. -pc_bcrpoisson_tune_file name                           - file that keeps what was found, see `PCBCRPoissonSetTuneFile()`
. -pc_bcrpoisson_view_plan                               - set-up prints axes, modes, stages and why other ways were refused
. -pc_bcrpoisson_slab_ranks ranks                         - on the host in three dimensions, how many ranks of a node share a slab; 0: as many as is best, 1: none do
. -pc_bcrpoisson_graph (on|off)                           - on a GPU as one CUDA graph, see `PCBCRPoissonSetGraph()`
. -pc_bcrpoisson_grid (auto|nx,ny,nz)                     - nodes of the grid of a matrix without a `DMDA`, see `PCBCRPoissonSetGrid()`
. -pc_bcrpoisson_grid_processors (natural|px,py,pz)       - ranks that number its rows box after box, see `PCBCRPoissonSetGridProcessors()`
. -pc_bcrpoisson_otherwise type                           - `PC` that stands in where there is no grid or no operator of this kind, see `PCBCRPoissonSetOtherwise()`
. -pc_bcrpoisson_spacing hx,hy,hz                         - spacing of the user's operator, one for each axis or one for all; implies `-pc_bcrpoisson_operator user`
. -pc_bcrpoisson_axes_file name                           - text file with rows of its axes and numbers along them, see `PCBCRPoissonSetOperatorAxis()`
. -pc_bcrpoisson_ends xlow,xhigh,ylow,yhigh,zlow,zhigh    - its ends, each (dirichlet|neumann|cell_neumann|cell_dirichlet|periodic), or one for all
. -pc_bcrpoisson_shift c                                  - its shift
. -pc_bcrpoisson_scale s                                  - its scale
. -pc_bcrpoisson_robin b,...                              - values of its Robin ends, see `PCBCRPoissonSetOperatorRobin()`
. -pc_bcrpoisson_mixed xy[,xz,yz,xyz]                     - factors of products of its axes, see `PCBCRPoissonSetOperatorMixed()`
- -pc_bcrpoisson_shift_imaginary tau                      - imaginary part of its shift (complex scalars), see `PCBCRPoissonSetOperatorShiftImaginary()`

  Level: beginner

  Notes:
  The inverse, to rounding, of

      scale W (T_x + T_y + T_z + shift I)

  on a 1-, 2- or 3-dimensional grid of any size, where each T_d is the three-point difference
  operator along an axis (Dirichlet, Neumann or periodic ends, nodes or cells; or any tridiagonal with
  positive couplings) and W a diagonal of half weights at the ends; or of constant 9- and 27-point stencils that are the
  same when an axis is reflected (sums of products of T_d: bilinear and trilinear elements, Mehrstellen).
  The operator is read out of the
  assembled preconditioning matrix, in which planes of rows that hold only a diagonal (Dirichlet
  rows that were kept) may take part. With `-ksp_type preonly` it is a direct solver; with a Krylov
  method it is a preconditioner for an operator that is near to one of this form.

  The grid is that of the `DMDA` of `KSPSetDM()` or `PCSetDM()`, else of the one that the matrix was created
  with by `DMCreateMatrix()`, else of the one that has made the vectors, else that of `-pc_bcrpoisson_grid`, else it is found in
  the matrix, whatever the order of its rows; `PCView()` says which. A `DMSTAG` with unknowns on elements alone and a `DMCOMPOSITE` of one
  `DMDA` serve as well. Where rows lie in another order than those of the grid, each application brings its
  vectors there and back. Where there is no grid, the error says where the matrix contradicts one, or
  `-pc_bcrpoisson_otherwise` names a `PC` that stands in.

  Each component of a grid with several is solved on its own; it is an error if the matrix couples them.

  Singular operators (all ends Neumann or periodic, no shift): the constant is removed from the right-hand side, the
  solution has zero mean, and the size of what was removed is in `PCView()`, `PetscInfo()` and
  `PCBCRPoissonGetRemovedConstant()`. A Krylov method wants the null space on the matrix too, see
  `MatSetNullSpace()`.

  A NaN or Inf on the right-hand side makes the solution NaN, which Krylov methods report as
  `KSP_DIVERGED_NANORINF`; with `KSPSetErrorIfNotConverged()` it is an error that names the entry.

  When the values of the matrix change, set-up reads it again and keeps the plan; it is made anew
  only if the form of the operator changed.

  On several processes the grid is worked on in slabs along one axis, and each process sends two
  rows (planes) of it in an application (with 9 and 27 points its part of the vector, twice). If the `DMDA` is cut along one axis only, whichever, that
  is how it lies and nothing moves (unless coefficients vary along another, long axis); else vectors
  are first brought to slabs, and back. `PCView()` says so, and which `-da_processors_` options
  avoid it. Solutions are those of one process to rounding. So do processes with GPUs (one for each,
  or shared), which exchange rows by `-pc_bcrpoisson_transport`; vectors that have to be brought to
  slabs go from GPU to GPU, and `mixed` precision is double there.

  References:
  M. Myllykoski, T. Rossi, J. Toivanen, Fast Poisson solvers for graphics processing units, PARA 2012, LNCS 7782, 2013;
  P. Concus, G. H. Golub, Use of fast direct methods for the efficient numerical solution of
  nonseparable elliptic equations, SIAM J. Numer. Anal. 10, 1973 (`scaled` fit).

.seealso: `PCCreate()`, `PCSetType()`, `PCType`, `PC`, `KSPBCRPOISSON`, `PetscBCRInitializePackage()`, `PCBCRPoissonSetRadix()`, `PCBCRPoissonSetSchedule()`,
          `PCBCRPoissonSetBackend()`, `PCBCRPoissonSetPrecision()`,
          `PCBCRPoissonSetOperatorSource()`, `PCBCRPoissonSetOperator()`, `PCBCRPoissonSetOperatorAxis()`, `PCBCRPoissonSetOperatorTimes()`, `PCBCRPoissonSetOperatorRobin()`, `PCBCRPoissonSetFit()`,
          `PCBCRPoissonSetTune()`, `PCBCRPoissonSetGrid()`, `PCBCRPoissonSetOtherwise()`, `PCBCRPoissonSetCapacitance()`, `PCBCRPoissonGetRemovedConstant()`, `DMDACreate2d()`, `PCMG`
M*/
PetscErrorCode PCCreate_BCRPoisson(PC pc)
{
  PC_BCRPoisson *bcr;

  PetscFunctionBegin;
  PetscCall(PetscNew(&bcr));
  pc->data = bcr;
  PetscCall(BCROptionsCreate(pc, &BCRPoissonOptions));

  pc->ops->setup = PCSetUp_BCRPoisson;
  pc->ops->apply = PCApply_BCRPoisson;
  pc->ops->applytranspose = PCApplyTranspose_BCRPoisson;
  pc->ops->presolve = PCPreSolve_BCRPoisson;
  pc->ops->postsolve = PCPostSolve_BCRPoisson;
  pc->ops->matapply = PCMatApply_BCRPoisson;
#if PETSC_VERSION_GE(3, 24, 0)
  pc->ops->matapplytranspose = PCMatApplyTranspose_BCRPoisson;
#endif
  pc->ops->setfromoptions = BCROptionsSetFromOptions;
  pc->ops->view = PCView_BCRPoisson;
  pc->ops->reset = PCReset_BCRPoisson;
  pc->ops->destroy = PCDestroy_BCRPoisson;
  PetscFunctionReturn(PETSC_SUCCESS);
}
