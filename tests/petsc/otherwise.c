/*
  -pc_bcrpoisson_otherwise: one option for all KSPs of a program that share the options database. Poisson problems are solved
  directly, elasticity, nine-point matrices and matrices of no grid by the PC that the option names; views tell which one
  works and why. Without the option these end with the error that says what is wrong, and errors of other kinds always do.
  The same of PCNEATO. A KSP whose DM has another size than its matrix (SNES with bounds) has no DM for these PCs. PCEISENSTAT stands
  in with its PCPreSolve().
  ranks: 1 2
*/
#include "testing.h"

static PetscMPIInt Rank, Size;

/* One line for each thing that is wrong, on the first rank */
#define CheckAll(condition, ...) \
  do { \
    if (Rank == 0) Check(condition, __VA_ARGS__); \
  } while (0)

static const PetscInt Nodes[3] = {7, 6, 5};

static PetscErrorCode Grid(PetscInt dof, DMDAStencilType stencil, DM *da)
{
  PetscFunctionBegin;
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, stencil, Nodes[0],
                         Nodes[1], Nodes[2], PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, dof, 1, NULL, NULL, NULL, da));
  PetscCall(DMSetFromOptions(*da));
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On each link of the grid a spring: k d d^T of the components of its nodes, with d of [dof]. corners: links across the
   squares of the x-y plane, too, of that size. drift: how much stronger lower neighbours along z act than upper ones */
