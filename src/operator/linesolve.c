/*
  The solver of the lines of a DMDA. What goes wrong on any rank is an error on all of them.
*/
#include "linesimpl.h"
#include <petscbcr.h>

/* Messages number a line as the rank does: says where on the grid it is. The ranks along a line number it alike. */
static PetscErrorCode BCRLinesPlace(BCRLines lines, BCRFault *fault)
{
  const BCRFault as = *fault;
  const char *said = as.text, *at = said, *bracket;
  char *end, name[128], from[64] = "";
  long line;

  PetscFunctionBegin;
  while ((at = strpbrk(at, "Ll")) && (strncmp(at + 1, "ine ", 4) || at[5] < '0' || at[5] > '9')) ++at;
  if (!at) PetscFunctionReturn(PETSC_SUCCESS);
  line = strtol(at + 5, &end, 10);
  if (line >= (long)lines->nlines) PetscFunctionReturn(PETSC_SUCCESS);
  bracket = end[0] == ' ' && end[1] == '(' ? strchr(end, ')') : NULL;
  if (at == said && lines->start[lines->axis])
    PetscCall(PetscSNPrintf(from, sizeof(from), " (row 0 is grid point %" PetscInt_FMT " of the line)",
                            lines->start[lines->axis]));
  PetscCall(BCRLinesName(lines, (PetscInt)line, sizeof(name), name));
  PetscCall(PetscSNPrintf(fault->text, sizeof(fault->text), "%.*s%s line %s%s%s", (int)(at - said), said,
                          at == said ? "The" : "the", name, bracket ? bracket + 1 : end, from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRLinesSolver(BCRLines lines, const BCRTriOptions *options, BCRTri *tri)
{
  BCRFault fault = {PETSC_SUCCESS, ""};
  PetscErrorCode ierr;
  PetscMPIInt grow, any;

  PetscFunctionBegin;
  PetscCall(BCRLinesCheckSingular(lines, &fault));
  PetscCall(BCRFaultAgree(lines->comm, &fault));
  PetscCall(BCRFaultCatchBegin(&fault));
  ierr = BCRTriCreate(lines->along, &lines->spec, options, tri);
  PetscCall(BCRFaultCatchEnd(&fault, ierr));
  if (ierr) PetscCall(BCRLinesPlace(lines, &fault));
  else fault.code = PETSC_SUCCESS;
  /* ranks of other lines may have theirs */
  BCRCallElse(BCRFaultAgree(lines->comm, &fault), (void)BCRTriDestroy(tri));
  grow = BCRLinesMayGrow(lines);
  PetscCallMPI(MPI_Allreduce(&grow, &any, 1, MPI_INT, MPI_MAX, lines->comm));
  if (any) {
    BCRCallElse(BCRLinesProbe(lines, *tri, options, &fault), (void)BCRTriDestroy(tri));
    BCRCallElse(BCRFaultAgree(lines->comm, &fault), (void)BCRTriDestroy(tri));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRLinesSolverMany(BCRLines lines, const BCRTriOptions *options, PetscInt columns, BCRTri *tri)
{
  BCRTriSpec spec = lines->spec;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  *tri = NULL;
  /* the same on all ranks of along */
  if (!spec.perline &&
      (PetscInt64)lines->nlines * spec.rep * lines->N[lines->axis] <= PETSC_MAX_INT / PetscMax(columns, 1)) {
    spec.outer *= columns;
    ierr = BCRTriCreate(lines->along, &spec, options, tri);
  }
  BCRCallElse(BCRFaultShare(lines->comm, ierr, BCR_NO_MEMORY), (void)BCRTriDestroy(tri));
  PetscFunctionReturn(PETSC_SUCCESS);
}
