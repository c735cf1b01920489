/*
  Poisson on one CUDA device: times of the core (median over repeats, an event pair each) beside a
  copy of the vector on the device in the same run, backward errors, time of set-up.

  bench_cuda_poisson [-n 511,511 (more than once as -cases 511x511,127x127x127)] [-reps 21] [-single] [-plain]
                     [-ends dnp] (of each axis: Dirichlet, node- or (c) cell-centred Neumann,
                     periodic, (m) Dirichlet and node-centred Neumann; one is d or m) [-graph] (the
                     solve as one CUDA graph) [-radix 4 | -schedule 8,16,32] [-launch 256,0,64]
                     (BCRCoreOptions) [-recursive]
*/
#include <petscsys.h>
#if defined(PETSCBCR_HAVE_CUDA)
  #include <petsctime.h>
  #include "cuda_bench.h"
  #include "src/backend/cuda/fields.h"
  #include "src/backend/cuda/refine.h"

typedef struct {
  BCRDeviceCore core;
  BCRStream stream;
  void *f, *u;
  size_t bytes;
  PetscBool graph;
  BCRDeviceGraphs graphs;
} Run;

static PetscErrorCode launch(void *context, BCRStream stream)
{
  Run *r = (Run *)context;

  return BCRDeviceCoreSolve(r->core, stream, r->f, r->u);
}

static int run_solve(void *context)
{
  Run *r = (Run *)context;

  if (r->graph) return BCRDeviceGraphsRun(&r->graphs, r->stream, &r->f, sizeof(r->f), launch, r) ? 999 : 0;
  return launch(r, r->stream) ? 999 : 0;
}

static int run_copy(void *context)
{
  Run *r = (Run *)context;

  return BCRCudaCopy(r->u, r->f, r->bytes, r->stream);
}

