/*
  What a CUDA device can do, for plans: numbers of the device and questions to src/backend/cuda. The questions are
  pointers, so that plans can be made, and tested, where there is no device.
*/
#pragma once

#include "plan.h"
#include "../backend/cuda/box.h"
#include "../backend/cuda/level0.h"
#include "../backend/cuda/longline.h"
#include "../backend/cuda/transforms.h"
#include "../backend/cuda/product.h"
#include "../backend/cuda/border.h"
#include "../backend/cuda/ring.h"

/* Length up to which a product with a matrix that is not stored takes no longer than a transform. From the first plans
   of a device; no file in bench/results has both at one length */
#define BCR_PLAN_DENSE_MOST 32

typedef struct _BCRPlanCuda BCRPlanCuda;
struct _BCRPlanCuda {
  int sms;      /* multiprocessors */
  int shared;   /* bytes of shared memory that a kernel may use in a block */
  size_t cache; /* bytes of the second-level cache that a ring of planes may take */
  /* transforms; each is 0 where the length is not one of those that the kernels have */
  int (*fft)(int P, int single, int shared);
  int (*sine)(int N, int single, int shared);
  int (*prime)(int P, int single, int shared, BCRCudaDstPrime *plan, double *w, int *index, int *modes);
  int (*chirp)(int P, int even, int single, int shared);
  int (*convolve)(int n, const BCREnd end[2], int single, int shared);
  int (*rows)(int n, BCREnd end, int across, int single, int shared, BCRCudaRowFft *plan, double *w, int *index,
              int *modes);
  int (*across)(int n, BCREnd end, int single, int shared, BCRCudaChirpAcross *plan, double *w, int *modes);
  int (*product)(const BCRCudaModes *modes, int shared, BCRCudaProducts *m);
  int (*productacross)(const BCRCudaModes *modes, int shared, BCRCudaProducts *m);
  int (*longline)(const BCRCudaModes *modes, int shared, BCRCudaLong *plan);
  int (*columns)(int N, int single);
  /* planes on chip: whether a cluster of blocks has room for one */
  int (*box)(int N);
  int (*boxfits)(const BCRCudaBoxPlanes *planes, int single);
  int (*boxranks)(const BCRCudaBoxPlanes *planes, int single);
  int (*boxproduct)(const BCRCudaBoxPlanes *planes, const BCRCudaProducts *m, int single);
  /* planes through the second-level cache; lines across them by tables */
  int (*ring)(const int n[3], int single, int sms, size_t cache, int shared, BCRCudaRing *ring);
  int (*ringlines)(int n, int single);
  int (*split)(const int n[3], int single, BCRCudaRing *ring);
  /* level 0 */
  void (*shape)(BCRCudaLevel0 *level0, int single, int sms, int *K, int *columns, int *blocks);
  int (*wholerows)(const BCRCudaLevel0 *level0, int single, int sms, int *slots);
  int (*small)(const BCRCudaLevel0 *level0, int single, int shared);
};

/* cuda is kept by the caller as long as plans are */
PETSC_INTERN void BCRPlanLimitsCuda(const BCRPlanCuda *cuda, BCRPlanLimits *limits);

/* Which transforms a plan has: by the axes alone */
PETSC_INTERN void BCRPlanCudaTransforms(BCRPlan plan);
/* A box of planes of the plan (BOX, BOX_PASSES), of which the tables are not yet there */
PETSC_INTERN void BCRPlanCudaBox(BCRPlan plan, BCRCudaBoxPass *pass, BCRCudaBoxPlanes *planes);
/* The same for BOX_PRODUCT */
PETSC_INTERN void BCRPlanCudaProduct(BCRPlan plan, BCRCudaBoxPlanes *planes);

/* Planes of RING, or of SPLIT, without tables and memory */
PETSC_INTERN PetscBool BCRPlanCudaRing(BCRPlan plan, PetscBool split, BCRCudaRing *ring);

/* Level 0 of the plan but for its tables; what the kernels' shape is */
typedef struct {
  int K, columns; /* columns of a thread and of a tile, halos included */
  int blocks;     /* that a multiprocessor runs at a time, of tiles */
  int slots;      /* blocks that the device runs at a time, of whole rows */
} BCRPlanCudaShape;
PETSC_INTERN void BCRPlanCudaLevel0(BCRPlan plan, BCRCudaLevel0 *level0, BCRPlanCudaShape *shape);
/* the transform of the separators is of cosines, between node-centred Neumann ends: dst.cu */
PETSC_INTERN PetscBool BCRPlanCudaEven(BCRPlan plan);
/* the transform of the separators works in place */
PETSC_INTERN PetscBool BCRPlanCudaStays(BCRPlan plan);
/* a transform of length P by fft.cu */
PETSC_INTERN PetscBool BCRPlanCudaFft(BCRPlan plan, int P);
/* Products along axis d are those of productacross.cu */
PETSC_INTERN PetscBool BCRPlanCudaProductsAcross(BCRPlan plan, PetscInt d);
/* whether rows that go on on other ranks can be taken, for some shift */
PETSC_INTERN PetscBool BCRPlanCudaBorder(BCRPlan plan);
/* Eigenvectors of a uniform axis as the kernels take them, in natural order; no tables */
PETSC_INTERN void BCRPlanCudaModes(PetscInt n, const BCREnd end[2], BCRCudaModes *modes);
