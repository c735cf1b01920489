/*
  Rows that differ where coefficients vary along two or three axes (stretched grids): obstacles and coasts with columns kept,
  zeroed or without flux, two materials, wells, a pinned row, in rows as they are divided by volumes, symmetric, or each with a
  factor of its own, and where one axis is multiplied by numbers along another. Solved directly, also transposed and with other
  values: against PETSc's LU, and the equations.
  ranks: 1 3
*/
#include "../petsc/testing.h"
#include "../rows.h"
#include <petscbcr.h>
#include <petscksp.h>

typedef enum {
  KEPT,
  ZEROED,
  NOFLUX,
  MATERIAL,
  WELLS,
  PINNED
} What;

typedef enum {
  DISC, /* in the middle of the box, where the operator is read first */
  COAST /* along the first axis, so that all lines of the second one begin on land; and an island */
} Shape;

typedef enum {
  VOLUMES, /* symmetric */
  PLAIN,   /* over the volumes */
  FACTORS
} Form;

typedef struct {
  PetscInt dim, n[3];
  What what;
  Shape shape;
  Form form;
  PetscBool closed; /* all walls without flux, else held */
  double ratio;     /* of the largest cell to the smallest */
  PetscBool times;  /* what is along z is multiplied by numbers along x (cylinders, layers) */
} Case;

/* Width of cell i along axis d: small cells at both walls, at one, in the middle */
static double Width(const Case *c, PetscInt d, PetscInt i)
{
  const double a = ((double)i + .5) / (double)c->n[d], b = 2 * a - 1;

  return (d == 0   ? 1 / (1 + (c->ratio - 1) * b * b)
          : d == 1 ? exp(log(c->ratio) * a)
                   : 1 + (c->ratio - 1) * b * b) /
         (double)c->n[d];
}

static PetscBool Inside(const Case *c, const PetscInt ix[3])
{
  double x[3], r2 = 0;

  for (int d = 0; d < 3; d++) {
    x[d] = d < c->dim ? (ix[d] + .5) / (double)c->n[d] : .5;
    r2 += (x[d] - .5) * (x[d] - .5);
  }
  if (c->shape == DISC) return r2 < .15 * .15 ? PETSC_TRUE : PETSC_FALSE;
  if (x[1] < .12 + .06 * sin(9 * x[0])) return PETSC_TRUE;
  return (x[0] - .7) * (x[0] - .7) + (x[1] - .7) * (x[1] - .7) < .1 * .1 ? PETSC_TRUE : PETSC_FALSE;
}

static PetscBool Mask(const Case *c, const PetscInt ix[3])
{
  return c->what <= NOFLUX && Inside(c, ix) ? PETSC_TRUE : PETSC_FALSE;
}

static void Row(const void *ctx, const PetscInt N[3], const PetscInt ix[3], MatStencil cols[7], PetscScalar v[7],
                PetscInt *m)
{
  const Case *c = (const Case *)ctx;
  const PetscInt node = ix[0] + N[0] * (ix[1] + N[1] * ix[2]);
  const double k = c->what == MATERIAL && Inside(c, ix) ? 10 : 1;
  double factor = 1, diagonal = 0;

  *m = 1;
  for (int t = 0; t < 7; t++) cols[t] = (MatStencil){.i = ix[0], .j = ix[1], .k = ix[2]};
  v[0] = 4. * (double)(N[0] * N[0]); /* solutions of all rows are of one size, about */
  if (Mask(c, ix) || (c->what == PINNED && node == 2 * N[0] / 3 + N[0] * (N[1] / 3))) return;
  for (PetscInt d = 0; d < c->dim; d++) {
    if (c->form != PLAIN) factor *= Width(c, d, ix[d]) * (double)N[d];
  }
  if (c->form == FACTORS) factor = exp(sin(12.9 * (double)ix[0] + 78.2 * (double)ix[1] + 37.7 * (double)ix[2]));
  for (PetscInt d = 0; d < c->dim; d++) {
    const double h = Width(c, d, ix[d]), x = ((double)ix[0] + .5) / (double)c->n[0],
                 times = c->times && d == 2 ? 1 / ((.3 + x) * (.3 + x)) : 1;

    for (int s = 0; s < 2; s++) {
      PetscInt jx[3] = {ix[0], ix[1], ix[2]}, *to = d == 0 ? &cols[*m].i : (d == 1 ? &cols[*m].j : &cols[*m].k);
      double link;

      jx[d] += s ? 1 : -1;
      if (jx[d] < 0 || jx[d] == N[d]) {
        diagonal += c->closed ? 0 : factor * times * 2 * k / (h * h);
        continue;
      }
      if (c->what == NOFLUX && Mask(c, jx)) continue;
      link = factor * times * 2 / (h * (h / k + Width(c, d, jx[d]) / (c->what == MATERIAL && Inside(c, jx) ? 10 : 1)));
      diagonal += link;
      if (c->what == ZEROED && Mask(c, jx)) continue;
      *to = jx[d];
      v[(*m)++] = -link;
    }
  }
  if (c->what == WELLS && node % (N[0] * N[1] / 5) == N[0] / 4) diagonal *= 1.5;
  v[0] = diagonal;
}

