static char help[] =
  "The figures of papers 003 and 004: recurrences by the P-scheme, and a boundary value problem by divide and conquer.\n\
  -suite <pscheme|bvp>  pscheme: speed-up over the plain loop against the number of parts, plain and rearranged array (003, figures 4, 6, 8)\n\
                        bvp: A1S, A1D, A2S, A2D and A2SD against n for both problems, time and error (004, tables I to IV)\n\
  -n <...>              sizes (pscheme: 262144,1048576; bvp: 16384, 65536, ..., 16777216)\n\
  -reps <9>             repetitions, at least 3\n\
  -csv <file>           adds the results to this file\n\n";

#include "bench.h"
#include "src/recurrence/pscheme.h"
#include "src/tridiagonal/triimpl.h"
#include <petscblaslapack.h>
#include <math.h>

#define MAX_SIZES 16
#define MAX_REPS  200
#define MAX_CASES 64

static PetscInt repetitions = 9;
static FILE *csv;

/* A row of the table; run() is what is timed */
typedef struct _Case Case;
struct _Case {
  char name[32], solver[32];
  const char *precision;
  PetscInt parts;
  BCRRecurrence r;
  BCRTriLocal tri;
  PetscScalar *d, *e; /* factors of LAPACK */
  PetscErrorCode (*run)(const Case *, PetscInt, const PetscScalar *, PetscScalar *);
  double setup, residual, error, t[MAX_REPS], c[MAX_REPS];
};

