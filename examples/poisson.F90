! The smallest program in Fortran: -Laplace u = 1 on the unit cube, u = 0 on its boundary, 31 x 31 x 31 unknowns.
!
!   mpif90 poisson.F90 -L<petscbcr>/lib -lpetscbcr `pkg-config --cflags --libs PETSc`
program poisson
#include <petsc/finclude/petscksp.h>
#include <petsc/finclude/petscdmda.h>
  use petscksp
  use petscdmda
  implicit none

  DM             :: da
  Mat            :: A
  Vec            :: b, u
  KSP            :: solver
  PC             :: prec
  PetscInt       :: i, j, k, c
  PetscInt, parameter :: n = 31, one = 1
  PetscScalar    :: v(1)
  PetscReal      :: h, largest
  MatStencil     :: row(4), col(4)
  integer        :: there(3), axis, step
  PetscErrorCode :: ierr

  call PetscInitialize(PETSC_NULL_CHARACTER, ierr)
  call PetscBCRInitializePackage(ierr)

  call DMDACreate3d(PETSC_COMM_WORLD, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DM_BOUNDARY_NONE, DMDA_STENCIL_STAR, n, n, n, &
                    PETSC_DECIDE, PETSC_DECIDE, PETSC_DECIDE, one, one, PETSC_NULL_INTEGER, PETSC_NULL_INTEGER, &
                    PETSC_NULL_INTEGER, da, ierr)
  call DMSetUp(da, ierr)
  call DMCreateMatrix(da, A, ierr)
  h = 1.0/real(n + 1, kind(h))
  row = 0
  do k = 0, n - 1
    do j = 0, n - 1
      do i = 0, n - 1
        row(MatStencil_i) = i
        row(MatStencil_j) = j
        row(MatStencil_k) = k
        v(1) = 6.0/h**2
        call MatSetValuesStencil(A, one, row, one, row, v, INSERT_VALUES, ierr)
        v(1) = -1.0/h**2
        do axis = 1, 3
          do step = -1, 1, 2
            there = [int(i), int(j), int(k)]
            there(axis) = there(axis) + step
            if (there(axis) < 0 .or. there(axis) >= n) cycle
            col = 0
            col(MatStencil_i) = there(1)
            col(MatStencil_j) = there(2)
            col(MatStencil_k) = there(3)
            call MatSetValuesStencil(A, one, row, one, col, v, INSERT_VALUES, ierr)
          end do
        end do
      end do
    end do
  end do
  call MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY, ierr)
  call MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY, ierr)
  call DMCreateGlobalVector(da, u, ierr)
  call VecDuplicate(u, b, ierr)
  v(1) = 1.0
  call VecSet(b, v(1), ierr)

  call KSPCreate(PETSC_COMM_WORLD, solver, ierr)
  call KSPSetOperators(solver, A, A, ierr)
  call KSPSetType(solver, KSPCG, ierr)
  call KSPGetPC(solver, prec, ierr)
  call PCSetType(prec, 'bcrpoisson', ierr)
  call KSPSetFromOptions(solver, ierr)
  call KSPSolve(solver, b, u, ierr)
  call KSPGetIterationNumber(solver, c, ierr)

  ! the exact solution has its maximum in the middle, 0.0562...
  call VecMax(u, PETSC_NULL_INTEGER, largest, ierr)
  print '(a, i0, a, f9.6)', 'iterations: ', c, ', largest u: ', largest
  if (c > 2 .or. abs(largest - 0.0562) > 2e-4) stop 1

  call KSPDestroy(solver, ierr)
  call VecDestroy(b, ierr)
  call VecDestroy(u, ierr)
  call MatDestroy(A, ierr)
  call DMDestroy(da, ierr)
  call PetscFinalize(ierr)
end program poisson
