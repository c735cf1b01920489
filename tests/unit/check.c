/* The tests' own tools (tests/check.h): a maximum keeps a NaN that finite numbers follow, and takes
   it through MPI_MAX.

  quick: 1
*/
#include <petscsys.h>
#include "tests/check.h"

int main(int argc, char **argv)
{
  const double e[] = {1e-16, NAN, NAN, 2e-16, 1e-16};
  double worst = 0, none = 0, all;
  int failed;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
  for (int i = 0; i < 5; i++) TestLargest(&worst, e[i]);
  for (int i = 0; i < 5; i++) TestLargest(&none, i == 1 || i == 2 ? 0 : e[i]);
  PetscCallMPI(MPI_Allreduce(&worst, &all, 1, MPI_DOUBLE, MPI_MAX, PETSC_COMM_WORLD));
  failed = (worst <= 1e300) + (all <= 1e300) + (none != 2e-16);
  PetscCall(PetscFinalize());
  return TestStatus(1, 3 - failed, failed);
}
