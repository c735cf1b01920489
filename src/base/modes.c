#include "modes.h"

/* Reduced to an eighth of the circle first, so that every value is right to the last place */
void BCRUnit(PetscInt64 a, PetscInt64 b, long double *c, long double *s)
{
  const long double pi = 3.14159265358979323846264338327950288L;
  long double x, y, t;
  PetscInt64 e; /* eighths */

  a %= b;
  a *= 8; /* angle 2 pi a/(8 b) */
  e = a / b;
  a -= e * b;
  if (e & 1) a = b - a;
  t = pi * (long double)a / (4 * (long double)b);
  x = cosl(t);
  y = sinl(t);
  if (((e + 1) & 3) >= 2) { /* eighths 1, 2, 5, 6: beside the y axis */
    t = x;
    x = y;
    y = t;
  }
  *c = (e >= 2 && e < 6) ? -x : x;
  *s = e >= 4 ? -y : y;
}

PetscBool BCRAxisModesDescribe(PetscInt n, BCREnd left, BCREnd right, BCRAxisModes *modes)
{
  const BCREndMirror l = BCREndGetRule(left).mirror, r = BCREndGetRule(right).mirror;

  modes->n = n;
  modes->periodic = BCREndIsPeriodic(left) ? PETSC_TRUE : PETSC_FALSE;
  modes->odd = l.sign < 0 ? PETSC_TRUE : PETSC_FALSE;
  modes->offset = l.distance;
  modes->first = (l.sign < 0) + (r.sign < 0);
  modes->length = modes->periodic ? n : 2 * ((PetscInt64)n - 1) + l.distance + r.distance;
  return modes->periodic ? (PetscBool)BCREndIsPeriodic(right) : (PetscBool)(l.sign && r.sign);
}

void BCRAxisModesGetAngle(const BCRAxisModes *modes, PetscInt j, PetscInt64 *num, PetscInt64 *den)
{
  *num = modes->periodic ? 2 * (((PetscInt64)j + 1) / 2) : 2 * (PetscInt64)j + modes->first;
  *den = PetscMax(modes->length, 1); /* one row between two Neumann ends: the constant */
}

PetscBool BCRAxisModesGetPhase(const BCRAxisModes *modes, PetscInt j, PetscInt i, PetscInt64 *num, PetscInt64 *den)
{
  BCRAxisModesGetAngle(modes, j, num, den);
  *num *= 2 * (PetscInt64)i + modes->offset;
  *den *= 2;
  return modes->periodic ? (PetscBool)(j > 0 && j % 2 == 0) : modes->odd;
}

double BCRAxisModesGetSquares(const BCRAxisModes *modes, PetscInt j)
{
  PetscInt64 num, den;

  if (modes->length == 0) return 0.5;
  BCRAxisModesGetAngle(modes, j, &num, &den);
  /* at the angles 0 and pi all |phi_j(i)| are 1, else their squares average 1/2 */
  return (modes->periodic ? 0.5 : 0.25) * (double)modes->length * (num % den ? 1 : 2);
}

void BCRAxisModesGetValues(const BCRAxisModes *modes, double lambda[], double norm[])
{
  for (PetscInt j = 0; j < modes->n; j++) {
    PetscInt64 num, den;
    long double c, s;

    BCRAxisModesGetAngle(modes, j, &num, &den);
    BCRUnit(num, 4 * den, &c, &s);
    lambda[j] = (double)(4 * s * s);
    norm[j] = 1 / BCRAxisModesGetSquares(modes, j);
  }
}

PetscInt BCRAxisModesFindConstant(PetscInt n, const double lambda[])
{
  for (PetscInt j = 0; j < n; j++)
    if (lambda[j] == 0) return j;
  return -1;
}
