/* ring.cuh in double precision, any ends */
#include "ringlaunch.cuh"

RING_DECLARE(bcr_ring_double_ends, double)
{
  return ring_launch_any<double, 1>(a, back, kind, blocks, threads, bytes, stream, fits);
}
