static char help[] =
  "Box stencils: bilinear and trilinear elements on squares and cubes, natural ends. PCBCRPOISSON beside the solve of\n\
the uniform box of 5 or 7 points on the same grid, in turn, and a copy of the vector; the plan of each.\n\
  -robin <0>      in place of elements those 5 or 7 points with a Robin value on all walls, mesh width times coefficient\n\
  -n2 <1025>      nodes along an axis in two dimensions, 0: none\n\
  -n3 <129>       and in three\n\
  -reps <9>       repetitions, of which the least time counts\n\
  -peers          CG with GAMG, and BoomerAMG where PETSc has it\n\
  -once <0>       1: the first one's solves alone, 2: those of the star, for counts of instructions\n\
On one core.\n\n";

#include "bench.h"
#include <math.h>

static PetscInt repetitions = 9;
static PetscReal robin = 0;

/* Along an axis of n nodes with natural ends: stiffness and mass in row i, entry off to its right; star: the mass lumped */
static double Along(PetscInt n, PetscInt i, PetscInt off, PetscBool stiffness, PetscBool box)
{
  const double w = i == 0 || i == n - 1 ? 0.5 : 1; /* elements beside the node, of two */

  if (stiffness) return off ? -1 : 2 * w + (box && w < 1 ? robin : 0);
  return box && robin == 0 ? (off ? 1. / 6 : 4. / 6 * w) : (off ? 0 : w);
}

static double Entry(PetscInt dim, PetscInt n, const PetscInt at[3], const PetscInt off[3], PetscBool box)
{
  double v = 0;

  for (PetscInt e = 0; e <= dim; e++) { /* stiffness along each axis, and some mass */
    double w = e < dim ? 1 : 1e-3;

    for (PetscInt d = 0; d < dim; d++) w *= Along(n, at[d], off[d], (PetscBool)(d == e), box);
    v += w;
  }
  return v;
}

