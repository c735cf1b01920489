/*
  PCBCRPOISSON on parts of a matrix whose DM is none of theirs: DMDAs in a DMCOMPOSITE by PCFIELDSPLIT with the DM and without it,
  blocks of PCBJACOBI and PCASM, DMSTAG with unknowns on elements alone. Each part is solved on its own: true residuals.
  ranks: 1 2 3
*/
#include "testing.h"
#include <petscdmcomposite.h>
#include <petscdmstag.h>

static PetscMPIInt Rank, Size;

#define CheckAll(condition, ...) \
  do { \
    if (Rank == 0) Check(condition, __VA_ARGS__); \
  } while (0)

/* Couplings 1, 2, 3 along the axes, u = 0 behind the ends */
static PetscErrorCode Star(DM da, Mat *A)
{
  DMDALocalInfo info;
  PetscInt first;

  PetscFunctionBegin;
  PetscCall(DMCreateMatrix(da, A));
  PetscCall(MatGetOwnershipRange(*A, &first, NULL));
  PetscCall(DMDAGetLocalInfo(da, &info));
  for (PetscInt z = info.zs; z < info.zs + info.zm; z++)
    for (PetscInt y = info.ys; y < info.ys + info.ym; y++)
      for (PetscInt x = info.xs; x < info.xs + info.xm; x++)
        for (int k = 0; k < 7; k++) {
          const int step = k % 2 ? 1 : -1, axis = (k - 1) / 2;
          const MatStencil row = {.i = x, .j = y, .k = z, .c = 0};
          MatStencil col = row;
          PetscScalar v = k ? -(axis + 1) : (info.dim == 1 ? 2 : info.dim == 2 ? 6 : 12);

          if (k && axis >= info.dim) continue;
          if (k && axis == 0) col.i += step;
          if (k && axis == 1) col.j += step;
          if (k && axis == 2) col.k += step;
          if (col.i < 0 || col.i >= info.mx || col.j < 0 || col.j >= info.my || col.k < 0 || col.k >= info.mz) continue;
          PetscCall(MatSetValuesStencil(*A, 1, &row, 1, &col, &v, INSERT_VALUES));
        }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One application of the PC of a part is the solution of its matrix; words: what its view has. dm: vectors that it makes, or those of
   the matrix */
static PetscErrorCode Direct(KSP ksp, DM dm, const char words[], const char what[])
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)ksp);
  PetscMPIInt rank;
  PetscReal error = 0;
  Mat A;
  Vec b, x;
  char *text;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  if (dm) PetscCall(DMCreateGlobalVector(dm, &b));
  else PetscCall(MatCreateVecs(A, NULL, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, &error));
  PetscCall(TestViewText((PetscObject)ksp, &text));
  if (rank == 0) {
    Check(error <= TestBackwardBound(), "%s: backward error %g", what, (double)error);
    Check(strstr(text, "plan: ") && strstr(text, words), "%s: no '%s' in %s", what, words, text);
  }
  free(text);
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NewKSP(DM dm, Mat A, const char options[], KSP *ksp)
{
  PetscFunctionBegin;
  PetscCall(TestOptions(options, PETSC_TRUE));
  PetscCall(KSPCreate(PetscObjectComm((PetscObject)A), ksp));
  PetscCall(KSPSetTolerances(*ksp, (PetscReal)(sizeof(PetscReal) < sizeof(double) ? 1e-5 : 1e-10), PETSC_DEFAULT,
                             PETSC_DEFAULT, 200));
  PetscCall(KSPSetOperators(*ksp, A, A));
  if (dm) {
    PetscCall(KSPSetDM(*ksp, dm));
    PetscCall(TestKSPSetDMInactive(*ksp));
  }
  PetscCall(KSPSetFromOptions(*ksp));
  PetscCall(KSPSetUp(*ksp));
  PetscCall(TestOptions(options, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The whole system, in at most so many iterations */
static PetscErrorCode Whole(KSP ksp, PetscInt most, const char what[])
{
  PetscReal error = 0, bn;
  PetscInt its;
  KSPConvergedReason reason;
  Mat A;
  Vec b, x, r;

  PetscFunctionBegin;
  PetscCall(KSPGetOperators(ksp, &A, NULL));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(KSPGetIterationNumber(ksp, &its));
  PetscCall(MatMult(A, x, r));
  PetscCall(VecAYPX(r, -1, b));
  PetscCall(TestMaxNorm(r, &error));
  PetscCall(VecNorm(b, NORM_INFINITY, &bn));
  CheckAll(reason > 0 && its <= most && error <= (PetscReal)(sizeof(PetscReal) < sizeof(double) ? 1e-3 : 1e-7) * bn,
           "%s: %s, %d iterations, residual %g", what, KSPConvergedReasons[reason], (int)its, (double)(error / bn));
  PetscCall(TestDestroy(&b, &x, &r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two grids, the first of which acts on the second: [A0 0; C A1] */
static PetscErrorCode Composite(void)
{
  const char *options = "-pc_type fieldsplit -pc_fieldsplit_type multiplicative "
                        "-fieldsplit_0_ksp_type preonly -fieldsplit_0_pc_type bcrpoisson "
                        "-fieldsplit_1_ksp_type preonly -fieldsplit_1_pc_type bcrpoisson";
  DM da[2], pack;
  Mat B[2], A;
  IS *is;
  PetscInt local[2], size[2], nsub;
  KSP ksp, *sub;
  PC pc;

  PetscFunctionBegin;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 9, 13, PETSC_DECIDE,
                         PETSC_DECIDE, 1, 1, NULL, NULL, &da[0]));
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 5,
                         4, 7, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &da[1]));
  PetscCall(DMCompositeCreate(PETSC_COMM_WORLD, &pack));
  for (int k = 0; k < 2; k++) {
    PetscCall(DMSetUp(da[k]));
    PetscCall(Star(da[k], &B[k]));
    PetscCall(DMCompositeAddDM(pack, da[k]));
    PetscCall(MatGetLocalSize(B[k], &local[k], NULL));
    PetscCall(MatGetSize(B[k], &size[k], NULL));
  }
  PetscCall(DMSetUp(pack));
  PetscCall(DMCompositeGetGlobalISs(pack, &is));
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, local[0] + local[1], local[0] + local[1], PETSC_DETERMINE, PETSC_DETERMINE,
                         8, NULL, 8, NULL, &A));
  for (int k = 0; k < 2; k++) {
    const PetscInt *row, *all;
    PetscInt first, last;
    IS every;

    PetscCall(ISAllGather(is[k], &every));
    PetscCall(ISGetIndices(is[k], &row));
    PetscCall(ISGetIndices(every, &all));
    PetscCall(MatGetOwnershipRange(B[k], &first, &last));
    for (PetscInt r = first; r < last; r++) {
      const PetscInt *columns;
      const PetscScalar *values;
      PetscInt n;

      PetscCall(MatGetRow(B[k], r, &n, &columns, &values));
      for (PetscInt e = 0; e < n; e++)
        PetscCall(MatSetValue(A, row[r - first], all[columns[e]], values[e], INSERT_VALUES));
      PetscCall(MatRestoreRow(B[k], r, &n, &columns, &values));
    }
    if (k == 1) { /* C */
      const PetscInt *above;

      PetscCall(ISGetIndices(is[0], &above));
      for (PetscInt r = 0; r < PetscMin(local[0], local[1]); r += 2)
        PetscCall(MatSetValue(A, row[r], above[r], (PetscScalar)-0.7, INSERT_VALUES));
      PetscCall(ISRestoreIndices(is[0], &above));
    }
    PetscCall(ISRestoreIndices(is[k], &row));
    PetscCall(ISRestoreIndices(every, &all));
    PetscCall(ISDestroy(&every));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  for (int with = 1; with >= 0; with--) {
    const char *where = with ? "from the DM of the KSP" : "found in the matrix";
    char what[64];

    PetscCall(TestOptions(options, PETSC_TRUE));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetTolerances(ksp, (PetscReal)1e-5, PETSC_DEFAULT, PETSC_DEFAULT, 200));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPGetPC(ksp, &pc));
    if (with) {
      PetscCall(KSPSetDM(ksp, pack));
      PetscCall(TestKSPSetDMInactive(ksp));
      /* its splits are called after the DMs then, which is as good */
      PetscCall(PetscObjectSetName((PetscObject)da[0], "0"));
      PetscCall(PetscObjectSetName((PetscObject)da[1], "1"));
    }
    PetscCall(KSPSetFromOptions(ksp));
    if (!with)
      for (int k = 0; k < 2; k++) PetscCall(PCFieldSplitSetIS(pc, k ? "1" : "0", is[k]));
    PetscCall(PetscSNPrintf(what, sizeof(what), "PCFIELDSPLIT %s the DMCOMPOSITE", with ? "with" : "without"));
    PetscCall(Whole(ksp, 1, what));
    PetscCall(PCFieldSplitGetSubKSP(pc, &nsub, &sub));
    CheckAll(nsub == 2, "%s: %d splits", what, (int)nsub);
    for (PetscInt k = 0; k < nsub; k++) PetscCall(Direct(sub[k], NULL, where, what));
    PetscCall(PetscFree(sub));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(TestOptions(options, PETSC_FALSE));
  }
  for (int k = 0; k < 2; k++) {
    PetscCall(TestDestroy(&is[k], &B[k], &da[k]));
  }
  PetscCall(PetscFree(is));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&pack));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The only DMDA of a DMCOMPOSITE */
