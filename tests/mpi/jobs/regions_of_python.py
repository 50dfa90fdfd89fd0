"""A program of mpi4py in regions."""
import sys

sys.path.insert(0, sys.argv[1])
from mpi4py import MPI  # noqa: E402
from mpistair_region import mark, region, set_phase  # noqa: E402


@region("inner")
def inner():
    pass


for _ in range(3):
    with region("OUTER"):
        inner()
        MPI.COMM_WORLD.Barrier()
try:
    with region("failing ä"):
        raise ValueError
except ValueError:
    pass
set_phase("phase")
MPI.COMM_WORLD.Barrier()
set_phase(None)
mark("moment")
MPI.COMM_WORLD.Barrier()
