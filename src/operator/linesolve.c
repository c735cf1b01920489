/*
  The solver of the lines of a DMDA, and the functions of PetscBCRLines for
  users.
*/
#include "../base/agree.h"
#include "../base/log.h"
#include "linesimpl.h"
#include "../base/stream.h"
#include <math.h>
#include <petsc/private/petscimpl.h> /*I "petscbcr.h" I*/
#include <petscbcr.h>
#include <petscdevice.h>
#include <petscviewer.h>

typedef struct {
  PetscErrorCode code;
  char message[BCR_MESSAGE_LENGTH];
} BCRCaught;

/* Keeps what an error says instead of printing it: the error that the user sees
 * is raised once all ranks know of it */
static PetscErrorCode BCRCatch(MPI_Comm comm, int line, const char *function, const char *file, PetscErrorCode code,
                               PetscErrorType type, const char *message, void *ctx)
{
  BCRCaught *caught = (BCRCaught *)ctx;

  (void)comm;
  (void)line;
  (void)function;
  (void)file;
  if (type == PETSC_ERROR_INITIAL && !caught->code) {
    caught->code = code;
    (void)PetscStrncpy(caught->message, message ? message : "", sizeof(caught->message));
  }
  return code;
}

/* Row j of line l without what would be beyond the ends */
static inline void BCRLinesGetActing(BCRLines lines, PetscInt l, PetscInt j, PetscReal row[3])
{
  BCRLinesGetRow(&lines->spec, l, j, row);
  if (!lines->spec.periodic && lines->start[lines->axis] + j == 0) row[0] = 0;
  if (!lines->spec.periodic && lines->start[lines->axis] + j == lines->N[lines->axis] - 1) row[2] = 0;
}

/* Largest row sum of line l on this rank, relative to the row's largest entry;
 * may stop at one that is not small */
static PetscReal BCRLinesRowSum(BCRLines lines, PetscInt l)
{
  const BCRTriSpec *s = &lines->spec;
  PetscReal sum = 0;

  for (PetscInt j = 0; j < s->n && sum <= (PetscReal)BCR_LINES_SINGULAR; ++j) {
    PetscReal row[3], size = 0;

    if (s->rows && j > s->nfirst && j < s->n - s->nlast - 1) j = s->n - s->nlast - 1; /* all the same */
    BCRLinesGetActing(lines, l, j, row);
    for (PetscInt d = 0; d < 3; ++d) size = PetscMax(size, PetscAbsReal(row[d]));
    if (size > 0) sum = PetscMax(sum, PetscAbsReal(row[0] + row[1] + row[2]) / size);
  }
  return sum;
}

/* A line whose row sums all vanish cannot be solved: code and message name the
 * first one. Methods need not find out by themselves. */
