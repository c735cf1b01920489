/*
  The batched trigonometric transforms against the sums that dtt.h defines, in long double, for
  every pair of ends, instruction set and precision; by rows and by columns, in place and not, float
  work on double data; large sizes by round trip and sampled sums.

  turns: 3
*/
#include "../../src/backend/cpu/cpu.h"
#include "tests/check.h"
#include "pairs.h"
#include <math.h>

static int passed = 0, failed = 0;

static const char *name(int t)
{
  static const char *kinds[] = {"dirichlet", "neumann", "cell-neumann", "cell-dirichlet", "periodic", "general"};
  static char s[64];

  snprintf(s, sizeof(s), "%s/%s", kinds[ends[t][0]], kinds[ends[t][1]]);
  return s;
}

static void check(int ok, const char *what, int t, int n, int isa, int single, double value)
{
  if (ok) {
    passed++;
    return;
  }
  failed++;
  printf("%s: %s, n = %d, instruction set %d, %s: %g\n", what, name(t), n, isa, single ? "single" : "double", value);
}

static double random_number(void)
{
  return 2 * TestUniform() - 1;
}

/* phi_j(i) as written in dtt.h: trig(pi a b/den), and its table[0..2 den) of cos, sin of pi q/den */
typedef struct {
  int n, t, odd, period;
  long long den;
  double w0, w1; /* weights of the first and last row in the analysis */
} Basis;

static Basis basis(int t, int n)
{
  static const int odd[16] = {1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 1, 1, 0, 0, 0, 1};
  Basis b = {.n = n, .t = t, .odd = t < 16 ? odd[t] : 0, .period = t == 16};
  const BCREnd l = ends[t][0], r = ends[t][1];

  b.w0 = l == BCR_END_NEUMANN ? 0.5 : 1;
  b.w1 = r == BCR_END_NEUMANN ? 0.5 : 1;
  if (n == 1) b.w0 = b.w1 = PetscMin(b.w0, b.w1);
  if (t == 0) b.den = n + 1;
  else if (t == 1) b.den = n > 1 ? n - 1 : 1;
  else if (t < 4) b.den = 2LL * n; /* i + 1/2: a is odd, so twice n; below likewise */
  else if (t < 6) b.den = 2LL * n;
  else if (t < 8) b.den = 4LL * n;
  else if (t < 12) b.den = 2LL * n + 1;
  else if (t < 16) b.den = 2LL * n - 1;
  else b.den = n;
  if (t == 9 || t == 11) b.den *= 2;
  if (t == 13 || t == 15) b.den *= 2;
  return b;
}

static long long frequency(const Basis *b, int j)
{
  switch (b->t) {
  case 0:
  case 3:
    return j + 1;
  case 1:
  case 2:
    return j;
  case 4:
  case 5:
  case 6:
  case 7:
  case 8:
  case 9:
  case 14:
  case 15:
    return 2LL * j + 1;
  case 10:
  case 11:
    return 2LL * (j + 1);
  case 12:
  case 13:
    return 2LL * j;
  default:
    return 2LL * ((j + 1) / 2);
  }
}

static long double phi(const Basis *b, const long double *table, int i, int j)
{
  const BCREnd l = ends[b->t][0];
  const long long a = l == BCR_END_DIRICHLET ? i + 1 : (l == BCR_END_NEUMANN || b->period ? i : 2LL * i + 1);
  const int s = b->period ? (j > 0 && j % 2 == 0) : b->odd;

  return table[2 * (a * frequency(b, j) % (2 * b->den)) + s];
}

static long double *table_new(const Basis *b)
{
  long double *t = malloc(sizeof(*t) * 4 * (size_t)b->den);

  for (long long q = 0; q < 2 * b->den; q++) {
    t[2 * q] = cosl(3.14159265358979323846264338327950288L * q / b->den);
    t[2 * q + 1] = sinl(3.14159265358979323846264338327950288L * q / b->den);
  }
  return t;
}

/* one output of the transform of the line x, elements xs apart */
static long double direct(const Basis *b, const long double *table, int direction, const double *x, ptrdiff_t xs, int k)
{
  long double s = 0;

  for (int i = 0; i < b->n; i++) {
    if (direction) s += phi(b, table, k, i) * x[i * xs];
    else s += phi(b, table, i, k) * x[i * xs] * (i == 0 ? b->w0 : (i == b->n - 1 ? b->w1 : 1));
  }
  return s;
}

