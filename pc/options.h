/*
  The options of a PC as a table of one line for each: read from the database, set and got by
  functions, compared between ranks, viewed. A PC that has one keeps it at the start of its data.
*/
#pragma once

#include "../src/base/petscbcrimpl.h"
#include <petsc/private/pcimpl.h>
#include <stddef.h>

typedef enum {
  BCR_OPTION_BOOL,  /* PetscBool */
  BCR_OPTION_INT,   /* PetscInt */
  BCR_OPTION_REAL,  /* PetscReal */
  BCR_OPTION_ENUM,  /* an enumeration, with its list of words */
  BCR_OPTION_STRING /* char *, owned, NULL where there is none */
} BCROptionType;

/* flags */
#define BCR_OPTION_PLAN    1 /* the plan of a solver depends on it, not only what the solver is given */
#define BCR_OPTION_RANK    2 /* ranks may have different ones */
#define BCR_OPTION_IMPLIED 4 /* options with `given` imply a value that is not the default */

#define BCR_OPTION_MAX 64 /* values of a list, at most */

typedef void (*BCRMethod)(void); /* any function, cast */

typedef struct _n_BCROption BCROption;
struct _n_BCROption {
  const char *name; /* what follows "-pc_bcrpoisson_" and "-ksp_bcrpoisson_", or the same of PCNEATO */
  const char *help;
  BCROptionType type;
  size_t offset; /* of the value, or of the first of a list, in the data of the PC */
  unsigned flags;
  const char *const *words; /* BCR_OPTION_ENUM: as PETSc has them, words, name of the type, prefix, NULL */
  double standard;          /* the default, of one number */
  /* the user's functions, which call BCROptionSet() and BCROptionGet(); without them: the name that
     -help shows, or NULL */
  const char *setter, *getter;
  BCRMethod set, get;
  PetscInt max;     /* a list of so many values at most, 0 for one value */
  size_t count;     /* a list: offset of the PetscInt that says how long it is, 0 where it always has max values */
  const char *none; /* the word for the default, or for a list of none */
  /* the value is text in the database: *n values of it. option: whole name, with prefix */
  PetscErrorCode (*parse)(PC pc, const char option[], const char text[], PetscInt *n, void *values);
  /* raises an error for values that cannot be. option: whole name, with prefix, or NULL where it is a setter that gave
     them */
  PetscErrorCode (*check)(PC pc, const char option[], PetscInt n, const void *values);
  PetscInt least;                 /* BCR_OPTION_INT with a reason why: smaller ones cannot be */
  const char *why;                /* that is said then */
  PetscErrorCode (*given)(PC pc); /* what else it means that the option is in the database */
};

/* What else a PC carries for callers that know it by name alone; "_C" is appended */
typedef struct {
  const char *name;
  BCRMethod function;
} BCRMethodEntry;

typedef struct {
  const char *type; /* of the PC, for messages */
  const char *stem; /* "-pc_bcrpoisson_" */
  const char *head; /* of its options in -help */
  PetscInt noptions, nmethods;
  const BCROption *option;      /* [noptions] in the order of -help */
  const BCRMethodEntry *method; /* [nmethods] */
  size_t replan;                /* offset of a PetscBool that is set when a plan is obsolete, 0: there is none */
} BCROptions;

/* What the data of a PC with options begin with */
typedef struct {
  const BCROptions *options;
} BCROptionsOwner;

#define BCR_OPTION_METHODS(class, name) \
  .setter = #class "Set" #name, .getter = #class "Get" #name, .set = (BCRMethod) class##Set##name, \
  .get = (BCRMethod) class##Get##name

/* The start of its data, with defaults in it, and the composed methods of a new PC; and what undoes it */
PETSC_INTERN PetscErrorCode BCROptionsCreate(PC pc, const BCROptions *options);
PETSC_INTERN PetscErrorCode BCROptionsDestroy(PC pc);
/* PCSetFromOptions(), and the same below another stem ("-ksp_bcrpoisson_"). Collective: an option
   that is wrong on one rank, which may have others than the rest, is an error on all */
PETSC_INTERN PetscErrorCode BCROptionsSetFromOptions(PC pc, BCROptionItems PetscOptionsObject);
PETSC_INTERN PetscErrorCode BCROptionsRead(PC pc, const char stem[], BCROptionItems PetscOptionsObject);
/* Collective. Ranks must want the same, or they would wait for one another in different places */
PETSC_INTERN PetscErrorCode BCROptionsCheckSame(PC pc);
/* Those that are not the defaults, as one would give them */
PETSC_INTERN PetscErrorCode BCROptionsView(PC pc, PetscViewer viewer);

/* All of a user's setter or getter: n values, 1 but for lists. No PC with such an option: a setter
   does nothing, a getter raises an error. value: gets a copy of one value, and a pointer to strings and lists */
PETSC_INTERN PetscErrorCode BCROptionSet(PC pc, const char setter[], PetscInt n, const void *values);
PETSC_INTERN PetscErrorCode BCROptionGet(PC pc, const char getter[], PetscInt *n, void *value);

/* For parse: numbers with commas between them, or the word that stands for none. What is said of a text that is no such list, and
   of one with more than max of them */
PETSC_INTERN PetscErrorCode BCROptionIntegers(PC pc, const char option[], const char text[], const char none[],
                                              const char wrong[], const char many[], PetscInt max, PetscInt *n,
                                              PetscInt number[]);

/* The next PCSetUp() has to run although the matrix is the same; plan: with a new plan */
PETSC_INTERN void BCROptionsChanged(PC pc, PetscBool plan);

/* of the options of an object, for messages */
static inline const char *BCRPrefix(PC pc)
{
  return ((PetscObject)pc)->prefix ? ((PetscObject)pc)->prefix : "";
}

/* The words of -pc_bcrpoisson_isa and -pc_neato_isa, for developers: numbered from -1 in BCRCoreOptions and BCRTriOptions */
PETSC_INTERN const char *const BCRInstructionSets[];
