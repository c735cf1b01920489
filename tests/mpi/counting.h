/* Counts what MPI is given to send to other ranks by persistent requests and all-to-alls. Included
   once in a program. */
#pragma once

#include <petscsys.h>
#undef MPI_Start
#undef MPI_Ialltoallv

static size_t sent_bytes, sent_messages;
static struct {
  MPI_Request request;
  size_t bytes;
} persistent[4096];
static int npersistent;

int MPI_Send_init(const void *buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm, MPI_Request *request)
{
  int k, err = PMPI_Send_init(buf, count, type, dest, tag, comm, request), len;

  PMPI_Type_size(type, &len);
  for (k = 0; k < npersistent && persistent[k].request != *request; k++)
    ;
  if (k == npersistent && k < 4095) npersistent++;
  persistent[k].request = *request;
  persistent[k].bytes = (size_t)count * (size_t)len;
  return err;
}

int MPI_Recv_init(void *buf, int count, MPI_Datatype type, int source, int tag, MPI_Comm comm, MPI_Request *request)
{
  int err = PMPI_Recv_init(buf, count, type, source, tag, comm, request);

  for (int k = 0; k < npersistent; k++)
    if (persistent[k].request == *request) persistent[k].bytes = 0;
  return err;
}

int MPI_Start(MPI_Request *request)
{
  for (int k = 0; k < npersistent; k++) {
    if (persistent[k].request != *request || !persistent[k].bytes) continue;
    sent_bytes += persistent[k].bytes;
    sent_messages++;
  }
  return PMPI_Start(request);
}

int MPI_Ialltoallv(const void *a, const int *n, const int *d, MPI_Datatype type, void *b, const int *m, const int *e,
                   MPI_Datatype other, MPI_Comm comm, MPI_Request *request)
{
  int len, p;

  PMPI_Type_size(type, &len);
  PMPI_Comm_size(comm, &p);
  for (int q = 0; q < p; q++) {
    sent_bytes += (size_t)n[q] * (size_t)len;
    sent_messages += n[q] > 0;
  }
  return PMPI_Ialltoallv(a, n, d, type, b, m, e, other, comm, request);
}
