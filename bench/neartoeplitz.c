static char help[] =
  "Near-Toeplitz lines by cyclic reduction with precomputed coefficients (NEATO) against cyclic reduction of general lines: paper 002, figures 4.3 and 4.4, table 4.1.\n\
The lines are those of its compact scheme: (1, 2), then (1/4, 1, 1/4), then (2, 1). On one core, all three reductions are plain C, compiled alike.\n\
  -n2 <32,64,...,4096>  n lines of length n\n\
  -n3 <32,64,128,256>   n^2 lines of length n\n\
  -reps <9>             repetitions, at least 5\n\
  -csv <file>           adds the results to this file\n\n";

#include "bench.h"
#include "src/tridiagonal/triimpl.h"
#include <math.h>

#if !defined(PETSC_USE_REAL_DOUBLE)
  #error "bench/neartoeplitz.c wants a PETSc in double precision"
#endif

extern void dgtsv_(const PetscBLASInt *, const PetscBLASInt *, double *, double *, double *, double *,
                   const PetscBLASInt *, PetscBLASInt *);

#define MAX_REPS 200

typedef enum {
  NEATO, /* the library's cr */
  /* the coefficients of every row of every reduced system, kept for all lines: what is precomputed
     without the structure */
  STORED,
  GENERAL, /* a, b, c of each line, reduced along with its right-hand side in every solve (Zhang et al., CUSPARSE) */
  GTSV,    /* LAPACK, elimination in every solve, as in MKL */
  SCAN     /* the library's default */
} Kind;

static const char *const names[] = {"cr", "cr_stored", "cr_general", "dgtsv", "scan"};

typedef struct {
  Kind kind;
  BCRTriLocal local;
  BCRTriShape shape; /* of a tile: general lines have four arrays where the library has one */
  BCRArena arena;
  double *a, *b, *c, *tile[4], *line[3], *table;
  double setup, residual, t[MAX_REPS], copy[MAX_REPS];
} Run;

typedef struct {
  PetscInt dim, inner, n, outer;
  double *f, *u;
} Batch;

static PetscInt repetitions = 9;
static FILE *csv;

static void Row(PetscInt n, PetscInt j, double row[3])
{
  row[0] = j == 0 ? 0 : (j == n - 1 ? 2 : 0.25);
  row[1] = 1;
  row[2] = j == n - 1 ? 0 : (j == 0 ? 2 : 0.25);
}

/* Row j of width lines at j*width. Row i of level r is row (i + 1) 2^r - 1, level r + 1 keeps the
   odd ones: (1.7) to (1.12) of the paper */
static void SolveGeneral(ptrdiff_t n, ptrdiff_t width, double *restrict a, double *restrict b, double *restrict c,
                         double *restrict x)
{
  ptrdiff_t s = 1;

  for (; n / s > 1; s *= 2) {
    for (ptrdiff_t i = 1; i < n / s; i += 2) {
      const ptrdiff_t p = ((i + 1) * s - 1) * width, q = p - s * width, r = p + s * width;

      if (i + 1 < n / s) {
        for (ptrdiff_t k = 0; k < width; k++) {
          const double k1 = a[p + k] / b[q + k], k2 = c[p + k] / b[r + k];

          b[p + k] -= c[q + k] * k1 + a[r + k] * k2;
          x[p + k] -= x[q + k] * k1 + x[r + k] * k2;
          a[p + k] = -a[q + k] * k1;
          c[p + k] = -c[r + k] * k2;
        }
      } else {
        for (ptrdiff_t k = 0; k < width; k++) {
          const double k1 = a[p + k] / b[q + k];

          b[p + k] -= c[q + k] * k1;
          x[p + k] -= x[q + k] * k1;
          a[p + k] = -a[q + k] * k1;
          c[p + k] = 0;
        }
      }
    }
  }
  for (; s; s /= 2) {
    for (ptrdiff_t i = 0; i < n / s; i += 2) {
      const ptrdiff_t p = ((i + 1) * s - 1) * width, q = p - s * width, r = p + s * width;

      if (i && i + 1 < n / s) {
        for (ptrdiff_t k = 0; k < width; k++)
          x[p + k] = (x[p + k] - a[p + k] * x[q + k] - c[p + k] * x[r + k]) / b[p + k];
      } else if (i + 1 < n / s) {
        for (ptrdiff_t k = 0; k < width; k++) x[p + k] = (x[p + k] - c[p + k] * x[r + k]) / b[p + k];
      } else if (i) {
        for (ptrdiff_t k = 0; k < width; k++) x[p + k] = (x[p + k] - a[p + k] * x[q + k]) / b[p + k];
      } else {
        for (ptrdiff_t k = 0; k < width; k++) x[p + k] /= b[p + k];
      }
    }
  }
}

