/*
  Lines by the P-scheme and by divide and conquer against LAPACK's xGTSV: lines of 1 to 2^20 rows,
  numbers of parts and variants, every instruction set, layouts with few and with many neighbouring
  lines, complex pairs, open and periodic, near-Toeplitz and general, one set of coefficients or one
  for each line, single and double and the mixture of paper 004; lines that divide and conquer has
  to refuse.

  Asserted: the backward error |f - A u| / (|A| |u| + |f|) (largest entries, sums in long double) is
  at most 1e-15 times the growth, and the distance from LAPACK's solution by no more than a bound of
  the condition explains. Growth of the P-scheme: the largest number of an elimination without
  exchanges over the largest of the line, times that of the right-hand sides on the way over |A| |u|
  + |f|. Of divide and conquer: the largest number of its recurrences over that of the solution,
  before the ends are put right (several for d = 2).
*/
#include "tests/petsc/testing.h"
#include "../../src/tridiagonal/triimpl.h"
#include <petscblaslapack.h>
#include <math.h>

static double rnd(void)
{
  return 2 * TestUniform() - 1;
}

typedef enum {
  PAPER,    /* first row (1, -1), then (-1, 2, -1): exactly paper 004 */
  TWO,      /* -1, 2, -1 */
  NEARTWO,  /* 2 + 1e-7 */
  DOMINANT, /* -1, 3, -1 with end rows of their own */
  SKEW,     /* unequal couplings, of unequal signs too */
  PADE,     /* 1/4, 1, 1/4 with end rows (1, 2) and (2, 1) */
  RANDOM,   /* every row its own, dominant: general only */
  WEAK,     /* -1, 1.9, -1: pivots of all signs, products that grow */
  NKINDS
} Kind;
static const char *const kinds[] = {"paper", "two", "neartwo", "dominant", "skew", "pade", "random", "weak"};

typedef struct {
  PetscInt inner, n, outer, rep;
  Kind kind;
  PetscBool general, perline, periodic;
  BCRTriMethod method;
  PetscInt parts, variant;
  BCRTriPrecision precision;
  int isa;
  PetscBool inplace;
} Case;

static void common(Kind kind, PetscReal row[3])
{
  const PetscReal table[][3] = {
    {-1,    2,                    -1    },
    {-1,    2,                    -1    },
    {-1,    (PetscReal)2.0000001, -1    },
    {-1,    (PetscReal)3,         -1    },
    {0.25f, -1.5f,                1.125f},
    {0.25f, 1,                    0.25f },
    {-1,    3,                    -1    },
    {-1,    (PetscReal)1.9,       -1    }
  };

  for (int k = 0; k < 3; k++) row[k] = table[kind][k];
}

