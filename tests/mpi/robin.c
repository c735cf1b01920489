/*
  ranks: 1 2 3 5

  PCBCRPOISSON with end rows of any values on several axes: Robin ends of cells and by ghost nodes, penalties, one-sided
  and extrapolated ends, a first cell of another size, with uniform rows between them, or random ones on the last axis. In
  two and three dimensions, transposed, with new values, a shift up and one down among them; against PETSc's LU and the
  matrix. On one rank rows are transformed as if their ends were mirrors where PCView() says so, all of them or those
  that groups of block rows leave; block rows between ends of any kind are eliminated in groups, too. A Robin end on one
  axis alone: the lines, or the block rows, are along it.
  -cases: so many (24, on several ranks 12).
*/
#include "tests/petsc/testing.h"

#define MOST 96

typedef struct {
  PetscInt n;
  double low[MOST], diag[MOST], up[MOST];
} Axis;

typedef struct {
  PetscInt dim;
  Axis axis[3];
  double shift;
} Problem;

static PetscMPIInt size;
static PetscInt apart[2]; /* problems whose rows have ends apart; those with groups of block rows among them */
static double worst = 0;

/* A first or last row: diagonal and coupling in those of the axis, any of what is listed above */
static void end_row(double a, double *diag, double *inward)
{
  const double beta = pow(10, 4 * drand48() - 3);

  *inward = 1;
  switch (lrand48() % 9) {
  case 0: /* cells, the flux in proportion to the value */
  case 1:
    *diag = 1 + beta;
    break;
  case 2: /* a ghost node */
    *diag = 2 + 2 * beta;
    *inward = 2;
    break;
  case 3:
    *diag = *inward = 2. / 3;
    break;
  case 4:
    *diag = 4;
    *inward = 4. / 3;
    break;
  case 5:
    *diag = 3.3;
    *inward = 1.2;
    break;
  case 6:
    *diag = 1 + pow(10, 2 + 4 * drand48()); /* a penalty */
    break;
  case 7: /* Dirichlet, a mirror */
    *diag = 2;
    break;
  default: /* no flux */
    *diag = 1;
  }
  *diag *= a;
  *inward *= a;
}

static void axis_make(Axis *x, PetscInt n, PetscBool random)
{
  const double a = 0.2 + drand48();

  x->n = n;
  for (PetscInt i = 0; i < n; i++) {
    x->low[i] = x->up[i] = a * (random ? 0.5 + drand48() : 1);
    x->diag[i] = x->low[i] + x->up[i];
  }
  end_row(a, &x->diag[0], &x->up[0]);
  end_row(a, &x->diag[n - 1], &x->low[n - 1]);
  x->low[0] = x->up[n - 1] = 0;
}

