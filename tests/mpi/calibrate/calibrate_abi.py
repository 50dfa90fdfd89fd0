"""mpistair calibrate with the benchmarks of the standard ABI alone: a table under a launcher whose own programs are not
built, and the reason where that MPI has no library of the ABI.

Usage: calibrate_abi.py MPISTAIR MPIEXEC MPI PROGRAM; PROGRAM: mpistair-benchmark-abi; LD_LIBRARY_PATH leads to the MPI's libmpi_abi.so.1.
"""
import json
import os
import subprocess
import sys
import tempfile

tool, mpiexec, mpi, program = os.path.abspath(sys.argv[1]), *sys.argv[2:]
options = ["--oversubscribe", "--bind-to", "none"] if mpi == "openmpi" else []


def calibrate(folder, seconds="4", **variables):
    return subprocess.run([tool, "calibrate", "--seconds", seconds, "--name", "abi", "-o", "abi.tbl", "--", mpiexec, *options, "-n", "2"],
                          cwd=folder, capture_output=True, text=True, timeout=250,
                          env={**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                               "MPISTAIR_DISTURBED": "1", "MPISTAIR_LIB": folder, **variables})


with tempfile.TemporaryDirectory() as folder:
    os.symlink(os.path.abspath(program), os.path.join(folder, os.path.basename(program)))
    done = calibrate(folder, LD_LIBRARY_PATH="")
    if done.returncode != 1 or "find no libmpi_abi.so.1" not in done.stderr or os.path.exists(f"{folder}/abi.tbl"):
        sys.exit(f"without a library of the ABI: exit {done.returncode}, {done.stderr}")
    for seconds in "4", "15", "60":  # on a machine with much else to do the shortest time is not enough
        done = calibrate(folder, seconds)
        if done.returncode != 0:
            sys.exit(f"exit {done.returncode}: {done.stderr}")
        shown = subprocess.run([tool, "machine", "show", "./abi.tbl", "--json"], cwd=folder, capture_output=True, text=True, check=True)
        found = {p["quantity"] for p in json.loads(shown.stdout)["parameters"]}
        if {"bw", "tau"} <= found:
            print(done.stderr)
            sys.exit(0)
    sys.exit(f"the table has {sorted(found)}: {done.stderr}")
