/*
  The grid of a matrix whose rows are in any order: random, Cuthill-McKee, natural; over ranks, too. What is found is
  compared with the matrix: the rows that have nodes are those of the grid, one each, and every entry between two of
  them is one between neighbours. What is no grid must be refused on all ranks, with a row and a column.

  ranks: 1 2 3
  quick: 1 3
  quick-args: -cases 60

      -cases N    random cases; -seed S: others; -verbose: each case, and what is said of it
*/
#include "tests/petsc/testing.h"
#include "tests/faults.h"
#include "src/operator/findany.h"

static PetscMPIInt rank, size;
static PetscBool verbose;

typedef enum {
  WALLS_NONE,
  WALLS_KEPT,  /* rows of ends hold a diagonal alone, and others refer to them */
  WALLS_ZEROS, /* the same, with explicit zeros in the pattern of other rows */
  WALLS_GONE   /* the same, and no other row refers to them */
} Walls;

/* What a matrix is made of */
typedef struct {
  PetscInt N[3];
  PetscBool ring[3];
  PetscInt reach, dof;
  PetscBool apart;  /* components one after the other, else side by side */
  Walls walls;      /* at all ends that are no rings, beside the nodes of N */
  double oneway;    /* this part of the links is that of one row alone */
  double empty;     /* empty rows beside those of the grid, for each of these */
  PetscInt remove;  /* a node that is not there; -1: all are */
  PetscInt link[2]; /* nodes with an entry more, -1: none */
  PetscInt zeros;   /* explicit zeros in each row, anywhere */
  PetscBool other;  /* another grid, of N[0] + 1 nodes along the first axis, in the same matrix */
} Case;

typedef enum {
  ORDER_NATURAL,
  ORDER_RANDOM,
  ORDER_NODES,
  ORDER_RCM
} Order;
static const char *const orders[] = {"natural", "random", "random by nodes", "rcm"};

typedef struct {
  PetscInt n, count, room, *row, *column;
  PetscScalar *value;
  PetscInt nodes, alone, empty; /* rows that are nodes; that have a diagonal alone, or nothing */
} Entries;

static PetscInt Below(PetscInt n)
{
  return (PetscInt)(TestUniform() * (double)n);
}

