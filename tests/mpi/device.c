/*
  ranks: 1 2 3 4

  PCBCRPOISSON on several ranks with CUDA devices: every transport that there is gives the solution
  of one rank, what is not there is an error on every rank that says what to use instead, PCView()
  says which it is; vectors that live on the device on some ranks and on the host on others; slabs
  along each axis, decompositions that have to be redistributed; messages that NCCL refuses in a
  solve. On a machine without a device: `cuda` is an error on all ranks, `auto` works on the host.
*/
#include <petsc/private/petscimpl.h> /* use_gpu_aware_mpi */
#include "distribute.h"
#include <stdlib.h>
#if defined(PETSCBCR_HAVE_CUDA)
  #include "src/poisson/solver.h"
  #include "src/transport/transport.h"

static PetscMPIInt rank, size;

static PetscReal Bound(void)
{
  return sizeof(PetscReal) < sizeof(double) ? (PetscReal)5e-4 : (PetscReal)1e-11;
}

static PetscErrorCode NewPC(const Case *c, PCBCRPoissonBackend backend, PCBCRPoissonTransport transport, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(TestPC(PCBCRPOISSON, c->da, c->A, pc));
  PetscCall(PCBCRPoissonSetBackend(*pc, backend));
  PetscCall(PCBCRPoissonSetTransport(*pc, transport));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(Case *c, PC pc, const char how[])
{
  PetscReal difference;

  PetscFunctionBegin;
  PetscCall(VecSet(c->x, 7));
  PetscCall(PCApply(pc, c->b, c->x));
  PetscCall(CaseDifference(c, c->x, c->y1, &difference));
  Check(difference <= Bound(), "rank %d: %s, %s: differs from one rank by %g", (int)rank, c->what, how,
        (double)difference);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const TestProblem problems[] = {
  {.dim = 2,    .n = {70, 150, 1}, .dof = 1, .ends = "dddd", .a = {1, 1}, .scale = 1                        },
  {.dim = 2,    .n = {45, 131, 1}, .dof = 2, .ends = "ncrd", .a = {1, 3}, .shift = 0.25,                      .scale = 2, .row = 2},
  {.dim = 2,   .n = {24, 40, 1},                    .dof = 1,                     .ends = "ppnn",                 .a = {2, 1}, .scale = 1},
  {.dim = 3, .n = {18, 17, 40},                  .dof = 1,                   .ends = "ddccpp",                .a = {1, 2, 3},  .scale = 1 }
};

static PetscErrorCode Transports(PetscBool there)
{
  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(problems); ++k) {
    const TestProblem *p = &problems[k];

    for (PetscInt d = 0; d <= p->dim; ++d) { /* slabs along d; then another decomposition */
      PetscInt parts[3] = {1, 1, 1};
      Case c;
      PC one;

      if (d < p->dim) parts[d] = (PetscInt)size;
      else {
        if (size != 4) continue;
        parts[0] = parts[1] = 2;
      }
      PetscCall(CaseCreate(p, &c));
      PetscCall(CaseCut(&c, PETSC_COMM_WORLD, parts, NULL));
      PetscCall(CasePC(c.da1, c.A1, &one));
      PetscCall(PCBCRPoissonSetBackend(one, PCBCRPOISSON_BACKEND_CPU));
      PetscCall(PCApply(one, c.b1, c.y1));
      PetscCall(PCDestroy(&one));
      PetscCall(CaseDeal(&c, c.b1, c.b));
      for (int transport = 0; transport < 4; ++transport) {
        PC pc;
        PetscErrorCode ierr;
        TestCaught caught = {0, ""};

        if (transport == PCBCRPOISSON_TRANSPORT_MPI && size > 1 && there && !use_gpu_aware_mpi) {
          PetscCall(NewPC(&c, PCBCRPOISSON_BACKEND_CUDA, PCBCRPOISSON_TRANSPORT_MPI, &pc));
          CheckError(PCSetUp(pc), PETSC_ERR_SUP, "use -pc_bcrpoisson_transport nccl, host or auto");
          PetscCall(PCDestroy(&pc));
          continue;
        }
        PetscCall(NewPC(&c, PCBCRPOISSON_BACKEND_CUDA, (PCBCRPoissonTransport)transport, &pc));
        PetscCall(PetscPushErrorHandler(TestCatch, &caught));
        ierr = PCSetUp(pc);
        PetscCall(PetscPopErrorHandler());
        if (!there)
          Check(ierr && caught.code == PETSC_ERR_SUP &&
                  strstr(caught.message, "use -pc_bcrpoisson_backend cpu or auto"),
                "no device: error %d, %s", (int)ierr, caught.message);
        else if (ierr)
          Check(transport == PCBCRPOISSON_TRANSPORT_NCCL && caught.code == PETSC_ERR_SUP &&
                  strstr(caught.message, "use -pc_bcrpoisson_transport"),
                "transport %s: error %d, %s", PCBCRPoissonTransports[transport], (int)ierr, caught.message);
        else {
          char *text;

          PetscCall(Compare(&c, pc, PCBCRPoissonTransports[transport]));
          PetscCall(TestViewText((PetscObject)pc, &text));
          if (size > 1 && rank == 0) {
            Check(strstr(text, "transport: "), "no transport in %s", text);
            if (transport)
              Check(strstr(strstr(text, "transport: "), PCBCRPoissonTransports[transport]),
                    "another transport than %s: %s", PCBCRPoissonTransports[transport], text);
          }
          free(text);
        }
        PetscCall(PCDestroy(&pc));
      }
      { /* auto, wherever the vectors are: then with those of one rank somewhere else */
        PC pc;

        PetscCall(NewPC(&c, PCBCRPOISSON_BACKEND_AUTO, PCBCRPOISSON_TRANSPORT_AUTO, &pc));
        PetscCall(Compare(&c, pc, "auto"));
        if (there) {
          for (int turn = 0; turn < 2; ++turn) {
            if (turn) {
              PetscCall(PCDestroy(&pc));
              PetscCall(NewPC(&c, PCBCRPOISSON_BACKEND_AUTO, PCBCRPOISSON_TRANSPORT_AUTO, &pc));
            }
            if (rank == size - 1) PetscCall(VecBindToCPU(c.b, PETSC_TRUE));
            PetscCall(Compare(&c, pc,
                              turn ? "right-hand side of one rank on the host from the start"
                                   : "right-hand side of one rank on the host"));
            if (rank == size - 1) PetscCall(VecBindToCPU(c.b, PETSC_FALSE));
          }
        }
        PetscCall(PCDestroy(&pc));
      }
      PetscCall(CaseDestroy(&c));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* NCCL refuses the messages of one rank in the middle of a solve: an error on every rank that says
   what to choose, at once and from then on, and not one that waits for messages that never come;
   that other way then works, and a solver that comes later has NCCL again */
static PetscErrorCode Faults(void)
{
  const size_t which[] = {0, 3};

  PetscFunctionBegin;
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(which); ++k) {
    const TestProblem *p = &problems[which[k]];
    PetscInt parts[3] = {1, 1, 1};
    TestCaught caught = {0, ""};
    PetscErrorCode ierr;
    Case c;
    PC pc;

    parts[p->dim - 1] = (PetscInt)size;
    PetscCall(CaseCreate(p, &c));
    PetscCall(CaseCut(&c, PETSC_COMM_WORLD, parts, NULL));
    PetscCall(CasePC(c.da1, c.A1, &pc));
    PetscCall(PCBCRPoissonSetBackend(pc, PCBCRPOISSON_BACKEND_CPU));
    PetscCall(PCApply(pc, c.b1, c.y1));
    PetscCall(PCDestroy(&pc));
    PetscCall(CaseDeal(&c, c.b1, c.b));
    PetscCall(NewPC(&c, PCBCRPOISSON_BACKEND_CUDA, PCBCRPOISSON_TRANSPORT_NCCL, &pc));
    PetscCall(PetscPushErrorHandler(TestCatch, &caught));
    ierr = PCSetUp(pc);
    PetscCall(PetscPopErrorHandler());
    if (!ierr) {
      for (int again = 0; again < 2; ++again) {
        PetscCall(Compare(&c, pc, "before a fault"));
        if (rank == size - 1) PetscCall(BCRTransportFault(1));
        CheckError(PCApply(pc, c.b, c.x), PETSC_ERR_LIB, "Use -pc_bcrpoisson_transport host");
        PetscCall(BCRTransportFault(0));
        CheckError(PCApply(pc, c.b, c.x), PETSC_ERR_LIB, "Use -pc_bcrpoisson_transport host");
        PetscCall(PCBCRPoissonSetTransport(pc, PCBCRPOISSON_TRANSPORT_HOST));
        PetscCall(Compare(&c, pc, "by way of the host after a fault"));
        PetscCall(PCDestroy(&pc));
        PetscCall(NewPC(&c, PCBCRPOISSON_BACKEND_CUDA, PCBCRPOISSON_TRANSPORT_NCCL, &pc));
      }
      PetscCall(Compare(&c, pc, "another communicator after faults"));
    } else Check(caught.code == PETSC_ERR_SUP, "NCCL: error %d, %s", (int)ierr, caught.message);
    PetscCall(PCDestroy(&pc));
    PetscCall(CaseDestroy(&c));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  int failed;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(Transports(BCRSolverHaveDevice(NULL)));
  if (BCRSolverHaveDevice(NULL)) PetscCall(Faults());
  failed = TestEndAll(PETSC_COMM_WORLD);
  PetscCall(PetscFinalize());
  return failed;
}
#else
int main(void)
{
  return TestEnd();
}
#endif
