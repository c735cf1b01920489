/*
  What a step of rows that differ tells other ranks beside its solve of the box: one reduction,
  and one message to each rank beside it. For several right-hand sides of obstacles, materials and
  wells: reductions and messages of a whole solve are at most those of so many solves of the box,
  one reduction and two messages for each of them, and a few that do not grow with the number of
  steps.
  -print: the numbers
  ranks: 2 3 5
*/
#include "../petsc/testing.h"
#include "../obstacles.h"
#include "counting.h"
#include <petscksp.h>

#undef MPI_Allreduce
#undef MPI_Startall
#undef MPI_Isend

static int reductions;
static PetscBool print = PETSC_FALSE;

int MPI_Allreduce(const void *in, void *out, int n, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
  reductions++;
  return PMPI_Allreduce(in, out, n, type, op, comm);
}

int MPI_Startall(int n, MPI_Request requests[])
{
  int err = MPI_SUCCESS;

  for (int k = 0; k < n && !err; k++) err = MPI_Start(&requests[k]);
  return err;
}

int MPI_Isend(const void *buf, int n, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request)
{
  sent_messages++;
  return PMPI_Isend(buf, n, type, to, tag, comm, request);
}

/* What a rank tells others in one application of a PC that has solved before */
typedef struct {
  int reductions, messages;
  PetscInt solves;
} Told;

static PetscErrorCode Apply(PC pc, Vec b, Vec x, Told *told)
{
  PetscInt rows;

  PetscFunctionBegin;
  sent_messages = 0;
  reductions = 0;
  PetscCall(PCApply(pc, b, x));
  told->reductions = reductions;
  told->messages = (int)sent_messages;
  PetscCall(PCBCRPoissonGetCapacitanceSolves(pc, &rows, &told->solves));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Several(const Case *c, PetscInt n, Told told[])
{
  DM da;
  Mat A;
  Vec x, b;
  PC pc;

  PetscFunctionBegin;
  PetscCall(Grid(c, PETSC_FALSE, &da, &A, &x, &b));
  PetscCall(PCCreate(PETSC_COMM_WORLD, &pc));
  PetscCall(PCSetType(pc, PCBCRPOISSON));
  PetscCall(PCSetOperators(pc, A, A));
  PetscCall(PCSetUp(pc));
  for (PetscInt k = 0; k < n; k++) {
    PetscCall(TestUniformVec(x));
    PetscCall(MatMult(A, x, b));
    PetscCall(Apply(pc, b, x, &told[k]));
  }
  PetscCall(TestDestroy(&pc, &x, &b, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Reductions beside those of the steps: sizes at the beginning, what is left at the end, and
   residuals that are made orthogonal once more */
#define FEW 14

/* Boxes in three dimensions are solved by the ranks of a node together, in memory that they share,
   but those with rows that differ: there a solve of the box has two messages to each other rank and
   one more at either end */
static PetscErrorCode Run(const Case *c, PetscMPIInt rank, PetscMPIInt size)
{
  const int parts = PetscDefined(USE_COMPLEX) ? 2 : 1;       /* real and imaginary, a solve each */
  const int mean = c->closed && c->what != KEPT ? parts : 0; /* of a singular box, a reduction of its solve */
  Told box[2], told[4];
  Case empty = *c;

  PetscFunctionBegin;
  empty.what = NONE;
  PetscCall(Several(&empty, 2, box));
  PetscCall(Several(c, 4, told));
  for (int k = 0; k < 4; k++) {
    const int solves = (int)told[k].solves,
              messages = c->dim == 2 ? box[1].messages : parts * (2 * (size - 1) + 4) - 2; /* of a solve of the box */

    if (print)
      PetscCall(PetscSynchronizedPrintf(
        PETSC_COMM_WORLD, "%dD what %d shape %d, rank %d, right-hand side %d: %d solves, %d reductions, %d messages\n",
        (int)c->dim, c->what, c->shape, (int)rank, k, solves, told[k].reductions, told[k].messages));
#if !defined(PETSC_USE_DEBUG) /* PETSc compares arguments by reductions there */
    Check(told[k].reductions <= (1 + mean) * solves + parts * FEW,
          "%d-D, what %d, shape %d, %d: %d reductions of %d solves", (int)c->dim, c->what, c->shape, k,
          told[k].reductions, solves);
#endif
    Check(told[k].messages <= (messages + 2) * (solves + 3), "%d-D, what %d, shape %d, %d: %d messages of %d solves",
          (int)c->dim, c->what, c->shape, k, told[k].messages, solves);
  }
  if (print) PetscCall(PetscSynchronizedFlush(PETSC_COMM_WORLD, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const Case cases[] = {
    {2, 63, NEUMANN_MASK, DISC,   1,   PETSC_TRUE,  0},
    {2, 63, KEPT,         DISC,   1,   PETSC_FALSE, 0},
    {2, 63, NEUMANN_MASK, ROUGH,  1,   PETSC_TRUE,  0},
    {2, 63, KEPT,         TWELVE, 1,   PETSC_FALSE, 0},
    {2, 63, MATERIAL,     DISC,   1e3, PETSC_FALSE, 0},
    {2, 63, WELLS,        DISC,   1,   PETSC_TRUE,  0},
    {3, 31, NEUMANN_MASK, DISC,   1,   PETSC_TRUE,  0},
    {3, 31, KEPT,         DISC,   1,   PETSC_FALSE, 0}
  };
  PetscMPIInt rank, size;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(TestSeed());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-print", &print, NULL));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) PetscCall(Run(&cases[i], rank, size));
  PetscCall(PetscFinalize());
  return TestStatus(rank == 0, TestPassed, TestFailed);
}
