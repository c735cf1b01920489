/* Sums over poles (polesum.h). Included by kernels.h. */
#include "polesum.h"

#define SUM_TAB(tab, s, row) vload((tab) + VL * (BCR_SUM_ROWS * (s) + (row)))

static size_t BCRN(polesum_work)(ptrdiff_t n)
{
  return 2 * (size_t)(n + VL) * VL;
}

/* column x0 + i of nk modes to t[i], zero from column n on; modes beyond are the last one again:
   their weights are zero */
BCR_INLINE void polesum_load(const real *u, ptrdiff_t ld, int nk, ptrdiff_t x0, ptrdiff_t n, vec *t)
{
  if (__builtin_expect(x0 >= 0 && x0 + VL <= n, 1)) {
#pragma GCC unroll 16
    for (int k = 0; k < VL; k++) t[k] = vload(u + (k < nk ? k : nk - 1) * ld + x0);
  } else {
    for (int k = 0; k < VL; k++) t[k] = dttloadpart(u + (k < nk ? k : nk - 1) * ld, x0, (int)(n - x0), 0);
  }
  dtttranspose(t);
}

/* Z of all poles (its first pole from more columns), each but its last factor mu: z[s] = sum_i mu^i
   g_i. In the steps of the recurrence itself: what its rounding adds up to over long ways is in the
   image then, too, and the residual at the line's end is that of one step */
BCR_INLINE void polesum_left(const real *tab, const real *u, ptrdiff_t ld, int nk, ptrdiff_t n, ptrdiff_t first,
                             ptrdiff_t others, vec *z)
{
  const vec m = SUM_TAB(tab, 0, BCR_SUM_MU);
  ptrdiff_t b = (PetscMin(first, n) - 1) / VL;
  vec a = vset1(0), t[VL];

  for (; b > (PetscMin(others, n) - 1) / VL; b--) {
    polesum_load(u, ld, nk, b * VL, n, t);
#pragma GCC unroll 16
    for (int i = VL - 1; i >= 0; i--) a = m * a + t[i];
  }
  z[0] = a;
  for (int s = 1; s < BCR_POLES; s++) z[s] = vset1(0);
  for (; b >= 0; b--) {
    polesum_load(u, ld, nk, b * VL, n, t);
#pragma GCC unroll 16
    for (int i = VL - 1; i >= 0; i--) {
#pragma GCC unroll 8
      for (int s = 0; s < BCR_POLES; s++) z[s] = SUM_TAB(tab, s, BCR_SUM_MU) * z[s] + t[i];
    }
  }
}

/* the same of Y: y[s] = sum_i mu^(n-1-i) g_i. Columns x0 + i, x0 = n - VL (b + 1), from the line's right end */
BCR_INLINE void polesum_right(const real *tab, const real *u, ptrdiff_t ld, int nk, ptrdiff_t n, ptrdiff_t first,
                              ptrdiff_t others, vec *y)
{
  const vec m = SUM_TAB(tab, 0, BCR_SUM_MU);
  ptrdiff_t x0 = (n - PetscMin(first, n)) / VL * VL;
  vec a = vset1(0), t[VL];

  for (; x0 + VL <= n - PetscMin(others, n); x0 += VL) {
    polesum_load(u, ld, nk, x0, n, t);
#pragma GCC unroll 16
    for (int i = 0; i < VL; i++) a = m * a + t[i];
  }
  y[0] = a;
  for (int s = 1; s < BCR_POLES; s++) y[s] = vset1(0);
  for (; x0 < n; x0 += VL) {
    polesum_load(u, ld, nk, x0, n, t);
    for (int i = 0; i < VL && x0 + i < n; i++) {
#pragma GCC unroll 8
      for (int s = 0; s < BCR_POLES; s++) y[s] = SUM_TAB(tab, s, BCR_SUM_MU) * y[s] + t[i];
    }
  }
}

/* sum_s w_s p_s, from two chains */
BCR_INLINE vec polesum_weighted(vec sum, const vec *w, const vec *p)
{
  vec other = w[1] * p[1];

  sum = w[0] * p[0] + sum;
#pragma GCC unroll 8
  for (int s = 2; s < BCR_POLES; s += 2) {
    sum = w[s] * p[s] + sum;
    other = w[s + 1] * p[s + 1] + other;
  }
  return sum + other;
}

/* nv columns of both recurrences; t: right-hand sides in, solutions out of the backward one */
BCR_INLINE void polesum_forward(const vec *mu, const vec *w, vec all, vec *p, const int nv, const vec *t, real *g,
                                real *sums)
{
#pragma GCC unroll 16
  for (int i = 0; i < nv; i++) {
    vstore(g + VL * i, t[i]);
#pragma GCC unroll 8
    for (int s = 0; s < BCR_POLES; s++) p[s] = mu[s] * p[s] + t[i];
    vstore(sums + VL * i, polesum_weighted(vset1(0) - all * t[i], w, p));
  }
}
BCR_INLINE void polesum_backward(const vec *mu, const vec *w, vec *p, const int nv, vec *t, const real *g,
                                 const real *sums)
{
#pragma GCC unroll 16
  for (int i = nv - 1; i >= 0; i--) {
    const vec h = vload(g + VL * i);

#pragma GCC unroll 8
    for (int s = 0; s < BCR_POLES; s++) p[s] = mu[s] * p[s] + h;
    t[i] = polesum_weighted(vload(sums + VL * i), w, p);
  }
}

