/*
  ranks: 1 2 3 4

  PCNEATO, compact derivatives and recurrences on several ranks with CUDA devices: lines that are
  cut, by every transport that there is, against dense LAPACK; what is not there is an error on
  every rank that says what to use instead, and so is a message that NCCL refuses in a solve;
  PCView() says which it is. Vectors that one rank has on the host and the others on the device. On
  a machine without a device: `cuda` is an error on all ranks, `auto` works on the host.
*/
#include <petsc/private/petscimpl.h> /* use_gpu_aware_mpi */
#include "neatocases.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include "src/tridiagonal/tridiagonal.h"
  #include "src/transport/transport.h"
  #include <stdlib.h>

static PetscMPIInt rank, size;
static PetscBool there;

static PetscReal Bound(void)
{
  return sizeof(PetscReal) < sizeof(double) ? (PetscReal)1e-5 : (PetscReal)1e-13;
}

static PetscErrorCode NewPC(const Case *k, DM da, Mat A, PCNeatoBackend backend, PCNeatoTransport transport, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(TestPC(PCNEATO, da, A, pc));
  PetscCall(PCNeatoSetAxis(*pc, (PCNeatoAxis)(k->axis + 1)));
  PetscCall(PCNeatoSetBackend(*pc, backend));
  PetscCall(PCNeatoSetTransport(*pc, transport));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Compare(const Case *k, DM da, PC pc, Vec f, Vec u, const char how[])
{
  PetscReal difference;

  PetscFunctionBegin;
  for (int t = 0; t < 2; ++t) {
    PetscCall(VecSet(u, 7));
    PetscCall(t ? PCApplyTranspose(pc, f, u) : PCApply(pc, f, u));
    PetscCall(CompareDense(k, da, (PetscBool)t, u, &difference));
    Check(difference <= Bound(), "axis %d kind %d periodic %d cut %d, %s, transpose %d: off by %g", (int)k->axis,
          (int)k->kind, (int)k->periodic, (int)Cut, how, t, (double)difference);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Transports(const Case *k)
{
  DM da;
  Mat A;
  Vec f, u;

  PetscFunctionBegin;
  PetscCall(NewDMDA(k, &da));
  PetscCall(DMSetVecType(da, there ? VECCUDA : VECSTANDARD));
  PetscCall(Assemble(k, da, &A));
  PetscCall(DMCreateGlobalVector(da, &f));
  PetscCall(VecDuplicate(f, &u));
  PetscCall(FillRhs(k, da, f));
  for (int transport = 0; transport < 4; ++transport) {
    PC pc;
    PetscErrorCode ierr;
    TestCaught caught = {0, ""};

    PetscCall(NewPC(k, da, A, PCNEATO_BACKEND_CUDA, (PCNeatoTransport)transport, &pc));
    PetscCall(PetscPushErrorHandler(TestCatch, &caught));
    ierr = PCSetUp(pc);
    PetscCall(PetscPopErrorHandler());
    if (!there)
      Check(ierr && caught.code == PETSC_ERR_SUP && strstr(caught.message, "use -pc_neato_"), "no device: error %d, %s",
            (int)ierr, caught.message);
    else if (transport == PCNEATO_TRANSPORT_MPI && size > 1 && !use_gpu_aware_mpi)
      Check(ierr && caught.code == PETSC_ERR_SUP &&
              strstr(caught.message, "use -pc_neato_transport nccl, host or auto"),
            "mpi: error %d, %s", (int)ierr, caught.message);
    else if (ierr)
      Check(transport == PCNEATO_TRANSPORT_NCCL && caught.code == PETSC_ERR_SUP &&
              strstr(caught.message, "use -pc_neato_transport"),
            "transport %s: error %d, %s", PCNeatoTransports[transport], (int)ierr, caught.message);
    else {
      char *text;

      PetscCall(Compare(k, da, pc, f, u, PCNeatoTransports[transport]));
      PetscCall(TestViewText((PetscObject)pc, &text));
      if (rank == 0) {
        Check(strstr(text, "backend: cuda"), "the view does not say that the backend is cuda: %s", text);
        if (size > 1 && transport)
          Check(strstr(text, "transport: ") && strstr(strstr(text, "transport: "), PCNeatoTransports[transport]),
                "another transport than %s: %s", PCNeatoTransports[transport], text);
      }
      free(text);
      /* NCCL refuses the messages of one rank: an error on every rank, now and from now on */
      if (size > 1 && transport == PCNEATO_TRANSPORT_NCCL) {
        if (rank == 0) PetscCall(BCRTransportFault(1));
        CheckError(PCApply(pc, f, u), PETSC_ERR_LIB, "Use -pc_neato_transport host");
        PetscCall(BCRTransportFault(0));
        CheckError(PCApply(pc, f, u), PETSC_ERR_LIB, "Use -pc_neato_transport host");
        PetscCall(PCNeatoSetTransport(pc, PCNEATO_TRANSPORT_HOST));
        PetscCall(Compare(k, da, pc, f, u, "by way of the host after a fault"));
      }
    }
    PetscCall(PCDestroy(&pc));
  }
  /* auto: vectors as the DMDA has them; of one rank on the host then; from the start */
  for (int turn = 0; turn < 3; ++turn) {
    static PC pc;

    if (turn != 1) PetscCall(NewPC(k, da, A, PCNEATO_BACKEND_AUTO, PCNEATO_TRANSPORT_AUTO, &pc));
    if (turn && there && rank == size - 1) PetscCall(VecBindToCPU(f, PETSC_TRUE));
    PetscCall(Compare(k, da, pc, f, u, turn ? "right-hand side of one rank on the host" : "auto"));
    if (turn && there && rank == size - 1) PetscCall(VecBindToCPU(f, PETSC_FALSE));
    if (turn) PetscCall(PCDestroy(&pc));
  }
  PetscCall(TestDestroy(&f, &u, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Derivatives along x of a grid that is cut there, with the field of one rank on the host: as with
   all of them where they were */
static PetscErrorCode Compact(void)
{
  DM da;
  Mat D[2];
  Vec f, d[2], e;
  PetscReal off, norm;

  PetscFunctionBegin;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_PERIODIC, DMDA_STENCIL_STAR, 37, 21, size, 1,
                         1, 1, NULL, NULL, &da));
  PetscCall(DMSetVecType(da, there ? VECCUDA : VECSTANDARD));
  PetscCall(DMSetUp(da));
  for (int i = 0; i < 2; ++i)
    PetscCall(MatCreateCompactDerivative(da, (DMDirection)i, MAT_COMPACT_LELE6, 1 + i, (PetscReal)0.1, &D[i]));
  PetscCall(DMCreateGlobalVector(da, &f));
  PetscCall(VecDuplicate(f, &e));
  for (int i = 0; i < 2; ++i) PetscCall(VecDuplicate(f, &d[i]));
  PetscCall(TestRandom(f));
  PetscCall(PetscBCRCompactGradient(2, D, f, d));
  if (there && rank == size - 1) PetscCall(VecBindToCPU(f, PETSC_TRUE));
  for (int i = 0; i < 2; ++i) {
    char *text;

    PetscCall(MatMult(D[i], f, e));
    PetscCall(VecAXPY(e, -1, d[i]));
    PetscCall(TestMaxNorm(e, &off));
    PetscCall(VecNorm(d[i], NORM_INFINITY, &norm));
    Check(off == 0 && norm > 0, "derivative %d with one rank's field on the host: off by %g of %g", i, (double)off,
          (double)norm);
    PetscCall(TestViewText((PetscObject)D[i], &text));
    if (rank == 0)
      Check(strstr(text, there ? "backend: cuda" : "backend: cpu"), "the view does not say where: %s", text);
    free(text);
  }
  PetscCall(VecCopy(d[1], e));
  PetscCall(PetscBCRCompactGradient(2, D, f, d));
  PetscCall(VecAXPY(e, -1, d[1]));
  PetscCall(TestMaxNorm(e, &off));
  Check(off == 0, "gradient with one rank's field on the host: off by %g", (double)off);
  if (there && rank == size - 1) PetscCall(VecBindToCPU(f, PETSC_FALSE));
  for (int i = 0; i < 2; ++i) {
    PetscCall(MatDestroy(&D[i]));
    PetscCall(VecDestroy(&d[i]));
  }
  PetscCall(TestDestroy(&e, &f, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A recurrence with all vectors of one rank on the host, and with some of them */
static PetscErrorCode Recurrence(void)
{
  Vec s, t, w, v;
  PetscReal off, norm;

  PetscFunctionBegin;
  PetscCall(VecCreate(PETSC_COMM_WORLD, &s));
  PetscCall(VecSetSizes(s, 10000 + 100 * rank, PETSC_DETERMINE));
  PetscCall(VecSetType(s, there ? VECCUDA : VECSTANDARD));
  PetscCall(VecDuplicate(s, &t));
  PetscCall(VecDuplicate(s, &w));
  PetscCall(VecDuplicate(s, &v));
  PetscCall(TestRandom(s));
  PetscCall(TestRandom(t));
  PetscCall(VecScale(s, (PetscScalar)0.5));
  PetscCall(PetscBCRRecurrenceSolve(s, 0, t, 1, v));
  for (int turn = 0; turn < 2; ++turn) {
    if (there && rank == 0) {
      PetscCall(VecBindToCPU(t, PETSC_TRUE));
      if (turn) PetscCall(VecBindToCPU(s, PETSC_TRUE));
      if (turn) PetscCall(VecBindToCPU(w, PETSC_TRUE));
    }
    PetscCall(PetscBCRRecurrenceSolve(s, 0, t, 1, w));
    if (there && rank == 0) {
      PetscCall(VecBindToCPU(t, PETSC_FALSE));
      PetscCall(VecBindToCPU(s, PETSC_FALSE));
      PetscCall(VecBindToCPU(w, PETSC_FALSE));
    }
    PetscCall(VecAXPY(w, -1, v));
    PetscCall(TestMaxNorm(w, &off));
    PetscCall(VecNorm(v, NORM_INFINITY, &norm));
    Check(off <= 20 * PETSC_MACHINE_EPSILON * norm,
          "recurrence with vectors of one rank on the host, turn %d: off by %g of %g", turn, (double)off, (double)norm);
  }
  PetscCall(TestDestroy(&s, &t, &w, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const Case list[] = {
    {2, {37, 5, 1},  1, 0, PETSC_FALSE, SAME,    1, 0, 0, 0, 0.5 },
    {2, {6, 41, 1},  1, 1, PETSC_TRUE,  GENERAL, 0, 0, 0, 0, 0.25},
    {3, {5, 4, 33},  2, 2, PETSC_FALSE, PERLINE, 0, 0, 0, 0, 0.5 },
    {3, {40, 35, 3}, 1, 0, PETSC_TRUE,  SAME,    0, 0, 0, 0, 0.5 }
  };
  BCRTriOptions options = {.method = BCR_TRI_AUTO};
  int status = 1;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  there = BCRTriDevicePossible(&options, NULL);
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(list); ++i) {
    for (Cut = 1; Cut <= 3; ++Cut) PetscCall(Transports(&list[i]));
  }
  PetscCall(Compact());
  PetscCall(Recurrence());
  PetscCall(TestSum(&status));
  PetscCall(PetscFinalize());
  return status;
}
#else
int main(void)
{
  return TestEnd();
}
#endif
