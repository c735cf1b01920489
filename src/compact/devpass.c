/* Compact derivatives in one pass over ranks with CUDA devices, see devpass.h */
#include "../base/petscbcrimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "devpass.h"
  #include "../base/device.h"
  #include "../backend/cuda/border.h"
  #include "../backend/cuda/lineranks.h"
  #include "../backend/cuda/transport.h"

struct _n_BCRDevicePass {
  BCRCudaCompact *pass; /* not owned */
  BCRTransport transport;
  BCRDeviceArena arena;
  const double *weights;
  int rows, n; /* of the weights; messages */
  void *out[2];
  BCRMessage send[2], recv[2];
  BCRCudaSide side;          /* of the exchange */
  BCRTransportWindow window; /* or NULL: messages */
  BCRCudaCompactWindow waits;
  size_t sent; /* bytes to each neighbour */
};

/* Without the unknowns of an end where the line goes on: G as for the others alone, which are too
   far away to matter for one another */
static void Cut(BCRCudaCompact *p, const PetscBool cut[2])
{
  const int N = p->h + p->t, h = cut[0] ? 0 : p->h, t = cut[1] ? 0 : p->t, n = h + t;
  double G[PETSC_STATIC_ARRAY_LENGTH(p->G)];

  for (int k = 0; k < n; k++) {
    for (int m = 0; m < n + 2; m++)
      G[k * (n + 2) + m] =
        p->G[(k < h ? k : p->h + k - h) * (N + 2) + (m < h ? m : (m < n ? p->h + m - h : N + m - n))];
  }
  for (int k = 0; k < n * (n + 2); k++) p->G[k] = G[k];
  p->h = h;
  p->t = t;
  for (int side = 0; side < 2; side++) p->cut[side] = cut[side] ? 1 : 0;
}

/* What row m (m < 0: of the next rank) of those before the end of a rank adds to y in the last one */
static double Weight(const BCRCudaCompact *p, int m)
{
  double x = 0;

  for (int k = -p->half; k <= p->half; k++) {
    if (m + k >= 0)
      x += p->gamma * (k < 0 ? p->sign * p->c[-k] : (k || p->sign > 0 ? p->c[k] : 0)) *
           PetscPowRealInt((PetscReal)p->root, m + k);
  }
  return x;
}

