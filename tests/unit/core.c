/*
  The numerical core on random boxes: sizes from 1 up, every pair of ends on every axis, general
  axes, shifts of either sign, singular operators, strides, in place and not, factors, every
  instruction set, double and single work, the default plans and block cyclic reduction. Asserted is
  the backward error |f - A u| / (|A| |u| + |f|) (largest entries), A applied row by row here; and
  for singular operators the mean of the solution and the size of what was removed.

  args: -cases 1500
  turns: 3
  quick: 1
  quick-args: -cases 150
*/
#include "../../src/poisson/core.h"
#include "tests/check.h"
#include <string.h>

/* solves with separators transformed across: regular and singular, by across_names; on a device:
   with radix 16 at level 0, with planes through the second-level cache or with divided
   transforms, of singular operators at level 0; boxes by the number of their general axes */
static PetscInt passed = 0, failed = 0, nacross[2][5] = {{0}}, nsixteen = 0, nring = 0, nsplit = 0, nrings = 0,
                nmean = 0, nchip = 0, nspectral = 0, nclusters = 0, nmoves = 0, nmoved = 0, nwaves = 0, npair = 0,
                ngeneral[4] = {0};
static PetscBool spectral = PETSC_FALSE; /* device: by transforms along all axes */

static double rnd(void)
{
  return drand48() - 0.5;
}

/* row i of an axis, written down from the definition of its ends in operator.h */
static void row(const BCRAxis *x, PetscInt i, double *low, double *diag, double *up)
{
  const double a = x->a;

  if (x->lower) {
    *low = x->lower[i];
    *diag = x->diag[i];
    *up = x->upper[i];
    return;
  }
  *low = *up = a;
  *diag = 2 * a;
  for (int e = 0; e < 2 && x->end[0] != BCR_END_PERIODIC; e++) {
    if (i != (e ? x->n - 1 : 0)) continue;
    *(e ? up : low) = 0;
    if (x->end[e] == BCR_END_NEUMANN) *(e ? low : up) = 2 * a;
    if (x->end[e] == BCR_END_CELL_NEUMANN) *diag -= a;
    if (x->end[e] == BCR_END_CELL_DIRICHLET) *diag += a;
  }
}

/* Ends along y with which separators are an axis of their own */
static const BCREnd across_ends[5][2] = {
  {BCR_END_DIRICHLET, BCR_END_DIRICHLET},
  {BCR_END_PERIODIC,  BCR_END_PERIODIC },
  {BCR_END_NEUMANN,   BCR_END_NEUMANN  },
  {BCR_END_DIRICHLET, BCR_END_NEUMANN  },
  {BCR_END_NEUMANN,   BCR_END_DIRICHLET}
};
static const PetscInt across_rows[5] = {-1, 0, 1, 0, 0}; /* beyond a multiple of 8 */
static const char *const across_names[5] = {"Dirichlet", "periodic", "Neumann", "Dirichlet and Neumann",
                                            "Neumann and Dirichlet"};

typedef struct {
  PetscInt dim, n[3], stride[3];
  BCRAxis axis[3];
  double shift, lowest;               /* lowest: a lower bound of the axes' smallest eigenvalues together */
  PetscReal mixed[8];                 /* product: coefficients of products of the axes, and of these alone */
  PetscBool singular, product, moves; /* moves: from the plan that it has with shift + 1 to another */
  size_t size;
} Box;

/* Planes for a device that divides their transform along axis 1: axes 0 and 1 periodic or cell-centred of a kind. Half of
   the planes are not square. moves: a small box whose planes are divided with positive shifts alone, for its lines are
   eliminated where modes of the planes are negative */
static void box_split(Box *b, PetscBool moves)
{
  static const PetscInt sizes[] =
    {
      128, 128, 160, 192, 256, 288, 320, 384, 400, 448, 512
  },
                        others[][2] = {{128, 256}, {256, 128}, {128, 160}, {128, 320}, {192, 256}, {256, 192},
                                       {160, 200}, {192, 240}, {384, 256}, {256, 512}, {512, 128}, {512, 192}},
                        across[] = {49, 64, 61, 72, 75, 83, 96, 128};
  static const BCREnd ends[] = {BCR_END_PERIODIC, BCR_END_CELL_NEUMANN, BCR_END_CELL_DIRICHLET, BCR_END_DIRICHLET};
  const PetscInt square = sizes[lrand48() % 11], *other = others[lrand48() % PETSC_STATIC_ARRAY_LENGTH(others)];
  const PetscBool rectangle = lrand48() % 2 ? PETSC_TRUE : PETSC_FALSE;
  const PetscInt n[2] = {rectangle ? other[0] : square, rectangle ? other[1] : square};

  b->dim = 3;
  b->lowest = 0;
  b->singular = PETSC_TRUE;
  for (PetscInt d = 0; d < 3; d++) {
    BCRAxis *x = &b->axis[d];

    b->n[d] = x->n = d < 2 ? n[d] : across[lrand48() % (n[0] * n[1] <= 192 * 192 ? 8 : 3)];
    x->a = lrand48() % 3 ? 1 : exp(6 * rnd());
    x->end[0] = x->end[1] = ends[lrand48() % (d < 2 ? 3 : 4)];
    for (int e = 0; e < 2 && d == 2 && !BCREndIsPeriodic(x->end[0]); e++) x->end[e] = (BCREnd)(lrand48() % 4);
    for (int e = 0; e < 2; e++)
      if (BCREndExcess(x->end[e]) > 0) b->singular = PETSC_FALSE;
    if (!moves) continue;
    b->n[d] = x->n = d < 2 ? 128 : 49;
    for (int e = 0; e < 2; e++) x->end[e] = d < 2 ? BCR_END_PERIODIC : BCR_END_DIRICHLET;
  }
  if (!moves) return;
  const double s = sin(0.5 * PETSC_PI / (b->axis[2].n + 1.0));

  b->moves = PETSC_TRUE;
  b->singular = PETSC_FALSE;
  b->lowest = 4 * b->axis[2].a * s * s;
}

