/*
  Batches of lines over the ranks of a communicator: what PC, KSP, compact derivatives and the
  public calls use. One rank: BCRTriLocal.

  Several: Mattor's method (paper 002 section 3.3) with the first and last rows of each rank as the
  unknowns that ranks share. Without the couplings out of the rank a line is solved as r = A^-1 f.
  The true solution differs by what the ends of the rank's rows are changed by,

    x = r + (x_first - r_first) w_first + (x_last - r_last) w_last,

  w_first solves the homogeneous interior rows with values 1 and 0 in the first and last row, w_last
  with 0 and 1. They depend on the matrix alone, and decay away from their end by the interior's
  ratios of couplings to pivots, so that they are kept only as far as they count. Eliminating the
  interior rows leaves S, a 2 x 2 matrix, on the first and last row: a tridiagonal system of two
  rows per rank, dominant where the lines are, with right-hand side S (r_first, r_last), since S is
  the inverse of the corners of A^-1. That is what reduced.h solves. (The thesis writes it for the
  unknowns of the neighbours, which makes a system whose diagonal is small.)

  The right-hand side is also f_first - v_first^T f and f_last - v_last^T f over the interior rows,
  v the responses of the transposed interior. Where these reach few rows, it is computed from f so,
  and the exchange runs while the rank's own lines are solved.
*/
#include "triimpl.h"
#include "reduced.h"
#include "../base/agree.h"
#include "device.h"
#include "devlines.h"
#include <math.h>
#include <float.h>

/* 2^-58: with less than that of a value of its size, an element does not change */
#define RESPONSE_SMALL 3.5e-18
/* The right-hand side comes from f where that reads at most this part of the rows at each end: an eighth, so that it is
   cheap beside the local solution, which the exchange then overlaps (commit 9b2d8ab). Not measured apart */
#define RESPONSE_EARLY 8

struct _n_BCRTri {
  MPI_Comm comm;
  PetscMPIInt rank, size;
  BCRTriLocal local; /* NULL on ranks without rows, and with one */
  BCRTriInfo info;
  BCRTriDevice device;     /* in place of local */
  BCRTriDeviceRanks ranks; /* there, across ranks */
  BCRTransport transport;

  /* across ranks */
  PetscInt inner, n, outer, rep, lines, sets; /* sets of coefficients: 1 or lines */
  PetscInt nfirst, nlast;                     /* rows next to each end that the responses reach */
  PetscReal *wfirst, *wlast;                  /* in rows 1 + j and n - 1 - nlast + j, see BCRTriAt() */
  /* rows next to each end that make its right-hand side, and the weights of their values */
  PetscInt mfirst, mlast;
  PetscReal *vfirst, *vlast; /* laid out alike; only if early */
  PetscBool early;
  PetscReal out[2]; /* couplings of the first set out of the rank */
  double *schur;    /* S of each set: (first, first), (first, last), (last, first), (last, last) */
  double *ends, *g; /* values of the local solution in the first and last row; right-hand side and solution */
  BCRReduced reduced;
};

/* Responses of the interior rows of a set of coefficients, by the pivots of elimination towards
   their end: products of ratios, nothing cancels. r: [4*n], of the first and last row, and those of
   the transposed matrix with the couplings to the end rows */