static PetscErrorCode CompositeOfOne(void)
{
  DM da, pack;
  Mat A;
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 9, 13, PETSC_DECIDE,
                         PETSC_DECIDE, 1, 1, NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(Star(da, &A));
  PetscCall(MatSetDM(A, NULL));
  PetscCall(DMCompositeCreate(PETSC_COMM_WORLD, &pack));
  PetscCall(DMCompositeAddDM(pack, da));
  PetscCall(DMSetUp(pack));
  PetscCall(NewKSP(pack, A, "-ksp_type preonly -pc_type bcrpoisson", &ksp));
  PetscCall(Direct(ksp, NULL, "grid: 9 x 13, from the DM of the KSP", "DMCOMPOSITE of one DMDA"));
  PetscCall(TestDestroy(&ksp, &A, &pack, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks of whole planes, and with overlap. Where a block is no grid, as in the last line of
   its rows some nodes are missing, the error says so, and -sub_pc_bcrpoisson_otherwise solves it */
static PetscErrorCode Blocks(void)
{
  static const char *const kinds[] = {
    "-pc_type bjacobi -pc_bjacobi_local_blocks 1 -sub_ksp_type preonly -sub_pc_type bcrpoisson",
    "-pc_type bjacobi -pc_bjacobi_local_blocks 2 -sub_ksp_type preonly -sub_pc_type bcrpoisson",
    "-pc_type asm -pc_asm_local_blocks 1 -pc_asm_overlap 1 -sub_ksp_type preonly -sub_pc_type bcrpoisson",
    "-pc_type asm -pc_asm_local_blocks 1 -pc_asm_overlap 2 -sub_ksp_type preonly -sub_pc_type bcrpoisson"};
  Mat A;
  DM da;
  KSP ksp, *sub;
  PC pc;
  PetscInt n, first;

  PetscFunctionBegin;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, 11, 24, 1,
                         PETSC_DECIDE, 1, 1, NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(Star(da, &A));
  for (int kind = 0; kind < 4; kind++) {
    PetscCall(NewKSP(da, A, kinds[kind], &ksp));
    PetscCall(Whole(ksp, 100, kinds[kind]));
    PetscCall(KSPGetPC(ksp, &pc));
    if (kind < 2) PetscCall(PCBJacobiGetSubKSP(pc, &n, &first, &sub));
    else PetscCall(PCASMGetSubKSP(pc, &n, &first, &sub));
    for (PetscInt k = 0; k < n; k++) PetscCall(Direct(sub[k], NULL, "grid: 11 x ", kinds[kind]));
    PetscCall(KSPDestroy(&ksp));
  }
  if (Size == 1) { /* 264 rows in 5 blocks of 53 and 52 */
    const char *five = "-pc_type bjacobi -pc_bjacobi_blocks 5 -sub_ksp_type preonly -sub_pc_type bcrpoisson";
    Vec b, x;

    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(NewKSP(da, A, five, &ksp));
    CheckError(KSPSolve(ksp, b, x), PETSC_ERR_ARG_WRONG, "PCBCRPOISSON found no grid");
    PetscCall(VecDestroy(&b));
    PetscCall(VecDestroy(&x));
    /* the KSP is left as the error left it */
    PetscCall(TestOptions("-sub_pc_bcrpoisson_otherwise lu", PETSC_TRUE));
    PetscCall(NewKSP(da, A, five, &ksp));
    PetscCall(Whole(ksp, 100, "blocks that are no grids, by LU"));
    PetscCall(TestOptions("-sub_pc_bcrpoisson_otherwise", PETSC_FALSE));
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Unknowns on elements alone, one or two: as the DM of the KSP, of the matrix, and of the vectors */
static PetscErrorCode Stag(PetscInt dim, PetscInt dof)
{
  static const PetscInt N[3] = {8, 9, 5};
  const PetscReal coupling[3] = {1, 2, 3};
  PetscInt low[3], n[3], sizes[3] = {1, 1, 1};
  DM stag;
  Mat A;
  KSP ksp;
  char what[64];

  PetscFunctionBegin;
  if (dim == 1)
    PetscCall(DMStagCreate1d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, N[0], 0, dof, DMSTAG_STENCIL_STAR, 1, NULL, &stag));
  else if (dim == 2)
    PetscCall(DMStagCreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, N[0], N[1], PETSC_DECIDE,
                             PETSC_DECIDE, 0, 0, dof, DMSTAG_STENCIL_STAR, 1, NULL, NULL, &stag));
  else
    PetscCall(DMStagCreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, N[0], N[1], N[2],
                             PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 0, 0, 0, dof, DMSTAG_STENCIL_STAR, 1, NULL, NULL,
                             NULL, &stag));
  PetscCall(DMSetUp(stag));
  PetscCall(DMCreateMatrix(stag, &A));
  PetscCall(DMStagGetCorners(stag, &low[0], &low[1], &low[2], &n[0], &n[1], &n[2], NULL, NULL, NULL));
  for (PetscInt d = dim; d < 3; d++) low[d] = 0, n[d] = 1;
  for (PetscInt d = 0; d < dim; d++) sizes[d] = N[d];
  for (PetscInt k = low[2]; k < low[2] + n[2]; k++)
    for (PetscInt j = low[1]; j < low[1] + n[1]; j++)
      for (PetscInt i = low[0]; i < low[0] + n[0]; i++)
        for (PetscInt c = 0; c < dof; c++) {
          const DMStagStencil row = {.loc = DMSTAG_ELEMENT, .i = i, .j = j, .k = k, .c = c};
          PetscScalar diagonal = (PetscScalar)(0.1 + (double)c);

          for (PetscInt d = 0; d < dim; d++)
            for (int step = -1; step < 2; step += 2) {
              PetscInt there[3] = {i, j, k};
              DMStagStencil col = row;
              const PetscScalar v = -coupling[d];

              there[d] += step;
              if (there[d] < 0 || there[d] >= sizes[d]) continue; /* no flux */
              col.i = there[0], col.j = there[1], col.k = there[2];
              diagonal -= v;
              PetscCall(DMStagMatSetValuesStencil(stag, A, 1, &row, 1, &col, &v, INSERT_VALUES));
            }
          PetscCall(DMStagMatSetValuesStencil(stag, A, 1, &row, 1, &row, &diagonal, INSERT_VALUES));
        }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(PetscSNPrintf(what, sizeof(what), "DMSTAG of dimension %d, %d unknowns", (int)dim, (int)dof));
  PetscCall(NewKSP(stag, A, "-pc_type bcrpoisson", &ksp));
  PetscCall(Direct(ksp, NULL, "from the DM of the KSP", what));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(NewKSP(NULL, A, "-pc_type bcrpoisson", &ksp));
  PetscCall(Direct(ksp, NULL, "from the DM of the matrix", what));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatSetDM(A, NULL));
  PetscCall(NewKSP(NULL, A, "-pc_type bcrpoisson", &ksp));
  PetscCall(Direct(ksp, NULL, "found in the matrix", what));
  PetscCall(Direct(ksp, stag, "from the DM of the vectors", what));
  PetscCall(TestDestroy(&ksp, &A, &stag));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  int status;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &Rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &Size));
  PetscCall(Composite());
  PetscCall(CompositeOfOne());
  PetscCall(Blocks());
  for (PetscInt dim = 1; dim < 4; dim++)
    for (PetscInt dof = 1; dof < 3; dof++) PetscCall(Stag(dim, dof));
  PetscCall(PetscFinalize());
  status = TestFailed ? 1 : 0; /* blocks of other ranks have checks, too */
  if (Rank == 0) status = TestEnd();
  return status;
}
