/*
  ranks: 1 2 3 5
  quick: 1

  The user's operator without a matrix: axes given by arrays (PCBCRPoissonSetOperatorAxis()), Robin values of uniform ends, mixed
  with all other ends, one component or two, in one to three dimensions: PC, and KSP with a shell whose product is all
  that there is. Against the matrix that the same operator has, row by row, and its LU. What contradicts the DMDA is an
  error.
*/
#include "tests/petsc/testing.h"
#include <unistd.h>

#define MOST 24

/* Rows of an axis as the user says them, and as the matrix has them: from the conditions at its ends */
typedef struct {
  PetscInt n;
  PetscBool arrays;
  PetscReal h;      /* uniform axis */
  const char *ends; /* d Dirichlet, D on cell faces, n Neumann, c on cell faces, p periodic, r Robin, R on cell faces */
  PetscReal robin[2];
  PetscReal low[MOST], diag[MOST], up[MOST];
} Axis;

typedef struct {
  PetscInt dim, dof;
  Axis axis[3];
  PetscReal shift, scale;
  PetscInt along, of; /* times along an axis of another one; along -1: none */
  PetscReal times[MOST];
  PetscReal mixed[4], tau; /* products of axes, xy, xz, yz, xyz; imaginary shift */
} Problem;

static double worst = 0;
static PetscInt solved = 0, singular = 0, timed = 0, mixed = 0, complex_ = 0, byfile = 0;

/* Cells of random widths, up to `contrast` times as wide as others, between ends as those of the uniform axes */
static void RandomArrays(Axis *x, double contrast)
{
  double h[MOST];

  for (PetscInt i = 0; i < x->n; i++) h[i] = exp(log(contrast) * TestUniform()) / (double)x->n;
  for (PetscInt i = 0; i < x->n; i++) {
    const PetscBool ring = (PetscBool)(x->ends[0] == 'p');
    const double low = i || ring ? 2 / (h[i] * (h[i] + h[(i + x->n - 1) % x->n])) : 0,
                 up = i < x->n - 1 || ring ? 2 / (h[i] * (h[i] + h[(i + 1) % x->n])) : 0;
    double diag = low + up;

    for (int s = 0; s < 2; s++) {
      if (i != (s ? x->n - 1 : 0)) continue;
      if (x->ends[s] == 'D') diag += 2 / (h[i] * h[i]);
      if (x->ends[s] == 'R') diag += (double)x->robin[s] / (h[i] * (1 + (double)x->robin[s] * h[i] / 2));
    }
    x->low[i] = (PetscReal)-low;
    x->up[i] = (PetscReal)-up;
    x->diag[i] = (PetscReal)diag;
  }
}

/* Rows of a uniform axis: the ghost node beyond an end is given by the condition there */
static void UniformRows(Axis *x)
{
  const double h = (double)x->h;

  for (PetscInt i = 0; i < x->n; i++) {
    double low = -1, up = -1, diag = 2;

    for (int s = 0; s < 2; s++) {
      const double b = (double)x->robin[s];
      double *out = s ? &up : &low, *in = s ? &low : &up;

      if (i != (s ? x->n - 1 : 0) || x->ends[0] == 'p') continue;
      switch (x->ends[s]) {
      case 'n':
      case 'r': /* u_out = u_in - 2 b h u */
        *in += *out;
        diag -= *out * 2 * b * h;
        break;
      case 'c':
      case 'R': /* (u_out - u)/h + b (u_out + u)/2 = 0 */
        diag += *out * (1 - b * h / 2) / (1 + b * h / 2);
        break;
      case 'D':
        diag -= *out;
        break;
      default:
        break;
      }
      *out = 0;
    }
    x->low[i] = (PetscReal)(low / (h * h));
    x->diag[i] = (PetscReal)(diag / (h * h));
    x->up[i] = (PetscReal)(up / (h * h));
  }
}

/* Uniform axes and products of them, which leave the operator definite */
static void RandomMixed(Problem *p, PetscMPIInt size)
{
  static const char *const ends[] = {"dd", "nn", "cc", "DD", "pp", "cD", "nc", "dn"};
  double all = 1;

  for (PetscInt d = 0; d < p->dim; d++) {
    Axis *x = &p->axis[d];

    x->arrays = PETSC_FALSE;
    x->robin[0] = x->robin[1] = 0;
    x->ends = ends[(PetscInt)(8 * TestUniform())];
    if (d == 0 || strpbrk(x->ends, "pn")) x->n = PetscMax(x->n, 3);
    x->n = PetscMax(x->n, size);
    UniformRows(x);
    all *= (double)x->h;
  }
  for (PetscInt k = 0; k < (p->dim == 2 ? 1 : 3); k++) {
    const PetscInt d = k == 2 ? 1 : 0, e = k == 0 ? 1 : 2;

    p->mixed[k] = (PetscReal)((0.25 * TestUniform() - 1.0 / 12) * (double)(p->axis[d].h * p->axis[e].h));
  }
  if (p->dim == 3) p->mixed[3] = (PetscReal)(0.02 * (2 * TestUniform() - 1) * pow(all, 4.0 / 3));
}

