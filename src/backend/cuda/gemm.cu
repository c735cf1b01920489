/*
  Products with a stored matrix along an axis of a box, by cuBLAS. With axis 0 contiguous a box is a matrix, column by
  column, or one for each plane:

      axis 0    U = M F      F: n0 x (n1 n2), or n0 x n1 for each plane across axis 2
      axis 1    U = F M^T    F: n0 x n1 for each plane across axis 2
      axis 2    U = F M^T    F: (n0 n1) x n2, or n0 x n2 for each plane across axis 1

  The first where planes (rows) follow one another in both arrays: one product, which cuBLAS cuts as it likes.
*/
#include "common.cuh"
#include "gemm.h"
#include <climits>
#include <cublas_v2.h>

/* Bytes of workspace that NVIDIA recommends (cuBLAS, cublasSetWorkspace()): from compute capability 9.0 on, and before */
enum {
  WORKSPACE_HOPPER = 32 << 20,
  WORKSPACE = 4 << 20
};

static int gemm_error(cublasStatus_t status)
{
  return status == CUBLAS_STATUS_SUCCESS ? 0 : BCR_CUDA_GEMM_ERROR + (int)status;
}

const char *BCRCudaGemmErrorString(int error)
{
  return error > BCR_CUDA_GEMM_ERROR ? cublasGetStatusString((cublasStatus_t)(error - BCR_CUDA_GEMM_ERROR)) : NULL;
}

int BCRCudaGemmCreate(BCRCudaGemm *handle, size_t *bytes)
{
  cublasHandle_t h = NULL;
  int device = 0, major = 0;
  cudaError_t e = cudaGetDevice(&device);
  cublasStatus_t status;

  *handle = NULL;
  if (e == cudaSuccess) e = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
  if (e != cudaSuccess) return (int)e;
  *bytes = major >= 9 ? WORKSPACE_HOPPER : WORKSPACE;
  status = cublasCreate(&h);
  *handle = (BCRCudaGemm)h;
  return gemm_error(status);
}

int BCRCudaGemmDestroy(BCRCudaGemm handle)
{
  return handle ? gemm_error(cublasDestroy((cublasHandle_t)handle)) : 0;
}

/* Matrices side by side, `next` elements from one to the next */
template <typename T>
struct Matrices {
  T *at;
  ptrdiff_t ld, next;
};

static cublasStatus_t gemm(cublasHandle_t h, cublasOperation_t a, cublasOperation_t b, int m, int n, int k,
                           const double *A, int lda, const double *B, int ldb, double *C, int ldc)
{
  const double one = 1, zero = 0;

  return cublasDgemm(h, a, b, m, n, k, &one, A, lda, B, ldb, &zero, C, ldc);
}

static cublasStatus_t gemm(cublasHandle_t h, cublasOperation_t a, cublasOperation_t b, int m, int n, int k,
                           const float *A, int lda, const float *B, int ldb, float *C, int ldc)
{
  const float one = 1, zero = 0;

  return cublasSgemm(h, a, b, m, n, k, &one, A, lda, B, ldb, &zero, C, ldc);
}

static cublasStatus_t gemms(cublasHandle_t h, cublasOperation_t a, cublasOperation_t b, int m, int n, int k,
                            Matrices<const double> A, Matrices<const double> B, Matrices<double> C, int count)
{
  const double one = 1, zero = 0;

  return cublasDgemmStridedBatched(h, a, b, m, n, k, &one, A.at, (int)A.ld, A.next, B.at, (int)B.ld, B.next, &zero,
                                   C.at, (int)C.ld, C.next, count);
}

static cublasStatus_t gemms(cublasHandle_t h, cublasOperation_t a, cublasOperation_t b, int m, int n, int k,
                            Matrices<const float> A, Matrices<const float> B, Matrices<float> C, int count)
{
  const float one = 1, zero = 0;

  return cublasSgemmStridedBatched(h, a, b, m, n, k, &one, A.at, (int)A.ld, A.next, B.at, (int)B.ld, B.next, &zero,
                                   C.at, (int)C.ld, C.next, count);
}

/* count products C = op(A) op(B), C of m x n */
template <typename T>
static cublasStatus_t products(cublasHandle_t h, cublasOperation_t a, cublasOperation_t b, int m, int n, int k,
                               Matrices<const T> A, Matrices<const T> B, Matrices<T> C, int count)
{
  if (count == 1) return gemm(h, a, b, m, n, k, A.at, (int)A.ld, B.at, (int)B.ld, C.at, (int)C.ld);
  return gemms(h, a, b, m, n, k, A, B, C, count);
}

/* next: the axis across which planes are products of their own */
template <typename T>
static cublasStatus_t lines(cublasHandle_t h, const int n[3], int d, int transpose, const T *M, const ptrdiff_t fs[3],
                            const T *f, const ptrdiff_t us[3], T *u)
{
  const cublasOperation_t no = CUBLAS_OP_N, yes = CUBLAS_OP_T;
  const int along = d ? 0 : 1, next = d == 2 ? 1 : 2;
  const bool follow =
               d != 1 && (n[next] == 1 || (fs[next] == n[along] * fs[along] && us[next] == n[along] * us[along])),
             one = follow && (ptrdiff_t)n[along] * n[next] <= INT_MAX;
  const int other = one ? n[along] * n[next] : n[along], count = one ? 1 : n[next];
  const Matrices<const T> V = {M, n[d], 0};

  if (d == 0)
    return products<T>(h, transpose ? yes : no, no, n[0], other, n[0], V, {f, fs[1], fs[2]}, {u, us[1], us[2]}, count);
  return products<T>(h, no, transpose ? no : yes, other, n[d], n[d], {f, fs[d], fs[next]}, V, {u, us[d], us[next]},
                     count);
}

int BCRCudaGemmLines(BCRCudaGemm handle, BCRStream stream, void *workspace, size_t bytes, int single, const int n[3],
                     int d, int transpose, const void *M, const ptrdiff_t fs[3], const void *f, const ptrdiff_t us[3],
                     void *u)
{
  cublasHandle_t h = (cublasHandle_t)handle;
  cublasStatus_t status = cublasSetStream(h, bcr_stream(stream)); /* which takes the workspace away */

  if (status == CUBLAS_STATUS_SUCCESS) status = cublasSetWorkspace(h, workspace, bytes);
  if (status != CUBLAS_STATUS_SUCCESS) return gemm_error(status);
  BCR_CUDA_TYPE(single, status = lines<T>(h, n, d, transpose, (const T *)M, fs, (const T *)f, us, (T *)u));
  return gemm_error(status);
}
