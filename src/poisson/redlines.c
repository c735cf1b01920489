/*
  Block cyclic reduction: the inverse pivots of the poles' lines, for the shifts of a solver. Neighbouring poles are
  in the lanes of a bundle (src/backend/cpu/poles.h).
*/
#include "reductionimpl.h"
#include "../base/modes.h"
#include <math.h>

/* The tables of all lines, which grow bundle by bundle */
typedef struct {
  PetscBool single;
  PetscInt lanes;
  char *p;
  size_t size, used; /* bytes */
} Buffer;

static PetscErrorCode buffer_put(Buffer *b, const double v[])
{
  const size_t bytes = (size_t)b->lanes * (b->single ? sizeof(float) : sizeof(double));

  PetscFunctionBegin;
  if (b->used + bytes > b->size) {
    char *more;

    b->size = 2 * (b->used + bytes) + 4096;
    PetscCall(PetscMalloc1(b->size, &more));
    if (b->used) PetscCall(PetscMemcpy(more, b->p, b->used));
    PetscCall(PetscFree(b->p));
    b->p = more;
  }
  for (PetscInt l = 0; l < b->lanes; l++) {
    if (b->single) ((float *)(b->p + b->used))[l] = (float)v[l];
    else ((double *)(b->p + b->used))[l] = v[l];
  }
  b->used += bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Toeplitz: pivots P = 1 + c + e, c the coupling to a periodic line's last unknown that elimination has carried along
  (0 else; a Dirichlet end counts into e), e what is left of the row's sum: e_i = delta + e_{i-1}/P_{i-1} has no
  cancellation for delta >= 0, so the smallest eigenvalues keep their relative accuracy. e tends to a fixed point when
  delta > 0, and the table ends with the row before which it has come within an ulp of the pivots.
*/
static PetscErrorCode lines_toeplitz(BCRReduction red, const double delta[], Buffer *buf, ptrdiff_t *nt)
{
  const PetscInt bl = buf->lanes;
  const PetscBool ring = (PetscBool)red->line.periodic;
  const PetscInt nn = red->nx - (ring ? 1 : 0);
  const double tol = buf->single ? 1e-7 : 2.5e-16; /* an ulp of the pivots */
  double e[BCR_MAX_LANES], c[BCR_MAX_LANES], fix[BCR_MAX_LANES], r[BCR_MAX_LANES], tail[BCR_MAX_LANES],
    sum[BCR_MAX_LANES], carry[BCR_MAX_LANES];
  const BCREndRule low = BCREndGetRule(red->x.end[0]), high = BCREndGetRule(red->x.end[1]);
  PetscInt i = 0;
  PetscBool done = PETSC_FALSE;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < bl; l++) {
    c[l] = ring ? 1 : 0;
    e[l] = delta[l] * low.weight + low.excess;
    fix[l] = delta[l] > 0 ? BCRRootGap(delta[l]) : 0;
    sum[l] = delta[l];
  }
  for (; i < nn - 1; i++) {
    done = PETSC_TRUE;
    for (PetscInt l = 0; l < bl; l++) {
      const double ep = e[l];

      r[l] = 1 / (1 + c[l] + ep);
      if (delta[l] < 0 || (fabs(ep + c[l] - fix[l]) > tol * (1 + fix[l])) || c[l] > tol) done = PETSC_FALSE;
    }
    if (done) break;
    PetscCall(buffer_put(buf, r));
    for (PetscInt l = 0; l < bl; l++) {
      sum[l] += c[l] * e[l] * r[l];
      carry[l] = e[l] * r[l];
      e[l] = delta[l] + carry[l];
      c[l] *= r[l];
    }
  }
  *nt = i;
  for (PetscInt l = 0; l < bl; l++) {
    r[l] = 1 / (1 + fix[l]);
    if (done) { /* the rows before the last one have the fixed point */
      e[l] = fix[l];
      carry[l] = fix[l] * r[l];
      c[l] = 0;
    }
    if (ring) { /* the last row is coupled to the last unknown on both sides */
      tail[l] = 1 / (1 + c[l] + e[l]);
      sum[l] += (c[l] + 1) * e[l] * tail[l];
      sum[l] = sum[l] == 0 ? 0 : 1 / sum[l]; /* singular: that unknown is set to zero */
    } else {
      const double p = delta[l] * high.weight + high.excess + carry[l];

      tail[l] = p == 0 ? 0 : 1 / p;
    }
  }
  PetscCall(buffer_put(buf, r));
  PetscCall(buffer_put(buf, tail));
  PetscCall(buffer_put(buf, sum));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same for any coefficients, sigma added to the diagonal: P_i = upper_i + e_i */
static PetscErrorCode lines_general(BCRReduction red, const double sigma[], Buffer *buf, ptrdiff_t *nt)
{
  const BCRAxis *x = &red->x;
  double e[BCR_MAX_LANES], p[BCR_MAX_LANES], r[BCR_MAX_LANES], big = 0;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < x->n; i++) big = PetscMax(big, fabs((double)x->diag[i]));
  for (PetscInt i = 0; i < x->n; i++) {
    const double lo = i ? (double)x->lower[i] : 0, up = i < x->n - 1 ? (double)x->upper[i] : 0,
                 sum = (double)x->diag[i] - lo - up;

    for (PetscInt l = 0; l < buf->lanes; l++) {
      e[l] = sum + sigma[l] + (i ? lo * e[l] / p[l] : 0);
      p[l] = up + e[l];
      if (i == x->n - 1 && fabs(p[l]) <= 4e-16 * x->n * big) p[l] = 0; /* singular but for rounding */
      r[l] = p[l] == 0 ? 0 : 1 / p[l];
    }
    PetscCall(buffer_put(buf, r));
  }
  *nt = x->n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The lines of a set of poles for one shift */
static PetscErrorCode set_lines(BCRReduction red, const BCRPoleSet *p, double shift, Buffer *buf, BCRPolesTab *tab)
{
  const PetscInt lanes = buf->lanes, nb = (p->np + lanes - 1) / lanes;
  ptrdiff_t *off, *nt;

  PetscFunctionBegin;
  PetscCall(BCRArenaGet(&red->tables, 2 * (size_t)nb * sizeof(*off), &off));
  nt = off + nb;
  for (PetscInt b = 0; b < nb; b++) {
    double sigma[BCR_MAX_LANES];

    off[b] = (ptrdiff_t)(buf->used / red->size);
    for (PetscInt l = 0; l < lanes; l++) sigma[l] = shift + red->plan.a * p->lambda[PetscMin(b * lanes + l, p->np - 1)];
    if (red->line.general) PetscCall(lines_general(red, sigma, buf, &nt[b]));
    else {
      for (PetscInt l = 0; l < lanes; l++) sigma[l] *= red->plan.scale;
      PetscCall(lines_toeplitz(red, sigma, buf, &nt[b]));
    }
  }
  tab->nb = nb;
  tab->off = off;
  tab->nt = nt;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode lines_tables(BCRReduction red, const double shift[], Buffer *buf)
{
  const BCRReductionPlan *plan = &red->plan;
  const PetscInt ntab = plan->nsets * red->nshift;
  void *all;

  PetscFunctionBegin;
  PetscCall(BCRArenaGet(&red->tables, ntab * sizeof(*red->tab), &red->tab));
  for (PetscInt k = 0; k < plan->nsets; k++)
    for (PetscInt s = 0; s < red->nshift; s++)
      PetscCall(set_lines(red, plan->set[k], shift[s], buf, &red->tab[k * red->nshift + s]));
  PetscCall(BCRArenaGet(&red->tables, buf->used, &all));
  PetscCall(PetscMemcpy(all, buf->p, buf->used));
  for (PetscInt k = 0; k < ntab; k++) red->tab[k].tab = all;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Planes have the shifts of all poles for all shifts */
static PetscErrorCode planes_shifts(BCRReduction red, const double shift[])
{
  const BCRReductionPlan *plan = &red->plan;
  PetscInt n;
  double *v;

  PetscFunctionBegin;
  PetscCall(PetscIntMultError(red->nshift, plan->npoles, &n));
  PetscCall(PetscMalloc1(n, &v));
  for (PetscInt s = 0; s < red->nshift; s++)
    for (PetscInt k = 0; k < plan->nsets; k++) {
      const BCRPoleSet *p = plan->set[k];

      for (PetscInt j = 0; j < p->np; j++)
        v[(size_t)s * plan->npoles + p->first + j] = shift[s] + plan->a * p->lambda[j];
    }
  BCRCallElse(BCRReductionSetShifts(red->inner, n, v), (void)PetscFree(v));
  PetscCall(PetscFree(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRReductionSetShifts(BCRReduction red, PetscInt nshift, const double shift[])
{
  Buffer buf = {red->plan.single, red->plan.lanes, NULL, 0, 0};

  PetscFunctionBegin;
  PetscCall(BCRArenaFree(&red->tables));
  red->nshift = nshift;
  if (red->inner) PetscCall(planes_shifts(red, shift));
  else BCRCallElse(lines_tables(red, shift, &buf), (void)PetscFree(buf.p));
  PetscCall(PetscFree(buf.p));
  PetscFunctionReturn(PETSC_SUCCESS);
}
