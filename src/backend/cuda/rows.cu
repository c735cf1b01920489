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

/* BCRModelRow(), with the same roundings */
static __device__ __forceinline__ void model_row(const BCRCudaRows &m, const BCRCudaRowsModel &o, const int ix[3],
                                                 double in[7])
{
  const double *ax[3] = {o.axis[0] + ix[0], o.axis[1] + ix[1], o.axis[2] + ix[2]};
  double w = o.scale;

  in[CENTRE] = o.shift;
#pragma unroll
  for (int d = 0; d < 3; d++) w = __dmul_rn(w, ax[d][3 * m.n[d]]);
#pragma unroll
  for (int d = 0; d < 3; d++) {
    in[2 * d] = __dmul_rn(-w, ax[d][0]);
    in[2 * d + 1] = __dmul_rn(-w, ax[d][m.n[d]]);
    in[CENTRE] = __dadd_rn(in[CENTRE], ax[d][2 * m.n[d]]);
  }
  in[CENTRE] = __dmul_rn(in[CENTRE], w);
}

/* The largest deviation of the block, of equal ones the first, and whether any of its threads has
   found odd rows */
static __device__ __forceinline__ void found_of_block(BCRCudaRowsFound mine, BCRCudaRowsFound *found)
{
  __shared__ BCRCudaRowsFound warp[THREADS / 32];

  for (int s = 16; s > 0; s >>= 1) {
    const double v = __shfl_down_sync(0xffffffffu, mine.worst, s);
    const long long a = __shfl_down_sync(0xffffffffu, mine.where, s);

    mine.odd |= __shfl_down_sync(0xffffffffu, mine.odd, s);
    if (v > mine.worst || (v == mine.worst && a < mine.where)) {
      mine.worst = v;
      mine.where = a;
    }
  }
  if ((threadIdx.x & 31) == 0) warp[threadIdx.x >> 5] = mine;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int k = 1; k < THREADS / 32; k++) {
      mine.odd |= warp[k].odd;
      if (warp[k].worst > mine.worst || (warp[k].worst == mine.worst && warp[k].where < mine.where)) {
        mine.worst = warp[k].worst;
        mine.where = warp[k].where;
      }
    }
    found[blockIdx.x] = mine;
  }
}

/* One row a thread: as BCRRowGet() and BCRCheckRow() have it, and anything that these would report
   or keep for later is left to them (`odd`) */
template <typename I, typename R, int parts>
__global__ void __launch_bounds__(THREADS) compare_rows(BCRCudaRows m, const BCRCudaRowsModel *models, double plane_tol,
                                                        double same_tol, BCRCudaRowsFound *found)
{
  const unsigned rows = (unsigned)(m.dof * m.n[0] * m.n[1] * m.n[2]);
  BCRCudaRowsFound mine = {0, 0, 0};

  for (unsigned row = blockIdx.x * THREADS + threadIdx.x; row < rows; row += gridDim.x * THREADS) {
    const unsigned node = m.dof == 1 ? row : row / (unsigned)m.dof;
    const int c = m.dof == 1 ? 0 : (int)(row - node * (unsigned)m.dof);
    const unsigned line = node / (unsigned)m.n[0];
    const int ix[3] = {(int)(node - line * (unsigned)m.n[0]), (int)(line % (unsigned)m.n[1]),
                       (int)(line / (unsigned)m.n[1])};
    const BCRCudaRowsModel &o = models[c];
    double star[7] = {0, 0, 0, 0, 0, 0, 0}, in[7];
    int fits;

    mine.odd |= star_of<I, R, parts>(m, row, node, c, ix, star);
    fits = planes_fit(m, o, ix, star, plane_tol, same_tol);
    if (fits >= 0) { /* in a plane that has been dropped */
      mine.odd |= !fits;
      for (int e = 0; e < m.dim; e++)
        for (int s = 0; s < 2; s++)
          if (o.present[e][s] && ix[e] == (s ? m.n[e] - 1 : 0))
            mine.odd |= (double)(R)(1.0 / star[CENTRE]) != o.inv[e][s];
      continue;
    }
    model_row(m, o, ix, in);
#pragma unroll
    for (int k = 0; k < 7; k++) {
      const double model = (double)(R)in[k],
                   dev = fabs(star[k] - model) / (in[k] != 0 ? fabs(model) : fabs(in[CENTRE]));

      if (dev > mine.worst) {
        mine.worst = dev;
        mine.where = 8 * (long long)row + k;
      }
    }
  }
  found_of_block(mine, found);
}

int BCRCudaRowsCompare(BCRStream stream, const BCRCudaRows *rows, const BCRCudaRowsModel *models, double plane_tol,
                       double same_tol, int blocks, BCRCudaRowsFound *found)
{
  ROWS_LAUNCH(compare_rows, (unsigned)blocks, *rows, models, plane_tol, same_tol, found);
  return bcr_done();
}

