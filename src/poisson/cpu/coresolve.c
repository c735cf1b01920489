/*
  A solve of the host's core: BCRCoreSolve() walks through the plan's stages.
*/
#include "coreimpl.h"
#include <string.h>

/* the sum of the row that begins with element o */
static double row_sum(BCRCore c, const void *u, ptrdiff_t o)
{
  const ptrdiff_t s = c->stride[0];
  double sum = 0;

  if (s == 1) return BCRCpuFields(c->options.isa, c->io == BCR_SINGLE)->sum(c->n[0], at(c->io, u, o), NULL, NULL);
  for (PetscInt i = 0; i < c->n[0]; i++) sum += get(c->io, u, o + i * s);
  return sum;
}

/* u_i += v over the box */
static void box_add(BCRCore c, void *u, double v)
{
  for (PetscInt k = 0; k < (c->dim > 2 ? c->n[2] : 1); k++)
    for (PetscInt j = 0; j < (c->dim > 1 ? c->n[1] : 1); j++) {
      const ptrdiff_t o = (c->dim > 2 ? k * c->stride[2] : 0) + (c->dim > 1 ? j * c->stride[1] : 0), s = c->stride[0];

      if (c->io == BCR_DOUBLE && s == 1) {
        double *p = (double *)u + o;
        for (PetscInt i = 0; i < c->n[0]; i++) p[i] += v;
      } else
        for (PetscInt i = 0; i < c->n[0]; i++) set(c->io, u, o + i * s, get(c->io, u, o + i * s) + v);
    }
}

static void plane_scale(BCRCore c, void *u, double v)
{
  for (PetscInt j = 0; j < c->n[1] && v != 1; j++)
    for (PetscInt i = 0; i < c->n[0]; i++) set(c->io, u, j * c->stride[1] + i, v * get(c->io, u, j * c->stride[1] + i));
}
static void box_scale(BCRCore c, void *u, double v)
{
  for (PetscInt k = 0; k < (c->dim > 2 ? c->n[2] : 1); k++)
    plane_scale(c, at(c->io, u, c->dim > 2 ? k * c->stride[2] : 0), v);
}

/* mean over the box, with half weights at node-centred Neumann ends if weighted */
static double box_mean(BCRCore c, const void *u, PetscBool weighted)
{
  double sum = 0, total = 0;

  for (PetscInt k = 0; k < (c->dim > 2 ? c->n[2] : 1); k++)
    for (PetscInt j = 0; j < (c->dim > 1 ? c->n[1] : 1); j++) {
      const ptrdiff_t o = (c->dim > 2 ? k * c->stride[2] : 0) + (c->dim > 1 ? j * c->stride[1] : 0), s = c->stride[0];
      double w = 1, row = row_sum(c, u, o), nrow = c->n[0];
      if (weighted) {
        if (c->dim > 2) w *= end_weight(&c->axis[2], k);
        if (c->dim > 1) w *= end_weight(&c->axis[1], j);
        if (c->axis[0].weight) {
          row = nrow = 0;
          for (PetscInt i = 0; i < c->n[0]; i++) {
            row += c->axis[0].weight[i] * get(c->io, u, o + i * s);
            nrow += c->axis[0].weight[i];
          }
        } else
          for (int e = 0; e < 2; e++) {
            const PetscInt k0 = e ? c->n[0] - 1 : 0;
            const double we = end_weight(&c->axis[0], k0);

            row -= (1 - we) * get(c->io, u, o + k0 * s);
            nrow -= 1 - we;
          }
      }
      sum += w * row;
      total += w * nrow;
    }
  return sum / total;
}

