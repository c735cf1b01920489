#include "reduction.h"
#include "tables.h"
#include <math.h>

/*
  A level leaves the rows (planes in three dimensions) that are multiples of Qn = q Q and eliminates
  the other multiples of Q, group by group; a group lies between two neighbouring multiples of Qn,
  its block is made of all original rows between them. Rows are numbered from 1 (0 and n+1: beyond
  the ends); those of a periodic axis from 0, row 0 stays to the last level and closes the ring.

  Where a class has fewer poles than a vector has lanes (the first levels), several classes of
  several groups go side by side: segments.

  Poles: the eigenvalues of the block; a set of poles shares the rows that its right-hand sides are
  made of. Blocks between two Dirichlet ends (or left rows) whose length fits have classes: sin(j s
  pi/q) depends on j only modulo 2q up to sign, so all poles of class c have the same right-hand
  side. Other blocks have one set, and every pole its own weights.
*/
typedef struct {
  PetscInt np, nb, first; /* poles, bundles of them, number of the first one in the whole plan */
  double *lambda;
  /* [bundle][..][lane]. Classes: none, 1 out; 1 source (the neighbours), 1 out. Else: ns sources, 1
     or 2 outs; ns + 2 (0) sources, ns outs */
  void *wsrc, *wred, *wback, *wout;
  BCRPolesTab *tab; /* for each shift */
} PoleSet;

typedef struct {
  PetscInt m, ns, p0; /* original rows, rows of the level, offset of the first of these from L */
  PetscBool classes;
  PetscBool left, right; /* rows L and R exist */
  PetscInt q;            /* classes: ns + 1 */
  PetscInt nset, nred;   /* nred: outs of the reduction */
  PoleSet *set;
  /* classes of few poles: all classes of G groups, as many to a bundle as fit; sets hold no tables
     then */
  PoleSet *seg;
  PetscInt G;
  PetscInt ldw;
  /* classes: sin(c s pi/q), ns x ns, twice side by side for the reduction, which has two groups at
     a row */
  void *W;
} Block;

typedef struct {
  PetscInt Q, Qn, ngroups;
  Block *block[3]; /* first group, groups between, last group; may be the same */
} Level;

struct _n_BCRReduction {
  PetscInt dim, n, nx, ny, ldx; /* n: rows along the block axis */
  PetscBool periodic, periodic_x, single;
  double a, scale; /* coupling along the blocks; what tables of lines have been multiplied with */
  BCRAxis x;       /* own arrays */
  BCREnd end[2];
  PetscInt nlevels, npoles, nsets, lanes;
  Level level[BCR_MAX_LEVELS];
  BCRPolesLine line;
  const BCRPolesTable *kernels;
  BCRReduction inner; /* three dimensions: solves the poles */
  PetscInt nshift;
  BCRArena plan, space, tables;
  char *work;
  size_t rowbytes;
  void *tmp; /* three dimensions: the plane of a pole */
  void *kernelwork;
  const void **psrc; /* pointers for a call */
  void **pdst;
  void **pseg;
  void *one;     /* weights 1, 1, -1 */
  PetscBool dry; /* count instead of computing */
  double subproblems, flops, planflops;
};

#define BCR_MAX_LANES 16
#define BCR_PI        3.14159265358979323846 /* PETSC_PI is a float where PetscReal is */

/* sin(pi num/den), exact zeros and full relative accuracy near them */
static double sinpi_ratio(PetscInt64 num, PetscInt64 den)
{
  double sign = 1;

  num %= 2 * den;
  if (num < 0) num += 2 * den;
  if (num >= den) {
    num -= den;
    sign = -1;
  }
  if (2 * num > den) num = den - num;
  if (4 * num <= den) return sign * sin(BCR_PI * (double)num / (double)den);
  return sign * cos(BCR_PI * (double)(den - 2 * num) / (double)(2 * den));
}

static double cospi_ratio(PetscInt64 num, PetscInt64 den)
{
  return sinpi_ratio(2 * num + den, 2 * den);
}

