#include "grid.h"

PetscErrorCode BCRGridCreateBoxes(MPI_Comm comm, PetscObjectId id, PetscInt dim, PetscInt dof, const PetscInt N[],
                                  const PetscBool periodic[], const PetscInt parts[], const PetscInt *const widths[],
                                  BCRGrid *g)
{
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(g, sizeof(*g)));
  g->comm = comm;
  PetscCallMPI(MPI_Comm_size(comm, &g->size));
  PetscCallMPI(MPI_Comm_rank(comm, &g->rank));
  g->id = id;
  g->dim = dim;
  g->dof = dof;
  for (PetscInt d = 0; d < 3; d++) {
    g->N[d] = d < dim ? N[d] : 1;
    g->periodic[d] = d < dim ? periodic[d] : PETSC_FALSE;
    g->parts[d] = d < dim ? parts[d] : 1;
    if (!ierr) ierr = PetscMalloc1(g->parts[d] + 1, &g->first[d]);
  }
  BCRCallElse(BCRFaultShare(comm, ierr, BCR_NO_MEMORY), (void)BCRGridDestroy(g));
  for (PetscInt d = 0, rest = g->rank; d < 3; d++) {
    const PetscInt p = rest % g->parts[d];

    g->first[d][0] = 0;
    for (PetscInt q = 0; q < g->parts[d]; q++)
      g->first[d][q + 1] = g->first[d][q] + (g->parts[d] > 1 ? widths[d][q] : g->N[d]);
    rest /= g->parts[d];
    g->lo[d] = g->first[d][p];
    g->n[d] = g->first[d][p + 1] - g->lo[d];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRGridCreate(DM da, MPI_Comm comm, BCRGrid *g)
{
  const PetscInt *widths[3] = {NULL, NULL, NULL};
  PetscInt dim, dof, N[3], parts[3];
  PetscBool isda, periodic[3];
  PetscObjectId id;
  DMBoundaryType bt[3];
  PetscMPIInt same, size;
  BCRFault fault = {PETSC_SUCCESS, ""};

  PetscFunctionBegin;
  PetscCall(PetscMemzero(g, sizeof(*g)));
  PetscCall(PetscObjectTypeCompare((PetscObject)da, DMDA, &isda));
  PetscCheck(isda, comm, PETSC_ERR_ARG_WRONG, "The DM is not a DMDA: this solver works on structured grids only");
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_compare(comm, PetscObjectComm((PetscObject)da), &same));
  if (same == MPI_UNEQUAL || same == MPI_SIMILAR)
    PetscCall(BCRFaultSet(&fault, PETSC_ERR_ARG_NOTSAMECOMM,
                          "The DMDA and the matrix live on different ranks, or on ranks in another order: create both "
                          "on one communicator"));
  PetscCall(BCRFaultAgree(comm, &fault));
  PetscCall(DMDAGetInfo(da, &dim, &N[0], &N[1], &N[2], &parts[0], &parts[1], &parts[2], &dof, NULL, &bt[0], &bt[1],
                        &bt[2], NULL));
  for (PetscInt d = 0; d < dim; d++) {
    PetscCheck(
      bt[d] != DM_BOUNDARY_TWIST, comm, PETSC_ERR_SUP,
      "The DMDA has twisted periodic ends (DM_BOUNDARY_TWIST): use DM_BOUNDARY_NONE, GHOSTED, MIRROR or PERIODIC");
    periodic[d] = (PetscBool)(bt[d] == DM_BOUNDARY_PERIODIC);
  }
  PetscCall(DMDAGetOwnershipRanges(da, &widths[0], &widths[1], &widths[2]));
  if (size == 1) { /* a subdomain of PCASM has the sizes of the whole grid in DMDAGetInfo() */
    PetscCall(DMDAGetCorners(da, NULL, NULL, NULL, &N[0], &N[1], &N[2]));
    parts[0] = parts[1] = parts[2] = 1;
  }
  PetscCall(PetscObjectGetId((PetscObject)da, &id));
  PetscCall(BCRGridCreateBoxes(comm, id, dim, dof, N, periodic, parts, widths, g));
  g->isda = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRGridDestroy(BCRGrid *g)
{
  PetscInt d;

  PetscFunctionBegin;
  for (d = 0; d < 3; d++) PetscCall(PetscFree(g->first[d]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the part of axis d that has node i */
static PetscInt BCRGridPart(const BCRGrid *g, PetscInt d, PetscInt i)
{
  PetscInt low = 0, high = g->parts[d]; /* first[low] <= i < first[high] */

  while (high - low > 1) {
    const PetscInt middle = (low + high) / 2;

    if (g->first[d][middle] <= i) low = middle;
    else high = middle;
  }
  return low;
}

PetscInt BCRGridNumber(const BCRGrid *g, const PetscInt node[3])
{
  PetscInt d, lo[3], n[3];

  for (d = 0; d < 3; d++) {
    const PetscInt p = BCRGridPart(g, d, node[d]);

    lo[d] = g->first[d][p];
    n[d] = g->first[d][p + 1] - lo[d];
  }
  /* whole planes below the box, whole rows below it in its planes, boxes on its left, then the box */
  return g->N[0] * g->N[1] * lo[2] + g->N[0] * lo[1] * n[2] + lo[0] * n[1] * n[2] + node[0] - lo[0] +
         n[0] * (node[1] - lo[1] + n[1] * (node[2] - lo[2]));
}

void BCRGridNode(const BCRGrid *g, PetscInt number, PetscInt node[3])
{
  PetscInt p, lo[3], n[3];

  p = BCRGridPart(g, 2, number / (g->N[0] * g->N[1]));
  lo[2] = g->first[2][p];
  n[2] = g->first[2][p + 1] - lo[2];
  number -= g->N[0] * g->N[1] * lo[2];
  p = BCRGridPart(g, 1, number / (g->N[0] * n[2]));
  lo[1] = g->first[1][p];
  n[1] = g->first[1][p + 1] - lo[1];
  number -= g->N[0] * n[2] * lo[1];
  p = BCRGridPart(g, 0, number / (n[1] * n[2]));
  lo[0] = g->first[0][p];
  n[0] = g->first[0][p + 1] - lo[0];
  number -= n[1] * n[2] * lo[0];
  node[0] = lo[0] + number % n[0];
  node[1] = lo[1] + number / n[0] % n[1];
  node[2] = lo[2] + number / n[0] / n[1];
}

PetscMPIInt BCRGridRank(const BCRGrid *g, const PetscInt node[3])
{
  return (PetscMPIInt)(BCRGridPart(g, 0, node[0]) +
                       g->parts[0] * (BCRGridPart(g, 1, node[1]) + g->parts[1] * BCRGridPart(g, 2, node[2])));
}

PetscErrorCode BCRGridCheckMatrix(const BCRGrid *g, Mat P)
{
  PetscInt d, m, n, rows, want, range[2], columns[2];
  BCRFault fault = {PETSC_SUCCESS, ""};

  PetscFunctionBegin;
  for (d = 0, n = 1; d < 3; d++) n *= g->N[d];
  PetscCall(MatGetSize(P, &rows, &m));
  PetscCheck(rows == g->dof * n && m == rows, g->comm, PETSC_ERR_ARG_SIZ,
             "The preconditioning matrix is %" PetscInt_FMT " x %" PetscInt_FMT ", the %s has %" PetscInt_FMT
             " unknowns: it must be a matrix on the whole grid",
             rows, m, g->isda ? "DMDA" : "grid", g->dof * n);
  want = g->dof * (g->N[0] * g->N[1] * g->lo[2] + g->N[0] * g->lo[1] * g->n[2] + g->lo[0] * g->n[1] * g->n[2]);
  rows = g->dof * g->n[0] * g->n[1] * g->n[2];
  PetscCall(MatGetOwnershipRange(P, &range[0], &range[1]));
  PetscCall(MatGetOwnershipRangeColumn(P, &columns[0], &columns[1]));
  if (range[0] != want || range[1] != want + rows)
    PetscCall(BCRFaultSet(&fault, PETSC_ERR_ARG_INCOMP,
                          "The preconditioning matrix has rows %" PetscInt_FMT " to %" PetscInt_FMT
                          " here (end excluded), the %s %" PetscInt_FMT " to %" PetscInt_FMT
                          ": they are laid out differently over the ranks. %s",
                          range[0], range[1], g->isda ? "DMDA" : "grid", want, want + rows,
                          g->isda
                            ? "Create the matrix with DMCreateMatrix() of this DMDA, or a DMDA with the matrix' "
                              "layout (lx, ly, lz of DMDACreate3d())"
                            : "Give each rank the rows of its box, or another number of processors along the axes"));
  else if (columns[0] != want || columns[1] != want + rows)
    PetscCall(BCRFaultSet(&fault, PETSC_ERR_ARG_INCOMP,
                          "The preconditioning matrix has columns %" PetscInt_FMT " to %" PetscInt_FMT
                          " here (end excluded), but rows %" PetscInt_FMT " to %" PetscInt_FMT
                          ": give rows and columns one layout",
                          columns[0], columns[1], want, want + rows));
  PetscCall(BCRFaultAgree(g->comm, &fault));
  PetscFunctionReturn(PETSC_SUCCESS);
}
