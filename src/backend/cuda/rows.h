/*
  An assembled matrix that is read on the device: rows.cu. Conventions: cuda.h.
*/
#pragma once

#include "cuda.h"

#if defined(__cplusplus)
extern "C" {
#endif

/* A matrix in compressed rows on the device: dof rows for each node of the grid, x fastest, fewer than 2^32 of them.
   wide: indices have 64 bits. Values are float (single) or double, complex if parts is 2 */
typedef struct {
  const void *i, *j, *a; /* [rows + 1], [entries], [entries][parts] */
  int wide, single, parts;
  int dim, dof, n[3];
} BCRCudaRows;
/* What a component's rows should be: BCROperator with BCRModelAxis, planes at low and high ends.
   axis[d]: lo, up, dg, w, n of the grid each, on the device */
typedef struct {
  const double *axis[3];
  double scale, shift, slope[3][2], inv[3][2], corner[27][3];
  int b[3], n[3], present[3][2];
} BCRCudaRowsModel;
typedef struct {
  double worst;    /* the largest relative deviation */
  long long where; /* 8 row + slot */
  int odd;         /* a row that is not for this comparison */
} BCRCudaRowsFound;
/* found: of each block */
BCR_CUDA_API int BCRCudaRowsCompare(BCRStream stream, const BCRCudaRows *rows, const BCRCudaRowsModel *models,
                                    double plane_tol, double same_tol, int blocks, BCRCudaRowsFound *found);
/* The rows of component c, node by node: of the model, but for rounding (relative deviations up to
   limit, the largest in found, of each block, `where` of 8 node + slot); else, where even[ix[0]],
   even[n[0] + ix[1]] of the node say that these may be compared, to the last bit those of the node
   before it along x, or y; else neither, or nothing that the device has an opinion on. Two bits for
   each node, what & 1 and what & 2: words[line][(n[0] + 31) / 32][2], of 32 nodes of a line each,
   bit 0 the first. model, even, words, found: on the device */
enum {
  BCR_CUDA_SURVEY_MODEL,
  BCR_CUDA_SURVEY_BESIDE,
  BCR_CUDA_SURVEY_ABOVE,
  BCR_CUDA_SURVEY_LOOK
};
BCR_CUDA_API int BCRCudaRowsSurvey(BCRStream stream, const BCRCudaRows *rows, const BCRCudaRowsModel *model, int c,
                                   const unsigned char *even, double plane_tol, double limit, int blocks,
                                   unsigned *words, BCRCudaRowsFound *found);
/* Nodes first + k step, k < count, of n lines; row r (of the line, all components) of line l goes
   to (l most + r) width of out, entries beyond width are left out */
#define BCR_CUDA_ROW_LINES 27
typedef struct {
  int n, most, width, count[BCR_CUDA_ROW_LINES];
  long long first[BCR_CUDA_ROW_LINES], step[BCR_CUDA_ROW_LINES];
} BCRCudaRowLines;
BCR_CUDA_API int BCRCudaRowsTake(BCRStream stream, const BCRCudaRows *rows, const BCRCudaRowLines *lines, void *out);
/* BCRPlanesSearch(): the rows of component c at the ends (2 d + s) where a plane is present, each
   compared with what the planes that its node is in say */
typedef struct {
  int c, present[3][2];
  double slope[3][2], corner[27][3];
} BCRCudaRowsPlanes;
/* found: of each end, on the device, zero before. Bit 0: a row that does not fit, bit 1: one that the host looks at */
BCR_CUDA_API int BCRCudaRowsSearch(BCRStream stream, const BCRCudaRows *rows, const BCRCudaRowsPlanes *planes,
                                   double plane_tol, double same_tol, int found[6]);

#if defined(__cplusplus)
}
#endif