static PetscErrorCode weights_create(BCRReduction red, PetscInt np, PetscInt nw, void **w)
{
  const size_t bytes =
    (red->single ? sizeof(float) : sizeof(double)) * ((np + red->lanes - 1) / red->lanes) * red->lanes * nw;

  PetscFunctionBegin;
  PetscCall(BCRArenaGet(&red->plan, bytes, w));
  PetscCall(PetscMemzero(*w, bytes)); /* lanes without a pole weigh nothing */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void weight_set(BCRReduction red, void *w, PetscInt nw, PetscInt pole, PetscInt k, double v)
{
  const size_t i = ((size_t)(pole / red->lanes) * nw + k) * red->lanes + pole % red->lanes;

  if (red->single) ((float *)w)[i] = (float)v;
  else ((double *)w)[i] = v;
}


static double weight_get(BCRReduction red, const void *w, PetscInt nw, PetscInt pole, PetscInt k)
{
  const size_t i = ((size_t)(pole / red->lanes) * nw + k) * red->lanes + pole % red->lanes;

  return red->single ? (double)((const float *)w)[i] : ((const double *)w)[i];
}

/* Classes with fewer than lanes/2 poles: as many groups at a time as it takes to fill most lanes */
static PetscErrorCode block_segments(BCRReduction red, PetscInt Q, PetscInt ngroups, Block *b)
{
  const PetscInt most = red->lanes / Q; /* segments in a bundle */
  PetscInt nb;
  PoleSet *p;

  PetscFunctionBegin;
  for (b->G = 1; b->G < PetscMin(most, ngroups); b->G++) {
    nb = (b->G * b->ns + most - 1) / most;
    if (20 * b->G * b->ns >= 17 * nb * most) break;
  }
  nb = (b->G * b->ns + most - 1) / most;
  PetscCall(BCRArenaGet(&red->plan, sizeof(PoleSet), &b->seg));
  p = b->seg;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  p->np = nb * red->lanes;
  PetscCall(BCRArenaGet(&red->plan, p->np * sizeof(double), &p->lambda));
  PetscCall(weights_create(red, p->np, 1, &p->wred));
  PetscCall(weights_create(red, p->np, 1, &p->wback));
  PetscCall(weights_create(red, p->np, 1, &p->wout));
  for (PetscInt l = 0; l < p->np; l++) {
    const PetscInt in = l % red->lanes, s = l / red->lanes * most + PetscMin(in / Q, most - 1), j = in % Q;
    const PoleSet *from = &b->set[s % b->ns];

    p->lambda[l] = from->lambda[j];
    weight_set(red, p->wred, 1, l, 0, weight_get(red, from->wred, 1, j, 0));
    weight_set(red, p->wback, 1, l, 0, weight_get(red, from->wback, 1, j, 0));
    weight_set(red, p->wout, 1, l, 0, weight_get(red, from->wout, 1, j, 0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Poles of a block between Dirichlet ends with m + 1 = q Q: class c has those j that are +-c modulo 2q */
static PetscErrorCode block_classes(BCRReduction red, PetscInt Q, Block *b)
{
  const PetscInt q = b->q, ns = b->ns, m1 = b->m + 1;
  const PetscInt copies = b->left || b->right ? 2 : 1;

  PetscFunctionBegin;
  b->ldw = copies * ns;
  PetscCall(BCRArenaGet(&red->plan, (red->single ? sizeof(float) : sizeof(double)) * ns * b->ldw, &b->W));
  for (PetscInt c = 1; c < q; c++)
    for (PetscInt s = 1; s < q; s++) {
      const double v = sinpi_ratio((PetscInt64)c * s, q);

      for (PetscInt k = 0; k < copies; k++) {
        const size_t i = (size_t)(c - 1) * b->ldw + (size_t)k * ns + s - 1;

        if (red->single) ((float *)b->W)[i] = (float)v;
        else ((double *)b->W)[i] = v;
      }
    }
  b->nset = q - 1;
  b->nred = 1;
  PetscCall(BCRArenaGet(&red->plan, b->nset * sizeof(PoleSet), &b->set));
  for (PetscInt c = 1; c < q; c++) {
    PoleSet *p = &b->set[c - 1];

    PetscCall(PetscMemzero(p, sizeof(*p)));
    p->np = Q;
    PetscCall(BCRArenaGet(&red->plan, Q * sizeof(double), &p->lambda));
    PetscCall(weights_create(red, Q, 1, &p->wred));
    PetscCall(weights_create(red, Q, 1, &p->wback));
    PetscCall(weights_create(red, Q, 1, &p->wout));
    for (PetscInt l = 0; l < Q; l++) { /* j = c, 2q - c, 2q + c, 4q - c, ...: ascending, and with it lambda */
      const PetscInt64 j = l % 2 ? (PetscInt64)(l + 1) * q - c : (PetscInt64)l * q + c;
      const double sigma = l % 2 ? -1 : 1, sh = sinpi_ratio(j, 2 * (PetscInt64)m1), w1 = sinpi_ratio(j, m1);

      p->lambda[l] = 4 * sh * sh;
      weight_set(red, p->wred, 1, l, 0, red->a * red->scale * 2 / m1 * sigma * w1);
      weight_set(red, p->wback, 1, l, 0, red->a * sigma * w1);
      weight_set(red, p->wout, 1, l, 0, red->scale * 2 / m1);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Poles of any other block, between ends l and r. coupleR: of row R to the block, in couplings */
static PetscErrorCode block_general(BCRReduction red, PetscInt Q, BCREnd l, BCREnd r, double coupleR, Block *b)
{
  const PetscInt m = b->m, ns = b->ns, nsrc = ns + (b->left ? 1 : 0) + (b->right ? 1 : 0);
  const PetscBool single = (PetscBool)(m == 1 && !b->left && !b->right);
  BCRAxisModes modes;
  PoleSet *p;
  double
    *keep; /* [pole][ns + 3]: its mode at the level's rows, in the first and the last row, the sum of its squares */
  PetscInt np = 0;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  (void)BCRAxisModesDescribe(m, l, r, &modes);
  b->nset = 1;
  b->nred = (b->left ? 1 : 0) + (b->right ? 1 : 0);
  PetscCall(BCRArenaGet(&red->plan, sizeof(PoleSet), &b->set));
  p = b->set;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  PetscCall(BCRArenaGet(&red->plan, m * sizeof(double), &p->lambda));
  PetscCall(PetscMalloc1((size_t)m * (ns + 3), &keep));
  for (PetscInt j = 0; j < m; j++) {
    double *k = keep + (size_t)np * (ns + 3);
    PetscInt64 num, den;
    PetscBool used = PETSC_FALSE;

    for (PetscInt s = 0; s < ns + 2; s++) {
      const PetscInt i = s < ns ? b->p0 + s * Q - (modes.periodic ? 0 : 1) : (s == ns ? 0 : m - 1);

      if (single) k[s] = 1; /* an axis of one row: nothing along it */
      else k[s] = BCRAxisModesGetPhase(&modes, j, i, &num, &den) ? sinpi_ratio(num, den) : cospi_ratio(num, den);
      if (s < ns && k[s] != 0) used = PETSC_TRUE;
    }
    if (!used) continue;
    k[ns + 2] = single ? 1 : BCRAxisModesGetSquares(&modes, j);
    BCRAxisModesGetAngle(&modes, j, &num, &den);
    p->lambda[np] = sinpi_ratio(single ? 0 : num, 2 * den);
    p->lambda[np] *= 4 * p->lambda[np];
    np++;
  }
  p->np = np;
  if (b->nred) ierr = weights_create(red, np, ns, &p->wsrc);
  if (!ierr) ierr = weights_create(red, np, b->nred, &p->wred);
  if (!ierr) ierr = weights_create(red, np, nsrc, &p->wback);
  if (!ierr) ierr = weights_create(red, np, ns, &p->wout);
  BCRCallElse(ierr, (void)PetscFree(keep));
  for (PetscInt j = 0; j < np; j++) {
    const double *k = keep + (size_t)j * (ns + 3), norm = k[ns + 2];
    PetscInt o = 0;

    for (PetscInt s = 0; s < ns; s++) {
      /* rows of the level have the weights of end rows in the analysis */
      const PetscInt i = b->p0 + s * Q - 1;
      const double w = single ? 1 : (i == 0 ? BCREndGetRule(l).weight : 1) * (i == m - 1 ? BCREndGetRule(r).weight : 1);

      if (b->nred) weight_set(red, p->wsrc, ns, j, s, w * k[s] / norm);
      weight_set(red, p->wback, nsrc, j, s, w * k[s] / norm);
      weight_set(red, p->wout, ns, j, s, red->scale * k[s]);
    }
    if (b->left) {
      weight_set(red, p->wred, b->nred, j, o, red->a * red->scale * k[ns]);
      weight_set(red, p->wback, nsrc, j, ns + o, red->a * k[ns] / norm);
      o++;
    }
    if (b->right) {
      weight_set(red, p->wred, b->nred, j, o, red->a * red->scale * coupleR * k[ns + 1]);
      weight_set(red, p->wback, nsrc, j, ns + o, red->a * k[ns + 1] / norm);
    }
  }
  PetscCall(PetscFree(keep));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* last: the first number beyond the rows */
static PetscErrorCode block_create(BCRReduction red, PetscInt Q, PetscInt L, PetscInt R, PetscInt last, PetscBool span,
                                   PetscInt ngroups, Block **block)
{
  Block *b;
  const BCREnd l = L == 0 && !red->periodic ? red->end[0] : BCREndAtSeparator(),
               r = R == last && !red->periodic ? red->end[1] : BCREndAtSeparator();

  PetscFunctionBegin;
  PetscCall(BCRArenaGet(&red->plan, sizeof(Block), &b));
  PetscCall(PetscMemzero(b, sizeof(*b)));
  *block = b;
  if (span && red->periodic) {
    b->m = red->n;
    b->ns = (red->n + Q - 1) / Q;
    b->p0 = 0;
    PetscCall(block_general(red, Q, red->end[0], red->end[1], 1, b));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  b->m = R - L - 1;
  b->ns = b->m / Q;
  b->p0 = Q;
  if (!b->ns) PetscFunctionReturn(PETSC_SUCCESS);
  b->left = (PetscBool)(red->periodic || L > 0);
  b->right = (PetscBool)(red->periodic || R < last);
  if (red->n > 1 && BCREndIsZero(l) && BCREndIsZero(r) && (b->m + 1) % Q == 0) {
    b->classes = PETSC_TRUE;
    b->q = (b->m + 1) / Q;
    PetscCall(block_classes(red, Q, b));
    if (red->dim == 2 && 2 * Q <= red->lanes) PetscCall(block_segments(red, Q, ngroups, b));
  } else PetscCall(block_general(red, Q, l, r, R == red->n && b->right ? BCREndGetRule(red->end[1]).inward : 1, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode plan_create(BCRReduction red, PetscInt nlevels, const PetscInt schedule[])
{
  const PetscInt beyond = red->periodic ? red->n : red->n + 1;
  PetscInt Q = 1;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < nlevels && Q < beyond; r++) {
    Level *lev = &red->level[red->nlevels++];

    lev->Q = Q;
    /* no overflow, and nothing beyond the end */
    lev->Qn = schedule[r] > (beyond - 1) / Q ? beyond : Q * schedule[r];
    lev->ngroups = (beyond - 1) / lev->Qn + 1;
    if (lev->Qn >= beyond) lev->ngroups = 1;
    Q = lev->Qn;
  }
  for (PetscInt r = 0; r < red->nlevels; r++) {
    Level *lev = &red->level[r];

    if (lev->ngroups > 1) {
      const PetscInt lastL = (lev->ngroups - 1) * lev->Qn;

      /* groups whose blocks are alike share one */
      PetscCall(block_create(red, lev->Q, 0, lev->Qn, beyond, PETSC_FALSE, lev->ngroups, &lev->block[0]));
      if (lev->block[0]->classes) lev->block[1] = lev->block[0];
      else if (lev->ngroups > 2)
        PetscCall(block_create(red, lev->Q, lev->Qn, 2 * lev->Qn, beyond, PETSC_FALSE, lev->ngroups, &lev->block[1]));
      if (lev->block[1] && beyond - lastL == lev->Qn && (red->periodic || BCREndIsZero(red->end[1])))
        lev->block[2] = lev->block[1];
      else PetscCall(block_create(red, lev->Q, lastL, beyond, beyond, PETSC_FALSE, 1, &lev->block[2]));
    } else PetscCall(block_create(red, lev->Q, 0, beyond, beyond, PETSC_TRUE, 1, &lev->block[2]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- tables of the lines for a shift -------- */

typedef struct {
  char *p;
  size_t size, used;
} Buffer;

static PetscErrorCode buffer_room(Buffer *b, size_t bytes)
{
  PetscFunctionBegin;
  if (b->used + bytes > b->size) {
    char *more;

    b->size = 2 * (b->used + bytes) + 4096;
    PetscCall(PetscMalloc1(b->size, &more));
    if (b->used) PetscCall(PetscMemcpy(more, b->p, b->used));
    PetscCall(PetscFree(b->p));
    b->p = more;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode buffer_put(BCRReduction red, Buffer *b, const double *v)
{
  PetscFunctionBegin;
  PetscCall(buffer_room(b, red->lanes * sizeof(double)));
  for (PetscInt l = 0; l < red->lanes; l++) {
    if (red->single) ((float *)(b->p + b->used))[l] = (float)v[l];
    else ((double *)(b->p + b->used))[l] = v[l];
  }
  b->used += red->lanes * (red->single ? sizeof(float) : sizeof(double));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Toeplitz: pivots P = 1 + c + e, c the coupling to a periodic line's last unknown that elimination
  has carried along (0 else; a Dirichlet end counts into e), e what is left of the row's sum: e_i =
  delta + e_{i-1}/P_{i-1} has no cancellation for delta >= 0, so the smallest eigenvalues keep their
  relative accuracy. e tends to a fixed point when delta > 0.
*/
static PetscErrorCode lines_toeplitz(BCRReduction red, const double delta[], Buffer *buf, ptrdiff_t *nt)
{
  const PetscInt bl = red->lanes, nn = red->nx - (red->periodic_x ? 1 : 0);
  const double tol = red->single ? 1e-7 : 2.5e-16; /* an ulp of the pivots */
  const BCREndRule low = BCREndGetRule(red->x.end[0]), high = BCREndGetRule(red->x.end[1]);
  double e[BCR_MAX_LANES], c[BCR_MAX_LANES], fix[BCR_MAX_LANES], r[BCR_MAX_LANES], tail[BCR_MAX_LANES],
    sum[BCR_MAX_LANES], carry[BCR_MAX_LANES];
  PetscInt i = 0;
  PetscBool done = PETSC_FALSE;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < bl; l++) {
    c[l] = red->periodic_x ? 1 : 0;
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
    PetscCall(buffer_put(red, buf, r));
    for (PetscInt l = 0; l < bl; l++) {
      sum[l] += c[l] * e[l] * r[l];
      carry[l] = e[l] * r[l];
      e[l] = delta[l] + carry[l];
      c[l] *= r[l];
    }
  }
  *nt = i;
  for (PetscInt l = 0; l < bl; l++) {
    double p;

    r[l] = 1 / (1 + fix[l]);
    if (done) { /* the rows before the last one have the fixed point */
      e[l] = fix[l];
      carry[l] = fix[l] * r[l];
      c[l] = 0;
    }
    if (red->periodic_x) { /* the last row is coupled to the last unknown on both sides */
      tail[l] = 1 / (1 + c[l] + e[l]);
      sum[l] += (c[l] + 1) * e[l] * tail[l];
      sum[l] = sum[l] == 0 ? 0 : 1 / sum[l]; /* singular: that unknown is set to zero */
    } else {
      p = delta[l] * high.weight + high.excess + carry[l];
      tail[l] = p == 0 ? 0 : 1 / p;
    }
  }
  PetscCall(buffer_put(red, buf, r));
  PetscCall(buffer_put(red, buf, tail));
  PetscCall(buffer_put(red, buf, sum));
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

    for (PetscInt l = 0; l < red->lanes; l++) {
      e[l] = sum + sigma[l] + (i ? lo * e[l] / p[l] : 0);
      p[l] = up + e[l];
      if (i == x->n - 1 && fabs(p[l]) <= 4e-16 * x->n * big) p[l] = 0; /* singular but for rounding */
      r[l] = p[l] == 0 ? 0 : 1 / p[l];
    }
    PetscCall(buffer_put(red, buf, r));
  }
  *nt = x->n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* fn on every set of poles of the plan, a block that several kinds of groups share once */
static PetscErrorCode sets_each(BCRReduction red, PetscErrorCode (*fn)(BCRReduction, PoleSet *, void *), void *ctx)
{
  PetscFunctionBegin;
  for (PetscInt r = 0; r < red->nlevels; r++)
    for (PetscInt k = 0; k < 3; k++) {
      Block *b = red->level[r].block[k];

      if (!b || (k && b == red->level[r].block[k - 1])) continue;
      if (b->seg) PetscCall((*fn)(red, b->seg, ctx));
      else
        for (PetscInt c = 0; c < b->nset; c++) PetscCall((*fn)(red, &b->set[c], ctx));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode set_number(BCRReduction red, PoleSet *p, void *ctx)
{
  PetscFunctionBegin;
  (void)ctx;
  p->nb = (p->np + red->lanes - 1) / red->lanes;
  p->first = red->npoles;
  red->npoles += p->np;
  red->nsets++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  const double *shift;
  double *inner; /* three dimensions: shifts of the poles */
  Buffer buf;
} TableCtx;

static PetscErrorCode set_tables(BCRReduction red, PoleSet *p, void *ctx_)
{
  TableCtx *ctx = (TableCtx *)ctx_;
  const size_t sz = red->single ? sizeof(float) : sizeof(double);

  PetscFunctionBegin;
  if (red->inner) {
    for (PetscInt s = 0; s < red->nshift; s++)
      for (PetscInt j = 0; j < p->np; j++)
        ctx->inner[(size_t)s * red->npoles + p->first + j] = ctx->shift[s] + red->a * p->lambda[j];
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BCRArenaGet(&red->tables, red->nshift * sizeof(*p->tab), &p->tab));
  for (PetscInt s = 0; s < red->nshift; s++) {
    ptrdiff_t *off, *nt;

    PetscCall(BCRArenaGet(&red->tables, 2 * (size_t)p->nb * sizeof(*off), &off));
    nt = off + p->nb;
    for (PetscInt b = 0; b < p->nb; b++) {
      double sigma[BCR_MAX_LANES];

      off[b] = (ptrdiff_t)(ctx->buf.used / sz); /* from the start of all tables, which may still move */
      for (PetscInt l = 0; l < red->lanes; l++)
        sigma[l] = ctx->shift[s] + red->a * p->lambda[PetscMin(b * red->lanes + l, p->np - 1)];
      if (red->line.general) PetscCall(lines_general(red, sigma, &ctx->buf, &nt[b]));
      else {
        for (PetscInt l = 0; l < red->lanes; l++) sigma[l] *= red->scale;
        PetscCall(lines_toeplitz(red, sigma, &ctx->buf, &nt[b]));
      }
    }
    p->tab[s].nb = p->nb;
    p->tab[s].off = off;
    p->tab[s].nt = nt;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode set_attach(BCRReduction red, PoleSet *p, void *tab)
{
  PetscFunctionBegin;
  for (PetscInt s = 0; s < red->nshift; s++) p->tab[s].tab = tab;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRReductionSetShifts(BCRReduction red, PetscInt nshift, const double shift[])
{
  TableCtx ctx;
  void *all = NULL;
  PetscInt ninner = 0;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&ctx, sizeof(ctx)));
  if (red->inner) PetscCall(PetscIntMultError(nshift, red->npoles, &ninner));
  PetscCall(BCRArenaFree(&red->tables));
  red->nshift = nshift;
  ctx.shift = shift;
  if (red->inner) PetscCall(PetscMalloc1(ninner, &ctx.inner));
  ierr = sets_each(red, set_tables, &ctx);
  if (!ierr) {
    if (red->inner) ierr = BCRReductionSetShifts(red->inner, ninner, ctx.inner);
    else ierr = BCRArenaGet(&red->tables, ctx.buf.used, &all);
  }
  if (!ierr && !red->inner) {
    PetscCall(PetscMemcpy(all, ctx.buf.p, ctx.buf.used));
    PetscCall(sets_each(red, set_attach, all));
  }
  PetscCall(PetscFree(ctx.inner));
  PetscCall(PetscFree(ctx.buf.p));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Work rows before those of a general block's outs: copies of its sources where u may have another type */
static PetscInt out_rows(BCRReduction red, const Block *b)
{
  return red->single || red->dim == 3 ? b->ns + 2 : 0;
}

/* -------- the plan -------- */

static PetscErrorCode reduction_fill(BCRReduction red, PetscInt dim, const BCRAxis axis[], PetscInt nlevels,
                                     const PetscInt schedule[], PetscInt ninner, const PetscInt inner[],
                                     PetscBool single, int isa)
{
  const BCRAxis *y = &axis[dim - 1];
  const size_t sz = single ? sizeof(float) : sizeof(double);
  PetscInt nrows = 3, nptr = 3, nseg = 1;

  PetscFunctionBegin;
  PetscCheck(dim == 2 || dim == 3, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Reduction in %" PetscInt_FMT " dimensions", dim);
  PetscCheck(!y->lower, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "Block cyclic reduction needs constant coefficients along axis %c, the one of the blocks. Leave radix and "
             "schedule at auto: the automatic schedule handles it",
             dim == 3 ? 'z' : 'y');
  PetscCheck(nlevels > 0 && nlevels <= BCR_MAX_LEVELS, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "%" PetscInt_FMT " levels, must be 1 to %d", nlevels, BCR_MAX_LEVELS);
  for (PetscInt r = 0; r < nlevels; r++)
    PetscCheck(schedule[r] >= 2, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "Radix %" PetscInt_FMT " on level %" PetscInt_FMT " of the schedule: must be 2 or more", schedule[r], r);
  for (PetscInt r = 0, Q = 1; Q <= y->n; Q = schedule[r] > y->n / Q ? y->n + 1 : Q * schedule[r], r++)
    PetscCheck(r < nlevels, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "The product of the schedule's radices is %" PetscInt_FMT ", must exceed the %" PetscInt_FMT
               " rows along axis %c",
               Q, y->n, dim == 3 ? 'z' : 'y');
  red->dim = dim;
  red->single = single;
  red->n = y->n;
  red->nx = axis[0].n;
  red->ny = dim == 3 ? axis[1].n : 1;
  for (int e = 0; e < 2; e++) red->end[e] = y->n > 1 ? y->end[e] : BCREndAtSeparator(); /* one row has no ends */
  red->periodic = (PetscBool)BCREndIsPeriodic(red->end[0]);
  red->a = (double)y->a;
  red->scale = 1;
  red->kernels = BCRCpuPoles(isa, single);
  red->lanes = dim == 3 ? 1 : red->kernels->lanes();
  red->ldx = (red->nx + BCR_MAX_LANES - 1) / BCR_MAX_LANES * BCR_MAX_LANES;
  if (dim == 2) {
    const BCRAxis *x = &axis[0];

    red->x = *x;
    red->line.n = x->n;
    red->line.general = x->lower || x->n == 1 || !(x->a > 0);
    red->periodic_x = (PetscBool)(!red->line.general && BCREndIsPeriodic(x->end[0]));
    red->line.periodic = red->periodic_x;
    red->line.first = BCREndGetRule(x->end[0]).weight;
    red->line.last = BCREndGetRule(x->end[1]).weight;
    if (red->line.general) {
      void *lo, *up;

      /* an axis of one unknown or without coupling is zero: its rows are in the shift */
      PetscCall(BCRArenaGet(&red->plan, 3 * (size_t)x->n * sizeof(PetscReal), &red->x.lower));
      PetscCall(PetscMemzero(red->x.lower, 3 * x->n * sizeof(PetscReal)));
      red->x.diag = red->x.lower + x->n;
      red->x.upper = red->x.diag + x->n;
      if (x->lower) {
        PetscCall(PetscArraycpy(red->x.lower, x->lower, x->n));
        PetscCall(PetscArraycpy(red->x.diag, x->diag, x->n));
        PetscCall(PetscArraycpy(red->x.upper, x->upper, x->n));
        red->x.lower[0] = red->x.upper[x->n - 1] = 0;
      }
      PetscCall(BCRArenaGet(&red->plan, x->n * sz, &lo));
      PetscCall(BCRArenaGet(&red->plan, x->n * sz, &up));
      for (PetscInt i = 0; i < x->n; i++) {
        if (single) {
          ((float *)lo)[i] = (float)red->x.lower[i];
          ((float *)up)[i] = (float)red->x.upper[i];
        } else {
          ((double *)lo)[i] = (double)red->x.lower[i];
          ((double *)up)[i] = (double)red->x.upper[i];
        }
      }
      red->line.lower = lo;
      red->line.upper = up;
    } else red->scale = 1 / (double)x->a;
  } else PetscCall(BCRReductionCreate(2, axis, ninner, inner, 0, NULL, single, isa, &red->inner));
  PetscCall(plan_create(red, nlevels, schedule));
  PetscCall(sets_each(red, set_number, NULL));
  for (PetscInt r = 0; r < red->nlevels; r++)
    for (PetscInt k = 0; k < 3; k++) {
      const Block *b = red->level[r].block[k];

      if (!b) continue;
      nrows = PetscMax(nrows, b->classes ? (b->seg ? 0 : b->ns + 3) : out_rows(red, b) + PetscMax(b->ns, 2));
      nptr = PetscMax(nptr, 2 * b->ns + 2);
      if (b->seg) {
        nrows = PetscMax(nrows, b->G * (b->ns + 2));
        nseg = PetscMax(nseg, b->G * b->ns);
      }
    }
  if (dim == 3) nrows++;
  red->rowbytes = (size_t)red->ldx * red->ny * sz;
  PetscCall(BCRArenaGet(&red->space, nrows * red->rowbytes, &red->work));
  PetscCall(PetscMemzero(red->work, nrows * red->rowbytes)); /* what pads the rows takes part in sums */
  red->tmp = red->work + (nrows - 1) * red->rowbytes;
  if (dim == 2) PetscCall(BCRArenaGet(&red->space, red->kernels->work(red->nx) * sz, &red->kernelwork));
  PetscCall(BCRArenaGet(&red->plan, 2 * (size_t)nptr * sizeof(void *), &red->psrc));
  PetscCall(BCRArenaGet(&red->plan, 2 * (size_t)nptr * sizeof(void *), &red->pdst));
  PetscCall(BCRArenaGet(&red->plan, 3 * (size_t)nseg * sizeof(void *), &red->pseg));
  PetscCall(BCRArenaGet(&red->plan, 4 * sz, &red->one));
  for (PetscInt i = 0; i < 4; i++) { /* sum and difference of two rows */
    if (single) ((float *)red->one)[i] = i < 3 ? 1 : -1;
    else ((double *)red->one)[i] = i < 3 ? 1 : -1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRReductionCreate(PetscInt dim, const BCRAxis axis[], PetscInt nlevels, const PetscInt schedule[],
                                  PetscInt ninner, const PetscInt inner[], PetscBool single, int isa,
                                  BCRReduction *reduction)
{
  BCRReduction red;

  PetscFunctionBegin;
  *reduction = NULL;
  PetscCall(PetscNew(&red));
  BCRCallElse(reduction_fill(red, dim, axis, nlevels, schedule, ninner, inner, single, isa),
              (void)BCRReductionDestroy(&red));
  *reduction = red;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRReductionDestroy(BCRReduction *reduction)
{
  BCRReduction red = *reduction;

  PetscFunctionBegin;
  if (!red) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRReductionDestroy(&red->inner));
  PetscCall(BCRArenaFree(&red->plan));
  PetscCall(BCRArenaFree(&red->space));
  PetscCall(BCRArenaFree(&red->tables));
  PetscCall(PetscFree(*reduction));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- solve -------- */

typedef struct {
  BCRReduction red;
  PetscInt s, ld[2]; /* shift, strides of u */
  int io;            /* 1: u is double and the work is not */
  size_t szu;
  char *u;
} Solve;

static char *row_u(const Solve *S, PetscInt i)
{
  return S->u + (size_t)(S->red->periodic ? i : i - 1) * S->ld[S->red->dim - 2] * S->szu;
}

static char *row_work(const Solve *S, PetscInt i)
{
  return S->red->work + (size_t)i * S->red->rowbytes;
}

/* dst = (add ? dst : 0) + W src for rows or planes; srcu, dstu: they are u's, not the work space's */
static PetscErrorCode combine(Solve *S, PetscInt nsrc, PetscBool srcu, const void *src[], const void *W, PetscInt ldw,
                              PetscInt nout, PetscBool dstu, int add, void *dst[])
{
  BCRReduction red = S->red;
  const size_t szw = red->single ? sizeof(float) : sizeof(double);

  PetscFunctionBegin;
  if (red->dry) {
    red->flops += 2.0 * nsrc * nout * red->nx * red->ny;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt y = 0; y < red->ny; y++) {
    if (y) {
      for (PetscInt k = 0; k < nsrc; k++) src[k] = (const char *)src[k] + (srcu ? S->ld[0] * S->szu : red->ldx * szw);
      for (PetscInt k = 0; k < nout; k++) dst[k] = (char *)dst[k] + (dstu ? S->ld[0] * S->szu : red->ldx * szw);
    }
    red->kernels->rows(red->nx, (int)nsrc, srcu ? S->io : 0, src, W, ldw, (int)nout, dstu ? S->io : 0, add, dst);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All poles of a set: rows g of the work space, or of u where the two have one type (two dimensions) */
static PetscErrorCode poles(Solve *S, const PoleSet *p, PetscInt nsrc, PetscBool unit, const void *g[], const void *ws,
                            PetscInt nout, int add, void *out[], const void *wo)
{
  BCRReduction red = S->red;
  const PetscInt nws = ws ? nsrc - (unit ? 1 : 0) : 0;
  double subs = p->np, flops = (double)p->np * red->nx * red->ny * (2 * nws + 2 * nout + 5);

  PetscFunctionBegin;
  if (red->dry) {
    if (red->inner) {
      PetscInt sub;
      double fl;

      PetscCall(BCRReductionGetInfo(red->inner, &sub, NULL, NULL, &fl));
      subs *= sub;
      flops += p->np * (fl - 5.0 * red->nx * red->ny);
    }
    red->subproblems += subs;
    red->flops += flops;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (!red->inner) {
    red->kernels->solve(&red->line, &p->tab[S->s], (int)nsrc, unit ? 1 : 0, g, ws, (int)nout, add, out, wo,
                        red->kernelwork);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt j = 0; j < p->np; j++) { /* planes, one by one */
    const size_t szw = red->single ? sizeof(float) : sizeof(double);
    const PetscInt ld[2] = {red->ldx, red->ldx * red->ny};
    void *t = red->tmp;
    const void *ct = red->tmp;

    if (!ws || unit) PetscCall(PetscMemcpy(t, g[0], red->rowbytes));
    for (PetscInt y = 0; ws && y < red->ny; y++) {
      const void *gy[BCR_MAX_LANES];
      void *ty = (char *)t + y * red->ldx * szw;

      for (PetscInt k = 0; k < nws; k += BCR_MAX_LANES) {
        const PetscInt n = PetscMin(nws - k, BCR_MAX_LANES);

        for (PetscInt i = 0; i < n; i++) gy[i] = (const char *)g[k + i + (unit ? 1 : 0)] + y * red->ldx * szw;
        red->kernels->rows(red->nx, (int)n, 0, gy, (const char *)ws + ((size_t)j * nws + k) * szw, n, 1, 0, unit || k,
                           &ty);
      }
    }
    PetscCall(BCRReductionSolve(red->inner, S->s * red->npoles + p->first + j, red->single ? BCR_SINGLE : BCR_DOUBLE, t,
                                ld, t, ld));
    for (PetscInt k = 0; k < nout; k++)
      red->kernels->rows((ptrdiff_t)red->ldx * red->ny, 1, 0, &ct, (const char *)wo + ((size_t)j * nout + k) * szw, 1,
                         1, 0, add || j, &out[k]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode copy_rows(Solve *S, PetscInt n, PetscBool srcu, PetscBool dstu, const void *src[], void *dst[])
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) { /* combine() moves the pointers it is given */
    const void *s = src[k];
    void *d = dst[k];

    PetscCall(combine(S, 1, srcu, &s, S->red->one, 1, 1, dstu, 0, &d));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A row with the groups beside it (reduction), or a group with the rows beside it (back substitution) */
typedef struct {
  PetscInt i; /* the row; row L of the group */
  /* reduction: the left group lies below lo (i but for a ring's first row); back substitution: the
     row at R */
  PetscInt lo, iR;
  PetscBool left, right; /* which sides there are */
  PetscBool twice;       /* a node-centred Neumann row sees its left neighbours twice */
} Item;

/* Right-hand sides of a row's classes into work rows k0, k0 + 1, ... The weights of a group's two
   ends are equal up to (-1)^(c-1), which is the parity of its rows: sources mirror at row i, and
   classes of both groups are one (paper 000's counts need that) */
static PetscErrorCode reduce_sources(Solve *S, const Block *b, PetscInt Q, const Item *it, PetscInt k0)
{
  const void **src = S->red->psrc;
  void **dst = S->red->pdst;
  PetscInt nsrc = 0;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < (it->twice ? 2 : 1); k++)
    for (PetscInt s = 1; it->left && s <= b->ns; s++) src[nsrc++] = row_u(S, it->lo - s * Q);
  for (PetscInt s = 1; it->right && s <= b->ns; s++) src[nsrc++] = row_u(S, it->i + s * Q);
  for (PetscInt c = 0; c < b->ns; c++) dst[c] = row_work(S, k0 + c);
  PetscCall(combine(S, nsrc, PETSC_TRUE, src, b->W, b->ldw, b->ns, PETSC_FALSE, 0, dst));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode reduce_add(Solve *S, PetscInt k, PetscInt i)
{
  const void *src = row_work(S, k);
  void *dst = row_u(S, i);

  PetscFunctionBegin;
  PetscCall(combine(S, 1, PETSC_FALSE, &src, S->red->one, 1, 1, PETSC_TRUE, 1, &dst));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode segments(Solve *S, const Block *b, PetscInt Q, PetscInt n, PetscBool reduce, PetscBool ends)
{
  BCRReduction red = S->red;
  const PetscInt nseg = n * b->ns;
  const void **g = (const void **)red->pseg, **e = g + b->G * b->ns;
  void **out = red->pseg + 2 * b->G * b->ns;

  PetscFunctionBegin;
  if (red->dry) {
    red->subproblems += (double)nseg * Q;
    red->flops += (double)nseg * Q * red->nx * (ends ? 9 : 7);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt s = 0; s < nseg; s++) {
    const PetscInt grp = s / b->ns, c = s % b->ns;

    g[s] = row_work(S, s);
    e[s] = row_work(S, b->G * b->ns + 2 * grp + c % 2);
    out[s] = reduce ? row_work(S, b->G * b->ns + grp) : row_work(S, s);
  }
  red->kernels->segments(&red->line, &b->seg->tab[S->s], (int)Q, (int)nseg, g, ends ? e : NULL, b->seg->wback, out,
                         reduce ? b->seg->wred : b->seg->wout, red->kernelwork);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode reduce_classes(Solve *S, const Block *b, PetscInt Q, PetscInt n, const Item *it)
{
  PetscFunctionBegin;
  if (b->seg) {
    for (PetscInt k = 0; k < n; k++) PetscCall(reduce_sources(S, b, Q, &it[k], k * b->ns));
    PetscCall(segments(S, b, Q, n, PETSC_TRUE, PETSC_FALSE));
    for (PetscInt k = 0; k < n; k++) PetscCall(reduce_add(S, b->G * b->ns + k, it[k].i));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(reduce_sources(S, b, Q, &it[k], 1));
    for (PetscInt c = 1; c <= b->ns; c++) {
      const void *g = row_work(S, c);
      void *out = row_work(S, 0);

      PetscCall(poles(S, &b->set[c - 1], 1, PETSC_FALSE, &g, NULL, 1, c > 1, &out, b->set[c - 1].wred));
    }
    PetscCall(reduce_add(S, 0, it[k].i));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Right-hand sides of a group's classes into work rows k0, k0 + 1, ..., its neighbours' sum and
   difference into e0, e0 + 1 */
static PetscErrorCode back_sources(Solve *S, const Block *b, PetscInt Q, const Item *it, PetscInt k0, PetscInt e0)
{
  const void **src = S->red->psrc;
  void **dst = S->red->pdst;
  const size_t szw = S->red->single ? sizeof(float) : sizeof(double);

  PetscFunctionBegin;
  for (PetscInt s = 1; s <= b->ns; s++) {
    src[s - 1] = row_u(S, it->i + s * Q);
    dst[s - 1] = row_work(S, k0 + s - 1);
  }
  PetscCall(combine(S, b->ns, PETSC_TRUE, src, b->W, b->ldw, b->ns, PETSC_FALSE, 0, dst));
  for (PetscInt k = 0; k < PetscMin(2, b->ns); k++) { /* odd classes: the sum, even ones: left less right */
    PetscInt n = 0;

    if (it->left) src[n++] = row_u(S, it->i);
    if (it->right) src[n++] = row_u(S, it->iR);
    if (!n) continue;
    dst[0] = row_work(S, e0 + k);
    PetscCall(combine(S, n, PETSC_TRUE, src, (const char *)S->red->one + (k ? (it->left ? 2 : 3) : 0) * szw, n, 1,
                      PETSC_FALSE, 0, dst));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode back_rows(Solve *S, const Block *b, PetscInt Q, const Item *it, PetscInt k0)
{
  const void **src = S->red->psrc;
  void **dst = S->red->pdst;

  PetscFunctionBegin;
  for (PetscInt s = 1; s <= b->ns; s++) {
    src[s - 1] = row_work(S, k0 + s - 1);
    dst[s - 1] = row_u(S, it->i + s * Q);
  }
  PetscCall(combine(S, b->ns, PETSC_FALSE, src, b->W, b->ldw, b->ns, PETSC_TRUE, 0, dst));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All n groups have a neighbour, or (the last level) none has */
static PetscErrorCode back_classes(Solve *S, const Block *b, PetscInt Q, PetscInt n, const Item *it)
{
  const PetscBool ends = (PetscBool)(it->left || it->right);

  PetscFunctionBegin;
  if (b->seg) {
    for (PetscInt k = 0; k < n; k++) PetscCall(back_sources(S, b, Q, &it[k], k * b->ns, b->G * b->ns + 2 * k));
    PetscCall(segments(S, b, Q, n, PETSC_FALSE, ends));
    for (PetscInt k = 0; k < n; k++) PetscCall(back_rows(S, b, Q, &it[k], k * b->ns));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(back_sources(S, b, Q, &it[k], 1, b->ns + 1));
    for (PetscInt c = 1; c <= b->ns; c++) { /* each class' sum of solutions takes the row before its right-hand side */
      const PoleSet *p = &b->set[c - 1];
      const void *g[] = {row_work(S, c), row_work(S, b->ns + (c % 2 ? 1 : 2))};
      void *out = row_work(S, c - 1);

      PetscCall(poles(S, p, ends ? 2 : 1, ends, g, ends ? p->wback : NULL, 1, 0, &out, p->wout));
    }
    PetscCall(back_rows(S, b, Q, &it[k], 0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of the level, then the neighbours, as sources in the work type */
static PetscErrorCode general_sources(Solve *S, const Block *b, PetscInt Q, PetscInt L, PetscInt n,
                                      const PetscInt beside[])
{
  BCRReduction red = S->red;

  PetscFunctionBegin;
  for (PetscInt s = 0; s < b->ns + n; s++) {
    red->psrc[s] = row_u(S, s < b->ns ? L + b->p0 + s * Q : beside[s - b->ns]);
    red->pdst[s] = row_work(S, s);
  }
  if (S->io || red->dim == 3) {
    PetscCall(copy_rows(S, b->ns + n, PETSC_TRUE, PETSC_FALSE, red->psrc, red->pdst));
    for (PetscInt s = 0; s < b->ns + n; s++) red->psrc[s] = row_work(S, s);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode reduce_general(Solve *S, const Block *b, PetscInt Q, PetscInt L, PetscInt iL, PetscInt iR)
{
  BCRReduction red = S->red;
  const PoleSet *p = b->set;
  PetscInt n = 0;

  PetscFunctionBegin;
  PetscCall(general_sources(S, b, Q, L, 0, NULL));
  for (PetscInt k = 0; k < b->nred; k++) red->pdst[k] = row_work(S, out_rows(red, b) + k);
  PetscCall(poles(S, p, b->ns, PETSC_FALSE, red->psrc, p->wsrc, b->nred, 0, red->pdst, p->wred));
  for (PetscInt k = 0; k < 2; k++) {
    const void *src = row_work(S, out_rows(red, b) + n);
    void *dst;

    if (!(k ? b->right : b->left)) continue;
    dst = row_u(S, k ? iR : iL);
    PetscCall(combine(S, 1, PETSC_FALSE, &src, red->one, 1, 1, PETSC_TRUE, 1, &dst));
    n++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode back_general(Solve *S, const Block *b, PetscInt Q, PetscInt L, PetscInt iL, PetscInt iR)
{
  BCRReduction red = S->red;
  const PoleSet *p = b->set;
  PetscInt n = 0, beside[2];

  PetscFunctionBegin;
  if (b->left) beside[n++] = iL;
  if (b->right) beside[n++] = iR;
  PetscCall(general_sources(S, b, Q, L, n, beside));
  for (PetscInt k = 0; k < b->ns; k++) red->pdst[k] = row_work(S, out_rows(red, b) + k);
  PetscCall(poles(S, p, b->ns + n, PETSC_FALSE, red->psrc, p->wback, b->ns, 0, red->pdst, p->wout));
  for (PetscInt k = 0; k < b->ns; k++) {
    red->psrc[k] = row_work(S, out_rows(red, b) + k);
    red->pdst[k] = row_u(S, L + b->p0 + k * Q);
  }
  PetscCall(copy_rows(S, b->ns, PETSC_FALSE, PETSC_TRUE, red->psrc, red->pdst));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const Block *group_block(const Level *lev, PetscInt g)
{
  if (g == lev->ngroups - 1) return lev->block[2];
  return lev->block[g ? 1 : 0];
}

/* Rows or groups with the same block gather until there are as many as go side by side */
typedef struct {
  const Block *block;
  PetscInt n;
  Item item[BCR_MAX_LANES];
} Batch;

static PetscErrorCode batch_flush(Solve *S, PetscInt Q, PetscBool reduce, Batch *B)
{
  PetscFunctionBegin;
  if (B->n && reduce) PetscCall(reduce_classes(S, B->block, Q, B->n, B->item));
  if (B->n && !reduce) PetscCall(back_classes(S, B->block, Q, B->n, B->item));
  B->n = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode batch_add(Solve *S, PetscInt Q, PetscBool reduce, Batch *B, const Block *b, Item it)
{
  PetscFunctionBegin;
  if (b != B->block) PetscCall(batch_flush(S, Q, reduce, B));
  B->block = b;
  B->item[B->n++] = it;
  if (B->n >= (b->seg ? b->G : 1)) PetscCall(batch_flush(S, Q, reduce, B));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode levels(Solve *S)
{
  BCRReduction red = S->red;
  const PetscInt beyond = red->periodic ? red->n : red->n + 1;
  Batch B = {NULL, 0, {{0, 0, 0, PETSC_FALSE, PETSC_FALSE, PETSC_FALSE}}};

  PetscFunctionBegin;
  for (PetscInt r = 0; r < red->nlevels; r++) {
    const Level *lev = &red->level[r];
    const PetscInt Q = lev->Q, ng = lev->ngroups;

    if (ng == 1) break;
    for (PetscInt g = 0; g < ng; g++) { /* row L of group g, between groups g - 1 and g */
      const PetscInt i = g * lev->Qn;
      const Block *right = group_block(lev, g),
                  *left = g ? group_block(lev, g - 1) : (red->periodic ? group_block(lev, ng - 1) : NULL);
      Item it = {i, g ? i : beyond, 0, PETSC_TRUE, PETSC_TRUE, PETSC_FALSE};

      if (right->ns && !right->classes) PetscCall(reduce_general(S, right, Q, i, i, g == ng - 1 ? 0 : i + lev->Qn));
      if (!left) continue;
      if (left == right && left->classes) PetscCall(batch_add(S, Q, PETSC_TRUE, &B, left, it));
      else {
        it.right = PETSC_FALSE;
        it.twice = (PetscBool)(i == red->n && BCREndGetRule(red->end[1]).inward == 2);
        if (left->classes) PetscCall(batch_add(S, Q, PETSC_TRUE, &B, left, it));
        it.left = PETSC_FALSE;
        it.right = PETSC_TRUE;
        it.twice = PETSC_FALSE;
        if (right->classes) PetscCall(batch_add(S, Q, PETSC_TRUE, &B, right, it));
      }
    }
    PetscCall(batch_flush(S, Q, PETSC_TRUE, &B));
  }
  for (PetscInt r = red->nlevels - 1; r >= 0; r--) {
    const Level *lev = &red->level[r];
    const PetscInt Q = lev->Q, ng = lev->ngroups;

    for (PetscInt g = 0; g < ng; g++) {
      const Block *b = group_block(lev, g);
      const PetscInt L = g * lev->Qn, R = g == ng - 1 ? 0 : L + lev->Qn;
      const Item it = {L,
                       L,
                       R,
                       (PetscBool)(ng > 1 && (g || red->periodic)),
                       (PetscBool)(ng > 1 && (g < ng - 1 || red->periodic)),
                       PETSC_FALSE};

      if (!b->ns) continue;
      if (b->classes) PetscCall(batch_add(S, Q, PETSC_FALSE, &B, b, it));
      else PetscCall(back_general(S, b, Q, L, L, R));
    }
    PetscCall(batch_flush(S, Q, PETSC_FALSE, &B));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRReductionSolve(BCRReduction red, PetscInt s, BCRPrecision io, const void *f, const PetscInt ldf[],
                                 void *u, const PetscInt ldu[])
{
  Solve S;
  const size_t sz = io == BCR_SINGLE ? sizeof(float) : sizeof(double);

  PetscFunctionBegin;
  PetscCheck(io == BCR_DOUBLE || red->single, PETSC_COMM_SELF, PETSC_ERR_SUP, "Double work on single precision arrays");
  PetscCheck(s >= 0 && s < red->nshift, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Shift %" PetscInt_FMT " of %" PetscInt_FMT, s,
             red->nshift);
  if (f != u)
    for (PetscInt k = 0; k < (red->dim == 3 ? red->n : 1); k++)
      for (PetscInt j = 0; j < (red->dim == 3 ? red->ny : red->n); j++)
        PetscCall(PetscMemcpy((char *)u + ((size_t)j * ldu[0] + (k ? (size_t)k * ldu[1] : 0)) * sz,
                              (const char *)f + ((size_t)j * ldf[0] + (k ? (size_t)k * ldf[1] : 0)) * sz,
                              red->nx * sz));
  S.red = red;
  S.s = s;
  S.ld[0] = ldu[0];
  S.ld[1] = red->dim == 3 ? ldu[1] : 0;
  S.io = io == BCR_DOUBLE && red->single ? 1 : 0;
  S.szu = sz;
  S.u = (char *)u;
  PetscCall(levels(&S));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRReductionGetPoles(BCRReduction red, PetscInt level, PetscInt c, PetscInt *np, double theta[],
                                    double wreduce[], double wback[])
{
  const Block *b = NULL;

  PetscFunctionBegin;
  *np = 0;
  if (level < 0 || level >= red->nlevels) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = 0; k < 3 && !(b && b->classes); k++) b = red->level[level].block[k];
  if (!b || !b->classes || c < 1 || c > b->nset) PetscFunctionReturn(PETSC_SUCCESS);
  *np = b->set[c - 1].np;
  for (PetscInt j = 0; j < *np; j++) {
    const PoleSet *p = &b->set[c - 1];

    if (theta) theta[j] = 2 - p->lambda[j];
    if (wreduce) wreduce[j] = weight_get(red, p->wred, 1, j, 0) / (red->a * red->scale);
    if (wback) wback[j] = weight_get(red, p->wout, 1, j, 0) / red->scale;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- the same walk, as a list -------- */

enum {
  STEP_LEFT = 1,
  STEP_RIGHT = 2,
  STEP_TWICE = 4,
  STEP_BACK = 8,
  STEP_GENERAL = 16
};

typedef struct {
  BCRReduction red;
  PetscInt n, max, room; /* room: items of the last step */
  BCRReductionStep *step;
  const Block *block; /* of the last step */
  PetscInt kind;
} StepList;

static PetscErrorCode step_weights(BCRReduction red, const Block *b, PetscInt kind, BCRReductionStep *st)
{
  const PetscBool classes = kind & STEP_GENERAL ? PETSC_FALSE : PETSC_TRUE, back = st->back;

  PetscFunctionBegin;
  st->np = 0;
  for (PetscInt c = 0; c < b->nset; c++) st->np += b->set[c].np;
  PetscCall(
    PetscMalloc3(st->np, &st->lambda, (size_t)st->np * st->nsrc, &st->wsrc, (size_t)st->np * st->nout, &st->wout));
  for (PetscInt c = 0, j = 0; c < b->nset; c++) {
    const PoleSet *p = &b->set[c];

    for (PetscInt l = 0; l < p->np; l++, j++) {
      double *ws = st->wsrc + (size_t)j * st->nsrc, *wo = st->wout + (size_t)j * st->nout;
      PetscInt k = 0;

      st->lambda[j] = p->lambda[l];
      if (!classes) {
        const void *from = back ? p->wback : p->wsrc, *to = back ? p->wout : p->wred;

        for (k = 0; k < st->nsrc; k++) ws[k] = weight_get(red, from, st->nsrc, l, k);
        for (k = 0; k < st->nout; k++) wo[k] = weight_get(red, to, st->nout, l, k);
        continue;
      }
      for (PetscInt side = 0; side < (back ? 1 : 2); side++) {
        if (!back && !(kind & (side ? STEP_RIGHT : STEP_LEFT))) continue;
        for (PetscInt s = 0; s < b->ns; s++) {
          const double w = ((const double *)b->W)[(size_t)c * b->ldw + s];

          ws[k++] = !side && kind & STEP_TWICE ? 2 * w : w;
          if (back) wo[s] = w * weight_get(red, p->wout, 1, l, 0);
        }
      }
      if (back) { /* the neighbours: their sum for odd classes (counted from 1), left less right for even ones */
        if (kind & STEP_LEFT) ws[k++] = weight_get(red, p->wback, 1, l, 0);
        if (kind & STEP_RIGHT) ws[k++] = (c % 2 ? -1 : 1) * weight_get(red, p->wback, 1, l, 0);
      } else wo[0] = weight_get(red, p->wred, 1, l, 0);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Items that do the same become one step. src, out: rows as row_u() has them */
static PetscErrorCode step_add(StepList *list, PetscInt level, const Block *b, PetscInt kind, PetscInt nsrc,
                               const PetscInt src[], PetscInt nout, const PetscInt out[])
{
  const PetscInt first = list->red->periodic ? 0 : 1;
  BCRReductionStep *st;

  PetscFunctionBegin;
  if (!list->n || list->block != b || list->kind != kind || list->step[list->n - 1].level != level) {
    if (list->n == list->max) {
      BCRReductionStep *more;

      PetscCall(PetscMalloc1(2 * list->max + 16, &more));
      list->max = 2 * list->max + 16;
      PetscCall(PetscArraycpy(more, list->step, list->n));
      PetscCall(PetscFree(list->step));
      list->step = more;
    }
    st = &list->step[list->n++];
    PetscCall(PetscMemzero(st, sizeof(*st)));
    st->level = level;
    st->back = kind & STEP_BACK ? PETSC_TRUE : PETSC_FALSE;
    st->nsrc = nsrc;
    st->nout = nout;
    list->block = b;
    list->kind = kind;
    list->room = 0;
    PetscCall(step_weights(list->red, b, kind, st));
  }
  st = &list->step[list->n - 1];
  if (st->count == list->room) {
    PetscInt *moresrc, *moreout;

    list->room = 2 * list->room + 4;
    PetscCall(PetscMalloc1((size_t)list->room * nsrc, &moresrc));
    BCRCallElse(PetscMalloc1((size_t)list->room * nout, &moreout), (void)PetscFree(moresrc));
    PetscCall(PetscArraycpy(moresrc, st->src, (size_t)st->count * nsrc));
    PetscCall(PetscArraycpy(moreout, st->out, (size_t)st->count * nout));
    PetscCall(PetscFree(st->src));
    PetscCall(PetscFree(st->out));
    st->src = moresrc;
    st->out = moreout;
  }
  for (PetscInt k = 0; k < nsrc; k++) st->src[(size_t)st->count * nsrc + k] = src[k] - first;
  for (PetscInt k = 0; k < nout; k++) st->out[(size_t)st->count * nout + k] = out[k] - first;
  st->count++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode step_reduce(StepList *list, PetscInt level, const Block *b, PetscInt Q, const Item *it,
                                  PetscInt src[])
{
  PetscInt n = 0;

  PetscFunctionBegin;
  for (PetscInt s = 1; it->left && s <= b->ns; s++) src[n++] = it->lo - s * Q;
  for (PetscInt s = 1; it->right && s <= b->ns; s++) src[n++] = it->i + s * Q;
  PetscCall(step_add(list, level, b,
                     (it->left ? STEP_LEFT : 0) | (it->right ? STEP_RIGHT : 0) | (it->twice ? STEP_TWICE : 0), n, src,
                     1, &it->i));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* src: work space, as many numbers as the longest step has sources */
static PetscErrorCode steps_fill(BCRReduction red, PetscInt src[], StepList *list)
{
  const PetscInt beyond = red->periodic ? red->n : red->n + 1;
  PetscInt out[2];

  PetscFunctionBegin;
  for (PetscInt r = 0; r < red->nlevels; r++) {
    const Level *lev = &red->level[r];
    const PetscInt Q = lev->Q, ng = lev->ngroups;

    if (ng == 1) break;
    for (PetscInt g = 0; g < ng; g++) {
      const PetscInt i = g * lev->Qn;
      const Block *right = group_block(lev, g),
                  *left = g ? group_block(lev, g - 1) : (red->periodic ? group_block(lev, ng - 1) : NULL);
      Item it = {i, g ? i : beyond, 0, PETSC_TRUE, PETSC_TRUE, PETSC_FALSE};

      if (right->ns && !right->classes) {
        PetscInt n = 0;

        for (PetscInt s = 0; s < right->ns; s++) src[s] = i + right->p0 + s * Q;
        if (right->left) out[n++] = i;
        if (right->right) out[n++] = g == ng - 1 ? 0 : i + lev->Qn;
        PetscCall(step_add(list, r, right, STEP_GENERAL, right->ns, src, n, out));
      }
      if (!left) continue;
      if (left == right && left->classes) PetscCall(step_reduce(list, r, left, Q, &it, src));
      else {
        it.right = PETSC_FALSE;
        it.twice = (PetscBool)(i == red->n && BCREndGetRule(red->end[1]).inward == 2);
        if (left->classes) PetscCall(step_reduce(list, r, left, Q, &it, src));
        it.left = PETSC_FALSE;
        it.right = PETSC_TRUE;
        it.twice = PETSC_FALSE;
        if (right->classes) PetscCall(step_reduce(list, r, right, Q, &it, src));
      }
    }
  }
  for (PetscInt r = red->nlevels - 1; r >= 0; r--) {
    const Level *lev = &red->level[r];
    const PetscInt Q = lev->Q, ng = lev->ngroups;

    for (PetscInt g = 0; g < ng; g++) {
      const Block *b = group_block(lev, g);
      const PetscInt L = g * lev->Qn, R = g == ng - 1 ? 0 : L + lev->Qn;
      const PetscBool left = (PetscBool)(ng > 1 && (g || red->periodic)),
                      right = (PetscBool)(ng > 1 && (g < ng - 1 || red->periodic));
      PetscInt n = b->ns;

      if (!b->ns) continue;
      for (PetscInt s = 0; s < b->ns; s++) src[s] = L + (b->classes ? Q : b->p0) + s * Q;
      if (b->classes ? left : b->left) src[n++] = L;
      if (b->classes ? right : b->right) src[n++] = R;
      PetscCall(step_add(list, r, b,
                         STEP_BACK | (b->classes ? (left ? STEP_LEFT : 0) | (right ? STEP_RIGHT : 0) : STEP_GENERAL), n,
                         src, b->ns, src));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRReductionGetSteps(BCRReduction red, double *scale, PetscInt *nsteps, BCRReductionStep **steps)
{
  StepList list = {red, 0, 0, 0, NULL, NULL, 0};
  PetscInt *src;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCheck(!red->single, PETSC_COMM_SELF, PETSC_ERR_PLIB, "Steps are made from weights in double");
  PetscCall(PetscMalloc1(2 * (size_t)red->n + 2, &src));
  ierr = steps_fill(red, src, &list);
  PetscCall(PetscFree(src));
  BCRCallElse(ierr, (void)BCRReductionFreeSteps(&list.n, &list.step));
  *scale = red->scale;
  *nsteps = list.n;
  *steps = list.step;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRReductionFreeSteps(PetscInt *nsteps, BCRReductionStep **steps)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < *nsteps; i++) {
    BCRReductionStep *st = &(*steps)[i];

    PetscCall(PetscFree(st->src));
    PetscCall(PetscFree(st->out));
    PetscCall(PetscFree3(st->lambda, st->wsrc, st->wout));
  }
  PetscCall(PetscFree(*steps));
  *nsteps = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRReductionGetInfo(BCRReduction red, PetscInt *subproblems, size_t *workspace, size_t *tables,
                                   double *flops)
{
  Solve S;
  size_t w = 0, t = 0;

  PetscFunctionBegin;
  if (red->subproblems == 0) { /* walk through a solve without doing it */
    PetscCall(PetscMemzero(&S, sizeof(S)));
    S.red = red;
    S.u = red->work;
    red->dry = PETSC_TRUE;
    red->flops = 0;
    PetscCall(levels(&S));
    red->dry = PETSC_FALSE;
    red->planflops = red->flops;
  }
  if (red->inner) PetscCall(BCRReductionGetInfo(red->inner, NULL, &w, &t, NULL));
  if (subproblems) *subproblems = (PetscInt)red->subproblems;
  if (workspace) *workspace = w + red->space.bytes;
  if (tables) *tables = t + red->plan.bytes + red->tables.bytes;
  if (flops) *flops = red->planflops;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Radix after radix until the product exceeds n. Radix 4 with n = 2^k - 1, k odd: the last level is
  what is left, radix 2 (paper 000, end of 2.2, "one radix-2 BCR back substitution step").
*/
PetscErrorCode BCRScheduleFromRadix(PetscInt radix, PetscInt n, PetscInt *nlevels, PetscInt schedule[])
{
  PetscInt Q = 1, k = 0;

  PetscFunctionBegin;
  PetscCheck(radix >= 2, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "Radix %" PetscInt_FMT ": must be 2 or more",
             radix);
  while (Q <= n) {
    PetscInt q = radix;

    /* a last level of fewer rows than the radix: n + 1 = q Q leaves a full group of a smaller radix */
    if (n / Q + 1 < radix) q = n / Q + 1;
    PetscCheck(k < BCR_MAX_LEVELS, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "More than %d levels", BCR_MAX_LEVELS);
    schedule[k++] = q;
    if (q > n / Q) break;
    Q *= q;
  }
  *nlevels = k;
  PetscFunctionReturn(PETSC_SUCCESS);
}
