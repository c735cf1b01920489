/*
  A direct solver, which is a PC, as a KSP: what KSPBCRPOISSON and KSPNEATO share.
*/
#pragma once

#include "../../src/register.h"

typedef struct {
  const char *name;    /* of the KSP type, for messages */
  const char *pc;      /* type of the preconditioner */
  const char *pcname;  /* and its name */
  const char *head;    /* of its options in -help */
  const char *stem;    /* of the options that are read under the KSP's own name */
  const char *options; /* the method of the PC that reads them */
} BCRRefineKind;

/* kind has to live as long as the KSP */
PETSC_INTERN PetscErrorCode BCRRefineCreate(KSP ksp, const BCRRefineKind *kind);
