/*
  Counts what a program sends: the MPI calls of everything that it is linked with, PETSc included,
  come here first (the profiling interface of the MPI standard, chapter 15). Bytes to other ranks
  only; of an all-reduce its size, once. To be included last.
*/
#pragma once

#include <mpi.h>
#include <stdlib.h>

#undef MPI_Send
#undef MPI_Isend
#undef MPI_Issend
#undef MPI_Sendrecv
#undef MPI_Send_init
#undef MPI_Request_free
#undef MPI_Start
#undef MPI_Startall
#undef MPI_Alltoall
#undef MPI_Alltoallv
#undef MPI_Ialltoall
#undef MPI_Ialltoallv
#undef MPI_Allgather
#undef MPI_Iallgather
#undef MPI_Allgatherv
#undef MPI_Iallgatherv
#undef MPI_Allreduce
#undef MPI_Iallreduce
#undef MPI_Wait
#undef MPI_Waitall

static struct {
  double bytes, messages, reductions, waited; /* seconds in MPI_Wait(), MPI_Waitall() and MPI_Allreduce() */
} BenchSent;

enum {
  BENCH_PERSISTENT = 4096
};
static struct {
  MPI_Request request;
  double bytes;
} BenchPersistent[BENCH_PERSISTENT];
static int BenchPersistents;

static void BenchSend(MPI_Comm comm, double count, MPI_Datatype type, int to)
{
  int size, rank;

  PMPI_Comm_rank(comm, &rank);
  PMPI_Type_size(type, &size);
  if (to == MPI_PROC_NULL || to == rank || count == 0) return;
  BenchSent.bytes += count * size;
  BenchSent.messages++;
}
static void BenchSendAll(MPI_Comm comm, const int count[], int same, MPI_Datatype type)
{
  int size;

  PMPI_Comm_size(comm, &size);
  for (int q = 0; q < size; q++) BenchSend(comm, count ? count[q] : same, type, q);
}

