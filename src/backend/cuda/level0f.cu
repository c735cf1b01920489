/* Level 0 in single precision */
#include "level0.cuh"

int bcr_level0_reduce_float(const BCRCudaLevel0 *p, const void *f, void *D, void *extra, cudaStream_t stream)
{
  if (p->shape == BCR_LEVEL0_RADIX16_320x5) return level0_plane<float, 5, 320, 15, 0, 1>(p, f, NULL, D, extra, stream);
  if (p->shape == BCR_LEVEL0_RADIX16_384x5) return level0_plane<float, 5, 384, 15, 0, 1>(p, f, NULL, D, extra, stream);
  if (p->shape == BCR_LEVEL0_RADIX4_128x5) return level0_plane<float, 5, 128, 3, 0, 4>(p, f, NULL, D, extra, stream);
  if (p->shape == BCR_LEVEL0_RADIX4_256x5) return level0_plane<float, 5, 256, 3, 0, 2>(p, f, NULL, D, extra, stream);
  if (p->shape == BCR_LEVEL0_256x7) return level0_launch<float, 7, 256, 0, 2>(p, f, NULL, D, extra, stream);
  if (p->shape == BCR_LEVEL0_256x5) return level0_launch<float, 5, 256, 0, 2>(p, f, NULL, D, extra, stream);
  if (p->shape == BCR_LEVEL0_64x7) return level0_launch<float, 7, 64, 0, 8>(p, f, NULL, D, extra, stream);
  return level0_launch<float, 7, 128, 0, 4>(p, f, NULL, D, extra, stream);
}
int bcr_level0_back_float(const BCRCudaLevel0 *p, const void *f, void *u, void *D, cudaStream_t stream)
{
  if (p->shape == BCR_LEVEL0_RADIX16_320x5) return level0_plane<float, 5, 320, 15, 1, 1>(p, f, u, NULL, NULL, stream);
  if (p->shape == BCR_LEVEL0_RADIX16_384x5) return level0_plane<float, 5, 384, 15, 1, 1>(p, f, u, NULL, NULL, stream);
  if (p->shape == BCR_LEVEL0_RADIX4_128x5) return level0_plane<float, 5, 128, 3, 1, 4>(p, f, u, NULL, NULL, stream);
  if (p->shape == BCR_LEVEL0_RADIX4_256x5) return level0_plane<float, 5, 256, 3, 1, 2>(p, f, u, NULL, NULL, stream);
  if (p->shape == BCR_LEVEL0_256x7) return level0_back<float, 7, 256, 2>(p, f, u, D, stream);
  if (p->shape == BCR_LEVEL0_256x5) return level0_back<float, 5, 256, 2>(p, f, u, D, stream);
  if (p->shape == BCR_LEVEL0_64x7) return level0_back<float, 7, 64, 8>(p, f, u, D, stream);
  return level0_back<float, 7, 128, 4>(p, f, u, D, stream);
}
