"""mpistair calibrate --memory on one machine: what it refuses and why, what it measures all the same where it is told to,
what a SIGTERM leaves, and what goes on from there.

Usage: memory_job.py MPISTAIR MPIEXEC MPI [brief]; MPI: mpich, openmpi. brief leaves out what knows no MPI. Two processors are
taken, whatever the machine has. No assertion on how fast anything is.
"""
import collections
import csv
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback

TOOL, MPIEXEC, MPI, *BRIEF = os.path.abspath(sys.argv[1]), *sys.argv[2:]
OPTIONS = ["--oversubscribe", "--bind-to", "none"] if MPI == "openmpi" else []
OVER_TCP = ["--mca", "pml", "ob1", "--mca", "btl", "tcp,self"] if MPI == "openmpi" else []
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
for name in ("HWLOC_SYNTHETIC", "HWLOC_XMLFILE"):
    ENVIRONMENT.pop(name, None)
LIMIT_S = 120
SAMPLES = 12
SKIPPED = 77
failures = []


def expect(what, condition):
    if not condition:
        failures.append(what)


def words(*options, ranks=2, name="m", launcher=()):
    return [TOOL, "calibrate", "--memory", "-o", f"{name}.tbl", "--name", "m", *options, "--", MPIEXEC, *OPTIONS,
            *launcher, "-n", str(ranks)]


def run(command, code=0, says=(), **variables):
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, env={**ENVIRONMENT, **variables})
    for text in [says] if isinstance(says, str) else says:
        expect(f"{command[1:]} says '{text}': {done.stderr}", text in done.stderr)
    expect(f"{command[1:]}: exit {done.returncode}, expected {code}: {done.stderr}", done.returncode == code)
    return done


def core_of(cpu):
    """(socket, core) of a processor, as the kernel tells it and hwloc reads it."""
    folder = f"/sys/devices/system/cpu/cpu{cpu}/topology/"
    return tuple(int(open(folder + file).read()) for file in ("physical_package_id", "core_id"))


def take_two_cores():
    """Leaves this test, and what it starts, a processor of each of two cores of a socket; how many cores the socket has."""
    sockets = collections.defaultdict(dict)
    for cpu in sorted(os.sched_getaffinity(0)):
        socket, core = core_of(cpu)
        sockets[socket].setdefault(core, cpu)
    all_cores = collections.defaultdict(set)
    for entry in os.listdir("/sys/devices/system/cpu"):
        if entry[3:].isdigit() and os.path.exists(f"/sys/devices/system/cpu/{entry}/topology/core_id"):
            socket, core = core_of(int(entry[3:]))
            all_cores[socket].add(core)
    for socket, cores in sockets.items():
        if len(cores) >= 2:
            os.sched_setaffinity(0, set(list(cores.values())[:2]))
            return len(all_cores[socket])
    print("skipped: no socket with two cores that this test may use")
    sys.exit(SKIPPED)


def read(path):
    """Rows of a file of samples, and its comments without their '#'."""
    lines = open(path).read().splitlines()
    return (list(csv.DictReader(line for line in lines if not line.startswith("#"))),
            [line[2:] for line in lines if line.startswith("#")])


def counts(rows):
    return collections.Counter((r["variant"], r["n"], r["computing_numa"], r["message_numa"]) for r in rows)


def expect_nothing_left(what):
    expect(f"{what}: nothing is left: {os.listdir('.')}", os.listdir(".") == [])


def refusals(n_cores):
    """Every reason is a line, nothing is measured, and nothing is written."""
    cores = "the socket has 2 cores" if n_cores == 2 else f"rank 0 may use 2 of the {n_cores} cores of its socket"
    done = run(words(), 1, [f"mpistair: {cores}, expected 3 or more", "mpistair: both processes are on one machine",
                            "network namespaces", "nothing was measured", "--allow-cpu-copy"])
    expect(f"a line a reason, and no other: {done.stderr}",
           all(line.startswith(("mpistair: ", "left out: ")) for line in done.stderr.splitlines()))
    expect("no progress, no table on standard output", done.stdout == "")
    run(words(), 1, "the topology is not this machine's", HWLOC_SYNTHETIC="pack:1 core:4 pu:1")
    run(words(ranks=3), 1, "the launcher started 3 processes: expected two")
    run(words("--continue"), 1, "--continue: m.raw.csv.part has no samples of an interrupted calibration")
    expect_nothing_left("refused")


def one_core():
    """A launcher that leaves rank 0 a single core is told how to launch; nothing hangs."""
    both = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(both)})
    run(words("--allow-cpu-copy"), 1, ["rank 0 may use 1 of the", "--bind-to none (Open MPI)", "-bind-to none (MPICH)"])
    os.sched_setaffinity(0, both)
    expect_nothing_left("one core")


def usage():
    run([TOOL, "calibrate", "--placements", "all", "--", MPIEXEC, "-n", "2"], 2, "--placements requires --memory")
    run([TOOL, "calibrate", "--allow-cpu-copy", "--", MPIEXEC, "-n", "2"], 2, "--allow-cpu-copy requires --memory")
    run(words("--launches", "2"), 2, "--launches does not apply to --memory")
    run(words("--cached"), 2, "--cached does not apply to --memory")
    run(words("--placements", "some"), 2, "expected model or all")
    run(words("--restart", "--continue"), 2, "exclude each other")
    expect_nothing_left("wrong usage")


