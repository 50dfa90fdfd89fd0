"""BW(n) between two hosts of the cluster of namespaces, against what its link carries.

Usage: bandwidth.py CLUSTER MPISTAIR MPIEXEC [RATE_MBIT ...]

Calibrates 2 hosts of 4 ranks at each rate (400 and 200 Mbit/s) and prints n * bytes / seconds of Algorithm 1's median a
size, as a share of the payload rate: of each frame of 1514 bytes 1448 are payload. Exit status 77 (skipped) without
root or namespaces.
"""
import csv
import os
import statistics
import subprocess
import sys
import tempfile

PAYLOAD = 1448 / 1514
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


def measure(cluster, tool, mpiexec, rate, folder):
    table = os.path.join(folder, "machine.tbl")
    words = [cluster, "run", "-n", "2", "-m", "4", "-r", f"{rate}mbit", "--", tool, "calibrate", "--seconds", "120",
             "--name", "cluster", "-o", table, "--", mpiexec, "-n", "8"]
    said = subprocess.run(words, env=ENVIRONMENT, check=True, capture_output=True, text=True)
    print("\n".join(line for line in said.stdout.splitlines() if line.startswith(("level", "inter_node"))))
    times = {}
    with open(os.path.join(folder, "machine.raw.csv"), newline="") as raw:
        for row in csv.DictReader(line for line in raw if not line.startswith("#")):
            if row["benchmark"] == "algorithm1" and row["level"] == "inter_node" and int(row["bytes"]) >= 1 << 16:
                times.setdefault((int(row["n"]), int(row["bytes"])), []).append(float(row["seconds"]))
    return times


def main():
    cluster, tool, mpiexec, *rates = sys.argv[1:]
    if os.geteuid() != 0 or subprocess.run([cluster, "run", "-n", "1", "--", "true"], capture_output=True).returncode:
        print("skipped: no network namespaces here")
        return 77
    for rate in [int(rate) for rate in rates] or [400, 200]:
        payload = rate * 1e6 / 8 * PAYLOAD
        print(f"{rate} Mbit/s: {payload / 1e6:.1f} MB/s of payload")
        with tempfile.TemporaryDirectory() as folder:
            times = measure(cluster, tool, mpiexec, rate, folder)
        for (n, size), seconds in sorted(times.items()):
            bandwidth = n * size / statistics.median(seconds)
            print(f"  n {n}  {size:8} B  {bandwidth / 1e6:6.2f} MB/s  {100 * bandwidth / payload:6.1f} % of the payload rate"
                  f"  ({len(seconds)} samples)")
    return 0


sys.exit(main())
