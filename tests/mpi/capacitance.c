/*
  Capacitance systems on several ranks: random operators (tests/unit/problem.h) in slabs, with rows that differ at random
  places by random entries, a mask with random links to it, singular operators that these rows make regular, and some that
  stay singular. The true residual of the whole matrix, which this test puts together entry by entry, row by row; solves
  again, transposed, in place; directions that are forgotten.
  -backend cuda: on the CUDA devices that the ranks have, or share, vectors there and on the host.
  ranks: 1 2 3 5
*/
#include "slabs.h"
#include "../../src/poisson/backend.h"
#include "../../src/poisson/capacitance.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include <petscdevice.h>
#endif

static PetscBool device; /* -backend cuda */
static PetscInt transport;

/* A matrix of nodes x nodes and what makes it one */
typedef struct {
  double *A;    /* [nodes][nodes] */
  double *more; /* [nodes][nodes] A~ less M^-1 */
  int *mask;    /* [nodes] */
  double *diag; /* [nodes] of the mask */
  PetscInt m;
  struct _n_BCRDiffer differ; /* of the rows that this rank has been given */
} Whole;

/* A mask of some nodes whose rows refer to no other node in A~; rows of A~ that refer to mask nodes have other entries in A, links */
static void MakeMask(const Problem *p, const Matrix *M, Whole *w, int many)
{
  const PetscInt N = p->nodes;

  for (int k = 0; k < many; k++) w->mask[Pick((int)N)] = 1;
  for (PetscInt i = 0; i < N; i++) {
    if (!w->mask[i]) continue;
    w->diag[i] = i && w->mask[i - 1] && Pick(2) ? w->diag[i - 1] : Real(Random(.5, 2));
    for (PetscInt k = 0; k < M->count[i]; k++) {
      const PetscInt j = M->col[7 * i + k];

      if (!w->mask[j]) w->more[i * N + j] -= M->val[7 * i + k];
    }
    w->more[i * N + i] += Real(Random(.5, 1) * M->val[7 * i]);
  }
}

static PetscBool InPlane(const Problem *p, PetscInt i)
{
  const PetscInt c[3] = {i % p->N[0], i / p->N[0] % p->N[1], i / p->N[0] / p->N[1]};

  for (int d = 0; d < 3; d++)
    if (c[d] < p->line[d].low || c[d] >= p->line[d].low + p->line[d].n) return PETSC_TRUE;
  return PETSC_FALSE;
}

static void MakeRows(const Problem *p, const Matrix *M, Whole *w, int many, PetscBool symmetric)
{
  const PetscInt N = p->nodes;

  for (int k = 0; k < many; k++) {
    PetscInt i = Pick((int)N);

    double size, sign;

    /* one at least in the box: no row of a plane makes a singular one regular */
    while (k == 0 && (w->mask[i] || InPlane(p, i))) i = (i + 1) % N;
    size = fabs(M->val[7 * i]);
    sign = M->val[7 * i] > 0 ? 1 : -1;
    if (w->mask[i]) continue;
    if (symmetric) { /* one more link between two nodes: sums of rows and columns stay zero */
      const PetscInt j = Pick((int)N);
      const double v = Real(sign * Random(.1, .5) * size);

      if (w->mask[j] || i == j) continue;
      w->more[i * N + i] += v;
      w->more[j * N + j] += v;
      w->more[i * N + j] -= v;
      w->more[j * N + i] -= v;
      continue;
    }
    for (int e = 0; e < 3; e++) {
      const PetscInt j = Pick((int)N);

      if (!w->mask[j]) w->more[i * N + j] += Real(Random(-.1, .1) * size);
    }
    w->more[i * N + i] += Real(sign * Random(.3, 1) * size);
  }
}