static PetscErrorCode Springs(DM da, PetscReal k, PetscReal corners, PetscReal drift, Mat A)
{
  static const PetscReal d[3] = {1, (PetscReal)0.4, (PetscReal)-0.7};
  static const int links[][3] = {
    {1, 0,  0},
    {0, 1,  0},
    {0, 0,  1},
    {1, 1,  0},
    {1, -1, 0}
  };
  DMDALocalInfo info;

  PetscFunctionBegin;
  PetscCall(MatZeroEntries(A));
  PetscCall(DMDAGetLocalInfo(da, &info));
  for (PetscInt z = info.zs; z < info.zs + info.zm; z++)
    for (PetscInt y = info.ys; y < info.ys + info.ym; y++)
      for (PetscInt x = info.xs; x < info.xs + info.xm; x++)
        for (PetscInt link = 0; link < 5; link++)
          for (int side = -1; side < 2; side += 2) {
            const PetscInt there[3] = {x + side * links[link][0], y + side * links[link][1], z + side * links[link][2]};
            const PetscReal stiff =
              (link < 3 ? k * (1 + (PetscReal)link) : corners) * (link == 2 && side < 0 ? 1 + drift : 1);

            if (stiff == 0) continue;
            for (PetscInt a = 0; a < info.dof; a++)
              for (PetscInt b = 0; b < info.dof; b++) {
                const MatStencil row = {.i = x, .j = y, .k = z, .c = a},
                                 col = {.i = there[0], .j = there[1], .k = there[2], .c = b},
                                 mine = {.i = x, .j = y, .k = z, .c = b};
                PetscScalar v = stiff * d[a] * d[b];
                const PetscBool inside = (PetscBool)(there[0] >= 0 && there[0] < info.mx && there[1] >= 0 &&
                                                     there[1] < info.my && there[2] >= 0 && there[2] < info.mz);

                if (a == b && info.dof > 1) v += (PetscReal)0.05 * stiff;
                PetscCall(MatSetValuesStencil(A, 1, &row, 1, &mine, &v, ADD_VALUES));
                v = -v;
                if (inside) PetscCall(MatSetValuesStencil(A, 1, &row, 1, &col, &v, ADD_VALUES));
              }
          }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Links between rows at random; not symmetric */
static PetscErrorCode RandomGraph(PetscInt n, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, n, n));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSetUp(*A));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (PetscInt i = 0; i < n; i++) {
    for (int link = 0; link < 3; link++) {
      const PetscInt j = PetscMin((PetscInt)(TestUniform() * (double)n), n - 1);
      const PetscReal v = (PetscReal)(0.5 + TestUniform());

      if (Rank || i == j) continue;
      PetscCall(MatSetValue(*A, i, j, -v, ADD_VALUES));
      PetscCall(MatSetValue(*A, j, i, -(PetscReal)0.8 * v, ADD_VALUES));
      PetscCall(MatSetValue(*A, i, i, (PetscReal)1.5 * v, ADD_VALUES));
      PetscCall(MatSetValue(*A, j, j, (PetscReal)1.5 * v, ADD_VALUES));
    }
    if (Rank == 0) PetscCall(MatSetValue(*A, i, i, 1, ADD_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A KSP without a prefix, as all of the program are; da: NULL, or its DM */
static PetscErrorCode NewKSP(Mat A, DM da, KSPType type, KSP *ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPSetType(*ksp, type));
  PetscCall(KSPSetTolerances(*ksp, (PetscReal)(sizeof(PetscReal) < sizeof(double) ? 1e-5 : 1e-11), PETSC_DEFAULT,
                             PETSC_DEFAULT, 500));
  if (da) {
    PetscCall(KSPSetDM(*ksp, da));
    PetscCall(TestKSPSetDMInactive(*ksp));
  }
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The view has these words, or lacks them */
static PetscErrorCode Views(KSP ksp, PetscBool has, const char words[], const char what[])
{
  char *text;

  PetscFunctionBegin;
  PetscCall(TestViewText((PetscObject)ksp, &text));
  CheckAll((strstr(text, words) != NULL) == has, "%s: the view %s '%s': %s", what, has ? "lacks" : "has", words, text);
  free(text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves with a random right-hand side, A and its transpose, and of several right-hand sides: true residuals. direct: it is
   PCBCRPOISSON that works, else why says which words its reason has */
static PetscErrorCode Solve(KSP ksp, Mat A, const char why[], PetscBool transpose, const char what[])
{
  const PetscReal bound = (PetscReal)(sizeof(PetscReal) < sizeof(double) ? 1e-4 : 1e-9);
  PetscReal error = 0, bn;
  PetscInt its;
  KSPConvergedReason reason;
  PetscRandom random;
  Vec b, x, r;

  PetscFunctionBegin;
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  for (int t = 0; t <= (transpose ? 1 : 0); t++) {
    PetscCall(VecSetRandom(b, random));
    PetscCall(t ? KSPSolveTranspose(ksp, b, x) : KSPSolve(ksp, b, x));
    PetscCall(t ? MatMultTranspose(A, x, r) : MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1, b));
    PetscCall(TestMaxNorm(r, &error));
    PetscCall(VecNorm(b, NORM_INFINITY, &bn));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    CheckAll(reason > 0 && error <= bound * bn && (why || its <= 2), "%s%s: %s, %d iterations, residual %g", what,
             t ? ", transposed" : "", KSPConvergedReasons[reason], (int)its, (double)(error / bn));
  }
  PetscCall(Views(ksp, (PetscBool)(why != NULL), "otherwise: another PC stands in, as ", what));
  if (why) PetscCall(Views(ksp, PETSC_TRUE, why, what));
  else PetscCall(Views(ksp, PETSC_TRUE, "plan: ", what));
  PetscCall(TestDestroy(&b, &x, &r, &random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The PC applied to a block of vectors is the PC applied to each of them */
static PetscErrorCode Blocks(KSP ksp, Mat A, const char what[])
{
  PetscInt local, size;
  PetscReal error = 0, norm;
  Mat B, X;
  Vec b, x, y;
  PC pc;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &size, NULL));
  PetscCall(MatGetLocalSize(A, &local, NULL));
  PetscCall(MatCreateDense(PETSC_COMM_WORLD, local, PETSC_DECIDE, size, 3, NULL, &B));
  PetscCall(MatSetRandom(B, NULL));
  PetscCall(MatDuplicate(B, MAT_DO_NOT_COPY_VALUES, &X));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCMatApply(pc, B, X));
  PetscCall(MatCreateVecs(A, &y, NULL));
  for (PetscInt c = 0; c < 3; c++) {
    PetscCall(MatDenseGetColumnVecRead(B, c, &b));
    PetscCall(PCApply(pc, b, y));
    PetscCall(MatDenseRestoreColumnVecRead(B, c, &b));
    PetscCall(VecNorm(y, NORM_INFINITY, &norm));
    PetscCall(MatDenseGetColumnVecRead(X, c, &x));
    PetscCall(VecAXPY(y, -1, x));
    PetscCall(MatDenseRestoreColumnVecRead(X, c, &x));
    PetscCall(TestMaxNorm(y, &error));
    CheckAll(error <= 100 * PETSC_MACHINE_EPSILON * norm, "%s: column %d of PCMatApply() differs by %g from PCApply()",
             what, (int)c, (double)(error / norm));
  }
  PetscCall(TestDestroy(&B, &X, &y));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A Poisson problem, elasticity, and a matrix of no grid, each with its own KSP */
static PetscErrorCode Several(const char otherwise[], PetscBool dms)
{
  DM da, solid;
  Mat A[3];
  KSP ksp[3];
  PC pc;
  PCType type;
  char options[128], view[64];

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(options, sizeof(options), "-pc_type bcrpoisson -pc_bcrpoisson_otherwise %s", otherwise));
  PetscCall(PetscSNPrintf(view, sizeof(view), "type: %s", otherwise));
  PetscCall(TestOptions(options, PETSC_TRUE));
  PetscCall(Grid(1, DMDA_STENCIL_STAR, &da));
  PetscCall(Grid(3, DMDA_STENCIL_STAR, &solid));
  PetscCall(DMCreateMatrix(da, &A[0]));
  PetscCall(DMCreateMatrix(solid, &A[1]));
  PetscCall(Springs(da, 1, 0, 0, A[0]));
  PetscCall(Springs(solid, 1, 0, 0, A[1]));
  PetscCall(RandomGraph(150, &A[2]));
  PetscCall(NewKSP(A[0], dms ? da : NULL, KSPCG, &ksp[0]));
  PetscCall(NewKSP(A[1], dms ? solid : NULL, KSPCG, &ksp[1]));
  PetscCall(NewKSP(A[2], NULL, KSPGMRES, &ksp[2]));
  for (int again = 0; again < 2; again++) {
    PetscCall(Solve(ksp[0], A[0], NULL, PETSC_TRUE, "Poisson"));
    PetscCall(Solve(ksp[1], A[1], "component", PETSC_TRUE, "elasticity"));
    PetscCall(Views(ksp[1], PETSC_TRUE, view, "elasticity"));
    /* GAMG's transpose is that of a symmetric matrix only as far as its smoothers are */
    PetscCall(Solve(ksp[2], A[2], "PCBCRPOISSON found no grid", PETSC_TRUE, "no grid"));
    PetscCall(Views(ksp[2], PETSC_TRUE, view, "no grid"));
  }
  for (int k = 0; k < 3; k++) PetscCall(Blocks(ksp[k], A[k], otherwise));
  PetscCall(KSPGetPC(ksp[1], &pc));
  PetscCall(PCBCRPoissonGetOtherwise(pc, &type));
  CheckAll(type && !strcmp(type, otherwise), "the getter says %s, not %s", type, otherwise);
  PetscCall(TestOptions("-pc_bcrpoisson_otherwise", PETSC_FALSE));
  for (int k = 0; k < 3; k++) PetscCall(KSPDestroy(&ksp[k]));
  /* without the option: the errors, at set-up where there is a grid, else when the first vectors show that they have none */
  PetscCall(NewKSP(A[1], dms ? solid : NULL, KSPCG, &ksp[1]));
  CheckError(KSPSetUp(ksp[1]), PETSC_ERR_SUP, "component");
  PetscCall(KSPDestroy(&ksp[1]));
  PetscCall(NewKSP(A[2], NULL, KSPGMRES, &ksp[2]));
  PetscCall(KSPGetPC(ksp[2], &pc));
  PetscCall(KSPSetUp(ksp[2]));
  {
    Vec x, b;

    PetscCall(MatCreateVecs(A[2], &x, &b));
    CheckError(PCApply(pc, b, x), PETSC_ERR_ARG_WRONG, "-pc_bcrpoisson_grid nx,ny,nz");
    /* the setter in place of the option, after the error */
    PetscCall(PCBCRPoissonSetOtherwise(pc, otherwise));
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
  }
  PetscCall(Solve(ksp[2], A[2], "PCBCRPOISSON found no grid", PETSC_FALSE, "no grid, by the setter"));
  PetscCall(KSPDestroy(&ksp[2]));
  PetscCall(TestOptions("-pc_type", PETSC_FALSE));
  for (int k = 0; k < 3; k++) PetscCall(MatDestroy(&A[k]));
  PetscCall(DMDestroy(&da));
  PetscCall(DMDestroy(&solid));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A link between the first node and one far away, which no grid has unless it is zero */
static PetscErrorCode FarLink(Mat A, PetscScalar v)
{
  const PetscInt far = Nodes[0] * Nodes[1] * Nodes[2] / 2 + 3;

  PetscFunctionBegin;
  if (Rank == 0) {
    PetscCall(MatSetValue(A, 0, far, v, INSERT_VALUES));
    PetscCall(MatSetValue(A, far, 0, v, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values of one matrix: a star, with corners, a star again, and NaN, which is an error whatever the option says. dm: the KSP
   has it; else the grid is found, where there is a zero far away with zeros left out */
static PetscErrorCode NewValues(PetscBool dm)
{
  DM da;
  Mat A;
  KSP ksp;
  PC pc;

  PetscFunctionBegin;
  PetscCall(TestOptions("-pc_type bcrpoisson -pc_bcrpoisson_otherwise redundant", PETSC_TRUE));
  PetscCall(Grid(1, DMDA_STENCIL_BOX, &da));
  PetscCall(DMCreateMatrix(da, &A));
  if (!dm) PetscCall(MatSetDM(A, NULL));
  PetscCall(Springs(da, 1, 0, 0, A));
  PetscCall(NewKSP(A, dm ? da : NULL, KSPGMRES, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  for (int round = 0; round < 2; round++) {
    const PetscReal drift = round ? (PetscReal)0.25 : 0;

    PetscCall(Springs(da, 1 + (PetscReal)round, 0, drift, A));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(Solve(ksp, A, NULL, PETSC_TRUE, "star"));
    PetscCall(Springs(da, 1, (PetscReal)0.3, drift + (PetscReal)0.1, A)); /* without drift it would be one of ours */
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(Solve(ksp, A, "stencil", PETSC_TRUE, "corners"));
    PetscCall(Blocks(ksp, A, "corners"));
  }
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  for (int round = 0; round < 3; round++) {
    PetscCall(Springs(da, 1 + (PetscReal)round, 0, 0, A));
    PetscCall(FarLink(A, (PetscScalar)-0.5));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(Solve(ksp, A, dm ? "outside" : "no grid", PETSC_TRUE, "a link far away"));
    PetscCall(Springs(da, 1, 0, 0, A));
    PetscCall(FarLink(A, 0));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(Solve(ksp, A, NULL, PETSC_TRUE, "a zero far away"));
  }
  PetscCall(Springs(da, 1, 0, 0, A));
  PetscCall(MatShift(A, (PetscScalar)NAN));
  PetscCall(KSPSetOperators(ksp, A, A));
  CheckError(PCSetUp(pc), PETSC_ERR_FP, "NaN");
  PetscCall(Springs(da, 1, 0, 0, A));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(Solve(ksp, A, NULL, PETSC_TRUE, "star after NaN"));
  PetscCall(TestDestroy(&ksp, &A, &da));
  PetscCall(TestOptions("-pc_type -pc_bcrpoisson_otherwise", PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Names of no PC, a PC that cannot be set up, options of the PC that stands in */
static PetscErrorCode Names(void)
{
  DM da;
  Mat A;
  KSP ksp;
  PC pc;

  PetscFunctionBegin;
  PetscCall(Grid(3, DMDA_STENCIL_STAR, &da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(Springs(da, 1, 0, 0, A));
  PetscCall(TestOptions("-pc_type bcrpoisson -pc_bcrpoisson_otherwise nonsense", PETSC_TRUE));
  PetscCall(NewKSP(A, da, KSPCG, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  CheckError(KSPSetUp(ksp), PETSC_ERR_ARG_UNKNOWN_TYPE, "nonsense");
  CheckError(PCSetUp(pc), PETSC_ERR_ARG_UNKNOWN_TYPE, "nonsense");
  PetscCall(PCBCRPoissonSetOtherwise(pc, PCJACOBI));
  PetscCall(Solve(ksp, A, "component", PETSC_TRUE, "after an unknown type"));
  /* itself: it does not stand in for itself without end */
  PetscCall(PCBCRPoissonSetOtherwise(pc, PCBCRPOISSON));
  CheckError(PCSetUp(pc), PETSC_ERR_SUP, "component");
  PetscCall(PCBCRPoissonSetOtherwise(pc, PCJACOBI));
  PetscCall(Solve(ksp, A, "component", PETSC_TRUE, "after itself"));
  if (Size > 1) {
    PetscCall(PCBCRPoissonSetOtherwise(pc, Rank ? PCJACOBI : PCNONE));
    CheckError(PCSetUp(pc), PETSC_ERR_ARG_NOTSAMETYPE, "otherwise");
  }
  PetscCall(KSPDestroy(&ksp));

  PetscCall(TestOptions("-pc_bcrpoisson_otherwise sor -otherwise_pc_sor_omega 1.25", PETSC_TRUE));
  PetscCall(NewKSP(A, da, KSPGMRES, &ksp));
  PetscCall(Solve(ksp, A, "component", PETSC_FALSE, "SOR"));
  PetscCall(Views(ksp, PETSC_TRUE, "omega = 1.25", "SOR"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(TestOptions("-pc_type -pc_bcrpoisson_otherwise -otherwise_pc_sor_omega", PETSC_FALSE));

  PetscCall(TestOptions("-mine_pc_type bcrpoisson -mine_pc_bcrpoisson_otherwise sor -mine_otherwise_pc_sor_omega 1.5",
                        PETSC_TRUE));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, "mine_"));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetTolerances(ksp, (PetscReal)(sizeof(PetscReal) < sizeof(double) ? 1e-5 : 1e-11), PETSC_DEFAULT,
                             PETSC_DEFAULT, 500));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(Solve(ksp, A, "component", PETSC_FALSE, "SOR with a prefix"));
  PetscCall(Views(ksp, PETSC_TRUE, "omega = 1.5", "SOR with a prefix"));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(TestOptions("-mine_pc_type -mine_pc_bcrpoisson_otherwise -mine_otherwise_pc_sor_omega", PETSC_FALSE));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What stands in may fail, as PETSc tells it: no error, but a reason of the KSP. A singular matrix of coupled components */
static PetscErrorCode Failure(void)
{
  DM da;
  Mat A;
  KSP ksp;
  Vec b, x;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(TestOptions("-pc_type bcrpoisson -pc_bcrpoisson_otherwise redundant", PETSC_TRUE));
  PetscCall(Grid(2, DMDA_STENCIL_STAR, &da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(Springs(da, 1, 0, 0, A));
  PetscCall(MatZeroEntries(A));
  for (PetscInt row = 0; row < 2 * Nodes[0] * Nodes[1] * Nodes[2]; row += 2)
    if (Rank == 0) { /* (1 1; 1 1) on each node */
      const PetscInt rows[2] = {row, row + 1};
      const PetscScalar ones[4] = {1, 1, 1, 1};

      PetscCall(MatSetValues(A, 2, rows, 2, rows, ones, INSERT_VALUES));
    }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(NewKSP(A, da, KSPGMRES, &ksp));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSetRandom(b, NULL));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  CheckAll(reason < 0, "a factor of a singular matrix: %s", KSPConvergedReasons[reason]);
  PetscCall(TestDestroy(&b, &x, &ksp, &A, &da));
  PetscCall(TestOptions("-pc_type -pc_bcrpoisson_otherwise", PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rows of A of nodes below z = top, without one in `every` */
static PetscErrorCode Part(DM da, Mat A, PetscInt top, PetscInt every, Mat *B)
{
  PetscInt *rows, n = 0, at;
  DMDALocalInfo info;
  IS is;

  PetscFunctionBegin;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(MatGetOwnershipRange(A, &at, NULL));
  PetscCall(PetscMalloc1(info.xm * info.ym * info.zm, &rows));
  for (PetscInt z = info.zs; z < info.zs + info.zm; z++)
    for (PetscInt k = 0; k < info.xm * info.ym; k++, at++)
      if (z < top && (at + 1) % every) rows[n++] = at;
  PetscCall(ISCreateGeneral(PETSC_COMM_WORLD, n, rows, PETSC_OWN_POINTER, &is));
  PetscCall(MatCreateSubMatrix(A, is, is, MAT_INITIAL_MATRIX, B));
  PetscCall(ISDestroy(&is));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of another size */
static PetscErrorCode Operators(KSP ksp, Mat A)
{
  PetscFunctionBegin;
  PetscCall(KSPReset(ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As a SNES with bounds does it: the KSP has the DM of all nodes, its matrix the rows of some of them. Where these are a grid it is found */
static PetscErrorCode Misfit(void)
{
  const PetscInt all = Nodes[0] * Nodes[1] * Nodes[2];
  char why[96];
  PetscInt rows;
  DM da;
  Mat A, box, holes;
  KSP ksp;
  PC pc;
  Vec x, b;

  PetscFunctionBegin;
  PetscCall(TestOptions("-pc_type bcrpoisson", PETSC_TRUE));
  PetscCall(Grid(1, DMDA_STENCIL_STAR, &da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(Springs(da, 1, 0, 0, A));
  PetscCall(Part(da, A, 3, all + 1, &box));
  PetscCall(Part(da, A, Nodes[2], 17, &holes));
  PetscCall(MatGetSize(holes, &rows, NULL));
  PetscCall(
    PetscSNPrintf(why, sizeof(why), "the DM of the KSP has %d unknowns, the matrix %d rows", (int)all, (int)rows));
  PetscCall(NewKSP(A, da, KSPGMRES, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(Operators(ksp, holes));
  PetscCall(MatCreateVecs(holes, &x, &b));
  PetscCall(KSPSetUp(ksp)); /* the vectors may have a grid */
  CheckError(PCApply(pc, b, x), PETSC_ERR_ARG_WRONG, why);
  PetscCall(VecSetDM(b, da)); /* not of its size, either */
  CheckError(PCApply(pc, b, x), PETSC_ERR_ARG_WRONG, why);
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(PCBCRPoissonSetOtherwise(pc, PCJACOBI));
  for (int again = 0; again < 2; again++) {
    PetscCall(Operators(ksp, box));
    PetscCall(Solve(ksp, box, NULL, PETSC_TRUE, "some planes of the DM"));
    PetscCall(Views(ksp, PETSC_TRUE, ", found in the matrix", "some planes of the DM"));
    PetscCall(Operators(ksp, holes));
    PetscCall(Solve(ksp, holes, why, PETSC_TRUE, "some nodes of the DM"));
    PetscCall(Operators(ksp, A));
    PetscCall(Solve(ksp, A, NULL, PETSC_TRUE, "all nodes of the DM"));
    PetscCall(Views(ksp, PETSC_TRUE, ", from the DM of the KSP", "all nodes of the DM"));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(TestOptions("-pc_type", PETSC_FALSE));
  PetscCall(TestDestroy(&A, &box, &holes, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The PC that stands in for PCNEATO */
static PetscErrorCode Lines(void)
{
  DM da;
  Mat A, B;
  KSP ksp;
  PC pc;
  PCType type;

  PetscFunctionBegin;
  PetscCall(TestOptions("-pc_type neato -pc_neato_otherwise jacobi -pc_neato_axis x", PETSC_TRUE));
  PetscCall(Grid(1, DMDA_STENCIL_STAR, &da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(Springs(da, 1, 0, 0, A));
  PetscCall(NewKSP(A, da, KSPGMRES, &ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCNeatoGetOtherwise(pc, &type));
  CheckAll(type && !strcmp(type, PCJACOBI), "the getter says %s", type);
  PetscCall(RandomGraph(Nodes[0] * Nodes[1] * Nodes[2] - 9, &B));
  for (int again = 0; again < 2; again++) {
    PetscCall(Springs(da, 1, 0, 0, A));
    PetscCall(Operators(ksp, A));
    PetscCall(KSPSetUp(ksp));
    PetscCall(Views(ksp, PETSC_TRUE, "lines: 30 along x", "lines"));
    PetscCall(Views(ksp, PETSC_FALSE, "otherwise: another", "lines"));
    PetscCall(MatShift(A, -10)); /* 2, -1: the sums of the rows inside vanish, and those at the ends do not */
    PetscCall(Operators(ksp, A));
    PetscCall(KSPSetUp(ksp));
    PetscCall(Views(ksp, PETSC_FALSE, "otherwise: another", "lines that can just be solved"));
    PetscCall(MatShift(A, -2)); /* 0, -1 on seven nodes */
    PetscCall(Operators(ksp, A));
    PetscCall(KSPSetUp(ksp));
    PetscCall(Views(ksp, PETSC_TRUE, "otherwise: another PC stands in, as ", "singular lines"));
    PetscCall(Operators(ksp, B));
    PetscCall(Solve(ksp, B, "PCNEATO found no grid: the DM of the KSP has", PETSC_TRUE, "no grid"));
    PetscCall(Blocks(ksp, B, "no grid"));
  }
  PetscCall(PCNeatoSetOtherwise(pc, NULL));
  {
    Vec x, b;

    PetscCall(MatCreateVecs(B, &x, &b));
    CheckError(PCApply(pc, b, x), PETSC_ERR_ARG_WRONG, "PCNEATO found no grid");
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&b));
  }
  PetscCall(PCNeatoSetOtherwise(pc, PCSOR));
  PetscCall(PCNeatoSetVariant(pc, PCNEATO_VARIANT_PLAIN));
  PetscCall(PCNeatoSetMethod(pc, PCNEATO_METHOD_THOMAS)); /* a contradiction is no matrix of another kind */
  CheckError(PCSetUp(pc), PETSC_ERR_ARG_INCOMP, "variant");
  PetscCall(TestDestroy(&ksp, &A, &B, &da));
  PetscCall(TestOptions("-pc_type -pc_neato_otherwise -pc_neato_axis", PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCEISENSTAT has a PCPreSolve() that turns operator and vectors around: in front of it or not, the iterations are the same */
static PetscErrorCode Eisenstat(void)
{
  static const char *const options[] = {"-pc_type eisenstat", "-pc_type bcrpoisson -pc_bcrpoisson_otherwise eisenstat",
                                        "-pc_type neato -pc_neato_otherwise eisenstat"};
  static const char *const names[] = {"-pc_type", "-pc_type -pc_bcrpoisson_otherwise", "-pc_type -pc_neato_otherwise"};
  PetscInt its[3];
  PetscReal norm, error = 0;
  DM da;
  Mat A;
  Vec b, x[3];

  PetscFunctionBegin;
  PetscCall(Grid(3, DMDA_STENCIL_STAR, &da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(Springs(da, 1, 0, 0, A));
  PetscCall(MatCreateVecs(A, &b, NULL));
  PetscCall(VecSetRandom(b, NULL));
  for (int k = 0; k < 3; k++) {
    KSP ksp;

    PetscCall(TestOptions(options[k], PETSC_TRUE));
    PetscCall(NewKSP(A, da, KSPCG, &ksp));
    PetscCall(VecDuplicate(b, &x[k]));
    for (int again = 0; again < 2; again++) PetscCall(KSPSolve(ksp, b, x[k]));
    PetscCall(KSPGetIterationNumber(ksp, &its[k]));
    PetscCall(KSPDestroy(&ksp));
    PetscCall(TestOptions(names[k], PETSC_FALSE));
    CheckAll(its[k] == its[0], "%s: %d iterations, %d of PCEISENSTAT alone", options[k], (int)its[k], (int)its[0]);
  }
  PetscCall(VecNorm(x[0], NORM_INFINITY, &norm));
  for (int k = 1; k < 3; k++) {
    PetscCall(VecAXPY(x[k], -1, x[0]));
    PetscCall(TestMaxNorm(x[k], &error));
  }
  CheckAll(error <= 100 * PETSC_MACHINE_EPSILON * norm, "PCEISENSTAT that stands in differs by %g", (double)error);
  for (int k = 0; k < 3; k++) PetscCall(VecDestroy(&x[k]));
  PetscCall(TestDestroy(&b, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  int status;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &Rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &Size));
  PetscCall(Several("gamg", PETSC_TRUE));
  PetscCall(Several("jacobi", PETSC_FALSE));
  PetscCall(Several(Size > 1 ? "redundant" : "lu", PETSC_TRUE));
  PetscCall(NewValues(PETSC_TRUE));
  PetscCall(NewValues(PETSC_FALSE));
  PetscCall(Names());
  PetscCall(Failure());
  PetscCall(Misfit());
  PetscCall(Lines());
  PetscCall(Eisenstat());
  PetscCall(PetscFinalize());
  status = TestFailed ? 1 : 0;
  if (Rank == 0) status = TestEnd();
  return status;
}
