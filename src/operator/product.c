/*
  The symbol of products of axes: what it is bounded by, and whether it changes its sign.
*/
#include "product.h"
#include <math.h>
#include <stdlib.h>

/* The eigenvalues that corners are made of: smallest, smallest but zero, largest */
static void eigenvalues_of(PetscInt n, const double lambda[], double v[3])
{
  v[0] = v[2] = n > 1 ? lambda[0] : 0;
  v[1] = PETSC_MAX_REAL;
  for (PetscInt i = 0; i < n && n > 1; i++) {
    v[0] = PetscMin(v[0], lambda[i]);
    v[2] = PetscMax(v[2], lambda[i]);
    if (lambda[i] > 0) v[1] = PetscMin(v[1], lambda[i]);
  }
}

void BCRProductGetRange(const PetscInt n[3], const double *const lambda[3], const double c[BCR_SETS],
                        PetscBool constant, BCRProductRange *r)
{
  double v[3][3], a[BCR_SETS];

  for (int d = 0; d < 3; d++) eigenvalues_of(n[d], lambda[d], v[d]);
  for (int m = 0; m < BCR_SETS; m++) a[m] = PetscAbs(c[m]);
  r->least = PETSC_MAX_REAL;
  r->size = BCRProductSymbol(a, v[0][2], v[1][2], v[2][2]);
  r->top = 0;
  /* all modes but the constant: those that are not constant along x, or along y, or along z; else one part, all of
     them */
  for (int part = 0; part < (constant ? 3 : 1); part++) {
    if (constant && n[part] < 2) continue;
    for (int corner = 0; corner < 8; corner++) {
      double l[3], p;

      for (int d = 0; d < 3; d++) l[d] = corner >> d & 1 ? v[d][2] : v[d][constant && d == part ? 1 : 0];
      p = BCRProductSymbol(c, l[0], l[1], l[2]);
      r->least = PetscMin(r->least, p);
      r->top = PetscMax(r->top, PetscAbs(p));
    }
  }
}

static int compare(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

void BCRModesSort(PetscInt n, double lambda[])
{
  qsort(lambda, (size_t)n, sizeof(double), compare);
}

void BCRModesSurveyLine(PetscInt n, const double lambda[], double shift, double slope, double tau, double tol,
                        BCRModesSurvey *s)
{
  const double sign = slope < 0 ? -1 : 1;
  PetscInt low = 0, high = n, before = 0, behind = 0;

  while (low < high) { /* real parts up to there have the other sign */
    const PetscInt middle = (low + high) / 2;

    if (sign * (shift + slope * lambda[middle]) < 0) low = middle + 1;
    else high = middle;
  }
  for (PetscInt j = low; j < n && hypot(shift + slope * lambda[j], tau) <= tol; j++) behind++;
  for (PetscInt j = low - 1; j >= 0 && hypot(shift + slope * lambda[j], tau) <= tol; j--) before++;
  for (PetscInt j = PetscMax(low - 1, 0); j <= PetscMin(low, n - 1); j++)
    s->least = PetscMin(s->least, hypot(shift + slope * lambda[j], tau));
  s->negative += (double)(slope < 0 ? n - low - behind : low - before);
  s->left += (double)(before + behind);
}
