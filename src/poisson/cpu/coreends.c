/*
  Rows whose ends are no mirrors, T = T0 + sum_a e_a g_a^T with T0 uniform between two ends that have a transform, e_a the first
  or the last unknown and g_a what its row has beside that of T0: by T0's transform and lines twice. docs/method.md, section 6.

      v = A0^-1 f            lines, whose solution only counts in z_a = g_a^T v, a number for each row of them
      (I + K_j) w_j = z_j    in the eigenvectors j of the lines, K_j,ab = sum_k (g_a^T phi_k)(e_b in mode k) / (l_k + mu_j + shift)
      u = A0^-1 (f - sum_a e_a w_a)
*/
#include "coreimpl.h"
#include <string.h>

/* Mode k of axis 0: its entry in row i, and what a one in row i is there, without the norm */
static double mode_entry(const BCRAxisModes *modes, PetscInt k, PetscInt i)
{
  PetscInt64 num, den;
  long double c, s;
  const PetscBool odd = BCRAxisModesGetPhase(modes, k, i, &num, &den);

  BCRUnit(num, 2 * den, &c, &s);
  return (double)(odd ? s : c);
}

/* By the axes alone */
static PetscErrorCode ends_modes(BCRCore c, BCRCoreEnds *e)
{
  const BCRPlan p = c->plan;
  const BCRAxis *x = &c->axis[0];
  const PetscInt n = x->n;
  PetscInt constant;
  BCRAxisModes modes;

  PetscFunctionBegin;
  PetscCall(BCREigenCreate(&c->axis[1], PETSC_FALSE, PETSC_FALSE, &e->eigen));
  PetscCall(PetscMalloc1(c->n[1], &e->mu));
  PetscCall(BCREigenGetModes(e->eigen, e->mu, &constant));
  PetscCheck(BCRAxisModesDescribe(n, x->end[0], x->end[1], &modes), PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "Ends without modes");
  for (int end = 0; end < 2; end++) {
    const double *row = p->ends.row[end];
    const PetscInt i = end ? n - 1 : 0;

    if (row[0] == 0 && row[1] == 0) continue;
    PetscCall(PetscMalloc2(n, &e->trace[e->n], n, &e->source[e->n]));
    for (PetscInt k = 0; k < n; k++) {
      e->trace[e->n][k] = row[0] * mode_entry(&modes, k, i) + row[1] * mode_entry(&modes, k, end ? i - 1 : 1);
      e->source[e->n][k] = BCRAxisGetEndWeight(x, i) * mode_entry(&modes, k, i);
    }
    e->n++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* (I + K)^-1 of plane k and each mode of the lines */
static void ends_plane(BCRCore c, PetscInt k, const BCRCoreEnds *e, double *inverse)
{
  const double shift = BCRPlanPlaneShift(c->plan, k), a = (double)c->axis[0].a;

  for (PetscInt j = 0; j < c->n[1]; j++) {
    double K[2][2] = {
      {1, 0},
      {0, 1}
    };
    double det;

    for (PetscInt i = 0; i < c->n[0]; i++) {
      const double v = c->norm[0][i] / (a * c->lambda[0][i] + e->mu[j] + shift);

      for (int r = 0; r < e->n; r++)
        for (int s = 0; s < e->n; s++) K[r][s] += e->trace[r][i] * v * e->source[s][i];
    }
    det = K[0][0] * K[1][1] - K[0][1] * K[1][0];
    inverse[4 * j] = K[1][1] / det;
    inverse[4 * j + 1] = -K[0][1] / det;
    inverse[4 * j + 2] = -K[1][0] / det;
    inverse[4 * j + 3] = K[0][0] / det;
  }
}

PetscErrorCode BCRCoreEndsTables(BCRCore c, size_t *work)
{
  BCRCoreEnds *e = &c->ends;
  const PetscInt n = c->n[1];
  const size_t strip = (size_t)c->cpu->lines->strip();

  PetscFunctionBegin;
  if (!c->plan->ends.there) PetscFunctionReturn(PETSC_SUCCESS);
  if (!e->eigen) PetscCall(ends_modes(c, e));
  PetscCall(BCRArenaGet(&c->arena, 4 * (size_t)n * (size_t)c->nplane * sizeof(double), &e->inverse));
  for (PetscInt k = 0; k < c->nplane; k++) ends_plane(c, k, e, e->inverse + 4 * n * k);
  PetscCall(BCRArenaGet(&c->space, 2 * (size_t)n * sizeof(double), &e->z));
  PetscCall(BCRArenaGet(&c->space, ((size_t)n * strip + 64) * sizeof(double), &e->strip));
  *work = PetscMax(*work, BCREigenWork(e->eigen));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRCoreEndsDestroy(BCRCore c)
{
  BCRCoreEnds *e = &c->ends;

  PetscFunctionBegin;
  for (int a = 0; a < e->n; a++) PetscCall(PetscFree2(e->trace[a], e->source[a]));
  PetscCall(PetscFree(e->mu));
  PetscCall(BCREigenDestroy(&e->eigen));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers that are added up side by side: vectors of any kernel, without their instructions */
#define SUMS 8

/* z[s] += sum of t u over count modes of a strip */
static void strip_trace(PetscInt n, PetscInt count, const double *t, const double *u, PetscInt ld, double *z)
{
  for (PetscInt s = 0; s < n; s++, u += ld) {
    double sum[SUMS] = {0}, all = 0;
    PetscInt i = 0;

    for (; i + SUMS <= count; i += SUMS)
      for (PetscInt q = 0; q < SUMS; q++) sum[q] += t[i + q] * u[i + q];
    for (; i < count; i++) all += t[i] * u[i];
    for (PetscInt q = 0; q < SUMS; q++) all += sum[q];
    z[s] += all;
  }
}

/* u -= t z[s] */
static void strip_source(PetscInt n, PetscInt count, const double *restrict t, const double *z, double *restrict u,
                         ptrdiff_t ld)
{
  for (PetscInt s = 0; s < n; s++, u += ld)
    for (PetscInt i = 0; i < count; i++) u[i] -= t[i] * z[s];
}

/* The lines of modes k .. k + count - 1, k the first of a strip */
static void lines_part(BCRCore c, const BCRPlanePlan *p, PetscInt k, PetscInt count, double *u, ptrdiff_t ld)
{
  BCRLinesGen gen = p->gen;
  BCRLinesTab tab = p->tab;

  if (p->general) {
    gen.nk = count;
    gen.sigma = (const double *)gen.sigma + k;
    gen.scale = (const double *)gen.scale + k;
    c->cpu->lines->general(&gen, 0, u, ld, c->work);
  } else {
    tab.nk = count;
    tab.off += k / c->cpu->lines->strip();
    tab.nt += k / c->cpu->lines->strip();
    c->cpu->lines->tabled(&tab, 0, u, ld, c->work);
  }
}

/* z of the rows of modes in u */
static void ends_traces(BCRCore c, const BCRPlanePlan *p, const double *u, ptrdiff_t ld)
{
  BCRCoreEnds *e = &c->ends;
  const PetscInt n = c->n[1], width = (PetscInt)c->cpu->lines->strip();

  for (PetscInt i = 0; i < 2 * n; i++) e->z[i] = 0;
  for (PetscInt k = 0; k < c->n[0]; k += width) {
    const PetscInt count = PetscMin(width, c->n[0] - k);

    for (PetscInt j = 0; j < n; j++) memcpy(e->strip + j * width, u + j * ld + k, (size_t)count * sizeof(*u));
    lines_part(c, p, k, count, e->strip, width);
    for (int a = 0; a < e->n; a++) strip_trace(n, count, e->trace[a] + k, e->strip, width, e->z + a * n);
  }
}

void BCRCoreEndsLines(BCRCore c, PetscInt plane, double scale, double *u, ptrdiff_t ld)
{
  BCRCoreEnds *e = &c->ends;
  const PetscInt n = c->n[1], width = (PetscInt)c->cpu->lines->strip();
  const double *inverse = e->inverse + 4 * n * plane;

  ends_traces(c, &c->plane[plane], u, ld);
  BCREigenRows(e->eigen, 0, 0, e->n, e->z, n, e->z, n, c->work);
  for (PetscInt j = 0; j < n; j++) {
    const double z0 = e->z[j], z1 = e->n > 1 ? e->z[n + j] : 0;

    e->z[j] = (inverse[4 * j] * z0 + inverse[4 * j + 1] * z1) / scale; /* lines multiply by that */
    e->z[n + j] = (inverse[4 * j + 2] * z0 + inverse[4 * j + 3] * z1) / scale;
  }
  BCREigenRows(e->eigen, 1, 0, e->n, e->z, n, e->z, n, c->work);
  for (PetscInt k = 0; k < c->n[0]; k += width) {
    const PetscInt count = PetscMin(width, c->n[0] - k);

    for (int a = 0; a < e->n; a++) strip_source(n, count, e->source[a] + k, e->z + a * n, u + k, ld);
    lines_part(c, &c->plane[plane], k, count, u + k, ld);
  }
}
