#!/usr/bin/env bash
# Every function, enumeration, type and macro of include/petscbcr.h has a man-page comment in PETSc's form: one line that says what it is, whether it is
# collective, all of its arguments, a level and what to see also; every option of PCBCRPOISSON
# and PCNEATO is in docs/options.md and in the pages of PC and KSP, and there is every option that these name.
set -euo pipefail
cd "$(dirname "$0")/../.."
passed=0 failed=0
check() { # WHAT COMMAND...
  if "${@:2}"; then passed=$((passed + 1)); else
    failed=$((failed + 1))
    echo "$1"
  fi
}
sources=$(find src pc ksp include -name '*.c' -o -name petscbcr.h)
# page NAME: the comment that begins with NAME
# shellcheck disable=SC2086
page() { awk -v name="$1" '/^\/\*(@|@C|E|S|MC|J)$/ { text = ""; inside = 1; next } inside && /\*\/$/ { inside = 0; if (found) { printf "%s", text; exit } next } inside { if (text == "") found = $1 == name; text = text $0 "\n" }' $sources; }
has() { grep -qE -- "$1" <<<"$2"; }
lacks() { ! has "$@"; }

# NAME(ARGUMENTS) of the functions that a program can call
while read -r name arguments; do
  text=$(page "$name")
  check "$name has no man page" test -n "$text"
  [ -n "$text" ] || continue
  check "$name: its first line says nothing" has "^  $name - ." "$text"
  check "$name: collective or not?" has '^  (Logically |Not )?Collective' "$text"
  check "$name: a line that does not begin as PETSc wants it" lacks '^( ?[^-+. ]|[-+.][^ sv])' "$text"
  check "$name: no level" has '^  Level: (beginner|intermediate|advanced|developer)$' "$text"
  check "$name: nothing to see also" has '^\.seealso: ' "$text"
  # as many arguments are described as there are, "+ a - ...", ". a - ...", "- a - ..."
  wanted=$(awk -v a="$arguments" 'BEGIN { gsub(/\[[^]]*\]/, "[]", a); print a == "void" ? 0 : split(a, unused, ",") }')
  got=$(awk '/Options Database/ { exit } /^[-+.] [A-Za-z, ]+ +- / { sub(/^[-+.] /, ""); sub(/ +- .*/, ""); n += split($0, unused, ",") } END { print n + 0 }' <<<"$text")
  check "$name: $got of $wanted arguments are described" test "$got" = "$wanted"
done < <(sed -n 's/^PETSC_EXTERN PetscErrorCode \([A-Za-z0-9]*\)(\(.*\));$/\1 \2/p' include/petscbcr.h)

# enumerations, types, macros
for name in $(sed -n 's/^} \([A-Za-z]*\);$/\1/p; s/^typedef struct _[a-z]*_\([A-Za-z]*\) .*/\1/p' include/petscbcr.h) PCBCRPOISSON KSPBCRPOISSON PCNEATO KSPNEATO PCBCRPOISSON_RADIX_AUTO; do
  text=$(page "$name")
  check "$name has no man page" test -n "$text"
  check "$name: no level" has '^  Level: ' "$text"
  check "$name: nothing to see also" has '^\.seealso: ' "$text"
done

# PETSc's documentation takes the pages of files that name a section of its own, and doctext the header from a comment
# shellcheck disable=SC2086
for file in $(grep -lE '^/\*(@C?|MC|E|S)$' $sources); do
  check "$file: no SUBMANSEC of PETSc" grep -qE '^/\* SUBMANSEC = (PC|KSP|Mat|Vec|Sys) \*/$' "$file"
  [ "$file" = include/petscbcr.h ] || check "$file: does not say which header has its functions" grep -qF '/*I "petscbcr.h" I*/' "$file"
done

# options: the lines of the tables, but for the developers'
for form in pcbcrpoisson pcneato; do
  file=pc/${form#pc}/options.c stem=pc_${form#pc} upper=${form^^}
  options=$(sed -n 's/^  {"\([a-z_]*\)",.*/\1/p' "$file" pc/place.h | grep -v -E '^(isa|launch)$')
  check "$file: no table of options is found" test "$(wc -w <<<"$options")" -ge 9
  for option in $options; do
    check "docs/options.md lacks -${stem}_$option" grep -q -- "-${stem}_$option" docs/options.md
    check "$upper: its man page lacks -${stem}_$option" has "-${stem}_$option " "$(page "$upper")"
    check "KSP${upper#PC}: its man page lacks -k${stem/pc/sp}_$option" has "-k${stem/pc/sp}_$option " "$(page "KSP${upper#PC}")"
  done
done

# and back: what the documents name is in a table, or read by that name
for option in $(grep -ohE -- '-((pc|ksp)_(bcrpoisson|neato)|mat_compact)_[a-z][a-z_]*' README.md docs/*.md docs/*/*.md bench/README.md include/petscbcr.h pc/*/*.c ksp/*/*.c | sort -u); do
  check "there is no $option" grep -qE -- "\"(${option#-*_*_}|$option)\"" $sources pc/*.h
done

echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
