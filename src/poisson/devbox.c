#include "../petscbcrimpl.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "devbox.h"

struct _n_BCRDeviceBox {
  const BCRAxis *axis;
  double *const *lambda, *const *norm;
  ptrdiff_t        stride[3];
  int              across, line; /* the other transformed axis; that of the lines */
  PetscBool        single, cluster;
  BCRStream        stream; /* of set-up */
  BCRDeviceArena   fixedtables, tables;
  BCRCudaBoxPass   pass;
  BCRCudaBoxPlanes planes;
};

static PetscBool axis_transformed(const BCRAxis *a)
{
  return !a->lower && a->end[0] == BCR_END_DIRICHLET && a->end[1] == BCR_END_DIRICHLET && BCRCudaBoxPossible((int)a->n + 1) ? PETSC_TRUE : PETSC_FALSE;
}

PetscErrorCode BCRDeviceBoxCreate(PetscInt dim, const BCRAxis axis[], double *const lambda[], double *const norm[], const ptrdiff_t stride[], PetscBool single, int major, BCRStream stream, BCRDeviceBox *box)
{
  BCRDeviceBox b;
  int          across = 0;

  PetscFunctionBegin;
  *box = NULL;
  if (dim != 3 || stride[0] != 1 || !axis_transformed(&axis[0])) PetscFunctionReturn(PETSC_SUCCESS);
  for (int d = 1; d < 3; d++) {
    const BCRAxis *l = &axis[3 - d];

    if (!(axis[d].a > 0) || axis[d].lower || axis[d].n > 32768) PetscFunctionReturn(PETSC_SUCCESS);
    /* y, for the rows of a plane are nearer to each other; but planes should fit a cluster */
    if (axis_transformed(&axis[d]) && (!across || BCRCudaBoxCluster((int)axis[0].n + 1, (int)l->n, major) > BCRCudaBoxCluster((int)axis[0].n + 1, (int)axis[d].n, major))) across = d;
  }
  if (!across || !(axis[0].a > 0)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscNew(&b));
  *box       = b;
  b->axis    = axis;
  b->lambda  = lambda;
  b->norm    = norm;
  b->single  = single;
  b->stream  = stream;
  b->across  = across;
  b->line    = 3 - across;
  b->cluster = BCRCudaBoxCluster((int)axis[0].n + 1, (int)axis[b->line].n, major) ? PETSC_TRUE : PETSC_FALSE;
  for (int d = 0; d < 3; d++) b->stride[d] = stride[d];
  for (int pass = 0; pass < 2; pass++) {
    const int    N = (int)axis[pass ? across : 0].n + 1;
    double      *w;
    const void **roots = pass ? &b->pass.roots : &b->planes.roots;

    PetscCall(PetscMalloc1(4 * N, &w));
    for (int m = 0; m < 2 * N; m++) {                            /* an eighth of the period at most goes into the sine or cosine */
      const int    q = (4 * m + N) / (2 * N), r = 2 * m - q * N; /* angle pi (q/2 + r/(2 N)), |r| <= N/2 */
      const double c = cos(0.5 * M_PI * r / N), s = sin(0.5 * M_PI * r / N);

      w[2 * m]     = q % 2 ? (q % 4 == 1 ? -s : s) : (q % 4 == 0 ? c : -c);
      w[2 * m + 1] = q % 2 ? (q % 4 == 1 ? -c : c) : (q % 4 == 0 ? -s : s);
    }
    PetscCall(BCRDeviceArenaPut(&b->fixedtables, stream, single, 4 * N, w, roots));
    PetscCall(PetscFree(w));
  }
  b->pass.N  = (int)axis[across].n + 1;
  b->pass.nx = (int)axis[0].n;
  b->pass.nb = (int)axis[b->line].n;
  b->pass.fs = b->pass.us = stride[across];
  b->pass.fb = b->pass.ub = stride[b->line];
  b->planes.N             = (int)axis[0].n + 1;
  b->planes.n             = (int)axis[b->line].n;
  b->planes.planes        = (int)axis[across].n;
  b->planes.ld            = stride[b->line];
  b->planes.plane         = stride[across];
  for (int e = 0; e < 2; e++) b->planes.half[e] = axis[b->line].end[e] == BCR_END_NEUMANN;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRDeviceBoxSetUp(BCRDeviceBox b, double shift, double factor, PetscBool *ok)
{
  const BCRAxis *x = &b->axis[0], *y = &b->axis[b->across], *z = &b->axis[b->line];
  const PetscInt nx = x->n, planes = y->n;
  double        *shifts, *scales, *tab, *dlambda, *dnorm, *dshift, *dscale;
  BCRCudaSepRows r;

  PetscFunctionBegin;
  *ok = PETSC_TRUE;
  PetscCallBCRCuda(BCRCudaSynchronize(b->stream)); /* the tables may be in use */
  PetscCall(BCRDeviceArenaFree(&b->tables));
  PetscCall(PetscMalloc2(planes, &shifts, planes, &scales));
  for (PetscInt k = 0; k < planes; k++) {
    shifts[k] = shift + y->a * b->lambda[b->across][k];
    scales[k] = factor * b->norm[b->across][k] / (16 * z->a); /* four transforms, each times two */
    if (!(shifts[k] + x->a * b->lambda[0][0] > 0)) *ok = PETSC_FALSE;
  }
  if (*ok) {
    PetscCall(BCRDeviceArenaPut(&b->tables, b->stream, PETSC_FALSE, planes, shifts, &dshift));
    PetscCall(BCRDeviceArenaPut(&b->tables, b->stream, PETSC_FALSE, planes, scales, &dscale));
    PetscCall(BCRDeviceArenaPut(&b->tables, b->stream, PETSC_FALSE, nx, b->lambda[0], &dlambda));
    PetscCall(BCRDeviceArenaPut(&b->tables, b->stream, PETSC_FALSE, nx, b->norm[0], &dnorm));
    PetscCall(BCRDeviceArenaGet(&b->tables, (size_t)nx * BCR_CUDA_SEP_TAB * planes * sizeof(double), "tables", &tab));
    if (!b->cluster) PetscCall(BCRDeviceArenaGet(&b->tables, (size_t)2 * nx * planes * sizeof(double), "tables", &b->planes.ends));
    PetscCall(PetscMemzero(&r, sizeof(r)));
    r.n    = (int)z->n;
    r.ring = z->end[0] == BCR_END_PERIODIC;
    for (int e = 0; e < 2; e++) r.end[e] = BCRDeviceEnd(z->end[e]);
    r.nk          = (int)nx;
    r.planes      = (int)planes;
    r.pin         = -1;
    r.ax          = x->a;
    r.ay          = z->a;
    r.lambda      = dlambda;
    r.norm        = dnorm;
    r.shift       = dshift;
    r.scale       = dscale;
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
  PetscCallBCRCuda(BCRCudaBoxSolve(stream, &b->planes, b->single, b->cluster, u));
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
  info->flops  = (double)b->axis[0].n * (double)b->axis[1].n * (double)b->axis[2].n * 110;
  PetscCall(PetscSNPrintf(info->plan, sizeof(info->plan), "sine transform along %c, planes of %c and %c %s: sine transforms along %c, a line along %c for each mode", label[b->across], label[0], label[b->line],
                          b->cluster ? "on chip" : "in two passes", label[0], label[b->line]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif
