/*
  KSPBCRPOISSON: solve with PCBCRPOISSON, then refine; see ksp/refine.
*/
#include <petscbcr.h> /*I "petscbcr.h" I*/
#include "../refine/refine.h"

/* SUBMANSEC = KSP */

/*MC
  KSPBCRPOISSON - direct solve of a separable elliptic problem on a structured grid, then iterative refinement

  Options Database Keys:
+ -ksp_bcrpoisson_radix (auto|2|4|8|16|...)         - as `-pc_bcrpoisson_radix`
. -ksp_bcrpoisson_schedule q0,q1,...                - as `-pc_bcrpoisson_schedule`
. -ksp_bcrpoisson_backend (auto|cpu|cuda)           - as `-pc_bcrpoisson_backend`
. -ksp_bcrpoisson_transport (auto|mpi|nccl|host)    - as `-pc_bcrpoisson_transport`
. -ksp_bcrpoisson_precision (double|single|mixed)   - as `-pc_bcrpoisson_precision`
. -ksp_bcrpoisson_operator (matrix|user)            - as `-pc_bcrpoisson_operator`
. -ksp_bcrpoisson_fit (auto|scaled|average|profile|exact) - as `-pc_bcrpoisson_fit`
. -ksp_bcrpoisson_capacitance (auto|off|extension)            - as `-pc_bcrpoisson_capacitance`
. -ksp_bcrpoisson_capacitance_max_rows rows         - as `-pc_bcrpoisson_capacitance_max_rows`
. -ksp_bcrpoisson_recursive (off|on)                - as `-pc_bcrpoisson_recursive`
. -ksp_bcrpoisson_tune (off|on)                     - as `-pc_bcrpoisson_tune`
. -ksp_bcrpoisson_tune_file name                    - as `-pc_bcrpoisson_tune_file`
. -ksp_bcrpoisson_view_plan                         - as `-pc_bcrpoisson_view_plan`
. -ksp_bcrpoisson_slab_ranks ranks                  - as `-pc_bcrpoisson_slab_ranks`
. -ksp_bcrpoisson_graph (on|off)                    - as `-pc_bcrpoisson_graph`
. -ksp_bcrpoisson_grid (auto|nx,ny,nz)              - as `-pc_bcrpoisson_grid`
. -ksp_bcrpoisson_grid_processors (natural|px,py,pz) - as `-pc_bcrpoisson_grid_processors`
. -ksp_bcrpoisson_otherwise type                    - as `-pc_bcrpoisson_otherwise`
. -ksp_bcrpoisson_spacing hx,hy,hz                  - as `-pc_bcrpoisson_spacing`
. -ksp_bcrpoisson_axes_file name                    - as `-pc_bcrpoisson_axes_file`
. -ksp_bcrpoisson_ends low,high,...                 - as `-pc_bcrpoisson_ends`
. -ksp_bcrpoisson_shift c                           - as `-pc_bcrpoisson_shift`
. -ksp_bcrpoisson_scale s                           - as `-pc_bcrpoisson_scale`
. -ksp_bcrpoisson_robin b,...                       - as `-pc_bcrpoisson_robin`
. -ksp_bcrpoisson_mixed xy[,xz,yz,xyz]              - as `-pc_bcrpoisson_mixed`
- -ksp_bcrpoisson_shift_imaginary tau               - as `-pc_bcrpoisson_shift_imaginary`

  Level: beginner

  Notes:
  Solves with `PCBCRPOISSON`, which it makes the type of its `PC`, then repeats x <- x + M^{-1} (b -
  A x) until the convergence test. With the default tolerances one step does for an operator that
  `PCBCRPOISSON` solves exactly; `-ksp_rtol 1e-14`, or `single` precision inside, take another or
  two. The setters are those of the preconditioner: `KSPGetPC()`, then for example
  `PCBCRPoissonSetPrecision()`.

  There is always one solve at least, unless the residual is zero. `KSP_NORM_NONE` does one solve and no refinement.

  If the residual does not come down any more, at rounding or because the system has no solution or
  the matrix is too far from separable, the reason is `KSP_DIVERGED_BREAKDOWN` (`KSP_DIVERGED_DTOL`
  if it grew). Which of these it was, and what to do, is in `KSPView()` and `PetscInfo()`, and in
  the error of `KSPSetErrorIfNotConverged()`. For variable coefficients use `PCBCRPOISSON` in
  `KSPCG` or `KSPGMRES`.

  Supports the unpreconditioned (default) and preconditioned norm on the left, nonzero initial
  guesses, null spaces, `KSPSolveTranspose()`, and `KSPMatSolve()` for all columns at once, where
  each column has to reach the tolerances.

  A `-pc_type` other than `bcrpoisson` is an error (`PETSC_ERR_ARG_INCOMP`).

.seealso: `PCBCRPOISSON`, `KSPCreate()`, `KSPSetType()`, `KSPType`, `KSP`, `KSPPREONLY`, `KSPRICHARDSON`, `PetscBCRInitializePackage()`
M*/
PetscErrorCode KSPCreate_BCRPoisson(KSP ksp)
{
  static const BCRRefineKind kind = {"KSPBCRPOISSON",           PCBCRPOISSON,       "PCBCRPOISSON",
                                     "KSP BCR Poisson options", "-ksp_bcrpoisson_", "PCBCRPoissonSetFromOptions_C"};

  PetscFunctionBegin;
  PetscCall(BCRRefineCreate(ksp, &kind));
  PetscFunctionReturn(PETSC_SUCCESS);
}
