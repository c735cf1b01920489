/*
  PCNEATO and PetscBCRLines against dense LAPACK line by line: all axes, methods
  and couplings, components, periodic axes, uneven parts, one row on a rank;
  transposes, several right-hand sides, new values.

  ranks: 1 2 3 4 6 8
  turns: 3
  quick: 2
*/
#include "neatocases.h"
#include "src/tridiagonal/tridiagonal.h"

static PetscErrorCode NewPC(DM da, Mat A, PetscInt axis, PCNeatoMethod method, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(TestPC(PCNEATO, da, A, pc));
  PetscCall(PCNeatoSetAxis(*pc, (PCNeatoAxis)(axis + 1)));
  PetscCall(PCNeatoSetMethod(*pc, method));
  PetscCall(PCSetFromOptions(*pc)); /* -pc_neato_backend cuda -pc_neato_transport ...: scripts/check-gpu */
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define Describe "dim %d n %d %d %d dof %d axis %d kind %d edge %d periodic %d"
#define Described(k) \
  (int)(k)->dim, (int)(k)->n[0], (int)(k)->n[1], (int)(k)->n[2], (int)(k)->dof, (int)(k)->axis, (int)(k)->kind, \
    (int)(k)->edge, (int)(k)->periodic

static PetscErrorCode One(const Case *k, PCNeatoMethod method)
{
  DM da;
  Mat A, B, X, Y;
  Vec f, u, column;
  PC pc;
  Case changed = *k;
  PetscReal difference;
  double worst;
  PetscBool refused = PETSC_FALSE;
  const PetscReal bound = sizeof(PetscReal) < sizeof(double) ? (PetscReal)1e-5 : (PetscReal)1e-13;

  PetscFunctionBegin;
  PetscCall(NewDMDA(k, &da));
  PetscCall(Assemble(k, da, &A));
  PetscCall(DMCreateGlobalVector(da, &f));
  PetscCall(VecDuplicate(f, &u));
  PetscCall(FillRhs(k, da, f));
  PetscCall(NewPC(da, A, k->axis, method, &pc));
  if (method != PCNEATO_METHOD_AUTO && method != PCNEATO_METHOD_THOMAS && method != PCNEATO_METHOD_PSCHEME &&
      k->kind >= STRETCHED && k->n[k->axis] > 2 * BCR_TRI_EDGE + 1) {
    PetscErrorCode ierr;
    TestCaught caught = {0, ""};

    PetscCall(PetscPushErrorHandler(TestCatch, &caught));
    ierr = PCSetUp(pc);
    PetscCall(PetscPopErrorHandler());
    refused = (PetscBool)(ierr != 0); /* methods for lines with constant coefficients say so */
    Check(!refused || strstr(caught.message, "use method thomas"), Describe " %s: %s", Described(k),
          PCNeatoMethods[method], caught.message);
  }
  if (refused) {
    PetscCall(TestDestroy(&pc, &f, &u, &A, &da));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PCApply(pc, f, u));
  PetscCall(CompareDense(k, da, PETSC_FALSE, u, &difference));
  Check(difference < bound, Describe " %s: off by %g", Described(k), PCNeatoMethods[method], (double)difference);
  PetscCall(PCApplyTranspose(pc, f, u));
  PetscCall(CompareDense(k, da, PETSC_TRUE, u, &difference));
  Check(difference < bound, Describe " %s: transpose off by %g", Described(k), PCNeatoMethods[method],
        (double)difference);

  /* right-hand sides f, -2 f, 3 f; then two of them whose columns do not follow one another in memory */
  for (PetscInt columns = 3; columns > 1; --columns) {
    PetscInt m;

    PetscCall(VecGetLocalSize(f, &m));
    for (PetscInt side = 0; side < 2; ++side) {
      PetscCall(MatCreate(PETSC_COMM_WORLD, side ? &Y : &X));
      PetscCall(MatSetSizes(side ? Y : X, m, PETSC_DECIDE, PETSC_DETERMINE, columns));
      PetscCall(MatSetType(side ? Y : X, MATDENSE));
      if (columns == 2) PetscCall(MatDenseSetLDA(side ? Y : X, m + 1 + 2 * side));
      PetscCall(MatSetUp(side ? Y : X));
    }
    for (PetscInt c = 0; c < columns; ++c) {
      PetscCall(MatDenseGetColumnVecWrite(X, c, &column));
      PetscCall(VecCopy(f, column));
      PetscCall(VecScale(column, (PetscScalar)(c == 1 ? -2 : c + 1)));
      PetscCall(MatDenseRestoreColumnVecWrite(X, c, &column));
    }
    PetscCall(MatAssemblyBegin(X, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(X, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyBegin(Y, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(Y, MAT_FINAL_ASSEMBLY));
    PetscCall(PCMatApply(pc, X, Y));
    worst = 0;
    for (PetscInt c = 0; c < columns; ++c) {
      PetscCall(MatDenseGetColumnVecRead(Y, c, &column));
      PetscCall(VecCopy(column, u));
      PetscCall(VecScale(u, 1 / (PetscScalar)(c == 1 ? -2 : c + 1)));
      PetscCall(CompareDense(k, da, PETSC_FALSE, u, &difference));
      TestLargest(&worst, difference);
      PetscCall(MatDenseRestoreColumnVecRead(Y, c, &column));
    }
    Check(worst < bound, Describe " %s: PCMatApply() of %d columns off by %g", Described(k), PCNeatoMethods[method],
          (int)columns, (double)worst);
    PetscCall(MatDestroy(&X));
    PetscCall(MatDestroy(&Y));
  }

  if (k->dim == 1) { /* the whole matrix: KSPNEATO, too */
    KSP ksp;
    PC inner;
    KSPConvergedReason reason;

    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetType(ksp, KSPNEATO));
    PetscCall(KSPSetOperators(ksp, A, A));
    PetscCall(KSPGetPC(ksp, &inner));
    PetscCall(PCNeatoSetMethod(inner, method));
    PetscCall(KSPSetTolerances(ksp, sizeof(PetscReal) < sizeof(double) ? (PetscReal)1e-5 : (PetscReal)1e-12,
                               PETSC_DEFAULT, PETSC_DEFAULT, 3));
    PetscCall(KSPSolve(ksp, f, u));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(CompareDense(k, da, PETSC_FALSE, u, &difference));
    Check(reason > 0 && difference < bound, Describe " %s: KSPNEATO %s, off by %g", Described(k),
          PCNeatoMethods[method], KSPConvergedReasons[reason], (double)difference);
    PetscCall(KSPDestroy(&ksp));
  }

  /* other values in the same matrix */
  changed.across *= 2;
  changed.seed += 1000;
  PetscCall(Assemble(&changed, da, &B));
  PetscCall(MatCopy(B, A, SAME_NONZERO_PATTERN));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCApply(pc, f, u));
  PetscCall(CompareDense(&changed, da, PETSC_FALSE, u, &difference));
  Check(difference < bound, Describe " %s: new values off by %g", Described(k), PCNeatoMethods[method],
        (double)difference);
  PetscCall(PCApplyTranspose(pc, f, u));
  PetscCall(CompareDense(&changed, da, PETSC_TRUE, u, &difference));
  Check(difference < bound, Describe " %s: transpose with new values off by %g", Described(k), PCNeatoMethods[method],
        (double)difference);

  PetscCall(TestDestroy(&B, &pc, &f, &u, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The public call without a matrix, in place and not */
static PetscErrorCode Public(const Case *k, PCNeatoMethod method)
{
  DM da;
  Vec f, u;
  PetscBCRLines lines;
  PetscReal rows[7][3], difference;
  PetscInt x[3] = {0, 0, 0};
  const PetscInt n = k->n[k->axis], edge = k->periodic ? 0 : k->edge;
  const PetscReal bound = sizeof(PetscReal) < sizeof(double) ? (PetscReal)1e-5 : (PetscReal)1e-13;

  PetscFunctionBegin;
  PetscCall(NewDMDA(k, &da));
  for (PetscInt r = 0; r < 2 * edge + 1; ++r) {
    double row[3];

    x[k->axis] = r < edge ? r : (r == edge ? n / 2 : n - 1 - (2 * edge - r));
    Row(k, x, 0, row);
    for (PetscInt d = 0; d < 3; ++d) rows[r][d] = (PetscReal)row[d];
  }
  PetscCall(PetscBCRLinesCreate(da, (DMDirection)k->axis, edge, rows[0], rows[edge], edge, rows[edge + 1], &lines));
  PetscCall(PetscBCRLinesSetMethod(lines, method));
  PetscCall(DMCreateGlobalVector(da, &f));
  PetscCall(VecDuplicate(f, &u));
  PetscCall(FillRhs(k, da, f));
  PetscCall(PetscBCRLinesSolve(lines, f, u));
  {
    Case one = *k;

    one.same = 1; /* components have the same coefficients */
    PetscCall(CompareDense(&one, da, PETSC_FALSE, u, &difference));
    Check(difference < bound, Describe " %s: PetscBCRLines off by %g", Described(k), PCNeatoMethods[method],
          (double)difference);
    PetscCall(PetscBCRLinesSolve(lines, f, f));
    PetscCall(CompareDense(&one, da, PETSC_FALSE, f, &difference));
    Check(difference < bound, Describe " %s: PetscBCRLines in place off by %g", Described(k), PCNeatoMethods[method],
          (double)difference);
  }
  PetscCall(PetscBCRLinesDestroy(&lines));
  PetscCall(TestDestroy(&f, &u, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lines that decay fast may be coupled to neighbours alone; others may not, and
 * the error says what that would cost */
static PetscErrorCode Couplings(PetscMPIInt ranks)
{
  static const PetscInt n[2] = {97, 60};

  PetscFunctionBegin;
  for (PetscInt axis = 0; axis < 2; ++axis) {
    for (PetscInt periodic = 0; periodic < 2; ++periodic) {
      for (PetscInt coupling = PCNEATO_COUPLING_AUTO; coupling <= PCNEATO_COUPLING_REDUCED; ++coupling) {
        for (PetscInt weak = 0; weak < 2; ++weak) {
          Case k = {
            .dim = 2,
            .n = {n[0], n[1], 1},
            .dof = 1,
            .axis = axis,
            .periodic = (PetscBool)periodic,
            .kind = SAME,
            .boost = weak ? (PetscReal)1e5 : (PetscReal)-1e-3
          };
          DM da;
          Mat A;
          Vec f, u;
          PC pc;
          PetscInt procs[3];
          PetscReal difference;
          const PetscReal bound = sizeof(PetscReal) < sizeof(double) ? (PetscReal)1e-4 : (PetscReal)1e-12;

          PetscCall(NewDMDA(&k, &da));
          PetscCall(Assemble(&k, da, &A));
          PetscCall(DMDAGetInfo(da, NULL, NULL, NULL, NULL, &procs[0], &procs[1], &procs[2], NULL, NULL, NULL, NULL,
                                NULL, NULL));
          PetscCall(NewPC(da, A, axis, PCNEATO_METHOD_AUTO, &pc));
          PetscCall(PCNeatoSetCoupling(pc, (PCNeatoCoupling)coupling));
          /* between two ranks there is nothing but neighbours */
          if (coupling == PCNEATO_COUPLING_NEIGHBOUR && !weak && procs[axis] > 2 - periodic) {
            CheckError(PCSetUp(pc), -1, "digits");
          } else {
            PetscCall(DMCreateGlobalVector(da, &f));
            PetscCall(VecDuplicate(f, &u));
            PetscCall(FillRhs(&k, da, f));
            PetscCall(PCApply(pc, f, u));
            PetscCall(CompareDense(&k, da, PETSC_FALSE, u, &difference));
            Check(difference < bound, Describe " %s coupling, %s lines, %d ranks: off by %g", Described(&k),
                  PCNeatoCouplings[coupling], weak ? "weak" : "strong", (int)ranks, (double)difference);
            PetscCall(VecDestroy(&f));
            PetscCall(VecDestroy(&u));
          }
          PetscCall(TestDestroy(&pc, &A, &da));
        }
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const Case list[] = {
    {1, {1, 1, 1},   1, 0, PETSC_FALSE, SAME,      0, 0, 0, 0, 0   },
    {1, {2, 1, 1},   1, 0, PETSC_FALSE, GENERAL,   0, 0, 0, 0, 0   },
    {1, {3, 1, 1},   1, 0, PETSC_FALSE, SAME,      1, 0, 0, 0, 0   },
    {1, {6, 1, 1},   1, 0, PETSC_FALSE, SAME,      0, 0, 0, 0, 0   },
    {1, {17, 1, 1},  3, 0, PETSC_FALSE, PERLINE,   2, 0, 0, 0, 0   },
    {1, {53, 1, 1},  1, 0, PETSC_FALSE, SAME,      3, 0, 0, 0, 0   },
    {1, {64, 1, 1},  1, 0, PETSC_FALSE, GENERAL,   0, 0, 0, 0, 0   },
    {1, {31, 1, 1},  1, 0, PETSC_TRUE,  SAME,      0, 0, 0, 0, 0   },
    {1, {32, 1, 1},  2, 0, PETSC_TRUE,  GENERAL,   0, 0, 0, 0, 0   },
    {1, {2, 1, 1},   1, 0, PETSC_TRUE,  GENERAL,   0, 0, 0, 0, 0   },
    {2, {13, 17, 1}, 1, 0, PETSC_FALSE, SAME,      2, 0, 0, 0, 0.5 },
    {2, {13, 17, 1}, 2, 1, PETSC_FALSE, SAME,      1, 0, 0, 0, 0.5 },
    {2, {23, 8, 1},  1, 0, PETSC_FALSE, PERLINE,   1, 0, 0, 0, 0.5 },
    {2, {11, 12, 1}, 1, 1, PETSC_FALSE, STRETCHED, 0, 0, 0, 0, 0   },
    {2, {11, 12, 1}, 1, 1, PETSC_TRUE,  GENERAL,   0, 0, 0, 0, 0.25},
    {3, {7, 6, 9},   1, 0, PETSC_FALSE, SAME,      1, 0, 0, 0, 0.5 },
    {3, {7, 6, 9},   2, 1, PETSC_FALSE, PERLINE,   2, 0, 0, 0, 0.5 },
    {3, {7, 6, 9},   1, 2, PETSC_FALSE, GENERAL,   0, 0, 0, 0, 0.5 },
    {3, {5, 6, 13},  1, 2, PETSC_TRUE,  SAME,      0, 0, 0, 0, 0.5 }
  };
  static const Case along[] = {
    {2, {0, 5, 1},  1, 0, PETSC_FALSE, SAME,    1, 0, 0, 0, 0.5}, /* n 0: one row on each rank */
    {2, {5, 0, 1},  1, 1, PETSC_TRUE,  GENERAL, 0, 0, 0, 0, 0.5},
    {3, {3, 4, 0},  2, 2, PETSC_FALSE, PERLINE, 0, 0, 0, 0, 0.5},
    {3, {3, 4, 0},  1, 2, PETSC_TRUE,  SAME,    0, 0, 0, 0, 0.5},
    {2, {19, 4, 1}, 1, 0, PETSC_TRUE,  SAME,    0, 0, 0, 0, 0.5},
    {2, {4, 21, 1}, 2, 1, PETSC_FALSE, PERLINE, 2, 0, 0, 0, 0.5},
    {3, {3, 4, 22}, 1, 2, PETSC_FALSE, SAME,    3, 0, 0, 0, 0.5},
    {3, {19, 3, 4}, 1, 0, PETSC_FALSE, GENERAL, 0, 0, 0, 0, 0.5},
    {3, {3, 20, 4}, 1, 1, PETSC_TRUE,  SAME,    0, 0, 0, 0, 0.5},
    {3, {4, 3, 21}, 1, 2, PETSC_TRUE,  PERLINE, 0, 0, 0, 0, 0.5}
  };
  static const PCNeatoMethod methods[] = {PCNEATO_METHOD_AUTO,    PCNEATO_METHOD_SCAN, PCNEATO_METHOD_CR,
                                          PCNEATO_METHOD_PSCHEME, PCNEATO_METHOD_DC,   PCNEATO_METHOD_THOMAS};
  PetscMPIInt ranks;
  int status = 1;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  for (size_t m = 0; m < PETSC_STATIC_ARRAY_LENGTH(methods); ++m) {
    for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(list); ++i) {
      if (!TestTurn() || (list[i].dim == 1 && list[i].n[0] < ranks)) continue; /* PETSc has no DMDA with empty ranks */
      PetscCall(One(&list[i], methods[m]));
      if (list[i].kind == SAME) PetscCall(Public(&list[i], methods[m]));
    }
    /* all ranks along the lines: even parts, one row on each rank but the first, but the last */
    for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(along); ++i) {
      Case k = along[i];

      if (!k.n[k.axis]) k.n[k.axis] = ranks;
      for (Cut = 1; Cut <= (along[i].n[k.axis] ? 3 : 1); ++Cut) {
        if (!TestTurn()) continue;
        PetscCall(One(&k, methods[m]));
        /* the formula has both neighbours in one entry of a row of two */
        if (k.kind == SAME && k.n[k.axis] > (k.periodic ? 2 : 2 * k.edge)) PetscCall(Public(&k, methods[m]));
      }
      Cut = 0;
    }
  }
  PetscCall(Couplings(ranks));
  PetscCall(TestSum(&status));
  PetscCall(PetscFinalize());
  return status;
}
