/*
  One rank's batches of tridiagonal lines against LAPACK: every method, instruction set, precision
  and layout; open and periodic, general and near-Toeplitz lines, one set of coefficients or one for
  each line; singular and bad lines.

  turns: 3
*/
#include "../../src/tridiagonal/triimpl.h"
#include "tricases.h"
#include <petscblaslapack.h>

static int passed = 0, failed = 0;

/* The solution of one line by LAPACK; growth: the largest number of its elimination over the
   largest of the line, roughly */
static PetscErrorCode lapack(const BCRTriSpec *spec, PetscInt line, const PetscReal *f, PetscReal *u)
{
  const PetscInt n = spec->n;
  PetscBLASInt bn, one = 1, info, *ipiv;
  double row[3];
  PetscScalar *A, *b;

  PetscFunctionBegin;
  PetscCall(PetscBLASIntCast(n, &bn));
  if (spec->periodic) {
    PetscCall(PetscCalloc3(n * n, &A, n, &b, n, &ipiv));
    for (PetscInt j = 0; j < n; j++) {
      BCRTriGetRow(spec, line, j, row);
      A[j + n * ((j + n - 1) % n)] += (PetscReal)row[0];
      A[j + n * j] += (PetscReal)row[1];
      A[j + n * ((j + 1) % n)] += (PetscReal)row[2];
      b[j] = f[j];
    }
    LAPACKgesv_(&bn, &one, A, &bn, ipiv, b, &bn, &info);
    for (PetscInt j = 0; j < n; j++) u[j] = PetscRealPart(b[j]);
    PetscCall(PetscFree3(A, b, ipiv));
  } else {
    PetscReal *dl, *d, *du;

    PetscCall(PetscMalloc3(n, &dl, n, &d, n, &du));
    for (PetscInt j = 0; j < n; j++) {
      BCRTriGetRow(spec, line, j, row);
      if (j) dl[j - 1] = (PetscReal)row[0];
      d[j] = (PetscReal)row[1];
      du[j] = (PetscReal)row[2];
      u[j] = f[j];
    }
#if defined(PETSC_USE_REAL_SINGLE)
    extern void sgtsv_(const PetscBLASInt *, const PetscBLASInt *, float *, float *, float *, float *,
                       const PetscBLASInt *, PetscBLASInt *);
    sgtsv_(&bn, &one, dl, d, du, u, &bn, &info);
#else
    extern void dgtsv_(const PetscBLASInt *, const PetscBLASInt *, double *, double *, double *, double *,
                       const PetscBLASInt *, PetscBLASInt *);
    dgtsv_(&bn, &one, dl, d, du, u, &bn, &info);
#endif
    PetscCall(PetscFree3(dl, d, du));
  }
  PetscCheck(!info, PETSC_COMM_SELF, PETSC_ERR_LIB, "LAPACK info %d", (int)info);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode run(const Shape *c, BCRTriMethod method, int isa, BCRTriPrecision precision, int inplace)
{
  const size_t size = (size_t)c->inner * c->n * c->outer;
  const PetscInt across = c->inner / c->rep;
  BCRTriSpec spec;
  BCRTriOptions options;
  BCRTriLocal local;
  PetscReal *f, *u, *lf, *lu, *lx;
  double worst = 0, differ = 0, lapackerror = 0, tolerance;
  BCRTriInfo info;

  PetscFunctionBegin;
  PetscCall(make(c, &spec));
  PetscCall(PetscMemzero(&options, sizeof(options)));
  options.method = method;
  options.precision = precision;
  options.isa = isa;
  PetscCall(PetscMalloc5(size + 2, &f, size + 2, &u, c->n, &lf, c->n, &lu, c->n, &lx));
  for (size_t i = 0; i < size; i++) f[i] = (PetscReal)number();
  u[0] = u[size + 1] = 77;
  if (inplace) PetscCall(PetscArraycpy(u + 1, f, size));
  PetscCall(BCRTriLocalCreate(&spec, &options, &local));
  PetscCall(BCRTriLocalSolve(local, inplace ? u + 1 : f, u + 1));
  PetscCall(BCRTriLocalGetInfo(local, &info));
  PetscCall(BCRTriLocalDestroy(&local));
  for (PetscInt o = 0; o < c->outer; o++)
    for (PetscInt i = 0; i < c->inner; i++) {
      const PetscInt line = i / c->rep + across * o;
      double nu = 0;

      for (PetscInt j = 0; j < c->n; j++) {
        lf[j] = f[i + (size_t)c->inner * (j + (size_t)c->n * o)];
        lu[j] = u[1 + i + (size_t)c->inner * (j + (size_t)c->n * o)];
      }
      TestLargest(&worst, backward(&spec, line, lf, lu));
      if (c->inner > 200 && line % 16) continue; /* dense matrices take their time */
      PetscCall(lapack(&spec, line, lf, lx));
      TestLargest(&lapackerror, backward(&spec, line, lf, lx));
      for (PetscInt j = 0; j < c->n; j++) nu = PetscMax(nu, fabs((double)lx[j]));
      for (PetscInt j = 0; j < c->n; j++) TestLargest(&differ, fabs((double)(lu[j] - lx[j])) / nu);
    }
  tolerance = PetscDefined(USE_REAL_SINGLE) || precision == BCR_TRI_SINGLE ? 5e-7 : 1e-15;
  if (c->kind == KIND_WEAK || (c->kind == KIND_COMPACT && c->edges)) tolerance *= 100; /* growth */
  if (worst <= tolerance && u[0] == 77 && u[size + 1] == 77 && (c->kind != KIND_DOMINANT || differ <= 1e3 * tolerance))
    passed++;
  else {
    failed++;
    printf("%s, %s, inner %d n %d outer %d rep %d, general %d perline %d periodic %d edges %d, instruction set %d, "
           "precision %d, in place %d: backward error %g (LAPACK %g), difference %g [%s]\n",
           methodnames[method], kinds[c->kind], (int)c->inner, (int)c->n, (int)c->outer, (int)c->rep, c->general,
           c->perline, c->periodic, c->edges, isa, (int)precision, inplace, worst, lapackerror, differ, info.what);
  }
  PetscCall(PetscFree5(f, u, lf, lu, lx));
  PetscCall(unmake(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* what a method can solve */
static int can(BCRTriMethod method, const Shape *c)
{
  if (method == BCR_TRI_THOMAS || method == BCR_TRI_AUTO) return c->kind != KIND_WEAK || c->n < 12;
  if (method == BCR_TRI_SCAN || method == BCR_TRI_CR) return !c->general && c->kind != KIND_WEAK;
  return 0;
}

/* Lines that cannot be solved: an error at set-up */
static PetscErrorCode refuse(const char *what, const BCRTriSpec *spec, BCRTriMethod method, PetscErrorCode expected)
{
  BCRTriOptions options;
  BCRTriLocal local = NULL;
  PetscErrorCode ierr;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(&options, sizeof(options)));
  options.method = method;
  options.isa = -1;
  PetscCall(PetscPushErrorHandler(PetscReturnErrorHandler, NULL));
  ierr = BCRTriLocalCreate(spec, &options, &local);
  PetscCall(PetscPopErrorHandler());
  PetscCall(BCRTriLocalDestroy(&local));
  if (ierr == expected) passed++;
  else {
    failed++;
    printf("%s, %s: error %d, not %d\n", what, methodnames[method], (int)ierr, (int)expected);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode bad(void)
{
  PetscReal low[5] = {0, 1, 1, 1, 1}, diag[5] = {1, 1, 3, 3, 3}, up[5] = {1, 1, 1, 1, 0};
  BCRTriRows lines[2];
  BCRTriSpec spec;

  PetscFunctionBegin;
  PetscCall(PetscMemzero(lines, sizeof(lines)));
  PetscCall(PetscMemzero(&spec, sizeof(spec)));
  spec.inner = 1;
  spec.n = 5;
  spec.outer = 9;
  spec.rep = 1;
  spec.low = low;
  spec.diag = diag;
  spec.up = up;
  PetscCall(refuse("pivot of zero in row 1", &spec, BCR_TRI_THOMAS, PETSC_ERR_MAT_LU_ZRPVT));
  PetscCall(refuse("general lines", &spec, BCR_TRI_SCAN, PETSC_ERR_SUP));
  diag[3] = (PetscReal)NAN;
  PetscCall(refuse("NaN", &spec, BCR_TRI_AUTO, PETSC_ERR_FP));
  spec.low = spec.diag = spec.up = NULL;
  spec.rows = lines;
  spec.n = 100;
  for (int l = 0; l < 2; l++) {
    lines[l].row[0] = lines[l].row[2] = -1;
    lines[l].row[1] = 2;
  }
  spec.periodic = PETSC_TRUE; /* the constant is a solution of zero */
  PetscCall(refuse("periodic with d = 2", &spec, BCR_TRI_SCAN, PETSC_ERR_MAT_LU_ZRPVT));
  PetscCall(refuse("periodic with d = 2", &spec, BCR_TRI_THOMAS, PETSC_ERR_MAT_LU_ZRPVT));
  spec.periodic = PETSC_FALSE;
  spec.perline = PETSC_TRUE;
  spec.outer = 2;
  lines[1].row[1] = (PetscReal)1.5;
  PetscCall(refuse("second line not dominant", &spec, BCR_TRI_SCAN, PETSC_ERR_SUP));
  lines[1].row[0] = lines[1].row[1] = lines[1].row[2] = 0;
  PetscCall(refuse("second line zero", &spec, BCR_TRI_SCAN, PETSC_ERR_MAT_LU_ZRPVT));
  PetscCall(refuse("second line zero", &spec, BCR_TRI_THOMAS, PETSC_ERR_MAT_LU_ZRPVT));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const PetscInt shapes[][3] = {
    {1,   1, 1 },
    {1,   1, 0 },
    {3,   1, 2 },
    {1,   1, 9 },
    {2,   1, 10},
    {3,   1, 17},
    {7,   1, 3 },
    {8,   1, 1 },
    {13,  1, 1 },
    {38,  1, 2 },
    {130, 1, 1 }
  };
  static const PetscInt sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 16, 31, 33, 61, 130, 203};
  static const BCRTriMethod methods[] = {BCR_TRI_SCAN, BCR_TRI_CR, BCR_TRI_THOMAS};

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(TestSeed());
  for (size_t m = 0; m < PETSC_STATIC_ARRAY_LENGTH(methods); m++)
    for (size_t s = 0; s < PETSC_STATIC_ARRAY_LENGTH(shapes); s++)
      for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(sizes); k++)
        for (int kind = 0; kind <= KIND_WEAK; kind++) {
          if ((shapes[s][0] > 200) != (sizes[k] > 200)) continue; /* panels of columns */
          for (int v = 0; v < 4; v++) {
            Shape c = {
              shapes[s][0], sizes[k], shapes[s][2], 1, (Kind)kind, 0, v % 2, v / 2, (int)((s + k + v + kind) % 4)};

            for (c.general = 0; c.general < 2; c.general++) {
              if (c.general && (c.kind == KIND_NEARTWO || c.kind == KIND_COMPACT)) continue;
              /* singular */
              if (c.periodic && (c.kind == KIND_TWO || c.kind == KIND_NEARTWO) && (c.general || !c.edges)) continue;
              if (c.periodic && c.kind == KIND_WEAK) continue;
              if (c.inner % 2 == 0 && (s + k) % 2) c.rep = 2;
              if (TestTurn() && can(methods[m], &c)) {
                const int isa = (int)((s + k + v) % 3), precision = (int)((s + 2 * k + v + kind) % 3);

                PetscCall(run(&c, methods[m], isa, BCR_TRI_DOUBLE, (int)(k + v) % 2));
                if (precision == 1 || (precision == 2 && k % 3 == 0))
                  PetscCall(run(&c, methods[m], isa, (BCRTriPrecision)precision, (int)(k + v) % 2));
              }
            }
          }
        }
  PetscCall(bad());
  PetscCall(PetscFinalize());
  return TestStatus(1, (int)passed, (int)failed);
}
