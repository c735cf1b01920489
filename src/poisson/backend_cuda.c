/*
  The table of CUDA devices (backend.h): kernels in place of the host's loops, on copies of the components'
  tables. Cores are BCRRanks (ranks.h). All of the solver that a build without CUDA lacks is in this file.
*/
#include "backend.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "../operator/devscale.h"
  #include "ranks.h"
  #include "device.h"
  #include "../backend/cuda/fields.h"
  #include "../backend/cuda/planes.h"
  #include "../backend/cuda/refine.h"
  #include "../transport/transport.h"
  #include <math.h>
  #include <stdlib.h>
  #include <string.h>

typedef struct {
  BCRStream stream;       /* of set-up, and of vectors from the host */
  BCRTransport transport; /* several ranks; else NULL */
  BCRDeviceGraphs graphs;
  PetscBool windows; /* kernels store in other ranks' memory */
  /* mixed precision: BCRCudaRefineBegin()'s three, a sum, partial sums */
  BCRDeviceArena arena;
  double *scalars;
} CudaState;

/* A component's tables on the device */
typedef struct {
  BCRDeviceArena arena;
  const double *w[2][2][3]; /* [before, after][transpose][axis] */
  const double *rowscale;
  const double *weight[3];
  BCRCudaFace face[6];
  BCRCudaFaceTerm term[2][6]; /* [transpose] */
  BCRCudaEdge *edge, *link, *apart;
  double *apartwork;       /* what rows apart have in a pass */
  const double *row[3][3]; /* mixed precision: [low, diag, up][axis] of scale T */
} CudaTables;

static CudaState *state(const BCRPass *p)
{
  return (CudaState *)p->s->state;
}

static CudaTables *tables(const BCRPass *p)
{
  return (CudaTables *)p->c->tables;
}

/* Memory */