enum {
  LINES = 3 /* different lines; line l of a call is line l % LINES times factor(l), which is exact */
};

/* not far apart: lines that share a complex transform share its rounding errors */
static double factor(int l)
{
  return 1 + l / 16.;
}

typedef struct {
  int n;
  /* input, analysis and synthesis of it, size of these: sqrt(sum x^2 / 2) */
  double *x[LINES], *y[2][LINES], rms[LINES];
} Reference;

static Reference reference_new(const Basis *b, const long double *table)
{
  const int n = b->n;
  Reference r = {.n = n};

  for (int l = 0; l < LINES; l++) {
    r.x[l] = malloc(sizeof(double) * (size_t)n);
    for (int i = 0; i < n; i++) { /* exact in float, none small so that lines of one row are of like size */
      const double v = random_number();

      r.x[l][i] = nearbyint(4096 * v) / 8192 + (v < 0 ? -0.5 : 0.5);
    }
    for (int d = 0; d < 2; d++) {
      r.y[d][l] = malloc(sizeof(double) * (size_t)n);
      for (int i = 0; i < n; i++) r.y[d][l][i] = (double)direct(b, table, d, r.x[l], 1, i);
    }
    for (int i = 0; i < n; i++) r.rms[l] += r.x[l][i] * r.x[l][i] / 2;
    r.rms[l] = sqrt(r.rms[l]);
  }
  return r;
}

static void reference_free(Reference *r)
{
  for (int l = 0; l < LINES; l++) {
    free(r->x[l]);
    free(r->y[0][l]);
    free(r->y[1][l]);
  }
}

static double get(const void *p, ptrdiff_t i, int wide)
{
  return wide ? ((const double *)p)[i] : ((const float *)p)[i];
}
static void put(void *p, ptrdiff_t i, int wide, double v)
{
  if (wide) ((double *)p)[i] = v;
  else ((float *)p)[i] = (float)v;
}

static double tolerance(int n, int single)
{
  return (single ? 5.4e8 : 1.) * 1e-15 * (1 + log2(n));
}

/* one call: by rows (cols 0) or columns (1; 2: as a layer, other memory coming nearer), in place or
   not, padding left alone; the error relative to the rms size of the line */
static void one_call(BCRDtt dtt, const BCRCpuTable *table, const Reference *r, int t, int isa, int single, int io,
                     int cols, int place, int count, int direction)
{
  const int n = r->n, wide = !single || io;
  const ptrdiff_t len = cols ? count : n, num = cols ? n : count, lf = len + 3, lu = place ? lf : len + 2;
  const size_t lanes = table->lanes, size = wide ? 8 : 4, wsize = BCRDttWork(dtt, (int)lanes) * (single ? 4 : 8);
  char *f = malloc(size * (size_t)(lf * num)), *u = place ? f : malloc(size * (size_t)(lu * num)), *work;
  double worst = 0;
  int touched = 0;

  for (ptrdiff_t k = 0; k < lf * num; k++) put(f, k, wide, 77);
  if (!place)
    for (ptrdiff_t k = 0; k < lu * num; k++) put(u, k, wide, 77);
  for (int l = 0; l < count; l++)
    for (int i = 0; i < n; i++) put(f, cols ? l + i * lf : l * lf + i, wide, factor(l) * r->x[l % LINES][i]);
  if (posix_memalign((void **)&work, 64, wsize + 64)) abort();
  memset(work + wsize, 55, 64);
  if (cols == 2) {
    const BCRDttAhead ahead = {r, count % 2 ? (ptrdiff_t)sizeof(*r) : 0};

    table->dtt.layer(dtt, direction, io, count, f, lf, u, lu, &ahead, work);
  } else (cols ? table->dtt.cols : table->dtt.rows)(dtt, direction, io, count, f, lf, u, lu, work);
  for (int k = 0; k < 64; k++) touched += work[wsize + k] != 55;
  for (ptrdiff_t k = 0; k < num; k++)
    for (ptrdiff_t i = len; i < lu; i++) touched += get(u, k * lu + i, wide) != 77;
  for (int l = 0; l < count; l++) {
    double e = 0;

    for (int i = 0; i < n; i++) {
      const double d = get(u, cols ? l + i * lu : l * lu + i, wide) / factor(l) - r->y[direction][l % LINES][i];

      if (!place) touched += get(f, cols ? l + i * lf : l * lf + i, wide) != factor(l) * r->x[l % LINES][i];
      e += d * d / n;
    }
    e = sqrt(e) / r->rms[l % LINES];
    TestLargest(&worst, e);
  }
  check(worst <= tolerance(n, single),
        direction ? (cols ? "synthesis, columns" : "synthesis, rows") : (cols ? "analysis, columns" : "analysis, rows"),
        t, n, isa, single, worst);
  check(touched == 0, "memory that is not the call's was written", t, n, isa, single, touched);
  free(work);
  if (!place) free(u);
  free(f);
}

