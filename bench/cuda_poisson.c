/*
  Poisson on one CUDA device: times of the core (median over repeats, an event pair each) beside a
  copy of the vector on the device in the same run, backward errors, time of set-up.

  bench_cuda_poisson [-cases 511x511,127x127x127,256x256x256-ppc,256x256x256-ccd-single] [-reps 21] [-single] [-plain]
                     [-ends dnp] (of each axis: Dirichlet, node- or (c) cell-centred Neumann, (e) cell-centred Dirichlet,
                     periodic, (m) Dirichlet and node-centred Neumann, (s) cells stretched towards Dirichlet walls, the
                     largest -ratio <50> of the smallest; (t) such cells, and numbers 1/(i + 1)^2
                     along them that multiply the last of the other axes, whose residual is not taken; of cases that name none) [-shift 0] [-graph]
                     (the solve as one CUDA graph) [-radix 4 | -schedule 8,16,32] [-launch 256,0,64] (BCRCoreOptions)
                     [-recursive] [-spectral] (transforms along all axes and a division, as of box stencils and indefinite operators)
                     [-peers] (rows of the same by cuFFT, where it can, cuda_poisson_kernels.h, and what the faster one takes over the core's time)

  Operators that are singular, of Neumann and periodic ends and without a shift, are solved as such: the residual is
  that of the right-hand side without the mean that the solve has removed.

  Where several axes are stretched a second line, "gemm", has the products with eigenvectors alone, each as one product of
  contiguous matrices by cuBLAS, and says what of their speed the solve has.
*/
#include <petscsys.h>
#if defined(PETSCBCR_HAVE_CUDA)
  #include <petsctime.h>
  #include "cuda_bench.h"
  #include "cuda_poisson_kernels.h"
  #include "src/backend/cuda/fields.h"
  #include "src/backend/cuda/gemm.h"
  #include "src/poisson/plan.h"
  #include "src/backend/cuda/refine.h"

typedef struct {
  BCRDeviceCore core;
  Peer peer; /* NULL: the core */
  BCRStream stream;
  void *f, *u;
  size_t bytes;
  PetscBool graph;
  BCRDeviceGraphs graphs;
} Run;

