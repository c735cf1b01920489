/* scalars: complex
   ranks: 1 2
   compare: -n 30 -waves 1

   Sound in layers: -lap(u) - (k(z)^2 + i eps) u = a point source, u = 0 at the surface and at both ends, a hard floor.

   Sound is slower in the second of three layers, 1.25 times as many waves, and faster in the third, 0.8 times: the second one guides it. Each layer
   has its wave number, all absorb alike, so that one of the terms varies along one axis and the other is a complex shift. It needs a PETSc with
   complex scalars.

       ./layers -pc_type ilu
       ./layers -dll_append <petscbcr>/lib/libpetscbcr.so -pc_type bcrpoisson

   It knows nothing of petscbcr. Options: -n <170> nodes from the surface to the floor, 3 (n + 1) - 1 along it, -waves <12> of the first layer from the
   surface to the floor, -absorption <0.02> of k^2, -picture <layers.ppm> (an empty name: none), and PETSc's.

   What the source gives is what the layers absorb, eps sum |u|^2 = sum Im(conj(f) u) h^2, and source and receiver may change places. */
#include <petscdmda.h>
#include <petscksp.h>

#if defined(PETSC_USE_COMPLEX)
typedef struct {
  PetscInt m, n; /* nodes along the layers, and from the surface to the floor */
  PetscReal h, k, eps;
  DM da;
  Mat A;
  KSP ksp;
} Sea;

/* The square of the wave number at the depth z, from 0 to 1 */
static PetscReal Square(const Sea *s, PetscReal z)
{
  return PetscSqr(s->k * (PetscReal)(z < 0.3 ? 1 : z < 0.6 ? 1.25 : 0.8));
}

static PetscErrorCode Matrix(Sea *s)
{
  PetscInt xs, zs, xm, zm;

  PetscFunctionBeginUser;
  PetscCall(DMCreateMatrix(s->da, &s->A));
  PetscCall(DMDAGetCorners(s->da, &xs, &zs, NULL, &xm, &zm, NULL));
  for (PetscInt j = zs; j < zs + zm; ++j) {
    for (PetscInt i = xs; i < xs + xm; ++i) {
      const PetscInt neighbour[4][2] = {
        {i - 1, j    },
        {i + 1, j    },
        {i,     j - 1},
        {i,     j + 1},
      };
      MatStencil row = {.i = i, .j = j}, column[5] = {row};
      PetscScalar value[5];
      PetscInt entries = 1;

      value[0] = (j == s->n - 1 ? 3 : 4) - PetscSqr(s->h) * (Square(s, (PetscReal)(j + 1) * s->h) + PETSC_i * s->eps);
      for (PetscInt q = 0; q < 4; ++q) {
        if (neighbour[q][0] < 0 || neighbour[q][0] >= s->m || neighbour[q][1] < 0 || neighbour[q][1] >= s->n) continue;
        column[entries] = (MatStencil){.i = neighbour[q][0], .j = neighbour[q][1]};
        value[entries++] = -1;
      }
      PetscCall(MatSetValuesStencil(s->A, 1, &row, entries, column, value, INSERT_VALUES));
    }
  }
  PetscCall(MatAssemblyBegin(s->A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(s->A, MAT_FINAL_ASSEMBLY));
  PetscFunctionReturn(0);
}

/* The value at a node, on all ranks */
static PetscErrorCode At(const Sea *s, Vec u, const PetscInt node[2], PetscScalar *value)
{
  PetscInt xs, zs, xm, zm;
  PetscScalar **v, mine = 0;

  PetscFunctionBeginUser;
  PetscCall(DMDAGetCorners(s->da, &xs, &zs, NULL, &xm, &zm, NULL));
  PetscCall(DMDAVecGetArrayRead(s->da, u, &v));
  if (node[0] >= xs && node[0] < xs + xm && node[1] >= zs && node[1] < zs + zm) mine = v[node[1]][node[0]];
  PetscCall(DMDAVecRestoreArrayRead(s->da, u, &v));
  PetscCallMPI(MPI_Allreduce(&mine, value, 1, MPIU_SCALAR, MPIU_SUM, PETSC_COMM_WORLD));
  PetscFunctionReturn(0);
}

/* A source at a node; *off: the residual over the source */
static PetscErrorCode Solve(const Sea *s, const PetscInt node[2], Vec u, PetscReal *off)
{
  PetscInt xs, zs, xm, zm;
  PetscScalar **v;
  PetscReal norm;
  Vec f, r;

  PetscFunctionBeginUser;
  PetscCall(DMCreateGlobalVector(s->da, &f));
  PetscCall(VecDuplicate(f, &r));
  PetscCall(VecSet(f, 0));
  PetscCall(DMDAGetCorners(s->da, &xs, &zs, NULL, &xm, &zm, NULL));
  PetscCall(DMDAVecGetArray(s->da, f, &v));
  if (node[0] >= xs && node[0] < xs + xm && node[1] >= zs && node[1] < zs + zm) v[node[1]][node[0]] = 1;
  PetscCall(DMDAVecRestoreArray(s->da, f, &v));
  PetscCall(KSPSolve(s->ksp, f, u));
  PetscCall(MatMult(s->A, u, r));
  PetscCall(VecAXPY(r, -1, f));
  PetscCall(VecNorm(r, NORM_2, off));
  PetscCall(VecNorm(f, NORM_2, &norm));
  *off /= norm;
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&f));
  PetscFunctionReturn(0);
}

