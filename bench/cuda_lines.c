/*
  Lines on one CUDA device: medians over repeats, an event pair each, beside a copy of the same
  array on the device in the same run; backward errors of two lines; peers cuSPARSE
  gtsv2StridedBatch and gtsvInterleavedBatch.

  cuda_lines [-suites lines,long,three,petsc,methods,variants,tune] [-reps 21] [-batch 1] [-single]
  [-peers 0] [-max 268435456]

  -batch 20: an event pair for so many solves one after the other, as a program runs them (as of copies): what a launch takes then hides behind the one before
  petsc: KSPSolve() and PCApply() of PCNEATO and PetscBCRLinesSolve() beside the kernel
  tune: cuts of scan (BCRCudaScan, tune) by -cuts n,axis,rows,parts,way,columns,n,... (axis 0 to 5:
  x and y of n x n, y and z of n^3, one line, x of n^3), for the first -cases 3 of d = 2, 4 and
  2..6; -ahead 200: how far what comes to the cache early is ahead (BCRCudaScan)
*/
#include <petscbcr.h>
#include <petscdmda.h>
#include <petscdevice.h>
#include <petscksp.h>
#if defined(PETSCBCR_HAVE_CUDA)
  #include <petsctime.h>
  #include "src/tridiagonal/device.h"
  #include "src/backend/cuda/fields.h"
  #include "src/backend/cuda/refine.h"
  #include "cuda_bench.h"
  #include "cuda_lines_kernels.h"
  #include <math.h>
  #if defined(PETSCBCR_HAVE_CUSPARSE)
    #include <cusparse.h>
  #endif

typedef struct {
  BCRTriDevice device;
  BCRCudaScan scan; /* float fields: without the rest of the library, which has those of PetscReal */
  void *work;
  PetscBool single;
  BCRStream stream;
  void *f, *u;
  size_t bytes;
  ptrdiff_t n, batch, inner;
  double *general; /* coefficients, and scratch */
  int global;
  #if defined(PETSCBCR_HAVE_CUSPARSE)
  cusparseHandle_t handle;
  void *dl, *d, *du, *buffer;
  #endif
} Run;

static PetscInt reps = 21, batch = 1;
static PetscBool single = PETSC_FALSE, peers = PETSC_TRUE;

static int run_solve(void *context)
{
  Run *r = (Run *)context;

  if (r->single) return BCRCudaScanSolve(r->stream, &r->scan, 1, 0, r->f, r->u, r->work);
  return BCRTriDeviceSolve(r->device, r->stream, (const PetscReal *)r->f, (PetscReal *)r->u) ? 999 : 0;
}

static int run_general(void *context)
{
  Run *r = (Run *)context;
  const size_t N = r->bytes / sizeof(double);

  return GeneralCR(r->stream, r->inner, r->n, r->batch / r->inner, r->general, r->general + N, r->general + 2 * N,
                   r->general + 3 * N, (const double *)r->f, (double *)r->u, r->global);
}

static int run_copy(void *context)
{
  Run *r = (Run *)context;

  return BCRCudaCopy(r->u, r->f, r->bytes, r->stream);
}

  #if defined(PETSCBCR_HAVE_CUSPARSE)
static int run_strided(void *context)
{
  Run *r = (Run *)context;

  if (r->single)
    return cusparseSgtsv2StridedBatch(r->handle, (int)r->n, (float *)r->dl, (float *)r->d, (float *)r->du,
                                      (float *)r->u, (int)r->batch, (int)r->n, r->buffer)
             ? 998
             : 0;
  return cusparseDgtsv2StridedBatch(r->handle, (int)r->n, (double *)r->dl, (double *)r->d, (double *)r->du,
                                    (double *)r->u, (int)r->batch, (int)r->n, r->buffer)
           ? 998
           : 0;
}

static int run_interleaved(void *context)
{
  Run *r = (Run *)context;

  if (r->single)
    return cusparseSgtsvInterleavedBatch(r->handle, 0, (int)r->n, (float *)r->dl, (float *)r->d, (float *)r->du,
                                         (float *)r->u, (int)r->batch, r->buffer)
             ? 998
             : 0;
  return cusparseDgtsvInterleavedBatch(r->handle, 0, (int)r->n, (double *)r->dl, (double *)r->d, (double *)r->du,
                                       (double *)r->u, (int)r->batch, r->buffer)
           ? 998
           : 0;
}
  #endif

