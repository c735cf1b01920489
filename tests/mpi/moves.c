/*
  ranks: 2 4 8
  quick: 4

  Vectors brought to slabs and back, whatever the MPI has: memory that all ranks share, windows that it refuses, nodes of
  every other rank and of one with messages between them. Every process grid, with parts alike and with parts of one row,
  several solves one after the other with other right-hand sides, vectors of two components, rows scaled one by one (which
  are brought to slabs, too). Solutions are held against PETSc's LU on one rank, and PCView() says how vectors get there.
  -backend cuda: from device to device, vectors there, on the host, and there on some ranks alone; slabs that other
  processes map, and packed messages by the transport that there is, or by -transport. -few: process grids to try of each
  problem that move vectors
*/
#include "distribute.h"
#include "../../src/poisson/solver.h"
#include "pc/bcrpoisson/bcrpoisson.h"
#include <mpi.h>

typedef enum {
  ALL_SHARE,
  REFUSED,
  MIXED,
  ALONE,
  KINDS
} Node;
static const char *const nodes[KINDS] = {"shared memory", "windows refused", "nodes of every other rank",
                                         "nodes of one rank"};
static Node node;
static PetscBool device; /* -backend cuda */
static PetscEnum transport;
static PetscInt few = PETSC_MAX_INT;

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
  int rank;

  PMPI_Comm_rank(comm, &rank);
  if (type == MPI_COMM_TYPE_SHARED && (node == MIXED || node == ALONE))
    return PMPI_Comm_split(comm, node == MIXED ? rank % 2 : rank, key, part);
  return PMPI_Comm_split_type(comm, type, key, info, part);
}

