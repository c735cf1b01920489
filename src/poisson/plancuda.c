/*
  Which ways a CUDA device has to solve a box: plancuda.h. No CUDA is called but by the pointers of BCRPlanCuda.
*/
#include "plancuda.h"
#include "../base/modes.h"
#include <math.h>
#include <string.h>

/* both ends are nodes with images of that sign: -1 sines, 1 cosines, in nodes */
static PetscBool node_ends(const BCRAxis *a, int sign)
{
  const BCREndMirror low = BCREndGetRule(a->end[0]).mirror, high = BCREndGetRule(a->end[1]).mirror;

  return !a->lower && low.sign == sign && high.sign == sign && low.distance != 1 && high.distance != 1 ? PETSC_TRUE
                                                                                                       : PETSC_FALSE;
}

/* ---- transforms ---- */

/* angles pi (ja j + jb)/P */
void BCRPlanCudaModes(PetscInt n, const BCREnd end[2], BCRCudaModes *m)
{
  BCRAxisModes modes;
  int common; /* factor of angle and length */

  (void)BCRAxisModesDescribe(n, end[0], end[1], &modes); /* BCRPlanModes() has seen to pairs without modes */
  common = modes.periodic || modes.first % 2 || modes.length % 2 ? 1 : 2;
  m->n = (int)modes.n;
  for (int e = 0; e < 2; e++) m->half[e] = BCREndGetRule(end[e]).weight < 1;
  m->periodic = modes.periodic;
  m->ib = modes.offset;
  m->cosine = !modes.periodic && !modes.odd;
  m->ja = modes.periodic ? 1 : 2 / common;
  m->jb = modes.first / common;
  m->P = (int)(modes.length / common);
}

PetscBool BCRPlanCudaFft(BCRPlan p, int P)
{
  return P > BCR_PLAN_DENSE_MOST && p->limits.cuda->fft(P, p->single, p->limits.cuda->shared) ? PETSC_TRUE
                                                                                              : PETSC_FALSE;
}

/* Unknowns of a row from which on rowfft.cu is faster than a product, where both have it: h200_poisson.csv */
#define ROWS_LEAST 100
/* and of all rows, SPECTRAL: those of 128^3 take 0.054 ms where products take 0.023, of 256^3 0.185 and 0.29
   (h200_spectral_stages.csv) */
#define ROWS_LEAST_ALL 192

/* Of the rows of separators. One transform of a row: whether its kernels have this axis. In order of speed on an H200,
   bench/results/h200_poisson.csv; a product is faster than convolutions of any length */
typedef struct {
  BCRTransformKind kind;
  PetscBool (*can)(BCRPlan plan, const BCRCudaModes *modes);
} RowsWay;

static PetscBool rows_sine(BCRPlan p, const BCRCudaModes *m)
{
  return (node_ends(&p->axis[0], -1) || node_ends(&p->axis[0], 1)) &&
             p->limits.cuda->sine(m->P, p->single, p->limits.cuda->shared)
           ? PETSC_TRUE
           : PETSC_FALSE;
}

static PetscBool rows_rows(BCRPlan p, const BCRCudaModes *m)
{
  const BCRAxis *x = &p->axis[0];
  BCRCudaRowFft plan;

  (void)m;
  if (x->end[0] != x->end[1] || node_ends(x, -1) || node_ends(x, 1)) return PETSC_FALSE;
  if (p->transform[0] == BCR_TRANSFORM_PRODUCT && p->n[0] < (p->product ? ROWS_LEAST_ALL : ROWS_LEAST))
    return PETSC_FALSE;
  return p->limits.cuda->rows((int)p->n[0], x->end[0], 0, p->single, p->limits.cuda->shared, &plan, NULL, NULL, NULL)
           ? PETSC_TRUE
           : PETSC_FALSE;
}

static PetscBool rows_prime(BCRPlan p, const BCRCudaModes *m)
{
  BCRCudaDstPrime plan;

  return node_ends(&p->axis[0], -1) &&
             p->limits.cuda->prime(m->P, p->single, p->limits.cuda->shared, &plan, NULL, NULL, NULL)
           ? PETSC_TRUE
           : PETSC_FALSE;
}

/* Unknowns of a row from which on dstprime.cu is faster than a product: of 509 rows take 0.24 ms less each way, of 300 as long
   (h200_convolutions.csv) */
#define ROWS_PRIME_LEAST 400
static PetscBool rows_product(BCRPlan p, const BCRCudaModes *m)
{
  if (p->n[0] >= ROWS_PRIME_LEAST && rows_prime(p, m)) return PETSC_FALSE;
  return p->transform[0] == BCR_TRANSFORM_PRODUCT ? PETSC_TRUE : PETSC_FALSE;
}

static PetscBool rows_chirp(BCRPlan p, const BCRCudaModes *m)
{
  const PetscBool even = node_ends(&p->axis[0], 1);

  return (even || node_ends(&p->axis[0], -1)) && p->limits.cuda->chirp(m->P, even, p->single, p->limits.cuda->shared)
           ? PETSC_TRUE
           : PETSC_FALSE;
}

static PetscBool rows_convolve(BCRPlan p, const BCRCudaModes *m)
{
  (void)m;
  return p->limits.cuda->convolve((int)p->n[0], p->axis[0].end, p->single, p->limits.cuda->shared) ? PETSC_TRUE
                                                                                                   : PETSC_FALSE;
}

