#!/usr/bin/env bash
# A library that was built for another PETSc is refused with one sentence that names both, whatever way it came into the program.
# usage: mismatch.sh WORKDIR                  pretended ones: registration alone, compiled as if this PETSc (PKG_CONFIG_PATH) had another release,
#                                             scalars, precision or indices
#        mismatch.sh WORKDIR BUILD_DIR...     the libraries in these build folders, each in programs of the PETSc of each other one
set -euo pipefail
. "$(dirname "$0")/../../scripts/lib.sh"
work=$1
shift
mkdir -p "$work"
work=$(cd "$work" && pwd)
passed=0 failed=0

# petsc_words: "PETSc 3.18 (real, double precision, 32-bit indices)" of the one in use
petsc_words() {
  local conf scalars=real precision=double bits=32
  conf=$(pkg-config --variable=includedir "$petsc_module")/petscconf.h
  if grep -q 'define PETSC_USE_COMPLEX' "$conf"; then scalars=complex; fi
  if grep -q 'define PETSC_USE_REAL_SINGLE' "$conf"; then precision=single; fi
  if grep -q 'define PETSC_USE_64BIT_INDICES' "$conf"; then bits=64; fi
  echo "PETSc $petsc_series ($scalars, $precision precision, $bits-bit indices)"
}
# the other of two words
other() { if [ "$1" = "$2" ]; then echo "$3"; else echo "$2"; fi; }

# compile OUT SOURCE OPTION...: by the compiler of the PETSc in use
compile() {
  local out=$1
  shift
  # shellcheck disable=SC2086
  "${petsc_cc:-mpicc}" -O0 "$@" -I"$root/include" $petsc_cflags -o "$out" $petsc_libs -ldl
}

# A program that takes the type from -dll_append, or (-DLINKED) calls for it; (-DBODY) as a library that "loader" opens out of the linker's sight, as Python does
cat >"$work/app.c" <<'END'
#include <petscbcr.h>
#if defined(BODY)
PETSC_EXTERN int body(int argc, char **argv)
#else
int main(int argc, char **argv)
#endif
{
  PC pc;

  PetscCall(PetscInitialize(&argc, &argv, NULL, NULL));
#if defined(LINKED)
  PetscCall(PetscBCRInitializePackage());
#endif
  PetscCall(PCCreate(PETSC_COMM_SELF, &pc));
  PetscCall(PCSetType(pc, PCBCRPOISSON));
  PetscCall(PetscPrintf(PETSC_COMM_SELF, "the type is there\n"));
  PetscCall(PCDestroy(&pc));
  PetscCall(PetscFinalize());
  return 0;
}
END
cat >"$work/loader.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  int (*body)(int, char **);

  if (!library) return fprintf(stderr, "%s\n", dlerror()), 2;
  *(void **)&body = dlsym(library, "body");
  return body(argc - 1, argv + 1);
}
END

# run WHAT WANTED COMMAND...: WANTED is the sentence that refuses, or "" where the type is there
run() {
  local what=$1 wanted=$2 out rc=0
  shift 2
  out=$(timeout 120 "$@" -skip_petscrc "${cuda[@]}" 2>&1) || rc=$?
  if [ -z "$wanted" ]; then wanted="the type is there"; else [ $rc -ne 0 ] || rc=accepted; fi
  if [ "$rc" != accepted ] && [ $rc -lt 126 ] && [ "$(grep -c -F "$wanted" <<<"$out")" = 1 ] && [ "$(grep -c -E 'was built for|the type is there' <<<"$out")" = 1 ]; then passed=$((passed + 1)); else
    failed=$((failed + 1))
    printf '%s\n   wanted: %s\n   got (%s):\n%s\n' "$what" "$wanted" "$rc" "$(grep -v 'Configure options' <<<"$out" | head -n 30)"
  fi
}
remedy="build petscbcr with the PETSc of the program (its PETSC_DIR and PETSC_ARCH)"

use() {
  petsc_use "$1" || die "no PETSc in '$1'"
  cuda=()
  case "$petsc_kind" in *CUDA*) cuda=(-use_gpu_aware_mpi 0) ;; esac
}

