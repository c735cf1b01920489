/* Bands: rows and transposes */
#include "stencil.h"

PetscErrorCode BCRBandGetRow(const BCRBand *band, PetscInt row, BCRBandRow *r)
{
  PetscFunctionBegin;
  if (!band->periodic && row < band->nfirst) *r = band->first[row];
  else if (!band->periodic && row >= band->n - band->nlast) *r = band->last[row - (band->n - band->nlast)];
  else {
    *r = band->inner;
    r->start += row;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Row `row` of the transpose of a band that is not periodic */
static PetscErrorCode band_column(const BCRBand *band, PetscInt row, BCRBandRow *r)
{
  PetscInt top = -1;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(r, sizeof(*r)));
  for (PetscInt part = 0; part < 3; ++part) { /* in the order of the rows; a row may come twice */
    const PetscInt from = part == 0 ? 0 : (part == 1 ? PetscMax(row - band->half, 0) : band->n - band->nlast);
    const PetscInt to = part == 0 ? band->nfirst : (part == 1 ? PetscMin(row + band->half + 1, band->n) : band->n);

    for (PetscInt i = PetscMax(from, top + 1); i < to; ++i) {
      BCRBandRow q;

      top = i;
      PetscCall(BCRBandGetRow(band, i, &q));
      if (row < q.start || row >= q.start + q.points || q.c[row - q.start] == 0) continue;
      if (!r->points) r->start = i;
      PetscCheck(i - r->start < BCR_BAND_WIDTH, PETSC_COMM_SELF, PETSC_ERR_PLIB,
                 "Row %" PetscInt_FMT " of a transposed band has more than %d points", row, BCR_BAND_WIDTH);
      r->points = i - r->start + 1;
      r->c[i - r->start] = q.c[row - q.start];
    }
  }
  if (!r->points) { /* an empty row */
    r->start = row;
    r->points = 1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRBandTranspose(const BCRBand *band, BCRBand *transpose)
{
  PetscInt first = band->nfirst + band->half, last = band->nlast + band->half;

  PetscFunctionBegin;
  *transpose = *band;
  transpose->first = transpose->last = NULL;
  for (PetscInt k = 0; k < band->inner.points; ++k) transpose->inner.c[k] = band->inner.c[band->inner.points - 1 - k];
  if (band->periodic) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt r = 0; r < band->nfirst; ++r) first = PetscMax(first, band->first[r].start + band->first[r].points);
  for (PetscInt r = 0; r < band->nlast; ++r) last = PetscMax(last, band->n - band->last[r].start);
  if (first + last > band->n) {
    first = band->n;
    last = 0;
  }
  transpose->nfirst = first;
  transpose->nlast = last;
  PetscCall(PetscMalloc2(first, &transpose->first, last, &transpose->last));
  for (PetscInt r = 0; r < first; ++r) PetscCall(band_column(band, r, &transpose->first[r]));
  for (PetscInt r = 0; r < last; ++r) PetscCall(band_column(band, band->n - last + r, &transpose->last[r]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRBandDestroy(BCRBand *band)
{
  PetscFunctionBegin;
  PetscCall(PetscFree2(band->first, band->last));
  PetscFunctionReturn(PETSC_SUCCESS);
}