static const RowsWay rows_ways[] = {
  {BCR_TRANSFORM_SINE,     rows_sine    },
  {BCR_TRANSFORM_ROWS,     rows_rows    },
  {BCR_TRANSFORM_PRODUCT,  rows_product },
  {BCR_TRANSFORM_PRIME,    rows_prime   },
  {BCR_TRANSFORM_CHIRP,    rows_chirp   },
  {BCR_TRANSFORM_CONVOLVE, rows_convolve}
};

/* Unknowns of such lines up to which a product takes no longer: of 12 half as long, of 40 1.08 times as long
   (h200_plans.csv) */
#define ACROSS_LEAST 32

/* Unknowns from which on products are those of productacross.cu, in double precision: by h200_convolutions.csv, periodic 251,
   301 in 0.87, 0.84 of the time of a solve, cell-centred and Dirichlet 251, 301 in 1.03, 0.96. Not those that planes on chip
   may have */
#define PRODUCT_ACROSS_PERIODIC 161
#define PRODUCT_ACROSS_LEAST    257

PetscBool BCRPlanCudaProductsAcross(BCRPlan p, PetscInt d)
{
  const PetscInt least = BCREndIsPeriodic(p->axis[d].end[0]) ? PRODUCT_ACROSS_PERIODIC : PRODUCT_ACROSS_LEAST;
  BCRCudaProducts m;
  BCRCudaModes modes;

  if (p->single || d == 0 || p->n[d] < least || p->transform[d] != BCR_TRANSFORM_PRODUCT) return PETSC_FALSE;
  BCRPlanCudaModes(p->n[d], p->axis[d].end, &modes);
  return p->limits.cuda->product(&modes, p->limits.cuda->shared, &m) &&
             p->limits.cuda->productacross(&modes, p->limits.cuda->shared, &m)
           ? PETSC_TRUE
           : PETSC_FALSE;
}

/* Whether a convolution takes less than a product, by h200_convolutions.csv. A convolution of length 512 or 1024 takes as long
   for any number of unknowns that it has; products take longer the more there are, those of productacross.cu in steps
   (256, 384). Dirichlet ends: even numbers have one matrix for both parities, or convolutions in box.cuh in single precision;
   odd ones in double precision products in the same time and a digit more, in single precision (509: 0.61 of the time)
   backward errors of 3e-7 where products have 2e-8 */
static PetscBool across_convolves(BCRPlan p, PetscInt d)
{
  const BCRAxis *a = &p->axis[d];
  const PetscInt n = a->n;
  BCRCudaChirpAcross chirp;
  PetscBool less;

  if (BCREndIsPeriodic(a->end[0])) less = p->single ? n >= 140 : (n >= 216 && n <= 256) || n >= 385;
  else if (node_ends(a, -1)) less = p->single && n % 2 && n >= 440;
  else less = n >= (p->single ? 200 : 440);
  return less && p->limits.cuda->across((int)n, a->end[0], p->single, p->limits.cuda->shared, &chirp, NULL, NULL)
           ? PETSC_TRUE
           : PETSC_FALSE;
}

/* Along axis d of lines that are neighbours in memory, in order of speed; lines of strided unknowns cost more by other
   kernels */
static BCRTransformKind across_choose(BCRPlan p, PetscInt d)
{
  const BCRAxis *a = &p->axis[d];
  const BCRPlanCuda *cuda = p->limits.cuda;
  BCRCudaRowFft plan;

  if (p->options.plain || p->nlevels || a->end[0] != a->end[1] || p->stride[0] != 1) return p->transform[d];
  if (p->transform[d] == BCR_TRANSFORM_PRODUCT && a->n <= ACROSS_LEAST) return BCR_TRANSFORM_PRODUCT;
  if (cuda->rows((int)a->n, a->end[0], 1, p->single, cuda->shared, &plan, NULL, NULL, NULL)) return BCR_TRANSFORM_ROWS;
  if (node_ends(a, -1) && cuda->columns((int)a->n + 1, p->single)) return BCR_TRANSFORM_COLUMNS;
  if (node_ends(a, 1) && cuda->box((int)a->n - 1)) return BCR_TRANSFORM_COLUMNS;
  if (across_convolves(p, d)) return BCR_TRANSFORM_ACROSS;
  return p->transform[d];
}

/* The first way that a row has */
static BCRTransformKind rows_choose(BCRPlan p)
{
  BCRCudaModes m;

  BCRPlanCudaModes(p->n[0], p->axis[0].end, &m);
  for (size_t w = 0; w < PETSC_STATIC_ARRAY_LENGTH(rows_ways); w++)
    if (rows_ways[w].can(p, &m)) return rows_ways[w].kind;
  return p->transform[0];
}

/* SPECTRAL: axes but the first are transformed where they are; the last one by what has the division in it. Rows may have
   a place more than there are modes, which products with eigenvectors do not take, nor ranks that have parts of rows */
static void spectral_choose(BCRPlan p)
{
  PetscBool general = PETSC_FALSE;

  for (PetscInt d = 0; d < p->dim; d++) {
    BCRCudaModes m;

    if (p->axis[d].lower) general = PETSC_TRUE;
    if (p->axis[d].lower || d == 0) continue;
    BCRPlanCudaModes(p->n[d], p->axis[d].end, &m);
    if (d == BCRPlanSpectralLast(p) && p->dim < 3 && BCRPlanCudaFft(p, m.P)) p->transform[d] = BCR_TRANSFORM_FFT;
    else p->transform[d] = across_choose(p, d);
  }
  if (!general && !p->options.plain && p->dim > 1 && p->along != 0 && p->stride[0] == 1 && p->n[0] >= p->limits.row)
    p->rowsby = rows_choose(p);
}

