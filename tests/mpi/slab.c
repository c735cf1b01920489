/*
  BCRSolver with slabs on several ranks: random operators of every kind (tests/unit/problem.h),
  slabs along each axis, cut at random, evenly, into single rows, with ranks that have nothing, interfaces through memory
  that ranks share and, for every other solver, by messages. The solution, put together, against the equations, LAPACK, and the solver on one process.
  -backend cuda: on the CUDA devices that the ranks have, or share; the one process stays on the host.
  -planes i,j: cases i to j - 1 of Planes() and nothing else
  ranks: 1 2 3 4 5 7 8
  turns: 3
*/
#include <petsc/private/petscimpl.h> /* use_gpu_aware_mpi */
#include "slabs.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include <petscdevice.h>
#endif

static int nlevel0;      /* solves with level 0 */
static PetscBool device; /* -backend cuda */
static PetscInt transport;
static PetscBool refuse; /* the MPI has no windows: for every other solver */

#undef MPI_Win_allocate_shared
int MPI_Win_allocate_shared(MPI_Aint bytes, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win)
{
  return refuse ? MPI_ERR_NO_MEM : PMPI_Win_allocate_shared(bytes, unit, info, comm, base, win);
}

static PetscErrorCode CreateSlabs(PetscInt dof, const BCROperator ops[], const BCRSolverOptions *options,
                                  const BCRSlab *slab, BCRSolver *solver)
{
  BCRSolverOptions with = *options;

  PetscFunctionBegin;
  refuse = (PetscBool)!refuse;
  with.device = device;
  with.transport = (int)transport;
  with.gpuaware = use_gpu_aware_mpi;
  PetscCall(BCRSolverCreate(dof, ops, &with, slab, solver));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Some planes' diagonals are the same but for those in one row along the axis of the slabs: ranks
   without that row have no array of them, as the reader leaves it */
static void FewDiagonals(Problem *p, int axis)
{
  const PetscInt rows[] = {0, p->N[axis] - 1, p->N[axis] / 2};

  for (int d = 0; d < 3; d++) {
    for (int s = 0; s < 2; s++) {
      BCRPlane *plane = &p->op.axis[d].plane[s];
      const PetscInt row = rows[Pick(3)];
      PetscInt c[3], n[3];

      if (!plane->present || !plane->inv || d == axis || Pick(2)) continue;
      plane->inv0 = (PetscReal)Real(Random(.5, 2));
      for (int e = 0; e < 3; e++) n[e] = e == d ? 1 : p->N[e];
      for (c[2] = 0; c[2] < n[2]; c[2]++) {
        for (c[1] = 0; c[1] < n[1]; c[1]++) {
          for (c[0] = 0; c[0] < n[0]; c[0]++) {
            const PetscInt q = PlaneNumber(p, d, c);

            if (c[axis] != row) p->inv[d][s][q] = (double)(plane->inv[q] = plane->inv0);
          }
        }
      }
    }
  }
}

static PetscErrorCode SolveAndCompare(BCRSolver one, BCRSolver solver, PetscInt dof, const Problem p[],
                                      const Matrix A[], PetscBool transpose, PetscInt nrhs, int axis, PetscInt start,
                                      PetscInt len, int precision, const char *name)
{
  const PetscInt *N = p[0].N, n = p[0].nodes * dof, local = n / N[axis] * len, ld = local + 2;
  PetscScalar *f, *u, *v, *fl, *ul;
  BCRSolverInfo info, info1;
  double bound = sizeof(PetscReal) == 4 || precision == BCR_SINGLE ? 1e-3 : 2e-11;

  PetscFunctionBegin;
  PetscCall(BCRSolverGetInfo(solver, &info));
  if (info.ranks[0] &&
      (device ? info.onepass : (info.core.kind == BCR_PLAN_LEVEL0 || info.core.kind == BCR_PLAN_POLES)))
    nlevel0++;
  Check(!info.ranks[0] || info.onepass || info.refused[0] || strstr(info.ranks, "has all rows"), name,
        "two solves without a reason", 0, 0);
  PetscCall(PetscCalloc5(n * nrhs, &f, n * nrhs, &u, n * nrhs, &v, ld * nrhs, &fl, ld * nrhs, &ul));
  RandomVector(n * nrhs, f);
  PetscCall(BCRSolverSolve(one, PETSC_MEMTYPE_HOST, NULL, transpose, nrhs, f, n, v, n));
  PetscCall(BCRSolverGetInfo(one, &info1));
  for (PetscInt i = 0; i < ld * nrhs; i++) ul[i] = (PetscScalar)NAN;
  for (int place = 0; place < 2; place++) { /* then in place */
    for (PetscInt r = 0; r < nrhs; r++)
      Copy(N, dof, axis, start, len, PETSC_FALSE, f + r * n, (place ? ul : fl) + r * ld);
    PetscCall(BCRSolverSolve(solver, PETSC_MEMTYPE_HOST, NULL, transpose, nrhs, place ? ul : fl, ld, ul, ld));
    PetscCall(BCRSolverGetInfo(solver, &info));
    PetscCall(PetscArrayzero(u, n * nrhs));
    for (PetscInt r = 0; r < nrhs; r++) Copy(N, dof, axis, start, len, PETSC_TRUE, u + r * n, ul + r * ld);
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, u, (PetscMPIInt)(n * nrhs), MPIU_SCALAR, MPIU_SUM, PETSC_COMM_WORLD));
    Check(PetscAbsReal(info.removed - info1.removed) <= bound * (1 + info1.removed), name, "removed constant",
          (double)info.removed, (double)info1.removed);
    for (PetscInt r = 0; r < nrhs; r++) {
      double difference = 0, largest = 0;

      for (PetscInt i = 0; i < n; i++) {
        const double d = (double)PetscAbsScalar(u[r * n + i] - v[r * n + i]);

        TestLargest(&difference, d);
        largest = PetscMax(largest, (double)PetscAbsScalar(v[r * n + i]));
      }
      Check(difference <= bound * largest || Same(n, u + r * n, v + r * n), name,
            place ? "difference from one rank, in place" : "difference from one rank", difference / largest, bound);
      if (rank == 0 && !place) {
        for (PetscInt c = 0; c < dof; c++)
          PetscCall(Compare(&p[c], &A[c], transpose, dof, f + r * n + c, u + r * n + c, precision,
                            nrhs == 1 && dof == 1 ? (double)info.removed : -1, name));
      }
    }
  }
  PetscCall(PetscFree5(f, u, v, fl, ul));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunCase(PetscInt dim, const PetscInt n[], const int planes[][2], int kind, PetscInt dof, int axis,
                              int how, PetscInt radix)
{
  static int count = 0;
  const int number = count++;
  Problem p[3];
  Matrix A[3];
  BCROperator ops[3], parts[3];
  BCRSlab slab;
  PetscInt start[64];
  char name[300], cut[100] = "";
  uint64_t keep;
  PetscBool singular = PETSC_FALSE;

  PetscFunctionBegin;
  for (PetscInt c = 0; c < dof; c++) {
    ProblemCreate(&p[c], dim, n, planes, c == 2 && !(kind & COUPLINGS) ? kind | NEUMANN : kind);
    FewDiagonals(&p[c], axis);
    if (p[c].singular && kind & GENERAL) singular = PETSC_TRUE;
    A[c] = MatrixCreate(&p[c]);
    ops[c] = p[c].op;
  }
  Cut(p[0].N[axis], how, start);
  keep = TestState;
  slab.comm = PETSC_COMM_WORLD;
  slab.axis = axis;
  slab.start = start[rank];
  slab.len = start[rank + 1] - start[rank];
  for (int q = 0; q < size; q++) {
    char one[16];

    PetscCall(PetscSNPrintf(one, sizeof(one), "%s%" PetscInt_FMT, q ? "+" : "", start[q + 1] - start[q]));
    PetscCall(PetscStrlcat(cut, one, sizeof(cut)));
  }
  for (PetscInt c = 0; c < dof; c++) OperatorPart(&p[c], axis, slab.start, slab.len, &parts[c]);
  for (int precision = 0; precision < 3; precision++) {
    BCRSolverOptions options;
    BCRSolver one, solver;

    if (dof > 1 && precision == 1 && number % 2) continue;
    memset(&options, 0, sizeof(options));
    options.core.precision = (BCRPrecision)precision;
    options.core.isa = number % 4 - 1;
    options.core.radix = radix;
    PetscCall(BCRSolverCreate(dof, ops, &options, NULL, &one));
    PetscCall(CreateSlabs(dof, parts, &options, &slab, &solver));
    for (int t = 0; t < 2; t++) {
      TestState = keep;
      /* the rows of a general axis add up to zero to rounding only, and one row gets what a slab's
         rows leave */
      slack = singular ? 10 : (precision == BCR_SINGLE ? 3 : 1);
      PetscCall(PetscSNPrintf(
        name, sizeof(name),
        "case %d (%" PetscInt_FMT "x%" PetscInt_FMT "x%" PetscInt_FMT
        " planes %d%d%d%d%d%d ends %d%d %d%d %d%d kind %d dof %" PetscInt_FMT " radix %" PetscInt_FMT
        ") along %c %s, %s%s",
        number, p[0].n[0], p[0].n[1], p[0].n[2], p[0].line[0].plane[0], p[0].line[0].plane[1], p[0].line[1].plane[0],
        p[0].line[1].plane[1], p[0].line[2].plane[0], p[0].line[2].plane[1], p[0].op.axis[0].end[0],
        p[0].op.axis[0].end[1], p[0].op.axis[1].end[0], p[0].op.axis[1].end[1], p[0].op.axis[2].end[0],
        p[0].op.axis[2].end[1], kind, dof, radix, 'x' + axis, cut, precisions[precision], t ? " transpose" : ""));
      PetscCall(SolveAndCompare(one, solver, dof, p, A, t ? PETSC_TRUE : PETSC_FALSE, 1 + (number + t) % 2, axis,
                                slab.start, slab.len, precision, name));
    }
    PetscCall(BCRSolverDestroy(&one));
    PetscCall(BCRSolverDestroy(&solver));
  }
  for (PetscInt c = 0; c < dof; c++) {
    OperatorPartFree(&parts[c]);
    ProblemFree(&p[c]);
    MatrixFree(&A[c]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Larger ones; a new shift, scale and gamma; ranks in another order, and a second solver on a part
   of them at the same time */
static PetscErrorCode Larger(PetscBool quick)
{
  const struct {
    PetscInt n[3];
    int axis, kind;
  } cases[] = {
    {{130, 301, 1},  1, 0                },
    {{301, 130, 1},  0, PLANES           },
    {{64, 33, 60},   2, NEUMANN          },
    {{52, 64, 40},   1, 0                },
    {{1000, 1, 1},   0, GENERAL          },
    {{100, 90, 1},   1, NEUMANN | GENERAL},
 /* these two have Dirichlet ends across the slabs: on devices lines along them, one pass */
    {{127, 127, 42}, 2, 0                },
    {{127, 42, 127}, 1, 0                }
  };
  MPI_Comm comm[2];
  PetscMPIInt half;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, 0, -rank, &comm[0]));
  PetscCallMPI(MPI_Comm_split(PETSC_COMM_WORLD, rank < (size + 1) / 2, rank, &comm[1]));
  PetscCallMPI(MPI_Comm_size(comm[1], &half));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) {
    const int planes[3][2] =
      {
        {0,                             0},
        {(cases[i].kind & PLANES) != 0, 0},
        {0,                             0}
    },
              axis = cases[i].axis;
    const PetscInt dim = cases[i].n[2] > 1 ? 3 : (cases[i].n[1] > 1 ? 2 : 1);
    BCRSolver one, solver[2];
    PetscBool refused[2];
    BCRSolverOptions options;
    BCROperator part[2], op;
    BCRSlab slab[2];
    Problem p;
    PetscScalar *f, *u, *v, *fl[2], *ul[2];

    if (quick && cases[i].n[0] != 127) continue;
    ProblemCreate(&p, dim, cases[i].n, planes, cases[i].kind);
    for (int d = 0; d < 3 && cases[i].n[0] == 127; d++) {
      if (d != axis) p.op.axis[d].end[0] = p.op.axis[d].end[1] = BCR_END_DIRICHLET;
      else if (p.op.axis[d].end[0] == BCR_END_PERIODIC) p.op.axis[d].end[0] = p.op.axis[d].end[1] = BCR_END_NEUMANN;
      p.op.singular = PETSC_FALSE;
    }
    op = p.op;
    PetscCall(PetscCalloc3(p.nodes, &f, p.nodes, &u, p.nodes, &v));
    memset(&options, 0, sizeof(options));
    options.core.isa = -1;
    options.core.precision = i % 2 && sizeof(PetscReal) == 8 ? BCR_MIXED : BCR_DOUBLE;
    if (sizeof(PetscReal) == 4) options.core.precision = BCR_DOUBLE;
    PetscCall(BCRSolverCreate(1, &op, &options, NULL, &one));
    for (int c = 0; c < 2; c++) {
      const PetscInt N = p.N[axis], P = c ? half : size;
      PetscMPIInt q;

      PetscCallMPI(MPI_Comm_rank(comm[c], &q));
      slab[c].comm = comm[c];
      slab[c].axis = axis;
      slab[c].start = q * (N / P) + PetscMin(q, N % P);
      slab[c].len = N / P + (q < N % P ? 1 : 0);
      OperatorPart(&p, axis, slab[c].start, slab[c].len, &part[c]);
      PetscCall(CreateSlabs(1, &part[c], &options, &slab[c], &solver[c]));
      refused[c] = refuse;
      PetscCall(PetscCalloc2(p.nodes / N * slab[c].len, &fl[c], p.nodes / N * slab[c].len, &ul[c]));
    }
    for (int step = 0; step < (quick ? 2 : 3); step++) {
      if (step) { /* other operators of the same shape */
        PetscBool done;

        if (step == 1) {
          if (!op.singular) op.shift = (PetscReal)(.1 + (double)op.shift);
          op.scale *= -3;
        } else {
          for (int d = 0; d < 3; d++) {
            op.axis[d].a *= 2;
            for (PetscInt j = 0; j < op.axis[d].n && op.axis[d].lower; j++) {
              op.axis[d].lower[j] *= 2;
              op.axis[d].diag[j] *= 2;
              op.axis[d].upper[j] *= 2;
            }
            for (int s = 0; s < 2; s++) op.axis[d].plane[s].coupling *= 2;
          }
        }
        PetscCall(BCRSolverUpdate(one, &op, &done));
        Check(done == PETSC_TRUE, "larger", "update of one rank", 0, 1);
        for (int c = 0; c < 2; c++) {
          for (int d = 0; d < 3; d++) {
            part[c].axis[d].a = op.axis[d].a;
            for (int s = 0; s < 2; s++) part[c].axis[d].plane[s].coupling = op.axis[d].plane[s].coupling;
          }
          part[c].shift = op.shift;
          part[c].scale = op.scale;
          refuse = refused[c];
          PetscCall(BCRSolverUpdate(solver[c], &part[c], &done));
          Check(done == PETSC_TRUE, "larger", "update of slabs", 0, 1);
        }
      }
      RandomVector(p.nodes, f);
      PetscCall(BCRSolverSolve(one, PETSC_MEMTYPE_HOST, NULL, PETSC_FALSE, 1, f, 0, v, 0));
      for (int c = 0; c < 2; c++) Copy(p.N, 1, axis, slab[c].start, slab[c].len, PETSC_FALSE, f, fl[c]);
      for (int c = 1; c >= 0; c--)
        PetscCall(BCRSolverSolve(solver[c], PETSC_MEMTYPE_HOST, NULL, PETSC_FALSE, 1, fl[c], 0, ul[c], 0));
      for (int c = 0; c < 2; c++) {
        double difference = 0, largest = 0, bound = sizeof(PetscReal) == 4 ? 1e-3 : 1e-10;
        BCRSolverInfo info;
        char name[100];

        PetscCall(PetscArrayzero(u, p.nodes));
        Copy(p.N, 1, axis, slab[c].start, slab[c].len, PETSC_TRUE, u, ul[c]);
        PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, u, (PetscMPIInt)p.nodes, MPIU_SCALAR, MPIU_SUM, comm[c]));
        for (PetscInt j = 0; j < p.nodes; j++) {
          const double d = (double)PetscAbsScalar(u[j] - v[j]);

          TestLargest(&difference, d);
          largest = PetscMax(largest, (double)PetscAbsScalar(v[j]));
        }
        PetscCall(PetscSNPrintf(name, sizeof(name), "larger case %d, step %d, communicator %d", (int)i, step, c));
        Check(difference <= bound * largest, name, "difference from one rank", difference / largest, bound);
        if (device && cases[i].n[0] == 127) {
          PetscCall(BCRSolverGetInfo(solver[c], &info));
          Check(!info.ranks[0] || info.onepass || strstr(info.ranks, "has all rows"), name, info.ranks, 0, 0);
        }
        PetscCall(BCRSolverGetInfo(solver[c], &info));
        if ((c ? half : size) > 1)
          Check(info.ranks[0] && (info.messages > 0 || rank > 0 || strstr(info.ranks, "memory that the ranks share")),
                name, "no messages counted", (double)info.messages, 1);
        if ((c ? half : size) > 1 && strstr(info.ranks, "shared out"))
          Check(device || (strstr(info.ranks, refused[c] ? "the MPI refused a window" : "memory that the ranks share")),
                name, info.ranks, (double)refused[c], 0);
      }
    }
    for (int c = 0; c < 2; c++) {
      PetscCall(BCRSolverDestroy(&solver[c]));
      OperatorPartFree(&part[c]);
      PetscCall(PetscFree2(fl[c], ul[c]));
    }
    PetscCall(BCRSolverDestroy(&one));
    PetscCall(PetscFree3(f, u, v));
    ProblemFree(&p);
  }
  for (int c = 0; c < 2; c++) PetscCallMPI(MPI_Comm_free(&comm[c]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows that leave gaps: an error on every rank, none waits for another */
static PetscErrorCode Errors(void)
{
  const PetscInt n[3] = {9, 8, 1};
  const int planes[3][2] = {{0}};
  BCRSolverOptions options;
  BCRSolver solver;
  Problem p;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ProblemCreate(&p, 2, n, planes, 0);
  memset(&options, 0, sizeof(options));
  for (int i = 0; i < 2; i++) {
    BCRSlab slab = {PETSC_COMM_WORLD, 1, rank ? (i ? 6 : 8) : 0, rank ? (i && rank == 1 ? 2 : 0) : 7};

    PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
    ierr = CreateSlabs(1, &p.op, &options, &slab, &solver);
    PetscCall(PetscPopErrorHandler());
    if (size == 1) Check(ierr == PETSC_ERR_ARG_SIZ, "rows missing", "error", ierr, PETSC_ERR_ARG_SIZ);
    else Check(ierr == PETSC_ERR_ARG_SIZ, i ? "rows twice" : "rows missing", "error", ierr, PETSC_ERR_ARG_SIZ);
    PetscCall(BCRSolverDestroy(&solver));
  }
  ProblemFree(&p);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Level 0 on every rank, with slabs of every height modulo 8, rows along x, and in three dimensions
   the axis across, for kinds of transforms that there are on devices */
static PetscErrorCode Heights(PetscBool quick)
{
  const PetscInt columns[] = {127, 40, 41}, across[] = {12, 10, 33};
  const int planes[3][2] = {{0}};

  PetscFunctionBegin;
  for (PetscInt h = 0; h < 8; h++) {
    const PetscInt n[3] = {columns[h % 4 == 0 ? 0 : 1 + h % 2], (24 + h) * size - h % 2, 1};

    if (!TestTurn()) continue;
    PetscCall(RunCase(2, n, planes, h % 3 == 2 ? NEGATIVE : (h % 4 == 0 ? 0 : NEUMANN), 1, 1, 0, 0));
  }
  for (PetscInt h = 0; h < 8; h += quick ? 3 : 1) { /* planes of modes across the slabs, which lie along z or y */
    const int axis = h % 4 == 3 ? 1 : 2;
    PetscInt n[3] = {columns[(h + h / 3) % 3], 0, 0};

    if (!TestTurn()) continue;
    n[axis] = (24 + h) * size - h % 2;
    n[3 - axis] = across[h % 3];
    PetscCall(RunCase(3, n, planes, h % 4 == 1 ? 0 : NEUMANN, 1, axis, 0, 0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A rank whose only row lies in a plane hands it over, with what the other planes have in it */
static PetscErrorCode HandOvers(void)
{
  const int planes[3][2] = {
    {1, 1},
    {1, 1},
    {1, 1}
  };

  PetscFunctionBegin;
  for (int k = 0; k < 12; k++) {
    const PetscInt dim = 2 + k % 2, n[3] = {6, 7, dim > 2 ? 5 : 1};

    PetscCall(RunCase(dim, n, planes, k < 8 ? PLANES : PLANES | SLOPES, 1, k / 2 % (int)dim, 1 + k / 6, 0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* |f - A u| / (|A| |u| + |f|) in the largest norm, which on devices was 1.5e-14 for interfaces
   whose values came in by the right-hand sides of lines with slow decay */
static PetscErrorCode Residual(void)
{
  const PetscInt nx = 2047, N = 256 * size - 1, start = N / size * rank + PetscMin(N % size, rank),
                 rows = N / size + (rank < N % size ? 1 : 0);
  const PetscMPIInt before = rank ? rank - 1 : MPI_PROC_NULL, after = rank + 1 < size ? rank + 1 : MPI_PROC_NULL;
  BCRSlab slab = {PETSC_COMM_WORLD, 1, start, rows};
  BCROperator op;
  BCRSolverOptions options;
  BCRSolver solver;
  PetscScalar *f, *u;
  double all[3] = {0, 0, 0}, residual;

  PetscFunctionBegin;
  if (sizeof(PetscReal) == 4) PetscFunctionReturn(PETSC_SUCCESS);
  memset(&op, 0, sizeof(op));
  memset(&options, 0, sizeof(options));
  op.dim = 2;
  op.scale = 1;
  options.core.isa = -1;
  for (int d = 0; d < 3; d++) {
    op.axis[d].n = d == 0 ? nx : (d == 1 ? N : 1);
    op.axis[d].a = 1;
  }
  PetscCall(PetscMalloc1(nx * rows, &f));
  PetscCall(PetscCalloc1(nx * (rows + 2), &u));
  for (PetscInt i = 0; i < nx * rank; i++) (void)TestUniform(); /* not the same on all ranks */
  RandomVector(nx * rows, f);
  PetscCall(CreateSlabs(1, &op, &options, &slab, &solver));
  PetscCall(BCRSolverSolve(solver, PETSC_MEMTYPE_HOST, NULL, PETSC_FALSE, 1, f, nx * rows, u + nx, nx * rows));
  PetscCall(BCRSolverDestroy(&solver));
  PetscCallMPI(MPI_Sendrecv(u + nx, (PetscMPIInt)nx, MPIU_SCALAR, before, 1, u + nx * (rows + 1), (PetscMPIInt)nx,
                            MPIU_SCALAR, after, 1, PETSC_COMM_WORLD, MPI_STATUS_IGNORE));
  PetscCallMPI(MPI_Sendrecv(u + nx * rows, (PetscMPIInt)nx, MPIU_SCALAR, after, 2, u, (PetscMPIInt)nx, MPIU_SCALAR,
                            before, 2, PETSC_COMM_WORLD, MPI_STATUS_IGNORE));
  for (PetscInt i = 0; i < nx * rows; i++) {
    const PetscScalar *p = u + nx + i;
    const PetscScalar v = (PetscReal)4 * p[0] - p[-nx] - p[nx] - (i % nx > 0 ? p[-1] : (PetscScalar)0) -
                          (i % nx < nx - 1 ? p[1] : (PetscScalar)0);

    TestLargest(&all[0], (double)PetscAbsScalar(f[i] - v));
    all[1] = PetscMax(all[1], (double)PetscAbsScalar(p[0]));
    all[2] = PetscMax(all[2], (double)PetscAbsScalar(f[i]));
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, all, 3, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  residual = all[0] / (8 * all[1] + all[2]);
  Check(residual <= 1e-15, "2047 columns, 256 rows for each rank", "residual", residual, 1e-15);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "residual %.2e\n", residual));
  PetscCall(PetscFree(f));
  PetscCall(PetscFree(u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Ends of every kind along planes, which are transformed both ways, and lines across them that go on on other ranks: the
   plans RING and SPLIT of a device. Singular ones, another shift, all precisions, slabs that differ. And singular planes in
   slabs (n[1] is 1): the plan LEVEL0, whose lines know the mean of the solution */
static PetscErrorCode Planes(PetscInt first, PetscInt last, PetscBool large)
{
  enum {
    P = BCR_END_PERIODIC,
    C = BCR_END_CELL_NEUMANN,
    N = BCR_END_NEUMANN,
    D = BCR_END_DIRICHLET,
    E = BCR_END_CELL_DIRICHLET
  };
  const struct {
    int end[3][2];
    PetscInt n[2]; /* of planes */
    int axis;
  } cases[] = {
    {{{P, P}, {P, P}, {C, C}}, {64, 64},   2},
    {{{C, C}, {C, C}, {C, C}}, {64, 64},   2},
    {{{P, P}, {C, C}, {P, P}}, {64, 96},   2},
    {{{C, C}, {P, P}, {N, N}}, {64, 65},   1},
    {{{N, N}, {P, P}, {N, N}}, {65, 64},   2},
    {{{P, P}, {P, P}, {P, P}}, {96, 64},   2},
    {{{D, D}, {N, N}, {N, E}}, {95, 65},   2},
    {{{C, E}, {P, P}, {C, C}}, {64, 64},   2},
    {{{P, P}, {E, C}, {D, N}}, {64, 64},   2},
    {{{N, D}, {D, N}, {D, C}}, {64, 64},   2},
    {{{E, C}, {C, E}, {E, E}}, {64, 64},   2},
    {{{D, D}, {D, D}, {C, C}}, {95, 64},   1},
    {{{N, N}, {N, N}, {N, C}}, {65, 65},   2},
    {{{E, E}, {C, C}, {N, N}}, {64, 64},   2},
    {{{P, P}, {P, P}, {P, P}}, {64, 64},   1},
    {{{P, P}, {D, D}, {C, N}}, {64, 95},   2},
    {{{N, N}, {C, C}, {C, C}}, {129, 1},   1},
    {{{N, C}, {P, P}, {C, C}}, {111, 1},   1},
    {{{C, N}, {N, N}, {C, C}}, {128, 1},   1},
    {{{C, C}, {N, C}, {C, C}}, {97, 1},    1},
    {{{N, N}, {N, N}, {C, C}}, {301, 1},   1},
    {{{N, N}, {C, N}, {C, C}}, {150, 1},   1},
    {{{P, P}, {P, P}, {C, C}}, {96, 1},    1},
    {{{N, N}, {P, P}, {C, C}}, {65, 1},    1},
 /* the transform along y divided */
    {{{P, P}, {P, P}, {C, C}}, {128, 128}, 2},
    {{{C, C}, {P, P}, {D, N}}, {128, 128}, 2},
    {{{P, P}, {C, C}, {P, P}}, {128, 128}, 2},
    {{{C, C}, {C, C}, {N, N}}, {128, 128}, 2}
  };
  const PetscInt ncases = PETSC_STATIC_ARRAY_LENGTH(cases), nsplit = 4;

  PetscFunctionBegin;
  for (PetscInt i = first; i < PetscMin(last, large ? ncases : ncases - nsplit); i++) {
    const int axis = cases[i].axis, split = i >= ncases - nsplit, flat = cases[i].n[1] == 1;
    PetscInt N[3], nodes, local, start[64];
    PetscScalar *f, *u, *v, *fl;
    BCRSolverOptions options;
    BCRSolver one, solver;
    BCROperator op;
    BCRSlab slab;

    if (!TestTurn()) continue;
    memset(&op, 0, sizeof(op));
    memset(&options, 0, sizeof(options));
    op.dim = flat ? 2 : 3;
    op.scale = 1;
    op.singular = PETSC_TRUE;
    N[0] = cases[i].n[0];
    N[3 - axis] = cases[i].n[1];
    N[axis] = (split ? 50 : flat ? 24 + i : 7 + i) * size + (split ? 1 : Pick(flat ? 9 : 3));
    if (i % 3 == 2 && !split && !flat && size > 1) {
      start[0] = 0; /* slabs that differ, one of which is thin */
      for (int q = 0; q < size; q++) start[q + 1] = q == size - 1 ? N[axis] : start[q] + 4 + Pick(5);
    } else Cut(N[axis], 0, start);
    for (int d = 0; d < 3; d++) {
      op.axis[d].n = N[d];
      /* in planes weaker along x, so that level 0 forgets a column soon enough */
      op.axis[d].a = (PetscReal)Real(Random(.5, 2) * (flat && d == 0 ? .4 : 1));
      for (int e = 0; e < 2; e++) {
        op.axis[d].end[e] = (BCREnd)cases[i].end[d][e];
        if (cases[i].end[d][e] == D || cases[i].end[d][e] == E) op.singular = PETSC_FALSE;
      }
    }
    nodes = N[0] * N[1] * N[2];
    slab.comm = PETSC_COMM_WORLD;
    slab.axis = axis;
    slab.start = start[rank];
    slab.len = start[rank + 1] - start[rank];
    local = nodes / N[axis] * slab.len;
    options.core.isa = -1;
    options.core.precision = i % 4 == 3 ? BCR_SINGLE : BCR_DOUBLE;
    PetscCall(BCRSolverCreate(1, &op, &options, NULL, &one));
    PetscCall(CreateSlabs(1, &op, &options, &slab, &solver));
    PetscCall(PetscCalloc4(nodes, &f, nodes, &u, nodes, &v, local, &fl));
    for (int step = 0; step < 2; step++) {
      const double bound = sizeof(PetscReal) == 4 || options.core.precision == BCR_SINGLE ? 1e-3 : 1e-10;
      double difference = 0, largest = 0;
      BCRSolverInfo info, info1;
      PetscBool done;
      char name[100];

      if (step) {
        if (!op.singular) op.shift = (PetscReal).1;
        op.scale = -3;
        PetscCall(BCRSolverUpdate(one, &op, &done));
        PetscCall(BCRSolverUpdate(solver, &op, &done));
      }
      PetscCall(PetscSNPrintf(name, sizeof(name), "planes, case %d, step %d", (int)i, step));
      RandomVector(nodes, f);
      PetscCall(BCRSolverSolve(one, PETSC_MEMTYPE_HOST, NULL, PETSC_FALSE, 1, f, 0, v, 0));
      Copy(N, 1, axis, slab.start, slab.len, PETSC_FALSE, f, fl);
      PetscCall(BCRSolverSolve(solver, PETSC_MEMTYPE_HOST, NULL, PETSC_FALSE, 1, fl, 0, fl, 0));
      PetscCall(BCRSolverGetInfo(one, &info1));
      PetscCall(BCRSolverGetInfo(solver, &info));
      PetscCall(PetscArrayzero(u, nodes));
      Copy(N, 1, axis, slab.start, slab.len, PETSC_TRUE, u, fl);
      PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, u, (PetscMPIInt)nodes, MPIU_SCALAR, MPIU_SUM, PETSC_COMM_WORLD));
      for (PetscInt j = 0; j < nodes; j++) {
        TestLargest(&difference, (double)PetscAbsScalar(u[j] - v[j]));
        largest = PetscMax(largest, (double)PetscAbsScalar(v[j]));
      }
      Check(difference <= bound * largest, name, "difference from one rank", difference / largest, bound);
      Check(PetscAbsReal(info.removed - info1.removed) <= bound * (1 + PetscAbsReal(info1.removed)), name,
            "removed constant", (double)info.removed, (double)info1.removed);
      if (device && size > 1) {
        Check(info.core.kind == (split  ? BCR_PLAN_SPLIT
                                 : flat ? BCR_PLAN_LEVEL0
                                        : BCR_PLAN_RING),
              name, "another plan", info.core.kind, 0);
        Check(info.onepass, name, "two solves", 0, 0);
      }
    }
    PetscCall(BCRSolverDestroy(&one));
    PetscCall(BCRSolverDestroy(&solver));
    PetscCall(PetscFree4(f, u, v, fl));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const int kinds[] = {0,
                       PLANES,
                       WEIGHTS,
                       GENERAL,
                       NEUMANN,
                       PLANES | SLOPES,
                       PLANES | GENERAL | SLOPES,
                       ROWSCALE | PLANES | COUPLINGS,
                       NEUMANN | PLANES | SLOPES,
                       NEUMANN | GENERAL,
                       GENERAL | SEVERAL,
                       PLANES | GENERAL | SEVERAL,
                       NEUMANN | GENERAL | SEVERAL,
                       WEIGHTS | NEUMANN,
                       ROWSCALE | LEFT | PLANES,
                       ROWSCALE,
                       NEGATIVE};
  const char *const transports[] = {"auto", "mpi", "nccl", "host"};
  PetscInt cases = 220, planes[2] = {0, 100}, two = 2;
  char backend[8] = "cpu";
  PetscBool quick = PETSC_FALSE, only = PETSC_FALSE;
  int total[3];

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(TestSeed());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size > 4) cases = size > 7 ? 12 : 120;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cases", &cases, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscStrcmp(backend, "cuda", &device));
#if defined(PETSCBCR_HAVE_CUDA)
  if (device) PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA)); /* one for each rank, as far as there are */
#endif
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-transport", transports, 4, &transport, NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-planes", planes, &two, &only)); /* first and end, and nothing else */
  for (PetscInt i = 0; i < cases && !only; i++) {
    const PetscInt dim = 1 + Pick(3);
    const int kind = kinds[Pick((int)PETSC_STATIC_ARRAY_LENGTH(kinds))], axis = Pick((int)dim), big = !Pick(6);
    const PetscInt most = dim == 1 ? 60 : (dim == 2 ? (big ? 70 : 18) : (big ? 18 : 9));
    PetscInt n[3] = {1, 1, 1};
    int planes[3][2] = {{0}};

    for (int d = 0; d < dim; d++) {
      n[d] = 1 + Pick(Pick(3) ? (int)most : 4);
      for (int s = 0; s < 2 && kind & (PLANES | SLOPES); s++) planes[d][s] = Pick(3) == 0;
    }
    if (big) n[0] = PetscMax(n[0], device ? 32 : 16);
    if (big && axis) { /* level 0 on every rank */
      n[axis] = (device ? 20 : 16) * size + Pick(30);
      if (dim == 3) n[3 - axis] = 1 + Pick(4);
    }
    if (!TestTurn()) continue;
    PetscCall(RunCase(dim, n, planes, kind, Pick(6) ? 1 : 1 + Pick(3), axis, Pick(4),
                      Pick(6) || kind & GENERAL ? 0 : 2 + 2 * Pick(2)));
  }
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-quick", &quick, NULL));
  if (!only) {
    PetscCall(Heights(quick));
    PetscCall(HandOvers());
    PetscCall(Larger(quick));
  }
  if (only || !quick) PetscCall(Planes(planes[0], planes[1], only || device ? PETSC_TRUE : PETSC_FALSE));
  if (!only) {
    PetscCall(Errors());
    if (!quick) PetscCall(Residual()); /* behind it ranks have random numbers of their own */
  }
  total[0] = npassed;
  total[1] = nfailed;
  total[2] = nlevel0;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, total, 3, MPI_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d solves with level 0\n", total[2]));
  PetscCall(PetscFinalize());
  return TestStatus(rank == 0, total[0], total[1]);
}