/* max|f - A u| / (||A|| max|u| + max|f|) over line `line` of the array */
static PetscErrorCode BackwardError(Run *r, const BCRTriSpec *s, PetscInt line, double *error)
{
  const size_t size = r->single ? sizeof(float) : sizeof(double);
  const PetscInt n = s->n;
  double *v[2], nr = 0, nu = 0, nf = 0, na = 0, row[3];
  char *line_;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3(n, &v[0], n, &v[1], (size_t)n * size, &line_));
  for (int k = 0; k < 2; k++) {
    const char *from =
      (const char *)(k ? r->u : r->f) + size * (size_t)(line % s->inner + s->inner * n * (line / s->inner));

    if (s->inner == 1) PetscCallBCRCuda(BCRCudaGet(line_, from, (size_t)n * size, r->stream));
    else
      for (PetscInt j = 0; j < n; j++)
        PetscCallBCRCuda(BCRCudaGet(line_ + size * j, from + size * (size_t)(s->inner * j), size, r->stream));
    for (PetscInt j = 0; j < n; j++) v[k][j] = r->single ? (double)((float *)line_)[j] : ((double *)line_)[j];
  }
  for (PetscInt j = 0; j < n; j++) {
    long double x = v[0][j];

    BCRTriGetRow(s, s->perline ? line : 0, j, row);
    x -= (long double)row[0] * v[1][j ? j - 1 : n - 1] + (long double)row[1] * v[1][j] +
         (long double)row[2] * v[1][j < n - 1 ? j + 1 : 0];
    TestLargest(&nr, fabs((double)x));
    nf = PetscMax(nf, fabs(v[0][j]));
    nu = PetscMax(nu, fabs(v[1][j]));
    na = PetscMax(na, fabs(row[0]) + fabs(row[1]) + fabs(row[2]));
  }
  TestLargest(error, nr / (na * nu + nf));
  PetscCall(PetscFree3(v[0], v[1], line_));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  const char *name, *axis;
  int dim;
  PetscInt inner, n, outer;
  double d;    /* diagonal, couplings are -1; below 2: each line has one of its own, from 2 to 6 */
  int general; /* coefficients in arrays; 2, 3: by general cyclic reduction in shared, global memory */
  BCRTriMethod method;
  PetscInt variant, parts;
  int memory;
  BCRTriPrecision precision;
  const char *label;
  int tune[5];
} Case;

