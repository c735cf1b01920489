/*
  Matrices that are not separable: a separable operator near them (docs/method.md, section "operator").

  average  the mean coupling of each axis, the mean row sum as shift;
  scaled   A ~ S B S after Concus and Golub (SIAM J. Numer. Anal. 10, 1973): with -div(k grad u) and S = sqrt(k) the couplings of
           S^{-1} A S^{-1} are 1 + O(h^2) and a bounded potential is left on the diagonal, whose mean becomes the shift.

  The fit of a matrix that is regular is regular. Where no end of the fit holds the solution fixed,
  its shift is the Rayleigh quotient of the matrix, in the scales of the fit, for the constant, over
  all rows: end rows count (a pinned cell, a wall that conducts heat). It is zero only where the
  sums of all rows vanish.

  Rows apart (identity rows among others of another size, penalties: the couplings are at most an
  eighth of the diagonal, which is more than eight times, or less than an eighth of, what the fit
  has) take no part in means, and are solved by themselves (Jacobi), beside the fit.

  auto takes the fit for which an estimate of the condition number is smaller: the spread of the
  couplings times one plus what is left on the diagonal over the smallest eigenvalue of the fit. Of
  what is left the root mean square distance from the mean counts: the largest would be a bound, but
  a potential that is large near an end or a corner only does little harm.
*/
#include "fithost.h"
#include <math.h>

/* The end types nearest to what the matrix has */
static void BCRFitEnds(BCRFitData *F)
{
  PetscInt d, s;

  for (d = 0; d < 3; d++) {
    BCRAxis *ax = &F->op->axis[d];

    for (s = 0; s < 2; s++) {
      ax->end[s] = BCR_END_CELL_NEUMANN;
      if (F->n[d] < 2 || d >= F->dim) continue;
      if (F->wrap[d]) ax->end[s] = BCR_END_PERIODIC;
      else if (ax->plane[s].present && ax->plane[s].couple)
        ax->end[s] = PetscAbsReal(ax->plane[s].slope) < 0.5
                       ? BCR_END_DIRICHLET
                       : (ax->plane[s].slope > 0 ? BCR_END_CELL_NEUMANN : BCR_END_CELL_DIRICHLET);
      else if (ax->plane[s].present) ax->end[s] = BCR_END_DIRICHLET;
      else if ((F->ratio[d][s] > 1.5 && F->ratio[d][s] < 2.7) || F->half[d][s] < 1) ax->end[s] = BCR_END_NEUMANN;
      else if (F->extra[d][s] > 1.5) ax->end[s] = BCR_END_CELL_DIRICHLET;
      else if (F->extra[d][s] > 0.25) ax->end[s] = BCR_END_DIRICHLET;
    }
  }
}

