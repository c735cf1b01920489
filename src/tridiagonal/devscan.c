/* scan.c on a CUDA device: near-Toeplitz lines by two constant recurrences. The kernels are src/backend/cuda/triscan.cu,
   trirows.cu, tripieces.cu, triline.cu. */
#include "../base/petscbcrimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "deviceimpl.h"
  #include <math.h>

typedef struct {
  BCRCudaScan scan;
  void *work;
} Scan;

/* What the kernels' table is made from: abc, [3][sets]; G, [h + t][h + t + 2][sets]; and how far the ends reach */
static PetscErrorCode scan_numbers(BCRTriDevice d, const BCRTriSpec *s, BCRCudaScan *S, double *abc, double *G)
{
  const PetscInt h = S->h, t = S->t, N = h + t, sets = d->sets;
  double decay = 1;
  BCRTriScanLine line;

  PetscFunctionBegin;
  for (PetscInt l = 0; l < sets; l++) {
    PetscCall(BCRTriScanSetLine(s, d->single, l, h, t, &line));
    abc[l] = line.alpha;
    abc[sets + l] = line.beta;
    PetscCall(BCRTriRange(s, d->single, l, h, HUGE_VAL, &line.gamma));
    abc[2 * sets + l] = line.gamma;
    for (PetscInt e = 0; e < N * (N + 2); e++) {
      PetscCall(BCRTriRange(s, d->single, l, 0, line.unit[e % (N + 2)], &line.G[e]));
      G[e * sets + l] = line.G[e];
    }
    decay = PetscMax(decay, PetscMax(BCRTriScanDecay(line.alpha, d->single), BCRTriScanDecay(line.beta, d->single)));
  }
  S->first[0] = h > 1 ? 1 : 1 + line.beta * line.uh[0]; /* scan_unknown() of scan.c */
  S->first[1] = h > 1 ? 0 : line.beta * line.uh[1];
  S->first[2] = h > 1 ? 0 : line.beta;
  S->reach = (ptrdiff_t)PetscMin((double)s->n, decay + 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode scan_tables(BCRTriDevice d, const BCRTriSpec *s, BCRCudaScan *S)
{
  const size_t N = (size_t)(S->h + S->t), sets = (size_t)d->sets, room = BCRCudaScanTableSize(S);
  double *abc, *G, *tab;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscCalloc3(3 * sets, &abc, N * (N + 2) * sets, &G, room, &tab));
  ierr = scan_numbers(d, s, S, abc, G);
  if (!ierr) {
    BCRCudaScanTables(S, d->single, d->io, abc, G, tab);
    ierr = BCRTriDevicePut(d, room, tab, &S->tab);
  }
  PetscCall(PetscFree3(abc, G, tab));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode scan_create(BCRTriDevice d, const BCRTriSpec *s)
{
  const PetscInt h = PetscMax(s->nfirst, 1), t = PetscMax(s->nlast, 1);
  Scan *data;
  BCRCudaScan *S;
  size_t bytes;

  PetscFunctionBegin;
  PetscCall(BCRTriNeedDominant(s, "scan"));
  if (s->n < h + t) { /* nothing but ends */
    d->ops = &BCRTriDeviceThomas;
    d->info.method = BCR_TRI_THOMAS;
    PetscCall(d->ops->create(d, s));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscNew(&data));
  d->data = data;
  S = &data->scan;
  S->inner = s->inner;
  S->n = s->n;
  S->outer = s->outer;
  S->rep = (int)s->rep;
  S->sets = d->sets;
  S->perline = s->perline && d->sets > 1 ? 1 : 0;
  S->h = (int)h;
  S->t = (int)t;
  for (int i = 0; i < BCR_TRI_TUNE; i++) S->tune[i] = d->options.tune[i];
  PetscCall(scan_tables(d, s, S));
  bytes = BCRCudaScanWorkspace(S, d->single, d->io);
  if (bytes) {
    PetscCall(BCRDeviceArenaGet(&d->space, bytes, "the workspace of lines", &data->work));
    PetscCallBCRCuda(BCRCudaZero(data->work, bytes, d->stream));
  }
  d->info.flops = 5. * s->inner * s->n * s->outer;
  PetscCall(PetscSNPrintf(d->info.what, sizeof(d->info.what),
                          "two constant recurrences, ends reach %" PetscInt_FMT " rows%s", (PetscInt)S->reach,
                          bytes ? ", in chunks" : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode scan_solve(BCRTriDevice d, BCRStream stream, const PetscReal *f, PetscReal *u)
{
  const Scan *data = (const Scan *)d->data;

  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaScanSolve(stream, &data->scan, d->single, d->io, f, u, data->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscBool scan_waits(BCRTriDevice d)
{
  return BCRCudaScanWaits(&((const Scan *)d->data)->scan, d->single, d->io) ? PETSC_TRUE : PETSC_FALSE;
}

static PetscErrorCode scan_solve_ranks(BCRTriDevice d, const BCRCudaScanRanks *ranks, BCRStream stream,
                                       const PetscReal *f, PetscReal *u)
{
  const Scan *data = (const Scan *)d->data;

  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaScanSolveRanks(stream, &data->scan, ranks, d->single, f, u, data->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

const BCRTriDeviceOps BCRTriDeviceScan = {scan_create, scan_solve, scan_waits, scan_solve_ranks};
#endif
