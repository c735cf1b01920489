static char help[] =
  "Direct and iterative Poisson solves and tridiagonal lines on several ranks, with what each sends counted. mpiexec -n P bench/ranks\n\
  -suite <poisson,lines>\n\
  -n2 <511,1023>   sizes of n x n grids\n\
  -n3 <63>         sizes of n x n x n grids\n\
  -nlines <1024,2048,4096>  suite lines: n lines of length n, in slabs along the lines or across them\n\
  -reps <5>        solves of each\n\
  -peers <true>    also FFTW with transposes, CG with PCMG and BoomerAMG\n\
  -iterative <true>  false: without CG\n\
  -run_view        what was set up\n\
  -csv <file>      adds the results to this file\n\n";

#include "bench.h"
#include <math.h>
#if defined(PETSCBCR_HAVE_FFTW) && defined(PETSC_USE_REAL_DOUBLE)
  #define BENCH_FFTW
  #include <fftw3.h>
#endif
#include "count.h"

typedef struct {
  PetscInt dim, n, modes, rows, start; /* rows along the last axis on this rank; modes: nodes of a row or plane */
  DM da;
  Mat A;
  Vec f, u, r;
  double norm;
} Problem;

/* The 5- or 7-point Laplacian with n interior nodes along each side, slabs along the last axis */
static PetscErrorCode ProblemCreate(PetscInt dim, PetscInt n, Problem *p)
{
  PetscMPIInt size, rank;
  PetscInt m, first, last;
  PetscRandom random;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  p->dim = dim;
  p->n = n;
  p->modes = dim == 3 ? n * n : n;
  if (dim == 2)
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, 1, size, 1, 1,
                           NULL, NULL, &p->da));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n,
                           n, n, 1, 1, size, 1, 1, NULL, NULL, NULL, &p->da));
  PetscCall(DMSetFromOptions(p->da));
  PetscCall(DMSetUp(p->da));
  PetscCall(DMDASetInterpolationType(p->da, DMDA_Q1));
  PetscCall(DMDASetUniformCoordinates(p->da, 0, 1, 0, 1, 0, 1));
  PetscCall(DMCreateMatrix(p->da, &p->A));
  PetscCall(DMCreateGlobalVector(p->da, &p->f));
  PetscCall(VecDuplicate(p->f, &p->u));
  PetscCall(VecDuplicate(p->f, &p->r));
  PetscCall(VecGetOwnershipRange(p->f, &first, &last));
  m = last - first;
  p->rows = m / p->modes;
  p->start = first / p->modes;
  for (PetscInt g = first; g < last; g++) { /* natural and PETSc's numbering are the same in slabs */
    PetscInt cols[7], k = 0, stride = 1;
    PetscScalar v[7];

    cols[k] = g;
    v[k++] = 2. * (double)dim;
    for (PetscInt d = 0; d < dim; d++, stride *= n) {
      const PetscInt i = g / stride % n;

      if (i > 0) {
        cols[k] = g - stride;
        v[k++] = -1;
      }
      if (i < n - 1) {
        cols[k] = g + stride;
        v[k++] = -1;
      }
    }
    PetscCall(MatSetValues(p->A, 1, &g, k, cols, v, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(p->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(p->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatSetOption(p->A, MAT_SPD, PETSC_TRUE));
  p->norm = 4. * (double)dim;
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(PetscRandomSetInterval(random, -1, 1));
  PetscCall(VecSetRandom(p->f, random));
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode ProblemDestroy(Problem *p)
{
  PetscFunctionBegin;
  PetscCall(MatDestroy(&p->A));
  PetscCall(VecDestroy(&p->f));
  PetscCall(VecDestroy(&p->u));
  PetscCall(VecDestroy(&p->r));
  PetscCall(DMDestroy(&p->da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(BENCH_FFTW)
/* Sine transforms of this rank's rows (planes), a transpose to lines, tridiagonal solves with
   tables of pivots, a transpose back, transforms */
typedef struct {
  fftw_plan plan;
  int *scount, *soffset, *rcount, *roffset; /* there; back is the other way round */
  PetscInt lines, first;                    /* this rank's modes */
  double *row, *packed, *column, *pivot;
} FFTW;

static PetscErrorCode FFTWCreate(const Problem *p, FFTW *w)
{
  PetscMPIInt size, rank;
  const int n[2] = {(int)p->n, (int)p->n};
  const fftw_r2r_kind kind[2] = {FFTW_RODFT00, FFTW_RODFT00};

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscMalloc4(size, &w->scount, size, &w->soffset, size, &w->rcount, size, &w->roffset));
  w->first = rank * p->modes / size;
  w->lines = (rank + 1) * p->modes / size - w->first;
  for (int q = 0, s = 0, r = 0; q < size; q++) {
    const PetscInt lines = (q + 1) * p->modes / size - q * p->modes / size,
                   rows = p->n / size + (q < p->n % size ? 1 : 0);

    w->scount[q] = (int)(lines * p->rows);
    w->rcount[q] = (int)(w->lines * rows);
    w->soffset[q] = s;
    w->roffset[q] = r;
    s += w->scount[q];
    r += w->rcount[q];
  }
  w->row = fftw_malloc(sizeof(double) * (size_t)(p->modes * p->rows + 1));
  w->packed = fftw_malloc(sizeof(double) * (size_t)(p->modes * p->rows + 1));
  w->column = fftw_malloc(sizeof(double) * (size_t)(w->lines * p->n + 1));
  w->pivot = fftw_malloc(sizeof(double) * (size_t)(w->lines * p->n + 1));
  w->plan = fftw_plan_many_r2r((int)p->dim - 1, n, (int)p->rows, w->row, NULL, 1, (int)p->modes, w->row, NULL, 1,
                               (int)p->modes, kind, FFTW_MEASURE);
  for (PetscInt k = 0; k < w->lines; k++) {
    double d = 2;

    for (PetscInt i = 0, m = w->first + k; i + 1 < p->dim; i++, m /= p->n)
      d += 2 - 2 * cos((double)(m % p->n + 1) * M_PI / (double)(p->n + 1));
    for (PetscInt j = 0; j < p->n; j++)
      w->pivot[k + w->lines * j] = 1 / (d - (j ? w->pivot[k + w->lines * (j - 1)] : 0));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FFTWSolve(const Problem *p, FFTW *w, const double *f, double *u)
{
  const double factor = pow(2. * (double)(p->n + 1), -(double)(p->dim - 1));
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (PetscInt i = 0; i < p->modes * p->rows; i++) w->row[i] = f[i];
  fftw_execute(w->plan);
  for (int pass = 0; pass < 2; pass++) {
    for (int q = 0; q < size; q++) {
      const PetscInt a = q * p->modes / size, lines = (q + 1) * p->modes / size - a;

      for (PetscInt j = 0; j < p->rows; j++) {
        double *x = w->row + j * p->modes + a, *y = w->packed + w->soffset[q] + j * lines;

        if (pass) memcpy(x, y, sizeof(double) * (size_t)lines);
        else memcpy(y, x, sizeof(double) * (size_t)lines);
      }
    }
    if (pass) break;
    PetscCallMPI(MPI_Alltoallv(w->packed, w->scount, w->soffset, MPI_DOUBLE, w->column, w->rcount, w->roffset,
                               MPI_DOUBLE, PETSC_COMM_WORLD));
    for (PetscInt j = 0; j < p->n; j++) {
      double *y = w->column + j * w->lines;

      for (PetscInt k = 0; k < w->lines; k++)
        y[k] = (factor * y[k] + (j ? y[k - w->lines] : 0)) * w->pivot[k + w->lines * j];
    }
    for (PetscInt j = p->n - 2; j >= 0; j--) {
      double *y = w->column + j * w->lines;

      for (PetscInt k = 0; k < w->lines; k++) y[k] += y[k + w->lines] * w->pivot[k + w->lines * j];
    }
    PetscCallMPI(MPI_Alltoallv(w->column, w->rcount, w->roffset, MPI_DOUBLE, w->packed, w->scount, w->soffset,
                               MPI_DOUBLE, PETSC_COMM_WORLD));
  }
  fftw_execute(w->plan);
  for (PetscInt i = 0; i < p->modes * p->rows; i++) u[i] = w->row[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode FFTWDestroy(FFTW *w)
{
  PetscFunctionBegin;
  fftw_destroy_plan(w->plan);
  fftw_free(w->row);
  fftw_free(w->packed);
  fftw_free(w->column);
  fftw_free(w->pivot);
  PetscCall(PetscFree4(w->scount, w->soffset, w->rcount, w->roffset));
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

/* Linear interpolation from the m^dim nodes between those of n = 2 m + 1, in the natural numbering;
   rows: of this rank on the fine grid */
static PetscErrorCode Interpolation(PetscInt dim, PetscInt n, PetscInt rows, Mat *P)
{
  const PetscInt m = (n - 1) / 2;
  PetscInt first, last, N = m;

  PetscFunctionBegin;
  for (PetscInt d = 1; d < dim; d++) N *= m;
  PetscCall(MatCreateAIJ(PETSC_COMM_WORLD, rows, PETSC_DECIDE, PETSC_DETERMINE, N, 8, NULL, 8, NULL, P));
  PetscCall(MatGetOwnershipRange(*P, &first, &last));
  for (PetscInt g = first; g < last; g++) {
    PetscInt cols[8], k = 1, at = g, stride = 1;
    PetscScalar v[8];

    cols[0] = 0;
    v[0] = 1;
    for (PetscInt d = 0; d < dim; d++, at /= n, stride *= m) {
      const PetscInt i = at % n, low = i / 2 - (i % 2 ? 0 : 1);
      PetscInt kept = 0;

      if (i % 2) {
        for (PetscInt l = 0; l < k; l++) cols[l] += stride * low;
        continue;
      }
      for (PetscInt l = 0; l < k; l++) { /* half of either neighbour that exists; both halves behind one another */
        cols[k + l] = cols[l] + stride * (low + 1);
        v[k + l] = 0.5 * v[l];
        cols[l] += stride * low;
        v[l] *= 0.5;
      }
      for (PetscInt l = 0; l < 2 * k; l++) {
        if ((l < k && low < 0) || (l >= k && low + 1 >= m)) continue;
        cols[kept] = cols[l];
        v[kept++] = v[l];
      }
      k = kept;
    }
    PetscCall(MatSetValues(*P, 1, &g, k, cols, v, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(*P, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*P, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PCMG with its defaults and Galerkin coarse operators, as in bench/poisson.c */
static PetscErrorCode SetMultigrid(const Problem *p, PC pc)
{
  PetscInt levels = 1, n = p->n, rows = p->modes * p->rows;

  PetscFunctionBegin;
  for (PetscInt k = p->n; k > 3 && k % 2; k = (k - 1) / 2) levels++;
  PetscCall(PCSetType(pc, PCMG));
  PetscCall(PCMGSetLevels(pc, levels, NULL));
  PetscCall(PCMGSetGalerkin(pc, PC_MG_GALERKIN_BOTH));
  for (PetscInt l = levels - 1; l > 0; l--, n = (n - 1) / 2) {
    Mat P;

    PetscCall(Interpolation(p->dim, n, rows, &P));
    PetscCall(MatGetLocalSize(P, NULL, &rows));
    PetscCall(PCMGSetInterpolation(pc, l, P));
    PetscCall(MatDestroy(&P));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(Problem *p, const char *solver, const char *options, PetscInt reps, FILE *csv)
{
  const PetscBool fftw = strcmp(solver, "fftw+transposes") ? PETSC_FALSE : PETSC_TRUE,
                  direct = strcmp(solver, "bcrpoisson") ? PETSC_FALSE : PETSC_TRUE,
                  mg = strcmp(solver, "cg+mg") ? PETSC_FALSE : PETSC_TRUE;
  BenchRow row;
  double *t, *copies, sent[3], most[3], all[3], start;
  PetscMPIInt size, rank;
  PetscInt its = 0;
  KSP ksp;
  PC pc;
#if defined(BENCH_FFTW)
  FFTW plan;
#else
  if (fftw) return PETSC_SUCCESS;
#endif

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  memset(&row, 0, sizeof(row));
  row.program = "ranks";
  row.name = p->dim == 3 ? "3d" : "2d";
  row.precision = "double";
  row.solver = solver;
  row.ranks = size;
  row.dim = p->dim;
  row.n[0] = row.n[1] = p->n;
  row.n[2] = p->dim == 3 ? p->n : 1;
  row.first = NAN;
  PetscCall(PetscMalloc2(reps, &t, reps, &copies));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  start = BenchTime();
#if defined(BENCH_FFTW)
  if (fftw) PetscCall(FFTWCreate(p, &plan));
#endif
  if (!fftw) {
    PetscCall(PetscOptionsInsertString(NULL, options));
    PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
    PetscCall(KSPSetOptionsPrefix(ksp, "run_"));
    PetscCall(KSPSetOperators(ksp, p->A, p->A));
    PetscCall(KSPGetPC(ksp, &pc));
    if (mg) PetscCall(SetMultigrid(p, pc));
    else PetscCall(PCSetDM(pc, p->da));
    PetscCall(KSPSetTolerances(ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, PETSC_DEFAULT));
    PetscCall(KSPSetFromOptions(ksp));
    PetscCall(KSPSetUp(ksp));
  }
  row.setup = BenchTime() - start;
  if (direct) PetscCall(KSPViewFromOptions(ksp, NULL, "-view"));
  for (PetscInt i = -1; i < reps; i++) { /* the first is to warm up */
    const double *f;
    double *u;

    PetscCall(VecGetArrayRead(p->f, &f));
    PetscCall(VecGetArray(p->u, &u));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    start = BenchTime();
    memcpy(u, f, sizeof(double) * (size_t)(p->modes * p->rows));
    if (i >= 0) copies[i] = BenchTime() - start;
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    memset(&BenchSent, 0, sizeof(BenchSent));
    start = BenchTime();
    if (fftw) {
#if defined(BENCH_FFTW)
      PetscCall(FFTWSolve(p, &plan, f, u));
#endif
    }
    PetscCall(VecRestoreArrayRead(p->f, &f));
    PetscCall(VecRestoreArray(p->u, &u));
    if (direct) PetscCall(PCApply(pc, p->f, p->u));
    else if (!fftw) {
      PetscCall(KSPSolve(ksp, p->f, p->u));
      PetscCall(KSPGetIterationNumber(ksp, &its));
    }
    if (i >= 0) t[i] = BenchTime() - start;
    sent[0] = BenchSent.bytes;
    sent[1] = BenchSent.messages;
    sent[2] = BenchSent.reductions;
  }
  for (PetscInt i = 0; i < reps; i++) { /* the slowest rank */
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &t[i], 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &copies[i], 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  }
  PetscCallMPI(MPI_Allreduce(sent, most, 3, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(sent, all, 3, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  BenchStatistics(reps, t, &row.time, &row.mintime);
  BenchStatistics(reps, copies, &row.copy, &row.mincopy);
  row.iterations = its;
  PetscCall(BenchBackwardError(p->A, (PetscReal)p->norm, p->f, p->u, p->r, &row.residual));
  if (rank == 0) {
    printf("%d ranks  %" PetscInt_FMT "^%" PetscInt_FMT
           "  %-16s %9.3f ms (least %9.3f)  set-up %9.3f ms  error %.1e  sent: at most %12.0f bytes in %6.0f messages "
           "and %.0f reductions by a rank, %13.0f bytes by all\n",
           size, p->n, p->dim, solver, 1e3 * row.time, 1e3 * row.mintime, 1e3 * row.setup, row.residual, most[0],
           most[1], most[2], all[0]);
    BenchWriteRow(csv, &row);
    if (csv)
      fprintf(csv, "# sent,%s,%d,%d,%s,%d,%.0f,%.0f,%.0f,%.0f\n", row.name, (int)p->dim, (int)p->n, solver, size,
              most[0], most[1], most[2], all[0]);
  }
  if (fftw) {
#if defined(BENCH_FFTW)
    PetscCall(FFTWDestroy(&plan));
#endif
  } else PetscCall(KSPDestroy(&ksp));
  PetscCall(PetscFree2(t, copies));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* n lines -1 d -1 of length n along x or y, in slabs along y (split along y, whole along x) or
   along x: what the coupling across ranks costs. d = 4: each rank's end decays long before the
   other end, neighbours alone; forced through the reduced system; d = 2: no decay at all. Beside it
   the same lines whole on each rank, half of them. Times are of the slowest rank. */
static PetscErrorCode Lines(PetscInt n, PetscInt axis, PetscInt cut, PetscReal diag, PCNeatoCoupling coupling,
                            PetscInt reps, FILE *csv)
{
  const PetscReal lines_row[3] = {-1, diag, -1};
  const char name[2] = {axis ? 'y' : 'x', 0};
  BenchRow row;
  PetscBCRLines lines;
  PetscMPIInt size, rank;
  PetscInt m, s[2], w[2];
  double *t, *copies, sent[3], most[3], all[3], start;
  double norms[3] = {0, 0, 0};
  char text[64], solver[64];
  DM da;
  Vec f, u, local;
  PetscRandom random;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  memset(&row, 0, sizeof(row));
  PetscCall(PetscSNPrintf(text, sizeof(text), "lines_%s", axis == cut ? "split" : "whole"));
  PetscCall(PetscSNPrintf(solver, sizeof(solver), "d=%g/%s", (double)diag, PCNeatoCouplings[coupling]));
  row.program = "ranks";
  row.name = text;
  row.axis = name;
  row.precision = sizeof(PetscReal) == 8 ? "double" : "single";
  row.solver = solver;
  row.ranks = size;
  row.dim = 2;
  row.n[0] = row.n[1] = n;
  row.n[2] = 1;
  row.first = NAN;
  row.iterations = 1;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, cut ? 1 : size,
                         cut ? size : 1, 1, 1, NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateGlobalVector(da, &f));
  PetscCall(VecDuplicate(f, &u));
  PetscCall(VecGetLocalSize(f, &m));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(PetscRandomSetInterval(random, -1, 1));
  PetscCall(VecSetRandom(f, random));
  PetscCall(PetscRandomDestroy(&random));
  PetscCall(PetscMalloc2(reps, &t, reps, &copies));
  PetscCall(PetscBCRLinesCreate(da, axis ? DM_Y : DM_X, 0, NULL, lines_row, 0, NULL, &lines));
  PetscCall(PetscBCRLinesSetCoupling(lines, coupling));
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  start = BenchTime();
  PetscCall(PetscBCRLinesSolve(lines, f, u)); /* sets up */
  row.setup = BenchTime() - start;
  for (PetscInt i = -1; i < reps; i++) {
    const PetscScalar *from;
    PetscScalar *to;

    PetscCall(VecGetArrayRead(f, &from));
    PetscCall(VecGetArray(u, &to));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    start = BenchTime();
    memcpy(to, from, sizeof(PetscScalar) * (size_t)m);
    if (i >= 0) copies[i] = BenchTime() - start;
    PetscCall(VecRestoreArray(u, &to));
    PetscCall(VecRestoreArrayRead(f, &from));
    PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
    memset(&BenchSent, 0, sizeof(BenchSent));
    start = BenchTime();
    PetscCall(PetscBCRLinesSolve(lines, f, u));
    if (i >= 0) t[i] = BenchTime() - start;
    sent[0] = BenchSent.bytes;
    sent[1] = BenchSent.messages;
    sent[2] = BenchSent.reductions;
  }
  for (PetscInt i = 0; i < reps; i++) {
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &t[i], 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &copies[i], 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  }
  PetscCallMPI(MPI_Allreduce(sent, most, 3, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(sent, all, 3, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  BenchStatistics(reps, t, &row.time, &row.mintime);
  BenchStatistics(reps, copies, &row.copy, &row.mincopy);
  { /* the residual, with the values of other ranks */
    PetscScalar **ff, **uu;

    PetscCall(DMGetLocalVector(da, &local));
    PetscCall(VecSet(local, 0));
    PetscCall(DMGlobalToLocal(da, u, INSERT_VALUES, local));
    PetscCall(DMDAGetCorners(da, &s[0], &s[1], NULL, &w[0], &w[1], NULL));
    PetscCall(DMDAVecGetArrayRead(da, local, &uu));
    PetscCall(DMDAVecGetArrayRead(da, f, &ff));
    for (PetscInt j = s[1]; j < s[1] + w[1]; j++) {
      for (PetscInt i = s[0]; i < s[0] + w[0]; i++) {
        const PetscInt at = axis ? j : i;
        const PetscScalar below = at ? (axis ? uu[j - 1][i] : uu[j][i - 1]) : 0,
                          above = at < n - 1 ? (axis ? uu[j + 1][i] : uu[j][i + 1]) : 0;

        TestLargest(&norms[0], PetscAbsScalar(ff[j][i] - (diag * uu[j][i] - below - above)));
        norms[1] = PetscMax(norms[1], (double)PetscAbsScalar(uu[j][i]));
        norms[2] = PetscMax(norms[2], (double)PetscAbsScalar(ff[j][i]));
      }
    }
    PetscCall(DMDAVecRestoreArrayRead(da, local, &uu));
    PetscCall(DMDAVecRestoreArrayRead(da, f, &ff));
    PetscCall(DMRestoreLocalVector(da, &local));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, norms, 3, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
    row.residual = norms[0] / (((double)diag + 2) * norms[1] + norms[2]);
  }
  if (rank == 0) {
    printf("%d ranks  %5" PetscInt_FMT "^2 along %s, %s  %-16s %9.3f ms  %6.2f copies (minima %6.2f)  set-up %9.3f ms  "
           "error %.1e  sent: at most %9.0f bytes in %3.0f messages by a rank\n",
           size, n, name, text + 6, solver, 1e3 * row.time, row.time / row.copy, row.mintime / row.mincopy,
           1e3 * row.setup, row.residual, most[0], most[1]);
    BenchWriteRow(csv, &row);
    if (csv)
      fprintf(csv, "# sent,%s/%s,%d,%d,%s,%d,%.0f,%.0f,%.0f,%.0f\n", row.name, name, 2, (int)n, solver, size, most[0],
              most[1], most[2], all[0]);
  }
  PetscCall(PetscBCRLinesDestroy(&lines));
  PetscCall(PetscFree2(t, copies));
  PetscCall(VecDestroy(&f));
  PetscCall(VecDestroy(&u));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* For docs/ranks.md: half a round trip between two ranks of 8 bytes and of 1 MB, and an all-to-all
   of 64 doubles to each */
static PetscErrorCode Constants(FILE *csv)
{
  enum {
    LARGE = 131072
  };
  double *a, *b, t[3], best[3] = {1, 1, 1};
  PetscMPIInt size, rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  if (size == 1) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscCalloc2(PetscMax(LARGE, 64 * size), &a, PetscMax(LARGE, 64 * size), &b));
  for (int i = 0; i < 200; i++) {
    for (int k = 0; k < 2; k++) {
      const int n = k ? LARGE : 1;

      t[k] = BenchTime();
      if (rank == 0) {
        PetscCallMPI(PMPI_Send(a, n, MPI_DOUBLE, 1, 1, PETSC_COMM_WORLD));
        PetscCallMPI(PMPI_Recv(b, n, MPI_DOUBLE, 1, 1, PETSC_COMM_WORLD, MPI_STATUS_IGNORE));
      } else if (rank == 1) {
        PetscCallMPI(PMPI_Recv(b, n, MPI_DOUBLE, 0, 1, PETSC_COMM_WORLD, MPI_STATUS_IGNORE));
        PetscCallMPI(PMPI_Send(a, n, MPI_DOUBLE, 0, 1, PETSC_COMM_WORLD));
      }
      t[k] = 0.5 * (BenchTime() - t[k]);
    }
    PetscCallMPI(PMPI_Barrier(PETSC_COMM_WORLD));
    t[2] = BenchTime();
    PetscCallMPI(PMPI_Alltoall(a, 64, MPI_DOUBLE, b, 64, MPI_DOUBLE, PETSC_COMM_WORLD));
    t[2] = BenchTime() - t[2];
    for (int k = 0; k < 3; k++) best[k] = PetscMin(best[k], t[k]);
  }
  if (rank == 0) {
    char line[256];

    snprintf(line, sizeof(line),
             "least of 200: 8 bytes in %.2f us, 1 MB in %.1f us (%.2f GB/s), all-to-all of 512 bytes to each of %d "
             "ranks in %.1f us",
             1e6 * best[0], 1e6 * best[1], 8. * LARGE / best[1] / 1e9, size, 1e6 * best[2]);
    printf("%s\n", line);
    if (csv) fprintf(csv, "# %s\n", line);
  }
  PetscCall(PetscFree2(a, b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt sizes[3][16] =
    {
      {511, 1023},
      {      63  },
      { 1024,   2048,  4096}
  },
           count[3] = {2, 1, 3}, reps = 5, given = 2;
  char *suites[2] = {NULL, NULL};
  PetscBool peers = PETSC_TRUE, iterative = PETSC_TRUE, found, run[2] = {PETSC_TRUE, PETSC_FALSE};
  PetscMPIInt rank;
  FILE *csv = NULL;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-suite", suites, &given, &found));
  if (found) run[0] = PETSC_FALSE;
  for (PetscInt k = 0; found && k < given; k++) {
    const PetscBool lines = (PetscBool)!strcmp(suites[k], "lines");

    PetscCheck(lines || !strcmp(suites[k], "poisson"), PETSC_COMM_WORLD, PETSC_ERR_ARG_UNKNOWN_TYPE,
               "-suite %s: poisson or lines", suites[k]);
    run[lines] = PETSC_TRUE;
    PetscCall(PetscFree(suites[k]));
  }
  for (int d = 0; d < 3; d++) {
    const char *const names[] = {"-n2", "-n3", "-nlines"};

    given = 16;
    PetscCall(PetscOptionsGetIntArray(NULL, NULL, names[d], sizes[d], &given, &found));
    if (found) count[d] = given;
  }
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-reps", &reps, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-peers", &peers, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-iterative", &iterative, NULL));
  if (rank == 0)
    PetscCall(BenchOpen("several ranks; lines '# sent' have case, dims, n, solver, ranks, then bytes, messages and "
                        "reductions of the rank that sends most in one solve, and bytes of all ranks",
                        &csv));
  PetscCall(Constants(csv));
  for (PetscInt i = 0; run[1] && i < count[2]; i++) {
    for (PetscInt axis = 0; axis < 2; axis++) {
      PetscCall(Lines(sizes[2][i], axis, 1 - axis, 4, PCNEATO_COUPLING_AUTO, reps, csv));
      PetscCall(Lines(sizes[2][i], axis, axis, 4, PCNEATO_COUPLING_NEIGHBOUR, reps, csv));
      PetscCall(Lines(sizes[2][i], axis, axis, 4, PCNEATO_COUPLING_REDUCED, reps, csv));
      PetscCall(Lines(sizes[2][i], axis, 1 - axis, 2, PCNEATO_COUPLING_AUTO, reps, csv));
      PetscCall(Lines(sizes[2][i], axis, axis, 2, PCNEATO_COUPLING_REDUCED, reps, csv));
    }
  }
  for (int d = 0; run[0] && d < 2; d++) {
    for (PetscInt i = 0; i < count[d]; i++) {
      Problem p;

      PetscCall(ProblemCreate(d + 2, sizes[d][i], &p));
      PetscCall(Run(&p, "bcrpoisson", "-run_ksp_type preonly -run_pc_type bcrpoisson", reps, csv));
      if (peers) PetscCall(Run(&p, "fftw+transposes", "", reps, csv));
      if (peers && iterative) {
        PetscCall(Run(&p, "cg+mg", "-run_ksp_type cg -run_pc_type mg", PetscMax(1, reps / 3), csv));
#if defined(PETSC_HAVE_HYPRE)
        PetscCall(Run(&p, "cg+hypre", "-run_ksp_type cg -run_pc_type hypre -run_pc_hypre_type boomeramg",
                      PetscMax(1, reps / 3), csv));
#endif
      }
      PetscCall(ProblemDestroy(&p));
    }
  }
  if (csv) fclose(csv);
  PetscCall(PetscFinalize());
  return 0;
}
