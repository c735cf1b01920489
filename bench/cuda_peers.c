static char help[] = "Poisson on one CUDA device through PETSc, beside peers, all with vectors on the device:\n\
  ksp     KSPSolve() and PCApply() of PCBCRPOISSON (KSPPREONLY, a MATSHELL, -pc_bcrpoisson_operator user), beside the core's own time, a copy\n\
          of the vector and a solver by cuFFT; set-up, the first and again\n\
  matrix  an assembled matrix on (2^k + 1)^2 nodes, boundary rows kept: KSPPREONLY with PCBCRPOISSON, CG with PCMG and with GAMG\n\
  var     variable coefficients on the same nodes: CG with PCBCRPOISSON and with PCMG; rho of ksp tutorial ex29, a smooth coefficient\n\
  tune    PCApply() with the defaults and with what -pc_bcrpoisson_tune finds, for the automatic plan and radices 2 and 4\n\
  -suite <ksp,matrix,var>, -n <1023,2047,4095,8191> (ksp), -nodes <1025,2049> (matrix, var), -rho <10>, -reps <9>, -rtol <1e-8>\n\n";

#include <petscksp.h>
#include <petscdmda.h>
#include <petscbcr.h>
#if defined(PETSCBCR_HAVE_CUDA)
  #include <petscdevice.h>
  #include <petsc/private/petscimpl.h>
  #include <petsctime.h>
  #include "cuda_bench.h"

int  PeerCreate(int n, void **peer);
int  PeerSolve(void *peer, const double *f, double *u);
void PeerDestroy(void *peer);

static PetscInt  reps = 9;
static PetscReal rtol = 1e-8;