/* Three numbers of each row of each level, for all lines: k1, k2 of a row that is kept, a/b, c/b,
   1/b of one that is not */
static size_t StoredSize(PetscInt n)
{
  size_t size = 0;

  for (PetscInt m = n; m; m /= 2) size += 3 * (size_t)m;
  return size;
}

static void StoredTable(PetscInt n, double *a, double *b, double *c, double *table)
{
  for (PetscInt s = 1; n / s; s *= 2) {
    const PetscInt m = n / s;

    for (PetscInt i = 0; i < m; ++i, table += 3) {
      const PetscInt p = (i + 1) * s - 1, q = p - s, r = p + s;

      if (i % 2) {
        table[0] = a[p] / b[q];
        table[1] = i + 1 < m ? c[p] / b[r] : 0;
        table[2] = 0;
      } else {
        table[0] = a[p] / b[p];
        table[1] = c[p] / b[p];
        table[2] = 1 / b[p];
      }
    }
    for (PetscInt i = 1; i < m; i += 2) { /* rows of the next level */
      const PetscInt p = (i + 1) * s - 1, q = p - s, r = p + s;
      const double k1 = a[p] / b[q], k2 = i + 1 < m ? c[p] / b[r] : 0;

      b[p] -= c[q] * k1 + (i + 1 < m ? a[r] * k2 : 0);
      a[p] = -a[q] * k1;
      c[p] = i + 1 < m ? -c[r] * k2 : 0;
    }
  }
}

static void SolveStored(ptrdiff_t n, ptrdiff_t width, const double *restrict table, double *restrict x)
{
  ptrdiff_t s = 1;

  for (; n / s > 1; table += 3 * (n / s), s *= 2) {
    for (ptrdiff_t i = 1; i < n / s; i += 2) {
      const ptrdiff_t p = ((i + 1) * s - 1) * width, q = p - s * width, r = p + s * width;
      const double *g = table + 3 * i;

      if (i + 1 < n / s) {
        for (ptrdiff_t k = 0; k < width; k++) x[p + k] -= x[q + k] * g[0] + x[r + k] * g[1];
      } else {
        for (ptrdiff_t k = 0; k < width; k++) x[p + k] -= x[q + k] * g[0];
      }
    }
  }
  for (; s; s /= 2, table -= s ? 3 * (n / s) : 0) {
    for (ptrdiff_t i = 0; i < n / s; i += 2) {
      const ptrdiff_t p = ((i + 1) * s - 1) * width, q = p - s * width, r = p + s * width;
      const double *g = table + 3 * i;

      if (i && i + 1 < n / s) {
        for (ptrdiff_t k = 0; k < width; k++) x[p + k] = g[2] * x[p + k] - g[0] * x[q + k] - g[1] * x[r + k];
      } else if (i + 1 < n / s) {
        for (ptrdiff_t k = 0; k < width; k++) x[p + k] = g[2] * x[p + k] - g[1] * x[r + k];
      } else if (i) {
        for (ptrdiff_t k = 0; k < width; k++) x[p + k] = g[2] * x[p + k] - g[0] * x[q + k];
      } else {
        for (ptrdiff_t k = 0; k < width; k++) x[p + k] *= g[2];
      }
    }
  }
}