static PetscErrorCode BCRLinesCheckSingular(BCRLines lines, PetscErrorCode *code, size_t length, char message[])
{
  PetscReal *sum = NULL, *all = NULL;
  PetscInt bad = -1;
  char name[128];

  PetscFunctionBegin;
  BCRCallElse(BCRFaultShare(lines->comm, PetscMalloc2(lines->nlines, &sum, lines->nlines, &all), BCR_NO_MEMORY),
              (void)PetscFree2(sum, all));
  for (PetscInt l = 0; l < lines->nlines; ++l) sum[l] = !l || lines->spec.perline ? BCRLinesRowSum(lines, l) : sum[0];
  PetscCallMPI(MPI_Allreduce(sum, all, (PetscMPIInt)lines->nlines, MPIU_REAL, MPIU_MAX, lines->along));
  for (PetscInt l = 0; l < lines->nlines && bad < 0; ++l) {
    if (all[l] <= (PetscReal)BCR_LINES_SINGULAR) bad = l;
  }
  PetscCall(PetscFree2(sum, all));
  if (bad < 0) PetscFunctionReturn(PETSC_SUCCESS);
  *code = PETSC_ERR_MAT_LU_ZRPVT;
  PetscCall(BCRLinesName(lines, bad, sizeof(name), name));
  PetscCall(PetscSNPrintf(message, length,
                          "The line %s is singular: all its row sums vanish (Neumann or periodic "
                          "ends without a shift), so that a constant solves it with zero "
                          "right-hand side. %s",
                          name,
                          lines->dim == 1 ? "PCBCRPOISSON solves such problems up to a constant; or fix a "
                                            "value in one row"
                                          : "Take an axis with Dirichlet ends or another preconditioner"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Whether some row of this rank is not diagonally dominant, so that elimination
 * without pivoting may lose digits */
static PetscBool BCRLinesMayGrow(BCRLines lines)
{
  const BCRTriSpec *s = &lines->spec;
  const PetscInt begin = lines->start[lines->axis], N = lines->N[lines->axis];
  const PetscReal size = 1 + (PetscReal)BCR_LINES_SINGULAR;

  if (s->rows) {
    for (PetscInt l = 0; l < (s->perline ? lines->nlines : 1); ++l) {
      for (PetscInt j = 0; j < s->n; ++j) {
        PetscReal row[3];

        if (j > s->nfirst && j < s->n - s->nlast - 1) j = s->n - s->nlast - 1; /* all the same */
        BCRLinesGetActing(lines, l, j, row);
        if (PetscAbsReal(row[0]) + PetscAbsReal(row[2]) > size * PetscAbsReal(row[1])) return PETSC_TRUE;
      }
    }
  } else { /* arrays, in the order that they are stored in */
    const PetscInt across = s->perline ? s->inner / s->rep : 1, outer = s->perline ? s->outer : 1;

    for (PetscInt o = 0; o < outer; ++o) {
      for (PetscInt j = 0; j < s->n; ++j) {
        const size_t at = (size_t)across * ((size_t)j + (size_t)s->n * (size_t)o);
        const PetscReal *low = s->low + at, *diag = s->diag + at, *up = s->up + at;
        /* which couplings act */
        const PetscReal l = !s->periodic && begin + j == 0 ? 0 : 1, u = !s->periodic && begin + j == N - 1 ? 0 : 1;
        int more = 0;

        for (PetscInt i = 0; i < across; ++i)
          more |= PetscAbsReal(l * low[i]) + PetscAbsReal(u * up[i]) > size * PetscAbsReal(diag[i]);
        if (more) return PETSC_TRUE;
      }
    }
  }
  return PETSC_FALSE;
}

/* Solves for a random right-hand side and looks at the residual: code and
 * message name the first line that is not solved to the precision of the work
 */
static PetscErrorCode BCRLinesProbe(BCRLines lines, BCRTri tri, const BCRTriOptions *options, PetscErrorCode *code,
                                    size_t length, char message[])
{
  const BCRTriSpec *s = &lines->spec;
  const PetscInt plane = s->inner * s->outer, nlines = lines->nlines;
  const size_t total = (size_t)plane * (size_t)s->n;
  const PetscBool single = (PetscBool)(sizeof(PetscReal) < sizeof(double) || options->precision == BCR_TRI_SINGLE);
  const double eps = single ? 1.2e-7 : 2.3e-16, worst = 4096 * eps;
  unsigned long long state = 88172645463325252ULL;
  PetscReal *f = NULL, *u = NULL, *send = NULL, *ghost = NULL, *size = NULL, *all = NULL;
  PetscMPIInt rank, before, after, width = 0, count = 0;
  BCRTriInfo info;
  PetscErrorCode ierr;
  char name[128];

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(lines->along, &rank));
  before = rank > 0 ? rank - 1 : (s->periodic ? lines->ranks - 1 : MPI_PROC_NULL);
  after = rank < lines->ranks - 1 ? rank + 1 : (s->periodic ? 0 : MPI_PROC_NULL);
  state += 977 * (unsigned long long)rank;
  ierr = PetscMPIIntCast(3 * (PetscInt64)nlines, &count);
  if (!ierr) ierr = PetscMPIIntCast(plane, &width);
  if (!ierr) ierr = PetscMalloc4(total, &f, total, &u, 2 * (size_t)plane, &send, 2 * (size_t)plane, &ghost);
  if (!ierr) ierr = PetscCalloc2(3 * (size_t)nlines, &size, 3 * (size_t)nlines, &all);
  ierr = BCRFaultShare(lines->comm, ierr, BCR_NO_MEMORY);
  BCRCallElse(ierr, (void)PetscFree4(f, u, send, ghost), (void)PetscFree2(size, all));
  for (size_t i = 0; i < total; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    f[i] = (PetscReal)((double)(state >> 11) / 4503599627370496.0 - 1);
  }
  for (PetscInt o = 0; o < s->outer; ++o) { /* of the size of their rows, which may be of any */
    for (PetscInt j = 0; j < s->n; ++j) {
      for (PetscInt i = 0; i < s->inner; ++i) {
        PetscReal row[3];

        BCRLinesGetActing(lines, i / s->rep + s->inner / s->rep * o, j, row);
        f[(size_t)i + (size_t)s->inner * ((size_t)j + (size_t)s->n * (size_t)o)] *=
          PetscAbsReal(row[0]) + PetscAbsReal(row[1]) + PetscAbsReal(row[2]);
      }
    }
  }
  PetscCall(BCRTriSolve(tri, f, u));
  for (PetscInt o = 0; o < s->outer; ++o) {
    for (PetscInt i = 0; i < s->inner; ++i) {
      send[i + s->inner * o] = u[(size_t)i + (size_t)s->inner * (size_t)s->n * (size_t)o];
      send[plane + i + s->inner * o] = u[(size_t)i + (size_t)s->inner * (size_t)(s->n - 1 + s->n * o)];
      ghost[i + s->inner * o] = 0;
      ghost[plane + i + s->inner * o] = 0;
    }
  }
  PetscCallMPI(MPI_Sendrecv(send, width, MPIU_REAL, before, 0, ghost + plane, width, MPIU_REAL, after, 0, lines->along,
                            MPI_STATUS_IGNORE));
  PetscCallMPI(MPI_Sendrecv(send + plane, width, MPIU_REAL, after, 1, ghost, width, MPIU_REAL, before, 1, lines->along,
                            MPI_STATUS_IGNORE));
  /* of each line the largest residual over its row's sum of entries, and solution; and whether
     something is not finite */
  for (PetscInt o = 0; o < s->outer; ++o) {
    for (PetscInt j = 0; j < s->n; ++j) {
      for (PetscInt i = 0; i < s->inner; ++i) {
        const PetscInt l = i / s->rep + s->inner / s->rep * o, g = i + s->inner * o;
        const size_t at = (size_t)i + (size_t)s->inner * ((size_t)j + (size_t)s->n * (size_t)o);
        PetscReal row[3], r, sum;
        const PetscReal below = j ? u[at - (size_t)s->inner] : ghost[g],
                        above = j < s->n - 1 ? u[at + (size_t)s->inner] : ghost[plane + g];

        BCRLinesGetActing(lines, l, j, row);
        sum = PetscAbsReal(row[0]) + PetscAbsReal(row[1]) + PetscAbsReal(row[2]);
        r = PetscAbsReal(f[at] - (row[0] * below + row[1] * u[at] + row[2] * above)) / sum;
        size[3 * l] = PetscMax(size[3 * l], r);
        size[3 * l + 1] = PetscMax(size[3 * l + 1], PetscAbsReal(u[at]));
        if (PetscIsInfOrNanReal(r)) size[3 * l + 2] = 1;
      }
    }
  }
  PetscCallMPI(MPI_Allreduce(size, all, count, MPIU_REAL, MPIU_MAX, lines->along));
  PetscCall(BCRTriGetInfo(tri, &info));
  for (PetscInt l = 0; l < nlines && !*code; ++l) {
    const double error = (double)all[3 * l] / ((double)all[3 * l + 1] + 1);

    if (all[3 * l + 2] == 0 && error <= worst) continue;
    *code = PETSC_ERR_MAT_LU_ZRPVT;
    PetscCall(BCRLinesName(lines, l, sizeof(name), name));
    PetscCall(PetscSNPrintf(message, length,
                            "The line %s is not diagonally dominant, and -pc_neato_method %s, "
                            "which does not pivot, solves it to a backward error of %g only, %d "
                            "digits lost. Take %sPCLU, or a preconditioning matrix with a larger "
                            "diagonal",
                            name, PCNeatoMethods[info.method], all[3 * l + 2] == 0 ? error : (double)INFINITY,
                            all[3 * l + 2] == 0 ? (int)(log10(error / eps) + 0.5) : (single ? 7 : 16),
                            info.method == BCR_TRI_THOMAS ? "" : "-pc_neato_method thomas, or "));
  }
  PetscCall(PetscFree4(f, u, send, ghost));
  PetscCall(PetscFree2(size, all));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Messages number a line as the rank does: says where on the grid it is. The ranks along a line number it alike. */
static PetscErrorCode BCRLinesPlace(BCRLines lines, const char said[], size_t length, char message[])
{
  const char *at = said, *bracket;
  char *end, name[128], from[64] = "";
  long line;

  PetscFunctionBegin;
  while ((at = strpbrk(at, "Ll")) && (strncmp(at + 1, "ine ", 4) || at[5] < '0' || at[5] > '9')) ++at;
  if (!at) PetscFunctionReturn(PETSC_SUCCESS);
  line = strtol(at + 5, &end, 10);
  if (line >= (long)lines->nlines) PetscFunctionReturn(PETSC_SUCCESS);
  bracket = end[0] == ' ' && end[1] == '(' ? strchr(end, ')') : NULL;
  if (at == said && lines->start[lines->axis])
    PetscCall(PetscSNPrintf(from, sizeof(from), " (row 0 is grid point %" PetscInt_FMT " of the line)",
                            lines->start[lines->axis]));
  PetscCall(BCRLinesName(lines, (PetscInt)line, sizeof(name), name));
  PetscCall(PetscSNPrintf(message, length, "%.*s%s line %s%s%s", (int)(at - said), said, at == said ? "The" : "the",
                          name, bracket ? bracket + 1 : end, from));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRLinesTransport(BCRLines lines, const char option[], BCRTransportKind kind, PetscBool aware,
                                 BCRTriOptions *options)
{
  PetscFunctionBegin;
  options->transport = NULL;
#if defined(PETSCBCR_HAVE_CUDA)
  if (!options->device || lines->ranks == 1) PetscFunctionReturn(PETSC_SUCCESS);
  if (!lines->transport || lines->kind != kind) {
    BCRCaught caught = {PETSC_SUCCESS, ""};
    PetscErrorCode ierr;

    PetscCall(BCRTransportDestroy(&lines->transport));
    PetscCall(PetscPushErrorHandler(BCRCatch, &caught));
    ierr = BCRTransportCreate(lines->along, option, kind, aware, &lines->transport);
    PetscCall(PetscPopErrorHandler());
    if (ierr) PetscCall(BCRTransportDestroy(&lines->transport));
    PetscCall(BCRErrorAgree(lines->comm, ierr ? (caught.code ? caught.code : ierr) : PETSC_SUCCESS, caught.message));
    lines->kind = kind;
  }
  options->transport = lines->transport;
#else
  (void)lines;
  (void)option;
  (void)kind;
  (void)aware;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRLinesSolver(BCRLines lines, const BCRTriOptions *options, BCRTri *tri)
{
  BCRCaught caught = {PETSC_SUCCESS, ""};
  PetscErrorCode ierr, code = PETSC_SUCCESS;
  char message[BCR_MESSAGE_LENGTH] = "";
  PetscMPIInt grow, any;

  PetscFunctionBegin;
  PetscCall(BCRLinesCheckSingular(lines, &code, sizeof(message), message));
  PetscCall(BCRErrorAgree(lines->comm, code, message));
  PetscCall(PetscPushErrorHandler(BCRCatch, &caught));
  ierr = BCRTriCreate(lines->along, &lines->spec, options, tri);
  PetscCall(PetscPopErrorHandler());
  if (ierr) caught.code = ierr;
  PetscCall(PetscStrncpy(message, caught.message, sizeof(message)));
  if (ierr) PetscCall(BCRLinesPlace(lines, caught.message, sizeof(message), message));
  ierr = BCRErrorAgree(lines->comm, ierr ? caught.code : PETSC_SUCCESS, message);
  if (ierr) PetscCall(BCRTriDestroy(tri)); /* ranks of other lines may have theirs */
  PetscCall(ierr);
  grow = BCRLinesMayGrow(lines);
  PetscCallMPI(MPI_Allreduce(&grow, &any, 1, MPI_INT, MPI_MAX, lines->comm));
  if (any) {
    BCRCallElse(BCRLinesProbe(lines, *tri, options, &code, sizeof(message), message), (void)BCRTriDestroy(tri));
    BCRCallElse(BCRErrorAgree(lines->comm, code, message), (void)BCRTriDestroy(tri));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRLinesSolverMany(BCRLines lines, const BCRTriOptions *options, PetscInt columns, BCRTri *tri)
{
  BCRTriSpec spec = lines->spec;
  PetscErrorCode ierr = PETSC_SUCCESS;

  PetscFunctionBegin;
  *tri = NULL;
  /* the same on all ranks of along */
  if (!spec.perline &&
      (PetscInt64)lines->nlines * spec.rep * lines->N[lines->axis] <= PETSC_MAX_INT / PetscMax(columns, 1)) {
    spec.outer *= columns;
    ierr = BCRTriCreate(lines->along, &spec, options, tri);
  }
  BCRCallElse(BCRFaultShare(lines->comm, ierr, BCR_NO_MEMORY), (void)BCRTriDestroy(tri));
  PetscFunctionReturn(PETSC_SUCCESS);
}

struct _n_PetscBCRLines {
  DM da;
  PetscLayout map; /* of its global vectors */
  BCRLines lines;
  BCRTriOptions options;
  BCRTri tri; /* NULL: the next solve makes it */
};

/*@C
  PetscBCRLinesCreate - describes tridiagonal systems with constant coefficients on all grid lines
  of one axis of a `DMDA`

  Collective

  Input Parameters:
+ da     - the `DMDA`, in 1, 2 or 3 dimensions, with any number of components, on any number of processes in any direction
. axis   - `DM_X`, `DM_Y` or `DM_Z`
. nfirst - number of rows at the first end of a line that differ from the others, 0 to 3
. first  - their coefficients: (low, diag, up) of row 0, then of row 1 and so on, 3 `nfirst` numbers; `NULL` if there are none
. row    - (low, diag, up) of all other rows: low u_{j-1} + diag u_j + up u_{j+1} = f_j
. nlast  - number of rows at the last end that differ, 0 to 3
- last   - their coefficients: the last row comes last; `NULL` if there are none

  Output Parameter:
. lines - the systems

  Level: intermediate

  Notes:
  Low of the first row and up of the last row of a line are not used, unless the axis is periodic
  (`DM_BOUNDARY_PERIODIC`): then the line closes on itself with them.

  All lines and all components have the same coefficients. For others there is `PCNEATO`, which
  reads them from a matrix.

  The solver is set up by the first `PetscBCRLinesSolve()`. Each process has to give the same coefficients.

  Raises `PETSC_ERR_ARG_OUTOFRANGE` for an axis that the `DMDA` does not have or too many rows,
  `PETSC_ERR_ARG_SIZ` if the ends overlap, `PETSC_ERR_FP` for NaN or Inf.

  Reference:
  near-Toeplitz systems and their coupling over ranks as in chapters 2 and 3 of the thesis on NEATO, see `PCNEATO`.

.seealso: `PetscBCRLinesSolve()`, `PetscBCRLinesSetMethod()`, `PetscBCRLinesSetCoupling()`, `PetscBCRLinesSetPrecision()`, `PetscBCRLinesView()`, `PetscBCRLinesDestroy()`, `PCNEATO`
@*/
PetscErrorCode PetscBCRLinesCreate(DM da, DMDirection axis, PetscInt nfirst, const PetscReal first[],
                                   const PetscReal row[], PetscInt nlast, const PetscReal last[], PetscBCRLines *lines)
{
  DMBoundaryType bt[3];
  BCRLines made;
  PetscErrorCode ierr;
  Vec v;
  PetscLayout map;

  PetscFunctionBegin;
  PetscValidHeaderSpecific(da, DM_CLASSID, 1);
  if (nfirst > 0) BCRAssertPointer(first, 4);
  BCRAssertPointer(row, 5);
  if (nlast > 0) BCRAssertPointer(last, 7);
  BCRAssertPointer(lines, 8);
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscBCRCiteNeato());
  *lines = NULL;
  {
    static const char *const names[] = {"axis", "number of first rows", "number of last rows"};
    const double mine[] = {(double)axis, (double)nfirst, (double)nlast};

    PetscCall(BCRSame(PetscObjectComm((PetscObject)da), "PetscBCRLinesCreate(): the ", 3, names, mine));
  }
  PetscCheck(nfirst >= 0 && nfirst <= BCR_TRI_EDGE, PetscObjectComm((PetscObject)da), PETSC_ERR_ARG_OUTOFRANGE,
             "%" PetscInt_FMT " rows at the first end: 0 to %d may differ from the others", nfirst, BCR_TRI_EDGE);
  PetscCheck(nlast >= 0 && nlast <= BCR_TRI_EDGE, PetscObjectComm((PetscObject)da), PETSC_ERR_ARG_OUTOFRANGE,
             "%" PetscInt_FMT " rows at the last end: 0 to %d may differ from the others", nlast, BCR_TRI_EDGE);
  {
    const char *names[3 * (1 + 2 * BCR_TRI_EDGE)];
    double mine[3 * (1 + 2 * BCR_TRI_EDGE)];
    PetscInt n = 0;

    for (PetscInt i = 0; i < 3; ++i, ++n) mine[n] = (double)row[i], names[n] = "row";
    for (PetscInt i = 0; i < 3 * nfirst; ++i, ++n) mine[n] = (double)first[i], names[n] = "first rows";
    for (PetscInt i = 0; i < 3 * nlast; ++i, ++n) mine[n] = (double)last[i], names[n] = "last rows";
    PetscCall(
      BCRSame(PetscObjectComm((PetscObject)da), "PetscBCRLinesCreate(): a coefficient of the ", n, names, mine));
  }
  for (PetscInt i = 0; i < 3 * (1 + PetscMax(nfirst, 0) + PetscMax(nlast, 0)); ++i) {
    const PetscInt at = i - 3 * PetscMax(nfirst, 0);
    const PetscReal value = at < 0 ? first[i] : (at < 3 ? row[at] : last[at - 3]);

    PetscCheck(!PetscIsInfOrNanReal(value), PetscObjectComm((PetscObject)da), PETSC_ERR_FP,
               "Coefficient %" PetscInt_FMT " of %s is NaN or Inf", at < 0 ? i : (at < 3 ? at : at - 3),
               at < 0 ? "the first rows" : (at < 3 ? "the row" : "the last rows"));
  }
  PetscCall(BCRLinesCreate(da, (PetscInt)axis, &made));
  PetscCall(DMDAGetInfo(da, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, &bt[0], &bt[1], &bt[2], NULL));
  ierr = BCRLinesSetRows(made, (PetscBool)(bt[(int)axis] == DM_BOUNDARY_PERIODIC), nfirst, first, row, nlast, last);
  if (!ierr) ierr = PetscNew(lines);
  BCRCallElse(BCRFaultShare(PetscObjectComm((PetscObject)da), ierr, BCR_NO_MEMORY), (void)BCRLinesDestroy(&made),
              (void)PetscFree(*lines));
  (*lines)->lines = made;
  (*lines)->options.isa = -1;
  (*lines)->options.precision = BCR_TRI_DOUBLE;
  (*lines)->da = da;
  PetscCall(DMGetGlobalVector(da, &v));
  PetscCall(VecGetLayout(v, &map));
  PetscCall(PetscLayoutReference(map, &(*lines)->map));
  PetscCall(DMRestoreGlobalVector(da, &v));
  PetscCall(PetscObjectReference((PetscObject)da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  PetscBCRLinesSetMethod - sets how lines are solved

  Logically Collective

  Input Parameters:
+ lines  - the systems
- method - see `PCNeatoMethod`

  Level: intermediate

.seealso: `PetscBCRLinesCreate()`, `PCNeatoMethod`, `PCNeatoSetMethod()`
@*/
PetscErrorCode PetscBCRLinesSetMethod(PetscBCRLines lines, PCNeatoMethod method)
{
  PetscFunctionBegin;
  BCRAssertPointer(lines, 1);
  PetscCheck((int)method >= 0 && method <= PCNEATO_METHOD_THOMAS, lines->lines->comm, PETSC_ERR_ARG_OUTOFRANGE,
             "Method %d is no PCNeatoMethod", (int)method);
  PetscCall(BCRTriDestroy(&lines->tri));
  lines->options.method = (BCRTriMethod)method;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  PetscBCRLinesSetCoupling - sets how ranks that share a line are coupled

  Logically Collective

  Input Parameters:
+ lines    - the systems
- coupling - see `PCNeatoCoupling`

  Level: intermediate

.seealso: `PetscBCRLinesCreate()`, `PCNeatoCoupling`, `PCNeatoSetCoupling()`
@*/
PetscErrorCode PetscBCRLinesSetCoupling(PetscBCRLines lines, PCNeatoCoupling coupling)
{
  PetscFunctionBegin;
  BCRAssertPointer(lines, 1);
  PetscCheck((int)coupling >= 0 && coupling <= PCNEATO_COUPLING_REDUCED, lines->lines->comm, PETSC_ERR_ARG_OUTOFRANGE,
             "Coupling %d is no PCNeatoCoupling", (int)coupling);
  PetscCall(BCRTriDestroy(&lines->tri));
  lines->options.coupling = (BCRTriCoupling)coupling;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  PetscBCRLinesSetPrecision - sets the precision of the work inside

  Logically Collective

  Input Parameters:
+ lines     - the systems
- precision - see `PCNeatoPrecision`

  Level: intermediate

.seealso: `PetscBCRLinesCreate()`, `PCNeatoPrecision`, `PCNeatoSetPrecision()`
@*/
PetscErrorCode PetscBCRLinesSetPrecision(PetscBCRLines lines, PCNeatoPrecision precision)
{
  PetscFunctionBegin;
  BCRAssertPointer(lines, 1);
  PetscCheck((int)precision >= 0 && precision <= PCNEATO_PRECISION_MIXED, lines->lines->comm, PETSC_ERR_ARG_OUTOFRANGE,
             "Precision %d is no PCNeatoPrecision", (int)precision);
  PetscCall(BCRTriDestroy(&lines->tri));
  lines->options.precision = (BCRTriPrecision)precision;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* On the device where the vectors of the first solve are there on every rank; the same on all ranks */
static PetscErrorCode PetscBCRLinesChoose(PetscBCRLines lines, Vec f, Vec u)
{
  PetscFunctionBegin;
  lines->options.device = PETSC_FALSE;
#if defined(PETSCBCR_HAVE_CUDA)
  {
    VecType type[2];
    PetscBool of[2];
    PetscMPIInt mine, all;

    PetscCall(VecGetType(f, &type[0]));
    PetscCall(VecGetType(u, &type[1]));
    for (int i = 0; i < 2; ++i) PetscCall(BCRTypesOnDevice(type[i], NULL, &of[i]));
    mine = of[0] && of[1] && BCRTriDevicePossible(&lines->options, NULL) ? 1 : 0;
    PetscCallMPI(MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, lines->lines->comm));
    lines->options.device = all ? PETSC_TRUE : PETSC_FALSE;
    if (lines->options.device) PetscCall(BCRGetStream(&lines->options.stream));
    PetscCall(
      BCRLinesTransport(lines->lines, "pc_neato_transport", BCR_TRANSPORT_AUTO, BCRGpuAwareMPI(), &lines->options));
  }
#else
  (void)f;
  (void)u;
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  PetscBCRLinesSolve - solves all lines

  Collective

  Input Parameters:
+ lines - the systems
- f     - right-hand sides, a global vector of the `DMDA`

  Output Parameter:
. u - solutions, a global vector of the `DMDA`; may be `f`

  Level: intermediate

  Notes:
  The first call sets the solver up: on the CUDA device if its vectors are there (`VECCUDA`) on
  every process, else on the host. Vectors that are elsewhere later are copied. Processes with
  devices exchange as `PCNEATO` does with `PCNEATO_TRANSPORT_AUTO`.

  Raises `PETSC_ERR_MAT_LU_ZRPVT` if the lines are singular, `PETSC_ERR_ARG_SIZ` for a vector that
  is not of the `DMDA`. A NaN or Inf in `f` makes its line NaN.

.seealso: `PetscBCRLinesCreate()`, `PetscBCRLinesDestroy()`, `PCNEATO`
@*/
PetscErrorCode PetscBCRLinesSolve(PetscBCRLines lines, Vec f, Vec u)
{
  const PetscScalar *b;
  PetscScalar *x;
  PetscLayout map[2];
  PetscBool same[2];
  BCRTriInfo info;

  PetscFunctionBegin;
  BCRAssertPointer(lines, 1);
  PetscValidHeaderSpecific(f, VEC_CLASSID, 2);
  PetscValidHeaderSpecific(u, VEC_CLASSID, 3);
  PetscCall(VecGetLayout(f, &map[0]));
  PetscCall(VecGetLayout(u, &map[1]));
  /* sizes of all ranks: the same answer on each */
  for (int i = 0; i < 2; ++i) PetscCall(PetscLayoutCompare(lines->map, map[i], &same[i]));
  PetscCheck(same[0] && same[1], lines->lines->comm, PETSC_ERR_ARG_SIZ,
             "The %s is no vector of the DMDA: it has local size %" PetscInt_FMT " of %" PetscInt_FMT
             " on this rank, the DMDA has %" PetscInt_FMT " of %" PetscInt_FMT ". Make it with DMCreateGlobalVector()",
             same[0] ? "solution" : "right-hand side", map[same[0] ? 1 : 0]->n, map[same[0] ? 1 : 0]->N, lines->map->n,
             lines->map->N);
  if (!lines->tri) {
    static const char *const names[] = {"method", "coupling", "precision"};
    const double mine[] = {(double)lines->options.method, (double)lines->options.coupling,
                           (double)lines->options.precision};

    PetscCall(BCRSame(lines->lines->comm, "PetscBCRLines: the ", 3, names, mine));
    PetscCall(PetscLogEventBegin(BCR_SetUp, f, u, 0, 0));
    PetscCall(PetscBCRLinesChoose(lines, f, u));
    PetscCall(BCRLinesSolver(lines->lines, &lines->options, &lines->tri));
    PetscCall(PetscLogEventEnd(BCR_SetUp, f, u, 0, 0));
  }
  PetscCall(BCRTriGetInfo(lines->tri, &info));
  PetscCall(PetscLogEventBegin(BCR_Solve, f, u, 0, 0));
#if defined(PETSCBCR_HAVE_CUDA)
  if (lines->options.device) {
    BCRVecPlace place;
    void *stream;

    PetscCall(BCRVecsGetArrays(f, u, &b, &x, &place));
    if (place == BCR_VECS_DEVICE) {
      PetscCall(BCRGetStream(&stream));
      PetscCall(PetscLogGpuTimeBegin());
      PetscCall(BCRTriSolveDevice(lines->tri, stream, (const PetscReal *)b, (PetscReal *)x));
      PetscCall(PetscLogGpuTimeEnd());
      PetscCall(PetscLogGpuFlops(info.flops));
    }
    PetscCall(BCRVecsRestoreArrays(f, u, &b, &x));
    if (place == BCR_VECS_DEVICE) {
      PetscCall(PetscLogEventEnd(BCR_Solve, f, u, 0, 0));
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  }
#endif
  if (f == u) {
    PetscCall(VecGetArray(u, &x));
    PetscCall(BCRTriSolve(lines->tri, (const PetscReal *)x, (PetscReal *)x));
    PetscCall(VecRestoreArray(u, &x));
  } else {
    PetscCall(VecGetArrayRead(f, &b));
    PetscCall(VecGetArrayWrite(u, &x));
    PetscCall(BCRTriSolve(lines->tri, (const PetscReal *)b, (PetscReal *)x));
    PetscCall(VecRestoreArrayWrite(u, &x));
    PetscCall(VecRestoreArrayRead(f, &b));
  }
  PetscCall(PetscLogFlops(info.flops));
  PetscCall(PetscLogEventEnd(BCR_Solve, f, u, 0, 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  PetscBCRLinesView - prints what the lines are and, once they have been solved, how

  Collective

  Input Parameters:
+ lines  - the systems
- viewer - an ASCII viewer, or `NULL` for standard output

  Level: intermediate

.seealso: `PetscBCRLinesCreate()`
@*/
PetscErrorCode PetscBCRLinesView(PetscBCRLines lines, PetscViewer viewer)
{
  BCRTriInfo info;
  PetscBool ascii;

  PetscFunctionBegin;
  BCRAssertPointer(lines, 1);
  if (!viewer) PetscCall(PetscViewerASCIIGetStdout(lines->lines->comm, &viewer));
  PetscCall(PetscObjectTypeCompare((PetscObject)viewer, PETSCVIEWERASCII, &ascii));
  if (!ascii) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRLinesView(lines->lines, viewer));
  if (!lines->tri) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRTriGetInfo(lines->tri, &info));
  PetscCall(PetscViewerASCIIPrintf(viewer, "method: %s%s%s\n", PCNeatoMethods[info.method], info.what[0] ? ", " : "",
                                   info.what));
  PetscCall(
    PetscViewerASCIIPrintf(viewer, "backend: %s%s\n", lines->options.device ? "cuda, device " : "cpu", info.device));
  if (info.transport[0]) PetscCall(PetscViewerASCIIPrintf(viewer, "transport: %s\n", info.transport));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  PetscBCRLinesDestroy - frees what `PetscBCRLinesCreate()` made

  Collective

  Input Parameter:
. lines - the systems; set to `NULL`

  Level: intermediate

.seealso: `PetscBCRLinesCreate()`
@*/
PetscErrorCode PetscBCRLinesDestroy(PetscBCRLines *lines)
{
  PetscFunctionBegin;
  if (!*lines) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRTriDestroy(&(*lines)->tri));
  PetscCall(BCRLinesDestroy(&(*lines)->lines));
  PetscCall(DMDestroy(&(*lines)->da));
  PetscCall(PetscLayoutDestroy(&(*lines)->map));
  PetscCall(PetscFree(*lines));
  PetscFunctionReturn(PETSC_SUCCESS);
}