static PetscErrorCode OpenCSV(void)
{
  char path[PETSC_MAX_PATH_LEN];
  PetscBool given;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", path, sizeof(path), &given));
  if (given) {
    csv = fopen(path, "a");
    PetscCheck(csv, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "-csv %s: this file cannot be written", path);
    fseek(csv, 0, SEEK_END);
    if (!ftell(csv))
      fprintf(csv, "program,case,dims,n,axis,precision,solver,ranks,time_ms,copy_ms,ratio_to_copy,setup_ms,residual,"
                   "min_ms,min_copy_ms,ratio_min,per_unknown_ns,parts,speedup,error\n");
  }
  PetscCall(BenchEnvironment(csv, "recurrences and the boundary value problem of paper 004"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* all cases take turns; the first one is what speed-ups refer to */
static PetscErrorCode Measure(PetscInt n, Case *cases, PetscInt count, const PetscScalar *f, PetscScalar *u)
{
  double first = 0, time, mintime, copy, mincopy;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < repetitions; ++k) {
    for (PetscInt i = 0; i < count; ++i) {
      double start;

      memcpy(u, f, (size_t)n * sizeof(*u));
      start = BenchTime();
      memcpy(u, f, (size_t)n * sizeof(*u));
      cases[i].c[k] = BenchTime() - start;
      start = BenchTime();
      PetscCall(cases[i].run(&cases[i], n, f, u));
      cases[i].t[k] = BenchTime() - start;
    }
  }
  for (PetscInt i = 0; i < count; ++i) {
    Case *c = &cases[i];

    BenchStatistics(repetitions, c->t, &time, &mintime);
    BenchStatistics(repetitions, c->c, &copy, &mincopy);
    if (!i) first = time;
    printf("%-14s %10d %-7s %-12s %7d %10.4f ms %8.2f x copy  speed-up %6.2f  residual %9.2e", c->name, (int)n,
           c->precision, c->solver, (int)c->parts, 1e3 * time, time / copy, first / time, c->residual);
    if (c->error == c->error) printf("  error %9.2e", c->error);
    printf("\n");
    fflush(stdout);
    if (!csv) continue;
    fprintf(csv, "recurrence,%s,1,%d,x,%s,%s,1,%.6g,%.6g,%.4g", c->name, (int)n, c->precision, c->solver, 1e3 * time,
            1e3 * copy, time / copy);
    BenchPut(csv, "%.6g", 1e3 * c->setup);
    BenchPut(csv, "%.3g", c->residual);
    fprintf(csv, ",%.6g,%.6g,%.4g,%.4g,%d,%.4g", 1e3 * mintime, 1e3 * mincopy, mintime / mincopy, 1e9 * time / n,
            (int)c->parts, first / time);
    BenchPut(csv, "%.4g", c->error);
    fprintf(csv, "\n");
    fflush(csv);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunLoop(const Case *c, PetscInt n, const PetscScalar *f, PetscScalar *u)
{
  PetscScalar x = 1;

  PetscFunctionBegin;
  if (c->r.s) {
    for (PetscInt i = 0; i < n; ++i) u[i] = x = c->r.s[i] * x + f[i];
  } else {
    const PetscScalar s = c->r.scale;

    for (PetscInt i = 0; i < n; ++i) u[i] = x = s * x + f[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunPScheme(const Case *c, PetscInt n, const PetscScalar *f, PetscScalar *u)
{
  PetscFunctionBegin;
  (void)n;
  PetscCall(BCRRecurrenceSolve(&c->r, f, 1, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunLines(const Case *c, PetscInt n, const PetscScalar *f, PetscScalar *u)
{
  PetscFunctionBegin;
  (void)n;
  PetscCall(BCRTriLocalSolve(c->tri, (const PetscReal *)f, (PetscReal *)u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSC_USE_REAL_SINGLE)
  #define pttrf_ spttrf_
  #define pttrs_ spttrs_
#else
  #define pttrf_ dpttrf_
  #define pttrs_ dpttrs_
#endif
extern void pttrf_(const PetscBLASInt *, PetscReal *, PetscReal *, PetscBLASInt *);
extern void pttrs_(const PetscBLASInt *, const PetscBLASInt *, const PetscReal *, const PetscReal *, PetscReal *,
                   const PetscBLASInt *, PetscBLASInt *);

static PetscErrorCode RunLapack(const Case *c, PetscInt n, const PetscScalar *f, PetscScalar *u)
{
  PetscBLASInt bn, one = 1, info;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(n, &bn));
  memcpy(u, f, (size_t)n * sizeof(*u));
  pttrs_(&bn, &one, (PetscReal *)c->d, (PetscReal *)c->e, (PetscReal *)u, &bn, &info);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PSchemeSuite(PetscInt n)
{
  const PetscInt parts[] = {16, 32, 64, 128, 256, 512, 0, 1024, 2048, 4096, 8192, 16384}; /* 0: the automatic choice */
  PetscScalar *s, *t, *w;
  PetscRandom random;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(n, &s, n, &t, n, &w));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetInterval(random, -1, 1));
  for (PetscInt i = 0; i < n; ++i) {
    PetscCall(PetscRandomGetValue(random, &s[i]));
    PetscCall(PetscRandomGetValue(random, &t[i]));
    w[i] = 0;
  }
  for (int varying = 0; varying < 2; ++varying) {
    Case *cases;
    PetscInt count = 0;

    PetscCall(PetscCalloc1(MAX_CASES, &cases));
    for (int k = -1; k < 2 * (int)PETSC_STATIC_ARRAY_LENGTH(parts); ++k) {
      Case *c = &cases[count++];
      PetscReal size = 0;
      double worst = 0;

      c->precision = sizeof(PetscReal) == sizeof(double) ? "double" : "single";
      c->error = NAN;
      c->setup = NAN;
      c->r.n = n;
      c->r.s = varying ? s : NULL;
      c->r.scale = (PetscReal)0.99;
      c->r.isa = -1;
      c->run = k < 0 ? RunLoop : RunPScheme;
      PetscCall(PetscStrncpy(c->name, varying ? "varying" : "constant", sizeof(c->name)));
      PetscCall(PetscStrncpy(c->solver, k < 0 ? "loop" : (k % 2 ? "plain" : "rearranged"), sizeof(c->solver)));
      c->parts = 1;
      if (k >= 0) {
        c->r.plain = (PetscBool)(k % 2);
        c->r.parts = c->parts = parts[k / 2] ? parts[k / 2] : BCRRecurrenceParts(n, 16);
      }
      PetscCall(c->run(c, n, t, w));
      for (PetscInt i = 0; i < n; ++i) {
        const PetscScalar before = i ? w[i - 1] : 1;

        TestLargest(&worst, PetscAbsScalar(w[i] - (varying ? s[i] : c->r.scale) * before - t[i]));
        size = PetscMax(size, PetscAbsScalar(w[i]));
      }
      c->residual = (double)(worst / size);
    }
    PetscCall(Measure(n, cases, count, t, w));
    PetscCall(PetscFree(cases));
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(PetscFree3(s, t, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* problems (12) and (13) of paper 004 */
static double Source(int problem, double x)
{
  return problem == 0 ? PETSC_PI * PETSC_PI / 4 * cos(PETSC_PI / 2 * x) : 20000 * exp(-100 * x * x) * (1 - 200 * x * x);
}

static double Exact(int problem, double x)
{
  return problem == 0 ? cos(PETSC_PI / 2 * x) : 100 * (exp(-100 * x * x) - exp(-100.));
}

static PetscErrorCode BVPSuite(PetscInt n)
{
  static const struct {
    const char *name, *precision;
    BCRTriMethod method;
    PetscInt variant;
    BCRTriPrecision how;
  } solvers[] = {
    {"A1D",     "double", BCR_TRI_DC,      1, BCR_TRI_DOUBLE},
    {"A1S",     "single", BCR_TRI_DC,      1, BCR_TRI_SINGLE},
    {"A2D",     "double", BCR_TRI_DC,      0, BCR_TRI_DOUBLE},
    {"A2S",     "single", BCR_TRI_DC,      0, BCR_TRI_SINGLE},
    {"A2SD",    "mixed",  BCR_TRI_DC,      0, BCR_TRI_MIXED },
    {"pscheme", "double", BCR_TRI_PSCHEME, 0, BCR_TRI_DOUBLE},
    {"thomas",  "double", BCR_TRI_THOMAS,  0, BCR_TRI_DOUBLE},
    {"pttrs",   "double", BCR_TRI_AUTO,    0, BCR_TRI_DOUBLE}  /* LAPACK, factors computed before */
  };
  const PetscInt count = PETSC_STATIC_ARRAY_LENGTH(solvers);
  BCRTriRows rows = {
    {-1,         2, -1},
    {{0, 1, -1}       },
    {{0, 0, 0}}
  };
  BCRTriSpec spec;
  PetscScalar *f, *u;
  Case *cases;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&spec, sizeof(spec)));
  spec.inner = spec.outer = spec.rep = spec.nfirst = 1;
  spec.n = n;
  spec.rows = &rows;
  PetscCall(PetscMalloc2(n, &f, n, &u));
  PetscCall(PetscCalloc1(count, &cases));
  for (PetscInt i = 0; i < count; ++i) {
    Case *c = &cases[i];
    BCRTriOptions options = {
      .method = solvers[i].method, .precision = solvers[i].how, .variant = solvers[i].variant, .isa = -1};
    const double start = BenchTime();

    PetscCall(PetscStrncpy(c->solver, solvers[i].name, sizeof(c->solver)));
    c->precision = solvers[i].precision;
    c->run = RunLines;
    if (solvers[i].method != BCR_TRI_AUTO) PetscCall(BCRTriLocalCreate(&spec, &options, &c->tri));
    else {
      PetscBLASInt bn, info;

      c->run = RunLapack;
      PetscCall(PetscBLASIntCast(n, &bn));
      PetscCall(PetscMalloc2(n, &c->d, n, &c->e));
      for (PetscInt j = 0; j < n; ++j) {
        c->d[j] = j ? 2 : 1;
        c->e[j] = -1;
      }
      pttrf_(&bn, (PetscReal *)c->d, (PetscReal *)c->e, &info);
    }
    c->setup = BenchTime() - start;
    c->parts = solvers[i].method == BCR_TRI_THOMAS || solvers[i].method == BCR_TRI_AUTO || solvers[i].variant
                 ? 1
                 : BCRRecurrenceParts(n, solvers[i].how == BCR_TRI_DOUBLE ? 16 : 32);
  }
  for (int problem = 0; problem < 2; ++problem) {
    const double h = 1 / (double)n;

    for (PetscInt j = 0; j < n; ++j) f[j] = (PetscReal)((j ? 1 : 0.5) * h * h * Source(problem, h * (double)j));
    for (PetscInt i = 0; i < count; ++i) {
      Case *c = &cases[i];
      double ne = 0, nu = 0, nr = 0, largest = 0, side = 0;

      PetscCall(PetscSNPrintf(c->name, sizeof(c->name), "P%d", problem + 1));
      PetscCall(c->run(c, n, f, u));
      for (PetscInt j = 0; j < n; ++j) {
        const double x = Exact(problem, h * (double)j),
                     r = f[j] - ((j ? 2 : 1) * u[j] - (j ? u[j - 1] : 0) - (j < n - 1 ? u[j + 1] : 0));

        ne += (u[j] - x) * (u[j] - x);
        nu += x * x;
        TestLargest(&nr, fabs(r));
        largest = PetscMax(largest, fabs(u[j]));
        side = PetscMax(side, fabs(f[j]));
      }
      c->residual = nr / (4 * largest + side);
      c->error = sqrt(ne / nu); /* equation (14) */
    }
    PetscCall(Measure(n, cases, count, f, u));
  }
  for (PetscInt i = 0; i < count; ++i) {
    PetscCall(BCRTriLocalDestroy(&cases[i].tri));
    PetscCall(PetscFree2(cases[i].d, cases[i].e));
  }
  PetscCall(PetscFree(cases));
  PetscCall(PetscFree2(f, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const char *const suites[] = {"pscheme", "bvp"};
  PetscInt which = -1, sizes[MAX_SIZES], count = MAX_SIZES;
  PetscBool given;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-suite", suites, 2, &which, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-reps", &repetitions, NULL));
  repetitions = PetscMin(PetscMax(repetitions, 3), MAX_REPS);
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-n", sizes, &count, &given));
  PetscCall(OpenCSV());
  for (PetscInt suite = 0; suite < 2; ++suite) {
    if (which >= 0 && which != suite) continue;
    if (!given) {
      const PetscInt p[] = {1 << 18, 1 << 20}, b[] = {1 << 14, 1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24};

      count = suite ? 6 : 2;
      PetscCall(PetscArraycpy(sizes, suite ? b : p, count));
    }
    for (PetscInt k = 0; k < count; ++k) PetscCall(suite ? BVPSuite(sizes[k]) : PSchemeSuite(sizes[k]));
  }
  if (csv) fclose(csv);
  PetscCall(PetscFinalize());
  return 0;
}
