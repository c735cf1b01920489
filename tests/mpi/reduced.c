/*
  The reduced system over ranks (src/tridiagonal/reduced.h) against Gaussian elimination with row
  exchanges of the whole systems in long double: rows spread evenly, unevenly and on some ranks
  only, open and periodic, all flags, both couplings, by messages and through shared memory, which the MPI may refuse, one
  to three values per system, two objects on different communicators at once; bytes and messages against what MPI was given;
  errors.

  ranks: 1 2 3 4 5 7
*/
#include "../../src/tridiagonal/reduced.h"
#include "counting.h"
#include "tests/check.h"
#include <math.h>

static int passed, failed;
static PetscMPIInt rank, size;
static PetscBool memory, refuse; /* rows go through memory that ranks share; the MPI has none */

#undef MPI_Win_allocate_shared
int MPI_Win_allocate_shared(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win)
{
  return refuse ? MPI_ERR_NO_MEM : PMPI_Win_allocate_shared(bytes, unit, info, comm, base, win);
}

static double rnd(void) /* the same on all ranks */
{
  return TestUniform() - 0.5;
}

static PetscInt spread(int how, PetscMPIInt p, PetscMPIInt n)
{
  switch (how) {
  case 0:
    return 1;
  case 1:
    return 2;
  case 2:
    return (7 * p + 3) % 4;
  case 3:
    return p == n / 2 ? 4 : 0;
  case 4:
    return p < n - 1;
  case 5:
    return p > 0;
  case 6:
    return p == 0 || p == n - 1 ? 2 : 0;
  case 7:
    return p % 2 ? 3 : 1;
  default:
    return p == 1 || p == 3 ? 2 : 0;
  }
}

/* row j of n, the same on all ranks */
static void row(int kind, PetscInt j, PetscInt n, double c[3])
{
  const double a = rnd(), b = rnd();

  switch (kind) {
  case 0: /* general, dominant */
    c[0] = 2 * a;
    c[2] = 2 * b;
    c[1] = (fabs(c[0]) + fabs(c[2])) * 1.1 + 0.01;
    if (rnd() < 0) c[1] = -c[1];
    break;
  case 1: /* d = 2, and nearly */
    c[0] = c[2] = -1;
    c[1] = 2 + (j == n / 2 ? 1e-3 : 0);
    break;
  case 2: /* lines that decay over a rank: rows in pairs */
    c[0] = j % 2 ? 1e-30 * a : -0.4;
    c[2] = j % 2 ? -0.3 : 1e-25 * b;
    c[1] = 1;
    break;
  case 3: /* anything from strong to none, sides much alike */
    c[0] = pow(10, -20 * fabs(a));
    c[2] = pow(10, -20 * fabs(b));
    c[1] = 2.5;
    break;
  case 4: /* hardly coupled */
    c[0] = 1e-20 * a;
    c[2] = 1e-21 * b;
    c[1] = 1 + a;
    break;
  default: /* compact schemes */
    c[0] = c[2] = 1. / 3;
    c[1] = 1;
  }
}

/* x of the full system by elimination with row exchanges; low, diag, up of n rows */
static void dense(PetscInt n, PetscInt nrhs, const double *c, PetscBool periodic, const double *g, double *x)
{
  long double *a = calloc((size_t)(n * (n + nrhs)), sizeof(*a));
  const PetscInt w = n + nrhs;

  for (PetscInt i = 0; i < n; i++) {
    a[i * w + i] += c[3 * i + 1];
    if (i || periodic) a[i * w + (i ? i - 1 : n - 1)] += c[3 * i];
    if (i < n - 1 || periodic) a[i * w + (i < n - 1 ? i + 1 : 0)] += c[3 * i + 2];
    for (PetscInt v = 0; v < nrhs; v++) a[i * w + n + v] = g[i * nrhs + v];
  }
  for (PetscInt k = 0; k < n; k++) {
    PetscInt p = k;

    for (PetscInt i = k + 1; i < n; i++)
      if (fabsl(a[i * w + k]) > fabsl(a[p * w + k])) p = i;
    for (PetscInt j = 0; j < w; j++) {
      long double t = a[k * w + j];

      a[k * w + j] = a[p * w + j];
      a[p * w + j] = t;
    }
    for (PetscInt i = k + 1; i < n; i++) {
      const long double f = a[i * w + k] / a[k * w + k];

      for (PetscInt j = k; j < w; j++) a[i * w + j] -= f * a[k * w + j];
    }
  }
  for (PetscInt v = 0; v < nrhs; v++) {
    for (PetscInt i = n - 1; i >= 0; i--) {
      for (PetscInt j = i + 1; j < n; j++) a[i * w + n + v] -= a[i * w + j] * a[j * w + n + v];
      a[i * w + n + v] /= a[i * w + i];
      x[i * nrhs + v] = (double)a[i * w + n + v];
    }
  }
  free(a);
}

