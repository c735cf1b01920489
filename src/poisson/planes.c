/*
  Planes of boundary rows that are not part of the box. In the order (edges e, faces b, box i) the matrix is

      [ D_e  -E_eb    0  ]            D diagonal; E: the slopes' entries; C: the couplings of the box's rows to the faces.
      [  0    D_b   -E_b ]            A_ii less what the elimination of u_b leaves, C D_b^-1 E_b, is what the reader gives
      [  0   -C      A_ii]            as the box's own operator.

  A solve: u_b = D_b^-1 f_b moves to the box's right-hand side, C times it; after the box, u_b += slope u_i, then
  u_e = D_e^-1 f_e + slope u_b, with a slope for each of the faces that the row refers to. The transpose goes the other way: t_e = f_e, t_b = f_b + slope t_e,
  f_i += slope t_b; after the box, u_b = D_b^-1 (t_b + C^T u_i) and u_e = D_e^-1 t_e. (slope = e/d,
  so that E D^-1 acts by it.)

  Ranks that share a slab have a part of the rows of each face, and the first one the edges.

  This file says which nodes these are and in which order they are worked on; a backend has the loops
  over them. What moves into the box is a list of terms: the host adds them to a row of the
  right-hand side while it is made, a device one after the other.
*/
#include "backend.h"
#include "../base/team.h"

/* Sides of a node: -1 low plane, 0 box, 1 high plane of each axis. PETSC_FALSE: there are no such nodes */
static PetscBool side_there(const BCRComponent *c, const int side[3])
{
  for (int d = 0; d < 3; d++)
    if (side[d] && !c->op.axis[d].plane[side[d] > 0].present) return PETSC_FALSE;
  return PETSC_TRUE;
}

/* The planes that such a node is in */
static int side_planes(const int side[3])
{
  return abs(side[0]) + abs(side[1]) + abs(side[2]);
}

/* e/d of its row along axis d */
static PetscReal side_slope(const BCRComponent *c, const int side[3], int d)
{
  if (!side[d]) return 0;
  return side_planes(side) == 1 ? c->op.axis[d].plane[side[d] > 0].slope : c->op.corner[BCRCornerPlace(side)][d];
}

/* ... whose neighbour along d is the opposite plane */
static PetscBool side_across(const BCRComponent *c, const int side[3], int d)
{
  return side_slope(c, side, d) != 0 && c->op.axis[d].n == 0 ? PETSC_TRUE : PETSC_FALSE;
}

static PetscBool side_edge(const BCRComponent *c, const int side[3])
{
  const int planes = side_planes(side);
  PetscBool across = PETSC_FALSE;

  for (int d = 0; d < 3 && planes == 1; d++) across = across || side_across(c, side, d) ? PETSC_TRUE : PETSC_FALSE;
  return planes > 1 || across ? PETSC_TRUE : PETSC_FALSE;
}

