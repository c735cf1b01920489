static char help[] = "MatCreateCompactDerivative() on any number of ranks: against dense LAPACK line by line, observed "
                     "order of convergence, transposes, gradients, bad input.\n\n";

/* ranks: 1 2 3 4 6 8 */

#include "../petsc/testing.h"
#include "src/compact/scheme.h"
#include <petscblaslapack.h>

static PetscMPIInt rank, size;

typedef struct {
  PetscInt dim, n[3], procs[3], dof;
  PetscInt uneven; /* 1: one point on every rank along the axis but the first, 2: but the last; one dimension */
} Grid;

static PetscErrorCode GridCreate(const Grid *g, PetscInt periodic, DM *da)
{
  const DMBoundaryType none = DM_BOUNDARY_NONE, per = DM_BOUNDARY_PERIODIC;

  PetscFunctionBegin;
  if (g->uneven) {
    PetscInt lx[64];

    for (PetscMPIInt q = 0; q < size; ++q) lx[q] = q == (g->uneven == 1 ? 0 : size - 1) ? g->n[0] - size + 1 : 1;
    PetscCall(DMDACreate1d(PETSC_COMM_WORLD, periodic == 0 ? per : none, g->n[0], g->dof, 1, lx, da));
  } else if (g->dim == 1)
    PetscCall(DMDACreate1d(PETSC_COMM_WORLD, periodic == 0 ? per : none, g->n[0], g->dof, 1, NULL, da));
  else if (g->dim == 2)
    PetscCall(DMDACreate2d(PETSC_COMM_WORLD, periodic == 0 ? per : none, periodic == 1 ? per : none, DMDA_STENCIL_STAR,
                           g->n[0], g->n[1], g->procs[0], g->procs[1], g->dof, 1, NULL, NULL, da));
  else
    PetscCall(DMDACreate3d(PETSC_COMM_WORLD, periodic == 0 ? per : none, periodic == 1 ? per : none,
                           periodic == 2 ? per : none, DMDA_STENCIL_STAR, g->n[0], g->n[1], g->n[2], g->procs[0],
                           g->procs[1], g->procs[2], g->dof, 1, NULL, NULL, NULL, da));
  PetscCall(DMSetFromOptions(*da)); /* -dm_vec_type cuda: scripts/check-gpu */
  PetscCall(DMSetUp(*da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A number in (-1, 1) that depends on where it is, not on the rank */
static PetscScalar Noise(PetscInt i, PetscInt seed)
{
  unsigned long s = (unsigned long)(i + 1) * 2654435761ul + (unsigned long)seed * 40503ul;
  PetscReal re, im;

  for (int k = 0; k < 4; ++k) s = (s ^ (s >> 15)) * 2246822519ul % 4294967296ul;
  re = (PetscReal)s / (PetscReal)2147483648. - 1;
  for (int k = 0; k < 4; ++k) s = (s ^ (s >> 13)) * 3266489917ul % 4294967296ul;
  im = (PetscReal)s / (PetscReal)2147483648. - 1;
  (void)im;
#if defined(PETSC_USE_COMPLEX)
  return PetscCMPLX(re, im);
#else
  return re;
#endif
}

/* Fills by natural index, (component, x, y, z) */
static PetscErrorCode Fill(DM da, Vec v, PetscInt seed)
{
  DMDALocalInfo info;
  PetscScalar *a;

  PetscFunctionBegin;
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(VecGetArray(v, &a));
  for (PetscInt k = info.zs; k < info.zs + info.zm; ++k) {
    for (PetscInt j = info.ys; j < info.ys + info.ym; ++j) {
      for (PetscInt i = info.xs; i < info.xs + info.xm; ++i) {
        for (PetscInt c = 0; c < info.dof; ++c)
          a[c + info.dof * (i - info.xs + info.xm * (j - info.ys + info.ym * (k - info.zs)))] =
            Noise(c + info.dof * (i + info.mx * (j + info.my * k)), seed);
      }
    }
  }
  PetscCall(VecRestoreArray(v, &a));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* D = A^-1 B, dense, by LAPACK; column-major; in scalars */
static PetscErrorCode Dense(const BCRCompactScheme *s, PetscInt n, PetscBool periodic, PetscReal h, PetscScalar **D)
{
  PetscScalar *A;
  PetscBLASInt N, *pivots, info;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(n, &N));
  PetscCall(PetscCalloc2(n * n, &A, n, &pivots));
  PetscCall(PetscCalloc1(n * n, D));
  for (PetscInt i = 0; i < n; ++i) {
    BCRCompactRow r;

    PetscCall(BCRCompactGetRow(s, n, i, &r));
    A[i + i * n] += 1;
    if (periodic || i > 0) A[i + ((i + n - 1) % n) * n] += (PetscReal)r.low;
    if (periodic || i < n - 1) A[i + ((i + 1) % n) * n] += (PetscReal)r.up;
    for (PetscInt k = 0; k < r.points; ++k)
      (*D)[i + ((r.start + k + n) % n) * n] += (PetscReal)r.c[k] / (s->derivative == 1 ? h : h * h);
  }
  PetscCallBLAS("LAPACKgesv", LAPACKgesv_(&N, &N, A, &N, pivots, *D, &N, &info));
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "gesv %d", (int)info);
  PetscCall(PetscFree2(A, pivots));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* y = D x along the axis (transpose: D^T x), entry by entry */
static PetscErrorCode Compare(DM da, const Grid *g, PetscInt axis, const PetscScalar D[], PetscBool transpose, Vec x,
                              Vec y, const char *what)
{
  const PetscInt n = g->n[axis], dof = g->dof;
  PetscInt N, step = dof;
  PetscScalar *a, *b;
  double worst = 0;
  PetscReal most = 0, norm = 0;

  PetscFunctionBegin;
  for (PetscInt d = 0; d < axis; ++d) step *= g->n[d];
  PetscCall(TestGather(da, x, &a, &N));
  PetscCall(TestGather(da, y, &b, &N));
  for (PetscInt i = 0; i < N; ++i) {
    const PetscInt j = (i / step) % n;
    PetscScalar sum = 0;
    PetscReal row = 0;

    for (PetscInt k = 0; k < n; ++k) {
      const PetscScalar e = transpose ? D[k + j * n] : D[j + k * n];

      sum += e * a[i + (k - j) * step];
      row += PetscAbsScalar(e);
    }
    TestLargest(&worst, PetscAbsScalar(sum - b[i]));
    most = PetscMax(most, PetscAbsScalar(sum));
    norm = PetscMax(norm, row);
  }
  /* nothing else than rounding, of sums of n terms */
  Check(worst <= 200 * PETSC_MACHINE_EPSILON * norm, "[%d of %d] %s: off by %g of %g", rank, size, what, (double)worst,
        (double)most);
  PetscCall(PetscFree(a));
  PetscCall(PetscFree(b));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestDense(const Grid *g, PetscInt axis, MatCompactScheme scheme, PetscInt m, PetscInt closure,
                                PetscBool periodic)
{
  const PetscReal h = (PetscReal)0.125;
  DM da;
  Mat A;
  Vec x, y;
  BCRCompactScheme s;
  PetscScalar *D;
  char what[128];

  PetscFunctionBegin;
  (void)snprintf(what, sizeof(what), "%dD %dx%dx%d dof %d, axis %d, %s, derivative %d, %s %d", (int)g->dim,
                 (int)g->n[0], (int)g->n[1], (int)g->n[2], (int)g->dof, (int)axis, MatCompactSchemes[scheme], (int)m,
                 periodic ? "periodic" : "closure", (int)closure);
  PetscCall(GridCreate(g, periodic ? axis : -1, &da));
  PetscCall(MatCreateCompactDerivative(da, (DMDirection)axis, scheme, m, h, &A));
  PetscCall(MatCompactDerivativeSetClosure(A, closure));
  PetscCall(MatCreateVecs(A, &x, &y));
  PetscCall(BCRCompactGetScheme(scheme, m, closure, periodic, &s));
  PetscCall(Dense(&s, g->n[axis], periodic, h, &D));
  for (PetscInt seed = 0; seed < 2; ++seed) {
    PetscCall(Fill(da, x, seed));
    PetscCall(MatMult(A, x, y));
    PetscCall(Compare(da, g, axis, D, PETSC_FALSE, x, y, what));
  }
  PetscCall(MatMultTranspose(A, x, y));
  PetscCall(PetscStrlcat(what, ", transpose", sizeof(what)));
  PetscCall(Compare(da, g, axis, D, PETSC_TRUE, x, y, what));
  PetscCall(PetscFree(D));
  PetscCall(TestDestroy(&x, &y, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Every scheme, derivative, closure and end on lines of several lengths; grids of all dimensions cut along each axis */
static PetscErrorCode TestAllDense(void)
{
  PetscFunctionBegin;
  for (PetscInt scheme = 0; scheme <= MAT_COMPACT_SPECTRAL; ++scheme) {
    for (PetscInt m = 1; m <= 2; ++m) {
      for (PetscInt closure = 2; closure <= (scheme == MAT_COMPACT_PADE4 ? 4 : 6); ++closure) {
        const PetscBool periodic = (PetscBool)(closure == 2);
        BCRCompactScheme s;

        PetscCall(BCRCompactGetScheme((MatCompactScheme)scheme, m, periodic ? PETSC_DECIDE : closure, periodic, &s));
        for (PetscInt longer = 0; longer < 3; ++longer) { /* the shortest line there is, 17, and 40 points */
          const PetscInt n = longer == 0 ? PetscMax(s.minimum, size) : (longer == 1 ? 17 : 40);
          const Grid g[] = {
            {1, {n, 1, 1}, {size, 1, 1},                               2, 0},
            {2, {3, n, 1}, {1, size, 1},                               1, 0},
            {3, {5, 4, n}, {1, 1, size},                               1, 0},
            {3, {n, 5, 4}, {PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE}, 3, 0}
          };
          const PetscInt axes[4] = {0, 1, 2, 0};

          for (PetscInt i = 0; i < 4; ++i) {
            if ((i + scheme + m + closure + longer) % (longer == 2 ? 4 : 2)) continue; /* each in turn, to be quick */
            PetscCall(
              TestDense(&g[i], axes[i], (MatCompactScheme)scheme, m, periodic ? PETSC_DECIDE : closure, periodic));
          }
        }
      }
    }
  }
  /* dense neighbours: lines along y of a grid that is cut along both */
  if (size == 4) {
    const Grid g =
                 {
                   2, {6, 19, 1},
                    {2, 2,  1},
                    1, 0
    },
               w = {3, {6, 19, 5}, {2, 1, 2}, 2, 0};

    for (PetscInt axis = 0; axis < 2; ++axis) {
      PetscCall(TestDense(&g, axis, MAT_COMPACT_PADE4, 1, 3, PETSC_FALSE));
      PetscCall(TestDense(&g, axis, MAT_COMPACT_LELE6, 2, PETSC_DECIDE, PETSC_TRUE));
      PetscCall(TestDense(&w, 2 * axis, MAT_COMPACT_LELE6, 2, PETSC_DECIDE, PETSC_TRUE));
    }
  }
  for (PetscInt k = 0; k < 8; ++k) {
    const Grid g = {
      1, {23,   1, 1},
       {size, 1, 1},
       2, 1 + k % 2
    };

    PetscCall(TestDense(&g, 0, k / 4 ? MAT_COMPACT_SPECTRAL : MAT_COMPACT_LELE6, 1 + k % 2,
                        k / 2 % 2 ? 6 : PETSC_DECIDE, (PetscBool) !(k / 2 % 2)));
  }
  /* so many lines that they are solved block by block, the last block shorter; cut along another
     axis, if only into two to be quick */
  if (size <= 2) {
    const Grid x =
                 {
                   3, {31, 61,   37},
                    {1,  size, 1 },
                    1, 0
    },
               y = {3, {37, 29, 71}, {1, 1, size}, 1, 0}, z = {3, {103, 91, 31}, {1, size, 1}, 1, 0},
               y2 = {3, {4501, 31, 3}, {size, 1, 1}, 2, 0};

    for (PetscInt k = 0; k < 2; ++k) {
      PetscCall(TestDense(&x, 0, MAT_COMPACT_LELE6, 1 + k, k ? 5 : PETSC_DECIDE, (PetscBool)!k));
      PetscCall(TestDense(&y, 1, MAT_COMPACT_SPECTRAL, 1 + k, k ? 6 : PETSC_DECIDE, (PetscBool)!k));
      PetscCall(TestDense(&z, 2, MAT_COMPACT_LELE6, 1 + k, k ? 3 : PETSC_DECIDE, (PetscBool)!k));
      PetscCall(TestDense(&y2, 1, MAT_COMPACT_PADE4, 1 + k, k ? 4 : PETSC_DECIDE, (PetscBool)!k));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Largest error of the derivative of a smooth function along y of a 2 x n grid that is cut along y */
static PetscErrorCode SmoothError(MatCompactScheme scheme, PetscInt m, PetscInt closure, PetscBool periodic,
                                  PetscInt cells, double *error)
{
  const PetscInt n = periodic ? cells : cells + 1;
  const PetscReal h = 1 / (PetscReal)cells, k = 2 * PETSC_PI;
  const Grid g = {
    2, {2, n,    1},
     {1, size, 1},
     1, 0
  };
  DM da;
  Mat A;
  Vec f, d;
  DMDALocalInfo info;
  PetscScalar **a;

  PetscFunctionBegin;
  PetscCall(GridCreate(&g, periodic ? 1 : -1, &da));
  PetscCall(MatCreateCompactDerivative(da, DM_Y, scheme, m, h, &A));
  PetscCall(MatCompactDerivativeSetClosure(A, closure));
  PetscCall(MatCreateVecs(A, &f, &d));
  PetscCall(DMDAGetLocalInfo(da, &info));
  PetscCall(DMDAVecGetArray(da, f, &a));
  for (PetscInt j = info.ys; j < info.ys + info.ym; ++j) {
    for (PetscInt i = 0; i < 2; ++i) a[j][i] = (PetscReal)(1 + i) * PetscSinReal(k * (PetscReal)j * h + (PetscReal)0.4);
  }
  PetscCall(DMDAVecRestoreArray(da, f, &a));
  PetscCall(MatMult(A, f, d));
  *error = 0;
  PetscCall(DMDAVecGetArray(da, d, &a));
  for (PetscInt j = info.ys; j < info.ys + info.ym; ++j) {
    for (PetscInt i = 0; i < 2; ++i) {
      const PetscReal x = k * (PetscReal)j * h + (PetscReal)0.4,
                      exact = (PetscReal)(1 + i) * (m == 1 ? k * PetscCosReal(x) : -k * k * PetscSinReal(x));

      TestLargest(error, PetscAbsScalar(a[j][i] - exact));
    }
  }
  PetscCall(DMDAVecRestoreArray(da, d, &a));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, error, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  PetscCall(TestDestroy(&f, &d, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Halving h: errors fall by 2^order, until they are rounding */
static PetscErrorCode TestConvergence(void)
{
  PetscFunctionBegin;
  for (PetscInt scheme = 0; scheme <= MAT_COMPACT_SPECTRAL; ++scheme) {
    for (PetscInt m = 1; m <= 2; ++m) {
      for (PetscInt closure = 2; closure <= (scheme == MAT_COMPACT_PADE4 ? 4 : 6); ++closure) {
        const PetscBool periodic = (PetscBool)(closure == 2);
        const PetscInt order = periodic ? (scheme == MAT_COMPACT_PADE4 ? 4 : 6) : closure;
        PetscReal before = 0;

        for (PetscInt cells = 20; cells <= 160; cells *= 2) {
          const PetscReal h = 1 / (PetscReal)cells,
                          floor = 2000 * PETSC_MACHINE_EPSILON * (m == 1 ? 1 / h : 1 / (h * h));
          PetscReal observed;
          double error;

          PetscCall(
            SmoothError((MatCompactScheme)scheme, m, periodic ? PETSC_DECIDE : closure, periodic, cells, &error));
          observed = before > 0 && error > 0 ? PetscLog2Real(before / (PetscReal)error) : 0;
          if (cells > 40 && error > floor)
            Check(observed > (PetscReal)order - (PetscReal)0.4,
                  "%s, derivative %d, %s %d: %d cells, error %g, observed order %.2f, not %d",
                  MatCompactSchemes[scheme], (int)m, periodic ? "periodic" : "closure", (int)closure, (int)cells,
                  (double)error, (double)observed, (int)order);
          else
            Check(error < (cells <= 40 ? (m == 1 ? (PetscReal)0.3 : 6) : floor),
                  "%s, derivative %d, %s %d: %d cells, error %g", MatCompactSchemes[scheme], (int)m,
                  periodic ? "periodic" : "closure", (int)closure, (int)cells, (double)error);
          before = error;
        }
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Gradients, several matrices at once, scaling, duplicates, changes of scheme by call and by option */
static PetscErrorCode TestObjects(void)
{
  const Grid g = {
    3, {9,            11,           12          },
     {PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE},
     2, 0
  };
  DM da;
  Mat D[4], A, S;
  Vec f, other, d[4], e, w;
  PetscReal off, norm;

  PetscFunctionBegin;
  PetscCall(GridCreate(&g, 1, &da));
  PetscCall(MatCreateCompactDerivative(da, DM_X, MAT_COMPACT_LELE6, 1, (PetscReal)0.1, &D[0]));
  PetscCall(MatCreateCompactDerivative(da, DM_Y, MAT_COMPACT_SPECTRAL, 1, (PetscReal)0.2, &D[1]));
  PetscCall(MatCreateCompactDerivative(da, DM_Z, MAT_COMPACT_PADE4, 1, (PetscReal)0.3, &D[2]));
  D[3] = D[1]; /* one may be there twice */
  PetscCall(MatCreateVecs(D[0], &f, &e));
  PetscCall(VecDuplicate(f, &other));
  PetscCall(VecDuplicate(f, &w));
  for (PetscInt i = 0; i < 4; ++i) PetscCall(VecDuplicate(f, &d[i]));
  PetscCall(Fill(da, f, 1));
  PetscCall(Fill(da, other, 2));
  PetscCall(PetscBCRCompactGradient(4, D, f, d));
  for (PetscInt i = 0; i < 4; ++i) {
    PetscCall(MatMult(D[i], f, e));
    PetscCall(VecAXPY(e, -1, d[i]));
    PetscCall(TestMaxNorm(e, &off));
    PetscCall(VecNorm(d[i], NORM_INFINITY, &norm));
    Check(off == 0 && norm > 1, "gradient %d: off by %g of %g", (int)i, (double)off, (double)norm);
  }
  PetscCall(PetscBCRCompactGradient(0, NULL, f, NULL));

  /* what MATSHELL does around a product: the field of the exchange is another one then */
  PetscCall(VecSet(w, 3));
  PetscCall(MatDuplicate(D[0], MAT_COPY_VALUES, &S));
  PetscCall(MatScale(S, 2));
  PetscCall(MatDiagonalScale(S, NULL, w));
  PetscCall(PetscBCRCompactGradient(1, &S, f, &d[1]));
  PetscCall(VecAXPY(d[1], -6, d[0]));
  PetscCall(TestMaxNorm(d[1], &off));
  PetscCall(VecNorm(d[0], NORM_INFINITY, &norm));
  Check(off <= 100 * PETSC_MACHINE_EPSILON * norm, "scaled matrix: off by %g of %g", (double)off, (double)norm);
  PetscCall(MatMult(S, f, e));
  PetscCall(VecAXPY(e, -6, d[0]));
  PetscCall(TestMaxNorm(e, &off));
  Check(off <= 100 * PETSC_MACHINE_EPSILON * norm, "scaled matrix after a gradient: off by %g of %g", (double)off,
        (double)norm);
  PetscCall(MatDestroy(&S));
  PetscCall(MatMult(D[0], f, e)); /* the duplicate had the same plan */
  PetscCall(VecAXPY(e, -1, d[0]));
  PetscCall(TestMaxNorm(e, &off));
  Check(off == 0, "after the duplicate is gone: off by %g", (double)off);

  /* scheme by option, with a prefix */
  PetscCall(MatCreateCompactDerivative(da, DM_Z, MAT_COMPACT_LELE6, 2, (PetscReal)0.3, &A));
  PetscCall(MatCreateCompactDerivative(da, DM_Z, MAT_COMPACT_PADE4, 2, (PetscReal)0.3, &S));
  PetscCall(MatCompactDerivativeSetClosure(A, 4));
  PetscCall(MatMult(A, f, d[0]));
  PetscCall(MatCompactDerivativeSetScheme(S, MAT_COMPACT_SPECTRAL));
  PetscCall(MatMult(S, f, d[1]));
  PetscCall(PetscOptionsInsertString(
    NULL, "-there_mat_compact_scheme lele6 -there_mat_compact_closure 4 -there_mat_compact_method thomas "
          "-there_mat_compact_coupling reduced -there_mat_compact_transport host"));
  PetscCall(MatSetOptionsPrefix(S, "there_"));
  PetscCall(MatSetFromOptions(S));
  {
    MatCompactScheme scheme;
    PetscInt closure;
    PCNeatoMethod method;
    PCNeatoCoupling coupling;
    PCNeatoTransport transport;

    PetscCall(MatCompactDerivativeGetScheme(S, &scheme));
    PetscCall(MatCompactDerivativeGetClosure(S, &closure));
    PetscCall(MatCompactDerivativeGetMethod(S, &method));
    PetscCall(MatCompactDerivativeGetCoupling(S, &coupling));
    PetscCall(MatCompactDerivativeGetTransport(S, &transport));
    Check(transport == PCNEATO_TRANSPORT_HOST, "options: transport %d", (int)transport);
    Check(scheme == MAT_COMPACT_LELE6 && closure == 4, "options: scheme %d, closure %d", (int)scheme, (int)closure);
    Check(method == PCNEATO_METHOD_THOMAS && coupling == PCNEATO_COUPLING_REDUCED, "options: method %d, coupling %d",
          (int)method, (int)coupling);
  }
  PetscCall(MatMult(S, f, e));
  PetscCall(VecNorm(d[0], NORM_INFINITY, &norm));
  PetscCall(VecAXPY(d[1], -1, d[0]));
  PetscCall(TestMaxNorm(d[1], &off));
  Check(off > 0.01 * norm, "spectral and lele6 are the same: %g of %g", (double)off, (double)norm);
  PetscCall(VecAXPY(e, -1, d[0]));
  PetscCall(TestMaxNorm(e, &off));
  Check(off <= 1000 * PETSC_MACHINE_EPSILON * norm, "by options: off by %g of %g", (double)off, (double)norm);
  PetscCall(MatMult(D[1], f, e)); /* the others are as they were */
  PetscCall(VecAXPY(e, -1, d[3]));
  PetscCall(TestMaxNorm(e, &off));
  Check(off == 0, "other matrices: off by %g", (double)off);
  PetscCall(MatDestroy(&A));
  PetscCall(MatDestroy(&S));
  for (PetscInt i = 0; i < 3; ++i) PetscCall(MatDestroy(&D[i]));
  for (PetscInt i = 0; i < 4; ++i) PetscCall(VecDestroy(&d[i]));
  PetscCall(TestDestroy(&e, &w, &f, &other, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestView(void)
{
  const char *const words[] = {"second derivative along y",
                               "spacing 0.25",
                               "12 points",
                               "scheme lele6: order 6, 5 points",
                               "row 0 from either end: order 4",
                               "row 1 from either end: order 4",
                               "lines:"};
  const Grid g = {
    2, {3, 12,   1},
     {1, size, 1},
     1, 0
  };
  DM da;
  Mat A;
  PetscViewer viewer;
  const char file[] = "compact_view.txt";
  char text[8192] = "";

  PetscFunctionBegin;
  PetscCall(GridCreate(&g, -1, &da));
  PetscCall(MatCreateCompactDerivative(da, DM_Y, MAT_COMPACT_LELE6, 2, (PetscReal)0.25, &A));
  PetscCall(PetscViewerASCIIOpen(PETSC_COMM_WORLD, file, &viewer));
  PetscCall(MatView(A, viewer));
  PetscCall(PetscViewerDestroy(&viewer));
  if (rank == 0) {
    FILE *f = fopen(file, "r");
    size_t n = f ? fread(text, 1, sizeof(text) - 1, f) : 0;

    text[n] = 0;
    if (f) fclose(f);
    (void)remove(file);
    for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); ++i)
      Check(strstr(text, words[i]), "view lacks '%s': %s", words[i], text);
  }
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A NaN in one line: NaN in it, nothing in the others */
static PetscErrorCode TestNaN(void)
{
  const Grid g = {
    2, {4, 16,   1},
     {1, size, 1},
     1, 0
  };
  DM da;
  Mat A;
  Vec f, d;
  PetscScalar *all;
  PetscInt n, wrong = 0, none = 0;

  PetscFunctionBegin;
  PetscCall(GridCreate(&g, -1, &da));
  PetscCall(MatCreateCompactDerivative(da, DM_Y, MAT_COMPACT_PADE4, 1, (PetscReal)0.25, &A));
  PetscCall(MatCreateVecs(A, &f, &d));
  PetscCall(Fill(da, f, 3));
  if (rank == size - 1) {
    PetscInt low, high;

    PetscCall(VecGetOwnershipRange(f, &low, &high));
    PetscCall(VecSetValue(f, high - 2, (PetscScalar)NAN, INSERT_VALUES)); /* x = 2, last row */
  }
  PetscCall(VecAssemblyBegin(f));
  PetscCall(VecAssemblyEnd(f));
  PetscCall(MatMult(A, f, d));
  PetscCall(TestGather(da, d, &all, &n));
  for (PetscInt i = 0; i < n; ++i) {
    if (i % 4 == 2) none += !PetscIsInfOrNanScalar(all[i]) && i / 4 > 12;
    else wrong += PetscIsInfOrNanScalar(all[i]);
  }
  Check(!wrong, "NaN in %d points of other lines", (int)wrong);
  Check(!none, "finite derivative in %d points next to a NaN", (int)none);
  PetscCall(PetscFree(all));
  PetscCall(TestDestroy(&f, &d, &A, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode TestBadInput(void)
{
  const Grid g = {
    2, {7, 8,    1},
     {1, size, 1},
     1, 0
  };
  DM da, shell, mirror;
  Mat A = NULL, other;
  Vec f, d;

  PetscFunctionBegin;
  PetscCall(GridCreate(&g, -1, &da));
  CheckError(MatCreateCompactDerivative(da, DM_Z, MAT_COMPACT_PADE4, 1, 1, &A), PETSC_ERR_ARG_OUTOFRANGE,
             "the DMDA has the axes 0 (x) to 1");
  CheckError(MatCreateCompactDerivative(da, (DMDirection)-1, MAT_COMPACT_PADE4, 1, 1, &A), PETSC_ERR_ARG_OUTOFRANGE,
             "Axis -1");
  CheckError(MatCreateCompactDerivative(da, DM_X, MAT_COMPACT_PADE4, 1, 0, &A), PETSC_ERR_ARG_OUTOFRANGE, "Spacing 0");
  CheckError(MatCreateCompactDerivative(da, DM_X, MAT_COMPACT_PADE4, 1, -1, &A), PETSC_ERR_ARG_OUTOFRANGE,
             "Spacing -1");
  CheckError(MatCreateCompactDerivative(da, DM_X, MAT_COMPACT_PADE4, 1, (PetscReal)NAN, &A), PETSC_ERR_ARG_OUTOFRANGE,
             "positive number");
  CheckError(MatCreateCompactDerivative(da, DM_X, MAT_COMPACT_PADE4, 1, (PetscReal)INFINITY, &A),
             PETSC_ERR_ARG_OUTOFRANGE, "positive number");
  CheckError(MatCreateCompactDerivative(da, DM_X, MAT_COMPACT_PADE4, 3, 1, &A), PETSC_ERR_ARG_OUTOFRANGE,
             "Order of the derivative 3");
  CheckError(MatCreateCompactDerivative(da, DM_X, (MatCompactScheme)7, 1, 1, &A), PETSC_ERR_ARG_OUTOFRANGE,
             "Compact scheme 7");
  PetscCall(DMShellCreate(PETSC_COMM_WORLD, &shell));
  CheckError(MatCreateCompactDerivative(shell, DM_X, MAT_COMPACT_PADE4, 1, 1, &A), PETSC_ERR_ARG_WRONG,
             "of type shell");
  PetscCall(DMDestroy(&shell));
  PetscCall(DMDACreate1d(PETSC_COMM_WORLD, DM_BOUNDARY_MIRROR, 16, 1, 1, NULL, &mirror));
  PetscCall(DMSetUp(mirror));
  CheckError(MatCreateCompactDerivative(mirror, DM_X, MAT_COMPACT_PADE4, 1, 1, &A), PETSC_ERR_ARG_WRONG, "MIRROR");
  PetscCall(DMDestroy(&mirror));

  /* too few points, and enough with another scheme */
  PetscCall(MatCreateCompactDerivative(da, DM_X, MAT_COMPACT_SPECTRAL, 2, 1, &A));
  PetscCall(MatCreateVecs(A, &f, &d));
  PetscCall(Fill(da, f, 0));
  PetscCall(MatCompactDerivativeSetClosure(A, 6));
  CheckError(MatMult(A, f, d), PETSC_ERR_ARG_SIZ, "needs 9 points");
  CheckError(MatCompactDerivativeSetMethod(A, (PCNeatoMethod)9), PETSC_ERR_ARG_OUTOFRANGE, "no PCNeatoMethod 9");
  CheckError(MatCompactDerivativeSetCoupling(A, (PCNeatoCoupling)9), PETSC_ERR_ARG_OUTOFRANGE, "no PCNeatoCoupling 9");
  CheckError(MatCompactDerivativeSetTransport(A, (PCNeatoTransport)9), PETSC_ERR_ARG_OUTOFRANGE,
             "no PCNeatoTransport 9");
  CheckError(MatCompactDerivativeSetClosure(A, 7), PETSC_ERR_ARG_OUTOFRANGE, "orders 3 to 6");
  CheckError(MatCompactDerivativeSetScheme(A, MAT_COMPACT_PADE4), PETSC_ERR_ARG_OUTOFRANGE,
             "pade4 scheme has closures of order 3 to 4");
  PetscCall(MatCompactDerivativeSetClosure(A, PETSC_DECIDE));
  PetscCall(MatCompactDerivativeSetScheme(A, MAT_COMPACT_PADE4));
  PetscCall(MatMult(A, f, d));
  CheckError(PetscBCRCompactGradient(1, &A, f, &f), PETSC_ERR_ARG_IDN, "same vector");
  PetscCall(MatDestroy(&A));

  PetscCall(DMCreateMatrix(da, &other));
  CheckError(MatCompactDerivativeSetScheme(other, MAT_COMPACT_PADE4), PETSC_ERR_ARG_WRONG,
             "no matrix of MatCreateCompactDerivative()");
  CheckError(PetscBCRCompactGradient(1, &other, f, &d), PETSC_ERR_ARG_WRONG,
             "no matrix of MatCreateCompactDerivative()");
  PetscCall(TestDestroy(&other, &f, &d, &da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscBCRInitializePackage());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  PetscCall(TestAllDense());
  PetscCall(TestConvergence());
  PetscCall(TestObjects());
  PetscCall(TestView());
  PetscCall(TestNaN());
  PetscCall(TestBadInput());
  PetscCall(PetscFinalize());
  return TestEnd();
}
