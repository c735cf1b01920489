#!/usr/bin/env bash
# Installs the Python package by `pip install` into a fresh virtual environment, and runs its test there, on one and two ranks.
# usage: venv.sh WORKDIR [PYTHON [PETSC_DIR [PETSC_ARCH]]]
#   without PETSC_DIR   the environment sees the system's packages and has its petsc4py, as on Debian and Ubuntu
#   with it             the environment has PyPI's petsc4py of that PETSc's release, built against it, and no package of the system
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$1 python=${2:-/usr/bin/python3} petsc=${3:-} arch=${4:-}
rm -rf "$work"
if [ -n "$petsc" ]; then
  header=$petsc/include/petscversion.h
  part() { sed -n "s/^#define PETSC_VERSION_$1 *\([0-9]*\).*/\1/p" "$header"; }
  version=$(part MAJOR).$(part MINOR).$(part SUBMINOR)
  "$python" -m venv "$work"
  "$work/bin/pip" install -q cython numpy setuptools wheel
  env PETSC_DIR="$petsc" PETSC_ARCH="$arch" "$work/bin/pip" install -q --no-build-isolation --no-deps --no-cache-dir "petsc4py==$version" # not one built before on another PETSc
  unset PETSC_DIR PETSC_ARCH # petsc4py knows its PETSc
else
  "$python" -m venv --system-site-packages "$work"
fi
# the environment's petsc4py says which PETSc, though pip hides it from the build; what a build leaves lies in the work folder
"$work/bin/pip" install -q --no-deps --config-settings=build-dir="$work/build" "$root"
cd "$work"
bin/pip show petscbcr | sed -n 1,3p
bin/python -c 'import petsc4py; print("petsc4py", petsc4py.__version__, petsc4py.get_config())'
bin/python -c 'import petscbcr; print(petscbcr.library)'
bin/python "$root/tests/python/package.py"
${MPIEXEC:-mpiexec} -n 2 bin/python "$root/tests/python/package.py"
# the library is a plug-in, too
library=$(bin/python -c 'import petscbcr; print(petscbcr.library)')
bin/python "$root/tests/petsc/petsc4py_poisson.py" -dll_append "$library" -pc_type bcrpoisson
