/* A symbol (spectral.h) as kernels evaluate it, in double whatever the type of the data */
#pragma once

#include "common.cuh"
#include "spectral.h"

/* What the modes of a line along axis d are divided by, shift + slope lambda, and their norm without that along the line */
struct SymbolLine {
  double shift, slope, norm;
};

static __device__ __forceinline__ double symbol_number(const double *v, int i, double without)
{
  return v ? __ldg(v + i) : without;
}

/* a, b: places along the other axes, the lower one first */
static __device__ __forceinline__ SymbolLine symbol_line(const BCRCudaSymbol &s, int d, int a, int b)
{
  const int ea = d == 0 ? 1 : 0, eb = d == 2 ? 1 : 2;
  const double la = symbol_number(d == 0 ? s.lambda[1] : s.lambda[0], a, 0),
               lb = symbol_number(d == 2 ? s.lambda[1] : s.lambda[2], b, 0),
               norm = symbol_number(d == 0 ? s.norm[1] : s.norm[0], a, 1) *
                      symbol_number(d == 2 ? s.norm[1] : s.norm[2], b, 1);
  const double *c = s.c;

  return {c[0] + la * c[1 << ea] + lb * (c[1 << eb] + la * c[1 << ea | 1 << eb]),
          c[1 << d] + la * c[1 << d | 1 << ea] + lb * (c[1 << d | 1 << eb] + la * c[7]), s.factor * norm};
}

/* That of place j of the line */
static __device__ __forceinline__ double symbol_value(const BCRCudaSymbol &s, const SymbolLine &l, int d, int j)
{
  const double *lambda = d == 0 ? s.lambda[0] : d == 1 ? s.lambda[1] : s.lambda[2];

  return l.shift + l.slope * symbol_number(lambda, j, 0);
}
static __device__ __forceinline__ double symbol_norm(const BCRCudaSymbol &s, const SymbolLine &l, int d, int j)
{
  return l.norm * symbol_number(d == 0 ? s.norm[0] : d == 1 ? s.norm[1] : s.norm[2], j, 1);
}

/* v over it; what lies where nothing does may be no number */
template <typename T>
static __device__ __forceinline__ T symbol_divide(const BCRCudaSymbol &s, const SymbolLine &l, int d, int j, T v)
{
  const double p = symbol_value(s, l, d, j), norm = symbol_norm(s, l, d, j);

  return norm != 0 && fabs(p) > s.tol ? (T)((double)v * (norm / p)) : (T)0;
}
