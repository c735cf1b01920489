/*
  Cyclic reduction of a tile of lines in its scratch, for one work type. Included by cr.c with CRReal and CRName().
  Element (j, k) at j*width + k; row i of level r is row (i + 1) 2^r - 1 of the line, so level r + 1
  keeps the rows 1, 3, 5, ... of level r.
*/

/* coefficient q of row i of a level; lane 0 of one set for all lines, else a set for each lane */
static inline const CRReal *CRName(cr_row)(const CRLevel *L, const void *table, PetscInt i, PetscInt lanes)
{
  const PetscInt e = i < L->first ? i : (i >= L->rows - L->last ? L->first + 1 + i - (L->rows - L->last) : L->first);

  return (const CRReal *)table + (size_t)(L->offset + e) * CR_COEFFICIENTS * lanes;
}

CR_INLINE void CRName(cr_tile_body)(const CR *cr, const void *table, const PetscInt s, CRReal *restrict w,
                                    PetscInt width)
{
  const PetscInt lanes = s ? width : 1;
  size_t step = (size_t)width; /* from a row of a level to the next one */

  for (PetscInt r = 0; r + 1 < cr->levels; r++, step *= 2) { /* (2.2)-(2.4) */
    const CRLevel *L = &cr->level[r];

    for (PetscInt i = 1; i < L->rows; i += 2) {
      const CRReal *c = CRName(cr_row)(L, table, i, lanes);
      CRReal *x = w + (((size_t)i + 1) * step - width);

      if (i + 1 < L->rows) {
        for (PetscInt k = 0; k < width; k++)
          x[k] -= c[s * k] * x[k - (ptrdiff_t)step] + c[lanes + s * k] * x[k + (ptrdiff_t)step];
      } else {
        for (PetscInt k = 0; k < width; k++) x[k] -= c[s * k] * x[k - (ptrdiff_t)step];
      }
    }
  }
  for (PetscInt r = cr->levels - 1; r >= 0; r--, step /= 2) { /* (2.5), (2.6); the last level has one row */
    const CRLevel *L = &cr->level[r];

    for (PetscInt i = 0; i < L->rows; i += 2) {
      const CRReal *c = CRName(cr_row)(L, table, i, lanes) + 2 * lanes;
      CRReal *x = w + (((size_t)i + 1) * step - width);

      if (i && i + 1 < L->rows) {
        for (PetscInt k = 0; k < width; k++)
          x[k] =
            c[2 * lanes + s * k] * x[k] - c[s * k] * x[k - (ptrdiff_t)step] - c[lanes + s * k] * x[k + (ptrdiff_t)step];
      } else if (i + 1 < L->rows) {
        for (PetscInt k = 0; k < width; k++)
          x[k] = c[2 * lanes + s * k] * x[k] - c[lanes + s * k] * x[k + (ptrdiff_t)step];
      } else if (i) {
        for (PetscInt k = 0; k < width; k++) x[k] = c[2 * lanes + s * k] * x[k] - c[s * k] * x[k - (ptrdiff_t)step];
      } else {
        for (PetscInt k = 0; k < width; k++) x[k] *= c[2 * lanes + s * k];
      }
    }
  }
}

/* one set for all lanes: the coefficients of a row stay in registers */
static void CRName(cr_tile)(const CR *cr, const void *table, PetscInt perline, CRReal *restrict w, PetscInt width)
{
  if (perline) CRName(cr_tile_body)(cr, table, 1, w, width);
  else CRName(cr_tile_body)(cr, table, 0, w, width);
}

/* Periodic: the open line of n - 1 rows was solved; its last unknown by the border, then its column */
static void CRName(cr_close)(PetscInt n, const CRReal *border, const CRReal *z, PetscInt perline, CRReal *restrict w,
                             PetscInt width)
{
  const PetscInt lanes = perline ? width : 1, s = perline ? 1 : 0;
  CRReal *last = w + (size_t)(n - 1) * width;

  for (PetscInt k = 0; k < width; k++) {
    CRReal x = last[k];

    if (n > 1) x -= border[s * k] * w[k] + border[lanes + s * k] * w[(size_t)(n - 2) * width + k];
    last[k] = border[2 * lanes + s * k] * x;
  }
  for (PetscInt j = 0; j < n - 1; j++)
    for (PetscInt k = 0; k < width; k++) w[(size_t)j * width + k] -= z[(size_t)j * lanes + s * k] * last[k];
}
#undef CRReal
#undef CRName
