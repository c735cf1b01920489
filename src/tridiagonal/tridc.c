/*
  Lines by divide and conquer (paper 004; docs/method.md, section 16). Where all rows are (low,
  diag, up) but a few at the ends, and x^2 - diag x + low up has real roots, kappa the larger one in
  modulus, then

      M = kappa (I - p L)(I - q R),  p = -low/kappa,  q = -up/kappa,

  L and R the shifts by one row, is the line but for its first row, which is (kappa, up), and for
  end rows of its own. The paper's A = LR is M with kappa = p = q = 1. M v = f is two recurrences
  with constant coefficients, each solved on the s x r array of the paper: steps 1A, 1B, 1C and 2A,
  2B, 2C are the three steps of parts.h. Its other form, A1, takes each line as one part.

  Rows k of the line, scaled to the size of those of M, that differ from these by d_k (a few entries
  around the diagonal) are put right after that:

      u = v - V z,  (I + D V) z = D v,  V = M^{-1} [e_k ...],  D = [d_k^T ...].

  V decays from its rows k, and is stored as far as it can be seen. A periodic line is the same with
  its last unknown as a border of the others: its column is low e_0 + up e_{n-2} and needs the
  solutions for the ends only, so that they belong to V.
*/
#include "parts.h"
#include <math.h>

#define KMAX BCR_TRI_ENDS

typedef struct {               /* the ends of a line, one set of coefficients */
  PetscInt count, row[KMAX];   /* columns of V */
  PetscInt lo[KMAX], hi[KMAX]; /* rows of them that are stored */
  PetscReal *V[KMAX];
  double D[KMAX][3]; /* of columns row-1, row, row+1 */
  /* the row divided by this, a power of two, is near the size of those of M; so is its right-hand
     side */
  double scale[KMAX];
  double inverse[KMAX][KMAX]; /* of I + D V */
  double border[KMAX];        /* the solution for the border's column is V border */
  double low, up, pivot;      /* periodic: of the last row; reciprocal pivot */
} Ends;

typedef struct {
  BCRParts parts;
  PetscInt rows;          /* n, or n-1 of a periodic line */
  PetscBool ends, scaled; /* any to put right; any of other size than 1 */
  Ends *end;
  BCRPartsConstants *constants; /* p, q, 1/kappa of each set */
  PetscReal *z;                 /* KMAX times inner */
  double *work;                 /* of set-up: the rows of a line */
} DC;

/* kappa, p, q; PETSC_FALSE: no real root, or recurrences that grow */
static PetscBool Split(const PetscReal row[3], double *kappa, double *p, double *q)
{
  double a, d, c, w, disc;
  int e;

  (void)frexp(PetscMax(fabs((double)row[1]), PetscMax(fabs((double)row[0]), fabs((double)row[2]))), &e);
  a = ldexp(row[0], -e);
  d = ldexp(row[1], -e);
  c = ldexp(row[2], -e);
  w = 4 * a * c;
  disc = fma(d, d, -w) + fma(-4 * a, c, w); /* without cancellation */
  if (!(disc >= 0)) return PETSC_FALSE;
  *kappa = 0.5 * (d + (d < 0 ? -1 : 1) * sqrt(disc));
  if (*kappa == 0) return PETSC_FALSE;
  *p = -a / *kappa;
  *q = -c / *kappa;
  *kappa = ldexp(*kappa, e);
  return (PetscBool)(fabs(*p) <= 1 + 1e-14 && fabs(*q) <= 1 + 1e-14);
}

/* Column k of M^{-1} in x; rows outside [*lo, *hi) are negligible */
static void Column(PetscInt rows, PetscInt k, double kappa, double p, double q, double tiny, double *x, PetscInt *lo,
                   PetscInt *hi)
{
  PetscInt i;
  long double y = 1, v = 0;

  for (i = k; i < rows && (i == k || fabsl(y) > tiny); i++, y *= p) x[i] = (double)y;
  *hi = i;
  for (i = *hi - 1; i >= k; i--) {
    v = x[i] / kappa + q * v;
    x[i] = (double)v;
  }
  for (; i >= 0; i--) {
    v *= q;
    if (fabsl(v) <= tiny * fabs(x[k])) break;
    x[i] = (double)v;
  }
  *lo = i + 1;
}

