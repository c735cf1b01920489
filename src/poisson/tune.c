#include "tune.h"
#include "../base/agree.h"
#include "../backend/cpu/cpu.h"
#include <errno.h>
#include <petsctime.h>
#include <stdlib.h>
#include <string.h>

/* Solves whose fastest one is a candidate's time: on a device those that load and capture what there is take the first
   two. Neither number, nor the next three, was measured apart; what the tuner finds: bench/results/h200_tune.csv */
enum {
  TUNE_SOLVES_HOST = 3,
  TUNE_SOLVES_DEVICE = 7,
  /* on a device a given radix makes many passes, which only the launches of a small grid hide: unknowns of its longest
     axis, and radix, at most */
  TUNE_DEVICE_AXIS = 300,
  TUNE_DEVICE_RADIX = 16
};
/* What has to be gained over the best so far, by more than what a clock is good for */
#define TUNE_FASTER 0.97

/* What a candidate sets in the options, as a line of the file has it */
typedef struct {
  PetscInt radix;
  PetscBool plain;
  int launch[BCR_LAUNCH];
  double seconds;
} Choice;

typedef struct {
  MPI_Comm comm;
  PetscInt dof, n; /* unknowns of a node; scalars of a vector on this rank */
  const BCROperator *ops;
  const BCRSolverOptions *options;
  const BCRSlab *slab;
  PetscScalar *f;   /* [n] */
  BCRSolver solver; /* of the best so far */
  Choice best;
  PetscInt ntimed; /* candidates so far */
} Tuner;