/* Memory that the kernel itself exchanges in */
static PetscErrorCode Window(BCRDevicePass d, PetscMPIInt rank, PetscMPIInt size, const PetscBool cut[2])
{
  const size_t plane = (size_t)d->pass->inner * (size_t)d->pass->outer;
  int waits = 0;
  void **base;

  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaCompactWaits(d->pass, &waits));
  PetscCall(BCRTransportWindowCreate(d->transport, waits ? PETSC_TRUE : PETSC_FALSE, 16 * plane * sizeof(double),
                                     BCR_CUDA_NOTHING, &d->window, &base, &d->waits.turn));
  if (!d->window) PetscFunctionReturn(PETSC_SUCCESS);
  d->waits.slot = (ptrdiff_t)(8 * plane);
  d->waits.mine = (double *)base[rank];
  d->waits.rows = d->rows;
  d->waits.weights = d->weights;
  d->waits.scale = d->pass->sign / (1 - d->pass->root * d->pass->root);
  for (int side = 0; side < 2; side++)
    d->waits.to[side] = cut[side] ? (double *)base[(rank + (side ? 1 : size - 1)) % size] : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Messages(BCRDevicePass d, PetscMPIInt rank, PetscMPIInt size, const PetscBool cut[2])
{
  void *p;
  int n = 0;

  PetscFunctionBegin;
  for (int side = 0; side < 2; side++) {
    if (!cut[side]) continue;
    PetscCall(BCRDeviceArenaGet(&d->arena, d->sent, "planes for other ranks", &d->out[side]));
    PetscCall(BCRDeviceArenaGet(&d->arena, d->sent, "planes of other ranks", &p));
    d->pass->ghost[side] = p;
    d->recv[n].rank = (rank + (side ? 1 : size - 1)) % size;
    d->recv[n].p = p;
    d->recv[n++].bytes = d->sent;
  }
  n = 0;
  /* of two between the same ranks, the one to the rank behind comes first on either side */
  for (int side = 1; side >= 0; side--) {
    if (!cut[side]) continue;
    d->send[n].rank = (rank + (side ? 1 : size - 1)) % size;
    d->send[n].p = d->out[side];
    d->send[n++].bytes = d->sent;
  }
  PetscCall(BCRTransportReserve(d->transport, (size_t)d->n * d->sent, (size_t)d->n * d->sent));
  PetscCallBCRCuda(BCRCudaSideCreate(&d->side));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDevicePassCreate(MPI_Comm comm, PetscBool periodic, BCRCudaCompact *pass, BCRTransport transport,
                                   BCRStream stream, BCRDevicePass *device)
{
  const size_t real = pass->single ? sizeof(float) : sizeof(double), plane = (size_t)pass->inner * (size_t)pass->outer,
               bytes = (size_t)(pass->half + 1) * plane * real;
  BCRDevicePass d;
  PetscMPIInt rank, size;
  PetscBool cut[2];
  double *weights;
  void *p;

  PetscFunctionBegin;
  PetscCall(PetscNew(&d));
  *device = d;
  d->pass = pass;
  d->transport = transport;
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  cut[0] = periodic || rank > 0 ? PETSC_TRUE : PETSC_FALSE;
  cut[1] = periodic || rank < size - 1 ? PETSC_TRUE : PETSC_FALSE;
  Cut(pass, cut);
  pass->periodic = 0;
  d->rows = pass->reach + pass->half;
  PetscCall(PetscMalloc1(d->rows, &weights));
  for (int m = 0; m < d->rows; m++) weights[m] = Weight(pass, m);
  PetscCall(BCRDeviceArenaGet(&d->arena, (size_t)d->rows * sizeof(double), "weights", &p));
  PetscCallBCRCuda(BCRCudaPut(p, weights, (size_t)d->rows * sizeof(double), stream));
  d->weights = (const double *)p;
  PetscCall(PetscFree(weights));
  for (int k = 0; k < pass->half; k++) {
    pass->owed[0][k] = Weight(pass, -1 - k);
    pass->owed[1][k] = pass->sign / (1 - pass->root * pass->root) * pass->owed[0][k];
  }
  pass->back = pass->root / (1 - pass->root * pass->root);
  for (int side = 0; side < 2; side++) d->n += cut[side] ? 1 : 0;
  PetscCall(Window(d, rank, size, cut));
  d->sent = d->window ? (size_t)(pass->half + 1) * plane * sizeof(double) : bytes;
  if (!d->window) PetscCall(Messages(d, rank, size, cut));
  PetscCallBCRCuda(BCRCudaSynchronize(stream)); /* products may be on another one */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Exchange(BCRDevicePass d, BCRStream stream, const PetscReal *f)
{
  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaSideBegin(&d->side, stream));
  PetscCallBCRCuda(BCRCudaCompactEnds(d->side.stream, d->pass, d->rows, d->weights, f, d->out));
  PetscCall(BCRTransportExchange(d->transport, d->side.stream, d->n, d->send, d->n, d->recv));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDevicePassBegin(BCRDevicePass d, BCRStream stream, const PetscReal *f)
{
  const PetscErrorCode ierr = d->window ? PETSC_SUCCESS : Exchange(d, stream, f);

  PetscFunctionBegin;
  PetscCall(BCRTransportAgree(d->transport, ierr));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(BCRDevicePass d, BCRStream stream, const PetscReal *f, PetscReal *u)
{
  PetscFunctionBegin;
  PetscCall(BCRTransportWindowBegin(d->transport, (size_t)d->n * d->sent, (size_t)d->n));
  PetscCallBCRCuda(BCRCudaCompactSolve(stream, d->pass, f, u, &d->waits));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDevicePassEnd(BCRDevicePass d, BCRStream stream, const PetscReal *f, PetscReal *u)
{
  PetscFunctionBegin;
  if (d->window) {
    const PetscErrorCode ierr = Solve(d, stream, f, u);

    PetscCall(BCRTransportAgree(d->transport, ierr));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallBCRCuda(BCRCudaSideEnd(&d->side, stream));
  PetscCallBCRCuda(BCRCudaCompactSolve(stream, d->pass, f, u, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDevicePassGetInfo(BCRDevicePass d, PetscInt *messages, size_t *bytes_sent, size_t *workspace)
{
  PetscFunctionBegin;
  *messages = d->n;
  *bytes_sent = (size_t)d->n * d->sent;
  *workspace = d->arena.bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDevicePassDestroy(BCRDevicePass *device)
{
  BCRDevicePass d = *device;

  PetscFunctionBegin;
  if (!d) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRTransportWindowDestroy(&d->window));
  PetscCallBCRCuda(BCRCudaSideDestroy(&d->side));
  PetscCall(BCRDeviceArenaFree(&d->arena));
  PetscCall(PetscFree(*device));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