static PetscErrorCode cuda_machine(const BCRSolverOptions *options, size_t length, char name[])
{
  int major, minor, sms, shared;

  PetscFunctionBegin;
  (void)options;
  PetscCallBCRCuda(BCRCudaDeviceName(name, length, &major, &minor, &sms, &shared));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cuda_alloc(size_t bytes, const char what[], void *p)
{
  BCRDeviceArena arena = {NULL, 0, 0, 0};
  PetscErrorCode ierr;

  PetscFunctionBegin;
  ierr = BCRDeviceArenaGet(&arena, bytes, what, p);
  PetscCall(PetscFree(arena.chunk));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cuda_free(void *p)
{
  PetscFunctionBegin;
  if (p) PetscCallBCRCuda(BCRCudaFree(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cuda_put(void *stream, void *to, const void *from, size_t bytes)
{
  PetscFunctionBegin;
  if (bytes) PetscCallBCRCuda(BCRCudaPut(to, from, bytes, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cuda_get(void *stream, void *to, const void *from, size_t bytes)
{
  PetscFunctionBegin;
  if (bytes) PetscCallBCRCuda(BCRCudaGet(to, from, bytes, stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* State of a solver */

static PetscErrorCode cuda_create(BCRSolver s)
{
  CudaState *state;
  const char *why;

  PetscFunctionBegin;
  PetscCheck(BCRDeviceAvailable(&why), PETSC_COMM_SELF, PETSC_ERR_GPU,
             "-pc_bcrpoisson_backend cuda: this machine has no CUDA device to run on (%s): use -pc_bcrpoisson_backend "
             "cpu or auto",
             why);
  PetscCall(PetscNew(&state));
  s->state = state;
  state->stream = s->options.stream;
  state->graphs.off = s->options.plainlaunch;
  if (s->mixed)
    PetscCall(BCRDeviceArenaGet(&state->arena, (4 + BCR_CUDA_PARTIALS) * sizeof(double), "sums", &state->scalars));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cuda_connect(BCRSolver s)
{
  CudaState *state = (CudaState *)s->state;
  PetscMPIInt size = 1;

  PetscFunctionBegin;
  if (s->slabs.comm != MPI_COMM_NULL) PetscCallMPI(MPI_Comm_size(s->slabs.comm, &size));
  if (size > 1)
    PetscCall(BCRTransportCreate(s->slabs.comm, "pc_bcrpoisson_transport", (BCRTransportKind)s->options.transport,
                                 s->options.gpuaware, &state->transport));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cuda_settle(BCRSolver s)
{
  CudaState *state = (CudaState *)s->state;

  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaSynchronize(state->stream)); /* the tables may be in use */
  PetscCall(BCRDeviceGraphsReset(&state->graphs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cuda_destroy(BCRSolver s)
{
  CudaState *state = (CudaState *)s->state;

  PetscFunctionBegin;
  if (!state) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRTransportDestroy(&state->transport));
  PetscCall(BCRDeviceGraphsDestroy(&state->graphs));
  PetscCall(BCRDeviceArenaFree(&state->arena));
  PetscCall(PetscFree(s->state));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cuda_info(BCRSolver s, BCRSolverInfo *info)
{
  const CudaState *state = (CudaState *)s->state;

  PetscFunctionBegin;
  info->workspace += state->arena.bytes;
  info->graph = state->graphs.failed || state->graphs.off ? PETSC_FALSE : PETSC_TRUE;
  info->graphs = state->graphs.launched;
  for (int i = 0; i < 4; i++) info->nodes[i] = state->graphs.nodes[i];
  for (PetscInt m = 0; m < s->dof; m++) {
    const CudaTables *d = (CudaTables *)s->comp[m].tables;

    info->tables += d->arena.bytes + BCRDeviceScaleBytes(s->comp[m].op.devscale);
  }
  if (state->transport) PetscCall(BCRTransportDescribe(state->transport, sizeof(info->transport), info->transport));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Tables of a component */

/* those with one neighbour one behind another, as BCRCudaEdgeSlope() wants them */
static int compare_edges(const void *a, const void *b)
{
  const BCRCudaEdge *x = (const BCRCudaEdge *)a, *y = (const BCRCudaEdge *)b;

  if (x->from != y->from) return x->from < y->from ? -1 : 1;
  return (x->at > y->at) - (x->at < y->at);
}

static PetscErrorCode put_real(BCRDeviceArena *arena, BCRStream stream, PetscInt n, const PetscReal v[],
                               const double **p)
{
  double *w;

  PetscFunctionBegin;
  *p = NULL;
  if (!v) PetscFunctionReturn(PETSC_SUCCESS);
  if (!BCR_REAL_SINGLE) {
    /* as it is: row scales are a vector long */
    PetscCall(BCRDeviceArenaPut(arena, stream, PETSC_FALSE, n, (const double *)v, p));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscMalloc1(PetscMax(n, 1), &w));
  for (PetscInt i = 0; i < n; i++) w[i] = (double)v[i];
  PetscCall(BCRDeviceArenaPut(arena, stream, PETSC_FALSE, n, w, p));
  PetscCall(PetscFree(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode put_edges(CudaTables *d, BCRStream stream, PetscInt n, const BCRCudaEdge e[], BCRCudaEdge **p)
{
  PetscFunctionBegin;
  PetscCall(BCRDeviceArenaGet(&d->arena, (size_t)n * sizeof(*e), "tables", p));
  PetscCallBCRCuda(BCRCudaPut(*p, e, (size_t)n * sizeof(*e), stream));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Faces, and what they add to the right-hand side of the box */
static PetscErrorCode tables_faces(const BCRComponent *c, CudaTables *d, BCRStream stream)
{
  const ptrdiff_t packed[3] = {1, c->op.axis[0].n, (ptrdiff_t)c->op.axis[0].n * c->op.axis[1].n};

  PetscFunctionBegin;
  for (PetscInt b = 0; b < c->nface; b++) {
    const BCRFace *f = &c->face[b];
    BCRCudaFace *g = &d->face[b];
    const PetscInt nodes = (PetscInt)BCRComponentNodes(c) / PetscMax(c->N[f->axis], 1);

    g->at = f->at;
    g->q = f->q;
    g->inward = f->inward;
    g->inv0 = (double)f->plane->inv0;
    g->slope = (double)f->plane->slope;
    for (int o = 0; o < 2; o++) {
      g->stride[o] = f->stride[o];
      g->qstride[o] = f->qstride[o];
      g->n[o] = (int)f->n[o];
    }
    PetscCall(put_real(&d->arena, stream, nodes, f->plane->inv, &g->inv));
    PetscCall(put_real(&d->arena, stream, nodes, f->plane->couplings, &g->couplings));
  }
  for (int t = 0; t < 2; t++) {
    for (PetscInt b = 0; b < c->nterm[t]; b++) {
      const BCRFaceTerm *term = &c->term[t][b];
      const BCRFace *f = term->face;
      BCRCudaFaceTerm *g = &d->term[t][b];

      g->face = d->face[f - c->face];
      g->axis = (int)f->axis;
      g->end = (int)term->end;
      g->use_couplings = term->couplings ? 1 : 0;
      g->factor = term->factor * (term->weights ? c->pre[t][f->axis].v[term->end] : 1.);
      for (int o = 0; o < 2; o++) {
        g->other[o] = (int)f->other[o];
        g->alls[o] = packed[f->other[o]];
      }
      g->w0 = term->weights ? d->w[0][t][f->other[0]] : NULL;
      g->w1 = term->weights ? d->w[0][t][f->other[1]] : NULL;
      g->all = term->scaled ? d->rowscale : NULL;
      g->all0 = term->end * packed[f->axis];
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Edges, their links, and rows apart */
static PetscErrorCode tables_edges(const BCRComponent *c, CudaTables *d, BCRStream stream)
{
  BCRCudaEdge *e;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(PetscMax(c->napart, PetscMax(c->nedge, c->nlink)), &e));
  if (c->napart) {
    for (PetscInt b = 0; b < c->napart; b++) {
      e[b].at = c->apartat[b];
      e[b].inv = (double)c->apartinv[b];
    }
    ierr = put_edges(d, stream, c->napart, e, &d->apart);
    if (!ierr) ierr = BCRDeviceArenaGet(&d->arena, (size_t)c->napart * sizeof(double), "tables", &d->apartwork);
  }
  if (c->nedge && !ierr) {
    for (PetscInt b = 0; b < c->nedge; b++) {
      e[b].at = c->edge[b].at;
      e[b].inv = (double)c->edge[b].inv;
    }
    ierr = put_edges(d, stream, c->nedge, e, &d->edge);
  }
  if (c->nlink && !ierr) {
    for (PetscInt b = 0; b < c->nlink; b++) {
      e[b].at = c->link[b].at;
      e[b].from = c->link[b].from;
      e[b].slope = (double)c->link[b].slope;
    }
    for (int g = 0; g < BCR_LINK_GROUPS; g++)
      qsort(e + c->linkstart[g], (size_t)(c->linkstart[g + 1] - c->linkstart[g]), sizeof(*e), compare_edges);
    ierr = put_edges(d, stream, c->nlink, e, &d->link);
  }
  PetscCall(PetscFree(e));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cuda_tables_destroy(BCRComponent *c)
{
  CudaTables *d = (CudaTables *)c->tables;

  PetscFunctionBegin;
  if (d) PetscCall(BCRDeviceArenaFree(&d->arena));
  PetscCall(PetscFree(c->tables));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cuda_tables(BCRSolver s, BCRComponent *c)
{
  BCRStream stream = s->options.stream;
  CudaTables *d;

  PetscFunctionBegin;
  PetscCall(cuda_tables_destroy(c));
  PetscCall(PetscNew(&d));
  c->tables = d;
  for (int t = 0; t < 2; t++) {
    for (int x = 0; x < 3; x++) {
      const PetscInt n = c->op.axis[x].n;

      /* before: planes take single entries of them even where they are all one */
      PetscCall(BCRDeviceArenaPut(&d->arena, stream, PETSC_FALSE, n, n ? c->pre[t][x].v : NULL, &d->w[0][t][x]));
      if (c->postscale[t])
        PetscCall(BCRDeviceArenaPut(&d->arena, stream, PETSC_FALSE, n, n ? c->post[t][x].v : NULL, &d->w[1][t][x]));
    }
  }
  for (int x = 0; x < 3; x++)
    PetscCall(put_real(&d->arena, stream, c->op.axis[x].n, c->op.axis[x].weight, &d->weight[x]));
  if (c->op.devscale) d->rowscale = BCRDeviceScaleArray(c->op.devscale);
  else PetscCall(put_real(&d->arena, stream, (PetscInt)BCRComponentBox(c), c->op.rowscale, &d->rowscale));
  PetscCall(tables_faces(c, d, stream));
  PetscCall(tables_edges(c, d, stream));
  for (int x = 0; x < 3 && s->mixed && c->core >= 0; x++) {
    const PetscInt n = c->op.axis[x].n;

    PetscCall(BCRDeviceArenaPut(&d->arena, stream, PETSC_FALSE, n, c->lower[x], &d->row[0][x]));
    PetscCall(BCRDeviceArenaPut(&d->arena, stream, PETSC_FALSE, n, c->diag[x], &d->row[1][x]));
    PetscCall(BCRDeviceArenaPut(&d->arena, stream, PETSC_FALSE, n, c->upper[x], &d->row[2][x]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows apart, faces, edges */

static PetscErrorCode cuda_apart_begin(const BCRPass *p)
{
  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaApartBegin(p->stream, (int)p->c->napart, tables(p)->apart, BCR_REAL_SINGLE, p->nodestride,
                                     p->f, tables(p)->apartwork));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cuda_apart_end(const BCRPass *p)
{
  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaApartEnd(p->stream, (int)p->c->napart, tables(p)->apart, BCR_REAL_SINGLE, p->nodestride,
                                   tables(p)->apartwork, p->u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cuda_face_begin(const BCRPass *p, const BCRFace *face, PetscBool *moves)
{
  PetscFunctionBegin;
  *moves = PETSC_TRUE; /* the host does not see the values */
  PetscCallBCRCuda(BCRCudaFaceBegin(p->stream, &tables(p)->face[face - p->c->face], BCR_REAL_SINGLE, p->nodestride,
                                    p->f, p->u, !p->transpose));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cuda_face_end(const BCRPass *p, const BCRFace *face)
{
  const BCRComponent *c = p->c;
  const CudaTables *d = tables(p);
  const BCRCudaFace *g = &d->face[face - c->face];
  const ptrdiff_t packed[3] = {1, c->op.axis[0].n, (ptrdiff_t)c->op.axis[0].n * c->op.axis[1].n},
                  as[2] = {packed[face->other[0]], packed[face->other[1]]},
                  end = face->side ? c->op.axis[face->axis].n - 1 : 0;

  PetscFunctionBegin;
  if (p->transpose)
    PetscCallBCRCuda(BCRCudaFaceEnd(p->stream, g, BCR_REAL_SINGLE, p->nodestride, p->u, face->couple, face->back,
                                    (double)c->op.scale, d->weight[face->other[0]], d->weight[face->other[1]],
                                    face->backscaled ? d->rowscale : NULL, end * packed[face->axis], as));
  else if (face->plane->slope != 0)
    PetscCallBCRCuda(BCRCudaFaceSlope(p->stream, g, BCR_REAL_SINGLE, p->nodestride, p->u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cuda_edge_begin(const BCRPass *p)
{
  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaEdgeBegin(p->stream, (int)p->c->nedge, tables(p)->edge, BCR_REAL_SINGLE, p->nodestride, p->f,
                                    p->u, !p->transpose));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cuda_edge_slope(const BCRPass *p, PetscInt first, PetscInt n)
{
  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaEdgeSlope(p->stream, (int)n, tables(p)->link + first, BCR_REAL_SINGLE, p->nodestride, p->u,
                                    (int)p->transpose));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cuda_edge_scale(const BCRPass *p)
{
  PetscFunctionBegin;
  PetscCallBCRCuda(
    BCRCudaEdgeScale(p->stream, (int)p->c->nedge, tables(p)->edge, BCR_REAL_SINGLE, p->nodestride, p->u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The box */

static const double *const *factors_of(const BCRPass *p, PetscBool after)
{
  if (after) return p->c->postscale[p->transpose] ? tables(p)->w[1][p->transpose] : NULL;
  return p->c->prescale[p->transpose] ? tables(p)->w[0][p->transpose] : NULL;
}

static const double *scale_of(const BCRPass *p, PetscBool after)
{
  return BCRComponentScaled(p->c, p->transpose, after) ? tables(p)->rowscale : NULL;
}

/* f and u of the caller in the box */
static BCRCudaBox vector_box(const BCRPass *p)
{
  BCRCudaBox box;

  for (int d = 0; d < 3; d++) {
    box.n[d] = (int)p->c->op.axis[d].n;
    box.stride[d] = p->nodestride * p->c->stride[d];
  }
  return box;
}

static PetscErrorCode cuda_rhs(const BCRPass *p, const BCRField *g)
{
  const BCRCudaBox box = vector_box(p);
  const int single = g->single;

  PetscFunctionBegin;
  if (BCRComponentBox(p->c)) /* its rows may all be on other ranks */
    PetscCallBCRCuda(BCRCudaScaleCopy(p->stream, box.n, BCR_REAL_SINGLE, p->f + p->c->start * p->nodestride, box.stride,
                                      single, g->v, g->stride, factors_of(p, PETSC_FALSE), scale_of(p, PETSC_FALSE)));
  for (PetscInt b = 0; b < p->c->nterm[p->transpose] && p->moves; b++)
    PetscCallBCRCuda(BCRCudaFaceMove(p->stream, &tables(p)->term[p->transpose][b], BCR_REAL_SINGLE, p->nodestride, p->u,
                                     single, g->v, g->stride));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cuda_out(const BCRPass *p, const BCRField *x)
{
  const BCRCudaBox box = vector_box(p);

  PetscFunctionBegin;
  if (BCRComponentBox(p->c))
    PetscCallBCRCuda(BCRCudaScaleCopy(p->stream, box.n, x->single, x->v, x->stride, BCR_REAL_SINGLE,
                                      p->u + p->c->start * p->nodestride, box.stride, factors_of(p, PETSC_TRUE),
                                      scale_of(p, PETSC_TRUE)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cuda_rhs_pairs(const BCRPass p[], const BCRField *x)
{
  const BCRCudaBox box = vector_box(p);
  const ptrdiff_t part = p->s->stagepart;

  PetscFunctionBegin;
  if (BCRComponentBox(p->c))
    PetscCallBCRCuda(BCRCudaScalePairs(p->stream, box.n, 0, BCR_REAL_SINGLE,
                                       (void *)(p->f + p->c->start * p->nodestride), box.stride, (double *)x->v,
                                       x->stride, part, factors_of(p, PETSC_FALSE), scale_of(p, PETSC_FALSE)));
  for (int k = 0; k < 2; k++)
    for (PetscInt b = 0; b < p->c->nterm[p->transpose] && p[k].moves; b++)
      PetscCallBCRCuda(BCRCudaFaceMove(p->stream, &tables(p)->term[p->transpose][b], BCR_REAL_SINGLE, p->nodestride,
                                       p[k].u, 0, (double *)x->v + k * part, x->stride));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cuda_out_pairs(const BCRPass p[], const BCRField *x)
{
  const BCRCudaBox box = vector_box(p);

  PetscFunctionBegin;
  if (BCRComponentBox(p->c))
    PetscCallBCRCuda(BCRCudaScalePairs(p->stream, box.n, 1, BCR_REAL_SINGLE,
                                       (void *)(p->u + p->c->start * p->nodestride), box.stride, (double *)x->v,
                                       x->stride, p->s->stagepart, factors_of(p, PETSC_TRUE), scale_of(p, PETSC_TRUE)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cuda_subtract_ones(const BCRPass *p)
{
  const BCRComponent *c = p->c;
  const double factor = 1 / c->onesremoved[p->transpose];
  BCRCudaBox box;
  ptrdiff_t packed[3];

  PetscFunctionBegin;
  for (int x = 0; x < 3; x++) {
    box.n[x] = (int)c->N[x];
    packed[x] = c->stride[x];
    box.stride[x] = p->nodestride * c->stride[x];
  }
  if (BCRComponentNodes(c))
    PetscCallBCRCuda(
      BCRCudaAddScaled(p->stream, &box, BCR_REAL_SINGLE, c->ones[p->transpose], packed, p->u, p->removed, -factor));
  PetscCallBCRCuda(BCRCudaScaleValue(p->stream, p->removed, factor, p->removed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Mixed precision. Its right-hand side is not stored: it is made where it is read */

  #define SQUARES 64 /* parts of a sum of squares */

static BCRCudaBox field_box(const BCRPass *p, const BCRField *x)
{
  BCRCudaBox box;

  for (int d = 0; d < 3; d++) {
    box.n[d] = (int)p->c->op.axis[d].n;
    box.stride[d] = x->stride[d];
  }
  return box;
}

static void refine_rhs(const BCRPass *p, BCRCudaRefineRhs *g)
{
  const double *const *w = factors_of(p, PETSC_FALSE);

  memset(g, 0, sizeof(*g));
  g->box = vector_box(p);
  g->single = BCR_REAL_SINGLE;
  g->f = p->f + p->c->start * p->nodestride;
  g->u = p->u;
  g->nodestride = p->nodestride;
  for (int d = 0; d < 3; d++) g->w[d] = w ? w[d] : NULL;
  g->all = scale_of(p, PETSC_FALSE);
  g->nface = p->moves ? (int)p->c->nterm[p->transpose] : 0;
  for (int b = 0; b < g->nface; b++) g->face[b] = tables(p)->term[p->transpose][b];
}

/* sum of squares of a field; waits */
static PetscErrorCode squares(const BCRPass *p, const BCRField *x, double *sum)
{
  const BCRCudaBox box = field_box(p, x);
  double parts[SQUARES], *there = state(p)->scalars + 4;

  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaSumSquares(p->stream, &box, x->single, x->v, SQUARES, there));
  PetscCallBCRCuda(BCRCudaGet(parts, there, sizeof(parts), p->stream));
  *sum = 0;
  for (int i = 0; i < SQUARES; i++) *sum += parts[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cuda_refine_begin(const BCRPass *p, BCRRefine *x)
{
  BCRCudaRefineRhs g;

  PetscFunctionBegin;
  refine_rhs(p, &g);
  PetscCallBCRCuda(BCRCudaRefineBegin(p->stream, &g, (float *)x->r.v, x->r.stride, state(p)->scalars));
  if (!x->measure) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCallBCRCuda(BCRCudaGet(&x->rs, state(p)->scalars, sizeof(double), p->stream));
  PetscCall(squares(p, &x->r, &x->sumg));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cuda_refine_add(const BCRPass *p, BCRRefine *x)
{
  const BCRCudaBox box = field_box(p, &x->v);
  const double *removed;

  PetscFunctionBegin;
  PetscCall(BCRRanksGetRemoved(x->core, &removed));
  PetscCallBCRCuda(BCRCudaRefineCorrect(p->stream, &box, (const float *)x->e.v, x->e.stride, (double *)x->v.v,
                                        1 / (p->c->norm * (double)p->c->op.scale), x->keep, removed,
                                        state(p)->scalars));
  x->keep = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cuda_refine_step(const BCRPass *p, BCRRefine *x)
{
  const BCRComponent *c = p->c;
  const BCRCudaBox box = field_box(p, &x->v);
  const CudaTables *d = tables(p);
  BCRCudaRefineRhs g;
  double unit;

  PetscFunctionBegin;
  PetscCall(cuda_refine_add(p, x));
  refine_rhs(p, &g);
  PetscCallBCRCuda(BCRCudaResidual(p->stream, &g, &box, (const double *)x->v.v, (float *)x->r.v, x->r.stride, d->row[0],
                                   d->row[1], d->row[2], (double)c->op.scale * (double)c->op.shift, state(p)->scalars));
  if (!x->measure) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(squares(p, &x->r, &x->sumr));
  PetscCall(squares(p, &x->v, &x->sumv));
  unit = x->rs * c->norm * (double)c->op.scale * sqrt(x->sumv);
  x->sumv = unit * unit;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cuda_refine_mean(const BCRPass *p, BCRRefine *x)
{
  const BCRCudaBox box = field_box(p, &x->v);
  double *scalars = state(p)->scalars;

  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaSum(p->stream, &box, 0, x->v.v, NULL, scalars + 4, scalars + 3));
  PetscCallBCRCuda(
    BCRCudaAddValue(p->stream, &box, 0, x->v.v, x->v.v, scalars + 3, -1. / (double)BCRComponentBox(p->c)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cuda_trial(void *stream, PetscInt n, double size, PetscReal f[])
{
  PetscFunctionBegin;
  if (BCR_REAL_SINGLE) {
    const size_t bytes = (size_t)n * sizeof(PetscReal);
    PetscReal *v;

    PetscCall(PetscMalloc1(n, &v));
    PetscCall(BCRBackendCpu()->trial(stream, n, size, v));
    PetscCallBCRCuda(BCRCudaPut(f, v, bytes, stream));
    PetscCall(PetscFree(v));
  } else PetscCallBCRCuda(BCRCudaTrial(stream, (long)n, size, (double *)f));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Cores */

static PetscErrorCode cuda_core_create(BCRSolver s, BCRRanksSpec *spec, PetscBool made, BCRRanks *core)
{
  CudaState *state = (CudaState *)s->state;
  PetscBool window, kernels;

  PetscFunctionBegin;
  spec->io = spec->options->precision;
  spec->halo = PETSC_FALSE;
  spec->stream = state->stream;
  spec->transport = state->transport;
  PetscCall(BCRRanksCreate(BCRRanksCuda(), spec, core));
  if (made) PetscCall(BCRRanksReserveInput(*core));
  PetscCall(BCRRanksKernels(*core, &window, &kernels));
  if (window) state->windows = PETSC_TRUE;
  if (!kernels) state->graphs.off = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cuda_core_solve(const BCRPass *p, BCRRanks core, const void *f, void *u)
{
  return BCRRanksSolve(core, p->stream, f, u);
}

static PetscErrorCode cuda_core_removed(const BCRPass *p, BCRRanks core, const BCRRefine *x)
{
  const double *removed;

  PetscFunctionBegin;
  PetscCall(BCRRanksGetRemoved(core, &removed));
  if (removed && x) removed = state(p)->scalars + 1;
  if (removed) PetscCallBCRCuda(BCRCudaScaleValue(p->stream, removed, 1, p->removed));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Runs */

static PetscErrorCode cuda_run(BCRSolver s, void *stream, const void *key, size_t bytes,
                               PetscErrorCode (*launch)(void *, void *), void *context)
{
  return BCRDeviceGraphsRun(&((CudaState *)s->state)->graphs, stream, key, bytes, launch, context);
}

static PetscErrorCode cuda_ready(BCRSolver s)
{
  const CudaState *state = (CudaState *)s->state;

  PetscFunctionBegin;
  if (state->windows) PetscCall(BCRTransportWindowBegin(state->transport, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cuda_agree(BCRSolver s, PetscErrorCode mine)
{
  return BCRTransportAgree(((CudaState *)s->state)->transport, mine);
}

static PetscErrorCode cuda_time(void *stream, int (*run)(void *), void *context, PetscInt repeat, double *seconds)
{
  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaSynchronize(stream));
  PetscCallBCRCuda(BCRCudaTime(stream, run, context, (int)repeat, seconds));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSolverTransport(BCRSolver s, void *transport)
{
  PetscFunctionBegin;
  *(BCRTransport *)transport = ((CudaState *)s->state)->transport;
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

const BCRBackend *BCRBackendCuda(void)
{
#if defined(PETSCBCR_HAVE_CUDA)
  static const BCRBackend table = {
    .flags = BCR_BACKEND_ASYNC | BCR_BACKEND_SUMS_DOUBLE | BCR_BACKEND_DEVICE,
    .available = BCRDeviceAvailable,
    .machine = cuda_machine,
    .alloc = cuda_alloc,
    .free = cuda_free,
    .put = cuda_put,
    .get = cuda_get,
    .create = cuda_create,
    .connect = cuda_connect,
    .settle = cuda_settle,
    .destroy = cuda_destroy,
    .info = cuda_info,
    .tables = cuda_tables,
    .tables_destroy = cuda_tables_destroy,
    .apart_begin = cuda_apart_begin,
    .apart_end = cuda_apart_end,
    .face_begin = cuda_face_begin,
    .face_end = cuda_face_end,
    .edge_begin = cuda_edge_begin,
    .edge_slope = cuda_edge_slope,
    .edge_scale = cuda_edge_scale,
    .rhs = cuda_rhs,
    .out = cuda_out,
    .rhs_pairs = cuda_rhs_pairs,
    .out_pairs = cuda_out_pairs,
    .subtract_ones = cuda_subtract_ones,
    .refine_begin = cuda_refine_begin,
    .refine_add = cuda_refine_add,
    .refine_step = cuda_refine_step,
    .refine_mean = cuda_refine_mean,
    .trial = cuda_trial,
    .core_create = cuda_core_create,
    .core_input = BCRRanksGetInput,
    .core_solve = cuda_core_solve,
    .core_forget = BCRRanksForget,
    .core_removed = cuda_core_removed,
    .run = cuda_run,
    .ready = cuda_ready,
    .agree = cuda_agree,
    .time = cuda_time,
  };

  return &table;
#else
  return NULL;
#endif
}
