/*
  Operators of either sign, or with a complex shift, on the host: waves.h.
*/
#include "waves.h"
#include "eigen.h"
#include "../backend/cpu/cpu.h"
#include "../base/agree.h"
#include "../base/arena.h"
#include "../tridiagonal/transpose.h"
#include <math.h>
#include <string.h>

#define BATCH BCR_WAVES_BATCH

/* A line along a general axis whose eigenvalues are computed; those of longer ones are counted */
#define WAVES_EIGENVALUES 4096

typedef struct {
  BCRDtt dtt;
  BCREigen eigen; /* in place of it */
  double *lambda; /* [n] over the unit; NULL: a line along a long general axis */
  double *norm;   /* [n] */
} WavesAxis;

struct _n_BCRWaves {
  MPI_Comm comm;
  PetscMPIInt rank, size;
  PetscInt dim, line;
  PetscInt apart;                 /* the axis whose planes nothing couples, -1: there is none */
  PetscInt planes;                /* [planes] below: of that axis, else 1 */
  PetscInt n[3], m[3], stride[3]; /* of the whole box, and of this rank's */
  BCRAxis x;                      /* the line's, its arrays owned */
  double unit;                    /* a power of two of about the operator's size, by which all of it is divided */
  double *scale;                  /* [planes] the operator's size over that */
  double *times; /* [planes] by which eigenvalues of the axis apart's `timed` are multiplied; NULL: 1 */
  double shift;
  PetscBool product; /* of axes: */
  double mixed
    [BCR_SETS]; /* coefficients of the symbol over the unit, the shift first; the axes' eigenvalues are not over it */
  double *tau;  /* [planes] */
  PetscBool imaginary; /* some are not zero */
  PetscBool pairs;     /* the caller's pairs are in place of all that follows */
  BCRCore core;        /* level 0, the same; NULL: it does not have this box */
  PetscBool spectral;  /* transforms along the line, too */
  WavesAxis axis[3];
  const BCRCpuTable *cpu;
  double *lower, *diag, *upper; /* [n] rows of the line */
  double lowest;                /* their smallest eigenvalue */
  PetscInt nsys, firstsys;      /* lines that are solved here */
  PetscInt *index;              /* [all lines] place of the first unknown of each in this rank's box */
  double *sigma, *norm;         /* [nsys] */
  double *timed;                /* [nsys] with times: the eigenvalue that is multiplied, which is not in sigma */
  BCRTranspose t;
  PetscBool transposed;
  double *here, *share[2];
  double *batch[2], *work;
  BCRArena arena, space;
  BCRWavesInfo info;
};

/* ---- set-up ---- */

static PetscInt axis_line(const BCRWavesSpec *spec, PetscInt apart, PetscBool ranks)
{
  double rest;
  PetscInt line = ranks ? spec->axis : apart >= 0 ? apart : BCRAxesLine(spec->dim, spec->axes, &rest);

  for (PetscInt d = spec->dim - 1; d >= 0 && line < 0; d--)
    if (spec->axes[d].n > 1 && !BCRAxisIsPeriodic(&spec->axes[d])) line = d;
  return PetscMax(line, 0);
}

/* The axis' eigenvalues and how to transform along it; lines that are no rings need no transform, and planes that are not
   coupled none */
