/*
  Fields larger than the caches and long lines, where rows go by in blocks and what is written goes
  past the caches: residuals in long double of all lines, and solutions against Gaussian elimination
  in long double of some. Rows and fields that do not begin on cache lines, slow and fast decay,
  periodic lines, one line in pieces, every instruction set, single precision on fields of double,
  in place. unit/tri has the same kernels with every PETSc.

  long: yes
  turns: 3
*/
#include "../../src/tridiagonal/triimpl.h"
#include "tests/check.h"
#include <math.h>

static int passed = 0, failed = 0;

static double number(void)
{
  return 2 * TestUniform() - 1;
}

typedef struct {
  PetscInt inner, n, outer;
  double low, diag, up;
  int edges, periodic;
  PetscInt offset; /* of the solution from a cache line on, elements */
  int perline;
} Case;

/* One line by elimination without exchanges, dominant as it is, in long double; periodic by the border */
static PetscErrorCode eliminate(const BCRTriSpec *spec, const PetscReal *f, PetscInt step, long double *u)
{
  const PetscInt n = spec->n, m = spec->periodic ? n - 1 : n;
  long double *c, *z, l, p, last;
  double row[3], close[3];

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n, &c, n, &z));
  BCRTriGetRow(spec, 0, n - 1, close);
  for (PetscInt j = 0; j < m; j++) {
    BCRTriGetRow(spec, 0, j, row);
    l = j ? row[0] : 0;
    p = row[1] - (j ? l * c[j - 1] : 0);
    c[j] = (j < m - 1 ? row[2] : 0) / p;
    u[j] = (f[j * step] - (j ? l * u[j - 1] : 0)) / p;
    /* column of the last unknown */
    z[j] = ((j == 0 ? row[0] : 0) + (j == n - 2 ? row[2] : 0) - (j ? l * z[j - 1] : 0)) / p;
  }
  for (PetscInt j = m - 2; j >= 0; j--) {
    u[j] -= c[j] * u[j + 1];
    z[j] -= c[j] * z[j + 1];
  }
  if (spec->periodic) {
    last =
      (f[(n - 1) * step] - close[0] * u[n - 2] - close[2] * u[0]) / (close[1] - close[0] * z[n - 2] - close[2] * z[0]);
    u[n - 1] = last;
    for (PetscInt j = 0; j < m; j++) u[j] -= last * z[j];
  }
  PetscCall(PetscFree2(c, z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode run(const Case *c, BCRTriMethod method, int isa, BCRTriPrecision precision, int inplace,
                          BCRTriMethod expected)
{
  const size_t size = (size_t)c->inner * c->n * c->outer;
  size_t start;
  BCRTriRows rows, *all = NULL;
  BCRTriSpec spec;
  BCRTriOptions options;
  BCRTriLocal local;
  BCRTriInfo info;
  PetscReal *f, *u, *x;
  long double *line;
  double error = 0, differ = 0, tolerance = PetscDefined(USE_REAL_SINGLE) || precision == BCR_TRI_SINGLE ? 5e-7 : 1e-15,
         cond;

  PetscFunctionBegin;
  if (!TestTurn()) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMemzero(&rows, sizeof(rows)));
  PetscCall(PetscMemzero(&spec, sizeof(spec)));
  PetscCall(PetscMemzero(&options, sizeof(options)));
  rows.row[0] = (PetscReal)c->low;
  rows.row[1] = (PetscReal)c->diag;
  rows.row[2] = (PetscReal)c->up;
  for (int k = 0; k < BCR_TRI_EDGE; k++) {
    rows.first[k][0] = rows.last[k][2] = (PetscReal)(0.3 + 0.1 * k);
    rows.first[k][1] = rows.last[k][1] = (PetscReal)(2.5 + 0.2 * k);
    rows.first[k][2] = rows.last[k][0] = (PetscReal)(-0.9 + 0.1 * k);
  }
  spec.inner = c->inner;
  spec.n = c->n;
  spec.outer = c->outer;
  spec.rep = 1;
  spec.periodic = (PetscBool)c->periodic;
  spec.rows = &rows;
  if (c->perline) {
    const PetscInt lines = c->inner * c->outer;

    PetscCall(PetscMalloc1(lines, &all));
    for (PetscInt l = 0; l < lines; l++) all[l] = rows;
    spec.rows = all;
    spec.perline = PETSC_TRUE;
  }
  spec.nfirst = c->edges;
  spec.nlast = (c->edges + 1) / 2;
  options.method = method;
  options.precision = precision;
  options.isa = isa;
  PetscCall(PetscMalloc3(size, &f, size + 64, &u, c->n, &line));
  for (size_t i = 0; i < size; i++) f[i] = (PetscReal)number();
  for (size_t i = 0; i < size + 64; i++) u[i] = 77;
  start = 64 / sizeof(PetscReal) + (64 - (size_t)u % 64) / sizeof(PetscReal) + (size_t)c->offset;
  x = u + start;
  if (inplace) PetscCall(PetscArraycpy(x, f, size));
  PetscCall(BCRTriLocalCreate(&spec, &options, &local));
  PetscCall(BCRTriLocalSolve(local, inplace ? x : f, x));
  PetscCall(BCRTriLocalGetInfo(local, &info));
  PetscCall(BCRTriLocalDestroy(&local));
  for (PetscInt o = 0; o < c->outer; o++)
    for (PetscInt i = 0; i < c->inner; i++) {
      const size_t base = i + (size_t)c->inner * c->n * o;
      double nr = 0, nu = 0, nf = 0, row[3];

      for (PetscInt j = 0; j < c->n; j++) {
        const size_t k = base + (size_t)c->inner * j;
        long double r = f[k];

        BCRTriGetRow(&spec, 0, j, row);
        if (row[0] != 0) r -= (long double)row[0] * x[j ? k - c->inner : base + (size_t)c->inner * (c->n - 1)];
        if (row[2] != 0) r -= (long double)row[2] * x[j < c->n - 1 ? k + c->inner : base];
        r -= (long double)row[1] * x[k];
        TestLargest(&nr, fabs((double)r));
        nu = PetscMax(nu, fabs((double)x[k]));
        nf = PetscMax(nf, fabs((double)f[k]));
      }
      TestLargest(&error, nr / ((fabs(c->low) + fabs(c->diag) + fabs(c->up)) * nu + nf));
      if ((base / 7 + i) % 997 == 0 || i == c->inner - 1) {
        PetscCall(eliminate(&spec, f + base, c->inner, line));
        for (PetscInt j = 0; j < c->n; j++)
          TestLargest(&differ, fabs((double)(line[j] - x[base + (size_t)c->inner * j])) / nu);
      }
    }
  /* too short for single: in double */
  if (!PetscDefined(USE_REAL_SINGLE) && c->outer > c->inner && c->inner * c->n < 8) tolerance = 1e-15;
  cond = 16 * fabs(c->diag) /
         PetscMax(fabs(c->diag) - fabs(c->low) - fabs(c->up), fabs(c->diag) * 4. / ((double)c->n * c->n));
  for (size_t k = 0; k < start; k++) tolerance = u[k] == 77 ? tolerance : 0;
  for (size_t k = start + size; k < size + 64; k++) tolerance = u[k] == 77 ? tolerance : 0;
  if (error <= tolerance && differ <= cond * tolerance && info.method == expected) passed++;
  else {
    failed++;
    printf("inner %d n %d outer %d, %g %g %g, edges %d periodic %d offset %d, instruction set %d, precision %d, in "
           "place %d: backward error %g, difference %g (bound %g), method %d not %d [%s]%s\n",
           (int)c->inner, (int)c->n, (int)c->outer, c->low, c->diag, c->up, c->edges, c->periodic, (int)c->offset, isa,
           (int)precision, inplace, error, differ, cond * tolerance, (int)info.method, (int)expected, info.what,
           tolerance > 0 ? "" : ", wrote outside");
  }
  PetscCall(PetscFree3(f, u, line));
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  /* across: aligned and unaligned rows, one plane and several, blocks left over, lag of 1 and more;
     the last: stored factors */
  static const Case across[] = {
    {1024, 3300, 1, -1,  4,    -1,   0, 0, 0, 0},
    {1041, 3203, 1, -1,  4,    -1,   1, 0, 1, 0},
    {1000, 833,  4, -1,  2.2,  -1,   2, 0, 2, 0},
    {571,  6001, 1, 0.7, 2.01, -1.2, 3, 0, 3, 0},
    {515,  6208, 1, -1,  3,    -1,   2, 1, 5, 0},
    {327,  1000, 1, -1,  2.03, -1,   0, 0, 1, 0}, /* in the caches */
    {130,  140,  3, -1,  5,    -1,   1, 1, 0, 0}
  };
  static const Case slow[] = {
    {1024, 3300, 1,  -1, 2,          -1, 0, 0, 0, 0},
    {1041, 3203, 1,  -1, 2 + 1e-9,   -1, 1, 0, 1, 0},
    {515,  6208, 1,  -1, 2 + 1.2e-5, -1, 2, 1, 3, 0},
    {333,  400,  2,  -1, 2,          -1, 0, 0, 1, 0},
    {3301, 61,   17, -1, 4,          -1, 1, 0, 3, 0}  /* short */
  };
  static const Case along[] = {
    {1, 4096,  803,   -1, 4,   -1,  0, 0, 0, 0},
    {1, 4093,  811,   -1, 3,   -1,  1, 0, 1, 0},
    {1, 8225,  401,   -1, 2.1, 0.8, 3, 0, 0, 0},
    {1, 4099,  803,   -1, 4,   -1,  2, 1, 2, 0},
 /* cache lines with the end of one line and the beginning of the next */
    {1, 4096,  806,   -1, 4,   -1,  1, 0, 2, 0},
    {1, 4100,  813,   -1, 4,   -1,  0, 0, 4, 0},
    {1, 2054,  1601,  -1, 4,   -1,  2, 0, 6, 0},
    {1, 2055,  1595,  -1, 4,   -1,  0, 1, 7, 0},
    {1, 200,   16399, -1, 6,   -1,  1, 0, 3, 0},
    {1, 70003, 47,    -1, 4,   -1,  0, 0, 1, 0}, /* lines too few for that */
    {1, 163,   100,   -1, 4,   -1,  3, 0, 0, 0},
    {1, 193,   9,     -1, 5,   1.5, 2, 0, 0, 0}, /* its last rows begin a block */
    {1, 194,   9,     -1, 4,   1.5, 3, 1, 0, 0}
  };
  static const Case tables[] = {
  /* stored factors, along */
    {1, 8,    430001,  -1, 4,    -1, 0, 0, 2, 0},
    {1, 1,    3300001, -1, 4,    -1, 0, 0, 3, 0},
    {1, 16,   210007,  -1, 2,    -1, 1, 0, 6, 0},
    {1, 33,   100003,  -1, 3,    -1, 3, 0, 1, 0},
    {1, 32,   110001,  -1, 4,    -1, 2, 1, 5, 0},
    {1, 127,  26003,   -1, 2,    -1, 0, 0, 7, 1},
    {3, 37,   30011,   -1, 4,    -1, 1, 0, 3, 0},
    {3, 1033, 1079,    -1, 2,    -1, 1, 0, 5, 0},
    {1, 4096, 807,     -1, 2,    -1, 0, 0, 2, 0},
    {1, 4097, 811,     -1, 2,    -1, 2, 0, 5, 0},
    {1, 2062, 1601,    -1, 2.01, -1, 1, 1, 4, 0},
    {1, 2064, 1601,    -1, 2.01, -1, 1, 0, 3, 1},
    {1, 2063, 1601,    -1, 2.01, -1, 1, 0, 3, 1}
  };
  static const Case lines[] = {
    {1, 20001,   1, -1,  4,    -1,  0, 0, 0, 0},
    {1, 65537,   2, -1,  3,    -1,  1, 0, 1, 0},
    {1, 1048576, 1, 0.4, 1.01, 0.4, 2, 0, 2, 0},
    {1, 3400003, 1, -1,  4,    -1,  3, 0, 5, 0},
    {1, 3276811, 1, -1,  2.1,  -1,  2, 1, 0, 0}
  };
  static const Case far = {1, 30000, 1, -1, 2, -1, 0, 0, 0, 0};

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(TestSeed());
  for (int k = 0; k < 2; k++) { /* one set of cases for each kind of call */
    for (size_t c = 0; c < PETSC_STATIC_ARRAY_LENGTH(across); c++) {
      PetscCall(run(&across[c], BCR_TRI_SCAN, 2 - k, BCR_TRI_DOUBLE, (int)(c + k) % 2, BCR_TRI_SCAN));
      if ((c + k) % 2)
        PetscCall(run(&across[c], BCR_TRI_SCAN, 2 - k, BCR_TRI_SINGLE, (int)(c / 2 + k) % 2, BCR_TRI_SCAN));
    }
    for (size_t c = 0; c < PETSC_STATIC_ARRAY_LENGTH(slow); c++) {
      PetscCall(run(&slow[c], BCR_TRI_SCAN, 2 - k, BCR_TRI_DOUBLE, (int)(c + k) % 2, BCR_TRI_THOMAS));
      if (slow[c].n < 100)
        PetscCall(run(&slow[c], BCR_TRI_THOMAS, 2 - k, BCR_TRI_SINGLE, (int)(c + k) % 2, BCR_TRI_THOMAS));
    }
    for (size_t c = 0; c < PETSC_STATIC_ARRAY_LENGTH(along); c++) {
      PetscCall(run(&along[c], BCR_TRI_SCAN, 2 - k, BCR_TRI_DOUBLE, (int)(c + k) % 2, BCR_TRI_SCAN));
      if ((c + k) % 2)
        PetscCall(run(&along[c], BCR_TRI_SCAN, 2 - k, BCR_TRI_SINGLE, (int)(c / 2 + k) % 2, BCR_TRI_SCAN));
    }
    for (size_t c = 0; c < PETSC_STATIC_ARRAY_LENGTH(tables); c++) {
      PetscCall(run(&tables[c], BCR_TRI_THOMAS, 2 - k, BCR_TRI_DOUBLE, (int)(c + k) % 2, BCR_TRI_THOMAS));
      if ((c + k) % 2 && tables[c].diag > 3)
        PetscCall(run(&tables[c], BCR_TRI_THOMAS, 2 - k, BCR_TRI_SINGLE, (int)(c / 2 + k) % 2, BCR_TRI_THOMAS));
    }
    for (size_t c = 0; c < PETSC_STATIC_ARRAY_LENGTH(lines); c++) {
      PetscCall(run(&lines[c], BCR_TRI_SCAN, 2 - k, BCR_TRI_DOUBLE, (int)(c + k) % 2, BCR_TRI_SCAN));
      if ((c + k) % 2)
        PetscCall(run(&lines[c], BCR_TRI_SCAN, 2 - k, BCR_TRI_SINGLE, (int)(c / 2 + k) % 2, BCR_TRI_SCAN));
    }
  }
  PetscCall(run(&across[3], BCR_TRI_SCAN, 0, BCR_TRI_DOUBLE, 0, BCR_TRI_SCAN));
  PetscCall(run(&along[1], BCR_TRI_SCAN, 0, BCR_TRI_DOUBLE, 1, BCR_TRI_SCAN));
  PetscCall(run(&lines[2], BCR_TRI_SCAN, 0, BCR_TRI_DOUBLE, 0, BCR_TRI_SCAN));
  PetscCall(run(&slow[2], BCR_TRI_SCAN, 0, BCR_TRI_DOUBLE, 1, BCR_TRI_THOMAS));
  PetscCall(run(&tables[4], BCR_TRI_THOMAS, 0, BCR_TRI_DOUBLE, 1, BCR_TRI_THOMAS));
  PetscCall(run(&tables[9], BCR_TRI_THOMAS, 0, BCR_TRI_DOUBLE, 0, BCR_TRI_THOMAS));
  PetscCall(run(&far, BCR_TRI_SCAN, -1, BCR_TRI_DOUBLE, 0, BCR_TRI_THOMAS));
  PetscCall(PetscFinalize());
  return TestStatus(1, (int)passed, (int)failed);
}
