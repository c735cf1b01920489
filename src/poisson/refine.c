/*
  Mixed precision: the core works in float, and its solution is corrected with residuals that are computed in double.

    v = 0, r = g;   repeat  e = K^-1 r (float);  v += e;  r = g - K v (double, then rounded to float)

  Every correction gains as many digits as the float solve has right, whatever the residual's size.

  Range: r holds rs times the residual with rs a power of two, and the core gives norm times its
  solution (norm bounds |K|), so that neither leaves the range of float for any scale of the
  operator or of the right-hand side.

  How many corrections: where the host may wait it looks at each residual, and stops when it is as
  small as rounding leaves it. Elsewhere the number is fixed: a trial in set-up, judged in the same
  way, counts what it needs, and one more is made. A core in double is made in set-up, too, and only
  for operators that are nearly singular: those whose trial is corrected slowly, or not to the end,
  are solved by it from the start; those whose solutions are so large that the first residual is
  larger than the right-hand side have it for right-hand sides that corrections fail for.
*/
#include "backend.h"
#include "../base/agree.h"
#include <math.h>

/* Of error = |r| / (|K| |v| + |g|), two-norms: */
#define REFINE_MAX    8     /* corrections at most */
#define REFINE_ENOUGH 1e-15 /* as small as rounding leaves it: the last correction */
#define REFINE_LIMIT  1e-14 /* a solution that corrections do not improve any more may be this far off */
/* Near to singular a correction gains little more than a digit, long before rounding, and what is
   left is in few rows: then the norm of the residual says too little of single rows, and
   corrections go on to a tenth of ENOUGH and have to reach ENOUGH, or double precision solves */
#define REFINE_SLOW 0.05
/* other right-hand sides may be corrected so much more slowly than that of a trial */
#define REFINE_MARGIN 5
/* A trial's first residual over its right-hand side. Right-hand sides without the mode that makes it
   large are corrected by about a hundredth of it at a time: 0.008, 0.13 and not at all where it was 2,
   12 and 140 (20 x 18 unknowns between Neumann ends, shifts of 81e-9, 9e-9 and 1e-9) */
#define REFINE_GROWTH 4

