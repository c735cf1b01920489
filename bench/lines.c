static char help[] =
  "Times batches of tridiagonal lines: memcpy, the methods of the library, and on one rank LAPACK and PETSc with factors.\n\
On several ranks (mpiexec -n P) lines are cut along their axis, times are those of the slowest rank.\n\
  -suite <batch,single,short>  what to run, see bench/README.md\n\
  -reps <9>     repetitions, at least 5\n\
  -n <256,512,1024,2048,4096>  lengths of the lines of batch\n\
  -d <4>        diagonal over the couplings, batch\n\
  -methods <scan,cr,pscheme,dc,thomas>\n\
  -peers <true> LAPACK and LU too\n\
  -lu           PETSc's LU at all sizes, not at 1024 along x alone\n\
  -at <f,u>     bytes behind a cache line at which the right-hand side and the solution begin; default: where PetscMalloc() puts them\n\
  -in_place     the solution takes the place of the right-hand side\n\
  -small        every size divided by 8, to try it out\n\
  -csv <file>   adds the results to this file\n\n";

#include "bench.h"
#include "src/tridiagonal/tridiagonal.h"
#include <petscblaslapack.h>
#include <math.h>

#if !defined(PETSC_USE_REAL_DOUBLE)
  #error "bench/lines.c wants a PETSc in double precision"
#endif

extern void dpttrf_(const PetscBLASInt *, double *, double *, PetscBLASInt *);
extern void dpttrs_(const PetscBLASInt *, const PetscBLASInt *, const double *, const double *, double *,
                    const PetscBLASInt *, PetscBLASInt *);
extern void dgttrf_(const PetscBLASInt *, double *, double *, double *, double *, PetscBLASInt *, PetscBLASInt *);
extern void dgttrs_(const char *, const PetscBLASInt *, const PetscBLASInt *, const double *, const double *,
                    const double *, const double *, const PetscBLASInt *, double *, const PetscBLASInt *,
                    PetscBLASInt *);

#define MAX_RUNS 12
#define MAX_REPS 200

static FILE *csv;
static PetscInt repetitions = 9;
static PetscBool small = PETSC_FALSE, inplace = PETSC_FALSE, placed = PETSC_FALSE, peers = PETSC_TRUE;
static PetscInt at[2] = {0, 0};
static PetscMPIInt rank, ranks;
static const char *names[] = {"auto", "scan", "cr", "pscheme", "dc", "thomas"};
static PetscBool wanted[6];

typedef enum {
  RUN_LOCAL,
  RUN_PTTRS, /* LAPACK, symmetric positive definite, factors before */
  RUN_GTTRS, /* LAPACK, any, factors before */
  RUN_LU     /* PETSc's LU of the matrix of all lines, factors before */
} RunKind;

typedef struct {
  RunKind kind;
  char name[32];
  BCRTriMethod method;
  BCRTriPrecision precision;
  BCRTri tri;
  double *dl, *d, *du, *du2, *line;
  PetscBLASInt *pivots;
  Mat A;
  Vec f, u;
  KSP ksp;
  double setup, residual, t[MAX_REPS], c[MAX_REPS];
} Run;

typedef struct {
  const char *name;
  char axis;
  PetscInt inner, n, outer; /* of this rank */
  double diag;
  double *f, *u;
  double *b; /* what solvers are given: f, or in place u */
} Batch;

