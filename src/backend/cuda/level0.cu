/* Level 0: which kernel */
#include "common.cuh"

int bcr_level0_reduce_double(const BCRCudaLevel0 *p, int regular, int g0, int g1, int per, int slot0, const void *f, void *D, void *extra, cudaStream_t st);
int bcr_level0_back_double(const BCRCudaLevel0 *p, int regular, int g0, int g1, int per, const void *f, void *u, cudaStream_t st);
int bcr_level0_reduce_float(const BCRCudaLevel0 *p, int regular, int g0, int g1, int per, int slot0, const void *f, void *D, void *extra, cudaStream_t st);
int bcr_level0_back_float(const BCRCudaLevel0 *p, int regular, int g0, int g1, int per, const void *f, void *u, cudaStream_t st);

int BCRCudaLevel0Narrow(int nx, int halo)
{
  return nx + 2 * halo <= 7 * 64;
}

void BCRCudaLevel0Shape(int regular, int narrow, int *K, int *columns)
{
  *K       = regular ? 7 : 3;
  *columns = regular ? (narrow ? 7 * 64 : 7 * 128) : 3 * 256;
}

int BCRCudaLevel0Reduce(BCRStream stream, const BCRCudaLevel0 *p, int single, int regular, int g0, int g1, int per, int slot0, const void *f, void *D, void *extra)
{
  if (g0 >= g1) return 0;
  if (single) return bcr_level0_reduce_float(p, regular, g0, g1, per, slot0, f, D, extra, bcr_stream(stream));
  return bcr_level0_reduce_double(p, regular, g0, g1, per, slot0, f, D, extra, bcr_stream(stream));
}

int BCRCudaLevel0Back(BCRStream stream, const BCRCudaLevel0 *p, int single, int regular, int g0, int g1, int per, const void *f, void *u)
{
  if (g0 >= g1) return 0;
  if (single) return bcr_level0_back_float(p, regular, g0, g1, per, f, u, bcr_stream(stream));
  return bcr_level0_back_double(p, regular, g0, g1, per, f, u, bcr_stream(stream));
}
