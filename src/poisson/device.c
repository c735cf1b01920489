/*
  The numerical core on a CUDA device: plan, tables, solve. See device.h and docs/method.md.

  LEVEL0    level 0 in physical space, the separators transformed along x, a line over them for each mode; in three dimensions a
            transform along y first and last, and a plane for each of its modes, all planes at once;
            small planes on chip instead, by products
  BOX       devbox.c, where it can be used: planes on chip before LEVEL0, planes in two passes where LEVEL0 cannot be
  FOURIER   transforms along all axes but one, a line along that one for each pair of modes
  REDUCTION block cyclic reduction of a given radix or schedule (devreduction.c); in three
  dimensions a transform along y first and last, or the recursion of paper 000
*/
#include "../base/petscbcrimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "devbox.h"
  #include "../backend/cuda/product.h"
  #include "reduction.h"
  #include "tables.h"

typedef enum {
  DEVICE_FOURIER,
  DEVICE_LEVEL0,
  DEVICE_REDUCTION
} BCRDevicePlan;

typedef enum {
  DST_NONE,
  DST_PLAN,
  DST_PRIME,
  DST_CHIRP,
  DST_ROWS,    /* not a sine transform: periodic, or between cell-centred ends (rowfft.cu) */
  DST_CONVOLVE /* any ends (dst.cu) */
} BCRDeviceDst;

struct _n_BCRDeviceCore {
  PetscInt dim;        /* without axes of one unknown */
  PetscInt n[3], line; /* line: axis of the lines */
  ptrdiff_t stride[3];
  char label[3];
  BCRAxis axis[3];
  double shift, fixed, factor;              /* fixed: what the axes of one unknown add */
  PetscBool singular, single, stale, input; /* input: work is where right-hand sides are made */
  PetscBool bordered;                       /* made for rows that go on on other ranks */
  /* rows of another rank go on beyond that end of axis y: LEVEL0 or nothing */
  PetscBool open[2];
  BCRCoreOptions options;
  BCRDevicePlan kind;
  BCRStream stream; /* of set-up */
  BCRDeviceArena fixedtables, tables, space;
  BCRCudaModes modes[3];
  double *lambda[3], *norm[3]; /* of the axes that are transformed, host */
  BCRCudaLineRows rows;
  void *work;      /* one box */
  size_t size;     /* of an element */
  double *scalars; /* device: removed, mean, partial sums */
  char name[64];
  int sms, shared;           /* multiprocessors; bytes of shared memory of a block */
  PetscBool fft[3];          /* the transform along this axis fits the shared memory of a block */
  PetscBool product[3];      /* it is a product on the tensor cores */
  BCRCudaProducts matrix[3]; /* with these */
  BCRDeviceDst dst;          /* transform along separators, with its table */
  PetscBool dsteven;         /* it is of cosines, between node-centred Neumann ends */
  const void *dsttable;
  BCRCudaDstPrime dstprime;
  BCRCudaRowFft dstrows;
  int *dstmodes; /* DST_PRIME, DST_ROWS, DST_CONVOLVE: their order, then their signs, host */

  BCRDeviceBox box; /* BOX, or NULL */
  PetscBool usebox;

  /* LEVEL0 */
  /* axis of the blocks; the one that is transformed in three dimensions: y, whose neighbours are
     nearer to each other */
  PetscInt blk, tra;
  PetscBool whole;                  /* blocks of threads have whole rows: in place */
  PetscBool small;                  /* level 0 and the transform of separators are one kernel */
  BCRCudaBoxPass pass;              /* transform along tra by box.cu, if N is not 0 */
  BCRCudaRowFft passrows;           /* by rowfft.cu, if n is not 0; else by the kernels of transform() */
  int *passmodes;                   /* passrows: the order of its modes, host */
  PetscInt ng, planes, strips, per; /* groups; strips of per regular ones */
  BCRLineRows seprows;
  BCRCudaLevel0 level0;
  BCRCudaSepLines sep;
  const int *extraof;
  /* rows of D: separators, of them the row that others go on from, and the one before the first */
  PetscInt ndrows;
  void *D, *D2, *extra;    /* separators; D2: where their transform is not in place */
  double *septab, *border; /* border: BCRCudaSepLines */
  PetscInt ldd;

  PetscBool sepchip; /* three dimensions: planes of separators are solved on chip (box.cu), these */
  BCRCudaBoxPlanes sepplanes;
  const void *seproots;

  PetscBool onchip; /* no level 0: planes stay on chip (boxproduct.cu), these */
  BCRCudaBoxPlanes chip;

  /* REDUCTION */
  BCRDeviceReduction red;
  PetscInt nlevels, schedule[BCR_MAX_LEVELS], subproblems;
  double *redshift, *redscale[3]; /* device: shifts of the boxes; factors of the right-hand side */
  const double *redweight[3];     /* of a mean */
  double redtotal;
};

/* The modes as the kernels take them: angles pi (ja j + jb)/P */
static void modes_describe(const BCRAxisModes *modes, BCREnd left, BCREnd right, BCRCudaModes *m)
{
  const int common = modes->periodic || modes->first % 2 || modes->length % 2 ? 1 : 2; /* factor of angle and length */

  m->n = (int)modes->n;
  m->half[0] = BCREndGetRule(left).weight < 1;
  m->half[1] = BCREndGetRule(right).weight < 1;
  m->periodic = modes->periodic;
  m->ib = modes->offset;
  m->cosine = !modes->periodic && !modes->odd;
  m->ja = modes->periodic ? 1 : 2 / common;
  m->jb = modes->first / common;
  m->P = (int)(modes->length / common);
}

