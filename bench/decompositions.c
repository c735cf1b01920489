static char help[] =
  "A Poisson solve on each process grid of a DMDA: time, CPU time and instructions of the ranks, what is sent. Beside each\n\
  process grid the slabs of the same run. mpiexec -n P bench/decompositions\n\
  -grids <127x127x127,2047x2047>  unknowns along x, y and z\n\
  -cases <dirichlet,periodic,singular>  all ends Dirichlet; all axes but the last periodic, one unknown more along them;\n\
                                  the same between two cell-centred Neumann ends\n\
  -cuts <slabs,default>           process grids: slabs along the last axis, what PETSc chooses, 2x2x4, all (of P ranks)\n\
  -windows <true>                 false: the MPI refuses windows of shared memory, so that vectors go by messages\n\
  -reps <21>                      solves of each\n\
  -device                         vectors and solver on CUDA devices, one for each rank or shared\n\
  -transport <auto,host>          there: how messages go\n\
  -batch <1>                      solves one behind the other, of which the time is an average; 10 on devices\n\
  -run_view                       what was set up\n\
  -csv <file>                     adds the results to this file\n\n";

#include "bench.h"
#include "pc/bcrpoisson/bcrpoisson.h"
#include <math.h>
#include <petscdevice.h>
#if defined(__linux__)
  #include <linux/perf_event.h>
  #include <sys/ioctl.h>
  #include <sys/syscall.h>
#endif
#include "count.h"

static PetscBool windows = PETSC_TRUE, device;
static PetscEnum transport;
static PetscInt batch = 1;

#undef MPI_Win_allocate_shared
int MPI_Win_allocate_shared(MPI_Aint size, int unit, MPI_Info info, MPI_Comm comm, void *base, MPI_Win *win)
{
  return windows ? PMPI_Win_allocate_shared(size, unit, info, comm, base, win) : MPI_ERR_NO_MEM;
}

typedef enum {
  DIRICHLET,
  PERIODIC,
  SINGULAR,
  CASES
} Case;
static const char *const cases[CASES] = {"dirichlet", "periodic", "singular"};

typedef struct {
  PetscInt dim, n[3];
  Case ends;
  DM da;
  Mat A;
  Vec f, u, r;
  double norm;
} Problem;

