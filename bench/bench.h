/*
  Shared by the programs in bench/: the clock, medians, the machine, CSV files (columns in bench/README.md).
*/
#pragma once

#include "src/base/petscbcrimpl.h"
#include "tests/check.h"
#include <petscdevice.h>
#include <petscksp.h>
#include <petscdmda.h>
#include <petscbcr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#if defined(PETSC_USE_COMPLEX) && !defined(BENCH_ANY_SCALARS)
  #error "This program wants a PETSc with real scalars"
#endif

#ifndef PETSCBCR_BENCH_COMPILER
  #define PETSCBCR_BENCH_COMPILER __VERSION__
#endif

static inline double BenchTime(void)
{
  struct timespec t;

  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

static inline double BenchProcessorTime(void)
{
  struct timespec t;

  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return t.tv_sec + 1e-9 * t.tv_nsec;
}

/* All that was launched on PETSc's stream is done */
static inline PetscErrorCode BenchWait(void)
{
  PetscDeviceContext context;

  PetscFunctionBegin;
  PetscCall(PetscDeviceContextGetCurrentContext(&context));
  PetscCall(PetscDeviceContextSynchronize(context));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A clock from a barrier on, read when the slowest rank is there */
static inline PetscErrorCode BenchClockStart(double *start)
{
  PetscFunctionBegin;
  PetscCallMPI(MPI_Barrier(PETSC_COMM_WORLD));
  *start = BenchTime();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode BenchClockRead(double start, double *t)
{
  PetscFunctionBegin;
  *t = BenchTime() - start;
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, t, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The same; cpu: of the time that the processor spends on this process, of that rank on which it is longest */
static inline PetscErrorCode BenchTimerStart(PetscBool cpu, double *start)
{
  PetscFunctionBegin;
  PetscCall(BenchClockStart(start));
  if (cpu) *start = BenchProcessorTime();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline PetscErrorCode BenchTimerRead(PetscBool cpu, double start, double *t)
{
  PetscFunctionBegin;
  if (cpu) start += BenchTime() - BenchProcessorTime();
  PetscCall(BenchClockRead(start, t));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What PCView() says; to be freed by free() */
static inline PetscErrorCode BenchViewText(KSP ksp, char **text)
{
  size_t size = 0;
  FILE *memory = open_memstream(text, &size);
  PetscViewer viewer;
  PC pc;

  PetscFunctionBegin;
  PetscCheck(memory, PETSC_COMM_SELF, PETSC_ERR_SYS, "No memory for text");
  PetscCall(PetscViewerASCIIOpenWithFILE(PETSC_COMM_SELF, memory, &viewer));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCView(pc, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  (void)fclose(memory);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static inline int BenchCompare(const void *a, const void *b)
{
  const double x = *(const double *)a, y = *(const double *)b;

  return (x > y) - (x < y);
}

/* Median and minimum in seconds; sorts t */
static inline void BenchStatistics(PetscInt n, double t[], double *median, double *minimum)
{
  *median = *minimum = 0;
  if (!n) return;
  qsort(t, (size_t)n, sizeof(*t), BenchCompare);
  *median = n % 2 ? t[n / 2] : 0.5 * (t[n / 2 - 1] + t[n / 2]);
  *minimum = t[0];
}

/* One line of the CSV file; times in seconds. NAN: left empty */
typedef struct {
  const char *program, *name, *precision, *solver;
  const char *axis; /* NULL: - */
  int ranks;        /* 0: 1 */
  PetscInt dim, n[3], iterations;
  double time, copy, setup, residual, mintime, mincopy, first;
} BenchRow;

static inline void BenchPut(FILE *file, const char *format, double value)
{
  fputc(',', file);
  if (value == value) fprintf(file, format, value); /* not for NaN */
}

static inline void BenchWriteRow(FILE *file, const BenchRow *r)
{
  const double unknowns = (double)r->n[0] * r->n[1] * r->n[2];

  if (!file) return;
  fprintf(file, "%s,%s,%d,%d,%s,%s,%s,%d", r->program, r->name, (int)r->dim, (int)r->n[0], r->axis ? r->axis : "-",
          r->precision, r->solver, r->ranks ? r->ranks : 1);
  BenchPut(file, "%.6g", 1e3 * r->time);
  BenchPut(file, "%.6g", 1e3 * r->copy);
  BenchPut(file, "%.4g", r->time / r->copy);
  BenchPut(file, "%.6g", 1e3 * r->setup);
  BenchPut(file, "%.3g", r->residual);
  BenchPut(file, "%.6g", 1e3 * r->mintime);
  BenchPut(file, "%.6g", 1e3 * r->mincopy);
  BenchPut(file, "%.4g", r->mintime / r->mincopy);
  BenchPut(file, "%.6g", 1e3 * r->first);
  fprintf(file, ",%d", (int)r->iterations);
  BenchPut(file, "%.4g", 1e9 * r->time / unknowns);
  fprintf(file, ",%d,%d,%d\n", (int)r->n[0], (int)r->n[1], (int)r->n[2]);
  fflush(file);
}

/* First line of a file below /proc or /sys that starts with key, what follows its colon */
static inline void BenchLookUp(const char *path, const char *key, char text[], size_t size)
{
  FILE *file = fopen(path, "r");
  char line[512];

  snprintf(text, size, "unknown");
  if (!file) return;
  while (fgets(line, sizeof(line), file)) {
    const char *colon = strchr(line, ':');

    if (strncmp(line, key, strlen(key)) || (*key && !colon)) continue;
    line[strcspn(line, "\n")] = 0;
    if (PetscStrncpy(text, *key ? colon + 1 + (colon[1] == ' ') : line, size)) text[0] = 0;
    break;
  }
  fclose(file);
}

/* Environment, on the screen and as comments in the file. `more` says what else is in the program. */
static inline PetscErrorCode BenchEnvironment(FILE *csv, const char *more)
{
  FILE *out[2] = {stdout, csv};
  char cpu[256], cache[4][64], version[256], date[64], **args, command[2048] = "";
  int nargs;
  time_t now = time(NULL);

  PetscFunctionBegin;
  BenchLookUp("/proc/cpuinfo", "model name", cpu, sizeof(cpu));
  for (int i = 0; i < 4; ++i) {
    char path[128];

    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
    BenchLookUp(path, "", cache[i], sizeof(cache[i]));
  }
  strftime(date, sizeof(date), "%Y-%m-%d %H:%M UTC", gmtime(&now));
  PetscCall(PetscGetVersion(version, sizeof(version)));
  PetscCall(PetscGetArgs(&nargs, &args));
  for (int i = 0; i < nargs; ++i) {
    const char *word = i ? args[i] : (strrchr(args[0], '/') ? strrchr(args[0], '/') + 1 : args[0]);

    if (i && !strcmp(word, "-csv")) { /* a path is nobody's business */
      ++i;
      continue;
    }
    snprintf(command + strlen(command), sizeof(command) - strlen(command), "%s%s", i ? " " : "", word);
  }
  for (int i = 0; i < 2; ++i) {
    if (!out[i]) continue;
    fprintf(out[i], "# command: %s\n", command);
    fprintf(out[i], "# machine: %s, %ld cores online, caches L1d %s, L2 %s, L3 %s\n", cpu,
            sysconf(_SC_NPROCESSORS_ONLN), cache[0], cache[2], cache[3]);
    fprintf(out[i], "# compiler: %s\n", PETSCBCR_BENCH_COMPILER);
    fprintf(out[i], "# PETSc: %s, %d-byte scalars, %d-byte indices%s\n", version, (int)sizeof(PetscScalar),
            (int)sizeof(PetscInt), PetscDefined(USE_DEBUG) ? ", DEBUG BUILD" : "");
    fprintf(out[i], "# petscbcr: %d.%d.%d; %s\n", PETSCBCR_VERSION_MAJOR, PETSCBCR_VERSION_MINOR,
            PETSCBCR_VERSION_PATCH, more);
    fprintf(out[i], "# date: %s\n", date);
    fflush(out[i]);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -csv FILE: rows are added to FILE, which gets its header line when it is new */
static inline PetscErrorCode BenchOpen(const char *more, FILE **csv)
{
  char path[PETSC_MAX_PATH_LEN];
  PetscBool given;

  PetscFunctionBegin;
  *csv = NULL;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-csv", path, sizeof(path), &given));
  if (given) {
    *csv = fopen(path, "a");
    PetscCheck(*csv, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "-csv %s: this file cannot be written", path);
    fseek(*csv, 0, SEEK_END);
    if (!ftell(*csv)) {
      fprintf(*csv, "program,case,dims,n,axis,precision,solver,ranks,time_ms,copy_ms,ratio_to_copy,setup_ms,residual,"
                    "min_ms,min_copy_ms,ratio_min,first_ms,iterations,per_unknown_ns,nx,ny,nz\n");
    }
  }
  PetscCall(BenchEnvironment(*csv, more));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* max|f - A u| / (||A|| max|u| + max|f|); r is work space */
static inline PetscErrorCode BenchBackwardError(Mat A, PetscReal normA, Vec f, Vec u, Vec r, double *error)
{
  PetscReal nr, nu, nf;

  PetscFunctionBegin;
  PetscCall(MatMult(A, u, r));
  PetscCall(VecAYPX(r, -1, f));
  PetscCall(TestMaxNorm(r, &nr));
  PetscCall(VecNorm(u, NORM_INFINITY, &nu));
  PetscCall(VecNorm(f, NORM_INFINITY, &nf));
  *error = nr / (normA * nu + nf);
  PetscFunctionReturn(PETSC_SUCCESS);
}
