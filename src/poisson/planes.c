/*
  Planes of boundary rows that are not part of the box. In the order (edges e, faces b, box i) the matrix is

      [ D_e  -E_eb    0  ]            D diagonal; E: the slopes' entries; C: the couplings of the box's rows to the faces.
      [  0    D_b   -E_b ]            A_ii less what the elimination of u_b leaves, C D_b^-1 E_b, is what the reader gives
      [  0   -C      A_ii]            as the box's own operator.

  A solve: u_b = D_b^-1 f_b moves to the box's right-hand side, C times it; after the box, u_b += slope u_i, then
  u_e = D_e^-1 f_e + slope u_b. The transpose goes the other way: t_e = f_e, t_b = f_b + slope t_e,
  f_i += slope t_b; after the box, u_b = D_b^-1 (t_b + C^T u_i) and u_e = D_e^-1 t_e. (slope = e/d,
  so that E D^-1 acts by it.)

  This file says which nodes these are and in which order they are worked on; a backend has the loops
  over them. What moves into the box is a list of terms: the host adds them to a row of the
  right-hand side while it is made, a device one after the other.
*/
#include "backend.h"

/* The nodes of one combination of categories per axis: -1 low plane, 0 box, 1 high plane */
static PetscErrorCode edges_of(BCRComponent *c, const int cat[3], PetscInt key, PetscBool count)
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

static PetscErrorCode planes_faces(BCRComponent *c)
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
      face->back = 0;
      face->backscaled = PETSC_FALSE;
      if (face->couple) {
        const BCRAxis *a = &op->axis[d];

        face->back = (double)plane->coupling * (a->weight ? (double)a->weight[s ? a->n - 1 : 0] : 1.);
        face->backscaled = op->left && BCROperatorScaled(op) && !plane->couplings ? PETSC_TRUE : PETSC_FALSE;
      }
      c->nface++;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Once counted, once written */
static PetscErrorCode planes_edges(BCRComponent *c)
{
  PetscFunctionBegin;
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

            PetscCall(edges_of(c, cat, key, pass ? PETSC_FALSE : PETSC_TRUE));
          }
        }
      }
    }
    c->edgestart[8] = c->nedge;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What faces add to the right-hand side of the box */
static void planes_terms(BCRComponent *c, PetscInt transpose)
{
  c->nterm[transpose] = 0;
  for (PetscInt b = 0; b < c->nface; b++) {
    const BCRFace *face = &c->face[b];
    const BCRPlane *plane = face->plane;
    BCRFaceTerm *term = &c->term[transpose][c->nterm[transpose]];

    if ((transpose ? plane->slope == 0 : !face->couple) || face->n[0] < 1 || face->n[1] < 1) continue;
    term->face = face;
    term->end = face->side ? c->op.axis[face->axis].n - 1 : 0;
    term->couplings = transpose ? NULL : plane->couplings;
    if (transpose) term->factor = (double)plane->slope;
    else if (plane->couplings) term->factor = (double)c->op.scale;
    else term->factor = (double)c->op.scale * (double)plane->coupling; /* times W, and W^-1 */
    term->weights = transpose || plane->couplings ? PETSC_TRUE : PETSC_FALSE;
    /* none where the coupling has S, as in A = S B */
    term->scaled =
      BCRComponentScaled(c, transpose, PETSC_FALSE) && !(c->op.left && !plane->couplings) ? PETSC_TRUE : PETSC_FALSE;
    c->nterm[transpose]++;
  }
}

PetscErrorCode BCRPlanesSetUp(BCRComponent *c)
{
  PetscFunctionBegin;
  PetscCall(planes_faces(c));
  PetscCall(planes_edges(c));
  for (PetscInt t = 0; t < 2; t++) planes_terms(c, t);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPlanesBegin(BCRPass *p)
{
  const BCRComponent *c = p->c;
  const BCRBackend *be = p->s->be;

  PetscFunctionBegin;
  p->moves = PETSC_FALSE;
  for (PetscInt b = 0; b < c->nface; b++) {
    PetscBool moves = PETSC_FALSE;

    PetscCall(be->face_begin(p, &c->face[b], &moves));
    for (PetscInt q = 0; q < c->nterm[p->transpose] && moves && c->core >= 0; q++)
      if (c->term[p->transpose][q].face == &c->face[b]) p->moves = PETSC_TRUE;
  }
  if (!c->nedge) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(be->edge_begin(p));
  for (int key = 7; key >= 2 && p->transpose; key--)
    PetscCall(be->edge_slope(p, c->edgestart[key], c->edgestart[key + 1] - c->edgestart[key]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPlanesEnd(const BCRPass *p)
{
  const BCRComponent *c = p->c;
  const BCRBackend *be = p->s->be;

  PetscFunctionBegin;
  for (PetscInt b = 0; b < c->nface; b++) PetscCall(be->face_end(p, &c->face[b]));
  if (!c->nedge) PetscFunctionReturn(PETSC_SUCCESS);
  if (p->transpose) PetscCall(be->edge_scale(p));
  for (int key = 2; key < 8 && !p->transpose; key++)
    PetscCall(be->edge_slope(p, c->edgestart[key], c->edgestart[key + 1] - c->edgestart[key]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
