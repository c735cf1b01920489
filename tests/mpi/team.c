/*
  ranks: 2 3 4 5 8 16
  turns: 2
  quick: 4 8

  Ranks that share a slab (-pc_bcrpoisson_slab_ranks): every process grid and slabs as the grid is cut, teams of every size and
  what is chosen by itself, more ranks than planes, sizes that no team divides, operators of definite and singular axes.
  Right-hand sides are products of the matrix, so that solutions are known; a constant is added to those of singular
  operators, which the solver has to take out again. Several solves one after the other, transposed, several
  right-hand sides at a time, another matrix. Windows that the MPI refuses and nodes that no team has to itself: other
  slabs, and PCView() says so. Operators that cannot be shared so are solved as before.
*/
#include "distribute.h"
#include "../../src/poisson/solver.h"
#include <mpi.h>

typedef enum {
  ALL_SHARE,
  REFUSED,
  MIXED,
  HALVES,
  KINDS
} Node;
static const char *const nodes[KINDS] = {"shared memory", "windows refused", "nodes of every other rank",
                                         "two nodes, one after the other"};
static Node node;

/* The MPI of the program comes here first */
#undef MPI_Win_allocate_shared
#undef MPI_Comm_split_type
int MPI_Win_allocate_shared(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win)
{
  if (node == REFUSED) return MPI_ERR_NO_MEM;
  return PMPI_Win_allocate_shared(size, unit, info, comm, base, win);
}

int MPI_Comm_split_type(MPI_Comm comm, int type, int key, MPI_Info info, MPI_Comm *part)
{
  int rank, size;

  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  if (type == MPI_COMM_TYPE_SHARED && (node == MIXED || node == HALVES))
    return PMPI_Comm_split(comm, node == MIXED ? rank % 2 : 2 * rank / size, key, part);
  return PMPI_Comm_split_type(comm, type, key, info, part);
}

static const TestProblem problems[] = {
  {.dim = 3, .n = {16, 17, 16}, .dof = 1, .ends = "dddddd",         .a = {1, 2, 3},    .shift = 0.5,      .scale = 1, .row = 1},
  {.dim = 3,        .n = {7, 16, 24},                  .dof = 1,   .ends = "ppppdd",  .a = {1, 1, 2}, .scale = -3,   .row = 1 },
  {.dim = 3,        .n = {8, 9, 23},                  .dof = 1,    .ends = "ppcccc",   .a = {1, 3, 1}, .scale = 1,  .row = 1},
  {.dim = 3,        .n = {4, 4, 4},                  .dof = 1,     .ends = "dcccdc",    .a = {1, 1, 1}, .scale = 1, .row = 1},
  {.dim = 3,        .n = {5, 16, 11},                  .dof = 1,   .ends = "nnddcd",  .a = {1, 1, 1}, .scale = 1,   .row = 1  },
  {.dim = 3,        .n = {6, 8, 16},                  .dof = 2,    .ends = "dddddd",   .a = {1, 2, 1}, .scale = 1,  .row = 1},
  {.dim = 3,        .n = {5, 7, 16},                  .dof = 1,    .ends = "ddcccc",   .a = {1, 2, 0}, .scale = 1,  .row = 1  },
  {.dim = 3,        .n = {9, 12, 11},                  .dof = 1,   .ends = "rrrrrr",  .a = {1, 2, 3}, .scale = 1,   .row = 3},
  {.dim = 3,        .n = {12, 10, 17},                  .dof = 1,  .ends = "srpprs", .a = {2, 1, 1}, .scale = -1,    .row = 2  },
};
enum {
  KEPT = 7 /* from this one on boundary rows are kept: shared only where vectors are moved; not symmetric */
};

