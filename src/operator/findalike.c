/*
  Rows in any order, box stencils with axes of two nodes or rings of three: rows that are linked to the same rows and
  to one another.

  Nodes that differ along such axes only have the same neighbours, themselves with them, and no others have. They are
  a class, all classes have as many, and a row of each, with the links between those, is a grid without these axes:

      a b   c d   e f        (a b) - (c d) - (e f)        3 x 2 nodes of a 9-point stencil are a line of 3 classes

  Which of a class lies where is not to be seen in a pattern. Rows of a class are taken in their order: every entry
  is one between neighbours then. An operator of ours has zeros between the others, and its grid is found without
  them (find.c).
*/
#include "findany.h"

/* The sizes of the axes that a class has, those of 3 nodes rings */
static const struct {
  PetscInt size, axes, N[3];
} alike_axes[] = {
  {2,  1, {2, 1, 1}},
  {3,  1, {3, 1, 1}},
  {4,  2, {2, 2, 1}},
  {6,  2, {2, 3, 1}},
  {9,  2, {3, 3, 1}},
  {8,  3, {2, 2, 2}},
  {12, 3, {2, 2, 3}},
  {18, 3, {2, 3, 3}},
  {27, 3, {3, 3, 3}},
};

static inline PetscBool Open(const BCRLinks *g, PetscInt r)
{
  return (PetscBool)(g->place[r] == BCR_PLACE_OPEN);
}

/* A number made of the rows that r is linked to and of itself: the same in a class, and, but for a chance of 2^-64,
   in no other */
static uint64_t RowKey(const BCRLinks *g, PetscInt r)
{
  uint64_t sum = 0;
  PetscBool self = PETSC_FALSE;

  for (PetscInt k = g->i[r]; k <= g->i[r + 1]; k++) {
    const PetscInt c = k < g->i[r + 1] ? g->j[k] : r;
    uint64_t z = (uint64_t)(c + 1) * UINT64_C(0x9e3779b97f4a7c15);

    if (!Open(g, c) || (c == r && self)) continue;
    if (c == r) self = PETSC_TRUE;
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    sum += z ^ (z >> 31);
  }
  return sum;
}

/* Rows of the class of r, by keys; *first: the first of them, *before: how many of them are before r */
static PetscInt ClassOf(const BCRLinks *g, const uint64_t key[], PetscInt r, PetscInt *first, PetscInt *before)
{
  PetscInt count = 1;

  *first = r;
  *before = 0;
  for (PetscInt k = g->i[r]; k < g->i[r + 1]; k++) {
    const PetscInt c = g->j[k];

    if (c == r || !Open(g, c) || key[c] != key[r]) continue;
    count++;
    *before += c < r ? 1 : 0;
    *first = PetscMin(*first, c);
  }
  return count;
}

/* How many rows each class has, 0: they are not the same number */
static PetscInt ClassSize(const BCRLinks *g, uint64_t key[])
{
  PetscInt size = 0, seed = 0, first, before;

  while (seed < g->n && !Open(g, seed)) seed++;
  if (seed == g->n) return 0;
  for (PetscInt k = g->i[seed]; k < g->i[seed + 1]; k++) key[g->j[k]] = RowKey(g, g->j[k]);
  key[seed] = RowKey(g, seed);
  size = ClassOf(g, key, seed, &first, &before);
  if (size == 1) return 0; /* most often without a look at the others */
  for (PetscInt r = 0; r < g->n; r++) key[r] = RowKey(g, r);
  for (PetscInt r = 0; r < g->n; r++)
    if (Open(g, r) && ClassOf(g, key, r, &first, &before) != size) return 0;
  return size;
}