static PetscErrorCode RunSetUp(const Batch *b, Run *r)
{
  const size_t size = (size_t)b->inner * b->n * b->outer;
  BCRTriRows rows;
  BCRTriSpec spec = {.inner = b->inner, .n = b->n, .outer = b->outer, .rep = 1, .nfirst = 1, .nlast = 1, .rows = &rows};
  BCRTriOptions options = {.method = r->kind == SCAN ? BCR_TRI_SCAN : BCR_TRI_CR, .isa = -1};
  double row[3], start;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&rows, sizeof(rows)));
  Row(b->n, 0, rows.first[0]);
  Row(b->n, 1, rows.row);
  Row(b->n, b->n - 1, rows.last[0]);
  start = BenchTime();
  PetscCall(BCRTriLocalCreate(&spec, &options, &r->local));
  r->setup = BenchTime() - start;
  if (r->kind == NEATO || r->kind == SCAN) PetscFunctionReturn(PETSC_SUCCESS);
  r->shape = r->local->shape;
  if (r->kind == STORED || r->kind == GTSV) {
    start = BenchTime();
    for (int k = 0; k < 3; ++k) PetscCall(BCRArenaGet(&r->arena, sizeof(double) * (size_t)b->n, &r->line[k]));
    PetscCall(BCRArenaGet(&r->arena, sizeof(double) * StoredSize(b->n), &r->table));
    for (PetscInt j = 0; j < b->n; ++j) {
      Row(b->n, j, row);
      for (int k = 0; k < 3; ++k) r->line[k][j] = row[k];
    }
    if (r->kind == STORED) {
      StoredTable(b->n, r->line[0], r->line[1], r->line[2], r->table);
      r->setup = BenchTime() - start;
    }
  } else {
    r->setup = NAN;
    if (r->shape.kind == BCR_TRI_ACROSS) { /* as many bytes in a tile as the library has */
      const PetscInt bundle = r->local->cpu->bundle;

      r->shape.nv = PetscMax(1, r->shape.nv / 4);
      r->shape.across = (b->inner + r->shape.nv * bundle - 1) / (r->shape.nv * bundle);
      r->shape.tiles = r->shape.across * b->outer;
    }
    PetscCall(BCRArenaGet(&r->arena, sizeof(double) * size, &r->a));
    PetscCall(BCRArenaGet(&r->arena, sizeof(double) * size, &r->b));
    PetscCall(BCRArenaGet(&r->arena, sizeof(double) * size, &r->c));
    for (size_t i = 0; i < size; ++i) {
      Row(b->n, (PetscInt)(i / (size_t)b->inner % (size_t)b->n), row);
      r->a[i] = row[0];
      r->b[i] = row[1];
      r->c[i] = row[2];
    }
  }
  if (r->kind != GTSV) {
    for (int k = 0; k < (r->kind == GENERAL ? 4 : 1); ++k)
      PetscCall(BCRArenaGet(&r->arena, sizeof(double) * r->local->cpu->tri->work(&r->shape), &r->tile[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunSolve(const Batch *b, Run *r)
{
  const BCRTriTable *tri = r->local->cpu->tri;
  PetscBLASInt n, one = 1, info;

  PetscFunctionBegin;
  if (r->kind == NEATO || r->kind == SCAN) {
    PetscCall(BCRTriLocalSolve(r->local, b->f, b->u));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (r->kind == GTSV) { /* lines lie side by side */
    PetscCall(PetscBLASIntCast(b->n, &n));
    for (PetscInt o = 0; o < b->outer; ++o) {
      double *x = b->u + (size_t)b->n * o;

      for (PetscInt j = 0; j < b->n; ++j) {
        if (j) r->table[j - 1] = r->line[0][j];
        r->table[b->n + j] = 1;
        r->table[2 * b->n + j] = r->line[2][j];
        x[j] = b->f[(size_t)b->n * o + j];
      }
      dgtsv_(&n, &one, r->table, r->table + b->n, r->table + 2 * b->n, x, &n, &info);
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (ptrdiff_t t = 0; t < r->shape.tiles; ++t) {
    const ptrdiff_t width = r->shape.kind == BCR_TRI_LINE ? 1 : (ptrdiff_t)r->local->cpu->bundle * r->shape.nv,
                    margin = r->local->cpu->bundle * (r->shape.nv + 2 * r->local->cpu->bundle);
    double *w[4];

    for (int k = 0; k < 4; ++k) w[k] = r->tile[k] + margin;
    if (r->kind == GENERAL) {
      tri->pack(&r->shape, t, r->a, w[1]);
      tri->pack(&r->shape, t, r->b, w[2]);
      tri->pack(&r->shape, t, r->c, w[3]);
    }
    tri->pack(&r->shape, t, b->f, w[0]);
    if (r->kind == GENERAL) SolveGeneral(b->n, width, w[1], w[2], w[3], w[0]);
    else SolveStored(b->n, width, r->table, w[0]);
    tri->unpack(&r->shape, t, w[0], b->u);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunDestroy(Run *r)
{
  PetscFunctionBegin;
  PetscCall(BCRTriLocalDestroy(&r->local));
  PetscCall(BCRArenaFree(&r->arena));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* max|f - A u| / (||A|| max|u| + max|f|) */
static double BackwardError(const Batch *b)
{
  double nr = 0, nu = 0, nf = 0, row[3];

  for (PetscInt o = 0; o < b->outer; ++o) {
    for (PetscInt j = 0; j < b->n; ++j) {
      Row(b->n, j, row);
      for (PetscInt i = 0; i < b->inner; ++i) {
        const size_t k = i + (size_t)b->inner * (j + (size_t)b->n * o);
        const double r = b->f[k] - row[1] * b->u[k] - (j ? row[0] * b->u[k - b->inner] : 0) -
                         (j < b->n - 1 ? row[2] * b->u[k + b->inner] : 0);

        TestLargest(&nr, fabs(r));
        nu = PetscMax(nu, fabs(b->u[k]));
        nf = PetscMax(nf, fabs(b->f[k]));
      }
    }
  }
  return nr / (3 * nu + nf);
}

/* All in turn, a copy before each */
static PetscErrorCode RunBatch(PetscInt dim, char axis, PetscInt n)
{
  const PetscInt lines = dim == 3 ? n * n : n;
  Batch b = {.dim = dim, .inner = axis == 'x' ? 1 : lines, .n = n, .outer = axis == 'x' ? lines : 1};
  const size_t size = (size_t)lines * n;
  Run *runs;
  PetscInt count = 0;
  PetscRandom random;
  double reference = 0;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(PETSC_STATIC_ARRAY_LENGTH(names), &runs));
  PetscCall(PetscMalloc2(size, &b.f, size, &b.u));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetInterval(random, -1, 1));
  for (size_t i = 0; i < size; ++i) PetscCall(PetscRandomGetValueReal(random, &b.f[i]));
  PetscCall(PetscRandomDestroy(&random));
  for (int k = NEATO; k <= SCAN; ++k) {
    if (k == GTSV && b.inner > 1) continue; /* it wants each line in one piece */
    runs[count++].kind = (Kind)k;
  }
  for (PetscInt k = 0; k < count; ++k) {
    PetscCall(RunSetUp(&b, &runs[k]));
    PetscCall(PetscArrayzero(b.u, size));
    PetscCall(RunSolve(&b, &runs[k]));
    runs[k].residual = BackwardError(&b);
  }
  for (PetscInt r = 0; r < repetitions; ++r) {
    for (PetscInt k = 0; k < count; ++k) {
      double start;

      memcpy(b.u, b.f, sizeof(double) * size);
      start = BenchTime();
      memcpy(b.u, b.f, sizeof(double) * size);
      runs[k].copy[r] = BenchTime() - start;
      start = BenchTime();
      PetscCall(RunSolve(&b, &runs[k]));
      runs[k].t[r] = BenchTime() - start;
    }
  }
  for (PetscInt k = 0; k < count; ++k) {
    const char name[2] = {axis, 0};
    BenchRow row = {.program = "neartoeplitz",
                    .name = dim == 3 ? "3d" : "2d",
                    .precision = "double",
                    .solver = names[runs[k].kind],
                    .axis = name,
                    .dim = dim,
                    .iterations = 1,
                    .setup = runs[k].setup,
                    .residual = runs[k].residual,
                    .first = NAN};

    BenchStatistics(repetitions, runs[k].t, &row.time, &row.mintime);
    BenchStatistics(repetitions, runs[k].copy, &row.copy, &row.mincopy);
    row.n[0] = row.n[1] = n;
    row.n[2] = dim == 3 ? n : 1;
    if (!k) reference = row.time;
    printf("%s %c %5d  %-10s %10.4f ms  %7.2f x copy  %6.2f x cr  error %.1e\n", row.name, axis, (int)n, row.solver,
           1e3 * row.time, row.time / row.copy, row.time / reference, row.residual);
    fflush(stdout);
    BenchWriteRow(csv, &row);
    PetscCall(RunDestroy(&runs[k]));
  }
  PetscCall(PetscFree2(b.f, b.u));
  PetscCall(PetscFree(runs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt sizes[2][16] =
    {
      {32,    64,   128,  256, 512, 1024, 2048, 4096},
      {32, 64, 128, 256   }
  },
           count[2] = {8, 4}, given;
  PetscBool found;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-reps", &repetitions, NULL));
  repetitions = PetscMin(PetscMax(repetitions, 5), MAX_REPS);
  for (int d = 0; d < 2; ++d) {
    given = 16;
    PetscCall(PetscOptionsGetIntArray(NULL, NULL, d ? "-n3" : "-n2", sizes[d], &given, &found));
    if (found) count[d] = given;
  }
  PetscCall(BenchOpen("rows (1, 2), (1/4, 1, 1/4), (2, 1); cr: near-Toeplitz, coefficients before; cr_stored: those of "
                      "all rows before; cr_general: a, b, c of each line reduced in each solve",
                      &csv));
  for (int d = 0; d < 2; ++d) {
    for (PetscInt k = 0; k < count[d]; ++k) {
      PetscCall(RunBatch(d + 2, 'x', sizes[d][k]));
      PetscCall(RunBatch(d + 2, 'z', sizes[d][k]));
    }
  }
  if (csv) fclose(csv);
  PetscCall(PetscFinalize());
  return 0;
}
