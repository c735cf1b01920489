/* The reduced systems of lines across ranks, see lineranks.h: a thread for each system and value,
   neighbours side by side */
#include "tri.cuh"
#include "lineranks.h"

enum {
  CHAIN_THREADS = 256 /* of a block of chains_solve(): not measured apart */
};

__global__ void chains_solve(BCRCudaChains c, double *x)
{
  const ptrdiff_t rowsize = c.ns * c.nvec, e = (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x,
                  open = c.border ? c.n - 1 : c.n;

  if (e >= rowsize) return;
  const ptrdiff_t s = c.same ? 0 : e / c.nvec, table = c.same ? 1 : c.ns;
  double y = 0, last = c.border ? x[c.row[c.n - 1] * rowsize + e] : 0;

  for (ptrdiff_t i = 0; i < open; i++) {
    double *at = x + c.row[i] * rowsize + e;

    y = *at - (i ? c.lower[i * table + s] * y : 0);
    *at = y;
    if (c.border) last -= c.borderrow[i * table + s] * y;
  }
  if (c.border) {
    last *= c.pivotinverse[(c.n - 1) * table + s];
    x[c.row[c.n - 1] * rowsize + e] = last;
  }
  for (ptrdiff_t i = open - 1; i >= 0; i--) {
    double *at = x + c.row[i] * rowsize + e, v = *at * c.pivotinverse[i * table + s];

    if (i < open - 1) v -= c.upper[i * table + s] * y;
    if (c.border) v -= c.bordercolumn[i * table + s] * last;
    *at = y = v;
  }
}

int BCRCudaChainsSolve(BCRStream stream, const BCRCudaChains *c, double *x)
{
  int e;

  if (!c->n || !c->ns || !c->nvec) return 0;
  e = bcr_launch_cluster(chains_solve, dim3((unsigned)((c->ns * c->nvec + CHAIN_THREADS - 1) / CHAIN_THREADS)),
                         dim3(CHAIN_THREADS), 0, 1, stream, *c, x);
  return e ? e : bcr_done();
}

__global__ void systems_move(ptrdiff_t rows, ptrdiff_t ns, ptrdiff_t nsys, int nvec, const int *index, const int *base,
                             const int *step, int back, double *x, double *y)
{
  const ptrdiff_t e = (ptrdiff_t)blockIdx.x * blockDim.x + threadIdx.x, r = blockIdx.y;

  if (e >= ns * nvec) return;
  const ptrdiff_t s = e / nvec, v = e % nvec, i = (r * nsys + (index ? index[s] : s)) * nvec + v,
                  j = ((base ? base[s] : s) + r * (step ? step[s] : ns)) * nvec + v;

  if (back) x[i] = y[j];
  else y[j] = x[i];
}

int BCRCudaSystemsMove(BCRStream stream, ptrdiff_t rows, ptrdiff_t ns, ptrdiff_t nsys, int nvec, const int *index,
                       const int *base, const int *step, int back, double *x, double *y)
{
  int e;

  if (!rows || !ns || !nvec) return 0;
  e = bcr_launch_cluster(systems_move, dim3((unsigned)((ns * nvec + BCR_THREADS - 1) / BCR_THREADS), (unsigned)rows),
                         dim3(BCR_THREADS), 0, 1, stream, rows, ns, nsys, nvec, index, base, step, back, x, y);
  return e ? e : bcr_done();
}
