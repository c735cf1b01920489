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

/* A line whose row sums all vanish cannot be solved: code and message name the
 * first one. Methods need not find out by themselves. */
PetscErrorCode BCRLinesCheckSingular(BCRLines lines, PetscErrorCode *code, size_t length, char message[])
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

/* Solves for a random right-hand side and looks at the residual: code and
 * message name the first line that is not solved to the precision of the work
 */
PetscErrorCode BCRLinesProbe(BCRLines lines, BCRTri tri, const BCRTriOptions *options, PetscErrorCode *code,
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
