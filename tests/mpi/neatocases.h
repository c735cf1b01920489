/*
  Lines with coefficients that come from formulas, for the tests of the reader
  of lines, PCNEATO and PetscBCRLines, on any number of ranks.
*/
#pragma once

#include "tests/petsc/testing.h"
#include <math.h>
#include <petscblaslapack.h>

typedef enum {
  SAME,      /* one set of numbers, other end rows along the axis */
  PERLINE,   /* numbers depend on the line */
  STRETCHED, /* on the place along the axis */
  GENERAL
} Kind;

typedef struct {
  PetscInt dim, n[3], dof, axis;
  PetscBool periodic;
  Kind kind;
  PetscInt edge;       /* rows that differ at each end */
  PetscInt seed, same; /* other numbers; the same for all components */
  PetscReal boost;     /* 0, or a factor of the diagonal; negative: the diagonal is
                       (1 - boost) times the sum of the couplings */
  PetscReal across;    /* couplings of the other axes */
} Case;

/* a number in (1, 2) that depends on all arguments in no simple way */
static inline double Mix(PetscInt a, PetscInt b, PetscInt c, PetscInt d)
{
  const double v = sin(12.9898 * (double)a + 78.233 * (double)b + 37.719 * (double)c + 4.581 * (double)d) * 43758.5453;

  return 1 + (v - floor(v));
}

/* row (low, diag, up) at grid point x, component c; the couplings of other axes
 * are not in it */
static inline void Row(const Case *k, const PetscInt x[3], PetscInt c, double row[3])
{
  const PetscInt j = x[k->axis], n = k->n[k->axis];
  const PetscInt line = 1 + (k->same ? 0 : c) + 5 * x[(k->axis + 1) % 3] + 77 * x[(k->axis + 2) % 3];
  PetscInt edge = -1;

  if (!k->periodic && j < k->edge) edge = j;
  else if (!k->periodic && j >= n - k->edge) edge = 10 + n - 1 - j;
  for (PetscInt d = 0; d < 3; ++d) {
    double v;

    switch (k->kind) {
    case SAME:
      v = Mix(edge, k->seed, 0, d);
      break;
    case PERLINE:
      v = Mix(edge, line + k->seed, 0, d);
      break;
    case STRETCHED:
      v = Mix(j, k->seed, 1, d);
      break;
    default:
      v = Mix(j, line + k->seed, 2, d);
    }
    row[d] = d == 1 ? 5 * v * (k->boost > 0 ? (double)k->boost : 1) : -v;
  }
  if (k->boost < 0) row[1] = (1 - (double)k->boost) * (fabs(row[0]) + fabs(row[2]));
  if (!k->periodic && j == 0) row[0] = 0;
  if (!k->periodic && j == n - 1) row[2] = 0;
  if (k->periodic && n == 1) row[0] = row[2] = 0;
  if (k->periodic && n == 2) row[j ? 2 : 0] = 0; /* both neighbours are the same point */
}

/* How the next grids are cut: 0, as PETSc does; else all ranks along the axis, 1 evenly, 2 one row
   on each but the first, 3 but the last */
static PetscInt Cut = 0;

