/*
  ranks: 1 2 3
  quick: 2

  Fits of boxes with identity rows in them (-pc_bcrpoisson_capacitance off): rows with nothing but a diagonal have no
  part in means, whatever their size, 1 among entries of 1e-14 or a diagonal like any other, so that iterations do not
  depend on it, nor do ends or shift. CG where columns were zeroed, GMRES where they stay; true residuals.
*/
#include "../petsc/testing.h"
#include "../obstacles.h"
#include <petscbcr.h>
#include <petscksp.h>

/* unit: of all entries but those of identity rows, which are `value` units */
static PetscErrorCode Run(const Case *box, double value, double unit, PetscInt *its)
{
  const PetscBool symmetric = (PetscBool)(box->what == ZEROED);
  Case c = *box;
  KSPConvergedReason reason;
  PetscReal norm[2];
  PetscRandom random;
  Vec x, b, r;
  KSP ksp;
  PC pc;
  DM da;
  Mat A;

  PetscFunctionBegin;
  c.jump = value;
  PetscCall(Grid(&c, PETSC_FALSE, &da, &A, &x, &b));
  PetscCall(MatScale(A, unit));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(VecSetRandom(x, random));
  PetscCall(MatGetDiagonal(A, r));
  PetscCall(VecPointwiseDivide(x, x, r)); /* right-hand sides of one size */
  PetscCall(MatMult(A, x, b));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, symmetric ? KSPCG : KSPGMRES));
  if (!symmetric) PetscCall(KSPSetPCSide(ksp, PC_RIGHT));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, sizeof(PetscReal) == 4 ? 1e-4 : 1e-8, 0, PETSC_DEFAULT, 200));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCBCRPOISSON));
  PetscCall(PCBCRPoissonSetCapacitance(pc, PCBCRPOISSON_CAPACITANCE_OFF));
  PetscCall(VecSet(x, 0));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetIterationNumber(ksp, its));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1, b));
  PetscCall(VecNorm(r, NORM_2, &norm[0]));
  PetscCall(VecNorm(b, NORM_2, &norm[1]));
  Check(reason > 0, "what %d shape %d value %g: reason %d after %d", (int)c.what, (int)c.shape, value, (int)reason,
        (int)*its);
  Check(norm[0] <= (sizeof(PetscReal) == 4 ? 1e-3 : 1e-7) * norm[1], "what %d shape %d value %g: residual %g",
        (int)c.what, (int)c.shape, value, (double)(norm[0] / norm[1]));
  PetscCall(TestDestroy(&random, &x, &b, &r, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  /* most: iterations */
  const Case cases[] = {
    {2, 63, KEPT,   DISC,  1, PETSC_FALSE, 26},
    {2, 63, KEPT,   COAST, 1, PETSC_FALSE, 26},
    {2, 63, KEPT,   DISC,  1, PETSC_TRUE,  54},
    {2, 63, ZEROED, DISC,  1, PETSC_FALSE, 26},
    {2, 63, ZEROED, COAST, 1, PETSC_FALSE, 26},
    {2, 63, ZEROED, DISC,  1, PETSC_TRUE,  40},
    {2, 63, ZEROED, ROUGH, 1, PETSC_FALSE, 36}
  };
  const double values[][2] = {
    {1,    1    },
    {4,    1    },
    {7,    1    },
    {.3,   1    },
    {1e14, 1e-14},
    {1e14, 1    },
    {1e-3, 1    }
  };
  PetscBool print = PETSC_FALSE;
  PetscMPIInt rank;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-print", &print, NULL));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) {
    PetscInt first = 0;

    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(values); k++) {
      const double value = values[k][0], unit = values[k][1];
      PetscInt its;

      if (sizeof(PetscReal) == 4 && value > 1e6) continue;
      PetscCall(Run(&cases[i], value, unit, &its));
      if (k == 0) first = its;
      if (print) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d %g %g: %d\n", (int)i, value, unit, (int)its));
      Check(its <= cases[i].most, "case %d value %g: %d iterations", (int)i, value, (int)its);
      Check(PetscAbsInt(its - first) <= 3 + first / 6, "case %d value %g: %d iterations, %d with others", (int)i, value,
            (int)its, (int)first);
    }
  }
  PetscCall(PetscFinalize());
  return TestStatus(rank == 0, TestPassed, TestFailed);
}