static void Random(Problem *p, PetscInt dim, PetscInt trial, PetscMPIInt size)
{
  static const PetscInt sizes[] = {5, 8, 13, 3, 17, 6, 2, 1};
  static const char *const ends[] = {"dd", "nr", "cc", "RD", "rr", "pp", "Rc", "dn"};
  static const char *const arrays[] = {"DD", "cc", "RD", "cR", "pp"};

  memset(p, 0, sizeof(*p));
  p->dim = dim;
  p->along = -1;
  p->dof = trial % 5 == 3 ? 2 : 1;
  p->scale = (PetscReal)(trial % 3 ? 1 : -0.25);
  p->shift = (PetscReal)(trial % 4 == 1 ? 0.7 : 0);
  for (PetscInt d = 0; d < dim; d++) {
    Axis *x = &p->axis[d];

    x->n = sizes[(PetscInt)(8 * TestUniform())];
    x->n = PetscMax(x->n, size);
    x->arrays = (PetscBool)(TestUniform() < 0.5);
    if (d == 0 || !x->arrays)
      x->n = PetscMax(x->n, 2); /* of one node ends say nothing, and all of one are no operator */
    x->h = (PetscReal)(0.1 + TestUniform());
    x->ends = x->arrays ? arrays[(PetscInt)(5 * TestUniform())] : ends[(PetscInt)(8 * TestUniform())];
    if (trial % 7 == 2)
      x->ends = x->arrays && TestUniform() < 0.5 ? "cc"
                : x->arrays                      ? "pp"
                : TestUniform() < 0.5            ? "nc"
                                                 : "pp"; /* singular without a shift */
    for (int s = 0; s < 2; s++)
      if (strchr("rR", x->ends[s])) x->robin[s] = (PetscReal)(3 * TestUniform());
    if (x->arrays) RandomArrays(x, 30);
    else UniformRows(x);
  }
  if (dim > 1 && trial % 6 == 5) RandomMixed(p, size);
  if (PetscDefined(USE_COMPLEX) && trial % 6 == 1) {
    p->tau = (PetscReal)(TestUniform() - 0.5);
    for (PetscInt d = 0; d < dim; d++)
      if (p->axis[d].arrays && p->axis[d].ends[0] == 'p') {
        p->axis[d].ends = "cc";
        RandomArrays(&p->axis[d], 30);
      }
  }
  if (dim == 1 || trial % 2) return;
  p->along = trial / 2 % dim;
  p->of = (p->along + 1 + trial / 6 % (dim - 1)) % dim;
  for (PetscInt i = 0; i < p->axis[p->along].n; i++) p->times[i] = (PetscReal)exp(3 * TestUniform());
  if (p->axis[p->along].n == 1 || p->axis[p->of].n == 1) p->along = -1;
}

