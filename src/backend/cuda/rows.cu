/* Reading a matrix in compressed rows that lies on the device: a few rows of it, and every row
   compared with a separable operator */
#include "rows.cuh"

/* BCRPlanesOf() and BCRPlanesRowFits(), with the same roundings; m: a model or planes. 1: it fits, 0: it does not, -1:
   the node is in no plane */
template <typename M>
static __device__ int planes_fit(const BCRCudaRows &rows, const M &m, const int ix[3], const double star[7],
                                 double plane_tol, double same_tol)
{
  const double tol = plane_tol * fabs(star[CENTRE]);
  int side[3], planes = 0, place = 0, good = 1;

#pragma unroll
  for (int d = 2; d >= 0; d--) {
    side[d] = m.present[d][0] && ix[d] == 0 ? -1 : (m.present[d][1] && ix[d] == rows.n[d] - 1 ? 1 : 0);
    planes += side[d] != 0;
    place = 3 * place + side[d] + 1;
  }
  if (!planes) return -1;
#pragma unroll
  for (int k = 0; k < 6; k++) {
    const int d = k / 2, s = side[d] > 0;
    const double slope = fabs(star[k]) > tol ? -star[k] / star[CENTRE] : 0,
                 want = side[d] && k % 2 != s ? (planes == 1 ? m.slope[d][s] : m.corner[place][d]) : 0;

    if ((slope == 0) != (want == 0) || fabs(slope - want) > same_tol * fmax(1.0, fabs(slope))) good = 0;
  }
  return good;
}

/* BCRRowGet(): the star of a row; anything that it would report or keep for later is `odd` */
template <typename I, typename R, int parts>
static __device__ __forceinline__ int star_of(const BCRCudaRows &m, unsigned row, unsigned node, int c, const int ix[3],
                                              double star[7])
{
  const I *ai = (const I *)m.i, *aj = (const I *)m.j;
  const R *aa = (const R *)m.a;
  int odd = 0;

  for (I p = ai[row]; p < ai[row + 1]; p++) {
    const unsigned to = (unsigned)aj[p] / (unsigned)m.dof;
    const double v = (double)aa[parts * p];
    const int k =
      (int)((unsigned)aj[p] - to * (unsigned)m.dof) == c ? slot_of(m, ix, (long long)to - (long long)node) : -1;

    odd |= !(fabs(v) <= 1.7976931348623157e308) || (k < 0 && v != 0);
    if (parts == 2) odd |= aa[parts * p + parts - 1] != 0;
#pragma unroll
    for (int q = 0; q < 7; q++)
      if (q == k) star[q] += v;
  }
  return odd | (star[CENTRE] == 0);
}

/* One row a thread: as BCRRowGet() and BCRCheckRow() have it, and anything that these would report
   or keep for later is left to them (`odd`) */
template <typename I, typename R, int parts>
__global__ void __launch_bounds__(THREADS) compare_rows(BCRCudaRows m, const BCRCudaRowsModel *models, double plane_tol,
                                                        double same_tol, BCRCudaRowsFound *found)
{
  const unsigned rows = (unsigned)(m.dof * m.n[0] * m.n[1] * m.n[2]);
  double worst = 0;
  long long where = 0;
  int odd = 0;
  __shared__ struct {
    double worst;
    long long where;
    int odd;
  } warp[THREADS / 32];

  for (unsigned row = blockIdx.x * THREADS + threadIdx.x; row < rows; row += gridDim.x * THREADS) {
    const unsigned node = m.dof == 1 ? row : row / (unsigned)m.dof;
    const int c = m.dof == 1 ? 0 : (int)(row - node * (unsigned)m.dof);
    const unsigned line = node / (unsigned)m.n[0];
    const int ix[3] = {(int)(node - line * (unsigned)m.n[0]), (int)(line % (unsigned)m.n[1]),
                       (int)(line / (unsigned)m.n[1])};
    const BCRCudaRowsModel &o = models[c];
    double star[7] = {0, 0, 0, 0, 0, 0, 0};
    int fits;

    odd |= star_of<I, R, parts>(m, row, node, c, ix, star);
    fits = planes_fit(m, o, ix, star, plane_tol, same_tol);
    if (fits >= 0) { /* in a plane that has been dropped */
      odd |= !fits;
      for (int e = 0; e < m.dim; e++)
        for (int s = 0; s < 2; s++)
          if (o.present[e][s] && ix[e] == (s ? m.n[e] - 1 : 0)) odd |= (double)(R)(1.0 / star[CENTRE]) != o.inv[e][s];
      continue;
    }
    {
      const double *x = o.axis[0] + ix[0], *y = o.axis[1] + ix[1], *z = o.axis[2] + ix[2];
      const int nx = m.n[0], ny = m.n[1], nz = m.n[2];
      const double w = __dmul_rn(__dmul_rn(__dmul_rn(o.scale, x[3 * nx]), y[3 * ny]), z[3 * nz]);
      const double in[7] = {__dmul_rn(-w, x[0]),
                            __dmul_rn(-w, x[nx]),
                            __dmul_rn(-w, y[0]),
                            __dmul_rn(-w, y[ny]),
                            __dmul_rn(-w, z[0]),
                            __dmul_rn(-w, z[nz]),
                            __dmul_rn(__dadd_rn(__dadd_rn(__dadd_rn(o.shift, x[2 * nx]), y[2 * ny]), z[2 * nz]), w)};

#pragma unroll
      for (int k = 0; k < 7; k++) {
        const double model = (double)(R)in[k],
                     dev = fabs(star[k] - model) / (in[k] != 0 ? fabs(model) : fabs(in[CENTRE]));

        if (dev > worst) {
          worst = dev;
          where = 8 * (long long)row + k;
        }
      }
    }
  }
  for (int s = 16; s > 0; s >>= 1) {
    const double v = __shfl_down_sync(0xffffffffu, worst, s);
    const long long a = __shfl_down_sync(0xffffffffu, where, s);

    odd |= __shfl_down_sync(0xffffffffu, odd, s);
    if (v > worst || (v == worst && a < where)) {
      worst = v;
      where = a;
    }
  }
  if ((threadIdx.x & 31) == 0) {
    warp[threadIdx.x >> 5].worst = worst;
    warp[threadIdx.x >> 5].where = where;
    warp[threadIdx.x >> 5].odd = odd;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int k = 1; k < THREADS / 32; k++) {
      odd |= warp[k].odd;
      if (warp[k].worst > worst || (warp[k].worst == worst && warp[k].where < where)) {
        worst = warp[k].worst;
        where = warp[k].where;
      }
    }
    found[blockIdx.x].worst = worst;
    found[blockIdx.x].where = where;
    found[blockIdx.x].odd = odd;
  }
}

