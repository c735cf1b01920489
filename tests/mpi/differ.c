/*
  ranks: 1 2 3
  quick: 2

  Matrices of which some rows differ from an operator's (src/operator/differ.h): obstacles with columns kept, zeroed, or
  without flux, in several pieces and at all kinds of ends, materials, wells, pinned rows, volumes. What is read is put
  together again as a dense matrix A~ in this file, from the operator's coefficients and the lists, and must have the
  rows of the matrix where these are the fluid's; solutions of A~ must solve the matrix' own system; and no
  more rows may differ than a comparison with the matrix without obstacles finds. Over every cut of the grid.
*/
#include "distribute.h"
#include "../faults.h"
#include "src/operator/read.h"
#include "src/operator/differ.h"

static PetscMPIInt rank, size;

/* What is at a node: 0 fluid; mask whose columns are (k)ept, (z)eroed, or gone from the diagonal as well (n) */
typedef char (*Shape)(const double x[3], PetscInt dim);

typedef struct {
  const char *name;
  TestProblem p;
  Shape shape;
  PetscReal d;                                                      /* diagonal of the mask */
  PetscReal (*k)(PetscReal x, PetscReal y, PetscReal z, void *ctx); /* materials */
  PetscInt wells;
  PetscBool volumes, half; /* rows of any size; half of the low end of x is held */
  PetscBool even;          /* rows are divided by 1 + x, where p.k is that: they have no weights */
  PetscInt pieces;         /* of the mask */
} Test;

static double Distance(const double x[3], PetscInt dim, double a, double b, double c)
{
  const double y[3] = {x[0] - a, x[1] - b, x[2] - c};
  double s = 0;

  for (PetscInt d = 0; d < dim; ++d) s += y[d] * y[d];
  return sqrt(s);
}

static char Kept(const double x[3], PetscInt dim)
{
  return Distance(x, dim, .45, .55, .5) < .17 ? 'k' : 0;
}

static char Zeroed(const double x[3], PetscInt dim)
{
  return Distance(x, dim, .45, .55, .5) < .17 ? 'z' : 0;
}

static char Neumann(const double x[3], PetscInt dim)
{
  return Distance(x, dim, .45, .55, .5) < .17 ? 'n' : 0;
}

/* Through all of z */
static char Pillar(const double x[3], PetscInt dim)
{
  (void)dim;
  return Distance(x, 2, .45, .55, 0) < .17 ? 'k' : 0;
}

/* One of each, a node alone, and a square at the middle of the low end of x */
static char Several(const double x[3], PetscInt dim)
{
  if (Distance(x, dim, .3, .3, .4) < .09) return 'k';
  if (Distance(x, dim, .7, .3, .4) < .09) return 'z';
  if (Distance(x, dim, .7, .7, .6) < .09) return 'n';
  return x[0] < .13 && fabs(x[1] - .6) < .08 && fabs(x[2] - .5) < .15 ? 'k' : 0;
}

/* A coast along the low end of y, one side of it without flux */
static char Coast(const double x[3], PetscInt dim)
{
  (void)dim;
  if (x[1] < .05 + .08 * sin(9 * x[0])) return x[0] < .5 ? 'n' : 'z';
  return 0;
}

/* Every other node: more rows differ than are taken */
static char Large(const double x[3], PetscInt dim)
{
  (void)dim;
  return ((int)(20 * x[0]) + (int)(18 * x[1])) % 3 == 0 ? 'n' : 0;
}

static char Pin(const double x[3], PetscInt dim)
{
  return Distance(x, dim, .52, .52, .52) < .04 ? 'z' : 0;
}

/* A step at a wall */
static char Step(const double x[3], PetscInt dim)
{
  (void)dim;
  return x[0] < .2 && fabs(x[1] - .55) < .15 ? (x[1] < .55 ? 'k' : 'z') : 0;
}

static PetscReal Materials(PetscReal x, PetscReal y, PetscReal z, void *ctx)
{
  const double at[3] = {(double)x, (double)y, (double)z};

  (void)ctx;
  return Distance(at, z == (PetscReal)0.5 ? 2 : 3, .45, .55, .5) < .17 ? 50 : 1;
}

static void Place(const TestProblem *p, PetscInt i, PetscInt at[3], double x[3])
{
  const PetscInt n[3] = {p->n[0], p->dim > 1 ? p->n[1] : 1, p->dim > 2 ? p->n[2] : 1};

  at[0] = i % n[0];
  at[1] = i / n[0] % n[1];
  at[2] = i / n[0] / n[1];
  for (int d = 0; d < 3; ++d) x[d] = ((double)at[d] + .5) / (double)n[d];
}

static PetscInt Nodes(const TestProblem *p)
{
  return p->n[0] * (p->dim > 1 ? p->n[1] : 1) * (p->dim > 2 ? p->n[2] : 1);
}

