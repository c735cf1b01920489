/*
  The eigenvectors of a uniform axis with unit coupling,

      T = tridiag(-1, 2, -1), first and last rows by their end types (ends.h),

  numbered j = 0 .. n - 1. Each is a sine or a cosine, mirrored at both ends: with the angle t_j from
  row to row and the number q of halves of the mesh width from the left mirror to the first row,

      phi_j(i) = cos((i + q/2) t_j), left end even;  sin((i + q/2) t_j), left end odd
      t_j      = (2 j + first) pi/length,  lambda_j = 4 sin^2(t_j/2)

  length: halves of the mesh width between the two mirrors; first: 0 between two even ends, 2 between
  two odd ones, 1 between one of each. For each pair of ends that is

  left        right          phi_j(i)           t_j
  DIRICHLET   DIRICHLET      sin((i+1) t)      (j+1) pi/(n+1)
  NEUMANN     NEUMANN        cos(i t)          j pi/(n-1)             (n = 1: phi = 1, lambda = 0)
  CELL_NEU    CELL_NEU       cos((i+1/2) t)    j pi/n
  CELL_DIR    CELL_DIR       sin((i+1/2) t)    (j+1) pi/n
  DIRICHLET   NEUMANN        sin((i+1) t)      (2j+1) pi/(2n)
  NEUMANN     DIRICHLET      cos(i t)          (2j+1) pi/(2n)
  CELL_NEU    CELL_DIR       cos((i+1/2) t)    (2j+1) pi/(2n)
  CELL_DIR    CELL_NEU       sin((i+1/2) t)    (2j+1) pi/(2n)
  DIRICHLET   CELL_NEU       sin((i+1) t)      (2j+1) pi/(2n+1)
  CELL_NEU    DIRICHLET      cos((i+1/2) t)    (2j+1) pi/(2n+1)
  DIRICHLET   CELL_DIR       sin((i+1) t)      2(j+1) pi/(2n+1)
  CELL_DIR    DIRICHLET      sin((i+1/2) t)    2(j+1) pi/(2n+1)
  NEUMANN     CELL_NEU       cos(i t)          2j pi/(2n-1)
  CELL_NEU    NEUMANN        cos((i+1/2) t)    2j pi/(2n-1)
  NEUMANN     CELL_DIR       cos(i t)          (2j+1) pi/(2n-1)
  CELL_DIR    NEUMANN        sin((i+1/2) t)    (2j+1) pi/(2n-1)
  PERIODIC    PERIODIC       1, c1, s1, c2, s2, ...: cos and sin of i t, t = 2 m pi/n
*/
#pragma once

#include "petscbcrimpl.h"
#include "ends.h"
#include <math.h>

typedef struct {
  PetscInt n;
  PetscBool periodic;
  PetscBool odd;     /* sines */
  int offset;        /* q */
  int first;         /* of the multiples 2 j + first of pi/length */
  PetscInt64 length; /* in halves of the mesh width; periodic: n */
} BCRAxisModes;

/* PETSC_FALSE: these two ends have no such modes (one is general, or only one is periodic) */
PETSC_INTERN PetscBool BCRAxisModesDescribe(PetscInt n, BCREnd left, BCREnd right, BCRAxisModes *modes);
/* t_j = num pi/den */
PETSC_INTERN void BCRAxisModesGetAngle(const BCRAxisModes *modes, PetscInt j, PetscInt64 *num, PetscInt64 *den);
/* phi_j(i) is the sine (returned: PETSC_TRUE) or the cosine of num pi/den */
PETSC_INTERN PetscBool BCRAxisModesGetPhase(const BCRAxisModes *modes, PetscInt j, PetscInt i, PetscInt64 *num,
                                            PetscInt64 *den);
/* sum over i of w_i phi_j(i)^2, w_i the weights of end rows (ends.h), else 1 */
PETSC_INTERN double BCRAxisModesGetSquares(const BCRAxisModes *modes, PetscInt j);
/* lambda: n eigenvalues, as 4 sin^2 so that small ones have full relative accuracy; norm: n numbers
   1/squares, by which x = sum_j norm_j phi_j (sum_i w_i phi_j(i) x_i) */
PETSC_INTERN void BCRAxisModesGetValues(const BCRAxisModes *modes, double lambda[], double norm[]);
/* The constant mode among n with these eigenvalues, in any order: the one of eigenvalue 0, or -1 */
PETSC_INTERN PetscInt BCRAxisModesFindConstant(PetscInt n, const double lambda[]);
/* cos and sin of 2 pi a/b, a >= 0 */
PETSC_INTERN void BCRUnit(PetscInt64 a, PetscInt64 b, long double *c, long double *s);

/* 1/mu - 1 for the smaller root mu of the row (-1, 2 + delta, -1); no square of delta, which may be of any size */
static inline double BCRRootGap(double delta)
{
  return 0.5 * (delta + sqrt(delta) * sqrt(delta + 4));
}
