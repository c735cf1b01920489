/* box.cuh in single precision */
#include "boxlaunch.cuh"

int bcr_box_columns_float(const BCRCudaBoxPass *p, const void *f, void *u, cudaStream_t stream)
{
  if (p->even && p->N == 128) return columns_launch<float, 128, 16, 32, 2, 1>(p, f, u, stream);
  if (p->even && p->N == 256) return columns_launch<float, 256, 16, 16, 3, 1>(p, f, u, stream);
  if (p->even) return columns_launch<float, 512, 32, 16, 2, 1>(p, f, u, stream);
  if (p->L != p->N && p->L == 256) return chirp_launch<float, 256, 16, 16, 3>(p, f, u, stream);
  if (p->L != p->N) return chirp_launch<float, 512, 32, 16, 2>(p, f, u, stream);
  if (p->N == 128) return columns_launch<float, 128, 16, 32, 2>(p, f, u, stream);
  if (p->N == 256) return columns_launch<float, 256, 16, 16, 3>(p, f, u, stream);
  return f == u ? columns_launch<float, 512, 32, 16, 2>(p, f, u, stream)
                : columns_launch<float, 512, 32, 16, 2, 0, 1>(p, f, u, stream);
}
int bcr_box_planes_float(const BCRCudaBoxPlanes *p, void *u, cudaStream_t stream, int *fits)
{
  if (p->even && p->kind == BCR_CUDA_BOX_SLABS && p->N == 128)
    return slabs_launch<float, 128, 16, BCR_BOX_EVEN_PAIRS, 5, 1>(p, u, stream, fits);
  if (p->even && p->kind == BCR_CUDA_BOX_SLABS && p->N == 256)
    return slabs_launch<float, 256, 16, BCR_BOX_EVEN_PAIRS, 3, 1>(p, u, stream, fits);
  if (p->even) return fits ? (*fits = 0) : (int)cudaErrorNotSupported;
  if (p->kind == BCR_CUDA_BOX_SLABS && p->N == 128) return slabs_launch<float, 128, 16, 16, 5>(p, u, stream, fits);
  if (p->kind == BCR_CUDA_BOX_SLABS && p->N == 256) return slabs_launch<float, 256, 16, 16, 3>(p, u, stream, fits);
  if (p->kind == BCR_CUDA_BOX_ROWS && p->N == 128) return rows_launch<float, 128, 16, 16, 5>(p, u, stream, fits);
  if (p->kind == BCR_CUDA_BOX_ROWS && p->N == 256) return rows_launch<float, 256, 16, 16, 3>(p, u, stream, fits);
  if (p->kind != BCR_CUDA_BOX_MARCH) return fits ? (*fits = 0) : (int)cudaErrorNotSupported;
  if (p->N == 128) return march_launch<float, 128, 8, 4>(p, u, stream, fits);
  if (p->N == 256) return march_launch<float, 256, 8, 4>(p, u, stream, fits);
  return march_launch<float, 512, 4, 4>(p, u, stream, fits);
}
int bcr_box_half_float(const BCRCudaBoxPlanes *p, int up, void *u, const BCRReduced &red, cudaStream_t stream)
{
  if (p->N == 128) return half_launch<float, 128, 16, 2>(p, up, u, red, stream);
  if (p->N == 256) return half_launch<float, 256, 16, 2>(p, up, u, red, stream);
  return half_launch<float, 512, 8, 2>(p, up, u, red, stream);
}
