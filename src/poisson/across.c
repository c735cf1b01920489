/*
  Tables for separators that are transformed across, along the block rows, while the sums over poles
  run along x (polesum.h; docs/method.md, section 5, "Across").

  Where the separators, every eighth row, are the nodes of a coarser axis, of which mode k has the
  angle Theta, all rows' modes of the angles theta with cos 8 theta = cos Theta alias to it, and the
  reduced system's inverse is by partial fractions, all of one weight as those of paper 000, (6),
  here mode by mode,

      u_k = 1/8 sum_s (T_x + delta_s)^-1 D_k a_y/a_x,    delta_s = (shift + a_y 4 sin^2(theta_s/2))/a_x,    theta_s = |Theta -+ 2 pi l|/8.

  Of products of axes with p = 4 sin^2(theta_s/2) it is (c_0 + c_1 T_x + p (c_2 + c_3 T_x))^-1: no pole is divided by.
*/
#include "tables.h"
#include <math.h>

/* The image of a line's end: what it sends back of what arrives one step beyond it, and the same of
   the end's own right-hand side */
static void end_image(BCREnd end, double mu, double *r, double *own)
{
  const BCREndMirror mirror = BCREndGetRule(end).mirror; /* v_{-1} = sign v_{1 - distance} */

  *r = mirror.sign / (mirror.distance == 0 ? mu * mu : (mirror.distance == 1 ? mu : 1));
  *own = mirror.distance == 0 ? -1 / mu : 0; /* the end itself has no image */
}

/* With p pi/den the coarser axis' angle, that of pole s in units of pi/(8 den); 8: radix */
static inline PetscInt pole_angle(PetscInt den, PetscInt p, PetscInt s)
{
  return s % 2 ? den * (s + 1) - p : den * s + p;
}

/* Line along x for an angle theta of y, theta/2 = q pi/(16 den) */
static BCRModeLine pole_line(const double c[4], PetscInt den, PetscInt q)
{
  const double sn = sin(q * M_PI / (2. * BCR_POLES * den));

  return BCRModeLineMake(c[0] + c[2] * 4 * sn * sn, c[1] + c[3] * 4 * sn * sn);
}

PetscBool BCRAcrossRows(const BCRAxis *x, const BCRAxis *y, const double c[4], BCRAcross *a)
{
  const double most = 0.1; /* of what a line's image is to be at its other end: where it is more, images cancel */
  const BCREndMirror mirror[2] = {BCREndGetRule(y->end[0]).mirror, BCREndGetRule(y->end[1]).mirror};
  PetscInt gap[2] = {7, 7};
  PetscInt slowest = 1; /* p of the smoothest mode that decays along x by itself */

  if (x->lower || y->lower || y->n < BCR_POLES) return PETSC_FALSE;
  if (BCREndIsPeriodic(y->end[0])) {
    if (y->n % BCR_POLES || y->n < 2 * BCR_POLES) return PETSC_FALSE;
    a->end[0] = a->end[1] = y->end[0];
    a->rows.n = a->ng = a->den = y->n / BCR_POLES;
    slowest = 2;
  } else {
    for (int e = 0; e < 2; e++) {
      if (mirror[e].distance == 1) return PETSC_FALSE;
      if (mirror[e].distance == 0) gap[e] = 4; /* mirrored at the end, a separator is eight rows from its image */
    }
    if (gap[0] != gap[1]) gap[gap[0] == 4 ? 1 : 0] = 3; /* four rows from the node beyond a Dirichlet end */
    a->rows.n = (y->n - gap[0] - gap[1] - 1) / BCR_POLES + 1;
    if (a->rows.n < 1 || gap[0] + gap[1] + BCR_POLES * (a->rows.n - 1) + 1 != y->n) return PETSC_FALSE;
    a->ng = a->rows.n + 1;
    a->den = gap[0] == 7 ? a->rows.n + 1 : (gap[0] == gap[1] ? a->rows.n : 2 * a->rows.n);
    for (int e = 0; e < 2; e++) a->end[e] = gap[e] == 7 ? y->end[e] : BCREndOfCell(mirror[e].sign);
  }
  a->rows.gap = a->rows.gaplast = 7;
  for (int e = 0; e < 2; e++) {
    a->rows.end[e] = y->end[e];
    a->rows.gapend[e] = gap[e];
  }
  for (PetscInt q = slowest; q <= (c[3] != 0 ? BCR_POLES * a->den : slowest); q++) {
    const double d = pole_line(c, a->den, q).delta;

    if (!(d > 0) || (x->n + 1) * log1p(BCRRootGap(d)) < -log(most)) return PETSC_FALSE;
  }
  return c[1] > 0 ? PETSC_TRUE : PETSC_FALSE; /* of the constant mode along y */
}

/* The line of the constant mode's first pole: pivots 1 + e as in level0.c, a ring bordered by its
   last unknown as in lines.c. That unknown is zero where the line is singular */