/* B = A^{-1} by Gauss-Jordan with row exchanges. size: of the terms that were added up in A.
   Returns the column without a pivot, -1: all have one */
static int Invert(int n, double A[KMAX][KMAX], double B[KMAX][KMAX], const double size[KMAX], double *pivot)
{
  for (int i = 0; i < n; i++)
    for (int j = 0; j < n; j++) B[i][j] = i == j;
  for (int c = 0; c < n; c++) {
    int best = c;

    for (int r = c; r < n; r++)
      if (fabs(A[r][c]) > fabs(A[best][c])) best = r;
    *pivot = A[best][c];
    if (!BCRTriPivotUsable(A[best][c], size[c], DBL_EPSILON)) return c;
    for (int j = 0; j < n; j++) {
      double t = A[c][j];

      A[c][j] = A[best][j];
      A[best][j] = t;
      t = B[c][j];
      B[c][j] = B[best][j];
      B[best][j] = t;
    }
    for (int r = 0; r < n; r++) {
      const double m = A[r][c] / A[c][c];

      if (r == c || m == 0) continue;
      for (int j = 0; j < n; j++) {
        A[r][j] -= m * A[c][j];
        B[r][j] -= m * B[c][j];
      }
    }
  }
  for (int r = 0; r < n; r++)
    for (int j = 0; j < n; j++) B[r][j] /= A[r][r];
  return -1;
}

static inline double VAt(const Ends *E, int k, PetscInt j)
{
  return j >= E->lo[k] && j < E->hi[k] ? (double)E->V[k][j - E->lo[k]] : 0;
}

/* What to divide a row by to have it near a size: with a row of another size, u would be a small
   difference of large numbers */
static double Scale(const double row[3], double size, int widest)
{
  int e;

  (void)frexp(BCRTriRowSize(row) / size, &e);
  return e >= -widest && e <= widest ? 1 : ldexp(1, e);
}

