/*
  ranks: 1 2 3

  Solvers in slabs whose error another part of the library would mend, or hide: mixed precision that
  falls back on double, where corrections of the single solve must do; fallbacks that get new
  shifts; components that share a core until their scales part; rows that a rank hands to its
  neighbour. Against the equations, row by row. And the strides of a box near 2^31.
  -backend cuda: corrections on a device, on one rank.
*/
#include <petscbcr.h>
#include "../check.h"
#include "src/poisson/solverimpl.h"
#include "src/operator/read.h"
#include <string.h>

static PetscInt passed = 0, failed = 0;
static PetscMPIInt rank, size;

#define Check(condition, ...) \
  do { \
    if (condition) ++passed; \
    else { \
      ++failed; \
      (void)printf("[%d] %s:%d: ", (int)rank, __FILE__, __LINE__); \
      (void)printf(__VA_ARGS__); \
      (void)printf("\n"); \
    } \
  } while (0)

static PetscInt Share(PetscInt n, PetscMPIInt q)
{
  return (PetscInt)((PetscInt64)n * q / size);
}

/* row of a uniform axis: what is coupled to node i, and the diagonal */
static double AxisRow(PetscInt n, PetscReal a, const BCREnd end[2], PetscInt i, PetscInt at[2], double value[2])
{
  double diag = 0;

  for (int s = 0; s < 2; s++) {
    const PetscBool last = (PetscBool)(s ? i == n - 1 : i == 0);

    value[s] = n > 1 ? (double)a : 0;
    at[s] = last ? (s ? 0 : n - 1) : (s ? i + 1 : i - 1);
    diag += value[s];
    if (!last || end[s] == BCR_END_PERIODIC) continue;
    if (end[s] == BCR_END_CELL_NEUMANN) diag -= value[s];
    value[s] = 0;
  }
  return diag;
}

/* ||f - A u|| / (||A|| ||u|| + ||f||) of component c in the maximum norm; f, u: of the whole box */
static double Backward(const BCROperator *op, PetscInt dof, PetscInt c, const PetscScalar f[], const PetscScalar u[])
{
  const PetscInt N[3] = {op->axis[0].n, op->axis[1].n, op->axis[2].n}, stride[3] = {1, N[0], N[0] * N[1]};
  double worst = 0, un = 0, fn = 0, an = 0;

  for (PetscInt k = 0; k < N[0] * N[1] * N[2]; k++) {
    const PetscInt ix[3] = {k % N[0], k / N[0] % N[1], k / N[0] / N[1]};
    double diag = (double)op->shift, sum = 0, off = 0;

    for (int d = 0; d < op->dim; d++) {
      PetscInt at[2];
      double value[2];

      diag += AxisRow(N[d], op->axis[d].a, op->axis[d].end, ix[d], at, value);
      for (int s = 0; s < 2; s++) {
        sum += value[s] * (double)PetscRealPart(u[c + dof * (k + (at[s] - ix[d]) * stride[d])]);
        off += value[s];
      }
    }
    TestLargest(&worst, fabs((double)PetscRealPart(f[c + dof * k]) -
                             (double)op->scale * (diag * (double)PetscRealPart(u[c + dof * k]) - sum)));
    TestLargest(&un, fabs((double)PetscRealPart(u[c + dof * k])));
    TestLargest(&fn, fabs((double)PetscRealPart(f[c + dof * k])));
    TestLargest(&an, fabs((double)op->scale) * (fabs(diag) + off));
  }
  return worst / (an * un + fn);
}

