/*
  Rows of box or wide stencils, most of whose entries are explicit zeros, and which are of another pattern at more than one
  node from either end of a grid line.
*/
#pragma once

#include <petscsys.h>

/* The first place from p on, of n, that is not zero; a NaN is not */
static inline PetscInt BCRSkipZeros(const PetscScalar *v, PetscInt p, PetscInt n)
{
  for (; p + 8 <= n; p += 8) {
    int any = 0;

    for (PetscInt k = 0; k < 8; k++) any |= v[p + k] != (PetscScalar)0;
    if (any) break;
  }
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
