static char help[] =
  "Times direct Poisson solves on one core: a copy of the array, PCBCRPOISSON, FFTW, and iterative and sparse direct solvers.\n\
  -suite <main,awkward,ends,precision,isa,rhs,radix,reduction,again>  what to run, see bench/README.md\n\
  -reps <9>      repetitions, at least 5\n\
  -seconds <1>   more repetitions of cases so short that all of them take less than this\n\
  -n2d <511,1023,2047,4095>, -n3d <63,127,255>  sizes, for the suites that go through sizes\n\
  -peers         main: also CG with multigrid, with hypre, and MUMPS\n\
  -fftw <true>   main: also FFTW\n\
  -small         every size divided by 8, to try it out\n\
  -csv <file>    adds the results to this file\n\
  Options -pc_bcrpoisson_... act on every PC.\n\n";

#include "bench.h"
#include "src/backend/cpu/cpu.h"
#include "src/poisson/core.h"
#if defined(PETSCBCR_HAVE_FFTW) && defined(PETSC_USE_REAL_DOUBLE)
  #define BENCH_FFTW
  #include <fftw3.h>
#endif

#define COLUMNS  8
#define MAX_RUNS 12
#define MAX_REPS 1000

static FILE *csv;
static PetscInt repetitions = 9;
static PetscReal seconds = 1;
static PetscBool small = PETSC_FALSE;

/* A linear system */

typedef struct {
  PetscInt dim, n[3], N;
  BCREnd end[6];
  PetscReal shift;    /* in units of the coupling */
  PetscBool boundary; /* rows of the boundary nodes hold a diagonal only, as in ksp tutorial ex29 */
  PetscReal a;        /* the coupling */
  DM da;
  Mat A;
  Vec f, u, r;
  PetscReal normA;
} Problem;

