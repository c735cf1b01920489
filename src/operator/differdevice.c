/*
  The survey of a matrix whose values are on a CUDA device (differsurvey.c): a kernel says of each
  row that it is the operator's, or repeats one before it, and the host looks at those that are
  left with what it looks at all rows with elsewhere.
*/
#include "differimpl.h"
#include "readdevice.h"

#if defined(PETSCBCR_HAVE_CUDA)
  #include "../base/device.h"
  #include "../base/stream.h"

  #define BCR_SURVEY_BLOCKS 1024

PetscErrorCode BCRSurveyAsk(BCRSurvey *S, const BCRCudaRows *rows, BCRStream stream, uint32_t **words)
{
  const BCRRows *A = S->A;
  const size_t nwords = 2 * (size_t)BCRSurveyWords(S) * (size_t)A->N[1] * (size_t)A->N[2],
               tables = (size_t)(4 * (A->N[0] + A->N[1] + A->N[2])) * sizeof(double),
               even = tables + sizeof(BCRCudaRowsModel), puts = (even + (size_t)(A->N[0] + A->N[1]) + 7) / 8 * 8;
  const int blocks = (int)PetscMin((size_t)BCR_SURVEY_BLOCKS, (nwords + 15) / 16); /* of 8 warps */
  const size_t founds = (size_t)blocks * sizeof(BCRCudaRowsFound), gets = founds + nwords * sizeof(uint32_t);
  const BCRCheck check = {.A = A, .dof = 1, .ops = S->op, .m = &S->m};
  BCRCudaRowsFound *found;
  char *place, *put, *get;
  int error;

  PetscFunctionBegin;
  *words = NULL;
  for (int d = 0; d < 3; d++)
    if (S->m[d].times) PetscFunctionReturn(PETSC_SUCCESS);
  if (BCRCudaMalloc(puts + gets, &place)) PetscFunctionReturn(PETSC_SUCCESS); /* no room: the host has */
  PetscCall(PetscMalloc2(puts, &put, gets, &get));
  PetscCall(BCRSampleModels(&check, (double *)put, (BCRCudaRowsModel *)(put + tables), place));
  for (PetscInt d = 0; d < 2; d++)
    for (PetscInt i = 0; i < A->N[d]; i++) put[even + (d ? A->N[0] : 0) + i] = BCRSurveyEven(S, d, i) ? 1 : 0;
  error = BCRCudaPut(place, put, puts, stream);
  if (!error)
    error = BCRCudaRowsSurvey(stream, rows, (const BCRCudaRowsModel *)(place + tables), (int)S->c,
                              (const unsigned char *)(place + even), BCR_PLANE_TOL, S->limit / 2, blocks,
                              (unsigned *)(place + puts + founds), (BCRCudaRowsFound *)(place + puts));
  if (!error) error = BCRCudaGet(get, place + puts, gets, stream);
  (void)BCRCudaFree(place);
  PetscCallBCRCuda(error);
  found = (BCRCudaRowsFound *)get;
  for (int b = 1; b < blocks; b++)
    if (found[b].worst > found[0].worst || (found[b].worst == found[0].worst && found[b].where < found[0].where))
      found[0] = found[b];
  if (found[0].worst > 0) {
    PetscInt ix[3];

    BCRBoxNodeAt(A, (PetscInt)(found[0].where / 8), ix);
    BCRSurveyNote(S, ix, found[0].worst, (int)(found[0].where % 8));
  }
  PetscCall(PetscMalloc1(nwords, words));
  PetscCall(PetscArraycpy(*words, (const uint32_t *)(get + founds), nwords));
  PetscCall(PetscFree2(put, get));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSurveyDevice(BCRSurvey *S, uint32_t **words)
{
  BCRCudaRows rows;
  BCRStream stream;

  PetscFunctionBegin;
  *words = NULL;
  if (!S->A->device) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRRowsArrays(S->A, &rows, &stream));
  PetscCall(BCRSurveyAsk(S, &rows, stream, words));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#else
PetscErrorCode BCRSurveyDevice(BCRSurvey *S, uint32_t **words)
{
  (void)S;
  *words = NULL;
  return PETSC_SUCCESS;
}
#endif
