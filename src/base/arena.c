#include "arena.h"

/* small pieces come from chunks a quarter as large as all before */
PetscErrorCode BCRArenaGet(BCRArena *arena, size_t bytes, void *p)
{
  const size_t need = (bytes + 63) & ~(size_t)63;

  PetscFunctionBegin;
  if (need > arena->room) {
    const size_t size = PetscMax(need, PetscMin(arena->bytes / 4, (size_t)65536));
    char *raw;

    if (arena->n == arena->max) {
      void **more;

      PetscCall(PetscMalloc1(2 * arena->max + 16, &more));
      if (arena->n) PetscCall(PetscMemcpy(more, arena->chunk, arena->n * sizeof(void *)));
      PetscCall(PetscFree(arena->chunk));
      arena->chunk = more;
      arena->max = 2 * arena->max + 16;
    }
    PetscCall(PetscMalloc1(size + 64, &raw));
    arena->chunk[arena->n++] = raw;
    arena->at = (char *)(((uintptr_t)raw + 63) & ~(uintptr_t)63);
    arena->room = size;
  }
  *(void **)p = arena->at;
  arena->at += need;
  arena->room -= need;
  arena->bytes += bytes;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRArenaReal(BCRArena *arena, PetscBool single, size_t n, const double v[], void *p)
{
  void *q;

  PetscFunctionBegin;
  PetscCall(BCRArenaGet(arena, n * (single ? sizeof(float) : sizeof(double)), &q));
  for (size_t i = 0; i < n; i++) {
    if (single) ((float *)q)[i] = (float)v[i];
    else ((double *)q)[i] = v[i];
  }
  *(void **)p = q;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode BCRArenaFree(BCRArena *arena)
{
  PetscFunctionBegin;
  for (int i = 0; i < arena->n; i++) PetscCall(PetscFree(arena->chunk[i]));
  PetscCall(PetscFree(arena->chunk));
  arena->n = arena->max = 0;
  arena->bytes = arena->room = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}
