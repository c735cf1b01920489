/*
  BCRSolver against dense matrices: operators of every kind (ends, weights, dropped planes with and
  without coupling and slope, scale of either sign, a general axis, row scaling, several components,
  empty boxes), each precision, transposes, several right-hand sides, in place, updates. The dense
  matrix is built from the equations that the operator stands for, not from the operator.

  quick: 1
*/
#include "problem.h"
#include "../../src/operator/devscale.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "../../src/base/cuda.h"
#endif

static PetscBool device;             /* -backend cuda: the same cases on a CUDA device, vectors staged */
static PetscBool graph = PETSC_TRUE; /* -graph off: kernel by kernel there */

/* Row scales of every second call are on the device, as the reader leaves those of a matrix that is there */
static PetscErrorCode MoveScales(PetscInt dof, const BCROperator ops[], BCROperator moved[])
{
#if defined(PETSCBCR_HAVE_CUDA)
  static int call = 0;

  call++;
#endif
  PetscFunctionBeginUser;
  for (PetscInt c = 0; c < dof; c++) {
    moved[c] = ops[c];
#if defined(PETSCBCR_HAVE_CUDA)
    if (device && call % 2 && ops[c].rowscale) {
      const PetscInt n =
        ops[c].axis[0].n * (ops[c].dim > 1 ? ops[c].axis[1].n : 1) * (ops[c].dim > 2 ? ops[c].axis[2].n : 1);
      double *inverse, *there;

      PetscCall(PetscMalloc1(n, &inverse));
      for (PetscInt i = 0; i < n; i++) inverse[i] = 1 / (double)ops[c].rowscale[i];
      PetscCall(BCRDeviceScaleCreate(n, &moved[c].devscale, &there));
      if (n)
        PetscCheck(moved[c].devscale && !BCRCudaPut(there, inverse, (size_t)n * sizeof(double), NULL), PETSC_COMM_SELF,
                   PETSC_ERR_GPU, "Row scales to the device");
      PetscCall(PetscFree(inverse));
      moved[c].rowscale = NULL;
    }
#endif
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CreateSolver(PetscInt dof, const BCROperator ops[], const BCRSolverOptions *options,
                                   BCRSolver *solver)
{
  static int call = 0;
  BCRSolverOptions with = *options;
  BCROperator *moved;

  PetscFunctionBeginUser;
  /* the host takes operators with row scales on the device, too */
  with.device = device && ++call % 8 ? PETSC_TRUE : PETSC_FALSE;
  with.plainlaunch = graph ? PETSC_FALSE : PETSC_TRUE;
  PetscCall(PetscMalloc1(dof, &moved));
  PetscCall(MoveScales(dof, ops, moved));
  PetscCall(BCRSolverCreate(dof, moved, &with, NULL, solver));
  for (PetscInt c = 0; c < dof; c++) PetscCall(BCRDeviceScaleDestroy(&moved[c].devscale));
  PetscCall(PetscFree(moved));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode UpdateSolver(BCRSolver solver, PetscInt dof, const BCROperator ops[], PetscBool *done)
{
  BCROperator *moved;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc1(dof, &moved));
  PetscCall(MoveScales(dof, ops, moved));
  PetscCall(BCRSolverUpdate(solver, moved, done));
  for (PetscInt c = 0; c < dof; c++) PetscCall(BCRDeviceScaleDestroy(&moved[c].devscale));
  PetscCall(PetscFree(moved));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves with dof problems and compares every component */
static PetscErrorCode SolveAndCompare(BCRSolver solver, PetscInt dof, const Problem p[], const Matrix A[],
                                      PetscBool transpose, PetscInt nrhs, int precision, const char *name)
{
  const PetscInt n = p[0].nodes * dof, ld = n + 3;
  PetscScalar *f, *u, *again;
  BCRSolverInfo info;

  PetscFunctionBegin;
  PetscCall(PetscCalloc3(ld * nrhs, &f, ld * nrhs, &u, ld * nrhs, &again));
  for (PetscInt r = 0; r < nrhs; r++) RandomVector(n, f + r * ld);
  PetscCall(PetscArraycpy(again, f, ld * nrhs));
  PetscCall(BCRSolverSolve(solver, PETSC_MEMTYPE_HOST, NULL, transpose, nrhs, f, ld, u, ld));
  Check(Same(ld * nrhs, f, again), name, "the right-hand side was changed", 1, 0);
  PetscCall(BCRSolverGetInfo(solver, &info));
  for (PetscInt r = 0; r < nrhs; r++) {
    for (PetscInt c = 0; c < dof; c++)
      PetscCall(Compare(&p[c], &A[c], transpose, dof, f + r * ld + c, u + r * ld + c, precision,
                        nrhs == 1 && dof == 1 ? (double)info.removed : -1, name));
    for (PetscInt i = n; i < ld; i++) {
      if (u[r * ld + i] != (PetscScalar)0)
        Check(0, name, "written beyond the vector", (double)PetscAbsScalar(u[r * ld + i]), 0);
    }
  }
  /* the same bits again */
  for (PetscInt i = 0; i < ld * nrhs; i++) again[i] = (PetscScalar)NAN;
  PetscCall(BCRSolverSolve(solver, PETSC_MEMTYPE_HOST, NULL, transpose, nrhs, f, ld, again, ld));
  for (PetscInt r = 0; r < nrhs; r++)
    Check(Same(n, u + r * ld, again + r * ld), name, "a repeated solve differs", 1, 0);
  /* in place */
  PetscCall(PetscArraycpy(again, f, ld * nrhs));
  PetscCall(BCRSolverSolve(solver, PETSC_MEMTYPE_HOST, NULL, transpose, nrhs, again, ld, again, ld));
  for (PetscInt r = 0; r < nrhs; r++) {
    for (PetscInt c = 0; c < dof; c++)
      PetscCall(Compare(&p[c], &A[c], transpose, dof, f + r * ld + c, again + r * ld + c, precision, -1, name));
  }
  PetscCall(PetscFree3(f, u, again));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int mixed[2]; /* solvers of mixed precision: by corrections; in double, as a trial of those in set-up said */

static PetscErrorCode RunCase(PetscInt dim, const PetscInt n[], const int planes[][2], int kind, PetscInt dof,
                              int equal)
{
  static int count = 0;
  const int first = count++;
  Problem p[3];
  Matrix A[3];
  BCROperator ops[3];
  char name[256];
  uint64_t seed = TestState;

  PetscFunctionBegin;
  for (PetscInt c = 0; c < dof; c++) {
    const uint64_t keep = TestState;
    int k = kind;

    if (equal && c) TestState = seed; /* the operator of component 0 again */
    else if (c == 2 && !(k & COUPLINGS)) k |= NEUMANN;
    ProblemCreate(&p[c], dim, n, planes, k);
    if (equal && c) TestState = keep;
    A[c] = MatrixCreate(&p[c]);
    ops[c] = p[c].op;
  }
  for (int precision = 0; precision < 3; precision++) {
    BCRSolverOptions options;
    BCRSolverInfo info;
    BCRSolver solver;

    memset(&options, 0, sizeof(options));
    options.core.precision = (BCRPrecision)precision;
    options.core.isa = first % 4 - 1;
    PetscCall(CreateSolver(dof, ops, &options, &solver));
    PetscCall(BCRSolverGetInfo(solver, &info));
    if (precision == BCR_MIXED) mixed[info.doubles > 0]++;
    for (int t = 0; t < 2; t++) {
      PetscInt nrhs = 1 + (first + t + precision) % 3;

      PetscCall(PetscSNPrintf(name, sizeof(name),
                              "case %d (%" PetscInt_FMT "x%" PetscInt_FMT "x%" PetscInt_FMT
                              " planes %d%d%d%d%d%d kind %d dof %" PetscInt_FMT "%s) %s%s",
                              first, p[0].n[0], p[0].n[1], p[0].n[2], p[0].line[0].plane[0], p[0].line[0].plane[1],
                              p[0].line[1].plane[0], p[0].line[1].plane[1], p[0].line[2].plane[0],
                              p[0].line[2].plane[1], kind, dof, equal ? " equal" : "", precisions[precision],
                              t ? " transpose" : ""));
      PetscCall(SolveAndCompare(solver, dof, p, A, t ? PETSC_TRUE : PETSC_FALSE, nrhs, precision, name));
    }
    PetscCall(BCRSolverDestroy(&solver));
  }
  for (PetscInt c = 0; c < dof; c++) {
    ProblemFree(&p[c]);
    MatrixFree(&A[c]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Random_(int rounds)
{
  static const PetscInt sizes[] = {0, 1, 1, 2, 2, 3, 3, 4, 5, 7, 8, 9, 11, 12, 13, 16, 17, 31, 33};

  PetscFunctionBegin;
  for (int round = 0; round < rounds; round++) {
    PetscInt dim = 1 + Pick(3), n[3] = {1, 1, 1}, nodes = 1, dof = Pick(4) ? 1 : 2 + Pick(2);
    int planes[3][2] = {{0}}, kind = 0;

    if (Pick(2)) kind |= PLANES;
    if (!Pick(3)) kind |= WEIGHTS;
    if (!Pick(4)) kind |= Pick(2) ? GENERAL : GENERAL | SEVERAL;
    if (!Pick(5)) kind |= NEUMANN;
    if (!Pick(5)) kind |= NEGATIVE;
    if (kind & PLANES && Pick(2)) kind |= SLOPES;
    if (!Pick(6)) {
      kind |= ROWSCALE;
      if (Pick(2)) kind |= LEFT;
      if (kind & PLANES && !(kind & LEFT && Pick(3))) kind = (kind & ~(SLOPES | NEUMANN)) | COUPLINGS;
    }
    for (int d = 0; d < dim; d++) {
      const int most = dim == 1 ? 19 : (dim == 2 ? 16 : 11);

      n[d] = sizes[Pick(most)];
      if (kind & PLANES) {
        planes[d][0] = Pick(3) > 0;
        planes[d][1] = Pick(3) > 0;
      }
      if (n[d] == 0 && !planes[d][0] && !planes[d][1]) n[d] = 1;
      nodes *= n[d] + planes[d][0] + planes[d][1];
    }
    if (nodes > 350) continue;
    PetscCall(RunCase(dim, n, planes, kind, dof, Pick(2)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Larger grids, by the residual */
static PetscErrorCode Larger(void)
{
  static const struct {
    PetscInt dim, n[3];
    int planes[3][2], kind;
  } cases[] = {
    {1, {1000, 1, 1},  {{1, 0}, {0, 0}, {0, 0}}, PLANES                     },
    {2, {257, 130, 1}, {{0, 0}, {0, 0}, {0, 0}}, 0                          },
    {2, {127, 200, 1}, {{1, 1}, {1, 1}, {0, 0}}, PLANES                     },
    {2, {128, 128, 1}, {{0, 0}, {0, 0}, {0, 0}}, NEUMANN | WEIGHTS          },
    {2, {64, 300, 1},  {{1, 0}, {0, 1}, {0, 0}}, PLANES | SLOPES            },
    {2, {5, 600, 1},   {{0, 0}, {0, 0}, {0, 0}}, ROWSCALE | WEIGHTS         },
    {2, {600, 5, 1},   {{0, 0}, {1, 0}, {0, 0}}, GENERAL | PLANES           },
    {2, {90, 75, 1},   {{1, 1}, {1, 1}, {0, 0}}, ROWSCALE | LEFT | PLANES   },
    {3, {33, 20, 41},  {{1, 1}, {1, 1}, {1, 1}}, PLANES                     },
    {3, {31, 32, 17},  {{0, 0}, {0, 0}, {0, 0}}, NEUMANN                    },
    {3, {64, 9, 30},   {{0, 1}, {0, 0}, {1, 0}}, PLANES | SLOPES | WEIGHTS  },
    {3, {16, 40, 24},  {{0, 0}, {0, 0}, {0, 0}}, GENERAL | WEIGHTS          },
    {2, {50, 43, 1},   {{1, 0}, {1, 1}, {0, 0}}, GENERAL | SEVERAL | PLANES },
    {3, {16, 19, 13},  {{0, 1}, {1, 0}, {1, 1}}, GENERAL | SEVERAL | PLANES },
    {3, {20, 9, 23},   {{0, 0}, {0, 0}, {0, 0}}, GENERAL | SEVERAL | NEUMANN},
  };

  PetscFunctionBegin;
  for (size_t m = 0; m < sizeof(cases) / sizeof(cases[0]); m++)
    PetscCall(RunCase(cases[m].dim, cases[m].n, cases[m].planes, cases[m].kind, m % 4 == 3 ? 2 : 1, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values in the same shape: scale, shift, planes, row scales, weights, all couplings times a
   constant; then what it has to refuse */
static PetscErrorCode Updates(void)
{
  const int kinds[] = {0,
                       PLANES,
                       PLANES | SLOPES,
                       PLANES | WEIGHTS,
                       ROWSCALE,
                       ROWSCALE | PLANES | COUPLINGS,
                       GENERAL,
                       GENERAL | PLANES | SLOPES,
                       ROWSCALE | LEFT | PLANES | SLOPES,
                       ROWSCALE | LEFT | WEIGHTS,
                       GENERAL | SEVERAL | PLANES,
                       GENERAL | SEVERAL | WEIGHTS};
  const PetscInt n[] = {7, 6, 5};
  const int planes[][2] =
    {
      {1, 0},
      {1, 1},
      {0, 1}
  },
            none[][2] = {{0, 0}, {0, 0}, {0, 0}};

  PetscFunctionBegin;
  for (int round = 0; round < 24; round++) {
    const int kind = kinds[round % 12];

    for (int precision = 0; precision < 3; precision++) {
      const PetscInt dim = 2 + (round + round / 12) % 2;
      Problem p[2], other;
      Matrix A[2];
      BCROperator ops[2];
      BCRSolverOptions options;
      BCRSolver solver, second;
      PetscBool done;
      char name[128];

      memset(&options, 0, sizeof(options));
      options.core.precision = (BCRPrecision)precision;
      options.core.isa = -1;
      for (int c = 0; c < 2; c++) {
        ProblemCreate(&p[c], dim, n, kind & PLANES ? planes : none, kind);
        A[c] = MatrixCreate(&p[c]);
        ops[c] = p[c].op;
      }
      PetscCall(CreateSolver(2, ops, &options, &solver));
      PetscCall(CreateSolver(1, ops, &options, &second));
      PetscCall(SolveAndCompare(solver, 2, p, A, PETSC_FALSE, 1, precision, "before updates"));
      for (int step = 0; step < 6; step++) {
        PetscCall(PetscSNPrintf(name, sizeof(name), "update %d of kind %d, %s", step, kind, precisions[precision]));
        for (int c = 0; c < 2; c++) {
          Problem *q = &p[c];

          if (step == 0 || step == 4) q->op.scale = (PetscReal)(q->scale = Real(-3 * q->scale));
          if (step == 1 || step == 4) q->op.shift = (PetscReal)(q->shift = Real(q->shift + 1 + c));
          for (int d = 0; d < dim && step == 2; d++) {
            for (int s = 0; s < 2; s++) {
              const PetscInt nodes = p->nodes / q->N[d];

              if (!q->line[d].plane[s]) continue;
              for (PetscInt i = 0; i < nodes; i++) q->inv[d][s][i] = Real(Random(.5, 2));
              free(q->op.axis[d].plane[s].inv);
              q->op.axis[d].plane[s].inv = ToReal(nodes, q->inv[d][s]);
              for (PetscInt i = 0; i < nodes && q->couplings[d][s]; i++)
                q->op.axis[d].plane[s].couplings[i] = (PetscReal)(q->couplings[d][s][i] = Real(Random(-1, 1)));
            }
          }
          if (step == 3) {
            if (kind & ROWSCALE) {
              for (PetscInt i = 0; i < q->n[0] * q->n[1] * q->n[2]; i++)
                q->op.rowscale[i] = (PetscReal)(q->rowscale[i] = Real(Random(.5, 2)));
            }
            free(q->op.axis[0].weight);
            for (PetscInt i = 0; i < n[0]; i++) q->line[0].w[i] = Real(Random(.5, 2));
            q->op.axis[0].weight = ToReal(n[0], q->line[0].w);
          }
          if (step == 5) { /* another time step: T times 1/7 */
            for (int d = 0; d < 3; d++) {
              Line *l = &q->line[d];
              BCRAxis *x = &q->op.axis[d];

              for (PetscInt i = 0; i < l->n; i++) {
                l->lower[i] /= 7;
                l->diag[i] /= 7;
                l->upper[i] /= 7;
                if (x->lower) x->lower[i] /= 7, x->diag[i] /= 7, x->upper[i] /= 7;
              }
              x->a /= 7;
              for (int s = 0; s < 2; s++) x->plane[s].coupling /= 7;
            }
          }
          MatrixFree(&A[c]);
          A[c] = MatrixCreate(q);
          ops[c] = q->op;
        }
        PetscCall(UpdateSolver(solver, 2, ops, &done));
        Check(done, name, "refused", 0, 1);
        if (done) {
          PetscCall(SolveAndCompare(solver, 2, p, A, PETSC_FALSE, 1, precision, name));
          PetscCall(SolveAndCompare(solver, 2, p, A, PETSC_TRUE, 1, precision, name));
        }
      }
      /* other couplings in one axis, another size, other ends, other planes */
      for (int step = 0; step < 4; step++) {
        const PetscInt more[] = {7, 7, 5};

        ops[0] = p[0].op;
        memset(&other, 0, sizeof(other));
        if (step == 0 && ops[0].axis[1].lower) continue;
        if (step == 0) ops[0].axis[1].a *= 2;
        if (step == 1) {
          ProblemCreate(&other, dim, more, kind & PLANES ? planes : none, kind);
          ops[0] = other.op;
        }
        if (step == 2)
          ops[0].axis[0].end[1] = ops[0].axis[0].end[1] == BCR_END_NEUMANN ? BCR_END_DIRICHLET : BCR_END_NEUMANN;
        if (step == 3) ops[0].axis[1].plane[0].present = kind & PLANES ? PETSC_FALSE : PETSC_TRUE;
        PetscCall(UpdateSolver(solver, 2, ops, &done));
        Check(!done, "updates", "an operator of another shape was taken", step, 0);
        ProblemFree(&other);
      }
      ops[0] = p[0].op;
      PetscCall(SolveAndCompare(solver, 2, p, A, PETSC_FALSE, 1, precision, "after refused updates"));
      PetscCall(UpdateSolver(second, 1, ops, &done)); /* the other solver has been alone since */
      Check(done, "second solver", "refused", 0, 1);
      if (done) PetscCall(SolveAndCompare(second, 1, p, A, PETSC_FALSE, 2, precision, "second solver"));
      PetscCall(BCRSolverDestroy(&second));
      PetscCall(BCRSolverDestroy(&solver));
      for (int c = 0; c < 2; c++) {
        ProblemFree(&p[c]);
        MatrixFree(&A[c]);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solver is linear in f and 1/scale: powers of two change no digit, however far they go; zero gives zero */
static PetscErrorCode Extremes(void)
{
  const PetscInt n[] = {9, 12, 1};
  const int planes[][2] = {
    {1, 0},
    {0, 0},
    {0, 0}
  };
  const int far = sizeof(PetscReal) == 4 ? 40 : 900;

  PetscFunctionBegin;
  for (int precision = 0; precision < 3; precision++) {
    for (int kind = 0; kind < 2; kind++) {
      Problem p;
      BCRSolverOptions options;
      BCRSolver solver;
      PetscScalar *f, *u, *v;
      PetscInt N;

      memset(&options, 0, sizeof(options));
      options.core.precision = (BCRPrecision)precision;
      options.core.isa = -1;
      ProblemCreate(&p, 2, n, planes, kind ? PLANES | WEIGHTS : PLANES);
      N = p.nodes;
      PetscCall(CreateSolver(1, &p.op, &options, &solver));
      PetscCall(PetscMalloc3(N, &f, N, &u, N, &v));
      for (PetscInt i = 0; i < N; i++) f[i] = 0;
      PetscCall(BCRSolverSolve(solver, PETSC_MEMTYPE_HOST, NULL, PETSC_FALSE, 1, f, N, u, N));
      for (PetscInt i = 0; i < N; i++) {
        if (u[i] != (PetscScalar)0)
          Check(0, "zero right-hand side", precisions[precision], (double)PetscAbsScalar(u[i]), 0);
      }
      npassed++;
      RandomVector(N, f);
      PetscCall(BCRSolverSolve(solver, PETSC_MEMTYPE_HOST, NULL, PETSC_FALSE, 1, f, N, u, N));
      if (precision != BCR_SINGLE) { /* single has the range of single */
        for (int sign = -1; sign < 2; sign += 2) {
          double largest = 0, difference = 0;

          for (PetscInt i = 0; i < N; i++) v[i] = f[i] * (PetscReal)ldexp(1., sign * far);
          PetscCall(BCRSolverSolve(solver, PETSC_MEMTYPE_HOST, NULL, PETSC_FALSE, 1, v, N, v, N));
          for (PetscInt i = 0; i < N; i++) {
            largest = PetscMax(largest, (double)PetscAbsScalar(u[i]));
            TestLargest(&difference, (double)PetscAbsScalar(v[i] * (PetscReal)ldexp(1., -sign * far) - u[i]));
          }
          Check(difference <= 100 * Tolerance(precision) * largest, "far scale", precisions[precision], difference,
                100 * Tolerance(precision) * largest);
        }
      }
      PetscCall(PetscFree3(f, u, v));
      PetscCall(BCRSolverDestroy(&solver));
      ProblemFree(&p);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Smallest eigenvalue lost in single precision, more or less: mixed has to notice and still
   deliver, where corrections gain little too */
static PetscErrorCode NearlySingular(void)
{
  const PetscInt n[] = {31, 30, 1};
  const int planes[][2] = {
    {1, 1},
    {0, 0},
    {0, 0}
  };

  PetscFunctionBegin;
  if (sizeof(PetscReal) == 4) PetscFunctionReturn(PETSC_SUCCESS);
  for (int quarter = 8; quarter < 50; quarter++) {
    const double decade = quarter / 4.;
    Problem p;
    Matrix A;
    BCRSolverOptions options;
    BCRSolver solver;
    char name[64];
    double smallest = 0;

    ProblemCreate(&p, 2, n, planes, PLANES);
    for (int d = 0; d < 2; d++) { /* Dirichlet ends all round, coupled to the planes of x */
      BCRAxis *x = &p.op.axis[d];
      Line *l = &p.line[d];

      x->a = 1;
      l->periodic = 0;
      for (int s = 0; s < 2; s++) {
        x->end[s] = BCR_END_DIRICHLET;
        if (l->plane[s]) {
          x->plane[s].couple = PETSC_TRUE;
          x->plane[s].coupling = 1;
        }
      }
      for (PetscInt i = 0; i < n[d]; i++) {
        l->diag[i] = 2;
        l->lower[i] = i || d == 0 ? 1 : 0;
        l->upper[i] = i + 1 < n[d] || d == 0 ? 1 : 0;
      }
      smallest += 2 - 2 * cos(PETSC_PI / (double)(n[d] + 1));
    }
    p.shift = -smallest * (1 - pow(10, -decade));
    p.op.shift = (PetscReal)p.shift;
    p.singular = 0;
    p.op.singular = PETSC_FALSE;
    A = MatrixCreate(&p);
    for (int precision = 0; precision < 3; precision += 2) {
      memset(&options, 0, sizeof(options));
      options.core.precision = (BCRPrecision)precision;
      options.core.isa = -1;
      PetscCall(PetscSNPrintf(name, sizeof(name), "nearly singular, 1e-%g, %s", decade, precisions[precision]));
      PetscCall(CreateSolver(1, &p.op, &options, &solver));
      PetscCall(SolveAndCompare(solver, 1, &p, &A, PETSC_FALSE, 1, precision, name));
      if (quarter % 8 == 0) { /* another shift and scale, for the core in double that has been in use */
        Problem q = p;
        Matrix B;
        PetscBool done;

        q.op.shift = (PetscReal)(q.shift = Real(-smallest * (1 - 2 * pow(10, -decade))));
        q.op.scale = (PetscReal)(q.scale = Real(-3 * q.scale));
        B = MatrixCreate(&q);
        PetscCall(UpdateSolver(solver, 1, &q.op, &done));
        Check(done, name, "another shift was refused", 0, 1);
        if (done) PetscCall(SolveAndCompare(solver, 1, &q, &B, PETSC_FALSE, 1, precision, name));
        MatrixFree(&B);
      }
      PetscCall(BCRSolverDestroy(&solver));
    }
    MatrixFree(&A);
    ProblemFree(&p);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Components with one operator, which share a core, as long as their operators stay alike: scale,
   shift and all couplings change, together and apart */
static PetscErrorCode Shared(void)
{
  const PetscInt n[] = {7, 9, 1};
  const int none[][2] = {
    {0, 0},
    {0, 0},
    {0, 0}
  };

  PetscFunctionBegin;
  for (int precision = 0; precision < 3; precision++) {
    for (int change = 0; change < 8; change++) {
      Problem p[2];
      Matrix A[2];
      BCROperator ops[2];
      BCRSolverOptions options;
      BCRSolver solver;
      PetscBool done;
      uint64_t seed = TestState;
      const PetscBool alike = change > 3 ? PETSC_TRUE : PETSC_FALSE;
      char name[64];

      memset(&options, 0, sizeof(options));
      options.core.precision = (BCRPrecision)precision;
      options.core.isa = -1;
      for (int c = 0; c < 2; c++) {
        TestState = seed;
        ProblemCreate(&p[c], 2, n, none, NEGATIVE);
        A[c] = MatrixCreate(&p[c]);
        ops[c] = p[c].op;
      }
      PetscCall(CreateSolver(2, ops, &options, &solver));
      PetscCall(SolveAndCompare(solver, 2, p, A, PETSC_FALSE, 1, precision, "shared"));
      for (int c = alike ? 0 : 1; c < 2; c++) {
        Problem *q = &p[c];

        if (change % 4 == 0 || change % 4 == 3) q->op.scale = (PetscReal)(q->scale = Real(-3 * q->scale));
        if (change % 4 == 1 || change % 4 == 3) q->op.shift = (PetscReal)(q->shift = Real(q->shift + 1));
        for (int d = 0; d < 2 && change % 4 >= 2; d++) {
          for (PetscInt i = 0; i < q->n[d]; i++) {
            q->line[d].lower[i] *= 2;
            q->line[d].diag[i] *= 2;
            q->line[d].upper[i] *= 2;
          }
          q->op.axis[d].a *= 2;
        }
        MatrixFree(&A[c]);
        A[c] = MatrixCreate(q);
        ops[c] = q->op;
      }
      PetscCall(PetscSNPrintf(name, sizeof(name), "shared core, change %d, %s", change, precisions[precision]));
      PetscCall(UpdateSolver(solver, 2, ops, &done));
      Check(done || !alike, name, "refused", 0, 1);
      if (done) PetscCall(SolveAndCompare(solver, 2, p, A, PETSC_FALSE, 1, precision, name));
      PetscCall(BCRSolverDestroy(&solver));
      for (int c = 0; c < 2; c++) {
        ProblemFree(&p[c]);
        MatrixFree(&A[c]);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Work space, in vectors of the caller: 1.5 at most, but for the row scaling, itself one vector */
static PetscErrorCode Memory(void)
{
  const PetscInt n[] = {1023, 1000, 1};
  const int planes[][2] = {
    {0, 0},
    {0, 0},
    {0, 0}
  };

  PetscFunctionBegin;
  for (int precision = 0; precision < 3; precision++) {
    for (int m = 0; m < 6; m++) {
      const PetscInt dof = m % 3 + 1;
      Problem p[3];
      BCROperator ops[3];
      BCRSolverOptions options;
      BCRSolver solver;
      BCRSolverInfo info;
      PetscScalar *f, *u;
      PetscInt size = 0;
      double vectors, bound = m / 3 ? 2. : 1.5;
      char name[64];

      /* the box of floats is a whole vector of that PETSc, not half of one */
      if (sizeof(PetscReal) == 4 && precision == BCR_MIXED && m / 3) bound += 0.5;
      /* work in double on vectors in single: twice the size of a component */
      if (sizeof(PetscReal) == 4 && precision == BCR_DOUBLE) continue;
      memset(&options, 0, sizeof(options));
      options.core.precision = (BCRPrecision)precision;
      options.core.isa = -1;
      for (PetscInt c = 0; c < dof; c++) {
        ProblemCreate(&p[c], 2, n, planes, m / 3 ? ROWSCALE : 0);
        ops[c] = p[c].op;
        size += p[c].nodes;
      }
      PetscCall(CreateSolver(dof, ops, &options, &solver));
      PetscCall(PetscMalloc2(size, &f, size, &u));
      RandomVector(size, f);
      PetscCall(BCRSolverSolve(solver, PETSC_MEMTYPE_HOST, NULL, PETSC_FALSE, 1, f, size, u, size));
      PetscCall(BCRSolverGetInfo(solver, &info));
      vectors = (double)info.workspace / ((double)size * (double)sizeof(PetscScalar));
      PetscCall(PetscSNPrintf(name, sizeof(name), "work space, dof %" PetscInt_FMT " %s", dof, precisions[precision]));
      Check(vectors <= bound && info.workspace > 0, name, "vectors", vectors, bound);
      Check(info.flops > 0, name, "operations", info.flops, 0);
      PetscCall(PetscFree2(f, u));
      PetscCall(BCRSolverDestroy(&solver));
      for (PetscInt c = 0; c < dof; c++) ProblemFree(&p[c]);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char backend[8] = "cpu";
  PetscInt cases = 600;
  PetscBool quick;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(TestSeed());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cases", &cases, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-graph", &graph, NULL));
  PetscCall(PetscStrcmp(backend, "cuda", &device));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-quick", &quick));
  PetscCall(Random_((int)cases));
  if (quick) goto done;
  PetscCall(Larger());
  PetscCall(Updates());
  PetscCall(Shared());
  PetscCall(Extremes());
  PetscCall(NearlySingular());
  if (!device) PetscCall(Memory());
done:
  printf("mixed precision: %d solvers, %d of them in double\n", mixed[0] + mixed[1], mixed[1]);
  if (!device) Check(20 * mixed[1] <= mixed[0], "mixed precision", "solvers in double", mixed[1], mixed[0] / 20);
  PetscCall(PetscFinalize());
  return TestStatus(1, (int)npassed, (int)nfailed);
}
