/* A matrix in compressed rows that lies on the device: what its kernels share */
#pragma once

#include "common.cuh"
#include "rows.h"

enum {
  CENTRE = 6,
  THREADS = 256
};

/* BCRSlot(), of a box that is the grid */
static __device__ __forceinline__ int slot_of(const BCRCudaRows &m, const int ix[3], long long delta)
{
  long long stride = 1;

  if (delta == 0) return CENTRE;
#pragma unroll
  for (int d = 0; d < 3; d++) {
    const int n = m.n[d];

    if (d < m.dim) {
      if (delta == stride && ix[d] < n - 1) return 2 * d + 1;
      if (delta == -stride && ix[d] > 0) return 2 * d;
      if (n > 2) {
        if (delta == stride * (n - 1) && ix[d] == 0) return 2 * d;
        if (delta == -stride * (n - 1) && ix[d] == n - 1) return 2 * d + 1;
      }
    }
    stride *= n;
  }
  return -1;
}

/* kernel<I, R, parts> for the types that rows has; R is known where the arguments are */
#define ROWS_LAUNCH(kernel, grid, ...) \
  do { \
    if (rows->single) { \
      typedef float R; \
      ROWS_LAUNCH_OF(kernel, grid, __VA_ARGS__); \
    } else { \
      typedef double R; \
      ROWS_LAUNCH_OF(kernel, grid, __VA_ARGS__); \
    } \
  } while (0)
#define ROWS_LAUNCH_OF(kernel, grid, ...) \
  do { \
    if (rows->wide && rows->parts == 2) \
      kernel<long long, R, 2><<<grid, THREADS, 0, bcr_stream(stream)>>>(__VA_ARGS__); \
    else if (rows->wide) kernel<long long, R, 1><<<grid, THREADS, 0, bcr_stream(stream)>>>(__VA_ARGS__); \
    else if (rows->parts == 2) kernel<int, R, 2><<<grid, THREADS, 0, bcr_stream(stream)>>>(__VA_ARGS__); \
    else kernel<int, R, 1><<<grid, THREADS, 0, bcr_stream(stream)>>>(__VA_ARGS__); \
  } while (0)
