/*
  Compact derivatives on a CUDA device along each axis of an n x n x n field, and recurrences on one
  array, against a copy of the field in the same run (median of single runs, by events), from device
  memory to device memory.

  mpiexec -n P: compact derivatives over ranks with a device each, n x n x n of the field on each,
  lines cut along the axis of the derivative (weak scaling); median over batches that start
  together, the slowest rank, beside a copy of a rank's part in the same run; bytes and messages of
  the rank that sends most. -ranks: the same table for one rank. -closed 0: periodic lines, so that
  every rank has neighbours on both sides, as most of many ranks have.

  cuda_compact [-n 512] [-axes xyz] [-reps 21] [-recurrence 268435456] [-all] [-single] [-ranks]
  [-transport auto,host] [-batch 10] [-closed 0]
  -all: every scheme, periodic lines, and the right-hand side and the lines one after the other; else lele6. -single: each with fields of float after it
*/
#include "bench.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include <petscdevice.h>
  #include "cuda_bench.h"
  #include "src/compact/compact.h"
  #include "src/recurrence/devrecurrence.h"
  #include "src/transport/transport.h"

static BCRStream stream;
static PetscInt reps = 21, batch = 10;
static PetscMPIInt rank, size;
static PetscBool single = PETSC_FALSE;

typedef struct {
  BCRCompact c;
  BCRRecurrence r;
  BCRDeviceRecurrence work;
  PetscReal *f, *u, *s;
  size_t bytes;
  BCRCudaCompact single; /* the pass in single precision, while that is what is timed */
} Run;

static int Copy(void *context)
{
  Run *r = (Run *)context;

  return BCRCudaCopy(r->u, r->f, r->bytes, stream);
}
static int Derive(void *context)
{
  Run *r = (Run *)context;

  return (int)BCRCompactEndDevice(r->c, stream, r->f, r->u);
}
static int Recur(void *context)
{
  Run *r = (Run *)context;

  return (int)BCRDeviceRecurrenceSolve(r->work, &r->r, stream, (PetscScalar *)r->f, 1, (PetscScalar *)r->u, NULL);
}