/* Rows of scale*T for each axis, and a bound on the norm */
PetscErrorCode BCRRefineSetUp(BCRComponent *c)
{
  const BCROperator *op = &c->op;

  PetscFunctionBegin;
  c->norm = PetscAbsReal(op->shift);
  for (int d = 0; d < 3; d++) {
    const BCRAxis *x = BCRComponentAxis(c, d);
    const PetscInt n = x->n, here = op->axis[d].n, first = d == c->slab ? c->first : 0;
    double largest = 0, *lo, *di, *up; /* [n], the first lo and the last up of a periodic axis lead round */

    if (!c->lower[d]) PetscCall(PetscMalloc3(here, &c->lower[d], here, &c->diag[d], here, &c->upper[d]));
    PetscCall(PetscMalloc3(n, &lo, n, &di, n, &up));
    for (PetscInt i = 0; i < n; i++) BCRAxisGetRow(x, i, &lo[i], &di[i], &up[i]);
    if (n > 0 && x->lower && !BCRAxisIsPeriodic(x)) lo[0] = up[n - 1] = 0;
    for (PetscInt i = 0; i < n; i++) largest = PetscMax(largest, fabs(lo[i]) + fabs(di[i]) + fabs(up[i]));
    c->norm += largest;
    PetscCall(PetscArraycpy(c->lower[d], lo + first, here));
    PetscCall(PetscArraycpy(c->diag[d], di + first, here));
    PetscCall(PetscArraycpy(c->upper[d], up + first, here));
    PetscCall(PetscFree3(lo, di, up));
  }
  if (c->norm == 0) c->norm = 1; /* one unknown, no equation */
  for (int d = 0; d < 3; d++) {
    for (PetscInt i = 0; i < op->axis[d].n; i++) {
      c->lower[d][i] *= op->scale;
      c->diag[d][i] *= op->scale;
      c->upper[d][i] *= op->scale;
    }
  }
  c->beyond[0] = c->beyond[1] = 0;
  /* the row kernel takes these for the corners of a periodic axis */
  if (c->slab == 0 && op->axis[0].n > 0 && op->axis[0].n < c->whole.n) {
    c->beyond[0] = c->lower[0][0];
    c->beyond[1] = c->upper[0][op->axis[0].n - 1];
    c->lower[0][0] = 0;
    c->upper[0][op->axis[0].n - 1] = 0;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  double error, before; /* the last one, and the one before it */
  PetscBool slow, grown;
  PetscInt corrections;
} Judgement;

static double predicted(const Judgement *j)
{
  return j->error * (j->error / j->before);
}

/* After a correction was measured: no more of them? */
static PetscBool judge(Judgement *j, const BCRRefine *x, PetscBool trial)
{
  const double slow = trial ? REFINE_SLOW / REFINE_MARGIN : REFINE_SLOW;

  j->before = j->error;
  j->error = x->sumr > 0 ? sqrt(x->sumr) / (sqrt(x->sumv) + sqrt(x->sumg)) : x->sumr; /* keeps a NaN */
  if (j->corrections == 0 && !(sqrt(x->sumr) <= REFINE_GROWTH * sqrt(x->sumg))) j->grown = PETSC_TRUE;
  if (j->corrections > 0 && j->error > REFINE_LIMIT && j->error > slow * j->before) j->slow = PETSC_TRUE;
  return j->error <= (j->slow ? 0.1 : 1) * REFINE_ENOUGH || !(j->error < 0.5 * j->before) ? PETSC_TRUE : PETSC_FALSE;
}

/* v: a solution by corrections. ncorrect < 0: as many as the residuals ask for */
static PetscErrorCode refine(const BCRPass *p, const BCRField *v, PetscInt ncorrect, PetscBool trial, BCRRefine *x,
                             Judgement *j)
{
  const BCRBackend *be = p->s->be;
  const BCRComponent *c = p->c;
  const PetscInt most = ncorrect < 0 ? REFINE_MAX : ncorrect;
  void *input = NULL;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(x, sizeof(*x)));
  PetscCall(PetscMemzero(j, sizeof(*j)));
  j->error = j->before = 1;
  x->core = p->s->core[c->core];
  x->measure = ncorrect < 0 ? PETSC_TRUE : PETSC_FALSE;
  x->v = *v;
  x->e = x->r = p->s->stage;
  if (be->core_input) PetscCall(be->core_input(x->core, &input));
  if (input) {
    x->r.v = input;
    for (int d = 1; d < 3; d++) x->r.stride[d] = x->r.stride[d - 1] * c->op.axis[d - 1].n;
  }
  PetscCall(be->refine_begin(p, x));
  while (!x->zero) {
    PetscCall(be->core_solve(p, x->core, x->r.v, x->e.v));
    /* the last correction is not measured when the rate of those before it says that it is enough by far */
    if (j->corrections == most || (x->measure && j->corrections > 1 && predicted(j) < 0.1 * REFINE_ENOUGH)) {
      PetscCall(be->refine_add(p, x));
      /* else there were too many corrections: what was measured last holds */
      if (predicted(j) < 0.1 * REFINE_ENOUGH) j->error = predicted(j);
      break;
    }
    PetscCall(be->refine_step(p, x));
    if (x->measure && judge(j, x, trial)) break;
    j->corrections++;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRefineSolve(const BCRPass *p, const BCRField *v, PetscBool *good)
{
  const BCRSolver s = p->s;
  const BCRComponent *c = p->c;
  BCRRefine x;
  Judgement j;

  PetscFunctionBegin;
  PetscCall(refine(p, v, s->be->flags & BCR_BACKEND_ASYNC ? c->ncorrect : -1, PETSC_FALSE, &x, &j));
  s->ncorrect = j.corrections;
  PetscCall(s->be->core_removed(p, x.core, &x));
  *good = PETSC_TRUE;
  if (x.measure && !x.zero && !(j.error <= (j.slow ? REFINE_ENOUGH : REFINE_LIMIT)) && isfinite(x.sumg) && !x.v.single)
    *good = PETSC_FALSE;
  /* corrections of a singular operator have means of their own, to single precision */
  if ((*good || !s->fallback[c->core]) && c->op.singular && !x.zero) PetscCall(s->be->refine_mean(p, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* f, u: of all nodes */
static PetscErrorCode refine_trial(BCRSolver s, BCRComponent *c, PetscReal *f, PetscReal *u)
{
  BCRPass p;
  BCRField v;
  BCRRefine x;
  Judgement j;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&p, sizeof(p)));
  p.s = s;
  p.c = c;
  p.f = f;
  p.u = u;
  p.nodestride = 1;
  p.stream = s->options.stream;
  /* for a solution that can be squared */
  PetscCall(s->be->trial(p.stream, (PetscInt)BCRComponentNodes(c), (double)PetscAbsReal(c->op.scale), f));
  BCRPassSum(&p, &v);
  PetscCall(refine(&p, &v, -1, PETSC_TRUE, &x, &j));
  c->ncorrect = j.corrections + 1;
  c->wantdouble = j.grown;
  if (!j.slow && j.error <= REFINE_LIMIT && !(j.grown && s->be->flags & BCR_BACKEND_ASYNC))
    PetscFunctionReturn(PETSC_SUCCESS);
  c->ncorrect = -1;
  c->wantdouble = PETSC_TRUE;
  PetscCall(PetscInfo(NULL,
                      "Corrections of the single-precision solve do not converge (to %g%s); solving in double "
                      "precision\n",
                      j.error, j.slow ? ", slowly" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRefineTrial(BCRSolver s, BCRComponent *c)
{
  const size_t bytes = PetscMax(1, BCRComponentNodes(c)) * sizeof(PetscReal);
  PetscReal *f = NULL, *u = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  c->ncorrect = 0;
  c->wantdouble = PETSC_FALSE;
  if (BCR_REAL_SINGLE && !(s->be->flags & BCR_BACKEND_SUMS_DOUBLE)) PetscFunctionReturn(PETSC_SUCCESS);
  ierr = s->be->alloc(bytes, "a trial of mixed precision", &f);
  if (!ierr) ierr = s->be->alloc(bytes, "a trial of mixed precision", &u);
  ierr = BCRSolverShare(s, ierr, BCR_NO_MEMORY);
  if (!ierr) ierr = refine_trial(s, c, f, u);
  PetscCall(s->be->free(f));
  PetscCall(s->be->free(u));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
