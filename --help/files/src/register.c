/*
  Registration: what makes `-dll_append libpetscbcr.so` and PetscBCRInitializePackage() work.
*/
#include <petscbcr.h> /*I "petscbcr.h" I*/
#include "register.h"
#include <string.h>

/* SUBMANSEC = Sys */

PetscLogEvent BCR_Find, BCR_Read, BCR_SetUp, BCR_Solve, BCR_Recurrence;

/* All of this file's state. The finalizer puts it back, so that PETSc may be initialized again. */
static PetscBool PetscBCRPackageInitialized = PETSC_FALSE;
static PetscBool PetscBCRPoissonCited = PETSC_FALSE;
static PetscBool PetscBCRRecurrenceCited = PETSC_FALSE;
static PetscBool PetscBCRNeatoCited = PETSC_FALSE;

#define PETSCBCR_VERSION \
  PetscStringize(PETSCBCR_VERSION_MAJOR) "." PetscStringize(PETSCBCR_VERSION_MINOR) "." PetscStringize( \
    PETSCBCR_VERSION_PATCH)

static const char PetscBCRPoissonCitation[] =
  "@InProceedings{MyllykoskiRossiToivanen2013,\n"
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

static const char PetscBCRRecurrenceCitation[] =
  "@InProceedings{Wakatani2012,\n"
  "  author    = {Akiyoshi Wakatani},\n"
  "  title     = {Implementation and Evaluation of Recurrence Equation Solvers on {GPGPU} systems using Rearrangement "
  "of Array Configurations},\n"
  "  booktitle = {FUTURE COMPUTING 2012, The Fourth International Conference on Future Computational Technologies and "
  "Applications},\n"
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

static const char PetscBCRNeatoCitation[] =
  "@MastersThesis{Srinath2015,\n"
  "  author = {Ashwin Trikuta Srinath},\n"
  "  title  = {A novel approach to evaluating compact finite differences and similar tridiagonal schemes on "
  "{GPU}-accelerated clusters},\n"
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
  PetscBCRPoissonCited = PETSC_FALSE;
  PetscBCRRecurrenceCited = PETSC_FALSE;
  PetscBCRNeatoCited = PETSC_FALSE;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Room for a PetscInt or PetscBool of any PETSc; a PetscBool has 4 bytes in some releases, 1 byte in others */
typedef union {
  PetscInt64 bits64;
  int bits32;
} PetscBCRAnyInt;