/* What PCView() has to say of the bytes that go from rank to rank, there and back: nodes in rows of other ranks' slabs */
static PetscErrorCode Cost(const Case *c, PC pc, char text[], size_t length)
{
  const BCRMoves *m = &((PC_BCRPoisson *)pc->data)->moves;
  const PetscInt mine[2] = {m->start, m->len};
  PetscInt lo[3], n[3], *all;
  double moved[2] = {0};
  PetscMPIInt size, rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)pc), &rank));
  PetscCall(PetscMalloc1(2 * size, &all));
  PetscCallMPI(MPI_Allgather(mine, 2, MPIU_INT, all, 2, MPIU_INT, PetscObjectComm((PetscObject)pc)));
  PetscCall(DMDAGetCorners(c->da, &lo[0], &lo[1], &lo[2], &n[0], &n[1], &n[2]));
  for (PetscInt row = lo[m->axis]; row < lo[m->axis] + n[m->axis]; row++)
    if (row < mine[0] || row >= mine[0] + mine[1]) moved[0] += (double)(n[0] * n[1] * n[2] / n[m->axis]);
  for (PetscMPIInt p = 0; p < size; p++) /* slabs of all ranks are one after the other */
    Check(all[2 * p] == (p ? all[2 * p - 2] + all[2 * p - 1] : 0), "rank %d has rows from %" PetscInt_FMT " on", (int)p,
          all[2 * p]);
  PetscCall(PetscFree(all));
  moved[0] *= 2. * (double)c->p->dof * sizeof(PetscScalar);
  moved[1] = moved[0];
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &moved[0], 1, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)pc)));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &moved[1], 1, MPI_DOUBLE, MPI_MAX, PetscObjectComm((PetscObject)pc)));
  PetscCall(
    PetscSNPrintf(text, length, "%.0f bytes between ranks, %.0f by the rank that sends most", moved[0], moved[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What PCView() says of the way, where vectors are moved */
static PetscErrorCode LookAtView(const Case *c, PC pc)
{
  const BCRMoves *m = &((PC_BCRPoisson *)pc->data)->moves;
  const char *lacks = NULL;
  char *text, cost[128] = "";
  PetscMPIInt size;
  PetscBool moves;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PetscObjectComm((PetscObject)pc), &size));
  if (m->carry && !m->inplace && !m->team) PetscCall(Cost(c, pc, cost, sizeof(cost)));
  PetscCall(TestViewText((PetscObject)pc, &text));
  moves = strstr(text, "redistributed: ") ? PETSC_TRUE : PETSC_FALSE;
  if (moves && text[0]) {
    const PetscBool shares = strstr(text, device ? "of a node map" : "of a node share") ? PETSC_TRUE : PETSC_FALSE,
                    sends = strstr(text, "by messages") ? PETSC_TRUE : PETSC_FALSE,
                    refused = strstr(text, "the MPI refused a window of shared memory") ? PETSC_TRUE : PETSC_FALSE;

    if (!m->team && !strstr(text, "change their rank")) lacks = "why slabs lie along that axis";
    if (!strstr(text, cost)) lacks = cost;
    /* NCCL, or why it is another way */
    if (device && !transport && !strstr(text, "transport: nccl") && !strstr(text, "NCCL")) lacks = "why it is not NCCL";
    if (device && !strstr(text, "from device to device")) lacks = "that nothing goes by way of the host";
    if (transport) { /* asked for: all goes that way */
      if (shares || !strstr(text, "a transport was asked for")) lacks = "that a transport was asked for";
      if (!strstr(text, PCBCRPoissonTransports[transport])) lacks = "which transport it is";
    } else if (node == ALL_SHARE && (!shares || sends || refused)) lacks = "that ranks share memory";
    if (!transport && node == REFUSED && (shares || !sends || !refused)) lacks = "that windows were refused";
    if (!transport && node == MIXED && (!sends || refused)) lacks = "that there are messages between nodes";
    if (!transport && node == ALONE && (shares || !sends || refused)) lacks = "that there are messages alone";
  }
  Check(!lacks, "%s, %s: PCView() lacks %s:\n%s", nodes[node], c->what, lacks ? lacks : "", text);
  free(text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solve k with vectors on the host, on devices, on devices of some ranks */
static PetscErrorCode Apply(const Case *c, PC pc, int k)
{
#if defined(PETSC_HAVE_CUDA)
  PetscMPIInt rank;
  Vec b, x;

  PetscFunctionBegin;
  if (!device || k % 3 == 0) {
    PetscCall(PCApply(pc, c->b, c->x));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCallMPI(MPI_Comm_rank(PetscObjectComm((PetscObject)pc), &rank));
  PetscCall(VecCreate(PetscObjectComm((PetscObject)pc), &b));
  PetscCall(VecSetSizes(b, c->n, PETSC_DECIDE));
  PetscCall(VecSetType(b, VECCUDA));
  PetscCall(VecDuplicate(b, &x));
  for (int i = 0; i < 2; i++) { /* to devices, with the array that PETSc's own functions give */
    Vec from = i ? c->x : c->b, to = i ? x : b;
    const PetscScalar *f;
    PetscScalar *t;

    PetscCall(VecGetArrayRead(from, &f));
    PetscCall(VecGetArrayWrite(to, &t));
    PetscCall(PetscArraycpy(t, f, c->n));
    PetscCall(VecRestoreArrayWrite(to, &t));
    PetscCall(VecRestoreArrayRead(from, &f));
    if (k % 3 == 2 && rank % 2) continue; /* the newest values are on the host here */
    PetscCall(VecCUDAGetArrayRead(to, &f));
    PetscCall(VecCUDARestoreArrayRead(to, &f));
  }
  PetscCall(PCApply(pc, b, x));
  {
    const PetscScalar *f;
    PetscScalar *t;

    PetscCall(VecGetArrayRead(x, &f));
    PetscCall(VecGetArrayWrite(c->x, &t));
    PetscCall(PetscArraycpy(t, f, c->n));
    PetscCall(VecRestoreArrayWrite(c->x, &t));
    PetscCall(VecRestoreArrayRead(x, &f));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
#else
  (void)k;
  return PCApply(pc, c->b, c->x);
#endif
}

static PetscErrorCode Solves(Case *c, KSP lu, PetscInt *moved)
{
  PC pc;
  char *text;

  PetscFunctionBegin;
  PetscCall(CasePC(c->da, c->A, &pc));
  PetscCall(PCBCRPoissonSetBackend(pc, device ? PCBCRPOISSON_BACKEND_CUDA : PCBCRPOISSON_BACKEND_AUTO));
  PetscCall(PCBCRPoissonSetTransport(pc, (PCBCRPoissonTransport)transport));
  PetscCall(PCSetUp(pc));
  PetscCall(LookAtView(c, pc));
  PetscCall(TestViewText((PetscObject)pc, &text));
  *moved += strstr(text, "redistributed: ") ? 1 : 0;
  free(text);
  for (int k = 0; k < 4; k++) {
    PetscReal difference = 0;

    if (k != 3) PetscCall(TestRandom(c->b1)); /* a new right-hand side; the last time another matrix */
    else {
      PetscCall(MatScale(c->A, 2));
      PetscCall(PCSetOperators(pc, c->A, c->A));
    }
    PetscCall(KSPSolve(lu, c->b1, c->y1));
    if (k == 3) PetscCall(VecScale(c->y1, (PetscScalar)0.5));
    PetscCall(CaseDeal(c, c->b1, c->b));
    PetscCall(VecSet(c->x, 7));
    PetscCall(Apply(c, pc, k));
    PetscCall(CaseDifference(c, c->x, c->y1, &difference));
    Check(difference <= (sizeof(PetscReal) < sizeof(double) ? (PetscReal)5e-4 : (PetscReal)1e-11),
          "%s, %s, solve %d: differs from LU by %g", nodes[node], c->what, k, (double)difference);
  }
  PetscCall(PCDestroy(&pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All rows but one for each part in the first one, or the last. width: [size] */
static void Uneven(PetscInt n, PetscInt parts, PetscBool last, PetscInt width[])
{
  for (PetscInt p = 0; p < parts; p++) width[p] = p == (last ? parts - 1 : 0) ? n - parts + 1 : 1;
}

/* Vectors move in this process grid: slabs along x are turned where all ranks are on one node */
static PetscBool Moves(const TestProblem *p, const PetscInt parts[3])
{
  const PetscBool turned = (PetscBool)(parts[0] > 1 && (node == ALL_SHARE || node == REFUSED) &&
                                       (!device || p->dim == 3) && PetscMax(p->n[1], p->n[2]) >= 2 * parts[0]);

  return (PetscBool)(turned || (parts[0] > 1) + (parts[1] > 1) + (parts[2] > 1) > 1);
}

static PetscErrorCode Problems(MPI_Comm comm, PetscMPIInt size)
{
  static const TestProblem problems[] = {
    {.dim = 2, .n = {13, 18, 1}, .dof = 1, .ends = "ddnd",   .a = {1, 2, 1}, .shift = 0.5, .scale = 1, .row = 1     },
    {.dim = 3, .n = {9, 8, 11},  .dof = 2, .ends = "ppddcd", .a = {1, 2, 3}, .scale = 1,   .row = 1,   .contrast = 1},
    {.dim = 3, .n = {10, 9, 8},  .dof = 1, .ends = "dcddrr", .a = {1, 1, 2}, .shift = 0.1, .scale = 1, .row = 3     },
  };

  PetscFunctionBegin;
  for (size_t k = 0; k < (node == ALL_SHARE && size <= 4 ? sizeof(problems) / sizeof(problems[0]) : 2); k++) {
    const TestProblem *p = &problems[k];
    PetscInt parts[3] = {0, 0, 0}, moved = 0, left = few, width[3][8];
    const PetscInt *widths[3] = {width[0], width[1], width[2]};
    KSP lu;
    PC pc;
    Case c;

    PetscCall(CaseCreate(p, &c));
    PetscCall(KSPCreate(PETSC_COMM_SELF, &lu));
    PetscCall(KSPSetOperators(lu, c.A1, c.A1));
    PetscCall(KSPSetType(lu, KSPPREONLY));
    PetscCall(KSPGetPC(lu, &pc));
    PetscCall(PCSetType(pc, PCLU));
    while (TestNextCut(p, (PetscInt)size, parts)) {
      if (few < PETSC_MAX_INT && (!Moves(p, parts) || left-- <= 0)) continue;
      PetscCall(CaseCut(&c, comm, parts, NULL));
      PetscCall(Solves(&c, lu, &moved));
      if (!Moves(p, parts)) continue;
      for (PetscInt d = 0; d < p->dim; d++) Uneven(p->n[d], parts[d], (PetscBool)(d == 1), width[d]);
      PetscCall(CaseCut(&c, comm, parts, widths));
      PetscCall(Solves(&c, lu, &moved));
    }
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &moved, 1, MPIU_INT, MPI_MAX, comm)); /* the first rank has the text */
    Check(moved > 0 || size < 4, "%s: nothing was moved", nodes[node]);
    PetscCall(KSPDestroy(&lu));
    PetscCall(CaseDestroy(&c));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt size;
  char backend[8] = "cpu";
  int status, kinds;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(TestSeed());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-transport", PCBCRPoissonTransports, &transport, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-few", &few, NULL));
  kinds = size > 4 ? ALONE : KINDS;
  device = strcmp(backend, "cuda") ? PETSC_FALSE : PETSC_TRUE;
  if (device && !BCRSolverHaveDevice(NULL)) kinds = 0;
  for (int k = 0; k < kinds; k++) { /* ranks that share cores take long to make windows */
    MPI_Comm comm;                  /* nodes are remembered with it */

    node = (Node)k;
    PetscCallMPI(MPI_Comm_dup(PETSC_COMM_WORLD, &comm));
    PetscCall(Problems(comm, size));
    PetscCallMPI(MPI_Comm_free(&comm));
  }
  status = TestEndAll(PETSC_COMM_WORLD);
  PetscCall(PetscFinalize());
  return status;
}
