/*
  ranks: 1 2 3 4 5
  turns: 2

  PCBCRPOISSON with constant box stencils: bilinear and trilinear elements with all ends, HPCG's 27 points,
  Mehrstellen, averages over boxes, indefinite and singular ones, any sizes. Matrices are Kronecker products of one-
  dimensional ones, elements assembled one by one; solutions, those of new values and transposed ones included,
  against PETSc's LU and the matrix. Stencils that are none such.
  -backend cuda: on a device of each rank; -quick: every eighth pair of ends.
*/
#include "tests/petsc/testing.h"

#define MOST 130

static PetscMPIInt rank, size;
static PetscBool single; /* the work inside is in single precision */
static PetscBool level0; /* the host's plan for one rank, where it can be, is level 0 */

/* Along an axis: 1-D matrices, stiffness, mass and the identity. Ends: d node that is left out, n natural end of an
   element, p ring; k node that is kept with nothing but its diagonal, K the same whose columns are kept, too; c and
   C: cells, no flux and zero on the face, with K = T and M = 1 - T/6; h: a ring with M = 1 - T/4, which makes nothing
   of two alternating signs; b node that is left out, with M = 3 - T */
typedef struct {
  PetscInt n;
  double K[MOST][MOST], M[MOST][MOST];
} Axis;

/* What is to be assembled: coefs of K M M, M K M, M M K and M M M */
typedef struct {
  PetscInt dim, n[3];
  const char *ends; /* 2 dim letters */
  double k[3], m;
  const char *what;
  const char *view; /* words of PCView(), NULL: any */
  double one;       /* of the identity */
} Problem;

static void element(Axis *x, PetscInt i, PetscInt j, double h)
{
  const PetscInt node[2] = {i, j};

  for (int a = 0; a < 2; a++)
    for (int b = 0; b < 2; b++) {
      if (node[a] < 0 || node[b] < 0 || node[a] >= x->n || node[b] >= x->n) continue;
      x->K[node[a]][node[b]] += (a == b ? 1 : -1) / h;
      x->M[node[a]][node[b]] += (a == b ? 2 : 1) * h / 6;
    }
}

static void axis_make(const char ends[2], PetscInt n, Axis *x)
{
  const double h = 1;

  (void)memset(x, 0, sizeof(*x));
  x->n = n;
  if (strchr("ph", ends[0]) && n > 1) {
    for (PetscInt i = 0; i < n; i++) element(x, i, (i + 1) % n, h);
    for (PetscInt i = 0; i < n && ends[0] == 'h'; i++)
      for (PetscInt j = 0; j < n; j++) x->M[i][j] = (i == j) - x->K[i][j] / 4;
    return;
  }
  if (strchr("cC", ends[0])) {
    for (PetscInt i = 0; i < n; i++) {
      x->K[i][i] = 2;
      if (i) x->K[i][i - 1] = -1;
      if (i < n - 1) x->K[i][i + 1] = -1;
    }
    x->K[0][0] += ends[0] == 'c' ? -1 : 1;
    x->K[n - 1][n - 1] += ends[1] == 'c' ? -1 : 1;
    for (PetscInt i = 0; i < n; i++)
      for (PetscInt j = 0; j < n; j++) x->M[i][j] = (i == j) - x->K[i][j] / 6;
    return;
  }
  for (PetscInt i = 0; i < n && ends[0] == 'b'; i++)
    for (PetscInt j = 0; j < n; j++) x->M[i][j] = PetscAbs(i - j) < 2 ? 1 : 0;
  for (PetscInt i = 0; i < n - 1 && ends[0] != 'b'; i++) element(x, i, i + 1, h);
  if (ends[0] == 'd') element(x, -1, 0, h);
  if (ends[1] == 'd') element(x, n - 1, n, h);
  if (n == 1 && ends[0] == 'n' && ends[1] == 'n') x->M[0][0] = 1;
}

/* The value of an entry; 'k' and 'K' ends keep rows with a diagonal of 3 alone, and nothing refers to those of 'k' */
static double entry(const Problem *p, const Axis x[3], const PetscInt i[3], const PetscInt j[3])
{
  double v = p->m;

  for (int d = 0; d < p->dim; d++) {
    for (int s = 0; s < 2; s++) {
      const PetscInt end = s ? x[d].n - 1 : 0;

      if (strchr("kK", p->ends[2 * d + s]) && (i[d] == end || (j[d] == end && p->ends[2 * d + s] == 'k')))
        return i[0] == j[0] && i[1] == j[1] && i[2] == j[2] ? 3 : 0;
    }
    v *= x[d].M[i[d]][j[d]];
  }
  for (int e = 0; e < p->dim; e++) {
    double w = p->k[e];

    for (int d = 0; d < p->dim; d++) w *= d == e ? x[d].K[i[d]][j[d]] : x[d].M[i[d]][j[d]];
    v += w;
  }
  return v + (i[0] == j[0] && i[1] == j[1] && i[2] == j[2] ? p->one : 0);
}

