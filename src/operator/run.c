/*
  Runs of rows: the entries of a line are compared with those of a line buffer, whole lines with the line before them.
*/
#include "run.h"
#include "wide.h"

#define BCR_REPEAT_PART 512 /* numbers that are compared without asking where they differ */

PetscErrorCode BCRRunCreate(BCRCheck *ck, BCRRun *run)
{
  const BCRRows *A = ck->A;
  const PetscInt middle[3] = {A->lo[0], A->lo[1] + A->n[1] / 2, A->lo[2] + A->n[2] / 2},
                 margin = A->nodes ? BCRPatternMargin(A->ai, A->aj, A->dof, BCRNode(A, middle), A->n[0]) : 1;
  PetscInt c, i;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(run, sizeof(*run)));
  /* the ends of a periodic line have columns in another order, and other ranks may have their
     neighbours */
  run->i0 = A->lo[0] + margin;
  run->i1 = A->lo[0] + A->n[0] - 1 - margin;
  run->uniform = PETSC_TRUE;
  run->like = -1;
  run->now = run->known = -1;
  run->tries = BCR_BLOCK_TRIES;
  for (c = 0; c < ck->dof; c++) {
    const BCRModelAxis *m = &ck->m[c][0];

    if (ck->skip[c]) continue;
    run->i0 = PetscMax(run->i0, m->b + 1);
    run->i1 = PetscMin(run->i1, m->b + m->n - 2);
    if (m->times) run->i1 = run->i0 - 1; /* what is across the rows varies along them: row by row */
  }
  for (c = 0; c < ck->dof; c++) {
    const BCRModelAxis *m = &ck->m[c][0];

    if (ck->skip[c]) continue;
    for (i = run->i0 + 1; i <= run->i1; i++)
      if (m->lo[i] != m->lo[run->i0] || m->up[i] != m->up[run->i0] || m->dg[i] != m->dg[run->i0] ||
          m->w[i] != m->w[run->i0])
        run->uniform = PETSC_FALSE;
  }
  PetscCall(PetscCalloc1(6 * ck->dof * (BCR_RUN_KINDS + 1), &run->newfactors));
  for (i = 0; i < BCR_RUN_KINDS; i++) run->line[i].factors = run->newfactors + 6 * ck->dof * (i + 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRunDestroy(BCRRun *run)
{
  PetscFunctionBegin;
  for (int i = 0; i < BCR_RUN_KINDS; i++) free(run->line[i].ref);
  free(run->whole.ref);
  PetscCall(PetscFree(run->newfactors));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of component c there when the operator has row scales: finds them, *same as below. Sides
   of the comparisons are in units of the model, so that a row's scale is one division. */
static void BCRRunLeft(BCRCheck *ck, const BCRRun *run, PetscInt c, const PetscInt line[3], PetscBool *same)
{
  const BCRRows *A = ck->A;
  const BCROperator *op = &ck->ops[c];
  const BCRModelAxis *m = ck->m[c];
  const PetscInt ix[3] = {run->i0, line[1], line[2]}, dof = ck->dof, node = BCRNode(A, ix), row = c + dof * node,
                 count = run->i1 - run->i0 + 1;
  const PetscInt E = A->ai[dof * (node + 1)] - A->ai[dof * node], R = A->ai[row + 1] - A->ai[row];
  const PetscScalar *v = A->aa + A->ai[row];
  const double limit = PetscMax(ck->v.dev, 2 * BCR_EPS) * (1 + 1e-6);
  PetscReal *scale = op->rowscale + BCRBoxNode(A, m, ix);
  PetscInt at[BCR_CENTRE + 1] = {0}, p, i;
  double in[7], rest;
  int slots[6], nslots = 0, k, bad = 0;

  for (p = 0; p < R; p++) {
    const PetscInt j = A->aj[A->ai[row] + p];

    k = dof == 1 ? BCRSlot(A, ix, j - node) : (j % dof == c ? BCRSlot(A, ix, j / dof - node) : -1);
    if (k < 0) continue; /* zero, as the line buffer says */
    at[k] = p;
    if (k != BCR_CENTRE) slots[nslots++] = k;
  }
  BCRModelRow(op, m, ix, in);
  rest = in[BCR_CENTRE] - (double)op->scale * m[0].dg[ix[0]];
  for (i = 0; i < count; i++, v += E) {
    const double centre = (double)PetscRealPart(v[at[BCR_CENTRE]]);
    double s, inv;

    if (!run->uniform) {
      in[0] = -(double)op->scale * m[0].lo[ix[0] + i];
      in[1] = -(double)op->scale * m[0].up[ix[0] + i];
      in[BCR_CENTRE] = rest + (double)op->scale * m[0].dg[ix[0] + i];
    }
    s = centre / in[BCR_CENTRE];
    inv = 1 / s;
    scale[i] = (PetscReal)s;
    bad |= !(s > 0 && inv > 0);
    for (p = 0; p < nslots; p++) {
      k = slots[p];
      bad |= !(PetscAbs((double)PetscRealPart(v[at[k]]) * inv - in[k]) <=
               limit * PetscAbs(in[k] != 0 ? in[k] : in[BCR_CENTRE]));
    }
#if defined(PETSC_USE_COMPLEX)
    for (p = 0; p < R; p++) bad |= !(PetscAbs((double)PetscImaginaryPart(v[p])) <= limit * PetscAbs(centre));
#endif
  }
  if (bad) *same = PETSC_FALSE;
}

/* Room for len entries; PETSC_FALSE: there is none */
static PetscBool BCRRunLineRoom(BCRRunLine *l, size_t len)
{
  l->valid = PETSC_FALSE;
  if (len > l->size || !l->ref) {
    free(l->ref);
    l->size = len + (size_t)(8 * BCR_RUN_NODES * BCR_PARTS);
    l->ref = (PetscReal *)malloc(2 * (l->size + BCR_RUN_PAD) * sizeof(PetscReal));
    if (!l->ref) {
      l->size = 0;
      return PETSC_FALSE;
    }
    l->tol = l->ref + l->size + BCR_RUN_PAD;
  }
  return PETSC_TRUE;
}

static void BCRRunLineRepeat(BCRRunLine *l, size_t len)
{
  for (size_t i = 0; i < BCR_RUN_PAD; i++) {
    l->ref[len + i] = l->ref[i];
    l->tol[len + i] = l->tol[i];
  }
  l->len = len;
  l->valid = PETSC_TRUE;
}

/* The rows of a line that go fast: nodes i0 .. i1, all components */
typedef struct {
  PetscInt ix[3], node, count; /* the first node, its number, and how many */
  PetscInt first, entries;     /* the first entry; entries of each node */
} BCRRunRows;

/* PETSC_FALSE: their pattern is not that of the first node again and again. checkcolumns: else that is known but for
   the number of entries */
static PetscBool BCRRunRegular(const BCRRows *A, const BCRRun *run, const PetscInt line[3], PetscBool checkcolumns,
                               BCRRunRows *r)
{
  const PetscInt dof = A->dof;
  const PetscInt *ai;

  r->ix[0] = run->i0;
  r->ix[1] = line[1];
  r->ix[2] = line[2];
  r->node = BCRNode(A, r->ix);
  r->count = run->i1 - run->i0 + 1;
  ai = A->ai + dof * r->node;
  r->first = ai[0];
  r->entries = ai[dof] - ai[0];
  if (r->entries > BCR_RUN_MAX || r->entries < dof || ai[dof * r->count] - ai[0] != (PetscInt64)r->entries * r->count)
    return PETSC_FALSE;
  if (!checkcolumns) return PETSC_TRUE;
  return (PetscBool)(BCRRunColumns(ai, (size_t)(dof * r->count + 1), (size_t)dof, r->entries) &&
                     BCRRunColumns(A->aj + r->first, (size_t)r->entries * (size_t)r->count, (size_t)r->entries, dof));
}

/* The places in the star of the entries of the first node: those of the line before, most often, without a look at
   each */
static void BCRRunSlots(const BCRRows *A, BCRRun *run, const BCRRunRows *r)
{
  const PetscInt dof = A->dof, *ix = r->ix;
  int sides = 0;

  for (PetscInt d = 1; d < 3; d++) sides = 4 * sides + 2 * (ix[d] == A->lo[d]) + (ix[d] == A->lo[d] + A->n[d] - 1);
  if (run->known >= 0 && run->sides == sides && BCRPatternLike(A->ai, A->aj, dof, r->node, run->known)) return;
  for (PetscInt c = 0; c < dof; c++) {
    const PetscInt row = c + dof * r->node;

    for (PetscInt p = A->ai[row]; p < A->ai[row + 1]; p++) {
      const PetscInt j = A->aj[p];

      run->seen[p - r->first] =
        (int8_t)(dof == 1 ? BCRSlot(A, ix, j - r->node) : (j % dof == c ? BCRSlot(A, ix, j / dof - r->node) : -1));
    }
  }
  run->known = r->node;
  run->sides = sides;
}

/* What the entries of the first node are, and what the other axes have there. *plain: some are to be compared with a
   line buffer. PETSC_FALSE: entries that the model has are missing */
static PetscBool BCRRunPattern(const BCRCheck *ck, BCRRun *run, const BCRRunRows *r, const PetscBool active[],
                               BCRRunKey *key, PetscBool *plain)
{
  const BCRRows *A = ck->A;
  const PetscInt dof = ck->dof, *ix = r->ix;
  PetscBool good = PETSC_TRUE;

  BCRRunSlots(A, run, r);
  key->dev = ck->v.dev;
  key->entries = r->entries;
  *plain = PETSC_FALSE;
  for (PetscInt c = 0; c < dof; c++) {
    const PetscInt row = c + dof * r->node;
    const BCRModelAxis *m = ck->m[c];
    double *f = run->newfactors + 6 * c;
    const PetscBool none = (PetscBool)(ck->skip[c] || !active[c]), left = (PetscBool)(!none && ck->ops[c].left),
                    off = (PetscBool)(none || left);
    int has = 0, wants = 1 << BCR_CENTRE | (m[0].n > 1 ? 3 : 0);

    for (PetscInt p = A->ai[row]; p < A->ai[row + 1]; p++) {
      const int k = run->seen[p - r->first];

      key->slot[p - r->first] = (int8_t)(!off ? k : (k < 0 && left ? BCR_RUN_ZERO : BCR_RUN_OFF));
      if (k >= 0) has |= 1 << k;
      else if (left) *plain = PETSC_TRUE;
    }
    if (ck->skip[c]) f[0] = f[1] = f[2] = f[3] = f[4] = f[5] = 0;
    else {
      f[0] = (double)ck->ops[c].scale * m[1].w[ix[1]] * m[2].w[ix[2]];
      for (int d = 1; d < 3; d++) {
        f[2 * d - 1] = m[d].lo[ix[d]] * BCRModelTimes(m, d, ix);
        f[2 * d] = m[d].up[ix[d]] * BCRModelTimes(m, d, ix);
      }
      f[5] =
        m[1].dg[ix[1]] * BCRModelTimes(m, 1, ix) + m[2].dg[ix[2]] * BCRModelTimes(m, 2, ix) + (double)ck->ops[c].shift;
      for (int k = 1; k < 5; k++) wants |= f[k] != 0 ? 1 << (k + 1) : 0;
      if (active[c] && (has & wants) != wants) good = PETSC_FALSE;
    }
    if (!off) *plain = PETSC_TRUE;
  }
  return good;
}

/* The line buffer of that kind, -1: there is none */
static int BCRRunFind(const BCRRun *run, const BCRRunKey *key, PetscInt dof)
{
  for (int kind = 0; kind < BCR_RUN_KINDS; kind++) {
    const BCRRunLine *l = &run->line[kind];

    if (l->valid && key->dev == l->key.dev && key->entries == l->key.entries &&
        !memcmp(key->slot, l->key.slot, (size_t)key->entries) &&
        !memcmp(l->factors, run->newfactors, sizeof(double) * 6 * (size_t)dof))
      return kind;
  }
  return -1;
}

/* Fills a line buffer with what the model has. PETSC_FALSE: there is no room */
static PetscBool BCRRunFill(const BCRCheck *ck, const BCRRun *run, const BCRRunRows *r, const PetscBool active[],
                            const BCRRunKey *key, BCRRunLine *l)
{
  const BCRRows *A = ck->A;
  /* of wide rows two, which stay in the first cache */
  const PetscInt dof = ck->dof, block = !run->uniform ? r->count : (r->entries > 2 * BCR_RUN_NODES ? 2 : BCR_RUN_NODES);
  const size_t width = (size_t)r->entries * BCR_PARTS, len = (size_t)block * width;
  const double limit = PetscMax(ck->v.dev, 2 * BCR_EPS) * (1 + 1e-6);
  PetscInt ix[3] = {0, r->ix[1], r->ix[2]};

  if (!BCRRunLineRoom(l, len)) return PETSC_FALSE;
  for (PetscInt i = 0; i < block; i++) {
    PetscReal *ref = l->ref + (size_t)i * width, *tol = l->tol + (size_t)i * width;

    ix[0] = run->i0 + (run->uniform ? 0 : i);
    for (PetscInt c = 0; c < dof; c++) {
      const PetscInt row = c + dof * r->node;
      double in[7] = {0}, diagonal;

      if (!ck->skip[c] && active[c]) BCRModelRow(&ck->ops[c], ck->m[c], ix, in);
      diagonal = PetscAbs(in[BCR_CENTRE]);
      for (PetscInt p = A->ai[row] - r->first; p < A->ai[row + 1] - r->first; p++) {
        const int k = key->slot[p];
        const double v = k >= 0 ? in[k] : 0, most = k == BCR_RUN_ZERO ? 0 : limit * (v != 0 ? PetscAbs(v) : diagonal);

        ref[BCR_PARTS * p] = (PetscReal)v;
        tol[BCR_PARTS * p] = k == BCR_RUN_OFF ? PETSC_MAX_REAL : (PetscReal)most;
#if defined(PETSC_USE_COMPLEX)
        ref[2 * p + 1] = 0;
        tol[2 * p + 1] = k == BCR_RUN_OFF ? PETSC_MAX_REAL : (PetscReal)(k == BCR_RUN_ZERO ? 0 : limit * diagonal);
#endif
      }
    }
  }
  BCRRunLineRepeat(l, len);
  l->key = *key;
  memcpy(l->factors, run->newfactors, sizeof(double) * 6 * (size_t)dof);
  return PETSC_TRUE;
}

void BCRRunCompare(BCRCheck *ck, BCRRun *run, const PetscInt line[3], const PetscBool active[], PetscBool checkcolumns,
                   PetscBool *fast, PetscBool *same)
{
  const BCRRows *A = ck->A;
  BCRRunRows r;
  BCRRunKey key;
  PetscBool plain;
  int kind;

  *same = run->kept = PETSC_FALSE;
  *fast = BCRRunRegular(A, run, line, checkcolumns, &r);
  if (*fast) *fast = BCRRunPattern(ck, run, &r, active, &key, &plain);
  if (!*fast) return;
  *same = PETSC_TRUE;
  if (plain) {
    kind = BCRRunFind(run, &key, ck->dof);
    run->kept = (PetscBool)(kind >= 0 && kind == run->now);
    if (kind < 0) {
      kind = run->next;
      run->next = (run->next + 1) % BCR_RUN_KINDS;
      run->now = -1;
      if (!BCRRunFill(ck, run, &r, active, &key, &run->line[kind])) { /* row by row, then */
        *fast = *same = PETSC_FALSE;
        return;
      }
    }
    run->now = kind;
    *same = BCRRunSame((const PetscReal *)(A->aa + r.first), (size_t)r.count * (size_t)r.entries * BCR_PARTS,
                       run->line[kind].ref, run->line[kind].tol, run->line[kind].len);
  }
  for (PetscInt c = 0; c < ck->dof && *same; c++)
    if (active[c] && ck->ops[c].left) BCRRunLeft(ck, run, c, line, same);
}

/* Have n nodes, one after the other, only zeros in columns of other ranks? */
static PetscBool BCRNothingFar(const BCRRows *A, PetscInt node, PetscInt n)
{
  const PetscInt *i = A->far.mat ? A->far.i + A->dof * node : NULL;

  return (PetscBool)(!i || BCRSkipZeros(A->far.a, i[0], i[A->dof * n]) == i[A->dof * n]);
}

void BCRLineActive(const BCRCheck *ck, const BCRRun *run, const PetscInt ix[3], PetscBool active[], PetscBool *some,
                   PetscBool *all, PetscBool *near)
{
  const BCRRows *A = ck->A;

  *some = PETSC_FALSE;
  *all = *near = PETSC_TRUE;
  for (PetscInt c = 0; c < ck->dof; c++) {
    active[c] = (PetscBool)!ck->skip[c];
    for (PetscInt d = 1; d < 3; d++)
      active[c] = (PetscBool)(active[c] && ix[d] >= ck->m[c][d].b && ix[d] < ck->m[c][d].b + ck->m[c][d].n);
    if (active[c]) *some = PETSC_TRUE;
    else *all = PETSC_FALSE;
  }
  if (run->i1 >= run->i0) {
    const PetscInt at[3] = {run->i0, ix[1], ix[2]};

    *near = BCRNothingFar(A, BCRNode(A, at), run->i1 - run->i0 + 1);
  }
}

PetscBool BCRRowsAlike(const BCRRows *A, PetscInt node, PetscInt like)
{
  const PetscScalar *v = A->aa + A->ai[node], *w = A->aa + A->ai[like];
  PetscInt bad = 0;

  if (!BCRPatternLike(A->ai, A->aj, 1, node, like)) return PETSC_FALSE;
  for (PetscInt i = 0; i < A->ai[node + 1] - A->ai[node]; i++) bad |= !(v[i] == w[i]);
  return bad ? PETSC_FALSE : PETSC_TRUE;
}

/* How many of n numbers j[] are that lag before them and step more, up to the first that is not */
static size_t BCRColumnsRepeat(const PetscInt *j, size_t n, size_t lag, PetscInt step)
{
  size_t done = 0, part = BCR_REPEAT_PART;

  while (part > 0 && done < n) {
    if (part <= n - done && BCRRunColumns(j + done - lag, part + lag, lag, step)) done += part;
    else part /= 2;
  }
  return done;
}

/* How many of n values are those lag before them, up to the first that is not: long parts by the kernel that asks for
   memory ahead, bit by bit as integers */
static size_t BCRValuesRepeat(const PetscScalar *v, size_t n, size_t lag)
{
  const size_t ints = sizeof(*v) / sizeof(PetscInt);
  size_t done = 0, part = BCR_REPEAT_PART;

  while (part > 0 && done < n) {
    PetscBool same = (PetscBool)(part <= n - done);

    if (same && part == BCR_REPEAT_PART && ints > 0)
      same = BCRRunColumns((const PetscInt *)(const void *)(v + done - lag), (part + lag) * ints, lag * ints, 0);
    else if (same) same = (PetscBool)!memcmp(v + done, v + done - lag, part * sizeof(*v));
    if (same) done += part;
    else part /= 2;
  }
  return done;
}

/* How many of n groups of rows, dof in each, end at or before entry `end` */
static PetscInt BCRRowsBefore(const PetscInt *ai, PetscInt dof, PetscInt n, PetscInt end)
{
  PetscInt low = 0, high = n + 1; /* ai[dof low] <= end < ai[dof high] */

  while (high - low > 1) {
    const PetscInt middle = low + (high - low) / 2;

    if (ai[dof * middle] <= end) low = middle;
    else high = middle;
  }
  return low;
}

PetscInt BCRRowsRepeat(const BCRRows *A, PetscInt node, PetscInt back, PetscInt n)
{
  const PetscInt dof = A->dof, lag = dof * back, first = dof * node, *ai = A->ai + first, start = ai[0],
                 E = start - ai[-lag];
  size_t same;

  if (A->far.mat) n = BCRRowsBefore(A->far.i + first, dof, n, A->far.i[first - lag]);
  if (n < 1 || E < 1 || (A->far.mat && A->far.i[first] != A->far.i[first - lag])) return 0;
  if (memcmp(A->aa + start, A->aa + start - E, (size_t)(ai[dof] - start) * sizeof(*A->aa)) != 0)
    return 0; /* most often */
  same = BCRValuesRepeat(A->aa + start, (size_t)(ai[dof * n] - start), (size_t)E);
  n = BCRRowsBefore(ai, dof, n, start + (PetscInt)same);
  n = (PetscInt)BCRColumnsRepeat(ai + 1, (size_t)(dof * n), (size_t)lag, E) / dof;
  same = BCRColumnsRepeat(A->aj + start, (size_t)(ai[dof * n] - start), (size_t)E, lag);
  return BCRRowsBefore(ai, dof, n, start + (PetscInt)same);
}

PetscBool BCRLineInside(const BCRCheck *ck, const PetscInt ix[3])
{
  const BCRRows *A = ck->A;
  const PetscInt first[3] = {A->lo[0], ix[1], ix[2]};
  PetscInt d;

  if (ck->dof > 1 || ck->ops[0].left || ck->m[0][0].b > A->lo[0] || ck->m[0][0].b + ck->m[0][0].n < A->lo[0] + A->n[0])
    return PETSC_FALSE;
  for (d = 1; d < A->dim; d++)
    if (ix[d] <= A->lo[d] || ix[d] >= A->lo[d] + A->n[d] - 1) return PETSC_FALSE;
  return BCRNothingFar(A, BCRNode(A, first), A->n[0]);
}

PetscInt BCRRunBlock(const BCRCheck *ck, BCRRun *run, const PetscInt line[3], PetscBool checkcolumns)
{
  const BCRRows *A = ck->A;
  const BCRModelAxis *m = &ck->m[0][1];
  const BCRRunLine *inner = &run->line[run->now];
  /* the line at the end is none that is inside */
  const PetscInt n0 = A->n[0], here = line[1], last = PetscMin(A->lo[1] + A->n[1] - 1, m->b + m->n);
  const PetscInt ix[3] = {A->lo[0], line[1], line[2]}, node = BCRNode(A, ix), E = A->ai[node + n0] - A->ai[node];
  const PetscReal *v = (const PetscReal *)(A->aa + A->ai[node]);
  const size_t len = (size_t)E * BCR_PARTS, s0 = (size_t)(A->ai[node + run->i0 - A->lo[0]] - A->ai[node]) * BCR_PARTS,
               s1 = (size_t)(A->ai[node + run->i1 + 1 - A->lo[0]] - A->ai[node]) * BCR_PARTS;
  PetscInt done = 0, l;
  size_t i, k;

  if (E > BCR_BLOCK_LINE || here + 1 >= last || run->tries == 0 || !BCRRunLineRoom(&run->whole, len)) return 0;
  for (i = 0; i < len; i++) {
    run->whole.ref[i] = v[i];
    run->whole.tol[i] = 0;
  }
  for (i = s0; i < s1; i += k) {
    k = PetscMin(inner->len, s1 - i);
    memcpy(run->whole.ref + i, inner->ref, k * sizeof(PetscReal));
    memcpy(run->whole.tol + i, inner->tol, k * sizeof(PetscReal));
  }
  BCRRunLineRepeat(&run->whole, len);
  for (;;) {
    const PetscInt first = node + done * n0,
                   most = PetscMin(last - 1 - here - done, PetscMax(BCR_BLOCK_ENTRIES / E, 1));
    const PetscInt *j = A->aj + A->ai[first];
    PetscInt count = 0;

    for (l = here + done + 1;
         count < most && m->lo[l] == m->lo[here] && m->up[l] == m->up[here] && m->dg[l] == m->dg[here] &&
         m->w[l] == m->w[here] && (!m->times || m->times[l] == m->times[here]);
         l++)
      count++;
    if (count == 0) break;
    if (checkcolumns) {
      if (!BCRRunColumns(A->ai + first, (size_t)(n0 * (count + 1) + 1), (size_t)n0, E) ||
          !BCRRunColumns(j, (size_t)(E * (count + 1)), (size_t)E, n0))
        break;
    } else { /* known for all but the end rows */
      for (l = 1; l <= count; l++) {
        const PetscInt *ai = A->ai + first + l * n0;
        PetscInt bad = 0, p;

        for (p = 0; p <= n0; p++) {
          if (p == run->i0 - A->lo[0] + 1) p = run->i1 - A->lo[0];
          bad |= ai[p] - ai[p - n0] - E;
        }
        if (bad) break;
        for (p = 0; p < E; p++) {
          if (p == (PetscInt)s0 / BCR_PARTS) p = (PetscInt)s1 / BCR_PARTS;
          bad |= j[l * E + p] - j[(l - 1) * E + p] - n0;
        }
        if (bad) break;
      }
      if (l <= count) break;
    }
    if (!BCRRunSame((const PetscReal *)(A->aa + A->ai[first + n0]), (size_t)count * len, run->whole.ref, run->whole.tol,
                    len) ||
        !BCRNothingFar(A, first + n0, count * n0))
      break;
    done += count;
  }
  run->tries = done > 0 ? BCR_BLOCK_TRIES : run->tries - 1;
  return done;
}
