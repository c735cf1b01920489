#!/usr/bin/env bash
# Compiles and runs one program of examples/ as its user would: with PETSc's compilers, petscbcr.h and -lpetscbcr.
# A program with comment lines "compare:" or "options:" knows nothing of this library. It is run once for each such line, with these options and the
# plug-in loaded by options: every solve must be a direct one, of up to two iterations. With "compare:" it is also run with PETSc's GAMG, and
# the numbers in what it prints as "result" must be alike; those with "options:", longer ones, are run on one rank only.
# usage: run_example.sh FILE LIBDIR WORKDIR [OPTION...]
# PKG_CONFIG_PATH finds PETSc.pc, PYTHON is the interpreter, RUN a launcher (mpiexec -n 2)
set -euo pipefail
. "$(dirname "$0")/../scripts/lib.sh"

source_=$(realpath "$1") libdir=$(realpath "$2")
name=$(basename "$source_")
work=$3/$name${RUN:+-ranks} # a folder for each run: they go on side by side
shift 3
petsc_use "" || die "pkg-config does not find PETSc: set PKG_CONFIG_PATH"
mkdir -p "$work"
link="-L$libdir -Wl,-rpath,$libdir -lpetscbcr $petsc_libs -lm"
mapfile -t lines < <(sed -n -E 's,^[ /*#]*(compare|options): *(.*)$,\1 \2,; T; s, *\*/ *$,,; p' "$source_")
case "$petsc_kind" in *CUDA*) set -- -use_gpu_aware_mpi 0 "$@" ;; esac
if [ ${#lines[@]} -gt 0 ]; then link="$petsc_libs -lm"; fi

# shellcheck disable=SC2086
case $name in
  *.c) "${petsc_cc:-mpicc}" -O2 -Wall -Wextra -I"$root/include" $petsc_cflags "$source_" -o "$work/$name.exe" $link ;;
  *.F90) (cd "$work" && "${petsc_fc:-mpif90}" -O2 -ffree-line-length-0 -I"$root/include" $petsc_cflags "$source_" -o "$work/$name.exe" $link) ;;
  *.py) ;;
  *) die "what is $source_?" ;;
esac

# execute OPTION...: in the folder of its own that it writes its files to
execute() {
  case $name in
    *.py) (cd "$work" && PETSC_DIR=$petsc_prefix PETSC_ARCH='' PETSCBCR_LIBRARY=$libdir/libpetscbcr.so PYTHONPATH=$root/packaging/python${PYTHONPATH:+:$PYTHONPATH} ${RUN:-} "${PYTHON:-python3}" "$source_" "$@") ;;
    *) (cd "$work" && ${RUN:-} "./$name.exe" "$@") ;;
  esac
}

if [ ${#lines[@]} -eq 0 ]; then
  execute "$@"
  exit
fi

plugged=(-dll_append "$libdir/libpetscbcr.so" -pc_type bcrpoisson -pc_bcrpoisson_fit exact -ksp_max_it 2)
tolerance=1e-5
case "$petsc_kind" in *single*) tolerance=1e-2 ;; esac
for line in "${lines[@]}"; do
  read -ra words <<<"$line"
  if [ "${words[0]}" = options ] && [ -n "${RUN:-}" ]; then continue; fi
  execute "${plugged[@]}" "${words[@]:1}" "$@" | tee "$work/bcrpoisson.txt"
  if [ "${words[0]}" = options ]; then continue; fi
  execute -pc_type gamg "${words[@]:1}" "$@" >"$work/gamg.txt"
  for pc in bcrpoisson gamg; do sed -n '/^result/p' "$work/$pc.txt" | grep -oE '[-+]?[0-9]+[.][0-9]+' >"$work/$pc.numbers" || die "$pc: no result"; done
  paste "$work/bcrpoisson.numbers" "$work/gamg.numbers" | awk -v tolerance=$tolerance '
    function abs(x) { return x < 0 ? -x : x }
    NF != 2 || !(abs($1 - $2) <= tolerance * abs($2)) { print "with bcrpoisson " $1 ", with gamg " $2; bad = 1 }
    END { if (!bad) print NR " numbers are those that gamg gives"; exit bad }'
done