typedef struct {
  MPI_Comm comm;
  PetscMPIInt rank, size;
  int how, kind;
  PetscBool periodic;
  PetscInt nsys, nvec, flags, n, rows, start, add;
  PetscReal eps;
  double *low, *diag, *up, *g, *add_g, *x, *before, *after, *want, *scale;
  BCRReduced reduced;
} Case;

static PetscErrorCode CaseCreate(MPI_Comm comm, int how, int kind, PetscBool periodic, PetscInt nsys, PetscInt nvec,
                                 PetscInt flags, PetscReal eps, BCRTriCoupling coupling, Case *c)
{
  double *coef, *g, *x;
  BCRReducedSpec spec;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &c->rank));
  PetscCallMPI(MPI_Comm_size(comm, &c->size));
  c->how = how;
  c->kind = kind;
  c->periodic = periodic;
  c->nsys = nsys;
  c->nvec = nvec;
  c->flags = flags;
  c->eps = eps;
  c->n = 0;
  for (PetscMPIInt p = 0; p < c->size; p++) {
    if (p == c->rank) c->start = c->n;
    c->n += spread(how, p, c->size);
  }
  c->rows = spread(how, c->rank, c->size);
  PetscCall(PetscMalloc3(c->rows * nsys + 1, &c->low, c->rows * nsys + 1, &c->diag, c->rows * nsys + 1, &c->up));
  PetscCall(PetscMalloc5(c->rows * nsys * nvec + 1, &c->g, c->rows * nsys * nvec + 1, &c->x, nsys * nvec, &c->before,
                         nsys * nvec, &c->after, nsys * nvec, &c->add_g));
  PetscCall(PetscMalloc2(c->n * nsys * nvec + 1, &c->want, nsys, &c->scale));
  PetscCall(PetscMalloc3(3 * c->n + 1, &coef, c->n * nvec + 1, &g, c->n * nvec + 1, &x));
  for (PetscInt s = 0; s < nsys; s++) {
    for (PetscInt j = 0; j < c->n; j++) {
      row(kind == 6 ? (int)(s % 6) : kind, j, c->n, coef + 3 * j);
      for (PetscInt v = 0; v < nvec; v++) g[j * nvec + v] = rnd();
      if (j >= c->start && j < c->start + c->rows) {
        const PetscInt k = (j - c->start) * nsys + s;

        c->low[k] = coef[3 * j];
        c->diag[k] = coef[3 * j + 1];
        c->up[k] = coef[3 * j + 2];
        for (PetscInt v = 0; v < nvec; v++) c->g[k * nvec + v] = g[j * nvec + v];
      }
    }
    if (flags & BCR_REDUCED_ADD) {
      for (PetscMPIInt p = 0, o = 0; p < c->size; o += (PetscMPIInt)spread(how, p, c->size), p++) {
        for (PetscInt v = 0; v < nvec; v++) {
          const double a = rnd();

          if (p == c->rank) c->add_g[s * nvec + v] = a;
          if (c->n && (o || periodic)) g[(o ? o - 1 : c->n - 1) * nvec + v] += a;
        }
      }
    }
    dense(c->n, nvec, coef, periodic, g, x);
    c->scale[s] = 0;
    for (PetscInt j = 0; j < c->n; j++)
      for (PetscInt v = 0; v < nvec; v++) {
        c->want[(j * nsys + s) * nvec + v] = x[j * nvec + v];
        c->scale[s] = PetscMax(c->scale[s], fabs(x[j * nvec + v]));
      }
  }
  PetscCall(PetscFree3(coef, g, x));
  spec.nsys = nsys;
  spec.rows = c->rows;
  spec.low = c->low;
  spec.diag = c->diag;
  spec.up = c->up;
  spec.periodic = periodic;
  spec.flags = flags;
  spec.eps = eps;
  spec.coupling = coupling;
  spec.memory = memory;
  PetscCall(BCRReducedCreate(comm, &spec, &c->reduced));
  PetscCall(BCRReducedSetVectors(c->reduced, nvec));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CaseBegin(Case *c)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < c->rows * c->nsys * c->nvec; i++) c->x[i] = 1e30;
  for (PetscInt i = 0; i < c->nsys * c->nvec; i++) c->before[i] = c->after[i] = 1e30;
  PetscCall(BCRReducedSolveBegin(c->reduced, c->g, c->flags & BCR_REDUCED_ADD ? c->add_g : NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CaseEnd(Case *c, const char *what)
{
  BCRReducedInfo info;
  double worst = 0, e, all;
  size_t bytes = sent_bytes, messages = sent_messages;
  PetscBool count = (PetscBool)(what[0] == 'o');
  const double cond = c->kind == 1 || c->kind == 6 ? 4. * (double)(c->n * c->n) : 20;

  PetscFunctionBegin;
  PetscCall(BCRReducedSolveEnd(c->reduced, c->x, c->flags & BCR_REDUCED_BEFORE ? c->before : NULL,
                               c->flags & BCR_REDUCED_AFTER ? c->after : NULL));
  (void)bytes;
  (void)messages;
  for (PetscInt s = 0; s < c->nsys; s++) {
    for (PetscInt v = 0; v < c->nvec; v++) {
      for (PetscInt i = -1; i <= c->rows; i++) {
        PetscInt j = c->start + i;
        double want = 0, got;

        if (i < 0 && !(c->flags & BCR_REDUCED_BEFORE)) continue;
        if (i == c->rows && !(c->flags & BCR_REDUCED_AFTER)) continue;
        if (c->periodic && c->n) j = (j + c->n) % c->n;
        if (j >= 0 && j < c->n) want = c->want[(j * c->nsys + s) * c->nvec + v];
        got = i < 0 ? c->before[s * c->nvec + v]
                    : (i == c->rows ? c->after[s * c->nvec + v] : c->x[(i * c->nsys + s) * c->nvec + v]);
        e = fabs(got - want) / (c->scale[s] > 0 ? c->scale[s] : 1);
        TestLargest(&worst, e);
      }
    }
  }
  PetscCallMPI(
    MPI_Allreduce(&worst, &all, 1, MPI_DOUBLE, MPI_MAX, c->comm == MPI_COMM_NULL ? PETSC_COMM_WORLD : c->comm));
  PetscCall(BCRReducedGetInfo(c->reduced, &info));
  if (all <= 2.3e-16 * cond + 3 * (double)c->eps && info.neighbour + info.shared == (c->n ? c->nsys : 0)) passed++;
  else {
    failed++;
    if (!c->rank)
      printf("FAILED %s: %d ranks, spread %d, kind %d, periodic %d, %d systems, %d values, flags %d, eps %.1e: error "
             "%.2e, neighbour %d shared %d lost %.1e\n",
             what, c->size, c->how, c->kind, c->periodic, (int)c->nsys, (int)c->nvec, (int)c->flags, (double)c->eps,
             all, (int)info.neighbour, (int)info.shared, (double)info.lost);
  }
  if (count) {
    const PetscBool loads = (PetscBool)(memory && !refuse && c->size > 1 && c->n > 0);
    int ok = sent_bytes == info.bytes_sent && sent_messages == info.messages && (!loads || sent_messages == 0) &&
             (loads || info.loaded == 0),
        allok;

    PetscCallMPI(MPI_Allreduce(&ok, &allok, 1, MPI_INT, MPI_MIN, c->comm));
    if (allok) passed++;
    else {
      failed++;
      printf("FAILED count: rank %d of %d, spread %d, kind %d, periodic %d, flags %d: %zu bytes in %zu messages, said "
             "%zu in %zu\n",
             c->rank, c->size, c->how, c->kind, c->periodic, (int)c->flags, sent_bytes, sent_messages, info.bytes_sent,
             info.messages);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CaseDestroy(Case *c)
{
  PetscFunctionBegin;
  PetscCall(BCRReducedDestroy(&c->reduced));
  PetscCall(PetscFree3(c->low, c->diag, c->up));
  PetscCall(PetscFree5(c->g, c->x, c->before, c->after, c->add_g));
  PetscCall(PetscFree2(c->want, c->scale));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check(int how, int kind, PetscBool periodic, PetscInt nsys, PetscInt nvec, PetscInt flags,
                            PetscReal eps, BCRTriCoupling coupling)
{
  Case c;

  PetscFunctionBegin;
  c.comm = PETSC_COMM_WORLD;
  PetscCall(CaseCreate(PETSC_COMM_WORLD, how, kind, periodic, nsys, nvec, flags, eps, coupling, &c));
  for (int k = 0; k < 2; k++) {
    sent_bytes = sent_messages = 0;
    PetscCall(CaseBegin(&c));
    PetscCall(CaseEnd(&c, k ? "again" : "once"));
  }
  PetscCall(CaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* how many systems neighbours solve, and that forcing and forbidding it does what it says */
static PetscErrorCode couplings(int how, int kind, PetscInt flags, PetscInt expect)
{
  Case c;
  BCRReducedInfo info;

  PetscFunctionBegin;
  c.comm = PETSC_COMM_WORLD;
  for (int k = 0; k < 3; k++) {
    PetscInt want = k == 1 ? 0 : expect;

    PetscCall(CaseCreate(PETSC_COMM_WORLD, how, kind, PETSC_FALSE, 24, 2, flags, 1.2e-16,
                         k == 0   ? BCR_TRI_COUPLING_AUTO
                         : k == 1 ? BCR_TRI_COUPLING_REDUCED
                                  : BCR_TRI_COUPLING_NEIGHBOUR,
                         &c));
    PetscCall(BCRReducedGetInfo(c.reduced, &info));
    if (size == 1) want = info.neighbour;
    if (info.neighbour == want && info.shared == 24 - want && (double)info.lost <= 1.2e-16) passed++;
    else {
      failed++;
      if (!rank)
        printf("FAILED coupling %d of spread %d, kind %d, flags %d: %d by neighbours, %d shared, expected %d\n", k, how,
               kind, (int)flags, (int)info.neighbour, (int)info.shared, (int)want);
    }
    PetscCall(CaseBegin(&c));
    PetscCall(CaseEnd(&c, "forced"));
    PetscCall(CaseDestroy(&c));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* two objects with an exchange under way at once, on different communicators */
static PetscErrorCode together(void)
{
  MPI_Comm half;
  Case a, b;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank % 2, -rank, &half));
  a.comm = PETSC_COMM_WORLD;
  b.comm = half;
  TestState = 77;
  PetscCall(CaseCreate(PETSC_COMM_WORLD, 2, 6, PETSC_TRUE, 33, 2, 7, 1.2e-16, BCR_TRI_COUPLING_AUTO, &a));
  TestState = 78;
  PetscCall(CaseCreate(half, 1, 6, PETSC_FALSE, 21, 1, 3, 1.2e-16, BCR_TRI_COUPLING_AUTO, &b));
  for (int k = 0; k < 3; k++) {
    PetscCall(CaseBegin(&a));
    PetscCall(CaseBegin(&b));
    PetscCall(CaseEnd(&b, "halves"));
    PetscCall(CaseEnd(&a, "together"));
  }
  PetscCall(CaseDestroy(&a));
  PetscCall(CaseDestroy(&b));
  PetscCallMPI(MPI_Comm_free(&half));
  TestState = 99;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the last error message */
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

static PetscErrorCode error(const char *what, PetscErrorCode code, const char *words, PetscErrorCode got)
{
  int ok = got == code && strstr(message, words) != NULL, all;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(&ok, &all, 1, MPI_INT, MPI_MIN, PETSC_COMM_WORLD));
  if (all) passed++;
  else {
    failed++;
    printf("FAILED error %s on rank %d: %d instead of %d, %s\n", what, rank, (int)got, (int)code, message);
  }
  message[0] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode errors(void)
{
  double low[8], diag[8], up[8];
  BCRReducedSpec spec = {
    .nsys = 4, .rows = 2, .low = low, .diag = diag, .up = up, .eps = 1e-16, .coupling = BCR_TRI_COUPLING_AUTO};
  BCRReduced r = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscPushErrorHandler(keep, NULL));
  for (int i = 0; i < 8; i++) {
    low[i] = up[i] = -1;
    diag[i] = 2;
  }
  /* singular: constants */
  spec.periodic = PETSC_TRUE;
  ierr = BCRReducedCreate(PETSC_COMM_WORLD, &spec, &r);
  PetscCall(error("singular", PETSC_ERR_MAT_LU_ZRPVT, "(line or mode) 0, row 1 of rank", ierr));
  spec.periodic = PETSC_FALSE;
  diag[2] = NAN;
  ierr = BCRReducedCreate(PETSC_COMM_WORLD, &spec, &r);
  PetscCall(error("NaN", PETSC_ERR_MAT_LU_ZRPVT, "(line or mode) 2, row 0 of rank 0", ierr));
  diag[2] = 2;
  if (size > 2) {
    spec.coupling = BCR_TRI_COUPLING_NEIGHBOUR;
    ierr = BCRReducedCreate(PETSC_COMM_WORLD, &spec, &r);
    spec.coupling = BCR_TRI_COUPLING_AUTO;
    PetscCall(error("digits", PETSC_ERR_ARG_OUTOFRANGE, "would lose 15.", ierr));
  }
  if (size > 1) { /* what one rank has otherwise */
    const BCRReducedSpec same = spec;

    if (rank == 1) spec.periodic = PETSC_TRUE;
    ierr = BCRReducedCreate(PETSC_COMM_WORLD, &spec, &r);
    PetscCall(error("different", PETSC_ERR_ARG_INCOMP, "Ranks 1 and 0 have a different periodic", ierr));
    spec = same;
    if (rank == size - 1) spec.nsys = 3;
    ierr = BCRReducedCreate(PETSC_COMM_WORLD, &spec, &r);
    PetscCall(error("different", PETSC_ERR_ARG_INCOMP, "different number of systems", ierr));
    spec = same;
    if (rank == 1) spec.flags = BCR_REDUCED_ADD;
    ierr = BCRReducedCreate(PETSC_COMM_WORLD, &spec, &r);
    PetscCall(error("different", PETSC_ERR_ARG_INCOMP, "different flags", ierr));
    spec = same;
    if (rank == size - 1) spec.coupling = BCR_TRI_COUPLING_REDUCED;
    ierr = BCRReducedCreate(PETSC_COMM_WORLD, &spec, &r);
    PetscCall(error("different", PETSC_ERR_ARG_INCOMP, "different coupling", ierr));
    spec = same;
    if (rank == size - 1) spec.eps = 1e-8;
    ierr = BCRReducedCreate(PETSC_COMM_WORLD, &spec, &r);
    PetscCall(error("different", PETSC_ERR_ARG_INCOMP, "different eps", ierr));
  }
  PetscCall(PetscPopErrorHandler());
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const PetscInt nsys[] = {1, 5, 19, 130};

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(TestSeed());
  for (int how = 0; how < 9; how++)
    for (int kind = 0; kind < 7; kind++)
      for (int periodic = 0; periodic < 2; periodic++)
        for (int flags = 0; flags < 8; flags++)
          for (int k = 0; k < 2; k++) {
            const int count = 16 * (how * 7 + kind) + flags * 2 + k;

            if (size > 4 && (count / 16 + count) % 3) continue; /* ranks that wait for cores take their time */
            memory = (PetscBool)(k == 0 && (count / 2 + how + kind) % 3 == 0);
            refuse = (PetscBool)(count % 5 == 0);
            PetscCall(check(how, kind, (PetscBool)periodic, nsys[count % 3 + (count % 31 == 0)], 1 + count % 3, flags,
                            kind == 3 && k ? 1e-5 : 1.2e-16,
                            k && kind != 3 ? BCR_TRI_COUPLING_REDUCED : BCR_TRI_COUPLING_AUTO));
            memory = refuse = PETSC_FALSE;
          }
  PetscCall(couplings(1, 2, 0, 24));
  PetscCall(couplings(0, 4, 0, 24));
  PetscCall(couplings(0, 4, 3, 24));
  if (size > 1) PetscCall(couplings(4, 4, 5, 24));
  PetscCall(couplings(2, 4, 3, 24));
  PetscCall(together());
  memory = PETSC_TRUE;
  PetscCall(together());
  memory = PETSC_FALSE;
  PetscCall(errors());
  PetscCall(PetscFinalize());
  return TestStatus(!rank, passed, failed);
}