static PetscErrorCode side_check(const BCRComponent *c, const int side[3])
{
  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    int opposite[3] = {side[0], side[1], side[2]};
    PetscBool good;

    if (!side_across(c, side, d)) continue;
    opposite[d] = -side[d];
    good = side_there(c, opposite);
    for (int e = 0; e < 3; e++) good = good && !side_across(c, opposite, e) ? PETSC_TRUE : PETSC_FALSE;
    PetscCheck(
      good, PETSC_COMM_SELF, PETSC_ERR_SUP,
      "No unknowns along %c between boundary rows that refer to each other; use a larger grid or another solver",
      'x' + d);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nodes of these sides, edges all of them. Those along axis `link` with the links that they have there, -1: the nodes
   themselves. Counted, and written where there is room */
static void side_nodes(BCRComponent *c, const int side[3], int link)
{
  const PetscReal slope = link >= 0 ? side_slope(c, side, link) : 0;
  PetscInt first[3], n[3], *count = link >= 0 ? &c->nlink : &c->nedge;
  const BCRPlane *plane = NULL;
  int axis = 0;

  for (int d = 2; d >= 0; d--) {
    const BCRAxis *x = &c->op.axis[d];

    first[d] = side[d] < 0 ? 0 : (side[d] ? c->N[d] - 1 : (x->plane[0].present ? 1 : 0));
    n[d] = side[d] ? 1 : x->n;
    if (!side[d]) continue;
    plane = &x->plane[side[d] > 0];
    axis = d;
  }
  for (PetscInt k = 0; k < n[2]; k++) {
    for (PetscInt j = 0; j < n[1]; j++) {
      for (PetscInt i = 0; i < n[0]; i++, ++*count) {
        const PetscInt node[3] = {first[0] + i, first[1] + j, first[2] + k},
                       at = node[0] + c->stride[1] * node[1] + c->stride[2] * node[2];
        PetscInt q = 0;

        for (int d = 2; d >= 0; d--) q = d == axis ? q : q * c->N[d] + node[d];
        if (link >= 0 && c->link) c->link[c->nlink] = (BCRLink){at, at - side[link] * c->stride[link], slope};
        if (link < 0 && c->edge) c->edge[c->nedge] = (BCREdge){at, plane->inv ? plane->inv[q] : plane->inv0};
      }
    }
  }
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

/* Edges, and links by groups. Counted, and written where there is room */
static PetscErrorCode planes_nodes(BCRComponent *c)
{
  PetscFunctionBegin;
  c->nedge = c->nlink = 0;
  for (int g = 0; g <= BCR_LINK_GROUPS; g++) {
    c->linkstart[g] = c->nlink;
    for (int place = 0; place < 27; place++) {
      const int side[3] = {place % 3 - 1, place / 3 % 3 - 1, place / 9 - 1}, d = g % 3;

      if (!side_there(c, side) || !side_edge(c, side)) continue;
      if (g == BCR_LINK_GROUPS) side_nodes(c, side, -1);
      else if (side_slope(c, side, d) != 0 && g == 6 * side_planes(side) + 3 * (side_across(c, side, d) ? 1 : 0) + d) {
        PetscCall(side_check(c, side));
        side_nodes(c, side, d);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode planes_edges(BCRComponent *c)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(c->edge));
  PetscCall(PetscFree(c->link));
  PetscCall(planes_nodes(c));
  PetscCall(PetscMalloc1(c->nedge, &c->edge));
  PetscCall(PetscMalloc1(c->nlink, &c->link));
  PetscCall(planes_nodes(c));
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
  BCRTeam *team = p->s->options.core.team;
  double any;

  PetscFunctionBegin;
  p->moves = PETSC_FALSE;
  for (PetscInt b = 0; b < c->nface; b++) {
    PetscBool moves = PETSC_FALSE;

    PetscCall(be->face_begin(p, &c->face[b], &moves));
    for (PetscInt q = 0; q < c->nterm[p->transpose] && moves && c->core >= 0; q++)
      if (c->term[p->transpose][q].face == &c->face[b]) p->moves = PETSC_TRUE;
  }
  any = p->moves ? 1 : 0;
  PetscCall(BCRTeamSum(team, &any));
  p->moves = any > 0 ? PETSC_TRUE : PETSC_FALSE;
  if (!c->nedge) PetscFunctionReturn(PETSC_SUCCESS);
  if (!team || team->rank == 0) {
    PetscCall(be->edge_begin(p));
    for (int g = BCR_LINK_GROUPS - 1; g >= 0 && p->transpose; g--)
      PetscCall(be->edge_slope(p, c->linkstart[g], c->linkstart[g + 1] - c->linkstart[g]));
  }
  PetscCall(BCRTeamMeet(team));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRPlanesEnd(const BCRPass *p)
{
  const BCRComponent *c = p->c;
  const BCRBackend *be = p->s->be;
  BCRTeam *team = p->s->options.core.team;

  PetscFunctionBegin;
  PetscCall(BCRTeamMeet(team)); /* the box is solved */
  for (PetscInt b = 0; b < c->nface; b++) PetscCall(be->face_end(p, &c->face[b]));
  if (!c->nedge) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRTeamMeet(team)); /* and so are faces */
  if (team && team->rank) PetscFunctionReturn(PETSC_SUCCESS);
  if (p->transpose) PetscCall(be->edge_scale(p));
  for (int g = 0; g < BCR_LINK_GROUPS && !p->transpose; g++)
    PetscCall(be->edge_slope(p, c->linkstart[g], c->linkstart[g + 1] - c->linkstart[g]));
  PetscFunctionReturn(PETSC_SUCCESS);
}
