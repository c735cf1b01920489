/*
  PCBCRPOISSON as a PETSc object: registration, options, setters and getters, application in all its
  forms, new values, view, log.

  quick: 1
*/
#include "testing.h"
#include <stdio.h>
#include <stdlib.h>

static PetscErrorCode NewPC(const TestProblem *p, DM *da, Mat *A, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(TestMatrix(p, da, A));
  PetscCall(TestPC(PCBCRPOISSON, NULL, *A, pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SettersAndGetters(void)
{
  PC pc, other;
  PetscInt radix, n, dim;
  const PetscInt *schedule, wanted[] = {8, 16, 32};
  PCBCRPoissonBackend backend;
  PCBCRPoissonTransport transport;
  PCBCRPoissonPrecision precision;
  PCBCRPoissonOperatorSource source;
  PCBCRPoissonFit fit;
  PetscBool tune;
  PetscReal h[] = {0.5, 0.25, 2}, hh[3], shift, scale, removed;
  PCBCRPoissonEnd e[] = {PCBCRPOISSON_NEUMANN,  PCBCRPOISSON_DIRICHLET,    PCBCRPOISSON_PERIODIC,
                         PCBCRPOISSON_PERIODIC, PCBCRPOISSON_CELL_NEUMANN, PCBCRPOISSON_CELL_DIRICHLET},
                  ee[6];

  PetscFunctionBegin;
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetType(pc, PCBCRPOISSON));
  /* defaults */
  PetscCall(PCBCRPoissonGetRadix(pc, &radix));
  PetscCall(PCBCRPoissonGetSchedule(pc, &n, &schedule));
  PetscCall(PCBCRPoissonGetBackend(pc, &backend));
  PetscCall(PCBCRPoissonGetPrecision(pc, &precision));
  PetscCall(PCBCRPoissonGetOperatorSource(pc, &source));
  PetscCall(PCBCRPoissonGetFit(pc, &fit));
  PetscCall(PCBCRPoissonGetTune(pc, &tune));
  PetscCall(PCBCRPoissonGetRemovedConstant(pc, &removed));
  PetscCall(PCBCRPoissonGetTransport(pc, &transport));
  Check(transport == PCBCRPOISSON_TRANSPORT_AUTO, "default transport %d", (int)transport);
  Check(radix == PCBCRPOISSON_RADIX_AUTO && n == 0 && backend == PCBCRPOISSON_BACKEND_AUTO &&
          source == PCBCRPOISSON_OPERATOR_MATRIX && fit == PCBCRPOISSON_FIT_AUTO && !tune && removed == 0,
        "a default is not the documented one");
  Check(precision ==
          (sizeof(PetscReal) < sizeof(double) ? PCBCRPOISSON_PRECISION_SINGLE : PCBCRPOISSON_PRECISION_DOUBLE),
        "default precision %d", (int)precision);
  /* what is set is got */
  PetscCall(PCBCRPoissonSetRadix(pc, 16));
  PetscCall(PCBCRPoissonSetSchedule(pc, 3, wanted));
  PetscCall(PCBCRPoissonSetBackend(pc, PCBCRPOISSON_BACKEND_CPU));
  PetscCall(PCBCRPoissonSetTransport(pc, PCBCRPOISSON_TRANSPORT_NCCL));
  PetscCall(PCBCRPoissonGetTransport(pc, &transport));
  Check(transport == PCBCRPOISSON_TRANSPORT_NCCL, "transport %d", (int)transport);
  PetscCall(PCBCRPoissonSetPrecision(pc, PCBCRPOISSON_PRECISION_MIXED));
  PetscCall(PCBCRPoissonSetFit(pc, PCBCRPOISSON_FIT_EXACT));
  PetscCall(PCBCRPoissonSetTune(pc, PETSC_TRUE));
  PetscCall(PCBCRPoissonSetOperator(pc, 3, h, e, 0.5, -2));
  PetscCall(PCBCRPoissonGetRadix(pc, &radix));
  PetscCall(PCBCRPoissonGetSchedule(pc, &n, &schedule));
  PetscCall(PCBCRPoissonGetBackend(pc, &backend));
  PetscCall(PCBCRPoissonGetPrecision(pc, &precision));
  PetscCall(PCBCRPoissonGetOperatorSource(pc, &source));
  PetscCall(PCBCRPoissonGetFit(pc, &fit));
  PetscCall(PCBCRPoissonGetTune(pc, &tune));
  PetscCall(PCBCRPoissonGetOperator(pc, &dim, hh, ee, &shift, &scale));
  Check(radix == 16, "radix %d", (int)radix);
  Check(n == 3 && schedule[0] == 8 && schedule[1] == 16 && schedule[2] == 32, "schedule of %d", (int)n);
  Check(backend == PCBCRPOISSON_BACKEND_CPU && precision == PCBCRPOISSON_PRECISION_MIXED &&
          fit == PCBCRPOISSON_FIT_EXACT && tune,
        "backend, precision, fit or tune");
  Check(source == PCBCRPOISSON_OPERATOR_USER, "PCBCRPoissonSetOperator() leaves the source at matrix");
  Check(dim == 3 && shift == (PetscReal)0.5 && scale == -2, "operator");
  for (PetscInt d = 0; d < 3; ++d) Check(hh[d] == h[d], "spacing %d", (int)d);
  for (PetscInt d = 0; d < 6; ++d) Check(ee[d] == e[d], "end %d", (int)d);
  PetscCall(PCBCRPoissonSetRadix(pc, PCBCRPOISSON_RADIX_AUTO));
  PetscCall(PCBCRPoissonSetSchedule(pc, 0, NULL));
  PetscCall(PCBCRPoissonSetOperatorSource(pc, PCBCRPOISSON_OPERATOR_MATRIX));
  PetscCall(PCBCRPoissonGetRadix(pc, &radix));
  PetscCall(PCBCRPoissonGetSchedule(pc, &n, NULL));
  PetscCall(PCBCRPoissonGetOperatorSource(pc, &source));
  Check(radix == PCBCRPOISSON_RADIX_AUTO && n == 0 && source == PCBCRPOISSON_OPERATOR_MATRIX, "set back");
  /* words of an enumeration that does not have so many */
  CheckError(PCBCRPoissonSetBackend(pc, (PCBCRPoissonBackend)3), PETSC_ERR_ARG_OUTOFRANGE,
             "3 is no PCBCRPoissonBackend");
  CheckError(PCBCRPoissonSetTransport(pc, (PCBCRPoissonTransport)4), PETSC_ERR_ARG_OUTOFRANGE,
             "4 is no PCBCRPoissonTransport");
  CheckError(PCBCRPoissonSetFit(pc, (PCBCRPoissonFit)-1), PETSC_ERR_ARG_OUTOFRANGE, "-1 is no PCBCRPoissonFit");
  /* setters leave other types alone, getters say that there is nothing to get */
  PetscCall(PCCreate(PETSC_COMM_SELF, &other));
  PetscCall(PCSetType(other, PCJACOBI));
  PetscCall(PCBCRPoissonSetRadix(other, 16));
  CheckError(PCBCRPoissonGetRadix(other, &radix), PETSC_ERR_SUP, "PCBCRPoissonGetRadix_C");
  PetscCall(PCDestroy(&other));
  /* another type and back: nothing is left of the first */
  PetscCall(PCSetType(pc, PCJACOBI));
  CheckError(PCBCRPoissonGetRadix(pc, &radix), PETSC_ERR_SUP, "PCBCRPoissonGetRadix_C");
  PetscCall(PCSetType(pc, PCBCRPOISSON));
  PetscCall(PCBCRPoissonGetFit(pc, &fit));
  Check(fit == PCBCRPOISSON_FIT_AUTO, "fit survives a change of type");
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Options(void)
{
  PC pc;
  PetscInt radix, n;
  const PetscInt *schedule;
  PCBCRPoissonBackend backend;
  PCBCRPoissonTransport transport;
  PCBCRPoissonPrecision precision;
  PCBCRPoissonOperatorSource source;
  PCBCRPoissonFit fit;
  PetscBool tune;
  PetscReal h[3], shift, scale;
  PCBCRPoissonEnd e[6];
  const char *options =
    "-a_pc_type bcrpoisson -a_pc_bcrpoisson_radix 4 -a_pc_bcrpoisson_schedule 8,16 -a_pc_bcrpoisson_backend cpu "
    "-a_pc_bcrpoisson_transport host -a_pc_bcrpoisson_precision mixed -a_pc_bcrpoisson_fit average "
    "-a_pc_bcrpoisson_tune on "
    "-b_pc_type bcrpoisson -b_pc_bcrpoisson_spacing 0.5,0.25 -b_pc_bcrpoisson_ends neumann,dirichlet,periodic,periodic "
    "-b_pc_bcrpoisson_shift 3 -b_pc_bcrpoisson_scale -1 "
    "-c_pc_type bcrpoisson -c_pc_bcrpoisson_operator user -c_pc_bcrpoisson_spacing 0.125 -c_pc_bcrpoisson_ends "
    "cell_neumann -c_pc_bcrpoisson_radix auto -c_pc_bcrpoisson_schedule auto -c_pc_bcrpoisson_tune off "
    "-d_pc_bcrpoisson_operator matrix -d_pc_bcrpoisson_spacing 1";

  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetOptionsPrefix(pc, "a_"));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCBCRPoissonGetRadix(pc, &radix));
  PetscCall(PCBCRPoissonGetSchedule(pc, &n, &schedule));
  PetscCall(PCBCRPoissonGetBackend(pc, &backend));
  PetscCall(PCBCRPoissonGetPrecision(pc, &precision));
  PetscCall(PCBCRPoissonGetFit(pc, &fit));
  PetscCall(PCBCRPoissonGetTune(pc, &tune));
  PetscCall(PCBCRPoissonGetTransport(pc, &transport));
  Check(transport == PCBCRPOISSON_TRANSPORT_HOST, "transport of options a: %d", (int)transport);
  Check(radix == 4 && n == 2 && schedule[0] == 8 && schedule[1] == 16, "radix %d, %d levels", (int)radix, (int)n);
  Check(backend == PCBCRPOISSON_BACKEND_CPU && precision == PCBCRPOISSON_PRECISION_MIXED &&
          fit == PCBCRPOISSON_FIT_AVERAGE && tune,
        "options a");
  PetscCall(PCDestroy(&pc));

  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetOptionsPrefix(pc, "b_"));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCBCRPoissonGetOperatorSource(pc, &source));
  PetscCall(PCBCRPoissonGetOperator(pc, NULL, h, e, &shift, &scale));
  Check(source == PCBCRPOISSON_OPERATOR_USER, "a spacing implies the user's operator");
  Check(h[0] == (PetscReal)0.5 && h[1] == (PetscReal)0.25 && shift == 3 && scale == -1, "options b");
  Check(e[0] == PCBCRPOISSON_NEUMANN && e[1] == PCBCRPOISSON_DIRICHLET && e[2] == PCBCRPOISSON_PERIODIC &&
          e[3] == PCBCRPOISSON_PERIODIC,
        "ends b");
  PetscCall(PCDestroy(&pc));

  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetOptionsPrefix(pc, "c_"));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCBCRPoissonGetRadix(pc, &radix));
  PetscCall(PCBCRPoissonGetSchedule(pc, &n, NULL));
  PetscCall(PCBCRPoissonGetTune(pc, &tune));
  PetscCall(PCBCRPoissonGetOperator(pc, NULL, h, e, &shift, &scale));
  Check(radix == PCBCRPOISSON_RADIX_AUTO && n == 0 && !tune, "options c");
  for (PetscInt d = 0; d < 3; ++d)
    Check(h[d] == (PetscReal)0.125 && e[2 * d] == PCBCRPOISSON_CELL_NEUMANN &&
            e[2 * d + 1] == PCBCRPOISSON_CELL_NEUMANN,
          "one for all, axis %d", (int)d);
  PetscCall(PCDestroy(&pc));

  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetType(pc, PCBCRPOISSON));
  PetscCall(PCSetOptionsPrefix(pc, "d_"));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCBCRPoissonGetOperatorSource(pc, &source));
  Check(source == PCBCRPOISSON_OPERATOR_MATRIX, "-pc_bcrpoisson_operator has the last word");
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a view says of the options that are not the defaults gives another PC the same ones */
static PetscErrorCode OptionsInView(void)
{
  static const char *const options[] = {
    "-v_pc_type bcrpoisson",
    "-v_pc_type bcrpoisson -v_pc_bcrpoisson_radix 8 -v_pc_bcrpoisson_recursive -v_pc_bcrpoisson_backend cpu",
    "-v_pc_type bcrpoisson -v_pc_bcrpoisson_schedule 8,16,32 -v_pc_bcrpoisson_transport mpi -v_pc_bcrpoisson_fit "
    "scaled",
    "-v_pc_type bcrpoisson -v_pc_bcrpoisson_precision mixed -v_pc_bcrpoisson_tune -v_pc_bcrpoisson_tune_file a/b.txt",
    "-v_pc_type bcrpoisson -v_pc_bcrpoisson_graph off -v_pc_bcrpoisson_launch 64,0,32 -v_pc_bcrpoisson_isa baseline",
    "-v_pc_type bcrpoisson -v_pc_bcrpoisson_spacing 0.5,0.25 -v_pc_bcrpoisson_shift 0.125 -v_pc_bcrpoisson_scale -3",
    "-v_pc_type bcrpoisson -v_pc_bcrpoisson_spacing 0.5 -v_pc_bcrpoisson_ends neumann,periodic "
    "-v_pc_bcrpoisson_operator "
    "matrix",
    "-v_pc_type neato",
    "-v_pc_type neato -v_pc_neato_axis y -v_pc_neato_method pscheme -v_pc_neato_variant plain -v_pc_neato_parts 7",
    "-v_pc_type neato -v_pc_neato_memory global -v_pc_neato_coupling reduced -v_pc_neato_transport host",
    "-v_pc_type neato -v_pc_neato_backend cpu -v_pc_neato_precision mixed -v_pc_neato_isa avx2"};

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(options); ++k) {
    char line[512] = "", *text[2];

    PetscCall(PetscStrncpy(line, options[k], sizeof(line)));
    for (int again = 0; again < 2; ++again) {
      const char *found;
      PetscOptions db;
      PC pc;

      PetscCall(PetscOptionsCreate(&db));
      PetscCall(PetscOptionsInsertString(db, line));
      PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
      PetscCall(PetscObjectSetOptions((PetscObject)pc, db));
      PetscCall(PCSetOptionsPrefix(pc, "v_"));
      PetscCall(PCSetFromOptions(pc));
      PetscCall(TestViewText((PetscObject)pc, &text[again]));
      found = strstr(text[again], "options: ");
      Check(!found == !strstr(options[k], " -v_pc_"), "%s:\n%s", options[k], text[again]);
      /* the type, and what stands in the view */
      PetscCall(
        PetscSNPrintf(line, sizeof(line), "-v_pc_type %s ", strstr(options[k], "neato") ? "neato" : "bcrpoisson"));
      if (found) {
        const size_t had = strlen(line), length = strcspn(found + 9, "\n");

        PetscCall(PetscStrncpy(line + had, found + 9, PetscMin(length + 1, sizeof(line) - had)));
      }
      PetscCall(PCDestroy(&pc));
      PetscCall(PetscOptionsDestroy(&db));
    }
    Check(!strcmp(text[0], text[1]), "options of a view are others than those of the PC:\n%s\n%s", text[0], text[1]);
    /* every option that was given */
    for (const char *word = strstr(options[k] + 1, " -v_"); word; word = strstr(word + 1, " -v_")) {
      const size_t length = 1 + strcspn(word + 1, " ");
      char name[64];

      PetscCall(PetscStrncpy(name, word + 1, length));
      Check(strstr(text[0], name), "%s is not in the view:\n%s", name, text[0]);
    }
    for (int again = 0; again < 2; ++again) free(text[again]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -help has every option of both objects, and the choices of those that are words; PETSc's lists of
   types go to stdout itself and are not looked at */
static PetscErrorCode Help(void)
{
  static const char *options[] = {"radix",     "schedule", "recursive", "backend",   "transport",
                                  "precision", "fit",      "tune",      "tune_file", "graph",
                                  "operator",  "spacing",  "ends",      "shift",     "scale"};
  static const char *choices[] = {"auto cpu cuda",       "auto mpi nccl host",
                                  "double single mixed", "auto scaled average profile exact",
                                  "matrix user",         "neumann"};

  PetscFunctionBegin;
  for (PetscInt form = 0; form < 2; ++form) {
    FILE *out = PETSC_STDOUT;
    char name[64], *text = NULL;
    size_t size;
    PC pc;
    KSP ksp;

    PETSC_STDOUT = open_memstream(&text, &size);
    PetscCheck(PETSC_STDOUT, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "open_memstream()");
    PetscCall(PetscOptionsInsertString(NULL, form ? "-help -hk_ksp_type bcrpoisson" : "-help -hp_pc_type bcrpoisson"));
    if (form) {
      PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
      PetscCall(KSPSetOptionsPrefix(ksp, "hk_"));
      PetscCall(KSPSetFromOptions(ksp));
      PetscCall(KSPDestroy(&ksp));
    } else {
      PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
      PetscCall(PCSetOptionsPrefix(pc, "hp_"));
      PetscCall(PCSetFromOptions(pc));
      PetscCall(PCDestroy(&pc));
    }
    fclose(PETSC_STDOUT);
    PETSC_STDOUT = out;
    PetscCall(PetscOptionsClearValue(NULL, "-help"));
    for (size_t o = 0; o < PETSC_STATIC_ARRAY_LENGTH(options); ++o) {
      PetscCall(PetscSNPrintf(name, sizeof(name), "-%s_bcrpoisson_%s", form ? "hk_ksp" : "hp_pc", options[o]));
      Check(strstr(text, name), "-help lacks %s:\n%s", name, text);
    }
    for (size_t o = 0; o < PETSC_STATIC_ARRAY_LENGTH(choices); ++o)
      Check(strstr(text, choices[o]), "-help lacks the choices %s:\n%s", choices[o], text);
    free(text);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One problem, every way to apply, against LU */
static PetscErrorCode Application(const TestProblem *p)
{
  DM da;
  Mat A, X, Y, XX, YY;
  PC pc;
  KSP lu;
  Vec b, b0, x, x2, ref, column, xc;
  PetscReal error;
  PetscInt n;
  PetscBool same;

  PetscFunctionBegin;
  PetscCall(NewPC(p, &da, &A, &pc));
  PetscCall(TestReference(A, &lu));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &x2));
  PetscCall(VecDuplicate(x, &ref));
  PetscCall(VecDuplicate(b, &b0));
  PetscCall(TestRandom(b));
  PetscCall(VecCopy(b, b0));
  PetscCall(VecSet(x, NAN)); /* what was in y must not matter */
  PetscCall(PCApply(pc, b, x));
  PetscCall(KSPSolve(lu, b, ref));
  PetscCall(TestDifference(x, ref, &error));
  Check(error <= TestDifferenceBound(), "%s %dx%dx%d: differs by %g from LU", p->ends, (int)p->n[0], (int)p->n[1],
        (int)p->n[2], (double)error);
  PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, &error));
  Check(error <= TestBackwardBound(), "%s %dx%dx%d: backward error %g", p->ends, (int)p->n[0], (int)p->n[1],
        (int)p->n[2], (double)error);
  PetscCall(VecEqual(b, b0, &same));
  Check(same, "%s: the right-hand side was changed", p->ends);
  PetscCall(PCApply(pc, b, x2));
  PetscCall(VecEqual(x, x2, &same));
  Check(same, "%s: the second application differs from the first", p->ends);

  PetscCall(PCApplyTranspose(pc, b, x));
  PetscCall(KSPSolveTranspose(lu, b, ref));
  PetscCall(TestDifference(x, ref, &error));
  Check(error <= TestDifferenceBound(), "%s %dx%dx%d: transpose differs by %g from LU", p->ends, (int)p->n[0],
        (int)p->n[1], (int)p->n[2], (double)error);
  PetscCall(TestBackwardError(A, PETSC_TRUE, b, x, &error));
  Check(error <= 3 * TestBackwardBound(), "%s %dx%dx%d: backward error of the transpose %g", p->ends, (int)p->n[0],
        (int)p->n[1], (int)p->n[2], (double)error);

  /* several right-hand sides: all at once, and a part of wider matrices with a leading dimension of their own */
  PetscCall(VecGetSize(b, &n));
  for (PetscInt part = 0; part < 2; ++part) {
    PetscScalar *memory[2] = {NULL, NULL};
    PetscInt ld = part ? n + 3 : n, columns = part ? 5 : 4;

    for (PetscInt m = 0; m < 2; ++m) PetscCall(PetscCalloc1(ld * columns, &memory[m]));
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, n, columns, memory[0], &X));
    PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, n, columns, memory[1], &Y));
    PetscCall(MatDenseSetLDA(X, ld));
    PetscCall(MatDenseSetLDA(Y, ld));
    for (PetscInt c = 0; c < columns; ++c) {
      PetscCall(TestRandom(b));
      PetscCall(VecScale(b, (PetscScalar)(c + 1)));
      PetscCall(MatDenseGetColumnVecWrite(X, c, &column));
      PetscCall(VecCopy(b, column));
      PetscCall(MatDenseRestoreColumnVecWrite(X, c, &column));
    }
    XX = X;
    YY = Y;
    PetscCall(PCMatApply(pc, XX, YY));
    for (PetscInt c = 0; c < columns; ++c) {
      PetscCall(MatDenseGetColumnVecRead(X, c, &column));
      PetscCall(MatDenseGetColumnVecRead(Y, c, &xc));
      PetscCall(PCApply(pc, column, x2));
      PetscCall(TestDifference(xc, x2, &error));
      Check(error <= TestBackwardBound() * 100, "%s: column %d of %d differs by %g from a solve of its own", p->ends,
            (int)c, (int)columns, (double)error);
      PetscCall(MatDenseRestoreColumnVecRead(Y, c, &xc));
      PetscCall(MatDenseRestoreColumnVecRead(X, c, &column));
    }
    for (PetscInt c = 0; c < columns; ++c) {
      for (PetscInt i = n; i < ld; ++i)
        Check(memory[1][c * ld + i] == (PetscScalar)0, "%s: wrote between the columns", p->ends);
    }
