/*
  Lines of either sign, or with a complex shift: waves.h. In double precision only.

  Row i after those above it have been eliminated is a_i u_i + c_i u_(i+1) = y_i. Of that and the next row the one with
  the larger entry in column i is kept,

      u_i = z_i - q_i u_(i+1) - r_i u_(i+2),

  and the other one goes on, so that no multiplier exceeds one. r is not zero where rows were swapped.
*/
#if !defined(BCR_REAL_SINGLE)

  #define WAVES_VECTORS (BCR_WAVES_BATCH / VL)

static size_t BCRN(waves_work)(ptrdiff_t n)
{
  return 4 * (size_t)n * BCR_WAVES_BATCH;
}

BCR_INLINE void waves_real(const BCRWavesLine *line, int pivot, const double *sigma, const double *scale, double *u,
                           ptrdiff_t ld, double *work)
{
  const ptrdiff_t n = line->n, size = n * BCR_WAVES_BATCH;
  double *q = work, *r = work + size;
  vec a[WAVES_VECTORS], c[WAVES_VECTORS], y[WAVES_VECTORS], s[WAVES_VECTORS], f[WAVES_VECTORS];

  for (int v = 0; v < WAVES_VECTORS; v++) {
    s[v] = vload(sigma + v * VL);
    f[v] = vload(scale + v * VL);
    a[v] = line->diag[0] + s[v];
    c[v] = vset1(-line->upper[0]);
    y[v] = f[v] * vload(u + v * VL);
  }
  for (ptrdiff_t i = 0; i + 1 < n; i++) {
    const vec l = vset1(-line->lower[i + 1]), e = vset1(i + 2 < n ? -line->upper[i + 1] : 0);

    __builtin_prefetch(u + (i + 1) * ld + BCR_WAVES_BATCH, 1);
    __builtin_prefetch(u + (i + 1) * ld + BCR_WAVES_BATCH + 8, 1);
  #pragma GCC unroll 8
    for (int v = 0; v < WAVES_VECTORS; v++) {
      const ptrdiff_t at = i * BCR_WAVES_BATCH + v * VL;
      double *here = u + i * ld + v * VL;
      const vec d = line->diag[i + 1] + s[v], g = f[v] * vload(here + ld);

      if (pivot) {
        const vmask swap = (vmask)(vabs(l) > vabs(a[v]));
        const vec inv = 1 / vselect(swap, l, a[v]), m = vselect(swap, a[v], l) * inv, kept = vselect(swap, d, c[v]),
                  beyond = (vec)((vmask)e & swap), z = vselect(swap, g, y[v]);

        a[v] = vselect(swap, c[v], d) - m * kept;
        c[v] = (e - beyond) - m * beyond;
        y[v] = vselect(swap, y[v], g) - m * z;
        vstore(q + at, kept * inv);
        vstore(r + at, beyond * inv);
        vstore(here, z * inv);
      } else {
        const vec inv = 1 / a[v], m = l * inv;

        vstore(q + at, c[v] * inv);
        vstore(here, y[v] * inv);
        a[v] = d - m * c[v];
        y[v] = g - m * y[v];
        c[v] = e;
      }
    }
  }
  for (int v = 0; v < WAVES_VECTORS; v++) {
    a[v] = y[v] / a[v]; /* the unknown of the row after, and the one after that */
    c[v] = vset1(0);
    vstore(u + (n - 1) * ld + v * VL, a[v]);
  }
  for (ptrdiff_t i = n - 2; i >= 0; i--) {
  #pragma GCC unroll 8
    for (int v = 0; v < WAVES_VECTORS; v++) {
      const ptrdiff_t at = i * BCR_WAVES_BATCH + v * VL;
      double *here = u + i * ld + v * VL;
      vec x = vload(here) - vload(q + at) * a[v];

      if (pivot) x -= vload(r + at) * c[v];
      c[v] = a[v];
      a[v] = x;
      vstore(here, x);
    }
  }
}

static void BCRN(waves_real_lines)(const BCRWavesLine *line, int pivot, const double *sigma, const double *scale,
                                   double *u, ptrdiff_t ld, double *work)
{
  if (pivot) waves_real(line, 1, sigma, scale, u, ld, work);
  else waves_real(line, 0, sigma, scale, u, ld, work);
}

/* Complex numbers by their parts */
typedef struct {
  vec re, im;
} wave;

BCR_INLINE wave wave_times(wave a, wave b)
{
  const wave p = {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};

  return p;
}

BCR_INLINE wave wave_minus(wave a, wave b)
{
  const wave d = {a.re - b.re, a.im - b.im};

  return d;
}

BCR_INLINE wave wave_select(vmask mask, wave a, wave b)
{
  const wave s = {vselect(mask, a.re, b.re), vselect(mask, a.im, b.im)};

  return s;
}

BCR_INLINE wave wave_inverse(wave a)
{
  const vec s = 1 / (a.re * a.re + a.im * a.im);
  const wave inv = {a.re * s, -a.im * s};

  return inv;
}

BCR_INLINE wave wave_load(const double *re, const double *im, ptrdiff_t at)
{
  const wave a = {vload(re + at), vload(im + at)};

  return a;
}

BCR_INLINE void wave_store(wave a, double *re, double *im, ptrdiff_t at)
{
  vstore(re + at, a.re);
  vstore(im + at, a.im);
}

/* The right-hand side at `at`, of the modes from `mode` on */
BCR_INLINE wave wave_rhs(const double *re, const double *im, const BCRWavesModes *m, ptrdiff_t mode, ptrdiff_t at)
{
  return wave_times(wave_load(m->scale[0], m->scale[1], mode), wave_load(re, im, at));
}