static PetscErrorCode Grid(const Problem *p, DM *da)
{
  DMBoundaryType b[3];
  PetscInt n[3];

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) {
    n[d] = d < p->dim ? p->axis[d].n : 1;
    b[d] = d < p->dim && p->axis[d].ends[0] == 'p' ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;
  }
  if (p->dim == 1) PetscCall(DMDACreate1d(PETSC_COMM_WORLD, b[0], n[0], p->dof, 1, NULL, da));
  else if (p->dim == 2)
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, b[0], b[1], p->mixed[0] != 0 ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR, n[0],
                           n[1], PETSC_DECIDE, PETSC_DECIDE, p->dof, 1, NULL, NULL, da));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, b[0], b[1], b[2], p->mixed[0] != 0 ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR,
                           n[0], n[1], n[2], PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, p->dof, 1, NULL, NULL, NULL,
                           da));
  PetscCall(DMSetFromOptions(*da));
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The row's part of a product of the axes in the set */
static PetscErrorCode MatrixProduct(const Problem *p, Mat A, const MatStencil *row, int set, PetscReal factor)
{
  const PetscInt at[3] = {row->i, row->j, row->k};

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 27; k++) {
    const PetscInt off[3] = {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
    MatStencil col = *row;
    PetscScalar v = (PetscScalar)(p->scale * factor);

    for (PetscInt d = 0; d < 3; d++) {
      const Axis *x = &p->axis[d];

      if (set >> d & 1) v *= (PetscScalar)(off[d] < 0 ? x->low[at[d]] : off[d] > 0 ? x->up[at[d]] : x->diag[at[d]]);
      else if (off[d]) v = 0;
      *(d == 0 ? &col.i : d == 1 ? &col.j : &col.k) += off[d];
    }
    if (v != (PetscScalar)0) PetscCall(MatSetValuesStencil(A, 1, row, 1, &col, &v, ADD_VALUES));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Matrix(const Problem *p, DM da, Mat *A)
{
  static const int sets[] = {3, 5, 6, 7};

  PetscInt lo[3], n[3], at[3];

  PetscFunctionBegin;
  PetscCall(DMCreateMatrix(da, A));
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], &lo[2], &n[0], &n[1], &n[2]));
  for (at[2] = lo[2]; at[2] < lo[2] + n[2]; at[2]++)
    for (at[1] = lo[1]; at[1] < lo[1] + n[1]; at[1]++)
      for (at[0] = lo[0]; at[0] < lo[0] + n[0]; at[0]++)
        for (PetscInt c = 0; c < p->dof; c++) {
          const MatStencil row = {.i = at[0], .j = at[1], .k = at[2], .c = c};
          PetscScalar v = (PetscScalar)(p->scale * p->shift);

          if (PetscDefined(USE_COMPLEX)) v += PETSC_i * p->scale * p->tau;
          for (int k = 0; k < 4; k++)
            if (p->mixed[k] != 0) PetscCall(MatrixProduct(p, *A, &row, sets[k], p->mixed[k]));
          for (PetscInt d = 0; d < p->dim; d++) {
            const Axis *x = &p->axis[d];
            const PetscReal scale = p->scale * (p->along >= 0 && d == p->of ? p->times[at[p->along]] : 1);

            v += (PetscScalar)(scale * x->diag[at[d]]);
            for (int s = 0; s < 2; s++) {
              const PetscScalar off = (PetscScalar)(scale * (s ? x->up[at[d]] : x->low[at[d]]));
              MatStencil col = row;

              *(d == 0 ? &col.i : d == 1 ? &col.j : &col.k) += s ? 1 : -1;
              if (off != (PetscScalar)0) PetscCall(MatSetValuesStencil(*A, 1, &row, 1, &col, &off, ADD_VALUES));
            }
          }
          PetscCall(MatSetValuesStencil(*A, 1, &row, 1, &row, &v, ADD_VALUES));
        }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A file of rank 0 with that text, which all ranks get the name of, as an option */
