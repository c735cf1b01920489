/*
  Block cyclic reduction (src/poisson/reduction.h) against the operator itself: residuals for every kind of end, size and schedule,
  Gaussian elimination on small problems, and paper 000's counts (17), (18) and partial fractions (5)-(7).
*/
#include "../../src/poisson/reduction.h"
#include "../../src/backend/cpu/cpu.h"

static int passed, failed;

static double rnd(void)
{
  static unsigned long long s = 88172645463325252ULL;

  s ^= s << 13;
  s ^= s >> 7;
  s ^= s << 17;
  return (double)(s >> 11) / 9007199254740992.0 - 0.5;
}

/* t += T v along an axis, elements st apart */
static void axis_apply(const BCRAxis *x, const double *v, double *t, PetscInt st)
{
  const PetscInt n = x->n;

  if (x->lower) {
    for (PetscInt i = 0; i < n; i++) t[i * st] += x->diag[i] * v[i * st] - (i ? x->lower[i] * v[(i - 1) * st] : 0) - (i < n - 1 ? x->upper[i] * v[(i + 1) * st] : 0);
    return;
  }
  if (n == 1) return;
  for (PetscInt i = 0; i < n; i++) {
    double d = 2, l = i ? 1 : 0, r = i < n - 1 ? 1 : 0;

    if (x->end[0] == BCR_END_PERIODIC) {
      t[i * st] += x->a * (2 * v[i * st] - v[(i ? i - 1 : n - 1) * st] - v[(i < n - 1 ? i + 1 : 0) * st]);
      continue;
    }
    for (int k = 0; k < 2; k++) {
      if (i != (k ? n - 1 : 0)) continue;
      if (x->end[k] == BCR_END_NEUMANN) {
        if (k) l = 2;
        else r = 2;
      }
      if (x->end[k] == BCR_END_CELL_NEUMANN) d -= 1;
      if (x->end[k] == BCR_END_CELL_DIRICHLET) d += 1;
    }
    t[i * st] += x->a * (d * v[i * st] - (l ? l * v[(i - 1) * st] : 0) - (r ? r * v[(i + 1) * st] : 0));
  }
}

static void apply(PetscInt dim, const BCRAxis *x, double shift, const double *v, double *t)
{
  const PetscInt n0 = x[0].n, n1 = x[1].n, n2 = dim == 3 ? x[2].n : 1;

  for (PetscInt i = 0; i < n0 * n1 * n2; i++) t[i] = shift * v[i];
  for (PetscInt k = 0; k < n2; k++)
    for (PetscInt j = 0; j < n1; j++) axis_apply(&x[0], v + (k * n1 + j) * n0, t + (k * n1 + j) * n0, 1);
  for (PetscInt k = 0; k < n2; k++)
    for (PetscInt i = 0; i < n0; i++) axis_apply(&x[1], v + k * n1 * n0 + i, t + k * n1 * n0 + i, n0);
  if (dim == 3)
    for (PetscInt i = 0; i < n0 * n1; i++) axis_apply(&x[2], v + i, t + i, n0 * n1);
}

static double axis_norm(const BCRAxis *x)
{
  double m = 0;

  if (!x->lower) return x->n > 1 ? 4 * x->a : 0;
  for (PetscInt i = 0; i < x->n; i++) m = PetscMax(m, PetscAbsReal(x->diag[i]) + PetscAbsReal(x->lower[i]) + PetscAbsReal(x->upper[i]));
  return m;
}

static void gauss(PetscInt n, double *A, double *b)
{
  for (PetscInt k = 0; k < n; k++) {
    PetscInt p = k;

    for (PetscInt i = k + 1; i < n; i++)
      if (PetscAbsReal(A[i * n + k]) > PetscAbsReal(A[p * n + k])) p = i;
    for (PetscInt j = 0; j < n; j++) {
      const double t = A[k * n + j];

      A[k * n + j] = A[p * n + j];
      A[p * n + j] = t;
    }
    {
      const double t = b[k];

      b[k] = b[p];
      b[p] = t;
    }
    for (PetscInt i = k + 1; i < n; i++) {
      const double m = A[i * n + k] / A[k * n + k];

      for (PetscInt j = k; j < n; j++) A[i * n + j] -= m * A[k * n + j];
      b[i] -= m * b[k];
    }
  }
  for (PetscInt k = n - 1; k >= 0; k--) {
    for (PetscInt j = k + 1; j < n; j++) b[k] -= A[k * n + j] * b[j];
    b[k] /= A[k * n + k];
  }
}

typedef struct {
  PetscInt  n, q[BCR_MAX_LEVELS];
} Schedule;

static PetscBool semidefinite(const BCRAxis *x)
{
  if (x->lower) return PETSC_FALSE;
  if (x->n == 1) return PETSC_TRUE;
  for (int k = 0; k < 2; k++)
    if (x->end[k] == BCR_END_DIRICHLET || x->end[k] == BCR_END_CELL_DIRICHLET) return PETSC_FALSE;
  return PETSC_TRUE;
}

static double worst[2];