static PetscErrorCode Assemble(PetscInt dim, PetscInt n, PetscBool box, DM *da, Mat *A)
{
  const DMBoundaryType none = DM_BOUNDARY_NONE;
  const DMDAStencilType type = box && robin == 0 ? DMDA_STENCIL_BOX : DMDA_STENCIL_STAR;
  DMDALocalInfo info;

  PetscFunctionBegin;
  if (dim == 2) PetscCall(DMDACreate2d(PETSC_COMM_SELF, none, none, type, n, n, 1, 1, 1, 1, NULL, NULL, da));
  else PetscCall(DMDACreate3d(PETSC_COMM_SELF, none, none, none, type, n, n, n, 1, 1, 1, 1, 1, NULL, NULL, NULL, da));
  PetscCall(DMSetUp(*da));
  PetscCall(DMCreateMatrix(*da, A));
  PetscCall(DMDAGetLocalInfo(*da, &info));
  for (PetscInt k = 0; k < info.zm; k++)
    for (PetscInt j = 0; j < info.ym; j++)
      for (PetscInt i = 0; i < info.xm; i++) {
        MatStencil row = {.i = i, .j = j, .k = k}, columns[27];
        PetscScalar values[27];
        PetscInt count = 0;

        for (PetscInt q = 0; q < 27; q++) {
          const PetscInt off[3] = {q % 3 - 1, q / 3 % 3 - 1, q / 9 - 1};
          MatStencil col = {.i = i + off[0], .j = j + off[1], .k = k + off[2]};
          const PetscInt at[3] = {i, j, k};
          const double v = dim == 2 && off[2] ? 0 : Entry(dim, n, at, off, box);

          if (v == 0 || col.i < 0 || col.i >= n || col.j < 0 || col.j >= n || col.k < 0 || col.k >= info.zm) continue;
          columns[count] = col;
          values[count++] = v;
        }
        PetscCall(MatSetValuesStencil(*A, 1, &row, count, columns, values, INSERT_VALUES));
      }
  PetscCall(MatAssemblyBegin(*A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(*A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef struct {
  DM da;
  Mat A;
  KSP ksp;
  double setup, solve, residual;
  PetscInt iterations;
} Solver;

static PetscErrorCode Create(PetscInt dim, PetscInt n, PetscBool box, KSPType type, PCType pctype, Solver *s)
{
  double start;
  PC pc;

  PetscFunctionBegin;
  s->solve = HUGE_VAL;
  PetscCall(Assemble(dim, n, box, &s->da, &s->A));
  PetscCall(KSPCreate(PETSC_COMM_SELF, &s->ksp));
  PetscCall(KSPSetOptionsPrefix(s->ksp, strcmp(pctype, PCBCRPOISSON) ? "peer_" : "bcr_"));
  PetscCall(KSPSetType(s->ksp, type));
  PetscCall(KSPSetTolerances(s->ksp, 1e-8, PETSC_DEFAULT, PETSC_DEFAULT, 1000));
  PetscCall(KSPGetPC(s->ksp, &pc));
  PetscCall(PCSetType(pc, pctype));
  PetscCall(KSPSetOperators(s->ksp, s->A, s->A));
  PetscCall(KSPSetFromOptions(s->ksp));
  start = BenchTime();
  PetscCall(KSPSetUp(s->ksp));
  s->setup = BenchTime() - start;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Solve(Solver *s, Vec b, Vec x)
{
  const double start = BenchTime();

  PetscFunctionBegin;
  PetscCall(KSPSolve(s->ksp, b, x));
  s->solve = PetscMin(s->solve, BenchTime() - start);
  PetscCall(KSPGetIterationNumber(s->ksp, &s->iterations));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Residual(Solver *s, Vec b, Vec x)
{
  PetscReal norm[2];
  Vec r;

  PetscFunctionBegin;
  PetscCall(KSPSolve(s->ksp, b, x));
  PetscCall(VecDuplicate(b, &r));
  PetscCall(MatMult(s->A, x, r));
  PetscCall(VecAYPX(r, -1, b));
  PetscCall(VecNorm(r, NORM_2, &norm[0]));
  PetscCall(VecNorm(b, NORM_2, &norm[1]));
  s->residual = (double)(norm[0] / norm[1]);
  PetscCall(VecDestroy(&r));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Destroy(Solver *s)
{
  PetscFunctionBegin;
  PetscCall(KSPDestroy(&s->ksp));
  PetscCall(MatDestroy(&s->A));
  PetscCall(DMDestroy(&s->da));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Once(PetscInt dim, PetscInt n, PetscBool box)
{
  Solver s;
  Vec b, x;

  PetscFunctionBegin;
  PetscCall(Create(dim, n, box, KSPPREONLY, PCBCRPOISSON, &s));
  PetscCall(MatCreateVecs(s.A, &x, &b));
  PetscCall(VecSetRandom(b, NULL));
  for (PetscInt r = 0; r < repetitions; r++) PetscCall(Solve(&s, b, x));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscCall(Destroy(&s));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The line of PCView() that says how it is solved */
static PetscErrorCode Plan(const Solver *s)
{
  char *text = NULL, *plan;

  PetscFunctionBegin;
  PetscCall(BenchViewText(s->ksp, &text));
  plan = strstr(text, "plan: ");
  printf("    %.*s\n", plan ? (int)strcspn(plan, "\n") : 0, plan ? plan : "");
  free(text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode Grid(PetscInt dim, PetscInt n, PetscBool peers)
{
  double copy = HUGE_VAL;
  static const char *const names[] = {
    PCGAMG,
#if defined(PETSC_HAVE_HYPRE)
    PCHYPRE,
#endif
  };
  Solver s[2], peer;
  Vec b, x;

  PetscFunctionBegin;
  for (int k = 0; k < 2; k++) PetscCall(Create(dim, n, k ? PETSC_FALSE : PETSC_TRUE, KSPPREONLY, PCBCRPOISSON, &s[k]));
  PetscCall(MatCreateVecs(s[0].A, &x, &b));
  PetscCall(VecSetRandom(b, NULL));
  for (PetscInt r = 0; r < repetitions; r++) { /* in turn */
    const double start = BenchTime();

    PetscCall(VecCopy(b, x));
    copy = PetscMin(copy, BenchTime() - start);
    for (int k = 0; k < 2; k++) PetscCall(Solve(&s[k], b, x));
  }
  for (int k = 0; k < 2; k++) PetscCall(Residual(&s[k], b, x));
  printf("%d^%d: copy %.3f ms\n", (int)n, (int)dim, 1e3 * copy);
  printf("  %-11s  set-up %8.1f ms, solve %8.2f ms, %6.1f copies, %.2f solves of the star, residual %.1e\n",
         robin == 0 ? "box stencil" : "Robin walls", 1e3 * s[0].setup, 1e3 * s[0].solve, s[0].solve / copy,
         s[0].solve / s[1].solve, s[0].residual);
  PetscCall(Plan(&s[0]));
  printf("  star         set-up %8.1f ms, solve %8.2f ms, %6.1f copies, residual %.1e\n", 1e3 * s[1].setup,
         1e3 * s[1].solve, s[1].solve / copy, s[1].residual);
  PetscCall(Plan(&s[1]));
  fflush(stdout);
  for (size_t k = 0; k < PETSC_STATIC_ARRAY_LENGTH(names) && peers; k++) {
    PetscCall(Create(dim, n, PETSC_TRUE, KSPCG, names[k], &peer));
    PetscCall(Solve(&peer, b, x));
    PetscCall(Residual(&peer, b, x));
    printf("  cg + %-7s set-up %8.1f ms, solve %8.2f ms, %6.1f copies, %d iterations, residual %.1e\n", names[k],
           1e3 * peer.setup, 1e3 * peer.solve, peer.solve / copy, (int)peer.iterations, peer.residual);
    PetscCall(Destroy(&peer));
  }
  for (int k = 0; k < 2; k++) PetscCall(Destroy(&s[k]));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&x));
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  PetscInt n[2] = {1025, 129}, once = 0;
  PetscBool peers = PETSC_FALSE;

  PetscCall(PetscInitialize(&argc, &argv, NULL, help));
  PetscCall(PetscBCRInitializePackage());
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-reps", &repetitions, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-robin", &robin, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n2", &n[0], NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n3", &n[1], NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-once", &once, NULL));
  PetscCall(PetscOptionsGetBool(NULL, NULL, "-peers", &peers, NULL));
  for (PetscInt d = 0; d < 2; d++) {
    if (!n[d]) continue;
    if (once) PetscCall(Once(d + 2, n[d], once == 1 ? PETSC_TRUE : PETSC_FALSE));
    else PetscCall(Grid(d + 2, n[d], peers));
  }
  PetscCall(PetscFinalize());
  return 0;
}
