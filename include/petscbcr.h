/*
  petscbcr: fast direct Poisson and Helmholtz solvers on a DMDA by block cyclic reduction, as PETSc PC and KSP types.

  This file is the whole public interface. A program needs none of it to use the library: with
  `-dll_append /path/to/libpetscbcr.so -pc_type bcrpoisson` it finds the types by name. A program that is linked with the
  library calls PetscBCRInitializePackage() once after PetscInitialize().
*/
#pragma once

#include <petscksp.h>
#include <petscdmda.h>

#define PETSCBCR_VERSION_MAJOR 0
#define PETSCBCR_VERSION_MINOR 1
#define PETSCBCR_VERSION_PATCH 0

#define PCBCRPOISSON  "bcrpoisson"
#define KSPBCRPOISSON "bcrpoisson"

/*E
  PCBCRPoissonBackend - where `PCBCRPOISSON` does its work

  Values:
+ `PCBCRPOISSON_BACKEND_AUTO` - (`auto`) the fastest that this build and this machine have
. `PCBCRPOISSON_BACKEND_CPU`  - (`cpu`) the host
- `PCBCRPOISSON_BACKEND_CUDA` - (`cuda`) an NVIDIA GPU; an error at set-up in a build of the library without it

  Level: intermediate

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetBackend()`
E*/
typedef enum {
  PCBCRPOISSON_BACKEND_AUTO,
  PCBCRPOISSON_BACKEND_CPU,
  PCBCRPOISSON_BACKEND_CUDA
} PCBCRPoissonBackend;
PETSC_EXTERN const char *const PCBCRPoissonBackends[];

/*E
  PCBCRPoissonPrecision - floating-point precision of the work inside `PCBCRPOISSON`, whatever the precision of the vectors

  Values:
+ `PCBCRPOISSON_PRECISION_DOUBLE` - (`double`) 8-byte reals, backward error at most 1e-14
. `PCBCRPOISSON_PRECISION_SINGLE` - (`single`) 4-byte reals, half the memory traffic, backward error at most 5e-7
- `PCBCRPOISSON_PRECISION_MIXED`  - (`mixed`) solves in single, corrected to the accuracy of double

  Level: intermediate

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetPrecision()`
E*/
typedef enum {
  PCBCRPOISSON_PRECISION_DOUBLE,
  PCBCRPOISSON_PRECISION_SINGLE,
  PCBCRPOISSON_PRECISION_MIXED
} PCBCRPoissonPrecision;
PETSC_EXTERN const char *const PCBCRPoissonPrecisions[];

/*E
  PCBCRPoissonOperatorSource - where `PCBCRPOISSON` takes the coefficients of the operator from

  Values:
+ `PCBCRPOISSON_OPERATOR_MATRIX` - (`matrix`) from the entries of the preconditioning matrix
- `PCBCRPOISSON_OPERATOR_USER`   - (`user`) from `PCBCRPoissonSetOperator()` or the options; the matrix is never looked at

  Level: intermediate

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetOperatorSource()`, `PCBCRPoissonSetOperator()`
E*/
typedef enum {
  PCBCRPOISSON_OPERATOR_MATRIX,
  PCBCRPOISSON_OPERATOR_USER
} PCBCRPoissonOperatorSource;
PETSC_EXTERN const char *const PCBCRPoissonOperatorSources[];

/*E
  PCBCRPoissonFit - what `PCBCRPOISSON` does with a matrix that is not separable

  Values:
+ `PCBCRPOISSON_FIT_AUTO`    - (`auto`) `scaled` or `average`, whichever promises the smaller condition number
. `PCBCRPOISSON_FIT_SCALED`  - (`scaled`) scales rows and columns so that the couplings become as constant as they can, then fits
. `PCBCRPOISSON_FIT_AVERAGE` - (`average`) uses the mean coupling of each axis and the mean of what is left as shift
- `PCBCRPOISSON_FIT_EXACT`   - (`exact`) stops with an error that names the row and the column

  Level: intermediate

  Note:
  A separable matrix is recognised first; then all of them are the same, and the preconditioner is the inverse.

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetFit()`
E*/
typedef enum {
  PCBCRPOISSON_FIT_AUTO,
  PCBCRPOISSON_FIT_SCALED,
  PCBCRPOISSON_FIT_AVERAGE,
  PCBCRPOISSON_FIT_EXACT
} PCBCRPoissonFit;
PETSC_EXTERN const char *const PCBCRPoissonFits[];

