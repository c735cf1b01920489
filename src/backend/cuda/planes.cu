/* Planes of boundary rows beside the box: src/poisson/planes.c on the device, a kernel for each of its loops */
#include "face.cuh"

#define FACE_NODE() \
  const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y; \
  const ptrdiff_t at = face.at + j * face.stride[0] + i * face.stride[1], \
                  q = face.q + j * face.qstride[0] + i * face.qstride[1]; \
  if (j >= face.n[0]) return; \
  (void)q

static dim3 face_grid(const BCRCudaFace *f)
{
  return dim3((unsigned)((f->n[0] + BCR_THREADS - 1) / BCR_THREADS), (unsigned)f->n[1]);
}
static int face_empty(const BCRCudaFace *f)
{
  return f->n[0] < 1 || f->n[1] < 1;
}

template <typename T>
__global__ void face_begin(BCRCudaFace face, ptrdiff_t nodestride, const T *f, T *u, int scaled)
{
  FACE_NODE();
  T v = f[at * nodestride];

  if (scaled) v = (T)((double)v * (face.inv ? face.inv[q] : face.inv0));
  u[at * nodestride] = v;
}

int BCRCudaFaceBegin(BCRStream stream, const BCRCudaFace *face, int single, ptrdiff_t nodestride, const void *f,
                     void *u, int scaled)
{
  if (face_empty(face)) return 0;
  BCR_CUDA_TYPE(single, face_begin<<<face_grid(face), BCR_THREADS, 0, bcr_stream(stream)>>>(
                          *face, nodestride, (const T *)f, (T *)u, scaled));
  return bcr_done();
}

template <typename T>
__global__ void face_slope(BCRCudaFace face, ptrdiff_t nodestride, T *u)
{
  FACE_NODE();
  u[at * nodestride] = (T)((double)u[at * nodestride] + face.slope * (double)u[(at + face.inward) * nodestride]);
}

int BCRCudaFaceSlope(BCRStream stream, const BCRCudaFace *face, int single, ptrdiff_t nodestride, void *u)
{
  if (face_empty(face)) return 0;
  BCR_CUDA_TYPE(single, face_slope<<<face_grid(face), BCR_THREADS, 0, bcr_stream(stream)>>>(*face, nodestride, (T *)u));
  return bcr_done();
}

struct All {
  const double *v;
  ptrdiff_t at, s[2];
};

template <typename T>
__global__ void face_end(BCRCudaFace face, ptrdiff_t nodestride, T *u, int couple, double coupling, double scale,
                         const double *w0, const double *w1, All all)
{
  FACE_NODE();
  double v = (double)u[at * nodestride];

  if (couple) {
    double entry = face.couplings ? face.couplings[q] : coupling * (w0 ? w0[j] : 1) * (w1 ? w1[i] : 1);

    if (all.v) entry /= all.v[all.at + j * all.s[0] + i * all.s[1]];
    v += entry * scale * (double)u[(at + face.inward) * nodestride];
  }
  u[at * nodestride] = (T)((face.inv ? face.inv[q] : face.inv0) * v);
}

int BCRCudaFaceEnd(BCRStream stream, const BCRCudaFace *face, int single, ptrdiff_t nodestride, void *u, int couple,
                   double coupling, double scale, const double *w0, const double *w1, const double *all, ptrdiff_t all0,
                   const ptrdiff_t alls[2])
{
  const All a = {
    all, all0, {all ? alls[0] : 0, all ? alls[1] : 0}
  };

  if (face_empty(face)) return 0;
  BCR_CUDA_TYPE(single, face_end<<<face_grid(face), BCR_THREADS, 0, bcr_stream(stream)>>>(
                          *face, nodestride, (T *)u, couple, coupling, scale, w0, w1, a));
  return bcr_done();
}

template <typename R, typename T>
__global__ void face_move(BCRCudaFaceTerm term, ptrdiff_t nodestride, const R *u, T *t, ptrdiff_t ts0, ptrdiff_t ts1)
{
  const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
  T *p = t + j * ts0 + i * ts1;

  if (j >= term.face.n[0]) return;
  *p = (T)((double)*p + bcr_face_term(term, nodestride, u, j, i));
}

int BCRCudaFaceMove(BCRStream stream, const BCRCudaFaceTerm *term, int single, ptrdiff_t nodestride, const void *u,
                    int t_single, void *t, const ptrdiff_t ts[3])
{
  const dim3 g = face_grid(&term->face);
  const ptrdiff_t t0 = term->end * ts[term->axis], s0 = ts[term->other[0]], s1 = ts[term->other[1]];
  cudaStream_t cudastream = bcr_stream(stream);

  if (face_empty(&term->face)) return 0;
  if (single && t_single)
    face_move<<<g, BCR_THREADS, 0, cudastream>>>(*term, nodestride, (const float *)u, (float *)t + t0, s0, s1);
  else if (single)
    face_move<<<g, BCR_THREADS, 0, cudastream>>>(*term, nodestride, (const float *)u, (double *)t + t0, s0, s1);
  else if (t_single)
    face_move<<<g, BCR_THREADS, 0, cudastream>>>(*term, nodestride, (const double *)u, (float *)t + t0, s0, s1);
  else face_move<<<g, BCR_THREADS, 0, cudastream>>>(*term, nodestride, (const double *)u, (double *)t + t0, s0, s1);
  return bcr_done();
}