/* Unknowns from which on a convolution through memory takes less than a product with a matrix that is not stored */
#define LONG_LEAST 1536
/* and less than a transform in shared memory with a factor of more than LONG_FACTOR: 10006 between nodes, 23 and 29, took 67
   copies, in double precision by a convolution 8 (h200_convolutions.csv; of shorter ones none was measured) */
#define LONG_ROWS   9216
#define LONG_FACTOR 16

static PetscBool long_first(PetscInt n, int P)
{
  for (int r = 2; r <= LONG_FACTOR; r++)
    while (P % r == 0) P /= r;
  return n > LONG_ROWS && P > 1 ? PETSC_TRUE : PETSC_FALSE;
}

void BCRPlanCudaTransforms(BCRPlan p)
{
  const BCRPlanCuda *cuda = p->limits.cuda;

  for (PetscInt d = 0; d < p->dim; d++) {
    BCRCudaProducts product;
    BCRCudaModes m;
    BCRCudaLong line;

    if (p->axis[d].lower) continue;
    BCRPlanCudaModes(p->n[d], p->axis[d].end, &m);
    if (p->dim == 3 && cuda->product(&m, cuda->shared, &product)) p->transform[d] = BCR_TRANSFORM_PRODUCT;
    else {
      const PetscBool fft = BCRPlanCudaFft(p, m.P);

      if (fft && !long_first(p->n[d], m.P)) p->transform[d] = BCR_TRANSFORM_FFT;
      else if (p->n[d] >= LONG_LEAST && cuda->longline(&m, cuda->shared, &line)) p->transform[d] = BCR_TRANSFORM_LONG;
      else p->transform[d] = fft ? BCR_TRANSFORM_FFT : BCR_TRANSFORM_DENSE;
    }
  }
  p->rowsby = p->transform[0];
  if (p->product) {
    spectral_choose(p);
    return;
  }
  if (p->across >= 0 && !p->axis[p->across].lower) p->acrossby = across_choose(p, p->across);
  if (p->dim > 1 && !BCRPlanWhyNotLevel0Sizes(p)) p->rowsby = rows_choose(p);
}

PetscBool BCRPlanCudaEven(BCRPlan p)
{
  return node_ends(&p->axis[0], 1) && (p->rowsby == BCR_TRANSFORM_SINE || p->rowsby == BCR_TRANSFORM_CHIRP ||
                                       p->rowsby == BCR_TRANSFORM_CONVOLVE)
           ? PETSC_TRUE
           : PETSC_FALSE;
}

PetscBool BCRPlanCudaStays(BCRPlan p)
{
  /* even modes, then odd ones */
  if (p->rowsby == BCR_TRANSFORM_CONVOLVE && (node_ends(&p->axis[0], -1) || node_ends(&p->axis[0], 1)))
    return PETSC_FALSE;
  return p->rowsby != BCR_TRANSFORM_DENSE ? PETSC_TRUE : PETSC_FALSE;
}

/* ---- planes on chip ---- */

void BCRPlanCudaBox(BCRPlan p, BCRCudaBoxPass *pass, BCRCudaBoxPlanes *planes)
{
  const PetscInt across = p->box.across, in = p->box.in, line = p->box.line;

  memset(pass, 0, sizeof(*pass));
  memset(planes, 0, sizeof(*planes));
  pass->even = node_ends(&p->axis[across], 1);
  pass->N = pass->L = (int)p->n[across] + (pass->even ? -1 : 1);
  pass->nx = (int)p->n[0];
  pass->nb = (int)p->n[3 - across];
  pass->frow = pass->urow = p->stride[across];
  pass->fplane = pass->uplane = p->stride[3 - across];
  planes->kind = p->box.kind;
  planes->even = node_ends(&p->axis[in], 1);
  planes->N = (int)p->n[in] + (planes->even ? -1 : 1);
  planes->n = (int)p->n[line] - (p->open[1] ? 1 : 0);
  planes->planes = (int)p->n[across];
  planes->ld = p->stride[3 - across];
  planes->plane = p->stride[across];
  for (int e = 0; e < 2; e++) {
    planes->open[e] = p->open[e];
    planes->half[e] = BCREndGetRule(p->axis[line].end[e]).weight < 1;
  }
}

enum {
  BOX_MOST = 32768,   /* unknowns of an axis: indices of the kernels */
  BOX_OPEN_LEAST = 4, /* rows between two interfaces: each end takes two */
  /* Unknowns along rows that the whole box stays on chip for: there are no kernels for more */
  BOX_ROWS_MOST = 255,
  /* Length of the transform in a plane where ranks wait for one another in the kernel: larger planes wait longer than two
     more passes take. docs/ranks.md has times of 127^3; those of larger boxes were not kept */
  BOX_WAIT_LENGTH = 128
};

/* There are transforms by classes of these lengths */
static PetscBool box_axis(BCRPlan p, PetscInt d)
{
  const PetscInt N = node_ends(&p->axis[d], -1) ? p->n[d] + 1 : (node_ends(&p->axis[d], 1) ? p->n[d] - 1 : 0);

  return p->limits.cuda->box((int)N) ? PETSC_TRUE : PETSC_FALSE;
}

