"""mpistair calibrate on a real MPI: a table that check and predict read, the levels that the job spans, clean failures.

Usage: calibrate_job.py MPISTAIR MPIEXEC MPI; MPI: mpich, openmpi. No assertion on how fast anything is.
"""
import csv
import json
import os
import subprocess
import sys
import tempfile

TOOL, MPIEXEC, MPI = os.path.abspath(sys.argv[1]), *sys.argv[2:]
OPTIONS = ["--oversubscribe", "--bind-to", "none"] if MPI == "openmpi" else []
# Whatever else runs: what is disturbed by it is another test.
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", MPISTAIR_DISTURBED="1")
failures = []


def expect(what, condition):
    if not condition:
        failures.append(what)


def run(*words, code=0, says="", **variables):
    done = subprocess.run(
        [TOOL, *words], capture_output=True, text=True, timeout=120, env={**ENVIRONMENT, **variables}
    )
    if done.returncode != code or says not in done.stderr:
        failures.append(f"{' '.join(words)}: exit {done.returncode}, expected {code}; stderr: {done.stderr}")
    return done.stdout


def launcher(ranks):
    return ["--", MPIEXEC, *OPTIONS, "-n", str(ranks)]


def table(name):
    return json.loads(run("machine", "show", f"./{name}.tbl", "--json"))["parameters"]


def samples_of(name):
    """Rows of the raw samples, and the comments among them without their '#'."""
    lines = open(f"{name}.raw.csv").read().splitlines()
    return list(csv.DictReader(l for l in lines if not l.startswith("#"))), [l[2:] for l in lines if l.startswith("#")]


def rows_of(parameters, level, quantity):
    return [p for p in parameters if p["level"] == level and p["quantity"] == quantity]


def calibrate(name, times, ranks, levels, benchmarks=frozenset(), quantities=frozenset(), **variables):
    """A calibration that found rates and latencies of so many levels, by these benchmarks and these quantities as well, or the
    longest of these; what it said. On a machine with much else to do the shortest time is not enough."""
    for seconds in times:
        said = run("calibrate", "--seconds", seconds, "--name", name, "-o", f"{name}.tbl", *launcher(ranks), **variables)
        found = [{p["level"] for p in table(name) if p["quantity"] == quantity} - {"self"} for quantity in ("bw", "tau")]
        shared = {p["n"] for p in rows_of(table(name), "intra_socket", "bw")}
        if shared and not {1, 2} <= shared:
            continue
        if min(map(len, found)) >= levels and benchmarks <= {s["benchmark"] for s in samples_of(name)[0]} and \
                quantities <= {p["quantity"] for p in table(name)}:
            break
    return said


def calls_of(parameters, level, said, samples):
    """What a post costs, for each protocol that the sizes reach, and who moves bytes: a row, or why there is none."""
    expect("variants of overhead", {s["variant"] for s in samples if s["benchmark"] == "overhead"} <= {"send", "receive"})
    expect("variants of progress", {s["variant"] for s in samples if s["benchmark"] == "progress"} <=
           {"alone", "sender", "receiver", "both"})
    expect("variants of cached", {s["variant"] for s in samples if s["benchmark"] == "cached"} <= {"one_way", "both_ways"})
    cached = {p["n"] for p in rows_of(parameters, level, "bw_cached")}
    expect("the largest buffer in caches", [p["unit"] for p in rows_of(parameters, level, "cached_bytes")] == ["B"] * bool(cached))
    expect(f"BW(1) and BW(2) of buffers in caches: {cached}, or a note: {said}", cached == {1, 2} or "rows bw_cached left out" in said)
    for quantity in ("overhead_send", "overhead_receive"):
        rows = rows_of(parameters, level, quantity)
        expect(f"{quantity}: {rows}", rows and all(p["value"] >= 0 and p["unit"] == "s" and p["n"] is None for p in rows))
    for protocol in {p["protocol"] for p in rows_of(parameters, level, "bw")} & {"rendezvous", "any"}:
        found = [p["value"] for p in rows_of(parameters, level, "progress") if p["protocol"] == protocol]
        expect(f"progress of {protocol}: {found}, or a note: {said}", len(found) == 1 and found[0] in (0, 1, 2, 3)
               or f"{level} {protocol}: progress left out" in said)


def observed_place():
    """Two ranks on the one socket that this test's machine surely has."""
    benchmarks = {"pingpong", "algorithm1", "self", "queue", "eager", "buffer", "overhead", "progress", "cached"}
    said = calibrate("here", ("4", "8", "15", "45"), 2, 1, benchmarks, {"overhead_send", "overhead_receive"})
    expect("says which levels are left out", "left out: inter_node" in said)
    parameters = table("here")
    samples, comments = samples_of("here")
    expect("the launcher is kept", any(c.startswith(f"asked launcher {MPIEXEC} ") for c in comments))
    expect("notes are kept once", comments.count("ranks 2") == 1 and len([c for c in comments if "library" in c]) == 1)
    done = {c.split()[1] for c in comments if c.startswith("done ")}
    expect(f"all programs are done: {done}", {"eager", "buffer", "fine", "curves"} <= done)
    expect("what was begun is done", {c.split()[1] for c in comments if c.startswith("begin ")} == done)
    expect("raw samples of all benchmarks", benchmarks <= {s["benchmark"] for s in samples})
    expect("raw samples are positive", all(float(s["seconds"]) > 0 for s in samples))
    level = samples[0]["level"]
    expect("one level only", {p["level"] for p in parameters} - {"any", "self"} == {level} ==
           {s["level"] for s in samples} - {"self"})
    expect("BW(1) and BW(2)", {1, 2} <= {p["n"] for p in rows_of(parameters, level, "bw")} or level == "inter_socket")
    expect("a latency", rows_of(parameters, level, "tau"))
    for p in parameters:
        expect(f"positive: {p}", p["value"] > 0 or p["quantity"] != "bw")
        probed = p["method"] == "probes"  # of which others may have disturbed all
        expect(f"samples: {p}", p["samples"] > 0 or p["quantity"] == "threshold" or probed)
        expect(f"interval: {p}", p["ci_low"] is None or p["ci_low"] <= p["value"])
    calls_of(parameters, level, said, samples)
    if MPI == "openmpi":
        expect("the eager limit by probe, or told", any(p["method"] in ("probe", "mpi_t") for p in parameters))
    run("machine", "check", "./here.tbl")
    # The raw file holds all that the fit needs: also what the MPI told.
    run("machine", "fit", "here.raw.csv", "--name", "again", "-o", "again.tbl")
    expect("the fit of the kept samples is the same", open("here.tbl").read().split("\n")[2:] ==
           open("again.tbl").read().split("\n")[2:])


