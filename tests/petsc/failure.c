/*
  The state that an error leaves: an object whose set-up failed has no solver, so that the next
  solve fails or sets up anew, and is right; it never gives the solution of the matrix before. And
  memory: objects that are created, set up, solved with, given new values, refused and destroyed
  again and again (-cycles, 200) leave nothing behind, neither of PETSc's memory nor of that of
  malloc().

  quick: 1
*/
#include "testing.h"
#include "../faults.h"
#if defined(__GLIBC__) && defined(__GLIBC_PREREQ)
  #if __GLIBC_PREREQ(2, 33)
    #include <malloc.h>
    #define HAVE_MALLINFO2
  #endif
#endif

#define SIZE   12
#define GROWTH 4096 /* bytes: what malloc() keeps for the next of a size counts as given out */

/* what is solved with */
typedef struct {
  const char *ksp, *pc, *options;
} Kind;

static const Kind kinds[] = {
  {"preonly",    PCBCRPOISSON, ""                              },
  {"cg",         PCBCRPOISSON, ""                              },
  {"bcrpoisson", NULL,         ""                              },
  {"preonly",    PCBCRPOISSON, "-pc_bcrpoisson_precision mixed"},
  {"preonly",    PCBCRPOISSON, "-pc_bcrpoisson_radix 8"        },
};

static TestProblem Square(void)
{
  TestProblem p = {
    .dim = 2, .n = {SIZE, SIZE},
         .dof = 1, .ends = "dddd", .a = {1,    1.5 },
         .scale = 1
  };

  return p;
}

/* coefficients that vary along y: a radix cannot do with them */
static PetscReal AlongY(PetscReal x, PetscReal y, PetscReal z, void *ctx)
{
  (void)x, (void)z, (void)ctx;
  return 1 + y;
}

static PetscReal AlongBoth(PetscReal x, PetscReal y, PetscReal z, void *ctx)
{
  (void)z, (void)ctx;
  return (1 + x) * (1 + y);
}

