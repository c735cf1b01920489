/*
  Tables for separators that are transformed across, along the block rows, while the sums over poles run along x (polesum.h; docs/method.md,
  section 5, "Across").

  Where radix 8 divides ny + 1 and both ends of y are Dirichlet, the m - 1 = (ny + 1)/8 - 1 separators are themselves nodes of a coarser axis, and
  mode k of theirs is what the modes j = 2 m l + k and 2 m l - k of all rows, 0 < j < 8 m, alias to: partial fractions of the reduced system's inverse, all of one weight
  as those of paper 000, (6), here mode by mode,

      u_k = 1/8 sum_j (T_x + delta_j)^-1 D_k a_y/a_x,    delta_j = (shift + a_y 4 sin^2(j pi/(16 m)))/a_x.
*/
#include "tables.h"
#include <math.h>

/* The image of a line's end: what it sends back of what arrives one step beyond it, and the same of the end's own right-hand side */
static void end_image(BCREnd end, double mu, double *r, double *own)
{
  *own = 0;
  switch (end) {
  case BCR_END_NEUMANN: /* v_{-1} = v_1; the end itself has no image */
    *r   = 1 / (mu * mu);
    *own = -1 / mu;
    break;
  case BCR_END_CELL_NEUMANN: /* v_{-1} = v_0 */
    *r = 1 / mu;
    break;
  case BCR_END_CELL_DIRICHLET: /* v_{-1} = -v_0 */
    *r = -1 / mu;
    break;
  default:
    *r = -1;
  }
}

PetscInt BCRPoleSumModes(const BCRAxis *x, const BCRAxis *y, double shift)
{
  const double most = 0.1;                                                                  /* of what a line's image is to be at its other end: where it is more, images cancel */
  const double sn = sin(M_PI / (2 * (y->n + 1.))), d = (shift + y->a * 4 * sn * sn) / x->a; /* of the smoothest mode */

  if ((y->n + 1) % BCR_POLES || y->n < BCR_POLES || y->end[0] != BCR_END_DIRICHLET || y->end[1] != BCR_END_DIRICHLET || y->lower || x->lower) return 0;
  if (!(d > 0) || (x->n + 1) * log1p(0.5 * (d + sqrt(d * (d + 4)))) < -log(most)) return 0;
  return (y->n + 1) / BCR_POLES - 1;
}

PetscErrorCode BCRPoleSumCreate(const BCRAxis *x, const BCRAxis *y, double shift, const double lambda[], const double norm[], PetscBool single, PetscInt lanes, BCRArena *arena, BCRPoleSum *sum)
{
  const PetscInt  n = x->n, nk = BCRPoleSumModes(x, y, shift), m = nk + 1, nq = (nk + lanes - 1) / lanes;
  const double    eps = log(single ? 1e-9 : 1e-18); /* what decays below this does not count */
  const PetscBool px  = x->end[0] == BCR_END_PERIODIC ? PETSC_TRUE : PETSC_FALSE;
  ptrdiff_t      *near[4];
  double         *tab;

  PetscFunctionBegin;
  sum->n  = n;
  sum->nk = nk;
  for (int i = 0; i < 4; i++) {
    PetscCall(BCRArenaGet(arena, nq * sizeof(**near), &near[i]));
    for (PetscInt q = 0; q < nq; q++) near[i][q] = 0;
    sum->near[i] = near[i];
  }
  PetscCall(PetscCalloc1((size_t)nq * BCR_POLES * BCR_SUM_ROWS * lanes, &tab));
  for (PetscInt q = 0; q < nq; q++) {
    for (PetscInt l = 0; l < lanes; l++) {
      const PetscInt i = PetscMin(q * lanes + l, nk - 1);
      const PetscInt k = (PetscInt)(2 * m / M_PI * asin(0.5 * sqrt(lambda[i])) + 0.5);

      for (PetscInt s = 0; s < BCR_POLES; s++) {
        const PetscInt j  = s % 2 ? m * (s + 1) - k : m * s + k;
        const double   sn = sin(j * M_PI / (2 * BCR_POLES * m)), d = (shift + y->a * 4 * sn * sn) / x->a, root = sqrt(d * (d + 4)), e = 0.5 * (d + root), mu = 1 / (1 + e);
        const double   decay = log1p(e), rho = exp(-(n + 1) * decay), columns = PetscMin(-eps / decay + 1, (double)n);
        double         r0, r1, own0, own1, *row = tab + BCR_SUM_ROWS * lanes * (q * BCR_POLES + s) + l;

        row[BCR_SUM_MU * lanes] = mu;
        row[BCR_SUM_W * lanes]  = q * lanes + l < nk ? norm[i] / BCR_POLES * y->a / x->a / root : 0;
        near[s > 0][q]          = PetscMax(near[s > 0][q], (ptrdiff_t)columns);
        if (px || rho > exp(eps)) near[2 + (s > 0)][q] = PetscMax(near[2 + (s > 0)][q], (ptrdiff_t)columns);
        if (px) {
          row[BCR_SUM_YZ * lanes] = row[BCR_SUM_Y0 * lanes] = row[BCR_SUM_YN * lanes] = 0;
          row[BCR_SUM_YY * lanes]                                                     = 1 / (mu - rho);
          row[BCR_SUM_ZZ * lanes]                                                     = 1 / (mu - rho);
          row[BCR_SUM_ZY * lanes] = row[BCR_SUM_ZN * lanes] = 0;
          continue;
        }
        end_image(x->end[0], mu, &r0, &own0);
        end_image(x->end[1], mu, &r1, &own1);
        {
          const double den = 1 / (1 - r0 * r1 * rho * rho);

          row[BCR_SUM_YZ * lanes] = r0 * den;
          row[BCR_SUM_YY * lanes] = r0 * r1 * rho * den;
          row[BCR_SUM_Y0 * lanes] = own0 * den;
          row[BCR_SUM_YN * lanes] = r0 * rho * own1 * den;
          row[BCR_SUM_ZZ * lanes] = 0;
          row[BCR_SUM_ZY * lanes] = r1 * mu;
          row[BCR_SUM_ZN * lanes] = own1;
        }
      }
    }
    near[0][q] = PetscMax(near[0][q], near[1][q]);
    near[2][q] = PetscMax(near[2][q], near[3][q]);
  }
  PetscCall(BCRArenaReal(arena, single, (size_t)nq * BCR_POLES * BCR_SUM_ROWS * lanes, tab, &sum->tab));
  PetscCall(PetscFree(tab));
  PetscFunctionReturn(PETSC_SUCCESS);
}
