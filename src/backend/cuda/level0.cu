/* Level 0: which kernel */
#include "common.cuh"

int bcr_level0_reduce_double(const BCRCudaLevel0 *p, const void *f, void *D, void *extra, cudaStream_t st);
int bcr_level0_back_double(const BCRCudaLevel0 *p, const void *f, void *u, cudaStream_t st);
int bcr_level0_reduce_float(const BCRCudaLevel0 *p, const void *f, void *D, void *extra, cudaStream_t st);
int bcr_level0_back_float(const BCRCudaLevel0 *p, const void *f, void *u, cudaStream_t st);

void BCRCudaLevel0Shape(BCRCudaLevel0 *p, int single, int sms, int *K, int *columns, int *blocks)
{
  const int whole = p->nx + 2 * p->halo; /* a row in one tile */

  if (p->radix == 4) p->shape = whole <= 5 * 128 ? 4 : 3;
  else p->shape = whole <= 7 * 64 ? 1 : (whole > 7 * 128 && whole <= 5 * 256 && p->halo <= 5 * 32 && p->planes == 1 && p->ng <= sms ? 2 : 0);
  *K       = p->shape >= 2 ? 5 : 7;
  *columns = p->shape == 4 ? 5 * 128 : (p->shape >= 2 ? 5 * 256 : (p->shape == 1 ? 7 * 64 : 7 * 128));
  *blocks  = p->shape == 4 ? 4 : (p->shape == 3 ? 2 : (p->shape == 2 ? 1 : (p->shape == 1 ? (single ? 8 : 4) : (single ? 4 : 2))));
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