int MPI_Send(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c)
{
  BenchSend(c, n, t, to);
  return PMPI_Send(b, n, t, to, tag, c);
}
int MPI_Isend(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r)
{
  BenchSend(c, n, t, to);
  return PMPI_Isend(b, n, t, to, tag, c, r);
}
int MPI_Issend(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r)
{
  BenchSend(c, n, t, to);
  return PMPI_Issend(b, n, t, to, tag, c, r);
}
int MPI_Sendrecv(const void *b, int n, MPI_Datatype t, int to, int tag, void *rb, int rn, MPI_Datatype rt, int from,
                 int rtag, MPI_Comm c, MPI_Status *s)
{
  BenchSend(c, n, t, to);
  return PMPI_Sendrecv(b, n, t, to, tag, rb, rn, rt, from, rtag, c, s);
}
int MPI_Send_init(const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm c, MPI_Request *r)
{
  const int error = PMPI_Send_init(b, n, t, to, tag, c, r);
  int size, rank;

  PMPI_Type_size(t, &size);
  PMPI_Comm_rank(c, &rank);
  if (BenchPersistents == BENCH_PERSISTENT) abort();
  BenchPersistent[BenchPersistents].request = *r;
  BenchPersistent[BenchPersistents++].bytes = to == rank || to == MPI_PROC_NULL ? 0 : (double)n * size;
  return error;
}
static void BenchStart(MPI_Request r)
{
  for (int i = 0; i < BenchPersistents; i++) {
    if (BenchPersistent[i].request != r || !BenchPersistent[i].bytes) continue;
    BenchSent.bytes += BenchPersistent[i].bytes;
    BenchSent.messages++;
  }
}
int MPI_Request_free(MPI_Request *r)
{
  for (int i = 0; i < BenchPersistents; i++) {
    if (BenchPersistent[i].request == *r) BenchPersistent[i--] = BenchPersistent[--BenchPersistents];
  }
  return PMPI_Request_free(r);
}
int MPI_Start(MPI_Request *r)
{
  BenchStart(*r);
  return PMPI_Start(r);
}
int MPI_Startall(int n, MPI_Request r[])
{
  for (int i = 0; i < n; i++) BenchStart(r[i]);
  return PMPI_Startall(n, r);
}
int MPI_Alltoall(const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, MPI_Comm c)
{
  BenchSendAll(c, NULL, n, t);
  return PMPI_Alltoall(b, n, t, rb, rn, rt, c);
}
int MPI_Ialltoall(const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, MPI_Comm c, MPI_Request *r)
{
  BenchSendAll(c, NULL, n, t);
  return PMPI_Ialltoall(b, n, t, rb, rn, rt, c, r);
}
int MPI_Alltoallv(const void *b, const int n[], const int o[], MPI_Datatype t, void *rb, const int rn[], const int ro[],
                  MPI_Datatype rt, MPI_Comm c)
{
  BenchSendAll(c, n, 0, t);
  return PMPI_Alltoallv(b, n, o, t, rb, rn, ro, rt, c);
}
int MPI_Ialltoallv(const void *b, const int n[], const int o[], MPI_Datatype t, void *rb, const int rn[],
                   const int ro[], MPI_Datatype rt, MPI_Comm c, MPI_Request *r)
{
  BenchSendAll(c, n, 0, t);
  return PMPI_Ialltoallv(b, n, o, t, rb, rn, ro, rt, c, r);
}
int MPI_Allgather(const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, MPI_Comm c)
{
  BenchSendAll(c, NULL, n, t);
  return PMPI_Allgather(b, n, t, rb, rn, rt, c);
}
int MPI_Iallgather(const void *b, int n, MPI_Datatype t, void *rb, int rn, MPI_Datatype rt, MPI_Comm c, MPI_Request *r)
{
  BenchSendAll(c, NULL, n, t);
  return PMPI_Iallgather(b, n, t, rb, rn, rt, c, r);
}
int MPI_Allgatherv(const void *b, int n, MPI_Datatype t, void *rb, const int rn[], const int ro[], MPI_Datatype rt,
                   MPI_Comm c)
{
  BenchSendAll(c, NULL, n, t);
  return PMPI_Allgatherv(b, n, t, rb, rn, ro, rt, c);
}
int MPI_Iallgatherv(const void *b, int n, MPI_Datatype t, void *rb, const int rn[], const int ro[], MPI_Datatype rt,
                    MPI_Comm c, MPI_Request *r)
{
  BenchSendAll(c, NULL, n, t);
  return PMPI_Iallgatherv(b, n, t, rb, rn, ro, rt, c, r);
}
int MPI_Allreduce(const void *b, void *rb, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c)
{
  double start;
  int size, error;

  PMPI_Type_size(t, &size);
  BenchSent.bytes += (double)n * size;
  BenchSent.reductions++;
  start = PMPI_Wtime();
  error = PMPI_Allreduce(b, rb, n, t, op, c);
  BenchSent.waited += PMPI_Wtime() - start;
  return error;
}
int MPI_Wait(MPI_Request *r, MPI_Status *s)
{
  const double start = PMPI_Wtime();
  const int error = PMPI_Wait(r, s);

  BenchSent.waited += PMPI_Wtime() - start;
  return error;
}
int MPI_Waitall(int n, MPI_Request r[], MPI_Status s[])
{
  const double start = PMPI_Wtime();
  const int error = PMPI_Waitall(n, r, s);

  BenchSent.waited += PMPI_Wtime() - start;
  return error;
}
int MPI_Iallreduce(const void *b, void *rb, int n, MPI_Datatype t, MPI_Op op, MPI_Comm c, MPI_Request *r)
{
  int size;

  PMPI_Type_size(t, &size);
  BenchSent.bytes += (double)n * size;
  BenchSent.reductions++;
  return PMPI_Iallreduce(b, rb, n, t, op, c, r);
}
