/*
  Rows that differ among those of 9 and 27 points: obstacles, wells, pinned rows, two materials, walls of two kinds in bilinear and
  trilinear elements, Mehrstellen and HPCG's stencil, definite or not, whose ends are elements', left out, rings or rows of 1. KSPPREONLY solves the
  matrix directly, twice, transposed and with other values, with a residual of rounding and the solution of PETSc's LU; of
  singular matrices, where a constant is free, a known one. Kinds and their counts are in PCView(). Solves of the box do not grow with
  the grid; CG with the extension by zero; errors where too many rows differ. Real and complex, any number of ranks.
  -backend cuda: vectors and matrices on the CUDA devices that the ranks have, or share
  -few <1>: one case of so many; -planes <1>, 0: no ends with rows of 1; -print: the numbers
  ranks: 1 2 3
  turns: 6
*/
#include "../petsc/testing.h"
#include "src/poisson/solver.h"
#include <petscksp.h>

typedef enum {
  KEPT,     /* identity rows in the mask; its columns stay */
  ZEROED,   /* its columns are zeroed, the diagonals stay */
  NOFLUX,   /* links to the mask are gone, with what they have on the diagonal */
  HOLE,     /* elements are left out, and rows without any are of 1 */
  ISLANDS,  /* several pieces, some of one node, one that touches an end, all with their columns */
  WELLS,    /* more on some diagonals */
  PINNED,   /* one identity row, its column kept */
  HALF,     /* half of the low end of y is held, half natural */
  MATERIAL, /* elements of another strength */
  ODD,      /* rows with any entries */
  KINDS
} Kind;

static const char *const kinds[] = {"kept",  "zeroed", "no flux", "hole",      "islands",
                                    "wells", "pinned", "half",    "materials", "odd"};

typedef enum {
  OUT,   /* nodes beyond the end are left out, and zero */
  FREE,  /* no elements beyond the end */
  PLANE, /* rows of 1 at the end, their columns kept */
  RING
} End;

typedef enum {
  ELEMENTS, /* stiffness, and a mass where it says so */
  MASS,
  WAVES,  /* a mass with the other sign: not definite */
  STENCIL /* Mehrstellen, HPCG: for ends that are left out, and rings */
} Model;

static const End ends[][3][2] = {
  {{OUT, OUT},     {OUT, OUT},     {OUT, OUT}    },
  {{FREE, FREE},   {FREE, FREE},   {FREE, FREE}  },
  {{RING, RING},   {FREE, OUT},    {RING, RING}  },
  {{PLANE, PLANE}, {PLANE, PLANE}, {PLANE, PLANE}},
  {{FREE, FREE},   {RING, RING},   {FREE, FREE}  },
  {{FREE, PLANE},  {OUT, FREE},    {FREE, OUT}   },
};

typedef struct {
  PetscInt dim, N[3];
  Kind kind;
  Model model;
  const End (*end)[2];
  double scale;
} Box;

static PetscBool device, print = PETSC_FALSE;

static PetscBool Disc(const Box *x, const double at[3])
{
  double r2 = 0;

  for (PetscInt d = 0; d < x->dim; d++) r2 += PetscSqr((at[d] + .5) / (double)x->N[d] - (d ? .5 : .45));
  return (PetscBool)(r2 < .19 * .19);
}

/* The element between node e - 1 and e along each axis: 0: it is none */
static double Element(const Box *x, const PetscInt e[3])
{
  double at[3] = {0, 0, 0};

  for (PetscInt d = 0; d < x->dim; d++) {
    const End low = x->end[d][0], high = x->end[d][1];

    at[d] = (double)e[d] - .5;
    if (low == RING) continue;
    if (x->kind == HALF && d == 1 && e[d] == 0) {
      if (2 * e[0] > x->N[0]) return 0;
      continue;
    }
    if ((e[d] == 0 && low == FREE) || (e[d] == x->N[d] && high == FREE)) return 0;
  }
  if (x->kind == HOLE && Disc(x, at)) return 0;
  return x->kind == MATERIAL && Disc(x, at) ? 20 : 1;
}