/* The whole matrix, and the lists: each row of each kind is given to a random rank */
static void MakeWhole(const Problem *p, const Matrix *M, int kind, int many, int masked, Whole *w)
{
  const PetscInt N = p->nodes;
  struct _n_BCRDiffer *x = &w->differ;
  PetscInt entries = 0;

  memset(w, 0, sizeof(*w));
  w->A = calloc((size_t)(N * N), sizeof(double));
  w->more = calloc((size_t)(N * N), sizeof(double));
  w->mask = calloc((size_t)N, sizeof(int));
  w->diag = calloc((size_t)N, sizeof(double));
  MakeMask(p, M, w, masked);
  MakeRows(p, M, w, many, (PetscBool)(kind == 1));
  x->row = malloc(sizeof(PetscInt) * (size_t)N);
  x->start = calloc((size_t)N + 1, sizeof(PetscInt));
  x->col = malloc(sizeof(PetscInt) * (size_t)(N * N));
  x->value = malloc(sizeof(PetscReal) * (size_t)(N * N));
  x->run = malloc(sizeof(PetscInt) * (size_t)N);
  x->length = malloc(sizeof(PetscInt) * (size_t)N);
  x->inverse = malloc(sizeof(PetscReal) * (size_t)N);
  x->linkrow = malloc(sizeof(PetscInt) * (size_t)(N * N));
  x->linkcol = malloc(sizeof(PetscInt) * (size_t)(N * N));
  x->linkvalue = malloc(sizeof(PetscReal) * (size_t)(N * N));
  for (PetscInt i = 0; i < N; i++) {
    const PetscBool mine = (PetscBool)(Pick(size) == rank);
    PetscBool some = PETSC_FALSE;

    for (PetscInt k = 0; k < M->count[i]; k++) w->A[i * N + M->col[7 * i + k]] += M->val[7 * i + k];
    for (PetscInt j = 0; j < N; j++) {
      w->A[i * N + j] += w->more[i * N + j];
      if (w->more[i * N + j] == 0) continue;
      some = PETSC_TRUE;
      if (!mine) continue;
      x->col[entries] = j;
      x->value[entries++] = (PetscReal)w->more[i * N + j];
    }
    if (some) w->m++;
    if (some && mine) {
      x->row[x->m++] = i;
      x->start[x->m] = entries;
    }
    for (PetscInt j = 0; j < N; j++) {
      double link;

      if (w->mask[i]) w->A[i * N + j] = i == j ? w->diag[i] : 0;
      if (w->mask[i] || !w->mask[j]) continue;
      link = Pick(4) ? 0 : Real(Random(-1, 1));
      w->A[i * N + j] = link;
      if (link == 0 || !mine) continue;
      x->linkrow[x->links] = i;
      x->linkcol[x->links] = j;
      x->linkvalue[x->links++] = (PetscReal)link;
    }
    if (!w->mask[i] || !mine) continue;
    x->masked++;
    if (i % p->N[0] && x->runs && x->run[x->runs - 1] + x->length[x->runs - 1] == i && w->diag[i] == w->diag[i - 1]) {
      x->length[x->runs - 1]++; /* a run may go over several ranks' slabs */
      continue;
    }
    x->run[x->runs] = i;
    x->length[x->runs] = 1;
    x->inverse[x->runs++] = (PetscReal)(1 / w->diag[i]);
  }
}

static void FreeWhole(Whole *w)
{
  struct _n_BCRDiffer *x = &w->differ;

  free(w->A);
  free(w->more);
  free(w->mask);
  free(w->diag);
  free(x->row);
  free(x->start);
  free(x->col);
  free(x->value);
  free(x->run);
  free(x->length);
  free(x->inverse);
  free(x->linkrow);
  free(x->linkcol);
  free(x->linkvalue);
}

/* Largest |f - op(A) u| over |op(A)| |u| + |f|, of the whole: norms of the largest entries */
static double Backward(PetscInt N, const double *A, PetscBool transpose, PetscInt dof, const PetscScalar *f,
                       const PetscScalar *u)
{
  double worst = 0, sums = 0, largest = 0, rhs = 0;

  for (PetscInt i = 0; i < N; i++) {
    PetscScalar r = f[i * dof];
    double row = 0;

    for (PetscInt j = 0; j < N; j++) {
      const double a = transpose ? A[j * N + i] : A[i * N + j];

      r -= a * u[j * dof];
      row += fabs(a);
    }
    TestLargest(&worst, (double)PetscAbsScalar(r));
    TestLargest(&largest, (double)PetscAbsScalar(u[i * dof]));
    rhs = PetscMax(rhs, (double)PetscAbsScalar(f[i * dof]));
    sums = PetscMax(sums, row);
  }
  return worst / (sums * largest + rhs);
}

/* f = op(A) random, where op(A) is singular */
static void Consistent(PetscInt N, const double *A, PetscBool transpose, PetscInt dof, PetscScalar *f)
{
  PetscScalar *u = malloc(sizeof(PetscScalar) * (size_t)N);

  RandomVector(N, u);
  for (PetscInt i = 0; i < N; i++) {
    f[i * dof] = 0;
    for (PetscInt j = 0; j < N; j++) f[i * dof] += (transpose ? A[j * N + i] : A[i * N + j]) * u[j];
  }
  free(u);
}

