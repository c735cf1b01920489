/*
  ranks: 1 2 3 5
  quick: 1 3

  Planes of three dimensions and lines of two that the matrix does not couple: c_k T_e + d_k T_f + s_k, with numbers of any
  size and either sign in each plane k, across any axis, of all ends, stretched or not, periodic, with boundary rows kept, cut
  in any way; none of the planes singular, one, some, all. Solutions against the vector that the right-hand side was made
  of (its weighted mean in singular planes taken out), and PETSc's LU; true residuals; transposed; new values, with other
  planes singular; right-hand sides without a solution are told; what is not separable by 1e-9 of one entry, or has
  another T in one plane, is a fit, or an error that names the row. With complex scalars factors of any phase and complex
  shifts. Groups of planes that are coupled to each other alone, each singular; stretched rings that are indefinite.
  -backend cuda: on a device; -count: so many random ones.
*/
#include "tests/petsc/testing.h"
#include "tests/rows.h"

#define MOST     40
#define SINGULAR (sizeof(PetscReal) == sizeof(double)) /* else eigenvalues are not known to 1e-10 */

/* Ends as in tests/petsc/testing.h; g: stretched between closed ends, q: stretched and periodic */
typedef struct {
  PetscInt n;
  char end[2];
  double low[MOST], diag[MOST], up[MOST], h[MOST]; /* h: of the left null vector */
} Axis;

typedef enum {
  PLAIN,  /* some shifts */
  FACTOR, /* c_k = d_k of any size */
  OWN,    /* c_k, d_k, s_k */
  SIGNS,  /* of any sign, planes that are not definite among them */
  KINDS
} Kind;

typedef struct {
  PetscInt dim, more;  /* more: components than one, each with d_k and s_k larger than the one before it */
  PetscInt apart, cut; /* cut: the axis that ranks share out, -1: as they like */
  Axis axis[3];
  double c[MOST], d[MOST], s[MOST], link[MOST]; /* link: of plane k to the next one */
  PetscBool singular[MOST];
  PetscScalar factor;
  double tau;     /* imaginary part of the shift */
  double wrong;   /* relative, one entry of plane 1 */
  PetscBool ends; /* the first plane has other ends */
} Problem;

static PetscMPIInt size, rank;
static PetscBool device = PETSC_FALSE;
static double worst = 0, worstlu = 0, worstknown = 0;
static PetscInt counts[2];   /* problems with planes that are singular, and without */
static PetscInt ondevice[2]; /* those that a device solves, and does not */

static double Width(char end, PetscInt n, PetscInt i)
{
  if (end == 'g') return 1 + 0.2 * (double)i;
  if (end == 'q') return 1 + 0.6 * sin(2 * PETSC_PI * (double)i / (double)n);
  return 1;
}

static void AxisSet(Axis *x, PetscInt n, const char end[2], double a)
{
  memset(x, 0, sizeof(*x));
  x->n = n;
  for (int s = 0; s < 2; s++) x->end[s] = end[s];
  for (PetscInt i = 0; i < n; i++) {
    const double h = Width(end[0], n, i);

    x->low[i] = a * 2 / (h * (h + Width(end[0], n, i - 1)));
    x->up[i] = a * 2 / (h * (h + Width(end[0], n, i + 1)));
    x->diag[i] = x->low[i] + x->up[i];
    x->h[i] = h;
  }
  for (int s = 0; s < 2; s++) {
    const PetscInt i = s ? n - 1 : 0;
    double *out = s ? &x->up[i] : &x->low[i], *in = s ? &x->low[i] : &x->up[i];

    if (strchr("pqr", end[s])) continue;
    if (strchr("cg", end[s])) x->diag[i] -= *out;
    if (end[s] == 'D') x->diag[i] += *out;
    if (end[s] == 'n') *in += *out;
    if (end[s] == 'n') x->h[i] *= 0.5;
    *out = 0;
  }
}

