/*
  Registration: what makes `-dll_append libpetscbcr.so` and PetscBCRInitializePackage() work.
*/
#include <petscbcr.h>
#include "register.h"

PetscLogEvent BCR_Read, BCR_SetUp, BCR_Solve, BCR_Recurrence;

/* All of this file's state. The finalizer puts it back, so that PETSc may be initialized again. */
static PetscBool PetscBCRPackageInitialized = PETSC_FALSE;
static PetscBool PetscBCRPoissonCited       = PETSC_FALSE;
static PetscBool PetscBCRRecurrenceCited    = PETSC_FALSE;
static PetscBool PetscBCRNeatoCited         = PETSC_FALSE;

#define PETSCBCR_VERSION PetscStringize(PETSCBCR_VERSION_MAJOR) "." PetscStringize(PETSCBCR_VERSION_MINOR) "." PetscStringize(PETSCBCR_VERSION_PATCH)

static const char PetscBCRPoissonCitation[] = "@InProceedings{MyllykoskiRossiToivanen2013,\n"
                                              "  author    = {Mirko Myllykoski and Tuomo Rossi and Jari Toivanen},\n"
                                              "  title     = {Fast {P}oisson Solvers for Graphics Processing Units},\n"
                                              "  booktitle = {Applied Parallel and Scientific Computing, PARA 2012},\n"
                                              "  series    = {Lecture Notes in Computer Science},\n"
                                              "  volume    = {7782},\n"
                                              "  pages     = {265--279},\n"
                                              "  publisher = {Springer},\n"
                                              "  year      = {2013},\n"
                                              "  doi       = {10.1007/978-3-642-36803-5_19}\n"
                                              "}\n"
                                              "@Misc{petscbcr,\n"
                                              "  title = {petscbcr: fast direct {P}oisson and {H}elmholtz solvers by block cyclic reduction for {PETSc}},\n"
                                              "  note  = {Version " PETSCBCR_VERSION "}\n}\n";