/* Component c of a matrix that every rank has */
static PetscErrorCode Dense(const TestProblem *p, Mat A, PetscInt c, double *dense)
{
  const PetscInt N = Nodes(p);

  PetscFunctionBegin;
  PetscCall(PetscArrayzero(dense, (size_t)N * (size_t)N));
  for (PetscInt i = 0; i < N; ++i) {
    const PetscInt row = c + p->dof * i, *columns;
    const PetscScalar *values;
    PetscInt n;

    PetscCall(MatGetRow(A, row, &n, &columns, &values));
    for (PetscInt k = 0; k < n; ++k)
      if (columns[k] % p->dof == c) dense[i * N + columns[k] / p->dof] += (double)PetscRealPart(values[k]);
    PetscCall(MatRestoreRow(A, row, &n, &columns, &values));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Puts mask, wells, volumes into a dense matrix; letter: of each node */
static void Change(const Test *t, PetscInt c, double *A, char *letter)
{
  const PetscInt N = Nodes(&t->p);
  PetscInt at[3];
  double x[3];

  for (PetscInt i = 0; i < N; ++i) {
    double link = 0;

    Place(&t->p, i, at, x);
    for (PetscInt j = 0; j < N; ++j) link += j != i && A[i * N + j] != 0; /* rows of planes stay what they are */
    letter[i] = (char)(t->shape && c == 0 && link > 1 ? t->shape(x, t->p.dim) : 0);
    if (t->half && at[0] == 0 && x[1] < .5) A[i * N + i] += 2 * (double)(t->p.a[0] * t->p.scale);
    if (c == 0 && t->wells && i % (N / t->wells) == N / t->wells / 2) A[i * N + i] *= 3;
  }
  for (PetscInt i = 0; i < N; ++i) {
    double volume = t->volumes ? exp(2 * TestUniform() - 1) : 1;

    Place(&t->p, i, at, x);
    if (t->even) volume /= 1 + x[0];
    for (PetscInt j = 0; j < N; ++j) {
      double *v = &A[i * N + j];

      if (letter[i]) *v = i == j ? (double)t->d : 0;
      else if (letter[j] == 'n') A[i * N + i] += *v;
      if (!letter[i] && (letter[j] == 'n' || letter[j] == 'z')) *v = 0;
      if (!letter[i]) continue;
    }
    for (PetscInt j = 0; j < N && !letter[i]; ++j) A[i * N + j] *= volume;
  }
}

static PetscErrorCode Deal(const Test *t, DM da, double *const dense[], Mat *A)
{
  const PetscInt N = Nodes(&t->p);
  AO ao;
  PetscInt n, *natural, first, last;

  PetscFunctionBegin;
  PetscCall(DMCreateMatrix(da, A));
  PetscCall(MatSetOption(*A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE));
  PetscCall(DMDAGetAO(da, &ao));
  PetscCall(TestNatural(da, &n, &natural));
  PetscCall(MatGetOwnershipRange(*A, &first, &last));
  for (PetscInt i = 0; i < n; ++i) {
    const PetscInt c = natural[i] % t->p.dof, node = natural[i] / t->p.dof;

    for (PetscInt j = 0; j < N; ++j) {
      PetscInt there = c + t->p.dof * j;

      if (dense[c][node * N + j] == 0) continue;
      PetscCall(AOApplicationToPetsc(ao, 1, &there));
      PetscCall(MatSetValue(*A, first + i, there, (PetscScalar)dense[c][node * N + j], INSERT_VALUES));
    }
  }
  PetscCall(PetscFree(natural));
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The neighbour of a node along axis d, s: low, high; around the ends of the grid */
static PetscInt Beside(const PetscInt full[3], const PetscInt at[3], PetscInt d, PetscInt s)
{
  PetscInt to[3] = {at[0], at[1], at[2]};

  to[d] = (to[d] + (s ? 1 : full[d] - 1)) % full[d];
  return to[0] + full[0] * (to[1] + full[1] * to[2]);
}

/* A row of the operator, whose rows are those of the matrix but for the planes' elimination. B: zero */
static void OperatorRow(const BCROperator *op, const PetscInt full[3], const PetscInt lo[3], const PetscInt n[3],
                        const PetscInt at[3], double *row)
{
  const PetscInt i = at[0] + full[0] * (at[1] + full[1] * at[2]);
  PetscInt b[3], planes = 0, first = -1, box = 0, stride = 1;
  int side[3];
  double w = (double)op->scale;

  for (PetscInt d = 0; d < 3; ++d) {
    b[d] = op->axis[d].plane[0].present ? 1 : 0;
    side[d] = at[d] < b[d] ? -1 : (at[d] >= b[d] + op->axis[d].n ? 1 : 0);
    planes += side[d] != 0;
    if (side[d] && first < 0) first = d;
  }
  if (planes) {
    const BCRPlane *pl = &op->axis[first].plane[side[first] > 0];
    PetscInt q = 0;
    double diagonal;

    for (PetscInt d = 2; d >= 0; --d)
      if (d != first) q = q * n[d] + at[d] - lo[d];
    diagonal = 1 / (double)(pl->inv ? pl->inv[q] : pl->inv0);
    row[i] = diagonal;
    for (PetscInt d = 0; d < 3; ++d) {
      const double slope = !side[d]      ? 0
                           : planes == 1 ? (double)op->axis[d].plane[side[d] > 0].slope
                                         : (double)op->corner[BCRCornerPlace(side)][d];

      if (side[d]) row[Beside(full, at, d, side[d] < 0)] -= slope * diagonal;
    }
    return;
  }
  for (PetscInt d = 0; d < 3; ++d) { /* the rank's own part of the box */
    const PetscInt from = PetscMax(lo[d], b[d]), to = PetscMin(lo[d] + n[d], b[d] + op->axis[d].n);

    box += stride * (at[d] - from);
    stride *= to - from;
    if (op->axis[d].weight) w *= (double)op->axis[d].weight[at[d] - b[d]];
  }
  if (op->rowscale) w *= (double)op->rowscale[box];
  row[i] += w * (double)op->shift;
  for (PetscInt d = 0; d < 3; ++d) {
    const BCRAxis *ax = &op->axis[d];
    double low, diag, up;

    BCRAxisGetRow(ax, at[d] - b[d], &low, &diag, &up);
    row[i] += w * diag;
    for (PetscInt s = 0; s < 2; ++s) {
      const PetscBool last = (PetscBool)(at[d] - b[d] == (s ? ax->n - 1 : 0));
      const BCRPlane *pl = &ax->plane[s];

      if (last && pl->present && pl->couple) {
        row[i] += w * (double)(pl->coupling * pl->slope);
        row[Beside(full, at, d, s)] -= w * (double)pl->coupling;
      } else if (ax->n > 1 && (!last || BCRAxisIsPeriodic(ax))) row[Beside(full, at, d, s)] -= w * (s ? up : low);
    }
  }
}

/* A~ of component c, whole on every rank */
static PetscErrorCode Together(const Test *t, DM da, const BCROperator *op, double *B)
{
  const PetscInt full[3] = {t->p.n[0], t->p.dim > 1 ? t->p.n[1] : 1, t->p.dim > 2 ? t->p.n[2] : 1}, N = Nodes(&t->p);
  const BCRDiffer D = op->differ;
  PetscInt lo[3], n[3], at[3];

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], &lo[2], &n[0], &n[1], &n[2]));
  PetscCall(PetscArrayzero(B, (size_t)N * (size_t)N));
  for (at[2] = lo[2]; at[2] < lo[2] + n[2]; ++at[2])
    for (at[1] = lo[1]; at[1] < lo[1] + n[1]; ++at[1])
      for (at[0] = lo[0]; at[0] < lo[0] + n[0]; ++at[0])
        OperatorRow(op, full, lo, n, at, B + N * (at[0] + full[0] * (at[1] + full[1] * at[2])));
  for (PetscInt r = 0; D && r < D->m; ++r)
    for (PetscInt k = D->start[r]; k < D->start[r + 1]; ++k) B[D->row[r] * N + D->col[k]] += (double)D->value[k];
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, B, (PetscMPIInt)(N * N), MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gauss with pivots, in place: x in f's place. PETSC_FALSE: singular */
static PetscBool Solve(PetscInt N, double *A, double *f)
{
  for (PetscInt k = 0; k < N; ++k) {
    PetscInt p = k;

    for (PetscInt i = k + 1; i < N; ++i)
      if (fabs(A[i * N + k]) > fabs(A[p * N + k])) p = i;
    if (A[p * N + k] == 0) return PETSC_FALSE;
    for (PetscInt j = 0; j < N; ++j) {
      const double v = A[k * N + j];

      A[k * N + j] = A[p * N + j];
      A[p * N + j] = v;
    }
    {
      const double v = f[k];

      f[k] = f[p];
      f[p] = v;
    }
    for (PetscInt i = k + 1; i < N; ++i) {
      const double l = A[i * N + k] / A[k * N + k];

      if (l == 0) continue;
      for (PetscInt j = k; j < N; ++j) A[i * N + j] -= l * A[k * N + j];
      f[i] -= l * f[k];
    }
  }
  for (PetscInt i = N - 1; i >= 0; --i) {
    for (PetscInt j = i + 1; j < N; ++j) f[i] -= A[i * N + j] * f[j];
    f[i] /= A[i * N + i];
  }
  return PETSC_TRUE;
}

/* Pieces of the mask by links of the matrix without mask: number of each node's from 1, 0 in the fluid */
static PetscInt Pieces(PetscInt N, const double *base, const char *letter, PetscInt *piece, PetscInt *stack)
{
  PetscInt pieces = 0;

  for (PetscInt i = 0; i < N; ++i) piece[i] = 0;
  for (PetscInt i = 0; i < N; ++i) {
    PetscInt n = 0;

    if (!letter[i] || piece[i]) continue;
    piece[i] = ++pieces;
    stack[n++] = i;
    while (n) {
      const PetscInt k = stack[--n];

      for (PetscInt j = 0; j < N; ++j) {
        if (!letter[j] || piece[j] || (base[k * N + j] == 0 && base[j * N + k] == 0)) continue;
        piece[j] = pieces;
        stack[n++] = j;
      }
    }
  }
  return pieces;
}

/* Rows of the matrix that are no multiples of those without changes, columns that were zeroed put back; and rows of the
   mask that the fluid touches. What the reader must find, of an operator that is base */
static PetscInt Expected(PetscInt N, const double *base, const double *A, const char *letter, const PetscInt *piece)
{
  PetscInt m = 0;
  PetscBool *held;

  if (PetscCalloc1(N + 1, &held)) return -1;
  for (PetscInt i = 0; i < N; ++i) {
    double mine = 0, its = 0;
    PetscBool differs = PETSC_FALSE;
    PetscInt links = 0; /* a row of a plane has one, which is not put back */

    if (letter[i]) continue;
    for (PetscInt j = 0; j < N; ++j) links += j != i && base[i * N + j] != 0;
    for (PetscInt j = 0; j < N; ++j) {
      if (j == i || A[i * N + j] == 0) continue;
      mine += A[i * N + j];
      its += base[i * N + j];
    }
    if (its == 0) mine = A[i * N + i], its = base[i * N + i];
    for (PetscInt j = 0; j < N; ++j) {
      const double v = letter[j] == 'z' && links > 1 ? base[i * N + j] * mine / its : A[i * N + j];

      if (fabs(v - base[i * N + j] * mine / its) > 1e-6 * fabs(base[i * N + i] * mine / its)) differs = PETSC_TRUE;
      if (letter[j] && letter[j] != 'n' && base[i * N + j] != 0 && (links > 1 || A[i * N + j] != 0))
        held[piece[j]] = PETSC_TRUE;
    }
    m += differs;
  }
  for (PetscInt i = 0; i < N; ++i) {
    PetscBool touches = PETSC_FALSE;

    if (!letter[i] || !held[piece[i]]) continue;
    for (PetscInt j = 0; j < N; ++j) touches = (PetscBool)(touches || (!letter[j] && base[i * N + j] != 0));
    m += touches;
  }
  (void)PetscFree(held);
  return m;
}

/* Lists of the mask and of links to it, all ranks' together, against the matrix: the largest difference */
static PetscErrorCode CompareLists(PetscInt N, const double *A, const char *letter, const BCRDiffer D, double *worst)
{
  double *got;

  PetscFunctionBegin;
  PetscCall(PetscCalloc1(N * N, &got));
  for (PetscInt k = 0; k < D->runs; ++k)
    for (PetscInt i = D->run[k]; i < D->run[k] + D->length[k]; ++i) got[i * N + i] += (double)D->inverse[k];
  for (PetscInt k = 0; k < D->links; ++k) got[D->linkrow[k] * N + D->linkcol[k]] += (double)D->linkvalue[k];
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, got, (PetscMPIInt)(N * N), MPI_DOUBLE, MPI_SUM, PETSC_COMM_WORLD));
  for (PetscInt i = 0; i < N; ++i) {
    for (PetscInt j = 0; j < N; ++j) {
      const double want = letter[i] && i == j ? 1 / A[i * N + i] : (!letter[i] && letter[j] ? A[i * N + j] : 0);

      TestLargest(worst, fabs(got[i * N + j] - want) / (want != 0 ? fabs(want) : 1));
    }
  }
  PetscCall(PetscFree(got));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A solution of A~, made one of the matrix: the backward error there */