/* A node whose row is one of 1, but for those of planes */
static PetscBool Mask(const Box *x, const PetscInt ix[3])
{
  const double at[3] = {(double)ix[0], (double)ix[1], (double)ix[2]};

  if (x->kind == PINNED) return (PetscBool)(ix[0] == 5 && ix[1] == 4 && (x->dim == 2 || ix[2] == 4));
  if (x->kind == ISLANDS)
    return (PetscBool)((ix[0] + 3 * ix[1] + 5 * ix[2]) % 41 == 7 || (ix[0] < 3 && PetscAbs(2 * ix[1] - x->N[1]) < 4) ||
                       (PetscAbs(3 * ix[0] - 2 * x->N[0]) < 6 && PetscAbs(3 * ix[1] - x->N[1]) < 7 &&
                        PetscAbs(2 * ix[2] - x->N[2]) < 6));
  if (x->kind == HOLE) {
    for (int k = 0; k < (1 << x->dim); k++)
      if (Element(x, (PetscInt[]){ix[0] + (k & 1), ix[1] + (k >> 1 & 1), ix[2] + (k >> 2)}) != 0) return PETSC_FALSE;
    return PETSC_TRUE;
  }
  return (PetscBool)(x->kind < HOLE && Disc(x, at));
}

static PetscBool Some(const Box *x, const PetscInt ix[3])
{
  for (PetscInt d = 0; d < x->dim; d++)
    if (ix[d] < 2 || ix[d] >= x->N[d] - 2) return PETSC_FALSE;
  return (PetscBool)((ix[0] + x->N[0] * (ix[1] + x->N[1] * ix[2])) % 37 == 7);
}

static PetscBool Plane(const Box *x, const PetscInt ix[3])
{
  for (PetscInt d = 0; d < x->dim; d++)
    if ((ix[d] == 0 && x->end[d][0] == PLANE) || (ix[d] == x->N[d] - 1 && x->end[d][1] == PLANE)) return PETSC_TRUE;
  return PETSC_FALSE;
}

/* Entry of an element's matrix between nodes whose distance along axis d is 0 or not, bit d */
static double ElementEntry(const Box *x, int apart)
{
  const double h[3] = {1, .8, 1.3};
  double v = 0;

  for (int e = 0; e < (int)x->dim + (x->model == MASS || x->model == WAVES); e++) {
    double w = 1;

    for (int d = 0; d < (int)x->dim; d++)
      w *= d == e ? (apart >> d & 1 ? -1 : 1) / h[d] : (apart >> d & 1 ? 1 : 2) * h[d] / 6;
    v += e == (int)x->dim && x->model == WAVES ? -.4 * w : w;
  }
  return v;
}

/* Entry of the row of node ix at distance k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1 */
static double Entry(const Box *x, const PetscInt ix[3], int k)
{
  const int off[3] = {k % 3 - 1, k / 3 % 3 - 1, k / 9 - 1};
  const int apart = (off[0] != 0) + 2 * (off[1] != 0) + 4 * (off[2] != 0), many = !!off[0] + !!off[1] + !!off[2];
  double v = 0;

  if (x->model == STENCIL && x->dim == 2) return many == 0 ? 20 : (many == 1 ? -4 : -1);
  if (x->model == STENCIL) return many == 0 ? 26 : -1;
  for (int e = 0; e < (1 << x->dim); e++) { /* elements with both nodes */
    PetscInt at[3];
    PetscBool both = PETSC_TRUE;

    for (int d = 0; d < 3; d++) {
      at[d] = ix[d] + (d < (int)x->dim ? e >> d & 1 : 0);
      both = (PetscBool)(both && (off[d] == 0 || (off[d] > 0) == (e >> d & 1)));
    }
    if (both) v += Element(x, at) * ElementEntry(x, apart);
  }
  return v;
}

