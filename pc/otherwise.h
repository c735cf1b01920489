/*
  The PC that stands in where a matrix is none that a PC of this library knows: -pc_bcrpoisson_otherwise,
  -pc_neato_otherwise.
*/
#pragma once

#include "options.h"

typedef struct {
  char *type;       /* of the PC, or NULL */
  PC pc;            /* it, where it stands in; NULL: nothing does */
  char reason[512]; /* why it does */
} BCROtherwise;

/* Its line of an option table; `otherwise` is a field of the PC's data */
/* clang-format off */
#define BCR_OTHERWISE_OPTION(data, class) \
  {"otherwise", "Type of the PC where there is no grid or no operator of ours", BCR_OPTION_STRING, \
   offsetof(data, otherwise.type), 0, NULL, 0, BCR_OPTION_METHODS(class, Otherwise)}
/* clang-format on */

/* set_up, or the PC in place of it where it ends with an error that says that the matrix is none of ours, after reset. Such
   errors are agreed on by all ranks */
PETSC_INTERN PetscErrorCode BCROtherwiseSetUp(PC pc, BCROtherwise *o, PetscBool vecs, Vec b, Vec x,
                                              PetscErrorCode (*set_up)(PC, PetscBool, Vec, Vec),
                                              PetscErrorCode (*reset)(PC));
/* Where it stands in, it is what a KSP talks to */
PETSC_INTERN PetscErrorCode BCROtherwisePreSolve(PC pc, BCROtherwise *o, KSP ksp);
PETSC_INTERN PetscErrorCode BCROtherwisePostSolve(PC pc, BCROtherwise *o, KSP ksp);
PETSC_INTERN PetscErrorCode BCROtherwiseView(const BCROtherwise *o, PetscViewer viewer);
