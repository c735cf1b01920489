#!/usr/bin/env bash
# scripts/release in a copy of the tree: a tag alone is refused, one with what the script writes is a release, twice the same, and its archive is the tree.
# usage: newrelease.sh LIBRARY WORKDIR      77 where the tree is no checkout of git
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
library=$1 work=$2
if ! git -C "$root" rev-parse HEAD >/dev/null 2>&1; then
  echo "skipped: no checkout of git"
  exit 77
fi
die() {
  echo "$*"
  exit 1
}
export GIT_AUTHOR_NAME=tester GIT_AUTHOR_EMAIL=tester@localhost GIT_COMMITTER_NAME=tester GIT_COMMITTER_EMAIL=tester@localhost
rm -rf "$work"
mkdir -p "$work/tree"
(cd "$root" && git ls-files -z | xargs -0 tar -c --ignore-failed-read 2>/dev/null) | tar -x -C "$work/tree"
cd "$work/tree"
git init -q . && git add -A && git commit -q -m base
version=$(sed -n 's/^#define PETSCBCR_VERSION_\(MAJOR\|MINOR\|PATCH\) *//p' include/petscbcr.h | paste -sd .)

# released: exit status of the test of a release, its words in $work/said
released() { bash tests/scripts/release.sh "$library" >"$work/said" 2>&1; }
released || die "before: $(cat "$work/said")"
if grep -q "^## $version (not released yet)" CHANGELOG.md; then
  git tag -a "v$version" -m "too early"
  ! released || die "a tag without date and address was no error"
  grep -q 'no date' "$work/said" && grep -q 'placeholder' "$work/said" && grep -q 'repository' "$work/said" || die "too early: $(cat "$work/said")"
  git tag -d "v$version" >/dev/null
fi
for bad in "Ada" "Ada <ada>" "<ada@here.invalid>"; do
  ! scripts/release "$bad" https://here.invalid/petscbcr >/dev/null 2>&1 || die "'$bad' is no maintainer"
done
! scripts/release "Ada <ada@here.invalid>" here.invalid >/dev/null 2>&1 || die "no address was taken"
! scripts/release "Ada <ada@here.invalid>" https://here.invalid/petscbcr 2026-13-01 >/dev/null 2>&1 || die "a 13th month was taken"
! scripts/release archive >/dev/null 2>&1 || die "an archive without a tag"
[ -z "$(git status --porcelain)" ] || die "what was refused left changes: $(git status --porcelain)"

scripts/release "Eve <eve@there.invalid>" https://there.invalid/petscbcr 2026-12-30 >"$work/said" || die "$(cat "$work/said")"
scripts/release "Ada Byron <ada@here.invalid>" https://here.invalid/petscbcr 2026-12-31 >"$work/said" || die "$(cat "$work/said")"
! git grep -n -e 'there[.]invalid' -e '2026-12-30' -- ':!tests' || die "the first run's words stayed"
[ "$(git grep -c 'here[.]invalid/petscbcr' -- ':!tests' | tr '\n' ' ')" = "CITATION.cff:1 packaging/debian/control:2 pyproject.toml:1 " ] || die "$(git grep -c 'here[.]invalid/petscbcr' -- ':!tests')"
git commit -q -a -m "petscbcr $version" && git tag -a "v$version" -m "petscbcr $version"
released || die "at the tag: $(cat "$work/said")"
if command -v dpkg-parsechangelog >/dev/null; then
  [ "$(dpkg-parsechangelog -l packaging/debian/changelog -S Maintainer)" = "Ada Byron <ada@here.invalid>" ] || die "Debian's changelog"
fi
python3 - <<'PYTHON' || die "pyproject.toml"
try:
    import tomllib
except ImportError:
    raise SystemExit(0)
project = tomllib.load(open("pyproject.toml", "rb"))
assert project["project"]["urls"] == {"Repository": "https://here.invalid/petscbcr"} and "scikit-build" in project["tool"]
PYTHON

scripts/release archive "https://here.invalid/petscbcr-$version.tar.gz" >/dev/null
diff <(tar -tzf "petscbcr-$version.tar.gz" | grep -v '/$' | sed 's|^[^/]*/||' | LC_ALL=C sort) <(git ls-files | LC_ALL=C sort) || die "the archive is not the tree"
sum=$(sha256sum "petscbcr-$version.tar.gz" | cut -d ' ' -f 1)
[ "$(git grep -l "$sum" | tr '\n' ' ')" = "packaging/conda/meta.yaml packaging/spack/package.py " ] || die "checksum: $(git grep -l "$sum")"
grep -q "https://here.invalid/petscbcr-$version.tar.gz" packaging/petsc/petscbcr.py || die "PETSc's package file has no address"
python3 -m py_compile packaging/petsc/petscbcr.py packaging/spack/package.py
echo "version $version: refused, released, archived"
