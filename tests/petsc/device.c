/*
  What is special about a CUDA device: solves as graphs and kernel by kernel give the same bits;
  nothing is allocated, waited for or copied to or from the host in a solve; streams; workspace; a
  device without room, a kernel that fails, no device at all. On a machine without a device only the
  last one is there to be tested. Vectors are on the device if -dm_vec_type cuda -dm_mat_type
  aijcusparse are given.

  -fault: a kernel that fails, after which the process is good for nothing more
*/
#include "testing.h"
#include "src/poisson/solver.h"
#include "src/operator/read.h"
#if defined(PETSCBCR_HAVE_CUDA)
  #include <petscdevice.h>
  #include "src/poisson/device.h"
#endif

static PetscBool there; /* a device */

static const TestProblem problems[] = {
  {.dim = 2,          .n = {200, 131, 1}, .dof = 1, .ends = "dddd",                   .a = {1, 1},                   .scale = 1                                          },
  {.dim = 2,          .n = {129, 97, 1},  .dof = 1, .ends = "rrrr",                   .a = {3, 1},                   .scale = -2,                                          .row = 4},
  {.dim = 2,                 .n = {96, 80, 1},                            .dof = 2,    .ends = "ncpp", .a = {1, 2},             .shift = 0.5,                                                      .scale = 1},
  {.dim = 2,       .n = {90, 70, 1},                         .dof = 1,                          .ends = "cccc",                                    .a = {1, 1},                                 .scale = 3},
  {.dim = 3,       .n = {34, 40, 37},                         .dof = 1,                          .ends = "dddddd",                                   .a = {1, 2, 3},.scale = 1                  },
  {.dim = 3,       .n = {33, 20, 18},                         .dof = 1,                          .ends = "ppcnrd",                                   .a = {1, 1, 1},                                 .shift = 0.1,                          .scale = 1, .row = 1},
 /* clusters of blocks, lines along z */
  {.dim = 3,     .n = {127, 127, 10},             .dof = 1,             .ends = "dddddd",                                             .a = {1, 2, 3},                                   .scale = 1                                      },
  {.dim = 3, .n = {9, 127, 127},     .dof = 1,.ends = "cndddd",.a = {1, 2, 3},.scale = 1}, /* along x */
  {.dim = 1, .n = {500, 1, 1},     .dof = 1,             .ends = "dc",                                                                   .a = {1},                                                                                                                           .scale = 1                                                                                                                                                                                                    }
};
#define NPROBLEMS ((PetscInt)PETSC_STATIC_ARRAY_LENGTH(problems))

