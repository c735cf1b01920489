/*
  Obstacles, coasts, materials, wells and pinned rows, as programs write them: a solve with KSPPREONLY is a solution to rounding of
  the matrix (true residual; on one rank, small grids, against LAPACK), in as many solves of the box as CAPABILITIES promises
  whatever the grid, fewer for further right-hand sides. Real and complex, all ends, one and several ranks.
  ranks: 1 2 3 5
*/
#include "../check.h"
#include <petscbcr.h>
#include <petscdmda.h>
#include <petscksp.h>

typedef enum {
  NONE,
  NEUMANN_MASK, /* links to the mask are gone, with what they have on the diagonal */
  KEPT,         /* identity rows in the mask; its columns stay */
  ZEROED,       /* its columns are zeroed, the diagonals stay */
  MATERIAL,     /* faces have harmonic means */
  WELLS,        /* more on some diagonals */
  PINNED        /* one identity row, its column kept */
} What;

typedef enum {
  DISC,
  COAST,
  ROUGH, /* a coast with islands */
  TWELVE,
  RING /* a wall around a pond */
} Shape;

typedef struct {
  PetscInt dim, n;
  What what;
  Shape shape;
  double jump;      /* of materials; the value of identity rows */
  PetscBool closed; /* all walls without flux, else Dirichlet */
  PetscInt most;    /* solves of the box, at most */
} Case;

static int passed, failed;

static void Check(PetscBool good, const Case *c, const char *what, double value, double bound)
{
  if (good) passed++;
  else {
    failed++;
    printf("FAILED %dD %d what %d shape %d jump %g closed %d: %s %g, bound %g\n", (int)c->dim, (int)c->n, (int)c->what,
           (int)c->shape, c->jump, (int)c->closed, what, value, bound);
  }
}

