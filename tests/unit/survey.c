/*
  Rows that differ, on a CUDA device: what BCRCudaRowsSurvey() says of each row of a matrix and
  the host makes of it is what the host alone finds in all rows, node by node: stars, codes,
  kinds, the mask, deviations. Obstacles, materials, wells, rows that are off by rounding or by a
  little, planes of boundary rows, one and two components, grids of any length. Says so and is
  skipped where there is no device.
*/
#include "../petsc/testing.h"
#include "../obstacles.h"
#include "src/operator/differimpl.h"

#if defined(PETSCBCR_HAVE_CUDA)
  #include "src/base/device.h"
  #include "src/base/stream.h"

typedef struct {
  Case c;
  PetscInt N[3], dof;
  PetscBool planes; /* rows of 1 at the ends of x and y, whose columns are kept */
  double off;       /* some rows are off by this, relatively */
} Box;

static PetscErrorCode Create(const Box *x, DM *da, Mat *A)
{
  const DMBoundaryType none = DM_BOUNDARY_NONE;
  PetscInt ix[3], node = 0;

  PetscFunctionBegin;
  if (x->c.dim == 2)
    PetscCall(
      DMDACreate2d(PETSC_COMM_SELF, none, none, DMDA_STENCIL_STAR, x->N[0], x->N[1], 1, 1, x->dof, 1, NULL, NULL, da));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_SELF, none, none, none, DMDA_STENCIL_STAR, x->N[0], x->N[1], x->N[2], 1, 1, 1,
                           x->dof, 1, NULL, NULL, NULL, da));
  PetscCall(DMSetUp(*da));
  PetscCall(DMCreateMatrix(*da, A));
  for (ix[2] = 0; ix[2] < x->N[2]; ix[2]++)
    for (ix[1] = 0; ix[1] < x->N[1]; ix[1]++)
      for (ix[0] = 0; ix[0] < x->N[0]; ix[0]++, node++)
        for (PetscInt c = 0; c < x->dof; c++) {
          const PetscBool end = (PetscBool)(ix[0] == 0 || ix[0] == x->N[0] - 1 || ix[1] == 0 || ix[1] == x->N[1] - 1);
          MatStencil cols[7];
          PetscScalar v[7];
          PetscInt m;
          Case one = x->c;

          if (c) one.what = WELLS;
          Row(&one, x->N, ix, cols, v, &m);
          if (x->planes && end) {
            m = 1;
            v[0] = 1;
          }
          for (PetscInt k = 0; k < m; k++) cols[k].c = c;
          if (node % 7 == 3) v[m - 1] *= 1 + x->off;
          PetscCall(MatSetValuesStencil(*A, 1, cols, m, cols, v, INSERT_VALUES));
        }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix' arrays on the device */
