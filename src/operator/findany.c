/*
  Rows in any order: the box that a graph is.

  Rows are nodes, entries links; a link that one of its two rows has is one. A box is found as one would draw it: from a
  corner along its edges, then node by node, each the one that is linked to those drawn already and has no place yet. No
  step is trusted: what comes out is compared with every entry of the matrix.

      e ->  0 . . . . .     1. seed: the node with the fewest links is a corner (any node, if all axes are rings)
            .               2. its links along axes, and which two of them are the two ways round a ring
            .   x o         3. walks straight on give lengths
            .   o ?         4. sweep: ? is the only node without a place that the node behind it is linked to
                            5. every entry of every row: within a step along each axis
*/
#include "findany.h"
#include <petscbt.h>

#define MOST BCR_ANY_MOST
#define AXES 6 /* three rings of four look like six axes of two nodes */

typedef struct {
  PetscInt count, room, *row;
  PetscBool ring;
} AnyLine;

/* The grid as far as it is known */
typedef struct {
  const BCRLinks *graph;
  const PetscInt *i, *j;  /* the graph's, or a copy with all links both ways */
  PetscInt *both[2];      /* that copy, or NULL */
  PetscBool out, wide;    /* some rows have no node; a row has more links than any node of a grid */
  PetscInt rest;          /* rows that have one */
  PetscInt *place;        /* [n], the graph's: while there is no answer, component * size + node */
  PetscInt *node;         /* [rest]: the row at each node of the component at hand */
  PetscInt dim, axes;     /* axes of the grid; those at the seed so far */
  AnyLine line[AXES];     /* rows along the edges at the seed */
  PetscInt N[3], step[3]; /* step: from a node to the next one along an axis */
  PetscBool ring[3];
  PetscInt size, reach;
  PetscInt components; /* those found so far, all of size nodes */
  BCRFound *found;
} AnyBox;

/* The contradiction of the attempt that came farthest is what is told */
#define AnyRefuse(B, rows, ...) \
  do { \
    if ((rows) > (B)->found->fits) { \
      (B)->found->fits = (rows); \
      PetscCall(PetscSNPrintf((B)->found->why, sizeof((B)->found->why), __VA_ARGS__)); \
    } \
  } while (0)

/* Is w another node that v may be linked to? */
static inline PetscBool AnyCounts(const AnyBox *B, PetscInt v, PetscInt w)
{
  return (PetscBool)(w != v && (!B->out || (B->place[w] != BCR_PLACE_ALONE && B->place[w] != BCR_PLACE_EMPTY)));
}

static inline PetscBool AnyLinked(const AnyBox *B, PetscInt v, PetscInt w)
{
  for (PetscInt k = B->i[v]; k < B->i[v + 1]; k++)
    if (B->j[k] == w) return PETSC_TRUE;
  return PETSC_FALSE;
}

/* Links of v: how many there are, MOST + 1 if too many; the first MOST of them */
static PetscInt AnyLinks(const AnyBox *B, PetscInt v, PetscInt *links)
{
  PetscInt count = 0;

  for (PetscInt k = B->i[v]; k < B->i[v + 1] && count <= MOST; k++) {
    if (!AnyCounts(B, v, B->j[k])) continue;
    if (links && count < MOST) links[count] = B->j[k];
    count++;
  }
  return count;
}

/* Nodes that both u and v are linked to */
static PetscInt AnyShared(const AnyBox *B, PetscInt u, PetscInt v)
{
  PetscInt count = 0;

  for (PetscInt k = B->i[u]; k < B->i[u + 1]; k++)
    if (AnyCounts(B, u, B->j[k]) && B->j[k] != v && AnyLinked(B, v, B->j[k])) count++;
  return count;
}

/* How many links v has, however many; this loop goes through all of the matrix, and has no branches */
static inline PetscInt AnyDegree(const AnyBox *B, PetscInt v)
{
  PetscInt count = 0;

  if (B->out)
    for (PetscInt k = B->i[v]; k < B->i[v + 1]; k++) {
      const PetscInt p = B->place[B->j[k]];

      count += (B->j[k] != v) & (p != BCR_PLACE_ALONE) & (p != BCR_PLACE_EMPTY);
    }
  else
    for (PetscInt k = B->i[v]; k < B->i[v + 1]; k++) count += B->j[k] != v;
  return count;
}