static PetscBool Inside(const Case *c, const PetscInt ix[3])
{
  double x[3], r2 = 0;

  for (int d = 0; d < 3; d++) {
    x[d] = d < c->dim ? (ix[d] + .5) / (double)c->n : .5;
    r2 += (x[d] - (d == 0 ? .45 : .5)) * (x[d] - (d == 0 ? .45 : .5));
  }
  if (c->shape == RING) return r2 < .3 * .3 && r2 > .2 * .2 ? PETSC_TRUE : PETSC_FALSE;
  if (c->shape == DISC) return r2 < .2 * .2 ? PETSC_TRUE : PETSC_FALSE;
  if (c->shape == COAST) return x[1] < .25 + .1 * sin(6.3 * x[0]) ? PETSC_TRUE : PETSC_FALSE;
  if (c->shape == ROUGH) {
    if (x[1] < .3 + .1 * sin(6.3 * x[0]) + .05 * sin(19 * x[0] + 1) + .03 * sin(57 * x[0])) return PETSC_TRUE;
    return sin(25 * x[0] + 2) * sin(23 * x[1] + 1) > .8 && x[1] > .5 ? PETSC_TRUE : PETSC_FALSE;
  }
  for (int k = 0; k < 12; k++) {
    const double cx = .13 + .245 * (k % 4), cy = .2 + .3 * (k / 4);

    if ((x[0] - cx) * (x[0] - cx) + (x[1] - cy) * (x[1] - cy) < .06 * .06) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* The row of a node: columns and values */
static void Row(const Case *c, const PetscInt N[3], const PetscInt ix[3], MatStencil cols[7], PetscScalar v[7],
                PetscInt *m)
{
  const PetscBool mask = c->what >= NEUMANN_MASK && c->what <= ZEROED, in = Inside(c, ix);
  const double a = 1;
  double diag = 0;

  *m = 1;
  memset(cols, 0, 7 * sizeof(MatStencil));
  for (int d = 0; d < c->dim; d++) {
    for (int s = -1; s <= 1; s += 2) {
      PetscInt jx[3] = {ix[0], ix[1], ix[2]};
      double link = a;

      jx[d] += s;
      if (jx[d] < 0 || jx[d] >= N[d]) {
        diag += c->closed ? 0 : a;
        continue;
      }
      if (c->what == MATERIAL) {
        const double k = in ? c->jump : 1, l = Inside(c, jx) ? c->jump : 1;

        link = 2 * k * l / (k + l) * a;
      }
      if (mask && Inside(c, jx) && c->what == NEUMANN_MASK) continue;
      diag += link;
      if (mask && Inside(c, jx) && c->what == ZEROED) continue;
      cols[*m].i = jx[0];
      cols[*m].j = jx[1];
      cols[*m].k = jx[2];
      v[(*m)++] = -link;
    }
  }
  cols[0].i = ix[0];
  cols[0].j = ix[1];
  cols[0].k = ix[2];
  if (c->what == WELLS)
    for (int k = 0; k < 5; k++)
      if (ix[0] == (k + 1) * N[0] / 7 && ix[1] == (3 * k + 2) % 7 * N[1] / 7 && ix[2] == N[2] / 2)
        diag += 10. * (k + 1);
  v[0] = diag;
  if (c->what == PINNED && ix[0] == N[0] / 3 && ix[1] == N[1] / 2 && ix[2] == N[2] / 2) {
    *m = 1;
    v[0] = c->jump;
  }
  if (mask && in) {
    *m = 1;
    v[0] = c->jump;
  }
}

static PetscErrorCode Assemble(const Case *c, DM da, Mat A)
{
  PetscInt lo[3], n[3], N[3], ix[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetInfo(da, NULL, &N[0], &N[1], &N[2], NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], &lo[2], &n[0], &n[1], &n[2]));
  for (ix[2] = lo[2]; ix[2] < lo[2] + n[2]; ix[2]++)
    for (ix[1] = lo[1]; ix[1] < lo[1] + n[1]; ix[1]++)
      for (ix[0] = lo[0]; ix[0] < lo[0] + n[0]; ix[0]++) {
        MatStencil cols[7];
        PetscScalar v[7];
        PetscInt m;

        Row(c, N, ix, cols, v, &m);
        PetscCall(MatSetValuesStencil(A, 1, cols, m, cols, v, INSERT_VALUES));
      }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A is singular: a closed box in which nothing holds the solution */
static PetscBool Singular(const Case *c)
{
  return (c->closed || c->shape == RING) && (c->what == NEUMANN_MASK || c->what == MATERIAL) ? PETSC_TRUE : PETSC_FALSE;
}

static PetscErrorCode RandomVec(Vec v)
{
  PetscScalar *a;
  PetscInt first, last;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(v, &first, &last));
  PetscCall(VecGetArray(v, &a));
  for (PetscInt i = first; i < last; i++) {
    a[i - first] = 2 * TestUniform() - 1;
    if (PetscDefined(USE_COMPLEX)) a[i - first] += PETSC_i * (2 * TestUniform() - 1);
  }
  PetscCall(VecRestoreArray(v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(const Case *c, PetscBool print)
{
  const PetscInt n = c->n, first = 4;
  PetscInt rows, solves, counts[4];
  PetscReal norm, size, x_, b_, worst = 0;
  const double bound = sizeof(PetscReal) == 4 ? 1e-5 : 1e-13;
  KSPConvergedReason reason;
  Vec x, b, r;
  KSP ksp;
  PC pc;
  DM da;
  Mat A;

  PetscFunctionBegin;
  if (c->dim == 2)
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, PETSC_DECIDE,
                           PETSC_DECIDE, 1, 1, NULL, NULL, &da));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n,
                           n, n, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(Assemble(c, da, A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCBCRPOISSON));
  PetscCall(KSPSetDM(ksp, da));
  PetscCall(KSPSetDMActive(ksp, PETSC_FALSE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(MatNorm(A, NORM_INFINITY, &size));
  for (PetscInt k = 0; k < first; k++) {
    PetscCall(RandomVec(Singular(c) ? x : b));
    if (Singular(c)) PetscCall(MatMult(A, x, b));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(PCBCRPoissonGetCapacitanceSolves(pc, &rows, &solves));
    counts[k] = solves;
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1, b));
    PetscCall(TestMaxNorm(r, &norm));
    PetscCall(TestMaxNorm(x, &x_));
    PetscCall(TestMaxNorm(b, &b_));
    norm /= size * x_ + b_;
    Check((PetscBool)(reason > 0), c, "converged reason", reason, 1);
    Check((PetscBool)(norm <= bound), c, "backward error", (double)norm, bound);
    worst = PetscMax(worst, norm);
  }
  Check((PetscBool)(rows > 0 && solves > 0), c, "no rows differ", (double)rows, 1);
  Check((PetscBool)(counts[0] <= c->most), c, "solves", (double)counts[0], (double)c->most);
  Check((PetscBool)(counts[first - 1] <= counts[0] + counts[0] / 4), c, "solves of a further right-hand side",
        (double)counts[first - 1], (double)counts[0]);
  if (print)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "%dD %4d what %d shape %d jump %-6g closed %d: rows %5d solves %3d %3d %3d %3d error %.1e\n",
                          (int)c->dim, (int)n, (int)c->what, (int)c->shape, c->jump, (int)c->closed, (int)rows,
                          (int)counts[0], (int)counts[1], (int)counts[2], (int)counts[3], (double)worst));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&r));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  Case cases[] = {
    {2, 63, NEUMANN_MASK, DISC,   1,    PETSC_TRUE,  22},
    {2, 63, NEUMANN_MASK, DISC,   1,    PETSC_FALSE, 22},
    {2, 63, NEUMANN_MASK, COAST,  1,    PETSC_TRUE,  24},
    {2, 63, NEUMANN_MASK, ROUGH,  1,    PETSC_TRUE,  42},
    {2, 63, NEUMANN_MASK, TWELVE, 1,    PETSC_TRUE,  42},
    {2, 63, KEPT,         DISC,   1,    PETSC_FALSE, 22},
    {2, 63, KEPT,         DISC,   1,    PETSC_TRUE,  24},
    {2, 63, ZEROED,       DISC,   1e14, PETSC_FALSE, 22},
    {2, 63, ZEROED,       COAST,  1,    PETSC_FALSE, 24},
    {2, 63, KEPT,         ROUGH,  1,    PETSC_FALSE, 42},
    {2, 63, KEPT,         TWELVE, 1,    PETSC_FALSE, 42},
    {2, 63, MATERIAL,     DISC,   10,   PETSC_FALSE, 40},
    {2, 63, MATERIAL,     DISC,   1e3,  PETSC_FALSE, 42},
    {2, 63, MATERIAL,     DISC,   1e6,  PETSC_FALSE, 42},
    {2, 63, MATERIAL,     DISC,   1e-6, PETSC_FALSE, 42},
    {2, 63, MATERIAL,     DISC,   1e3,  PETSC_TRUE,  44},
    {2, 63, WELLS,        DISC,   1,    PETSC_FALSE, 8 },
    {2, 63, WELLS,        DISC,   1,    PETSC_TRUE,  8 },
    {2, 63, PINNED,       DISC,   1,    PETSC_TRUE,  4 },
    {2, 63, NEUMANN_MASK, RING,   1,    PETSC_TRUE,  42},
    {2, 63, NEUMANN_MASK, RING,   1,    PETSC_FALSE, 42},
    {2, 63, KEPT,         RING,   1,    PETSC_FALSE, 42},
    {3, 31, NEUMANN_MASK, DISC,   1,    PETSC_TRUE,  32},
    {3, 31, KEPT,         DISC,   1,    PETSC_FALSE, 34},
    {3, 31, MATERIAL,     DISC,   1e3,  PETSC_FALSE, 42}
  };
  PetscInt n = 0;
  PetscBool print = PETSC_FALSE;
  PetscInt only = -1;
  PetscMPIInt rank;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(TestSeed());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-only", &only, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-print", &print, NULL));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) {
    if (only >= 0 && only != (PetscInt)i) continue;
    if (n) cases[i].n = cases[i].dim == 2 ? n : n / 4;
    PetscCall(Run(&cases[i], print));
  }
  PetscCall(PetscFinalize());
  return TestStatus(rank == 0, passed, failed);
}
