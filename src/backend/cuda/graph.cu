/* Streams of launches as graphs */
#include "common.cuh"
#include <cstdlib>

int BCRCudaStreamCreate(BCRStream *stream)
{
  cudaStream_t s = NULL;
  const cudaError_t e = cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking);

  *stream = (BCRStream)s;
  return (int)e;
}

int BCRCudaStreamDestroy(BCRStream stream)
{
  return (int)cudaStreamDestroy(bcr_stream(stream));
}

int BCRCudaIsCapturing(BCRStream stream, int *capturing)
{
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaError_t e = cudaStreamIsCapturing(bcr_stream(stream), &status);

  *capturing = status != cudaStreamCaptureStatusNone;
  return (int)e;
}

/* thread-local: what this thread may not do while capturing (allocate, wait, copy from pageable
   memory) is an error, other threads go on */
int BCRCudaCaptureBegin(BCRStream stream)
{
  return (int)cudaStreamBeginCapture(bcr_stream(stream), cudaStreamCaptureModeThreadLocal);
}

int BCRCudaCaptureEnd(BCRStream stream, void **graph)
{
  cudaGraph_t g = NULL;
  const cudaError_t e = cudaStreamEndCapture(bcr_stream(stream), &g);

  *graph = (void *)g;
  if (e != cudaSuccess) (void)cudaGetLastError(); /* not one that stays */
  return (int)e;
}

int BCRCudaGraphParts(void *graph, int parts[4])
{
  size_t n = 0;
  cudaError_t e = cudaGraphGetNodes((cudaGraph_t)graph, NULL, &n);
  cudaGraphNode_t *node;

  parts[0] = parts[1] = parts[2] = parts[3] = 0;
  if (e != cudaSuccess || !n) return (int)e;
  node = (cudaGraphNode_t *)malloc(n * sizeof(*node));
  if (!node) return (int)cudaErrorMemoryAllocation;
  e = cudaGraphGetNodes((cudaGraph_t)graph, node, &n);
  for (size_t i = 0; i < n && e == cudaSuccess; i++) {
    cudaGraphNodeType type;

    e = cudaGraphNodeGetType(node[i], &type);
    if (e != cudaSuccess) break;
    if (type == cudaGraphNodeTypeKernel) parts[0]++;
    else if (type == cudaGraphNodeTypeMemset) parts[1]++;
    else if (type == cudaGraphNodeTypeMemcpy) {
      cudaMemcpy3DParms p;

      e = cudaGraphMemcpyNodeGetParams(node[i], &p);
      parts[e == cudaSuccess && p.kind == cudaMemcpyDeviceToDevice ? 2 : 3]++;
    } else parts[3]++;
  }
  free(node);
  return (int)e;
}

int BCRCudaGraphMake(void *graph, void **exec)
{
  cudaGraphExec_t x = (cudaGraphExec_t)*exec;

  if (x) {
#if CUDART_VERSION >= 12000
    cudaGraphExecUpdateResultInfo info;

    if (cudaGraphExecUpdate(x, (cudaGraph_t)graph, &info) == cudaSuccess) return 0;
#else
    cudaGraphNode_t node;
    cudaGraphExecUpdateResult info;

    if (cudaGraphExecUpdate(x, (cudaGraph_t)graph, &node, &info) == cudaSuccess) return 0;
#endif
    (void)cudaGetLastError(); /* of another shape */
    (void)cudaGraphExecDestroy(x);
    *exec = NULL;
  }
#if CUDART_VERSION >= 12000
  {
    const cudaError_t e = cudaGraphInstantiate(&x, (cudaGraph_t)graph, 0);
#else
  {
    const cudaError_t e = cudaGraphInstantiate(&x, (cudaGraph_t)graph, NULL, NULL, 0);
#endif

    if (e == cudaSuccess) *exec = (void *)x;
    return (int)e;
  }
}

int BCRCudaGraphLaunch(void *exec, BCRStream stream)
{
  return (int)cudaGraphLaunch((cudaGraphExec_t)exec, bcr_stream(stream));
}

int BCRCudaGraphForget(void *graph)
{
  return graph ? (int)cudaGraphDestroy((cudaGraph_t)graph) : 0;
}

int BCRCudaGraphDestroy(void *exec)
{
  return exec ? (int)cudaGraphExecDestroy((cudaGraphExec_t)exec) : 0;
}
