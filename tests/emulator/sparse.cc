/*
  What PETSc's matrices on a device (aijcusparse) call of cuSPARSE to be made, filled and multiplied, in its place: handles,
  descriptions, and y = alpha op(A) x + beta y as a plain loop over the rows, a kernel in the order of its stream.
*/
#include "emulator.h"
#include <cuda_runtime_api.h>
#include <cusparse.h>

#define API extern "C" __attribute__((visibility("default")))

struct cusparseContext {
  cudaStream_t stream;
  bool device; /* alpha and beta are in memory of the device */
};
struct cusparseMatDescr {
  cusparseIndexBase_t base;
};
/* A matrix in compressed rows, start[rows + 1], column[nonzeros], value[nonzeros] */
struct cusparseSpMatDescr {
  int64_t rows, columns, nonzeros;
  void *start, *column, *value;
  bool wide_start, wide_column;
  cusparseIndexBase_t base;

  int64_t begin(int64_t row) const { return (wide_start ? ((int64_t *)start)[row] : ((int *)start)[row]) - base; }
  int64_t to(int64_t at) const { return (wide_column ? ((int64_t *)column)[at] : ((int *)column)[at]) - base; }
};
struct cusparseDnVecDescr {
  int64_t size;
  void *value;
};

#define DESTROY(NAME, T) \
  API cusparseStatus_t NAME(T object) \
  { \
    delete object; \
    return CUSPARSE_STATUS_SUCCESS; \
  }

API cusparseStatus_t cusparseCreate(cusparseHandle_t *handle)
{
  *handle = new cusparseContext{};
  return CUSPARSE_STATUS_SUCCESS;
}
DESTROY(cusparseDestroy, cusparseHandle_t)
API cusparseStatus_t cusparseSetStream(cusparseHandle_t handle, cudaStream_t stream)
{
  handle->stream = stream;
  return CUSPARSE_STATUS_SUCCESS;
}
API cusparseStatus_t cusparseSetPointerMode(cusparseHandle_t handle, cusparsePointerMode_t mode)
{
  handle->device = mode == CUSPARSE_POINTER_MODE_DEVICE;
  return CUSPARSE_STATUS_SUCCESS;
}

API cusparseStatus_t cusparseCreateMatDescr(cusparseMatDescr_t *matrix)
{
  *matrix = new cusparseMatDescr{};
  return CUSPARSE_STATUS_SUCCESS;
}
DESTROY(cusparseDestroyMatDescr, cusparseMatDescr_t)
API cusparseStatus_t cusparseSetMatIndexBase(cusparseMatDescr_t matrix, cusparseIndexBase_t base)
{
  matrix->base = base;
  return CUSPARSE_STATUS_SUCCESS;
}
API cusparseIndexBase_t cusparseGetMatIndexBase(const cusparseMatDescr_t matrix)
{
  return matrix->base;
}
API cusparseStatus_t cusparseSetMatType(cusparseMatDescr_t, cusparseMatrixType_t)
{
  return CUSPARSE_STATUS_SUCCESS;
}

API cusparseStatus_t cusparseCreateCsr(cusparseSpMatDescr_t *matrix, int64_t rows, int64_t columns, int64_t nonzeros,
                                       void *start, void *column, void *value, cusparseIndexType_t starts,
                                       cusparseIndexType_t indices, cusparseIndexBase_t base, cudaDataType)
{
  *matrix = new cusparseSpMatDescr{
    rows, columns, nonzeros, start, column, value, starts == CUSPARSE_INDEX_64I, indices == CUSPARSE_INDEX_64I, base};
  return CUSPARSE_STATUS_SUCCESS;
}
DESTROY(cusparseDestroySpMat, cusparseConstSpMatDescr_t)
API cusparseStatus_t cusparseSpMatSetValues(cusparseSpMatDescr_t matrix, void *value)
{
  matrix->value = value;
  return CUSPARSE_STATUS_SUCCESS;
}
API cusparseStatus_t cusparseCreateDnVec(cusparseDnVecDescr_t *vector, int64_t size, void *value, cudaDataType)
{
  *vector = new cusparseDnVecDescr{size, value};
  return CUSPARSE_STATUS_SUCCESS;
}
DESTROY(cusparseDestroyDnVec, cusparseConstDnVecDescr_t)
API cusparseStatus_t cusparseDnVecSetValues(cusparseDnVecDescr_t vector, void *value)
{
  vector->value = value;
  return CUSPARSE_STATUS_SUCCESS;
}

API cusparseStatus_t cusparseSpMV_bufferSize(cusparseHandle_t, cusparseOperation_t, const void *,
                                             cusparseConstSpMatDescr_t, cusparseConstDnVecDescr_t, const void *,
                                             cusparseDnVecDescr_t, cudaDataType, cusparseSpMVAlg_t, size_t *bytes)
{
  *bytes = 256;
  return CUSPARSE_STATUS_SUCCESS;
}
API cusparseStatus_t cusparseSpMV_preprocess(cusparseHandle_t, cusparseOperation_t, const void *,
                                             cusparseConstSpMatDescr_t, cusparseConstDnVecDescr_t, const void *,
                                             cusparseDnVecDescr_t, cudaDataType, cusparseSpMVAlg_t, void *)
{
  return CUSPARSE_STATUS_SUCCESS;
}
API cusparseStatus_t cusparseSpMV(cusparseHandle_t handle, cusparseOperation_t operation, const void *alpha,
                                  cusparseConstSpMatDescr_t matrix, cusparseConstDnVecDescr_t x, const void *beta,
                                  cusparseDnVecDescr_t y, cudaDataType type, cusparseSpMVAlg_t, void *)
{
  if (type != CUDA_R_64F) return CUSPARSE_STATUS_NOT_SUPPORTED;
  const cusparseSpMatDescr A = *matrix;
  const double *const in = (const double *)x->value;
  double *const out = (double *)y->value;
  const double *const scale = (const double *)alpha, *const old = (const double *)beta;
  const double values[2] = {handle->device ? 0 : *scale, handle->device ? 0 : *old};
  const bool device = handle->device, transposed = operation != CUSPARSE_OPERATION_NON_TRANSPOSE;
  const int64_t x_size = x->size, y_size = y->size;
  const cudaError_t e = emu_stream_add(handle->stream, [=]() -> std::string {
    const double a = device ? *scale : values[0], b = device ? *old : values[1];
    char *begin, *end;

    if (!emu_memory_holds(in, (size_t)x_size * sizeof(double), &begin, &end) ||
        !emu_memory_holds(out, (size_t)y_size * sizeof(double), &begin, &end))
      return "a product with a sparse matrix reads or writes beyond an allocation";
    for (int64_t i = 0; i < y_size; i++) out[i] = b != 0 ? b * out[i] : 0;
    for (int64_t row = 0; row < A.rows; row++) {
      double sum = 0;

      for (int64_t p = A.begin(row); p < A.begin(row + 1); p++) {
        const double value = ((const double *)A.value)[p];

        if (transposed) out[A.to(p)] += a * value * in[row];
        else sum += value * in[A.to(p)];
      }
      if (!transposed) out[row] += a * sum;
    }
    return "";
  });
  return e == cudaSuccess ? CUSPARSE_STATUS_SUCCESS : CUSPARSE_STATUS_EXECUTION_FAILED;
}
