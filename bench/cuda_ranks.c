/*
  Poisson across ranks with CUDA devices: a solve from device memory to device memory (median over
  batches that start together, the slowest rank), beside a copy of a rank's part on its device in
  the same run, the stages of a solve (median, the slowest rank, with events between them, so that
  kernels of different stages do not overlap), what is sent, the residual.

  A peer: sine transforms of cuFFT and two transposes by the same transport (cuda_ranks_kernels.cu).

  mpiexec -n P cuda_ranks [-weak 4095x4095,255x255x255] [-strong 8191x8191] [-transport auto,host]
  [-ends dcpn] (of each axis: Dirichlet, cell-centred Neumann, periodic, node-centred Neumann, which wants a shift)
  [-shift 0] [-reps 21] [-batch 10] [-peer 0]
  [-graph 0] weak: unknowns for each rank, and a row more between two of them where the last axis is
  between Dirichlet ends; slabs are along the last axis, as DMDA cuts them. A singular operator's
  residual is that of the right-hand side without its mean
*/
#include "bench.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include <petscdevice.h>
  #include "cuda_bench.h"
  #include "src/poisson/ranks.h"
  #include "src/poisson/solver.h"
  #include "src/transport/transport.h"
  #include "cuda_ranks_kernels.h"

static PetscMPIInt rank, size;
static PetscInt reps = 21, batch = 10;
static PetscBool peer = PETSC_TRUE, graph = PETSC_TRUE;
static char ends[4] = "ddd";
static PetscReal shift = 0;

typedef struct {
  BCRSolver solver;
  BCRStream stream;
  PetscScalar *f, *u;
  PetscInt n;
  BCRTransport transport;
  int nmessage;
  BCRMessage *send[2], *recv[2];
  PeerFft peer;
} Run;

