/* ring.cuh in single precision, any ends */
#include "ringlaunch.cuh"

RING_DECLARE(bcr_ring_float_ends, float)
{
  return ring_launch_any<float, 1>(a, back, kind, blocks, threads, bytes, stream, fits);
}