static PetscErrorCode Row(const Case *c, const char *solver, const char *precision, double time, double copy,
                          double setup, double error, const char *what)
{
  PetscFunctionBeginUser;
  printf("cuda_lines,%s,%dx%dx%d,%d,%s,%s,%s,1,%.5f,%.5f,%.3f,", c->name, (int)c->inner, (int)c->n, (int)c->outer,
         (int)c->n, c->axis, precision, solver, time, copy, time / copy);
  if (setup >= 0) printf("%.3f", setup);
  printf(",");
  if (error >= 0) printf("%.2g", error);
  printf(",\"%s\"\n", what);
  fflush(stdout);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(const Case *c)
{
  static const char *const names[] = {"auto", "scan", "cr", "pscheme", "dc", "thomas"};
  const size_t N = (size_t)c->inner * c->n * c->outer, size = single ? sizeof(float) : sizeof(double);
  const PetscInt lines = c->inner * c->outer;
  Run r;
  BCRTriSpec s;
  BCRTriOptions o;
  BCRTriRows *rows;
  PetscReal *low = NULL, *diag = NULL, *up = NULL;
  BCRTriInfo info;
  PetscLogDouble t0, t1;
  double copy, time, error = 0;
  char solver[64];

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(&r, sizeof(r)));
  PetscCall(PetscMemzero(&s, sizeof(s)));
  PetscCall(PetscMemzero(&o, sizeof(o)));
  r.single = single;
  r.bytes = N * size;
  r.n = c->n;
  r.batch = lines;
  r.inner = c->inner;
  PetscCallBCRCuda(BCRCudaMalloc(r.bytes, &r.u));
  PetscCallBCRCuda(BCRCudaMalloc(r.bytes, &r.f));
  if (single) {
    double *g;
    const int n[3] = {(int)c->n, (int)lines, 1};
    const ptrdiff_t st[3] = {1, c->n, (ptrdiff_t)N};

    PetscCallBCRCuda(BCRCudaMalloc(N * sizeof(double), &g));
    PetscCallBCRCuda(BCRCudaTrial(r.stream, (long)N, 1, g));
    PetscCallBCRCuda(BCRCudaScaleCopy(r.stream, n, 0, g, st, 1, r.f, st, NULL, NULL));
    PetscCallBCRCuda(BCRCudaSynchronize(r.stream));
    PetscCallBCRCuda(BCRCudaFree(g));
  } else PetscCallBCRCuda(BCRCudaTrial(r.stream, (long)N, 1, (double *)r.f));
  s.inner = c->inner;
  s.n = c->n;
  s.outer = c->outer;
  s.rep = 1;
  s.perline = c->d < 2 && c->general < 2 ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(PetscCalloc1(s.perline ? lines : 1, &rows));
  for (PetscInt l = 0; l < (s.perline ? lines : 1); l++) {
    rows[l].row[0] = rows[l].row[2] = -1;
    rows[l].row[1] = (PetscReal)(s.perline ? 4 - 2 * cos(M_PI * (l + 1) / (lines + 1)) : c->d);
  }
  s.rows = rows;
  if (c->general) {
    const size_t entries = (size_t)c->n * (size_t)(s.perline ? lines : 1);

    PetscCall(PetscMalloc3(entries, &low, entries, &diag, entries, &up));
    for (size_t i = 0; i < entries; i++) {
      low[i] = (PetscReal)(-1 + 0.3 * sin((double)i));
      up[i] = (PetscReal)(-1 + 0.3 * cos(2. * (double)i));
      diag[i] = (PetscReal)3;
    }
    s.rows = NULL;
    s.low = low;
    s.diag = diag;
    s.up = up;
  }
  o.method = c->method;
  o.variant = c->variant;
  o.parts = c->parts;
  o.memory = c->memory;
  o.precision = c->precision;
  PetscCall(PetscArraycpy(o.tune, c->tune, 5));
  PetscCall(PetscTime(&t0));
  if (single) {
    BCRTriScanLine *L;
    const PetscInt sets = s.perline ? lines : 1;
    double *abc, *G, *tab, decay = 0;
    void *dev;

    r.scan.sets = sets;
    r.scan.perline = s.perline ? 1 : 0;
    r.scan.h = r.scan.t = 1;
    PetscCall(PetscMalloc4(sets, &L, 3 * sets, &abc, 8 * sets, &G, BCRCudaScanTableSize(&r.scan), &tab));
    PetscCall(PetscArrayzero(tab, BCRCudaScanTableSize(&r.scan)));
    for (PetscInt l = 0; l < sets; l++) {
      PetscCall(BCRTriScanSetLine(&s, 1, l, 1, 1, &L[l]));
      abc[l] = L[l].alpha;
      abc[sets + l] = L[l].beta;
      abc[2 * sets + l] = L[l].gamma;
      for (int e = 0; e < 8; e++) G[e * sets + l] = L[l].G[e];
      decay = PetscMax(decay, BCRTriScanDecay(L[l].alpha, 1));
    }
    r.scan.inner = c->inner;
    r.scan.n = c->n;
    r.scan.outer = c->outer;
    r.scan.rep = 1;
    r.scan.reach = (ptrdiff_t)PetscMin((double)c->n, decay + 1);
    for (int i = 0; i < 5; i++) r.scan.tune[i] = c->tune[i];
    BCRCudaScanTables(&r.scan, 1, 0, abc, G, tab);
    PetscCallBCRCuda(BCRCudaMalloc(BCRCudaScanTableSize(&r.scan) * sizeof(double), &dev));
    PetscCallBCRCuda(BCRCudaPut(dev, tab, BCRCudaScanTableSize(&r.scan) * sizeof(double), r.stream));
    r.scan.tab = (const double *)dev;
    PetscCallBCRCuda(BCRCudaMalloc(BCRCudaScanWorkspace(&r.scan, 1, 0), &r.work));
    PetscCallBCRCuda(BCRCudaZero(r.work, BCRCudaScanWorkspace(&r.scan, 1, 0), r.stream));
    PetscCall(PetscFree4(L, abc, G, tab));
    PetscCall(PetscMemzero(&info, sizeof(info)));
    info.method = BCR_TRI_SCAN;
  } else if (c->general > 1) {
    double *h;

    PetscCall(PetscMalloc1(3 * N, &h));
    for (size_t i = 0; i < N; i++) {
      const size_t j = i / (size_t)c->inner % (size_t)c->n;

      h[i] = low[j];
      h[N + i] = diag[j];
      h[2 * N + i] = up[j];
    }
    PetscCallBCRCuda(BCRCudaMalloc(6 * r.bytes, (void **)&r.general));
    PetscCallBCRCuda(BCRCudaPut(r.general, h, 3 * r.bytes, r.stream));
    PetscCall(PetscFree(h));
    r.global = c->general == 3;
    PetscCall(PetscMemzero(&info, sizeof(info)));
    PetscCall(PetscSNPrintf(info.what, sizeof(info.what),
                            "general cyclic reduction in %s memory, coefficients in arrays",
                            r.global ? "global" : "shared"));
  } else {
    PetscCall(BCRTriDeviceCreate(&s, &o, &r.device));
    PetscCall(BCRTriDeviceGetInfo(r.device, &info));
  }
  PetscCall(PetscTime(&t1));
  PetscCall(BenchDeviceBatches(r.stream, run_copy, &r, 2, reps, batch, &copy));
  PetscCall(BenchDeviceBatches(r.stream, r.general ? run_general : run_solve, &r, 2, reps, batch, &time));
  PetscCall(BackwardError(&r, &s, 0, &error));
  PetscCall(BackwardError(&r, &s, lines / 2, &error));
  if (c->tune[0] || c->tune[1] || c->tune[2] || c->tune[3])
    PetscCall(PetscSNPrintf(solver, sizeof(solver), "%s %d.%d.%d.%d", names[info.method], c->tune[0], c->tune[1],
                            c->tune[2], c->tune[3]));
  else if (c->label) PetscCall(PetscStrncpy(solver, c->label, sizeof(solver)));
  else PetscCall(PetscStrncpy(solver, names[info.method], sizeof(solver)));
  PetscCall(Row(c, solver, single || c->precision == BCR_TRI_SINGLE ? "single" : "double", time, copy, 1e3 * (t1 - t0),
                error, info.what));
  if (single) {
    PetscCallBCRCuda(BCRCudaFree((void *)r.scan.tab));
    PetscCallBCRCuda(BCRCudaFree(r.work));
  }
  PetscCallBCRCuda(BCRCudaFree(r.general));
  PetscCall(BCRTriDeviceDestroy(&r.device));
  #if defined(PETSCBCR_HAVE_CUSPARSE)
  /* interleaved: lines along y or z of the array as one plane */
  if (peers && !c->label && lines > 1 && N <= 40000000) {
    const PetscBool along = c->inner == 1 ? PETSC_TRUE : PETSC_FALSE;
    size_t bytes;
    int e;

    if (along || c->outer == 1) {
      double *h;
      float *hf;
      void **to[3] = {&r.dl, &r.d, &r.du};

      PetscCheck(!cusparseCreate(&r.handle), PETSC_COMM_SELF, PETSC_ERR_LIB, "cusparseCreate");
      PetscCall(PetscMalloc2(N, &h, N, &hf));
      for (int k = 0; k < 3; k++) {
        for (size_t i = 0; i < N; i++) {
          const PetscInt j = (PetscInt)(i / (size_t)c->inner) % c->n;

          h[i] = k == 1 ? (c->d < 2 ? 4. : c->d) : ((k == 0 && j == 0) || (k == 2 && j == c->n - 1) ? 0. : -1.);
          if (single) hf[i] = (float)h[i];
        }
        PetscCallBCRCuda(BCRCudaMalloc(r.bytes, to[k]));
        PetscCallBCRCuda(BCRCudaPut(*to[k], single ? (void *)hf : (void *)h, r.bytes, r.stream));
      }
      PetscCall(PetscFree2(h, hf));
      if (single)
        e = along
              ? cusparseSgtsv2StridedBatch_bufferSizeExt(r.handle, (int)r.n, (float *)r.dl, (float *)r.d, (float *)r.du,
                                                         (float *)r.u, (int)r.batch, (int)r.n, &bytes)
              : cusparseSgtsvInterleavedBatch_bufferSizeExt(r.handle, 0, (int)r.n, (float *)r.dl, (float *)r.d,
                                                            (float *)r.du, (float *)r.u, (int)r.batch, &bytes);
      else
        e = along
              ? cusparseDgtsv2StridedBatch_bufferSizeExt(r.handle, (int)r.n, (double *)r.dl, (double *)r.d,
                                                         (double *)r.du, (double *)r.u, (int)r.batch, (int)r.n, &bytes)
              : cusparseDgtsvInterleavedBatch_bufferSizeExt(r.handle, 0, (int)r.n, (double *)r.dl, (double *)r.d,
                                                            (double *)r.du, (double *)r.u, (int)r.batch, &bytes);
      PetscCheck(!e, PETSC_COMM_SELF, PETSC_ERR_LIB, "cuSPARSE error %d", e);
      PetscCallBCRCuda(BCRCudaMalloc(bytes, &r.buffer));
      PetscCallBCRCuda(BCRCudaCopy(r.u, r.f, r.bytes, r.stream));
      PetscCall(BenchDeviceMedian(r.stream, along ? run_strided : run_interleaved, &r, 2, 5, &time));
      PetscCall(Row(c, along ? "cusparse_gtsv2StridedBatch" : "cusparse_gtsvInterleavedBatch",
                    single ? "single" : "double", time, copy, -1, -1, "coefficients in arrays"));
      for (int k = 0; k < 3; k++) PetscCallBCRCuda(BCRCudaFree(*to[k]));
      PetscCallBCRCuda(BCRCudaFree(r.buffer));
      cusparseDestroy(r.handle);
    }
  }
  #endif
  PetscCallBCRCuda(BCRCudaFree(r.f));
  PetscCallBCRCuda(BCRCudaFree(r.u));
  PetscCall(PetscFree(rows));
  if (c->general) PetscCall(PetscFree3(low, diag, up));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What PETSc's objects add to the kernels, on the same vectors */
typedef struct {
  KSP ksp;
  PC pc;
  PetscBCRLines lines;
  Vec f, u;
} Objects;

static int run_ksp(void *c)
{
  return KSPSolve(((Objects *)c)->ksp, ((Objects *)c)->f, ((Objects *)c)->u) ? 999 : 0;
}

static int run_pc(void *c)
{
  return PCApply(((Objects *)c)->pc, ((Objects *)c)->f, ((Objects *)c)->u) ? 999 : 0;
}

static int run_lines(void *c)
{
  return PetscBCRLinesSolve(((Objects *)c)->lines, ((Objects *)c)->f, ((Objects *)c)->u) ? 999 : 0;
}

static PetscErrorCode Petsc(PetscInt n, PetscInt axis)
{
  const PetscReal row[3] = {-1, 4, -1};
  const PetscScalar *f;
  PetscScalar *u;
  BCRTriRows rows = {
    .row = {-1, 4, -1}
  };
  Case c;
  Run r;
  Objects o;
  BCRTriSpec s;
  BCRTriOptions options;
  PetscDeviceContext context;
  PetscMemType mem;
  void *handle = NULL;
  DM da;
  Mat A;
  double copy, kernel, time;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(&c, sizeof(c)));
  PetscCall(PetscMemzero(&r, sizeof(r)));
  PetscCall(PetscMemzero(&s, sizeof(s)));
  PetscCall(PetscMemzero(&options, sizeof(options)));
  c.name = "petsc";
  c.axis = axis ? "y" : "x";
  c.inner = s.inner = axis ? n : 1;
  c.outer = s.outer = axis ? 1 : n;
  c.n = s.n = n;
  s.rep = 1;
  s.rows = &rows;
  PetscCall(DMDACreate2d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, 1, 1, 1, 1, NULL,
                         NULL, &da));
  PetscCall(DMSetVecType(da, VECCUDA));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateGlobalVector(da, &o.f));
  PetscCall(VecDuplicate(o.f, &o.u));
  PetscCall(VecSetRandom(o.f, NULL));
  PetscCall(VecSet(o.u, 0));
  PetscCall(PetscDeviceContextGetCurrentContext(&context));
  PetscCall(PetscDeviceContextGetStreamHandle(context, &handle));
  r.stream = options.stream = handle ? *(BCRStream *)handle : NULL;
  r.bytes = (size_t)n * (size_t)n * sizeof(PetscScalar);
  PetscCall(VecGetArrayReadAndMemType(o.f, &f, &mem));
  PetscCheck(PetscMemTypeCUDA(mem), PETSC_COMM_SELF, PETSC_ERR_SUP, "The vectors are not on the device");
  PetscCall(VecGetArrayWriteAndMemType(o.u, &u, &mem));
  r.f = (void *)f;
  r.u = u;
  PetscCall(BCRTriDeviceCreate(&s, &options, &r.device));
  PetscCall(BenchDeviceMedian(r.stream, run_copy, &r, 2, reps, &copy));
  PetscCall(BenchDeviceMedian(r.stream, run_solve, &r, 2, reps, &kernel));
  PetscCall(VecRestoreArrayWriteAndMemType(o.u, &u));
  PetscCall(VecRestoreArrayReadAndMemType(o.f, &f));
  PetscCall(Row(&c, "kernel", "double", kernel, copy, -1, -1, ""));
  PetscCall(PetscBCRLinesCreate(da, axis ? DM_Y : DM_X, 0, NULL, row, 0, NULL, &o.lines));
  PetscCall(BenchDeviceMedian(r.stream, run_lines, &o, 2, reps, &time));
  PetscCall(Row(&c, "PetscBCRLinesSolve", "double", time, copy, -1, -1, ""));
  PetscCall(PetscBCRLinesDestroy(&o.lines));
  if (n <= 2048) { /* the matrix is put together on the host */
    PetscCall(DMCreateMatrix(da, &A));
    for (PetscInt j = 0; j < n; j++)
      for (PetscInt i = 0; i < n; i++) {
        const MatStencil at = {.i = i, .j = j};
        const PetscScalar v[5] = {4, -1, -1, -1, -1};
        MatStencil col[5];
        PetscInt k = 0;

        col[k++] = at;
        for (int d = 0; d < 2; d++)
          for (int e = -1; e < 2; e += 2) {
            const PetscInt x = (d ? j : i) + e;

            if (x < 0 || x >= n) continue;
            col[k] = at;
            *(d ? &col[k].j : &col[k].i) = x;
            k++;
          }
        PetscCall(MatSetValuesStencil(A, 1, &at, k, col, v, INSERT_VALUES));
      }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(KSPCreate(PETSC_COMM_SELF, &o.ksp));
    PetscCall(KSPSetOperators(o.ksp, A, A));
    PetscCall(KSPSetType(o.ksp, KSPPREONLY));
    PetscCall(KSPGetPC(o.ksp, &o.pc));
    PetscCall(PCSetType(o.pc, PCNEATO));
    PetscCall(PCSetDM(o.pc, da));
    PetscCall(PCNeatoSetAxis(o.pc, (PCNeatoAxis)(axis + 1)));
    PetscCall(KSPSetUp(o.ksp));
    PetscCall(BenchDeviceMedian(r.stream, run_pc, &o, 2, reps, &time));
    PetscCall(Row(&c, "PCApply", "double", time, copy, -1, -1, ""));
    PetscCall(BenchDeviceMedian(r.stream, run_ksp, &o, 2, reps, &time));
    PetscCall(Row(&c, "KSPSolve", "double", time, copy, -1, -1, ""));
    PetscCall(KSPDestroy(&o.ksp));
    PetscCall(MatDestroy(&A));
  }
  PetscCall(BCRTriDeviceDestroy(&r.device));
  PetscCall(VecDestroy(&o.f));
  PetscCall(VecDestroy(&o.u));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char suites[256] = "lines,long,three", name[64];
  PetscBool has;
  char *at;
  PetscInt most = 268435456, mostn = 16384;
  int major, minor, sms, shared;
  Case c;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, "Lines on one CUDA device"));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-suites", suites, sizeof(suites), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-reps", &reps, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-batch", &batch, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-max", &most, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-maxn", &mostn, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-single", &single, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-peers", &peers, NULL));
  PetscCallBCRCuda(BCRCudaDeviceName(name, sizeof(name), &major, &minor, &sms, &shared));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-no_header", &has));
  if (!has) {
    printf("# %s, sm_%d%d, PETSc %d.%d.%d, medians of %d\n", name, major, minor, PETSC_VERSION_MAJOR,
           PETSC_VERSION_MINOR, PETSC_VERSION_SUBMINOR, (int)reps);
    printf("program,case,dims,n,axis,precision,solver,ranks,time_ms,copy_ms,ratio_to_copy,setup_ms,residual,plan\n");
  }
  PetscCall(PetscStrstr(suites, "lines", &at));
  if (at)
    for (PetscInt n = 1024; n <= mostn; n *= 2)
      for (int y = 0; y < 2; y++)
        for (int k = 0; k < 3; k++) {
          PetscCall(PetscMemzero(&c, sizeof(c)));
          c.name = k == 0 ? "d=2" : (k == 1 ? "d=4" : "d=2..6");
          c.d = k == 0 ? 2 : (k == 1 ? 4 : 0);
          c.axis = y ? "y" : "x";
          c.inner = y ? n : 1;
          c.outer = y ? 1 : n;
          c.n = n;
          c.method = BCR_TRI_SCAN;
          if (k) c.label = "scan";
          PetscCall(Solve(&c));
        }
  PetscCall(PetscStrstr(suites, "long", &at));
  if (at)
    for (PetscInt n = 1048576; n <= most; n = n < most ? 16 * n : n + 1)
      for (int k = 0; k < 2; k++) {
        PetscCall(PetscMemzero(&c, sizeof(c)));
        c.name = k == 0 ? "line_d=2" : "line_d=4";
        c.d = k == 0 ? 2 : 4;
        c.axis = "x";
        c.inner = 1;
        c.outer = 1;
        c.n = n;
        c.method = BCR_TRI_SCAN;
        PetscCall(Solve(&c));
      }
  PetscCall(PetscStrstr(suites, "three", &at));
  if (at)
    for (PetscInt n = 256; n <= 512; n *= 2)
      for (int a = 0; a < 3; a++)
        for (int k = 0; k < 2; k++) {
          PetscCall(PetscMemzero(&c, sizeof(c)));
          c.name = k == 0 ? "d=2" : "d=4";
          c.d = k == 0 ? 2 : 4;
          c.axis = a == 0 ? "x" : (a == 1 ? "y" : "z");
          c.inner = a == 0 ? 1 : (a == 1 ? n : n * n);
          c.outer = a == 0 ? n * n : (a == 1 ? n : 1);
          c.n = n;
          c.method = BCR_TRI_SCAN;
          if (k) c.label = "scan";
          PetscCall(Solve(&c));
        }
  PetscCall(PetscStrstr(suites, "petsc", &at));
  if (at)
    for (PetscInt n = 1024; n <= PetscMin(mostn, 8192); n *= 2)
      for (PetscInt axis = 0; axis < 2; axis++) PetscCall(Petsc(n, axis));
  /* paper 002, chapter 2: near-Toeplitz against general lines, shared against global memory */
  PetscCall(PetscStrstr(suites, "methods", &at));
  if (at)
    for (PetscInt n = 512; n <= 4096; n *= 2)
      for (int y = 0; y < 2; y++)
        for (int k = 0; k < 10; k++) {
          static const struct {
            const char *label;
            BCRTriMethod method;
            int memory, variant, general;
          } M[] = {
            {"scan",                               BCR_TRI_SCAN,    0, 0, 0},
            {"cr shared",                          BCR_TRI_CR,      1, 0, 0},
            {"cr global",                          BCR_TRI_CR,      2, 0, 0},
            {"general cr shared",                  BCR_TRI_CR,      0, 0, 2},
            {"general cr global",                  BCR_TRI_CR,      0, 0, 3},
            {"pscheme rearranged",                 BCR_TRI_PSCHEME, 0, 0, 0},
            {"pscheme plain",                      BCR_TRI_PSCHEME, 0, 1, 0},
            {"dc parallel",                        BCR_TRI_DC,      0, 0, 0},
            {"thomas",                             BCR_TRI_THOMAS,  0, 0, 0},
            {"thomas with coefficients in arrays", BCR_TRI_THOMAS,  0, 0, 1}
          };

          PetscCall(PetscMemzero(&c, sizeof(c)));
          c.name = M[k].general ? "general" : "d=4";
          c.d = M[k].general ? 0 : 4;
          c.axis = y ? "y" : "x";
          c.inner = y ? n : 1;
          c.outer = y ? 1 : n;
          c.n = n;
          c.method = M[k].method;
          c.memory = M[k].memory;
          c.variant = M[k].variant;
          c.general = M[k].general;
          c.label = M[k].label;
          PetscCall(Solve(&c));
        }
  /* paper 004: one line, its variants against the length and the sequential form */
  PetscCall(PetscStrstr(suites, "variants", &at));
  if (at)
    for (PetscInt n = 16384; n <= 4194304; n *= 4)
      for (int k = 0; k < 6; k++) {
        static const struct {
          const char *label;
          BCRTriMethod method;
          PetscInt variant;
          BCRTriPrecision precision;
        } M[] = {
          {"dc A1D",  BCR_TRI_DC,      1, BCR_TRI_DOUBLE},
          {"dc A2S",  BCR_TRI_DC,      0, BCR_TRI_SINGLE},
          {"dc A2D",  BCR_TRI_DC,      0, BCR_TRI_DOUBLE},
          {"dc A2SD", BCR_TRI_DC,      0, BCR_TRI_MIXED },
          {"pscheme", BCR_TRI_PSCHEME, 0, BCR_TRI_DOUBLE},
          {"scan",    BCR_TRI_SCAN,    0, BCR_TRI_DOUBLE}
        };

        if (k == 0 && n > 1100000) continue; /* a thread takes its time */
        PetscCall(PetscMemzero(&c, sizeof(c)));
        c.name = "line_d=2.05";
        c.d = 2.05;
        c.axis = "x";
        c.inner = 1;
        c.outer = 1;
        c.n = n;
        c.method = M[k].method;
        c.variant = M[k].variant;
        c.precision = M[k].precision;
        c.label = M[k].label;
        most = reps;
        if (k == 0 && n > 100000) reps = PetscMin(reps, 3);
        PetscCall(Solve(&c));
        reps = most;
      }
  PetscCall(PetscStrstr(suites, "tune", &at));
  if (at) {
    PetscInt T[600], entries = 600, cases = 3, ahead = 0;

    PetscCall(PetscOptionsGetInt(NULL, NULL, "-cases", &cases, NULL));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-ahead", &ahead, NULL));
    PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-cuts", T, &entries, &has));
    for (PetscInt i = 0; has && i + 6 <= entries; i += 6)
      for (int k = 0; k < cases; k++) {
        /* 0: x, 1: y of n x n, 2: y of n^3, 3: z of n^3, 4: one line, 5: x of n^3 */
        const PetscInt n = T[i], axis = T[i + 1];

        if (axis == 4 && k == 2) continue;
        PetscCall(PetscMemzero(&c, sizeof(c)));
        c.name = k == 0 ? "d=2" : (k == 1 ? "d=4" : "d=2..6");
        c.d = k == 0 ? 2 : (k == 1 ? 4 : 0);
        c.axis = axis == 0 || axis > 3 ? "x" : (axis < 3 ? "y" : "z");
        c.inner = axis == 1 || axis == 2 ? n : (axis == 3 ? n * n : 1);
        c.outer = axis == 0 || axis == 2 ? n : (axis == 5 ? n * n : 1);
        c.n = n;
        c.method = BCR_TRI_SCAN;
        c.label = "scan";
        for (int q = 0; q < 4; q++) c.tune[q] = (int)T[i + 2 + q];
        c.tune[4] = (int)ahead;
        PetscCall(Solve(&c));
      }
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