static PetscErrorCode create(const Problem *p, DM *da, Mat *A)
{
  DMBoundaryType b[3];
  PetscInt n[3] = {1, 1, 1}, parts[3] = {1, 1, 1}, cut = 0;

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) {
    b[d] = d < p->dim && strchr("ph", p->ends[2 * d]) ? DM_BOUNDARY_PERIODIC : DM_BOUNDARY_NONE;
    if (d < p->dim) n[d] = p->n[d];
    if (n[d] > n[cut]) cut = d;
  }
  parts[cut] = (PetscInt)size;
  if (size == 2 && p->m != 0) { /* another axis */
    for (int d = 0; d < p->dim; d++) parts[d] = d == (cut + 1) % p->dim && n[d] > 1 ? 2 : 1;
    if (parts[(cut + 1) % p->dim] == 1) parts[cut] = 2;
  }
  if (size == 4 && n[(cut + 1) % p->dim] > 1) parts[cut] = parts[(cut + 1) % p->dim] = 2;
  if (p->dim == 2)
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, b[0], b[1], DMDA_STENCIL_BOX, n[0], n[1], parts[0], parts[1], 1, 1, NULL,
                           NULL, da));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, b[0], b[1], b[2], DMDA_STENCIL_BOX, n[0], n[1], n[2], parts[0], parts[1],
                           parts[2], 1, 1, NULL, NULL, NULL, da));
  PetscCall(DMSetUp(*da));
  PetscCall(DMCreateMatrix(*da, A));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fill(const Problem *p, DM da, Mat A)
{
  static Axis x[3]; /* of some size */
  PetscInt lo[3], n[3], i[3], o[3];

  PetscFunctionBegin;
  for (int d = 0; d < 3; d++) axis_make(d < p->dim ? p->ends + 2 * d : "nn", d < p->dim ? p->n[d] : 1, &x[d]);
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], &lo[2], &n[0], &n[1], &n[2]));
  for (i[2] = lo[2]; i[2] < lo[2] + n[2]; i[2]++)
    for (i[1] = lo[1]; i[1] < lo[1] + n[1]; i[1]++)
      for (i[0] = lo[0]; i[0] < lo[0] + n[0]; i[0]++)
        for (int k = 0; k < 27; k++) {
          MatStencil row = {.i = i[0], .j = i[1], .k = i[2]}, col;
          PetscInt j[3];
          PetscBool there = PETSC_TRUE;
          PetscScalar v;

          o[0] = k % 3 - 1;
          o[1] = k / 3 % 3 - 1;
          o[2] = k / 9 - 1;
          for (int d = 0; d < 3; d++) {
            const PetscBool ring = (PetscBool)(d < p->dim && strchr("ph", p->ends[2 * d]) && x[d].n > 1);

            if (!ring && (i[d] + o[d] < 0 || i[d] + o[d] >= x[d].n)) there = PETSC_FALSE;
            if (ring && x[d].n == 2 && o[d] < 0) there = PETSC_FALSE; /* the same node both ways */
            j[d] = (i[d] + o[d] + x[d].n) % x[d].n;
          }
          if (!there) continue;
          col.i = i[0] + o[0];
          col.j = i[1] + o[1];
          col.k = i[2] + o[2];
          col.c = row.c = 0;
          v = entry(p, x, i, j);
          PetscCall(MatSetValuesStencil(A, 1, &row, 1, &col, &v, INSERT_VALUES));
        }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Takes the mean with alternating signs out, on a grid of two dimensions */
static PetscErrorCode alternating(const Problem *p, DM da, Vec b)
{
  PetscScalar sum[2] = {0, 0}, **v;
  PetscInt lo[2], n[2];

  PetscFunctionBegin;
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], NULL, &n[0], &n[1], NULL));
  PetscCall(DMDAVecGetArray(da, b, &v));
  for (int add = 0; add < 2; add++) {
    for (PetscInt j = lo[1]; j < lo[1] + n[1]; j++)
      for (PetscInt i = lo[0]; i < lo[0] + n[0]; i++) {
        const PetscReal sign = (i + j) % 2 ? -1 : 1;

        if (add) v[j][i] -= sign * sum[1] / (PetscReal)(p->n[0] * p->n[1]);
        else sum[0] += sign * v[j][i];
      }
    if (!add) PetscCallMPI(MPI_Allreduce(&sum[0], &sum[1], 1, MPIU_SCALAR, MPIU_SUM, PETSC_COMM_WORLD));
  }
  PetscCall(DMDAVecRestoreArray(da, b, &v));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The matrix' null space: the constant, and that with alternating signs */