/* u may be f. there: on the device */
static PetscErrorCode SolveOnce(BCRCapacitance cap, PetscBool there, PetscBool transpose, PetscInt n,
                                const PetscScalar *f, PetscScalar *u)
{
  const BCRBackend *be = BCRBackendCuda();
  const size_t bytes = (size_t)n * sizeof(PetscScalar);
  PetscScalar *df, *du;

  PetscFunctionBegin;
  if (!there) {
    PetscCall(BCRCapacitanceSolve(cap, PETSC_MEMTYPE_HOST, NULL, transpose, f, u));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(be->alloc(bytes + 1, "a test", &df));
  PetscCall(be->alloc(bytes + 1, "a test", &du));
  PetscCall(be->put(NULL, df, f, bytes));
  PetscCall(be->put(NULL, du, u, bytes));
  PetscCall(BCRCapacitanceSolve(cap, PETSC_MEMTYPE_DEVICE, NULL, transpose, df, f == u ? df : du));
  PetscCall(be->get(NULL, u, f == u ? df : du, bytes));
  PetscCall(be->free(df));
  PetscCall(be->free(du));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solves(BCRCapacitance cap, PetscInt dof, const Problem p[], const Whole w[], const int kinds[],
                             int axis, PetscInt start, PetscInt len, const char *name)
{
  const PetscInt N = p[0].nodes, n = N * dof, local = n / p[0].N[axis] * len;
  PetscScalar *f, *u, *fl, *ul;
  BCRCapacitanceInfo info;
  PetscInt rows = 0, first[2] = {0, 0};
  const double bound = sizeof(PetscReal) == 4 ? 2e-5 : 5e-12;

  PetscFunctionBegin;
  for (PetscInt c = 0; c < dof; c++) rows += w[c].m;
  PetscCall(PetscCalloc4(n, &f, n, &u, local, &fl, local, &ul));
  for (int k = 0; k < 8; k++) {
    const PetscBool transpose = (PetscBool)(k % 2);

    RandomVector(n, f);
    for (PetscInt c = 0; c < dof; c++)
      if (kinds[c] == 1) Consistent(N, w[c].A, transpose, dof, f + c);
    Copy(p[0].N, dof, axis, start, len, PETSC_FALSE, f, fl);
    for (PetscInt i = 0; i < local; i++) ul[i] = (PetscScalar)NAN;
    if (k > 3) PetscCall(PetscArraycpy(ul, fl, local));
    PetscCall(SolveOnce(cap, (PetscBool)(device && k % 4 < 2), transpose, local, k > 3 ? ul : fl, ul));
    PetscCall(BCRCapacitanceGetInfo(cap, &info));
    Check(info.rows == rows, name, "rows", (double)info.rows, (double)rows);
    Check(info.reached, name, "to rounding", (double)info.residual, 1);
    if (k < 2) first[k] = info.solves;
    if (info.most >= rows) { /* none is forgotten */
      Check(info.solves <= rows + dof + 30, name, "solves", (double)info.solves, (double)rows);
      Check(info.solves <= first[k % 2] + 2, name, "no more solves than for the first right-hand side",
            (double)info.solves, (double)first[k % 2]);
    }
    PetscCall(PetscArrayzero(u, n));
    Copy(p[0].N, dof, axis, start, len, PETSC_TRUE, u, ul);
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, u, (PetscMPIInt)n, MPIU_SCALAR, MPIU_SUM, PETSC_COMM_WORLD));
    for (PetscInt c = 0; c < dof; c++) {
      const double e = Backward(N, w[c].A, transpose, dof, f + c, u + c);

      Check(e <= bound, name, transpose ? "transposed" : "backward error", e, bound);
    }
  }
  PetscCall(PetscFree4(f, u, fl, ul));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* kind: of a problem; how: of the cut */
static PetscErrorCode RunCase(PetscInt dim, const PetscInt n[], const int planes[][2], int kind, PetscInt dof, int axis,
                              int how, int many, int masked, PetscInt most)
{
  Problem p[2];
  Matrix M[2];
  Whole w[2];
  BCROperator parts[2];
  BCRSolverOptions options;
  BCRSolver solver;
  BCRCapacitance cap;
  BCRGrid layout;
  PetscInt start[64], ranks[3] = {1, 1, 1}, len[64];
  const PetscInt *widths[3] = {NULL, NULL, NULL};
  const PetscBool periodic[3] = {PETSC_FALSE, PETSC_FALSE, PETSC_FALSE};
  int kinds[2];
  char name[200];
  BCRSlab slab;

  PetscFunctionBegin;
  for (PetscInt c = 0; c < dof; c++) {
    ProblemCreate(&p[c], dim, n, planes, kind);
    kinds[c] = p[c].singular ? 1 + Pick(2) : 0;
    M[c] = MatrixCreate(&p[c]);
    MakeWhole(&p[c], &M[c], kinds[c], many, kinds[c] == 1 ? 0 : masked, &w[c]);
  }
  Cut(p[0].N[axis], how, start);
  for (int q = 0; q < size; q++) len[q] = start[q + 1] - start[q];
  slab = (BCRSlab){PETSC_COMM_WORLD, axis, start[rank], len[rank]};
  ranks[axis] = size;
  widths[axis] = len;
  PetscCall(BCRGridCreateBoxes(PETSC_COMM_WORLD, 1, dim, dof, p[0].N, periodic, ranks, widths, &layout));
  for (PetscInt c = 0; c < dof; c++) {
    OperatorPart(&p[c], axis, slab.start, slab.len, &parts[c]);
    parts[c].differ = &w[c].differ;
  }
  memset(&options, 0, sizeof(options));
  options.core.isa = -1;
  options.device = device;
  options.transport = (int)transport;
  PetscCall(BCRSolverCreate(dof, parts, &options, size > 1 ? &slab : NULL, &solver));
  PetscCall(BCRCapacitanceCreate(&layout, dof, parts, solver, NULL, most, PETSC_MACHINE_EPSILON, &cap));
  PetscCall(PetscSNPrintf(name, sizeof(name),
                          "%" PetscInt_FMT "x%" PetscInt_FMT "x%" PetscInt_FMT
                          " planes %d%d%d%d%d%d kind %d (%d, %d) dof "
                          "%" PetscInt_FMT " along %c, %d rows, %d masked, %" PetscInt_FMT " kept",
                          p[0].n[0], p[0].n[1], p[0].n[2], p[0].line[0].plane[0], p[0].line[0].plane[1],
                          p[0].line[1].plane[0], p[0].line[1].plane[1], p[0].line[2].plane[0], p[0].line[2].plane[1],
                          kind, kinds[0], dof > 1 ? kinds[1] : 0, dof, 'x' + axis, many, masked, most));
  if (cap) PetscCall(Solves(cap, dof, p, w, kinds, axis, slab.start, slab.len, name));
  PetscCall(BCRCapacitanceDestroy(&cap));
  PetscCall(BCRSolverDestroy(&solver));
  PetscCall(BCRGridDestroy(&layout));
  for (PetscInt c = 0; c < dof; c++) {
    OperatorPartFree(&parts[c]);
    FreeWhole(&w[c]);
    MatrixFree(&M[c]);
    ProblemFree(&p[c]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt sizes[][3] = {
    {9,  1,  1},
    {7,  6,  1},
    {12, 11, 1},
    {16, 5,  1},
    {4,  5,  6},
    {7,  3,  8}
  };
  const int flags[] = {0,       NEUMANN,           LEFT | ROWSCALE,   NEUMANN | LEFT | ROWSCALE,  WEIGHTS,
                       GENERAL, NEUMANN | WEIGHTS, NEUMANN | GENERAL, NEUMANN | GENERAL | WEIGHTS};
  const char *const transports[] = {"auto", "mpi", "nccl", "host"};
  char backend[8] = "cpu";
  PetscInt count = 144;
  int total[2];

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(TestSeed());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cases", &count, NULL));
  PetscCall(PetscOptionsGetEList(NULL, NULL, "-transport", transports, 4, &transport, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscStrcmp(backend, "cuda", &device));
  if (device && !BCRSolverHaveDevice(NULL)) count = 0;
#if defined(PETSCBCR_HAVE_CUDA)
  if (device && count) PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA)); /* one for each rank, as far as there are */
#endif
  for (int i = 0; i < count; i++) {
    const PetscInt *n = sizes[i % 6];
    const PetscInt dim = n[2] > 1 ? 3 : (n[1] > 1 ? 2 : 1);
    int planes[3][2] = {
      {0, 0},
      {0, 0},
      {0, 0}
    };
    int flag = flags[i / 2 % 9];

    if (i % 3 == 1) {
      flag |= PLANES | SLOPES;
      for (int d = 0; d < dim; d++)
        for (int s = 0; s < 2; s++) planes[d][s] = Pick(2);
    }
    if (!TestTurn()) continue;
    PetscCall(RunCase(dim, n, planes, flag, 1 + i % 2, Pick((int)dim), Pick(4), 1 + Pick(8), i % 4 ? Pick(6) : 0,
                      i % 5 ? 2000 : 3));
  }
  total[0] = npassed;
  total[1] = nfailed;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, total, 2, MPI_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscFinalize());
  return TestStatus(rank == 0, total[0], total[1]);
}
