/*
  petscbcr: fast direct Poisson and Helmholtz solvers on a DMDA by block cyclic reduction, as PETSc PC and KSP types.
*/
#pragma once

#include <petscksp.h>
#include <petscdmda.h>

#define PETSCBCR_VERSION_MAJOR 0
#define PETSCBCR_VERSION_MINOR 1
#define PETSCBCR_VERSION_PATCH 0

#define PCBCRPOISSON  "bcrpoisson"
#define KSPBCRPOISSON "bcrpoisson"
