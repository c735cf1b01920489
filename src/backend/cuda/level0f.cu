/* Level 0 in single precision */
#include "level0.cuh"

int bcr_level0_reduce_float(const BCRCudaLevel0 *p, int regular, int g0, int g1, int per, int slot0, const void *f, void *D, void *extra, cudaStream_t st)
{
  if (!regular) return level0_launch<float, 3, 256, 8, 0, 1>(p, g0, g1, per, slot0, f, NULL, D, extra, st);
  if (p->narrow) return level0_launch<float, 7, 64, 7, 0, 4>(p, g0, g1, per, slot0, f, NULL, D, extra, st);
  return level0_launch<float, 7, 128, 7, 0, 2>(p, g0, g1, per, slot0, f, NULL, D, extra, st);
}
int bcr_level0_back_float(const BCRCudaLevel0 *p, int regular, int g0, int g1, int per, const void *f, void *u, cudaStream_t st)
{
  if (!regular) return level0_launch<float, 3, 256, 8, 1, 1>(p, g0, g1, per, 0, f, u, NULL, NULL, st);
  if (p->narrow) return level0_launch<float, 7, 64, 7, 1, 4>(p, g0, g1, per, 0, f, u, NULL, NULL, st);
  return level0_launch<float, 7, 128, 7, 1, 2>(p, g0, g1, per, 0, f, u, NULL, NULL, st);
}