/* Planes for a device that transforms them both ways through the second-level cache, any axis across, which is returned:
   axis 2, or 1. Planes are periodic or between two ends that are cell-centred or node-centred both; few planes where they
   are large */
static PetscInt box_ring(Box *b)
{
  static const PetscInt sizes[] = {64, 96, 128, 128, 160, 192, 256, 320, 384, 400, 512}, tens[] = {200, 250, 500};
  static const BCREnd ends[][2] = {
    {BCR_END_PERIODIC,       BCR_END_PERIODIC      },
    {BCR_END_CELL_NEUMANN,   BCR_END_CELL_NEUMANN  },
    {BCR_END_CELL_DIRICHLET, BCR_END_CELL_DIRICHLET},
    {BCR_END_DIRICHLET,      BCR_END_DIRICHLET     },
    {BCR_END_NEUMANN,        BCR_END_NEUMANN       },
    {BCR_END_NEUMANN,        BCR_END_NEUMANN       },
    {BCR_END_CELL_NEUMANN,   BCR_END_CELL_DIRICHLET},
    {BCR_END_CELL_DIRICHLET, BCR_END_CELL_NEUMANN  },
    {BCR_END_NEUMANN,        BCR_END_DIRICHLET     },
    {BCR_END_DIRICHLET,      BCR_END_NEUMANN       }
  };
  const PetscInt line = 1 + (lrand48() % 3 > 0), sort = lrand48() % 8; /* sort: of lengths: 0: tens, 1: 300 */
  PetscInt large = 0;

  b->dim = 3;
  b->lowest = 0;
  b->singular = PETSC_TRUE;
  for (PetscInt i = 0; i < 3; i++) {
    const PetscInt d = i == 2 ? line : (i ? 3 - line : 0);
    BCRAxis *x = &b->axis[d];

    x->a = lrand48() % 3 ? 1 : exp(6 * rnd());
    if (i < 2) {
      const BCREnd *pair = ends[lrand48() % (sort < 2 ? 3 : lrand48() % 2 ? 6 : 10)];

      b->n[d] = sort == 0 ? tens[lrand48() % 3] : sort == 1 ? 300 : sizes[lrand48() % 11];
      large += b->n[d];
      for (int e = 0; e < 2; e++) x->end[e] = pair[e];
      if (pair[0] == pair[1] && pair[0] == BCR_END_DIRICHLET) b->n[d]--;
      if (pair[0] == pair[1] && pair[0] == BCR_END_NEUMANN) b->n[d]++;
    } else {
      b->n[d] = 2 + lrand48() % (large > 400 ? 3 : 40);
      for (int e = 0; e < 2; e++) x->end[e] = (BCREnd)(lrand48() % 4);
      if (lrand48() % 4 == 0) x->end[0] = x->end[1] = BCR_END_PERIODIC;
      if (lrand48() % 4 == 0) x->end[0] = x->end[1] = BCR_END_NEUMANN;
    }
    x->n = b->n[d];
    for (int e = 0; e < 2; e++)
      if (BCREndExcess(x->end[e]) > 0) b->singular = PETSC_FALSE;
  }
  return line;
}

/* Singular operators for level 0 of a device: ends of three kinds */
static void box_mean(Box *b, PetscInt number)
{
  static const PetscInt sizes[2][10] = {
    {33, 63, 64, 65, 97, 127, 128, 129, 191, 257},
    {17, 24, 25, 31, 32, 33,  61,  65,  97,  127}
  };
  static const BCREnd ends[] = {BCR_END_PERIODIC, BCR_END_CELL_NEUMANN, BCR_END_NEUMANN};

  b->dim = number % 4 == 3 ? 3 : 2;
  b->singular = PETSC_TRUE;
  for (PetscInt d = b->dim; d < 3; d++) b->n[d] = b->axis[d].n = 1;
  for (PetscInt d = 0; d < b->dim; d++, number /= 3) {
    BCRAxis *x = &b->axis[d];

    b->n[d] = x->n = d && d == b->dim - 2 ? 32 + lrand48() % 8 : sizes[d > 0][lrand48() % 10];
    x->a = lrand48() % 3 ? 1 : exp(2 * rnd());
    for (int e = 0; e < 2; e++) x->end[e] = ends[number % 3];
    if (number % 3 && (d == b->dim - 1 || (d == 0 && lrand48() % 3 == 0))) x->end[1] = ends[1 + lrand48() % 2];
  }
}

/* Cosine transforms by classes on a device: axis 1 has 2^k + 1 nodes between Neumann ends, and others often have */
static void box_classes(Box *b)
{
  static const PetscInt sizes[3][6] = {
    {257, 65,  129, 129, 513, 33 },
    {129, 129, 129, 129, 257, 513},
    {17,  24,  33,  129, 129, 129}
  };
  static const BCREnd ends[][2] = {
    {BCR_END_NEUMANN,      BCR_END_NEUMANN     },
    {BCR_END_NEUMANN,      BCR_END_NEUMANN     },
    {BCR_END_PERIODIC,     BCR_END_PERIODIC    },
    {BCR_END_CELL_NEUMANN, BCR_END_NEUMANN     },
    {BCR_END_NEUMANN,      BCR_END_CELL_NEUMANN},
    {BCR_END_DIRICHLET,    BCR_END_DIRICHLET   },
    {BCR_END_DIRICHLET,    BCR_END_NEUMANN     }
  };

  b->dim = 3;
  b->lowest = 0;
  b->singular = PETSC_TRUE;
  for (PetscInt d = 0; d < 3; d++) {
    const BCREnd *pair = ends[d == 1 ? 0 : lrand48() % (lrand48() % 2 ? 5 : 7)];
    BCRAxis *x = &b->axis[d];

    b->n[d] = x->n = sizes[d][lrand48() % 6];
    x->a = lrand48() % 3 ? 1 : exp(2 * rnd());
    for (int e = 0; e < 2; e++) {
      x->end[e] = pair[e];
      if (BCREndExcess(x->end[e]) > 0) b->singular = PETSC_FALSE;
    }
  }
}

