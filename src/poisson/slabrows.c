/*
  Slabs of a box on ranks, see ranks.h: rows along the slabs' axis, which of them are interfaces,
  what the elimination of the rows between leaves there. ranks.c has the formulas.
*/
#include "ranks.h"
#include "tables.h"
#include "../base/agree.h"
#include <math.h>

/* low, up and excess of all rows; the diagonal is their sum */
static PetscErrorCode axis_rows(const BCRAxis *x, BCRSlabRows *r)
{
  const PetscInt n = x->n;
  const double a = x->a;

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(n, &r->low, n, &r->up, n, &r->excess, n, &r->weight));
  if (x->times) PetscCall(PetscMalloc1(n, &r->times));
  for (PetscInt i = 0; i < n && x->times; i++) r->times[i] = (double)x->times[i];
  for (PetscInt i = 0; i < n; i++) {
    r->low[i] = x->lower ? (i || r->periodic ? (double)x->lower[i] : 0) : a;
    r->up[i] = x->lower ? (i + 1 < n || r->periodic ? (double)x->upper[i] : 0) : a;
    r->excess[i] = x->lower ? (double)x->diag[i] - r->low[i] - r->up[i] : 0;
    r->weight[i] = 1;
  }
  for (int s = 0; s < 2 && !x->lower && !r->periodic && n > 1; s++) {
    const BCREndRule rule = BCREndGetRule(x->end[s]);
    const PetscInt i = s ? n - 1 : 0;
    double *out = s ? &r->up[i] : &r->low[i], *in = s ? &r->low[i] : &r->up[i];

    *out = 0;
    *in = rule.inward * a;
    r->weight[i] = rule.weight;
    r->excess[i] += rule.excess * a;
  }
  if (n == 1 && !x->lower) r->low[0] = r->up[0] = r->excess[0] = 0;
  if (x->lower) PetscCall(BCRAxisLeftNull(x, r->weight));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double row_excess(const BCRSlabRows *r, PetscInt i, double lambda, double timed)
{
  return r->excess[i] + lambda + (r->times ? r->times[i] * timed : 0);
}

/* Rows first .. first + m - 1 of a mode, forward (dir = 1) or backward: the corner entry t and the last entries of B^-1
   (e + L) and B^-1 1. Pivots are P = up + num, where num is what is left of the row's excess. */
static void block_corner(const BCRSlabRows *r, PetscInt first, PetscInt m, int dir, double lambda, double timed,
                         double *t, double *w, double *ones)
{
  const double *low = dir > 0 ? r->low : r->up, *up = dir > 0 ? r->up : r->low;
  const PetscBool uniform = r->uniform;
  double num = 0, P = 1, y = 0, z = 0, prod = 1;

  for (PetscInt k = 0; k < m; k++) {
    const PetscInt i = dir > 0 ? first + k : first + m - 1 - k;
    const double e = row_excess(r, i, lambda, timed), ratio = k ? low[i] / P : 0, num0 = num, y0 = y, z0 = z;

    num = k ? e + ratio * num : e + low[i];
    y = k ? e + ratio * y : e;
    z = k ? 1 + ratio * z : 1;
    prod *= k ? ratio : low[i];
    P = up[i] + num;
    /* nothing changes up to the last row */
    if (uniform && k > 1 && k + 2 < m && fabs(num - num0) <= 1e-16 * fabs(num) && fabs(y - y0) <= 1e-16 * fabs(y) &&
        fabs(z - z0) <= 1e-16 * z) {
      const PetscInt skip = m - 2 - k;

      prod *= pow(low[i] / P, (double)skip);
      k += skip;
    }
  }
  *t = m ? prod / P : 1;
  if (fabs(*t) < 1e-200) *t = 0;
  *w = m ? y / P : 0;
  *ones = m ? z / P : 0;
}

/* Row of the interface of part p for a mode */
void BCRSlabRowsInterface(const BCRSlabRows *r, PetscInt p, double lambda, double timed, double *low, double *diag,
                          double *up, double *ones)
{
  const BCRSlabPart *a = &r->part[p], *b = &r->part[(p + 1) % r->nparts];
  const PetscInt i = a->first + a->interior;
  double t0, w0, o0, t1, w1, o1;

  block_corner(r, a->first, a->interior, 1, lambda, timed, &t0, &w0, &o0);
  block_corner(r, b->first, b->interior, -1, lambda, timed, &t1, &w1, &o1);
  *low = r->low[i] * t0;
  *up = r->up[i] * t1;
  *diag = row_excess(r, i, lambda, timed) + r->low[i] * w0 + r->up[i] * w1 + *low + *up;
  if (ones) *ones = 1 + r->low[i] * o0 + r->up[i] * o1;
}

void BCRSlabRowsConstant(const BCRSlabRows *r, double c[])
{
  const PetscInt n = r->ninterface;

  for (PetscInt p = 0; p < n; p++) {
    double diag;

    BCRSlabRowsInterface(r, p, 0, 0, &c[p], &diag, &c[n + p], &c[2 * n + p]);
    c[3 * n + p] = r->weight[r->part[p].first + r->part[p].interior];
  }
}

