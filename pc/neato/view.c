/*
  What PCNEATO says about itself.
*/
#include "neato.h"

static const char *automatic(PetscBool yes)
{
  return yes ? " (auto)" : "";
}

/* Before there are lines */
static PetscErrorCode view_wanted(const PC_Neato *neato, PetscViewer viewer)
{
  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIPrintf(viewer, "not set up yet: lines are read from the matrix\n"));
  PetscCall(PetscViewerASCIIPrintf(viewer, "axis: %s\n", PCNeatoAxes[neato->axis]));
  PetscCall(PetscViewerASCIIPrintf(viewer, "method: %s\n", PCNeatoMethods[neato->method]));
  PetscCall(PetscViewerASCIIPrintf(viewer, "coupling: %s\n", PCNeatoCouplings[neato->coupling]));
  PetscCall(PetscViewerASCIIPrintf(viewer, "backend: %s, memory of a GPU: %s\n", PCNeatoBackends[neato->backend],
                                   PCNeatoMemories[neato->memory]));
  PetscCall(PetscViewerASCIIPrintf(viewer, "transport: %s\n", PCNeatoTransports[neato->transport]));
  PetscCall(PetscViewerASCIIPrintf(viewer, "precision: %s\n", PCNeatoPrecisions[neato->precision]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode view_solver(const PC_Neato *neato, PetscViewer viewer)
{
  const BCRTriInfo *info = &neato->info;
  const PetscBool device = neato->options.device, mpi = (PetscBool)(neato->transport == PCNEATO_TRANSPORT_AUTO);

  PetscFunctionBegin;
  PetscCall(BCRLinesView(neato->lines, viewer));
  PetscCall(PetscViewerASCIIPrintf(viewer, "method: %s%s%s%s\n", PCNeatoMethods[info->method],
                                   automatic((PetscBool)(neato->method == PCNEATO_METHOD_AUTO)),
                                   info->what[0] ? ", " : "", info->what));
  if (neato->lines->ranks > 1)
    PetscCall(PetscViewerASCIIPrintf(
      viewer,
      "coupling: %s%s, %" PetscInt_FMT " lines of this rank through the reduced system, largest part left out %g\n",
      PCNeatoCouplings[info->coupling], automatic((PetscBool)(neato->coupling == PCNEATO_COUPLING_AUTO)), info->reduced,
      (double)info->lost));
  PetscCall(PetscViewerASCIIPrintf(
    viewer, "backend: %s%s%s, memory of a GPU: %s\n", device ? "cuda, device " : "", device ? info->device : "cpu",
    automatic((PetscBool)(neato->backend == PCNEATO_BACKEND_AUTO)), PCNeatoMemories[neato->memory]));
  if (info->transport[0]) PetscCall(PetscViewerASCIIPrintf(viewer, "transport: %s\n", info->transport));
  else if (neato->lines->ranks > 1)
    PetscCall(PetscViewerASCIIPrintf(viewer, "transport: %s%s\n", mpi ? "mpi" : PCNeatoTransports[neato->transport],
                                     automatic(mpi)));
  PetscCall(PetscViewerASCIIPrintf(viewer, "precision: %s\n", PCNeatoPrecisions[neato->precision]));
  PetscCall(PetscViewerASCIIPrintf(viewer,
                                   "memory of this rank: workspace %" PetscInt64_FMT " bytes, tables %" PetscInt64_FMT
                                   " bytes; sent in a solve: %" PetscInt64_FMT " bytes\n",
                                   (PetscInt64)info->workspace, (PetscInt64)info->tables,
                                   (PetscInt64)info->bytes_sent));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode PCView_Neato(PC pc, PetscViewer viewer)
{
  const PC_Neato *neato = (const PC_Neato *)pc->data;
  PetscBool ascii;

  PetscFunctionBegin;
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCROptionsView(pc, viewer));
  PetscCall(BCRPlaceView(&neato->place, viewer));
  PetscCall(BCROtherwiseView(&neato->otherwise, viewer));
  if (neato->otherwise.pc) PetscFunctionReturn(PETSC_SUCCESS);
  if (neato->tri) PetscCall(view_solver(neato, viewer));
  else PetscCall(view_wanted(neato, viewer));
  PetscFunctionReturn(PETSC_SUCCESS);
}