template <typename T>
__global__ void edge_begin(int n, const BCRCudaEdge *__restrict__ e, ptrdiff_t nodestride, const T *f, T *u, int scaled)
{
  const int b = blockIdx.x * blockDim.x + threadIdx.x;

  if (b < n)
    u[e[b].at * nodestride] = scaled ? (T)((double)f[e[b].at * nodestride] * e[b].inv) : f[e[b].at * nodestride];
}
template <typename T>
__global__ void edge_slope(int n, const BCRCudaEdge *__restrict__ e, ptrdiff_t nodestride, T *u, int transpose)
{
  const int b = blockIdx.x * blockDim.x + threadIdx.x;

  if (b >= n) return;
  if (!transpose) {
    if (e[b].slope != 0)
      u[e[b].at * nodestride] = (T)((double)u[e[b].at * nodestride] + e[b].slope * (double)u[e[b].from * nodestride]);
  } else if (b == 0 ||
             e[b - 1].from !=
               e[b].from) { /* the first of those with one neighbour does it for all, in the same order every time */
    T v = u[e[b].from * nodestride];

    for (int a = b; a < n && e[a].from == e[b].from; a++)
      if (e[a].slope != 0) v = (T)((double)v + e[a].slope * (double)u[e[a].at * nodestride]);
    u[e[b].from * nodestride] = v;
  }
}
template <typename T>
__global__ void edge_scale(int n, const BCRCudaEdge *__restrict__ e, ptrdiff_t nodestride, T *u)
{
  const int b = blockIdx.x * blockDim.x + threadIdx.x;

  if (b < n) u[e[b].at * nodestride] = (T)((double)u[e[b].at * nodestride] * e[b].inv);
}

int BCRCudaEdgeBegin(BCRStream stream, int n, const BCRCudaEdge *e, int single, ptrdiff_t nodestride, const void *f,
                     void *u, int scaled)
{
  if (n < 1) return 0;
  BCR_CUDA_TYPE(single, edge_begin<<<(n + BCR_THREADS - 1) / BCR_THREADS, BCR_THREADS, 0, bcr_stream(stream)>>>(
                          n, e, nodestride, (const T *)f, (T *)u, scaled));
  return bcr_done();
}

int BCRCudaEdgeSlope(BCRStream stream, int n, const BCRCudaEdge *e, int single, ptrdiff_t nodestride, void *u,
                     int transpose)
{
  if (n < 1) return 0;
  BCR_CUDA_TYPE(single, edge_slope<<<(n + BCR_THREADS - 1) / BCR_THREADS, BCR_THREADS, 0, bcr_stream(stream)>>>(
                          n, e, nodestride, (T *)u, transpose));
  return bcr_done();
}

int BCRCudaEdgeScale(BCRStream stream, int n, const BCRCudaEdge *e, int single, ptrdiff_t nodestride, void *u)
{
  if (n < 1) return 0;
  BCR_CUDA_TYPE(single, edge_scale<<<(n + BCR_THREADS - 1) / BCR_THREADS, BCR_THREADS, 0, bcr_stream(stream)>>>(
                          n, e, nodestride, (T *)u));
  return bcr_done();
}

template <typename T>
__global__ void apart_begin(int n, const BCRCudaEdge *__restrict__ e, ptrdiff_t nodestride, const T *f, double *w)
{
  const int k = blockIdx.x * blockDim.x + threadIdx.x;

  if (k < n) w[k] = e[k].inv * (double)f[e[k].at * nodestride];
}

template <typename T>
__global__ void apart_end(int n, const BCRCudaEdge *__restrict__ e, ptrdiff_t nodestride, const double *w, T *u)
{
  const int k = blockIdx.x * blockDim.x + threadIdx.x;

  if (k < n) u[e[k].at * nodestride] = (T)w[k];
}

int BCRCudaApartBegin(BCRStream stream, int n, const BCRCudaEdge *e, int single, ptrdiff_t nodestride, const void *f,
                      double *w)
{
  if (n < 1) return 0;
  BCR_CUDA_TYPE(single, apart_begin<<<(n + BCR_THREADS - 1) / BCR_THREADS, BCR_THREADS, 0, bcr_stream(stream)>>>(
                          n, e, nodestride, (const T *)f, w));
  return bcr_done();
}

int BCRCudaApartEnd(BCRStream stream, int n, const BCRCudaEdge *e, int single, ptrdiff_t nodestride, const double *w,
                    void *u)
{
  if (n < 1) return 0;
  BCR_CUDA_TYPE(single, apart_end<<<(n + BCR_THREADS - 1) / BCR_THREADS, BCR_THREADS, 0, bcr_stream(stream)>>>(
                          n, e, nodestride, w, (T *)u));
  return bcr_done();
}