/* The matrices of a transform as a product */
static PetscErrorCode product_tables(BCRDeviceArena *arena, BCRStream stream, const BCRCudaModes *modes,
                                     BCRCudaProducts *m)
{
  PetscFunctionBegin;
  for (int synthesis = 0; synthesis < (m->kind == BCR_CUDA_PRODUCT_ONE ? 1 : 2); synthesis++) {
    double *table;

    PetscCall(BCRDeviceArenaGet(arena, BCRCudaProductsCount(m) * sizeof(double), "tables", &table));
    PetscCallBCRCuda(BCRCudaProductsTable(stream, modes, m, synthesis, table));
    m->table[synthesis] = table;
  }
  if (m->kind == BCR_CUDA_PRODUCT_ONE) m->table[1] = m->table[0];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Everything about the transform along an axis; fft: it fits the shared memory of a block */
static PetscErrorCode modes_tables(BCRDeviceArena *arena, BCRStream stream, PetscBool single, int shared, PetscInt n,
                                   const BCREnd end[2], BCRCudaModes *m, double lambda[], double norm[], PetscBool *fft)
{
  BCRAxisModes modes;
  double *tab;

  PetscFunctionBegin;
  PetscCheck(BCRAxisModesDescribe(n, end[0], end[1], &modes), PETSC_COMM_SELF, PETSC_ERR_SUP,
             "No transform for an axis with ends %s and %s", BCREndGetRule(end[0]).name, BCREndGetRule(end[1]).name);
  BCRAxisModesGetValues(&modes, lambda, norm);
  modes_describe(&modes, end[0], end[1], m);
  *fft = m->P > 32 && BCRCudaFftPossible(m->P, single, shared - 1024) ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(PetscMalloc1(4 * m->P, &tab));
  for (int i = 0; i < 4 * m->P; i++) { /* an eighth of the period at most goes into the sine or cosine */
    const int q = i / m->P, r = i % m->P;
    const double v = q % 2 ? cos(0.5 * M_PI * r / m->P) : sin(0.5 * M_PI * r / m->P);

    tab[i] = q < 2 ? v : -v;
  }
  PetscCall(BCRDeviceArenaPut(arena, stream, single, 4 * m->P, tab, &m->tab));
  PetscCall(PetscFree(tab));
  if (*fft) {
    const int nw = BCRCudaFftTwiddles(m->P, NULL);
    double *w;

    PetscCall(PetscMalloc1(2 * nw, &w));
    (void)BCRCudaFftTwiddles(m->P, w);
    PetscCall(BCRDeviceArenaPut(arena, stream, PETSC_FALSE, 2 * nw, w, &m->twiddle));
    PetscCall(PetscFree(w));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceModesCreate(PetscInt n, const BCREnd end[2], BCRStream stream, BCRDeviceModes *m,
                                    double lambda[], double norm[])
{
  char name[64];
  int major, minor, sms;

  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaDeviceName(name, sizeof(name), &major, &minor, &sms, &m->shared));
  m->sine = BCREndIsZero(end[0]) && BCREndIsZero(end[1]) ? PETSC_TRUE : PETSC_FALSE;
  PetscCall(modes_tables(&m->arena, stream, PETSC_FALSE, m->shared, n, end, &m->modes, lambda, norm, &m->fft));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceModesApply(const BCRDeviceModes *m, BCRStream stream, int synthesis, const BCRCudaLines *lines,
                                   const double *f, double *u)
{
  const int way = m->sine ? 0 : synthesis; /* an analysis is cheaper */

  PetscFunctionBegin;
  if (m->fft)
    PetscCallBCRCuda(BCRCudaFft(stream, &m->modes, way, 0, m->shared - 1024, lines, f, lines, u, NULL, NULL, 0, 0));
  else PetscCallBCRCuda(BCRCudaDense(stream, &m->modes, way, 0, lines, f, lines, u, NULL, NULL, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceModesDestroy(BCRDeviceModes *m)
{
  PetscFunctionBegin;
  PetscCall(BCRDeviceArenaFree(&m->arena));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The transform of the separators works in place */
static PetscBool separators_stay(BCRDeviceCore c)
{
  /* even modes, then odd ones */
  if (c->dst == DST_CONVOLVE && c->axis[0].end[0] == c->axis[0].end[1] && !BCREndIsPeriodic(c->axis[0].end[0]) &&
      c->level0.mirror[0].distance != 1)
    return PETSC_FALSE;
  return c->dst || c->product[0] || c->fft[0] ? PETSC_TRUE : PETSC_FALSE;
}

/* Plan and tables of a transform by passes along rows or, rows given, along axis d by that; their
   modes, then signs, in *modes */
static PetscErrorCode rows_tables(BCRDeviceCore c, int shared, PetscInt d, BCRCudaRowFft *rows, int **modes)
{
  const PetscInt n = c->n[d];
  const int nw = rows ? rows->nw : c->dstprime.nw, ni = rows ? rows->ni : c->dstprime.ni;
  const void **wp = rows ? &rows->w : &c->dstprime.w;
  const int **ip = rows ? &rows->index : &c->dstprime.index;
  double *w;
  int *index, ok;
  void *q;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(2 * n, modes));
  PetscCall(PetscMalloc2(2 * nw, &w, ni, &index));
  ok = rows ? BCRCudaRowFftPlan((int)n, c->axis[d].end[0], d > 0, c->single, shared, rows, w, index, *modes)
            : BCRCudaDstPrimePlan(c->modes[0].P, c->single, shared, &c->dstprime, w, index, *modes);
  PetscCheck(ok, PETSC_COMM_SELF, PETSC_ERR_MEM,
             "No memory for the tables of a transform of %" PetscInt_FMT " unknowns", n);
  PetscCall(BCRDeviceArenaPut(&c->fixedtables, c->stream, c->single, 2 * nw, w, wp));
  PetscCall(BCRDeviceArenaGet(&c->fixedtables, (size_t)ni * sizeof(int), "tables", &q));
  PetscCallBCRCuda(BCRCudaPut(q, index, (size_t)ni * sizeof(int), c->stream));
  *ip = (const int *)q;
  PetscCall(PetscFree2(w, index));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Level 0 can be used: everything uniform, and the decay along x short enough for a tile. Sets what
   depends on sizes alone. */
static PetscBool level0_possible(BCRDeviceCore c)
{
  const BCRAxis *x = &c->axis[0], *y = &c->axis[c->blk];
  const PetscInt rows = c->open[0] || c->open[1] ? 24 : 16; /* two separators between the ends */

  if (c->dim < 2 || x->lower || y->lower || (c->dim == 3 && c->axis[c->tra].lower)) return PETSC_FALSE;
  if (!(x->a > 0) || !(y->a > 0) || c->n[0] < 32 || c->n[c->blk] < rows || c->stride[0] != 1) return PETSC_FALSE;
  return c->dim == 2 || c->fft[c->tra] || c->product[c->tra] || c->pass.N || c->passrows.n ? PETSC_TRUE : PETSC_FALSE;
}

/* Which mode across planes plane k has */
static PetscInt plane_mode(BCRDeviceCore c, PetscInt k)
{
  return c->passmodes ? c->passmodes[k] : k;
}

/* The transform across planes is twice too large, there and back */
static PetscBool pass_doubles(BCRDeviceCore c)
{
  return c->dim == 3 && (c->pass.N || c->passrows.n) ? PETSC_TRUE : PETSC_FALSE;
}

/* What lines over the separators need where other ranks' rows go on: mode order[k] is at position k
   (-1: none; NULL: as they are), as the transform has it */
static PetscErrorCode level0_border(BCRDeviceCore c, PetscInt nk, const int order[])
{
  const PetscInt all = nk * c->planes;
  int *of, *sign;
  double *fac;
  void *q;

  PetscFunctionBegin;
  c->border = NULL;
  if (!c->open[0] && !c->open[1]) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMalloc3(all, &of, nk, &sign, all, &fac));
  for (PetscInt k = 0; k < nk; k++) sign[k] = c->dstmodes ? c->dstmodes[c->n[0] + k] : 1;
  if (c->dst == DST_PLAN && !c->dsteven) (void)BCRCudaDstSigns(c->modes[0].P, c->single, sign);
  for (PetscInt k = 0; k < nk; k++) {
    of[k] = order ? order[k] : (int)k;
    fac[k] = c->dst ? 2 * sign[k] : 1; /* there and back are twice too large, the norm is a quarter */
    if (c->dsteven && (of[k] == 0 || of[k] == c->modes[0].P)) fac[k] = 1;
  }
  for (PetscInt b = c->planes - 1; b >= 0; b--) { /* the first plane's last, where they have been made */
    for (PetscInt k = 0; k < nk; k++) {
      of[b * nk + k] = of[k] < 0 ? -1 : of[k] + (int)(c->n[0] * plane_mode(c, b));
      fac[b * nk + k] = fac[k] * (pass_doubles(c) ? 2 : 1);
    }
  }
  PetscCall(BCRDeviceArenaGet(&c->tables, (size_t)all * sizeof(int), "tables", &q));
  PetscCallBCRCuda(BCRCudaPut(q, of, (size_t)all * sizeof(int), c->stream));
  c->sep.of = (const int *)q;
  PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, all, fac, &c->sep.fac));
  PetscCall(PetscFree3(of, sign, fac));
  PetscCall(BCRDeviceArenaGet(&c->tables, (size_t)all * BCR_CUDA_SEP_BORDER * sizeof(double), "tables", &c->border));
  if (c->open[0] && c->dim == 2)
    PetscCall(BCRDeviceArenaGet(&c->space, (size_t)c->ldd * c->size, "the workspace", &c->level0.before));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Groups of level 0. Large planes in single precision take radix 16, which leaves half of the
   separators and takes as many registers as radix 8 in double precision; a block wants some groups,
   or it waits for memory most of the time (rows, unknowns: where it gained on an H200,
   bench/results/h200_poisson.csv). Small planes take radix 4: a row of them fits one tile, twice as
   many blocks are at work, and a group takes half the time; there the deeper level, of twice the
   size, costs no more than its latency. But level0small.cu takes radix 8 where only then every
   group has a multiprocessor. A Dirichlet end that is one row behind the last group of radix - 1
   rows makes that row a separator, so that all groups are regular: the code of others, which is run
   once, takes as long as several regular groups. */
static PetscErrorCode level0_rows(BCRDeviceCore c)
{
  const BCRAxis *x = &c->axis[0], *y = &c->axis[c->blk];
  const PetscBool plane =
    c->dim == 2 && !c->open[0] && !c->open[1] && BCREndIsZero(y->end[0]) && BCREndIsZero(y->end[1]) ? PETSC_TRUE
                                                                                                    : PETSC_FALSE;
  const PetscInt m = c->n[c->blk] + 1;
  const PetscBool eight =
    c->dst == DST_PLAN && !c->dsteven && m % 8 == 0 && m / 8 <= c->sms && m / 4 > c->sms ? PETSC_TRUE : PETSC_FALSE;
  BCRCudaLevel0 *l = &c->level0;

  PetscFunctionBegin;
  l->radix = 8;
  if (plane && x->a <= y->a && c->shift + c->fixed >= 0) {
    if (c->single && c->options.level0 == 16) l->radix = 16;
    else if (c->dst && !eight && (c->n[1] + 3) / 4 <= 2 * c->sms && c->n[0] >= 400 && c->n[0] <= BCR_CUDA_LEVEL0_SMALL)
      l->radix = 4;
    else if (c->single && c->n[0] > BCR_CUDA_LEVEL0_SMALL && c->n[1] >= 3200 && (double)c->n[0] * c->n[1] >= 12e6)
      l->radix = 16;
  }
  PetscCall(BCRLevel0Rows(y, l->radix, c->open, &c->seprows, &c->ng));
  l->hlast = (int)c->seprows.gapend[1];
  l->sepend = 0;
  if (plane && l->hlast == l->radix) {
    l->hlast = l->radix - 1;
    l->sepend = 1;
    c->seprows.n = c->ng;
    c->seprows.gapend[1] = 0;
  }
  c->ndrows = c->seprows.n + (c->open[0] ? 1 : 0) + (c->open[1] ? 1 : 0);
  l->ng = (int)c->ng;
  l->yperiodic = BCRAxisIsPeriodic(y);
  l->short0 = c->seprows.gapend[0] == l->radix - 2 && !l->yperiodic;
  l->g0 = !l->yperiodic && (c->seprows.gapend[0] != l->radix - 1 || !BCREndIsZero(y->end[0])) ? 1 : 0;
  l->g1 = (int)c->ng - (l->hlast != l->radix - 1 || (!l->yperiodic && !BCREndIsZero(y->end[1])) ? 1 : 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Plane k: its shift, and by what its solution is to be multiplied */
static void plane_numbers(BCRDeviceCore c, PetscInt k, double *shift, double *scale)
{
  *shift = c->singular ? 0 : c->shift + c->fixed;
  *scale = c->factor;
  if (c->dim < 3) return;
  *shift += c->axis[c->tra].a * c->lambda[c->tra][plane_mode(c, k)];
  *scale *= (pass_doubles(c) ? 0.25 : 1) * c->norm[c->tra][plane_mode(c, k)];
}

/* Planes on chip, where they fit: small ones, for which level 0 has too many kernels */
static PetscErrorCode onchip_tables(BCRDeviceCore c)
{
  const BCRAxis *x = &c->axis[0], *z = &c->axis[c->blk];
  const PetscInt nk = c->n[c->blk];
  BCRCudaBoxPlanes *p = &c->chip;
  BCRCudaSepRows r;
  double *shifts, *scales, *tab;

  PetscFunctionBegin;
  c->onchip = PETSC_FALSE;
  if (c->dim != 3 || c->singular || c->open[0] || c->open[1] || c->options.launch[BCR_LAUNCH_STRIPS] > 0 ||
      !c->product[c->blk])
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMemzero(p, sizeof(*p)));
  p->n = (int)c->n[0];
  p->planes = (int)c->planes;
  p->ld = c->stride[c->blk];
  p->plane = c->stride[c->tra];
  for (int e = 0; e < 2; e++) p->half[e] = BCREndGetRule(x->end[e]).weight < 1;
  if (!BCRCudaBoxProductFits(p, &c->matrix[c->blk], c->single)) PetscFunctionReturn(PETSC_SUCCESS);
  c->onchip = PETSC_TRUE;
  PetscCall(PetscMalloc2(c->planes, &shifts, c->planes, &scales));
  for (PetscInt k = 0; k < c->planes; k++) {
    plane_numbers(c, k, &shifts[k], &scales[k]);
    scales[k] /= x->a;
    if (!(shifts[k] + z->a * c->lambda[c->blk][0] > 0)) c->onchip = PETSC_FALSE;
  }
  if (c->onchip) {
    PetscCall(PetscMemzero(&r, sizeof(r)));
    r.n = (int)c->n[0];
    r.ring = BCRAxisIsPeriodic(x);
    r.nk = (int)nk;
    r.planes = (int)c->planes;
    r.pin = -1;
    r.ax = z->a;
    r.ay = x->a;
    for (int e = 0; e < 2; e++) r.end[e] = x->end[e];
    PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, nk, c->lambda[c->blk], &r.lambda));
    PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, nk, c->norm[c->blk], &r.norm));
    PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, c->planes, shifts, &r.shift));
    PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, c->planes, scales, &r.scale));
    PetscCall(
      BCRDeviceArenaGet(&c->tables, (size_t)nk * BCR_CUDA_SEP_TAB * c->planes * sizeof(double), "tables", &tab));
    PetscCallBCRCuda(BCRCudaSepTables(c->stream, &r, tab));
    p->tab = tab;
  }
  PetscCall(PetscFree2(shifts, scales));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Planes of separators stay on chip while they are transformed along x, solved and transformed
   back, where a cluster of blocks has room for one */