/* r = A u, row by row: what solutions are held against */
static PetscErrorCode Multiply(Mat A, Vec u, Vec r)
{
  Problem *p;
  PetscInt lo[3], m[3];
  const PetscScalar *x;
  PetscScalar *y;
  Vec local;

  PetscFunctionBegin;
  PetscCall(MatShellGetContext(A, &p));
  PetscCall(DMDAGetCorners(p->da, &lo[0], &lo[1], &lo[2], &m[0], &m[1], &m[2]));
  PetscCall(DMGetLocalVector(p->da, &local));
  PetscCall(VecZeroEntries(local)); /* beyond Dirichlet ends */
  PetscCall(DMGlobalToLocalBegin(p->da, u, INSERT_VALUES, local));
  PetscCall(DMGlobalToLocalEnd(p->da, u, INSERT_VALUES, local));
  PetscCall(VecGetArrayRead(local, &x));
  PetscCall(VecGetArray(r, &y));
  {
    PetscInt glo[3], gm[3], at[3], stride[3] = {1, 0, 0};

    PetscCall(DMDAGetGhostCorners(p->da, &glo[0], &glo[1], &glo[2], &gm[0], &gm[1], &gm[2]));
    stride[1] = gm[0];
    stride[2] = gm[0] * gm[1];
    for (at[2] = lo[2]; at[2] < lo[2] + m[2]; at[2]++)
      for (at[1] = lo[1]; at[1] < lo[1] + m[1]; at[1]++)
        for (at[0] = lo[0]; at[0] < lo[0] + m[0]; at[0]++) {
          const PetscScalar *c = x + (at[0] - glo[0]) + (at[1] - glo[1]) * stride[1] + (at[2] - glo[2]) * stride[2];
          PetscScalar sum = 0;

          for (PetscInt d = 0; d < p->dim; d++) {
            for (int side = -1; side <= 1; side += 2) {
              const PetscBool beyond = at[d] + side < 0 || at[d] + side >= p->n[d] ? PETSC_TRUE : PETSC_FALSE,
                              last = d == p->dim - 1 ? PETSC_TRUE : PETSC_FALSE;

              if (!beyond || (!last && p->ends != DIRICHLET)) sum += *c - c[side * stride[d]];
              else if (p->ends != SINGULAR) sum += *c;
            }
          }
          *y++ = sum;
        }
    y -= m[0] * m[1] * m[2];
  }
  PetscCall(VecRestoreArrayRead(local, &x));
  PetscCall(VecRestoreArray(r, &y));
  PetscCall(DMRestoreLocalVector(p->da, &local));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* cut: ranks along each axis, PETSC_DECIDE where PETSc is to choose; its choice at the end */
static PetscErrorCode ProblemCreate(PetscInt dim, const PetscInt n[], Case ends, PetscInt cut[], Problem *p)
{
  const DMBoundaryType across = ends == DIRICHLET ? DM_BOUNDARY_NONE : DM_BOUNDARY_PERIODIC;
  PetscInt m;
  PetscRandom random;

  PetscFunctionBegin;
  p->dim = dim;
  p->ends = ends;
  for (PetscInt d = 0; d < 3; d++) p->n[d] = n[d] + (ends != DIRICHLET && d < dim - 1 ? 1 : 0);
  if (dim == 2)
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, across, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, p->n[0], p->n[1], cut[0],
                           cut[1], 1, 1, NULL, NULL, &p->da));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, across, across, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, p->n[0], p->n[1],
                           p->n[2], cut[0], cut[1], cut[2], 1, 1, NULL, NULL, NULL, &p->da));
  if (device) PetscCall(DMSetVecType(p->da, "cuda"));
  PetscCall(DMSetUp(p->da));
  PetscCall(DMDAGetInfo(p->da, NULL, NULL, NULL, NULL, &cut[0], &cut[1], &cut[2], NULL, NULL, NULL, NULL, NULL, NULL));
  PetscCall(DMCreateGlobalVector(p->da, &p->f));
  PetscCall(VecDuplicate(p->f, &p->u));
  PetscCall(VecDuplicate(p->f, &p->r));
  PetscCall(VecGetLocalSize(p->f, &m));
  PetscCall(MatCreateShell(PETSC_COMM_WORLD, m, m, PETSC_DETERMINE, PETSC_DETERMINE, p, &p->A));
  PetscCall(MatShellSetOperation(p->A, MATOP_MULT, (void (*)(void))Multiply));
  p->norm = 4. * (double)dim;
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(PetscRandomSetInterval(random, -1, 1));
  PetscCall(VecSetRandom(p->f, random));
  PetscCall(PetscRandomDestroy(&random));
  if (ends == SINGULAR) {
    PetscScalar sum;

    PetscCall(VecSum(p->f, &sum));
    PetscCall(VecShift(p->f, -sum / (PetscScalar)((double)p->n[0] * (double)p->n[1] * (double)p->n[2])));
  }
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

/* Instructions of this process in user mode, NAN where the system does not count them */
static int CounterOpen(void)
{
#if defined(__linux__)
  struct perf_event_attr a;

  memset(&a, 0, sizeof(a));
  a.size = sizeof(a);
  a.type = PERF_TYPE_HARDWARE;
  a.config = PERF_COUNT_HW_INSTRUCTIONS;
  a.exclude_kernel = a.exclude_hv = 1;
  return (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);
#else
  return -1;
#endif
}

static double CounterRead(int counter)
{
  long long count;

  return counter >= 0 && read(counter, &count, sizeof(count)) == sizeof(count) ? (double)count : NAN;
}

