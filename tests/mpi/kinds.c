/*
  Every kind of row that differs x ends of the axes x singular or not: KSPPREONLY solves the
  matrix directly, twice, transposed and with other values, with a residual of rounding and the
  solution of PETSc's LU; of singular matrices, where a constant is free, a known one. Kinds and
  their counts are in PCView(). Some in mixed and in single precision. Real and complex, any number of ranks.
  -backend cuda: vectors and matrices on the CUDA devices that the ranks have, or share
  -few <1, 3 on more than two ranks>: one case of so many
  ranks: 1 2 3 5
*/
#include "../petsc/testing.h"
#include "src/poisson/solver.h"
#include <petscksp.h>

typedef enum {
  KEPT,     /* identity rows in the mask; its columns stay */
  ZEROED,   /* its columns are zeroed, the diagonals stay */
  NOFLUX,   /* links to the mask are gone, with what they have on the diagonal */
  MATERIAL, /* faces have harmonic means */
  WELLS,    /* more on some diagonals */
  PINNED,   /* one identity row, its column kept */
  HALF,     /* half of the low end of y is held, half without flux */
  WALL,     /* other rows in a part of the high end of x */
  FACTORS,  /* without flux, and each row with a factor of its own */
  ODD,      /* rows with any entries, and the column of one neighbour only */
  KINDS
} Kind;

static const char *const kinds[] = {"kept",   "zeroed", "no flux", "materials", "wells",
                                    "pinned", "half",   "wall",    "factors",   "odd"};

typedef enum {
  NODE,   /* zero a mesh width beyond the end */
  CELL,   /* zero half of one beyond */
  FREE,   /* no flux half of a mesh width beyond */
  MIRROR, /* no flux at the last node, whose row is not halved */
  PLANE,  /* rows of 1 at the end, their columns kept */
  RING
} End;

/* Pairs of ends of x, y, z */
static const End ends[][3][2] = {
  {{NODE, NODE},     {NODE, NODE},   {NODE, NODE}  },
  {{FREE, FREE},     {FREE, FREE},   {FREE, FREE}  },
  {{MIRROR, MIRROR}, {FREE, MIRROR}, {FREE, FREE}  },
  {{RING, RING},     {FREE, FREE},   {RING, RING}  },
  {{PLANE, PLANE},   {PLANE, PLANE}, {PLANE, PLANE}},
  {{CELL, FREE},     {MIRROR, NODE}, {RING, RING}  },
  {{FREE, FREE},     {RING, RING},   {CELL, CELL}  },
  {{PLANE, MIRROR},  {FREE, FREE},   {FREE, NODE}  }
};

typedef struct {
  PetscInt dim, N[3];
  Kind kind;
  const End (*end)[2];
  double scale, one; /* of the matrix; of identity rows */
} Box;

static PetscBool In(const Box *x, const PetscInt ix[3])
{
  double r2 = 0;

  if (x->kind > MATERIAL && x->kind != FACTORS) return PETSC_FALSE;
  for (PetscInt d = 0; d < x->dim; d++) r2 += PetscSqr(((double)ix[d] + .5) / (double)x->N[d] - (d ? .5 : .45));
  return (PetscBool)(r2 < .19 * .19);
}

/* Which nodes are something else */
static PetscBool Some(const Box *x, const PetscInt ix[3])
{
  const PetscInt at = ix[0] + x->N[0] * (ix[1] + x->N[1] * ix[2]);

  for (PetscInt d = 0; d < x->dim; d++)
    if (ix[d] < 3 || ix[d] >= x->N[d] - 3) return PETSC_FALSE;
  if (x->kind == PINNED) return (PetscBool)(ix[0] == 5 && ix[1] == 4 && (x->dim == 2 || ix[2] == 4));
  return (PetscBool)(x->kind == WELLS || x->kind == ODD ? at % 31 == 7 : 0);
}

