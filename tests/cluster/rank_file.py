"""A job is recorded on two hosts, the search is asked for better places, and both launchers, given the files that it wrote,
put every rank where they say. No assertion on how fast anything is.

Usage: rank_file.py CLUSTER MPISTAIR STEPS MPIEXEC MPIEXEC_MPICH|- ; MPIEXEC and STEPS of Open MPI.
"""
import csv
import os
import subprocess
import sys
import tempfile

CLUSTER, TOOL, STEPS, MPIEXEC = map(os.path.abspath, sys.argv[1:5])
MPICH = sys.argv[5]


def run(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: exit {done.returncode}; stderr: {done.stderr}\n{done.stdout}")
    return done.stdout


def record(trace, *launcher):
    """The host of every rank, of a job whose ranks exchange much with both neighbours in a ring."""
    run(CLUSTER, "run", "-n", 2, "-m", 2, "--", TOOL, "run", "-o", trace, "--", *launcher, "-n", 4, STEPS, "halo", "-n", 20,
        "-b", 400000)
    sql = "SELECT host FROM process JOIN node ON node.id = node ORDER BY rank"
    return [row["host"] for row in csv.DictReader(run(TOOL, "query", "--format", "csv", trace, sql).splitlines())]


def main():
    failures = []
    hosts = record("before.db", MPIEXEC, "--map-by", "node")
    if hosts[0] != hosts[2] or hosts[1] != hosts[3] or hosts[0] == hosts[1]:
        failures.append(f"the first placement is {hosts}")
    print(run(TOOL, "predict", "before.db", "--machine", "summit", "--best-placement", "--rank-file", "best"))
    with open("best.hosts") as file:
        told = [line.strip().removesuffix(":1") for line in file]
    if told[0] == told[2] or told[1] == told[3]:  # neighbours belong together
        failures.append(f"not the best placement: {told}")
    after = record("after.db", MPIEXEC, "--rankfile", os.path.abspath("best.rankfile"))
    if after != told:
        failures.append(f"Open MPI: {after}, expected {told}")
    if MPICH != "-":
        lines = run(CLUSTER, "run", "-n", 2, "-m", 2, "--", MPICH, "-prepend-rank", "-f", os.path.abspath("best.hosts"),
                    "-n", 4, "cat", "/proc/sys/kernel/hostname").split()
        launched = [lines[2 * i:2 * i + 2] for i in range(4)]
        if sorted(map(tuple, launched)) != [(f"[{rank}]", told[rank]) for rank in range(4)]:
            failures.append(f"MPICH: {launched}, expected {told}")
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if os.getuid() != 0 or subprocess.run([CLUSTER, "run", "-n", "1", "--", "true"], capture_output=True).returncode != 0:
    print("skipped: no network namespaces here, or not root")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    code = main()
    os.chdir("/")
sys.exit(code)
