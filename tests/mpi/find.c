/*
  The grid of a matrix without a DMDA: grids of all kinds in natural order, cut anywhere over the ranks, and in the order
  of DMDAs. What is found must be what the pattern was made of, and every entry must couple neighbours on it; what is no
  grid must be refused on all ranks, with a row and a column that are an entry.

  ranks: 1 2 3 4 5
  quick: 1 3
  quick-args: -cases 60
*/
#include "tests/petsc/testing.h"
#include "src/operator/find.h"

static PetscMPIInt rank, size;

/* The grid that a pattern is made of */
typedef struct {
  PetscInt dof, N[3];
  PetscBool ring[3];
  PetscInt reach; /* axes that an entry spans at most */
  PetscInt width; /* explicit zeros in all components of all nodes so many steps away; 0: none */
  double alone;   /* this part of the nodes couples to no others */
} Grid;

/* Entries of a matrix of n rows, which all ranks know; zero: it is an explicit one */
typedef struct {
  PetscInt n, count, room, *row, *column;
  PetscBool *zero;
} Pattern;

/* Which row an unknown of the pattern is, and the rows of ranks */
typedef struct {
  PetscInt *number, *starts;
} Layout;

static PetscInt Below(PetscInt n)
{
  return (PetscInt)(TestUniform() * (double)n);
}

static PetscErrorCode PatternAdd(Pattern *p, PetscInt row, PetscInt column, PetscBool zero)
{
  PetscFunctionBegin;
  if (p->count == p->room) {
    p->room = 2 * p->room + 64;
    PetscCall(PetscRealloc(sizeof(PetscInt) * (size_t)p->room, &p->row));
    PetscCall(PetscRealloc(sizeof(PetscInt) * (size_t)p->room, &p->column));
    PetscCall(PetscRealloc(sizeof(PetscBool) * (size_t)p->room, &p->zero));
  }
  p->row[p->count] = row;
  p->column[p->count] = column;
  p->zero[p->count++] = zero;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PatternDestroy(Pattern *p)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(p->row));
  PetscCall(PetscFree(p->column));
  PetscCall(PetscFree(p->zero));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The entries of the unknown c at node x */
