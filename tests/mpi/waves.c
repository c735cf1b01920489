/*
  ranks: 1 2 3 5
  quick: 1 3

  Operators of either sign, or with a complex shift (Helmholtz): one to three dimensions, all ends, stretched axes, boundary rows
  kept, half rows, several components, shifts at random, next to eigenvalues and on them; negative, and with complex scalars
  complex shifts and factors of any phase; transposed, in all precisions, on grids cut in any way. Backward errors in every
  solve, solutions against PETSc's LU, counts of negative modes against eigenvalues in closed form. A right-hand side with
  a part in a mode that is left out must be told, one without must be solved. What is refused must say so.
  -backend cuda: on a device of each rank, with real scalars; -count: so many boxes; -quick: fewer shifts next to eigenvalues.
*/
#include "tests/petsc/testing.h"
#include "tests/rows.h"

#define MOST 4200

/* Ends as in tests/petsc/testing.h, h: half rows at a node-centred Neumann end; g: a stretched axis between Dirichlet ends */
typedef struct {
  PetscInt n;
  char end[2];
  double a, low[MOST], diag[MOST], up[MOST], weight[MOST];
  PetscBool kept[MOST];
} Axis;

typedef struct {
  PetscInt dim, dof, cut; /* cut: the axis that ranks share out, -1: as they like */
  Axis axis[3];
  PetscScalar shift, factor;
  PetscScalar row; /* of kept rows */
} Problem;

static PetscMPIInt size;
static PetscBool device = PETSC_FALSE;
static PetscInt level0 = 0; /* boxes that level 0 had */
static PetscInt tabled = 0; /* boxes by transforms, and lines with tables where they are definite */
static double worst = 0, worstlu = 0;

/* Other numbers on each rank, and the generator goes on alike on all of them */
static PetscErrorCode RandomVec(Vec v)
{
  const uint64_t state = TestState;
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  TestState += (uint64_t)rank * UINT64_C(0x9e3779b97f4a7c15);
  PetscCall(TestUniformVec(v));
  TestState = state;
  (void)TestUniform();
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void AxisSet(Axis *x, PetscInt n, const char ends[2], double a)
{
  PetscMemzero(x, sizeof(*x));
  x->n = n;
  x->a = a;
  x->end[0] = ends[0];
  x->end[1] = ends[1];
  for (PetscInt i = 0; i < n; i++) {
    const double h = ends[0] == 'g' ? 1 + 20 * pow(sin(PETSC_PI * ((double)i + 0.5) / (double)n), 2) : 1,
                 next = ends[0] == 'g' ? 1 + 20 * pow(sin(PETSC_PI * ((double)i + 1.5) / (double)n), 2) : 1,
                 before = ends[0] == 'g' ? 1 + 20 * pow(sin(PETSC_PI * ((double)i - 0.5) / (double)n), 2) : 1;

    x->low[i] = a * 2 / (h * (h + before));
    x->up[i] = a * 2 / (h * (h + next));
    x->diag[i] = x->low[i] + x->up[i];
    x->weight[i] = 1;
  }
  for (int s = 0; s < 2; s++) {
    const PetscInt i = s ? n - 1 : 0;
    double *out = s ? &x->up[i] : &x->low[i], *in = s ? &x->low[i] : &x->up[i];

    switch (ends[s]) {
    case 'c':
      x->diag[i] -= *out;
      *out = 0;
      break;
    case 'D':
      x->diag[i] += *out;
      *out = 0;
      break;
    case 'h':
      x->weight[i] = 0.5;
    /* fallthrough */
    case 'n':
      *in += *out;
      *out = 0;
      break;
    case 'r':
      x->kept[i] = PETSC_TRUE;
      break;
    case 'p':
      break;
    default:
      *out = 0;
    }
  }
}

static PetscErrorCode Grid(const Problem *p, DM *da)
{
  DMBoundaryType b[3] = {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE};
  PetscInt parts[3] = {PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE};
  const Axis *x = p->axis;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < p->dim; d++) {
    if (p->cut >= 0) parts[d] = d == p->cut ? size : 1;
    if (x[d].end[0] == 'p') b[d] = DM_BOUNDARY_PERIODIC;
  }
  if (p->dim == 1) PetscCall(DMDACreate1d(PETSC_COMM_WORLD, b[0], x[0].n, p->dof, 1, NULL, da));
  else if (p->dim == 2)
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, b[0], b[1], DMDA_STENCIL_STAR, x[0].n, x[1].n, parts[0], parts[1], p->dof,
                           1, NULL, NULL, da));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, b[0], b[1], b[2], DMDA_STENCIL_STAR, x[0].n, x[1].n, x[2].n, parts[0],
                           parts[1], parts[2], p->dof, 1, NULL, NULL, NULL, da));
  PetscCall(DMSetFromOptions(*da));
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void Row(const void *ctx, const PetscInt N[3], const PetscInt at[3], MatStencil col[7], PetscScalar v[7],
                PetscInt *m)
{
  const Problem *p = (const Problem *)ctx;
  PetscScalar f = p->factor, diag = p->shift * (PetscReal)(1 + col[0].c);
  PetscBool kept = PETSC_FALSE;

  *m = 1;
  for (PetscInt d = 0; d < p->dim; d++) {
    f *= (PetscReal)p->axis[d].weight[at[d]];
    diag += (PetscReal)p->axis[d].diag[at[d]];
    if (p->axis[d].kept[at[d]]) kept = PETSC_TRUE;
  }
  v[0] = kept ? p->row : f * diag;
  for (PetscInt d = 0; d < p->dim && !kept; d++) {
    const Axis *x = &p->axis[d];

    for (int s = 0; s < 2; s++) {
      const PetscInt to = at[d] + (s ? 1 : -1);

      if ((to < 0 || to >= N[d]) && x->end[0] != 'p') continue;
      col[*m] = col[0];
      *(d == 0 ? &col[*m].i : d == 1 ? &col[*m].j : &col[*m].k) = to;
      v[(*m)++] = -f * (PetscReal)(s ? x->up[at[d]] : x->low[at[d]]);
    }
  }
}

