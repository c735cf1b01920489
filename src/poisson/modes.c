/*
  The eigenbasis of the axes along an interface between ranks (ranks.h). Always in double: an
  interface is a row or a plane, so that this is little work.
*/
#include "ranks.h"
#include "eigen.h"
#include "tables.h"

typedef struct {
  PetscInt n;
  BCRDtt dtt;         /* uniform axis */
  BCREigen eigen;     /* general axis */
  double *lambda;     /* a times that of the transform, or the eigenvalues */
  const double *norm; /* NULL: all one */
  PetscInt constant;
} BCRModesAxis;

struct _n_BCRModes {
  PetscInt n, size, constant;
  BCRModesAxis axis[2];
  double *lambda, *norm;
  void *work;
  BCRArena arena;
  const BCRCpuTable *cpu;
};

PetscErrorCode BCRModesCreate(PetscInt n, const BCRAxis axes[], PetscBool singular, int isa, BCRModes *modes)
{
  BCRModes m;
  size_t work = 0;

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
    PetscCall(BCRArenaGet(&m->arena, a->n * sizeof(double), &a->lambda));
    if (i < n && axes[i].lower) {
      PetscCall(BCREigenCreate(&axes[i], singular, PETSC_FALSE, &a->eigen));
      PetscCall(BCREigenGetModes(a->eigen, a->lambda, &a->constant));
      work = PetscMax(work, BCREigenWork(a->eigen));
    } else {
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
  PetscCall(BCRArenaGet(&m->arena, (work + 64) * sizeof(double), &m->work));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRModesApply(BCRModes m, int direction, double v[])
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < 2; i++) {
    const BCRModesAxis *a = &m->axis[i];
    const PetscInt n = a->n, lines = m->size / n, next = m->axis[0].n;

    if (a->dtt) {
      if (i) m->cpu->dtt.cols(a->dtt, direction, 0, lines, v, next, v, next, m->work);
      else m->cpu->dtt.rows(a->dtt, direction, 0, lines, v, n, v, n, m->work);
    } else if (a->eigen) {
      if (i) BCREigenCols(a->eigen, direction, 0, lines, v, next, v, next, m->work);
      else BCREigenRows(a->eigen, direction, 0, lines, v, n, v, n, m->work);
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
  const void *analysis = NULL, *synthesis = NULL; /* of doubles: BCRModesCreate() */

  PetscFunctionBegin;
  if (m->axis[i].eigen) PetscCall(BCREigenGetMatrices(m->axis[i].eigen, &analysis, &synthesis));
  *to = (const double *)analysis;
  *from = (const double *)synthesis;
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
    } else if (a->eigen) {
      *tables += BCREigenBytes(a->eigen);
      *flops += 2. * (double)a->n * (double)m->size;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRModesDestroy(BCRModes *modes)
{
  BCRModes m = *modes;

  PetscFunctionBegin;
  if (!m) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt i = 0; i < 2; i++) {
    PetscCall(BCRDttDestroy(&m->axis[i].dtt));
    PetscCall(BCREigenDestroy(&m->axis[i].eigen));
  }
  PetscCall(BCRArenaFree(&m->arena));
  PetscCall(PetscFree(*modes));
  PetscFunctionReturn(PETSC_SUCCESS);
}