static PetscErrorCode Solve(void *context)
{
  Run *r = (Run *)context;

  return BCRSolverSolve(r->solver, PETSC_MEMTYPE_DEVICE, r->stream, PETSC_FALSE, 1, r->f, r->n, r->u, r->n);
}
static PetscErrorCode Peer(void *context)
{
  Run *r = (Run *)context;
  int error = PeerFftBegin(r->peer, r->f);

  PetscFunctionBegin;
  PetscCall(BCRTransportExchange(r->transport, r->stream, r->nmessage, r->send[0], r->nmessage, r->recv[0]));
  if (!error) error = PeerFftMiddle(r->peer);
  PetscCall(BCRTransportExchange(r->transport, r->stream, r->nmessage, r->send[1], r->nmessage, r->recv[1]));
  if (!error) error = PeerFftEnd(r->peer, r->u);
  PetscCheck(!error, PETSC_COMM_SELF, PETSC_ERR_GPU, "CUDA or cuFFT error %d", error);
  PetscFunctionReturn(PETSC_SUCCESS);
}
static PetscErrorCode Copy(void *context)
{
  Run *r = (Run *)context;

  return BCRCudaCopy(r->u, r->f, (size_t)r->n * sizeof(PetscScalar), r->stream) ? PETSC_ERR_GPU : PETSC_SUCCESS;
}
static PetscErrorCode Exchange(void *context)
{
  Run *r = (Run *)context;

  PetscFunctionBegin;
  for (int i = 0; i < 2; i++)
    PetscCall(BCRTransportExchange(r->transport, r->stream, r->nmessage, r->send[i], r->nmessage, r->recv[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of a row of the axis, at i of n: what lies before it, after it (numbers apart, 0: nothing) and its diagonal */
static void Around(char end, PetscInt i, PetscInt n, PetscInt before[1], PetscInt after[1], double diag[1])
{
  *before = i > 0 ? -1 : (end == 'p' ? n - 1 : 0);
  *after = i < n - 1 ? 1 : (end == 'p' ? 1 - n : 0);
  *diag = end == 'c' ? (double)(*before != 0) + (double)(*after != 0) : 2;
}

/* A node-centred end mirrors its neighbour */
static double Mirrored(char end, PetscBool other)
{
  return end == 'n' && !other ? 2 : 1;
}

/* |f - A u| / (|A| |u| + |f|) in the largest norm; the rows beside a slab from the ranks that have them */
static PetscErrorCode Residual(Run *r, PetscInt dim, const PetscInt n[3], PetscBool singular, double *residual)
{
  const PetscInt inner = dim == 3 ? n[0] * n[1] : n[0], rows = r->n / inner, nx = n[0];
  PetscScalar *f, *u;
  double all[3] = {0, 0, 0}, mean[2] = {0, (double)r->n};
  const PetscBool ring = ends[dim - 1] == 'p' ? PETSC_TRUE : PETSC_FALSE;
  const PetscMPIInt before = rank ? rank - 1 : (ring ? size - 1 : MPI_PROC_NULL),
                    after = rank + 1 < size ? rank + 1 : (ring ? 0 : MPI_PROC_NULL);

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(r->n, &f));
  PetscCall(PetscCalloc1(r->n + 2 * inner, &u));
  PetscCallBCRCuda(BCRCudaGet(f, r->f, (size_t)r->n * sizeof(PetscScalar), r->stream));
  PetscCallBCRCuda(BCRCudaGet(u + inner, r->u, (size_t)r->n * sizeof(PetscScalar), r->stream));
  PetscCallMPI(MPI_Sendrecv(u + inner, (PetscMPIInt)inner, MPIU_SCALAR, before, 1, u + inner * (rows + 1),
                            (PetscMPIInt)inner, MPIU_SCALAR, after, 1, PETSC_COMM_WORLD, MPI_STATUS_IGNORE));
  PetscCallMPI(MPI_Sendrecv(u + inner * rows, (PetscMPIInt)inner, MPIU_SCALAR, after, 2, u, (PetscMPIInt)inner,
                            MPIU_SCALAR, before, 2, PETSC_COMM_WORLD, MPI_STATUS_IGNORE));
  for (PetscInt i = 0; i < r->n; i++) mean[0] += (double)PetscRealPart(f[i]);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, mean, 2, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  for (PetscInt k = 0; k < rows; k++) {
    for (PetscInt i = 0; i < inner; i++) {
      const PetscScalar *p = u + inner * (k + 1) + i;
      const PetscBool first = k == 0 && rank == 0 ? PETSC_TRUE : PETSC_FALSE,
                      last = k == rows - 1 && rank == size - 1 ? PETSC_TRUE : PETSC_FALSE;
      const char end = ends[dim - 1];
      double v = ((double)shift + (end == 'c' ? 2 - (double)first - (double)last : 2)) * p[0] -
                 (end == 'n' && first ? 0 : Mirrored(end, last ? PETSC_FALSE : PETSC_TRUE) * p[-inner]) -
                 (end == 'n' && last ? 0 : Mirrored(end, first ? PETSC_FALSE : PETSC_TRUE) * p[inner]);

      for (PetscInt d = 0; d < dim - 1; d++) {
        const PetscInt step = d ? nx : 1;
        PetscInt low, high;
        double diag;

        Around(ends[d], d ? i / nx : i % nx, n[d], &low, &high, &diag);
        v += diag * p[0] - (low ? Mirrored(ends[d], high ? PETSC_TRUE : PETSC_FALSE) * p[low * step] : 0) -
             (high ? Mirrored(ends[d], low ? PETSC_TRUE : PETSC_FALSE) * p[high * step] : 0);
      }
      TestLargest(&all[0], fabs(f[inner * k + i] - (singular ? mean[0] / mean[1] : 0) - v));
      all[1] = PetscMax(all[1], fabs(p[0]));
      all[2] = PetscMax(all[2], fabs(f[inner * k + i]));
    }
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, all, 3, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  *residual = all[0] / ((4. * (double)dim + fabs((double)shift)) * all[1] + all[2]);
  PetscCall(PetscFree(f));
  PetscCall(PetscFree(u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void Row(const char *how, PetscInt dim, const PetscInt n[3], const char *solver, const char *transport,
                const double t[], const double least[], const double stage[], double setup, double bytes,
                double messages, double residual)
{
  if (rank) return;
  printf("%s,%" PetscInt_FMT "x%" PetscInt_FMT "x%" PetscInt_FMT
         "%s%s,%s,%d,%s,%.5f,%.5f,%.3f,%.5f,%.5f,%.5f,%.5f,%.3f,%.0f,%.0f,%.2e,%.5f,%.5f\n",
         how, n[0], n[1], dim == 3 ? n[2] : 1, strcmp(ends, "ddd") ? "-" : "", strcmp(ends, "ddd") ? ends : "", solver,
         (int)size, transport, 1e3 * t[1], 1e3 * t[0], t[1] / t[0], 1e3 * stage[0], 1e3 * stage[1], 1e3 * stage[2],
         1e3 * stage[3], 1e3 * setup, bytes, messages, residual, 1e3 * least[1], 1e3 * least[0]);
  (void)fflush(stdout);
}

static PetscInt FirstRow(PetscInt N, PetscInt r)
{
  return N / size * r + PetscMin(N % size, r);
}

/* The stages of a solve: the core's part of the solver by itself */
static PetscErrorCode Stages(Run *r, PetscInt dim, const BCROperator *op, const BCRSlab *slab,
                             const BCRSolverOptions *options, BCRTransport transport, double stage[])
{
  BCRRanks ranks;
  BCRAxis axis[3];
  PetscInt stride[3] = {1, op->axis[0].n, op->axis[0].n * op->axis[1].n};
  const BCRRanksSpec spec = {.comm = PETSC_COMM_WORLD,
                             .axis = slab->axis,
                             .first = slab->start,
                             .m = slab->len,
                             .dim = dim,
                             .axes = axis,
                             .stride = stride,
                             .singular = op->singular,
                             .io = options->core.precision,
                             .options = &options->core,
                             .stream = r->stream,
                             .transport = transport};
  double seconds[BCR_RANK_STAGES], t[BCR_RANK_STAGES][101];

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) axis[d] = op->axis[d];
  PetscCall(BCRRanksCreate(BCRRanksCuda(), &spec, &ranks));
  PetscCall(BCRRanksSetUp(ranks));
  for (PetscInt i = -2; i < reps; i++) {
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    /* so that the ranks are as they are in a row of solves */
    PetscCall(BCRRanksSolve(ranks, r->stream, r->f, r->u));
    PetscCall(BCRRanksStages(ranks, r->stream, r->f, r->u, seconds));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, seconds, BCR_RANK_STAGES, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
    for (int j = 0; j < BCR_RANK_STAGES && i >= 0; j++) t[j][i] = seconds[j];
  }
  for (int j = 0; j < BCR_RANK_STAGES; j++) {
    double least;

    BenchStatistics(reps, t[j], &stage[j], &least);
  }
  PetscCall(BCRRanksDestroy(&ranks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OneCase(const char *how, PetscInt dim, const PetscInt n[3], BCRTransportKind kind)
{
  BCRSolverOptions options;
  BCRSolverInfo info;
  BCROperator op;
  BCRSlab slab = {PETSC_COMM_WORLD, dim - 1, 0, 0};
  const PetscInt N = n[dim - 1], inner = dim == 3 ? n[0] * n[1] : n[0];
  BCRDeviceArena arena;
  BCRTransportInfo transport;
  Run r;
  PetscScalar *v;
  double t[3] = {0, 0, 0}, least[3] = {0, 0, 0}, stage[BCR_RANK_STAGES] = {0, 0, 0, 0}, setup, sent[2], residual = 0;
  uint64_t state = 88172645463325252ULL + 7 * (uint64_t)rank;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&r, sizeof(r)));
  PetscCall(PetscMemzero(&arena, sizeof(arena)));
  PetscCall(PetscMemzero(&options, sizeof(options)));
  PetscCall(PetscMemzero(&op, sizeof(op)));
  op.dim = dim;
  op.scale = 1;
  op.singular = shift == 0 ? PETSC_TRUE : PETSC_FALSE;
  op.shift = shift;
  for (PetscInt d = 0; d < 3; d++) {
    op.axis[d].n = d < dim ? n[d] : 1;
    op.axis[d].a = 1;
    if (d >= dim) continue;
    for (int e = 0; e < 2; e++)
      op.axis[d].end[e] = ends[d] == 'p'   ? BCR_END_PERIODIC
                          : ends[d] == 'c' ? BCR_END_CELL_NEUMANN
                          : ends[d] == 'n' ? BCR_END_NEUMANN
                                           : BCR_END_DIRICHLET;
    if (ends[d] == 'd') op.singular = PETSC_FALSE;
  }
  slab.start = FirstRow(N, rank);
  slab.len = FirstRow(N, rank + 1) - slab.start;
  options.device = PETSC_TRUE;
  options.core.isa = -1;
  options.plainlaunch = graph ? PETSC_FALSE : PETSC_TRUE;
  options.transport = (int)kind;
  options.gpuaware = kind == BCR_TRANSPORT_MPI ? PETSC_TRUE : PETSC_FALSE;
  PetscCallBCRCuda(BCRCudaStreamCreate(&r.stream));
  options.stream = r.stream;
  r.n = inner * slab.len;
  PetscCall(BCRDeviceArenaGet(&arena, (size_t)r.n * sizeof(PetscScalar), "f", &r.f));
  PetscCall(BCRDeviceArenaGet(&arena, (size_t)r.n * sizeof(PetscScalar), "u", &r.u));
  PetscCall(PetscMalloc1(r.n, &v));
  for (PetscInt i = 0; i < r.n; i++) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    v[i] = (double)(state >> 11) / 9007199254740992.0 - 0.5;
  }
  PetscCallBCRCuda(BCRCudaPut(r.f, v, (size_t)r.n * sizeof(PetscScalar), r.stream));
  PetscCall(PetscFree(v));
  PetscCall(BCRSolverCreate(1, &op, &options, size > 1 ? &slab : NULL, &r.solver));
  PetscCall(BCRSolverDestroy(&r.solver)); /* the first loads modules and NCCL */
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  setup = BenchTime();
  PetscCall(BCRSolverCreate(1, &op, &options, size > 1 ? &slab : NULL, &r.solver));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  setup = BenchTime() - setup;
  PetscCall(BenchRanksMedian(r.stream, Copy, &r, reps, batch, &t[0], &least[0]));
  PetscCall(BenchRanksMedian(r.stream, Solve, &r, reps, batch, &t[1], &least[1]));
  PetscCall(Residual(&r, dim, n, op.singular, &residual));
  PetscCall(BCRSolverGetInfo(r.solver, &info));
  PetscCall(PetscMemzero(&transport, sizeof(transport)));
  sent[0] = (double)info.bytes_sent; /* of the rank that sends most */
  sent[1] = (double)info.messages;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sent, 2, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscCall(BCRSolverDestroy(&r.solver));
  if (size > 1) {
    PetscCall(BCRTransportCreate(PETSC_COMM_WORLD, "transport", kind, options.gpuaware, &r.transport));
    PetscCall(BCRTransportGetInfo(r.transport, &transport));
    PetscCall(Stages(&r, dim, &op, &slab, &options, r.transport, stage));
    PetscCall(BCRTransportDestroy(&r.transport));
  }
  Row(how, dim, n, "bcrpoisson", size > 1 ? BCRTransportName(transport.kind) : "-", t, least, stage, setup, sent[0],
      sent[1], residual);
  if (dim == 2 && peer && !strcmp(ends, "ddd")) {
    int *first, *column, error;
    double bytes = 0, count = 0;

    PetscCall(PetscMalloc2(size + 1, &first, size + 1, &column));
    for (PetscMPIInt q = 0; q <= size; q++) {
      first[q] = (int)FirstRow(N, q);
      column[q] = (int)FirstRow(n[0], q);
    }
    setup = BenchTime();
    error = PeerFftCreate((int)n[0], (int)N, size, rank, first, column, r.stream, &r.peer);
    PetscCheck(!error, PETSC_COMM_SELF, PETSC_ERR_GPU, "CUDA or cuFFT error %d", error);
    PetscCall(BCRTransportCreate(PETSC_COMM_WORLD, "transport", kind, options.gpuaware, &r.transport));
    setup = BenchTime() - setup;
    r.nmessage = size;
    for (int i = 0; i < 2; i++) {
      PetscCall(PetscMalloc2(size, &r.send[i], size, &r.recv[i]));
      for (PetscMPIInt q = 0; q < size; q++) {
        double *ps, *pr;

        PeerFftMessage(r.peer, i, q, &ps, &r.send[i][q].bytes, &pr, &r.recv[i][q].bytes);
        r.send[i][q].rank = r.recv[i][q].rank = q;
        r.send[i][q].p = ps;
        r.recv[i][q].p = pr;
        r.send[i][q].bytes *= sizeof(double);
        r.recv[i][q].bytes *= sizeof(double);
        if (q != rank) {
          bytes += (double)r.send[i][q].bytes;
          count++;
        }
      }
    }
    PetscCall(BenchRanksMedian(r.stream, Peer, &r, reps, batch, &t[1], &least[1]));
    PetscCall(Residual(&r, dim, n, op.singular, &residual));
    PetscCall(BenchRanksMedian(r.stream, Exchange, &r, reps, batch, &t[2], &least[2]));
    stage[0] = stage[2] = stage[3] = 0;
    stage[1] = t[2];
    Row(how, dim, n, "cufft+transposes", size > 1 ? BCRTransportName(transport.kind) : "-", t, least, stage, setup,
        bytes, count, residual);
    for (int i = 0; i < 2; i++) PetscCall(PetscFree2(r.send[i], r.recv[i]));
    PetscCall(BCRTransportDestroy(&r.transport));
    PeerFftDestroy(&r.peer);
    PetscCall(PetscFree2(first, column));
  }
  PetscCall(BCRDeviceArenaFree(&arena));
  PetscCallBCRCuda(BCRCudaStreamDestroy(r.stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char text[2][512] = {"4095x4095,255x255x255", "8191x8191"}, ways[64] = "auto";
  const char *name[] = {"auto", "mpi", "nccl", "host"};

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-weak", text[0], sizeof(text[0]), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-strong", text[1], sizeof(text[1]), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-transport", ways, sizeof(ways), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-ends", ends, sizeof(ends), NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-shift", &shift, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-peer", &peer, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-graph", &graph, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-reps", &reps, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-batch", &batch, NULL));
  reps = PetscMin(reps, 101);
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  if (rank == 0) {
    char device[64];
    int major, minor, sms, shared;

    PetscCallBCRCuda(BCRCudaDeviceName(device, sizeof(device), &major, &minor, &sms, &shared));
    printf("# device: %s, %d ranks, median of %" PetscInt_FMT " batches of %" PetscInt_FMT " solves\n", device,
           (int)size, reps, batch);
    printf("case,grid,solver,ranks,transport,time_ms,copy_ms,ratio_to_copy,local_ms,exchange_ms,reduced_ms,back_ms,"
           "setup_ms,bytes_sent,messages,residual,min_ms,min_copy_ms\n");
  }
  for (int how = 0; how < 2; how++) {
    for (char *s = text[how], *end; *s; s = *end ? end + 1 : end) {
      PetscInt n[3] = {1, 1, 1}, dim = 0;

      for (end = s; *end && *end != ',';) {
        n[dim++] = (PetscInt)strtol(end, &end, 10);
        if (*end == 'x') end++;
        if (dim == 3) break;
      }
      if (dim < 2) continue;
      if (how == 0) n[dim - 1] = ends[dim - 1] == 'd' ? (n[dim - 1] + 1) * size - 1 : n[dim - 1] * size;
      for (int k = 0; k < 4; k++) {
        if (strstr(ways, name[k])) PetscCall(OneCase(how ? "strong" : "weak", dim, n, (BCRTransportKind)k));
        if (size == 1) break;
      }
    }
  }
  PetscCall(PetscFinalize());
  return 0;
}
#else
int main(void)
{
  printf("built without CUDA\n");
  return 0;
}
#endif
