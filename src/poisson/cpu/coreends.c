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
    e->end[e->n++] = end;
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

/* LEVEL0. Plane k: modes of groups and of rows, over the coupling of block rows */
static void ends_groups(BCRCore c, PetscInt k, BCRCoreEnds *e)
{
  double symbol[4], *inverse = e->inverses + 24 * (size_t)c->n[0] * k, *scale = e->scales + 24 * k;

  BCRPlanPlaneSymbol(c->plan, k, symbol);
  for (int kind = 0; kind < 3; kind++)
    for (PetscInt j = 0; j < 8; j++) {
      const PetscBool there = j < c->plane[k].kind[kind].h ? PETSC_TRUE : PETSC_FALSE;
      const double lambda = there ? e->modes[kind].lambda[j] : 0;
      const BCRModeLine line = BCRModeLineMake(symbol[0] + symbol[2] * lambda, symbol[1]);
      double *row = inverse + (8 * kind + j) * (size_t)c->n[0];

      scale[8 * kind + j] = there ? BCRLevel0OutputScale(&line, symbol[2]) : 0;
      /* kind 0 has a place for the separators themselves */
      for (PetscInt i = 0; i < c->n[0]; i++)
        row[i] = there ? symbol[2] / (symbol[0] + symbol[1] * c->lambda[0][i] + symbol[2] * lambda) : kind == 0;
    }
}

