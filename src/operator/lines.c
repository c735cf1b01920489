/*
  Layout of lines on a grid: what is where, which ranks share a line, names of lines, view.
*/
#include "linesimpl.h"
#include <petscviewer.h>

PetscErrorCode BCRErrorAgree(MPI_Comm comm, PetscErrorCode code, const char message[])
{
  BCRFault fault = {PETSC_SUCCESS, ""};

  PetscFunctionBegin;
  if (code) PetscCall(BCRFaultSet(&fault, code, "%s", message));
  PetscCall(BCRFaultAgree(comm, &fault));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRLinesLayout(const BCRGrid *grid, PetscInt axis, BCRLines *out)
{
  const MPI_Comm comm = grid->comm;
  const PetscInt dim = grid->dim, dof = grid->dof;
  BCRLines lines = NULL;
  BCRTriSpec *s;
  PetscInt64 unknowns, many;
  PetscErrorCode ierr;
  BCRFault fault = {PETSC_SUCCESS, ""};

  PetscFunctionBegin;
  *out = NULL;
  PetscCheck(axis >= 0 && axis < 3, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "Axis %" PetscInt_FMT ": it is 0, 1 or 2 for x, y or z", axis);
  PetscCheck(axis < dim, comm, PETSC_ERR_ARG_OUTOFRANGE,
             "There are no lines along %c: the grid has dimension %" PetscInt_FMT ", take %s", (char)('x' + axis), dim,
             dim == 1 ? "x" : "x or y");
  BCRCallElse(BCRFaultShare(comm, PetscNew(&lines), BCR_NO_MEMORY), (void)PetscFree(lines));
  lines->comm = comm;
  lines->id = grid->id;
  lines->dim = dim;
  lines->dof = dof;
  lines->axis = axis;
  for (PetscInt d = 0; d < 3; ++d) {
    lines->N[d] = grid->N[d];
    lines->procs[d] = grid->parts[d];
    lines->start[d] = grid->lo[d];
    lines->size[d] = grid->n[d];
  }
  lines->along = MPI_COMM_NULL;
  s = &lines->spec;
  s->rep = (PetscInt)(sizeof(PetscScalar) / sizeof(PetscReal));
  s->n = lines->size[axis];
  s->inner = s->rep * dof;
  s->outer = 1;
  for (PetscInt d = 0; d < axis; ++d) s->inner *= lines->size[d];
  for (PetscInt d = axis + 1; d < 3; ++d) s->outer *= lines->size[d];
  lines->nlines = s->inner / s->rep * s->outer;
  unknowns = (PetscInt64)lines->nlines * s->n;
  many = PetscMax(unknowns * s->rep, (PetscInt64)lines->nlines * BCR_LINES_NUMBERS);
  if (unknowns * s->rep > PETSC_MAX_INT || (PetscInt64)lines->nlines * BCR_LINES_NUMBERS > PETSC_MPI_INT_MAX)
    PetscCall(
      BCRFaultSet(&fault, PETSC_ERR_ARG_OUTOFRANGE,
                  "%" PetscInt_FMT " lines of %" PetscInt_FMT " rows on a rank are too many: %" PetscInt64_FMT
                  " numbers are more than an index has room for. Use more ranks, or a PETSc with 64-bit indices",
                  lines->nlines, s->n, many));
  ierr = BCRFaultAgree(comm, &fault);
  if (ierr) PetscCall(BCRLinesDestroy(&lines));
  PetscCall(ierr);
  *out = lines;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRLinesConnect(BCRLines lines, BCRLines old)
{
  PetscMPIInt rank, place[3], color = 0;

  PetscFunctionBegin;
  if (old && old->id == lines->id && old->axis == lines->axis && old->along != MPI_COMM_NULL) {
    lines->along = old->along;
    old->along = MPI_COMM_NULL;
    lines->transport = old->transport;
    lines->kind = old->kind;
    old->transport = NULL;
  } else {
    PetscCallMPI(MPI_Comm_rank(lines->comm, &rank));
    place[0] = rank % (PetscMPIInt)lines->procs[0]; /* DMDA numbers its processes x first */
    place[1] = rank / (PetscMPIInt)lines->procs[0] % (PetscMPIInt)lines->procs[1];
    place[2] = rank / (PetscMPIInt)(lines->procs[0] * lines->procs[1]);
    for (PetscInt d = 2; d >= 0; --d) {
      if (d != lines->axis) color = color * (PetscMPIInt)lines->procs[d] + place[d];
    }
    PetscCallMPI(MPI_Comm_split(lines->comm, color, place[lines->axis], &lines->along));
  }
  PetscCallMPI(MPI_Comm_size(lines->along, &lines->ranks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRLinesCreate(const BCRGrid *grid, PetscInt axis, BCRLines *lines)
{
  PetscFunctionBegin;
  PetscCall(BCRLinesLayout(grid, axis, lines));
  PetscCall(BCRLinesConnect(*lines, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRLinesDestroy(BCRLines *lines)
{
  PetscFunctionBegin;
  if (!*lines) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRLinesFreeSpec(*lines));
  PetscCall(PetscFree((*lines)->runs));
  PetscCall(BCRLinesTransportDestroy(*lines));
  if ((*lines)->along != MPI_COMM_NULL) PetscCallMPI(MPI_Comm_free(&(*lines)->along));
  PetscCall(PetscFree(*lines));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRLinesName(BCRLines lines, PetscInt l, size_t length, char name[])
{
  PetscInt at[3], rest = l / lines->dof;
  char component[48] = "", where[96] = "";
  size_t used = 0;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; ++d) {
    if (d == lines->axis) {
      at[d] = 0;
      continue;
    }
    at[d] = lines->start[d] + rest % lines->size[d];
    rest /= lines->size[d];
  }
  if (lines->dof > 1)
    PetscCall(PetscSNPrintf(component, sizeof(component), ", component %" PetscInt_FMT, l % lines->dof));
  for (PetscInt d = 0; d < lines->dim; ++d) {
    if (d == lines->axis) continue;
    PetscCall(PetscSNPrintf(where + used, sizeof(where) - used, "%s%c = %" PetscInt_FMT, used ? ", " : " through ",
                            (char)('x' + d), at[d]));
    PetscCall(PetscStrlen(where, &used));
  }
  PetscCall(PetscSNPrintf(name, length, "along %c%s%s", (char)('x' + lines->axis), where, component));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRLinesView(BCRLines lines, PetscViewer viewer)
{
  const BCRTriSpec *s = &lines->spec;
  PetscInt count = lines->dof;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; ++d) count *= d == lines->axis ? 1 : lines->N[d];
  PetscCall(PetscViewerASCIIPrintf(
    viewer, "lines: %" PetscInt_FMT " along %c%s, %" PetscInt_FMT " unknowns each%s, over %d rank%s\n", count,
    (char)('x' + lines->axis), lines->chosen ? " (auto)" : "", lines->N[lines->axis], s->periodic ? ", periodic" : "",
    (int)lines->ranks, lines->ranks > 1 ? "s" : ""));
  if (lines->chosen && lines->dim > 1) {
    PetscCall(PetscViewerASCIIPrintf(viewer, "mean coupling over mean diagonal, by axis:"));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
    for (PetscInt d = 0; d < lines->dim; ++d)
      PetscCall(PetscViewerASCIIPrintf(viewer, " %c %g", (char)('x' + d), (double)lines->strength[d]));
    PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
    PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  }
  if (s->rows && !s->perline)
    PetscCall(PetscViewerASCIIPrintf(viewer, "coefficients: (%g, %g, %g), the same on the lines of a rank",
                                     (double)s->rows[0].row[0], (double)s->rows[0].row[1], (double)s->rows[0].row[2]));
  else
    PetscCall(
      PetscViewerASCIIPrintf(viewer, "coefficients: %s%s", s->rows ? "constant along each line" : "general",
                             s->perline ? ", different from line to line" : ", the same on the lines of a rank"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_FALSE));
  if (s->nfirst) PetscCall(PetscViewerASCIIPrintf(viewer, "; first %" PetscInt_FMT " different", s->nfirst));
  if (s->nlast) PetscCall(PetscViewerASCIIPrintf(viewer, "; last %" PetscInt_FMT " different", s->nlast));
  PetscCall(PetscViewerASCIIPrintf(viewer, "\n"));
  PetscCall(PetscViewerASCIIUseTabs(viewer, PETSC_TRUE));
  if (lines->dropped > 0)
    PetscCall(PetscViewerASCIIPrintf(viewer, "left out: couplings across the lines, up to %g of a row's diagonal\n",
                                     (double)lines->dropped));
  else if (lines->dropped == 0)
    PetscCall(PetscViewerASCIIPrintf(viewer, "left out: nothing, the lines are the whole matrix\n"));
  PetscFunctionReturn(PETSC_SUCCESS);
}
