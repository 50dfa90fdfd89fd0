"""Contention, injection, burst and backlog between hosts that are really apart: every byte that a sample of contention claims has crossed
the shared link, in the direction that it claims, and a fit of the samples gives a table; the bucket that shapes a link is found,
and none where there is none; what stands before a card is found; who moves bytes is measured often enough, however short the time. No assertion on how fast
anything is.

Usage: network_job.py CLUSTER MPISTAIR PROGRAM MPIEXEC; PROGRAM: mpistair-benchmark-openmpi; Open MPI.
"""
import collections
import csv
import os
import subprocess
import sys
import tempfile

CLUSTER, TOOL, PROGRAM, MPIEXEC = (os.path.abspath(word) for word in sys.argv[1:])
os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", MPISTAIR_DISTURBED="1")
COUNTER = "nsenter --target 1 --net tc -s qdisc show dev %s | sed -n 's/.*Sent \\([0-9]*\\) bytes.*/counted %s \\1/p'"
failures = []


def expect(what, condition):
    if not condition:
        failures.append(what)


def run(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=90)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, words))}: exit {done.returncode}; stderr: {done.stderr}")
    return done.stdout


def fitted(rows, quantity):
    """Fits the samples; the lines of the table with that quantity."""
    with open("raw.csv", "w") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    run(TOOL, "machine", "fit", "raw.csv", "--name", "x", "-o", "x.tbl")
    return [line.split() for line in open("x.tbl") if f" {quantity} " in line]


def contention():
    job = f"{MPIEXEC} -n 4 {PROGRAM} contention --seconds 4 --link 0-2,1-3"
    counters = [COUNTER % (device, device) for device in ("between0", "between1")]
    lines = run(CLUSTER, "run", "-n", 4, "-m", 1, "-r", "none", "-l", "200mbit", "--", "sh", "-c",
                "; ".join([job, *counters])).splitlines()
    sent = {line.split()[1]: int(line.split()[2]) for line in lines if line.startswith("counted")}
    rows = list(csv.DictReader(line for line in lines if not line.startswith(("counted", "#"))))
    expect("contention: rows", {(r["variant"], r["n"]) for r in rows} == {("alone", "1"), ("shared", "2")})
    across = sum(int(r["n"]) * int(r["count"]) * int(r["bytes"]) for r in rows)
    expect(f"contention: {across} B claimed, {sent} counted on the link", 0 < across < sent["between0"])
    expect(f"contention: and acknowledgements alone come back: {sent}", sent["between1"] < sent["between0"] / 4)
    table = fitted(rows, "delta")
    expect(f"contention: {table}", len(table) == 1 and table[0][:4] == ["inter_node", "any", "delta", "-"])


def injection():
    expected = {("inter_node", "1"), ("inter_node", "2")}
    for seconds in 5, 20:  # the longer one on a machine with much else to do
        lines = run(CLUSTER, "run", "-n", 3, "-m", 2, "-r", "200mbit", "--", MPIEXEC, "-n", 6,
                    PROGRAM, "injection", "--seconds", seconds).splitlines()
        rows = list(csv.DictReader(line for line in lines if not line.startswith("#")))
        sizes = {(level, n): {r["bytes"] for r in rows if (r["level"], r["n"]) == (level, n)} for level, n in expected}
        if min(map(len, sizes.values())) >= 2:  # a fit needs two
            break
    expect("injection: rows", {(r["level"], r["n"]) for r in rows} == expected)
    table = fitted(rows, "injection")
    expect(f"injection: {table}", len(table) == 1 and table[0][:4] == ["inter_node", "rendezvous", "injection", "-"])


def between_two(benchmark, n_ranks, rate, seconds):
    """The samples of a benchmark on two hosts with that rate of the links."""
    lines = run(CLUSTER, "run", "-n", 2, "-m", n_ranks // 2, "-r", rate, "--", MPIEXEC, "-n", n_ranks,
                PROGRAM, benchmark, "--seconds", seconds).splitlines()
    return list(csv.DictReader(line for line in lines if not line.startswith("#")))


