/*
  The numerical core on a CUDA device: what core.h is for the host. f and u are device arrays of the
  work type (options->precision). Everything is launched on the stream that is given; a solve
  neither allocates, copies to or from the host, nor waits.
*/
#pragma once

#include "core.h"
#include "../base/device.h"
#include "../base/graph.h"
#include "../backend/cuda/border.h"
#include "../backend/cuda/lines.h"
#include "../backend/cuda/transforms.h"

typedef struct _n_BCRDeviceCore *BCRDeviceCore;

PETSC_INTERN PetscErrorCode BCRDeviceCoreCreate(PetscInt dim, const BCRAxis axis[], PetscReal shift, PetscBool singular,
                                                const PetscInt stride[], const BCRCoreOptions *options,
                                                BCRStream stream, BCRDeviceCore *core);
/* Products of axes, mixed and share as in BCRCoreCreateProduct(); mixed NULL: an operator of either sign, the sum of the axes and
   shift; pair: of complex numbers; NULL: of real ones */
PETSC_INTERN PetscErrorCode BCRDeviceCoreCreateSpectral(PetscInt dim, const BCRAxis axis[], const PetscReal mixed[],
                                                        PetscReal shift, PetscBool singular, const PetscInt stride[],
                                                        const BCRCoreOptions *options, const BCRCoreShare *share,
                                                        const BCRCorePair *pair, BCRStream stream, BCRDeviceCore *core);
/* What this rank sends to others in a solve; 0 where the box is whole here */
PETSC_INTERN PetscErrorCode BCRDeviceCoreGetExchange(BCRDeviceCore core, size_t *bytes, size_t *messages);
/* tables and workspace, after creation and after a new shift or factor; else the next solve does it */
PETSC_INTERN PetscErrorCode BCRDeviceCoreSetUp(BCRDeviceCore core);
/* Before set-up: right-hand sides will be made for the core (weights, planes, other types of
   numbers). They go where Input says: an array of the core, packed, of the work type, which a solve
   then takes as f; NULL: u itself, the solve is in place as well */
PETSC_INTERN PetscErrorCode BCRDeviceCoreReserveInput(BCRDeviceCore core);
PETSC_INTERN PetscErrorCode BCRDeviceCoreGetInput(BCRDeviceCore core, void **f);
PETSC_INTERN PetscErrorCode BCRDeviceCoreSolve(BCRDeviceCore core, BCRStream stream, const void *f, void *u);
/* the mean that the last solve removed, a number on the device; NULL where the operator is not singular */
PETSC_INTERN PetscErrorCode BCRDeviceCoreGetRemoved(BCRDeviceCore core, const double **removed);
/* What BCRCoreInfo has of parts that were left out is zero again, on the stream */
PETSC_INTERN PetscErrorCode BCRDeviceCoreForget(BCRDeviceCore core, BCRStream stream);
PETSC_INTERN PetscErrorCode BCRDeviceCoreSetShift(BCRDeviceCore core, PetscReal shift);
PETSC_INTERN PetscErrorCode BCRDeviceCoreSetFactor(BCRDeviceCore core, PetscReal factor);
PETSC_INTERN PetscErrorCode BCRDeviceCoreDestroy(BCRDeviceCore *core);
/* how the core solves; it stays the core's */
PETSC_INTERN PetscErrorCode BCRDeviceCoreGetPlan(BCRDeviceCore core, BCRPlan *plan);
PETSC_INTERN PetscErrorCode BCRDeviceCoreGetInfo(BCRDeviceCore core, BCRCoreInfo *info);

/* A box that goes on at the open ends of an axis on other ranks: its last row is one to which their
   rows lead on, both ends are Dirichlet ends otherwise. One pass: Begin gives the right-hand sides
   of that row (interface) and of the row before the first (previous) that are left when the rows between are
   eliminated, in modes of the other axis, mode m at interface[-m]; End takes the solutions there, and the
   mean that a singular operator's right-hand side loses (else NULL). The same f and u in both.
   *core is NULL where it has no plan for that; possible: tables of this shift allow it; reduces:
   instead of End, Lines() and Back() can be used, which take the gathered right-hand sides of all
   parts (BCRCudaSepSolveReduced()) and solve the reduced systems as well; Begin gets the same rows
   and part then, else NULL. With a window they give and take these right-hand sides by themselves,
   and interface and previous need not be set. */
