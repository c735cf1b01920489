# Shared by the scripts: finding PETSc, installing what is missing, building. Sourced, not run.
#
#   PETSC_DIR, PETSC_ARCH   the PETSc to use; else pkg-config's, else the distribution's package, which gets installed
#   JOBS                    parallel jobs of a build (default: the number of cores)

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
jobs=${JOBS:-$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc 2>/dev/null || echo 2)} # nproc heeds OpenMP's variables

# MPI in containers: run as root, with more ranks than cores; a program on its own starts no daemon
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_ess_singleton_isolated=1 PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe
export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} OPENBLAS_NUM_THREADS=${OPENBLAS_NUM_THREADS:-1}
unset PETSC_OPTIONS PETSC_OPTIONS_YAML

say() { printf '\n== %s\n' "$*"; }
note() { printf '   %s\n' "$*"; }
die() {
  printf '%s: %s\n' "${0##*/}" "$*" >&2
  exit 1
}
have() { command -v "$1" >/dev/null 2>&1; }

# ---- packages of the distribution (Debian, Ubuntu) ----

apt_updated=
apt_run() {
  local as_root=()
  if [ "$(id -u)" -ne 0 ]; then
    have sudo || return 1
    as_root=(sudo)
  fi
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get "$@" </dev/null
}
apt_update() {
  if [ -z "$apt_updated" ]; then
    note "apt-get update"
    apt_run -qq update >/dev/null || note "apt-get update failed; going on with the package lists that are here"
    apt_updated=yes
  fi
}
apt_known() { [ -n "$(apt-cache show --no-all-versions "$1" 2>/dev/null)" ]; }
# apt_install PACKAGE...: says what it installs; fails where it cannot
apt_install() {
  have apt-get || return 1
  if [ "$(id -u)" -ne 0 ] && ! have sudo; then return 1; fi
  apt_update
  note "installing from this distribution's packages: $*"
  if ! apt_run -y -q --no-install-recommends install "$@" >"$apt_log" 2>&1; then
    tail -n 15 "$apt_log" >&2
    return 1
  fi
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
apt_log=$scratch/apt.log
# MPI programs that run side by side must not share, and clean up, one folder
export OMPI_MCA_orte_tmpdir_base=$scratch

# need_tools: the compiler and the tools that every build needs
need_tools() {
  local missing=()
  have cc || have gcc || missing+=(gcc)
  # a compiler without the C library's headers is as good as none
  if [ ${#missing[@]} -gt 0 ] || ! echo '#include <stdio.h>' | ${CC:-cc} -E -x c - >/dev/null 2>&1; then missing+=(libc6-dev); fi
  have make || missing+=(make)
  have pkg-config || missing+=(pkg-config)
  have cmake || missing+=(cmake)
  [ ${#missing[@]} -eq 0 ] || apt_install "${missing[@]}" || die "missing here: ${missing[*]}. Install them (this script can on Debian and Ubuntu, as root or with sudo)."
}

# ---- PETSc ----

petsc_pc() { # the folder of PETSc.pc that PETSC_DIR=$1 PETSC_ARCH=$2 means
  local d
  for d in "$1/${2:-.}/lib/pkgconfig" "$1/lib/pkgconfig"; do
    if [ -e "$d/PETSc.pc" ] || [ -e "$d/petsc.pc" ]; then
      (cd "$d" && pwd -P)
      return
    fi
  done
  return 1
}

# petsc_use FOLDER: everything below uses the PETSc whose PETSc.pc is in FOLDER (empty: pkg-config's own path)
petsc_use() {
  if [ -n "$1" ]; then export PKG_CONFIG_PATH="$1${petsc_user_path:+:$petsc_user_path}"; fi
  petsc_module=
  local m
  for m in PETSc petsc; do
    if pkg-config --exists "$m" 2>/dev/null; then petsc_module=$m && break; fi
  done
  [ -n "$petsc_module" ] || return 1
  petsc_version=$(pkg-config --modversion "$petsc_module")
  petsc_prefix=$(pkg-config --variable=prefix "$petsc_module")
  petsc_libdir=$(pkg-config --variable=libdir "$petsc_module")
  # PETSc's own folder, not a link to its files elsewhere
  petsc_pcdir=$petsc_libdir/pkgconfig
  [ -e "$petsc_pcdir/$petsc_module.pc" ] || petsc_pcdir=$(pkg-config --variable=pcfiledir "$petsc_module")
  petsc_cc=$(pkg-config --variable=ccompiler "$petsc_module")
  petsc_fc=$(pkg-config --variable=fcompiler "$petsc_module")
  petsc_cflags=$(pkg-config --cflags "$petsc_module")
  petsc_libs="$(pkg-config --libs "$petsc_module") -Wl,-rpath,$petsc_libdir"
  petsc_series=$(echo "$petsc_version" | cut -d. -f1,2)
  local conf
  conf=$(pkg-config --variable=includedir "$petsc_module")/petscconf.h
  petsc_kind=real
  if grep -q 'define PETSC_USE_COMPLEX' "$conf" 2>/dev/null; then petsc_kind=complex; fi
  if grep -q 'define PETSC_USE_64BIT_INDICES' "$conf" 2>/dev/null; then petsc_kind="$petsc_kind, 64-bit indices"; fi
  if grep -q 'define PETSC_USE_REAL_SINGLE' "$conf" 2>/dev/null; then petsc_kind="$petsc_kind, single precision"; fi
  if grep -q 'define PETSC_HAVE_CUDA ' "$conf" 2>/dev/null; then petsc_kind="$petsc_kind, CUDA"; fi
}
petsc_user_path=${PKG_CONFIG_PATH:-}

# where the distribution puts PETSc's files, and the sources of its tutorials (tests/scripts/packages.sh has others)
distribution_petsc=/usr/lib/petscdir distribution_share=/usr/share/petsc

# the distribution's PETSc of one kind (real, complex, 64-real, 64-complex): the newest
petsc_of_distribution() {
  local d found= bits=
  case $1 in 64-*) bits=64- ;; esac
  for d in $(ls -d "$distribution_petsc/petsc$bits"[0-9].*/*"-${1#64-}"/lib/pkgconfig 2>/dev/null | sort -V); do found=$d; done
  [ -n "$found" ] && echo "$found"
}

# find_petsc: PETSC_DIR/PETSC_ARCH, else pkg-config, else the distribution's package. Says which.
find_petsc() {
  local d
  if [ -n "${PETSC_DIR:-}" ]; then
    d=$(petsc_pc "$PETSC_DIR" "${PETSC_ARCH:-}") || die "PETSC_DIR='$PETSC_DIR' with PETSC_ARCH='${PETSC_ARCH:-}' has no lib/pkgconfig/PETSc.pc. Correct or unset them."
    petsc_use "$d" || die "pkg-config cannot read PETSc.pc in $d"
    petsc_from="PETSC_DIR"
  elif petsc_use ""; then
    petsc_from="pkg-config"
  else
    if ! d=$(petsc_of_distribution real); then
      note "no PETSc here: PETSC_DIR is not set and pkg-config knows none"
      apt_install petsc-dev || die "no PETSc found and petsc-dev could not be installed. Set PETSC_DIR (and PETSC_ARCH)."
      d=$(petsc_of_distribution real) || die "petsc-dev is installed, but no PETSc.pc was found below $distribution_petsc"
    fi
    petsc_use "$d" || die "pkg-config cannot read PETSc.pc in $d"
    petsc_from="this distribution's package"
  fi
  # as PETSc's makefiles want it
  petsc_make=(PETSC_DIR="$petsc_prefix" PETSC_ARCH=)
  if [ "$petsc_from" = PETSC_DIR ]; then petsc_make=(PETSC_DIR="$PETSC_DIR" PETSC_ARCH="${PETSC_ARCH:-}"); fi
  case "$petsc_series" in
    3.[0-9] | 3.1[0-7]) die "petscbcr needs PETSc 3.18 or later; found $petsc_version in $petsc_prefix. Set PETSC_DIR to a newer one." ;;
  esac
  have "${petsc_cc:-mpicc}" || apt_install mpi-default-dev || die "PETSc's compiler ${petsc_cc:-mpicc} is not here"
  note "PETSc $petsc_version ($petsc_kind), from $petsc_from: $petsc_prefix"
}

# tutorials_dir: the sources of PETSc's ksp tutorials, as shipped; on Debian and Ubuntu they are a package of their own
tutorials_dir() {
  local d try
  for try in 1 2; do
    for d in "${PETSC_DIR:-$petsc_prefix}" "$petsc_prefix" "$distribution_share/$petsc_series"; do
      for d in "$d/share/petsc/examples/src" "$d/src"; do
        if [ -e "$d/ksp/ksp/tutorials/ex29.c" ]; then
          tutorials=$d/ksp/ksp/tutorials
          return
        fi
      done
    done
    [ $try = 1 ] && { apt_install "libpetsc$petsc_series-dev-examples" || break; }
  done
  die "PETSc's tutorial sources (ksp/ksp/tutorials) are not with the PETSc in $petsc_prefix"
}

# ---- building ----

# configure DIR [CMAKE OPTION...]: configures DIR for the PETSc in use; afresh when it was made for another
configure() {
  local dir=$1 stamp
  shift
  stamp="$root $petsc_prefix $petsc_version"
  mkdir -p "$dir"
  if [ "$(cat "$dir/.made-for" 2>/dev/null)" != "$stamp" ]; then rm -rf "$dir/CMakeCache.txt" "$dir/CMakeFiles"; fi
  # PETSc by its PETSc.pc alone
  if ! env -u PETSC_DIR -u PETSC_ARCH cmake -S "$root" -B "$dir" "$@" >"$dir/configure.log" 2>&1; then
    cat "$dir/configure.log" >&2
    return 1
  fi
  echo "$stamp" >"$dir/.made-for"
}

# build DIR [TARGET...]
build() {
  local dir=$1 status=0
  shift
  cmake --build "$dir" -j "$jobs" ${1:+--target "$@"} 2>&1 | tee "$dir/build.log" || status=$?
  if grep -q 'warning:' "$dir/build.log"; then touch "$dir/.warned"; fi # for scripts/check
  return $status
}
