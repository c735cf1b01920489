#include <petsc/private/petscimpl.h>
#include <petscbcr.h> /*I "petscbcr.h" I*/
#include "devrecurrence.h"
#include "../base/agree.h"
#include "../base/log.h"
#include "../base/shared.h"
#include "../base/stream.h"

/* SUBMANSEC = Vec */

/* What a rank tells the others: its rows as one part. known: T is the value itself, of the first rows of all */
typedef struct {
  /* bad: 1 if sizes differ, 2 after an error; scale: 0 where there are coefficients */
  PetscReal S[2], T[2], growth, known, bad, scale[2], initial[2];
} Share;
#define SHARE_REALS ((PetscMPIInt)(sizeof(Share) / sizeof(PetscReal)))
#define SHARE_FEW   64 /* ranks that need no memory for what they are told */

/* The arrays' place; and what is done there */
typedef struct {
  MPI_Comm comm; /* whose vectors share workspace */
  PetscBool device;
  void *stream;
} Place;

static PetscErrorCode work_destroy(void *data)
{
  PetscFunctionBegin;
  PetscCall(PetscFree(((BCRRecurrenceWork *)data)->powers));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode work_get(const Place *place, BCRRecurrence *r)
{
  PetscFunctionBegin;
  PetscCall(BCRCommGetShared(place->comm, sizeof(*r->work), work_destroy, &r->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(const Place *place, const BCRRecurrence *r, const PetscScalar *t, PetscScalar start,
                            PetscScalar *w, PetscScalar *end)
{
  BCRDeviceRecurrence device;
  BCRRecurrence h = *r;

  PetscFunctionBegin;
  if (BCR_HAVE_CUDA && place->device) {
    PetscCall(BCRDeviceRecurrenceGet(place->comm, &device));
    PetscCall(BCRDeviceRecurrenceSolve(device, r, place->stream, t, start, w, end));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(work_get(place, &h));
  PetscCall(BCRRecurrenceSolve(&h, t, start, w));
  if (end) *end = w[r->n - 1];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Reduce(const Place *place, const BCRRecurrence *r, const PetscScalar *t,
                             BCRRecurrenceCarry *carry)
{
  BCRDeviceRecurrence device;
  BCRRecurrence h = *r;

  PetscFunctionBegin;
  if (BCR_HAVE_CUDA && place->device) {
    PetscCall(BCRDeviceRecurrenceGet(place->comm, &device));
    PetscCall(BCRDeviceRecurrenceReduce(device, r, place->stream, t, carry));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(work_get(place, &h));
  PetscCall(BCRRecurrenceReduce(&h, t, carry));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void Put(PetscReal p[2], PetscScalar x)
{
  p[0] = PetscRealPart(x);
  p[1] = PetscImaginaryPart(x);
}

static PetscScalar Get(const PetscReal p[2])
{
#if defined(PETSC_USE_COMPLEX)
  return PetscCMPLX(p[0], p[1]);
#else
  return p[0];
#endif
}

/*
  The P-scheme once more with a rank for each part: pre-computation on all ranks at once, an
  all-gather of S and T, the propagation on every rank for itself, determination. The rank with the
  first rows knows its start, and is done at once. A rank whose products grow cannot tell S and T
  beforehand (see pscheme.h): the ranks after it wait for its last value.
*/
static PetscErrorCode Distributed(MPI_Comm comm, const Place *place, const BCRRecurrence *r, PetscInt first, PetscInt N,
                                  const PetscScalar *t, PetscScalar initial, PetscScalar *w, PetscBool bad)
{
  const PetscBool knows = (PetscBool)(first == 0 && r->n > 0);
  PetscBool done = knows;
  PetscScalar x = initial, start = 0;
  Share mine =
          {
            {1, 0},
            {0, 0},
            1, 0, 0, {0, 0},
            {0, 0}
  },
        few[SHARE_FEW], *room = NULL, *all;
  PetscMPIInt size, rank;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &size));
  PetscCallMPI(MPI_Comm_rank(comm, &rank));
  mine.bad = bad ? 1 : 0;
  Put(mine.scale, r->s ? 0 : r->scale);
  Put(mine.initial, initial);
  if (bad) done = PETSC_TRUE;
  else if (knows) {
    PetscScalar end = 0;

    ierr = Solve(place, r, t, initial, w, &end);
    mine.known = 1;
    Put(mine.T, end);
  } else if (r->n && first + r->n < N) { /* nobody comes after the last rows */
    BCRRecurrenceCarry carry;

    ierr = Reduce(place, r, t, &carry);
    if (!ierr) {
      Put(mine.S, carry.S);
      Put(mine.T, carry.T);
      mine.growth = carry.growth;
    }
  }
  if (ierr) mine.bad = 2;
  if (size > SHARE_FEW)
    BCRCallElse(BCRFaultShare(comm, PetscMalloc1(size, &room), BCR_NO_MEMORY), (void)PetscFree(room));
  all = room ? room : few;
  PetscCallMPI(MPI_Allgather(&mine, SHARE_REALS, MPIU_REAL, all, SHARE_REALS, MPIU_REAL, comm));
  for (PetscMPIInt p = 0; p < size; p++) {
    const PetscReal told = all[p].bad;
    const PetscBool wrong = told > 0 ? PETSC_TRUE : PETSC_FALSE;

    /* bits: a NaN is the same as itself */
    const PetscBool other = (PetscBool)(!wrong && (memcmp(all[p].scale, all[0].scale, sizeof(all[p].scale)) ||
                                                   memcmp(all[p].initial, all[0].initial, sizeof(all[p].initial))));

    if (wrong || other) PetscCall(PetscFree(room));
    PetscCheck(!other, comm, PETSC_ERR_ARG_NOTSAMETYPE,
               "Coefficient or initial value of rank %d differ from those of rank 0: give the same on every rank",
               (int)p);
    if (told > 1) PetscCall(BCRFaultShare(comm, ierr, BCR_NO_MEMORY));
    PetscCheck(!wrong, comm, PETSC_ERR_ARG_INCOMP,
               "On rank %d the vectors s, t and w have different local sizes: make them with VecDuplicate(), or give "
               "them the same PetscLayout",
               (int)p);
  }
  for (PetscMPIInt p = 0; p < size; p++) {
    const PetscScalar before = x;

    if (p == rank) start = x;
    x = all[p].known > 0 ? Get(all[p].T) : Get(all[p].S) * before + Get(all[p].T);
    if (all[p].known > 0 || PetscIsNanScalar(before)) continue;
    if (all[p].growth <= BCR_RECUR_GROWTH && !PetscIsInfOrNanScalar(before) && !PetscIsInfOrNanScalar(x)) continue;
    x = before; /* of a rank without rows */
    if (p == rank && r->n) {
      ierr = Solve(place, r, t, start, w, &x);
      if (ierr) x = (PetscScalar)NAN; /* those who wait for it do not get a wrong number */
      done = PETSC_TRUE;
    }
    PetscCallMPI(MPI_Bcast(&x, 1, MPIU_SCALAR, p, comm));
  }
  PetscCall(PetscFree(room));
  PetscCall(ierr);
  if (!done && r->n) PetscCall(Solve(place, r, t, start, w, NULL));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether all of this rank's arrays are there; another rank's may be elsewhere */
static PetscErrorCode OnDevice(Vec s, Vec t, Vec w, PetscBool *device)
{
  Vec v[3] = {w, t, s};

  PetscFunctionBegin;
  *device = (PetscBool)(BCR_HAVE_CUDA && !PetscDefined(USE_COMPLEX));
  for (int i = 0; i < 3 && *device; i++) {
    const PetscScalar *a;
    PetscMemType type;

    if (!v[i]) continue;
    PetscCall(VecGetArrayReadAndMemType(v[i], &a, &type));
    if (!PetscMemTypeCUDA(type)) *device = PETSC_FALSE;
    PetscCall(VecRestoreArrayReadAndMemType(v[i], &a));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@
  PetscBCRRecurrenceSolve - solves a first-order linear recurrence on vectors, in parallel

  Collective

  Input Parameters:
+ s       - the coefficients, or `NULL` for the same coefficient `scale` everywhere
. scale   - the coefficient where `s` is `NULL`, else not used; the same on all processes
. t       - the inhomogeneous terms
- initial - the value before the first one, w_{-1}; the same on all processes

  Output Parameter:
. w - the solution, w_i = s_i w_{i-1} + t_i for i = 0, ..., N-1, i the global index over all processes; may be `t` or `s`

  Level: intermediate

  Notes:
  The vectors have the same communicator and the same layout, of any local sizes, zero among them.
  They are dense vectors of any type. Where all of a process's vectors are in the memory of a CUDA
  device the work is done there, in one pass over the arrays; vectors in different memories, and
  complex ones, are copied to the host and back.

  The array is cut into parts that are treated at the same time (the P-scheme). Pre-computation:
  every part from a zero start, which gives w_end = S w_start + T. Propagation: the starts of the
  parts, one after another. Determination: the parts, each from its start. Within a process the
  parts lie in the lanes of vector instructions, and there are about sqrt(n/2) of them; each process
  is one part of the whole. A process sends 7 real numbers, in one `MPI_Allgather()`. On a device
  the parts have 16 elements and the threads have one each; tiles of 4096 take their start from
  those before them.

  The result is that of the sequential loop to rounding, for any coefficients: parts in which the
  coefficients grow are done in order, and processes with such parts one after another, with a
  broadcast each. A NaN in t_i or s_i gives NaN in w_i and after it, as in the loop; nothing is
  raised. Products of coefficients that underflow are taken for zero.

  The recurrence from the last element to the first is that of the reversed arrays.

  Errors:
  `PETSC_ERR_ARG_INCOMP` on all processes if the local sizes differ on any; `PETSC_ERR_ARG_SIZ` if the global ones do.

  References:
  A. Wakatani, Implementation and evaluation of recurrence equation solvers on GPGPU systems using
  rearrangement of array configurations, FUTURE COMPUTING 2012, section II.B and equation (18).

.seealso: `Vec`, `PCNEATO`
@*/
PetscErrorCode PetscBCRRecurrenceSolve(Vec s, PetscScalar scale, Vec t, PetscScalar initial, Vec w)
{
  MPI_Comm comm;
  PetscMPIInt size;
  BCRRecurrence r = {0, NULL, scale, 0, PETSC_FALSE, -1, NULL};
  const PetscScalar *ta, *sa = NULL;
  PetscScalar *wa;
  PetscInt N, n, first;
  PetscBool bad = PETSC_FALSE;
  Place place = {MPI_COMM_NULL, PETSC_FALSE, NULL};

  PetscFunctionBegin;
  if (s) PetscValidHeaderSpecific(s, VEC_CLASSID, 1);
  PetscValidHeaderSpecific(t, VEC_CLASSID, 3);
  PetscValidHeaderSpecific(w, VEC_CLASSID, 5);
  PetscCheckSameComm(t, 3, w, 5);
  if (s) PetscCheckSameComm(t, 3, s, 1);
  PetscValidLogicalCollectiveScalar(t, scale, 2);
  PetscValidLogicalCollectiveScalar(t, initial, 4);
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscBCRCiteRecurrence());
  PetscCall(PetscObjectGetComm((PetscObject)t, &comm));
  PetscCallMPI(MPI_Comm_size(comm, &size));
  place.comm = comm;
  PetscCall(VecGetSize(t, &N));
  PetscCall(VecGetLocalSize(t, &r.n));
  PetscCall(VecGetOwnershipRange(t, &first, NULL));
  for (int i = 0; i < 2; i++) {
    Vec v = i ? s : w;
    PetscInt M;

    if (!v) continue;
    PetscCall(VecGetSize(v, &M));
    PetscCall(VecGetLocalSize(v, &n));
    PetscCheck(M == N, comm, PETSC_ERR_ARG_SIZ,
               "%s has %" PetscInt_FMT " elements and t has %" PetscInt_FMT ": they must have the same size",
               i ? "s" : "w", M, N);
    if (n != r.n) bad = PETSC_TRUE;
  }
  PetscCall(PetscLogEventBegin(BCR_Recurrence, t, w, 0, 0));
  PetscCall(OnDevice(s, t, w, &place.device));
  if (BCR_HAVE_CUDA && place.device) {
    PetscMemType type;

    PetscCall(BCRGetStream(&place.stream));
    PetscCall(VecGetArrayAndMemType(w, &wa, &type));
    if (t == w) ta = wa;
    else PetscCall(VecGetArrayReadAndMemType(t, &ta, &type));
    if (s == w) sa = wa;
    else if (s == t) sa = ta;
    else if (s) PetscCall(VecGetArrayReadAndMemType(s, &sa, &type));
  } else { /* one access for each vector: w may be t or s */
    PetscCall(VecGetArray(w, &wa));
    if (t == w) ta = wa;
    else PetscCall(VecGetArrayRead(t, &ta));
    if (s == w) sa = wa;
    else if (s == t) sa = ta;
    else if (s) PetscCall(VecGetArrayRead(s, &sa));
  }
  r.s = s ? sa : NULL;
  if (s && !r.n) r.s = &scale; /* no array, but not a constant either */
  if (size == 1) PetscCall(r.n ? Solve(&place, &r, ta, initial, wa, NULL) : PETSC_SUCCESS);
  else PetscCall(Distributed(comm, &place, &r, first, N, ta, initial, wa, bad));
  if (place.device) {
    if (s && s != w && s != t) PetscCall(VecRestoreArrayReadAndMemType(s, &sa));
    if (t != w) PetscCall(VecRestoreArrayReadAndMemType(t, &ta));
    PetscCall(VecRestoreArrayAndMemType(w, &wa));
  } else {
    if (s && s != w && s != t) PetscCall(VecRestoreArrayRead(s, &sa));
    if (t != w) PetscCall(VecRestoreArrayRead(t, &ta));
    PetscCall(VecRestoreArray(w, &wa));
  }
  PetscCall(PetscLogFlops(2.0 * (double)r.n));
  PetscCall(PetscLogEventEnd(BCR_Recurrence, t, w, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}
