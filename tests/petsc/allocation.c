/*
  One allocation after another of set-up and solve fails: each time there is an error, what is left
  can be destroyed, no memory is lost, and the next set-up of the same object, with allocations that
  work again, is right. So it is where all allocations from one on fail.

  -all: allocations of PETSc's own sources fail as well, where nothing is asked but that this library does not crash and is right again
  -only NAME, -at K: one case, one allocation

  args: -quick
  long: yes
*/
#include "testing.h"
#include "../faults.h"

typedef enum {
  FIRST,  /* the first set-up and solve */
  VALUES, /* new values, of which the plan is kept */
  OTHER,  /* new values, for which it is not */
  MATRIX, /* another matrix */
  SOLVE   /* a solve, after a set-up that was right */
} Stage;
static const char *const stages[] = {"first", "values", "other", "matrix", "solve"};

typedef struct {
  const char *name, *ksp, *pc, *options;
  TestProblem p;
} Case;

static PetscReal Vary(PetscReal x, PetscReal y, PetscReal z, void *ctx)
{
  (void)z, (void)ctx;
  return (1 + x) * (1 + y);
}

#define BCR(name, options, ...) \
  { \
    name, "preonly", PCBCRPOISSON, options, \
    { \
      __VA_ARGS__ \
    } \
  }
#define KRYLOV(name, options, ...) \
  { \
    name, "bcgs", PCBCRPOISSON, options, \
    { \
      __VA_ARGS__ \
    } \
  }