static PetscBool box_sines(BCRPlan p, PetscInt d)
{
  return node_ends(&p->axis[d], -1);
}

/* Sine or cosine transforms along two axes, lines along the third, with planes on chip where they fit: by the axes alone, so that
   the device is asked once */
static const char *box_find(BCRPlan p)
{
  /* in the order of speed; y goes first, for its neighbours are nearer to each other than those along z */
  static const struct {
    int kind, across, in, line;
  } ways[] = {
    {BCR_CUDA_BOX_SLABS, 1, 2, 0},
    {BCR_CUDA_BOX_SLABS, 2, 1, 0},
    {BCR_CUDA_BOX_ROWS,  1, 0, 2},
    {BCR_CUDA_BOX_ROWS,  2, 0, 1},
    {BCR_CUDA_BOX_MARCH, 1, 0, 2},
    {BCR_CUDA_BOX_MARCH, 2, 0, 1}
  };
  const PetscBool open = p->open[0] || p->open[1] ? PETSC_TRUE : PETSC_FALSE;

  if (p->options.plain) return "transforms and lines alone are asked for";
  if (p->dim != 3) return "it is for three dimensions";
  if (p->stride[0] != 1) return "rows are not contiguous";
  if (p->product) return "lines have a factor each, or are of either sign";
  for (PetscInt d = 0; d < 3; d++)
    if (!(p->axis[d].a > 0) || p->axis[d].lower || p->axis[d].n > BOX_MOST)
      return "an axis has no coupling, coefficients that vary or too many unknowns";
  if (open && (p->n[p->along] < BOX_OPEN_LEAST || BCREndIsPeriodic(p->axis[p->along].end[0])))
    return "rows that go on are few or a ring";
  if (p->box.asked) return p->box.found ? NULL : "no two axes have lengths of its transforms, or no plane fits";
  p->box.asked = PETSC_TRUE;
  for (size_t w = 0; w < PETSC_STATIC_ARRAY_LENGTH(ways); w++) {
    BCRCudaBoxPass pass;
    BCRCudaBoxPlanes planes;

    if (!box_axis(p, ways[w].across) || !box_axis(p, ways[w].in)) continue;
    if (ways[w].kind == BCR_CUDA_BOX_ROWS && p->n[ways[w].in] > BOX_ROWS_MOST) continue;
    if (ways[w].kind != BCR_CUDA_BOX_SLABS && (!box_sines(p, ways[w].across) || !box_sines(p, ways[w].in))) continue;
    if (open && (ways[w].line != p->along || ways[w].kind != BCR_CUDA_BOX_MARCH)) continue;
    p->box.kind = ways[w].kind;
    p->box.across = ways[w].across;
    p->box.in = ways[w].in;
    p->box.line = ways[w].line;
    BCRPlanCudaBox(p, &pass, &planes);
    if (!p->limits.cuda->boxfits(&planes, p->single)) continue;
    p->box.found = PETSC_TRUE;
    p->box.stays =
      open && planes.N == BOX_WAIT_LENGTH && p->limits.cuda->boxranks(&planes, p->single) ? PETSC_TRUE : PETSC_FALSE;
    return NULL;
  }
  return "no two axes have lengths of its transforms, or no plane fits";
}

/* Lines of all modes have to be definite: axes i and j are transformed */
static const char *box_definite(BCRPlan p, PetscInt i, PetscInt j)
{
  const double shift = p->singular ? 0 : p->shift + p->fixed;

  for (PetscInt k = 0; k < p->n[i]; k++)
    if (!(p->singular && k == p->constant[i]) &&
        !(shift + p->axis[i].a * p->lambda[i][k] + p->axis[j].a * p->lambda[j][0] > 0))
      return "the shift leaves a mode that is not definite";
  return NULL;
}

static const char *cuda_box_passes(BCRPlan p)
{
  const char *why = box_find(p);

  return why ? why : box_definite(p, p->box.across, p->box.in);
}

static const char *cuda_box(BCRPlan p)
{
  const char *why = box_find(p);

  if (why) return why;
  if (p->box.kind == BCR_CUDA_BOX_MARCH && !p->box.stays) return "planes do not stay on chip";
  return box_definite(p, p->box.across, p->box.in);
}

/* ---- planes through the second-level cache ---- */

/* Ends of an axis of planes; PETSC_FALSE: there are no kernels for them */
static PetscBool ring_ends(const BCRAxis *a, BCRCudaRingAxis *r)
{
  const BCREndMirror low = BCREndGetRule(a->end[0]).mirror, high = BCREndGetRule(a->end[1]).mirror;
  const PetscBool cell = low.distance == 1 ? PETSC_TRUE : PETSC_FALSE;

  r->odd = (cell || low.sign != high.sign) && low.sign < 0;
  if (BCREndIsPeriodic(a->end[0])) r->ends = BCR_CUDA_RING_PERIODIC;
  else if (low.sign == high.sign)
    r->ends = cell ? BCR_CUDA_RING_CELL : (low.sign < 0 ? BCR_CUDA_RING_SINES : BCR_CUDA_RING_COSINES);
  else r->ends = cell ? BCR_CUDA_RING_CELL_MIXED : BCR_CUDA_RING_NODE_MIXED;
  return BCREndIsPeriodic(a->end[0]) || cell == (high.distance == 1) ? PETSC_TRUE : PETSC_FALSE;
}

