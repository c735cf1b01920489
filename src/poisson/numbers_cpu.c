/*
  The host's table of operations on the numbers of a capacitance system (numbers.h).
*/
#include "numbers.h"
#include <petscblaslapack.h>

static PetscErrorCode host_create(BCRNumbers *c)
{
  (void)c;
  return PETSC_SUCCESS;
}

static PetscErrorCode host_destroy(BCRNumbers *c)
{
  (void)c;
  return PETSC_SUCCESS;
}

static inline PetscScalar *at(const BCRSpread *x, PetscInt k)
{
  return k < x->n ? x->v + k : x->ghost + (k - x->n);
}

/* y = alpha A x, A diagonal and in all rows */
static void host_diagonal(PetscInt n, PetscReal alpha, const PetscReal *value, const PetscScalar *x, PetscScalar *y)
{
  for (PetscInt i = 0; i < n; i++) y[i] = alpha * value[i] * x[i];
}

static PetscErrorCode host_product(BCRNumbers *c, const BCRSparseProduct *p)
{
  const BCRSparse *A = p->A;

  PetscFunctionBegin;
  (void)c;
  if (A->value && !A->start && !A->from && !A->to && !p->add && !p->d && !p->magnitude && A->rows <= p->x.n &&
      A->rows <= p->y.n) {
    host_diagonal(A->rows, p->alpha, A->value, p->x.v, p->y.v);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt i = 0; i < A->rows; i++) {
    const PetscInt first = A->start ? A->start[i] : i, end = A->start ? A->start[i + 1] : i + 1;
    PetscScalar sum = 0, *y = at(&p->y, A->to ? A->to[i] : i);
    PetscReal size = 0;

    for (PetscInt k = first; k < end && p->alpha != 0; k++) {
      const PetscScalar term = (A->value ? A->value[k] : 1) * *at(&p->x, A->from ? A->from[k] : k);

      sum += term;
      size += PetscAbsScalar(term);
    }
    *y = (p->add ? *y : 0) + p->alpha * sum;
    if (p->d) {
      *y += p->beta * p->d[i] * p->z[i];
      size = PetscMax(size, p->d[i] * PetscAbsScalar(p->z[i]));
    }
    if (p->magnitude) p->magnitude[i] = size;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode host_fetch(BCRNumbers *c, BCRGhosts *g, const BCRSpread *x)
{
  PetscFunctionBegin;
  (void)c;
  PetscCall(PetscSFBcastBegin(g->sf, MPIU_SCALAR, x->v, x->ghost, MPI_REPLACE));
  PetscCall(PetscSFBcastEnd(g->sf, MPIU_SCALAR, x->v, x->ghost, MPI_REPLACE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode host_give(BCRNumbers *c, BCRGhosts *g, const BCRSpread *x)
{
  PetscFunctionBegin;
  (void)c;
  PetscCall(PetscSFReduceBegin(g->sf, MPIU_SCALAR, x->ghost, x->v, MPIU_SUM));
  PetscCall(PetscSFReduceEnd(g->sf, MPIU_SCALAR, x->ghost, x->v, MPIU_SUM));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode host_copy(BCRNumbers *c, PetscInt n, const PetscScalar *x, PetscScalar *y)
{
  PetscFunctionBegin;
  (void)c;
  PetscCall(PetscArraycpy(y, x, n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode host_set(BCRNumbers *c, PetscInt n, PetscScalar alpha, PetscScalar *x)
{
  (void)c;
  for (PetscInt i = 0; i < n; i++) x[i] = alpha;
  return PETSC_SUCCESS;
}

static PetscErrorCode host_scale(BCRNumbers *c, PetscInt n, PetscReal times, PetscReal over, const PetscScalar *x,
                                 PetscScalar *y)
{
  (void)c;
  for (PetscInt i = 0; i < n; i++) y[i] = x[i] * times / over;
  return PETSC_SUCCESS;
}

static PetscErrorCode host_add(BCRNumbers *c, PetscInt n, PetscScalar alpha, const PetscScalar *x, PetscScalar *y)
{
  (void)c;
  for (PetscInt i = 0; i < n; i++) y[i] += alpha * x[i];
  return PETSC_SUCCESS;
}

static PetscErrorCode host_dots(BCRNumbers *c, PetscInt n0, PetscInt nblocks, const BCRBlock blocks[],
                                PetscScalar *sums)
{
  const PetscBLASInt n = (PetscBLASInt)n0, ld = n > 0 ? n : 1, one = 1;
  const PetscScalar alpha = 1, beta = 0;

  PetscFunctionBegin;
  (void)c;
  for (PetscInt l = 0; l < nblocks; l++) {
    const PetscScalar *X = blocks[l].X, *y = blocks[l].y;
    const PetscBLASInt k = (PetscBLASInt)blocks[l].k, m = (PetscBLASInt)PetscMax(blocks[l].m, 1);

    for (PetscInt j = 0; j < (n && k > 1 ? 0 : k * m); j++) { /* few numbers; m is 1 where k is */
      sums[j] = 0;
      for (PetscInt i = 0; i < n; i++) sums[j] += PetscConj(X[i]) * y[(size_t)j * (size_t)n + i];
    }
    if (n && k > 1 && m == 1) BLASgemv_("C", &n, &k, &alpha, X, &ld, y, &one, &beta, sums, &one);
    else if (n && k > 1) BLASgemm_("C", "N", &k, &m, &n, &alpha, X, &ld, y, &ld, &beta, sums, &k);
    sums += (size_t)k * (size_t)m;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode host_combine(BCRNumbers *c, PetscInt n0, PetscInt nblocks, const BCRBlock blocks[], PetscInt m0,
                                   PetscReal alpha0, const PetscScalar *s, PetscScalar *y)
{
  const PetscBLASInt n = (PetscBLASInt)n0, m = (PetscBLASInt)m0, one = 1;
  const PetscScalar alpha = alpha0, beta = 1;
  PetscInt all = 0;

  PetscFunctionBegin;
  (void)c;
  for (PetscInt l = 0; l < nblocks; l++) all += blocks[l].k;
  for (PetscInt l = 0; l < nblocks && n && m; l++) {
    const PetscBLASInt k = (PetscBLASInt)blocks[l].k, lds = (PetscBLASInt)PetscMax(all, 1);

    if (k && m == 1) BLASgemv_("N", &n, &k, &alpha, blocks[l].X, &n, s, &one, &beta, y, &one);
    else if (k) BLASgemm_("N", "N", &n, &m, &k, &alpha, blocks[l].X, &n, s, &lds, &beta, y, &n);
    s += k;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode host_mix(BCRNumbers *c, PetscInt n0, PetscInt k0, const PetscScalar *X, const PetscScalar *A,
                               PetscInt m0, const PetscScalar *B, PetscScalar *Y)
{
  const PetscBLASInt n = (PetscBLASInt)n0, k = (PetscBLASInt)k0, m = (PetscBLASInt)m0, by = 1;
  const PetscScalar one = 1;

  PetscFunctionBegin;
  (void)c;
  if (!n || !m) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscBLASInt j = m - 1; j >= 0; j--) { /* the last ones first, as others need only those before them */
    const PetscScalar *b = B + (size_t)j * (size_t)m0;
    PetscScalar *y = Y + (size_t)j * (size_t)n0;

    for (PetscInt i = 0; i < n0; i++) y[i] *= b[j];
    if (j) BLASgemv_("N", &n, &j, &one, Y, &n, b, &by, &one, y, &by);
  }
  if (k) BLASgemm_("N", "N", &n, &m, &k, &one, X, &n, A, &k, &one, Y, &n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode host_step(BCRNumbers *c, PetscInt n, PetscInt nblocks, const BCRBlock blocks[],
                                const PetscScalar *s, const BCRStepEnd *end)
{
  PetscFunctionBegin;
  PetscCall(host_combine(c, n, nblocks, blocks, 1, -1, s, end->q));
  for (PetscInt i = 0; i < n; i++) {
    end->q[i] *= end->unit;
    end->q1[i] = end->q[i];
    end->z1[i] = end->z[i];
    end->b[i] -= end->y * end->q[i];
    if (end->next != 0) end->z[i] = end->next * end->b[i];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode host_largest(BCRNumbers *c, PetscInt n, const PetscReal *v, const PetscScalar *x,
                                   PetscReal out[2][2])
{
  (void)c;
  for (int k = 0; k < 2; k++) {
    PetscReal most = 0, sum = 0;

    for (PetscInt i = 0; i < n && (k ? x != NULL : v != NULL); i++)
      most = PetscMax(most, k ? PetscAbsScalar(x[i]) : v[i]);
    for (PetscInt i = 0; i < n && (k ? x != NULL : v != NULL); i++) {
      const PetscReal a = k ? PetscAbsScalar(x[i]) : v[i];

      sum += most > 0 ? PetscSqr(a / most) : a;
    }
    out[k][0] = most;
    out[k][1] = sum;
  }
  return PETSC_SUCCESS;
}

/* Sum of n terms, of which 8 are on the way at a time */
static inline PetscScalar part_sum(PetscInt n, PetscInt dof, const PetscReal *l, const PetscScalar *x)
{
  PetscScalar s[8] = {0};
  PetscInt i = 0;

  for (; i + 8 <= n; i += 8)
    for (PetscInt k = 0; k < 8; k++) s[k] += (l ? l[i + k] : 1) * x[dof * (i + k)];
  for (; i < n; i++) s[i % 8] += (l ? l[i] : 1) * x[dof * i];
  return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

/* By halves, so that rounding grows with the logarithm of the number of nodes: what it leaves of a border's row is as large in the
   field that is solved for */
static PetscScalar halves_sum(PetscInt n, PetscInt dof, const PetscReal *l, const PetscScalar *x)
{
  const PetscInt half = n / 2;

  if (n <= 256) return dof == 1 ? part_sum(n, 1, l, x) : part_sum(n, dof, l, x);
  return halves_sum(half, dof, l, x) + halves_sum(n - half, dof, l ? l + half : NULL, x + dof * half);
}

static PetscErrorCode host_nodes_sum(BCRNumbers *c, PetscInt nodes, PetscInt dof, const PetscReal *l,
                                     const PetscScalar *x, PetscScalar *sum)
{
  (void)c;
  *sum = halves_sum(nodes, dof, l, x);
  return PETSC_SUCCESS;
}

static PetscErrorCode host_nodes_add(BCRNumbers *c, PetscInt nodes, PetscInt dof, PetscScalar alpha, const PetscReal *r,
                                     PetscScalar *x)
{
  (void)c;
  for (PetscInt i = 0; i < nodes; i++) x[dof * i] += r ? alpha * r[i] : alpha;
  return PETSC_SUCCESS;
}

static PetscErrorCode host_run(BCRNumbers *c, const void *key, size_t bytes, PetscErrorCode (*launch)(void *context),
                               void *context)
{
  (void)c;
  (void)key;
  (void)bytes;
  return (*launch)(context);
}

const BCRNumbersOps *BCRNumbersCpu(void)
{
  static const BCRNumbersOps table = {
    .where = PETSC_MEMTYPE_HOST,
    .create = host_create,
    .destroy = host_destroy,
    .product = host_product,
    .fetch = host_fetch,
    .give = host_give,
    .run = host_run,
    .copy = host_copy,
    .set = host_set,
    .scale = host_scale,
    .add = host_add,
    .dots = host_dots,
    .dots_there = host_dots,
    .combine = host_combine,
    .mix = host_mix,
    .step = host_step,
    .largest = host_largest,
    .nodes_sum = host_nodes_sum,
    .nodes_add = host_nodes_add,
  };

  return &table;
}