/* The links between the first rows of all classes, which are numbered in their order: label[] of these, i and j */
static PetscErrorCode ClassLinks(const BCRLinks *g, const uint64_t key[], PetscInt label[], PetscInt i[], PetscInt j[])
{
  PetscInt classes = 0, q = 0, first, before;

  PetscFunctionBegin;
  for (PetscInt r = 0; r < g->n; r++) {
    label[r] = -1;
    if (!Open(g, r)) continue;
    (void)ClassOf(g, key, r, &first, &before);
    if (first == r) label[r] = classes++;
  }
  classes = 0;
  i[0] = 0;
  for (PetscInt r = 0; r < g->n; r++) {
    if (label[r] < 0) continue;
    for (PetscInt k = g->i[r]; k < g->i[r + 1]; k++)
      if (label[g->j[k]] >= 0) j[q++] = label[g->j[k]];
    i[++classes] = q;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Places of all rows: of the class, then along the axes of one. The components, which are interlaced, stay so */
static void ClassPlaces(const BCRLinks *g, const uint64_t key[], const PetscInt label[], const PetscInt of[],
                        PetscInt classes, PetscInt place[])
{
  for (PetscInt r = 0; r < g->n; r++) {
    PetscInt first, before;

    place[r] = g->place[r];
    if (!Open(g, r)) continue;
    (void)ClassOf(g, key, r, &first, &before);
    place[r] = of[label[first]] + classes * before;
  }
}

/* Is every entry one between neighbours? Those of a class all are */
static PetscBool ClassCheck(const BCRLinks *g, const PetscInt place[], PetscInt classes, const BCRFound *inner)
{
  for (PetscInt r = 0; r < g->n; r++)
    for (PetscInt k = g->i[r]; k < g->i[r + 1] && place[r] >= 0; k++) {
      PetscInt a = place[r] % classes, b = place[g->j[k]];

      if (b < 0) continue;
      b %= classes;
      if (a % inner->dof != b % inner->dof) return PETSC_FALSE;
      a /= inner->dof;
      b /= inner->dof;
      for (PetscInt d = 0; d < 3; d++) {
        const PetscInt apart = PetscAbs(a % inner->N[d] - b % inner->N[d]);

        if (apart > 1 && !(inner->ring[d] && apart == inner->N[d] - 1)) return PETSC_FALSE;
        a /= inner->N[d];
        b /= inner->N[d];
      }
    }
  return PETSC_TRUE;
}

/* Four classes in a ring, which BCRFindLinks() takes for a star of 2 x 2, have no room for other axes there: the
   ring is the box stencil that has all links */
static void AlikeRing(BCRFound *inner, PetscInt classes, PetscInt of[])
{
  if (inner->reach > 1 || inner->N[0] != 2 || inner->N[1] != 2 || inner->N[2] != 1) return;
  for (PetscInt c = 0; c < classes; c++) {
    const PetscInt node = of[c] / inner->dof;

    if (node >= 2) of[c] += node == 2 ? inner->dof : -inner->dof;
  }
  inner->dim = 1;
  inner->N[0] = 4;
  inner->N[1] = 1;
  inner->ring[0] = PETSC_TRUE;
}

/* The axes of a class behind those of the classes; PETSC_FALSE: these are too many */
static PetscBool AlikeAxes(PetscInt size, const BCRFound *inner, BCRFound *found)
{
  const PetscInt dim = inner->N[0] * inner->N[1] * inner->N[2] > 1 ? inner->dim : 0;
  size_t t = 0;

  while (t < PETSC_STATIC_ARRAY_LENGTH(alike_axes) && alike_axes[t].size != size) t++;
  if (t == PETSC_STATIC_ARRAY_LENGTH(alike_axes) || dim + alike_axes[t].axes > 3) return PETSC_FALSE;
  found->dof = inner->dof;
  found->dim = dim + alike_axes[t].axes;
  found->reach = (dim ? inner->reach : 0) + alike_axes[t].axes;
  for (PetscInt d = 0; d < 3; d++) {
    found->N[d] = d < dim ? inner->N[d] : alike_axes[t].N[d - dim];
    found->ring[d] = d < dim ? inner->ring[d] : (PetscBool)(found->N[d] == 3);
  }
  return PETSC_TRUE;
}

/* The memory of a search */
typedef struct {
  uint64_t *key;                 /* [n] */
  PetscInt *place, *label;       /* [n] */
  PetscInt classes, *of, *i, *j; /* of: the places of the classes, i and j: their links */
} Alike;

static PetscErrorCode AlikeCreate(const BCRLinks *g, PetscInt rows, Alike *s)
{
  PetscInt size;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(g->n, &s->key));
  size = ClassSize(g, s->key);
  if (!size) PetscFunctionReturn(PETSC_SUCCESS);
  s->classes = rows / size;
  PetscCall(PetscMalloc2(g->n, &s->place, g->n, &s->label));
  PetscCall(PetscMalloc3(s->classes, &s->of, s->classes + 1, &s->i, g->i[g->n] / size + s->classes, &s->j));
  PetscCall(ClassLinks(g, s->key, s->label, s->i, s->j));
  for (PetscInt c = 0; c < s->classes; c++) s->of[c] = BCR_PLACE_OPEN;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AlikeDestroy(Alike *s)
{
  PetscFunctionBegin;
  PetscCall(PetscFree3(s->of, s->i, s->j));
  PetscCall(PetscFree2(s->place, s->label));
  PetscCall(PetscFree(s->key));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRFindAlike(const BCRLinks *g, PetscInt rows, BCRFound *found, PetscBool *ok)
{
  Alike s;
  BCRFound inner;

  PetscFunctionBegin;
  *ok = PETSC_FALSE;
  PetscCall(PetscMemzero(&s, sizeof(s)));
  PetscCall(PetscMemzero(&inner, sizeof(inner)));
  BCRCallElse(AlikeCreate(g, rows, &s), (void)AlikeDestroy(&s));
  if (s.classes) {
    const BCRLinks classes = {s.classes, s.i, s.j, s.of, NULL, NULL};

    BCRCallElse(BCRFindLinks(&classes, &inner), (void)AlikeDestroy(&s));
  }
  if (inner.order == BCR_FOUND_ANY) {
    AlikeRing(&inner, s.classes, s.of);
    if (AlikeAxes(rows / s.classes, &inner, found)) {
      ClassPlaces(g, s.key, s.label, s.of, s.classes, s.place);
      *ok = ClassCheck(g, s.place, s.classes, &inner);
    }
    if (*ok) PetscCall(PetscArraycpy(g->place, s.place, g->n));
  }
  PetscCall(AlikeDestroy(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}
