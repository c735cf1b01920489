/*
  ranks: 2
  args: -quick

  An allocation of this library's that fails on one rank only: all ranks have an error, none waits for another, and the next set-up of the same object is
  right. Every allocation of set-up and application in turn. A rank that waits is found by a clock, which says where. Left alone are allocations of PETSc's own, whose
  objects are not made to survive that, and, for now, those of the systems over ranks in src/tridiagonal, which do not agree yet.
*/
#include "distribute.h"
#include "../faults.h"
#include <signal.h>
#include <unistd.h>

static PetscMPIInt rank, size;
static char        now[256];

static void Late(int number)
{
  (void)number;
  (void)printf("rank %d waits: %s (%s:%d)\n", (int)rank, now, TestFaults.file ? TestFaultsName(TestFaults.file) : "", TestFaults.line); /* to be left at once */
  (void)fflush(stdout);
  _exit(3);
}

typedef struct {
  const char *name, *pc, *options;
  PetscBool   inplace;
  TestProblem p;
} FaultCase;

static PetscReal VaryAll(PetscReal x, PetscReal y, PetscReal z, void *ctx)
{
  (void)ctx;
  return 1 + x * y + z;
}
static PetscReal VaryX(PetscReal x, PetscReal y, PetscReal z, void *ctx)
{
  (void)y, (void)z, (void)ctx;
  return 1 + x;
}

/* clang-format off */
static const FaultCase cases[] = {
  {"uniform",  PCBCRPOISSON, "", PETSC_TRUE, {.dim = 2, .n = {12, 14}, .dof = 1, .ends = "dddn", .a = {1, 2}, .scale = 1}},
  {"planes",   PCBCRPOISSON, "", PETSC_TRUE, {.dim = 2, .n = {12, 14}, .dof = 1, .ends = "rrrr", .a = {1, 2}, .scale = 1, .row = 2}},
  {"mixed",    PCBCRPOISSON, "-pc_bcrpoisson_precision mixed", PETSC_TRUE, {.dim = 2, .n = {12, 14}, .dof = 1, .ends = "dddd", .a = {1, 2}, .scale = 1}},
  {"general",  PCBCRPOISSON, "", PETSC_TRUE, {.dim = 2, .n = {12, 14}, .dof = 1, .ends = "dddd", .a = {1, 2}, .scale = 1, .k = VaryX}},
  {"singular", PCBCRPOISSON, "", PETSC_TRUE, {.dim = 3, .n = {6, 7, 8}, .dof = 1, .ends = "cccccc", .a = {1, 2, 1}, .scale = 1}},
  {"moved",    PCBCRPOISSON, "", PETSC_FALSE, {.dim = 2, .n = {12, 14}, .dof = 1, .ends = "rrdd", .a = {1, 2}, .scale = 1, .row = 2}},
  {"fit",      PCBCRPOISSON, "-pc_bcrpoisson_fit scaled", PETSC_TRUE, {.dim = 2, .n = {12, 14}, .dof = 1, .ends = "dddd", .a = {1, 2}, .scale = 1, .k = VaryAll}},
};
/* clang-format on */

