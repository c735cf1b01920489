#!/usr/bin/env bash
# Compiles and runs one program of examples/ as its user would: with PETSc's compilers, petscbcr.h and -lpetscbcr.
# usage: run_example.sh FILE LIBDIR WORKDIR [OPTION...]
# PKG_CONFIG_PATH finds PETSc.pc, PYTHON is the interpreter, RUN a launcher (mpiexec -n 2)
set -euo pipefail
. "$(dirname "$0")/../scripts/lib.sh"

source_=$1 libdir=$2 work=$3
shift 3
petsc_use "" || die "pkg-config does not find PETSc: set PKG_CONFIG_PATH"
mkdir -p "$work"
name=$(basename "$source_")
link="-L$libdir -Wl,-rpath,$libdir -lpetscbcr $petsc_libs -lm"
case "$petsc_kind" in *CUDA*) set -- -use_gpu_aware_mpi 0 "$@" ;; esac
# shellcheck disable=SC2086
case $name in
  *.c)
    "${petsc_cc:-mpicc}" -O2 -Wall -Wextra -I"$root/include" $petsc_cflags "$source_" -o "$work/$name.exe" $link
    (cd "$work" && ${RUN:-} "./$name.exe" "$@") # some write files
    ;;
  *.F90)
    (cd "$work" && "${petsc_fc:-mpif90}" -O2 -ffree-line-length-0 -I"$root/include" $petsc_cflags "$source_" -o "$work/$name.exe" $link)
    ${RUN:-} "$work/$name.exe" "$@"
    ;;
  *.py)
    PETSC_DIR=$petsc_prefix PETSC_ARCH='' LD_LIBRARY_PATH=$libdir${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} ${RUN:-} "${PYTHON:-python3}" "$source_" "$@"
    ;;
  *) die "what is $source_?" ;;
esac
