/*
  ranks: 2 3 4

  What is wrong on one rank, or is not the same on all: the same error on every rank, which names
  the rank at fault, and no hang. CUDA devices that only some ranks have, and NCCL where it is not to be had: an error on all
  ranks for who asks for them, else the next way, which PCView() names. -devices: these alone
*/
#include "distribute.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "src/poisson/solver.h"
#endif

static PetscMPIInt rank, size;

/* One entry of the whole matrix is replaced; set-up must fail everywhere with this error. owner:
   the rank to be named, -1: none */
static PetscErrorCode BadEntry(const TestProblem *p, PetscInt row, PetscInt column, PetscScalar value,
                               PCBCRPoissonFit fit, PetscErrorCode wanted, const char *words)
{
  PetscInt parts[3] = {0, 0, 0};
  Case c;
  char named[64];

  PetscFunctionBegin;
  PetscCall(CaseCreate(p, &c));
  PetscCall(MatSetOption(c.A1, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetValue(c.A1, row, column, value, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(c.A1, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(c.A1, MAT_FINAL_ASSEMBLY));
  while (TestNextCut(p, (PetscInt)size, parts)) {
    PC pc;
    int owner = -1;

    PetscCall(CaseCut(&c, PETSC_COMM_WORLD, parts, NULL));
    for (PetscInt i = 0; i < c.n; ++i)
      if (c.natural[i] == row) owner = (int)rank;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &owner, 1, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
    PetscCall(PetscSNPrintf(named, sizeof(named), "Rank %d: ", owner));
    PetscCall(CasePC(c.da, c.A, &pc));
    PetscCall(PCBCRPoissonSetFit(pc, fit));
    /* one row that differs is none that is not exact */
    if (fit == PCBCRPOISSON_FIT_EXACT) PetscCall(PCBCRPoissonSetCapacitance(pc, PCBCRPOISSON_CAPACITANCE_OFF));
    CheckError(PCSetUp(pc), wanted, words);
    if (wanted != PETSC_ERR_SUP || fit != PCBCRPOISSON_FIT_EXACT) CheckError(PCSetUp(pc), wanted, named);
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(CaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Matrices(void)
{
  TestProblem p = {
    .dim = 2, .n = {9, 10},
         .dof = 1, .ends = "ddcc", .a = {1, 2 },
         .shift = 0.5, .scale = 1, .row = 2
  };
  TestProblem q = {
    .dim = 3, .n = {5, 4, 6},
         .dof = 2, .ends = "ddccdd", .a = {1, 2, 1},
         .shift = 0.5, .scale = 1, .row = 2
  };
  TestProblem bad = p;
  const double zero = 0;
  Case c;
  PC pc;
  PetscInt parts[3] = {1, (PetscInt)size, 1};

  PetscFunctionBegin;
  for (PetscInt row = 3; row < 90; row += 41) {
    PetscCall(BadEntry(&p, row, row, (PetscScalar)(1 / zero), PCBCRPOISSON_FIT_AUTO, PETSC_ERR_FP, "NaN or Inf"));
    PetscCall(BadEntry(&p, row, row, 0, PCBCRPOISSON_FIT_AUTO, PETSC_ERR_ARG_WRONG, "zero or missing"));
    PetscCall(BadEntry(&p, row, row < 45 ? row + 20 : row - 20, 0.5, PCBCRPOISSON_FIT_AUTO, PETSC_ERR_SUP,
                       "outside the 5-point star"));
    PetscCall(BadEntry(&p, row, row, 7, PCBCRPOISSON_FIT_EXACT, PETSC_ERR_SUP, "not separable"));
    PetscCall(BadEntry(&q, 2 * row, 2 * row + 1, 0.5, PCBCRPOISSON_FIT_AVERAGE, PETSC_ERR_SUP,
                       "couples component 0 to component 1"));
  }
  bad.shift = -30;
  PetscCall(CaseCreate(&bad, &c));
  PetscCall(CaseCut(&c, PETSC_COMM_WORLD, parts, NULL));
  PetscCall(CasePC(c.da, c.A, &pc));
  PetscCall(PCBCRPoissonSetRadix(pc, 4));
  CheckError(PCSetUp(pc), PETSC_ERR_SUP, "indefinite");
  PetscCall(PCDestroy(&pc));
  PetscCall(CaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Matrix and DMDA that lie differently on the ranks */
static PetscErrorCode Layouts(void)
{
  TestProblem p = {
    .dim = 2, .n = {6, 12},
         .dof = 1, .ends = "ddcc", .a = {1, 2 },
         .shift = 0.5, .scale = 1, .row = 2
  };
  PetscInt parts[3] = {1, (PetscInt)size, 1};
  Case c;

  PetscFunctionBegin;
  PetscCall(CaseCreate(&p, &c));
  PetscCall(CaseCut(&c, PETSC_COMM_WORLD, parts, NULL));
  for (PetscInt how = 0; how < 5; ++how) {
    PC pc;
    Mat B;
    DM da = c.da;
    PetscInt n = c.n, first;
    char named[64];

    /* a row less on the last rank and one more on the one before; no rows at all on the last rank;
       DM of one rank; DM on some ranks only */
    if (how == 0 && (int)rank == (int)size - 1) n -= 1;
    if (how == 0 && (int)rank == (int)size - 2) n += 1;
    if (how == 1) n = (int)rank == (int)size - 1 ? 0 : ((int)rank == 0 ? 72 : 0);
    if (how == 2) da = c.da1;
    if (how == 3 && (int)rank == (int)size - 1) da = NULL;
    PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, n, n, PETSC_DETERMINE, PETSC_DETERMINE, 1, NULL, 0, NULL, &B));
    PetscCall(MatGetOwnershipRange(B, &first, NULL));
    for (PetscInt i = 0; i < n; ++i) PetscCall(MatSetValue(B, first + i, first + i, 1, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
    PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
    PetscCall(PCSetType(pc, PCBCRPOISSON));
    PetscCall(PCSetOperators(pc, B, B));
    if (da) PetscCall(PCSetDM(pc, da));
    PetscCall(
      PetscSNPrintf(named, sizeof(named), "Rank %d: ", how == 0 ? (int)size - 2 : (how == 3 ? (int)size - 1 : 0)));
    if (how < 2) {
      CheckError(PCSetUp(pc), PETSC_ERR_ARG_INCOMP, "laid out differently");
      CheckError(PCSetUp(pc), PETSC_ERR_ARG_INCOMP, named);
      PetscCall(PCBCRPoissonSetOperatorSource(pc, PCBCRPOISSON_OPERATOR_USER));
      CheckError(PCSetUp(pc), PETSC_ERR_ARG_INCOMP, named);
    } else if (how == 2) {
      CheckError(PCSetUp(pc), PETSC_ERR_ARG_NOTSAMECOMM, "different ranks");
      CheckError(PCSetUp(pc), PETSC_ERR_ARG_NOTSAMECOMM, named);
    } else if (how == 3) {
      CheckError(PCSetUp(pc), PETSC_ERR_ARG_WRONG, "but not on this one");
      CheckError(PCSetUp(pc), PETSC_ERR_ARG_WRONG, named);
    } else { /* and all is well with the same */
      Vec v;

      PetscCall(VecDuplicate(c.b, &v));
      PetscCall(CaseDeal(&c, c.b1, c.b));
      PetscCall(PCApply(pc, c.b, c.x));
      PetscCall(VecWAXPY(v, -1, c.b, c.x));
      {
        PetscReal norm;

        PetscCall(VecNorm(v, NORM_INFINITY, &norm));
        Check(norm <= TestBackwardBound(), "rank %d: the identity is off by %g", (int)rank, (double)norm);
      }
      PetscCall(VecDestroy(&v));
    }
    PetscCall(PCDestroy(&pc));
    PetscCall(MatDestroy(&B));
  }
  PetscCall(CaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Options that only one rank has */
static PetscErrorCode RankOptions(void)
{
  static const struct {
    const char *options, *words;
    PetscBool early; /* PCSetFromOptions() finds it */
  } bad[] = {
    {"-pc_bcrpoisson_radix 4",             "-pc_bcrpoisson_radix",      PETSC_FALSE},
    {"-pc_bcrpoisson_schedule 16,16",      "-pc_bcrpoisson_schedule",   PETSC_FALSE},
    {"-pc_bcrpoisson_fit average",         "-pc_bcrpoisson_fit",        PETSC_FALSE},
    {"-pc_bcrpoisson_precision mixed",     "-pc_bcrpoisson_precision",  PETSC_FALSE},
    {"-pc_bcrpoisson_backend cuda",        "-pc_bcrpoisson_backend",    PETSC_FALSE},
    {"-pc_bcrpoisson_transport host",      "-pc_bcrpoisson_transport",  PETSC_FALSE},
    {"-pc_bcrpoisson_tune",                "-pc_bcrpoisson_tune",       PETSC_FALSE},
    {"-pc_bcrpoisson_tune_file somewhere", "-pc_bcrpoisson_tune_file",  PETSC_FALSE},
    {"-pc_bcrpoisson_graph off",           "-pc_bcrpoisson_graph",      PETSC_FALSE},
    {"-pc_bcrpoisson_launch 64",           "-pc_bcrpoisson_launch",     PETSC_FALSE},
    {"-pc_bcrpoisson_recursive",           "-pc_bcrpoisson_recursive",  PETSC_FALSE},
    {"-pc_bcrpoisson_slab_ranks 2",        "-pc_bcrpoisson_slab_ranks", PETSC_FALSE},
    {"-pc_bcrpoisson_isa baseline",        "-pc_bcrpoisson_isa",        PETSC_FALSE},
    {"-pc_bcrpoisson_spacing 0.5",         "-pc_bcrpoisson_spacing",    PETSC_FALSE},
    {"-pc_bcrpoisson_operator user",       "-pc_bcrpoisson_operator",   PETSC_FALSE},
    {"-pc_bcrpoisson_scale 2",             "-pc_bcrpoisson_scale",      PETSC_FALSE},
    {"-pc_bcrpoisson_shift 3",             "-pc_bcrpoisson_shift",      PETSC_FALSE},
    {"-pc_bcrpoisson_ends neumann",        "-pc_bcrpoisson_ends",       PETSC_FALSE},
    {"-pc_bcrpoisson_grid 6,12",           "-pc_bcrpoisson_grid",       PETSC_FALSE},
    {"-pc_bcrpoisson_otherwise jacobi",    "-pc_bcrpoisson_otherwise",  PETSC_FALSE},
    {"-pc_bcrpoisson_radix 1",             "Rank",                      PETSC_TRUE },
    {"-pc_bcrpoisson_ends nowhere",        "Rank",                      PETSC_TRUE },
    {"-pc_bcrpoisson_spacing -1",          "Rank",                      PETSC_TRUE }
  };
  TestProblem p = {
    .dim = 2, .n = {6, 12},
         .dof = 1, .ends = "ddcc", .a = {1, 2 },
         .shift = 0.5, .scale = 1, .row = 2
  };
  PetscInt parts[3] = {1, (PetscInt)size, 1};
  Case c;

  PetscFunctionBegin;
  PetscCall(CaseCreate(&p, &c));
  PetscCall(CaseCut(&c, PETSC_COMM_WORLD, parts, NULL));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(bad); ++k) {
    const int odd = (int)size - 1 - (int)(k % 2); /* the rank that has the option */
    PC pc;
    PetscOptions db;
    char named[64];

    PetscCall(PetscOptionsCreate(&db));
    if ((int)rank == odd) PetscCall(PetscOptionsInsertString(db, bad[k].options));
    PetscCall(CasePC(c.da, c.A, &pc));
    PetscCall(PetscObjectSetOptions((PetscObject)pc, db));
    PetscCall(PetscSNPrintf(named, sizeof(named), "Rank %d", odd));
    if (bad[k].early) {
      if ((int)rank == odd) CheckError(PCSetFromOptions(pc), PETSC_ERR_ARG_OUTOFRANGE, "pc_bcrpoisson_");
      else CheckError(PCSetFromOptions(pc), PETSC_ERR_ARG_OUTOFRANGE, named);
    } else {
      PetscCall(PCSetFromOptions(pc));
      CheckError(PCSetUp(pc), PETSC_ERR_ARG_NOTSAMETYPE, bad[k].words);
      if (odd > 0) CheckError(PCSetUp(pc), PETSC_ERR_ARG_NOTSAMETYPE, named);
    }
    PetscCall(PCDestroy(&pc));
    PetscCall(PetscOptionsDestroy(&db));
  }
  PetscCall(CaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A setter with what is the same as before on some ranks and new on another, after set-up. A PETSc with debugging finds it
   in the setter */
static PetscErrorCode RankSetters(void)
{
  TestProblem p = {
    .dim = 2, .n = {6, 12},
         .dof = 1, .ends = "ddcc", .a = {1, 2 },
         .shift = 0.5, .scale = 1, .row = 2
  };
  PetscInt parts[3] = {1, (PetscInt)size, 1};
  Case c;
  PC pc;

  PetscFunctionBegin;
  if (PetscDefined(USE_DEBUG)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CaseCreate(&p, &c));
  PetscCall(CaseCut(&c, PETSC_COMM_WORLD, parts, NULL));
  PetscCall(CasePC(c.da, c.A, &pc));
  PetscCall(PCBCRPoissonSetRadix(pc, 4));
  PetscCall(PCSetUp(pc));
  PetscCall(PCBCRPoissonSetRadix(pc, (int)rank == (int)size - 1 ? 8 : 4));
  CheckError(PCSetUp(pc), PETSC_ERR_ARG_NOTSAMETYPE, size > 1 ? "-pc_bcrpoisson_radix" : "");
  PetscCall(PCBCRPoissonSetRadix(pc, 8));
  PetscCall(PCSetUp(pc)); /* once they agree all is well */
  PetscCall(PCDestroy(&pc));
  PetscCall(CaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A schedule that is long enough for the rows of all ranks but one */
static PetscErrorCode Schedules(void)
{
  PetscFunctionBegin;
  for (PetscInt d = 0; d < 2; ++d) {
    TestProblem p = {
      .dim = 2, .n = {5, 6},
           .dof = 1, .ends = "rdcr", .a = {1, 2},
           .shift = 0.5, .scale = 1, .row = 2
    };
    PetscInt parts[3] = {1, 1, 1}, l[2][8], whole = 4 * (PetscInt)size + 12;
    const PetscInt *pl[3] = {l[0], l[1], NULL}, schedule[] = {2, 4};
    Case c;
    PC pc;
    PetscErrorCode code[2];

    p.n[d] = whole;
    parts[d] = (PetscInt)size;
    l[0][0] = p.n[0];
    l[1][0] = p.n[1];
    for (PetscInt r = 0; r < (PetscInt)size; ++r) l[d][r] = r == 1 ? 16 : 4;
    PetscCall(CaseCreate(&p, &c));
    PetscCall(CaseCut(&c, PETSC_COMM_WORLD, parts, pl));
    PetscCall(CasePC(c.da, c.A, &pc));
    PetscCall(PCBCRPoissonSetSchedule(pc, 2, schedule));
    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    code[0] = PCSetUp(pc);
    PetscCall(PetscPopErrorHandler());
    code[1] = code[0];
    PetscCallMPI(MPI_Bcast(&code[1], 1, MPI_INT, 0, PETSC_COMM_WORLD));
    Check((int)code[0] == (int)code[1], "rank %d: a schedule too short along axis %d: error %d, on rank 0 %d",
          (int)rank, (int)d, (int)code[0], (int)code[1]);
    if (d == 1)
      Check(code[0] == PETSC_ERR_ARG_OUTOFRANGE, "rank %d: a schedule too short for the rows of a rank: error %d",
            (int)rank, (int)code[0]);
    PetscCall(PCDestroy(&pc));
    PetscCall(CaseDestroy(&c));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* NaN on the right-hand side of one rank */
static PetscErrorCode RightHandSides(void)
{
  TestProblem p = {
    .dim = 2, .n = {8, 12},
         .dof = 1, .ends = "ddcc", .a = {1, 2 },
         .shift = 0.5, .scale = 1, .row = 2
  };
  const double zero = 0;
  PetscInt parts[3] = {0, 0, 0};
  Case c;

  PetscFunctionBegin;
  PetscCall(CaseCreate(&p, &c));
  while (TestNextCut(&p, (PetscInt)size, parts)) {
    KSP ksp;
    PC pc;
    PetscInt first, last, n;
    KSPConvergedReason reason;
    char words[64];

    PetscCall(CaseCut(&c, PETSC_COMM_WORLD, parts, NULL));
    PetscCall(CaseDeal(&c, c.b1, c.b));
    PetscCall(VecGetSize(c.b, &n));
    PetscCall(VecGetOwnershipRange(c.b, &first, &last));
    PetscCall(VecSetValue(c.b, n - 2, (PetscScalar)(zero / zero), INSERT_VALUES));
    PetscCall(VecAssemblyBegin(c.b));
    PetscCall(VecAssemblyEnd(c.b));
    PetscCall(TestKSPCreate(c.A, KSPPREONLY, &ksp, &pc));
    PetscCall(KSPSetUp(ksp));
    PetscCall(PCApply(pc, c.b, c.x));
    {
      const PetscScalar *x;
      PetscBool nan = PETSC_TRUE;

      PetscCall(VecGetArrayRead(c.x, &x));
      for (PetscInt i = 0; i < c.n; ++i) nan = (PetscBool)(nan && PetscIsInfOrNanScalar(x[i]));
      PetscCall(VecRestoreArrayRead(c.x, &x));
      Check(nan, "rank %d: %s: a NaN on the right-hand side does not reach all of the solution", (int)rank, c.what);
    }
    PetscCall(KSPSetType(ksp, KSPGMRES));
    PetscCall(KSPSolve(ksp, c.b, c.x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    Check(reason == KSP_DIVERGED_NANORINF, "rank %d: %s: reason %d, not KSP_DIVERGED_NANORINF", (int)rank, c.what,
          (int)reason);
    PetscCall(PCSetErrorIfFailure(pc, PETSC_TRUE));
    PetscCall(PetscSNPrintf(words, sizeof(words), "Entry %d of the right-hand side", (int)n - 2));
    CheckError(PCApply(pc, c.b, c.x), PETSC_ERR_FP, words);
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(CaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows and columns numbered in natural order over the whole grid: what the DMDA does only if it is
   cut along its last axis alone */
static PetscErrorCode NaturalOrder(void)
{
  const TestProblem p[] = {
    {.dim = 2, .n = {8, 12},   .dof = 1, .ends = "ddcc",   .a = {1, 2},    .shift = 0.5, .scale = 1, .row = 2},
    {.dim = 2, .n = {12, 9},   .dof = 2, .ends = "pprd",   .a = {1, 2},    .shift = 0.5, .scale = 1, .row = 2},
    {.dim = 3, .n = {6, 7, 8}, .dof = 1, .ends = "ddppcc", .a = {1, 2, 1}, .shift = 0.5, .scale = 1, .row = 2}
  };

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(p); ++i) {
    PetscInt parts[3] = {0, 0, 0};
    Case c;

    PetscCall(CaseCreate(&p[i], &c));
    while (TestNextCut(&p[i], (PetscInt)size, parts)) {
      const PetscBool same = (PetscBool)(parts[0] == 1 && (p[i].dim == 2 || parts[1] == 1));
      Mat B;
      PC pc;
      PetscInt first;

      PetscCall(CaseCut(&c, PETSC_COMM_WORLD, parts, NULL));
      PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, c.n, c.n, PETSC_DETERMINE, PETSC_DETERMINE, 14, NULL, 14, NULL, &B));
      PetscCall(MatGetOwnershipRange(B, &first, NULL));
      for (PetscInt row = first; row < first + c.n; ++row) {
        const PetscInt *columns;
        const PetscScalar *values;
        PetscInt entries;

        PetscCall(MatGetRow(c.A1, row, &entries, &columns, &values));
        PetscCall(MatSetValues(B, 1, &row, entries, columns, values, INSERT_VALUES));
        PetscCall(MatRestoreRow(c.A1, row, &entries, &columns, &values));
      }
      PetscCall(MatAssemblyBegin(B, MAT_FINAL_ASSEMBLY));
      PetscCall(MatAssemblyEnd(B, MAT_FINAL_ASSEMBLY));
      PetscCall(CasePC(c.da, B, &pc));
      if (same) {
        PetscReal backward = 1;

        PetscCall(CaseDeal(&c, c.b1, c.b));
        PetscCall(PCApply(pc, c.b, c.x));
        PetscCall(TestBackwardError(B, PETSC_FALSE, c.b, c.x, &backward));
        Check(backward <= TestBackwardBound(), "rank %d: %s, natural order: backward error %g", (int)rank, c.what,
              (double)backward);
      } else CheckError(PCSetUp(pc), PETSC_ERR_ARG_INCOMP, "the DMDA numbers its nodes box after box");
      PetscCall(PCDestroy(&pc));
      PetscCall(MatDestroy(&B));
    }
    PetscCall(CaseDestroy(&c));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSCBCR_HAVE_CUDA)
/* A solver as asked for; auto: the solution of one rank, and what PCView() has to say, of two one */
static PetscErrorCode Ways(Case *c, PCBCRPoissonBackend backend, PCBCRPoissonTransport transport, const char error[],
                           const char *const words[2])
{
  PetscReal difference = 0;
  char *text;
  PC pc;

  PetscFunctionBegin;
  PetscCall(CasePC(c->da, c->A, &pc));
  PetscCall(PCBCRPoissonSetBackend(pc, backend));
  PetscCall(PCBCRPoissonSetTransport(pc, transport));
  if (error) CheckError(PCSetUp(pc), PETSC_ERR_SUP, error);
  else {
    PetscCall(VecSet(c->x, 7));
    PetscCall(PCApply(pc, c->b, c->x));
    PetscCall(CaseDifference(c, c->x, c->y1, &difference));
    Check(difference <= (sizeof(PetscReal) < sizeof(double) ? (PetscReal)5e-4 : (PetscReal)1e-11),
          "%s: differs from one rank by %g", words[0], (double)difference);
    PetscCall(TestViewText((PetscObject)pc, &text));
    Check(!text[0] || strstr(text, words[0]) || strstr(text, words[1]), "PCView() has neither %s nor %s: %s", words[0],
          words[1], text);
    free(text);
  }
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ranks with a device and ranks without one; all with one, and NCCL refused: these share it, or there is none */
static PetscErrorCode Devices(void)
{
  static const char *const host[2] = {"backend: cpu", "backend: cpu"}, *const nccl[2] = {"transport: nccl", "NCCL"};
  const TestProblem p = {
    .dim = 2, .n = {24, 40},
         .dof = 1, .ends = "ddcc", .a = {1,  2 },
         .shift = 0.5, .scale = 1, .row = 2
  };
  const int mine = BCRSolverHaveDevice(NULL) ? 1 : 0;
  PetscInt parts[3] = {1, (PetscInt)size, 1};
  int all;
  Case c;
  PC one;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, PETSC_COMM_WORLD));
  PetscCall(CaseCreate(&p, &c));
  PetscCall(CaseCut(&c, PETSC_COMM_WORLD, parts, NULL));
  PetscCall(CasePC(c.da1, c.A1, &one));
  PetscCall(PCBCRPoissonSetBackend(one, PCBCRPOISSON_BACKEND_CPU));
  PetscCall(PCApply(one, c.b1, c.y1));
  PetscCall(PCDestroy(&one));
  PetscCall(CaseDeal(&c, c.b1, c.b));
  if (!all) {
    PetscCall(
      Ways(&c, PCBCRPOISSON_BACKEND_CUDA, PCBCRPOISSON_TRANSPORT_AUTO, "use -pc_bcrpoisson_backend cpu or auto", NULL));
    PetscCall(Ways(&c, PCBCRPOISSON_BACKEND_AUTO, PCBCRPOISSON_TRANSPORT_AUTO, NULL, host));
  } else {
    PetscErrorCode ierr;
    TestCaught caught = {0, ""};
    PC pc;

    PetscCall(CasePC(c.da, c.A, &pc));
    PetscCall(PCBCRPoissonSetBackend(pc, PCBCRPOISSON_BACKEND_CUDA));
    PetscCall(PCBCRPoissonSetTransport(pc, PCBCRPOISSON_TRANSPORT_NCCL));
    PetscCall(PetscPushErrorHandler(TestCatch, &caught));
    ierr = PCSetUp(pc);
    PetscCall(PetscPopErrorHandler());
    Check(!ierr || (caught.code == PETSC_ERR_SUP && strstr(caught.message, "use -pc_bcrpoisson_transport")),
          "NCCL: error %d, %s", (int)ierr, caught.message);
    PetscCall(PCDestroy(&pc));
    PetscCall(Ways(&c, PCBCRPOISSON_BACKEND_CUDA, PCBCRPOISSON_TRANSPORT_AUTO, NULL, nccl));
  }
  PetscCall(CaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  PetscBool devices = PETSC_FALSE;
  int bad;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-devices", &devices, NULL));
  if (!devices) {
    PetscCall(Matrices());
    PetscCall(Layouts());
    PetscCall(NaturalOrder());
    PetscCall(RankOptions());
    PetscCall(RankSetters());
    PetscCall(Schedules());
    PetscCall(RightHandSides());
  }
#if defined(PETSCBCR_HAVE_CUDA)
  PetscCall(Devices());
#endif
  bad = TestEndAll(PETSC_COMM_WORLD);
  PetscCall(PetscFinalize());
  return bad;
}
