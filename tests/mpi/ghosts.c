/*
  ranks: 1 2 3 4
  quick: 1

  Layers of ghost nodes that are kept in the matrix: planes of Neumann, Dirichlet, identity and empty rows at the ends of the
  axes, and where they meet rows of any kind that no other refers to: empty, a diagonal, either side's rule, any couplings
  inward. The reader must find them exact and count the empty rows; solutions, of the transpose too and after new values, are
  compared with those of PETSc's LU, which gets ones on the diagonals of empty rows, and put into the equations. So are
  singular ones, and coefficients that vary, for which the operator is a fit. An empty row that something refers to is an error.
*/
#include <petscksp.h>
#include <petscdmda.h>
#include <petscbcr.h>
#include "../../src/operator/read.h"
#include "tests/check.h"

static PetscMPIInt rank, size;
static int passed, failed;

#if defined(PETSC_USE_REAL_SINGLE)
  #define TOL      1e-3
  #define RESIDUAL 2e-6
#else
  #define TOL      1e-11
  #define RESIDUAL 1e-14
#endif

typedef enum {
  OPEN, /* no plane: a Dirichlet end */
  NEUMANN,
  DIRICHLET,
  IDENTITY,
  EMPTY,
  SIDES
} Side;

typedef enum {
  CORNERS_EMPTY,
  CORNERS_DIAGONAL,
  CORNERS_FIRST, /* the rule of the plane of the first axis */
  CORNERS_LAST,
  CORNERS_ANY, /* couplings inward along all axes */
  CORNERS_MIXED,
  CORNERS
} Corners;
static const char *const names[] = {"empty", "diagonal", "first", "last", "any", "mixed"};

typedef struct {
  PetscInt dim, N[3];
  Side side[3][2];
  double a[3], shift;
  Corners corners;
  double diagonal[27], slope[27][3]; /* of each combination of planes; diagonal 0: empty */
  PetscBool vary;                    /* diagonals vary along planes */
  double contrast;                   /* couplings vary by as much */
} Problem;

static int Pick(int n)
{
  return (int)(TestUniform() * n);
}

/* -1, 0, 1 along each axis; returns how many planes */
static int Place(const Problem *p, const PetscInt ix[3], int at[3], int *place)
{
  int planes = 0;

  *place = 0;
  for (int d = 2; d >= 0; d--) {
    at[d] = p->side[d][0] != OPEN && ix[d] == 0 ? -1 : (p->side[d][1] != OPEN && ix[d] == p->N[d] - 1 ? 1 : 0);
    planes += at[d] != 0;
    *place = 3 * *place + at[d] + 1;
  }
  return planes;
}

static int PlaceOf(const int at[3])
{
  return at[0] + 1 + 3 * (at[1] + 1) + 9 * (at[2] + 1);
}

/* Rows of one combination of planes */
static void Rule(Problem *p, const int at[3], int planes)
{
  const int place = PlaceOf(at);
  const Corners kind = p->corners == CORNERS_MIXED ? (Corners)Pick(CORNERS_MIXED) : p->corners;
  int first = -1, last = -1;

  p->diagonal[place] = (Pick(2) ? 1 : -1) * (0.5 + TestUniform());
  for (int d = 0; d < 3; d++) {
    p->slope[place][d] = 0;
    if (!at[d]) continue;
    last = d;
    if (first < 0) first = d;
  }
  for (int d = 0; d < 3; d++) {
    const Side side = at[d] ? p->side[d][at[d] > 0] : OPEN;
    const double slope = side == NEUMANN ? 1 : (side == DIRICHLET ? -1 : 0);
    int next[3] = {at[0], at[1], at[2]};

    next[d] = 0;
    if (!at[d] || p->diagonal[PlaceOf(next)] == 0) continue; /* nothing refers to an empty row */
    if (planes == 1 || (kind == CORNERS_FIRST && d == first) || (kind == CORNERS_LAST && d == last))
      p->slope[place][d] = slope;
    if (planes > 1 && kind == CORNERS_ANY) p->slope[place][d] = TestUniform() - 0.3;
    if (side == EMPTY && planes == 1) p->diagonal[place] = 0;
  }
  if (planes > 1 && kind == CORNERS_EMPTY) p->diagonal[place] = 0;
}

