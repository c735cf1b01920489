/*
  The eigenvectors of a general axis, stored: transforms by matrix products, of many lines at a time (docs/method.md).

      T = V L V^-1,  V = h^-1/2 Q,  h_(i+1) lower_(i+1) = h_i upper_i     (h^1/2 T h^-1/2 = Q L Q^T is symmetric)

      analysis  X = V^-1 x = Q^T h^1/2 x          synthesis  x = V X

  Of an axis that is the same from either end, vectors are even or odd, even ones first. Products on the host are then two
  of half the size, of sums and of differences of mirrored unknowns; the matrices hold for whole ones, too.
*/
#pragma once

#include "../operator/operator.h"

typedef struct _n_BCREigen *BCREigen;

/* single: products in float. singular: the rows of the axis add up to zero, so that one mode is the constant, its
   eigenvalue 0 and its analysis the mean weighted by h, exactly */
PETSC_INTERN PetscErrorCode BCREigenCreate(const BCRAxis *axis, PetscBool singular, PetscBool single, BCREigen *eigen);
/* The eigenvalues alone, of an axis whose couplings may vanish one way, in increasing order */
PETSC_INTERN PetscErrorCode BCREigenValues(const BCRAxis *axis, double lambda[]);
PETSC_INTERN PetscErrorCode BCREigenDestroy(BCREigen *eigen);
/* vectors are even, then odd */
PETSC_INTERN PetscBool BCREigenFolds(BCREigen eigen);
/* n eigenvalues in increasing order (of the even vectors, then of the odd ones); number of the constant mode, -1: not singular */
PETSC_INTERN PetscErrorCode BCREigenGetModes(BCREigen eigen, double lambda[], PetscInt *constant);
/* of the work type: entry i of mode k of the analysis and of the synthesis at n k + i */
PETSC_INTERN PetscErrorCode BCREigenGetMatrices(BCREigen eigen, const void **to, const void **from);
PETSC_INTERN size_t BCREigenBytes(BCREigen eigen);
/* numbers of the work type that transforms need for scratch, of at most so many lines at a time */
PETSC_INTERN size_t BCREigenWork(BCREigen eigen);
/* C = A B, or that added to C (column by column, leading dimensions ld), with B transposed or A, by the BLAS */
PETSC_INTERN void BCREigenProduct(PetscBool single, const char *ta, const char *tb, ptrdiff_t m, ptrdiff_t n,
                                  ptrdiff_t k, const void *A, ptrdiff_t lda, const void *B, ptrdiff_t ldb,
                                  PetscBool add, void *C, ptrdiff_t ldc);
/* As BCRDttTable (backend/cpu/dtt.h): io 1: f and u are double, products float; u may be f; direction 0: analysis, 1:
   synthesis */
PETSC_INTERN void BCREigenRows(BCREigen eigen, int direction, int io, ptrdiff_t count, const void *f, ptrdiff_t ldf,
                               void *u, ptrdiff_t ldu, void *work);
PETSC_INTERN void BCREigenCols(BCREigen eigen, int direction, int io, ptrdiff_t count, const void *f, ptrdiff_t ldf,
                               void *u, ptrdiff_t ldu, void *work);
