/*
  The table of CUDA devices of operations on the numbers of a capacitance system (numbers.h): kernels, and messages of the solver's
  transport.
*/
#include "numbers.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "../base/graph.h"
  #include "../base/shared.h"
  #include "../backend/cuda/capacitance.h"
  #include "../backend/cuda/transport.h"
  #include "../transport/transport.h"

  #define TYPE ((BCR_REAL_SINGLE ? BCR_CUDA_SINGLE : 0) + (BCR_PARTS > 1 ? BCR_CUDA_COMPLEX : 0))

  #define RECORDS (BCR_CUDA_AHEAD * BCR_CUDA_AHEAD_RECORD(BCR_PARTS) * sizeof(double)) /* bytes */

typedef struct {
  BCRDeviceArena arena;
  BCRDeviceGraphs graphs;
  BCRTransport transport; /* several ranks; else NULL */
  void *parts;            /* of sums */
  void *pinned;           /* memory of the host that kernels write their results to */
  size_t bytes;           /* of it */
  double *coefficients;   /* [room] on the device, where they are many */
  PetscInt room;
  BCRDeviceGraphs steps; /* ahead */
  BCRCudaAhead *state;
  double *records; /* pinned */
  int blocks;      /* of the cluster that makes a step; 0: none */
  ptrdiff_t blocksof;
} Work;

/* The device's copy of a list */
typedef struct {
  BCRDeviceArena arena;
  BCRCudaSparse there;
} Tables;

static Work *work(const BCRNumbers *c)
{
  return (Work *)c->work;
}

/* Factors as kernels take them */
static inline void pair_of(PetscScalar a, double pair[2])
{
  pair[0] = (double)PetscRealPart(a);
  pair[1] = (double)PetscImaginaryPart(a);
}

/* Pinned memory that no system has any more is kept for the next one of the process: it takes
   longer to get than most of what set-up does */
typedef struct {
  void *piece[2];
  size_t bytes[2];
} Pins;