static void Rules(Problem *p)
{
  for (int planes = 0; planes < 4; planes++) {
    for (int place = 0; place < 27; place++) {
      const int at[3] = {place % 3 - 1, place / 3 % 3 - 1, place / 9 - 1};

      if (abs(at[0]) + abs(at[1]) + abs(at[2]) != planes) continue;
      if (planes) Rule(p, at, planes);
      else p->diagonal[place] = 1;
    }
  }
}

static void ProblemCreate(PetscInt dim, PetscInt least, Corners corners, Problem *p)
{
  const int all = Pick(2 * SIDES); /* one kind on all sides */
  PetscBool definite = PETSC_FALSE;

  PetscCallVoid(PetscMemzero(p, sizeof(*p)));
  p->dim = dim;
  p->corners = corners;
  for (int d = 0; d < 3; d++) {
    p->N[d] = d < dim ? least + Pick(4) : 1;
    p->a[d] = d < dim ? 0.5 + TestUniform() : 0;
    for (int s = 0; s < 2 && d < dim; s++) {
      p->side[d][s] = all > 0 && all < SIDES ? (Side)all : (Side)Pick(SIDES);
      definite =
        (PetscBool)(definite || p->side[d][s] == OPEN || p->side[d][s] == DIRICHLET || p->side[d][s] == IDENTITY);
    }
  }
  p->shift = !definite || Pick(2) ? 0.3 + TestUniform() : 0;
  p->vary = (PetscBool)Pick(2);
  Rules(p);
}

/* The row of node ix: diagonal first. Returns how many entries, 0: it is empty */
static int Row(const Problem *p, const PetscInt ix[3], PetscInt to[7][3], double value[7])
{
  int at[3], place, n = 1;
  const int planes = Place(p, ix, at, &place);

  for (int k = 0; k < 7; k++)
    for (int d = 0; d < 3; d++) to[k][d] = ix[d];
  if (planes) {
    value[0] = p->diagonal[place];
    if (value[0] == 0) return 0;
    if (p->vary) value[0] *= 1 + 0.5 * sin(1.0 + (double)(ix[0] + 3 * ix[1] + 7 * ix[2]));
    for (int d = 0; d < 3; d++) {
      if (p->slope[place][d] == 0) continue;
      to[n][d] -= at[d];
      value[n++] = -p->slope[place][d] * value[0];
    }
    return n;
  }
  value[0] = p->shift;
  for (int d = 0; d < p->dim; d++) {
    for (int s = 0; s < 2; s++) {
      const PetscInt j = ix[d] + (s ? 1 : -1), last = s ? p->N[d] - 1 : 0;

      const double a =
        p->a[d] * (1 + p->contrast * sin((double)(2 * ix[0] + 3 * ix[1] + ix[2] - ix[d] + PetscMin(ix[d], j))));

      if (j == last && p->side[d][s] == EMPTY) continue; /* no flux */
      value[0] += a;
      if (j < 0 || j >= p->N[d]) continue;
      to[n][d] = j;
      value[n++] = -a;
    }
  }
  return n;
}