static double Residual(PetscInt N, const double *A, double *B, const char *letter, double *f, double *v, double *u)
{
  double r = 0, row = 0, most = 0, top = 0;

  for (PetscInt i = 0; i < N; ++i) {
    f[i] = 2 * TestUniform() - 1;
    if (letter[i]) f[i] *= A[i * N + i];
    else f[i] *= fabs(A[i * N + i]);
  }
  for (PetscInt i = 0; i < N; ++i) {
    v[i] = letter[i] ? 0 : f[i];
    for (PetscInt j = 0; j < N && !letter[i]; ++j)
      if (letter[j]) v[i] -= A[i * N + j] * f[j] / A[j * N + j];
  }
  if (!Solve(N, B, v)) return HUGE_VAL;
  for (PetscInt i = 0; i < N; ++i) {
    u[i] = letter[i] ? f[i] / A[i * N + i] : v[i];
    most = PetscMax(most, fabs(u[i]));
  }
  for (PetscInt i = 0; i < N; ++i) {
    row = 0;
    top = fabs(f[i]);
    for (PetscInt j = 0; j < N; ++j) {
      row += A[i * N + j] * u[j];
      top += fabs(A[i * N + j]) * most;
    }
    TestLargest(&r, fabs(row - f[i]) / top);
  }
  return r;
}