def expect_rows(rows, comments, numa_all):
    for row in rows:
        alone = row["variant"].endswith("_alone")
        expect(f"a row: {row}", int(row["bytes"]) > 0 and float(row["seconds"]) > 0 and float(row["at_s"]) > 0 and
               row["benchmark"] == "memory_contention" and row["level"] == "intra_socket" and row["launch"] == "1" and
               row["n"] == ("0" if row["variant"] == "message_alone" else "1"))
        expect(f"its nodes: {row}", (row["computing_numa"] != "") == (row["variant"] != "message_alone") and
               (row["message_numa"] != "") == (row["variant"] != "computation_alone") and
               all(row[key] == "" or 0 <= int(row[key]) < numa_all for key in ("computing_numa", "message_numa")))
        expect(f"whole messages: {row}", "message" not in row["variant"] or int(row["bytes"]) % 64000000 == 0)
        expect(f"together, one after the other: {row}", alone or row["variant"] in ("computation", "message"))
    expect("computation and message go in pairs", all(
        rows[i + 1]["variant"] == "message" and rows[i + 1]["at_s"] == row["at_s"] and
        rows[i + 1]["message_numa"] == row["message_numa"]
        for i, row in enumerate(rows) if row["variant"] == "computation"))
    for comment in ("memory cores 2", f"memory numa_all {numa_all}", "memory method cpu-copy"):
        expect(f"{comment}: {comments}", comment in comments)


def expect_table(sides):
    table = open("m.tbl").read()
    expect(f"ten rows a side, by cpu-copy: {table}", table.count(" cpu-copy\n") == 10 * len(sides))
    for side in sides:
        expect(f"{side}: {table}", f"{side} any memory_message - " in table and f"{side} any memory_alpha - " in table)
    expect(f"its source: {table}", "\nsource mpistair calibrate --memory, " in table)
    expect(f"its machine: {table}", "\nany any cores - 2 1" in table and "\nany any numa_nodes - 1 1" in table)


def ended_and_continued(n_nodes):
    """The samples of before a SIGTERM are kept; --continue measures what is missing, and no more."""
    command = words("--allow-cpu-copy", "--seconds", "2")
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    end = time.monotonic() + LIMIT_S
    while process.poll() is None and time.monotonic() < end:
        if os.path.exists("m.raw.csv.part") and open("m.raw.csv.part").read().count("memory_contention,") >= 3:
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGTERM)
    said = process.communicate(timeout=LIMIT_S)[1]
    expect(f"a signal is told, and its exit code: {process.returncode}, {said}",
           process.returncode == 143 and "signal 15" in said and "run the same command again to continue" in said)
    kept, _ = read("m.raw.csv.part")
    expect(f"samples are left: {len(kept)}, {os.listdir('.')}", kept and os.listdir(".") == ["m.raw.csv.part"])
    run(words("--allow-cpu-copy", "--seconds", "7", "--continue"), 1, "had 'seconds 2', this one has 'seconds 7'")
    run(words("--seconds", "2", "--continue"), 1, "allow-cpu-copy")
    done = run(command[:3] + ["--continue"] + command[3:], 0, f"continuing with the {len(kept)} samples")
    rows, comments = read("m.raw.csv")
    expect("the rows of before are in the final file", rows[:len(kept)] == kept)
    expect("time goes on where it was", float(rows[len(kept)]["at_s"]) >= float(kept[-1]["at_s"]))
    expect(f"every point has its samples, none more: {counts(rows)}", set(counts(rows).values()) == {SAMPLES} and
           {row["variant"] for row in rows} == {"computation_alone", "message_alone", "computation", "message"})
    expect_rows(rows, comments, n_nodes)
    if n_nodes == 1:
        expect("the remote side is left out, and said to be",
               "left out: memory, remote: the machine has 1 NUMA node" in done.stdout)
        expect_table(["intra_socket"])
    run(command[:3] + ["--continue"] + command[3:], 1, "has no samples of an interrupted calibration")


def all_placements():
    """A made-up machine of two nodes: every placement is measured, what is alone once a node."""
    done = run(words("--allow-cpu-copy", "--seconds", "1", "--placements", "all", "--skip-beyond-peak"),
               HWLOC_SYNTHETIC="pack:2 numa:1 core:2 pu:1")
    rows, comments = read("m.raw.csv")
    placements = {(key[2], key[3]) for key in counts(rows) if key[0] == "computation"}
    expect(f"placements: {placements}", placements == {(a, b) for a in "01" for b in "01"})
    expect(f"samples: {counts(rows)}", set(counts(rows).values()) == {SAMPLES} and len(counts(rows)) == 2 + 2 + 4 + 4)
    expect_rows(rows, comments, 2)
    expect_table(["intra_socket", "inter_socket"])
    expect(f"it says that nothing is bound: {done.stdout}", "the topology is not this machine's" in done.stdout)


def over_tcp():
    done = run(words("--allow-cpu-copy", "--seconds", "1", launcher=OVER_TCP), UCX_TLS="tcp")
    expect(f"TCP is seen: {done.stdout}", "messages: TCP sockets brought" in done.stdout)


socket_cores = take_two_cores()
nodes = len([entry for entry in os.listdir("/sys/devices/system/node") if entry[4:].isdigit()]) \
    if os.path.isdir("/sys/devices/system/node") else 1
cases = [lambda: refusals(socket_cores), one_core, lambda: ended_and_continued(nodes), over_tcp]
for case in cases if BRIEF else [*cases, usage, all_placements]:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            case()
        except Exception:
            failures.append(traceback.format_exc())
        os.chdir("/")
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
