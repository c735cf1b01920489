/*
  Planes of boundary rows that are not part of the box. In the order (edges e, faces b, box i) the matrix is

      [ D_e  -E_eb    0  ]            D diagonal; E: the slopes' entries; C: the couplings of the box's rows to the faces.
      [  0    D_b   -E_b ]            A_ii less what the elimination of u_b leaves, C D_b^-1 E_b, is what the reader gives
      [  0   -C      A_ii]            as the box's own operator.

  A solve: u_b = D_b^-1 f_b moves to the box's right-hand side, C times it; after the box, u_b += slope u_i, then
  u_e = D_e^-1 f_e + slope u_b. The transpose goes the other way: t_e = f_e, t_b = f_b + slope t_e,
  f_i += slope t_b; after the box, u_b = D_b^-1 (t_b + C^T u_i) and u_e = D_e^-1 t_e. (slope = e/d,
  so that E D^-1 acts by it.)
*/
#include "solverimpl.h"

/* The nodes of one combination of categories per axis: -1 low plane, 0 box, 1 high plane */
static PetscErrorCode BCRPlanesEdges(BCRComponent *c, const int cat[3], PetscInt key, PetscBool count)
{
  const BCROperator *op = &c->op;
  PetscInt level = 0, owner = -1, first[3], n[3];
  const BCRPlane *plane;
  PetscBool across;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    const BCRAxis *x = &op->axis[d];

    if (cat[d] && !x->plane[cat[d] > 0].present) PetscFunctionReturn(PETSC_SUCCESS);
    first[d] = cat[d] < 0 ? 0 : (cat[d] ? c->N[d] - 1 : (x->plane[0].present ? 1 : 0));
    n[d] = cat[d] ? 1 : x->n;
    level += cat[d] != 0;
  }
  for (int m = 2; m >= 0; m--) {
    if (cat[op->owner[m]]) owner = op->owner[m];
  }
  if (owner < 0) PetscFunctionReturn(PETSC_SUCCESS);
  plane = &op->axis[owner].plane[cat[owner] > 0];
  across = op->axis[owner].n == 0 && plane->slope != 0 ? PETSC_TRUE : PETSC_FALSE;
  if ((level == 1 && !across) || key != 2 * level + (across ? 1 : 0)) PetscFunctionReturn(PETSC_SUCCESS);
  if (across) {
    const BCRPlane *opposite = &op->axis[owner].plane[cat[owner] < 0];

    PetscCheck(
      opposite->present && opposite->slope == 0, PETSC_COMM_SELF, PETSC_ERR_SUP,
      "No unknowns along %c between boundary rows that refer to each other; use a larger grid or another solver",
      'x' + (int)owner);
  }
  for (PetscInt k = 0; k < n[2]; k++) {
    for (PetscInt j = 0; j < n[1]; j++) {
      for (PetscInt i = 0; i < n[0]; i++) {
        if (!count) {
          const PetscInt node[3] = {first[0] + i, first[1] + j, first[2] + k};
          BCREdge *e = &c->edge[c->nedge];
          PetscInt q = 0;

          for (int d = 2; d >= 0; d--) {
            if (d != owner) q = q * c->N[d] + node[d];
          }
          e->at = node[0] + c->stride[1] * node[1] + c->stride[2] * node[2];
          /* beside a single plane of nodes there is none behind */
          e->from = plane->slope != 0 ? e->at - cat[owner] * c->stride[owner] : e->at;
          e->inv = plane->inv ? plane->inv[q] : plane->inv0;
          e->slope = plane->slope;
        }
        c->nedge++;
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPlanesSetUp(BCRComponent *c)
{
  const BCROperator *op = &c->op;

  PetscFunctionBegin;
  c->nface = 0;
  for (int d = 0; d < 3; d++) {
    for (int s = 0; s < 2; s++) {
      const BCRPlane *plane = &op->axis[d].plane[s];
      BCRFace *face = &c->face[c->nface];
      PetscInt q = 1, o = 0;

      if (!plane->present || (op->axis[d].n == 0 && plane->slope != 0)) continue;
      face->plane = plane;
      face->axis = d;
      face->side = s;
      face->at = s ? (c->N[d] - 1) * c->stride[d] : 0;
      face->q = 0;
      face->inward = s ? -c->stride[d] : c->stride[d];
      face->couple =
        plane->couple && op->axis[d].n > 0 && (plane->couplings || plane->coupling != 0) ? PETSC_TRUE : PETSC_FALSE;
      for (int x = 0; x < 3; x++) {
        const PetscInt low = op->axis[x].plane[0].present ? 1 : 0;

        if (x == d) continue;
        face->other[o] = x;
        face->n[o] = op->axis[x].n;
        face->stride[o] = c->stride[x];
        face->qstride[o] = q;
        face->at += low * c->stride[x];
        face->q += low * q;
        q *= c->N[x];
        o++;
      }
      c->nface++;
    }
  }
  for (int pass = 0; pass < 2; pass++) {
    PetscInt count = c->nedge;

    c->nedge = 0;
    if (pass) {
      if (!count) break;
      PetscCall(PetscFree(c->edge));
      PetscCall(PetscMalloc1(count, &c->edge));
    }
    for (PetscInt key = 2; key < 8; key++) { /* in this order a node's neighbour comes before it */
      c->edgestart[key] = c->nedge;
      for (int z = -1; z <= 1; z++) {
        for (int y = -1; y <= 1; y++) {
          for (int x = -1; x <= 1; x++) {
            const int cat[3] = {x, y, z};

            PetscCall(BCRPlanesEdges(c, cat, key, pass ? PETSC_FALSE : PETSC_TRUE));
          }
        }
      }
    }
    c->edgestart[8] = c->nedge;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* the nodes of a face: in the vector (at), and in arrays of its plane (q) */
#define BCRFaceNodes(face, at) \
  for (PetscInt i_ = 0, at##_ = (face)->at; i_ < (face)->n[1]; i_++, at##_ += (face)->stride[1]) \
    for (PetscInt j_ = 0, at = at##_; j_ < (face)->n[0]; j_++, at += (face)->stride[0])
#define BCRFaceLoop(face, at, q) \
  for (PetscInt i_ = 0, at##_ = (face)->at, q##_ = (face)->q; i_ < (face)->n[1]; \
       i_++, at##_ += (face)->stride[1], q##_ += (face)->qstride[1]) \
    for (PetscInt j_ = 0, at = at##_, q = q##_; j_ < (face)->n[0]; \
         j_++, at += (face)->stride[0], q += (face)->qstride[0])

void BCRPlanesBefore(BCRPass *p)
{
  const BCRComponent *c = p->c;
  const PetscReal *f = p->f;
  PetscReal *u = p->u;
  const ptrdiff_t es = p->es;

  p->moves = PETSC_FALSE;
  if (!p->transpose) {
    for (PetscInt b = 0; b < c->nface; b++) {
      const BCRFace *face = &c->face[b];
      PetscBool moves = PETSC_FALSE;

      BCRFaceLoop(face, at, q)
      {
        const PetscReal x = f[at * es] * (face->plane->inv ? face->plane->inv[q] : face->plane->inv0);

        u[at * es] = x;
        if (x != 0) moves = PETSC_TRUE;
      }
      if (moves && face->couple) p->moves = PETSC_TRUE;
    }
    for (PetscInt b = 0; b < c->nedge; b++) u[c->edge[b].at * es] = f[c->edge[b].at * es] * c->edge[b].inv;
  } else {
    for (PetscInt b = 0; b < c->nface && u != f; b++) BCRFaceNodes(&c->face[b], at) u[at * es] = f[at * es];
    for (PetscInt b = 0; b < c->nedge; b++) u[c->edge[b].at * es] = f[c->edge[b].at * es];
    for (PetscInt b = c->nedge - 1; b >= 0; b--) {
      if (c->edge[b].slope != 0) u[c->edge[b].from * es] += c->edge[b].slope * u[c->edge[b].at * es];
    }
    for (PetscInt b = 0; b < c->nface; b++) {
      if (c->face[b].plane->slope != 0 && c->core >= 0) p->moves = PETSC_TRUE;
    }
  }
}

/* What a face's node brings to the box row beside it, as the core sees that row, but for the
   factors of BCRPlanesFactor() */
static inline double BCRPlanesEntry(const BCRPass *p, const BCRFace *face, PetscInt q, double w)
{
  if (p->transpose) return (double)face->plane->slope * w;
  if (face->plane->couplings) return (double)p->c->op.scale * (double)face->plane->couplings[q] * w;
  return (double)p->c->op.scale * (double)face->plane->coupling; /* times W, and W^-1 */
}

void BCRPlanesMove(const BCRPass *p, PetscInt j, PetscInt k, double line[])
{
  const BCRComponent *c = p->c;
  const BCRFactors *w = c->pre[p->transpose];
  const PetscInt n[3] = {c->op.axis[0].n, c->op.axis[1].n, c->op.axis[2].n}, at[3] = {0, j, k};
  const PetscReal *all = BCRComponentScale(c, p->transpose, PETSC_FALSE);
  const double wyz = w[1].v[j] * w[2].v[k];

  for (PetscInt b = 0; b < c->nface; b++) {
    const BCRFace *face = &c->face[b];
    PetscInt node, q;
    /* none where the coupling has S, as in A = S B */
    const PetscReal *rowscale = all && !(c->op.left && !face->plane->couplings) ? all + n[0] * (j + n[1] * k) : NULL;

    if (p->transpose ? face->plane->slope == 0 : !face->couple) continue;
    if (face->axis == 0) {
      const PetscInt i = face->side ? n[0] - 1 : 0;

      node = face->at + j * face->stride[0] + k * face->stride[1];
      q = face->q + j * face->qstride[0] + k * face->qstride[1];
      line[i] += BCRPlanesEntry(p, face, q, w[0].v[i] * wyz) * (double)p->u[node * p->es] *
                 (rowscale ? (double)rowscale[i] : 1.);
    } else if (at[face->axis] == (face->side ? n[face->axis] - 1 : 0)) {
      const PetscInt m = face->axis == 1 ? k : j; /* the other axis but x */

      node = face->at + m * face->stride[1];
      q = face->q + m * face->qstride[1];
      for (PetscInt i = 0; i < n[0]; i++)
        line[i] += BCRPlanesEntry(p, face, q + i * face->qstride[0], w[0].v[i] * wyz) *
                   (double)p->u[(node + i * face->stride[0]) * p->es] * (rowscale ? (double)rowscale[i] : 1.);
    }
  }
}

void BCRPlanesAfter(const BCRPass *p)
{
  const BCRComponent *c = p->c;
  PetscReal *u = p->u;
  const ptrdiff_t es = p->es;

  for (PetscInt b = 0; b < c->nface; b++) {
    const BCRFace *face = &c->face[b];
    const BCRPlane *plane = face->plane;

    if (!p->transpose) {
      if (plane->slope != 0) BCRFaceNodes(face, at) u[at * es] += plane->slope * u[(at + face->inward) * es];
    } else if (!face->couple) {
      BCRFaceLoop(face, at, q) u[at * es] *= plane->inv ? plane->inv[q] : plane->inv0;
    } else {
      const BCRAxis *axis = c->op.axis, *a = &axis[face->axis], *a0 = &axis[face->other[0]],
                    *a1 = &axis[face->other[1]];
      const double w = a->weight ? (double)a->weight[face->side ? a->n - 1 : 0] : 1.;

      BCRFaceLoop(face, at, q)
      {
        double entry = plane->couplings ? (double)plane->couplings[q]
                                        : (double)plane->coupling * w * (a0->weight ? (double)a0->weight[j_] : 1.) *
                                            (a1->weight ? (double)a1->weight[i_] : 1.);

        if (c->op.left && c->op.rowscale && !plane->couplings) {
          const PetscInt far = face->side ? a->n - 1 : 0,
                         i[3] = {face->axis == 0 ? far : j_, face->axis == 1 ? far : (face->axis == 0 ? j_ : i_),
                                 face->axis == 2 ? far : i_};

          entry /= (double)c->op.rowscale[i[0] + axis[0].n * (i[1] + axis[1].n * i[2])];
        }
        entry *= (double)c->op.scale * (double)u[(at + face->inward) * es];
        u[at * es] =
          (PetscReal)((plane->inv ? (double)plane->inv[q] : (double)plane->inv0) * ((double)u[at * es] + entry));
      }
    }
  }
  if (p->transpose) {
    for (PetscInt b = 0; b < c->nedge; b++) u[c->edge[b].at * es] *= c->edge[b].inv;
  } else {
    for (PetscInt b = 0; b < c->nedge; b++) {
      if (c->edge[b].slope != 0) u[c->edge[b].at * es] += c->edge[b].slope * u[c->edge[b].from * es];
    }
  }
}
