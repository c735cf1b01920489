/*
  Lines that no method can solve, and lines that a method without pivoting may not solve well enough.
*/
#include "linesimpl.h"
#include <math.h>
#include <petscbcr.h>

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

PetscErrorCode BCRLinesCheckSingular(BCRLines lines, BCRFault *fault)
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
  PetscCall(BCRLinesName(lines, bad, sizeof(name), name));
  PetscCall(BCRFaultSet(fault, PETSC_ERR_MAT_LU_ZRPVT,
                        "The line %s is singular: all its row sums vanish (Neumann or periodic "
                        "ends without a shift), so that a constant solves it with zero "
                        "right-hand side. %s",
                        name,
                        lines->dim == 1 ? "PCBCRPOISSON solves such problems up to a constant; or fix a "
                                          "value in one row"
                                        : "Take an axis with Dirichlet ends or another preconditioner"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscBool BCRLinesMayGrow(BCRLines lines)
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

/* For BCRLinesProbe(): a field f, its solution u, and u beside this rank's rows (plane numbers before them, plane after) */
typedef struct {
  PetscInt plane;
  PetscReal *f, *u, *beside;
  PetscReal
    *worst; /* [3 l]: of line l the largest residual over its row's sum of |entries|, the largest |u|, not finite */
} BCRProbe;

/* Place of number i of the plane o, row j in a field */
static inline size_t BCRProbeAt(const BCRTriSpec *s, PetscInt i, PetscInt j, PetscInt o)
{
  return (size_t)i + (size_t)s->inner * ((size_t)j + (size_t)s->n * (size_t)o);
}

/* Random numbers of the size of their rows, which may be of any */
static void BCRProbeFill(BCRLines lines, PetscMPIInt rank, PetscReal *f)
{
  const BCRTriSpec *s = &lines->spec;
  const size_t total = (size_t)s->inner * (size_t)s->outer * (size_t)s->n;
  unsigned long long state = 88172645463325252ULL + 977 * (unsigned long long)rank; /* xorshift */

  for (size_t i = 0; i < total; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    f[i] = (PetscReal)((double)(state >> 11) / 4503599627370496.0 - 1);
  }
  for (PetscInt o = 0; o < s->outer; ++o) {
    for (PetscInt j = 0; j < s->n; ++j) {
      for (PetscInt i = 0; i < s->inner; ++i) {
        PetscReal row[3];

        BCRLinesGetActing(lines, i / s->rep + s->inner / s->rep * o, j, row);
        f[BCRProbeAt(s, i, j, o)] *= PetscAbsReal(row[0]) + PetscAbsReal(row[1]) + PetscAbsReal(row[2]);
      }
    }
  }
}

/* The solution in the rows before and after this rank's, from the ranks that have them; 0 beyond the ends. send: work
   space. Collective on along */
static PetscErrorCode BCRProbeExchange(BCRLines lines, PetscMPIInt rank, PetscReal *send, BCRProbe *p)
{
  const BCRTriSpec *s = &lines->spec;
  const PetscInt plane = p->plane;
  const PetscMPIInt last = lines->ranks - 1, before = rank > 0 ? rank - 1 : (s->periodic ? last : MPI_PROC_NULL),
                    after = rank < last ? rank + 1 : (s->periodic ? 0 : MPI_PROC_NULL);
  PetscMPIInt width;

  PetscFunctionBegin;
  PetscCall(PetscMPIIntCast(plane, &width));
  for (PetscInt o = 0; o < s->outer; ++o) {
    for (PetscInt i = 0; i < s->inner; ++i) {
      send[i + s->inner * o] = p->u[BCRProbeAt(s, i, 0, o)];
      send[plane + i + s->inner * o] = p->u[BCRProbeAt(s, i, s->n - 1, o)];
    }
  }
  PetscCall(PetscArrayzero(p->beside, 2 * plane));
  PetscCallMPI(MPI_Sendrecv(send, width, MPIU_REAL, before, 0, p->beside + plane, width, MPIU_REAL, after, 0,
                            lines->along, MPI_STATUS_IGNORE));
  PetscCallMPI(MPI_Sendrecv(send + plane, width, MPIU_REAL, after, 1, p->beside, width, MPIU_REAL, before, 1,
                            lines->along, MPI_STATUS_IGNORE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void BCRProbeResidual(BCRLines lines, BCRProbe *p)
{
  const BCRTriSpec *s = &lines->spec;

  for (PetscInt o = 0; o < s->outer; ++o) {
    for (PetscInt j = 0; j < s->n; ++j) {
      for (PetscInt i = 0; i < s->inner; ++i) {
        const PetscInt l = i / s->rep + s->inner / s->rep * o, g = i + s->inner * o;
        const size_t at = BCRProbeAt(s, i, j, o);
        PetscReal row[3], r, sum, *worst = p->worst + 3 * l;
        const PetscReal below = j ? p->u[at - (size_t)s->inner] : p->beside[g],
                        above = j < s->n - 1 ? p->u[at + (size_t)s->inner] : p->beside[p->plane + g];

        BCRLinesGetActing(lines, l, j, row);
        sum = PetscAbsReal(row[0]) + PetscAbsReal(row[1]) + PetscAbsReal(row[2]);
        r = PetscAbsReal(p->f[at] - (row[0] * below + row[1] * p->u[at] + row[2] * above)) / sum;
        worst[0] = PetscMax(worst[0], r);
        worst[1] = PetscMax(worst[1], PetscAbsReal(p->u[at]));
        if (PetscIsInfOrNanReal(r)) worst[2] = 1; /* the maxima may lose it */
      }
    }
  }
}

/* Names the first line that is not solved to the precision of the work; worst: of all ranks of along */
static PetscErrorCode BCRProbeJudge(BCRLines lines, BCRTri tri, PetscBool single, const PetscReal worst[],
                                    BCRFault *fault)
{
  const double eps = single ? 1.2e-7 : 2.3e-16, most = 4096 * eps; /* three digits and a half may be lost */
  BCRTriInfo info;
  char name[128];

  PetscFunctionBegin;
  PetscCall(BCRTriGetInfo(tri, &info));
  for (PetscInt l = 0; l < lines->nlines; ++l) {
    const PetscBool finite = (PetscBool)(worst[3 * l + 2] == 0);
    const double error = (double)worst[3 * l] / ((double)worst[3 * l + 1] + 1);

    if (finite && error <= most) continue;
    PetscCall(BCRLinesName(lines, l, sizeof(name), name));
    PetscCall(BCRFaultSet(fault, PETSC_ERR_MAT_LU_ZRPVT,
                          "The line %s is not diagonally dominant, and -pc_neato_method %s, "
                          "which does not pivot, solves it to a backward error of %g only, %d "
                          "digits lost. Take %sPCLU, or a preconditioning matrix with a larger "
                          "diagonal",
                          name, PCNeatoMethods[info.method], finite ? error : (double)INFINITY,
                          finite ? (int)(log10(error / eps) + 0.5) : (single ? 7 : 16),
                          info.method == BCR_TRI_THOMAS ? "" : "-pc_neato_method thomas, or "));
    break;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRLinesProbe(BCRLines lines, BCRTri tri, const BCRTriOptions *options, BCRFault *fault)
{
  const BCRTriSpec *s = &lines->spec;
  const size_t total = (size_t)s->inner * (size_t)s->outer * (size_t)s->n, numbers = 3 * (size_t)lines->nlines;
  const PetscBool single = (PetscBool)(sizeof(PetscReal) < sizeof(double) || options->precision == BCR_TRI_SINGLE);
  BCRProbe p = {s->inner * s->outer, NULL, NULL, NULL, NULL};
  PetscReal *send = NULL, *all = NULL;
  PetscMPIInt rank, count = 0;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(lines->along, &rank));
  ierr = PetscMPIIntCast((PetscInt64)numbers, &count);
  if (!ierr) ierr = PetscMalloc4(total, &p.f, total, &p.u, 2 * (size_t)p.plane, &send, 2 * (size_t)p.plane, &p.beside);
  if (!ierr) ierr = PetscCalloc2(numbers, &p.worst, numbers, &all);
  ierr = BCRFaultShare(lines->comm, ierr, BCR_NO_MEMORY);
  if (!ierr) {
    BCRProbeFill(lines, rank, p.f);
    PetscCall(BCRTriSolve(tri, p.f, p.u));
    PetscCall(BCRProbeExchange(lines, rank, send, &p));
    BCRProbeResidual(lines, &p);
    PetscCallMPI(MPI_Allreduce(p.worst, all, count, MPIU_REAL, MPIU_MAX, lines->along));
    PetscCall(BCRProbeJudge(lines, tri, single, all, fault));
  }
  PetscCall(PetscFree4(p.f, p.u, send, p.beside));
  PetscCall(PetscFree2(p.worst, all));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}
