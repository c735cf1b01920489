#!/usr/bin/env bash
# One of PETSc's own tutorials, compiled as shipped, with the plug-in loaded by options alone. The answer must be
# that of PETSc's LU (SVD where the operator is singular) on one rank, and each solver must have got there in the iterations of
# a direct solve.
# usage: run_tutorials.sh CASE PLUGIN WORKDIR [RANKS]    (PKG_CONFIG_PATH finds PETSc.pc; MPIEXEC: the launcher, for several ranks;
#        COMPILE_ONLY: no more than that; GPU_AWARE=1: MPI takes pointers to memory of CUDA devices)
# In snes-ex9 a membrane lies on an obstacle: rows of its Newton steps are those of the identity where it does, and once these are few the steps are
# solved directly, too; with its default type, as snes-ex9-rs, rows of active bounds are taken out of a matrix whose KSP keeps the DM of all, and what
# -pc_bcrpoisson_otherwise names stands in. snes-ex35 has MatZeroRowsColumnsStencil().
# cases: ex29 ex29-neumann ex45 ex32 ex50 ex45f snes-ex5 snes-ex9 snes-ex9-rs snes-ex35
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../scripts/lib.sh"

case_=$1 plugin=$2 work=$3 ranks=${4:-1}
petsc_use "" || die "pkg-config does not find PETSc: set PKG_CONFIG_PATH"
tutorials_dir

# program, options, reference solver; cg where the matrix is symmetric, gmres where its boundary rows are not
case $case_ in
  ex29) set -- ex29.c lu -da_refine 5 ;;
  ex29-neumann) set -- ex29.c svd -da_grid_x 13 -da_grid_y 18 -bc_type neumann ;;
  ex45) set -- ex45.c lu -da_grid_x 9 -da_grid_y 14 -da_grid_z 17 ;;
  ex32) set -- ex32.c svd ;;
  ex50) set -- ex50.c svd -da_grid_x 16 -da_grid_y 9 ;;
  ex45f) set -- ex45f.F90 lu -da_grid_x 30 -da_grid_y 47 ;;
  snes-ex5) set -- ../../../snes/tutorials/ex5.c lu -da_grid_x 21 -da_grid_y 34 -snes_rtol 1e-12 -snes_converged_reason ;;
  snes-ex9) set -- ../../../snes/tutorials/ex9.c lu -da_refine 3 -snes_type vinewtonssls -snes_rtol 1e-12 -snes_converged_reason ;;
  snes-ex9-rs) set -- ../../../snes/tutorials/ex9.c lu -da_refine 3 -snes_type vinewtonrsls -snes_rtol 1e-12 -snes_converged_reason ;;
  snes-ex35) set -- ../../../snes/tutorials/ex35.c lu -da_refine 3 -snes_rtol 1e-12 -snes_converged_reason ;;
  *) die "unknown case '$case_'" ;;
esac
source_=$1 reference=$2
shift 2
options=(-skip_petscrc "$@")
case "$petsc_kind" in *CUDA*) options+=(-use_gpu_aware_mpi "${GPU_AWARE:-0}") ;; esac
plugged=()
if [ -n "${TUTORIAL_OPTIONS:-}" ]; then read -ra plugged <<<"$TUTORIAL_OPTIONS"; fi # with the plug-in only: scripts/check-gpu
tolerance=1e-11
case "$petsc_kind" in *single*) tolerance=1e-4 ;; esac

# what is compared: the solution of the linear system, or where there are several, of the nonlinear one; how long its solvers may take
view=-ksp_view_solution more=0 which=1 # its first linear solve
case $case_ in snes-*)
  view=-snes_view_solution
  case $case_ in
    snes-ex5) more=20 ;; # near its turning point: the fit is not the operator
    snes-ex9 | snes-ex9-rs) which='$' ;;
  esac
  options+=(-ksp_rtol 1e-10)
  case "$petsc_kind" in *single*) options+=(-snes_rtol 1e-5 -ksp_rtol 1e-4) ;; esac
  ;;
esac
launch=()
if [ "$ranks" -gt 1 ]; then launch=("${MPIEXEC:-mpiexec}" -n "$ranks"); fi
name=$case_
if [ "$ranks" -gt 1 ]; then name=$case_-$ranks; fi
name=${TUTORIAL_FOLDER:-$name} # several runs of one case side by side: scripts/check-gpu

mkdir -p "$work/$name"
cd "$work/$name"
rm -f ./*.m ./*.txt
. "$here/tutorials.sh"
compile "$source_"
if [ -n "${COMPILE_ONLY:-}" ]; then exit 0; fi

if ! "$program" "${options[@]}" -ksp_type preonly -pc_type "$reference" $view ascii:reference.m:ascii_matlab >reference.txt 2>&1; then
  grep -v 'Configure options' reference.txt | tail -n 20
  die "$case_ failed without the plug-in"
fi

# run NAME MAXITS OPTION...
run() {
  local name=$1 maxits=$(($2 + more)) its diff
  shift 2
  if ! ${launch[@]+"${launch[@]}"} "$program" "${options[@]}" -dll_append "$plugin" ${plugged[@]+"${plugged[@]}"} "$@" -ksp_converged_reason -ksp_view $view "ascii:$name.m:ascii_matlab" >"$name.txt" 2>&1; then
    grep -v 'Configure options' "$name.txt" | tail -n 25
    fail "$name: the program failed"
    return
  fi
  grep -q 'type: bcrpoisson' "$name.txt" || fail "$name: the plug-in's solver was not used"
  case "${TUTORIAL_OPTIONS:-}" in *cuda*) grep -q 'backend: cuda' "$name.txt" || fail "$name: not on the device" ;; esac
  if [ "$case_" = snes-ex9 ]; then grep 'rows that differ: ' "$name.txt" | tail -n 1 | grep -q ': [1-9]' || fail "$name: the view has no rows that differ"; fi
  if [ "$case_" = snes-ex9-rs ]; then grep -q 'otherwise: another PC stands in, as PCBCRPOISSON found no grid: the DM of the KSP has 1089 unknowns' "$name.txt" || fail "$name: the view has no PC that stands in"; fi
  its=$(sed -n 's/.*Linear solve converged.*iterations \([0-9]*\).*/\1/p' "$name.txt" | sed -n "${which}p")
  if [ -z "$its" ]; then
    fail "$name: did not converge: $(grep 'Linear solve' "$name.txt" || true)"
  elif [ "$its" -gt "$maxits" ]; then
    fail "$name: $its iterations, more than $maxits"
  elif ! diff=$(difference reference.m "$name.m"); then
    fail "$name: no solution to compare: $diff"
  elif ! awk "BEGIN { exit !($diff <= $tolerance) }"; then
    fail "$name: differs by $diff from $reference"
  else
    echo "$case_: $name: $its iteration(s), differs by $diff from $reference"
    passed=$((passed + 1))
  fi
}

case $case_ in snes-*) ;; *) run preonly 1 -ksp_type preonly -pc_type bcrpoisson ;; esac
otherwise=()
if [ "$case_" = snes-ex9-rs ]; then otherwise=(-pc_bcrpoisson_otherwise redundant); fi
run gmres 2 -ksp_type gmres -pc_type bcrpoisson ${otherwise[@]+"${otherwise[@]}"}
case $case_ in snes-*) ;; *)
  if [ "$ranks" -eq 1 ]; then
    run cg 2 -ksp_type cg -pc_type bcrpoisson
    run richardson 2 -ksp_type richardson -pc_type bcrpoisson
  fi
  run ksp 3 -ksp_type bcrpoisson
  ;;
esac

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
