/* What all tests share: the exit status, a maximum that keeps a NaN, random numbers */
#pragma once

#include <petscbcr.h>
#include <petscksp.h>
#include "src/base/petscbcrimpl.h"
#include <math.h>
#include <stdint.h>
#include <stdio.h>

/* The DM is for the preconditioner, the operators are ours */
#if PETSC_VERSION_GE(3, 25, 0)
  #define TestKSPSetDMInactive(ksp) KSPSetDMActive(ksp, KSP_DMACTIVE_ALL, PETSC_FALSE)
#else
  #define TestKSPSetDMInactive(ksp) KSPSetDMActive(ksp, PETSC_FALSE)
#endif

/* The exit status of a program, which says on request how many checks there were. One without any
   is skipped, not passed: 77 is ctest's SKIP_RETURN_CODE (cmake/PETScBCRTests.cmake) */
static inline int TestStatus(int print, int passed, int failed)
{
  if (print) {
    (void)printf("%d passed, %d failed%s\n", passed, failed, passed + failed ? "" : ": nothing to test here");
    (void)fflush(stdout);
  }
  return failed ? 1 : (passed ? 0 : 77);
}

/* The largest error so far. A NaN is an infinite one: it stays whatever comes next, and in MPI_MAX
   too, where PetscMax(), fmax() and if (!(e <= worst)) worst = e; go on with the next finite number
   */
static inline void TestLargest(double *worst, double e)
{
  if (!(e <= *worst)) *worst = e == e ? e : HUGE_VAL;
}

/* TestDestroy(&x, &b, &ksp, &A, &da): destroys PETSc's objects, of whatever class */
#define TestDestroy(...) TestDestroyObjects((void *[]){__VA_ARGS__, NULL})
static inline PetscErrorCode TestDestroyObjects(void *const object[])
{
  PetscFunctionBegin;
  for (; *object; object++) PetscCall(PetscObjectDestroy((PetscObject *)*object));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A KSP of the type with PCBCRPOISSON, which sees the matrix alone */
static inline PetscErrorCode TestKSPCreate(Mat A, KSPType type, KSP *ksp, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)A), ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, type));
  PetscCall(KSPGetPC(*ksp, pc));
  PetscCall(PCSetType(*pc, PCBCRPOISSON));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A matrix whose rows are out of sight: products are those of A, which the caller keeps */
static inline PetscErrorCode TestShellMult(Mat shell, Vec x, Vec y)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(shell, &A));
  PetscCall(MatMult(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode TestShellMultTranspose(Mat shell, Vec x, Vec y)
{
  Mat A;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(shell, &A));
  PetscCall(MatMultTranspose(A, x, y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode TestShell(Mat A, Mat *shell)
{
  PetscInt m, n;

  PetscFunctionBegin;
  PetscCall(MatGetLocalSize(A, &m, &n));
  PetscCall(MatCreateShell(PetscObjectComm((PetscObject)A), m, n, PETSC_DETERMINE, PETSC_DETERMINE, A, shell));
  PetscCall(MatShellSetOperation(*shell, MATOP_MULT, (void (*)(void))TestShellMult));
  PetscCall(MatShellSetOperation(*shell, MATOP_MULT_TRANSPOSE, (void (*)(void))TestShellMultTranspose));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* max |v_i|, infinite where one is NaN: VecNorm() may lose it on several ranks and on devices */
static inline PetscErrorCode TestMaxNorm(Vec v, PetscReal *norm)
{
  const PetscScalar *a;
  PetscInt n;
  double largest = 0;

  PetscFunctionBegin;
  *norm = (PetscReal)HUGE_VAL; /* what it is where it cannot be told */
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetArrayRead(v, &a));
  for (PetscInt i = 0; i < n; ++i) TestLargest(&largest, (double)PetscAbsScalar(a[i]));
  PetscCall(VecRestoreArrayRead(v, &a));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, PetscObjectComm((PetscObject)v)));
  *norm = (PetscReal)largest;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Random numbers: xorshift, the same on all ranks and machines */
#define TEST_STATE UINT64_C(88172645463325252)
static uint64_t TestState = TEST_STATE;

static inline double TestUniform(void) /* in (0, 1) */
{
  TestState ^= TestState << 13;
  TestState ^= TestState >> 7;
  TestState ^= TestState << 17;
  return ((double)(TestState >> 11) + .5) / 9007199254740992.;
}

/* Whether it is this case's turn: with -turns t one in t is, others on each number of ranks; all
   without it. All ranks ask as often */
static inline PetscBool TestTurn(void)
{
  static PetscInt turns = 0, asked = 0;
  static PetscMPIInt size = 1;

  if (!turns) {
    turns = 1;
    PetscCallAbort(PETSC_COMM_SELF, PetscOptionsGetInt(NULL, NULL, "-turns", &turns, NULL));
    PetscCallAbort(PETSC_COMM_SELF, (PetscErrorCode)MPI_Comm_size(PETSC_COMM_WORLD, &size));
    turns = PetscMax(turns, 1);
  }
  return (PetscBool)(asked++ % turns == size % turns);
}

/* -seed N: other random numbers than those of every check, which are -seed 0 */
static inline PetscErrorCode TestSeed(void)
{
  PetscInt seed = 0;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-seed", &seed, NULL));
  TestState = TEST_STATE + (uint64_t)seed * UINT64_C(0x9e3779b97f4a7c15);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "random numbers of -seed %d\n", (int)seed));
  PetscFunctionReturn(PETSC_SUCCESS);
}