/* clang-format off */
static const Case cases[] = {
  BCR("1d", "", .dim = 1, .n = {9}, .dof = 1, .ends = "dn", .a = {1}, .scale = 2),
  BCR("1d-periodic", "", .dim = 1, .n = {9}, .dof = 1, .ends = "pp", .a = {1}, .shift = .1, .scale = 2),
  BCR("2d", "", .dim = 2, .n = {12, 10}, .dof = 1, .ends = "dddn", .a = {1, 2}, .scale = 1),
  BCR("2d-level0", "", .dim = 2, .n = {34, 33}, .dof = 1, .ends = "dddd", .a = {1, 2}, .scale = 1),
  BCR("2d-planes", "", .dim = 2, .n = {12, 10}, .dof = 1, .ends = "rrrr", .a = {1, 2}, .scale = 1, .row = 1),
  BCR("2d-planes-mixed", "-pc_bcrpoisson_precision mixed", .dim = 2, .n = {12, 10}, .dof = 1, .ends = "rrdd", .a = {1, 2}, .scale = 1, .row = 3),
  BCR("2d-singular", "", .dim = 2, .n = {20, 19}, .dof = 1, .ends = "nncc", .a = {1, 2}, .scale = 1),
  BCR("2d-singular-sums", "", .dim = 2, .n = {20, 19}, .dof = 1, .ends = "ppcc", .a = {1, 2}, .scale = 1),
  BCR("2d-general", "", .dim = 2, .n = {12, 10}, .dof = 1, .ends = "dddd", .a = {1, 2}, .scale = 1, .k = TestVaryY),
  KRYLOV("2d-several-general", "", .dim = 2, .n = {12, 10}, .dof = 1, .ends = "dddd", .a = {1, 2}, .scale = 1, .k = TestVaryEach),
  BCR("2d-box", "", .dim = 2, .n = {12, 10}, .dof = 1, .ends = "rrdd", .a = {1, 2}, .scale = 1, .row = 3, .corners = (PetscReal)-0.4),
  BCR("2d-mixed", "-pc_bcrpoisson_precision mixed", .dim = 2, .n = {20, 18}, .dof = 1, .ends = "dddd", .a = {1, 2}, .scale = 1),
  BCR("2d-mixed-fallback", "-pc_bcrpoisson_precision mixed", .dim = 2, .n = {20, 18}, .dof = 1, .ends = "nnnn", .a = {1, 2}, .shift = (PetscReal)1e-9, .scale = 1),
  BCR("2d-single", "-pc_bcrpoisson_precision single", .dim = 2, .n = {20, 18}, .dof = 1, .ends = "dddd", .a = {1, 2}, .scale = 1),
  BCR("2d-radix", "-pc_bcrpoisson_radix 4", .dim = 2, .n = {17, 23}, .dof = 1, .ends = "dddn", .a = {1, 2}, .scale = 1),
  BCR("2d-radix-periodic", "-pc_bcrpoisson_radix 2", .dim = 2, .n = {12, 13}, .dof = 1, .ends = "pppp", .a = {1, 2}, .shift = 1, .scale = 1),
  BCR("2d-components", "", .dim = 2, .n = {9, 8}, .dof = 3, .ends = "dddd", .a = {1, 2}, .scale = 1, .contrast = 1),
  BCR("2d-tune", "-pc_bcrpoisson_tune", .dim = 2, .n = {12, 10}, .dof = 1, .ends = "dddd", .a = {1, 2}, .scale = 1),
  BCR("2d-user", "-pc_bcrpoisson_spacing 1,.70710678118654752440", .dim = 2, .n = {12, 10}, .dof = 1, .ends = "dddd", .a = {1, 2}, .scale = 1),
  BCR("2d-user-robin", "-pc_bcrpoisson_spacing 1,.70710678118654752440 -pc_bcrpoisson_ends cell_neumann -pc_bcrpoisson_robin 2,2,2.8284271247461900976,2.8284271247461900976", .dim = 2, .n = {12, 10}, .dof = 1, .ends = "dddd", .a = {1, 2}, .scale = 1),
  BCR("3d", "", .dim = 3, .n = {8, 7, 6}, .dof = 1, .ends = "ddddnn", .a = {1, 2, 1}, .scale = 1),
  KRYLOV("3d-several-general", "", .dim = 3, .n = {8, 7, 6}, .dof = 1, .ends = "ddrrcc", .a = {1, 2, 1}, .scale = 1, .row = 1, .k = TestVaryEach),
  BCR("3d-planes", "", .dim = 3, .n = {8, 7, 6}, .dof = 1, .ends = "rrrrrr", .a = {1, 2, 1}, .scale = 1, .row = 1),
  BCR("3d-level0", "", .dim = 3, .n = {18, 7, 19}, .dof = 1, .ends = "dddddd", .a = {1, 2, 1}, .scale = 1),
  BCR("3d-recursive", "-pc_bcrpoisson_radix 4 -pc_bcrpoisson_recursive", .dim = 3, .n = {8, 7, 6}, .dof = 1, .ends = "dddddd", .a = {1, 2, 1}, .scale = 1),
  BCR("3d-mixed", "-pc_bcrpoisson_precision mixed", .dim = 3, .n = {8, 7, 6}, .dof = 1, .ends = "ddddcn", .a = {1, 2, 1}, .scale = 1),
  BCR("2d-prime", "", .dim = 2, .n = {10, 46}, .dof = 1, .ends = "dddd", .a = {1, 2}, .scale = 1),
  KRYLOV("fit-scaled", "-pc_bcrpoisson_fit scaled", .dim = 2, .n = {12, 10}, .dof = 1, .ends = "dddd", .a = {1, 2}, .scale = 1, .k = TestVaryAll),
  KRYLOV("fit-average", "-pc_bcrpoisson_fit average", .dim = 2, .n = {12, 10}, .dof = 1, .ends = "rddd", .a = {1, 2}, .scale = 1, .row = 1, .k = TestVaryAll),
  KRYLOV("fit-auto", "", .dim = 3, .n = {8, 7, 6}, .dof = 2, .ends = "nddddr", .a = {1, 2, 1}, .scale = 1, .row = 1, .k = TestVaryAll),
  KRYLOV("two-axes", "", .dim = 2, .n = {12, 10}, .dof = 1, .ends = "dddd", .a = {1, 2}, .scale = 1, .k = Vary),
  {"ksp", "bcrpoisson", NULL, "", {.dim = 2, .n = {12, 10}, .dof = 1, .ends = "dddd", .a = {1, 2}, .scale = 1}},
  {"neato-1d", "preonly", PCNEATO, "", {.dim = 1, .n = {30}, .dof = 1, .ends = "dd", .a = {1}, .shift = .1, .scale = 1}},
  {"neato-cr", "preonly", PCNEATO, "-pc_neato_method cr", {.dim = 1, .n = {30}, .dof = 1, .ends = "dd", .a = {1}, .shift = .1, .scale = 1}},
  {"neato-thomas", "preonly", PCNEATO, "-pc_neato_method thomas", {.dim = 1, .n = {30}, .dof = 1, .ends = "dd", .a = {1}, .shift = .1, .scale = 1}},
  {"neato-pscheme", "preonly", PCNEATO, "-pc_neato_method pscheme", {.dim = 1, .n = {30}, .dof = 1, .ends = "dd", .a = {1}, .shift = .1, .scale = 1}},
  {"neato-dc", "preonly", PCNEATO, "-pc_neato_method dc", {.dim = 1, .n = {30}, .dof = 1, .ends = "dd", .a = {1}, .shift = .1, .scale = 1}},
  {"neato-scan", "preonly", PCNEATO, "-pc_neato_method scan", {.dim = 1, .n = {30}, .dof = 1, .ends = "dd", .a = {1}, .shift = .1, .scale = 1}},
  {"neato-lines", "bcgs", PCNEATO, "-pc_neato_axis y", {.dim = 2, .n = {8, 9}, .dof = 1, .ends = "dddd", .a = {1, 2}, .shift = 5, .scale = 1}},
  {"neato-vary", "bcgs", PCNEATO, "-pc_neato_axis x -pc_neato_precision mixed", {.dim = 3, .n = {8, 5, 4}, .dof = 1, .ends = "dddddd", .a = {1, 2, 1}, .shift = 5, .scale = 1, .k = TestVaryAll}},
  {"neato-ksp", "neato", NULL, "", {.dim = 1, .n = {30}, .dof = 1, .ends = "dd", .a = {1}, .shift = .1, .scale = 1}},
};
/* clang-format on */