int BCRCudaRowsCompare(BCRStream stream, const BCRCudaRows *rows, const BCRCudaRowsModel *models, double plane_tol,
                       double same_tol, int blocks, BCRCudaRowsFound *found)
{
  ROWS_LAUNCH(compare_rows, (unsigned)blocks, *rows, models, plane_tol, same_tol, found);
  return bcr_done();
}

/* row r of line l: its entries to out[(l most + r) width ...] */
template <typename I, typename R, int parts>
__global__ void take_rows(BCRCudaRows m, BCRCudaRowLines lines, R *out)
{
  const I *ai = (const I *)m.i;
  const R *aa = (const R *)m.a;
  const int l = blockIdx.y;

  for (int r = blockIdx.x * THREADS + threadIdx.x; r < lines.count[l] * m.dof; r += gridDim.x * THREADS) {
    const I row = (lines.first[l] + (I)(r / m.dof) * lines.step[l]) * m.dof + r % m.dof;
    R *to = out + ((size_t)l * lines.most + r) * lines.width * parts;

    for (I p = ai[row]; p < ai[row + 1] && p - ai[row] < lines.width; p++)
      for (int q = 0; q < parts; q++) to[(p - ai[row]) * parts + q] = aa[p * parts + q];
  }
}

int BCRCudaRowsTake(BCRStream stream, const BCRCudaRows *rows, const BCRCudaRowLines *lines, void *out)
{
  const dim3 grid((unsigned)((lines->most + THREADS - 1) / THREADS), (unsigned)lines->n);

  ROWS_LAUNCH(take_rows, grid, *rows, *lines, (R *)out);
  return bcr_done();
}

template <typename I, typename R, int parts>
__global__ void __launch_bounds__(THREADS)
  search_rows(BCRCudaRows m, BCRCudaRowsPlanes planes, double plane_tol, double same_tol, int *found)
{
  const int end = blockIdx.y, d = end / 2, u = d == 0 ? 1 : 0, v = d == 2 ? 1 : 2;
  int wrong = 0;

  if (!planes.present[d][end % 2]) return;
  for (int q = blockIdx.x * THREADS + threadIdx.x; q < m.n[u] * m.n[v]; q += gridDim.x * THREADS) {
    int ix[3];
    double star[7] = {0, 0, 0, 0, 0, 0, 0};
    unsigned node;

    ix[u] = q % m.n[u];
    ix[v] = q / m.n[u];
    ix[d] = end % 2 ? m.n[d] - 1 : 0;
    node = (unsigned)(ix[0] + m.n[0] * (ix[1] + m.n[1] * ix[2]));
    if (star_of<I, R, parts>(m, node * (unsigned)m.dof + (unsigned)planes.c, node, planes.c, ix, star)) {
      wrong |= 2;
      continue;
    }
    if (!planes_fit(m, planes, ix, star, plane_tol, same_tol)) wrong |= 1;
  }
  for (int s = 16; s > 0; s >>= 1) wrong |= __shfl_xor_sync(0xffffffffu, wrong, s);
  if ((threadIdx.x & 31) == 0 && wrong) atomicOr(&found[end], wrong);
}

int BCRCudaRowsSearch(BCRStream stream, const BCRCudaRows *rows, const BCRCudaRowsPlanes *planes, double plane_tol,
                      double same_tol, int found[6])
{
  int most = 1;

  for (int d = 0; d < rows->dim; d++) {
    const int nodes = rows->n[d == 0 ? 1 : 0] * rows->n[d == 2 ? 1 : 2];

    if (nodes > most) most = nodes;
  }
  ROWS_LAUNCH(search_rows, dim3((unsigned)((most + THREADS - 1) / THREADS), 6), *rows, *planes, plane_tol, same_tol,
              found);
  return bcr_done();
}