/* The row of a node; how many entries, the diagonal first */
static PetscInt Row(const Box *x, const PetscInt ix[3], MatStencil cols[7], PetscScalar v[7])
{
  const double a[3] = {1, .7, 1.3};
  const PetscBool some = Some(x, ix), in = In(x, ix), mask = (PetscBool)(in && x->kind != MATERIAL);
  PetscBool plane = PETSC_FALSE;
  double factor = x->scale;
  PetscInt m = 1;

  cols[0] = (MatStencil){.i = ix[0], .j = ix[1], .k = ix[2]};
  v[0] = 0;
  for (PetscInt d = 0; d < x->dim; d++) {
    const PetscInt last = x->N[d] - 1;

    plane = (PetscBool)(plane || (ix[d] == 0 && x->end[d][0] == PLANE) || (ix[d] == last && x->end[d][1] == PLANE));
    for (int s = 0; s < 2; s++) {
      const End end = x->end[d][s], other = x->end[d][!s];
      PetscInt at[3] = {ix[0], ix[1], ix[2]};
      double link = a[d];

      at[d] += s ? 1 : -1;
      if (at[d] < 0 || at[d] > last) {
        if (x->kind == HALF && d == 1 && !s && end != RING) v[0] += 2 * ix[0] < x->N[0] ? 2 * a[d] : 0;
        else if (end == NODE || end == CELL) v[0] += a[d] * (end == CELL ? 2 : 1);
        if (end != RING) continue;
        at[d] = s ? 0 : last;
      } else if (other == MIRROR && ix[d] == (s ? 0 : last)) link *= 2;
      if (x->kind == MATERIAL) link *= in && In(x, at) ? 50 : (in != In(x, at) ? 100. / 51 : 1);
      if (x->kind == WALL && d == 0 && ix[0] == last && s == 0 && 3 * ix[1] < x->N[1]) link *= .6;
      if (In(x, at) && (x->kind == NOFLUX || x->kind == FACTORS)) continue;
      v[0] += link;
      if (In(x, at) && x->kind == ZEROED) continue;
      if (some && x->kind == ODD) link *= m == 1 ? .3 : 0;
      cols[m] = (MatStencil){.i = at[0], .j = at[1], .k = at[2]};
      v[m++] = -link;
    }
  }
  if (some && x->kind == WELLS) v[0] += 3;
  if (x->kind == WALL && ix[0] == x->N[0] - 1 && 3 * ix[1] < x->N[1]) v[0] += .3;
  if (x->kind == FACTORS) factor *= 1 + .5 * sin(1.7 * (double)ix[0] + 2.3 * (double)ix[1] + .9 * (double)ix[2]);
  for (PetscInt k = 0; k < m; k++) v[k] *= factor;
  if (!mask && !plane && !(some && x->kind == PINNED)) return m;
  if (x->kind != ZEROED || plane) v[0] = x->one;
  return 1;
}

/* Nothing holds the solution */
static PetscBool Singular(const Box *x)
{
  if (x->kind != NOFLUX && x->kind != MATERIAL && x->kind != FACTORS) return PETSC_FALSE;
  for (PetscInt d = 0; d < x->dim; d++)
    for (int s = 0; s < 2; s++)
      if (x->end[d][s] == NODE || x->end[d][s] == CELL || x->end[d][s] == PLANE) return PETSC_FALSE;
  return PETSC_TRUE;
}

static PetscErrorCode Create(const Box *x, PetscBool device, DM *da, Mat *A)
{
  DMBoundaryType type[3];
  PetscInt lo[3], n[3], ix[3];

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) type[d] = x->end[d][0] == RING ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;
  if (x->dim == 2)
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, type[0], type[1], DMDA_STENCIL_STAR, x->N[0], x->N[1], PETSC_DECIDE,
                           PETSC_DECIDE, 1, 1, NULL, NULL, da));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, type[0], type[1], type[2], DMDA_STENCIL_STAR, x->N[0], x->N[1], x->N[2],
                           PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, NULL, da));
  if (device) {
    PetscCall(DMSetVecType(*da, VECCUDA));
    PetscCall(DMSetMatType(*da, MATAIJCUSPARSE));
  }
  PetscCall(DMSetUp(*da));
  PetscCall(DMCreateMatrix(*da, A));
  PetscCall(DMDAGetCorners(*da, &lo[0], &lo[1], &lo[2], &n[0], &n[1], &n[2]));
  for (ix[2] = lo[2]; ix[2] < lo[2] + n[2]; ix[2]++)
    for (ix[1] = lo[1]; ix[1] < lo[1] + n[1]; ix[1]++)
      for (ix[0] = lo[0]; ix[0] < lo[0] + n[0]; ix[0]++) {
        MatStencil cols[7];
        PetscScalar v[7];
        const PetscInt m = Row(x, ix, cols, v);

        for (PetscInt k = 1; k < m; k++)
          for (PetscInt d = 0; d < x->dim; d++) { /* around a ring */
            PetscInt *to = d == 0 ? &cols[k].i : (d == 1 ? &cols[k].j : &cols[k].k);

            if (*to - ix[d] > 1) *to -= x->N[d];
            else if (ix[d] - *to > 1) *to += x->N[d];
          }
        PetscCall(MatSetValuesStencil(*A, 1, cols, m, cols, v, INSERT_VALUES));
      }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* 1 outside the mask, 0 in it */