/* Makes axis d of a random box general: cells of random widths, couplings over cell sizes; it may be a ring, of widths
   1 and 2, so that rounding leaves it symmetrisable */
static void axis_general(Box *b, PetscInt d, PetscBool *dirichlet)
{
  BCRAxis *x = &b->axis[d];
  const PetscBool neumann = lrand48() % 3 == 0 ? PETSC_TRUE : PETSC_FALSE,
                  ring = x->n > 2 && lrand48() % 3 == 0 ? PETSC_TRUE : PETSC_FALSE;
  double s = ring ? 0.75 : 0, next, w;

  if (x->n == 1) return;
  if (ring) nrings++;
  (void)PetscMalloc3(x->n, &x->lower, x->n, &x->diag, x->n, &x->upper);
  x->end[0] = x->end[1] = ring ? BCR_END_PERIODIC : BCR_END_GENERAL;
  b->lowest = 0;
  *dirichlet = PETSC_FALSE;
  for (PetscInt i = 0; i < x->n; i++, s = next) {
    next = i < x->n - 1 ? 0.5 + drand48() : 0;
    w = 0.5 + drand48();
    if (i == x->n - 1) next = ring ? 0.75 : 0;
    if (ring) {
      next = rint(512 * next) / 512;
      w = w < 1 ? 1 : 2;
    }
    /* so that their sum has no rounding error in single precision either */
    x->lower[i] = (PetscReal)(rint(1024 * s / w) / 1024);
    x->upper[i] = (PetscReal)(rint(1024 * next / w) / 1024);
    x->diag[i] = x->lower[i] + x->upper[i] + (i == 0 && !neumann ? 1 : 0);
  }
  b->singular = PETSC_TRUE;
  for (PetscInt e = 0; e < b->dim; e++) {
    const BCRAxis *y = &b->axis[e];

    if (y->n == 1) continue;
    if (y->lower ? y->diag[0] > y->lower[0] + y->upper[0]
                 : y->end[0] == BCR_END_DIRICHLET || y->end[0] == BCR_END_CELL_DIRICHLET ||
                     y->end[1] == BCR_END_DIRICHLET || y->end[1] == BCR_END_CELL_DIRICHLET)
      b->singular = PETSC_FALSE;
  }
}

/* transformed: one in so many boxes of two or three dimensions has Dirichlet ends and 2^k - 1 unknowns along x or two
   axes, for the plans on the device that take no others. planes: three dimensions, long rows along x, most between
   Dirichlet ends, or boxes for other plans of the device. number: not negative for planes whose separators are an axis
   of their own; successive numbers go through all pairs of ends with each other: the random numbers of seeds that are
   multiples of 8 do not. several: two axes are general, at least. sixteen: planes for level 0 of radix 16 on the
   device; tall: more separators than lines of the device have with eight modes in a block; ring: box_ring(); classes:
   box_classes(); mean: not negative for box_mean() */