/* Crests are red, troughs blue, the lines between layers grey */
static PetscErrorCode Picture(const Sea *s, Vec u, const char name[])
{
  PetscMPIInt rank;
  Vec natural, zero;
  VecScatter scatter;

  PetscFunctionBeginUser;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(DMDACreateNaturalVector(s->da, &natural));
  PetscCall(DMDAGlobalToNaturalBegin(s->da, u, INSERT_VALUES, natural));
  PetscCall(DMDAGlobalToNaturalEnd(s->da, u, INSERT_VALUES, natural));
  PetscCall(VecScatterCreateToZero(natural, &scatter, &zero));
  PetscCall(VecScatterBegin(scatter, natural, zero, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(scatter, natural, zero, INSERT_VALUES, SCATTER_FORWARD));
  if (!rank) {
    FILE *file = fopen(name, "wb");
    const PetscScalar *v;
    PetscReal square = 0;

    PetscCheck(file, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot write %s", name);
    PetscCall(VecGetArrayRead(zero, &v));
    for (PetscInt q = 0; q < s->m * s->n; ++q) square += PetscSqr(PetscAbsScalar(v[q])) / (PetscReal)(s->m * s->n);
    fprintf(file, "P6\n%d %d\n255\n", (int)s->m, (int)s->n);
    for (PetscInt j = 0; j < s->n; ++j) {
      const PetscReal z = (PetscReal)(j + 1) * s->h;
      const PetscBool line = (PetscBool)(Square(s, z) != Square(s, z + s->h));

      for (PetscInt i = 0; i < s->m; ++i) {
        const PetscReal x = PetscRealPart(v[j * s->m + i]) / (3 * PetscSqrtReal(square)),
                        c = PetscMin(1, PetscAbsReal(x));
        const unsigned char pale = (unsigned char)(255 * (1 - c)),
                            rgb[3] = {x > 0 ? 255 : pale, pale, x > 0 ? pale : 255}, grey[3] = {120, 120, 120};

        fwrite(line ? grey : rgb, 1, 3, file);
      }
    }
    PetscCall(VecRestoreArrayRead(zero, &v));
    PetscCheck(fclose(file) == 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "Cannot write %s", name);
  }
  PetscCall(VecScatterDestroy(&scatter));
  PetscCall(VecDestroy(&zero));
  PetscCall(VecDestroy(&natural));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  char picture[PETSC_MAX_PATH_LEN] = "layers.ppm";
  PetscReal waves = 12, absorption = (PetscReal)0.02, off[2], sum, balance, change;
  PetscInt source[2], receiver[2], its;
  PetscScalar here, heard, back;
  PetscBool failed;
  Sea s = {.n = 170};
  Vec u, w;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &s.n, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-waves", &waves, NULL));
  PetscCall(PetscOptionsGetReal(NULL, NULL, "-absorption", &absorption, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-picture", picture, sizeof(picture), NULL));
  s.m = 3 * (s.n + 1) - 1;
  s.h = 1 / ((PetscReal)s.n + (PetscReal)0.5);
  s.k = 2 * PETSC_PI * waves;
  s.eps = absorption * PetscSqr(s.k);
  source[0] = s.m / 6;
  source[1] = s.n / 2;
  receiver[0] = 5 * s.m / 6;
  receiver[1] = s.n / 5;
  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, s.m, s.n,
                         PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &s.da));
  PetscCall(DMSetFromOptions(s.da));
  PetscCall(DMSetUp(s.da));
  PetscCall(Matrix(&s));
  PetscCall(KSPCreate(PETSC_COMM_WORLD, &s.ksp));
  PetscCall(KSPSetDM(s.ksp, s.da));
  PetscCall(KSPSetDMActive(s.ksp, PETSC_FALSE));
  PetscCall(KSPSetOperators(s.ksp, s.A, s.A));
  PetscCall(KSPSetTolerances(s.ksp, PetscMax((PetscReal)1e-10, 100 * PETSC_MACHINE_EPSILON), PETSC_DEFAULT,
                             PETSC_DEFAULT, PETSC_DEFAULT));
  PetscCall(KSPSetErrorIfNotConverged(s.ksp, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(s.ksp));
  PetscCall(DMCreateGlobalVector(s.da, &u));
  PetscCall(VecDuplicate(u, &w));
  PetscCall(Solve(&s, source, u, &off[0]));
  PetscCall(KSPGetIterationNumber(s.ksp, &its));
  PetscCall(Solve(&s, receiver, w, &off[1]));
  PetscCall(At(&s, u, source, &here));
  PetscCall(At(&s, u, receiver, &heard));
  PetscCall(At(&s, w, source, &back));
  PetscCall(VecNorm(u, NORM_2, &sum));
  balance = PetscSqr(s.h * sum) * s.eps / PetscImaginaryPart(here) - 1;
  change = PetscAbsScalar(heard - back) / PetscAbsScalar(heard);
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "%d x %d nodes, %d iterations, |b - A u| / |b| <= %.1e\n", (int)s.m, (int)s.n,
                        (int)its, (double)PetscMax(off[0], off[1])));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "result: the source gives %.8f, at the receiver there is 1e-3 times %.6f\n",
                        (double)PetscImaginaryPart(here), 1e3 * (double)PetscAbsScalar(heard)));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "what is absorbed is off from that by %.1e, source and receiver for one another by %.1e\n",
                        (double)PetscAbsReal(balance), (double)change));
  failed =
    (PetscBool) !(PetscMax(PetscAbsReal(balance), change) < PetscMax((PetscReal)1e-6, 1e5 * PETSC_MACHINE_EPSILON));
  if (picture[0]) PetscCall(Picture(&s, u, picture));
  PetscCall(VecDestroy(&w));
  PetscCall(VecDestroy(&u));
  PetscCall(KSPDestroy(&s.ksp));
  PetscCall(MatDestroy(&s.A));
  PetscCall(DMDestroy(&s.da));
  PetscCall(PetscFinalize());
  return failed;
}
#else
int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "layers.c needs a PETSc with complex scalars\n"));
  PetscCall(PetscFinalize());
  return 1;
}
#endif
