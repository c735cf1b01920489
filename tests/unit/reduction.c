/*
  Block cyclic reduction (src/poisson/reduction.h) against the operator itself: residuals for every
  kind of end, size and schedule, Gaussian elimination on small problems, and paper 000's counts
  (17), (18) and partial fractions (5)-(7).

  quick: 1
*/
#include "../../src/poisson/redplan.h"
#include "../../src/backend/cpu/cpu.h"
#include "tests/check.h"
#include "pairs.h"
#include <math.h>

#define BCR_PI 3.14159265358979323846

static int passed, failed;

static double rnd(void)
{
  return TestUniform() - 0.5;
}

/* t += T v along an axis, elements st apart */
static void axis_apply(const BCRAxis *x, const double *v, double *t, PetscInt st)
{
  const PetscInt n = x->n;

  if (x->lower) {
    for (PetscInt i = 0; i < n; i++)
      t[i * st] += x->diag[i] * v[i * st] - (i ? x->lower[i] * v[(i - 1) * st] : 0) -
                   (i < n - 1 ? x->upper[i] * v[(i + 1) * st] : 0);
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
  for (PetscInt i = 0; i < x->n; i++) m = PetscMax(m, fabs(x->diag[i]) + fabs(x->lower[i]) + fabs(x->upper[i]));
  return m;
}

static void gauss(PetscInt n, double *A, double *b)
{
  for (PetscInt k = 0; k < n; k++) {
    PetscInt p = k;

    for (PetscInt i = k + 1; i < n; i++)
      if (fabs(A[i * n + k]) > fabs(A[p * n + k])) p = i;
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

/* A solve by the steps of the plan with their weights as other backends take them, lines by elimination; u has the
   right-hand side first */
static PetscErrorCode steps_solve(const BCRReductionSpec *spec, double shift, double *u, BCRReductionCost *cost)
{
  const BCRAxis *x = spec->axis;
  const PetscInt n = x[0].n;
  BCRReductionPlan plan;
  double *A, *e, *t, *w, *g;

  PetscFunctionBegin;
  PetscCall(BCRReductionPlanCreate(spec, PETSC_FALSE, 1, &plan));
  PetscCall(PetscMalloc4(n * n, &A, n, &e, n, &t, n, &w));
  for (PetscInt i = 0; i < plan.nsteps; i++) {
    const BCRReductionStep *st = &plan.step[i];
    double *lambda, *wsrc, *wout;

    PetscCall(BCRReductionStepWeights(&plan, st, &lambda, &wsrc, &wout));
    PetscCall(PetscMalloc1(st->count * st->np * n, &g));
    for (PetscInt k = 0; k < st->count * st->np; k++) {
      const PetscInt p = k % st->np, item = k / st->np;
      double *v = g + k * n;

      for (PetscInt j = 0; j < n; j++) v[j] = 0;
      for (PetscInt s = 0; s < st->nsrc; s++)
        for (PetscInt j = 0; j < n; j++) v[j] += wsrc[p * st->nsrc + s] * u[st->src[item * st->nsrc + s] * n + j];
      for (PetscInt c = 0; c < n; c++) {
        for (PetscInt j = 0; j < n; j++) {
          e[j] = j == c;
          t[j] = plan.scale * (shift + x[1].a * lambda[p]) * e[j];
          w[j] = 0;
        }
        if (n > 1 || x[0].lower) axis_apply(&x[0], e, w, 1);
        for (PetscInt j = 0; j < n; j++) A[j * n + c] = t[j] + plan.scale * w[j];
      }
      gauss(n, A, v);
    }
    for (PetscInt item = 0; item < st->count; item++)
      for (PetscInt o = 0; o < st->nout; o++) {
        double *to = u + st->out[item * st->nout + o] * n;

        for (PetscInt j = 0; j < n && BCRStepBack(st); j++) to[j] = 0;
        for (PetscInt p = 0; p < st->np; p++)
          for (PetscInt j = 0; j < n; j++) to[j] += wout[p * st->nout + o] * g[(item * st->np + p) * n + j];
      }
    PetscCall(PetscFree(g));
    PetscCall(PetscFree3(lambda, wsrc, wout));
  }
  PetscCall(PetscFree4(A, e, t, w));
  *cost = BCRReductionPlanCost(&plan, n, NULL);
  PetscCall(BCRReductionPlanFree(&plan));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  PetscInt n, q[BCR_MAX_LEVELS];
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
static PetscErrorCode run(const char *what, PetscInt dim, const BCRAxis *x, double shift, Schedule sch, Schedule inner,
                          int mode, int isa, PetscBool inplace)
{
  const PetscInt n0 = x[0].n, n1 = x[1].n, n2 = dim == 3 ? x[2].n : 1, pad = 3, ldx = n0 + pad, N = n0 * n1 * n2;
  const PetscInt ld[2] = {ldx, ldx * n1 + 2};
  const PetscInt NL = ld[1] * n2 + 16;
  const BCRReductionSpec spec = {.dim = dim,
                                 .axis = x,
                                 .nlevels = sch.n,
                                 .schedule = sch.q,
                                 .ninner = inner.n,
                                 .inner = inner.q,
                                 .single = mode ? PETSC_TRUE : PETSC_FALSE};
  BCRReduction red;
  double *f, *u, *t, *F, *U, mf = 0, mu = 0, mr = 0, norm = fabs(shift), err, tol;
  const double shifts[3] = {shift + 1, shift, shift + 2};
  PetscBool singular = shift == 0, ok;

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
      f[i] = (float)f[i];
      ((float *)F)[o] = (float)f[i];
    } else F[o] = f[i];
  }
  PetscCall(BCRReductionCreate(&spec, isa, &red));
  PetscCall(BCRReductionSetShifts(red, 3, shifts));
  PetscCall(BCRReductionSolve(red, 1, mode == 2 ? BCR_SINGLE : BCR_DOUBLE, F, ld, inplace ? F : U, ld));
  if (dim == 2 && mode == 0 && !singular && n0 <= 9 && n1 <= 70) {
    double r = 0, largest = 0, size = 0;
    BCRReductionCost cost, host;

    PetscCall(PetscArraycpy(u, f, N));
    PetscCall(steps_solve(&spec, shift, u, &cost));
    PetscCall(BCRReductionGetInfo(red, &host, NULL, NULL)); /* whose poles lie in vectors */
    if (memcmp(&cost, &host, sizeof(cost))) {
      failed++;
      printf("FAILED %s: the host's cost is another one than that of the steps\n", what);
    }
    apply(dim, x, shift, u, t);
    for (PetscInt i = 0; i < N; i++) {
      TestLargest(&r, fabs(f[i] - t[i]));
      largest = PetscMax(largest, fabs(u[i]));
      size = PetscMax(size, fabs(f[i]));
    }
    if (r <= 1e-14 * (norm * largest + size)) passed++;
    else {
      failed++;
      printf("FAILED steps of %s: n %d %d ends %d%d %d%d, %d levels of %d ...: %g\n", what, (int)n0, (int)n1,
             x[0].end[0], x[0].end[1], x[1].end[0], x[1].end[1], (int)sch.n, (int)sch.q[0],
             r / (norm * largest + size));
    }
  }
  PetscCall(BCRReductionDestroy(&red));
  if (inplace) PetscCall(PetscArraycpy(U, F, NL));
  ok = PETSC_TRUE;
  for (PetscInt i = 0; i < N; i++) {
    const PetscInt o = i % n0 + (i / n0) % n1 * ld[0] + i / (n0 * n1) * ld[1];

    if (mode == 2) {
      u[i] = ((float *)U)[o];
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
    mf = PetscMax(mf, fabs(f[i]));
    mu = PetscMax(mu, fabs(u[i]));
    TestLargest(&mr, fabs(f[i] - t[i]));
  }
  err = mr / (norm * mu + mf);
  tol = mode ? 5e-7 : 1e-14;
  if (singular && mu > 1e3 * N) err = 1; /* no blow-up */
  TestLargest(&worst[mode > 0], err);
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
      if (!(fabs(f[i] - u[i]) <= 1e-9 * mu)) err = 1;
    PetscCall(PetscFree2(A, e));
  }
  if (err <= tol && ok) passed++;
  else {
    failed++;
    if (failed < 60) {
      printf("FAILED %s: dim %d n %d %d %d ends %d%d %d%d a %g %g shift %g mode %d isa %d levels", what, (int)dim,
             (int)n0, (int)n1, (int)n2, x[0].end[0], x[0].end[1], x[dim - 1].end[0], x[dim - 1].end[1], (double)x[0].a,
             (double)x[dim - 1].a, shift, mode, isa);
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
  x->n = n;
  x->end[0] = l;
  x->end[1] = r;
  x->a = a;
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

static const struct {
  PetscInt n, q[4];
} mixes[] = {
  {1, {2}          },
  {1, {4}          },
  {1, {8}          },
  {1, {16}         },
  {2, {16, 32}     },
  {3, {16, 16, 4}  },
  {3, {3, 5, 7}    },
  {1, {2000}       },
  {3, {2, 9, 4}    },
  {2, {6, 2}       },
  {4, {5, 2, 3, 11}}
};
#define NMIX ((PetscInt)(sizeof(mixes) / sizeof(mixes[0])))

static Schedule mix(PetscInt k, PetscInt n)
{
  Schedule s = schedule(n, mixes[k].n, mixes[k].q);

  if (mixes[k].q[0] == 2000) s.q[0] = n + 1 > 2 ? n + 1 : 2;
  return s;
}

static void check(const char *what, double n, double got, double expected, double tol)
{
  if (fabs(got - expected) <= tol) passed++;
  else {
    failed++;
    printf("FAILED %s: n %g, got %.17g, expected %.17g\n", what, n, got, expected);
  }
}

static BCRReductionSpec spec_of(PetscInt dim, const BCRAxis x[], PetscInt nlevels, const PetscInt schedule[],
                                PetscInt ninner, const PetscInt inner[])
{
  const BCRReductionSpec spec = {.dim = dim,
                                 .axis = x,
                                 .nlevels = nlevels,
                                 .schedule = schedule,
                                 .ninner = ninner,
                                 .inner = inner,
                                 .single = PETSC_FALSE};

  return spec;
}

static PetscErrorCode create(PetscInt dim, const BCRAxis x[], PetscInt nlevels, const PetscInt schedule[],
                             PetscInt ninner, const PetscInt inner[], BCRReduction *red)
{
  const BCRReductionSpec spec = spec_of(dim, x, nlevels, schedule, ninner, inner);

  PetscFunctionBegin;
  PetscCall(BCRReductionCreate(&spec, -1, red));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Radix 2 between Dirichlet ends with 2^k - 1 rows of nx unknowns. Level r has 2^r poles and G = 2^(k-1-r) groups. Each
   of the G - 1 separators adds two rows, solves for 2^r poles (5 operations for each unknown of a line), sums them and
   adds that to its row. Each group does the same with its row, and with the sum of the separators that it has, and with
   the sum of solutions */
static void cost_radix2(PetscInt k, double nx, BCRReductionCost cost)
{
  double flops = 0, moved = 0;

  for (PetscInt r = 0; r < k; r++) {
    const double np = ldexp(1, (int)r), G = ldexp(1, (int)(k - 1 - r)), beside = 2 * (G - 1);

    flops += (G - 1) * (4 + (5 + 2) * np + 2) + G * (2 + (5 + (G > 1 ? 4 : 2)) * np + 2) + 2 * beside;
    moved += (G - 1) * (2 + 2) + 2 * G + beside;
  }
  check("flops of radix 2", ldexp(1, (int)k) - 1, cost.flops, nx * flops, 0);
  check("rows that radix 2 reads and writes", ldexp(1, (int)k) - 1, cost.moved, nx * moved, 0);
}

/* Paper 000's counts of sub-problems, (17) and (18), and the partial fractions (5)-(7) of radix 2; what a solve costs
   */
static PetscErrorCode paper(void)
{
  BCRAxis x[3];
  BCRReduction red;
  BCRReductionCost cost;
  PetscInt inner, nlevels, nin, sch[BCR_MAX_LEVELS], in[BCR_MAX_LEVELS], np;

  PetscFunctionBegin;
  for (PetscInt k = 1; k <= 11; k++) {
    const PetscInt n = ((PetscInt)1 << k) - 1;

    axis_set(&x[0], 5, BCR_END_DIRICHLET, BCR_END_DIRICHLET, 1);
    axis_set(&x[1], n, BCR_END_DIRICHLET, BCR_END_DIRICHLET, 1);
    for (PetscInt radix = 2; radix <= 4; radix += 2) {
      if (n == 1) continue;
      PetscCall(BCRScheduleFromRadix(radix, n, &nlevels, sch));
      PetscCall(create(2, x, nlevels, sch, 0, NULL, &red));
      PetscCall(BCRReductionGetInfo(red, &cost, NULL, NULL));
      if (radix == 2) {
        check("(17)", n, cost.subproblems, (n + 1.) * (k - 1) + 1, 0);
        cost_radix2(k, 5, cost);
      } else if (k % 2 == 0) check("(18)", n, cost.subproblems, (n + 1.) * (0.75 * k - 1) + 1, 0);
      /* an odd power closes with one radix-2 level: of full size in the back substitution, of none
         in the reduction */
      else {
        check("levels of radix 4, odd power", n, nlevels, (k + 1) / 2, 0);
        check("last radix of radix 4, odd power", n, sch[nlevels - 1], 2, 0);
      }
      if (radix == 2)
        for (PetscInt r = 0; r < k; r++) {
          double theta[2048], w[2048], v[2048];

          PetscCall(BCRReductionGetPoles(red, r, 1, &np, theta, w, v));
          check("poles of a radix-2 level", n, np, (double)((PetscInt)1 << r), 0);
          for (PetscInt j = 1; j <= np; j++) {
            const double p = ldexp(1, (int)-r), t = (2 * j - 1) * BCR_PI * p / 2;

            check("(5)", n, w[j - 1], p * (j % 2 ? 1 : -1) * sin(t), 1e-15);
            check("(6)", n, v[j - 1], p, 1e-16);
            check("(7)", n, theta[j - 1], 2 * cos(t), 4e-15);
          }
        }
      PetscCall(BCRReductionDestroy(&red));
    }
  }
  /* three dimensions: counts multiply, (20) */
  axis_set(&x[0], 3, BCR_END_DIRICHLET, BCR_END_DIRICHLET, 1);
  axis_set(&x[1], 15, BCR_END_DIRICHLET, BCR_END_DIRICHLET, 1);
  axis_set(&x[2], 63, BCR_END_DIRICHLET, BCR_END_DIRICHLET, 1);
  PetscCall(BCRScheduleFromRadix(4, 63, &nlevels, sch));
  PetscCall(BCRScheduleFromRadix(4, 15, &nin, in));
  PetscCall(create(3, x, nlevels, sch, nin, in, &red));
  PetscCall(BCRReductionGetInfo(red, &cost, NULL, NULL));
  inner = 16 * 2 + 1;
  check("(18) times (18)", 63, cost.subproblems, (64 * 3.5 + 1) * inner, 0);
  PetscCall(BCRReductionDestroy(&red));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What cannot be is an error */
static PetscErrorCode refused(void)
{
  BCRAxis x[3];
  BCRReduction red;
  PetscReal c[12] = {0};
  const PetscInt one[1] = {1}, shortone[2] = {2, 2}, good[1] = {8};
  PetscInt k, sch[BCR_MAX_LEVELS];

  PetscFunctionBegin;
  axis_set(&x[0], 4, BCR_END_DIRICHLET, BCR_END_DIRICHLET, 1);
  axis_set(&x[1], 4, BCR_END_DIRICHLET, BCR_END_DIRICHLET, 1);
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  check("radix 1", 1, create(2, x, 1, one, 0, NULL, &red), PETSC_ERR_ARG_OUTOFRANGE, 0);
  check("schedule too short", 4, create(2, x, 2, shortone, 0, NULL, &red), PETSC_ERR_ARG_OUTOFRANGE, 0);
  check("no levels", 4, create(2, x, 0, NULL, 0, NULL, &red), PETSC_ERR_ARG_OUTOFRANGE, 0);
  check("radix 0", 4, BCRScheduleFromRadix(0, 4, &k, sch), PETSC_ERR_ARG_OUTOFRANGE, 0);
  x[1].lower = c;
  x[1].diag = c + 4;
  x[1].upper = c + 8;
  check("stretched along the blocks", 4, create(2, x, 1, good, 0, NULL, &red), PETSC_ERR_SUP, 0);
  PetscCall(PetscPopErrorHandler());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Smallest eigenvalue of an axis between two node-centred Dirichlet ends */
static double smallest(const BCRAxis *x)
{
  const double s = sin(BCR_PI / (2 * (x->n + 1.)));

  return x->n == 1 ? 0 : x->a * 4 * s * s;
}

int main(int argc, char **argv)
{
  static const PetscInt sizes[] = {1,  2,  3,  4,  5,   7,   8,   9,   15,  16,  17,
                                   31, 33, 63, 64, 100, 127, 128, 129, 255, 300, 1000};
  static const PetscInt widths[] = {1, 2, 3, 8, 17, 64, 100};
  static const double shifts[] = {0, 1.7, 1e-3, 250};
  BCRAxis x[3];
  const Schedule none = {0, {0}};

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(TestSeed());
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
        const double a = (i + k) % 5 == 0 ? 1e-3 : ((i + k) % 5 == 1 ? 1e3 : 1.3);

        if (n > 130 && (e + k) % 4) continue;
        axis_set(&x[0], widths[(i + k + e) % 7], ends[ex][0], ends[ex][1], 1.1);
        axis_set(&x[1], n, ends[e][0], ends[e][1], a);
        PetscCall(run("ends", 2, x, shifts[(i + k) % 4], mix(k, n), none, 0, -1, PETSC_TRUE));
        PetscCall(
          run("ends, float", 2, x, shifts[(i + k) % 4], mix(k, n), none, 1 + (int)((i + e) % 2), -1, PETSC_TRUE));
      }
  /* each instruction set */
  for (int isa = 0; isa <= BCRCpuBestISA(); isa++)
    for (PetscInt i = 0; i < 22; i++)
      for (PetscInt k = 0; k < NMIX; k++) {
        const PetscInt n = sizes[i], e = (3 * i + k + isa) % 17, ex = (i + 2 * k) % 17;

        if (n > 300) continue;
        axis_set(&x[0], widths[(i + k) % 7], ends[ex][0], ends[ex][1], 1.1);
        axis_set(&x[1], n, ends[e][0], ends[e][1], 0.7);
        for (int mode = 0; mode < 3; mode++)
          PetscCall(run("instruction sets", 2, x, shifts[(i + k) % 4], mix(k, n), none, mode, isa, PETSC_FALSE));
      }
  /* negative shifts: still definite, between the first two eigenvalues is not asked for */
  for (PetscInt i = 0; i < 22; i++)
    for (PetscInt k = 0; k < NMIX; k++) {
      const PetscInt n = sizes[i], w = widths[(i + k) % 7];

      axis_set(&x[0], w, BCR_END_DIRICHLET, BCR_END_DIRICHLET, 1.1);
      axis_set(&x[1], n, BCR_END_DIRICHLET, BCR_END_DIRICHLET, k % 3 == 0 ? 1e-3 : 1.9);
      PetscCall(
        run("negative shift", 2, x, -0.9 * (smallest(&x[0]) + smallest(&x[1])), mix(k, n), none, 0, -1, PETSC_TRUE));
      if (n < 200)
        PetscCall(run("negative shift, float", 2, x, -0.9 * (smallest(&x[0]) + smallest(&x[1])), mix(k, n), none, 1, -1,
                      PETSC_TRUE));
    }
  /* a stretched axis across the blocks */
  for (PetscInt i = 0; i < 22; i++)
    for (PetscInt k = 0; k < NMIX; k++) {
      const PetscInt n = sizes[i], w = widths[(i + k) % 7], e = (i + 3 * k) % 17;
      PetscReal c[3][100];

      axis_set(&x[0], w, BCR_END_GENERAL, BCR_END_GENERAL, 0);
      axis_set(&x[1], n, ends[e][0], ends[e][1], 0.6);
      for (PetscInt l = 0; l < w; l++) {
        c[0][l] = l ? 1.2 + rnd() : 0;
        c[2][l] = l < w - 1 ? 1.2 + rnd() : 0;
        c[1][l] = c[0][l] + c[2][l] + (l ? 0 : 1);
      }
      x[0].lower = c[0];
      x[0].diag = c[1];
      x[0].upper = c[2];
      PetscCall(run("stretched", 2, x, shifts[(i + k) % 3], mix(k, n), none, 0, (int)(k % 3), PETSC_TRUE));
      PetscCall(run("stretched, float", 2, x, shifts[(i + k) % 3], mix(k, n), none, 1, (int)(k % 3), PETSC_TRUE));
    }
  /* three dimensions by recursion */
  for (PetscInt i = 0; i < 9; i++)
    for (PetscInt k = 0; k < NMIX; k++) {
      static const PetscInt small[] = {1, 2, 3, 4, 5, 7, 8, 15, 17};
      const PetscInt e = (i + k) % 17, e1 = (2 * i + 3 * k) % 17, e2 = (5 * i + k) % 17, n1 = small[(i + k) % 9],
                     n2 = small[(2 * i + k + 1) % 9];

      axis_set(&x[0], small[i], ends[e][0], ends[e][1], 1.1);
      axis_set(&x[1], n1, ends[e1][0], ends[e1][1], 0.7);
      axis_set(&x[2], n2, ends[e2][0], ends[e2][1], 1.9);
      PetscCall(
        run("recursion", 3, x, shifts[(i + k) % 4], mix(k, n2), mix((k + 1) % NMIX, n1), 0, -1, (PetscBool)(k % 2)));
      PetscCall(run("recursion, float", 3, x, shifts[(i + k) % 4], mix(k, n2), mix((k + 1) % NMIX, n1),
                    1 + (int)(k % 2), -1, PETSC_FALSE));
    }
  PetscCall(paper());
  PetscCall(refused());
  printf("largest backward error: %.2g double, %.2g single\n", worst[0], worst[1]);
  PetscCall(PetscFinalize());
  return TestStatus(1, (int)passed, (int)failed);
}