/* The node with the fewest links, the first of them in rows (NULL: in all). -1: one has too many, and it is told */
static PetscErrorCode AnySeed(AnyBox *B, PetscInt n, const PetscInt rows[], PetscInt *seed)
{
  PetscInt least = MOST + 1, links;

  PetscFunctionBegin;
  *seed = -1;
  for (PetscInt k = 0; k < n; k++) {
    const PetscInt r = rows ? rows[k] : k;

    if (B->place[r] != BCR_PLACE_OPEN) continue;
    links = AnyDegree(B, r);
    if (links > MOST) {
      B->wide = PETSC_TRUE;
      *seed = -1;
      AnyRefuse(B, 0, BCR_ANY_WIDE, r, B->j[B->i[r]], MOST);
      break;
    }
    if (links < least) {
      least = links;
      *seed = r;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AnyLineAdd(AnyLine *l, PetscInt row)
{
  PetscFunctionBegin;
  if (l->count == l->room) {
    l->room = PetscMax(64, 2 * l->room);
    PetscCall(PetscRealloc((size_t)l->room * sizeof(PetscInt), &l->row));
  }
  l->row[l->count++] = row;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AnyLineStart(AnyBox *B, PetscInt seed, PetscInt row)
{
  AnyLine *l = &B->line[B->axes++];

  PetscFunctionBegin;
  l->count = 0;
  l->ring = PETSC_FALSE;
  PetscCall(AnyLineAdd(l, seed));
  PetscCall(AnyLineAdd(l, row));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Axes at the seed, in stars: all its links are along axes. Two of them are on one axis, a ring, if nothing but the seed
  is linked to both, or if they are linked (a ring of three). A ring of four is two axes of two nodes, which is the same
  graph.
*/
static PetscErrorCode AnyStar(AnyBox *B, PetscInt seed, PetscBool *ok)
{
  PetscInt links[MOST], ways = AnyLinks(B, seed, links);

  PetscFunctionBegin;
  *ok = PETSC_FALSE;
  B->axes = 0;
  if (!ways) {
    AnyRefuse(B, 0, "row %" PetscInt_FMT " has entries in no column but those of rows by themselves", seed);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (PetscInt a = 0; a < ways; a++) {
    PetscInt other = -1;

    for (PetscInt b = 0; b < ways; b++) {
      if (b == a || (!AnyLinked(B, links[a], links[b]) && AnyShared(B, links[a], links[b]) != 1)) continue;
      if (other >= 0) {
        AnyRefuse(B, 0,
                  "row %" PetscInt_FMT ", columns %" PetscInt_FMT ", %" PetscInt_FMT " and %" PetscInt_FMT
                  ": no two of them are along one axis and the third along another",
                  seed, links[a], links[other], links[b]);
        PetscFunctionReturn(PETSC_SUCCESS);
      }
      other = b;
    }
    if (other >= 0 && other < a) continue; /* the other way round a ring */
    if (B->axes == AXES || ways > AXES) {
      AnyRefuse(B, 0,
                "row %" PetscInt_FMT " (column %" PetscInt_FMT ") has the fewest neighbours, but more than a corner",
                seed, links[a]);
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    PetscCall(AnyLineStart(B, seed, links[a]));
    B->line[B->axes - 1].ring = (PetscBool)(other >= 0);
  }
  *ok = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  What a seed of a box stencil and its links along axes have: nodes linked to one or the same, itself with them. An end
  of an axis has 2 nodes there and the next one 3, any node of a ring has 3; reach of the axes count at once.
*/
static const struct {
  PetscInt dim, reach, rings, seed; /* nodes at the seed */
  PetscInt open[2], ring[2];        /* at the next node along an open axis, a ring; in common with the seed */
} any_boxes[] = {
  {2, 2, 0, 4,  {6, 4},   {0, 0}  },
  {2, 2, 1, 6,  {9, 6},   {6, 4}  },
  {2, 2, 2, 9,  {0, 0},   {9, 6}  },
  {3, 2, 0, 7,  {10, 6},  {0, 0}  },
  {3, 2, 1, 10, {14, 8},  {10, 6} },
  {3, 2, 2, 14, {19, 10}, {14, 8} },
  {3, 2, 3, 19, {0, 0},   {19, 10}},
  {3, 3, 0, 8,  {12, 8},  {0, 0}  },
  {3, 3, 1, 12, {18, 12}, {12, 8} },
  {3, 3, 2, 18, {27, 18}, {18, 12}},
  {3, 3, 3, 27, {0, 0},   {27, 18}},
};

/* Axes at the seed, in 9-, 19- and 27-point stencils: the links along axes are those that have the right numbers */
static PetscErrorCode AnyDiagonals(AnyBox *B, PetscInt seed, PetscBool *ok)
{
  PetscInt links[MOST], ways = AnyLinks(B, seed, links), t = 0, rings = 0;
  const PetscInt tables = (PetscInt)(sizeof(any_boxes) / sizeof(any_boxes[0]));

  PetscFunctionBegin;
  *ok = PETSC_FALSE;
  B->axes = 0;
  while (t < tables && any_boxes[t].seed != ways + 1) t++;
  if (t == tables) PetscFunctionReturn(PETSC_SUCCESS); /* what AnyStar() has said is nearer */
  B->reach = any_boxes[t].reach;
  for (PetscInt a = 0; a < ways; a++) {
    const PetscInt nodes = AnyLinks(B, links[a], NULL) + 1, shared = AnyShared(B, seed, links[a]) + 2;
    const PetscBool ring = (PetscBool)(nodes == any_boxes[t].ring[0] && shared == any_boxes[t].ring[1]);
    PetscBool new = PETSC_TRUE;

    if (!ring && (nodes != any_boxes[t].open[0] || shared != any_boxes[t].open[1])) continue;
    for (PetscInt d = 0; d < B->axes && ring && new; d++) /* the two ways round a ring are not linked */
      if (B->line[d].ring && !AnyLinked(B, B->line[d].row[1], links[a])) new = PETSC_FALSE;
    if (!new) continue;
    if (B->axes == any_boxes[t].dim || rings == any_boxes[t].rings + 1) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(AnyLineStart(B, seed, links[a]));
    B->line[B->axes - 1].ring = ring;
    rings += ring ? 1 : 0;
  }
  *ok = (PetscBool)(B->axes == any_boxes[t].dim && rings == any_boxes[t].rings);
  if (!*ok)
    AnyRefuse(B, 1,
              "row %" PetscInt_FMT " (column %" PetscInt_FMT ") has as many neighbours as a corner of a "
              "%d-point stencil, but they are not those of one",
              seed, ways ? links[0] : seed,
              any_boxes[t].reach == 3 ? 27
              : any_boxes[t].dim == 3 ? 19
                                      : 9);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of nodes that differ across the axes only, the one in the middle: linked to all others, and the outermost of those */
static PetscInt AnyMiddle(const AnyBox *B, PetscInt n, const PetscInt nodes[])
{
  PetscInt best = -1, least = MOST + 1, alike = 0;

  for (PetscInt a = 0; a < n; a++) {
    PetscInt b = 0, links;

    while (b < n && (b == a || AnyLinked(B, nodes[a], nodes[b]))) b++;
    if (b < n) continue;
    links = AnyLinks(B, nodes[a], NULL);
    if (links < least) best = nodes[a];
    alike = links < least ? 1 : alike + (links == least ? 1 : 0);
    least = PetscMin(least, links);
  }
  return alike == 1 ? best : -1;
}

/*
  Is v between u and w? Where they meet is beside v, then, or at the other side of a ring of four; if the way from u to
  w is a diagonal of a 19-point stencil, some of it is beside what is beside v.
*/
static PetscBool AnyBetween(const AnyBox *B, PetscInt u, PetscInt v, PetscInt w)
{
  for (PetscInt k = B->i[u]; k < B->i[u + 1]; k++) {
    const PetscInt s = B->j[k];

    if (!AnyCounts(B, u, s) || !AnyLinked(B, w, s) || s == v || AnyLinked(B, v, s)) continue;
    for (PetscInt l = B->i[u]; l < B->i[u + 1]; l++)
      if (B->j[l] != v && AnyLinked(B, v, B->j[l]) && AnyLinked(B, w, B->j[l]) && AnyLinked(B, s, B->j[l]))
        return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

/* The rows of n nodes are asked for all at once: in a random order each is two cache misses, one after the other */
static inline void AnyFetch(const AnyBox *B, PetscInt n, const PetscInt nodes[])
{
  for (PetscInt k = 0; k < n; k++) __builtin_prefetch(B->i + nodes[k], 0, 3);
  for (PetscInt k = 0; k < n; k++) __builtin_prefetch(B->j + B->i[nodes[k]], 0, 3);
}

/* Straight on from v, coming from u: ways counts what might be meant, the answer is -1 unless one is */
static PetscInt AnyStraight(const AnyBox *B, PetscInt u, PetscInt v, PetscInt *ways)
{
  PetscInt links[MOST], all = AnyLinks(B, v, links), n = 0;

  AnyFetch(B, PetscMin(all, MOST), links);
  for (PetscInt k = 0; k < PetscMin(all, MOST); k++) {
    if (links[k] == u || AnyLinked(B, u, links[k])) continue;
    if (B->reach > 1 ? AnyBetween(B, u, v, links[k]) : AnyShared(B, u, links[k]) == 1) links[n++] = links[k];
  }
  *ways = n;
  return n == 1 ? links[0] : (n && B->reach > 1 ? AnyMiddle(B, n, links) : -1);
}

/* Along one axis from the seed to its end, or round */
static PetscErrorCode AnyWalk(AnyBox *B, AnyLine *l, PetscBool *ok)
{
  const PetscBool ring = l->ring;
  const PetscInt seed = l->row[0];
  PetscInt ways = 1, next = l->row[1];

  PetscFunctionBegin;
  if (ring && B->reach == 1 && AnyLinked(B, seed, next)) { /* a ring of three? */
    PetscInt links[MOST], all = AnyLinks(B, seed, links);

    for (PetscInt k = 0; k < all; k++)
      if (links[k] != next && AnyLinked(B, next, links[k])) {
        PetscCall(AnyLineAdd(l, links[k]));
        *ok = PETSC_TRUE;
        PetscFunctionReturn(PETSC_SUCCESS);
      }
  }
  while (l->count <= B->rest) {
    next = AnyStraight(B, l->row[l->count - 2], l->row[l->count - 1], &ways);
    if (next < 0 || next == seed) break;
    PetscCall(AnyLineAdd(l, next));
  }
  *ok = (PetscBool)((ring ? next == seed : !ways) && l->count <= B->rest);
  if (!*ok)
    AnyRefuse(B, l->count,
              "row %" PetscInt_FMT ", column %" PetscInt_FMT ": along an axis from there %" PetscInt_FMT
              " neighbours go straight on, and the grid line from row %" PetscInt_FMT " does not end as others do",
              l->row[l->count - 1], l->row[l->count - 2], ways, seed);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The entry of row r in column c; 0 where there is none */
static PetscReal AnyValue(const AnyBox *B, PetscInt r, PetscInt c)
{
  const BCRLinks *g = B->graph;

  for (PetscInt k = g->i[r]; k < g->i[r + 1]; k++)
    if (g->j[k] == c) return PetscRealPart(g->a[k]);
  return 0;
}

static PetscReal AnyApart(PetscReal a, PetscReal b)
{
  const PetscReal sum = PetscAbsReal(a) + PetscAbsReal(b);

  return sum > 0 ? PetscAbsReal(a - b) / sum : 0;
}

/* Four rows in the order of a ring, of which two axes of two nodes are parts. *ring: how far they are from a ring of
   one coupling and diagonal, up to a factor of each row; *square: how far couplings across the square from one
   another are from equal */
static void AnyMeasure(const AnyBox *B, const PetscInt row[4], PetscReal *ring, PetscReal *square)
{
  *ring = *square = 0;
  if (!B->graph->a) {
    if (B->graph->asked) *B->graph->asked = PETSC_TRUE;
    return;
  }
  for (PetscInt p = 0; p < 4; p++) {
    const PetscInt r = row[p], next = row[(p + 1) % 4], last = row[(p + 3) % 4], far = row[(p + 2) % 4];
    const PetscReal ahead = AnyValue(B, r, next), back = AnyValue(B, r, last), there = AnyValue(B, next, far);

    *ring = PetscMax(*ring, AnyApart(ahead, back));
    *ring = PetscMax(*ring, AnyApart(AnyValue(B, r, r) * there, AnyValue(B, next, next) * ahead));
    *square = PetscMax(*square, AnyApart(ahead, AnyValue(B, last, far)));
  }
}

/* The row at the corner of a square: linked to the rows beside the seed along axes a and b; -1: there is none */
static PetscInt AnyAcross(const AnyBox *B, PetscInt seed, PetscInt a, PetscInt b)
{
  const PetscInt u = B->line[a].row[1], v = B->line[b].row[1];

  for (PetscInt k = B->i[u]; k < B->i[u + 1]; k++)
    if (B->j[k] != seed && B->j[k] != v && AnyCounts(B, u, B->j[k]) && AnyLinked(B, v, B->j[k])) return B->j[k];
  return -1;
}

/*
  Two axes of two nodes are a ring of four. They become one where there are more than three axes, the two whose
  values are most like those of a ring, which of several do not all fit an operator of ours; or where values are
  those of a ring with couplings that vary, and not those of a square. Others are the same operator either way.
*/
static PetscErrorCode AnyJoin(AnyBox *B, PetscInt seed, PetscBool *ok)
{
  const PetscReal rounding = (PetscReal)1e3 * PETSC_MACHINE_EPSILON;

  PetscFunctionBegin;
  for (;;) {
    PetscInt best[2] = {-1, -1}, corner = -1;
    PetscReal least = 3;
    AnyLine spare;

    for (PetscInt a = 0; a < B->axes && B->reach == 1; a++)
      for (PetscInt b = a + 1; b < B->axes; b++) {
        const PetscInt across = B->line[a].count > 2 || B->line[b].count > 2 ? -1 : AnyAcross(B, seed, a, b);
        const PetscInt row[4] = {seed, B->line[a].row[1], across, B->line[b].row[1]};
        PetscReal ring, square;

        if (across < 0) continue;
        AnyMeasure(B, row, &ring, &square);
        if (ring >= least || (B->axes <= 3 && square <= rounding)) continue;
        best[0] = a;
        best[1] = b;
        corner = across;
        least = ring;
      }
    if (corner < 0) break;
    PetscCall(AnyLineAdd(&B->line[best[0]], corner));
    PetscCall(AnyLineAdd(&B->line[best[0]], B->line[best[1]].row[1]));
    B->line[best[0]].ring = PETSC_TRUE;
    spare = B->line[best[1]];
    for (B->axes--; best[1] < B->axes; best[1]++) B->line[best[1]] = B->line[best[1] + 1];
    B->line[B->axes] = spare;
  }
  *ok = (PetscBool)(B->axes <= 3);
  if (!*ok)
    AnyRefuse(
      B, 1, "row %" PetscInt_FMT " (column %" PetscInt_FMT ") has the fewest neighbours, along %" PetscInt_FMT " axes",
      seed, B->line[0].row[1], B->axes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Axes in an order: that of the first component, else the one whose rows are numbered nearest to one another first */
static PetscBool AnyOrder(AnyBox *B, PetscInt seed)
{
  for (PetscInt d = 0; d < B->axes; d++) {
    PetscInt best = -1;

    for (PetscInt e = d; e < B->axes; e++) {
      const AnyLine *l = &B->line[e];

      if (B->components && (l->count != B->N[d] || l->ring != B->ring[d])) continue;
      if (best < 0 || PetscAbsInt(l->row[1] - seed) < PetscAbsInt(B->line[best].row[1] - seed)) best = e;
    }
    if (best < 0) return PETSC_FALSE;
    const AnyLine spare = B->line[d];
    B->line[d] = B->line[best];
    B->line[best] = spare;
  }
  return (PetscBool)(!B->components || B->axes == B->dim);
}

/* The row at the node t steps along axis d from a node, if it has been drawn before node number; else -1 */
static PetscInt AnyDrawn(const AnyBox *B, const PetscInt from[3], PetscInt d, PetscInt t, PetscInt number,
                         PetscInt at[3])
{
  PetscInt there = 0, edge = -1, axes = 0;

  for (PetscInt e = 0; e < 3; e++) at[e] = from[e];
  at[d] += t;
  if (B->ring[d]) at[d] = (at[d] + B->N[d]) % B->N[d];
  if (at[d] < 0 || at[d] >= B->N[d]) return -1;
  for (PetscInt e = 0; e < 3; e++) {
    there += at[e] * B->step[e];
    axes += at[e] ? 1 : 0;
    edge = at[e] ? e : edge;
  }
  if (axes == 1) return B->line[edge].row[at[edge]];
  return there < number ? B->node[there] : -1;
}

/* How many axes an entry from node a to node b spans, -1: it is none of the grid */
static PetscInt AnySpan(const AnyBox *B, const PetscInt a[3], const PetscInt b[3])
{
  PetscInt span = 0;

  for (PetscInt d = 0; d < 3; d++) {
    const PetscInt apart = PetscAbsInt(a[d] - b[d]);

    if (apart > 1 && !(B->ring[d] && apart == B->N[d] - 1)) return -1;
    span += apart ? 1 : 0;
  }
  return span;
}

/* Is a row linked to nodes that have been drawn as node at has to be? behind: a node behind it */
static PetscBool AnyFits(const AnyBox *B, PetscInt row, const PetscInt at[3], const PetscInt behind[3], PetscInt number)
{
  for (PetscInt d = 0; d < B->dim; d++)
    for (PetscInt t = -3; t <= 2; t++) { /* -3: one behind at; else t from behind */
      PetscInt probe[3], span;
      const PetscInt other = AnyDrawn(B, t < -2 ? at : behind, d, t < -2 ? -1 : t, number, probe);

      if (!t || other < 0) continue;
      span = AnySpan(B, at, probe);
      if (AnyLinked(B, row, other) != (PetscBool)(span > 0 && span <= B->reach)) return PETSC_FALSE;
    }
  return PETSC_TRUE;
}

/* Those of nodes that share most with another one: steps across make it less */
static PetscInt AnyNearest(const AnyBox *B, PetscInt other, PetscInt n, PetscInt nodes[])
{
  PetscInt most = -1, count = 0;

  for (PetscInt k = 0; k < n; k++) {
    const PetscInt shared = AnyShared(B, other, nodes[k]);

    if (shared > most) count = 0;
    if (shared >= most) nodes[count++] = nodes[k];
    most = PetscMax(most, shared);
  }
  return count;
}

/* The row at node at = number, where the node behind it has several links to rows without a place, or none */
static PetscErrorCode AnyChoose(AnyBox *B, PetscInt base, const PetscInt at[3], const PetscInt behind[3],
                                PetscInt number, PetscInt *row)
{
  const PetscInt from = B->node[behind[0] * B->step[0] + behind[1] * B->step[1] + behind[2] * B->step[2]];
  PetscInt links[MOST], all = AnyLinks(B, from, links), n = 0, probe[3], beside = from;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < PetscMin(all, MOST); k++)
    if (B->place[links[k]] == BCR_PLACE_OPEN && AnyFits(B, links[k], at, behind, number)) links[n++] = links[k];
  for (PetscInt d = B->dim - 1; d >= 0; d--) {
    const PetscInt last = AnyDrawn(B, at, d, -1, number, probe);

    if (last < 0) continue;
    beside = last;
  }
  if (n > 1 && B->reach > 1) n = AnyNearest(B, beside, n, links);
  *row = n == 1 ? links[0] : (n && B->reach > 1 ? AnyMiddle(B, n, links) : -1);
  if (*row < 0)
    AnyRefuse(B, base + number,
              "row %" PetscInt_FMT ", column %" PetscInt_FMT ": %" PetscInt_FMT
              " neighbours of the two may be grid point (%" PetscInt_FMT ", %" PetscInt_FMT ", %" PetscInt_FMT
              ") of %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT ", and must be one",
              from, beside, n, at[0], at[1], at[2], B->N[0], B->N[1], B->N[2]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The sweep asks for what it needs of nodes some way ahead: in rows of a random order each is a cache miss */
static inline void AnyAhead(const AnyBox *B, PetscInt at, PetscInt below)
{
  if (at + 32 < below) __builtin_prefetch(B->i + B->node[at + 32], 0, 3);
  if (at + 16 < below) __builtin_prefetch(B->j + B->i[B->node[at + 16]], 0, 3);
}

/* Grid line (0 .. N[0] - 1, j, k) in the order of its nodes. number: of its first node; out: of the first without a
   row */
static PetscErrorCode AnySweepLine(AnyBox *B, PetscInt base, PetscInt j, PetscInt k, PetscInt last, PetscInt *number)
{
  PetscInt i = 0, at[3] = {0, j, k}, behind[3], off, q = *number;

  PetscFunctionBegin;
  for (; i < B->N[0] && q < last; i++, q++) {
    const PetscInt axes = (i ? 1 : 0) + (j ? 1 : 0) + (k ? 1 : 0);
    PetscInt row = -1, ways = 0;

    if (axes <= 1) row = B->line[i ? 0 : j ? 1 : k ? 2 : 0].row[i + j + k]; /* i + j + k: two of them are 0 */
    else {
      PetscInt v, left = B->reach;

      at[0] = i;
      for (PetscInt d = 2; d >= 0; d--) {
        behind[d] = at[d] && left ? at[d] - 1 : at[d];
        left -= behind[d] != at[d] ? 1 : 0;
      }
      off = (at[0] - behind[0]) * B->step[0] + (at[1] - behind[1]) * B->step[1] + (at[2] - behind[2]) * B->step[2];
      AnyAhead(B, q - off, q);
      v = B->node[q - off];
      for (PetscInt e = B->i[v]; e < B->i[v + 1]; e++)
        if (B->place[B->j[e]] == BCR_PLACE_OPEN) {
          row = B->j[e];
          ways++;
        }
      if (ways != 1) PetscCall(AnyChoose(B, base, at, behind, q, &row));
      if (row < 0) break;
      B->place[row] = base + q;
    }
    B->node[q] = row;
  }
  *number = q;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nodes along the edges get their places; base: the first number of the component */
static PetscErrorCode AnyEdges(AnyBox *B, PetscInt base, PetscBool *ok)
{
  PetscFunctionBegin;
  *ok = PETSC_TRUE;
  for (PetscInt d = 0; d < B->dim && *ok; d++)
    for (PetscInt m = d ? 1 : 0; m < B->N[d] && *ok; m++) {
      const PetscInt row = B->line[d].row[m];

      *ok = (PetscBool)(B->place[row] == BCR_PLACE_OPEN);
      if (*ok) B->place[row] = base + m * B->step[d];
      else
        AnyRefuse(B, base + m,
                  "row %" PetscInt_FMT " (column %" PetscInt_FMT ") is on two edges of a grid, or twice on one", row,
                  B->line[d].row[m ? m - 1 : 0]);
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All nodes of a component, line after line. rows: how many it may have */
static PetscErrorCode AnySweep(AnyBox *B, PetscInt rows, PetscInt base, PetscBool *ok)
{
  const PetscInt last = PetscMin(rows, B->size);
  PetscInt q = 0;

  PetscFunctionBegin;
  PetscCall(AnyEdges(B, base, ok));
  if (!*ok) PetscFunctionReturn(PETSC_SUCCESS);
  *ok = PETSC_FALSE;
  for (PetscInt k = 0; k < B->N[2] && q < last; k++)
    for (PetscInt j = 0; j < B->N[1] && q < last; j++) {
      const PetscInt end = (j + 1 + k * B->N[1]) * B->N[0];

      PetscCall(AnySweepLine(B, base, j, k, last, &q));
      if (q < PetscMin(end, last)) PetscFunctionReturn(PETSC_SUCCESS);
    }
  *ok = (PetscBool)(q == B->size);
  if (!*ok)
    AnyRefuse(B, base + q,
              "row %" PetscInt_FMT ", column %" PetscInt_FMT ": the edges from there are of %" PetscInt_FMT
              " x %" PetscInt_FMT " x %" PetscInt_FMT " nodes, and there are %" PetscInt_FMT " rows for them",
              B->line[0].row[0], B->line[0].row[1], B->N[0], B->N[1], B->N[2], rows);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The same in stars, by distance from the seed: rows in Cuthill-McKee order, and those of each distance in others, are
  near one another in memory then. A node is one step farther than those before it, along one axis each, so that its
  numbers are the farthest of theirs; those on edges have theirs. While a node waits its numbers are in its place, side
  by side in some bits each.
*/
typedef struct {
  PetscInt shift[3], mask[3], N[3];
  PetscBool ring[3];
} AnyBits;

#define AnyWaits(numbers) (BCR_PLACE_OPEN - 1 - (numbers)) /* and back */

/* PETSC_FALSE: an integer has too few bits */
static PetscBool AnyBitsFill(const AnyBox *B, AnyBits *bits)
{
  PetscInt all = 0;

  for (PetscInt d = 0; d < 3; d++) {
    PetscInt n = 0;

    while ((B->N[d] - 1) >> n) n++;
    bits->shift[d] = all;
    bits->mask[d] = ((PetscInt)1 << n) - 1;
    bits->N[d] = B->N[d];
    bits->ring[d] = B->ring[d];
    all += n;
    if (all > (PetscInt)(8 * sizeof(PetscInt)) - 2) return PETSC_FALSE;
  }
  return PETSC_TRUE;
}

static inline PetscInt AnyBitsAt(const AnyBits *bits, PetscInt numbers, PetscInt d)
{
  return numbers >> bits->shift[d] & bits->mask[d];
}

static inline PetscInt AnyBitsAway(const AnyBits *bits, PetscInt d, PetscInt i)
{
  return bits->ring[d] ? PetscMin(i, bits->N[d] - i) : i;
}

/* Along each axis the number that is farther from the seed */
static inline PetscInt AnyBitsFarther(const AnyBits *bits, PetscInt a, PetscInt b)
{
  PetscInt farther = 0;

  for (PetscInt d = 0; d < 3; d++) {
    const PetscInt i = AnyBitsAt(bits, a, d), j = AnyBitsAt(bits, b, d);

    farther |= (AnyBitsAway(bits, d, j) > AnyBitsAway(bits, d, i) ? j : i) << bits->shift[d];
  }
  return farther;
}

/* A node on an edge: the next ones on it, which wait with their numbers */
static PetscInt AnyEdgeOn(AnyBox *B, const AnyBits *bits, const PetscInt at[3], PetscInt tail)
{
  for (PetscInt d = 0; d < B->dim; d++)
    for (PetscInt t = 1; t >= -1; t -= 2) {
      const PetscInt i = at[d], j = (i + t + B->N[d]) % B->N[d];

      if (at[0] + at[1] + at[2] != i || AnyBitsAway(bits, d, j) != AnyBitsAway(bits, d, i) + 1) continue;
      if (t < 0 && (!B->ring[d] || 2 * j <= B->N[d])) continue; /* the node across a ring once */
      if (tail < B->rest) B->node[tail++] = B->line[d].row[j];
    }
  return tail;
}

static PetscErrorCode AnyLevels(AnyBox *B, PetscInt rows, PetscInt base, PetscBool *ok)
{
  PetscInt head = 0, tail = 1;
  AnyBits bits;
  PetscBT seen;

  PetscFunctionBegin;
  *ok = PETSC_FALSE;
  if (B->size > rows || !AnyBitsFill(B, &bits)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBTCreate(B->size, &seen));
  for (PetscInt d = 0; d < B->dim; d++)
    for (PetscInt m = d ? 1 : 0; m < B->N[d]; m++) B->place[B->line[d].row[m]] = AnyWaits(m << bits.shift[d]);
  B->node[0] = B->line[0].row[0];
  for (; head < tail && tail <= rows; head++) {
    const PetscInt u = B->node[head], numbers = AnyWaits(B->place[u]);
    PetscInt at[3], number = 0;

    AnyAhead(B, head, tail);
    if (head + 8 < tail)
      for (PetscInt k = B->i[B->node[head + 8]]; k < B->i[B->node[head + 8] + 1]; k++)
        __builtin_prefetch(B->place + B->j[k], 1, 3);
    else
      for (PetscInt k = B->i[u]; k < B->i[u + 1]; k++)
        __builtin_prefetch(B->i + B->j[k], 0, 3); /* few wait: the next */
    if (tail - head <= 16 && head + 1 < tail) __builtin_prefetch(B->j + B->i[B->node[head + 1]], 0, 3);
    for (PetscInt d = 0; d < 3; d++) {
      at[d] = AnyBitsAt(&bits, numbers, d);
      number += at[d] * B->step[d];
    }
    if (B->place[u] >= BCR_PLACE_OPEN || PetscBTLookupSet(seen, number)) break;
    B->place[u] = base + number;
    if ((at[0] != 0) + (at[1] != 0) + (at[2] != 0) <= 1) tail = AnyEdgeOn(B, &bits, at, tail);
    for (PetscInt k = B->i[u]; k < B->i[u + 1]; k++) {
      const PetscInt w = B->j[k], p = B->place[w];

      if (p > BCR_PLACE_OPEN) continue;
      if (p == BCR_PLACE_OPEN && tail < rows) B->node[tail++] = w;
      B->place[w] = AnyWaits(p == BCR_PLACE_OPEN ? numbers : AnyBitsFarther(&bits, AnyWaits(p), numbers));
    }
  }
  *ok = (PetscBool)(head == B->size && tail == head);
  PetscCall(PetscBTDestroy(&seen));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows that have a place from base on, or wait for one, have none */
static void AnyReopen(AnyBox *B, PetscInt base)
{
  for (PetscInt r = 0; r < B->graph->n; r++)
    if (B->place[r] >= base || B->place[r] < BCR_PLACE_OPEN) B->place[r] = BCR_PLACE_OPEN;
}

/* The grid that has a seed as one of its corners */
static PetscErrorCode AnyComponent(AnyBox *B, PetscInt seed, PetscInt rows, PetscBool *ok)
{
  PetscInt64 size = 1;

  PetscFunctionBegin;
  if (B->reach == 1) PetscCall(AnyStar(B, seed, ok));
  else PetscCall(AnyDiagonals(B, seed, ok));
  for (PetscInt d = 0; d < B->axes && *ok; d++) PetscCall(AnyWalk(B, &B->line[d], ok));
  if (*ok) PetscCall(AnyJoin(B, seed, ok));
  if (!*ok) PetscFunctionReturn(PETSC_SUCCESS);
  *ok = AnyOrder(B, seed);
  if (!*ok)
    AnyRefuse(B, B->components * B->size,
              "row %" PetscInt_FMT " (column %" PetscInt_FMT
              ") is the corner of a grid that is not of the %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT
              " nodes of another one in this matrix",
              seed, B->line[0].row[1], B->N[0], B->N[1], B->N[2]);
  if (!*ok) PetscFunctionReturn(PETSC_SUCCESS);
  B->dim = B->axes;
  for (PetscInt d = 0; d < 3; d++) {
    B->N[d] = d < B->dim ? B->line[d].count : 1;
    B->ring[d] = (PetscBool)(d < B->dim && B->line[d].ring);
    B->step[d] = (PetscInt)size;
    size *= B->N[d];
    *ok = (PetscBool)(size <= 8 * (PetscInt64)rows); /* of a grid with a hole the sweep says where it is */
    if (*ok) continue;
    AnyRefuse(B, 1,
              "row %" PetscInt_FMT ", column %" PetscInt_FMT
              ": the edges from there are far too long for %" PetscInt_FMT " rows",
              seed, B->line[0].row[1], rows);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  B->size = (PetscInt)size;
  *ok = PETSC_FALSE;
  if (B->reach == 1) PetscCall(AnyLevels(B, rows, B->components * B->size, ok));
  if (*ok) PetscFunctionReturn(PETSC_SUCCESS);
  AnyReopen(B, B->components * B->size);
  PetscCall(AnySweep(B, rows, B->components * B->size, ok));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void AnyNode(const AnyBox *B, PetscInt place, PetscInt at[3])
{
  const PetscInt node = place < B->size ? place : place % B->size;

  at[2] = node / B->step[2];
  at[1] = node / B->N[0] - at[2] * B->N[1];
  at[0] = node % B->N[0];
}

/* How many axes an entry from a row at node a = number p to one of place q spans, -1: it is none of the grid */
static PetscInt AnyEntry(const AnyBox *B, const PetscInt a[3], PetscInt p, PetscInt q)
{
  PetscInt b[3];

  if (q == BCR_PLACE_ALONE || q == BCR_PLACE_EMPTY) return 0;
  if (q < 0 || p / B->size != q / B->size) return -1;
  AnyNode(B, q, b);
  return AnySpan(B, a, b);
}

/* The most axes that an entry of row r spans, or -1 with the entry that is none of the grid */
static PetscInt AnyRow(const AnyBox *B, PetscInt r, const PetscInt a[3], PetscInt *entry)
{
  PetscInt reach = 0;

  for (*entry = B->i[r]; *entry < B->i[r + 1]; ++*entry) {
    const PetscInt span = AnyEntry(B, a, B->place[r], B->place[B->j[*entry]]);

    if (span < 0 || span > B->reach) return -1;
    reach = PetscMax(reach, span);
  }
  return reach;
}

/*
  The same for a node that is at no end of an axis: its neighbours are at the same distances as those of all such nodes,
  and nothing else is. -1: AnyRow() has to say it
*/
static inline PetscInt AnyRowInside(const AnyBox *B, PetscInt r)
{
  const PetscInt p = B->place[r], never = PETSC_MAX_INT;
  const PetscInt y = B->N[1] > 1 ? B->step[1] : never, z = B->N[2] > 1 ? B->step[2] : never;
  PetscInt diagonal = 0, corner = 0, none = 0;

  for (PetscInt k = B->i[r]; k < B->i[r + 1]; k++) {
    const PetscInt e = PetscAbsInt(B->place[B->j[k]] - p), f = PetscAbsInt(e - z);

    if ((e <= 1) | (e == y) | (f == 0)) continue;
    if ((PetscAbsInt(e - y) == 1) | (f == 1) | (f == y)) diagonal = 1;
    else if (PetscAbsInt(f - y) == 1) corner = 1;
    else none = 1;
  }
  return none ? -1 : corner ? 3 : 1 + diagonal;
}

/* Every entry of every row that has a node, by the stencil that the seed has: few nodes are all beside one another */
static PetscErrorCode AnyCheck(AnyBox *B, PetscInt *reach, PetscBool *ok)
{
  const PetscInt *const N = B->N, all = B->i[B->graph->n], ahead = 64; /* places of a few rows ahead are asked for */

  PetscFunctionBegin;
  *reach = 1;
  for (PetscInt r = 0; r < B->graph->n; r++) {
    PetscInt a[3], entry, span = -1;

    for (PetscInt k = B->i[r] + ahead; k < PetscMin(B->i[r + 1] + ahead, all); k++)
      __builtin_prefetch(B->place + B->j[k], 0, 3);
    if (B->place[r] < 0) continue;
    AnyNode(B, B->place[r], a);
    if (a[0] && a[0] < N[0] - 1 && (N[1] == 1 || (a[1] && a[1] < N[1] - 1)) && (N[2] == 1 || (a[2] && a[2] < N[2] - 1)))
      span = AnyRowInside(B, r);
    if (span < 0 || span > B->reach) span = AnyRow(B, r, a, &entry);
    *reach = PetscMax(*reach, span);
    *ok = (PetscBool)(span >= 0);
    if (*ok) continue;
    AnyRefuse(B, PetscMax(r, B->size),
              "row %" PetscInt_FMT ", column %" PetscInt_FMT ": an entry between grid point (%" PetscInt_FMT
              ", %" PetscInt_FMT ", %" PetscInt_FMT ") of %" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT
              " and one that is not beside it",
              r, B->j[entry], a[0], a[1], a[2], N[0], N[1], N[2]);
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows without a node, component after component in list, behind those of the first one; ok: all are of its size */
static PetscErrorCode AnyFlood(AnyBox *B, PetscInt list[], PetscBool *ok)
{
  PetscInt head = 0, tail = 0;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < B->graph->n; r++)
    if (B->place[r] >= 0) list[tail++] = r;
  *ok = PETSC_TRUE;
  for (PetscInt r = 0, label = BCR_PLACE_OPEN - 1; r < B->graph->n && *ok; r++) {
    if (B->place[r] != BCR_PLACE_OPEN) continue;
    head = tail;
    list[tail++] = r;
    B->place[r] = label;
    for (PetscInt h = head; h < tail; h++)
      for (PetscInt k = B->i[list[h]]; k < B->i[list[h] + 1]; k++)
        if (B->place[B->j[k]] == BCR_PLACE_OPEN) {
          B->place[B->j[k]] = label;
          list[tail++] = B->j[k];
        }
    label--;
    *ok = (PetscBool)(tail - head == B->size);
    if (!*ok)
      AnyRefuse(B, head,
                "row %" PetscInt_FMT ", column %" PetscInt_FMT ": %" PetscInt_FMT " rows and %" PetscInt_FMT
                " rows have no entries between them, and these numbers must be the same",
                r, list[0], tail - head, B->size);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Further components, of the size of the first one: most often their rows are in the same order, and have the same
  nodes; else each is found as the first one was.
*/
static PetscErrorCode AnyFurther(AnyBox *B, PetscInt list[], PetscInt next[], PetscBool *ok)
{
  const PetscInt n = B->graph->n, count = B->rest / B->size;
  PetscInt seed;

  PetscFunctionBegin;
  for (PetscInt c = 0; c < count; c++) next[c] = 0;
  for (PetscInt r = 0; r < n; r++) {
    const PetscInt c = BCR_PLACE_OPEN - B->place[r]; /* the label of AnyFlood() */

    if (c > 0) B->place[r] = c * B->size + B->place[list[next[c]++]];
  }
  PetscCall(AnyCheck(B, &B->found->reach, ok));
  if (*ok) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt k = B->size; k < B->rest; k++) B->place[list[k]] = BCR_PLACE_OPEN;
  *ok = PETSC_TRUE;
  for (PetscInt c = 1; c < count && *ok; c++) {
    B->components = c;
    PetscCall(AnySeed(B, B->size, list + c * B->size, &seed));
    *ok = (PetscBool)(seed >= 0);
    if (*ok) PetscCall(AnyComponent(B, seed, B->size, ok));
  }
  if (*ok) PetscCall(AnyCheck(B, &B->found->reach, ok));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Places as BCRFound has them: components in the order of their first rows, all of them of a node side by side */
static void AnyNumber(AnyBox *B, PetscInt count, PetscInt next[])
{
  PetscInt seen = 0;

  for (PetscInt c = 0; c < count; c++) next[c] = -1;
  for (PetscInt r = 0; r < B->graph->n; r++) {
    const PetscInt c = B->place[r] / B->size;

    if (B->place[r] < 0) continue;
    if (next[c] < 0) next[c] = seen++;
    B->place[r] = next[c] + count * (B->place[r] % B->size);
  }
}

/* The rows as components of one grid, by links of one kind */
static PetscErrorCode AnyGrids(AnyBox *B, PetscInt seed, PetscBool *ok)
{
  PetscInt *list = NULL, *next = NULL, count;

  PetscFunctionBegin;
  B->components = 0;
  PetscCall(AnyComponent(B, seed, B->rest, ok));
  if (*ok) PetscCall(AnyCheck(B, &B->found->reach, ok));
  if (!*ok) PetscFunctionReturn(PETSC_SUCCESS);
  count = B->rest / B->size;
  if (B->rest > B->size) {
    PetscCall(PetscMalloc2(B->rest, &list, count, &next));
    PetscCall(AnyFlood(B, list, ok));
    if (*ok) PetscCall(AnyFurther(B, list, next, ok));
    if (*ok) AnyNumber(B, count, next);
    PetscCall(PetscFree2(list, next));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Looks for the grid in the links as they are: stars, then the stencils that go to diagonals, too */
static PetscErrorCode AnyAttempt(AnyBox *B, PetscBool *ok)
{
  PetscInt seed;

  PetscFunctionBegin;
  *ok = PETSC_FALSE;
  PetscCall(AnySeed(B, B->graph->n, NULL, &seed));
  for (B->reach = 1; B->reach <= 2 && seed >= 0 && !*ok; B->reach++) {
    const PetscInt reach = B->reach;

    PetscCall(AnyGrids(B, seed, ok));
    B->reach = reach; /* of the seed's stencil, meanwhile */
    if (!*ok) AnyReopen(B, 0);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows that are not linked at all are a line of nodes */
static PetscBool AnyUnlinked(AnyBox *B)
{
  PetscInt seen = 0;

  for (PetscInt r = 0; r < B->graph->n; r++)
    if (B->place[r] == BCR_PLACE_OPEN && AnyLinks(B, r, NULL)) return PETSC_FALSE;
  for (PetscInt r = 0; r < B->graph->n; r++)
    if (B->place[r] == BCR_PLACE_OPEN) B->place[r] = seen++;
  B->dim = 1;
  B->size = seen;
  B->found->reach = 1;
  B->N[0] = seen;
  B->N[1] = B->N[2] = 1;
  return PETSC_TRUE;
}

/* Are there links of one row alone? The two entries of others cancel in a sum of 64-bit numbers made of both rows */
static PetscBool AnyOneSided(const AnyBox *B)
{
  uint64_t sum = 0;

  for (PetscInt r = 0; r < B->graph->n; r++)
    for (PetscInt k = B->i[r]; k < B->i[r + 1] && B->place[r] == BCR_PLACE_OPEN; k++) {
      const PetscInt c = B->j[k];
      uint64_t z = (uint64_t)PetscMin(r, c) * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)PetscMax(r, c);

      if (!AnyCounts(B, r, c)) continue;
      z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
      z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
      sum += r < c ? z : -z;
    }
  return (PetscBool)(sum != 0);
}

/* Links that only one of their rows has are made those of both, which costs a search for each */
static PetscErrorCode AnyBothWays(AnyBox *B, PetscBool *changed)
{
  const PetscInt n = B->graph->n;
  PetscInt *more, *i, *j, extra = 0;

  PetscFunctionBegin;
  *changed = AnyOneSided(B);
  if (!*changed) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCalloc1(n + 1, &more));
  for (PetscInt r = 0; r < n; r++)
    for (PetscInt k = B->i[r]; k < B->i[r + 1] && B->place[r] == BCR_PLACE_OPEN; k++)
      if (AnyCounts(B, r, B->j[k]) && !AnyLinked(B, B->j[k], r)) {
        more[B->j[k]]++;
        extra++;
      }
  PetscCall(PetscMalloc2(n + 1, &i, B->i[n] + extra, &j));
  i[0] = 0;
  for (PetscInt r = 0; r < n; r++) {
    PetscInt q = i[r];

    for (PetscInt k = B->i[r]; k < B->i[r + 1]; k++) j[q++] = B->j[k];
    i[r + 1] = q + more[r];
    more[r] = q; /* where the next one goes */
  }
  for (PetscInt r = 0; r < n; r++)
    for (PetscInt k = B->i[r]; k < B->i[r + 1] && B->place[r] == BCR_PLACE_OPEN; k++)
      if (AnyCounts(B, r, B->j[k]) && !AnyLinked(B, B->j[k], r)) j[more[B->j[k]]++] = r;
  PetscCall(PetscFree(more));
  B->both[0] = i;
  B->both[1] = j;
  B->i = i;
  B->j = j;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The links are again those that the matrix has */
static PetscErrorCode AnyOneWay(AnyBox *B)
{
  PetscFunctionBegin;
  PetscCall(PetscFree2(B->both[0], B->both[1]));
  B->i = B->graph->i;
  B->j = B->graph->j;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows by themselves that refer to others, if by explicit zeros, or that others refer to, become nodes: how many */
static PetscInt AnyInclude(AnyBox *B)
{
  PetscInt more = 0;

  for (PetscInt pass = 0; pass < 2; pass++)
    for (PetscInt r = 0; r < B->graph->n; r++)
      for (PetscInt k = B->i[r]; k < B->i[r + 1]; k++) {
        const PetscInt c = pass ? B->j[k] : r;

        if (B->j[k] == r || (pass && B->place[r] != BCR_PLACE_OPEN) || B->place[c] == BCR_PLACE_OPEN) continue;
        B->place[c] = BCR_PLACE_OPEN;
        more++;
      }
  B->rest += more;
  return more;
}

/* Nodes with the same neighbours, which AnyDiagonals() cannot tell apart */
static PetscErrorCode AnyAlike(AnyBox *B, PetscBool *ok)
{
  const BCRLinks links = {B->graph->n, B->i, B->j, B->place, NULL, NULL};
  BCRFound *found = B->found;

  PetscFunctionBegin;
  PetscCall(BCRFindAlike(&links, B->rest, found, ok));
  if (!*ok) PetscFunctionReturn(PETSC_SUCCESS);
  B->dim = found->dim;
  B->size = found->N[0] * found->N[1] * found->N[2];
  PetscCall(PetscArraycpy(B->N, found->N, 3));
  PetscCall(PetscArraycpy(B->ring, found->ring, 3));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Rows by themselves need no node, and where they lie along faces the others are a box. Where they do not, as single
  rows that have been fixed, all rows may be one.
*/
static PetscErrorCode AnyBoxFind(AnyBox *B, PetscBool *ok)
{
  PetscBool changed = PETSC_FALSE;

  PetscFunctionBegin;
  for (PetscInt all = 0; all < 2 && !*ok; all++) {
    PetscCall(AnyOneWay(B));
    if (all && !AnyInclude(B)) break;
    PetscCall(PetscFree(B->node));
    PetscCall(PetscMalloc1(B->rest, &B->node));
    *ok = AnyUnlinked(B);
    if (!*ok) PetscCall(AnyAttempt(B, ok));
    if (*ok) break;
    if (B->wide) break;
    PetscCall(AnyBothWays(B, &changed));
    if (changed) PetscCall(AnyAttempt(B, ok));
    if (!*ok) PetscCall(AnyAlike(B, ok));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFindLinks(const BCRLinks *graph, BCRFound *found)
{
  AnyBox B;
  PetscBool ok = PETSC_FALSE;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&B, sizeof(B)));
  B.graph = graph;
  B.place = graph->place;
  B.found = found;
  for (PetscInt r = 0; r < graph->n; r++) B.rest += graph->place[r] == BCR_PLACE_OPEN ? 1 : 0;
  B.out = (PetscBool)(B.rest < graph->n);
  if (!B.rest) {
    AnyRefuse(&B, 0, "no row, nor row 0, has an entry in a column off the diagonal");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  ierr = AnyBoxFind(&B, &ok);
  for (PetscInt d = 0; d < AXES; d++) PetscCall(PetscFree(B.line[d].row));
  PetscCall(AnyOneWay(&B));
  PetscCall(PetscFree(B.node));
  PetscCall(ierr);
  if (!ok) PetscFunctionReturn(PETSC_SUCCESS);
  found->order = BCR_FOUND_ANY;
  found->dof = B.rest / B.size;
  found->dim = B.dim;
  for (PetscInt d = 0; d < 3; d++) {
    found->N[d] = B.N[d];
    found->ring[d] = B.ring[d];
    if (found->reach > 1 && (B.N[d] == 2 || (B.ring[d] && B.N[d] == 3))) found->alike = PETSC_TRUE;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}
