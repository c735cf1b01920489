/*
  KSPNEATO: solve with PCNEATO, then refine; see ksp/refine.
*/
#include <petscbcr.h> /*I "petscbcr.h" I*/
#include "../refine/refine.h"

/* SUBMANSEC = KSP */

/*MC
  KSPNEATO - direct solve of a tridiagonal problem on a structured grid, then iterative refinement

  Options Database Keys:
+ -ksp_neato_axis (auto|x|y|z)                                   - as `-pc_neato_axis`
. -ksp_neato_method (auto|scan|cr|pscheme|dc|thomas)             - as `-pc_neato_method`
. -ksp_neato_variant (auto|rearranged|plain|parallel|sequential) - as `-pc_neato_variant`
. -ksp_neato_parts n                                             - as `-pc_neato_parts`
. -ksp_neato_memory (auto|shared|global)                         - as `-pc_neato_memory`
. -ksp_neato_coupling (auto|neighbour|reduced)                   - as `-pc_neato_coupling`
. -ksp_neato_transport (auto|mpi|nccl|host)                      - as `-pc_neato_transport`
. -ksp_neato_backend (auto|cpu|cuda)                             - as `-pc_neato_backend`
. -ksp_neato_precision (double|single|mixed)                     - as `-pc_neato_precision`
. -ksp_neato_grid (auto|nx,ny,nz)                                - as `-pc_neato_grid`
. -ksp_neato_grid_processors (natural|px,py,pz)                  - as `-pc_neato_grid_processors`
- -ksp_neato_otherwise type                                      - as `-pc_neato_otherwise`

  Level: beginner

  Notes:
  Solves with `PCNEATO`, which it makes the type of its `PC`, then repeats x <- x + M^{-1} (b - A x)
  until the convergence test. Where the matrix couples along one axis alone (always in one
  dimension) one step does with the default tolerances; `-ksp_rtol 1e-14`, or `single` precision
  inside, take another or two. The setters are those of the preconditioner: `KSPGetPC()`, then for
  example `PCNeatoSetMethod()`.

  Couplings across the lines are left out of M, so that this is line Jacobi iteration for a matrix
  that has them. It converges slowly then, if at all: use `PCNEATO` in `KSPCG` or `KSPGMRES`, or as
  a smoother in `PCMG`.

  There is always one solve at least, unless the residual is zero. `KSP_NORM_NONE` does one solve and no refinement.

  If the residual does not come down any more, the reason is `KSP_DIVERGED_BREAKDOWN`.

  Supports the unpreconditioned (default) and preconditioned norm on the left, nonzero initial
  guesses, `KSPSolveTranspose()`, and `KSPMatSolve()` for all columns at once, where each column has
  to reach the tolerances.

  A `-pc_type` other than `neato` is an error (`PETSC_ERR_ARG_INCOMP`).

.seealso: `PCNEATO`, `KSPCreate()`, `KSPSetType()`, `KSPType`, `KSP`, `KSPPREONLY`, `KSPRICHARDSON`, `KSPBCRPOISSON`, `PetscBCRInitializePackage()`
M*/
PetscErrorCode KSPCreate_Neato(KSP ksp)
{
  static const BCRRefineKind kind = {"KSPNEATO",          PCNEATO,       "PCNEATO",
                                     "KSP NEATO options", "-ksp_neato_", "PCNeatoSetFromOptions_C"};

  PetscFunctionBegin;
  PetscCall(BCRRefineCreate(ksp, &kind));
  PetscFunctionReturn(PETSC_SUCCESS);
}