/* f and u of the whole box on all ranks; the solver has slabs along axis */
static PetscErrorCode Solve(BCRSolver solver, const BCROperator *op, PetscInt dof, const BCRSlab *slab,
                            const PetscScalar f[], PetscScalar u[])
{
  const PetscInt N[3] = {op->axis[0].n, op->axis[1].n, op->axis[2].n}, total = dof * N[0] * N[1] * N[2];
  PetscInt inner = dof, outer = 1;
  PetscScalar *x, *y;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    if (d < slab->axis) inner *= N[d];
    if (d > slab->axis) outer *= N[d];
  }
  PetscCall(PetscMalloc2(inner * outer * slab->len, &x, inner * outer * slab->len, &y));
  for (PetscInt o = 0; o < outer; o++)
    PetscCall(
      PetscArraycpy(x + inner * slab->len * o, f + inner * (slab->start + N[slab->axis] * o), inner * slab->len));
  PetscCall(BCRSolverSolve(solver, PETSC_MEMTYPE_HOST, NULL, PETSC_FALSE, 1, x, inner * outer * slab->len, y,
                           inner * outer * slab->len));
  PetscCall(PetscArrayzero(u, total));
  for (PetscInt o = 0; o < outer; o++)
    PetscCall(
      PetscArraycpy(u + inner * (slab->start + N[slab->axis] * o), y + inner * slab->len * o, inner * slab->len));
  PetscCall(PetscFree2(x, y));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, u, (PetscMPIInt)total, MPIU_SCALAR, MPIU_SUM, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Create(PetscInt dof, const BCROperator ops[], BCRPrecision precision, const BCRSlab *slab,
                             BCRSolver *solver)
{
  BCRSolverOptions options;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&options, sizeof(options)));
  options.core.precision = precision;
  options.core.isa = -1;
  PetscCall(BCRSolverCreate(dof, ops, &options, size > 1 ? slab : NULL, solver));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Vectors(PetscInt n, PetscScalar **f, PetscScalar **u)
{
  PetscRandom random;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n, f, n, u));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random)); /* the same on all ranks */
  PetscCall(PetscRandomSetInterval(random, (PetscScalar)(-1), (PetscScalar)1));
  for (PetscInt i = 0; i < n; i++) {
    PetscCall(PetscRandomGetValue(random, &(*f)[i]));
    (*f)[i] = PetscRealPart((*f)[i]);
  }
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double Bound(void)
{
  return sizeof(PetscReal) < sizeof(double) ? 5e-7 : 1e-14;
}