/* Bytes of what the PETSc that runs calls "int", "real" or "scalar" */
static PetscErrorCode PetscBCRRunningSize(const char name[], size_t *bytes)
{
  PetscDataType type;
  PetscBCRAnyInt found = {0};

  PetscFunctionBegin;
  PetscCall(PetscDataTypeFromString(name, &type, (PetscBool *)&found));
  PetscCheck(found.bits64, PETSC_COMM_SELF, PETSC_ERR_LIB, "The PETSc of this program has no type %s", name);
  PetscCall(PetscDataTypeGetSize(type, bytes));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What two PETSc must have in common for a library to fit both; index, real and scalar are sizes of types in bytes */
static PetscErrorCode PetscBCRDescribe(int major, int minor, size_t index, size_t real, size_t scalar, char text[128])
{
  const char *kind = scalar > real ? "complex" : "real";
  const char *precision = real == 2 ? "half" : real == 4 ? "single" : real == 8 ? "double" : "quadruple";

  PetscFunctionBegin;
  PetscCall(PetscSNPrintf(text, 128, "PETSc %d.%d (%s, %s precision, %d-bit indices)", major, minor, kind, precision,
                          8 * (int)index));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*
  The PETSc that runs must be of the kind that this library was compiled with: each release lays out anew the structs
  behind PC and KSP, and its configuration decides what its functions take. So no function called here takes a PetscInt,
  PetscReal or PetscScalar, and where one writes a PetscInt or a PetscBool there is room for those of any PETSc.

  A plug-in brings the PETSc that it was linked with, but the dynamic linker prefers that of a C program. Where the
  program's is out of its sight (RTLD_LOCAL, as in Python), calls go to the one that came with the plug-in. Nobody has
  initialized that one, and it cannot raise errors: PETSc itself writes to stderr then.
*/
static PetscErrorCode PetscBCRCheckPetsc(void)
{
  PetscBCRAnyInt v[4] = {{0}}; /* major, minor, subminor, release */
  size_t index, real, scalar;
  char built[128], runs[128];

  PetscFunctionBegin;
  index = sizeof(PetscInt);
  real = sizeof(PetscReal);
  scalar = sizeof(PetscScalar);
  PetscCall(PetscBCRDescribe(PETSC_VERSION_MAJOR, PETSC_VERSION_MINOR, index, real, scalar, built));
  if (PETSC_COMM_WORLD == MPI_COMM_NULL) {
    (void)fprintf(stderr,
                  "PETSC ERROR: petscbcr was built for %s, which is not initialized in this program: "
                  "call PetscInitialize() first, or build petscbcr with the PETSc of the program "
                  "(its PETSC_DIR and PETSC_ARCH)\n",
                  built);
    PetscFunctionReturn(PETSC_ERR_LIB);
  }
  PetscCall(PetscBCRRunningSize("int", &index));
  PetscCall(PetscBCRRunningSize("real", &real));
  PetscCall(PetscBCRRunningSize("scalar", &scalar));
  PetscCall(PetscGetVersionNumber((PetscInt *)&v[0], (PetscInt *)&v[1], (PetscInt *)&v[2], (PetscInt *)&v[3]));
  if (index == sizeof(int)) {
    for (int i = 0; i < 4; i++) v[i].bits64 = v[i].bits32;
  }
  PetscCall(PetscBCRDescribe((int)v[0].bits64, (int)v[1].bits64, index, real, scalar, runs));
  PetscCheck(!strcmp(built, runs), PETSC_COMM_SELF, PETSC_ERR_LIB,
             "petscbcr was built for %s, but this program runs with %s: "
             "build petscbcr with the PETSc of the program (its PETSC_DIR and PETSC_ARCH)",
             built, runs);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/*@C
  PetscBCRInitializePackage - registers the types of this library, `PCBCRPOISSON`, `KSPBCRPOISSON`,
  `PCNEATO` and `KSPNEATO`, with their log events

  Not Collective, call it on every process

  Level: beginner

  Notes:
  Call it once after `PetscInitialize()`, before the types are used. More calls do nothing; after
  `PetscFinalize()` and another `PetscInitialize()` it is to be called again.

  There is no need to call it where the library is loaded with `-dll_append /path/to/libpetscbcr.so`.

  From Fortran, `call PetscBCRInitializePackage(ierr)`.

  Raises `PETSC_ERR_LIB` where the library was built for another PETSc than the one that runs: another release, real
  instead of complex scalars, another precision or another size of indices. The message names both.

.seealso: `PCBCRPOISSON`, `KSPBCRPOISSON`, `PCNEATO`, `KSPNEATO`, `PetscInitialize()`, `PCRegister()`, `KSPRegister()`
@*/
PetscErrorCode PetscBCRInitializePackage(void)
{
  PetscFunctionBegin;
  if (PetscBCRPackageInitialized) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(PetscBCRCheckPetsc());
  PetscBCRPackageInitialized = PETSC_TRUE;
  PetscCall(PCRegister(PCBCRPOISSON, PCCreate_BCRPoisson));
  PetscCall(KSPRegister(KSPBCRPOISSON, KSPCreate_BCRPoisson));
  PetscCall(PCRegister(PCNEATO, PCCreate_Neato));
  PetscCall(KSPRegister(KSPNEATO, KSPCreate_Neato));
  PetscCall(PetscLogEventRegister("BCRFind", PC_CLASSID, &BCR_Find));
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