static PetscErrorCode separators_onchip(BCRDeviceCore c)
{
  BCRCudaBoxPlanes *p = &c->sepplanes;

  PetscFunctionBegin;
  c->sepchip = PETSC_FALSE;
  if (!c->whole || c->dst != DST_PLAN || c->dsteven || c->singular || c->bordered ||
      BCRAxisIsPeriodic(&c->axis[c->blk]) || !BCRCudaBoxPossible((int)c->n[0] + 1))
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMemzero(p, sizeof(*p)));
  p->kind = BCR_CUDA_BOX_ROWS;
  p->N = (int)c->n[0] + 1;
  p->n = (int)c->seprows.n;
  p->planes = (int)c->planes;
  p->ld = c->ldd;
  p->plane = c->level0.dplane;
  if (c->strips > 1 || c->level0.g0 || c->level0.g1 < c->ng) { /* of the first separator of a strip */
    p->extraof = c->extraof;
    p->extra = c->extra;
    p->extrald = c->ldd;
    p->extraplane = c->level0.eplane;
  }
  if (!p->n) PetscFunctionReturn(PETSC_SUCCESS);
  if (!c->seproots) { /* sizes do not change from one set-up to the next: the device is asked once */
    const int n = BCRCudaBoxRoots(p->N, NULL);
    double *w;

    if (!BCRCudaBoxFits(p, c->single)) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(PetscMalloc1(2 * n, &w));
    (void)BCRCudaBoxRoots(p->N, w);
    PetscCall(BCRDeviceArenaPut(&c->fixedtables, c->stream, c->single, 2 * n, w, &c->seproots));
    PetscCall(PetscFree(w));
  }
  c->sepchip = PETSC_TRUE;
  p->roots = c->seproots;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tables of level 0 for all planes; *ok: PETSC_FALSE where a group's lines are not definite on
   their own, or decay too slowly */
static PetscErrorCode level0_tables(BCRDeviceCore c, PetscBool *ok)
{
  const BCRAxis *x = &c->axis[0], *y = &c->axis[c->blk];
  const double base = c->singular ? 0 : c->shift + c->fixed, rx = x->a / y->a, eps = c->single ? 4e-8 : 1e-16;
  double *tab, *shifts, *scales, *dshift, *dscale, *dlambda, *dnorm, mumax = 0;
  int K, columns, blocks, slots;
  PetscInt nk = c->n[0], h[3], Q, M, ntab;
  BCRCudaSepRows r;

  PetscFunctionBegin;
  PetscCall(level0_rows(c));
  Q = c->level0.radix;
  M = BCR_CUDA_LEVEL0_MOST(Q);
  ntab = c->planes * 3 * BCR_CUDA_LEVEL0_TAB(M);
  h[0] = Q - 1;
  for (int end = 0; end < 2; end++) h[end + 1] = c->seprows.gapend[end];
  *ok = PETSC_TRUE;
  for (int j = 0; j < BCR_CUDA_LEVEL0_MODES; j++) c->level0.steps[j] = 0;
  for (PetscInt k = 0; k < c->planes; k++) { /* the slowest decay along a row decides about tiles */
    for (int kind = 0; kind < 3; kind++) {
      const BCREnd end = kind == 0 || BCRAxisIsPeriodic(y) ? BCREndAtSeparator() : (kind == 1 ? y->end[0] : y->end[1]);
      double lambda[16], A[256], S[256], delta;

      if (h[kind] < 1) continue;
      BCRLevel0GroupModes(h[kind], end, kind == 2 ? PETSC_TRUE : PETSC_FALSE, M, lambda, A, S);
      delta =
        (base + (c->dim == 3 ? c->axis[c->tra].a * c->lambda[c->tra][plane_mode(c, k)] : 0) + y->a * lambda[0]) / x->a;
      if (!(delta > 0)) *ok = PETSC_FALSE;
      else mumax = PetscMax(mumax, 1 / (1 + BCRRootGap(delta)));
    }
  }
  if (!*ok) PetscFunctionReturn(PETSC_SUCCESS);
  c->level0.halo = mumax < 0.97 ? (int)ceil(log(eps) / log(mumax)) : 100000;
  BCRCudaLevel0Shape(&c->level0, c->single, c->sms, &K, &columns, &blocks);
  c->whole = c->dim == 3 && separators_stay(c) && BCRCudaLevel0RowsPossible(&c->level0, c->single, c->sms, &slots)
               ? PETSC_TRUE
               : PETSC_FALSE;
  /* between ranks, planes have whole rows */
  if (!c->whole && (2 * c->level0.halo + 128 > columns || (c->dim == 3 && (c->open[0] || c->open[1])))) {
    *ok = PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMalloc2(c->planes, &shifts, c->planes, &scales));
  PetscCall(PetscCalloc1(ntab, &tab));
  for (PetscInt k = 0; k < c->planes; k++) {
    double scale;

    plane_numbers(c, k, &shifts[k], &scale);
    scales[k] = scale /= y->a;
    if (shifts[k] + x->a * c->lambda[0][0] < 0) *ok = PETSC_FALSE;
    for (int kind = 0; kind < 3 && *ok; kind++) {
      const BCREnd end = kind == 0 || BCRAxisIsPeriodic(y) ? BCREndAtSeparator() : (kind == 1 ? y->end[0] : y->end[1]);
      double lambda[16], A[256] = {0}, S[256] = {0}, *v = tab + (k * 3 + kind) * BCR_CUDA_LEVEL0_TAB(M),
                         *share = v + BCR_CUDA_LEVEL0_SHARE(M), *out = v + BCR_CUDA_LEVEL0_OUT(M);

      v[BCR_CUDA_LEVEL0_INVERSE(M)] = 1 / scale;
      BCRLevel0GroupModes(h[kind], end, kind == 2 ? PETSC_TRUE : PETSC_FALSE, M, lambda, A, S);
      for (PetscInt j = 0; j < h[kind]; j++) {
        const double delta = (shifts[k] + y->a * lambda[j]) / x->a, e = BCRRootGap(delta), mu = 1 / (1 + e),
                     w = mu / rx;

        if (!(delta > 0)) {
          *ok = PETSC_FALSE;
          break;
        }
        v[j] = mu;
        if (kind == 0) {
          for (int q = 0; q < 5 && pow(mu, K << q) > 0.1 * eps; q++)
            c->level0.steps[j] = PetscMax(c->level0.steps[j], q + 1);
          share[j] = 2. / Q * sin((j + 1) * M_PI / Q) * w;
          out[j] = 2. / Q * w * scale;
        } else {
          share[j] = S[j] * w;
          share[M + j] = S[M * (h[kind] - 1) + j] * w;
          for (PetscInt p = 0; p < h[kind]; p++) {
            v[BCR_CUDA_LEVEL0_A(M) + M * j + p] = A[M * j + p];
            v[BCR_CUDA_LEVEL0_S(M) + M * p + j] = S[M * p + j] * w * scale;
          }
        }
      }
    }
  }
  if (*ok) {
    BCRCudaLevel0 *l = &c->level0;
    const PetscInt tiles = c->whole ? 1 : (c->n[0] + columns - 2 * l->halo - 1) / (columns - 2 * l->halo),
                   groups = l->g1 - l->g0, other = c->ng - groups;
    const int fit = c->options.launch[BCR_LAUNCH_STRIPS] > 0 ? c->options.launch[BCR_LAUNCH_STRIPS] : blocks;
    const PetscInt want = PetscMax(1, fit * c->sms / (tiles * c->planes) - other);

    /* strips: as many blocks as run at the same time, or times as many if a plane is as much as a
       block should have; each costs about two groups more */
    c->per = PetscMax(1, (groups + want - 1) / want);
    if (c->whole) {
      PetscInt least = PETSC_INT_MAX;

      if (c->options.launch[BCR_LAUNCH_STRIPS] > 0) slots = c->options.launch[BCR_LAUNCH_STRIPS] * c->sms;
      for (PetscInt m = 1; m <= PetscMin(groups, 64); m++) {
        const PetscInt per = (groups + m - 1) / m, all = (other + (groups + per - 1) / per) * c->planes,
                       work = (all + slots - 1) / slots * (per + 2);

        if (work < least) {
          least = work;
          c->per = per;
        }
      }
    }
    for (int j = 0; j < Q - 1; j++) {
      l->mu[j] = tab[j];
      l->share[j] = tab[BCR_CUDA_LEVEL0_SHARE(M) + j];
      l->out[j] = tab[BCR_CUDA_LEVEL0_OUT(M) + j];
    }
    l->inverse = tab[BCR_CUDA_LEVEL0_INVERSE(M)];
    c->small = c->dim == 2 && c->dst == DST_PLAN && !c->dsteven && c->ng <= 2 * c->sms &&
                   c->options.launch[BCR_LAUNCH_STRIPS] <= 0 &&
                   BCRCudaLevel0SmallPossible(l, c->single, c->shared - 1024)
                 ? PETSC_TRUE
                 : PETSC_FALSE;
    if (c->small) c->per = 1;
    c->strips = (groups + c->per - 1) / c->per;
    l->per = (int)c->per;
    l->strips = (int)c->strips;
    {
      int *of;
      PetscInt nsep = c->ndrows;
      void *q;

      PetscCall(PetscMalloc1(nsep, &of));
      for (PetscInt i = 0; i < nsep; i++) of[i] = -1;
      for (PetscInt b = 0; b < c->strips; b++) {
        const PetscInt g = c->level0.g0 + b * c->per;

        if (g > 0) of[g - 1] = (int)b;
        else if (c->level0.yperiodic) of[c->ng - 1] = (int)b;
      }
      if (c->level0.g1 < c->ng) of[c->ng - 2] = (int)c->strips;
      PetscCall(BCRDeviceArenaGet(&c->tables, (size_t)nsep * sizeof(int), "tables", &q));
      PetscCallBCRCuda(BCRCudaPut(q, of, (size_t)nsep * sizeof(int), c->stream));
      c->extraof = (const int *)q;
      PetscCall(PetscFree(of));
    }
    c->ldd = (c->n[0] + 16) / 16 * 16;
    if (c->ldd % 128 == 0) c->ldd += 16; /* rows that are a power of two apart meet in the caches */
    PetscCall(BCRDeviceArenaGet(&c->space, (size_t)c->ldd * c->ndrows * c->planes * c->size, "the workspace", &c->D));
    if (!separators_stay(c))
      PetscCall(
        BCRDeviceArenaGet(&c->space, (size_t)c->ldd * c->ndrows * c->planes * c->size, "the workspace", &c->D2));
    PetscCall(
      BCRDeviceArenaGet(&c->space, (size_t)c->ldd * (c->strips + 1) * c->planes * c->size, "the workspace", &c->extra));
    if (c->dim == 3 && !c->whole)
      PetscCall(BCRDeviceArenaGet(&c->space, (size_t)c->n[0] * c->n[1] * c->n[2] * c->size, "the workspace", &c->work));
    c->level0.ldd = c->ldd;
    c->level0.dplane = (ptrdiff_t)c->ldd * c->ndrows;
    c->level0.eplane = (ptrdiff_t)c->ldd * (c->strips + 1);
    PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, c->single, ntab, tab, &c->level0.tab));
    c->level0.early = !c->open[0] && !c->open[1] &&
                      (c->dst == DST_PLAN ? (c->seprows.n * c->planes + 1) / 2 <= c->sms
                                          : c->dst == DST_PRIME && c->dim == 2 &&
                                              BCRCudaDstPrimeEarly(&c->dstprime, (int)c->ndrows, c->sms));
    c->level0.sub = c->singular ? c->scalars + 1 : NULL;
    c->level0.subfactor = 1;
    c->level0.subplane = 0;
    /* lines over the separators */
    PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, c->planes, shifts, &dshift));
    PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, c->planes, scales, &dscale));
    PetscCall(separators_onchip(c));
    if (c->sepchip) {
      double *norm;

      PetscCall(PetscMalloc1(nk, &norm));
      for (PetscInt i = 0; i < nk; i++) norm[i] = 0.25 * c->norm[0][i]; /* both transforms are twice too large */
      PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, nk, c->lambda[0], &dlambda));
      PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, nk, norm, &dnorm));
      PetscCall(PetscFree(norm));
    } else if (c->dst) { /* modes in the order, and of the size, in which the transform has them */
      const int N = c->modes[0].P, even = c->dsteven;
      int *order;
      double *lambda, *norm;

      PetscCall(PetscMalloc3(N + 1, &order, N + 1, &lambda, N + 1, &norm));
      if (c->dstmodes) {
        nk = c->n[0];
        PetscCall(PetscArraycpy(order, c->dstmodes, nk));
      } else
        nk = c->dst == DST_PLAN ? BCRCudaDstOrder(N, even, c->single, order) : BCRCudaDstChirpOrder(N, even, order);
      for (PetscInt i = 0; i < nk; i++) {
        lambda[i] = c->lambda[0][order[i] < 0 ? 0 : order[i]];
        norm[i] = order[i] < 0 ? 0 : 0.25 * c->norm[0][order[i]];
        if (even && (order[i] == 0 || order[i] == N)) norm[i] *= 2; /* halved on the way back */
      }
      PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, nk, lambda, &dlambda));
      PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, nk, norm, &dnorm));
      PetscCall(level0_border(c, nk, order));
      PetscCall(PetscFree3(order, lambda, norm));
    } else {
      PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, nk, c->lambda[0], &dlambda));
      PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, nk, c->norm[0], &dnorm));
      PetscCall(level0_border(c, nk, NULL));
    }
    PetscCall(
      BCRDeviceArenaGet(&c->tables, (size_t)nk * BCR_CUDA_SEP_TAB * c->planes * sizeof(double), "tables", &c->septab));
    PetscCall(PetscMemzero(&r, sizeof(r)));
    r.periodic = BCRAxisIsPeriodic(y);
    r.n = (int)c->seprows.n - r.periodic;
    for (int e = 0; e < 2; e++) {
      r.end[e] = y->end[e];
      r.gapend[e] = (int)c->seprows.gapend[e];
    }
    r.gap = Q - 1;
    r.gaplast = (int)c->seprows.gaplast;
    r.nk = (int)nk;
    r.planes = (int)c->planes;
    r.pin = c->singular && !c->border ? 0 : -1; /* with an open end the line is not singular */
    r.ax = x->a;
    r.ay = y->a;
    r.lambda = dlambda;
    r.norm = dnorm;
    r.shift = dshift;
    r.scale = dscale;
    r.border = c->border;
    PetscCallBCRCuda(BCRCudaSepTables(c->stream, &r, c->septab));
    c->sepplanes.tab = c->septab;
    c->sep.n = r.n;
    c->sep.nk = r.nk;
    c->sep.planes = r.planes;
    c->sep.periodic = r.periodic;
    c->sep.ld = c->ldd;
    c->sep.plane = c->level0.dplane;
    c->sep.tab = c->septab;
    c->sep.early = c->level0.early || c->small;
    c->sep.more = c->small ? (const char *)c->extra + (size_t)c->ldd * c->size : NULL;
    c->sep.pin = c->singular ? 0 : -1;
    c->sep.subfactor = (c->dst ? 0.5 : 1) * c->norm[0][0];
    c->sep.removedfactor = c->sep.subfactor * (c->dim == 3 ? (c->passrows.n ? 0.5 : 1) * c->norm[c->tra][0] : 1);
    c->sep.removed = c->scalars;
    c->sep.border = c->border;
    for (int e = 0; e < 2; e++) c->sep.open[e] = c->open[e];
    if (c->singular) {
      double *ones;

      PetscCall(PetscMalloc1(c->seprows.n, &ones));
      for (PetscInt i = 0; i < c->seprows.n; i++) ones[i] = BCRLineRowsOnes(&c->seprows, i);
      PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, c->seprows.n, ones, &c->sep.ones));
      PetscCall(PetscFree(ones));
    }
  }
  PetscCall(PetscFree(tab));
  PetscCall(PetscFree2(shifts, scales));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* REDUCTION: y is transformed, the boxes are its modes */