static double CpuTime(void)
{
  struct timespec t;

  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* The PC without a matrix */
static PetscErrorCode SetOperator(const Problem *p, PC pc)
{
  const PetscReal h[3] = {1, 1, 1};
  PCBCRPoissonEnd end[6];

  PetscFunctionBegin;
  for (PetscInt d = 0; d < p->dim; d++)
    for (int s = 0; s < 2; s++) {
      if (p->ends == DIRICHLET) end[2 * d + s] = PCBCRPOISSON_DIRICHLET;
      else if (d < p->dim - 1) end[2 * d + s] = PCBCRPOISSON_PERIODIC;
      else end[2 * d + s] = p->ends == SINGULAR ? PCBCRPOISSON_CELL_NEUMANN : PCBCRPOISSON_DIRICHLET;
    }
  PetscCall(PCBCRPoissonSetOperator(pc, p->dim, h, end, 0, 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One process grid of one problem */
static PetscErrorCode Run(PetscInt dim, const PetscInt n[], Case ends, PetscInt cut[], PetscInt reps, FILE *csv)
{
  const int counter = CounterOpen();
  double *t, *c, *cpu, count[2], sent[4], most[4], all[4], waited = 0, start = 0, before, used, instructions,
                                                           shared = 0;
  char name[64];
  BenchRow row;
  Problem p;
  PetscMPIInt size, rank;
  KSP ksp;
  PC pc;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(ProblemCreate(dim, n, ends, cut, &p));
  PetscCall(PetscMalloc3(reps, &t, reps, &c, reps, &cpu));
  PetscCall(BenchClockStart(&start));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOptionsPrefix(ksp, "run_"));
  PetscCall(KSPSetDM(ksp, p.da));
  PetscCall(TestKSPSetDMInactive(ksp));
  PetscCall(KSPSetOperators(ksp, p.A, p.A));
  PetscCall(KSPSetType(ksp, KSPPREONLY));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCBCRPOISSON));
  PetscCall(SetOperator(&p, pc));
  if (device) {
    PetscCall(PCBCRPoissonSetBackend(pc, PCBCRPOISSON_BACKEND_CUDA));
    PetscCall(PCBCRPoissonSetTransport(pc, (PCBCRPoissonTransport)transport));
  }
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSetUp(ksp));
  memset(&row, 0, sizeof(row));
  PetscCall(BenchClockRead(start, &row.setup));
  PetscCall(KSPViewFromOptions(ksp, NULL, "-view"));
  if (((PC_BCRPoisson *)pc->data)->moves.carry) { /* there and back */
    BCRCarryInfo info;

    PetscCall(BCRCarryGetInfo(((PC_BCRPoisson *)pc->data)->moves.carry, &info));
    shared = 2 * sizeof(PetscScalar) * (info.moved - info.bymessage);
  }
  instructions = 0;
  for (PetscInt i = -1; i < reps; i++) { /* the first is to warm up */
    if (device) PetscCall(BenchWait());
    PetscCall(BenchClockStart(&start));
    for (PetscInt k = 0; k < batch; k++) PetscCall(VecCopy(p.f, p.u));
    if (device) PetscCall(BenchWait());
    if (i >= 0) PetscCall(BenchClockRead(start, &c[i]));
    memset(&BenchSent, 0, sizeof(BenchSent));
    PetscCall(BenchClockStart(&start));
    count[0] = CounterRead(counter);
    before = CpuTime();
    for (PetscInt k = 0; k < batch; k++) PetscCall(KSPSolve(ksp, p.f, p.u));
    if (device) PetscCall(BenchWait());
    if (i >= 0) cpu[i] = (CpuTime() - before) / (double)batch;
    count[1] = CounterRead(counter);
    sent[0] = BenchSent.bytes / (double)batch;
    sent[1] = BenchSent.messages / (double)batch;
    sent[2] = BenchSent.reductions / (double)batch;
    if (i >= 0) {
      PetscCall(BenchClockRead(start, &t[i]));
      t[i] /= (double)batch;
      c[i] /= (double)batch;
    }
    /* waiting for another rank is counted, too: the least of all */
    if (i >= 0) waited = i ? PetscMin(waited, BenchSent.waited) : BenchSent.waited;
    if (i >= 0) instructions = i ? PetscMin(instructions, count[1] - count[0]) : count[1] - count[0];
  }
  instructions /= (double)batch;
  sent[3] = waited / (double)batch;
  BenchStatistics(reps, cpu, &before, &used);
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &used, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &instructions, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(sent, most, 4, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscCallMPI(MPI_Allreduce(sent, all, 4, MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  BenchStatistics(reps, t, &row.time, &row.mintime);
  BenchStatistics(reps, c, &row.copy, &row.mincopy);
  PetscCall(BenchBackwardError(p.A, (PetscReal)p.norm, p.f, p.u, p.r, &row.residual));
  row.program = device ? "decompositions/cuda" : "decompositions";
  row.name = cases[ends];
  row.precision = "double";
  PetscCall(PetscSNPrintf(name, sizeof(name), "%" PetscInt_FMT "x%" PetscInt_FMT "x%" PetscInt_FMT "%s%s", cut[0],
                          cut[1], dim == 3 ? cut[2] : 1, transport ? "/" : "",
                          transport ? PCBCRPoissonTransports[transport] : ""));
  row.solver = name;
  row.ranks = size;
  row.dim = dim;
  row.first = NAN;
  for (int d = 0; d < 3; d++) row.n[d] = p.n[d];
  if (rank == 0) {
    printf("%2d ranks %-9s %" PetscInt_FMT "x%" PetscInt_FMT "x%" PetscInt_FMT
           "  cut %-8s %9.3f ms (least %9.3f; of CPU %9.3f)  a copy %7.3f  %12.0f instructions  error %.1e  sent: at "
           "most %10.0f bytes in %4.0f messages, %2.0f reductions, %11.0f bytes by all; in shared memory %11.0f; in "
           "MPI_Wait() %.3f ms on average, %.3f at most\n",
           size, cases[ends], p.n[0], p.n[1], p.n[2], name, 1e3 * row.time, 1e3 * row.mintime, 1e3 * used,
           1e3 * row.mincopy, instructions, row.residual, most[0], most[1], most[2], all[0], shared,
           1e3 * all[3] / size, 1e3 * most[3]);
    fflush(stdout);
    BenchWriteRow(csv, &row);
    if (csv)
      fprintf(csv, "# sent,%s,%d,%" PetscInt_FMT ",%s,%d,%.0f,%.0f,%.0f,%.0f,%.0f,%.6g,%.0f,%.6g\n", cases[ends],
              (int)dim, p.n[0], name, size, most[0], most[1], most[2], all[0], shared, 1e3 * used, instructions,
              1e3 * all[3] / size);
  }
  if (counter >= 0) close(counter);
  PetscCall(PetscFree3(t, c, cpu));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(ProblemDestroy(&p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers between x: how many */
static PetscInt Numbers(const char *text, PetscInt n[3])
{
  long v[3] = {1, 1, 1};
  const int k = sscanf(text, "%ldx%ldx%ld", &v[0], &v[1], &v[2]);

  for (int d = 0; d < 3; d++) n[d] = (PetscInt)v[d];
  return k;
}

/* All process grids that a word of -cuts stands for */
static PetscErrorCode RunCut(const char *word, PetscInt dim, const PetscInt n[], Case ends, PetscInt reps, FILE *csv)
{
  PetscInt cut[3] = {1, 1, 1};
  PetscMPIInt size;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  if (!strcmp(word, "slabs")) {
    cut[dim - 1] = size;
    PetscCall(Run(dim, n, ends, cut, reps, csv));
  } else if (!strcmp(word, "default")) {
    for (PetscInt d = 0; d < dim; d++) cut[d] = PETSC_DECIDE;
    PetscCall(Run(dim, n, ends, cut, reps, csv));
  } else if (!strcmp(word, "all")) {
    for (cut[0] = 1; cut[0] <= size; cut[0]++)
      for (cut[1] = 1; cut[0] * cut[1] <= size; cut[1]++) {
        cut[2] = size / (cut[0] * cut[1]);
        if (cut[0] * cut[1] * cut[2] == size && (dim == 3 || cut[2] == 1)) PetscCall(Run(dim, n, ends, cut, reps, csv));
      }
  } else {
    PetscCheck(Numbers(word, cut) == dim && cut[0] * cut[1] * cut[2] == size, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
               "-cuts: %s is neither slabs, default nor all, nor %" PetscInt_FMT " numbers between x for %d ranks",
               word, dim, (int)size);
    PetscCall(Run(dim, n, ends, cut, reps, csv));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char *grids[16], *ends[8], *cuts[16];
  PetscInt ngrids = 16, nends = 8, ncuts = 16, reps = 21;
  PetscBool set[4];
  FILE *csv = NULL;
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-grids", grids, &ngrids, &set[0]));
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-cases", ends, &nends, &set[1]));
  PetscCall(PetscOptionsGetStringArray(NULL, NULL, "-cuts", cuts, &ncuts, &set[2]));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-reps", &reps, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-windows", &windows, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-device", &device, NULL));
  PetscCall(PetscOptionsGetEnum(NULL, NULL, "-transport", PCBCRPoissonTransports, &transport, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-batch", &batch, &set[3]));
  if (device && !set[3]) batch = 10;
  PetscCheck(batch > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-batch %" PetscInt_FMT ": give one at least", batch);
  PetscCheck(reps > 0, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-reps %" PetscInt_FMT ": give one at least", reps);
  if (rank == 0) PetscCall(BenchOpen("each rank on a core of its own where there are enough", &csv));
  if (csv)
    fprintf(csv, "# "
                 "sent,case,dims,nx,cut,ranks,bytes_of_a_rank,messages_of_a_rank,reductions,bytes_of_all,bytes_in_"
                 "shared_memory,cpu_ms,"
                 "instructions_of_a_rank,waited_ms\n");
  for (PetscInt g = 0; g < (set[0] ? ngrids : 2); g++) {
    static const char *const standard[] = {"127x127x127", "2047x2047"};
    const char *word = set[0] ? grids[g] : standard[g];
    PetscInt n[3];
    const PetscInt dim = Numbers(word, n);

    PetscCheck(dim == 2 || dim == 3, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT,
               "-grids: %s is not nx x ny or nx x ny x nz", word);
    for (PetscInt e = 0; e < (set[1] ? nends : CASES); e++) {
      PetscInt kind = 0;

      while (kind < CASES && set[1] && strcmp(ends[e], cases[kind])) kind++;
      if (!set[1]) kind = e;
      PetscCheck(kind < CASES, PETSC_COMM_WORLD, PETSC_ERR_USER_INPUT, "-cases: no case %s", ends[e]);
      for (PetscInt k = 0; k < (set[2] ? ncuts : 2); k++)
        PetscCall(RunCut(set[2] ? cuts[k] : (k ? "default" : "slabs"), dim, n, (Case)kind, reps, csv));
    }
  }
  for (PetscInt i = 0; i < ngrids && set[0]; i++) PetscCall(PetscFree(grids[i]));
  for (PetscInt i = 0; i < nends && set[1]; i++) PetscCall(PetscFree(ends[i]));
  for (PetscInt i = 0; i < ncuts && set[2]; i++) PetscCall(PetscFree(cuts[i]));
  if (csv) fclose(csv);
  PetscCall(PetscFinalize());
  return 0;
}
