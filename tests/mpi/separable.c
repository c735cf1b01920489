/*
  ranks: 1 2 3 5
  quick: 1

  PCBCRPOISSON with coefficients that vary along two or three axes: read as the matrix, whatever the spacings (tanh
  towards walls, geometric, random), ends (Dirichlet, Neumann, Robin, periodic, boundary rows kept), factors of rows and
  sizes, one axis times numbers along another, singular or not, one component or two; solved to rounding by lines and
  eigenvectors, transposed, with new values, in single and mixed precision, with other preconditioners alive.
  Against PETSc's LU and the equations. -backend cuda: on a device, with vectors of the host; -cases: so many
  random ones of two and of three dimensions, and no others. A matrix that is not separable by a hair, or whose eigenvectors are too
  ill-conditioned, gets a fit, which is what is named then.
*/
#include "tests/petsc/testing.h"
#include "tests/rows.h"

#define MOST 48

typedef enum {
  UNIFORM,
  TANH,
  GEOMETRIC,
  RANDOM,
  LAYER,      /* smallest cells in the middle */
  CONVECTION, /* constant couplings that differ up and down, by the strength */
  SPACINGS
} Spacing;
typedef enum {
  PLAIN,   /* T_x + T_y + T_z */
  VOLUMES, /* finite volumes: symmetric */
  FACTORS, /* each row with a factor of its own */
  FORMS
} Form;

/* Ends: d Dirichlet, c Neumann, R Robin, P Robin with a penalty, k rows kept, p periodic */
typedef struct {
  PetscInt n;
  Spacing spacing;
  double strength; /* of the spacing: the ratio of the largest cell to the smallest, roughly */
  char end[2];
  double h[MOST], low[MOST], diag[MOST], up[MOST];
} Axis;

typedef struct {
  PetscInt dim, dof, cut; /* cut: the axis that the ranks share out, -1: as they like */
  Axis axis[2][3];        /* of each component */
  Form form;
  double shift, scale, wrong; /* wrong: relative, in one entry */
  double kept;                /* diagonal of rows kept */
  PetscBool hole;             /* some rows have a diagonal alone */
  PetscBool weighed, twice;   /* axis `timed` is multiplied by t along axis `times`; and that one along it */
  PetscInt times, timed;
  double t[MOST];
} Problem;

static PetscMPIInt size;
static PetscInt counts[4], refined = 0; /* problems by their general axes; with ill-conditioned eigenvectors */
static double worst = 0;
static PetscBool device = PETSC_FALSE,
                 host =
                   PETSC_TRUE; /* or one device: rings, and axes times numbers along another, are not for several */

static void Widths(Axis *x)
{
  for (PetscInt i = 0; i < x->n; i++) {
    const double a = ((double)i + .5) / (double)x->n, b = 2 * a - 1, s = log(x->strength);

    x->h[i] = x->spacing == TANH        ? 1 / (1 + (x->strength - 1) * b * b)
              : x->spacing == LAYER     ? 1 + (x->strength - 1) * b * b
              : x->spacing == GEOMETRIC ? exp(s * a)
              : x->spacing == RANDOM    ? exp(s * TestUniform())
                                        : 1;
    x->h[i] /= (double)x->n;
  }
}

/* Rows of cells of these widths */
static void Rows(Axis *x)
{
  const PetscInt n = x->n;

  Widths(x);
  for (PetscInt i = 0; i < n; i++) {
    const double h = x->h[i];

    x->low[i] = i || x->end[0] == 'p' ? 2 / (h * (h + x->h[(i + n - 1) % n])) : 0;
    x->up[i] = i < n - 1 || x->end[1] == 'p' ? 2 / (h * (h + x->h[(i + 1) % n])) : 0;
    if (x->spacing == CONVECTION) x->up[i] *= x->strength;
    x->diag[i] = x->low[i] + x->up[i];
    for (int s = 0; s < 2; s++) {
      if (i != (s ? n - 1 : 0)) continue;
      if (x->end[s] == 'd') x->diag[i] += 2 / (h * h);
      if (x->end[s] == 'P') x->diag[i] += 1e9;
      if (x->end[s] == 'R') x->diag[i] += 1 / (h * (0.5 * h + 0.7));
    }
  }
}

static PetscErrorCode Grid(MPI_Comm comm, const Problem *p, DM *da)
{
  DMBoundaryType b[3];
  PetscInt n[3] = {1, 1, 1}, parts[3] = {PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE};
  PetscMPIInt ranks;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_size(comm, &ranks));
  for (PetscInt d = 0; d < p->dim; d++) {
    if (p->cut >= 0) parts[d] = d == p->cut ? ranks : 1;
    n[d] = p->axis[0][d].n;
    b[d] = p->axis[0][d].end[0] == 'p' ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;
  }
  if (p->dim == 1) PetscCall(DMDACreate1d(comm, b[0], n[0], p->dof, 1, NULL, da));
  else if (p->dim == 2)
    PetscCall(
      DMDACreate2d(comm, b[0], b[1], DMDA_STENCIL_STAR, n[0], n[1], parts[0], parts[1], p->dof, 1, NULL, NULL, da));
  else
    PetscCall(DMDACreate3d(comm, b[0], b[1], b[2], DMDA_STENCIL_STAR, n[0], n[1], n[2], parts[0], parts[1], parts[2],
                           p->dof, 1, NULL, NULL, NULL, da));
  PetscCall(DMSetFromOptions(*da));
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A factor of a row, the same on all ranks */
static double Factor(const Problem *p, const PetscInt at[3])
{
  double f = p->scale;

  for (PetscInt d = 0; d < p->dim && p->form == VOLUMES; d++) f *= p->axis[0][d].h[at[d]];
  if (p->form == FACTORS) f *= exp(sin(12.9 * (double)at[0] + 78.2 * (double)at[1] + 37.7 * (double)at[2]));
  return f;
}

