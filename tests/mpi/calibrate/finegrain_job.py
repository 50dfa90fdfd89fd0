"""mpistair finegrain on a real MPI: content over every interface, messages as the recorder counts them, results, bad input,
and what a SIGTERM leaves. No assertion on how fast anything is.

Usage: finegrain_job.py MPISTAIR PROGRAM MPIEXEC MPI NO_THREADS; PROGRAM: mpistair-benchmark-MPI; MPI: mpich, openmpi; NO_THREADS is a
library to preload with which the MPI refuses MPI_THREAD_MULTIPLE.
"""
import csv
import json
import os
import signal
import subprocess
import sys
import tempfile
import time

TOOL, PROGRAM, MPIEXEC, MPI = *map(os.path.abspath, sys.argv[1:3]), *sys.argv[3:5]
NO_THREADS = os.path.abspath(sys.argv[5])
OPTIONS = ["--oversubscribe", "--bind-to", "none"] if MPI == "openmpi" else []
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
for name in ("MPISTAIR_PLACEMENT", "HWLOC_SYNTHETIC", "HWLOC_XMLFILE"):
    ENVIRONMENT.pop(name, None)
LIMIT_S = 60
# Short iterations: what is looked at is content, counts and messages.
SHORT = ["--compute", "2e-4", "--trials", "1", "--iterations", "3", "--threads", "8", "--fold"]
INTERFACES = [["p2p"], ["persistent"], ["rma", "--rma", "fence"], ["rma", "--rma", "passive"]]
if MPI == "mpich":
    INTERFACES.append(["partitioned"])
# Open MPI takes a second to start and end.
COUNTED = INTERFACES if MPI == "mpich" else [["p2p"], ["rma"]]
COLUMNS = ("interface,rma,mpi,ranks,buffers_per_rank,peers,bytes,threads,parts,compute_s,arrivals,seed,trials,iterations,"
           "bsp_s,bsp_low_s,bsp_high_s,fine_s,fine_low_s,fine_high_s,speedup_percent,speedup_low_percent,speedup_high_percent,"
           "oversleep_s,void").split(",")
failures = []


def expect(what, condition):
    if not condition:
        failures.append(what)


def launcher(ranks=2):
    return ["--", MPIEXEC, *OPTIONS, "-n", str(ranks)]


def run(*words, code=0, says="", lines=None):
    done = subprocess.run([TOOL, *words], capture_output=True, text=True, timeout=LIMIT_S, env=ENVIRONMENT)
    call = " ".join(words)
    expect(f"{call}: exit {done.returncode}, expected {code}: {done.stderr}", done.returncode == code)
    expect(f"{call} says '{says}': {done.stderr}", says in done.stderr)
    if lines is not None:
        expect(f"{call} says so in {lines} line: {done.stderr}", len(done.stderr.splitlines()) == lines)
    return done.stdout


def content():
    """Every part of every iteration, also parts of several sizes, on more ranks than two, eager and with rendezvous. Of windows
    an odd number of bytes is asked for: MPICH 4.0 lays such ones over each other."""
    for interface in INTERFACES:
        large = "262144" if interface[0] == "partitioned" else "262145"
        for size in ["67", large] if interface == ["p2p"] else [large]:
            out = run("finegrain", *SHORT, "--verify", "--interface", *interface, "--bytes", size, "--parts", "4",
                      "--format", "csv", *launcher())
            rows = list(csv.DictReader(out.splitlines()))
            expect(f"{interface}: columns {rows}", len(rows) == 1 and list(rows[0]) == COLUMNS)
            if not rows:
                continue
            row = rows[0]
            expected = {"interface": interface[0], "rma": interface[2] if interface[0] == "rma" else "", "mpi": MPI, "ranks": "2",
                        "buffers_per_rank": "6", "peers": "6", "bytes": size, "threads": "8", "parts": "4", "seed": "1",
                        "compute_s": "0.0002", "arrivals": "laggard:4", "trials": "1", "iterations": "3"}
            expect(f"{interface}: {row}", {key: row[key] for key in expected} == expected)
            bsp, fine, speedup = (float(row[key]) for key in ("bsp_s", "fine_s", "speedup_percent"))
            expect(f"{interface}: times {row}", bsp > 2e-4 and fine > 2e-4)
            expect(f"{interface}: speed-up {row}", abs(speedup - 100 * (bsp - fine) / bsp) < 1e-4)
            expect(f"{interface}: fewer than six iterations bound nothing: {row}", row["bsp_low_s"] == "")
    if MPI == "openmpi":
        row = run("finegrain", *SHORT[:-1], "--verify", "--bytes", "1000", "--format", "csv", *launcher(7)).splitlines()
        expect(f"7 ranks: {row}", row[1].startswith("p2p,,openmpi,7,1,6,1000,8,4,"))


def query(trace, sql):
    return [tuple(row.split(",")) for row in run("query", trace, sql, "--format", "csv").splitlines()[1:]]