/* lambda against T phi = lambda phi on the interior rows and the end rows, norm against the sum of w phi^2 */
static PetscErrorCode modes(BCRDtt dtt, const Basis *b, const long double *table)
{
  const int n = b->n, t = b->t;
  const double *lambda, *norm;
  double el = 0, en = 0;

  PetscFunctionBegin;
  PetscCall(BCRDttGetModes(dtt, &lambda, &norm));
  for (int j = 0; j < n; j++) {
    long double s = 0;

    for (int i = 0; i < n; i++) {
      const long double p = phi(b, table, i, j);
      long double v = 2 * p, w = i == 0 ? b->w0 : (i == n - 1 ? b->w1 : 1);

      s += w * p * p;
      if (n == 1) continue; /* the row says nothing of the ends then */
      for (int side = 0; side < 2; side++) {
        const int in = side ? i + 1 : i - 1, out = side ? i - 1 : i + 1;
        const BCREnd e = ends[t][side];

        if (in >= 0 && in < n) v -= phi(b, table, in, j);
        else if (e == BCR_END_NEUMANN) v -= phi(b, table, out, j);
        else if (e == BCR_END_CELL_NEUMANN) v -= p;
        else if (e == BCR_END_CELL_DIRICHLET) v += p;
        else if (e == BCR_END_PERIODIC) v -= phi(b, table, side ? 0 : n - 1, j);
      }
      TestLargest(&el, fabs((double)(v - lambda[j] * p)));
    }
    TestLargest(&en, fabs((double)(s * norm[j] - 1)));
  }
  check(el < 4e-15, "eigenvalues", t, n, -1, 0, el);
  check(en < 1e-14, "norms", t, n, -1, 0, en);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode all_sums(int t, int n)
{
  const Basis b = basis(t, n);
  long double *table = table_new(&b);
  Reference r = reference_new(&b, table);

  PetscFunctionBegin;
  for (int single = 0; single < 2; single++) {
    BCRDtt dtt;

    PetscCall(BCRDttCreate(n, ends[t][0], ends[t][1], single ? PETSC_TRUE : PETSC_FALSE, &dtt));
    if (!single) PetscCall(modes(dtt, &b, table));
    for (int isa = 0; isa <= BCRCpuBestISA(); isa++) {
      const BCRCpuTable *cpu = BCRCpuGetTable(isa, single);
      const int full = 2 * cpu->lanes + 1;

      for (int mode = 0; mode < 12; mode++) { /* columns, direction, in place; layers */
        const int cols = mode < 8 ? mode & 1 : 2, direction = mode < 8 ? (mode >> 1) & 1 : mode & 1,
                  place = mode < 8 ? (mode >> 2) & 1 : (mode >> 1) & 1;

        for (int io = 0; io <= single; io++) {
          if (n <= 17 && t < 3)
            for (int count = 1; count < full; count++)
              one_call(dtt, cpu, &r, t, isa, single, io, cols, place, count, direction);
          else one_call(dtt, cpu, &r, t, isa, single, io, cols, place, 1 + (t + n) % (full - 1), direction);
          if (n <= 129 || !place) one_call(dtt, cpu, &r, t, isa, single, io, cols, place, full, direction);
        }
      }
    }
    PetscCall(BCRDttDestroy(&dtt));
  }
  reference_free(&r);
  free(table);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* large sizes: a few outputs of the analysis by direct sums, and synthesis of norm times analysis
   gives the input back */
static PetscErrorCode large(int t, int n)
{
  const Basis b = basis(t, n);
  long double *table = table_new(&b);
  const double *norm;

  PetscFunctionBegin;
  for (int single = 0; single < 2; single++) {
    BCRDtt dtt;

    PetscCall(BCRDttCreate(n, ends[t][0], ends[t][1], single ? PETSC_TRUE : PETSC_FALSE, &dtt));
    PetscCall(BCRDttGetModes(dtt, NULL, &norm));
    for (int isa = 0; isa <= BCRCpuBestISA(); isa++) {
      const BCRCpuTable *cpu = BCRCpuGetTable(isa, single);
      const int count = cpu->lanes + 1;
      const size_t size = single ? 4 : 8, total = (size_t)n * (size_t)count;
      char *f = malloc(size * total), *u = malloc(size * total), *work;
      double e = 0, rms[2] = {0, 0}, *line = malloc(sizeof(double) * (size_t)n);

      for (size_t k = 0; k < total; k++) put(f, (ptrdiff_t)k, !single, nearbyint(4096 * random_number()) / 4096);
      if (posix_memalign((void **)&work, 64, BCRDttWork(dtt, cpu->lanes) * size)) abort();
      cpu->dtt.cols(dtt, 0, 0, count, f, count, u, count, work);
      for (int l = 0; l < count; l += count - 1) {
        e = rms[0] = 0;
        for (int i = 0; i < n; i++) {
          line[i] = get(f, (ptrdiff_t)i * count + l, !single);
          rms[0] += line[i] * line[i] / 2; /* of the outputs: half of them is in the mean */
        }
        for (int k = 0; k < 8; k++) {
          const int j =
            k < 2 ? k : (k < 4 ? n - 1 - (k - 2) : (int)(random_number() * random_number() * (n - 1) / 2 + n / 2.));
          const double d = get(u, (ptrdiff_t)j * count + l, !single) - (double)direct(&b, table, 0, line, 1, j);

          TestLargest(&e, fabs(d));
        }
        e /= sqrt(rms[0]);
        /* the largest of eight, not the rms */
        check(e <= 4 * tolerance(n, single), "sampled analysis", t, n, isa, single, e);
      }
      for (size_t k = 0; k < total; k++)
        put(u, (ptrdiff_t)k, !single, get(u, (ptrdiff_t)k, !single) * norm[k / (size_t)count]);
      cpu->dtt.cols(dtt, 1, 0, count, u, count, u, count, work);
      e = rms[0] = 0;
      for (size_t k = 0; k < total; k++) {
        const double x = get(f, (ptrdiff_t)k, !single), d = get(u, (ptrdiff_t)k, !single) - x;

        e += d * d;
        rms[0] += x * x;
      }
      e = sqrt(e / rms[0]);
      check(e <= 2 * tolerance(n, single), "round trip", t, n, isa, single, e);
      free(work);
      free(line);
      free(u);
      free(f);
    }
    PetscCall(BCRDttDestroy(&dtt));
  }
  free(table);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* says nothing: PETSc's own handler for this has two names over the releases */
static PetscErrorCode quiet(MPI_Comm comm, int line, const char *fun, const char *file, PetscErrorCode n,
                            PetscErrorType p, const char *mess, void *ctx)
{
  (void)comm;
  (void)line;
  (void)fun;
  (void)file;
  (void)p;
  (void)mess;
  (void)ctx;
  return n;
}

int main(int argc, char **argv)
{
  static const int sizes[] = {1,  2,  3,  4,  5,  6,  7,   8,   9,   11,  13,  15,  16,  17,  23,  31,
                              32, 33, 49, 63, 64, 65, 100, 101, 127, 128, 129, 255, 256, 257, 509, 1000};
  static const int larger[] = {999, 1023, 1234, 1439, 1500, 2047, 2500, 2878, 3001, 4095, 8191};
  BCRDtt dtt;
  PetscErrorCode ierr;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(TestSeed());
  for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
    for (int t = 0; t < 17; t++)
      if (TestTurn()) PetscCall(all_sums(t, sizes[k]));
  for (size_t k = 0; k < sizeof(larger) / sizeof(larger[0]); k++)
    for (int t = 0; t < 17; t++)
      if (TestTurn()) PetscCall(large(t, larger[k]));
  PetscCall(PetscPushErrorHandler(quiet, NULL));
  ierr = BCRDttCreate(5, BCR_END_PERIODIC, BCR_END_DIRICHLET, PETSC_FALSE, &dtt);
  PetscCall(PetscPopErrorHandler());
  check(ierr == PETSC_ERR_SUP, "one periodic end must be refused", 16, 5, -1, 0, ierr);
  PetscCall(PetscFinalize());
  return TestStatus(1, (int)passed, (int)failed);
}