static PetscErrorCode AxesFile(MPI_Comm comm, const char prefix[], const char text[], char option[PETSC_MAX_PATH_LEN])
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (rank == 0) {
    char folder[PETSC_MAX_PATH_LEN / 2];
    FILE *out;

    PetscCall(PetscGetTmp(PETSC_COMM_SELF, folder, sizeof(folder)));
    PetscCall(PetscSNPrintf(option, PETSC_MAX_PATH_LEN, "-%spc_bcrpoisson_axes_file %s/bcr_axes_%d", prefix, folder,
                            (int)getpid()));
    out = fopen(strchr(option, ' ') + 1, "w");
    PetscCheck(out, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "%s", option);
    (void)fputs(text, out);
    (void)fclose(out);
  }
  PetscCallMPI(MPI_Bcast(option, PETSC_MAX_PATH_LEN, MPI_CHAR, 0, comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AxesFileRemove(MPI_Comm comm, const char option[])
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Barrier(comm));
  if (rank == 0) (void)remove(strchr(option, ' ') + 1);
  PetscCallMPI(MPI_Barrier(comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Arrays by a file that an option names, in place of calls */
static PetscErrorCode SayByFile(const Problem *p, PC pc)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)pc);
  char option[PETSC_MAX_PATH_LEN], *text;
  size_t length;
  FILE *out = open_memstream(&text, &length);

  PetscFunctionBegin;
  PetscCheck(out, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "open_memstream()");
  (void)fprintf(out, "# arrays of the test mpi/user\n\n");
  for (PetscInt d = 0; d < p->dim; d++) {
    const Axis *x = &p->axis[d];

    if (x->arrays) (void)fprintf(out, "axis %c # rows\n", (char)('x' + d));
    for (PetscInt i = 0; i < x->n && x->arrays; i++)
      (void)fprintf(out, "  %.17g %.17g\t%.17g\n", (double)x->low[i], (double)x->diag[i], (double)x->up[i]);
  }
  if (p->along >= 0) (void)fprintf(out, "times %c %c\n", (char)('x' + p->along), (char)('x' + p->of));
  for (PetscInt i = 0; p->along >= 0 && i < p->axis[p->along].n; i++)
    (void)fprintf(out, "%.17g\n", (double)p->times[i]);
  (void)fclose(out);
  PetscCall(AxesFile(comm, "", text, option));
  free(text);
  PetscCall(TestOptions(option, PETSC_TRUE));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(TestOptions(option, PETSC_FALSE));
  PetscCall(AxesFileRemove(comm, option));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a user calls: spacing and ends of uniform axes, arrays of others, Robin values */
static PetscErrorCode Say(const Problem *p, PC pc)
{
  PCBCRPoissonEnd end[6] = {PCBCRPOISSON_DIRICHLET};
  PetscReal h[3] = {1, 1, 1}, robin[6] = {0};
  const PetscBool file = TestUniform() < 0.5 ? PETSC_TRUE : PETSC_FALSE;
  PetscBool any = PETSC_FALSE, arrays = (PetscBool)(p->along >= 0);

  PetscFunctionBegin;
  for (PetscInt d = 0; d < p->dim; d++) {
    const Axis *x = &p->axis[d];

    h[d] = x->h;
    for (int s = 0; s < 2; s++) {
      const char e = x->arrays && x->ends[s] != 'p' ? 'd' : x->ends[s];

      end[2 * d + s] = strchr("nr", e)   ? PCBCRPOISSON_NEUMANN
                       : strchr("cR", e) ? PCBCRPOISSON_CELL_NEUMANN
                       : e == 'D'        ? PCBCRPOISSON_CELL_DIRICHLET
                       : e == 'p'        ? PCBCRPOISSON_PERIODIC
                                         : PCBCRPOISSON_DIRICHLET;
      robin[2 * d + s] = x->arrays ? 0 : x->robin[s];
      if (robin[2 * d + s] != 0) any = PETSC_TRUE;
    }
    arrays = (PetscBool)(arrays || x->arrays);
    if (x->arrays && !file) PetscCall(PCBCRPoissonSetOperatorAxis(pc, (DMDirection)d, x->n, x->low, x->diag, x->up));
  }
  PetscCall(PCBCRPoissonSetOperator(pc, p->dim, h, end, p->shift, p->scale));
  if (file && arrays) PetscCall(SayByFile(p, pc));
  if (file && arrays) byfile++;
  if (p->along >= 0 && !file)
    PetscCall(
      PCBCRPoissonSetOperatorTimes(pc, (DMDirection)p->along, (DMDirection)p->of, p->axis[p->along].n, p->times));
  if (any) PetscCall(PCBCRPoissonSetOperatorRobin(pc, 2 * p->dim, robin));
  if (p->mixed[0] != 0) PetscCall(PCBCRPoissonSetOperatorMixed(pc, p->dim == 2 ? 1 : 4, p->mixed));
  PetscCall(PCBCRPoissonSetOperatorShiftImaginary(pc, p->tau));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other numbers each time and in each row, of one sequence that all ranks have */
static PetscErrorCode Fill(Vec v)
{
  const double start = TestUniform();
  PetscScalar *a;
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(VecGetOwnershipRange(v, &begin, &end));
  PetscCall(VecGetArray(v, &a));
  for (PetscInt i = begin; i < end; i++) {
    a[i - begin] = (PetscScalar)sin(1e3 * start + 12.9898 * (double)i * (1 + (double)i));
    if (PetscDefined(USE_COMPLEX)) a[i - begin] += PETSC_i * (PetscReal)cos(78.233 * (double)i + start);
  }
  PetscCall(VecRestoreArray(v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One application against the equations, for singular ones with a right-hand side that has a solution, and LU */
static PetscErrorCode Apply(Mat A, PC pc, PetscBool neutral, PetscBool transpose, const char *what)
{
  Vec b, x;
  PetscReal backward = 1, difference = 0;
  const double bound = sizeof(PetscReal) < sizeof(double) ? 2e-6 : (double)TestBackwardBound();

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(Fill(neutral ? x : b));
  if (neutral) PetscCall(transpose ? MatMultTranspose(A, x, b) : MatMult(A, x, b));
  PetscCall(transpose ? PCApplyTranspose(pc, b, x) : PCApply(pc, b, x));
  PetscCall(TestBackwardError(A, transpose, b, x, &backward));
  TestLargest(&worst, (double)backward);
  Check(backward <= bound, "%s: backward error %g", what, (double)backward);
  if (!neutral) {
    PetscCall(TestAgainstReference(A, transpose, b, x, &difference));
    Check(difference <= TestDifferenceBound(), "%s: differs from LU by %g", what, (double)difference);
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* KSPBCRPOISSON with a shell: its own residuals, to rounding */
static PetscErrorCode Iterate(const Problem *p, DM da, Mat A, Mat shell, const char *what)
{
  KSP ksp;
  PC pc;
  Vec b, x;
  PetscReal backward = 1;
  KSPConvergedReason reason;

  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetType(ksp, KSPBCRPOISSON));
  PetscCall(KSPSetOperators(ksp, shell, shell));
  PetscCall(KSPSetDM(ksp, da));
  PetscCall(TestKSPSetDMInactive(ksp));
  PetscCall(KSPSetTolerances(ksp, sizeof(PetscReal) < sizeof(double) ? (PetscReal)1e-4 : (PetscReal)1e-11,
                             PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCBCRPOISSON));
  PetscCall(Say(p, pc));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(Fill(x));
  PetscCall(MatMult(A, x, b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, &backward));
  Check(reason > 0, "%s, KSP: reason %d", what, (int)reason);
  Check(backward <= (sizeof(PetscReal) < sizeof(double) ? 2e-6 : 1e-14), "%s, KSP: backward error %g", what,
        (double)backward);
  PetscCall(TestDestroy(&b, &x, &ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(Problem *p)
{
  char what[256];
  size_t k = (size_t)snprintf(what, sizeof(what), "shift %g, scale %g:", (double)p->shift, (double)p->scale);
  PetscBool neutral = (PetscBool)(p->shift == 0 && p->tau == 0);
  DM da;
  Mat A, shell;
  PC pc;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < p->dim; d++) {
    k += (size_t)snprintf(what + k, sizeof(what) - k, " %d%s%s", (int)p->axis[d].n, p->axis[d].ends,
                          p->axis[d].arrays ? "*" : "");
    for (int s = 0; s < 2; s++) neutral = (PetscBool)(neutral && strchr("ncp", p->axis[d].ends[s]));
  }
  if (p->along >= 0)
    (void)snprintf(what + k, sizeof(what) - k, ", %c times along %c", (char)('x' + p->of), (char)('x' + p->along));
  if (p->mixed[0] != 0) (void)snprintf(what + k, sizeof(what) - k, ", products %g ...", (double)p->mixed[0]);
  if (p->tau != 0) (void)snprintf(what + k, sizeof(what) - k, ", shift %+g i", (double)p->tau);
  if (p->along >= 0) timed++;
  if (p->mixed[0] != 0) mixed++;
  if (p->tau != 0) complex_++;
  PetscCall(Grid(p, &da));
  PetscCall(Matrix(p, da, &A));
  PetscCall(TestShell(A, &shell));
  PetscCall(TestPC(PCBCRPOISSON, da, shell, &pc));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(Say(p, pc));
  PetscCall(PCSetUp(pc));
  PetscCall(Apply(A, pc, neutral, PETSC_FALSE, what));
  PetscCall(Apply(A, pc, neutral, PETSC_TRUE, what));
  PetscCall(Iterate(p, da, A, shell, what));
  solved++;
  if (neutral) singular++;
  PetscCall(MatDestroy(&A));
  /* other values, on the same PC */
  p->shift += 2;
  p->scale *= -3;
  for (PetscInt d = 0; d < p->dim; d++) {
    if (p->axis[d].arrays) RandomArrays(&p->axis[d], 10);
    else if (p->axis[d].robin[0] != 0) {
      p->axis[d].robin[0] *= 2;
      UniformRows(&p->axis[d]);
    }
  }
  PetscCall(Matrix(p, da, &A));
  PetscCall(Say(p, pc));
  PetscCall(Apply(A, pc, PETSC_FALSE, PETSC_FALSE, what));
  PetscCall(TestDestroy(&pc, &shell, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- what cannot be ---- */

static PetscErrorCode Wrong(void)
{
  static const struct {
    const char *text, *message; /* no text: no file */
    PetscErrorCode error;
  } files[] = {
    {"",                            "cannot be opened",                    PETSC_ERR_FILE_OPEN      },
    {"# nothing\n1 2 3\n",          "line 2: numbers of no axis",          PETSC_ERR_FILE_UNEXPECTED},
    {"axis w\n",                    "line 1: this is no number",           PETSC_ERR_FILE_UNEXPECTED},
    {"axis x\n0 2 -1\n-1 2\n",      "line 3: fewer than three",            PETSC_ERR_FILE_UNEXPECTED},
    {"axis x\n0 2 -1 7\n",          "line 2: more than three",             PETSC_ERR_FILE_UNEXPECTED},
    {"axis x\n0 2 -1\naxis x\n",    "line 3: what follows has been there", PETSC_ERR_FILE_UNEXPECTED},
    {"axis x\n0 2 x\n",             "line 2: fewer than three",            PETSC_ERR_FILE_UNEXPECTED},
    {"times x\n1\n",                "line 1: this is no number",           PETSC_ERR_FILE_UNEXPECTED},
    {"times x y\n1 2\n",            "line 2: more than one",               PETSC_ERR_FILE_UNEXPECTED},
    {"axis x\n0 2 -1\n-1 nan -1\n", "Row 1 of axis x",                     PETSC_ERR_ARG_OUTOFRANGE }
  };
  const PetscReal h[] = {1, 1, 1}, nan[] = {(PetscReal)NAN, 0, 0, 0};
  const PetscReal low[] = {0, -1, -1, -1, -1, -1}, diag[] = {2, 2, 2, 2, 2, 2}, up[] = {-1, -1, -1, -1, -1, 0};
  const PCBCRPoissonEnd ends[] = {PCBCRPOISSON_DIRICHLET, PCBCRPOISSON_NEUMANN, PCBCRPOISSON_PERIODIC,
                                  PCBCRPOISSON_PERIODIC};
  PetscReal other[6], robin[6] = {0, 1, 0, 0, 0, 0};
  const PetscReal *got[3];
  PetscMPIInt rank, size;
  PetscInt n;
  Problem p;
  DM da;
  Mat A, shell;
  PC pc;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  memset(&p, 0, sizeof(p));
  p.dim = 2;
  p.dof = 1;
  p.along = -1;
  p.scale = 1;
  p.axis[0] = (Axis){.n = 6, .h = 1, .ends = "dn"};
  p.axis[1] = (Axis){.n = 6, .h = 1, .ends = "pp"};
  for (int d = 0; d < 2; d++) UniformRows(&p.axis[d]);
  PetscCall(Grid(&p, &da));
  PetscCall(Matrix(&p, da, &A));
  PetscCall(TestShell(A, &shell));
  PetscCall(TestPC(PCBCRPOISSON, da, shell, &pc));
  PetscCall(PCSetOptionsPrefix(pc, "mine_"));
  memcpy(other, diag, sizeof(diag));
  other[3] = nan[0];
  CheckError(PCBCRPoissonSetOperatorAxis(pc, DM_X, 6, low, other, up), PETSC_ERR_ARG_OUTOFRANGE, "Row 3 of axis x");
  other[3] = (PetscReal)0.5;
  CheckError(PCBCRPoissonSetOperatorAxis(pc, DM_Y, 6, low, diag, other), PETSC_ERR_ARG_OUTOFRANGE, "Row 0 of axis y");
  CheckError(PCBCRPoissonSetOperatorAxis(pc, DM_X, -1, low, diag, up), PETSC_ERR_ARG_OUTOFRANGE, "as many as it has");
  CheckError(PCBCRPoissonSetOperatorRobin(pc, 4, nan), PETSC_ERR_ARG_OUTOFRANGE, "low end of axis x");
  PetscCall(PCBCRPoissonSetOperatorAxis(pc, DM_X, 6, low, diag, up));
  CheckError(PCSetUp(pc), PETSC_ERR_ORDER, "PCBCRPoissonSetOperatorAxis() for each axis"); /* no y */
  PetscCall(PCBCRPoissonGetOperatorAxis(pc, DM_X, &n, &got[0], &got[1], &got[2]));
  Check(n == 6 && !memcmp(got[0], low, sizeof(low)) && !memcmp(got[1], diag, sizeof(diag)) &&
          !memcmp(got[2], up, sizeof(up)),
        "the getter has not what the setter was given");
  PetscCall(PCBCRPoissonSetOperator(pc, 2, h, NULL, 0, 1));
  PetscCall(PCSetUp(pc));
  PetscCall(PCBCRPoissonSetOperatorAxis(pc, DM_Z, 6, low, diag, up));
  CheckError(PCSetUp(pc), PETSC_ERR_ARG_INCOMP, "axis z");
  PetscCall(PCBCRPoissonSetOperatorAxis(pc, DM_Z, 0, NULL, NULL, NULL));
  PetscCall(PCBCRPoissonSetOperatorAxis(pc, DM_X, 5, low, diag, up));
  CheckError(PCSetUp(pc), PETSC_ERR_ARG_SIZ, "6 nodes");
  PetscCall(PCBCRPoissonSetOperatorAxis(pc, DM_X, 6, up, diag, up));
  CheckError(PCSetUp(pc), PETSC_ERR_ARG_INCOMP, "beyond its ends");
  memcpy(other, diag, sizeof(diag));
  if (rank == size - 1) other[2] += size > 1 ? (PetscReal)1e-3 : 0;
  PetscCall(PCBCRPoissonSetOperatorAxis(pc, DM_X, 6, low, other, up));
  if (size > 1) CheckError(PCSetUp(pc), PETSC_ERR_ARG_NOTSAMETYPE, "axis x");
  PetscCall(PCBCRPoissonSetOperatorAxis(pc, DM_X, 0, NULL, NULL, NULL));

  CheckError(PCBCRPoissonSetOperatorTimes(pc, DM_X, DM_X, 6, diag), PETSC_ERR_ARG_OUTOFRANGE, "two of");
  CheckError(PCBCRPoissonSetOperatorTimes(pc, DM_X, DM_Y, 6, low), PETSC_ERR_ARG_OUTOFRANGE, "must be positive");
  PetscCall(PCBCRPoissonSetOperatorTimes(pc, DM_X, DM_Z, 6, diag));
  CheckError(PCSetUp(pc), PETSC_ERR_ARG_INCOMP, "along axis x for axis z");
  PetscCall(PCBCRPoissonSetOperatorTimes(pc, DM_X, DM_Y, 5, diag));
  CheckError(PCSetUp(pc), PETSC_ERR_ARG_SIZ, "6 nodes");
  PetscCall(PCBCRPoissonSetOperatorTimes(pc, DM_X, DM_Y, 0, NULL));

  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(files); k++) {
    char option[PETSC_MAX_PATH_LEN];

    PetscCall(AxesFile(PetscObjectComm((PetscObject)pc), "mine_", files[k].text, option));
    if (!*files[k].text) PetscCall(AxesFileRemove(PetscObjectComm((PetscObject)pc), option));
    PetscCall(TestOptions(option, PETSC_TRUE));
    CheckError(PCSetFromOptions(pc), files[k].error, files[k].message);
    PetscCall(TestOptions(option, PETSC_FALSE));
    if (*files[k].text) PetscCall(AxesFileRemove(PetscObjectComm((PetscObject)pc), option));
  }

  PetscCall(PCBCRPoissonSetOperator(pc, 2, h, ends, 0, 1));
  PetscCall(PCBCRPoissonSetOperatorRobin(pc, 6, robin));
  CheckError(PCSetUp(pc), PETSC_ERR_ARG_SIZ, "-mine_pc_bcrpoisson_robin");
  PetscCall(PCBCRPoissonSetOperatorRobin(pc, 4, robin));
  PetscCall(PCSetUp(pc));
  robin[0] = 1;
  PetscCall(PCBCRPoissonSetOperatorRobin(pc, 4, robin));
  CheckError(PCSetUp(pc), PETSC_ERR_ARG_INCOMP, "low end of axis x");
  robin[0] = 0;
  robin[3] = 2;
  PetscCall(PCBCRPoissonSetOperatorRobin(pc, 4, robin));
  CheckError(PCSetUp(pc), PETSC_ERR_ARG_INCOMP, "high end of axis y");
  robin[3] = 0;
  PetscCall(PCBCRPoissonSetOperatorRobin(pc, 0, NULL));

  CheckError(PCBCRPoissonSetOperatorMixed(pc, 2, h), PETSC_ERR_ARG_OUTOFRANGE, "one in two dimensions");
  CheckError(PCBCRPoissonSetOperatorMixed(pc, 1, nan), PETSC_ERR_ARG_OUTOFRANGE, "must be finite");
  PetscCall(PCBCRPoissonSetOperatorMixed(pc, 4, robin));
  CheckError(PCSetUp(pc), PETSC_ERR_ARG_SIZ, "-mine_pc_bcrpoisson_mixed");
  PetscCall(PCBCRPoissonSetOperatorMixed(pc, 1, h));
  PetscCall(PCBCRPoissonSetOperatorAxis(pc, DM_X, 6, low, diag, up));
  CheckError(PCSetUp(pc), PETSC_ERR_ARG_INCOMP, "uniform ones, and axis x");
  PetscCall(PCBCRPoissonSetOperatorAxis(pc, DM_X, 0, NULL, NULL, NULL));
  PetscCall(PCBCRPoissonGetOperatorMixed(pc, &n, &got[0]));
  Check(n == 1 && got[0][0] == h[0], "the getter of products has not what the setter was given");
  CheckError(PCBCRPoissonSetOperatorShiftImaginary(pc, nan[0]), PETSC_ERR_ARG_OUTOFRANGE, "must be finite");
  if (PetscDefined(USE_COMPLEX)) {
    PetscCall(PCBCRPoissonSetOperatorShiftImaginary(pc, 1));
    CheckError(PCSetUp(pc), PETSC_ERR_ARG_INCOMP, "for real shifts");
    PetscCall(PCBCRPoissonGetOperatorShiftImaginary(pc, other));
    Check(other[0] == 1, "the getter of the imaginary shift has not what the setter was given");
    PetscCall(PCBCRPoissonSetOperatorShiftImaginary(pc, 0));
  } else CheckError(PCBCRPoissonSetOperatorShiftImaginary(pc, 1), PETSC_ERR_SUP, "real scalars");
  PetscCall(PCBCRPoissonSetOperatorMixed(pc, 0, NULL));
  PetscCall(PCSetUp(pc));
  PetscCall(Apply(A, pc, PETSC_FALSE, PETSC_FALSE, "after the errors"));
  PetscCall(TestDestroy(&pc, &shell, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By options alone, with the names of the PC, and with those of the KSP, which knows nothing of the PC but its options:
   Robin values, a product of axes, an imaginary shift */
static PetscErrorCode Options(PetscBool solver, PetscInt which)
{
  static const struct {
    const char *ends[2], *names, *rest; /* of axes; as options */
    PetscReal robin[2], shift, scale, mixed, tau;
  } cases[] = {
    {{"rc", "dR"}, "neumann,cell_neumann,dirichlet,cell_neumann", "robin 1.5,0,0,2",      {1.5, 2}, 0, 1, 0, 0},
    {{"nc", "dD"},
     "neumann,cell_neumann,dirichlet,cell_dirichlet",             "mixed 0.02",
     {0, 0},
     (PetscReal)0.3,
     -2,
     (PetscReal)0.02,
     0                                                                                                        },
    {{"nc", "dc"},
     "neumann,cell_neumann,dirichlet,cell_neumann",               "shift_imaginary -0.7",
     {0, 0},
     (PetscReal)0.3,
     1,                                                                                                   0,
     (PetscReal)-0.7                                                                                          }
  };
  const char *const o = solver ? "-ksp_bcrpoisson_" : "-pc_bcrpoisson_";
  char options[256];
  const PetscReal *robin, *products;
  PetscReal tau;
  PetscInt n[2];
  Problem p;
  DM da;
  Mat A, shell;
  KSP ksp;
  PC pc;

  PetscFunctionBegin;
  memset(&p, 0, sizeof(p));
  p.dim = 2;
  p.dof = 1;
  p.along = -1;
  p.shift = cases[which].shift;
  p.scale = cases[which].scale;
  p.mixed[0] = cases[which].mixed;
  p.tau = cases[which].tau;
  for (int d = 0; d < 2; d++) {
    p.axis[d] = (Axis){.n = d ? 7 : 9, .h = (PetscReal)0.5, .ends = cases[which].ends[d]};
    p.axis[d].robin[d] = cases[which].robin[d];
    UniformRows(&p.axis[d]);
  }
  PetscCall(Grid(&p, &da));
  PetscCall(Matrix(&p, da, &A));
  PetscCall(TestShell(A, &shell));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, shell, shell));
  PetscCall(KSPSetDM(ksp, da));
  PetscCall(TestKSPSetDMInactive(ksp));
  PetscCall(KSPGetPC(ksp, &pc));
  if (!solver) PetscCall(PCSetType(pc, PCBCRPOISSON));
  PetscCall(PetscSNPrintf(options, sizeof(options), "%s%sspacing 0.5 %sends %s %sshift %g %sscale %g %s%s",
                          solver ? "-ksp_type bcrpoisson -ksp_norm_type none " : "", o, o, cases[which].names, o,
                          (double)p.shift, o, (double)p.scale, o, cases[which].rest));
  PetscCall(TestOptions(options, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(TestOptions(options, PETSC_FALSE));
  PetscCall(KSPSetUp(ksp));
  PetscCall(PCBCRPoissonGetOperatorRobin(pc, &n[0], &robin));
  PetscCall(PCBCRPoissonGetOperatorMixed(pc, &n[1], &products));
  PetscCall(PCBCRPoissonGetOperatorShiftImaginary(pc, &tau));
  Check(n[0] == (which == 0 ? 4 : 0) && (which || (robin[0] == (PetscReal)1.5 && robin[3] == 2)) &&
          n[1] == (which == 1 ? 1 : 0) && (which != 1 || products[0] == p.mixed[0]) && tau == p.tau,
        "%s: not what the getters have", options);
  PetscCall(Apply(A, pc, PETSC_FALSE, PETSC_FALSE, options));
  PetscCall(TestDestroy(&ksp, &shell, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt rank, size;

  PetscCall(PetscInitialize(&argc, &argv, NULL, "The user's operator without a matrix"));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(TestSeed());
  for (PetscInt dim = 1; dim <= 3; dim++)
    for (PetscInt trial = 0; trial < (size > 1 ? 6 : 28); trial++) {
      Problem p;

      Random(&p, dim, trial, size);
      PetscCall(Solve(&p));
    }
  for (PetscInt which = 0; which < (PetscDefined(USE_COMPLEX) ? 3 : 2); which++)
    for (int solver = 0; solver < 2; solver++) PetscCall(Options((PetscBool)solver, which));
  PetscCall(Wrong());
  if (rank == 0) {
    (void)printf("%d problems, %d of them singular, %d with numbers along an axis; largest backward error %.1e\n",
                 (int)solved, (int)singular, (int)timed, worst);
    Check(byfile >= 3, "arrays of a file in %d problems", (int)byfile);
    Check(singular >= 3 && timed >= 3, "too few problems that are singular, or with numbers along an axis");
    Check(mixed >= 2 && (complex_ >= 2 || !PetscDefined(USE_COMPLEX)),
          "too few problems with products of axes (%d) or complex shifts (%d)", (int)mixed, (int)complex_);
  }
  PetscCall(PetscFinalize());
  return TestEnd();
}