static PetscErrorCode ProblemCreate(PetscInt dim, PetscInt nx, PetscInt ny, PetscInt nz, const BCREnd end[],
                                    PetscReal shift, PetscBool boundary, Problem *p)
{
  DMBoundaryType type[3];
  PetscInt step[3], node[3], cols[7];
  PetscScalar values[7], *f;
  PetscReal mean = 0, total = 0;
  PetscBool singular = PETSC_TRUE;
  PetscRandom random;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(p, sizeof(*p)));
  p->dim = dim;
  p->n[0] = nx;
  p->n[1] = ny;
  p->n[2] = nz;
  p->N = nx * ny * nz;
  p->shift = shift;
  p->boundary = boundary;
  p->a = PetscSqr((PetscReal)PetscMax(nx, PetscMax(ny, nz)) + 1);
  for (PetscInt e = 0; e < 6; ++e) p->end[e] = end ? end[e] : BCR_END_DIRICHLET;
  for (PetscInt d = 0; d < 3; ++d)
    type[d] = d < dim && p->end[2 * d] == BCR_END_PERIODIC ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;
  if (dim == 2)
    PetscCall(
      DMDACreate2d(PETSC_COMM_SELF, type[0], type[1], DMDA_STENCIL_STAR, nx, ny, 1, 1, 1, 1, NULL, NULL, &p->da));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_SELF, type[0], type[1], type[2], DMDA_STENCIL_STAR, nx, ny, nz, 1, 1, 1, 1, 1,
                           NULL, NULL, NULL, &p->da));
  PetscCall(DMSetUp(p->da));
  PetscCall(DMCreateMatrix(p->da, &p->A));
  PetscCall(DMCreateGlobalVector(p->da, &p->f));
  PetscCall(VecDuplicate(p->f, &p->u));
  PetscCall(VecDuplicate(p->f, &p->r));

  for (PetscInt d = 0; d < 2 * dim; ++d)
    singular = (PetscBool)(singular && p->end[d] != BCR_END_DIRICHLET && p->end[d] != BCR_END_CELL_DIRICHLET);
  singular = (PetscBool)(singular && shift == 0 && !boundary);
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetInterval(random, -1, 1));
  PetscCall(PetscRandomSeed(random));
  PetscCall(VecSetRandom(p->f, random));
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(VecGetArray(p->f, &f));
  step[0] = 1;
  step[1] = nx;
  step[2] = nx * ny;
  for (PetscInt row = 0; row < p->N; ++row) {
    PetscInt count = 1;
    PetscReal weight = 1;
    PetscBool edge = PETSC_FALSE;

    node[0] = row % nx;
    node[1] = (row / nx) % ny;
    node[2] = row / (nx * ny);
    cols[0] = row;
    values[0] = shift * p->a;
    for (PetscInt d = 0; d < dim; ++d) {
      PetscReal neighbour[2] = {p->a, p->a}; /* low, high */

      values[0] += 2 * p->a;
      for (PetscInt s = 0; s < 2; ++s) {
        if (node[d] != (s ? p->n[d] - 1 : 0)) continue;
        edge = PETSC_TRUE;
        if (p->end[2 * d + s] != BCR_END_PERIODIC) neighbour[s] = 0;
        if (p->end[2 * d + s] == BCR_END_NEUMANN) {
          neighbour[!s] *= 2;
          weight *= 0.5;
        } else if (p->end[2 * d + s] == BCR_END_CELL_NEUMANN) values[0] -= p->a;
        else if (p->end[2 * d + s] == BCR_END_CELL_DIRICHLET) values[0] += p->a;
      }
      for (PetscInt s = 0; s < 2; ++s) {
        if (neighbour[s] == 0) continue;
        cols[count] =
          row + (node[d] == (s ? p->n[d] - 1 : 0) ? (s ? -(p->n[d] - 1) : p->n[d] - 1) : (s ? 1 : -1)) * step[d];
        values[count++] = -neighbour[s];
      }
    }
    if (boundary && edge) {
      count = 1;
      values[0] = 2 * dim * p->a;
    }
    PetscCall(MatSetValues(p->A, 1, &row, count, cols, values, INSERT_VALUES));
    mean += weight * PetscRealPart(f[row]);
    total += weight;
  }
  if (singular) { /* consistent: orthogonal to the left null vector, which is the weights */
    for (PetscInt row = 0; row < p->N; ++row) f[row] -= mean / total;
  }
  PetscCall(VecRestoreArray(p->f, &f));
  PetscCall(MatAssemblyBegin(p->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(p->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatNorm(p->A, NORM_INFINITY, &p->normA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProblemDestroy(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(VecDestroy(&p->f));
  PetscCall(VecDestroy(&p->u));
  PetscCall(VecDestroy(&p->r));
  PetscCall(MatDestroy(&p->A));
  PetscCall(DMDestroy(&p->da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* FFTW: sine transforms along all axes but the last, there the tridiagonal systems of all modes side by side */

#if defined(BENCH_FFTW)
typedef struct {
  fftw_plan forward, backward;
  PetscInt lines, modes;
  double factor; /* of the right-hand side */
  double *pivot; /* reciprocal pivots, row by row */
} FFTW;

  #if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
__attribute__((target_clones("avx512f", "avx2", "default")))
  #endif
static void
FFTWLines(PetscInt lines, PetscInt modes, double factor, const double *pivot, double *u)
{
  for (PetscInt k = 0; k < modes; ++k) u[k] *= factor * pivot[k];
  for (PetscInt j = 1; j < lines; ++j) {
    const double *restrict p = pivot + (size_t)j * modes, *restrict v = u + (size_t)(j - 1) * modes;
    double *restrict w = u + (size_t)j * modes;

    for (PetscInt k = 0; k < modes; ++k) w[k] = (factor * w[k] + v[k]) * p[k];
  }
  for (PetscInt j = lines - 2; j >= 0; --j) {
    const double *restrict p = pivot + (size_t)j * modes, *restrict v = u + (size_t)(j + 1) * modes;
    double *restrict w = u + (size_t)j * modes;

    for (PetscInt k = 0; k < modes; ++k) w[k] += p[k] * v[k];
  }
}

static PetscErrorCode FFTWCreate(Problem *p, double *f, double *u, FFTW *w)
{
  const fftw_r2r_kind kind[2] = {FFTW_RODFT00, FFTW_RODFT00};
  const int rank = (int)p->dim - 1;
  const int size2[1] = {(int)p->n[0]}, size3[2] = {(int)p->n[1], (int)p->n[0]};
  const int *size = rank == 1 ? size2 : size3;
  double *keep;

  PetscFunctionBegin;
  w->lines = p->n[p->dim - 1];
  w->modes = p->N / w->lines;
  w->factor = 1 / p->a;
  for (int d = 0; d < rank; ++d) w->factor /= 2. * (p->n[d] + 1);
  PetscCall(PetscMalloc1(p->N, &keep));
  PetscCall(PetscArraycpy(keep, f, p->N)); /* planning overwrites */
  w->forward = fftw_plan_many_r2r(rank, size, (int)w->lines, f, NULL, 1, (int)w->modes, u, NULL, 1, (int)w->modes, kind,
                                  FFTW_MEASURE);
  w->backward = fftw_plan_many_r2r(rank, size, (int)w->lines, u, NULL, 1, (int)w->modes, u, NULL, 1, (int)w->modes,
                                   kind, FFTW_MEASURE);
  PetscCheck(w->forward && w->backward, PETSC_COMM_SELF, PETSC_ERR_LIB, "FFTW has no plan");
  PetscCall(PetscArraycpy(f, keep, p->N));
  PetscCall(PetscFree(keep));
  PetscCall(PetscMalloc1(p->N, &w->pivot));
  for (PetscInt k = 0; k < w->modes; ++k) {
    double diagonal = 2 + p->shift;

    for (PetscInt d = 0, rest = k; d < rank; rest /= p->n[d], ++d)
      diagonal += 4 * PetscSqr(sin(0.5 * PETSC_PI * (rest % p->n[d] + 1) / (p->n[d] + 1)));
    for (PetscInt j = 0; j < w->lines; ++j)
      w->pivot[k + (size_t)j * w->modes] = 1 / (diagonal - (j ? w->pivot[k + (size_t)(j - 1) * w->modes] : 0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void FFTWSolve(FFTW *w, double *u)
{
  fftw_execute(w->forward);
  FFTWLines(w->lines, w->modes, w->factor, w->pivot, u);
  fftw_execute(w->backward);
}

static PetscErrorCode FFTWDestroy(FFTW *w)
{
  PetscFunctionBegin;
  fftw_destroy_plan(w->forward);
  fftw_destroy_plan(w->backward);
  PetscCall(PetscFree(w->pivot));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* A solver on a problem */

typedef enum {
  RUN_PC,             /* PCApply() */
  RUN_FFTW,           /* transforms and line solves */
  RUN_FLOAT,          /* the core of PCBCRPOISSON on float arrays, as a PETSc of single precision would call it */
  RUN_COLUMNS_SINGLE, /* PCApply() on each of several columns */
  RUN_COLUMNS_EACH,   /* KSPSolve() for each of them */
  RUN_COLUMNS_PC,     /* PCMatApply() */
  RUN_COLUMNS_KSP,    /* KSPMatSolve() */
  RUN_KSP             /* KSPSolve() of another solver, made by the caller */
} RunKind;

typedef struct {
  RunKind kind;
  char name[64], solver[32], precision[16], options[128];
  Problem *p;
  PetscInt every; /* timed in one of so many repetitions */
  PC pc;
  KSP ksp;
  KSPType ksptype; /* of several columns; KSPPREONLY unless said */
  Mat X, Y;
  BCRCore core;
  float *ff, *fu;
#if defined(BENCH_FFTW)
  FFTW fftw;
#endif
  PetscInt count, iterations;
  double setup, first, residual, time, copy, mintime, mincopy;
  double *t, *c;
} Run;

static PetscErrorCode RunInit(Run *r, RunKind kind, Problem *p, const char name[], const char solver[],
                              const char precision[], const char options[])
{
  PetscFunctionBegin;
  PetscCall(PetscMemzero(r, sizeof(*r)));
  r->kind = kind;
  r->p = p;
  r->every = kind == RUN_FFTW ? 3 : 1;
  r->ksptype = KSPPREONLY;
  PetscCall(PetscStrncpy(r->name, name, sizeof(r->name)));
  PetscCall(PetscStrncpy(r->solver, solver, sizeof(r->solver)));
  PetscCall(PetscStrncpy(r->precision, precision, sizeof(r->precision)));
  PetscCall(PetscStrncpy(r->options, options, sizeof(r->options)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The PC of a run, by the options of the run and of the command line; *time is that of PCSetUp() */
static PetscErrorCode RunCreatePC(Run *r, double *time)
{
  double start;

  PetscFunctionBegin;
  PetscCall(PCDestroy(&r->pc));
  PetscCall(PCCreate(PETSC_COMM_SELF, &r->pc));
  PetscCall(PCSetDM(r->pc, r->p->da));
  PetscCall(PCSetOperators(r->pc, r->p->A, r->p->A));
  PetscCall(PCSetType(r->pc, PCBCRPOISSON));
  if (r->options[0]) { /* -name value */
    char text[sizeof(r->options)], *space;

    PetscCall(PetscStrncpy(text, r->options, sizeof(text)));
    PetscCall(PetscOptionsInsertString(NULL, text));
    PetscCall(PCSetFromOptions(r->pc));
    space = strchr(text, ' ');
    if (space) *space = 0;
    PetscCall(PetscOptionsClearValue(NULL, text));
  } else PetscCall(PCSetFromOptions(r->pc));
  start = BenchTime();
  PetscCall(PCSetUp(r->pc));
  *time = BenchTime() - start;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunSetUp(Run *r)
{
  Problem *p = r->p;
  double start, setup[7], unused;

  PetscFunctionBegin;
  PetscCall(PetscMalloc2(MAX_REPS, &r->t, MAX_REPS, &r->c));
  r->iterations = 1;
  switch (r->kind) {
  case RUN_KSP:
    start = BenchTime();
    PetscCall(KSPSetUp(r->ksp));
    PetscCall(KSPSetUpOnBlocks(r->ksp));
    r->setup = BenchTime() - start;
    break;
  case RUN_PC:
  case RUN_COLUMNS_SINGLE:
  case RUN_COLUMNS_EACH:
  case RUN_COLUMNS_PC:
  case RUN_COLUMNS_KSP:
    for (PetscInt i = 0; i < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(setup); ++i) PetscCall(RunCreatePC(r, &setup[i]));
    BenchStatistics((PetscInt)PETSC_STATIC_ARRAY_LENGTH(setup), setup, &r->setup, &unused);
    if (r->kind != RUN_PC) {
      PetscRandom random;

      PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, p->N, COLUMNS, NULL, &r->X));
      PetscCall(MatCreateSeqDense(PETSC_COMM_SELF, p->N, COLUMNS, NULL, &r->Y));
      PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
      PetscCall(PetscRandomSetInterval(random, -1, 1));
      PetscCall(MatSetRandom(r->X, random));
      PetscCall(PetscRandomDestroy(&random));
    }
    if (r->kind == RUN_COLUMNS_EACH || r->kind == RUN_COLUMNS_KSP) {
      PetscCall(KSPCreate(PETSC_COMM_SELF, &r->ksp));
      PetscCall(KSPSetOperators(r->ksp, p->A, p->A));
      PetscCall(KSPSetType(r->ksp, r->ksptype));
      PetscCall(KSPSetPC(r->ksp, r->pc));
      PetscCall(KSPSetUp(r->ksp));
    }
    break;
  case RUN_FLOAT: {
    BCRCoreOptions options;
    BCRAxis axis[3];
    PetscInt stride[3] = {1, p->n[0], p->n[0] * p->n[1]};
    const PetscScalar *f;

    PetscCall(PetscMemzero(&options, sizeof(options)));
    PetscCall(PetscMemzero(axis, sizeof(axis)));
    options.precision = BCR_SINGLE;
    options.isa = -1;
    for (PetscInt d = 0; d < 3; ++d) {
      axis[d].n = p->n[d];
      axis[d].a = d < p->dim ? p->a : 0;
      axis[d].end[0] = p->end[2 * d];
      axis[d].end[1] = p->end[2 * d + 1];
    }
    start = BenchTime();
    PetscCall(BCRCoreCreate(p->dim, axis, p->shift * p->a, PETSC_FALSE, stride, BCR_SINGLE, &options, &r->core));
    r->setup = BenchTime() - start;
    PetscCall(PetscMalloc2(p->N, &r->ff, p->N, &r->fu));
    PetscCall(VecGetArrayRead(p->f, &f));
    for (PetscInt i = 0; i < p->N; ++i) r->ff[i] = (float)PetscRealPart(f[i]);
    PetscCall(VecRestoreArrayRead(p->f, &f));
    break;
  }
  case RUN_FFTW: {
#if defined(BENCH_FFTW)
    PetscScalar *f, *u;

    PetscCall(VecGetArray(p->f, &f));
    PetscCall(VecGetArray(p->u, &u));
    start = BenchTime();
    PetscCall(FFTWCreate(p, f, u, &r->fftw));
    r->setup = BenchTime() - start;
    PetscCall(VecRestoreArray(p->f, &f));
    PetscCall(VecRestoreArray(p->u, &u));
#endif
    break;
  }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Copies what a run reads onto what it writes */
static PetscErrorCode RunCopy(Run *r, double *time)
{
  const PetscScalar *f;
  PetscScalar *u;
  double start;

  PetscFunctionBegin;
  if (r->kind == RUN_FLOAT) {
    start = BenchTime();
    memcpy(r->fu, r->ff, sizeof(float) * (size_t)r->p->N);
    *time = BenchTime() - start;
  } else if (r->X) {
    PetscCall(MatDenseGetArrayRead(r->X, &f));
    PetscCall(MatDenseGetArray(r->Y, &u));
    start = BenchTime();
    memcpy(u, f, sizeof(PetscScalar) * (size_t)r->p->N * COLUMNS);
    *time = (BenchTime() - start) / COLUMNS;
    PetscCall(MatDenseRestoreArray(r->Y, &u));
    PetscCall(MatDenseRestoreArrayRead(r->X, &f));
  } else {
    PetscCall(VecGetArrayRead(r->p->f, &f));
    PetscCall(VecGetArray(r->p->u, &u));
    start = BenchTime();
    memcpy(u, f, sizeof(PetscScalar) * (size_t)r->p->N);
    *time = BenchTime() - start;
    PetscCall(VecRestoreArray(r->p->u, &u));
    PetscCall(VecRestoreArrayRead(r->p->f, &f));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunSolve(Run *r, double *time)
{
  double start = BenchTime();

  PetscFunctionBegin;
  switch (r->kind) {
  case RUN_PC:
    PetscCall(PCApply(r->pc, r->p->f, r->p->u));
    break;
  case RUN_KSP:
    PetscCall(KSPSolve(r->ksp, r->p->f, r->p->u));
    break;
  case RUN_FLOAT: {
    PetscReal removed;

    PetscCall(BCRCoreSolve(r->core, r->ff, r->fu, &removed));
    break;
  }
  case RUN_COLUMNS_SINGLE:
  case RUN_COLUMNS_EACH:
    for (PetscInt j = 0; j < COLUMNS; ++j) {
      Vec x, y;

      PetscCall(MatDenseGetColumnVecRead(r->X, j, &x));
      PetscCall(MatDenseGetColumnVecWrite(r->Y, j, &y));
      if (r->kind == RUN_COLUMNS_EACH) PetscCall(KSPSolve(r->ksp, x, y));
      else PetscCall(PCApply(r->pc, x, y));
      PetscCall(MatDenseRestoreColumnVecWrite(r->Y, j, &y));
      PetscCall(MatDenseRestoreColumnVecRead(r->X, j, &x));
    }
    break;
  case RUN_COLUMNS_PC:
    PetscCall(PCMatApply(r->pc, r->X, r->Y));
    break;
  case RUN_COLUMNS_KSP:
    PetscCall(KSPMatSolve(r->ksp, r->X, r->Y));
    break;
  case RUN_FFTW: {
#if defined(BENCH_FFTW)
    PetscScalar *u;

    PetscCall(VecGetArray(r->p->u, &u));
    FFTWSolve(&r->fftw, u);
    PetscCall(VecRestoreArray(r->p->u, &u));
#endif
    break;
  }
  }
  *time = (BenchTime() - start) / (r->X ? COLUMNS : 1);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Of what the last RunSolve() left; the worst column */
static PetscErrorCode RunResidual(Run *r)
{
  Problem *p = r->p;

  PetscFunctionBegin;
  if (r->kind == RUN_FLOAT) {
    PetscScalar *f, *u;
    Vec keep;

    PetscCall(VecDuplicate(p->f, &keep)); /* f as it is in float */
    PetscCall(VecGetArray(keep, &f));
    PetscCall(VecGetArray(p->u, &u));
    for (PetscInt i = 0; i < p->N; ++i) f[i] = r->ff[i];
    for (PetscInt i = 0; i < p->N; ++i) u[i] = r->fu[i];
    PetscCall(VecRestoreArray(p->u, &u));
    PetscCall(VecRestoreArray(keep, &f));
    PetscCall(BenchBackwardError(p->A, p->normA, keep, p->u, p->r, &r->residual));
    PetscCall(VecDestroy(&keep));
  } else if (r->X) {
    r->residual = 0;
    for (PetscInt j = 0; j < COLUMNS; ++j) {
      Vec x, y;
      double error = 0;

      PetscCall(MatDenseGetColumnVecRead(r->X, j, &x));
      PetscCall(MatDenseGetColumnVecRead(r->Y, j, &y));
      PetscCall(BenchBackwardError(p->A, p->normA, x, y, p->r, &error));
      PetscCall(MatDenseRestoreColumnVecRead(r->Y, j, &y));
      PetscCall(MatDenseRestoreColumnVecRead(r->X, j, &x));
      TestLargest(&r->residual, error);
    }
  } else PetscCall(BenchBackwardError(p->A, p->normA, p->f, p->u, p->r, &r->residual));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunDestroy(Run *r)
{
  PetscFunctionBegin;
  PetscCall(PCDestroy(&r->pc));
  PetscCall(KSPDestroy(&r->ksp));
  PetscCall(MatDestroy(&r->X));
  PetscCall(MatDestroy(&r->Y));
  PetscCall(BCRCoreDestroy(&r->core));
  PetscCall(PetscFree2(r->ff, r->fu));
  PetscCall(PetscFree2(r->t, r->c));
#if defined(BENCH_FFTW)
  if (r->kind == RUN_FFTW) PetscCall(FFTWDestroy(&r->fftw));
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void PrintHead(void)
{
  printf("\n%-22s %-14s %-11s %-7s %9s %9s %6s %6s %8s %8s %6s %8s %9s %4s %8s\n", "case", "grid", "solver", "inside",
         "copy ms", "time ms", "/copy", "(min)", "ns/unkn", "/1st row", "(min)", "set-up", "first ms", "its",
         "residual");
}

static PetscErrorCode RunReport(Run *r, const Run *reference)
{
  char grid[32];
  BenchRow row = {
    .program = "poisson",
    .name = r->name,
    .precision = r->precision,
    .solver = r->solver,
    .dim = r->p->dim,
    .n = {r->p->n[0], r->p->n[1], r->p->n[2]},
    .iterations = r->iterations,
    .time = r->time,
    .copy = r->copy,
    .setup = r->setup,
    .residual = r->residual,
    .mintime = r->mintime,
    .mincopy = r->mincopy,
    .first = r->first
  };

  PetscFunctionBegin;
  if (r->p->dim == 2) PetscCall(PetscSNPrintf(grid, sizeof(grid), "%dx%d", (int)r->p->n[0], (int)r->p->n[1]));
  else PetscCall(PetscSNPrintf(grid, sizeof(grid), "%dx%dx%d", (int)r->p->n[0], (int)r->p->n[1], (int)r->p->n[2]));
  printf("%-22s %-14s %-11s %-7s %9.3f %9.3f %6.2f %6.2f %8.3f %8.2f %6.2f %7.2fx %9.2f %4d %8.1e\n", r->name, grid,
         r->solver, r->precision, 1e3 * r->copy, 1e3 * r->time, r->time / r->copy, r->mintime / r->mincopy,
         1e9 * r->time / r->p->N, (r->time / r->p->N) / (reference->time / reference->p->N),
         (r->mintime / r->p->N) / (reference->mintime / reference->p->N), r->setup / r->time, 1e3 * r->first,
         (int)r->iterations, r->residual);
  fflush(stdout);
  BenchWriteRow(csv, &row);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Times all runs in turns, each after a copy of its own arrays, and reports; the first is what the
   others are compared with */
static PetscErrorCode GroupRun(PetscInt nruns, Run runs[], PetscInt reps)
{
  double total = 0, time;

  PetscFunctionBegin;
  for (PetscInt i = 0; i < nruns; ++i) {
    Run *r = &runs[i];

    PetscCall(RunSetUp(r));
    PetscCall(RunCopy(r, &time)); /* touches the memory */
    PetscCall(RunSolve(r, &r->first));
    PetscCall(RunResidual(r));
    if (r->kind == RUN_KSP) {
      KSPConvergedReason reason;

      PetscCall(KSPGetIterationNumber(r->ksp, &r->iterations));
      PetscCall(KSPGetConvergedReason(r->ksp, &reason));
      if (reason < 0) printf("# %s did not converge (reason %d)\n", r->solver, (int)reason);
    }
    total += r->first * (r->X ? COLUMNS : 1) / r->every;
  }
  reps = PetscMin(PetscMax(reps, (PetscInt)(seconds / total)), MAX_REPS);
  for (PetscInt k = 0; k < reps; ++k) {
    for (PetscInt i = 0; i < nruns; ++i) {
      Run *r = &runs[i];

      if (k % r->every) continue;
      PetscCall(RunCopy(r, &time)); /* what ran before may have filled the caches */
      PetscCall(RunCopy(r, &r->c[r->count]));
      PetscCall(RunSolve(r, &r->t[r->count++]));
    }
  }
  for (PetscInt i = 0; i < nruns; ++i) {
    BenchStatistics(runs[i].count, runs[i].t, &runs[i].time, &runs[i].mintime);
    BenchStatistics(runs[i].count, runs[i].c, &runs[i].copy, &runs[i].mincopy);
    PetscCall(RunReport(&runs[i], &runs[0]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode GroupDestroy(PetscInt nruns, Run runs[])
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < nruns; ++i) PetscCall(RunDestroy(&runs[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other solvers through PETSc */

static PetscErrorCode PeerCreate(Problem *p, KSP *ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPCreate(PETSC_COMM_SELF, ksp));
  PetscCall(KSPSetOperators(*ksp, p->A, p->A));
  PetscCall(KSPSetType(*ksp, KSPCG));
  PetscCall(KSPSetTolerances(*ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 200));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Linear interpolation from (n-1)/2 to n nodes along each axis, between nodes that vanish at both
   ends: what suits this problem best */
static PetscErrorCode PeerInterpolation(PetscInt dim, const PetscInt n[], Mat *P)
{
  PetscInt m[3], N = n[0] * n[1] * n[2];

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; ++d) m[d] = d < dim ? (n[d] - 1) / 2 : 1;
  PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, N, m[0] * m[1] * m[2], dim == 2 ? 4 : 8, NULL, P));
  for (PetscInt row = 0; row < N; ++row) {
    const PetscInt node[3] = {row % n[0], (row / n[0]) % n[1], row / (n[0] * n[1])};
    PetscInt count = 1, cols[8] = {0}, step = 1;
    PetscScalar values[8] = {1};

    for (PetscInt d = 0; d < dim; ++d) {
      PetscInt kept = 0, oldcols[8];
      PetscScalar oldvalues[8];

      PetscCall(PetscArraycpy(oldcols, cols, count));
      PetscCall(PetscArraycpy(oldvalues, values, count));
      for (PetscInt side = 0; side < (node[d] % 2 ? 1 : 2); ++side) {
        const PetscInt coarse = node[d] % 2 ? node[d] / 2 : node[d] / 2 - 1 + side;

        if (coarse < 0 || coarse >= m[d]) continue;
        for (PetscInt c = 0; c < count; ++c, ++kept) {
          cols[kept] = oldcols[c] + step * coarse;
          values[kept] = oldvalues[c] * (node[d] % 2 ? 1 : 0.5);
        }
      }
      count = kept;
      step *= m[d];
    }
    PetscCall(MatSetValues(*P, 1, &row, count, cols, values, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*P, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode PeerMultigrid(Problem *p, KSP *ksp)
{
  PetscInt n[3] = {p->n[0], p->n[1], p->n[2]}, levels = 1;
  PC pc;

  PetscFunctionBegin;
  PetscCall(PeerCreate(p, ksp));
  PetscCall(KSPSetOptionsPrefix(*ksp, "peer_mg_"));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCMG));
  while (n[0] > 3 && n[1] > 3 && (p->dim == 2 || n[2] > 3) && n[0] % 2 && n[1] % 2 && n[2] % 2) {
    for (PetscInt d = 0; d < p->dim; ++d) n[d] = (n[d] - 1) / 2;
    ++levels;
  }
  PetscCall(PCMGSetLevels(pc, levels, NULL));
  PetscCall(PCMGSetGalerkin(pc, PC_MG_GALERKIN_BOTH));
  for (PetscInt d = 0; d < 3; ++d) n[d] = p->n[d];
  for (PetscInt l = levels - 1; l > 0; --l) {
    Mat P;

    PetscCall(PeerInterpolation(p->dim, n, &P));
    PetscCall(PCMGSetInterpolation(pc, l, P));
    PetscCall(MatDestroy(&P));
    for (PetscInt d = 0; d < p->dim; ++d) n[d] = (n[d] - 1) / 2;
  }
  PetscCall(KSPSetFromOptions(*ksp));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Peers(Problem *p, const Run *reference)
{
  const char *names[] = {"cg+mg", "cg+hypre", "mumps"};
  const PetscInt largest = PetscMax(p->n[0], PetscMax(p->n[1], p->n[2]));

  PetscFunctionBegin;
  for (PetscInt i = 0; i < 3; ++i) {
    Run run;
    PetscBool have = PETSC_TRUE;
    double time;

    PetscCall(RunInit(&run, RUN_KSP, p, "main", names[i], sizeof(PetscReal) == 4 ? "single" : "double", ""));
    if (i == 0) PetscCall(PeerMultigrid(p, &run.ksp));
    else if (i == 1) {
      have = PETSC_FALSE;
#if defined(PETSC_HAVE_HYPRE)
      PC pc;

      have = PETSC_TRUE;
      PetscCall(PeerCreate(p, &run.ksp));
      PetscCall(KSPSetOptionsPrefix(run.ksp, "peer_hypre_"));
      PetscCall(KSPGetPC(run.ksp, &pc));
      PetscCall(PCSetType(pc, PCHYPRE));
      PetscCall(PCHYPRESetType(pc, "boomeramg"));
      if (p->dim == 3) PetscCall(PetscOptionsInsertString(NULL, "-peer_hypre_pc_hypre_boomeramg_strong_threshold 0.5"));
      PetscCall(KSPSetFromOptions(run.ksp));
#endif
    } else {
      have = PETSC_FALSE;
#if defined(PETSC_HAVE_MUMPS)
      PC pc;

      have = (PetscBool)(largest <= (p->dim == 2 ? 1023 : 63));
      if (have) {
        PetscCall(PeerCreate(p, &run.ksp));
        PetscCall(KSPSetOptionsPrefix(run.ksp, "peer_mumps_"));
        PetscCall(KSPSetType(run.ksp, KSPPREONLY));
        PetscCall(KSPGetPC(run.ksp, &pc));
        PetscCall(PCSetType(pc, PCCHOLESKY));
        PetscCall(PCFactorSetMatSolverType(pc, MATSOLVERMUMPS));
        PetscCall(KSPSetFromOptions(run.ksp));
      }
#endif
    }
    if (!have) continue;
    (void)largest;
    PetscCall(RunSetUp(&run));
    PetscCall(RunSolve(&run, &run.first));
    PetscCall(KSPGetIterationNumber(run.ksp, &run.iterations));
    PetscCall(RunResidual(&run));
    while (run.count < 3) {
      PetscCall(RunCopy(&run, &time));
      PetscCall(RunCopy(&run, &run.c[run.count]));
      PetscCall(RunSolve(&run, &run.t[run.count++]));
    }
    BenchStatistics(run.count, run.t, &run.time, &run.mintime);
    BenchStatistics(run.count, run.c, &run.copy, &run.mincopy);
    PetscCall(RunReport(&run, reference));
    PetscCall(RunDestroy(&run));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Suites */

static const char *Working(void)
{
  return sizeof(PetscReal) == 4 ? "single" : "double";
}

static PetscInt Shrink(PetscInt n)
{
  return small ? PetscMax(n / 8, 3) : n;
}

/* Sizes of -n2d or -n3d */
static PetscErrorCode Sizes(PetscInt dim, PetscInt nwanted, const PetscInt wanted[], PetscInt *n, PetscInt size[])
{
  PetscBool given;

  PetscFunctionBegin;
  *n = 16;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, dim == 2 ? "-n2d" : "-n3d", size, n, &given));
  if (given) PetscFunctionReturn(PETSC_SUCCESS);
  *n = nwanted;
  for (PetscInt i = 0; i < nwanted; ++i) size[i] = Shrink(wanted[i]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const PetscInt all2d[] = {511, 1023, 2047, 4095}, all3d[] = {63, 127, 255};

static PetscErrorCode SuiteMain(void)
{
  PetscBool fftw = PETSC_TRUE, peers = PETSC_FALSE;

  PetscFunctionBegin;
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-fftw", &fftw, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-peers", &peers, NULL));
#if !defined(BENCH_FFTW)
  fftw = PETSC_FALSE;
#endif
  for (PetscInt dim = 2; dim <= 3; ++dim) {
    PetscInt n, size[16];

    PetscCall(Sizes(dim, dim == 2 ? 4 : 3, dim == 2 ? all2d : all3d, &n, size));
    for (PetscInt i = 0; i < n; ++i) {
      Problem p;
      Run runs[2];
      PetscInt nruns = fftw ? 2 : 1;

      PetscCall(ProblemCreate(dim, size[i], size[i], dim == 2 ? 1 : size[i], NULL, 0, PETSC_FALSE, &p));
      PetscCall(RunInit(&runs[0], RUN_PC, &p, "main", "bcrpoisson", Working(), ""));
      PetscCall(RunInit(&runs[1], RUN_FFTW, &p, "main", "fftw", Working(), ""));
      PetscCall(GroupRun(nruns, runs, repetitions));
      if (peers) PetscCall(Peers(&p, &runs[0]));
      PetscCall(GroupDestroy(nruns, runs));
      PetscCall(ProblemDestroy(&p));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Each beside the square of 2^k-1 with the nearest number of unknowns */
static PetscErrorCode SuiteAwkward(void)
{
  /* how many, then nx, ny of each */
  static const PetscInt one[][3] = {
    {1, 1000, 1000},
    {1, 1500, 1500},
    {1, 2500, 2500},
    {1, 3001, 3001},
  };
  static const PetscInt four[] = {4, 4095, 63, 63, 4095, 8191, 31, 31, 8191};
  const PetscInt *const group[] = {one[0], one[1], one[2], one[3], four};

  PetscFunctionBegin;
  for (size_t g = 0; g < PETSC_STATIC_ARRAY_LENGTH(group); ++g) {
    const PetscInt n = group[g][0];
    Problem p[5];
    Run runs[5];
    PetscInt square, nx, ny;

    for (PetscInt i = 0; i <= n; ++i) {
      char name[64];

      if (i == 0) {
        nx = Shrink(group[g][1]);
        ny = Shrink(group[g][2]);
        square = (1 << (PetscInt)(0.5 * log2((double)nx * ny) + 0.5)) - 1;
        nx = ny = square;
        PetscCall(PetscSNPrintf(name, sizeof(name), "awkward/reference"));
      } else {
        nx = Shrink(group[g][2 * i - 1]);
        ny = Shrink(group[g][2 * i]);
        PetscCall(PetscSNPrintf(name, sizeof(name), "awkward/%s", nx == ny ? "square" : (nx > ny ? "flat" : "tall")));
      }
      PetscCall(ProblemCreate(2, nx, ny, 1, NULL, 0, PETSC_FALSE, &p[i]));
      PetscCall(RunInit(&runs[i], RUN_PC, &p[i], name, "bcrpoisson", Working(), ""));
    }
    PetscCall(GroupRun(n + 1, runs, repetitions));
    PetscCall(GroupDestroy(n + 1, runs));
    for (PetscInt i = 0; i <= n; ++i) PetscCall(ProblemDestroy(&p[i]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SuiteEnds(void)
{
  static const struct {
    const char *name;
    BCREnd xlow, xhigh, ylow, yhigh;
    PetscReal shift;
    PetscBool boundary;
  } c[] = {
    {"ends/dirichlet",      BCR_END_DIRICHLET,      BCR_END_DIRICHLET,      BCR_END_DIRICHLET,      BCR_END_DIRICHLET,      0,    PETSC_FALSE},
    {"ends/neumann",        BCR_END_NEUMANN,        BCR_END_NEUMANN,        BCR_END_NEUMANN,        BCR_END_NEUMANN,        0,    PETSC_FALSE},
    {"ends/cell_neumann",   BCR_END_CELL_NEUMANN,   BCR_END_CELL_NEUMANN,   BCR_END_CELL_NEUMANN,   BCR_END_CELL_NEUMANN,   0,
     PETSC_FALSE                                                                                                                             },
    {"ends/cell_dirichlet", BCR_END_CELL_DIRICHLET, BCR_END_CELL_DIRICHLET, BCR_END_CELL_DIRICHLET,
     BCR_END_CELL_DIRICHLET,                                                                                                0,    PETSC_FALSE},
    {"ends/periodic",       BCR_END_PERIODIC,       BCR_END_PERIODIC,       BCR_END_PERIODIC,       BCR_END_PERIODIC,       0,    PETSC_FALSE},
    {"ends/mixed",          BCR_END_DIRICHLET,      BCR_END_NEUMANN,        BCR_END_CELL_NEUMANN,   BCR_END_CELL_DIRICHLET, 0,    PETSC_FALSE},
    {"ends/shift_1",        BCR_END_DIRICHLET,      BCR_END_DIRICHLET,      BCR_END_DIRICHLET,      BCR_END_DIRICHLET,      1,    PETSC_FALSE},
    {"ends/shift_0.001",    BCR_END_DIRICHLET,      BCR_END_DIRICHLET,      BCR_END_DIRICHLET,      BCR_END_DIRICHLET,      1e-3, PETSC_FALSE},
    {"ends/boundary_rows",  BCR_END_DIRICHLET,      BCR_END_DIRICHLET,      BCR_END_DIRICHLET,      BCR_END_DIRICHLET,      0,    PETSC_TRUE },
  };
  enum {
    count = PETSC_STATIC_ARRAY_LENGTH(c)
  };
  Problem p[count];
  Run runs[count];

  PetscFunctionBegin;
  for (PetscInt i = 0; i < count; ++i) {
    const PetscBool dirichlet = (PetscBool)(c[i].xlow == BCR_END_DIRICHLET && c[i].xhigh == BCR_END_DIRICHLET);
    /* the size near 1023 at which the transform of these ends has a length of 2^k, and the boundary's own rows */
    const PetscInt n = Shrink(1023) + (c[i].boundary || c[i].xlow == BCR_END_NEUMANN ? 2 : (dirichlet ? 0 : 1));
    const BCREnd end[6] = {c[i].xlow, c[i].xhigh, c[i].ylow, c[i].yhigh, BCR_END_DIRICHLET, BCR_END_DIRICHLET};

    PetscCall(ProblemCreate(2, n, n, 1, end, c[i].shift, c[i].boundary, &p[i]));
    PetscCall(RunInit(&runs[i], RUN_PC, &p[i], c[i].name, "bcrpoisson", Working(), ""));
  }
  PetscCall(GroupRun(count, runs, repetitions));
  PetscCall(GroupDestroy(count, runs));
  for (PetscInt i = 0; i < count; ++i) PetscCall(ProblemDestroy(&p[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SuitePrecision(void)
{
  static const PetscInt cube[] = {127};

  PetscFunctionBegin;
  for (PetscInt dim = 2; dim <= 3; ++dim) {
    PetscInt n, size[16];

    PetscCall(Sizes(dim, dim == 2 ? 4 : 1, dim == 2 ? all2d : cube, &n, size));
    for (PetscInt i = 0; i < n; ++i) {
      Problem p;
      Run runs[4];

      PetscCall(ProblemCreate(dim, size[i], size[i], dim == 2 ? 1 : size[i], NULL, 0, PETSC_FALSE, &p));
      PetscCall(RunInit(&runs[0], RUN_PC, &p, "precision", "bcrpoisson", "double", "-pc_bcrpoisson_precision double"));
      PetscCall(RunInit(&runs[1], RUN_PC, &p, "precision", "bcrpoisson", "single", "-pc_bcrpoisson_precision single"));
      PetscCall(RunInit(&runs[2], RUN_PC, &p, "precision", "bcrpoisson", "mixed", "-pc_bcrpoisson_precision mixed"));
      PetscCall(RunInit(&runs[3], RUN_FLOAT, &p, "precision/float_vectors", "bcrpoisson", "single", ""));
      PetscCall(GroupRun(4, runs, repetitions));
      PetscCall(GroupDestroy(4, runs));
      PetscCall(ProblemDestroy(&p));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SuiteIsa(void)
{
  static const char *const name[] = {"auto", "avx512", "avx2", "baseline"};
  static const PetscInt cube[] = {127};

  PetscFunctionBegin;
  for (PetscInt dim = 2; dim <= 3; ++dim) {
    PetscInt n, size[16];

    PetscCall(Sizes(dim, dim == 2 ? 4 : 1, dim == 2 ? all2d : cube, &n, size));
    for (PetscInt i = 0; i < n; ++i) {
      Problem p;
      Run runs[4];
      PetscInt nruns = 0;

      PetscCall(ProblemCreate(dim, size[i], size[i], dim == 2 ? 1 : size[i], NULL, 0, PETSC_FALSE, &p));
      for (PetscInt k = 0; k < 4; ++k) {
        char label[64], options[64];

        /* not on machines that lack it: they would fall back to the next lower one */
        if (k == 1 && BCRCpuGetTable(2, 0) == BCRCpuGetTable(1, 0)) continue;
        if (k == 2 && BCRCpuGetTable(1, 0) == BCRCpuGetTable(0, 0)) continue;
        PetscCall(PetscSNPrintf(label, sizeof(label), "isa/%s", name[k]));
        PetscCall(PetscSNPrintf(options, sizeof(options), "-pc_bcrpoisson_isa %s", name[k]));
        PetscCall(RunInit(&runs[nruns++], RUN_PC, &p, label, "bcrpoisson", Working(), options));
      }
      PetscCall(GroupRun(nruns, runs, repetitions));
      PetscCall(GroupDestroy(nruns, runs));
      PetscCall(ProblemDestroy(&p));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* For suites with several solves of each size */
static PetscErrorCode SizesFew(PetscInt dim, PetscInt *n, PetscInt size[])
{
  static const PetscInt square[] = {511, 1023, 2047}, cube[] = {63, 127};

  PetscFunctionBegin;
  PetscCall(Sizes(dim, dim == 2 ? 3 : 2, dim == 2 ? square : cube, n, size));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SuiteRhs(void)
{
  PetscFunctionBegin;
  for (PetscInt dim = 2; dim <= 3; ++dim) {
    PetscInt n, size[16];

    PetscCall(SizesFew(dim, &n, size));
    for (PetscInt i = 0; i < n; ++i) {
      Problem p;
      Run runs[7];

      PetscCall(ProblemCreate(dim, size[i], size[i], dim == 2 ? 1 : size[i], NULL, 0, PETSC_FALSE, &p));
      PetscCall(RunInit(&runs[0], RUN_COLUMNS_SINGLE, &p, "rhs/8_x_pcapply", "bcrpoisson", Working(), ""));
      PetscCall(RunInit(&runs[1], RUN_COLUMNS_PC, &p, "rhs/pcmatapply_8", "bcrpoisson", Working(), ""));
      PetscCall(RunInit(&runs[2], RUN_COLUMNS_EACH, &p, "rhs/8_x_kspsolve", "bcrpoisson", Working(), ""));
      PetscCall(RunInit(&runs[3], RUN_COLUMNS_KSP, &p, "rhs/kspmatsolve_8", "bcrpoisson", Working(), ""));
      PetscCall(RunInit(&runs[4], RUN_PC, &p, "rhs/1_x_pcapply", "bcrpoisson", Working(), ""));
      /* solve and refinement to the default tolerance: two norms and a product with the matrix more */
      PetscCall(RunInit(&runs[5], RUN_COLUMNS_EACH, &p, "rhs/8_x_kspsolve_refined", "bcrpoisson", Working(), ""));
      PetscCall(RunInit(&runs[6], RUN_COLUMNS_KSP, &p, "rhs/kspmatsolve_8_refined", "bcrpoisson", Working(), ""));
      runs[5].ksptype = runs[6].ksptype = KSPBCRPOISSON;
      PetscCall(GroupRun(7, runs, PetscMax(5, repetitions / 2)));
      PetscCall(GroupDestroy(7, runs));
      PetscCall(ProblemDestroy(&p));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode SuiteRadix(void)
{
  static const PetscInt square[] = {511, 1023, 2047};
  static const struct {
    const char *name, *options;
  } option[] = {
    {"radix/auto",             ""                               },
    {"radix/2",                "-pc_bcrpoisson_radix 2"         },
    {"radix/4",                "-pc_bcrpoisson_radix 4"         },
    {"radix/8",                "-pc_bcrpoisson_radix 8"         },
    {"radix/16",               "-pc_bcrpoisson_radix 16"        },
    {"radix/32",               "-pc_bcrpoisson_radix 32"        },
    {"radix/schedule_8_32_16", "-pc_bcrpoisson_schedule 8,32,16"},
    {"radix/one_level",        "-pc_bcrpoisson_radix 4096"      },
  };
  PetscInt n, size[16];

  PetscFunctionBegin;
  PetscCall(Sizes(2, 3, square, &n, size));
  for (PetscInt i = 0; i < n; ++i) {
    Problem p;
    Run runs[PETSC_STATIC_ARRAY_LENGTH(option)];

    PetscCall(ProblemCreate(2, size[i], size[i], 1, NULL, 0, PETSC_FALSE, &p));
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(option); ++k)
      PetscCall(RunInit(&runs[k], RUN_PC, &p, option[k].name, "bcrpoisson", Working(), option[k].options));
    PetscCall(GroupRun(PETSC_STATIC_ARRAY_LENGTH(option), runs, 5));
    PetscCall(GroupDestroy(PETSC_STATIC_ARRAY_LENGTH(option), runs));
    PetscCall(ProblemDestroy(&p));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Radix 2 against radix 4 in two and three dimensions, as in figures 3 to 5 of Myllykoski, Rossi and Toivanen 2013. In three
   dimensions planes of a transform's modes are reduced, and in the last runs the axes one inside the other, as the paper has it. */
static PetscErrorCode SuiteReduction(void)
{
  static const PetscInt square[] = {63, 127, 255, 511, 1023, 2047, 4095}, cube[] = {15, 31, 63, 127};
  static const struct {
    const char *name, *nested, *options;
  } option[] = {
    {"reduction/auto", NULL,                    ""                      },
    {"reduction/2",    "reduction/2/recursive", "-pc_bcrpoisson_radix 2"},
    {"reduction/4",    "reduction/4/recursive", "-pc_bcrpoisson_radix 4"},
  };

  PetscFunctionBegin;
  for (PetscInt dim = 2; dim <= 3; ++dim) {
    PetscInt n, size[16];

    PetscCall(Sizes(dim, dim == 2 ? 7 : 4, dim == 2 ? square : cube, &n, size));
    for (PetscInt i = 0; i < n; ++i) {
      Problem p;
      Run runs[3];

      PetscCall(ProblemCreate(dim, size[i], size[i], dim == 2 ? 1 : size[i], NULL, 0, PETSC_FALSE, &p));
      for (PetscInt nested = 0; nested <= dim - 2; ++nested) {
        PetscInt nruns = 0;

        for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(option); ++k) {
          const char *name = nested ? option[k].nested : option[k].name;

          if (name) PetscCall(RunInit(&runs[nruns++], RUN_PC, &p, name, "bcrpoisson", Working(), option[k].options));
        }
        if (nested) PetscCall(PetscOptionsSetValue(NULL, "-pc_bcrpoisson_recursive", "on"));
        PetscCall(GroupRun(nruns, runs, 5));
        PetscCall(PetscOptionsClearValue(NULL, "-pc_bcrpoisson_recursive"));
        PetscCall(GroupDestroy(nruns, runs));
      }
      PetscCall(ProblemDestroy(&p));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What changes from one set-up to the next */
typedef enum {
  AGAIN_NEW,       /* nothing is kept: another PC */
  AGAIN_COUPLINGS, /* the coupling along x: another form of the operator, the plan is made anew */
  AGAIN_SHIFT,     /* what a time step of another length does */
  AGAIN_SCALE,
  AGAIN_USER_SHIFT, /* the same by PCBCRPoissonSetOperator(): the matrix is not read */
  AGAIN_USER_SCALE
} AgainKind;

/* The coupling along x times (back: over) two in an operator between Dirichlet ends */
static PetscErrorCode AgainCouplings(Problem *p, PetscBool back)
{
  const PetscInt *start, *column;
  PetscInt rows;
  PetscScalar *a;
  PetscBool done;
  const PetscReal more = back ? -p->a : p->a;

  PetscFunctionBegin;
  PetscCall(MatGetRowIJ(p->A, 0, PETSC_FALSE, PETSC_FALSE, &rows, &start, &column, &done));
  PetscCheck(done, PETSC_COMM_SELF, PETSC_ERR_SUP, "MatGetRowIJ()");
  PetscCall(MatSeqAIJGetArray(p->A, &a));
  for (PetscInt row = 0; row < rows; ++row) {
    for (PetscInt k = start[row]; k < start[row + 1]; ++k) {
      if (column[k] == row) a[k] += 2 * more;
      else if (PetscAbsInt(column[k] - row) == 1 && a[k] != (PetscScalar)0) a[k] -= more;
    }
  }
  PetscCall(MatSeqAIJRestoreArray(p->A, &a));
  PetscCall(MatRestoreRowIJ(p->A, 0, PETSC_FALSE, PETSC_FALSE, &rows, &start, &column, &done));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode AgainChange(Run *r, AgainKind kind, PetscBool back)
{
  Problem *p = r->p;
  const PetscReal h[3] = {1 / PetscSqrtReal(p->a), 1 / PetscSqrtReal(p->a), 1 / PetscSqrtReal(p->a)},
                  shift = (PetscReal)0.3 * p->a, scale = (PetscReal)1.5;

  PetscFunctionBegin;
  switch (kind) {
  case AGAIN_NEW:
    break;
  case AGAIN_COUPLINGS:
    PetscCall(AgainCouplings(p, back));
    break;
  case AGAIN_USER_SHIFT:
    PetscCall(PCBCRPoissonSetOperator(r->pc, p->dim, h, NULL, back ? 0 : shift, 1)); /* fall through */
  case AGAIN_SHIFT:
    PetscCall(MatShift(p->A, back ? -shift : shift));
    break;
  case AGAIN_USER_SCALE:
    PetscCall(PCBCRPoissonSetOperator(r->pc, p->dim, h, NULL, 0, back ? 1 : scale)); /* fall through */
  case AGAIN_SCALE:
    PetscCall(MatScale(p->A, back ? 1 / scale : scale));
    break;
  }
  PetscCall(MatNorm(p->A, NORM_INFINITY, &p->normA));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The median time of PCSetUp() after a change, and of the solves that follow */
static PetscErrorCode SuiteAgain(void)
{
  static const char *name[] = {"again/new",   "again/couplings",  "again/shift",
                               "again/scale", "again/user_shift", "again/user_scale"};

  PetscFunctionBegin;
  for (PetscInt dim = 2; dim <= 3; ++dim) {
    PetscInt n, size[16];

    PetscCall(SizesFew(dim, &n, size));
    for (PetscInt i = 0; i < n; ++i) {
      const PetscInt kinds = PETSC_STATIC_ARRAY_LENGTH(name), reps = 2 * PetscMax(repetitions / 2, 2) + 1;
      Problem p;
      Run runs[PETSC_STATIC_ARRAY_LENGTH(name)];
      double *setup, time, unused;

      PetscCall(ProblemCreate(dim, size[i], size[i], dim == 2 ? 1 : size[i], NULL, 0, PETSC_FALSE, &p));
      PetscCall(PetscMalloc1(kinds * reps, &setup));
      for (PetscInt k = 0; k < kinds; ++k) {
        PetscCall(RunInit(&runs[k], RUN_PC, &p, name[k], "bcrpoisson", Working(), ""));
        PetscCall(PetscMalloc2(MAX_REPS, &runs[k].t, MAX_REPS, &runs[k].c));
        runs[k].iterations = 1;
        PetscCall(RunCreatePC(&runs[k], &time));
        PetscCall(RunSolve(&runs[k], &runs[k].first));
      }
      for (PetscInt rep = 0; rep < reps; ++rep) {
        for (PetscInt k = 0; k < kinds; ++k) {
          for (PetscInt back = 0; back < 2; ++back) { /* there and back again; on the way back nothing is timed */
            double start;

            PetscCall(AgainChange(&runs[k], (AgainKind)k, (PetscBool)back));
            PetscCall(RunCopy(&runs[k], &time)); /* the changes have filled the caches */
            start = BenchTime();
            if (k == AGAIN_NEW) PetscCall(RunCreatePC(&runs[k], &time));
            else {
              PetscCall(PCSetUp(runs[k].pc));
              time = BenchTime() - start;
            }
            if (back) continue;
            setup[k * reps + rep] = time;
            PetscCall(RunCopy(&runs[k], &runs[k].c[rep]));
            PetscCall(RunSolve(&runs[k], &runs[k].t[rep]));
            if (rep == 0) PetscCall(RunResidual(&runs[k]));
          }
        }
      }
      for (PetscInt k = 0; k < kinds; ++k) {
        BenchStatistics(reps, &setup[k * reps], &runs[k].setup, &unused);
        BenchStatistics(reps, runs[k].t, &runs[k].time, &runs[k].mintime);
        BenchStatistics(reps, runs[k].c, &runs[k].copy, &runs[k].mincopy);
        PetscCall(RunReport(&runs[k], &runs[0]));
      }
      PetscCall(PetscFree(setup));
      PetscCall(GroupDestroy(kinds, runs));
      PetscCall(ProblemDestroy(&p));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const struct {
    const char *name, *what;
    PetscErrorCode (*run)(void);
  } suites[] = {
    {"main",      "grids of 2^k-1, Dirichlet; the FFTW row's /1st row is its time over ours",   SuiteMain     },
    {"awkward",   "other sizes; /1st row is time per unknown over that of the 2^k-1 square",    SuiteAwkward  },
    {"ends",      "other ends and shifts; /1st row is time per unknown over that of Dirichlet", SuiteEnds     },
    {"precision", "precision inside; /1st row is time over that in double",                     SuitePrecision},
    {"isa",       "instruction sets; /1st row is time over that of the best",                   SuiteIsa      },
    {"rhs",       "8 right-hand sides; times per side, /1st row is over one at a time",         SuiteRhs      },
    {"radix",     "radices and schedules; /1st row is time over that of auto",                  SuiteRadix    },
    {"reduction", "radix 2 and 4 in 2-D and 3-D; /1st row is time over the first of its group", SuiteReduction},
    {"again",     "set-up, the first time and after changes; set-up is over one solve",         SuiteAgain    },
  };
  char more[128] = "without FFTW", *wanted[16];
  PetscInt nwanted = 16;
  PetscMPIInt ranks;
  PetscBool given;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCheck(ranks == 1, PETSC_COMM_WORLD, PETSC_ERR_WRONG_MPI_SIZE, "This program runs on one process");
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-reps", &repetitions, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-seconds", &seconds, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-small", &small, NULL));
  repetitions = PetscMin(PetscMax(repetitions, 5), MAX_REPS);
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-suite", wanted, &nwanted, &given));
  if (!given) {
    nwanted = 1;
    PetscCall(PetscStrallocpy("main", &wanted[0]));
  }
#if defined(BENCH_FFTW)
  PetscCall(PetscSNPrintf(more, sizeof(more), "%s, FFTW_MEASURE", fftw_version));
#endif
  PetscCall(PetscSNPrintf(more + strlen(more), sizeof(more) - strlen(more), "; instruction set %s",
                          BCRCpuGetTable(-1, 0)->isa));
  PetscCall(BenchOpen(more, &csv));
  for (PetscInt i = 0; i < nwanted; ++i) {
    PetscBool known = PETSC_FALSE;

    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(suites) && !known; ++s) {
      PetscCall(PetscStrcmp(wanted[i], suites[s].name, &known));
      if (!known) continue;
      printf("\n%s: %s\n", suites[s].name, suites[s].what);
      PrintHead();
      PetscCall(suites[s].run());
    }
    PetscCheck(known, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "-suite %s: they are main, awkward, ends, precision, isa, rhs, radix, reduction and again", wanted[i]);
    PetscCall(PetscFree(wanted[i]));
  }
  if (csv) fclose(csv);
  PetscCall(PetscFinalize());
  return 0;
}