/* One component against its matrix */
static PetscErrorCode CheckOne(const Test *t, DM da, const BCROperator *op, const double *base, const double *A,
                               const char *letter, PetscInt piece[], const char *what)
{
  const PetscInt N = Nodes(&t->p);
  const double eps = sizeof(PetscReal) < sizeof(double) ? 2e-5 : 1e-12;
  const PetscBool single = (PetscBool)(sizeof(PetscReal) < sizeof(double));
  double *B, *f, *v, *u, fluid = 0, mask = 0, lists = 0, least = HUGE_VAL;
  PetscInt *stack, pieces, m;
  PetscBool *held, singular = PETSC_TRUE;

  PetscFunctionBegin;
  PetscCall(PetscMalloc4(N * N, &B, N, &f, N, &v, N, &u));
  PetscCall(PetscMalloc1(N, &stack));
  PetscCall(PetscCalloc1(N + 1, &held));
  PetscCall(Together(t, da, op, B));
  pieces = Pieces(N, base, letter, piece, stack);
  m = Expected(N, base, A, letter, piece);
  for (PetscInt i = 0; i < N; ++i) {
    double sum = 0, size_ = fabs(A[i * N + i]);

    for (PetscInt j = 0; j < N && !letter[i]; ++j) {
      if (letter[j] && fabs(B[i * N + j]) > 1e-12 * size_) held[piece[j]] = PETSC_TRUE;
      sum += letter[j] ? 0 : A[i * N + j];
      if (letter[j] && A[i * N + j] == 0) continue; /* put back: the solution is zero there */
      TestLargest(&fluid, fabs(B[i * N + j] - A[i * N + j]) / size_);
    }
    if (!letter[i] && fabs(sum) > 1e-6 * size_) singular = PETSC_FALSE;
  }
  for (PetscInt i = 0; i < N; ++i) {
    double size_ = 0;

    for (PetscInt j = 0; j < N && letter[i]; ++j) {
      size_ += fabs(B[i * N + j]);
      if (held[piece[i]] && piece[j] != piece[i]) TestLargest(&mask, fabs(B[i * N + j]));
    }
    if (letter[i]) least = PetscMin(least, size_);
  }
  Check(!strcmp(op->fit, "rows differ") && op->differ, "%s: fit '%s'", what, op->fit);
  if (op->differ) {
    PetscCall(CompareLists(N, A, letter, op->differ, &lists));
    Check(lists <= eps, "%s: lists of the mask and its links %g", what, lists);
    Check(op->differ->all == m, "%s: %d rows differ, not %d (%s)", what, (int)op->differ->all, (int)m,
          op->differ->what);
    Check(op->differ->pieces == pieces && pieces == t->pieces, "%s: %d pieces, not %d (%d)", what,
          (int)op->differ->pieces, (int)pieces, (int)t->pieces);
  }
  Check(fluid <= eps, "%s: rows of the fluid differ by %g", what, fluid);
  Check(mask <= eps * PetscMin(least, 1e300), "%s: the mask refers to the fluid, %g", what, mask);
  if (!singular && !single) {
    const double r = Residual(N, A, B, letter, f, v, u);

    Check(r <= 1e-13, "%s: backward error %g", what, r);
  }
  PetscCall(PetscFree(held));
  PetscCall(PetscFree(stack));
  PetscCall(PetscFree4(B, f, v, u));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Read(DM da, Mat A, PetscBool differ, PetscInt *dof, BCROperator **ops)
{
  BCRGrid grid;
  BCRPattern pattern;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  *ops = NULL;
  *dof = 0;
  PetscCall(PetscMemzero(&pattern, sizeof(pattern)));
  pattern.differ = differ;
  PetscCall(BCRGridCreate(da, PETSC_COMM_WORLD, &grid));
  ierr = BCROperatorReadUpdate(&grid, A, BCR_FIT_AUTO, &pattern, dof, ops, NULL);
  PetscCall(BCRGridDestroy(&grid));
  PetscCall(ierr);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Over all cuts */
static PetscErrorCode Run(const Test *t)
{
  const PetscInt N = Nodes(&t->p), dof = t->p.dof;
  TestProblem plain = t->p, real = t->p;
  PetscInt parts[3] = {0, 0, 0}, *piece, got;
  double *base[2] = {NULL, NULL}, *dense[2] = {NULL, NULL};
  char *letter[2], what[128];
  DM da1, da2;
  Mat whole, changed;

  PetscFunctionBegin;
  if (t->k) real.k = t->k;
  PetscCall(TestMatrix(&plain, &da1, &whole));
  PetscCall(TestMatrix(&real, &da2, &changed));
  PetscCall(PetscMalloc1(N, &piece));
  for (PetscInt c = 0; c < dof; ++c) {
    PetscCall(PetscMalloc3(N * N, &base[c], N * N, &dense[c], N, &letter[c]));
    PetscCall(Dense(&t->p, whole, c, base[c]));
    PetscCall(Dense(&t->p, changed, c, dense[c]));
    Change(t, c, dense[c], letter[c]);
  }
  while (TestNextCut(&t->p, (PetscInt)size, parts)) {
    BCROperator *ops;
    Mat A;
    DM da;

    PetscCall(TestCutDMDA(PETSC_COMM_WORLD, &t->p, parts, NULL, &da));
    PetscCall(Deal(t, da, dense, &A));
    PetscCall(Read(da, A, PETSC_TRUE, &got, &ops));
    PetscCall(PetscSNPrintf(what, sizeof(what), "%s, %s, %d x %d x %d ranks", t->name, t->p.ends, (int)parts[0],
                            (int)parts[1], (int)parts[2]));
    PetscCall(CheckOne(t, da, &ops[0], base[0], dense[0], letter[0], piece, what));
    if (dof > 1)
      Check(!strcmp(ops[1].fit, "exact") && !ops[1].differ, "%s: the other component is '%s'", what, ops[1].fit);
    PetscCall(BCROperatorDestroy(got, &ops));
    PetscCall(MatDestroy(&A));
    PetscCall(DMDestroy(&da));
  }
  for (PetscInt c = 0; c < dof; ++c) PetscCall(PetscFree3(base[c], dense[c], letter[c]));
  PetscCall(PetscFree(piece));
  PetscCall(TestDestroy(&whole, &changed, &da1, &da2));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What is no such matrix: more rows differ than are taken, an exact operator, no two rows alike.
   differ: rows that differ are asked for */
static PetscErrorCode Refuse(const TestProblem *p, Shape shape, PetscBool differ, const char *fit)
{
  const Test t = {.name = "refused", .p = *p, .shape = shape, .d = 1};
  const PetscInt N = Nodes(p);
  PetscInt parts[3] = {0, 0, 0}, got;
  double *dense;
  char *letter;
  DM da1, da;
  Mat whole, A;
  BCROperator *ops;

  PetscFunctionBegin;
  PetscCall(TestMatrix(p, &da1, &whole));
  PetscCall(PetscMalloc2(N * N, &dense, N, &letter));
  PetscCall(Dense(p, whole, 0, dense));
  Change(&t, 0, dense, letter);
  (void)TestNextCut(p, (PetscInt)size, parts);
  PetscCall(TestCutDMDA(PETSC_COMM_WORLD, p, parts, NULL, &da));
  PetscCall(Deal(&t, da, &dense, &A));
  PetscCall(Read(da, A, differ, &got, &ops));
  Check(!strcmp(ops[0].fit, fit) && !ops[0].differ, "a matrix whose fit is '%s' is '%s'", fit, ops[0].fit);
  PetscCall(BCROperatorDestroy(got, &ops));
  PetscCall(PetscFree2(dense, letter));
  PetscCall(TestDestroy(&A, &whole, &da, &da1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An entry that no operator has, in a row of a matrix with an obstacle: the errors are those of other matrices */
static PetscErrorCode Bad(const TestProblem *p, PetscInt row, PetscInt col, PetscScalar value, PetscErrorCode code,
                          const char *words)
{
  const Test t = {.name = "bad", .p = *p, .shape = Several, .d = 1};
  const PetscInt N = Nodes(p);
  PetscInt parts[3] = {0, 0, 0}, got, first, last;
  double *dense;
  char *letter;
  DM da1, da;
  Mat whole, A;
  BCROperator *ops;

  PetscFunctionBegin;
  PetscCall(TestMatrix(p, &da1, &whole));
  PetscCall(PetscMalloc2(N * N, &dense, N, &letter));
  PetscCall(Dense(p, whole, 0, dense));
  Change(&t, 0, dense, letter);
  (void)TestNextCut(p, (PetscInt)size, parts);
  PetscCall(TestCutDMDA(PETSC_COMM_WORLD, p, parts, NULL, &da));
  PetscCall(Deal(&t, da, &dense, &A));
  PetscCall(MatGetOwnershipRange(A, &first, &last));
  if (row >= first && row < last) PetscCall(MatSetValue(A, row, col, value, INSERT_VALUES));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  CheckError(Read(da, A, PETSC_TRUE, &got, &ops), code, words);
  PetscCall(PetscFree2(dense, letter));
  PetscCall(TestDestroy(&A, &whole, &da, &da1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Refusals(void)
{
  TestProblem p = {
    .dim = 2, .n = {20, 18},
         .dof = 1, .ends = "dddd", .a = {1,  1 },
         .scale = 1
  };
  TestProblem vary = p;
  const PetscInt row = 20 * 9 + 3;

  PetscFunctionBegin;
  PetscCall(Refuse(&p, NULL, PETSC_TRUE, "exact"));
  PetscCall(Refuse(&p, Large, PETSC_TRUE, "scaled"));
  PetscCall(Refuse(&p, Neumann, PETSC_FALSE, "average"));
  vary.k = TestVaryAll;
  PetscCall(Refuse(&vary, NULL, PETSC_TRUE, "scaled"));
  PetscCall(Bad(&p, row, row, (PetscScalar)NAN, PETSC_ERR_FP, "NaN"));
  PetscCall(Bad(&p, row, row, 0, PETSC_ERR_ARG_WRONG, "zero"));
  PetscCall(Bad(&p, row, row < 20 * 9 ? 0 : 359, 1, PETSC_ERR_SUP, "star"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* An allocation of the reader's that fails on one rank: all ranks have an error, nothing is left */
static PetscErrorCode Faults(const Test *t)
{
  const PetscInt N = Nodes(&t->p);
  PetscInt parts[3] = {0, 0, 0};
  double *dense;
  char *letter;
  DM da1, da;
  Mat whole, A;

  PetscFunctionBegin;
  PetscCall(TestMatrix(&t->p, &da1, &whole));
  PetscCall(PetscMalloc2(N * N, &dense, N, &letter));
  PetscCall(Dense(&t->p, whole, 0, dense));
  Change(t, 0, dense, letter);
  while (parts[1] != (PetscInt)size && TestNextCut(&t->p, (PetscInt)size, parts)) {}
  PetscCall(TestCutDMDA(PETSC_COMM_WORLD, &t->p, parts, NULL, &da));
  PetscCall(Deal(t, da, &dense, &A));
  for (PetscMPIInt who = 0; who < size; who += PetscMax(size - 1, 1)) {
    PetscInt flags[2] = {1, 0}, all[2] = {1, 0};

    for (long k = 1; all[0]; ++k) {
      BCROperator *ops;
      PetscInt dof;
      PetscErrorCode ierr;
      long left;

      TestFaultsMark();
      PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
      if (rank == who) TestFaultsArm(k, PETSC_FALSE, PETSC_TRUE);
      ierr = Read(da, A, PETSC_TRUE, &dof, &ops);
      flags[0] = rank == who && TestFaultsDisarm() ? 1 : 0;
      PetscCall(PetscPopErrorHandler());
      flags[1] = ierr ? 1 : 0;
      PetscCallMPI(MPI_Allreduce(flags, all, 2, MPIU_INT, MPI_SUM, PETSC_COMM_WORLD));
      Check(all[1] == (all[0] ? size : 0), "allocation %ld of rank %d (%s:%d): %d of %d ranks have an error", k,
            (int)who, TestFaults.file ? TestFaultsName(TestFaults.file) : "", TestFaults.line, (int)all[1], (int)size);
      PetscCall(BCROperatorDestroy(dof, &ops));
      left = TestFaultsBlocks("differ");
      Check(left == 0, "allocation %ld of rank %d (%s:%d): %ld blocks are left", k, (int)who,
            TestFaults.file ? TestFaultsName(TestFaults.file) : "", TestFaults.line, left);
    }
  }
  PetscCall(PetscFree2(dense, letter));
  PetscCall(TestDestroy(&A, &whole, &da, &da1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Boxes without changes; PAIR: of two components, another sign and size */
#define BOX(d, m, e, k, ...) \
  (TestProblem) \
  { \
    .dim = (d), .dof = (m), .ends = (e), .a = {1.3 * (k), 0.7 * (k), (k)}, .row = 1, __VA_ARGS__ \
  }
#define FLAT(e)      BOX(2, 1, e, 1, .scale = 1, .n = {20, 18})
#define SOLID(e)     BOX(3, 1, e, 1, .scale = 1, .n = {10, 9, 11})
#define GRADED(e, d) BOX(2, 1, e, 1, .scale = 1, .n = {20, 18}, .k = TestVary##d)
#define PAIR(e)      BOX(2, 2, e, 1e-14, .scale = -1, .contrast = 2, .n = {20, 18})

int main(int argc, char **argv)
{
  /* clang-format off */
  const Test tests[] = {
    {.name = "disc, columns kept", .p = FLAT("dddd"), .shape = Kept, .d = 7, .pieces = 1},
    {.name = "disc, columns zeroed", .p = FLAT("dcDn"), .shape = Zeroed, .d = -1, .pieces = 1},
    {.name = "disc without flux", .p = FLAT("cnDD"), .shape = Neumann, .d = 1e14, .pieces = 1},
    {.name = "disc without flux, closed", .p = FLAT("cccc"), .shape = Neumann, .d = 1, .pieces = 1},
    {.name = "disc, periodic", .p = FLAT("ppdd"), .shape = Kept, .d = 1, .pieces = 1},
    {.name = "several pieces", .p = FLAT("dddd"), .shape = Several, .d = 3, .pieces = 4},
    {.name = "several pieces, closed", .p = FLAT("cccc"), .shape = Several, .d = 3, .pieces = 4},
    {.name = "several pieces, periodic", .p = FLAT("pppp"), .shape = Several, .d = 3, .pieces = 4},
    {.name = "several pieces, rows kept", .p = FLAT("rrrr"), .shape = Several, .d = 3, .pieces = 4},
    {.name = "several pieces, Neumann rows kept", .p = FLAT("srss"), .shape = Several, .d = 3, .pieces = 4},
    {.name = "step at kept Neumann rows", .p = FLAT("srcc"), .shape = Step, .d = 3, .pieces = 1},
    {.name = "step between planes", .p = FLAT("sssr"), .shape = Step, .d = 3, .pieces = 1},
    {.name = "coast", .p = FLAT("ppcd"), .shape = Coast, .d = 3, .pieces = 1},
    {.name = "pinned row", .p = FLAT("nnnn"), .shape = Pin, .d = 1, .pieces = 1},
    {.name = "pinned row, periodic", .p = FLAT("pppp"), .shape = Pin, .d = 1, .pieces = 1},
    {.name = "two materials", .p = FLAT("dddd"), .k = Materials},
    {.name = "two materials, closed", .p = FLAT("cccc"), .k = Materials, .wells = 3},
    {.name = "wells", .p = FLAT("cccc"), .wells = 5},
    {.name = "volumes", .p = FLAT("cDcc"), .shape = Several, .d = 2, .pieces = 4, .volumes = PETSC_TRUE},
    {.name = "a wall half held", .p = FLAT("cccc"), .half = PETSC_TRUE},
    {.name = "sphere, columns kept", .p = SOLID("dddddd"), .shape = Kept, .d = 7, .pieces = 1},
    {.name = "sphere without flux", .p = SOLID("ccccDc"), .shape = Neumann, .d = 7, .pieces = 1},
    {.name = "sphere, periodic", .p = SOLID("ddpprr"), .shape = Zeroed, .d = 7, .pieces = 1},
    {.name = "several pieces", .p = SOLID("ccppsr"), .shape = Several, .d = 7, .pieces = 4},
    {.name = "two components", .p = PAIR("dcpp"), .shape = Several, .d = 1, .pieces = 4},
    {.name = "stretched, disc, columns kept", .p = GRADED("dddd", X), .shape = Kept, .d = 7, .pieces = 1},
    {.name = "stretched, disc without flux", .p = GRADED("cccc", Y), .shape = Neumann, .d = 7, .pieces = 1},
    {.name = "stretched, several pieces", .p = GRADED("Dcpp", X), .shape = Several, .d = 3, .pieces = 4},
    {.name = "stretched, rows kept", .p = GRADED("rrsc", Y), .shape = Several, .d = 3, .pieces = 4},
    {.name = "stretched, coast", .p = GRADED("ccdc", X), .shape = Coast, .d = 3, .pieces = 2},
    {.name = "stretched, coast along it", .p = GRADED("ccdc", Y), .shape = Coast, .d = 3, .pieces = 2},
    {.name = "stretched, rows of one size", .p = GRADED("dccc", X),
     .shape = Several, .d = 3, .pieces = 4, .even = PETSC_TRUE},
    {.name = "stretched, a pinned row", .p = GRADED("cccc", X), .shape = Pin, .d = 3, .pieces = 1, .even = PETSC_TRUE},
    {.name = "stretched, wells", .p = GRADED("cccc", X), .wells = 5},
    {.name = "stretched, wells", .p = GRADED("cccc", Y), .wells = 5},
    {.name = "stretched, sphere", .p = BOX(3, 1, "dcccdd", 1, .scale = 1, .n = {10, 9, 11}, .k = TestVaryY),
     .shape = Kept, .d = 7, .pieces = 1},
    {.name = "two layers", .p = BOX(3, 1, "ccddcc", 1, .scale = 1, .n = {14, 12, 2}),
     .shape = Pillar, .d = 7, .pieces = 1},
    {.name = "two layers, without flux", .p = BOX(3, 1, "ppddcd", 1, .scale = 1, .n = {14, 12, 2}),
     .shape = Step, .d = 7, .pieces = 1},
    {.name = "two lines", .p = BOX(2, 1, "ddcc", 1, .scale = 1, .n = {40, 2}), .wells = 3},
    {.name = "two lines of kept rows", .p = BOX(2, 1, "ddrr", 1, .scale = 1, .n = {40, 4}), .wells = 3},
  };
  /* clang-format on */
  const Test fault = {
    .name = "faults", .p = FLAT("rsdD"), .shape = Several, .d = 2, .pieces = 4, .volumes = PETSC_TRUE};
  const Test profile = {.name = "faults, stretched", .p = GRADED("rcdD", Y), .shape = Several, .d = 2, .pieces = 4};
  int bad;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(tests); ++k) PetscCall(Run(&tests[k]));
  PetscCall(Refusals());
  TestFaultsBegin();
  PetscCall(Faults(&fault));
  PetscCall(Faults(&profile));
  bad = TestEndAll(PETSC_COMM_WORLD);
  PetscCall(PetscFinalize());
  return bad;
}
