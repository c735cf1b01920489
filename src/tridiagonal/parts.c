#include "parts.h"
#include "../recurrence/pscheme.h"
#include <math.h>

#define ML BCR_RECUR_MAX_LANES

typedef struct { /* a bundle of parts in one direction */
  BCRRecurMode mode;
  PetscBool grows; /* a product is larger than BCR_RECUR_GROWTH: in order */
  PetscInt k;
  const void *s, *c, *S;
  double end[ML]; /* product over the part */
} Phase;

/*
  Unit: a line, or the two of a complex number. Group: the units of a bundle (rows), or the lines of
  a bundle (columns). The phases of a group are those of its bundles (rows) or parts (columns);
  where all lines are the same, so are the groups' phases.
*/
struct _n_BCRParts {
  const BCRRecurTable *table;
  const BCRTriSpec *spec;
  int L, single, other, width;
  PetscBool plain, columns, oneline, constant, carry_double;
  PetscInt rows, parts, m, rest;             /* rows = parts*m + rest */
  PetscInt units, together, groups, bundles; /* units; in a group; groups; bundles (parts) of a group */
  Phase *phase[2], *last[2];                 /* last: of the rest */
  PetscInt growing;
  BCRArena *arena; /* the batch's */
};

static PetscInt UnitLine(BCRParts p, PetscInt unit)
{
  if (p->width == 2) return BCRTriLineOf(p->spec, 0, unit);
  return BCRTriLineOf(p->spec, unit % p->spec->inner, unit / p->spec->inner);
}

static ptrdiff_t UnitBase(BCRParts p, PetscInt unit)
{
  const BCRTriSpec *s = p->spec;

  if (p->width == 2) return (ptrdiff_t)2 * s->n * unit;
  return unit % s->inner + (ptrdiff_t)s->inner * s->n * (unit / s->inner);
}

/* A number of parts that fills bundles, and leaves few rows over where lines are short */
static PetscInt DefaultParts(PetscInt rows, PetscInt lanes)
{
  const PetscInt wanted = BCRRecurrenceParts(rows, lanes);
  PetscInt parts = 1;

  if (wanted >= lanes) return wanted;
  while (2 * parts * parts <= wanted * wanted && parts < lanes) parts *= 2; /* nearest power of two, by ratio */
  return parts;
}

