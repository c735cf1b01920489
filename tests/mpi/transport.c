/*
  Messages between the memories of CUDA devices (src/transport/transport.h) by each transport that
  this machine has: a ring, all to all with lengths that differ and some of none, to oneself,
  several to one rank, rounds without a pause, on two streams; against what the numbers must be.
  What cannot be used is an error on every rank that says what can, and what fails on one rank is
  one on all. Without a CUDA device only the first is tested.

  ranks: 1 2 3 4
*/
#include "../../src/base/agree.h"
#include "../../src/transport/transport.h"
#include "tests/check.h"
#include <petscdevice.h>
#include <string.h>
#if defined(PETSCBCR_HAVE_CUDA)
  #include "../../src/poisson/device.h"

static int passed, failed;
static PetscMPIInt rank, size;

static void check(PetscBool good, BCRTransportKind kind, const char what[])
{
  if (good) passed++;
  else {
    failed++;
    (void)printf("FAILED on rank %d: %s, %s\n", (int)rank, BCRTransportName(kind), what);
  }
}

/* number i of message m from p to q in a round */
static double number(int p, int q, int m, int i, int round)
{
  return i + 1e4 * p + 1e6 * q + 1e8 * m + 1e9 * round;
}
static int length(int p, int q, int m)
{
  return (p + 2 * q + 3 * m) % 4 ? 100 * p + 10 * q + m + 1 : 0;
}

/* messages: of every pair, or with the neighbours of a ring */
static PetscErrorCode Rounds(BCRTransport t, BCRTransportKind kind, PetscBool ring, int nmessage, BCRStream stream[2])
{
  BCRDeviceArena arena;
  BCRMessage *send, *recv;
  double *here, *there[2];
  int nsend = 0, nrecv = 0, n[2] = {0, 0}, total = 0;
  size_t bytes = 0, count = 0;
  BCRTransportPlan plan = NULL;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&arena, sizeof(arena)));
  PetscCall(PetscMalloc2(size * nmessage, &send, size * nmessage, &recv));
  for (int q = 0; q < size; q++) {
    if (ring && q != (rank + 1) % size && q != (rank + size - 1) % size) continue;
    for (int m = 0; m < nmessage; m++) {
      send[nsend].rank = recv[nrecv].rank = q;
      send[nsend++].bytes = (size_t)length(rank, q, m) * sizeof(double);
      recv[nrecv++].bytes = (size_t)length(q, rank, m) * sizeof(double);
      n[0] += length(rank, q, m);
      n[1] += length(q, rank, m);
      if (q != rank) {
        bytes += (size_t)length(rank, q, m) * sizeof(double);
        count += length(rank, q, m) ? 1 : 0;
      }
    }
  }
  total = PetscMax(PetscMax(n[0], n[1]), 1);
  PetscCall(PetscMalloc1(total, &here));
  for (int i = 0; i < 2; i++)
    PetscCall(BCRDeviceArenaGet(&arena, (size_t)total * sizeof(double), "messages", &there[i]));
  PetscCall(BCRTransportCount(t));
  for (int round = 0; round < 11; round++) { /* from the sixth one on by a plan */
    BCRStream st = stream[round % 2];
    double *v = here;
    PetscBool good = PETSC_TRUE;

    for (int k = 0; k < nsend; k++) {
      const int q = send[k].rank, m = k % nmessage;

      send[k].p = there[0] + (v - here);
      for (int i = 0; i < length(rank, q, m); i++) *v++ = number(rank, q, m, i, round);
    }
    if (n[0]) PetscCallBCRCuda(BCRCudaPut(there[0], here, (size_t)n[0] * sizeof(double), st));
    PetscCallBCRCuda(BCRCudaZero(there[1], (size_t)total * sizeof(double), st));
    v = there[1];
    for (int k = 0; k < nrecv; k++) {
      recv[k].p = v;
      v += length(recv[k].rank, rank, k % nmessage);
    }
    if (round == 6) PetscCall(BCRTransportPlanCreate(t, nsend, send, nrecv, recv, &plan));
    if (plan) PetscCall(BCRTransportPlanExchange(plan, st));
    else PetscCall(BCRTransportExchange(t, st, nsend, send, nrecv, recv));
    if (round == 4) { /* what arrived goes on at once, back to where it came from, where it is what was sent */
      for (int k = 0; k < nsend; k++) {
        BCRMessage keep = send[k];

        send[k] = recv[k];
        recv[k] = keep;
      }
      PetscCallBCRCuda(BCRCudaZero(there[0], (size_t)total * sizeof(double), st));
      PetscCall(BCRTransportExchange(t, st, nrecv, send, nsend, recv));
      for (int k = 0; k < nsend; k++) {
        BCRMessage keep = send[k];

        send[k] = recv[k];
        recv[k] = keep;
      }
      if (n[0]) PetscCallBCRCuda(BCRCudaGet(here, there[0], (size_t)n[0] * sizeof(double), st));
      v = here;
      for (int k = 0; k < nsend; k++) {
        for (int i = 0; i < length(rank, send[k].rank, k % nmessage); i++)
          good = (PetscBool)(good && *v++ == number(rank, send[k].rank, k % nmessage, i, round));
      }
      check(good, kind, "there and back");
      good = PETSC_TRUE;
    }
    if (n[1]) PetscCallBCRCuda(BCRCudaGet(here, there[1], (size_t)n[1] * sizeof(double), st));
    v = here;
    for (int k = 0; k < nrecv; k++) {
      for (int i = 0; i < length(recv[k].rank, rank, k % nmessage); i++)
        good = (PetscBool)(good && *v++ == number(recv[k].rank, rank, k % nmessage, i, round));
    }
    check(good, kind, ring ? "ring" : "all to all");
  }
  {
    BCRTransportInfo info;
    size_t back = 0, nback = 0;

    for (int k = 0; k < nrecv; k++) {
      if (recv[k].rank == rank) continue;
      back += recv[k].bytes;
      nback += recv[k].bytes ? 1 : 0;
    }
    PetscCall(BCRTransportGetInfo(t, &info));
    check(info.bytes_sent == 11 * bytes + back && info.messages == 11 * count + nback ? PETSC_TRUE : PETSC_FALSE, kind,
          "bytes and messages");
  }
  PetscCall(BCRTransportPlanDestroy(&plan));
  PetscCall(PetscFree(here));
  PetscCall(PetscFree2(send, recv));
  PetscCall(BCRDeviceArenaFree(&arena));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Several at once, made and destroyed in another order: those that come later take over what others have left */
