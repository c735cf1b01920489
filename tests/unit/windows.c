/*
  Kernels that exchange with other ranks as they work (windows, src/backend/cuda/window.cuh), on one
  CUDA device: lines that are periodic, cut at one place, whose rank is its own neighbour on both
  sides, and memory of the device in the place of a window. Lines by two constant recurrences, in
  one kernel (BCRCudaScanSolveRanks()), by what few rows next to the cut or the solution of the
  lines by themselves tell, and with their ends corrected (BCRCudaRanksCorrect()), by their
  residual, compact derivatives of contiguous lines (BCRCudaCompactSolve()) against periodic ones
  without a cut; numbers from one array to another (BCRCudaWindowExchange()). Several times one
  after the other, as slots take turns, in place too. Says so and passes where there is no device.

  -quick: few and small ones
  -halves: and lines cut into two, a stream for each half, in which every row reaches every other; the kernels wait for one another, so that both have to run at the same time
*/
#include "../../src/tridiagonal/device.h"
#include "../../src/compact/compact.h"
#include "tests/check.h"
#include <math.h>
#include <stdlib.h>

static int passed, failed;

#if defined(PETSCBCR_HAVE_CUDA)
  #include "../../src/backend/cuda/border.h"
  #include "../../src/backend/cuda/lineranks.h"
  #include "../../src/backend/cuda/transport.h"

static double number(void)
{
  return 2 * TestUniform() - 1;
}

static void judge(const char *what, PetscInt inner, PetscInt n, PetscInt outer, int kind, int round, double off,
                  double tol)
{
  if (off <= tol) passed++;
  else {
    failed++;
    printf("FAILED %s inner %d n %d outer %d kind %d, solve %d: %g above %g\n", what, (int)inner, (int)n, (int)outer,
           kind, round, off, tol);
  }
}