/* Its diagonal in row i of n */
BCR_INLINE wave wave_diagonal(const BCRWavesLine *line, const BCRWavesModes *m, ptrdiff_t mode, ptrdiff_t i)
{
  const ptrdiff_t n = line->n;
  const int row = i == 0 ? 0 : (i + 1 < n ? 1 : 2);
  wave d = wave_load(m->re[row], m->im[row], mode);

  if (n == 1) {
    d.re += vload(m->re[2] + mode) - vload(m->re[1] + mode);
    d.im += vload(m->im[2] + mode) - vload(m->im[1] + mode);
  }
  d.re += line->diag[i];
  return d;
}

  #define WAVES_TURN 2 /* vectors that go row by row in turn, while divisions of the others are on their way */

BCR_INLINE void waves_complex(const BCRWavesLine *line, int pivot, const BCRWavesModes *m, double *re, double *im,
                              ptrdiff_t ld, double *work)
{
  const ptrdiff_t n = line->n, size = n * BCR_WAVES_BATCH;
  double *qr = work, *qi = work + size, *rr = work + 2 * size, *ri = work + 3 * size;

  for (int first = 0; first < BCR_WAVES_BATCH; first += WAVES_TURN * VL) {
    wave a[WAVES_TURN], c[WAVES_TURN], y[WAVES_TURN];

    for (int v = 0; v < WAVES_TURN; v++) {
      a[v] = wave_diagonal(line, m, first + v * VL, 0);
      c[v].re = vset1(-line->upper[0]);
      c[v].im = vset1(0);
      y[v] = wave_rhs(re, im, m, first + v * VL, first + v * VL);
    }
    for (ptrdiff_t i = 0; i + 1 < n; i++) {
      const wave l = {vset1(-line->lower[i + 1]), vset1(0)}, e = {vset1(i + 2 < n ? -line->upper[i + 1] : 0), vset1(0)};

      __builtin_prefetch(re + (i + 1) * ld + first + BCR_WAVES_BATCH, 1);
      __builtin_prefetch(im + (i + 1) * ld + first + BCR_WAVES_BATCH, 1);
  #pragma GCC unroll 2
      for (int v = 0; v < WAVES_TURN; v++) {
        const ptrdiff_t mode = first + v * VL, at = i * BCR_WAVES_BATCH + mode, here = i * ld + mode;
        const wave d = wave_diagonal(line, m, mode, i + 1), g = wave_rhs(re, im, m, mode, here + ld);

        if (pivot) {
          const vmask swap = (vmask)(l.re * l.re > a[v].re * a[v].re + a[v].im * a[v].im);
          const wave inv = wave_inverse(wave_select(swap, l, a[v])), t = wave_times(wave_select(swap, a[v], l), inv),
                     kept = wave_select(swap, d, c[v]), z = wave_select(swap, g, y[v]);
          const vec beyond = (vec)((vmask)e.re & swap);

          a[v] = wave_minus(wave_select(swap, c[v], d), wave_times(t, kept));
          c[v].re = (e.re - beyond) - t.re * beyond;
          c[v].im = -t.im * beyond;
          y[v] = wave_minus(wave_select(swap, y[v], g), wave_times(t, z));
          wave_store(wave_times(kept, inv), qr, qi, at);
          vstore(rr + at, inv.re * beyond);
          vstore(ri + at, inv.im * beyond);
          wave_store(wave_times(z, inv), re, im, here);
        } else {
          const wave inv = wave_inverse(a[v]), t = {l.re * inv.re, l.re * inv.im};

          vstore(qr + at, c[v].re * inv.re);
          vstore(qi + at, c[v].re * inv.im);
          wave_store(wave_times(y[v], inv), re, im, here);
          a[v].re = d.re - t.re * c[v].re;
          a[v].im = d.im - t.im * c[v].re;
          y[v] = wave_minus(g, wave_times(t, y[v]));
          c[v] = e;
        }
      }
    }
    for (int v = 0; v < WAVES_TURN; v++) {
      a[v] = wave_times(y[v], wave_inverse(a[v])); /* the unknown of the row after, and the one after that */
      c[v].re = c[v].im = vset1(0);
      wave_store(a[v], re, im, (n - 1) * ld + first + v * VL);
    }
    for (ptrdiff_t i = n - 2; i >= 0; i--) {
  #pragma GCC unroll 2
      for (int v = 0; v < WAVES_TURN; v++) {
        const ptrdiff_t at = i * BCR_WAVES_BATCH + first + v * VL, here = i * ld + first + v * VL;
        wave x = wave_minus(wave_load(re, im, here), wave_times(wave_load(qr, qi, at), a[v]));

        if (pivot) x = wave_minus(x, wave_times(wave_load(rr, ri, at), c[v]));
        c[v] = a[v];
        a[v] = x;
        wave_store(x, re, im, here);
      }
    }
  }
}

static void BCRN(waves_complex_lines)(const BCRWavesLine *line, int pivot, const BCRWavesModes *modes, double *re,
                                      double *im, ptrdiff_t ld, double *work)
{
  if (pivot) waves_complex(line, 1, modes, re, im, ld, work);
  else waves_complex(line, 0, modes, re, im, ld, work);
}

static const BCRWavesTable BCRN(BCRWaves) = {BCRN(waves_work), BCRN(waves_real_lines), BCRN(waves_complex_lines)};

  #undef WAVES_TURN
  #undef WAVES_VECTORS
#endif
