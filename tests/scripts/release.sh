#!/usr/bin/env bash
# One version everywhere, that of include/petscbcr.h, and a library that exports what packaging/debian/*.symbols lists.
# usage: release.sh LIBRARY
set -euo pipefail
cd "$(dirname "$0")/../.."
library=$1 failed=0
part() { sed -n "s/^#define PETSCBCR_VERSION_$1 *//p" include/petscbcr.h; }
soname=$(part MAJOR).$(part MINOR)
version=$soname.$(part PATCH)

# same FILE SED-EXPRESSION WANTED: what the expression prints of the file, each line of it
same() {
  local found
  found=$(sed -n "$2" "$1" | sort -u)
  if [ "$found" != "$3" ]; then
    echo "$1 says '$found' where '$3' is wanted"
    failed=1
  fi
}
same CITATION.cff 's/^ *version: //p' "$version"
same packaging/debian/changelog '1s/^petscbcr (\(.*\)-[^-]*).*/\1/p' "$version"
same packaging/debian/control 's/^Package: libpetscbcr-real\([0-9].*\)/\1/p' "$soname"
same packaging/debian/libpetscbcr-real0.1.symbols '1s/^libpetscbcr[.]so[.]\([^ ]*\) libpetscbcr-real\(.*\) #.*/\1 \2/p' "$soname $soname"
same packaging/spack/package.py 's/^ *version("\([^"]*\)".*/\1/p' "$version"
same packaging/petsc/petscbcr.py "s/^ *self[.]version *= '\(.*\)'/\1/p" "$version"
same packaging/conda/meta.yaml 's/^{% set version = "\(.*\)" %}/\1/p' "$version"
if ! grep -q "^## $version" CHANGELOG.md; then
  echo "CHANGELOG.md has no part '## $version'"
  failed=1
fi

listed=$(sed -n 's/^ \(.*\)@Base .*/\1/p' "packaging/debian/libpetscbcr-real$soname.symbols" | LC_ALL=C sort)
exported=$(nm -D --defined-only "$library" | awk '{ print $3 }' | grep -v -E '^(_init|_fini|__bss_start|_edata|_end)$' |
  sed -E 's/^(petscbcrinitializepackage_*|PETSCBCRINITIALIZEPACKAGE)$/petscbcrinitializepackage_/' | LC_ALL=C sort) # Fortran's name, as PETSc's compiler has it
if ! diff <(echo "$listed") <(echo "$exported"); then
  echo "the list of symbols (<) and the library (>) differ: see packaging/README.md"
  failed=1
fi
if [ $failed = 0 ]; then echo "version $version, $(echo "$listed" | wc -l) symbols"; fi
exit $failed
