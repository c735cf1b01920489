/*
  What an application of PCBCRPOISSON and PCNEATO to vectors on a CUDA device asks of CUDA, by
  counting calls (cudacalls.h): from the first application on nothing is allocated or freed, the
  host does not wait, nothing is copied between host and device; with graphs an application is one
  launch. Where rows differ the host waits once for each solve of the box, and a few times more,
  for few numbers. Vectors have to be on the device: -dm_vec_type cuda -dm_mat_type aijcusparse.
  Nothing is tested where there is no device.
*/
#define _GNU_SOURCE
#include "testing.h"
#include "src/poisson/solver.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include <petscdevice.h>
  #include "cudacalls.h"
  #include "../obstacles.h"

static const TestProblem problems[] = {
  {.dim = 2,    .n = {200, 131, 1}, .dof = 1, .ends = "dddd",             .a = {1, 1},       .scale = 1                          },
  {.dim = 2,    .n = {129, 97, 1},  .dof = 1, .ends = "rrrr",             .a = {3, 1},       .scale = -2,                          .row = 4},
  {.dim = 2,           .n = {96, 80, 1},                      .dof = 2,    .ends = "ncpp", .a = {1, 2}, .shift = 0.5,                          .scale = 1},
 /* singular */
  {.dim = 2, .n = {90, 70, 1},                   .dof = 1,                    .ends = "cccc",                              .a = {1, 1},                     .scale = 3},
  {.dim = 3, .n = {34, 40, 37},                   .dof = 1,                    .ends = "dddddd",                             .a = {1, 2, 3},.scale = 1  },
  {.dim = 3, .n = {127, 127, 10},                   .dof = 1,                    .ends = "dddddd",                           .a = {1, 2, 3},                   .scale = 1                 },
};

static const char *const options[] = {"-pc_type bcrpoisson",
                                      "-pc_type bcrpoisson -pc_bcrpoisson_precision single",
                                      "-pc_type bcrpoisson -pc_bcrpoisson_precision mixed",
                                      "-pc_type bcrpoisson -pc_bcrpoisson_radix 4",
                                      "-pc_type bcrpoisson -pc_bcrpoisson_graph off",
                                      "-pc_type neato"};

/* calls since the last time: nothing that must not be in an application; *launched: kernels and graphs */
static void Counted(const char what[], PetscInt problem, const char option[])
{
  for (int k = 0; k < KERNELS; ++k)
    Check(calls[k] == 0, "problem %d, %s, %s: %d %s", (int)problem, option, what, calls[k], kinds[k]);
  Check(calls[KERNELS] + calls[GRAPHS] > 0, "problem %d, %s, %s: nothing was launched", (int)problem, option, what);
}

