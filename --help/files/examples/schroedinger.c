/* scalars: complex
   ranks: 1 2
   compare: -n 63 -steps 40

   A packet of waves between four hard walls: i psi_t = -1/2 lap(psi), psi = 0 on the walls of the unit square.

   Crank and Nicolson's time steps, (1 + i dt/2 H) psi' = (1 - i dt/2 H) psi: each is a Helmholtz problem with a complex shift, the same in
   every step. It needs a PETSc with complex scalars.

       ./schroedinger -pc_type gamg
       ./schroedinger -dll_append <petscbcr>/lib/libpetscbcr.so -pc_type bcrpoisson

   It knows nothing of petscbcr. Options: -n <255> nodes along a side, -steps <240>, -picture <schroedinger.ppm> (an empty name: none), and PETSc's.

   The steps of a sine along both axes are known, its amplitude is multiplied with (1 - i dt/2 l)/(1 + i dt/2 l), and the packet is a sum of
   sines: at the end psi is compared with theirs, node by node. */
#include <petscdmda.h>
#include <petscksp.h>

#if defined(PETSC_USE_COMPLEX)
typedef struct {
  PetscInt n, steps;
  PetscReal h, dt;
} Packet;

/* psi at the beginning: a Gaussian of width 0.06 that goes to the upper right, 12 waves along x and 7 along y */
static PetscScalar Begin(PetscReal x, PetscReal y)
{
  const PetscReal width = 0.06, r2 = PetscSqr(x - 0.3) + PetscSqr(y - 0.35);

  return PetscExpReal(-r2 / (4 * PetscSqr(width))) / (width * PetscSqrtReal(2 * PETSC_PI)) *
         PetscExpComplex(PETSC_i * 2 * PETSC_PI * (12 * x + 7 * y));
}

/* Hue of the phase, brightness of the size; rgb[3] */
static void Colour(PetscScalar psi, PetscReal most, unsigned char rgb[])
{
  const PetscReal phase = PetscAtan2Real(PetscImaginaryPart(psi), PetscRealPart(psi));
  const PetscReal size = PetscMin(1, 1.4 * PetscSqrtReal(PetscAbsScalar(psi) / most));

  for (PetscInt c = 0; c < 3; ++c)
    rgb[c] = (unsigned char)(255 * size * (0.5 + 0.5 * PetscCosReal(phase - 2 * PETSC_PI * (PetscReal)c / 3)));
}

/* All of psi, rows of the grid one after the other, on the first rank; nothing on the others. The caller frees it. */
static PetscErrorCode Gather(DM da, Vec psi, PetscInt n, PetscScalar **all)
{
  Vec natural, zero;
  VecScatter scatter;
  const PetscScalar *v;
  PetscMPIInt rank;

  PetscFunctionBeginUser;
  *all = NULL;
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(DMDACreateNaturalVector(da, &natural));
  PetscCall(DMDAGlobalToNaturalBegin(da, psi, INSERT_VALUES, natural));
  PetscCall(DMDAGlobalToNaturalEnd(da, psi, INSERT_VALUES, natural));
  PetscCall(VecScatterCreateToZero(natural, &scatter, &zero));
  PetscCall(VecScatterBegin(scatter, natural, zero, INSERT_VALUES, SCATTER_FORWARD));
  PetscCall(VecScatterEnd(scatter, natural, zero, INSERT_VALUES, SCATTER_FORWARD));
  if (!rank) {
    PetscCall(PetscMalloc1(n * n, all));
    PetscCall(VecGetArrayRead(zero, &v));
    PetscCall(PetscArraycpy(*all, v, n * n));
    PetscCall(VecRestoreArrayRead(zero, &v));
  }
  PetscCall(VecScatterDestroy(&scatter));
  PetscCall(VecDestroy(&zero));
  PetscCall(VecDestroy(&natural));
  PetscFunctionReturn(0);
}

/* out = in transformed by sines along both axes, S in S with S_kj = sin(pi (k + 1)(j + 1)/(n + 1)); all of [n][n] */
static void Sines(PetscInt n, const PetscReal S[], const PetscScalar in[], PetscScalar work[], PetscScalar out[])
{
  for (PetscInt pass = 0; pass < 2; ++pass) {
    const PetscScalar *from = pass ? work : in;
    PetscScalar *to = pass ? out : work;

    for (PetscInt r = 0; r < n; ++r) {
      for (PetscInt k = 0; k < n; ++k) {
        PetscScalar sum = 0;

        for (PetscInt j = 0; j < n; ++j) sum += S[k * n + j] * from[r * n + j];
        to[k * n + r] = sum; /* transposed: the other axis next, and back */
      }
    }
  }
}

