/*
  The host's table (backend.h). Where a right-hand side needs factors or terms of faces they are
  applied row by row, while the row is in the cache. Cores are BCRRanks (ranks.h).
*/
#include "backend.h"
#include "../base/team.h"
#include "../backend/cpu/cpu.h"
#include "../backend/cpu/fields.h"
#include <math.h>
#include <petsctime.h>
#include <string.h>

typedef struct {
  double *line; /* one row of the longest box */
  const BCRFieldsTable *fields;
  PetscReal removed; /* by the last solve of a core */
} CpuState;

static CpuState *state(const BCRPass *p)
{
  return (CpuState *)p->s->state;
}

/* NULL: none */
static const PetscReal *scale_of(const BCRPass *p, PetscBool after)
{
  return BCRComponentScaled(p->c, p->transpose, after) ? p->c->op.rowscale : NULL;
}

/* Memory */

static PetscBool cpu_available(const char **why)
{
  if (why) *why = NULL;
  return PETSC_TRUE;
}

static PetscErrorCode cpu_machine(const BCRSolverOptions *options, size_t length, char name[])
{
  PetscFunctionBegin;
  PetscCall(PetscStrncpy(name, BCRCpuGetTable(options->core.isa, options->core.precision != BCR_DOUBLE)->isa, length));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cpu_alloc(size_t bytes, const char what[], void *p)
{
  PetscFunctionBegin;
  (void)what;
  PetscCall(PetscMalloc(bytes, (void **)p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cpu_free(void *p)
{
  return PetscFree(p);
}

static PetscErrorCode cpu_copy(void *stream, void *to, const void *from, size_t bytes)
{
  PetscFunctionBegin;
  (void)stream;
  PetscCall(PetscMemcpy(to, from, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* State of a solver */

static PetscErrorCode cpu_create(BCRSolver s)
{
  PetscInt n = 1;
  CpuState *state;

  PetscFunctionBegin;
  PetscCall(PetscNew(&state));
  s->state = state;
  state->fields = BCRCpuFields(s->options.core.isa, BCR_REAL_SINGLE);
  for (PetscInt m = 0; m < s->dof; m++) n = PetscMax(n, s->comp[m].op.axis[0].n);
  PetscCall(PetscMalloc1(n, &state->line));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cpu_destroy(BCRSolver s)
{
  CpuState *state = (CpuState *)s->state;

  PetscFunctionBegin;
  if (state) PetscCall(PetscFree(state->line));
  PetscCall(PetscFree(s->state));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cpu_info(BCRSolver s, BCRSolverInfo *info)
{
  PetscFunctionBegin;
  info->workspace += sizeof(double) * (size_t)s->comp[0].op.axis[0].n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows apart, faces, edges */

static PetscErrorCode cpu_apart_begin(const BCRPass *p)
{
  const BCRComponent *c = p->c;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < c->napart; k++) c->apartwork[k] = c->apartinv[k] * p->f[c->apartat[k] * p->nodestride];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cpu_apart_end(const BCRPass *p)
{
  const BCRComponent *c = p->c;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < c->napart; k++) p->u[c->apartat[k] * p->nodestride] = c->apartwork[k];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the nodes (j1, j0) of a face: in the vector (at), and in arrays of its plane (q); rows j1 from share[0] to share[1] - 1 */
#define FACE_LOOP(face, at, q) \
  for (PetscInt j1 = share[0], at##_ = (face)->at + j1 * (face)->stride[1], \
                q##_ = (face)->q + j1 * (face)->qstride[1]; \
       j1 < share[1]; j1++, at##_ += (face)->stride[1], q##_ += (face)->qstride[1]) \
    for (PetscInt j0 = 0, at = at##_, q = q##_; j0 < (face)->n[0]; \
         j0++, at += (face)->stride[0], q += (face)->qstride[0])

static PetscErrorCode cpu_face_begin(const BCRPass *p, const BCRFace *face, PetscBool *moves)
{
  const BCRPlane *plane = face->plane;
  const PetscReal *f = p->f;
  PetscReal *u = p->u;
  const ptrdiff_t nodestride = p->nodestride;
  PetscInt share[2];

  PetscFunctionBegin;
  BCRTeamShare(p->s->options.core.team, face->n[1], &share[0], &share[1]);
  if (p->transpose) {
    if (u != f) FACE_LOOP(face, at, q) u[at * nodestride] = f[at * nodestride];
    *moves = PETSC_TRUE;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  FACE_LOOP(face, at, q)
  {
    const PetscReal x = f[at * nodestride] * (plane->inv ? plane->inv[q] : plane->inv0);

    u[at * nodestride] = x;
    if (x != 0) *moves = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cpu_face_end(const BCRPass *p, const BCRFace *face)
{
  const BCRComponent *c = p->c;
  const BCRPlane *plane = face->plane;
  const BCRAxis *axis = c->op.axis;
  const PetscReal *w0 = axis[face->other[0]].weight, *w1 = axis[face->other[1]].weight;
  const PetscInt packed[3] = {1, axis[0].n, axis[0].n * axis[1].n}, end = face->side ? axis[face->axis].n - 1 : 0;
  PetscReal *u = p->u;
  const ptrdiff_t nodestride = p->nodestride;
  PetscInt share[2];

  PetscFunctionBegin;
  BCRTeamShare(p->s->options.core.team, face->n[1], &share[0], &share[1]);
  if (!p->transpose) {
    if (plane->slope != 0)
      FACE_LOOP(face, at, q) u[at * nodestride] += plane->slope * u[(at + face->inward) * nodestride];
  } else if (!face->couple) {
    FACE_LOOP(face, at, q) u[at * nodestride] *= plane->inv ? plane->inv[q] : plane->inv0;
  } else {
    FACE_LOOP(face, at, q)
    {
      double entry = plane->couplings ? (double)plane->couplings[q]
                                      : face->back * (w0 ? (double)w0[j0] : 1.) * (w1 ? (double)w1[j1] : 1.);

      if (face->backscaled)
        entry /=
          (double)c->op.rowscale[end * packed[face->axis] + j0 * packed[face->other[0]] + j1 * packed[face->other[1]]];
      entry *= (double)c->op.scale * (double)u[(at + face->inward) * nodestride];
      u[at * nodestride] =
        (PetscReal)((plane->inv ? (double)plane->inv[q] : (double)plane->inv0) * ((double)u[at * nodestride] + entry));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cpu_edge_begin(const BCRPass *p)
{
  const BCRComponent *c = p->c;

  PetscFunctionBegin;
  for (PetscInt b = 0; b < c->nedge; b++) {
    const BCREdge *e = &c->edge[b];

    p->u[e->at * p->nodestride] = p->transpose ? p->f[e->at * p->nodestride] : p->f[e->at * p->nodestride] * e->inv;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cpu_edge_slope(const BCRPass *p, PetscInt first, PetscInt n)
{
  PetscReal *u = p->u;
  const ptrdiff_t nodestride = p->nodestride;

  PetscFunctionBegin;
  for (PetscInt b = 0; b < n; b++) {
    const BCRLink *e = &p->c->link[first + b];

    if (p->transpose) u[e->from * nodestride] += e->slope * u[e->at * nodestride];
    else u[e->at * nodestride] += e->slope * u[e->from * nodestride];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cpu_edge_scale(const BCRPass *p)
{
  const BCRComponent *c = p->c;

  PetscFunctionBegin;
  for (PetscInt b = 0; b < c->nedge; b++) p->u[c->edge[b].at * p->nodestride] *= c->edge[b].inv;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of the box */

/* line = line * cyz * fx, leaving alone what is multiplied by one */
static void scale_line(PetscInt n, double cyz, const BCRFactors *fx, double *restrict line)
{
  const double *restrict v = fx->v;

  if (fx->head + fx->tail == n) {
    for (PetscInt i = 0; i < n; i++) line[i] *= cyz * v[i];
  } else {
    if (cyz != 1) {
      for (PetscInt i = 0; i < n; i++) line[i] *= cyz;
    }
    for (PetscInt i = 0; i < fx->head; i++) line[i] *= v[i];
    for (PetscInt i = n - fx->tail; i < n; i++) line[i] *= v[i];
  }
}

/* what a node of value one adds, but for the row scale; w: the weights there */
static inline double term_entry(const BCRFaceTerm *term, PetscInt q, double w)
{
  const double entry = term->couplings ? term->factor * (double)term->couplings[q] : term->factor;

  return term->weights ? entry * w : entry;
}

/* adds the faces' terms to row (j, k) of the right-hand side */
static void row_terms(const BCRPass *p, PetscInt j, PetscInt k, double line[])
{
  const BCRComponent *c = p->c;
  const BCRFactors *w = c->pre[p->transpose];
  const PetscInt n[3] = {c->op.axis[0].n, c->op.axis[1].n, c->op.axis[2].n}, at[3] = {0, j, k};
  const PetscReal *all = scale_of(p, PETSC_FALSE);
  const double wyz = w[1].v[j] * w[2].v[k];

  for (PetscInt b = 0; b < c->nterm[p->transpose]; b++) {
    const BCRFaceTerm *term = &c->term[p->transpose][b];
    const BCRFace *face = term->face;
    const PetscReal *rowscale = term->scaled ? all + n[0] * (j + n[1] * k) : NULL;
    PetscInt node, q;

    if (face->axis == 0) {
      const PetscInt i = term->end;

      node = face->at + j * face->stride[0] + k * face->stride[1];
      q = face->q + j * face->qstride[0] + k * face->qstride[1];
      line[i] += term_entry(term, q, w[0].v[i] * wyz) * (double)p->u[node * p->nodestride] *
                 (rowscale ? (double)rowscale[i] : 1.);
    } else if (at[face->axis] == term->end) {
      const PetscInt m = face->axis == 1 ? k : j; /* the other axis but x */

      node = face->at + m * face->stride[1];
      q = face->q + m * face->qstride[1];
      for (PetscInt i = 0; i < n[0]; i++)
        line[i] += term_entry(term, q + i * face->qstride[0], w[0].v[i] * wyz) *
                   (double)p->u[(node + i * face->stride[0]) * p->nodestride] * (rowscale ? (double)rowscale[i] : 1.);
    }
  }
}

/* row (j, k) of the core's right-hand side */
static void row_in(const BCRPass *p, PetscInt j, PetscInt k, double line[])
{
  const BCRComponent *c = p->c;
  const BCRFactors *w = c->pre[p->transpose];
  const PetscInt n = c->op.axis[0].n, nodestride = p->nodestride;
  const PetscReal *all = scale_of(p, PETSC_FALSE),
                  *f = p->f + nodestride * (c->start + j * c->stride[1] + k * c->stride[2]);

  if (nodestride == 1 && sizeof(PetscReal) == sizeof(double)) {
    if (n > 0 && (const void *)f != (const void *)line) memcpy(line, f, sizeof(double) * (size_t)n);
  } else {
    for (PetscInt i = 0; i < n; i++) line[i] = (double)f[i * nodestride];
  }
  if (c->prescale[p->transpose]) scale_line(n, w[1].v[j] * w[2].v[k], &w[0], line);
  if (all) {
    const PetscReal *restrict scale = all + n * (j + c->op.axis[1].n * k);

    for (PetscInt i = 0; i < n; i++) line[i] *= (double)scale[i];
  }
  if (p->moves) row_terms(p, j, k, line);
}

/* and of its solution into u; line is scratch afterwards */
static void row_out(const BCRPass *p, PetscInt j, PetscInt k, double line[])
{
  const BCRComponent *c = p->c;
  const BCRFactors *w = c->post[p->transpose];
  const PetscInt n = c->op.axis[0].n, nodestride = p->nodestride;
  const PetscReal *all = scale_of(p, PETSC_TRUE);
  PetscReal *u = p->u + nodestride * (c->start + j * c->stride[1] + k * c->stride[2]);

  if (c->postscale[p->transpose]) scale_line(n, w[1].v[j] * w[2].v[k], &w[0], line);
  if (all) {
    const PetscReal *restrict scale = all + n * (j + c->op.axis[1].n * k);

    for (PetscInt i = 0; i < n; i++) line[i] *= (double)scale[i];
  }
  if (nodestride == 1 && sizeof(PetscReal) == sizeof(double)) {
    if (n > 0 && (const void *)u != (const void *)line) memcpy(u, line, sizeof(double) * (size_t)n);
  } else {
    for (PetscInt i = 0; i < n; i++) u[i * nodestride] = (PetscReal)line[i];
  }
}

/* Rows of floats go by way of a row of double. Of a slab that ranks share each prepares some planes */
static PetscErrorCode cpu_rhs(const BCRPass *p, const BCRField *g)
{
  const PetscInt n = p->c->op.axis[0].n;
  double *line = state(p)->line;
  PetscInt first, end;

  PetscFunctionBegin;
  BCRTeamShare(p->s->options.core.team, p->c->op.axis[2].n, &first, &end);
  for (PetscInt k = first; k < end; k++) {
    for (PetscInt j = 0; j < p->c->op.axis[1].n; j++) {
      const ptrdiff_t at = j * g->stride[1] + k * g->stride[2];

      if (!g->single) row_in(p, j, k, (double *)g->v + at);
      else {
        float *row = (float *)g->v + at;

        row_in(p, j, k, line);
        for (PetscInt i = 0; i < n; i++) row[i] = (float)line[i];
      }
    }
  }
  PetscCall(BCRTeamMeet(p->s->options.core.team));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cpu_out(const BCRPass *p, const BCRField *x)
{
  const PetscInt n = p->c->op.axis[0].n;
  double *line = state(p)->line;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < p->c->op.axis[2].n; k++) {
    for (PetscInt j = 0; j < p->c->op.axis[1].n; j++) {
      const ptrdiff_t at = j * x->stride[1] + k * x->stride[2];

      if (!x->single) row_out(p, j, k, (double *)x->v + at);
      else {
        const float *row = (const float *)x->v + at;

        for (PetscInt i = 0; i < n; i++) line[i] = (double)row[i];
        row_out(p, j, k, line);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cpu_subtract_ones(const BCRPass *p)
{
  const BCRComponent *c = p->c;
  const PetscInt n = (PetscInt)BCRComponentNodes(c), t = p->transpose;
  const PetscReal removed = (PetscReal)(*p->removed / c->onesremoved[t]);

  PetscFunctionBegin;
  *p->removed = (double)removed;
  for (PetscInt i = 0; i < n; i++) p->u[i * p->nodestride] -= removed * c->ones[t][i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Mixed precision. One pass over memory does the addition and the residual: row m + lag of v is
  brought up to date before the residual of row m needs it. r and e are one array.
*/

/* a rank may have no rows */
typedef struct {
  PetscInt nx, ny, nz;
} Rows;

static Rows rows_of(const BCRPass *p)
{
  const PetscInt nx = p->c->op.axis[0].n;
  const Rows rows = {nx, nx ? p->c->op.axis[1].n : 0, p->c->op.axis[2].n};

  return rows;
}

static inline float *row_float(const BCRField *x, PetscInt j, PetscInt k)
{
  return (float *)x->v + j * x->stride[1] + k * x->stride[2];
}

static inline PetscReal *row_real(const BCRField *x, PetscInt j, PetscInt k)
{
  return (PetscReal *)x->v + j * x->stride[1] + k * x->stride[2];
}

/* nothing changes on the way from f to the right-hand side */
static PetscBool is_plain(const BCRPass *p)
{
  return p->nodestride == 1 && !BCR_REAL_SINGLE && !BCRPassMustPrepare(p) ? PETSC_TRUE : PETSC_FALSE;
}

/* Row of the right-hand side, where it lies if it is f's */
static const double *row_rhs(const BCRPass *p, PetscBool plain, PetscInt j, PetscInt k)
{
  double *line = state(p)->line;

  if (plain) return (const double *)(p->f + p->c->start + j * p->c->stride[1] + k * p->c->stride[2]);
  row_in(p, j, k, line);
  return line;
}

static PetscErrorCode cpu_refine_begin(const BCRPass *p, BCRRefine *x)
{
  const BCRFieldsTable *fields = state(p)->fields;
  const PetscBool plain = is_plain(p);
  const Rows n = rows_of(p);

  PetscFunctionBegin;
  x->zero = PETSC_FALSE;
  x->rs = 1;
  for (int attempt = 0; attempt < 2; attempt++) {
    double largest = 0, mean;

    x->sumg = 0;
    for (PetscInt k = 0; k < n.nz; k++) {
      for (PetscInt j = 0; j < n.ny; j++)
        x->sumg += fields->begin(n.nx, x->rs, row_rhs(p, plain, j, k), row_float(&x->r, j, k));
    }
    PetscCall(BCRRanksSum(x->core, MPI_SUM, 1, &x->sumg));
    mean = x->sumg / BCRComponentUnknowns(p->c);
    if (attempt || (mean > 1e-16 && mean < 1e16)) break;
    for (PetscInt k = 0; k < n.nz; k++) {
      for (PetscInt j = 0; j < n.ny; j++) {
        const double *g = row_rhs(p, plain, j, k);

        for (PetscInt i = 0; i < n.nx; i++) {
          if (fabs(g[i]) > largest) largest = fabs(g[i]);
        }
      }
    }
    PetscCall(BCRRanksSum(x->core, MPI_MAX, 1, &largest));
    if (largest == 0) {
      x->zero = x->sumg == 0 ? PETSC_TRUE : PETSC_FALSE; /* not so if there is a NaN */
      break;
    }
    if (!isfinite(largest)) break;
    x->rs = ldexp(1., -PetscMax(ilogb(largest), -1020));
  }
  for (PetscInt k = 0; k < n.nz && x->zero; k++) {
    for (PetscInt j = 0; j < n.ny; j++) PetscCall(PetscArrayzero(row_real(&x->v, j, k), n.nx));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what a number of e is worth in v */
static double correction(const BCRPass *p, const BCRRefine *x)
{
  return 1 / x->rs / (p->c->norm * (double)p->c->op.scale);
}

static PetscErrorCode cpu_refine_add(const BCRPass *p, BCRRefine *x)
{
  const double ce = correction(p, x);
  const Rows n = rows_of(p);

  PetscFunctionBegin;
  x->mean += (double)state(p)->removed / x->rs;
  for (PetscInt k = 0; k < n.nz; k++) {
    for (PetscInt j = 0; j < n.ny; j++)
      state(p)->fields->add(n.nx, x->keep, ce, row_float(&x->e, j, k), row_real(&x->v, j, k));
  }
  x->keep = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cpu_refine_step(const BCRPass *p, BCRRefine *x)
{
  const BCRComponent *c = p->c;
  const BCRFieldsTable *fields = state(p)->fields;
  double *line = state(p)->line;
  const double ce = correction(p, x);
  const PetscBool plain = is_plain(p);
  const Rows n = rows_of(p);
  const PetscInt nx = n.nx, ny = n.ny, nz = n.nz, stride[3] = {1, (PetscInt)x->v.stride[1], (PetscInt)x->v.stride[2]};
  /* has rows of other ranks beside it */
  const PetscBool split = c->slab >= 0 && c->op.axis[c->slab].n < c->whole.n ? PETSC_TRUE : PETSC_FALSE;
  const PetscBool wrapy = BCREndIsPeriodic(c->op.axis[1].end[0]) && !(split && c->slab == 1) ? PETSC_TRUE : PETSC_FALSE;
  const PetscBool wrapz = BCREndIsPeriodic(c->op.axis[2].end[0]) && !(split && c->slab == 2) ? PETSC_TRUE : PETSC_FALSE;
  const PetscBool deep = c->op.axis[2].n > 1 || (split && c->slab == 2) ? PETSC_TRUE : PETSC_FALSE;
  const PetscInt lag = deep ? ny : 1;
  /* rows that go first, for they are neighbours of the first ones */
  const PetscInt rows = ny * nz, early = rows && (deep ? wrapz : wrapy) ? lag : 0;
  PetscInt done = 0, left = rows - early;
  const PetscReal *halo[2] = {NULL, NULL};
  BCRResidualRow w = {0};
  double sums[2];

  PetscFunctionBegin;
  x->mean += (double)state(p)->removed / x->rs;
  w.n = nx;
  w.dim = deep ? 3 : (ny > 1 || (split && c->slab == 1) ? 2 : 1);
  w.uniform = c->op.axis[0].lower ? 0 : 1;
  w.lower = c->lower[0];
  w.diag = c->diag[0];
  w.upper = c->upper[0];
  w.c = x->mean;
  w.rs = x->rs;
  w.vs = x->rs * c->norm * c->op.scale;
#define ADD_ROW(m) \
  fields->add(nx, x->keep, ce, row_float(&x->e, (m) % ny, (m) / ny), row_real(&x->v, (m) % ny, (m) / ny))
  if (split) { /* all of v first: other ranks wait for its ends */
    for (; done < rows; done++) ADD_ROW(done);
    left = 0;
  } else {
    for (PetscInt m = rows - early; m < rows; m++) ADD_ROW(m);
  }
  PetscCall(BCRRanksHaloBegin(x->core, (const PetscReal *)x->v.v, stride));
  PetscCall(BCRRanksHaloEnd(x->core, halo));
  for (PetscInt k = 0; k < nz; k++) {
    for (PetscInt j = 0; j < ny; j++) {
      /* a neighbour that does not exist has a zero coefficient; what lies there may not be a number yet */
      const PetscInt south = j > 0 ? j - 1 : (wrapy ? ny - 1 : j), north = j + 1 < ny ? j + 1 : (wrapy ? 0 : j);
      const PetscInt below = k > 0 ? k - 1 : (wrapz ? nz - 1 : k), above = k + 1 < nz ? k + 1 : (wrapz ? 0 : k);

      for (; done <= k * ny + j + lag && done < left; done++) ADD_ROW(done);
      w.g = row_rhs(p, plain, j, k);
      w.v = row_real(&x->v, j, k);
      w.side[0] = row_real(&x->v, south, k);
      w.side[1] = row_real(&x->v, north, k);
      w.side[2] = row_real(&x->v, j, below);
      w.side[3] = row_real(&x->v, j, above);
      if (split && c->slab == 1) {
        if (j == 0 && halo[0]) w.side[0] = halo[0] + k * nx;
        if (j == ny - 1 && halo[1]) w.side[1] = halo[1] + k * nx;
      } else if (split && c->slab == 2) {
        if (k == 0 && halo[0]) w.side[2] = halo[0] + j * nx;
        if (k == nz - 1 && halo[1]) w.side[3] = halo[1] + j * nx;
      } else if (split) { /* along x: into the right-hand side */
        if (w.g != line) PetscCall(PetscArraycpy(line, w.g, nx));
        w.g = line;
        if (halo[0]) line[0] += c->beyond[0] * (double)halo[0][j + ny * k];
        if (halo[1]) line[nx - 1] += c->beyond[1] * (double)halo[1][j + ny * k];
      }
      w.coef[0] = c->lower[1][j];
      w.coef[1] = c->upper[1][j];
      w.coef[2] = c->lower[2][k];
      w.coef[3] = c->upper[2][k];
      w.centre = c->diag[1][j] + c->diag[2][k] + (double)c->op.scale * (double)c->op.shift;
      fields->residual(&w, row_float(&x->r, j, k));
    }
  }
#undef ADD_ROW
  x->keep = PETSC_TRUE;
  sums[0] = w.sumr;
  sums[1] = w.sumv;
  PetscCall(BCRRanksSum(x->core, MPI_SUM, 2, sums));
  x->sumr = sums[0];
  x->sumv = sums[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cpu_refine_mean(const BCRPass *p, BCRRefine *x)
{
  const PetscInt nx = p->c->op.axis[0].n, ny = p->c->op.axis[1].n, nz = p->c->op.axis[2].n;
  double sum = 0, mean;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < nz; k++) {
    for (PetscInt j = 0; j < ny; j++) {
      for (PetscInt i = 0; i < nx; i++) sum += (double)row_real(&x->v, j, k)[i];
    }
  }
  PetscCall(BCRRanksSum(x->core, MPI_SUM, 1, &sum));
  mean = sum / BCRComponentUnknowns(p->c);
  for (PetscInt k = 0; k < nz; k++) {
    for (PetscInt j = 0; j < ny; j++) {
      PetscReal *row = row_real(&x->v, j, k);

      for (PetscInt i = 0; i < nx; i++) row[i] = (PetscReal)((double)row[i] - mean);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ones with some noise, as trial() in src/backend/cuda/refine.cu */
static PetscErrorCode cpu_trial(void *stream, PetscInt n, double size, PetscReal f[])
{
  PetscFunctionBegin;
  (void)stream;
  for (PetscInt i = 0; i < n; i++) {
    uint64_t x = (uint64_t)i * 0x9e3779b97f4a7c15u + 0x2545f4914f6cdd1du;

    x ^= x >> 31;
    x *= 0xbf58476d1ce4e5b9u;
    x ^= x >> 29;
    f[i] = (PetscReal)(size * (1 + ((double)(x >> 11) / 9007199254740992. - 0.5)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cores */

static PetscErrorCode cpu_core_create(BCRSolver s, BCRRanksSpec *spec, PetscBool made, BCRRanks *core)
{
  (void)s, (void)made;
  return BCRRanksCreate(BCRRanksCpu(), spec, core);
}

static PetscErrorCode cpu_core_solve(const BCRPass *p, BCRRanks core, const void *f, void *u)
{
  const double *removed;

  PetscFunctionBegin;
  PetscCall(BCRRanksSolve(core, NULL, f, u));
  PetscCall(BCRRanksGetRemoved(core, &removed));
  state(p)->removed = removed ? (PetscReal)*removed : 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cpu_core_removed(const BCRPass *p, BCRRanks core, const BCRRefine *x)
{
  PetscFunctionBegin;
  (void)core;
  *p->removed = (double)(x ? (PetscReal)x->mean : state(p)->removed);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Runs */

static PetscErrorCode cpu_run(BCRSolver s, void *stream, const void *key, size_t bytes,
                              PetscErrorCode (*launch)(void *, void *), void *context)
{
  (void)s, (void)key, (void)bytes;
  return (*launch)(context, stream);
}

static PetscErrorCode cpu_time(void *stream, int (*run)(void *), void *context, PetscInt repeat, double *seconds)
{
  PetscLogDouble start, stop;

  PetscFunctionBegin;
  (void)stream;
  *seconds = PETSC_MAX_REAL;
  for (PetscInt i = 0; i < repeat; i++) {
    PetscCall(PetscTime(&start));
    if ((*run)(context)) PetscFunctionReturn(PETSC_ERR_LIB); /* the run has raised its error */
    PetscCall(PetscTime(&stop));
    *seconds = PetscMin(*seconds, stop - start);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

const BCRBackend *BCRBackendCpu(void)
{
  static const BCRBackend table = {
    .flags = BCR_BACKEND_CONVERTS,
    .pad = 64,
    .available = cpu_available,
    .machine = cpu_machine,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .put = cpu_copy,
    .get = cpu_copy,
    .create = cpu_create,
    .destroy = cpu_destroy,
    .info = cpu_info,
    .apart_begin = cpu_apart_begin,
    .apart_end = cpu_apart_end,
    .face_begin = cpu_face_begin,
    .face_end = cpu_face_end,
    .edge_begin = cpu_edge_begin,
    .edge_slope = cpu_edge_slope,
    .edge_scale = cpu_edge_scale,
    .rhs = cpu_rhs,
    .out = cpu_out,
    .subtract_ones = cpu_subtract_ones,
    .refine_begin = cpu_refine_begin,
    .refine_add = cpu_refine_add,
    .refine_step = cpu_refine_step,
    .refine_mean = cpu_refine_mean,
    .trial = cpu_trial,
    .core_create = cpu_core_create,
    .core_solve = cpu_core_solve,
    .core_removed = cpu_core_removed,
    .run = cpu_run,
    .time = cpu_time,
  };

  return &table;
}
