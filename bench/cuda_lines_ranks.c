/*
  Lines across ranks with CUDA devices: a solve from device memory to device memory of so many rows
  of so many lines on each rank, along the axis that is cut (weak scaling), median over batches that
  start together, the slowest rank. Beside it in the same run: a copy of the field, the solution of
  the rank's own rows without the others, the exchange of a solve by itself, what is sent, the
  residual.

  mpiexec -n P cuda_lines_ranks [-rows 4096] [-lines 4096] [-transport auto,host] [-reps 21] [-batch 10] [-periodic]
  -periodic: every rank has neighbours on both sides, as most of many ranks have
  kinds: strong (rows -1, 4, -1), two (-1, 2, -1: every row reaches every other), pade (1/4, 1, 1/4, end rows 1, 2)
*/
#include "bench.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include <petscdevice.h>
  #include "cuda_bench.h"
  #include "src/poisson/device.h"
  #include "src/transport/transport.h"
  #include "src/tridiagonal/tridiagonal.h"

static PetscMPIInt rank, size;
static PetscInt reps = 21, batch = 10;
static PetscBool periodic;

typedef struct {
  BCRTri tri, own;
  BCRStream stream;
  PetscReal *f, *u;
  size_t bytes;
  BCRTransport transport;
  BCRMessage send[2], recv[2];
  int nmessage;
} Run;