static PetscErrorCode pins_destroy(void *data)
{
  Pins *pins = (Pins *)data;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++)
    if (pins->piece[k]) (void)BCRCudaHostFree(pins->piece[k]); /* the device may be gone */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode pin_get(size_t bytes, void **piece)
{
  Pins *pins;

  PetscFunctionBegin;
  PetscCall(BCRCommGetShared(PETSC_COMM_SELF, sizeof(*pins), pins_destroy, &pins));
  for (int k = 0; k < 2; k++) {
    if (!pins->piece[k] || pins->bytes[k] != bytes) continue;
    *piece = pins->piece[k];
    pins->piece[k] = NULL;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallBCRCuda(BCRCudaHostMalloc(bytes, piece));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode pin_return(size_t bytes, void *piece)
{
  Pins *pins;

  PetscFunctionBegin;
  if (!piece) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRCommGetShared(PETSC_COMM_SELF, sizeof(*pins), pins_destroy, &pins));
  for (int k = 0; k < 2; k++) {
    if (pins->piece[k]) continue;
    pins->piece[k] = piece;
    pins->bytes[k] = bytes;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallBCRCuda(BCRCudaHostFree(piece));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room for results of so many bytes */
static PetscErrorCode pin(Work *w, size_t bytes)
{
  PetscFunctionBegin;
  if (bytes <= w->bytes) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(pin_return(w->bytes, w->pinned));
  w->pinned = NULL;
  w->bytes = 0;
  PetscCall(pin_get(2 * bytes, &w->pinned));
  w->bytes = 2 * bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What has been launched is done, and results are there */
static PetscErrorCode arrive(BCRNumbers *c)
{
  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaSynchronize(c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_create(BCRNumbers *c)
{
  Work *w;

  PetscFunctionBegin;
  PetscCall(PetscNew(&w));
  c->work = w;
  PetscCall(BCRSolverTransport(c->solver, &w->transport));
  w->graphs.off = c->solver->options.plainlaunch;
  PetscCall(BCRDeviceArenaGet(&w->arena, BCR_CUDA_DOTS * 2 * sizeof(double), "sums", &w->parts));
  PetscCall(pin(w, 2 * BCR_CUDA_COEFFICIENTS * sizeof(double)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_destroy(BCRNumbers *c)
{
  PetscFunctionBegin;
  if (!c->work) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRDeviceArenaFree(&work(c)->arena));
  PetscCall(BCRDeviceGraphsDestroy(&work(c)->graphs));
  PetscCall(BCRDeviceGraphsDestroy(&work(c)->steps));
  PetscCall(pin_return(RECORDS, work(c)->records));
  PetscCall(pin_return(work(c)->bytes, work(c)->pinned));
  PetscCall(c->be->free(work(c)->coefficients));
  PetscCall(PetscFree(c->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_tables_destroy(BCRSparse *A)
{
  PetscFunctionBegin;
  if (A->tables) PetscCall(BCRDeviceArenaFree(&((Tables *)A->tables)->arena));
  PetscCall(PetscFree(A->tables));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tables are written one behind another, on the host and for where they will be; there NULL: their size is found */
typedef struct {
  char *here, *there;
  size_t bytes;
} Pack;

/* Room for n numbers of so many bytes each, on the host, and where it will be */
static void *pack_room(Pack *p, PetscInt n, size_t each, const void **there)
{
  char *here = p->here ? p->here + p->bytes : NULL;

  *there = p->there ? p->there + p->bytes : NULL;
  p->bytes += ((size_t)PetscMax(n, 1) * each + 63) & ~(size_t)63;
  return here;
}

static void pack_places(Pack *p, PetscInt n, const PetscInt v[], const ptrdiff_t **there)
{
  const void *at = NULL;
  ptrdiff_t *w = v ? (ptrdiff_t *)pack_room(p, n, sizeof(*w), &at) : NULL;

  for (PetscInt i = 0; i < n && w; i++) w[i] = (ptrdiff_t)v[i];
  *there = (const ptrdiff_t *)at;
}

static void pack_list(Pack *p, const BCRSparse *A, BCRCudaSparse *t)
{
  const PetscInt n = A->start ? A->start[A->rows] : A->rows;
  const void *at = NULL;

  t->rows = (int)A->rows;
  pack_places(p, A->rows, A->to, &t->to);
  pack_places(p, n, A->from, &t->from);
  if (A->start) {
    int *w = (int *)pack_room(p, A->rows + 1, sizeof(*w), &at);

    for (PetscInt i = 0; i <= A->rows && w; i++) w[i] = (int)A->start[i];
    t->start = (const int *)at;
  }
  if (A->value) {
    PetscReal *w = (PetscReal *)pack_room(p, n, sizeof(*w), &at);

    for (PetscInt i = 0; i < n && w; i++) w[i] = A->value[i];
    t->value = at;
  }
}

/* All in one piece of memory, as it takes longer to get one than to fill it; it is that of the first list that has any */
static PetscErrorCode device_tables(BCRNumbers *c, PetscInt nlists, BCRSparse *const list[])
{
  Pack pack = {NULL, NULL, 0};
  BCRDeviceArena *arena = NULL;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < nlists; l++) {
    BCRSparse *A = list[l];
    const PetscInt n = A->start ? A->start[A->rows] : A->rows;
    Tables *t;

    PetscCall(device_tables_destroy(A));
    if (n == 0) continue;
    PetscCheck(n <= PETSC_MPI_INT_MAX, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "Rows that differ have %" PetscInt_FMT
               " entries on one rank, more than the CUDA backend takes: use more ranks, or -pc_bcrpoisson_backend cpu",
               n);
    PetscCall(PetscNew(&t));
    A->tables = t;
    if (!arena) arena = &t->arena;
    pack_list(&pack, A, &t->there);
  }
  if (!arena) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRDeviceArenaGet(arena, pack.bytes, "lists", (void **)&pack.there));
  PetscCall(PetscMalloc1(pack.bytes, &pack.here));
  pack.bytes = 0;
  for (PetscInt l = 0; l < nlists; l++)
    if (list[l]->tables) pack_list(&pack, list[l], &((Tables *)list[l]->tables)->there);
  PetscCall(c->be->put(c->stream, pack.there, pack.here, pack.bytes));
  PetscCall(PetscFree(pack.here));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static BCRCudaSpread spread_of(const BCRSpread *x)
{
  return (BCRCudaSpread){x->v, x->ghost, (ptrdiff_t)x->n};
}

static PetscErrorCode device_product(BCRNumbers *c, const BCRSparseProduct *p)
{
  const BCRCudaSpread x = spread_of(&p->x), y = spread_of(&p->y);

  PetscFunctionBegin;
  if (p->A->rows == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallBCRCuda(BCRCudaSparseProduct(c->stream, TYPE, &((const Tables *)p->A->tables)->there, (double)p->alpha, &x,
                                        &y, p->add, (double)p->beta, p->d, p->z, p->magnitude));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is packed to or from the ranks that want it, ghosts from or to those that have them */
static PetscErrorCode exchange(BCRNumbers *c, BCRGhosts *g, PetscScalar *ghost, PetscBool back)
{
  BCRMessage *wanted, *ghosts;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(g->nto, &wanted, g->nof, &ghosts));
  for (PetscInt k = 0; k < g->nto; k++)
    wanted[k] = (BCRMessage){g->to[k], g->packed + g->tostart[k],
                             (size_t)(g->tostart[k + 1] - g->tostart[k]) * sizeof(PetscScalar)};
  for (PetscInt k = 0; k < g->nof; k++)
    ghosts[k] =
      (BCRMessage){g->of[k], ghost + g->ofstart[k], (size_t)(g->ofstart[k + 1] - g->ofstart[k]) * sizeof(PetscScalar)};
  if (back) ierr = BCRTransportExchange(work(c)->transport, c->stream, (int)g->nof, ghosts, (int)g->nto, wanted);
  else ierr = BCRTransportExchange(work(c)->transport, c->stream, (int)g->nto, wanted, (int)g->nof, ghosts);
  PetscCall(PetscFree2(wanted, ghosts));
  PetscCall(BCRTransportAgree(work(c)->transport, ierr)); /* nobody waits for what will never come */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_fetch(BCRNumbers *c, BCRGhosts *g, const BCRSpread *x)
{
  const BCRSparseProduct pack = {
    .A = &g->wanted, .alpha = 1, .x = *x, .y = {g->packed, NULL, g->wanted.rows}
  };

  PetscFunctionBegin;
  PetscCall(device_product(c, &pack));
  PetscCall(exchange(c, g, x->ghost, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_give(BCRNumbers *c, BCRGhosts *g, const BCRSpread *x)
{
  const BCRSparseProduct unpack = {
    .A = &g->back, .alpha = 1, .x = {g->packed, NULL, g->wanted.rows},
            .y = *x, .add = PETSC_TRUE
  };

  PetscFunctionBegin;
  PetscCall(exchange(c, g, x->ghost, PETSC_TRUE));
  PetscCall(device_product(c, &unpack));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_copy(BCRNumbers *c, PetscInt n, const PetscScalar *x, PetscScalar *y)
{
  PetscFunctionBegin;
  if (n) PetscCallBCRCuda(BCRCudaCopy(y, x, (size_t)n * sizeof(*x), c->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_set(BCRNumbers *c, PetscInt n, PetscScalar alpha, PetscScalar *x)
{
  double a[2];

  PetscFunctionBegin;
  pair_of(alpha, a);
  PetscCallBCRCuda(BCRCudaSet(c->stream, TYPE, n, a, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_scale(BCRNumbers *c, PetscInt n, PetscReal times, PetscReal over, const PetscScalar *x,
                                   PetscScalar *y)
{
  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaTimes(c->stream, TYPE, n, (double)times, (double)over, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_add(BCRNumbers *c, PetscInt n, PetscScalar alpha, const PetscScalar *x, PetscScalar *y)
{
  double a[2];

  PetscFunctionBegin;
  pair_of(alpha, a);
  PetscCallBCRCuda(BCRCudaAdd(c->stream, TYPE, n, a, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* *sums: how many products they have, or NULL: combinations */
static BCRCudaBlocks blocks_of(PetscInt nblocks, const BCRBlock blocks[], PetscInt *sums)
{
  BCRCudaBlocks b = {.blocks = 0};

  if (sums) *sums = 0;
  for (PetscInt l = 0; l < nblocks; l++) {
    if (!blocks[l].k) continue;
    b.k[b.blocks] = (int)blocks[l].k;
    b.m[b.blocks] = (int)PetscMax(blocks[l].m, 1);
    b.X[b.blocks] = blocks[l].X;
    b.y[b.blocks] = blocks[l].y;
    if (sums) *sums += blocks[l].k * PetscMax(blocks[l].m, 1);
    b.blocks++;
  }
  return b;
}

static PetscErrorCode device_dots(BCRNumbers *c, PetscInt n, PetscInt nblocks, const BCRBlock blocks[],
                                  PetscScalar *sums)
{
  PetscInt all;
  const BCRCudaBlocks b = blocks_of(nblocks, blocks, &all);
  const size_t bytes = (size_t)all * sizeof(*sums);

  PetscFunctionBegin;
  if (!all) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(pin(work(c), bytes));
  PetscCallBCRCuda(BCRCudaDots(c->stream, TYPE, n, &b, work(c)->parts, work(c)->pinned));
  PetscCall(arrive(c));
  PetscCall(PetscMemcpy(sums, work(c)->pinned, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_dots_there(BCRNumbers *c, PetscInt n, PetscInt nblocks, const BCRBlock blocks[],
                                        PetscScalar *sums)
{
  const BCRCudaBlocks b = blocks_of(nblocks, blocks, NULL);

  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaDots(c->stream, TYPE, n, &b, work(c)->parts, sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room for count coefficients on the device */
static PetscErrorCode coefficients_room(BCRNumbers *c, PetscInt count)
{
  PetscFunctionBegin;
  if (count <= work(c)->room) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(c->be->free(work(c)->coefficients));
  work(c)->coefficients = NULL;
  work(c)->room = 0;
  PetscCall(c->be->alloc(2 * (size_t)count * sizeof(double), "coefficients", &work(c)->coefficients));
  work(c)->room = 2 * count;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* n coefficients for kernels */
static PetscErrorCode coefficients_of(BCRNumbers *c, PetscInt n, const PetscScalar *s, BCRCudaCoefficients *k)
{
  double *v = k->v;

  PetscFunctionBegin;
  k->count = (int)(n * BCR_PARTS);
  k->there = NULL;
  if (k->count > BCR_CUDA_COEFFICIENTS) PetscCall(PetscMalloc1(k->count, &v));
  for (PetscInt j = 0; j < n; j++) {
    v[BCR_PARTS * j] = (double)PetscRealPart(s[j]);
    if (BCR_PARTS > 1) v[BCR_PARTS * (j + 1) - 1] = (double)PetscImaginaryPart(s[j]);
  }
  if (v == k->v) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(coefficients_room(c, k->count));
  PetscCall(c->be->put(c->stream, work(c)->coefficients, v, (size_t)k->count * sizeof(double)));
  k->there = work(c)->coefficients;
  PetscCall(PetscFree(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_combine(BCRNumbers *c, PetscInt n, PetscInt nblocks, const BCRBlock blocks[], PetscInt m,
                                     PetscReal alpha, const PetscScalar *s, PetscScalar *y)
{
  const BCRCudaBlocks b = blocks_of(nblocks, blocks, NULL);
  BCRCudaCoefficients k;
  PetscInt all = 0;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < nblocks; l++) all += blocks[l].k;
  for (PetscInt j = 0; j < m && all; j++) {
    PetscCall(coefficients_of(c, all, s + (size_t)j * (size_t)all, &k));
    PetscCallBCRCuda(BCRCudaCombine(c->stream, TYPE, n, &b, &k, (double)alpha, y + (size_t)j * (size_t)n));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_mix(BCRNumbers *c, PetscInt n, PetscInt k, const PetscScalar *X, const PetscScalar *A,
                                 PetscInt m, const PetscScalar *B, PetscScalar *Y)
{
  const PetscInt all = k + m;
  double *v, *to;

  PetscFunctionBegin;
  if (!m) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(coefficients_room(c, BCR_PARTS * all * m));
  PetscCall(PetscMalloc1(BCR_PARTS * all * m, &v));
  to = v;
  for (PetscInt j = 0; j < m; j++)
    for (PetscInt l = 0; l < all; l++) {
      const PetscScalar s = l < k ? A[j * k + l] : B[j * m + l - k];

      *to++ = (double)PetscRealPart(s);
      if (BCR_PARTS > 1) *to++ = (double)PetscImaginaryPart(s);
    }
  PetscCall(c->be->put(c->stream, work(c)->coefficients, v, (size_t)(BCR_PARTS * all * m) * sizeof(double)));
  PetscCall(PetscFree(v));
  PetscCallBCRCuda(BCRCudaMix(c->stream, TYPE, n, (int)k, X, (int)m, work(c)->coefficients, Y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_step(BCRNumbers *c, PetscInt n, PetscInt nblocks, const BCRBlock blocks[],
                                  const PetscScalar *s, const BCRStepEnd *end)
{
  const BCRCudaBlocks b = blocks_of(nblocks, blocks, NULL);
  BCRCudaStepEnd e = {
    (double)end->unit, (double)end->next, {0, 0},
      end->q, end->z, end->b, end->q1, end->z1
  };
  BCRCudaCoefficients k;
  PetscInt all = 0;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < nblocks; l++) all += blocks[l].k;
  PetscCall(coefficients_of(c, all, s, &k));
  pair_of(end->y, e.y);
  PetscCallBCRCuda(BCRCudaStep(c->stream, TYPE, n, &b, &k, &e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

  /* Some steps as a graph */
  #define STEPS 4
typedef struct {
  BCRNumbers *c;
  const BCRStepProduct *p;
  PetscInt count;
} StepLaunch;

static BCRCudaSparse sparse_of(const BCRSparse *A)
{
  return A->tables ? ((const Tables *)A->tables)->there : (BCRCudaSparse){.rows = 0};
}

static PetscErrorCode step_launch(void *context, BCRStream stream)
{
  const StepLaunch *l = (const StepLaunch *)context;
  const BCRStepProduct *p = l->p;
  const BCRCudaSparse into = sparse_of(p->into), from = sparse_of(p->from);
  const BCRCudaSpread y = spread_of(&p->y);
  void *mine = l->c->stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  for (PetscInt s = 0; s < l->count; s++) {
    l->c->stream = stream;
    ierr = (*p->box)(p->context);
    l->c->stream = mine;
    PetscCall(ierr);
    PetscCallBCRCuda(
      BCRCudaAheadStep(stream, TYPE, work(l->c)->blocks, work(l->c)->state, &into, &from, p->d, p->unit, &y));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory, and whether there are clusters, for vectors of n numbers */
static PetscErrorCode ahead_create(BCRNumbers *c, PetscInt n)
{
  Work *w = work(c);

  PetscFunctionBegin;
  if (w->state && w->blocksof == (ptrdiff_t)n) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallBCRCuda(BCRCudaAheadBlocks(TYPE, n, &w->blocks));
  w->blocksof = n;
  if (!w->blocks || w->state) PetscFunctionReturn(PETSC_SUCCESS);
  w->steps.off = w->graphs.off;
  if (!w->records) PetscCall(pin_get(RECORDS, (void **)&w->records));
  PetscCall(BCRDeviceArenaGet(&w->arena, sizeof(*w->state), "steps", (void **)&w->state));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void record_read(const double *r, PetscInt known, BCRAheadStep *s)
{
  const int state = (int)r[BCR_CUDA_RECORD_STATE];

  s->doubt = state & BCR_CUDA_AHEAD_DOUBT ? PETSC_TRUE : PETSC_FALSE;
  s->taken = state & BCR_CUDA_AHEAD_TAKEN ? PETSC_TRUE : PETSC_FALSE;
  s->next = state & BCR_CUDA_AHEAD_NEXT ? PETSC_TRUE : PETSC_FALSE;
  s->clean = state & BCR_CUDA_AHEAD_CLEAN ? PETSC_TRUE : PETSC_FALSE;
  s->q = (PetscReal)r[BCR_CUDA_RECORD_Q];
  s->b = (PetscReal)r[BCR_CUDA_RECORD_B];
  s->norm = (PetscReal)r[BCR_CUDA_RECORD_NORM];
  s->size = (PetscReal)r[BCR_CUDA_RECORD_SIZE];
  s->y = BCRNumberOf(r + BCR_CUDA_RECORD_Y);
  s->c = r + BCR_CUDA_RECORD;
  s->e = s->c + BCR_PARTS * known;
}

/* count steps, with as few launches as there are graphs for */
static PetscErrorCode steps_run(BCRNumbers *c, const BCRStepProduct *p, PetscInt count)
{
  PetscFunctionBegin;
  for (PetscInt n; count > 0; count -= n) {
    StepLaunch launch = {c, p, n = count < STEPS ? 1 : STEPS};
    const void *key[] = {p->unit, p->y.v, p->into, n == 1 ? NULL : p};

    PetscCall(BCRDeviceGraphsRun(&work(c)->steps, c->stream, key, sizeof(key), step_launch, &launch));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_ahead(BCRNumbers *c, const BCRStepProduct *p, const BCRAhead *a, BCRAheadStep found[],
                                   PetscInt *most)
{
  Work *w = work(c);
  const BCRCudaSparse into = sparse_of(p->into);
  BCRCudaAhead first = {a->n,
                        (int)a->lead,
                        (int)a->old,
                        (int)a->k,
                        a->steps == 0,
                        (double)a->tol,
                        (double)a->norm,
                        (double)a->cleaned,
                        (double)a->size,
                        (double)a->clean,
                        (double)a->again,
                        (double)a->zero,
                        (double)a->part,
                        a->Q,
                        a->Z,
                        a->z,
                        a->q,
                        a->b,
                        NULL};

  PetscFunctionBegin;
  *most = 0;
  PetscCall(ahead_create(c, a->n));
  if (!w->blocks) PetscFunctionReturn(PETSC_SUCCESS);
  *most = BCR_CUDA_AHEAD_KNOWN;
  first.records = w->records;
  for (PetscInt s = 0; s < a->steps; s++)
    w->records[((a->k + s) % BCR_CUDA_AHEAD) * BCR_CUDA_AHEAD_RECORD(BCR_PARTS) + BCR_CUDA_RECORD_STATE] = 0;
  if (a->fresh) PetscCallBCRCuda(BCRCudaAheadBegin(c->stream, TYPE, &first, &into, p->unit, w->state));
  PetscCall(steps_run(c, p, a->steps));
  for (int k = 0; k < 2 && !a->steps; k++) { /* the second time they become graphs */
    PetscCall(steps_run(c, p, 1));
    PetscCall(steps_run(c, p, STEPS));
  }
  PetscCall(arrive(c));
  for (PetscInt s = 0; s < a->steps; s++)
    record_read(w->records + ((a->k + s) % BCR_CUDA_AHEAD) * BCR_CUDA_AHEAD_RECORD(BCR_PARTS),
                a->lead + a->k + s - a->old, &found[s]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_largest(BCRNumbers *c, PetscInt n, const PetscReal *v, const PetscScalar *x,
                                     PetscReal out[2][2])
{
  const double *parts = (const double *)work(c)->pinned;

  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaLargest(c->stream, TYPE, n, v, x, (double *)work(c)->pinned));
  PetscCall(arrive(c));
  for (int k = 0; k < 2; k++) {
    double most = 0, sum = 0;

    for (int i = 0; i < BCR_CUDA_LARGEST; i++) most = PetscMax(most, parts[2 * i]);
    for (int i = 0; i < BCR_CUDA_LARGEST; i++)
      sum += parts[2 * i + 1] * (parts[2 * i] > 0 ? PetscSqr(parts[2 * i] / most) : 1);
    out[k][0] = (PetscReal)most;
    out[k][1] = (PetscReal)sum;
    parts += 2 * BCR_CUDA_LARGEST;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_nodes_sum(BCRNumbers *c, PetscInt nodes, PetscInt dof, const PetscReal *l,
                                       const PetscScalar *x, PetscScalar *sum)
{
  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaNodesSum(c->stream, TYPE, nodes, (int)dof, l, x, work(c)->parts, work(c)->pinned));
  PetscCall(arrive(c));
  *sum = *(const PetscScalar *)work(c)->pinned;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode device_nodes_add(BCRNumbers *c, PetscInt nodes, PetscInt dof, PetscScalar alpha,
                                       const PetscReal *r, PetscScalar *x)
{
  double a[2];

  PetscFunctionBegin;
  pair_of(alpha, a);
  PetscCallBCRCuda(BCRCudaNodesAdd(c->stream, TYPE, nodes, (int)dof, a, r, x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A launch as a graph, on whose stream it is captured */
typedef struct {
  BCRNumbers *c;
  PetscErrorCode (*launch)(void *context);
  void *context;
} Run;

static PetscErrorCode run_launch(void *context, BCRStream stream)
{
  const Run *run = (const Run *)context;
  void *mine = run->c->stream;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  run->c->stream = stream;
  ierr = (*run->launch)(run->context);
  run->c->stream = mine;
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of one rank alone: messages are not captured */
static PetscErrorCode device_run(BCRNumbers *c, const void *key, size_t bytes, PetscErrorCode (*launch)(void *context),
                                 void *context)
{
  Run run = {c, launch, context};

  PetscFunctionBegin;
  if (c->size > 1) PetscCall((*launch)(context));
  else PetscCall(BCRDeviceGraphsRun(&work(c)->graphs, c->stream, key, bytes, run_launch, &run));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

const BCRNumbersOps *BCRNumbersCuda(void)
{
#if defined(PETSCBCR_HAVE_CUDA)
  static const BCRNumbersOps table = {
    .where = PETSC_MEMTYPE_DEVICE,
    .create = device_create,
    .destroy = device_destroy,
    .tables = device_tables,
    .tables_destroy = device_tables_destroy,
    .product = device_product,
    .fetch = device_fetch,
    .give = device_give,
    .run = device_run,
    .copy = device_copy,
    .set = device_set,
    .scale = device_scale,
    .add = device_add,
    .dots = device_dots,
    .dots_there = device_dots_there,
    .combine = device_combine,
    .mix = device_mix,
    .step = device_step,
    .ahead = device_ahead,
    .largest = device_largest,
    .nodes_sum = device_nodes_sum,
    .nodes_add = device_nodes_add,
  };

  return &table;
#else
  return NULL;
#endif
}
