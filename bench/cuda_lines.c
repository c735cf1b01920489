/*
  Lines on one CUDA device: medians over repeats, an event pair each, beside a copy of the same array on the device in the same run; backward errors of
  two lines; peers cuSPARSE gtsv2StridedBatch and gtsvInterleavedBatch.

  cuda_lines [-suites lines,long,three,methods,variants,tune] [-reps 21] [-single] [-peers 0] [-max 268435456]
*/
#include <petscsys.h>
#if defined(PETSCBCR_HAVE_CUDA)
  #include <petsctime.h>
  #include "src/tridiagonal/device.h"
  #include "cuda_bench.h"
  #include <math.h>
  #if defined(PETSCBCR_HAVE_CUSPARSE)
    #include <cusparse.h>
  #endif

typedef struct {
  BCRTriDevice device;
  BCRCudaScan  scan; /* float fields: without the rest of the library, which has those of PetscReal */
  void        *work;
  PetscBool    single;
  BCRStream    stream;
  void        *f, *u;
  size_t       bytes;
  ptrdiff_t    n, batch;
  #if defined(PETSCBCR_HAVE_CUSPARSE)
  cusparseHandle_t handle;
  void            *dl, *d, *du, *buffer;
  #endif
} Run;

static PetscInt  reps   = 21;
static PetscBool single = PETSC_FALSE, peers = PETSC_TRUE;

static int run_solve(void *context)
{
  Run *r = (Run *)context;

  if (r->single) return BCRCudaScanSolve(r->stream, &r->scan, 1, 0, r->f, r->u, r->work);
  return BCRTriDeviceSolve(r->device, r->stream, (const PetscReal *)r->f, (PetscReal *)r->u) ? 999 : 0;
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

  if (r->single) return cusparseSgtsv2StridedBatch(r->handle, (int)r->n, (float *)r->dl, (float *)r->d, (float *)r->du, (float *)r->u, (int)r->batch, (int)r->n, r->buffer) ? 998 : 0;
  return cusparseDgtsv2StridedBatch(r->handle, (int)r->n, (double *)r->dl, (double *)r->d, (double *)r->du, (double *)r->u, (int)r->batch, (int)r->n, r->buffer) ? 998 : 0;
}

static int run_interleaved(void *context)
{
  Run *r = (Run *)context;

  if (r->single) return cusparseSgtsvInterleavedBatch(r->handle, 0, (int)r->n, (float *)r->dl, (float *)r->d, (float *)r->du, (float *)r->u, (int)r->batch, r->buffer) ? 998 : 0;
  return cusparseDgtsvInterleavedBatch(r->handle, 0, (int)r->n, (double *)r->dl, (double *)r->d, (double *)r->du, (double *)r->u, (int)r->batch, r->buffer) ? 998 : 0;
}
  #endif