static void box_random(Box *b, PetscInt transformed, PetscBool planes, PetscInt number, PetscBool several,
                       PetscBool sixteen, PetscBool tall, PetscBool ring, PetscBool split, PetscBool moves,
                       PetscBool classes, PetscInt mean)
{
  static const PetscInt sizes[] = {1,  2,  3,  4,  7,  8,  9,  15,  16,  17,  31,  32,  33,
                                   40, 48, 49, 63, 64, 65, 97, 100, 127, 128, 129, 200, 257};
  static const PetscInt lengths[] = {127, 255, 511, 511, 1023, 1023, 2047},
                        columns[] = {19, 63, 64, 127, 130, 257, 511, 1055, 1063};
  static const PetscInt powers[] = {127, 127, 127, 255, 255, 511},
                        others[] = {2, 3, 16, 17, 31, 32, 33, 40, 64, 65, 100, 257};
  static const PetscInt rows[3][8] = {
    {97, 127, 129, 255, 300, 385, 511, 1100},
    {2,  3,   5,   9,   17,  33,  40,  127 },
    {16, 17,  23,  24,  31,  40,  65,  170 }
  };
  static const PetscInt least[2][3] = {
  /* planes that stay on chip; long products across them */
    {32, 2,   16},
    {32, 120, 16}
  };
  static const PetscInt most[2][3] = {
    {257, 130,  161},
    {100, 1030, 30 }
  };
  PetscBool any = PETSC_FALSE, dirichlet = PETSC_FALSE;
  /* line: the third axis; plane: 1, and 2 with Dirichlet ends along y as well */
  PetscInt pad[2], line = -1, plane = 0, lines = -1; /* lines: box_ring() */
  const PetscBool across = number >= 0 ? PETSC_TRUE : PETSC_FALSE;
  const PetscInt ends = number % 5, xends = number % 17;  /* along y; along x, 16: periodic */
  PetscInt sort = planes ? (PetscInt)(lrand48() % 3) : 0; /* of planes */

  memset(b, 0, sizeof(*b));
  b->dim = 1 + (PetscInt)(lrand48() % 3);
  b->singular = PETSC_TRUE;
  if (planes) b->dim = 3;
  else if (b->dim == 3 && !several && lrand48() % transformed == 0) line = (PetscInt)(lrand48() % 3);
  if (across || sixteen || tall) b->dim = 2;
  if (several) b->dim = PetscMax(b->dim, 2);
  if (b->dim == 2 && !across && !sixteen && !tall && !several && lrand48() % transformed == 0)
    plane = 1 + (lrand48() % 4 > 0);
  for (PetscInt d = 0; d < 3; d++) {
    BCRAxis *x = &b->axis[d];

    b->n[d] = x->n = 1;
    if (d >= b->dim) continue;
    b->n[d] = x->n = sizes[lrand48() % (b->dim == 3 ? 17 : 26)];
    /* transforms of any length */
    if (transformed < 100 && b->dim == 2 && !several && lrand48() % 2)
      b->n[d] = x->n = (PetscInt)(16 + lrand48() % (d ? 150 : (lrand48() % 4 ? 1200 : 14000)));
    if (line >= 0)
      b->n[d] = x->n = d == line ? others[lrand48() % 12] : powers[lrand48() % (d == 2 && b->n[0] > 33 ? 4 : 6)];
    if (planes)
      b->n[d] = x->n = sort ? (PetscInt)(least[sort - 1][d] + lrand48() % (most[sort - 1][d] - least[sort - 1][d]))
                            : rows[d][lrand48() % 8];
    if (plane) b->n[d] = x->n = d ? columns[lrand48() % 9] : lengths[lrand48() % 7];
    if (across)
      b->n[d] = x->n = d ? (PetscInt)(8 * (2 + lrand48() % (lrand48() % 4 ? 40 : 140)) + across_rows[ends])
                         : (PetscInt)(16 + lrand48() % 500);
    if (sixteen)
      b->n[d] = x->n = d ? (PetscInt)(17 + lrand48() % 200) : (PetscInt)(16 + lrand48() % (lrand48() % 4 ? 700 : 3000));
    if (tall)
      b->n[d] = x->n =
        d ? (PetscInt)(16385 + lrand48() % (lrand48() % 2 ? 16000 : 48000)) : (PetscInt)(4 + lrand48() % 15);
    if (x->n == 1) continue;
    any = PETSC_TRUE;
    x->a = lrand48() % 3 ? 1 : exp(6 * rnd());
    if ((line >= 0 && d != line) || (planes && d == 0 && lrand48() % 4) || (sort == 2 && d == 1 && lrand48() % 2) ||
        d < plane || (sixteen && d))
      x->end[0] = x->end[1] = BCR_END_DIRICHLET;
    else if (across) {
      for (int e = 0; e < 2; e++)
        x->end[e] = d ? across_ends[ends][e] : (xends == 16 ? BCR_END_PERIODIC : (BCREnd)(xends >> (2 * e) & 3));
    } else if (lrand48() % 4 == 0) x->end[0] = x->end[1] = BCR_END_PERIODIC;
    else
      for (int e = 0; e < 2; e++) x->end[e] = lrand48() % 3 ? (BCREnd)(lrand48() % 4) : BCR_END_DIRICHLET;
    for (int e = 0; e < 2; e++)
      if (x->end[e] == BCR_END_DIRICHLET || x->end[e] == BCR_END_CELL_DIRICHLET) b->singular = PETSC_FALSE;
    if (x->end[0] == BCR_END_DIRICHLET && x->end[1] == BCR_END_DIRICHLET) {
      const double s = sin(0.5 * PETSC_PI / (x->n + 1.0));

      b->lowest += 4 * x->a * s * s;
      dirichlet = PETSC_TRUE;
    }
  }
  /* couplings along x are not the stronger ones */
  if (sixteen) b->axis[1].a *= PetscMax(1, b->axis[0].a / b->axis[1].a);
  if (ring) {
    lines = box_ring(b);
    any = PETSC_TRUE;
    dirichlet = PETSC_FALSE;
  }
  if (split) {
    box_split(b, moves);
    any = PETSC_TRUE;
    dirichlet = PETSC_FALSE;
  }
  if (classes) {
    box_classes(b);
    any = PETSC_TRUE;
    dirichlet = PETSC_FALSE;
  }
  if (mean >= 0) {
    box_mean(b, mean);
    any = PETSC_TRUE;
    dirichlet = PETSC_FALSE;
  } else if (several || (!b->moves && !classes && line < 0 && !across && !sixteen && !tall &&
                         lrand48() % 6 == 0)) { /* general axes */
    const PetscInt first = ring ? lines : (PetscInt)(lrand48() % b->dim),
                   second = several ? (first + 1) % b->dim : first;

    for (PetscInt d = 0; d < b->dim; d++)
      if (d == first || d == second || (!ring && lrand48() % 2)) axis_general(b, d, &dirichlet);
  }
  switch (lrand48() % 5) {
  case 0:
    b->shift = drand48();
    break;
  case 1:
    b->shift = 100 * drand48();
    break;
  case 2:
    b->shift = dirichlet && !sixteen ? -0.7 * b->lowest : 0;
    break;
  default:
    b->shift = 0;
  }
  if (b->moves) b->shift = -0.7 * b->lowest;
  b->shift = (double)(PetscReal)b->shift;
  if (mean >= 0) b->shift = 0;
  if (!any && b->shift <= 0) b->shift = 1;
  if (b->shift != 0 || !any) b->singular = PETSC_FALSE;
  b->stride[0] = mean >= 0 || classes || lrand48() % 8 ? 1 : 2;
  pad[0] = (PetscInt)(lrand48() % 3);
  pad[1] = (PetscInt)(lrand48() % 3);
  if ((pad[0] + pad[1]) % 2 == 0) pad[0] = pad[1] = 0; /* half of the boxes are one piece of memory */
  if (ring) {                                          /* rows are */
    b->stride[0] = 1;
    if (lrand48() % 2) pad[0] = 0;
    if (lrand48() % 2) pad[1] = 2 * pad[1];
  }
  if (b->moves) {
    b->stride[0] = 1;
    pad[0] = pad[1] = 0;
  }
  b->stride[1] = b->stride[0] * b->n[0] + pad[0];
  b->stride[2] = b->stride[1] * b->n[1] + pad[1];
  b->size = (size_t)b->stride[2] * b->n[2] + 8;
}

/* With -spectral, of half of the boxes: products of axes, of elements, of HPCG's stencil, or of any sign; of others a shift
   for which some lines, or most, are of neither sign */