static PetscErrorCode make(const Case *c, BCRTriSpec *s)
{
  const PetscInt lines = c->perline ? c->inner / c->rep * c->outer : 1;
  BCRTriRows *rows;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(s, sizeof(*s)));
  s->inner = c->inner;
  s->n = c->n;
  s->outer = c->outer;
  s->rep = c->rep;
  s->periodic = c->periodic;
  s->perline = c->perline;
  PetscCall(PetscCalloc1(lines, &rows));
  s->nfirst = c->kind == PAPER || c->kind == PADE ? PetscMin(1, c->n) : (c->kind == DOMINANT ? PetscMin(3, c->n) : 0);
  s->nlast =
    c->kind == PADE ? PetscMin(1, c->n - s->nfirst) : (c->kind == DOMINANT ? PetscMin(2, c->n - s->nfirst) : 0);
  if (c->periodic && c->kind != DOMINANT) s->nfirst = s->nlast = 0;
  for (PetscInt l = 0; l < lines; l++) {
    const PetscReal scale = c->perline ? (PetscReal)(1 + 0.5 * rnd()) : 1;

    common(c->kind, rows[l].row);
    for (int i = 0; i < BCR_TRI_EDGE; i++)
      for (int k = 0; k < 3; k++) {
        rows[l].first[i][k] = (PetscReal)(c->kind == DOMINANT ? rows[l].row[k] * (1 + 0.2 * rnd()) : rows[l].row[k]);
        rows[l].last[i][k] = (PetscReal)(c->kind == DOMINANT ? rows[l].row[k] * (1 + 0.2 * rnd()) : rows[l].row[k]);
      }
    if (c->kind == PAPER) rows[l].first[0][1] = 1;
    if (c->kind == PADE) rows[l].first[0][2] = rows[l].last[0][0] = 2;
    if (c->perline && c->kind != PAPER) rows[l].row[1] *= 1 + scale;
    for (int k = 0; k < 3; k++) {
      rows[l].row[k] *= scale;
      for (int i = 0; i < BCR_TRI_EDGE; i++) {
        rows[l].first[i][k] *= scale;
        rows[l].last[i][k] *= scale;
      }
    }
  }
  s->rows = rows;
  if (c->general) {
    const PetscInt across = c->inner / c->rep;
    PetscReal *low, *diag, *up;
    BCRTriSpec open = *s;

    open.periodic = PETSC_TRUE; /* rows with all three numbers */
    PetscCall(PetscMalloc3(lines * c->n, &low, lines * c->n, &diag, lines * c->n, &up));
    for (PetscInt l = 0; l < lines; l++)
      for (PetscInt j = 0; j < c->n; j++) {
        const PetscInt i = c->perline ? l % across + across * (j + c->n * (l / across)) : j;
        double row[3];

        BCRTriGetRow(&open, l, j, row);
        if (c->kind == RANDOM) {
          row[0] = rnd();
          row[2] = rnd();
          row[1] = (fabs(row[0]) + fabs(row[2])) * (1 + 0.5 * fabs(rnd())) + 0.01;
        }
        low[i] = (PetscReal)row[0];
        diag[i] = (PetscReal)row[1];
        up[i] = (PetscReal)row[2];
      }
    s->low = low;
    s->diag = diag;
    s->up = up;
    s->rows = NULL;
    PetscCall(PetscFree(rows));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode clear(BCRTriSpec *s)
{
  PetscReal *low = (PetscReal *)s->low, *diag = (PetscReal *)s->diag, *up = (PetscReal *)s->up;
  BCRTriRows *rows = (BCRTriRows *)s->rows;

  PetscFunctionBegin;
  PetscCall(PetscFree3(low, diag, up));
  PetscCall(PetscFree(rows));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  double error, growth, norm;
} Judgement;

/* backward error of u on one line, and the growth of elimination without exchanges */
static Judgement judge(const BCRTriSpec *s, PetscInt line, const PetscReal *f, const PetscReal *u, size_t step)
{
  const PetscInt n = s->n;
  Judgement J = {0, 1, 0};
  double nr = 0, nu = 0, nf = 0, row[3], pivot = 1, y = 0, up = 0, entries = 0, sides = 0;

  for (PetscInt j = 0; j < n; j++) {
    long double r = f[step * j];
    double l;

    BCRTriGetRow(s, line, j, row);
    r -= (long double)row[0] * u[step * ((j + n - 1) % n)];
    r -= (long double)row[1] * u[step * j];
    r -= (long double)row[2] * u[step * ((j + 1) % n)];
    TestLargest(&nr, fabs((double)r));
    nu = PetscMax(nu, fabs((double)u[step * j]));
    nf = PetscMax(nf, fabs((double)f[step * j]));
    J.norm = PetscMax(J.norm, fabs(row[0]) + fabs(row[1]) + fabs(row[2]));
    l = j ? row[0] / pivot : 0;
    pivot = row[1] - l * up;
    up = row[2];
    y = f[step * j] - l * y;
    entries = PetscMax(entries, PetscMax(fabs(pivot), fabs(l) * fabs(up)));
    sides = PetscMax(sides, fabs(y));
  }
  J.error = nr / (J.norm * nu + nf);
  J.growth = PetscMax(1, entries / J.norm) * PetscMax(1, sides / (J.norm * nu + nf));
  return J;
}

/* the same for divide and conquer: what is solved for without regard to the ends; here by plain loops in long double */
static double dc_growth(const BCRTriSpec *s, PetscInt line, const PetscReal *f, const PetscReal *u, size_t step)
{
  const PetscReal *row = s->rows[line].row;
  const PetscInt n = s->n - (s->periodic ? 1 : 0);
  const long double kappa =
    (row[1] + (row[1] < 0 ? -1 : 1) * sqrtl((long double)row[1] * row[1] - 4 * (long double)row[0] * row[2])) / 2;
  long double *y, v = 0, nv = 0, nu = 0;

  if (s->n <= s->nfirst + s->nlast) return 1;
  if (PetscMalloc1(n, &y)) return 1;
  for (PetscInt j = 0; j < n; j++) y[j] = f[step * j] - (j ? row[0] / kappa * y[j - 1] : 0);
  for (PetscInt j = n - 1; j >= 0; j--) {
    v = y[j] / kappa - (j < n - 1 ? row[2] / kappa * v : 0);
    nv = PetscMax(nv, fabsl(v));
  }
  for (PetscInt j = 0; j < s->n; j++) nu = PetscMax(nu, fabsl((long double)u[step * j]));
  (void)PetscFree(y);
  return PetscMax(1, (double)(nv / nu));
}

static PetscErrorCode lapack(const BCRTriSpec *s, PetscInt line, const PetscReal *f, size_t step, PetscReal *x)
{
  const PetscInt n = s->n;
  PetscBLASInt bn, one = 1, info;
  PetscScalar *a, *d, *c, *b;
  double row[3];

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(n, &bn));
  PetscCall(PetscMalloc4(n, &a, n, &d, n, &c, n, &b));
  for (PetscInt j = 0; j < n; j++) {
    BCRTriGetRow(s, line, j, row);
    if (j) a[j - 1] = (PetscReal)row[0];
    d[j] = (PetscReal)row[1];
    c[j] = (PetscReal)row[2];
    b[j] = f[step * j];
  }
#if defined(PETSC_USE_COMPLEX)
  #if defined(PETSC_USE_REAL_SINGLE)
    #define gtsv_ cgtsv_
  #else
    #define gtsv_ zgtsv_
  #endif
#elif defined(PETSC_USE_REAL_SINGLE)
  #define gtsv_ sgtsv_
#else
  #define gtsv_ dgtsv_
#endif
  {
    extern void gtsv_(const PetscBLASInt *, const PetscBLASInt *, PetscScalar *, PetscScalar *, PetscScalar *,
                      PetscScalar *, const PetscBLASInt *, PetscBLASInt *);

    gtsv_(&bn, &one, a, d, c, b, &bn, &info);
  }
  for (PetscInt j = 0; j < n; j++) x[j] = PetscRealPart(b[j]);
  PetscCall(PetscFree4(a, d, c, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double worst[2][3];

static PetscErrorCode one(const Case *c)
{
  const size_t size = (size_t)c->inner * c->n * c->outer;
  const double eps = PetscDefined(USE_REAL_SINGLE) || c->precision != BCR_TRI_DOUBLE ? 6e-8 : 1.2e-16;
  BCRTriSpec spec;
  BCRTriOptions options = {
    .method = c->method, .precision = c->precision, .parts = c->parts, .variant = c->variant, .isa = c->isa};
  BCRTriLocal local;
  BCRTriInfo info;
  PetscReal *f, *u, *x;

  PetscFunctionBegin;
  PetscCall(make(c, &spec));
  PetscCall(PetscMalloc3(size, &f, size, &u, c->n, &x));
  for (size_t i = 0; i < size; i++) f[i] = (PetscReal)rnd();
  PetscCall(BCRTriLocalCreate(&spec, &options, &local));
  PetscCall(BCRTriLocalGetInfo(local, &info));
  if (c->inplace) PetscCall(PetscArraycpy(u, f, size));
  PetscCall(BCRTriLocalSolve(local, c->inplace ? u : f, u));
  for (PetscInt o = 0; o < c->outer; o++)
    for (PetscInt i = 0; i < c->inner; i++) {
      const PetscReal *fl = f + i + (size_t)c->inner * c->n * o, *ul = u + i + (size_t)c->inner * c->n * o;
      const PetscInt line = c->perline ? BCRTriLineOf(&spec, i, o) : 0;
      Judgement J = judge(&spec, line, fl, ul, (size_t)c->inner);
      double bound;

      if (c->method == BCR_TRI_DC) J.growth = dc_growth(&spec, line, fl, ul, (size_t)c->inner);
      bound = 8.4 * eps * J.growth; /* 1e-15 in double */
      worst[c->method == BCR_TRI_DC][c->precision] =
        PetscMax(worst[c->method == BCR_TRI_DC][c->precision], J.error / eps / J.growth);
      Check(J.error <= bound,
            "%s %s inner %d n %d outer %d rep %d general %d perline %d periodic %d parts %d variant %d precision %d "
            "isa %d in place %d line (%d, %d): backward error %g, growth %g [%s]",
            c->method == BCR_TRI_DC ? "dc" : "pscheme", kinds[c->kind], (int)c->inner, (int)c->n, (int)c->outer,
            (int)c->rep, c->general, c->perline, c->periodic, (int)c->parts, (int)c->variant, (int)c->precision, c->isa,
            c->inplace, (int)i, (int)o, J.error, J.growth, info.what);
      if (!c->periodic && c->precision == BCR_TRI_DOUBLE && (i + o) % 7 == 0) {
        double diff = 0, size_x = 0, condition = 1;

        PetscCall(lapack(&spec, line, fl, (size_t)c->inner, x));
        for (PetscInt j = 0; j < c->n; j++) {
          TestLargest(&diff, fabs((double)(x[j] - ul[(size_t)c->inner * j])));
          size_x = PetscMax(size_x, fabs((double)x[j]));
        }
        /* an upper bound of the condition where it is known: n^2 for d = 2, a margin of dominance otherwise */
        if (c->kind == PAPER || c->kind == TWO) condition = 2 * (double)c->n * (double)c->n;
        /* in single precision the margin rounds to nothing */
        else if (c->kind == NEARTWO)
          condition = PetscMin(2 * (double)c->n * (double)c->n, sizeof(PetscReal) < sizeof(double) ? 1e300 : 8e7);
        else condition = 400;
        if (c->kind != WEAK)
          Check(diff <= 20 * eps * condition * J.growth * size_x,
                "%s %s n %d variant %d: %g from LAPACK's solution of size %g",
                c->method == BCR_TRI_DC ? "dc" : "pscheme", kinds[c->kind], (int)c->n, (int)c->variant, diff, size_x);
      }
    }
  PetscCall(BCRTriLocalDestroy(&local));
  PetscCall(PetscFree3(f, u, x));
  PetscCall(clear(&spec));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode refuse(Kind kind, PetscBool general, PetscInt n, PetscInt variant, BCRTriPrecision precision,
                             PetscErrorCode code, const char *words)
{
  Case c = {1, n, 1, 1, kind, general, PETSC_FALSE, PETSC_FALSE, BCR_TRI_DC, 0, variant, precision, -1, PETSC_FALSE};
  BCRTriOptions options = {.method = BCR_TRI_DC, .precision = precision, .variant = variant, .isa = -1};
  BCRTriSpec spec;
  BCRTriLocal local = NULL;

  PetscFunctionBegin;
  PetscCall(make(&c, &spec));
  CheckError(BCRTriLocalCreate(&spec, &options, &local), code, words);
  PetscCall(clear(&spec));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The number of parts of one line that nobody asked for: near sqrt(n/2), a multiple of the lanes */
static PetscErrorCode Default(PetscInt n, BCRTriPrecision precision, int isa)
{
  const BCRTriRows rows = {
    .row = {-1, 3, -1}
  };
  BCRTriSpec spec = {.inner = 1, .n = n, .outer = 1, .rep = 1, .rows = &rows};
  BCRTriOptions options = {.method = BCR_TRI_PSCHEME, .precision = precision, .isa = isa};
  BCRTriLocal local;
  BCRTriInfo info;
  int parts = 0, length = 0;
  const double best = sqrt((double)n / 2);

  PetscFunctionBegin;
  PetscCall(BCRTriLocalCreate(&spec, &options, &local));
  PetscCall(BCRTriLocalGetInfo(local, &info));
  PetscCall(BCRTriLocalDestroy(&local));
  Check(sscanf(info.what, "rearranged array, %d parts of %d rows", &parts, &length) == 2 && fabs(parts - best) <= 32 &&
          abs((int)n - parts * length) < parts,
        "n %d isa %d: %s, sqrt(n/2) = %g", (int)n, isa, info.what, best);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const PetscInt sizes[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 13, 15, 16, 17, 31, 33, 64, 97, 127, 129, 255, 500, 1021};
  static const PetscInt layouts[][3] = {
    {1,  1,  1},
    {1,  5,  1},
    {1,  37, 1},
    {2,  3,  2},
    {2,  1,  1},
    {3,  4,  1},
    {6,  2,  2},
    {8,  2,  1},
    {17, 2,  1},
    {40, 1,  2}
  };
  static const PetscInt parts[] = {0, 0, 1, 2, 3, 7, 16, 21, 40};

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(TestSeed());
  for (int isa = 0; isa <= BCRCpuBestISA(); isa++)
    for (size_t a = 0; a < PETSC_STATIC_ARRAY_LENGTH(sizes); a++)
      for (size_t b = 0; b < PETSC_STATIC_ARRAY_LENGTH(layouts); b++)
        for (int kind = 0; kind < NKINDS; kind++)
          for (int m = 0; m < 2; m++) {
            Case c = {layouts[b][0],
                      sizes[a],
                      layouts[b][1],
                      layouts[b][2],
                      (Kind)kind,
                      PETSC_FALSE,
                      PETSC_FALSE,
                      PETSC_FALSE,
                      m ? BCR_TRI_DC : BCR_TRI_PSCHEME,
                      0,
                      0,
                      BCR_TRI_DOUBLE,
                      isa,
                      PETSC_FALSE};

            c.inplace = rnd() > 0 ? PETSC_TRUE : PETSC_FALSE;
            c.perline = rnd() > 0.4 ? PETSC_TRUE : PETSC_FALSE;
            c.general = !m && (rnd() > 0 || kind == RANDOM) ? PETSC_TRUE : PETSC_FALSE;
            c.periodic = (kind == DOMINANT || kind == SKEW || kind == PADE || kind == RANDOM) && rnd() > 0.3
                           ? PETSC_TRUE
                           : PETSC_FALSE;
            c.parts = parts[(int)(4.5 + 4.49 * rnd())];
            c.variant = rnd() > 0.4 ? 1 : 0;
            if (kind == PADE && c.n == 3 && !c.periodic) continue; /* singular */
            if (m && (kind == RANDOM || kind == WEAK)) continue;
            if (!m && kind == WEAK && (c.periodic || c.n > 40)) continue;
            if (rnd() > 0.7 && kind != WEAK) c.precision = BCR_TRI_SINGLE;
            if (m && !c.variant && rnd() > 0.5) c.precision = BCR_TRI_MIXED;
            PetscCall(one(&c));
          }
  /* long lines */
  for (int m = 0; m < 2; m++)
    for (int kind = 0; kind < RANDOM + 1; kind++) {
      Case c = {1,
                (1 << 20) - (kind % 2 ? 0 : 17),
                1,
                1,
                (Kind)kind,
                (PetscBool)(kind == RANDOM),
                PETSC_FALSE,
                PETSC_FALSE,
                m ? BCR_TRI_DC : BCR_TRI_PSCHEME,
                0,
                0,
                BCR_TRI_DOUBLE,
                -1,
                PETSC_FALSE};

      if (m && kind == RANDOM) continue;
      PetscCall(one(&c));
      if (kind != PAPER) continue;
      c.variant = 1;
      PetscCall(one(&c));
    }
  for (int isa = 0; isa <= BCRCpuBestISA(); isa++)
    for (PetscInt n = 10000; n < 5000000; n = 3 * n + 1) {
      PetscCall(Default(n, BCR_TRI_DOUBLE, isa));
      PetscCall(Default(n, BCR_TRI_SINGLE, isa));
    }
  PetscCall(refuse(WEAK, PETSC_FALSE, 50, 0, BCR_TRI_DOUBLE, PETSC_ERR_SUP, "use method thomas"));
  PetscCall(refuse(RANDOM, PETSC_TRUE, 50, 0, BCR_TRI_DOUBLE, PETSC_ERR_SUP, "thomas or pscheme"));
  PetscCall(refuse(TWO, PETSC_FALSE, 50, 1, BCR_TRI_MIXED, PETSC_ERR_SUP, "parallel variant"));
  PetscCall(refuse(TWO, PETSC_FALSE, 50, 7, BCR_TRI_DOUBLE, PETSC_ERR_ARG_OUTOFRANGE, "not 7"));
  printf("worst over eps and growth: pscheme %g %g, dc %g %g %g\n", worst[0][0], worst[0][1], worst[1][0], worst[1][1],
         worst[1][2]);
  PetscCall(PetscFinalize());
  return TestEnd();
}