typedef struct {
  DM da;
  Mat A, B; /* B: of stage MATRIX */
  KSP ksp;
  Vec b, x; /* made before anything fails */
} Objects;

static PetscErrorCode Build(const Case *c, Objects *o)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(TestMatrix(&c->p, &o->da, &o->A));
  PetscCall(MatDuplicate(o->A, MAT_COPY_VALUES, &o->B));
  PetscCall(MatScale(o->B, 3));
  PetscCall(MatCreateVecs(o->A, &o->x, &o->b));
  PetscCall(TestRandom(o->b));
  PetscCall(MatMult(o->A, o->b, o->x)); /* consistent where A is singular */
  PetscCall(VecCopy(o->x, o->b));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &o->ksp));
  PetscCall(KSPSetDM(o->ksp, o->da));
  PetscCall(TestKSPSetDMInactive(o->ksp));
  PetscCall(KSPSetOperators(o->ksp, o->A, o->A));
  PetscCall(KSPSetType(o->ksp, c->ksp));
  PetscCall(KSPGetPC(o->ksp, &pc));
  if (c->pc) PetscCall(PCSetType(pc, c->pc));
  PetscCall(KSPSetTolerances(o->ksp, 1000 * PETSC_MACHINE_EPSILON, PETSC_DEFAULT, PETSC_DEFAULT, 200));
  PetscCall(TestOptions(c->options, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(o->ksp));
  PetscCall(TestOptions(c->options, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Tear(Objects *o)
{
  PetscFunctionBegin;
  PetscCall(TestDestroy(&o->ksp, &o->b, &o->x, &o->B, &o->A, &o->da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Error(const Case *c, Mat A, Vec b, Vec x, PetscReal *error, PetscBool *good)
{
  PetscReal bound = 100 * TestBackwardBound();

  PetscFunctionBegin;
  if (strstr(c->options, "single")) bound = (PetscReal)1e-6;
  if (!strcmp(c->ksp, "bcgs")) bound = 10000 * PETSC_MACHINE_EPSILON;
  PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, error));
  *good = (PetscBool)(*error <= bound);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *more: an allocation has failed */
static PetscErrorCode Point(const Case *c, Stage stage, long k, PetscBool from, PetscBool ours, PetscBool *more)
{
  Objects o = {NULL, NULL, NULL, NULL, NULL, NULL};
  Mat A;
  PetscErrorCode ierr;
  PetscReal error;
  PetscBool good;
  char what[256];

  PetscFunctionBegin;
  TestFaultsMark();
  PetscCall(Build(c, &o));
  A = o.A;
  if (stage != FIRST) {
    PetscCall(KSPSetUp(o.ksp));
    if (stage == SOLVE) PetscCall(KSPSetUp(o.ksp));
    else PetscCall(KSPSolve(o.ksp, o.b, o.x));
    if (stage == VALUES || stage == OTHER) {
      if (stage == OTHER) PetscCall(MatShift(A, 0.5));
      else PetscCall(MatScale(A, 2));
      PetscCall(KSPSetOperators(o.ksp, A, A));
    } else if (stage == MATRIX) PetscCall(KSPSetOperators(o.ksp, o.B, A = o.B));
    else PetscCall(KSPSetOperators(o.ksp, A, A));
    PetscCall(VecSet(o.x, 0));
  }
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  if (stage == SOLVE) {
    ierr = KSPSetUp(o.ksp);
    TestFaultsArm(k, from, ours);
  } else {
    TestFaultsArm(k, from, ours);
    ierr = KSPSetUp(o.ksp);
  }
  if (!ierr) ierr = KSPSolve(o.ksp, o.b, o.x);
  *more = TestFaultsDisarm();
  PetscCall(PetscPopErrorHandler());
  PetscCall(PetscSNPrintf(what, sizeof(what), "%s, %s, allocation %ld%s%s (%s:%d)", c->name, stages[stage], k,
                          from ? " and all behind" : "", ours ? "" : " of all", TestFaultsName(TestFaults.file),
                          TestFaults.line));
  good = PETSC_FALSE;
  if (!ierr) {
    PetscCall(Error(c, A, o.b, o.x, &error, &good));
    Check(good, "%s: no error, and backward error %g", what, (double)error);
  }
  if (*more || !good) { /* the same object again */
    Vec b, x;

    PetscCall(VecDuplicate(o.b, &b));
    PetscCall(VecCopy(o.b, b));
    PetscCall(VecDuplicate(o.x, &x));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = KSPSolve(o.ksp, b, x);
    PetscCall(PetscPopErrorHandler());
    if (!ierr) PetscCall(Error(c, A, b, x, &error, &good));
    Check(!ierr && good, "%s: then error %d, backward error %g", what, (int)ierr, ierr ? -1. : (double)error);
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
  }
  PetscCall(Tear(&o));
  if (!*more || ours) {
    const long left = TestFaultsBlocks(NULL);

    Check(!left, "%s: %ld blocks are left", what, left);
    if (left) (void)TestFaultsBlocks(what);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Objects without a KSP: made, used once, and checked by residual[], which is to be small */
static PetscErrorCode LinesOnce(DM da, Vec f, Vec u, PetscReal *residual)
{
  const PetscReal row[3] = {-1, 3, -1}, end[3] = {0, 4, -2};
  PetscBCRLines lines;
  const PetscScalar *g, *v;
  PetscInt n;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscBCRLinesCreate(da, DM_X, 1, end, row, 0, NULL, &lines));
  ierr = PetscBCRLinesSolve(lines, f, u);
  PetscCall(PetscBCRLinesDestroy(&lines));
  PetscCall(ierr);
  PetscCall(VecGetLocalSize(f, &n));
  PetscCall(VecGetArrayRead(f, &g));
  PetscCall(VecGetArrayRead(u, &v));
  *residual = 0;
  for (PetscInt i = 0; i < n; ++i) {
    const PetscScalar left = i ? v[i - 1] : 0, right = i + 1 < n ? v[i + 1] : 0,
                      r = g[i] - (i ? 3 * v[i] - left - right : 4 * v[i] - 2 * right);

    if (!(PetscAbsScalar(r) <= *residual)) *residual = PetscAbsScalar(r);
  }
  PetscCall(VecRestoreArrayRead(u, &v));
  PetscCall(VecRestoreArrayRead(f, &g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the derivative of a constant */
static PetscErrorCode CompactOnce(DM da, Vec f, Vec u, PetscReal *residual)
{
  Mat D;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(MatCreateCompactDerivative(da, DM_X, MAT_COMPACT_LELE6, 1, (PetscReal)0.1, &D));
  ierr = MatMult(D, f, u);
  if (!ierr) ierr = VecSet(f, 1);
  if (!ierr) ierr = MatMult(D, f, u);
  PetscCall(MatDestroy(&D));
  PetscCall(ierr);
  PetscCall(VecNorm(u, NORM_INFINITY, residual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* u_i = f_i + s u_(i-1) */
static PetscErrorCode RecurrenceOnce(DM da, Vec f, Vec u, PetscReal *residual)
{
  const PetscScalar *g, *v;
  PetscInt n;

  PetscFunctionBegin;
  (void)da;
  PetscCall(PetscBCRRecurrenceSolve(NULL, 0.5, f, 0, u));
  PetscCall(VecGetLocalSize(f, &n));
  PetscCall(VecGetArrayRead(f, &g));
  PetscCall(VecGetArrayRead(u, &v));
  *residual = 0;
  for (PetscInt i = 0; i < n; ++i) {
    const PetscReal r = PetscAbsScalar(v[i] - g[i] - (PetscScalar)0.5 * (i ? v[i - 1] : 0));

    if (!(r <= *residual)) *residual = r;
  }
  PetscCall(VecRestoreArrayRead(u, &v));
  PetscCall(VecRestoreArrayRead(f, &g));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Once(const char name[], PetscErrorCode (*once)(DM, Vec, Vec, PetscReal *), long *points)
{
  TestProblem p = {.dim = 1, .n = {40}, .dof = 1, .ends = "dd", .a = {1}, .scale = 1};
  DM da;

  PetscFunctionBegin;
  PetscCall(TestDMDA(&p, &da));
  for (int from = 0; from < 2; from++) {
    for (long k = 0;; k++) { /* 0: what is made once */
      Vec f, u;
      PetscReal residual = 0;
      PetscErrorCode ierr;
      PetscBool more;
      long left;

      PetscCall(DMCreateGlobalVector(da, &f));
      PetscCall(VecDuplicate(f, &u));
      PetscCall(TestRandom(f));
      TestFaultsMark();
      PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
      TestFaultsArm(k ? k : 1000000, from ? PETSC_TRUE : PETSC_FALSE, PETSC_TRUE);
      ierr = (*once)(da, f, u, &residual);
      more = TestFaultsDisarm();
      PetscCall(PetscPopErrorHandler());
      Check(more ? (int)ierr : !ierr && residual <= 1000 * PETSC_MACHINE_EPSILON,
            "%s, allocation %ld (%s:%d): error %d, residual %g", name, k, TestFaultsName(TestFaults.file),
            TestFaults.line, (int)ierr, (double)residual);
      PetscCall(VecDestroy(&u));
      PetscCall(VecDestroy(&f));
      left = TestFaultsBlocks(k ? name : NULL);
      Check(!k || !left, "%s, allocation %ld%s (%s:%d): %ld blocks are left", name, k, from ? " and all behind" : "",
            TestFaultsName(TestFaults.file), TestFaults.line, left);
      if (k && !more) break;
      *points += k > 0;
    }
  }
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What PETSc makes once: objects of options, of random numbers */
static PetscErrorCode Warm(const Case *c)
{
  Objects o;

  PetscFunctionBegin;
  PetscCall(Build(c, &o));
  PetscCall(KSPSolve(o.ksp, o.b, o.x));
  PetscCall(Tear(&o));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char only[64] = "", stageonly[64] = "";
  PetscBool quick = PETSC_FALSE, all = PETSC_FALSE, more = PETSC_FALSE, found = PETSC_FALSE, verbose = PETSC_FALSE;
  PetscInt at = 0;
  long points = 0;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-quick", &quick, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-all", &all, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-verbose", &verbose, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-only", only, sizeof(only), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-stage", stageonly, sizeof(stageonly), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-at", &at, NULL));
  TestFaultsBegin();
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) {
    if (only[0] && strcmp(only, cases[i].name)) continue;
    if (!found) PetscCall(Warm(&cases[i]));
    found = PETSC_TRUE;
    for (Stage stage = FIRST; stage <= SOLVE; stage++) {
      /* of the user's operator there are no other values */
      if (strstr(cases[i].options, "spacing") && stage != FIRST && stage != SOLVE) continue;
      if (stageonly[0] && strcmp(stageonly, stages[stage])) continue;
      for (int from = 0; from < 2; from++) {
        for (long k = at ? (long)at : 1 + (quick ? (long)(i + (size_t)stage + (size_t)from) % 4 : 0);;
             k += quick ? 4 : 1) {
          if (verbose)
            (void)printf("%s %s %ld%s\n", cases[i].name, stages[stage], k, from ? "+" : ""), (void)fflush(stdout);
          PetscCall(Point(&cases[i], stage, k, from ? PETSC_TRUE : PETSC_FALSE, all ? PETSC_FALSE : PETSC_TRUE, &more));
          if (!more || at) break;
          points++;
        }
      }
    }
  }
  if (!only[0]) {
    PetscCall(Once("lines", LinesOnce, &points));
    PetscCall(Once("compact", CompactOnce, &points));
    PetscCall(Once("recurrence", RecurrenceOnce, &points));
  }
  if (!found) (void)printf("No case is called %s\n", only);
  (void)printf("%ld allocations made to fail\n", points);
  {
    const int failed = TestEnd();

    PetscCall(PetscFinalize());
    return failed;
  }
}
