/* Level 0: which kernel */
#include "common.cuh"

int bcr_level0_reduce_double(const BCRCudaLevel0 *p, const void *f, void *D, void *extra, cudaStream_t st);
int bcr_level0_back_double(const BCRCudaLevel0 *p, const void *f, void *u, cudaStream_t st);
int bcr_level0_reduce_float(const BCRCudaLevel0 *p, const void *f, void *D, void *extra, cudaStream_t st);
int bcr_level0_back_float(const BCRCudaLevel0 *p, const void *f, void *u, cudaStream_t st);

int BCRCudaLevel0Narrow(int nx, int halo)
{
  return nx + 2 * halo <= 7 * 64;
}

void BCRCudaLevel0Shape(int narrow, int *K, int *columns, int *blocks)
{
  *K       = 7;
  *columns = 7 * (narrow ? 64 : 128);
  *blocks  = narrow ? 4 : 2;
}

int BCRCudaLevel0Reduce(BCRStream stream, const BCRCudaLevel0 *p, int single, const void *f, void *D, void *extra)
{
  if (single) return bcr_level0_reduce_float(p, f, D, extra, bcr_stream(stream));
  return bcr_level0_reduce_double(p, f, D, extra, bcr_stream(stream));
}

int BCRCudaLevel0Back(BCRStream stream, const BCRCudaLevel0 *p, int single, const void *f, void *u)
{
  if (single) return bcr_level0_back_float(p, f, u, bcr_stream(stream));
  return bcr_level0_back_double(p, f, u, bcr_stream(stream));
}
