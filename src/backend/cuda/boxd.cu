/* box.cuh in double precision */
#include "boxlaunch.cuh"

int bcr_box_columns_double(const BCRCudaBoxPass *p, const void *f, void *u, cudaStream_t stream)
{
  if (p->even && p->N == 128) return columns_launch<double, 128, 16, 16, 4, 1>(p, f, u, stream);
  if (p->even && p->N == 256) return columns_launch<double, 256, 16, 16, 2, 1>(p, f, u, stream);
  if (p->even) return columns_launch<double, 512, 16, 8, 2, 1>(p, f, u, stream);
  if (p->N == 128) return columns_launch<double, 128, 16, 16, 4>(p, f, u, stream);
  if (p->N == 256) return columns_launch<double, 256, 16, 16, 2>(p, f, u, stream);
  return columns_launch<double, 512, 16, 8, 2>(p, f, u, stream);
}
int bcr_box_planes_double(const BCRCudaBoxPlanes *p, void *u, cudaStream_t stream, int *fits)
{
  if (p->even && p->kind == BCR_CUDA_BOX_SLABS && p->N == 128)
    return slabs_launch<double, 128, 16, BCR_BOX_EVEN_PAIRS, 3, 1>(p, u, stream, fits);
  if (p->even && p->kind == BCR_CUDA_BOX_SLABS && p->N == 256)
    return slabs_launch<double, 256, 16, BCR_BOX_EVEN_PAIRS, 2, 1>(p, u, stream, fits);
  if (p->even) return fits ? (*fits = 0) : (int)cudaErrorNotSupported;
  if (p->kind == BCR_CUDA_BOX_SLABS && p->N == 128) return slabs_launch<double, 128, 16, 16, 3>(p, u, stream, fits);
  if (p->kind == BCR_CUDA_BOX_SLABS && p->N == 256) return slabs_launch<double, 256, 16, 16, 2>(p, u, stream, fits);
  if (p->kind == BCR_CUDA_BOX_ROWS && p->N == 128) return rows_launch<double, 128, 16, 16, 4>(p, u, stream, fits);
  if (p->kind == BCR_CUDA_BOX_ROWS && p->N == 256) return rows_launch<double, 256, 16, 16, 2>(p, u, stream, fits);
  if (p->kind != BCR_CUDA_BOX_MARCH) return fits ? (*fits = 0) : (int)cudaErrorNotSupported;
  if (p->N == 128) return march_launch<double, 128, 8, 4>(p, u, stream, fits);
  if (p->N == 256) return march_launch<double, 256, 8, 3>(p, u, stream, fits);
  return march_launch<double, 512, 8, 2>(p, u, stream, fits);
}
int bcr_box_half_double(const BCRCudaBoxPlanes *p, int up, void *u, const BCRReduced &red, cudaStream_t stream)
{
  if (p->N == 128) return half_launch<double, 128, 16, 2>(p, up, u, red, stream);
  if (p->N == 256) return half_launch<double, 256, 16, 2>(p, up, u, red, stream);
  return half_launch<double, 512, 8, 2>(p, up, u, red, stream);
}