static PetscErrorCode RunSetUp(const Batch *b, Run *r)
{
  const BCRTriRows rows = {
    .row = {-1, b->diag, -1}
  };
  BCRTriSpec spec = {.inner = b->inner, .n = b->n, .outer = b->outer, .rep = 1, .rows = &rows};
  PetscBLASInt n, info;
  double start;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(b->n, &n));
  start = BenchTime();
  if (r->kind == RUN_LOCAL) {
    BCRTriOptions options = {.method = r->method, .precision = r->precision, .isa = -1};

    PetscCall(BCRTriCreate(PETSC_COMM_WORLD, &spec, &options, &r->tri));
  } else if (r->kind == RUN_LU) {
    const PetscInt size = b->inner * b->n * b->outer;

    PetscCall(MatCreateSeqAIJ(PETSC_COMM_SELF, size, size, 3, NULL, &r->A));
    for (PetscInt i = 0; i < size; ++i) {
      const PetscInt j = i / b->inner % b->n;
      PetscScalar values[3];
      PetscInt columns[3], count = 0;

      for (PetscInt k = -1; k <= 1; ++k) {
        if (j + k < 0 || j + k >= b->n) continue;
        columns[count] = i + k * b->inner;
        values[count++] = k ? -1 : b->diag;
      }
      PetscCall(MatSetValues(r->A, 1, &i, count, columns, values, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(r->A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(r->A, MAT_FINAL_ASSEMBLY));
    PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, size, b->b, &r->f));
    PetscCall(VecCreateSeqWithArray(PETSC_COMM_SELF, 1, size, b->u, &r->u));
    PetscCall(KSPCreate(PETSC_COMM_SELF, &r->ksp));
    PetscCall(KSPSetOperators(r->ksp, r->A, r->A));
    PetscCall(KSPSetType(r->ksp, KSPPREONLY));
    {
      PC pc;

      PetscCall(KSPGetPC(r->ksp, &pc));
      PetscCall(PCSetType(pc, PCLU));
      PetscCall(PCFactorSetMatOrderingType(pc, b->inner == 1 ? MATORDERINGNATURAL : MATORDERINGND));
    }
    start = BenchTime();
    PetscCall(KSPSetUp(r->ksp));
  } else {
    PetscCall(PetscMalloc6(b->n, &r->dl, b->n, &r->d, b->n, &r->du, b->n, &r->du2, b->n, &r->line, b->n, &r->pivots));
    for (PetscInt j = 0; j < b->n; ++j) {
      r->d[j] = b->diag;
      r->dl[j] = r->du[j] = -1;
    }
    if (r->kind == RUN_PTTRS) dpttrf_(&n, r->d, r->dl, &info);
    else dgttrf_(&n, r->dl, r->d, r->du, r->du2, r->pivots, &info);
    PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "LAPACK info %d", (int)info);
  }
  r->setup = BenchTime() - start;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunSolve(const Batch *b, Run *r)
{
  PetscBLASInt n, lines, one = 1, info;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(b->n, &n));
  if (r->kind == RUN_LOCAL) PetscCall(BCRTriSolve(r->tri, b->b, b->u));
  else if (r->kind == RUN_LU) PetscCall(KSPSolve(r->ksp, r->f, r->u));
  else if (b->inner == 1) { /* all lines are one call with that many right-hand sides */
    PetscCall(PetscBLASIntCast(b->outer, &lines));
    if (b->b != b->u) memcpy(b->u, b->b, sizeof(double) * (size_t)b->n * b->outer);
    if (r->kind == RUN_PTTRS) dpttrs_(&n, &lines, r->d, r->dl, b->u, &n, &info);
    else dgttrs_("N", &n, &lines, r->dl, r->d, r->du, r->du2, r->pivots, b->u, &n, &info);
  } else {
    for (PetscInt o = 0; o < b->outer; ++o)
      for (PetscInt i = 0; i < b->inner; ++i) {
        const size_t base = i + (size_t)b->inner * b->n * o;

        for (PetscInt j = 0; j < b->n; ++j) r->line[j] = b->b[base + (size_t)b->inner * j];
        if (r->kind == RUN_PTTRS) dpttrs_(&n, &one, r->d, r->dl, r->line, &n, &info);
        else dgttrs_("N", &n, &one, r->dl, r->d, r->du, r->du2, r->pivots, r->line, &n, &info);
        for (PetscInt j = 0; j < b->n; ++j) b->u[base + (size_t)b->inner * j] = r->line[j];
      }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode RunDestroy(Run *r)
{
  PetscFunctionBegin;
  PetscCall(BCRTriDestroy(&r->tri));
  if (r->kind == RUN_PTTRS || r->kind == RUN_GTTRS)
    PetscCall(PetscFree6(r->dl, r->d, r->du, r->du2, r->line, r->pivots));
  PetscCall(KSPDestroy(&r->ksp));
  PetscCall(VecDestroy(&r->f));
  PetscCall(VecDestroy(&r->u));
  PetscCall(MatDestroy(&r->A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* max|f - A u| / (||A|| max|u| + max|f|); the rows beside this rank's come from its neighbours */
static PetscErrorCode BackwardError(const Batch *b, double *error)
{
  const PetscInt lines = b->inner * b->outer;
  const PetscMPIInt before = rank ? rank - 1 : MPI_PROC_NULL, after = rank < ranks - 1 ? rank + 1 : MPI_PROC_NULL;
  double norm[3] = {0, 0, 0}, *edge[4];

  PetscFunctionBegin;
  /* first, last row; the one before, after */
  PetscCall(PetscCalloc4(lines, &edge[0], lines, &edge[1], lines, &edge[2], lines, &edge[3]));
  for (PetscInt l = 0; l < lines; ++l) {
    const size_t k = l % b->inner + (size_t)b->inner * b->n * (l / b->inner);

    edge[0][l] = b->u[k];
    edge[1][l] = b->u[k + (size_t)b->inner * (b->n - 1)];
  }
  PetscCallMPI(MPI_Sendrecv(edge[0], (PetscMPIInt)lines, MPI_DOUBLE, before, 0, edge[3], (PetscMPIInt)lines, MPI_DOUBLE,
                            after, 0, PETSC_COMM_WORLD, MPI_STATUS_IGNORE));
  PetscCallMPI(MPI_Sendrecv(edge[1], (PetscMPIInt)lines, MPI_DOUBLE, after, 1, edge[2], (PetscMPIInt)lines, MPI_DOUBLE,
                            before, 1, PETSC_COMM_WORLD, MPI_STATUS_IGNORE));
  for (PetscInt o = 0; o < b->outer; ++o)
    for (PetscInt j = 0; j < b->n; ++j)
      for (PetscInt i = 0; i < b->inner; ++i) {
        const size_t k = i + (size_t)b->inner * (j + (size_t)b->n * o), l = (size_t)i + (size_t)b->inner * o;
        const double r = b->f[k] - b->diag * b->u[k] + (j ? b->u[k - b->inner] : edge[2][l]) +
                         (j < b->n - 1 ? b->u[k + b->inner] : edge[3][l]);

        TestLargest(&norm[0], fabs(r));
        norm[1] = PetscMax(norm[1], fabs(b->u[k]));
        norm[2] = PetscMax(norm[2], fabs(b->f[k]));
      }
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, norm, 3, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  *error = norm[0] / ((b->diag + 2) * norm[1] + norm[2]);
  PetscCall(PetscFree4(edge[0], edge[1], edge[2], edge[3]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* All runs in turn, a copy before each, so that a noisy neighbour meets all of them alike */
static PetscErrorCode RunBatch(Batch *b, PetscBool lu, PetscBool single)
{
  const PetscInt n = b->n; /* of all ranks */
  const size_t all = (size_t)b->inner * n * b->outer;
  Run *runs;
  double *memory[2];
  char name[64];
  PetscInt count = 0;
  size_t size;
  PetscRandom random;

  PetscFunctionBegin;
  b->n = (rank + 1) * n / ranks - rank * n / ranks;
  size = (size_t)b->inner * b->n * b->outer;
  PetscCall(PetscCalloc1(MAX_RUNS, &runs));
  PetscCall(PetscMalloc1(size + 16, &memory[0]));
  PetscCall(PetscMalloc1(size + 16, &memory[1]));
  b->f = memory[0];
  b->u = memory[1];
  PetscCall(PetscStrncpy(name, b->name, sizeof(name)));
  if (b->diag != 4) PetscCall(PetscSNPrintf(name, sizeof(name), "%s d=%g", b->name, b->diag));
  if (placed) {
    b->f = (double *)(((size_t)memory[0] + 63) / 64 * 64 + (size_t)at[0]);
    b->u = (double *)(((size_t)memory[1] + 63) / 64 * 64 + (size_t)at[1]);
    PetscCall(PetscSNPrintf(name + strlen(name), sizeof(name) - strlen(name), " at %d %d", (int)at[0], (int)at[1]));
  }
  if (inplace) PetscCall(PetscStrlcat(name, " in place", sizeof(name)));
  b->b = inplace ? b->u : b->f;
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  PetscCall(PetscRandomSetInterval(random, -1, 1));
  PetscCall(PetscRandomSetSeed(random, 1 + (unsigned long)rank));
  PetscCall(PetscRandomSeed(random));
  for (size_t i = 0; i < size; ++i) {
    PetscCall(PetscRandomGetValueReal(random, &b->f[i]));
    b->u[i] = 0;
  }
  PetscCall(PetscRandomDestroy(&random));
  if (peers && ranks == 1) {
    runs[count].kind = RUN_PTTRS;
    PetscCall(PetscStrncpy(runs[count++].name, "dpttrs", sizeof(runs[0].name)));
    runs[count].kind = RUN_GTTRS;
    PetscCall(PetscStrncpy(runs[count++].name, "dgttrs", sizeof(runs[0].name)));
  }
  if (lu && peers && ranks == 1) {
    runs[count].kind = RUN_LU;
    PetscCall(PetscStrncpy(runs[count++].name, "petsc-lu", sizeof(runs[0].name)));
  }
  for (int m = BCR_TRI_SCAN; m <= BCR_TRI_THOMAS; ++m) {
    if (!wanted[m]) continue;
    runs[count].method = (BCRTriMethod)m;
    PetscCall(PetscStrncpy(runs[count++].name, names[m], sizeof(runs[0].name)));
  }
  if (single) {
    runs[count].method = BCR_TRI_SCAN;
    runs[count].precision = BCR_TRI_SINGLE;
    PetscCall(PetscStrncpy(runs[count++].name, "scan", sizeof(runs[0].name)));
  }
  for (PetscInt k = 0; k < count; ++k) {
    PetscCall(RunSetUp(b, &runs[k]));
    memcpy(b->u, b->f, sizeof(double) * size);
    PetscCall(RunSolve(b, &runs[k]));
    PetscCall(BackwardError(b, &runs[k].residual));
  }
  for (PetscInt r = 0; r < repetitions; ++r)
    for (PetscInt k = 0; k < count; ++k) {
      double start;

      if (ranks > 1) PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
      start = BenchTime();
      memcpy(b->u, b->f, sizeof(double) * size);
      runs[k].c[r] = BenchTime() - start;
      if (ranks > 1) PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
      start = BenchTime();
      PetscCall(RunSolve(b, &runs[k]));
      runs[k].t[r] = BenchTime() - start;
    }
  for (PetscInt k = 0; k < count; ++k) {
    double time, mintime, copy, mincopy;

    if (ranks > 1) {
      PetscCallMPI(
        MPI_Allreduce(MPI_IN_PLACE, runs[k].t, (PetscMPIInt)repetitions, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
      PetscCallMPI(
        MPI_Allreduce(MPI_IN_PLACE, runs[k].c, (PetscMPIInt)repetitions, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
      PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &runs[k].setup, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
    }
    BenchStatistics(repetitions, runs[k].t, &time, &mintime);
    BenchStatistics(repetitions, runs[k].c, &copy, &mincopy);
    if (rank == 0)
      printf("%-8s %c  %9d x %-9d %-8s %-6s %10.3f ms  %6.2f copies (best %6.2f)  %6.2f ns/unknown  set-up %8.3f ms  "
             "error %.1e\n",
             name, b->axis, (int)n, (int)(b->inner * b->outer), runs[k].name, runs[k].precision ? "single" : "double",
             1e3 * time, time / copy, mintime / mincopy, 1e9 * time / all, 1e3 * runs[k].setup, runs[k].residual);
    fflush(stdout);
    if (csv) {
      fprintf(csv, "lines,%s,%d,%d,%c,%s,%s,%d,%.6g,%.6g,%.4g,%.6g,%.3g,%.6g,%.6g,%.4g,,1,%.4g,%d,%d,%d\n", name,
              b->outer > 1 && b->inner > 1 ? 3 : 2, (int)n, b->axis, runs[k].precision ? "single" : "double",
              runs[k].name, ranks, 1e3 * time, 1e3 * copy, time / copy, 1e3 * runs[k].setup, runs[k].residual,
              1e3 * mintime, 1e3 * mincopy, mintime / mincopy, 1e9 * time / all, (int)b->inner, (int)n, (int)b->outer);
      fflush(csv);
    }
    PetscCall(RunDestroy(&runs[k]));
  }
  PetscCall(PetscFree(memory[0]));
  PetscCall(PetscFree(memory[1]));
  PetscCall(PetscFree(runs));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *suites[8], *methods[8];
  PetscInt nat, nsuites = 8, nmethods = 8, sizes[16] = {256, 512, 1024, 2048, 4096}, nsizes = 16;
  PetscReal diag = 4;
  PetscBool given, lu = PETSC_FALSE;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &ranks));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-small", &small, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-reps", &repetitions, NULL));
  repetitions = PetscMin(PetscMax(repetitions, 5), MAX_REPS);
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-d", &diag, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-peers", &peers, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-in_place", &inplace, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-lu", &lu, NULL));
  nat = 2;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-at", at, &nat, &placed));
  PetscCheck(!placed || (nat == 2 && at[0] % 8 == 0 && at[1] % 8 == 0 && PetscMin(at[0], at[1]) >= 0 &&
                         PetscMax(at[0], at[1]) < 64),
             PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "-at: two numbers of 0, 8, ..., 56");
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-n", sizes, &nsizes, &given));
  if (!given) nsizes = 5;
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-methods", methods, &nmethods, &given));
  for (int m = 0; m < 6; ++m) wanted[m] = given ? PETSC_FALSE : PETSC_TRUE;
  for (PetscInt k = 0; given && k < nmethods; ++k) {
    for (int m = 0; m < 6; ++m)
      if (!strcmp(methods[k], names[m])) wanted[m] = PETSC_TRUE;
    PetscCall(PetscFree(methods[k]));
  }
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-suite", suites, &nsuites, &given));
  if (!given) {
    nsuites = 1;
    PetscCall(PetscStrallocpy("batch", &suites[0]));
  }
  if (rank == 0)
    PetscCall(BenchOpen(ranks > 1 ? "batches of lines cut by the ranks, -1 d -1, random right-hand side"
                                  : "batches of lines of one rank, -1 d -1, random right-hand side",
                        &csv));
  for (PetscInt s = 0; s < nsuites; ++s) {
    const PetscInt divide = small ? 8 : 1;

    if (!strcmp(suites[s], "batch")) { /* n lines of length n, along x and along z */
      for (PetscInt k = 0; k < nsizes; ++k) {
        const PetscInt n = sizes[k] / divide;
        Batch x = {"batch", 'x', 1, n, n, diag, NULL, NULL, NULL}, z = {"batch", 'z', n, n, 1, diag, NULL, NULL, NULL};

        PetscCall(RunBatch(&x, (PetscBool)(lu || sizes[k] == 1024), PETSC_TRUE));
        PetscCall(RunBatch(&z, lu, PETSC_TRUE));
      }
    } else if (!strcmp(suites[s], "single")) { /* one long line */
      for (PetscInt e = 20; e <= 26; e += 6) {
        Batch x = {"single", 'x', 1, ((PetscInt)1 << e) / divide, 1, diag, NULL, NULL, NULL};

        PetscCall(RunBatch(&x, (PetscBool)(lu && e == 20), PETSC_FALSE));
      }
    } else if (!strcmp(suites[s], "short")) { /* a million short lines */
      const PetscInt lengths[] = {8, 16, 32};

      for (PetscInt k = 0; k < 3; ++k) {
        Batch x = {"short", 'x', 1, lengths[k], 1000000 / divide, diag, NULL, NULL, NULL},
              z = {"short", 'z', 1000000 / divide, lengths[k], 1, diag, NULL, NULL, NULL};

        PetscCall(RunBatch(&x, lu, PETSC_TRUE));
        PetscCall(RunBatch(&z, lu, PETSC_TRUE));
      }
    } else SETERRQ(PETSC_COMM_SELF, PETSC_ERR_ARG_UNKNOWN_TYPE, "-suite %s: batch, single or short", suites[s]);
    PetscCall(PetscFree(suites[s]));
  }
  if (csv) fclose(csv);
  PetscCall(PetscFinalize());
  return 0;
}