static PetscErrorCode fill(const Problem *p, DM da, Mat A)
{
  PetscInt lo[3], n[3], i[3];

  PetscFunctionBegin;
  PetscCall(MatZeroEntries(A));
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], &lo[2], &n[0], &n[1], &n[2]));
  for (i[2] = lo[2]; i[2] < lo[2] + n[2]; i[2]++)
    for (i[1] = lo[1]; i[1] < lo[1] + n[1]; i[1]++)
      for (i[0] = lo[0]; i[0] < lo[0] + n[0]; i[0]++) {
        const MatStencil row = {.i = i[0], .j = i[1], .k = i[2]};
        double diag = p->shift;

        for (PetscInt d = 0; d < p->dim; d++) {
          const Axis *x = &p->axis[d];

          diag += x->diag[i[d]];
          for (int s = -1; s <= 1; s += 2) {
            MatStencil col = row;
            const PetscScalar v = (PetscReal) - (s < 0 ? x->low[i[d]] : x->up[i[d]]);

            *(d == 0 ? &col.i : d == 1 ? &col.j : &col.k) += s;
            if (i[d] + s >= 0 && i[d] + s < x->n)
              PetscCall(MatSetValuesStencil(A, 1, &row, 1, &col, &v, INSERT_VALUES));
          }
        }
        {
          const PetscScalar v = (PetscReal)diag;

          PetscCall(MatSetValuesStencil(A, 1, &row, 1, &row, &v, INSERT_VALUES));
        }
      }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solve(PC pc, Mat A, PetscBool transpose, PetscInt number, const char *what)
{
  PetscReal backward = 0, difference = 0;
  Vec b, x;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(TestUniformVec(b));
  PetscCall(transpose ? PCApplyTranspose(pc, b, x) : PCApply(pc, b, x));
  PetscCall(TestBackwardError(A, transpose, b, x, &backward));
  Check(backward <= TestBackwardBound(), "problem %d, %s: backward error %g", (int)number, what, (double)backward);
  PetscCall(TestAgainstReference(A, transpose, b, x, &difference));
  Check(difference <= TestDifferenceBound(), "problem %d, %s: differs from LU by %g", (int)number, what,
        (double)difference);
  worst = PetscMax(worst, (double)backward);
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode one(PetscInt number)
{
  const PetscInt sizes[] = {24, 31, 32, 33, 47, 64, 65, 96};
  static Problem p; /* of some size */
  PetscMPIInt rank;
  char *text;
  DM da;
  Mat A;
  PC pc;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  p.dim = number % 4 == 3 ? 3 : 2;
  p.shift = number % 3 ? 0.02 * drand48() : 0;
  for (PetscInt d = 0; d < p.dim; d++)
    axis_make(&p.axis[d],
              p.dim == 3    ? 21 + 2 * d - 14 * (d == 2)
              : number == 1 ? 96 - 64 * d
                            : sizes[lrand48() % 8],
              d == p.dim - 1 && number % 5 == 4 ? PETSC_TRUE : PETSC_FALSE);
  p.axis[0].diag[0] += 0.1; /* neither singular nor a mirror */
  if (number == 1) {        /* cut along x: the last rank has mirrors at both ends, all ranks general rows along y */
    p.axis[0].low[95] = p.axis[0].low[94];
    p.axis[0].diag[95] = 2 * p.axis[0].low[94];
    p.axis[1].diag[0] += 0.1;
  }
  if (p.dim == 2)
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, p.axis[0].n,
                           p.axis[1].n, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &da));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR,
                           p.axis[0].n, p.axis[1].n, p.axis[2].n, PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL,
                           NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(fill(&p, da, A));
  PetscCall(TestPC(PCBCRPOISSON, da, A, &pc));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(solve(pc, A, PETSC_FALSE, number, "plain"));
  PetscCall(solve(pc, A, PETSC_TRUE, number, "transposed"));
  PetscCall(TestViewText((PetscObject)pc, &text));
  Check(rank || strstr(text, "exact") != NULL, "problem %d: PCView() says\n%s", (int)number, text);
  if (!rank && strstr(text, "ends apart") != NULL) {
    apart[0]++;
    if (strstr(text, "block rows") != NULL) apart[1]++;
  }
  free(text);
  p.shift += 0.3;
  PetscCall(fill(&p, da, A));
  PetscCall(solve(pc, A, PETSC_FALSE, number, "a larger shift"));
  p.shift -= 0.3 + 1e-3;
  PetscCall(fill(&p, da, A));
  if (number % 3 && p.shift >= 0) PetscCall(solve(pc, A, PETSC_FALSE, number, "a smaller shift"));
  PetscCall(TestDestroy(&pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Uniform axes between mirrors but for one row at an end of axis d */
static PetscErrorCode lone(PetscInt dim, PetscInt d, PetscInt high)
{
  static Problem p;
  PetscMPIInt rank;
  char *text, along[32];
  DM da;
  Mat A;
  PC pc;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  p.dim = dim;
  p.shift = 0;
  for (PetscInt e = 0; e < dim; e++) {
    Axis *x = &p.axis[e];

    x->n = (dim == 3 ? 17 : 41) + 2 * e;
    for (PetscInt i = 0; i < x->n; i++) {
      x->low[i] = i ? 1 : 0;
      x->up[i] = i < x->n - 1 ? 1 : 0;
      x->diag[i] = 2;
    }
    if (e != d) continue;
    x->diag[high ? x->n - 1 : 0] = 1 + 2 * drand48();
  }
  PetscCall(dim == 2 ? DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR,
                                    p.axis[0].n, p.axis[1].n, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &da)
                     : DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE,
                                    DMDA_STENCIL_STAR, p.axis[0].n, p.axis[1].n, p.axis[2].n, PETSC_DECIDE,
                                    PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(fill(&p, da, A));
  PetscCall(TestPC(PCBCRPOISSON, da, A, &pc));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(solve(pc, A, PETSC_FALSE, 100 * dim + 10 * d + high, "one end alone"));
  PetscCall(TestViewText((PetscObject)pc, &text));
  PetscCall(PetscSNPrintf(along, sizeof(along), d ? "block rows along %c" : "lines along %c", "xyz"[d]));
  Check(rank || size > 1 || (strstr(text, along) != NULL && !strstr(text, "eigenvectors") && !strstr(text, "apart")),
        "one end of axis %d, dimension %d: PCView() says\n%s", (int)d, (int)dim, text);
  free(text);
  PetscCall(TestDestroy(&pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt cases;
  PetscMPIInt rank;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(TestSeed());
  srand48((long)TestState);
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  cases = size > 1 ? 12 : 24;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cases", &cases, NULL));
  for (PetscInt k = 0; k < cases; k++) PetscCall(one(k));
  for (PetscInt dim = 2; dim < 4; dim++)
    for (PetscInt d = 0; d < dim; d++)
      for (PetscInt high = 0; high < 2; high++) PetscCall(lone(dim, d, high));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "%d of %d problems with ends apart, %d of them with block rows; largest backward error %g\n",
                        (int)apart[0], (int)cases, (int)apart[1], worst));
  Check(rank || size > 1 || sizeof(PetscReal) < sizeof(double) || (2 * apart[0] > cases && 3 * apart[1] > cases),
        "ends apart in %d of %d problems, %d of them with block rows", (int)apart[0], (int)cases, (int)apart[1]);
  PetscCall(PetscFinalize());
  return TestEnd();
}
