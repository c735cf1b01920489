#!/usr/bin/env bash
# One version everywhere, that of include/petscbcr.h; a date and addresses where the commit has a tag; a library that exports what packaging/debian/*.symbols lists, and the
# files that `cmake --install` makes of its build.
# usage: release.sh LIBRARY      in a folder where CMake has built it
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
# a commit with a tag is a release: it has this version, and says when it was
tag=$(git describe --tags --exact-match --match 'v[0-9]*' 2>/dev/null || true)
if [ -n "$tag" ]; then
  if [ "$tag" != "v$version" ]; then
    echo "the tag is '$tag' where 'v$version' is wanted"
    failed=1
  fi
  date=$(sed -n "s/^## $version (\([0-9]*-[0-9]*-[0-9]*\))$/\1/p" CHANGELOG.md)
  if [ -z "$date" ]; then
    echo "CHANGELOG.md has no date of $version"
    failed=1
  fi
  same CITATION.cff 's/^date-released: *//p' "$date"
  same packaging/debian/changelog '1s/^[^)]*) \([a-zA-Z]*\);.*/\1/p' unstable
  if grep -n 'example[.]org' packaging/debian/control packaging/debian/changelog; then
    echo "the address of the maintainers is a placeholder"
    failed=1
  fi
  repository=$(sed -n 's/^repository-code: *//p' CITATION.cff)
  if [ -z "$repository" ]; then
    echo "CITATION.cff has no repository-code"
    failed=1
  fi
  same packaging/debian/control 's/^Homepage: *//p' "$repository"
  same pyproject.toml 's/^Repository = "\(.*\)"$/\1/p' "$repository"
fi

listed=$(sed -n 's/^ \(.*\)@Base .*/\1/p' "packaging/debian/libpetscbcr-real$soname.symbols" | LC_ALL=C sort)
exported=$(nm -D --defined-only "$library" | awk '{ print $3 }' | grep -v -E '^(_init|_fini|__bss_start|_edata|_end)$' |
  sed -E 's/^(petscbcrinitializepackage_*|PETSCBCRINITIALIZEPACKAGE)$/petscbcrinitializepackage_/' | LC_ALL=C sort) # Fortran's name, as PETSc's compiler has it
if ! diff <(echo "$listed") <(echo "$exported"); then
  echo "the list of symbols (<) and the library (>) differ: see packaging/README.md"
  failed=1
fi

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
cmake --install "$(dirname "$library")" --prefix "$tree" >/dev/null
if ! diff <(printf '%s\n' include/petscbcr.h lib/cmake/petscbcr/{PETScBCRFindPETSc,petscbcrConfig,petscbcrConfigVersion,petscbcrTargets,petscbcrTargets-TYPE}.cmake \
  "lib/libpetscbcr.so"{,".$soname",".$version"} lib/pkgconfig/petscbcr.pc | LC_ALL=C sort) \
  <(cd "$tree" && find . ! -type d | sed -E 's|^[.]/||; s|^lib(64)?(/[^/]*-linux-gnu[^/]*)?/|lib/|; s|Targets-[a-z]*[.]cmake|Targets-TYPE.cmake|' | LC_ALL=C sort); then
  echo "the files that are expected (<) and those that cmake --install makes (>) differ"
  failed=1
fi
if [ $failed = 0 ]; then echo "version $version, $(echo "$listed" | wc -l) symbols"; fi
exit $failed
