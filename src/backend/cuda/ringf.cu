/* ring.cuh in single precision */
#include "ringlaunch.cuh"

RING_DECLARE(bcr_ring_float, float)
{
  return ring_launch_any<float, 0>(a, back, kind, blocks, threads, bytes, stream, fits);
}