/* |f - K u| / (|K| |u| + |f|), 2-norms, f and u brought to double */
static PetscErrorCode BackwardError(Run *r, PetscInt dim, const PetscInt n[3], const char ends[], PetscBool single,
                                    double *error)
{
  const size_t N = (size_t)n[0] * n[1] * n[2];
  double *f, *u, *parts, *row[9], h[256], sum[3] = {0, 0, 0}, norm = 0;
  const double *low[3], *diag[3], *up[3];
  float *res;
  int m[3] = {(int)n[0], (int)n[1], (int)n[2]};
  ptrdiff_t s[3] = {1, n[0], (ptrdiff_t)n[0] * n[1]};
  BCRCudaBox box;
  BCRCudaRefineRhs rhs;
  BCRDeviceArena arena = {0};

  PetscFunctionBeginUser;
  for (int d = 0; d < 3; d++) {
    box.n[d] = m[d];
    box.stride[d] = s[d];
  }
  PetscCall(BCRDeviceArenaGet(&arena, N * sizeof(float), "residual", &res));
  f = (double *)r->f;
  u = (double *)r->u;
  if (single) {
    PetscCall(BCRDeviceArenaGet(&arena, N * sizeof(double), "f", &f));
    PetscCall(BCRDeviceArenaGet(&arena, N * sizeof(double), "u", &u));
    PetscCallBCRCuda(BCRCudaScaleCopy(r->stream, m, 1, r->f, s, 0, f, s, NULL, NULL));
    PetscCallBCRCuda(BCRCudaScaleCopy(r->stream, m, 1, r->u, s, 0, u, s, NULL, NULL));
  }
  PetscCall(BCRDeviceArenaGet(&arena, 256 * sizeof(double), "parts", &parts));
  for (int d = 0; d < 3; d++) {
    double *v;

    PetscCall(PetscMalloc1(3 * n[d], &v));
    for (PetscInt i = 0; i < n[d]; i++) {
      const PetscBool end = i == 0 || i == n[d] - 1 ? PETSC_TRUE : PETSC_FALSE;

      v[i] = d < dim && (i > 0 || ends[d] == 'p') ? ((ends[d] == 'n' || ends[d] == 'm') && i == n[d] - 1 ? 2 : 1) : 0;
      v[n[d] + i] = d < dim ? (ends[d] == 'c' && end ? 1 : 2) : 0;
      v[2 * n[d] + i] = d < dim && (i < n[d] - 1 || ends[d] == 'p') ? (ends[d] == 'n' && i == 0 ? 2 : 1) : 0;
    }
    norm += d < dim ? 4 : 0;
    PetscCall(BCRDeviceArenaPut(&arena, r->stream, PETSC_FALSE, 3 * n[d], v, &row[d]));
    low[d] = row[d];
    diag[d] = row[d] + n[d];
    up[d] = row[d] + 2 * n[d];
    PetscCall(PetscFree(v));
  }
  h[0] = 1;
  h[1] = 0;
  PetscCallBCRCuda(BCRCudaPut(parts, h, 2 * sizeof(double), r->stream));
  PetscCall(PetscMemzero(&rhs, sizeof(rhs)));
  rhs.box = box;
  rhs.f = f;
  PetscCallBCRCuda(BCRCudaResidual(r->stream, &rhs, &box, u, res, s, low, diag, up, 0, parts));
  PetscCallBCRCuda(BCRCudaSumSquares(r->stream, &box, 1, res, 64, parts + 64));
  PetscCallBCRCuda(BCRCudaSumSquares(r->stream, &box, 0, u, 64, parts + 128));
  PetscCallBCRCuda(BCRCudaSumSquares(r->stream, &box, 0, f, 64, parts + 192));
  PetscCallBCRCuda(BCRCudaGet(h, parts, sizeof(h), r->stream));
  for (int q = 0; q < 3; q++)
    for (int i = 0; i < 64; i++) sum[q] += h[64 * (q + 1) + i];
  *error = sqrt(sum[0]) / (norm * sqrt(sum[1]) + sqrt(sum[2]));
  PetscCall(BCRDeviceArenaFree(&arena));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char ends[4] = "ddd";
  char text[1024] = "511x511,1023x1023,2047x2047,4095x4095,8191x8191", *s = text, name[64], solver[64];
  PetscInt reps = 21;
  PetscBool single = PETSC_FALSE, plain = PETSC_FALSE, header = PETSC_TRUE, graph = PETSC_FALSE,
            recursive = PETSC_FALSE;
  PetscInt radix = 0, nschedule = BCR_MAX_LEVELS, schedule[BCR_MAX_LEVELS], nlaunch = BCR_LAUNCH,
           launches[BCR_LAUNCH] = {0};
  int major, minor, sms, shared;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, "Poisson on one CUDA device"));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-cases", text, sizeof(text), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-ends", ends, sizeof(ends), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-reps", &reps, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-single", &single, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-plain", &plain, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-header", &header, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-graph", &graph, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-recursive", &recursive, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-radix", &radix, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-schedule", schedule, &nschedule, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-launch", launches, &nlaunch, NULL));
  if (nschedule == BCR_MAX_LEVELS) nschedule = 0;
  PetscCallBCRCuda(BCRCudaDeviceName(name, sizeof(name), &major, &minor, &sms, &shared));
  if (header) {
    printf("# %s, sm_%d%d, PETSc %d.%d.%d\n", name, major, minor, PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR,
           PETSC_VERSION_SUBMINOR);
    printf("program,case,dims,n,axis,precision,solver,ranks,time_ms,copy_ms,ratio_to_copy,setup_ms,residual,plan\n");
  }
  while (*s) {
    PetscInt n[3] = {1, 1, 1}, dim = 0, stride[3];
    size_t N = 1;
    BCRAxis axis[3];
    BCRCoreOptions options;
    BCRCoreInfo info;
    Run r;
    double solve, copy, error = 0;
    PetscLogDouble t0, t1;

    while (dim < 3) {
      n[dim++] = (PetscInt)strtol(s, &s, 10);
      if (*s != 'x') break;
      s++;
    }
    if (*s == ',') s++;
    PetscCall(PetscMemzero(axis, sizeof(axis)));
    PetscCall(PetscMemzero(&options, sizeof(options)));
    PetscCall(PetscMemzero(&r, sizeof(r)));
    for (PetscInt d = 0; d < 3; d++) {
      stride[d] = (PetscInt)N;
      axis[d].n = n[d];
      axis[d].a = d < dim ? 1 : 0;
      for (int e = 0; e < 2; e++)
        axis[d].end[e] =
          ends[d] == 'n' || (ends[d] == 'm' && e)
            ? BCR_END_NEUMANN
            : (ends[d] == 'c' ? BCR_END_CELL_NEUMANN : (ends[d] == 'p' ? BCR_END_PERIODIC : BCR_END_DIRICHLET));
      N *= (size_t)n[d];
    }
    options.precision = single ? BCR_SINGLE : BCR_DOUBLE;
    options.plain = plain;
    options.radix = radix;
    options.nlevels = nschedule;
    options.recursive = recursive;
    for (PetscInt i = 0; i < nschedule; i++) options.schedule[i] = schedule[i];
    for (PetscInt i = 0; i < BCR_LAUNCH; i++) options.launch[i] = (int)launches[i];
    r.graph = graph;
    r.bytes = N * (single ? sizeof(float) : sizeof(double));
    PetscCallBCRCuda(BCRCudaMalloc(r.bytes, &r.u));
    PetscCallBCRCuda(BCRCudaMalloc(N * sizeof(double), &r.f));
    PetscCallBCRCuda(BCRCudaTrial(r.stream, (long)N, 1, (double *)r.f));
    if (single) {
      void *g;
      int m[3] = {(int)n[0], (int)n[1], (int)n[2]};
      ptrdiff_t st[3] = {1, n[0], (ptrdiff_t)n[0] * n[1]};

      PetscCallBCRCuda(BCRCudaMalloc(r.bytes, &g));
      PetscCallBCRCuda(BCRCudaScaleCopy(r.stream, m, 0, r.f, st, 1, g, st, NULL, NULL));
      PetscCallBCRCuda(BCRCudaFree(r.f));
      r.f = g;
    }
    for (int again = 0; again < 2; again++) { /* the first one loads kernels */
      PetscCallBCRCuda(BCRCudaSynchronize(r.stream));
      PetscCall(PetscTime(&t0));
      PetscCall(BCRDeviceCoreCreate(dim, axis, 0, PETSC_FALSE, stride, &options, r.stream, &r.core));
      PetscCall(BCRDeviceCoreSetUp(r.core));
      PetscCallBCRCuda(BCRCudaSynchronize(r.stream));
      PetscCall(PetscTime(&t1));
      if (!again) {
        PetscCall(BCRDeviceCoreSolve(r.core, r.stream, r.f, r.u));
        PetscCallBCRCuda(BCRCudaSynchronize(r.stream));
        PetscCall(BCRDeviceCoreDestroy(&r.core));
      }
    }
    PetscCall(BenchDeviceMedian(r.stream, run_copy, &r, reps, reps, &copy));
    PetscCall(BenchDeviceMedian(r.stream, run_solve, &r, 3, reps, &solve));
    PetscCall(BackwardError(&r, dim, n, ends, single, &error));
    PetscCall(BCRDeviceCoreGetInfo(r.core, &info));
    PetscCall(PetscStrncpy(solver, graph ? "bcr-graph" : "bcr", sizeof(solver)));
    if (radix || nschedule)
      PetscCall(PetscSNPrintf(solver, sizeof(solver), "%s%d%s", radix ? "radix" : "schedule",
                              (int)(radix ? radix : schedule[0]), recursive && dim == 3 ? "-recursive" : ""));
    printf("cuda_poisson,poisson%dd%s%s,%dx%dx%d,%d,-,%s,%s,1,%.4f,%.4f,%.2f,%.2f,%.1e,\"%s\"\n", (int)dim,
           strcmp(ends, "ddd") ? "-" : "", strcmp(ends, "ddd") ? ends : "", (int)n[0], (int)n[1], (int)n[2], (int)n[0],
           single ? "single" : "double", solver, solve, copy, solve / copy, 1e3 * (t1 - t0), error, info.plan);
    fflush(stdout);
    PetscCall(BCRDeviceGraphsDestroy(&r.graphs));
    PetscCall(BCRDeviceCoreDestroy(&r.core));
    PetscCallBCRCuda(BCRCudaFree(r.f));
    PetscCallBCRCuda(BCRCudaFree(r.u));
  }
  PetscCall(PetscFinalize());
  return 0;
}
#else
int main(void)
{
  return 0;
}
#endif
