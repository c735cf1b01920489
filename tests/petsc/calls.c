/*
  What an application of PCBCRPOISSON and PCNEATO to vectors on a CUDA device asks of CUDA, by counting calls: the functions below stand in front of those
  of the CUDA runtime, for the library and for PETSc. From the first application on nothing is allocated or freed, the host does not wait, nothing is
  copied between host and device; with graphs an application is one launch. Vectors have to be on the device: -dm_vec_type cuda
  -dm_mat_type aijcusparse. Nothing is tested where there is no device.
*/
#define _GNU_SOURCE
#include "testing.h"
#include "src/poisson/solver.h"
#include <dlfcn.h>
#if defined(PETSCBCR_HAVE_CUDA)
  #include <petscdevice.h>

enum {
  ALLOCATIONS,
  WAITS,
  HOST_COPIES,
  KERNELS,
  GRAPHS,
  CAPTURES,
  KINDS
};
static const char *const kinds[] = {"allocations", "waits", "copies with the host", "kernels", "graphs", "captures"};
static int               calls[KINDS];

typedef struct {
  unsigned x, y, z;
} Three;

  /* name, of which none but its number of calls matters, then does what it does; kind -1: not counted */
  #define IN_FRONT(kind, name, parameters, ...) \
    __attribute__((visibility("default"))) int name parameters; \
    int name                                        parameters \
    { \
      static int(*next) parameters; \
      const int k = (kind); \
\
      if (!next) *(void **)&next = dlsym(RTLD_NEXT, #name); \
      if (k >= 0) calls[k]++; \
      return next(__VA_ARGS__); \
    }

IN_FRONT(ALLOCATIONS, cudaMalloc, (void **p, size_t n), p, n)
IN_FRONT(ALLOCATIONS, cudaMallocAsync, (void **p, size_t n, void *s), p, n, s)
IN_FRONT(ALLOCATIONS, cudaMallocHost, (void **p, size_t n), p, n)
IN_FRONT(ALLOCATIONS, cudaFree, (void *p), p)
IN_FRONT(ALLOCATIONS, cudaFreeAsync, (void *p, void *s), p, s)
IN_FRONT(ALLOCATIONS, cudaFreeHost, (void *p), p)
IN_FRONT(WAITS, cudaDeviceSynchronize, (void), )
IN_FRONT(WAITS, cudaStreamSynchronize, (void *s), s)
IN_FRONT(WAITS, cudaEventSynchronize, (void *e), e)
/* kind 3: on the device */
IN_FRONT(kind == 3 ? -1 : HOST_COPIES, cudaMemcpy, (void *to, const void *from, size_t n, int kind), to, from, n, kind)
IN_FRONT(kind == 3 ? -1 : HOST_COPIES, cudaMemcpyAsync, (void *to, const void *from, size_t n, int kind, void *s), to, from, n, kind, s)
IN_FRONT(kind == 3 ? -1 : HOST_COPIES, cudaMemcpy2D, (void *to, size_t p, const void *from, size_t q, size_t w, size_t h, int kind), to, p, from, q, w, h, kind)
IN_FRONT(kind == 3 ? -1 : HOST_COPIES, cudaMemcpy2DAsync, (void *to, size_t p, const void *from, size_t q, size_t w, size_t h, int kind, void *s), to, p, from, q, w, h, kind, s)
IN_FRONT(KERNELS, cudaLaunchKernel, (const void *f, Three g, Three b, void **a, size_t m, void *s), f, g, b, a, m, s)
IN_FRONT(KERNELS, __cudaLaunchKernel, (const void *f, Three g, Three b, void **a, size_t m, void *s), f, g, b, a, m, s)
IN_FRONT(KERNELS, cudaLaunchKernelExC, (const void *c, const void *f, void **a), c, f, a)
IN_FRONT(GRAPHS, cudaGraphLaunch, (void *e, void *s), e, s)
IN_FRONT(CAPTURES, cudaStreamBeginCapture, (void *s, int mode), s, mode)

static const TestProblem problems[] = {
  {.dim = 2,    .n = {200, 131, 1}, .dof = 1, .ends = "dddd",             .a = {1, 1},       .scale = 1                          },
  {.dim = 2,    .n = {129, 97, 1},  .dof = 1, .ends = "rrrr",             .a = {3, 1},       .scale = -2,                          .row = 4},
  {.dim = 2,           .n = {96, 80, 1},                      .dof = 2,    .ends = "ncpp", .a = {1, 2}, .shift = 0.5,                          .scale = 1},
  {.dim = 2, .n = {90, 70, 1},                   .dof = 1,                    .ends = "cccc",                              .a = {1, 1},                     .scale = 3}, /* singular */
  {.dim = 3, .n = {34, 40, 37},                   .dof = 1,                    .ends = "dddddd",                             .a = {1, 2, 3},.scale = 1  },
  {.dim = 3, .n = {127, 127, 10},                   .dof = 1,                    .ends = "dddddd",                           .a = {1, 2, 3},                   .scale = 1                 },
};

static const char *const options[] = {
  "-pc_type bcrpoisson", "-pc_type bcrpoisson -pc_bcrpoisson_precision single", "-pc_type bcrpoisson -pc_bcrpoisson_precision mixed", "-pc_type bcrpoisson -pc_bcrpoisson_radix 4", "-pc_type bcrpoisson -pc_bcrpoisson_graph off", "-pc_type neato"};

/* calls since the last time: nothing that must not be in an application; *launched: kernels and graphs */
static void Counted(const char what[], PetscInt problem, const char option[])
{
  for (int k = 0; k < KERNELS; ++k) Check(calls[k] == 0, "problem %d, %s, %s: %d %s", (int)problem, option, what, calls[k], kinds[k]);
  Check(calls[KERNELS] + calls[GRAPHS] > 0, "problem %d, %s, %s: nothing was launched", (int)problem, option, what);
}

static PetscErrorCode Applications(void)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(problems); ++i) {
    for (PetscInt o = 0; o < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(options); ++o) {
      TestProblem        p = problems[i];
      DM                 da;
      Mat                A;
      KSP                ksp;
      PC                 pc;
      Vec                x, y;
      const PetscScalar *v;
      PetscMemType       mem;
      const PetscInt     again = 8;
      PetscBool          graph;

      if (strstr(options[o], "neato") && (p.dof > 1 || strchr(p.ends, 'r'))) continue;
      PetscCall(PetscOptionsInsertString(NULL, "-pc_bcrpoisson_radix auto -pc_bcrpoisson_precision double -pc_bcrpoisson_graph on"));
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
        if (!strstr(options[o], "neato")) Check(graph == (PetscBool)!strstr(options[o], "graph off"), "problem %d, %s: %s", (int)i, options[o], graph ? "captured" : "never captured");
        if (graph) Check(calls[GRAPHS] == again && calls[KERNELS] == 0, "problem %d, %s: %d graphs and %d kernels in %d applications", (int)i, options[o], calls[GRAPHS], calls[KERNELS], (int)again);
        if (i == 0) printf("# %s: %d applications: %d graphs, %d kernels, 0 allocations, waits, copies\n", options[o], (int)again, calls[GRAPHS], calls[KERNELS]);
        PetscCall(KSPSolve(ksp, x, y));
        PetscCall(PetscMemzero(calls, sizeof(calls)));
        for (PetscInt a = 0; a < again; ++a) PetscCall(KSPSolve(ksp, x, y));
        Counted("KSPSolve()", i, options[o]);
      }
      PetscCall(VecDestroy(&x));
      PetscCall(VecDestroy(&y));
      PetscCall(KSPDestroy(&ksp));
      PetscCall(MatDestroy(&A));
      PetscCall(DMDestroy(&da));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
#if defined(PETSCBCR_HAVE_CUDA)
  if (BCRSolverHaveDevice(NULL)) PetscCall(Applications());
#endif
  PetscCall(PetscFinalize());
  return TestEnd();
}