static PetscErrorCode Run(const Case *c, const char *what, PetscBool print)
{
  const double bound = sizeof(PetscReal) == 4 ? 2e-5 : 1e-13;
  const PetscBool singular = (PetscBool)(c->closed && (c->what == MATERIAL || c->what == NOFLUX));
  PetscInt rows, solves = 0, first = 0;
  PetscReal backward, difference, worst = 0, most = 0;
  PetscMPIInt rank;
  char *text;
  Vec x, b;
  KSP ksp;
  PC pc;
  DM da;
  Mat A;

  PetscFunctionBegin;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(TestRowsCreate(c->dim, c->n, PETSC_DECIDE, PETSC_FALSE, Row, c, &da, &A));
  PetscCall(MatCreateVecs(A, &x, &b));
  PetscCall(TestKSPCreate(A, KSPPREONLY, &ksp, &pc));
  PetscCall(KSPSetFromOptions(ksp));
  for (int k = 0; k < 4; k++) {
    const PetscBool transpose = (PetscBool)(k == 2);
    KSPConvergedReason reason;

    if (singular && transpose) continue;
    PetscCall(TestUniformVec(singular ? x : b));
    if (singular) PetscCall(MatMult(A, x, b));
    if (k == 3) PetscCall(MatScale(A, -2));
    if (k == 3 && singular) PetscCall(VecScale(b, 3));
    PetscCall(transpose ? KSPSolveTranspose(ksp, b, x) : KSPSolve(ksp, b, x));
    PetscCall(KSPGetConvergedReason(ksp, &reason));
    PetscCall(PCBCRPoissonGetCapacitanceSolves(pc, &rows, &solves));
    if (k == 0) first = solves;
    Check(reason > 0, "%s, solve %d: reason %d", what, k, (int)reason);
    Check(rows > 0 && solves > 0 && solves <= 60, "%s, solve %d: %d rows differ, %d solves of the box", what, k,
          (int)rows, (int)solves);
    backward = difference = 0;
    PetscCall(TestBackwardError(A, transpose, b, x, &backward));
    Check(backward <= bound, "%s, solve %d: backward error %g", what, k, (double)backward);
    TestLargest(&worst, backward);
    if (singular) continue;
    PetscCall(TestAgainstReference(A, transpose, b, x, &difference));
    Check(difference <= TestDifferenceBound(), "%s, solve %d: differs from LU by %g", what, k, (double)difference);
    TestLargest(&most, difference);
  }
  PetscCall(TestViewText((PetscObject)pc, &text));
  Check(rank || strstr(text, "rows differ") != NULL, "%s: PCView() says\n%s", what, text);
  free(text);
  if (print)
    PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%-40s %5d rows, %2d solves, %2d; backward error %.1e, from LU %.1e\n",
                          what, (int)rows, (int)first, (int)solves, (double)worst, (double)most));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&x));
  PetscCall(VecDestroy(&b));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  static const char *const whats[] = {"kept", "zeroed", "no flux", "material", "wells", "pinned"}, *const forms[] = {
                                                                                                     "volumes", "plain",
                                                                                                     "factors"};
  PetscInt only = -1, number = 0;
  PetscBool print = PETSC_FALSE;
  PetscMPIInt rank;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(TestSeed());
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-print", &print, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-only", &only, NULL));
  for (PetscInt dim = 2; dim < 4; dim++)
    for (int what = KEPT; what <= PINNED; what++)
      for (int shape = DISC; shape <= (what < MATERIAL ? COAST : DISC); shape++)
        for (int k = VOLUMES; k <= FACTORS + 1; k++) {
          const PetscBool times = (PetscBool)(k > FACTORS); /* one more of each kind */
          const int form = times ? (what + 1) % 2 : k;
          const PetscBool closed = (PetscBool)(what >= NOFLUX && what != MATERIAL);
          Case c = {
            dim, {31, 28, 1},
             (What)what, (Shape)shape, (Form)form, closed, 5, times
          };
          char name[80];

          if (dim == 3) c.n[0] = 15, c.n[1] = 14, c.n[2] = 12;
          if (dim == 3 && shape == COAST)
            continue; /* more than an eighth of the rows differ, as in two dimensions of materials */
          PetscCall(PetscSNPrintf(name, sizeof(name), "%dD, %s, %s, %s%s%s", (int)dim, whats[what],
                                  shape ? "coast" : "disc", forms[form], closed ? ", closed" : "",
                                  times ? ", times" : ""));
          if (times ? dim == 2 : dim == 3 && form != what % 3) continue; /* few, for their time */
          if (only < 0 || only == number) PetscCall(Run(&c, name, print));
          number++;
        }
  PetscCall(PetscFinalize());
  return TestStatus(rank == 0, TestPassed, TestFailed);
}
