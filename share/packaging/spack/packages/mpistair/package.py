"""mpistair for Spack.

The sources have no public address that could stand here, so Spack builds the checkout that this recipe lies in. In the root
of that checkout:

    spack repo add share/packaging/spack
    spack dev-build mpistair@0.2.0

or, in an environment: spack develop --path $PWD mpistair@0.2.0.
"""
from spack.package import *


class Mpistair(MesonPackage):
    """Records an MPI job with a preloaded library, replays it through cost models, and says which rank spends how long in
    communication, and why."""

    license("BSD-3-Clause")
    version("0.2.0")

    depends_on("c", type="build")
    depends_on("meson@1.0:", type="build")
    depends_on("pkgconfig", type="build")
    depends_on("python@3.9:", type="build")
    depends_on("mpi", type=("build", "link", "run"))
    depends_on("sqlite")
    depends_on("hwloc@2:")
    depends_on("elfutils")
    depends_on("scotch@6:~mpi")
    depends_on("libunwind", type="run")

    def meson_args(self):
        is_openmpi = self.spec.satisfies("^[virtuals=mpi] openmpi")
        return [
            "-Dtests=false",
            "-Dlibdw=enabled",
            "-Dscotch=enabled",
            f"-Dopenmpi={'enabled' if is_openmpi else 'disabled'}",
            f"-Dmpich={'disabled' if is_openmpi else 'enabled'}",
        ]

    def setup_run_environment(self, env):
        env.set("MPISTAIR_ROOT", self.prefix)
        # They are loaded where they are needed: lines of call sites, frames of callers (MPISTAIR_STACK).
        for name in ("elfutils", "libunwind"):
            env.prepend_path("LD_LIBRARY_PATH", self.spec[name].prefix.lib)