/* Room for two or three slots, of which nothing has come, and three numbers for the kernels */
static PetscErrorCode window(BCRDeviceArena *arena, size_t bytes, double **mine, unsigned **turn)
{
  char *p, *h;

  PetscFunctionBegin;
  PetscCall(BCRDeviceArenaGet(arena, bytes + 16, "a window", &p));
  PetscCall(PetscMalloc1(bytes + 16, &h));
  memset(h, BCR_CUDA_NOTHING, bytes);
  memset(h + bytes, 0, 16);
  PetscCallBCRCuda(BCRCudaPut(p, h, bytes + 16, NULL));
  PetscCall(PetscFree(h));
  *mine = (double *)p;
  *turn = (unsigned *)(p + bytes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of the inverse of the rows but the first and the last, its first column (row: its first row): the
   solution of a, b, c with 1 in the first place, from the other end by elimination */
static void response(double a, double b, double c, PetscInt m, double y[])
{
  double p = b, o = 1;

  for (PetscInt j = m - 1; j >= 0; j--) {
    p = b - (j < m - 1 ? c * o : 0);
    o = a / p;
    y[j] = j ? -o : 1 / p; /* over the one before */
  }
  for (PetscInt j = 1; j < m; j++) y[j] = fabs(y[j - 1]) < 1e-300 ? 0 : y[j] * y[j - 1];
}

/* scale times those of y that are not below rounding, back: the other way round */
static PetscErrorCode weights(BCRDeviceArena *arena, PetscInt m, const double y[], double scale, PetscBool back,
                              ptrdiff_t *reach, const void **table)
{
  PetscReal *v;
  void *q;

  PetscFunctionBegin;
  *reach = 0;
  while (*reach < m && fabs(scale * y[*reach]) > 1e-18) ++*reach;
  PetscCall(PetscMalloc1(*reach + 1, &v));
  for (ptrdiff_t j = 0; j < *reach; j++) v[back ? *reach - 1 - j : j] = (PetscReal)(scale * y[j]);
  PetscCall(BCRDeviceArenaGet(arena, (size_t)(*reach + 1) * sizeof(PetscReal), "weights", &q));
  PetscCallBCRCuda(BCRCudaPut(q, v, (size_t)*reach * sizeof(PetscReal), NULL));
  PetscCall(PetscFree(v));
  *table = q;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The factors of four rows */
static void chain(const double low[4], const double diag[4], const double up[4], BCRCudaScanRanks *r)
{
  double p = 1;

  r->n = 4;
  for (int i = 0; i < 4; i++) {
    r->lower[i] = i ? low[i] / p : 0;
    p = diag[i] - (i ? r->lower[i] * up[i - 1] : 0);
    r->pivotinverse[i] = 1 / p;
    r->upper[i] = up[i] / p;
  }
}

/* What both tests of lines begin with */
static PetscErrorCode describe(PetscInt inner, PetscInt outer, const double row[3], BCRTriRows *numbers,
                               BCRTriSpec *spec, BCRTriOptions *options, BCRDeviceArena *arena)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(spec, sizeof(*spec)));
  PetscCall(PetscMemzero(numbers, sizeof(*numbers)));
  PetscCall(PetscMemzero(options, sizeof(*options)));
  PetscCall(PetscMemzero(arena, sizeof(*arena)));
  for (int k = 0; k < 3; k++) numbers->row[k] = (PetscReal)row[k];
  spec->inner = inner;
  spec->outer = outer;
  spec->rep = 1;
  spec->rows = numbers;
  options->device = PETSC_TRUE;
  options->isa = -1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode lines(PetscInt inner, PetscInt n, PetscInt outer, int kind)
{
  static const double rows[][3] = {
    {-1,    4,  -1  },
    {-1,    60, -1  },
    {0.25,  1,  0.25},
    {-0.25, 1,  -0.3}
  };
  const double *row = rows[kind], a = row[0], b = row[1], c = row[2];
  const PetscInt m = n - 2, all = inner * n * outer, columns = inner * outer;
  const size_t bytes = (size_t)all * sizeof(PetscReal);
  BCRTriRows numbers;
  BCRTriSpec spec;
  BCRTriOptions options;
  BCRTriDevice device;
  BCRCudaScanRanks r;
  BCRDeviceArena arena;
  double *y[4], low[4] = {0, a, 0, a}, up[4] = {c, 0, c, 0}, diag[4];
  PetscReal *f, *u, *df, *du;
  BCRCudaRanks ends;
  BCRCudaRanksWindow w;

  PetscFunctionBegin;
  PetscCall(describe(inner, outer, row, &numbers, &spec, &options, &arena));
  PetscCall(PetscMemzero(&r, sizeof(r)));
  PetscCall(PetscMemzero(&ends, sizeof(ends)));
  PetscCall(PetscMemzero(&w, sizeof(w)));
  spec.n = n;
  PetscCall(BCRTriDeviceCreate(&spec, &options, &device));
  /* columns and rows of the inverse of the rows between, at both ends; of the latter those that are
     not below rounding */
  for (int k = 0; k < 4; k++) PetscCall(PetscMalloc1(m, &y[k]));
  response(a, b, c, m, y[0]);
  response(c, b, a, m, y[1]);
  response(c, b, a, m, y[2]);
  response(a, b, c, m, y[3]);
  ends.inner = inner;
  ends.n = n;
  ends.outer = outer;
  ends.rep = 1;
  ends.single = sizeof(PetscReal) == sizeof(float) ? 1 : 0;
  PetscCall(weights(&arena, m, y[0], -a, PETSC_FALSE, &ends.nfirst, &ends.wfirst));
  PetscCall(weights(&arena, m, y[1], -c, PETSC_TRUE, &ends.nlast, &ends.wlast));
  PetscCall(weights(&arena, m, y[2], c, PETSC_FALSE, &ends.mfirst, &ends.vfirst));
  PetscCall(weights(&arena, m, y[3], a, PETSC_TRUE, &ends.mlast, &ends.vlast));
  PetscCheck(BCRTriDeviceWaits(device) && BCRCudaRanksWaits(&ends), PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "%d rows, %d lines beside each other: not solved by the kernels that ought to wait", (int)n, (int)inner);
  diag[0] = diag[2] = b - a * c * y[1][0]; /* the last row, and that of the rank before */
  diag[1] = diag[3] = b - a * c * y[0][0];
  PetscCheck(m > 200, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The ends of %d rows are not far apart", (int)n);
  /* last row of the rank before, first and last one here, first one of the rank after. First and
     last row are too far apart to matter for one another */
  chain(low, diag, up, &r);
  r.begin = 1;
  r.give[0] = r.give[1] = 1;
  r.schur[0] = diag[1];
  r.schur[3] = diag[0];
  r.mfirst = (int)ends.mfirst;
  r.mlast = (int)ends.mlast;
  r.vfirst = ends.vfirst;
  r.vlast = ends.vlast;
  r.low = a;
  r.up = c;
  r.columns = columns;
  r.slot = 4 * columns;
  PetscCall(window(&arena, 12 * (size_t)columns * sizeof(double), &r.mine, &r.turn));
  r.before = r.after = r.mine;
  w.chain.n = 4;
  w.chain.ns = columns;
  w.chain.nvec = w.chain.same = 1;
  PetscCall(BCRDeviceArenaPut(&arena, NULL, PETSC_FALSE, 4, r.lower, &w.chain.lower));
  PetscCall(BCRDeviceArenaPut(&arena, NULL, PETSC_FALSE, 4, r.pivotinverse, &w.chain.pivotinverse));
  PetscCall(BCRDeviceArenaPut(&arena, NULL, PETSC_FALSE, 4, r.upper, &w.chain.upper));
  w.slot = 4 * columns;
  PetscCall(window(&arena, 8 * (size_t)columns * sizeof(double), &w.mine, &w.turn));
  w.before = w.after = w.mine;
  PetscCall(PetscMalloc2(all, &f, all, &u));
  PetscCall(BCRDeviceArenaGet(&arena, bytes, "f", &df));
  PetscCall(BCRDeviceArenaGet(&arena, bytes, "u", &du));
  for (int round = 0; round < 12; round++) { /* five that tell early, three with corrected ends, four that tell late */
    double off = 0, size = 0;

    r.late = round < 8 && inner > 1 ? 0 : 1; /* contiguous lines: late */

    for (PetscInt i = 0; i < all; i++) f[i] = (PetscReal)number();
    PetscCallBCRCuda(BCRCudaPut(round % 2 ? du : df, f, bytes, NULL));
    if (round < 5 || round > 7) PetscCall(BCRTriDeviceSolveRanks(device, &r, NULL, round % 2 ? du : df, du));
    else {
      PetscCallBCRCuda(BCRCudaRanksGather(NULL, &ends, round % 2 ? du : df, NULL, &w));
      PetscCall(BCRTriDeviceSolve(device, NULL, round % 2 ? du : df, du));
      PetscCallBCRCuda(BCRCudaRanksCorrect(NULL, &ends, NULL, du, &w));
    }
    PetscCallBCRCuda(BCRCudaGet(u, du, bytes, NULL));
    for (PetscInt o = 0; o < outer; o++)
      for (PetscInt j = 0; j < n; j++)
        for (PetscInt i = 0; i < inner; i++) {
          const PetscInt at = i + inner * (j + n * o), before = i + inner * ((j + n - 1) % n + n * o),
                         after = i + inner * ((j + 1) % n + n * o);
          const double e = fabs((double)f[at] - ((double)numbers.row[0] * u[before] + (double)numbers.row[1] * u[at] +
                                                 (double)numbers.row[2] * u[after]));

          TestLargest(&off, e);
          size = PetscMax(size, fabs((double)u[at]));
        }
    judge("lines", inner, n, outer, kind, round, off,
          8 * (double)PETSC_MACHINE_EPSILON * (1 + (fabs(a) + fabs(b) + fabs(c)) * size));
  }
  for (int k = 0; k < 4; k++) PetscCall(PetscFree(y[k]));
  PetscCall(PetscFree2(f, u));
  PetscCall(BCRTriDeviceDestroy(&device));
  PetscCall(BCRDeviceArenaFree(&arena));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lines whose first half is of one solver and the second one of another, two streams in the place of two ranks */
static PetscErrorCode halves(PetscInt inner, const PetscInt n[2], PetscInt outer, const double row[3])
{
  const double a = row[0], b = row[1], c = row[2];
  const PetscInt columns = inner * outer;
  BCRTriRows numbers;
  BCRTriSpec spec;
  BCRTriOptions options;
  BCRTriDevice device[2];
  BCRCudaScanRanks r[2];
  BCRDeviceArena arena;
  BCRStream stream[2];
  double low[4], diag[4], up[4], *y, *z;
  PetscReal *f[2], *u[2], *df[2], *du[2];

  PetscFunctionBegin;
  PetscCall(describe(inner, outer, row, &numbers, &spec, &options, &arena));
  PetscCall(PetscMemzero(r, sizeof(r)));
  for (int i = 0; i < 2; i++) {
    const PetscInt m = n[i] - 2;
    const size_t bytes = (size_t)(columns * n[i]) * sizeof(PetscReal);

    spec.n = n[i];
    PetscCallBCRCuda(BCRCudaStreamCreate(&stream[i]));
    options.stream = stream[i];
    PetscCall(BCRTriDeviceCreate(&spec, &options, &device[i]));
    PetscCheck(BCRTriDeviceWaits(device[i]), PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "%d rows, %d lines beside each other: not solved by a kernel that waits", (int)n[i], (int)inner);
    PetscCall(PetscMalloc2(m, &y, m, &z));
    PetscCall(PetscMalloc2(columns * n[i], &f[i], columns * n[i], &u[i]));
    response(a, b, c, m, y);
    response(c, b, a, m, z);
    r[i].schur[0] = b - a * c * y[0];
    r[i].schur[1] = -c * c * z[m - 1];
    r[i].schur[2] = -a * a * y[m - 1];
    r[i].schur[3] = b - a * c * z[0];
    PetscCall(PetscFree2(y, z));
    low[2 * i] = i ? a : 0;
    low[2 * i + 1] = r[i].schur[2];
    diag[2 * i] = r[i].schur[0];
    diag[2 * i + 1] = r[i].schur[3];
    up[2 * i] = r[i].schur[1];
    up[2 * i + 1] = i ? 0 : c;
    PetscCall(BCRDeviceArenaGet(&arena, bytes, "f", &df[i]));
    PetscCall(BCRDeviceArenaGet(&arena, bytes, "u", &du[i]));
    PetscCall(window(&arena, 12 * (size_t)columns * sizeof(double), &r[i].mine, &r[i].turn));
  }
  for (int i = 0; i < 2; i++) {
    chain(low, diag, up, &r[i]);
    r[i].late = 1;
    r[i].begin = 2 * i;
    r[i].low = a;
    r[i].up = c;
    r[i].columns = columns;
    r[i].slot = 4 * columns;
    r[i].give[1 - i] = 2;
    *(i ? &r[1].before : &r[0].after) = r[1 - i].mine;
  }
  for (int round = 0; round < 4; round++) {
    double off = 0, size = 0;

    for (int i = 0; i < 2; i++) {
      for (PetscInt k = 0; k < columns * n[i]; k++) f[i][k] = (PetscReal)number();
      PetscCallBCRCuda(BCRCudaPut(df[i], f[i], (size_t)(columns * n[i]) * sizeof(PetscReal), stream[i]));
    }
    for (int i = 0; i < 2; i++) PetscCall(BCRTriDeviceSolveRanks(device[i], &r[i], stream[i], df[i], du[i]));
    for (int i = 0; i < 2; i++)
      PetscCallBCRCuda(BCRCudaGet(u[i], du[i], (size_t)(columns * n[i]) * sizeof(PetscReal), stream[i]));
  #define AT(v, o, j, k) \
    ((j) < n[0] ? v[0][(k) + inner * ((j) + n[0] * (o))] : v[1][(k) + inner * ((j)-n[0] + n[1] * (o))])
    for (PetscInt o = 0; o < outer; o++)
      for (PetscInt j = 0; j < n[0] + n[1]; j++)
        for (PetscInt k = 0; k < inner; k++) {
          const double before = j ? (double)AT(u, o, j - 1, k) : 0, at = (double)AT(u, o, j, k),
                       after = j < n[0] + n[1] - 1 ? (double)AT(u, o, j + 1, k) : 0;
          const double e =
            fabs((double)AT(f, o, j, k) -
                 ((double)numbers.row[0] * before + (double)numbers.row[1] * at + (double)numbers.row[2] * after));

          TestLargest(&off, e);
          size = PetscMax(size, fabs(at));
        }
  #undef AT
    judge("halves", inner, n[0], outer, (int)n[1], round, off,
          16 * (double)PETSC_MACHINE_EPSILON * (1 + (fabs(a) + fabs(b) + fabs(c)) * size));
  }
  for (int i = 0; i < 2; i++) {
    PetscCall(PetscFree2(f[i], u[i]));
    PetscCall(BCRTriDeviceDestroy(&device[i]));
    PetscCallBCRCuda(BCRCudaStreamDestroy(stream[i]));
  }
  PetscCall(BCRDeviceArenaFree(&arena));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode all_halves(void)
{
  static const double rows[][3] = {
    {-1,   2,      -1  },
    {-1,   2.0001, -1  },
    {-1,   4,      -1  },
    {-0.5, 1,      -0.5}
  };
  static const PetscInt of[][4] = {
    {1,  300,  300,  9},
    {1,  300,  2300, 5},
    {1,  4096, 4000, 3},
    {33, 600,  600,  1},
    {33, 1025, 700,  1},
    {3,  2000, 1100, 2},
    {40, 3000, 9000, 1}
  };

  PetscFunctionBegin;
  for (int kind = 0; kind < 4; kind++)
    for (int i = 0; i < 7; i++) PetscCall(halves(of[i][0], &of[i][1], of[i][3], rows[kind]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What row m of those before the end adds to y in the last one, m < 0: of the next rank (src/compact/devpass.c) */
static double weight(const BCRCudaCompact *p, int m)
{
  double x = 0;

  for (int k = -p->half; k <= p->half; k++)
    if (m + k >= 0)
      x += p->gamma * (k < 0 ? p->sign * p->c[-k] : (k || p->sign > 0 ? p->c[k] : 0)) * pow(p->root, m + k);
  return x;
}

static PetscErrorCode derivative(MatCompactScheme scheme, PetscInt derivative_, PetscInt n, PetscInt outer)
{
  const PetscInt all = n * outer;
  const size_t bytes = (size_t)all * sizeof(PetscReal);
  const BCRCudaCompact *pass;
  BCRCudaCompact p;
  BCRCudaCompactWindow w;
  BCRCompactScheme s;
  const BCRCompactSpec cspec = {n, PETSC_TRUE, (PetscReal)0.5, 1, n, outer, 1};
  BCRTriOptions options;
  BCRCompact compact;
  BCRDeviceArena arena;
  PetscReal *f, *u, *v, *df, *du;
  double *sums;
  void *q;
  int waits;

  PetscFunctionBegin;
  PetscCall(BCRCompactGetScheme(scheme, derivative_, PETSC_DECIDE, PETSC_TRUE, &s));
  PetscCall(PetscMemzero(&options, sizeof(options)));
  PetscCall(PetscMemzero(&arena, sizeof(arena)));
  options.isa = -1;
  options.device = PETSC_TRUE;
  PetscCall(BCRCompactCreate(PETSC_COMM_SELF, &s, &cspec, &options, &compact));
  PetscCall(BCRCompactGetPass(compact, &pass));
  if (!pass) { /* the roots are too large for that */
    PetscCall(BCRCompactDestroy(&compact));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  p = *pass;
  p.periodic = p.h = p.t = 0;
  p.cut[0] = p.cut[1] = 1;
  p.back = p.root / (1 - p.root * p.root);
  for (int k = 0; k < p.half; k++) {
    p.owed[0][k] = weight(&p, -1 - k);
    p.owed[1][k] = p.sign / (1 - p.root * p.root) * p.owed[0][k];
  }
  w.rows = p.reach + p.half;
  w.scale = p.sign / (1 - p.root * p.root);
  w.slot = 8 * outer;
  PetscCall(PetscMalloc1(w.rows, &sums));
  for (int m = 0; m < w.rows; m++) sums[m] = weight(&p, m);
  PetscCall(BCRDeviceArenaGet(&arena, (size_t)w.rows * sizeof(double), "weights", &q));
  PetscCallBCRCuda(BCRCudaPut(q, sums, (size_t)w.rows * sizeof(double), NULL));
  PetscCall(PetscFree(sums));
  w.weights = (const double *)q;
  PetscCall(window(&arena, 16 * (size_t)outer * sizeof(double), &w.mine, &w.turn));
  w.to[0] = w.to[1] = w.mine;
  PetscCallBCRCuda(BCRCudaCompactWaits(&p, &waits));
  PetscCheck(waits, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The kernel of %d rows does not wait", (int)n);
  PetscCall(PetscMalloc3(all, &f, all, &u, all, &v));
  PetscCall(BCRDeviceArenaGet(&arena, bytes, "f", &df));
  PetscCall(BCRDeviceArenaGet(&arena, bytes, "u", &du));
  for (int round = 0; round < 4; round++) {
    double off = 0, size = 0;

    for (PetscInt i = 0; i < all; i++) f[i] = (PetscReal)number();
    PetscCallBCRCuda(BCRCudaPut(df, f, bytes, NULL));
    PetscCall(BCRCompactEndDevice(compact, NULL, df, du));
    PetscCallBCRCuda(BCRCudaGet(v, du, bytes, NULL));
    PetscCallBCRCuda(BCRCudaZero(du, bytes, NULL));
    PetscCallBCRCuda(BCRCudaCompactSolve(NULL, &p, df, du, &w));
    PetscCallBCRCuda(BCRCudaGet(u, du, bytes, NULL));
    for (PetscInt i = 0; i < all; i++) {
      const double e = fabs((double)u[i] - (double)v[i]);

      TestLargest(&off, e);
      size = PetscMax(size, fabs((double)v[i]));
    }
    judge("derivative", 1, n, outer, (int)(2 * scheme + derivative_), round, off,
          60 * (double)PETSC_MACHINE_EPSILON * size);
  }
  PetscCall(PetscFree3(f, u, v));
  PetscCall(BCRCompactDestroy(&compact));
  PetscCall(BCRDeviceArenaFree(&arena));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode exchange(PetscInt n)
{
  BCRDeviceArena arena;
  BCRCudaPiece piece[4], *pieces;
  double *mine, *a[2], *v, *u;
  unsigned *turn;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&arena, sizeof(arena)));
  PetscCall(window(&arena, 2 * (size_t)(n + 1) * sizeof(double), &mine, &turn));
  for (int i = 0; i < 2; i++) PetscCall(BCRDeviceArenaGet(&arena, (size_t)n * sizeof(double), "numbers", &a[i]));
  for (int way = 0; way < 2; way++) { /* all, and one that nobody wants */
    piece[2 * way].from = way ? mine : a[0];
    piece[2 * way].to = way ? a[1] : mine;
    piece[2 * way].n = n;
    piece[2 * way + 1].from = way ? mine + n : NULL;
    piece[2 * way + 1].to = way ? NULL : mine + n;
    piece[2 * way + 1].n = 1;
  }
  PetscCall(BCRDeviceArenaGet(&arena, sizeof(piece), "pieces", &pieces));
  PetscCallBCRCuda(BCRCudaPut(pieces, piece, sizeof(piece), NULL));
  PetscCall(PetscMalloc2(n, &v, n, &u));
  for (int round = 0; round < 4; round++) {
    double off = 0;

    for (PetscInt i = 0; i < n; i++) v[i] = number();
    PetscCallBCRCuda(BCRCudaPut(a[0], v, (size_t)n * sizeof(double), NULL));
    PetscCallBCRCuda(BCRCudaWindowExchange(NULL, 2, 2, pieces, n, n + 1, turn));
    PetscCallBCRCuda(BCRCudaGet(u, a[1], (size_t)n * sizeof(double), NULL));
    for (PetscInt i = 0; i < n; i++) off += u[i] == v[i] ? 0 : 1;
    judge("exchange", 1, n, 1, 0, round, off, 0);
  }
  PetscCall(PetscFree2(v, u));
  PetscCall(BCRDeviceArenaFree(&arena));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode all_(PetscBool quick)
{
  static const PetscInt of_lines[][3] = {
    {1,    300,  9   },
    {33,   530,  1   },
    {3,    1100, 2   },
    {1,    2300, 5   },
    {40,   3000, 1   },
    {1,    520,  2500},
    {2600, 600,  1   },
    {50,   1500, 70  }
  };
  static const PetscInt of_fields[][2] = {
    {150,  40  },
    {530,  3   },
    {1100, 5   },
    {1600, 4   },
    {150,  6500}
  };

  PetscFunctionBegin;
  PetscCall(exchange(1));
  PetscCall(exchange(129));
  PetscCall(exchange(10000));
  for (int kind = 0; kind < 4; kind++)
    for (int i = 0; i < (quick ? 4 : 8); i++) PetscCall(lines(of_lines[i][0], of_lines[i][1], of_lines[i][2], kind));
  for (int scheme = 0; scheme < 3; scheme++)
    for (PetscInt d = 1; d < 3; d++)
      for (int i = 0; i < (quick ? 4 : 5); i++)
        PetscCall(derivative((MatCompactScheme)scheme, d, of_fields[i][0], of_fields[i][1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  /* -halves: no kernel is to be loaded while another one waits for it */
  (void)setenv("CUDA_MODULE_LOADING", "EAGER", 0);
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(TestSeed());
#if defined(PETSCBCR_HAVE_CUDA)
  {
    PetscBool quick = PETSC_FALSE, two = PETSC_FALSE;
    const char *why = NULL;

    PetscCall(PetscOptionsGetBool(NULL, NULL, "-quick", &quick, NULL));
    PetscCall(PetscOptionsGetBool(NULL, NULL, "-halves", &two, NULL));
    if (BCRDeviceAvailable(&why)) {
      PetscCall(all_(quick));
      if (two) PetscCall(all_halves());
    } else printf("no device: %s\n", why ? why : "");
  }
#else
  printf("built without CUDA\n");
#endif
  PetscCall(PetscFinalize());
  return TestStatus(1, passed, failed);
}
