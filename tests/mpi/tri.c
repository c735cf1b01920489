/*
  Lines across ranks (src/tridiagonal/tridiagonal.c) against Gaussian elimination with row exchanges
  of the whole lines in long double: all layouts, near-Toeplitz lines with edges and general ones,
  one set of coefficients or one per line, open and periodic, parts of any size, one row or none on
  a rank, precisions; both couplings; bytes against what MPI was given; errors on every rank. Where
  there is a CUDA device all of that on it, too (-device_part 1; n: one case in n), by whatever way
  of transport there is (-transport).

  ranks: 1 2 3 4 6 8
  quick: 1 2
*/
#include "../../src/tridiagonal/tridiagonal.h"
#include "counting.h"
#include "tests/check.h"
#include <float.h>
#include <math.h>
#if defined(PETSCBCR_HAVE_CUDA)
  #include <petscdevice.h>
  #include "../../src/poisson/device.h"
  #include "../../src/transport/transport.h"

static BCRTransport transport; /* NULL: no device */
static PetscInt part = 1;
#endif

static int passed, failed;
static PetscMPIInt rank, size;

static double rnd(void) /* the same on all ranks */
{
  return 2 * TestUniform() - 1;
}

typedef enum {
  DOMINANT,
  TWO,
  NEARTWO,
  SKEW,
  COMPACT,
  STRONG
} Kind;

typedef struct {
  PetscInt inner, outer, rep;
  int spread;
  Kind kind;
  int general, perline, periodic, edges;
  BCRTriMethod method;
  BCRTriPrecision precision;
  BCRTriCoupling coupling;
} Case;

/* rows of rank p */
static PetscInt spread(int how, PetscMPIInt p)
{
  switch (how) {
  case 0:
    return 9 + p % 2;
  case 1:
    return 1;
  case 2:
    return 2;
  case 3:
    return (5 * p + 1) % 7;
  case 4:
    return p == size / 2 ? 7 : 0;
  case 5:
    return p == 0 || p == size - 1 ? 1 : 0;
  case 6:
    return p == 1 ? 1 : 11;
  case 8:
    return 290 + 7 * p;
  case 9:
    return 520 + 513 * (p % 3);
  default:
    return 120 + 7 * p;
  }
}

static void fill(Kind kind, double c[3])
{
  const double s = 1 + 0.5 * rnd(), t = rnd();

  c[0] = c[2] = -1;
  switch (kind) {
  case DOMINANT:
    c[0] = c[2] = -s;
    c[1] = s * (2.05 + fabs(t));
    break;
  case TWO:
    c[1] = 2;
    break;
  case NEARTWO:
    c[1] = 2 + 1e-4;
    break;
  case SKEW:
    c[0] = rnd();
    c[2] = rnd();
    c[1] = ((fabs(c[0]) + fabs(c[2])) * 1.1 + 0.1) * (t < 0 ? -1 : 1);
    break;
  case COMPACT:
    c[0] = c[2] = 0.25;
    c[1] = 1;
    break;
  case STRONG:
    c[1] = 60;
    break;
  }
  for (int k = 0; k < 3; k++) c[k] = (double)(PetscReal)c[k];
}

/* a whole line, the same on all ranks */
typedef struct {
  PetscInt n;
  double *c; /* 3 n */
} Line;

static void line_make(const Case *k, PetscInt n, Line *l)
{
  double in[3];

  l->n = n;
  fill(k->kind, in);
  for (PetscInt j = 0; j < n; j++) {
    if (k->general) fill(k->kind, l->c + 3 * j);
    else if (j < k->edges || j >= n - k->edges) fill(k->kind == COMPACT ? COMPACT : DOMINANT, l->c + 3 * j);
    else memcpy(l->c + 3 * j, in, sizeof(in));
  }
  /* boundary closures of Pade schemes */
  if (k->kind == COMPACT && !k->general && k->edges && !k->periodic && n > 4) l->c[2] = l->c[3 * n - 3] = 2;
}

/* Row k of line_solve() has entries in a band of three above, and in the last columns for the
   corners: the column that comes after j */
