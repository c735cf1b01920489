/*
  Rows apart of a fit: rows with nothing but a diagonal, of any size; penalties, and other rows of another size.
*/
#include "fithost.h"

/* Whether there may be rows apart */
PetscBool BCRFitMayBeApart(const BCRFitData *F, const BCRFitResult *r)
{
  const double size = 2 * (r->a[0] + r->a[1] + r->a[2]);

  for (PetscInt d = 0; d < F->dim; d++) /* links that both rows lack */
    if (r->mean[d] > 0 && r->link[d].lo <= 0) return PETSC_TRUE;
  if (r->total.count == 0 || (r->total.count >= (double)F->n[0] * (double)F->n[1] * (double)F->n[2] &&
                              r->total.lo > 0 && r->total.hi <= BCR_FIT_APART * r->total.lo))
    return PETSC_FALSE;
  return (PetscBool)(r->total.lo < size / BCR_FIT_APART || r->total.hi > BCR_FIT_APART * size);
}

/* The couplings of a row are an eighth of its diagonal or less; 2: it has none */
static int BCRFitDecoupled(const BCRFitData *F, const PetscInt ix[3], double D)
{
  double st[7], rest, own = 0;
  PetscInt col;

  if (BCRRowGet(F->A, F->c, ix, st, &rest, &col) != BCR_ROW_GOOD) return 0;
  for (int k = 0; k < 6; k++) own += PetscAbs(st[k]);
  return own <= BCR_PLANE_TOL * PetscAbs(D) ? 2 : own <= 1 / BCR_FIT_APART * PetscAbs(D);
}

/* The diagonal that most rows have, D / w less that of T: the median of some rows of all ranks, of
   those that are coupled if there are any */
static PetscErrorCode BCRFitTypical(BCRFitData *F, const double a[3], double *left)
{
  enum {
    MOST = 255
  };
  const PetscInt own = F->own[0] * F->own[1] * F->own[2], take = PetscMin(own, 4 * MOST);
  const PetscMPIInt size = F->A->grid.size;
  PetscReal *all, mine[2][MOST]; /* of coupled rows, of others */
  PetscInt count[2] = {0, 0};

  PetscFunctionBegin;
  for (int k = 0; k < 2 * MOST; k++) mine[k / MOST][k % MOST] = PETSC_MAX_REAL;
  for (PetscInt k = 0; k < take; k++) {
    const PetscInt at = (PetscInt)((PetscInt64)own * k / take + (PetscInt64)own / take / 2);
    const PetscInt o[3] = {F->lo[0] + at % F->own[0], F->lo[1] + at / F->own[0] % F->own[1],
                           F->lo[2] + at / F->own[0] / F->own[1]};
    const PetscInt ix[3] = {o[0] + F->b[0], o[1] + F->b[1], o[2] + F->b[2]};
    const double D = F->D[BCRFitAt(F, o[0], o)];
    const int kind = BCRFitDecoupled(F, ix, D) ? 1 : 0;

    if (count[kind] < MOST)
      mine[kind][count[kind]++] = (PetscReal)(D / BCRFitRowWeight(F, o) - BCRFitModelDiagonal(F, o, a));
  }
  PetscCall(BCRFaultShare(F->A->comm, PetscMalloc1(MOST * (PetscInt)size, &all), BCR_NO_MEMORY));
  *left = 0;
  for (int kind = 0; kind < 2; kind++) {
    PetscInt n = 0;

    PetscCallMPI(MPI_Allgather(mine[kind], MOST, MPIU_REAL, all, MOST, MPIU_REAL, F->A->comm));
    PetscCall(PetscSortReal(MOST * (PetscInt)size, all));
    while (n < MOST * (PetscInt)size && all[n] < PETSC_MAX_REAL) n++;
    if (n) *left = (double)all[n / 2];
    if (n) break;
  }
  PetscCall(PetscFree(all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* D / w over the diagonal that most rows have is outside 1/8 .. 8 in a row apart that has couplings; these are
   an eighth of its diagonal or less, of either sign. *any: there are some, and other rows along
   each axis, too */
PetscErrorCode BCRFitApart(BCRFitData *F, const double a[3], PetscBool *any)
{
  const BCRRows *A = F->A;
  double typical = 0, least = 0;
  PetscInt ix[3], begin[3], end[3], d;
  int found = 0;

  PetscFunctionBegin;
  PetscCall(BCRFitTypical(F, a, &typical));
  for (d = 0; d < 3; d++) least += 2 * a[d];
  least = 0.25 * PetscMax(least + typical, 0);
  PetscCall(BCRFaultShare(A->comm, PetscCalloc1(PetscMax(F->nodes, 1), &F->apart), BCR_NO_MEMORY));
  BCRFitRows(F, begin, end);
  for (ix[2] = begin[2]; ix[2] < end[2]; ix[2]++) {
    for (ix[1] = begin[1]; ix[1] < end[1]; ix[1]++) {
      for (ix[0] = begin[0]; ix[0] < end[0]; ix[0]++) {
        double ratio;
        PetscInt o[3], q[3], at;
        PetscBool plane = PETSC_FALSE;

        for (d = 0; d < 3; d++) {
          o[d] = ix[d] - F->b[d];
          q[d] = o[d] < 0 ? o[d] + F->n[d] : (o[d] >= F->n[d] ? o[d] - F->n[d] : o[d]);
          plane = (PetscBool)(plane || o[d] < F->begin[d] || o[d] >= F->begin[d] + F->size[d]);
        }
        if (plane) continue;
        at = BCRFitAt(F, o[0], o);
        ratio = F->D[at] / BCRFitRowWeight(F, q) / PetscMax(BCRFitModelDiagonal(F, q, a) + typical, least);
        if (BCRFitDecoupled(F, ix, F->D[at]) < (ratio >= 1 / BCR_FIT_APART && ratio <= BCR_FIT_APART ? 2 : 1)) continue;
        F->apart[at] = 1;
        found = 1;
      }
    }
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &found, 1, MPI_INT, MPI_MAX, A->comm));
  *any = (PetscBool)found;
  if (!found) PetscCall(PetscFree(F->apart));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows apart are solved by themselves: they are no part of what the box is given, nor of what it returns */
PetscErrorCode BCRFitSetApart(BCRFitData *F)
{
  const PetscInt *own = F->own;
  PetscInt o[3];

  PetscFunctionBegin;
  if (!F->S) {
    PetscCall(PetscMalloc1(PetscMax(F->nodes, 1), &F->S));
    for (PetscInt i = 0; i < F->nodes; i++) F->S[i] = 1;
  }
  PetscCall(PetscCalloc1(PetscMax(own[0] * own[1] * own[2], 1), &F->op->apart)); /* there on all ranks, or on none */
  for (o[2] = 0; o[2] < own[2]; o[2]++) {
    for (o[1] = 0; o[1] < own[1]; o[1]++) {
      for (o[0] = 0; o[0] < own[0]; o[0]++) {
        const PetscInt q[3] = {F->lo[0] + o[0], F->lo[1] + o[1], F->lo[2] + o[2]}, at = BCRFitAt(F, q[0], q);

        if (!F->apart[at]) continue;
        F->S[at] = PETSC_INFINITY;
        F->op->apart[o[0] + own[0] * (o[1] + own[1] * o[2])] = (PetscReal)(F->sign / F->D[at]);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
