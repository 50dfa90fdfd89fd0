"""The benchmarks eager and buffer between hosts that are really apart: the threshold of TCP where its MCA parameter
put it, and a buffer of the transport that a fit finds. No assertion on how fast anything is.

Usage: probe_job.py CLUSTER MPISTAIR PROGRAM MPIEXEC; PROGRAM: mpistair-benchmark-openmpi; Open MPI.
"""
import csv
import os
import subprocess
import sys
import tempfile

CLUSTER, TOOL, PROGRAM, MPIEXEC = (os.path.abspath(word) for word in sys.argv[1:])
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
failures = []


def run(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=90)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: exit {done.returncode}; stderr: {done.stderr}")
    return done.stdout


def between_nodes(benchmark, *mca):
    output = run(CLUSTER, "run", "-n", 2, "-m", 2, "-r", "400mbit", "--", MPIEXEC, "-n", 4, *mca,
                 PROGRAM, benchmark, "--seconds", 12)
    return [row for row in csv.DictReader(line for line in output.splitlines() if not line.startswith("#")) if row["level"] == "inter_node"]


def sizes(rows, variant):
    return [int(row["bytes"]) for row in rows if row["variant"] == variant]


def threshold():
    limit = 32768
    rows = between_nodes("eager", "--mca", "btl_tcp_eager_limit", limit)
    # A delay that was taken for a refusal was taken later: only sizes above all that were taken count.
    refused = [size for size in sizes(rows, "refused") if size > max(sizes(rows, "taken"))]
    if not refused or not limit / 2 < min(refused) < limit * 2:
        failures.append(f"btl_tcp_eager_limit {limit}: refused {refused}")


def buffer():
    """Sockets of a fixed size: B is what both sides hold, twice what was asked for (tcp(7)), within a factor of two."""
    each = 262144
    rows = between_nodes("buffer", "--mca", "btl_tcp_sndbuf", each, "--mca", "btl_tcp_rcvbuf", each)
    with open("raw.csv", "w") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    run(TOOL, "machine", "fit", "raw.csv", "--name", "x", "-o", "x.tbl")
    found = [line.split() for line in open("x.tbl") if " buffer " in line]
    if len(found) != 1 or found[0][:2] != ["inter_node", "any"] or not 2 * each < float(found[0][4]) < 8 * each:
        failures.append(f"{found} in two buffers of {each}")


if os.getuid() != 0 or subprocess.run([CLUSTER, "run", "-n", "1", "--", "true"], capture_output=True).returncode != 0:
    print("skipped: no network namespaces here, or not root")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    threshold()
    buffer()
    os.chdir("/")
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
