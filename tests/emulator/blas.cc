/*
  What this library, and PETSc's vectors and matrices on a device, call of cuBLAS, in its place: plain loops, a kernel
  each, with addresses checked as those of kernels are. As in the real one a stream takes the workspace away, and a
  product of matrices without one in a capture is an error, for it would allocate.
*/
#include "emulator.h"
#include <cmath>
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <functional>
#include <vector>

#define API extern "C" __attribute__((visibility("default")))

struct cublasContext {
  cudaStream_t stream;
  bool workspace, device; /* device: numbers beside the vectors are in memory of the device */
};

API cublasStatus_t cublasCreate_v2(cublasHandle_t *handle)
{
  *handle = new cublasContext{};
  return CUBLAS_STATUS_SUCCESS;
}
API cublasStatus_t cublasDestroy_v2(cublasHandle_t handle)
{
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  delete handle;
  return CUBLAS_STATUS_SUCCESS;
}
API cublasStatus_t cublasSetStream_v2(cublasHandle_t handle, cudaStream_t stream)
{
  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  handle->stream = stream;
  handle->workspace = false;
  return CUBLAS_STATUS_SUCCESS;
}
API cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t handle, void *workspace, size_t bytes)
{
  char *begin, *end;

  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if ((size_t)workspace % 256 || !emu_memory_holds(workspace, bytes, &begin, &end)) return CUBLAS_STATUS_INVALID_VALUE;
  handle->workspace = true;
  return CUBLAS_STATUS_SUCCESS;
}

/* A matrix of rows x columns, or of as many side by side as a batch has */
template <typename T>
struct Matrix {
  T *at;
  int ld;
  long long next;
  bool transposed;

  /* the element of op(matrix) at row i, column j */
  T &get(long long batch, int i, int j) const
  {
    return at[batch * next + (transposed ? j + (size_t)i * ld : i + (size_t)j * ld)];
  }
  bool holds(int rows, int columns, int count) const
  {
    char *begin, *end;

    if (transposed) std::swap(rows, columns);
    return ld >= rows && next >= 0 &&
           emu_memory_holds(at, ((size_t)(count - 1) * next + (size_t)(columns - 1) * ld + rows) * sizeof(T), &begin,
                            &end);
  }
};

template <typename T>
static cublasStatus_t product(cublasHandle_t handle, int m, int n, int k, T alpha, Matrix<const T> A, Matrix<const T> B,
                              T beta, Matrix<T> C, int count)
{
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;

  if (!handle) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (m < 1 || n < 1 || k < 1 || count < 1 || C.ld < m) return CUBLAS_STATUS_INVALID_VALUE;
  (void)cudaStreamIsCapturing(handle->stream, &capture);
  if (capture != cudaStreamCaptureStatusNone && !handle->workspace) return CUBLAS_STATUS_ALLOC_FAILED;
  const cudaError_t e = emu_stream_add(handle->stream, [=]() -> std::string {
    if (!A.holds(m, k, count) || !B.holds(k, n, count) || !C.holds(m, n, count))
      return "a product of matrices reads or writes beyond an allocation";
    std::vector<T> column(m);

    for (long long b = 0; b < count; b++)
      for (int j = 0; j < n; j++) {
        for (int i = 0; i < m; i++) column[i] = 0;
        if (A.transposed)
          for (int i = 0; i < m; i++)
            for (int l = 0; l < k; l++) column[i] += A.get(b, i, l) * B.get(b, l, j);
        else
          for (int l = 0; l < k; l++)
            for (int i = 0; i < m; i++) column[i] += A.get(b, i, l) * B.get(b, l, j);
        for (int i = 0; i < m; i++) {
          T &c = C.get(b, i, j);

          c = alpha * column[i] + (beta != 0 ? beta * c : 0);
        }
      }
    return "";
  });
  return e == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

#define PRODUCTS(letter, T) \
  API cublasStatus_t cublas##letter##gemm_v2(cublasHandle_t handle, cublasOperation_t a, cublasOperation_t b, int m, \
                                             int n, int k, const T *alpha, const T *A, int lda, const T *B, int ldb, \
                                             const T *beta, T *C, int ldc) \
  { \
    return product<T>(handle, m, n, k, *alpha, {A, lda, 0, a != CUBLAS_OP_N}, {B, ldb, 0, b != CUBLAS_OP_N}, *beta, \
                      {C, ldc, 0, false}, 1); \
  } \
  API cublasStatus_t cublas##letter##gemmStridedBatched( \
    cublasHandle_t handle, cublasOperation_t a, cublasOperation_t b, int m, int n, int k, const T *alpha, const T *A, \
    int lda, long long nexta, const T *B, int ldb, long long nextb, const T *beta, T *C, int ldc, long long nextc, \
    int count) \
  { \
    return product<T>(handle, m, n, k, *alpha, {A, lda, nexta, a != CUBLAS_OP_N}, {B, ldb, nextb, b != CUBLAS_OP_N}, \
                      *beta, {C, ldc, nextc, false}, count); \
  }
