"""The benchmarks self, injection and contention on a real MPI: what they measure, and what they refuse. Nodes are
placed by hand, so one machine is enough. No assertion on how fast anything is.

Usage: network_job.py MPISTAIR PROGRAM MPIEXEC MPI; PROGRAM: mpistair-benchmark-MPI; MPI: mpich, openmpi.
"""
import csv
import json
import os
import subprocess
import sys
import tempfile

TOOL, PROGRAM, MPIEXEC, MPI = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), *sys.argv[3:]
OPTIONS = ["--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1"] if MPI == "openmpi" else []
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", MPISTAIR_DISTURBED="1")
failures = []
said = ""  # by the last benchmark, on standard error


def expect(what, condition):
    if not condition:
        failures.append(what)


def expect_all(benchmark, what, found, expected):
    """All of it was measured, or the benchmark said that its time did not suffice, as on a machine that is busy."""
    if found != expected and not (found <= expected and f"incomplete {benchmark}" in said):
        failures.append(f"{benchmark}: {what} {found}, expected {expected}; it said: {said}")


def run(benchmark, ranks, *words, code=0, says=None, placement=None):
    """Runs a benchmark; its samples."""
    global said
    command = [MPIEXEC, *OPTIONS, "-n", str(ranks), PROGRAM, benchmark, *words]
    environment = dict(ENVIRONMENT)
    if placement is not None:
        with open("L.csv", "w") as file:
            file.write("rank,node,socket\n" + "".join(f"{r},{node},0\n" for r, node in enumerate(placement)))
        environment["MPISTAIR_PLACEMENT"] = os.path.abspath("L.csv")
    done = subprocess.run(command, capture_output=True, text=True, timeout=90, env=environment)
    said = done.stderr
    if done.returncode != code or (says or "") not in done.stderr:
        failures.append(f"{' '.join(command)}: exit {done.returncode}, expected {code} and '{says}'; stderr: {done.stderr}")
    return list(csv.DictReader(line for line in done.stdout.splitlines() if not line.startswith("#")))


def expect_rows(benchmark, rows, level):
    expect(f"{benchmark}: rows", rows)
    for row in rows:
        if row["benchmark"] != benchmark or row["level"] != level or not float(row["seconds"]) > 0:
            failures.append(f"{benchmark}: {row}")
            return


def fit(rows):
    """The table of these samples, by (level, quantity)."""
    with open("raw.csv", "w") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    subprocess.run([TOOL, "machine", "fit", "raw.csv", "--name", "x", "-o", "x.tbl"], check=True, capture_output=True)
    shown = subprocess.run([TOOL, "machine", "show", "./x.tbl", "--json"], check=True, capture_output=True, text=True)
    return {(p["level"], p["quantity"]): p for p in json.loads(shown.stdout)["parameters"]}


def self_messages():
    rows = run("self", 2, "--seconds", "1")
    expect_rows("self", rows, "self")
    expect_all("self", "ranks", {r["ranks"] for r in rows}, {"0", "1"})
    expect_all("self", "sizes", {int(r["bytes"]) for r in rows}, {2**i for i in range(23)})
    table = fit(rows)
    expect(f"self: {table}", set(table) == {("self", "tau"), ("self", "bw")} and table["self", "bw"]["value"] > 0)


def fine_messages():
    """Every interface that the MPI has, as few messages and as many; its costs, or why there are none."""
    variants = {"p2p", "threads", "rma"} | ({"partitioned"} if MPI == "mpich" else set())
    rows = run("fine", 2, "--seconds", "2.5")
    expect_rows("fine", rows, "intra_socket")
    early = [r for r in rows if r["variant"] == "early"]
    rows = [r for r in rows if r["variant"] != "early"]
    expect("fine: early partitions", MPI == "mpich" or not early)
    expect("fine: shapes of early partitions", {r["count"] for r in early} <= {"8", "2"})
    expect_all("fine", "variants", {r["variant"] for r in rows}, variants)
    one_way = {(variant, 1, *shape) for variant in variants
               for shape in ((16384, 8), (16384, 32), (16384, 128), (1048576, 2), (1048576, 16))}
    both_ways = {(variant, 2, 4194304, 4) for variant in variants - {"threads"}}
    requests = {(variant, 2, 16384, count) for variant in variants & {"partitioned"} for count in (8, 32)}
    expect_all("fine", "shapes", {(r["variant"], int(r["n"]), int(r["bytes"]), int(r["count"])) for r in rows},
               one_way | both_ways | requests)


def injection():
    rows = run("injection", 2, "--seconds", "1", says="left_out injection: all 2 ranks are on one node")
    expect("injection: nothing is measured on one node", rows == [])
    if MPI == "openmpi":
        rows = run("injection", 5, "--seconds", "2", placement=[4, 2, 2, 2, 7])
        expect_all("injection", "n", {r["n"] for r in rows}, {"1", "2"})
    else:
        rows = run("injection", 2, "--seconds", "1", placement=[2, 4])
        expect_all("injection", "n", {r["n"] for r in rows}, {"1"})
    expect_rows("injection", rows, "inter_node")
    expect_all("injection", "sizes", {int(r["bytes"]) for r in rows}, {65536 * 2**i for i in range(7)})
    row = fit(rows)["inter_node", "injection"]
    expect(f"injection: {row}", row["value"] > 0 and row["protocol"] == "rendezvous")


def contention():
    run("contentions", 1, code=2, says="unknown benchmark 'contentions'")
    run("contention", 2, code=2, says="Expected --link")
    for link, why in (("0-1", "two pairs of nodes or more"), ("0-1,1-2", "node 1 appears twice"),
                      ("0-0,1-2", "node 0 appears twice"), ("0-1,2-9", "node 2 is not in this job"),
                      ("", "two pairs"), ("0-1,", "expected pairs"), ("0-x", "expected pairs"), ("-1-2", "expected pairs"),
                      ("0-1;2-3", "expected pairs"), ("0-99999999999999999999,1-2", "not in this job")):
        run("contention", 2, "--link", link, code=2, says=why, placement=[0, 1])
    if MPI == "mpich":
        return
    run("contention", 4, "--link", "0-1,2-9", code=2, says="node 9 is not in this job", placement=[6, 4, 2, 9])
    # Nodes 6, 4, 2, 9 are numbers 0, 1, 2, 3; one of them has a rank more than its partner.
    kinds = {("alone", "2", "node0-2"), ("alone", "2", "node3-1"), ("shared", "4", "node0-2+node3-1")}
    for seconds in ("2", "8", "24"):  # where others have the processors, nine ranks get nowhere in two seconds
        rows = run("contention", 9, "--seconds", seconds, "--link", "0-2,3-1", placement=[6, 4, 2, 9, 6, 4, 2, 9, 6])
        if {(r["variant"], r["n"], r["ranks"]) for r in rows} >= kinds and len({r["count"] for r in rows}) > 1:
            break
    expect_rows("contention", rows, "inter_node")
    expect_all("contention", "kinds", {(r["variant"], r["n"], r["ranks"]) for r in rows}, kinds)
    shapes = {(r["count"], r["bytes"]) for r in rows}
    for kind in {r["ranks"] for r in rows}:
        expect_all("contention", f"shapes of {kind}", {(r["count"], r["bytes"]) for r in rows if r["ranks"] == kind}, shapes)
    possible = {(str(4**c), str(4096 * 4**b)) for c in range(4) for b in range(5)}
    expect(f"contention: shapes {shapes}", shapes <= possible and len({count for count, _ in shapes}) > 1)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    self_messages()
    fine_messages()
    injection()
    contention()
    os.chdir("/")
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