/* Largest difference of psi, of the first rank, from the sum of sines after so many steps, over its largest value */
static PetscErrorCode Compare(const Packet *p, const PetscScalar psi[], PetscReal *off)
{
  const PetscInt n = p->n;
  PetscScalar *a, *b, *work;
  PetscReal *S, most = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscMalloc4(n * n, &a, n * n, &b, n * n, &work, n * n, &S));
  for (PetscInt k = 0; k < n; ++k) {
    for (PetscInt j = 0; j < n; ++j) {
      S[k * n + j] = PetscSinReal(PETSC_PI * (PetscReal)((k + 1) * (j + 1)) * p->h);
      a[k * n + j] = Begin((PetscReal)(j + 1) * p->h, (PetscReal)(k + 1) * p->h);
    }
  }
  Sines(n, S, a, work, b);
  for (PetscInt q = 0; q < n; ++q) {
    for (PetscInt k = 0; k < n; ++k) {
      const PetscReal s = PetscSqr(PetscSinReal(PETSC_PI * (PetscReal)(k + 1) * p->h / 2)) +
                          PetscSqr(PetscSinReal(PETSC_PI * (PetscReal)(q + 1) * p->h / 2));
      const PetscReal angle = PetscAtanReal(p->dt * s / PetscSqr(p->h)); /* of 1 + i dt/2 l, l = 2 s/h^2 */

      b[q * n + k] *= 4 * PetscSqr(p->h) * PetscExpComplex(-PETSC_i * 2 * angle * (PetscReal)p->steps);
    }
  }
  Sines(n, S, b, work, a);
  *off = 0;
  for (PetscInt i = 0; i < n * n; ++i) {
    *off = PetscMax(*off, PetscAbsScalar(psi[i] - a[i]));
    most = PetscMax(most, PetscAbsScalar(a[i]));
  }
  *off /= most;
  PetscCall(PetscFree4(a, b, work, S));
  PetscFunctionReturn(0);
}