PetscErrorCode BCRPartsCreate(BCRTriLocal t, PetscInt rows, PetscInt parts, PetscBool plain, PetscBool oneline,
                              PetscBool carry_double, BCRParts *parts_)
{
  const BCRTriSpec *s = &t->spec;
  BCRParts p;

  PetscFunctionBegin;
  PetscCall(PetscNew(&p));
  *parts_ = p;
  p->table = t->cpu->recur;
  p->spec = s;
  p->arena = &t->arena;
  p->L = p->table->lanes;
  p->single = t->single;
  p->other = t->io;
  p->width = s->inner == 2 && (s->rep == 2 || !s->perline) ? 2 : 1;
  p->plain = plain;
  p->oneline = oneline;
  p->carry_double = (PetscBool)(carry_double || !t->single);
  p->columns = (PetscBool)(s->inner >= BCR_PARTS_COLUMNS && !oneline);
  p->rows = rows;
  p->parts = parts > 0 ? PetscMin(parts, PetscMax(rows, 1)) : DefaultParts(rows, p->L);
  p->m = rows / p->parts;
  p->rest = rows - p->parts * p->m;
  p->units = p->width == 2 ? s->outer : s->inner * s->outer;
  if (p->columns) {
    p->together = p->L;
    p->groups = (s->inner + p->L - 1) / p->L * s->outer;
    p->bundles = p->parts;
  } else {
    p->together = p->parts >= p->L || oneline ? 1 : p->L / p->parts;
    p->groups = (p->units + p->together - 1) / p->together;
    p->bundles = (p->parts + p->L - 1) / p->L;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPartsDestroy(BCRParts *p)
{
  PetscFunctionBegin;
  if (!*p) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 2; d++) PetscCall(PetscFree2((*p)->phase[d], (*p)->last[d]));
  PetscCall(PetscFree(*p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPartsTablesCut(const BCRTriSpec *spec, PetscInt rows, PetscInt parts, PetscBool constant,
                                 BCRPartsTables *T)
{
  const size_t sets = (size_t)BCRTriSets(spec);

  PetscFunctionBegin;
  if (parts < 1) parts = BCRRecurrenceParts(rows, 1);
  parts = PetscMax(1, PetscMin(parts, rows));
  T->rows = rows;
  T->m = PetscMax(1, (rows + parts - 1) / parts);
  T->parts = PetscMax(1, (rows + T->m - 1) / T->m);
  T->entries = constant ? sets : (size_t)T->m * (size_t)T->parts * sets;
  for (int k = 0; k < 3; k++) {
    PetscCall(PetscFree(T->table[k]));
    PetscCall(PetscCalloc1(T->entries, &T->table[k]));
  }
  for (int k = 0; k < 2; k++) {
    PetscCall(PetscFree(T->product[k]));
    PetscCall(PetscMalloc1((size_t)T->parts * sets, &T->product[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPartsTablesDestroy(BCRPartsTables *T)
{
  PetscFunctionBegin;
  for (int k = 0; k < 3; k++) PetscCall(PetscFree(T->table[k]));
  for (int k = 0; k < 2; k++) PetscCall(PetscFree(T->product[k]));
  for (int k = 0; k < BCR_PARTS_ENDS; k++) PetscCall(PetscFree(T->V[k]));
  PetscCall(PetscFree(T->numbers));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPartsGetSizes(BCRParts p, PetscInt *parts, PetscInt *length, PetscInt *growing)
{
  PetscFunctionBegin;
  *parts = p->parts;
  *length = p->m;
  *growing = p->growing;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Table(BCRParts p, size_t n, void **table)
{
  PetscFunctionBegin;
  PetscCall(BCRArenaGet(p->arena, n * (p->single ? sizeof(float) : sizeof(double)), table));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool AllEqual(BCRParts p, PetscInt m, int lanes, const double *const x[])
{
  const double tol = p->single ? 3e-8 : 4.5e-16;

  for (int l = 0; l < lanes; l++)
    for (PetscInt j = 0; j < m; j++)
      if (!(fabs(x[l][j] - x[0][0]) <= tol * fabs(x[0][0]))) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* The lanes of a bundle: position 0 of each, of sf or sb, of cb, and of cb again where products are
   to become ratios by these reciprocal pivots (w[l][-1] is that of the row before); row: where the
   lane begins, to which nothing comes from before row 0 */
typedef struct {
  int n;
  const double *s[ML], *c[ML], *w[ML];
  PetscInt row[ML];
} Lanes;

static void lanes_add(Lanes *lanes, const double *s, const double *c, PetscInt row)
{
  lanes->s[lanes->n] = s;
  lanes->c[lanes->n] = lanes->w[lanes->n] = c;
  lanes->row[lanes->n++] = row;
}

/* m rows of each lane. scaled: backwards, c is a factor of what comes in. pivots: products are ratios by w. products:
   whether there is a propagation */
static PetscErrorCode SetPhase(BCRParts p, Phase *ph, PetscBool back, PetscInt m, const Lanes *in, PetscBool scaled,
                               PetscBool pivots, PetscBool products)
{
  const int lanes = in->n;
  const double *const *s = in->s, *const *c = scaled ? in->c : NULL, *const *w = pivots ? in->w : NULL;
  const PetscInt *row = in->row;
  const double tiny = p->single ? 1e-15 : 1e-32; /* smaller ratios add nothing that would be seen beside their start */
  const double least = p->single ? (double)FLT_MIN : DBL_MIN;
  double P[ML], ratio[ML], largest = 1;
  PetscBool lost = PETSC_FALSE; /* a product that counts is beyond the range of the work type */
  int width;
  void *table[3] = {NULL, NULL, NULL};

  PetscFunctionBegin;
  ph->mode = BCR_RECUR_SHARED;
  for (int l = 1; l < lanes; l++)
    if (s[l] != s[0]) ph->mode = BCR_RECUR_LANES;
  if (AllEqual(p, m, lanes, s) && (!c || AllEqual(p, m, lanes, c))) ph->mode = BCR_RECUR_CONST;
  width = ph->mode == BCR_RECUR_LANES ? p->L : 1;
  ph->k = 0;
  for (int l = 0; l < lanes; l++) P[l] = ratio[l] = 1;
  for (PetscInt i = 0; i < m && products; i++) {
    double most = 0;

    for (int l = 0; l < lanes; l++) {
      const double step = fabs(s[l][back ? m - 1 - i : i]);

      ratio[l] *= !w ? step : (row[l] + i ? step * fabs(w[l][i] / w[l][i - 1]) : 0);
      if (ratio[l] < DBL_MIN) ratio[l] = 0;
      most = PetscMax(most, ratio[l]);
      /* as the kernel does it where it has no table, to the last bit: see the end of a part in recurrence.h */
      if (p->single && width > 1) P[l] = (double)((float)P[l] * (float)s[l][back ? m - 1 - i : i]);
      else P[l] *= s[l][back ? m - 1 - i : i];
      if (ratio[l] >= tiny && fabs(P[l]) < least) lost = PETSC_TRUE;
      if (!(fabs(P[l]) <= largest)) largest = fabs(P[l]);
    }
    if (most == 0) break;
    if (most >= tiny) ph->k = i + 1; /* they may become smaller and larger again */
  }
  for (int l = 0; l < lanes; l++) ph->end[l] = ph->k == m ? P[l] : 0;
  ph->grows = (PetscBool)(lost || !(largest <= (double)BCR_RECUR_GROWTH));
  if (ph->grows) ph->k = 0;
  for (int q = 0; q < (c ? 2 : 1); q++) {
    const double *const *x = q ? c : s;
    const PetscInt n = ph->mode == BCR_RECUR_CONST ? 1 : m;

    PetscCall(Table(p, (size_t)n * width, &table[q]));
    for (PetscInt j = 0; j < n; j++)
      for (int l = 0; l < width; l++) {
        const double unit = q ? HUGE_VAL : (w && l < lanes && row[l] + j ? fabs(w[l][j] / w[l][j - 1]) : 1);

        PetscCall(
          BCRTriPutRatio(p->spec, p->single, table[q], (size_t)j * width + l, -1, -1, unit, l < lanes ? x[l][j] : 0));
      }
  }
  if (ph->k && width == 1) {
    PetscCall(Table(p, (size_t)ph->k, &table[2]));
    P[0] = 1;
    for (PetscInt i = 0; i < ph->k; i++) {
      P[0] *= s[0][back ? m - 1 - i : i];
      BCRTriPut(p->single, table[2], (size_t)i, P[0]);
    }
  }
  ph->s = table[0];
  ph->c = table[1];
  ph->S = table[2];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode MakePhases(BCRParts p, PetscInt n, PetscInt nlast)
{
  PetscFunctionBegin;
  for (int d = 0; d < 2; d++) {
    PetscCall(PetscFree2(p->phase[d], p->last[d]));
    PetscCall(PetscCalloc2(n, &p->phase[d], nlast, &p->last[d]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPartsSetConstants(BCRParts p, const BCRPartsConstants *constants)
{
  const PetscInt n = p->oneline && p->spec->perline ? p->spec->inner / p->spec->rep * p->spec->outer : 1;
  const PetscInt most = p->parts > 1 ? PetscMax(p->m, p->rest) : 1;
  double *x, *c;
  Lanes lane = {0};

  PetscFunctionBegin;
  p->constant = PETSC_TRUE;
  PetscCall(MakePhases(p, n, n));
  PetscCall(PetscMalloc2(most, &x, most, &c));
  lanes_add(&lane, x, c, 0);
  for (PetscInt l = 0; l < n; l++)
    for (int d = 0; d < 2; d++) {
      const PetscBool scaled = (PetscBool)(d && constants[l].cb != 1);

      for (PetscInt j = 0; j < most; j++) {
        x[j] = d ? constants[l].sb : constants[l].sf;
        c[j] = constants[l].cb;
      }
      BCRCallElse(SetPhase(p, &p->phase[d][l], (PetscBool)d, PetscMin(p->m, most), &lane, scaled, PETSC_FALSE,
                           (PetscBool)(p->parts > 1)),
                  (void)PetscFree2(x, c));
      for (int i = 1; i < ML; i++) p->phase[d][l].end[i] = p->phase[d][l].end[0];
      if (p->rest)
        BCRCallElse(
          SetPhase(p, &p->last[d][l], (PetscBool)d, PetscMin(p->rest, most), &lane, scaled, PETSC_FALSE, p->columns),
          (void)PetscFree2(x, c));
      if (p->phase[d][l].grows) p->growing++;
    }
  PetscCall(PetscFree2(x, c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rest of the lines of group g, nl of them, whose coefficients are in x */
static PetscErrorCode SetRest(BCRParts p, int d, PetscInt g, PetscInt nl, double *const x[3])
{
  const PetscInt first = p->parts * p->m, lines = p->spec->perline ? p->together : 1;
  Lanes lanes = {0};

  PetscFunctionBegin;
  for (PetscInt l = 0; l < nl; l++) {
    const size_t at = (size_t)l * p->rows + first;

    lanes_add(&lanes, x[d] + at, x[2] + at, first);
    if (p->columns) continue;
    PetscCall(
      SetPhase(p, &p->last[d][g * lines + l], (PetscBool)d, p->rest, &lanes, (PetscBool)d, (PetscBool)!d, PETSC_FALSE));
    lanes.n = 0;
  }
  if (!p->columns) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(SetPhase(p, &p->last[d][g], (PetscBool)d, p->rest, &lanes, (PetscBool)d, (PetscBool)!d, PETSC_TRUE));
  if (p->last[d][g].grows) p->growing++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Bundle (rows) or part (columns) b of group g */
static PetscErrorCode SetBundle(BCRParts p, int d, PetscInt g, PetscInt b, PetscInt nl, double *const x[3])
{
  Phase *ph = &p->phase[d][g * p->bundles + b];
  Lanes lanes = {0};

  PetscFunctionBegin;
  for (PetscInt l = 0; p->columns && l < nl; l++) {
    const size_t at = (size_t)l * p->rows + b * p->m;

    lanes_add(&lanes, x[d] + at, x[2] + at, b * p->m);
  }
  for (PetscInt l = 0; !p->columns && l < p->together; l++) {
    const size_t line = (size_t)(p->spec->perline ? PetscMin(l, nl - 1) : 0) * p->rows;

    for (PetscInt q = b * p->L; q < p->parts && lanes.n < p->L; q++)
      lanes_add(&lanes, x[d] + line + q * p->m, x[2] + line + q * p->m, q * p->m);
  }
  PetscCall(SetPhase(p, ph, (PetscBool)d, p->m, &lanes, (PetscBool)d, (PetscBool)!d, (PetscBool)(p->parts > 1)));
  if (!p->spec->perline) /* of columns: one set for all lanes */
    for (int i = lanes.n; i < ML; i++) ph->end[i] = ph->end[lanes.n - 1];
  if (ph->grows) p->growing++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* x: work space for the coefficients of as many lines as are worked on together */
static PetscErrorCode SetPhases(BCRParts p, BCRPartsLine line, const void *context, double *const x[3])
{
  const PetscBool perline = p->spec->perline;
  const PetscInt groups = perline ? p->groups : 1, lines = perline ? p->together : 1,
                 across = (p->spec->inner + p->L - 1) / p->L;

  PetscFunctionBegin;
  for (PetscInt g = 0; g < groups; g++) {
    const PetscInt i0 = p->columns ? g % across * p->L : 0;
    PetscInt nl = lines; /* lines whose coefficients are at hand */

    if (perline)
      nl = p->columns ? PetscMin((PetscInt)p->L, p->spec->inner - i0) : PetscMin(lines, p->units - g * lines);
    for (PetscInt l = 0; l < nl; l++) {
      const PetscInt which =
        !perline ? 0 : (p->columns ? BCRTriLineOf(p->spec, i0 + l, g / across) : UnitLine(p, g * lines + l));
      const size_t at = (size_t)l * p->rows;

      PetscCall(line(context, which, x[0] + at, x[1] + at, x[2] + at));
    }
    for (int d = 0; d < 2; d++) {
      for (PetscInt b = 0; b < p->bundles; b++) PetscCall(SetBundle(p, d, g, b, nl, x));
      if (p->rest) PetscCall(SetRest(p, d, g, nl, x));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPartsSetLines(BCRParts p, BCRPartsLine line, const void *context)
{
  const PetscInt groups = p->spec->perline ? p->groups : 1, lines = p->spec->perline ? p->together : 1;
  double *x[3] = {NULL, NULL, NULL};
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  p->constant = PETSC_FALSE;
  PetscCall(MakePhases(p, groups * p->bundles, groups * (p->columns ? 1 : lines)));
  for (int q = 0; q < 3 && !ierr; q++) ierr = PetscMalloc1((size_t)lines * p->rows, &x[q]);
  if (!ierr) ierr = SetPhases(p, line, context, x);
  for (int q = 0; q < 3; q++) PetscCall(PetscFree(x[q]));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* phases of group g, bundle or part b; b = bundles: the rest of unit (rows) or group (columns) g */
static const Phase *GetPhase(BCRParts p, int d, PetscInt g, PetscInt b)
{
  if (b == p->bundles) {
    if (p->constant) return p->last[d] + (p->oneline && p->spec->perline ? UnitLine(p, g) : 0);
    return p->last[d] + (p->spec->perline ? g : 0);
  }
  if (p->constant) return p->phase[d] + (p->oneline && p->spec->perline ? UnitLine(p, g) : 0);
  return p->phase[d] + (p->spec->perline ? g * p->bundles : 0) + b;
}

static void UsePhase(BCRRecurBundle *b, const Phase *ph, PetscInt m)
{
  b->mode = ph->mode;
  b->s = ph->s;
  b->c = ph->c;
  b->S = ph->S;
  b->k = ph->k;
  b->m = m;
  b->seed = 0;
}

/* x in the arithmetic of the propagation */
static inline double Next(BCRParts p, double x, double S, const void *T, int i)
{
  if (!p->single) return S * x + ((const double *)T)[i];
  if (p->carry_double) return S * x + (double)((const float *)T)[i];
  return (double)((float)S * (float)x + ((const float *)T)[i]);
}

static void Rest(BCRParts p, BCRRecurBundle *b, int d, PetscInt unit, const PetscReal *f, PetscReal *u, double *x)
{
  UsePhase(b, GetPhase(p, d, unit, p->bundles), p->rest);
  b->lanes = 1;
  b->at[0] = UnitBase(p, unit) + (ptrdiff_t)p->spec->inner * p->parts * p->m;
  p->table->sequential(b, 0, f, x, u);
}

/* lanes: parts of a line, or of several */
static void SolveRows(BCRParts p, BCRRecurBundle *b, int d, const PetscReal *f, PetscReal *u)
{
  double T[2 * ML] __attribute__((aligned(64))), from[2 * ML] __attribute__((aligned(64))), x[2 * ML];

  memset(from, 0, sizeof(from));
  for (PetscInt g = 0; g < p->groups; g++) {
    const PetscInt first = g * p->together, nl = PetscMin(p->together, p->units - first);

    for (PetscInt i = 0; i < 2 * nl; i++) x[i] = 0;
    for (PetscInt l = 0; d && p->rest && l < nl; l++) Rest(p, b, d, first + l, f, u, x + 2 * l);
    for (PetscInt q = 0; q < p->bundles; q++) {
      const PetscInt bundle = d ? p->bundles - 1 - q : q,
                     per = p->together > 1 ? p->parts : PetscMin((PetscInt)p->L, p->parts - bundle * p->L);
      const Phase *ph = GetPhase(p, d, g, bundle);

      UsePhase(b, ph, p->m);
      b->lanes = (int)(nl * per);
      for (PetscInt l = 0; l < nl; l++)
        for (PetscInt i = 0; i < per; i++)
          b->at[l * per + i] = UnitBase(p, first + l) + (ptrdiff_t)p->spec->inner * p->m * (bundle * p->L + i);
      if (p->parts == 1 && nl > 1) { /* nothing to propagate but what the rest left */
        b->seed = 1;
        b->k = 0;
        for (PetscInt l = 0; l < nl; l++)
          for (int r = 0; r < p->width; r++) BCRTriPut(p->single, from, (size_t)(r * p->L + l), x[2 * l + r]);
        p->table->apply(b, f, from, u);
      } else if (p->parts == 1 || ph->grows) {
        for (PetscInt l = 0; l < nl; l++)
          for (PetscInt i = 0; i < per; i++)
            p->table->sequential(b, (int)(l * per + (d ? per - 1 - i : i)), f, x + 2 * l, u);
      } else {
        p->table->reduce(b, f, T, NULL, NULL);
        for (PetscInt l = 0; l < nl; l++)
          for (PetscInt i = 0; i < per; i++) {
            const int lane = (int)(l * per + (d ? per - 1 - i : i));

            for (int r = 0; r < p->width; r++) {
              BCRTriPut(p->single, from, (size_t)(r * p->L + lane), x[2 * l + r]);
              x[2 * l + r] = Next(p, x[2 * l + r], ph->end[lane], T, r * p->L + lane);
            }
          }
        p->table->apply(b, f, from, u);
      }
    }
    for (PetscInt l = 0; !d && p->rest && l < nl; l++) Rest(p, b, d, first + l, f, u, x + 2 * l);
  }
}

/* lanes: neighbouring lines */
static void SolveColumns(BCRParts p, BCRRecurBundle *b, int d, const PetscReal *f, PetscReal *u)
{
  const PetscInt inner = p->spec->inner, across = (inner + p->L - 1) / p->L, count = p->parts + (p->rest ? 1 : 0);
  double T[2 * ML] __attribute__((aligned(64))), from[2 * ML] __attribute__((aligned(64))), x[ML];

  memset(from, 0, sizeof(from));
  for (PetscInt g = 0; g < p->groups; g++) {
    const PetscInt i0 = g % across * p->L;
    const ptrdiff_t base = i0 + (ptrdiff_t)inner * p->spec->n * (g / across);

    b->lanes = (int)PetscMin((PetscInt)p->L, inner - i0);
    for (int l = 0; l < b->lanes; l++) x[l] = 0;
    for (PetscInt q = 0; q < count; q++) {
      const PetscInt part = d ? count - 1 - q : q;
      const Phase *ph = GetPhase(p, d, g, part);

      UsePhase(b, ph, part == p->parts ? p->rest : p->m);
      for (int l = 0; l < b->lanes; l++) b->at[l] = base + l + (ptrdiff_t)inner * p->m * part;
      for (int l = 0; l < b->lanes; l++) BCRTriPut(p->single, from, (size_t)l, x[l]);
      if (ph->grows || count == 1) {
        const PetscReal *end = u + (d ? 0 : (ptrdiff_t)inner * (b->m - 1));

        b->seed = 1;
        b->k = 0;
        p->table->apply(b, f, from, u);
        for (int l = 0; l < b->lanes; l++) x[l] = (double)end[b->at[l]];
      } else {
        if (q < count - 1) p->table->reduce(b, f, T, NULL, NULL);
        p->table->apply(b, f, from, u);
        for (int l = 0; q < count - 1 && l < b->lanes; l++) x[l] = Next(p, x[l], ph->end[l], T, l);
      }
    }
  }
}

PetscErrorCode BCRPartsSolve(BCRParts p, const PetscReal *f, PetscReal *u)
{
  BCRRecurBundle b;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&b, sizeof(b)));
  b.plain = p->plain;
  b.width = p->width;
  b.other = p->other;
  b.adjacent = p->columns;
  b.step = p->spec->inner;
  if (!p->rows) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 2; d++) {
    b.back = d;
    if (p->columns) SolveColumns(p, &b, d, d ? u : f, u);
    else SolveRows(p, &b, d, d ? u : f, u);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
