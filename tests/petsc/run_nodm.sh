#!/usr/bin/env bash
# One of PETSc's own ksp tutorials that have no DMDA, compiled as shipped, with the plug-in loaded by options alone: the grid is found in the matrix.
# The answer must be that of PETSc's LU of all unknowns on one rank, in the iterations of a direct solve. Matrices of bilinear elements
# must end with an error that says so; with -pc_bcrpoisson_otherwise another PC solves them. ex11, Helmholtz with a complex shift, is for complex scalars.
# usage: run_nodm.sh CASE PLUGIN WORKDIR [RANKS]    (as run_tutorials.sh)
# cases: ex1 ex2 ex3 ex5 ex7 ex8 ex9 ex11 ex12 ex13 ex15 ex16 ex23 ex52 ex54
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/lib.sh"
. "$here/tutorials.sh"

case_=$1 plugin=$2 work=$3 ranks=${4:-1}
petsc_use "" || die "pkg-config does not find PETSc: set PKG_CONFIG_PATH"
tutorials_dir
case "$case_ $petsc_kind" in
  "ex11 real"*)
    echo "ex11 needs complex scalars"
    exit 77
    ;;
esac
mkdir -p "$work/$case_-$ranks"
cd "$work/$case_-$ranks"
rm -f ./*.m ./*.txt
compile "$case_.c"
if [ -n "${COMPILE_ONLY:-}" ]; then exit 0; fi

common=(-skip_petscrc)
case "$petsc_kind" in *CUDA*) common+=(-use_gpu_aware_mpi "${GPU_AWARE:-0}") ;; esac
tolerance=1e-11
case "$petsc_kind" in *single*) tolerance=1e-4 ;; esac
launch=()
if [ "$ranks" -gt 1 ]; then launch=("${MPIEXEC:-mpiexec}" -n "$ranks"); fi

# numbers NAME: the solutions of a run, a line each. On several ranks each of them writes those of ex13: there it is the norm of the error that is printed
numbers() {
  if [ "$case_" = ex13 ] && [ "$ranks" -gt 1 ]; then sed -n 's/.*error norm//p' "$1.txt"; else cat "$1.m"; fi >"$1.numbers"
}

# execute NAME OPTION...: all solutions go to a file
execute() {
  local name=$1
  shift
  ${launch[@]+"${launch[@]}"} "$program" "${common[@]}" "$@" -ksp_converged_reason -ksp_view -ksp_view_solution "ascii:$name.m:ascii_matlab" >"$name.txt" 2>&1
}

# reference OPTION...: redundant is LU of the whole matrix on each rank. Programs that start from a guess want a method that takes one
reference() {
  local type=preonly
  case $case_ in ex3 | ex9) type=gmres ;; esac
  if ! execute reference "$@" -ksp_type $type -ksp_rtol 1e-13 -pc_type redundant || ! numbers reference; then
    grep -v 'Configure options' reference.txt | tail -n 20
    die "$case_ failed without the plug-in"
  fi
}

# solved NAME WORDS OPTION...: the answer of LU, in up to two iterations, by the PC whose view has these words
solved() {
  local name=$1 words=$2 its diff
  shift 2
  if ! execute "$name" -dll_append "$plugin" "$@"; then
    grep -v 'Configure options' "$name.txt" | tail -n 25
    fail "$name: the program failed"
    return
  fi
  grep -qE "$words" "$name.txt" || fail "$name: its view lacks '$words'"
  its=$(sed -n 's/.*Linear .*solve converged.*iterations \([0-9]*\).*/\1/p' "$name.txt" | sort -n | tail -n 1)
  if [ -z "$its" ] || grep -q 'solve did not converge' "$name.txt"; then
    fail "$name: did not converge: $(grep 'solve did not' "$name.txt" || true)"
  elif [ "$its" -gt 2 ]; then
    fail "$name: $its iterations"
  elif ! numbers "$name" || ! diff=$(difference reference.numbers "$name.numbers"); then
    fail "$name: no solution to compare: $diff"
  elif ! awk "BEGIN { exit !($diff <= $tolerance) }"; then
    fail "$name: differs by $diff from LU"
  else
    echo "$case_: $name: $its iteration(s), differs by $diff from LU"
    passed=$((passed + 1))
  fi
}

# refused NAME WORDS OPTION...: ends with an error that has these words
refused() {
  local name=$1 words=$2
  shift 2
  if execute "$name" -dll_append "$plugin" "$@"; then fail "$name: no error where '$words' was due"; elif grep -q "PETSC ERROR: .*$words" "$name.txt"; then
    echo "$case_: $name: refused, $words"
    passed=$((passed + 1))
  else
    grep -v 'Configure options' "$name.txt" | tail -n 25
    fail "$name: no '$words' in its error"
  fi
}

found='grid: .*, found in the matrix, rows in natural order'
poisson=(-pc_type bcrpoisson) otherwise=(-pc_type bcrpoisson -pc_bcrpoisson_otherwise redundant) instead='otherwise: another PC stands in'
case $case_ in
  ex1 | ex23)
    reference -n 50
    solved gmres "$found" -n 50 "${poisson[@]}"
    solved preonly "$found" -n 50 -ksp_type preonly "${poisson[@]}"
    solved lines 'type: neato' -n 50 -pc_type neato
    ;;
  ex3 | ex54)
    if [ "$case_" = ex3 ]; then set -- -m 11; else set -- -ne 11; fi
    reference "$@"
    refused nine-points 'outside the 5-point star' "$@" "${poisson[@]}"
    solved otherwise "$instead" "$@" "${otherwise[@]}"
    ;;
  ex5 | ex7)
    reference -m 21
    solved gmres "$found" -m 21 "${poisson[@]}"
    solved preonly "$found" -m 21 -ksp_type preonly "${poisson[@]}"
    ;;
  ex9) # three pairs of systems, the first ones with the last solution as the guess; two of them are indefinite where there are three ranks
    reference -s2_pc_type redundant
    solved gmres "$found" "${poisson[@]}" -s2_pc_type bcrpoisson
    reference -s2_pc_type redundant -unsym 0
    solved symmetric "$found" -unsym 0 "${poisson[@]}" -s2_pc_type bcrpoisson
    ;;
  ex11)
    reference -norandom -n 21
    solved gmres "$found" -norandom -n 21 "${poisson[@]}"
    solved preonly 'shift .*[0-9] i, overall' -norandom -n 21 -ksp_type preonly "${poisson[@]}" -pc_bcrpoisson_fit exact
    ;;
  *)
    reference -m 19 -n 14
    solved gmres "$found" -m 19 -n 14 "${poisson[@]}"
    solved preonly "$found" -m 19 -n 14 -ksp_type preonly "${poisson[@]}"
    ;;
esac

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