/* one line along a strided axis */
static void solve_line(BCRCore c, const void *f, void *u)
{
  const BCRAxis *x = &c->axis[0];
  const ptrdiff_t s = c->stride[0];
  const PetscBool p = BCRAxisIsPeriodic(x);
  const PetscInt n = x->n - (p ? 1 : 0);
  const double a = x->a;
  double y = 0, last = 0, low, diag, up;

  if (p && axis_general(x)) {
    last = get(c->io, f, n * s);
    for (PetscInt i = 0; i < n; i++) last += c->round[i] * get(c->io, f, i * s);
    last *= c->lineq;
  } else if (p) { /* u_last from the first and the last entry of (open line)^-1 f */
    double y0 = 0, y1 = 0;

    for (PetscInt i = 0; i < n; i++) y1 = (get(c->io, f, i * s) + (i ? a * y1 : 0)) * c->pivot[i];
    for (PetscInt i = n - 1; i >= 0; i--) y0 = (get(c->io, f, i * s) + (i < n - 1 ? a * y0 : 0)) * c->pivot[n - 1 - i];
    last = c->lineq * (get(c->io, f, n * s) + (n ? a * (y0 + y1) : 0));
  }
  for (PetscInt i = 0; i < n; i++) {
    BCRAxisGetRow(x, i, &low, &diag, &up);
    y =
      (get(c->io, f, i * s) + (i ? low * y : 0) + (p && i == 0 ? low * last : 0) + (p && i == n - 1 ? up * last : 0)) *
      c->pivot[i];
    set(c->io, u, i * s, y);
  }
  for (PetscInt i = n - 2; i >= 0; i--) {
    BCRAxisGetRow(x, i, &low, &diag, &up);
    y = get(c->io, u, i * s) + up * c->pivot[i] * y;
    set(c->io, u, i * s, y);
  }
  if (p) set(c->io, u, n * s, last);
  if (c->factor != 1)
    for (PetscInt i = 0; i < x->n; i++) set(c->io, u, i * s, c->factor * get(c->io, u, i * s));
}

/* Bytes of the next layer that come nearer while one is transformed. In place the next one replaces
   the last; from f to u there are two of each, which pushed each other out where they had no more
   room than they need */
static ptrdiff_t layer_ahead(ptrdiff_t bytes, PetscBool inplace)
{
  return inplace || 8 * (size_t)bytes <= BCRCoreCacheBytes(1u << 20) ? bytes : 0;
}

/* This rank's share of the lines across the planes, in place: of those of each layer a piece that fills whole vectors */
static void transform_share(BCRCore c, PetscInt axis, int direction, void *u)
{
  const int io = c->single && c->io == BCR_DOUBLE ? 1 : 0;
  const PetscInt other = axis == 2 ? 1 : 2, lanes = 8;
  const PetscBool whole = c->stride[other] == c->n[0] ? PETSC_TRUE : PETSC_FALSE; /* planes are contiguous */
  const PetscInt n = whole ? c->n[0] * c->n[other] : c->n[0], layers = whole ? 1 : c->n[other];
  const ptrdiff_t s = c->stride[axis];
  const BCRDttAhead none = {NULL, 0};
  PetscInt first, end;

  BCRTeamShare(c->options.team, n * layers, &first, &end);
  for (PetscInt j = first / n; j < layers && j * n < end; j++) {
    const PetscInt i = j == first / n ? first % n / lanes * lanes : 0, m = j == end / n ? end % n / lanes * lanes : n;
    void *line = at(c->io, u, j * c->stride[other] + i);

    if (m <= i) continue;
    if (whole) c->cpu->dtt.cols(c->dtt[axis], direction, io, m - i, line, s, line, s, c->work);
    else c->cpu->dtt.layer(c->dtt[axis], direction, io, m - i, line, s, line, s, &none, c->work);
  }
}

/* This rank's rows, v its array of them: to the team's field and transformed there (0), or from there and transformed here */
static void transform_own(BCRCore c, int direction, void *v)
{
  const BCRTeam *team = c->options.team;
  const PetscInt rows = team->end - team->first, n = c->n[0];
  const BCRDttAhead none = {NULL, 0};
  const size_t bytes = (size_t)n * (c->io == BCR_DOUBLE ? sizeof(double) : sizeof(float));
  const ptrdiff_t s = c->stride[2], sv = s > c->stride[1] ? (ptrdiff_t)n * rows : s; /* between planes */

  for (PetscInt j = 0; j < rows; j++) {
    char *field = (char *)at(c->io, team->field, (team->first + j) * c->stride[1]),
         *mine = (char *)at(c->io, v, j * c->stride[1]);

    for (PetscInt k = 0; k < c->n[2]; k++) {
      char *to = (char *)at(c->io, direction ? mine : field, k * (direction ? sv : s));

      memcpy(to, at(c->io, direction ? field : mine, k * (direction ? s : sv)), bytes);
    }
    c->cpu->dtt.layer(c->dtt[2], direction, 0, n, direction ? mine : field, direction ? sv : s,
                      direction ? mine : field, direction ? sv : s, &none, c->work);
  }
}