static void box_products(Box *b)
{
  const PetscInt kind = b->singular ? lrand48() % 2 : (PetscInt)(lrand48() % 3);
  double a[3], all = 0;

  if (lrand48() % 2) {
    if (!b->singular && lrand48() % 2) b->shift = (double)(PetscReal)(-(lrand48() % 2 ? 0.2 : 3) * drand48());
    return;
  }
  for (PetscInt d = 0; d < b->dim; d++) {
    if (b->axis[d].lower) return;
    a[d] = b->n[d] > 1 ? b->axis[d].a : 0;
    all += a[d];
  }
  b->product = PETSC_TRUE;
  for (int set = 1; set < 1 << b->dim; set++) {
    int axes = 0;
    double sum = 0;

    for (PetscInt d = 0; d < b->dim; d++)
      if (set >> d & 1) {
        axes++;
        sum += a[d];
      }
    if (kind == 0) b->mixed[set] = (PetscReal)(axes == 1 ? sum : axes == 2 ? -sum / 6 : all / 36);
    else if (kind == 1) b->mixed[set] = axes == 1 ? (b->dim < 3 ? 3 : 9) : axes == 2 ? (b->dim < 3 ? -1 : -3) : 1;
    else b->mixed[set] = (PetscReal)(rnd() * (axes == 1 ? 1 : 0.3));
    for (PetscInt d = 0; d < b->dim; d++) /* operator.h: axes of one unknown have none */
      if (set >> d & 1 && b->n[d] == 1) b->mixed[set] = 0;
  }
}

/* The same as a product of those axes' T with the unknowns, of one axis more than v */
static void box_times(const Box *b, PetscInt d, const double *v, double *w)
{
  for (PetscInt k = 0; k < b->n[2]; k++)
    for (PetscInt j = 0; j < b->n[1]; j++)
      for (PetscInt i = 0; i < b->n[0]; i++) {
        const PetscInt id[3] = {i, j, k}, q = i * b->stride[0] + j * b->stride[1] + k * b->stride[2],
                       last = b->n[d] - 1;
        double low, diag, up;

        w[q] = 0;
        if (b->n[d] == 1) continue;
        row(&b->axis[d], id[d], &low, &diag, &up);
        w[q] = diag * v[q];
        if (low != 0) w[q] -= low * v[id[d] ? q - b->stride[d] : q + last * b->stride[d]];
        if (up != 0) w[q] -= up * v[id[d] < last ? q + b->stride[d] : q - last * b->stride[d]];
        w[q] /= (double)b->axis[d].a;
      }
}

