/*
  Rows that differ where the operator is not definite (Helmholtz): obstacles, wells and a pinned row among waves of six points and
  more. KSPPREONLY solves the matrix directly, twice, transposed and with other values, with a residual of rounding and the
  solution of PETSc's LU. Where the box without these rows is singular, and the matrix is not, a Krylov method that says that it has
  converged is right. With complex scalars the same with shifts that are complex, and factors of any phase.
  -backend cuda: vectors and matrices on the CUDA devices that the ranks have, or share
  -print: the numbers
  ranks: 1 2 3
*/
#include "../petsc/testing.h"
#include "../obstacles.h"
#include "../../src/poisson/solver.h"
#include <petscksp.h>

typedef struct {
  Case c;
  PetscReal k2;  /* less on the diagonal, where couplings are 1 */
  PetscReal tau; /* complex scalars: more on it, times i, in all rows */
} Wave;

static PetscBool device, print = PETSC_FALSE;

static PetscScalar Number(double real, double imaginary)
{
#if defined(PETSC_USE_COMPLEX)
  return PetscCMPLX(real, imaginary);
#else
  (void)imaginary;
  return (PetscScalar)real;
#endif
}

/* The backward error, and how far LU's solution is, on the host */
static PetscErrorCode Compare(Mat A, PetscBool transpose, Vec b, Vec x, PetscReal *error, PetscReal *difference)
{
  Vec f, u;
  Mat S;

  PetscFunctionBegin;
  PetscCall(MatConvert(A, MATAIJ, MAT_INITIAL_MATRIX, &S));
  PetscCall(MatCreateVecs(S, &u, &f));
  PetscCall(VecCopy(b, f));
  PetscCall(VecCopy(x, u));
  PetscCall(TestBackwardError(S, transpose, f, u, error));
  PetscCall(TestAgainstReference(S, transpose, f, u, difference));
  PetscCall(VecDestroy(&f));
  PetscCall(VecDestroy(&u));
  PetscCall(MatDestroy(&S));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One solve of b, against LU, by rows that differ and, not transposed, at most so many solves of the box (0: any number) */
static PetscErrorCode Solved(KSP ksp, PC pc, Mat A, PetscBool transpose, Vec b, Vec x, PetscInt most, const char what[])
{
  const PetscReal bound = sizeof(PetscReal) == 4 ? (PetscReal)1e-5 : (PetscReal)1e-12;
  PetscReal error, difference;
  KSPConvergedReason reason;
  PetscInt rows, solves;

  PetscFunctionBegin;
  PetscCall(transpose ? KSPSolveTranspose(ksp, b, x) : KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(PCBCRPoissonGetCapacitanceSolves(pc, &rows, &solves));
  PetscCall(Compare(A, transpose, b, x, &error, &difference));
  if (print)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %d rows, %d solves, %g, %g\n", what, (int)rows, (int)solves,
                          (double)error, (double)difference));
  Check(reason > 0 && rows > 0 && error <= bound && difference <= 1e3 * bound &&
          (transpose || most == 0 || solves <= most),
        "%s: reason %d, %d rows, %d solves, backward error %g, difference %g", what, (int)reason, (int)rows,
        (int)solves, (double)error, (double)difference);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(const Wave *w)
{
  Vec x, b;
  KSP ksp;
  PC pc;
  DM da;
  Mat A;

  PetscFunctionBegin;
  PetscCall(Grid(&w->c, device, &da, &A, &x, &b));
  PetscCall(MatShift(A, Number(-w->k2, w->tau)));
  PetscCall(TestKSPCreate(A, KSPPREONLY, &ksp, &pc));
  for (int k = 0; k < 4; k++) {
    const PetscBool transpose = (PetscBool)(k == 2);
    char what[128];

    if (k == 3) PetscCall(MatScale(A, Number(-2, w->tau != 0 ? .7 : 0)));
    PetscCall(TestUniformVec(b));
    PetscCall(VecScale(b, Number(1, w->tau))); /* not real */
    (void)snprintf(what, sizeof(what), "%d-D %d, what %d, k2 %g, tau %g, solve %d", (int)w->c.dim, (int)w->c.n,
                   (int)w->c.what, (double)w->k2, (double)w->tau, k);
    PetscCall(Solved(ksp, pc, A, transpose, b, x, w->c.most, what));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* k2 is an eigenvalue of the empty box */
static PetscErrorCode Resonance(void)
{
  const Case c = {2, 15, KEPT, DISC, 1, PETSC_FALSE, 0};
  KSPConvergedReason reason;
  PetscReal error;
  PetscInt rows, solves;
  Vec x, b;
  KSP ksp;
  PC pc;
  DM da;
  Mat A;

  PetscFunctionBegin;
  PetscCall(Grid(&c, device, &da, &A, &x, &b));
  PetscCall(MatShift(A, -2 * (2 - 2 * PetscCosReal(3 * PETSC_PI / (c.n + 1)))));
  PetscCall(TestKSPCreate(A, KSPGMRES, &ksp, &pc));
  PetscCall(KSPSetTolerances(ksp, sizeof(PetscReal) == 4 ? (PetscReal)1e-4 : (PetscReal)1e-10, 0, PETSC_DEFAULT, 300));
  PetscCall(TestUniformVec(b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(PCBCRPoissonGetCapacitanceSolves(pc, &rows, &solves));
  PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, &error));
  Check(rows == 0, "a singular box is one to solve the matrix with: %d rows", (int)rows);
  Check(reason < 0 || error <= (sizeof(PetscReal) == 4 ? 1e-2 : 1e-7), "resonance: reason %d, backward error %g",
        (int)reason, (double)error);
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A shift that is complex in some rows only, and another one there, is no operator's, and no fit is made of complex matrices: an
   error says where */
static PetscErrorCode Damped(void)
{
  const Case c = {2, 23, KEPT, DISC, 1, PETSC_FALSE, 0};
  PetscInt first, last;
  Vec x, b;
  KSP ksp;
  PC pc;
  DM da;
  Mat A;

  PetscFunctionBegin;
  PetscCall(Grid(&c, PETSC_FALSE, &da, &A, &x, &b));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(MatShift(A, Number(-.3, .1)));
  for (PetscInt i = first; i < last; i++)
    if (i % 23 == 2) PetscCall(MatSetValue(A, i, i, Number(3.7, .2), INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(TestKSPCreate(A, KSPPREONLY, &ksp, &pc));
  CheckError(PCSetUp(pc), PETSC_ERR_SUP, "imaginary part");
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lines or planes that are not coupled, each with a complex shift of its own, and a few rows that differ: wells, with more on the
   real diagonal, and masks, with nothing but a diagonal; definite, or of either sign. Solved directly, against LU */
static PetscErrorCode Layers(PetscInt dim, PetscInt along, PetscReal shift)
{
  const PetscInt n[3] = {dim == 2 ? 19 : 9, dim == 2 ? 23 : 11, dim == 2 ? 1 : 8}, e = along ? 0 : 1;
  PetscInt first[3], count[3], at[3];
  Vec x, b;
  KSP ksp;
  PC pc;
  DM da;
  Mat A;

  PetscFunctionBegin;
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR,
                         n[0], n[1], n[2], PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(DMDAGetCorners(da, &first[0], &first[1], &first[2], &count[0], &count[1], &count[2]));
  for (at[2] = first[2]; at[2] < first[2] + count[2]; at[2]++)
    for (at[1] = first[1]; at[1] < first[1] + count[1]; at[1]++)
      for (at[0] = first[0]; at[0] < first[0] + count[0]; at[0]++) {
        const MatStencil row = {at[2], at[1], at[0], 0};
        const PetscInt k = at[along], i = at[e], j = dim == 2 ? 0 : at[along == 2 ? 1 : 2];
        const PetscBool well = (PetscBool)(k % 5 == 3 && i == 7 && j < 2),
                        mask = (PetscBool)(k % 4 == 1 && (i == 3 || i == 4) && (dim == 2 || j == 6));
        MatStencil col[7];
        PetscScalar v[7];
        PetscInt m = 0;

        for (PetscInt d = 0; d < dim; d++) {
          for (PetscInt to = at[d] - 1; to <= at[d] + 1; to += 2) {
            if (to < 0 || to >= n[d]) continue;
            col[m] = row;
            if (d == 0) col[m].i = to;
            else if (d == 1) col[m].j = to;
            else col[m].k = to;
            v[m++] = d == along || mask ? 0 : -1;
          }
        }
        col[m] = row;
        v[m++] = mask ? 3
                      : Number(0.1 * (double)k + 2 * (double)(dim - 1) + (double)shift + (well ? 1.5 : 0),
                               0.05 * (double)(k % 7) - 0.1);
        PetscCall(MatSetValuesStencil(A, 1, &row, m, col, v, INSERT_VALUES));
      }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(TestKSPCreate(A, KSPPREONLY, &ksp, &pc));
  PetscCall(PCSetDM(pc, da));
  for (int k = 0; k < 3; k++) {
    char what[128];

    PetscCall(TestUniformVec(b));
    (void)snprintf(what, sizeof(what), "%d-D, layers along %d, shift %g, solve %d", (int)dim, (int)along, (double)shift,
                   k);
    PetscCall(Solved(ksp, pc, A, (PetscBool)(k == 1), b, x, 0, what));
    if (k == 1) PetscCall(MatScale(A, Number(-2, .7)));
  }
  PetscCall(TestDestroy(&ksp, &x, &b, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const Wave waves[] = {
    {{2, 31, KEPT, DISC, 1, PETSC_FALSE, 40},            0.05, 0   },
    {{2, 47, KEPT, DISC, 1, PETSC_FALSE, 60},            0.5,  0   },
    {{2, 47, ZEROED, DISC, 1, PETSC_TRUE, 60},           0.3,  0   },
    {{2, 47, NEUMANN_MASK, DISC, 1, PETSC_TRUE, 60},     0.3,  0   },
    {{2, 64, NEUMANN_MASK, TWELVE, 1, PETSC_FALSE, 100}, 0.2,  0   },
    {{2, 31, WELLS, DISC, 1, PETSC_TRUE, 10},            0.4,  0   },
    {{2, 31, PINNED, DISC, 1, PETSC_FALSE, 4},           0.4,  0   },
    {{3, 13, KEPT, DISC, 1, PETSC_FALSE, 60},            0.9,  0   },
    {{3, 13, NEUMANN_MASK, DISC, 1, PETSC_TRUE, 60},     0.7,  0   },
#if defined(PETSC_USE_COMPLEX)
    {{2, 31, KEPT, DISC, 1, PETSC_FALSE, 60},            0.3,  .1  },
    {{2, 47, KEPT, DISC, 1e-3, PETSC_TRUE, 60},          0.2,  -.01},
    {{2, 47, ZEROED, TWELVE, 1, PETSC_FALSE, 80},        0,    .3  },
    {{2, 47, NEUMANN_MASK, DISC, 1, PETSC_TRUE, 60},     0.4,  .05 },
    {{2, 31, NEUMANN_MASK, DISC, 1, PETSC_TRUE, 60},     0,    1e-3},
    {{2, 31, WELLS, DISC, 1, PETSC_TRUE, 10},            0.4,  .2  },
    {{2, 31, PINNED, DISC, 1, PETSC_TRUE, 4},            0,    .1  },
    {{3, 13, KEPT, DISC, 1, PETSC_FALSE, 60},            0.9,  .3  },
    {{3, 13, NEUMANN_MASK, DISC, 1, PETSC_TRUE, 60},     0.7,  .1  }
#endif
  };
  char backend[8] = "cpu";
  PetscMPIInt rank;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(TestSeed());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-print", &print, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscStrcmp(backend, "cuda", &device));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(waves) && (!device || BCRSolverHaveDevice(NULL)); i++)
    PetscCall(Run(&waves[i]));
  if (!device) PetscCall(Resonance());
  if (PetscDefined(USE_COMPLEX) && !device) PetscCall(Damped());
  for (PetscInt dim = 2; dim <= 3; dim++)
    for (PetscInt along = 0; along < dim && !device; along++) {
      PetscCall(Layers(dim, along, 0));
      PetscCall(Layers(dim, along, -0.5));
    }
  PetscCall(PetscFinalize());
  return TestStatus(rank == 0, TestPassed, TestFailed);
}