/* The mean of a team's solution becomes zero: its rows, or a share of those of the array */
static PetscErrorCode team_zero_mean(BCRCore c, void *u)
{
  BCRTeam *team = c->options.team;
  const ptrdiff_t s =
    team->field && c->stride[2] > c->stride[1] ? (ptrdiff_t)c->n[0] * (team->end - team->first) : c->stride[2];
  PetscInt first = 0, end = team->end - team->first;
  double sum = 0, mean;

  PetscFunctionBegin;
  if (!team->field) {
    PetscCall(BCRTeamMeet(team));
    BCRTeamShare(team, c->n[1], &first, &end);
  }
  for (PetscInt k = 0; k < c->n[2]; k++)
    for (PetscInt j = first; j < end; j++) sum += row_sum(c, u, k * s + j * c->stride[1]);
  PetscCall(BCRTeamSum(team, &sum));
  mean = sum / ((double)c->n[0] * c->n[1] * c->n[2]);
  for (PetscInt k = 0; k < c->n[2]; k++)
    for (PetscInt j = first; j < end; j++)
      for (PetscInt i = 0; i < c->n[0]; i++) {
        void *row = at(c->io, u, k * s + j * c->stride[1]);

        set(c->io, row, i, get(c->io, row, i) - mean);
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* a transform along z or y of all lines of the box; axis: which */
void BCRCoreTransformLayers(BCRCore c, PetscInt axis, int direction, const void *f, void *u)
{
  const int io = c->single && c->io == BCR_DOUBLE ? 1 : 0;
  const PetscInt other = axis == 2 ? 1 : 2, n = c->n[0], nother = c->dim > other ? c->n[other] : 1;
  const ptrdiff_t so = c->stride[other], s = c->stride[axis],
                  size = c->io == BCR_DOUBLE ? sizeof(double) : sizeof(float);
  const ptrdiff_t bytes = ((c->n[axis] - 1) * s + n) * size,
                  ahead = s < so ? layer_ahead(bytes, f == u ? PETSC_TRUE : PETSC_FALSE) : 0;

  if (c->options.team) {
    if (c->options.team->field) transform_own(c, direction, direction ? u : (void *)f);
    else transform_share(c, axis, direction, u);
    return;
  }
  if (axis == 2 && so == n) { /* whole planes are contiguous */
    if (c->eigen[axis]) BCREigenCols(c->eigen[axis], direction, io, (ptrdiff_t)n * c->n[1], f, s, u, s, c->work);
    else c->cpu->dtt.cols(c->dtt[axis], direction, io, (ptrdiff_t)n * c->n[1], f, s, u, s, c->work);
    return;
  }
  for (PetscInt j = 0; j < nother && c->eigen[axis]; j++)
    BCREigenCols(c->eigen[axis], direction, io, n, at(c->io, f, j * so), s, at(c->io, u, j * so), s, c->work);
  if (c->eigen[axis]) return;
  for (PetscInt j = 0; j < nother; j++) {
    const char *fj = (const char *)at(c->io, f, j * so);
    char *uj = (char *)at(c->io, u, j * so);
    const BCRDttAhead next = {fj + so * size, j + 1 < nother ? ahead : 0};

    /* memory in order first: a transform from f to u would touch both in short pieces */
    if (f != u && s == n) memcpy(uj, fj, bytes);
    else if (f != u) {
      for (PetscInt k = 0; k < c->n[axis]; k++) memcpy(uj + k * s * size, fj + k * s * size, n * size);
    }
    c->cpu->dtt.layer(c->dtt[axis], direction, io, n, uj, s, uj, s, &next, c->work);
  }
}

/* Doubles that are solved in single precision, a box whose layers are whole pieces of memory:
   between the two transforms u has floats, packed at its beginning, and no pass but the outer ones
   moves doubles. The floats of a layer end before the doubles of the next one begin */
static inline PetscBool solves_in_halves(BCRCore c, const void *f, const void *u)
{
  return c->kind != BCR_PLAN_REDUCTION && c->kind != BCR_PLAN_RECURSIVE && c->kind != BCR_PLAN_SPECTRAL &&
             !c->eigen[2] && f != u && c->single && c->io == BCR_DOUBLE && c->stride[2] == c->n[0] &&
             c->stride[1] == c->n[0] * c->n[2]
           ? PETSC_TRUE
           : PETSC_FALSE;
}

static void transform_to_floats(BCRCore c, const double *f, float *u)
{
  const BCRFieldsTable *fields = BCRCpuFields(c->options.isa, 0);
  const ptrdiff_t layer = c->stride[1], ahead = layer_ahead(layer * sizeof(double), PETSC_FALSE);

  for (PetscInt j = 0; j < c->n[1]; j++) {
    const BCRDttAhead next = {f + (j + 1) * layer, j + 1 < c->n[1] ? ahead : 0};

    (void)fields->begin(layer, 1, f + j * layer, u + j * layer);
    c->cpu->dtt.layer(c->dtt[2], 0, 0, c->n[0], u + j * layer, c->n[0], u + j * layer, c->n[0], &next, c->work);
  }
}

static void transform_from_floats(BCRCore c, float *f, double *u)
{
  const BCRFieldsTable *fields = BCRCpuFields(c->options.isa, 0);
  const ptrdiff_t layer = c->stride[1];

  for (PetscInt j = c->n[1] - 1; j >= 0; j--) {
    const BCRDttAhead next = {f + PetscMax(j - 1, 0) * layer, j ? layer * (ptrdiff_t)sizeof(float) : 0};

    c->cpu->dtt.layer(c->dtt[2], 1, 0, c->n[0], f + j * layer, c->n[0], f + j * layer, c->n[0], &next, c->work);
    /* the first layer overlaps itself: its upper half, the upper half of the rest, ... */
    for (ptrdiff_t end = layer, first = 0; end > 1; end = first) {
      if (j == 0) first = (end + 1) / 2;
      fields->add(end - first, 0, 1, f + j * layer + first, u + j * layer + first);
    }
  }
  u[0] = (double)*f;
}

/* f less its weighted mean, in u: what one line and block cyclic reduction of a singular operator take */
static void stage_project(BCRCore c, const void *f, void *u, PetscReal *removed)
{
  const double mean = box_mean(c, f, PETSC_TRUE);

  if (removed) *removed = (PetscReal)mean;
  for (PetscInt k = 0; k < (c->dim > 2 ? c->n[2] : 1) && f != u; k++)
    for (PetscInt j = 0; j < (c->dim > 1 ? c->n[1] : 1); j++) {
      const ptrdiff_t o = (c->dim > 1 ? j * c->stride[1] : 0) + (c->dim > 2 ? k * c->stride[2] : 0), s = c->stride[0];

      if (s == 1)
        memcpy(at(c->io, u, o), at(c->io, f, o), c->n[0] * (c->io == BCR_DOUBLE ? sizeof(double) : sizeof(float)));
      else
        for (PetscInt i = 0; i < c->n[0]; i++) set(c->io, u, o + i * s, get(c->io, f, o + i * s));
    }
  box_add(c, u, -mean);
}

static PetscErrorCode stage_reduction(BCRCore c, const void *f, void *u)
{
  const PetscInt ld[2] = {(PetscInt)c->stride[1], c->dim > 2 ? (PetscInt)c->stride[2] : 0};

  PetscFunctionBegin;
  if (c->kind == BCR_PLAN_RECURSIVE || c->dim == 2) {
    PetscCall(BCRReductionSolve(c->red, 0, c->io, f, ld, u, ld));
    box_scale(c, u, c->factor);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt k = 0; k < c->n[2]; k++) {
    void *plane = at(c->io, u, k * c->stride[2]);

    PetscCall(BCRReductionSolve(c->red, k, c->io, plane, ld, plane, ld));
    plane_scale(c, plane, c->factor * c->norm[2][k]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All stages of the planes, one plane after the other, which stays in the cache from one to the next */
static void stage_planes(BCRCore c, const void *f, void *u, PetscReal *removed)
{
  PetscInt first, end;

  if (c->dim == 2) {
    BCRCorePlaneSolve(c, 0, c->singular, 1, f, u, removed);
    return;
  }
  BCRTeamShare(c->options.team, c->n[2], &first, &end);
  for (PetscInt k = first; k < end; k++) {
    void *plane = at(c->io, u, k * c->stride[2]);

    BCRCorePlaneSolve(c, k, c->singular && k == c->pinz ? PETSC_TRUE : PETSC_FALSE, c->norm[2][k], plane, plane,
                      removed);
  }
}

/* Between the transforms across planes, doubles that are solved in single precision may be floats */
static void stage_across(BCRCore c, BCRCore planes, PetscBool back, const void *f, void *u)
{
  if (planes->io == c->io) BCRCoreTransformLayers(c, 2, back ? 1 : 0, f, u);
  else if (back) transform_from_floats(c, (float *)u, (double *)u);
  else transform_to_floats(c, (const double *)f, (float *)u);
}

/* The plan's stages. Those of planes follow one another for each plane, so that the first of them stands for all */
static PetscErrorCode core_solve(BCRCore c, const void *f, void *u, PetscReal *removed)
{
  struct _n_BCRCore floats; /* as c, where there are floats between the transforms across planes */
  BCRCore planes = c;
  PetscBool done = PETSC_FALSE; /* the planes */

  PetscFunctionBegin;
  if (c->dim == 3 && solves_in_halves(c, f, u)) {
    floats = *c;
    floats.io = BCR_SINGLE;
    planes = &floats;
  }
  if (c->singular && (c->kind == BCR_PLAN_LINE || BCRPlanIsReduction(c->kind))) {
    stage_project(c, f, u, removed);
    f = u;
  }
  for (PetscInt i = 0; i < c->plan->nstages; i++) {
    const BCRStage *s = &c->plan->stage[i];

    switch (s->kind) {
    case BCR_STAGE_ACROSS:
      if (s->back && c->options.team) {
        double mean = c->singular && removed ? (double)*removed : 0; /* of the rank that has the constant mode */

        PetscCall(BCRTeamSum(c->options.team, &mean));
        if (removed) *removed = (PetscReal)mean;
      }
      stage_across(c, planes, s->back, f, u);
      if (!s->back) PetscCall(BCRTeamMeet(c->options.team));
      break;
    case BCR_STAGE_REDUCTION:
      PetscCall(stage_reduction(c, f, u));
      break;
    case BCR_STAGE_MEAN:             /* of the solution, which level 0 has seen to where it can */
      if (c->spectral.shared) break; /* the ranks' */
      if (c->options.team && !(BCRPlanIsLevel0(c->kind) && c->rowsum)) PetscCall(team_zero_mean(c, u));
      else if (!(BCRPlanIsLevel0(c->kind) && c->rowsum)) box_add(c, u, -box_mean(c, u, PETSC_FALSE));
      break;
    case BCR_STAGE_REDUCE:
    case BCR_STAGE_TRANSFORM:
    case BCR_STAGE_LINES:
    case BCR_STAGE_POLES:
    case BCR_STAGE_PLANES:
    case BCR_STAGE_RING:
    case BCR_STAGE_BACK:
    case BCR_STAGE_DIVIDE:
    case BCR_STAGE_EXCHANGE:
    case BCR_STAGES:
      if (c->kind == BCR_PLAN_LINE) solve_line(c, f, u);
      else if (c->kind == BCR_PLAN_SPECTRAL && !done) PetscCall(BCRSpectralSolve(c, f, u, removed));
      else if (!done && c->options.team && c->options.team->field)
        stage_planes(planes, c->options.team->field, c->options.team->field, removed);
      else if (!done) stage_planes(planes, f, u, removed);
      done = PETSC_TRUE;
      break;
    }
    f = u;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One unknown */
static void solve_point(BCRCore c, const void *f, void *u, PetscReal *removed)
{
  if (c->singular && removed) *removed = (PetscReal)get(c->io, f, 0);
  set(c->io, u, 0, c->singular ? 0 : c->factor * get(c->io, f, 0) / (c->plan->shift + c->plan->fixed));
}

/* Between f or u, of any strides, and the packed box */
static void pack(BCRCore c, PetscBool back, const void *f, void *u)
{
  for (PetscInt k = 0; k < (c->dim > 2 ? c->n[2] : 1); k++)
    for (PetscInt j = 0; j < c->n[1]; j++)
      for (PetscInt i = 0; i < c->n[0]; i++) {
        const ptrdiff_t o = i * c->outer[0] + j * c->outer[1] + (c->dim > 2 ? k * c->outer[2] : 0),
                        q = i + j * c->stride[1] + (c->dim > 2 ? k * c->stride[2] : 0);

        if (back) set(c->io, u, o, get(c->io, f, q));
        else set(c->io, u, q, get(c->io, f, o));
      }
}

PetscErrorCode BCRCoreSolve(BCRCore c, const void *f, void *u, PetscReal *removed)
{
  PetscFunctionBegin;
  if (removed) *removed = 0;
  if (c->kind == BCR_PLAN_POINT) solve_point(c, f, u, removed);
  else if (c->packed) {
    pack(c, PETSC_FALSE, f, c->packed);
    PetscCall(core_solve(c, c->packed, c->packed, removed));
    pack(c, PETSC_TRUE, c->packed, u);
  } else PetscCall(core_solve(c, f, u, removed));
  PetscFunctionReturn(PETSC_SUCCESS);
}
