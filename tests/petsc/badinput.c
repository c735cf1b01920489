/*
  What is wrong is a PETSc error that names the cause and the remedy, or has a defined outcome.
  tests/mpi/badinput.c: the same on all ranks.

  quick: 1
*/
#include "testing.h"
#include <petsc/private/pcimpl.h>

/* Set-up of the problem with one more entry has to fail */
static PetscErrorCode BadEntry(const TestProblem *p, PetscInt stencil, DMDAStencilType type, PetscInt row, PetscInt col,
                               PetscScalar value, PCBCRPoissonFit fit, PetscErrorCode code, const char words[],
                               const char more[])
{
  DM da;
  Mat A;
  PC pc;
  DMBoundaryType none = DM_BOUNDARY_NONE;

  PetscFunctionBegin;
  PetscCall(DMDACreate2d(PETSC_COMM_SELF, none, none, type, p->n[0], p->n[1], 1, 1, p->dof, stencil, NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(TestFill(p, A));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatSetValue(A, row, col, value, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(TestPC(PCBCRPOISSON, NULL, A, &pc));
  PetscCall(PCBCRPoissonSetFit(pc, fit));
  /* one row that differs is none that is not exact */
  if (fit == PCBCRPOISSON_FIT_EXACT) PetscCall(PCBCRPoissonSetCapacitance(pc, PCBCRPOISSON_CAPACITANCE_OFF));
  CheckError(PCSetUp(pc), code, words);
  if (more) CheckError(PCSetUp(pc), code, more);
  PetscCall(TestDestroy(&pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No grid is found: the first vectors might have one, and then there is none */
static PetscErrorCode CheckNoGrid(PC pc)
{
  Mat A;
  Vec b, x;

  PetscFunctionBegin;
  PetscCall(PCGetOperators(pc, &A, NULL));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  for (int k = 0; k < 2; ++k) {
    PetscCall(PCSetUp(pc));
    CheckError(PCApply(pc, b, x), PETSC_ERR_ARG_WRONG, "found no grid");
    CheckError(PCApplyTranspose(pc, b, x), PETSC_ERR_ARG_WRONG, "KSPSetDM()");
    CheckError(PCApply(pc, b, x), PETSC_ERR_ARG_WRONG, "-pc_");
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Matrices(void)
{
  TestProblem p =
                {
                  .dim = 2, .n = {6, 5},
                       .dof = 1, .ends = "dddd", .a = {1, 2},
                       .scale = 1
  },
              two = p;
  const PetscReal nan = NAN, inf = INFINITY;
  DM da, other;
  Mat A, S;
  PC pc;

  PetscFunctionBegin;
  two.dof = 2;
  for (PetscInt fit = PCBCRPOISSON_FIT_AUTO; fit <= PCBCRPOISSON_FIT_EXACT; ++fit) {
    const PCBCRPoissonFit f = (PCBCRPoissonFit)fit;

    PetscCall(BadEntry(&p, 1, DMDA_STENCIL_BOX, 8, 15, -0.5, f, PETSC_ERR_SUP, "stencil", "row 8"));
    PetscCall(BadEntry(&p, 2, DMDA_STENCIL_STAR, 8, 10, 0.25, f, PETSC_ERR_SUP, "stencil", "row 8"));
    PetscCall(BadEntry(&p, 1, DMDA_STENCIL_STAR, 8, 29, 0.25, f, PETSC_ERR_SUP, "stencil", "column 29"));
    PetscCall(BadEntry(&two, 1, DMDA_STENCIL_STAR, 16, 17, 0.25, f, PETSC_ERR_SUP, "component 0 to component 1",
                       "PCFIELDSPLIT"));
    PetscCall(BadEntry(&p, 1, DMDA_STENCIL_STAR, 8, 8, nan, f, PETSC_ERR_FP, "NaN or Inf", "row 8"));
    PetscCall(BadEntry(&p, 1, DMDA_STENCIL_STAR, 9, 8, inf, f, PETSC_ERR_FP, "NaN or Inf", "row 9"));
    PetscCall(BadEntry(&p, 1, DMDA_STENCIL_STAR, 8, 8, 0, f, PETSC_ERR_ARG_WRONG, "diagonal", "row 8"));
#if defined(PETSC_USE_COMPLEX)
    PetscCall(BadEntry(&p, 1, DMDA_STENCIL_STAR, 8, 8, 6 + PETSC_i, f, PETSC_ERR_SUP, "is complex", NULL));
#endif
  }
  PetscCall(BadEntry(&p, 1, DMDA_STENCIL_STAR, 8, 9, -1.5, PCBCRPOISSON_FIT_EXACT, PETSC_ERR_SUP, "row 8", "column 9"));
  PetscCall(
    BadEntry(&p, 1, DMDA_STENCIL_STAR, 8, 9, -1.5, PCBCRPOISSON_FIT_EXACT, PETSC_ERR_SUP, "-pc_bcrpoisson_fit", NULL));

  /* indefinite, by block cyclic reduction */
  p.shift = -1;
  PetscCall(TestMatrix(&p, &da, &A));
  PetscCall(TestPC(PCBCRPOISSON, NULL, A, &pc));
  PetscCall(PCBCRPoissonSetRadix(pc, 4));
  CheckError(PCSetUp(pc), PETSC_ERR_SUP, "is for definite ones");
  PetscCall(PCDestroy(&pc));
  p.shift = 0;

  /* all zero */
  PetscCall(MatZeroEntries(A));
  PetscCall(TestPC(PCBCRPOISSON, NULL, A, &pc));
  CheckError(PCSetUp(pc), PETSC_ERR_ARG_WRONG, "zero");
  PetscCall(PCDestroy(&pc));

  /* the DM of another grid is none, and the matrix' own is found */
  two.n[0] = 7;
  PetscCall(TestDMDA(&two, &other));
  PetscCall(TestPC(PCBCRPOISSON, other, A, &pc));
  CheckError(PCSetUp(pc), PETSC_ERR_ARG_WRONG, "zero");
  PetscCall(PCDestroy(&pc));
  PetscCall(DMDestroy(&other));

  /* no rows to be had */
  PetscCall(MatCreateShell(PETSC_COMM_SELF, 30, 30, 30, 30, NULL, &S));
  PetscCall(TestPC(PCBCRPOISSON, da, S, &pc));
  CheckError(PCSetUp(pc), PETSC_ERR_SUP, "PCBCRPoissonSetOperator()");
  PetscCall(TestDestroy(&pc, &S, &A, &da));

  /* no DM, a DM of another type */
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, 5, 5, 5, NULL, &A)); /* a star of five: no grid */
  for (PetscInt i = 0; i < 5; ++i) {
    PetscCall(MatSetValue(A, i, i, 5, INSERT_VALUES));
    PetscCall(MatSetValue(A, i, 0, i ? -1 : 5, INSERT_VALUES));
    PetscCall(MatSetValue(A, 0, i, i ? -1 : 5, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(TestPC(PCBCRPOISSON, NULL, A, &pc));
  PetscCall(CheckNoGrid(pc));
  PetscCall(PCDestroy(&pc));
  PetscCall(DMShellCreate(PETSC_COMM_SELF, &other));
  PetscCall(TestPC(PCBCRPOISSON, other, A, &pc));
  PetscCall(CheckNoGrid(pc));
  PetscCall(TestDestroy(&pc, &other, &A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CheckSolved(PC pc, Mat A, Vec b, Vec x, const char ends[], PetscReal shift)
{
  PetscReal error = 0;

  PetscFunctionBegin;
  PetscCall(PCApply(pc, b, x));
  PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, &error));
  Check(error <= TestBackwardBound(), "ends %s, shift %g: backward error %g", ends, (double)shift, (double)error);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Shifts on either side of minus the smallest eigenvalue, and far beyond it, on one object */
static PetscErrorCode Shifts(void)
{
  static const struct {
    PetscInt dim, n[3];
    const char *ends;
    PetscReal a[3];
    PetscInt intervals[3]; /* the smallest eigenvalue of an axis is 4 a sin^2(pi / (2 intervals)); 0: it is 0 */
  } cases[] = {
    {1, {37, 1, 1},  "dd",     {1, 0, 0},   {38, 0, 0} },
    {1, {40, 1, 1},  "nd",     {3, 0, 0},   {80, 0, 0} },
    {2, {33, 17, 1}, "dddd",   {1, 2, 0},   {34, 18, 0}},
    {2, {40, 64, 1}, "dddd",   {1, 1, 0},   {41, 65, 0}}, /* large enough for level 0 */
    {2, {20, 15, 1}, "ndDD",   {1, 5, 0},   {40, 15, 0}},
    {2, {18, 15, 1}, "ppdd",   {1, 1, 0},   {0, 16, 0} },
    {2, {19, 15, 1}, "rrrr",   {2, 1, 0},   {18, 14, 0}},
    {2, {19, 15, 1}, "ccnn",   {2, 1, 0},   {0, 0, 0}  },
    {3, {7, 8, 9},   "dddddd", {1, 2, 0.5}, {8, 9, 10} },
    {3, {6, 8, 5},   "ppddcc", {1, 1, 1},   {0, 9, 0}  }
  };
  const PetscReal parts[] = {0.5, (PetscReal)0.999, (PetscReal)1.001, 1.5, 30}; /* of the smallest eigenvalue */

  PetscFunctionBegin;
  for (size_t c = 0; c < PETSC_STATIC_ARRAY_LENGTH(cases); ++c) {
    TestProblem p = {.dim = cases[c].dim, .dof = 1, .ends = cases[c].ends, .row = 3};
    PetscReal low = 0;
    DM da;
    Mat A;
    PC pc;
    Vec b, x;

    for (PetscInt d = 0; d < 3; ++d) {
      p.n[d] = cases[c].n[d];
      p.a[d] = cases[c].a[d];
      if (cases[c].intervals[d])
        low += 4 * p.a[d] * PetscSqr(PetscSinReal(PETSC_PI / (2 * (PetscReal)cases[c].intervals[d])));
    }
    for (PetscInt sign = -1; sign < 2; sign += 2) {
      p.scale = (PetscReal)sign * 7;
      PetscCall(TestMatrix(&p, &da, &A));
      PetscCall(MatCreateVecs(A, &x, &b));
      PetscCall(TestRandom(b));
      PetscCall(TestPC(PCBCRPOISSON, NULL, A, &pc));
      for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(parts); ++s) {
        p.shift = -parts[s] * (low > 0 ? low : (PetscReal)1e-3);
        PetscCall(TestFill(&p, A));
        PetscCall(CheckSolved(pc, A, b, x, p.ends, p.shift));
      }
      p.shift = 1;
      PetscCall(TestFill(&p, A));
      PetscCall(CheckSolved(pc, A, b, x, p.ends, p.shift));
      PetscCall(TestDestroy(&b, &x, &pc, &A, &da));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One option of a PC with the prefix of its own, so that nothing is left for the next */
static PetscErrorCode BadOption(const char option[], const char value[], PetscErrorCode code, const char words[])
{
  /* that of a switch is PETSc's, which names the value alone */
  const PetscBool ours = (PetscBool)(code != PETSC_ERR_ARG_WRONG);
  static PetscInt count = 0;
  char prefix[32], name[128], named[128];
  PC pc;
  KSP ksp;

  PetscFunctionBegin;
  for (PetscInt form = 0; form < 2; ++form) {
    PetscCall(PetscSNPrintf(prefix, sizeof(prefix), "bad%" PetscInt_FMT "_", count++));
    PetscCall(PetscSNPrintf(name, sizeof(name), "-%s%s_bcrpoisson_%s", prefix, form ? "ksp" : "pc", option));
    PetscCall(PetscSNPrintf(named, sizeof(named), "%s_bcrpoisson_%s", form ? "ksp" : "pc", option));
    PetscCall(PetscOptionsSetValue(NULL, name, value));
    if (form) {
      PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
      PetscCall(KSPSetType(ksp, KSPBCRPOISSON));
      PetscCall(KSPSetOptionsPrefix(ksp, prefix));
      CheckError(KSPSetFromOptions(ksp), code, words);
      if (ours) CheckError(KSPSetFromOptions(ksp), code, named);
      PetscCall(KSPDestroy(&ksp));
    } else {
      PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
      PetscCall(PCSetType(pc, PCBCRPOISSON));
      PetscCall(PCSetOptionsPrefix(pc, prefix));
      CheckError(PCSetFromOptions(pc), code, words);
      if (ours) CheckError(PCSetFromOptions(pc), code, named);
      PetscCall(PCDestroy(&pc));
    }
    PetscCall(PetscOptionsClearValue(NULL, name));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BadOptions(void)
{
  const char *switches[] = {"tune", "recursive", "graph"};
  char *levels = NULL;
  size_t used = 0;

  PetscFunctionBegin;
  PetscCall(BadOption("radix", "0", PETSC_ERR_ARG_OUTOFRANGE, "at least 2"));
  PetscCall(BadOption("capacitance_max_rows", "0", PETSC_ERR_ARG_OUTOFRANGE, "at least one direction"));
  PetscCall(BadOption("slab_ranks", "-1", PETSC_ERR_ARG_OUTOFRANGE, "a number of ranks, or 0"));
  PetscCall(BadOption("radix", "1", PETSC_ERR_ARG_OUTOFRANGE, "at least 2"));
  PetscCall(BadOption("radix", "-4", PETSC_ERR_ARG_OUTOFRANGE, "at least 2"));
  PetscCall(BadOption("radix", "four", PETSC_ERR_ARG_OUTOFRANGE, "not a number"));
  PetscCall(BadOption("radix", "4.5", PETSC_ERR_ARG_OUTOFRANGE, "not a number"));
  PetscCall(BadOption("radix", "99999999999999999999", PETSC_ERR_ARG_OUTOFRANGE, "at most"));
  PetscCall(BadOption("radix", "8,16", PETSC_ERR_ARG_OUTOFRANGE, "_schedule"));
  PetscCall(BadOption("schedule", "8,1", PETSC_ERR_ARG_OUTOFRANGE, "at least 2"));
  PetscCall(BadOption("schedule", "0", PETSC_ERR_ARG_OUTOFRANGE, "at least 2"));
  PetscCall(BadOption("schedule", "8,-2", PETSC_ERR_ARG_OUTOFRANGE, "at least 2"));
  PetscCall(BadOption("schedule", "8,,2", PETSC_ERR_ARG_OUTOFRANGE, "not a number"));
  PetscCall(BadOption("schedule", "8,", PETSC_ERR_ARG_OUTOFRANGE, "not a number"));
  PetscCall(BadOption("schedule", "fast", PETSC_ERR_ARG_OUTOFRANGE, "not a number"));
  PetscCall(PetscCalloc1(3 * 65, &levels));
  for (PetscInt l = 0; l < 65; ++l) {
    if (l) levels[used++] = ',';
    levels[used++] = '2';
  }
  PetscCall(BadOption("schedule", levels, PETSC_ERR_ARG_OUTOFRANGE, "more than 64 levels"));
  PetscCall(PetscFree(levels));
  PetscCall(BadOption("backend", "hip", PETSC_ERR_USER, "auto cpu cuda"));
  PetscCall(BadOption("precision", "half", PETSC_ERR_USER, "double single mixed"));
  PetscCall(BadOption("transport", "pigeon", PETSC_ERR_USER, "auto mpi nccl host"));
  PetscCall(BadOption("fit", "best", PETSC_ERR_USER, "auto scaled average profile exact"));
  PetscCall(BadOption("operator", "shell", PETSC_ERR_USER, "matrix user"));
  PetscCall(BadOption("ends", "dirichlet,robin", PETSC_ERR_ARG_OUTOFRANGE, "\"robin\": they are dirichlet, neumann"));
  PetscCall(BadOption("ends", "", PETSC_ERR_ARG_OUTOFRANGE, "they are dirichlet, neumann"));
  PetscCall(BadOption("ends", "neumann,neumann,neumann,neumann,neumann,neumann,neumann", PETSC_ERR_ARG_OUTOFRANGE,
                      "more than 6 ends"));
  PetscCall(BadOption("spacing", "1,0", PETSC_ERR_ARG_OUTOFRANGE, "positive"));
  PetscCall(BadOption("spacing", "-1", PETSC_ERR_ARG_OUTOFRANGE, "positive"));
  PetscCall(BadOption("scale", "0", PETSC_ERR_ARG_OUTOFRANGE, "not zero"));
  PetscCall(BadOption("scale", "inf", PETSC_ERR_ARG_OUTOFRANGE, "finite"));
  PetscCall(BadOption("shift", "nan", PETSC_ERR_ARG_OUTOFRANGE, "finite"));
  PetscCall(BadOption("shift_imaginary", "inf", PETSC_ERR_ARG_OUTOFRANGE, "finite"));
  PetscCall(BadOption("mixed", "nan", PETSC_ERR_ARG_OUTOFRANGE, "finite"));
  PetscCall(BadOption("robin", "0,inf", PETSC_ERR_ARG_OUTOFRANGE, "high end of axis x"));
  if (!PetscDefined(USE_COMPLEX)) PetscCall(BadOption("shift_imaginary", "0.5", PETSC_ERR_SUP, "real scalars"));
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(switches); ++s)
    PetscCall(BadOption(switches[s], "perhaps", PETSC_ERR_ARG_WRONG, "perhaps"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Calls(void)
{
  TestProblem p = {
    .dim = 2, .n = {6, 5},
         .dof = 1, .ends = "dddd", .a = {1, 2},
         .scale = 1
  };
  const PetscInt radices[] = {8, 1}, many[65] = {0};
  const PetscReal h[] = {1, 1, 1}, none[] = {1, 0}, nan = NAN;
  const PCBCRPoissonEnd one[] = {PCBCRPOISSON_PERIODIC, PCBCRPOISSON_DIRICHLET, PCBCRPOISSON_DIRICHLET,
                                 PCBCRPOISSON_DIRICHLET},
                        wrong[] = {PCBCRPOISSON_PERIODIC, PCBCRPOISSON_PERIODIC, (PCBCRPoissonEnd)17,
                                   PCBCRPOISSON_DIRICHLET};
  DM da;
  Mat A;
  PC pc;
  Vec b, x;
  PetscBool gpu;

  PetscFunctionBegin;
  PetscCall(TestMatrix(&p, &da, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));

  /* before set-up */
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetType(pc, PCBCRPOISSON));
  /* PETSc's own, worded and numbered by release; PCApply() sets up by itself where there is a
     matrix */
  CheckError(PCSetUp(pc), -1, "atrix");
  CheckError((*pc->ops->apply)(pc, b, x), PETSC_ERR_ORDER, "PCSetUp()");
  CheckError((*pc->ops->applytranspose)(pc, b, x), PETSC_ERR_ORDER, "PCSetUp()");

  CheckError(PCBCRPoissonSetRadix(pc, 0), PETSC_ERR_ARG_OUTOFRANGE, "at least 2");
  CheckError(PCBCRPoissonSetRadix(pc, 1), PETSC_ERR_ARG_OUTOFRANGE, "at least 2");
  CheckError(PCBCRPoissonSetRadix(pc, -8), PETSC_ERR_ARG_OUTOFRANGE, "at least 2");
  CheckError(PCBCRPoissonSetSchedule(pc, 2, radices), PETSC_ERR_ARG_OUTOFRANGE, "at least 2");
  CheckError(PCBCRPoissonSetSchedule(pc, 65, many), PETSC_ERR_ARG_OUTOFRANGE, "64");
  CheckError(PCBCRPoissonSetSchedule(pc, -1, NULL), PETSC_ERR_ARG_OUTOFRANGE, "64");
  CheckError(PCBCRPoissonSetCapacitanceMaxRows(pc, 0), PETSC_ERR_ARG_OUTOFRANGE,
             "PCBCRPoissonSetCapacitanceMaxRows 0: at least one direction is kept");
  CheckError(PCBCRPoissonSetOperator(pc, 4, h, NULL, 0, 1), PETSC_ERR_ARG_OUTOFRANGE, "1, 2 or 3");
  CheckError(PCBCRPoissonSetOperator(pc, 2, none, NULL, 0, 1), PETSC_ERR_ARG_OUTOFRANGE, "of axis y");
  CheckError(PCBCRPoissonSetOperator(pc, 2, h, wrong, 0, 1), PETSC_ERR_ARG_OUTOFRANGE, "End 2");
  CheckError(PCBCRPoissonSetOperator(pc, 2, h, NULL, nan, 1), PETSC_ERR_ARG_OUTOFRANGE, "finite");
  CheckError(PCBCRPoissonSetOperator(pc, 2, h, NULL, 0, 0), PETSC_ERR_ARG_OUTOFRANGE, "not zero");

  /* the user's operator at set-up */
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCBCRPoissonSetOperatorSource(pc, PCBCRPOISSON_OPERATOR_USER));
  CheckError(PCSetUp(pc), PETSC_ERR_ORDER, "-pc_bcrpoisson_spacing");
  PetscCall(PCBCRPoissonSetOperator(pc, 3, h, NULL, 0, 1));
  CheckError(PCSetUp(pc), PETSC_ERR_ARG_INCOMP, "dimension 3");
  PetscCall(PCBCRPoissonSetOperator(pc, 2, h, one, 0, 1));
  CheckError(PCSetUp(pc), PETSC_ERR_ARG_INCOMP, "periodic at one end only");
  PetscCall(PCBCRPoissonSetOperator(pc, 2, h, NULL, -1, 1));
  PetscCall(PCBCRPoissonSetRadix(pc, 4));
  CheckError(PCSetUp(pc), PETSC_ERR_SUP, "is for definite ones");
  PetscCall(PCBCRPoissonSetRadix(pc, PCBCRPOISSON_RADIX_AUTO));
  PetscCall(PCBCRPoissonSetOperator(pc, 2, h, NULL, 0, 1));
  PetscCall(PCSetUp(pc)); /* and it recovers */
  PetscCall(PCApply(pc, b, x));
  PetscCall(PCDestroy(&pc));
  PetscCall(PetscOptionsInsertString(NULL, "-few_pc_bcrpoisson_spacing 1,1,1 -ends_pc_bcrpoisson_spacing 1 "
                                           "-ends_pc_bcrpoisson_ends dirichlet,neumann,dirichlet"));
  PetscCall(TestPC(PCBCRPOISSON, NULL, A, &pc));
  PetscCall(PCSetOptionsPrefix(pc, "few_"));
  PetscCall(PCSetFromOptions(pc));
  CheckError(PCSetUp(pc), PETSC_ERR_ARG_SIZ, "3 numbers");
  PetscCall(PCDestroy(&pc));
  PetscCall(TestPC(PCBCRPOISSON, NULL, A, &pc));
  PetscCall(PCSetOptionsPrefix(pc, "ends_"));
  PetscCall(PCSetFromOptions(pc));
  CheckError(PCSetUp(pc), PETSC_ERR_ARG_SIZ, "3 words");
  PetscCall(PCDestroy(&pc));

  /* a backend that is not there */
  PetscCall(TestPC(PCBCRPOISSON, NULL, A, &pc));
  PetscCall(PCBCRPoissonSetBackend(pc, PCBCRPOISSON_BACKEND_CUDA));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-dm_vec_type", &gpu)); /* scripts/check-gpu: it is there */
  if (!gpu) {
    CheckError(PCSetUp(pc), PETSC_ERR_SUP, "-pc_bcrpoisson_backend cuda");
    CheckError(PCSetUp(pc), PETSC_ERR_SUP, "use -pc_bcrpoisson_backend cpu");
  }
  PetscCall(PCBCRPoissonSetBackend(pc, PCBCRPOISSON_BACKEND_CPU));
  PetscCall(PCSetUp(pc));
  PetscCall(TestDestroy(&pc, &b, &x, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* NaN or Inf on the right-hand side: the reason says so, no solver hangs, and the next right-hand side is solved */
static PetscErrorCode RightHandSides(void)
{
  TestProblem p = {
    .dim = 2, .n = {16, 15},
         .dof = 1, .ends = "dddd", .a = {1,  2 },
         .scale = 1
  };
  const char *types[] = {KSPCG, KSPGMRES, KSPFGMRES, KSPRICHARDSON, KSPBCRPOISSON};
  const PetscReal values[] = {NAN, INFINITY, -INFINITY};
  DM da;
  Mat A;
  Vec b, x, bad;

  PetscFunctionBegin;
  PetscCall(TestMatrix(&p, &da, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  for (size_t t = 0; t < PETSC_STATIC_ARRAY_LENGTH(types); ++t) {
    for (size_t v = 0; v < PETSC_STATIC_ARRAY_LENGTH(values); ++v) {
      KSP ksp;
      PC pc;
      KSPConvergedReason reason;

      PetscCall(TestKSPCreate(A, types[t], &ksp, &pc));
      PetscCall(VecSet(b, 1));
      PetscCall(VecSetValue(b, 37, values[v], INSERT_VALUES));
      PetscCall(VecAssemblyBegin(b));
      PetscCall(VecAssemblyEnd(b));
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      Check(reason == KSP_DIVERGED_NANORINF, "%s with %g on the right-hand side: %s", types[t], (double)values[v],
            KSPConvergedReasons[reason]);
      PetscCall(VecSet(b, 1));
      PetscCall(VecSet(x, 0));
      PetscCall(KSPSolve(ksp, b, x));
      PetscCall(KSPGetConvergedReason(ksp, &reason));
      Check(reason > 0, "%s, the right-hand side after that with %g: %s", types[t], (double)values[v],
            KSPConvergedReasons[reason]);
      /* with errors on request, the entry is named */
      PetscCall(VecDuplicate(b, &bad));
      PetscCall(VecCopy(b, bad));
      PetscCall(VecSetValue(bad, 37, values[v], INSERT_VALUES));
      PetscCall(VecAssemblyBegin(bad));
      PetscCall(VecAssemblyEnd(bad));
      PetscCall(PCSetErrorIfFailure(pc, PETSC_TRUE));
      CheckError(PCApply(pc, bad, x), PETSC_ERR_FP, "Entry 37 of the right-hand side");
      PetscCall(VecDestroy(&bad)); /* the error leaves it locked */
      PetscCall(KSPDestroy(&ksp));
    }
  }
  PetscCall(TestDestroy(&b, &x, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The KSP has the solver inside and takes no other */
static PetscErrorCode KSPTypes(void)
{
  TestProblem p = {
    .dim = 2, .n = {6, 5},
         .dof = 1, .ends = "dddd", .a = {1, 2},
         .scale = 1
  };
  DM da;
  Mat A;
  KSP ksp;

  PetscFunctionBegin;
  PetscCall(TestMatrix(&p, &da, &A));
  PetscCall(PetscOptionsInsertString(NULL, "-other_ksp_type bcrpoisson -other_pc_type jacobi"));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, "other_"));
  PetscCall(KSPSetOperators(ksp, A, A));
  CheckError(KSPSetFromOptions(ksp), PETSC_ERR_ARG_INCOMP, "-other_pc_type is jacobi");
  PetscCall(TestDestroy(&ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(Matrices());
  PetscCall(Shifts());
  PetscCall(BadOptions());
  PetscCall(Calls());
  PetscCall(RightHandSides());
  PetscCall(KSPTypes());
  PetscCall(PetscFinalize());
  return TestEnd();
}