def record(name, *words):
    """The trace of the program itself: `mpistair finegrain` keeps the recorder out of what it measures."""
    environment = dict(ENVIRONMENT, MPISTAIR_PARTITIONS="1")
    done = subprocess.run([TOOL, "run", "-o", name, *launcher(), PROGRAM, "finegrain", *SHORT, *words], capture_output=True, text=True,
                          timeout=LIMIT_S, env=environment)
    expect(f"recording {words}: {done.stderr}", done.returncode == 0)
    return name


def counts():
    """A rank sends 24 messages an iteration with 6 peers and 4 parts, 104 with 26 (Marts et al. 2024, section II-B). There is
    one iteration more of either way, whose content is compared before any is timed."""
    iterations = 3 + 1
    for peers in (6, 26):
        for interface in COUNTED if peers == 6 else COUNTED[:1]:
            trace = record("t.db", "--peers", str(peers), "--parts", "4", "--bytes", "4096", "--interface", *interface)
            messages = query(trace, "SELECT src, comm, bytes, count(*) FROM message WHERE bytes > 0 GROUP BY 1, 2, 3 ORDER BY 1, 2")
            found = sorted((src, size, count) for src, _, size, count in messages)
            whole = [(src, "4096", str(iterations * peers)) for src in "01"]
            parts = [(src, "1024", str(iterations * peers * 4)) for src in "01"]
            if interface[0] == "rma":
                parts = []
                puts = query(trace, "SELECT rank, bytes, count(*) FROM rma WHERE function IN ('MPI_Put', 'MPI_Rput') GROUP BY 1, 2 ORDER BY 1")
                expect(f"puts with {interface}: {puts}", puts == [(rank, "1024", str(iterations * peers * 4)) for rank in "01"])
            elif interface[0] == "partitioned":
                parts = whole
                seen = query(trace, "SELECT rank, function, partition, count(*) FROM partition WHERE partition IS NOT NULL "
                             "GROUP BY 1, 2, 3 ORDER BY 1, 2, 3")
                expect(f"partitions: {seen}", seen == [(rank, function, str(part), str(iterations * peers)) for rank in "01"
                                                       for function in ("MPI_Parrived", "MPI_Pready") for part in range(4)])
            expect(f"messages with {interface}, {peers} peers: {messages}", found == sorted(whole + parts))


def files():
    """What the files hold: the pairs of iterations in an order of their own, the arrivals, and the same ones again."""
    words = ["--compute", "2e-4", "--trials", "2", "--iterations", "6", "--threads", "4", "--fold", "--bytes", "256"]
    run("finegrain", *words, "--arrivals", "normal:20us", "--seed", "7", "-o", "a.csv", "--raw", "a.raw", "--dump", "a.times",
        *launcher())
    rows = list(csv.DictReader(open("a.csv")))
    expect(f"-o alone is CSV: {rows}", len(rows) == 1 and rows[0]["arrivals"] == "normal:20us" and rows[0]["bsp_low_s"] != "")
    raw = list(csv.DictReader(open("a.raw")))
    expect(f"columns of --raw: {raw[0]}", list(raw[0]) == "trial,iteration,way,seconds,last_arrival_s,oversleep_s".split(","))
    pairs = {}
    for row in raw:
        pairs.setdefault((row["trial"], row["iteration"]), {})[row["way"]] = row
    order = [(row["trial"], row["iteration"], row["way"]) for row in raw]
    expect(f"pairs: {sorted(pairs)}", len(raw) == 24 and len(pairs) == 12 and all(len(pair) == 2 for pair in pairs.values()))
    expect("random order", order != sorted(order))
    expect("the ways of a pair have the same arrivals",
           all(pair["bsp"]["last_arrival_s"] == pair["fine"]["last_arrival_s"] for pair in pairs.values()))
    expect("an iteration ends behind its last arrival",
           all(float(row["seconds"]) >= float(row["last_arrival_s"]) and float(row["oversleep_s"]) >= 0 for row in raw))
    times = list(csv.DictReader(open("a.times")))
    expect(f"--dump: {len(times)} rows", len(times) == 12 * 2 * 4)
    run("finegrain", *words, "--arrivals", "fixed:a.times", "-o", "b.csv", "--raw", "b.raw", "--dump", "b.times", *launcher())
    expect("fixed: takes what --dump wrote", open("a.times").read() == open("b.times").read())
    last = [{(row["trial"], row["iteration"]): row["last_arrival_s"] for row in csv.DictReader(open(name))}
            for name in ("a.raw", "b.raw")]
    expect(f"the same arrivals: {last}", last[0] == last[1])
    if MPI == "openmpi":
        return
    told = json.loads(run("finegrain", *words, "--format", "json", *launcher()))
    expect(f"JSON: {told}", set(COLUMNS) <= set(told) and told["buffers_per_rank"] == 6)
    text = run("finegrain", *words, *launcher())
    expect(f"text: {text}", "speed-up" in text and "Folded: up to 6 buffers" in text)


