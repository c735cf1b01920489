/* Lines on a CUDA device: tables and choice of the method. The kernels are in src/backend/cuda/tri*.cu. */
#include "../base/petscbcrimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "device.h"
  #include "../recurrence/pscheme.h"
  #include <math.h>

  #define REAL_SINGLE (sizeof(PetscReal) == sizeof(float))

struct _n_BCRTriDevice {
  BCRTriSpec spec; /* without the arrays */
  BCRTriOptions options;
  BCRTriInfo info;
  PetscInt sets;    /* of coefficients: 1 or one for each line */
  int single, io;   /* work in float; on fields of double */
  BCRStream stream; /* of set-up, and of fields of the host */
  BCRDeviceArena tables, space, staging;
  void *work;
  PetscReal *stage;
  BCRCudaScan scan;
  BCRCudaFactors factors;
  BCRCudaCR cr;
  int global; /* cr */
  BCRCudaParts parts;
  BCRCudaEnds ends;
  int small; /* dc: all in float */
  double *carry, *w;
  PetscBool correct; /* ends to put right */
};

static int tuned[5];

void BCRTriDeviceTune(const int tune[5])
{
  for (int i = 0; i < 5; i++) tuned[i] = tune[i];
}

/* entries x sets numbers, in the work type where wanted */
static PetscErrorCode Put(BCRTriDevice d, PetscBool work, size_t n, const double v[], const void *p)
{
  PetscFunctionBegin;
  PetscCall(BCRDeviceArenaPut(&d->tables, d->stream, (PetscBool)(work && d->single), (PetscInt)n, v, p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateThomas(BCRTriDevice d, const BCRTriSpec *s)
{
  BCRCudaFactors *F = &d->factors;
  double *table[5] = {NULL, NULL, NULL, NULL, NULL};
  const void **to[5] = {&F->l, &F->p, &F->q, &F->r, &F->e};
  const int ntables = s->periodic ? 5 : 3;
  size_t entries;

  PetscFunctionBegin;
  PetscCall(BCRTriThomasRows(s, d->single, &F->nt, &F->nlast));
  entries = (size_t)(F->nt + F->nlast) * (size_t)d->sets;
  F->inner = s->inner;
  F->n = s->n;
  F->outer = s->outer;
  F->rep = (int)s->rep;
  F->sets = d->sets;
  F->perline = s->perline ? 1 : 0;
  F->periodic = s->periodic ? 1 : 0;
  for (int k = 0; k < ntables; k++) PetscCall(PetscMalloc1(entries, &table[k]));
  PetscCall(BCRTriThomasTables(s, d->single, F->nt, F->nlast, d->sets, table));
  for (int k = 0; k < ntables; k++) {
    PetscCall(Put(d, PETSC_TRUE, entries, table[k], to[k]));
    PetscCall(PetscFree(table[k]));
  }
  d->info.flops = (s->periodic ? 9. : 5.) * s->inner * s->n * s->outer;
  PetscCall(PetscSNPrintf(d->info.what, sizeof(d->info.what),
                          "stored factors, %" PetscInt_FMT " of %" PetscInt_FMT " rows tabled, interleaved",
                          (PetscInt)(F->nt + F->nlast), s->n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateScan(BCRTriDevice d, const BCRTriSpec *s)
{
  const PetscInt h = PetscMax(s->nfirst, 1), t = PetscMax(s->nlast, 1), N = h + t, ng = N * (N + 2), sets = d->sets;
  BCRCudaScan *S = &d->scan;
  double *abc, *G, *tab, decay = 1;
  BCRTriScanLine line;
  size_t bytes;

  PetscFunctionBegin;
  PetscCall(BCRTriNeedDominant(s, "scan"));
  if (s->n < N) { /* nothing but ends */
    PetscCall(CreateThomas(d, s));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  S->sets = sets;
  S->perline = s->perline && sets > 1 ? 1 : 0;
  S->h = (int)h;
  S->t = (int)t;
  PetscCall(PetscMalloc3(3 * (size_t)sets, &abc, (size_t)ng * sets, &G, BCRCudaScanTableSize(S), &tab));
  PetscCall(PetscArrayzero(tab, BCRCudaScanTableSize(S)));
  for (PetscInt l = 0; l < sets; l++) {
    PetscCall(BCRTriScanSetLine(s, d->single, l, h, t, &line));
    abc[l] = line.alpha;
    abc[sets + l] = line.beta;
    PetscCall(BCRTriRange(s, d->single, l, h, HUGE_VAL, &line.gamma));
    abc[2 * sets + l] = line.gamma;
    for (PetscInt e = 0; e < ng; e++) {
      PetscCall(BCRTriRange(s, d->single, l, 0, line.unit[e % (N + 2)], &line.G[e]));
      G[e * sets + l] = line.G[e];
    }
    decay = PetscMax(decay, PetscMax(BCRTriScanDecay(line.alpha, d->single), BCRTriScanDecay(line.beta, d->single)));
  }
  S->first[0] = h > 1 ? 1 : 1 + line.beta * line.uh[0]; /* scan_unknown() of scan.c */
  S->first[1] = h > 1 ? 0 : line.beta * line.uh[1];
  S->first[2] = h > 1 ? 0 : line.beta;

  S->inner = s->inner;
  S->n = s->n;
  S->outer = s->outer;
  S->rep = (int)s->rep;
  S->reach = (ptrdiff_t)PetscMin((double)s->n, decay + 1);
  for (int i = 0; i < 5; i++) S->tune[i] = tuned[i];
  BCRCudaScanTables(S, d->single, d->io, abc, G, tab);
  PetscCall(Put(d, PETSC_FALSE, BCRCudaScanTableSize(S), tab, &S->tab));
  PetscCall(PetscFree3(abc, G, tab));
  bytes = BCRCudaScanWorkspace(S, d->single, d->io);
  if (bytes) {
    PetscCall(BCRDeviceArenaGet(&d->space, bytes, "the workspace of lines", &d->work));
    PetscCallBCRCuda(BCRCudaZero(d->work, bytes, d->stream));
  }
  d->info.flops = 5. * s->inner * s->n * s->outer;
  PetscCall(PetscSNPrintf(d->info.what, sizeof(d->info.what),
                          "two constant recurrences, ends reach %" PetscInt_FMT " rows%s", (PetscInt)S->reach,
                          bytes ? ", in chunks" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateCR(BCRTriDevice d, const BCRTriSpec *s, int shared)
{
  static const char *const memories[] = {"auto", "shared", "global"};
  BCRCudaCR *c = &d->cr;
  BCRTriCRTables t;
  PetscBool fits;

  PetscFunctionBegin;
  PetscCall(BCRTriNeedDominant(s, "cr"));
  PetscCall(BCRTriCRMake(s, d->sets, &t));
  PetscCheck(t.levels <= BCR_CUDA_CR_LEVELS, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "Method cr on a CUDA device has lines of fewer than 2^%d rows: use method scan", BCR_CUDA_CR_LEVELS);
  c->inner = s->inner;
  c->n = s->n;
  c->outer = s->outer;
  c->sets = d->sets;
  c->rep = (int)s->rep;
  c->perline = s->perline ? 1 : 0;
  c->periodic = s->periodic ? 1 : 0;
  c->levels = (int)t.levels;
  c->shared = shared - 1024;
  for (PetscInt r = 0; r < t.levels; r++) {
    c->level[r].rows = t.level[r][0];
    c->level[r].first = t.level[r][1];
    c->level[r].last = t.level[r][2];
    c->level[r].offset = t.level[r][3];
  }
  fits = BCRCudaCRShared(c, d->single) ? PETSC_TRUE : PETSC_FALSE;
  PetscCheck(d->options.memory != 1 || fits, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "Method cr: a line of %" PetscInt_FMT
             " rows does not fit into the shared memory of a block (%d bytes): use -pc_neato_memory global or auto",
             s->n, c->shared);
  d->global = d->options.memory == 2 || !fits;
  for (PetscInt e = 0; e < t.entries; e++) /* reciprocal diagonals, in reach of the work type? */
    for (PetscInt l = 0; l < d->sets; l++)
      PetscCall(BCRTriRange(s, d->single, l, 0, HUGE_VAL, &t.table[(size_t)(5 * e + 4) * d->sets + l]));
  PetscCall(Put(d, PETSC_FALSE, (size_t)t.entries * 5 * d->sets, t.table, &c->table));
  if (s->periodic) {
    PetscCall(Put(d, PETSC_FALSE, 3 * (size_t)d->sets, t.border, &c->border));
    if (s->n > 1) PetscCall(Put(d, PETSC_FALSE, (size_t)(s->n - 1) * d->sets, t.z, &c->z));
  }
  PetscCall(PetscFree3(t.table, t.border, t.z));
  d->info.flops = (s->periodic ? 11. : 9.) * s->inner * s->n * s->outer;
  PetscCall(PetscSNPrintf(d->info.what, sizeof(d->info.what),
                          "cyclic reduction in %s memory, %" PetscInt_FMT " levels, %" PetscInt_FMT " numbers tabled",
                          memories[d->global ? 2 : 1], t.levels, 5 * t.entries));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Parts of the rows, as many as wanted or near sqrt(rows/2) */
static PetscErrorCode SetParts(BCRTriDevice d, const BCRTriSpec *s, PetscInt parts)
{
  BCRCudaParts *p = &d->parts;

  PetscFunctionBegin;
  p->inner = s->inner;
  p->n = s->n;
  p->outer = s->outer;
  p->sets = d->sets;
  p->rep = (int)s->rep;
  p->perline = s->perline ? 1 : 0;
  p->rows = s->periodic ? s->n - 1 : s->n;
  if (parts < 1) parts = BCRRecurrenceParts((PetscInt)p->rows, 1);
  parts = PetscMax(1, PetscMin(parts, (PetscInt)p->rows));
  p->m = PetscMax(1, (p->rows + parts - 1) / parts);
  p->parts = PetscMax(1, (p->rows + p->m - 1) / p->m);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SetEnds(BCRTriDevice d, const BCRTriSpec *s)
{
  BCRCudaEnds *e = &d->ends;

  PetscFunctionBegin;
  e->inner = s->inner;
  e->n = s->n;
  e->outer = s->outer;
  e->sets = d->sets;
  e->rep = (int)s->rep;
  e->perline = s->perline ? 1 : 0;
  e->periodic = s->periodic ? 1 : 0;
  e->rows = d->parts.rows;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PartsSpace(BCRTriDevice d, const BCRTriSpec *s)
{
  const size_t lines = (size_t)s->inner * (size_t)s->outer;

  PetscFunctionBegin;
  PetscCall(
    BCRDeviceArenaGet(&d->space, lines * (size_t)d->parts.parts * sizeof(double), "the carries of parts", &d->carry));
  if (d->correct)
    PetscCall(BCRDeviceArenaGet(&d->space, lines * (BCR_CUDA_ENDS + 1) * sizeof(double), "the ends of lines", &d->w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreatePScheme(BCRTriDevice d, const BCRTriSpec *s)
{
  const PetscInt rows = s->periodic ? s->n - 1 : s->n, sets = d->sets;
  BCRCudaParts *p = &d->parts;
  double *f[3], *table[3], *S[2], *y, *V = NULL, *edge = NULL, growth = 1;
  PetscInt parts = d->options.parts;
  PetscBool again = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCheck(d->options.variant == 0 || d->options.variant == 1, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Method pscheme has variants 0 (rearranged array) and 1 (plain array), not %" PetscInt_FMT,
             d->options.variant);
  PetscCall(PetscMalloc4(rows, &f[0], rows, &f[1], rows, &f[2], rows, &y));
  PetscCall(SetParts(d, s, parts));
  for (PetscInt l = 0; l < sets && !again; l++) { /* products that grow: S and T would cancel */
    if (rows) PetscCall(BCRTriPSchemeFactors(s, l, f[0], f[1], f[2]));
    for (PetscInt k = 0; k < 2; k++)
      for (PetscInt q = 0; q < (PetscInt)p->parts; q++) {
        double product = 1;

        for (PetscInt i = 0; i < (PetscInt)p->m && q * p->m + i < rows; i++) {
          const PetscInt j = k ? (PetscInt)PetscMin((q + 1) * p->m, rows) - 1 - i : (PetscInt)(q * p->m) + i;

          if (k && j < (PetscInt)(q * p->m)) break;
          product *= f[k][j];
          growth = PetscMax(growth, fabs(product));
        }
      }
  }
  if (growth > 16) {
    PetscCall(SetParts(d, s, 1));
    again = PETSC_TRUE;
  }
  p->plain = d->options.variant == 1;
  for (int k = 0; k < 3; k++) PetscCall(PetscCalloc1((size_t)p->m * p->parts * sets, &table[k]));
  for (int k = 0; k < 2; k++) PetscCall(PetscMalloc1((size_t)p->parts * sets, &S[k]));
  if (s->periodic) PetscCall(PetscMalloc2((size_t)rows * sets, &V, 3 * (size_t)sets, &edge));
  for (PetscInt l = 0; l < sets; l++) {
    if (rows) PetscCall(BCRTriPSchemeFactors(s, l, f[0], f[1], f[2]));
    for (PetscInt q = 0; q < (PetscInt)p->parts; q++) {
      S[0][q * sets + l] = S[1][q * sets + l] = 1;
      for (PetscInt i = 0; i < (PetscInt)p->m; i++) {
        const PetscInt j = (PetscInt)(q * p->m) + i;
        const size_t at = (size_t)i * p->parts * sets + (size_t)(s->inner == 1 ? q + p->parts * l : l + sets * q);

        if (j >= rows) break;
        for (int k = 0; k < 2; k++) S[k][q * sets + l] *= f[k][j];
        for (int k = 0; k < 3; k++) {
          table[k][at] = f[k][j];
          PetscCall(BCRTriRange(s, d->single, l, j,
                                k == 0 ? (j ? fabs(f[2][j] / f[2][j - 1]) : 1) : (k == 1 ? 1 : HUGE_VAL),
                                &table[k][at]));
        }
      }
    }
    if (s->periodic) {
      double numbers[3];

      PetscCall(BCRTriPSchemeBorder(s, l, f[0], f[1], f[2], y, numbers));
      for (PetscInt j = 0; j < rows; j++) V[(size_t)j * sets + l] = y[j];
      for (int k = 0; k < 3; k++) edge[k * sets + l] = numbers[k];
    }
  }
  PetscCall(Put(d, PETSC_TRUE, (size_t)p->m * p->parts * sets, table[0], &p->sf));
  PetscCall(Put(d, PETSC_TRUE, (size_t)p->m * p->parts * sets, table[1], &p->sb));
  PetscCall(Put(d, PETSC_TRUE, (size_t)p->m * p->parts * sets, table[2], &p->cb));
  PetscCall(Put(d, PETSC_FALSE, (size_t)p->parts * sets, S[0], &p->Sf));
  PetscCall(Put(d, PETSC_FALSE, (size_t)p->parts * sets, S[1], &p->Sb));
  if (s->periodic) {
    d->correct = PETSC_TRUE;
    PetscCall(SetEnds(d, s));
    PetscCall(Put(d, PETSC_FALSE, 3 * (size_t)sets, edge, &d->ends.numbers));
    if (rows) {
      d->ends.columns = 1;
      d->ends.hi[0] = rows;
      PetscCall(Put(d, PETSC_TRUE, (size_t)rows * sets, V, &d->ends.V[0]));
    }
    PetscCall(PetscFree2(V, edge));
  }
  for (int k = 0; k < 3; k++) PetscCall(PetscFree(table[k]));
  for (int k = 0; k < 2; k++) PetscCall(PetscFree(S[k]));
  PetscCall(PetscFree4(f[0], f[1], f[2], y));
  PetscCall(PartsSpace(d, s));
  d->info.flops = (s->periodic ? 11. : 9.) * s->inner * s->n * s->outer;
  PetscCall(PetscSNPrintf(
    d->info.what, sizeof(d->info.what), "%s array, %" PetscInt_FMT " parts of %" PetscInt_FMT " rows%s",
    p->plain ? "plain" : "rearranged", (PetscInt)p->parts, (PetscInt)p->m, again ? ", in order (growth)" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateDC(BCRTriDevice d, const BCRTriSpec *s)
{
  const char *const precisions[] = {"D", "S", "SD"};
  const PetscInt sets = d->sets, rows = s->periodic ? s->n - 1 : s->n;
  BCRCudaParts *p = &d->parts;
  BCRCudaEnds *E = &d->ends;
  BCRTriOptions options = d->options;
  BCRTriLocal local = NULL;
  BCRTriEnds e;
  double *c[3], *S[2], *numbers, *V;

  PetscFunctionBegin;
  options.device = PETSC_FALSE;
  options.isa = -1;
  /* the kernels take right-hand sides as they are */
  options.unscaled = PETSC_TRUE;
  /* numbers */
  if (options.precision == BCR_TRI_SINGLE || (options.precision == BCR_TRI_MIXED && options.variant != 1))
    options.precision = BCR_TRI_DOUBLE;
  /* it checks, too */
  PetscCall(BCRTriLocalCreate(s, &options, &local));
  PetscCall(SetParts(d, s, options.variant == 1 ? 1 : options.parts));
  p->constant = 1;
  d->small = d->single && d->options.precision != BCR_TRI_MIXED;
  for (int k = 0; k < 3; k++) PetscCall(PetscMalloc1(sets, &c[k]));
  for (int k = 0; k < 2; k++) PetscCall(PetscMalloc1((size_t)p->parts * sets, &S[k]));
  PetscCall(SetEnds(d, s));
  for (PetscInt l = 0; l < sets; l++) {
    PetscCall(BCRTriDCGetEnds(local, l, &e));
    c[0][l] = e.p;
    c[1][l] = e.q;
    c[2][l] = 1 / e.kappa;
    E->count = PetscMax(E->count, (int)e.count);
    for (PetscInt q = 0; q < (PetscInt)p->parts; q++) {
      const double m = (double)PetscMin((PetscInt)p->m, rows - q * (PetscInt)p->m);

      S[0][q * sets + l] = pow(d->single ? (double)(float)e.p : e.p, m);
      S[1][q * sets + l] = pow(d->single ? (double)(float)e.q : e.q, m);
    }
  }
  d->correct = E->count || s->periodic ? PETSC_TRUE : PETSC_FALSE;
  if (d->correct) {
    const PetscInt count = E->count, total = 3 * count + count * (count + 2) + count + 3;

    E->columns = E->count;
    for (int k = 0; k < E->count; k++) {
      E->lo[k] = rows;
      E->row[k] = -1;
    }
    for (PetscInt l = 0; l < sets; l++) {
      PetscCall(BCRTriDCGetEnds(local, l, &e));
      for (PetscInt k = 0; k < e.count; k++)
        PetscCheck(e.scale[k] == 1, PETSC_COMM_SELF, PETSC_ERR_SUP,
                   "Method dc on a CUDA device needs rows of about one size, but row %" PetscInt_FMT
                   " of line %" PetscInt_FMT " is %g times as large as others: use method thomas",
                   e.row[k], l, e.scale[k]);
      PetscCheck(
        e.count == count, PETSC_COMM_SELF, PETSC_ERR_SUP,
        "Method dc on a CUDA device needs lines that all differ in the same rows at their ends, but line %" PetscInt_FMT
        " does so in %" PetscInt_FMT " rows, others in %" PetscInt_FMT ": use method scan",
        l, e.count, count);
      for (int k = 0; k < E->count; k++) {
        PetscCheck(l == 0 || E->row[k] == e.row[k], PETSC_COMM_SELF, PETSC_ERR_SUP,
                   "Method dc on a CUDA device needs lines that all differ in the same rows at their ends, but line "
                   "%" PetscInt_FMT " has row %" PetscInt_FMT ": use method scan",
                   l, e.row[k]);
        E->row[k] = e.row[k];
        E->lo[k] = PetscMin(E->lo[k], e.lo[k]);
        E->hi[k] = PetscMax(E->hi[k], e.hi[k]);
      }
    }
    PetscCall(PetscCalloc1((size_t)total * sets, &numbers));
    for (PetscInt l = 0; l < sets; l++) {
      double *t = numbers + l;

      PetscCall(BCRTriDCGetEnds(local, l, &e));
      for (PetscInt r = 0; r < count; r++)
        for (int i = 0; i < 3; i++, t += sets) *t = e.D[r][i];
      for (PetscInt k = 0; k < count; k++)
        for (PetscInt r = 0; r < count; r++, t += sets) *t = e.inverse[k][r];
      for (int end = 0; end < 2; end++)
        for (PetscInt k = 0; k < count; k++, t += sets) {
          const PetscInt j = end ? rows - 1 : 0;

          *t = j >= e.lo[k] && j < e.hi[k] ? (double)e.V[k][j - e.lo[k]] : 0;
        }
      for (PetscInt k = 0; k < count; k++, t += sets) *t = e.border[k];
      t[0] = e.low;
      t[sets] = e.up;
      t[2 * sets] = e.pivot;
    }
    PetscCall(Put(d, PETSC_FALSE, (size_t)total * sets, numbers, &E->numbers));
    PetscCall(PetscFree(numbers));
    for (int k = 0; k < E->count; k++) {
      const size_t length = (size_t)PetscMax(E->hi[k] - E->lo[k], 0);

      PetscCall(PetscCalloc1(length * sets, &V));
      for (PetscInt l = 0; l < sets; l++) {
        PetscCall(BCRTriDCGetEnds(local, l, &e));
        for (PetscInt j = e.lo[k]; j < e.hi[k]; j++) V[(size_t)(j - E->lo[k]) * sets + l] = (double)e.V[k][j - e.lo[k]];
      }
      if (length) PetscCall(Put(d, PETSC_TRUE, length * sets, V, &E->V[k]));
      PetscCall(PetscFree(V));
    }
  }
  PetscCall(Put(d, PETSC_TRUE, sets, c[0], &p->sf));
  PetscCall(Put(d, PETSC_TRUE, sets, c[1], &p->sb));
  PetscCall(Put(d, PETSC_TRUE, sets, c[2], &p->cb));
  PetscCall(Put(d, PETSC_FALSE, (size_t)p->parts * sets, S[0], &p->Sf));
  PetscCall(Put(d, PETSC_FALSE, (size_t)p->parts * sets, S[1], &p->Sb));
  for (int k = 0; k < 3; k++) PetscCall(PetscFree(c[k]));
  for (int k = 0; k < 2; k++) PetscCall(PetscFree(S[k]));
  PetscCall(BCRTriLocalDestroy(&local));
  PetscCall(PartsSpace(d, s));
  d->info.flops = ((p->parts == 1 ? 4. : 8.) + (d->correct ? 2. : 0.)) * s->inner * s->n * s->outer;
  PetscCall(PetscSNPrintf(d->info.what, sizeof(d->info.what), "A%d%s, array of %" PetscInt_FMT " x %" PetscInt_FMT,
                          d->options.variant == 1 ? 1 : 2,
                          precisions[d->options.precision == BCR_TRI_MIXED ? 2 : (d->single ? 1 : 0)], (PetscInt)p->m,
                          (PetscInt)p->parts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriDeviceCreate(const BCRTriSpec *spec, const BCRTriOptions *options, BCRTriDevice *device)
{
  BCRTriDevice d;
  PetscInt lines = spec->inner / PetscMax(spec->rep, 1) * spec->outer;
  int major, minor, sms, shared;

  PetscFunctionBegin;
  PetscCall(BCRTriCheck(spec));
  PetscCall(PetscNew(&d));
  *device = d;
  d->spec = *spec;
  d->options = *options;
  d->stream = options->stream;
  d->sets = spec->perline ? lines : 1;
  d->options.method = BCRTriChoose(spec, options->method);
  d->single = REAL_SINGLE || options->precision == BCR_TRI_SINGLE ||
                  (options->precision == BCR_TRI_MIXED && d->options.method == BCR_TRI_DC)
                ? 1
                : 0;
  d->io = d->single && !REAL_SINGLE ? 1 : 0;
  d->info.method = d->options.method;
  PetscCallBCRCuda(BCRCudaDeviceName(d->info.device, sizeof(d->info.device), &major, &minor, &sms, &shared));
  if (lines && spec->n) {
    switch (d->options.method) {
    case BCR_TRI_SCAN:
      PetscCall(CreateScan(d, spec));
      break;
    case BCR_TRI_THOMAS:
      PetscCall(CreateThomas(d, spec));
      break;
    case BCR_TRI_CR:
      PetscCall(CreateCR(d, spec, shared));
      break;
    case BCR_TRI_PSCHEME:
      PetscCall(CreatePScheme(d, spec));
      break;
    case BCR_TRI_DC:
      PetscCall(CreateDC(d, spec));
      break;
    default:
      SETERRQ(PETSC_COMM_SELF, PETSC_ERR_SUP, "Method %d for lines", (int)d->options.method);
    }
  }
  d->info.tables = d->tables.bytes;
  d->info.workspace = d->space.bytes;
  d->spec.rows = NULL;
  d->spec.low = d->spec.diag = d->spec.up = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriDeviceSolve(BCRTriDevice d, BCRStream stream, const PetscReal *f, PetscReal *u)
{
  PetscFunctionBegin;
  if (!d->spec.inner || !d->spec.outer || !d->spec.n) PetscFunctionReturn(PETSC_SUCCESS);
  if (d->cr.table) PetscCallBCRCuda(BCRCudaCRSolve(stream, &d->cr, d->global, d->single, d->io, f, u));
  else if (d->carry) {
    PetscCallBCRCuda(BCRCudaPartsSolve(stream, &d->parts, d->single, d->io, d->small, f, u, d->carry));
    /* the parts have left the last row of a periodic line alone */
    if (d->correct) PetscCallBCRCuda(BCRCudaEndsSolve(stream, &d->ends, d->single, d->io, f, u, d->w));
  } else if (d->factors.l) PetscCallBCRCuda(BCRCudaFactorsSolve(stream, &d->factors, d->single, d->io, f, u));
  else PetscCallBCRCuda(BCRCudaScanSolve(stream, &d->scan, d->single, d->io, f, u, d->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool BCRTriDeviceWaits(BCRTriDevice d)
{
  const PetscBool scan = d->spec.inner && d->spec.outer && d->spec.n && !d->cr.table && !d->carry && !d->factors.l
                           ? PETSC_TRUE
                           : PETSC_FALSE;

  return scan && BCRCudaScanWaits(&d->scan, d->single, d->io) ? PETSC_TRUE : PETSC_FALSE;
}

PetscErrorCode BCRTriDeviceSolveRanks(BCRTriDevice d, const BCRCudaScanRanks *ranks, BCRStream stream,
                                      const PetscReal *f, PetscReal *u)
{
  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaScanSolveRanks(stream, &d->scan, ranks, d->single, f, u, d->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriDeviceSolveHost(BCRTriDevice d, const PetscReal *f, PetscReal *u)
{
  const size_t bytes = (size_t)d->spec.inner * (size_t)d->spec.n * (size_t)d->spec.outer * sizeof(PetscReal);

  PetscFunctionBegin;
  if (!bytes) PetscFunctionReturn(PETSC_SUCCESS);
  if (!d->stage) PetscCall(BCRDeviceArenaGet(&d->staging, bytes, "a copy of a vector of the host", &d->stage));
  PetscCallBCRCuda(BCRCudaPut(d->stage, f, bytes, d->stream));
  PetscCall(BCRTriDeviceSolve(d, d->stream, d->stage, d->stage));
  PetscCallBCRCuda(BCRCudaGet(u, d->stage, bytes, d->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriDeviceGetInfo(BCRTriDevice device, BCRTriInfo *info)
{
  PetscFunctionBegin;
  *info = device->info;
  info->workspace += device->staging.bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriDeviceDestroy(BCRTriDevice *device)
{
  PetscFunctionBegin;
  if (!*device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRDeviceArenaFree(&(*device)->tables));
  PetscCall(BCRDeviceArenaFree(&(*device)->space));
  PetscCall(BCRDeviceArenaFree(&(*device)->staging));
  PetscCall(PetscFree(*device));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
