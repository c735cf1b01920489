/*
  ranks: 2 4

  What an application on ranks with a CUDA device each asks of CUDA, by counting calls
  (tests/petsc/cudacalls.h): with NCCL between them the host does not wait for the device, nothing
  is allocated, and nothing is copied between host and device, in PCBCRPOISSON in one pass and by
  its parts, in PCNEATO along the axis that is cut, and in the product with a compact derivative
  along it. Vectors have to be on the device: -dm_vec_type cuda -dm_mat_type aijcusparse. Nothing is
  tested where there is no NCCL between the ranks; says so.
*/
#define _GNU_SOURCE
#include "distribute.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "src/poisson/solver.h"
  #include "tests/petsc/cudacalls.h"
  #include <petscdevice.h>

static PetscMPIInt rank, size;

static const TestProblem problems[] = {
  {.dim = 2, .n = {255, 260, 1}, .dof = 1, .ends = "dddd",             .a = {1, 1},      .scale = 1      },
  {.dim = 2, .n = {100, 131, 1}, .dof = 1, .ends = "ncpp",             .a = {1, 2},      .shift = 0.5,     .scale = 1},
 /* singular */
  {.dim = 2,        .n = {90, 128, 1},                   .dof = 1,   .ends = "nnnn",   .a = {1, 1},   .scale = 3     },
  {.dim = 3,        .n = {34, 40, 64},                   .dof = 1,   .ends = "dddddd",   .a = {1, 2, 3}, .scale = 1},
  {.dim = 3,        .n = {127, 127, 40},                   .dof = 1, .ends = "dddddd", .a = {1, 2, 3}, .scale = 1       }
};

static const char *const options[] = {"-pc_type bcrpoisson", "-pc_type bcrpoisson -pc_bcrpoisson_precision single",
                                      "-pc_type bcrpoisson -pc_bcrpoisson_precision mixed",
                                      "-pc_type neato -pc_neato_axis x", "-pc_type neato -pc_neato_axis y"};

/* *there: NCCL is between these ranks */
static PetscErrorCode Nccl(const Case *c, PetscBool *there)
{
  PC pc;
  TestCaught caught = {0, ""};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(CasePC(c->da, c->A, &pc));
  PetscCall(PCBCRPoissonSetBackend(pc, PCBCRPOISSON_BACKEND_CUDA));
  PetscCall(PCBCRPoissonSetTransport(pc, PCBCRPOISSON_TRANSPORT_NCCL));
  PetscCall(PetscPushErrorHandler(TestCatch, &caught));
  ierr = PCSetUp(pc);
  PetscCall(PetscPopErrorHandler());
  *there = ierr ? PETSC_FALSE : PETSC_TRUE;
  if (ierr && rank == 0) printf("# nothing is tested: %s\n", caught.message);
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* pc, or D if that is not NULL, from b to x: what later applications ask for */
static PetscErrorCode Count(const Case *c, PC pc, Mat D, const char option[])
{
  const PetscInt again = 6;
  PetscMemType mem;
  const PetscScalar *v;
  PetscReal norm;

  PetscFunctionBegin;
  PetscCall(TestRandom(c->b));
  PetscCall(VecScale(c->b, 2)); /* it is on the device now */
  PetscCall(VecSet(c->x, 1));
  PetscCall(VecGetArrayReadAndMemType(c->x, &v, &mem));
  PetscCall(VecRestoreArrayReadAndMemType(c->x, &v));
  if (!PetscMemTypeCUDA(mem)) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt a = 0; a < 3; ++a) { /* the second may capture a graph */
    if (D) PetscCall(MatMult(D, c->b, c->x));
    else PetscCall(PCApply(pc, c->b, c->x));
  }
  PetscCall(PetscMemzero(calls, sizeof(calls)));
  for (PetscInt a = 0; a < again; ++a) {
    if (D) PetscCall(MatMult(D, c->b, c->x));
    else PetscCall(PCApply(pc, c->b, c->x));
  }
  for (int k = 0; k < KERNELS; ++k)
    Check(calls[k] == 0, "rank %d: %s, %s: %d %s in %d applications", (int)rank, c->what, option, calls[k], kinds[k],
          (int)again);
  Check(calls[KERNELS] + calls[GRAPHS] > 0, "rank %d: %s, %s: nothing was launched", (int)rank, c->what, option);
  if (rank == 0)
    printf("# %s, %s: %d applications: %d graphs, %d kernels, %d allocations, %d waits, %d copies\n", c->what, option,
           (int)again, calls[GRAPHS], calls[KERNELS], calls[ALLOCATIONS], calls[WAITS], calls[HOST_COPIES]);
  PetscCall(VecNorm(c->x, NORM_2, &norm));
  Check(norm > 0 && !PetscIsInfOrNanReal(norm), "rank %d: %s, %s: a solution of norm %g", (int)rank, c->what, option,
        (double)norm);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Applications(void)
{
  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(
    NULL, "-pc_bcrpoisson_transport nccl -pc_neato_transport nccl -mat_compact_transport nccl"));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(problems); ++i) {
    const TestProblem *p = &problems[i];
    PetscInt parts[3] = {1, 1, 1};
    PetscBool nccl = PETSC_FALSE;
    Case c;

    parts[p->dim - 1] = (PetscInt)size;
    PetscCall(CaseCreate(p, &c));
    PetscCall(CaseCut(&c, PETSC_COMM_WORLD, parts, NULL));
    PetscCall(Nccl(&c, &nccl));
    for (size_t o = 0; o < PETSC_STATIC_ARRAY_LENGTH(options) && nccl; ++o) {
      PC pc;

      PetscCall(PetscOptionsInsertString(NULL, "-pc_bcrpoisson_precision double"));
      PetscCall(PetscOptionsInsertString(NULL, options[o]));
      PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
      PetscCall(PCSetOperators(pc, c.A, c.A));
      PetscCall(PCSetDM(pc, c.da));
      PetscCall(PCSetFromOptions(pc));
      PetscCall(PCSetUp(pc));
      PetscCall(Count(&c, pc, NULL, options[o]));
      PetscCall(PCDestroy(&pc));
    }
  #if !defined(PETSC_USE_COMPLEX)
    for (int d = 0; d < p->dim && nccl; ++d) {
      static const char *const name[] = {"a derivative along x", "a derivative along y", "a derivative along z"};
      Mat D;

      PetscCall(MatCreateCompactDerivative(c.da, (DMDirection)d, MAT_COMPACT_LELE6, 1, 0.01, &D));
      PetscCall(Count(&c, NULL, D, name[d]));
      PetscCall(MatDestroy(&D));
    }
  #endif
    PetscCall(CaseDestroy(&c));
    if (!nccl) break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  int status;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
#if defined(PETSCBCR_HAVE_CUDA)
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (BCRSolverHaveDevice(NULL)) PetscCall(Applications());
#endif
  status = TestEndAll(PETSC_COMM_WORLD);
  PetscCall(PetscFinalize());
  return status;
}
