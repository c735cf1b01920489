/*
  ranks: 2 4
  args: -quick
  long: yes

  An allocation of this library's that fails on one rank only: all ranks have an error, none waits
  for another, and the next use of the same object is right. Every allocation of set-up, of set-up
  with new values, of the first transposed application and of one to several vectors in turn; with
  -quick some of them; and of lines and derivatives that are no PC. A rank that waits is found by a
  clock, which says where. Left alone are allocations of PETSc's own, whose objects are not made to
  survive that.

  -only NAME, -start K: one case, from one allocation on
*/
#include "distribute.h"
#include "../faults.h"
#include <signal.h>
#include <unistd.h>

static PetscMPIInt rank, size;
static char now[256];

static void Late(int number)
{
  (void)number;
  /* to be left at once */
  (void)printf("rank %d waits: %s (%s:%d)\n", (int)rank, now, TestFaults.file ? TestFaultsName(TestFaults.file) : "",
               TestFaults.line);
  (void)fflush(stdout);
  _exit(3);
}

typedef enum {
  FIRST,     /* set-up */
  VALUES,    /* set-up with new values */
  TRANSPOSE, /* the first transposed application */
  COLUMNS    /* the first application to several vectors */
} Stage;
static const char *const stages[] = {"first", "new values", "transposed", "columns"};

typedef struct {
  const char *name, *pc, *options;
  PetscInt cut; /* the axis that is cut; -1: as many as there are, on four ranks and more */
  PetscBool moves;
  TestProblem p;
} FaultCase;

/* clang-format off */
static const FaultCase cases[] = {
  {"uniform",  PCBCRPOISSON, "", 1, PETSC_FALSE, {.dim = 2, .n = {12, 14}, .dof = 1, .ends = "dddn", .a = {1, 2}, .scale = 1}},
  {"planes",   PCBCRPOISSON, "", 1, PETSC_FALSE, {.dim = 2, .n = {12, 14}, .dof = 1, .ends = "rrrr", .a = {1, 2}, .scale = 1, .row = 2}},
  {"mixed",    PCBCRPOISSON, "-pc_bcrpoisson_precision mixed", 1, PETSC_FALSE, {.dim = 2, .n = {12, 14}, .dof = 1, .ends = "dddd", .a = {1, 2}, .scale = 1}},
  {"general",  PCBCRPOISSON, "", 1, PETSC_FALSE, {.dim = 2, .n = {12, 14}, .dof = 1, .ends = "dddd", .a = {1, 2}, .scale = 1, .k = TestVaryX}},
  {"several",  PCBCRPOISSON, "", 1, PETSC_FALSE, {.dim = 2, .n = {12, 14}, .dof = 1, .ends = "dddd", .a = {1, 2}, .scale = 1, .k = TestVaryEach}},
  {"singular", PCBCRPOISSON, "", 2, PETSC_FALSE, {.dim = 3, .n = {6, 7, 8}, .dof = 1, .ends = "cccccc", .a = {1, 2, 1}, .scale = 1}},
  {"moved",    PCBCRPOISSON, "", 0, PETSC_TRUE, {.dim = 2, .n = {8, 66}, .dof = 1, .ends = "rrdd", .a = {1, 2}, .scale = 1, .row = 2, .k = TestVaryY}},
  {"boxes",    PCBCRPOISSON, "", -1, PETSC_TRUE, {.dim = 2, .n = {12, 14}, .dof = 1, .ends = "rrrd", .a = {1, 2}, .scale = 1, .row = 2}},
  {"box",      PCBCRPOISSON, "", 1, PETSC_FALSE, {.dim = 2, .n = {12, 14}, .dof = 1, .ends = "dddd", .a = {1, 2}, .scale = 1, .corners = -.4}},
  {"box-sides", PCBCRPOISSON, "", -1, PETSC_TRUE, {.dim = 2, .n = {12, 14}, .dof = 1, .ends = "rrrd", .a = {1, 2}, .scale = 1, .row = 2, .corners = -.4}},
  {"fit",      PCBCRPOISSON, "-pc_bcrpoisson_fit scaled", 1, PETSC_FALSE, {.dim = 2, .n = {12, 14}, .dof = 1, .ends = "dddd", .a = {1, 2}, .scale = 1, .k = TestVaryAll}},
  {"apart",    PCBCRPOISSON, "-pc_bcrpoisson_fit average", 1, PETSC_FALSE, {.dim = 2, .n = {12, 14}, .dof = 1, .ends = "dddd", .a = {1, 2}, .scale = 1, .k = TestVaryAll}},
  {"user",     PCBCRPOISSON, "-pc_bcrpoisson_spacing 1,.70710678118654752440", 1, PETSC_FALSE, {.dim = 2, .n = {12, 14}, .dof = 2, .ends = "dddd", .a = {1, 2}, .scale = 1}},
  {"lines-1d", PCNEATO, "", 0, PETSC_FALSE, {.dim = 1, .n = {30}, .dof = 1, .ends = "dd", .a = {1}, .shift = .1, .scale = 1}},
  {"lines-x",  PCNEATO, "-pc_neato_axis x", 1, PETSC_FALSE, {.dim = 2, .n = {8, 9}, .dof = 1, .ends = "dddd", .a = {1, 2}, .shift = 5, .scale = 1}},
  {"lines-far", PCNEATO, "-pc_neato_coupling reduced -pc_neato_precision mixed", 0, PETSC_FALSE, {.dim = 1, .n = {40}, .dof = 2, .ends = "dd", .a = {1}, .shift = -.3, .scale = 1}},
  {"lines",    PCNEATO, "", 1, PETSC_FALSE, {.dim = 2, .n = {8, 60}, .dof = 1, .ends = "dddd", .a = {1, 2}, .shift = 5, .scale = 1}},
  {"lines-vary", PCNEATO, "-pc_neato_axis z", 2, PETSC_FALSE, {.dim = 3, .n = {5, 4, 9}, .dof = 1, .ends = "ddddnd", .a = {1, 2, 1}, .shift = 5, .scale = 1, .k = TestVaryAll}},
};
/* clang-format on */