PetscErrorCode BCRCoreEndsTables(BCRCore c, const BCRLevel0Modes modes[3], size_t *work)
{
  BCRCoreEnds *e = &c->ends;
  const PetscInt n = c->n[1];
  const size_t strip = (size_t)c->cpu->lines->strip(), planes = (size_t)c->nplane;

  PetscFunctionBegin;
  e->columns = e->sources = NULL;
  if (!c->plan->ends.there) PetscFunctionReturn(PETSC_SUCCESS);
  if (!e->eigen) PetscCall(ends_modes(c, e));
  PetscCall(BCRArenaGet(&c->arena, 4 * (size_t)n * planes * sizeof(double), &e->inverse));
  for (PetscInt k = 0; k < c->nplane; k++) ends_plane(c, k, e, e->inverse + 4 * n * k);
  PetscCall(BCRArenaGet(&c->space, 2 * (size_t)n * sizeof(double), &e->z));
  *work = PetscMax(*work, BCREigenWork(e->eigen));
  if (c->kind != BCR_PLAN_LEVEL0) {
    PetscCall(BCRArenaGet(&c->space, ((size_t)n * strip + 64) * sizeof(double), &e->strip));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscArraycpy(e->modes, modes, 3));
  for (int i = 0; i < 64; i++) e->modes[0].A[i] *= 4; /* as kernels have it, whose S is a quarter of the sines */
  PetscCall(BCRArenaGet(&c->arena, 24 * (size_t)c->n[0] * planes * sizeof(double), &e->inverses));
  PetscCall(BCRArenaGet(&c->arena, 24 * planes * sizeof(double), &e->scales));
  for (PetscInt k = 0; k < c->nplane; k++) ends_groups(c, k, e);
  PetscCall(BCRArenaGet(&c->space, 32 * (size_t)c->plan->ngroups * sizeof(double), &e->columns));
  PetscCall(BCRArenaGet(&c->space, 16 * (size_t)c->plan->ngroups * sizeof(double), &e->sources));
  PetscCall(BCRArenaGet(&c->space, (2 * (size_t)c->dplane + 64) * sizeof(double), &e->traces));
  PetscCall(BCRArenaGet(&c->space, (16 * (size_t)c->plan->separators.n + 32) * sizeof(double), &e->sums));
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

/* w for z, which are scale times what they should be */
static void ends_solve(BCRCore c, PetscInt plane, double scale)
{
  BCRCoreEnds *e = &c->ends;
  const PetscInt n = c->n[1];
  const double *inverse = e->inverse + 4 * n * plane;

  BCREigenRows(e->eigen, 0, 0, e->n, e->z, n, e->z, n, c->work);
  for (PetscInt j = 0; j < n; j++) {
    const double z0 = e->z[j], z1 = e->n > 1 ? e->z[n + j] : 0;

    e->z[j] = (inverse[4 * j] * z0 + inverse[4 * j + 1] * z1) / scale;
    e->z[n + j] = (inverse[4 * j + 2] * z0 + inverse[4 * j + 3] * z1) / scale;
  }
  BCREigenRows(e->eigen, 1, 0, e->n, e->z, n, e->z, n, c->work);
}

void BCRCoreEndsLines(BCRCore c, PetscInt plane, double scale, double *u, ptrdiff_t ld)
{
  BCRCoreEnds *e = &c->ends;
  const PetscInt n = c->n[1], width = (PetscInt)c->cpu->lines->strip();

  ends_traces(c, &c->plane[plane], u, ld);
  ends_solve(c, plane, scale); /* lines have multiplied by that */
  for (PetscInt k = 0; k < c->n[0]; k += width) {
    const PetscInt count = PetscMin(width, c->n[0] - k);

    for (int a = 0; a < e->n; a++) strip_source(n, count, e->source[a] + k, e->z + a * n, u + k, ld);
    lines_part(c, &c->plane[plane], k, count, u + k, ld);
  }
}

static void row_times(PetscInt n, const double *restrict t, const double *x, double *y)
{
  for (PetscInt i = 0; i < n; i++) y[i] = t[i] * x[i];
}

static void row_add(PetscInt n, const double *restrict t, const double *restrict x, double *restrict y)
{
  for (PetscInt i = 0; i < n; i++) y[i] += t[i] * x[i];
}

/* The place in e->sums of end a, group g and the separator s beside it */
static double *group_sums(BCRCore c, int a, PetscInt g, PetscInt s)
{
  const PetscInt nsep = c->plan->separators.n;
  const int kind = c->plane[0].shape.kind[g];

  return c->ends.sums + (kind ? 16 * nsep + 16 * (kind - 1) + 8 * a : 8 * (nsep * a + s));
}

/* z from what the separators' solutions, and the groups' between zeros, have at the ends, all of that over the coupling of
   block rows, unit */
static void groups_traces(BCRCore c, PetscInt plane, double unit)
{
  BCRCoreEnds *e = &c->ends;
  const BCRLevel0Shape *sh = &c->plane[plane].shape;
  const PetscInt n = c->n[1];

  for (int a = 0; a < e->n; a++)
    for (PetscInt g = 0; g < sh->ng; g++) {
      const int kind = sh->kind[g], h = c->plane[plane].kind[kind].h;
      const BCRLevel0Modes *m = &e->modes[kind];
      const double *row = c->plan->ends.row[e->end[a]], *scale = e->scales + 24 * plane + 8 * kind,
                   *v = e->columns + 32 * g + (e->end[a] ? 24 : 0), *inside = v + (e->end[a] ? -8 : 8);
      double *z = e->z + n * a + sh->row[g], mode[8];

      for (int j = 0; j < h; j++) {
        mode[j] = scale[j] * (row[0] * v[j] + row[1] * inside[j]);
        if (g) mode[j] += m->A[8 * j] * group_sums(c, a, g, g - 1)[j];
        if (g < sh->ng - 1) mode[j] += m->A[8 * j + h - 1] * group_sums(c, a, g, g)[j];
      }
      for (int p = 0; p < h; p++) {
        z[p] = 0;
        for (int j = 0; j < h; j++) z[p] += m->S[8 * p + j] * mode[j] / unit;
      }
      if (g < sh->ng - 1) z[h] = e->sums[8 * (c->plan->separators.n * a + g) + 7] / unit;
    }
}

/* -w: to the groups' modes, and what these send to separators */
static void groups_sources(BCRCore c, PetscInt plane)
{
  BCRCoreEnds *e = &c->ends;
  const BCRLevel0Shape *sh = &c->plane[plane].shape;
  const PetscInt n = c->n[1], nsep = c->plan->separators.n;

  for (PetscInt i = 0; i < 16 * nsep + 32; i++) e->sums[i] = 0;
  for (PetscInt i = 0; i < 16 * sh->ng; i++) e->sources[i] = 0;
  for (int a = 0; a < e->n; a++)
    for (PetscInt g = 0; g < sh->ng; g++) {
      const int kind = sh->kind[g], h = c->plane[plane].kind[kind].h;
      const BCRLevel0Modes *m = &e->modes[kind];
      const double *w = e->z + n * a + sh->row[g];
      double *mode = e->sources + 16 * g + 8 * e->end[a];

      for (int j = 0; j < h; j++) {
        for (int p = 0; p < h; p++) mode[j] -= m->A[8 * j + p] * w[p];
        if (g) group_sums(c, a, g, g - 1)[j] += m->S[j] * mode[j];
        if (g < sh->ng - 1) group_sums(c, a, g, g)[j] += m->S[8 * (h - 1) + j] * mode[j];
      }
      if (g < sh->ng - 1) e->sums[8 * (nsep * a + g) + 7] = -w[h];
    }
}

void BCRCoreEndsSeparators(BCRCore c, PetscInt plane, void *D)
{
  BCRCoreEnds *e = &c->ends;
  const PetscInt nx = c->n[0], nsep = c->plan->separators.n;
  const double *inverse = e->inverses + 24 * (size_t)nx * plane;
  const int ends = e->n;
  double *t = e->traces, *s = t + (ends - 1) * c->dplane, symbol[4];

  BCRPlanPlaneSymbol(c->plan, plane, symbol);
  memcpy(s, D, (size_t)c->dplane * sizeof(*s));
  c->cpu->lines->tabled(&c->plane[plane].tab, 0, s, c->ldd, c->work);
  for (PetscInt q = 0; q < nsep; q++)
    for (int a = 0; a < ends; a++) row_times(nx, e->trace[a], s + q * c->ldd, t + a * c->dplane + q * c->ldd);
  /* sums over modes of the rows, for all modes of a group */
  for (int a = 0; a < ends; a++)
    BCREigenProduct(PETSC_FALSE, "T", "N", 8, nsep, nx, inverse, nx, t + a * c->dplane, c->ldd, PETSC_FALSE,
                    e->sums + 8 * nsep * a, 8);
  for (int kind = 1; kind < 3; kind++)
    BCREigenProduct(PETSC_FALSE, "T", "N", 8, ends, nx, inverse + 8 * (size_t)nx * kind, nx,
                    t + (kind == 2 ? (nsep - 1) * c->ldd : 0), c->dplane, PETSC_FALSE, e->sums + 16 * (nsep + kind - 1),
                    8);
  groups_traces(c, plane, symbol[2]);
  ends_solve(c, plane, 1);
  groups_sources(c, plane);
  for (int a = 0; a < ends; a++)
    BCREigenProduct(PETSC_FALSE, "N", "N", nx, nsep, 8, inverse, nx, e->sums + 8 * nsep * a, 8, PETSC_FALSE,
                    t + a * c->dplane, c->ldd);
  for (int kind = 1; kind < 3; kind++)
    BCREigenProduct(PETSC_FALSE, "N", "N", nx, ends, 8, inverse + 8 * (size_t)nx * kind, nx,
                    e->sums + 16 * (nsep + kind - 1), 8, PETSC_TRUE, t + (kind == 2 ? (nsep - 1) * c->ldd : 0),
                    c->dplane);
  for (PetscInt q = 0; q < nsep; q++)
    for (int a = 0; a < ends; a++) row_add(nx, e->source[a], t + a * c->dplane + q * c->ldd, (double *)D + q * c->ldd);
}
