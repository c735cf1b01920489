/*
  ranks: 1 2 3
  turns: 3

  Singular operators whose rows at Neumann ends are halved, so that the matrix A is symmetric: the
  preconditioner M is symmetric to rounding, M A M = M, A M f is f less its mean, for every f, and
  CG converges for right-hand sides that are not in the range of A. All combinations of halved,
  cell-centred and periodic ends; where rows are mirrored and not halved (A not symmetric), what is
  removed from f is a constant, and the mean of u is zero all the same.
*/
#include "distribute.h"

static PetscMPIInt rank, size;

/* Halves the rows of every 'n' end whose letter in half is 'h' */
static PetscErrorCode Halve(const TestProblem *p, const char half[], Mat A)
{
  const PetscInt n[3] = {p->n[0], p->dim > 1 ? p->n[1] : 1, p->dim > 2 ? p->n[2] : 1};
  Vec w;
  PetscScalar *v;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &w, NULL));
  PetscCall(VecGetArray(w, &v));
  for (PetscInt i = 0; i < n[0] * n[1] * n[2]; ++i) {
    const PetscInt at[3] = {i % n[0], i / n[0] % n[1], i / n[0] / n[1]};
    PetscReal f = 1;

    for (PetscInt d = 0; d < p->dim; ++d) {
      for (PetscInt s = 0; s < 2; ++s)
        if (half[2 * d + s] == 'h' && at[d] == (s ? n[d] - 1 : 0)) f /= 2;
    }
    for (PetscInt c = 0; c < p->dof; ++c) v[c + p->dof * i] = f;
  }
  PetscCall(VecRestoreArray(w, &v));
  PetscCall(MatDiagonalScale(A, w, NULL));
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* v less the mean of each component */
static PetscErrorCode RemoveMeans(PetscInt dof, Vec v)
{
  PetscScalar *a, mean[2] = {0, 0};
  PetscInt n, N;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(VecGetSize(v, &N));
  PetscCall(VecGetArray(v, &a));
  for (PetscInt i = 0; i < n; ++i) mean[i % dof] += a[i];
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, mean, 2, MPIU_SCALAR, MPIU_SUM, PETSC_COMM_WORLD));
  for (PetscInt i = 0; i < n; ++i) a[i] -= mean[i % dof] / (PetscReal)(N / dof);
  PetscCall(VecRestoreArray(v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(PetscInt dim, const char half[], PetscInt dof, PCBCRPoissonPrecision precision,
                          const PetscInt parts[3])
{
  const PetscReal eps = precision == PCBCRPOISSON_PRECISION_SINGLE || sizeof(PetscReal) < sizeof(double)
                          ? (PetscReal)2e-5
                          : (PetscReal)2e-13;
  char ends[7];
  TestProblem p = {
    .dim = dim,
    .n = {dim == 1 ? 41 : 13, 11,  8   },
    .dof = dof,
    .ends = ends,
    .a = {1,                  1.5, 0.75},
    .scale = 2,
    .contrast = 0.5
  };
  Case c;
  PC pc;
  Vec f, g, u, v, r;
  PetscScalar a, b, sum;
  PetscReal norm, rnorm, unorm, removed;
  PetscBool symmetric = PETSC_TRUE;
  PetscInt N;
  KSP ksp;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  for (PetscInt e = 0; e < 2 * dim; ++e) {
    ends[e] = half[e] == 'h' ? 'n' : half[e];
    if (half[e] == 'n') symmetric = PETSC_FALSE;
  }
  ends[2 * dim] = 0;
  PetscCall(CaseCreate(&p, &c));
  PetscCall(Halve(&p, half, c.A1));
  PetscCall(CaseCut(&c, PETSC_COMM_WORLD, parts, NULL));
  PetscCall(CasePC(c.da, c.A, &pc));
  PetscCall(PCBCRPoissonSetPrecision(pc, precision));
  PetscCall(PCBCRPoissonSetFit(pc, PCBCRPOISSON_FIT_EXACT));
  PetscCall(PCSetUp(pc));
  PetscCall(VecDuplicate(c.b, &f));
  PetscCall(VecDuplicate(c.b, &g));
  PetscCall(VecDuplicate(c.b, &u));
  PetscCall(VecDuplicate(c.b, &v));
  PetscCall(VecDuplicate(c.b, &r));
  PetscCall(VecGetSize(f, &N));
  PetscCall(CaseDeal(&c, c.b1, f));
  PetscCall(VecShift(f, 2));
  PetscCall(TestRandom(c.b1));
  PetscCall(VecPointwiseMult(c.b1, c.b1, c.b1));
  PetscCall(CaseDeal(&c, c.b1, g));
  PetscCall(PCApply(pc, f, u));
  PetscCall(PCBCRPoissonGetRemovedConstant(pc, &removed));
  PetscCall(PCApply(pc, g, v));
  if (symmetric) { /* the same both ways, and for the transpose */
    PetscCall(VecDot(u, g, &a));
    PetscCall(VecDot(f, v, &b));
    PetscCall(VecNorm(u, NORM_2, &unorm));
    PetscCall(VecNorm(g, NORM_2, &norm));
    Check(PetscAbsScalar(a - b) <= eps * unorm * norm,
          "rank %d: %s (%s), precision %d: g' M f and f' M g differ by %g of %g", (int)rank, c.what, half,
          (int)precision, (double)PetscAbsScalar(a - b), (double)(unorm * norm));
    PetscCall(PCApplyTranspose(pc, f, v));
    PetscCall(VecAXPY(v, -1, u));
    PetscCall(VecNorm(v, NORM_2, &norm));
    Check(norm <= 20 * eps * unorm, "rank %d: %s (%s), precision %d: M^T f differs by %g of %g", (int)rank, c.what,
          half, (int)precision, (double)norm, (double)unorm);
  }
  /* f - A M f: a constant, that of the mean where A is symmetric; the mean of u is zero */
  PetscCall(MatMult(c.A, u, r));
  PetscCall(VecAYPX(r, -1, f));
  if (dof == 1) {
    PetscCall(VecSum(r, &sum));
    Check(PetscAbsReal(removed - PetscAbsScalar(sum) / (PetscReal)N) <= 100 * eps * (1 + removed),
          "rank %d: %s (%s): %g was removed, not %g", (int)rank, c.what, half, (double)removed,
          (double)(PetscAbsScalar(sum) / (PetscReal)N));
    if (symmetric) {
      PetscCall(VecSum(f, &a));
      Check(PetscAbsScalar(sum - a) <= 100 * eps * (PetscReal)N,
            "rank %d: %s (%s): the sum of the residual is %g, that of the right-hand side %g", (int)rank, c.what, half,
            (double)PetscRealPart(sum), (double)PetscRealPart(a));
    }
  }
  PetscCall(RemoveMeans(dof, r));
  PetscCall(VecNorm(r, NORM_INFINITY, &rnorm));
  PetscCall(VecNorm(u, NORM_INFINITY, &unorm));
  Check(rnorm <= eps * (40 * unorm + 3), "rank %d: %s (%s), precision %d: f - A M f differs from a constant by %g",
        (int)rank, c.what, half, (int)precision, (double)rnorm);
  PetscCall(VecCopy(u, v));
  PetscCall(RemoveMeans(dof, v));
  PetscCall(VecAXPY(v, -1, u));
  PetscCall(VecNorm(v, NORM_INFINITY, &norm));
  Check(norm <= 10 * eps * unorm, "rank %d: %s (%s), precision %d: the mean of the solution is %g", (int)rank, c.what,
        half, (int)precision, (double)norm);
  if (symmetric) {
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOperators(ksp, c.A, c.A));
    PetscCall(KSPSetType(ksp, KSPCG));
    PetscCall(KSPSetPC(ksp, pc));
    PetscCall(KSPSetTolerances(ksp, 100 * eps, 0, PETSC_DEFAULT, 20));
    PetscCall(KSPSetDM(ksp, c.da));
    PetscCall(TestKSPSetDMInactive(ksp));
    PetscCall(KSPSolve(ksp, f, u));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    Check(reason > 0, "rank %d: %s (%s), precision %d: CG says %s", (int)rank, c.what, half, (int)precision,
          KSPConvergedReasons[reason]);
    PetscCall(MatMult(c.A, u, r));
    PetscCall(VecAYPX(r, -1, f));
    PetscCall(RemoveMeans(dof, r));
    PetscCall(VecNorm(r, NORM_INFINITY, &rnorm));
    Check(rnorm <= 1000 * eps * unorm, "rank %d: %s (%s), precision %d: residual of CG less its mean %g", (int)rank,
          c.what, half, (int)precision, (double)rnorm);
    PetscCall(KSPDestroy(&ksp));
  }
  PetscCall(TestDestroy(&f, &g, &u, &v, &r, &pc));
  PetscCall(CaseDestroy(&c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const char *const pairs[] = {"hh", "hc", "ch", "cc", "pp", "nn", "hn", "nc"};
  const PetscInt np = (PetscInt)PETSC_STATIC_ARRAY_LENGTH(pairs);
  PetscInt number = 0;
  int bad;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt dim = 1; dim <= 3; ++dim) {
    for (PetscInt i = 0; i < np; ++i) {
      for (PetscInt j = 0; j < (dim > 1 ? np : 1); ++j) {
        const PetscInt k = (i + 3 * j) % np; /* each pair along z with each along x and y */
        TestProblem p = {
          .dim = dim, .n = {13, 11, 8}
        };
        PetscInt parts[3] = {0, 0, 0};
        char half[7];

        PetscCall(
          PetscSNPrintf(half, sizeof(half), "%s%s%s", pairs[i], dim > 1 ? pairs[j] : "", dim > 2 ? pairs[k] : ""));
        for (; TestNextCut(&p, (PetscInt)size, parts); ++number)
          if (TestTurn())
            PetscCall(Run(dim, half, number % 5 == 4 ? 2 : 1,
                          (PCBCRPoissonPrecision)(number % 4 < 2 ? 0 : number % 4 - 1), parts));
      }
    }
  }
  bad = TestEndAll(PETSC_COMM_WORLD);
  PetscCall(PetscFinalize());
  return bad;
}