PetscBool BCRPlanCudaRing(BCRPlan p, PetscBool split, BCRCudaRing *r)
{
  const BCRPlanCuda *cuda = p->limits.cuda;
  const PetscInt *axis = p->ring.axis;
  const ptrdiff_t row = p->stride[axis[1]], plane = p->stride[axis[2]];
  const int n[3] = {(int)p->n[axis[0]], (int)p->n[axis[1]], (int)p->n[axis[2]]};

  memset(r, 0, sizeof(*r));
  for (int e = 0; e < 2; e++) (void)ring_ends(&p->axis[axis[e]], &r->axis[e]);
  r->frow = r->urow = row;
  r->fplane = r->uplane = plane;
  r->modes = plane;
  r->apart = row != p->n[0] || plane < row * n[1] || plane % 2; /* planes are not pairs of numbers, in one piece */
  if (split) return cuda->split(n, p->single, r) ? PETSC_TRUE : PETSC_FALSE;
  return cuda->ring(n, p->single, cuda->sms, cuda->cache, cuda->shared, r) ? PETSC_TRUE : PETSC_FALSE;
}

/* What keeps any planes away */
static const char *ring_rows(BCRPlan p)
{
  if (p->options.plain) return "transforms and lines alone are asked for";
  if (p->dim != 3) return "it is for three dimensions";
  return p->stride[0] != 1 ? "rows are not contiguous" : NULL;
}

static PetscBool ring_open(BCRPlan p)
{
  return p->open[0] || p->open[1] ? PETSC_TRUE : PETSC_FALSE;
}

/* Lines along axis 2, or (way) 1, by the axes alone, RING's or SPLIT's */
static const char *ring_sizes(BCRPlan p, PetscBool split, int way)
{
  const PetscInt y = way ? 2 : 1, z = 3 - y;
  PetscBool *asked = split ? &p->split.asked : &p->ring.asked[way], *fits = split ? &p->split.fits : &p->ring.fits[way];
  int sines = 0;

  p->ring.axis[0] = 0;
  p->ring.axis[1] = y;
  p->ring.axis[2] = z;
  if (p->n[z] > 32768) return "there are too many planes";
  if (ring_open(p) && z != p->along) return "rows of its planes go on on other ranks";
  if (p->axis[z].times) return "lines have numbers along them";
  for (int e = 0; e < 2; e++) {
    const BCRAxis *a = &p->axis[p->ring.axis[e]];
    const PetscInt n = p->n[p->ring.axis[e]];
    BCRCudaRingAxis ends;

    if (a->lower || (!p->product && !(a->a > 0)))
      return "an axis of the planes has no coupling, or coefficients that vary";
    if (!ring_ends(a, &ends)) return "an axis of the planes has a node-centred and a cell-centred end";
    if (split && ends.ends != BCR_CUDA_RING_PERIODIC && ends.ends != BCR_CUDA_RING_CELL)
      return "an axis of the planes is not periodic, nor cell-centred of one kind";
    if (ends.ends == BCR_CUDA_RING_SINES && !(n & (n + 1))) sines++;
  }
  /* one run each on an H200: 511^3 in 4.75 ms by planes through the cache, in 2.73 without; 63^3 in 0.052 and 0.047 */
  if (sines == 2) return "sines of such lengths have kernels that are faster";
  if (!*asked) {
    BCRCudaRing r;

    *fits = BCRPlanCudaRing(p, split, &r);
  }
  *asked = PETSC_TRUE;
  if (split) return *fits ? NULL : "no lengths of its kernels";
  return *fits ? NULL : "no lengths of its kernels, or the second-level cache is too small";
}

/* Lines by tables where each of them is definite, or the singular one; else by elimination */
static PetscBool ring_general(BCRPlan p)
{
  const BCRAxis *z = &p->axis[p->ring.axis[2]];
  double least = p->singular ? 0 : p->shift + p->fixed; /* of the modes */
  PetscBool holds = PETSC_FALSE;                        /* an end holds the constant */

  for (int e = 0; e < 2; e++) least += p->axis[p->ring.axis[e]].a * p->lambda[p->ring.axis[e]][0];
  for (int e = 0; e < 2; e++)
    if (p->open[e] || BCREndExcess(z->end[e]) > 0) holds = PETSC_TRUE;
  return z->lower || !(z->a > 0) || !(least > 0 || (least == 0 && (holds || p->singular))) ||
             !p->limits.cuda->ringlines((int)z->n, p->single)
           ? PETSC_TRUE
           : PETSC_FALSE;
}

/* Lines of products of axes, slope T + sigma, by tables, or, where they are of neither sign, by their eigenvectors. Of these a
   quarter at most: a line takes 4 n^2 operations */