static PetscErrorCode Point(const FaultCase *c, DM da, Mat A, Mat B, long k, PetscBool update, PetscMPIInt who, Vec b, PetscBool *more)
{
  PC             pc;
  Vec            x, y;
  PetscErrorCode ierr;
  PetscInt       flags[2], all[2];
  PetscReal      difference = 0;
  char          *name;
  size_t         length;
  Mat            M = update ? B : A;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(now, sizeof(now), "%s, %s, allocation %ld of rank %d", c->name, update ? "new values" : "first", k, (int)who));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &y));
  PetscCall(PetscOptionsInsertString(NULL, c->options));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, c->pc));
  PetscCall(PCSetDM(pc, da));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PetscStrallocpy(c->options, &name));
  PetscCall(PetscStrlen(name, &length));
  if (length) {
    *strchr(name, ' ') = 0;
    PetscCall(PetscOptionsClearValue(NULL, name));
  }
  PetscCall(PetscFree(name));
  if (update) {
    PetscCall(PCSetUp(pc));
    PetscCall(PCSetOperators(pc, B, B));
  }
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  (void)alarm(8);
  if (rank == who) TestFaultsArm(k, PETSC_FALSE, PETSC_TRUE);
  ierr     = PCSetUp(pc);
  flags[0] = rank == who && TestFaultsDisarm() ? 1 : 0;
  PetscCall(PetscPopErrorHandler());
  flags[1] = ierr ? 1 : 0;
  PetscCallMPI(MPI_Allreduce(flags, all, 2, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  (void)alarm(0);
  *more = all[0] ? PETSC_TRUE : PETSC_FALSE;
  if (rank == 0) Check(all[1] == (all[0] ? size : 0), "%s: %d of %d ranks have an error", now, (int)all[1], (int)size);
  (void)alarm(8);
  PetscCall(PCApply(pc, b, x));
  PetscCall(PCDestroy(&pc));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc)); /* one that nothing has happened to */
  PetscCall(PCSetType(pc, c->pc));
  PetscCall(PCSetDM(pc, da));
  PetscCall(PCSetOperators(pc, M, M));
  PetscCall(PCApply(pc, b, y));
  PetscCall(PCDestroy(&pc));
  (void)alarm(0);
  PetscCall(TestDifference(x, y, &difference));
  if (rank == 0) Check(difference <= 1e6 * PETSC_MACHINE_EPSILON, "%s: then %g from the solution of another object", now, (double)difference);
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool quick = PETSC_FALSE, more = PETSC_FALSE;
  PetscInt  failures, points = 0, start = 1;
  char      only[64] = "";

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-quick", &quick, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-only", only, sizeof(only), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-start", &start, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  (void)signal(SIGALRM, Late);
  TestFaultsBegin();
  TestFaults.skip = "src/tridiagonal/";
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases) && size > 1; i++) {
    const FaultCase *c        = &cases[i];
    const PetscInt   parts[3] = {!c->inplace && size % 2 == 0 ? 2 : 1, c->p.dim == 2 ? (c->inplace || size % 2 ? size : size / 2) : 1, c->p.dim == 2 ? 1 : size};
    DM               da, own;
    Mat              whole, A, B;
    Vec              b, x;

    if (only[0] && strcmp(only, c->name)) continue;
    PetscCall(TestMatrix(&c->p, &own, &whole));
    PetscCall(TestCutDMDA(PETSC_COMM_WORLD, &c->p, parts, NULL, &da));
    PetscCall(TestDeal(da, whole, PETSC_FALSE, &A));
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
    PetscCall(MatShift(B, 0.5));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecSetRandom(x, NULL));
    PetscCall(MatMult(A, x, b));
    for (int update = 0; update < 2; update++) {
      for (PetscMPIInt who = 0; who < size; who += size - 1) {
        for (long k = (long)start + (quick ? (long)i % 5 : 0);; k += quick ? 5 : 1) {
          PetscCall(Point(c, da, A, B, k, update ? PETSC_TRUE : PETSC_FALSE, who, b, &more));
          if (!more) break;
          points++;
        }
      }
    }
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&B));
    PetscCall(MatDestroy(&A));
    PetscCall(MatDestroy(&whole));
    PetscCall(DMDestroy(&da));
    PetscCall(DMDestroy(&own));
  }
  failures = rank == 0 ? TestFailed : 0;
  if (rank == 0) {
    (void)printf("%d allocations made to fail on one rank\n", (int)points);
    (void)TestEnd();
  }
  PetscCallMPI(MPI_Bcast(&failures, 1, MPIU_INT, 0, PETSC_COMM_WORLD));
  PetscCall(PetscFinalize());
  return failures ? 1 : 0;
}