static PetscErrorCode Make(const FaultCase *c, DM da, Mat A, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetType(*pc, c->pc));
  PetscCall(PCSetDM(*pc, da));
  PetscCall(PCSetOperators(*pc, A, A));
  PetscCall(PCSetFromOptions(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* of several vectors the last one counts: all are b */
static PetscErrorCode Apply(PC pc, Stage stage, Vec b, Vec x)
{
  const PetscInt n = 3;
  PetscInt m, M;
  Mat B, X;
  Vec v;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (stage != COLUMNS) {
    PetscCall(stage == TRANSPOSE ? PCApplyTranspose(pc, b, x) : PCApply(pc, b, x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(VecGetLocalSize(b, &m));
  PetscCall(VecGetSize(b, &M));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, m, PETSC_DECIDE, M, n, NULL, &B));
  PetscCall(MatCreate(PETSC_COMM_WORLD, &X));
  PetscCall(MatSetSizes(X, m, PETSC_DECIDE, M, n));
  PetscCall(MatSetType(X, MATDENSE));
  PetscCall(MatDenseSetLDA(X, m + 3)); /* columns apart */
  PetscCall(MatSetUp(X));
  PetscCall(MatAssemblyBegin(X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(X, MAT_FINAL_ASSEMBLY));
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(MatDenseGetColumnVecWrite(B, k, &v));
    PetscCall(VecCopy(b, v));
    PetscCall(MatDenseRestoreColumnVecWrite(B, k, &v));
  }
  ierr = PCMatApply(pc, B, X);
  if (!ierr) {
    PetscCall(MatDenseGetColumnVecRead(X, n - 1, &v));
    PetscCall(VecCopy(v, x));
    PetscCall(MatDenseRestoreColumnVecRead(X, n - 1, &v));
  }
  PetscCall(MatDestroy(&X));
  PetscCall(MatDestroy(&B));
  PetscFunctionReturn(ierr);
}

/* On rank 0, whether vectors are brought to slabs and back, as PCView() says */
static PetscErrorCode Moves(PC pc, PetscBool *moves)
{
  char *text;

  PetscFunctionBegin;
  PetscCall(TestViewText((PetscObject)pc, &text));
  *moves = strstr(text, "redistributed: ") ? PETSC_TRUE : PETSC_FALSE;
  free(text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Point(const FaultCase *c, DM da, Mat A, Mat B, long k, Stage stage, PetscMPIInt who, Vec b,
                            Vec right, PetscBool *more)
{
  PC pc;
  Vec x;
  PetscErrorCode ierr;
  PetscInt flags[2], all[2];
  PetscReal difference = 0;

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(now, sizeof(now), "%s, %s, allocation %ld of rank %d", c->name, stages[stage], k, (int)who));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(Make(c, da, A, &pc));
  if (stage != FIRST) PetscCall(PCSetUp(pc));
  if (stage == VALUES) PetscCall(PCSetOperators(pc, B, B));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  (void)alarm(60);
  if (rank == who) TestFaultsArm(k, PETSC_FALSE, PETSC_TRUE);
  ierr = stage == FIRST || stage == VALUES ? PCSetUp(pc) : Apply(pc, stage, b, x);
  flags[0] = rank == who && TestFaultsDisarm() ? 1 : 0;
  PetscCall(PetscPopErrorHandler());
  flags[1] = ierr ? 1 : 0;
  PetscCallMPI(MPI_Allreduce(flags, all, 2, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  *more = all[0] ? PETSC_TRUE : PETSC_FALSE;
  if (rank == 0) Check(all[1] == (all[0] ? size : 0), "%s: %d of %d ranks have an error", now, (int)all[1], (int)size);
  PetscCall(VecSet(x, 0));
  PetscCall(Apply(pc, stage, b, x));
  PetscCall(PCDestroy(&pc));
  (void)alarm(0);
  PetscCall(TestDifference(x, right, &difference));
  if (rank == 0)
    Check(difference <= 1e6 * PETSC_MACHINE_EPSILON, "%s: then %g from the solution of another object", now,
          (double)difference);
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* u from f, by an object that is made for it: lines of constant coefficients, or a compact derivative (transposed) */
static PetscErrorCode Other(int kind, DM da, Vec f, Vec u)
{
  const PetscReal row[3] = {-1, 3, -1};
  PetscBCRLines lines = NULL;
  Mat D = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (kind == 0) {
    ierr = PetscBCRLinesCreate(da, DM_Y, 0, NULL, row, 0, NULL, &lines);
    if (!ierr) ierr = PetscBCRLinesSolve(lines, f, u);
    if (lines) PetscCall(PetscBCRLinesDestroy(&lines));
  } else {
    ierr = MatCreateCompactDerivative(da, DM_Y, MAT_COMPACT_LELE6, 1, 1, &D);
    if (!ierr) ierr = kind == 1 ? MatMult(D, f, u) : MatMultTranspose(D, f, u);
    PetscCall(MatDestroy(&D));
  }
  PetscFunctionReturn(ierr);
}

static PetscErrorCode Others(long start, long step, PetscInt *points)
{
  static const char *const kinds[] = {"PetscBCRLines", "a compact derivative", "a compact derivative, transposed"};
  DM da;
  Vec f, u, right;

  PetscFunctionBegin;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 6,
                         12 * (PetscInt)size, 1, size, 1, 1, NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateGlobalVector(da, &f));
  PetscCall(VecDuplicate(f, &u));
  PetscCall(VecDuplicate(f, &right));
  PetscCall(VecSetRandom(f, NULL));
  for (int kind = 0; kind < 3; kind++) {
    PetscCall(Other(kind, da, f, right));
    for (PetscMPIInt who = 0; who < size; who += size - 1) {
      for (long k = start + (kind + who) % step;; k += step) {
        PetscErrorCode ierr;
        PetscInt flags[2], all[2];
        PetscReal difference = 0;

        PetscCall(PetscSNPrintf(now, sizeof(now), "%s, allocation %ld of rank %d", kinds[kind], k, (int)who));
        PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
        (void)alarm(60);
        if (rank == who) TestFaultsArm(k, PETSC_FALSE, PETSC_TRUE);
        ierr = Other(kind, da, f, u);
        flags[0] = rank == who && TestFaultsDisarm() ? 1 : 0;
        PetscCall(PetscPopErrorHandler());
        flags[1] = ierr ? 1 : 0;
        PetscCallMPI(MPI_Allreduce(flags, all, 2, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
        if (rank == 0)
          Check(all[1] == (all[0] ? size : 0), "%s: %d of %d ranks have an error", now, (int)all[1], (int)size);
        PetscCall(Other(kind, da, f, u));
        (void)alarm(0);
        PetscCall(TestDifference(u, right, &difference));
        if (rank == 0)
          Check(difference == 0, "%s: then %g from the solution of another object", now, (double)difference);
        if (!all[0]) break;
        (*points)++;
      }
    }
  }
  PetscCall(TestDestroy(&f, &u, &right, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscBool quick = PETSC_FALSE, more = PETSC_FALSE;
  PetscInt failures, points = 0, start = 1, step;
  char only[64] = "";

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-quick", &quick, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-only", only, sizeof(only), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-start", &start, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  step = quick ? (size > 2 ? 23 : 11) : 1;
  (void)signal(SIGALRM, Late);
  TestFaultsBegin();
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases) && size > 1; i++) {
    const FaultCase *c = &cases[i];
    const PetscInt parts[3] = {c->cut == 0 ? size : (c->cut < 0 ? 2 : 1),
                               c->cut == 1 ? size : (c->cut < 0 ? size / 2 : 1), c->cut == 2 ? size : 1};
    DM da, own;
    Mat whole, A, B;
    Vec b, x, right;
    PC pc;

    if ((only[0] && strcmp(only, c->name)) || (c->cut < 0 && (size < 4 || size % 2))) continue;
    PetscCall(TestMatrix(&c->p, &own, &whole));
    PetscCall(TestCutDMDA(PETSC_COMM_WORLD, &c->p, parts, NULL, &da));
    if (!strcmp(c->name, "apart")) { /* a row that is */
      const PetscInt row = 0;

      PetscCall(MatSetValue(whole, row, row, 1e6, INSERT_VALUES));
      PetscCall(MatAssemblyBegin(whole, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(whole, MAT_FINAL_ASSEMBLY));
    }
    PetscCall(TestDeal(da, whole, PETSC_FALSE, &A));
    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
    PetscCall(MatShift(B, 0.5));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecDuplicate(b, &right));
    PetscCall(VecSetRandom(x, NULL));
    PetscCall(MatMult(A, x, b));
    PetscCall(TestOptions(c->options, PETSC_TRUE));
    for (int stage = FIRST; stage <= COLUMNS; stage++) {
      PetscCall(Make(c, da, stage == VALUES ? B : A, &pc)); /* one that nothing happens to */
      PetscCall(Apply(pc, (Stage)stage, b, right));
      if (c->moves) {
        PetscBool moves = PETSC_FALSE;

        PetscCall(Moves(pc, &moves));
        if (rank == 0) Check(moves, "%s: its vectors do not move", c->name);
      }
      PetscCall(PCDestroy(&pc));
      for (PetscMPIInt who = 0; who < size; who += size - 1) {
        for (long k = (long)start + (long)(7 * i + (size_t)stage + (size_t)who) % (long)step;; k += (long)step) {
          PetscCall(Point(c, da, A, B, k, (Stage)stage, who, b, right, &more));
          if (!more) break;
          points++;
        }
      }
    }
    PetscCall(TestOptions(c->options, PETSC_FALSE));
    PetscCall(TestDestroy(&right, &x, &b, &B, &A, &whole, &da, &own));
  }
  if (size > 1 && (!only[0] || !strcmp(only, "others"))) PetscCall(Others((long)start, (long)step, &points));
  failures = rank == 0 ? TestFailed : 0;
  if (rank == 0) {
    (void)printf("%d allocations made to fail on one rank\n", (int)points);
    (void)TestEnd();
  }
  PetscCallMPI(MPI_Bcast(&failures, 1, MPIU_INT, 0, PETSC_COMM_WORLD));
  PetscCall(PetscFinalize());
  return failures ? 1 : 0;
}
