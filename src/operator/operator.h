/*
  The separable operator that every solver of this library is given (docs/method.md, section "operator").

  On a box of nx x ny x nz unknowns, x fastest,

      A = scale * W * ( Tx (+) Ty (+) Tz + shift I )         ((+): Kronecker sum)

  with T_d tridiagonal, W = diag(w_x) x diag(w_y) x diag(w_z). A uniform axis has

      (T u)_i = a (2 u_i - u_{i-1} - u_{i+1})     inside,

  and the first and last rows that its end types say. Any axis may be general:

      (T u)_i = -lower_i u_{i-1} + diag_i u_i - upper_i u_{i+1}.

  and one of three may have numbers t_i, by which T_d of another axis d is multiplied in row i of this one (cylinders,
  spheres, anisotropic layers). A general axis may be a ring: lower_0 couples to the last unknown, upper_(n-1) to the first. Lines are along one general axis,
  that with such numbers if there is one; others are transformed by their eigenvectors (BCRAxesLine()).

  Instead of the sum, all axes being uniform, it may have products of their T of unit coupling (BCROperator.product),

      A = scale * W * ( shift I + sum over sets of axes mixed[set] prod_{d in set} T_d ),

  which are the constant 9- and 27-point stencils that reflections of each axis leave alone (product.c).

  Planes of identity-like rows at either end of an axis are not part of the box: they are described by BCRPlane
  and eliminated before and recovered after the solve.
*/
#pragma once

#include "../base/petscbcrimpl.h"
#include "../base/ends.h"

/* A plane of rows  d u_b - e u_1 = f_b  (u_1: the neighbour inside the box; e = 0 for identity-like rows) that has
   been dropped from the box. The interior rows beside it hold -scale W coupling u_b when couple is set, in terms of the
   box's own W. T already has the elimination of u_b in it: its first diagonal is what the matrix
   holds less coupling*slope. */
typedef struct {
  PetscBool present;
  PetscBool couple;   /* the interior rows keep their coupling to this plane */
  PetscReal coupling; /* the axis' a in a uniform axis as a rule; 0 where couple is not set */
  PetscReal *
    couplings; /* not separable only, else NULL: one for each node of the plane (numbered as inv), used in place of coupling:
                           the interior row beside node q holds -scale couplings[q] u_b, with no W and no rowscale */
  PetscReal slope; /* e/d, the same on the whole plane */
  PetscReal inv0;  /* 1/d where inv is NULL */
  /* 1/d for each node of the plane: the other axes' full extents (dropped planes included), lower
     axis fastest. 0: the row is empty, and so is its column; u = 0 there */
  PetscReal *inv;
  /* d is not the same on the whole plane; several ranks: though it may be on this one's part of it
     */
  PetscBool varies;
} BCRPlane;

typedef struct {
  /* unknowns in the box; 0 when the planes leave none (the box is empty then, and only the planes'
     rows are solved) */
  PetscInt n;
  BCREnd end[2]; /* low, high */
  /* coupling of a uniform axis, >= 0 (n == 1: only that to the dropped planes; what the single row
     holds is in the shift) */
  PetscReal a;
  /* general axis: three arrays of n, else NULL. lower[0] and upper[n-1] are 0 and both ends general, or it is a ring of
     three unknowns at least, and they are periodic */
  PetscReal *lower;
  PetscReal *diag;
  PetscReal *upper;
  PetscReal *weight; /* w_d, n entries, > 0, or of either sign where no planes are coupled along it; NULL: all one */
  /* general axis of a box of three: t, n entries, and the axis that they are for, the last one but this (BCRAxesTimed()).
     NULL: all one */
  PetscReal *times;
  PetscInt timed;
  /* complex scalars, no planes are coupled along this axis: what stands in place of tau in each, n entries; NULL: tau */
  PetscReal *imag;
  BCRPlane plane[2]; /* dropped planes */
} BCRAxis;

