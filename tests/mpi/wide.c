/*
  ranks: 1 2 3 4
  quick: 1

  Matrices of box and wide stencils that hold the values of a star: explicit zeros change nothing in what is read, operators
  and lines to the last bit (factors of rows and the deviation to rounding), first and again. A number or a NaN outside of the star is found wherever it is, and told with row
  and column. All kinds of runs of the reader: uniform and general axes, rows scaled, fits, planes, periodic axes, components.
*/
#include <petscksp.h>
#include <petscdmda.h>
#include <petscbcr.h>
#include "../../src/operator/read.h"
#include "../../src/operator/linesimpl.h"
#include "../../src/operator/grid.h"
#include "tests/check.h"

static PetscMPIInt rank, size;
static int passed, failed;

typedef enum {
  UNIFORM,
  GENERAL, /* coefficients vary along one axis */
  PLANES,  /* boundary rows hold a diagonal */
  SCALED,  /* rows have a factor of their own */
  VARIABLE,
  PERIODIC,
  KINDS
} Kind;
static const char *const kinds[] = {"uniform", "general", "planes", "scaled", "variable", "periodic"};

typedef struct {
  Kind kind;
  PetscInt dim, dof, N[3];
} Problem;

static int Pick(int n)
{
  return (int)(TestUniform() * n);
}

static void Check(PetscBool good, const Problem *p, PetscInt width, const char what[])
{
  if (good) passed++;
  else failed++;
  if (!good && !rank)
    printf("FAILED %s: %s, %d x %d x %d, %d components, width %d\n", what, kinds[p->kind], (int)p->N[0], (int)p->N[1],
           (int)p->N[2], (int)p->dof, (int)width);
}

static PetscErrorCode Grid(const Problem *p, DMDAStencilType type, PetscInt width, DM *da)
{
  const DMBoundaryType b = p->kind == PERIODIC ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;

  PetscFunctionBegin;
  if (p->dim == 1) PetscCall(DMDACreate1d(PETSC_COMM_WORLD, b, p->N[0], p->dof, width, NULL, da));
  else if (p->dim == 2)
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, b, b, type, p->N[0], p->N[1], PETSC_DECIDE, PETSC_DECIDE, p->dof, width,
                           NULL, NULL, da));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, b, b, b, type, p->N[0], p->N[1], p->N[2], PETSC_DECIDE, PETSC_DECIDE,
                           PETSC_DECIDE, p->dof, width, NULL, NULL, NULL, da));
  PetscCall(DMSetFromOptions(*da)); /* -dm_vec_type cuda -dm_mat_type aijcusparse: scripts/check-gpu */
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The coupling between node ix and the one above along axis d */
static double Coupling(const Problem *p, const PetscInt ix[3], PetscInt d)
{
  if (p->kind == VARIABLE) return 1 + 0.3 * sin((double)(3 * ix[0] + 5 * ix[1] + 7 * ix[2] + d));
  if (p->kind == GENERAL && d == p->dim - 1) return 1 + 0.5 * sin((double)ix[d]);
  return 1 + 0.25 * (double)d;
}