static PetscErrorCode Matrix(const Problem *p, DM *da, Mat *A)
{
  PetscFunctionBegin;
  PetscCall(Grid(p, da));
  PetscCall(DMCreateMatrix(*da, A));
  PetscCall(TestRowsFill(*da, Row, p, *A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void Text(const Problem *p, size_t length, char text[])
{
  size_t at = 0;

  for (PetscInt d = 0; d < p->dim; d++)
    at += (size_t)snprintf(text + at, length - at, "%d%c%c ", (int)p->axis[d].n, p->axis[d].end[0], p->axis[d].end[1]);
  (void)snprintf(text + at, length - at, "shift %g%+gi factor %g%+gi cut %d dof %d ranks %d",
                 (double)PetscRealPart(p->shift), (double)PetscImaginaryPart(p->shift),
                 (double)PetscRealPart(p->factor), (double)PetscImaginaryPart(p->factor), (int)p->cut, (int)p->dof,
                 (int)size);
}

/* What PCView() says behind these words */
static PetscErrorCode Said(PC pc, const char words[], double *number)
{
  PetscMPIInt rank;
  char *text, *at;

  PetscFunctionBegin;
  *number = -1;
  PetscCall(TestViewText((PetscObject)pc, &text));
  at = strstr(text, words);
  if (at) *number = strtod(at + strlen(words), NULL);
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Bcast(number, 1, MPI_DOUBLE, 0, PETSC_COMM_WORLD));
  free(text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Solved exactly, and as LU does where lu says so */
static PetscErrorCode Solve(const Problem *p, PetscBool lu)
{
  static const char *const sets[] = {"auto", "baseline", "avx2", "avx512"};
  PCBCRPoissonPrecision precision = PCBCRPOISSON_PRECISION_DOUBLE;
  PetscReal bound = TestBackwardBound();
  double said;
  char text[256], isa[64];
  Vec b, x;
  DM da;
  Mat A;
  PC pc;

  PetscFunctionBegin;
  Text(p, sizeof(text), text);
  PetscCall(Matrix(p, &da, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(RandomVec(b));
  PetscCall(TestPC(PCBCRPOISSON, da, A, &pc));
  PetscCall(PCBCRPoissonSetFit(pc, PCBCRPOISSON_FIT_EXACT));
  if (p->dof == 1) precision = (PCBCRPoissonPrecision)(TestUniform() * 3);
  PetscCall(PCBCRPoissonSetPrecision(pc, precision));
  (void)snprintf(isa, sizeof(isa), "-pc_bcrpoisson_isa %s", sets[(int)(TestUniform() * 4)]);
  PetscCall(TestOptions(isa, PETSC_TRUE));
  PetscCall(PCSetFromOptions(pc));
  PetscCall(TestOptions(isa, PETSC_FALSE));
  PetscCall(PCSetUp(pc));
  PetscCall(Said(pc, "negative real part: ", &said)); /* of none that is definite; double, whatever is asked for */
  if (said < 0 && precision == PCBCRPOISSON_PRECISION_SINGLE) bound = (PetscReal)5e-7;
  PetscCall(Said(pc, "with pivoting where it is not definite", &said));
  if (said >= 0) level0++;
  PetscCall(Said(pc, "with pivoting where they are not definite", &said));
  if (said >= 0) tabled++;
  for (int t = 0; t < 2; t++) {
    PetscReal error, difference = 0;

    PetscCall(t ? PCApplyTranspose(pc, b, x) : PCApply(pc, b, x));
    PetscCall(TestBackwardError(A, (PetscBool)t, b, x, &error));
    if (bound <= TestBackwardBound()) TestLargest(&worst, (double)error);
    Check(error <= bound, "%s%s: backward error %g", text, t ? ", transposed" : "", (double)error);
    if (lu) PetscCall(TestAgainstReference(A, (PetscBool)t, b, x, &difference));
    if (bound <= TestBackwardBound()) TestLargest(&worstlu, (double)difference);
    Check(difference <= 100 * TestDifferenceBound() || bound > TestBackwardBound(), "%s%s: %g from LU", text,
          t ? ", transposed" : "", (double)difference);
  }
  PetscCall(TestDestroy(&pc, &x, &b, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscScalar RandomShift(double sum)
{
  PetscScalar shift = (PetscReal)(-sum * TestUniform());

  if (PetscDefined(USE_COMPLEX) && TestUniform() < 0.7)
    shift += PETSC_i * (PetscReal)(sum * (TestUniform() - 0.5) * pow(10, -6 * TestUniform()));
  return shift;
}

static PetscScalar RandomFactor(void)
{
  const double angle = 2 * PETSC_PI * TestUniform();

  if (PetscDefined(USE_COMPLEX) && TestUniform() < 0.5) return (PetscReal)cos(angle) + PETSC_i * (PetscReal)sin(angle);
  return (PetscReal)(TestUniform() < 0.5 ? -3 : 0.25);
}

/* Boxes of all ends */
static PetscErrorCode Boxes(PetscInt count)
{
  static const char *const ends[] = {"dd", "nn", "cc", "DD", "pp", "dn", "nd", "cD", "Dc", "dc", "cd",
                                     "dD", "Dd", "nc", "cn", "nD", "Dn", "rr", "rd", "hh", "gd", "gg"};
  static const PetscInt sizes[3][8] = {
    {2, 3, 16, 31, 61, 64, 101, 128},
    {1, 2, 5,  13, 16, 31, 32,  37 },
    {1, 2, 3,  5,  7,  8,  11,  13 }
  };
  PetscBool vectors; /* of a device, where such boxes are solved, too */

  PetscFunctionBegin;
  for (PetscInt k = 0; k < count; k++) {
    static Problem p; /* of some size */
    PetscBool kept = PETSC_FALSE;
    double sum = 0;

    p.dim = 1 + k % 3;
    p.dof = TestUniform() < 0.2 ? 2 : 1;
    p.row = 1;
    p.cut = TestUniform() < 0.6 ? (PetscInt)(TestUniform() * (double)p.dim) : -1;
    for (PetscInt d = 0; d < p.dim; d++) {
      const char *end = ends[(PetscInt)(TestUniform() * 22)];
      PetscInt n = sizes[p.dim - 1][(PetscInt)(TestUniform() * 8)];

      if ((p.cut == d || p.dim == 1) && n < (PetscInt)size) n = 2 * (PetscInt)size + 1;
      if (p.cut < 0) n = PetscMax(n, 5);
      if (strchr("rnhg", end[0])) n = PetscMax(n, 5);
      AxisSet(&p.axis[d], n, end, 0.5 + TestUniform());
      sum += 4 * p.axis[d].a;
      kept = (PetscBool)(kept || end[0] == 'r');
    }
    p.shift = RandomShift(sum);
    p.factor = RandomFactor();
    if (kept && PetscDefined(USE_COMPLEX) && TestUniform() < 0.5) p.row = 1 + 2 * PETSC_i;
    PetscCall(Solve(&p, (PetscBool)(k % 4 == 0)));
  }
  PetscCall(PetscOptionsHasName(NULL, NULL, "-dm_vec_type", &vectors));
  if (size == 1)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d of %d boxes with tables for lines that are definite\n", (int)tabled,
                          (int)count));
  Check(size > 1 || device || vectors || PetscDefined(USE_COMPLEX) || count < 20 || tabled > 0,
        "none of %d boxes has tables for lines that are definite", (int)count);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A few waves across boxes whose groups of rows are definite by themselves: level 0, on one rank */
static PetscErrorCode LongWaves(PetscInt count)
{
  static const char *const ends[] = {"dd", "nn", "cc", "DD", "dn", "nd", "cD",
                                     "Dc", "dc", "cn", "nD", "rr", "hh", "pp"};
  static const PetscInt nx[] = {16, 17, 31, 33, 47, 64, 100}, ny[] = {12, 15, 16, 17, 24, 31, 40, 41, 65, 127};
  PetscBool vectors; /* of a device, where such boxes are solved, too */

  PetscFunctionBegin;
  for (PetscInt k = 0; k < count; k++) {
    static Problem p; /* of some size */

    p.dim = 2 + k % 4 / 3;
    p.dof = TestUniform() < 0.2 ? 2 : 1;
    p.row = 1;
    p.cut = -1;
    for (PetscInt d = 0; d < p.dim; d++) {
      const char *end = ends[(PetscInt)(TestUniform() * (d == 0 || p.dim == 3 ? 14 : 13))];
      PetscInt n = d == 0 ? nx[(PetscInt)(TestUniform() * 7)] : ny[(PetscInt)(TestUniform() * 10)];

      if (p.dim == 3) n = PetscMin(n, 19);
      AxisSet(&p.axis[d], n, end, 0.5 + TestUniform());
    }
    p.shift = (PetscReal)(-0.12 * TestUniform() * p.axis[p.dim - 1].a);
    p.factor = RandomFactor();
    PetscCall(Solve(&p, (PetscBool)(p.dim == 2 && k % 3 == 0)));
  }
  PetscCall(PetscOptionsHasName(NULL, NULL, "-dm_vec_type", &vectors));
  Check(size > 1 || device || vectors || 4 * level0 > count, "level 0 had %d of %d boxes with a few waves", (int)level0,
        (int)count);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Boxes of two and three dimensions that are one line, negative definite ones among them */
static PetscErrorCode Thin(void)
{
  static const char *const ends[] = {"pp", "dd", "cD", "nn"};

  PetscFunctionBegin;
  for (PetscInt k = 0; k < 20 * 4; k++) {
    static Problem p; /* of some size */

    p.dim = 2 + k % 2;
    p.dof = 1 + k / 2 % 2;
    p.row = 1;
    p.cut = -1;
    for (PetscInt d = 0; d < p.dim; d++)
      AxisSet(&p.axis[d], d == k / 4 % p.dim ? 16 + k % 7 : 1, d == k / 4 % p.dim ? ends[k % 4] : "Dc",
              0.5 + TestUniform());
    p.shift = (PetscReal)(-8 * TestUniform());
    p.factor = RandomFactor();
    PetscCall(Solve(&p, PETSC_TRUE));
  }
#if defined(PETSC_USE_COMPLEX)
  { /* a line of rows that differ by more than 1000, and a shift that does not */
    static Problem p = {.dim = 1, .dof = 1, .row = 1, .cut = -1, .factor = 0.25};

    p.shift = PetscCMPLX(-0.0029, -0.217);
    AxisSet(&p.axis[0], 64, "gg", 0.681212);
    PetscCall(Solve(&p, PETSC_TRUE));
  }
#endif
  PetscFunctionReturn(PETSC_SUCCESS);
}

static double Eigenvalue(const Axis *x, PetscInt j)
{
  return 4 * x->a * pow(sin(PETSC_PI * (double)(j + 1) / (2 * (double)(x->n + 1))), 2);
}

/* With the null space attached to the matrix a right-hand side at random is solved, but for its part in that */
static PetscErrorCode Attached(const Problem *p, const PetscInt mode[3], DM da, Mat A, KSP ksp, Vec b, Vec x, Vec v)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)A);
  PetscInt lo[3], n[3], at[3], count = 0;
  KSPConvergedReason reason;
  MatNullSpace null;
  PetscReal error;
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], &lo[2], &n[0], &n[1], &n[2]));
  PetscCall(VecGetArray(v, &a));
  for (at[2] = lo[2]; at[2] < lo[2] + n[2]; at[2]++)
    for (at[1] = lo[1]; at[1] < lo[1] + n[1]; at[1]++)
      for (at[0] = lo[0]; at[0] < lo[0] + n[0]; at[0]++, count++) {
        a[count] = 1;
        for (PetscInt d = 0; d < p->dim; d++)
          a[count] *= (PetscReal)sin(PETSC_PI * (double)((at[d] + 1) * (mode[d] + 1)) / (double)(p->axis[d].n + 1));
      }
  PetscCall(VecRestoreArray(v, &a));
  PetscCall(VecNormalize(v, NULL));
  PetscCall(MatNullSpaceCreate(comm, PETSC_FALSE, 1, &v, &null));
  PetscCall(MatSetNullSpace(A, null));
  PetscCall(MatSetTransposeNullSpace(A, null));
  PetscCall(RandomVec(b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(MatNullSpaceRemove(null, b));
  PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, &error));
  Check(reason > 0 && error <= (PetscReal)1e-9, "null space attached: reason %d, backward error %g", (int)reason,
        (double)error);
  PetscCall(MatSetNullSpace(A, NULL));
  PetscCall(MatSetTransposeNullSpace(A, NULL));
  PetscCall(MatNullSpaceDestroy(&null));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The shift is minus an eigenvalue, exactly, or off by a part of the operator's size; modes next to it are those of the sum */
static PetscErrorCode Near(PetscInt dim, PetscInt cut, double off, const char *type)
{
  Problem p = {.dim = dim, .dof = 1, .cut = cut, .factor = 2, .row = 1};
  const PetscInt mode[3] = {2, dim > 2 ? 1 : 3, 2};
  double value = 0, negative = 0, least = HUGE_VAL, left = 0, most = 0, said;
  PetscBool out;
  KSPConvergedReason reason;
  PetscReal error;
  Vec b, x, v;
  KSP ksp;
  DM da;
  Mat A;
  PC pc;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) AxisSet(&p.axis[d], d < dim ? 11 - d : 1, "dd", 1 + 0.3 * (double)d);
  for (PetscInt d = 0; d < dim; d++) {
    value += Eigenvalue(&p.axis[d], mode[d]);
    most += 4 * p.axis[d].a;
  }
  p.shift = (PetscReal)(-value + off * most);
  for (PetscInt k = 0; k < (dim > 2 ? p.axis[2].n : 1); k++)
    for (PetscInt j = 0; j < (dim > 1 ? p.axis[1].n : 1); j++)
      for (PetscInt i = 0; i < p.axis[0].n; i++) {
        const double l = Eigenvalue(&p.axis[0], i) + (dim > 1 ? Eigenvalue(&p.axis[1], j) : 0) +
                         (dim > 2 ? Eigenvalue(&p.axis[2], k) : 0) + (double)PetscRealPart(p.shift);
        const double size1 = most + (double)PetscAbsScalar(p.shift);

        if (l < -1e-13 * size1) negative++;
        least = PetscMin(least, fabs(l) / size1);
        if (fabs(l) <= 1e-10 * size1) left++;
      }
  out = (PetscBool)(left > 0);
  PetscCall(Matrix(&p, &da, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(b, &v));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetDM(ksp, da));
  PetscCall(TestKSPSetDMInactive(ksp));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetType(ksp, type));
  PetscCall(KSPSetTolerances(ksp, 1e-9, PETSC_DEFAULT, PETSC_DEFAULT, 30));
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(PCSetType(pc, PCBCRPOISSON));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(KSPSetUp(ksp));

  PetscCall(Said(pc, "negative real part: ", &said));
  if (least > 1e-13) Check(said == negative, "%s, %g off: %g negative modes, not %g", type, off, said, negative);
  else Check(said == negative || said == negative + left, "%s: %g negative modes, not %g", type, said, negative);
  PetscCall(Said(pc, "the smallest is ", &said));
  Check(fabs(said - least) <= 1e-4 * least + 1e-14, "%s, %g off: smallest %g, not %g", type, off, said, least);
  PetscCall(Said(pc, "numerically singular: ", &said));
  Check(said == (out ? left : -1), "%s, %g off: %g modes left out, not %g", type, off, said, left);

  /* a right-hand side at random has a part in every mode */
  PetscCall(RandomVec(b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, &error));
  Check(out ? reason < 0 : reason > 0 || error <= (PetscReal)1e-14, "%s, %g off: reason %d, backward error %g", type,
        off, (int)reason, (double)error);
  if (!out) Check(error <= (PetscReal)1e-9, "%s, %g off: backward error %g", type, off, (double)error);
  if (out && strcmp(type, KSPPREONLY) == 0) {
    PetscCall(Said(pc, "a backward error of ", &said));
    Check(said > 1e-9, "%g off: an error of %g is told", off, said);
  }
  /* one without that mode: A times a vector at random */
  PetscCall(RandomVec(v));
  PetscCall(MatMult(A, v, b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, &error));
  if (off == 0 || !out) {
    Check(reason > 0 || (out == PETSC_FALSE && error <= (PetscReal)1e-14), "%s, %g off, consistent: reason %d", type,
          off, (int)reason);
    Check(error <= (PetscReal)1e-9, "%s, %g off, consistent: backward error %g", type, off, (double)error);
  } else Check(reason < 0 || error <= (PetscReal)1e-12, "%s, %g off: %g as right", type, off, (double)error);
  if (off == 0 && left == 1) PetscCall(Attached(&p, mode, da, A, ksp, b, x, v));
  PetscCall(TestDestroy(&ksp, &v, &x, &b, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode NearAll(PetscBool quick)
{
  static const double offs[] = {0, 1e-15, 1e-12, 3e-9, 1e-6};
  static const char *const types[] = {KSPPREONLY, KSPGMRES, KSPBCRPOISSON};

  PetscFunctionBegin;
  if (sizeof(PetscReal) < sizeof(double))
    PetscFunctionReturn(PETSC_SUCCESS); /* where eigenvalues are no better known */
  for (PetscInt dim = 1; dim <= 3; dim++)
    for (int o = 0; o < 5; o++)
      for (int t = 0; t < 3; t++)
        if (!quick || (o + (int)dim) % 3 == t)
          PetscCall(Near(dim, (o + t) % 4 == 3 ? -1 : (o + t) % dim, offs[o], types[t]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* New values: definite, indefinite, complex, definite again, of one PC */
static PetscErrorCode Changes(void)
{
  Problem p = {.dim = 2, .dof = 1, .cut = -1, .factor = 1, .row = 1};
  const PetscScalar shifts[] = {1, -1, PetscDefined(USE_COMPLEX) ? -1 + PETSC_i * (PetscReal)0.5 : -2, -3, 0};
  Vec b, x;
  DM da;
  Mat A;
  PC pc;

  PetscFunctionBegin;
  AxisSet(&p.axis[0], 21, "dd", 1);
  AxisSet(&p.axis[1], 17, "Dc", 0.7);
  AxisSet(&p.axis[2], 1, "cc", 0);
  PetscCall(Matrix(&p, &da, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(RandomVec(b));
  PetscCall(TestPC(PCBCRPOISSON, da, A, &pc));
  for (int k = 0; k < 5; k++) {
    PetscReal error;

    p.shift = shifts[k];
    PetscCall(TestRowsFill(da, Row, &p, A));
    PetscCall(PCSetUp(pc));
    PetscCall(PCApply(pc, b, x));
    PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, &error));
    Check(error <= TestBackwardBound(), "change %d: backward error %g", k, (double)error);
  }
  PetscCall(TestDestroy(&pc, &x, &b, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A line along a general axis that is too long for its eigenvalues to be computed, which are counted then */
static PetscErrorCode Long(void)
{
  static Problem p; /* of some size */
  double pivot = 1, negative = 0, said;
  PetscReal error;
  Vec b, x;
  DM da;
  Mat A;
  PC pc;

  PetscFunctionBegin;
  p.dim = p.dof = 1;
  p.cut = 0;
  p.factor = -2;
  p.shift = (PetscReal)-0.0137;
  AxisSet(&p.axis[0], MOST, "gd", 1);
  for (PetscInt i = 0; i < MOST; i++) { /* those of Gauss elimination, as many as eigenvalues below zero */
    const Axis *q = &p.axis[0];

    pivot = q->diag[i] + (double)PetscRealPart(p.shift) - (i ? q->low[i] * q->up[i - 1] / pivot : 0);
    negative += pivot < 0 ? 1 : 0;
  }
  PetscCall(Matrix(&p, &da, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(RandomVec(b));
  PetscCall(TestPC(PCBCRPOISSON, da, A, &pc));
  if (device) { /* which has no lines with pivots */
    PetscCall(PCSetFromOptions(pc));
    CheckError(PCSetUp(pc), PETSC_ERR_SUP, "no eigenvectors along all axes");
    PetscCall(PCBCRPoissonSetBackend(pc, PCBCRPOISSON_BACKEND_CPU));
  }
  PetscCall(PCApply(pc, b, x));
  PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, &error));
  Check(error <= TestBackwardBound(), "long line: backward error %g", (double)error);
  PetscCall(Said(pc, "negative real part: ", &said));
  Check(said == negative && negative > 0, "long line: %g negative modes, not %g", said, negative);
  PetscCall(TestDestroy(&pc, &x, &b, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Refused(void)
{
  Problem p = {.dim = 2, .dof = 1, .cut = -1, .factor = 1, .row = 1, .shift = -1};
  DM da;
  Mat A;
  PC pc;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < 3; d++) AxisSet(&p.axis[d], d < 2 ? 16 : 1, "dd", 1);
  PetscCall(Matrix(&p, &da, &A));
  PetscCall(TestPC(PCBCRPOISSON, da, A, &pc));
  PetscCall(PCBCRPoissonSetRadix(pc, 4));
  CheckError(PCSetUp(pc), PETSC_ERR_SUP, "is for definite ones");
  PetscCall(PCDestroy(&pc));
  if (PetscDefined(USE_COMPLEX)) { /* an imaginary part that is no shift */
    const MatStencil row = {.i = 3, .j = 4};
    const PetscScalar v = (PetscReal)0.01 * PETSC_i;
    PetscMPIInt rank;

    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    if (rank == 0) PetscCall(MatSetValuesStencil(A, 1, &row, 1, &row, &v, ADD_VALUES));
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
    PetscCall(TestPC(PCBCRPOISSON, da, A, &pc));
    CheckError(PCSetUp(pc), PETSC_ERR_SUP, "complex\ngrid point 3,4,0");
    PetscCall(PCDestroy(&pc));
  }
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char backend[8] = "auto";
  PetscBool quick = PETSC_FALSE;
  PetscInt count = 90;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(TestSeed());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-count", &count, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscOptionsSetValue(NULL, "-pc_bcrpoisson_backend", backend));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-quick", &quick, NULL));
  device = (PetscBool)(strcmp(backend, "cuda") == 0);
  PetscCall(Boxes(count));
  level0 = 0;
  PetscCall(LongWaves(count));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d of %d boxes with a few waves by level 0\n", (int)level0, (int)count));
  if (size == 1 && !device) PetscCall(Thin());
  PetscCall(NearAll(quick));
  PetscCall(Changes());
  PetscCall(Long());
  PetscCall(Refused());
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "largest backward error %g, difference from LU %g\n", worst, worstlu));
  PetscCall(PetscFinalize());
  return TestEnd();
}
