/* Launches of level0rows.cuh */
#include "level0rows.cuh"

static int warps(int nx)
{
  return (nx + ROWS_CH - 1) / ROWS_CH;
}

/* Warps that a multiprocessor runs at a time, by what registers and shared memory leave room for; not measured apart */
template <typename T>
static constexpr int resident(int nw)
{
  return nw > 4 ? 16 : (sizeof(T) == 8 ? 12 : 20);
}

int BCRCudaLevel0RowsPossible(const BCRCudaLevel0 *p, int single, int sms, int *slots)
{
  /* columns of the last warp: no warp has fewer */
  const int nw = warps(p->nx), last = p->nx - (nw - 1) * ((p->nx + ROWS_K * nw - 1) / (ROWS_K * nw) * ROWS_K);

  *slots = sms * ((single ? resident<float>(nw) : resident<double>(nw)) / nw);
  return nw <= ROWS_WARPS && (nw == 1 || p->halo <= 2 * last); /* a warp takes what two others leave */
}

int BCRCudaLevel0RowsBlocks(const BCRCudaLevel0 *p)
{
  return p->strips + (p->g0 > 0) + (p->g1 < p->ng);
}

template <typename T, int NW, int BACK>
static int rows_run(const BCRCudaLevel0 *p, const void *f, void *u, void *D, void *extra, cudaStream_t stream)
{
  constexpr int MINB = NW == ROWS_WARPS ? 1 : resident<T>(NW) / NW;
  const int nw = warps(p->nx), irregular = BCRCudaLevel0RowsBlocks(p) - p->strips;
  const size_t bytes = sizeof(T) * nw * ROWS_CH * ROWS_OF(irregular ? 8 : 7);
  const dim3 grid(1, (unsigned)BCRCudaLevel0RowsBlocks(p), (unsigned)p->planes);
  cudaError_t e = cudaFuncSetAttribute((const void *)level0_rows<T, NW, BACK, MINB>,
                                       cudaFuncAttributeMaxDynamicSharedMemorySize, (int)bytes);

  if (e != cudaSuccess) return (int)e;
  return bcr_launch(BACK, level0_rows<T, NW, BACK, MINB>, grid, 32 * nw, bytes, stream, *p, (const T *)f, (T *)u,
                    (T *)D, (T *)extra);
}
template <typename T, int BACK>
static int rows_launch(const BCRCudaLevel0 *p, const void *f, void *u, void *D, void *extra, cudaStream_t stream)
{
  if (warps(p->nx) == 5)
    return rows_run<T, 5, BACK>(p, f, u, D, extra, stream); /* 513 unknowns: three blocks have room */
  return p->nx <= 4 * ROWS_CH ? rows_run<T, 4, BACK>(p, f, u, D, extra, stream)
                              : rows_run<T, ROWS_WARPS, BACK>(p, f, u, D, extra, stream);
}

int BCRCudaLevel0RowsReduce(BCRStream stream, const BCRCudaLevel0 *p, int single, const void *f, void *D, void *extra)
{
  return single ? rows_launch<float, 0>(p, f, NULL, D, extra, bcr_stream(stream))
                : rows_launch<double, 0>(p, f, NULL, D, extra, bcr_stream(stream));
}

int BCRCudaLevel0RowsBack(BCRStream stream, const BCRCudaLevel0 *p, int single, void *u, void *D)
{
  return single ? rows_launch<float, 1>(p, u, u, D, NULL, bcr_stream(stream))
                : rows_launch<double, 1>(p, u, u, D, NULL, bcr_stream(stream));
}
