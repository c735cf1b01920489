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

#define KMAX BCR_PARTS_ENDS

typedef struct {                 /* the ends of a line, one set of coefficients */
  PetscInt count, row[KMAX];     /* columns of V */
  PetscInt from[KMAX], to[KMAX]; /* rows of them that are stored */
  PetscReal *V[KMAX];
  double D[KMAX][3]; /* of columns row-1, row, row+1 */
  /* the row divided by this, a power of two, is near the size of those of M; so is its right-hand side */
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
  double *work;                 /* of set-up: a column of V, [rows] */
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

/* Column k of M^{-1} in x; rows outside [*from, *to) are negligible */
static void Column(PetscInt rows, PetscInt k, double kappa, double p, double q, double tiny, double *x, PetscInt *from,
                   PetscInt *to)
{
  PetscInt i;
  long double y = 1, v = 0;

  for (i = k; i < rows && (i == k || fabsl(y) > tiny); i++, y *= p) x[i] = (double)y;
  *to = i;
  for (i = *to - 1; i >= k; i--) {
    v = x[i] / kappa + q * v;
    x[i] = (double)v;
  }
  for (; i >= 0; i--) {
    v *= q;
    if (fabsl(v) <= tiny * fabs(x[k])) break;
    x[i] = (double)v;
  }
  *from = i + 1;
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
  return j >= E->from[k] && j < E->to[k] ? (double)E->V[k][j - E->from[k]] : 0;
}

/* What to divide a row by to have it near a size: with a row of another size, u would be a small
   difference of large numbers */
static double Scale(const double row[3], double size, int widest)
{
  int e;

  (void)frexp(BCRTriRowSize(row) / size, &e);
  return e >= -widest && e <= widest ? 1 : ldexp(1, e);
}

/* M of a line: its row low, diag, up, and how it factors */
typedef struct {
  double low, diag, up, kappa, p, q;
} Common;

/* The rows that differ from those of M, with what they differ by; and the first and the last one of a periodic line */
static PetscErrorCode ends_find(BCRTriLocal t, DC *P, PetscInt line, const Common *M, Ends *E)
{
  const BCRTriSpec *s = &t->spec;
  const PetscInt rows = P->rows;
  const double typical = PetscMax(fabs(M->diag), PetscMax(fabs(M->low), fabs(M->up)));
  const PetscBool common = (PetscBool)(s->n > s->nfirst + s->nlast);

  PetscFunctionBegin;
  for (PetscInt j = 0; j < rows; j++) {
    double row[3], d[3], scale;

    if (common && j > s->nfirst && j < s->n - s->nlast - 2) j = s->n - s->nlast - 2;
    BCRTriGetRow(s, line, j, row);
    scale = Scale(row, typical, t->options.unscaled ? 10 : 4);
    for (int i = 0; i < 3; i++) row[i] /= scale;
    d[0] = j ? row[0] - M->low : 0;
    d[1] = row[1] - (j ? M->diag : M->kappa);
    d[2] = j < rows - 1 ? row[2] - M->up : 0;
    if (j == 0 && fabs(d[1]) <= 4 * DBL_EPSILON * fabs(M->diag)) d[1] = 0; /* the first row is that of M to rounding */
    if (d[0] == 0 && d[1] == 0 && d[2] == 0 && scale == 1 && !(s->periodic && (j == 0 || j == rows - 1))) continue;
    PetscCheck(E->count < KMAX, PETSC_COMM_SELF, PETSC_ERR_PLIB, "More than %d rows at the ends", KMAX);
    E->row[E->count] = j;
    E->scale[E->count] = scale;
    if (scale != 1) P->scaled = PETSC_TRUE;
    PetscCall(BCRTriRange(s, t->single, line, j, HUGE_VAL, &scale)); /* right-hand sides are to fit, too */
    for (int i = 0; i < 3; i++) E->D[E->count][i] = d[i];
    E->count++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* D V: row r of D times column k, term by term in x */
static void ends_product(const Ends *E, PetscInt r, int k, double x[3])
{
  for (int i = 0; i < 3; i++) x[i] = E->D[r][i] == 0 ? 0 : E->D[r][i] * VAt(E, k, E->row[r] - 1 + i);
}

/* (I + D V)^-1 */
static PetscErrorCode ends_invert(const BCRTriSpec *s, PetscInt line, Ends *E)
{
  double A[KMAX][KMAX] = {{0}}, size[KMAX] = {0}, pivot = 0, x[3];
  int bad;

  PetscFunctionBegin;
  for (int r = 0; r < E->count; r++)
    for (int k = 0; k < E->count; k++) {
      double sum = r == k, abs = r == k;

      ends_product(E, r, k, x);
      for (int i = 0; i < 3; i++) {
        sum += x[i];
        abs += fabs(x[i]);
      }
      A[r][k] = sum;
      size[k] = PetscMax(size[k], abs);
    }
  bad = Invert((int)E->count, A, E->inverse, size, &pivot);
  if (bad >= 0) PetscCall(BCRTriPivotError(s, line, E->row[bad], pivot));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What closes a periodic line: the solution for the border's column, as V border, and the pivot of the last row */
static PetscErrorCode ends_border(const BCRTriSpec *s, PetscInt line, PetscInt rows, Ends *E)
{
  double last[3], pivot, size;

  PetscFunctionBegin;
  BCRTriGetRow(s, line, s->n - 1, last);
  E->low = last[0];
  E->up = last[2];
  pivot = last[1] + (rows ? 0 : last[0] + last[2]);
  size = fabs(last[1]) + (rows ? 0 : fabs(last[0]) + fabs(last[2]));
  if (rows) { /* the ends are among the rows of E */
    double row[3], x[3], z[KMAX] = {0}, column[KMAX] = {0};

    BCRTriGetRow(s, line, 0, row);
    column[0] = row[0] / E->scale[0];
    BCRTriGetRow(s, line, rows - 1, row);
    column[E->count - 1] += row[2] / E->scale[E->count - 1];
    for (int r = 0; r < E->count; r++)
      for (int k = 0; k < E->count; k++) {
        ends_product(E, r, k, x);
        for (int i = 0; i < 3; i++) z[r] += x[i] * column[k];
      }
    for (int k = 0; k < E->count; k++) {
      E->border[k] = column[k];
      for (int r = 0; r < E->count; r++) E->border[k] -= E->inverse[k][r] * z[r];
    }
    for (int k = 0; k < E->count; k++) {
      const double x1 = last[0] * VAt(E, k, rows - 1) * E->border[k], x0 = last[2] * VAt(E, k, 0) * E->border[k];

      pivot -= x1 + x0;
      size += fabs(x1) + fabs(x0);
    }
  }
  if (!BCRTriPivotUsable(pivot, size, DBL_EPSILON)) PetscCall(BCRTriPivotError(s, line, s->n - 1, pivot));
  E->pivot = 1 / pivot;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetEnds(BCRTriLocal t, DC *P, PetscInt line, const Common *M)
{
  const double tiny = t->single ? 1e-15 : 1e-32; /* entries of V below this, of its largest, are not seen */
  Ends *E = &P->end[line];

  PetscFunctionBegin;
  PetscCall(ends_find(t, P, line, M, E));
  for (int k = 0; k < E->count; k++) {
    Column(P->rows, E->row[k], M->kappa, M->p, M->q, tiny, P->work, &E->from[k], &E->to[k]);
    PetscCall(BCRArenaGet(&t->arena, sizeof(PetscReal) * (size_t)(E->to[k] - E->from[k]), &E->V[k]));
    for (PetscInt j = E->from[k]; j < E->to[k]; j++) E->V[k][j - E->from[k]] = (PetscReal)P->work[j];
  }
  PetscCall(ends_invert(&t->spec, line, E));
  if (t->spec.periodic) PetscCall(ends_border(&t->spec, line, P->rows, E));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The constants and the ends of all sets of coefficients, for the host and for devices */
static PetscErrorCode SetLines(BCRTriLocal t, DC *P)
{
  const BCRTriSpec *s = &t->spec;
  const PetscInt sets = BCRTriSets(s);

  PetscFunctionBegin;
  P->rows = s->periodic ? s->n - 1 : s->n;
  PetscCheck(t->options.variant == 0 || t->options.variant == 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Method dc has variants 0 (parallel, A2) and 1 (sequential, A1), not %" PetscInt_FMT, t->options.variant);
  PetscCheck(t->options.variant == 0 || t->options.precision != BCR_TRI_MIXED, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "The sequential variant of method dc has no steps B that could be in double: choose precision single or "
             "double, or the parallel variant");
  PetscCheck(s->rows, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "Method dc needs lines whose rows are all the same but for a few at the ends; these have general "
             "coefficients: use method thomas or pscheme");
  PetscCall(PetscCalloc1(sets, &P->end));
  PetscCall(PetscMalloc1(sets, &P->constants));
  PetscCall(PetscMalloc1(P->rows, &P->work));
  for (PetscInt l = 0; l < sets; l++) {
    Common M = {0, 1, 0, 1, 0, 0}; /* the identity, where all rows are of their own */

    if (s->n > s->nfirst + s->nlast) {
      const PetscReal *row = s->rows[l].row;

      PetscCheck(Split(row, &M.kappa, &M.p, &M.q), PETSC_COMM_SELF, PETSC_ERR_SUP,
                 "Line %" PetscInt_FMT
                 " with rows (%g, %g, %g): method dc needs diagonal^2 >= 4 lower upper, and recurrences that do not "
                 "grow, as with |diagonal| >= |lower| + |upper|: use method thomas",
                 l, (double)row[0], (double)row[1], (double)row[2]);
      M.low = row[0];
      M.diag = row[1];
      M.up = row[2];
    }
    P->constants[l].sf = M.p;
    P->constants[l].sb = M.q;
    P->constants[l].cb = 1 / M.kappa;
    PetscCall(SetEnds(t, P, l, &M));
    if (P->end[l].count || s->periodic) P->ends = PETSC_TRUE;
  }
  PetscCall(PetscFree(P->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TriCreate_DC(BCRTriLocal t)
{
  const BCRTriSpec *s = &t->spec;
  const PetscBool whole = t->options.variant == 1 ? PETSC_TRUE : PETSC_FALSE;
  const char *const precisions[] = {"D", "S", "SD"};
  DC *P;
  PetscInt parts, length, growing;

  PetscFunctionBegin;
  PetscCall(PetscNew(&P));
  t->data = P;
  PetscCall(SetLines(t, P));
  PetscCall(BCRPartsCreate(t, P->rows, whole ? 1 : t->options.parts, PETSC_FALSE, s->perline,
                           (PetscBool)(t->options.precision == BCR_TRI_MIXED), &P->parts));
  PetscCall(PetscMalloc1(KMAX * (size_t)s->inner, &P->z));
  if (P->rows) PetscCall(BCRPartsSetConstants(P->parts, P->constants));
  PetscCall(BCRPartsGetSizes(P->parts, &parts, &length, &growing));
  t->info.flops = ((whole ? 4. : 8.) + (P->ends ? 2. : 0.)) * s->inner * s->n * s->outer;
  PetscCall(PetscSNPrintf(t->info.what, sizeof(t->info.what), "A%d%s, array of %" PetscInt_FMT " x %" PetscInt_FMT,
                          whole ? 1 : 2, precisions[t->options.precision == BCR_TRI_MIXED ? 2 : (t->single ? 1 : 0)],
                          length, parts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The ends of all sets as arrays. A device wants lines that differ in the same rows, and
   right-hand sides as they are */
static PetscErrorCode EndsTables(const DC *P, PetscInt sets, BCRPartsTables *T)
{
  const PetscInt rows = P->rows;
  PetscInt total;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < sets; l++) T->count = PetscMax(T->count, P->end[l].count);
  T->columns = T->count;
  total = 3 * T->count + T->count * (T->count + 2) + T->count + 3;
  for (PetscInt k = 0; k < T->count; k++) T->from[k] = rows;
  for (PetscInt l = 0; l < sets; l++) {
    const Ends *E = &P->end[l];

    for (PetscInt k = 0; k < E->count; k++)
      PetscCheck(E->scale[k] == 1, PETSC_COMM_SELF, PETSC_ERR_SUP,
                 "Method dc on a CUDA device needs rows of about one size, but row %" PetscInt_FMT
                 " of line %" PetscInt_FMT " is %g times as large as others: use method thomas",
                 E->row[k], l, E->scale[k]);
    PetscCheck(E->count == T->count, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "Method dc on a CUDA device needs lines that all differ in the same rows at their ends, but line "
               "%" PetscInt_FMT " does so in %" PetscInt_FMT " rows, others in %" PetscInt_FMT ": use method scan",
               l, E->count, T->count);
    for (PetscInt k = 0; k < T->count; k++) {
      PetscCheck(l == 0 || T->row[k] == E->row[k], PETSC_COMM_SELF, PETSC_ERR_SUP,
                 "Method dc on a CUDA device needs lines that all differ in the same rows at their ends, but line "
                 "%" PetscInt_FMT " has row %" PetscInt_FMT ": use method scan",
                 l, E->row[k]);
      T->row[k] = E->row[k];
      T->from[k] = PetscMin(T->from[k], E->from[k]);
      T->to[k] = PetscMax(T->to[k], E->to[k]);
    }
  }
  T->nnumbers = total;
  PetscCall(PetscMalloc1((size_t)total * sets, &T->numbers));
  for (PetscInt k = 0; k < T->count; k++) PetscCall(PetscCalloc1((size_t)(T->to[k] - T->from[k]) * sets, &T->V[k]));
  for (PetscInt l = 0; l < sets; l++) {
    const Ends *E = &P->end[l];
    double *t = T->numbers + l;

    for (int r = 0; r < E->count; r++)
      for (int i = 0; i < 3; i++, t += sets) *t = E->D[r][i];
    for (int k = 0; k < E->count; k++)
      for (int r = 0; r < E->count; r++, t += sets) *t = E->inverse[k][r];
    for (int end = 0; end < 2; end++)
      for (int k = 0; k < E->count; k++, t += sets) *t = VAt(E, k, end ? rows - 1 : 0);
    for (int k = 0; k < E->count; k++, t += sets) *t = E->border[k];
    t[0] = E->low;
    t[sets] = E->up;
    t[2 * sets] = E->pivot;
    for (int k = 0; k < E->count; k++)
      for (PetscInt j = E->from[k]; j < E->to[k]; j++) T->V[k][(size_t)(j - T->from[k]) * sets + l] = VAt(E, k, j);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TriDestroy_DC(BCRTriLocal t);

PetscErrorCode BCRTriDCTables(const BCRTriSpec *spec, const BCRTriOptions *options, int single, BCRPartsTables *T)
{
  const PetscInt sets = BCRTriSets(spec);
  struct _n_BCRTriLocal t; /* as far as SetLines() looks at it */
  DC *P;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&t, sizeof(t)));
  PetscCall(PetscNew(&P));
  t.data = P;
  t.spec = *spec;
  t.options = *options;
  t.options.unscaled = PETSC_TRUE; /* the kernels take right-hand sides as they are */
  t.single = PetscDefined(USE_REAL_SINGLE) ? 1 : 0;
  ierr = SetLines(&t, P);
  if (!ierr) ierr = BCRPartsTablesCut(spec, P->rows, options->variant == 1 ? 1 : options->parts, PETSC_TRUE, T);
  for (PetscInt l = 0; l < sets && !ierr; l++) {
    const BCRPartsConstants *c = &P->constants[l];

    T->table[0][l] = c->sf;
    T->table[1][l] = c->sb;
    T->table[2][l] = c->cb;
    for (PetscInt q = 0; q < T->parts; q++) {
      const double m = (double)PetscMin(T->m, P->rows - q * T->m);

      T->product[0][q * sets + l] = pow(single ? (double)(float)c->sf : c->sf, m);
      T->product[1][q * sets + l] = pow(single ? (double)(float)c->sb : c->sb, m);
    }
  }
  if (!ierr && P->ends) ierr = EndsTables(P, sets, T);
  T->ends = P->ends;
  PetscCall(TriDestroy_DC(&t));
  PetscCall(BCRArenaFree(&t.arena));
  PetscCall(ierr);
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
        const PetscReal wk = (PetscReal)w[k], *V = E->V[k] - E->from[k];

        if (inner == 1) {
          for (PetscInt j = E->from[k]; j < E->to[k]; j++) uo[j] -= V[j] * wk;
        } else {
          for (PetscInt j = E->from[k]; j < E->to[k]; j++) uo[i + inner * j] -= V[j] * wk;
        }
      }
    }
    for (int k = 0; !s->perline && s->inner > 1 && k < P->end->count; k++)
      for (PetscInt j = P->end->from[k]; j < P->end->to[k]; j++) {
        const PetscReal V = P->end->V[k][j - P->end->from[k]], *z = P->z + (size_t)k * inner;
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

const BCRTriOps BCRTriDC = {TriCreate_DC, TriSolve_DC, TriDestroy_DC};