static PetscErrorCode Arrays(const BCRRows *A, BCRCudaRows *rows, void *there[3])
{
  const PetscInt n = A->dof * A->nodes;
  const void *from[3] = {A->ai, A->aj, A->aa};
  const size_t bytes[3] = {(size_t)(n + 1) * sizeof(PetscInt), (size_t)A->ai[n] * sizeof(PetscInt),
                           (size_t)A->ai[n] * sizeof(PetscScalar)};

  PetscFunctionBegin;
  for (int k = 0; k < 3; k++) {
    PetscCallBCRCuda(BCRCudaMalloc(bytes[k], &there[k]));
    PetscCallBCRCuda(BCRCudaPut(there[k], from[k], bytes[k], NULL));
  }
  *rows = (BCRCudaRows){.i = there[0],
                        .j = there[1],
                        .a = there[2],
                        .wide = sizeof(PetscInt) == 8,
                        .single = sizeof(PetscReal) == sizeof(float),
                        .parts = (int)(sizeof(PetscScalar) / sizeof(PetscReal)),
                        .dim = (int)A->dim,
                        .dof = (int)A->dof};
  for (int d = 0; d < 3; d++) rows->n[d] = (int)A->N[d];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Both surveys of one operator */
static PetscErrorCode Both(const Box *x, BCRRows *A, PetscInt c, BCROperator *op, size_t *looked)
{
  BCRSurvey host, device;
  BCRCudaRows rows;
  uint32_t *words;
  void *there[3];
  PetscBool good;
  PetscInt lines;

  PetscFunctionBegin;
  PetscCall(BCRPlanesMost(A, c, op));
  PetscCall(BCRSurveyOpen(&host, A, c, op));
  PetscCall(BCRDifferModel(&host, &good));
  if (good) { /* else there is none that most rows have */
    PetscCall(BCRModelCreate(op, host.m));
    device = host; /* stars of the rows that were asked, too */
    PetscCall(PetscCalloc3(host.nodes, &device.code, host.nodes, &device.kind, host.n[1] * host.n[2], &device.line));
    PetscCall(BCRSurveyRows(&host));
    PetscCall(Arrays(A, &rows, there));
    PetscCall(BCRSurveyBegin(&device));
    PetscCall(BCRSurveyAsk(&device, &rows, NULL, &words));
    lines = A->N[1] * A->N[2];
    for (PetscInt w = 0; w < BCRSurveyWords(&device) * lines; w++)
      *looked += (size_t)__builtin_popcount(words[2 * w] & words[2 * w + 1]);
    BCRSurveyTake(&device, words);
    Check(!memcmp(host.code, device.code, (size_t)host.nodes) && !memcmp(host.kind, device.kind, (size_t)host.nodes) &&
            !memcmp(host.line, device.line, (size_t)lines) && host.stars == device.stars &&
            !memcmp(&host.star[1], &device.star[1], (size_t)(host.stars - 1) * sizeof(host.star[0])) &&
            host.masked == device.masked && host.mask == device.mask && host.bad == device.bad &&
            host.rest == device.rest && host.v.dev == device.v.dev && host.v.row == device.v.row &&
            host.v.col == device.v.col,
          "%d-D, %d x %d x %d, component %d, what %d, shape %d, off %g, planes %d: stars %d, %d, masked %d, %d, "
          "deviation %g, %g at %d,%d, %d,%d",
          (int)x->c.dim, (int)x->N[0], (int)x->N[1], (int)x->N[2], (int)c, x->c.what, x->c.shape, x->off,
          (int)x->planes, (int)host.stars, (int)device.stars, (int)host.masked, (int)device.masked, host.v.dev,
          device.v.dev, (int)host.v.row, (int)host.v.col, (int)device.v.row, (int)device.v.col);
    PetscCall(PetscFree(words));
    for (int k = 0; k < 3; k++) (void)BCRCudaFree(there[k]);
    PetscCall(PetscFree3(device.code, device.kind, device.line));
  }
  PetscCall(BCRSurveyClose(&host));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(const Box *x, size_t *looked, size_t *all)
{
  BCRGrid grid;
  BCRRows A;
  DM da;
  Mat mat;

  PetscFunctionBegin;
  PetscCall(Create(x, &da, &mat));
  PetscCall(BCRGridCreate(da, PETSC_COMM_SELF, &grid));
  PetscCall(BCRRowsOpen(&grid, mat, PETSC_FALSE, PETSC_FALSE, &A));
  for (PetscInt c = 0; c < x->dof; c++) {
    BCROperator op;

    PetscCall(PetscMemzero(&op, sizeof(op)));
    PetscCall(Both(x, &A, c, &op, looked));
    *all += (size_t)A.nodes;
    PetscCall(BCROperatorReset(&op));
  }
  PetscCall(BCRRowsClose(&A));
  PetscCall(BCRGridDestroy(&grid));
  PetscCall(MatDestroy(&mat));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode All(void)
{
  const PetscInt sides[2][5][3] = {
    {{31, 31, 1},  {32, 33, 1}, {33, 20, 1}, {67, 29, 1}, {100, 17, 1}},
    {{12, 11, 13}, {17, 9, 8},  {33, 8, 7},  {9, 16, 12}, {40, 7, 9}  }
  };
  const double offs[] = {0, 1e-15, 1e-12, 1e-7, 0.3};
  size_t looked = 0, all = 0;
  int t = 0;

  PetscFunctionBegin;
  for (PetscInt dim = 2; dim <= 3; dim++)
    for (int what = NEUMANN_MASK; what <= PINNED; what++)
      for (int shape = DISC; shape <= RING; shape++, t++) {
        Box x = {
          .c = {dim, 0, (What)what, (Shape)shape, what == MATERIAL ? 50 : 1, (PetscBool)(t % 3 == 1), 0},
          .dof = t % 4 == 3 ? 2 : 1,
          .planes = (PetscBool)(t % 5 == 2),
          .off = offs[t * 7 % 5]
        };

        for (int d = 0; d < 3; d++) x.N[d] = sides[dim - 2][t % 5][d];
        x.c.n = dim == 2 ? 40 : 12;
        PetscCall(Run(&x, &looked, &all));
      }
  printf("%zu rows of %zu are left to the host\n", looked, all);
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
#if defined(PETSCBCR_HAVE_CUDA)
  {
    const char *why = NULL;

    if (BCRDeviceAvailable(&why)) PetscCall(All());
    else printf("no device: %s\n", why ? why : "");
  }
#else
  printf("built without CUDA\n");
#endif
  PetscCall(PetscFinalize());
  return TestStatus(1, TestPassed, TestFailed);
}
