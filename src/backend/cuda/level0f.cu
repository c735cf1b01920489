/* Level 0 in single precision */
#include "level0.cuh"

int bcr_level0_reduce_float(const BCRCudaLevel0 *p, const void *f, void *D, void *extra, cudaStream_t st)
{
  if (p->narrow) return level0_launch<float, 7, 64, 0, 4>(p, f, NULL, D, extra, st);
  return level0_launch<float, 7, 128, 0, 2>(p, f, NULL, D, extra, st);
}
int bcr_level0_back_float(const BCRCudaLevel0 *p, const void *f, void *u, cudaStream_t st)
{
  if (p->narrow) return level0_launch<float, 7, 64, 1, 4>(p, f, u, NULL, NULL, st);
  return level0_launch<float, 7, 128, 1, 2>(p, f, u, NULL, NULL, st);
}