/* With an unsymmetric Neumann end the link was the mean of a and 2a */
static PetscErrorCode BCRFitEndLinks(BCRFitData *F)
{
  PetscInt d, s, i, j, u, v;

  PetscFunctionBegin;
  for (d = 0; d < F->dim; d++) {
    u = d == 0 ? 1 : 0;
    v = d == 2 ? 1 : 2;
    for (s = 0; s < 2; s++) {
      const PetscInt at = (s ? F->n[d] - 2 : 0) - F->so[d];

      if (F->op->axis[d].end[s] != BCR_END_NEUMANN || F->half[d][s] < 1 || F->n[d] < 2 || at < 0 || at >= F->sn[d])
        continue;
#if defined(PETSCBCR_HAVE_CUDA)
      if (F->device) {
        PetscCall(BCRFitDeviceDivide(F, d, at, sqrt(2.0)));
        continue;
      }
#endif
      for (j = 0; j < F->sn[v]; j++)
        for (i = 0; i < F->sn[u]; i++) F->C[d][at * F->stride[d] + i * F->stride[u] + j * F->stride[v]] /= sqrt(2.0);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The axes and the shift of a fit from its means, in units of the matrix, and an estimate of the
   condition number. known: what is left on the diagonal has been found already */
static PetscErrorCode BCRFitTry(BCRFitData *F, PetscBool known, BCRFitResult *r)
{
  static const char xyz[] = "xyz";
  BCROperator *op = F->op;
  double left, far, size, low;
  PetscInt d;
  PetscReal lo;

  PetscFunctionBegin;
  for (d = 0; d < 3; d++) {
    r->a[d] = d < F->dim && F->n[d] > 1 ? r->mean[d] : 0;
    op->axis[d].n = F->n[d];
    op->axis[d].a = (PetscReal)r->a[d];
    PetscCheck(op->axis[d].a >= 0, F->A->comm, PETSC_ERR_SUP,
               "The preconditioning matrix has off-diagonal entries of opposite signs along different axes (mean "
               "coupling along %c %g): it is indefinite or no Poisson operator. Give another preconditioning matrix "
               "(second matrix of KSPSetOperators()), for example the Laplacian alone",
               xyz[d], -r->mean[d] * F->sign);
  }
  if (!known) PetscCall(BCRFitLeft(F, r));
  if (r->total.count == 0) PetscCall(BCRFitTotals(F, r)); /* else they are known of these means already */
  left = BCRFitRangeMean(&r->left);
  far = PetscMax(r->left.hi - left, left - r->left.lo);
  size = left + 2 * (r->a[0] + r->a[1] + r->a[2]);
  PetscCheck(size > 0, F->A->comm, PETSC_ERR_SUP,
             "The preconditioning matrix has off-diagonal entries of the same sign as its diagonal: it is indefinite, "
             "or no Poisson operator. Give another preconditioning matrix (second matrix of KSPSetOperators()), for "
             "example the Laplacian alone");
  op->shift = 0;
  PetscCall(BCROperatorLowestEigenvalue(op, &lo));
  if ((double)lo > 1e-12 * size) {
    if (PetscAbs(left) <= 4 * BCR_SUM_TOL * size) left = 0;
    /* definite, whatever the matrix is, and by more than BCROperatorCheckDefinite() takes for rounding */
    left = PetscMax(left, -PetscMax(0, PetscMin(0.9 * (double)lo, (double)lo - 4 * BCR_SUM_TOL * size)));
  } else {
    /* no end holds the solution fixed: what the matrix has on the constant, all rows taken together */
    left = r->total.excess / r->total.weight;
    if (PetscAbs(left) <= 4 * BCR_SUM_TOL * size) {
      PetscBool null = PETSC_FALSE;

      if (!F->scaled && !F->apart) PetscCall(BCRFitNull(F, r, &null));
      left = null ? 0 : PetscMax(far, 64 * BCR_SUM_TOL * size);
    } else if (left < 0) left = PetscMax(far, -left);
  }
  op->shift = (PetscReal)left;
  r->shift = left;
  /* what A itself is bounded from below by, in the scales of the fit: T and the least of what is
     left on the diagonal. Where T is singular, its next eigenvalue counts. */
  low = (double)lo;
  if (!(low > 1e-12 * size)) {
    low = PETSC_MAX_REAL;
    for (d = 0; d < F->dim; d++)
      if (F->n[d] > 1) {
        const double x = sin((double)PETSC_PI / (F->wrap[d] ? 1 : 2) / (double)F->n[d]);
        low = PetscMin(low, 4 * x * x * r->a[d]);
      }
  }
  if (r->left.lo > 0) low += r->left.lo;
  r->bound = r->spread * (1 + BCRFitRangeDistance(&r->left, BCRFitRangeMean(&r->left)) / low);
  if (low == 0) r->bound = PETSC_INFINITY;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All of the fit but the planes to drop, the box and the sign, which F has */
static PetscErrorCode BCRFitCompute(BCRFitData *F, BCRFit fit)
{
  const BCRRows *A = F->A;
  BCROperator *op = F->op;
  BCRFitResult average, scaled, *take = &average;
  BCRFitSums sums;
  PetscInt d, s, i;
  double unit = 0;
  PetscBool known = PETSC_TRUE; /* what is left on the diagonals is what the pass over the matrix has summed up */

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&average, sizeof(average)));
  PetscCall(PetscMemzero(&scaled, sizeof(scaled)));
  PetscCall(PetscMemzero(&sums, sizeof(sums)));
  PetscCall(BCRFaultShare(A->comm, BCRFitMemory(F, &sums), BCR_NO_MEMORY));
  for (d = 0; d < F->dim; d++)
    if (F->n[d] == 2) known = PETSC_FALSE;
  PetscCall(BCRFitExtract(F, &sums, &average.left, &average.nearleft));
  BCRFitEnds(F);
  PetscCall(BCRFitEndLinks(F));
  op->scale = 1;
  for (i = 0; i < F->sn[0]; i++) {
    F->ones[i] = 1;
    F->iwx[i] = 1 / BCRFitWeight(F, 0, F->so[0] + i);
  }

  PetscCall(BCRFitMeans(F, NULL, NULL, &average));
  for (d = 0; d < 3; d++) {
    average.a[d] = d < F->dim && F->n[d] > 1 ? average.mean[d] : 0;
    op->axis[d].n = F->n[d];
  }
  PetscCall(BCRFitTotals(F, &average));
  if (BCRFitMayBeApart(F, &average)) {
    PetscBool apart;

    if (F->device) { /* odd matrices are the host's */
      F->host = PETSC_TRUE;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(BCRFitApart(F, average.a, &apart));
    if (apart) {
      PetscCall(PetscMemzero(average.link, sizeof(average.link)));
      PetscCall(PetscMemzero(&average.total, sizeof(average.total)));
      PetscCall(BCRFitMeans(F, NULL, NULL, &average));
      known = PETSC_FALSE;
    }
  }
  if (fit != BCR_FIT_SCALED) PetscCall(BCRFitTry(F, known, &average));
  if (fit == BCR_FIT_SCALED || (fit == BCR_FIT_AUTO && average.spread < PETSC_INFINITY)) {
    BCRFitRange scales;

    PetscCall(PetscMemzero(&scales, sizeof(scales)));
    F->scaled = PETSC_TRUE;
    /* there on all ranks, or on none */
    if (!F->device) PetscCall(BCRFaultShare(A->comm, PetscMalloc1(PetscMax(F->nodes, 1), &F->S), BCR_NO_MEMORY));
    PetscCall(BCRFitMeans(F, average.mean, &scales, &scaled));
    take = &scaled;
    if (PetscMax(PetscAbs(sqrt(scales.lo) - 1), PetscAbs(sqrt(scales.hi) - 1)) <= BCR_SAME_TOL) take = &average;
    else PetscCall(BCRFitTry(F, PETSC_FALSE, &scaled));
    /* Of the spread of couplings half counts (on a logarithmic scale) for what differs from place
       to place, which the scales take away, half for what differs between the axes at one place,
       which they do not. What is left on few diagonals, as along a jump, takes fewer iterations
       than its condition number: hence the 2 (tests/petsc/precond.c, Auto(): stretched axes and
       jumps) */
    average.bound *= PetscSqrtReal(PetscMax(1, (PetscReal)(scales.hi / scales.lo)) / (PetscReal)average.spread);
    scaled.bound /= PetscSqrtReal((PetscReal)scaled.spread);
    if (take == &average || (fit == BCR_FIT_AUTO && !(scaled.bound < 2 * average.bound))) {
      take = &average;
      F->scaled = PETSC_FALSE;
      PetscCall(PetscFree(F->S));
      PetscCall(BCRFitTry(F, (PetscBool)(known || fit != BCR_FIT_SCALED), &average));
    }
  }
  PetscCall(BCRFitDeviation(F, take));
  if (F->apart) PetscCall(BCRFitSetApart(F));

  /* units of the largest coupling; weights; planes */
  for (d = 0; d < 3; d++) unit = PetscMax(unit, (double)op->axis[d].a);
  if (unit == 0) unit = (double)op->shift;
  op->scale = (PetscReal)(F->sign * unit);
  op->shift /= (PetscReal)unit;
  for (d = 0; d < 3; d++) {
    BCRAxis *ax = &op->axis[d];

    ax->a /= (PetscReal)unit;
    if (F->half[d][0] < 1 || F->half[d][1] < 1) {
      PetscCall(PetscMalloc1(ax->n, &ax->weight));
      for (i = 0; i < ax->n; i++) ax->weight[i] = (PetscReal)BCRFitWeight(F, d, i);
    }
    for (s = 0; s < 2; s++) {
      BCRPlane *pl = &ax->plane[s];

      if (!pl->present) continue;
      if (!pl->couple) PetscCall(PetscFree(pl->couplings));
      else
        for (i = 0; i < BCRPlaneNodes(A, d, s); i++) pl->couplings[i] /= (PetscReal)unit;
      pl->coupling = pl->couple ? ax->a : 0;
      for (i = 0; i < BCRPlaneNodes(A, d, s) && pl->inv[i] == pl->inv0; i++) {}
      if (i == BCRPlaneNodes(A, d, s)) PetscCall(PetscFree(pl->inv));
    }
  }
#if defined(PETSCBCR_HAVE_CUDA)
  if (F->device && F->scaled) PetscCall(BCRFitDeviceScales(F));
#endif
  PetscCall(PetscStrncpy(op->fit, F->scaled ? "scaled" : "average", sizeof(op->fit)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sign that makes the couplings of most rows positive; where nothing is coupled, most
   diagonals. Rows are taken here and there over the grid, up to some thousand on a rank; of a
   matrix on a device those that have been brought to the host */
static PetscErrorCode BCRFitSign(BCRFitData *F)
{
  const BCRRows *A = F->A;
  const BCRSample *S = A->device && !A->aa && A->sample.n > 0 ? &A->sample : NULL;
  const PetscInt step = PetscMax(1, A->nodes / 1009);
  int vote[2] = {0, 0};

  PetscFunctionBegin;
  for (PetscInt b = 0; b < (S ? S->n : 1); b++) {
    const PetscInt *n = S ? S->count[b] : A->n, *first = S ? S->first[b] : A->lo;

    for (PetscInt q = 0; q < n[0] * n[1] * n[2]; q += S ? 1 : step) {
      const PetscInt ix[3] = {first[0] + q % n[0], first[1] + q / n[0] % n[1], first[2] + q / n[0] / n[1]};
      double st[7], rest, off = 0;
      PetscInt col;

      if (BCRRowGet(A, F->c, ix, st, &rest, &col) == BCR_ROW_NAN) continue;
      for (int k = 0; k < 6; k++) off -= st[k];
      vote[0] += off > 0 ? 1 : (off < 0 ? -1 : 0);
      vote[1] += st[BCR_CENTRE] > 0 ? 1 : -1;
    }
  }
  if (A->grid.size > 1) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, vote, 2, MPI_INT, MPI_SUM, A->comm));
  F->sign = (vote[0] ? vote[0] : vote[1]) < 0 ? -1 : 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFitRead(BCRRows *A, PetscInt c, BCRFit fit, BCROperator *op)
{
  BCRFitData F;
  PetscInt d, s, o[3], box = 1;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&F, sizeof(F)));
  F.A = A;
  F.c = c;
  F.op = op;
  F.dim = A->dim;
  F.nodes = 1;
  op->dim = A->dim;
  for (d = 0; d < 3; d++) {
    BCRAxis *ax = &op->axis[d];

    PetscCall(PetscFree(ax->lower));
    PetscCall(PetscFree(ax->diag));
    PetscCall(PetscFree(ax->upper));
    PetscCall(PetscFree(ax->weight));
    for (s = 0; s < 2; s++) {
      BCRPlane *pl = &ax->plane[s];

      pl->couple = PETSC_FALSE;
      pl->coupling = 0;
      if (!pl->present) continue;
      PetscCall(PetscFree(pl->inv));
      PetscCall(PetscFree(pl->couplings));
      if (!ierr) ierr = PetscMalloc1(BCRPlaneNodes(A, d, s), &pl->inv);
      /* there on all ranks, or on none */
      if (!ierr) ierr = PetscCalloc1(PetscMax(BCRPlaneNodes(A, d, s), 1), &pl->couplings);
    }
    F.b[d] = ax->plane[0].present ? 1 : 0;
    F.n[d] = A->N[d] - F.b[d] - (ax->plane[1].present ? 1 : 0);
    box *= F.n[d];
    /* of the rank's nodes those that are unknowns; then what is stored */
    F.lo[d] = PetscMax(A->lo[d] - F.b[d], 0);
    F.own[d] = PetscMax(0, PetscMin(A->lo[d] + A->n[d] - F.b[d], F.n[d]) - F.lo[d]);
    F.so[d] = 0;
    F.sn[d] = F.n[d];
    if (A->grid.parts[d] > 1) {
      const PetscInt more = 2;
      PetscInt end = A->lo[d] + A->n[d] - F.b[d] + more;

      F.image[d] = (PetscBool)(!ax->plane[0].present && !ax->plane[1].present);
      F.so[d] = A->lo[d] - F.b[d] - more;
      if (!F.image[d]) {
        F.so[d] = PetscMax(F.so[d], 0);
        end = PetscMin(end, F.n[d]);
      }
      F.sn[d] = PetscMax(0, end - F.so[d]);
    }
    if (A->nodes == 0) F.sn[d] = F.own[d] = 0;
    F.stride[d] = F.nodes;
    F.nodes *= F.sn[d];
    F.half[d][0] = F.half[d][1] = F.ratio[d][0] = F.ratio[d][1] = 1;
    ax->n = F.n[d];
  }
  PetscCall(BCRFaultShare(A->comm, ierr, BCR_NO_MEMORY));
  if (box == 0) { /* only planes, whose corners disagree */
    PetscCheck(fit != BCR_FIT_EXACT, A->comm, PETSC_ERR_SUP,
               "The preconditioning matrix holds end rows only, which differ at the corners of the grid: use "
               "-pc_bcrpoisson_fit auto or a finer grid");
    SETERRQ(A->comm, PETSC_ERR_SUP,
            "The preconditioning matrix holds end rows only, which differ at the corners of the grid: use a finer "
            "grid, or another PC");
  }
  PetscCall(BCRFitSign(&F));
  PetscCall(BCRShellOpen(A, 2));
  for (;;) {
    const PetscBool host = F.host;

    ierr = BCRFitCompute(&F, fit);
    for (PetscInt t = 0; t < F.parts && F.part; t++) {
      PetscCall(PetscFree3(F.part[t].x, F.part[t].line, F.part[t].ghost));
      PetscCall(PetscFree(F.part[t].below));
      PetscCall(PetscFree(F.part[t].around));
    }
    PetscCall(PetscFree(F.part));
#if defined(PETSCBCR_HAVE_CUDA)
    if (F.device) PetscCall(BCRFitDeviceClose(&F));
#endif
    PetscCall(PetscFree2(F.ones, F.iwx));
    PetscCall(PetscFree(F.D));
    PetscCall(PetscFree(F.apart));
    for (d = 0; d < 3; d++) PetscCall(PetscFree(F.C[d]));
    if (ierr || F.host == host) break; /* else again, on the host */
  }
  if (F.S && A->grid.size > 1 && !ierr) { /* the scales of this rank's unknowns */
    BCRCallElse(PetscMalloc1(PetscMax(F.own[0] * F.own[1] * F.own[2], 1), &op->rowscale), (void)PetscFree(F.S));
    for (o[2] = 0; o[2] < F.own[2]; o[2]++) {
      for (o[1] = 0; o[1] < F.own[1] && F.own[0] > 0; o[1]++) {
        const PetscInt at[3] = {0, F.lo[1] + o[1], F.lo[2] + o[2]};

        PetscCall(
          PetscArraycpy(op->rowscale + F.own[0] * (o[1] + F.own[1] * o[2]), F.S + BCRFitAt(&F, F.lo[0], at), F.own[0]));
      }
    }
    PetscCall(PetscFree(F.S));
  } else op->rowscale = F.S;
  PetscCall(ierr);
  if (fit == BCR_FIT_EXACT) {
    const PetscInt r = op->devrow, q = op->devcol;

    SETERRQ(A->comm, PETSC_ERR_SUP,
            "The preconditioning matrix is not separable: row %" PetscInt_FMT " (grid point %" PetscInt_FMT
            ",%" PetscInt_FMT ",%" PetscInt_FMT "), column %" PetscInt_FMT
            " is off by %g, relatively, from the mean of the coefficients. Let the operator be approximated with "
            "-pc_bcrpoisson_fit auto, scaled or average, or give a separable preconditioning matrix (second matrix of "
            "KSPSetOperators())",
            c + A->dof * r, r % A->N[0], (r / A->N[0]) % A->N[1], r / (A->N[0] * A->N[1]), c + A->dof * q,
            (double)op->deviation);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