PETSC_INTERN PetscErrorCode BCRDeviceCoreCreateBorder(PetscInt dim, const BCRAxis axis[], PetscReal shift,
                                                      PetscBool singular, const PetscInt stride[],
                                                      const BCRCoreOptions *options, PetscInt along,
                                                      const PetscBool open[2], BCRStream stream, BCRDeviceCore *core);
/* How the modes of planes lie, by which ranks exchange what they have of them (plans RING, SPLIT): the same number on all
   ranks that can exchange, 0: as the modes of the axes. Exclude: not by SPLIT any more, or (all) by neither */
PETSC_INTERN PetscInt BCRDeviceRingLayout(BCRDeviceCore core);
PETSC_INTERN PetscErrorCode BCRDeviceRingExclude(BCRDeviceCore core, PetscBool all);
PETSC_INTERN PetscErrorCode BCRDeviceCoreBorder(BCRDeviceCore core, PetscBool *possible, PetscBool *reduces);
PETSC_INTERN PetscErrorCode BCRDeviceCoreBorderBegin(BCRDeviceCore core, BCRStream stream, const void *f, void *u,
                                                     double *interface, double *previous, const BCRCudaBorderRows *rows,
                                                     int part, const BCRCudaWindow *w);
PETSC_INTERN PetscErrorCode BCRDeviceCoreBorderEnd(BCRDeviceCore core, BCRStream stream, const void *f, void *u,
                                                   const double *interface, const double *before, const double *mean);
/* Of a singular operator behind BorderEnd(), which leaves out the mean and what follows it: what of u the mean is to be
   made zero of, `at` its first byte. True: the plane of the constant mode, whose others add up to zero; false: all of u */
PETSC_INTERN PetscBool BCRDeviceCoreMean(BCRDeviceCore core, BCRCudaBox *box, size_t *at);
/* True: the lines know what this rank's rows have in the sum of the solution (BCRPlanMeanOfRanks()). Then in place of
   BorderEnd(): the lines, which leave it in *sum; with that of all ranks there, factor * *sum is added to the solution, and
   what follows */
PETSC_INTERN PetscBool BCRDeviceCoreMeanOfRanks(BCRDeviceCore core);
PETSC_INTERN PetscErrorCode BCRDeviceCoreBorderSum(BCRDeviceCore core, BCRStream stream, void *u,
                                                   const double *interface, const double *before, const double *mean,
                                                   double *sum);
PETSC_INTERN PetscErrorCode BCRDeviceCoreBorderAdd(BCRDeviceCore core, BCRStream stream, const void *f, void *u,
                                                   const double *mean, const double *sum, double factor);
PETSC_INTERN PetscErrorCode BCRDeviceCoreBorderFinish(BCRDeviceCore core, BCRStream stream, void *u);
PETSC_INTERN PetscErrorCode BCRDeviceCoreBorderLines(BCRDeviceCore core, BCRStream stream, void *u,
                                                     const BCRCudaBorderRows *rows, const double *received, int part,
                                                     const BCRCudaWindow *w);
PETSC_INTERN PetscErrorCode BCRDeviceCoreBorderBack(BCRDeviceCore core, BCRStream stream, const void *f, void *u);

/* Transforms along one uniform axis by themselves, in double */
typedef struct {
  BCRCudaModes modes;
  PetscBool fft, sine; /* sine: both directions are the same */
  int shared;
  BCRDeviceArena arena;
} BCRDeviceModes;
/* lambda, norm: eigenvalues for unit coupling, and their norms */
PETSC_INTERN PetscErrorCode BCRDeviceModesCreate(PetscInt n, const BCREnd end[2], BCRStream stream,
                                                 BCRDeviceModes *modes, double lambda[], double norm[]);
/* out of place */
PETSC_INTERN PetscErrorCode BCRDeviceModesApply(const BCRDeviceModes *modes, BCRStream stream, int synthesis,
                                                const BCRCudaLines *lines, const double *f, double *u);
PETSC_INTERN PetscErrorCode BCRDeviceModesDestroy(BCRDeviceModes *modes);
