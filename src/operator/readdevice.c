/*
  Reading a matrix whose values are on a CUDA device and whose rows all have entries: the grid
  lines that the operator is made of come to the host, and every row is compared with the operator
  where it is. The matrix is copied to the host only if that comparison fails.
*/
#include "readdevice.h"

#if defined(PETSCBCR_HAVE_CUDA)
  #include "../base/stream.h"
  #include "../base/device.h"
  #include <petscdevice.h>
  #include <petsc/private/matimpl.h>

  #define BCR_ROWS_BLOCKS 2048

PetscErrorCode BCRRowsDevice(Mat mat, const BCRGrid *grid, PetscBool bring, PetscBool *there, PetscBool *only)
{
  PetscBool cusparse;

  PetscFunctionBegin;
  *there = *only = PETSC_FALSE;
  PetscCall(PetscObjectTypeCompare((PetscObject)mat, MATSEQAIJCUSPARSE, &cusparse));
  if (!cusparse || mat->boundtocpu || grid->size > 1) PetscFunctionReturn(PETSC_SUCCESS);
  *only = (PetscBool)(mat->offloadmask == PETSC_OFFLOAD_GPU);
  *there =
    (PetscBool)(*only || mat->offloadmask == PETSC_OFFLOAD_BOTH || (bring && mat->offloadmask == PETSC_OFFLOAD_CPU));
  if ((double)mat->rmap->n >= 2147483647.0) *there = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRRowsArrays(const BCRRows *A, BCRCudaRows *rows, BCRStream *stream)
{
  const PetscInt *i, *j;
  PetscScalar *a;
  PetscMemType mem;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(rows, sizeof(*rows)));
  PetscCall(MatSeqAIJGetCSRAndMemType(A->near.mat, &i, &j, &a, &mem));
  PetscCheck(PetscMemTypeCUDA(mem), PETSC_COMM_SELF, PETSC_ERR_PLIB, "The matrix has no arrays on the device");
  rows->i = i;
  rows->j = j;
  rows->a = a;
  rows->wide = sizeof(PetscInt) == 8;
  rows->single = sizeof(PetscReal) == sizeof(float);
  rows->parts = (int)(sizeof(PetscScalar) / sizeof(PetscReal));
  rows->dim = (int)A->dim;
  rows->dof = (int)A->dof;
  for (PetscInt d = 0; d < 3; ++d) rows->n[d] = (int)A->N[d];
  PetscCall(BCRGetStream(stream));
  if (*stream) PetscCallBCRCuda(BCRCudaSynchronize(NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of the sample's boxes from `first` on come to the host, by lines along their first axis of
   more than one node. Where there is no room on the device they do not, and the host looks at all
   rows */
static PetscErrorCode BCRSampleFetch(const BCRRows *A, BCRSample *S, PetscInt first)
{
  BCRCudaRows rows;
  BCRCudaRowLines lines;
  BCRStream stream;
  PetscInt width = 0, total = 0, sent = 0;
  PetscScalar *memory;
  size_t bytes;
  char *values;
  int error = 0;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&lines, sizeof(lines)));
  for (PetscInt b = first; b < S->n; ++b) {
    const PetscInt *f = S->first[b], *n = S->count[b];

    for (PetscInt q = 0; q < n[0] * n[1] * n[2]; ++q) {
      const PetscInt row =
        A->dof * (f[0] + q % n[0] + A->stride[1] * (f[1] + q / n[0] % n[1]) + A->stride[2] * (f[2] + q / n[0] / n[1]));

      for (PetscInt c = 0; c < A->dof; ++c) width = PetscMax(width, A->ai[row + c + 1] - A->ai[row + c]);
    }
    total += A->dof * n[0] * n[1] * n[2];
  }
  bytes = (size_t)total * (size_t)width * sizeof(PetscScalar);
  if (BCRCudaMalloc(bytes, &values)) {
    S->n = first;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMalloc1(PetscMax(total * width, 1), &memory));
  S->memory[S->nmemory++] = memory;
  PetscCall(BCRRowsArrays(A, &rows, &stream));
  lines.width = (int)width;
  total = 0;
  for (PetscInt b = first; b < S->n; ++b) {
    const PetscInt *f = S->first[b], *n = S->count[b], d = n[0] > 1 ? 0 : (n[1] > 1 ? 1 : 2), u = d == 0 ? 1 : 0,
                   v = d == 2 ? 1 : 2;

    S->width[b] = width;
    S->values[b] = memory + total * width;
    for (PetscInt q = 0; q < n[u] * n[v]; ++q) {
      /* of one length, one behind another */
      if (lines.n == BCR_CUDA_ROW_LINES || (lines.n && lines.most != (int)(A->dof * n[d]))) {
        if (!error)
          error = BCRCudaRowsTake(stream, &rows, &lines, values + (size_t)(sent * width) * sizeof(PetscScalar));
        sent = total;
        lines.n = 0;
      }
      lines.most = (int)(A->dof * n[d]);
      lines.first[lines.n] = f[d] * A->stride[d] + (f[u] + q % n[u]) * A->stride[u] + (f[v] + q / n[u]) * A->stride[v];
      lines.step[lines.n] = A->stride[d];
      lines.count[lines.n] = (int)n[d];
      lines.n++;
      total += A->dof * n[d];
    }
  }
  if (lines.n && !error)
    error = BCRCudaRowsTake(stream, &rows, &lines, values + (size_t)(sent * width) * sizeof(PetscScalar));
  if (!error) error = BCRCudaGet(memory, values, bytes, stream);
  (void)BCRCudaFree(values);
  PetscCallBCRCuda(error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSampleTake(BCRRows *A)
{
  BCRSample *S = &A->sample;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(S, sizeof(*S)));
  /* lines through the middle of the grid and those beside them: the base row of BCRAxesRead() is
     there somewhere */
  for (PetscInt d = 0; d < A->dim; ++d) {
    const PetscInt u = d == 0 ? 1 : 0, v = d == 2 ? 1 : 2;

    for (PetscInt b = PetscMax(A->N[v] / 2 - 1, 0); b <= PetscMin(A->N[v] / 2 + 1, A->N[v] - 1); ++b) {
      for (PetscInt a = PetscMax(A->N[u] / 2 - 1, 0); a <= PetscMin(A->N[u] / 2 + 1, A->N[u] - 1); ++a, ++S->n) {
        S->first[S->n][d] = 0;
        S->first[S->n][u] = a;
        S->first[S->n][v] = b;
        S->count[S->n][d] = A->N[d];
        S->count[S->n][u] = S->count[S->n][v] = 1;
      }
    }
  }
  for (int place = 0; place < 27; ++place) { /* where planes may meet: corners, the middles of edges */
    const int side[3] = {place % 3, place / 3 % 3, place / 9};

    if ((side[0] != 1) + (side[1] != 1) + (side[2] != 1) < 2 || (side[2] != 1 && A->dim < 3) || A->dim < 2) continue;
    for (PetscInt d = 0; d < 3; ++d) {
      S->first[S->n][d] = side[d] == 0 ? 0 : (side[d] == 1 ? A->N[d] / 2 : A->N[d] - 1);
      S->count[S->n][d] = 1;
    }
    S->n++;
  }
  PetscCall(BCRSampleFetch(A, S, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSampleTakeFaces(const BCRRows *rows, const BCROperator *op)
{
  BCRRows *A = (BCRRows *)rows; /* what it says stays what it is */
  BCRSample *S = &A->sample;
  const PetscInt first = S->n;

  PetscFunctionBegin;
  if (!A->device || A->aa || S->faces) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt d = 0; d < A->dim; ++d) {
    for (PetscInt s = 0; s < 2; ++s) {
      if (!op->axis[d].plane[s].present) continue;
      for (PetscInt e = 0; e < 3; ++e) {
        S->first[S->n][e] = e == d && s ? A->N[d] - 1 : 0;
        S->count[S->n][e] = e == d ? 1 : A->N[e];
      }
      S->n++;
    }
  }
  S->faces = PETSC_TRUE;
  if (S->n > first) PetscCall(BCRSampleFetch(A, S, first));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSampleTakeLines(const BCRRows *rows, const PetscInt at[3])
{
  BCRRows *A = (BCRRows *)rows; /* what it says stays what it is */
  BCRSample *S = &A->sample;
  const PetscInt first = S->n;

  PetscFunctionBegin;
  if (!A->device || A->aa) PetscFunctionReturn(PETSC_SUCCESS);
  if (S->more++ >= BCR_SAMPLE_MORE) {
    PetscCall(BCRRowsFetch(A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt d = 0; d < A->dim; ++d, ++S->n)
    for (PetscInt e = 0; e < 3; ++e) {
      S->first[S->n][e] = e == d ? 0 : at[e];
      S->count[S->n][e] = e == d ? A->N[e] : 1;
    }
  PetscCall(BCRSampleFetch(A, S, first));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRSampleCorners(const BCROperator *op, double corner[27][3])
{
  PetscFunctionBegin;
  for (int k = 0; k < 27 * 3; ++k) corner[k / 3][k % 3] = (double)op->corner[k / 3][k % 3];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFacesSearch(const BCRRows *A, PetscInt c, const BCROperator *op, PetscBool *done, int wrong[6])
{
  BCRCudaRows rows;
  BCRCudaRowsPlanes planes;
  int end[6], *found;
  BCRStream stream;
  int error;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  if (!A->device || A->aa || A->sample.faces || BCRCudaMalloc(sizeof(end), &found)) PetscFunctionReturn(PETSC_SUCCESS);
  planes.c = (int)c;
  for (PetscInt e = 0; e < 6; ++e) {
    planes.present[e / 2][e % 2] = op->axis[e / 2].plane[e % 2].present ? 1 : 0;
    planes.slope[e / 2][e % 2] = (double)op->axis[e / 2].plane[e % 2].slope;
  }
  PetscCall(BCRSampleCorners(op, planes.corner));
  PetscCall(BCRRowsArrays(A, &rows, &stream));
  error = BCRCudaZero(found, sizeof(end), stream);
  if (!error) error = BCRCudaRowsSearch(stream, &rows, &planes, BCR_PLANE_TOL, BCR_SAME_TOL, found);
  if (!error) error = BCRCudaGet(end, found, sizeof(end), stream);
  (void)BCRCudaFree(found);
  PetscCallBCRCuda(error);
  for (PetscInt e = 0; e < 6; ++e)
    if (end[e] & 2) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt e = 0; e < 6; ++e) wrong[e] = end[e];
  *done = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool BCRRowsFull(const BCRRows *A)
{
  const PetscInt rows = A->dof * A->nodes;

  for (PetscInt r = 0; r < rows; r++)
    if (A->ai[r + 1] == A->ai[r]) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* Nothing is to be noted in the operators while they are compared */
static PetscBool BCRSampleFits(const BCRCheck *ck)
{
  for (PetscInt c = 0; c < ck->dof; ++c) {
    const BCROperator *op = &ck->ops[c];

    if (ck->skip[c] || op->left || op->rowscale) return PETSC_FALSE;
    for (PetscInt d = 0; d < 3; ++d) {
      if (op->axis[d].n == 0 || op->axis[d].times) return PETSC_FALSE;
      for (PetscInt s = 0; s < 2; ++s)
        if (op->axis[d].plane[s].couplings || op->axis[d].plane[s].inv) return PETSC_FALSE;
    }
  }
  return PETSC_TRUE;
}

PetscErrorCode BCRSampleModels(const BCRCheck *ck, double *table, BCRCudaRowsModel model[], const char *place)
{
  const double *begin = table;

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(model, ck->dof));
  for (PetscInt c = 0; c < ck->dof; ++c) {
    const BCROperator *op = &ck->ops[c];
    BCRCudaRowsModel *to = &model[c];

    to->scale = (double)op->scale;
    to->shift = (double)op->shift;
    PetscCall(BCRSampleCorners(op, to->corner));
    for (PetscInt d = 0; d < 3; ++d) {
      const BCRModelAxis *ax = &ck->m[c][d];
      const double *const from[4] = {ax->lo, ax->up, ax->dg, ax->w};

      to->axis[d] = (const double *)place + (table - begin);
      to->b[d] = (int)ax->b;
      to->n[d] = (int)ax->n;
      for (int q = 0; q < 4; ++q, table += ax->N) PetscCall(PetscArraycpy(table, from[q], ax->N));
      for (int s = 0; s < 2; ++s) {
        to->present[d][s] = op->axis[d].plane[s].present ? 1 : 0;
        to->slope[d][s] = (double)op->axis[d].plane[s].slope;
        to->inv[d][s] = (double)op->axis[d].plane[s].inv0;
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where found is: row 8 (component + dof node) and slot of the star */
static void BCRSampleFound(BCRCheck *ck, const BCRCudaRowsFound *found)
{
  const BCRRows *A = ck->A;
  const PetscInt r = (PetscInt)(found->where / 8), k = (PetscInt)(found->where % 8), node = r / A->dof, d = k / 2;

  ck->v.dev = found->worst;
  ck->v.comp = r % A->dof;
  ck->v.row = ck->v.col = node;
  if (k < 6) {
    const PetscInt i = node / A->stride[d] % A->N[d],
                   j = k % 2 ? (i < A->N[d] - 1 ? i + 1 : 0) : (i > 0 ? i - 1 : A->N[d] - 1);

    ck->v.col += (j - i) * A->stride[d];
  }
}

PetscErrorCode BCRSampleCompare(BCRCheck *ck, PetscBool *good)
{
  const BCRRows *A = ck->A;
  const PetscInt rows_here = A->dof * A->nodes, blocks = PetscMin((rows_here + 255) / 256, BCR_ROWS_BLOCKS);
  const size_t tables = (size_t)(4 * A->dof * (A->N[0] + A->N[1] + A->N[2])) * sizeof(double),
               bytes = tables + (size_t)A->dof * sizeof(BCRCudaRowsModel);
  BCRCudaRows rows;
  BCRCudaRowsFound *found, *there;
  BCRStream stream;
  char *put, *place;
  int odd = 0, error;

  PetscFunctionBegin;
  *good = PETSC_FALSE;
  PetscCall(PetscMemzero(&ck->v, sizeof(ck->v)));
  if (!BCRSampleFits(ck) || BCRCudaMalloc(bytes + BCR_ROWS_BLOCKS * sizeof(*found), &place))
    PetscFunctionReturn(PETSC_SUCCESS);
  there = (BCRCudaRowsFound *)(place + bytes);
  PetscCall(BCRRowsArrays(A, &rows, &stream));
  PetscCall(PetscMalloc2(bytes, &put, BCR_ROWS_BLOCKS, &found));
  PetscCall(BCRSampleModels(ck, (double *)put, (BCRCudaRowsModel *)(put + tables), place));
  error = BCRCudaPut(place, put, bytes, stream);
  if (!error)
    error = BCRCudaRowsCompare(stream, &rows, (const BCRCudaRowsModel *)(place + tables), BCR_PLANE_TOL, BCR_SAME_TOL,
                               (int)blocks, there);
  if (!error) error = BCRCudaGet(found, there, (size_t)blocks * sizeof(*found), stream);
  (void)BCRCudaFree(place);
  PetscCallBCRCuda(error);
  for (PetscInt b = 0; b < blocks; ++b) {
    odd |= found[b].odd;
    if (found[b].worst > found[0].worst || (found[b].worst == found[0].worst && found[b].where < found[0].where))
      found[0] = found[b];
  }
  *good = (PetscBool)(!odd && found[0].worst <= BCR_SAME_TOL);
  if (*good) BCRSampleFound(ck, &found[0]);
  else if (!odd) { /* lines through the worst row, for BCRCheckSample() */
    const PetscInt node = (PetscInt)(found[0].where / 8) / A->dof,
                   at[3] = {node % A->N[0], node / A->N[0] % A->N[1], node / A->stride[2]};

    PetscCall(BCRSampleTakeLines(A, at));
  }
  PetscCall(PetscFree2(put, found));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const PetscScalar *BCRSampleRow(const BCRRows *A, PetscInt row)
{
  const BCRSample *S = &A->sample;
  const PetscInt node = row / A->dof, ix[3] = {node % A->n[0], node / A->n[0] % A->n[1], node / A->n[0] / A->n[1]};

  for (PetscInt b = S->n - 1; b >= 0; --b) { /* faces first: they are many rows */
    const PetscInt *n = S->count[b], i = ix[0] - S->first[b][0], j = ix[1] - S->first[b][1], k = ix[2] - S->first[b][2];

    if (i >= 0 && i < n[0] && j >= 0 && j < n[1] && k >= 0 && k < n[2])
      return S->values[b] + (A->dof * (i + n[0] * (j + n[1] * k)) + row % A->dof) * S->width[b];
  }
  return NULL;
}

#else

PetscErrorCode BCRRowsDevice(Mat mat, const BCRGrid *grid, PetscBool bring, PetscBool *there, PetscBool *only)
{
  (void)mat, (void)grid, (void)bring;
  *there = *only = PETSC_FALSE;
  return PETSC_SUCCESS;
}

PetscBool BCRRowsFull(const BCRRows *A)
{
  (void)A;
  return PETSC_FALSE;
}

PetscErrorCode BCRSampleTake(BCRRows *A)
{
  (void)A;
  return PETSC_SUCCESS;
}

PetscErrorCode BCRSampleTakeFaces(const BCRRows *A, const BCROperator *op)
{
  (void)A, (void)op;
  return PETSC_SUCCESS;
}

PetscErrorCode BCRSampleTakeLines(const BCRRows *A, const PetscInt at[3])
{
  (void)A, (void)at;
  return PETSC_SUCCESS;
}

const PetscScalar *BCRSampleRow(const BCRRows *A, PetscInt row)
{
  (void)A, (void)row;
  return NULL;
}

PetscErrorCode BCRFacesSearch(const BCRRows *A, PetscInt c, const BCROperator *op, PetscBool *done, int wrong[6])
{
  (void)A, (void)c, (void)op, (void)wrong;
  *done = PETSC_FALSE;
  return PETSC_SUCCESS;
}

PetscErrorCode BCRSampleCompare(BCRCheck *ck, PetscBool *good)
{
  (void)ck;
  *good = PETSC_FALSE;
  return PETSC_SUCCESS;
}
#endif