/* ones: of empty rows, too. Returns how many of these this rank has, and the largest entry */
static PetscErrorCode Fill(const Problem *p, DM da, PetscBool ones, Mat A, PetscInt *empty, double *largest)
{
  DMDALocalInfo info;

  PetscFunctionBegin;
  *empty = 0;
  *largest = 0;
  PetscCall(MatZeroEntries(A));
  PetscCall(DMDAGetLocalInfo(da, &info));
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        const PetscInt ix[3] = {i, j, k};
        MatStencil row = {.i = i, .j = j, .k = k}, columns[7];
        PetscScalar values[7];
        PetscInt to[7][3];
        double value[7];
        int n = Row(p, ix, to, value);

        if (!n) ++*empty;
        if (!n && ones) value[n++] = 1;
        for (int e = 0; e < n; e++) {
          columns[e] = (MatStencil){.i = to[e][0], .j = to[e][1], .k = to[e][2]};
          values[e] = (PetscScalar)value[e];
          *largest = PetscMax(*largest, fabs(value[e]));
        }
        if (n) PetscCall(MatSetValuesStencil(A, 1, &row, n, columns, values, INSERT_VALUES));
      }
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* f = 0 in empty rows */
static PetscErrorCode Known(const Problem *p, DM da, Vec f)
{
  PetscScalar ***v;
  DMDALocalInfo info;

  PetscFunctionBegin;
  PetscCall(DMDAGetLocalInfo(da, &info));
  if (p->dim == 3) PetscCall(DMDAVecGetArray(da, f, &v));
  else {
    PetscCall(PetscMalloc1(1, &v));
    PetscCall(DMDAVecGetArray(da, f, &v[0]));
  }
  for (PetscInt k = info.zs; k < info.zs + info.zm; k++) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; j++) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; i++) {
        const PetscInt ix[3] = {i, j, k};
        PetscInt to[7][3];
        double value[7];

        if (!Row(p, ix, to, value)) v[k][j][i] = 0;
      }
    }
  }
  if (p->dim == 3) PetscCall(DMDAVecRestoreArray(da, f, &v));
  else {
    PetscCall(DMDAVecRestoreArray(da, f, &v[0]));
    PetscCall(PetscFree(v));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Random(Vec f)
{
  PetscScalar *v;
  PetscInt n, first, N;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(f, &n));
  PetscCall(VecGetSize(f, &N));
  PetscCall(VecGetOwnershipRange(f, &first, NULL));
  PetscCall(VecGetArray(f, &v));
  for (PetscInt i = 0; i < N; i++) { /* the same numbers on all ranks */
    const PetscScalar x = (PetscScalar)(2 * TestUniform() - 1);

    if (i >= first && i < first + n) v[i - first] = x;
  }
  PetscCall(VecRestoreArray(f, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ksp: with the library, lu: with A and ones in empty rows. largest: entry of A */
static PetscErrorCode Solve(const Problem *p, DM da, KSP ksp, KSP lu, Mat A, double largest, PetscBool transpose,
                            double *error, double *residual)
{
  Vec f, u, v, r;
  PetscReal norm, most, nf;

  PetscFunctionBegin;
  PetscCall(DMCreateGlobalVector(da, &f));
  PetscCall(VecDuplicate(f, &u));
  PetscCall(VecDuplicate(f, &v));
  PetscCall(VecDuplicate(f, &r));
  PetscCall(Random(f));
  PetscCall(VecCopy(f, r));
  PetscCall(transpose ? KSPSolveTranspose(ksp, r, u) : KSPSolve(ksp, r, u)); /* whatever f is in empty rows */
  PetscCall(Known(p, da, f));
  PetscCall(transpose ? KSPSolveTranspose(lu, f, v) : KSPSolve(lu, f, v));
  PetscCall(transpose ? MatMultTranspose(A, u, r) : MatMult(A, u, r));
  PetscCall(VecAYPX(r, -1, f));
  PetscCall(TestMaxNorm(r, &norm));
  PetscCall(TestMaxNorm(f, &nf));
  PetscCall(TestMaxNorm(u, &most));
  TestLargest(residual, (double)norm / (7 * largest * (double)most + (double)nf));
  PetscCall(VecAXPY(v, -1, u));
  PetscCall(TestMaxNorm(v, &norm));
  TestLargest(error, (double)(norm / most));
  PetscCall(TestDestroy(&f, &u, &v, &r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Grid(const Problem *p, DM *da)
{
  const DMBoundaryType none = DM_BOUNDARY_NONE;
  const DMDAStencilType type = Pick(2) ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR;
  const PetscInt width =
    p->N[0] >= 2 * size && p->N[1] >= 2 * size && (p->dim < 3 || p->N[2] >= 2 * size) ? 1 + Pick(2) : 1;
  const int cut = Pick(4);
  PetscInt parts[3] = {1, 1, 1};

  PetscFunctionBegin;
  if (cut < p->dim) parts[cut] = size;
  else parts[0] = parts[1] = parts[2] = PETSC_DECIDE;
  if (p->dim == 2)
    PetscCall(
      DMDACreate2d(PETSC_COMM_WORLD, none, none, type, p->N[0], p->N[1], parts[0], parts[1], 1, width, NULL, NULL, da));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, none, none, none, type, p->N[0], p->N[1], p->N[2], parts[0], parts[1],
                           parts[2], 1, width, NULL, NULL, NULL, da));
  PetscCall(DMSetFromOptions(*da)); /* -dm_vec_type cuda -dm_mat_type aijcusparse: scripts/check-gpu */
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Empty rows have no entries in a matrix that is bare, else zeros */
static PetscErrorCode MatrixCreate(DM da, PetscBool bare, Mat *A)
{
  ISLocalToGlobalMapping map;
  PetscInt dim, first[3], count[3];
  Vec v;
  PetscInt n;

  PetscFunctionBegin;
  if (!bare) {
    PetscCall(DMCreateMatrix(da, A));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(DMGetGlobalVector(da, &v));
  PetscCall(VecGetLocalSize(v, &n));
  PetscCall(DMRestoreGlobalVector(da, &v));
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, n, n, PETSC_DETERMINE, PETSC_DETERMINE, 7, NULL, 7, NULL, A));
  PetscCall(DMGetLocalToGlobalMapping(da, &map));
  PetscCall(MatSetLocalToGlobalMapping(*A, map, map));
  PetscCall(DMGetDimension(da, &dim));
  PetscCall(DMDAGetGhostCorners(da, &first[0], &first[1], &first[2], &count[0], &count[1], &count[2]));
  PetscCall(MatSetStencil(*A, dim, count, first, 1));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE)); /* other corners */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SolverCreate(DM da, Mat A, PCType type, KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetType(*ksp, KSPPREONLY));
  PetscCall(KSPSetOperators(*ksp, A, A));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, type));
  if (da) PetscCall(PCSetDM(pc, da));
  if (da) PetscCall(PCBCRPoissonSetFit(pc, PCBCRPOISSON_FIT_EXACT));
  PetscCall(PCSetFromOptions(pc)); /* -pc_bcrpoisson_backend cuda */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void Check(PetscBool good, const Problem *p, const char what[], double value)
{
  if (good) passed++;
  else failed++;
  if (good || rank) return;
  printf("FAILED %s %g: %d x %d x %d, sides %d %d %d %d %d %d, corners %s, shift %g\n", what, value, (int)p->N[0],
         (int)p->N[1], (int)p->N[2], p->side[0][0], p->side[0][1], p->side[1][0], p->side[1][1], p->side[2][0],
         p->side[2][1], names[p->corners], p->shift);
}

static PetscErrorCode Run(Problem *p)
{
  double error = 0, residual = 0;
  DM da;
  Mat A, B;
  KSP ksp, lu;

  PetscFunctionBegin;
  PetscCall(Grid(p, &da));
  PetscCall(MatrixCreate(da, (PetscBool)Pick(2), &A));
  PetscCall(MatrixCreate(da, PETSC_TRUE, &B));
  PetscCall(SolverCreate(da, A, PCBCRPOISSON, &ksp));
  PetscCall(SolverCreate(NULL, B, PCREDUNDANT, &lu));
  for (int values = 0; values < 3; values++) {
    BCROperator *ops;
    PetscInt dof, empty, all;
    double largest;

    PetscCall(Fill(p, da, PETSC_TRUE, B, &empty, &largest));
    PetscCall(Fill(p, da, PETSC_FALSE, A, &empty, &largest));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &largest, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
    PetscCallMPI(MPI_Allreduce(&empty, &all, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
    PetscCall(BCROperatorRead(da, A, BCR_FIT_EXACT, &dof, &ops));
    Check((PetscBool)(ops[0].empty == all), p, "empty rows counted", (double)ops[0].empty);
    PetscCall(BCROperatorDestroy(dof, &ops));
    for (int t = 0; t < 2; t++) PetscCall(Solve(p, da, ksp, lu, A, largest, (PetscBool)t, &error, &residual));
    Check((PetscBool)(error <= TOL), p, "differs from LU by", error);
    Check((PetscBool)(residual <= RESIDUAL), p, "residual", residual);
    if (values == 0) { /* then other values, and other corners */
      for (int place = 0; place < 27; place++) p->diagonal[place] *= 1.5;
      p->shift *= 2;
    } else {
      p->corners = (Corners)Pick(CORNERS);
      Rules(p);
    }
  }
  PetscCall(TestDestroy(&ksp, &lu, &A, &B, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Neumann rows all around: rows of the box are off by a constant, others are not */
static PetscErrorCode Singular(Problem *p)
{
  double off[2] = {-PETSC_MAX_REAL, -PETSC_MAX_REAL}, other = 0, largest;
  const PetscScalar *v;
  PetscInt empty, ix[3];
  DMDALocalInfo info;
  Vec f, u, r;
  DM da;
  Mat A;
  KSP ksp;

  PetscFunctionBegin;
  for (int k = 0; k < 2 * p->dim; k++) p->side[k / 2][k % 2] = NEUMANN;
  p->shift = p->contrast = 0;
  Rules(p);
  PetscCall(Grid(p, &da));
  PetscCall(MatrixCreate(da, (PetscBool)Pick(2), &A));
  PetscCall(Fill(p, da, PETSC_FALSE, A, &empty, &largest));
  PetscCall(SolverCreate(da, A, PCBCRPOISSON, &ksp));
  PetscCall(DMCreateGlobalVector(da, &f));
  PetscCall(VecDuplicate(f, &u));
  PetscCall(VecDuplicate(f, &r));
  PetscCall(Random(f));
  PetscCall(KSPSolve(ksp, f, u));
  PetscCall(MatMult(A, u, r));
  PetscCall(VecAYPX(r, -1, f));
  PetscCall(VecGetArrayRead(r, &v));
  PetscCall(DMDAGetLocalInfo(da, &info));
  for (PetscInt k = 0; k < info.xm * info.ym * info.zm; k++) {
    const double x = (double)PetscRealPart(v[k]);
    PetscInt to[7][3];
    double value[7];
    int at[3], place;

    ix[0] = info.xs + k % info.xm;
    ix[1] = info.ys + k / info.xm % info.ym;
    ix[2] = info.zs + k / info.xm / info.ym;
    if (!Place(p, ix, at, &place)) {
      off[0] = PetscMax(off[0], x);
      off[1] = PetscMax(off[1], -x);
    } else if (Row(p, ix, to, value)) TestLargest(&other, fabs(x));
  }
  PetscCall(VecRestoreArrayRead(r, &v));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, off, 2, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &other, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  Check((PetscBool)(off[0] + off[1] <= 100 * TOL), p, "singular, rows of the box differ by", off[0] + off[1]);
  Check((PetscBool)(other <= 100 * TOL), p, "singular, other rows are off by", other);
  PetscCall(TestDestroy(&f, &u, &r, &ksp, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Couplings vary: GMRES with a fit */
static PetscErrorCode Fitted(Problem *p)
{
  double error = 0, residual = 0, largest;
  PetscInt empty;
  DM da;
  Mat A, B;
  KSP ksp, lu;
  PC pc;

  PetscFunctionBegin;
  p->contrast = 0.2;
  PetscCall(Grid(p, &da));
  PetscCall(MatrixCreate(da, (PetscBool)Pick(2), &A));
  PetscCall(MatrixCreate(da, PETSC_TRUE, &B));
  PetscCall(SolverCreate(da, A, PCBCRPOISSON, &ksp));
  PetscCall(SolverCreate(NULL, B, PCREDUNDANT, &lu));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCBCRPoissonSetFit(pc, PCBCRPOISSON_FIT_AUTO));
  PetscCall(KSPSetType(ksp, KSPGMRES));
  PetscCall(KSPSetTolerances(ksp, (PetscReal)(0.01 * TOL), PETSC_DEFAULT, PETSC_DEFAULT, 60));
  PetscCall(Fill(p, da, PETSC_TRUE, B, &empty, &largest));
  PetscCall(Fill(p, da, PETSC_FALSE, A, &empty, &largest));
  PetscCall(Solve(p, da, ksp, lu, A, largest, PETSC_FALSE, &error, &residual));
  Check((PetscBool)(error <= 10 * TOL), p, "fitted, differs from LU by", error);
  PetscCall(TestDestroy(&ksp, &lu, &A, &B, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static char message[2048];

static PetscErrorCode Keep(MPI_Comm comm, int line, const char *func, const char *file, PetscErrorCode n,
                           PetscErrorType type, const char *mess, void *ctx)
{
  (void)comm, (void)line, (void)func, (void)file, (void)ctx;
  if (type == PETSC_ERROR_INITIAL) snprintf(message, sizeof(message), "%s", mess ? mess : "");
  return n;
}

/* An empty row in the middle of the box, or in a plane that the box refers to; fitted: of couplings that vary */
static PetscErrorCode Refused(Problem *p, PetscBool inside, PetscBool fitted)
{
  double largest;
  PetscInt empty, dof = 0;
  BCROperator *ops = NULL;
  MatStencil row = {.i = p->N[0] / 2, .j = inside ? p->N[1] / 2 : 0, .k = p->N[2] / 2};
  PetscErrorCode ierr;
  DMDALocalInfo info;
  DM da;
  Mat A;

  PetscFunctionBegin;
  for (int k = 0; k < 2 * p->dim; k++) p->side[k / 2][k % 2] = IDENTITY;
  p->contrast = fitted ? 0.2 : 0;
  Rules(p);
  if (!inside) row.i--; /* that in the middle is looked at first */
  PetscCall(Grid(p, &da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(Fill(p, da, PETSC_FALSE, A, &empty, &largest));
  PetscCall(DMDAGetLocalInfo(da, &info));
  for (int k = 0; k < 7; k++) {
    const PetscScalar zero = 0;
    MatStencil to = row;

    *(k < 3 ? &to.i : (k < 5 ? &to.j : &to.k)) += k == 0 ? 0 : (k % 2 ? 1 : -1);
    if (k >= 5 && p->dim < 3) continue;
    if (to.j >= 0 && row.i >= info.xs && row.i < info.xs + info.xm && row.j >= info.ys && row.j < info.ys + info.ym &&
        row.k >= info.zs && row.k < info.zs + info.zm)
      PetscCall(MatSetValuesStencil(A, 1, &row, 1, &to, &zero, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  message[0] = 0;
  PetscCall(PetscPushErrorHandler(Keep, NULL));
  ierr = BCROperatorRead(da, A, BCR_FIT_AUTO, &dof, &ops);
  PetscCall(PetscPopErrorHandler());
  Check((PetscBool)(ierr == PETSC_ERR_ARG_WRONG && strstr(message, "is zero or missing in row")), p,
        "empty row accepted, or another error", (double)ierr);
  if (!ierr) PetscCall(BCROperatorDestroy(dof, &ops));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt cases = 3;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cases", &cases, NULL));
  PetscCall(TestSeed());
  for (PetscInt k = 0; k < cases * CORNERS; k++) {
    for (PetscInt dim = 2; dim <= 3; dim++) {
      Problem p;

      ProblemCreate(dim, PetscMax(5, (PetscInt)size * (1 + Pick(2))), (Corners)(k % CORNERS), &p);
      PetscCall(Run(&p));
      PetscCall(Fitted(&p));
      if (k >= CORNERS) continue;
      PetscCall(Singular(&p));
      if (k < 4) PetscCall(Refused(&p, (PetscBool)(k % 2), (PetscBool)(k / 2)));
    }
  }
  PetscCall(PetscFinalize());
  return TestStatus(rank == 0, passed, failed);
}