def fitted_alone(rows, quantity):
    """The rows of a table; made times of ping-pong stand in for the rest of it."""
    made = [dict(rows[0], benchmark="pingpong", variant="", bytes=size, seconds=1e-4 + 1e-8 * size)
            for size in (8, 4096, 65536)]
    return fitted(rows + made, quantity)


def bursts(rate, seconds):
    rows = between_two("burst", 2, rate, seconds)
    expect(f"burst {rate}: rows", {r["level"] for r in rows} == {"inter_node"} and
           {r["variant"] for r in rows} <= {"rested", "stream"} and {r["bytes"] for r in rows} <= {"262144", "1048576"})
    return fitted_alone(rows, "burst")


def burst():
    """The bucket of each host is 64 kB (cluster). On a machine with much else to do the shortest time is not enough."""
    for seconds in 3, 12:
        table = bursts("200mbit", seconds)
        if table:
            break
    expect(f"burst: {table}", len(table) == 1 and table[0][:4] == ["inter_node", "any", "burst", "-"] and
           24e3 < float(table[0][4]) < 200e3)
    table = bursts("none", 2)
    expect(f"burst without a bucket: {table}", not table)


def backlog():
    """Before a card stands what its queue holds of another pair's stream, of the own pair's more: all that was posted. Two
    hosts of one rank each have no other pair. Where links are not shaped, the program needs only end."""
    for seconds in 5, 15, 45:
        rows = between_two("backlog", 4, "200mbit", seconds)
        other, own = (fitted_alone(rows, quantity) for quantity in ("backlog", "backlog_pair"))
        if other and own:
            break
    expect("backlog: rows", {(r["level"], r["variant"], r["bytes"]) for r in rows} ==
           {("inter_node", variant, "8") for variant in ("alone", "other", "own")} | {("inter_node", "stream", "1835008")})
    expect(f"backlog: {other}", len(other) == 1 and other[0][:4] == ["inter_node", "any", "backlog", "-"] and
           20e3 < float(other[0][4]) < 400e3)
    expect(f"backlog of the own pair: {own}, of others: {other}", len(own) == 1 and
           own[0][:4] == ["inter_node", "any", "backlog_pair", "-"] and bool(other) and float(own[0][4]) > float(other[0][4]))
    rows = between_two("backlog", 2, "200mbit", 2)
    expect("backlog of one pair: rows", {r["variant"] for r in rows} == {"alone", "own", "stream"})
    between_two("backlog", 4, "none", 1)


def progress():
    """There is no time for three samples of everything: who moves bytes, which none or two do not tell, has them first. It gets
    four tenths of the time at most, which are not enough on a machine with much else to do."""
    for seconds in 12, 30:
        lines = run(CLUSTER, "run", "-n", 2, "-m", 2, "-r", "400mbit", "--", MPIEXEC, "-n", 4, PROGRAM, "curves",
                    "--seconds", seconds).splitlines()
        points = collections.defaultdict(collections.Counter)
        for row in csv.DictReader(line for line in lines if not line.startswith("#")):
            points[row["benchmark"]][row["variant"], row["level"], row["bytes"]] += 1
        n_samples = points["progress"].values()
        if len(n_samples) == 4 * 2 * 3 and min(n_samples) >= 3:
            break
    expect(f"progress: a point lacks samples: {points['progress']}", len(n_samples) == 4 * 2 * 3 and min(n_samples) >= 3)
    expect(f"progress: there was time enough for all, so that this says nothing: {points['pingpong']}",
           min(points["pingpong"].values()) < 3)


if os.getuid() != 0 or subprocess.run([CLUSTER, "run", "-n", "1", "--", "true"], capture_output=True).returncode != 0:
    print("skipped: no network namespaces here, or not root")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    contention()
    injection()
    burst()
    backlog()
    progress()
    os.chdir("/")
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