PRODUCTS(D, double)
PRODUCTS(S, float)

/* ---- vectors, of PETSc ---- */

API cublasStatus_t cublasSetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t mode)
{
  handle->device = mode == CUBLAS_POINTER_MODE_DEVICE;
  return CUBLAS_STATUS_SUCCESS;
}
API cublasStatus_t cublasGetPointerMode_v2(cublasHandle_t handle, cublasPointerMode_t *mode)
{
  *mode = handle->device ? CUBLAS_POINTER_MODE_DEVICE : CUBLAS_POINTER_MODE_HOST;
  return CUBLAS_STATUS_SUCCESS;
}

/* n numbers of x, and of y where there is one, in the order of the stream */
static cublasStatus_t vectors(cublasHandle_t handle, int n, const double *x, int incx, const double *y, int incy,
                              std::function<void()> work)
{
  const cudaError_t e = emu_stream_add(handle->stream, [=]() -> std::string {
    char *begin, *end;

    if (n > 0 && (!emu_memory_holds(x, ((size_t)(n - 1) * incx + 1) * sizeof(double), &begin, &end) ||
                  (y && !emu_memory_holds(y, ((size_t)(n - 1) * incy + 1) * sizeof(double), &begin, &end))))
      return "a function of vectors reads or writes beyond an allocation";
    work();
    return "";
  });
  return e == cudaSuccess ? CUBLAS_STATUS_SUCCESS : CUBLAS_STATUS_EXECUTION_FAILED;
}

/* The number that comes of term(i), i = 0 to n - 1: the caller has it when the function returns, if it is on the host */
static cublasStatus_t number(cublasHandle_t handle, int n, const double *x, int incx, const double *y, int incy,
                             double *result, std::function<double(int)> term, bool root = false)
{
  cublasStatus_t status = vectors(handle, n, x, incx, y, incy, [=]() {
    double sum = 0;

    for (int i = 0; i < n; i++) sum += term(i);
    *result = root ? std::sqrt(sum) : sum;
  });

  if (!handle->device && cudaStreamSynchronize(handle->stream) != cudaSuccess) status = CUBLAS_STATUS_EXECUTION_FAILED;
  return status;
}

API cublasStatus_t cublasDdot_v2(cublasHandle_t handle, int n, const double *x, int incx, const double *y, int incy,
                                 double *result)
{
  return number(handle, n, x, incx, y, incy, result, [=](int i) { return x[(size_t)i * incx] * y[(size_t)i * incy]; });
}
API cublasStatus_t cublasDnrm2_v2(cublasHandle_t handle, int n, const double *x, int incx, double *result)
{
  return number(
    handle, n, x, incx, nullptr, 0, result, [=](int i) { return x[(size_t)i * incx] * x[(size_t)i * incx]; }, true);
}
API cublasStatus_t cublasDasum_v2(cublasHandle_t handle, int n, const double *x, int incx, double *result)
{
  return number(handle, n, x, incx, nullptr, 0, result, [=](int i) { return std::fabs(x[(size_t)i * incx]); });
}
API cublasStatus_t cublasDscal_v2(cublasHandle_t handle, int n, const double *alpha, double *x, int incx)
{
  const bool device = handle->device;
  const double value = device ? 0 : *alpha;

  return vectors(handle, n, x, incx, nullptr, 0, [=]() {
    for (int i = 0; i < n; i++) x[(size_t)i * incx] *= device ? *alpha : value;
  });
}
API cublasStatus_t cublasDaxpy_v2(cublasHandle_t handle, int n, const double *alpha, const double *x, int incx,
                                  double *y, int incy)
{
  const bool device = handle->device;
  const double value = device ? 0 : *alpha;

  return vectors(handle, n, x, incx, y, incy, [=]() {
    for (int i = 0; i < n; i++) y[(size_t)i * incy] += (device ? *alpha : value) * x[(size_t)i * incx];
  });
}
API cublasStatus_t cublasDcopy_v2(cublasHandle_t handle, int n, const double *x, int incx, double *y, int incy)
{
  return vectors(handle, n, x, incx, y, incy, [=]() {
    for (int i = 0; i < n; i++) y[(size_t)i * incy] = x[(size_t)i * incx];
  });
}
/* From 1 on */
API cublasStatus_t cublasIdamax_v2(cublasHandle_t handle, int n, const double *x, int incx, int *result)
{
  const cublasStatus_t status = vectors(handle, n, x, incx, nullptr, 0, [=]() {
    *result = n > 0 ? 1 : 0;
    for (int i = 1; i < n; i++)
      if (std::fabs(x[(size_t)i * incx]) > std::fabs(x[(size_t)(*result - 1) * incx])) *result = i + 1;
  });

  return handle->device || cudaStreamSynchronize(handle->stream) == cudaSuccess ? status
                                                                                : CUBLAS_STATUS_EXECUTION_FAILED;
}
