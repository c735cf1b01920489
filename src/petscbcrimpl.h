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

#if PETSC_VERSION_LT(3, 20, 0)
  #define BCRAssertPointer(p, arg) PetscValidPointer(p, arg)
#else
  #define BCRAssertPointer(p, arg) PetscAssertPointer(p, arg)
#endif