static PetscErrorCode BCRTriResponses(const BCRTriSpec *spec, PetscInt line, double *r, double S[4])
{
  const PetscInt n = spec->n;
  double c[3], p = 1, o = 0, *wfirst = r, *wlast = r + n, *vfirst = r + 2 * (size_t)n, *vlast = r + 3 * (size_t)n;

  PetscFunctionBegin;
  for (PetscInt j = n - 2; j > 0; j--) { /* pivots from below, and the coupling to the row before over them */
    BCRTriGetRow(spec, line, j, c);
    p = c[1] - (j < n - 2 ? c[2] * (o / p) : 0); /* the product of the two may be beyond the range of numbers */
    if (!(fabs(p) > 4 * DBL_EPSILON * fabs(c[1]) && fabs(p) <= DBL_MAX)) PetscCall(BCRTriPivotError(spec, line, j, p));
    o = c[0];
    wfirst[j] = -c[0] / p;
    vfirst[j] = -1 / p;
  }
  for (PetscInt j = 1; j < n - 1; j++) {
    BCRTriGetRow(spec, line, j, c);
    p = c[1] - (j > 1 ? c[0] * (o / p) : 0);
    if (!(fabs(p) > 4 * DBL_EPSILON * fabs(c[1]) && fabs(p) <= DBL_MAX)) PetscCall(BCRTriPivotError(spec, line, j, p));
    o = c[2];
    wlast[j] = -c[2] / p;
    vlast[j] = -1 / p;
  }
  wfirst[0] = wlast[n - 1] = 1;
  wfirst[n - 1] = wlast[0] = vfirst[n - 1] = vlast[0] = 0;
  vfirst[0] = vlast[n - 1] = -1;
  for (PetscInt j = 1; j < n - 1; j++) {
    BCRTriGetRow(spec, line, j - 1, c);
    wfirst[j] = fabs(wfirst[j - 1]) < DBL_MIN ? 0 : wfirst[j] * wfirst[j - 1];
    vfirst[j] = fabs(vfirst[j - 1]) < DBL_MIN ? 0 : c[2] * vfirst[j] * vfirst[j - 1];
  }
  for (PetscInt j = n - 2; j > 0; j--) {
    BCRTriGetRow(spec, line, j + 1, c);
    wlast[j] = fabs(wlast[j + 1]) < DBL_MIN ? 0 : wlast[j] * wlast[j + 1];
    vlast[j] = fabs(vlast[j + 1]) < DBL_MIN ? 0 : c[0] * vlast[j] * vlast[j + 1];
  }
  BCRTriGetRow(spec, line, 0, c);
  S[0] = c[1] + c[2] * (n > 2 ? wfirst[1] : 0);
  S[1] = c[2] * wlast[1];
  BCRTriGetRow(spec, line, n - 1, c);
  S[2] = c[0] * wfirst[n - 2];
  S[3] = c[1] + c[0] * (n > 2 ? wlast[n - 2] : 0);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* number of rows that a response r from the first (or last) row on reaches; those of right-hand
   sides in units of their row */
static PetscInt BCRTriReach(const BCRTriSpec *spec, PetscInt line, const double *r, PetscBool back, PetscBool weights)
{
  const PetscInt n = spec->n;
  PetscInt k = n - 2;
  double first[3], c[3] = {0, 1, 0}, size;

  BCRTriGetRow(spec, line, back ? n - 1 : 0, first);
  size = weights ? BCRTriRowSize(first) : 1;
  for (; k > 0; k--) {
    const PetscInt j = back ? n - 1 - k : k;

    if (weights) BCRTriGetRow(spec, line, j, c);
    if (!(fabs(r[j]) * BCRTriRowSize(c) < RESPONSE_SMALL * size)) break;
  }
  return k;
}

/* where the response of line l in the j-th of the rows it reaches is: as the coefficients of a
   general line are laid out */
static inline size_t BCRTriAt(const BCRTri t, PetscInt l, PetscInt j, PetscInt len)
{
  const PetscInt across = t->inner / t->rep;

  return t->sets == 1 ? (size_t)j
                      : (size_t)(l % across) + (size_t)across * ((size_t)j + (size_t)len * (size_t)(l / across));
}

/* Whether the coefficients of line l are those of the line before: lines of a grid mostly differ at
   its boundary alone */
static inline PetscBool BCRTriSameAsBefore(const BCRTriSpec *spec, PetscInt l)
{
  return (PetscBool)(l > 0 && spec->rows && !memcmp(&spec->rows[l], &spec->rows[l - 1], sizeof(*spec->rows)));
}

/* Set-up's work on one rank's rows */
typedef struct {
  PetscInt keep;           /* rows next to each end whose responses are kept at first: they mostly reach few rows */
  double *response;        /* [4][n]: of one set, BCRTriResponses() */
  double *kept;            /* [sets][4][keep]: of all */
  double *low, *diag, *up; /* [1 or 2][lines]: rows of the reduced system */
} BCRTriWork;

/* The solver of the rank's rows alone */
static PetscErrorCode BCRTriCreateOwn(BCRTri t, const BCRTriSpec *own, const BCRTriOptions *options)
{
  PetscFunctionBegin;
  if (BCR_HAVE_CUDA && options->device) {
    PetscCall(BCRTriDeviceCreate(own, options, &t->device));
    PetscCall(BCRTriDeviceGetInfo(t->device, &t->info));
  } else {
    PetscCall(BCRTriLocalCreate(own, options, &t->local));
    PetscCall(BCRTriLocalGetInfo(t->local, &t->info));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* S of each set, how many rows the responses reach, and the first of these */
static PetscErrorCode BCRTriMeasure(BCRTri t, const BCRTriSpec *own, BCRTriWork *w)
{
  const PetscInt n = own->n, keep = w->keep;
  double S[4], *r = w->response;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(4 * (size_t)t->sets, &t->schur));
  for (PetscInt l = 0; l < t->sets; l++) {
    double *k = w->kept + 4 * (size_t)keep * (size_t)l;

    if (BCRTriSameAsBefore(own, l)) {
      PetscCall(PetscArraycpy(t->schur + 4 * (size_t)l, S, 4));
      if (keep) PetscCall(PetscArraycpy(k, k - 4 * (size_t)keep, 4 * (size_t)keep));
      continue;
    }
    PetscCall(BCRTriResponses(own, l, r, S));
    PetscCall(PetscArraycpy(t->schur + 4 * (size_t)l, S, 4));
    t->nfirst = PetscMax(t->nfirst, BCRTriReach(own, l, r, PETSC_FALSE, PETSC_FALSE));
    t->nlast = PetscMax(t->nlast, BCRTriReach(own, l, r + n, PETSC_TRUE, PETSC_FALSE));
    t->mfirst = PetscMax(t->mfirst, BCRTriReach(own, l, r + 2 * (size_t)n, PETSC_FALSE, PETSC_TRUE));
    t->mlast = PetscMax(t->mlast, BCRTriReach(own, l, r + 3 * (size_t)n, PETSC_TRUE, PETSC_TRUE));
    for (int m = 0; m < 4 && keep; m++)
      PetscCall(
        PetscArraycpy(k + (size_t)m * (size_t)keep, r + (size_t)m * (size_t)n + (m % 2 ? n - 1 - keep : 1), keep));
  }
  if (PetscMax(t->mfirst, t->mlast) <= n / RESPONSE_EARLY) t->early = PETSC_TRUE;
  else t->mfirst = t->mlast = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The responses of all sets, as far as they reach */
static PetscErrorCode BCRTriKeepResponses(BCRTri t, const BCRTriSpec *own, BCRTriWork *w)
{
  const size_t n = (size_t)own->n, keep = (size_t)w->keep, sets = (size_t)t->sets;
  const PetscBool again = (PetscBool)(PetscMax(PetscMax(t->nfirst, t->nlast), PetscMax(t->mfirst, t->mlast)) > w->keep);
  double S[4];

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(sets * (size_t)t->nfirst + 1, &t->wfirst, sets * (size_t)t->nlast + 1, &t->wlast,
                         sets * (size_t)t->mfirst + 1, &t->vfirst, sets * (size_t)t->mlast + 1, &t->vlast));
  for (PetscInt l = 0; l < t->sets; l++) {
    const double *k = w->kept + 4 * keep * (size_t)l, *a = w->response;
    /* from the first row on; and to the end, of the last ones */
    const double *r[4] = {again ? a + 1 : k, again ? a + 2 * n - 1 : k + 2 * keep, again ? a + 2 * n + 1 : k + 2 * keep,
                          again ? a + 4 * n - 1 : k + 4 * keep};

    if (again && !BCRTriSameAsBefore(own, l)) PetscCall(BCRTriResponses(own, l, w->response, S));
    for (PetscInt j = 0; j < t->nfirst; j++) t->wfirst[BCRTriAt(t, l, j, t->nfirst)] = (PetscReal)r[0][j];
    for (PetscInt j = 0; j < t->nlast; j++) t->wlast[BCRTriAt(t, l, j, t->nlast)] = (PetscReal)r[1][j - t->nlast];
    for (PetscInt j = 0; j < t->mfirst; j++) t->vfirst[BCRTriAt(t, l, j, t->mfirst)] = (PetscReal)r[2][j];
    for (PetscInt j = 0; j < t->mlast; j++) t->vlast[BCRTriAt(t, l, j, t->mlast)] = (PetscReal)r[3][j - t->mlast];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The rank's rows of the reduced system: S and the couplings out of the rank; or its only row. closed: with those */
static void BCRTriReducedRows(BCRTri t, const BCRTriSpec *closed, BCRTriWork *w)
{
  const size_t lines = (size_t)t->lines;
  double c[3];

  for (PetscInt l = 0; l < t->lines; l++) {
    const PetscInt set = t->sets == 1 ? 0 : l;
    const double *S = closed->n > 1 ? t->schur + 4 * (size_t)set : NULL;

    BCRTriGetRow(closed, set, 0, c);
    w->low[l] = c[0];
    w->diag[l] = S ? S[0] : c[1];
    w->up[l] = S ? S[1] : c[2];
    if (!S) continue;
    BCRTriGetRow(closed, set, closed->n - 1, c);
    w->low[lines + (size_t)l] = S[2];
    w->diag[lines + (size_t)l] = S[3];
    w->up[lines + (size_t)l] = c[2];
    if (l) continue;
    t->out[0] = (PetscReal)w->low[0];
    t->out[1] = (PetscReal)c[2];
  }
}

/* This rank's part of the set-up, nothing of which waits for others */
static PetscErrorCode BCRTriCreateRows(BCRTri t, const BCRTriSpec *spec, const BCRTriOptions *options, BCRTriWork *w)
{
  BCRTriSpec own = *spec, closed = *spec; /* without and with the couplings out of the rank */

  PetscFunctionBegin;
  own.periodic = PETSC_FALSE;
  closed.periodic = PETSC_TRUE;
  if (spec->n > 1) {
    PetscCall(BCRTriCreateOwn(t, &own, options));
    PetscCall(BCRTriMeasure(t, &own, w));
    PetscCall(BCRTriKeepResponses(t, &own, w));
  }
  BCRTriReducedRows(t, &closed, w);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same on devices, once the tables are there */
static PetscErrorCode BCRTriCreateRanksDevice(BCRTri t, const BCRTriOptions *options)
{
  BCRFault fault = {PETSC_SUCCESS, ""};
  BCRTriRanksTables tables;
  PetscErrorCode ierr;
  size_t bytes[2] = {0, 0};

  PetscFunctionBegin;
  if (!BCR_HAVE_CUDA) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(options->transport, t->comm, PETSC_ERR_PLIB, "Lines across ranks on devices without a transport");
  PetscCall(BCRTransportReference(options->transport));
  t->transport = options->transport;
  tables.inner = t->inner;
  tables.n = t->n;
  tables.outer = t->outer;
  tables.rep = t->rep;
  tables.sets = t->sets;
  tables.nfirst = t->nfirst;
  tables.nlast = t->nlast;
  tables.mfirst = t->mfirst;
  tables.mlast = t->mlast;
  tables.wfirst = t->wfirst;
  tables.wlast = t->wlast;
  tables.vfirst = t->vfirst;
  tables.vlast = t->vlast;
  tables.schur = t->schur;
  tables.low = t->out[0];
  tables.up = t->out[1];
  tables.early = t->early;
  PetscCall(BCRFaultCatchBegin(&fault));
  ierr = BCRTriDeviceRanksCreate(&tables, t->device, t->reduced, options->transport, options->stream, &t->ranks);
  if (!ierr) ierr = BCRTriDeviceRanksGetInfo(t->ranks, &bytes[0], &bytes[1]);
  PetscCall(BCRFaultCatchEnd(&fault, ierr));
  PetscCall(BCRFaultAgreeAmong(t->comm, &fault, "along the lines"));
  PetscCall(BCRTriDeviceRanksOpen(t->ranks));
  t->info.tables += bytes[0];
  t->info.workspace += bytes[1];
  {
    BCRTransportInfo info;

    PetscCall(BCRTransportGetInfo(t->transport, &info));
    PetscCall(BCRTransportDescribe(t->transport, sizeof(t->info.transport), t->info.transport));
    t->info.workspace += info.workspace;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode BCRTriCreateRanks(BCRTri t, const BCRTriSpec *spec, const BCRTriOptions *options)
{
  const PetscInt rows = PetscMin(spec->n, 2);
  const size_t values = (size_t)spec->inner * (size_t)spec->outer, m = (size_t)rows * values;
  BCRFault fault = {PETSC_SUCCESS, ""};
  BCRReducedInfo info;
  BCRReducedSpec ends = {.flags = 0};
  PetscErrorCode ierr;
  BCRTriWork w = {PetscMax(PetscMin(spec->n / RESPONSE_EARLY, spec->n - 2), 0), NULL, NULL, NULL, NULL, NULL};

  PetscFunctionBegin;
  t->inner = spec->inner;
  t->n = spec->n;
  t->outer = spec->outer;
  t->rep = spec->rep;
  t->lines = spec->inner / spec->rep * spec->outer;
  t->sets = spec->perline ? t->lines : 1;
  PetscCall(BCRFaultCatchBegin(&fault)); /* this rank's own steps */
  ierr = PetscCalloc3(m, &w.low, m, &w.diag, m, &w.up);
  if (!ierr && !options->device) ierr = PetscMalloc2(2 * values, &t->ends, 2 * values, &t->g);
  if (!ierr && rows && t->lines) {
    ierr = PetscMalloc2(4 * (size_t)spec->n, &w.response, 4 * (size_t)w.keep * (size_t)t->sets + 1, &w.kept);
    if (!ierr) ierr = BCRTriCreateRows(t, spec, options, &w);
    PetscCall(PetscFree2(w.response, w.kept));
  }
  PetscCall(BCRFaultCatchEnd(&fault, ierr));
  BCRCallElse(BCRFaultAgreeAmong(t->comm, &fault, "along the lines"), (void)PetscFree3(w.low, w.diag, w.up));
  ends.nsys = t->lines;
  ends.rows = rows;
  ends.low = w.low;
  ends.diag = w.diag;
  ends.up = w.up;
  ends.periodic = spec->periodic;
  ends.eps = options->precision == BCR_TRI_SINGLE ? (PetscReal)(FLT_EPSILON / 2) : PETSC_MACHINE_EPSILON / 2;
  ends.coupling = options->coupling;
  ierr = BCRReducedCreate(t->comm, &ends, &t->reduced);
  PetscCall(PetscFree3(w.low, w.diag, w.up));
  PetscCall(ierr);
  PetscCall(BCRReducedSetVectors(t->reduced, spec->rep));
  if (BCR_HAVE_CUDA && options->device) PetscCall(BCRTriCreateRanksDevice(t, options));

  PetscCall(BCRReducedGetInfo(t->reduced, &info));
  t->info.coupling = info.shared ? BCR_TRI_COUPLING_REDUCED : BCR_TRI_COUPLING_NEIGHBOUR;
  t->info.reduced = info.shared;
  t->info.lost = info.lost;
  t->info.bytes_sent = info.bytes_sent;
  t->info.tables +=
    (size_t)t->sets * ((size_t)(t->nfirst + t->nlast + t->mfirst + t->mlast) * sizeof(PetscReal) + 4 * sizeof(double));
  if (!options->device) t->info.workspace += info.workspace + 4 * values * sizeof(double);
  t->info.flops += (double)values * (2. * (double)(t->nfirst + t->nlast + t->mfirst + t->mlast) + 20);
  if (spec->n < 2 || !t->lines) {
    t->info.method = options->method;
    PetscCall(PetscStrncpy(t->info.what, spec->n ? "one row" : "no rows", sizeof(t->info.what)));
  }
  {
    const size_t length = strlen(t->info.what);

    PetscCall(PetscSNPrintf(t->info.what + length, sizeof(t->info.what) - length,
                            ", %d ranks: %" PetscInt_FMT " lines by neighbours, %" PetscInt_FMT " shared out", t->size,
                            info.neighbour, info.shared));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriCreate(MPI_Comm comm, const BCRTriSpec *spec, const BCRTriOptions *options, BCRTri *tri)
{
  BCRTri t = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *tri = NULL;
  BCRCallElse(BCRFaultShare(comm, PetscNew(&t), BCR_NO_MEMORY), (void)PetscFree(t));
  t->comm = comm;
  PetscCallMPI(MPI_Comm_rank(comm, &t->rank));
  PetscCallMPI(MPI_Comm_size(comm, &t->size));
  if (t->size > 1) {
    ierr = BCRTriCreateRanks(t, spec, options);
  } else if (BCR_HAVE_CUDA && options->device) {
    ierr = BCRTriDeviceCreate(spec, options, &t->device);
    if (!ierr) ierr = BCRTriDeviceGetInfo(t->device, &t->info);
  } else {
    ierr = BCRTriLocalCreate(spec, options, &t->local);
    if (!ierr) ierr = BCRTriLocalGetInfo(t->local, &t->info);
  }
  if (ierr) (void)BCRTriDestroy(&t);
  PetscCall(ierr);
  *tri = t;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* u += a w_first + b w_last in the interior rows that they reach; a, b: [inner*outer] */
static void BCRTriCorrect(BCRTri t, const double *a, const double *b, PetscReal *u)
{
  const PetscInt inner = t->inner, n = t->n, rep = t->rep, across = inner / rep, nf = t->nfirst, nl = t->nlast,
                 last = n - 1 - nl;

  for (PetscInt o = 0; o < t->outer; o++) {
    const double *ao = a + (size_t)o * (size_t)inner, *bo = b + (size_t)o * (size_t)inner;
    PetscReal *uo = u + (size_t)o * (size_t)inner * (size_t)n;
    /* one set: element j; else element [j*across + i/rep] */
    const PetscReal *wf = t->wfirst + (t->sets == 1 ? 0 : (size_t)across * (size_t)nf * (size_t)o),
                    *wl = t->wlast + (t->sets == 1 ? 0 : (size_t)across * (size_t)nl * (size_t)o);

    if (inner <= 4) {
      const size_t st = t->sets == 1 ? 1 : (size_t)across, in = (size_t)inner;

      for (PetscInt i = 0; i < inner; i++) {
        const PetscReal ai = (PetscReal)ao[i], bi = (PetscReal)bo[i];
        const PetscReal *wfi = wf + (t->sets == 1 ? 0 : i / rep), *wli = wl + (t->sets == 1 ? 0 : i / rep);
        PetscReal *uf = uo + in + i, *ul = uo + (size_t)last * in + i;

        if (in * st == 1) {
          for (PetscInt j = 0; j < nf; j++) uf[j] += ai * wfi[j];
          for (PetscInt j = 0; j < nl; j++) ul[j] += bi * wli[j];
        } else {
          for (size_t j = 0; j < (size_t)nf; j++) uf[j * in] += ai * wfi[j * st];
          for (size_t j = 0; j < (size_t)nl; j++) ul[j * in] += bi * wli[j * st];
        }
      }
      continue;
    }
    for (PetscInt j = 1; j < n - 1; j++) {
      PetscReal *uj = uo + (size_t)j * (size_t)inner;

      if (j > nf && j < last) j = last, uj = uo + (size_t)j * (size_t)inner;
      for (int k = 0; k < 2; k++) {
        const double *c = k ? bo : ao;

        if (k ? j < last || j == n - 1 : j > nf) continue;
        if (t->sets == 1) {
          const PetscReal w = k ? wl[j - last] : wf[j - 1];

          for (PetscInt i = 0; i < inner; i++) uj[i] += (PetscReal)c[i] * w;
        } else {
          const PetscReal *w = k ? wl + (size_t)(j - last) * (size_t)across : wf + (size_t)(j - 1) * (size_t)across;

          if (rep == 1) {
            for (PetscInt i = 0; i < inner; i++) uj[i] += (PetscReal)c[i] * w[i];
          } else {
            for (PetscInt i = 0; i < inner; i++) uj[i] += (PetscReal)c[i] * w[i / rep];
          }
        }
      }
    }
  }
}

/* g = f in a row minus the weighted sum of the rows 1 + j (last false) or n - 1 - m + j; m of them, weights v */
static void BCRTriGather(BCRTri t, PetscBool back, PetscInt m, const PetscReal *v, const PetscReal *f, double *g)
{
  const PetscInt inner = t->inner, n = t->n, rep = t->rep, across = inner / rep, first = back ? n - 1 - m : 1;

  for (PetscInt o = 0; o < t->outer; o++) {
    const PetscReal *fo = f + (size_t)o * (size_t)inner * (size_t)n,
                    *vo = v + (t->sets == 1 ? 0 : (size_t)across * (size_t)m * (size_t)o);
    double *go = g + (size_t)o * (size_t)inner;

    for (PetscInt i = 0; i < inner; i++) go[i] = fo[(size_t)i + (back ? (size_t)(n - 1) * (size_t)inner : 0)];
    if (inner == 1) { /* lines along x: sums that do not wait for one another */
      const PetscReal *fj = fo + first;
      double sum[8] = {0, 0, 0, 0, 0, 0, 0, 0};
      PetscInt j = 0;

      for (; j + 8 <= m; j += 8) {
        for (PetscInt k = 0; k < 8; k++) sum[k] += (double)vo[j + k] * (double)fj[j + k];
      }
      for (; j < m; j++) sum[0] += (double)vo[j] * (double)fj[j];
      go[0] -= ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
      continue;
    }
    for (PetscInt j = 0; j < m; j++) {
      const PetscReal *fj = fo + (size_t)(first + j) * (size_t)inner,
                      *vj = vo + (t->sets == 1 ? (size_t)j : (size_t)j * (size_t)across);

      if (t->sets == 1) {
        for (PetscInt i = 0; i < inner; i++) go[i] -= (double)vj[0] * (double)fj[i];
      } else {
        for (PetscInt i = 0; i < inner; i++) go[i] -= (double)vj[i / rep] * (double)fj[i];
      }
    }
  }
}

static PetscErrorCode BCRTriSolveRanks(BCRTri t, const PetscReal *f, PetscReal *u)
{
  const size_t inner = (size_t)t->inner, n = (size_t)t->n, values = inner * (size_t)t->outer;
  double *first = t->ends, *last = t->ends + values, *g = t->g, *h = t->g + values;

  PetscFunctionBegin;
  if (t->n == 1) {
    for (size_t e = 0; e < values; e++) g[e] = f[e];
  } else if (t->n && t->early) {
    BCRTriGather(t, PETSC_FALSE, t->mfirst, t->vfirst, f, g);
    BCRTriGather(t, PETSC_TRUE, t->mlast, t->vlast, f, h);
    PetscCall(BCRReducedSolveBegin(t->reduced, t->g, NULL));
  }
  if (t->n > 1 && values) {
    PetscCall(BCRTriLocalSolve(t->local, f, u));
    for (PetscInt o = 0; o < t->outer; o++) {
      for (size_t i = 0; i < inner; i++) {
        const size_t e = i + inner * (size_t)o;
        const double *S = t->schur + (t->sets == 1 ? 0 : 4 * (e / (size_t)t->rep));

        first[e] = u[i + inner * n * (size_t)o];
        last[e] = u[i + inner * (n * (size_t)o + n - 1)];
        if (t->early) continue;
        g[e] = S[0] * first[e] + S[1] * last[e];
        h[e] = S[2] * first[e] + S[3] * last[e];
      }
    }
  }
  if (!t->early) PetscCall(BCRReducedSolveBegin(t->reduced, t->g, NULL));
  PetscCall(BCRReducedSolveEnd(t->reduced, t->g, NULL, NULL));
  if (t->n > 1 && values) {
    for (PetscInt o = 0; o < t->outer; o++) {
      for (size_t i = 0; i < inner; i++) {
        const size_t e = i + inner * (size_t)o;

        u[i + inner * n * (size_t)o] = (PetscReal)g[e];
        u[i + inner * (n * (size_t)o + n - 1)] = (PetscReal)h[e];
        first[e] = g[e] - first[e];
        last[e] = h[e] - last[e];
      }
    }
    BCRTriCorrect(t, first, last, u);
  } else if (t->n == 1) {
    for (size_t e = 0; e < values; e++) u[e] = (PetscReal)g[e];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriSolve(BCRTri tri, const PetscReal *f, PetscReal *u)
{
  PetscFunctionBegin;
  if (BCR_HAVE_CUDA && tri->ranks) PetscCall(BCRTriDeviceRanksSolveHost(tri->ranks, f, u));
  else if (BCR_HAVE_CUDA && tri->device) PetscCall(BCRTriDeviceSolveHost(tri->device, f, u));
  else if (tri->size > 1) PetscCall(BCRTriSolveRanks(tri, f, u));
  else PetscCall(BCRTriLocalSolve(tri->local, f, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriSolveDevice(BCRTri tri, void *stream, const PetscReal *f, PetscReal *u)
{
  PetscFunctionBegin;
  PetscCheck(BCR_HAVE_CUDA && (tri->ranks || tri->device), PETSC_COMM_SELF, PETSC_ERR_PLIB,
             "These lines are not on a device");
  if (BCR_HAVE_CUDA && tri->ranks) PetscCall(BCRTriDeviceRanksSolve(tri->ranks, stream, f, u));
  else if (BCR_HAVE_CUDA) PetscCall(BCRTriDeviceSolve(tri->device, stream, f, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool BCRTriDevicePossible(const BCRTriOptions *options, const char **why)
{
  (void)options;
  if (BCR_HAVE_CUDA) return BCRDeviceAvailable(why);
  if (why) *why = "this petscbcr was built without a CUDA backend";
  return PETSC_FALSE;
}

PetscErrorCode BCRTriGetInfo(BCRTri tri, BCRTriInfo *info)
{
  PetscFunctionBegin;
  *info = tri->info;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRTriDestroy(BCRTri *tri)
{
  BCRTri t = *tri;

  PetscFunctionBegin;
  if (!t) PetscFunctionReturn(PETSC_SUCCESS);
  if (BCR_HAVE_CUDA) {
    PetscCall(BCRTriDeviceRanksDestroy(&t->ranks));
    PetscCall(BCRTransportDestroy(&t->transport));
    PetscCall(BCRTriDeviceDestroy(&t->device));
  }
  PetscCall(BCRReducedDestroy(&t->reduced));
  PetscCall(BCRTriLocalDestroy(&t->local));
  PetscCall(PetscFree4(t->wfirst, t->wlast, t->vfirst, t->vlast));
  PetscCall(PetscFree(t->schur));
  PetscCall(PetscFree2(t->ends, t->g));
  PetscCall(PetscFree(*tri));
  PetscFunctionReturn(PETSC_SUCCESS);
}