/* max|f - A u| / (||A|| max|u| + max|f|) over line `line` of the array */
static PetscErrorCode BackwardError(Run *r, const BCRTriSpec *s, PetscInt line, double *error)
{
  const size_t   size = r->single ? sizeof(float) : sizeof(double);
  const PetscInt n    = s->n;
  double        *v[2], nr = 0, nu = 0, nf = 0, na = 0, row[3];
  char          *line_;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc3(n, &v[0], n, &v[1], (size_t)n * size, &line_));
  for (int k = 0; k < 2; k++) {
    const char *from = (const char *)(k ? r->u : r->f) + size * (size_t)(line % s->inner + s->inner * n * (line / s->inner));

    if (s->inner == 1) PetscCallBCRCuda(BCRCudaGet(line_, from, (size_t)n * size, r->stream));
    else
      for (PetscInt j = 0; j < n; j++) PetscCallBCRCuda(BCRCudaGet(line_ + size * j, from + size * (size_t)(s->inner * j), size, r->stream));
    for (PetscInt j = 0; j < n; j++) v[k][j] = r->single ? (double)((float *)line_)[j] : ((double *)line_)[j];
  }
  for (PetscInt j = 0; j < n; j++) {
    long double x = v[0][j];

    BCRTriGetRow(s, s->perline ? line : 0, j, row);
    x -= (long double)row[0] * v[1][j ? j - 1 : n - 1] + (long double)row[1] * v[1][j] + (long double)row[2] * v[1][j < n - 1 ? j + 1 : 0];
    nr = PetscMax(nr, fabs((double)x));
    if (!(x == x)) nr = 1e300;
    nf = PetscMax(nf, fabs(v[0][j]));
    nu = PetscMax(nu, fabs(v[1][j]));
    na = PetscMax(na, fabs(row[0]) + fabs(row[1]) + fabs(row[2]));
  }
  *error = PetscMax(*error, nr / (na * nu + nf));
  PetscCall(PetscFree3(v[0], v[1], line_));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  const char     *name, *axis;
  int             dim;
  PetscInt        inner, n, outer;
  double          d;       /* diagonal, couplings are -1; below 2: each line has one of its own, from 2 to 6 */
  int             general; /* coefficients in arrays */
  BCRTriMethod    method;
  PetscInt        variant, parts;
  int             memory;
  BCRTriPrecision precision;
  const char     *label;
  int             tune[4];
} Case;

