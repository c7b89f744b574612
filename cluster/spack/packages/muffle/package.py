# Never tried (docs/how-to/other-systems.md). Spack has no libcsv, no libgfshare and no liblinear: install them, and name their prefix in CMAKE_PREFIX_PATH.
from spack.package import *


class Muffle(CMakePackage, CudaPackage):
    """Differentially private synthetic data from records spread over many machines."""

    homepage = "https://muffle.invalid"
    git = "file:///path/to/a/checkout/of/muffle"
    license("Apache-2.0")
    version("main", branch="main")

    variant("https", default=True, description="exchange messages between institutions over HTTPS")

    depends_on("cxx", type="build")
    depends_on("cmake@3.25:", type="build")
    depends_on("ninja", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("openmpi@4.1:")
    depends_on("py-torch@1.13:")
    depends_on("py-torch+cuda", when="+cuda")
    depends_on("nccl", when="+cuda")
    depends_on("blas")
    depends_on("eigen@3.4:")
    for name in ("cli11", "spdlog", "fmt", "libsodium", "sleef", "nlohmann-json@3.11:", "tomlplusplus@3.3:", "zlib-api", "libpng", "libjpeg-turbo", "libzip", "hdf5~mpi", "utf8proc", "xgboost"):
        depends_on(name)
    for name in ("curl", "openssl@3:", "boost@1.81:"):
        depends_on(name, when="+https")

    generator("ninja")

    def cmake_args(self):
        return [
            self.define("MUFFLE_TESTS", False),
            self.define("MUFFLE_BENCH", False),
            self.define_from_variant("MUFFLE_CUDA", "cuda"),
            self.define_from_variant("MUFFLE_HTTPS", "https"),
        ]