/* The row of a node; how many entries */
static PetscInt Row(const Box *x, const PetscInt ix[3], MatStencil cols[27], PetscScalar v[27])
{
  const PetscBool alone = (PetscBool)(Plane(x, ix) || Mask(x, ix)), some = Some(x, ix);
  double diagonal = 0;
  PetscInt m = 1;

  cols[0] = (MatStencil){.i = ix[0], .j = ix[1], .k = ix[2]};
  for (int k = 0; k < 27; k++) {
    PetscInt at[3], to[3];
    PetscBool there = PETSC_TRUE;
    double entry;

    for (int d = 0; d < 3; d++) {
      const PetscInt off = d == 0 ? k % 3 - 1 : (d == 1 ? k / 3 % 3 - 1 : k / 9 - 1);

      at[d] = to[d] = ix[d] + off;
      if (d >= (int)x->dim) there = (PetscBool)(there && off == 0);
      else if (x->end[d][0] == RING) to[d] = (to[d] + x->N[d]) % x->N[d];
      else there = (PetscBool)(there && to[d] >= 0 && to[d] < x->N[d]);
    }
    if (!there) continue;
    entry = Entry(x, ix, k);
    if (k == 13) diagonal += entry;
    if (k == 13 || entry == 0) continue;
    if (Mask(x, to) && x->kind == NOFLUX) diagonal += entry;
    if (Mask(x, to) && (x->kind == NOFLUX || x->kind == ZEROED)) continue;
    if (some && x->kind == ODD) entry *= m == 2 ? 0 : 1 - .2 * m / 9.;
    cols[m] = (MatStencil){.i = at[0], .j = at[1], .k = at[2]};
    v[m++] = x->scale * entry;
  }
  if (some && x->kind == WELLS) diagonal += 3;
  v[0] = x->scale * diagonal;
  if (!alone) return m;
  if (x->kind != ZEROED || Plane(x, ix)) v[0] = 1;
  return 1;
}

/* Nothing holds the solution */
static PetscBool Singular(const Box *x)
{
  if ((x->kind != NOFLUX && x->kind != MATERIAL && x->kind != HOLE) || x->model == MASS || x->model == WAVES)
    return PETSC_FALSE;
  for (PetscInt d = 0; d < x->dim; d++)
    for (int s = 0; s < 2; s++)
      if (x->end[d][s] == OUT || x->end[d][s] == PLANE) return PETSC_FALSE;
  return PETSC_TRUE;
}

static PetscErrorCode Create(const Box *x, DM *da, Mat *A)
{
  DMBoundaryType type[3];
  PetscInt lo[3], n[3], ix[3];

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) type[d] = x->end[d][0] == RING ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;
  if (x->dim == 2)
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, type[0], type[1], DMDA_STENCIL_BOX, x->N[0], x->N[1], PETSC_DECIDE,
                           PETSC_DECIDE, 1, 1, NULL, NULL, da));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, type[0], type[1], type[2], DMDA_STENCIL_BOX, x->N[0], x->N[1], x->N[2],
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
        MatStencil cols[27];
        PetscScalar v[27];
        const PetscInt m = Row(x, ix, cols, v);

        PetscCall(MatSetValuesStencil(*A, 1, cols, m, cols, v, INSERT_VALUES));
      }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* max |x - y| / max |y|, but for a constant outside the mask */
static PetscErrorCode Apart(const Box *box, DM da, Vec x, Vec y, PetscReal *difference)
{
  PetscInt lo[3], n[3], ix[3], i = 0;
  PetscScalar *a;
  Vec free;

  PetscFunctionBegin;
  PetscCall(VecDuplicate(x, &free));
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], &lo[2], &n[0], &n[1], &n[2]));
  PetscCall(VecGetArray(free, &a));
  for (ix[2] = lo[2]; ix[2] < lo[2] + n[2]; ix[2]++)
    for (ix[1] = lo[1]; ix[1] < lo[1] + n[1]; ix[1]++)
      for (ix[0] = lo[0]; ix[0] < lo[0] + n[0]; ix[0]++) a[i++] = Mask(box, ix) ? 0 : 1;
  PetscCall(VecRestoreArray(free, &a));
  PetscCall(TestApart(free, x, y, difference));
  PetscCall(VecDestroy(&free));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* How PCView() is to say what differs, with the numbers that are counted here */
