/*
  petscbcr: fast direct Poisson and Helmholtz solvers on a DMDA by block cyclic reduction, and
  tridiagonal solvers of its grid lines, as PETSc PC and KSP types.

  This file is the whole public interface. A program needs none of it to use the library: with
  `-dll_append /path/to/libpetscbcr.so -pc_type bcrpoisson` it finds the types by name. A program
  that is linked with the library calls PetscBCRInitializePackage() once after PetscInitialize().
*/
#pragma once

#include <petscksp.h>
#include <petscdmda.h>

/* SUBMANSEC = PC */

#define PETSCBCR_VERSION_MAJOR 0
#define PETSCBCR_VERSION_MINOR 1
#define PETSCBCR_VERSION_PATCH 0

#define PCBCRPOISSON  "bcrpoisson"
#define KSPBCRPOISSON "bcrpoisson"
#define PCNEATO       "neato"
#define KSPNEATO      "neato"

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
  PCBCRPoissonTransport - how `PCBCRPOISSON` moves what ranks with GPUs tell each other

  Values:
+ `PCBCRPOISSON_TRANSPORT_AUTO` - (`auto`) `nccl` where it is possible, else `mpi` where it is and no ranks share a GPU, else `host`
. `PCBCRPOISSON_TRANSPORT_MPI`  - (`mpi`) MPI from the memory of the GPU; for an MPI that is aware of GPUs (`-use_gpu_aware_mpi`)
. `PCBCRPOISSON_TRANSPORT_NCCL` - (`nccl`) NCCL, a GPU for each rank; the host never waits
- `PCBCRPOISSON_TRANSPORT_HOST` - (`host`) MPI from pinned memory of the host; several ranks may share a GPU

  Level: advanced

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetTransport()`
E*/
typedef enum {
  PCBCRPOISSON_TRANSPORT_AUTO,
  PCBCRPOISSON_TRANSPORT_MPI,
  PCBCRPOISSON_TRANSPORT_NCCL,
  PCBCRPOISSON_TRANSPORT_HOST
} PCBCRPoissonTransport;
PETSC_EXTERN const char *const PCBCRPoissonTransports[];

/*E
  PCBCRPoissonPrecision - floating-point precision of the work inside `PCBCRPOISSON`, whatever the
  precision of the vectors

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
+ `PCBCRPOISSON_FIT_AUTO`    - (`auto`) `scaled`, `average` or `profile`, whichever a few steps with each promise the fewest iterations of
. `PCBCRPOISSON_FIT_SCALED`  - (`scaled`) scales rows and columns so that the couplings become as constant as they can, then fits;
                               axes may be stretched
. `PCBCRPOISSON_FIT_AVERAGE` - (`average`) uses the mean coupling of each axis and the mean of what is left as shift
. `PCBCRPOISSON_FIT_PROFILE` - (`profile`) uses the mean coefficients of the layers across one axis (strata)
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
  PCBCRPOISSON_FIT_PROFILE,
  PCBCRPOISSON_FIT_EXACT
} PCBCRPoissonFit;
PETSC_EXTERN const char *const PCBCRPoissonFits[];

/*E
  PCBCRPoissonCapacitance - what `PCBCRPOISSON` does with a matrix of which some rows are not those of a separable
  operator, as those of obstacles, of other materials, of wells

  Values:
+ `PCBCRPOISSON_CAPACITANCE_AUTO`      - (`auto`) solves with it, by a system of as many numbers as rows differ
. `PCBCRPOISSON_CAPACITANCE_OFF`       - (`off`) treats it as any other matrix that is not separable, `PCBCRPoissonFit`
- `PCBCRPOISSON_CAPACITANCE_EXTENSION` - (`extension`) where they differ by a mask of identity-like rows: one solve of the
  box without the mask's rows, whose own is their diagonal; a symmetric preconditioner for `KSPCG`, no solution

  Level: intermediate

.seealso: `PCBCRPOISSON`, `PCBCRPoissonSetCapacitance()`
E*/
typedef enum {
  PCBCRPOISSON_CAPACITANCE_AUTO,
  PCBCRPOISSON_CAPACITANCE_OFF,
  PCBCRPOISSON_CAPACITANCE_EXTENSION
} PCBCRPoissonCapacitance;
PETSC_EXTERN const char *const PCBCRPoissonCapacitances[];

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

/*E
  PCNeatoAxis - the axis along which `PCNEATO` solves the grid lines

  Values:
+ `PCNEATO_AXIS_AUTO` - (`auto`) the one with the strongest coupling in the matrix; x of a `DMDA` in one dimension
. `PCNEATO_AXIS_X`    - (`x`) the axis whose grid points are neighbours in memory
. `PCNEATO_AXIS_Y`    - (`y`)
- `PCNEATO_AXIS_Z`    - (`z`)

  Level: intermediate

.seealso: `PCNEATO`, `PCNeatoSetAxis()`
E*/
typedef enum {
  PCNEATO_AXIS_AUTO,
  PCNEATO_AXIS_X,
  PCNEATO_AXIS_Y,
  PCNEATO_AXIS_Z
} PCNeatoAxis;
PETSC_EXTERN const char *const PCNeatoAxes[];

/*E
  PCNeatoMethod - how `PCNEATO` solves a tridiagonal line

  Values:
+ `PCNEATO_METHOD_AUTO`    - (`auto`) `scan` where the coefficients let it, else `thomas`
. `PCNEATO_METHOD_SCAN`    - (`scan`) two recurrences with one constant each, and a correction at each end; lines with constant coefficients but for a few rows at the ends
. `PCNEATO_METHOD_CR`      - (`cr`) cyclic reduction with coefficients computed at set-up
. `PCNEATO_METHOD_PSCHEME` - (`pscheme`) pre-computation, propagation and determination over parts of the line
. `PCNEATO_METHOD_DC`      - (`dc`) divide and conquer over parts of the line
- `PCNEATO_METHOD_THOMAS`  - (`thomas`) factors computed at set-up, one sweep up and one down; any coefficients that need no pivoting

  Level: intermediate

.seealso: `PCNEATO`, `PCNeatoSetMethod()`
E*/
typedef enum {
  PCNEATO_METHOD_AUTO,
  PCNEATO_METHOD_SCAN,
  PCNEATO_METHOD_CR,
  PCNEATO_METHOD_PSCHEME,
  PCNEATO_METHOD_DC,
  PCNEATO_METHOD_THOMAS
} PCNeatoMethod;
PETSC_EXTERN const char *const PCNeatoMethods[];

/*E
  PCNeatoVariant - form of the methods `pscheme` and `dc` of `PCNEATO`

  Values:
+ `PCNEATO_VARIANT_AUTO`       - (`auto`) `rearranged` and `parallel`
. `PCNEATO_VARIANT_REARRANGED` - (`rearranged`) `pscheme` on the array with the parts side by side
. `PCNEATO_VARIANT_PLAIN`      - (`plain`) `pscheme` on the array as it is
. `PCNEATO_VARIANT_PARALLEL`   - (`parallel`) `dc` on the parts, steps 1A to 2C
- `PCNEATO_VARIANT_SEQUENTIAL` - (`sequential`) `dc` from one end of the line to the other

  Level: advanced

.seealso: `PCNEATO`, `PCNeatoSetVariant()`, `PCNeatoMethod`
E*/
typedef enum {
  PCNEATO_VARIANT_AUTO,
  PCNEATO_VARIANT_REARRANGED,
  PCNEATO_VARIANT_PLAIN,
  PCNEATO_VARIANT_PARALLEL,
  PCNEATO_VARIANT_SEQUENTIAL
} PCNeatoVariant;
PETSC_EXTERN const char *const PCNeatoVariants[];

/*E
  PCNeatoMemory - memory of a GPU that the method `cr` of `PCNEATO` works in; without effect on the CPU

  Values:
+ `PCNEATO_MEMORY_AUTO`   - (`auto`) `shared` where a line fits into it
. `PCNEATO_MEMORY_SHARED` - (`shared`) a line stays in the shared memory of a block of threads
- `PCNEATO_MEMORY_GLOBAL` - (`global`) levels of the reduction go through the memory of the device

  Level: advanced

.seealso: `PCNEATO`, `PCNeatoSetMemory()`
E*/
typedef enum {
  PCNEATO_MEMORY_AUTO,
  PCNEATO_MEMORY_SHARED,
  PCNEATO_MEMORY_GLOBAL
} PCNeatoMemory;
PETSC_EXTERN const char *const PCNeatoMemories[];

/*E
  PCNeatoCoupling - how the parts that several ranks have of a line are coupled in `PCNEATO`

  Values:
+ `PCNEATO_COUPLING_AUTO`      - (`auto`) `neighbour` for lines where what it leaves out is below rounding, else `reduced`
. `PCNEATO_COUPLING_NEIGHBOUR` - (`neighbour`) each rank with the two beside it alone; an error at set-up where that would lose digits
- `PCNEATO_COUPLING_REDUCED`   - (`reduced`) through a system of two unknowns for each rank

  Level: intermediate

.seealso: `PCNEATO`, `PCNeatoSetCoupling()`
E*/
typedef enum {
  PCNEATO_COUPLING_AUTO,
  PCNEATO_COUPLING_NEIGHBOUR,
  PCNEATO_COUPLING_REDUCED
} PCNeatoCoupling;
PETSC_EXTERN const char *const PCNeatoCouplings[];

/*E
  PCNeatoTransport - how `PCNEATO` moves what ranks tell each other

  Values:
+ `PCNEATO_TRANSPORT_AUTO` - (`auto`) between GPUs `nccl` where it is possible, else `mpi` where it is and no ranks share a GPU, else `host`
. `PCNEATO_TRANSPORT_MPI`  - (`mpi`) MPI from where the data are; from GPUs for an MPI that is aware of them (`-use_gpu_aware_mpi`)
. `PCNEATO_TRANSPORT_NCCL` - (`nccl`) NCCL, a GPU for each rank; the host never waits
- `PCNEATO_TRANSPORT_HOST` - (`host`) MPI from host memory, pinned; several ranks may share a GPU

  Level: advanced

.seealso: `PCNEATO`, `PCNeatoSetTransport()`
E*/
typedef enum {
  PCNEATO_TRANSPORT_AUTO,
  PCNEATO_TRANSPORT_MPI,
  PCNEATO_TRANSPORT_NCCL,
  PCNEATO_TRANSPORT_HOST
} PCNeatoTransport;
PETSC_EXTERN const char *const PCNeatoTransports[];

/*E
  PCNeatoBackend - where `PCNEATO` does its work

  Values:
+ `PCNEATO_BACKEND_AUTO` - (`auto`) the fastest that this build and this machine have
. `PCNEATO_BACKEND_CPU`  - (`cpu`) the host
- `PCNEATO_BACKEND_CUDA` - (`cuda`) an NVIDIA GPU; an error at set-up in a build of the library without it

  Level: intermediate

.seealso: `PCNEATO`, `PCNeatoSetBackend()`
E*/
typedef enum {
  PCNEATO_BACKEND_AUTO,
  PCNEATO_BACKEND_CPU,
  PCNEATO_BACKEND_CUDA
} PCNeatoBackend;
PETSC_EXTERN const char *const PCNeatoBackends[];

/*E
  PCNeatoPrecision - floating-point precision of the work inside `PCNEATO`, whatever the precision of the vectors

  Values:
+ `PCNEATO_PRECISION_DOUBLE` - (`double`) 8-byte reals
. `PCNEATO_PRECISION_SINGLE` - (`single`) 4-byte reals, half the memory traffic
- `PCNEATO_PRECISION_MIXED`  - (`mixed`) solves in single, corrected to the accuracy of double

  Level: intermediate

.seealso: `PCNEATO`, `PCNeatoSetPrecision()`
E*/
typedef enum {
  PCNEATO_PRECISION_DOUBLE,
  PCNEATO_PRECISION_SINGLE,
  PCNEATO_PRECISION_MIXED
} PCNeatoPrecision;
PETSC_EXTERN const char *const PCNeatoPrecisions[];

/*S
  PetscBCRLines - tridiagonal systems with constant coefficients on all grid lines of one axis of a
  `DMDA`, without a matrix

  Level: intermediate

.seealso: `PetscBCRLinesCreate()`, `PetscBCRLinesSolve()`, `PetscBCRLinesDestroy()`, `PCNEATO`
S*/
typedef struct _n_PetscBCRLines *PetscBCRLines;

PETSC_EXTERN PetscErrorCode PetscBCRInitializePackage(void);
PETSC_EXTERN PetscErrorCode PetscBCRFinalizePackage(void);

PETSC_EXTERN PetscErrorCode PetscBCRRecurrenceSolve(Vec, PetscScalar, Vec, PetscScalar, Vec);

PETSC_EXTERN PetscErrorCode PCBCRPoissonSetRadix(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetRadix(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCBCRPoissonSetSchedule(PC, PetscInt, const PetscInt[]);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetSchedule(PC, PetscInt *, const PetscInt *[]);
PETSC_EXTERN PetscErrorCode PCBCRPoissonSetBackend(PC, PCBCRPoissonBackend);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetBackend(PC, PCBCRPoissonBackend *);
PETSC_EXTERN PetscErrorCode PCBCRPoissonSetTransport(PC, PCBCRPoissonTransport);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetTransport(PC, PCBCRPoissonTransport *);
PETSC_EXTERN PetscErrorCode PCBCRPoissonSetPrecision(PC, PCBCRPoissonPrecision);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetPrecision(PC, PCBCRPoissonPrecision *);
PETSC_EXTERN PetscErrorCode PCBCRPoissonSetOperatorSource(PC, PCBCRPoissonOperatorSource);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetOperatorSource(PC, PCBCRPoissonOperatorSource *);
PETSC_EXTERN PetscErrorCode PCBCRPoissonSetFit(PC, PCBCRPoissonFit);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetFit(PC, PCBCRPoissonFit *);
PETSC_EXTERN PetscErrorCode PCBCRPoissonSetTune(PC, PetscBool);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetTune(PC, PetscBool *);
PETSC_EXTERN PetscErrorCode PCBCRPoissonSetTuneFile(PC, const char[]);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetTuneFile(PC, const char *[]);
PETSC_EXTERN PetscErrorCode PCBCRPoissonSetGraph(PC, PetscBool);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetGraph(PC, PetscBool *);
PETSC_EXTERN PetscErrorCode PCBCRPoissonSetRecursive(PC, PetscBool);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetRecursive(PC, PetscBool *);
PETSC_EXTERN PetscErrorCode PCBCRPoissonSetOperator(PC, PetscInt, const PetscReal[], const PCBCRPoissonEnd[], PetscReal,
                                                    PetscReal);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetOperator(PC, PetscInt *, PetscReal[], PCBCRPoissonEnd[], PetscReal *,
                                                    PetscReal *);
PETSC_EXTERN PetscErrorCode PCBCRPoissonSetOperatorAxis(PC, DMDirection, PetscInt, const PetscReal[], const PetscReal[],
                                                        const PetscReal[]);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetOperatorAxis(PC, DMDirection, PetscInt *, const PetscReal *[],
                                                        const PetscReal *[], const PetscReal *[]);
PETSC_EXTERN PetscErrorCode PCBCRPoissonSetOperatorTimes(PC, DMDirection, DMDirection, PetscInt, const PetscReal[]);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetOperatorTimes(PC, DMDirection *, DMDirection *, PetscInt *,
                                                         const PetscReal *[]);
PETSC_EXTERN PetscErrorCode PCBCRPoissonSetOperatorRobin(PC, PetscInt, const PetscReal[]);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetOperatorRobin(PC, PetscInt *, const PetscReal *[]);
PETSC_EXTERN PetscErrorCode PCBCRPoissonSetOperatorMixed(PC, PetscInt, const PetscReal[]);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetOperatorMixed(PC, PetscInt *, const PetscReal *[]);
PETSC_EXTERN PetscErrorCode PCBCRPoissonSetOperatorShiftImaginary(PC, PetscReal);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetOperatorShiftImaginary(PC, PetscReal *);
PETSC_EXTERN PetscErrorCode PCBCRPoissonSetGrid(PC, PetscInt, const PetscInt[]);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetGrid(PC, PetscInt *, const PetscInt *[]);
PETSC_EXTERN PetscErrorCode PCBCRPoissonSetGridProcessors(PC, PetscInt, const PetscInt[]);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetGridProcessors(PC, PetscInt *, const PetscInt *[]);
PETSC_EXTERN PetscErrorCode PCBCRPoissonSetCapacitance(PC, PCBCRPoissonCapacitance);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetCapacitance(PC, PCBCRPoissonCapacitance *);
PETSC_EXTERN PetscErrorCode PCBCRPoissonSetCapacitanceMaxRows(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetCapacitanceMaxRows(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetCapacitanceSolves(PC, PetscInt *, PetscInt *);
PETSC_EXTERN PetscErrorCode PCBCRPoissonSetOtherwise(PC, PCType);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetOtherwise(PC, PCType *);
PETSC_EXTERN PetscErrorCode PCBCRPoissonGetRemovedConstant(PC, PetscReal *);

PETSC_EXTERN PetscErrorCode PCNeatoSetAxis(PC, PCNeatoAxis);
PETSC_EXTERN PetscErrorCode PCNeatoGetAxis(PC, PCNeatoAxis *);
PETSC_EXTERN PetscErrorCode PCNeatoSetMethod(PC, PCNeatoMethod);
PETSC_EXTERN PetscErrorCode PCNeatoGetMethod(PC, PCNeatoMethod *);
PETSC_EXTERN PetscErrorCode PCNeatoSetVariant(PC, PCNeatoVariant);
PETSC_EXTERN PetscErrorCode PCNeatoGetVariant(PC, PCNeatoVariant *);
PETSC_EXTERN PetscErrorCode PCNeatoSetParts(PC, PetscInt);
PETSC_EXTERN PetscErrorCode PCNeatoGetParts(PC, PetscInt *);
PETSC_EXTERN PetscErrorCode PCNeatoSetMemory(PC, PCNeatoMemory);
PETSC_EXTERN PetscErrorCode PCNeatoGetMemory(PC, PCNeatoMemory *);
PETSC_EXTERN PetscErrorCode PCNeatoSetCoupling(PC, PCNeatoCoupling);
PETSC_EXTERN PetscErrorCode PCNeatoGetCoupling(PC, PCNeatoCoupling *);
PETSC_EXTERN PetscErrorCode PCNeatoSetTransport(PC, PCNeatoTransport);
PETSC_EXTERN PetscErrorCode PCNeatoGetTransport(PC, PCNeatoTransport *);
PETSC_EXTERN PetscErrorCode PCNeatoSetBackend(PC, PCNeatoBackend);
PETSC_EXTERN PetscErrorCode PCNeatoGetBackend(PC, PCNeatoBackend *);
PETSC_EXTERN PetscErrorCode PCNeatoSetPrecision(PC, PCNeatoPrecision);
PETSC_EXTERN PetscErrorCode PCNeatoGetPrecision(PC, PCNeatoPrecision *);
PETSC_EXTERN PetscErrorCode PCNeatoSetGrid(PC, PetscInt, const PetscInt[]);
PETSC_EXTERN PetscErrorCode PCNeatoGetGrid(PC, PetscInt *, const PetscInt *[]);
PETSC_EXTERN PetscErrorCode PCNeatoSetGridProcessors(PC, PetscInt, const PetscInt[]);
PETSC_EXTERN PetscErrorCode PCNeatoGetGridProcessors(PC, PetscInt *, const PetscInt *[]);
PETSC_EXTERN PetscErrorCode PCNeatoSetOtherwise(PC, PCType);
PETSC_EXTERN PetscErrorCode PCNeatoGetOtherwise(PC, PCType *);

PETSC_EXTERN PetscErrorCode PetscBCRLinesCreate(DM, DMDirection, PetscInt, const PetscReal[], const PetscReal[],
                                                PetscInt, const PetscReal[], PetscBCRLines *);
PETSC_EXTERN PetscErrorCode PetscBCRLinesSetMethod(PetscBCRLines, PCNeatoMethod);
PETSC_EXTERN PetscErrorCode PetscBCRLinesSetCoupling(PetscBCRLines, PCNeatoCoupling);
PETSC_EXTERN PetscErrorCode PetscBCRLinesSetPrecision(PetscBCRLines, PCNeatoPrecision);
PETSC_EXTERN PetscErrorCode PetscBCRLinesSolve(PetscBCRLines, Vec, Vec);
PETSC_EXTERN PetscErrorCode PetscBCRLinesView(PetscBCRLines, PetscViewer);
PETSC_EXTERN PetscErrorCode PetscBCRLinesDestroy(PetscBCRLines *);

/*E
  MatCompactScheme - compact finite differences of `MatCreateCompactDerivative()`; the left-hand side is tridiagonal

  Values:
+ `MAT_COMPACT_PADE4`    - (`pade4`) Pade, 3 points on the right-hand side, order 4
. `MAT_COMPACT_LELE6`    - (`lele6`) 5 points, order 6
- `MAT_COMPACT_SPECTRAL` - (`spectral`) 7 points, order 6, with short waves in mind: the wavenumber (its square for the second derivative) is
                           met to 1e-3 up to 0.588 pi/h (0.647 pi/h), while `lele6` does so up to
                           0.352 pi/h (0.383 pi/h)

  Level: beginner

  References:
  Lele, J. Comput. Phys. 103, 1992; Trikuta Srinath, thesis, Clemson University, 2015, (1.1).

.seealso: `MatCreateCompactDerivative()`, `MatCompactDerivativeSetScheme()`
E*/
typedef enum {
  MAT_COMPACT_PADE4,
  MAT_COMPACT_LELE6,
  MAT_COMPACT_SPECTRAL
} MatCompactScheme;
PETSC_EXTERN const char *const MatCompactSchemes[];

PETSC_EXTERN PetscErrorCode MatCreateCompactDerivative(DM, DMDirection, MatCompactScheme, PetscInt, PetscReal, Mat *);
PETSC_EXTERN PetscErrorCode MatCompactDerivativeSetScheme(Mat, MatCompactScheme);
PETSC_EXTERN PetscErrorCode MatCompactDerivativeGetScheme(Mat, MatCompactScheme *);
PETSC_EXTERN PetscErrorCode MatCompactDerivativeSetClosure(Mat, PetscInt);
PETSC_EXTERN PetscErrorCode MatCompactDerivativeGetClosure(Mat, PetscInt *);
PETSC_EXTERN PetscErrorCode MatCompactDerivativeSetMethod(Mat, PCNeatoMethod);
PETSC_EXTERN PetscErrorCode MatCompactDerivativeGetMethod(Mat, PCNeatoMethod *);
PETSC_EXTERN PetscErrorCode MatCompactDerivativeSetCoupling(Mat, PCNeatoCoupling);
PETSC_EXTERN PetscErrorCode MatCompactDerivativeGetCoupling(Mat, PCNeatoCoupling *);
PETSC_EXTERN PetscErrorCode MatCompactDerivativeSetTransport(Mat, PCNeatoTransport);
PETSC_EXTERN PetscErrorCode MatCompactDerivativeGetTransport(Mat, PCNeatoTransport *);
PETSC_EXTERN PetscErrorCode PetscBCRCompactGradient(PetscInt, const Mat[], Vec, Vec[]);