static void Row(const void *ctx, const PetscInt N[3], const PetscInt at[3], MatStencil col[7], PetscScalar v[7],
                PetscInt *m)
{
  const Problem *p = (const Problem *)ctx;
  const PetscInt c = col[0].c;
  const double f = Factor(p, at);
  double diag = p->shift;
  PetscBool kept = p->hole;

  (void)N;
  *m = 1;
  for (PetscInt d = 0; d < p->dim && kept; d++)
    kept = (PetscBool)(at[d] >= p->axis[c][d].n / 2 + 2 && at[d] <= p->axis[c][d].n / 2 + 4);
  for (PetscInt d = 0; d < p->dim; d++)
    for (int s = 0; s < 2; s++)
      if (at[d] == (s ? p->axis[c][d].n - 1 : 0) && p->axis[c][d].end[s] == 'k') kept = PETSC_TRUE;
  for (PetscInt d = 0; d < p->dim && !kept; d++) {
    const Axis *x = &p->axis[c][d];
    const double t = p->weighed && d == p->timed ? p->t[at[p->times]]
                     : p->twice && d == p->times ? p->t[at[p->timed]]
                                                 : 1;

    diag += t * x->diag[at[d]];
    for (int s = 0; s < 2; s++) {
      const double value = t * (s ? x->up[at[d]] : x->low[at[d]]);

      if (value == 0) continue;
      col[*m] = col[0];
      *(d == 0 ? &col[*m].i : d == 1 ? &col[*m].j : &col[*m].k) += s ? 1 : -1;
      v[(*m)++] = (PetscScalar)(-f * value * (1 + (at[0] == 1 && at[1] == 2 && d == 0 && s ? p->wrong : 0)));
    }
  }
  v[0] = (PetscScalar)(kept ? p->kept : f * diag);
}

static void Describe(const Problem *p, char text[256])
{
  static const char *const forms[] = {"plain", "volumes", "factors"}, *const spacings = "utgrlc";
  size_t k = (size_t)snprintf(text, 256, "%s%s, shift %g, scale %g:", forms[p->form],
                              p->dof > 1 ? ", two components" : "", p->shift, p->scale);

  if (p->weighed)
    k += (size_t)snprintf(text + k, 256 - k, " %c times along %c:", 'x' + (int)p->timed, 'x' + (int)p->times);
  for (PetscInt d = 0; d < p->dim; d++) {
    const Axis *x = &p->axis[0][d];

    k += (size_t)snprintf(text + k, 256 - k, " %d%c%c%c%g", (int)x->n, spacings[x->spacing], x->end[0], x->end[1],
                          x->strength);
  }
}

static PetscInt Count(const char *text, const char *word)
{
  PetscInt count = 0;

  for (const char *at = strstr(text, word); at; at = strstr(at + 1, word)) count++;
  return count;
}

static double Bound(const char precision[])
{
  if (sizeof(PetscReal) < sizeof(double) || !strcmp(precision, "single")) return 2e-6;
  return (double)TestBackwardBound();
}

/* b - A x with the mean of the null vector's left part taken out is for the solver to say: singular systems get a
   right-hand side that has a solution */
