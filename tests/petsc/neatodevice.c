/*
  PCNEATO, KSPNEATO and PetscBCRLines with vectors on a CUDA device, and with vectors of the host
  and -pc_neato_backend cuda: every axis, method and memory against the host backend; transposes,
  several right-hand sides, views. Says so and passes where there is no device.
*/
#include "testing.h"
#include <petsc/private/pcimpl.h>
#include "../../src/tridiagonal/tridiagonal.h"

#if defined(PETSCBCR_HAVE_CUDA)
static PetscErrorCode NewPC(DM da, Mat A, PetscInt axis, PCNeatoMethod method, PCNeatoBackend backend, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(TestPC(PCNEATO, da, A, pc));
  PetscCall(PCNeatoSetAxis(*pc, (PCNeatoAxis)(axis + 1)));
  PetscCall(PCNeatoSetMethod(*pc, method));
  PetscCall(PCNeatoSetBackend(*pc, backend));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what PCView says of the backend */
static PetscErrorCode Viewed(PC pc, const char what[], PetscBool *said)
{
  char text[4096] = "", *at;
  PetscViewer viewer;

  PetscFunctionBegin;
  PetscCall(PetscViewerASCIIOpen(PETSC_COMM_SELF, "neatodevice.view", &viewer));
  PetscCall(PCView(pc, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  {
    FILE *file = fopen("neatodevice.view", "r");
    size_t n = file ? fread(text, 1, sizeof(text) - 1, file) : 0;

    text[n] = 0;
    if (file) fclose(file);
    (void)remove("neatodevice.view");
  }
  PetscCall(PetscStrstr(text, what, &at));
  *said = at ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Case(PetscInt dim, const PetscInt n[3], const char ends[], PetscInt dof, PetscInt axis,
                           PCNeatoMethod method, PCNeatoMemory memory, PetscBool device)
{
  TestProblem p = {
    .dim = dim,
    .n = {n[0], n[1], n[2]},
    .dof = dof,
    .ends = ends,
    .a = {1,    2,    3   },
    .shift = (PetscReal)0.5,
    .scale = 1,
    .row = 0
  };
  DM da;
  Mat A, X, Y;
  Vec b, x, y, c[2];
  PC pc, host;
  PetscReal difference;
  PetscBool said;

  PetscFunctionBegin;
  PetscCall(TestMatrix(&p, &da, &A));
  PetscCall(DMSetVecType(da, device ? VECCUDA : VECSTANDARD));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &y));
  PetscCall(TestRandom(b));
  PetscCall(NewPC(da, A, axis, method, device ? PCNEATO_BACKEND_AUTO : PCNEATO_BACKEND_CUDA, &pc));
  PetscCall(PCNeatoSetMemory(pc, memory));
  PetscCall(NewPC(da, A, axis, method, PCNEATO_BACKEND_CPU, &host));
  for (int t = 0; t < 2; ++t) {
    PetscCall(t ? PCApplyTranspose(pc, b, x) : PCApply(pc, b, x));
    PetscCall(t ? PCApplyTranspose(host, b, y) : PCApply(host, b, y));
    PetscCall(TestDifference(x, y, &difference));
    Check(difference <= TestDifferenceBound(),
          "dim %d axis %d method %s memory %s ends %s transpose %d device %d: off the host by %g", (int)dim, (int)axis,
          PCNeatoMethods[method], PCNeatoMemories[memory], ends, t, (int)device, (double)difference);
  }
  PetscCall(Viewed(pc, "backend: cuda, device", &said));
  Check(said, "method %s device %d: the view does not say that the backend is cuda", PCNeatoMethods[method],
        (int)device);
  PetscCall(Viewed(host, "backend: cpu", &said));
  Check(said, "the view does not say that the backend is cpu");
  /* several right-hand sides */
  PetscCall(MatCreateDense(PETSC_COMM_SELF, PETSC_DECIDE, PETSC_DECIDE, p.n[0] * p.n[1] * p.n[2] * dof, 2, NULL, &X));
  if (device) PetscCall(MatSetType(X, MATDENSECUDA));
  PetscCall(MatSetUp(X));
  for (PetscInt k = 0; k < 2; ++k) {
    PetscCall(MatDenseGetColumnVecWrite(X, k, &c[k]));
    PetscCall(VecCopy(b, c[k]));
    if (k) PetscCall(VecScale(c[k], -2));
    PetscCall(MatDenseRestoreColumnVecWrite(X, k, &c[k]));
  }
  PetscCall(MatAssemblyBegin(X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(X, MAT_FINAL_ASSEMBLY));
  PetscCall(MatDuplicate(X, MAT_DO_NOT_COPY_VALUES, &Y));
  PetscCall(PCMatApply(pc, X, Y));
  PetscCall(PCApply(host, b, y));
  for (PetscInt k = 0; k < 2; ++k) {
    PetscCall(MatDenseGetColumnVecRead(Y, k, &c[k]));
    PetscCall(VecCopy(c[k], x));
    if (k) PetscCall(VecScale(x, (PetscScalar)-0.5));
    PetscCall(TestDifference(x, y, &difference));
    Check(difference <= TestDifferenceBound(), "dim %d axis %d method %s column %d device %d: off the host by %g",
          (int)dim, (int)axis, PCNeatoMethods[method], (int)k, (int)device, (double)difference);
    PetscCall(MatDenseRestoreColumnVecRead(Y, k, &c[k]));
  }
  PetscCall(TestDestroy(&X, &Y, &pc, &host, &b, &x, &y, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* near-Toeplitz lines by a few rows, in place too; and what is there without the host having touched it */
static PetscErrorCode Lines(PetscInt axis, PCNeatoMethod method)
{
  /* of the compact derivatives, or dominant */
  const PetscReal end = method == PCNEATO_METHOD_AUTO ? 2 : (PetscReal)0.5, first[3] = {0, 1, end},
                  row[3] = {(PetscReal)0.25, 1, (PetscReal)0.25}, last[3] = {end, 1, 0};
  DM da;
  Vec f, u, v;
  PetscReal difference;
  PetscBCRLines lines, host;

  PetscFunctionBegin;
  PetscCall(DMDACreate3d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 33,
                         20, 17, 1, 1, 1, 1, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetVecType(da, VECCUDA));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateGlobalVector(da, &f));
  PetscCall(VecDuplicate(f, &u));
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, 33 * 20 * 17, &v));
  PetscCall(TestRandom(f));
  PetscCall(VecCopy(f, v));
  PetscCall(PetscBCRLinesCreate(da, (DMDirection)axis, 1, first, row, 1, last, &lines));
  PetscCall(PetscBCRLinesCreate(da, (DMDirection)axis, 1, first, row, 1, last, &host));
  PetscCall(PetscBCRLinesSetMethod(lines, method));
  PetscCall(PetscBCRLinesSetMethod(host, method));
  PetscCall(PetscBCRLinesSolve(lines, f, u));
  PetscCall(PetscBCRLinesSolve(host, v, v));
  PetscCall(TestDifference(u, v, &difference));
  Check(difference <= TestDifferenceBound(), "PetscBCRLines, axis %d method %s: off the host by %g", (int)axis,
        PCNeatoMethods[method], (double)difference);
  PetscCall(PetscBCRLinesSolve(lines, f, f));
  PetscCall(TestDifference(f, v, &difference));
  Check(difference <= TestDifferenceBound(), "PetscBCRLines in place, axis %d method %s: off the host by %g", (int)axis,
        PCNeatoMethods[method], (double)difference);
  PetscCall(PetscBCRLinesDestroy(&lines));
  PetscCall(PetscBCRLinesDestroy(&host));
  PetscCall(TestDestroy(&f, &u, &v, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode All(void)
{
  static const PetscInt sizes[][4] = {
    {1, 1000, 1,  1 },
    {2, 65,   40, 1 },
    {3, 17,   12, 33},
    {3, 8,    9,  40}
  };
  static const char *const ends[] = {"dd", "pp", "nn"};

  PetscFunctionBegin;
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); ++s)
    for (PetscInt axis = 0; axis < sizes[s][0]; ++axis)
      for (int m = PCNEATO_METHOD_AUTO; m <= PCNEATO_METHOD_THOMAS; ++m)
        for (int e = 0; e < 3; ++e) {
          char all[8] = "";

          for (PetscInt d = 0; d < sizes[s][0]; ++d) PetscCall(PetscStrlcat(all, ends[(e + (int)d) % 3], sizeof(all)));
          for (int device = 0; device < 2; ++device)
            PetscCall(Case(sizes[s][0], sizes[s] + 1, all, s == 2 ? 2 : 1, axis, (PCNeatoMethod)m,
                           m == PCNEATO_METHOD_CR ? (PCNeatoMemory)e : PCNEATO_MEMORY_AUTO, (PetscBool)device));
        }
  for (PetscInt axis = 0; axis < 3; ++axis)
    for (int m = PCNEATO_METHOD_AUTO; m <= PCNEATO_METHOD_THOMAS; ++m) PetscCall(Lines(axis, (PCNeatoMethod)m));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
#if defined(PETSCBCR_HAVE_CUDA)
  {
    BCRTriOptions options = {.method = BCR_TRI_AUTO};
    const char *why = NULL;

    if (BCRTriDevicePossible(&options, &why)) PetscCall(All());
    else PetscCall(PetscPrintf(PETSC_COMM_SELF, "no device: %s\n", why ? why : ""));
  }
#else
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "built without CUDA\n"));
#endif
  PetscCall(PetscFinalize());
  return TestEnd();
}