/* How many ranks share a slab, as PCView() has it; 1: none. why: it says why */
static PetscErrorCode Sharing(PC pc, int *ranks, PetscBool *why)
{
  int said[2] = {1, 0};
  char *text, *at;

  PetscFunctionBegin;
  PetscCall(TestViewText((PetscObject)pc, &text));
  at = strstr(text, " ranks share a slab");
  if (at) {
    while (at > text && at[-1] >= '0' && at[-1] <= '9') at--;
    said[0] = atoi(at);
  }
  said[1] = strstr(text, "none share a slab, as ") ? 1 : 0;
  free(text);
  PetscCallMPI(MPI_Bcast(said, 2, MPI_INT, 0, PetscObjectComm((PetscObject)pc))); /* the first rank has the text */
  *ranks = said[0];
  *why = (PetscBool)said[1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The solution that y1 is, whose mean is zero where the operator is singular, from b */
static PetscErrorCode Look(const Case *c, Vec x, int team, const char what[])
{
  PetscReal difference;

  PetscFunctionBegin;
  PetscCall(CaseDifference(c, x, c->y1, &difference));
  Check(difference <= (sizeof(PetscReal) < sizeof(double) ? (PetscReal)5e-4 : (PetscReal)1e-11),
        "%s, %s, %d ranks share a slab, %s: differs by %g", nodes[node], c->what, team, what, (double)difference);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A random solution and its right-hand side, that of the transpose if asked for */
static PetscErrorCode Pose(Case *c, PetscBool singular, PetscReal constant, PetscBool transpose)
{
  PetscScalar sum;
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(TestRandom(c->y1));
  if (singular) {
    PetscCall(VecSum(c->y1, &sum));
    PetscCall(VecGetSize(c->y1, &n));
    PetscCall(VecShift(c->y1, -sum / (PetscScalar)n));
  }
  if (transpose) PetscCall(MatMultTranspose(c->A1, c->y1, c->b1));
  else PetscCall(MatMult(c->A1, c->y1, c->b1));
  if (singular) PetscCall(VecShift(c->b1, (PetscScalar)constant));
  PetscCall(CaseDeal(c, c->b1, c->b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two right-hand sides at a time, the second twice the first */
static PetscErrorCode Columns(const Case *c, PC pc, int team)
{
  Mat B, X;
  Vec v;

  PetscFunctionBegin;
  PetscCall(MatCreateDense(PetscObjectComm((PetscObject)pc), c->n, PETSC_DECIDE, PETSC_DETERMINE, 2, NULL, &B));
  PetscCall(MatCreateDense(PetscObjectComm((PetscObject)pc), c->n, PETSC_DECIDE, PETSC_DETERMINE, 2, NULL, &X));
  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(MatDenseGetColumnVecWrite(B, k, &v));
    PetscCall(VecCopy(c->b, v));
    PetscCall(VecScale(v, (PetscScalar)(k + 1)));
    PetscCall(MatDenseRestoreColumnVecWrite(B, k, &v));
  }
  for (int k = 0; k < 2; k++) {
    Mat M = k ? X : B;

    PetscCall(MatAssemblyBegin(M, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(M, MAT_FINAL_ASSEMBLY));
  }
  PetscCall(PCMatApply(pc, B, X));
  for (PetscInt k = 0; k < 2; k++) {
    PetscCall(MatDenseGetColumnVecRead(X, k, &v));
    PetscCall(VecCopy(v, c->x));
    PetscCall(MatDenseRestoreColumnVecRead(X, k, &v));
    PetscCall(VecScale(c->x, 1 / (PetscScalar)(k + 1)));
    PetscCall(Look(c, c->x, team, k ? "second of two columns" : "first of two columns"));
  }
  PetscCall(MatDestroy(&B));
  PetscCall(MatDestroy(&X));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors on devices, after a set-up for those of the host: slabs of one rank on devices from now on */
static PetscErrorCode Device(const Case *c)
{
#if defined(PETSC_HAVE_CUDA)
  Vec b, x;
  PC pc;

  PetscFunctionBegin;
  if (!BCRSolverHaveDevice(NULL)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(CasePC(c->da, c->A, &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(VecCreate(PetscObjectComm((PetscObject)pc), &b));
  PetscCall(VecSetSizes(b, c->n, PETSC_DECIDE));
  PetscCall(VecSetType(b, VECCUDA));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecCopy(c->b, b));
  PetscCall(PCApply(pc, b, x));
  PetscCall(VecCopy(x, c->x));
  PetscCall(Look(c, c->x, 1, "vectors on devices"));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
#else
  (void)c;
  return PETSC_SUCCESS;
#endif
}

/* wanted: ranks that are to share a slab, 0: whatever is best; can: the operator can be solved so */
static PetscErrorCode Solves(Case *c, PetscBool singular, PetscInt wanted, PetscBool can, PetscInt *shared)
{
  char option[8];
  PetscMPIInt size;
  PetscBool why = PETSC_FALSE;
  int team = 1;
  PC pc;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)c->A), &size));
  PetscCall(PetscSNPrintf(option, sizeof(option), "%" PetscInt_FMT, wanted));
  PetscCall(PetscOptionsSetValue(NULL, "-pc_bcrpoisson_slab_ranks", option));
  PetscCall(CasePC(c->da, c->A, &pc));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(PCSetUp(pc));
  PetscCall(Sharing(pc, &team, &why));
  Check(why == (!can && size > 1) || (can && singular && team == 1), "%s: PCView() says%s why ranks share no slab",
        c->what, why ? "" : " not");
  *shared += team > 1 ? 1 : 0;
  if (!can || node == REFUSED || (node == MIXED && team > 1))
    Check(team == 1, "%s, %s: PCView() has %d ranks share a slab", nodes[node], c->what, team);
  else if (wanted >= (PetscInt)size && node == ALL_SHARE)
    Check(team == size, "%s, %s: %d ranks share a slab, not all %d", nodes[node], c->what, team, size);
  else if (node == HALVES && size % 2 == 0 && c->p->n[2] >= 6 && wanted >= size / 2 && c->p != problems + 2)
    Check(team == size / 2, "%s, %s: %d ranks share a slab, not %d", nodes[node], c->what, team, size / 2);
  else Check(size % team == 0 && (wanted == 0 || team <= wanted), "%s: %d ranks share a slab", c->what, team);
  for (int k = 0; k < 4; k++) {
    PetscReal removed = 0;

    const PetscBool transpose = (PetscBool)(k == 2 && !singular && (can || c->p >= problems + KEPT));

    PetscCall(Pose(c, singular, (PetscReal)0.25, transpose));
    PetscCall(VecSet(c->x, 7));
    if (k == 3) { /* other values */
      PetscCall(MatScale(c->A, 2));
      PetscCall(VecScale(c->b, 2));
      PetscCall(PCSetOperators(pc, c->A, c->A));
    }
    if (transpose) PetscCall(PCApplyTranspose(pc, c->b, c->x));
    else PetscCall(PCApply(pc, c->b, c->x));
    PetscCall(Look(c, c->x, team, transpose ? "transposed" : (k == 3 ? "other values" : "again")));
    if (!singular) continue;
    PetscCall(PCBCRPoissonGetRemovedConstant(pc, &removed));
    Check(PetscAbsReal(removed - (PetscReal)(k == 3 ? 0.5 : 0.25)) <=
            (sizeof(PetscReal) < sizeof(double) ? (PetscReal)1e-3 : (PetscReal)1e-10),
          "%s, %d ranks share a slab: %g is removed", c->what, team, (double)removed);
  }
  PetscCall(Columns(c, pc, team));
  if (wanted == 0) PetscCall(Device(c));
  PetscCall(PCDestroy(&pc));
  PetscCall(MatScale(c->A, (PetscScalar)0.5));
  PetscCall(PetscOptionsClearValue(NULL, "-pc_bcrpoisson_slab_ranks"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const PetscInt nproblem = sizeof(problems) / sizeof(problems[0]);
  const PetscBool real = (PetscBool)(!PetscDefined(USE_COMPLEX) && sizeof(PetscReal) == sizeof(double));
  PetscMPIInt size;
  int status;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(TestSeed());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (int kind = 0; kind < KINDS; kind++) {
    PetscInt shared = 0;
    MPI_Comm comm; /* nodes are remembered with it */

    node = (Node)kind;
    PetscCallMPI(MPI_Comm_dup(PETSC_COMM_WORLD, &comm));
    for (PetscInt k = 0; k < (node == ALL_SHARE || node == HALVES ? nproblem : 1); k++) {
      const TestProblem *p = &problems[k];
      const PetscInt team[] = {0, 2, 4, (PetscInt)size};
      PetscInt parts[3] = {0, 0, 0}, left = size > 8 ? 2 : (size > 4 ? 6 : 12);
      Case c;

      PetscCall(CaseCreate(p, &c));
      while (TestNextCut(p, (PetscInt)size, parts)) {
        /* slabs along x are no planes of rows, and are turned where all ranks are on one node */
        const PetscBool turned = (PetscBool)(node != MIXED && node != HALVES && parts[0] == (PetscInt)size &&
                                             PetscMax(p->n[1], p->n[2]) >= 2 * (PetscInt)size),
                        slabs = (PetscBool)(parts[0] == (PetscInt)size && !turned),
                        cut = (PetscBool)(turned || (parts[0] > 1) + (parts[1] > 1) + (parts[2] > 1) > 1),
                        can = (PetscBool)(real && !slabs && (k < 4 || (k >= KEPT && cut)));

        if (!left--) break;
        if (!TestTurn()) continue;
        PetscCall(CaseCut(&c, comm, parts, NULL));
        for (size_t t = 0; t < sizeof(team) / sizeof(team[0]); t++)
          PetscCall(Solves(&c, (PetscBool)(k == 2), team[t], can, &shared));
      }
      PetscCall(CaseDestroy(&c));
    }
    Check(shared > 0 || !real || node != ALL_SHARE || size == 1, "no ranks shared a slab");
    PetscCallMPI(MPI_Comm_free(&comm));
  }
  status = TestEndAll(PETSC_COMM_WORLD);
  PetscCall(PetscFinalize());
  return status;
}