typedef struct {
  KSP             ksp;
  PC              pc;
  Vec             b, x;
  BCRDeviceCore   core;
  void           *peer;
  double         *f, *u;
  size_t          bytes;
  BCRStream       stream;
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
static int run_peer(void *c)
{
  return PeerSolve(((Run *)c)->peer, ((Run *)c)->f, ((Run *)c)->u);
}

static PetscErrorCode Row(const char name[], PetscInt n, const char solver[], double time, double copy, double setup, double residual, PetscInt its, const char note[])
{
  PetscFunctionBeginUser;
  printf("cuda_peers,%s,%dx%dx1,%d,-,double,%s,1,%.4f,%.4f,%.2f,", name, (int)n, (int)n, (int)n, solver, time, copy, time / copy);
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
  void              *handle = NULL;

  PetscFunctionBeginUser;
  PetscCall(PetscDeviceContextGetCurrentContext(&context));
  PetscCall(PetscDeviceContextGetStreamHandle(context, &handle));
  *stream = handle ? *(BCRStream *)handle : NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Arrays(Run *r)
{
  const PetscScalar *f;
  PetscScalar       *u;
  PetscMemType       mem;
  PetscInt           n;

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

/* |b - A x| / |b| by hand on the device's own residual kernel is in cuda_poisson; here solutions are compared with each other */
static PetscErrorCode Difference(Vec x, Vec y, double *difference)
{
  PetscReal a, b;
  Vec       d;

  PetscFunctionBeginUser;
  PetscCall(VecDuplicate(x, &d));
  PetscCall(VecWAXPY(d, -1, y, x));
  PetscCall(VecNorm(d, NORM_2, &a));
  PetscCall(VecNorm(y, NORM_2, &b));
  PetscCall(VecDestroy(&d));
  *difference = (double)(a / b);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Ksp(PetscInt n)
{
  Run            r;
  DM             da;
  Mat            A;
  Vec            y;
  BCRAxis        axis[3];
  BCRCoreOptions options;
  PetscInt       stride[3] = {1, n, n * n};
  double         copy, ksp, pc, core, peer, setup[3], difference = -1;
  PetscLogDouble t0, t1;
  PetscReal      h = 1;
  int            error;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(&r, sizeof(r)));
  PetscCall(DMDACreate2d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, 1, 1, 1, 1, NULL, NULL, &da));
  PetscCall(DMSetVecType(da, VECCUDA));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateGlobalVector(da, &r.b));
  PetscCall(VecDuplicate(r.b, &r.x));
  PetscCall(VecDuplicate(r.b, &y));
  PetscCall(VecSetRandom(r.b, NULL));
  PetscCall(VecSet(r.x, 0));
  PetscCall(Stream(&r.stream));
  PetscCall(Arrays(&r));
  PetscCall(MatCreateShell(PETSC_COMM_SELF, n * n, n * n, n * n, n * n, NULL, &A));
  PetscCall(MatSetVecType(A, VECCUDA));
  for (int again = 0; again < 3; again++) {
    PetscCall(KSPDestroy(&r.ksp));
    PetscCall(KSPCreate(PETSC_COMM_SELF, &r.ksp));
    PetscCall(KSPSetOperators(r.ksp, A, A));
    PetscCall(KSPSetType(r.ksp, KSPPREONLY));
    PetscCall(KSPGetPC(r.ksp, &r.pc));
    PetscCall(PCSetType(r.pc, PCBCRPOISSON));
    PetscCall(PCSetDM(r.pc, da));
    PetscCall(PCBCRPoissonSetOperator(r.pc, 2, (PetscReal[]){h, h}, NULL, 0, 1));
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
  PetscCall(VecCopy(r.x, y));
  PetscCall(BenchDeviceMedian(r.stream, run_pc, &r, 2, reps, &pc));
  PetscCall(PetscMemzero(axis, sizeof(axis)));
  PetscCall(PetscMemzero(&options, sizeof(options)));
  for (int d = 0; d < 3; d++) {
    axis[d].n = d < 2 ? n : 1;
    axis[d].a = d < 2 ? 1 : 0;
  }
  PetscCall(BCRDeviceCoreCreate(2, axis, 0, PETSC_FALSE, stride, &options, r.stream, &r.core));
  PetscCall(BCRDeviceCoreSetUp(r.core));
  PetscCall(BenchDeviceMedian(r.stream, run_core, &r, 2, reps, &core));
  PetscCall(Row("ksp", n, "KSPSolve", ksp, copy, setup[0], -1, 1, "first set-up"));
  printf("# KSPSolve %.4f ms, PCApply %.4f ms, core %.4f ms: KSPSolve/core %.3f; set-up again %.2f ms, %.2f ms\n", ksp, pc, core, ksp / core, setup[1], setup[2]);
  PetscCall(Row("ksp", n, "KSPSolve", ksp, copy, setup[2], -1, 1, "set-up again"));
  PetscCall(Row("ksp", n, "PCApply", pc, copy, -1, -1, -1, ""));
  PetscCall(Row("ksp", n, "core", core, copy, -1, -1, -1, "as a graph"));
  error = PeerCreate((int)n, &r.peer);
  if (error) printf("# cuFFT: not run at n = %d (%d: -1 no library, 2 no room, 3 no plan)\n", (int)n, error);
  else {
    r.stream = NULL;
    PetscCall(BenchDeviceMedian(r.stream, run_peer, &r, 2, reps, &peer));
    PetscCall(PetscObjectStateIncrease((PetscObject)r.x));
    PetscCall(Difference(r.x, y, &difference));
    PetscCall(Row("ksp", n, "cuFFT", peer, copy, -1, difference, -1, "sine transforms of the odd extension, D2Z; residual: difference from PCBCRPOISSON"));
    PeerDestroy(r.peer);
  }
  PetscCall(BCRDeviceGraphsDestroy(&r.graphs));
  PetscCall(BCRDeviceCoreDestroy(&r.core));
  PetscCall(KSPDestroy(&r.ksp));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&r.b));
  PetscCall(VecDestroy(&r.x));
  PetscCall(VecDestroy(&y));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* kind 0: one; 1: rho of ex29, `jump` in the middle third and one elsewhere, at the node; 2: exp(2 sin 2 pi x sin 2 pi y) between the nodes */
static PetscReal Coefficient(int kind, PetscReal jump, PetscInt N, PetscReal i, PetscReal j)
{
  const PetscReal x = i / (PetscReal)(N - 1), y = j / (PetscReal)(N - 1);

  if (kind == 1) return i > N / 3.0 && i < 2.0 * N / 3.0 && j > N / 3.0 && j < 2.0 * N / 3.0 ? jump : 1;
  if (kind == 2) return PetscExpReal(2 * PetscSinReal(2 * PETSC_PI * x) * PetscSinReal(2 * PETSC_PI * y));
  return 1;
}

/* Boundary rows hold the diagonal only, and rows beside them no entries for them, so that the matrix is symmetric. ex29's rho is that of the
   row's node; here that of a coupling is the mean of its two nodes, which is symmetric. */
static PetscErrorCode Assemble(PetscInt N, int kind, PetscReal jump, Mat A)
{
  PetscFunctionBeginUser;
  for (PetscInt j = 0; j < N; j++)
    for (PetscInt i = 0; i < N; i++) {
      const PetscInt  row = i + N * j, di[4] = {0, -1, 1, 0}, dj[4] = {-1, 0, 0, 1};
      const PetscBool edge = i == 0 || j == 0 || i == N - 1 || j == N - 1 ? PETSC_TRUE : PETSC_FALSE;
      PetscInt        cols[5], n = 0;
      PetscScalar     v[5], diag = 0;

      for (int k = 0; k < 4; k++) {
        const PetscInt  ii = i + di[k], jj = j + dj[k];
        const PetscReal c = kind == 1 ? (Coefficient(1, jump, N, i, j) + Coefficient(1, jump, N, ii, jj)) / 2 : Coefficient(kind, jump, N, i + (PetscReal)0.5 * di[k], j + (PetscReal)0.5 * dj[k]);

        diag += c;
        if (edge || ii == 0 || jj == 0 || ii == N - 1 || jj == N - 1) continue;
        cols[n] = ii + N * jj;
        v[n++]  = -c;
      }
      cols[n] = row;
      v[n++]  = edge ? 4 : diag;
      PetscCall(MatSetValues(A, 1, &row, n, cols, v, INSERT_VALUES));
    }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(const char name[], PetscInt N, DM da, Mat A, Vec b, double copy, const char label[], const char prefix[], const char options[])
{
  Run                r;
  Vec                res;
  PetscLogDouble     t0, t1;
  PetscReal          rn, bn;
  PetscInt           its;
  KSPConvergedReason reason;
  double             setup, ms;

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
  PetscCall(Row(name, N, label, ms, copy, setup, (double)(rn / bn), its, KSPConvergedReasons[reason]));
  PetscCall(KSPDestroy(&r.ksp));
  PetscCall(VecDestroy(&r.x));
  PetscCall(VecDestroy(&res));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Matrix(PetscInt N, int kind, PetscReal jump, PetscBool gamg)
{
  Run         r;
  DM          da;
  Mat         A;
  double      copy;
  PetscInt    levels = 1;
  char        name[64], mg[512];
  const char *names[] = {"matrix", "ex29_rho", "smooth"};

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(&r, sizeof(r)));
  for (PetscInt m = N - 1; m % 2 == 0 && m > 2; m /= 2) levels++;
  PetscCall(DMDACreate2d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, N, N, 1, 1, 1, 1, NULL, NULL, &da));
  PetscCall(DMSetVecType(da, VECCUDA));
  PetscCall(DMSetMatType(da, MATAIJCUSPARSE));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(Assemble(N, kind, jump, A));
  PetscCall(DMCreateGlobalVector(da, &r.b));
  PetscCall(VecDuplicate(r.b, &r.x));
  PetscCall(VecSetRandom(r.b, NULL));
  PetscCall(VecSet(r.x, 0));
  PetscCall(Stream(&r.stream));
  PetscCall(Arrays(&r));
  PetscCall(BenchDeviceMedian(r.stream, run_copy, &r, 2, reps, &copy));
  if (kind == 1) PetscCall(PetscSNPrintf(name, sizeof(name), "%s%g", names[kind], (double)jump));
  else PetscCall(PetscStrncpy(name, names[kind], sizeof(name)));
  if (!kind) PetscCall(Solve(name, N, da, A, r.b, copy, "preonly+bcrpoisson", "d_", "-d_ksp_type preonly -d_pc_type bcrpoisson"));
  PetscCall(Solve(name, N, da, A, r.b, copy, "cg+bcrpoisson", "b_", "-b_ksp_type cg -b_pc_type bcrpoisson"));
  for (PetscInt few = 0; few < 2; few++) { /* small levels cost launches: with six of them the coarsest one is solved by LU, on the host */
    char label[32];

    if (few) levels = PetscMin(levels, 6);
    PetscCall(PetscSNPrintf(
      mg, sizeof(mg), "-m_ksp_type cg -m_pc_type mg -m_pc_mg_levels %d -m_pc_mg_galerkin both -m_mg_levels_ksp_type chebyshev -m_mg_levels_pc_type jacobi -m_mg_levels_ksp_max_it 2 -m_mg_coarse_ksp_type preonly -m_mg_coarse_pc_type lu", (int)levels));
    PetscCall(PetscSNPrintf(label, sizeof(label), "cg+mg%d", (int)levels));
    PetscCall(Solve(name, N, da, A, r.b, copy, label, "m_", mg));
  }
  if (gamg) PetscCall(Solve(name, N, da, A, r.b, copy, "cg+gamg", "g_", "-g_ksp_type cg -g_pc_type gamg -g_pc_gamg_agg_nsmooths 1 -g_mg_levels_ksp_type chebyshev -g_mg_levels_pc_type jacobi"));
  PetscCall(MatDestroy(&A));
  PetscCall(VecDestroy(&r.b));
  PetscCall(VecDestroy(&r.x));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* tuned and not, one after the other */
static PetscErrorCode Tune(PetscInt dim, PetscInt n, PetscInt radix)
{
  Run         r;
  DM          da;
  Mat         A;
  double      copy, ms[2];
  char       *text = NULL, *line, note[256] = "";
  size_t      size;
  FILE       *file;
  PetscViewer viewer;
  PetscInt    N = dim == 2 ? n * n : n * n * n;

  PetscFunctionBeginUser;
  PetscCall(PetscMemzero(&r, sizeof(r)));
  if (dim == 2) PetscCall(DMDACreate2d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, 1, 1, 1, 1, NULL, NULL, &da));
  else PetscCall(DMDACreate3d(PETSC_COMM_SELF, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, n, 1, 1, 1, 1, 1, NULL, NULL, NULL, &da));
  PetscCall(DMSetVecType(da, VECCUDA));
  PetscCall(DMSetUp(da));
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
    printf("cuda_peers,tune,%dx%dx%d,%d,-,double,%s%d%s,1,%.4f,%.4f,%.2f,,,,\"%s\"\n", (int)n, (int)n, (int)(dim == 3 ? n : 1), (int)n, radix ? "radix" : "auto", (int)radix, tuned ? "-tuned" : "", ms[tuned], copy, ms[tuned] / copy, note);
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
  char      suite[64] = "ksp,matrix,var", name[64];
  PetscInt  n[16] = {1023, 2047, 4095, 8191}, nn = 16, nodes[16] = {1025, 2049}, nnodes = 16;
  PetscReal rho = 10;
  PetscBool given, gamg = PETSC_TRUE;
  int       major, minor, sms, shared;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscOptionsGetString(NULL, NULL, "-suite", suite, sizeof(suite), NULL));
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-n", n, &nn, &given));
  if (!given) nn = 4;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-nodes", nodes, &nnodes, &given));
  if (!given) nnodes = 2;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-reps", &reps, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-rtol", &rtol, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-rho", &rho, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-gamg", &gamg, NULL));
  PetscCall(PetscDeviceInitialize(PETSC_DEVICE_CUDA));
  PetscCallBCRCuda(BCRCudaDeviceName(name, sizeof(name), &major, &minor, &sms, &shared));
  printf("# %s, sm_%d%d, PETSc %d.%d.%d\n", name, major, minor, PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, PETSC_VERSION_SUBMINOR);
  printf("program,case,dims,n,axis,precision,solver,ranks,time_ms,copy_ms,ratio_to_copy,setup_ms,residual,iterations,note\n");
  for (PetscInt i = 0; i < nn && strstr(suite, "ksp"); i++) PetscCall(Ksp(n[i]));
  for (PetscInt i = 0; i < nn && strstr(suite, "tune"); i++) {
    PetscCall(Tune(2, n[i], 0));
    if (n[i] < 5000) PetscCall(Tune(2, n[i], 2));
    if (n[i] < 5000) PetscCall(Tune(2, n[i], 4));
    if (n[i] < 600) PetscCall(Tune(3, n[i], 0));
  }
  for (PetscInt i = 0; i < nnodes && strstr(suite, "matrix"); i++) PetscCall(Matrix(nodes[i], 0, 1, gamg));
  for (PetscInt i = 0; i < nnodes && strstr(suite, "var"); i++) {
    PetscCall(Matrix(nodes[i], 1, rho, PETSC_FALSE));
    PetscCall(Matrix(nodes[i], 2, 1, PETSC_FALSE));
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