static PetscErrorCode GridRow(const Grid *g, const PetscInt x[3], PetscInt c, const PetscBool *alone, Pattern *p)
{
  const PetscInt w = PetscMax(1, g->width), *N = g->N, node = x[0] + N[0] * (x[1] + N[1] * x[2]);
  PetscInt d[3];

  PetscFunctionBegin;
  for (d[2] = -w; d[2] <= w; d[2]++) {
    for (d[1] = -w; d[1] <= w; d[1]++) {
      for (d[0] = -w; d[0] <= w; d[0]++) {
        PetscInt y[3], to, span = 0, far = 0;
        PetscBool inside = PETSC_TRUE;

        for (int e = 0; e < 3; e++) {
          y[e] = x[e] + d[e];
          if (g->ring[e]) y[e] = ((y[e] % N[e]) + N[e]) % N[e];
          else if (y[e] < 0 || y[e] >= N[e]) inside = PETSC_FALSE;
          if (d[e]) span++;
          far = PetscMax(far, PetscAbs(d[e]));
        }
        if (!inside) continue;
        to = y[0] + N[0] * (y[1] + N[1] * y[2]);
        for (PetscInt b = 0; b < g->dof; b++) {
          const PetscBool link =
            (PetscBool)(b == c && far <= 1 && span <= g->reach && (to == node || (!alone[node] && !alone[to])));

          if (link || g->width) PetscCall(PatternAdd(p, c + g->dof * node, b + g->dof * to, (PetscBool)!link));
        }
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PatternOfGrid(const Grid *g, Pattern *p)
{
  const PetscInt nodes = g->N[0] * g->N[1] * g->N[2];
  PetscInt x[3];
  PetscBool *alone;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  p->n = g->dof * nodes;
  PetscCall(PetscMalloc1(nodes, &alone));
  for (PetscInt k = 0; k < nodes; k++) alone[k] = (PetscBool)(g->alone > 0 && TestUniform() < g->alone);
  for (x[2] = 0; x[2] < g->N[2]; x[2]++)
    for (x[1] = 0; x[1] < g->N[1]; x[1]++)
      for (x[0] = 0; x[0] < g->N[0]; x[0]++)
        for (PetscInt c = 0; c < g->dof; c++) PetscCall(GridRow(g, x, c, alone, p));
  PetscCall(PetscFree(alone));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without the unknowns of gone[], whose numbers others take over */
static PetscErrorCode PatternRemove(Pattern *p, const PetscBool gone[])
{
  PetscInt *now, n = 0, count = 0;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(p->n, &now));
  for (PetscInt k = 0; k < p->n; k++) now[k] = gone[k] ? -1 : n++;
  for (PetscInt k = 0; k < p->count; k++) {
    if (now[p->row[k]] < 0 || now[p->column[k]] < 0) continue;
    p->row[count] = now[p->row[k]];
    p->column[count] = now[p->column[k]];
    p->zero[count++] = p->zero[k];
  }
  p->n = n;
  p->count = count;
  PetscCall(PetscFree(now));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* q behind p, not coupled to it */
static PetscErrorCode PatternAppend(Pattern *p, const Pattern *q)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < q->count; k++) PetscCall(PatternAdd(p, p->n + q->row[k], p->n + q->column[k], q->zero[k]));
  p->n += q->n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode LayoutDestroy(Layout *l)
{
  PetscFunctionBegin;
  PetscCall(PetscFree2(l->number, l->starts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows as unknowns, cut anywhere: ranks may have none */
static PetscErrorCode LayoutNatural(PetscInt n, Layout *l)
{
  PetscFunctionBegin;
  PetscCall(PetscMalloc2(n, &l->number, size + 1, &l->starts));
  for (PetscInt k = 0; k < n; k++) l->number[k] = k;
  for (PetscMPIInt p = 0; p < size; p++) l->starts[p] = p ? Below(n + 1) : 0;
  l->starts[size] = n;
  PetscCall(PetscSortInt(size + 1, l->starts));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* n nodes cut into parts of at least one */
static PetscErrorCode RandomWidths(PetscInt n, PetscInt parts, PetscInt widths[])
{
  PetscFunctionBegin;
  for (PetscInt p = 0; p < parts; p++) widths[p] = 1;
  for (PetscInt k = parts; k < n; k++) widths[Below(parts)]++;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A process grid that the axes have the nodes for; PETSC_FALSE: none was met */
static PetscBool RandomParts(const Grid *g, PetscInt parts[3])
{
  for (int t = 0; t < 50; t++) {
    parts[0] = 1 + Below(size);
    parts[1] = 1 + Below(size);
    parts[2] = 1 + Below(size);
    if (parts[0] * parts[1] * parts[2] != size) continue;
    if (parts[0] <= g->N[0] && parts[1] <= g->N[1] && parts[2] <= g->N[2]) return PETSC_TRUE;
  }
  return PETSC_FALSE;
}

/* Rows as PETSc numbers those of a DMDA */
static PetscErrorCode LayoutBoxes(const Grid *g, const PetscInt parts[3], Layout *l)
{
  const PetscInt n = g->dof * g->N[0] * g->N[1] * g->N[2];
  PetscInt widths[3][8];
  PetscInt mine, *all;
  DMBoundaryType b[3];
  DM da;
  AO ao;
  Vec v;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    PetscCall(RandomWidths(g->N[d], parts[d], widths[d]));
    b[d] = g->ring[d] ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;
  }
  PetscCall(DMDACreate3d(PETSC_COMM_WORLD, b[0], b[1], b[2], DMDA_STENCIL_BOX, g->N[0], g->N[1], g->N[2], parts[0],
                         parts[1], parts[2], g->dof, 0, widths[0], widths[1], widths[2], &da));
  PetscCall(DMSetUp(da));
  PetscCall(PetscMalloc2(n, &l->number, size + 1, &l->starts));
  for (PetscInt k = 0; k < n; k++) l->number[k] = k;
  PetscCall(DMDAGetAO(da, &ao));
  PetscCall(AOApplicationToPetsc(ao, n, l->number));
  PetscCall(DMCreateGlobalVector(da, &v));
  PetscCall(VecGetLocalSize(v, &mine));
  all = l->starts + 1;
  PetscCallMPI(MPI_Allgather(&mine, 1, MPIU_INT, all, 1, MPIU_INT, PETSC_COMM_WORLD));
  l->starts[0] = 0;
  for (PetscMPIInt p = 0; p < size; p++) l->starts[p + 1] += l->starts[p];
  PetscCall(VecDestroy(&v));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Assemble(const Pattern *p, const Layout *l, Mat *A)
{
  const PetscInt first = l->starts[rank], n = l->starts[rank + 1] - first;
  PetscInt *count, widest = 1;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(n, &count));
  for (PetscInt k = 0; k < p->count; k++) {
    const PetscInt r = l->number[p->row[k]] - first;

    if (r >= 0 && r < n) widest = PetscMax(widest, ++count[r]);
  }
  PetscCall(PetscFree(count));
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, n, n, p->n, p->n));
  PetscCall(MatSetType(*A, Below(2) ? MATAIJ : MATMPIAIJ));
  PetscCall(MatSetFromOptions(*A)); /* -mat_type aijcusparse: scripts/check-gpu */
  PetscCall(MatSeqAIJSetPreallocation(*A, widest, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, widest, NULL, widest, NULL));
  for (PetscInt k = 0; k < p->count; k++) {
    const PetscInt row = l->number[p->row[k]];

    if (row < first || row >= first + n) continue;
    PetscCall(MatSetValue(*A, row, l->number[p->column[k]], p->zero[k] ? 0 : 1, ADD_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Node and component of each row by place, -1: it has none: [n][4] */
static PetscErrorCode PlacedNodes(Mat A, const BCRFound *f, PetscInt n, PetscInt (*at)[4])
{
  PetscInt *place, first, end;
  PetscBool *seen;

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  PetscCall(PetscMalloc2(n, &place, n, &seen));
  for (PetscInt r = 0; r < n; r++) {
    place[r] = r >= first && r < end ? f->place[r - first] : PETSC_MIN_INT;
    seen[r] = PETSC_FALSE;
  }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, place, (PetscMPIInt)n, MPIU_INT, MPI_MAX, PETSC_COMM_WORLD));
  for (PetscInt r = 0; r < n; r++) {
    const PetscInt node = place[r] < 0 ? -1 : place[r] / f->dof;

    if (node >= 0) Check(place[r] < n && !seen[place[r]], "row %d: place %d is taken", (int)r, (int)place[r]);
    if (node >= 0 && place[r] < n) seen[place[r]] = PETSC_TRUE;
    at[r][3] = node < 0 ? -1 : place[r] % f->dof;
    at[r][0] = node % f->N[0];
    at[r][1] = node / f->N[0] % f->N[1];
    at[r][2] = node / f->N[0] / f->N[1];
  }
  PetscCall(PetscFree2(place, seen));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Node and component of each row, as find.h says it: [n][4] */
static PetscErrorCode FoundNodes(const BCRFound *f, PetscInt n, PetscInt (*at)[4])
{
  PetscInt r = 0, q[3], x[3], first[3];

  PetscFunctionBegin;
  for (q[2] = 0, first[2] = 0; q[2] < f->parts[2]; first[2] += f->widths[2] ? f->widths[2][q[2]] : 0, q[2]++) {
    for (q[1] = 0, first[1] = 0; q[1] < f->parts[1]; first[1] += f->widths[1] ? f->widths[1][q[1]] : 0, q[1]++) {
      for (q[0] = 0, first[0] = 0; q[0] < f->parts[0]; first[0] += f->widths[0] ? f->widths[0][q[0]] : 0, q[0]++) {
        PetscInt w[3];

        for (int d = 0; d < 3; d++) w[d] = f->widths[d] ? f->widths[d][q[d]] : f->N[d];
        for (x[2] = 0; x[2] < w[2]; x[2]++) {
          for (x[1] = 0; x[1] < w[1]; x[1]++) {
            for (x[0] = 0; x[0] < w[0]; x[0]++) {
              for (PetscInt c = 0; c < f->dof; c++, r++) {
                if (r >= n) continue;
                at[r][3] = c;
                for (int d = 0; d < 3; d++) at[r][d] = first[d] + x[d];
              }
            }
          }
        }
      }
    }
  }
  Check(r == n, "%d rows of %d have a node", (int)r, (int)n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The entry couples neighbours, or its row to an unknown that is solved by itself */
static PetscBool Neighbours(const BCRFound *f, const PetscInt a[4], const PetscInt b[4])
{
  PetscInt span = 0;

  if (b[3] < 0) return PETSC_TRUE;

  for (int d = 0; d < 3; d++) {
    const PetscInt step = PetscAbs(a[d] - b[d]);

    if (a[3] < 0 || a[d] < 0 || a[d] >= f->N[d] || b[d] < 0 || b[d] >= f->N[d]) return PETSC_FALSE;
    if (step) span++;
    if (step > 1 && !(f->ring[d] && step == f->N[d] - 1)) return PETSC_FALSE;
  }
  return (PetscBool)(span <= f->reach && a[3] == b[3]);
}

/* Every entry of this rank's rows, on the grid that was found */
static PetscErrorCode VerifyEntries(Mat A, const BCRFound *f, const char name[])
{
  PetscInt n, first, end, (*at)[4], wrong = 0;

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &n, NULL));
  PetscCall(PetscMalloc(sizeof(*at) * (size_t)n, &at));
  if (f->order == BCR_FOUND_ANY) PetscCall(PlacedNodes(A, f, n, at));
  else PetscCall(FoundNodes(f, n, at));
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  for (PetscInt r = first; r < end; r++) {
    PetscInt count;
    const PetscInt *columns;
    const PetscScalar *values;

    PetscCall(MatGetRow(A, r, &count, &columns, &values));
    for (PetscInt k = 0; k < count; k++)
      if ((!f->zeros || values[k] != (PetscScalar)0) && columns[k] != r && !Neighbours(f, at[r], at[columns[k]]))
        wrong++;
    PetscCall(MatRestoreRow(A, r, &count, &columns, &values));
  }
  PetscCall(PetscFree(at));
  Check(!wrong, "%s: %d entries are not those of neighbours", name, (int)wrong);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Axes of more than one node; sorted: by size, as the order of axes is free where boxes are one node wide */
static PetscInt Squeeze(const PetscInt N[3], const PetscBool ring[3], PetscBool sorted, PetscInt axes[3])
{
  PetscInt count = 0;

  for (int d = 0; d < 3; d++)
    if (N[d] > 1) axes[count++] = 2 * N[d] + (ring[d] && N[d] > 2);
  if (sorted) (void)PetscSortInt(count, axes);
  for (PetscInt d = count; d < 3; d++) axes[d] = 2;
  return count;
}

static PetscErrorCode Describe(const Grid *g, const PetscInt parts[3], char text[], size_t length)
{
  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(text, length, "%d x (%d%s x %d%s x %d%s), reach %d, zeros %d, alone %g, parts %d %d %d",
                          (int)g->dof, (int)g->N[0], g->ring[0] ? "r" : "", (int)g->N[1], g->ring[1] ? "r" : "",
                          (int)g->N[2], g->ring[2] ? "r" : "", (int)g->reach, (int)g->width, g->alone, (int)parts[0],
                          (int)parts[1], (int)parts[2]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One grid in natural order (parts[0] == 0) or in that of a DMDA; exact: its sizes must come out */
static PetscErrorCode GridCase(const Grid *g, const PetscInt parts[3], PetscBool exact)
{
  Pattern p;
  Layout l;
  Mat A;
  BCRFound f;
  char name[256];
  PetscInt want[3], got[3], axes;

  PetscFunctionBegin;
  PetscCall(Describe(g, parts, name, sizeof(name)));
  PetscCall(PatternOfGrid(g, &p));
  if (parts[0]) PetscCall(LayoutBoxes(g, parts, &l));
  else PetscCall(LayoutNatural(p.n, &l));
  PetscCall(Assemble(&p, &l, &A));
  PetscCall(BCRGridFind(A, &f));
  Check(f.order == BCR_FOUND_NATURAL || (parts[0] && f.order == BCR_FOUND_BOXES) || (!exact && f.order),
        "%s: order %d: %s", name, (int)f.order, f.why);
  if (f.order) {
    PetscCall(VerifyEntries(A, &f, name));
    axes = Squeeze(g->N, g->ring, (PetscBool)(parts[0] > 0), want);
    (void)Squeeze(f.N, f.ring, (PetscBool)(parts[0] > 0), got);
    if (exact)
      Check(f.dof == g->dof && want[0] == got[0] && want[1] == got[1] && want[2] == got[2],
            "%s: found %d x (%d%s x %d%s x %d%s), reach %d", name, (int)f.dof, (int)f.N[0], f.ring[0] ? "r" : "",
            (int)f.N[1], f.ring[1] ? "r" : "", (int)f.N[2], f.ring[2] ? "r" : "", (int)f.reach);
    if (exact) Check(f.reach == PetscMax(1, PetscMin(axes, g->reach)), "%s: reach %d", name, (int)f.reach);
  }
  PetscCall(BCRFoundDestroy(&f));
  PetscCall(MatDestroy(&A));
  PetscCall(LayoutDestroy(&l));
  PetscCall(PatternDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The pattern is that of another grid, too: six nodes with all entries are 2 x 3 in either order; a node's components are
   a line of nodes that are not coupled */
static PetscBool Alike(const Grid *g)
{
  PetscBool two = PETSC_FALSE, three = PETSC_FALSE;

  for (int d = 0; d < 3; d++) {
    two = (PetscBool)(two || g->N[d] == 2);
    three = (PetscBool)(three || (g->N[d] == 3 && g->ring[d]));
  }
  return (PetscBool)((g->reach > 1 && two && three) || g->N[0] * g->N[1] * g->N[2] == 1);
}

static PetscErrorCode GridCases(PetscInt cases)
{
  static const PetscInt sizes[] = {1, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 13};

  PetscFunctionBegin;
  for (PetscInt k = 0; k < cases; k++) {
    PetscInt parts[3] = {0, 1, 1};
    Grid g = {.dof = Below(3) ? 1 : 1 + Below(3), .reach = Below(2) ? 1 : 1 + Below(3)};

    for (int d = 0; d < 3; d++) {
      g.N[d] = sizes[Below((PetscInt)PETSC_STATIC_ARRAY_LENGTH(sizes))];
      g.ring[d] = (PetscBool)(Below(3) == 0);
    }
    if (k % 5 == 1) g.width = 1 + Below(2);
    if (k % 5 == 2) g.alone = 0.1;
    if (k % 2 && !RandomParts(&g, parts)) parts[0] = 0;
    PetscCall(GridCase(&g, parts, (PetscBool)(g.alone == 0 && !Alike(&g))));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Equal grids one after the other: components that are not interlaced */
static PetscErrorCode StackCases(void)
{
  const PetscBool no = PETSC_FALSE, yes = PETSC_TRUE;
  const Grid grids[] = {
    {1, {7, 6, 1},   {no, no, no},   1, 0, 0  },
    {2, {7, 6, 1},   {no, no, no},   1, 0, 0  },
    {1, {5, 7, 1},   {yes, yes, no}, 1, 0, 0  },
    {1, {6, 5, 1},   {no, yes, no},  2, 0, 0  },
    {1, {19, 1, 1},  {no, no, no},   1, 0, 0  },
    {3, {19, 1, 1},  {yes, no, no},  1, 0, 0  },
    {1, {9, 8, 1},   {yes, no, no},  1, 2, 0  },
    {1, {11, 10, 1}, {yes, no, no},  1, 0, 0.1},
  };

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(grids); k++) {
    const Grid *g = &grids[k];
    const PetscBool many = (PetscBool)(k >= 9); /* and not few rows */
    const PetscInt copies = many ? 9 : 2 + (PetscInt)k % 3, last = g->N[1] > 1 ? 2 : 1;
    const PetscInt *N = g->N;
    Pattern p, q;
    Layout l;
    Mat A;
    BCRFound f;
    char name[64];

    PetscCall(PatternOfGrid(g, &p));
    PetscCall(PatternOfGrid(g, &q));
    for (PetscInt c = 1; c < copies; c++) PetscCall(PatternAppend(&p, &q));
    PetscCall(LayoutNatural(p.n, &l));
    PetscCall(Assemble(&p, &l, &A));
    PetscCall(BCRGridFind(A, &f));
    PetscCall(PetscSNPrintf(name, sizeof(name), "stack %d", (int)k));
    Check(f.order == (many ? BCR_FOUND_NATURAL : BCR_FOUND_ANY), "%s: order %d: %s", name, (int)f.order, f.why);
    if (f.order) {
      PetscCall(VerifyEntries(A, &f, name));
      Check(f.dof == g->dof * (many ? 1 : copies) && f.N[0] == N[0], "%s: found %d x (%d x ...)", name, (int)f.dof,
            (int)f.N[0]);
      Check(last == 1 || f.N[1] == N[1], "%s: found ... x %d", name, (int)f.N[1]);
      Check(f.N[last] == (many ? copies : N[last]) && !(many && f.ring[last]), "%s: axis %d has %d nodes", name,
            (int)last, (int)f.N[last]);
    }
    PetscCall(BCRFoundDestroy(&f));
    PetscCall(MatDestroy(&A));
    PetscCall(LayoutDestroy(&l));
    PetscCall(PatternDestroy(&p));
    PetscCall(PatternDestroy(&q));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  LINK,    /* one link too many */
  MISSING, /* a node less */
  CORNER,  /* an L: a corner less */
  TWO,     /* two grids of other sizes in one matrix */
  WILD,    /* random entries */
  BADS
} Bad;
static const char *const bads[] = {"one link too many", "a node missing", "an L", "two grids", "random entries"};

static PetscErrorCode PatternSpoil(Bad bad, const Grid *g, Pattern *p)
{
  const PetscInt nx = g->N[0], ny = g->N[1];
  PetscBool *gone;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(p->n, &gone));
  if (bad == LINK) {
    const PetscInt from = g->dof * nx + Below(p->n - 4 * g->dof * nx);

    PetscCall(PatternAdd(p, from, from + g->dof * (2 * nx + 3), PETSC_FALSE));
  } else if (bad == MISSING) {
    for (PetscInt c = 0, node = nx * ny / 2 + 1; c < g->dof; c++) gone[c + g->dof * node] = PETSC_TRUE;
    PetscCall(PatternRemove(p, gone));
  } else if (bad == CORNER) {
    for (PetscInt k = 0; k < p->n; k++)
      gone[k] = (PetscBool)(k / g->dof % nx > nx / 2 && k / g->dof / nx % ny > ny / 2);
    PetscCall(PatternRemove(p, gone));
  } else if (bad == TWO) {
    Grid other = *g;
    Pattern q;

    other.N[0] += 2;
    other.N[1] += 1;
    PetscCall(PatternOfGrid(&other, &q));
    PetscCall(PatternAppend(p, &q));
    PetscCall(PatternDestroy(&q));
  } else {
    p->count = 0;
    for (PetscInt k = 0; k < 5 * p->n; k++) PetscCall(PatternAdd(p, k / 5, k % 5 ? Below(p->n) : k / 5, PETSC_FALSE));
  }
  PetscCall(PetscFree(gone));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The reason is the same on all ranks, and what it says of a row and a column is an entry of the matrix */
static PetscErrorCode CheckWhy(Mat A, const BCRFound *f, const char name[])
{
  char first[sizeof(f->why)];
  const char *at = strstr(f->why, "row ");
  int row, column;
  PetscInt begin, end;

  PetscFunctionBegin;
  PetscCall(PetscArraycpy(first, f->why, sizeof(first)));
  PetscCallMPI(MPI_Bcast(first, sizeof(first), MPI_CHAR, 0, PETSC_COMM_WORLD));
  Check(!strcmp(first, f->why), "%s: other reasons on other ranks: %s", name, f->why);
  Check(at, "%s: no row in '%s'", name, f->why);
  if (!at || sscanf(at, "row %d couples to column %d", &row, &column) != 2) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(MatGetOwnershipRange(A, &begin, &end));
  if (row >= begin && row < end) {
    PetscInt count, seen = 0;
    const PetscInt *columns;

    PetscCall(MatGetRow(A, row, &count, &columns, NULL));
    for (PetscInt k = 0; k < count; k++) seen += columns[k] == column;
    PetscCall(MatRestoreRow(A, row, &count, &columns, NULL));
    Check(seen == 1, "%s: row %d has no column %d: %s", name, row, column, f->why);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BadCase(Bad bad, const Grid *g, const PetscInt parts[3])
{
  Pattern p;
  Layout l;
  Mat A;
  BCRFound f;
  char name[256], grid[200];

  PetscFunctionBegin;
  PetscCall(Describe(g, parts, grid, sizeof(grid)));
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s: %s", bads[bad], grid));
  PetscCall(PatternOfGrid(g, &p));
  PetscCall(PatternSpoil(bad, g, &p));
  if (parts[0]) PetscCall(LayoutBoxes(g, parts, &l));
  else PetscCall(LayoutNatural(p.n, &l));
  PetscCall(Assemble(&p, &l, &A));
  PetscCall(BCRGridFind(A, &f));
  Check(f.order == BCR_FOUND_NONE, "%s: found %d x (%d x %d x %d), order %d, reach %d", name, (int)f.dof, (int)f.N[0],
        (int)f.N[1], (int)f.N[2], (int)f.order, (int)f.reach);
  if (!f.order) PetscCall(CheckWhy(A, &f, name));
  PetscCall(BCRFoundDestroy(&f));
  PetscCall(MatDestroy(&A));
  PetscCall(LayoutDestroy(&l));
  PetscCall(PatternDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BadCases(void)
{
  const PetscInt natural[3] = {0, 1, 1};

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 20; k++) {
    PetscInt parts[3];
    Grid g = {
      .dof = 1 + (k % 4 == 3),
      .N = {7 + Below(5), 8 + Below(5), k % 2 ? 1 : 5 + Below(3)},
      .reach = k % 3 == 2 ? 2 : 1
    };

    for (int d = 0; d < 2; d++) g.ring[d] = (PetscBool)(Below(4) == 0);
    for (int bad = 0; bad < BADS; bad++) PetscCall(BadCase((Bad)bad, &g, natural));
    if (RandomParts(&g, parts)) {
      PetscCall(BadCase(LINK, &g, parts));
      PetscCall(BadCase(WILD, &g, parts));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt cases = 300;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cases", &cases, NULL));
  PetscCall(TestSeed());
  PetscCall(GridCases(cases));
  PetscCall(StackCases());
  PetscCall(BadCases());
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &TestFailed, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscFinalize());
  if (!rank) return TestEnd();
  return TestFailed > 0;
}