def bad_input():
    """Each says in one line what is wrong; exit 2."""
    open("empty.csv", "w").close()
    with open("one.csv", "w") as file:
        file.write("0.001\n")
    with open("short.csv", "w") as file:
        file.write("rank,thread,seconds\n0,0,0.001\n")
    cases = [
        (["--parts", "3"], "--parts 3: expected a divisor of --threads 16"),
        (["--parts", "32"], "--parts 32: expected a divisor"),
        (["--parts", "0"], "--parts 0"),
        (["--peers", "5"], "--peers 5: expected an even number"),
        (["--peers", "0"], "--peers 0"),
        (["--bytes", "3"], "--bytes 3: expected at least a byte"),
        (["--bytes", "4294967296"], "--bytes 4294967296"),
        (["--bytes", "1M"], "--bytes 1M"),
        (["--interface", "partitioned", "--bytes", "1001"], "expected a multiple of --parts 4"),
        (["--threads", "0"], "--threads 0"),
        (["--iterations", "0"], "--iterations 0"),
        (["--trials", "-1"], "--trials -1"),
        (["--compute=-1e-3"], "--compute -1e-3"),
        (["--compute", "nan"], "--compute nan"),
        (["--compute", "1e9"], "--compute 1e9"),
        (["--interface", "shmem"], "--interface shmem: expected p2p"),
        (["--rma", "passive"], "--rma passive: only with --interface rma"),
        (["--arrivals", "late:4"], "late:4"),
        (["--arrivals", "laggard:x"], "laggard:x"),
        (["--arrivals", "kde:empty.csv"], "empty.csv"),
        (["--arrivals", "kde:one.csv"], "one.csv"),
        (["--arrivals", "kde:missing.csv"], "missing.csv"),
        (["--arrivals", "trace:missing.db"], "missing.db"),
        (["--width", "1e-6"], "--width: only with --arrivals kde"),
        (["--format", "xml"], "--format xml"),
        (["--seed", "x"], "--seed x"),
        (["--raw", "-"], "--output, --raw, --dump: at most one"),
    ]
    for words, says in cases:
        run("finegrain", "--fold", *words, *launcher(), code=2, says=says, lines=1)
    run("finegrain", "--fold", code=2, says="no launcher", lines=1)
    # These are seen under the launcher.
    run("finegrain", *SHORT[:-1], *launcher(), code=2, says="2 ranks: 6 peers need 7", lines=1)
    run("finegrain", *SHORT, *launcher(1), code=2, says="1 rank", lines=1)
    run("finegrain", *SHORT, "--arrivals", "fixed:short.csv", *launcher(), code=2, says="times of 1 threads of rank 0; expected 8", lines=1)
    preload = {"mpich": ["-genv", "LD_PRELOAD", NO_THREADS], "openmpi": ["-x", f"LD_PRELOAD={NO_THREADS}"]}[MPI]
    run("finegrain", *SHORT, "--", MPIEXEC, *OPTIONS, *preload, "-n", "2", code=1, says="MPI_THREAD_MULTIPLE", lines=1)
    if MPI == "openmpi":
        run("finegrain", *SHORT, "--interface", "partitioned", *launcher(), code=1,
            says="this MPI has no partitioned communication", lines=1)
    run("finegrain", *SHORT, "-o", "nowhere/a.csv", *launcher(), code=1, says="nowhere", lines=1)
    run("finegrain", *SHORT, "--dump", "nowhere/a.csv", *launcher(), code=1, says="nowhere", lines=1)
    run("finegrain", *SHORT, "-o", "/dev/full", *launcher(), code=1, says="/dev/full", lines=1)


def interrupted():
    """A signal ends the job and leaves the files as they were."""
    for name in ("kept.csv", "kept.raw"):
        with open(name, "w") as file:
            file.write("before\n")
    before = sorted(os.listdir("."))
    tool = subprocess.Popen([TOOL, "finegrain", "--fold", "--compute", "0.05", "-o", "kept.csv", "--raw", "kept.raw",
                             "--dump", "never.csv", *launcher()], stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    begin = time.monotonic()
    while len(os.listdir(".")) <= len(before) and time.monotonic() - begin < LIMIT_S:
        time.sleep(0.05)  # until the files beside are there
    time.sleep(0.5)
    tool.send_signal(signal.SIGTERM)
    _, said = tool.communicate(timeout=LIMIT_S)
    expect(f"SIGTERM: exit {tool.returncode}: {said}", tool.returncode in (143, -signal.SIGTERM))
    expect(f"SIGTERM leaves {sorted(os.listdir('.'))}, before {before}", sorted(os.listdir(".")) == before)
    expect("SIGTERM changes no file", all(open(name).read() == "before\n" for name in ("kept.csv", "kept.raw")))


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for part in (content, counts, files, bad_input, interrupted):
        part()
    os.chdir("/")
print("\n".join(failures) or f"finegrain {MPI}: ok")
sys.exit(1 if failures else 0)