if [ $# -eq 0 ]; then
  use ""
  runs=$(petsc_words)
  read -r _ series scalars precision _ bits _ <<<"$(tr -d '(,)' <<<"$runs")"
  cat >"$work/types.c" <<'END'
#include <petscksp.h>
PETSC_EXTERN PetscErrorCode PCCreate_BCRPoisson(PC pc) { return pc ? 0 : PETSC_ERR_ARG_NULL; }
PETSC_EXTERN PetscErrorCode PCCreate_Neato(PC pc) { return pc ? 0 : PETSC_ERR_ARG_NULL; }
PETSC_EXTERN PetscErrorCode KSPCreate_BCRPoisson(KSP ksp) { return ksp ? 0 : PETSC_ERR_ARG_NULL; }
PETSC_EXTERN PetscErrorCode KSPCreate_Neato(KSP ksp) { return ksp ? 0 : PETSC_ERR_ARG_NULL; }
END
  compile "$work/app" "$work/app.c"
  for change in none release scalars precision indices; do
    d=$work/$change
    mkdir -p "$d"
    for header in petscconf.h petscversion.h; do
      for include in $(pkg-config --variable=includedir "$petsc_module") $(pkg-config --cflags-only-I "$petsc_module" | sed 's/-I//g'); do
        if [ -e "$include/$header" ]; then cp "$include/$header" "$d/"; fi
      done
    done
    options=()
    built=$runs
    case $change in
      release)
        minor=${series#*.}
        sed -i "s/\(define PETSC_VERSION_MINOR *\)$minor/\1$((minor + 1))/" "$d/petscversion.h"
        if [ "$minor" = 18 ]; then options+=(-DPETSC_SUCCESS=0); fi # its headers have none yet
        built=${runs/$series/${series%.*}.$((minor + 1))}
        ;;
      scalars)
        sed -i '/define PETSC_USE_COMPLEX/d' "$d/petscconf.h"
        if [ "$scalars" = real ]; then echo '#define PETSC_USE_COMPLEX 1' >>"$d/petscconf.h"; fi
        built=${runs/$scalars/$(other "$scalars" real complex)}
        ;;
      precision)
        sed -i '/define PETSC_USE_REAL_\(SINGLE\|DOUBLE\)/d' "$d/petscconf.h"
        echo "#define PETSC_USE_REAL_$(other "$precision" single double | tr a-z A-Z) 1" >>"$d/petscconf.h"
        built=${runs/$precision/$(other "$precision" single double)}
        ;;
      indices)
        sed -i '/define PETSC_USE_64BIT_INDICES/d' "$d/petscconf.h"
        if [ "$bits" = 32-bit ]; then echo '#define PETSC_USE_64BIT_INDICES 1' >>"$d/petscconf.h"; fi
        built=${runs/$bits/$(other "$bits" 32-bit 64-bit)}
        ;;
    esac
    compile "$d/libpetscbcr.so" -I"$d" "${options[@]}" -shared -fPIC "$root/src/register.c" "$work/types.c" -Wl,-z,nodelete
    wanted=
    if [ $change != none ]; then wanted="petscbcr was built for $built, but this program runs with $runs: $remedy"; fi
    run "$change, -dll_append" "$wanted" "$work/app" -dll_append "$d/libpetscbcr.so"
    compile "$d/linked" "$work/app.c" -DLINKED -L"$d" -Wl,-rpath,"$d" -lpetscbcr
    run "$change, linked" "$wanted" "$d/linked"
  done
fi

# the folder of PETSc.pc that a build by CMake or (scripts/check) by makefile.petsc is for
petsc_of() {
  if [ -e "$1/.petsc" ]; then cat "$1/.petsc"; else sed -n 's/^PETSCBCR_PETSC_KEY:INTERNAL=//p' "$1/CMakeCache.txt"; fi
}
for runs_dir in "$@"; do
  use "$(petsc_of "$runs_dir")"
  d=$work/$(basename "$runs_dir")
  mkdir -p "$d"
  petsc_words >"$d/words"
  compile "$d/app" "$work/app.c"
  compile "$d/body.so" "$work/app.c" -DBODY -shared -fPIC
  "${CC:-cc}" "$work/loader.c" -o "$d/loader" -ldl
done
for runs_dir in "$@"; do
  use "$(petsc_of "$runs_dir")"
  d=$work/$(basename "$runs_dir")
  runs=$(cat "$d/words")
  for built_dir in "$@"; do
    library=$(cd "$built_dir" && pwd)
    built=$(cat "$work/$(basename "$built_dir")/words")
    what="built for $built, runs with $runs"
    wanted= hidden=
    if [ "$built" != "$runs" ]; then
      wanted="petscbcr was built for $built, but this program runs with $runs: $remedy"
      hidden="petscbcr was built for $built, which is not initialized in this program: call PetscInitialize() first, or $remedy"
    fi
    run "$what, -dll_append" "$wanted" "$d/app" -dll_append "$library/libpetscbcr.so"
    run "$what, -dll_append by a library that is loaded as Python does" "$hidden" "$d/loader" "$d/body.so" -dll_append "$library/libpetscbcr.so"
    compile "$d/linked" "$work/app.c" -DLINKED -L"$library" -Wl,-rpath,"$library" -lpetscbcr -Wl,--allow-shlib-undefined
    run "$what, linked" "$wanted" "$d/linked"
  done
done

echo "$passed passed, $failed failed"
[ $failed -eq 0 ] && [ $passed -gt 0 ]
