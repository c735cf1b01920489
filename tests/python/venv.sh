#!/usr/bin/env bash
# Installs the Python package by `pip install` into a fresh virtual environment that sees the system's petsc4py, and runs
# its test there, on one and two ranks.
# usage: venv.sh WORKDIR [PYTHON]
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$1 python=${2:-/usr/bin/python3}
rm -rf "$work"
"$python" -m venv --system-site-packages "$work"
"$work/bin/pip" install -q 'scikit-build-core>=0.10'
# the environment's petsc4py says which PETSc; what a build leaves lies in the work folder
"$work/bin/pip" install -q --no-build-isolation --no-deps --config-settings=build-dir="$work/build" "$root"
cd "$work"
bin/pip show petscbcr | head -n 3
bin/python -c 'import petscbcr; print(petscbcr.library)'
bin/python "$root/tests/python/package.py"
${MPIEXEC:-mpiexec} -n 2 bin/python "$root/tests/python/package.py"
# the library is a plug-in, too
library=$(bin/python -c 'import petscbcr; print(petscbcr.library)')
bin/python "$root/tests/petsc/petsc4py_poisson.py" -dll_append "$library" -pc_type bcrpoisson
