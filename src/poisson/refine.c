/*
  Mixed precision: the core works in float, and its solution is corrected with residuals that are computed in double.

    v = 0, r = g;   repeat  e = K^-1 r (float);  v += e;  r = g - K v (double, then rounded to float)

  Every correction gains as many digits as the float solve has right, whatever the residual's size.
  One pass over memory does the addition and the residual: row m + lag of v is brought up to date
  before the residual of row m needs it.

  Range: r holds rs times the residual with rs a power of two, and the core gives norm times its
  solution (norm bounds |K|), so that neither leaves the range of float for any scale of the
  operator or of the right-hand side.
*/
#include "solverimpl.h"
#include <math.h>

enum {
  BCR_REFINE_MAX = 8
};

/* Rows of scale*T for each axis, and a bound on the norm */
PetscErrorCode BCRRefineSetUp(BCRComponent *c)
{
  const BCROperator *op = &c->op;

  PetscFunctionBegin;
  c->norm = PetscAbsReal(op->shift);
  for (int d = 0; d < 3; d++) {
    const BCRAxis *x = BCRComponentAxis(c, d);
    const PetscInt n = x->n, here = op->axis[d].n, first = d == c->slab ? c->first : 0;
    double largest = 0, *lo, *di, *up; /* n each, the first lo and the last up of a periodic axis lead round */

    if (!c->lower[d]) PetscCall(PetscMalloc3(here, &c->lower[d], here, &c->diag[d], here, &c->upper[d]));
    PetscCall(PetscMalloc3(n, &lo, n, &di, n, &up));
    for (PetscInt i = 0; i < n; i++) BCRAxisGetRow(x, i, &lo[i], &di[i], &up[i]);
    if (n > 0 && x->lower) lo[0] = up[n - 1] = 0;
    for (PetscInt i = 0; i < n; i++) largest = PetscMax(largest, fabs(lo[i]) + fabs(di[i]) + fabs(up[i]));
    c->norm += largest;
    PetscCall(PetscArraycpy(c->lower[d], lo + first, here));
    PetscCall(PetscArraycpy(c->diag[d], di + first, here));
    PetscCall(PetscArraycpy(c->upper[d], up + first, here));
    PetscCall(PetscFree3(lo, di, up));
  }
  if (c->norm == 0) c->norm = 1; /* one unknown, no equation */
  for (int d = 0; d < 3; d++) {
    for (PetscInt i = 0; i < op->axis[d].n; i++) {
      c->lower[d][i] *= op->scale;
      c->diag[d][i] *= op->scale;
      c->upper[d][i] *= op->scale;
    }
  }
  c->beyond[0] = c->beyond[1] = 0;
  /* the row kernel takes these for the corners of a periodic axis */
  if (c->slab == 0 && op->axis[0].n > 0 && op->axis[0].n < c->whole.n) {
    c->beyond[0] = c->lower[0][0];
    c->beyond[1] = c->upper[0][op->axis[0].n - 1];
    c->lower[0][0] = 0;
    c->upper[0][op->axis[0].n - 1] = 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Row of the right-hand side, where it lies if nothing changes on its way */
static const double *BCRRefineRow(BCRSolver s, const BCRPass *p, PetscBool plain, PetscInt j, PetscInt k)
{
#if !defined(PETSC_USE_REAL_SINGLE)
  if (plain) return p->f + p->c->start + j * p->c->stride[1] + k * p->c->stride[2];
#else
  (void)plain;
#endif
  BCRPassRowIn(p, j, k, s->line);
  return s->line;
}

/* unknowns of the box on all ranks */
static double BCRRefineSize(const BCRComponent *c)
{
  return (double)BCRComponentAxis(c, 0)->n * (double)BCRComponentAxis(c, 1)->n * (double)BCRComponentAxis(c, 2)->n;
}

/* r = rs g; sets rs */
static PetscErrorCode BCRRefineBegin(BCRSolver s, const BCRPass *p, PetscBool plain, float *r, double *rs, double *sum,
                                     PetscBool *zero)
{
  const PetscInt nx = p->c->op.axis[0].n, ny = nx ? p->c->op.axis[1].n : 0, nz = p->c->op.axis[2].n;

  PetscFunctionBegin;
  *zero = PETSC_FALSE;
  *rs = 1;
  for (int attempt = 0; attempt < 2; attempt++) {
    double largest = 0, mean;

    *sum = 0;
    for (PetscInt k = 0; k < nz; k++) {
      for (PetscInt j = 0; j < ny; j++)
        *sum += s->fields->begin(nx, *rs, BCRRefineRow(s, p, plain, j, k), r + j * s->ldy + k * s->ldz);
    }
    PetscCall(BCRRanksSum(s->core[p->c->core], MPI_SUM, 1, sum));
    mean = *sum / BCRRefineSize(p->c);
    if (attempt || (mean > 1e-16 && mean < 1e16)) break;
    for (PetscInt k = 0; k < nz; k++) {
      for (PetscInt j = 0; j < ny; j++) {
        const double *g = BCRRefineRow(s, p, plain, j, k);

        for (PetscInt i = 0; i < nx; i++) {
          if (fabs(g[i]) > largest) largest = fabs(g[i]);
        }
      }
    }
    PetscCall(BCRRanksSum(s->core[p->c->core], MPI_MAX, 1, &largest));
    if (largest == 0) {
      *zero = *sum == 0 ? PETSC_TRUE : PETSC_FALSE; /* not so if there is a NaN */
      break;
    }
    if (!isfinite(largest)) break;
    *rs = ldexp(1., -PetscMax(ilogb(largest), -1020));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v += ce e (v = ce e if there is no v yet) and r = rs (g - c - K v), where e and r are the same array */
static PetscErrorCode BCRRefineStep(BCRSolver s, const BCRPass *p, PetscBool plain, PetscBool keep, double ce,
                                    double removed, double rs, PetscReal *v, const PetscInt ldv[], float *r,
                                    double *sumr, double *sumv)
{
  const BCRComponent *c = p->c;
  const PetscInt nx = c->op.axis[0].n, ny = nx ? c->op.axis[1].n : 0, nz = c->op.axis[2].n,
                 stride[3] = {1, ldv[0], ldv[1]};
  /* has rows of other ranks beside it */
  const PetscBool split = c->slab >= 0 && c->op.axis[c->slab].n < c->whole.n ? PETSC_TRUE : PETSC_FALSE;
  const PetscBool wrapy = BCREndIsPeriodic(c->op.axis[1].end[0]) && !(split && c->slab == 1) ? PETSC_TRUE : PETSC_FALSE;
  const PetscBool wrapz = BCREndIsPeriodic(c->op.axis[2].end[0]) && !(split && c->slab == 2) ? PETSC_TRUE : PETSC_FALSE;
  const PetscBool deep = c->op.axis[2].n > 1 || (split && c->slab == 2) ? PETSC_TRUE : PETSC_FALSE;
  const PetscInt lag = deep ? ny : 1;
  /* rows that go first, for they are neighbours of the first ones */
  const PetscInt rows = ny * nz, early = (deep ? wrapz : wrapy) ? lag : 0;
  PetscInt done = 0, left = rows - early;
  const PetscReal *halo[2] = {NULL, NULL};
  BCRResidualRow w = {0};
  double sums[2];

  PetscFunctionBegin;
  w.n = nx;
  w.dim = deep ? 3 : (ny > 1 || (split && c->slab == 1) ? 2 : 1);
  w.uniform = c->op.axis[0].lower ? 0 : 1;
  w.lower = c->lower[0];
  w.diag = c->diag[0];
  w.upper = c->upper[0];
  w.c = removed;
  w.rs = rs;
  w.vs = rs * c->norm * c->op.scale;
#define BCRRefineAdd(m) \
  s->fields->add(nx, keep, ce, r + ((m) % ny) * s->ldy + ((m) / ny) * s->ldz, \
                 v + ((m) % ny) * ldv[0] + ((m) / ny) * ldv[1])
  if (split) { /* all of v first: other ranks wait for its ends */
    for (; done < rows; done++) BCRRefineAdd(done);
    left = 0;
  } else {
    for (PetscInt m = rows - early; m < rows; m++) BCRRefineAdd(m);
  }
  PetscCall(BCRRanksHaloBegin(s->core[c->core], v, stride));
  PetscCall(BCRRanksHaloEnd(s->core[c->core], halo));
  for (PetscInt k = 0; k < nz; k++) {
    for (PetscInt j = 0; j < ny; j++) {
      /* a neighbour that does not exist has a zero coefficient; what lies there may not be a number yet */
      const PetscInt south = j > 0 ? j - 1 : (wrapy ? ny - 1 : j), north = j + 1 < ny ? j + 1 : (wrapy ? 0 : j);
      const PetscInt below = k > 0 ? k - 1 : (wrapz ? nz - 1 : k), above = k + 1 < nz ? k + 1 : (wrapz ? 0 : k);

      for (; done <= k * ny + j + lag && done < left; done++) BCRRefineAdd(done);
      w.g = BCRRefineRow(s, p, plain, j, k);
      w.v = v + j * ldv[0] + k * ldv[1];
      w.side[0] = v + south * ldv[0] + k * ldv[1];
      w.side[1] = v + north * ldv[0] + k * ldv[1];
      w.side[2] = v + j * ldv[0] + below * ldv[1];
      w.side[3] = v + j * ldv[0] + above * ldv[1];
      if (split && c->slab == 1) {
        if (j == 0 && halo[0]) w.side[0] = halo[0] + k * nx;
        if (j == ny - 1 && halo[1]) w.side[1] = halo[1] + k * nx;
      } else if (split && c->slab == 2) {
        if (k == 0 && halo[0]) w.side[2] = halo[0] + j * nx;
        if (k == nz - 1 && halo[1]) w.side[3] = halo[1] + j * nx;
      } else if (split) { /* along x: into the right-hand side */
        if (w.g != s->line) PetscCall(PetscArraycpy(s->line, w.g, nx));
        w.g = s->line;
        if (halo[0]) s->line[0] += c->beyond[0] * (double)halo[0][j + ny * k];
        if (halo[1]) s->line[nx - 1] += c->beyond[1] * (double)halo[1][j + ny * k];
      }
      w.coef[0] = c->lower[1][j];
      w.coef[1] = c->upper[1][j];
      w.coef[2] = c->lower[2][k];
      w.coef[3] = c->upper[2][k];
      w.centre = c->diag[1][j] + c->diag[2][k] + (double)c->op.scale * (double)c->op.shift;
      s->fields->residual(&w, r + j * s->ldy + k * s->ldz);
    }
  }
  sums[0] = w.sumr;
  sums[1] = w.sumv;
  PetscCall(BCRRanksSum(s->core[c->core], MPI_SUM, 2, sums));
  *sumr = sums[0];
  *sumv = sums[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The corrections of a singular operator have means of their own, to single precision: makes that
   of v zero, as the core does */
static PetscErrorCode BCRRefineMean(BCRSolver s, const BCRComponent *c, PetscReal *v, const PetscInt ldv[])
{
  const PetscInt nx = c->op.axis[0].n, ny = c->op.axis[1].n, nz = c->op.axis[2].n;
  double sum = 0, mean;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < nz; k++) {
    for (PetscInt j = 0; j < ny; j++) {
      for (PetscInt i = 0; i < nx; i++) sum += (double)v[i + j * ldv[0] + k * ldv[1]];
    }
  }
  PetscCall(BCRRanksSum(s->core[c->core], MPI_SUM, 1, &sum));
  mean = sum / BCRRefineSize(c);
  for (PetscInt k = 0; k < nz; k++) {
    for (PetscInt j = 0; j < ny; j++) {
      PetscReal *row = v + j * ldv[0] + k * ldv[1];

      for (PetscInt i = 0; i < nx; i++) row[i] = (PetscReal)((double)row[i] - mean);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What single precision could not do: the same in double. Needs v to be in double. */
static PetscErrorCode BCRRefineFallback(BCRSolver s, const BCRPass *p, PetscReal *v, const PetscInt ldv[],
                                        PetscReal *removed)
{
  PetscFunctionBegin;
#if !defined(PETSC_USE_REAL_SINGLE)
  const BCRComponent *c = p->c;
  BCRRanks *core = &s->fallback[c->core];

  if (!*core) {
    BCRCoreOptions options = s->options.core;
    PetscInt stride[3] = {1, ldv[0], ldv[1]};
    BCRAxis axis[3];
    BCRRanks made;

    PetscCall(
      PetscInfo(NULL, "Corrections of the single-precision solve do not converge; solving in double precision\n"));
    for (int d = 0; d < 3; d++) {
      axis[d] = *BCRComponentAxis(c, d);
      axis[d].weight = NULL;
      if (axis[d].n == 1) axis[d].a = 0;
      PetscCall(PetscMemzero(axis[d].plane, sizeof(axis[d].plane)));
    }
    options.precision = BCR_DOUBLE;
    PetscCall(BCRRanksCreate(s->slabs.comm, PetscMax(0, c->slab), c->first, c->op.axis[PetscMax(0, c->slab)].n,
                             c->op.dim, axis, c->op.shift, c->op.singular, stride, BCR_DOUBLE, &options, PETSC_FALSE,
                             &made));
    BCRCallElse(BCRRanksSetFactor(made, 1 / c->op.scale), (void)BCRRanksDestroy(&made));
    *core = made;
  }
  for (PetscInt k = 0; k < c->op.axis[2].n; k++) {
    for (PetscInt j = 0; j < c->op.axis[1].n; j++) BCRPassRowIn(p, j, k, v + j * ldv[0] + k * ldv[1]);
  }
  PetscCall(BCRRanksSolve(*core, v, v, removed));
#else
  (void)s, (void)p, (void)v, (void)ldv, (void)removed;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRefineSolve(BCRSolver s, const BCRPass *p, PetscReal *v, const PetscInt ldv[], PetscReal *removed)
{
  const BCRComponent *c = p->c;
  /* a rank may have no rows */
  const PetscInt nx = c->op.axis[0].n, ny = nx ? c->op.axis[1].n : 0, nz = c->op.axis[2].n;
  const PetscBool plain = !BCRPassMustPrepare(p) && p->es == 1 ? PETSC_TRUE : PETSC_FALSE;
  const double limit = 1e-14, enough = 1e-15;
  float *r = (float *)s->stage;
  PetscBool keep = PETSC_FALSE, pending = PETSC_TRUE, zero;
  double rs, ce, sumg, mean = 0, last = 1, error = 1;
  PetscBool slow = PETSC_FALSE;

  PetscFunctionBegin;
  s->ncorrect = 0;
  *removed = 0;
  PetscCall(BCRRefineBegin(s, p, plain, r, &rs, &sumg, &zero));
  if (zero) {
    for (PetscInt k = 0; k < nz; k++) {
      for (PetscInt j = 0; j < ny; j++) PetscCall(PetscArrayzero(v + j * ldv[0] + k * ldv[1], nx));
    }
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  ce = 1 / rs / (c->norm * (double)c->op.scale);
  for (int it = 0;; it++) {
    PetscReal part = 0;
    double sumr = 0, sumv = 0;

    PetscCall(BCRRanksSolve(s->core[c->core], r, r, &part));
    mean += (double)part / rs;
    /* the last correction is not measured when the rate of those before it says that it is enough by far */
    if (it == BCR_REFINE_MAX || (it > 1 && error * (error / last) < 0.1 * enough)) break;
    PetscCall(BCRRefineStep(s, p, plain, keep, ce, mean, rs, v, ldv, r, &sumr, &sumv));
    keep = PETSC_TRUE;
    last = error;
    error = sumr > 0 ? sqrt(sumr) / (sqrt(sumv) + sqrt(sumg)) : sumr; /* keeps a NaN */
    if (it > 0 && BCRRefineSlow(error, last)) slow = PETSC_TRUE;
    if (error <= (slow ? 0.1 : 1) * enough || !(error < 0.5 * last)) {
      pending = PETSC_FALSE;
      break;
    }
    s->ncorrect++;
  }
  if (pending) {
    for (PetscInt k = 0; k < nz; k++) {
      for (PetscInt j = 0; j < ny; j++)
        s->fields->add(nx, keep, ce, r + j * s->ldy + k * s->ldz, v + j * ldv[0] + k * ldv[1]);
    }
    /* else there were too many corrections: what was measured last holds */
    if (error * (error / last) < 0.1 * enough) error *= error / last;
  }
  *removed = (PetscReal)mean;
  if (!(error <= (slow ? enough : limit)) && isfinite(sumg) && sizeof(PetscReal) > 4)
    PetscCall(BCRRefineFallback(s, p, v, ldv, removed));
  else if (c->op.singular) PetscCall(BCRRefineMean(s, c, v, ldv));
  PetscFunctionReturn(PETSC_SUCCESS);
}
