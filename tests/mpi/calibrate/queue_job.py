"""The queue benchmark on a real MPI: all depths in order and reversed, the steps that are fitted to them, and a machine
table with them, which predict reads as before. Open MPI with UCX, where it runs, has no linear search: the table says so.

Usage: queue_job.py MPISTAIR PROGRAM MPIEXEC MPI; PROGRAM: mpistair-benchmark-MPI; MPI: mpich, openmpi. Times are compared within one run only.
"""
import csv
import json
import os
import subprocess
import sys
import tempfile

TOOL, PROGRAM, MPIEXEC, MPI = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), *sys.argv[3:]
OPTIONS = ["--oversubscribe", "--bind-to", "none"] if MPI == "openmpi" else []
WITH_UCX = ["--mca", "pml", "ucx", "--mca", "pml_ucx_tls", "any", "--mca", "pml_ucx_devices", "any"]
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                   MPISTAIR_DISTURBED="1")  # what others disturb is another test's
DEPTHS = [1, 16, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 10000]
QUEUES = {"posted": "queue_step", "unexpected": "queue_step_unexpected"}
failures = []


def expect(what, condition):
    if not condition:
        failures.append(what)


def run(*words):
    done = subprocess.run(words, capture_output=True, text=True, timeout=100, env=ENVIRONMENT)
    expect(f"{' '.join(words)}: exit {done.returncode}, {done.stderr}", done.returncode == 0)
    return done


EXPECTED = {(f"{queue}_{order}", str(n)) for queue in QUEUES for order in ("inorder", "reversed") for n in DEPTHS}


def missing(samples):
    return sorted(EXPECTED - {(s["variant"], s["n"]) for s in samples})


def measure(raw, options):
    """The samples, kept in the file raw. None: the job cannot be run with these options."""
    for seconds in ("3", "7", "15"):  # longer on a machine with much else to do
        words = [MPIEXEC, *OPTIONS, *options, "-n", "2", PROGRAM, "queue", "--seconds", seconds]
        done = subprocess.run(words, capture_output=True, text=True, timeout=100, env=ENVIRONMENT)
        if done.returncode != 0:
            expect(f"{' '.join(words)}: exit {done.returncode}, {done.stderr}", options)
            return None
        samples = list(csv.DictReader(line for line in done.stdout.splitlines() if not line.startswith("#")))
        if not missing(samples):
            break
    if missing(samples) and "incomplete queue" in done.stderr:
        print(f"skipped: 15 seconds were not enough on this busy machine; not measured: {missing(samples)}")
        sys.exit(1 if failures else 77)
    with open(raw, "w") as file:
        file.write(done.stdout)
    return samples


def times_reversed(samples, queue, depth):
    """How many times longer reversed takes than in order, by the shortest: the machine may have much else to do."""
    def shortest(order):
        return min(float(s["seconds"]) for s in samples if s["variant"] == f"{queue}_{order}" and s["n"] == str(depth))
    return shortest("reversed") / shortest("inorder")


def check(name, samples):
    """The parameters that are fitted to the samples."""
    expect(f"{name}: not measured: {missing(samples)}", not missing(samples))
    if missing(samples):
        return
    for s in samples:
        expect(f"{name}: {s}", s["benchmark"] == "queue" and s["count"] == s["n"] and float(s["seconds"]) > 0)
    said = run(TOOL, "machine", "fit", f"{name}.raw.csv", "--name", name, "-o", f"{name}.tbl").stderr
    parameters = json.loads(run(TOOL, "machine", "show", f"./{name}.tbl", "--json").stdout)["parameters"]
    for queue, quantity in QUEUES.items():
        rows = [p for p in parameters if p["quantity"] == quantity]
        expect(f"{name}: depths of {quantity}", [p["n"] for p in rows] == [n for n in DEPTHS if n >= 64])
        for p in rows:
            expect(f"{name}: {p}", p["level"] == "any" and p["unit"] == "s" and p["value"] >= 0)
            expect(f"{name}: {p}", p["ci_low"] is None or 0 <= p["ci_low"] <= p["value"] <= p["ci_high"])
        linear = times_reversed(samples, queue, 10000)
        sentence = f"the {queue} queue is not searched linearly"
        if linear > 10:
            expect(f"{name}: {queue} is searched linearly", rows[-1]["value"] > 0 and sentence not in said)
        if linear < 2 and f"it is unclear whether the {queue} queue" not in said:  # where noise leaves it open, it is said
            expect(f"{name}: {queue} is not searched linearly: {said}", sentence in said and
                   {p["method"] for p in rows} == {"no-linear-search"})


def predicts_as_before(name):
    """Steps in a machine table do not disturb models that do not know them."""
    given = open(os.path.join(os.environ["MPISTAIR_SHARE"], "machines/thunderx2.tbl")).read()
    steps = [line for line in open(f"{name}.tbl") if " queue_step" in line]
    for path, rows in (("without.tbl", []), ("with.tbl", steps)):
        with open(path, "w") as file:
            file.write(given + "".join(rows))
    with open("P.csv", "w") as file:
        file.write("src,dst,bytes\n0,1,1000000\n1,0,1000\n0,2,8\n")
    with open("L.csv", "w") as file:
        file.write("rank,node,socket\n0,0,0\n1,0,0\n2,0,1\n")
    said = []
    for path in ("./without.tbl", "./with.tbl"):
        words = ["--pattern", "P.csv", "--placement", "L.csv", "--machine", path, "--model", "postal,max-rate,staircase"]
        said.append(run(TOOL, "predict", *words, "--format", "csv").stdout)
    expect(f"the same times with steps of queues and without: {said}", len(steps) == 18 and said[0] == said[1] != "")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    samples = measure("here.raw.csv", [])
    if samples is not None:
        check("here", samples)
    if os.path.exists("here.tbl"):
        predicts_as_before("here")
    samples = measure("ucx.raw.csv", WITH_UCX) if MPI == "openmpi" else None
    if samples is not None:
        check("ucx", samples)
        expect("UCX's hash table", missing(samples) or all(times_reversed(samples, queue, 10000) < 10 for queue in QUEUES))
    os.chdir("/")
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