static PetscErrorCode Grid(MPI_Comm comm, const Problem *p, DM *da)
{
  DMBoundaryType b[3] = {DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE};
  PetscInt parts[3] = {PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE};
  PetscMPIInt ranks;
  const Axis *x = p->axis;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &ranks));
  for (PetscInt d = 0; d < p->dim; d++) {
    if (p->cut >= 0) parts[d] = d == p->cut ? ranks : 1;
    if (strchr("pq", x[d].end[0])) b[d] = DM_BOUNDARY_PERIODIC;
  }
  if (p->dim == 2)
    PetscCall(DMDACreate2d(comm, b[0], b[1], DMDA_STENCIL_STAR, x[0].n, x[1].n, parts[0], parts[1], 1 + p->more, 1,
                           NULL, NULL, da));
  else
    PetscCall(DMDACreate3d(comm, b[0], b[1], b[2], DMDA_STENCIL_STAR, x[0].n, x[1].n, x[2].n, parts[0], parts[1],
                           parts[2], 1 + p->more, 1, NULL, NULL, NULL, da));
  PetscCall(DMSetFromOptions(*da));
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void Row(const void *ctx, const PetscInt N[3], const PetscInt at[3], MatStencil col[7], PetscScalar v[7],
                PetscInt *m)
{
  const Problem *p = (const Problem *)ctx;
  const PetscInt e = p->apart ? 0 : 1, k = at[p->apart], last = p->axis[p->apart].n - 1,
                 c = col[0].c; /* e: the axis of c, the other one has d */
  const double before = k ? p->link[k - 1] : 0, behind = k < last ? p->link[k] : 0;
  PetscScalar diag = (PetscReal)(p->s[k] * (double)(1 + c) + before + behind);
  PetscBool kept = PETSC_FALSE;

  (void)N;
  *m = 1;
  diag += (PetscScalar)(PetscReal)(p->tau * p->c[k]) * (PetscDefined(USE_COMPLEX) ? PETSC_i : 0);
  for (PetscInt d = 0; d < p->dim; d++)
    for (int s = 0; s < 2; s++)
      if (at[d] == (s ? p->axis[d].n - 1 : 0) && p->axis[d].end[s] == 'r') kept = PETSC_TRUE;
  for (PetscInt d = 0; d < p->dim && !kept; d++) {
    const Axis *x = &p->axis[d];
    const double times = d == p->apart ? 1 : d == e ? p->c[k] : p->d[k] * (double)(1 + c);

    diag += (PetscReal)(times * x->diag[at[d]]);
    for (int s = 0; s < 2; s++) {
      double value = d == p->apart ? (s ? behind : before) : times * (s ? x->up[at[d]] : x->low[at[d]]);

      if (p->ends && k == 0 && d == e && at[d] == 0 && !s) diag += (PetscReal)(0.7 * times);
      if (value == 0) continue;
      if (k == 1 && d == e && at[d] == 1 && s && at[3 - d - p->apart] == 0) value *= 1 + p->wrong;
      col[*m] = col[0];
      *(d == 0 ? &col[*m].i : d == 1 ? &col[*m].j : &col[*m].k) += s ? 1 : -1;
      v[(*m)++] = -p->factor * (PetscReal)value;
    }
  }
  v[0] = kept ? 3 : p->factor * diag;
}

static void Text(const Problem *p, char text[256])
{
  size_t k = 0;

  for (PetscInt d = 0; d < p->dim; d++)
    k += (size_t)snprintf(text + k, 256 - k, "%d%c%c%s ", (int)p->axis[d].n, p->axis[d].end[0], p->axis[d].end[1],
                          d == p->apart ? " apart" : "");
  (void)snprintf(text + k, 256 - k, "cut %d ranks %d, plane 0: %g %g %g, factor %g%+gi, tau %g", (int)p->cut, (int)size,
                 p->c[0], p->d[0], p->s[0], (double)PetscRealPart(p->factor), (double)PetscImaginaryPart(p->factor),
                 p->tau);
}

static PetscInt Singular(const Problem *p)
{
  PetscInt count = 0;

  for (PetscInt k = 0; k < p->axis[p->apart].n; k++) count += p->singular[k];
  return count * (1 + p->more);
}

