/*
  Transforms by stored eigenvectors of general axes (../eigen.h) on a CUDA device: the host finds them, once, when the core
  is made; products by cuBLAS, with a handle of the core's own and a workspace, so that they become part of a graph like
  any kernel.
*/
#include "../../base/petscbcrimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "coreimpl.h"
  #include "../../backend/cuda/gemm.h"

/* A matrix of the axis, of the work type */
static PetscErrorCode eigen_put(BCRDeviceCore c, PetscInt n, const void *host, const void **device)
{
  const size_t bytes = (size_t)n * n * c->size;
  void *q;

  PetscFunctionBegin;
  PetscCall(BCRDeviceArenaGet(&c->fixedtables, bytes, "eigenvectors", &q));
  PetscCallBCRCuda(BCRCudaPut(q, host, bytes, c->stream));
  *device = q;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What cuBLAS says of a device without room for it may be anything */
static PetscErrorCode eigen_library(BCRDeviceEigen *e)
{
  const int error = BCRCudaGemmCreate(&e->handle, &e->bytes);
  size_t available = 0, total = 0;

  PetscFunctionBegin;
  if (error) (void)BCRCudaMemory(&available, &total);
  PetscCheck(
    !error, PETSC_COMM_SELF, PETSC_ERR_MEM,
    "The CUDA device cannot begin with products of matrices (%zu of %zu bytes are free; cuBLAS says: %s): free "
    "memory there, or use -pc_bcrpoisson_backend cpu",
    available, total, BCRCudaErrorString(error));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceEigenCreate(BCRDeviceCore c)
{
  const BCRPlan p = c->plan;
  BCRDeviceEigen *e = &c->eigen;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < p->dim; d++) {
    const void *to, *from;

    if (p->transform[d] != BCR_TRANSFORM_EIGEN) continue;
    if (!e->handle) PetscCall(eigen_library(e));
    PetscCall(BCREigenGetMatrices(p->eigen[d], &to, &from));
    PetscCall(eigen_put(c, p->n[d], to, &e->matrix[d][0]));
    PetscCall(eigen_put(c, p->n[d], from, &e->matrix[d][1]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceEigenSpace(BCRDeviceCore c)
{
  const BCRPlan p = c->plan;

  PetscFunctionBegin;
  if (!c->eigen.handle) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRDeviceArenaGet(&c->space, c->eigen.bytes, "the workspace of products", &c->eigen.workspace));
  if (p->stride[0] != 1)
    PetscCall(BCRDeviceArenaGet(&c->space, (size_t)p->n[0] * p->n[1] * p->n[2] * c->size, "the workspace of products",
                                &c->eigen.packed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceEigenDestroy(BCRDeviceCore c)
{
  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaGemmDestroy(c->eigen.handle));
  c->eigen.handle = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Elements from one unknown to the next along each axis; axes of one unknown have some, too */
static void strides(PetscInt d, const BCRCudaLines *l, const int n[3], ptrdiff_t stride[3])
{
  stride[d] = l->s;
  stride[d == 0 ? 1 : 0] = l->sa;
  stride[d == 2 ? 1 : 2] = l->sb;
  for (int e = 1; e < 3; e++)
    if (n[e] == 1) stride[e] = stride[e - 1] * n[e - 1];
}

int BCRDeviceEigenApply(BCRDeviceCore c, BCRStream stream, PetscInt d, int synthesis, const BCRCudaLines *fl,
                        const void *f, const BCRCudaLines *ul, void *u)
{
  const BCRDeviceEigen *e = &c->eigen;
  const int n[3] = {d == 0 ? (int)c->plan->n[0] : fl->na,
                    d == 1   ? (int)c->plan->n[1]
                    : d == 0 ? fl->na
                             : fl->nb,
                    d == 2 ? (int)c->plan->n[2] : fl->nb};
  const ptrdiff_t packed[3] = {1, n[0], (ptrdiff_t)n[0] * n[1]};
  ptrdiff_t fs[3], us[3];
  int error = 0;

  strides(d, fl, n, fs);
  strides(d, ul, n, us);
  if (fs[0] != 1) { /* products want numbers side by side */
    error = BCRCudaScaleCopy(stream, n, c->single, f, fs, c->single, e->packed, packed, NULL, NULL);
    f = e->packed;
  }
  if (!error)
    error = BCRCudaGemmLines(e->handle, stream, e->workspace, e->bytes, c->single, n, (int)d, !synthesis,
                             e->matrix[d][synthesis], fs[0] == 1 ? fs : packed, f, us[0] == 1 ? us : packed,
                             us[0] == 1 ? u : e->packed);
  if (!error && us[0] != 1)
    error = BCRCudaScaleCopy(stream, n, c->single, e->packed, packed, c->single, u, us, NULL, NULL);
  return error;
}
#endif
