#!/usr/bin/env bash
# The kernels compile for every architecture named, whatever the build is for. usage: cuda_architectures.sh NVCC WORKDIR 80 90 100
# SYNTAX=yes: as far as the compiler's front end, in a fraction of the time. JOBS: so many at once
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
nvcc=$1 work=$2
shift 2
mkdir -p "$work"
rm -f "$work"/*.log "$work"/*.failed
# compile SOURCE ARCHITECTURE...
compile() {
  local source=$1 nvcc=$2 work=$3 out log a flags=()
  shift 3
  out=$work/$(basename "$source") log=$work/$(basename "$source").log
  for a in "$@"; do
    if [ -n "${SYNTAX:-}" ]; then "$nvcc" -std=c++17 -fdevice-syntax-only -arch="compute_$a" -ptx "$source" -o "$out.ptx" >>"$log" 2>&1 || : >"$out.failed"; fi
    flags+=(-gencode "arch=compute_$a,code=sm_$a")
  done
  if [ -z "${SYNTAX:-}" ]; then "$nvcc" -std=c++17 -O2 "${flags[@]}" -Xcompiler -Wall -c "$source" -o "$out.o" >"$log" 2>&1 || : >"$out.failed"; fi
  if grep -q warning "$log"; then : >"$out.failed"; fi
  if [ -e "$out.failed" ]; then cat "$log"; fi
}
export -f compile
printf '%s\0' "$root"/src/backend/cuda/*.cu | xargs -0 -P "${JOBS:-2}" -I{} bash -c 'compile "$@"' compile {} "$nvcc" "$work" "$@"
total=$(find "$root/src/backend/cuda" -maxdepth 1 -name '*.cu' | wc -l) failed=$(find "$work" -name '*.failed' | wc -l)
echo "sm_$(echo "$*" | tr ' ' ,)${SYNTAX:+ (syntax)}: $((total - failed)) passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$total" -gt 0 ]