static PetscErrorCode Fill(const Problem *p, DM da, double factor, Mat A)
{
  DMDALocalInfo info;

  PetscFunctionBegin;
  PetscCall(DMDAGetLocalInfo(da, &info));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        for (PetscInt c = 0; c < p->dof; c++) {
          const PetscInt ix[3] = {i, j, k};
          const double row = factor * (p->kind == SCALED ? 1.5 + sin((double)(i + 11 * j + 17 * k)) : 1);
          MatStencil at = {.i = i, .j = j, .k = k, .c = c};
          double diagonal = (0.1 + (double)c) * row;
          PetscBool plane = PETSC_FALSE;

          for (PetscInt d = 0; d < p->dim; d++)
            plane = (PetscBool)(plane || (p->kind == PLANES && (ix[d] == 0 || ix[d] == p->N[d] - 1)));
          for (PetscInt d = 0; d < p->dim && !plane; d++) {
            for (PetscInt s = 0; s < 2; s++) {
              PetscInt below[3] = {i, j, k};
              MatStencil to = at;
              double a;
              PetscScalar v;

              below[d] -= s ? 0 : 1;
              a = row * Coupling(p, below, d);
              diagonal += a;
              v = (PetscScalar)-a;
              *(d == 0 ? &to.i : (d == 1 ? &to.j : &to.k)) += s ? 1 : -1;
              if (p->kind != PERIODIC && (below[d] < 0 || below[d] >= p->N[d] - 1)) continue;
              PetscCall(MatSetValuesStencil(A, 1, &at, 1, &to, &v, INSERT_VALUES));
            }
          }
          {
            const PetscScalar v = (PetscScalar)(plane ? 2 : diagonal);

            PetscCall(MatSetValuesStencil(A, 1, &at, 1, &at, &v, INSERT_VALUES));
          }
        }
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int SameArray(PetscInt n, const PetscReal *a, const PetscReal *b)
{
  if (!a || !b) return !a == !b;
  return !memcmp(a, b, (size_t)n * sizeof(*a));
}

static int Rounding(PetscInt n, const PetscReal *a, const PetscReal *b)
{
  double worst = 0;

  if (!a || !b) return !a == !b;
  for (PetscInt i = 0; i < n; i++) TestLargest(&worst, (double)(PetscAbsReal(a[i] - b[i]) / PetscAbsReal(b[i])));
  return worst <= 8 * (double)PETSC_MACHINE_EPSILON;
}

/* On this rank, nodes: of the box that it has */
static int SameOperator(const BCROperator *a, const BCROperator *b, PetscInt nodes)
{
  int same = !strcmp(a->fit, b->fit) && a->shift == b->shift && a->scale == b->scale && a->left == b->left &&
             a->singular == b->singular && a->empty == b->empty &&
             ((a->deviation == b->deviation && a->devrow == b->devrow && a->devcol == b->devcol) ||
              PetscMax(a->deviation, b->deviation) <= 8 * PETSC_MACHINE_EPSILON) &&
             Rounding(nodes, a->rowscale, b->rowscale);

  for (int d = 0; d < 3 && same; d++) {
    const BCRAxis *x = &a->axis[d], *y = &b->axis[d];

    same = x->n == y->n && x->a == y->a && x->end[0] == y->end[0] && x->end[1] == y->end[1] &&
           SameArray(x->n, x->lower, y->lower) && SameArray(x->n, x->diag, y->diag) &&
           SameArray(x->n, x->upper, y->upper) && SameArray(x->n, x->weight, y->weight);
    for (int s = 0; s < 2 && same; s++)
      same = x->plane[s].present == y->plane[s].present && x->plane[s].coupling == y->plane[s].coupling &&
             x->plane[s].slope == y->plane[s].slope && x->plane[s].inv0 == y->plane[s].inv0 &&
             !x->plane[s].inv == !y->plane[s].inv;
  }
  return same;
}

static char message[2048];

static PetscErrorCode Keep(MPI_Comm comm, int line, const char *func, const char *file, PetscErrorCode n,
                           PetscErrorType type, const char *mess, void *ctx)
{
  (void)comm, (void)line, (void)func, (void)file, (void)ctx;
  if (type == PETSC_ERROR_INITIAL) snprintf(message, sizeof(message), "%s", mess ? mess : "");
  return n;
}

/* Lines of the strongest axis, which are read after a look at all rows, are those of the same axis where it is given: to the
   last bit, or the same error */
static PetscErrorCode Lines(const Problem *p, const BCRGrid *grid, Mat A, PetscInt width, PetscInt *axis)
{
  BCRLines lines[2] = {NULL, NULL};
  PetscReal *of[2][3] = {{NULL}};
  PetscErrorCode ierr[2];
  char told[2][sizeof(message)];
  PetscBool same;

  PetscFunctionBegin;
  for (int given = 0; given < 2; given++) {
    message[0] = 0;
    PetscCall(PetscPushErrorHandler(Keep, NULL));
    ierr[given] = BCRLinesRead(grid, A, given ? *axis : BCR_LINES_ANY_AXIS, &lines[given]);
    PetscCall(PetscPopErrorHandler());
    PetscCall(PetscStrncpy(told[given], message, sizeof(message)));
    if (!given && lines[0]) *axis = lines[0]->axis;
  }
  same = (PetscBool)(ierr[0] == ierr[1] && !strcmp(told[0], told[1]));
  if (same && !ierr[0]) {
    const PetscInt n = lines[0]->nlines * lines[0]->spec.n;

    for (int given = 0; given < 2; given++)
      PetscCall(BCRLinesExpand(lines[given], &of[given][0], &of[given][1], &of[given][2]));
    for (int k = 0; k < 3; k++) same = (PetscBool)(same && SameArray(n, of[0][k], of[1][k]));
    same =
      (PetscBool)(same && lines[0]->spec.periodic == lines[1]->spec.periodic &&
                  PetscAbsReal(lines[0]->dropped - lines[1]->dropped) <= 4 * PETSC_MACHINE_EPSILON * lines[1]->dropped);
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, PETSC_COMM_WORLD));
  Check(same, p, width, "lines of the strongest axis differ from those of the same one that is given");
  for (int given = 0; given < 2; given++) {
    for (int k = 0; k < 3; k++) PetscCall(PetscFree(of[given][k]));
    PetscCall(BCRLinesDestroy(&lines[given]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  PetscInt dof;
  BCROperator *ops[2]; /* read first; after new values in the same pattern */
  PetscInt box;        /* nodes of the box that have row scales */
  PetscReal strength[3], dropped;
  PetscInt axis;
  Vec u; /* the lines' solution */
} Reading;

static PetscErrorCode Read(const Problem *p, DM da, PetscInt width, Mat A, Reading *r)
{
  BCRPattern pattern = {0};
  BCRLines lines = NULL;
  BCRGrid grid;
  PetscBool same;
  DMDALocalInfo info;
  PC pc;
  Vec f;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(r, sizeof(*r)));
  PetscCall(DMDAGetLocalInfo(da, &info));
  r->box = p->kind == PLANES ? 0 : info.xm * info.ym * info.zm;
  PetscCall(BCRGridCreate(da, PETSC_COMM_WORLD, &grid));
  PetscCall(Fill(p, da, 1, A));
  PetscCall(BCROperatorReadUpdate(&grid, A, BCR_FIT_AUTO, &pattern, &r->dof, &r->ops[0], &same));
  PetscCall(Fill(p, da, 3, A));
  PetscCall(BCROperatorReadUpdate(&grid, A, BCR_FIT_AUTO, &pattern, &r->dof, &r->ops[1], &same));
  for (int again = 0; again < 2; again++) PetscCall(BCRLinesRead(&grid, A, BCR_LINES_ANY_AXIS, &lines));
  for (int d = 0; d < 3; d++) r->strength[d] = lines->strength[d];
  r->dropped = lines->dropped;
  r->axis = lines->axis;
  PetscCall(BCRLinesDestroy(&lines));
  PetscCall(Lines(p, &grid, A, width, &r->axis));
  PetscCall(BCRGridDestroy(&grid));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCNEATO));
  PetscCall(PCSetDM(pc, da));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCNeatoSetAxis(pc, PCNEATO_AXIS_X));
  PetscCall(DMCreateGlobalVector(da, &f));
  PetscCall(VecDuplicate(f, &r->u));
  {
    PetscScalar *v;
    PetscInt n, first;

    PetscCall(VecGetOwnershipRange(f, &first, &n));
    PetscCall(VecGetArray(f, &v));
    for (PetscInt i = 0; i < n - first; i++) v[i] = (PetscScalar)cos((double)(first + i));
    PetscCall(VecRestoreArray(f, &v));
  }
  PetscCall(PCApply(pc, f, r->u));
  PetscCall(VecDestroy(&f));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ReadingDestroy(Reading *r)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(BCROperatorDestroy(r->dof, &r->ops[k]));
  PetscCall(VecDestroy(&r->u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One entry outside of the star of a random row, so far away from it along two axes or two steps along one */
static PetscErrorCode Odd(const Problem *p, DM da, PetscInt width, PetscInt axis, Mat A)
{
  BCRGrid grid;
  PetscInt ix[3] = {0, 0, 0}, to[3], dof = 0, numbers[2];
  const PetscBool nan = (PetscBool)Pick(2);
  PetscScalar v = nan ? (PetscScalar)NAN : (PetscScalar)1e-3;
  BCROperator *ops = NULL;
  DMDALocalInfo info;
  char where[2][64];
  PetscErrorCode ierr;
  AO ao;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < p->dim; d++) {
    ix[d] = Pick((int)p->N[d]);
    to[d] = ix[d];
  }
  for (PetscInt d = p->dim; d < 3; d++) to[d] = 0;
  if (p->dim > 1 && (width < 2 || Pick(2))) {
    to[0] += ix[0] > 0 ? -1 : 1;
    to[1] += ix[1] < p->N[1] - 1 ? 1 : -1;
  } else {
    const PetscInt d = Pick((int)p->dim);

    to[d] += ix[d] > 1 ? -2 : 2;
  }
  PetscCall(Fill(p, da, 1, A));
  numbers[0] = ix[0] + p->N[0] * (ix[1] + p->N[1] * ix[2]);
  numbers[1] = to[0] + p->N[0] * (to[1] + p->N[1] * to[2]);
  PetscCall(DMDAGetAO(da, &ao));
  PetscCall(AOApplicationToPetsc(ao, 2, numbers));
  PetscCall(DMDAGetLocalInfo(da, &info));
  if (ix[0] >= info.xs && ix[0] < info.xs + info.xm && ix[1] >= info.ys && ix[1] < info.ys + info.ym &&
      ix[2] >= info.zs && ix[2] < info.zs + info.zm)
    PetscCall(MatSetValue(A, numbers[0], numbers[1], v, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(BCRGridCreate(da, PETSC_COMM_WORLD, &grid));
  PetscCall(Lines(p, &grid, A, width, &axis));
  PetscCall(BCRGridDestroy(&grid));
  message[0] = 0;
  PetscCall(PetscPushErrorHandler(Keep, NULL));
  ierr = BCROperatorRead(da, A, BCR_FIT_AUTO, &dof, &ops);
  PetscCall(PetscPopErrorHandler());
  PetscCall(PetscSNPrintf(where[0], sizeof(where[0]), "row %" PetscInt_FMT " ", numbers[0]));
  PetscCall(PetscSNPrintf(where[1], sizeof(where[1]), "column %" PetscInt_FMT, numbers[1]));
  Check((PetscBool)(ierr == (nan ? PETSC_ERR_FP : PETSC_ERR_SUP) && strstr(message, where[0]) &&
                    strstr(message, where[1]) && strstr(message, nan ? "NaN" : "outside the")),
        p, width, "an entry outside of the star");
  if (!ierr) PetscCall(BCROperatorDestroy(dof, &ops));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(const Problem *p)
{
  Reading star, wide;
  DM da;
  Mat A;

  PetscFunctionBegin;
  PetscCall(Grid(p, DMDA_STENCIL_STAR, 1, &da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(Read(p, da, 1, A, &star));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  for (PetscInt width = 1; width < 3; width++) {
    for (int type = width == 1; type < 2; type++) {
      int same = 1;
      PetscReal norm;

      PetscCall(Grid(p, type ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR, width, &da));
      PetscCall(DMCreateMatrix(da, &A));
      PetscCall(Read(p, da, width, A, &wide));
      for (PetscInt c = 0; c < p->dof; c++)
        for (int k = 0; k < 2; k++) same = same && SameOperator(&star.ops[k][c], &wide.ops[k][c], star.box);
      for (int d = 0; d < 3; d++) same = same && PetscAbsReal(star.strength[d] - wide.strength[d]) <= 1e-5;
      same = same && star.dropped == wide.dropped && star.axis == wide.axis;
      PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &same, 1, MPI_INT, MPI_MIN, PETSC_COMM_WORLD));
      Check((PetscBool)same, p, width, "zeros change what is read");
      PetscCall(VecAXPY(wide.u, -1, star.u));
      PetscCall(TestMaxNorm(wide.u, &norm));
      Check((PetscBool)(norm == 0), p, width, "zeros change the lines");
      PetscCall(ReadingDestroy(&wide));
      if (type && p->dof == 1 && (p->dim > 1 || width > 1) && p->kind != PERIODIC)
        PetscCall(Odd(p, da, width, wide.axis, A));
      PetscCall(MatDestroy(&A));
      PetscCall(DMDestroy(&da));
    }
  }
  PetscCall(ReadingDestroy(&star));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(TestSeed());
  for (int kind = 0; kind < KINDS; kind++) {
    for (PetscInt dim = 1; dim <= 3; dim++) {
      const PetscInt most = dim == 3 ? 4 : 40;
      Problem p = {
        (Kind)kind, dim, 1, {1, 1, 1}
      };

      for (int k = 0; k < 3; k++) {
        for (PetscInt d = 0; d < dim; d++) p.N[d] = (d ? 9 : 25) + Pick((int)most);
        p.dof = k == 2 ? 2 : 1;
        PetscCall(Run(&p));
      }
    }
  }
  PetscCall(PetscFinalize());
  return TestStatus(rank == 0, passed, failed);
}
