/*
  Rows of box or wide stencils, most of whose entries are explicit zeros, and which are of another pattern at more than
  one node from either end of a grid line.
*/
#pragma once

#include "run_kernels.h"
#include <stdint.h>
#include <string.h>

/* The first place from p on, of n, that is not zero; a NaN is not. What is no zero has bits besides that of the sign */
static inline PetscInt BCRSkipZeros(const PetscScalar *v, PetscInt p, PetscInt n)
{
#if defined(__GNUC__) && (defined(PETSC_USE_REAL_DOUBLE) || defined(PETSC_USE_REAL_SINGLE))
  #if defined(PETSC_USE_REAL_DOUBLE)
  typedef uint64_t Bits;
  #else
  typedef uint32_t Bits;
  #endif
  typedef Bits Vector __attribute__((vector_size(16), aligned(sizeof(Bits)), may_alias));

  for (; p + 8 <= n; p += 8) {
    const Vector *w = (const Vector *)(v + p);
    Vector any = {0};
    Bits bits = 0;

    for (size_t k = 0; k < 8 * sizeof(PetscScalar) / sizeof(Vector); k++) any |= w[k];
    for (size_t k = 0; k < sizeof(Vector) / sizeof(Bits); k++) bits |= any[k];
    if ((Bits)(bits << 1)) break;
  }
#endif
  while (p < n && v[p] == (PetscScalar)0) p++;
  return p;
}

/* The dof rows of a node have the entries of those of node like, a constant further on */
static inline PetscBool BCRPatternLike(const PetscInt *ai, const PetscInt *aj, PetscInt dof, PetscInt node,
                                       PetscInt like)
{
  const PetscInt *i = ai + dof * node, *l = ai + dof * like, by = dof * (node - like);
  PetscInt bad = 0;

  for (PetscInt c = 1; c <= dof; c++) bad |= (i[c] - i[0]) ^ (l[c] - l[0]);
  for (PetscInt p = 0; p < i[dof] - i[0] && !bad; p++) bad |= (aj[i[0] + p] - aj[l[0] + p]) ^ by;
  return bad ? PETSC_FALSE : PETSC_TRUE;
}

/* How many of the n nodes from first on, a grid line, have rows of another pattern than those inside, at either end: a
   stencil's width. 1 where these are not just a few, 0 < n */
static inline PetscInt BCRPatternMargin(const PetscInt *ai, const PetscInt *aj, PetscInt dof, PetscInt first,
                                        PetscInt n)
{
  const PetscInt middle = first + n / 2;
  PetscInt margin = 1;

  while (margin < n / 4 && !(BCRPatternLike(ai, aj, dof, first + margin, middle) &&
                             BCRPatternLike(ai, aj, dof, first + n - 1 - margin, middle)))
    margin++;
  return margin < n / 4 ? margin : 1;
}

#if !defined(PETSC_USE_COMPLEX)
/* The n >= BCR_RUN_PAD values from v on have zeros at the places none, and there again every width values. PETSC_FALSE
   also where that cannot be told */
static inline PetscBool BCRNothingAt(const PetscReal *v, size_t n, PetscInt width, PetscInt nnone,
                                     const PetscInt none[])
{
  PetscReal ref[BCR_RUN_MAX + 2 * BCR_RUN_PAD], tol[BCR_RUN_MAX + 2 * BCR_RUN_PAD];
  PetscInt len = width, end; /* len: until they repeat */

  if (!nnone) return PETSC_TRUE;
  if (width > BCR_RUN_MAX || n < BCR_RUN_PAD) return PETSC_FALSE;
  while (len < BCR_RUN_PAD) len += width;
  end = len + BCR_RUN_PAD;
  for (PetscInt e = 0; e < end; e++) {
    ref[e] = 0;
    tol[e] = PETSC_MAX_REAL;
  }
  for (PetscInt k = 0; k < nnone; k++)
    for (PetscInt e = none[k]; e < end; e += width) tol[e] = 0;
  return BCRRunSame(v, n, ref, tol, (size_t)len);
}
#endif