static PetscInt line_column(PetscInt k, PetscInt j, PetscInt n)
{
  return j == k + 3 && j < n - 3 ? n - 3 : j + 1;
}

/* elimination with row exchanges of a band of two above, and of two full columns for the corners */
static void line_solve(const Line *l, int periodic, PetscInt nrhs, double *x)
{
  const PetscInt n = l->n, w = n + nrhs;
  long double *a = calloc((size_t)(n * w) + 1, sizeof(*a));

  for (PetscInt i = 0; i < n; i++) {
    a[i * w + i] += l->c[3 * i + 1];
    if (i || periodic) a[i * w + (i ? i - 1 : n - 1)] += l->c[3 * i];
    if (i < n - 1 || periodic) a[i * w + (i < n - 1 ? i + 1 : 0)] += l->c[3 * i + 2];
    for (PetscInt v = 0; v < nrhs; v++) a[i * w + n + v] = x[i * nrhs + v];
  }
  for (PetscInt k = 0; k < n; k++) {
    const PetscInt cand[3] = {k, k + 1, n - 1}; /* rows with entries in column k */
    PetscInt p = k;

    for (int i = 1; i < 3; i++)
      if (cand[i] < n && fabsl(a[cand[i] * w + k]) > fabsl(a[p * w + k])) p = cand[i];
    for (PetscInt j = k; j < w && p != k; j = line_column(k, j, n)) {
      long double t = a[k * w + j];

      a[k * w + j] = a[p * w + j];
      a[p * w + j] = t;
    }
    for (int i = 1; i < 3; i++) {
      const PetscInt r = cand[i];
      long double f;

      if (r >= n || r == k || (i == 2 && cand[1] == r)) continue;
      f = a[r * w + k] / a[k * w + k];
      if (f == 0) continue;
      for (PetscInt j = k; j < w; j = line_column(k, j, n)) a[r * w + j] -= f * a[k * w + j];
    }
  }
  for (PetscInt v = 0; v < nrhs; v++)
    for (PetscInt i = n - 1; i >= 0; i--) {
      long double t = a[i * w + n + v];

      for (PetscInt j = line_column(i, i, n); j < n; j = line_column(i, j, n)) t -= a[i * w + j] * a[j * w + n + v];
      a[i * w + n + v] = t / a[i * w + i];
      x[i * nrhs + v] = (double)a[i * w + n + v];
    }
  free(a);
}

/* this rank's rows of the lines */
static void describe(const Case *k, PetscInt N, PetscInt start, const Line *lines, PetscInt nlines, BCRTriSpec *spec,
                     BCRTriRows *rows, PetscReal *coef)
{
  const PetscInt across = k->inner / k->rep, n = spec->n;

  spec->inner = k->inner;
  spec->outer = k->outer;
  spec->rep = k->rep;
  spec->periodic = (PetscBool)k->periodic;
  spec->perline = (PetscBool)k->perline;
  if (k->general) {
    const size_t total = (size_t)nlines * (size_t)n;

    spec->low = coef;
    spec->diag = coef + total;
    spec->up = coef + 2 * total;
    for (PetscInt l = 0; l < nlines; l++)
      for (PetscInt j = 0; j < n; j++)
        for (int m = 0; m < 3; m++)
          coef[(size_t)m * total + (size_t)(k->perline ? l % across + across * (j + n * (l / across)) : j)] =
            (PetscReal)lines[l].c[3 * (start + j) + m];
    return;
  }
  spec->rows = rows;
  spec->nfirst = PetscMax(0, PetscMin(n, k->edges - start));
  spec->nlast = PetscMax(0, PetscMin(n, start + n - (N - k->edges)));
  for (PetscInt l = 0; l < nlines; l++)
    for (int m = 0; m < 3; m++) {
      for (PetscInt i = 0; i < spec->nfirst; i++) rows[l].first[i][m] = (PetscReal)lines[l].c[3 * (start + i) + m];
      for (PetscInt i = 0; i < spec->nlast; i++)
        rows[l].last[i][m] = (PetscReal)lines[l].c[3 * (start + n - spec->nlast + i) + m];
      rows[l].row[m] = (PetscReal)lines[l].c[3 * (N / 2) + m];
    }
}

