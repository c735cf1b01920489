/* box.cuh: which kernel */
#include "common.cuh"

int bcr_box_columns_double(const BCRCudaBoxPass *p, const void *f, void *u, cudaStream_t st);
int bcr_box_solve_double(const BCRCudaBoxPlanes *p, int cluster, void *u, cudaStream_t st);
int bcr_box_columns_float(const BCRCudaBoxPass *p, const void *f, void *u, cudaStream_t st);
int bcr_box_solve_float(const BCRCudaBoxPlanes *p, int cluster, void *u, cudaStream_t st);

int BCRCudaBoxPossible(int N)
{
  return N == 128 || N == 256 || N == 512;
}

int BCRCudaBoxCluster(int N, int rows, int major)
{
  return major >= 9 && N <= 256 && rows <= 8 * 32; /* eight blocks of 32 rows: more is not portable */
}

int BCRCudaBoxColumns(BCRStream stream, const BCRCudaBoxPass *p, int single, const void *f, void *u)
{
  if (p->nx < 1 || p->nb < 1) return 0;
  return single ? bcr_box_columns_float(p, f, u, bcr_stream(stream)) : bcr_box_columns_double(p, f, u, bcr_stream(stream));
}

int BCRCudaBoxSolve(BCRStream stream, const BCRCudaBoxPlanes *p, int single, int cluster, void *u)
{
  if (p->n < 1 || p->planes < 1) return 0;
  return single ? bcr_box_solve_float(p, cluster, u, bcr_stream(stream)) : bcr_box_solve_double(p, cluster, u, bcr_stream(stream));
}