static PetscErrorCode View(const Box *x, PC pc)
{
  PetscInt masked = 0, some = 0, ix[3];
  char expected[64] = "(", *text;
  PetscMPIInt rank;

  PetscFunctionBegin;
  for (ix[2] = 0; ix[2] < x->N[2]; ix[2]++)
    for (ix[1] = 0; ix[1] < x->N[1]; ix[1]++)
      for (ix[0] = 0; ix[0] < x->N[0]; ix[0]++) {
        masked += Mask(x, ix) && !Plane(x, ix);
        some += Some(x, ix);
      }
  if (masked == 1) (void)snprintf(expected, sizeof(expected), "(1 identity row");
  else if (masked) (void)snprintf(expected, sizeof(expected), "(%d identity rows in ", (int)masked);
  else if (x->kind == WELLS) (void)snprintf(expected, sizeof(expected), "(%d of another diagonal)", (int)some);
  else if (x->kind == MATERIAL) (void)snprintf(expected, sizeof(expected), "with links of another strength)");
  else if (x->kind == HALF) (void)snprintf(expected, sizeof(expected), "at ends)");
  PetscCall(TestViewText((PetscObject)pc, &text));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  Check(rank > 0 || (strstr(text, expected) && strstr(text, "box stencil")), "%s, %d-D: not %s in the view:\n%s",
        kinds[x->kind], (int)x->dim, expected, text);
  free(text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Run(const Box *box, int e)
{
  const PetscBool singular = Singular(box), single = (PetscBool)(sizeof(PetscReal) < sizeof(double));
  const double bound = box->model == WAVES ? 1e-12 : 1e-13; /* the empty box may be near to singular */
  PetscReal error = 0, difference = 0;
  PetscInt rows, solves;
  KSPConvergedReason reason;
  Vec x, y, b;
  KSP ksp;
  PC pc;
  DM da;
  Mat A;

  PetscFunctionBegin;
  PetscCall(Create(box, &da, &A));
  PetscCall(DMCreateGlobalVector(da, &b));
  PetscCall(VecDuplicate(b, &x));
  PetscCall(VecDuplicate(b, &y));
  PetscCall(TestKSPCreate(A, KSPPREONLY, &ksp, &pc));
  PetscCall(KSPSetFromOptions(ksp));
  for (int k = 0; k < 4; k++) {
    const PetscBool transpose = (PetscBool)(k == 2);

    if (transpose && singular) continue;
    if (k == 3) PetscCall(MatScale(A, 2));
    PetscCall(TestRandom(y));
    PetscCall(transpose ? MatMultTranspose(A, y, b) : MatMult(A, y, b));
    if (!singular && k == 0) PetscCall(TestRandom(b));
    PetscCall(transpose ? KSPSolveTranspose(ksp, b, x) : KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(PCBCRPoissonGetCapacitanceSolves(pc, &rows, &solves));
    PetscCall(TestRowsAlike(A, transpose, b, x, (PetscBool)(!singular && k % 2 == 0), &error, &difference));
    if (singular) PetscCall(Apart(box, da, x, y, &difference));
    if (print)
      PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-9s %d-D, model %d, ends %d, solve %d: %d rows, %d solves, %g, %g\n",
                            kinds[box->kind], (int)box->dim, (int)box->model, e, k, (int)rows, (int)solves,
                            (double)error, (double)difference));
    Check(reason > 0 && rows > 0 && solves > 0 && error <= (single ? 1e-5 : bound) &&
            difference <= (single ? 1e-2 : 1e3 * bound),
          "%s, %d-D, model %d, ends %d, scale %g, %s, solve %d: reason %d, %d rows, %d solves, backward error %g, "
          "difference %g",
          kinds[box->kind], (int)box->dim, (int)box->model, e, box->scale, singular ? "singular" : "regular", k,
          (int)reason, (int)rows, (int)solves, (double)error, (double)difference);
  }
  PetscCall(View(box, pc));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&y));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solves of the box for a first right-hand side do not grow with the grid */
