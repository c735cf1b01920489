/* box.cuh: which kernel, tables of the transforms */
#include "box.h"
#include "reduced.cuh"
#include <cmath>
#include <cstdlib>

/* Unknowns of convolutions, in single precision: fewer, and those of double precision, are products. From 160 unknowns
   on convolutions were faster on an H200, in double 21 % slower (commit ae50e47: 400^3 2.83 to 2.23 ms) */
enum {
  CHIRP_LEAST = 160,
  CHIRP_MOST = 512
};

int bcr_box_columns_double(const BCRCudaBoxPass *p, const void *f, void *u, cudaStream_t stream);
int bcr_box_planes_double(const BCRCudaBoxPlanes *p, void *u, cudaStream_t stream, int *fits);
int bcr_box_half_double(const BCRCudaBoxPlanes *p, int up, void *u, const BCRReduced &red, cudaStream_t stream);
int bcr_box_half_float(const BCRCudaBoxPlanes *p, int up, void *u, const BCRReduced &red, cudaStream_t stream);
int bcr_box_columns_float(const BCRCudaBoxPass *p, const void *f, void *u, cudaStream_t stream);
int bcr_box_planes_float(const BCRCudaBoxPlanes *p, void *u, cudaStream_t stream, int *fits);

int BCRCudaBoxPossible(int N)
{
  return N == 128 || N == 256 || N == 512;
}

/* e^(-i pi m/N) */
static void root(int N, int m, double w[2])
{
  /* angle pi (q/2 + r/(2 N)), |r| <= N/2: an eighth of the period goes into the sine or cosine */
  const int q = (4 * m + N) / (2 * N), r = 2 * m - q * N;
  const double c = cos(0.5 * 3.14159265358979323846 * r / N), s = sin(0.5 * 3.14159265358979323846 * r / N);

  w[0] = q % 2 ? (q % 4 == 1 ? -s : s) : (q % 4 == 0 ? c : -c);
  w[1] = q % 2 ? (q % 4 == 1 ? -c : c) : (q % 4 == 0 ? -s : s);
}

int BCRCudaBoxRoots(int N, double *w)
{
  const int first = N / 16 + 1, split = N / 128; /* sines.cuh */
  int n = 2 * N + 8 * first + 16 * split;

  if (!w) return n;
  n = 0;
  for (int m = 0; m < 2 * N; m++, n++) root(N, m, w + 2 * n);
  for (int r = 1; r <= 8; r++)
    for (int p = 0; p < first; p++, n++) root(N, r * p, w + 2 * n);
  for (int s = 0; s < split; s++)
    for (int q = 0; q < 16; q++, n++) root(N, 16 * q * s, w + 2 * n);
  return n;
}

int BCRCudaBoxLength(int N, int single)
{
  const int n = N - 1;

  if (BCRCudaBoxPossible(N)) return N;
  if (!single || N % 2 == 0 || n > CHIRP_MOST || n < CHIRP_LEAST) return 0;
  return n > 256 ? 512 : 256;
}

/* e^(-i pi j^2/N), j <= h = (N - 1)/2, then what a convolution with q_n = e^(i pi n^2/N), |n| <= 2
   h <= L, multiplies mode k < L by: i/(2 L) sum_n q_n e^(-i pi n k/L) of a line of period 2 L,
   where the two transforms are each twice too large and the result is to be, too */
int BCRCudaBoxChirp(int N, int L, double *w)
{
  const int h = (N - 1) / 2;
  double *q, *c; /* of q_n the conjugate; cosines */

  if (L == N) return 0;
  if (!w) return h + 1 + L;
  q = (double *)malloc((size_t)(4 * h + 2 + 2 * L) * sizeof(double));
  if (!q) return 0;
  c = q + 4 * h + 2;
  for (int j = 0; j <= 2 * h; j++) {
    root(N, (int)((long long)j * j % (2 * N)), q + 2 * j);
    if (j <= h) {
      w[2 * j] = q[2 * j];
      w[2 * j + 1] = q[2 * j + 1];
    }
  }
  for (int i = 0; i < 2 * L; i++) {
    double e[2];

    root(L, i, e);
    c[i] = e[0];
  }
  w += 2 * (h + 1);
  for (int k = 0; k < L; k++) {
    double x = 1, y = 0;

    for (int n = 1; n <= 2 * h; n++) {
      const double f = (n == L ? 1 : 2) * c[(long long)n * k % (2 * L)]; /* both ends are one */

      x += f * q[2 * n];
      y -= f * q[2 * n + 1];
    }
    w[2 * k] = -y / (2. * L);
    w[2 * k + 1] = x / (2. * L);
  }
  free(q);
  return h + 1 + L;
}

int BCRCudaBoxFits(const BCRCudaBoxPlanes *p, int single)
{
  int fits = 0;

  (void)(single ? bcr_box_planes_float(p, NULL, NULL, &fits) : bcr_box_planes_double(p, NULL, NULL, &fits));
  return fits;
}

int BCRCudaBoxBlocks(const BCRCudaBoxPlanes *p)
{
  return (p->n + 2 * BCR_BOX_EVEN_PAIRS - 1) / (2 * BCR_BOX_EVEN_PAIRS);
}

int BCRCudaBoxColumns(BCRStream stream, const BCRCudaBoxPass *p, int single, const void *f, void *u)
{
  if (p->nx < 1 || p->nb < 1) return 0;
  return single ? bcr_box_columns_float(p, f, u, bcr_stream(stream))
                : bcr_box_columns_double(p, f, u, bcr_stream(stream));
}

int BCRCudaBoxSolve(BCRStream stream, const BCRCudaBoxPlanes *p, int single, void *u)
{
  if (p->n < 1 || p->planes < 1) return 0;
  return single ? bcr_box_planes_float(p, u, bcr_stream(stream), NULL)
                : bcr_box_planes_double(p, u, bcr_stream(stream), NULL);
}

static int box_half(cudaStream_t stream, const BCRCudaBoxPlanes *p, int up, int single, void *u, const BCRReduced &red)
{
  if (p->planes < 1) return 0;
  return single ? bcr_box_half_float(p, up, u, red, stream) : bcr_box_half_double(p, up, u, red, stream);
}

int BCRCudaBoxHalf(BCRStream stream, const BCRCudaBoxPlanes *p, int up, int single, void *u)
{
  return box_half(bcr_stream(stream), p, up, single, u, BCRReduced());
}

int BCRCudaBoxHalfReduced(BCRStream stream, const BCRCudaBoxPlanes *p, int up, int single, void *u,
                          const BCRCudaBorderRows *rows, const double *received, int part, const BCRCudaWindow *w)
{
  BCRReduced red = {*rows, received, part, 0, {}};

  if (w) red.window = *w;
  return box_half(bcr_stream(stream), p, up, single, u, red);
}
