#include "moves.h"
#include "../base/agree.h"
#include "readimpl.h"

/* Rows of n that part p of P equal ones has, and where they begin */
static void BCRMovesShare(PetscInt n, PetscInt P, PetscInt p, PetscInt *start, PetscInt *len)
{
  *start = n / P * p + PetscMin(n % P, p);
  *len = n / P + (p < n % P ? 1 : 0);
}

/* Boxes are slabs along cut, coefficients vary along general: is it cheaper to leave them so? An
   interface then is transformed with all n eigenvectors of the general axis, each rank solves
   twice, and set-up finds the eigenvectors; slabs along the general axis need none of that, but
   vectors travel. Seconds a solve, measured on one core, the set-up shared by solves of them: 1e-9
   n^3 for the eigenvectors, 4e-9 n^2 for the transforms of a line, 15e-9 for a node in a solve,
   twice that for its way to a slab and back. On a device products with eigenvectors are for its tensor cores and
   vectors travel between devices, which has not been measured: such set-ups are shared by ten times as many solves. */
static PetscBool BCRMovesStay(const BCRGrid *g, PetscInt cut, PetscInt general, PetscBool device)
{
  const double n = (double)g->N[general], other = (double)(g->N[0] * g->N[1] * g->N[2]) / n / (double)g->N[cut],
               solves = device ? 1000 : 100;
  PetscInt rows = 0, start, most;

  /* a quarter of a millisecond at most: less than what more messages cost */
  if (g->N[general] <= 64) return PETSC_TRUE;
  for (PetscInt p = 0; p < g->parts[cut]; p++) rows = PetscMax(rows, g->first[cut][p + 1] - g->first[cut][p]);
  BCRMovesShare(g->N[general], g->size, 0, &start, &most);
  return 30e-9 * n * (double)rows * other + 4e-9 * n * n * other + 1e-9 * n * n * n / solves <=
             45e-9 * (double)most * (double)g->N[cut] * other
           ? PETSC_TRUE
           : PETSC_FALSE;
}

/* Rows of rank p along an axis. nested: those of a part of the boxes, shared out among the ranks that have it, so that
   boxes and slabs have as much in common as they can; else an equal share of all */
static void BCRMovesRows(const BCRGrid *g, PetscInt axis, PetscBool nested, PetscInt p, PetscInt *start, PetscInt *len)
{
  const PetscInt parts = nested ? g->parts[axis] : 1, group = (PetscInt)g->size / parts, part = p / group,
                 lo = nested ? g->first[axis][part] : 0, hi = nested ? g->first[axis][part + 1] : g->N[axis];

  BCRMovesShare(hi - lo, group, p % group, start, len);
  *start += lo;
}

/* Can rows be shared out so? All ranks with the same ones have to follow one another, and none gets more than a row too
   many */
