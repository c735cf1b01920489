/*
  The eigenbasis of the axes along an interface between ranks (ranks.h). Always in double: an
  interface is a row or a plane, so that this is little work.
*/
#include "ranks.h"
#include "tables.h"
#include <math.h>

typedef struct {
  PetscInt n;
  BCRDtt dtt;         /* uniform axis */
  double *to, *from;  /* general axis: rows of the analysis, columns of the synthesis, both by mode */
  double *lambda;     /* a times that of the transform, or the eigenvalues */
  const double *norm; /* NULL: all one */
  PetscInt constant;
} BCRModesAxis;

struct _n_BCRModes {
  PetscInt n, size, constant;
  BCRModesAxis axis[2];
  double *lambda, *norm, *line;
  void *work;
  BCRArena arena;
  const BCRCpuTable *cpu;
};

/* Eigenvalues (in d) and eigenvectors (vector k: z[k*n + i]) of a symmetric tridiagonal matrix with
   diagonal d and off-diagonal e[0 .. n-2]: implicit QR steps with Wilkinson's shift, Golub and Van
   Loan, Matrix Computations, algorithms 8.3.2 and 8.3.3 */
static PetscErrorCode symmetric_eigenvectors(PetscInt n, double d[], double e[], double z[])
{
  PetscInt high = n - 1, low, steps = 0;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < n; k++) {
    for (PetscInt i = 0; i < n; i++) z[(size_t)k * n + i] = i == k ? 1 : 0;
  }
  while (high > 0) {
    double h, shift, x, y;

    low = high;
    while (low > 0 && fabs(e[low - 1]) > 1.1e-16 * (fabs(d[low - 1]) + fabs(d[low]))) low--;
    if (low == high) {
      high--;
      continue;
    }
    PetscCheck(steps++ < 50 * (PetscInt64)n, PETSC_COMM_SELF, PETSC_ERR_CONV_FAILED,
               "The eigenvalues of a general axis of %" PetscInt_FMT
               " unknowns do not converge: are its coefficients finite?",
               n);
    h = (d[high - 1] - d[high]) / 2;
    y = e[high - 1];
    shift = d[high] - y * (y / (h + (h < 0 ? -1 : 1) * hypot(h, y)));
    x = d[low] - shift;
    y = e[low];
    for (PetscInt k = low; k < high; k++) {
      const double r = hypot(x, y), c = r > 0 ? x / r : 1, s = r > 0 ? y / r : 0, a = d[k], b = e[k], g = d[k + 1];
      double *u = z + (size_t)k * n, *v = u + n;

      if (k > low) e[k - 1] = r;
      d[k] = c * (c * a + 2 * s * b) + s * s * g;
      d[k + 1] = s * (s * a - 2 * c * b) + c * c * g;
      e[k] = (c * c - s * s) * b + c * s * (g - a);
      if (k + 1 < high) {
        x = e[k];
        y = s * e[k + 1];
        e[k + 1] *= c;
      }
      for (PetscInt i = 0; i < n; i++) {
        const double ui = u[i];

        u[i] = c * ui + s * v[i];
        v[i] = c * v[i] - s * ui;
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* T = H^-1/2 (Q L Q^T) H^1/2 with h_(i+1) lower_(i+1) = h_i upper_i: analysis Q^T H^1/2, synthesis H^-1/2 Q */
static PetscErrorCode general_axis(BCRModes m, const BCRAxis *x, PetscBool singular, BCRModesAxis *a)
{
  const PetscInt n = x->n;
  double *e, *h;

  PetscFunctionBegin;
  PetscCall(BCRArenaGet(&m->arena, n * sizeof(double), &a->lambda));
  PetscCall(BCRArenaGet(&m->arena, (size_t)n * n * sizeof(double), &a->to));
  PetscCall(BCRArenaGet(&m->arena, (size_t)n * n * sizeof(double), &a->from));
  for (PetscInt i = 0; i + 1 < n; i++) {
    PetscCheck((x->upper[i] > 0) == (x->lower[i + 1] > 0), PETSC_COMM_SELF, PETSC_ERR_SUP,
               "On several ranks, rows %" PetscInt_FMT " and %" PetscInt_FMT
               " of the axis with general coefficients must both hold the coupling between them or both not; let the "
               "ranks share out this axis, or use one rank",
               i, i + 1);
  }
  PetscCall(PetscMalloc2(n, &e, n, &h));
  h[0] = 1;
  for (PetscInt i = 0; i < n; i++) a->lambda[i] = x->diag[i];
  for (PetscInt i = 0; i + 1 < n; i++) {
    const double up = x->upper[i], low = x->lower[i + 1];

    h[i + 1] = up > 0 ? h[i] * (up / low) : h[i];
    e[i] = -sqrt(up) * sqrt(low);
  }
  BCRCallElse(symmetric_eigenvectors(n, a->lambda, e, a->to), (void)PetscFree2(e, h));
  for (PetscInt k = 0; k < n; k++) {
    for (PetscInt i = 0; i < n; i++) {
      const size_t at = (size_t)k * n + i;
      const double q = a->to[at];

      a->to[at] = q * sqrt(h[i]);
      a->from[at] = q / sqrt(h[i]);
    }
  }
  a->constant = -1;
  if (singular) { /* exactly so: eigenvalue 0, the constant, and h in the analysis */
    PetscInt k = 0;
    double sum = 0;

    for (PetscInt i = 1; i < n; i++) {
      if (fabs(a->lambda[i]) < fabs(a->lambda[k])) k = i;
    }
    for (PetscInt i = 0; i < n; i++) sum += h[i];
    for (PetscInt i = 0; i < n; i++) {
      a->to[(size_t)k * n + i] = h[i] / sum;
      a->from[(size_t)k * n + i] = 1;
    }
    a->lambda[k] = 0;
    a->constant = k;
  }
  PetscCall(PetscFree2(e, h));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRModesCreate(PetscInt n, const BCRAxis axes[], PetscBool singular, int isa, BCRModes *modes)
{
  BCRModes m;
  size_t work = 0, most = 1;

  PetscFunctionBegin;
  PetscCall(PetscNew(&m));
  *modes = m;
  m->n = n;
  m->cpu = BCRCpuGetTable(isa, 0);
  m->size = 1;
  for (PetscInt i = 0; i < 2; i++) {
    BCRModesAxis *a = &m->axis[i];

    a->n = i < n ? axes[i].n : 1;
    m->size *= a->n;
    most = PetscMax(most, (size_t)a->n);
    if (i < n && axes[i].lower) PetscCall(general_axis(m, &axes[i], singular, a));
    else {
      PetscCall(BCRArenaGet(&m->arena, a->n * sizeof(double), &a->lambda));
      a->lambda[0] = 0;
      a->constant = singular ? 0 : -1;
      if (a->n > 1) {
        const double *lambda;

        PetscCall(BCRDttCreate(a->n, axes[i].end[0], axes[i].end[1], PETSC_FALSE, &a->dtt));
        PetscCall(BCRDttGetModes(a->dtt, &lambda, &a->norm));
        for (PetscInt k = 0; k < a->n; k++) a->lambda[k] = (double)axes[i].a * lambda[k];
        if (singular) a->constant = BCRAxisModesFindConstant(a->n, lambda);
        work = PetscMax(work, BCRDttWork(a->dtt, m->cpu->lanes));
      }
    }
  }
  m->constant = singular ? m->axis[0].constant + m->axis[0].n * m->axis[1].constant : -1;
  PetscCall(BCRArenaGet(&m->arena, m->size * sizeof(double), &m->lambda));
  PetscCall(BCRArenaGet(&m->arena, m->size * sizeof(double), &m->norm));
  for (PetscInt k1 = 0; k1 < m->axis[1].n; k1++) {
    for (PetscInt k0 = 0; k0 < m->axis[0].n; k0++) {
      m->lambda[k0 + m->axis[0].n * k1] = m->axis[0].lambda[k0] + m->axis[1].lambda[k1];
      m->norm[k0 + m->axis[0].n * k1] =
        (m->axis[0].norm ? m->axis[0].norm[k0] : 1) * (m->axis[1].norm ? m->axis[1].norm[k1] : 1);
    }
  }
  PetscCall(BCRArenaGet(&m->arena, most * sizeof(double), &m->line));
  PetscCall(BCRArenaGet(&m->arena, (work + 64) * sizeof(double), &m->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRModesApply(BCRModes m, int direction, double v[])
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < 2; i++) {
    const BCRModesAxis *a = &m->axis[i];
    /* elements of a line; lines */
    const PetscInt n = a->n, lines = m->size / n, next = i ? m->axis[0].n : 1, apart = i ? 1 : n;

    if (a->dtt) {
      if (i) m->cpu->dtt.cols(a->dtt, direction, 0, lines, v, next, v, next, m->work);
      else m->cpu->dtt.rows(a->dtt, direction, 0, lines, v, n, v, n, m->work);
    } else if (a->to && n > 1) {
      for (PetscInt l = 0; l < lines; l++) {
        double *x = v + l * apart;

        for (PetscInt k = 0; k < n; k++) {
          m->line[k] = x[k * next];
          x[k * next] = 0;
        }
        for (PetscInt k = 0; k < n; k++) {
          if (direction) {
            for (PetscInt j = 0; j < n; j++) x[j * next] += a->from[(size_t)k * n + j] * m->line[k];
          } else {
            double sum = 0;

            for (PetscInt j = 0; j < n; j++) sum += a->to[(size_t)k * n + j] * m->line[j];
            x[k * next] = sum;
          }
        }
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRModesGet(BCRModes m, PetscInt *size, const double **lambda, const double **norm, PetscInt *constant)
{
  PetscFunctionBegin;
  if (size) *size = m->size;
  if (lambda) *lambda = m->lambda;
  if (norm) *norm = m->norm;
  if (constant) *constant = m->constant;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRModesGetMatrices(BCRModes m, PetscInt i, const double **to, const double **from)
{
  PetscFunctionBegin;
  *to = m->axis[i].to;
  *from = m->axis[i].from;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRModesBytes(BCRModes m, size_t *tables, double *flops)
{
  PetscFunctionBegin;
  *tables = m->arena.bytes;
  *flops = 0; /* of one row or plane, one direction */
  for (PetscInt i = 0; i < 2; i++) {
    const BCRModesAxis *a = &m->axis[i];

    if (a->dtt) {
      *tables += BCRDttTableBytes(a->dtt);
      *flops += BCRDttFlops(a->dtt) * (double)m->size / (double)a->n;
    } else if (a->to) *flops += 2. * (double)a->n * (double)m->size;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRModesDestroy(BCRModes *modes)
{
  BCRModes m = *modes;

  PetscFunctionBegin;
  if (!m) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < 2; i++) PetscCall(BCRDttDestroy(&m->axis[i].dtt));
  PetscCall(BCRArenaFree(&m->arena));
  PetscCall(PetscFree(*modes));
  PetscFunctionReturn(PETSC_SUCCESS);
}