def placed_by_hand():
    """Four ranks on three sockets of two nodes, wherever they really are: every level, and its groups."""
    with open("L.csv", "w") as file:
        file.write("rank,node,socket\n0,0,0\n1,0,0\n2,0,1\n3,1,0\n")
    calibrate("three", ("4", "8", "25", "60"), 4, 3, MPISTAIR_PLACEMENT="L.csv")
    pairs = {"intra_socket": {"0-1"}, "inter_socket": {"0-2", "1-2"}, "inter_node": {"0-3", "1-3", "2-3"}}
    for sample in samples_of("three")[0]:
        expected = pairs.get(sample["level"], set())  # none but itself: self
        if sample["benchmark"] == "pingpong" and "-".join(sorted(sample["ranks"].split("-"))) not in expected:
            failures.append(f"{sample['level']} pair {sample['ranks']}, expected one of {expected}")
            break
    parameters = table("three")
    for level, last in (("intra_socket", 2), ("inter_socket", 1), ("inter_node", 1)):
        expect(f"{level}: largest n {last}", max((p["n"] for p in rows_of(parameters, level, "bw")), default=0) == last)
    with open("P.csv", "w") as file:
        file.write("src,dst,bytes\n0,1,1000000\n1,0,1000\n0,2,8\n2,3,65536\n")
    for model in ("postal", "max-rate", "staircase"):
        words = ["--pattern", "P.csv", "--placement", "L.csv", "--machine", "./three.tbl", "--model", model]
        times = list(csv.DictReader(run("predict", *words, "--format", "csv").splitlines()))
        expect(f"{model}: four positive times: {times}", len(times) == 4 and all(float(t["time_s"]) > 0 for t in times))
    run("calibrate", *launcher(5 if MPI == "openmpi" else 2), MPISTAIR_PLACEMENT="absent.csv", code=1, says="absent.csv")


def synthetic_topology():
    """Two ranks on two processors, which hwloc is told are two sockets."""
    if len(os.sched_getaffinity(0)) < 2:
        return
    bind = ["--bind-to", "core"] if MPI == "openmpi" else ["-bind-to", "core"]
    two_sockets = ["env", "HWLOC_SYNTHETIC=package:2 core:1 pu:1"]
    run("calibrate", "--seconds", "2", "-o", "two.tbl", "--", MPIEXEC, *bind, "-n", "2", *two_sockets)
    expect("only inter_socket", {p["level"] for p in table("two")} - {"any", "self"} == {"inter_socket"})


def fails_cleanly():
    before = open("here.tbl").read(), open("here.raw.csv").read()
    bad = ["calibrate", "--seconds", "1", "-o", "here.tbl"]
    run(*bad, "--", "no-such-launcher", "-n", "2", code=1, says="no-such-launcher: cannot be started")
    run(*bad, *launcher(1), code=1, says="expected two or more")
    run(*bad, *launcher(2), "sh", "-c", "exit 3", code=1, says="failed with exit status")
    run(*bad, "--", "true", code=1, says="which MPI")
    if MPI == "openmpi":  # more ranks than slots: said once, with the option to use
        done = subprocess.run([TOOL, *bad, "--", MPIEXEC, "-n", "500"], capture_output=True, text=True, timeout=120, env=ENVIRONMENT)
        expect(f"one refusal: {done}", done.returncode == 1 and done.stderr.count("not enough slots") == 1
               and "add --oversubscribe" in done.stderr)
    run("calibrate", "-o", "nowhere/here.tbl", *launcher(2), code=1, says="nowhere/here")
    run("calibrate", code=2, says="no launcher")
    run("calibrate", "--name", "a b", *launcher(2), code=2, says="--name")
    run("calibrate", "--seconds", "-1", *launcher(2), code=2, says="--seconds")
    run("calibrate", "--launches", "1.5", *launcher(2), code=2, says="--launches")
    run("calibrate", "--launches", "0", *launcher(2), code=2, says="--launches")
    expect("a failure leaves the table", (open("here.tbl").read(), open("here.raw.csv").read()) == before)
    expect("and nothing beside it", sorted(f for f in os.listdir(".") if f.startswith("here")) ==
           ["here.raw.csv", "here.tbl"])


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    observed_place()
    placed_by_hand()
    synthetic_topology()
    fails_cleanly()
    os.chdir("/")
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
