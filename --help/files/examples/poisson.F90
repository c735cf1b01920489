! ranks: 1 2
! The smallest program in Fortran: -Laplace u = 1 on the unit cube, u = 0 on its boundary, 31 x 31 x 31 unknowns.
!
!   mpif90 poisson.F90 `pkg-config --cflags --libs petscbcr`
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
  PetscInt       :: i, j, k, c, xs, ys, zs, xm, ym, zm, gx, gy, gz, mx, my, mz
  PetscInt       :: row(1), col(1), there(3)
  PetscInt, parameter :: n = 31, one = 1, three = 3
  PetscScalar    :: v(1)
  PetscReal      :: h, largest
  PetscMPIInt    :: rank
  integer        :: axis, step
  PetscErrorCode :: ierr

  call PetscInitialize(PETSC_NULL_CHARACTER, ierr)
  call PetscBCRInitializePackage(ierr)

  ! as DMDACreate3d() does, whose arguments are others in some releases of PETSc
  call DMDACreate(PETSC_COMM_WORLD, da, ierr)
  call DMSetDimension(da, three, ierr)
  call DMDASetSizes(da, n, n, n, ierr)
  call DMDASetDof(da, one, ierr)
  call DMDASetStencilType(da, DMDA_STENCIL_STAR, ierr)
  call DMDASetStencilWidth(da, one, ierr)
  call DMSetUp(da, ierr)
  call DMCreateMatrix(da, A, ierr)

  ! each rank sets the rows of its nodes; local numbers are those of its part with the nodes around it
  call DMDAGetCorners(da, xs, ys, zs, xm, ym, zm, ierr)
  call DMDAGetGhostCorners(da, gx, gy, gz, mx, my, mz, ierr)
  h = 1.0/real(n + 1, kind(h))
  do k = zs, zs + zm - 1
    do j = ys, ys + ym - 1
      do i = xs, xs + xm - 1
        row(1) = i - gx + mx*(j - gy + my*(k - gz))
        v(1) = 6.0/h**2
        call MatSetValuesLocal(A, one, row, one, row, v, INSERT_VALUES, ierr)
        v(1) = -1.0/h**2
        do axis = 1, 3
          do step = -1, 1, 2
            there = [i, j, k]
            there(axis) = there(axis) + step
            if (there(axis) < 0 .or. there(axis) >= n) cycle
            col(1) = there(1) - gx + mx*(there(2) - gy + my*(there(3) - gz))
            call MatSetValuesLocal(A, one, row, one, col, v, INSERT_VALUES, ierr)
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
  call MPI_Comm_rank(PETSC_COMM_WORLD, rank, ierr)
  if (rank == 0) print '(a, i0, a, f9.6)', 'iterations: ', c, ', largest u: ', largest
  if (c > 2 .or. abs(largest - 0.0562) > 2e-4) stop 1

  call KSPDestroy(solver, ierr)
  call VecDestroy(b, ierr)
  call VecDestroy(u, ierr)
  call MatDestroy(A, ierr)
  call DMDestroy(da, ierr)
  call PetscFinalize(ierr)
end program poisson