PetscBool BCRSlabRowsReach(const BCRSlabRows *r, double lambda, double eps)
{
  const double delta = r->uniform ? lambda / r->low[r->n / 2] : 0;
  PetscInt least = PETSC_MAX_INT; /* rows from one interface to the next */

  for (PetscInt p = 0; p < r->nparts; p++) {
    if ((p > 0 || r->periodic) && r->part[p].has) least = PetscMin(least, r->part[p].interior + 1);
  }
  if (least == PETSC_MAX_INT) return PETSC_FALSE;
  return !(delta > 0) || !((double)least * log1p(BCRRootGap(delta)) > -log(eps)) ? PETSC_TRUE : PETSC_FALSE;
}

/* all: first row and number of rows of each rank */
static PetscErrorCode rows_parts(const PetscInt all[], PetscMPIInt rank, PetscMPIInt size, PetscInt axis,
                                 BCRSlabRows *r)
{
  PetscInt at = 0;

  PetscFunctionBegin;
  r->mine = r->prev = r->next = -1;
  for (PetscMPIInt q = 0; q < size; q++) {
    BCRSlabPart *p = &r->part[r->nparts];

    PetscCheck(all[2 * q + 1] >= 0 && (all[2 * q + 1] == 0 || all[2 * q] == at), PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
               "Rank %d has rows %" PetscInt_FMT " to %" PetscInt_FMT " along %c, the ranks before have %" PetscInt_FMT,
               q, all[2 * q], all[2 * q] + all[2 * q + 1] - 1, 'x' + (int)axis, at);
    if (!all[2 * q + 1]) continue;
    at += all[2 * q + 1];
    if (q == rank) r->mine = r->nparts;
    p->rank = q;
    p->first = all[2 * q];
    p->m = all[2 * q + 1];
    r->nparts++;
  }
  PetscCheck(r->nparts && at == r->n, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "The ranks have %" PetscInt_FMT " rows along %c, there are %" PetscInt_FMT, at, 'x' + (int)axis, r->n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSlabRowsCreate(MPI_Comm comm, PetscInt axis, PetscInt first, PetscInt m, const BCRAxis *x,
                                 BCRSlabRows *r)
{
  PetscInt *all = NULL, here[2] = {first, m};
  PetscMPIInt rank = 0, size = 1;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  if (comm != MPI_COMM_NULL) {
    PetscCallMPI(MPI_Comm_rank(comm, &rank));
    PetscCallMPI(MPI_Comm_size(comm, &size));
  }
  PetscCall(PetscMemzero(r, sizeof(*r)));
  r->n = x->n;
  r->uniform = x->lower ? PETSC_FALSE : PETSC_TRUE;
  r->periodic = BCRAxisIsPeriodic(x);
  ierr = axis_rows(x, r);
  if (!ierr) ierr = PetscMalloc1(size, &r->part);
  if (!ierr) ierr = PetscMalloc1(2 * size, &all);
  if (size > 1) ierr = BCRFaultShare(comm, ierr, BCR_NO_MEMORY);
  BCRCallElse(ierr, (void)PetscFree(all));
  if (size > 1) PetscCallMPI(MPI_Allgather(here, 2, MPIU_INT, all, 2, MPIU_INT, comm));
  else PetscCall(PetscArraycpy(all, here, 2));
  ierr = rows_parts(all, rank, size, axis, r);
  PetscCall(PetscFree(all));
  PetscCall(ierr);
  for (PetscInt p = 0; p < r->nparts; p++) {
    r->part[p].has = r->nparts > 1 && (r->periodic || p < r->nparts - 1) ? PETSC_TRUE : PETSC_FALSE;
    r->part[p].interior = r->part[p].m - (r->part[p].has ? 1 : 0);
    if (r->part[p].has) r->ninterface++;
  }
  if (r->nparts > 1 && r->mine >= 0) {
    r->prev = r->mine > 0 ? r->mine - 1 : (r->periodic ? r->nparts - 1 : -1);
    r->next = r->mine + 1 < r->nparts ? r->mine + 1 : (r->periodic ? 0 : -1);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSlabRowsAxis(const BCRSlabRows *r, BCRAxis *a, PetscReal **zero, double *single)
{
  const BCRSlabPart *mine = &r->part[r->mine];
  const PetscInt interior = mine->interior;

  PetscFunctionBegin;
  *zero = NULL;
  *single = 0;
  a->n = interior;
  if (a->lower) {
    PetscCall(PetscMalloc1(2 * interior, zero));
    PetscCall(PetscArraycpy(*zero, a->lower + mine->first, interior));
    PetscCall(PetscArraycpy(*zero + interior, a->upper + mine->first, interior));
    (*zero)[0] = (*zero)[2 * interior - 1] = 0;
    a->end[0] = a->end[1] = BCR_END_GENERAL; /* of a ring: its part */
    a->lower = *zero;
    a->upper = *zero + interior;
    a->diag = a->diag + mine->first;
    if (a->times) a->times += mine->first;
  } else {
    for (int s = 0; s < 2; s++) {
      if (r->periodic || (s ? mine->first + interior < r->n : mine->first > 0)) a->end[s] = BCREndAtSeparator();
    }
    if (interior == 1) {
      *single = r->excess[mine->first] + r->low[mine->first] + r->up[mine->first];
      a->a = 0;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSlabRowsDestroy(BCRSlabRows *r)
{
  PetscFunctionBegin;
  PetscCall(PetscFree4(r->low, r->up, r->excess, r->weight));
  PetscCall(PetscFree(r->times));
  PetscCall(PetscFree(r->part));
  PetscFunctionReturn(PETSC_SUCCESS);
}