/* u times the operator of products */
static PetscErrorCode box_polynomial(const Box *b, const double *u, double *sum)
{
  double *v[8] = {NULL};

  PetscFunctionBeginUser;
  for (size_t q = 0; q < b->size; q++) sum[q] = b->shift * u[q];
  for (int set = 1; set < 1 << b->dim; set++) {
    PetscInt d = b->dim - 1;

    while (!(set >> d & 1)) d--;
    PetscCall(PetscCalloc1(b->size, &v[set]));
    box_times(b, d, set == 1 << d ? u : v[set ^ 1 << d], v[set]);
    for (size_t q = 0; q < b->size; q++) sum[q] += (double)b->mixed[set] * v[set][q];
  }
  for (int set = 1; set < 8; set++) PetscCall(PetscFree(v[set]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* backward error of u, mean of u over the box; the right-hand side was factor*(f - removed). tau: beside it the operator had
   that times as much */
static void box_check(const Box *b, double tau, double factor, double removed, const double *f, const double *u,
                      double *error, double *mean)
{
  double r = 0, umax = 0, fmax_ = 0, A = fabs(b->shift) + fabs(tau);
  long double sum = 0; /* of a million numbers and more */
  double *all = NULL;

  if (b->product) {
    PetscCallAbort(PETSC_COMM_SELF, PetscMalloc1(b->size, &all));
    PetscCallAbort(PETSC_COMM_SELF, box_polynomial(b, u, all));
  }
  for (int set = 1; set < 8 && b->product; set++) {
    double size = fabs((double)b->mixed[set]);

    for (PetscInt d = 0; d < 3; d++)
      if (set >> d & 1) size *= b->n[d] > 1 ? 4 : 0;
    A += size;
  }
  for (PetscInt d = 0; d < 3 && !b->product; d++)
    if (b->n[d] > 1) A += b->axis[d].lower ? 12 : 4 * b->axis[d].a;
  for (PetscInt k = 0; k < b->n[2]; k++)
    for (PetscInt j = 0; j < b->n[1]; j++)
      for (PetscInt i = 0; i < b->n[0]; i++) {
        const PetscInt id[3] = {i, j, k}, q = i * b->stride[0] + j * b->stride[1] + k * b->stride[2];
        double s = b->shift * u[q], e;

        if (all) s = all[q];
        for (PetscInt d = 0; d < 3 && !all; d++) {
          const PetscInt last = b->n[d] - 1;
          double low, diag, up;

          if (b->n[d] == 1) continue;
          row(&b->axis[d], id[d], &low, &diag, &up);
          s += diag * u[q];
          if (low != 0) s -= low * u[id[d] ? q - b->stride[d] : q + last * b->stride[d]];
          if (up != 0) s -= up * u[id[d] < last ? q + b->stride[d] : q - last * b->stride[d]];
        }
        e = fabs(s - factor * (f[q] - removed));
        /* it is told as a PetscReal */
        if (sizeof(PetscReal) < sizeof(double))
          e = e <= fabs(factor * removed) * PETSC_MACHINE_EPSILON ? 0
                                                                  : e - fabs(factor * removed) * PETSC_MACHINE_EPSILON;
        TestLargest(&r, e);
        umax = PetscMax(umax, fabs(u[q]));
        fmax_ = PetscMax(fmax_, fabs(factor * f[q]));
        sum += u[q];
      }
  PetscCallAbort(PETSC_COMM_SELF, PetscFree(all));
  *error = r / (A * umax + fmax_);
  umax = PetscMax(umax, fmax_ / A); /* more where most of the right-hand side was removed */
  *mean = (double)fabsl(sum) / ((double)b->n[0] * b->n[1] * b->n[2]) / (umax > 0 ? umax : 1);
}

#if defined(PETSCBCR_HAVE_CUDA)
  #include "src/poisson/device.h"

/* The same on a CUDA device (-backend cuda): io is the work type there. -spectral: by transforms along all axes, where
   there are eigenvectors that a solve need not be refined with */
static PetscErrorCode solve_device(const Box *b, const BCRCoreOptions *options, double factor, PetscBool inplace,
                                   const void *f, void *u, PetscReal *removed, BCRCoreInfo *info)
{
  const size_t bytes = b->size * (options->precision == BCR_SINGLE ? sizeof(float) : sizeof(double));
  BCRDeviceCore core;
  const double *where;
  double value = 0;
  void *df, *du;
  char *before;
  BCRPlanKind kind = BCR_PLAN_KINDS; /* with another shift */

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(bytes, &before));
  PetscCallBCRCuda(BCRCudaMalloc(bytes, &df));
  PetscCallBCRCuda(BCRCudaMalloc(bytes, &du));
  PetscCallBCRCuda(BCRCudaPut(df, f, bytes, NULL));
  PetscCallBCRCuda(BCRCudaPut(du, f, bytes, NULL));
  if (spectral && !options->radix && (b->product || BCRAxesConditionAll(b->dim, b->axis) <= BCR_CONDITION_REFINE))
    PetscCall(BCRDeviceCoreCreateSpectral(b->dim, b->axis, b->product ? b->mixed : NULL,
                                          lrand48() % 2 ? b->shift : b->shift - 1, b->singular, b->stride, options,
                                          NULL, NULL, NULL, &core));
  else
    PetscCall(BCRDeviceCoreCreate(b->dim, b->axis,
                                  lrand48() % 2 && !b->moves ? b->shift : b->shift + (b->singular ? 0 : 1), b->singular,
                                  b->stride, options, NULL, &core));
  PetscCall(BCRDeviceCoreSetFactor(core, (PetscReal)factor));
  if (b->moves) {
    PetscCall(BCRDeviceCoreSolve(core, NULL, df, du));
    PetscCallBCRCuda(BCRCudaPut(du, f, bytes, NULL));
    PetscCall(BCRDeviceCoreGetInfo(core, info));
    kind = info->kind;
  }
  PetscCall(BCRDeviceCoreSetShift(core, b->shift));
  for (int again = 0; again < 2; again++) {
    if (again && inplace) PetscCallBCRCuda(BCRCudaPut(du, f, bytes, NULL));
    PetscCall(BCRDeviceCoreSolve(core, NULL, inplace ? du : df, du));
    PetscCallBCRCuda(BCRCudaGet(again ? u : before, du, bytes, NULL));
  }
  if (memcmp(u, before, bytes)) {
    failed++;
    printf("a second solve differs: %s\n", inplace ? "in place" : "from one array to another");
  }
  PetscCall(PetscFree(before));
  PetscCall(BCRDeviceCoreGetRemoved(core, &where));
  if (where) PetscCallBCRCuda(BCRCudaGet(&value, where, sizeof(value), NULL));
  *removed = (PetscReal)value;
  PetscCall(BCRDeviceCoreGetInfo(core, info));
  nmoves += b->moves ? 1 : 0;
  nmoved += kind == BCR_PLAN_SPLIT && info->kind == BCR_PLAN_RING ? 1 : 0;
  PetscCall(BCRDeviceCoreDestroy(&core));
  PetscCallBCRCuda(BCRCudaFree(df));
  PetscCallBCRCuda(BCRCudaFree(du));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A complex shift: (T + shift + i tau) (u + i v) = factor (f + i g), as two real equations whose right-hand sides have the other
   part of the solution */
static PetscErrorCode pair_device(const Box *b, const BCRCoreOptions *options, double factor, const double f[],
                                  double *error, BCRCoreInfo *info)
{
  const PetscBool single = options->precision == BCR_SINGLE ? PETSC_TRUE : PETSC_FALSE;
  const size_t size = single ? sizeof(float) : sizeof(double), n = b->size;
  const BCRCorePair pair = {(lrand48() % 2 ? 1 : -1) * pow(10, (double)(lrand48() % 7) - 4), (ptrdiff_t)n + 3};
  const size_t all = n + (size_t)pair.part;
  double *w, *rhs, mean;
  BCRDeviceCore core;
  float *single_w;
  void *dw;

  PetscFunctionBeginUser;
  PetscCall(PetscCalloc3(all, &w, all, &single_w, all, &rhs));
  for (size_t i = 0; i < n; i++) {
    w[i] = f[i];
    w[(size_t)pair.part + i] = single ? (double)(float)rnd() : rnd();
  }
  for (size_t i = 0; i < all; i++) {
    single_w[i] = (float)w[i];
    rhs[i] = w[i];
  }
  PetscCallBCRCuda(BCRCudaMalloc(all * size, &dw));
  PetscCallBCRCuda(BCRCudaPut(dw, single ? (void *)single_w : (void *)w, all * size, NULL));
  PetscCall(BCRDeviceCoreCreateSpectral(b->dim, b->axis, NULL, b->shift, PETSC_FALSE, b->stride, options, NULL, &pair,
                                        NULL, &core));
  PetscCall(BCRDeviceCoreSetFactor(core, (PetscReal)factor));
  PetscCall(BCRDeviceCoreSolve(core, NULL, dw, dw));
  PetscCallBCRCuda(BCRCudaGet(single ? (void *)single_w : (void *)w, dw, all * size, NULL));
  for (size_t i = 0; i < all && single; i++) w[i] = (double)single_w[i];
  for (size_t i = 0; i < n; i++) {
    const size_t j = (size_t)pair.part + i;

    rhs[i] = factor * rhs[i] + pair.tau * w[j];
    rhs[j] = factor * rhs[j] - pair.tau * w[i];
  }
  *error = 0;
  for (int part = 0; part < 2; part++) {
    const size_t at = part ? (size_t)pair.part : 0;
    double e;

    box_check(b, pair.tau, 1, 0, rhs + at, w + at, &e, &mean);
    TestLargest(error, e);
  }
  PetscCall(BCRDeviceCoreGetInfo(core, info));
  PetscCall(BCRDeviceCoreDestroy(&core));
  PetscCallBCRCuda(BCRCudaFree(dw));
  PetscCall(PetscFree3(w, single_w, rhs));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  static const PetscInt radices[] = {0, 0, 0, 2, 4, 8, 16, 3};
  PetscInt cases = 1500, first = 0, step = 1, ran = 0, only[64], nonly = PETSC_STATIC_ARRAY_LENGTH(only);
  double worst[2] = {0, 0};
  char backend[8] = "cpu";
  PetscBool device = PETSC_FALSE, clusters = PETSC_TRUE;

  PetscCall(PetscInitialize(&argc, &argv, NULL, "Tests the numerical core"));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cases", &cases, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-first", &first, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-step", &step, NULL));             /* of one kind of boxes */
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-only", only, &nonly, NULL)); /* these cases alone */
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-spectral", &spectral, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-clusters", &clusters, NULL)); /* 0: the device has none */
  PetscCall(PetscStrcmp(backend, "cuda", &device));
  if (nonly) cases = nonly * step;
  for (PetscInt q = 0; q * step < cases; q++) {
    const PetscInt t = nonly ? only[q] : first + q * step;
    Box b;

    if (!TestTurn()) continue;
    ran++;
    srand48(t + 1);
    box_random(&b, device ? 6 : 200, device && t % 8 == 7 ? PETSC_TRUE : PETSC_FALSE,
               !device && t % 8 == 7 ? t / 8 : -1, device && t % 8 == 4 ? PETSC_TRUE : PETSC_FALSE,
               device && t % 8 == 3 ? PETSC_TRUE : PETSC_FALSE, device && t % 32 == 14 ? PETSC_TRUE : PETSC_FALSE,
               device && t % 16 == 6 ? PETSC_TRUE : PETSC_FALSE, device && t % 32 == 22 ? PETSC_TRUE : PETSC_FALSE,
               device && !spectral && t == 150 ? PETSC_TRUE : PETSC_FALSE,
               device && t % 32 == 10 ? PETSC_TRUE : PETSC_FALSE, device && t % 16 == 2 ? t / 16 : -1);
    if (device && spectral) box_products(&b);
    ngeneral[(b.axis[0].lower ? 1 : 0) + (b.axis[1].lower ? 1 : 0) + (b.axis[2].lower ? 1 : 0)]++;
    for (int precision = 0; precision < 3; precision++) /* double; float arrays; double arrays, float work */
      for (int isa = 0; isa < (device ? (precision < 2 ? 1 : 0) : 3); isa++) {
        const PetscBool single = precision == 0 ? PETSC_FALSE : PETSC_TRUE;
        const BCRPrecision io = precision == 1 ? BCR_SINGLE : BCR_DOUBLE;
        const PetscBool inplace = lrand48() % 2 ? PETSC_TRUE : PETSC_FALSE;
        const double factor = lrand48() % 2 ? 1 : -2.5;
        const PetscBool constant =
          device && t % 80 == 34 ? PETSC_TRUE : PETSC_FALSE; /* most of f, of which transforms have errors */
        /* six transforms in place of four make the larger errors */
        double tol = (single ? 5e-7 : 5e-15) * (constant ? 32 : 1) * (spectral ? 1.5 : 1);
        BCRCoreOptions options;
        BCRCore core = NULL;
        BCRCoreInfo info;
        PetscReal removed;
        double *f, *u, *g, *before, error, mean;
        float *ff, *uu;

        memset(&options, 0, sizeof(options));
        options.isa = isa;
        options.precision = single ? BCR_SINGLE : BCR_DOUBLE;
        options.radix = radices[lrand48() % 8];
        options.recursive = lrand48() % 4 == 0 ? PETSC_TRUE : PETSC_FALSE;
        options.ring = t / 2 % 2 ? 24576 : 0;
        if (!device && t % 8 == 7) {
          options.radix = 0;
          options.separators = 2 - (int)(t / 8 % 4 == 3);
        }
        if (device && (spectral || t % 32 == 14 || t % 32 == 10 || t % 16 == 6 || t % 16 == 2)) options.radix = 0;
        if (device && t % 8 == 3) {
          options.radix = 0;
          options.level0 = 16;
        }
        for (PetscInt d = 0; d < 3; d++)
          if ((b.axis[d].lower && (!device || d || BCRAxisIsPeriodic(&b.axis[d]))) || (b.n[d] > 1 && b.n[d] < 4))
            options.radix = 0;
        if (device && lrand48() % 2) { /* all stages of the lines, sub-sums */
          static const int groups[] = {0, 32, 64}, shared[] = {0, 40, 64, 128}, sums[] = {0, 3, 40},
                           strips[] = {0, 1, 5};

          options.launch[BCR_LAUNCH_GROUP] = groups[lrand48() % 3];
          options.launch[BCR_LAUNCH_SHARED] = shared[lrand48() % 4];
          options.launch[BCR_LAUNCH_SUM] = sums[lrand48() % 3];
          options.launch[BCR_LAUNCH_STRIPS] = strips[lrand48() % 3];
        }
        PetscCall(PetscCalloc6(b.size, &f, b.size, &u, b.size, &g, b.size, &before, b.size, &ff, b.size, &uu));
        for (size_t i = 0; i < b.size; i++) {
          f[i] = rnd() + (constant ? 1e6 : 0);
          if (io == BCR_SINGLE) f[i] = ff[i] = (float)f[i];
          g[i] = f[i];
        }
        if (device) {
#if defined(PETSCBCR_HAVE_CUDA)
          if (io == BCR_SINGLE) {
            PetscCall(solve_device(&b, &options, factor, inplace, ff, uu, &removed, &info));
            for (size_t i = 0; i < b.size; i++) u[i] = uu[i];
          } else PetscCall(solve_device(&b, &options, factor, inplace, g, u, &removed, &info));
#endif
          if (info.kind == BCR_PLAN_RING) nring++;
          if (info.kind == BCR_PLAN_LEVEL0 && b.singular) nmean++;
          if (info.kind == BCR_PLAN_BOX_PRODUCT && b.singular) nchip++;
          if (info.kind == BCR_PLAN_SPLIT) nsplit++;
          if (info.kind == BCR_PLAN_SPLIT || info.kind == BCR_PLAN_BOX || info.kind == BCR_PLAN_BOX_PRODUCT)
            nclusters++;
          if (info.kind == BCR_PLAN_SPECTRAL) nspectral++;
          if (strstr(info.plan, "either sign by eigenvectors")) nwaves++;
          if (info.nlevels == 2 && info.schedule[0] == 16) nsixteen++;
        } else {
          PetscCall(BCRCoreCreate(b.dim, b.axis, lrand48() % 2 ? b.shift : b.shift + (b.singular ? 0 : 1), b.singular,
                                  b.stride, io, &options, &core));
          PetscCall(BCRCoreSetFactor(core, factor));
          PetscCall(BCRCoreSetShift(core, b.shift));
          PetscCall(BCRCoreGetInfo(core, &info));
          if (options.separators == 2 && info.kind == BCR_PLAN_POLES)
            for (int e = 0; e < 5; e++)
              nacross[b.singular ? 1 : 0][e] +=
                b.axis[1].end[0] == across_ends[e][0] && b.axis[1].end[1] == across_ends[e][1] ? 1 : 0;
          for (int again = 0; again < 2; again++) { /* a second solve gives the same bits */
            if (again) PetscCall(PetscArraycpy(before, u, b.size));
            if (io == BCR_SINGLE) {
              if (inplace) PetscCall(PetscArraycpy(uu, ff, b.size));
              PetscCall(BCRCoreSolve(core, inplace ? uu : ff, uu, &removed));
              for (size_t i = 0; i < b.size; i++) u[i] = uu[i];
            } else {
              if (inplace) PetscCall(PetscArraycpy(u, g, b.size));
              PetscCall(BCRCoreSolve(core, inplace ? u : g, u, &removed));
            }
            if (again && memcmp(u, before, b.size * sizeof(*u))) {
              failed++;
              printf("case %d: a second solve differs\n", (int)t);
            }
          }
        }
        box_check(&b, 0, factor, b.singular ? (double)removed : 0, f, u, &error, &mean);
        TestLargest(&worst[single], error);
        /* the null vector's weights are PetscReals */
        if (b.singular && (b.axis[0].lower || b.axis[1].lower || b.axis[2].lower))
          tol = PetscMax(tol, 4 * PETSC_MACHINE_EPSILON);
        if (error <= tol && (!b.singular || mean <= tol)) passed++;
        else {
          failed++;
          if (!device) PetscCall(BCRCoreGetInfo(core, &info));
          printf("case %d isa %d precision %d n %d %d %d ends %d%d %d%d %d%d a %g %g %g shift %g singular %d radix %d: "
                 "error %.1e mean %.1e, %s; %d left out, least symbol %g of %g\n",
                 (int)t, isa, precision, (int)b.n[0], (int)b.n[1], (int)b.n[2], b.axis[0].end[0], b.axis[0].end[1],
                 b.axis[1].end[0], b.axis[1].end[1], b.axis[2].end[0], b.axis[2].end[1], (double)b.axis[0].a,
                 (double)b.axis[1].a, (double)b.axis[2].a, b.shift, b.singular, (int)options.radix, error, mean,
                 info.plan, (int)info.left_out, info.symbol_min, info.symbol_size);
        }
#if defined(PETSCBCR_HAVE_CUDA)
        if (device && spectral && !b.product && !options.radix && !constant &&
            BCRAxesConditionAll(b.dim, b.axis) <= BCR_CONDITION_REFINE) {
          PetscCall(pair_device(&b, &options, factor, f, &error, &info));
          npair++;
          if (error <= 1.5 * tol && info.kind == BCR_PLAN_SPECTRAL) passed++; /* two parts of a number */
          else {
            failed++;
            printf("case %d precision %d, complex: error %.1e, %s\n", (int)t, precision, error, info.plan);
          }
        }
#endif
        PetscCall(BCRCoreDestroy(&core));
        PetscCall(PetscFree6(f, u, g, before, ff, uu));
      }
    for (PetscInt d = 0; d < 3; d++) PetscCall(PetscFree3(b.axis[d].lower, b.axis[d].diag, b.axis[d].upper));
  }
  printf("largest backward error: double %.1e, single %.1e\n", worst[0], worst[1]);
  for (int e = 0; e < 5 && !device; e++) { /* periodic and Neumann ends along x as well make the operator singular */
    const PetscBool singular = e == 1 || e == 2 ? PETSC_TRUE : PETSC_FALSE;

    printf("separators transformed across, %s ends along y: %d solves, %d of singular operators\n", across_names[e],
           (int)nacross[0][e], (int)nacross[1][e]);
    if (ran >= 500 && (nacross[0][e] == 0 || (singular && nacross[1][e] == 0))) failed++;
  }
  printf("boxes with 1, 2 and 3 general axes: %d, %d, %d, %d of these axes rings\n", (int)ngeneral[1], (int)ngeneral[2],
         (int)ngeneral[3], (int)nrings);
  if (ran >= 500 && step == 1 && (ngeneral[2] < 10 || ngeneral[3] < 10 || nrings < 20)) failed++;
  if (device)
    printf("radix 16 at level 0: %d, planes through the cache: %d, planes with divided "
           "transforms: %d, singular at level 0: %d, in planes on chip: %d\n",
           (int)nsixteen, (int)nring, (int)nsplit, (int)nmean, (int)nchip);
  if (spectral)
    printf("transforms along all axes: %d, lines of either sign by eigenvectors: %d, complex shifts: %d\n",
           (int)nspectral, (int)nwaves, (int)npair);
  if (device && clusters) {
    printf("shifts that moved a core from divided transforms to planes through the cache: %d of %d\n", (int)nmoved,
           (int)nmoves);
    if (nmoved != nmoves) failed++;
  }
  if (device && !clusters) {
    printf("plans with clusters of blocks: %d\n", (int)nclusters);
    if (nclusters) failed++;
  }
  if (device && ran >= 1000 && step == 1 &&
      (spectral ? nspectral == 0 || npair == 0 || nring == 0 || nsplit == 0 || nwaves == 0
                : nsixteen == 0 || nring == 0 || nsplit == 0 || nmean < 40))
    failed++;
  PetscCall(PetscFinalize());
  return TestStatus(1, (int)passed, (int)failed);
}
