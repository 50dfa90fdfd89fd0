"""How well a calibration repeats: several of one machine, one after the other, with both MPIs that are here.

Usage: repeat.py MPISTAIR REPETITIONS MPI MPIEXEC [MPI MPIEXEC ...]

Prints for each MPI how long each calibration took, and for every latency and bandwidth its median and how far the
furthest of the repetitions is from it. Needs the machine for itself; 8 ranks of Open MPI, 2 of MPICH, which does not
yield the processor to ranks in excess.
"""
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

LAUNCH = {"openmpi": ["--oversubscribe", "--bind-to", "none", "-n", "8"], "mpich": ["-n", "2"]}
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def calibrate(tool, mpi, mpiexec, folder, i):
    """Seconds and {(level, protocol, quantity, n): value} of one calibration; prints the first one's table and check."""
    table = os.path.join(folder, f"{mpi}{i}.tbl")
    begin = time.monotonic()
    words = [tool, "calibrate", "--name", mpi, "-o", table, "--", mpiexec, *LAUNCH[mpi]]
    said = subprocess.run(words, env=ENVIRONMENT, check=True, capture_output=True, text=True)
    seconds = time.monotonic() - begin
    if i == 0:
        print(said.stdout)
        check = subprocess.run([tool, "machine", "check", table], capture_output=True, text=True)
        print(check.stdout + check.stderr)
    shown = subprocess.run([tool, "machine", "show", table, "--json"], check=True, capture_output=True, text=True)
    rows = json.loads(shown.stdout)["parameters"]
    return seconds, {(r["level"], r["protocol"], r["quantity"], r["n"]): r["value"] for r in rows}


def main():
    tool, repetitions, pairs = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    for mpi, mpiexec in zip(pairs[::2], pairs[1::2]):
        with tempfile.TemporaryDirectory() as folder:
            results = [calibrate(tool, mpi, mpiexec, folder, i) for i in range(repetitions)]
        print(f"{mpi}: " + ", ".join(f"{seconds:.1f} s" for seconds, _ in results))
        worst = 0.0
        for key in sorted(set().union(*(table for _, table in results)), key=str):
            level, protocol, quantity, n = key
            if quantity not in ("tau", "bw", "threshold"):
                continue
            values = [table[key] for _, table in results if key in table]
            median = statistics.median(values)
            off = max(abs(value / median - 1) for value in values) if median > 0 else 0.0
            missing = f"; not in {repetitions - len(values)}" if len(values) < repetitions else ""
            print(f"  {level:13}{protocol:11}{quantity:10}{'-' if n is None else n:>3}{median:12.4g}  furthest {100 * off:5.1f} %{missing}")
            if quantity != "threshold":
                worst = max(worst, off)
        print(f"  furthest of all latencies and bandwidths from its median: {100 * worst:.1f} %\n")


main()