static PetscErrorCode line_create(const BCRAxis *x, double delta, double scale, PetscInt row, BCRArena *arena,
                                  BCRPoleLine *line)
{
  const PetscBool px = BCREndIsPeriodic(x->end[0]) ? PETSC_TRUE : PETSC_FALSE;
  const PetscInt n = x->n - (px ? 1 : 0);
  double beyond[2], num = 0, P = 1, *inv;

  PetscFunctionBegin;
  PetscCall(BCRArenaGet(arena, n * sizeof(*inv), &inv));
  for (int e = 0; e < 2; e++) beyond[e] = px ? 1 : BCREndExcess(x->end[e]);
  line->n = x->n;
  line->row = row;
  line->scale = scale;
  line->ring = px;
  line->up = BCREndGetRule(x->end[0]).inward;
  line->low = BCREndGetRule(x->end[1]).inward;
  line->inv = inv;
  line->last = 0;
  for (PetscInt i = 0; i < n; i++) {
    num = delta + (i ? (i == n - 1 ? line->low : 1) * num / P : beyond[0]) + (i == n - 1 ? beyond[1] : 0);
    P = (i == n - 1 ? 0 : (i ? 1 : line->up)) + num;
    inv[i] = P > 0 ? 1 / P : 0;
  }
  if (px) {
    /* last entry, and for symmetry the first, of the open line's inverse times the row sums, delta,
       less the couplings to the last unknown */
    double y = 0;

    for (PetscInt i = 0; i < n; i++) y = (delta + y) * inv[i];
    line->last = delta > 0 ? 1 / (delta + 2 * y) : 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v_i = y_i + up c_i v_{i+1}, y_i = c_i (g_i + low y_{i-1}) */
void BCRPoleLineSolve(const BCRPoleLine *line, double v[])
{
  const PetscInt n = line->n - (line->ring ? 1 : 0);
  double y = 0, last = 0;

  for (PetscInt i = 0; i < line->n; i++) v[i] *= line->scale;
  if (line->ring) {
    double z = 0;

    for (PetscInt i = 0; i < n; i++) {
      y = (v[i] + y) * line->inv[i];
      z = (v[n - 1 - i] + z) * line->inv[i];
    }
    last = line->last * (v[n] + y + z);
    v[n] = last;
    v[0] += last;
    v[n - 1] += last;
    y = 0;
  }
  for (PetscInt i = 0; i < n; i++) v[i] = y = (v[i] + (i == n - 1 ? line->low : 1) * y) * line->inv[i];
  for (PetscInt i = n - 2; i >= 0; i--) v[i] = y = v[i] + (i ? 1 : line->up) * line->inv[i] * y;
}

PetscErrorCode BCRPoleSumCreate(const BCRAxis *x, const double c[4], double unit, const BCRAcross *across,
                                const double lambda[], const double norm[], PetscBool single, PetscInt lanes,
                                BCRArena *arena, BCRPoleSum *sum, BCRPoleLine *line)
{
  const PetscInt n = x->n, nk = across->rows.n, den = across->den, nq = (nk + lanes - 1) / lanes;
  const double eps = log(single ? 1e-9 : 1e-18); /* what decays below this does not count */
  const PetscBool px = BCREndIsPeriodic(x->end[0]) ? PETSC_TRUE : PETSC_FALSE;
  ptrdiff_t *near[4];
  double *tab;

  PetscFunctionBegin;
  sum->n = n;
  sum->nk = nk;
  line->row = -1;
  for (int i = 0; i < 4; i++) {
    PetscCall(BCRArenaGet(arena, nq * sizeof(**near), &near[i]));
    for (PetscInt q = 0; q < nq; q++) near[i][q] = 0;
    sum->near[i] = near[i];
  }
  PetscCall(PetscCalloc1((size_t)nq * BCR_POLES * BCR_SUM_ROWS * lanes, &tab));
  for (PetscInt q = 0; q < nq; q++) {
    for (PetscInt l = 0; l < lanes; l++) {
      const PetscInt i = PetscMin(q * lanes + l, nk - 1);
      const PetscInt p = (PetscInt)(2 * den / M_PI * asin(0.5 * sqrt(lambda[i])) + 0.5);

      if (p == 0 && line->row < 0)
        BCRCallElse(line_create(x, c[0] / c[1], norm[i] / BCR_POLES * unit / c[1], i, arena, line),
                    (void)PetscFree(tab));
      for (PetscInt s = 0; s < BCR_POLES; s++) {
        const PetscBool apart = p == 0 && s == 0 ? PETSC_TRUE : PETSC_FALSE; /* by its line: it may not decay at all */
        const BCRModeLine pole = pole_line(c, den, pole_angle(den, p, apart ? 1 : s));
        const double d = pole.delta, root = sqrt(d) * sqrt(d + 4), e = 0.5 * (d + root), decay = log1p(e),
                     columns = PetscMin(-eps / decay + 1, (double)n);
        const double mu = (pole.alternates ? -1 : 1) / (1 + e),
                     rho = (pole.alternates && n % 2 == 0 ? -1 : 1) * exp(-(n + 1) * decay); /* mu^(n + 1) */
        double r0, r1, own0, own1, *row = tab + BCR_SUM_ROWS * lanes * (q * BCR_POLES + s) + l;

        row[BCR_SUM_MU * lanes] = mu;
        row[BCR_SUM_W * lanes] = q * lanes + l < nk && !apart ? norm[i] / BCR_POLES * unit / pole.a / root : 0;
        near[s > 0][q] = PetscMax(near[s > 0][q], (ptrdiff_t)columns);
        if (px || fabs(rho) > exp(eps)) near[2 + (s > 0)][q] = PetscMax(near[2 + (s > 0)][q], (ptrdiff_t)columns);
        if (px) {
          row[BCR_SUM_YZ * lanes] = row[BCR_SUM_Y0 * lanes] = row[BCR_SUM_YN * lanes] = 0;
          row[BCR_SUM_YY * lanes] = 1 / (mu - rho);
          row[BCR_SUM_ZZ * lanes] = 1 / (mu - rho);
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
  BCRCallElse(BCRArenaReal(arena, single, (size_t)nq * BCR_POLES * BCR_SUM_ROWS * lanes, tab, &sum->tab),
              (void)PetscFree(tab));
  PetscCall(PetscFree(tab));
  PetscFunctionReturn(PETSC_SUCCESS);
}
