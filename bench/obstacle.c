static char help[] =
  "Times PCBCRPOISSON with rows that differ: a disc, a coast, a sphere, two materials in a box. The first and the tenth of\n\
random right-hand sides, to rounding, by KSPPREONLY; one solve of the box without anything in it; set-up, reading included;\n\
beside CG with the fit, with GAMG and with BoomerAMG, to -rtol of the true residual.\n\
  -backend <cpu>  cuda: vectors and matrices on the device; a solve of the box is one of many in a row there\n\
  -n2 <511,1023>  nodes along each side of the square\n\
  -n3 <63,127>    and of the cube\n\
  -rtol <1e-8>    for the others\n\
  -peers <1>      0: without the others\n\
  -only <-1>      number of the only case, from 0\n\
  -peers_most <n> not with more unknowns than that\n\
  -reps <3>       times each pair of ten solves is repeated, each with a new solver; the least counts\n\
  -csv <file>     adds the results to this file\n\n";

#include "bench.h"
#include "tests/obstacles.h"
#include <petscbcr.h>
#include <petscksp.h>
#if defined(PETSCBCR_HAVE_CUDA)
  #include "base/device.h"
  #include "base/stream.h"
#endif

enum {
  SOLVES = 10, /* right-hand sides of a solver */
  ROW = 50     /* solves of the box in a row, on a device */
};

static PetscBool device; /* -backend cuda */