/* Launch parameters as -pc_bcrpoisson_launch and the file have them */
static PetscErrorCode launch_print(const int launch[], size_t length, char text[])
{
  PetscFunctionBegin;
  text[0] = 0;
  for (int i = 0; i < BCR_LAUNCH; i++) {
    char one[16];

    PetscCall(PetscSNPrintf(one, sizeof(one), i ? ",%d" : "%d", launch[i]));
    PetscCall(PetscStrlcat(text, one, length));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What follows them in the text, NULL: these are no launch parameters */
static const char *launch_parse(const char text[], int launch[])
{
  for (int i = 0; i < BCR_LAUNCH; i++) {
    char *end;

    if (i && *text++ != ',') return NULL;
    launch[i] = (int)strtol(text, &end, 10);
    if (end == text) return NULL;
    text = end;
  }
  return text;
}

static void choice_apply(const Choice *c, BCRSolverOptions *options)
{
  if (!options->core.radix && !options->core.nlevels) options->core.radix = c->radix;
  options->core.plain = c->plain;
  for (int i = 0; i < BCR_LAUNCH; i++) options->core.launch[i] = c->launch[i];
}

/* Makes a solver of a candidate, times it, and keeps it if it is the best so far */
static PetscErrorCode choice_time(Tuner *t, const Choice *c)
{
  BCRSolverOptions options = *t->options;
  BCRSolver solver = NULL;
  double time = PETSC_MAX_REAL;
  char launch[80];

  PetscFunctionBegin;
  choice_apply(c, &options);
  PetscCall(BCRSolverCreate(t->dof, t->ops, &options, t->slab, &solver));
  BCRCallElse(BCRSolverTime(solver, t->n, t->f, options.device ? TUNE_SOLVES_DEVICE : TUNE_SOLVES_HOST, &time),
              (void)BCRSolverDestroy(&solver));
  /* all must choose the same */
  if (t->slab) PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, t->comm));
  PetscCall(launch_print(c->launch, sizeof(launch), launch));
  PetscCall(PetscInfo(NULL, "Optimizer: radix %" PetscInt_FMT "%s%s, launch parameters %s: %g s\n", options.core.radix,
                      options.core.radix || options.core.nlevels ? "" : " (auto)", c->plain ? ", transforms alone" : "",
                      launch, time));
  /* the first one, the default, is the one to beat */
  if (!t->ntimed || time < TUNE_FASTER * t->best.seconds) {
    PetscCall(BCRSolverDestroy(&t->solver));
    t->best = *c;
    t->best.seconds = time;
    t->solver = solver;
  } else PetscCall(BCRSolverDestroy(&solver));
  ++t->ntimed;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Times values[n] of one launch parameter, the others as in the best so far */
static PetscErrorCode launch_time(Tuner *t, int which, PetscInt n, const int values[])
{
  const int had = t->best.launch[which];

  PetscFunctionBegin;
  for (PetscInt i = 0; i < n; i++) {
    Choice c = t->best;

    if (values[i] == had) continue;
    c.launch[which] = values[i];
    PetscCall(choice_time(t, &c));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Blocks of a given radix are along axes whose coefficients do not vary */
static PetscBool takes_radix(const Tuner *t)
{
  PetscBool takes = PETSC_TRUE;

  for (PetscInt c = 0; c < t->dof; c++)
    for (int d = 1; d < 3; d++)
      if (t->ops[c].axis[d].lower && t->ops[c].axis[d].n > 1) takes = PETSC_FALSE;
  return takes;
}

static PetscErrorCode tune(Tuner *t, const PetscInt size[])
{
  static const PetscInt radices[] = {4, 8, 16, 32, 64};
  static const int groups[] = {32, 64, 128, 256, 512}, terms[] = {16, 32, 64, 128, 256},
                   shared[] = {512, 1024, 2048, 4096}, strips[] = {1, 2, 3, 4, 6, 8};
  const BCRCoreOptions *core = &t->options->core;
  const PetscInt largest = PetscMax(size[0], PetscMax(size[1], size[2]));
  const PetscBool given = core->radix || core->nlevels ? PETSC_TRUE : PETSC_FALSE;
  Choice c;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&c, sizeof(c)));
  PetscCall(PetscArraycpy(c.launch, core->launch, BCR_LAUNCH));
  PetscCall(choice_time(t, &c));
  if (t->slab && t->options->device) { /* over ranks only level 0 has something to choose */
    if (!given) PetscCall(launch_time(t, BCR_LAUNCH_STRIPS, PETSC_STATIC_ARRAY_LENGTH(strips), strips));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(radices) && !given && takes_radix(t); i++) {
    if (radices[i] > largest || (t->options->device && (largest > TUNE_DEVICE_AXIS || radices[i] > TUNE_DEVICE_RADIX)))
      break;
    c.radix = radices[i];
    PetscCall(choice_time(t, &c));
  }
  if (!t->options->device) PetscFunctionReturn(PETSC_SUCCESS);
  c = t->best;
  c.radix = 0;
  c.plain = PETSC_TRUE;
  if (!given && t->ops[0].dim > 1) PetscCall(choice_time(t, &c));
  if (given || t->best.radix) {
    PetscInt n = 0;

    PetscCall(launch_time(t, BCR_LAUNCH_GROUP, PETSC_STATIC_ARRAY_LENGTH(groups), groups));
    PetscCall(launch_time(t, BCR_LAUNCH_SUM, PETSC_STATIC_ARRAY_LENGTH(terms), terms));
    while (n < (PetscInt)PETSC_STATIC_ARRAY_LENGTH(shared) && shared[n] < size[0] &&
           shared[n] >= 2 * t->best.launch[BCR_LAUNCH_GROUP])
      n++;
    PetscCall(launch_time(t, BCR_LAUNCH_SHARED, n, shared));
  } else if (!t->best.plain) PetscCall(launch_time(t, BCR_LAUNCH_STRIPS, PETSC_STATIC_ARRAY_LENGTH(strips), strips));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Some numbers to solve with */
static PetscErrorCode tune_vectors(Tuner *t)
{
  PetscRandom random;

  PetscFunctionBegin;
  PetscCall(PetscMalloc1(t->n, &t->f));
  PetscCall(PetscRandomCreate(PETSC_COMM_SELF, &random));
  for (PetscInt i = 0; i < t->n; ++i) PetscCall(PetscRandomGetValue(random, &t->f[i]));
  PetscCall(PetscRandomDestroy(&random));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -------- the file -------- */

/* What a line is found by: everything that the time depends on. No blanks in names. */
static PetscErrorCode tune_key(const Tuner *t, const PetscInt size[], size_t length, char key[])
{
  static const char letters[] = "dncDpg"; /* as BCREnd */
  static const char *precisions[] = {"double", "single", "mixed"};
  const BCRCoreOptions *core = &t->options->core;
  char machine[80], ends[8] = "", given[128] = "auto";
  PetscMPIInt ranks = 1;

  PetscFunctionBegin;
  PetscCall(BCRSolverMachine(t->options, sizeof(machine), machine));
  for (char *s = machine; *s; s++)
    if (*s == ' ') *s = '_';
  for (PetscInt d = 0; d < t->ops[0].dim; d++)
    for (int e = 0; e < 2; e++)
      ends[2 * d + e] = letters[t->ops[0].axis[d].lower ? 5 : PetscMin((int)t->ops[0].axis[d].end[e], 5)];
  ends[2 * t->ops[0].dim] = 0;
  if (core->radix) PetscCall(PetscSNPrintf(given, sizeof(given), "%" PetscInt_FMT, core->radix));
  for (PetscInt i = 0; i < core->nlevels; i++) {
    char one[16];

    PetscCall(PetscSNPrintf(one, sizeof(one), i ? ",%" PetscInt_FMT : "%" PetscInt_FMT, core->schedule[i]));
    if (!i) given[0] = 0;
    PetscCall(PetscStrlcat(given, one, sizeof(given)));
  }
  if (t->slab) PetscCallMPI(MPI_Comm_size(t->comm, &ranks));
  PetscCall(PetscSNPrintf(key, length,
                          "%s n=%" PetscInt_FMT "x%" PetscInt_FMT "x%" PetscInt_FMT " dof=%" PetscInt_FMT
                          " ends=%s precision=%s radix=%s ranks=%d",
                          machine, size[0], size[1], size[2], t->dof, ends, precisions[core->precision], given,
                          (int)ranks));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* " : radix=0 plain=0 launch=0,0,0,0 seconds=1e-3", what a line of the file has after its key */
static PetscBool choice_parse(const char text[], Choice *c)
{
  int radix = 0, plain = 0, n = 0;

  if (sscanf(text, " : radix=%d plain=%d launch=%n", &radix, &plain, &n) != 2 || !n) return PETSC_FALSE;
  text = launch_parse(text + n, c->launch);
  if (!text || sscanf(text, " seconds=%lf", &c->seconds) != 1 || radix < 0 || radix == 1) return PETSC_FALSE;
  c->radix = radix;
  c->plain = plain ? PETSC_TRUE : PETSC_FALSE;
  return PETSC_TRUE;
}

/* The last line with the key; on one rank */
static PetscErrorCode file_find(const char file[], const char key[], PetscBool must, Choice *c, PetscBool *found,
                                BCRFault *fault)
{
  const size_t length = strlen(key);
  char line[512];
  int number = 0;
  FILE *f = fopen(file, "r");

  PetscFunctionBegin;
  *found = PETSC_FALSE;
  if (!f) {
    if (must || errno != ENOENT)
      PetscCall(BCRFaultSet(fault, PETSC_ERR_FILE_OPEN,
                            "-pc_bcrpoisson_tune_file %s cannot be read (%s): with -pc_bcrpoisson_tune on it is made",
                            file, strerror(errno)));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  while (fgets(line, sizeof(line), f)) {
    number++;
    if (strncmp(line, key, length) || line[length] != ' ') continue;
    if (!choice_parse(line + length, c)) {
      PetscCall(
        BCRFaultSet(fault, PETSC_ERR_FILE_UNEXPECTED,
                    "Line %d of -pc_bcrpoisson_tune_file %s is not one that this version of petscbcr writes: remove it",
                    number, file));
      break;
    }
    *found = PETSC_TRUE;
  }
  fclose(f);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode file_append(const char file[], const char key[], const Choice *c, BCRFault *fault)
{
  FILE *f;
  char launch[80];

  PetscFunctionBegin;
  PetscCall(launch_print(c->launch, sizeof(launch), launch));
  f = fopen(file, "a");
  if (!f ||
      fprintf(f, "%s : radix=%d plain=%d launch=%s seconds=%.3e\n", key, (int)c->radix, (int)c->plain, launch,
              c->seconds) < 0 ||
      fclose(f))
    PetscCall(
      BCRFaultSet(fault, PETSC_ERR_FILE_WRITE,
                  "-pc_bcrpoisson_tune_file %s cannot be written (%s): name another file, or leave the option out",
                  file, strerror(errno)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode choice_words(const BCRSolverOptions *options, const Choice *c, size_t length, char words[])
{
  const BCRCoreOptions *core = &options->core;
  PetscBool other = PETSC_FALSE;

  PetscFunctionBegin;
  for (int i = 0; i < BCR_LAUNCH; i++)
    if (c->launch[i] != core->launch[i]) other = PETSC_TRUE;
  if (core->radix || core->nlevels) PetscCall(PetscStrncpy(words, "the given one", length));
  else if (c->radix) PetscCall(PetscSNPrintf(words, length, "radix %" PetscInt_FMT, c->radix));
  else PetscCall(PetscStrncpy(words, c->plain ? "transforms and lines alone" : "the automatic one", length));
  if (other) {
    char launch[80];

    PetscCall(launch_print(c->launch, sizeof(launch), launch));
    PetscCall(PetscStrlcat(words, " with -pc_bcrpoisson_launch ", length));
    PetscCall(PetscStrlcat(words, launch, length));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRSolverTune(MPI_Comm comm, PetscInt dof, const BCROperator ops[], const PetscInt size[],
                             const BCRSolverOptions *options, const BCRSlab *slab, const char file[], PetscBool timeit,
                             BCRSolver *solver, BCRTuned *tuned)
{
  Tuner t;
  BCRFault fault = {PETSC_SUCCESS, ""};
  char key[256];
  PetscBool found = PETSC_FALSE;
  PetscMPIInt rank = 0;

  PetscFunctionBegin;
  for (PetscInt c = 0; c < dof && timeit; c++) timeit = ops[c].product ? PETSC_FALSE : timeit; /* one plan */
  PetscCall(PetscMemzero(&t, sizeof(t)));
  PetscCall(PetscMemzero(tuned, sizeof(*tuned)));
  t.comm = comm;
  t.dof = dof;
  t.ops = ops;
  t.options = options;
  t.slab = slab;
  if (slab) PetscCallMPI(MPI_Comm_rank(comm, &rank));
  if (file) {
    PetscCall(tune_key(&t, size, sizeof(key), key));
    if (rank == 0) PetscCall(file_find(file, key, timeit ? PETSC_FALSE : PETSC_TRUE, &t.best, &found, &fault));
    if (slab) {
      PetscCall(BCRFaultAgree(comm, &fault));
      PetscCallMPI(MPI_Bcast(&found, (PetscMPIInt)sizeof(found), MPI_BYTE, 0, comm));
      PetscCallMPI(MPI_Bcast(&t.best, (PetscMPIInt)sizeof(t.best), MPI_BYTE, 0, comm));
    } else PetscCall(BCRFaultAgree(PETSC_COMM_SELF, &fault));
  }
  if (!found && timeit && (options->device || (!options->core.radix && !options->core.nlevels))) {
    PetscErrorCode ierr;

    t.n = dof;
    for (PetscInt d = 0; d < 3; d++) t.n *= slab && d == slab->axis ? slab->len : size[d];
    ierr = tune_vectors(&t);
    if (slab) ierr = BCRFaultShare(comm, ierr, BCR_NO_MEMORY);
    if (!ierr) ierr = tune(&t, size);
    PetscCall(PetscFree(t.f));
    if (file && !ierr) {
      if (rank == 0) PetscCall(file_append(file, key, &t.best, &fault));
      ierr = BCRFaultAgree(slab ? comm : PETSC_COMM_SELF, &fault);
    }
    BCRCallElse(ierr, (void)BCRSolverDestroy(&t.solver));
    *solver = t.solver;
    tuned->ntimed = t.ntimed;
  } else {
    BCRSolverOptions with = *options;

    if (found) choice_apply(&t.best, &with);
    tuned->fromfile = found;
    PetscCall(BCRSolverCreate(dof, ops, &with, slab, solver));
  }
  tuned->seconds = t.best.seconds;
  PetscCall(choice_words(options, &t.best, sizeof(tuned->what), tuned->what));
  PetscFunctionReturn(PETSC_SUCCESS);
}