static const char *ring_product(BCRPlan p)
{
  const PetscInt *axis = p->ring.axis, lines = p->n[axis[0]] * p->n[axis[1]];
  double c[BCR_SETS];

  p->ring.waves = 0;
  if (!p->product) return NULL;
  if (p->along >= 0) return "its rows are shared out";
  if (p->axis[axis[2]].lower) return "lines have coefficients that vary";
  if (p->left_out) return "modes are left out";
  if (p->tau != 0) return "the shift is complex";
  if (!p->limits.cuda->ringlines((int)p->n[axis[2]], p->single)) return "lines are not by tables";
  for (int set = 0; set < BCR_SETS; set++) c[set] = p->mixed[set];
  c[0] = p->singular ? 0 : p->shift + p->fixed;
  for (PetscInt j = 0; j < p->n[axis[1]]; j++)
    for (PetscInt i = 0; i < p->n[axis[0]]; i++) {
      double l[3] = {0, 0, 0}, sigma, slope;

      l[axis[0]] = p->lambda[axis[0]][i];
      l[axis[1]] = p->lambda[axis[1]][j];
      sigma = BCRProductSymbol(c, l[0], l[1], l[2]);
      slope = BCRProductSlope(c, (int)axis[2], l);
      if (p->singular && i == p->constant[axis[0]] && j == p->constant[axis[1]]) {
        if (!(slope > 0)) return "the line of the constant mode is negative";
      } else if (sigma * slope <= 0 && fabs(sigma) <= 4 * fabs(slope)) p->ring.waves++;
    }
  if (p->ring.waves > lines / 4) return "more than a quarter of its lines are of either sign";
  return p->ring.waves && p->n[axis[2]] > BCR_CUDA_RING_WAVES_MOST ? "lines of either sign are too long" : NULL;
}

static const char *cuda_split(BCRPlan p)
{
  const char *why = ring_rows(p);

  if (!why && (p->stride[1] != p->n[0] || p->stride[2] % 2)) why = "planes are not contiguous, or at odd places";
  if (!why) why = ring_sizes(p, PETSC_TRUE, 0);
  if (!why) why = ring_product(p);
  if (!why && p->ring.waves) why = "lines of either sign are for whole transforms";
  if (!why && !p->product && ring_general(p)) why = "lines are not by tables";
  if (!why) p->general = PETSC_FALSE;
  return why;
}

/* Small planes between node-centred Neumann ends, for which folds and sums beside the transform take longer than products: on an
   H200 65^3 takes 0.59 of the time by products, 97^3 0.93, 129^3 1.09 (bench/results/h200_means.csv) */
static PetscBool ring_products(BCRPlan p)
{
  const PetscInt most = 100; /* unknowns of an axis */
  PetscBool cosines = PETSC_FALSE;

  for (int e = 0; e < 2; e++) {
    BCRCudaRingAxis ends;

    if (p->n[p->ring.axis[e]] > most) return PETSC_FALSE;
    (void)ring_ends(&p->axis[p->ring.axis[e]], &ends);
    if (ends.ends == BCR_CUDA_RING_COSINES) cosines = PETSC_TRUE;
  }
  return cosines;
}

static const char *cuda_box_product(BCRPlan p), *cuda_level0_rows(BCRPlan p);

/* Transforms by classes, which take less than planes through the cache with running sums (h200_planes.csv), and another plan
   that has them */
static PetscBool ring_classes(BCRPlan p)
{
  return !p->product && !ring_open(p) && box_axis(p, p->ring.axis[0]) && box_axis(p, p->ring.axis[1]) &&
             p->acrossby == BCR_TRANSFORM_COLUMNS && (!cuda_box_product(p) || !cuda_level0_rows(p))
           ? PETSC_TRUE
           : PETSC_FALSE;
}

/* Lines along the last axis if they can be, and first of all by tables: planes are one piece of memory then */
static const char *cuda_ring(BCRPlan p)
{
  const char *why[2] = {ring_rows(p), NULL};
  PetscBool general[2] = {PETSC_FALSE, PETSC_FALSE};
  int way;

  if (why[0]) return why[0];
  for (way = 0; way < 2; way++) {
    why[way] = ring_sizes(p, PETSC_FALSE, way);
    if (!why[way]) why[way] = ring_product(p);
    if (!why[way] && !p->product) general[way] = ring_general(p);
  }
  if (why[0] && why[1]) return why[0];
  way = why[0] || (general[0] && !why[1] && !general[1]) ? 1 : 0;
  (void)ring_sizes(p, PETSC_FALSE, way); /* sets the axes */
  (void)ring_product(p);
  if (ring_classes(p)) return "cosines of such lengths have kernels that are faster";
  p->general = general[way];
  if (p->general && ring_open(p)) return "lines that go on on other ranks are not by tables";
  return !p->product && ring_products(p) && !p->excluded[BCR_PLAN_BOX_PRODUCT] && !cuda_box_product(p)
           ? "products in planes on chip are faster between such ends"
           : NULL;
}

/* Planes and lines take one pass for two transforms and the division */
static const char *cuda_spectral(BCRPlan p)
{
  const char *why = BCRPlanWhyNotSpectral(p);

  if (why) return why;
  if ((!p->excluded[BCR_PLAN_SPLIT] && !cuda_split(p)) || (!p->excluded[BCR_PLAN_RING] && !cuda_ring(p)))
    return "planes and lines are faster";
  return NULL;
}

/* ---- level 0 ---- */

static const char *level0_sizes(BCRPlan p)
{
  const char *why = BCRPlanWhyNotLevel0Sizes(p);

  if (why) return why;
  if (p->stride[0] != 1) return "rows are not contiguous";
  return p->dim == 3 && p->acrossby == BCR_TRANSFORM_DENSE ? "no fast transform across planes" : NULL;
}

