/*
  Lines over several ranks: what is wrong on one rank is the same PETSc error on all of them, and
  nobody hangs. PCASM whose subdomains are solved by lines.

  ranks: 2 3 4 6 8
*/
#include "neatocases.h"

/* Where grid point x is in the matrix; sets the entry on the rank that owns it */
static PetscErrorCode Put(DM da, Mat A, const PetscInt n[3], const PetscInt x[3], const PetscInt y[3], PetscScalar v)
{
  AO ao;
  PetscInt at[2] = {x[0] + n[0] * (x[1] + n[1] * x[2]), y[0] + n[0] * (y[1] + n[1] * y[2])}, start, end;

  PetscFunctionBegin;
  PetscCall(DMDAGetAO(da, &ao));
  PetscCall(AOApplicationToPetsc(ao, 2, at));
  PetscCall(MatGetOwnershipRange(A, &start, &end));
  if (at[0] >= start && at[0] < end) PetscCall(MatSetValue(A, at[0], at[1], v, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One entry changed in the matrix of k, and one of the same row made zero (NULL: none); set-up has
   to fail with these words on every rank */
static PetscErrorCode Bad(const Case *k, const PetscInt x[3], const PetscInt y[3], PetscScalar v,
                          const PetscInt zero[3], PetscErrorCode code, const char words[], const char more[])
{
  DM da;
  Mat A;
  PC pc;

  PetscFunctionBegin;
  PetscCall(NewDMDA(k, &da));
  PetscCall(Assemble(k, da, &A));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(Put(da, A, k->n, x, y, v));
  if (zero) PetscCall(Put(da, A, k->n, x, zero, 0));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCNEATO));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCNeatoSetAxis(pc, (PCNeatoAxis)(k->axis + 1)));
  PetscCall(PCNeatoSetMethod(pc, PCNEATO_METHOD_THOMAS)); /* scan has no such pivots */
  PetscCall(PCSetFromOptions(pc));
  CheckError(PCSetUp(pc), code, words);
  CheckError(PCSetUp(pc), code, more);
  PetscCall(TestDestroy(&pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Neumann or periodic lines without anything that holds them; d = 2 with Dirichlet ends is fine */
static PetscErrorCode Singular(void)
{
  const PetscReal row[3] = {-1, 2, -1}, first[3] = {0, 1, -1}, last[3] = {-1, 1, 0};
  PetscBCRLines lines;
  DM da;
  Vec f, u, v;
  PetscReal difference = 0;
  Case k = {
    2, {23, 19, 1},
     1, 0, PETSC_FALSE, SAME, 0, 0, 0, 0, 0
  };

  PetscFunctionBegin;
  PetscCall(NewDMDA(&k, &da));
  PetscCall(DMCreateGlobalVector(da, &f));
  PetscCall(VecDuplicate(f, &u));
  PetscCall(VecDuplicate(f, &v));
  PetscCall(FillRhs(&k, da, f));
  for (PetscInt axis = 0; axis < 2; ++axis) {
    PetscScalar **uu, **ff, **vv;
    PetscInt s[2], m[2];
    const PetscScalar none = -1;

    PetscCall(PetscBCRLinesCreate(da, (DMDirection)axis, 1, first, row, 1, last, &lines));
    CheckError(PetscBCRLinesSolve(lines, f, u), PETSC_ERR_MAT_LU_ZRPVT,
               axis ? "line along y through x = " : "line along x through y = ");
    PetscCall(PetscBCRLinesDestroy(&lines));
    PetscCall(PetscBCRLinesCreate(da, (DMDirection)axis, 0, NULL, row, 0, NULL, &lines));
    PetscCall(PetscBCRLinesSolve(lines, f, u));
    PetscCall(PetscBCRLinesDestroy(&lines));
    /* the second difference of u, with values of other ranks */
    {
      Vec local;

      PetscCall(DMGetLocalVector(da, &local));
      PetscCall(VecSet(local, 0));
      PetscCall(DMGlobalToLocal(da, u, INSERT_VALUES, local));
      PetscCall(DMDAGetCorners(da, &s[0], &s[1], NULL, &m[0], &m[1], NULL));
      PetscCall(DMDAVecGetArray(da, local, &uu));
      PetscCall(DMDAVecGetArray(da, f, &ff));
      PetscCall(DMDAVecGetArray(da, v, &vv));
      for (PetscInt j = s[1]; j < s[1] + m[1]; ++j) {
        for (PetscInt i = s[0]; i < s[0] + m[0]; ++i) {
          const PetscInt at = axis ? j : i, n = k.n[axis];

          vv[j][i] = (PetscScalar)2 * uu[j][i] + (at > 0 ? none * (axis ? uu[j - 1][i] : uu[j][i - 1]) : 0) +
                     (at < n - 1 ? none * (axis ? uu[j + 1][i] : uu[j][i + 1]) : 0);
        }
      }
      PetscCall(DMDAVecRestoreArray(da, local, &uu));
      PetscCall(DMDAVecRestoreArray(da, f, &ff));
      PetscCall(DMDAVecRestoreArray(da, v, &vv));
      PetscCall(DMRestoreLocalVector(da, &local));
    }
    PetscCall(TestDifference(v, f, &difference));
    Check(difference < 1000 * PETSC_MACHINE_EPSILON, "d = 2 along axis %d: second difference off by %g", (int)axis,
          (double)difference);
  }
  PetscCall(TestDestroy(&f, &u, &v, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The right-hand side has a NaN on one rank; an error names the entry on all */
static PetscErrorCode NotANumber(void)
{
  Case k = {
    2, {23, 19, 1},
     1, 1, PETSC_FALSE, SAME, 0, 0, 0, 0, 0.5
  };
  DM da;
  Mat A;
  Vec f, u;
  PC pc;
  PetscInt size;

  PetscFunctionBegin;
  PetscCall(NewDMDA(&k, &da));
  PetscCall(Assemble(&k, da, &A));
  PetscCall(DMCreateGlobalVector(da, &f));
  PetscCall(VecDuplicate(f, &u));
  PetscCall(FillRhs(&k, da, f));
  PetscCall(VecGetSize(f, &size));
  PetscCall(VecSetValue(f, size - 2, (PetscScalar)NAN, INSERT_VALUES));
  PetscCall(VecAssemblyBegin(f));
  PetscCall(VecAssemblyEnd(f));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCNEATO));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCNeatoSetAxis(pc, PCNEATO_AXIS_Y));
  PetscCall(PCSetErrorIfFailure(pc, PETSC_TRUE));
  PetscCall(PCSetUp(pc));
  CheckError(PCApply(pc, f, u), PETSC_ERR_FP, "Entry 435 of the right-hand side");
  PetscCall(TestDestroy(&pc, &f, &u, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Iterations of GMRES with PCASM on subdomains that the DMDA makes */
static PetscErrorCode Schwarz(const char sub[], PetscInt *its)
{
  Case k = {
    1, {61, 1, 1},
     1, 0, PETSC_FALSE, GENERAL, 0, 0, 0, (PetscReal)-1e-3, 0
  };
  DM da;
  Mat A;
  Vec f, u;
  KSP ksp;
  PetscOptions own;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(PetscOptionsCreate(&own));
  PetscCall(PetscOptionsInsertString(own, sub));
  PetscCall(PetscOptionsPush(own));
  PetscCall(NewDMDA(&k, &da));
  PetscCall(DMDASetOverlap(da, 2, 2, 2));
  PetscCall(Assemble(&k, da, &A));
  PetscCall(DMCreateGlobalVector(da, &f));
  PetscCall(VecDuplicate(f, &u));
  PetscCall(FillRhs(&k, da, f));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetDM(ksp, da));
  PetscCall(TestKSPSetDMInactive(ksp));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSolve(ksp, f, u));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, its));
  Check(reason > 0, "%s: %s", sub, KSPConvergedReasons[reason]);
  PetscCall(TestDestroy(&ksp, &f, &u, &A, &da));
  PetscCall(PetscOptionsPop());
  PetscCall(PetscOptionsDestroy(&own));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const Case k = {
    2, {23, 19, 1},
     1, 0, PETSC_FALSE, SAME, 0, 0, 0, 0, 0.5
  };
  const PetscInt corner[3] = {0, 18, 0}, far[3] = {2, 18, 0}, end[3] = {22, 18, 0}, before[3] = {21, 18, 0},
                 middle[3] = {12, 3, 0};
  PetscInt its[2];
  int status = 1;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(Bad(&k, corner, corner, 0, NULL, PETSC_ERR_MAT_LU_ZRPVT, "line along x through y = 18", "row"));
  Cut = 1; /* all ranks along the lines; on the last of them */
  PetscCall(Bad(&k, end, end, 0, before, PETSC_ERR_MAT_LU_ZRPVT, "line along x through y = 18", "along the lines"));
  Cut = 0;
  PetscCall(Bad(&k, corner, far, 0.25, NULL, PETSC_ERR_SUP, "not tridiagonal along x", "grid point 0,18,0"));
  PetscCall(Bad(&k, middle, middle, (PetscScalar)NAN, NULL, PETSC_ERR_FP, "NaN or Inf", "grid point 12,3,0"));
  PetscCall(Singular());
  PetscCall(NotANumber());
  PetscCall(
    Schwarz("-ksp_rtol 1e-6 -ksp_type gmres -pc_type asm -pc_asm_dm_subdomains -sub_ksp_type preonly -sub_pc_type lu",
            &its[0]));
  PetscCall(Schwarz(
    "-ksp_rtol 1e-6 -ksp_type gmres -pc_type asm -pc_asm_dm_subdomains -sub_ksp_type preonly -sub_pc_type neato",
    &its[1]));
  Check(PetscAbs(its[0] - its[1]) <= (PetscDefined(USE_REAL_SINGLE) ? 1 : 0) && its[0] > 1,
        "PCASM: %d iterations with PCNEATO, %d with LU in the subdomains", (int)its[1], (int)its[0]);
  PetscCall(TestSum(&status));
  PetscCall(PetscFinalize());
  return status;
}
