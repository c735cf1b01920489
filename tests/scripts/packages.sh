#!/usr/bin/env bash
# What scripts/lib.sh installs on machines that have nothing but a shell: a folder of programs is put together in which compiler, make, cmake,
# pkg-config, MPI and PETSc are missing, with an apt-get that brings them when their packages are asked for. Nothing is installed here.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
box=$(mktemp -d)
trap 'rm -rf "$box"' EXIT
passed=0 failed=0
check() { # WHAT GOT WANTED
  if [ "$2" = "$3" ]; then passed=$((passed + 1)); else
    failed=$((failed + 1))
    printf '%s\n   got:    %s\n   wanted: %s\n' "$1" "$2" "$3"
  fi
}

# machine NAME SERIES KINDS USER: a bare one whose distribution has PETSc SERIES in KINDS (folder names); root, or someone with or without sudo
machine() {
  local tool
  name=$1 series=$2 m=$box/$1
  mkdir -p "$m/bin" "$m/parts"
  for tool in bash sh env sed grep awk cut head tail tr sort ls cat mktemp rm mkdir dirname basename pwd nproc cp mv ln uname printf chmod true; do ln -s "$(command -v $tool)" "$m/bin/$tool"; done
  printf '#!/bin/sh\necho %s\n' "$([ "$4" = root ] && echo 0 || echo 1000)" >"$m/bin/id"
  if [ "$4" = sudo ]; then printf '#!/bin/sh\necho sudo >>"%s/log"\nexec "$@"\n' "$m" >"$m/bin/sudo"; fi
  # what packages bring; pkg-config knows nothing by itself; the compiler's preprocessor does not find headers before libc6-dev is there
  printf '#!/bin/sh\n[ -e "%s/has-libc6-dev" ]\n' "$m" >"$m/parts/gcc"
  for tool in make cmake mpicc; do printf '#!/bin/sh\nexit 0\n' >"$m/parts/$tool"; done
  printf '#!/bin/sh\nPKG_CONFIG_LIBDIR=/nowhere exec "%s" "$@"\n' "$(command -v pkg-config)" >"$m/parts/pkg-config"
  cat >"$m/bin/apt-get" <<END
#!/bin/bash
while [ \$# -gt 0 ] && [ "\$1" != install ] && [ "\$1" != update ]; do shift; done
case \$1 in update) echo update >>"$m/log"; exit 0 ;; esac
shift
packages=()
for p in "\$@"; do case \$p in -*) ;; *) packages+=("\$p") ;; esac; done
echo "install \${packages[*]}" >>"$m/log"
for p in "\${packages[@]}"; do
  case \$p in
    gcc) cp "$m/parts/gcc" "$m/bin/gcc"; cp "$m/parts/gcc" "$m/bin/cc" ;;
    libc6-dev) : >"$m/has-libc6-dev" ;;
    make | cmake | pkg-config) cp "$m/parts/\$p" "$m/bin/\$p" ;;
    mpi-default-dev) cp "$m/parts/mpicc" "$m/bin/mpicc" ;;
    petsc-dev)
      for kind in $3; do
        d=$m/petscdir/petsc\${kind%%/*}/x86_64-linux-gnu-\${kind#*/}
        mkdir -p "\$d/lib/pkgconfig" "\$d/include"
        printf 'prefix=%s\nlibdir=\${prefix}/lib\nincludedir=\${prefix}/include\nccompiler=mpicc\nName: PETSc\nDescription: x\nVersion: $series.6\nLibs: -lpetsc\n' "\$d" >"\$d/lib/pkgconfig/PETSc.pc"
        case \$kind in *complex) echo '#define PETSC_USE_COMPLEX 1' ;; *) echo '#define PETSC_HAVE_MPI 1' ;; esac >"\$d/include/petscconf.h"
      done ;;
    libpetsc$series-dev-examples) mkdir -p "$m/share/$series/src/ksp/ksp/tutorials"; : >"$m/share/$series/src/ksp/ksp/tutorials/ex29.c" ;;
    *) echo "E: Unable to locate package \$p"; exit 100 ;;
  esac
done
END
  chmod +x "$m/bin"/* "$m/parts"/* 2>/dev/null || true
}

# begin: what scripts/demo and scripts/check do first, on that machine; its output is in $m/out
begin() {
  env -i HOME="$m" TMPDIR="$m" PATH="$m/bin" ${1:+"$1"} bash -c '. "$1/scripts/lib.sh"; distribution_petsc=$2/petscdir distribution_share=$2/share; need_tools; find_petsc; tutorials_dir; echo "tutorials $tutorials"' begin "$root" "$m" >"$m/out" 2>&1
}
installs() { grep '^install' "$m/log" 2>/dev/null | sed 's/^install //' | tr '\n' ';'; }

# Debian 12 and Ubuntu 24.04: the same names but for the series
for distribution in "debian12 3.18" "ubuntu2404 3.19"; do
  read -r title version <<<"$distribution"
  machine "$title" "$version" "$version/real" root
  begin && status=0 || status=$?
  check "$title: status" "$status" 0
  check "$title: packages" "$(installs)" "gcc libc6-dev make pkg-config cmake;petsc-dev;mpi-default-dev;libpetsc$version-dev-examples;"
  check "$title: PETSc" "$(grep -c "PETSc $version.6 (real), from this distribution's package: $m/petscdir/petsc$version/x86_64-linux-gnu-real\$" "$m/out")" 1
  check "$title: it says what it installs" "$(grep -c "installing from this distribution's packages: petsc-dev\$" "$m/out")" 1
  check "$title: tutorials" "$(grep -c "^tutorials $m/share/$version/src/ksp/ksp/tutorials\$" "$m/out")" 1
  check "$title: package lists" "$(grep -c update "$m/log")" 1
  : >"$m/log"
  begin && status=0 || status=$?
  check "$title: a second time: status" "$status" 0
  check "$title: a second time: nothing is installed" "$(cat "$m/log")" ""
done

# not root, with sudo; and without: says what is missing, and changes nothing
machine sudo 3.19 3.19/real sudo
begin && status=0 || status=$?
check "sudo: status" "$status" 0
check "sudo: first" "$(head -n 2 "$m/log" | tr '\n' ' ')" "sudo update "
machine nobody 3.19 3.19/real nobody
begin && status=0 || status=$?
check "without sudo: status" "$status" 1
check "without sudo: what is missing" "$(grep -c 'missing here: gcc libc6-dev make pkg-config cmake' "$m/out")" 1
check "without sudo: nothing is installed" "$(installs)" ""

# of several PETScs the newest real one, with 32-bit indices
machine several 3.22 "3.9/real 3.22/real 3.22/complex 64-3.23/real" root
begin && status=0 || status=$?
check "several: status" "$status" 0
check "several: the newest real one" "$(grep -c "PETSc 3.22.6 (real), .*petsc3.22/x86_64-linux-gnu-real\$" "$m/out")" 1

# one that is too old, and a PETSC_DIR that is none
machine old 3.12 3.12/real root
begin && status=0 || status=$?
check "old: refused" "$status $(grep -c 'needs PETSc 3.18 or later; found 3.12.6' "$m/out")" "1 1"
begin PETSC_DIR=/nowhere && status=0 || status=$?
check "PETSC_DIR=/nowhere" "$status $(grep -c "PETSC_DIR='/nowhere'.*Correct or unset" "$m/out")" "1 1"

echo "$passed passed, $failed failed"
[ $failed -eq 0 ]
