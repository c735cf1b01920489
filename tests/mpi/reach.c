/*
  Which modes reach across a part between two interfaces (BCRSlabRowsReach(), by which devices choose what they send to
  all parts), against what leaving out the coupling between interface rows changes (BCRChainsCuts(), by which the host
  chooses): uniform axes of any ends, cut evenly and at random, modes of any decay.

  quick: 3
  ranks: 3 5
*/
#include "../petsc/testing.h"
#include "src/poisson/ranks.h"
#include "src/tridiagonal/chains.h"

#define MOST 8

static PetscMPIInt rank, size;

/* Rows of this rank, at least two */
static void Cut(PetscInt n, PetscBool even, PetscInt *first, PetscInt *m)
{
  PetscInt at = 0;

  for (PetscMPIInt q = 0; q < size; q++) {
    const PetscInt left = n - at, ranks = size - q;
    PetscInt len = left / ranks;

    if (!even && ranks > 1) len = 2 + (PetscInt)((double)(left - 2 * ranks) * TestUniform() * 1.5 / ranks);
    if (ranks == 1) len = left;
    if (q == rank) *first = at, *m = len;
    at += len;
  }
}

/* The largest effect of a coupling between two interface rows */
static PetscErrorCode Coupling(const BCRSlabRows *p, double lambda, double *largest)
{
  double low[MOST], diag[MOST], up[MOST], cut[MOST] = {0};
  const PetscInt n = p->ninterface;

  PetscFunctionBegin;
  *largest = 0;
  for (PetscInt i = 0; i < n; i++) {
    BCRSlabRowsInterface(p, i, lambda, 0, &low[i], &diag[i], &up[i], NULL);
    low[i] = -low[i];
    up[i] = -up[i];
  }
  PetscCall(BCRChainsCuts(n, 1, low, diag, up, p->periodic, cut));
  for (PetscInt i = 0; i < n - (p->periodic ? 0 : 1); i++) TestLargest(largest, cut[i]);
  PetscFunctionReturn(PETSC_SUCCESS);
}

int main(int argc, char **argv)
{
  const BCREnd ends[] = {BCR_END_DIRICHLET, BCR_END_NEUMANN, BCR_END_CELL_NEUMANN, BCR_END_CELL_DIRICHLET};
  double most = 0, least = HUGE_VAL; /* effects over eps: of what is left out, of what is kept beside it */
  int nout = 0;

  PetscFunctionBeginUser;
  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  PetscCall(TestSeed());
  PetscCallMPI(MPI_Comm_rank(PETSC_COMM_WORLD, &rank));
  PetscCallMPI(MPI_Comm_size(PETSC_COMM_WORLD, &size));
  for (int i = 0; i < 200; i++) {
    const PetscBool periodic = i % 5 == 0 ? PETSC_TRUE : PETSC_FALSE;
    const double eps = i % 2 ? 1e-17 : 1e-9, a = pow(10, 4 * TestUniform() - 2);
    BCRAxis x = {.n = size * (PetscInt)(3 + 300 * TestUniform() * TestUniform()), .a = (PetscReal)a};
    PetscInt first = 0, m = 0;
    BCRSlabRows p;

    for (int s = 0; s < 2; s++) x.end[s] = periodic ? BCR_END_PERIODIC : ends[(int)(4 * TestUniform())];
    Cut(x.n, i % 3 ? PETSC_TRUE : PETSC_FALSE, &first, &m);
    PetscCall(BCRSlabRowsCreate(PETSC_COMM_WORLD, 0, first, m, &x, &p));
    for (int k = 0; k < 200; k++) {
      const double lambda = a * pow(10, 10 * TestUniform() - 6);
      double effect;

      PetscCall(Coupling(&p, lambda, &effect));
      if (!BCRSlabRowsReach(&p, lambda, eps)) {
        nout++;
        TestLargest(&most, effect / eps);
      } else if (BCRSlabRowsReach(&p, lambda * 1.01, eps)) continue;
      else least = PetscMin(least, effect / eps);
    }
    PetscCall(BCRSlabRowsDestroy(&p));
  }
  if (rank == 0) printf("# %d modes left out: at most %g eps; kept next to them: at least %g eps\n", nout, most, least);
  Check(nout > 1000, "only %d modes do not reach across a part", nout);
  Check(most <= 1.1, "a mode that is left out has an effect of %g eps", most);
  Check(least >= .9, "a mode that is kept has an effect of %g eps", least);
  PetscCall(PetscFinalize());
  return TestStatus(rank == 0, (int)TestPassed, (int)TestFailed);
}
