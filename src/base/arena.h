/*
  Host memory of tables and workspace.
*/
#pragma once

#include "petscbcrimpl.h"

/* A bag of aligned allocations that die together */
typedef struct {
  void **chunk;
  int n, max;
  size_t bytes;
  char *at; /* the last chunk's free end */
  size_t room;
} BCRArena;
PETSC_INTERN PetscErrorCode BCRArenaGet(BCRArena *arena, size_t bytes, void *p);
/* an array of n numbers of the kernels' precision */
PETSC_INTERN PetscErrorCode BCRArenaReal(BCRArena *arena, PetscBool single, size_t n, const double v[], void *p);
PETSC_INTERN PetscErrorCode BCRArenaFree(BCRArena *arena);