static PetscErrorCode attach(const Problem *p, DM da, Mat A)
{
  MatNullSpace space;
  Vec v, w;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &v, NULL));
  PetscCall(VecDuplicate(v, &w));
  PetscCall(TestUniformVec(v));
  PetscCall(VecCopy(v, w));
  PetscCall(alternating(p, da, w));
  PetscCall(VecAXPY(v, -1, w));
  PetscCall(VecNormalize(v, NULL));
  PetscCall(MatNullSpaceCreate(PETSC_COMM_WORLD, PETSC_TRUE, 1, &v, &space));
  PetscCall(MatSetNullSpace(A, space));
  PetscCall(MatNullSpaceDestroy(&space));
  PetscCall(VecDestroy(&v));
  PetscCall(VecDestroy(&w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Negative eigenvalues of a symmetric matrix, by the signs of its pivots, and what PCView() says of them. One rank */
static PetscErrorCode inertia(const Problem *p, Mat A, PC pc)
{
  PetscInt N, negative = 0;
  double *a;
  char *text, words[64];

  PetscFunctionBegin;
  PetscCall(MatGetSize(A, &N, NULL));
  PetscCall(PetscCalloc1(N * N, &a));
  for (PetscInt i = 0; i < N; i++) {
    const PetscInt *cols;
    const PetscScalar *v;
    PetscInt n;

    PetscCall(MatGetRow(A, i, &n, &cols, &v));
    for (PetscInt k = 0; k < n; k++) a[i * N + cols[k]] = (double)PetscRealPart(v[k]);
    PetscCall(MatRestoreRow(A, i, &n, &cols, &v));
  }
  for (PetscInt k = 0; k < N; k++) {
    negative += a[k * N + k] < 0 ? 1 : 0;
    for (PetscInt i = k + 1; i < N; i++) {
      const double l = a[i * N + k] / a[k * N + k];

      for (PetscInt j = k; j < N && l != 0; j++) a[i * N + j] -= l * a[k * N + j];
    }
  }
  (void)snprintf(words, sizeof(words), "negative in %d modes, 0 modes left out", (int)negative);
  PetscCall(TestViewText((PetscObject)pc, &text));
  Check(strstr(text, words), "%s: no '%s' in PCView():\n%s", p->what, words, text);
  free(text);
  PetscCall(PetscFree(a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* |sum| of the numbers of x, with more digits than VecSum() has: its partial sums are much larger than the sum */
static PetscErrorCode sum_of(Vec x, PetscReal *sum)
{
  const PetscScalar *a;
  long double part[2] = {0, 0};
  double mine[2];
  PetscInt n;

  PetscFunctionBegin;
  PetscCall(VecGetLocalSize(x, &n));
  PetscCall(VecGetArrayRead(x, &a));
  for (PetscInt i = 0; i < n; i++) {
    part[0] += (long double)PetscRealPart(a[i]);
    part[1] += (long double)PetscImaginaryPart(a[i]);
  }
  PetscCall(VecRestoreArrayRead(x, &a));
  for (int k = 0; k < 2; k++) mine[k] = (double)part[k];
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, mine, 2, MPI_DOUBLE, MPI_SUM, PetscObjectComm((PetscObject)x)));
  *sum = (PetscReal)hypot(mine[0], mine[1]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One solve, against the equations, and LU where the operator has an inverse. singular: b is made one of its range */
static PetscErrorCode compare(const Problem *p, DM da, Mat A, PC pc, PetscBool transpose, PetscBool singular,
                              const char *how)
{
  PetscReal backward = 0, difference = 0;
  Vec b, x;

  PetscFunctionBegin;
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(TestUniformVec(b));
  if (singular) { /* all matrices here are symmetric */
    PetscScalar sum;
    PetscInt N;

    PetscCall(VecGetSize(b, &N));
    PetscCall(VecSum(b, &sum));
    PetscCall(VecShift(b, -sum / (PetscReal)N));
    if (p->ends[0] == 'h') PetscCall(alternating(p, da, b));
  }
  PetscCall(VecSet(x, 7));
  if (transpose) PetscCall(PCApplyTranspose(pc, b, x));
  else PetscCall(PCApply(pc, b, x));
  PetscCall(TestBackwardError(A, transpose, b, x, &backward));
  Check(backward <= (single ? (PetscReal)5e-7 : TestBackwardBound()), "rank %d: %s, %s: backward error %g", (int)rank,
        p->what, how, (double)backward);
  if (!singular) {
    PetscCall(TestAgainstReference(A, transpose, b, x, &difference));
    Check(difference <= (single ? (PetscReal)2e-3 : TestDifferenceBound()), "rank %d: %s, %s: differs from LU by %g",
          (int)rank, p->what, how, (double)difference);
  } else {
    PetscReal most, sum = 0;
    PetscInt N;

    PetscCall(VecGetSize(x, &N));
    PetscCall(sum_of(x, &sum));
    PetscCall(TestMaxNorm(x, &most));
    Check(sum <= PetscMax(1e3, 4 * (PetscReal)N) * (single ? (PetscReal)6e-8 : PETSC_MACHINE_EPSILON) * (1 + most),
          "rank %d: %s, %s: sum of the solution %g, largest %g", (int)rank, p->what, how, (double)sum, (double)most);
  }
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode look(const Problem *p, PC pc)
{
  char *text;

  PetscFunctionBegin;
  PetscCall(TestViewText((PetscObject)pc, &text));
  if (!rank) {
    Check(strstr(text, "fit exact") && strstr(text, "box stencil"), "%s: PCView():\n%s", p->what, text);
    if (p->view) Check(strstr(text, p->view), "%s: no '%s' in PCView():\n%s", p->what, p->view, text);
    if (level0 && p->m >= 0 && !strpbrk(p->ends, "kKh") && p->n[0] >= 16 && p->n[1] > 1 && p->n[p->dim - 1] >= 12)
      Check(strstr(text, "radix 8 in physical space"), "%s: not by level 0:\n%s", p->what, text);
    if (level0 && strstr(p->what, "long waves") && !strstr(text, "precision: single"))
      Check(strstr(text, "with pivoting where it is not definite"), "%s: not by level 0:\n%s", p->what, text);
  }
  free(text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode solve(const Problem *p)
{
  const PetscBool singular = p->m == 0 ? PETSC_TRUE : PETSC_FALSE;
  Problem q = *p;
  DM da;
  Mat A;
  PC pc;

  PetscFunctionBegin;
  PetscCall(create(p, &da, &A));
  PetscCall(fill(p, da, A));
  PetscCall(TestPC(PCBCRPOISSON, da, A, &pc));
  PetscCall(PCSetFromOptions(pc));
  if (p->ends[0] == 'h') { /* singular by a mode that is no constant: who asks for it says so */
    CheckError(PCSetUp(pc), PETSC_ERR_SUP, "singular: 1 of its modes");
    PetscCall(attach(p, da, A));
  }
  PetscCall(PCSetUp(pc));
  PetscCall(look(p, pc));
  if (size == 1 && p->m < 0) PetscCall(inertia(p, A, pc));
  PetscCall(compare(p, da, A, pc, PETSC_FALSE, (PetscBool)(singular && !strpbrk(p->ends, "dCkK")), "apply"));
  PetscCall(compare(p, da, A, pc, PETSC_TRUE, (PetscBool)(singular && !strpbrk(p->ends, "dCkK")), "transpose"));
  for (int again = 0; again < 2 && p->ends[0] != 'h'; again++) { /* another shift, another polynomial */
    q.m = p->m + 0.5;
    if (again) q.k[0] *= 1.5;
    PetscCall(fill(&q, da, A));
    PetscCall(PCSetUp(pc));
    PetscCall(compare(&q, da, A, pc, PETSC_FALSE, PETSC_FALSE, again ? "another polynomial" : "another shift"));
  }
  PetscCall(PCDestroy(&pc));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* -Laplace u = f with f = 5 pi^2 sin(pi x) sin(2 pi y) by Mehrstellen, whose right-hand side is averaged, too: the
   error at h */
static PetscErrorCode mehrstellen(PetscInt n, PetscReal *error)
{
  const PetscReal h = 1 / (PetscReal)(n + 1), pi = PETSC_PI;
  PetscInt lo[2], m[2];
  PetscScalar **b, **x;
  Vec f, u;
  DM da;
  Mat A;
  PC pc;

  PetscFunctionBegin;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, n, n, PETSC_DECIDE,
                         PETSC_DECIDE, 1, 1, NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(DMCreateGlobalVector(da, &f));
  PetscCall(VecDuplicate(f, &u));
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], NULL, &m[0], &m[1], NULL));
  PetscCall(DMDAVecGetArray(da, f, &b));
  for (PetscInt j = lo[1]; j < lo[1] + m[1]; j++)
    for (PetscInt i = lo[0]; i < lo[0] + m[0]; i++) {
      b[j][i] = 0;
      for (int k = 0; k < 9; k++) {
        const PetscInt di = k % 3 - 1, dj = k / 3 - 1, far = PetscAbs(di) + PetscAbs(dj);
        const PetscReal s =
          PetscSinReal(pi * h * (PetscReal)(i + 1 + di)) * PetscSinReal(2 * pi * h * (PetscReal)(j + 1 + dj));
        const PetscScalar v = (far == 0 ? 20. / 6 : (far == 1 ? -4. / 6 : -1. / 6)) / (h * h);
        MatStencil row = {.i = i, .j = j}, col = {.i = i + di, .j = j + dj};

        if (far < 2) b[j][i] += (far == 0 ? 8. / 12 : 1. / 12) * 5 * pi * pi * s;
        if (col.i >= 0 && col.i < n && col.j >= 0 && col.j < n)
          PetscCall(MatSetValuesStencil(A, 1, &row, 1, &col, &v, INSERT_VALUES));
      }
    }
  PetscCall(DMDAVecRestoreArray(da, f, &b));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(TestPC(PCBCRPOISSON, da, A, &pc));
  PetscCall(PCApply(pc, f, u));
  PetscCall(DMDAVecGetArray(da, u, &x));
  for (PetscInt j = lo[1]; j < lo[1] + m[1]; j++)
    for (PetscInt i = lo[0]; i < lo[0] + m[0]; i++)
      x[j][i] -= PetscSinReal(pi * h * (PetscReal)(i + 1)) * PetscSinReal(2 * pi * h * (PetscReal)(j + 1));
  PetscCall(DMDAVecRestoreArray(da, u, &x));
  PetscCall(TestMaxNorm(u, error));
  PetscCall(PCDestroy(&pc));
  PetscCall(VecDestroy(&f));
  PetscCall(VecDestroy(&u));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A PC for A gives LU's answer, to rounding */
static PetscErrorCode direct(DM da, Mat A, const char *what)
{
  PetscReal backward, difference;
  Vec b, x;
  PC pc;

  PetscFunctionBegin;
  PetscCall(TestPC(PCBCRPOISSON, da, A, &pc));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(TestUniformVec(b));
  PetscCall(PCApply(pc, b, x));
  PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, &backward));
  PetscCall(TestAgainstReference(A, PETSC_FALSE, b, x, &difference));
  Check(backward <= TestBackwardBound() && difference <= TestDifferenceBound(),
        "rank %d: %s: backward error %g, differs from LU by %g", (int)rank, what, (double)backward, (double)difference);
  PetscCall(TestDestroy(&pc, &b, &x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Two components that are not coupled, one of a star, the other of bilinear elements */
static PetscErrorCode components(void)
{
  DMDALocalInfo info;
  DM da;
  Mat A;

  PetscFunctionBegin;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_BOX, 14, 11, PETSC_DECIDE,
                         PETSC_DECIDE, 2, 1, NULL, NULL, &da));
  PetscCall(DMSetUp(da));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(DMDAGetLocalInfo(da, &info));
  for (PetscInt j = info.ys; j < info.ys + info.ym; j++)
    for (PetscInt i = info.xs; i < info.xs + info.xm; i++)
      for (int k = 0; k < 18; k++) {
        const PetscInt di = k % 3 - 1, dj = k / 3 % 3 - 1, far = PetscAbs(di) + PetscAbs(dj);
        MatStencil row = {.i = i, .j = j, .c = k / 9}, col = {.i = i + di, .j = j + dj, .c = k / 9};
        const PetscScalar v = k / 9 ? (far ? -1. / 3 : 8. / 3) : (far == 0 ? 4 : (far == 1 ? -1 : 0));

        if (col.i >= 0 && col.i < info.mx && col.j >= 0 && col.j < info.my)
          PetscCall(MatSetValuesStencil(A, 1, &row, 1, &col, &v, INSERT_VALUES));
      }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(direct(da, A, "a star and a box"));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* One entry of the row of a node is another: an error that names it, where it is not solved as a row that differs */
static PetscErrorCode bad(const Problem *p, PetscInt i, PetscInt j, PetscInt di, PetscInt dj, double factor)
{
  const PetscBool middle = (PetscBool)(i == p->n[0] / 2 && j == p->n[1] / 2);
  char words[64];
  AO ao;
  PetscInt at[2] = {i + p->n[0] * j, i + di + p->n[0] * (j + dj)};
  DM da;
  Mat A;
  PC pc;

  PetscFunctionBegin;
  PetscCall(create(p, &da, &A));
  PetscCall(fill(p, da, A));
  PetscCall(DMDAGetAO(da, &ao));
  PetscCall(AOApplicationToPetsc(ao, 2, at));
  if (middle) (void)snprintf(words, sizeof(words), "row %d, column", (int)at[0]); /* or that of the reflected entry */
  else (void)snprintf(words, sizeof(words), "row %d, column %d holds", (int)at[0], (int)at[1]);
  {
    PetscInt first, last;

    PetscCall(MatGetOwnershipRange(A, &first, &last));
    PetscCall(MatSetOption(A, MAT_NEW_NONZERO_LOCATION_ERR, PETSC_FALSE));
    if (at[0] >= first && at[0] < last) {
      PetscScalar v;

      PetscCall(MatGetValue(A, at[0], at[1], &v));
      PetscCall(MatSetValue(A, at[0], at[1], v * factor, INSERT_VALUES));
    }
    PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
    PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  }
  PetscCall(TestPC(PCBCRPOISSON, da, A, &pc));
  PetscCall(PCBCRPoissonSetCapacitance(pc, PCBCRPOISSON_CAPACITANCE_OFF));
  CheckError(PCSetUp(pc), PETSC_ERR_SUP, words);
  PetscCall(PCDestroy(&pc));
  PetscCall(direct(da, A, "a row that differs"));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode all_ends(PetscBool quick)
{
  static const char *const ends[] = {"dd", "nn", "dn", "nd", "pp", "cc", "CC", "cC"};
  const PetscInt sizes[][2] = {
    {7,  5 },
    {2,  3 },
    {13, 2 },
    {23, 17},
    {17, 12},
    {32, 31},
    {31, 32},
    {29, 33}
  }; /* level 0 from the fourth on, each for every fifth pair of ends */
  Problem p = {
    2, {1, 1,   1},
     NULL, {1, 0.8, 0},
     0.3, "", NULL, 0
  };

  PetscFunctionBegin;
  for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(sizes); s++)
    for (int a = 0; a < 64; a++) {
      char both[5], what[64];

      if ((s > 2 && (a + (int)s - 3) % 5) || (quick && (a + (int)s) % 8) || !TestTurn()) continue;
      (void)snprintf(both, sizeof(both), "%s%s", ends[a % 8], ends[a / 8]);
      (void)snprintf(what, sizeof(what), "bilinear elements, %s, %d x %d", both, (int)sizes[s][0], (int)sizes[s][1]);
      p.n[0] = sizes[s][0];
      p.n[1] = sizes[s][1];
      p.ends = both;
      p.what = what;
      p.m = strpbrk(both, "dC") && s % 2 ? 0 : 0.3;
      PetscCall(solve(&p));
    }
  PetscFunctionReturn(PETSC_SUCCESS);
}

#if defined(PETSC_USE_COMPLEX)
/* Times a phase, and with a complex shift in the rows' weights (half of them at a natural end, none in kept rows) */
static PetscErrorCode complex_values(const Problem *p, DM da, double tau, double angle, Mat A)
{
  PetscInt lo[3], n[3], i[3];

  PetscFunctionBegin;
  PetscCall(MatZeroEntries(A));
  PetscCall(fill(p, da, A));
  PetscCall(DMDAGetCorners(da, &lo[0], &lo[1], &lo[2], &n[0], &n[1], &n[2]));
  for (i[2] = lo[2]; i[2] < lo[2] + n[2]; i[2]++)
    for (i[1] = lo[1]; i[1] < lo[1] + n[1]; i[1]++)
      for (i[0] = lo[0]; i[0] < lo[0] + n[0]; i[0]++) {
        const MatStencil row = {.i = i[0], .j = i[1], .k = i[2]};
        PetscScalar v = (PetscReal)tau * PETSC_i;

        for (int d = 0; d < p->dim; d++)
          for (int s = 0; s < 2; s++) {
            if (i[d] != (s ? p->n[d] - 1 : 0) || p->n[d] == 1) continue;
            if (p->ends[2 * d + s] == 'n') v *= (PetscReal)0.5;
            if (strchr("kK", p->ends[2 * d + s])) v = 0;
          }
        PetscCall(MatSetValuesStencil(A, 1, &row, 1, &row, &v, ADD_VALUES));
      }
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatScale(A, PetscExpComplex((PetscReal)angle * PETSC_i)));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A shift so small that the constant is left out of right-hand sides: one that has a part in it is told */
static PetscErrorCode left_out(void)
{
  const Problem p = {
    2, {19, 12,  1},
     "nnnn", {1,  1.3, 0},
     0, "a complex shift next to nothing", NULL, 0
  };
  KSPConvergedReason reason;
  PetscReal error;
  Vec b, x;
  DM da;
  Mat A;
  KSP ksp;
  PC pc;

  PetscFunctionBegin;
  PetscCall(create(&p, &da, &A));
  PetscCall(complex_values(&p, da, 2e-13, 0.7, A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(TestKSPCreate(A, KSPPREONLY, &ksp, &pc));
  PetscCall(KSPSetDM(ksp, da));
  PetscCall(TestKSPSetDMInactive(ksp));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(TestUniformVec(b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  Check(reason < 0, "%s: reason %d for a right-hand side with a part in the constant", p.what, (int)reason);
  PetscCall(TestUniformVec(x));
  PetscCall(MatMult(A, x, b));
  PetscCall(KSPSolve(ksp, b, x));
  PetscCall(KSPGetConvergedReason(ksp, &reason));
  PetscCall(TestBackwardError(A, PETSC_FALSE, b, x, &error));
  Check(reason > 0 && error <= (PetscReal)1e-12, "%s: reason %d, backward error %g", p.what, (int)reason,
        (double)error);
  PetscCall(TestDestroy(&ksp, &b, &x, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode run_complex(void)
{
  static const Problem problems[] = {
    {2, {33, 31, 1}, "dddd",   {1, 1, 0},     0,    "complex elements, Dirichlet",    NULL, 0 },
    {2, {19, 30, 1}, "nnnn",   {1, 1.3, 0},   0,    "complex elements, closed",       NULL, 0 },
    {2, {12, 9, 1},  "ppnd",   {1, 1.3, 0},   0.2,  "complex elements, a ring",       NULL, 0 },
    {2, {17, 14, 1}, "dncC",   {1, 1, 0},     -0.9, "complex elements, Helmholtz",    NULL, 0 },
    {2, {12, 11, 1}, "kkkk",   {1, 1, 0},     0.1,  "complex elements, kept rows",    NULL, 0 },
    {2, {12, 11, 1}, "KKKn",   {1, 1, 0},     0,    "complex elements, kept columns", NULL, 0 },
    {2, {1, 17, 1},  "nnnd",   {1, 1, 0},     0.1,  "complex elements, a line",       NULL, 0 },
    {3, {9, 8, 11},  "ddnnpp", {1, 0.7, 1.3}, 0,    "complex trilinear elements",     NULL, 0 },
    {3, {5, 6, 7},   "nnnnnn", {1, 0.7, 1.3}, 0,    "complex trilinear, closed",      NULL, 0 },
    {3, {8, 9, 7},   "bbbbbb", {0, 0, 0},     -1,   "complex HPCG",                   NULL, 27}
  };
  static const double tau[] = {0.3, -40, 0, 1e-3};

  PetscFunctionBegin;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(problems); i++) {
    Problem p = problems[i];
    PetscInt most = 0;
    char *text;
    DM da;
    Mat A;
    PC pc;

    for (int d = 0; d < p.dim; d++) most = PetscMax(most, p.n[d]);
    if (most < 2 * (PetscInt)size) continue;
    PetscCall(create(&p, &da, &A));
    PetscCall(TestPC(PCBCRPOISSON, da, A, &pc));
    PetscCall(PCSetFromOptions(pc));
    for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(tau); k++) {
      const PetscBool singular = (PetscBool)(p.m == 0 && tau[k] == 0 && !strpbrk(p.ends, "dDCkKb"));

      PetscCall(complex_values(&p, da, tau[k], 0.4 + (double)k, A));
      PetscCall(PCSetUp(pc));
      PetscCall(TestViewText((PetscObject)pc, &text));
      Check(rank || (strstr(text, "fit exact") && (p.n[0] == 1 || strstr(text, "box stencil"))), "%s: PCView():\n%s",
            p.what, text);
      free(text);
      PetscCall(compare(&p, da, A, pc, PETSC_FALSE, singular, "complex"));
      if (!singular) PetscCall(compare(&p, da, A, pc, PETSC_TRUE, singular, "complex, transposed"));
    }
    PetscCall(TestDestroy(&pc, &A, &da));
  }
  if (sizeof(PetscReal) == sizeof(double)) PetscCall(left_out());
  PetscFunctionReturn(PETSC_SUCCESS);
}
#endif

int main(int argc, char **argv)
{
  static const Problem problems[] = {
    {2, {33, 31, 1},  "dddd",   {1, 1, 0},     0,      "bilinear elements, Dirichlet",        "negative in 0 modes",      0 },
    {2, {19, 30, 1},  "nnnn",   {1, 1.3, 0},   0,      "bilinear elements, closed",           "singular",                 0 },
    {2, {12, 9, 1},   "ppnn",   {1, 1.3, 0},   0,      "bilinear elements, closed ring",      "singular",                 0 },
    {2, {8, 9, 1},    "ccpp",   {1, 1.3, 0},   0,      "cells, closed",                       "singular",                 0 },
    {2, {17, 14, 1},  "dndd",   {1, 1, 0},     -0.9,   "bilinear elements, Helmholtz",        "modes, 0 modes left out",  0 },
    {2, {32, 32, 1},  "dddd",   {1, 1, 0},     0,      "a mode whose lines are not coupled",  "negative in 0 modes",      0 },
    {2, {31, 23, 1},  "dddd",   {1, 2, 0},     0,      "a pole whose lines are not coupled",  "negative in 0 modes",      0 },
    {2, {21, 25, 1},  "nnpp",   {1, 1.3, 0},   0,      "bilinear elements, closed, odd ring", "singular",                 0 },
    {2, {12, 11, 1},  "kkkk",   {1, 1, 0},     0,      "bilinear elements, kept rows",        "plane eliminated",         0 },
    {2, {12, 11, 1},  "KKKK",   {1, 1, 0},     0,      "bilinear elements, kept columns",     "rows refer to the planes", 0 },
    {2, {7, 6, 1},    "KnKn",   {1, 1, 0},     0,      "bilinear elements, sides",            NULL,                       0 },
    {3, {6, 7, 8},    "KKnKdK", {1, 1, 1},     0.1,    "trilinear elements, kept columns",    "rows refer to the planes", 0 },
    {2, {12, 11, 1},  "kdnn",   {1, 2, 0},     0,      "bilinear elements, a side kept",      "plane eliminated",         0 },
    {2, {6, 8, 1},    "hhhh",   {1, 1, 0},     0,      "alternating signs",                   "1 modes left out",         0 },
    {2, {9, 8, 1},    "dddd",   {0, 0, 0},     1,      "bilinear elements, mass",             NULL,                       0 },
    {3, {9, 8, 7},    "dddddd", {1, 1, 1},     0,      "trilinear elements on cubes",         "negative in 0 modes",      0 },
    {3, {9, 8, 11},   "ddnnpp", {1, 0.7, 1.3}, 0,      "trilinear elements",                  NULL,                       0 },
    {3, {5, 6, 7},    "nnnnnn", {1, 0.7, 1.3}, 0,      "trilinear elements, closed",          "singular",                 0 },
    {3, {6, 1, 7},    "dnnndd", {1, 0.7, 1.3}, 0.1,    "trilinear elements, a plane",         NULL,                       0 },
    {3, {2, 3, 5},    "dnnnnn", {1, 0.7, 1.3}, 0.1,    "trilinear elements, few nodes",       NULL,                       0 },
    {3, {3, 2, 2},    "ccdnnn", {1, 0.7, 1.3}, 0.1,    "trilinear elements, fewest nodes",    NULL,                       0 },
    {3, {8, 7, 6},    "kkkkkk", {1, 1, 1},     0,      "trilinear elements, kept rows",       "plane eliminated",         0 },
    {3, {7, 9, 5},    "pppppp", {1, 1.1, 1.2}, -2.5,   "trilinear elements, Helmholtz, ring", NULL,                       0 },
    {3, {8, 9, 7},    "bbbbbb", {0, 0, 0},     -1,     "HPCG's 27 points",                    "negative in 0 modes",      27},
    {2, {9, 12, 1},   "bbbb",   {0, 0, 0},     -1,     "9 points, all -1",                    NULL,                       9 },
    {2, {127, 34, 1}, "dddd",   {1, 1.1, 0},   0.1,    "longer rows",                         NULL,                       0 },
    {2, {129, 33, 1}, "nndn",   {1, 1.1, 0},   0,      "longer rows, natural ends",           NULL,                       0 },
    {2, {100, 68, 1}, "ppcC",   {1, 1.1, 0},   0.1,    "longer rows, a ring",                 NULL,                       0 },
    {2, {34, 127, 1}, "cCpp",   {1, 1.1, 0},   0.1,    "longer columns",                      NULL,                       0 },
    {2, {120, 69, 1}, "ccnn",   {1, 1.1, 0},   0,      "longer rows, closed",                 "singular",                 0 },
    {3, {2, 127, 35}, "nndddn", {1, 0.7, 1.3}, 0.1,    "trilinear elements, longer columns",  NULL,                       0 },
    {3, {34, 6, 40},  "ccccpp", {1, 0.7, 1.3}, 0,      "trilinear elements, closed, longer",  "singular",                 0 },
    {3, {17, 5, 15},  "nndddn", {1, 0.7, 1.3}, 0.1,    "trilinear elements, level 0",         NULL,                       0 },
    {3, {18, 4, 17},  "ppnncC", {1, 1, 1},     0,      "trilinear elements, ring, level 0",   NULL,                       0 },
    {3, {16, 5, 13},  "nnnnnn", {1, 0.7, 1.3}, 0,      "trilinear elements, closed, level 0", "singular",                 0 },
    {3, {16, 3, 15},  "cCpppp", {1, 0.7, 1.3}, 0.1,    "trilinear elements, odd ring",        NULL,                       0 },
    {3, {17, 5, 15},  "bbbbbb", {0, 0, 0},     -1,     "HPCG's 27 points, level 0",           "negative in 0 modes",      27},
    {2, {33, 31, 1},  "dddd",   {1, 1, 0},     -0.07,  "bilinear elements, long waves",       "modes, 0 modes left out",  0 },
    {2, {47, 23, 1},  "ppcC",   {1, 0.3, 0},   -0.008, "ring of cells, long waves",           "modes, 0 modes left out",  0 },
    {2, {40, 26, 1},  "cCcd",   {0.3, 1, 0},   -0.02,  "cells, long waves",                   "modes, 0 modes left out",  0 },
    {2, {19, 49, 1},  "nnnn",   {1, 1.3, 0},   -0.02,  "natural ends, long waves",            "modes, 0 modes left out",  0 },
    {2, {65, 15, 1},  "dddd",   {1, 0.6, 0},   -0.06,  "one separator, long waves",           "modes, 0 modes left out",  0 },
    {3, {17, 5, 15},  "nnnndn", {1, 0.7, 1.3}, -0.03,  "trilinear elements, long waves",      "modes, 0 modes left out",  0 },
    {3, {18, 4, 16},  "ppcCdd", {1, 0.7, 1},   -0.2,   "trilinear ring, long waves",          "modes, 0 modes left out",  0 },
  };
  const Problem plain = {
    2, {12, 9,   1},
     "dddd", {1,  1.2, 0},
     0.1, "", NULL, 0
  };
  PetscReal error[3];
  char backend[8] = "auto";
  PetscBool quick = PETSC_FALSE;
  int all[2], mine[2];

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(TestSeed());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-backend", backend, sizeof(backend), NULL));
  PetscCall(PetscOptionsSetValue(NULL, "-pc_bcrpoisson_backend", backend));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-quick", &quick, NULL));
  level0 = size == 1 && strcmp(backend, "cuda") ? PETSC_TRUE : PETSC_FALSE;
  for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(problems); i++) {
    PetscInt most = 0;

    for (int d = 0; d < problems[i].dim; d++) most = PetscMax(most, problems[i].n[d]);
    if (TestTurn() && most >= size) PetscCall(solve(&problems[i]));
  }
  if (size < 3) PetscCall(all_ends(quick));
#if defined(PETSC_USE_COMPLEX)
  PetscCall(run_complex());
#endif
  for (int k = 0; k < 2; k++) { /* single, and mixed, which is double here */
    PetscCall(TestOptions(k ? "-pc_bcrpoisson_precision mixed" : "-pc_bcrpoisson_precision single", PETSC_TRUE));
    single = k ? PETSC_FALSE : PETSC_TRUE;
    for (size_t i = 0; i < PETSC_STATIC_ARRAY_LENGTH(problems); i += 3) {
      PetscInt most = 0;

      for (int d = 0; d < problems[i].dim; d++) most = PetscMax(most, problems[i].n[d]);
      if (TestTurn() && most >= size) PetscCall(solve(&problems[i]));
    }
    PetscCall(TestOptions("-pc_bcrpoisson_precision mixed", PETSC_FALSE));
  }
  single = PETSC_FALSE;
  PetscCall(components());
  for (int k = 0; k < 3; k++) PetscCall(mehrstellen((8 << k) - 1, &error[k]));
  for (int k = 0; k < 2 && sizeof(PetscReal) > sizeof(float); k++)
    Check(error[k] / error[k + 1] > 15 && error[k] / error[k + 1] < 18, "Mehrstellen: errors %g and %g at h and h/2",
          (double)error[k], (double)error[k + 1]);
  PetscCall(bad(&plain, 3, 2, 1, 1, 1 + 1e4 * PETSC_MACHINE_EPSILON * (sizeof(PetscReal) < sizeof(double) ? 1 : 450)));
  PetscCall(bad(&plain, 6, 4, 1, 0, 1.01)); /* the row that is read first is not the same when x is reflected */
  PetscCall(bad(&plain, 0, 7, 1, 1, 1.5));
  mine[0] = (int)TestPassed;
  mine[1] = (int)TestFailed;
  PetscCallMPI(MPI_Allreduce(mine, all, 2, MPI_INT, MPI_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscFinalize());
  return TestStatus(!rank, all[0], all[1]);
}