static inline PetscBool BCRAxisIsPeriodic(const BCRAxis *axis)
{
  return BCREndIsPeriodic(axis->end[0]) ? PETSC_TRUE : PETSC_FALSE;
}

/* Row i: -low u_(i-1) + diag u_i - up u_(i+1). A uniform axis of one unknown has none: it is in the shift */
static inline void BCRAxisGetRow(const BCRAxis *axis, PetscInt i, double *low, double *diag, double *up)
{
  const double a = axis->n > 1 ? (double)axis->a : 0;

  *low = axis->lower ? (double)axis->lower[i] : a;
  *up = axis->lower ? (double)axis->upper[i] : a;
  *diag = axis->lower ? (double)axis->diag[i] : 2 * a;
  for (int s = 0; s < 2 && !axis->lower && !BCREndIsPeriodic(axis->end[s]); s++) {
    const BCREndRule rule = BCREndGetRule(axis->end[s]);

    if (i != (s ? axis->n - 1 : 0)) continue;
    *(s ? low : up) = rule.inward * a;
    *(s ? up : low) = 0;
    *diag += rule.diagonal * a;
  }
}

/* Several general axes (axis.c). cond V of those that are transformed. Beyond the first a solve is refined once:
   symmetric matrices with cells of 1 to 5000 (cond V 71) have a backward error of 5e-15 before and of 2e-17 after it.
   Beyond the second it does not help (convection: 2e-14 at 6e7, 1e-13 at 2e9, where the condition of the matrix is
   such that no digit is right, LU's neither) */
#define BCR_CONDITION_REFINE 30
#define BCR_CONDITION_MOST   1e7
/* Unknowns of such an axis: beyond, the products are more work than iterations with a fit */
#define BCR_EIGEN_MOST 2048

/* The axis of the lines, of several general ones: that which leaves the others, which are transformed, the least work,
   else the smallest cond V. -1: none is general. *rest: the product of cond V of the others, infinite where they
   cannot be transformed */
PETSC_INTERN PetscInt BCRAxesLine(PetscInt dim, const BCRAxis axis[], double *rest);
/* That product; ranks: as if every general axis were transformed, since along an interface between ranks all but the
   slabs' are. 1: no more than one axis is general */
PETSC_INTERN double BCRAxesCondition(PetscInt dim, const BCRAxis axis[], PetscBool ranks);
/* The same where all general axes are transformed, however few, infinite where one cannot be */
PETSC_INTERN double BCRAxesConditionAll(PetscInt dim, const BCRAxis axis[]);
/* Which axis the numbers t along an axis are for */
static inline PetscInt BCRAxesTimed(PetscInt axis)
{
  return axis == 2 ? 1 : 2;
}
/* The axis that has them, -1: none */
PETSC_INTERN PetscInt BCRAxesTimes(PetscInt dim, const BCRAxis axis[]);
/* cond V = sqrt(max h/min h) of the eigenvectors V = h^-1/2 Q of a general axis; infinite where nothing makes it symmetric */
PETSC_INTERN double BCRAxisCondition(const BCRAxis *axis);
/* The general axis that cannot be transformed, so that it has the lines, and ranks share it out; -1: none */
PETSC_INTERN PetscInt BCRAxesForced(PetscInt dim, const BCRAxis axis[]);
/* h of a general axis, [n], with h_i upper_i = h_(i+1) lower_(i+1): h^1/2 T h^-1/2 is symmetric. PETSC_FALSE: there is
   none, for rows *bad and *bad + 1 are coupled one way only, or the links of a ring, whose products both ways round are
   not the same, are closed by that one */
PETSC_INTERN PetscBool BCRAxisSymmetriser(const BCRAxis *axis, double h[], PetscInt *bad);
/* The left null vector of a general axis whose rows add up to zero, the first entry 1: h, if there is one */
PETSC_INTERN PetscErrorCode BCRAxisLeftNull(const BCRAxis *axis, double left[]);
/* By what rounding of the largest rows of T, which products with eigenvectors bring to all others, is more in those
   with the largest weights than it would be in the largest rows of W T; as cond V, to be refined beyond
   BCR_CONDITION_REFINE: backward errors of 4e-14 where that is 167, finite volumes with random cells of 1 to 500 */