static PetscErrorCode Solve(void *context)
{
  Run *r = (Run *)context;

  return BCRTriSolveDevice(r->tri, r->stream, r->f, r->u);
}
static PetscErrorCode Own(void *context)
{
  Run *r = (Run *)context;

  return BCRTriSolveDevice(r->own, r->stream, r->f, r->u);
}
static PetscErrorCode Copy(void *context)
{
  Run *r = (Run *)context;

  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaCopy(r->u, r->f, r->bytes, r->stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}
static PetscErrorCode Exchange(void *context)
{
  Run *r = (Run *)context;

  return BCRTransportExchange(r->transport, r->stream, r->nmessage, r->send, r->nmessage, r->recv);
}

/* Largest |f - A u| / (|A| |u| + |f|); the rows beside this rank's from those that have them */
static PetscErrorCode Residual(Run *r, const BCRTriSpec *s, double *residual)
{
  const PetscMPIInt before = rank || periodic ? (rank + size - 1) % size : MPI_PROC_NULL,
                    after = rank + 1 < size || periodic ? (rank + 1) % size : MPI_PROC_NULL;
  const PetscInt lines = s->inner * s->outer;
  PetscReal *f, *u, *mine, *ghost;
  double all[3] = {0, 0, 0};

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(r->bytes / sizeof(PetscReal), &f, r->bytes / sizeof(PetscReal), &u, 2 * lines, &mine,
                         2 * lines, &ghost));
  PetscCall(PetscArrayzero(ghost, 2 * lines));
  PetscCallBCRCuda(BCRCudaGet(f, r->f, r->bytes, r->stream));
  PetscCallBCRCuda(BCRCudaGet(u, r->u, r->bytes, r->stream));
  for (PetscInt l = 0; l < lines; l++) {
    mine[l] = u[l % s->inner + s->inner * s->n * (l / s->inner)];
    mine[lines + l] = u[l % s->inner + s->inner * (s->n - 1 + s->n * (l / s->inner))];
  }
  PetscCallMPI(MPI_Sendrecv(mine, (PetscMPIInt)lines, MPIU_REAL, before, 1, ghost + lines, (PetscMPIInt)lines,
                            MPIU_REAL, after, 1, PETSC_COMM_WORLD, MPI_STATUS_IGNORE));
  PetscCallMPI(MPI_Sendrecv(mine + lines, (PetscMPIInt)lines, MPIU_REAL, after, 2, ghost, (PetscMPIInt)lines, MPIU_REAL,
                            before, 2, PETSC_COMM_WORLD, MPI_STATUS_IGNORE));
  for (PetscInt o = 0; o < s->outer; o++)
    for (PetscInt j = 0; j < s->n; j++)
      for (PetscInt i = 0; i < s->inner; i++) {
        const PetscInt at = i + s->inner * (j + s->n * o), l = i + s->inner * o;
        const PetscReal *row = j < s->nfirst
                                 ? s->rows->first[j]
                                 : (j >= s->n - s->nlast ? s->rows->last[j - (s->n - s->nlast)] : s->rows->row);
        const double low = j ? u[at - s->inner] : ghost[l], up = j < s->n - 1 ? u[at + s->inner] : ghost[lines + l];

        TestLargest(&all[0], fabs(f[at] - (row[0] * low + row[1] * u[at] + row[2] * up)));
        all[1] = PetscMax(all[1], fabs(u[at]));
        all[2] = PetscMax(all[2], fabs(f[at]));
      }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, all, 3, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  *residual = all[0] / (6 * all[1] + all[2]);
  PetscCall(PetscFree4(f, u, mine, ghost));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OneCase(char axis, int kind, PetscInt rows, PetscInt lines, BCRTransportKind way)
{
  static const char *const kinds[] = {"strong", "two", "pade"};
  BCRTriRows numbers;
  BCRTriSpec spec;
  BCRTriOptions options;
  BCRTriInfo info;
  BCRTransportInfo transport;
  BCRDeviceArena arena;
  Run r;
  PetscReal *v;
  double *room, t[4] = {0, 0, 0, 0}, setup, least, residual = 0;
  uint64_t state = 88172645463325252ULL + 7 * (uint64_t)rank;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&r, sizeof(r)));
  PetscCall(PetscMemzero(&arena, sizeof(arena)));
  PetscCall(PetscMemzero(&spec, sizeof(spec)));
  PetscCall(PetscMemzero(&numbers, sizeof(numbers)));
  PetscCall(PetscMemzero(&options, sizeof(options)));
  PetscCall(PetscMemzero(&transport, sizeof(transport)));
  spec.inner = axis == 'x' ? 1 : lines;
  spec.outer = axis == 'x' ? lines : 1;
  spec.n = rows;
  spec.rep = 1;
  spec.rows = &numbers;
  numbers.row[0] = numbers.row[2] = kind == 2 ? (PetscReal)0.25 : -1;
  numbers.row[1] = kind == 2 ? 1 : (kind == 1 ? 2 : 4);
  if (kind == 2 && !periodic) {
    spec.nfirst = rank == 0 ? 1 : 0;
    spec.nlast = rank == size - 1 ? 1 : 0;
    numbers.first[0][1] = numbers.last[0][1] = 1;
    numbers.first[0][2] = numbers.last[0][0] = 2;
  }
  options.isa = -1;
  options.device = PETSC_TRUE;
  PetscCallBCRCuda(BCRCudaStreamCreate(&r.stream));
  options.stream = r.stream;
  r.bytes = (size_t)rows * (size_t)lines * sizeof(PetscReal);
  PetscCall(BCRDeviceArenaGet(&arena, r.bytes, "f", &r.f));
  PetscCall(BCRDeviceArenaGet(&arena, r.bytes, "u", &r.u));
  PetscCall(PetscMalloc1(rows * lines, &v));
  for (PetscInt i = 0; i < rows * lines; i++) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    v[i] = (PetscReal)((double)(state >> 11) / 9007199254740992.0 - 0.5);
  }
  PetscCallBCRCuda(BCRCudaPut(r.f, v, r.bytes, r.stream));
  PetscCall(PetscFree(v));
  if (size > 1)
    PetscCall(BCRTransportCreate(PETSC_COMM_WORLD, "transport", way,
                                 way == BCR_TRANSPORT_MPI ? PETSC_TRUE : PETSC_FALSE, &r.transport));
  options.transport = r.transport;
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  setup = BenchTime();
  spec.periodic = periodic;
  PetscCall(BCRTriCreate(PETSC_COMM_WORLD, &spec, &options, &r.tri));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  setup = BenchTime() - setup;
  spec.periodic = PETSC_FALSE;
  PetscCall(BCRTriCreate(PETSC_COMM_SELF, &spec, &options, &r.own));
  PetscCall(BCRTriGetInfo(r.tri, &info));
  PetscCall(BenchRanksMedian(r.stream, Copy, &r, reps, batch, &t[0], &least));
  PetscCall(BenchRanksMedian(r.stream, Own, &r, reps, batch, &t[2], &least));
  PetscCall(BenchRanksMedian(r.stream, Solve, &r, reps, batch, &t[1], &least));
  PetscCall(Residual(&r, &spec, &residual));
  if (size > 1) { /* a row from and to each neighbour */
    PetscCall(BCRTransportCount(r.transport));
    PetscCall(Solve(&r));
    PetscCall(BCRTransportGetInfo(r.transport, &transport));
    PetscCall(BCRDeviceArenaGet(&arena, 4 * (size_t)lines * sizeof(double), "messages", &room));
    for (int side = -1; side <= 1; side += 2) {
      if (!periodic && (rank + side < 0 || rank + side >= size)) continue;
      r.send[r.nmessage].rank = r.recv[r.nmessage].rank = (rank + side + size) % size;
      r.send[r.nmessage].bytes = r.recv[r.nmessage].bytes = (size_t)lines * sizeof(double);
      r.send[r.nmessage].p = room + 2 * lines * r.nmessage;
      r.recv[r.nmessage].p = room + 2 * lines * r.nmessage + lines;
      r.nmessage++;
    }
    PetscCall(BenchRanksMedian(r.stream, Exchange, &r, reps, batch, &t[3], &least));
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &transport.bytes_sent, 1, MPI_UNSIGNED_LONG, MPI_MAX, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &transport.messages, 1, MPI_UNSIGNED_LONG, MPI_MAX, PETSC_COMM_WORLD));
  if (!rank) {
    printf("%c,%s,%" PetscInt_FMT "x%" PetscInt_FMT ",%d,%s,%s,%.5f,%.5f,%.3f,%.5f,%.5f,%.3f,%zu,%zu,%.2e\n", axis,
           kinds[kind], lines, rows, (int)size, size > 1 ? BCRTransportName(transport.kind) : "-",
           size == 1 ? "-" : (info.coupling == BCR_TRI_COUPLING_REDUCED ? "reduced" : "neighbour"), 1e3 * t[1],
           1e3 * t[0], t[1] / t[0], 1e3 * t[2], 1e3 * t[3], 1e3 * setup, transport.bytes_sent, transport.messages,
           residual);
    (void)fflush(stdout);
  }
  PetscCall(BCRTriDestroy(&r.tri));
  PetscCall(BCRTriDestroy(&r.own));
  PetscCall(BCRTransportDestroy(&r.transport));
  PetscCall(BCRDeviceArenaFree(&arena));
  PetscCallBCRCuda(BCRCudaStreamDestroy(r.stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt rows = 4096, lines = 4096;
  char ways[64] = "auto";
  const char *name[] = {"auto", "mpi", "nccl", "host"};

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-rows", &rows, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-lines", &lines, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-transport", ways, sizeof(ways), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-reps", &reps, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-batch", &batch, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-periodic", &periodic, NULL));
  reps = PetscMin(reps, 101);
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  if (!rank) {
    char device[64];
    int major, minor, sms, shared;

    PetscCallBCRCuda(BCRCudaDeviceName(device, sizeof(device), &major, &minor, &sms, &shared));
    printf("# device: %s, %d ranks, median of %" PetscInt_FMT " batches of %" PetscInt_FMT
           " solves; bytes, messages: of the rank that sends most\n",
           device, (int)size, reps, batch);
    printf("axis,kind,lines_rows,ranks,transport,coupling,time_ms,copy_ms,ratio_to_copy,own_rows_ms,exchange_ms,setup_"
           "ms,bytes_sent,messages,residual\n");
  }
  for (int kind = 0; kind < 3; kind += periodic ? 2 : 1) /* two: singular then */
    for (int a = 0; a < 2; a++)
      for (int k = 0; k < 4; k++) {
        if (strstr(ways, name[k])) PetscCall(OneCase(a ? 'x' : 'y', kind, rows, lines, (BCRTransportKind)k));
        if (size == 1) break;
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