static PetscErrorCode RightHandSide(Mat A, PetscBool singular, PetscBool transpose, Vec b)
{
  Vec x;

  PetscFunctionBegin;
  if (!singular) PetscCall(TestRandom(b));
  else {
    PetscInt lo, n;
    PetscScalar *v;

    PetscCall(VecDuplicate(b, &x));
    PetscCall(TestRandom(x));
    PetscCall(VecGetOwnershipRange(x, &lo, NULL));
    PetscCall(VecGetLocalSize(x, &n));
    PetscCall(VecGetArray(x, &v));
    for (PetscInt i = 0; i < n; i++) v[i] += (PetscReal)sin((double)(lo + i)); /* ranks have the same random numbers */
    PetscCall(VecRestoreArray(x, &v));
    if (transpose) PetscCall(MatMultTranspose(A, x, b));
    else PetscCall(MatMult(A, x, b));
    PetscCall(VecDestroy(&x));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One solve, against the equations, and LU on each rank */
static PetscErrorCode Compare(const Problem *p, DM da, Mat A, PC pc, PetscBool singular, PetscBool transpose,
                              const char precision[], const char *what)
{
  const double bound = Bound(precision);
  Problem own = *p;
  Vec b, x;
  PetscReal backward = 1;
  char text[256];

  PetscFunctionBegin;
  Describe(&own, text);
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(RightHandSide(A, singular, transpose, b));
  PetscCall(VecSet(x, 7));
  if (transpose) PetscCall(PCApplyTranspose(pc, b, x));
  else PetscCall(PCApply(pc, b, x));
  PetscCall(TestBackwardError(A, transpose, b, x, &backward));
  Check(backward <= bound, "%s, %s, %s: backward error %g", text, precision, what, (double)backward);
  if (strcmp(precision, "single")) TestLargest(&worst, (double)backward);
  if (!singular && !strcmp(precision, "double")) {
    DM da1;
    Mat A1;
    Vec b1, x1, y1, z1;
    KSP lu;
    PetscScalar *fall, *uall;
    PetscInt n;
    PetscReal difference = 1, size1, residual = 1;

    PetscCall(Grid(PETSC_COMM_SELF, p, &da1));
    PetscCall(DMCreateMatrix(da1, &A1));
    PetscCall(TestRowsFill(da1, Row, p, A1));
    PetscCall(TestReference(A1, &lu));
    PetscCall(MatCreateVecs(A1, &x1, &b1));
    PetscCall(VecDuplicate(x1, &y1));
    PetscCall(VecDuplicate(x1, &z1));
    PetscCall(TestGather(da, b, &fall, &n));
    PetscCall(TestGather(da, x, &uall, &n));
    PetscCall(VecPlaceArray(b1, fall));
    PetscCall(VecPlaceArray(x1, uall));
    if (transpose) PetscCall(KSPSolveTranspose(lu, b1, y1));
    else PetscCall(KSPSolve(lu, b1, y1));
    PetscCall(TestDifference(x1, y1, &difference));
    /* what LU itself is off by: one more solve with its residual */
    if (transpose) PetscCall(MatMultTranspose(A1, y1, z1));
    else PetscCall(MatMult(A1, y1, z1));
    PetscCall(VecAYPX(z1, -1, b1));
    PetscCall(VecNorm(z1, NORM_2, &residual));
    PetscCall(VecNorm(b1, NORM_2, &size1));
    Check(difference <= PetscMax(TestDifferenceBound(), 1e6 * residual / size1), "%s, %s: differs from LU by %g", text,
          what, (double)difference);
    PetscCall(VecResetArray(b1));
    PetscCall(VecResetArray(x1));
    PetscCall(PetscFree(fall));
    PetscCall(PetscFree(uall));
    PetscCall(TestDestroy(&b1, &x1, &y1, &z1, &lu, &A1, &da1));
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Make(const Problem *p, const char precision[], DM *da, Mat *A, PC *pc)
{
  PetscFunctionBegin;
  PetscCall(Grid(PETSC_COMM_WORLD, p, da));
  PetscCall(DMCreateMatrix(*da, A));
  PetscCall(TestRowsFill(*da, Row, p, *A));
  PetscCall(PCCreate(PETSC_COMM_WORLD, pc));
  PetscCall(PCSetType(*pc, PCBCRPOISSON));
  PetscCall(PCSetDM(*pc, *da));
  PetscCall(PCSetOperators(*pc, *A, *A));
  PetscCall(PetscOptionsSetValue(NULL, "-pc_bcrpoisson_precision", precision));
  PetscCall(PCSetFromOptions(*pc));
  PetscCall(PCSetUp(*pc));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* general: axes that vary for sure, -1: some are so short that they may be uniform after all */
static PetscErrorCode Read(const Problem *p, PC pc, PetscInt general, PetscBool *singular)
{
  char *text, what[256];
  PetscMPIInt rank;
  PetscInt found, n = 0;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(TestViewText((PetscObject)pc, &text));
  Describe(p, what);
  if (rank == 0) {
    found = Count(text, "coefficients vary along it") / p->dof;
    Check(strstr(text, "fit exact") && !strstr(text, "preconditioner only"), "%s: not read as it is:\n%s", what, text);
    Check(general < 0 || found == general, "%s: %d general axes, not %d:\n%s", what, (int)found, (int)general, text);
    counts[found]++;
    if (strstr(text, "eigenvectors of axes")) refined++;
    if (p->weighed) {
      char line[64];

      (void)snprintf(line, sizeof(line), "lines along %c, along which", 'x' + (int)p->times);
      Check(strstr(text, line), "%s: no '%s' in:\n%s", what, line, text);
    }
    n = strstr(text, "singular: solutions have zero mean") ? 1 : 0;
  }
  PetscCallMPI(MPI_Bcast(&n, 1, MPIU_INT, 0, PETSC_COMM_WORLD));
  *singular = (PetscBool)(n > 0);
  free(text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One problem: solved, transposed, with another shift, with other coefficients and back */
static PetscErrorCode Solve(Problem *p, const char precision[], PetscInt general, PetscBool all)
{
  const double shift = p->shift;
  DM da;
  Mat A;
  PC pc;
  PetscBool singular;

  PetscFunctionBegin;
  PetscCall(Make(p, precision, &da, &A, &pc));
  PetscCall(Read(p, pc, general, &singular));
  PetscCall(Compare(p, da, A, pc, singular, PETSC_FALSE, precision, "solve"));
  if (all) {
    PetscCall(Compare(p, da, A, pc, singular, PETSC_TRUE, precision, "transposed"));
    p->shift = shift + 3;
    PetscCall(TestRowsFill(da, Row, p, A));
    PetscCall(PCSetUp(pc));
    PetscCall(Compare(p, da, A, pc, PETSC_FALSE, PETSC_FALSE, precision, "another shift"));
    p->shift = shift;
    for (PetscInt i = 0; i < p->axis[0][0].n; i++) { /* the constant stays what it is */
      p->axis[0][0].low[i] *= 2;
      p->axis[0][0].diag[i] *= 2;
      p->axis[0][0].up[i] *= 2;
    }
    PetscCall(TestRowsFill(da, Row, p, A));
    PetscCall(PCSetUp(pc));
    PetscCall(Read(p, pc, general, &singular));
    PetscCall(Compare(p, da, A, pc, singular, PETSC_FALSE, precision, "other coefficients"));
    /* of a matrix on a device the values are there alone then */
    PetscCall(MatScale(A, 2));
    p->scale *= 2;
    PetscCall(PCSetUp(pc));
    PetscCall(Read(p, pc, general, &singular));
    p->kept *= 2;
    PetscCall(Compare(p, da, A, pc, singular, PETSC_FALSE, precision, "scaled"));
  }
  PetscCall(TestDestroy(&pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void Random(Problem *p, PetscInt dim, PetscInt trial, PetscInt *general)
{
  static const PetscInt sizes[3][7] = {
    {1, 2, 3, 5, 7,  31, 48},
    {2, 3, 5, 8, 17, 31, 33},
    {2, 3, 5, 6, 8,  9,  17}
  };
  static const char ends[] = "dcRk";
  const PetscBool neutral = (PetscBool)(trial % 5 == 0); /* Neumann and periodic ends alone */

  memset(p, 0, sizeof(*p));
  p->dim = dim;
  p->dof = trial % 7 == 3 ? 2 : 1;
  p->kept = 3;
  p->form = (Form)(trial % FORMS);
  p->scale = trial % 2 ? -3 : 0.02;
  p->shift = trial % 5 == 0 || trial % 3 ? 0 : 0.6;
  p->cut = trial % dim;
  *general = 0;
  for (PetscInt d = 0; d < dim; d++) {
    Axis *x = &p->axis[0][d];

    x->n = sizes[dim - 1][(PetscInt)(7 * TestUniform())];
    if (d == p->cut)
      x->n = PetscMax(x->n, neutral ? PetscMax(size, 2) : size); /* one point alone would be a row of zero */
    x->spacing = (Spacing)(TestUniform() < 0.2 ? UNIFORM : 1 + (PetscInt)(3 * TestUniform()));
    x->strength = exp(1 + 3 * TestUniform());
    for (int s = 0; s < 2; s++) x->end[s] = neutral ? 'c' : ends[(PetscInt)(4 * TestUniform())];
    if (x->n > 2 && TestUniform() < (x->spacing == UNIFORM ? 0.5 : host ? 0.3 : 0)) x->end[0] = x->end[1] = 'p';
    if (x->n < 5) /* of what is left between kept rows not everything can be told */
      for (int s = 0; s < 2; s++) x->end[s] = x->end[s] == 'k' ? 'd' : x->end[s];
    if (dim == 1 && x->n == 1 && x->end[0] == 'c' && x->end[1] == 'c') x->end[0] = 'd'; /* nor one of zero */
    Rows(x);
    p->axis[1][d] = *x;
    /* one line with factors of rows may be one with coefficients as well, unless it has the constant */
    if (x->n < 7 || (dim == 1 && p->form == FACTORS && !neutral)) *general = -1;
    else if (*general >= 0 && (x->spacing != UNIFORM || x->end[0] == 'R' || x->end[1] == 'R')) (*general)++;
  }
}

static PetscErrorCode Trials(PetscInt dim, PetscInt trials)
{
  static const char *const precisions[] = {"double", "double", "double", "mixed", "single"};

  PetscFunctionBegin;
  for (PetscInt trial = 0; trial < trials; trial++) {
    Problem p;
    PetscInt general;

    Random(&p, dim, trial, &general);
    PetscCall(Solve(&p, precisions[trial % 5 ? trial / 5 % 5 : 0], general, (PetscBool)(trial % 2 == 0)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Graded far, penalties on walls, and convection, whose eigenvectors are ill-conditioned: refined */
static PetscErrorCode Graded(void)
{
  PetscFunctionBegin;
  for (int k = 0; k < 12; k++) {
    Problem p;

    memset(&p, 0, sizeof(p));
    p.dim = k < 6 || k > 7 ? 2 : 3;
    p.dof = 1;
    p.scale = 1;
    p.kept = 3;
    p.form = k % 2 ? VOLUMES : PLAIN;
    for (PetscInt d = 0; d < p.dim; d++) {
      Axis *x = &p.axis[0][d];

      x->n = p.dim == 2 ? 44 + d : 9 + d;
      x->spacing = k > 9 ? RANDOM : k > 7 ? LAYER : k % 4 == 2 ? CONVECTION : d ? TANH : GEOMETRIC;
      p.cut = k % 3 - 1;
      x->strength = x->spacing == CONVECTION ? (k < 4 ? 1.4 : 2)
                                             : (k < 4 || k == 8 || k == 9 ? 1e5
                                                : k == 5                  ? 3000
                                                : k > 9                   ? 500
                                                                          : 100);
      x->end[0] = k == 5 ? 'c' : k % 4 == 3 ? 'P' : 'd';
      x->end[1] = 'c';
      Rows(x);
    }
    PetscCall(Solve(&p, "double", p.dim, PETSC_TRUE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two preconditioners of different problems, used in turns */
static PetscErrorCode Together(void)
{
  Problem p[2];
  PetscInt general;
  DM da[2];
  Mat A[2];
  PC pc[2];

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    Random(&p[k], 2 + k, 1 + k, &general);
    p[k].shift = 0.6;
    PetscCall(Make(&p[k], "double", &da[k], &A[k], &pc[k]));
  }
  for (int k = 0; k < 4; k++)
    PetscCall(Compare(&p[k % 2], da[k % 2], A[k % 2], pc[k % 2], PETSC_FALSE, PETSC_FALSE, "double", "in turns"));
  for (int k = 0; k < 2; k++) {
    PetscCall(TestDestroy(&pc[k], &A[k], &da[k]));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rings that nothing makes symmetric, wind round a periodic axis: lines, and slabs, are along them, beside anything. Two
   of them, and one whose links close to within 1e-9 alone, are a fit: with the entry that says so */
static PetscErrorCode Winds(void)
{
  PetscFunctionBegin;
  for (int k = 0; k < 24; k++) {
    Problem p;
    PetscInt ring = k % 3, general = 1;

    memset(&p, 0, sizeof(p));
    p.dim = PetscMax(1 + k / 8, 1 + ring);
    p.dof = 1;
    p.scale = -2;
    p.cut = (k / 2) % p.dim;
    p.shift = k % 2 ? 0.4 : 0;
    p.form = (Form)(k / 3 % FORMS);
    for (PetscInt d = 0; d < p.dim; d++) {
      Axis *x = &p.axis[0][d];

      x->n = p.dim == 1 ? 37 : PetscMax(7 + 2 * d, size);
      x->spacing = d == ring ? CONVECTION : k % 5 == 1 && d == 1 ? RANDOM : k % 4 == 1 ? UNIFORM : TANH;
      x->strength = d == ring ? 1.1 + 0.05 * k : 6;
      x->end[0] = x->end[1] = d == ring || k % 7 == 3 ? 'p' : 'c';
      Rows(x);
      if (d != ring && x->spacing != UNIFORM) general++;
    }
    PetscCall(Solve(&p, "double", general, PETSC_FALSE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Stretched axes that are periodic, each of them in one to three dimensions: all are read as they are, and solved */
static PetscErrorCode Rings(PetscInt trials)
{
  static const PetscInt sizes[] = {7, 8, 17, 31};

  PetscFunctionBegin;
  for (PetscInt k = 0; k < trials; k++) {
    const PetscInt ring = k / 3 % (1 + k % 3);
    PetscInt general = 0;
    Problem p;

    memset(&p, 0, sizeof(p));
    p.dim = 1 + k % 3;
    p.dof = 1;
    p.scale = k % 4 ? 1 : -0.3;
    p.shift = k % 5 ? 0 : 0.7;
    p.form = (Form)(k / 18 % FORMS);
    p.cut = k / 9 % p.dim;
    for (PetscInt d = 0; d < p.dim; d++) {
      Axis *x = &p.axis[0][d];

      x->n = PetscMax(sizes[(k / 3 + d) % (p.dim == 3 ? 2 : 4)], size);
      x->spacing = d == ring ? (Spacing)(TANH + k / 9 % 3) : k / 27 % 2 ? TANH : UNIFORM;
      x->strength = d == ring ? 3 + (double)(k % 17) : 4;
      for (int s = 0; s < 2; s++) x->end[s] = d == ring || k % 11 == 1 ? 'p' : k / 36 % 2 ? 'c' : 'd';
      Rows(x);
      if (x->spacing != UNIFORM) general++;
    }
    PetscCall(Solve(&p, "double", general, PETSC_FALSE));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One axis times numbers along another, as in cylinders (1/r^2), spheres and anisotropic layers: in every place, beside
   any ends, sizes from 2, row factors, singular or not, cut along any axis */
static PetscErrorCode Times(PetscInt trials)
{
  static const PetscInt sizes[] = {2, 3, 5, 7, 8, 11};
  static const char *const precisions[] = {"double", "double", "mixed", "single"}, ends[] = "dcRk";

  PetscFunctionBegin;
  for (PetscInt k = 0; k < trials; k++) {
    Problem p;

    memset(&p, 0, sizeof(p));
    p.dim = 3;
    p.dof = k % 11 == 5 ? 2 : 1;
    p.scale = k % 2 ? -3 : 0.02;
    p.shift = k % 4 ? 0 : 0.6;
    p.form = (Form)(k / 2 % FORMS);
    p.weighed = PETSC_TRUE;
    p.kept = 3;
    p.times = k % 3;
    p.timed = (p.times + 1 + k / 3 % 2) % 3;
    p.cut = k / 6 % 3;
    for (PetscInt d = 0; d < 3; d++) {
      Axis *x = &p.axis[0][d];

      x->n =
        d == 0 && (k % 3 == 1 || k % 6 == 2) ? 29 : sizes[(PetscInt)(6 * TestUniform())]; /* compared as runs, too */
      if (d == p.cut || d == p.times) x->n = PetscMax(x->n, PetscMax(3, size));
      x->spacing = (Spacing)(TestUniform() < 0.5 ? UNIFORM : 1 + (PetscInt)(3 * TestUniform()));
      x->strength = exp(2 * TestUniform());
      for (int s = 0; s < 2; s++) x->end[s] = k % 4 == 2 ? 'c' : ends[(PetscInt)(4 * TestUniform())];
      if (x->n > 2 && TestUniform() < 0.3) x->end[0] = x->end[1] = 'p';
      for (int s = 0; s < 2; s++)
        if (x->n < 5 || (p.form == FACTORS && d == (p.times == 2 ? 1 : 2)))
          x->end[s] = x->end[s] == 'k' ? 'd' : x->end[s];
      Rows(x);
      p.axis[1][d] = *x;
    }
    for (PetscInt i = 0; i < p.axis[0][p.times].n; i++)
      p.t[i] = k % 5 == 1 ? exp(3 * TestUniform()) : 1 / PetscSqr((double)i + 0.5);
    PetscCall(Solve(&p, precisions[k / 2 % 4], -1, (PetscBool)(k % 2 == 0)));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An obstacle where a stretched axis is periodic: rows that differ */
static PetscErrorCode Holes(void)
{
  PetscFunctionBegin;
  for (int k = 0; k < 4; k++) {
    Problem p;
    DM da;
    Mat A;
    PC pc;
    PetscMPIInt rank;
    char *text;

    memset(&p, 0, sizeof(p));
    p.dim = 2;
    p.dof = 1;
    p.scale = 1;
    p.hole = PETSC_TRUE;
    p.kept = 3;
    p.cut = k % 2;
    for (PetscInt d = 0; d < p.dim; d++) {
      Axis *x = &p.axis[0][d];

      x->n = 33 + 2 * d;
      x->spacing = d == k / 2 ? TANH : UNIFORM;
      x->strength = 5;
      x->end[0] = x->end[1] = d == k / 2 ? 'p' : 'd';
      Rows(x);
    }
    PetscCall(Make(&p, "double", &da, &A, &pc));
    PetscCall(TestViewText((PetscObject)pc, &text));
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    Check(rank > 0 || (strstr(text, "fit rows differ") && strstr(text, "periodic, coefficients vary")),
          "%d: rows that differ from a ring are not:\n%s", k, text);
    PetscCall(Compare(&p, da, A, pc, PETSC_FALSE, PETSC_FALSE, "double", "with a hole"));
    free(text);
    PetscCall(TestDestroy(&pc, &A, &da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One axis times numbers along another, and that one times numbers along it: nothing separates these */
static PetscErrorCode Twice(void)
{
  Problem p;
  DM da;
  Mat A;
  PC pc;

  PetscFunctionBegin;
  memset(&p, 0, sizeof(p));
  p.dim = 3;
  p.dof = 1;
  p.scale = 1;
  p.weighed = p.twice = PETSC_TRUE;
  p.times = 0;
  p.timed = 2;
  p.cut = -1;
  for (PetscInt d = 0; d < 3; d++) {
    p.axis[0][d].n = 6 + d;
    p.axis[0][d].strength = 1;
    p.axis[0][d].end[0] = p.axis[0][d].end[1] = 'd';
    Rows(&p.axis[0][d]);
    for (PetscInt i = 0; i < MOST; i++) p.t[i] = 1 + 0.1 * (double)i;
  }
  PetscCall(TestOptions("-pc_bcrpoisson_capacitance off -pc_bcrpoisson_fit exact", PETSC_TRUE));
  CheckError(Make(&p, "double", &da, &A, &pc), PETSC_ERR_SUP, "not in proportion");
  PetscCall(TestOptions("-pc_bcrpoisson_capacitance off -pc_bcrpoisson_fit exact", PETSC_FALSE));
  PetscCall(TestDestroy(&pc, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* With options that ask for other plans; not separable by 1e-9 of one entry; eigenvectors beyond reach; rings that nothing
   makes symmetric, one by a wind, by 1e-9 of one link, two; a fit by its name; a radix, whose blocks are along axes that do
   not vary. What is no fit where exact is asked for is an error that says why */
static PetscErrorCode Fits(void)
{
  static const struct {
    const char *options;
    double wrong, convection; /* 0: a stretched grid */
    PetscBool exact;
    int rings;        /* axes that are */
    double hair;      /* one of their links is off by, relatively */
    const char *says; /* NULL: no error */
  } cases[] = {
    {"-pc_bcrpoisson_capacitance off",                            0,    0,   PETSC_TRUE,  0, 0,    NULL                      },
    {"-pc_bcrpoisson_capacitance off",                            1e-9, 0,   PETSC_FALSE, 0, 0,    NULL                      },
    {"-pc_bcrpoisson_capacitance off",                            0,    10,  PETSC_FALSE, 0, 0,    NULL                      },
    {"-pc_bcrpoisson_capacitance off -pc_bcrpoisson_fit exact",   1e-9, 0,   PETSC_FALSE, 0, 0,    "1,2,0\noff by 1e-09"     },
    {"-pc_bcrpoisson_capacitance off -pc_bcrpoisson_fit exact",   0,    10,  PETSC_FALSE, 0, 0,    "grid point\nof condition"},
    {"-pc_bcrpoisson_capacitance off",                            0,    0,   PETSC_TRUE,  2, 0,    NULL                      },
    {"-pc_bcrpoisson_capacitance off",                            0,    0,   PETSC_TRUE,  1, 1e-9, NULL                      },
    {"-pc_bcrpoisson_capacitance off",                            0,    0,   PETSC_FALSE, 2, 1e-9, NULL                      },
    {"-pc_bcrpoisson_capacitance off -pc_bcrpoisson_fit exact",   0,    0,   PETSC_FALSE, 2, 1e-9, "grid point\nclose a ring"},
    {"-pc_bcrpoisson_capacitance off",                            0,    1.2, PETSC_FALSE, 2, 0,    NULL                      },
    {"-pc_bcrpoisson_capacitance off -pc_bcrpoisson_fit scaled",  0,    0,   PETSC_FALSE, 0, 0,    NULL                      },
    {"-pc_bcrpoisson_capacitance off -pc_bcrpoisson_fit average", 0,    0,   PETSC_FALSE, 0, 0,    NULL                      },
    {"-pc_bcrpoisson_radix 4",                                    0,    0,   PETSC_FALSE, 0, 0,    NULL                      },
    {"-pc_bcrpoisson_tune on",                                    0,    0,   PETSC_TRUE,  0, 0,    NULL                      },
    {"-pc_bcrpoisson_fit exact",                                  0,    0,   PETSC_TRUE,  0, 0,    NULL                      }
  };

  PetscFunctionBegin;
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(cases); k++) {
    Problem p;
    DM da;
    Mat A;
    PC pc;
    PetscMPIInt rank;
    char *text;

    if (cases[k].rings && !host) continue;
    memset(&p, 0, sizeof(p));
    p.dim = 2;
    p.dof = 1;
    p.scale = 1;
    p.kept = 3;
    p.wrong = cases[k].wrong;
    for (PetscInt d = 0; d < p.dim; d++) {
      Axis *x = &p.axis[0][d];

      x->n = 24;
      x->spacing = cases[k].convection > 0 ? CONVECTION : TANH;
      x->strength = cases[k].convection > 0 ? cases[k].convection : 20;
      x->end[0] = x->end[1] = d < cases[k].rings ? 'p' : 'd';
      Rows(x);
      if (d < cases[k].rings) x->up[5] *= 1 + cases[k].hair;
    }
    p.shift = cases[k].rings ? 1 : 0;
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCall(TestOptions(cases[k].options, PETSC_TRUE));
    if (cases[k].says && sizeof(PetscReal) == sizeof(double)) {
      CheckError(Make(&p, "double", &da, &A, &pc), PETSC_ERR_SUP, cases[k].says);
      text = NULL;
    } else {
      PetscCall(Make(&p, "double", &da, &A, &pc));
      PetscCall(TestViewText((PetscObject)pc, &text));
    }
    PetscCall(TestOptions(cases[k].options, PETSC_FALSE));
    Check(rank > 0 || !text || (sizeof(PetscReal) < sizeof(double) && (cases[k].wrong > 0 || cases[k].hair > 0)) ||
            cases[k].exact == (PetscBool)(strstr(text, "fit exact") != NULL),
          "%s, wrong by %g, convection %g: %s", cases[k].options, cases[k].wrong, cases[k].convection, text);
    if (cases[k].exact) PetscCall(Compare(&p, da, A, pc, PETSC_FALSE, PETSC_FALSE, "double", cases[k].options));
    free(text);
    PetscCall(TestDestroy(&pc, &A, &da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A stretched ring beside a uniform axis, or, in three dimensions, an axis times numbers along another */
static void RingOrTimes(PetscBool times, double shift, Problem *p)
{
  memset(p, 0, sizeof(*p));
  p->dim = times ? 3 : 2;
  p->dof = 1;
  p->scale = 1;
  p->shift = shift;
  p->cut = -1;
  p->weighed = times;
  p->timed = 2;
  for (PetscInt i = 0; i < MOST; i++) p->t[i] = 1 + 0.1 * (double)i;
  for (PetscInt d = 0; d < p->dim; d++) {
    Axis *x = &p->axis[0][d];
    const PetscBool ring = d == 0 && !times ? PETSC_TRUE : PETSC_FALSE;

    x->n = 9 + d;
    x->spacing = ring ? TANH : UNIFORM;
    x->strength = 4;
    x->end[0] = x->end[1] = ring ? 'p' : 'd';
    Rows(x);
  }
}

/* What devices of several ranks do not solve directly, a stretched ring, an axis times numbers along another: a fit, or an
   error that says where it is solved */
static PetscErrorCode HostAlone(void)
{
  PetscMPIInt rank;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  for (int k = 0; k < 2; k++) {
    char *text;
    Problem p;
    DM da;
    Mat A;
    PC pc;

    RingOrTimes((PetscBool)(k > 0), 1, &p);
    PetscCall(Make(&p, "double", &da, &A, &pc));
    PetscCall(TestViewText((PetscObject)pc, &text));
    Check(rank || strstr(text, "preconditioner only") != NULL, "no fit on devices of several ranks:\n%s", text);
    free(text);
    PetscCall(TestDestroy(&pc, &A, &da));
    PetscCall(PetscOptionsSetValue(NULL, "-pc_bcrpoisson_fit", "exact"));
    CheckError(Make(&p, "double", &da, &A, &pc), PETSC_ERR_SUP, "are for -pc_bcrpoisson_backend cpu");
    PetscCall(PetscOptionsClearValue(NULL, "-pc_bcrpoisson_fit"));
    PetscCall(TestDestroy(&pc, &A, &da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Where the operator is not definite: a ring, solved by its eigenvectors; an axis times numbers along another whose planes
   are coupled, an error */
static PetscErrorCode Indefinite(void)
{
  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) {
    Problem p;
    DM da;
    Mat A;
    PC pc;

    RingOrTimes((PetscBool)(k > 0), -60, &p);
    if (k) CheckError(Make(&p, "double", &da, &A, &pc), PETSC_ERR_SUP, "for definite operators alone");
    else if (device) CheckError(Make(&p, "double", &da, &A, &pc), PETSC_ERR_SUP, "no way for a device");
    else {
      PetscCall(Make(&p, "double", &da, &A, &pc));
      PetscCall(Compare(&p, da, A, pc, PETSC_FALSE, PETSC_FALSE, "double", "not definite"));
      PetscCall(Compare(&p, da, A, pc, PETSC_FALSE, PETSC_TRUE, "double", "not definite, transposed"));
    }
    PetscCall(TestDestroy(&pc, &A, &da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What devices of several ranks do not solve with directly */
static PetscErrorCode OnHosts(void)
{
  PetscFunctionBegin;
  PetscCall(Winds());
  PetscCall(Holes());
  PetscCall(Twice());
  PetscCall(Indefinite());
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the view says the matrix is off by, of what it was read as: rounding, or, of a fit, as much as one entry is */
static PetscErrorCode Deviation(void)
{
  PetscFunctionBegin;
  for (int k = 0; k < 3; k++) {
    const double wrong = k == 0 ? 0 : k == 1 ? 1e-9 : 1e-3;
    double off = 0;
    PetscMPIInt rank;
    const char *said;
    char *text;
    Problem p;
    DM da;
    Mat A;
    PC pc;

    memset(&p, 0, sizeof(p));
    p.dim = 2;
    p.dof = 1;
    p.scale = 1;
    p.cut = -1;
    p.wrong = wrong;
    for (PetscInt d = 0; d < p.dim; d++) {
      Axis *x = &p.axis[0][d];

      x->n = 24;
      x->spacing = TANH;
      x->strength = 20;
      x->end[0] = x->end[1] = 'd';
      Rows(x);
    }
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCall(TestOptions("-pc_bcrpoisson_capacitance off", PETSC_TRUE));
    PetscCall(Make(&p, "double", &da, &A, &pc));
    PetscCall(TestOptions("-pc_bcrpoisson_capacitance off", PETSC_FALSE));
    PetscCall(TestViewText((PetscObject)pc, &text));
    said = strstr(text, "largest relative deviation ");
    if (said) off = atof(said + strlen("largest relative deviation "));
    Check(rank > 0 || (said && off < (k ? 1 : 1e-13) && (k < 2 || off > 1e-4)),
          "an entry is off by %g, which the view has as %g: %s", wrong, off, text);
    free(text);
    PetscCall(TestDestroy(&pc, &A, &da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Several general axes, one of them with couplings of the wrong sign, all of them or those of one link */
static PetscErrorCode Negative(void)
{
  PetscFunctionBegin;
  for (int k = 0; k < 4; k++) {
    const char *options =
      k % 2 ? "-pc_bcrpoisson_capacitance off -pc_bcrpoisson_fit exact" : "-pc_bcrpoisson_capacitance off";
    PetscMPIInt rank;
    Problem p;
    DM da;
    Mat A;
    PC pc;

    memset(&p, 0, sizeof(p));
    p.dim = 2;
    p.dof = 1;
    p.scale = 1;
    p.cut = -1;
    for (PetscInt d = 0; d < p.dim; d++) {
      Axis *x = &p.axis[0][d];

      x->n = 16;
      x->spacing = TANH;
      x->strength = 5;
      x->end[0] = x->end[1] = 'd';
      Rows(x);
      for (PetscInt i = 0; i < x->n && d; i++) {
        if (k < 2 || i == 7) x->up[i] *= -1;
        if (k < 2 || i == 8) x->low[i] *= -1;
      }
    }
    PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
    PetscCall(TestOptions(options, PETSC_TRUE));
    if (k != 2)
      CheckError(Make(&p, "double", &da, &A, &pc), PETSC_ERR_SUP,
                 k < 2 ? "mean coupling along y" : "not separable: row ");
    else {
      char *text;

      PetscCall(Make(&p, "double", &da, &A, &pc));
      PetscCall(TestViewText((PetscObject)pc, &text));
      Check(rank > 0 || (strstr(text, "preconditioner only") && strstr(text, "relative deviation")),
            "a link of the wrong sign: %s", text);
      free(text);
    }
    PetscCall(TestOptions(options, PETSC_FALSE));
    PetscCall(TestDestroy(&pc, &A, &da));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscMPIInt rank;
  PetscInt cases[3], given = 3;
  PetscBool vectors; /* of devices */
  char backend[8] = "auto";
  PetscBool all;

  PetscCall(PetscInitialize(&argc, &argv, NULL, "Coefficients that vary along several axes"));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(TestSeed());
  cases[0] = size > 1 ? 25 : 60;
  cases[1] = size > 1 ? 15 : 40;
  cases[2] = size > 1 ? 24 : 60;
  PetscCall(PetscOptionsGetIntArray(NULL, NULL, "-cases", cases, &given, &all));
  all = (PetscBool)!all;
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscOptionsSetValue(NULL, "-pc_bcrpoisson_backend", backend));
  device = (PetscBool)!strcmp(backend, "cuda");
  PetscCall(PetscOptionsHasName(NULL, NULL, "-dm_vec_type", &vectors));
  host = (PetscBool)(!(device || vectors) || size == 1);
  if (device && !host) PetscCall(HostAlone());
  if (all) PetscCall(Trials(1, size > 1 ? 15 : 40));
  PetscCall(Trials(2, cases[0]));
  PetscCall(Trials(3, cases[1]));
  if (host && (all || given > 2)) PetscCall(Times(cases[2]));
  if (all) {
    PetscCall(Graded());
    if (host) PetscCall(Rings(size > 1 ? 60 : 180));
    if (host) PetscCall(OnHosts());
    PetscCall(Together());
    PetscCall(Fits());
    if (sizeof(PetscReal) == sizeof(double)) {
      PetscCall(Deviation());
      PetscCall(Negative());
    }
  }
  if (rank == 0) {
    (void)printf("read exactly, with 0 to 3 general axes: %d %d %d %d; refined: %d; largest backward error %.1e\n",
                 (int)counts[0], (int)counts[1], (int)counts[2], (int)counts[3], (int)refined, worst);
    Check(!all || (counts[2] >= (size > 1 ? 15 : 30) && counts[3] >= (size > 1 ? 5 : 10) && refined >= 4),
          "too few problems with several general axes");
  }
  PetscCall(PetscFinalize());
  return TestEnd();
}