/* VL modes, of which nk are there */
BCR_INLINE void polesum_modes(const BCRPoleSum *T, ptrdiff_t q, real *u, ptrdiff_t ld, const int nk, real *g,
                              real *sums)
{
  const real *tab = (const real *)T->tab + q * BCR_POLES * BCR_SUM_ROWS * VL;
  const ptrdiff_t n = T->n, end = (n - 1) / VL * VL; /* where the last columns begin, which may be few */
  const int nv = (int)(n - end);
  vec mu[BCR_POLES], w[BCR_POLES], p[BCR_POLES], t[VL], Z[BCR_POLES], Y[BCR_POLES], all = vset1(0), first, last;

#pragma GCC unroll 8
  for (int s = 0; s < BCR_POLES; s++) {
    mu[s] = SUM_TAB(tab, s, BCR_SUM_MU);
    w[s] = SUM_TAB(tab, s, BCR_SUM_W);
    Y[s] = vset1(0);
    all += w[s];
  }
  polesum_left(tab, u, ld, nk, n, T->near[0][q], T->near[1][q], Z);
  if (T->near[2][q]) polesum_right(tab, u, ld, nk, n, T->near[2][q], T->near[3][q], Y);
  polesum_load(u, ld, nk, n - 1, n, t);
  last = t[0];
  polesum_load(u, ld, nk, 0, n, t);
  first = t[0];
#pragma GCC unroll 8
  for (int s = 0; s < BCR_POLES; s++) {
    Z[s] *= mu[s];
    p[s] = SUM_TAB(tab, s, BCR_SUM_YZ) * Z[s] + SUM_TAB(tab, s, BCR_SUM_YY) * mu[s] * Y[s] +
           SUM_TAB(tab, s, BCR_SUM_Y0) * first + SUM_TAB(tab, s, BCR_SUM_YN) * last;
  }
  for (ptrdiff_t x = 0; x < end; x += VL) {
    polesum_load(u, ld, nk, x, n, t);
    polesum_forward(mu, w, all, p, VL, t, g + VL * x, sums + VL * x);
  }
  polesum_load(u, ld, nk, end, n, t);
  polesum_forward(mu, w, all, p, nv, t, g + VL * end, sums + VL * end);
#pragma GCC unroll 8
  for (int s = 0; s < BCR_POLES; s++)
    p[s] = SUM_TAB(tab, s, BCR_SUM_ZZ) * Z[s] + SUM_TAB(tab, s, BCR_SUM_ZY) * p[s] + SUM_TAB(tab, s, BCR_SUM_ZN) * last;
  for (int i = nv; i < VL; i++) t[i] = vset1(0);
  polesum_backward(mu, w, p, nv, t, g + VL * end, sums + VL * end);
  dtttranspose(t);
  for (int k = 0; k < nk; k++) dttstorepart(u + k * ld, end, t[k], nv, 0);
  for (ptrdiff_t x = end - VL; x >= 0; x -= VL) {
    polesum_backward(mu, w, p, VL, t, g + VL * x, sums + VL * x);
    dtttranspose(t);
#pragma GCC unroll 16
    for (int k = 0; k < nk; k++) vstore(u + k * ld + x, t[k]);
  }
}

static __attribute__((noinline)) void BCRN(polesum_some)(const BCRPoleSum *T, ptrdiff_t q, real *u, ptrdiff_t ld,
                                                         int nk, real *g, real *sums)
{
  polesum_modes(T, q, u, ld, nk, g, sums);
}
static __attribute__((noinline)) void BCRN(polesum_full)(const BCRPoleSum *T, ptrdiff_t q, real *u, ptrdiff_t ld,
                                                         real *g, real *sums)
{
  polesum_modes(T, q, u, ld, VL, g, sums);
}

static void BCRN(polesum_solve)(const BCRPoleSum *T, void *u, ptrdiff_t ld, void *work)
{
  real *g = (real *)work, *sums = g + (T->n + VL) * VL;

  for (ptrdiff_t q = 0, k = 0; k < T->nk; q++, k += VL) {
    if (k + VL <= T->nk) BCRN(polesum_full)(T, q, (real *)u + k * ld, ld, g, sums);
    else BCRN(polesum_some)(T, q, (real *)u + k * ld, ld, (int)(T->nk - k), g, sums);
  }
}
#undef SUM_TAB

static const BCRPoleSumTable BCRN(BCRPoleSums) = {BCRN(polesum_work), BCRN(polesum_solve)};