PETSC_INTERN double BCRAxesMixing(PetscInt dim, const BCRAxis axis[], PetscBool ranks);

/* No plane across this axis is coupled to another one: each is a system by itself, with shift diag[k] or 0, and one
   axis times t_k */
static inline PetscBool BCRAxisIsApart(const BCRAxis *axis)
{
  if (!axis->lower) return (PetscBool)(axis->n > 1 && axis->a == 0);
  for (PetscInt i = 0; i < axis->n; i++)
    if (axis->lower[i] != 0 || axis->upper[i] != 0) return PETSC_FALSE;
  return (PetscBool)(axis->n > 1);
}
/* The first such axis, that with numbers t if it is one; -1: none */
PETSC_INTERN PetscInt BCRAxesApart(PetscInt dim, const BCRAxis axis[]);

/* The largest sum of absolute values of a row of the sum of the axes and shift + i tau */
PETSC_INTERN double BCRAxesSize(PetscInt dim, const BCRAxis axis[], double shift, double tau);
/* The same of plane k across the axis apart; -1: of all */
PETSC_INTERN double BCRAxesPlaneSize(PetscInt dim, const BCRAxis axis[], PetscInt apart, PetscInt k, double shift,
                                     double tau);
/* The largest of those of the planes that are not coupled over the smallest; 1: all planes are */
PETSC_INTERN double BCRAxesPlaneScales(PetscInt dim, const BCRAxis axis[], double shift);
/* The smallest eigenvalue of an axis, 0 of a uniform one of one unknown */
PETSC_INTERN PetscErrorCode BCRAxisLowest(const BCRAxis *ax, PetscReal *lo);
/* How many eigenvalues of a general axis are below x */
PETSC_INTERN PetscInt BCRAxisCount(const BCRAxis *ax, double x);

/* Entry i of the null vector of the transpose of a uniform axis that is singular */
static inline double BCRAxisGetEndWeight(const BCRAxis *axis, PetscInt i)
{
  return (i ? 1 : BCREndGetRule(axis->end[0]).weight) * (i < axis->n - 1 ? 1 : BCREndGetRule(axis->end[1]).weight);
}

/* devscale.c: 1/rowscale as doubles in the memory of a CUDA device, for as many operators as refer
   to it. A matrix whose values are there has them made there, and a solver there takes them as they
   are */
typedef struct _n_BCRDeviceScale *BCRDeviceScale;
/* differ.h: rows of the matrix that are not the operator's */
typedef struct _n_BCRDiffer *BCRDiffer;