static PetscErrorCode Applications(void)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(problems); ++i) {
    for (PetscInt o = 0; o < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(options); ++o) {
      TestProblem p = problems[i];
      DM da;
      Mat A;
      KSP ksp;
      PC pc;
      Vec x, y;
      const PetscScalar *v;
      PetscMemType mem;
      const PetscInt again = 8;
      PetscBool graph;

      if (strstr(options[o], "neato") && (p.dof > 1 || strchr(p.ends, 'r'))) continue;
      PetscCall(PetscOptionsInsertString(
        NULL, "-pc_bcrpoisson_radix auto -pc_bcrpoisson_precision double -pc_bcrpoisson_graph on"));
      PetscCall(PetscOptionsInsertString(NULL, options[o]));
      PetscCall(TestMatrix(&p, &da, &A));
      PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
      PetscCall(KSPSetOperators(ksp, A, A));
      PetscCall(KSPSetDM(ksp, da));
      PetscCall(TestKSPSetDMInactive(ksp));
      PetscCall(KSPSetType(ksp, KSPPREONLY));
      PetscCall(KSPSetFromOptions(ksp));
      PetscCall(KSPGetPC(ksp, &pc));
      PetscCall(DMCreateGlobalVector(da, &x));
      PetscCall(VecDuplicate(x, &y));
      PetscCall(TestRandom(x));
      PetscCall(VecScale(x, 2)); /* it is on the device now */
      PetscCall(VecSet(y, 1));
      PetscCall(KSPSetUp(ksp));
      PetscCall(VecGetArrayReadAndMemType(y, &v, &mem));
      PetscCall(VecRestoreArrayReadAndMemType(y, &v));
      if (PetscMemTypeCUDA(mem)) {
        PetscCall(PetscMemzero(calls, sizeof(calls)));
        PetscCall(PCApply(pc, x, y));
        Counted("the first application", i, options[o]);
        PetscCall(PCApply(pc, x, y)); /* captures */
        PetscCall(PCApply(pc, x, y));
        Counted("the first three applications", i, options[o]);
        graph = (PetscBool)(calls[CAPTURES] > 0);
        PetscCall(PetscMemzero(calls, sizeof(calls)));
        for (PetscInt a = 0; a < again; ++a) PetscCall(PCApply(pc, x, y));
        Counted("later applications", i, options[o]);
        Check(calls[CAPTURES] == 0, "problem %d, %s: %d captures later on", (int)i, options[o], calls[CAPTURES]);
        if (!strstr(options[o], "neato"))
          Check(graph == (PetscBool)!strstr(options[o], "graph off"), "problem %d, %s: %s", (int)i, options[o],
                graph ? "captured" : "never captured");
        if (graph)
          Check(calls[GRAPHS] == again && calls[KERNELS] == 0,
                "problem %d, %s: %d graphs and %d kernels in %d applications", (int)i, options[o], calls[GRAPHS],
                calls[KERNELS], (int)again);
        if (i == 0)
          printf("# %s: %d applications: %d graphs, %d kernels, 0 allocations, waits, copies\n", options[o], (int)again,
                 calls[GRAPHS], calls[KERNELS]);
        PetscCall(KSPSolve(ksp, x, y));
        PetscCall(PetscMemzero(calls, sizeof(calls)));
        for (PetscInt a = 0; a < again; ++a) PetscCall(KSPSolve(ksp, x, y));
        Counted("KSPSolve()", i, options[o]);
      }
      PetscCall(TestDestroy(&x, &y, &ksp, &A, &da));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows that differ: the second of these rows is large, so that an application is refined by the residual of the matrix */
static PetscErrorCode RowsThatDiffer(void)
{
  const Case cases[] = {
    {2, 127, NEUMANN_MASK, DISC, 1,    PETSC_TRUE,  0},
    {2, 127, ZEROED,       DISC, 1e14, PETSC_FALSE, 0},
    {2, 127, PINNED,       DISC, 1,    PETSC_TRUE,  0}
  };
  const PetscInt more = 12; /* waits of an application, beside those of steps */

  PetscFunctionBegin;
  for (PetscInt i = 0; i < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(cases); ++i) {
    const Case *c = &cases[i];
    PetscInt rows, solves;
    PetscReal error = 0;
    Vec x, y;
    DM da;
    Mat A;
    PC pc;

    PetscCall(Grid(c, PETSC_TRUE, &da, &A, &y, &x));
    PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
    PetscCall(PCSetOperators(pc, A, A));
    PetscCall(PCSetType(pc, PCBCRPOISSON));
    PetscCall(TestRandom(y));
    PetscCall(MatMult(A, y, x)); /* on the device, and in the matrix' range */
    PetscCall(PCSetUp(pc));
    for (int a = 0; a < 3; ++a) {
      PetscCall(PetscMemzero(calls, sizeof(calls)));
      copied = 0;
      PetscCall(PCApply(pc, x, y));
      PetscCall(PCBCRPoissonGetCapacitanceSolves(pc, &rows, &solves));
      Check(rows > 0 && solves > 0, "case %d: no rows differ", (int)i);
      Check(copied <= 64 * sizeof(PetscScalar) + 2048, "case %d, application %d: %zu bytes copied with the host",
            (int)i, a, copied);
      if (i != 1)
        Check(calls[WAITS] <= solves + more && calls[HOST_COPIES] <= solves + more,
              "case %d, application %d: %d waits, %d copies in %d solves of the box", (int)i, a, calls[WAITS],
              calls[HOST_COPIES], (int)solves);
      if (a) Check(calls[ALLOCATIONS] == 0, "case %d, application %d: %d allocations", (int)i, a, calls[ALLOCATIONS]);
      printf("# %d rows differ: %d solves of the box, %d waits, %d copies, of %zu bytes at most\n", (int)rows,
             (int)solves, calls[WAITS], calls[HOST_COPIES], copied);
    }
    PetscCall(TestBackwardError(A, PETSC_FALSE, x, y, &error));
    Check(error <= 1e-13, "case %d: backward error %g", (int)i, (double)error);
    PetscCall(TestDestroy(&x, &y, &pc, &A, &da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
#if defined(PETSCBCR_HAVE_CUDA)
  if (BCRSolverHaveDevice(NULL)) {
    PetscCall(Applications());
    PetscCall(RowsThatDiffer());
  }
#endif
  PetscCall(PetscFinalize());
  return TestEnd();
}
