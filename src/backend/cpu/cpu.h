/* The CPU backend's kernels by instruction set and precision, and what this machine can run. */
#pragma once

#include "dtt.h"
#include "lines.h"
#include "level0.h"
#include "poles.h"
#include "polesum.h"
#include "fields.h"
#include "tri.h"
#include "recurrence.h"
#include "compact.h"
#include "waves.h"

typedef struct {
  const char *isa;
  int lanes; /* of a native vector */
  BCRDttTable dtt;
  const BCRLinesTable *lines;
  const BCRLevel0Table *level0;
  const BCRPolesTable *poles;
  const BCRPoleSumTable *polesum;
  const BCRFieldsTable *fields;
  const BCRTriTable *tri;
  int bundle; /* BL of lanes.h */
  const BCRRecurTable *recur;
  const BCRCompactTable *compact;
  const BCRWavesTable *waves; /* NULL in single precision */
} BCRCpuTable;

/* isa: -1 the best this machine has, 0 baseline, 1 AVX2 + FMA, 2 AVX-512; a set that the machine
   lacks gives the next lower one */
PETSC_INTERN const BCRCpuTable *BCRCpuGetTable(int isa, int single);
PETSC_INTERN int BCRCpuBestISA(void);
