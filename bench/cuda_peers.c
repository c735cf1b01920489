static char help[] = "Poisson on one CUDA device through PETSc, beside peers, all with vectors on the device:\n\
  ksp     KSPSolve() and PCApply() of PCBCRPOISSON (KSPPREONLY, a MATSHELL, -pc_bcrpoisson_operator user), beside the core's own time and a\n\
          copy of the vector; set-up, the first and again (cuFFT: cuda_poisson -peers)\n\
  matrix  an assembled matrix on (2^k + 1)^2, (2^k + 1)^3 nodes, boundary rows kept: KSPPREONLY with PCBCRPOISSON, CG with PCMG and with GAMG\n\
  var     variable coefficients on the same nodes: CG with PCBCRPOISSON and with PCMG; rho of ksp tutorial ex29, a smooth coefficient\n\
  tune    PCApply() with the defaults and with what -pc_bcrpoisson_tune finds, for the automatic plan and radices 2 and 4\n\
  setup   set-up again after the values of the matrix have changed, on the device and on the host; setup-smooth: of a smooth coefficient\n\
  -suite <ksp,matrix,var>, -n <1023,2047,4095,8191>, -n3 <127,255> (ksp; -n: tune), -nodes <1025,2049>, -nodes3 <129,257> (matrix, var, setup),\n\
  -rho <10>, -reps <9>, -rtol <1e-8>\n\n";

#include <petscksp.h>
#include <petscdmda.h>
#include <petscbcr.h>
#if defined(PETSCBCR_HAVE_CUDA)
  #include <petscdevice.h>
  #include <petsc/private/petscimpl.h>
  #include <petsctime.h>
  #include "cuda_bench.h"

static PetscInt reps = 9;
static PetscReal rtol = 1e-8;

typedef struct {
  KSP ksp;
  PC pc;
  Vec b, x;
  BCRDeviceCore core;
  double *f, *u;
  size_t bytes;
  BCRStream stream;
  BCRDeviceGraphs graphs;
} Run;

static int run_ksp(void *c)
{
  return KSPSolve(((Run *)c)->ksp, ((Run *)c)->b, ((Run *)c)->x) ? 999 : 0;
}
static int run_pc(void *c)
{
  return PCApply(((Run *)c)->pc, ((Run *)c)->b, ((Run *)c)->x) ? 999 : 0;
}
static PetscErrorCode launch_core(void *c, BCRStream stream)
{
  return BCRDeviceCoreSolve(((Run *)c)->core, stream, ((Run *)c)->f, ((Run *)c)->u);
}
static int run_core(void *c)
{
  Run *r = (Run *)c;

  return BCRDeviceGraphsRun(&r->graphs, r->stream, &r->f, sizeof(r->f), launch_core, r) ? 999 : 0;
}
static int run_copy(void *c)
{
  return BCRCudaCopy(((Run *)c)->u, ((Run *)c)->f, ((Run *)c)->bytes, ((Run *)c)->stream);
}