static inline PetscErrorCode NewDMDA(const Case *k, DM *da)
{
  DMBoundaryType b[3] = {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE};

  PetscInt procs[3] = {PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE}, *width[3] = {NULL, NULL, NULL},
           all[3] = {k->n[0], k->n[1], k->n[2]}, *along = NULL;
  PetscMPIInt ranks;

  PetscFunctionBegin;
  if (k->periodic) b[k->axis] = DM_BOUNDARY_PERIODIC;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  if (Cut) {
    const PetscInt n = k->n[k->axis];

    for (PetscInt d = 0; d < 3; ++d) {
      procs[d] = d == k->axis ? ranks : 1;
      width[d] = &all[d];
    }
    PetscCall(PetscMalloc1(ranks, &along));
    for (PetscMPIInt r = 0; r < ranks; ++r)
      along[r] = Cut == 1 ? n / ranks + (r < n % ranks) : (r == (Cut == 2 ? 0 : ranks - 1) ? n - ranks + 1 : 1);
    width[k->axis] = along;
  }
  if (k->dim == 1) PetscCall(DMDACreate1d(PETSC_COMM_WORLD, b[0], k->n[0], k->dof, 1, width[0], da));
  else if (k->dim == 2)
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, b[0], b[1], DMDA_STENCIL_BOX, k->n[0], k->n[1], procs[0], procs[1], k->dof,
                           1, width[0], width[1], da));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, b[0], b[1], b[2], DMDA_STENCIL_BOX, k->n[0], k->n[1], k->n[2], procs[0],
                           procs[1], procs[2], k->dof, 1, width[0], width[1], width[2], da));
  PetscCall(DMSetFromOptions(*da)); /* -dm_vec_type cuda: scripts/check-gpu */
  PetscCall(DMSetUp(*da));
  PetscCall(PetscFree(along));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode Set(Mat A, const PetscInt x[3], const PetscInt y[3], PetscInt c, double v)
{
  MatStencil row = {.k = x[2], .j = x[1], .i = x[0], .c = c}, col = {.k = y[2], .j = y[1], .i = y[0], .c = c};
  PetscScalar s = (PetscScalar)v;

  PetscFunctionBegin;
  PetscCall(MatSetValuesStencil(A, 1, &row, 1, &col, &s, ADD_VALUES));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode Assemble(const Case *k, DM da, Mat *A)
{
  PetscInt x[3], s[3], m[3];

  PetscFunctionBegin;
  PetscCall(DMCreateMatrix(da, A));
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &m[0], &m[1], &m[2]));
  for (x[2] = s[2]; x[2] < s[2] + m[2]; ++x[2]) {
    for (x[1] = s[1]; x[1] < s[1] + m[1]; ++x[1]) {
      for (x[0] = s[0]; x[0] < s[0] + m[0]; ++x[0]) {
        for (PetscInt c = 0; c < k->dof; ++c) {
          double row[3];
          PetscInt y[3] = {x[0], x[1], x[2]};

          Row(k, x, c, row);
          PetscCall(Set(*A, x, x, c, row[1]));
          for (PetscInt e = -1; e <= 1; e += 2) {
            for (PetscInt d = 0; d < k->dim; ++d) {
              y[d] = x[d] + e;
              if (d != k->axis && y[d] >= 0 && y[d] < k->n[d] && k->across != 0)
                PetscCall(Set(*A, x, y, c, -k->across));
              if (d == k->axis && row[e + 1] != 0) PetscCall(Set(*A, x, y, c, row[e + 1]));
              y[d] = x[d];
            }
          }
        }
      }
    }
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Counts of all ranks; what main() returns */
static inline PetscErrorCode TestSum(int *status)
{
  PetscMPIInt rank;
  int mine[2] = {(int)TestPassed, (int)TestFailed}, all[2];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Allreduce(mine, all, 2, MPI_INT, MPI_SUM, PETSC_COMM_WORLD));
  *status = TestStatus(rank == 0, all[0], all[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An entry of the right-hand side */
static inline PetscScalar Rhs(const PetscInt x[3], PetscInt c)
{
  const double re = 2 * Mix(x[0], x[1], x[2], 100 + c) - 3;
#if defined(PETSC_USE_COMPLEX)
  return (PetscScalar)(re + PETSC_i * (2 * Mix(x[2], x[0], x[1], 200 + c) - 3));
#else
  return (PetscScalar)re;
#endif
}

static inline PetscErrorCode FillRhs(const Case *k, DM da, Vec f)
{
  PetscInt x[3], s[3], m[3], at = 0;
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &m[0], &m[1], &m[2]));
  PetscCall(VecGetArrayWrite(f, &a));
  for (x[2] = s[2]; x[2] < s[2] + m[2]; ++x[2]) {
    for (x[1] = s[1]; x[1] < s[1] + m[1]; ++x[1]) {
      for (x[0] = s[0]; x[0] < s[0] + m[0]; ++x[0]) {
        for (PetscInt c = 0; c < k->dof; ++c) a[at++] = Rhs(x, c);
      }
    }
  }
  PetscCall(VecRestoreArrayWrite(f, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Largest difference between u and the solutions by dense LAPACK, over the
 * largest solution. Every rank solves the whole of each line it has a part of.
 */
static inline PetscErrorCode CompareDense(const Case *k, DM da, PetscBool transpose, Vec u, PetscReal *difference)
{
  PetscInt x[3], s[3], m[3], n = k->n[k->axis];
  PetscScalar *A, *b;
  const PetscScalar *a;
  PetscBLASInt *pivot, nb, one = 1, info;
  double worst[2] = {0, 0}, all[2];

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(n, &nb));
  PetscCall(PetscMalloc3(n * n, &A, n, &b, n, &pivot));
  PetscCall(DMDAGetCorners(da, &s[0], &s[1], &s[2], &m[0], &m[1], &m[2]));
  PetscCall(VecGetArrayRead(u, &a));
  for (x[2] = s[2]; x[2] < s[2] + (k->axis == 2 ? 1 : m[2]); ++x[2]) {
    for (x[1] = s[1]; x[1] < s[1] + (k->axis == 1 ? 1 : m[1]); ++x[1]) {
      for (x[0] = s[0]; x[0] < s[0] + (k->axis == 0 ? 1 : m[0]); ++x[0]) {
        for (PetscInt c = 0; c < k->dof; ++c) {
          PetscInt y[3] = {x[0], x[1], x[2]};

          PetscCall(PetscArrayzero(A, n * n));
          for (PetscInt j = 0; j < n; ++j) {
            double row[3];

            y[k->axis] = j;
            Row(k, y, c, row);
            b[j] = Rhs(y, c);
            for (PetscInt e = -1; e <= 1; ++e) {
              const PetscInt col = (j + e + n) % n;

              if (row[e + 1] != 0) A[transpose ? col + n * j : j + n * col] += (PetscScalar)row[e + 1];
            }
          }
          PetscCallBLAS("LAPACKgesv", LAPACKgesv_(&nb, &one, A, &nb, pivot, b, &nb, &info));
          for (PetscInt j = s[k->axis]; j < s[k->axis] + m[k->axis]; ++j) {
            PetscInt at;

            y[k->axis] = j;
            at = c + k->dof * (y[0] - s[0] + m[0] * (y[1] - s[1] + m[1] * (y[2] - s[2])));
            TestLargest(&worst[0], (double)PetscAbsScalar(a[at] - b[j]));
            TestLargest(&worst[1], (double)PetscAbsScalar(b[j]));
          }
        }
      }
    }
  }
  PetscCall(VecRestoreArrayRead(u, &a));
  PetscCall(PetscFree3(A, b, pivot));
  PetscCallMPI(MPI_Allreduce(worst, all, 2, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  *difference = (PetscReal)(all[0] / all[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}