/* BCRSurveyModel(), of a row that is no mask's: *most its largest deviation, in slot *slot */
static __device__ __forceinline__ int is_model(const BCRCudaRows &m, const BCRCudaRowsModel &o, const int ix[3],
                                               const double star[7], double plane_tol, double limit, double *most,
                                               int *slot)
{
  double in[7];
  int good = 1, coupled = 0;

  *most = 0;
  *slot = 0;
  for (int d = 0; d < 3; d++) good &= !(o.present[d][0] && ix[d] == 0) && !(o.present[d][1] && ix[d] == m.n[d] - 1);
  model_row(m, o, ix, in);
#pragma unroll
  for (int k = 0; k < 7; k++) {
    const double d = star[k] - in[k], dev = d == 0 ? 0 : fabs(d) / fabs(in[k] != 0 ? in[k] : in[CENTRE]);

    good &= dev <= limit;
    if (k < CENTRE) coupled |= fabs(star[k]) > plane_tol * fabs(star[CENTRE]);
    if (dev > *most) {
      *most = dev;
      *slot = k;
    }
  }
  return good && coupled;
}

/* The rows have the same, to the last bit: columns `step` further */
template <typename I, typename R, int parts>
static __device__ __forceinline__ int repeats(const BCRCudaRows &m, unsigned row, unsigned step)
{
  const I *ai = (const I *)m.i, *aj = (const I *)m.j;
  const R *aa = (const R *)m.a;
  const I at = ai[row], like = ai[row - step], n = ai[row + 1] - at;

  if (ai[row - step + 1] - like != n) return 0;
  for (I p = 0; p < n; p++) {
    if (aj[at + p] - aj[like + p] != (I)step) return 0;
    for (int q = 0; q < parts; q++)
      if (!(aa[parts * (at + p) + q] == aa[parts * (like + p) + q])) return 0;
  }
  return 1;
}

/* A warp for 32 nodes of a line */
template <typename I, typename R, int parts>
__global__ void __launch_bounds__(THREADS)
  survey_rows(BCRCudaRows m, const BCRCudaRowsModel *model, int c, const unsigned char *even, double plane_tol,
              double limit, unsigned *words, BCRCudaRowsFound *found)
{
  const int lane = threadIdx.x & 31, wide = (m.n[0] + 31) / 32;
  const unsigned all = (unsigned)wide * (unsigned)m.n[1] * (unsigned)m.n[2], dof = (unsigned)m.dof;
  BCRCudaRowsFound mine = {0, 0, 0};

  for (unsigned w = (blockIdx.x * THREADS + threadIdx.x) / 32; w < all; w += gridDim.x * (THREADS / 32)) {
    const unsigned line = w / (unsigned)wide;
    const int ix[3] = {(int)(w - line * (unsigned)wide) * 32 + lane, (int)(line % (unsigned)m.n[1]),
                       (int)(line / (unsigned)m.n[1])};
    int what = BCR_CUDA_SURVEY_MODEL;
    unsigned low, high;

    if (ix[0] < m.n[0]) {
      const unsigned node = line * (unsigned)m.n[0] + (unsigned)ix[0], row = dof * node + (unsigned)c;
      double star[7] = {0, 0, 0, 0, 0, 0, 0}, most;
      int slot;
      const int odd = star_of<I, R, parts>(m, row, node, c, ix, star);

      if (!odd && is_model(m, *model, ix, star, plane_tol, limit, &most, &slot)) {
        if (most > mine.worst) {
          mine.worst = most;
          mine.where = 8 * (long long)node + slot;
        }
      } else if (even[ix[0]] && repeats<I, R, parts>(m, row, dof)) what = BCR_CUDA_SURVEY_BESIDE;
      else if (even[m.n[0] + ix[1]] && repeats<I, R, parts>(m, row, dof * (unsigned)m.n[0]))
        what = BCR_CUDA_SURVEY_ABOVE;
      else what = BCR_CUDA_SURVEY_LOOK;
    }
    low = __ballot_sync(0xffffffffu, what & 1);
    high = __ballot_sync(0xffffffffu, what & 2);
    if (lane == 0) words[2 * w] = low;
    if (lane == 1) words[2 * w + 1] = high;
  }
  found_of_block(mine, found);
}

int BCRCudaRowsSurvey(BCRStream stream, const BCRCudaRows *rows, const BCRCudaRowsModel *model, int c,
                      const unsigned char *even, double plane_tol, double limit, int blocks, unsigned *words,
                      BCRCudaRowsFound *found)
{
  ROWS_LAUNCH(survey_rows, (unsigned)blocks, *rows, model, c, even, plane_tol, limit, words, found);
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
