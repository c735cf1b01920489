#include "dttimpl.h"

static void BCRTablePut(void *table, PetscBool single, size_t k, long double v)
{
  if (single) ((float *)table)[k] = (float)v;
  else ((double *)table)[k] = (double)v;
}

static PetscErrorCode BCRTableNew(size_t n, PetscBool single, void **table, size_t *bytes)
{
  const size_t size = n * (single ? sizeof(float) : sizeof(double));

  PetscFunctionBegin;
  PetscCall(PetscMalloc(size, table));
  *bytes += size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRRootCreate(int p, PetscBool single, size_t *bytes, void **root)
{
  long double c, s;

  PetscFunctionBegin;
  PetscCall(BCRTableNew(2 * (size_t)p, single, root, bytes));
  for (int k = 0; k < p; k++) {
    BCRUnit(k, p, &c, &s);
    BCRTablePut(*root, single, 2 * (size_t)k, c);
    BCRTablePut(*root, single, 2 * (size_t)k + 1, s);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int BCRSmallestPrime(int n)
{
  for (int p = 2; (PetscInt64)p * p <= n; p++)
    if (n % p == 0) return p;
  return n;
}

static PetscInt64 BCRPowerMod(PetscInt64 a, PetscInt64 e, PetscInt64 p)
{
  PetscInt64 r = 1;

  for (; e; e >>= 1, a = a * a % p)
    if (e & 1) r = r * a % p;
  return r;
}

static int BCRGenerator(int p)
{
  for (int g = 2; g < p; g++) {
    PetscBool ok = PETSC_TRUE;

    for (int m = p - 1; m > 1 && ok;) {
      const int q = BCRSmallestPrime(m);

      if (BCRPowerMod(g, (p - 1) / q, p) == 1) ok = PETSC_FALSE;
      while (m % q == 0) m /= q;
    }
    if (ok) return g;
  }
  return 1;
}

static PetscErrorCode BCRFftDestroy(BCRFft *fft)
{
  BCRFft f = *fft;

  PetscFunctionBegin;
  if (!f) PetscFunctionReturn(PETSC_SUCCESS);
  for (int l = 0; l < f->nlevels; l++) {
    PetscCall(PetscFree(f->level[l].tw));
    PetscCall(PetscFree(f->level[l].root));
    PetscCall(PetscFree(f->level[l].perm));
    PetscCall(PetscFree(f->level[l].kernel));
    PetscCall(BCRFftDestroy(&f->level[l].conv));
  }
  PetscCall(PetscFree(*fft));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the FFT by the plan's own levels in long double, for the kernels of Rader's convolution; root: 2
   pi q/f->n, t: 2 f->n */
static void BCRFftHost(BCRFft f, int l, const long double *root, const long double *x, ptrdiff_t xs, long double *y,
                       long double *t)
{
  const int r = f->level[l].radix, m = f->level[l].m;
  const PetscInt64 size = (PetscInt64)r * m, step = f->n / size;

  for (int j = 0; j < r; j++) {
    if (m > 1) BCRFftHost(f, l + 1, root, x + 2 * j * xs, r * xs, y + 2 * (ptrdiff_t)j * m, t);
    else {
      y[2 * j] = x[2 * j * xs];
      y[2 * j + 1] = x[2 * j * xs + 1];
    }
  }
  for (int k = 0; k < m; k++) {
    for (int q = 0; q < r; q++) {
      t[2 * q] = t[2 * q + 1] = 0;
      for (int j = 0; j < r; j++) {
        const long double *w = root + 2 * (j * (k + (PetscInt64)m * q) % size * step),
                          *v = y + 2 * (k + (ptrdiff_t)j * m);

        t[2 * q] += w[0] * v[0] + w[1] * v[1];
        t[2 * q + 1] += w[0] * v[1] - w[1] * v[0];
      }
    }
    for (int q = 0; q < r; q++) {
      y[2 * (k + (ptrdiff_t)q * m)] = t[2 * q];
      y[2 * (k + (ptrdiff_t)q * m) + 1] = t[2 * q + 1];
    }
  }
}


static PetscErrorCode BCRFftCreate(int n, PetscBool single, size_t *bytes, BCRFft *fft);

/* what is left of m without the primes that have a butterfly of their own */
static int BCRRough(int m)
{
  for (int p = 2; p <= BCR_FFT_DIRECT; p++)
    while (m % p == 0) m /= p;
  return m;
}

/* a length whose FFT is cheap for a convolution of length m: m itself, or the inputs padded with
   zeros as for Bluestein's transform. One prime may take a convolution of its own, but none in
   that: each adds its rounding, 6e-7 in single precision with three of them */
static int BCRConvolutionLength(int m)
{
  int rest = BCRRough(m), S;

  if (rest == 1 || (rest <= 200 && BCRSmallestPrime(rest) == rest && BCRRough(rest - 1) == 1)) return m;
  for (S = 2 * m - 1;; S++) {
    for (rest = S; rest % 2 == 0;) rest /= 2;
    for (; rest % 3 == 0;) rest /= 3;
    for (; rest % 5 == 0;) rest /= 5;
    if (rest == 1) return S;
  }
}

/* FFT of the kernel K_0..K_{m-1} of a convolution of length m (K_{j+m} = sign K_j), over its
   length, with factors 1/length */
static PetscErrorCode BCRConvolutionKernel(BCRFft f, int m, int sign, const long double *K, PetscBool single,
                                           size_t *bytes, void **kernel)
{
  const int S = f->n;
  long double *root, *x, *y, *t;

  PetscFunctionBegin;
  PetscCall(BCRTableNew(2 * (size_t)S, single, kernel, bytes));
  PetscCall(PetscMalloc4(2 * (size_t)S, &root, 2 * (size_t)S, &x, 2 * (size_t)S, &y, 2 * (size_t)S, &t));
  for (int k = 0; k < 2 * S; k++) x[k] = k < 2 * m ? K[k] : 0;
  for (int k = 0; k < S; k++) BCRUnit(k, S, &root[2 * k], &root[2 * k + 1]);
  for (int k = 1; k < m && S > m; k++) {
    x[2 * (S - k)] = sign * K[2 * (m - k)];
    x[2 * (S - k) + 1] = sign * K[2 * (m - k) + 1];
  }
  BCRFftHost(f, 0, root, x, 1, y, t);
  for (int k = 0; k < 2 * S; k++) BCRTablePut(*kernel, single, k, y[k] / S);
  PetscCall(PetscFree4(root, x, y, t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rader: X_{g^-q} = x_0 + sum_p x_{g^p} w^{g^(p-q)} */
static PetscErrorCode BCRFftRader(BCRFftLevel *v, PetscBool single, size_t *bytes)
{
  const int p = v->radix, m = p - 1, g = BCRGenerator(p), gi = (int)BCRPowerMod(g, p - 2, p);
  PetscInt64 a = 1, b = 1;
  long double *K;

  PetscFunctionBegin;
  PetscCall(BCRFftCreate(BCRConvolutionLength(m), single, bytes, &v->conv));
  PetscCall(PetscMalloc1(2 * (size_t)m, &v->perm));
  *bytes += 2 * (size_t)m * sizeof(int);
  PetscCall(PetscMalloc1(2 * (size_t)m, &K));
  for (int k = 0; k < m; k++) {
    v->perm[k] = (int)a;
    v->perm[m + k] = (int)b;
    BCRUnit(p - b, p, &K[2 * k], &K[2 * k + 1]);
    a = a * g % p;
    b = b * gi % p;
  }
  BCRCallElse(BCRConvolutionKernel(v->conv, m, 1, K, single, bytes, &v->kernel), (void)PetscFree(K));
  PetscCall(PetscFree(K));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRFftCreate(int n, PetscBool single, size_t *bytes, BCRFft *fft)
{
  static const double flops[9] = {0, 0, 4, 16, 16, 40, 0, 0, 52};
  BCRFft f;
  int r[BCR_FFT_LEVELS], nr = 0, rest = n, two = 0, size = n;
  long double c, s;

  PetscFunctionBegin;
  PetscCall(PetscNew(&f));
  *fft = f;
  f->n = n;
  for (; rest % 2 == 0; rest /= 2) two++;
  while (two > 0) { /* as few levels as 8 allows, 4 4 in place of 8 2 */
    const int k = two == 1 ? 1 : (two == 2 || two == 4 ? 2 : 3);

    r[nr++] = 1 << k;
    two -= k;
  }
  for (int i = 0, j = nr - 1; i < j; i++, j--) { /* smallest first */
    const int t = r[i];

    r[i] = r[j];
    r[j] = t;
  }
  for (; rest > 1; rest /= r[nr - 1]) {
    r[nr] = BCRSmallestPrime(rest);
    nr++;
  }
  if (!nr) r[nr++] = 1;
  *bytes += sizeof(*f);
  f->nlevels = nr;
  for (int l = 0; l < nr; l++) {
    BCRFftLevel *v = &f->level[l];
    const int p = r[l], m = size / p;
    double work = p <= 8 ? flops[p] : 0;
    size_t need = 0;

    v->radix = p;
    v->m = m;
    if (m > 1) {
      PetscCall(BCRTableNew(2 * (size_t)m * (p - 1), single, &v->tw, bytes));
      for (int k = 0; k < m; k++)
        for (int j = 1; j < p; j++) {
          BCRUnit((PetscInt64)j * k, size, &c, &s);
          BCRTablePut(v->tw, single, 2 * ((size_t)k * (p - 1) + j - 1), c);
          BCRTablePut(v->tw, single, 2 * ((size_t)k * (p - 1) + j - 1) + 1, -s);
        }
    }
    if (p > BCR_FFT_DIRECT) {
      PetscCall(BCRFftRader(v, single, bytes));
      need = 2 * (size_t)p + 2 * (size_t)v->conv->n + v->conv->scratch;
      work = 2 * v->conv->flops + 8. * v->conv->n;
    } else if (p == 7 || p > 8) {
      PetscCall(BCRRootCreate(p, single, bytes, &v->root));
      need = 2 * (size_t)p;
      work = 2. * (p - 1) * (p - 1) + 7. * p;
    }
    f->scratch = PetscMax(f->scratch, need);
    f->flops += (double)(n / p) * work + (m > 1 ? 6. * (m - 1) * (p - 1) * (n / size) : 0);
    size = m;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRSymMatrixDestroy(BCRSymMatrix *M)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(M->sum));
  PetscCall(PetscFree(M->rest));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRSymDestroy(BCRSym *sym)
{
  BCRSym v = *sym;

  PetscFunctionBegin;
  if (!v) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscFree2(v->from, v->to));
  PetscCall(BCRSymMatrixDestroy(&v->ca));
  PetscCall(BCRSymMatrixDestroy(&v->sa));
  PetscCall(BCRSymMatrixDestroy(&v->cb));
  PetscCall(BCRSymMatrixDestroy(&v->sb));
  PetscCall(BCRFftDestroy(&v->fft));
  PetscCall(BCRSymDestroy(&v->sub));
  PetscCall(BCRFftDestroy(&v->big));
  PetscCall(PetscFree(v->tw));
  PetscCall(PetscFree(v->root));
  PetscCall(PetscFree(v->perm));
  PetscCall(PetscFree(v->in));
  PetscCall(PetscFree(v->kernel));
  PetscCall(PetscFree(v->out));
  PetscCall(PetscFree(*sym));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* operations of a product with the cosines or sines of order p in so many parts, complex vectors; rows are padded */
static double BCRSymProductFlops(int p, int odd, int ways)
{
  const int h = (p - 1) / 2, m = h / ways, N = m + !odd, rest = h - m, K = BCR_SYM_ROWS;

  return 4. * ((N + K - 1) / K * K * N + (rest + K - 1) / K * K * rest) + (ways > 1 ? 4. * h * ways : 0);
}

/* the parts that it takes: of a prime several, if that is cheaper */
static int BCRSymWays(int p, int odd)
{
  const int h = (p - 1) / 2;
  int best = 1;

  for (int ways = 2; ways <= 3 && BCRSmallestPrime(p) == p; ways++)
    if (h % ways == 0 && !(odd && ways == 2) && BCRSymProductFlops(p, odd, ways) < BCRSymProductFlops(p, odd, best))
      best = ways;
  return best;
}

/* the indices 0 and, up to their sign, 1..(p-1)/2: powers of a generator where that splits a
   matrix, the second third with a minus, for which sines have the period h */
static void BCRSymOrder(int p, int *order)
{
  const int h = (p - 1) / 2, g = BCRSymWays(p, 0) > 1 || BCRSymWays(p, 1) > 1 ? BCRGenerator(p) : 0,
            third = BCRSymWays(p, 1) == 3 ? h / 3 : h;

  order[0] = 0;
  for (PetscInt64 i = 1, power = 1; i <= h; i++, power = power * g % p)
    order[i] = (int)(!g ? i : (i > third && i <= 2 * third ? p - power : power));
}

/* row i and column j, both from 0, of what symproduct() takes, of order N; more rows are zero */
static void BCRSymPut(void *matrix, PetscBool single, int N, int i, int j, long double v)
{
  BCRTablePut(matrix, single, ((size_t)(i / BCR_SYM_ROWS) * N + j) * BCR_SYM_ROWS + i % BCR_SYM_ROWS, v);
}

/* factor: of all columns but that of index 0 */
static PetscErrorCode BCRSymMatrixCreate(int p, const int *order, int odd, int factor, PetscBool single, size_t *bytes,
                                         BCRSymMatrix *M)
{
  const int h = (p - 1) / 2, w = BCRSymWays(p, odd), m = h / w, first = odd ? 1 : 0, N = m + 1 - first, rest = h - m;
  const int size[2] = {N, rest};
  long double *root;

  PetscFunctionBegin;
  M->h = h;
  M->zero = !odd;
  M->ways = w;
  for (int k = 0; k < 2; k++) {
    const int rows = (size[k] + BCR_SYM_ROWS - 1) / BCR_SYM_ROWS * BCR_SYM_ROWS;

    if (!size[k]) continue;
    PetscCall(BCRTableNew((size_t)rows * size[k], single, k ? &M->rest : &M->sum, bytes));
    for (int i = 0; i < rows; i++)
      for (int j = 0; j < size[k]; j++) BCRSymPut(k ? M->rest : M->sum, single, size[k], i, j, 0);
  }
  PetscCall(PetscMalloc1(2 * p, &root));
  for (int q = 0; q < p; q++) BCRUnit(q, p, &root[2 * q], &root[2 * q + 1]);
  for (int i = first; i <= m; i++)
    for (int j = first; j <= m; j++) {
      long double f[3], mean = 0;

      for (int r = 0; r < w; r++) {
        f[r] = (j ? factor : 1) * root[2 * ((PetscInt64)order[i] * order[j ? j + r * m : 0] % p) + odd];
        mean += f[r] / w;
      }
      BCRSymPut(M->sum, single, N, i - first, j - first, i ? mean : f[0]);
      for (int c = 0; c < w - 1 && i && j; c++)
        for (int a = 0; a < w - 1; a++) BCRSymPut(M->rest, single, rest, c * m + i - 1, a * m + j - 1, f[a + c] - mean);
    }
  PetscCall(PetscFree(root));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double BCRSymPairFlops(int a, int b)
{
  double flops = 0;

  for (int odd = 0; odd < 2; odd++)
    flops += (a + 1) / 2 * BCRSymProductFlops(b, odd, BCRSymWays(b, odd)) +
             (b + 1) / 2 * BCRSymProductFlops(a, odd, BCRSymWays(a, odd));
  return flops;
}

/* place of index p of n, folded */
static int BCRSymPlace(PetscInt64 p, int n, int odd)
{
  p %= n;
  return (int)(2 * p < n ? p : (odd ? -1 - (n - p) : n - p));
}

static PetscErrorCode BCRSymPairCreate(BCRSym v, int a, int b, int odd, PetscBool single, size_t *bytes)
{
  const int n = v->n, A = (a + 1) / 2, B = (b + 1) / 2;
  PetscInt64 ea = b, eb = a; /* 1 mod a and 0 mod b, and the other way round */
  int *oa, *ob;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  while (ea % a != 1) ea += b;
  while (eb % b != 1) eb += a;
  v->a = a;
  v->b = b;
  PetscCall(PetscMalloc2(2 * A * B, &v->from, 2 * A * B, &v->to));
  *bytes += 4 * (size_t)A * B * sizeof(int);
  PetscCall(PetscMalloc2(A, &oa, B, &ob));
  BCRSymOrder(a, oa);
  BCRSymOrder(b, ob);
  for (int i = 0; i < A; i++)
    for (int j = 0; j < B; j++)
      for (int minus = 0; minus < 2; minus++) {
        const PetscInt64 jj = minus ? b - ob[j] : ob[j];

        v->from[2 * (i * B + j) + minus] = BCRSymPlace((PetscInt64)b * oa[i] + a * jj, n, odd);
        v->to[2 * (j * A + i) + minus] = BCRSymPlace(ea * oa[i] + eb * jj, n, odd);
      }
  ierr = BCRSymMatrixCreate(a, oa, 0, 2, single, bytes, &v->ca);
  if (!ierr) ierr = BCRSymMatrixCreate(a, oa, 1, 2, single, bytes, &v->sa);
  if (!ierr) ierr = BCRSymMatrixCreate(b, ob, 0, 1, single, bytes, &v->cb);
  if (!ierr) ierr = BCRSymMatrixCreate(b, ob, 1, 1, single, bytes, &v->sb);
  PetscCall(PetscFree2(oa, ob));
  PetscCall(ierr);
  v->scratch = 2 * (size_t)A * B + 4 * (size_t)PetscMax(A, B);
  v->flops = BCRSymPairFlops(a, b);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* sum_p z_p sin (cos) 2 pi p k/n at p = g^a, k = g^-c: sum_a u_a K_{c-a}, K_j = sin (cos) 2 pi
   g^-j/n, j mod h with K_{j+h} = -K_j (K_j) */
static PetscErrorCode BCRSymConvolution(BCRSym v, int odd, PetscBool single, size_t *bytes)
{
  const int n = v->n, h = (n - 1) / 2, S = BCRConvolutionLength(h), g = BCRGenerator(n),
            gi = (int)BCRPowerMod(g, n - 2, n);
  PetscInt64 a = 1, b = 1;
  long double *K, c, s, k2[2];

  PetscFunctionBegin;
  PetscCall(BCRFftCreate(S, single, bytes, &v->fft));
  PetscCall(PetscMalloc1(2 * (size_t)h, &v->perm));
  *bytes += 2 * (size_t)h * sizeof(int);
  PetscCall(BCRTableNew(2 * (size_t)h, single, &v->in, bytes));
  PetscCall(BCRTableNew(2 * (size_t)h, single, &v->out, bytes));
  PetscCall(PetscMalloc1(2 * (size_t)h, &K));
  for (int k = 0; k < h; k++) {
    const int sa = odd && 2 * a > n ? -1 : 1, sb = odd && 2 * b > n ? -1 : 1;

    v->perm[k] = (int)(2 * a > n ? n - a : a);
    v->perm[h + k] = (int)(2 * b > n ? n - b : b);
    c = 1;
    s = 0;
    if (odd && S == h) { /* twist e^{-i pi k/h}, (-1)^k where h is odd: a factor -1 after h */
      if (h % 2) c = k % 2 ? -1 : 1;
      else BCRUnit(k, 2 * (PetscInt64)h, &c, &s);
    }
    BCRTablePut(v->in, single, 2 * (size_t)k, sa * c);
    BCRTablePut(v->in, single, 2 * (size_t)k + 1, -sa * s);
    BCRTablePut(v->out, single, 2 * (size_t)k, 2 * sb * c);
    BCRTablePut(v->out, single, 2 * (size_t)k + 1, 2 * sb * s);
    BCRUnit(b, n, &k2[0], &k2[1]);
    K[2 * k] = k2[odd] * c;
    K[2 * k + 1] = -k2[odd] * s;
    a = a * g % n;
    b = b * gi % n;
  }
  BCRCallElse(BCRConvolutionKernel(v->fft, h, odd ? -1 : 1, K, single, bytes, &v->kernel), (void)PetscFree(K));
  PetscCall(PetscFree(K));
  v->scratch = 2 * (size_t)S + v->fft->scratch;
  v->flops = 2 * v->fft->flops + 8. * S + 14. * h;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRSymCreate(int n, int odd, PetscBool single, size_t *bytes, BCRSym *sym);

static PetscErrorCode BCRSymTransformCreate(int n, int odd, PetscBool single, size_t *bytes, BCRSym *sym)
{
  const int r = BCRSmallestPrime(n), m = n / r, h = (m + 1) / 2;
  BCRSym v;
  long double c, s;

  PetscFunctionBegin;
  PetscCall(PetscNew(&v));
  *sym = v;
  v->n = n;
  v->radix = r;
  v->m = m;
  *bytes += sizeof(*v);
  if (n == 1) PetscFunctionReturn(PETSC_SUCCESS);
  if (m == 1 && n > 2 * BCR_FFT_DIRECT) {
    PetscCall(BCRSymConvolution(v, odd, single, bytes));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BCRRootCreate(r, single, bytes, &v->root));
  if (m == 1) {
    v->flops = 1. * (n - 1) * (n - 1);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BCRFftCreate(m, single, bytes, &v->fft));
  PetscCall(BCRSymCreate(m, odd, single, bytes, &v->sub));
  if (r > BCR_FFT_DIRECT) PetscCall(BCRFftCreate(r, single, bytes, &v->big));
  PetscCall(BCRTableNew((size_t)h * (r - 1), single, &v->tw, bytes));
  for (int k = 0; k < h; k++)
    for (int j = 1; 2 * j < r; j++) {
      BCRUnit((PetscInt64)j * k, n, &c, &s);
      BCRTablePut(v->tw, single, (size_t)k * (r - 1) + 2 * (j - 1), c);
      BCRTablePut(v->tw, single, (size_t)k * (r - 1) + 2 * (j - 1) + 1, -s);
    }
  v->scratch = (size_t)h + (size_t)m * (r - 1) / 2 + m + 2 * (size_t)r +
               PetscMax(PetscMax(v->fft->scratch, v->sub->scratch), v->big ? v->big->scratch : 0);
  v->flops = (r - 1) / 2 * v->fft->flops + v->sub->flops +
             h * ((v->big ? v->big->flops : 2. * (r - 1) * (r - 1)) + 6. * (r - 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the greatest common divisor of both is 1 */
static PetscBool BCRCoprime(int a, int b)
{
  while (b) {
    const int r = a % b;

    a = b;
    b = r;
  }
  return a == 1 ? PETSC_TRUE : PETSC_FALSE;
}

/* by transforms, or in two dimensions where that is cheaper */
static PetscErrorCode BCRSymCreate(int n, int odd, PetscBool single, size_t *bytes, BCRSym *sym)
{
  size_t own = 0;
  int best = 0;
  double most;

  PetscFunctionBegin;
  PetscCall(BCRSymTransformCreate(n, odd, single, &own, sym));
  most = BCR_SYM_FASTER * (*sym)->flops;
  for (int a = 3; (PetscInt64)a * a < n; a += 2)
    if (n % a == 0 && BCRCoprime(a, n / a) && BCRSymPairFlops(a, n / a) < most) {
      best = a;
      most = BCRSymPairFlops(a, n / a);
    }
  if (best) {
    BCRSym v;

    PetscCall(BCRSymDestroy(sym));
    PetscCall(PetscNew(&v));
    own = sizeof(*v);
    *sym = v;
    v->n = n;
    PetscCall(BCRSymPairCreate(v, best, n / best, odd, single, &own));
  }
  *bytes += own;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* phi_j(i) = sin or cos of 2 pi (ia i + ib) (ja j + jb)/F in lowest terms; F = fn n + f0 */
typedef struct {
  int odd, ia, ib, ja, jb, fn, f0;
} BCRDttType;

static BCRDttType dtt_type(const BCRAxisModes *m)
{
  const int half = m->offset % 2,
            apart = m->first % 2; /* the first row is half a cell from the mirror; sine here, cosine there */
  BCRDttType t;

  t.odd = m->odd;
  t.ia = half ? 2 : 1;
  t.ib = half ? m->offset : m->offset / 2;
  t.ja = apart ? 2 : 1;
  t.jb = apart ? m->first : m->first / 2;
  t.fn = 2 * t.ia * t.ja;
  t.f0 = (int)(t.ia * t.ja * m->length - t.fn * (PetscInt64)m->n);
  return t;
}

/* one halving, M its half length: even M the tables of type III by a half-length FFT, odd M those for two lines */
static PetscErrorCode BCRDttSplitCreate(int M, PetscBool single, size_t *bytes, BCRDttSplit *s)
{
  const int H = M % 2 ? M : M / 2;
  size_t e = 0;
  long double c[2];

  PetscFunctionBegin;
  s->M = M;
  PetscCall(BCRFftCreate(H, single, bytes, &s->fft));
  PetscCall(BCRTableNew(4 * (size_t)(H / 2 + 1), single, &s->tw, bytes));
  for (int k = M % 2 ? 0 : 1; 2 * k < H; k++)
    for (int j = 0; j < (M % 2 ? 1 : 2); j++, e += 2) {
      BCRUnit((j ? 5 : 1) * (PetscInt64)k, 4 * (PetscInt64)M, &c[0], &c[1]);
      BCRTablePut(s->tw, single, e, c[0] / 2);
      BCRTablePut(s->tw, single, e + 1, c[1] / 2);
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* type I of length L: split while even, down to 8; sines down to 4, those of length 64, 128, 256 in two steps */
static PetscErrorCode BCRDttOneCreate(BCRDtt d, int L)
{
  PetscFunctionBegin;
  d->kind = BCR_DTT_ONE;
  for (; L % 2 == 0 && L > 2 && L != 8 && !(d->odd && (L == 4 || L == 64 || L == 128 || L == 256)); L /= 2) {
    BCRDttSplit *s = &d->split[d->nsplit++];

    PetscCall(BCRDttSplitCreate(L / 2, d->single, &d->bytes, s));
    if (s->M % 2) d->lines = 2;
    d->scratch = PetscMax(d->scratch, (s->M % 2 ? 2 : 1) * (size_t)s->M + s->fft->scratch);
    d->flops += (s->M % 2 ? s->fft->flops / 2 : s->fft->flops) + 6.5 * s->M;
  }
  d->base = L;
  if (L == 8) d->flops += 40;
  else if (d->odd && L == 4) d->flops += 5;
  else if (d->odd && (L == 64 || L == 128 || L == 256)) {
    const int M = L == 256 ? 32 : 16, R = 2 * L / M;
    size_t e = 0;
    long double c, s;

    PetscCall(BCRTableNew((size_t)(M - 2) * (R / 2 - 1), d->single, &d->sine, &d->bytes));
    for (int k = 1; 2 * k < M; k++)
      for (int r = 1; 2 * r < R; r++, e += 2) {
        BCRUnit((PetscInt64)r * k, 2 * (PetscInt64)L, &c, &s);
        BCRTablePut(d->sine, d->single, e, c);
        BCRTablePut(d->sine, d->single, e + 1, s);
      }
    d->scratch = PetscMax(d->scratch, (size_t)(M / 2 + 1) * (R + 1) / 2 + 1);
    d->flops += L == 64 ? 640 : (L == 128 ? 1534 : 3714);
  } else if (L > 2) {
    PetscCall(BCRSymCreate(L, d->odd, d->single, &d->bytes, &d->sym));
    d->scratch = PetscMax(d->scratch, (size_t)L + 1 + d->sym->scratch);
    d->flops += d->sym->flops + 3. * L;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRDttFourCreate(BCRDtt d)
{
  const int n = d->n;
  long double c, s;

  PetscFunctionBegin;
  d->kind = BCR_DTT_FOUR;
  PetscCall(BCRFftCreate(n / 2, d->single, &d->bytes, &d->fft));
  PetscCall(BCRTableNew(n, d->single, &d->in, &d->bytes));
  for (int k = 0; 2 * k < n; k++) {
    BCRUnit(8 * (PetscInt64)k + 1, 16 * (PetscInt64)n, &c, &s);
    BCRTablePut(d->in, d->single, 2 * (size_t)k, c);
    BCRTablePut(d->in, d->single, 2 * (size_t)k + 1, -s);
  }
  d->scratch = n + d->fft->scratch;
  d->flops = d->fft->flops + 6. * n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* base: in two steps (dttreal_kernels.h) */
static PetscErrorCode BCRDttRealCreate(BCRDtt d)
{
  const int n = d->n, M = n / 8;
  long double c, s;
  size_t e = 0;

  PetscFunctionBegin;
  d->kind = BCR_DTT_REAL;
  if (n == 64 || n == 128 || n == 256) {
    d->base = n;
    PetscCall(BCRTableNew(14 * (size_t)(M / 2 - 1), d->single, &d->in, &d->bytes));
    for (int k = 1; 2 * k < M; k++)
      for (int r = 1; r < 8; r++, e += 2) {
        BCRUnit((PetscInt64)r * k, n, &c, &s);
        BCRTablePut(d->in, d->single, e, c);
        BCRTablePut(d->in, d->single, e + 1, s);
      }
    d->scratch = (size_t)(M / 2 + 1) * (2 * 8 + 1) / 2 + 1;
    d->flops = n == 64 ? 552 : (n == 128 ? 1289 : 3045);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(BCRFftCreate(n / 2, d->single, &d->bytes, &d->fft));
  PetscCall(BCRTableNew(2 * (size_t)(n / 4 + 1), d->single, &d->in, &d->bytes));
  for (int k = 0; k <= n / 4; k++) {
    BCRUnit(k, n, &c, &s);
    BCRTablePut(d->in, d->single, 2 * (size_t)k, c / 2);
    BCRTablePut(d->in, d->single, 2 * (size_t)k + 1, s / 2);
  }
  d->scratch = n + d->fft->scratch;
  d->flops = d->fft->flops + 4. * n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the characters mod 8 that cos and sin of pi m/4 are (times sqrt(1/2)) at odd m, and their product, -1 for 3 mod 4 */
static int BCRCos8(PetscInt64 m)
{
  return m % 8 == 1 || m % 8 == 7 ? 1 : -1;
}
static int BCRSin8(PetscInt64 m)
{
  return m % 8 == 1 || m % 8 == 3 ? 1 : -1;
}
static int BCRSign4(PetscInt64 m)
{
  return m % 4 == 1 ? 1 : -1;
}

static PetscInt64 BCRInverseMod(PetscInt64 a, PetscInt64 N)
{
  for (PetscInt64 k = 0; k < a; k++) /* a divides 1 + k N for one k < a */
    if ((1 + k * N) % a == 0) return (1 + k * N) / a % N;
  return 0;
}

static void BCRDttPairPut(BCRDtt d, int k, int second, int pos, long double c, long double s)
{
  d->pos[2 * k + second] = pos;
  BCRTablePut(d->rot, d->single, 4 * (size_t)k + 2 * second, c / 2);
  BCRTablePut(d->rot, d->single, 4 * (size_t)k + 2 * second + 1, s / 2);
}

/* type: 0 periodic, 2 types II and III, 4 type IV; n odd for these */
static PetscErrorCode BCRDttPairCreate(BCRDtt d, int type)
{
  const int n = d->n, odd = d->odd;
  long double c, s;

  PetscFunctionBegin;
  d->kind = BCR_DTT_PAIR;
  d->lines = 2;
  PetscCall(BCRFftCreate(n, d->single, &d->bytes, &d->fft));
  PetscCall(PetscMalloc2(n, &d->perm, n + 2, &d->pos));
  d->bytes += (2 * (size_t)n + 2) * sizeof(int);
  PetscCall(BCRTableNew(n, d->single, &d->in, &d->bytes));
  PetscCall(BCRTableNew(2 * (size_t)n + 4, d->single, &d->rot, &d->bytes));
  d->pos[1] = -1;
  BCRDttPairPut(d, 0, 0, type == 2 && odd ? n - 1 : 0, 2, 0);
  /* 2 pi ab/(8 n) by the Chinese remainder theorem: 1/(8n) = n/8 + beta/n; ab is odd, so cos, sin
     of pi nab/4 are signs */
  if (type == 4) {
    const PetscInt64 beta = BCRInverseMod(8, n);
    const long double h = sqrtl(0.5L);
    char *used;

    PetscCall(PetscCalloc1(n, &used));
    for (int i = 0; i < n; i++) {
      const PetscInt64 a = 2 * (PetscInt64)i + 1, f = beta * a % n;
      const int r = (int)(BCRSign4(a) > 0 ? a % n : (n - a % n) % n), k = (int)PetscMin(f, n - f);

      d->perm[r] = i;
      BCRTablePut(d->in, d->single, r, odd ? BCRSin8(a) : BCRCos8(a));
      c = h * BCRCos8(n) * BCRCos8(a);
      s = h * BCRSin8(n) * BCRSin8(a);
      if (!f) BCRDttPairPut(d, 0, 0, i, 2 * (odd ? s : c), 0);
      else BCRDttPairPut(d, k, used[k]++, i, odd ? s : c, (f == k ? 1 : -1) * (odd ? c : -s));
    }
    PetscCall(PetscFree(used));
  } else {
    for (int k = 0; k < n; k++) {
      const PetscBool first = (PetscBool)(2 * k < n);

      d->perm[k] = type == 0 ? k : (first ? 2 * k : 2 * (n - 1 - k) + 1);
      BCRTablePut(d->in, d->single, k, type == 2 && odd && !first ? -1 : 1);
    }
    for (int k = 1; 2 * k < n; k++) {
      BCRUnit(type == 2 ? k : 0, 4 * (PetscInt64)n, &c, &s);
      BCRDttPairPut(d, k, 0, type == 0 ? 2 * k - 1 : (odd ? n - 1 - k : k), c, -s);
      BCRDttPairPut(d, k, 1, type == 0 ? 2 * k : (odd ? k - 1 : n - k), s, c);
    }
    if (n % 2 == 0) BCRDttPairPut(d, n / 2, 0, n - 1, 2, 0);
  }
  d->scratch = 2 * (size_t)n + d->fft->scratch;
  d->flops = d->fft->flops / 2 + 10. * n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* odd period N: a or b even where F = 2N, else shifted by N: trig(pi a b/N) = (-1)^a trig(pi a (b +
   N)/N); F = 4N: both odd, Chinese remainders 1/(4N) = (N mod 4)/4 + beta/N turn cosines into sines
   and sines into cosines */
static PetscErrorCode BCRDttSymCreate(BCRDtt d, const BCRDttType *t, PetscInt64 F)
{
  const int n = d->n;
  const PetscInt64 N = F % 2 ? F : (F % 4 ? F / 2 : F / 4), beta = F == 4 * N ? BCRInverseMod(4, N) : 1;

  PetscFunctionBegin;
  d->kind = BCR_DTT_SYM;
  d->lines = 2;
  if (F == 4 * N) d->odd = !t->odd;
  PetscCall(BCRSymCreate((int)N, d->odd, d->single, &d->bytes, &d->sym));
  PetscCall(PetscMalloc2(n, &d->perm, n, &d->pos));
  PetscCall(BCRTableNew(n, d->single, &d->in, &d->bytes));
  PetscCall(BCRTableNew(n, d->single, &d->rot, &d->bytes));
  d->bytes += 2 * (size_t)n * sizeof(int);
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < n; i++) {
      /* 1: any integer, 2: odd where the form has F > N */
      const int step = k ? t->ja : t->ia, other = k ? t->ia : t->ja;
      PetscInt64 a = (PetscInt64)step * i + (k ? t->jb : t->ib);
      int sign = 1;

      if (F == 2 * N) {
        if (step == 2 && a % 2) a = (a + N) / 2;
        else if (other == 2 && a % 2) sign = -1;
      } else if (F == 4 * N) {
        sign = BCRSign4(a);
        if (k) { /* cos: -sin of the first angle, sin: + */
          sign *= BCRSign4(N) * (t->odd ? 1 : -1);
          a = a % N * beta;
        }
      }
      a %= N;
      if (2 * a > N) {
        a = N - a;
        if (d->odd) sign = -sign;
      }
      (k ? d->pos : d->perm)[i] = (int)a;
      BCRTablePut(k ? d->rot : d->in, d->single, i, sign);
    }
  d->scratch = (size_t)N + 1 + d->sym->scratch;
  d->flops = d->sym->flops / 2 + 3. * n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDttCreate(PetscInt n, BCREnd left, BCREnd right, PetscBool single, BCRDtt *dtt)
{
  BCRAxisModes modes;
  BCRDttType type, *t = NULL;
  BCRDtt d;
  PetscInt64 F;
  long double c[2];

  PetscFunctionBegin;
  PetscCheck(n >= 1 && n <= (1 << 26), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
             "An axis of %" PetscInt_FMT " unknowns cannot be transformed: 1 to 2^26", n);
  PetscCheck(BCRAxisModesDescribe(n, left, right, &modes), PETSC_COMM_SELF, PETSC_ERR_SUP,
             "No transform for an axis with ends %s and %s", BCREndGetRule(left).name, BCREndGetRule(right).name);
  type = dtt_type(&modes);
  if (!modes.periodic) t = &type;
  PetscCall(PetscNew(&d));
  *dtt = d;
  d->n = (int)n;
  d->single = single;
  d->bytes = sizeof(*d);
  d->lines = 1;
  d->odd = t ? t->odd : 0;
  d->half[0] = BCREndGetRule(left).weight < 1;
  d->half[1] = BCREndGetRule(right).weight < 1;
  F = t ? (PetscInt64)t->fn * n + t->f0 : n;
  PetscCall(PetscMalloc2(n, &d->lambda, n, &d->norm));
  d->bytes += 2 * (size_t)n * sizeof(double);
  BCRAxisModesGetValues(&modes, d->lambda, d->norm);
  if (n == 1) {
    d->half[0] = d->half[0] || d->half[1]; /* the row counts half once */
    d->half[1] = 0;
    if (t) BCRUnit((PetscInt64)t->ib * t->jb, PetscMax(F, 1), &c[0], &c[1]);
    else c[0] = 1;
    d->kind = BCR_DTT_SCALE;
    PetscCall(BCRTableNew(1, single, &d->in, &d->bytes));
    BCRTablePut(d->in, single, 0, c[d->odd]);
  } else if (!t && n % 2 == 0) PetscCall(BCRDttRealCreate(d));
  else if (!t) PetscCall(BCRDttPairCreate(d, 0));
  else if (t->fn == 2 && t->f0 % 2 == 0) PetscCall(BCRDttOneCreate(d, (int)(F / 2)));
  else if (t->f0) PetscCall(BCRDttSymCreate(d, t, F));
  else if (t->fn == 8) {
    if (n % 2) PetscCall(BCRDttPairCreate(d, 4));
    else PetscCall(BCRDttFourCreate(d));
  } else {
    d->flip = t->jb && t->ja == 2; /* odd frequencies: the analysis is type III */
    if (n % 2) PetscCall(BCRDttPairCreate(d, 2));
    else {
      d->kind = BCR_DTT_TWO;
      d->nsplit = 1;
      PetscCall(BCRDttSplitCreate(d->n, single, &d->bytes, &d->split[0]));
      d->scratch = n + d->split[0].fft->scratch;
      d->flops = d->split[0].fft->flops + 6.5 * n;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDttDestroy(BCRDtt *dtt)
{
  BCRDtt d = *dtt;

  PetscFunctionBegin;
  if (!d) PetscFunctionReturn(PETSC_SUCCESS);
  for (int l = 0; l < d->nsplit; l++) {
    PetscCall(PetscFree(d->split[l].tw));
    PetscCall(BCRFftDestroy(&d->split[l].fft));
  }
  PetscCall(PetscFree2(d->lambda, d->norm));
  PetscCall(PetscFree2(d->perm, d->pos));
  PetscCall(PetscFree(d->in));
  PetscCall(PetscFree(d->rot));
  PetscCall(PetscFree(d->sine));
  PetscCall(BCRFftDestroy(&d->fft));
  PetscCall(BCRSymDestroy(&d->sym));
  PetscCall(PetscFree(*dtt));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDttGetModes(BCRDtt d, const double **lambda, const double **norm)
{
  PetscFunctionBegin;
  if (lambda) *lambda = d->lambda;
  if (norm) *norm = d->norm;
  PetscFunctionReturn(PETSC_SUCCESS);
}

double BCRDttFlops(BCRDtt d)
{
  return d->flops;
}

size_t BCRDttTableBytes(BCRDtt d)
{
  return d->bytes;
}

int BCRDttLines(BCRDtt d)
{
  return d->lines;
}

size_t BCRDttWork(BCRDtt d, int lanes)
{
  return (size_t)lanes * (2 * (size_t)d->lines * (size_t)d->n + 2 * (d->scratch + BCR_FFT_SCRATCH));
}