/* What has been launched is done */
static PetscErrorCode Wait(void)
{
  PetscFunctionBegin;
#if defined(PETSCBCR_HAVE_CUDA)
  if (device) {
    void *stream;

    PetscCall(BCRGetStream(&stream));
    PetscCallBCRCuda(BCRCudaSynchronize(stream));
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  const char *name;
  Case c;
} Named;

static const Named cases[] = {
  {"disc, no flux, closed",   {2, 0, NEUMANN_MASK, DISC, 1, PETSC_TRUE, 0} },
  {"disc, Dirichlet",         {2, 0, KEPT, DISC, 1, PETSC_FALSE, 0}        },
  {"coast, no flux, closed",  {2, 0, NEUMANN_MASK, ROUGH, 1, PETSC_TRUE, 0}},
  {"two materials 1:10",      {2, 0, MATERIAL, DISC, 10, PETSC_FALSE, 0}   },
  {"two materials 1:1000",    {2, 0, MATERIAL, DISC, 1e3, PETSC_FALSE, 0}  },
  {"sphere, no flux, closed", {3, 0, NEUMANN_MASK, DISC, 1, PETSC_TRUE, 0} },
  {"sphere, Dirichlet",       {3, 0, KEPT, DISC, 1, PETSC_FALSE, 0}        },
  {"two materials 1:1000",    {3, 0, MATERIAL, DISC, 1e3, PETSC_FALSE, 0}  }
};

static const struct {
  const char *name, *options;
} peers[] = {
  {"cg+fit",       "-pc_type bcrpoisson -pc_bcrpoisson_capacitance off -ksp_max_it 2000"},
  {"cg+gamg",      "-pc_type gamg -ksp_max_it 2000"                                     },
#if defined(PETSC_HAVE_HYPRE)
  {"cg+boomeramg", "-pc_type hypre -pc_hypre_type boomeramg -ksp_max_it 2000"           },
#endif
};

static PetscErrorCode Create(const Case *c, DM *da, Mat *A, Vec *x, Vec *b)
{
  PetscFunctionBegin;
  PetscCall(Grid(c, device, da, A, x, b));
  if (c->closed && c->what != KEPT) { /* for Krylov methods */
    MatNullSpace constant;

    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 0, NULL, &constant));
    if (c->what == MATERIAL) PetscCall(MatSetNullSpace(*A, constant));
    PetscCall(MatNullSpaceDestroy(&constant));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Seconds of set-up, of each of the solves, of a copy of the vector; iterations of the last one, the largest residual of them,
   solves of the box of each; inrow: of one of many applications in a row, or NULL */
static PetscErrorCode Time(Mat A, Vec x, Vec b, const char *options, PetscReal rtol, PetscInt solves, double *setup,
                           double t[], double *inrow, double *copy, PetscInt *its, PetscReal *residual, PetscInt *rows,
                           PetscInt boxes[])
{
  PetscRandom random;
  PetscReal norm[2];
  double start = 0;
  Vec r;
  KSP ksp;
  PC pc;

  PetscFunctionBegin;
  PetscCall(PetscOptionsInsertString(NULL, options));
  PetscCall(PetscRandomCreate(PETSC_COMM_WORLD, &random));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, rtol > 0 ? KSPCG : KSPPREONLY));
  if (rtol > 0) PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  if (rtol > 0) PetscCall(KSPSetTolerances(ksp, rtol, 0, PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(PetscOptionsClear(NULL));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(BenchClockStart(&start));
  PetscCall(KSPSetUp(ksp));
  PetscCall(Wait());
  PetscCall(BenchClockRead(start, setup));
  *residual = 0;
  for (PetscInt k = 0; k < solves; k++) {
    PetscInt now = 0;

    PetscCall(VecSetRandom(x, random));
    PetscCall(MatMult(A, x, b));
    PetscCall(BenchClockStart(&start));
    PetscCall(VecCopy(b, r));
    PetscCall(Wait());
    PetscCall(BenchClockRead(start, copy));
    PetscCall(BenchClockStart(&start));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(Wait());
    PetscCall(BenchClockRead(start, &t[k]));
    PetscCall(MatMult(A, x, r));
    PetscCall(VecAYPX(r, -1, b));
    PetscCall(VecNorm(r, NORM_2, &norm[0]));
    PetscCall(VecNorm(b, NORM_2, &norm[1]));
    *residual = PetscMax(*residual, norm[0] / norm[1]);
    PetscCall(KSPGetIterationNumber(ksp, its));
    PetscCall(PCBCRPoissonGetCapacitanceSolves(pc, rows, &now));
    boxes[k] = now;
  }
  if (inrow) {
    PetscCall(BenchClockStart(&start));
    for (int k = 0; k < ROW; k++) PetscCall(PCApply(pc, b, x));
    PetscCall(Wait());
    PetscCall(BenchClockRead(start, inrow));
    *inrow /= ROW;
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&r));
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(const Named *named, PetscInt n, PetscInt reps, PetscReal rtol, PetscBool others, FILE *csv)
{
  double setup = HUGE_VAL, t[SOLVES], first = HUGE_VAL, tenth = HUGE_VAL, copy = HUGE_VAL, box = HUGE_VAL, s, cp,
         inrow = 0;
  PetscInt its, rows = 0, boxes[SOLVES] = {0}, counts[2] = {0, 0};
  Case c = named->c, empty = named->c;
  PetscReal residual = 0, res;
  BenchRow row;
  DM da;
  Mat A;
  Vec x, b;
  char name[80];

  PetscFunctionBegin;
  c.n = empty.n = n;
  empty.what = NONE;
  PetscCall(Create(&empty, &da, &A, &x, &b));
  for (PetscInt r = 0; r < reps; r++) {
    PetscCall(
      Time(A, x, b, "-pc_type bcrpoisson", 0, SOLVES, &s, t, device ? &inrow : NULL, &cp, &its, &res, &rows, boxes));
    for (int k = 1; k < SOLVES && !device; k++) box = PetscMin(box, t[k]);
    if (device) box = PetscMin(box, inrow);
    copy = PetscMin(copy, cp);
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscCall(Create(&c, &da, &A, &x, &b));
  for (PetscInt r = 0; r < reps; r++) {
    PetscCall(Time(A, x, b, "-pc_type bcrpoisson", 0, SOLVES, &s, t, NULL, &cp, &its, &res, &rows, boxes));
    setup = PetscMin(setup, s);
    if (t[0] < first) first = t[0], counts[0] = boxes[0];
    if (t[SOLVES - 1] < tenth) tenth = t[SOLVES - 1], counts[1] = boxes[SOLVES - 1];
    residual = PetscMax(residual, res);
  }
  PetscCall(
    PetscPrintf(PETSC_COMM_WORLD,
                "%-24s %4d^%d: %6d rows, box %8.3f ms (%5.1f copies), set-up %5.1f boxes; first %9.3f ms, %3d solves, "
                "%4.2f each; tenth %9.3f ms, %3d, %4.2f; residual %.1e\n",
                named->name, (int)n, (int)c.dim, (int)rows, 1e3 * box, box / copy, setup / box, 1e3 * first,
                (int)counts[0], first / box / (double)PetscMax(counts[0], 1), 1e3 * tenth, (int)counts[1],
                tenth / box / (double)PetscMax(counts[1], 1), (double)residual));
  row = (BenchRow){
    "obstacle",     name,
    "double",       "capacitance",
    .dim = c.dim,   .n = {n, n, c.dim > 2 ? n : 1},
    .copy = copy,   .mincopy = copy,
    .setup = setup, .residual = (double)residual,
    .time = first,  .mintime = first,
    .first = box,   .iterations = counts[0]
  };
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s; first", named->name));
  for (char *p = name; *p; p++) *p = *p == ',' ? ';' : *p;
  BenchWriteRow(csv, &row);
  PetscCall(PetscSNPrintf(name, sizeof(name), "%s; tenth", named->name));
  for (char *p = name; *p; p++) *p = *p == ',' ? ';' : *p;
  row.time = row.mintime = tenth;
  row.iterations = counts[1];
  BenchWriteRow(csv, &row);
  for (size_t k = 0; others && k < PETSC_STATIC_ARRAY_LENGTH(peers); k++) {
    PetscCall(Time(A, x, b, peers[k].options, rtol, 2, &s, t, NULL, &cp, &its, &res, &rows, boxes));
    PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                          "    %-14s set-up %9.3f ms, solve %9.3f ms, %4d iterations, residual %.1e, %.1f times\n",
                          peers[k].name, 1e3 * s, 1e3 * t[1], (int)its, (double)res, t[1] / first));
    row.solver = peers[k].name;
    row.time = row.mintime = t[1];
    row.setup = s;
    row.residual = (double)res;
    row.iterations = its;
    BenchWriteRow(csv, &row);
  }
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt sizes[2][8] = {
    {511, 1023},
    {63,  127 }
  };
  PetscInt count[2] = {2, 2}, reps = 3, max = 8, only = -1, most = PETSC_MAX_INT;
  PetscReal rtol = (PetscReal)1e-8;
  PetscBool others = PETSC_TRUE, given;
  char backend[8] = "cpu";
  FILE *csv = NULL;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-n2", sizes[0], &max, &given));
  if (given) count[0] = max;
  max = 8;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-n3", sizes[1], &max, &given));
  if (given) count[1] = max;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-reps", &reps, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-only", &only, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-rtol", &rtol, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-peers", &others, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-peers_most", &most, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscStrcmp(backend, "cuda", &device));
  PetscCall(BenchOpen("rows that differ; others: CG to 1e-8 of the true residual, setup in setup_ms, time of a solve "
                      "of the empty box in first_ms",
                      &csv));
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(cases); i++) {
    const int three = cases[i].c.dim == 3;

    for (PetscInt k = 0; k < count[three] && (only < 0 || only == (PetscInt)i); k++) {
      const PetscInt n = sizes[three][k];

      PetscCall(Run(&cases[i], n, reps, rtol, (PetscBool)(others && n * n * (three ? n : 1) <= most), csv));
    }
  }
  if (csv) fclose(csv);
  PetscCall(PetscFinalize());
  return 0;
}