static PetscErrorCode Row(const Case *c, const char *solver, const char *precision, double time, double copy, double setup, double error, const char *what)
{
  PetscFunctionBeginUser;
  printf("cuda_lines,%s,%dx%dx%d,%d,%s,%s,%s,1,%.5f,%.5f,%.3f,", c->name, (int)c->inner, (int)c->n, (int)c->outer, (int)c->n, c->axis, precision, solver, time, copy, time / copy);
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
  const size_t             N = (size_t)c->inner * c->n * c->outer, size = single ? sizeof(float) : sizeof(double);
  const PetscInt           lines = c->inner * c->outer;
  Run                      r;
  BCRTriSpec               s;
  BCRTriOptions            o;
  BCRTriRows              *rows;
  PetscReal               *low = NULL, *diag = NULL, *up = NULL;
  BCRTriInfo               info;
  PetscLogDouble           t0, t1;
  double                   copy, time, error = 0;
  char                     solver[64];

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(&r, sizeof(r)));
  PetscCall(PetscMemzero(&s, sizeof(s)));
  PetscCall(PetscMemzero(&o, sizeof(o)));
  r.single = single;
  r.bytes  = N * size;
  r.n      = c->n;
  r.batch  = lines;
  PetscCallBCRCuda(BCRCudaMalloc(r.bytes, &r.u));
  PetscCallBCRCuda(BCRCudaMalloc(r.bytes, &r.f));
  if (single) {
    double         *g;
    const int       n[3]  = {(int)c->n, (int)lines, 1};
    const ptrdiff_t st[3] = {1, c->n, (ptrdiff_t)N};

    PetscCallBCRCuda(BCRCudaMalloc(N * sizeof(double), &g));
    PetscCallBCRCuda(BCRCudaTrial(r.stream, (long)N, g));
    PetscCallBCRCuda(BCRCudaScaleCopy(r.stream, n, 0, g, st, 1, r.f, st, NULL, NULL));
    PetscCallBCRCuda(BCRCudaSynchronize(r.stream));
    PetscCallBCRCuda(BCRCudaFree(g));
  } else PetscCallBCRCuda(BCRCudaTrial(r.stream, (long)N, (double *)r.f));
  s.inner   = c->inner;
  s.n       = c->n;
  s.outer   = c->outer;
  s.rep     = 1;
  s.perline = c->d < 2 ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(PetscCalloc1(s.perline ? lines : 1, &rows));
  for (PetscInt l = 0; l < (s.perline ? lines : 1); l++) {
    rows[l].row[0] = rows[l].row[2] = -1;
    rows[l].row[1]                  = (PetscReal)(s.perline ? 4 - 2 * cos(M_PI * (l + 1) / (lines + 1)) : c->d);
  }
  s.rows = rows;
  if (c->general) {
    const size_t entries = (size_t)c->n * (size_t)(s.perline ? lines : 1);

    PetscCall(PetscMalloc3(entries, &low, entries, &diag, entries, &up));
    for (size_t i = 0; i < entries; i++) {
      low[i]  = (PetscReal)(-1 + 0.3 * sin((double)i));
      up[i]   = (PetscReal)(-1 + 0.3 * cos(2. * (double)i));
      diag[i] = (PetscReal)3;
    }
    s.rows = NULL;
    s.low  = low;
    s.diag = diag;
    s.up   = up;
  }
  o.method    = c->method;
  o.variant   = c->variant;
  o.parts     = c->parts;
  o.memory    = c->memory;
  o.precision = c->precision;
  BCRTriDeviceTune(c->tune);
  PetscCall(PetscTime(&t0));
  if (single) {
    BCRTriScanLine *L;
    const PetscInt  sets = s.perline ? lines : 1;
    double         *abc, *G, *tab, decay = 0;
    void           *dev;

    PetscCall(PetscMalloc4(sets, &L, 3 * sets, &abc, 8 * sets, &G, BCR_CUDA_SCAN_NUMBERS(2) * sets, &tab));
    for (PetscInt l = 0; l < sets; l++) {
      PetscCall(BCRTriScanSetLine(&s, 1, l, 1, 1, &L[l]));
      abc[l]            = L[l].alpha;
      abc[sets + l]     = L[l].beta;
      abc[2 * sets + l] = L[l].gamma;
      for (int e = 0; e < 8; e++) G[e * sets + l] = L[l].G[e];
      decay = PetscMax(decay, BCRTriScanDecay(L[l].alpha, 1));
    }
    r.scan.inner   = c->inner;
    r.scan.n       = c->n;
    r.scan.outer   = c->outer;
    r.scan.rep     = 1;
    r.scan.sets    = sets;
    r.scan.perline = s.perline ? 1 : 0;
    r.scan.h = r.scan.t = 1;
    r.scan.reach        = (ptrdiff_t)PetscMin((double)c->n, decay + 1);
    for (int i = 0; i < 4; i++) r.scan.tune[i] = c->tune[i];
    BCRCudaScanTables(&r.scan, 1, 0, abc, G, tab);
    PetscCallBCRCuda(BCRCudaMalloc(BCR_CUDA_SCAN_NUMBERS(2) * sizeof(double) * sets, &dev));
    PetscCallBCRCuda(BCRCudaPut(dev, tab, BCR_CUDA_SCAN_NUMBERS(2) * sizeof(double) * sets, r.stream));
    r.scan.tab = (const double *)dev;
    PetscCallBCRCuda(BCRCudaMalloc(BCRCudaScanWorkspace(&r.scan, 1, 0), &r.work));
    PetscCall(PetscFree4(L, abc, G, tab));
    PetscCall(PetscMemzero(&info, sizeof(info)));
    info.method = BCR_TRI_SCAN;
  } else {
    PetscCall(BCRTriDeviceCreate(&s, &o, &r.device));
    PetscCall(BCRTriDeviceGetInfo(r.device, &info));
  }
  PetscCall(PetscTime(&t1));
  PetscCall(BenchDeviceMedian(r.stream, run_copy, &r, 2, reps, &copy));
  PetscCall(BenchDeviceMedian(r.stream, run_solve, &r, 2, reps, &time));
  PetscCall(BackwardError(&r, &s, 0, &error));
  PetscCall(BackwardError(&r, &s, lines / 2, &error));
  if (c->tune[0] || c->tune[1] || c->tune[2] || c->tune[3]) PetscCall(PetscSNPrintf(solver, sizeof(solver), "%s %d.%d.%d.%d", names[info.method], c->tune[0], c->tune[1], c->tune[2], c->tune[3]));
  else if (c->label) PetscCall(PetscStrncpy(solver, c->label, sizeof(solver)));
  else PetscCall(PetscStrncpy(solver, names[info.method], sizeof(solver)));
  PetscCall(Row(c, solver, single || c->precision == BCR_TRI_SINGLE ? "single" : "double", time, copy, 1e3 * (t1 - t0), error, info.what));
  if (single) {
    PetscCallBCRCuda(BCRCudaFree((void *)r.scan.tab));
    PetscCallBCRCuda(BCRCudaFree(r.work));
  }
  PetscCall(BCRTriDeviceDestroy(&r.device));
  #if defined(PETSCBCR_HAVE_CUSPARSE)
  if (peers && !c->label && lines > 1 && N <= 40000000) { /* interleaved: lines along y or z of the array as one plane */
    const PetscBool along = c->inner == 1 ? PETSC_TRUE : PETSC_FALSE;
    size_t          bytes;
    int             e;

    if (along || c->outer == 1) {
      double *h;
      float  *hf;
      void  **to[3] = {&r.dl, &r.d, &r.du};

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
        e = along ? cusparseSgtsv2StridedBatch_bufferSizeExt(r.handle, (int)r.n, (float *)r.dl, (float *)r.d, (float *)r.du, (float *)r.u, (int)r.batch, (int)r.n, &bytes)
                  : cusparseSgtsvInterleavedBatch_bufferSizeExt(r.handle, 0, (int)r.n, (float *)r.dl, (float *)r.d, (float *)r.du, (float *)r.u, (int)r.batch, &bytes);
      else
        e = along ? cusparseDgtsv2StridedBatch_bufferSizeExt(r.handle, (int)r.n, (double *)r.dl, (double *)r.d, (double *)r.du, (double *)r.u, (int)r.batch, (int)r.n, &bytes)
                  : cusparseDgtsvInterleavedBatch_bufferSizeExt(r.handle, 0, (int)r.n, (double *)r.dl, (double *)r.d, (double *)r.du, (double *)r.u, (int)r.batch, &bytes);
      PetscCheck(!e, PETSC_COMM_SELF, PETSC_ERR_LIB, "cuSPARSE error %d", e);
      PetscCallBCRCuda(BCRCudaMalloc(bytes, &r.buffer));
      PetscCallBCRCuda(BCRCudaCopy(r.u, r.f, r.bytes, r.stream));
      PetscCall(BenchDeviceMedian(r.stream, along ? run_strided : run_interleaved, &r, 2, 5, &time));
      PetscCall(Row(c, along ? "cusparse_gtsv2StridedBatch" : "cusparse_gtsvInterleavedBatch", single ? "single" : "double", time, copy, -1, -1, "coefficients in arrays"));
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

int main(int argc, char **argv)
{
  char      suites[256] = "lines,long,three", name[64];
  PetscBool has;
  char     *at;
  PetscInt  most = 268435456, mostn = 16384;
  int       major, minor, sms, shared;
  Case      c;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, "Lines on one CUDA device"));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-suites", suites, sizeof(suites), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-reps", &reps, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-max", &most, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-maxn", &mostn, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-single", &single, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-peers", &peers, NULL));
  PetscCallBCRCuda(BCRCudaDeviceName(name, sizeof(name), &major, &minor, &sms, &shared));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-no_header", &has));
  if (!has) {
    printf("# %s, sm_%d%d, PETSc %d.%d.%d, medians of %d\n", name, major, minor, PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, PETSC_VERSION_SUBMINOR, (int)reps);
    printf("program,case,dims,n,axis,precision,solver,ranks,time_ms,copy_ms,ratio_to_copy,setup_ms,residual,plan\n");
  }
  PetscCall(PetscStrstr(suites, "lines", &at));
  if (at)
    for (PetscInt n = 1024; n <= mostn; n *= 2)
      for (int y = 0; y < 2; y++)
        for (int k = 0; k < 3; k++) {
          PetscCall(PetscMemzero(&c, sizeof(c)));
          c.name   = k == 0 ? "d=2" : (k == 1 ? "d=4" : "d=2..6");
          c.d      = k == 0 ? 2 : (k == 1 ? 4 : 0);
          c.axis   = y ? "y" : "x";
          c.inner  = y ? n : 1;
          c.outer  = y ? 1 : n;
          c.n      = n;
          c.method = BCR_TRI_SCAN;
          if (k) c.label = "scan";
          PetscCall(Solve(&c));
        }
  PetscCall(PetscStrstr(suites, "long", &at));
  if (at)
    for (PetscInt n = 1048576; n <= most; n *= 16)
      for (int k = 0; k < 2; k++) {
        PetscCall(PetscMemzero(&c, sizeof(c)));
        c.name   = k == 0 ? "line_d=2" : "line_d=4";
        c.d      = k == 0 ? 2 : 4;
        c.axis   = "x";
        c.inner  = 1;
        c.outer  = 1;
        c.n      = n;
        c.method = BCR_TRI_SCAN;
        PetscCall(Solve(&c));
      }
  PetscCall(PetscStrstr(suites, "three", &at));
  if (at)
    for (PetscInt n = 256; n <= 512; n *= 2)
      for (int a = 0; a < 3; a++)
        for (int k = 0; k < 2; k++) {
          PetscCall(PetscMemzero(&c, sizeof(c)));
          c.name   = k == 0 ? "d=2" : "d=4";
          c.d      = k == 0 ? 2 : 4;
          c.axis   = a == 0 ? "x" : (a == 1 ? "y" : "z");
          c.inner  = a == 0 ? 1 : (a == 1 ? n : n * n);
          c.outer  = a == 0 ? n * n : (a == 1 ? n : 1);
          c.n      = n;
          c.method = BCR_TRI_SCAN;
          if (k) c.label = "scan";
          PetscCall(Solve(&c));
        }
  PetscCall(PetscStrstr(suites, "methods", &at)); /* paper 002, chapter 2: near-Toeplitz against general lines, shared against global memory */
  if (at)
    for (PetscInt n = 512; n <= 4096; n *= 2)
      for (int y = 0; y < 2; y++)
        for (int k = 0; k < 8; k++) {
          static const struct {
            const char  *label;
            BCRTriMethod method;
            int          memory, variant, general;
          } M[] = {
            {"scan",                               BCR_TRI_SCAN,    0, 0, 0},
            {"cr shared",                          BCR_TRI_CR,      1, 0, 0},
            {"cr global",                          BCR_TRI_CR,      2, 0, 0},
            {"pscheme rearranged",                 BCR_TRI_PSCHEME, 0, 0, 0},
            {"pscheme plain",                      BCR_TRI_PSCHEME, 0, 1, 0},
            {"dc parallel",                        BCR_TRI_DC,      0, 0, 0},
            {"thomas",                             BCR_TRI_THOMAS,  0, 0, 0},
            {"thomas with coefficients in arrays", BCR_TRI_THOMAS,  0, 0, 1}
          };

          PetscCall(PetscMemzero(&c, sizeof(c)));
          c.name    = M[k].general ? "general" : "d=4";
          c.d       = M[k].general ? 0 : 4;
          c.axis    = y ? "y" : "x";
          c.inner   = y ? n : 1;
          c.outer   = y ? 1 : n;
          c.n       = n;
          c.method  = M[k].method;
          c.memory  = M[k].memory;
          c.variant = M[k].variant;
          c.general = M[k].general;
          c.label   = M[k].label;
          PetscCall(Solve(&c));
        }
  PetscCall(PetscStrstr(suites, "variants", &at)); /* paper 004: one line, its variants against the length and the sequential form */
  if (at)
    for (PetscInt n = 16384; n <= 4194304; n *= 4)
      for (int k = 0; k < 6; k++) {
        static const struct {
          const char     *label;
          BCRTriMethod    method;
          PetscInt        variant;
          BCRTriPrecision precision;
        } M[] = {
          {"dc A1D",  BCR_TRI_DC,      1, BCR_TRI_DOUBLE},
          {"dc A2S",  BCR_TRI_DC,      0, BCR_TRI_SINGLE},
          {"dc A2D",  BCR_TRI_DC,      0, BCR_TRI_DOUBLE},
          {"dc A2SD", BCR_TRI_DC,      0, BCR_TRI_MIXED },
          {"pscheme", BCR_TRI_PSCHEME, 0, BCR_TRI_DOUBLE},
          {"scan",    BCR_TRI_SCAN,    0, BCR_TRI_DOUBLE}
        };

        if (k == 0 && n > 300000) continue; /* a thread takes its time */
        PetscCall(PetscMemzero(&c, sizeof(c)));
        c.name      = "line_d=2.05";
        c.d         = 2.05;
        c.axis      = "x";
        c.inner     = 1;
        c.outer     = 1;
        c.n         = n;
        c.method    = M[k].method;
        c.variant   = M[k].variant;
        c.precision = M[k].precision;
        c.label     = M[k].label;
        PetscCall(Solve(&c));
      }
  PetscCall(PetscStrstr(suites, "tune", &at));
  if (at) {
    static const int T[][6] = {
  /* n, along x, tune */
      {1024,  1, 16, 2,  0, 0 },
      {1024,  1, 32, 1,  0, 0 },
      {2048,  1, 16, 4,  0, 0 },
      {2048,  1, 32, 2,  0, 0 },
      {4096,  1, 16, 8,  0, 0 },
      {4096,  1, 32, 4,  0, 0 },
      {8192,  1, 32, 8,  0, 0 },
      {8192,  1, 32, 4,  0, 0 },
      {8192,  1, 16, 8,  0, 0 },
      {16384, 1, 32, 8,  0, 0 },
      {16384, 1, 32, 4,  0, 0 },
      {16384, 1, 32, 16, 0, 0 },
      {256,   1, 8,  1,  0, 0 },
      {512,   1, 16, 1,  0, 0 },
      {256,   0, 16, 16, 0, 16},
      {256,   0, 32, 8,  0, 16},
      {256,   0, 32, 8,  0, 32},
      {512,   0, 32, 16, 0, 16},
      {512,   0, 32, 16, 0, 32},
      {1024,  0, 32, 32, 0, 16},
      {1024,  0, 32, 16, 0, 16},
      {1024,  0, 32, 16, 0, 32},
      {1024,  0, 32, 32, 0, 8 },
      {2048,  0, 32, 32, 0, 16},
      {2048,  0, 32, 16, 0, 16},
      {2048,  0, 32, 16, 0, 32},
      {4096,  0, 32, 32, 0, 16},
      {4096,  0, 32, 16, 0, 16},
      {4096,  0, 32, 16, 0, 32},
      {4096,  0, 32, 8,  0, 32},
      {4096,  0, 32, 32, 0, 8 },
      {8192,  0, 32, 32, 0, 16},
      {8192,  0, 32, 16, 0, 32},
      {16384, 0, 32, 32, 0, 16}
    };

    for (size_t i = 0; i < sizeof(T) / sizeof(T[0]); i++)
      for (int k = 0; k < (T[i][4] ? 2 : 1); k++) {
        const PetscInt n = T[i][0];

        PetscCall(PetscMemzero(&c, sizeof(c)));
        c.name   = k ? "d=4" : "d=2";
        c.d      = k ? 4 : 2;
        c.axis   = T[i][1] ? "x" : (n < 1000 ? "z" : "y");
        c.inner  = T[i][1] ? 1 : (n < 1000 ? n * n : n);
        c.outer  = T[i][1] ? (n < 1000 ? n * n : n) : 1;
        c.n      = n;
        c.method = BCR_TRI_SCAN;
        c.label  = "scan";
        for (int q = 0; q < 4; q++) c.tune[q] = T[i][2 + q];
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