static PetscErrorCode NewKSP(const Kind *kind, DM da, Mat A, KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(NULL, kind->options));
  PetscCall(KSPCreate(PETSC_COMM_SELF, ksp));
  PetscCall(KSPSetDM(*ksp, da));
  PetscCall(TestKSPSetDMInactive(*ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, kind->ksp));
  PetscCall(KSPGetPC(*ksp, &pc));
  if (kind->pc) PetscCall(PCSetType(pc, kind->pc));
  PetscCall(KSPSetTolerances(*ksp, 100 * PETSC_MACHINE_EPSILON, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetFromOptions(*ksp));
  for (const char *o = kind->options; *o; o++) { /* so that they are those of this KSP alone */
    char name[64];

    if (*o != '-') continue;
    (void)sscanf(o, "%63s", name);
    PetscCall(PetscOptionsClearValue(NULL, name));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The KSP is told of the new values, and sets up before it solves. A KSP of PETSc's that is not
   told finds them in its first application, and has no way back from an error there ("Cannot embed
   PCPreSolve() more than twice") */
static PetscErrorCode NewValues(KSP ksp, const TestProblem *p, PetscReal scale, Mat A)
{
  PetscFunctionBegin;
  PetscCall(TestFill(p, A));
  PetscCall(MatScale(A, scale));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solve with vectors of its own: *ierr, and if that is zero the backward error. An error may leave vectors locked */
static PetscErrorCode Solve(KSP ksp, Mat A, PetscErrorCode *ierr, PetscReal *error)
{
  Vec b, x;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(TestRandom(b));
  PetscCall(VecSet(x, -7)); /* what is not written shows */
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  *ierr = KSPSolve(ksp, b, x);
  PetscCall(PetscPopErrorHandler());
  *error = -1;
  if (!*ierr) PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, error));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solved(KSP ksp, Mat A, const char what[])
{
  PetscErrorCode ierr;
  PetscReal error;

  PetscFunctionBegin;
  PetscCall(Solve(ksp, A, &ierr, &error));
  Check(!ierr && error >= 0 && error <= TestBackwardBound(), "%s: error %d, backward error %g", what, (int)ierr,
        (double)error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Not solved, and then not solved again */
static PetscErrorCode Refused(KSP ksp, Mat A, const char what[])
{
  PetscErrorCode ierr;
  PetscReal error;
  PC pc;
  Vec b, x;

  PetscFunctionBegin;
  for (int k = 0; k < 3; k++) {
    PetscCall(Solve(ksp, A, &ierr, &error));
    Check((int)ierr, "%s: solve %d has no error, backward error %g", what, k, (double)error);
  }
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(TestRandom(b));
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = PCApply(pc, b, x);
  PetscCall(PetscPopErrorHandler());
  Check((int)ierr, "%s: PCApply() has no error", what);
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* FAULTS: a refused matrix after one that was solved; the next one is right */
static PetscErrorCode RefusedMatrix(const Kind *kind)
{
  TestProblem p = Square(), bad = p;
  DM da;
  Mat A;
  KSP ksp;

  PetscFunctionBegin;
  bad.a[0] = NAN;
  PetscCall(TestMatrix(&p, &da, &A));
  PetscCall(NewKSP(kind, da, A, &ksp));
  for (int round = 0; round < 2; round++) {
    p.shift = round;
    PetscCall(NewValues(ksp, &p, 1, A));
    PetscCall(Solved(ksp, A, kind->ksp));
    PetscCall(NewValues(ksp, &bad, 1, A));
    PetscCall(Refused(ksp, A, kind->ksp));
  }
  PetscCall(NewValues(ksp, &p, 2, A));
  PetscCall(Solved(ksp, A, kind->ksp));
  PetscCall(KSPDestroy(&ksp));

  /* the same where the KSP is not told */
  PetscCall(NewKSP(kind, da, A, &ksp));
  PetscCall(Solved(ksp, A, kind->ksp));
  PetscCall(TestFill(&bad, A));
  PetscCall(Refused(ksp, A, kind->ksp));
  PetscCall(TestDestroy(&ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* FAULTS: a plan that cannot be made for new values, which then change by a factor only: what an
   update keeps the plan for */
static PetscErrorCode FailedPlan(void)
{
  const Kind radix = {"preonly", PCBCRPOISSON, "-pc_bcrpoisson_radix 8"};
  TestProblem p = Square(), bad = p;
  DM da;
  Mat A;
  KSP ksp;

  PetscFunctionBegin;
  bad.k = AlongY;
  PetscCall(TestMatrix(&p, &da, &A));
  PetscCall(NewKSP(&radix, da, A, &ksp));
  PetscCall(Solved(ksp, A, "radix 8, uniform"));
  PetscCall(NewValues(ksp, &bad, 1, A));
  PetscCall(Refused(ksp, A, "radix 8, varying along y"));
  PetscCall(NewValues(ksp, &bad, 2, A));
  PetscCall(Refused(ksp, A, "radix 8, varying along y, twice the values"));
  PetscCall(NewValues(ksp, &p, 3, A));
  PetscCall(Solved(ksp, A, "radix 8, uniform again"));
  PetscCall(TestDestroy(&ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first set-up is the one that fails; an option mends it, or another matrix */
static PetscErrorCode FailedFirst(void)
{
  const Kind radix = {"preonly", PCBCRPOISSON, "-pc_bcrpoisson_radix 8"};
  TestProblem p = Square(), other = p;
  DM da;
  Mat A, B;
  KSP ksp;
  PC pc;

  PetscFunctionBegin;
  p.k = AlongY;
  PetscCall(TestMatrix(&p, &da, &A));
  PetscCall(MatDuplicate(A, MAT_DO_NOT_COPY_VALUES, &B));
  PetscCall(TestFill(&other, B));
  for (int how = 0; how < 2; how++) {
    PetscCall(NewKSP(&radix, da, A, &ksp));
    PetscCall(Refused(ksp, A, "radix 8 from the beginning"));
    if (how) PetscCall(KSPSetOperators(ksp, B, B));
    else {
      PetscCall(KSPGetPC(ksp, &pc));
      PetscCall(PCBCRPoissonSetRadix(pc, PCBCRPOISSON_RADIX_AUTO));
    }
    PetscCall(Solved(ksp, how ? B : A, "mended"));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(TestDestroy(&B, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bytes that malloc() has given out, but for those of the list of blocks */
static double Used(void)
{
#if defined(HAVE_MALLINFO2)
  return (double)mallinfo2().uordblks - (double)TestFaults.room * (double)sizeof(TestBlock);
#else
  return 0;
#endif
}

/* One life of an object */
static PetscErrorCode Cycle(const Kind *kind, const TestProblem *problem)
{
  TestProblem p = *problem, bad = p;
  DM da;
  Mat A;
  KSP ksp;

  PetscFunctionBegin;
  bad.a[0] = bad.a[1] = bad.a[2] = NAN;
  PetscCall(TestMatrix(&p, &da, &A));
  PetscCall(NewKSP(kind, da, A, &ksp));
  PetscCall(Solved(ksp, A, "cycle, first"));
  PetscCall(NewValues(ksp, &p, 2, A));
  PetscCall(Solved(ksp, A, "cycle, twice the values"));
  p.shift += 1;
  PetscCall(NewValues(ksp, &p, 1, A));
  PetscCall(Solved(ksp, A, "cycle, another shift"));
  PetscCall(NewValues(ksp, &bad, 1, A));
  PetscCall(Refused(ksp, A, "cycle, NaN"));
  PetscCall(NewValues(ksp, &p, 3, A));
  PetscCall(Solved(ksp, A, "cycle, last"));
  PetscCall(TestDestroy(&ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Cycles(PetscInt cycles)
{
  const struct {
    Kind kind;
    TestProblem p;
  } lives[] = {
    {{"preonly", PCBCRPOISSON, ""},
     {.dim = 2, .n = {20, 18}, .dof = 1, .ends = "rddn", .a = {1, 1.5}, .scale = 1, .row = 2}                                                     },
    {{"preonly", PCBCRPOISSON, "-pc_bcrpoisson_precision mixed"},
     {.dim = 3, .n = {6, 5, 4}, .dof = 2, .ends = "dddddd", .a = {1, 1.5, 1}, .scale = 1}                                                         },
    {{"preonly", PCBCRPOISSON, "-pc_bcrpoisson_radix 4"},
     {.dim = 2, .n = {9, 17}, .dof = 1, .ends = "dddd", .a = {1, 1.5}, .scale = 1}                                                                },
    {{"cg", PCBCRPOISSON, ""},
     {.dim = 2, .n = {20, 18}, .dof = 1, .ends = "dddd", .a = {1, 1.5}, .scale = 1, .k = AlongBoth}                                               },
    {{"preonly", PCNEATO, ""},                                    {.dim = 1, .n = {40}, .dof = 1, .ends = "dd", .a = {1}, .shift = .1, .scale = 1}},
    {{"preonly", PCNEATO, "-pc_neato_method dc"},
     {.dim = 1, .n = {40}, .dof = 1, .ends = "dd", .a = {1}, .shift = .1, .scale = 1}                                                             },
  };

  PetscFunctionBegin;
  /* tables of newer PETScs grow for some hundred objects */
  for (PetscInt c = 0; c < 2 * cycles; c++) PetscCall(Cycle(&lives[0].kind, &lives[0].p));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(lives); k++) {
    long blocks = 0;
    /* at four moments; what is lost in each cycle is lost between any two, a table of PETSc's grows
       now and then */
    double bytes[4] = {0}, grown = HUGE_VAL;

    for (PetscInt c = 0; c < cycles; c++) {
      PetscCall(Cycle(&lives[k].kind, &lives[k].p));
      if (c == cycles / 10) { /* what is made once has been made */
        blocks = TestFaultsBlocks(NULL);
        TestFaultsMark();
      }
      for (int m = 0; m < 4; m++)
        if (c == cycles / 10 + m * (cycles - 1 - cycles / 10) / 3) bytes[m] = Used();
    }
    for (int m = 0; m < 3; m++) grown = PetscMin(grown, bytes[m + 1] - bytes[m]);
    Check(TestFaultsBlocks(NULL) == 0, "%s %s: after %d cycles %ld blocks more than the %ld after a tenth of them",
          lives[k].kind.pc, lives[k].kind.options, (int)cycles, TestFaultsBlocks("cycle"), blocks);
    Check(grown <= GROWTH,
          "%s %s: at least %g bytes of malloc() more in each third of the last nine tenths of %d cycles",
          lives[k].kind.pc, lives[k].kind.options, grown, (int)cycles);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt cycles = 200;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cycles", &cycles, NULL));
  TestFaultsBegin();
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(kinds); k++) PetscCall(RefusedMatrix(&kinds[k]));
  PetscCall(FailedPlan());
  PetscCall(FailedFirst());
  PetscCall(Cycles(cycles));
  {
    const int failed = TestEnd();

    PetscCall(PetscFinalize());
    return failed;
  }
}