#if PETSC_VERSION_GE(3, 24, 0)
    PetscCall(PCMatApplyTranspose(pc, XX, YY));
    for (PetscInt c = 0; c < columns; ++c) {
      PetscCall(MatDenseGetColumnVecRead(X, c, &column));
      PetscCall(MatDenseGetColumnVecRead(Y, c, &xc));
      PetscCall(PCApplyTranspose(pc, column, x2));
      PetscCall(TestDifference(xc, x2, &error));
      Check(error <= TestBackwardBound() * 100, "%s: transpose of column %d differs by %g", p->ends, (int)c,
            (double)error);
      PetscCall(MatDenseRestoreColumnVecRead(Y, c, &xc));
      PetscCall(MatDenseRestoreColumnVecRead(X, c, &column));
    }
#endif
    PetscCall(MatDestroy(&X));
    PetscCall(MatDestroy(&Y));
    for (PetscInt m = 0; m < 2; ++m) PetscCall(PetscFree(memory[m]));
  }

  /* reset, and on */
  PetscCall(PCReset(pc));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCApply(pc, b, x));
  PetscCall(KSPSolve(lu, b, ref));
  PetscCall(TestDifference(x, ref, &error));
  Check(error <= TestDifferenceBound(), "%s: differs by %g from LU after PCReset()", p->ends, (double)error);
  PetscCall(PCReset(pc));
  PetscCall(PCReset(pc));
  PetscCall(TestDestroy(&b, &b0, &x, &x2, &ref, &lu, &pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolveAndCompare(PC pc, Mat A, const char what[])
{
  KSP lu;
  Vec b, x, ref;
  PetscReal error;

  PetscFunctionBegin;
  PetscCall(TestReference(A, &lu));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &ref));
  PetscCall(TestRandom(b));
  PetscCall(PCApply(pc, b, x));
  PetscCall(KSPSolve(lu, b, ref));
  PetscCall(TestDifference(x, ref, &error));
  Check(error <= TestDifferenceBound(), "%s: differs by %g from LU", what, (double)error);
  PetscCall(TestDestroy(&b, &x, &ref, &lu));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TwoObjects(void)
{
  TestProblem p =
                {
                  .dim = 2, .n = {13, 21},
                       .dof = 1, .ends = "dddd", .a = {3,  1 },
                       .scale = 1
  },
              q = {.dim = 3, .n = {5, 6, 7}, .dof = 1, .ends = "ddccnd", .a = {1, 2, 4}, .scale = -0.5};
  DM da[2];
  Mat A[2];
  PC pc[2];

  PetscFunctionBegin;
  PetscCall(NewPC(&p, &da[0], &A[0], &pc[0]));
  PetscCall(NewPC(&q, &da[1], &A[1], &pc[1]));
  PetscCall(PCBCRPoissonSetRadix(pc[1], 2));
  for (PetscInt r = 0; r < 2; ++r) {
    for (PetscInt i = 0; i < 2; ++i) PetscCall(SolveAndCompare(pc[i], A[i], i ? "second object" : "first object"));
  }
  PetscCall(PCDestroy(&pc[0]));
  PetscCall(SolveAndCompare(pc[1], A[1], "second object after the first is gone"));
  PetscCall(PCDestroy(&pc[1]));
  for (PetscInt i = 0; i < 2; ++i) {
    PetscCall(MatDestroy(&A[i]));
    PetscCall(DMDestroy(&da[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix changes between solves, and so do the choices */
static PetscErrorCode NewValues(void)
{
  TestProblem p = {
    .dim = 2, .n = {17, 12},
         .dof = 1, .ends = "drcd", .a = {3,  1 },
         .shift = 0.5, .scale = 1, .row = 2
  };
  const PetscInt schedule[] = {4, 2, 8};
  DM da;
  Mat A;
  PC pc;

  PetscFunctionBegin;
  PetscCall(NewPC(&p, &da, &A, &pc));
  PetscCall(SolveAndCompare(pc, A, "first values"));
  p.shift = 7;
  PetscCall(TestFill(&p, A));
  PetscCall(SolveAndCompare(pc, A, "new shift"));
  p.scale = -3;
  PetscCall(TestFill(&p, A));
  PetscCall(SolveAndCompare(pc, A, "new scale"));
  p.row = 0.125;
  PetscCall(TestFill(&p, A));
  PetscCall(SolveAndCompare(pc, A, "new boundary rows"));
  p.a[0] = 40;
  PetscCall(TestFill(&p, A));
  PetscCall(SolveAndCompare(pc, A, "new coupling"));
  p.ends = "ndDd";
  PetscCall(TestFill(&p, A));
  PetscCall(SolveAndCompare(pc, A, "new ends"));
  p.shift = 0;
  PetscCall(TestFill(&p, A));
  PetscCall(SolveAndCompare(pc, A, "no shift"));
  PetscCall(PCBCRPoissonSetRadix(pc, 2));
  PetscCall(SolveAndCompare(pc, A, "radix 2"));
  PetscCall(PCBCRPoissonSetSchedule(pc, 3, schedule));
  PetscCall(SolveAndCompare(pc, A, "schedule 4,2,8"));
  PetscCall(PCBCRPoissonSetSchedule(pc, 0, NULL));
  PetscCall(PCBCRPoissonSetRadix(pc, PCBCRPOISSON_RADIX_AUTO));
  PetscCall(PCBCRPoissonSetTune(pc, PETSC_TRUE));
  PetscCall(SolveAndCompare(pc, A, "optimizer"));
  PetscCall(PCBCRPoissonSetTune(pc, PETSC_FALSE));
  PetscCall(PCBCRPoissonSetPrecision(pc, PCBCRPOISSON_PRECISION_MIXED));
  PetscCall(SolveAndCompare(pc, A, "mixed precision"));
  /* reuse on request: the old operator stays */
  {
    Mat old;

    PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &old));
    PetscCall(PCSetReusePreconditioner(pc, PETSC_TRUE));
    p.shift = 100;
    PetscCall(TestFill(&p, A));
    PetscCall(SolveAndCompare(pc, old, "PCSetReusePreconditioner()"));
    PetscCall(PCSetReusePreconditioner(pc, PETSC_FALSE));
    PetscCall(SolveAndCompare(pc, A, "no more reuse"));
    PetscCall(MatDestroy(&old));
  }
  PetscCall(TestDestroy(&pc, &A, &da));
  /* another grid in the same object */
  {
    TestProblem q = {
      .dim = 2, .n = {12, 17},
           .dof = 1, .ends = "dddd", .a = {1,  1 },
           .scale = 1
    };
    DM da2;
    Mat A2;

    p.n[0] = 17;
    PetscCall(NewPC(&p, &da, &A, &pc));
    PetscCall(SolveAndCompare(pc, A, "17x12"));
    PetscCall(TestMatrix(&q, &da2, &A2));
    PetscCall(PCReset(pc));
    PetscCall(PCSetOperators(pc, A2, A2));
    PetscCall(SolveAndCompare(pc, A2, "12x17 after 17x12"));
    PetscCall(MatDestroy(&A2));
    PetscCall(DMDestroy(&da2));
  }
  PetscCall(TestDestroy(&pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PCBCRPoissonEnd EndOf(char c)
{
  return c == 'n'   ? PCBCRPOISSON_NEUMANN
         : c == 'c' ? PCBCRPOISSON_CELL_NEUMANN
         : c == 'D' ? PCBCRPOISSON_CELL_DIRICHLET
         : c == 'p' ? PCBCRPOISSON_PERIODIC
                    : PCBCRPOISSON_DIRICHLET;
}

static PetscErrorCode UserOperator(void)
{
  const char *ends[] = {"dddd", "ndcD", "ppdd", "Dcpp", "nccn", "dd", "nd", "Dc", "pp", "ddnnpp", "cDdccc"};

  PetscFunctionBegin;
  for (size_t e = 0; e < PETSC_STATIC_ARRAY_LENGTH(ends); ++e) {
    const PetscReal h[3] = {0.5, 0.25, 1};
    PetscInt dim = (PetscInt)strlen(ends[e]) / 2;
    TestProblem p = {
      .dim = dim,
      .n = {9, dim > 1 ? 14 : 1, dim > 2 ? 6 : 1},
      .dof = e % 3 == 2 ? 2 : 1,
      .ends = ends[e],
      .a = {4, 16,               1              },
      .shift = 0.75,
      .scale = e % 2 ? -2 : 0.3
    };
    PCBCRPoissonEnd end[6];
    DM da;
    Mat A, S;
    PC pc;
    KSP lu, ksp;
    PetscInt its;
    Vec b, x, ref;
    PetscReal error;

    PetscCall(TestMatrix(&p, &da, &A));
    PetscCall(TestShell(A, &S));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecDuplicate(x, &ref));
    PetscCall(TestRandom(b));
    PetscCall(TestReference(A, &lu));
    PetscCall(KSPSolve(lu, b, ref));

    PetscCall(KSPCreate(PETSC_COMM_SELF, &ksp));
    PetscCall(KSPSetDM(ksp, da));
    PetscCall(TestKSPSetDMInactive(ksp));
    PetscCall(KSPSetOperators(ksp, S, S));
    PetscCall(KSPSetType(ksp, KSPGMRES));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(PCSetType(pc, PCBCRPOISSON));
    for (PetscInt i = 0; i < 2 * dim; ++i) end[i] = EndOf(ends[e][i]);
    PetscCall(PCBCRPoissonSetOperator(pc, dim, h, end, p.shift, p.scale));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(TestDifference(x, ref, &error));
    Check(its == 1 && error <= PetscMax(TestDifferenceBound(), 1e-9),
          "user's operator %s: %d iterations, differs by %g from LU", ends[e], (int)its, (double)error);
    /* the same by options alone */
    if (!strcmp(ends[e], "ndcD")) {
      KSP by;

      PetscCall(PetscOptionsInsertString(
        NULL, "-by_ksp_type gmres -by_pc_type bcrpoisson -by_pc_bcrpoisson_spacing 0.5,0.25 -by_pc_bcrpoisson_ends "
              "neumann,dirichlet,cell_neumann,cell_dirichlet -by_pc_bcrpoisson_shift 0.75 -by_pc_bcrpoisson_scale -2"));
      PetscCall(KSPCreate(PETSC_COMM_SELF, &by));
      PetscCall(KSPSetOptionsPrefix(by, "by_"));
      PetscCall(KSPSetDM(by, da));
      PetscCall(TestKSPSetDMInactive(by));
      PetscCall(KSPSetOperators(by, S, S));
      PetscCall(KSPSetFromOptions(by));
      PetscCall(VecSet(x, 0));
      PetscCall(KSPSolve(by, b, x));
      PetscCall(KSPGetIterationNumber(by, &its));
      PetscCall(TestDifference(x, ref, &error));
      Check(its == 1 && error <= PetscMax(TestDifferenceBound(), 1e-9),
            "user's operator by options: %d iterations, differs by %g from LU", (int)its, (double)error);
      PetscCall(KSPDestroy(&by));
    }
    /* a new shift */
    p.shift = 4;
    PetscCall(TestFill(&p, A));
    PetscCall(KSPSetOperators(lu, A, A));
    PetscCall(KSPSolve(lu, b, ref));
    PetscCall(PCBCRPoissonSetOperator(pc, dim, h, end, p.shift, p.scale));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(TestDifference(x, ref, &error));
    Check(its == 1 && error <= PetscMax(TestDifferenceBound(), 1e-9),
          "user's operator %s, new shift: %d iterations, differs by %g from LU", ends[e], (int)its, (double)error);
    PetscCall(TestDestroy(&ksp, &lu, &b, &x, &ref, &S, &A, &da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* No constant in the right-hand side, then one of known size: it is removed, reported, and the mean
   of the solution is zero */
static PetscErrorCode Singular(void)
{
  const char *ends[] = {"cccc", "pppp", "ccpp", "cccccc", "pp", "cc"};

  PetscFunctionBegin;
  for (size_t e = 0; e < PETSC_STATIC_ARRAY_LENGTH(ends); ++e) {
    PetscInt dim = (PetscInt)strlen(ends[e]) / 2;
    TestProblem p = {
      .dim = dim,
      .n = {11, dim > 1 ? 8 : 1, dim > 2 ? 5 : 1},
      .dof = 1,
      .ends = ends[e],
      .a = {4,  16,              1              },
      .scale = e % 2 ? 1 : -3
    };
    DM da;
    Mat A;
    PC pc;
    Vec b, x, x2;
    PetscScalar mean;
    PetscInt n;
    PetscReal error, removed, largest;

    PetscCall(NewPC(&p, &da, &A, &pc));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecDuplicate(x, &x2));
    PetscCall(TestRandom(b));
    PetscCall(VecGetSize(b, &n));
    PetscCall(VecSum(b, &mean));
    PetscCall(VecShift(b, -mean / (PetscReal)n));
    PetscCall(PCApply(pc, b, x));
    PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, &error));
    Check(error <= TestBackwardBound(), "singular %s: backward error %g", ends[e], (double)error);
    PetscCall(VecSum(x, &mean));
    PetscCall(VecNorm(x, NORM_INFINITY, &largest));
    Check(PetscAbsScalar(mean) <= TestBackwardBound() * n * 100 * largest, "singular %s: mean %g of the solution",
          ends[e], (double)PetscAbsScalar(mean));
    PetscCall(PCBCRPoissonGetRemovedConstant(pc, &removed));
    Check(PetscAbsReal(removed) <= TestBackwardBound() * 100,
          "singular %s: removed %g from a consistent right-hand side", ends[e], (double)removed);
    PetscCall(VecShift(b, 2.5));
    PetscCall(PCApply(pc, b, x2));
    PetscCall(PCBCRPoissonGetRemovedConstant(pc, &removed));
    Check(PetscAbsReal(removed - (PetscReal)2.5) <= TestBackwardBound() * 100, "singular %s: removed %g, not 2.5",
          ends[e], (double)removed);
    PetscCall(TestDifference(x2, x, &error));
    Check(error <= TestBackwardBound() * 1e4, "singular %s: the constant changes the solution by %g", ends[e],
          (double)error);
    PetscCall(TestDestroy(&b, &x, &x2, &pc, &A, &da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode View(void)
{
  TestProblem p =
                {
                  .dim = 2, .n = {15, 20},
                       .dof = 1, .ends = "dddd", .a = {3,  1 },
                       .shift = 0.5, .scale = 1
  },
              q = {.dim = 1, .n = {15}, .dof = 1, .ends = "cc", .a = {1}, .scale = 1};
  const char *words[] = {"bcrpoisson",   "operator: from the matrix", "15",          "20",        "fit exact", "plan: ",
                         "backend: cpu", "instruction set",           "precision: ", "tune: off", "workspace", "tables",
                         "bytes\n"};
  DM da;
  Mat A;
  PC pc;
  Vec b, x;
  char *text;
  PetscBool gpu;

  PetscFunctionBegin;
  PetscCall(NewPC(&p, &da, &A, &pc));
  PetscCall(TestViewText((PetscObject)pc, &text));
  Check(strstr(text, "bcrpoisson") && strstr(text, "not set up"), "PCView() before set-up:\n%s", text);
  free(text);
  PetscCall(PCSetUp(pc));
  PetscCall(TestViewText((PetscObject)pc, &text));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-dm_vec_type", &gpu)); /* scripts/check-gpu */
  for (size_t w = 0; w < PETSC_STATIC_ARRAY_LENGTH(words); ++w) {
    const char *word = gpu && strstr(words[w], "backend")
                         ? "backend: cuda"
                         : (gpu && strstr(words[w], "instruction") ? "device" : words[w]);

    Check(strstr(text, word), "PCView() lacks '%s':\n%s", word, text);
  }
  Check(!strstr(text, "removed"), "PCView() speaks of a removed constant where there is none:\n%s", text);
  free(text);
  /* one entry off: a row that differs; a fit without those, and how far off it is */
  PetscCall(MatSetValue(A, 20, 20, 9, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(PCSetUp(pc));
  PetscCall(TestViewText((PetscObject)pc, &text));
  Check(strstr(text, "rows that differ: 1,") && strstr(text, "1 of another diagonal"),
        "PCView() lacks the row that differs:\n%s", text);
  free(text);
  PetscCall(PCBCRPoissonSetCapacitance(pc, PCBCRPOISSON_CAPACITANCE_OFF));
  PetscCall(PCSetUp(pc));
  PetscCall(TestViewText((PetscObject)pc, &text));
  Check(strstr(text, "deviation") && !strstr(text, "fit exact"), "PCView() lacks the deviation of a fit:\n%s", text);
  free(text);
  PetscCall(PCBCRPoissonSetTune(pc, PETSC_TRUE));
  PetscCall(PCSetUp(pc));
  PetscCall(TestViewText((PetscObject)pc, &text));
  Check(strstr(text, "plans timed"), "PCView() lacks what the optimizer did:\n%s", text);
  free(text);
  PetscCall(PCBCRPoissonSetRadix(pc, 2));
  PetscCall(PCSetUp(pc));
  PetscCall(TestViewText((PetscObject)pc, &text));
  Check(strstr(text, gpu ? "fastest the given one" : "nothing to choose") && strstr(text, "sub-problems"),
        "PCView() with radix 2:\n%s", text);
  free(text);
  PetscCall(TestDestroy(&pc, &A, &da));

  PetscCall(NewPC(&q, &da, &A, &pc));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 3));
  PetscCall(PCApply(pc, b, x));
  PetscCall(TestViewText((PetscObject)pc, &text));
  Check(strstr(text, "removed from the last right-hand side: 3"), "PCView() lacks the removed constant:\n%s", text);
  free(text);
  PetscCall(TestDestroy(&b, &x, &pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The PC is applied by programs that never call KSPSetDM(), and by those whose PC has a DM of
   another type while the matrix has the DMDA */
/* -pc_bcrpoisson_view_plan: what is run, its stages, and why not otherwise; a viewer of another kind is refused */
static PetscErrorCode ViewPlan(void)
{
  TestProblem p = {
    .dim = 2, .n = {40, 30},
         .dof = 1, .ends = "dddd", .a = {3,  1 },
         .shift = 0.5, .scale = 1
  };
  char name[] = "viewplan.XXXXXX", option[64], text[8192] = "";
  const int file = mkstemp(name);
  FILE *plan;
  DM da;
  Mat A;
  PC pc;

  PetscFunctionBegin;
  PetscCheck(file >= 0, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "No temporary file");
  PetscCall(NewPC(&p, &da, &A, &pc));
  PetscCall(PetscSNPrintf(option, sizeof(option), "ascii:%s", name));
  PetscCall(PetscOptionsSetValue(NULL, "-pc_bcrpoisson_view_plan", option));
  PetscCall(PCSetUp(pc));
  plan = fdopen(file, "r");
  if (plan) text[fread(text, 1, sizeof(text) - 1, plan)] = 0;
  if (plan) fclose(plan);
  (void)remove(name);
  Check(strstr(text, "plan (") && strstr(text, "axis x: 40 unknowns") && strstr(text, "axis y: 30 unknowns") &&
          strstr(text, "stage 0: ") && strstr(text, "not reduction: neither a radix nor a schedule is given"),
        "-pc_bcrpoisson_view_plan printed\n%s", text);
  PetscCall(PetscOptionsSetValue(NULL, "-pc_bcrpoisson_view_plan", "binary:nothing"));
  PetscCall(PCBCRPoissonSetRadix(pc, 4));
  CheckError(PCSetUp(pc), PETSC_ERR_SUP, "ASCII");
  (void)remove("nothing");
  (void)remove("nothing.info");
  PetscCall(PetscOptionsClearValue(NULL, "-pc_bcrpoisson_view_plan"));
  PetscCall(TestDestroy(&pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode WhereTheDMIs(void)
{
  TestProblem p = {
    .dim = 2, .n = {8, 9},
         .dof = 1, .ends = "dddd", .a = {1, 1},
         .scale = 1
  };
  DM da, shell, none;
  Mat A, B;
  PC pc;

  PetscFunctionBegin;
  PetscCall(NewPC(&p, &da, &A, &pc)); /* of the matrix alone */
  PetscCall(SolveAndCompare(pc, A, "DM of the matrix"));
  PetscCall(PCDestroy(&pc));
  PetscCall(DMShellCreate(PETSC_COMM_SELF, &shell));
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetType(pc, PCBCRPOISSON));
  PetscCall(PCSetDM(pc, shell));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(SolveAndCompare(pc, A, "DMSHELL on the PC, DMDA on the matrix"));
  PetscCall(PCDestroy(&pc));
  PetscCall(DMDestroy(&shell));
  /* of the PC alone */
  PetscCall(MatDuplicate(A, MAT_COPY_VALUES, &B));
  PetscCall(MatSetDM(B, NULL));
  PetscCall(MatGetDM(B, &none));
  Check(!none, "the copy has a DM");
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetType(pc, PCBCRPOISSON));
  PetscCall(PCSetDM(pc, da));
  PetscCall(PCSetOperators(pc, B, B));
  PetscCall(SolveAndCompare(pc, B, "DM of the PC"));
  PetscCall(TestDestroy(&pc, &B, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSC_USE_LOG)
static PetscErrorCode Log(void)
{
  TestProblem p = {
    .dim = 2, .n = {8, 9},
         .dof = 1, .ends = "dddd", .a = {1, 1},
         .scale = 1
  };
  const char *events[] = {"BCRRead", "BCRSetUp", "BCRSolve"};
  DM da;
  Mat A;
  PC pc;
  PetscLogEvent event;
  PetscEventPerfInfo before[3], after[3];

  PetscFunctionBegin;
  for (PetscInt e = 0; e < 3; ++e) {
    PetscCall(PetscLogEventGetId(events[e], &event));
    Check(event >= 0, "no event %s", events[e]);
    PetscCall(PetscLogEventGetPerfInfo(0, event, &before[e]));
  }
  PetscCall(NewPC(&p, &da, &A, &pc));
  PetscCall(SolveAndCompare(pc, A, "log"));
  for (PetscInt e = 0; e < 3; ++e) {
    PetscCall(PetscLogEventGetId(events[e], &event));
    PetscCall(PetscLogEventGetPerfInfo(0, event, &after[e]));
    Check(after[e].count == before[e].count + 1, "event %s counted %d times", events[e],
          (int)(after[e].count - before[e].count));
  }
  Check(after[2].flops > before[2].flops, "BCRSolve has no flops");
  PetscCall(TestDestroy(&pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

static PetscErrorCode Registration(void)
{
  PC pc;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < 3; ++i) PetscCall(PetscBCRInitializePackage());
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetType(pc, PCBCRPOISSON));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A given radix in three dimensions, by a transform and by the paper's recursion, whose sub-problems multiply */
static PetscErrorCode Recursion(void)
{
  TestProblem p = {
    .dim = 3, .n = {9, 15, 15},
         .dof = 1, .ends = "ddddnd", .a = {1, 2,  1 },
         .shift = 0.1, .scale = 2
  };
  DM da;
  Mat A;
  PC pc;
  PetscBool recursive = PETSC_TRUE;
  char *text;

  PetscFunctionBegin;
  PetscCall(NewPC(&p, &da, &A, &pc));
  PetscCall(PCBCRPoissonGetRecursive(pc, &recursive));
  Check(!recursive, "recursion by default");
  for (PetscInt radix = 2; radix <= 4; radix += 2) {
    PetscCall(PCBCRPoissonSetRadix(pc, radix));
    for (PetscInt r = 0; r < 2; ++r) {
      PetscCall(PCBCRPoissonSetRecursive(pc, (PetscBool)r));
      PetscCall(SolveAndCompare(pc, A, r ? "recursion" : "transform and reduction"));
      PetscCall(TestViewText((PetscObject)pc, &text));
      Check(!!strstr(text, "its sub-problems by reduction") == !!r, "PCView() with recursion %d:\n%s", (int)r, text);
      free(text);
    }
  }
  PetscCall(PCBCRPoissonGetRecursive(pc, &recursive));
  Check(recursive, "no recursion after asking for it");
  PetscCall(TestDestroy(&pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode All(void)
{
  /* clang-format off */
  const TestProblem problems[] = {
    {.dim = 1, .n = {1},         .dof = 1, .ends = "dd",     .a = {1},         .shift = 0.5, .scale = 1               },
    {.dim = 1, .n = {2},         .dof = 1, .ends = "dd",     .a = {1},         .shift = 0,   .scale = 1               },
    {.dim = 1, .n = {37},        .dof = 1, .ends = "nd",     .a = {2},         .shift = 0,   .scale = -1              },
    {.dim = 1, .n = {64},        .dof = 1, .ends = "pp",     .a = {2},         .shift = 1,   .scale = 1               },
    {.dim = 2, .n = {1, 1},      .dof = 1, .ends = "dddd",   .a = {1, 1},      .shift = 0,   .scale = 1               },
    {.dim = 2, .n = {3, 1},      .dof = 1, .ends = "dddd",   .a = {1, 2},      .shift = 0,   .scale = 1               },
    {.dim = 2, .n = {2, 31},     .dof = 1, .ends = "dddd",   .a = {1, 2},      .shift = 0,   .scale = 5               },
    {.dim = 2, .n = {31, 32},    .dof = 1, .ends = "dddd",   .a = {1, 2},      .shift = 0,   .scale = 1               },
    {.dim = 2, .n = {33, 17},    .dof = 1, .ends = "rrrr",   .a = {1, 2},      .shift = 0,   .scale = 1,    .row = 7  },
    {.dim = 2, .n = {13, 19},    .dof = 1, .ends = "ndcD",   .a = {1, 9},      .shift = 1,   .scale = 1e-6            },
    {.dim = 2, .n = {16, 23},    .dof = 1, .ends = "ppnr",   .a = {5, 1},      .shift = 0,   .scale = 1,    .row = 1  },
    {.dim = 2, .n = {13, 19},    .dof = 3, .ends = "dddd",   .a = {1, 9},      .shift = 1,   .scale = 1,    .contrast = 1},
    {.dim = 3, .n = {7, 8, 9},   .dof = 1, .ends = "dddddd", .a = {1, 2, 3},   .shift = 0,   .scale = 1               },
    {.dim = 3, .n = {9, 7, 5},   .dof = 1, .ends = "rrrrrr", .a = {1, 1, 1},   .shift = 0,   .scale = 1,    .row = 6  },
    {.dim = 3, .n = {6, 11, 4},  .dof = 1, .ends = "ppccnd", .a = {1, 1, 0.1}, .shift = 0.2, .scale = -1e5            },
    {.dim = 3, .n = {5, 1, 12},  .dof = 2, .ends = "dddddd", .a = {1, 1, 1},   .shift = 0,   .scale = 1,    .contrast = 2}
  };
  /* clang-format on */

  PetscFunctionBegin;
  PetscCall(Registration());
  PetscCall(SettersAndGetters());
  PetscCall(Options());
  PetscCall(OptionsInView());
  PetscCall(Help());
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(problems); ++i) PetscCall(Application(&problems[i]));
  PetscCall(TwoObjects());
  PetscCall(NewValues());
  PetscCall(Recursion());
  PetscCall(UserOperator());
  PetscCall(Singular());
  PetscCall(View());
  PetscCall(ViewPlan());
  PetscCall(WhereTheDMIs());
#if defined(PETSC_USE_LOG)
  PetscCall(Log());
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char name[] = "citations.XXXXXX", text[8192] = "";
  int file;
  FILE *citations;

  /* PETSc may come and go several times under one MPI */
  if (MPI_Init(&argc, &argv)) return 1;
  for (int again = 0; again < 2; ++again) {
    PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
#if defined(PETSC_USE_LOG)
    PetscCall(PetscLogDefaultBegin());
#endif
    PetscCall(PetscBCRInitializePackage());
    PetscCall(All());
    PetscCall(PetscFinalize());
  }
  /* the papers */
  file = mkstemp(name);
  if (file < 0) return 1;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsSetValue(NULL, "-citations", name));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(WhereTheDMIs());
  PetscCall(PetscFinalize());
  citations = fdopen(file, "r");
  if (citations) text[fread(text, 1, sizeof(text) - 1, citations)] = 0;
  if (citations) fclose(citations);
  (void)remove(name);
  Check(strstr(text, "MyllykoskiRossiToivanen2013") && strstr(text, "petscbcr"), "-citations lacks the papers: %s",
        text);
  MPI_Finalize();
  return TestEnd();
}