static PetscErrorCode Several(void)
{
  BCRTransport t[6] = {NULL, NULL, NULL, NULL, NULL, NULL};
  BCRTransportInfo info;
  BCRStream stream[2] = {NULL, NULL};

  PetscFunctionBegin;
  PetscCallBCRCuda(BCRCudaStreamCreate(&stream[1]));
  for (int round = 0; round < 3; round++) {
    for (int k = 0; k < 6; k++) {
      if (k % 3 == round) continue;
      PetscCall(BCRTransportCreate(PETSC_COMM_WORLD, "some_transport", BCR_TRANSPORT_AUTO, PETSC_FALSE, &t[k]));
    }
    for (int k = 5; k >= 0; k--) {
      if (!t[k]) continue;
      PetscCall(BCRTransportGetInfo(t[k], &info));
      PetscCall(Rounds(t[k], info.kind, k % 2 ? PETSC_TRUE : PETSC_FALSE, 2, stream));
    }
    for (int k = 0; k < 6; k++) PetscCall(BCRTransportDestroy(&t[(k + 4 * round) % 6]));
  }
  PetscCallBCRCuda(BCRCudaStreamDestroy(stream[1]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Memory that all ranks reach: on all of them or on none, filled, also where it was used before;
   what a rank writes into that of the next one is found there */
static PetscErrorCode Windows(void)
{
  const size_t words[3] = {1000, 600000, 30};
  BCRTransport t;
  BCRTransportInfo info;

  PetscFunctionBegin;
  PetscCall(BCRTransportCreate(PETSC_COMM_WORLD, "some_transport", BCR_TRANSPORT_AUTO, PETSC_FALSE, &t));
  PetscCall(BCRTransportGetInfo(t, &info));
  for (int round = 0; round < 3; round++) {
    BCRTransportWindow window[4];

    for (int k = 0; k < 4; k++) {
      const size_t n = words[(k + round) % 3];
      PetscBool good = PETSC_TRUE;
      PetscMPIInt there, all[2];
      void **base;
      unsigned *control, numbers[3];
      PetscInt64 *v;

      /* rank 0 does not want the last one */
      PetscCall(BCRTransportWindowCreate(t, k < 3 || rank || size == 1 ? PETSC_TRUE : PETSC_FALSE, n * sizeof(*v), 0xa5,
                                         &window[k], &base, &control));
      there = window[k] ? 1 : 0;
      PetscCallMPI(MPI_Allreduce(&there, &all[0], 1, MPI_INT, MPI_MIN, PETSC_COMM_WORLD));
      PetscCallMPI(MPI_Allreduce(&there, &all[1], 1, MPI_INT, MPI_MAX, PETSC_COMM_WORLD));
      check(all[0] == all[1] && (!there || (k < 3 && info.kind == BCR_TRANSPORT_NCCL)) ? PETSC_TRUE : PETSC_FALSE,
            info.kind, "a window for all or for none");
      if (!there) continue;
      PetscCall(PetscMalloc1(n, &v));
      PetscCallBCRCuda(BCRCudaGet(v, base[rank], n * sizeof(*v), NULL));
      for (size_t i = 0; i < n; i++) good = (PetscBool)(good && (uint64_t)v[i] == 0xa5a5a5a5a5a5a5a5ULL);
      PetscCallBCRCuda(BCRCudaGet(numbers, control, sizeof(numbers), NULL));
      check(good && !numbers[0] && !numbers[1] && !numbers[2] ? PETSC_TRUE : PETSC_FALSE, info.kind, "a new window");
      PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
      for (size_t i = 0; i < n; i++) v[i] = (PetscInt64)(1000000 * (size_t)rank + i + (size_t)round);
      PetscCallBCRCuda(BCRCudaPut(base[(rank + 1) % size], v, n * sizeof(*v), NULL));
      PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
      PetscCallBCRCuda(BCRCudaGet(v, base[rank], n * sizeof(*v), NULL));
      good = PETSC_TRUE;
      for (size_t i = 0; i < n; i++)
        good =
          (PetscBool)(good && v[i] == (PetscInt64)(1000000 * (size_t)((rank + size - 1) % size) + i + (size_t)round));
      check(good, info.kind, "what another rank wrote");
      PetscCall(PetscFree(v));
    }
    for (int k = 0; k < 4; k++) PetscCall(BCRTransportWindowDestroy(&window[(k + round) % 4]));
  }
  PetscCall(BCRTransportDestroy(&t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static char report[8192];

static PetscErrorCode Report(MPI_Comm comm, int line, const char *fun, const char *file, PetscErrorCode n,
                             PetscErrorType p, const char *mess, void *ctx)
{
  (void)comm, (void)line, (void)fun, (void)file, (void)p, (void)ctx;
  if (mess) (void)PetscStrlcat(report, mess, sizeof(report));
  return n;
}

/* NCCL refuses what the last rank sends: all of them say so, and that rank; what they wait for on
   their devices is given up; others that share the communicator know; a new one works */
static PetscErrorCode Fault(void)
{
  BCRTransport t[2];
  BCRTransportInfo info;
  BCRStream stream[2] = {NULL, NULL};
  BCRDeviceArena arena;
  BCRMessage send, recv;
  void *p;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++)
    PetscCall(BCRTransportCreate(PETSC_COMM_WORLD, "some_transport", BCR_TRANSPORT_AUTO, PETSC_FALSE, &t[k]));
  PetscCall(BCRTransportGetInfo(t[0], &info));
  if (info.kind == BCR_TRANSPORT_NCCL && size > 1) {
    PetscCall(PetscMemzero(&arena, sizeof(arena)));
    PetscCall(BCRDeviceArenaGet(&arena, 2 * 4096, "messages", &p));
    PetscCallBCRCuda(BCRCudaStreamCreate(&stream[1]));
    send.rank = (rank + 1) % size;
    recv.rank = (rank + size - 1) % size;
    send.bytes = recv.bytes = 4096;
    send.p = p;
    recv.p = (char *)p + 4096;
    for (int round = 0; round < 3; round++) { /* a good one, a bad one, one after it by the other transport */
      PetscErrorCode ierr;

      report[0] = 0;
      if (round == 1 && rank == size - 1) PetscCall(BCRTransportFault(1));
      PetscCall(PetscPushErrorHandler(Report, NULL));
      ierr = BCRTransportExchange(t[round / 2], stream[1], 1, &send, 1, &recv);
      ierr = BCRTransportAgree(t[round / 2], ierr);
      PetscCall(PetscPopErrorHandler());
      if (round)
        check(ierr == PETSC_ERR_LIB && strstr(report, "Use -some_transport host") ? PETSC_TRUE : PETSC_FALSE, info.kind,
              report);
      else check(ierr ? PETSC_FALSE : PETSC_TRUE, info.kind, "no fault");
      PetscCallBCRCuda(BCRCudaSynchronize(stream[1])); /* comes back */
    }
    PetscCallBCRCuda(BCRCudaStreamDestroy(stream[1]));
    PetscCall(BCRDeviceArenaFree(&arena));
  }
  for (int k = 0; k < 2; k++) PetscCall(BCRTransportDestroy(&t[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  int total[3];
  PetscBool there, aware = PETSC_FALSE;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-use_gpu_aware_mpi", &aware, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  there = BCRDeviceAvailable(NULL);
  if (there) PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  for (int kind = 0; kind < 4; kind++) {
    /* MPI takes device pointers; a claim that is not tried where it is not so */
    for (int claim = aware ? 1 : 0; claim < 2; claim++) {
      BCRTransport t = NULL;
      BCRTransportInfo info;
      BCRStream stream[2] = {NULL, NULL};
      PetscErrorCode ierr;

      if (claim && !aware && (kind == BCR_TRANSPORT_MPI || kind == BCR_TRANSPORT_AUTO)) continue;
      report[0] = 0;
      PetscCall(PetscPushErrorHandler(Report, NULL));
      ierr = BCRTransportCreate(PETSC_COMM_WORLD, "some_transport", (BCRTransportKind)kind,
                                claim ? PETSC_TRUE : PETSC_FALSE, &t);
      PetscCall(PetscPopErrorHandler());
      if (ierr) { /* on all ranks alike */
        int code[2] = {(int)ierr, -(int)ierr};

        PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, code, 2, MPI_INT, MPI_MIN, PETSC_COMM_WORLD));
        check(code[0] == -code[1] ? PETSC_TRUE : PETSC_FALSE, (BCRTransportKind)kind, "the same error on all ranks");
        if (there) {
          check(ierr == PETSC_ERR_SUP && strstr(report, "use -some_transport") ? PETSC_TRUE : PETSC_FALSE,
                (BCRTransportKind)kind, report);
          check(kind == BCR_TRANSPORT_NCCL || (kind == BCR_TRANSPORT_MPI && !claim) ? PETSC_TRUE : PETSC_FALSE,
                (BCRTransportKind)kind, "an error");
        } else
          check(ierr == PETSC_ERR_GPU && strstr(report, "no CUDA device") ? PETSC_TRUE : PETSC_FALSE,
                (BCRTransportKind)kind, report);
        if (rank == 0 && !claim) (void)printf("%s: %s\n", BCRTransportName((BCRTransportKind)kind), report);
      } else {
        PetscCall(BCRTransportGetInfo(t, &info));
        if (rank == 0)
          (void)printf("%s: %s%s%s\n", BCRTransportName((BCRTransportKind)kind), BCRTransportName(info.kind),
                       info.why[0] ? ", as " : "", info.why);
        check(there, (BCRTransportKind)kind, "no error without a device");
        check(kind == BCR_TRANSPORT_AUTO || (int)info.kind == kind ? PETSC_TRUE : PETSC_FALSE, (BCRTransportKind)kind,
              "another one");
        check(kind != BCR_TRANSPORT_AUTO || !strstr(info.why, "share a GPU") || info.kind == BCR_TRANSPORT_HOST
                ? PETSC_TRUE
                : PETSC_FALSE,
              (BCRTransportKind)kind, "ranks that share a GPU, and not by the host");
        PetscCallBCRCuda(BCRCudaStreamCreate(&stream[1]));
        for (int ring = 0; ring < 2; ring++) {
          for (int n = 1; n < 4; n += 2) PetscCall(Rounds(t, info.kind, ring ? PETSC_TRUE : PETSC_FALSE, n, stream));
        }
        PetscCallBCRCuda(BCRCudaStreamDestroy(stream[1]));
      }
      PetscCall(BCRTransportDestroy(&t));
    }
  }
  if (there) {
    PetscCall(Several());
    PetscCall(Windows());
    PetscCall(Fault());
    PetscCall(Windows());
    PetscCall(Several());
  }
  total[0] = passed;
  total[1] = failed;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, total, 2, MPI_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscFinalize());
  return TestStatus(rank == 0, total[0], total[1]);
}
#else
int main(void)
{
  return TestStatus(1, 0, 0);
}
#endif
