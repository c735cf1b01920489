/*
  Which rows a rank works on. Those of its slab, but for one case: a plane of boundary rows at an
  end of the slabs' axis is eliminated together with the box rows next to it (planes.c), so a rank
  that has no more than such a plane hands it to the rank that has the next row, and gets the
  solution back. All other couplings of planes stay within a rank.
*/
#include "solverimpl.h"
#include "../base/agree.h"

/* all: first row and number of rows of each rank, of which some change */
static PetscErrorCode BCRSlabsShare(const BCRSlab *slab, PetscInt dof, const BCROperator ops[], PetscMPIInt rank,
                                    PetscMPIInt size, PetscInt all[], BCRSlabs *s)
{
  PetscInt sum = 0;

  PetscFunctionBegin;
  for (PetscMPIInt q = 0; q < size; q++) {
    PetscCheck(all[2 * q + 1] >= 0 && (all[2 * q + 1] == 0 || all[2 * q] == sum), PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
               "Rank %d has rows %" PetscInt_FMT " to %" PetscInt_FMT
               " along %c, but those of the ranks before end with row %" PetscInt_FMT,
               q, all[2 * q], all[2 * q] + all[2 * q + 1] - 1, 'x' + (int)s->axis, sum - 1);
    sum += all[2 * q + 1];
  }
  PetscCheck(sum == s->total, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ,
             "The ranks have %" PetscInt_FMT " rows along %c, there are %" PetscInt_FMT, sum, 'x' + (int)s->axis,
             s->total);
  s->glen = slab->len;
  for (int side = 0; side < 2; side++) {
    PetscMPIInt q = side ? size - 1 : 0, to;
    const int step = side ? -1 : 1;
    PetscBool plane = PETSC_FALSE;

    for (PetscInt m = 0; m < dof; m++) plane = (PetscBool)(plane || ops[m].axis[s->axis].plane[side].present);
    while (all[2 * q + 1] == 0) q += step;
    if (!plane || all[2 * q + 1] != 1 || s->total == 1) continue;
    for (to = q + step; all[2 * to + 1] == 0;) to += step;
    all[2 * q + 1] = 0;
    all[2 * to + 1]++;
    all[2 * to] -= side ? 0 : 1;
    s->moves = PETSC_TRUE;
    if (rank == q) s->to = to;
    if (rank == to) s->from[side] = q;
  }
  s->start = all[2 * rank];
  s->len = all[2 * rank + 1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSlabsCreate(const BCRSlab *slab, PetscInt dof, const BCROperator ops[], BCRSlabs *s)
{
  PetscMPIInt rank = 0, size = 1, row;
  PetscInt *all, here[2], N[3];
  size_t nodes;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  s->comm = MPI_COMM_NULL;
  s->to = s->from[0] = s->from[1] = -1;
  if (!slab) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(slab->axis >= 0 && slab->axis < ops[0].dim, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "Slabs along axis %" PetscInt_FMT " of an operator with %" PetscInt_FMT, slab->axis, ops[0].dim);
  PetscCall(PetscCommDuplicate(slab->comm, &s->comm, &s->tag));
  PetscCallMPI(MPI_Comm_rank(s->comm, &rank));
  PetscCallMPI(MPI_Comm_size(s->comm, &size));
  s->axis = slab->axis;
  s->inner = dof;
  s->outer = 1;
  for (int d = 0; d < 3; d++) {
    const BCRAxis *x = &ops[0].axis[d];

    N[d] = d < ops[0].dim ? x->n + (x->plane[0].present ? 1 : 0) + (x->plane[1].present ? 1 : 0) : 1;
    if (d < s->axis) s->inner *= N[d];
    if (d > s->axis) s->outer *= N[d];
  }
  s->total = N[s->axis];
  here[0] = slab->start;
  here[1] = slab->len;
  PetscCall(BCRFaultShare(s->comm, PetscMalloc1(2 * (size_t)size, &all), BCR_NO_MEMORY));
  PetscCallMPI(MPI_Allgather(here, 2, MPIU_INT, all, 2, MPIU_INT, s->comm));
  ierr = BCRSlabsShare(slab, dof, ops, rank, size, all, s);
  PetscCall(PetscFree(all));
  PetscCall(ierr);
  nodes = (size_t)s->inner * (size_t)s->outer;
  ierr = PetscMPIIntCast((PetscInt64)nodes, &row); /* a row that changes its rank is one message */
  if (!ierr && s->len > s->glen)
    ierr = PetscMalloc3(nodes * (size_t)s->len, &s->f, nodes * (size_t)s->len, &s->u, nodes, &s->row);
  PetscCall(BCRFaultShare(s->comm, ierr, BCR_NO_MEMORY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One field for each node of a box with rows rows along the slabs' axis: a rank gets the row of
   another, at side. Missing values are fill */
static PetscErrorCode BCRSlabsMoveField(BCRSlabs *s, int side, PetscInt inner, PetscInt rows, PetscInt outer,
                                        PetscReal fill, PetscReal **v)
{
  PetscFunctionBegin;
  if (s->to >= 0) {
    PetscCallMPI(MPI_Send(*v, *v ? (PetscMPIInt)(inner * outer) : 0, MPIU_REAL, s->to, s->tag, s->comm));
    PetscCall(PetscFree(*v));
  } else {
    PetscReal *row = (PetscReal *)s->row, *w; /* of scalars of all components: room enough */
    MPI_Status status;
    PetscMPIInt count;

    PetscCallMPI(MPI_Recv(row, (PetscMPIInt)(inner * outer), MPIU_REAL, s->from[side], s->tag, s->comm, &status));
    PetscCallMPI(MPI_Get_count(&status, MPIU_REAL, &count));
    if (*v || count) {
      PetscCall(PetscMalloc1(inner * outer * (rows + 1), &w));
      for (PetscInt o = 0; o < outer; o++) {
        for (PetscInt j = 0; j <= rows; j++) {
          const PetscInt mine = side ? j : j - 1;

          for (PetscInt i = 0; i < inner; i++)
            w[i + inner * (j + (rows + 1) * o)] = mine >= 0 && mine < rows
                                                    ? (*v ? (*v)[i + inner * (mine + rows * o)] : fill)
                                                    : (count ? row[i + inner * o] : fill);
        }
      }
      PetscCall(PetscFree(*v));
      *v = w;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRSlabsCopyField(PetscInt n, const PetscReal *v, PetscReal **w)
{
  PetscFunctionBegin;
  if (v) {
    PetscCall(PetscMalloc1(n, w));
    PetscCall(PetscArraycpy(*w, v, n));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSlabsMoveOperators(BCRSlabs *s, PetscInt dof, const BCROperator ops[], BCROperator **moved)
{
  PetscInt start = s->start, rows = s->len; /* of the slab as it grows */
  PetscErrorCode ierr, step;

  PetscFunctionBegin;
  *moved = NULL;
  if (!s->moves) PetscFunctionReturn(PETSC_SUCCESS);
  if (s->from[0] >= 0) {
    start++;
    rows--;
  }
  if (s->from[1] >= 0) rows--;
  if (s->to >= 0) rows = 1;
  PetscCall(BCRFaultShare(s->comm, ierr = PetscMalloc1(dof, moved), BCR_NO_MEMORY));
  PetscCall(PetscArraycpy(*moved, ops, dof));
  for (PetscInt m = 0; m < dof; m++) { /* it has no arrays yet */
    (*moved)[m].rowscale = (*moved)[m].apart = NULL;
    for (int d = 0; d < 6; d++)
      (*moved)[m].axis[d / 2].plane[d % 2].inv = (*moved)[m].axis[d / 2].plane[d % 2].couplings = NULL;
  }
  for (int side = -1; side < 2; side++) { /* -1: copies */
    /* from here on every row that is sent is received, whatever fails */
    if (side == 0) PetscCall(BCRFaultShare(s->comm, ierr, BCR_NO_MEMORY));
    if (side >= 0 && s->from[side] < 0 && !(s->to >= 0 && side == 0)) continue; /* a rank hands over once */
    for (PetscInt m = 0; m < dof; m++) {
      const BCROperator *from = &ops[m];
      BCROperator *op = &(*moved)[m];
      PetscInt N[3], n[3];
      const int low = op->axis[s->axis].plane[0].present ? 1 : 0;

      for (int d = 0; d < 3; d++) {
        const BCRAxis *x = &op->axis[d];

        n[d] = d < op->dim ? x->n : 1;
        N[d] = d < op->dim ? n[d] + (x->plane[0].present ? 1 : 0) + (x->plane[1].present ? 1 : 0) : 1;
      }
      if (from->rowscale) {
        /* box rows among mine */
        const PetscInt first = PetscMax(start, low), last = PetscMin(start + rows, low + n[s->axis]);
        PetscInt inner = 1, outer = 1;
        PetscBool box; /* the row that moves is one for this component */

        for (int d = 0; d < 3; d++) {
          if (d < s->axis) inner *= n[d];
          if (d > s->axis) outer *= n[d];
        }
        if (s->to >= 0) box = PetscMax(0, last - first) ? PETSC_TRUE : PETSC_FALSE;
        else
          box = side == 0 ? (low ? PETSC_FALSE : PETSC_TRUE)
                          : (op->axis[s->axis].plane[1].present ? PETSC_FALSE : PETSC_TRUE);
        step = PETSC_SUCCESS;
        if (side < 0) {
          step = BCRSlabsCopyField(inner * outer * PetscMax(0, last - first), from->rowscale, &op->rowscale);
          if (!ierr) ierr = step;
          step = BCRSlabsCopyField(inner * outer * PetscMax(0, last - first), from->apart, &op->apart);
        } else if (box) {
          step = BCRSlabsMoveField(s, side, inner, PetscMax(0, last - first), outer, 1, &op->rowscale);
          if (!ierr) ierr = step;
          if (from->apart) step = BCRSlabsMoveField(s, side, inner, PetscMax(0, last - first), outer, 0, &op->apart);
        }
        if (!ierr) ierr = step;
      }
      for (int d = 0; d < op->dim; d++) {
        for (int e = 0; e < 2; e++) {
          BCRPlane *plane = &op->axis[d].plane[e];
          PetscInt inner = 1, outer = 1;
          const PetscInt mine = d == s->axis ? ((e ? start + rows == s->total : start == 0) && rows > 0 ? 1 : 0) : rows;

          if (!plane->present) continue;
          for (int x = 0; x < 3; x++) {
            if (x == d) continue;
            if (x < s->axis) inner *= N[x];
            if (x > s->axis) outer *= N[x];
          }
          if (side < 0 && mine) {
            if (!ierr) ierr = BCRSlabsCopyField(inner * outer * mine, from->axis[d].plane[e].inv, &plane->inv);
            if (!ierr)
              ierr = BCRSlabsCopyField(inner * outer * mine, from->axis[d].plane[e].couplings, &plane->couplings);
          } else if (side >= 0 && (d != s->axis || (s->to >= 0 ? mine : e == side))) {
            step = BCRSlabsMoveField(s, side, inner, mine, outer, plane->inv0, &plane->inv);
            if (!ierr) ierr = step;
            step = BCRSlabsMoveField(s, side, inner, mine, outer, plane->coupling, &plane->couplings);
            if (!ierr) ierr = step;
          }
        }
      }
    }
    if (side >= 0 && s->to < 0) {
      rows++;
      if (side == 0) start--;
    }
  }
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSlabsFreeOperators(BCRSlabs *s, PetscInt dof, BCROperator **moved)
{
  (void)s;
  PetscFunctionBegin;
  if (!*moved) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt m = 0; m < dof; m++) {
    BCROperator *op = &(*moved)[m];

    PetscCall(PetscFree(op->rowscale));
    PetscCall(PetscFree(op->apart));
    for (int d = 0; d < op->dim; d++) {
      for (int e = 0; e < 2; e++) {
        if (!op->axis[d].plane[e].present) continue;
        PetscCall(PetscFree(op->axis[d].plane[e].inv));
        PetscCall(PetscFree(op->axis[d].plane[e].couplings));
      }
    }
  }
  PetscCall(PetscFree(*moved));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSlabsIn(BCRSlabs *s, const PetscScalar **f, PetscScalar **u)
{
  const PetscInt inner = s->inner, outer = s->outer, at = s->from[0] >= 0 ? 1 : 0;

  PetscFunctionBegin;
  if (s->to >= 0) PetscCallMPI(MPI_Send((void *)*f, (PetscMPIInt)(inner * outer), MPIU_SCALAR, s->to, s->tag, s->comm));
  if (s->from[0] < 0 && s->from[1] < 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt o = 0; o < outer; o++)
    PetscCall(PetscArraycpy(s->f + inner * (at + s->len * o), *f + inner * s->glen * o, inner * s->glen));
  for (int side = 0; side < 2; side++) {
    if (s->from[side] < 0) continue;
    PetscCallMPI(
      MPI_Recv(s->row, (PetscMPIInt)(inner * outer), MPIU_SCALAR, s->from[side], s->tag, s->comm, MPI_STATUS_IGNORE));
    for (PetscInt o = 0; o < outer; o++)
      PetscCall(PetscArraycpy(s->f + inner * ((side ? s->len - 1 : 0) + s->len * o), s->row + inner * o, inner));
  }
  *f = s->f;
  *u = s->u;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSlabsOut(BCRSlabs *s, PetscScalar *u)
{
  const PetscInt inner = s->inner, outer = s->outer, at = s->from[0] >= 0 ? 1 : 0;

  PetscFunctionBegin;
  if (s->to >= 0)
    PetscCallMPI(MPI_Recv(u, (PetscMPIInt)(inner * outer), MPIU_SCALAR, s->to, s->tag, s->comm, MPI_STATUS_IGNORE));
  if (s->from[0] < 0 && s->from[1] < 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt o = 0; o < outer; o++)
    PetscCall(PetscArraycpy(u + inner * s->glen * o, s->u + inner * (at + s->len * o), inner * s->glen));
  for (int side = 0; side < 2; side++) {
    if (s->from[side] < 0) continue;
    for (PetscInt o = 0; o < outer; o++)
      PetscCall(PetscArraycpy(s->row + inner * o, s->u + inner * ((side ? s->len - 1 : 0) + s->len * o), inner));
    PetscCallMPI(MPI_Send(s->row, (PetscMPIInt)(inner * outer), MPIU_SCALAR, s->from[side], s->tag, s->comm));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSlabsDestroy(BCRSlabs *s)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(s->f, s->u, s->row));
  if (s->comm != MPI_COMM_NULL) PetscCall(PetscCommDestroy(&s->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}