/* mode 0: double; 1: float work, double arrays; 2: float */
static PetscErrorCode run(const char *what, PetscInt dim, const BCRAxis *x, double shift, Schedule sch, Schedule inner, int mode, int isa, PetscBool inplace)
{
  const PetscInt n0 = x[0].n, n1 = x[1].n, n2 = dim == 3 ? x[2].n : 1, pad = 3, ldx = n0 + pad, N = n0 * n1 * n2;
  const PetscInt ld[2] = {ldx, ldx * n1 + 2};
  const PetscInt NL = ld[1] * n2 + 16;
  BCRReduction   red;
  double        *f, *u, *t, *F, *U, mf = 0, mu = 0, mr = 0, norm = PetscAbsReal(shift), err, tol;
  const double   shifts[3] = {shift + 1, shift, shift + 2};
  PetscBool      singular = shift == 0, ok;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < dim; d++) {
    singular = (PetscBool)(singular && semidefinite(&x[d]));
    norm += axis_norm(&x[d]);
  }
  if (norm == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc5(N, &f, N, &u, N, &t, NL, &F, NL, &U));
  for (PetscInt i = 0; i < N; i++) u[i] = rnd();
  if (singular) apply(dim, x, shift, u, f); /* in the range */
  else
    for (PetscInt i = 0; i < N; i++) f[i] = rnd();
  for (PetscInt i = 0; i < NL; i++) F[i] = U[i] = 77;
  for (PetscInt i = 0; i < N; i++) {
    const PetscInt o = i % n0 + (i / n0) % n1 * ld[0] + i / (n0 * n1) * ld[1];

    if (mode == 2) {
      f[i]            = (float)f[i];
      ((float *)F)[o] = (float)f[i];
    } else F[o] = f[i];
  }
  PetscCall(BCRReductionCreate(dim, x, sch.n, sch.q, inner.n, inner.q, mode ? PETSC_TRUE : PETSC_FALSE, isa, &red));
  PetscCall(BCRReductionSetShifts(red, 3, shifts));
  PetscCall(BCRReductionSolve(red, 1, mode == 2 ? BCR_SINGLE : BCR_DOUBLE, F, ld, inplace ? F : U, ld));
  PetscCall(BCRReductionDestroy(&red));
  if (inplace) PetscCall(PetscArraycpy(U, F, NL));
  ok = PETSC_TRUE;
  for (PetscInt i = 0; i < N; i++) {
    const PetscInt o = i % n0 + (i / n0) % n1 * ld[0] + i / (n0 * n1) * ld[1];

    if (mode == 2) {
      u[i]            = ((float *)U)[o];
      ((float *)U)[o] = 0;
    } else {
      u[i] = U[o];
      U[o] = 77;
    }
  }
  if (mode != 2)
    for (PetscInt i = 0; i < NL; i++) ok = (PetscBool)(ok && U[i] == 77); /* nothing written beside the box */
  apply(dim, x, shift, u, t);
  for (PetscInt i = 0; i < N; i++) {
    mf = PetscMax(mf, PetscAbsReal(f[i]));
    mu = PetscMax(mu, PetscAbsReal(u[i]));
    mr = PetscMax(mr, PetscAbsReal(f[i] - t[i]));
    if (!(PetscAbsReal(f[i] - t[i]) >= 0)) mr = PETSC_INFINITY;
  }
  err = mr / (norm * mu + mf);
  tol = mode ? 5e-7 : 1e-14;
  if (singular && mu > 1e3 * N) err = 1; /* no blow-up */
  worst[mode > 0] = PetscMax(worst[mode > 0], err);
  if (N <= 40 && !singular && mode == 0 && err <= tol) { /* the solution itself */
    double *A, *e;

    PetscCall(PetscMalloc2(N * N, &A, N, &e));
    for (PetscInt j = 0; j < N; j++) {
      for (PetscInt i = 0; i < N; i++) e[i] = i == j;
      apply(dim, x, shift, e, t);
      for (PetscInt i = 0; i < N; i++) A[i * N + j] = t[i];
    }
    gauss(N, A, f);
    for (PetscInt i = 0; i < N; i++)
      if (!(PetscAbsReal(f[i] - u[i]) <= 1e-9 * mu)) err = 1;
    PetscCall(PetscFree2(A, e));
  }
  if (err <= tol && ok) passed++;
  else {
    failed++;
    if (failed < 60) {
      printf("FAILED %s: dim %d n %d %d %d ends %d%d %d%d a %g %g shift %g mode %d isa %d levels", what, (int)dim, (int)n0, (int)n1, (int)n2, x[0].end[0], x[0].end[1], x[dim - 1].end[0], x[dim - 1].end[1], (double)x[0].a, (double)x[dim - 1].a, shift, mode, isa);
      for (PetscInt r = 0; r < sch.n; r++) printf(" %d", (int)sch.q[r]);
      printf(": %g%s\n", err, ok ? "" : ", wrote beside the box");
    }
  }
  PetscCall(PetscFree5(f, u, t, F, U));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void axis_set(BCRAxis *x, PetscInt n, BCREnd l, BCREnd r, double a)
{
  (void)memset(x, 0, sizeof(*x));
  x->n      = n;
  x->end[0] = l;
  x->end[1] = r;
  x->a      = a;
}