static PetscErrorCode launch(void *context, BCRStream stream)
{
  Run *r = (Run *)context;

  PetscFunctionBegin;
  if (r->peer) PetscCallBCRCuda(PeerSolve(r->peer, stream, r->f, r->u));
  else PetscCall(BCRDeviceCoreSolve(r->core, stream, r->f, r->u));
  PetscFunctionReturn(PETSC_SUCCESS);
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
static PetscErrorCode BackwardError(Run *r, PetscInt dim, const PetscInt n[3], const BCRAxis axis[], const char ends[],
                                    double shift, PetscBool single, double *error)
{
  const size_t N = (size_t)n[0] * n[1] * n[2];
  double *f, *u, *parts, *row[9], h[256], sum[3] = {0, 0, 0}, norm = 0;
  const double *low[3], *diag[3], *up[3], *removed;
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
    double *v, most = 0;

    PetscCall(PetscMalloc1(3 * n[d], &v));
    for (PetscInt i = 0; i < n[d]; i++) {
      const PetscBool end = i == 0 || i == n[d] - 1 ? PETSC_TRUE : PETSC_FALSE;

      v[i] = d < dim && (i > 0 || ends[d] == 'p') ? ((ends[d] == 'n' || ends[d] == 'm') && i == n[d] - 1 ? 2 : 1) : 0;
      v[n[d] + i] = d < dim ? (end && ends[d] == 'c' ? 1 : (end && ends[d] == 'e' ? 3 : 2)) : 0;
      v[2 * n[d] + i] = d < dim && (i < n[d] - 1 || ends[d] == 'p') ? (ends[d] == 'n' && i == 0 ? 2 : 1) : 0;
    }
    norm += d < dim && !axis[d].lower ? 4 : 0;
    for (PetscInt i = 0; i < n[d] && axis[d].lower; i++) {
      v[i] = (double)axis[d].lower[i];
      v[n[d] + i] = (double)axis[d].diag[i];
      v[2 * n[d] + i] = (double)axis[d].upper[i];
      most = PetscMax(most, 2 * v[n[d] + i]);
    }
    norm += most;
    PetscCall(BCRDeviceArenaPut(&arena, r->stream, PETSC_FALSE, 3 * n[d], v, &row[d]));
    low[d] = row[d];
    diag[d] = row[d] + n[d];
    up[d] = row[d] + 2 * n[d];
    PetscCall(PetscFree(v));
  }
  norm += fabs(shift);
  h[0] = 1;
  h[1] = 0;
  PetscCall(BCRDeviceCoreGetRemoved(r->core, &removed));
  if (removed) PetscCallBCRCuda(BCRCudaGet(&h[1], removed, sizeof(h[1]), r->stream));
  PetscCallBCRCuda(BCRCudaPut(parts, h, 2 * sizeof(double), r->stream));
  PetscCall(PetscMemzero(&rhs, sizeof(rhs)));
  rhs.box = box;
  rhs.f = f;
  PetscCallBCRCuda(BCRCudaResidual(r->stream, &rhs, &box, u, res, s, low, diag, up, shift, parts));
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

/* The next case of the list, "256x256x256-ppc-single": sizes, ends (those given stay without), precision */
static PetscErrorCode CaseRead(char **s, PetscInt *dim, PetscInt n[3], char ends[4], PetscBool *single)
{
  PetscFunctionBeginUser;
  for (*dim = 0; *dim < 3;) {
    n[(*dim)++] = (PetscInt)strtol(*s, s, 10);
    if (**s != 'x') break;
    (*s)++;
  }
  while (**s == '-') {
    const size_t length = strcspn(++*s, "-,");

    if (length == 6 && !strncmp(*s, "single", length)) *single = PETSC_TRUE;
    else {
      PetscCheck(length == (size_t)*dim, PETSC_COMM_SELF, PETSC_ERR_USER, "-cases: %s: a letter for each axis", *s);
      PetscCall(PetscStrncpy(ends, *s, length + 1));
    }
    *s += length;
  }
  PetscCheck(!**s || **s == ',', PETSC_COMM_SELF, PETSC_ERR_USER, "-cases: cannot read %s", *s);
  if (**s == ',') (*s)++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static BCREnd CaseEnd(char end, int side)
{
  switch (end) {
  case 'n':
    return BCR_END_NEUMANN;
  case 'm':
    return side ? BCR_END_NEUMANN : BCR_END_DIRICHLET;
  case 'c':
    return BCR_END_CELL_NEUMANN;
  case 'e':
    return BCR_END_CELL_DIRICHLET;
  case 'p':
    return BCR_END_PERIODIC;
  default:
    return BCR_END_DIRICHLET;
  }
}

/* Cells of widths that are `ratio` times as large in the middle of the axis as at its walls */
static PetscErrorCode AxisStretch(BCRAxis *x, double ratio)
{
  const PetscInt n = x->n;
  double *h, sum = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3(n, &x->lower, n, &x->diag, n, &x->upper));
  PetscCall(PetscMalloc1(n, &h));
  for (PetscInt i = 0; i < n; i++) {
    const double t = 2 * ((double)i + 0.5) / (double)n - 1;

    sum += h[i] = 1 / (1 + (ratio - 1) * t * t);
  }
  for (PetscInt i = 0; i < n; i++) h[i] *= (double)n / sum; /* of a mean width of one */
  for (PetscInt i = 0; i < n; i++) {
    const double low = 2 / (h[i] * (h[i] + (i ? h[i - 1] : 0))), up = 2 / (h[i] * (h[i] + (i < n - 1 ? h[i + 1] : 0)));

    x->lower[i] = (PetscReal)(i ? low : 0);
    x->diag[i] = (PetscReal)(low + up);
    x->upper[i] = (PetscReal)(i < n - 1 ? up : 0);
  }
  x->end[0] = x->end[1] = BCR_END_GENERAL;
  x->a = 0;
  PetscCall(PetscFree(h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A plain product, of as many numbers as a transform by eigenvectors */
typedef struct {
  BCRCudaGemm handle;
  void *workspace, *matrix;
  size_t bytes;
  const Run *run;
  int n[3], single;
} Product;

static int run_product(void *context)
{
  const Product *p = (const Product *)context;
  const ptrdiff_t stride[3] = {1, p->n[0], (ptrdiff_t)p->n[0] * p->n[1]};

  return BCRCudaGemmLines(p->handle, p->run->stream, p->workspace, p->bytes, p->single, p->n, 0, 1, p->matrix, stride,
                          p->run->f, stride, p->run->u);
}

/* The products of the plan by themselves: their time and flops, 0: there are none */
static PetscErrorCode Products(Run *r, PetscBool single, PetscInt reps, double *ms, double *flops)
{
  const size_t size = single ? sizeof(float) : sizeof(double);
  Product p = {.run = r, .single = (int)single};
  BCRPlan plan;

  PetscFunctionBeginUser;
  *ms = *flops = 0;
  PetscCall(BCRDeviceCoreGetPlan(r->core, &plan));
  for (PetscInt d = 0; d < plan->dim; d++) {
    const size_t entries = (size_t)plan->n[d] * plan->n[d], lines = r->bytes / size / plan->n[d];
    double one;

    if (!plan->eigen[d]) continue;
    PetscCallBCRCuda(BCRCudaGemmCreate(&p.handle, &p.bytes));
    PetscCallBCRCuda(BCRCudaMalloc(p.bytes, &p.workspace));
    PetscCallBCRCuda(BCRCudaMalloc(entries * size, &p.matrix));
    PetscCallBCRCuda(BCRCudaZero(p.matrix, entries * size, r->stream));
    p.n[0] = (int)plan->n[d];
    p.n[1] = (int)lines;
    p.n[2] = 1;
    PetscCall(BenchDeviceMedian(r->stream, run_product, &p, 3, reps, &one));
    *ms += 2 * one; /* there and back */
    *flops += 4. * (double)entries * (double)lines;
    PetscCallBCRCuda(BCRCudaFree(p.matrix));
    PetscCallBCRCuda(BCRCudaFree(p.workspace));
    PetscCallBCRCuda(BCRCudaGemmDestroy(p.handle));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same box by cuFFT, in each form that it has */
static PetscErrorCode Peers(Run *r, PetscInt dim, const PetscInt n[3], const BCRAxis axis[], const char ends[],
                            PetscBool single, PetscInt reps, double solve, double copy)
{
  static const char *const forms[PEER_FORMS] = {[PEER_LINES] = "lines", [PEER_DIVISION] = "division"};
  const int size[3] = {(int)n[0], (int)n[1], (int)n[2]};
  double best = 0;

  PetscFunctionBeginUser;
  for (int form = 0; form < PEER_FORMS; form++) {
    PetscLogDouble t0, t1;
    double ms, error;
    int e;

    PetscCall(PetscTime(&t0));
    e = PeerCreate((int)dim, size, ends, (int)single, form, &r->peer);
    PetscCall(PetscTime(&t1));
    if (e == 1) continue;
    if (e) {
      printf("# cuFFT, %s: not run (%d: -1 no library, 2 no room, 3 no plan)\n", forms[form], e);
      continue;
    }
    PetscCallBCRCuda(BCRCudaZero(r->u, r->bytes, r->stream));
    PetscCall(BenchDeviceMedian(r->stream, run_solve, r, 3, reps, &ms));
    PetscCall(BackwardError(r, dim, n, axis, ends, 0, single, &error));
    printf("cuda_poisson,poisson%dd-%s,%dx%dx%d,%d,-,%s,cufft-%s%s,1,%.4f,%.4f,%.2f,%.2f,%.1e,\"%s\"\n", (int)dim, ends,
           size[0], size[1], size[2], size[0], single ? "single" : "double", forms[form], r->graph ? "-graph" : "", ms,
           copy, ms / copy, 1e3 * (t1 - t0), error, r->graph && r->graphs.failed ? "no graph: kernels one by one" : "");
    if (best == 0 || ms < best) best = ms;
    PetscCall(BCRDeviceGraphsReset(&r->graphs));
    PeerDestroy(&r->peer);
  }
  if (best > 0) printf("# cuFFT takes %.2f times as long\n", best / solve);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Three dimensions by what users have at their ends, in both precisions */
static PetscErrorCode CasesDefault(size_t length, char text[])
{
  static const char *const ends[] = {"ppp", "ppc", "ccc", "ccd", "ddd"};
  static const int sizes[] = {128, 256, 400, 512};

  PetscFunctionBeginUser;
  PetscCall(PetscStrncpy(text, "511x511,1023x1023,2047x2047,4095x4095,8191x8191", length));
  for (size_t n = 0; n < PETSC_STATIC_ARRAY_LENGTH(sizes); n++)
    for (size_t e = 0; e < PETSC_STATIC_ARRAY_LENGTH(ends); e++)
      for (int single = 0; single < 2; single++) {
        const int N = sizes[n] - (ends[e][0] == 'd'); /* nodes between the ends */
        char one[64];

        PetscCall(PetscSNPrintf(one, sizeof(one), ",%dx%dx%d-%s%s", N, N, N, ends[e], single ? "-single" : ""));
        PetscCall(PetscStrlcat(text, one, length));
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What all cases have in common, or those that do not say otherwise */
typedef struct {
  BCRCoreOptions options;
  char ends[4];
  PetscBool single, graph, spectral, peers;
  PetscReal shift, ratio;
  PetscInt reps;
} Settings;

/* Right-hand side and solution on the device */
static PetscErrorCode RunCreate(Run *r, const PetscInt n[3], PetscBool single)
{
  const size_t N = (size_t)n[0] * n[1] * n[2];

  PetscFunctionBeginUser;
  r->bytes = N * (single ? sizeof(float) : sizeof(double));
  PetscCallBCRCuda(BCRCudaMalloc(r->bytes, &r->u));
  PetscCallBCRCuda(BCRCudaMalloc(N * sizeof(double), &r->f));
  PetscCallBCRCuda(BCRCudaTrial(r->stream, (long)N, 1, (double *)r->f));
  if (single) {
    void *g;
    int m[3] = {(int)n[0], (int)n[1], (int)n[2]};
    ptrdiff_t st[3] = {1, n[0], (ptrdiff_t)n[0] * n[1]};

    PetscCallBCRCuda(BCRCudaMalloc(r->bytes, &g));
    PetscCallBCRCuda(BCRCudaScaleCopy(r->stream, m, 0, r->f, st, 1, g, st, NULL, NULL));
    PetscCallBCRCuda(BCRCudaFree(r->f));
    r->f = g;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CaseRun(const Settings *o, char **s)
{
  PetscInt n[3] = {1, 1, 1}, dim = 0, stride[3] = {1, 1, 1};
  BCRAxis axis[3];
  BCRCoreOptions options = o->options;
  BCRCoreInfo info;
  Run r;
  double solve, copy, error = 0, products, flops;
  PetscLogDouble t0 = 0, t1 = 0;
  char ends[4], solver[64];
  PetscBool single = o->single, singular = o->shift == 0 ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscStrncpy(ends, o->ends, sizeof(ends)));
  PetscCall(CaseRead(s, &dim, n, ends, &single));
  PetscCall(PetscMemzero(axis, sizeof(axis)));
  PetscCall(PetscMemzero(&r, sizeof(r)));
  for (PetscInt d = 0; d < 3; d++) {
    if (d) stride[d] = stride[d - 1] * n[d - 1];
    axis[d].n = n[d];
    axis[d].a = d < dim ? 1 : 0;
    for (int e = 0; e < 2; e++) {
      axis[d].end[e] = d < dim ? CaseEnd(ends[d], e) : BCREndOfOne();
      if (BCREndExcess(axis[d].end[e]) > 0) singular = PETSC_FALSE;
    }
    if (d >= dim || !strchr("st", ends[d])) continue;
    PetscCall(AxisStretch(&axis[d], (double)o->ratio));
    singular = PETSC_FALSE;
    if (ends[d] != 't') continue;
    PetscCall(PetscMalloc1(n[d], &axis[d].times));
    axis[d].timed = BCRAxesTimed(d);
    for (PetscInt i = 0; i < n[d]; i++) axis[d].times[i] = 1 / (PetscReal)((i + 1) * (i + 1));
  }
  options.precision = single ? BCR_SINGLE : BCR_DOUBLE;
  r.graph = o->graph;
  PetscCall(RunCreate(&r, n, single));
  for (int again = 0; again < 2; again++) { /* the first one loads kernels */
    PetscCallBCRCuda(BCRCudaSynchronize(r.stream));
    PetscCall(PetscTime(&t0));
    if (o->spectral)
      PetscCall(BCRDeviceCoreCreateSpectral(dim, axis, NULL, o->shift, singular, stride, &options, NULL, NULL, r.stream,
                                            &r.core));
    else PetscCall(BCRDeviceCoreCreate(dim, axis, o->shift, singular, stride, &options, r.stream, &r.core));
    PetscCall(BCRDeviceCoreSetUp(r.core));
    PetscCallBCRCuda(BCRCudaSynchronize(r.stream));
    PetscCall(PetscTime(&t1));
    if (!again) {
      PetscCall(BCRDeviceCoreSolve(r.core, r.stream, r.f, r.u));
      PetscCallBCRCuda(BCRCudaSynchronize(r.stream));
      PetscCall(BCRDeviceCoreDestroy(&r.core));
    }
  }
  PetscCall(BenchDeviceMedian(r.stream, run_copy, &r, o->reps, o->reps, &copy));
  PetscCall(BenchDeviceMedian(r.stream, run_solve, &r, PetscMin(3, o->reps - 1), o->reps, &solve));
  if (strchr(ends, 't')) error = NAN;
  else PetscCall(BackwardError(&r, dim, n, axis, ends, (double)o->shift, single, &error));
  PetscCall(Products(&r, single, o->reps, &products, &flops)); /* which overwrite u */
  PetscCall(BCRDeviceCoreGetInfo(r.core, &info));
  PetscCall(PetscSNPrintf(solver, sizeof(solver), "%s%s", o->spectral ? "spectral" : "bcr", o->graph ? "-graph" : ""));
  if (options.radix || options.nlevels)
    PetscCall(PetscSNPrintf(solver, sizeof(solver), "%s%d%s", options.radix ? "radix" : "schedule",
                            (int)(options.radix ? options.radix : options.schedule[0]),
                            options.recursive && dim == 3 ? "-recursive" : ""));
  printf("cuda_poisson,poisson%dd%s%s,%dx%dx%d,%d,-,%s,%s,1,%.4f,%.4f,%.2f,%.2f,%.1e,\"%s\"\n", (int)dim,
         strcmp(ends, "ddd") ? "-" : "", strcmp(ends, "ddd") ? ends : "", (int)n[0], (int)n[1], (int)n[2], (int)n[0],
         single ? "single" : "double", solver, solve, copy, solve / copy, 1e3 * (t1 - t0), error, info.plan);
  if (flops > 0)
    printf(
      "cuda_poisson,poisson%dd-%s,%dx%dx%d,%d,-,%s,gemm,1,%.4f,%.4f,%.2f,,,\"%.1f Tflop/s; of the solve %.0f %%\"\n",
      (int)dim, ends, (int)n[0], (int)n[1], (int)n[2], (int)n[0], single ? "single" : "double", products, copy,
      products / copy, 1e-9 * flops / products, 100 * products / solve);
  PetscCall(BCRDeviceGraphsReset(&r.graphs));
  if (o->peers && o->shift == 0) PetscCall(Peers(&r, dim, n, axis, ends, single, o->reps, solve, copy));
  fflush(stdout);
  PetscCall(BCRDeviceGraphsDestroy(&r.graphs));
  PetscCall(BCRDeviceCoreDestroy(&r.core));
  for (PetscInt d = 0; d < 3; d++) {
    PetscCall(PetscFree3(axis[d].lower, axis[d].diag, axis[d].upper));
    PetscCall(PetscFree(axis[d].times));
  }
  PetscCallBCRCuda(BCRCudaFree(r.f));
  PetscCallBCRCuda(BCRCudaFree(r.u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Settings o = {.ends = "ddd", .reps = 21, .ratio = 50};
  char text[4096], *s = text, name[64];
  PetscBool header = PETSC_TRUE;
  PetscInt nschedule = BCR_MAX_LEVELS, nlaunch = BCR_LAUNCH, launches[BCR_LAUNCH] = {0};
  int major, minor, sms, shared;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, "Poisson on one CUDA device"));
  PetscCall(CasesDefault(sizeof(text), text));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-cases", text, sizeof(text), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-ends", o.ends, sizeof(o.ends), NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-shift", &o.shift, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-ratio", &o.ratio, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-reps", &o.reps, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-single", &o.single, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-plain", &o.options.plain, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-spectral", &o.spectral, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-header", &header, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-graph", &o.graph, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-peers", &o.peers, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-recursive", &o.options.recursive, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-radix", &o.options.radix, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-schedule", o.options.schedule, &nschedule, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-launch", launches, &nlaunch, NULL));
  o.options.nlevels = nschedule == BCR_MAX_LEVELS ? 0 : nschedule;
  for (PetscInt i = 0; i < BCR_LAUNCH; i++) o.options.launch[i] = (int)launches[i];
  PetscCallBCRCuda(BCRCudaDeviceName(name, sizeof(name), &major, &minor, &sms, &shared));
  if (header) {
    printf("# %s, sm_%d%d, PETSc %d.%d.%d\n", name, major, minor, PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR,
           PETSC_VERSION_SUBMINOR);
    printf("program,case,dims,n,axis,precision,solver,ranks,time_ms,copy_ms,ratio_to_copy,setup_ms,residual,plan\n");
  }
  while (*s) PetscCall(CaseRun(&o, &s));
  PetscCall(PetscFinalize());
  return 0;
}
#else
int main(void)
{
  return 0;
}
#endif
