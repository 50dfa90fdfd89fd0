"""libcsv for Spack, whose own repository has none; mpistair reads CSV files with it."""
from spack.package import *


class Libcsv(AutotoolsPackage):
    """Reads and writes CSV files."""

    homepage = "https://github.com/rgamble/libcsv"
    git = "https://github.com/rgamble/libcsv.git"

    license("LGPL-2.1-or-later")
    version("3.0.3", commit="b1d5212831842ee5869d99bc208a21837e4037d5")

    depends_on("c", type="build")