static PetscErrorCode Counts(Kind kind, const End (*end)[2], PetscInt most)
{
  for (PetscInt n = 31; n <= 127; n = 2 * n + 1) {
    const Box x = {
      2, {n, n + 2, 1},
       kind, ELEMENTS, end, 1
    };
    PetscInt solves;
    Vec u, b;
    KSP ksp;
    PC pc;
    DM da;
    Mat A;

    PetscCall(Create(&x, &da, &A));
    PetscCall(MatCreateVecs(A, &u, &b));
    PetscCall(TestKSPCreate(A, KSPPREONLY, &ksp, &pc));
    PetscCall(TestRandom(u));
    PetscCall(MatMult(A, u, b));
    PetscCall(KSPSolve(ksp, b, u));
    PetscCall(PCBCRPoissonGetCapacitanceSolves(pc, NULL, &solves));
    if (print) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%s, %d: %d solves\n", kinds[kind], (int)n, (int)solves));
    Check(solves > 0 && solves <= most, "%s, %d: %d solves of the box, more than %d", kinds[kind], (int)n, (int)solves,
          (int)most);
    PetscCall(KSPDestroy(&ksp));
    PetscCall(VecDestroy(&u));
    PetscCall(VecDestroy(&b));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  return PETSC_SUCCESS;
}

/* -pc_bcrpoisson_capacitance extension: CG, for a mask; most: iterations, 0: an error */
static PetscErrorCode Extend(Kind kind, PetscInt most)
{
  const PetscReal rtol = sizeof(PetscReal) == 4 ? (PetscReal)1e-4 : (PetscReal)1e-8;
  const Box x = {
    2, {47, 45, 1},
     kind, ELEMENTS, ends[0], 1
  };
  PetscReal norm[2];
  PetscInt its;
  Vec u, b;
  KSP ksp;
  PC pc;
  DM da;
  Mat A;

  PetscFunctionBegin;
  PetscCall(Create(&x, &da, &A));
  PetscCall(MatCreateVecs(A, &u, &b));
  PetscCall(TestKSPCreate(A, KSPCG, &ksp, &pc));
  PetscCall(KSPSetNormType(ksp, KSP_NORM_UNPRECONDITIONED));
  PetscCall(KSPSetTolerances(ksp, rtol, 0, PETSC_DEFAULT, 200));
  PetscCall(PCBCRPoissonSetCapacitance(pc, PCBCRPOISSON_CAPACITANCE_EXTENSION));
  if (!most) CheckError(PCSetUp(pc), PETSC_ERR_SUP, "extension");
  else {
    PetscCall(TestRandom(u));
    PetscCall(MatMult(A, u, b));
    PetscCall(KSPSolve(ksp, b, u));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    PetscCall(VecScale(b, -1));
    PetscCall(VecNorm(b, NORM_2, &norm[1]));
    PetscCall(MatMultAdd(A, u, b, b));
    PetscCall(VecNorm(b, NORM_2, &norm[0]));
    if (print) PetscCall(PetscPrintf(PETSC_COMM_WORLD, "extension, %s: %d iterations\n", kinds[kind], (int)its));
    Check(its <= most && norm[0] <= 2 * rtol * norm[1], "extension, %s: %d iterations, residual %g", kinds[kind],
          (int)its, (double)(norm[0] / norm[1]));
  }
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&u));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is no matrix of the kind: more rows that differ than an eighth; a row of a mask that is NaN; a row with an entry that no
   stencil of 27 points has */