/* a PC on the device for the problem, with options of its own */
static PetscErrorCode NewPC(const TestProblem *p, const char options[], DM *da, Mat *A, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(TestMatrix(p, da, A));
  PetscCall(TestPC(PCBCRPOISSON, *da, *A, pc));
  PetscCall(PetscOptionsInsertString(NULL, "-pc_bcrpoisson_radix auto -pc_bcrpoisson_schedule auto "
                                           "-pc_bcrpoisson_precision double -pc_bcrpoisson_recursive off"));
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(PCSetFromOptions(*pc));
  PetscCall(PCBCRPoissonSetBackend(*pc, there ? PCBCRPOISSON_BACKEND_CUDA : PCBCRPOISSON_BACKEND_CPU));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Done(DM *da, Mat *A, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(PCDestroy(pc));
  PetscCall(MatDestroy(A));
  PetscCall(DMDestroy(da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The optimizer times plans and launch parameters, writes what it found to a file and takes it from there */
static PetscErrorCode Tunes(void)
{
  TestProblem p = problems[0];
  DM da;
  Mat A;
  PC pc;
  Vec x, y;
  char *text, name[PETSC_MAX_PATH_LEN], options[PETSC_MAX_PATH_LEN + 128];
  PetscReal error;
  FILE *file;

  PetscFunctionBegin;
  PetscCall(PetscGetTmp(PETSC_COMM_SELF, name, sizeof(name) - 32));
  PetscCall(PetscStrlcat(name, "/petscbcr_tune_test", sizeof(name)));
  (void)remove(name);
  PetscCall(PetscOptionsInsertString(NULL, "-pc_bcrpoisson_tune off"));
  PetscCall(PetscSNPrintf(options, sizeof(options), "-pc_bcrpoisson_tune_file %s", name));
  PetscCall(NewPC(&p, options, &da, &A, &pc));
  CheckError(PCSetUp(pc), PETSC_ERR_FILE_OPEN, "cannot be read");
  PetscCall(Done(&da, &A, &pc));
  /* automatic, the same from the file, radix 4, that from the file */
  for (PetscInt round = 0; round < (there ? 4 : 2); ++round) {
    PetscCall(PetscSNPrintf(options, sizeof(options), "-pc_bcrpoisson_tune %s -pc_bcrpoisson_tune_file %s",
                            round % 2 ? "off" : "on", name));
    PetscCall(NewPC(&p, options, &da, &A, &pc));
    if (round > 1) PetscCall(PCBCRPoissonSetRadix(pc, 4));
    PetscCall(DMCreateGlobalVector(da, &x));
    PetscCall(VecDuplicate(x, &y));
    PetscCall(TestRandom(x));
    PetscCall(PCApply(pc, x, y));
    PetscCall(TestBackwardError(A, PETSC_FALSE, x, y, &error));
    Check(error <= TestBackwardBound(), "tuned, round %d: backward error %g", (int)round, (double)error);
    PetscCall(TestViewText((PetscObject)pc, &text));
    Check(strstr(text, round % 2 ? "tune: off, from " : "plans timed, fastest "),
          "PCView() of a tuned solver, round %d:\n%s", (int)round, text);
    free(text);
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(Done(&da, &A, &pc));
  }
  { /* a line of the right name with something else behind it */
    char line[512] = "", *colon;

    file = fopen(name, "r");
    Check(file && fgets(line, sizeof(line), file) && strstr(line, " : radix="), "the file begins with: %s", line);
    if (file) fclose(file);
    colon = strstr(line, " : ");
    file = fopen(name, "w");
    if (colon) *colon = 0;
    fprintf(file, "%s : whatever\n", line);
    fclose(file);
    PetscCall(NewPC(&p, options, &da, &A, &pc));
    CheckError(PCSetUp(pc), PETSC_ERR_FILE_UNEXPECTED, "Line 1 of");
    PetscCall(Done(&da, &A, &pc));
    (void)remove(name);
    PetscCall(NewPC(&p, "-pc_bcrpoisson_tune on -pc_bcrpoisson_tune_file /nowhere/at/all", &da, &A, &pc));
    CheckError(PCSetUp(pc), PETSC_ERR_FILE_WRITE, "name another file");
    PetscCall(Done(&da, &A, &pc));
  }
  PetscCall(PetscOptionsClearValue(NULL, "-pc_bcrpoisson_tune_file"));
  PetscCall(PetscOptionsClearValue(NULL, "-pc_bcrpoisson_tune"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Nothing is there: an error that says so, or the host */
static PetscErrorCode NoDevice(void)
{
  TestProblem p = problems[1];
  DM da;
  Mat A;
  PC pc;
  Vec x, y;
  PetscReal error;

  PetscFunctionBegin;
  PetscCall(NewPC(&p, "", &da, &A, &pc));
  PetscCall(PCBCRPoissonSetBackend(pc, PCBCRPOISSON_BACKEND_CUDA));
  CheckError(PCSetUp(pc), PETSC_ERR_SUP, "use -pc_bcrpoisson_backend cpu or auto");
  PetscCall(PCBCRPoissonSetBackend(pc, PCBCRPOISSON_BACKEND_AUTO));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(TestRandom(x));
  PetscCall(PCApply(pc, x, y));
  PetscCall(TestBackwardError(A, PETSC_FALSE, x, y, &error));
  Check(error <= TestBackwardBound(), "without a device: backward error %g", (double)error);
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(Done(&da, &A, &pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSCBCR_HAVE_CUDA)
static const char *const plans[] = {"", "-pc_bcrpoisson_precision single", "-pc_bcrpoisson_precision mixed",
                                    "-pc_bcrpoisson_radix 2", "-pc_bcrpoisson_schedule 8,5,64"};

static PetscBool PlanFits(const TestProblem *p, PetscInt plan)
{
  return p->dim > 1 || plan < 3 ? PETSC_TRUE : PETSC_FALSE;
}

/* Graphs: the same bits as kernel by kernel, whatever the vectors, and after new values; workspace;
   what set-up allocated is all there is */
static PetscErrorCode Graphs(void)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < NPROBLEMS; ++i) {
    for (PetscInt plan = 0; plan < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(plans); ++plan) {
      TestProblem p = problems[i];
      DM da[2];
      Mat A[2];
      PC pc[2];
      Vec x[3], y[3], z;
      PetscBool same;
      char *text = NULL, *at;
      PetscReal vectors = 100;

      if (!PlanFits(&p, plan)) continue;
      for (PetscInt g = 0; g < 2; ++g) {
        PetscCall(NewPC(&p, plans[plan], &da[g], &A[g], &pc[g]));
        PetscCall(PCBCRPoissonSetGraph(pc[g], (PetscBool)g));
        PetscCall(PCSetUp(pc[g]));
      }
      PetscCall(DMCreateGlobalVector(da[0], &z));
      for (PetscInt v = 0; v < 3; ++v) {
        PetscCall(VecDuplicate(z, &x[v]));
        PetscCall(VecDuplicate(z, &y[v]));
        PetscCall(TestRandom(x[v]));
        PetscCall(VecScale(x[v], (PetscReal)(v + 1)));
      }
      for (PetscInt values = 0; values < 2; ++values) {
        PetscInt wrong = 0;

        if (values) { /* the same plan with other numbers: graphs must not keep the old ones */
          p.shift += 0.75;
          p.scale *= 2;
          for (PetscInt g = 0; g < 2; ++g) {
            PetscCall(TestFill(&p, A[g]));
            PetscCall(PCSetOperators(pc[g], A[g], A[g]));
            PetscCall(PCSetUp(pc[g]));
          }
        }
        for (PetscInt a = 0; a < 24; ++a) { /* 0 0 0 0 1 1 1 1 0 2 1 0 ... */
          const PetscInt v = a < 4 ? 0 : (a < 8 ? 1 : (a * 7) % 3), w = a < 16 ? v : (v + a) % 3;

          PetscCall(VecSet(y[w], -1));
          PetscCall(PCApply(pc[1], x[v], y[w]));
          PetscCall(PCApply(pc[0], x[v], z));
          PetscCall(VecEqual(y[w], z, &same));
          if (!same) ++wrong;
        }
        Check(!wrong, "problem %d, plan '%s', values %d: %d of 24 solves differ from those without graphs", (int)i,
              plans[plan], (int)values, (int)wrong);
      }
      PetscCall(TestViewText((PetscObject)pc[1], &text));
      Check(strstr(text, " as CUDA graphs"), "problem %d, plan '%s': no graph was launched:\n%s", (int)i, plans[plan],
            text);
      at = strstr(text, "bytes (");
      if (at) vectors = (PetscReal)atof(at + 7);
      if (p.n[0] * p.n[1] * p.n[2] > 5000)
        Check(vectors <= 1.5, "problem %d, plan '%s': workspace of %g vectors", (int)i, plans[plan], (double)vectors);
      free(text);
      text = NULL;
      PetscCall(TestViewText((PetscObject)pc[0], &text));
      Check(strstr(text, "kernel by kernel, as asked for"), "PCView() without graphs:\n%s", text);
      free(text);
      for (PetscInt v = 0; v < 3; ++v) {
        PetscCall(VecDestroy(&x[v]));
        PetscCall(VecDestroy(&y[v]));
      }
      PetscCall(VecDestroy(&z));
      for (PetscInt g = 0; g < 2; ++g) PetscCall(Done(&da[g], &A[g], &pc[g]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Vectors of the host are solved for on the device, too, with the same result; PCView() says what
   their copies there take */
static PetscErrorCode HostVectors(PC pc, Vec x, Vec y)
{
  const char word[] = "copies of vectors of the host ";
  Vec f, u, z;
  PetscInt n;
  PetscBool same, cuda;
  double bytes = 0;
  char *text, *at;
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(PetscObjectTypeCompareAny((PetscObject)x, &cuda, VECSEQCUDA, VECCUDA, ""));
  PetscCall(TestViewText((PetscObject)pc, &text));
  Check(!cuda || !strstr(text, word), "PCView() speaks of vectors of the host where there were none:\n%s", text);
  free(text);
  PetscCall(VecCreateSeq(PETSC_COMM_SELF, n, &f));
  PetscCall(VecDuplicate(f, &u));
  PetscCall(VecDuplicate(f, &z));
  for (int v = 0; v < 2; v++) { /* through arrays: the copy of one type to another is PETSc's affair */
    const PetscScalar *from;

    PetscCall(VecGetArrayRead(v ? y : x, &from));
    PetscCall(VecGetArray(v ? z : f, &a));
    PetscCall(PetscArraycpy(a, from, n));
    PetscCall(VecRestoreArray(v ? z : f, &a));
    PetscCall(VecRestoreArrayRead(v ? y : x, &from));
  }
  PetscCall(PCApply(pc, f, u));
  PetscCall(VecEqual(u, z, &same));
  Check(same, "vectors of the host have another solution than those of the device");
  PetscCall(TestViewText((PetscObject)pc, &text));
  at = strstr(text, word);
  if (at) bytes = atof(at + strlen(word));
  Check(bytes >= (double)n * sizeof(PetscScalar) && bytes <= 2.0 * (double)n * sizeof(PetscScalar),
        "copies of vectors of %d numbers take %g bytes:\n%s", (int)n, bytes, text);
  free(text);
  PetscCall(TestDestroy(&f, &u, &z));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The device's solution and the host's, of every plan: equal to rounding, as a right-hand side sees it */
static PetscErrorCode HostAndDevice(void)
{
  PetscFunctionBegin;
  for (PetscInt i = 0; i < NPROBLEMS; ++i) {
    for (PetscInt plan = 0; plan < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(plans); ++plan) {
      /* what either may have */
      const PetscReal bound = plan == 1 || sizeof(PetscReal) < sizeof(double) ? (PetscReal)1e-6 : (PetscReal)2e-14;
      DM da;
      Mat A;
      PC pc;
      Vec x, y[2], r;
      PetscReal norm, size, difference;

      if (!PlanFits(&problems[i], plan)) continue;
      PetscCall(NewPC(&problems[i], plans[plan], &da, &A, &pc));
      PetscCall(DMCreateGlobalVector(da, &x));
      PetscCall(TestRandom(x));
      for (PetscInt host = 0; host < 2; ++host) {
        PetscCall(VecDuplicate(x, &y[host]));
        if (host) PetscCall(PCBCRPoissonSetBackend(pc, PCBCRPOISSON_BACKEND_CPU));
        PetscCall(PCApply(pc, x, y[host]));
        if (!host) PetscCall(HostVectors(pc, x, y[0]));
      }
      PetscCall(VecDuplicate(x, &r));
      PetscCall(VecNorm(y[1], NORM_INFINITY, &size));
      PetscCall(VecAXPY(y[0], -1, y[1]));
      PetscCall(MatMult(A, y[0], r));
      PetscCall(TestMaxNorm(r, &difference));
      PetscCall(MatNorm(A, NORM_INFINITY, &norm));
      Check(difference <= bound * norm * size,
            "problem %d, plan '%s': A times the difference from the host is %g of ||A|| ||y||", (int)i, plans[plan],
            (double)(difference / (norm * size)));
      PetscCall(TestDestroy(&r, &y[0], &y[1], &x));
      PetscCall(Done(&da, &A, &pc));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Work space of other sizes than those above: awkward ones, flat ones, and those that have kernels
   of their own; each with every precision. Of a box that the device's cache holds, all planes are on their way at once,
   and modes may have a vector of their own */
static PetscErrorCode Workspaces(void)
{
  static const struct {
    PetscInt n[3];
    BCREnd end;
  } boxes[] = {
    {{1000000, 1, 1}, BCR_END_DIRICHLET     },
    {{511, 511, 1},   BCR_END_DIRICHLET     },
    {{1000, 1000, 1}, BCR_END_DIRICHLET     },
    {{1023, 1023, 1}, BCR_END_DIRICHLET     },
    {{3000, 3000, 1}, BCR_END_DIRICHLET     },
    {{4099, 4099, 1}, BCR_END_DIRICHLET     },
    {{8000, 5000, 1}, BCR_END_DIRICHLET     },
    {{8191, 2047, 1}, BCR_END_DIRICHLET     },
    {{65535, 127, 1}, BCR_END_DIRICHLET     },
    {{127, 65535, 1}, BCR_END_DIRICHLET     },
    {{2049, 1025, 1}, BCR_END_NEUMANN       },
    {{1536, 1024, 1}, BCR_END_NEUMANN       },
    {{2048, 1024, 1}, BCR_END_CELL_NEUMANN  },
    {{1500, 1000, 1}, BCR_END_CELL_DIRICHLET},
    {{2048, 1024, 1}, BCR_END_PERIODIC      },
    {{1500, 1000, 1}, BCR_END_PERIODIC      },
    {{127, 127, 127}, BCR_END_DIRICHLET     },
    {{255, 255, 255}, BCR_END_DIRICHLET     },
    {{511, 511, 255}, BCR_END_DIRICHLET     },
    {{100, 100, 100}, BCR_END_DIRICHLET     },
    {{256, 200, 256}, BCR_END_DIRICHLET     },
    {{129, 129, 129}, BCR_END_NEUMANN       },
    {{128, 128, 128}, BCR_END_CELL_DIRICHLET},
    {{128, 96, 128},  BCR_END_PERIODIC      }
  };
  const PetscReal coupling[3] = {1, 1, 1};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(boxes); ++i) {
    const PetscInt *const n = boxes[i].n;
    const PetscInt dim = n[2] > 1 ? 3 : (n[1] > 1 ? 2 : 1);

    for (int precision = 0; precision < 3; ++precision) {
      const BCREnd ends[6] = {boxes[i].end, boxes[i].end, boxes[i].end, boxes[i].end, boxes[i].end, boxes[i].end};
      BCRSolver solver;
      BCRSolverOptions options;
      BCRSolverInfo info;
      BCROperator *op;
      double vectors;

      PetscCall(PetscMemzero(&options, sizeof(options)));
      options.core.isa = -1;
      options.core.precision = (BCRPrecision)precision;
      options.device = PETSC_TRUE;
      PetscCall(BCROperatorCreateUser(dim, n, coupling, ends, 0.25, 1, &op));
      PetscCall(BCRSolverCreate(1, op, &options, NULL, &solver));
      PetscCall(BCRSolverGetInfo(solver, &info));
      vectors = (double)info.workspace / ((double)n[0] * (double)n[1] * (double)n[2] * (double)sizeof(PetscScalar));
      if (sizeof(PetscReal) == sizeof(double) || precision == BCR_SINGLE) {
        Check(vectors <= 1.5 || info.workspace <= 48e6,
              "%" PetscInt_FMT " x %" PetscInt_FMT " x %" PetscInt_FMT
              ", ends %d, precision %d: workspace of %g vectors",
              n[0], n[1], n[2], (int)boxes[i].end, precision, vectors);
      }
      PetscCall(BCRSolverDestroy(&solver));
      PetscCall(BCROperatorDestroy(1, &op));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Makes axis d of an operator general: cells that grow by a hundredth from one to the next */
static PetscErrorCode Stretch(BCROperator *op, PetscInt d)
{
  const PetscInt n = op->axis[d].n;
  PetscReal *low, *diag, *up;

  PetscFunctionBegin;
  PetscCall(PetscMalloc3(n, &low, n, &diag, n, &up));
  for (PetscInt i = 0; i < n; ++i) {
    const PetscReal h = PetscPowReal((PetscReal)1.01, (PetscReal)(i - n));

    low[i] = 1 / (h * h);
    up[i] = low[i] / (PetscReal)1.01;
    diag[i] = low[i] + up[i];
  }
  PetscCall(BCROperatorUserSetAxis(op, d, low, diag, up, NULL));
  PetscCall(PetscFree3(low, diag, up));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  Solvers on arrays of the device. That a solve can be captured shows that it neither allocates nor
  waits (both are errors while capturing); the nodes of the graph that come of it show that it
  copies nothing to or from the host. Two solvers on two streams, launched in turns, get the bits
  that each has alone.
*/
static PetscErrorCode Streams(void)
{
  PetscFunctionBegin;
  for (PetscInt plan = 0; plan < 8; ++plan) { /* from 5 on: products with eigenvectors */
    const PetscInt size[2][3] = {
      {300, 257, 1 },
      {70,  40,  33}
    };
    const PetscReal coupling[3] = {1, 1, 1};
    const BCREnd ends[6] = {BCR_END_DIRICHLET, BCR_END_DIRICHLET,      BCR_END_DIRICHLET,
                            BCR_END_NEUMANN,   BCR_END_CELL_DIRICHLET, BCR_END_DIRICHLET};
    BCRSolver solver[2];
    BCRSolverOptions options;
    BCROperator *op[2];
    BCRStream stream[2];
    PetscScalar *f[2], *u[2], *host[3];
    PetscInt n[2], wrong = 0;
    BCRSolverInfo info;

    for (PetscInt s = 0; s < 2; ++s) {
      n[s] = size[s][0] * size[s][1] * size[s][2];
      PetscCall(PetscMemzero(&options, sizeof(options)));
      options.core.isa = -1;
      options.core.precision = plan % 5 == 1 ? BCR_SINGLE : (plan % 5 == 2 ? BCR_MIXED : BCR_DOUBLE);
      options.core.radix = plan == 3 ? 4 : 0;
      options.core.plain = plan == 4 ? PETSC_TRUE : PETSC_FALSE;
      options.device = PETSC_TRUE;
      PetscCall(BCROperatorCreateUser(s ? 3 : 2, size[s], coupling, ends, 0.25, 1, &op[s]));
      for (PetscInt d = 0; d < 2 && plan > 4; ++d) PetscCall(Stretch(op[s], d));
      PetscCall(BCRSolverCreate(1, op[s], &options, NULL, &solver[s]));
      PetscCallBCRCuda(BCRCudaStreamCreate(&stream[s]));
      PetscCallBCRCuda(BCRCudaMalloc((size_t)n[s] * sizeof(PetscScalar), &f[s]));
      PetscCallBCRCuda(BCRCudaMalloc((size_t)n[s] * sizeof(PetscScalar), &u[s]));
      PetscCall(PetscMalloc1(n[s], &host[s]));
      for (PetscInt i = 0; i < n[s]; ++i) host[s][i] = drand48() - 0.5;
      PetscCallBCRCuda(BCRCudaPut(f[s], host[s], (size_t)n[s] * sizeof(PetscScalar), stream[s]));
      PetscCall(BCRSolverSolve(solver[s], PETSC_MEMTYPE_DEVICE, stream[s], PETSC_FALSE, 1, f[s], n[s], u[s], n[s]));
      PetscCallBCRCuda(BCRCudaGet(host[s], u[s], (size_t)n[s] * sizeof(PetscScalar), stream[s]));
    }
    for (PetscInt round = 0; round < 3; ++round) {
      for (PetscInt s = 0; s < 2; ++s)
        PetscCallBCRCuda(BCRCudaZero(u[s], (size_t)n[s] * sizeof(PetscScalar), stream[s]));
      for (PetscInt again = 0; again < 10; ++again)
        for (PetscInt s = 0; s < 2; ++s)
          PetscCall(BCRSolverSolve(solver[s], PETSC_MEMTYPE_DEVICE, stream[s], PETSC_FALSE, 1, f[s], n[s], u[s], n[s]));
      for (PetscInt s = 0; s < 2; ++s) {
        PetscCall(PetscMalloc1(n[s], &host[2]));
        PetscCallBCRCuda(BCRCudaGet(host[2], u[s], (size_t)n[s] * sizeof(PetscScalar), stream[s]));
        if (memcmp(host[2], host[s], (size_t)n[s] * sizeof(PetscScalar))) ++wrong;
        PetscCall(PetscFree(host[2]));
      }
    }
    Check(!wrong, "plan %d: %d of 6 differ from what a solver gets alone", (int)plan, (int)wrong);
    for (PetscInt s = 0; s < 2; ++s) {
      PetscCall(BCRSolverGetInfo(solver[s], &info));
      Check(info.graph && info.graphs == 30, "plan %d, %d dimensions: captured: %d, graphs launched: %d", (int)plan,
            s ? 3 : 2, (int)info.graph, (int)info.graphs);
      Check(info.nodes[0] >= 1 && info.nodes[3] == 0,
            "plan %d, %d dimensions: %d kernels, %d memory set, %d copies on the device, %d other nodes", (int)plan,
            s ? 3 : 2, (int)info.nodes[0], (int)info.nodes[1], (int)info.nodes[2], (int)info.nodes[3]);
      PetscCall(BCRSolverDestroy(&solver[s]));
      PetscCall(BCROperatorDestroy(1, &op[s]));
      PetscCallBCRCuda(BCRCudaStreamDestroy(stream[s]));
      PetscCallBCRCuda(BCRCudaFree(f[s]));
      PetscCallBCRCuda(BCRCudaFree(u[s]));
      PetscCall(PetscFree(host[s]));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The vectors stay where they are: PETSc counts its own copies */
static PetscErrorCode Copies(void)
{
  TestProblem p = problems[0];
  DM da;
  Mat A;
  PC pc;
  Vec x, y;
  PetscMemType mem;
  PetscLogDouble before[2];
  const PetscScalar *v;

  PetscFunctionBegin;
  PetscCall(NewPC(&p, "", &da, &A, &pc));
  PetscCall(PCSetUp(pc));
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(TestRandom(x));
  PetscCall(PCApply(pc, x, y));
  before[0] = petsc_ctog_ct;
  before[1] = petsc_gtoc_ct;
  for (PetscInt i = 0; i < 5; ++i) {
    PetscCall(PCApply(pc, x, y));
    PetscCall(PCApply(pc, y, x));
    PetscCall(VecScale(x, 2));
  }
  PetscCall(VecGetArrayReadAndMemType(y, &v, &mem));
  PetscCall(VecRestoreArrayReadAndMemType(y, &v));
  if (PetscMemTypeCUDA(mem))
    Check(petsc_ctog_ct == before[0] && petsc_gtoc_ct == before[1], "%g copies to the device, %g from it",
          (double)(petsc_ctog_ct - before[0]), (double)(petsc_gtoc_ct - before[1]));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(Done(&da, &A, &pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The stream is that of PETSc's current context */
static PetscErrorCode Contexts(void)
{
  TestProblem p = problems[0];
  DM da;
  Mat A;
  PC pc;
  Vec x, y, z;
  PetscDeviceContext old, context;
  PetscBool same;
  PetscInt wrong = 0;

  PetscFunctionBegin;
  PetscCall(NewPC(&p, "", &da, &A, &pc));
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(VecDuplicate(x, &z));
  PetscCall(TestRandom(x));
  PetscCall(VecSet(z, 0));
  PetscCall(PCApply(pc, x, y));
  PetscCall(PetscDeviceContextGetCurrentContext(&old));
  PetscCall(PetscDeviceContextSynchronize(old));
  PetscCall(PetscDeviceContextCreate(&context));
  PetscCall(PetscDeviceContextSetStreamType(context, PETSC_STREAM_NONBLOCKING));
  PetscCall(PetscDeviceContextSetUp(context));
  for (PetscInt i = 0; i < 6; ++i) {
    PetscCall(PetscDeviceContextSetCurrentContext(i % 2 ? old : context));
    PetscCall(PCApply(pc, x, z));
    PetscCall(PetscDeviceContextSynchronize(i % 2 ? old : context));
    PetscCall(PetscDeviceContextSetCurrentContext(old));
    PetscCall(VecEqual(y, z, &same));
    if (!same) ++wrong;
  }
  Check(!wrong, "on two streams of PETSc: %d of 6 solves differ", (int)wrong);
  PetscCall(PetscDeviceContextDestroy(&context));
  PetscCall(TestDestroy(&x, &y, &z));
  PetscCall(Done(&da, &A, &pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A device whose memory is taken: an error with the bytes, or with auto the host */
static PetscErrorCode NoRoom(void)
{
  TestProblem p = problems[0];
  DM da;
  Mat A;
  PC pc;
  Vec x, y;
  void *hog[64];
  PetscInt nhog = 0;
  size_t chunk, available, total;
  PetscReal error;
  char *text = NULL;

  PetscFunctionBegin;
  p.n[0] = p.n[1] = 1500;
  PetscCall(NewPC(&p, "", &da, &A, &pc));
  PetscCall(DMCreateGlobalVector(da, &x));
  PetscCall(VecDuplicate(x, &y));
  PetscCall(TestRandom(x));
  PetscCall(VecCopy(x, y));
  PetscCall(MatMult(A, x, y)); /* whatever PETSc allocates for it */
  PetscCallBCRCuda(BCRCudaMemory(&available, &total));
  for (chunk = available; chunk >= 65536 && nhog < 64; chunk /= 2) {
    while (nhog < 64 && !BCRCudaMalloc(chunk, &hog[nhog])) ++nhog;
  }
  CheckError(PCSetUp(pc), PETSC_ERR_MEM, "bytes");
  PetscCall(PCBCRPoissonSetBackend(pc, PCBCRPOISSON_BACKEND_AUTO));
  PetscCall(PCSetUp(pc));
  PetscCall(TestViewText((PetscObject)pc, &text));
  Check(strstr(text, "backend: cpu"), "auto, no room on the device:\n%s", text);
  free(text);
  PetscCall(PCApply(pc, x, y));
  while (nhog) PetscCallBCRCuda(BCRCudaFree(hog[--nhog]));
  PetscCall(TestBackwardError(A, PETSC_FALSE, x, y, &error));
  Check(error <= TestBackwardBound(), "on the host instead: backward error %g", (double)error);
  PetscCall(PCBCRPoissonSetBackend(pc, PCBCRPOISSON_BACKEND_CUDA));
  PetscCall(PCApply(pc, x, y));
  PetscCall(TestBackwardError(A, PETSC_FALSE, x, y, &error));
  Check(error <= TestBackwardBound(), "on the device again: backward error %g", (double)error);
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(Done(&da, &A, &pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A NaN goes to the solution, where norms see it; launch parameters that cannot be */
static PetscErrorCode BadNumbers(void)
{
  TestProblem p = problems[0];
  DM da;
  Mat A;
  PC pc;
  Vec x, y;
  PetscReal norm;

  PetscFunctionBegin;
  for (PetscInt plan = 0; plan < 5; ++plan) {
    PetscCall(NewPC(&p, plans[plan], &da, &A, &pc));
    PetscCall(DMCreateGlobalVector(da, &x));
    PetscCall(VecDuplicate(x, &y));
    PetscCall(TestRandom(x));
    PetscCall(VecSetValue(x, 12345, NAN, INSERT_VALUES));
    PetscCall(VecAssemblyBegin(x));
    PetscCall(VecAssemblyEnd(x));
    for (PetscInt again = 0; again < 3; ++again) {
      PetscCall(PCApply(pc, x, y));
      PetscCall(VecNorm(y, NORM_2, &norm));
      Check(PetscIsInfOrNanReal(norm), "plan '%s': a NaN on the right-hand side is lost", plans[plan]);
    }
    PetscCall(PCSetErrorIfFailure(pc, PETSC_TRUE));
    CheckError(PCApply(pc, x, y), PETSC_ERR_FP, "Entry 12345");
    PetscCall(VecDestroy(&x));
    PetscCall(VecDestroy(&y));
    PetscCall(Done(&da, &A, &pc));
  }
  PetscCall(NewPC(&p, "-pc_bcrpoisson_radix 2 -pc_bcrpoisson_launch 100", &da, &A, &pc));
  CheckError(PCSetUp(pc), PETSC_ERR_ARG_OUTOFRANGE, "a power of two");
  PetscCall(PetscOptionsClearValue(NULL, "-pc_bcrpoisson_launch"));
  PetscCall(Done(&da, &A, &pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A kernel that reads where nothing is: the next call says so */
static PetscErrorCode Fault(void)
{
  const PetscInt size[3] = {300, 257, 1};
  const PetscReal coupling[3] = {1, 1, 1};
  const BCREnd ends[6] = {BCR_END_DIRICHLET, BCR_END_DIRICHLET, BCR_END_DIRICHLET,
                          BCR_END_DIRICHLET, BCR_END_DIRICHLET, BCR_END_DIRICHLET};
  const PetscInt n = 300 * 257;
  BCRSolver solver;
  BCRSolverOptions options;
  BCROperator *op;
  PetscScalar *u, *nowhere = (PetscScalar *)(size_t)0x7000;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&options, sizeof(options)));
  options.core.isa = -1;
  options.device = PETSC_TRUE;
  PetscCall(BCROperatorCreateUser(2, size, coupling, ends, 0.25, 1, &op));
  PetscCall(BCRSolverCreate(1, op, &options, NULL, &solver));
  PetscCallBCRCuda(BCRCudaMalloc((size_t)n * sizeof(PetscScalar), &u));
  (void)BCRSolverSolve(solver, PETSC_MEMTYPE_DEVICE, NULL, PETSC_FALSE, 1, nowhere, n, u, n);
  (void)BCRCudaSynchronize(NULL);
  CheckError(BCRSolverSolve(solver, PETSC_MEMTYPE_DEVICE, NULL, PETSC_FALSE, 1, nowhere, n, u, n), PETSC_ERR_GPU,
             "CUDA error");
  CheckError(BCRSolverSolve(solver, PETSC_MEMTYPE_DEVICE, NULL, PETSC_FALSE, 1, nowhere, n, u, n), PETSC_ERR_GPU,
             "-pc_bcrpoisson_backend cpu");
  PetscFunctionReturn(PETSC_SUCCESS);
}

#endif

int main(int argc, char **argv)
{
  PetscBool fault = PETSC_FALSE;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-fault", &fault, NULL));
  there = BCRSolverHaveDevice(NULL);
  if (!there) PetscCall(NoDevice());
#if defined(PETSCBCR_HAVE_CUDA)
  if (there && fault) {
    PetscCall(Fault());
    _Exit(TestEnd() + fflush(stdout)); /* the device is out of order, PetscFinalize() would find that, too */
  }
  if (there) {
    PetscCall(Streams());
    PetscCall(Graphs());
    PetscCall(HostAndDevice());
    PetscCall(Workspaces());
    PetscCall(Copies());
    PetscCall(Contexts());
    PetscCall(NoRoom());
    PetscCall(BadNumbers());
  }
#endif
  PetscCall(Tunes());
  PetscCall(PetscFinalize());
  return TestEnd();
}