/* common: the row of M; NULL: there is none, M is the identity */
static PetscErrorCode SetEnds(BCRTriLocal t, DC *P, PetscInt line, const PetscReal *common, double kappa, double p,
                              double q, double *work)
{
  const BCRTriSpec *s = &t->spec;
  const PetscInt rows = P->rows;
  const double tiny = t->single ? 1e-15 : 1e-32;
  const double low = common ? common[0] : 0, diag = common ? common[1] : 1, up = common ? common[2] : 0,
               typical = PetscMax(fabs(diag), PetscMax(fabs(low), fabs(up)));
  Ends *E = &P->end[line];
  double A[KMAX][KMAX], size[KMAX] = {0}, column[KMAX] = {0}, last[3], pivot;
  int bad;

  PetscFunctionBegin;
  for (PetscInt j = 0; j < rows; j++) {
    double row[3], d[3], scale;

    if (common && j > s->nfirst && j < s->n - s->nlast - 2) j = s->n - s->nlast - 2;
    BCRTriGetRow(s, line, j, row);
    scale = Scale(row, typical, t->options.unscaled ? 10 : 4);
    for (int i = 0; i < 3; i++) row[i] /= scale;
    d[0] = j ? row[0] - low : 0;
    d[1] = row[1] - (j ? diag : kappa);
    d[2] = j < rows - 1 ? row[2] - up : 0;
    if (j == 0 && fabs(d[1]) <= 4 * DBL_EPSILON * fabs(diag)) d[1] = 0; /* the first row is that of M to rounding */
    if (d[0] == 0 && d[1] == 0 && d[2] == 0 && scale == 1 && !(s->periodic && (j == 0 || j == rows - 1))) continue;
    PetscCheck(E->count < KMAX, PETSC_COMM_SELF, PETSC_ERR_PLIB, "More than %d rows at the ends", KMAX);
    E->row[E->count] = j;
    E->scale[E->count] = scale;
    if (scale != 1) P->scaled = PETSC_TRUE;
    PetscCall(BCRTriRange(s, t->single, line, j, HUGE_VAL, &scale)); /* right-hand sides are to fit, too */
    for (int i = 0; i < 3; i++) E->D[E->count][i] = d[i];
    E->count++;
  }
  for (int k = 0; k < E->count; k++) {
    Column(rows, E->row[k], kappa, p, q, tiny, work, &E->lo[k], &E->hi[k]);
    PetscCall(BCRArenaGet(&t->arena, sizeof(PetscReal) * (size_t)(E->hi[k] - E->lo[k]), &E->V[k]));
    for (PetscInt j = E->lo[k]; j < E->hi[k]; j++) E->V[k][j - E->lo[k]] = (PetscReal)work[j];
  }
  for (int r = 0; r < E->count; r++)
    for (int k = 0; k < E->count; k++) {
      double sum = r == k, abs = r == k;

      for (int i = 0; i < 3; i++) {
        const double x = E->D[r][i] == 0 ? 0 : E->D[r][i] * VAt(E, k, E->row[r] - 1 + i);

        sum += x;
        abs += fabs(x);
      }
      A[r][k] = sum;
      size[k] = PetscMax(size[k], abs);
    }
  bad = Invert((int)E->count, A, E->inverse, size, &pivot);
  if (bad >= 0) PetscCall(BCRTriPivotError(s, line, E->row[bad], pivot));
  if (!s->periodic) PetscFunctionReturn(PETSC_SUCCESS);

  BCRTriGetRow(s, line, s->n - 1, last);
  E->low = last[0];
  E->up = last[2];
  pivot = last[1] + (rows ? 0 : last[0] + last[2]);
  size[0] = fabs(last[1]) + (rows ? 0 : fabs(last[0]) + fabs(last[2]));
  if (rows) {
    double row[3], z[KMAX];

    BCRTriGetRow(s, line, 0, row);
    column[0] = row[0] / E->scale[0];
    BCRTriGetRow(s, line, rows - 1, row);
    column[E->count - 1] += row[2] / E->scale[E->count - 1];
    for (int r = 0; r < E->count; r++) {
      z[r] = 0;
      for (int k = 0; k < E->count; k++)
        for (int i = 0; i < 3; i++) z[r] += E->D[r][i] == 0 ? 0 : E->D[r][i] * VAt(E, k, E->row[r] - 1 + i) * column[k];
    }
    for (int k = 0; k < E->count; k++) {
      E->border[k] = column[k];
      for (int r = 0; r < E->count; r++) E->border[k] -= E->inverse[k][r] * z[r];
    }
    for (int k = 0; k < E->count; k++) {
      const double x = last[0] * VAt(E, k, rows - 1) * E->border[k], y = last[2] * VAt(E, k, 0) * E->border[k];

      pivot -= x + y;
      size[0] += fabs(x) + fabs(y);
    }
  }
  if (!BCRTriPivotUsable(pivot, size[0], DBL_EPSILON)) PetscCall(BCRTriPivotError(s, line, s->n - 1, pivot));
  E->pivot = 1 / pivot;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TriCreate_DC(BCRTriLocal t)
{
  const BCRTriSpec *s = &t->spec;
  const PetscInt lines = s->perline ? t->lines : 1;
  const PetscBool whole = t->options.variant == 1 ? PETSC_TRUE : PETSC_FALSE;
  const char *const precisions[] = {"D", "S", "SD"};
  DC *P;
  BCRPartsConstants *constants;
  double *work;
  PetscInt parts, length, growing;

  PetscFunctionBegin;
  PetscCall(PetscNew(&P));
  t->data = P;
  P->rows = s->periodic ? s->n - 1 : s->n;
  PetscCheck(t->options.variant == 0 || t->options.variant == 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Method dc has variants 0 (parallel, A2) and 1 (sequential, A1), not %" PetscInt_FMT, t->options.variant);
  PetscCheck(!whole || t->options.precision != BCR_TRI_MIXED, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "The sequential variant of method dc has no steps B that could be in double: choose precision single or "
             "double, or the parallel variant");
  PetscCheck(s->rows, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "Method dc needs lines whose rows are all the same but for a few at the ends; these have general "
             "coefficients: use method thomas or pscheme");
  PetscCall(BCRPartsCreate(t, P->rows, whole ? 1 : t->options.parts, PETSC_FALSE, s->perline,
                           (PetscBool)(t->options.precision == BCR_TRI_MIXED), &P->parts));
  PetscCall(PetscCalloc1(lines, &P->end));
  PetscCall(PetscMalloc1(KMAX * (size_t)s->inner, &P->z));
  PetscCall(PetscMalloc1(lines, &constants));
  P->constants = constants; /* freed with the lines, whatever fails */
  PetscCall(PetscMalloc1(P->rows, &work));
  P->work = work;
  for (PetscInt l = 0; l < lines; l++) {
    const PetscReal *row = s->n > s->nfirst + s->nlast ? s->rows[l].row : NULL;
    double kappa = 1, p = 0, q = 0;

    if (row) {
      PetscCheck(Split(row, &kappa, &p, &q), PETSC_COMM_SELF, PETSC_ERR_SUP,
                 "Line %" PetscInt_FMT
                 " with rows (%g, %g, %g): method dc needs diagonal^2 >= 4 lower upper, and recurrences that do not "
                 "grow, as with |diagonal| >= |lower| + |upper|: use method thomas",
                 l, (double)row[0], (double)row[1], (double)row[2]);
    }
    constants[l].sf = p;
    constants[l].sb = q;
    constants[l].cb = 1 / kappa;
    PetscCall(SetEnds(t, P, l, row, kappa, p, q, work));
    if (P->end[l].count || s->periodic) P->ends = PETSC_TRUE;
  }
  if (P->rows) PetscCall(BCRPartsSetConstants(P->parts, constants));
  PetscCall(PetscFree(P->work));
  PetscCall(BCRPartsGetSizes(P->parts, &parts, &length, &growing));
  t->info.flops = ((whole ? 4. : 8.) + (P->ends ? 2. : 0.)) * s->inner * s->n * s->outer;
  PetscCall(PetscSNPrintf(t->info.what, sizeof(t->info.what), "A%d%s, array of %" PetscInt_FMT " x %" PetscInt_FMT,
                          whole ? 1 : 2, precisions[t->options.precision == BCR_TRI_MIXED ? 2 : (t->single ? 1 : 0)],
                          length, parts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriDCGetEnds(BCRTriLocal t, PetscInt line, BCRTriEnds *e)
{
  const DC *P = (const DC *)t->data;
  const Ends *E = &P->end[line];

  PetscFunctionBegin;
  e->count = E->count;
  e->row = E->row;
  e->lo = E->lo;
  e->hi = E->hi;
  e->V = E->V;
  e->D = E->D;
  e->inverse = E->inverse;
  e->border = E->border;
  e->scale = E->scale;
  e->low = E->low;
  e->up = E->up;
  e->pivot = E->pivot;
  e->p = P->constants[line].sf;
  e->q = P->constants[line].sb;
  e->kappa = 1 / P->constants[line].cb;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Coefficients of V for one line: v is its solution with M, flast the last right-hand side of a
   periodic line, whose unknown is returned */
static double EndsOf(const DC *P, const Ends *E, const PetscReal *v, size_t step, PetscBool periodic, double flast,
                     double w[KMAX])
{
  double x = flast;

  for (int k = 0; k < E->count; k++) w[k] = 0;
  for (int r = 0; r < E->count; r++) {
    double z = 0;

    for (int i = 0; i < 3; i++) z += E->D[r][i] == 0 ? 0 : E->D[r][i] * (double)v[step * (size_t)(E->row[r] - 1 + i)];
    for (int k = 0; k < E->count; k++) w[k] += E->inverse[k][r] * z;
  }
  if (!periodic) return 0;
  if (P->rows) {
    double first = (double)v[0], last = (double)v[step * (size_t)(P->rows - 1)];

    for (int k = 0; k < E->count; k++) {
      first -= VAt(E, k, 0) * w[k];
      last -= VAt(E, k, P->rows - 1) * w[k];
    }
    x -= E->low * last + E->up * first;
  }
  x *= E->pivot;
  for (int k = 0; k < E->count; k++) w[k] += x * E->border[k];
  return x;
}

static PetscErrorCode TriSolve_DC(BCRTriLocal t, const PetscReal *f, PetscReal *u)
{
  const DC *P = (const DC *)t->data;
  const BCRTriSpec *s = &t->spec;
  const size_t inner = (size_t)s->inner;
  const PetscReal *g = f;

  PetscFunctionBegin;
  if (P->scaled) {
    if (f != u) PetscCall(PetscArraycpy(u, f, inner * (size_t)s->n * (size_t)s->outer));
    for (PetscInt o = 0; o < s->outer; o++)
      for (PetscInt i = 0; i < s->inner; i++) {
        const Ends *E = &P->end[s->perline ? BCRTriLineOf(s, i, o) : 0];

        for (PetscInt k = 0; k < E->count; k++)
          u[(size_t)i + inner * (size_t)(E->row[k] + s->n * o)] /= (PetscReal)E->scale[k];
      }
    g = u;
  }
  PetscCall(BCRPartsSolve(P->parts, g, u));
  for (PetscInt o = 0; P->ends && o < s->outer; o++) {
    PetscReal *uo = u + inner * s->n * o;

    for (PetscInt i = 0; i < s->inner; i++) {
      const Ends *E = &P->end[s->perline ? BCRTriLineOf(s, i, o) : 0];
      double w[KMAX], x;

      x = EndsOf(P, E, uo + i, inner, s->periodic,
                 s->periodic ? (double)f[i + inner * ((size_t)s->n * o + P->rows)] : 0, w);
      if (s->periodic) uo[i + inner * P->rows] = (PetscReal)x;
      if (!s->perline && s->inner > 1) {
        for (int k = 0; k < E->count; k++) P->z[(size_t)k * inner + (size_t)i] = (PetscReal)w[k];
        continue;
      }
      for (int k = 0; k < E->count; k++) {
        const PetscReal wk = (PetscReal)w[k], *V = E->V[k] - E->lo[k];

        if (inner == 1) {
          for (PetscInt j = E->lo[k]; j < E->hi[k]; j++) uo[j] -= V[j] * wk;
        } else {
          for (PetscInt j = E->lo[k]; j < E->hi[k]; j++) uo[i + inner * j] -= V[j] * wk;
        }
      }
    }
    for (int k = 0; !s->perline && s->inner > 1 && k < P->end->count; k++)
      for (PetscInt j = P->end->lo[k]; j < P->end->hi[k]; j++) {
        const PetscReal V = P->end->V[k][j - P->end->lo[k]], *z = P->z + (size_t)k * inner;
        PetscReal *uj = uo + inner * j;

        for (PetscInt i = 0; i < s->inner; i++) uj[i] -= V * z[i];
      }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TriDestroy_DC(BCRTriLocal t)
{
  DC *P = (DC *)t->data;

  PetscFunctionBegin;
  PetscCall(BCRPartsDestroy(&P->parts));
  PetscCall(PetscFree(P->end));
  PetscCall(PetscFree(P->z));
  PetscCall(PetscFree(P->constants));
  PetscCall(PetscFree(P->work));
  PetscCall(PetscFree(P));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const BCRTriOps BCRTriDC = {"dc", TriCreate_DC, TriSolve_DC, TriDestroy_DC};