static PetscErrorCode Bad(int what)
{
  const Box x = {
    2, {24, 25, 1},
     KEPT, ELEMENTS, ends[1], 1
  };
  PetscInt first, last, n;
  PC pc;
  DM da;
  Mat A;

  PetscFunctionBegin;
  PetscCall(Create(&x, &da, &A));
  PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  PetscCall(MatGetSize(A, &n, NULL));
  for (PetscInt i = first; i < last; i++) {
    if (what == 0 && i % 3 == 0) PetscCall(MatSetValue(A, i, i, 5. + (double)(i % 7), INSERT_VALUES));
    if (what == 1 && i == n / 2) PetscCall(MatSetValue(A, i, i, (PetscScalar)NAN, INSERT_VALUES));
    if (what == 2 && i == 3) PetscCall(MatSetValue(A, i, n - 2, -1, INSERT_VALUES));
  }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(TestPC(PCBCRPOISSON, da, A, &pc));
  CheckError(PCSetUp(pc), what == 1 ? PETSC_ERR_FP : PETSC_ERR_SUP, what == 1 ? "NaN" : "box or wide stencil");
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Is there anything of that kind to do with these ends? */
static PetscBool Makes(const Box *x, PetscBool planes)
{
  const PetscBool elements = (PetscBool)(x->model != STENCIL);

  for (PetscInt d = 0; d < x->dim && !planes; d++)
    if (x->end[d][0] == PLANE || x->end[d][1] == PLANE) return PETSC_FALSE;
  for (PetscInt d = 0; d < x->dim && !elements; d++)
    for (int s = 0; s < 2; s++)
      if (x->end[d][s] != OUT && x->end[d][s] != RING) return PETSC_FALSE;
  if (!elements && (x->kind == HOLE || x->kind == HALF || x->kind == MATERIAL)) return PETSC_FALSE;
  return (PetscBool)(x->kind != HALF || x->end[1][0] == FREE || x->end[1][0] == OUT);
}

int main(int argc, char **argv)
{
  char backend[8] = "cpu";
  PetscMPIInt rank;
  PetscInt few = 1;
  PetscBool planes = PETSC_TRUE;
  int t = 0;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(TestSeed());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-few", &few, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-planes", &planes, NULL));
  PetscCall(PetscOptionsHasName(NULL, NULL, "-print", &print));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscStrcmp(backend, "cuda", &device));
  for (int kind = 0; kind < KINDS && (!device || BCRSolverHaveDevice(NULL)); kind++)
    for (int model = 0; model <= STENCIL; model++)
      for (int e = 0; e < (int)PETSC_STATIC_ARRAY_LENGTH(ends); e++)
        for (PetscInt dim = 2; dim <= 3; dim++) {
          const double scales[] = {1, -1, sizeof(PetscReal) < sizeof(double) ? 1e-4 : 1e-14};
          Box x = {
            dim,        {dim == 2 ? 23 : 13, dim == 2 ? 25 : 12, dim == 2 ? 1 : 14},
            (Kind)kind, (Model)model,
            ends[e],    scales[t % 3]
          };

          if (!Makes(&x, planes) || t++ % few || !TestTurn()) continue;
          PetscCall(Run(&x, e));
        }
  if (!device) {
    PetscCall(Counts(KEPT, ends[0], 25));
    PetscCall(Counts(ZEROED, ends[1], 26));
    PetscCall(Counts(NOFLUX, ends[1], 26));
    PetscCall(Counts(HOLE, ends[1], 36));
    PetscCall(Counts(MATERIAL, ends[0], 32));
    PetscCall(Extend(NOFLUX, 20));
    PetscCall(Extend(KEPT, 30));
    PetscCall(Extend(WELLS, 0));
    for (int what = 0; what < 3; what++) PetscCall(Bad(what));
  }
  PetscCall(PetscFinalize());
  return TestStatus(rank == 0, TestPassed, TestFailed);
}
