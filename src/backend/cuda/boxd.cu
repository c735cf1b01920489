/* box.cuh in double precision */
#include "boxlaunch.cuh"

int bcr_box_columns_double(const BCRCudaBoxPass *p, const void *f, void *u, cudaStream_t st)
{
  if (p->N == 128) return columns_launch<double, 128, 16, 4>(p, f, u, st);
  if (p->N == 256) return columns_launch<double, 256, 16, 2>(p, f, u, st);
  return columns_launch<double, 512, 8, 2>(p, f, u, st);
}
int bcr_box_solve_double(const BCRCudaBoxPlanes *p, int cluster, void *u, cudaStream_t st)
{
  if (p->N == 128) return cluster ? cluster_launch<double, 128, 16, 3>(p, u, st) : march_launch<double, 128, 8, 4>(p, u, st);
  if (p->N == 256) return cluster ? cluster_launch<double, 256, 16, 2>(p, u, st) : march_launch<double, 256, 8, 3>(p, u, st);
  return march_launch<double, 512, 8, 2>(p, u, st);
}