/* this rank's largest error of u against x [l][j][v], relative to the largest of its line */
static double difference(const Case *k, PetscInt N, PetscInt start, PetscInt n, const double *x, const PetscReal *u)
{
  const PetscInt across = k->inner / k->rep;
  double worst = 0;

  for (PetscInt l = 0; l < across * k->outer; l++) {
    double scale = 0;

    for (PetscInt j = 0; j < N * k->rep; j++) scale = PetscMax(scale, fabs(x[l * N * k->rep + j]));
    for (PetscInt j = 0; j < n; j++)
      for (PetscInt v = 0; v < k->rep; v++) {
        const double e = fabs((double)u[(l % across) * k->rep + v + k->inner * (j + n * (l / across))] -
                              x[(l * N + start + j) * k->rep + v]) /
                         scale;

        TestLargest(&worst, e);
      }
  }
  return worst;
}

#if defined(PETSCBCR_HAVE_CUDA)
/* from one array of the device to another, in place there, and arrays of the host; bytes as told */
static PetscErrorCode check_device(const Case *k, const BCRTriSpec *spec, BCRTriOptions options, PetscInt N,
                                   PetscInt start, const double *x, const PetscReal *f, PetscReal *u, double *worst,
                                   int *counted)
{
  const size_t bytes = (size_t)k->inner * (size_t)spec->n * (size_t)k->outer * sizeof(PetscReal);
  BCRDeviceArena arena;
  BCRTransportInfo sent;
  BCRTriInfo info;
  BCRTri tri;
  PetscReal *df, *du;

  PetscFunctionBegin;
  options.device = PETSC_TRUE;
  options.transport = transport;
  PetscCall(PetscMemzero(&arena, sizeof(arena)));
  PetscCall(BCRDeviceArenaGet(&arena, bytes, "f", &df));
  PetscCall(BCRDeviceArenaGet(&arena, bytes, "u", &du));
  PetscCallBCRCuda(BCRCudaPut(df, f, bytes, NULL));
  PetscCall(BCRTriCreate(PETSC_COMM_WORLD, spec, &options, &tri));
  PetscCall(BCRTriGetInfo(tri, &info));
  *worst = 0;
  *counted = 1;
  for (int again = 0; again < (k->spread > 7 ? 8 : 3); again++) { /* what ranks send takes turns in places */
    PetscCall(BCRTransportCount(transport));
    for (PetscInt i = 0; i < k->inner * spec->n * k->outer; i++) u[i] = again ? f[i] : (PetscReal)1e30;
    if (again != 2) {
      PetscCallBCRCuda(BCRCudaPut(du, u, bytes, NULL));
      PetscCall(BCRTriSolveDevice(tri, NULL, again % 2 ? du : df, du));
      PetscCallBCRCuda(BCRCudaGet(u, du, bytes, NULL));
    } else PetscCall(BCRTriSolve(tri, f, u));
    PetscCall(BCRTransportGetInfo(transport, &sent));
    if (sent.bytes_sent != info.bytes_sent) *counted = 0;
    TestLargest(worst, difference(k, N, start, spec->n, x, u));
  }
  PetscCall(BCRTriDestroy(&tri));
  PetscCall(BCRDeviceArenaFree(&arena));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* what a coupling by neighbours alone may lose */
static double rounding(BCRTriPrecision precision)
{
  return (precision == BCR_TRI_SINGLE ? (double)FLT_EPSILON : (double)PETSC_MACHINE_EPSILON) / 2;
}

static PetscErrorCode judge(const Case *k, PetscInt N, const char *where, double worst, int counted,
                            const BCRTriInfo *info)
{
  const double eps = k->precision == BCR_TRI_SINGLE ? 1.2e-7 : (double)PETSC_MACHINE_EPSILON;
  /* condition numbers */
  const double tol = eps * (k->kind == TWO ? 2. * (double)N * (double)N : k->kind == NEARTWO ? 4e4 : 60);

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &worst, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &counted, 1, MPI_INT, MPI_MIN, PETSC_COMM_WORLD));
  if (worst <= tol && counted && (double)info->lost <= rounding(k->precision)) {
    passed++;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  failed++;
  if (!rank)
    printf("FAILED %s inner %d outer %d rep %d spread %d (%d rows) kind %d general %d perline %d periodic %d edges %d "
           "method %d precision %d coupling %d: error %.2e above %.2e, lost %.2e, bytes %s; %s\n",
           where, (int)k->inner, (int)k->outer, (int)k->rep, k->spread, (int)N, (int)k->kind, k->general, k->perline,
           k->periodic, k->edges, (int)k->method, (int)k->precision, (int)k->coupling, worst, tol, (double)info->lost,
           counted ? "right" : "wrong", info->what);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check(const Case *k, BCRTriInfo *info)
{
  const PetscInt across = k->inner / k->rep, total = across * k->outer, nlines = k->perline ? total : 1;
  PetscInt N = 0, start = 0;
  Line *lines;
  double *x, *store, worst = 0;
  BCRTriSpec spec;
  BCRTriRows *rows;
  BCRTriOptions options;
  BCRTri tri;
  PetscReal *coef, *f, *u;
  int counted = 1;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&spec, sizeof(spec)));
  PetscCall(PetscMemzero(&options, sizeof(options)));
  for (PetscMPIInt p = 0; p < size; p++) {
    if (p == rank) start = N;
    N += spread(k->spread, p);
  }
  if (N < 1 || (!k->general && N < 2 * k->edges + 1) || (k->periodic && k->kind == TWO))
    PetscFunctionReturn(PETSC_SUCCESS);
  spec.n = spread(k->spread, rank);
  PetscCall(PetscMalloc5(nlines, &lines, 3 * nlines * N, &store, N * k->rep * total, &x, nlines, &rows,
                         3 * nlines * spec.n + 1, &coef));
  PetscCall(PetscMalloc2(k->inner * spec.n * k->outer + 1, &f, k->inner * spec.n * k->outer + 1, &u));
  for (PetscInt l = 0; l < nlines; l++) {
    lines[l].c = store + 3 * l * N;
    line_make(k, N, &lines[l]);
  }
  describe(k, N, start, lines, nlines, &spec, rows, coef);
  for (PetscInt l = 0; l < total; l++) { /* x: [l][j][v] */
    double *xl = x + l * N * k->rep;

    for (PetscInt j = 0; j < N; j++)
      for (PetscInt v = 0; v < k->rep; v++) {
        xl[j * k->rep + v] = (double)(PetscReal)rnd();
        if (j >= start && j < start + spec.n)
          f[(l % across) * k->rep + v + k->inner * (j - start + spec.n * (l / across))] = (PetscReal)xl[j * k->rep + v];
      }
    if (k->perline) line_solve(&lines[l], k->periodic, k->rep, xl);
  }
  if (!k->perline) { /* all at once */
    const PetscInt nrhs = k->rep * total;
    double *y;

    PetscCall(PetscMalloc1(N * nrhs + 1, &y));
    for (PetscInt l = 0; l < total; l++)
      for (PetscInt j = 0; j < N; j++)
        PetscCall(PetscArraycpy(y + nrhs * j + k->rep * l, x + (l * N + j) * k->rep, k->rep));
    line_solve(&lines[0], k->periodic, nrhs, y);
    for (PetscInt l = 0; l < total; l++)
      for (PetscInt j = 0; j < N; j++)
        PetscCall(PetscArraycpy(x + (l * N + j) * k->rep, y + nrhs * j + k->rep * l, k->rep));
    PetscCall(PetscFree(y));
  }
  options.method = k->method;
  options.coupling = k->coupling;
  options.precision = k->precision;
  options.isa = -1;
  PetscCall(BCRTriCreate(PETSC_COMM_WORLD, &spec, &options, &tri));
  PetscCall(BCRTriGetInfo(tri, info));
  for (int again = 0; again < 2; again++) { /* also in place */
    const PetscReal *from = again ? u : f;

    if (again) PetscCall(PetscArraycpy(u, f, k->inner * spec.n * k->outer));
    else
      for (PetscInt i = 0; i < k->inner * spec.n * k->outer; i++) u[i] = (PetscReal)1e30;
    sent_bytes = sent_messages = 0;
    PetscCall(BCRTriSolve(tri, from, u));
    if (sent_bytes != info->bytes_sent) counted = 0;
    TestLargest(&worst, difference(k, N, start, spec.n, x, u));
  }
  PetscCall(judge(k, N, "host", worst, counted, info));