static PetscBool BCRMovesNested(const BCRGrid *g, PetscInt axis)
{
  PetscInt start, len;

  for (PetscInt d = axis + 1; d < 3; d++)
    if (g->parts[d] > 1) return PETSC_FALSE;
  for (PetscInt p = 0; p < (PetscInt)g->size; p++) {
    BCRMovesRows(g, axis, PETSC_TRUE, p, &start, &len);
    if (len > g->N[axis] / (PetscInt)g->size + 1) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* The part of all nodes that would change their rank for slabs along an axis */
static double BCRMovesFraction(const BCRGrid *g, PetscInt axis)
{
  const PetscBool nested = BCRMovesNested(g, axis);
  double stay = 0;

  for (PetscInt p = 0; p < (PetscInt)g->size; p++) {
    double common = 1;

    for (PetscInt d = 0, s = 1; d < 3; s *= g->parts[d++]) {
      PetscInt lo = g->first[d][p / s % g->parts[d]], hi = g->first[d][p / s % g->parts[d] + 1], start, len;

      if (d == axis) {
        BCRMovesRows(g, axis, nested, p, &start, &len);
        lo = PetscMax(lo, start);
        hi = PetscMin(hi, start + len);
      }
      common *= (double)PetscMax(0, hi - lo);
    }
    stay += common;
  }
  return 1 - stay / ((double)g->N[0] * (double)g->N[1] * (double)g->N[2]);
}

/* Slabs along x on ranks of one node, which would be solved twice: is it faster to move vectors? In memory that they share it
   took 0.93, 0.76 and 0.79 of the time at 127^3 on 2, 8 and 16 cores of a Xeon, 0.95, 0.56 and 0.51 at 255^3, 0.41, 1.1 and
   0.93 at 2047^2 (emeraldrapids_decompositions.csv); between two H200s 0.92 at 255^3, but 1.26 at 4095^2
   (h200_decompositions.csv) */
static PetscErrorCode BCRMovesTurn(const BCRGrid *g, PetscBool device, PetscBool *turn)
{
  PetscBool rows = PETSC_FALSE;

  PetscFunctionBegin;
  *turn = PETSC_FALSE;
  for (PetscInt d = 1; d < g->dim; d++) rows = rows || g->N[d] >= 2 * (PetscInt)g->size ? PETSC_TRUE : PETSC_FALSE;
  if (!rows || (device && g->dim == 2)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRCarryTogether(g->comm, turn));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The axis to cut: where the boxes are cut already, if that is along one axis alone. Else the one
   that cannot be transformed (forced), or with general coefficients. Else of those but x, along which lines are solved
   twice, the one for which the least moves, the slowest of these; but not one with so few rows that ranks would idle if
   another axis has more. */
PetscErrorCode BCRMovesChoose(const BCRGrid *g, PetscInt general, PetscBool forced, PetscBool device, PetscBool twice,
                              PetscInt *axis, PetscBool *inplace)
{
  PetscBool turn = PETSC_FALSE;
  PetscInt d, cut = 0, where = 0;

  PetscFunctionBegin;
  for (d = 0; d < g->dim; d++) {
    if (g->parts[d] == 1) continue;
    cut++;
    where = d;
  }
  if (cut == 1 && where == 0 && twice && general < 0) PetscCall(BCRMovesTurn(g, device, &turn));
  *inplace = (PetscBool)(cut < 2 && !turn);
  *axis = cut == 1 && !turn ? where : g->dim - 1;
  if (cut == 1 && general >= 0 && general != where)
    *inplace = (PetscBool)(!forced && BCRMovesStay(g, where, general, device));
  if (*inplace) PetscFunctionReturn(PETSC_SUCCESS);
  if (general >= 0) {
    *axis = general;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (d = g->dim - 2; d >= 1; d--)
    if (g->N[d] >= 2 * (PetscInt)g->size && BCRMovesFraction(g, d) < 0.95 * BCRMovesFraction(g, *axis)) *axis = d;
  for (d = g->dim - 2; d >= 0; d--)
    if (g->N[*axis] < 2 * (PetscInt)g->size && g->N[d] > g->N[*axis]) *axis = d;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Slabs of so many ranks have enough rows to eliminate some between two interfaces, or there is but one slab */
static PetscBool BCRMovesThick(const BCRGrid *g, PetscInt axis, PetscInt team, PetscInt rows)
{
  const PetscBool nested = BCRMovesNested(g, axis);

  for (PetscInt p = 0; p < (PetscInt)g->size && team < (PetscInt)g->size; p += team) {
    PetscInt have = 0, start, len;

    for (PetscInt k = p; k < p + team; k++) {
      BCRMovesRows(g, axis, nested, k, &start, &len);
      have += len;
    }
    if (have < rows) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* All of a node, if nothing is asked for. On 16 cores of a Xeon (emeraldrapids_decompositions.csv, 16^3 to 255^3) that takes
   0.38 to 1 of the time with a slab for each of 16 ranks where vectors are moved; where slabs lie as the grid is cut 0.3 to
   1.05 with 16 planes of a rank or less, as long with 32, and 1.2 and 0.9 with 64 and 128 on two ranks */
PetscMPIInt BCRMovesTeam(const BCRGrid *g, PetscInt axis, PetscBool inplace, PetscInt wanted)
{
  const PetscInt size = (PetscInt)g->size;
  PetscInt team = 1;

  if (wanted == 0) wanted = inplace && g->N[axis] >= 24 * size ? 1 : size;
  for (PetscInt t = 1; t <= PetscMin(wanted, size); t++)
    if (size % t == 0 && BCRMovesThick(g, axis, t, 3)) team = t;
  return (PetscMPIInt)team;
}

/* Slabs of their own or of teams. reach: all of a team reach its slab */
static PetscErrorCode BCRMovesCarry(const BCRGrid *g, PetscMPIInt team, PetscInt first[], BCRMoves *s)
{
  PetscInt len;

  PetscFunctionBegin;
  for (PetscInt p = 0; p < (PetscInt)g->size; p++) BCRMovesRows(g, s->axis, s->nested, p, &first[p], &len);
  first[g->size] = g->N[s->axis];
  s->start = first[g->rank / team * team];
  s->len = first[(g->rank / team + 1) * team] - s->start;
  for (PetscInt p = 0; p < (PetscInt)g->size; p++) /* the first of a team has all of its rows */
    if (p % team) first[p] = first[(p / team + 1) * team];
  PetscCall(BCRCarryCreate(g, s->axis, first, team, &s->carry));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRMovesCreate(const BCRGrid *g, PetscInt axis, PetscBool inplace, PetscMPIInt team, BCRMoves *s)
{
  PetscInt *first = NULL;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(s, sizeof(*s)));
  s->across = MPI_COMM_NULL;
  s->axis = axis;
  s->wanted = team;
  s->inplace = inplace;
  if (s->inplace && team == 1) {
    s->start = g->lo[s->axis];
    s->len = g->n[s->axis];
  } else {
    PetscCall(BCRFaultShare(g->comm, PetscMalloc1(g->size + 1, &first), BCR_NO_MEMORY));
    s->nested = BCRMovesNested(g, axis);
    for (PetscMPIInt t = team; t > 0 && !s->carry; t--)
      if (g->size % t == 0 && (t == 1 || BCRMovesThick(g, axis, t, 3)))
        BCRCallElse(BCRMovesCarry(g, t, first, s), (void)PetscFree(first), (void)PetscMemzero(s, sizeof(*s)));
    PetscCall(PetscFree(first));
    s->team = BCRCarryTeam(s->carry);
    if (!inplace) s->slab = (PetscScalar *)BCRCarrySlab(s->carry);
    else if (s->team) BCRCarryTeamOwn(s->carry, axis);
    else PetscCall(BCRCarryDestroy(&s->carry)); /* slabs as they are */
    if (s->team) PetscCallMPI(MPI_Comm_split(g->comm, s->team->rank, g->rank, &s->across));
  }
  s->unit = (size_t)g->dof * sizeof(PetscScalar);
  s->nodes = 1;
  for (PetscInt d = 0; d < 3; d++) {
    s->n[d] = d == s->axis ? s->len : g->N[d];
    s->nodes *= s->n[d];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRMovesDestroy(BCRMoves *s)
{
  PetscFunctionBegin;
  if (s->team) PetscCallMPI(MPI_Comm_free(&s->across));
  PetscCall(BCRCarryDestroy(&s->carry));
  PetscCall(PetscMemzero(s, sizeof(*s)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRMovesTake(const BCRMoves *s, const PetscScalar *box)
{
  PetscFunctionBegin;
  PetscCall(BCRCarryTake(s->carry, s->unit, box));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRMovesGive(const BCRMoves *s, PetscScalar *box)
{
  PetscFunctionBegin;
  PetscCall(BCRCarryGive(s->carry, s->unit, box));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRMovesRelease(const BCRMoves *s)
{
  PetscFunctionBegin;
  PetscCall(BCRCarryRelease(s->carry));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRMovesDescribe(const BCRGrid *g, const BCRMoves *s, PetscInt general, size_t length, char why[],
                                char how[])
{
  BCRCarryInfo info;
  size_t at;

  PetscFunctionBegin;
  PetscCall(BCRCarryGetInfo(s->carry, &info));
  if (s->team)
    PetscCall(PetscSNPrintf(why, length, "slabs along %c: %d ranks share a slab, each its lines and planes of modes",
                            "xyz"[s->axis], (int)(s->team->size)));
  else
    PetscCall(PetscSNPrintf(why, length, "slabs along %c, %s: of the nodes change their rank", "xyz"[s->axis],
                            general == s->axis ? "along which coefficients vary"
                            : s->nested        ? "those of each part of the grid on the ranks that have it"
                                               : "equal ones"));
  for (PetscInt d = g->dim - 1; d >= 0 && !s->team; d--) {
    PetscCall(PetscStrlen(why, &at));
    PetscCall(PetscSNPrintf(why + at, length - at, "%s %.3g along %c", d < g->dim - 1 ? "," : "",
                            BCRMovesFraction(g, d), "xyz"[d]));
  }
  PetscCall(PetscStrncpy(how, info.device ? "from device to device, " : "", length));
  PetscCall(PetscStrlen(how, &at));
  if (info.bymessage < info.moved)
    PetscCall(PetscSNPrintf(how + at, length - at, "through memory that up to %d ranks of a node %s", (int)info.ranks,
                            info.device ? "map" : "share"));
  PetscCall(PetscStrlen(how, &at));
  if (info.bymessage > 0)
    PetscCall(PetscSNPrintf(
      how + at, length - at, "%s%.3g of it by messages (%s), at most %" PetscInt_FMT " of a rank there and back%s%s",
      info.bymessage < info.moved ? ", " : "", info.bymessage / info.moved, info.device ? info.device : "MPI",
      info.messages, info.refused ? ": " : "", info.refused ? info.refused : ""));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- operators ---- */

/* Nodes lo .. lo + n of a box or slab, and those of them that are nodes of the operator's box or of
   one of its planes */
typedef struct {
  PetscInt lo[3], n[3];
} BCRPart;

/* The part of p from node begin[d] to end[d] of each axis */
static BCRPart BCRPartCut(const BCRPart *p, const PetscInt begin[3], const PetscInt end[3])
{
  BCRPart q;
  PetscInt d;

  for (d = 0; d < 3; d++) {
    q.lo[d] = PetscMax(p->lo[d], begin[d]);
    q.n[d] = PetscMax(0, PetscMin(p->lo[d] + p->n[d], end[d]) - q.lo[d]);
  }
  return q;
}

static PetscInt BCRPartNodes(const BCRPart *p)
{
  return p->n[0] * p->n[1] * p->n[2];
}

/* Between an array over q and one over all of p: field = part (in), part = field */
static void BCRPartCopy(const BCRPart *p, const BCRPart *q, PetscBool in, PetscReal *field, PetscReal *part)
{
  PetscInt i, j, k;

  for (k = 0; k < q->n[2]; k++) {
    for (j = 0; j < q->n[1]; j++) {
      PetscReal *f =
        field + q->lo[0] - p->lo[0] + p->n[0] * (q->lo[1] + j - p->lo[1] + p->n[1] * (q->lo[2] + k - p->lo[2]));
      PetscReal *g = part + q->n[0] * (j + q->n[1] * k);

      for (i = 0; i < q->n[0]; i++) {
        if (in) f[i] = g[i];
        else g[i] = f[i];
      }
    }
  }
}

/* Arrays over nodes of a box or slab that an operator may have: rowscale, apart, and of each plane inv and couplings */
#define BCR_MOVES_ARRAYS 14

typedef struct {
  PetscReal **array, value;  /* what a node has where the array is NULL on its rank */
  PetscInt begin[3], end[3]; /* its nodes, of the whole grid */
} BCRNodeArray;

static BCRNodeArray BCRNodeArrayOf(const BCRGrid *g, BCROperator *op, PetscInt k)
{
  BCRNodeArray a;
  PetscInt d;

  for (d = 0; d < 3; d++) {
    const PetscInt plane = k < 12 && d == k / 4 ? k / 2 % 2 : -1; /* which end the nodes are those of */

    a.begin[d] = k < 12 ? (plane == 1 ? g->N[d] - 1 : 0) : (op->axis[d].plane[0].present ? 1 : 0);
    a.end[d] = k < 12 ? (plane >= 0 ? a.begin[d] + 1 : g->N[d]) : g->N[d] - (op->axis[d].plane[1].present ? 1 : 0);
  }
  if (k < 12) {
    BCRPlane *plane = &op->axis[k / 4].plane[k / 2 % 2];

    a.array = k % 2 ? &plane->couplings : &plane->inv;
    a.value = k % 2 ? 0 : plane->inv0;
  } else {
    a.array = k == 12 ? &op->rowscale : &op->apart;
    a.value = k == 12 ? 1 : 0;
  }
  return a;
}

/* field: one value for each node of the box; part[k]: over the slab's nodes of the arrays that there are. No rank waits for
   another */
static PetscErrorCode BCRMovesRoom(const BCRGrid *g, const BCRPart *box, const BCRPart *slab, BCROperator *op,
                                   const int any[], PetscReal **field, PetscReal *part[])
{
  PetscInt k;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(BCRPartNodes(box), field));
  for (k = 0; k < BCR_MOVES_ARRAYS; k++) {
    const BCRNodeArray a = BCRNodeArrayOf(g, op, k);
    const BCRPart to = BCRPartCut(slab, a.begin, a.end);

    if (any[k]) PetscCall(PetscMalloc1(PetscMax(1, BCRPartNodes(&to)), &part[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRMovesTakeOperator(const BCRGrid *g, const BCRMoves *s, BCROperator *op)
{
  BCRPart box, slab;
  PetscInt d, i, k;
  PetscReal *field = NULL, *part[BCR_MOVES_ARRAYS] = {NULL};
  int has[BCR_MOVES_ARRAYS], any[BCR_MOVES_ARRAYS];
  PetscErrorCode ierr;

  PetscFunctionBegin;
  for (d = 0; d < 3; d++) {
    box.lo[d] = g->lo[d];
    box.n[d] = g->n[d];
    slab.lo[d] = d == s->axis ? s->start : 0;
    slab.n[d] = s->n[d];
  }
  for (k = 0; k < BCR_MOVES_ARRAYS; k++)
    has[k] = *BCRNodeArrayOf(g, op, k).array && (k >= 12 || op->axis[k / 4].plane[k / 2 % 2].present);
  PetscCallMPI(MPI_Allreduce(has, any, BCR_MOVES_ARRAYS, MPI_INT, MPI_MAX, g->comm));
  ierr = BCRFaultShare(g->comm, BCRMovesRoom(g, &box, &slab, op, any, &field, part), BCR_NO_MEMORY);
  for (k = 0; k < BCR_MOVES_ARRAYS && !ierr; k++) {
    const BCRNodeArray a = BCRNodeArrayOf(g, op, k);
    const BCRPart from = BCRPartCut(&box, a.begin, a.end), to = BCRPartCut(&slab, a.begin, a.end);

    if (!any[k]) continue;
    for (i = 0; i < BCRPartNodes(&box); i++) field[i] = a.value;
    if (*a.array) BCRPartCopy(&box, &from, PETSC_TRUE, field, *a.array);
    PetscCall(BCRCarryTake(s->carry, sizeof(PetscReal), field));
    BCRPartCopy(&slab, &to, PETSC_FALSE, (PetscReal *)s->slab, part[k]);
    PetscCall(BCRCarryRelease(s->carry));
    PetscCall(PetscFree(*a.array));
    *a.array = part[k];
    part[k] = NULL;
  }
  for (k = 0; k < BCR_MOVES_ARRAYS; k++) PetscCall(PetscFree(part[k]));
  PetscCall(PetscFree(field));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