/* radices[] over and over until the product exceeds n */
static Schedule schedule(PetscInt n, PetscInt k, const PetscInt radices[])
{
  Schedule s;
  PetscInt Q = 1;

  s.n = 0;
  for (PetscInt r = 0; Q <= n; r++) {
    s.q[s.n++] = radices[r % k];
    Q *= radices[r % k];
  }
  return s;
}

static const BCREnd ends[17][2] = {
  {BCR_END_DIRICHLET, BCR_END_DIRICHLET},           {BCR_END_NEUMANN, BCR_END_NEUMANN},           {BCR_END_CELL_NEUMANN, BCR_END_CELL_NEUMANN},     {BCR_END_CELL_DIRICHLET, BCR_END_CELL_DIRICHLET},
  {BCR_END_DIRICHLET, BCR_END_NEUMANN},             {BCR_END_NEUMANN, BCR_END_DIRICHLET},         {BCR_END_CELL_NEUMANN, BCR_END_CELL_DIRICHLET},   {BCR_END_CELL_DIRICHLET, BCR_END_CELL_NEUMANN},
  {BCR_END_DIRICHLET, BCR_END_CELL_NEUMANN},        {BCR_END_CELL_NEUMANN, BCR_END_DIRICHLET},    {BCR_END_DIRICHLET, BCR_END_CELL_DIRICHLET},      {BCR_END_CELL_DIRICHLET, BCR_END_DIRICHLET},
  {BCR_END_NEUMANN, BCR_END_CELL_NEUMANN},          {BCR_END_CELL_NEUMANN, BCR_END_NEUMANN},      {BCR_END_NEUMANN, BCR_END_CELL_DIRICHLET},        {BCR_END_CELL_DIRICHLET, BCR_END_NEUMANN},
  {BCR_END_PERIODIC, BCR_END_PERIODIC}
};

static const struct {
  PetscInt n, q[4];
} mixes[] = {
  {1, {2}}, {1, {4}}, {1, {8}}, {1, {16}}, {2, {16, 32}}, {3, {16, 16, 4}}, {3, {3, 5, 7}}, {1, {2000}}, {3, {2, 9, 4}}, {2, {6, 2}}, {4, {5, 2, 3, 11}}
};
#define NMIX ((PetscInt)(sizeof(mixes) / sizeof(mixes[0])))

static Schedule mix(PetscInt k, PetscInt n)
{
  Schedule s = schedule(n, mixes[k].n, mixes[k].q);

  if (mixes[k].q[0] == 2000) s.q[0] = n + 1 > 2 ? n + 1 : 2;
  return s;
}

int main(int argc, char **argv)
{
  static const PetscInt sizes[]  = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 63, 64, 100, 127, 128, 129, 255, 300, 1000};
  static const PetscInt widths[] = {1, 2, 3, 8, 17, 64, 100};
  static const double   shifts[] = {0, 1.7, 1e-3, 250};
  BCRAxis               x[3];
  const Schedule        none = {0, {0}};

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  for (PetscInt i = 0; i < 22; i++)
    for (PetscInt k = 0; k < NMIX; k++) {
      const PetscInt n = sizes[i];

      for (PetscInt w = 0; w < 7; w++) {
        if (n > 130 && w != (i + k) % 7) continue;
        axis_set(&x[0], widths[w], BCR_END_DIRICHLET, BCR_END_DIRICHLET, 1);
        axis_set(&x[1], n, BCR_END_DIRICHLET, BCR_END_DIRICHLET, 1);
        PetscCall(run("Dirichlet", 2, x, shifts[(i + k + w) % 3], mix(k, n), none, 0, -1, PETSC_FALSE));
      }
    }
  /* every kind of end on both axes */
  for (PetscInt e = 0; e < 17; e++)
    for (PetscInt i = 0; i < 22; i++)
      for (PetscInt k = 0; k < NMIX; k++) {
        const PetscInt n = sizes[i], ex = (i + k * 5 + e) % 17;
        const double   a = (i + k) % 5 == 0 ? 1e-3 : ((i + k) % 5 == 1 ? 1e3 : 1.3);

        if (n > 130 && (e + k) % 4) continue;
        axis_set(&x[0], widths[(i + k + e) % 7], ends[ex][0], ends[ex][1], 1.1);
        axis_set(&x[1], n, ends[e][0], ends[e][1], a);
        PetscCall(run("ends", 2, x, shifts[(i + k) % 4], mix(k, n), none, 0, -1, PETSC_TRUE));
        PetscCall(run("ends, float", 2, x, shifts[(i + k) % 4], mix(k, n), none, 1 + (int)((i + e) % 2), -1, PETSC_TRUE));
      }
  printf("worst %g %g\n", worst[0], worst[1]);
  printf("%d passed, %d failed\n", passed, failed);
  PetscCall(PetscFinalize());
  return failed ? 1 : 0;
}
