/*
  A solve: the loop over right-hand sides, components, real and imaginary parts, and the order of each pass,

      planes before the box, right-hand side, core (or corrections of one in single precision), solution, planes after it

  on whichever backend. Where nothing but scale is left of an operator the core gets the caller's
  vectors; with planes or factors the right-hand side is prepared in u (or where the core wants it),
  and the core works in place. Complex scalars, interleaved components and vectors of another
  precision than the core's go through one box of workspace, one real field at a time.
*/
#include "backend.h"
#include "../base/agree.h"

/* The box in a vector of the caller */
static BCRField field_of(const BCRPass *p, const PetscReal *v)
{
  BCRField box = {
    (void *)(v + p->c->start * p->nodestride), BCR_REAL_SINGLE, {0, 0, 0}
  };

  for (int d = 0; d < 3; d++) box.stride[d] = p->nodestride * p->c->stride[d];
  return box;
}

void BCRPassSum(const BCRPass *p, BCRField *v)
{
  *v = p->s->sums || p->f == p->u ? p->s->sum : field_of(p, p->u); /* in place: f is needed to the end */
}

/* x = K^-1 g, in one solve of a core */
static PetscErrorCode pass_direct(const BCRPass *p, BCRRanks core, PetscBool prepare, const BCRField *x)
{
  const BCRBackend *be = p->s->be;

  PetscFunctionBegin;
  if (prepare) {
    BCRField g = *x;
    void *input = NULL;

    if (be->core_input) PetscCall(be->core_input(core, &input));
    if (input) {
      g.v = input;
      for (int d = 1; d < 3; d++) g.stride[d] = g.stride[d - 1] * p->c->op.axis[d - 1].n;
    }
    PetscCall(be->rhs(p, &g));
    PetscCall(be->core_solve(p, core, g.v, x->v));
  } else PetscCall(be->core_solve(p, core, field_of(p, p->f).v, x->v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The box, from f to u */
static PetscErrorCode pass_box(const BCRPass *p)
{
  const BCRSolver s = p->s;
  const BCRComponent *c = p->c;
  const PetscBool factors =
    c->postscale[p->transpose] || BCRComponentScaled(c, p->transpose, PETSC_TRUE) ? PETSC_TRUE : PETSC_FALSE;
  const BCRField box = field_of(p, p->u);
  BCRRanks core = s->core[c->core];
  BCRField x;

  PetscFunctionBegin;
  if (s->mixed) {
    PetscBool good = PETSC_FALSE;

    BCRPassSum(p, &x);
    if (c->ncorrect >= 0) PetscCall(BCRRefineSolve(p, &x, &good));
    if (!good && !s->fallback[c->core] && !(s->be->flags & BCR_BACKEND_ASYNC)) PetscCall(BCRSolverFallback(s, c));
    core = s->fallback[c->core];
    if (!good && core) {
      PetscCall(pass_direct(p, core, PETSC_TRUE, &x));
      PetscCall(s->be->core_removed(p, core, NULL));
    }
  } else {
    x = s->staged ? s->stage : box;
    PetscCall(pass_direct(p, core, s->staged || BCRPassMustPrepare(p) ? PETSC_TRUE : PETSC_FALSE, &x));
  }
  if (x.v != box.v || factors) PetscCall(s->be->out(p, &x));
  if (!s->mixed) PetscCall(s->be->core_removed(p, core, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPassSolve(BCRPass *p)
{
  const BCRBackend *be = p->s->be;
  const BCRComponent *c = p->c;

  PetscFunctionBegin;
  p->moves = PETSC_FALSE;
  PetscCall(be->apart_begin(p));
  if (c->nface || c->nedge) PetscCall(BCRPlanesBegin(p));
  if (c->core >= 0) PetscCall(pass_box(p));
  PetscCall(be->apart_end(p));
  if (c->nface || c->nedge) PetscCall(BCRPlanesEnd(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where both parts have their right-hand sides and solutions: in boxes of their own, or in the caller's vector */
static BCRField waves_field(const BCRPass *p, int part)
{
  BCRField x = field_of(p, p->u);

  if (!p->s->wavesbox[part]) return x;
  x.v = p->s->wavesbox[part];
  x.single = PETSC_FALSE;
  for (int d = 0; d < 3; d++) x.stride[d] = d ? x.stride[d - 1] * p->c->op.axis[d - 1].n : 1;
  return x;
}

/* The box on the host, real parts and imaginary ones at once where the shift is complex */
static PetscErrorCode waves_solve(const BCRPass *p, const double *const f[], double *const u[])
{
  const BCRComponent *c = p->c;
  const BCRWaves w = p->s->waves[c->core];
  const int parts = BCR_PARTS == 1 || c->op.tau != 0 ? 1 : BCR_PARTS;

  PetscFunctionBegin;
  for (int k = 0; k < parts; k++) {
    const double *const g[2] = {f[k], parts > 1 ? NULL : f[1]};
    double *const v[2] = {u[k], parts > 1 ? NULL : u[1]};

    PetscCall(BCRWavesSolve(w, (double)c->factor, g, v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both parts are prepared before the box is solved, which couples them where the shift is complex */
PetscErrorCode BCRPassWaves(BCRPass p[])
{
  const BCRSolver s = p[0].s;
  const BCRComponent *c = p[0].c;
  const PetscBool box = c->core >= 0 ? PETSC_TRUE : PETSC_FALSE;
  const double *f[2] = {NULL, NULL};
  double *u[2] = {NULL, NULL};
  BCRField x[BCR_PARTS];

  PetscFunctionBegin;
  for (int k = 0; k < BCR_PARTS; k++) {
    x[k] = waves_field(&p[k], k);
    p[k].moves = PETSC_FALSE;
    *p[k].removed = 0;
    if (c->nface || c->nedge) PetscCall(BCRPlanesBegin(&p[k]));
    if (box) {
      const PetscBool direct = s->wavesbox[k] || BCRPassMustPrepare(&p[k]) ? PETSC_FALSE : PETSC_TRUE;

      if (!direct) PetscCall(s->be->rhs(&p[k], &x[k]));
      f[k] = direct ? (const double *)field_of(&p[k], p[k].f).v : (const double *)x[k].v;
      u[k] = (double *)x[k].v;
    }
  }
  if (box) PetscCall(waves_solve(&p[0], f, u));
  for (int k = 0; k < BCR_PARTS; k++) {
    if (box && (s->wavesbox[k] || c->postscale[p[k].transpose] || BCRComponentScaled(c, p[k].transpose, PETSC_TRUE)))
      PetscCall(s->be->out(&p[k], &x[k]));
    if (c->nface || c->nedge) PetscCall(BCRPlanesEnd(&p[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same by a core, in one array of real and then imaginary parts */
PetscErrorCode BCRPassCoupled(BCRPass p[])
{
  const BCRSolver s = p[0].s;
  const BCRComponent *c = p[0].c;

  PetscFunctionBegin;
  for (int k = 0; k < BCR_PARTS; k++) {
    p[k].moves = PETSC_FALSE;
    if (c->nface || c->nedge) PetscCall(BCRPlanesBegin(&p[k]));
  }
  if (c->core >= 0) {
    PetscCall(s->be->rhs_pairs(p, &s->stage));
    PetscCall(s->be->core_solve(p, s->core[c->core], s->stage.v, s->stage.v));
    PetscCall(s->be->out_pairs(p, &s->stage));
  }
  for (int k = 0; k < BCR_PARTS; k++)
    if (c->nface || c->nedge) PetscCall(BCRPlanesEnd(&p[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPassPairs(const BCRPass p[])
{
  const BCRComponent *c = p[0].c;

  PetscFunctionBegin;
  for (int k = 0; k < BCR_PARTS; k++) *p[k].removed = 0;
  PetscCall(BCRPairsSolve(p[0].s->pairs[c->core], (double)c->factor, (const double *)p[0].f, (double *)p[0].u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPassRemoved(BCRSolver s, void *stream, PetscReal *largest)
{
  PetscFunctionBegin;
  *largest = s->earlier;
  for (PetscInt m = 0; m < s->dof; m++) {
    if (s->comp[m].core < 0 || !s->comp[m].op.singular) continue;
    for (PetscInt r = 0; r < s->slots; r++) {
      double removed[BCR_PARTS];
      PetscReal sum = 0;

      PetscCall(s->be->get(stream, removed, s->removed + (r * s->dof + m) * BCR_PARTS, sizeof(removed)));
      for (int part = 0; part < BCR_PARTS; part++) sum += (PetscReal)removed[part] * (PetscReal)removed[part];
      *largest = PetscMax(*largest, PetscSqrtReal(sum));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a solve is, and with it the key of its graph: no padding, as it is compared byte by byte */
typedef struct {
  const PetscScalar *f;
  PetscScalar *u;
  PetscInt64 transpose, nrhs, ldf, ldu;
} Call;

typedef struct {
  BCRSolver s;
  Call call;
} Launch;

static PetscErrorCode solve_launch(void *context, void *stream)
{
  const Launch *l = (const Launch *)context;
  const BCRSolver s = l->s;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < l->call.nrhs; r++) {
    if (r && r % BCR_SLOTS == 0 && !(s->be->flags & BCR_BACKEND_ASYNC))
      PetscCall(BCRPassRemoved(s, stream, &s->earlier));
    for (PetscInt m = 0; m < s->dof; m++) {
      BCRPass p[BCR_PARTS];

      for (int part = 0; part < BCR_PARTS; part++) {
        p[part].s = s;
        p[part].c = &s->comp[m];
        p[part].transpose = (PetscInt)l->call.transpose;
        p[part].nodestride = s->dof * BCR_PARTS;
        p[part].f = (const PetscReal *)(l->call.f + (size_t)r * l->call.ldf + m) + part;
        p[part].u = (PetscReal *)(l->call.u + (size_t)r * l->call.ldu + m) + part;
        p[part].stream = stream;
        p[part].removed = s->removed + ((r % BCR_SLOTS) * s->dof + m) * BCR_PARTS + part;
      }
      if (s->comp[m].core >= 0 && s->pairs[s->comp[m].core]) {
        PetscCall(BCRPassPairs(p));
        continue;
      }
      if (BCRComponentWaves(s, &s->comp[m]) || BCRComponentCoupled(s, &s->comp[m])) {
        PetscCall(BCRComponentWaves(s, &s->comp[m]) ? BCRPassWaves(p) : BCRPassCoupled(p));
        continue;
      }
      for (int part = 0; part < BCR_PARTS; part++) {
        PetscCall(BCRPassSolve(&p[part]));
        if (BCRComponentOnes(p[part].c, p[part].transpose)) PetscCall(s->be->subtract_ones(&p[part]));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solve_begin(Launch *l, void *stream)
{
  const BCRSolver s = l->s;

  PetscFunctionBegin;
  if (s->be->ready) PetscCall(s->be->ready(s));
  for (PetscInt k = 0; k < s->ncore; k++) {
    if (s->waves[k]) PetscCall(BCRWavesForget(s->waves[k]));
    if (s->core[k] && s->be->core_forget) PetscCall(s->be->core_forget(s->core[k], stream));
  }
  s->slots = (PetscInt)PetscMin(l->call.nrhs, BCR_SLOTS);
  /* a graph of that many would not be any faster */
  if (l->call.nrhs > BCR_SLOTS) PetscCall(solve_launch(l, stream));
  else PetscCall(s->be->run(s, stream, &l->call, sizeof(l->call), solve_launch, l));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors in the backend's memory, of the rows that the solver works on */
static PetscErrorCode solve_there(BCRSolver s, void *stream, PetscBool transpose, PetscInt nrhs, const PetscScalar *f,
                                  PetscInt ldf, PetscScalar *u, PetscInt ldu)
{
  Launch l = {
    s, {f, u, transpose ? 1 : 0, nrhs, ldf, ldu}
  };
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = BCRSolverReserve(s, stream, transpose ? 1 : 0, f == u ? PETSC_TRUE : PETSC_FALSE);
  if (!ierr) ierr = solve_begin(&l, stream);
  PetscCall(s->be->agree ? s->be->agree(s, ierr) : ierr); /* nobody waits for what will never come */
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays of one vector: in the backend's memory where the caller's is another, on the host where rows change rank */
static PetscErrorCode copies_create(BCRSolver s, PetscBool there, PetscBool here)
{
  const size_t n = (size_t)s->dof * BCRComponentNodes(&s->comp[0]), bytes = n * sizeof(PetscScalar);

  PetscFunctionBegin;
  if (there && !s->copy) {
    PetscCall(s->be->alloc(bytes, "a copy of a vector of the host", &s->copy));
    s->copies += bytes;
  }
  if (here && !s->hostcopy)
    PetscCall(PetscMalloc1((size_t)s->slabs.inner * s->slabs.glen * s->slabs.outer, &s->hostcopy));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One right-hand side after the other, by way of the host: vectors that are not in the backend's memory, rows that
   change rank. there: the caller's vectors are in the backend's memory */
static PetscErrorCode solve_staged(BCRSolver s, PetscBool there, void *stream, PetscBool transpose, PetscInt nrhs,
                                   const PetscScalar *f, PetscInt ldf, PetscScalar *u, PetscInt ldu)
{
  const BCRBackend *be = s->be;
  const BCRSlabs *slabs = &s->slabs;
  const PetscBool device = be->flags & BCR_BACKEND_DEVICE ? PETSC_TRUE : PETSC_FALSE;
  /* this rank's rows are not those that it works on */
  const PetscBool moved = slabs->comm != MPI_COMM_NULL && (slabs->to >= 0 || slabs->from[0] >= 0 || slabs->from[1] >= 0)
                            ? PETSC_TRUE
                            : PETSC_FALSE;
  const PetscBool copy = device && (moved || !there) ? PETSC_TRUE : PETSC_FALSE,
                  hostcopy = device && moved && there ? PETSC_TRUE : PETSC_FALSE;
  const PetscInt n = s->dof * (PetscInt)BCRComponentNodes(&s->comp[0]);
  const size_t bytes = (size_t)n * sizeof(PetscScalar),
               given = (size_t)slabs->inner * slabs->glen * slabs->outer * sizeof(PetscScalar);

  PetscFunctionBegin;
  PetscCall(copies_create(s, copy, hostcopy));
  for (PetscInt r = 0; r < nrhs; r++) {
    const PetscScalar *fr = f + (size_t)r * ldf;
    PetscScalar *ur = u + (size_t)r * ldu, *out = ur;

    if (hostcopy) {
      PetscCall(be->get(stream, s->hostcopy, fr, given));
      fr = ur = out = s->hostcopy;
    }
    PetscCall(BCRSlabsIn(&s->slabs, &fr, &ur));
    if (copy) {
      PetscCall(be->put(stream, s->copy, fr, bytes));
      PetscCall(solve_there(s, stream, transpose, 1, s->copy, n, s->copy, n));
      PetscCall(be->get(stream, ur, s->copy, bytes));
    } else PetscCall(solve_there(s, stream, transpose, 1, fr, n, ur, n));
    PetscCall(BCRSlabsOut(&s->slabs, out));
    if (hostcopy) PetscCall(be->put(stream, u + (size_t)r * ldu, s->hostcopy, given));
    if (r + 1 < nrhs) PetscCall(BCRPassRemoved(s, stream, &s->earlier));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSolverSolve(BCRSolver s, PetscMemType where, void *stream, PetscBool transpose, PetscInt nrhs,
                              const PetscScalar *f, PetscInt ldf, PetscScalar *u, PetscInt ldu)
{
  const PetscBool device = s->be->flags & BCR_BACKEND_DEVICE ? PETSC_TRUE : PETSC_FALSE,
                  there = device == !PetscMemTypeHost(where) ? PETSC_TRUE : PETSC_FALSE;

  PetscFunctionBegin;
  PetscCheck(s->whole, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONGSTATE,
             "The last change of this solver has failed: create another one");
  PetscCheck(device || there, PETSC_COMM_SELF, PETSC_ERR_PLIB, "The solver was made for the host");
  for (PetscInt m = 0; m < s->dof && transpose; m++) {
    const BCRComponent *c = &s->comp[m];

    PetscCheck(c->badaxis < 0, PETSC_COMM_SELF, PETSC_ERR_SUP,
               "The transpose along %c cannot be solved: the entries that couple rows %" PetscInt_FMT
               " and %" PetscInt_FMT
               " of this axis do not have the same sign, or close a ring with another product of couplings one way "
               "round than the other",
               'x' + (int)c->badaxis, c->badrow, (c->badrow + 1) % BCRComponentAxis(c, c->badaxis)->n);
  }
  s->earlier = 0;
  if (!there) stream = s->options.stream;
  if (there && !s->slabs.moves) PetscCall(solve_there(s, stream, transpose, nrhs, f, ldf, u, ldu));
  else PetscCall(solve_staged(s, there, stream, transpose, nrhs, f, ldf, u, ldu));
  PetscFunctionReturn(PETSC_SUCCESS);
}