PetscErrorCode PetscBCRCitePoisson(void)
{
  PetscFunctionBegin;
  PetscCall(PetscCitationsRegister(PetscBCRPoissonCitation, &PetscBCRPoissonCited));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char PetscBCRRecurrenceCitation[] = "@InProceedings{Wakatani2012,\n"
                                                 "  author    = {Akiyoshi Wakatani},\n"
                                                 "  title     = {Implementation and Evaluation of Recurrence Equation Solvers on {GPGPU} systems using Rearrangement of Array Configurations},\n"
                                                 "  booktitle = {FUTURE COMPUTING 2012, The Fourth International Conference on Future Computational Technologies and Applications},\n"
                                                 "  publisher = {IARIA},\n"
                                                 "  year      = {2012},\n"
                                                 "  isbn      = {978-1-61208-217-2}\n"
                                                 "}\n";

PetscErrorCode PetscBCRCiteRecurrence(void)
{
  PetscFunctionBegin;
  PetscCall(PetscCitationsRegister(PetscBCRRecurrenceCitation, &PetscBCRRecurrenceCited));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static const char PetscBCRNeatoCitation[] = "@MastersThesis{Srinath2015,\n"
                                            "  author = {Ashwin Trikuta Srinath},\n"
                                            "  title  = {A novel approach to evaluating compact finite differences and similar tridiagonal schemes on {GPU}-accelerated clusters},\n"
                                            "  school = {Clemson University},\n"
                                            "  year   = {2015},\n"
                                            "  url    = {https://tigerprints.clemson.edu/all_theses/2283}\n"
                                            "}\n"
                                            "@Misc{petscbcr-lines,\n"
                                            "  title = {petscbcr: tridiagonal solvers of the grid lines of a {DMDA} for {PETSc}},\n"
                                            "  note  = {Version " PETSCBCR_VERSION "}\n}\n";

PetscErrorCode PetscBCRCiteNeato(void)
{
  PetscFunctionBegin;
  PetscCall(PetscCitationsRegister(PetscBCRNeatoCitation, &PetscBCRNeatoCited));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  PetscBCRFinalizePackage - forgets that `PetscBCRInitializePackage()` was called; `PetscFinalize()` calls it

  Not Collective

  Level: developer

.seealso: `PetscBCRInitializePackage()`, `PetscFinalize()`
@*/
PetscErrorCode PetscBCRFinalizePackage(void)
{
  PetscFunctionBegin;
  PetscBCRPackageInitialized = PETSC_FALSE;
  PetscBCRPoissonCited       = PETSC_FALSE;
  PetscBCRRecurrenceCited    = PETSC_FALSE;
  PetscBCRNeatoCited         = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  PetscBCRInitializePackage - registers the types of this library, `PCBCRPOISSON`, `KSPBCRPOISSON`, `PCNEATO` and `KSPNEATO`, with their log events

  Not Collective, call it on every process

  Level: beginner

  Notes:
  Call it once after `PetscInitialize()`, before the types are used. More calls do nothing; after `PetscFinalize()` and another
  `PetscInitialize()` it is to be called again.

  There is no need to call it where the library is loaded with `-dll_append /path/to/libpetscbcr.so`.

  From Fortran, `call PetscBCRInitializePackage(ierr)`.

  Raises `PETSC_ERR_LIB` where the library was built for another PETSc release than the one that runs.

.seealso: `PCBCRPOISSON`, `KSPBCRPOISSON`, `PCNEATO`, `KSPNEATO`, `PetscInitialize()`, `PCRegister()`, `KSPRegister()`
@*/
PetscErrorCode PetscBCRInitializePackage(void)
{
  PetscInt major, minor, subminor, release;

  PetscFunctionBegin;
  if (PetscBCRPackageInitialized) PetscFunctionReturn(PETSC_SUCCESS);
  /* the structs behind PC and KSP are laid out anew in each release */
  PetscCall(PetscGetVersionNumber(&major, &minor, &subminor, &release));
  PetscCheck(major == PETSC_VERSION_MAJOR && minor == PETSC_VERSION_MINOR, PETSC_COMM_SELF, PETSC_ERR_LIB, "petscbcr was built with PETSc %d.%d but runs with PETSc %" PetscInt_FMT ".%" PetscInt_FMT ": build it with the PETSc of the application",
             PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, major, minor);
  PetscBCRPackageInitialized = PETSC_TRUE;
  PetscCall(PCRegister(PCBCRPOISSON, PCCreate_BCRPoisson));
  PetscCall(KSPRegister(KSPBCRPOISSON, KSPCreate_BCRPoisson));
  PetscCall(PCRegister(PCNEATO, PCCreate_Neato));
  PetscCall(KSPRegister(KSPNEATO, KSPCreate_Neato));
  PetscCall(PetscLogEventRegister("BCRRead", PC_CLASSID, &BCR_Read));
  PetscCall(PetscLogEventRegister("BCRSetUp", PC_CLASSID, &BCR_SetUp));
  PetscCall(PetscLogEventRegister("BCRSolve", PC_CLASSID, &BCR_Solve));
  PetscCall(PetscLogEventRegister("BCRRecurrence", VEC_CLASSID, &BCR_Recurrence));
  PetscCall(PetscRegisterFinalize(PetscBCRFinalizePackage));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc calls this when it opens libpetscbcr.so for -dll_append or -dll_prepend, each time it does */
PETSC_EXTERN PetscErrorCode PetscDLLibraryRegister_petscbcr(void)
{
  PetscFunctionBegin;
  PetscCall(PetscBCRInitializePackage());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* call PetscBCRInitializePackage(ierr) from Fortran */
#if defined(PETSC_HAVE_FORTRAN_CAPS)
  #define petscbcrinitializepackage_ PETSCBCRINITIALIZEPACKAGE
#elif defined(PETSC_HAVE_FORTRAN) && !defined(PETSC_HAVE_FORTRAN_UNDERSCORE)
  #define petscbcrinitializepackage_ petscbcrinitializepackage
#endif
PETSC_EXTERN void petscbcrinitializepackage_(PetscErrorCode *ierr)
{
  *ierr = PetscBCRInitializePackage();
}