#if defined(PETSCBCR_HAVE_CUDA)
  {
    static PetscInt number = 0;

    if (transport && number++ % part == 0) {
      PetscCall(check_device(k, &spec, options, N, start, x, f, u, &worst, &counted));
      PetscCall(judge(k, N, "device", worst, counted, info));
    }
  }
#endif
  PetscCall(BCRTriDestroy(&tri));
  PetscCall(PetscFree5(lines, store, x, rows, coef));
  PetscCall(PetscFree2(f, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode expect(const char *what, int ok)
{
  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &ok, 1, MPI_INT, MPI_MIN, PETSC_COMM_WORLD));
  if (ok) passed++;
  else {
    failed++;
    if (!rank) printf("FAILED %s\n", what);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static char message[2048];

static PetscErrorCode keep(MPI_Comm comm, int line, const char *fun, const char *file, PetscErrorCode n,
                           PetscErrorType p, const char *mess, void *ctx)
{
  (void)comm;
  (void)line;
  (void)fun;
  (void)file;
  (void)ctx;
  if (p == PETSC_ERROR_INITIAL) snprintf(message, sizeof(message), "%s", mess);
  return n;
}

/* general lines of 6 rows per rank, three of them; row 2 of line 1 on the last rank as given */
static PetscErrorCode error(const char *what, const double row[3], const double others[3], BCRTriCoupling coupling,
                            int periodic, PetscErrorCode code, const char *words)
{
  BCRTriSpec spec;
  BCRTriOptions options;
  BCRTri tri = NULL;
  PetscReal c[3][18];
  PetscErrorCode ierr;
  int ok;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&spec, sizeof(spec)));
  PetscCall(PetscMemzero(&options, sizeof(options)));
  for (int m = 0; m < 3; m++)
    for (int i = 0; i < 18; i++) c[m][i] = (PetscReal)(row && rank == size - 1 && i == 1 + 3 * 2 ? row[m] : others[m]);
  spec.inner = 3;
  spec.outer = 1;
  spec.rep = 1;
  spec.n = 6;
  spec.perline = PETSC_TRUE;
  spec.periodic = (PetscBool)periodic;
  spec.low = c[0];
  spec.diag = c[1];
  spec.up = c[2];
  options.coupling = coupling;
  options.isa = -1;
  message[0] = 0;
  PetscCall(PetscPushErrorHandler(keep, NULL));
  ierr = BCRTriCreate(PETSC_COMM_WORLD, &spec, &options, &tri);
  PetscCall(PetscPopErrorHandler());
  ok = ierr == code && !tri && strstr(message, words) != NULL;
  if (!ok) printf("rank %d: error %d, %s\n", rank, (int)ierr, message);
  PetscCall(expect(what, ok));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lines -1, 4, -1 of more and more rows for each rank: the ranks go on to the coupling by
   neighbours where it loses nothing, not before */
static PetscErrorCode reach(BCRTriPrecision precision)
{
  BCRTriRows row = {
    .row = {-1, 4, -1}
  };
  BCRTriSpec spec = {.inner = 2, .outer = 1, .rep = 1, .rows = &row, .periodic = PETSC_TRUE};
  BCRTriOptions options = {.isa = -1, .precision = precision};
  int few = 0, neighbours[2] = {0, 0}; /* of the shortest and the longest lines */

  PetscFunctionBegin;
  for (spec.n = 4; spec.n < 45; spec.n++) {
    BCRTriInfo info;
    BCRTri tri;

    PetscCall(BCRTriCreate(PETSC_COMM_WORLD, &spec, &options, &tri));
    PetscCall(BCRTriGetInfo(tri, &info));
    PetscCall(BCRTriDestroy(&tri));
    if (spec.n == 4) neighbours[0] = info.coupling == BCR_TRI_COUPLING_NEIGHBOUR;
    neighbours[1] = info.coupling == BCR_TRI_COUPLING_NEIGHBOUR;
    if (!((double)info.lost <= rounding(precision))) few++;
  }
  PetscCall(expect("lines of few rows on a rank: ranks couple by neighbours and lose digits", !few));
  if (size > 1)
    PetscCall(expect("lines of few rows on a rank: one kind of coupling only", !neighbours[0] && neighbours[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode errors(void)
{
  const double two[3] = {-1, 2, -1}, zero[3] = {-1, 0, -1}, nan[3] = {-1, NAN, -1}, beyond[3] = {0, 0, 0};
  char words[64];

  PetscFunctionBegin;
  if (size > 1) snprintf(words, sizeof(words), "ank %d of the %d", size - 1, size);
  else snprintf(words, sizeof(words), "Line 1 ");
  PetscCall(error("zero row", beyond, two, BCR_TRI_COUPLING_AUTO, 0, PETSC_ERR_MAT_LU_ZRPVT, words));
  PetscCall(error("zero row", beyond, two, BCR_TRI_COUPLING_AUTO, 0, PETSC_ERR_MAT_LU_ZRPVT, "Line 1 "));
  (void)zero;
  PetscCall(error("NaN", nan, two, BCR_TRI_COUPLING_AUTO, 0, PETSC_ERR_FP, size > 1 ? words : "Line 1, row 2"));
  if (size > 1)
    PetscCall(error("singular", NULL, two, BCR_TRI_COUPLING_AUTO, 1, PETSC_ERR_MAT_LU_ZRPVT, "singular to rounding"));
  if (size > 2)
    PetscCall(error("digits", NULL, two, BCR_TRI_COUPLING_NEIGHBOUR, 0, PETSC_ERR_ARG_OUTOFRANGE,
                    PetscDefined(USE_REAL_SINGLE) ? "would lose " : "would lose 1"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const PetscInt layouts[][3] = {
    {1,  1, 1},
    {1,  5, 1},
    {6,  1, 1},
    {9,  1, 1},
    {3,  4, 1},
    {2,  3, 2},
    {12, 2, 2},
    {40, 1, 1}
  };
  BCRTriInfo info;
  int count = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(TestSeed());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
#if defined(PETSCBCR_HAVE_CUDA)
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-device_part", &part, NULL));
  if (BCRDeviceAvailable(NULL)) {
    static const char *const kinds[] = {"auto", "mpi", "nccl", "host"};
    PetscInt kind = BCR_TRANSPORT_AUTO;

    PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA)); /* a device for each rank, if there are so many */
    PetscCall(PetscOptionsGetEList(NULL, NULL, "-transport", kinds, 4, &kind, NULL));
    PetscCall(BCRTransportCreate(PETSC_COMM_WORLD, "transport", (BCRTransportKind)kind,
                                 kind == BCR_TRANSPORT_MPI ? PETSC_TRUE : PETSC_FALSE, &transport));
  }
#endif
  for (int layout = 0; layout < 8; layout++)
    for (int how = 0; how < 7; how++)
      for (int kind = 0; kind < 6; kind++)
        for (int form = 0; form < 8; form++) {
          Case k;

          k.inner = layouts[layout][0];
          k.outer = layouts[layout][1];
          k.rep = layouts[layout][2];
          k.spread = how;
          k.kind = (Kind)kind;
          k.general = form & 1;
          k.perline = (form >> 1) & 1;
          k.periodic = form >> 2;
          k.edges = count++ % (BCR_TRI_EDGE + 1);
          k.method = count % 3 ? BCR_TRI_AUTO : BCR_TRI_THOMAS;
          k.precision = count % 11 == 0 ? BCR_TRI_MIXED : (count % 13 == 0 ? BCR_TRI_SINGLE : BCR_TRI_DOUBLE);
          k.coupling = count % 5 ? BCR_TRI_COUPLING_AUTO : BCR_TRI_COUPLING_REDUCED;
          /* ranks that wait for cores take their time */
          if (size > 4 && (count / 8 + count) % (size > 6 ? 9 : 4)) continue;
          PetscCall(check(&k, &info));
        }
  /* long lines: neighbours alone where they decay over a rank, all ranks where they do not */
  for (int form = 0; form < 8; form++)
    for (int kind = 0; kind < 6; kind += 5) {
      const PetscInt *lay = layouts[form];
      Case k = {lay[0],
                lay[1],
                lay[2],
                7,
                (Kind)(kind ? STRONG : TWO),
                form & 1,
                (form >> 1) & 1,
                (form >> 2) && kind,
                2,
                BCR_TRI_AUTO,
                BCR_TRI_DOUBLE,
                BCR_TRI_COUPLING_AUTO};

      if (!kind && !k.general) k.edges = 0;
      if (PetscDefined(USE_REAL_SINGLE) && !kind) continue;
      PetscCall(check(&k, &info));
      if (size > 2)
        PetscCall(expect("coupling of long lines",
                         kind ? info.coupling == BCR_TRI_COUPLING_NEIGHBOUR && !info.reduced &&
                                  (double)info.lost <= (double)PETSC_MACHINE_EPSILON
                              : info.coupling == BCR_TRI_COUPLING_REDUCED && info.reduced == lay[0] / lay[2] * lay[1]));
      if (size > 2 && kind)
        PetscCall(expect("two messages of a row each",
                         info.bytes_sent == (size_t)((k.periodic || (rank && rank < size - 1)) ? 2 : 1) *
                                              (size_t)(lay[0] * lay[1]) * sizeof(double)));
      k.coupling = kind ? BCR_TRI_COUPLING_NEIGHBOUR : BCR_TRI_COUPLING_REDUCED;
      PetscCall(check(&k, &info));
      k.coupling = BCR_TRI_COUPLING_REDUCED;
      PetscCall(check(&k, &info));
      if (size > 2)
        PetscCall(expect("coupling as told",
                         info.coupling == BCR_TRI_COUPLING_REDUCED && info.reduced == lay[0] / lay[2] * lay[1]));
    }
#if defined(PETSCBCR_HAVE_CUDA)
  /* lines whose ends a device's kernel exchanges as it solves them; so many that not all blocks are there at once */
  if (transport && size > 1) {
    static const PetscInt many[][3] = {
      {1,    1300, 1},
      {1900, 1,    1},
      {70,   30,   1},
      {33,   1,    1},
      {1,    3,    1}
    };

    for (int layout = 0; layout < 5; layout++)
      for (int how = 8; how < 10; how++)
        for (int form = 0; form < 12; form++) {
          const Kind kinds[] = {STRONG, COMPACT, DOMINANT};
          Case k = {many[layout][0],
                    many[layout][1],
                    1,
                    how,
                    kinds[form % 3],
                    0,
                    0,
                    form / 3 % 2,
                    form % 4,
                    BCR_TRI_AUTO,
                    form == 11 ? BCR_TRI_SINGLE : BCR_TRI_DOUBLE,
                    BCR_TRI_COUPLING_AUTO};

          if ((layout + how + form) % 2 && layout < 3) continue;
          PetscCall(check(&k, &info));
        }
  }
#endif
  PetscCall(reach(BCR_TRI_DOUBLE));
  PetscCall(reach(BCR_TRI_SINGLE));
  PetscCall(errors());
#if defined(PETSCBCR_HAVE_CUDA)
  PetscCall(BCRTransportDestroy(&transport));
#endif
  PetscCall(PetscFinalize());
  return TestStatus(!rank, passed, failed);
}
