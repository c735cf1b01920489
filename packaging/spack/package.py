# A Spack recipe. Until a release has an address, from a checkout: copy this file to packages/petscbcr/package.py
# of a Spack repository of your own, then `spack dev-build -d /path/to/checkout petscbcr@0.1.0`. For Spack 1.0 and later;
# earlier ones have both classes in spack.package.

from spack_repo.builtin.build_systems.cmake import CMakePackage
from spack_repo.builtin.build_systems.cuda import CudaPackage

from spack.package import *


class Petscbcr(CMakePackage, CudaPackage):
    """Fast direct Poisson and Helmholtz solvers on structured grids by block cyclic reduction, and tridiagonal
    solves of grid lines, as PC and KSP types of PETSc"""

    license("BSD-2-Clause")

    version("0.1.0")

    depends_on("c", type="build")
    depends_on("cmake@3.18:", type="build")
    depends_on("pkgconfig", type="build")
    # a plug-in needs shared libraries; any scalars, precision of 4 or 8 bytes, and indices
    depends_on("petsc@3.18:3.26 +shared +mpi")
    depends_on("mpi")
    depends_on("blas")
    depends_on("lapack")
    for arch in CudaPackage.cuda_arch_values:
        depends_on(f"petsc +cuda cuda_arch={arch}", when=f"+cuda cuda_arch={arch}")
    depends_on("petsc +cuda", when="+cuda")

    def cmake_args(self):
        args = [
            self.define("PETSC_DIR", self.spec["petsc"].prefix),
            self.define("PETSC_ARCH", ""),
            self.define("PETSCBCR_CUDA", "ON" if self.spec.satisfies("+cuda") else "OFF"),
            self.define("PETSCBCR_TESTS", self.run_tests),
        ]
        if self.spec.satisfies("+cuda") and "none" not in self.spec.variants["cuda_arch"].value:
            args.append(self.define("CMAKE_CUDA_ARCHITECTURES", self.spec.variants["cuda_arch"].value))
        return args
