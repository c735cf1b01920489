/*
  What the sources of this library share: differences between PETSc releases bridged in one place.
*/
#pragma once

#include <petscsys.h>

#if PETSC_VERSION_LT(3, 19, 0)
  #define PETSC_SUCCESS ((PetscErrorCode)0)
#endif

/* The type of the argument named PetscOptionsObject of a setfromoptions method */
#if PETSC_VERSION_LT(3, 18, 0)
  #error "petscbcr needs PETSc 3.18 or later"
#elif PETSC_VERSION_LT(3, 23, 0)
typedef PetscOptionItems *BCROptionItems;
#else
typedef PetscOptionItems BCROptionItems;
#endif

/* Is there a CUDA backend? Calls of it are in branches of this constant, and compilers leave them out where it is 0 */
#if defined(PETSCBCR_HAVE_CUDA)
  #define BCR_HAVE_CUDA 1
#else
  #define BCR_HAVE_CUDA 0
#endif

/* PetscCall() in a function that has something to give back first: temporary arrays, a half-built object */
#define BCRCallElse(call, ...) \
  do { \
    const PetscErrorCode ierr_else_ = (call); \
\
    if (PetscUnlikely(ierr_else_)) { \
      __VA_ARGS__; \
      PetscCall(ierr_else_); \
    } \
  } while (0)

/* A KSPSolve() that ends with an error behind PCPreSolve() does not come to PCPostSolve(), and
   PETSc allows for two such: for a function of a PC that raises one */
#define BCRPreSolveEnds(pc) ((pc)->presolvedone -= (pc)->presolvedone ? 1 : 0)

#if PETSC_VERSION_LT(3, 22, 0)
  #define PetscOptionsCreateViewer PetscOptionsGetViewer
#endif

#if PETSC_VERSION_LT(3, 20, 0)
  #define BCRAssertPointer(p, arg) PetscValidPointer(p, arg)
#else
  #define BCRAssertPointer(p, arg) PetscAssertPointer(p, arg)
#endif
