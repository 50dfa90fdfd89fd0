"""Where an mpi4py for the MPI under test is: Debian's own, or one built of Debian's source."""
import os
import pathlib
import subprocess

import job

PYTHON = "/usr/bin/python3"  # Debian's, which has mpi4py; the first on PATH may be another


def make(test):
    """Builds Debian's source of mpi4py for the MPI under test, without changing the system. Returns its folder."""
    folder = test.build / "tests/mpi" / f"mpi4py-{test.mpi}"
    built = folder / "mpi4py"
    if built.exists():
        return folder
    script = pathlib.Path(__file__).resolve().parent / "make_mpi4py.sh"
    done = test.run(["sh", script, test.mpi, folder], limit_s=500)
    if done.returncode != 0 or not built.exists():
        job.skip(f"mpi4py could not be built for {test.mpi}: {(done.stderr.strip().splitlines() or ['no reason'])[-1]}")
    return folder


def find(test):
    """The variables that lead PYTHON to the right mpi4py; skips the test where there is none."""
    if not os.access(PYTHON, os.X_OK):
        job.skip(f"there is no {PYTHON}")
    more = {} if test.mpi == "openmpi" else {"PYTHONPATH": str(make(test))}
    found = subprocess.run([PYTHON, "-c", "from mpi4py import MPI; print(MPI.Get_library_version())"],
                           env=test.environment(**more), capture_output=True, text=True, check=False)
    family = {"openmpi": "Open MPI", "mpich": "MPICH"}[test.mpi]
    if family not in found.stdout:
        job.skip(f"{PYTHON} has no mpi4py for {family}")
    return more