typedef struct {
  PetscInt dim;    /* 1, 2 or 3 */
  BCRAxis axis[3]; /* axes beyond dim have n = 1 */
  /* product.c: a = 1 along each axis of more than one unknown, and bit d of a set is axis d; mixed[0] is 0. No general axes,
     row scales or rows that differ then */
  PetscBool product;
  PetscReal mixed[8];
  PetscBool
    sides; /* product: rows of the box refer to nodes of dropped planes, whatever they have there; else planes are apart */
  PetscReal shift;
  PetscReal scale;    /* overall factor, carries the sign */
  PetscBool singular; /* the constant is in the null space */
  /* eigenvalues of both signs, or nearly zero, or not real: solved by poisson/waves.h on the host, by plan SPECTRAL on
     a device */
  PetscBool waves;
  PetscReal tau; /* complex scalars: T + shift + i tau; the largest of those of planes */
  /* complex scalars: A = diag(turn) times all this, |turn| = 1, for each row of this rank's nodes (x fastest); NULL: 1 */
  PetscScalar *turn;
  /* Rows of nodes that lie in planes of several axes: d u - sum e_a u_a = f, u_a the neighbour inward along axis a; 1/d
     is that of the plane of the first of these axes. e_a/d, for each combination of planes (BCRCornerPlace()) */
  PetscReal corner[27][3];
  PetscInt empty; /* rows in planes that hold nothing, on all ranks */
  /* 'scaled' fit: A ~ S B S with B the separable operator above and S = diag(rowscale) > 0 over the
     box (x fastest; the planes have couplings of their own then); NULL: none, or in devscale */
  PetscReal *rowscale;
  BCRDeviceScale devscale;
  PetscReal *
    apart; /* over the box, as rowscale: 1 over the diagonal of a row apart, whose rowscale is infinite: it is solved by itself and has no part in the
                           box's solution; 0 for other rows. NULL: there are none */
  /* A = S B instead: rowscale multiplies rows alone, and their coupling to planes that have no
     couplings of their own */
  PetscBool left;
  BCRDiffer differ; /* NULL: all rows are this operator's */
  /* largest |entry - model| / |model|; where the model has no entry, / |diagonal of the model| */
  PetscReal deviation;
  PetscInt devrow, devcol; /* where, in natural numbering of the component */
  /* of a matrix on a device: its layers were looked at on the host for this fit (BCRFit) when its bound was this, and
     nothing better was found; 0: they were not, or something was */
  PetscReal looked;
  int lookedfit;
  /* of a fit: which one it is (BCRFit), and what of its bound is its own; by auto: of all that there are the bounds as they
     were compared, 0: there is none */
  int taken;
  PetscReal bound, bounds[8];
  /* auto takes this fit, whose bound was that when it was chosen, until the bound is another (by more than a quarter):
     0: whatever it is. prefer 0: by bounds. Where it takes many iterations, rivals are what all bounds were, as others may
     be better for new values, of which its own says nothing; rivals[prefer] 0: they do not matter */
  int prefer;
  PetscReal preferred, rivals[8];
  char fit[16]; /* "exact", "scaled", "average", "profile", "user" */
} BCROperator;

/* The smallest diagonal of an axis of more than one unknown */
static inline PetscReal BCRAxisLeast(const BCRAxis *axis)
{
  PetscReal least = axis->lower && axis->n > 0 ? axis->diag[0] : 2 * axis->a;

  for (PetscInt i = 1; i < axis->n && axis->lower; i++) least = PetscMin(least, axis->diag[i]);
  return axis->n > 1 ? least : 0;
}

/* The ratio of the largest to the smallest diagonal along an axis with coefficients, 1 where there is none */
static inline PetscReal BCROperatorGrading(const BCROperator *op)
{
  PetscReal grading = 1;

  for (PetscInt d = 0; d < op->dim; d++) {
    PetscReal rest = op->shift, low = PETSC_MAX_REAL, high = 0;

    for (PetscInt e = 0; e < op->dim; e++) rest += e != d ? BCRAxisLeast(&op->axis[e]) : 0;
    for (PetscInt i = 0; i < op->axis[d].n && op->axis[d].lower; i++) {
      low = PetscMin(low, PetscAbsReal(op->axis[d].diag[i] + rest));
      high = PetscMax(high, PetscAbsReal(op->axis[d].diag[i] + rest));
    }
    if (high > grading * low) grading = high / low;
  }
  return grading;
}

/* The shift over the size of the operator, where nothing else keeps it from being singular; else 1 */
PETSC_INTERN PetscReal BCROperatorNearness(const BCROperator *op);

/* side of each axis: -1 low plane, 0 box, 1 high plane */
static inline PetscInt BCRCornerPlace(const int side[3])
{
  return side[0] + 1 + 3 * (side[1] + 1) + 9 * (side[2] + 1);
}

static inline PetscBool BCROperatorScaled(const BCROperator *op)
{
  return op->rowscale || op->devscale ? PETSC_TRUE : PETSC_FALSE;
}