static PetscErrorCode Free(const Box *x, DM da, Vec v)
{
  PetscInt lo[3], n[3], ix[3], i = 0;
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], &lo[2], &n[0], &n[1], &n[2]));
  PetscCall(VecGetArray(v, &a));
  for (ix[2] = lo[2]; ix[2] < lo[2] + n[2]; ix[2]++)
    for (ix[1] = lo[1]; ix[1] < lo[1] + n[1]; ix[1]++)
      for (ix[0] = lo[0]; ix[0] < lo[0] + n[0]; ix[0]++) a[i++] = In(x, ix) && x->kind != MATERIAL ? 0 : 1;
  PetscCall(VecRestoreArray(v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* max |x - y| / max |y|, but for a constant outside the mask */
static PetscErrorCode Apart(const Box *box, DM da, Vec x, Vec y, PetscReal *difference)
{
  Vec free;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(x, &free));
  PetscCall(Free(box, da, free));
  PetscCall(TestApart(free, x, y, difference));
  PetscCall(VecDestroy(&free));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What PCView() is to say of the rows, all walls holding the solution: kinds, and how many there are of each, counted here */
static void Expect(const Box *x, size_t length, char text[])
{
  PetscInt in = 0, beside = 0, some = 0, held = 0, wall = 0, ix[3];

  for (ix[2] = 0; ix[2] < x->N[2]; ix[2]++)
    for (ix[1] = 0; ix[1] < x->N[1]; ix[1]++)
      for (ix[0] = 0; ix[0] < x->N[0]; ix[0]++) {
        PetscBool touches = PETSC_FALSE;

        for (PetscInt d = 0; d < x->dim; d++)
          for (int s = -1; s <= 1; s += 2) {
            PetscInt at[3] = {ix[0], ix[1], ix[2]};

            at[d] += s;
            touches = (PetscBool)(touches || In(x, at) != In(x, ix));
          }
        in += In(x, ix) ? 1 : 0;
        beside += touches && (x->kind == MATERIAL || !In(x, ix)) ? 1 : 0;
        some += Some(x, ix) ? 1 : 0;
        held += ix[1] == 0 && 2 * ix[0] < x->N[0] ? 1 : 0;
        wall += ix[0] == x->N[0] - 1 && 3 * ix[1] < x->N[1] ? 1 : 0;
      }
  if (x->kind == KEPT || x->kind == ZEROED)
    (void)snprintf(text, length, "(%d identity rows in 1 piece", (int)in); /* and what is beside them */
  else if (x->kind == NOFLUX || x->kind == FACTORS)
    (void)snprintf(text, length, "(%d identity rows in 1 piece, %d with missing links)", (int)in, (int)beside);
  else if (x->kind == MATERIAL) (void)snprintf(text, length, "(%d with links of another strength)", (int)beside);
  else if (x->kind == WELLS) (void)snprintf(text, length, "(%d of another diagonal)", (int)some);
  else if (x->kind == PINNED) (void)snprintf(text, length, "(1 identity row");
  else if (x->kind == HALF) (void)snprintf(text, length, "(%d at ends)", (int)PetscMin(held, x->N[0] * x->N[2] - held));
  else if (x->kind == WALL) (void)snprintf(text, length, "(%d at ends)", (int)wall);
  else (void)snprintf(text, length, "(%d with missing links)", (int)some);
}

static PetscErrorCode View(const Box *box, PC pc)
{
  PetscMPIInt rank;
  char expected[128];
  char *text;

  PetscFunctionBegin;
  Expect(box, sizeof(expected), expected);
  PetscCall(TestViewText((PetscObject)pc, &text));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  Check(rank > 0 || strstr(text, expected), "%s, %d-D: not %s in the view:\n%s", kinds[box->kind], (int)box->dim,
        expected, text);
  free(text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(const Box *box, int e, PetscBool device, PCBCRPoissonPrecision precision)
{
  const PetscBool singular = Singular(box), single = (PetscBool)(sizeof(PetscReal) < sizeof(double) ||
                                                                 precision == PCBCRPOISSON_PRECISION_SINGLE);
  PetscReal error = 0, difference = 0;
  PetscInt rows, solves;
  KSPConvergedReason reason;
  Vec x, y, b;
  KSP ksp;
  PC pc;
  DM da;
  Mat A;

  PetscFunctionBegin;
  PetscCall(Create(box, device, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &y));
  PetscCall(TestKSPCreate(A, KSPPREONLY, &ksp, &pc));
  PetscCall(PCBCRPoissonSetPrecision(pc, precision));
  PetscCall(KSPSetFromOptions(ksp));
  for (int k = 0; k < 4; k++) {
    const PetscBool transpose = (PetscBool)(k == 2);

    if (transpose && singular) continue;
    if (k == 3) PetscCall(MatScale(A, 2)); /* values that are on a device alone, then */
    PetscCall(TestRandom(y));
    PetscCall(transpose ? MatMultTranspose(A, y, b) : MatMult(A, y, b));
    if (!singular && k == 0) PetscCall(TestRandom(b));
    PetscCall(transpose ? KSPSolveTranspose(ksp, b, x) : KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(PCBCRPoissonGetCapacitanceSolves(pc, &rows, &solves));
    PetscCall(TestRowsAlike(A, transpose, b, x, (PetscBool)!singular, &error, &difference));
    if (singular) PetscCall(Apart(box, da, x, y, &difference));
    Check(reason > 0 && rows > 0 && solves > 0 && error <= (single ? 1e-5 : 1e-13) &&
            difference <= (single ? 1e-2 : 1e-10),
          "%s, %d-D, ends %d, scale %g, %s, %s, solve %d: reason %d, %d rows, %d solves, backward error %g, difference "
          "%g",
          kinds[box->kind], (int)box->dim, e, box->scale, singular ? "singular" : "regular",
          PCBCRPoissonPrecisions[precision], k, (int)reason, (int)rows, (int)solves, (double)error, (double)difference);
  }
  if (e == 0) PetscCall(View(box, pc));
  PetscCall(TestDestroy(&ksp, &x, &y, &b, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char backend[8] = "cpu";
  PetscBool device;
  PetscInt few;
  PetscMPIInt rank, size;
  int t = 0;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(TestSeed());
  few = size > 2 ? 3 : 1;
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-few", &few, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscStrcmp(backend, "cuda", &device));
  for (int kind = 0; kind < KINDS && (!device || BCRSolverHaveDevice(NULL)); kind++)
    for (int e = 0; e < (int)PETSC_STATIC_ARRAY_LENGTH(ends); e++)
      for (PetscInt dim = 2; dim <= 3; dim++, t++) {
        /* 1 among 1e-14, and among negative numbers */
        const double scales[] = {1, -1, sizeof(PetscReal) < sizeof(double) ? 1e-4 : 1e-14};
        const Box box = {
          .dim = dim,
          .N = {dim > 2 ? 14 : 31, dim > 2 ? 13 : 23, dim > 2 ? 12 : 1},
          .kind = (Kind)kind,
          .end = ends[e],
          .scale = scales[(kind + e + (int)dim) % 3],
          .one = 1
        };

        /* no rows differ where the end has planes or none */
        if ((kind == HALF && ends[e][1][0] >= PLANE) || (kind == WALL && ends[e][0][1] >= PLANE)) continue;
        if (t % few == 0) PetscCall(Run(&box, e, device, PCBCRPOISSON_PRECISION_DOUBLE));
        if (t % (7 * few) == 0) PetscCall(Run(&box, e, device, PCBCRPOISSON_PRECISION_MIXED));
        if (t % (7 * few) == 3 * few) PetscCall(Run(&box, e, device, PCBCRPOISSON_PRECISION_SINGLE));
      }
  PetscCall(PetscFinalize());
  return TestStatus(rank == 0, TestPassed, TestFailed);
}
