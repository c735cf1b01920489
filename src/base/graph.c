/*
  Launches of a solve as a CUDA graph. The first time that a solve is asked for with some arguments
  it is launched kernel by kernel, which also loads the kernels and makes what is made when first
  needed; the second time it is captured, and from then on launched as one graph. Krylov methods
  come back with a few pairs of vectors: as many graphs are kept, and the one not used for longest
  gets new parameters. What cannot be captured is launched kernel by kernel as before.
*/
#include "petscbcrimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "graph.h"
  #include <string.h>

static PetscErrorCode graph_capture(BCRDeviceGraphs *g, void **exec, PetscErrorCode (*launch)(void *, BCRStream),
                                    void *context, PetscBool *done)
{
  PetscErrorCode ierr;
  void *graph = NULL;
  int error;

  PetscFunctionBegin;
  *done = PETSC_FALSE;
  /* nothing runs on this stream; the default one cannot be captured, and the caller's may be in the
     middle of something */
  if (!g->side) PetscCallBCRCuda(BCRCudaStreamCreate(&g->side));
  error = BCRCudaCaptureBegin(g->side);
  if (!error) {
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL)); /* there is another way, below */
    ierr = (*launch)(context, g->side);
    PetscCall(PetscPopErrorHandler());
    error = BCRCudaCaptureEnd(g->side, &graph);
    if (!error && ierr) error = -1;
  }
  if (!error) error = BCRCudaGraphParts(graph, g->nodes);
  if (!error) error = BCRCudaGraphMake(graph, exec);
  PetscCallBCRCuda(BCRCudaGraphForget(graph));
  if (error) {
    g->failed = PETSC_TRUE;
    PetscCall(PetscInfo(NULL, "The solve cannot be made a CUDA graph (%s): its kernels are launched one by one\n",
                        error < 0 ? "an error while capturing it" : BCRCudaErrorString(error)));
  } else *done = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceGraphsRun(BCRDeviceGraphs *g, BCRStream stream, const void *key, size_t bytes,
                                  PetscErrorCode (*launch)(void *, BCRStream), void *context)
{
  int capturing = 0, oldest = 0, mine = -1;
  PetscBool done;

  PetscFunctionBegin;
  PetscCheck(bytes <= sizeof(g->graph[0].key), PETSC_COMM_SELF, PETSC_ERR_PLIB, "Key of %zu bytes", bytes);
  if (!g->failed && !g->off) PetscCallBCRCuda(BCRCudaIsCapturing(stream, &capturing));
  if (g->failed || g->off || capturing) { /* capturing: it becomes a part of the caller's own graph */
    PetscCall((*launch)(context, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  g->clock++;
  for (int i = 0; i < BCR_DEVICE_GRAPHS; i++) {
    if (g->graph[i].bytes == bytes && !memcmp(g->graph[i].key, key, bytes)) mine = i;
    if (g->graph[i].used < g->graph[oldest].used) oldest = i;
  }
  if (mine < 0) {
    g->graph[oldest].ready = PETSC_FALSE; /* what is there will be given new parameters */
    g->graph[oldest].bytes = bytes;
    g->graph[oldest].used = g->clock;
    memcpy(g->graph[oldest].key, key, bytes);
    PetscCall((*launch)(context, stream));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  g->graph[mine].used = g->clock;
  if (!g->graph[mine].ready) {
    PetscCall(graph_capture(g, &g->graph[mine].exec, launch, context, &done));
    g->graph[mine].ready = done;
  }
  if (g->graph[mine].ready) {
    PetscCallBCRCuda(BCRCudaGraphLaunch(g->graph[mine].exec, stream));
    g->launched++;
  } else PetscCall((*launch)(context, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceGraphsReset(BCRDeviceGraphs *g)
{
  PetscFunctionBegin;
  for (int i = 0; i < BCR_DEVICE_GRAPHS; i++) {
    g->graph[i].ready = PETSC_FALSE;
    g->graph[i].bytes = 0;
    g->graph[i].used = 0;
  }
  g->failed = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceGraphsDestroy(BCRDeviceGraphs *g)
{
  PetscFunctionBegin;
  for (int i = 0; i < BCR_DEVICE_GRAPHS; i++) PetscCallBCRCuda(BCRCudaGraphDestroy(g->graph[i].exec));
  if (g->side) PetscCallBCRCuda(BCRCudaStreamDestroy(g->side));
  memset(g, 0, sizeof(*g));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