static PetscErrorCode Fill(PetscReal *to, PetscInt64 n)
{
  PetscReal *v;
  uint64_t state = 88172645463325252ULL + 7 * (uint64_t)rank;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n, &v));
  for (PetscInt64 i = 0; i < n; i++) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    v[i] = (PetscReal)((double)(state >> 11) / 9007199254740992.0 - 0.5);
  }
  PetscCallBCRCuda(BCRCudaPut(to, v, (size_t)n * sizeof(PetscReal), stream));
  PetscCall(PetscFree(v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int DeriveSingle(void *context)
{
  Run *r = (Run *)context;

  return BCRCudaCompactSolve(stream, &r->single, r->f, r->u, NULL);
}

/* Numbers of the device, of float or PetscReal */
static PetscErrorCode Fetch(const Run *r, const PetscReal *from, PetscReal *to)
{
  float *v = (float *)(void *)to;

  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaGet(to, from, r->bytes, stream));
  /* from the last one on they do not overlap */
  for (size_t i = r->bytes / sizeof(float); i-- > 0 && r->single.single;) to[i] = (PetscReal)v[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Largest |A d - B f| of some lines, relative to |A| |d| + |B| |f| */
static PetscErrorCode Residual(Run *r, const BCRCompactScheme *s, PetscInt n, PetscInt axis, PetscBool periodic,
                               double h, double *residual)
{
  const PetscInt step = axis == 0 ? 1 : (axis == 1 ? n : n * n);
  const double scale = s->derivative == 1 ? 1 / h : 1 / (h * h);
  PetscReal *f, *u;
  double worst = 0, du = 0, df = 0, c = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n * n * n, &f, n * n * n, &u));
  PetscCall(Fetch(r, r->f, f));
  PetscCall(Fetch(r, r->u, u));
  for (PetscInt k = 0; k < n * n; k += 37) {
    const PetscInt at = axis == 0 ? k * n : (axis == 1 ? k % n + n * n * (k / n) : k);

    for (PetscInt j = 0; j < n; j++) {
      BCRCompactRow row;
      double x;

      PetscCall(BCRCompactGetRow(s, n, j, &row));
      x = u[at + step * j];
      if (periodic || j) x += row.low * u[at + step * ((j + n - 1) % n)];
      if (periodic || j < n - 1) x += row.up * u[at + step * ((j + 1) % n)];
      for (PetscInt i = 0; i < row.points; i++) {
        x -= scale * row.c[i] * f[at + step * ((row.start + i + n) % n)];
        c = PetscMax(c, scale * fabs(row.c[i]));
        df = PetscMax(df, fabs(f[at + step * ((row.start + i + n) % n)]));
      }
      TestLargest(&worst, fabs(x));
      du = PetscMax(du, fabs(u[at + step * j]));
    }
  }
  *residual = worst / (2 * du + 2 * c * df);
  PetscCall(PetscFree2(f, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same pass over fields of float, of a PETSc of double, too */
static PetscErrorCode SingleCase(Run *r, const BCRCompactScheme *s, const char scheme[], PetscInt derivative,
                                 PetscInt axis, PetscInt n, PetscBool periodic, double h)
{
  const BCRCudaCompact *pass;
  const size_t bytes = r->bytes;
  float *v;
  double copy = 0, ms = 0, residual = 0;
  uint64_t state = 88172645463325252ULL;

  PetscFunctionBegin;
  PetscCall(BCRCompactGetPass(r->c, &pass));
  if (!pass || pass->single) PetscFunctionReturn(PETSC_SUCCESS);
  r->single = *pass;
  r->single.single = 1;
  r->single.root = (float)pass->root;
  r->bytes = (size_t)n * (size_t)n * (size_t)n * sizeof(float);
  PetscCall(PetscMalloc1(n * n * n, &v));
  for (PetscInt i = 0; i < n * n * n; i++) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    v[i] = (float)((double)(state >> 11) / 9007199254740992.0 - 0.5);
  }
  PetscCallBCRCuda(BCRCudaPut(r->f, v, r->bytes, stream));
  PetscCall(PetscFree(v));
  PetscCall(BenchDeviceMedian(stream, Copy, r, 3, reps, &copy));
  PetscCall(BenchDeviceMedian(stream, DeriveSingle, r, 3, reps, &ms));
  PetscCall(Residual(r, s, n, axis, periodic, h, &residual));
  printf("compact,%s,%d,%c,%s,one pass single,%" PetscInt_FMT ",%.5f,%.5f,%.3f,%.2e\n", scheme, (int)derivative,
         (char)('x' + axis), periodic ? "periodic" : "closed", n, ms, copy, ms / copy, residual);
  (void)fflush(stdout);
  r->bytes = bytes;
  r->single.single = 0;
  PetscCall(Fill(r->f, (PetscInt64)n * n * n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode OneCase(Run *r, MatCompactScheme scheme, PetscInt derivative, PetscInt axis, PetscInt n,
                              PetscBool periodic, BCRTriMethod method, double copy)
{
  const double h = 1 / (double)n;
  BCRCompactScheme s;
  BCRTriOptions options;
  BCRCompactSpec spec;
  double ms, residual = 0;

  PetscFunctionBegin;
  PetscCall(BCRCompactGetScheme(scheme, derivative, PETSC_DECIDE, periodic, &s));
  PetscCall(PetscMemzero(&options, sizeof(options)));
  options.isa = -1;
  options.device = PETSC_TRUE;
  options.stream = stream;
  options.method = method;
  spec.n = spec.local = n;
  spec.periodic = periodic;
  spec.h = (PetscReal)h;
  spec.inner = axis == 0 ? 1 : (axis == 1 ? n : n * n);
  spec.outer = axis == 0 ? n * n : (axis == 1 ? n : 1);
  spec.rep = 1;
  PetscCall(BCRCompactCreate(PETSC_COMM_SELF, &s, &spec, &options, &r->c));
  PetscCall(BenchDeviceMedian(stream, Derive, r, 3, reps, &ms));
  PetscCall(Residual(r, &s, n, axis, periodic, h, &residual));
  printf("compact,%s,%d,%c,%s,%s,%" PetscInt_FMT ",%.5f,%.5f,%.3f,%.2e\n", MatCompactSchemes[scheme], (int)derivative,
         (char)('x' + axis), periodic ? "periodic" : "closed",
         method == BCR_TRI_AUTO ? "one pass" : PCNeatoMethods[method], n, ms, copy, ms / copy, residual);
  (void)fflush(stdout);
  if (single && method == BCR_TRI_AUTO)
    PetscCall(SingleCase(r, &s, MatCompactSchemes[scheme], derivative, axis, n, periodic, h));
  PetscCall(BCRCompactDestroy(&r->c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CopyRanks(void *context)
{
  return Copy(context) ? PETSC_ERR_GPU : PETSC_SUCCESS;
}
static PetscErrorCode DeriveRanks(void *context)
{
  Run *r = (Run *)context;

  return BCRCompactEndDevice(r->c, stream, r->f, r->u);
}

/* Largest |A d - B f| of some lines, relative to |A| |d| + |B| |f|: they are put together on rank 0 */
static PetscErrorCode ResidualRanks(Run *r, const BCRCompactScheme *s, PetscInt n, PetscInt axis, PetscBool periodic,
                                    double h, double *residual)
{
  const PetscInt step = axis == 0 ? 1 : (axis == 1 ? n : n * n), N = n * size;
  const double scale = s->derivative == 1 ? 1 / h : 1 / (h * h);
  PetscReal *f, *u, *line, *whole[2];
  double worst = 0, du = 0, df = 0, c = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc5(n * n * n, &f, n * n * n, &u, n, &line, N, &whole[0], N, &whole[1]));
  PetscCallBCRCuda(BCRCudaGet(f, r->f, r->bytes, stream));
  PetscCallBCRCuda(BCRCudaGet(u, r->u, r->bytes, stream));
  for (PetscInt k = 0; k < n * n; k += 997) {
    const PetscInt at = axis == 0 ? k * n : (axis == 1 ? k % n + n * n * (k / n) : k);

    for (int which = 0; which < 2; which++) {
      for (PetscInt j = 0; j < n; j++) line[j] = (which ? u : f)[at + step * j];
      PetscCallMPI(
        MPI_Gather(line, (PetscMPIInt)n, MPIU_REAL, whole[which], (PetscMPIInt)n, MPIU_REAL, 0, PETSC_COMM_WORLD));
    }
    for (PetscInt j = 0; j < N && !rank; j++) {
      const PetscReal *F = whole[0], *U = whole[1];
      BCRCompactRow row;
      double x;

      PetscCall(BCRCompactGetRow(s, N, j, &row));
      x = U[j] + (j || periodic ? row.low * U[(j + N - 1) % N] : 0) +
          (j < N - 1 || periodic ? row.up * U[(j + 1) % N] : 0);
      for (PetscInt i = 0; i < row.points; i++) {
        x -= scale * row.c[i] * F[(row.start + i + N) % N];
        c = PetscMax(c, scale * fabs(row.c[i]));
      }
      TestLargest(&worst, fabs(x));
      du = PetscMax(du, fabs(U[j]));
      df = PetscMax(df, fabs(F[j]));
    }
  }
  *residual = worst / (2 * du + 2 * c * df);
  PetscCall(PetscFree5(f, u, line, whole[0], whole[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RanksCase(Run *r, PetscInt derivative, PetscInt axis, PetscInt n, PetscBool periodic,
                                BCRTransportKind way)
{
  const double h = 1 / (double)(n * size);
  BCRCompactScheme s;
  BCRTriOptions options;
  BCRCompactSpec spec;
  BCRTransport transport = NULL;
  BCRTransportInfo info;
  double t[2] = {0, 0}, least, residual = 0;

  PetscFunctionBegin;
  PetscCall(BCRCompactGetScheme(MAT_COMPACT_LELE6, derivative, PETSC_DECIDE, periodic, &s));
  PetscCall(PetscMemzero(&options, sizeof(options)));
  PetscCall(PetscMemzero(&info, sizeof(info)));
  if (size > 1)
    PetscCall(BCRTransportCreate(PETSC_COMM_WORLD, "transport", way,
                                 way == BCR_TRANSPORT_MPI ? PETSC_TRUE : PETSC_FALSE, &transport));
  options.isa = -1;
  options.device = PETSC_TRUE;
  options.stream = stream;
  options.transport = transport;
  spec.n = n * size;
  spec.local = n;
  spec.periodic = periodic;
  spec.h = (PetscReal)h;
  spec.inner = axis == 0 ? 1 : (axis == 1 ? n : n * n);
  spec.outer = axis == 0 ? n * n : (axis == 1 ? n : 1);
  spec.rep = 1;
  PetscCall(BCRCompactCreate(PETSC_COMM_WORLD, &s, &spec, &options, &r->c));
  PetscCall(BenchRanksMedian(stream, CopyRanks, r, reps, batch, &t[0], &least));
  PetscCall(BenchRanksMedian(stream, DeriveRanks, r, reps, batch, &t[1], &least));
  if (transport) PetscCall(BCRTransportCount(transport));
  PetscCall(DeriveRanks(r));
  if (transport) PetscCall(BCRTransportGetInfo(transport, &info));
  PetscCall(ResidualRanks(r, &s, n, axis, periodic, h, &residual));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &info.bytes_sent, 1, MPI_UNSIGNED_LONG, MPI_MAX, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &info.messages, 1, MPI_UNSIGNED_LONG, MPI_MAX, PETSC_COMM_WORLD));
  if (!rank) {
    printf("lele6,%d,%c,%" PetscInt_FMT ",%d,%s,%.5f,%.5f,%.3f,%zu,%zu,%.2e\n", (int)derivative, (char)('x' + axis), n,
           (int)size, size > 1 ? BCRTransportName(info.kind) : "-", 1e3 * t[1], 1e3 * t[0], t[1] / t[0],
           info.bytes_sent, info.messages, residual);
    (void)fflush(stdout);
  }
  PetscCall(BCRCompactDestroy(&r->c));
  PetscCall(BCRTransportDestroy(&transport));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Ranks(Run *r, PetscInt n, PetscBool periodic, const char axes[], const char ways[])
{
  const char *name[] = {"auto", "mpi", "nccl", "host"};

  PetscFunctionBegin;
  if (!rank)
    printf("scheme,derivative,axis,n,ranks,transport,time_ms,copy_ms,ratio_to_copy,bytes_sent,messages,residual\n");
  for (PetscInt axis = 0; axis < 3; axis++)
    for (PetscInt derivative = 1; derivative < 3; derivative++)
      for (int way = 0; way < 4; way++) {
        if (strchr(axes, 'x' + (int)axis) && (size == 1 ? way == 0 : strstr(ways, name[way]) != NULL))
          PetscCall(RanksCase(r, derivative, axis, n, periodic, (BCRTransportKind)way));
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt n = 512, long_ = 268435456;
  PetscBool all = PETSC_FALSE, ranks = PETSC_FALSE, closed = PETSC_TRUE;
  BCRDeviceArena arena;
  Run r;
  double copy = 0;
  char device[64], axes[4] = "xyz", ways[64] = "auto";
  int major, minor, sms, shared;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-reps", &reps, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-recurrence", &long_, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-all", &all, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-single", &single, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-ranks", &ranks, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-closed", &closed, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-batch", &batch, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-axes", axes, sizeof(axes), NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-transport", ways, sizeof(ways), NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (size > 1) ranks = PETSC_TRUE;
  if (ranks) long_ = 0;
  PetscCall(PetscMemzero(&arena, sizeof(arena)));
  PetscCall(PetscMemzero(&r, sizeof(r)));
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  PetscCallBCRCuda(BCRCudaStreamCreate(&stream));
  PetscCallBCRCuda(BCRCudaDeviceName(device, sizeof(device), &major, &minor, &sms, &shared));
  if (!rank)
    printf("# device: %s, %s, %d ranks, medians of %" PetscInt_FMT " runs\n", device,
           sizeof(PetscReal) == sizeof(double) ? "double" : "single", (int)size, reps);
  if (!ranks) printf("what,scheme,derivative,axis,ends,how,n,time_ms,copy_ms,ratio_to_copy,residual\n");
  if (n) {
    r.bytes = (size_t)n * (size_t)n * (size_t)n * sizeof(PetscReal);
    PetscCall(BCRDeviceArenaGet(&arena, r.bytes, "f", &r.f));
    PetscCall(BCRDeviceArenaGet(&arena, r.bytes, "u", &r.u));
    PetscCall(Fill(r.f, (PetscInt64)n * n * n));
    if (ranks) PetscCall(Ranks(&r, n, (PetscBool)!closed, axes, ways));
    else PetscCall(BenchDeviceMedian(stream, Copy, &r, 3, reps, &copy));
    for (PetscInt axis = 0; axis < 3; axis++) {
      if (ranks || !strchr(axes, 'x' + (int)axis)) continue;
      for (PetscInt derivative = 1; derivative < 3; derivative++)
        for (int scheme = all ? 0 : MAT_COMPACT_LELE6; scheme <= (all ? MAT_COMPACT_SPECTRAL : MAT_COMPACT_LELE6);
             scheme++) {
          PetscCall(OneCase(&r, (MatCompactScheme)scheme, derivative, axis, n, PETSC_FALSE, BCR_TRI_AUTO, copy));
          if (all)
            PetscCall(OneCase(&r, (MatCompactScheme)scheme, derivative, axis, n, PETSC_TRUE, BCR_TRI_AUTO, copy));
          if (all && scheme == MAT_COMPACT_LELE6)
            PetscCall(OneCase(&r, (MatCompactScheme)scheme, derivative, axis, n, PETSC_FALSE, BCR_TRI_THOMAS, copy));
        }
    }
    PetscCall(BCRDeviceArenaFree(&arena));
  }
  #if !defined(PETSC_USE_COMPLEX)
  if (long_) {
    r.bytes = (size_t)long_ * sizeof(PetscReal);
    PetscCall(BCRDeviceArenaGet(&arena, r.bytes, "t", &r.f));
    PetscCall(BCRDeviceArenaGet(&arena, r.bytes, "w", &r.u));
    PetscCall(BCRDeviceArenaGet(&arena, r.bytes, "s", &r.s));
    PetscCall(Fill(r.f, long_));
    PetscCall(Fill(r.s, long_));
    for (PetscInt size = 1 << 20;; size *= 16) {
      r.bytes = (size_t)size * sizeof(PetscReal);
      PetscCall(BenchDeviceMedian(stream, Copy, &r, 3, reps, &copy));
      for (int constant = 0; constant < 2; constant++) {
        double ms;

        PetscCall(BCRDeviceRecurrenceGet(PETSC_COMM_SELF, &r.work));
        r.r.n = size;
        r.r.s = constant ? NULL : (PetscScalar *)r.s;
        r.r.scale = (PetscScalar)0.9;
        PetscCall(BenchDeviceMedian(stream, Recur, &r, 3, reps, &ms));
        printf("recurrence,%s,,,,,%" PetscInt_FMT ",%.5f,%.5f,%.3f,\n", constant ? "constant" : "varying", size, ms,
               copy, ms / copy);
        (void)fflush(stdout);
      }
      if (size > long_ / 16) break;
    }
    PetscCall(BCRDeviceArenaFree(&arena));
  }
  #endif
  PetscCallBCRCuda(BCRCudaStreamDestroy(stream));
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