/*E
  PCBCRPoissonEnd - condition at one end of an axis, for `PCBCRPoissonSetOperator()`

  Values:
+ `PCBCRPOISSON_DIRICHLET`      - (`dirichlet`) nodes; the value one spacing beyond the last node is zero: row (2, -1)/h^2
. `PCBCRPOISSON_NEUMANN`        - (`neumann`) nodes; the value beyond the last node mirrors the one before it: row (2, -2)/h^2
. `PCBCRPOISSON_CELL_NEUMANN`   - (`cell_neumann`) cells; no flux through the face half a spacing beyond: row (1, -1)/h^2
. `PCBCRPOISSON_CELL_DIRICHLET` - (`cell_dirichlet`) cells; zero on the face half a spacing beyond: row (3, -1)/h^2
- `PCBCRPOISSON_PERIODIC`       - (`periodic`) the axis closes on itself; for both ends of an axis or none

  Level: intermediate

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetOperator()`
E*/
typedef enum {
  PCBCRPOISSON_DIRICHLET,
  PCBCRPOISSON_NEUMANN,
  PCBCRPOISSON_CELL_NEUMANN,
  PCBCRPOISSON_CELL_DIRICHLET,
  PCBCRPOISSON_PERIODIC
} PCBCRPoissonEnd;
PETSC_EXTERN const char *const PCBCRPoissonEnds[];

/*MC
  PCBCRPOISSON_RADIX_AUTO - radix for `PCBCRPoissonSetRadix()`: the fastest plan that the library knows

  Level: intermediate

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetRadix()`
M*/
#define PCBCRPOISSON_RADIX_AUTO PETSC_DECIDE

PETSC_EXTERN PetscErrorCode PetscBCRInitializePackage(void);
PETSC_EXTERN PetscErrorCode PetscBCRFinalizePackage(void);

PETSC_EXTERN PetscErrorCode PetscBCRRecurrenceSolve(Vec, PetscScalar, Vec, PetscScalar, Vec);

PETSC_EXTERN PetscErrorCode PCBCRPoissonSetRadix(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetRadix(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCBCRPoissonSetSchedule(PC, PetscInt, const PetscInt[]);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetSchedule(PC, PetscInt *, const PetscInt *[]);
PETSC_EXTERN PetscErrorCode PCBCRPoissonSetBackend(PC, PCBCRPoissonBackend);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetBackend(PC, PCBCRPoissonBackend *);
PETSC_EXTERN PetscErrorCode PCBCRPoissonSetPrecision(PC, PCBCRPoissonPrecision);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetPrecision(PC, PCBCRPoissonPrecision *);
PETSC_EXTERN PetscErrorCode PCBCRPoissonSetOperatorSource(PC, PCBCRPoissonOperatorSource);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetOperatorSource(PC, PCBCRPoissonOperatorSource *);
PETSC_EXTERN PetscErrorCode PCBCRPoissonSetFit(PC, PCBCRPoissonFit);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetFit(PC, PCBCRPoissonFit *);
PETSC_EXTERN PetscErrorCode PCBCRPoissonSetTune(PC, PetscBool);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetTune(PC, PetscBool *);
PETSC_EXTERN PetscErrorCode PCBCRPoissonSetRecursive(PC, PetscBool);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetRecursive(PC, PetscBool *);
PETSC_EXTERN PetscErrorCode PCBCRPoissonSetOperator(PC, PetscInt, const PetscReal[], const PCBCRPoissonEnd[], PetscReal, PetscReal);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetOperator(PC, PetscInt *, PetscReal[], PCBCRPoissonEnd[], PetscReal *, PetscReal *);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetRemovedConstant(PC, PetscReal *);
