#!/usr/bin/env bash
# The kernels compile for every architecture named, whatever the build is for. usage: cuda_architectures.sh NVCC WORKDIR 80 90 100
set -euo pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
nvcc=$1 work=$2
shift 2
mkdir -p "$work"
flags=()
for a in "$@"; do flags+=(-gencode "arch=compute_$a,code=sm_$a"); done
passed=0 failed=0
for source in "$root"/src/backend/cuda/*.cu; do
  log=$work/$(basename "$source").log
  if "$nvcc" -std=c++17 -O2 "${flags[@]}" -Xcompiler -Wall -c "$source" -o "$work/$(basename "$source").o" >"$log" 2>&1 && ! grep -q 'warning' "$log"; then passed=$((passed + 1)); else
    failed=$((failed + 1))
    cat "$log"
  fi
done
echo "sm_$(echo "$*" | tr ' ' ,): $passed passed, $failed failed"
[ $failed -eq 0 ]