void BCRPlanCudaProduct(BCRPlan p, BCRCudaBoxPlanes *planes)
{
  memset(planes, 0, sizeof(*planes));
  planes->n = (int)p->n[0];
  planes->planes = (int)p->nplanes;
  planes->ld = p->stride[p->blocks];
  planes->plane = p->stride[p->across];
  for (int e = 0; e < 2; e++) planes->half[e] = BCREndGetRule(p->axis[0].end[e]).weight < 1;
}

/* Small planes, for which level 0 has too many kernels */
static const char *cuda_box_product(BCRPlan p)
{
  const char *why = level0_sizes(p);
  BCRCudaBoxPlanes planes;
  BCRCudaProducts product;
  BCRCudaModes m;

  if (why) return why;
  if (p->dim != 3) return "it is for three dimensions";
  if (p->open[0] || p->open[1]) return "rows go on on other ranks";
  if (p->options.launch[BCR_LAUNCH_STRIPS] > 0) return "strips of level 0 are asked for";
  if (p->transform[p->blocks] != BCR_TRANSFORM_PRODUCT) return "the axis of the blocks is too long for a product";
  BCRPlanCudaProduct(p, &planes);
  BCRPlanCudaModes(p->n[p->blocks], p->axis[p->blocks].end, &m);
  (void)p->limits.cuda->product(&m, p->limits.cuda->shared, &product);
  if (!p->limits.cuda->boxproduct(&planes, &product, p->single)) return "planes do not stay on chip";
  return box_definite(p, p->across, p->blocks);
}

/* Radix and groups. Large planes in single precision take radix 16, which leaves half of the separators and takes as many
   registers as radix 8 in double precision; a block wants some groups, or it waits for memory most of the time (rows,
   unknowns: where it gained on an H200, bench/results/h200_poisson.csv). Small planes take radix 4: a row of them fits one
   tile, twice as many blocks are at work, and a group takes half the time; there the deeper level, of twice the size,
   costs no more than its latency. But level0small.cu takes radix 8 where only then every group has a multiprocessor. */
static PetscInt level0_radix(BCRPlan p)
{
  const BCRAxis *x = &p->axis[0], *y = &p->axis[p->blocks];
  const int sms = p->limits.cuda->sms;
  const PetscInt m = p->n[p->blocks] + 1;
  const PetscBool eight =
    p->rowsby == BCR_TRANSFORM_SINE && !BCRPlanCudaEven(p) && m % 8 == 0 && m / 8 <= sms && m / 4 > sms;
  const PetscInt least16 = 3200;  /* rows that radix 16 takes */
  const double unknowns16 = 12e6; /* and unknowns of the plane */
  const PetscInt least4 = 400;    /* unknowns of a row that radix 4 takes */
  const PetscBool fast = p->rowsby != p->transform[0] ? PETSC_TRUE : PETSC_FALSE; /* a transform of rows of its own */

  if (p->dim != 2 || p->open[0] || p->open[1] || !node_ends(y, -1)) return 8;
  if (x->a > y->a || p->shift + p->fixed < 0) return 8;
  if (p->single && p->options.level0 == 16) return 16;
  if (fast && !eight && (p->n[1] + 3) / 4 <= 2 * sms && p->n[0] >= least4 && p->n[0] <= BCR_CUDA_LEVEL0_SMALL) return 4;
  if (p->single && p->n[0] > BCR_CUDA_LEVEL0_SMALL && p->n[1] >= least16 && (double)p->n[0] * p->n[1] >= unknowns16)
    return 16;
  return 8;
}

/* A Dirichlet end that is one row behind the last group of radix - 1 rows makes that row a separator, so that all groups
   are regular: the code of others, which is run once, takes as long as several regular groups */
static PetscBool level0_sepend(BCRPlan p)
{
  return p->dim == 2 && !p->open[0] && !p->open[1] && node_ends(&p->axis[1], -1) &&
             (p->n[1] - p->radix * (p->ngroups - 1)) == p->radix
           ? PETSC_TRUE
           : PETSC_FALSE;
}

void BCRPlanCudaLevel0(BCRPlan p, BCRCudaLevel0 *l, BCRPlanCudaShape *shape)
{
  const BCRAxis *x = &p->axis[0], *y = &p->axis[p->blocks];
  const double eps = p->single ? 4e-8 : 1e-16;
  const double fades = 0.97; /* slower ones have no halo that is worth its columns */
  const int never = 100000;
  const PetscBool ring = BCREndIsPeriodic(y->end[0]) ? PETSC_TRUE : PETSC_FALSE;

  memset(l, 0, sizeof(*l));
  l->nx = (int)p->n[0];
  l->planes = (int)p->nplanes;
  for (int e = 0; e < 2; e++) {
    l->open[e] = p->open[e];
    l->mirror[e] = BCREndGetRule(x->end[e]).mirror;
  }
  l->radix = (int)p->radix;
  l->sepend = level0_sepend(p);
  l->hlast = l->sepend ? l->radix - 1 : (int)p->separators.gapend[1];
  l->ng = (int)p->ngroups;
  l->yperiodic = ring;
  l->short0 = p->separators.gapend[0] == l->radix - 2 && !ring;
  l->g0 = !ring && (p->separators.gapend[0] != l->radix - 1 || !BCREndIsZero(y->end[0])) ? 1 : 0;
  l->g1 = (int)p->ngroups - (l->hlast != l->radix - 1 || (!ring && !BCREndIsZero(y->end[1])) ? 1 : 0);
  l->halo = p->decay < fades ? (int)ceil(log(eps) / log(p->decay)) : never;
  p->limits.cuda->shape(l, p->single, p->limits.cuda->sms, &shape->K, &shape->columns, &shape->blocks);
  shape->slots = 0;
  for (int j = 0; j < l->radix - 1; j++) { /* of a regular group of the first plane */
    const double s = sin((j + 1) * M_PI / (2 * l->radix)), delta = (BCRPlanPlaneShift(p, 0) + y->a * 4 * s * s) / x->a;

    l->mu[j] = 1 / (1 + BCRRootGap(delta));
  }
}

