/* ring.cuh in single precision */
#include "ringlaunch.cuh"

int bcr_ring_float(const RingArgs<float> &a, int back, int big, int blocks, int threads, size_t bytes,
                   cudaStream_t stream, int *fits)
{
  return ring_launch_any(a, back, big, blocks, threads, bytes, stream, fits);
}