/* Well-conditioned: two or three corrections, no fallback, which would hide that the residual is another operator's */
static PetscErrorCode Corrections(void)
{
  static const BCREnd kinds[4][2] = {
    {BCR_END_DIRICHLET,    BCR_END_DIRICHLET   },
    {BCR_END_PERIODIC,     BCR_END_PERIODIC    },
    {BCR_END_DIRICHLET,    BCR_END_CELL_NEUMANN},
    {BCR_END_CELL_NEUMANN, BCR_END_DIRICHLET   }
  };

  PetscFunctionBegin;
  for (PetscInt dim = 1; dim <= 3; dim++) {
    for (PetscInt axis = 0; axis < dim; axis++) {
      for (PetscInt kind = 0; kind < 4 * 4 * 4; kind++) {
        const PetscInt n[3] = {dim > 2 ? 7 : 12, dim > 2 ? 8 : 11, 9};
        const PetscReal a[3] = {1, (PetscReal)0.7, (PetscReal)1.3};
        const BCREnd *e[3] = {kinds[kind % 4], kinds[kind / 4 % 4], kinds[kind / 16]};
        const BCREnd end[6] = {e[0][0], e[0][1], e[1][0], e[1][1], e[2][0], e[2][1]};
        BCRSlab slab = {PETSC_COMM_WORLD, axis, Share(n[axis], rank), Share(n[axis], rank + 1) - Share(n[axis], rank)};
        BCROperator *op;
        BCRSolver solver;
        PetscScalar *f, *u;
        double error;

        if ((dim < 3 && kind >= 16) || (dim < 2 && kind >= 4)) continue;
        PetscCall(BCROperatorCreateUser(dim, n, a, end, (PetscReal)0.1, -2, &op));
        PetscCall(Create(1, op, BCR_MIXED, &slab, &solver));
        PetscCall(Vectors(op->axis[0].n * op->axis[1].n * op->axis[2].n, &f, &u));
        PetscCall(Solve(solver, op, 1, &slab, f, u));
        error = Backward(op, 1, 0, f, u);
        Check(error <= Bound(), "mixed, dimension %d, slabs along %d, ends %d: backward error %g", (int)dim, (int)axis,
              (int)kind, error);
        Check(solver->fallback[0] == NULL, "mixed, dimension %d, slabs along %d, ends %d: fell back on double",
              (int)dim, (int)axis, (int)kind);
        Check(solver->ncorrect <= 4, "mixed, dimension %d, slabs along %d, ends %d: %d corrections", (int)dim,
              (int)axis, (int)kind, (int)solver->ncorrect);
        PetscCall(PetscFree2(f, u));
        PetscCall(BCRSolverDestroy(&solver));
        PetscCall(BCROperatorDestroy(1, &op));
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All but singular: single precision corrects it slowly, or not at all, and a fallback has to know
   each new shift (FallbackShifts() always has one). Corrections may end at a residual of 1e-14 in
   the two-norm; of that the largest entry, which is measured here, was 2.5e-14 with one compiler's
   rounding. */
static PetscErrorCode Fallback(void)
{
  const PetscInt n[3] = {20, 18, 1};
  const PetscReal a[3] = {1, 2, 0};
  const BCREnd end[6] = {BCR_END_CELL_NEUMANN, BCR_END_CELL_NEUMANN, BCR_END_CELL_NEUMANN,
                         BCR_END_CELL_NEUMANN, BCR_END_CELL_NEUMANN, BCR_END_CELL_NEUMANN};
  const BCRSlab slab = {PETSC_COMM_WORLD, 1, Share(n[1], rank), Share(n[1], rank + 1) - Share(n[1], rank)};
  BCROperator *op;
  BCRSolver solver;
  PetscScalar *f, *u, mean = 0;
  PetscBool done;

  PetscFunctionBegin;
  if (sizeof(PetscReal) < sizeof(double)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCROperatorCreateUser(2, n, a, end, (PetscReal)1e-9, 1, &op));
  PetscCall(Create(1, op, BCR_MIXED, &slab, &solver));
  PetscCall(Vectors(n[0] * n[1], &f, &u));
  for (PetscInt i = 0; i < n[0] * n[1]; i++) mean += f[i] / (PetscScalar)(n[0] * n[1]);
  for (PetscInt i = 0; i < n[0] * n[1]; i++) f[i] -= mean; /* so that the solution is not all constant */
  /* there and back, so that a fallback sees shifts of before */
  for (PetscInt step = 0; step < 12; step++) {
    double error;

    PetscCall(Solve(solver, op, 1, &slab, f, u));
    error = Backward(op, 1, 0, f, u);
    Check(error <= 1e-13, "shift %g: backward error %g", (double)op->shift, error);
    op->shift *= (PetscReal)(step % 4 < 2 ? 9 : 1. / 9);
    PetscCall(BCRSolverUpdate(solver, op, &done));
    Check(done, "a new shift takes a new plan");
  }
  PetscCall(PetscFree2(f, u));
  PetscCall(BCRSolverDestroy(&solver));
  PetscCall(BCROperatorDestroy(1, &op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Between Dirichlet ends, with a shift that leaves 10^-9.5 of the smallest eigenvalue: the first
   solve falls back on double, and so does one with each other shift, by the core that is there. Its
   solution solves the equations with the new shift; with the shift before the residual is 1e-12 */
static PetscErrorCode FallbackShifts(void)
{
  static const double parts[] = {1, 2, 1, 0.5, 4}; /* of what is left of the eigenvalue */
  const PetscInt n[3] = {31, 30, 1};
  const PetscReal a[3] = {1, 1, 0};
  const BCREnd end[6] = {BCR_END_DIRICHLET, BCR_END_DIRICHLET,    BCR_END_DIRICHLET,
                         BCR_END_DIRICHLET, BCR_END_CELL_NEUMANN, BCR_END_CELL_NEUMANN};
  const BCRSlab slab = {PETSC_COMM_WORLD, 1, Share(n[1], rank), Share(n[1], rank + 1) - Share(n[1], rank)};
  const double lowest = 4 - 2 * cos(PETSC_PI / (double)(n[0] + 1)) - 2 * cos(PETSC_PI / (double)(n[1] + 1));
  BCROperator *op;
  BCRSolver solver = NULL;
  PetscScalar *f, *u;

  PetscFunctionBegin;
  if (sizeof(PetscReal) < sizeof(double)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCROperatorCreateUser(2, n, a, end, 0, 1, &op));
  PetscCall(Vectors(n[0] * n[1], &f, &u));
  for (size_t step = 0; step < PETSC_STATIC_ARRAY_LENGTH(parts); step++) {
    BCRSolver fresh;
    PetscBool done = PETSC_TRUE;
    double error;

    op->shift = (PetscReal)(-lowest * (1 - parts[step] * pow(10, -9.5)));
    PetscCall(Create(1, op, BCR_MIXED, &slab, &fresh));
    PetscCall(Solve(fresh, op, 1, &slab, f, u));
    Check(fresh->fallback[0],
          "near an eigenvalue, step %d: single precision is corrected, this test needs a shift nearer to it",
          (int)step);
    if (solver) {
      PetscCall(BCRSolverUpdate(solver, op, &done));
      PetscCall(BCRSolverDestroy(&fresh));
    } else solver = fresh;
    Check(done, "near an eigenvalue, step %d: a new shift takes a new plan", (int)step);
    Check(solver->fallback[0], "near an eigenvalue, step %d: the core in double is gone", (int)step);
    PetscCall(Solve(solver, op, 1, &slab, f, u));
    error = Backward(op, 1, 0, f, u);
    Check(error <= Bound(), "near an eigenvalue, step %d: backward error %g", (int)step, error);
  }
  PetscCall(PetscFree2(f, u));
  PetscCall(BCRSolverDestroy(&solver));
  PetscCall(BCROperatorDestroy(1, &op));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two components alike, then with scales or shifts of their own, then alike again */
static PetscErrorCode Components(void)
{
  const PetscInt n[3] = {9, 10, 1};
  const PetscReal a[3] = {1, 2, 0};
  const BCREnd end[6] = {BCR_END_DIRICHLET,    BCR_END_DIRICHLET,    BCR_END_DIRICHLET,
                         BCR_END_CELL_NEUMANN, BCR_END_CELL_NEUMANN, BCR_END_CELL_NEUMANN};
  const BCRSlab slab = {PETSC_COMM_WORLD, 1, Share(n[1], rank), Share(n[1], rank + 1) - Share(n[1], rank)};
  const PetscReal scale[5][2] =
    {
      {1,  1},
      {1,  3},
      {2,  2},
      {2,  2},
      {-1, 5}
  },
                  shift[5][2] = {{0, 0}, {0, 0}, {1, 1}, {1, 2}, {1, 1}};

  PetscFunctionBegin;
  for (PetscInt precision = BCR_DOUBLE; precision <= BCR_MIXED; precision++) {
    BCROperator ops[2], *one;
    BCRSolver solver = NULL;

    if (precision == BCR_SINGLE || (precision == BCR_DOUBLE && sizeof(PetscReal) < sizeof(double))) continue;
    PetscCall(BCROperatorCreateUser(2, n, a, end, 0, 1, &one));
    ops[0] = ops[1] = *one;
    for (PetscInt step = 0; step < 5; step++) {
      PetscBool done = PETSC_FALSE;
      PetscScalar *f, *u;

      for (PetscInt c = 0; c < 2; c++) {
        ops[c].scale = scale[step][c];
        ops[c].shift = shift[step][c];
      }
      if (solver) PetscCall(BCRSolverUpdate(solver, ops, &done));
      if (!done) {
        PetscCall(BCRSolverDestroy(&solver));
        PetscCall(Create(2, ops, (BCRPrecision)precision, &slab, &solver));
      }
      PetscCall(Vectors(2 * n[0] * n[1], &f, &u));
      PetscCall(Solve(solver, ops, 2, &slab, f, u));
      for (PetscInt c = 0; c < 2; c++) {
        const double error = Backward(&ops[c], 2, c, f, u);

        Check(error <= Bound(), "step %d, component %d, scale %g, shift %g%s: backward error %g", (int)step, (int)c,
              (double)ops[c].scale, (double)ops[c].shift, done ? ", updated" : "", error);
      }
      PetscCall(PetscFree2(f, u));
    }
    PetscCall(BCRSolverDestroy(&solver));
    PetscCall(BCROperatorDestroy(1, &one));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The first rank has no more than a plane of boundary rows, and hands it over. One diagonal of the
   planes along x differs, on the rank that gets the row */
static PetscErrorCode HandOver(void)
{
  const PetscInt n = 8, rows = 4 * (PetscInt)size;
  PetscInt ly[16], lx[1];
  DM da;
  Mat A;
  PC pc;
  Vec b, x, r;
  PetscReal norm[3];
  PetscInt ys, ym;

  PetscFunctionBegin;
  if (size == 1 || size > 16) PetscFunctionReturn(PETSC_SUCCESS);
  lx[0] = n;
  for (PetscMPIInt q = 0; q < size; q++) ly[q] = q ? 4 : 1;
  ly[size - 1] += 3;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, rows, 1, size, 1,
                         1, lx, ly, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(DMDAGetCorners(da, NULL, &ys, NULL, NULL, &ym, NULL));
  for (PetscInt j = ys; j < ys + ym; j++) {
    for (PetscInt i = 0; i < n; i++) {
      MatStencil row = {.i = i, .j = j}, col[5];
      PetscScalar v[5];
      PetscInt m = 0;

      if (i == 0 || i == n - 1 || j == 0 || j == rows - 1) {
        col[m] = row;
        v[m++] = i == 0 && j == 2 ? 7 : 3;
      } else {
        for (int k = 0; k < 5; k++) {
          col[m] = row;
          col[m].i = i + (k == 1) - (k == 2);
          col[m].j = j + (k == 3) - (k == 4);
          v[m++] = k ? -1 : 4;
        }
      }
      PetscCall(MatSetValuesStencil(A, 1, &row, m, col, v, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCBCRPOISSON));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCBCRPoissonSetFit(pc, PCBCRPOISSON_FIT_EXACT));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(VecSetRandom(b, NULL));
  for (PetscInt step = 0; step < 2; step++) {
    PetscCall(PCApply(pc, b, x));
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1, b));
    PetscCall(VecNorm(r, NORM_INFINITY, &norm[0]));
    PetscCall(VecNorm(x, NORM_INFINITY, &norm[1]));
    PetscCall(VecNorm(b, NORM_INFINITY, &norm[2]));
    Check(norm[0] <= Bound() * (8 * norm[1] + norm[2]), "a plane that is handed over, step %d: residual %g", (int)step,
          (double)norm[0]);
    PetscCall(MatScale(A, 2)); /* and when the solver is given new values */
    PetscCall(PCSetOperators(pc, A, A));
  }
  PetscCall(TestDestroy(&r, &b, &x, &pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Boxes whose numbers of nodes just fit into 31 bits: rows are not a multiple of 1 KB apart, unless
   there is no room for more */
static PetscErrorCode Strides(void)
{
  const PetscInt box[][3] = {
    {46336, 46345, 1   },
    {1024,  2048,  1023},
    {46336, 100,   1   },
    {256,   7,     3   },
    {0,     5,     5   },
    {1,     1,     1   }
  };

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(box); k++) {
    for (size_t bytes = 4; bytes <= 8; bytes += 4) {
      const PetscInt *n = box[k];
      PetscInt ldy, ldz;
      double all;

      BCRSolverStrides(n, bytes, 64, &ldy, &ldz);
      all = (double)ldy * (double)n[1] * (double)n[2];
      Check(ldy >= n[0] && (double)ldz == (double)ldy * (double)n[1] && all <= (double)PETSC_MAX_INT,
            "%d x %d x %d: strides %g, %g", (int)n[0], (int)n[1], (int)n[2], (double)ldy, (double)ldz);
      Check(n[0] * (PetscInt)bytes % 1024 || n[0] == 0 || all + 16. * (double)n[1] * (double)n[2] > 2147483647. ||
              ldy > n[0],
            "%d x %d x %d: rows a multiple of 1 KB apart", (int)n[0], (int)n[1], (int)n[2]);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On a device the number of corrections is a trial's in set-up, and no residual is looked at: operators from well-conditioned to
   all but singular, and right-hand sides that the trial's, random numbers, says little of: rounding of smooth ones is no
   random noise, and the mode that is nearly zero is much larger in them. None may come back uncorrected */
static PetscErrorCode DeviceCorrections(void)
{
  const PetscInt n[3] = {24, 18, 1}, N = n[0] * n[1];
  const PetscReal a[3] = {1, 2, 0};
  PetscScalar *f, *u;

  PetscFunctionBegin;
  if (sizeof(PetscReal) < sizeof(double)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(Vectors(N, &f, &u));
  for (int near = 0; near < 2; near++) { /* to the constant, to the lowest mode between Dirichlet ends */
    const BCREnd e = near ? BCR_END_DIRICHLET : BCR_END_CELL_NEUMANN,
                 end[6] = {e, e, e, e, BCR_END_CELL_NEUMANN, BCR_END_CELL_NEUMANN};
    const double lowest = 2 * (1 - cos(PETSC_PI / (double)(n[0] + 1))) + 4 * (1 - cos(PETSC_PI / (double)(n[1] + 1)));

    for (int k = 0; k < 8; k++) {
      const double left = pow(10, -2 - k);
      BCRSolverOptions options;
      BCROperator *op;
      BCRSolver solver;

      PetscCall(BCROperatorCreateUser(2, n, a, end, (PetscReal)(near ? -lowest * (1 - left) : left), 1, &op));
      PetscCall(PetscMemzero(&options, sizeof(options)));
      options.core.precision = BCR_MIXED;
      options.core.isa = -1;
      options.device = PETSC_TRUE;
      PetscCall(BCRSolverCreate(1, op, &options, NULL, &solver));
      for (int rhs = 0; rhs < 5; rhs++) {
        double error;

        for (PetscInt i = 0; i < N && rhs; i++) {
          const double x = (i % n[0] + 1) / (double)(n[0] + 1), y = (i / n[0] + 1) / (double)(n[1] + 1);

          f[i] = rhs == 1   ? 1
                 : rhs == 2 ? sin(PETSC_PI * x) * sin(PETSC_PI * y)
                 : rhs == 3 ? x * y
                            : (i == N / 2 + n[0] / 2);
        }
        PetscCall(BCRSolverSolve(solver, PETSC_MEMTYPE_HOST, NULL, PETSC_FALSE, 1, f, N, u, N));
        error = Backward(op, 1, 0, f, u);
        Check(error <= Bound(), "on a device, shift %g, right-hand side %d, %d corrections: backward error %g",
              (double)op->shift, rhs, (int)solver->comp[0].ncorrect, error);
      }
      PetscCall(BCRSolverDestroy(&solver));
      PetscCall(BCROperatorDestroy(1, &op));
    }
  }
  PetscCall(PetscFree2(f, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt all[2];
  char backend[8] = "cpu";
  PetscBool device;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscStrcmp(backend, "cuda", &device));
  if (device) {
    if (size == 1 && BCRSolverHaveDevice(NULL)) PetscCall(DeviceCorrections());
  } else {
    PetscCall(Corrections());
    PetscCall(Fallback());
    PetscCall(FallbackShifts());
    PetscCall(Components());
    PetscCall(HandOver());
    PetscCall(Strides());
  }
  all[0] = passed;
  all[1] = failed;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, all, 2, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d passed, %d failed\n", (int)all[0], (int)all[1]));
  PetscCall(PetscFinalize());
  return all[1] ? 1 : (all[0] ? 0 : 77);
}