static PetscErrorCode axis_create(BCRWaves w, const BCRAxis *x, PetscBool transform, WavesAxis *a)
{
  const PetscBool apart = BCRAxisIsApart(x), vectors = transform || BCRAxisIsPeriodic(x) ? PETSC_TRUE : PETSC_FALSE;
  PetscInt constant;

  PetscFunctionBegin;
  if (!vectors && x->lower && x->n > WAVES_EIGENVALUES && !apart) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRArenaGet(&w->arena, sizeof(double) * (size_t)x->n, &a->lambda));
  PetscCall(BCRArenaGet(&w->arena, sizeof(double) * (size_t)x->n, &a->norm));
  for (PetscInt i = 0; i < x->n; i++) a->norm[i] = 1;
  if (x->n == 1 || apart)
    for (PetscInt i = 0; i < x->n; i++) a->lambda[i] = x->lower ? (double)x->diag[i] : 0;
  else if (x->lower && vectors) {
    PetscCall(BCREigenCreate(x, PETSC_FALSE, PETSC_FALSE, &a->eigen));
    PetscCall(BCREigenGetModes(a->eigen, a->lambda, &constant));
  } else if (x->lower) PetscCall(BCREigenValues(x, a->lambda));
  else {
    BCRAxisModes modes;

    PetscCheck(BCRAxisModesDescribe(x->n, x->end[0], x->end[1], &modes), PETSC_COMM_SELF, PETSC_ERR_PLIB,
               "A uniform axis whose ends have no modes");
    BCRAxisModesGetValues(&modes, a->lambda, a->norm);
    for (PetscInt i = 0; i < x->n; i++) a->lambda[i] *= (double)x->a;
    if (transform) PetscCall(BCRDttCreate(x->n, x->end[0], x->end[1], PETSC_FALSE, &a->dtt));
  }
  for (PetscInt i = 0; i < x->n && !w->product; i++) a->lambda[i] /= w->unit;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode line_rows(BCRWaves w)
{
  const BCRAxis *x = &w->x;

  PetscFunctionBegin;
  PetscCall(BCRArenaGet(&w->arena, sizeof(double) * (size_t)x->n, &w->lower));
  PetscCall(BCRArenaGet(&w->arena, sizeof(double) * (size_t)x->n, &w->diag));
  PetscCall(BCRArenaGet(&w->arena, sizeof(double) * (size_t)x->n, &w->upper));
  for (PetscInt i = 0; i < x->n; i++) {
    BCRAxisGetRow(x, i, &w->lower[i], &w->diag[i], &w->upper[i]);
    w->lower[i] /= w->unit;
    w->diag[i] /= w->unit;
    w->upper[i] /= w->unit;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The lines of the box, lower axes first, and which of them are this rank's */
static PetscErrorCode lines_create(BCRWaves w)
{
  const PetscInt e = w->line == 0 ? 1 : 0, f = w->line == 2 ? 1 : 2, nlines = w->n[e] * w->n[f];

  PetscFunctionBegin;
  w->nsys = nlines;
  if (w->comm != MPI_COMM_NULL) BCRTransposeShare(nlines, w->size, w->rank, &w->nsys, &w->firstsys);
  PetscCall(BCRArenaGet(&w->arena, sizeof(double) * (size_t)PetscMax(w->nsys, 1), &w->sigma));
  PetscCall(BCRArenaGet(&w->arena, sizeof(double) * (size_t)PetscMax(w->nsys, 1), &w->norm));
  PetscCall(BCRArenaGet(&w->arena, sizeof(PetscInt) * (size_t)PetscMax(nlines, 1), &w->index));
  if (w->times) PetscCall(BCRArenaGet(&w->arena, sizeof(double) * (size_t)PetscMax(w->nsys, 1), &w->timed));
  for (PetscInt s = 0; s < nlines; s++) {
    const PetscInt i = s % w->n[e], j = s / w->n[e], mine = s - w->firstsys;

    w->index[s] = i * w->stride[e] + j * w->stride[f];
    if (mine < 0 || mine >= w->nsys) continue;
    w->sigma[mine] = (w->times && w->x.timed == e ? 0 : w->axis[e].lambda[i]) +
                     (w->times && w->x.timed == f ? 0 : w->axis[f].lambda[j]) + w->shift;
    if (w->times) w->timed[mine] = w->x.timed == e ? w->axis[e].lambda[i] : w->axis[f].lambda[j];
    w->norm[mine] = w->axis[e].norm[i] * w->axis[f].norm[j];
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The plane that mode r of this rank's line s is in */
static PetscInt mode_plane(BCRWaves w, PetscInt r, PetscInt s)
{
  const PetscInt e = w->line == 0 ? 1 : 0, line = w->firstsys + s;

  if (w->apart < 0) return 0;
  return w->apart == w->line ? r : w->apart == e ? line % w->n[e] : line / w->n[e];
}

/* The real part of its eigenvalue */
static double mode_value(BCRWaves w, PetscInt r, PetscInt s)
{
  if (w->product) {
    const PetscInt e = w->line == 0 ? 1 : 0, f = w->line == 2 ? 1 : 2, line = w->firstsys + s;
    double l[3];

    l[w->line] = w->axis[w->line].lambda[r];
    l[e] = w->axis[e].lambda[line % w->n[e]];
    l[f] = w->axis[f].lambda[line / w->n[e]];
    return BCRProductSymbol(w->mixed, l[0], l[1], l[2]);
  }
  return w->axis[w->line].lambda[r] + w->sigma[s] + (w->times ? w->times[r] * w->timed[s] : 0);
}

/* Eigenvalues of this rank's lines below x of their size, or for each line at most x and not below -x */
static double count_below(BCRWaves w, double x, PetscBool within)
{
  double count = 0;

  for (PetscInt s = 0; s < w->nsys; s++) {
    const double y = x * w->scale[mode_plane(w, 0, s)];

    count += (double)BCRAxisCount(&w->x, w->unit * (y - w->sigma[s]));
    if (within) count -= (double)BCRAxisCount(&w->x, w->unit * (-y - w->sigma[s]));
  }
  return count;
}

static PetscErrorCode sum_ranks(BCRWaves w, MPI_Op op, int n, double v[])
{
  PetscFunctionBegin;
  if (w->comm != MPI_COMM_NULL) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, v, n, MPI_DOUBLE, op, w->comm));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Long lines with coefficients: the smallest |eigenvalue| to a digit, by bisection of its logarithm. Collective */
static PetscErrorCode bisect_least(BCRWaves w, double *least)
{
  double low = log(BCR_MODES_LEAST), high = log(2.);

  PetscFunctionBegin;
  while (high - low > 0.1) {
    const double middle = 0.5 * (low + high);
    double some = count_below(w, exp(middle), PETSC_TRUE);

    PetscCall(sum_ranks(w, MPI_SUM, 1, &some));
    if (some > 0) high = middle;
    else low = middle;
  }
  *least = exp(high);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of all modes, one by one, each against its plane's size */
static void planes_survey(BCRWaves w, BCRModesSurvey *survey)
{
  for (PetscInt r = 0; r < w->n[w->line]; r++) {
    for (PetscInt s = 0; s < w->nsys; s++) {
      const PetscInt k = mode_plane(w, r, s);
      const double re = mode_value(w, r, s), size = hypot(re, w->tau[k]) / w->scale[k];

      survey->least = PetscMin(survey->least, size);
      if (size <= BCR_MODES_LEAST) survey->left++;
      else if (re < 0) survey->negative++;
    }
  }
}

/* Signs and sizes of all eigenvalues. Collective */
static PetscErrorCode modes_survey(BCRWaves w)
{
  const PetscInt n = w->n[w->line];
  const PetscBool real = fabs(w->tau[0]) <= BCR_MODES_LEAST * w->scale[0] ? PETSC_TRUE : PETSC_FALSE;
  BCRModesSurvey s = {0, 0, PETSC_MAX_REAL};
  double count[2], *lambda = NULL;

  PetscFunctionBegin;
  if (w->axis[w->line].lambda) {
    PetscCall(PetscMalloc1(n, &lambda));
    PetscCall(PetscArraycpy(lambda, w->axis[w->line].lambda, n));
    BCRModesSort(n, lambda);
    w->lowest = lambda[0];
    for (PetscInt k = 0; k < w->nsys && w->apart < 0 && !w->product; k++)
      BCRModesSurveyLine(n, lambda, w->sigma[k], 1, w->tau[0], BCR_MODES_LEAST * w->scale[0], &s);
    PetscCall(PetscFree(lambda));
    if (w->apart >= 0 || w->product) planes_survey(w, &s);
    else s.least /= w->scale[0];
    PetscCall(sum_ranks(w, MPI_MIN, 1, &s.least));
  } else {
    PetscReal lowest;

    PetscCall(BCRAxisLowest(&w->x, &lowest));
    w->lowest = (double)lowest / w->unit;
    s.negative = count_below(w, real ? -BCR_MODES_LEAST : 0, PETSC_FALSE);
    if (real) s.left = count_below(w, BCR_MODES_LEAST, PETSC_TRUE);
    PetscCall(bisect_least(w, &s.least));
    s.least = hypot(s.least, w->tau[0] / w->scale[0]);
  }
  count[0] = s.negative;
  count[1] = s.left;
  PetscCall(sum_ranks(w, MPI_SUM, 2, count));
  w->info.negative = count[0];
  w->info.left = count[1];
  w->info.least = s.least;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Modes that are left out, and periodic lines, need the eigenvectors of the line; planes have their own eigenvalues there */
static PetscErrorCode line_transform(BCRWaves w)
{
  WavesAxis *a = &w->axis[w->line];

  PetscFunctionBegin;
  w->spectral =
    w->info.left > 0 || BCRAxisIsPeriodic(&w->x) || w->apart == w->line || w->product ? PETSC_TRUE : PETSC_FALSE;
  if (!w->spectral || w->x.n == 1 || w->apart == w->line || a->eigen) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(!w->x.lower || w->x.n <= BCR_EIGEN_MOST, PETSC_COMM_SELF, PETSC_ERR_SUP,
             "The operator is numerically singular: %g of its eigenvalues are below %g of its size, and their "
             "eigenvectors along an axis of %" PetscInt_FMT
             " unknowns with varying coefficients are too many (at most %d). Use another shift, or another PC",
             w->info.left, BCR_MODES_LEAST, w->x.n, BCR_EIGEN_MOST);
  PetscCall(axis_create(w, &w->x, PETSC_TRUE, a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode waves_workspace(BCRWaves w)
{
  const size_t n = (size_t)w->n[w->line], fields = w->imaginary ? 2 : 1, share = n * (size_t)PetscMax(w->nsys, 1);
  size_t work = w->cpu->waves->work(w->n[w->line]);

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) {
    if (w->axis[d].dtt) work = PetscMax(work, BCRDttWork(w->axis[d].dtt, w->cpu->lanes));
    if (w->axis[d].eigen) work = PetscMax(work, BCREigenWork(w->axis[d].eigen));
  }
  PetscCall(BCRArenaGet(&w->space, (work + 64) * sizeof(double), &w->work));
  for (size_t k = 0; k < 2; k++) PetscCall(BCRArenaGet(&w->space, n * BATCH * sizeof(double), &w->batch[k]));
  if (w->comm == MPI_COMM_NULL) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRArenaGet(&w->space, ((size_t)(w->m[0] * w->m[1] * w->m[2]) + 64) * sizeof(double), &w->here));
  for (size_t k = 0; k < fields; k++) PetscCall(BCRArenaGet(&w->space, (share + 64) * sizeof(double), &w->share[k]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective */
static PetscErrorCode transpose_create(BCRWaves w, const BCRWavesSpec *spec)
{
  const PetscInt e = w->line == 0 ? 1 : 0, f = w->line == 2 ? 1 : 2;
  PetscInt *rows, *first;
  PetscErrorCode ierr = PetscMalloc2(w->size, &rows, w->size, &first);

  PetscFunctionBegin;
  PetscCall(BCRFaultShare(w->comm, ierr, BCR_NO_MEMORY));
  PetscCallMPI(MPI_Allgather(&spec->m, 1, MPIU_INT, rows, 1, MPIU_INT, w->comm));
  PetscCallMPI(MPI_Allgather(&spec->first, 1, MPIU_INT, first, 1, MPIU_INT, w->comm));
  ierr = BCRTransposeCreate(w->comm, w->n[e] * w->n[f], rows, first, w->n[w->line], 1, &w->t);
  w->transposed = PETSC_TRUE;
  PetscCall(PetscFree2(rows, first));
  PetscCall(BCRFaultShare(w->comm, ierr, BCR_NO_MEMORY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void waves_describe(BCRWaves w)
{
  static const char xyz[] = "xyz";
  const double total = (double)w->n[0] * (double)w->n[1] * (double)w->n[2], parts = w->imaginary ? 2 : 1;
  char along[32] = "";

  for (PetscInt d = 0; d < w->dim; d++) {
    const WavesAxis *a = &w->axis[d];
    const size_t at = strlen(along);

    if (!a->dtt && !a->eigen) continue;
    (void)PetscSNPrintf(along + at, sizeof(along) - at, "%s%c", at ? ", " : "", xyz[d]);
    w->info.flops += 2 * parts * total * (a->dtt ? BCRDttFlops(a->dtt) / (double)w->n[d] : 2 * (double)w->n[d]);
    w->info.tables += a->dtt ? BCRDttTableBytes(a->dtt) : BCREigenBytes(a->eigen);
  }
  w->info.flops += (w->imaginary ? 60 : 15) * total;
  (void)PetscSNPrintf(w->info.plan, sizeof(w->info.plan), "%s%s%s%s", along[0] ? "transforms along " : "", along,
                      along[0] ? ", " : "", w->spectral ? "division by the eigenvalues" : "");
  if (!w->spectral) {
    const size_t at = strlen(w->info.plan);

    (void)PetscSNPrintf(w->info.plan + at, sizeof(w->info.plan) - at, "%slines along %c with pivoting",
                        w->imaginary ? "complex " : "", xyz[w->line]);
  }
  w->info.workspace = w->space.bytes;
  w->info.tables += w->arena.bytes;
  if (w->transposed) {
    w->info.sent = (size_t)parts * (w->t.bytes[0] + w->t.bytes[1]);
    w->info.messages = (size_t)parts * (w->t.messages[0] + w->t.messages[1]);
  }
}

/* Sizes of planes that are not coupled, or of the whole, and the unit */
static PetscErrorCode planes_create(BCRWaves w, const BCRWavesSpec *spec)
{
  const BCRAxis *x = w->apart < 0 ? NULL : &spec->axes[w->apart];
  double largest = 0;
  int exponent;

  PetscFunctionBegin;
  PetscCall(BCRArenaGet(&w->arena, sizeof(double) * (size_t)w->planes, &w->scale));
  PetscCall(BCRArenaGet(&w->arena, sizeof(double) * (size_t)w->planes, &w->tau));
  if (x && x->times) PetscCall(BCRArenaGet(&w->arena, sizeof(double) * (size_t)w->planes, &w->times));
  for (PetscInt k = 0; k < w->planes; k++) {
    if (x && x->times) w->times[k] = (double)x->times[k];
    w->scale[k] = spec->mixed ? hypot(spec->shift, spec->tau) + BCRProductBound(spec->mixed)
                              : BCRAxesPlaneSize(spec->dim, spec->axes, w->apart, k, spec->shift, spec->tau);
    largest = PetscMax(largest, w->scale[k]);
  }
  (void)frexp(largest, &exponent);
  w->unit = ldexp(1., PetscMin(PetscMax(exponent, -1000), 1000));
  for (PetscInt k = 0; k < w->planes; k++) {
    w->scale[k] /= w->unit;
    w->tau[k] = (x && x->imag ? (double)x->imag[k] : spec->tau) / w->unit;
    if (w->tau[k] != 0) w->imaginary = PETSC_TRUE;
  }
  for (int set = 1; set < BCR_SETS && spec->mixed; set++) w->mixed[set] = (double)spec->mixed[set] / w->unit;
  w->mixed[0] = spec->shift / w->unit;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a rank does by itself, before the eigenvalues are surveyed */
static PetscErrorCode waves_axes(BCRWaves w, const BCRWavesSpec *spec)
{
  const BCRAxis *x = &spec->axes[w->line];

  PetscFunctionBegin;
  w->cpu = BCRCpuGetTable(spec->options->isa, 0);
  PetscCall(planes_create(w, spec));
  w->shift = spec->shift / w->unit;
  w->x = *x;
  w->x.lower = w->x.diag = w->x.upper = w->x.weight = w->x.times = w->x.imag = NULL;
  if (x->lower) {
    PetscCall(PetscMalloc3(x->n, &w->x.lower, x->n, &w->x.diag, x->n, &w->x.upper));
    PetscCall(PetscArraycpy(w->x.lower, x->lower, x->n));
    PetscCall(PetscArraycpy(w->x.diag, x->diag, x->n));
    PetscCall(PetscArraycpy(w->x.upper, x->upper, x->n));
  }
  for (PetscInt d = 0; d < 3; d++) {
    static const BCRAxis none = {
      .n = 1, .end = {BCR_END_CELL_NEUMANN, BCR_END_CELL_NEUMANN}
    };

    PetscCall(
      axis_create(w, d < w->dim ? &spec->axes[d] : &none, d == w->line ? PETSC_FALSE : PETSC_TRUE, &w->axis[d]));
  }
  PetscCall(line_rows(w));
  PetscCall(lines_create(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Level 0 has boxes of one rank between uniform ends, whose groups the shift leaves definite */
static PetscErrorCode level0_create(BCRWaves w, const BCRWavesSpec *spec)
{
  const BCRCoreOptions options = {.isa = spec->options->isa};
  BCRCoreInfo info;

  PetscFunctionBegin;
  if (w->comm != MPI_COMM_NULL || w->dim < 2 || w->imaginary || w->info.left > 0 || w->apart >= 0 || w->product)
    PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt d = 0; d < w->dim; d++)
    if (spec->axes[d].lower) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRCoreCreateIndefinite(w->dim, spec->axes, (PetscReal)spec->shift, w->stride, &options, &w->core));
  if (!w->core) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt d = 0; d < 3; d++) PetscCall(BCRDttDestroy(&w->axis[d].dtt));
  PetscCall(BCRCoreGetInfo(w->core, &info));
  PetscCall(PetscStrncpy(w->info.plan, info.plan, sizeof(w->info.plan)));
  w->info.flops = info.flops;
  w->info.tables = info.tables + w->arena.bytes;
  w->info.workspace = info.workspace;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Complex numbers as they lie in memory */
static PetscErrorCode pairs_create(BCRWaves w, const BCRWavesSpec *spec)
{
  BCRPairsInfo info;

  PetscFunctionBegin;
  if (!spec->pairs || w->comm != MPI_COMM_NULL || w->info.left > 0 || w->apart >= 0 || w->product)
    PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(BCRPairsCreate(spec->dim, spec->axes, spec->shift, spec->tau, w->stride, spec->options, spec->pairs));
  if (!*spec->pairs) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt d = 0; d < 3; d++) PetscCall(BCRDttDestroy(&w->axis[d].dtt));
  PetscCall(BCRPairsGetInfo(*spec->pairs, &info));
  PetscCall(PetscStrncpy(w->info.plan, info.plan, sizeof(w->info.plan)));
  w->info.flops = info.flops;
  w->info.tables = info.tables + w->arena.bytes;
  w->info.workspace = info.workspace;
  w->pairs = PETSC_TRUE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode waves_last(BCRWaves w, const BCRWavesSpec *spec)
{
  PetscFunctionBegin;
  PetscCall(pairs_create(w, spec));
  if (w->pairs) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(level0_create(w, spec));
  if (w->core) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(line_transform(w));
  PetscCall(waves_workspace(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode waves_share(BCRWaves w, PetscErrorCode ierr)
{
  PetscFunctionBegin;
  if (w->comm != MPI_COMM_NULL) PetscCall(BCRFaultShare(w->comm, ierr, BCR_NO_MEMORY));
  else PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode waves_fill(BCRWaves w, const BCRWavesSpec *spec)
{
  PetscFunctionBegin;
  w->size = 1;
  if (w->comm != MPI_COMM_NULL) {
    PetscCallMPI(MPI_Comm_rank(w->comm, &w->rank));
    PetscCallMPI(MPI_Comm_size(w->comm, &w->size));
  }
  w->dim = spec->dim;
  w->product = spec->mixed ? PETSC_TRUE : PETSC_FALSE;
  w->apart = BCRAxesApart(spec->dim, spec->axes);
  w->planes = w->apart < 0 ? 1 : spec->axes[w->apart].n;
  w->line = axis_line(spec, w->apart, w->comm != MPI_COMM_NULL ? PETSC_TRUE : PETSC_FALSE);
  PetscCheck(
    w->apart < 0 || w->line == w->apart || !spec->axes[w->apart].times, PETSC_COMM_SELF, PETSC_ERR_SUP,
    "Planes across axis %c are not coupled and have coefficients of their own, but another component makes the "
    "ranks share out axis %c: solve the components one by one, or on one rank",
    'x' + (int)w->apart, 'x' + (int)w->line);
  for (PetscInt d = 0; d < 3; d++) {
    w->n[d] = d < spec->dim ? spec->axes[d].n : 1;
    w->m[d] = d == w->line && w->comm != MPI_COMM_NULL ? spec->m : w->n[d];
    w->stride[d] = d ? w->stride[d - 1] * w->m[d - 1] : 1;
  }
  PetscCall(waves_share(w, waves_axes(w, spec)));
  PetscCall(modes_survey(w));
  PetscCall(waves_share(w, waves_last(w, spec)));
  if (w->comm != MPI_COMM_NULL) PetscCall(transpose_create(w, spec));
  if (!w->core && !w->pairs) waves_describe(w);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRWavesCreate(const BCRWavesSpec *spec, BCRWaves *waves)
{
  BCRWaves w = NULL;
  PetscErrorCode ierr = PetscNew(&w);

  PetscFunctionBegin;
  *waves = NULL;
  if (spec->comm != MPI_COMM_NULL) ierr = BCRFaultShare(spec->comm, ierr, BCR_NO_MEMORY);
  PetscCall(ierr);
  w->comm = MPI_COMM_NULL;
  if (spec->comm != MPI_COMM_NULL) PetscCall(PetscCommDuplicate(spec->comm, &w->comm, NULL));
  BCRCallElse(waves_fill(w, spec), (void)BCRWavesDestroy(&w));
  *waves = w;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRWavesDestroy(BCRWaves *waves)
{
  BCRWaves w = *waves;

  PetscFunctionBegin;
  if (!w) PetscFunctionReturn(PETSC_SUCCESS);
  for (PetscInt d = 0; d < 3; d++) {
    PetscCall(BCRDttDestroy(&w->axis[d].dtt));
    PetscCall(BCREigenDestroy(&w->axis[d].eigen));
  }
  PetscCall(BCRCoreDestroy(&w->core));
  if (w->transposed) PetscCall(BCRTransposeDestroy(&w->t));
  PetscCall(PetscFree3(w->x.lower, w->x.diag, w->x.upper));
  PetscCall(BCRArenaFree(&w->arena));
  PetscCall(BCRArenaFree(&w->space));
  if (w->comm != MPI_COMM_NULL) PetscCall(PetscCommDestroy(&w->comm));
  PetscCall(PetscFree(*waves));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- solves ---- */

/* direction: 0 analysis, 1 synthesis; of all lines along axis d of this rank's box. u may be f */
static void transform(BCRWaves w, PetscInt d, int direction, const double *f, double *u)
{
  const WavesAxis *a = &w->axis[d];
  const ptrdiff_t s = w->stride[d], layers = d == 1 ? w->m[2] : 1, count = d == 0 ? (ptrdiff_t)w->m[1] * w->m[2] : s;

  for (ptrdiff_t k = 0; k < layers; k++) {
    const double *g = f + k * w->stride[2];
    double *v = u + k * w->stride[2];

    if (d == 0 && a->eigen) BCREigenRows(a->eigen, direction, 0, count, g, w->m[0], v, w->m[0], w->work);
    else if (d == 0) w->cpu->dtt.rows(a->dtt, direction, 0, count, g, w->m[0], v, w->m[0], w->work);
    else if (a->eigen) BCREigenCols(a->eigen, direction, 0, count, g, s, v, s, w->work);
    else w->cpu->dtt.cols(a->dtt, direction, 0, count, g, s, v, s, w->work);
  }
}

static PetscBool transforms(BCRWaves w, PetscInt d)
{
  return w->axis[d].dtt || w->axis[d].eigen ? PETSC_TRUE : PETSC_FALSE;
}

/* A batch's lines lie side by side in memory */
static PetscBool batch_whole(PetscInt s, PetscInt lanes, const PetscInt *index)
{
  return lanes == BATCH && (!index || index[s + BATCH - 1] == index[s] + BATCH - 1) ? PETSC_TRUE : PETSC_FALSE;
}

/* Between `lanes` lines from line s on, whose row r is at index[s] + r stride (index NULL: s), and a batch */
static void batch_copy(BCRWaves w, PetscBool back, PetscInt s, PetscInt lanes, const PetscInt *index, ptrdiff_t stride,
                       double *u, double *batch)
{
  for (PetscInt l = 0; l < BATCH; l++) {
    double *v = u + (l >= lanes ? 0 : index ? index[s + l] : s + l);

    for (PetscInt r = 0; r < w->n[w->line]; r++) {
      if (l >= lanes) batch[(ptrdiff_t)r * BATCH + l] = 0;
      else if (back) v[r * stride] = batch[(ptrdiff_t)r * BATCH + l];
      else batch[(ptrdiff_t)r * BATCH + l] = v[r * stride];
    }
  }
}

/* Elimination of a batch: rows are swapped where its lines may not be definite, and where the imaginary part of the shift,
   below which no pivot falls, is small against the couplings */
static void batch_eliminate(BCRWaves w, const double sigma[], const double tau[], const double scale[],
                            double *const u[2], ptrdiff_t ld)
{
  const BCRWavesLine line = {w->n[w->line], w->lower, w->diag, w->upper};
  int pivot = 0;

  for (PetscInt l = 0; l < BATCH; l++)
    if (!(w->lowest + sigma[l] > BCR_MODES_LEAST) && !(u[1] && fabs(tau[l]) > 0.05)) pivot = 1;
  if (!u[1]) w->cpu->waves->plain(&line, pivot, sigma, scale, u[0], ld, w->work);
  else {
    BCRWavesModes modes __attribute__((aligned(64)));

    for (PetscInt l = 0; l < BATCH; l++) {
      for (int row = 0; row < 3; row++) {
        modes.re[row][l] = sigma[l];
        modes.im[row][l] = tau[l];
      }
      modes.scale[0][l] = scale[l];
      modes.scale[1][l] = 0;
    }
    w->cpu->waves->pair(&line, pivot, &modes, u[0], u[1], ld, w->work);
  }
}

/* All lines of a share, or of a box */
static void lines_eliminate(BCRWaves w, double factor, const PetscInt *index, ptrdiff_t stride, double *const u[2])
{
  for (PetscInt s = 0; s < w->nsys; s += BATCH) {
    const PetscInt lanes = PetscMin(BATCH, w->nsys - s);
    double sigma[BATCH] __attribute__((aligned(64))), scale[BATCH] __attribute__((aligned(64))), tau[BATCH];

    for (PetscInt l = 0; l < BATCH; l++) {
      sigma[l] = w->sigma[s + PetscMin(l, lanes - 1)];
      scale[l] = factor * w->norm[s + PetscMin(l, lanes - 1)];
      tau[l] = w->tau[mode_plane(w, 0, s + PetscMin(l, lanes - 1))];
    }
    if (batch_whole(s, lanes, index)) {
      const PetscInt at = index ? index[s] : s;
      double *const here[2] = {u[0] + at, u[1] ? u[1] + at : NULL};

      batch_eliminate(w, sigma, tau, scale, here, stride);
      continue;
    }
    for (int k = 0; k < 2 && u[k]; k++) batch_copy(w, PETSC_FALSE, s, lanes, index, stride, u[k], w->batch[k]);
    {
      double *const here[2] = {w->batch[0], u[1] ? w->batch[1] : NULL};

      batch_eliminate(w, sigma, tau, scale, here, BATCH);
    }
    for (int k = 0; k < 2 && u[k]; k++) batch_copy(w, PETSC_TRUE, s, lanes, index, stride, u[k], w->batch[k]);
  }
}

/* Modes along all axes. sums: squares of what was left out, of the right-hand side, both over the operator's size in each
   plane, of the solution; in the norm in which eigenvectors are orthogonal */
static void modes_divide(BCRWaves w, double factor, const PetscInt *index, ptrdiff_t stride, double *u[2],
                         double sums[3])
{
  const WavesAxis *a = &w->axis[w->line];

  for (PetscInt r = 0; r < w->n[w->line]; r++) {
    for (PetscInt s = 0; s < w->nsys; s++) {
      const ptrdiff_t at = (index ? index[s] : s) + r * stride;
      const double norm = a->norm[r] * w->norm[s], re = mode_value(w, r, s),
                   im = u[1] ? w->tau[mode_plane(w, r, s)] : 0, square = re * re + im * im, x = u[0][at],
                   y = u[1] ? u[1][at] : 0, f = norm * (x * x + y * y), size = w->scale[mode_plane(w, r, s)];
      const PetscBool left = hypot(re, im) <= BCR_MODES_LEAST * size ? PETSC_TRUE : PETSC_FALSE;
      const double inv = left ? 0 : norm * factor / square;

      sums[0] += left ? f / (size * size) : 0;
      sums[1] += f / (size * size);
      sums[2] += left ? 0 : f / square;
      u[0][at] = inv * (re * x + im * y);
      if (u[1]) u[1][at] = inv * (re * y - im * x);
    }
  }
}

/* Along the line, of this rank's share of them */
static void share_transform(BCRWaves w, int direction, double *u)
{
  const WavesAxis *a = &w->axis[w->line];

  if (a->eigen) BCREigenCols(a->eigen, direction, 0, w->nsys, u, w->nsys, u, w->nsys, w->work);
  else if (a->dtt) w->cpu->dtt.cols(a->dtt, direction, 0, w->nsys, u, w->nsys, u, w->nsys, w->work);
}

/* What was left out of this right-hand side. Collective */
static PetscErrorCode note_removed(BCRWaves w, double sums[3])
{
  double removed, size;

  PetscFunctionBegin;
  if (w->info.left == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(sum_ranks(w, MPI_SUM, 3, sums));
  removed = sqrt(sums[0]);
  size = sqrt(sums[1]);
  if (!(size > 0)) PetscFunctionReturn(PETSC_SUCCESS);
  w->info.removed = PetscMax(w->info.removed, removed / size);
  w->info.backward = PetscMax(w->info.backward, removed / (sqrt(sums[2]) + size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Lines between the transforms along the other axes. Collective */
static PetscErrorCode solve_lines(BCRWaves w, double factor, double *const box[2])
{
  const PetscBool shared = w->transposed;
  const PetscInt *index = shared || w->line == w->dim - 1 ? NULL : w->index;
  const ptrdiff_t stride = shared ? w->nsys : w->stride[w->line];
  double *u[2] = {shared ? w->share[0] : box[0], NULL}, sums[3] = {0, 0, 0};
  MPI_Request request;

  PetscFunctionBegin;
  if (box[1]) u[1] = shared ? w->share[1] : box[1];
  for (int k = 0; k < 2 && shared && u[k]; k++) {
    BCRTransposePack(&w->t, 0, w->t.mine, (PetscInt)w->stride[w->line], w->index, box[k], w->here);
    PetscCall(BCRTransposeBegin(&w->t, PETSC_FALSE, w->here, u[k], &request));
    PetscCallMPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  if (!w->spectral) lines_eliminate(w, factor, index, stride, u);
  else {
    for (int k = 0; k < 2 && u[k]; k++) {
      if (shared) share_transform(w, 0, u[k]);
      else if (transforms(w, w->line)) transform(w, w->line, 0, u[k], u[k]);
    }
    modes_divide(w, factor, index, stride, u, sums);
    for (int k = 0; k < 2 && u[k]; k++) {
      if (shared) share_transform(w, 1, u[k]);
      else if (transforms(w, w->line)) transform(w, w->line, 1, u[k], u[k]);
    }
  }
  for (int k = 0; k < 2 && shared && u[k]; k++) {
    PetscCall(BCRTransposeBegin(&w->t, PETSC_TRUE, w->here, u[k], &request));
    PetscCallMPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
    BCRTransposeUnpack(&w->t, 0, w->t.mine, (PetscInt)w->stride[w->line], w->index, w->here, box[k]);
  }
  PetscCall(note_removed(w, sums));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRWavesSolve(BCRWaves w, double factor, const double *const f[2], double *const u[2])
{
  const size_t bytes = (size_t)w->m[0] * (size_t)w->m[1] * (size_t)w->m[2] * sizeof(double);

  PetscFunctionBegin;
  if (w->core) PetscCall(BCRCoreSetFactor(w->core, (PetscReal)factor));
  for (int k = 0; k < 2 && u[k] && w->core; k++) PetscCall(BCRCoreSolve(w->core, f[k], u[k], NULL));
  if (w->core) PetscFunctionReturn(PETSC_SUCCESS);
  for (int k = 0; k < 2 && u[k]; k++) {
    const double *from = f[k];

    for (PetscInt d = 0; d < w->dim; d++) {
      if (d == w->line || !transforms(w, d)) continue;
      transform(w, d, 0, from, u[k]);
      from = u[k];
    }
    if (from != u[k] && bytes) memcpy(u[k], from, bytes);
  }
  PetscCall(solve_lines(w, factor / w->unit, u));
  for (int k = 0; k < 2 && u[k]; k++)
    for (PetscInt d = w->dim - 1; d >= 0; d--)
      if (d != w->line && transforms(w, d)) transform(w, d, 1, u[k], u[k]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRWavesForget(BCRWaves w)
{
  PetscFunctionBegin;
  w->info.removed = w->info.backward = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRWavesGetInfo(BCRWaves w, BCRWavesInfo *info)
{
  PetscFunctionBegin;
  *info = w->info;
  PetscFunctionReturn(PETSC_SUCCESS);
}
