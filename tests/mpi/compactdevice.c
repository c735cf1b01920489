/*
  Compact derivatives on CUDA devices (BCRCompact...Device()) against those of the host, which
  tests/mpi/compact.c compares with LAPACK: schemes, closures, periodic lines, layouts, lengths
  around those of the kernels' tiles, parts of any size, one row or none on a rank, methods;
  transposes; planes sent ahead; arrays of the host; the one pass in single precision. Says so and
  passes where there is no device.

  -part n: one case in n.

  ranks: 1 2 3 4
*/
#include <petsc/private/petscimpl.h> /* use_gpu_aware_mpi */
#include "../../src/compact/compact.h"
#include "tests/check.h"
#include <math.h>

static int passed, failed;
static PetscMPIInt rank;

#if defined(PETSCBCR_HAVE_CUDA)
  #include <petscdevice.h>
  #include "../../src/poisson/device.h"
  #include "../../src/transport/transport.h"
  #include "../../src/backend/cuda/compact.h"

static PetscMPIInt size;
static BCRTransport transport;

static double number(void) /* the same on all ranks */
{
  return 2 * TestUniform() - 1;
}

/* rows of rank p of n */
static PetscInt part(int spread, PetscInt n, PetscMPIInt p)
{
  switch (size > 1 ? spread : 0) {
  case 0: /* even */
    return n / size + (p < n % size);
  case 1: /* one on each but the first */
    return p ? 1 : n - size + 1;
  case 2: /* one or two on the last, none on the one before, the rest on the others */
    return p == size - 1
             ? 2
             : (size > 2 && p == size - 2
                  ? 0
                  : (n - 2) / (size > 2 ? size - 2 : 1) + (p == 0 ? (n - 2) % (size > 2 ? size - 2 : 1) : 0));
  default: /* uneven */
    return p == size - 1 ? n - (size - 1) * (n / (2 * size)) : n / (2 * size);
  }
}

typedef struct {
  MatCompactScheme scheme;
  PetscInt derivative, closure, n, inner, outer, rep;
  PetscBool periodic;
  BCRTriMethod method;
  int spread;
} Case;

