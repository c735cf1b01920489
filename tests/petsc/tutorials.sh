# Shared by the scripts that run PETSc's tutorials. Sourced, not run, in the folder of a case: $work/NAME

passed=0 failed=0
fail() {
  echo "$case_: $*"
  failed=$((failed + 1))
}

# compile SOURCE: sets program, which is made anew where the source is newer. Other rank counts of a case may be making it, too
compile() {
  local compiler=${petsc_cc:-mpicc} flags=-O2 name
  name=$(basename "$1")
  program=../bin/${name%.*}
  case $1 in *.F90) compiler=${petsc_fc:-mpif90} program=$program-f flags="-O2 -ffree-line-length-0" ;; esac
  mkdir -p ../bin
  if [ -x "$program" ] && [ ! "$tutorials/$1" -nt "$program" ]; then return; fi
  # shellcheck disable=SC2086
  "$compiler" $flags $petsc_cflags "$tutorials/$1" -o program $petsc_libs -lm
  mv program "$program"
}

# difference A B: max |a - b| / max |a| over all numbers of two files of values
difference() {
  awk -v first="$1" '
    function values(line, v,   n, k, m, w) { gsub(/[^-+.0-9eE]+/, " ", line); n = split(line, w, " "); m = 0; for (k = 1; k <= n; k++) if (w[k] ~ /[0-9]/ && w[k] ~ /[.e]/) v[++m] = w[k] + 0; return m }
    /^[ ]*[-+]?[0-9]+[.][0-9]/ { m = values($0, v); for (k = 1; k <= m; k++) { if (FILENAME == first) a[++na] = v[k]; else b[++nb] = v[k] } }
    END { if (na == 0 || na != nb) { print "sizes " na " and " nb; exit 1 }
          for (k = 1; k <= na; k++) { d = a[k] - b[k]; if (d < 0) d = -d; s = a[k] < 0 ? -a[k] : a[k]; if (d > dm) dm = d; if (s > sm) sm = s; if (d != d) nan = 1 }
          if (nan || sm == 0) { print "not a number, or all zero"; exit 1 }
          printf "%.3e\n", dm / sm }' "$1" "$2"
}