int main(int argc, char **argv)
{
  Packet p = {255, 240, 0, 0};
  char picture[PETSC_MAX_PATH_LEN] = "schroedinger.ppm";
  enum {
    FRAMES = 4
  };
  PetscScalar *frame[FRAMES] = {NULL};
  PetscInt xs, ys, xm, ym, its, most = 0, total = 0;
  PetscReal norm, first, worst = 0, off = 0, sum[3] = {0, 0, 0};
  PetscMPIInt rank;
  DM da;
  Mat A;
  Vec psi, b, r;
  KSP ksp;
  PetscScalar **v;
  PetscBool failed = PETSC_FALSE;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-n", &p.n, NULL));
  PetscCall(PetscOptionsGetInt(NULL, NULL, "-steps", &p.steps, NULL));
  PetscCall(PetscOptionsGetString(NULL, NULL, "-picture", picture, sizeof(picture), NULL));
  p.h = 1 / (PetscReal)(p.n + 1);
  p.dt = 0.018 / (PetscReal)p.steps;

  PetscCall(DMDACreate2d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, p.n, p.n,
                         PETSC_DECIDE, PETSC_DECIDE, 1, 1, NULL, NULL, &da));
  PetscCall(DMSetFromOptions(da));
  PetscCall(DMSetUp(da));
  PetscCall(DMDAGetCorners(da, &xs, &ys, NULL, &xm, &ym, NULL));
  PetscCall(DMCreateMatrix(da, &A));
  PetscCall(DMCreateGlobalVector(da, &psi));
  PetscCall(VecDuplicate(psi, &b));
  PetscCall(VecDuplicate(psi, &r));
  PetscCall(DMDAVecGetArray(da, psi, &v));
  for (PetscInt j = ys; j < ys + ym; ++j) {
    for (PetscInt i = xs; i < xs + xm; ++i) {
      const PetscScalar side = -PETSC_i * p.dt / (4 * p.h * p.h);
      const PetscInt neighbour[4][2] = {
        {i - 1, j    },
        {i + 1, j    },
        {i,     j - 1},
        {i,     j + 1},
      };
      MatStencil row = {.i = i, .j = j}, column[5] = {row};
      PetscScalar value[5] = {(PetscScalar)1 - (PetscScalar)4 * side};
      PetscInt entries = 1;

      for (PetscInt k = 0; k < 4; ++k) {
        if (neighbour[k][0] < 0 || neighbour[k][0] >= p.n || neighbour[k][1] < 0 || neighbour[k][1] >= p.n) continue;
        column[entries] = (MatStencil){.i = neighbour[k][0], .j = neighbour[k][1]};
        value[entries++] = side;
      }
      PetscCall(MatSetValuesStencil(A, 1, &row, entries, column, value, INSERT_VALUES));
      v[j][i] = Begin((PetscReal)(i + 1) * p.h, (PetscReal)(j + 1) * p.h);
    }
  }
  PetscCall(DMDAVecRestoreArray(da, psi, &v));
  PetscCall(MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY));
  PetscCall(MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY));

  PetscCall(KSPCreate(PETSC_COMM_WORLD, &ksp));
  PetscCall(KSPSetDM(ksp, da));
  PetscCall(KSPSetDMActive(ksp, PETSC_FALSE));
  PetscCall(KSPSetOperators(ksp, A, A));
  PetscCall(KSPSetTolerances(ksp, PetscMax((PetscReal)1e-11, 100 * PETSC_MACHINE_EPSILON), PETSC_DEFAULT, PETSC_DEFAULT,
                             PETSC_DEFAULT));
  PetscCall(KSPSetErrorIfNotConverged(ksp, PETSC_TRUE));
  PetscCall(KSPSetFromOptions(ksp));
  PetscCall(VecNorm(psi, NORM_2, &first));
  for (PetscInt step = 0; step <= p.steps; ++step) {
    for (PetscInt f = 0; picture[0] && f < FRAMES; ++f)
      if (step == f * p.steps / (FRAMES - 1)) PetscCall(Gather(da, psi, p.n, &frame[f]));
    if (step == p.steps) break;
    PetscCall(MatMult(A, psi, b));
    PetscCall(VecAYPX(b, -1, psi));
    PetscCall(VecAXPY(b, 1, psi)); /* 2 psi - A psi */
    PetscCall(KSPSolve(ksp, b, psi));
    PetscCall(KSPGetIterationNumber(ksp, &its));
    total += its;
    most = PetscMax(most, its);
    PetscCall(MatMult(A, psi, r));
    PetscCall(VecAXPY(r, -1, b));
    PetscCall(VecNorm(r, NORM_2, &norm));
    worst = PetscMax(worst, norm / first);
  }
  PetscCall(VecNorm(psi, NORM_2, &norm));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD,
                        "%d x %d nodes, %d steps, %.2f iterations each, %d at most; |b - A psi| / |psi| <= %.1e\n",
                        (int)p.n, (int)p.n, (int)p.steps, (double)total / (double)p.steps, (int)most, (double)worst));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "the norm is kept to %.1e\n", (double)PetscAbsReal(norm / first - 1)));

  PetscCall(DMDAVecGetArrayRead(da, psi, &v));
  for (PetscInt j = ys; j < ys + ym; ++j) {
    for (PetscInt i = xs; i < xs + xm; ++i) {
      const PetscReal w = PetscSqr(PetscAbsScalar(v[j][i]) * p.h);

      sum[0] += w;
      sum[1] += w * (PetscReal)(i + 1) * p.h;
      sum[2] += w * (PetscReal)(j + 1) * p.h;
    }
  }
  PetscCall(DMDAVecRestoreArrayRead(da, psi, &v));
  PetscCallMPI(MPI_Allreduce(MPI_IN_PLACE, sum, 3, MPIU_REAL, MPIU_SUM, PETSC_COMM_WORLD));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "result: the packet's mean place %.7f %.7f\n", (double)(sum[1] / sum[0]),
                        (double)(sum[2] / sum[0])));

  {
    PetscScalar *all;

    PetscCall(Gather(da, psi, p.n, &all));
    if (!rank) {
      PetscCall(Compare(&p, all, &off));
      PetscCall(PetscPrintf(PETSC_COMM_SELF, "from the sum of sines, each by itself, psi is off by %.1e at most\n",
                            (double)off));
      failed = (PetscBool) !(off < PetscMax(1e-6, 1e4 * PETSC_MACHINE_EPSILON * (PetscReal)p.steps));
    }
    PetscCall(PetscFree(all));
  }
  if (picture[0] && !rank) {
    FILE *file = fopen(picture, "wb");
    PetscReal largest = 0;

    PetscCheck(file, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "Cannot write %s", picture);
    for (PetscInt i = 0; i < p.n * p.n; ++i) largest = PetscMax(largest, PetscAbsScalar(frame[0][i]));
    fprintf(file, "P6\n%d %d\n255\n", (int)(FRAMES * p.n), (int)p.n);
    for (PetscInt j = p.n - 1; j >= 0; --j) {
      for (PetscInt f = 0; f < FRAMES; ++f) {
        for (PetscInt i = 0; i < p.n; ++i) {
          unsigned char rgb[3];

          Colour(frame[f][j * p.n + i], largest, rgb);
          fwrite(rgb, 1, 3, file);
        }
      }
    }
    fclose(file);
  }
  for (PetscInt f = 0; f < FRAMES; ++f) PetscCall(PetscFree(frame[f]));
  PetscCall(KSPDestroy(&ksp));
  PetscCall(VecDestroy(&r));
  PetscCall(VecDestroy(&b));
  PetscCall(VecDestroy(&psi));
  PetscCall(MatDestroy(&A));
  PetscCall(DMDestroy(&da));
  PetscCall(PetscFinalize());
  return failed;
}
#else
int main(int argc, char **argv)
{
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(PetscPrintf(PETSC_COMM_WORLD, "A wave function needs a PETSc with complex scalars\n"));
  PetscCall(PetscFinalize());
  return 1;
}
#endif
