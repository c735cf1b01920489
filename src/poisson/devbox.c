#include "../base/petscbcrimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "devbox.h"

struct _n_BCRDeviceBox {
  const BCRAxis *axis;
  double *const *lambda, *const *norm;
  /* axes: of the pass before and after the planes, transformed in the planes, of the lines */
  int across, in, line;
  PetscBool single;
  BCRStream stream; /* of set-up */
  BCRDeviceArena fixedtables, tables;
  BCRCudaBoxPass pass;
  BCRCudaBoxPlanes planes;
  PetscBool stays; /* planes can stay on chip while ranks exchange */
};

static PetscBool axis_transformed(const BCRAxis *a)
{
  return !a->lower && BCREndIsZero(a->end[0]) && BCREndIsZero(a->end[1]) && BCRCudaBoxPossible((int)a->n + 1)
           ? PETSC_TRUE
           : PETSC_FALSE;
}

/* along: the axis of the lines, -1: any */
static PetscErrorCode box_create(PetscInt dim, const BCRAxis axis[], double *const lambda[], double *const norm[],
                                 const ptrdiff_t stride[], PetscBool single, PetscInt along, const PetscBool open[2],
                                 BCRStream stream, BCRDeviceBox *box)
{
  /* in the order of speed; y goes first, for its neighbours are nearer to each other than those along z */
  static const struct {
    int kind, across, in, line;
  } ways[] = {
    {BCR_CUDA_BOX_SLABS, 1, 2, 0},
    {BCR_CUDA_BOX_SLABS, 2, 1, 0},
    {BCR_CUDA_BOX_ROWS,  1, 0, 2},
    {BCR_CUDA_BOX_ROWS,  2, 0, 1},
    {BCR_CUDA_BOX_MARCH, 1, 0, 2},
    {BCR_CUDA_BOX_MARCH, 2, 0, 1}
  };
  BCRDeviceBox b;

  PetscFunctionBegin;
  *box = NULL;
  if (dim != 3 || stride[0] != 1) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 0; d < 3; d++) {
    if (!(axis[d].a > 0) || axis[d].lower || axis[d].n > 32768) PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscNew(&b));
  for (size_t w = 0; w < PETSC_STATIC_ARRAY_LENGTH(ways); w++) {
    const int across = ways[w].across, in = ways[w].in, line = ways[w].line;

    if (!axis_transformed(&axis[across]) || !axis_transformed(&axis[in])) continue;
    /* of those, separators alone are solved on chip (device.c) */
    if (ways[w].kind == BCR_CUDA_BOX_ROWS && axis[in].n > 255) continue;
    if (along >= 0 && (line != along || ways[w].kind != BCR_CUDA_BOX_MARCH)) continue;
    b->pass.N = b->pass.L = (int)axis[across].n + 1;
    b->pass.nx = (int)axis[0].n;
    b->pass.nb = (int)axis[3 - across].n;
    b->pass.fs = b->pass.us = stride[across];
    b->pass.fb = b->pass.ub = stride[3 - across];
    b->planes.kind = ways[w].kind;
    b->planes.N = (int)axis[in].n + 1;
    b->planes.n = (int)axis[line].n - (open[1] ? 1 : 0);
    for (int e = 0; e < 2; e++) b->planes.open[e] = open[e];
    b->planes.planes = (int)axis[across].n;
    b->planes.ld = stride[3 - across];
    b->planes.plane = stride[across];
    for (int e = 0; e < 2; e++) b->planes.half[e] = BCREndGetRule(axis[line].end[e]).weight < 1;
    if (!BCRCudaBoxFits(&b->planes, single)) continue;
    *box = b;
    b->axis = axis;
    b->lambda = lambda;
    b->norm = norm;
    b->single = single;
    b->stream = stream;
    b->across = across;
    b->in = in;
    b->line = line;
    break;
  }
  if (!*box) {
    PetscCall(PetscFree(b));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int pass = 0; pass < 2; pass++) {
    const int n = BCRCudaBoxRoots(pass ? b->pass.N : b->planes.N, NULL);
    double *w;

    PetscCall(PetscMalloc1(2 * n, &w));
    (void)BCRCudaBoxRoots(pass ? b->pass.N : b->planes.N, w);
    PetscCall(BCRDeviceArenaPut(&b->fixedtables, stream, single, 2 * n, w, pass ? &b->pass.roots : &b->planes.roots));
    PetscCall(PetscFree(w));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceBoxCreate(PetscInt dim, const BCRAxis axis[], double *const lambda[], double *const norm[],
                                  const ptrdiff_t stride[], PetscBool single, BCRStream stream, BCRDeviceBox *box)
{
  const PetscBool closed[2] = {PETSC_FALSE, PETSC_FALSE};

  PetscFunctionBegin;
  PetscCall(box_create(dim, axis, lambda, norm, stride, single, -1, closed, stream, box));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceBoxCreateBorder(const BCRAxis axis[], double *const lambda[], double *const norm[],
                                        const ptrdiff_t stride[], PetscBool single, PetscInt along,
                                        const PetscBool open[2], BCRStream stream, BCRDeviceBox *box)
{
  PetscFunctionBegin;
  *box = NULL;
  if (axis[along].n < 4 || BCREndIsPeriodic(axis[along].end[0])) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(box_create(3, axis, lambda, norm, stride, single, along, open, stream, box));
  /* larger ones wait longer for others than two more passes take */
  if (*box)
    (*box)->stays = (*box)->planes.N == 128 && BCRCudaBoxRanksFits(&(*box)->planes, single) ? PETSC_TRUE : PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool BCRDeviceBoxOnChip(BCRDeviceBox b)
{
  return b->stays || b->planes.kind != BCR_CUDA_BOX_MARCH ? PETSC_TRUE : PETSC_FALSE;
}

PetscErrorCode BCRDeviceBoxSetUp(BCRDeviceBox b, double shift, double factor, PetscBool *ok)
{
  const BCRAxis *x = &b->axis[b->in], *y = &b->axis[b->across], *z = &b->axis[b->line];
  const PetscInt nk = x->n, planes = y->n;
  double *shifts, *scales, *tab, *dlambda, *dnorm, *dshift, *dscale;
  BCRCudaSepRows r;

  PetscFunctionBegin;
  *ok = PETSC_TRUE;
  PetscCallBCRCuda(BCRCudaSynchronize(b->stream)); /* the tables may be in use */
  PetscCall(BCRDeviceArenaFree(&b->tables));
  PetscCall(PetscMalloc2(planes, &shifts, planes, &scales));
  for (PetscInt k = 0; k < planes; k++) {
    shifts[k] = shift + y->a * b->lambda[b->across][k];
    scales[k] = factor * b->norm[b->across][k] / (16 * z->a); /* four transforms, each times two */
    if (!(shifts[k] + x->a * b->lambda[b->in][0] > 0)) *ok = PETSC_FALSE;
  }
  if (*ok) {
    PetscCall(BCRDeviceArenaPut(&b->tables, b->stream, PETSC_FALSE, planes, shifts, &dshift));
    PetscCall(BCRDeviceArenaPut(&b->tables, b->stream, PETSC_FALSE, planes, scales, &dscale));
    PetscCall(BCRDeviceArenaPut(&b->tables, b->stream, PETSC_FALSE, nk, b->lambda[b->in], &dlambda));
    PetscCall(BCRDeviceArenaPut(&b->tables, b->stream, PETSC_FALSE, nk, b->norm[b->in], &dnorm));
    PetscCall(BCRDeviceArenaGet(&b->tables, (size_t)nk * BCR_CUDA_SEP_TAB * planes * sizeof(double), "tables", &tab));
    if (b->planes.kind == BCR_CUDA_BOX_MARCH)
      PetscCall(BCRDeviceArenaGet(&b->tables, (size_t)2 * nk * planes * sizeof(double), "tables", &b->planes.ends));
    PetscCall(PetscMemzero(&r, sizeof(r)));
    if (b->planes.open[0] || b->planes.open[1]) {
      PetscCall(
        BCRDeviceArenaGet(&b->tables, (size_t)nk * BCR_CUDA_SEP_BORDER * planes * sizeof(double), "tables", &r.border));
      b->planes.border = r.border;
      b->planes.a = z->a;
    }
    r.n = b->planes.n;
    r.ring = BCREndIsPeriodic(z->end[0]);
    for (int e = 0; e < 2; e++) r.end[e] = z->end[e];
    r.nk = (int)nk;
    r.planes = (int)planes;
    r.pin = -1;
    r.ax = x->a;
    r.ay = z->a;
    r.lambda = dlambda;
    r.norm = dnorm;
    r.shift = dshift;
    r.scale = dscale;
    b->planes.tab = tab;
    PetscCallBCRCuda(BCRCudaSepTables(b->stream, &r, tab));
  }
  PetscCall(PetscFree2(shifts, scales));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceBoxSolve(BCRDeviceBox b, BCRStream stream, const void *f, void *u)
{
  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaBoxColumns(stream, &b->pass, b->single, f, u));
  PetscCallBCRCuda(BCRCudaBoxSolve(stream, &b->planes, b->single, u));
  PetscCallBCRCuda(BCRCudaBoxColumns(stream, &b->pass, b->single, u, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceBoxBorderBegin(BCRDeviceBox b, BCRStream stream, const void *f, void *u, double *own,
                                       double *left)
{
  PetscFunctionBegin;
  b->planes.own = own;
  b->planes.left = left;
  PetscCallBCRCuda(BCRCudaBoxColumns(stream, &b->pass, b->single, f, u));
  PetscCallBCRCuda(BCRCudaBoxHalf(stream, &b->planes, 0, b->single, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceBoxBorderEnd(BCRDeviceBox b, BCRStream stream, void *u, const double *own, const double *before)
{
  PetscFunctionBegin;
  b->planes.after = own;
  b->planes.before = before;
  PetscCallBCRCuda(BCRCudaBoxHalf(stream, &b->planes, 1, b->single, u));
  PetscCallBCRCuda(BCRCudaBoxColumns(stream, &b->pass, b->single, u, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceBoxReducedBegin(BCRDeviceBox b, BCRStream stream, const void *f, void *u, double *own,
                                        double *left, const BCRCudaBorderRows *rows, int part, const BCRCudaWindow *w)
{
  PetscFunctionBegin;
  b->planes.own = own;
  b->planes.left = left;
  PetscCallBCRCuda(BCRCudaBoxColumns(stream, &b->pass, b->single, f, u));
  if (!(b->stays && w))
    PetscCallBCRCuda(BCRCudaBoxHalfReduced(stream, &b->planes, 0, b->single, u, rows, NULL, part, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceBoxReducedPlanes(BCRDeviceBox b, BCRStream stream, void *u, const BCRCudaBorderRows *rows,
                                         const double *received, int part, const BCRCudaWindow *w)
{
  PetscFunctionBegin;
  if (b->stays && w) PetscCallBCRCuda(BCRCudaBoxRanks(stream, &b->planes, b->single, u, rows, part, w));
  else PetscCallBCRCuda(BCRCudaBoxHalfReduced(stream, &b->planes, 1, b->single, u, rows, received, part, w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceBoxReducedEnd(BCRDeviceBox b, BCRStream stream, void *u)
{
  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaBoxColumns(stream, &b->pass, b->single, u, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceBoxDestroy(BCRDeviceBox *box)
{
  PetscFunctionBegin;
  if (!*box) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRDeviceArenaFree(&(*box)->fixedtables));
  PetscCall(BCRDeviceArenaFree(&(*box)->tables));
  PetscCall(PetscFree(*box));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceBoxGetInfo(BCRDeviceBox b, const char label[], BCRCoreInfo *info)
{
  PetscFunctionBegin;
  info->tables = b->tables.bytes + b->fixedtables.bytes;
  info->flops = (double)b->axis[0].n * (double)b->axis[1].n * (double)b->axis[2].n * 110;
  PetscCall(PetscSNPrintf(
    info->plan, sizeof(info->plan),
    "sine transform along %c, planes of its modes %s: sine transform along %c, a line along %c for each mode",
    label[b->across], b->planes.kind == BCR_CUDA_BOX_MARCH ? "in two passes" : "on chip", label[b->in],
    label[b->line]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
