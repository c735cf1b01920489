#include "chains.h"
#include <math.h>
#include <float.h>

void BCRChainsFold(PetscInt n, PetscInt ns, double *low, double *diag, double *up, PetscBool *periodic)
{
  const size_t m = (size_t)ns, last = n ? (size_t)(n - 1) * m : 0;

  if (!n) return;
  if (*periodic && n == 1) {
    for (size_t s = 0; s < m; s++) diag[s] += low[s] + up[s];
  } else if (*periodic && n == 2) {
    for (size_t s = 0; s < m; s++) {
      up[s] += low[s];
      low[m + s] += up[m + s];
    }
  }
  if (*periodic && n > 2) return;
  *periodic = PETSC_FALSE;
  for (size_t s = 0; s < m; s++) low[s] = up[last + s] = 0;
}

/* a + b + c, of which the sum may be much smaller than the terms, rounded about once */
static inline double BCRSum3(double a, double b, double c)
{
  const double p = a + b, pb = p - a, ep = (a - (p - pb)) + (b - pb);
  const double q = p + c, qc = q - p, eq = (p - (q - qc)) + (c - qc);

  return q + (ep + eq);
}

PetscErrorCode BCRChainsDestroy(BCRChains *chains)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(chains->lower, chains->pivotinverse, chains->upper));
  PetscCall(PetscFree2(chains->borderrow, chains->bordercolumn));
  PetscCall(PetscMemzero(chains, sizeof(*chains)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Gaussian elimination without row exchanges. Where the rows have off-diagonals <= 0 and a sum e >=
  0 (nearly singular lines: d = 2 and a small shift), the pivots are taken from the sums, which
  eliminate as e_i -= f_i e_{i-1}, both terms >= 0: nothing cancels however close to singular the
  system is. Else from the diagonal as ever.
*/
PetscErrorCode BCRChainsCreate(PetscInt n, PetscInt ns, const double *low, const double *diag, const double *up,
                               PetscBool periodic, BCRChains *chains, PetscInt bad[2])
{
  const size_t m = (size_t)ns, total = (size_t)n * m;
  const PetscInt open = periodic ? n - 1 : n;
  double *work = NULL, *pp, *ee, *cc, *ww, *dl, *el;
  PetscBool *mono = NULL;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(chains, sizeof(*chains)));
  bad[0] = bad[1] = -1;
  chains->n = n;
  chains->ns = ns;
  chains->border = periodic;
  if (!total) PetscFunctionReturn(PETSC_SUCCESS);
  if (m > 1) {
    PetscBool same = PETSC_TRUE;
    double *one = NULL;

    for (size_t i = 0; i < total && same; i++)
      same = (PetscBool)(low[i] == low[i / m * m] && diag[i] == diag[i / m * m] && up[i] == up[i / m * m]);
    if (same) {
      PetscCall(PetscMalloc1(3 * (size_t)n, &one));
      for (size_t i = 0; i < (size_t)n; i++) {
        one[i] = low[i * m];
        one[(size_t)n + i] = diag[i * m];
        one[2 * (size_t)n + i] = up[i * m];
      }
      BCRCallElse(BCRChainsCreate(n, 1, one, one + n, one + 2 * (size_t)n, periodic, chains, bad),
                  (void)PetscFree(one));
      PetscCall(PetscFree(one));
      chains->ns = ns;
      chains->same = PETSC_TRUE;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
  PetscCheck(!periodic || n > 2, PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "Periodic chains of %" PetscInt_FMT " rows are to be folded", n);
  PetscCall(PetscMalloc3(total, &chains->lower, total, &chains->pivotinverse, total, &chains->upper));
  chains->bytes = 3 * total * sizeof(double);
  if (periodic) {
    PetscCall(PetscMalloc2(total, &chains->borderrow, total, &chains->bordercolumn));
    chains->bytes += 2 * total * sizeof(double);
  }
  PetscCall(PetscMalloc2(6 * m, &work, m, &mono));
  pp = work; /* of the row before: pivot, sum, border column */
  ee = work + m;
  cc = work + 2 * m;
  ww = work + 3 * m; /* border row's entry in the column of the row before */
  dl = work + 4 * m; /* border row's diagonal and sum so far */
  el = work + 5 * m;
  for (size_t s = 0; s < m; s++) mono[s] = PETSC_TRUE;
  for (size_t i = 0; i < total; i++) {
    if (!(low[i] <= 0 && up[i] <= 0 && BCRSum3(diag[i], low[i], up[i]) >= 0)) mono[i % m] = PETSC_FALSE;
  }
  for (size_t s = 0; s < m; s++) {
    pp[s] = 1;
    ee[s] = cc[s] = ww[s] = 0;
    if (periodic) {
      dl[s] = diag[total - m + s];
      el[s] = BCRSum3(dl[s], low[total - m + s], up[total - m + s]);
    }
  }
  for (PetscInt i = 0; i < n; i++) {
    const PetscBool border = (PetscBool)(i >= open), edge = (PetscBool)(periodic && i == open - 1);

    for (size_t s = 0; s < m; s++) {
      const size_t j = (size_t)i * m + s;
      double f = 0, e, p, c = 0, w = 0, u = up[j];

      if (border) {
        p = mono[s] ? el[s] : dl[s];
        u = 0;
      } else {
        e = BCRSum3(diag[j], low[j], up[j]);
        p = diag[j];
        if (i) { /* the row before has up[j - m] in this column and cc in the border's */
          f = low[j] / pp[s];
          e -= f * ee[s];
          p -= f * up[j - m];
          c = -f * cc[s];
          w = -ww[s] * (up[j - m] / pp[s]);
        } else if (periodic) {
          c = low[j];
          w = up[total - m + s];
        }
        if (edge) { /* its up is in the border's column, and the border's low in this one */
          c += up[j];
          w += low[total - m + s];
          u = 0;
        }
        if (mono[s]) p = e - u - c;
        if (periodic) {
          dl[s] -= w * (c / p);
          el[s] -= w * (e / p);
        }
        ee[s] = e;
        cc[s] = c;
        ww[s] = w;
        pp[s] = p;
      }
      /* the first row of the first system */
      if (!(fabs(p) > 2 * (double)n * DBL_EPSILON * fabs(diag[j]) && fabs(p) <= DBL_MAX) &&
          (bad[0] < 0 || (PetscInt)s < bad[0])) {
        bad[0] = (PetscInt)s;
        bad[1] = i;
      }
      chains->lower[j] = f;
      chains->pivotinverse[j] = 1 / p;
      chains->upper[j] = u / p;
      if (periodic) {
        chains->borderrow[j] = w / p;
        chains->bordercolumn[j] = c / p;
      }
    }
  }
  PetscCall(PetscFree2(work, mono));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y -= a z, with one factor for nvec values, or for all (same) */
static inline void BCRChainsUpdate(size_t m, PetscInt nvec, PetscBool same, const double *restrict a,
                                   const double *restrict z, double *restrict y)
{
  if (same) {
    const double b = a[0];

    for (size_t s = 0; s < m * (size_t)nvec; s++) y[s] -= b * z[s];
  } else if (nvec == 1) {
    for (size_t s = 0; s < m; s++) y[s] -= a[s] * z[s];
  } else if (nvec == 2) {
    for (size_t s = 0; s < m; s++) {
      y[2 * s] -= a[s] * z[2 * s];
      y[2 * s + 1] -= a[s] * z[2 * s + 1];
    }
  } else {
    for (size_t s = 0; s < m; s++)
      for (PetscInt v = 0; v < nvec; v++) y[s * (size_t)nvec + (size_t)v] -= a[s] * z[s * (size_t)nvec + (size_t)v];
  }
}

static inline void BCRChainsScale(size_t m, PetscInt nvec, PetscBool same, const double *restrict r, double *restrict y)
{
  if (same) {
    const double q = r[0];

    for (size_t s = 0; s < m * (size_t)nvec; s++) y[s] *= q;
  } else if (nvec == 1) {
    for (size_t s = 0; s < m; s++) y[s] *= r[s];
  } else {
    for (size_t s = 0; s < m; s++)
      for (PetscInt v = 0; v < nvec; v++) y[s * (size_t)nvec + (size_t)v] *= r[s];
  }
}

PetscErrorCode BCRChainsSolve(const BCRChains *chains, PetscInt nvec, const PetscInt *row, double *x)
{
  const PetscInt n = chains->n, open = chains->border ? n - 1 : n;
  const size_t m = (size_t)chains->ns, st = m * (size_t)nvec, table = chains->same ? 1 : m;
  const PetscBool same = chains->same;

  PetscFunctionBegin;
  if (!n || !m) PetscFunctionReturn(PETSC_SUCCESS);
#define BCRRow(i) (x + (size_t)row[i] * st)
  for (PetscInt i = 0; i < open; i++) {
    if (i) BCRChainsUpdate(m, nvec, same, chains->lower + (size_t)i * table, BCRRow(i - 1), BCRRow(i));
    if (chains->border) BCRChainsUpdate(m, nvec, same, chains->borderrow + (size_t)i * table, BCRRow(i), BCRRow(n - 1));
  }
  if (chains->border) BCRChainsScale(m, nvec, same, chains->pivotinverse + (size_t)(n - 1) * table, BCRRow(n - 1));
  for (PetscInt i = open - 1; i >= 0; i--) {
    BCRChainsScale(m, nvec, same, chains->pivotinverse + (size_t)i * table, BCRRow(i));
    if (i < open - 1) BCRChainsUpdate(m, nvec, same, chains->upper + (size_t)i * table, BCRRow(i + 1), BCRRow(i));
    if (chains->border)
      BCRChainsUpdate(m, nvec, same, chains->bordercolumn + (size_t)i * table, BCRRow(n - 1), BCRRow(i));
  }
#undef BCRRow
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Leave out up_i and low_{i+1}: x' - x = A'^-1 (up_i x_{i+1} e_i + low_{i+1} x_i e_{i+1}), A' the
  matrix without them. Row i is the last of its piece, so that (A'^-1)_{ii} = 1/p_i with the pivot
  p_i of elimination from above, and (A'^-1)_{ki} = -up_k/p_k (A'^-1)_{k+1,i} before it: at most
  g_i/|p_i| with g_i = max(1, |up_{i-1}/p_{i-1}| g_{i-1}). The same from below for row i+1. On
  periodic chains the pivots are those of the second lap; they do not depend on where the first
  began if there is a coupling to cut at all, since it starts them anew.
*/
PetscErrorCode BCRChainsCuts(PetscInt n, PetscInt ns, const double *low, const double *diag, const double *up,
                             PetscBool periodic, double *cut)
{
  const size_t m = (size_t)ns, total = (size_t)n * m;
  const PetscInt laps = periodic ? 2 : 1;

  PetscFunctionBegin;
  for (size_t i = 0; i < total; i++) cut[i] = 0;
  for (PetscInt dir = 0; dir < 2; dir++) {
    const double *out = dir ? low : up, *in = dir ? up : low;

    for (size_t s = 0; s < m; s++) {
      double p = 1, g = 1, o = 0; /* of the row before in this direction: pivot, growth, coupling to this row */

      for (PetscInt j = 0; j < laps * n; j++) {
        const PetscInt i = dir ? n - 1 - j % n : j % n, c = dir ? (i ? i - 1 : n - 1) : i;
        const size_t k = (size_t)i * m + s;

        g = PetscMax(1., fabs(o / p) * g);
        p = diag[k] - (j ? in[k] * (o / p) : 0);
        o = out[k];
        if (j >= (laps - 1) * n) {
          const double e = o == 0 ? 0 : fabs(o / p) * g;

          if (!(e <= cut[(size_t)c * m + s])) cut[(size_t)c * m + s] = e <= DBL_MAX ? e : DBL_MAX;
        }
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
