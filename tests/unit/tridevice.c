/*
  Batches of tridiagonal lines on a CUDA device against LAPACK: methods, layouts, ends, periodic
  lines, precisions, sizes around powers of two and those that are cut into chunks; lines with d =
  2. Says so and passes where there is no device.

  Options: -long (lines of up to 2^24 rows too), -quick, -sanitizer (a tenth, a hundredth of the cases)
*/
#include "../../src/tridiagonal/device.h"
#include "tests/check.h"
#include <petscblaslapack.h>

static int passed = 0, failed = 0;

#if defined(PETSCBCR_HAVE_CUDA)
  #include "tricases.h"

typedef struct {
  Shape s;
  BCRTriMethod method;
  BCRTriPrecision precision;
  int inplace, variant, memory, tune[5];
  PetscInt parts;
} Case;

/* The solution of one line: LAPACK, pivoting, in double whatever PetscReal is; periodic lines of
   any length through their last unknown */
static PetscErrorCode reference(const BCRTriSpec *spec, PetscInt line, const PetscReal *f, double *u)
{
  extern void dgtsv_(const PetscBLASInt *, const PetscBLASInt *, double *, double *, double *, double *,
                     const PetscBLASInt *, PetscBLASInt *);
  const PetscInt n = spec->n, m = spec->periodic ? n - 1 : n;
  const PetscBLASInt nrhs = 2;
  PetscBLASInt bn, info = 0;
  double *dl, *d, *du, *x, row[3], last[3] = {0, 0, 0};

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(m, &bn));
  PetscCall(PetscMalloc4(n, &dl, n, &d, n, &du, 2 * n, &x));
  for (PetscInt j = 0; j < m; j++) {
    BCRTriGetRow(spec, line, j, row);
    if (j) dl[j - 1] = row[0];
    d[j] = row[1];
    du[j] = row[2];
    x[j] = f[j];
    x[m + j] = (spec->periodic && j == 0 ? row[0] : 0) + (spec->periodic && j == m - 1 ? row[2] : 0);
  }
  if (m) dgtsv_(&bn, &nrhs, dl, d, du, x, &bn, &info);
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "LAPACK info %d", (int)info);
  if (spec->periodic) {
    double g = f[n - 1], p;

    BCRTriGetRow(spec, line, n - 1, last);
    p = last[1] + (m ? 0 : last[0] + last[2]);
    if (m) {
      g -= last[0] * x[m - 1] + last[2] * x[0];
      p -= last[0] * x[2 * m - 1] + last[2] * x[m];
    }
    u[n - 1] = g / p;
  }
  for (PetscInt j = 0; j < m; j++) u[j] = x[j] - (spec->periodic ? u[n - 1] * x[m + j] : 0);
  PetscCall(PetscFree4(dl, d, du, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Divide and conquer loses digits where it has to put much right at the ends: no more than on the host */
static PetscErrorCode onhost(const Case *c, const BCRTriSpec *spec, const BCRTriOptions *options, const PetscReal *f,
                             double *worst)
{
  const size_t size = (size_t)c->s.inner * c->s.n * c->s.outer;
  BCRTriLocal local;
  PetscReal *u, *lf, *lu;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(size, &u, c->s.n, &lf, c->s.n, &lu));
  PetscCall(BCRTriLocalCreate(spec, options, &local));
  PetscCall(BCRTriLocalSolve(local, f, u));
  PetscCall(BCRTriLocalDestroy(&local));
  *worst = 0;
  for (PetscInt o = 0; o < c->s.outer; o++)
    for (PetscInt i = 0; i < c->s.inner; i++) {
      for (PetscInt j = 0; j < c->s.n; j++) {
        lf[j] = f[i + (size_t)c->s.inner * (j + (size_t)c->s.n * o)];
        lu[j] = u[i + (size_t)c->s.inner * (j + (size_t)c->s.n * o)];
      }
      TestLargest(worst, backward(spec, i / c->s.rep + c->s.inner / c->s.rep * o, lf, lu));
    }
  PetscCall(PetscFree3(u, lf, lu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode run(const Case *c, double *error)
{
  /* at: odd lengths begin anywhere, others 16 bytes */
  const size_t size = (size_t)c->s.inner * c->s.n * c->s.outer, at = c->s.n % 2 ? 1 : 4,
               bytes = (size + at + 1) * sizeof(PetscReal);
  const PetscInt across = c->s.inner / c->s.rep, lines = across * c->s.outer;
  BCRTriSpec spec;
  BCRTriOptions options;
  BCRTriDevice device;
  PetscReal *f, *u, *lf, *lu, *df, *du;
  double worst = 0, differ = 0, tolerance, *lx;
  BCRTriInfo info;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(make(&c->s, &spec));
  PetscCall(PetscMemzero(&options, sizeof(options)));
  options.method = c->method;
  options.precision = c->precision;
  options.variant = c->variant;
  options.memory = c->memory;
  options.parts = c->parts;
  options.isa = -1;
  PetscCall(PetscMalloc5(size + at + 1, &f, size + at + 1, &u, c->s.n, &lf, c->s.n, &lu, c->s.n, &lx));
  for (size_t i = 0; i < size + at + 1; i++) f[i] = i + 1 < at ? 0 : (PetscReal)number();
  for (size_t i = 0; i < size + at + 1; i++) u[i] = 77;
  if (c->inplace) PetscCall(PetscArraycpy(u + at, f + at, size));
  PetscCallBCRCuda(BCRCudaMalloc(bytes, &df));
  PetscCallBCRCuda(BCRCudaMalloc(bytes, &du));
  PetscCallBCRCuda(BCRCudaPut(df, f, bytes, NULL));
  PetscCall(PetscArraycpy(options.tune, c->tune, 5));
  PetscCall(BCRTriDeviceCreate(&spec, &options, &device));
  ierr = PETSC_SUCCESS;
  /* blocks that wait for each other count the solves */
  for (int again = 0; again < (c->method == BCR_TRI_SCAN ? 3 : 1) && !ierr; again++) {
    PetscCallBCRCuda(BCRCudaPut(du, u, bytes, NULL));
    ierr = BCRTriDeviceSolve(device, NULL, c->inplace ? du + at : df + at, du + at);
  }
  if (ierr) printf("the next case raised error %d\n", (int)ierr);
  PetscCall(BCRTriDeviceGetInfo(device, &info));
  PetscCallBCRCuda(BCRCudaGet(u, du, bytes, NULL));
  PetscCall(BCRTriDeviceDestroy(&device));
  PetscCallBCRCuda(BCRCudaFree(df));
  PetscCallBCRCuda(BCRCudaFree(du));
  for (PetscInt o = 0; o < c->s.outer; o++)
    for (PetscInt i = 0; i < c->s.inner; i++) {
      const PetscInt line = i / c->s.rep + across * o;
      double nu = 0;

      if (lines > 200 && line % 37 && line != lines - 1) continue;
      for (PetscInt j = 0; j < c->s.n; j++) {
        lf[j] = f[at + i + (size_t)c->s.inner * (j + (size_t)c->s.n * o)];
        lu[j] = u[at + i + (size_t)c->s.inner * (j + (size_t)c->s.n * o)];
      }
      TestLargest(&worst, backward(&spec, line, lf, lu));
      if (c->s.n > 4000000) continue;
      PetscCall(reference(&spec, line, lf, lx));
      for (PetscInt j = 0; j < c->s.n; j++) nu = PetscMax(nu, fabs(lx[j]));
      for (PetscInt j = 0; j < c->s.n; j++) TestLargest(&differ, fabs(((double)lu[j] - lx[j])) / nu);
    }
  tolerance = PetscDefined(USE_REAL_SINGLE) || c->precision == BCR_TRI_SINGLE ||
                  (c->method == BCR_TRI_DC && c->precision == BCR_TRI_MIXED)
                ? 5e-7
                : 1e-15;
  if (error) error[tolerance > 1e-10] = PetscMax(error[tolerance > 1e-10], worst);
  /* growth at ends that are not dominant */
  if (c->s.kind == KIND_COMPACT && c->s.edges) tolerance *= 100;
  /* sums over the whole line: the bound of the library */
  if ((c->s.kind == KIND_TWO || c->s.kind == KIND_NEARTWO) && c->method == BCR_TRI_SCAN && tolerance < 1e-14)
    tolerance = 1e-14;
  if (c->method == BCR_TRI_DC && worst > tolerance) {
    double host = 0;

    PetscCall(onhost(c, &spec, &options, f + at, &host));
    tolerance = PetscMax(tolerance, 4 * host);
  }
  if (!ierr && worst <= tolerance && u[at - 1] == 77 && u[size + at] == 77 &&
      (c->s.kind != KIND_DOMINANT || differ <= 1e3 * tolerance))
    passed++;
  else {
    failed++;
    if (failed < 60)
      printf("%s variant %d memory %d parts %d, %s, inner %d n %d outer %d rep %d, general %d perline %d periodic %d "
             "edges %d, precision %d, in place %d, tune %d %d %d %d: backward error %g, difference %g%s [%s]\n",
             methodnames[c->method], c->variant, c->memory, (int)c->parts, kinds[c->s.kind], (int)c->s.inner,
             (int)c->s.n, (int)c->s.outer, (int)c->s.rep, c->s.general, c->s.perline, c->s.periodic, c->s.edges,
             (int)c->precision, c->inplace, c->tune[0], c->tune[1], c->tune[2], c->tune[3], worst, differ,
             u[at - 1] != 77 || u[size + at] != 77 ? ", wrote outside" : "", info.what);
  }
  PetscCall(PetscFree5(f, u, lf, lu, lx));
  PetscCall(unmake(&c->s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what there is, and is not singular */
static PetscBool can(const Case *c)
{
  if (c->s.general && (c->s.kind == KIND_NEARTWO || c->s.kind == KIND_COMPACT)) return PETSC_FALSE;
  if (c->s.general && (c->method == BCR_TRI_SCAN || c->method == BCR_TRI_CR || c->method == BCR_TRI_DC))
    return PETSC_FALSE;
  if (c->s.periodic && (c->s.kind == KIND_TWO || c->s.kind == KIND_NEARTWO) && (c->s.general || !c->s.edges))
    return PETSC_FALSE;
  return PETSC_TRUE;
}

static PetscErrorCode all(PetscInt part, PetscBool longer)
{
  static const PetscInt shapes[][2] = {
    {1,   1  },
    {1,   5  },
    {2,   1  },
    {3,   4  },
    {7,   3  },
    {38,  2  },
    {100, 1  },
    {1,   300},
    {600, 1  }
  };
  static const PetscInt sizes[] = {1,   2,   3,   4,   5,   7,   31,  32,   33,   61,   127,  128,
                                   129, 130, 255, 256, 257, 511, 513, 1021, 1024, 1025, 2049, 4099};
  static const BCRTriMethod methods[] = {BCR_TRI_SCAN, BCR_TRI_THOMAS, BCR_TRI_CR, BCR_TRI_PSCHEME, BCR_TRI_DC};
  double error[6][2] = {{0}};

  PetscFunctionBegin;
  for (size_t m = 0; m < PETSC_STATIC_ARRAY_LENGTH(methods); m++)
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++)
      for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++)
        for (int kind = 0; kind < KIND_WEAK; kind++)
          for (int v = 0; v < 4; v++) {
            Case c;

            PetscCall(PetscMemzero(&c, sizeof(c)));
            c.s.inner = shapes[s][0];
            c.s.outer = shapes[s][1];
            c.s.n = sizes[k];
            c.s.kind = (Kind)kind;
            c.method = methods[m];
            c.s.rep = c.s.inner % 2 == 0 && (s + k) % 2 ? 2 : 1;
            c.s.perline = v % 2;
            c.s.periodic = v / 2;
            c.s.edges = (int)((s + k + v + kind) % 4);
            c.inplace = (int)((k + v) % 2);
            if (c.s.inner * c.s.outer * c.s.n > 300000 && kind % 3) continue;
            if ((s * 7 + k * 5 + (size_t)kind * 3 + (size_t)v) % (size_t)part) continue; /* one in so many */
            if (c.method == BCR_TRI_CR) c.memory = 1 + (int)((s + k + (size_t)kind) % 2);
            if (c.method == BCR_TRI_PSCHEME || c.method == BCR_TRI_DC) {
              c.variant = (int)((s + k + (size_t)(kind / 2)) % 2);
              c.parts = (PetscInt)((s + k) % 3 ? 0 : 1 + (k * 7 + (size_t)kind) % 40);
            }
            for (c.s.general = 0; c.s.general < 2; c.s.general++) {
              if (!can(&c)) continue;
              c.precision = BCR_TRI_DOUBLE;
              PetscCall(run(&c, error[c.method]));
              c.precision = BCR_TRI_SINGLE;
              if ((s + 2 * k + (size_t)v + (size_t)kind) % 3 == 0) PetscCall(run(&c, error[c.method]));
              c.precision = BCR_TRI_MIXED; /* dc: A2SD; the others work in double */
              if ((s + 2 * k + (size_t)v + (size_t)kind) % 3 == 1 && !(c.method == BCR_TRI_DC && c.variant == 1))
                PetscCall(run(&c, error[c.method]));
            }
          }
  /* scan in chunks and in other cuts, clusters among them */
  for (int q = 0; q < 440 / part; q++) {
    static const int K[] = {4, 8, 16, 32};
    Case c;

    PetscCall(PetscMemzero(&c, sizeof(c)));
    c.method = BCR_TRI_SCAN;
    c.s.inner = q % 2 ? 1 : (q % 4 ? 40 : 3);
    c.s.outer = q % 2 ? 3 : 1;
    c.s.rep = 1;
    c.s.kind = (Kind)(q / 4 % KIND_WEAK);
    c.s.perline = q / 24 % 2;
    c.s.periodic = q / 48 % 2;
    c.s.edges = q / 5 % 4;
    c.inplace = q / 3 % 2;
    c.precision = q % 7 ? BCR_TRI_DOUBLE : BCR_TRI_SINGLE;
    c.tune[0] = K[q / 2 % 4];
    c.tune[1] = q % 2 ? 1 + q % 4 : 2 * (1 + q % 8);
    c.tune[2] = q / 8 % 2;
    c.tune[3] = q % 3 ? 16 : 8;
    if (c.s.inner == 1) c.tune[3] = q / 9 % 2; /* 1: no vectors */
    if (c.tune[2]) c.tune[0] = c.s.inner == 1 ? 16 : (q % 8 < 4 ? 16 : 32);
    c.s.n = (q % 2 ? 32 : 1) * c.tune[0] * c.tune[1] * (c.tune[2] ? 12 : 1 + q % 6) - q / 2 % 40;
    if (c.s.n < 8) c.s.n = 8;
    if (can(&c)) PetscCall(run(&c, error[c.method]));
  }
  /* in pieces across, in ranges along: few and many of them, all that wait for all or for neighbours */
  for (int q = 0; q < 660 / part; q++) {
    static const int across[][3] = {
      {16, 8,  32},
      {32, 8,  32},
      {32, 16, 32},
      {32, 16, 16},
      {64, 8,  32}
    };
    const int cuts = PetscDefined(USE_REAL_SINGLE) ? 5 : 4; /* 64 rows of a thread: of fields in single precision */
    static const int along[][2] = {
      {16, 4},
      {16, 8},
      {32, 4}
    };
    static const int inner[] = {3, 32, 40, 65};
    Case c;
    int rows;

    PetscCall(PetscMemzero(&c, sizeof(c)));
    c.method = BCR_TRI_SCAN;
    c.s.rep = 1;
    c.s.kind = (Kind)(q / 3 % KIND_WEAK);
    c.s.inner = q % 3 ? inner[q / 5 % 4] : 1;
    c.s.outer = 1 + q / 7 % 3;
    for (int i = 0; i < 3; i++)
      c.tune[i + (i == 2)] = c.s.inner > 1 ? across[q / 2 % cuts][i] : (i < 2 ? along[q / 9 % 3][i] : 0);
    c.tune[2] = 2;
    rows = c.tune[0] * c.tune[1] * (c.s.inner > 1 ? 1 : 32);
    c.s.n = rows * (1 + q / 4 % (c.s.inner == 1 ? 40 : (q % 9 ? 12 : 64))) + 1 - q % 50;
    c.s.perline = c.s.inner > 1 && q / 11 % 2;
    c.s.periodic = q / 13 % 2;
    c.s.edges = q / 5 % 4;
    c.inplace = q / 2 % 2;
    c.precision = q % 7 && c.tune[0] < 64 ? BCR_TRI_DOUBLE : BCR_TRI_SINGLE;
    if (can(&c)) PetscCall(run(&c, error[c.method]));
  }
  /* whole lines across, blocks that go from some of them to the next ones */
  for (int q = 0; q < PetscMax(96 / part, 12); q++) {
    static const int across[][3] = {
      {16, 8,  32},
      {32, 8,  32},
      {32, 16, 16},
      {32, 16, 32},
      {64, 8,  32}
    };
    const int cuts = PetscDefined(USE_REAL_SINGLE) ? 5 : 4;
    Case c;

    PetscCall(PetscMemzero(&c, sizeof(c)));
    c.method = BCR_TRI_SCAN;
    c.s.rep = 1;
    c.s.kind = (Kind)(q / 3 % KIND_WEAK);
    c.s.inner = q % 3 ? 150 : 33;
    c.s.outer = q % 3 ? 1 + q % 2 : 9;
    for (int i = 0; i < 3; i++) c.tune[i + (i == 2)] = across[q % cuts][i];
    c.tune[2] = 2;
    c.tune[4] = 1; /* two or three blocks */
    c.s.n = c.tune[0] * c.tune[1] + 1 - q / 6 % 17 * 3;
    c.s.perline = q / 11 % 2;
    c.s.periodic = q / 13 % 2;
    c.s.edges = q / 5 % 4;
    c.inplace = q / 2 % 2;
    c.precision = q % 7 && c.tune[0] < 64 ? BCR_TRI_DOUBLE : BCR_TRI_SINGLE;
    if (can(&c)) PetscCall(run(&c, error[c.method]));
  }
  if (longer) {
    static const PetscInt n[] = {16384, 16385, 65536, 100003, 1048576, 16777216};

    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(n); k++)
      for (int kind = 0; kind < 4; kind++)
        for (int v = 0; v < 4; v++) {
          Case c;

          PetscCall(PetscMemzero(&c, sizeof(c)));
          c.method = BCR_TRI_SCAN;
          c.s.n = n[k];
          c.s.inner = v % 2 ? (n[k] > 200000 ? 2 : 17) : 1;
          c.s.outer = v % 2 || n[k] > 200000 ? 1 : 3;
          c.s.rep = 1;
          c.s.kind = (Kind)kind;
          c.s.periodic = v / 2;
          c.s.edges = c.s.periodic || v == 0 ? 1 : 0;
          if (can(&c)) PetscCall(run(&c, error[c.method]));
        }
  }
  for (int m = 0; m < 6; m++)
    if (error[m][0] > 0)
      printf("%s: largest backward error %.2g, single %.2g\n", methodnames[m], error[m][0], error[m][1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(TestSeed());
#if defined(PETSCBCR_HAVE_CUDA)
  {
    PetscBool quick = PETSC_FALSE, sanitizer = PETSC_FALSE, longer = PETSC_FALSE;
    const char *why = NULL;

    PetscCall(PetscOptionsGetBool(NULL, NULL, "-quick", &quick, NULL));
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-sanitizer", &sanitizer, NULL));
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-long", &longer, NULL));
    if (BCRDeviceAvailable(&why)) PetscCall(all(sanitizer ? 151 : (quick ? 11 : 1), longer));
    else printf("no device: %s\n", why ? why : "");
  }
#else
  printf("built without CUDA\n");
#endif
  PetscCall(PetscFinalize());
  return TestStatus(1, (int)passed, (int)failed);
}