/* What a solution has to be in each plane, of the vector that the right-hand side was made of: its weighted mean comes out
   where the plane is singular */
static PetscErrorCode Expected(const Problem *p, DM da, Vec x)
{
  const MPI_Comm comm = PetscObjectComm((PetscObject)da);
  PetscInt lo[3], n[3], at[3], i = 0;
  PetscScalar *v, sum[MOST] = {0};
  PetscReal weight[MOST] = {0};

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], &lo[2], &n[0], &n[1], &n[2]));
  PetscCall(VecGetArray(x, &v));
  for (int pass = 0; pass < 2; pass++, i = 0) {
    for (at[2] = lo[2]; at[2] < lo[2] + n[2]; at[2]++)
      for (at[1] = lo[1]; at[1] < lo[1] + n[1]; at[1]++)
        for (at[0] = lo[0]; at[0] < lo[0] + n[0]; at[0]++, i++) {
          const PetscInt k = at[p->apart];
          PetscReal h = 1;

          for (PetscInt d = 0; d < p->dim; d++) h *= d == p->apart ? 1 : (PetscReal)p->axis[d].h[at[d]];
          if (pass && p->singular[k]) v[i] -= sum[k] / weight[k];
          sum[k] += pass ? 0 : h * v[i];
          weight[k] += pass ? 0 : h;
        }
    if (pass) break;
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sum, MOST, MPIU_SCALAR, MPIU_SUM, comm));
    PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, weight, MOST, MPIU_REAL, MPIU_SUM, comm));
  }
  PetscCall(VecRestoreArray(x, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Other numbers on each rank, and the generator goes on alike on all of them */
static PetscErrorCode RandomVec(Vec v)
{
  const uint64_t state = TestState;

  PetscFunctionBegin;
  TestState += (uint64_t)rank * UINT64_C(0x9e3779b97f4a7c15);
  PetscCall(TestUniformVec(v));
  TestState = state;
  (void)TestUniform();
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's LU, of the matrix whose singular planes have a shift: in the other planes the same */
static PetscErrorCode AgainstLU(Problem *p, DM da, Vec b, Vec x, const char text[])
{
  Problem regular = *p;
  PetscReal difference = 0, scale = 0;
  PetscScalar *f, *u;
  PetscInt n, N[3];
  const PetscScalar *y;
  Vec b1, y1;
  KSP lu;
  DM da1;
  Mat A1;

  PetscFunctionBegin;
  for (PetscInt k = 0; k < p->axis[p->apart].n; k++)
    if (p->singular[k]) regular.s[k] = p->c[k];
  PetscCall(Grid(PETSC_COMM_SELF, p, &da1));
  PetscCall(DMSetMatType(da1, MATAIJ));
  PetscCall(DMCreateMatrix(da1, &A1));
  PetscCall(TestRowsFill(da1, Row, &regular, A1));
  PetscCall(TestReference(A1, &lu));
  PetscCall(MatCreateVecs(A1, &y1, &b1));
  PetscCall(TestGather(da, b, &f, &n));
  PetscCall(TestGather(da, x, &u, &n));
  PetscCall(VecPlaceArray(b1, f));
  PetscCall(KSPSolve(lu, b1, y1));
  PetscCall(VecGetArrayRead(y1, &y));
  for (PetscInt d = 0; d < 3; d++) N[d] = d < p->dim ? p->axis[d].n : 1;
  for (PetscInt i = 0; i < n; i++) {
    const PetscInt at[3] = {i % N[0], i / N[0] % N[1], i / (N[0] * N[1])};

    if (p->singular[at[p->apart]]) continue;
    scale = PetscMax(scale, PetscAbsScalar(y[i]));
    difference = PetscMax(difference, PetscAbsScalar(y[i] - u[i]));
  }
  PetscCall(VecRestoreArrayRead(y1, &y));
  if (scale > 0) TestLargest(&worstlu, (double)(difference / scale));
  Check(difference <= 100 * TestDifferenceBound() * scale, "%s: %g from LU", text, (double)(difference / scale));
  PetscCall(VecResetArray(b1));
  PetscCall(PetscFree(f));
  PetscCall(PetscFree(u));
  PetscCall(TestDestroy(&b1, &y1, &lu, &A1, &da1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A right-hand side with a solution, and one at random; known: the solution is, up to constants of planes */
static PetscErrorCode Compare(Problem *p, DM da, Mat A, KSP ksp, PetscBool known)
{
  const PetscInt singular = Singular(p);
  KSPConvergedReason reason;
  PetscReal error = 1, norm, off;
  char text[256];
  Vec b, x, u;
  PC pc;

  PetscFunctionBegin;
  Text(p, text);
  counts[singular ? 0 : 1]++;
  PetscCall(KSPGetPC(ksp, &pc));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(VecDuplicate(x, &u));
  PetscCall(RandomVec(u));
  PetscCall(MatMult(A, u, b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, &error));
  TestLargest(&worst, (double)error);
  Check(reason > 0 && error <= TestBackwardBound(), "%s: reason %d, backward error %g", text, (int)reason,
        (double)error);
  if (known) {
    PetscCall(Expected(p, da, u));
    PetscCall(TestMaxNorm(u, &norm));
    PetscCall(VecAXPY(u, -1, x));
    PetscCall(TestMaxNorm(u, &off));
    TestLargest(&worstknown, (double)(off / norm));
    Check(off <= 1000 * TestDifferenceBound() * norm, "%s: %g off", text, (double)(off / norm));
    PetscCall(AgainstLU(p, da, b, x, text));
  }
  PetscCall(RandomVec(u));
  PetscCall(MatMultTranspose(A, u, b));
  PetscCall(PCApplyTranspose(pc, b, x));
  PetscCall(TestBackwardError(A, PETSC_TRUE, b, x, &error));
  TestLargest(&worst, (double)error);
  Check(error <= TestBackwardBound(), "%s, transposed: backward error %g", text, (double)error);

  PetscCall(RandomVec(b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  Check(singular ? reason < 0 : reason > 0, "%s, %d singular planes, no solution: reason %d", text, (int)singular,
        (int)reason);
  PetscCall(TestDestroy(&u, &x, &b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What PCView() says; left: modes that are left out, 0: nothing about them; -1: some */
static PetscErrorCode Said(const Problem *p, PC pc, const char fit[], PetscInt left, PetscBool apart)
{
  char *text, *at, what[256];

  PetscFunctionBegin;
  PetscCall(TestViewText((PetscObject)pc, &text));
  Text(p, what);
  if (rank == 0) {
    Check(strstr(text, fit), "%s: no '%s' in\n%s", what, fit, text);
    Check(!apart || strstr(text, "not coupled"), "%s: not said to be apart:\n%s", what, text);
    at = strstr(text, "numerically singular: ");
    if (left >= 0)
      Check((at ? strtod(at + 22, NULL) : 0) == (double)left, "%s: not %d modes left out:\n%s", what, (int)left, text);
  }
  free(text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Make(const Problem *p, const char options[], DM *da, Mat *A, KSP *ksp)
{
  PC pc;

  PetscFunctionBegin;
  PetscCall(Grid(PETSC_COMM_WORLD, p, da));
  PetscCall(DMCreateMatrix(*da, A));
  PetscCall(TestRowsFill(*da, Row, p, *A));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, ksp));
  PetscCall(KSPSetDM(*ksp, *da));
  PetscCall(TestKSPSetDMInactive(*ksp));
  PetscCall(KSPSetOperators(*ksp, *A, *A));
  PetscCall(KSPSetType(*ksp, KSPPREONLY));
  PetscCall(KSPGetPC(*ksp, &pc));
  PetscCall(PCSetType(pc, PCBCRPOISSON));
  PetscCall(TestOptions(options, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(*ksp));
  PetscCall(TestOptions(options, PETSC_FALSE));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Collective. *done: it is set up; on a device also not, where that has no way */
static PetscErrorCode SetUp(KSP ksp, PetscBool *done)
{
  TestCaught caught = {0, ""};
  PetscErrorCode code;

  PetscFunctionBegin;
  *done = PETSC_TRUE;
  if (!device) {
    PetscCall(KSPSetUp(ksp));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(PetscPushErrorHandler(TestCatch, &caught));
  code = KSPSetUp(ksp);
  PetscCall(PetscPopErrorHandler());
  *done = (PetscBool)!code;
  ondevice[code ? 1 : 0]++;
  Check(!code || strstr(caught.message, "no way for a device") ||
          (size > 1 && strstr(caught.message, "are for -pc_bcrpoisson_backend cpu")),
        "on a device: %s", caught.message);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Release(DM *da, Mat *A, KSP *ksp)
{
  PetscFunctionBegin;
  PetscCall(KSPDestroy(ksp));
  PetscCall(MatDestroy(A));
  PetscCall(DMDestroy(da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Numbers of all planes; share: of planes that are singular, if the box is closed */
static void Planes(Problem *p, Kind kind, double share)
{
  PetscBool closed = (PetscBool)(p->tau == 0), coupled = PETSC_FALSE;

  for (PetscInt d = 0; d < p->dim; d++) {
    const Axis *x = &p->axis[d];

    if (d == p->apart) continue;
    for (int s = 0; s < 2; s++) closed = (PetscBool)(closed && strchr("cnpgq", x->end[s]));
    coupled = (PetscBool)(coupled || x->n > 1);
  }
  for (PetscInt k = 0; k < p->axis[p->apart].n; k++) {
    const double size1 = kind == PLAIN    ? 1
                         : kind == FACTOR ? pow(10, 6 * TestUniform() - 3)
                                          : 0.5 + 2 * TestUniform(),
                 sign = kind == SIGNS && TestUniform() < 0.4 ? -1 : 1;

    p->c[k] = sign * size1;
    p->d[k] = kind < OWN || p->dim < 3 ? p->c[k] : sign * (0.3 + TestUniform());
    p->s[k] = p->c[k] * (kind == SIGNS && p->tau == 0 ? 3 * TestUniform() - 1.5 : 0.05 + TestUniform());
    p->singular[k] = (PetscBool)(closed && coupled && SINGULAR && TestUniform() < share);
    if (p->singular[k]) p->s[k] = 0;
  }
  for (int s = 0; s < 2; s++) { /* kept rows */
    if (p->axis[p->apart].end[s] == 'r') p->singular[s ? p->axis[p->apart].n - 1 : 0] = PETSC_FALSE;
  }
}

/* Across any axis, of all ends and sizes; then the same preconditioner with other values */
static PetscErrorCode Trials(PetscInt count)
{
  static const char *const ends[] = {"dd", "nn", "cc", "DD", "pp", "dn", "cD", "nc", "rr", "rc", "gg", "qq"};
  static const PetscInt sizes[2][9] = {
    {1, 2, 3, 7, 8, 9, 16, 17, 31},
    {1, 2, 3, 4, 5, 7, 8,  9,  11}
  };

  PetscFunctionBegin;
  for (PetscInt trial = 0; trial < count; trial++) {
    static Problem p; /* of some size */
    const Kind kind = (Kind)(trial % KINDS);
    const double angle = 2 * PETSC_PI * TestUniform();
    PetscBool closed = (PetscBool)(TestUniform() < 0.7), told, done;
    DM da;
    Mat A;
    KSP ksp;
    PC pc;

    memset(&p, 0, sizeof(p));
    p.dim = 2 + (trial / 4) % 2;
    p.apart = (PetscInt)(TestUniform() * (double)p.dim);
    p.cut = TestUniform() < 0.7 ? (PetscInt)(TestUniform() * (double)p.dim) : -1;
    p.more = trial % 6 == 4 ? 1 : 0;
    p.factor = trial % 3 == 1 ? -2 : 1;
    if (PetscDefined(USE_COMPLEX) && trial % 2) p.factor = (PetscReal)cos(angle) + PETSC_i * (PetscReal)sin(angle);
    if (PetscDefined(USE_COMPLEX) && trial % 5 == 2) p.tau = 0.3;
    for (PetscInt d = 0; d < p.dim; d++) {
      const PetscInt pick = (PetscInt)(TestUniform() * 12);
      const char *end = ends[closed && strchr("dDr", ends[pick][0]) ? (pick % 2 ? 2 : 4) : pick];
      PetscInt n = sizes[p.dim - 2][(PetscInt)(TestUniform() * 9)];

      if (d == p.apart) end = trial % 8 == 5 ? "rd" : "dd";
      if (closed && strchr("dDr", end[1]) && d != p.apart) end = "cc";
      if (d == p.cut) n = PetscMax(n, size);
      if (p.cut < 0) n = PetscMax(n, 5);
      if (d == p.apart) n = PetscMax(n, 2);
      if (strchr("rgqn", end[0]) || strchr("rn", end[1])) n = PetscMax(n, 5);
      AxisSet(&p.axis[d], n, end, d == p.apart ? 0 : 0.5 + TestUniform());
    }
    told = (PetscBool)(p.axis[p.apart].n > 2 && p.axis[p.apart].end[0] != 'r');
    Planes(&p, kind, trial % 4 == 3 ? 1 : 0.4);
    PetscCall(Make(&p, "-pc_bcrpoisson_fit exact -pc_bcrpoisson_capacitance off", &da, &A, &ksp));
    PetscCall(SetUp(ksp, &done));
    PetscCall(KSPGetPC(ksp, &pc));
    if (done) PetscCall(Said(&p, pc, "fit exact", Singular(&p), told));
    if (done) PetscCall(Compare(&p, da, A, ksp, (PetscBool)!p.more));
    for (int again = 0; again < 3; again++) { /* other planes singular, none, all */
      Planes(&p, again == 1 ? FACTOR : kind, again == 0 ? 0.3 : again == 1 ? 0 : 1);
      PetscCall(TestRowsFill(da, Row, &p, A));
      PetscCall(KSPSetOperators(ksp, A, A));
      PetscCall(SetUp(ksp, &done));
      if (!done) continue;
      PetscCall(Said(&p, pc, "fit exact", Singular(&p), told));
      PetscCall(Compare(&p, da, A, ksp, (PetscBool)(again == trial % 3 && !p.more)));
    }
    PetscCall(Release(&da, &A, &ksp));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sizes of planes from 1e-8 to 1e8: what is left out is measured by each plane, not by the largest; and what has no
   solution in one plane is told, however large others are */
static PetscErrorCode Scales(void)
{
  PetscFunctionBegin;
  for (int kind = 0; kind < 6; kind++) {
    static Problem p; /* of some size */
    DM da;
    Mat A;
    KSP ksp;
    PC pc;

    memset(&p, 0, sizeof(p));
    p.dim = 2 + kind % 2;
    p.apart = kind / 2;
    if (p.apart >= p.dim) p.apart = 0;
    p.cut = kind % p.dim;
    p.factor = 1;
    for (PetscInt d = 0; d < p.dim; d++)
      AxisSet(&p.axis[d], 9 + d, d == p.apart ? "dd" : d ? "cc" : "pp", d == p.apart ? 0 : 1);
    for (PetscInt k = 0; k < p.axis[p.apart].n; k++) {
      p.c[k] = pow(10, 16 * (double)k / (double)(p.axis[p.apart].n - 1) - 8);
      p.d[k] = kind > 2 ? p.c[k] * (1 + 0.3 * (double)(k % 3)) : p.c[k];
      p.singular[k] = (PetscBool)(k % 4 == 2);
      p.s[k] = p.singular[k] ? 0 : kind % 3 == 2 ? 1 : p.c[k]; /* the same in all planes: so many times c_k */
    }
    PetscCall(Make(&p, "-pc_bcrpoisson_fit exact -pc_bcrpoisson_capacitance off", &da, &A, &ksp));
    PetscCall(KSPSetUp(ksp));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(Said(&p, pc, "fit exact", kind % 3 == 2 ? -1 : Singular(&p), PETSC_TRUE));
    PetscCall(Compare(&p, da, A, ksp, PETSC_FALSE));
    PetscCall(Release(&da, &A, &ksp));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With the null vectors of singular planes attached to the matrix a right-hand side at random is solved, but for its part in
   these; without them Krylov methods fail, too */
static PetscErrorCode Attached(void)
{
  static const char *const types[] = {KSPPREONLY, KSPGMRES, KSPBCRPOISSON};

  PetscFunctionBegin;
  for (int kind = 0; kind < 6; kind++) {
    static Problem p; /* of some size */
    PetscInt lo[3], n[3], at[3], count = 0;
    KSPConvergedReason reason;
    MatNullSpace null;
    PetscReal error;
    Vec b, x, basis[MOST];
    DM da;
    Mat A;
    KSP ksp;

    memset(&p, 0, sizeof(p));
    p.dim = 3;
    p.apart = kind % 3;
    p.cut = -1;
    p.factor = 1;
    for (PetscInt d = 0; d < p.dim; d++)
      AxisSet(&p.axis[d], 7 + d, d == p.apart ? "dd" : d % 2 ? "cc" : "pp", d == p.apart ? 0 : 1);
    Planes(&p, OWN, 0);
    p.s[1] = p.s[4] = 0;
    p.singular[1] = p.singular[4] = PETSC_TRUE;
    PetscCall(Make(&p, "-pc_bcrpoisson_fit exact", &da, &A, &ksp));
    PetscCall(KSPSetType(ksp, types[(kind + kind / 3) % 3]));
    PetscCall(KSPSetTolerances(ksp, 1e-9, PETSC_DEFAULT, PETSC_DEFAULT, 30));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(RandomVec(b));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    Check(reason < 0, "%s: a right-hand side without a solution: reason %d", types[(kind + kind / 3) % 3], (int)reason);
    for (PetscInt k = 1; k < 5; k += 3, count++) {
      PetscScalar *v;
      PetscInt i = 0;

      PetscCall(VecDuplicate(x, &basis[count]));
      PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], &lo[2], &n[0], &n[1], &n[2]));
      PetscCall(VecGetArray(basis[count], &v));
      for (at[2] = lo[2]; at[2] < lo[2] + n[2]; at[2]++)
        for (at[1] = lo[1]; at[1] < lo[1] + n[1]; at[1]++)
          for (at[0] = lo[0]; at[0] < lo[0] + n[0]; at[0]++) v[i++] = at[p.apart] == k ? 1 : 0;
      PetscCall(VecRestoreArray(basis[count], &v));
      PetscCall(VecNormalize(basis[count], NULL));
    }
    PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_FALSE, count, basis, &null));
    PetscCall(MatSetNullSpace(A, null));
    PetscCall(MatSetTransposeNullSpace(A, null));
    PetscCall(KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(MatNullSpaceRemove(null, b));
    PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, &error));
    Check(reason > 0 && error <= (sizeof(PetscReal) < sizeof(double) ? (PetscReal)1e-4 : (PetscReal)1e-9),
          "%s, null space attached: reason %d, backward error %g", types[(kind + kind / 3) % 3], (int)reason,
          (double)error);
    for (PetscInt k = 0; k < count; k++) PetscCall(VecDestroy(&basis[k]));
    PetscCall(TestDestroy(&null, &x, &b));
    PetscCall(Release(&da, &A, &ksp));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Planes that are coupled in groups, each singular */
static PetscErrorCode Groups(void)
{
  PetscFunctionBegin;
  for (int kind = 0; kind < 6; kind++) {
    static Problem p; /* of some size */
    PetscReal error;
    Vec b, u, x;
    DM da;
    Mat A;
    KSP ksp;
    PC pc;

    memset(&p, 0, sizeof(p));
    p.dim = 2 + kind / 2 % 2;
    p.apart = kind % p.dim;
    p.cut = (kind / 2) % p.dim;
    p.factor = 1;
    for (PetscInt d = 0; d < p.dim; d++) AxisSet(&p.axis[d], 9 + d, d == p.apart ? "dd" : "cc", d == p.apart ? 0 : 1);
    for (PetscInt k = 0; k < p.axis[p.apart].n; k++) {
      p.c[k] = p.d[k] = 1;
      p.link[k] = k == 3 ? 0 : 0.7 + 0.1 * (double)k;
      if (kind > 3 && k > 3) p.s[k] = 0.3; /* the first group alone is singular */
    }
    PetscCall(Make(&p, "-pc_bcrpoisson_fit exact -pc_bcrpoisson_capacitance off", &da, &A, &ksp));
    PetscCall(KSPSetUp(ksp));
    PetscCall(KSPGetPC(ksp, &pc));
    PetscCall(Said(&p, pc, "fit exact", kind > 3 ? 1 : 2, PETSC_FALSE));
    PetscCall(MatCreateVecs(A, &x, &b));
    PetscCall(VecDuplicate(x, &u));
    PetscCall(RandomVec(u));
    PetscCall(MatMult(A, u, b));
    PetscCall(PCApply(pc, b, x));
    PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, &error));
    Check(error <= TestBackwardBound(), "groups, %d: backward error %g", kind, (double)error);
    PetscCall(TestDestroy(&x, &u, &b));
    PetscCall(Release(&da, &A, &ksp));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Not separable: one entry by 1e-9, another end in one plane */
static PetscErrorCode Wrong(void)
{
  PetscFunctionBegin;
  for (int kind = 0; kind < 8; kind++) {
    const PetscBool hair = (PetscBool)(kind % 2 == 0), exact = (PetscBool)(kind / 2 % 2 == 0);
    static Problem p; /* of some size */
    DM da;
    Mat A;
    KSP ksp;
    PC pc;

    if (hair && sizeof(PetscReal) < sizeof(double)) continue;
    memset(&p, 0, sizeof(p));
    p.dim = 3;
    p.apart = kind % 3;
    p.cut = -1;
    p.factor = 1;
    p.wrong = hair ? 1e-9 : 0;
    p.ends = (PetscBool)!hair;
    for (PetscInt d = 0; d < p.dim; d++) AxisSet(&p.axis[d], 7 + d, d == p.apart ? "dd" : "cc", d == p.apart ? 0 : 1);
    Planes(&p, kind < 4 ? FACTOR : OWN, 0);
    PetscCall(Make(&p,
                   exact ? "-pc_bcrpoisson_fit exact -pc_bcrpoisson_capacitance off" : "-pc_bcrpoisson_capacitance off",
                   &da, &A, &ksp));
    PetscCall(KSPGetPC(ksp, &pc));
    if (exact) CheckError(PCSetUp(pc), PETSC_ERR_SUP, "row ");
    else {
      PetscCall(KSPSetType(ksp, KSPGMRES));
      PetscCall(PCSetUp(pc));
      PetscCall(Said(&p, pc, "preconditioner only", 0, PETSC_FALSE));
    }
    PetscCall(Release(&da, &A, &ksp));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  char backend[8] = "auto";
  PetscInt count = 60;

  PetscCall(PetscInitialize(&argc, &argv, NULL, "Planes and lines that are not coupled"));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(TestSeed());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-count", &count, NULL));
  device = (PetscBool)!strcmp(backend, "cuda");
  PetscCall(PetscOptionsSetValue(NULL, "-pc_bcrpoisson_backend", backend));
  PetscCall(Trials(count));
  if (!device && SINGULAR) PetscCall(Scales());
  if (!device && SINGULAR) PetscCall(Attached());
  if (SINGULAR) PetscCall(Groups());
  PetscCall(Wrong());
  if (device && rank == 0) (void)printf("on a device: %d, not: %d\n", (int)ondevice[0], (int)ondevice[1]);
  if (rank == 0)
    (void)printf("largest backward error %.2g, %.2g from LU, %.2g off the known solution; %d with singular planes, %d "
                 "without\n",
                 worst, worstlu, worstknown, (int)counts[0], (int)counts[1]);
  PetscCall(PetscFinalize());
  return TestStatus(rank == 0, (int)TestPassed, (int)TestFailed);
}