static PetscErrorCode Add(Entries *e, PetscInt row, PetscInt column, PetscScalar value)
{
  PetscFunctionBegin;
  if (e->count == e->room) {
    e->room = 2 * e->room + 1000;
    PetscCall(PetscRealloc(sizeof(PetscInt) * (size_t)e->room, &e->row));
    PetscCall(PetscRealloc(sizeof(PetscInt) * (size_t)e->room, &e->column));
    PetscCall(PetscRealloc(sizeof(PetscScalar) * (size_t)e->room, &e->value));
  }
  e->row[e->count] = row;
  e->column[e->count] = column;
  e->value[e->count++] = value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode EntriesDestroy(Entries *e)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(e->row));
  PetscCall(PetscFree(e->column));
  PetscCall(PetscFree(e->value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows base and on: the grid of c with its walls; oneway and walls as in c */
static PetscErrorCode AddGrid(const Case *c, const PetscInt N[3], Entries *e)
{
  PetscInt full[3], off[3], nodes = 1, base = e->n, x[3], d[3];

  PetscFunctionBegin;
  for (int a = 0; a < 3; a++) {
    off[a] = c->walls && N[a] > 1 && !c->ring[a] ? 1 : 0;
    full[a] = N[a] + 2 * off[a];
    nodes *= full[a];
  }
  e->n += nodes * c->dof;
  for (x[2] = 0; x[2] < full[2]; x[2]++)
    for (x[1] = 0; x[1] < full[1]; x[1]++)
      for (x[0] = 0; x[0] < full[0]; x[0]++) {
        const PetscInt node = x[0] + full[0] * (x[1] + full[1] * x[2]);
        PetscBool wall = PETSC_FALSE;

        for (int a = 0; a < 3; a++) wall = (PetscBool)(wall || (off[a] && (x[a] == 0 || x[a] == full[a] - 1)));
        for (PetscInt b = 0; b < c->dof; b++) {
          const PetscInt row = base + (c->apart ? node + nodes * b : b + c->dof * node);

          PetscCall(Add(e, row, row, 4));
          if (wall) e->alone++;
          else e->nodes++;
          for (d[2] = -1; d[2] <= 1; d[2]++)
            for (d[1] = -1; d[1] <= 1; d[1]++)
              for (d[0] = -1; d[0] <= 1; d[0]++) {
                PetscInt y[3], span = 0, to, column;
                PetscBool in = PETSC_TRUE, side = PETSC_FALSE;

                for (int a = 0; a < 3; a++) {
                  span += d[a] ? 1 : 0;
                  y[a] = x[a] + d[a];
                  if (c->ring[a]) y[a] = (y[a] + full[a]) % full[a];
                  in = (PetscBool)(in && y[a] >= 0 && y[a] < full[a] && (!d[a] || full[a] > 1));
                  side = (PetscBool)(side || (off[a] && (y[a] == 0 || y[a] == full[a] - 1)));
                }
                if (!in || !span || span > c->reach) continue;
                to = y[0] + full[0] * (y[1] + full[1] * y[2]);
                column = base + (c->apart ? to + nodes * b : b + c->dof * to);
                if (wall || (side && c->walls == WALLS_GONE)) {
                  if (c->walls == WALLS_ZEROS) PetscCall(Add(e, row, column, 0));
                  continue;
                }
                /* the larger node decides for both */
                if (!side && c->oneway > 0) {
                  const double u =
                    fmod(.6180339887 * (double)(row + column) + .7548776662 * (double)(row * column % 9973), 1);

                  if (u < c->oneway && (u < c->oneway / 2) == (row < column)) continue;
                }
                PetscCall(Add(e, row, column, -1));
              }
        }
      }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Without row gone, whose number the last one takes */
static void RemoveRow(Entries *e, PetscInt gone)
{
  PetscInt count = 0;

  e->n--;
  e->nodes--;
  for (PetscInt k = 0; k < e->count; k++) {
    if (e->row[k] == gone || e->column[k] == gone) continue;
    e->row[count] = e->row[k] == e->n ? gone : e->row[k];
    e->column[count] = e->column[k] == e->n ? gone : e->column[k];
    e->value[count++] = e->value[k];
  }
  e->count = count;
}

/* Rows that are to be nodes, and hold a diagonal alone: there are such if links are those of one row */
static PetscErrorCode Bare(const Entries *e, PetscInt *bare)
{
  PetscBool *linked;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(e->n, &linked));
  for (PetscInt k = 0; k < e->count; k++)
    if (e->value[k] != (PetscScalar)0 && e->row[k] != e->column[k]) linked[e->row[k]] = PETSC_TRUE;
  *bare = e->nodes;
  for (PetscInt r = 0; r < e->n; r++) *bare -= linked[r] ? 1 : 0;
  PetscCall(PetscFree(linked));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode CaseEntries(const Case *c, Entries *e)
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(e, sizeof(*e)));
  PetscCall(AddGrid(c, c->N, e));
  if (c->remove >= 0) RemoveRow(e, c->remove);
  if (c->link[0] >= 0) {
    PetscCall(Add(e, c->link[0], c->link[1], -1));
    PetscCall(Add(e, c->link[1], c->link[0], -1));
  }
  if (c->other) {
    const PetscInt N[3] = {c->N[0] + 1, c->N[1], c->N[2]};

    PetscCall(AddGrid(c, N, e));
  }
  e->empty = (PetscInt)(c->empty * (double)e->n);
  e->n += e->empty;
  for (PetscInt k = 0; k < c->zeros * e->nodes; k++) PetscCall(Add(e, Below(e->n), Below(e->n), 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* number[u]: the row of unknown u */
static PetscErrorCode Numbers(const Case *c, const Entries *e, Order order, PetscInt number[])
{
  const PetscInt dof = order == ORDER_NODES ? c->dof : 1, nodes = e->n / dof;

  PetscFunctionBegin;
  for (PetscInt u = 0; u < e->n; u++) number[u] = u;
  if (order == ORDER_RANDOM || (order == ORDER_NODES && e->n % dof == 0))
    for (PetscInt k = nodes - 1; k > 0; k--) {
      const PetscInt l = Below(k + 1);

      for (PetscInt b = 0; b < dof; b++) {
        const PetscInt a = c->apart ? k + nodes * b : b + dof * k, z = c->apart ? l + nodes * b : b + dof * l,
                       spare = number[a];

        number[a] = number[z];
        number[z] = spare;
      }
    }
  if (order == ORDER_RCM) {
    const PetscInt *rows;
    Mat A;
    IS row, column;

    PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, e->n, e->n, 64, NULL, &A));
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
    for (PetscInt k = 0; k < e->count; k++) {
      PetscCall(MatSetValue(A, e->row[k], e->column[k], 1, INSERT_VALUES));
      PetscCall(MatSetValue(A, e->column[k], e->row[k], 1, INSERT_VALUES));
    }
    for (PetscInt u = 0; u < e->n; u++) PetscCall(MatSetValue(A, u, u, 1, INSERT_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatGetOrdering(A, MATORDERINGRCM, &row, &column));
    PetscCall(ISGetIndices(row, &rows));
    for (PetscInt r = 0; r < e->n; r++) number[rows[r]] = r;
    PetscCall(ISRestoreIndices(row, &rows));
    PetscCall(TestDestroy(&row, &column, &A));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Assemble(const Entries *e, const PetscInt number[], Mat *A)
{
  PetscInt first, end;

  PetscFunctionBegin;
  PetscCall(MatCreate(PETSC_COMM_WORLD, A));
  PetscCall(MatSetSizes(*A, PETSC_DECIDE, PETSC_DECIDE, e->n, e->n));
  PetscCall(MatSetType(*A, MATAIJ));
  PetscCall(MatSeqAIJSetPreallocation(*A, 64, NULL));
  PetscCall(MatMPIAIJSetPreallocation(*A, 64, NULL, 64, NULL));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(*A, &first, &end));
  for (PetscInt k = 0; k < e->count; k++) {
    const PetscInt r = number[e->row[k]];

    if (r >= first && r < end) PetscCall(MatSetValue(*A, r, number[e->column[k]], e->value[k], ADD_VALUES));
  }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* As BCRGridFind() calls it */
static PetscErrorCode FindAny(Mat P, PetscBool dropzeros, PetscBool gather, BCRFound *found)
{
  BCRFindRows R;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(found, sizeof(*found)));
  PetscCall(BCRFindRowsOpen(P, &R));
  PetscCall(BCRFindRowsDropZeros(&R, dropzeros));
  if (gather) PetscCall(BCRFindAny(&R, found));
  else PetscCall(BCRFindAnyUpTo(0, &R, found));
  PetscCall(BCRFindRowsClose(&R));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is a grid must not be refused by rows here and there */
static PetscErrorCode VerifySample(Mat P, PetscBool dropzeros, const char name[])
{
  BCRFound found;
  BCRFindRows R;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&found, sizeof(found)));
  PetscCall(BCRFindRowsOpen(P, &R));
  PetscCall(BCRFindRowsDropZeros(&R, dropzeros));
  PetscCall(BCRFindSample(&R, &found));
  PetscCall(BCRFindRowsClose(&R));
  Check(!found.why[0], "%s: a sample of its rows is refused: %s", name, found.why);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The places of all rows, on every rank */
static PetscErrorCode Gather(Mat A, const PetscInt place[], PetscInt all[])
{
  const PetscInt *starts;
  PetscMPIInt counts[8], first[8];

  PetscFunctionBegin;
  PetscCall(MatGetOwnershipRanges(A, &starts));
  for (PetscMPIInt p = 0; p < size; p++) {
    counts[p] = (PetscMPIInt)(starts[p + 1] - starts[p]);
    first[p] = (PetscMPIInt)starts[p];
  }
  PetscCallMPI(MPI_Allgatherv(place, counts[rank], MPIU_INT, all, counts, first, MPIU_INT, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How many entries of this rank are not those of neighbours, and rows without a node those of nodes */
static PetscErrorCode WrongEntries(Mat A, PetscBool dropzeros, const BCRFound *f, const PetscInt place[],
                                   PetscInt *wrong)
{
  PetscInt first, end, n, reach = 0;
  const PetscInt *columns;
  const PetscScalar *values;

  PetscFunctionBegin;
  *wrong = 0;
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  for (PetscInt r = first; r < end; r++) {
    PetscCall(MatGetRow(A, r, &n, &columns, &values));
    for (PetscInt k = 0; k < n; k++) {
      PetscInt a = place[r], b = place[columns[k]], span = 0;

      if (a < 0) { /* nothing but a diagonal, or not even this */
        if (values[k] != (PetscScalar)0 && (columns[k] != r || a == BCR_PLACE_EMPTY)) ++*wrong;
        continue;
      }
      if (b == BCR_PLACE_EMPTY && values[k] != (PetscScalar)0) ++*wrong;
      if (b < 0 || (dropzeros && values[k] == (PetscScalar)0)) continue;
      if (a % f->dof != b % f->dof) ++*wrong;
      a /= f->dof;
      b /= f->dof;
      for (int d = 0; d < 3; d++) {
        const PetscInt step = PetscAbs(a % f->N[d] - b % f->N[d]);

        if (step > 1 && !(f->ring[d] && step == f->N[d] - 1)) ++*wrong;
        if (step) span++;
        a /= f->N[d];
        b /= f->N[d];
      }
      reach = PetscMax(reach, span);
    }
    PetscCall(MatRestoreRow(A, r, &n, &columns, &values));
  }
  if (reach > f->reach) ++*wrong;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sizes of more than one node, sorted, a ring of four as two axes of two */
static void Sizes(const PetscInt N[3], const PetscBool ring[3], PetscInt axes[6])
{
  PetscInt count = 0;

  for (int d = 0; d < 6; d++) axes[d] = 0;
  for (int d = 0; d < 3; d++) {
    if (ring[d] && N[d] == 4) {
      axes[count++] = 4;
      axes[count++] = 4;
    } else if (N[d] > 1) axes[count++] = 2 * N[d] + (ring[d] && N[d] > 2 ? 1 : 0);
  }
  (void)PetscSortInt(6, axes);
}

static PetscErrorCode Verify(const Case *c, const Entries *e, Mat A, PetscBool dropzeros, const BCRFound *f,
                             const char name[])
{
  PetscInt *all, *seen, wrong, rows = 0, alone = 0, empty = 0, axes = 0, want[6], got[6];
  const PetscInt nodes = f->dof * f->N[0] * f->N[1] * f->N[2];
  PetscBool same = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(e->n, &all, nodes + 1, &seen));
  PetscCall(Gather(A, f->place, all));
  for (PetscInt k = 0; k < nodes; k++) seen[k] = 0;
  for (PetscInt r = 0; r < e->n; r++) {
    if (all[r] >= 0 && all[r] < nodes) seen[all[r]]++, rows++;
    else if (all[r] == BCR_PLACE_ALONE) alone++;
    else if (all[r] == BCR_PLACE_EMPTY) empty++;
  }
  for (PetscInt k = 0; k < nodes; k++)
    if (seen[k] != 1) rows = -1;
  Check(rows == nodes && rows + alone + empty == e->n, "%s: %d rows have %d nodes", name, (int)rows, (int)nodes);
  Check(alone == f->alone && empty == f->empty, "%s: alone %d, empty %d, told %d, %d", name, (int)alone, (int)empty,
        (int)f->alone, (int)f->empty);
  PetscCall(WrongEntries(A, dropzeros, f, all, &wrong));
  Check(!wrong, "%s: %d entries are not those of neighbours", name, (int)wrong);
  if (c) {
    Check(rows == e->nodes && alone == e->alone && empty == e->empty,
          "%s: nodes %d, alone %d, empty %d; made of %d, %d, %d", name, (int)rows, (int)alone, (int)empty,
          (int)e->nodes, (int)e->alone, (int)e->empty);
    Sizes(c->N, c->ring, want);
    Sizes(f->N, f->ring, got);
    for (int d = 0; d < 6; d++) same = (PetscBool)(same && want[d] == got[d]);
    for (int d = 0; d < 3; d++) axes += c->N[d] > 1 ? 1 : 0;
    Check(f->reach == PetscMax(1, PetscMin(axes, c->reach)), "%s: reach %d", name, (int)f->reach);
    Check(same && (f->dof == c->dof || want[5] == 0), "%s: found %d x %d x %d, dof %d", name, (int)f->N[0],
          (int)f->N[1], (int)f->N[2], (int)f->dof);
  }
  PetscCall(PetscFree2(all, seen));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* It is refused with the same words everywhere, which name a row */
static PetscErrorCode VerifyWhy(const BCRFound *f, const char name[])
{
  char first[256];
  int differ;

  PetscFunctionBegin;
  PetscCall(PetscStrncpy(first, f->why, sizeof(first)));
  PetscCallMPI(MPI_Bcast(first, 256, MPI_CHAR, 0, PETSC_COMM_WORLD));
  differ = strcmp(first, f->why) != 0;
  Check(!differ && !f->place && strstr(f->why, "row ") && strstr(f->why, "column"), "%s: refused with \"%s\"", name,
        f->why);
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  GRID,
  NO_GRID,
  EITHER
} Expect;

/* gather: as BCRGridFind() does with matrices of this size; else by distances */
static PetscErrorCode TryOnce(const Case *c, const Entries *e, Mat A, PetscBool gather, PetscBool dropzeros,
                              Expect expect, const char name[])
{
  BCRFound found;

  PetscFunctionBegin;
  PetscCall(FindAny(A, dropzeros, gather, &found));
  if (verbose)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s: %d x %d x %d x %d %s\n", name, (int)found.dof, (int)found.N[0],
                          (int)found.N[1], (int)found.N[2], found.why));
  if (expect != EITHER)
    Check((found.order == BCR_FOUND_ANY) == (expect == GRID), "%s: %s%s", name,
          found.order ? "found" : "refused: ", found.why);
  if (found.order || expect == GRID) PetscCall(VerifySample(A, dropzeros, name));
  if (found.order) PetscCall(Verify(expect == GRID ? c : NULL, e, A, dropzeros, &found, name));
  else PetscCall(VerifyWhy(&found, name));
  PetscCall(BCRFoundDestroy(&found));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCBCRPOISSON ends with an error on all ranks, which says what to do */
static PetscErrorCode Refused(Mat A)
{
  Vec b, x;
  KSP ksp;
  PC pc;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecSet(b, 1));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCBCRPOISSON));
  CheckError(KSPSolve(ksp, b, x), PETSC_ERR_ARG_WRONG, "-pc_bcrpoisson_grid nx,ny,nz");
  PetscCall(TestDestroy(&ksp, &b, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Try(const Case *c, const Entries *e, Order order, PetscBool dropzeros, Expect expect,
                          const char name[])
{
  char text[256];
  PetscInt *number;
  PetscBool scattered = (PetscBool)(order == ORDER_RANDOM || order == ORDER_NODES);
  Mat A;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(e->n, &number));
  PetscCall(Numbers(c, e, order, number));
  PetscCall(Assemble(e, number, &A));
  PetscCall(PetscSNPrintf(
    text, sizeof(text),
    "%s (%d x %d x %d, rings %d%d%d, reach %d, dof %d%s, walls %d, one way %g, empty %g, zeros %d), %s", name,
    (int)c->N[0], (int)c->N[1], (int)c->N[2], c->ring[0], c->ring[1], c->ring[2], (int)c->reach, (int)c->dof,
    c->apart ? " apart" : "", (int)c->walls, c->oneway, c->empty, (int)c->zeros, orders[order]));
  PetscCall(TryOnce(c, e, A, PETSC_TRUE, dropzeros, expect, text));
  if (expect == NO_GRID && order == ORDER_RANDOM) PetscCall(Refused(A));
  /* by distances rings, components, links of one row and diagonals are not promised: one in ten of these */
  for (int d = 0; d < 3; d++)
    if (c->ring[d] && expect == GRID) expect = EITHER;
  if ((c->reach > 1 || c->dof > 1 || c->oneway > 0) && expect == GRID) expect = EITHER;
  if (size > 1 && e->n < (scattered ? 600 : 2000) && (expect != EITHER || !Below(10))) {
    PetscCall(PetscStrlcat(text, ", by distances", sizeof(text)));
    PetscCall(TryOnce(c, e, A, PETSC_FALSE, dropzeros, expect, text));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(number));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TryAll(const Case *c, Expect expect, const char name[])
{
  PetscInt bare;
  Entries e;

  PetscFunctionBegin;
  PetscCall(CaseEntries(c, &e));
  PetscCall(Bare(&e, &bare));
  if (bare) expect = EITHER;
  for (Order order = ORDER_NATURAL; order <= ORDER_RCM; order++)
    PetscCall(Try(c, &e, order, (PetscBool)(c->zeros > 0), expect, name));
  PetscCall(EntriesDestroy(&e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#define PLAIN .reach = 1, .dof = 1, .remove = -1, .link = {-1, -1}

/* Are there nodes with the same neighbours? */
static PetscBool Alike(const Case *c)
{
  for (int d = 0; d < 3; d++)
    if (c->reach > 1 && (c->N[d] == 2 || (c->N[d] == 3 && c->ring[d]))) return PETSC_TRUE;
  return PETSC_FALSE;
}

/* Sizes and rings of all kinds, stars and boxes */
static PetscErrorCode Kinds(void)
{
  static const struct {
    PetscInt N[3];
    PetscBool ring[3];
  } kinds[] = {
    {{9, 7, 5},  {0, 0, 0}},
    {{9, 7, 5},  {1, 0, 0}},
    {{9, 7, 5},  {1, 1, 1}},
    {{8, 8, 1},  {0, 0, 0}},
    {{40, 1, 1}, {0, 0, 0}},
    {{40, 1, 1}, {1, 0, 0}},
    {{2, 30, 1}, {0, 0, 0}},
    {{1, 30, 7}, {0, 0, 0}},
    {{2, 2, 20}, {0, 0, 0}},
    {{3, 11, 1}, {1, 1, 0}},
    {{4, 11, 1}, {1, 0, 0}},
    {{4, 4, 1},  {1, 1, 0}},
    {{4, 5, 6},  {1, 1, 1}},
    {{3, 3, 3},  {1, 1, 1}},
    {{6, 6, 6},  {0, 1, 0}},
    {{2, 9, 1},  {1, 0, 0}},
    {{5, 2, 4},  {0, 0, 1}},
    {{2, 1, 1},  {0, 0, 0}},
    {{3, 1, 1},  {0, 0, 0}},
    {{3, 1, 1},  {1, 0, 0}},
    {{2, 2, 2},  {0, 0, 0}},
    {{3, 3, 3},  {0, 0, 0}},
    {{4, 4, 4},  {1, 1, 1}},
    {{1, 4, 3},  {0, 0, 1}},
    {{5, 5, 5},  {1, 1, 1}},
    {{3, 4, 5},  {0, 0, 0}},
    {{1, 1, 1},  {0, 0, 0}},
    {{12, 3, 1}, {0, 0, 0}},
  };

  PetscFunctionBegin;
  for (size_t k = 0; k<PETSC_STATIC_ARRAY_LENGTH(kinds); k += size> 1 ? 3 : 1) /* gathered, they are the same */
    for (PetscInt reach = 1; reach <= 3; reach++) {
      Case c = {PLAIN};
      Expect expect = GRID;
      int axes = 0;

      for (int d = 0; d < 3; d++) {
        c.N[d] = kinds[k].N[d];
        c.ring[d] = (PetscBool)(kinds[k].ring[d] && c.N[d] > 1);
        axes += c.N[d] > 1 ? 1 : 0;
      }
      if (axes < reach && reach > 1) continue;
      c.reach = reach;
      if (Alike(&c) && reach < axes) expect = EITHER; /* some diagonals alone: nodes that no pattern tells apart */
      PetscCall(TryAll(&c, expect, "kind"));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows by themselves, components, links of one row alone, explicit zeros */
static PetscErrorCode Features(void)
{
  Case c = {
    PLAIN, .N = {8, 7, 6}
  };

  PetscFunctionBegin;
  for (c.walls = WALLS_KEPT; c.walls <= WALLS_GONE; c.walls++) PetscCall(TryAll(&c, GRID, "walls"));
  c.ring[1] = PETSC_TRUE;
  c.walls = WALLS_KEPT;
  PetscCall(TryAll(&c, GRID, "walls and a ring"));
  c.walls = WALLS_NONE;
  for (c.dof = 2; c.dof <= 3; c.dof++)
    for (int a = 0; a < 2; a++) {
      c.apart = (PetscBool)a;
      PetscCall(TryAll(&c, GRID, "components"));
    }
  c.dof = 1;
  c.apart = PETSC_FALSE;
  c.oneway = .7;
  PetscCall(TryAll(&c, GRID, "links of one row"));
  c.oneway = 1;
  c.walls = WALLS_KEPT;
  PetscCall(TryAll(&c, GRID, "links of one row"));
  c.oneway = 0;
  c.empty = .2;
  PetscCall(TryAll(&c, GRID, "empty rows"));
  c.zeros = 3;
  PetscCall(TryAll(&c, GRID, "zeros anywhere"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Refusals(void)
{
  for (PetscInt reach = 1; reach <= 2; reach++)
    for (int what = 0; what < 4; what++) {
      Case c = {
        PLAIN, .N = {12, 9, 1}
      };

      c.reach = reach;
      if (what == 0) c.link[0] = 5, c.link[1] = 60;
      if (what == 1) c.link[0] = 40, c.link[1] = reach == 1 ? 53 : 42;
      if (what == 2) c.remove = 50;
      if (what == 3) c.other = PETSC_TRUE;
      PetscCall(TryAll(&c, NO_GRID, what < 2 ? "a link more" : what == 2 ? "a node less" : "two grids"));
    }
  return PETSC_SUCCESS;
}

/* An L: a corner of a grid cut out */
static PetscErrorCode Ell(void)
{
  Case c = {
    PLAIN, .N = {12, 9, 1}
  };
  Entries e;

  PetscFunctionBegin;
  PetscCall(CaseEntries(&c, &e));
  for (PetscInt u = e.n - 1; u >= 0; u--)
    if (u % 12 >= 6 && u / 12 >= 4) {
      RemoveRow(&e, u);
    }
  for (Order order = ORDER_NATURAL; order <= ORDER_RCM; order++)
    PetscCall(Try(&c, &e, order, PETSC_FALSE, NO_GRID, "an L"));
  PetscCall(EntriesDestroy(&e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* So many rows that some are looked at before the others */
static PetscErrorCode Many(void)
{
  static const struct {
    PetscInt N[3];
    PetscBool ring[3];
    PetscInt reach, dof;
    Walls walls;
    double oneway;
  } kinds[] = {
    {{83, 61, 1},  {0, 0, 0}, 1, 1, WALLS_KEPT, 0 },
    {{19, 17, 16}, {0, 0, 1}, 1, 1, WALLS_NONE, 0 },
    {{2, 2, 1300}, {0, 0, 0}, 1, 1, WALLS_NONE, 0 },
    {{2500, 2, 1}, {0, 0, 0}, 1, 1, WALLS_GONE, 0 },
    {{5000, 1, 1}, {0, 0, 0}, 1, 1, WALLS_NONE, 0 },
    {{5000, 1, 1}, {1, 0, 0}, 1, 1, WALLS_NONE, 0 },
    {{16, 18, 17}, {0, 0, 0}, 3, 1, WALLS_NONE, 0 },
    {{70, 40, 1},  {0, 1, 0}, 1, 2, WALLS_KEPT, 0 },
    {{18, 16, 15}, {0, 0, 0}, 1, 1, WALLS_NONE, .8},
    {{25, 23, 22}, {0, 0, 0}, 1, 1, WALLS_KEPT, 0 }, /* from here on over ranks by distances first */
    {{25, 23, 22}, {0, 0, 1}, 1, 1, WALLS_NONE, 0 },
    {{127, 98, 1}, {0, 1, 0}, 1, 1, WALLS_NONE, 0 },
    {{127, 98, 1}, {0, 0, 0}, 2, 1, WALLS_NONE, 0 },
    {{2, 2, 3001}, {0, 0, 0}, 1, 1, WALLS_NONE, 0 },
    {{4, 3001, 1}, {1, 0, 0}, 1, 1, WALLS_NONE, 0 },
    {{90, 61, 1},  {0, 0, 0}, 1, 2, WALLS_KEPT, 0 },
  };

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(kinds); k++) {
    Case c = {PLAIN};
    Entries e;

    PetscCall(PetscArraycpy(c.N, kinds[k].N, 3));
    PetscCall(PetscArraycpy(c.ring, kinds[k].ring, 3));
    c.reach = kinds[k].reach;
    c.dof = kinds[k].dof;
    c.walls = kinds[k].walls;
    c.oneway = kinds[k].oneway;
    PetscCall(CaseEntries(&c, &e));
    PetscCall(Try(&c, &e, ORDER_RANDOM, PETSC_FALSE, GRID, "many rows"));
    PetscCall(EntriesDestroy(&e));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* By distances over ranks a line of nodes in random order takes an exchange for each: refused, with the option that
   gives the grid */
static PetscErrorCode Long(void)
{
  Case c = {
    PLAIN, .N = {800, 1, 1}
  };
  BCRFound found;
  PetscInt *number;
  Entries e;
  Mat A;

  PetscFunctionBegin;
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CaseEntries(&c, &e));
  PetscCall(PetscMalloc1(e.n, &number));
  PetscCall(Numbers(&c, &e, ORDER_RANDOM, number));
  PetscCall(Assemble(&e, number, &A));
  PetscCall(FindAny(A, PETSC_FALSE, PETSC_FALSE, &found));
  Check(!found.order && strstr(found.why, "too many different ranks: give the grid with -pc_bcrpoisson_grid"),
        "a long line in random order: %s%s", found.order ? "found" : "", found.why);
  PetscCall(BCRFoundDestroy(&found));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(number));
  PetscCall(EntriesDestroy(&e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of random columns, links of them in each, the same on all ranks: refused, with a row of which it is true */
static PetscErrorCode Sparse(PetscInt links)
{
  const PetscInt n = 20000;
  PetscInt *column, first, end, pairs, tried, common;
  int row = -1, squares = 0;
  BCRFound found;
  const char *told;
  Mat A;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(n * links, &column));
  for (PetscInt k = 0; k < n * links; k++) column[k] = Below(n);
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, PETSC_DECIDE, PETSC_DECIDE, n, n, links + 1, NULL, links + 1, NULL, &A));
  PetscCall(MatGetOwnershipRange(A, &first, &end));
  for (PetscInt r = first; r < end; r++) {
    PetscCall(MatSetValue(A, r, r, (PetscScalar)links, INSERT_VALUES));
    for (PetscInt k = 0; k < links; k++) PetscCall(MatSetValue(A, r, column[links * r + k], -1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(BCRGridFind(A, &found));
  Check(!found.order, "%d random columns a row are a grid", (int)links);
  PetscCall(VerifyWhy(&found, "random columns"));
  told = strstr(found.why, "row ");
  if (told) (void)sscanf(told, "row %d", &row);
  Check(row >= 0 && row < n, "random columns: row %d", row);
  if (links > BCR_ANY_MOST) Check(strstr(found.why, "more than the 26 neighbours"), "%s", found.why);
  else {
    told = strstr(found.why, "; of ");
    Check(told &&
            sscanf(told,
                   "; of %" PetscInt_FMT " pairs of neighbours of %" PetscInt_FMT " rows here and there %" PetscInt_FMT,
                   &pairs, &tried, &common) == 3 &&
            tried > 100 && tried <= 128 && pairs > links * tried && 32 * common < pairs,
          "%s", found.why);
    for (PetscInt a = 0; a < links * links && row >= 0 && row < n; a++) {
      const PetscInt u = column[links * row + a / links], v = column[links * row + a % links];

      for (PetscInt b = 0; b < links * links && u != v && u != row && v != row; b++) {
        const PetscInt w = column[links * u + b / links];

        squares += (w == column[links * v + b % links] && w != row) || w == v;
      }
    }
    Check(!squares, "%d times two neighbours of row %d have another one in common", squares, row);
  }
  PetscCall(BCRFoundDestroy(&found));
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(column));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum {
  GATHERED,
  ALIKE,    /* nodes with the same neighbours */
  DISTANCES /* several ranks */
} Found;

/* Each allocation of the library's fails on the last rank alone: an error on all of them, and nothing is left */
static PetscErrorCode Allocations(Found how)
{
  Case c = {
    PLAIN, .N = {83, 61, 1},
       .empty = .1
  };
  int fired = 1;
  PetscInt *number;
  Entries e;
  Mat A;

  PetscFunctionBegin;
  if (how == DISTANCES) c.N[0] = 23, c.N[1] = 17;
  if (how == ALIKE) { /* nodes with the same neighbours; an axis more of two nodes, where values are asked for */
    c.N[0] = c.N[2] = 2;
    c.reach = 3;
  }
  PetscCall(CaseEntries(&c, &e));
  PetscCall(PetscMalloc1(e.n, &number));
  PetscCall(Numbers(&c, &e, ORDER_RANDOM, number));
  PetscCall(Assemble(&e, number, &A));
  for (long k = 1; fired; k++) {
    TestCaught caught = {0, ""};
    BCRFound found;
    PetscErrorCode ierr;
    long left;

    TestFaultsMark();
    if (rank == size - 1) TestFaultsArm(k, PETSC_FALSE, PETSC_TRUE);
    PetscCall(PetscPushErrorHandler(TestCatch, &caught));
    ierr = how == DISTANCES ? FindAny(A, PETSC_FALSE, PETSC_FALSE, &found) : BCRGridFind(A, &found);
    PetscCall(PetscPopErrorHandler());
    fired = rank == size - 1 && TestFaultsDisarm();
    PetscCallMPI(MPI_Bcast(&fired, 1, MPI_INT, size - 1, PETSC_COMM_WORLD));
    Check((ierr != 0) == fired, "allocation %ld failed on the last rank: error %d: %s", k, (int)ierr, caught.message);
    Check(ierr || found.order == BCR_FOUND_ANY, "allocation %ld: %s", k, found.why);
    PetscCall(BCRFoundDestroy(&found));
    left = TestFaultsBlocks("find");
    Check(!left, "allocation %ld failed on the last rank: %ld blocks are left", k, left);
    Check(fired || k > 6, "only %ld allocations", k - 1);
  }
  PetscCall(MatDestroy(&A));
  PetscCall(PetscFree(number));
  PetscCall(EntriesDestroy(&e));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two integers a row at a time, and those of the edges, are all that is allocated in many rows of any order on one
   rank; in natural order nothing that grows with them */
static PetscErrorCode Memory(void)
{
  static const PetscInt sizes[][3] = {
    {331, 300,   1 },
    {47,  46,    45},
    {3,   33000, 1 }
  };

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++)
    for (Order order = ORDER_NATURAL; order <= ORDER_RANDOM; order++) {
      Case c = {PLAIN};
      PetscInt *number;
      double ints, edges = 0;
      BCRFound found;
      size_t before;
      Entries e;
      Mat A;

      for (int d = 0; d < 3; d++) {
        c.N[d] = sizes[k][d];
        edges += 2. * (double)sizes[k][d]; /* rows along the edges, which are walked along first */
      }
      PetscCall(CaseEntries(&c, &e));
      PetscCall(PetscMalloc1(e.n, &number));
      PetscCall(Numbers(&c, &e, order, number));
      PetscCall(Assemble(&e, number, &A));
      TestFaultsMark();
      before = TestFaults.bytes;
      PetscCall(BCRGridFind(A, &found));
      ints = (double)(TestFaults.peak - before) / (double)sizeof(PetscInt);
      Check(found.order == (order == ORDER_NATURAL ? BCR_FOUND_NATURAL : BCR_FOUND_ANY) &&
              ints < 40000 / (double)sizeof(PetscInt) + (order == ORDER_NATURAL ? 0 : 2.1 * (double)e.n + edges),
            "%d rows, %s order: %g integers", (int)e.n, orders[order], ints);
      if (verbose) printf("%d rows, %s order: %g integers\n", (int)e.n, orders[order], ints);
      PetscCall(BCRFoundDestroy(&found));
      PetscCall(MatDestroy(&A));
      PetscCall(PetscFree(number));
      PetscCall(EntriesDestroy(&e));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Any combination; one in three is spoilt, and then what is found has to be right if anything is */
static PetscErrorCode Random(PetscInt cases)
{
  PetscFunctionBegin;
  for (PetscInt k = 0; k < cases; k++) {
    Case c = {PLAIN};
    Expect expect = GRID;
    const PetscInt dim = 1 + Below(3);
    PetscInt nodes = 1, bare;
    Entries e;

    for (int d = 0; d < 3; d++) {
      c.N[d] = d < dim ? 1 + Below(dim == 3 ? 9 : dim == 2 ? 25 : 60) : 1;
      c.ring[d] = (PetscBool)(c.N[d] > 2 && !Below(3));
      nodes *= c.N[d];
    }
    c.reach = Below(2) ? 1 : 1 + Below(dim);
    c.dof = Below(2) ? 1 : 1 + Below(3);
    c.apart = (PetscBool)Below(2);
    c.walls = Below(2) ? WALLS_NONE : (Walls)Below(4);
    c.oneway = Below(3) ? 0 : TestUniform();
    c.empty = Below(3) ? 0 : .3 * TestUniform();
    c.zeros = Below(4) ? 0 : Below(4);
    if (Alike(&c)) expect = EITHER; /* beside links of one row, components, rows that are no nodes */
    if (!Below(3)) {
      expect = EITHER;
      if (Below(2)) c.remove = Below(nodes);
      else c.link[0] = Below(nodes), c.link[1] = Below(nodes);
      if (c.link[0] == c.link[1]) c.link[0] = -1;
    }
    PetscCall(CaseEntries(&c, &e));
    PetscCall(Bare(&e, &bare));
    if (bare) expect = EITHER;
    if (e.n) PetscCall(Try(&c, &e, (Order)Below(4), (PetscBool)(c.zeros > 0), expect, "random"));
    PetscCall(EntriesDestroy(&e));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt cases;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(TestSeed());
  cases = size > 1 ? 100 : 300;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-cases", &cases, NULL));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-verbose", &verbose));
  PetscCall(Kinds());
  PetscCall(Features());
  PetscCall(Refusals());
  PetscCall(Ell());
  PetscCall(Many());
  PetscCall(Long());
  PetscCall(Sparse(6));
  PetscCall(Sparse(12));
  PetscCall(Sparse(40));
  PetscCall(Random(cases));
  TestFaultsBegin();
  if (size == 1) PetscCall(Memory());
  for (Found how = GATHERED; how <= (size > 1 ? DISTANCES : ALIKE); how++) PetscCall(Allocations(how));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &TestFailed, 1, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscFinalize());
  if (!rank) return TestEnd();
  return TestFailed > 0;
}
