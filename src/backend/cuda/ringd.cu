/* ring.cuh in double precision */
#include "ringlaunch.cuh"

RING_DECLARE(bcr_ring_double, double)
{
  return ring_launch_any<double, 0>(a, back, kind, blocks, threads, bytes, stream, fits);
}