static PetscBool reduction_transforms(BCRDeviceCore c)
{
  return c->dim == 3 && !c->axis[1].lower && !c->options.recursive ? PETSC_TRUE : PETSC_FALSE;
}

/* planes that are transformed at a time where that is out of place */
static PetscInt reduction_planes(BCRDeviceCore c)
{
  return PetscMax(1, c->n[2] / 4);
}

static PetscErrorCode reduction_tables(BCRDeviceCore c)
{
  const PetscBool trans = reduction_transforms(c);
  const double base = c->singular ? 0 : c->shift + c->fixed;
  const PetscInt nb = trans ? c->n[1] : 1;
  double *v;

  PetscFunctionBegin;
  if (!c->red) {
    /* a third axis that can neither be transformed nor be recursed along is an error of
       BCRReductionCreate() */
    const PetscInt yd = c->dim - 1;
    const BCRAxis axis[3] = {c->axis[0], trans || c->dim == 2 ? c->axis[yd] : c->axis[1], c->axis[2]};
    const ptrdiff_t stride[3] = {c->stride[0], trans || c->dim == 2 ? c->stride[yd] : c->stride[1], c->stride[2]};
    PetscInt inner[BCR_MAX_LEVELS], ninner;

    PetscCheck(!c->axis[yd].lower && !(c->dim == 3 && c->axis[1].lower), PETSC_COMM_SELF, PETSC_ERR_SUP,
               "Block cyclic reduction needs constant coefficients along axis %c, one of the blocks. Leave radix and "
               "schedule at auto: the automatic schedule handles it",
               c->label[c->axis[yd].lower ? yd : 1]);
    c->nlevels = c->options.nlevels;
    PetscCall(PetscArraycpy(c->schedule, c->options.schedule, c->nlevels));
    if (!c->nlevels) PetscCall(BCRScheduleFromRadix(c->options.radix, c->n[yd], &c->nlevels, c->schedule));
    ninner = c->nlevels;
    PetscCall(PetscArraycpy(inner, c->schedule, ninner));
    if (c->dim == 3 && !trans && !c->options.nlevels)
      PetscCall(BCRScheduleFromRadix(c->options.radix, c->n[1], &ninner, inner));
    PetscCall(BCRDeviceReductionCreate(trans ? 2 : c->dim, axis, stride, nb, c->nlevels, c->schedule, ninner, inner,
                                       c->single, c->options.launch, c->shared - 1024, c->singular, &c->rows, c->stream,
                                       &c->tables, &c->space, &c->red));
    c->subproblems = BCRDeviceReductionSubproblems(c->red);
    PetscCall(BCRDeviceArenaGet(&c->tables, (size_t)nb * sizeof(double), "tables", &c->redshift));
    c->redtotal = 1;
    for (PetscInt d = 0; d < 3; d++) {
      const PetscInt n = c->n[d];
      double sum = 0;

      PetscCall(PetscMalloc1(n, &v));
      for (PetscInt i = 0; i < n; i++) v[i] = 1;
      PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, n, v, &c->redscale[d]));
      for (PetscInt i = 0; i < n && d < c->dim; i++) {
        if (c->axis[d].weight) v[i] = c->axis[d].weight[i];
        else v[i] = BCRAxisGetEndWeight(&c->axis[d], i);
      }
      for (PetscInt i = 0; i < n; i++) sum += v[i];
      c->redtotal *= sum;
      PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, n, v, &c->redweight[d]));
      PetscCall(PetscFree(v));
    }
  }
  PetscCall(PetscMalloc1(c->n[1], &v));
  for (PetscInt j = 0; j < nb; j++) v[j] = base + (trans ? c->axis[1].a * c->lambda[1][j] : 0);
  PetscCallBCRCuda(BCRCudaPut(c->redshift, v, (size_t)nb * sizeof(double), c->stream));
  for (PetscInt j = 0; j < c->n[1]; j++) v[j] = c->factor * (trans ? c->norm[1][j] : 1);
  PetscCallBCRCuda(BCRCudaPut(c->redscale[1], v, (size_t)c->n[1] * sizeof(double), c->stream));
  PetscCall(PetscFree(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Everything that the shift or the factor goes into */
static PetscErrorCode core_tables(BCRDeviceCore c)
{
  const BCRAxis *x = &c->axis[c->line];
  const PetscInt n = c->n[c->line];
  const double base = c->singular ? 0 : c->shift + c->fixed;
  PetscInt t = 0;

  PetscFunctionBegin;
  c->usebox = PETSC_FALSE;
  if (c->box && (c->kind != DEVICE_LEVEL0 || BCRDeviceBoxOnChip(c->box)))
    PetscCall(BCRDeviceBoxSetUp(c->box, base, c->factor, &c->usebox));
  if (c->usebox) {
    c->stale = PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (c->kind == DEVICE_LEVEL0) {
    PetscBool ok;

    PetscCallBCRCuda(BCRCudaSynchronize(c->stream));
    PetscCall(BCRDeviceArenaFree(&c->tables));
    PetscCall(BCRDeviceArenaFree(&c->space));
    c->work = NULL;
    PetscCall(onchip_tables(c));
    ok = c->onchip;
    if (!ok) PetscCall(level0_tables(c, &ok));
    if (ok) {
      if (c->input && c->dim == 2)
        PetscCall(BCRDeviceArenaGet(&c->space, (size_t)c->n[0] * c->n[1] * c->size, "the workspace", &c->work));
      c->stale = PETSC_FALSE;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    c->kind = DEVICE_FOURIER;
    PetscCall(BCRDeviceArenaFree(&c->tables));
    PetscCall(core_tables(c));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (c->open[0] || c->open[1]) { /* it is not a box by itself */
    c->stale = PETSC_FALSE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  c->stale = PETSC_FALSE;
  if (!c->work && c->kind != DEVICE_REDUCTION)
    PetscCall(BCRDeviceArenaGet(&c->space, (size_t)c->n[0] * c->n[1] * c->n[2] * c->size, "the workspace", &c->work));
  if (!c->work && reduction_transforms(c) && !c->fft[1])
    PetscCall(BCRDeviceArenaGet(&c->space, (size_t)c->n[0] * c->n[1] * reduction_planes(c) * c->size, "the workspace",
                                &c->work));
  c->rows.n = (int)n;
  c->rows.shift = base;
  c->rows.factor = c->factor;
  c->rows.pina = c->singular ? 0 : -1;
  c->rows.pinb = c->singular ? 0 : -1;
  c->rows.removed = c->scalars;
  if (c->tables.n) { /* all of the following depends on neither */
    if (c->kind == DEVICE_REDUCTION) PetscCall(reduction_tables(c));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  c->rows.removedfactor = 1;
  {
    const PetscBool p = c->dim > 0 ? BCRAxisIsPeriodic(x) : PETSC_FALSE;
    const PetscInt m = n - (p ? 1 : 0);
    double *low, *exc, *up, *w;

    PetscCall(PetscMalloc4(n, &low, n, &exc, n, &up, n, &w));
    for (PetscInt i = 0; i < n; i++) {
      const double a = c->dim > 0 ? x->a : 0;

      low[i] = up[i] = w[i] = a;
      exc[i] = 0;
      if (x->lower) {
        low[i] = i ? x->lower[i] : 0;
        up[i] = i < n - 1 ? x->upper[i] : 0;
        exc[i] = x->diag[i] - low[i] - up[i];
      }
      w[i] = x->weight ? x->weight[i] : 1;
    }
    if (c->dim == 0) low[0] = up[0] = 0;
    else if (!x->lower && m > 0) {
      const double a = x->a;

      low[0] = up[m - 1] = 0;
      if (p) {
        exc[0] += a;
        exc[m - 1] += a;
      } else {
        for (int e = 0; e < 2; e++) {
          const BCREndRule rule = BCREndGetRule(x->end[e]);
          const PetscInt i = e ? m - 1 : 0;

          exc[i] += rule.excess * a;
          *(e ? &low[i] : &up[i]) = rule.inward * a;
          w[i] *= rule.weight;
        }
      }
    }
    c->rows.periodic = p;
    c->rows.coupling = c->dim > 0 ? x->a : 0;
    PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, n, low, &c->rows.low));
    PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, n, exc, &c->rows.exc));
    PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, n, up, &c->rows.up));
    PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, n, w, &c->rows.w));
    PetscCall(PetscFree4(low, exc, up, w));
  }
  for (PetscInt d = 0; d < c->dim; d++) {
    double *s;

    if (d == c->line || c->kind == DEVICE_REDUCTION) continue;
    PetscCall(PetscMalloc1(c->n[d], &s));
    for (PetscInt j = 0; j < c->n[d]; j++) s[j] = c->axis[d].a * c->lambda[d][j];
    PetscCall(BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, c->n[d], s, t ? &c->rows.sigb : &c->rows.siga));
    PetscCall(
      BCRDeviceArenaPut(&c->tables, c->stream, PETSC_FALSE, c->n[d], c->norm[d], t ? &c->rows.normb : &c->rows.norma));
    PetscCall(PetscFree(s));
    c->rows.removedfactor *= c->norm[d][0];
    t++;
  }
  if (c->kind == DEVICE_REDUCTION) PetscCall(reduction_tables(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The transform across planes by box.cu or rowfft.cu, where these have it */
static PetscErrorCode pass_create(BCRDeviceCore c)
{
  const BCRAxis *a = &c->axis[c->tra];
  const int N = (int)c->n[c->tra] + 1, L = BCRCudaBoxLength(N, c->single);

  PetscFunctionBegin;
  if (a->lower || a->end[0] != a->end[1] || c->stride[0] != 1) PetscFunctionReturn(PETSC_SUCCESS);
  if (BCRCudaRowFftPlan((int)c->n[c->tra], a->end[0], 1, c->single, c->shared - 1024, &c->passrows, NULL, NULL, NULL)) {
    PetscCall(rows_tables(c, c->shared - 1024, c->tra, &c->passrows, &c->passmodes));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!BCREndIsZero(a->end[0]) || !L) PetscFunctionReturn(PETSC_SUCCESS);
  for (int chirp = 0; chirp < 2; chirp++) {
    int n = chirp ? BCRCudaBoxChirp(N, L, NULL) : BCRCudaBoxRoots(L, NULL);
    double *w;

    if (n < 1) continue;
    PetscCall(PetscMalloc1(2 * n, &w));
    n = chirp ? BCRCudaBoxChirp(N, L, w) : BCRCudaBoxRoots(L, w);
    PetscCheck(n > 0, PETSC_COMM_SELF, PETSC_ERR_MEM,
               "No memory for the tables of a transform of %" PetscInt_FMT " unknowns", c->n[c->tra]);
    PetscCall(
      BCRDeviceArenaPut(&c->fixedtables, c->stream, c->single, 2 * n, w, chirp ? &c->pass.chirp : &c->pass.roots));
    PetscCall(PetscFree(w));
  }
  c->pass.N = N;
  c->pass.L = L;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The table of a transform along rows that has one: how many complex numbers, and these, and the
   modes, if they are given */
static int dst_table(BCRDeviceCore c, double *w, int *modes)
{
  const int P = c->modes[0].P;

  if (c->dst == DST_PLAN) return BCRCudaDstTable(P, c->single, w);
  if (c->dst == DST_CHIRP) return BCRCudaDstChirpTable(P, c->dsteven, c->single, w);
  return BCRCudaDstConvolveTable((int)c->n[0], c->axis[0].end, c->single, w, modes);
}

static PetscErrorCode core_create(PetscInt dim, const BCRAxis axis[], PetscReal shift, PetscBool singular,
                                  const PetscInt stride[], const BCRCoreOptions *options, PetscInt along,
                                  const PetscBool open[2], BCRStream stream, BCRDeviceCore *core)
{
  BCRDeviceCore c;
  PetscInt ngeneral = 0;
  int major, minor, sms, shared;

  PetscFunctionBegin;
  PetscCall(PetscNew(&c));
  *core = c;
  c->shift = shift;
  c->factor = 1;
  c->singular = singular;
  c->single = options->precision == BCR_DOUBLE ? PETSC_FALSE : PETSC_TRUE;
  c->size = c->single ? sizeof(float) : sizeof(double);
  c->options = *options;
  c->stream = stream;
  c->line = -1;
  PetscCallBCRCuda(BCRCudaDeviceName(c->name, sizeof(c->name), &major, &minor, &sms, &shared));
  c->sms = sms;
  c->shared = shared;
  for (PetscInt i = 0; i < dim; i++) {
    BCRAxis *a = &c->axis[c->dim];
    const PetscInt n = axis[i].n;

    PetscCheck(n > 0, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Empty axis %" PetscInt_FMT, i);
    if (n == 1) { /* nothing along it; a general axis of one unknown has its diagonal */
      if (axis[i].lower) c->fixed += axis[i].diag[0];
      continue;
    }
    PetscCall(BCRCoreAxisCreate(&axis[i], singular, a));
    if (a->lower) {
      ngeneral++;
      c->line = c->dim;
    }
    c->label[c->dim] = "xyz"[i];
    c->n[c->dim] = n;
    c->stride[c->dim++] = stride[i];
  }
  PetscCheck(ngeneral <= 1, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "Two axes with general coefficients: only one can be solved directly");
  for (PetscInt d = c->dim; d < 3; d++) c->n[d] = 1;
  if (c->dim > 1 && (options->radix || options->nlevels)) {
    c->kind = DEVICE_REDUCTION;
    c->line = 0;
  }
  if (c->line < 0) c->line = PetscMax(c->dim - 1, 0);
  PetscCall(BCRDeviceArenaGet(&c->fixedtables, (BCR_CUDA_PARTIALS + 8) * sizeof(double), "sums", &c->scalars));
  PetscCallBCRCuda(BCRCudaZero(c->scalars, (BCR_CUDA_PARTIALS + 8) * sizeof(double), stream));
  c->blk = c->dim == 3 && !(along == 1 && (open[0] || open[1])) ? 2 : 1;
  c->tra = 3 - c->blk;
  c->planes = c->dim == 3 ? c->n[c->tra] : 1;
  for (PetscInt d = 0; d < c->dim; d++) {
    if (c->axis[d].lower) continue; /* which of the others has the lines is known later */
    PetscCall(PetscMalloc2(c->n[d], &c->lambda[d], c->n[d], &c->norm[d]));
    PetscCall(modes_tables(&c->fixedtables, stream, c->single, shared, c->n[d], c->axis[d].end, &c->modes[d],
                           c->lambda[d], c->norm[d], &c->fft[d]));
    /* other transforms of strided lines cost more */
    c->product[d] =
      c->dim == 3 && BCRCudaProductsPlan(&c->modes[d], shared - 1024, &c->matrix[d]) ? PETSC_TRUE : PETSC_FALSE;
    if (c->product[d]) PetscCall(product_tables(&c->fixedtables, stream, &c->modes[d], &c->matrix[d]));
  }
  for (int e = 0; e < 2; e++) c->open[e] = open[e];
  c->bordered = along >= 0 ? PETSC_TRUE : PETSC_FALSE;
  if (c->kind != DEVICE_REDUCTION && !options->plain && !open[0] && !open[1])
    PetscCall(BCRDeviceBoxCreate(c->dim, c->axis, c->lambda, c->norm, c->stride, c->single, stream, &c->box));
  if (c->kind != DEVICE_REDUCTION && !options->plain && (open[0] || open[1]) && c->dim == 3)
    PetscCall(
      BCRDeviceBoxCreateBorder(c->axis, c->lambda, c->norm, c->stride, c->single, along, open, stream, &c->box));
  if (c->kind != DEVICE_REDUCTION && !options->plain && c->dim == 3) PetscCall(pass_create(c));
  if (c->kind != DEVICE_REDUCTION && !options->plain && level0_possible(c)) {
    const int P = c->modes[0].P;
    const BCRAxis *x = &c->axis[0];
    BCRCudaLevel0 *l = &c->level0;

    c->kind = DEVICE_LEVEL0;
    for (int e = 0; e < 2; e++) {
      l->open[e] = open[e];
      l->mirror[e] = BCREndGetRule(x->end[e]).mirror;
    }
    if (!c->product[0] && BCRCudaDstConvolvePossible((int)c->n[0], x->end, c->single, shared - 1024))
      c->dst = DST_CONVOLVE;
    if (BCREndIsZero(x->end[0]) && BCREndIsZero(x->end[1])) {
      if (BCRCudaDstChirpPossible(P, 0, c->single, shared - 1024)) c->dst = DST_CHIRP;
      if (BCRCudaDstPrimePlan(P, c->single, shared - 1024, &c->dstprime, NULL, NULL, NULL)) c->dst = DST_PRIME;
      if (c->product[0]) c->dst = DST_NONE;
      if (BCRCudaDstPossible(P, c->single, shared - 1024)) c->dst = DST_PLAN;
    } else if (!c->product[0] && x->end[0] == x->end[1] && !BCRAxisIsPeriodic(x) && l->mirror[0].distance == 0) {
      if (BCRCudaDstChirpPossible(P, 1, c->single, shared - 1024)) c->dst = DST_CHIRP;
      if (BCRCudaDstPossible(P, c->single, shared - 1024)) c->dst = DST_PLAN;
      if (c->dst) c->dsteven = PETSC_TRUE;
    } else if (x->end[0] == x->end[1] && (!c->product[0] || c->n[0] >= 100) &&
               BCRCudaRowFftPlan((int)c->n[0], x->end[0], 0, c->single, shared - 1024, &c->dstrows, NULL, NULL, NULL))
      c->dst = DST_ROWS;
    if (c->dst == DST_PRIME || c->dst == DST_ROWS)
      PetscCall(rows_tables(c, shared - 1024, 0, c->dst == DST_ROWS ? &c->dstrows : NULL, &c->dstmodes));
    else if (c->dst) {
      const int n = dst_table(c, NULL, NULL);
      double *w;

      if (c->dst == DST_CONVOLVE) PetscCall(PetscMalloc1(2 * c->n[0], &c->dstmodes));
      PetscCall(PetscMalloc1(2 * n, &w));
      (void)dst_table(c, w, c->dstmodes);
      PetscCall(BCRDeviceArenaPut(&c->fixedtables, stream, c->single, 2 * n, w, &c->dsttable));
      PetscCall(PetscFree(w));
    }
    l->nx = (int)c->n[0];
    l->planes = (int)c->planes;
    PetscCall(level0_rows(c));
  }
  c->stale = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreCreate(PetscInt dim, const BCRAxis axis[], PetscReal shift, PetscBool singular,
                                   const PetscInt stride[], const BCRCoreOptions *options, BCRStream stream,
                                   BCRDeviceCore *core)
{
  const PetscBool closed[2] = {PETSC_FALSE, PETSC_FALSE};

  PetscFunctionBegin;
  PetscCall(core_create(dim, axis, shift, singular, stride, options, -1, closed, stream, core));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreCreateBorder(PetscInt dim, const BCRAxis axis[], PetscReal shift, PetscBool singular,
                                         const PetscInt stride[], const BCRCoreOptions *options, PetscInt along,
                                         const PetscBool open[2], BCRStream stream, BCRDeviceCore *core)
{
  BCRDeviceCore c;

  PetscFunctionBegin;
  *core = NULL;
  for (PetscInt d = 0; d < dim; d++) {
    if (axis[d].n == 1) PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (dim < 2 || along < 1 || axis[along].n < 4) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(core_create(dim, axis, shift, singular, stride, options, along, open, stream, &c));
  if (c->kind != DEVICE_LEVEL0 && !c->box) PetscCall(BCRDeviceCoreDestroy(&c));
  *core = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreSetUp(BCRDeviceCore c)
{
  PetscFunctionBegin;
  if (c->stale) PetscCall(core_tables(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreSetShift(BCRDeviceCore c, PetscReal shift)
{
  PetscFunctionBegin;
  c->shift = shift;
  c->stale = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreSetFactor(BCRDeviceCore c, PetscReal factor)
{
  PetscFunctionBegin;
  if (c->factor != factor) c->stale = PETSC_TRUE;
  c->factor = factor;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreReserveInput(BCRDeviceCore c)
{
  PetscFunctionBegin;
  c->input = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreGetInput(BCRDeviceCore c, void **f)
{
  PetscFunctionBegin;
  if (c->stale) PetscCall(core_tables(c));
  *f = c->input && c->kind == DEVICE_LEVEL0 && c->dim == 2 ? c->work : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreDestroy(BCRDeviceCore *core)
{
  BCRDeviceCore c = *core;

  PetscFunctionBegin;
  if (!c) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < 3; i++) {
    PetscCall(BCRCoreAxisDestroy(&c->axis[i]));
    PetscCall(PetscFree2(c->lambda[i], c->norm[i]));
  }
  PetscCall(PetscFree(c->dstmodes));
  PetscCall(PetscFree(c->passmodes));
  PetscCall(BCRDeviceReductionDestroy(&c->red));
  PetscCall(BCRDeviceBoxDestroy(&c->box));
  PetscCall(BCRDeviceArenaFree(&c->fixedtables));
  PetscCall(BCRDeviceArenaFree(&c->tables));
  PetscCall(BCRDeviceArenaFree(&c->space));
  PetscCall(PetscFree(*core));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The lines along axis d, in arrays of the caller's strides or in the (packed) work array */
static BCRCudaLines lines_along(BCRDeviceCore c, PetscInt d, const ptrdiff_t stride[3])
{
  const PetscInt a = d == 0 ? 1 : 0, b = d == 2 ? 1 : 2;
  BCRCudaLines l;

  l.na = (int)(a < c->dim ? c->n[a] : 1);
  l.nb = (int)(b < c->dim ? c->n[b] : 1);
  l.sa = a < c->dim ? stride[a] : 0;
  l.sb = b < c->dim ? stride[b] : 0;
  l.s = stride[d];
  return l;
}

static int transform(BCRDeviceCore c, BCRStream stream, PetscInt d, int synthesis, const BCRCudaLines *fl,
                     const void *f, const BCRCudaLines *ul, void *u)
{
  /* between two Dirichlet ends both are the same, and an analysis is cheaper */
  if (synthesis && BCREndIsZero(c->axis[d].end[0]) && BCREndIsZero(c->axis[d].end[1])) synthesis = 0;
  if (c->product[d])
    return BCRCudaProductsApply(stream, &c->matrix[d], synthesis, c->single, fl, f, ul, u, NULL, NULL, 0, 0);
  if (c->fft[d])
    return BCRCudaFft(stream, &c->modes[d], synthesis, c->single, c->shared - 1024, fl, f, ul, u, NULL, NULL, 0, 0);
  return BCRCudaDense(stream, &c->modes[d], synthesis, c->single, fl, f, ul, u, NULL, NULL, 0, 0);
}

/* more: rows of one more plane */
static int sines(BCRDeviceCore c, BCRStream stream, int back, const BCRCudaLines *fl, const void *f,
                 const BCRCudaLines *ul, void *u, const void *extra, ptrdiff_t extrab, int more)
{
  const int P = c->modes[0].P;

  if (c->dst == DST_PRIME)
    return BCRCudaDstPrimeApply(stream, &c->dstprime, back, c->single, c->sms, fl, f, ul, u, extra, c->extraof, c->ldd,
                                extrab, more);
  if (c->dst == DST_ROWS)
    return BCRCudaRowFftApply(stream, &c->dstrows, back, c->single, c->sms, fl, f, ul, u, extra, c->extraof, c->ldd,
                              extrab, more);
  if (c->dst == DST_PLAN)
    return BCRCudaDst(stream, P, c->dsteven, back, c->single, c->dsttable, c->sms, fl, f, ul, u, extra, c->extraof,
                      c->ldd, extrab, more);
  if (c->dst == DST_CHIRP)
    return BCRCudaDstChirp(stream, P, c->dsteven, back, c->single, c->dsttable, c->sms, fl, f, ul, u, extra, c->extraof,
                           c->ldd, extrab, more);
  return BCRCudaDstConvolve(stream, (int)c->n[0], c->axis[0].end, back, c->single, c->dsttable, c->sms, fl, f, ul, u,
                            extra, c->extraof, c->ldd, extrab, more);
}

/* Where the separators are transformed */
static void *level0_separators(BCRDeviceCore c)
{
  return separators_stay(c) ? c->D : c->D2;
}

/* n rows of separators, apart elements from one to the next, in each plane */
static BCRCudaLines separator_lines(BCRDeviceCore c, PetscInt n, PetscInt apart)
{
  BCRCudaLines l;

  l.na = (int)n;
  l.nb = (int)c->planes;
  l.sa = apart;
  l.sb = c->level0.dplane;
  l.s = 1;
  return l;
}

/* Analysis or synthesis across planes */
static int planes_transform(BCRDeviceCore c, BCRStream stream, int synthesis, const BCRCudaLines *fl, const void *f,
                            const BCRCudaLines *ul, void *u)
{
  BCRCudaBoxPass p = c->pass;

  if (c->passrows.n) return BCRCudaRowFftAcross(stream, &c->passrows, synthesis, c->single, fl, f, ul, u);
  if (!p.N) return transform(c, stream, c->tra, synthesis, fl, f, ul, u);
  p.nx = fl->na;
  p.nb = fl->nb;
  p.fs = fl->s;
  p.fb = fl->sb;
  p.us = ul->s;
  p.ub = ul->sb;
  return BCRCudaBoxColumns(stream, &p, c->single, f, u);
}

/* Separators' right-hand sides, transformed, in level0_separators(); *f: what the back substitution has to take */
static PetscErrorCode level0_begin(BCRDeviceCore c, BCRStream stream, const void **from, void *u, BCRCudaLevel0 *l)
{
  const void *f = *from;
  void *S = level0_separators(c);
  BCRCudaLines zl, sl, ul;

  PetscFunctionBegin;
  *l = c->level0;
  l->ldu = c->stride[c->blk];
  l->uplane = c->dim == 3 ? c->stride[c->tra] : 0;
  if (c->dim == 3) {
    const ptrdiff_t packed[3] = {1, c->n[0], (ptrdiff_t)c->n[0] * c->n[1]}, *to = c->whole ? c->stride : packed;
    void *g = c->whole ? u : c->work;

    zl = lines_along(c, c->tra, c->stride);
    ul = lines_along(c, c->tra, to);
    PetscCallBCRCuda(planes_transform(c, stream, 0, &zl, f, &ul, g));
    f = g;
    l->ldf = to[c->blk];
    l->fplane = to[c->tra];
  } else {
    l->ldf = c->work && f == c->work ? c->n[0] : c->stride[1];
    l->fplane = 0;
    if (f == u) { /* the back substitution needs f to the end */
      const int n[3] = {(int)c->n[0], (int)c->n[1], 1};
      const ptrdiff_t s[3] = {1, c->stride[1], 0}, packed[3] = {1, c->n[0], 0};

      if (!c->work)
        PetscCall(BCRDeviceArenaGet(&c->space, (size_t)c->n[0] * c->n[1] * c->size, "the workspace", &c->work));
      PetscCallBCRCuda(BCRCudaScaleCopy(stream, n, c->single, f, s, c->single, c->work, packed, NULL, NULL));
      f = c->work;
      l->ldf = c->n[0];
    }
  }
  if (c->whole) PetscCallBCRCuda(BCRCudaLevel0RowsReduce(stream, l, c->single, f, c->D, c->extra));
  else PetscCallBCRCuda(BCRCudaLevel0Reduce(stream, l, c->single, f, c->D, c->extra));
  *from = f;
  if (c->sepchip) PetscFunctionReturn(PETSC_SUCCESS);
  sl = separator_lines(c, c->ndrows, c->ldd);
  if (c->dst) PetscCallBCRCuda(sines(c, stream, 0, &sl, c->D, &sl, S, c->extra, l->eplane, 0));
  else if (c->product[0])
    PetscCallBCRCuda(BCRCudaProductsApply(stream, &c->matrix[0], 0, c->single, &sl, c->D, &sl, S, c->extra, c->extraof,
                                          c->ldd, l->eplane));
  else if (c->fft[0])
    PetscCallBCRCuda(BCRCudaFft(stream, &c->modes[0], 0, c->single, c->shared - 1024, &sl, c->D, &sl, S, c->extra,
                                c->extraof, c->ldd, l->eplane));
  else
    PetscCallBCRCuda(
      BCRCudaDense(stream, &c->modes[0], 0, c->single, &sl, c->D, &sl, S, c->extra, c->extraof, c->ldd, l->eplane));
  *from = f;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Separators' solutions back into their rows of u: all but the last one are radix rows apart, that
   one often, too. The row before the first goes with the last launch. whole: all stay where they
   are */
static PetscErrorCode level0_synthesis(BCRDeviceCore c, BCRStream stream, const BCRCudaLevel0 *l, void *u)
{
  const PetscInt nsep = c->seprows.n + (c->open[1] ? 1 : 0), first6 = l->short0, Q = l->radix;
  const PetscBool all = nsep < c->ng || l->hlast == Q - 1 ? PETSC_TRUE : PETSC_FALSE;
  void *S = level0_separators(c);
  BCRCudaLines sl, ul;

  PetscFunctionBegin;
  sl = separator_lines(c, c->whole ? c->ndrows : nsep, c->ldd);
  if (c->whole) {
    if (c->dst) PetscCallBCRCuda(sines(c, stream, 1, &sl, S, &sl, S, NULL, 0, 0));
    else PetscCallBCRCuda(transform(c, stream, 0, 1, &sl, S, &sl, S));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  ul = sl;
  ul.sa = Q * c->stride[c->blk];
  ul.sb = l->uplane;
  for (int part = 0; part < 2; part++) {
    const PetscInt n = part ? 1 : nsep - 1;
    const size_t at = (size_t)(part ? nsep - 1 : 0), row = part ? (size_t)(c->n[c->blk] - 1) : (size_t)(Q - 1 - first6);
    const char *from = (char *)S + at * c->ldd * c->size;
    char *to = (char *)u + row * c->stride[c->blk] * c->size;
    const int more = c->open[0] && (part || all);

    if (part && all) break;
    sl.na = ul.na = (int)(all ? nsep : n);
    if (sl.na < 1) continue;
    if (c->dst) {
      if (more) {
        sl.sb = (ptrdiff_t)(nsep - (PetscInt)at) * c->ldd;
        ul.sb = ((const char *)l->before - to) / (ptrdiff_t)c->size;
      }
      PetscCallBCRCuda(sines(c, stream, 1, &sl, from, &ul, to, NULL, 0, more));
    } else {
      PetscCallBCRCuda(transform(c, stream, 0, 1, &sl, from, &ul, to));
      sl.na = ul.na = 1;
      if (more)
        PetscCallBCRCuda(
          transform(c, stream, 0, 1, &sl, (char *)S + (size_t)nsep * c->ldd * c->size, &ul, (void *)l->before));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solve_level0(BCRDeviceCore c, BCRStream stream, const void *f, void *u)
{
  BCRCudaLevel0 l;

  PetscFunctionBegin;
  if (c->small) { /* in place or not */
    l = c->level0;
    l.ldf = c->work && f == c->work ? c->n[0] : c->stride[1];
    l.ldu = c->stride[1];
    PetscCallBCRCuda(BCRCudaLevel0SmallReduce(stream, &l, c->single, c->sms, c->dsttable, f, c->D, c->extra));
    PetscCallBCRCuda(BCRCudaSepSolve(stream, &c->sep, c->single, c->D));
    PetscCallBCRCuda(BCRCudaLevel0SmallBack(stream, &l, c->single, c->sms, c->dsttable, c->D, f, u));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (c->onchip) {
    const BCRCudaLines across = lines_along(c, c->tra, c->stride);

    PetscCallBCRCuda(planes_transform(c, stream, 0, &across, f, &across, u));
    PetscCallBCRCuda(BCRCudaBoxProduct(stream, &c->chip, &c->matrix[c->blk], c->single, u));
    PetscCallBCRCuda(planes_transform(c, stream, 1, &across, u, &across, u));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(level0_begin(c, stream, &f, u, &l));
  if (c->sepchip) PetscCallBCRCuda(BCRCudaBoxSolve(stream, &c->sepplanes, c->single, c->D));
  else {
    PetscCallBCRCuda(BCRCudaSepSolve(stream, &c->sep, c->single, level0_separators(c)));
    PetscCall(level0_synthesis(c, stream, &l, u));
  }
  if (c->whole) PetscCallBCRCuda(BCRCudaLevel0RowsBack(stream, &l, c->single, u, level0_separators(c)));
  else PetscCallBCRCuda(BCRCudaLevel0Back(stream, &l, c->single, f, u));
  if (c->dim == 3) {
    BCRCudaLines zl = lines_along(c, c->tra, c->stride);

    PetscCallBCRCuda(planes_transform(c, stream, 1, &zl, u, &zl, u));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreBorder(BCRDeviceCore c, PetscBool *possible, PetscBool *reduces)
{
  PetscFunctionBegin;
  if (c->stale) PetscCall(core_tables(c));
  *possible = c->usebox || c->kind == DEVICE_LEVEL0 ? PETSC_TRUE : PETSC_FALSE;
  *reduces = c->singular ? PETSC_FALSE : *possible;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreBorderBegin(BCRDeviceCore c, BCRStream stream, const void *f, void *u, double *own,
                                        double *left, const BCRCudaBorderRows *rows, int part, const BCRCudaWindow *w)
{
  BCRCudaLevel0 l;

  PetscFunctionBegin;
  if (c->usebox && rows) {
    PetscCall(BCRDeviceBoxReducedBegin(c->box, stream, f, u, own, left, rows, part, w));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (c->usebox) {
    PetscCall(BCRDeviceBoxBorderBegin(c->box, stream, f, u, own, left));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(level0_begin(c, stream, &f, u, &l));
  if (!w)
    PetscCallBCRCuda(BCRCudaSepEnds(stream, &c->sep, c->single, level0_separators(c), c->axis[c->blk].a, own, left));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Back from the separators' solutions */
static PetscErrorCode border_end(BCRDeviceCore c, BCRStream stream, const void *f, void *u, const double *mean)
{
  BCRCudaLevel0 l = c->level0;

  PetscFunctionBegin;
  l.ldu = c->stride[c->blk];
  l.sub = mean;
  l.subfactor = c->sep.subfactor / c->sep.removedfactor;
  if (c->whole) {
    BCRCudaLines zl = lines_along(c, c->tra, c->stride);

    l.ldf = l.ldu;
    l.uplane = l.fplane = c->stride[c->tra];
    PetscCall(level0_synthesis(c, stream, &l, u));
    PetscCallBCRCuda(BCRCudaLevel0RowsBack(stream, &l, c->single, u, level0_separators(c)));
    PetscCallBCRCuda(planes_transform(c, stream, 1, &zl, u, &zl, u));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (f == u) f = c->work; /* where level0_begin() has put it */
  l.ldf = c->work && f == c->work ? c->n[0] : c->stride[1];
  l.fplane = l.uplane = 0;
  PetscCall(level0_synthesis(c, stream, &l, u));
  PetscCallBCRCuda(BCRCudaLevel0Back(stream, &l, c->single, f, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreBorderEnd(BCRDeviceCore c, BCRStream stream, const void *f, void *u, const double *own,
                                      const double *before, const double *mean)
{
  PetscFunctionBegin;
  if (c->usebox) {
    PetscCall(BCRDeviceBoxBorderEnd(c->box, stream, u, own, before));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  c->sep.after = own;
  c->sep.before = before;
  c->sep.removed = (double *)mean;
  PetscCallBCRCuda(BCRCudaSepSolve(stream, &c->sep, c->single, level0_separators(c)));
  PetscCall(border_end(c, stream, f, u, mean));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreBorderLines(BCRDeviceCore c, BCRStream stream, void *u, const BCRCudaBorderRows *rows,
                                        const double *received, int part, const BCRCudaWindow *w)
{
  PetscFunctionBegin;
  if (c->usebox) PetscCall(BCRDeviceBoxReducedPlanes(c->box, stream, u, rows, received, part, w));
  else
    PetscCallBCRCuda(BCRCudaSepSolveReduced(stream, &c->sep, c->single, level0_separators(c), rows, received, part,
                                            c->axis[c->blk].a, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreBorderBack(BCRDeviceCore c, BCRStream stream, const void *f, void *u)
{
  PetscFunctionBegin;
  if (c->usebox) PetscCall(BCRDeviceBoxReducedEnd(c->box, stream, u));
  else PetscCall(border_end(c, stream, f, u, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solve_reduction(BCRDeviceCore c, BCRStream stream, const void *f, void *u)
{
  const PetscBool trans = reduction_transforms(c);
  const int n[3] = {(int)c->n[0], (int)c->n[1], (int)c->n[2]};
  const ptrdiff_t s[3] = {c->stride[0], c->stride[1], c->dim == 3 ? c->stride[2] : 0},
                  packed[3] = {1, c->n[0], (ptrdiff_t)c->n[0] * c->n[1]};
  const double *scale[3] = {c->redscale[0], c->redscale[1], c->redscale[2]};
  BCRCudaLines l = lines_along(c, 1, c->stride), w = lines_along(c, 1, packed);
  BCRCudaBox box;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) {
    box.n[d] = n[d];
    box.stride[d] = s[d];
  }
  if (c->singular) {
    PetscCallBCRCuda(BCRCudaSum(stream, &box, c->single, f, c->redweight, c->scalars + 8, c->scalars + 2));
    PetscCallBCRCuda(BCRCudaScaleValue(stream, c->scalars + 2, 1 / c->redtotal, c->scalars));
    PetscCallBCRCuda(BCRCudaAddValue(stream, &box, c->single, f, u, c->scalars, -1));
  } else if (f != u) PetscCallBCRCuda(BCRCudaScaleCopy(stream, n, c->single, f, s, c->single, u, s, NULL, NULL));
  for (int back = 0; back < 2; back++) {
    if (trans && c->fft[1]) PetscCallBCRCuda(transform(c, stream, 1, back, &l, u, &l, u));
    for (PetscInt k = 0; trans && !c->fft[1] && k < c->n[2]; k += reduction_planes(c)) {
      const int m[3] = {n[0], n[1], (int)PetscMin(reduction_planes(c), c->n[2] - k)};
      void *at = (char *)u + (size_t)k * s[2] * c->size;

      l.nb = w.nb = m[2];
      PetscCallBCRCuda(transform(c, stream, 1, back, &l, at, &w, c->work));
      PetscCallBCRCuda(BCRCudaScaleCopy(stream, m, c->single, c->work, packed, c->single, at, s, NULL, NULL));
    }
    if (back) break;
    if (trans || c->factor != 1)
      PetscCallBCRCuda(BCRCudaScaleCopy(stream, n, c->single, u, s, c->single, u, s, scale, NULL));
    PetscCall(BCRDeviceReductionSolve(c->red, stream, u, trans ? c->n[1] : 1, trans ? c->stride[1] : 0, c->redshift,
                                      c->singular ? 0 : -1));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreSolve(BCRDeviceCore c, BCRStream stream, const void *f, void *u)
{
  const void *from = f;
  PetscInt axes[3], nt = 0;
  ptrdiff_t packed[3] = {1, c->n[0], (ptrdiff_t)c->n[0] * c->n[1]};
  const ptrdiff_t *stride = c->stride;
  BCRCudaLines fl, ul;
  void *to;
  BCRCudaBox box;

  PetscFunctionBegin;
  if (c->stale) PetscCall(core_tables(c));
  if (c->usebox) {
    PetscCall(BCRDeviceBoxSolve(c->box, stream, f, u));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt d = 0; d < c->dim; d++)
    if (d != c->line) axes[nt++] = d;
  for (PetscInt d = 0; d < 3; d++) {
    box.n[d] = (int)c->n[d];
    box.stride[d] = d < c->dim ? c->stride[d] : 0;
  }
  if (c->kind != DEVICE_FOURIER) {
    PetscCall(c->kind == DEVICE_LEVEL0 ? solve_level0(c, stream, f, u) : solve_reduction(c, stream, f, u));
    nt = -1;
  }
  /* transforms go back and forth between u and the work array so that the last one ends in u */
  for (PetscInt t = 0; t < nt; t++) {
    const PetscBool towork = t == 0 && nt == 2 ? PETSC_TRUE : (nt == 1 ? PETSC_TRUE : PETSC_FALSE);

    to = towork ? c->work : u;
    fl = lines_along(c, axes[t], stride);
    ul = lines_along(c, axes[t], towork ? packed : c->stride);
    PetscCallBCRCuda(transform(c, stream, axes[t], 0, &fl, from, &ul, to));
    from = to;
    stride = towork ? packed : c->stride;
  }
  if (nt == 0) {
    if (f != u) {
      const int n[3] = {box.n[0], box.n[1], box.n[2]};
      const ptrdiff_t s[3] = {box.stride[0], box.stride[1], box.stride[2]};

      PetscCallBCRCuda(BCRCudaScaleCopy(stream, n, c->single, f, s, c->single, u, s, NULL, NULL));
    }
    from = u;
  }
  if (nt >= 0) {
    to = (void *)from;
    ul = lines_along(c, c->line, stride);
    if (c->dim == 0) ul.s = 1;
    fl = lines_along(c, c->line, to == u ? packed : c->stride); /* the other array holds factors */
    if (c->dim == 0) fl.s = 1;
    PetscCallBCRCuda(BCRCudaLineSolve(stream, &c->rows, c->single, &ul, to, &fl, to == u ? c->work : u));
  }
  for (PetscInt t = nt - 1; t >= 0; t--) {
    const PetscBool towork = nt == 2 && t == 1 ? PETSC_TRUE : PETSC_FALSE;

    to = towork ? c->work : u;
    fl = lines_along(c, axes[t], stride);
    ul = lines_along(c, axes[t], towork ? packed : c->stride);
    PetscCallBCRCuda(transform(c, stream, axes[t], 1, &fl, from, &ul, to));
    from = to;
    stride = towork ? packed : c->stride;
  }
  if (c->singular) {
    PetscCallBCRCuda(BCRCudaSum(stream, &box, c->single, u, NULL, c->scalars + 8, c->scalars + 2));
    PetscCallBCRCuda(
      BCRCudaAddValue(stream, &box, c->single, u, u, c->scalars + 2, -1. / ((double)c->n[0] * c->n[1] * c->n[2])));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreGetRemoved(BCRDeviceCore c, const double **removed)
{
  PetscFunctionBegin;
  *removed = c->singular ? c->scalars : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceCoreGetInfo(BCRDeviceCore c, BCRCoreInfo *info)
{
  double unknowns = 1;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(info, sizeof(*info)));
  for (PetscInt i = 0; i < c->dim; i++) unknowns *= (double)c->n[i];
  info->workspace = c->space.bytes;
  info->tables = c->tables.bytes + c->fixedtables.bytes;
  info->flops = unknowns * 9;
  for (PetscInt i = 0; i < c->dim; i++)
    if (i != c->line) info->flops += 4 * unknowns * (double)c->n[i];
  if (c->usebox) PetscCall(BCRDeviceBoxGetInfo(c->box, c->label, info));
  else if (c->dim == 0) PetscCall(PetscStrncpy(info->plan, "one unknown", sizeof(info->plan)));
  else if (c->onchip) {
    PetscCall(PetscSNPrintf(info->plan, sizeof(info->plan),
                            "transform along %c, planes of its modes on chip: transform along %c (as a matrix "
                            "product), a line along %c for each mode",
                            c->label[c->tra], c->label[c->blk], c->label[0]));
    info->flops = unknowns * (60 + 4. * (double)c->n[c->blk]);
  } else if (c->kind == DEVICE_LEVEL0) {
    char pre[64] = "";

    if (c->dim == 3) PetscCall(PetscSNPrintf(pre, sizeof(pre), "transform along %c, planes with ", c->label[c->tra]));
    PetscCall(PetscSNPrintf(info->plan, sizeof(info->plan),
                            "%sblock rows along %c: radix %d in physical space, then %" PetscInt_FMT
                            " separators%s transformed along %c%s, a line for each mode",
                            pre, c->label[c->blk], c->level0.radix, c->seprows.n, c->sepchip ? " on chip:" : "",
                            c->label[0], c->dst || (c->fft[0] && !c->product[0]) ? "" : " (as a matrix product)"));
    info->nlevels = 2;
    info->schedule[0] = c->level0.radix;
    info->schedule[1] = c->seprows.n + 1;
    info->flops = unknowns / 8 * 130 + unknowns / c->level0.radix * (c->fft[0] || c->dst ? 40 : 4. * (double)c->n[0]) +
                  (c->dim == 3 ? unknowns * 60 : 0);
  } else if (c->kind == DEVICE_REDUCTION) {
    const PetscBool trans = reduction_transforms(c);
    char radices[128] = "", pre[64] = "";

    if (trans) PetscCall(PetscSNPrintf(pre, sizeof(pre), "transform along %c, planes with ", c->label[1]));
    for (PetscInt i = 0; i < c->nlevels; i++) {
      char one[16];

      PetscCall(PetscSNPrintf(one, sizeof(one), "%s%" PetscInt_FMT, i ? "," : "", c->schedule[i]));
      PetscCall(PetscStrlcat(radices, one, sizeof(radices)));
    }
    PetscCall(PetscSNPrintf(info->plan, sizeof(info->plan), "%sblock cyclic reduction along %c, schedule %s, %s%s", pre,
                            c->label[c->dim - 1], radices,
                            c->axis[0].lower || BCRAxisIsPeriodic(&c->axis[0]) ? "lines by elimination"
                                                                               : "lines by scalar cyclic reduction",
                            c->dim == 3 && !trans ? ", its sub-problems by reduction along the axis before" : ""));
    info->nlevels = c->nlevels;
    PetscCall(PetscArraycpy(info->schedule, c->schedule, c->nlevels));
    info->subproblems = c->subproblems;
    info->flops = (double)c->subproblems * (trans ? (double)c->n[1] : 1) * (double)c->n[0] * 8;
  } else if (c->dim == 1) PetscCall(PetscStrncpy(info->plan, "one tridiagonal line", sizeof(info->plan)));
  else {
    const PetscInt a = c->line == 0 ? 1 : 0, b = c->line == 2 ? 1 : 2;

    if (c->dim == 2)
      PetscCall(PetscSNPrintf(info->plan, sizeof(info->plan), "transform along %c, tridiagonal lines along %c",
                              c->label[a], c->label[c->line]));
    else
      PetscCall(PetscSNPrintf(info->plan, sizeof(info->plan), "transforms along %c and %c, tridiagonal lines along %c",
                              c->label[a], c->label[b], c->label[c->line]));
  }
  PetscCall(PetscStrncpy(info->isa, c->name, sizeof(info->isa)));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