/* The one pass in single precision, whatever PetscReal is, against v. The library has it with the programs in bench/ */
static PetscErrorCode single(BCRCompact device, PetscInt all, const PetscReal *f, const PetscReal *v, double *off)
{
  const BCRCudaCompact *pass;
  BCRCudaCompact p;
  BCRDeviceArena arena;
  const size_t bytes = (size_t)all * sizeof(float);
  float *w;
  void *d[2];

  PetscFunctionBegin;
  *off = -1;
  PetscCall(BCRCompactGetPass(device, &pass));
  if (!pass) PetscFunctionReturn(PETSC_SUCCESS);
  p = *pass;
  p.single = 1;
  p.root = (float)p.root;
  PetscCall(PetscMemzero(&arena, sizeof(arena)));
  PetscCall(PetscMalloc1(all, &w));
  for (int i = 0; i < 2; i++) PetscCall(BCRDeviceArenaGet(&arena, bytes, "single", &d[i]));
  for (PetscInt i = 0; i < all; i++) w[i] = (float)f[i];
  PetscCallBCRCuda(BCRCudaPut(d[0], w, bytes, NULL));
  for (PetscInt i = 0; i < all; i++) w[i] = NAN;
  PetscCallBCRCuda(BCRCudaPut(d[1], w, bytes, NULL));
  PetscCallBCRCuda(BCRCudaCompactSolve(NULL, &p, d[0], d[1], NULL));
  PetscCallBCRCuda(BCRCudaGet(w, d[1], bytes, NULL));
  *off = 0;
  for (PetscInt i = 0; i < all; i++) {
    const double e = fabs((double)w[i] - (double)v[i]);

    TestLargest(off, e);
  }
  PetscCall(PetscFree(w));
  PetscCall(BCRDeviceArenaFree(&arena));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode run(const Case *k)
{
  const PetscInt local = part(k->spread, k->n, rank), all = k->inner * local * k->outer;
  const size_t bytes = (size_t)all * sizeof(PetscReal);
  const BCRCompactSpec spec = {k->n, k->periodic, (PetscReal)0.5, k->inner, local, k->outer, k->rep};
  BCRCompactScheme s;
  BCRTriOptions options;
  BCRCompact host, device;
  BCRDeviceArena arena;
  PetscReal *f, *u, *v, *df, *du, *stage[2];
  double worst[5] = {0, 0, 0, 0, 0}, most = 0, tol = 60 * (double)PETSC_MACHINE_EPSILON;

  PetscFunctionBegin;
  PetscCall(BCRCompactGetScheme(k->scheme, k->derivative, k->closure, k->periodic, &s));
  if (k->n < s.minimum || k->n < size + 2) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscMemzero(&options, sizeof(options)));
  PetscCall(PetscMemzero(&arena, sizeof(arena)));
  options.isa = -1;
  PetscCall(BCRCompactCreate(PETSC_COMM_WORLD, &s, &spec, &options, &host));
  options.device = PETSC_TRUE;
  options.transport = transport;
  options.method = k->method;
  PetscCall(BCRCompactCreate(PETSC_COMM_WORLD, &s, &spec, &options, &device));
  PetscCall(PetscMalloc3(all, &f, all, &u, all, &v));
  PetscCall(BCRDeviceArenaGet(&arena, bytes, "f", &df));
  PetscCall(BCRDeviceArenaGet(&arena, bytes, "u", &du));
  for (PetscInt i = 0; i < all; i++) f[i] = (PetscReal)number();
  for (PetscInt i = all; i < k->inner * k->outer * k->n; i++) (void)number();
  if (rank) (void)number();
  PetscCallBCRCuda(BCRCudaPut(df, f, bytes, NULL));
  for (int step = 0; step < 4; step++) { /* as it is; planes ahead; arrays of the host; transpose */
    double off = 0, size_ = 0;

    if (step == 3) PetscCall(BCRCompactApplyTranspose(host, f, v));
    else {
      PetscCall(BCRCompactBegin(host, f));
      PetscCall(BCRCompactEnd(host, f, v));
    }
    for (PetscInt i = 0; i < all; i++) u[i] = (PetscReal)NAN;
    PetscCallBCRCuda(BCRCudaPut(du, u, bytes, NULL));
    if (step == 1) PetscCall(BCRCompactBeginDevice(device, NULL, df));
    if (step == 2) {
      PetscCall(BCRCompactStage(device, NULL, f, NULL, stage));
      PetscCall(BCRCompactEndDevice(device, NULL, stage[0], stage[1]));
      PetscCall(BCRCompactStage(device, NULL, NULL, u, stage));
    } else {
      if (step == 3) PetscCall(BCRCompactApplyTransposeDevice(device, NULL, df, du));
      else PetscCall(BCRCompactEndDevice(device, NULL, df, du));
      PetscCallBCRCuda(BCRCudaGet(u, du, bytes, NULL));
    }
    for (PetscInt i = 0; i < all; i++) {
      const double e = fabs((double)u[i] - (double)v[i]);

      TestLargest(&off, e);
      size_ = PetscMax(size_, fabs((double)v[i]));
    }
    if (step == 0 && PETSCBCR_CUDA_FIELDS == 3) PetscCall(single(device, all, f, v, &worst[4]));
    worst[step] = off;
    most = PetscMax(most, size_);
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, worst, 5, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &most, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  for (int step = 0; step < 5; step++) {
    if (step == 4) tol = 60 * 1.2e-7;
    if (worst[step] < 0) continue; /* no such pass */
    if (worst[step] <= tol * most) passed++;
    else {
      failed++;
      if (!rank)
        printf("FAILED %s derivative %d closure %d n %d inner %d outer %d rep %d periodic %d method %d spread %d, step "
               "%d: off by %g of %g\n",
               MatCompactSchemes[k->scheme], (int)k->derivative, (int)k->closure, (int)k->n, (int)k->inner,
               (int)k->outer, (int)k->rep, (int)k->periodic, (int)k->method, k->spread, step, worst[step], most);
    }
  }
  PetscCall(BCRCompactDestroy(&host));
  PetscCall(BCRCompactDestroy(&device));
  PetscCall(BCRDeviceArenaFree(&arena));
  PetscCall(PetscFree3(f, u, v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode all(PetscInt every)
{
  static const PetscInt layouts[][3] = {
    {1,  1, 1},
    {1,  7, 1},
    {2,  3, 2},
    {5,  2, 1},
    {33, 1, 1},
    {48, 3, 2}
  };
  static const PetscInt n[] = {7,   12,  16,  17,  31,  40,  100, 128, 255,  165,  290,  500,
                               512, 513, 516, 518, 530, 548, 640, 900, 1024, 1060, 1500, 2100};
  PetscInt count = 0;

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(n); i++)
    for (int layout = 0; layout < 6; layout++)
      for (int scheme = 0; scheme < 3; scheme++)
        for (PetscInt derivative = 1; derivative < 3; derivative++)
          for (int ends = 0; ends < 3; ends++) {
            Case k;

            if (count++ % every || (n[i] > 100 && (count / every) % 3)) continue;
            k.scheme = (MatCompactScheme)scheme;
            k.derivative = derivative;
            k.closure = ends == 2 ? (scheme ? 3 + count % 4 : 3 + count % 2) : PETSC_DECIDE;
            k.periodic = ends == 0 ? PETSC_TRUE : PETSC_FALSE;
            k.n = n[i];
            k.inner = layouts[layout][0];
            k.outer = layouts[layout][1];
            k.rep = layouts[layout][2];
            k.method = count % 7 == 0 ? BCR_TRI_THOMAS : (count % 5 == 0 ? BCR_TRI_SCAN : BCR_TRI_AUTO);
            k.spread = (int)(count / 3 % 4);
            PetscCall(run(&k));
          }
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(TestSeed());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
#if defined(PETSCBCR_HAVE_CUDA)
  {
    PetscInt every = 1;
    const char *why = NULL;

    PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
    PetscCall(PetscOptionsGetInt(NULL, NULL, "-part", &every, NULL));
    if (BCRDeviceAvailable(&why)) {
      PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA)); /* a device for each rank, if there are so many */
      PetscCall(BCRTransportCreate(PETSC_COMM_WORLD, "transport",
                                   use_gpu_aware_mpi ? BCR_TRANSPORT_MPI : BCR_TRANSPORT_AUTO, use_gpu_aware_mpi,
                                   &transport));
      PetscCall(all(every));
      PetscCall(BCRTransportDestroy(&transport));
    } else if (!rank) printf("no device: %s\n", why ? why : "");
  }
#else
  printf("built without CUDA\n");
#endif
  PetscCall(PetscFinalize());
  return TestStatus(!rank, passed, failed);
}
