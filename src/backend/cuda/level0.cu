/* Level 0: which kernel */
#include "common.cuh"
#include "level0.h"

int bcr_level0_reduce_double(const BCRCudaLevel0 *p, const void *f, void *D, void *extra, cudaStream_t stream);
int bcr_level0_back_double(const BCRCudaLevel0 *p, const void *f, void *u, void *D, cudaStream_t stream);
int bcr_level0_reduce_float(const BCRCudaLevel0 *p, const void *f, void *D, void *extra, cudaStream_t stream);
int bcr_level0_back_float(const BCRCudaLevel0 *p, const void *f, void *u, void *D, cudaStream_t stream);

/* Threads of a block, columns K of a thread, and blocks that a multiprocessor runs at a time: in double, in single
   precision (0: not there). In the order of BCR_LEVEL0_128x7, ... Those of 256 threads in single precision and those of
   radix 16 were taken after runs on an H200 (commits 0cc2b20, 4c5302a), the others with the first kernels; times of
   solves with all of them: bench/results/h200_poisson.csv */
static const struct {
  int threads, K, blocks[2];
} shapes[] = {
  {128, 7, {2, 4}},
  {64,  7, {4, 8}},
  {256, 5, {1, 2}},
  {256, 5, {2, 2}},
  {128, 5, {4, 4}},
  {256, 7, {1, 2}},
  {384, 5, {0, 1}}, /* radix 16 */
  {320, 5, {0, 1}}
};

/* Columns that go through a multiprocessor, halos too, where a plane is cut into as many strips as
   run at the same time; each costs about a group more */
static double level0_columns(const BCRCudaLevel0 *p, int single, int sms, int shape)
{
  const int columns = shapes[shape].threads * shapes[shape].K, most = columns - 2 * p->halo,
            tiles = (p->nx + most - 1) / most, slots = shapes[shape].blocks[single] * sms,
            strips = slots > tiles ? slots / tiles : 1;

  return (double)((p->ng + strips - 1) / strips + 1) * columns * shapes[shape].blocks[single];
}

void BCRCudaLevel0Shape(BCRCudaLevel0 *p, int single, int sms, int *K, int *columns, int *blocks)
{
  const int whole = p->nx + 2 * p->halo; /* a row in one tile */

  if (p->radix == 16)
    p->shape = level0_columns(p, single, sms, BCR_LEVEL0_RADIX16_320x5) <
                   0.9 * level0_columns(p, single, sms, BCR_LEVEL0_RADIX16_384x5)
                 ? BCR_LEVEL0_RADIX16_320x5
                 : BCR_LEVEL0_RADIX16_384x5;
  else if (p->radix == 4) p->shape = whole <= 5 * 128 ? BCR_LEVEL0_RADIX4_128x5 : BCR_LEVEL0_RADIX4_256x5;
  else if (whole <= 7 * 64) p->shape = BCR_LEVEL0_64x7;
  else {
    p->shape = whole > 7 * 128 && whole <= 5 * 256 && p->halo <= 5 * 32 && p->planes == 1 && p->ng <= sms
                 ? BCR_LEVEL0_256x5
                 : BCR_LEVEL0_128x7;
    if (single && whole > 5 * 256 && p->halo <= 5 * 32 && p->planes == 1) { /* longer tiles have less halo */
      for (int shape = BCR_LEVEL0_256x5; shape <= BCR_LEVEL0_256x7; shape += BCR_LEVEL0_256x7 - BCR_LEVEL0_256x5)
        if (level0_columns(p, 1, sms, shape) < level0_columns(p, 1, sms, p->shape)) p->shape = shape;
    }
  }
  *K = shapes[p->shape].K;
  *columns = shapes[p->shape].K * shapes[p->shape].threads;
  *blocks = shapes[p->shape].blocks[single != 0];
}

int BCRCudaLevel0Reduce(BCRStream stream, const BCRCudaLevel0 *p, int single, const void *f, void *D, void *extra)
{
  if (single) return bcr_level0_reduce_float(p, f, D, extra, bcr_stream(stream));
  return bcr_level0_reduce_double(p, f, D, extra, bcr_stream(stream));
}

int BCRCudaLevel0Back(BCRStream stream, const BCRCudaLevel0 *p, int single, const void *f, void *u, const void *D)
{
  if (single) return bcr_level0_back_float(p, f, u, (void *)D, bcr_stream(stream));
  return bcr_level0_back_double(p, f, u, (void *)D, bcr_stream(stream));
}