/* Whether blocks have whole rows of planes, in place */
static PetscBool level0_whole(BCRPlan p, const BCRCudaLevel0 *l)
{
  int slots;

  return p->dim == 3 && BCRPlanCudaStays(p) && p->limits.cuda->wholerows(l, p->single, p->limits.cuda->sms, &slots)
           ? PETSC_TRUE
           : PETSC_FALSE;
}

/* Groups for this shift, and how wide a tile they leave */
static const char *level0_groups(BCRPlan p)
{
  const char *why = level0_sizes(p);

  if (why) return why;
  p->radix = level0_radix(p);
  BCRLevel0Rows(&p->axis[p->blocks], p->radix, p->open, &p->separators, &p->ngroups);
  if (level0_sepend(p)) {
    p->separators.n = p->ngroups;
    p->separators.gapend[1] = 0;
  }
  why = BCRPlanWhyNotLevel0Groups(p);
  return why ? why : BCRPlanWhyNotLevel0Lines(p);
}

/* Rows in tiles with halos; all other columns of a tile are halo's */
static const char *cuda_level0(BCRPlan p)
{
  const char *why = level0_groups(p);
  const int least = 128; /* columns that a tile has besides its halos */
  BCRPlanCudaShape shape;
  BCRCudaLevel0 l;

  if (why) return why;
  if (p->dim == 3 && (p->open[0] || p->open[1])) return "between ranks, planes have whole rows";
  BCRPlanCudaLevel0(p, &l, &shape);
  return 2 * l.halo + least > shape.columns ? "lines of a group decay too slowly along a row for a tile" : NULL;
}

static const char *cuda_level0_small(BCRPlan p)
{
  const char *why = cuda_level0(p);
  BCRPlanCudaShape shape;
  BCRCudaLevel0 l;

  if (why) return why;
  if (p->dim != 2) return "it is for one plane";
  if (p->rowsby != BCR_TRANSFORM_SINE || BCRPlanCudaEven(p)) return "rows have no sine transform of its kernels";
  if (p->ngroups > 2 * p->limits.cuda->sms) return "there are more groups than twice the multiprocessors";
  if (p->options.launch[BCR_LAUNCH_STRIPS] > 0) return "strips of level 0 are asked for";
  BCRPlanCudaLevel0(p, &l, &shape);
  return p->limits.cuda->small(&l, p->single, p->limits.cuda->shared) ? NULL : "rows have no length of its kernels";
}

static const char *cuda_level0_rows(BCRPlan p)
{
  const char *why = level0_groups(p);
  BCRPlanCudaShape shape;
  BCRCudaLevel0 l;

  if (why) return why;
  BCRPlanCudaLevel0(p, &l, &shape);
  return level0_whole(p, &l) ? NULL : "no planes of rows that a block has room for";
}

static const char *cuda_fourier(BCRPlan p)
{
  if (p->open[0] || p->open[1]) return "rows go on on other ranks";
  return BCRPlanWhyNotFourier(p);
}

PetscBool BCRPlanCudaBorder(BCRPlan p)
{
  return BCRPlanIsRing(p->kind) || !level0_sizes(p) || !box_find(p) ? PETSC_TRUE : PETSC_FALSE;
}

/* In order of speed on an H200: bench/results/h200_poisson.csv */
static const BCRPlanWay cuda_ways[] = {
  {BCR_PLAN_POINT,        BCRPlanWhyNotPoint    },
  {BCR_PLAN_SPECTRAL,     cuda_spectral         },
  {BCR_PLAN_LINE,         BCRPlanWhyNotLine     },
  {BCR_PLAN_RECURSIVE,    BCRPlanWhyNotRecursive},
  {BCR_PLAN_REDUCTION,    BCRPlanWhyNotReduction},
  {BCR_PLAN_BOX,          cuda_box              },
  {BCR_PLAN_SPLIT,        cuda_split            },
  {BCR_PLAN_RING,         cuda_ring             },
  {BCR_PLAN_BOX_PRODUCT,  cuda_box_product      },
  {BCR_PLAN_LEVEL0_SMALL, cuda_level0_small     },
  {BCR_PLAN_LEVEL0_ROWS,  cuda_level0_rows      },
  {BCR_PLAN_LEVEL0,       cuda_level0           },
  {BCR_PLAN_BOX_PASSES,   cuda_box_passes       },
  {BCR_PLAN_FOURIER,      cuda_fourier          }
};

void BCRPlanLimitsCuda(const BCRPlanCuda *cuda, BCRPlanLimits *l)
{
  memset(l, 0, sizeof(*l));
  l->name = "cuda";
  l->nways = PETSC_STATIC_ARRAY_LENGTH(cuda_ways);
  l->way = cuda_ways;
  l->row = 32; /* a warp's columns */
  l->rows = 16;
  l->openrows = 24; /* two separators between the ends */
  l->cuda = cuda;
}
