/*
  PCNEATO and KSPNEATO as PETSc objects on one rank: direct solves in one dimension against LU, line
  preconditioning in Krylov methods and multigrid, options, views, and what they refuse.

  quick: 1
*/
#include "testing.h"
#include <petsc/private/pcimpl.h>

static PetscErrorCode NewKSP(DM da, Mat A, KSPType type, KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_SELF, ksp));
  PetscCall(KSPSetType(*ksp, type));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCNEATO));
  if (da) PetscCall(PCSetDM(pc, da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One dimension: the inverse, its transpose, and refinement to the tolerance of the KSP */
static PetscErrorCode Direct(PetscInt n, const char ends[], PetscReal shift)
{
  TestProblem p = {.dim = 1, .n = {n}, .dof = 1, .ends = ends, .a = {3}, .shift = shift, .scale = -2, .row = 7};
  DM da;
  Mat A;
  Vec b, x, y;
  KSP lu, ksp;
  PC pc;
  PetscReal error = 0, difference;
  PetscInt its;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(TestMatrix(&p, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &y));
  PetscCall(TestRandom(b));
  PetscCall(TestReference(A, &lu));
  for (PetscInt precision = 0; precision < 3; ++precision) {
    PetscCall(NewKSP(NULL, A, KSPNEATO, &ksp));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCNeatoSetPrecision(pc, (PCNeatoPrecision)precision));
    /* a residual in single precision is not smaller than rounding of A x, and x is up to n^2/8 times b */
    PetscCall(KSPSetTolerances(ksp,
                               sizeof(PetscReal) < sizeof(double)
                                 ? PetscMax((PetscReal)1e-5, PETSC_MACHINE_EPSILON * (PetscReal)n * (PetscReal)n)
                                 : (PetscReal)1e-11,
                               PETSC_DEFAULT, PETSC_DEFAULT, 20));
    for (PetscInt t = 0; t < 2; ++t) {
      if (t) {
        PetscCall(KSPSolveTranspose(lu, b, y));
        PetscCall(KSPSolveTranspose(ksp, b, x));
      } else {
        PetscCall(KSPSolve(lu, b, y));
        PetscCall(KSPSolve(ksp, b, x));
      }
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      PetscCall(KSPGetIterationNumber(ksp, &its));
      PetscCall(TestBackwardError(A, (PetscBool)t, b, x, &error));
      PetscCall(TestDifference(x, y, &difference));
      Check(reason > 0, "n %d ends %s transpose %d precision %s: %s", (int)n, ends, (int)t,
            PCNeatoPrecisions[precision], KSPConvergedReasons[reason]);
      Check(its <= (precision == PCNEATO_PRECISION_SINGLE || sizeof(PetscReal) < sizeof(double) ? 5 : 1),
            "n %d ends %s transpose %d precision %s: %d solves", (int)n, ends, (int)t, PCNeatoPrecisions[precision],
            (int)its);
      Check(error <= (precision == PCNEATO_PRECISION_SINGLE ? 1e-11 : 0) + TestBackwardBound(),
            "n %d ends %s transpose %d precision %s: backward error %g", (int)n, ends, (int)t,
            PCNeatoPrecisions[precision], (double)error);
      Check(difference <= TestDifferenceBound(), "n %d ends %s transpose %d precision %s: off LU by %g", (int)n, ends,
            (int)t, PCNeatoPrecisions[precision], (double)difference);
    }
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(TestDestroy(&lu, &b, &x, &y, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations of a Krylov method; the solution has to be that of LU */
static PetscErrorCode Iterations(const TestProblem *p, KSPType type, PCType pctype, PetscInt axis, PetscInt *its)
{
  DM da;
  Mat A;
  Vec b, x, y;
  KSP lu, ksp;
  PC pc;
  PetscReal difference;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(TestMatrix(p, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &y));
  PetscCall(TestRandom(b));
  PetscCall(TestReference(A, &lu));
  PetscCall(KSPSolve(lu, b, y));
  PetscCall(NewKSP(da, A, type, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, pctype));
  PetscCall(PCNeatoSetAxis(pc, (PCNeatoAxis)(axis + 1)));
  PetscCall(KSPSetTolerances(ksp, sizeof(PetscReal) < sizeof(double) ? (PetscReal)1e-4 : (PetscReal)1e-10,
                             PETSC_DEFAULT, PETSC_DEFAULT, 2000));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(TestDifference(x, y, &difference));
  Check(reason > 0, "%s with %s: %s", type, pctype, KSPConvergedReasons[reason]);
  Check(difference < (sizeof(PetscReal) < sizeof(double) ? 2e-2 : 1e-6), "%s with %s: off LU by %g", type, pctype,
        (double)difference);
  PetscCall(TestDestroy(&ksp, &lu, &b, &x, &y, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lines along the strong axis take it out of the condition number; the automatic choice is that axis */
static PetscErrorCode Krylov(void)
{
  TestProblem p = {
    .dim = 2, .n = {33, 29  },
         .dof = 1, .ends = "dddn", .a = {1,  1000},
         .scale = 1
  };
  TestProblem q = {
    .dim = 3, .n = {9, 11, 10 },
         .dof = 2, .ends = "ddccpp", .a = {1, 2,  500},
         .scale = 1, .contrast = 0.5
  };
  const KSPType types[] = {KSPCG, KSPGMRES};
  PetscInt its[4];

  PetscFunctionBegin;
  for (PetscInt t = 0; t < 2; ++t) {
    if (t == 0) p.ends = "dddd"; /* symmetric */
    else p.ends = "dddn";
    PetscCall(Iterations(&p, types[t], PCJACOBI, 0, &its[0]));
    PetscCall(Iterations(&p, types[t], PCNEATO, 1, &its[1]));
    PetscCall(Iterations(&p, types[t], PCNEATO, -1, &its[2]));
    PetscCall(Iterations(&p, types[t], PCNEATO, 0, &its[3]));
    Check(3 * its[1] < its[0], "%s: %d iterations with lines along the strong axis, %d with Jacobi", types[t],
          (int)its[1], (int)its[0]);
    Check(its[2] == its[1], "%s: %d iterations along the automatic axis, %d along y", types[t], (int)its[2],
          (int)its[1]);
    Check(its[3] > its[1], "%s: %d iterations with lines along the weak axis, %d along the strong one", types[t],
          (int)its[3], (int)its[1]);
    PetscCall(Iterations(&q, types[t], PCJACOBI, 0, &its[0]));
    PetscCall(Iterations(&q, types[t], PCNEATO, -1, &its[1]));
    Check(its[1] < its[0], "%s in 3-D: %d iterations with lines, %d with Jacobi", types[t], (int)its[1], (int)its[0]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Setters and getters go with the options, under both names */
static PetscErrorCode Options(void)
{
  const char *const list[][2] = {
    {"axis",      "z"      },
    {"method",    "pscheme"},
    {"variant",   "plain"  },
    {"parts",     "17"     },
    {"memory",    "global" },
    {"coupling",  "reduced"},
    {"transport", "host"   },
    {"backend",   "cpu"    },
    {"precision", "mixed"  }
  };
  PCNeatoAxis axis = PCNEATO_AXIS_X;
  PCNeatoMethod method = PCNEATO_METHOD_SCAN;
  PCNeatoVariant variant = PCNEATO_VARIANT_PLAIN;
  PCNeatoMemory memory = PCNEATO_MEMORY_SHARED;
  PCNeatoCoupling coupling = PCNEATO_COUPLING_REDUCED;
  PCNeatoTransport transport = PCNEATO_TRANSPORT_MPI;
  PCNeatoBackend backend = PCNEATO_BACKEND_CPU;
  PCNeatoPrecision precision = PCNEATO_PRECISION_MIXED;
  PetscInt parts = -1;
  KSP ksp;
  PC pc;
  char name[64];

  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetType(pc, PCNEATO));
  PetscCall(PCNeatoGetAxis(pc, &axis));
  PetscCall(PCNeatoGetMethod(pc, &method));
  PetscCall(PCNeatoGetVariant(pc, &variant));
  PetscCall(PCNeatoGetParts(pc, &parts));
  PetscCall(PCNeatoGetMemory(pc, &memory));
  PetscCall(PCNeatoGetCoupling(pc, &coupling));
  PetscCall(PCNeatoGetTransport(pc, &transport));
  PetscCall(PCNeatoGetBackend(pc, &backend));
  PetscCall(PCNeatoGetPrecision(pc, &precision));
  Check(axis == PCNEATO_AXIS_AUTO && method == PCNEATO_METHOD_AUTO && variant == PCNEATO_VARIANT_AUTO && parts == 0 &&
          memory == PCNEATO_MEMORY_AUTO,
        "defaults %d %d %d %d %d", (int)axis, (int)method, (int)variant, (int)parts, (int)memory);
  Check(coupling == PCNEATO_COUPLING_AUTO && transport == PCNEATO_TRANSPORT_AUTO && backend == PCNEATO_BACKEND_AUTO,
        "defaults %d %d %d", (int)coupling, (int)transport, (int)backend);
  Check(precision == (sizeof(PetscReal) < sizeof(double) ? PCNEATO_PRECISION_SINGLE : PCNEATO_PRECISION_DOUBLE),
        "default precision %d", (int)precision);
  PetscCall(PCDestroy(&pc));
  for (PetscInt form = 0; form < 2; ++form) {
    for (size_t o = 0; o < PETSC_STATIC_ARRAY_LENGTH(list); ++o) {
      PetscCall(PetscSNPrintf(name, sizeof(name), "-test%d_%s_neato_%s", (int)form, form ? "ksp" : "pc", list[o][0]));
      PetscCall(PetscOptionsSetValue(NULL, name, list[o][1]));
    }
    PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
    PetscCall(KSPSetOptionsPrefix(ksp, form ? "test1_" : "test0_"));
    if (form) PetscCall(KSPSetType(ksp, KSPNEATO));
    PetscCall(KSPGetPC(ksp, &pc));
    if (!form) PetscCall(PCSetType(pc, PCNEATO));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(PCNeatoGetAxis(pc, &axis));
    PetscCall(PCNeatoGetMethod(pc, &method));
    PetscCall(PCNeatoGetVariant(pc, &variant));
    PetscCall(PCNeatoGetParts(pc, &parts));
    PetscCall(PCNeatoGetMemory(pc, &memory));
    PetscCall(PCNeatoGetCoupling(pc, &coupling));
    PetscCall(PCNeatoGetTransport(pc, &transport));
    PetscCall(PCNeatoGetBackend(pc, &backend));
    PetscCall(PCNeatoGetPrecision(pc, &precision));
    Check(axis == PCNEATO_AXIS_Z && method == PCNEATO_METHOD_PSCHEME && variant == PCNEATO_VARIANT_PLAIN &&
            parts == 17 && memory == PCNEATO_MEMORY_GLOBAL,
          "form %d: %d %d %d %d %d", (int)form, (int)axis, (int)method, (int)variant, (int)parts, (int)memory);
    Check(coupling == PCNEATO_COUPLING_REDUCED && transport == PCNEATO_TRANSPORT_HOST &&
            backend == PCNEATO_BACKEND_CPU && precision == PCNEATO_PRECISION_MIXED,
          "form %d: %d %d %d %d", (int)form, (int)coupling, (int)transport, (int)backend, (int)precision);
    PetscCall(KSPDestroy(&ksp));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Contains(PC pc, const char words[], PetscBool wanted)
{
  PetscViewer viewer;
  FILE *file = tmpfile();
  size_t got;
  char text[8192] = "";

  PetscFunctionBegin;
  PetscCheck(file, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "No temporary file");
  PetscCall(PetscViewerASCIIOpenWithFILE(PETSC_COMM_SELF, file, &viewer));
  PetscCall(PCView(pc, viewer));
  PetscCall(PetscViewerFlush(viewer));
  rewind(file);
  got = fread(text, 1, sizeof(text) - 1, file);
  text[got] = 0;
  PetscCall(PetscViewerDestroy(&viewer));
  (void)fclose(file);
  Check((strstr(text, words) != NULL) == (int)wanted, "%s '%s' in the view:\n%s", wanted ? "no" : "there is", words,
        text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode View(void)
{
  TestProblem p = {
    .dim = 2, .n = {12, 9},
         .dof = 1, .ends = "ddcc", .a = {1,  5},
         .shift = 0.5, .scale = 1
  };
  DM da;
  Mat A;
  PC pc;

  PetscFunctionBegin;
  PetscCall(TestMatrix(&p, &da, &A));
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetType(pc, PCNEATO));
  PetscCall(PCNeatoSetMemory(pc, PCNEATO_MEMORY_GLOBAL));
  PetscCall(Contains(pc, "not set up yet", PETSC_TRUE));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetUp(pc));
  PetscCall(Contains(pc, "12 along y (auto), 9 unknowns each", PETSC_TRUE));
  PetscCall(
    Contains(pc, "coefficients: (-5., 12.5, -5.), the same on the lines of a rank; first 1 different; last 1 different",
             PETSC_TRUE));
  PetscCall(Contains(pc, "memory of a GPU: global", PETSC_TRUE));
  PetscCall(Contains(pc, "left out: couplings across the lines", PETSC_TRUE));
  PetscCall(PCNeatoSetAxis(pc, PCNEATO_AXIS_X));
  PetscCall(PCSetUp(pc));
  PetscCall(Contains(pc, "9 along x, 12 unknowns each", PETSC_TRUE));
  PetscCall(Contains(pc, "different from line to line", PETSC_TRUE));
  if (!PetscDefined(USE_REAL_SINGLE)) { /* lines shorter than a vector of floats, whatever the machine has */
    TestProblem q = {
      .dim = 2, .n = {PetscDefined(USE_COMPLEX) ? 1 : 3, 40},
           .dof = 1, .ends = "dddd", .a = {5,                                 1 },
           .scale = 1
    };
    DM db;
    Mat B;

    PetscCall(TestMatrix(&q, &db, &B));
    PetscCall(PCNeatoSetPrecision(pc, PCNEATO_PRECISION_SINGLE));
    PetscCall(PCNeatoSetBackend(pc, PCNEATO_BACKEND_CPU)); /* that of devices has no such vectors */
    PetscCall(PCReset(pc));
    PetscCall(PCSetOperators(pc, B, B));
    PetscCall(PCSetUp(pc));
    PetscCall(Contains(pc, "in double: lines too short for single", PETSC_TRUE));
    PetscCall(PCNeatoSetAxis(pc, PCNEATO_AXIS_Y));
    PetscCall(PCSetUp(pc));
    PetscCall(Contains(pc, "too short for single", PETSC_FALSE));
    PetscCall(MatDestroy(&B));
    PetscCall(DMDestroy(&db));
  }
  PetscCall(PCReset(pc));
  PetscCall(Contains(pc, "not set up yet", PETSC_TRUE));
  PetscCall(TestDestroy(&pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSC_USE_LOG)
/* One of each for a set-up and a solve */
static PetscErrorCode Events(void)
{
  TestProblem p = {.dim = 1, .n = {50}, .dof = 1, .ends = "dd", .a = {1}, .scale = 1};
  const char *events[] = {"BCRRead", "BCRSetUp", "BCRSolve"};
  DM da;
  Mat A;
  PC pc;
  Vec b, x;
  PetscLogEvent event;
  PetscEventPerfInfo before[3], after[3];

  PetscFunctionBegin;
  PetscCall(TestMatrix(&p, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(TestRandom(b));
  for (PetscInt pass = 0; pass < 2; ++pass) {
    if (pass) {
      PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
      PetscCall(PCSetType(pc, PCNEATO));
      PetscCall(PCSetOperators(pc, A, A));
      PetscCall(PCApply(pc, b, x));
      PetscCall(PCDestroy(&pc));
    }
    for (PetscInt e = 0; e < 3; ++e) {
      PetscCall(PetscLogEventGetId(events[e], &event));
      Check(event >= 0, "no event %s", events[e]);
      PetscCall(PetscLogEventGetPerfInfo(0, event, pass ? &after[e] : &before[e]));
    }
  }
  for (PetscInt e = 0; e < 3; ++e)
    Check(after[e].count == before[e].count + 1, "event %s counted %d times", events[e],
          (int)(after[e].count - before[e].count));
  Check(after[2].flops > before[2].flops, "BCRSolve has no flops");
  PetscCall(TestDestroy(&b, &x, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  const PetscInt sizes[] = {1, 2, 3, 4, 7, 8, 9, 31, 32, 33, 97, 128, 1023};

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
#if defined(PETSC_USE_LOG)
  PetscCall(PetscLogDefaultBegin());
#endif
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); ++s) {
    const PetscInt n = sizes[s];

    PetscCall(Direct(n, "dd", 0));
    PetscCall(Direct(n, "Dd", 0));
    PetscCall(Direct(n, "nd", 0));
    PetscCall(Direct(n, "cc", 0.3));
    PetscCall(Direct(n, "pp", 0.3));
    if (n > 2) PetscCall(Direct(n, "rd", 0));
    if (n > 2) PetscCall(Direct(n, "rr", 0));
    PetscCall(Direct(n, "nn", 0.1));
  }
  PetscCall(Krylov());
  PetscCall(Options());
  PetscCall(View());
#if defined(PETSC_USE_LOG)
  PetscCall(Events());
#endif
  PetscCall(PetscFinalize());
  return TestEnd();
}