static PetscErrorCode Row(const char name[], PetscInt dim, PetscInt n, const char solver[], double time, double copy,
                          double setup, double residual, PetscInt its, const char note[])
{
  PetscFunctionBeginUser;
  printf("cuda_peers,%s,%dx%dx%d,%d,-,double,%s,1,%.4f,%.4f,%.2f,", name, (int)n, (int)n, dim == 3 ? (int)n : 1, (int)n,
         solver, time, copy, time / copy);
  if (setup >= 0) printf("%.2f,", setup);
  else printf(",");
  if (residual >= 0) printf("%.1e,", residual);
  else printf(",");
  if (its >= 0) printf("%d,", (int)its);
  else printf(",");
  printf("\"%s\"\n", note);
  fflush(stdout);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Stream(BCRStream *stream)
{
  PetscDeviceContext context;
  void *handle = NULL;

  PetscFunctionBeginUser;
  PetscCall(PetscDeviceContextGetCurrentContext(&context));
  PetscCall(PetscDeviceContextGetStreamHandle(context, &handle));
  *stream = handle ? *(BCRStream *)handle : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Arrays(Run *r)
{
  const PetscScalar *f;
  PetscScalar *u;
  PetscMemType mem;
  PetscInt n;

  PetscFunctionBeginUser;
  PetscCall(VecGetArrayReadAndMemType(r->b, &f, &mem));
  r->f = (double *)f;
  PetscCall(VecRestoreArrayReadAndMemType(r->b, &f));
  PetscCheck(PetscMemTypeCUDA(mem), PETSC_COMM_SELF, PETSC_ERR_SUP, "The vectors are not on the device");
  PetscCall(VecGetArrayWriteAndMemType(r->x, &u, &mem));
  r->u = (double *)u;
  PetscCall(VecRestoreArrayWriteAndMemType(r->x, &u));
  PetscCall(VecGetLocalSize(r->b, &n));
  r->bytes = (size_t)n * sizeof(PetscScalar);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors, and matrices, on the device */
static PetscErrorCode Grid(PetscInt dim, PetscInt n, DM *da)
{
  PetscFunctionBeginUser;
  if (dim == 2)
    PetscCall(DMDACreate2d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, 1, 1, 1, 1,
                           NULL, NULL, da));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n,
                           n, n, 1, 1, 1, 1, 1, NULL, NULL, NULL, da));
  PetscCall(DMSetVecType(*da, VECCUDA));
  PetscCall(DMSetMatType(*da, MATAIJCUSPARSE));
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Ksp(PetscInt dim, PetscInt n)
{
  Run r;
  DM da;
  Mat A;
  BCRAxis axis[3];
  BCRCoreOptions options;
  const PetscInt stride[3] = {1, n, n * n}, rows = dim == 3 ? n * n * n : n * n;
  double copy, ksp, pc, core, setup[3];
  PetscLogDouble t0, t1;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(&r, sizeof(r)));
  PetscCall(Grid(dim, n, &da));
  PetscCall(DMCreateGlobalVector(da, &r.b));
  PetscCall(VecDuplicate(r.b, &r.x));
  PetscCall(VecSetRandom(r.b, NULL));
  PetscCall(VecSet(r.x, 0));
  PetscCall(Stream(&r.stream));
  PetscCall(Arrays(&r));
  PetscCall(MatCreateShell(PETSC_COMM_SELF, rows, rows, rows, rows, NULL, &A));
  PetscCall(MatSetVecType(A, VECCUDA));
  for (int again = 0; again < 3; again++) {
    PetscCall(KSPDestroy(&r.ksp));
    PetscCall(KSPCreate(PETSC_COMM_SELF, &r.ksp));
    PetscCall(KSPSetOperators(r.ksp, A, A));
    PetscCall(KSPSetType(r.ksp, KSPPREONLY));
    PetscCall(KSPGetPC(r.ksp, &r.pc));
    PetscCall(PCSetType(r.pc, PCBCRPOISSON));
    PetscCall(PCSetDM(r.pc, da));
    PetscCall(PCBCRPoissonSetOperator(r.pc, dim, (PetscReal[]){1, 1, 1}, NULL, 0, 1));
    PetscCall(PCSetFromOptions(r.pc));
    PetscCallBCRCuda(BCRCudaSynchronize(r.stream));
    PetscCall(PetscTime(&t0));
    PetscCall(KSPSetUp(r.ksp));
    PetscCallBCRCuda(BCRCudaSynchronize(r.stream));
    PetscCall(PetscTime(&t1));
    setup[again] = 1e3 * (t1 - t0);
    PetscCall(KSPSolve(r.ksp, r.b, r.x));
  }
  PetscCall(BenchDeviceMedian(r.stream, run_copy, &r, 2, reps, &copy));
  PetscCall(BenchDeviceMedian(r.stream, run_ksp, &r, 2, reps, &ksp));
  PetscCall(BenchDeviceMedian(r.stream, run_pc, &r, 2, reps, &pc));
  PetscCall(PetscMemzero(axis, sizeof(axis)));
  PetscCall(PetscMemzero(&options, sizeof(options)));
  for (int d = 0; d < 3; d++) {
    axis[d].n = d < dim ? n : 1;
    axis[d].a = d < dim ? 1 : 0;
  }
  PetscCall(BCRDeviceCoreCreate(dim, axis, 0, PETSC_FALSE, stride, &options, r.stream, &r.core));
  PetscCall(BCRDeviceCoreSetUp(r.core));
  PetscCall(BenchDeviceMedian(r.stream, run_core, &r, 2, reps, &core));
  PetscCall(Row("ksp", dim, n, "KSPSolve", ksp, copy, setup[0], -1, 1, "first set-up"));
  printf("# KSPSolve %.4f ms, PCApply %.4f ms, core %.4f ms: KSPSolve/core %.3f; set-up again %.2f ms, %.2f ms\n", ksp,
         pc, core, ksp / core, setup[1], setup[2]);
  PetscCall(Row("ksp", dim, n, "KSPSolve", ksp, copy, setup[2], -1, 1, "set-up again"));
  PetscCall(Row("ksp", dim, n, "PCApply", pc, copy, -1, -1, -1, ""));
  PetscCall(Row("ksp", dim, n, "core", core, copy, -1, -1, -1, "as a graph"));
  PetscCall(BCRDeviceGraphsDestroy(&r.graphs));
  PetscCall(BCRDeviceCoreDestroy(&r.core));
  PetscCall(KSPDestroy(&r.ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&r.b));
  PetscCall(VecDestroy(&r.x));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* kind 0: one; 1: rho of ex29, `jump` in the middle third and one elsewhere, at the node; 2: exp(2
   sin 2 pi x sin 2 pi y sin 2 pi z) between the nodes (in two dimensions without the last) */
static PetscReal Coefficient(PetscInt dim, int kind, PetscReal jump, PetscInt N, const PetscReal i[3])
{
  PetscReal s = 1;
  PetscBool middle = PETSC_TRUE;

  for (PetscInt d = 0; d < dim; d++) {
    if (i[d] <= N / 3.0 || i[d] >= 2.0 * N / 3.0) middle = PETSC_FALSE;
    s *= PetscSinReal(2 * PETSC_PI * i[d] / (PetscReal)(N - 1));
  }
  if (kind == 1) return middle ? jump : 1;
  return kind == 2 ? PetscExpReal(2 * s) : 1;
}

/* Boundary rows hold the diagonal only, and rows beside them no entries for them, so that the
   matrix is symmetric. ex29's rho is that of the row's node; here that of a coupling is the mean of
   its two nodes, which is symmetric. */
static PetscErrorCode Assemble(PetscInt dim, PetscInt N, int kind, PetscReal jump, Mat A)
{
  const PetscInt stride[3] = {1, N, N * N}, last = dim == 3 ? N : 1;

  PetscFunctionBeginUser;
  for (PetscInt row = 0; row < N * N * last; row++) {
    const PetscInt ix[3] = {row % N, row / N % N, row / N / N};
    PetscInt cols[7], n = 0;
    PetscBool edge = PETSC_FALSE;
    PetscScalar v[7], diag = 0;

    for (PetscInt d = 0; d < dim; d++) edge = (PetscBool)(edge || ix[d] == 0 || ix[d] == N - 1);
    for (PetscInt k = 0; k < 2 * dim && !edge; k++) {
      const PetscInt d = k / 2, to = ix[d] + (k % 2 ? 1 : -1);
      PetscReal at[3] = {ix[0], ix[1], ix[2]}, c;

      if (kind == 1) {
        c = Coefficient(dim, kind, jump, N, at);
        at[d] = to;
        c = (c + Coefficient(dim, kind, jump, N, at)) / 2;
      } else {
        at[d] = (ix[d] + (PetscReal)to) / 2;
        c = Coefficient(dim, kind, jump, N, at);
      }
      diag += c;
      if (to == 0 || to == N - 1) continue;
      cols[n] = row + (to - ix[d]) * stride[d];
      v[n++] = -c;
    }
    cols[n] = row;
    v[n++] = edge ? 2 * dim : diag;
    PetscCall(MatSetValues(A, 1, &row, n, cols, v, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(const char name[], PetscInt dim, PetscInt N, DM da, Mat A, Vec b, double copy,
                            const char label[], const char prefix[], const char options[])
{
  Run r;
  Vec res;
  PetscLogDouble t0, t1;
  PetscReal rn, bn;
  PetscInt its;
  KSPConvergedReason reason;
  double setup, ms;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(&r, sizeof(r)));
  PetscCall(PetscOptionsInsertString(NULL, options));
  r.b = b;
  PetscCall(VecDuplicate(b, &r.x));
  PetscCall(VecDuplicate(b, &res));
  PetscCall(Stream(&r.stream));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &r.ksp));
  PetscCall(KSPSetOptionsPrefix(r.ksp, prefix));
  PetscCall(KSPSetDM(r.ksp, da));
  #if PETSC_VERSION_GE(3, 25, 0)
  PetscCall(KSPSetDMActive(r.ksp, KSP_DMACTIVE_ALL, PETSC_FALSE));
  #else
  PetscCall(KSPSetDMActive(r.ksp, PETSC_FALSE));
  #endif
  PetscCall(KSPSetOperators(r.ksp, A, A));
  PetscCall(KSPSetTolerances(r.ksp, rtol, 0, PETSC_DEFAULT, 1000));
  if (*prefix != 'd') PetscCall(KSPSetNormType(r.ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetFromOptions(r.ksp));
  PetscCallBCRCuda(BCRCudaSynchronize(r.stream));
  PetscCall(PetscTime(&t0));
  PetscCall(KSPSetUp(r.ksp));
  PetscCall(KSPSetUpOnBlocks(r.ksp));
  PetscCallBCRCuda(BCRCudaSynchronize(r.stream));
  PetscCall(PetscTime(&t1));
  setup = 1e3 * (t1 - t0);
  PetscCall(BenchDeviceMedian(r.stream, run_ksp, &r, 2, PetscMin(reps, 5), &ms));
  PetscCall(KSPGetIterationNumber(r.ksp, &its));
  PetscCall(KSPGetConvergedReason(r.ksp, &reason));
  PetscCall(MatMult(A, r.x, res));
  PetscCall(VecAYPX(res, -1, b));
  PetscCall(VecNorm(res, NORM_2, &rn));
  PetscCall(VecNorm(b, NORM_2, &bn));
  PetscCall(Row(name, dim, N, label, ms, copy, setup, (double)(rn / bn), its, KSPConvergedReasons[reason]));
  PetscCall(KSPDestroy(&r.ksp));
  PetscCall(VecDestroy(&r.x));
  PetscCall(VecDestroy(&res));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Matrix(PetscInt dim, PetscInt N, int kind, PetscReal jump, PetscBool gamg)
{
  Run r;
  DM da;
  Mat A;
  double copy;
  PetscInt levels = 1;
  char name[64], mg[512];
  const char *names[] = {"matrix", "ex29_rho", "smooth"};

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(&r, sizeof(r)));
  for (PetscInt m = N - 1; m % 2 == 0 && m > 2; m /= 2) levels++;
  PetscCall(Grid(dim, N, &da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(Assemble(dim, N, kind, jump, A));
  PetscCall(DMCreateGlobalVector(da, &r.b));
  PetscCall(VecDuplicate(r.b, &r.x));
  PetscCall(VecSetRandom(r.b, NULL));
  PetscCall(VecSet(r.x, 0));
  PetscCall(Stream(&r.stream));
  PetscCall(Arrays(&r));
  PetscCall(BenchDeviceMedian(r.stream, run_copy, &r, 2, reps, &copy));
  if (kind == 1) PetscCall(PetscSNPrintf(name, sizeof(name), "%s%d", names[kind], (int)jump));
  else PetscCall(PetscStrncpy(name, names[kind], sizeof(name)));
  if (!kind)
    PetscCall(
      Solve(name, dim, N, da, A, r.b, copy, "preonly+bcrpoisson", "d_", "-d_ksp_type preonly -d_pc_type bcrpoisson"));
  PetscCall(Solve(name, dim, N, da, A, r.b, copy, "cg+bcrpoisson", "b_", "-b_ksp_type cg -b_pc_type bcrpoisson"));
  /* small levels cost launches: with few of them the coarsest one is solved by LU, on the host */
  for (PetscInt few = 0; few < (dim == 2 ? 2 : 1); few++) {
    char label[32];

    if (few && levels <= 6) break;
    if (few) levels = 6;
    PetscCall(PetscSNPrintf(
      mg, sizeof(mg),
      "-m_ksp_type cg -m_pc_type mg -m_pc_mg_levels %d -m_pc_mg_galerkin both -m_mg_levels_ksp_type chebyshev "
      "-m_mg_levels_pc_type jacobi -m_mg_levels_ksp_max_it 2 -m_mg_coarse_ksp_type preonly -m_mg_coarse_pc_type lu",
      (int)levels));
    PetscCall(PetscSNPrintf(label, sizeof(label), "cg+mg%d", (int)levels));
    PetscCall(Solve(name, dim, N, da, A, r.b, copy, label, "m_", mg));
  }
  if (gamg)
    PetscCall(Solve(name, dim, N, da, A, r.b, copy, "cg+gamg", "g_",
                    "-g_ksp_type cg -g_pc_type gamg -g_pc_gamg_agg_nsmooths 1 -g_mg_levels_ksp_type chebyshev "
                    "-g_mg_levels_pc_type jacobi"));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&r.b));
  PetscCall(VecDestroy(&r.x));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Set-up again after the values have changed: on the device (all of them by a factor), on the host
   (one of them is set to what it is). kind: of coefficient; one that varies is fitted again */
static PetscErrorCode Again(PetscInt dim, PetscInt N, int kind)
{
  Run r;
  DM da;
  Mat A;
  double ms[2][101], copy, first;
  PetscLogDouble t0, t1;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(&r, sizeof(r)));
  PetscCall(Grid(dim, N, &da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(Assemble(dim, N, kind, 1, A));
  PetscCall(DMCreateGlobalVector(da, &r.b));
  PetscCall(VecDuplicate(r.b, &r.x));
  PetscCall(VecSetRandom(r.b, NULL));
  PetscCall(VecSet(r.x, 0));
  PetscCall(Stream(&r.stream));
  PetscCall(Arrays(&r));
  PetscCall(BenchDeviceMedian(r.stream, run_copy, &r, 2, reps, &copy));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &r.ksp));
  PetscCall(KSPSetDM(r.ksp, da));
  #if PETSC_VERSION_GE(3, 25, 0)
  PetscCall(KSPSetDMActive(r.ksp, KSP_DMACTIVE_ALL, PETSC_FALSE));
  #else
  PetscCall(KSPSetDMActive(r.ksp, PETSC_FALSE));
  #endif
  PetscCall(KSPSetType(r.ksp, KSPPREONLY));
  PetscCall(KSPGetPC(r.ksp, &r.pc));
  PetscCall(PCSetType(r.pc, PCBCRPOISSON));
  PetscCall(KSPSetFromOptions(r.ksp));
  PetscCall(MatMult(A, r.b, r.x)); /* the matrix is on the device, and its first copy there is not what is timed */
  first = 0;
  for (PetscInt again = -1; again < reps; again++) {
    for (int host = again < 0; host < 2; host++) {
      if (host && again >= 0) {
        PetscCall(MatSetValue(A, 0, 0, 2 * dim, INSERT_VALUES));
        PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
        PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
      } else if (again >= 0) {
        PetscCall(MatScale(A, 2));
        PetscCall(MatScale(A, 0.5));
      }
      PetscCall(KSPSetOperators(r.ksp, A, A));
      PetscCallBCRCuda(BCRCudaSynchronize(r.stream));
      PetscCall(PetscTime(&t0));
      PetscCall(KSPSetUp(r.ksp));
      PetscCallBCRCuda(BCRCudaSynchronize(r.stream));
      PetscCall(PetscTime(&t1));
      if (again < 0) first = 1e3 * (t1 - t0);
      else ms[host][again] = 1e3 * (t1 - t0);
      PetscCall(KSPSolve(r.ksp, r.b, r.x));
      PetscCall(MatMult(A, r.x, r.b)); /* on the device again */
    }
  }
  for (int host = 0; host < 2; host++) {
    double median, least;

    BenchStatistics(reps, ms[host], &median, &least);
    PetscCall(Row(
      kind ? "setup-smooth" : "setup", dim, N, host ? "again-host" : "again-device", median, copy, first, -1, -1,
      host ? "values changed on the host; setup_ms: the first" : "values changed on the device; setup_ms: the first"));
  }
  PetscCall(KSPDestroy(&r.ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&r.b));
  PetscCall(VecDestroy(&r.x));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* tuned and not, one after the other */
static PetscErrorCode Tune(PetscInt dim, PetscInt n, PetscInt radix)
{
  Run r;
  DM da;
  Mat A;
  double copy, ms[2];
  char *text = NULL, *line, note[256] = "";
  size_t size;
  FILE *file;
  PetscViewer viewer;
  PetscInt N = dim == 2 ? n * n : n * n * n;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(&r, sizeof(r)));
  PetscCall(Grid(dim, n, &da));
  PetscCall(DMCreateGlobalVector(da, &r.b));
  PetscCall(VecDuplicate(r.b, &r.x));
  PetscCall(VecSetRandom(r.b, NULL));
  PetscCall(VecSet(r.x, 0));
  PetscCall(Stream(&r.stream));
  PetscCall(Arrays(&r));
  PetscCall(MatCreateShell(PETSC_COMM_SELF, N, N, N, N, NULL, &A));
  PetscCall(MatSetVecType(A, VECCUDA));
  for (int tuned = 0; tuned < 2; tuned++) {
    PetscCall(PCCreate(PETSC_COMM_SELF, &r.pc));
    PetscCall(PCSetOperators(r.pc, A, A));
    PetscCall(PCSetType(r.pc, PCBCRPOISSON));
    PetscCall(PCSetDM(r.pc, da));
    PetscCall(PCBCRPoissonSetOperator(r.pc, dim, (PetscReal[]){1, 1, 1}, NULL, 0, 1));
    if (radix) PetscCall(PCBCRPoissonSetRadix(r.pc, radix));
    PetscCall(PCBCRPoissonSetTune(r.pc, (PetscBool)tuned));
    if (tuned) PetscCall(PCSetFromOptions(r.pc)); /* -pc_bcrpoisson_tune_file */
    PetscCall(PCSetUp(r.pc));
    PetscCall(BenchDeviceMedian(r.stream, run_copy, &r, 2, reps, &copy));
    PetscCall(BenchDeviceMedian(r.stream, run_pc, &r, 2, reps, &ms[tuned]));
    if (tuned) {
      file = open_memstream(&text, &size);
      PetscCall(PetscViewerASCIIOpenWithFILE(PETSC_COMM_SELF, file, &viewer));
      PetscCall(PCView(r.pc, viewer));
      PetscCall(PetscViewerDestroy(&viewer));
      fclose(file);
      line = strstr(text, "tune: ");
      if (line) {
        line[strcspn(line, "\n")] = 0;
        PetscCall(PetscStrncpy(note, line, sizeof(note)));
      }
      free(text);
    }
    if (!tuned) PetscCall(PetscStrncpy(note, "default", sizeof(note)));
    printf("cuda_peers,tune,%dx%dx%d,%d,-,double,%s%d%s,1,%.4f,%.4f,%.2f,,,,\"%s\"\n", (int)n, (int)n,
           (int)(dim == 3 ? n : 1), (int)n, radix ? "radix" : "auto", (int)radix, tuned ? "-tuned" : "", ms[tuned],
           copy, ms[tuned] / copy, note);
    fflush(stdout);
    PetscCall(PCDestroy(&r.pc));
  }
  printf("# default/tuned %.3f\n", ms[0] / ms[1]);
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&r.b));
  PetscCall(VecDestroy(&r.x));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char suite[64] = "ksp,matrix,var", name[64];
  PetscInt n2[16] = {1023, 2047, 4095, 8191}, n3[16] = {127, 255}, nodes2[16] = {1025, 2049}, nodes3[16] = {129, 257};
  PetscInt *n[2] = {n2, n3}, *nodes[2] = {nodes2, nodes3}, nn[2] = {16, 16}, nnodes[2] = {16, 16};
  PetscReal rho = 10;
  PetscBool given, gamg = PETSC_TRUE;
  int major, minor, sms, shared;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-suite", suite, sizeof(suite), NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-n", n[0], &nn[0], &given));
  if (!given) nn[0] = 4;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-n3", n[1], &nn[1], &given));
  if (!given) nn[1] = 2;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-nodes", nodes[0], &nnodes[0], &given));
  if (!given) nnodes[0] = 2;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-nodes3", nodes[1], &nnodes[1], &given));
  if (!given) nnodes[1] = 2;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-reps", &reps, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-rtol", &rtol, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-rho", &rho, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-gamg", &gamg, NULL));
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  PetscCallBCRCuda(BCRCudaDeviceName(name, sizeof(name), &major, &minor, &sms, &shared));
  printf("# %s, sm_%d%d, PETSc %d.%d.%d\n", name, major, minor, PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR,
         PETSC_VERSION_SUBMINOR);
  printf("program,case,dims,n,axis,precision,solver,ranks,time_ms,copy_ms,ratio_to_copy,setup_ms,residual,iterations,"
         "note\n");
  for (PetscInt dim = 2; dim <= 3; dim++) {
    const PetscInt *m = nodes[dim - 2], many = nnodes[dim - 2];

    for (PetscInt i = 0; i < nn[dim - 2] && strstr(suite, "ksp"); i++) PetscCall(Ksp(dim, n[dim - 2][i]));
    for (PetscInt i = 0; i < many && strstr(suite, "setup"); i++)
      for (int kind = 0; kind < 3; kind += 2) PetscCall(Again(dim, m[i], kind));
    for (PetscInt i = 0; i < many && strstr(suite, "matrix"); i++) PetscCall(Matrix(dim, m[i], 0, 1, gamg));
    for (PetscInt i = 0; i < many && strstr(suite, "var"); i++) {
      PetscCall(Matrix(dim, m[i], 1, rho, PETSC_FALSE));
      PetscCall(Matrix(dim, m[i], 2, 1, PETSC_FALSE));
    }
  }
  for (PetscInt i = 0; i < nn[0] && strstr(suite, "tune"); i++) {
    const PetscInt size = n[0][i];

    PetscCall(Tune(2, size, 0));
    if (size < 5000) PetscCall(Tune(2, size, 2));
    if (size < 5000) PetscCall(Tune(2, size, 4));
    if (size < 600) PetscCall(Tune(3, size, 0));
  }
  PetscCall(PetscFinalize());
  return 0;
}
#else
int main(void)
{
  (void)help;
  return 0;
}
#endif
