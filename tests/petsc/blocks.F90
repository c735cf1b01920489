! A Fortran program with numbers of its own: each of 2 x 2 ranks has a block of the grid and numbers its nodes x fastest, one block after the other, without
! a DMDA. -columns: blocks follow one another along y first, which no DMDA does. The solver comes from the options.
program blocks
#include <petsc/finclude/petscksp.h>
  use petscksp
  implicit none

  Mat            :: A
  Vec            :: b, u, exact
  KSP            :: solver
  PetscInt, parameter :: nx = 19, ny = 14, one = 1
  PetscInt       :: i, j, its, unknowns, row(1), col(1), there(2), mine(2), low(2), high(2)
  PetscScalar    :: v(1), diagonal
  PetscReal      :: error, size, coupling(2), bound
  PetscMPIInt    :: rank, ranks
  PetscBool      :: columns
  integer        :: axis, step
  PetscErrorCode :: ierr

  call PetscInitialize(PETSC_NULL_CHARACTER, ierr)
  call MPI_Comm_rank(PETSC_COMM_WORLD, rank, ierr)
  call MPI_Comm_size(PETSC_COMM_WORLD, ranks, ierr)
  if (ranks /= 4) stop 2
  call PetscOptionsHasName(PETSC_NULL_OPTIONS, PETSC_NULL_CHARACTER, '-columns', columns, ierr)
  mine = [mod(rank, 2), rank/2]
  if (columns) mine = [rank/2, mod(rank, 2)]
  low = [cut(nx, mine(1)), cut(ny, mine(2))]
  high = [cut(nx, mine(1) + 1), cut(ny, mine(2) + 1)]

  unknowns = (high(1) - low(1))*(high(2) - low(2))
  call MatCreate(PETSC_COMM_WORLD, A, ierr)
  call MatSetSizes(A, unknowns, unknowns, PETSC_DETERMINE, PETSC_DETERMINE, ierr)
  call MatSetType(A, MATAIJ, ierr)
  call MatSetUp(A, ierr)
  call MatSetOption(A, MAT_NEW_NONZERO_ALLOCATION_ERR, PETSC_FALSE, ierr)

  ! u = 0 behind the ends along x, no flux at those along y; other spacings along x and y
  coupling = [3.7, 1.3]
  do j = low(2), high(2) - 1
    do i = low(1), high(1) - 1
      row(1) = number(i, j)
      diagonal = 2.0*coupling(1)
      do axis = 1, 2
        do step = -1, 1, 2
          there = [i, j]
          there(axis) = there(axis) + step
          if (there(axis) < 0 .or. there(1) >= nx .or. there(2) >= ny) cycle
          if (axis == 2) diagonal = diagonal + coupling(2)
          col(1) = number(there(1), there(2))
          v(1) = -coupling(axis)
          call MatSetValues(A, one, row, one, col, v, INSERT_VALUES, ierr)
        end do
      end do
      v(1) = diagonal
      call MatSetValues(A, one, row, one, row, v, INSERT_VALUES, ierr)
    end do
  end do
  call MatAssemblyBegin(A, MAT_FINAL_ASSEMBLY, ierr)
  call MatAssemblyEnd(A, MAT_FINAL_ASSEMBLY, ierr)

  call MatCreateVecs(A, u, b, ierr)
  call VecDuplicate(u, exact, ierr)
  do j = low(2), high(2) - 1
    do i = low(1), high(1) - 1
      row(1) = number(i, j)
      v(1) = sin(1.7*i) + mod(7*i + 5*j, 11)/11.0
      call VecSetValues(exact, one, row, v, INSERT_VALUES, ierr)
    end do
  end do
  call VecAssemblyBegin(exact, ierr)
  call VecAssemblyEnd(exact, ierr)
  call MatMult(A, exact, b, ierr)

  call KSPCreate(PETSC_COMM_WORLD, solver, ierr)
  call KSPSetOperators(solver, A, A, ierr)
  call KSPSetFromOptions(solver, ierr)
  call KSPSolve(solver, b, u, ierr)
  if (ierr /= 0) stop 1
  call KSPGetIterationNumber(solver, its, ierr)
  v(1) = -1.0
  call VecAXPY(u, v(1), exact, ierr)
  call VecNorm(u, NORM_2, error, ierr)
  call VecNorm(exact, NORM_2, size, ierr)
  bound = 1e4*epsilon(error)
  if (rank == 0) print '(a, i0, a, es9.2)', 'iterations: ', its, ', error: ', error/size
  if (its > 2 .or. .not. error <= bound*size) stop 1

  call KSPDestroy(solver, ierr)
  call VecDestroy(b, ierr)
  call VecDestroy(u, ierr)
  call VecDestroy(exact, ierr)
  call MatDestroy(A, ierr)
  call PetscFinalize(ierr)

contains
  ! the first node of part p of two, the larger one last
  PetscInt function cut(n, p)
    PetscInt, intent(in) :: n, p
    cut = n*p/2
  end function cut

  PetscInt function number(i, j)
    PetscInt, intent(in) :: i, j
    PetscInt :: px, py, width
    px = merge(1, 0, i >= cut(nx, one))
    py = merge(1, 0, j >= cut(ny, one))
    width = cut(nx, px + 1) - cut(nx, px)
    if (columns) then ! the blocks before: all of the columns on the left, and those below in this one
      number = cut(nx, px)*ny + width*cut(ny, py)
    else
      number = cut(ny, py)*nx + cut(nx, px)*(cut(ny, py + 1) - cut(ny, py))
    end if
    number = number + (i - cut(nx, px)) + width*(j - cut(ny, py))
  end function number
end program blocks
