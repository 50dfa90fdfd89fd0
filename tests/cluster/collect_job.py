"""Spools that only their node sees, brought together by the collector on Slurm's four nodes: the trace is that of all spools in
one place, row by row; whatever goes wrong, no trace is called complete that is not, nothing is lost, and a line says what helps.

Usage: collect_job.py CLUSTER MPISTAIR APPS MPIEXEC MPIEXEC_MPICH PART MPI. PART: whole, faults (of MPI). The test runs on node0, whose /tmp has the traces.
"""
import contextlib
import os
import re
import shlex
import signal
import subprocess
import sys
import time

import slurm
from slurm import expect, expect_cut, fail, files, kill_node, on, query, run, said, submit, wait_for, wait_for_end

CLUSTER, TOOL, APPS, MPIEXEC, MPIEXEC_MPICH = (os.path.abspath(word) for word in sys.argv[1:6])
PMIX, PMI2 = ["srun", "-N4", "--overcommit", "--mpi=pmix"], ["srun", "-N4", "--overcommit", "--mpi=pmi2"]
COMMAND = re.compile(r"(?:trace is made by|of all is made by|it is made by): ((?:salloc .*)?mpistair ingest .*)\n")
MPI = sys.argv[7]
LAUNCH, LONG = (PMI2, 200) if MPI == "mpich" else (PMIX, 2000)


def halo(mpi, steps):
    return [f"{APPS}/numbered-{mpi}", "halo", steps]


def run_job(*words, codes=(0,)):
    """Runs a job. Ranks of Open MPI 4.1 that connect to each other by TCP at the same moment crash at times, recorded or not; then
    the job is tried again, without what it has left."""
    words = list(map(str, words))
    for _ in range(4):
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=40)
        if "failed to TCP connect to a peer" not in done.stdout:
            break
        trace, spools = (words[words.index(option) + 1] for option in ("-o", "--spool"))
        on_nodes(f"rm -rf {trace} {trace}.spool {spools} 2>/dev/null; true")
    if done.returncode not in codes:
        fail(f"{shlex.join(map(str, words))}: exit {done.returncode}: {done.stdout}")
    return done.stdout


def verdict(trace):
    return query(trace, "SELECT verdict FROM completeness")[0][0]


def rows(trace):
    """All tables; ids too, as the same spools are read in the same order."""
    tables = [name for name, in query(trace, "SELECT name FROM sqlite_master WHERE type = 'table'")]
    return {table: query(trace, f'SELECT * FROM "{table}"') for table in tables}


def is_near(a, b):
    """Ingest takes the rate of a short run's clock up to now, so its times differ from one call to the next."""
    return a == b or isinstance(a, int) and isinstance(b, int) and min(abs(a), abs(b)) > 1000 and abs(a - b) <= 10 + 1e-7 * abs(a) or \
        isinstance(a, float) and isinstance(b, float) and abs(a - b) <= 1e-6 * abs(a)


def expect_same(found, expected, what):
    different = [(table, *next(((a, b) for a, b in zip(found.get(table, []), wanted) if not all(map(is_near, a, b))), ()))
                 for table, wanted in expected.items() if len(found.get(table, [])) != len(wanted) or
                 not all(all(map(is_near, a, b)) for a, b in zip(found[table], wanted))]
    expect((different, len(found)), ([], len(expected)), f"{what}: {sum(map(len, expected.values()))} rows")


def on_nodes(command, nodes=range(4)):
    return [run(*on(node), command).strip() for node in nodes]


def spools_on_nodes(folder):
    return [int(n) for n in on_nodes(f"ls {folder}/*.mpispool 2>/dev/null | wc -l")]


def bring_by_hand(folder, name):
    """Copies the spools of all nodes to one place and ingests them there: what every trace is held against."""
    os.mkdir(name)
    on_nodes(f"cp /tmp/{folder}/* {os.path.abspath(name)} 2>/dev/null; true")
    run(TOOL, "ingest", name, "-o", f"{name}.db", "--quiet")
    return rows(f"{name}.db")


def later(output):
    """The command that a line gives for a trace of all, as words to run."""
    commands = COMMAND.findall(output)
    if not commands:
        fail(f"no line has the command that helps: {output}")
    return [TOOL if word == "mpistair" else word for word in shlex.split(commands[-1])]


def check_whole():
    """Both MPIs, by srun and by mpiexec; with kept spools, brought once more by ingest; totals alone."""
    inside = ["salloc", "-N4", "-n16", "--overcommit"]
    ways = (("a", [], [*PMIX, "-n16", *halo("openmpi", 200)], 16),
            ("b", [], [*PMI2, "-n16", *halo("mpich", 20)], 16),
            ("c", inside, [MPIEXEC, "--oversubscribe", "-n", 16, *halo("openmpi", 200)], 16),
            ("d", inside, [MPIEXEC_MPICH, "-ppn", 1, "-n", 4, *halo("mpich", 20)], 4))
    for name, allocation, command, ranks in ways:
        what = f"{os.path.basename(str(command[0]))} of {os.path.basename(command[-3])}"
        record = [*allocation, TOOL, "run", "-o", f"/tmp/{name}.db", "--spool", f"/tmp/{name}", "--keep-spools", "--"]
        output = run_job(*record, *command)
        if " of 3 other nodes to " not in output:
            fail(f"{what}: the collector was not needed: {output[-2000:]}")
        expect(spools_on_nodes(f"/tmp/{name}"), [ranks // 4] * 4, f"{what}: the spools are where they were")
        whole = bring_by_hand(name, name)
        expect(verdict(f"/tmp/{name}.db"), "complete", f"{what}: verdict")
        expect(len(whole["process"]), ranks, f"{what}: ranks")
        expect_same(rows(f"/tmp/{name}.db"), whole, f"{what}: as of spools in one place")
    for processes in (4, 8):
        run(TOOL, "ingest", "/tmp/a", "-o", "/tmp/again.db", "--", *PMIX, f"-n{processes}")
        expect_same(rows("/tmp/again.db"), rows("/tmp/a.db"), f"ingest with a launcher of {processes} processes gives the same")
    expect(files("/tmp/again.db*"), ["/tmp/again.db"], "ingest with a launcher leaves nothing beside the trace")
    expect(spools_on_nodes("/tmp/a"), [4] * 4, "ingest with a launcher removes no spool")
    output = run(TOOL, "ingest", "a", "-o", "/tmp/one.db", "--", *PMIX, "-n4")
    expect("brought" in output, False, "nothing is started if all spools are here")
    run_job(TOOL, "run", "-o", "/tmp/e.db", "--spool", "/tmp/e", "--sums", "--", *PMIX, "-n16", *halo("openmpi", 200))
    expect(verdict("/tmp/e.db"), "complete; totals only", "totals only: verdict")
    expect(query("/tmp/e.db", "SELECT count(DISTINCT rank), sum(calls) FROM total t JOIN function f ON f.id = t.function "
                 "WHERE f.name = 'MPI_Isend'"), [(16, 3200)], "totals only: all ranks' calls")
    expect((spools_on_nodes("/tmp/e"), files("/tmp/e.db*"), on_nodes("ls -A /tmp/e 2>/dev/null | wc -l")),
           ([0] * 4, ["/tmp/e.db"], ["0"] * 4), "totals only: nothing is left but empty folders")


def check_elsewhere():
    """mpistair run on a node without ranks, as on a login node: the trace goes where the ranks' nodes see it, or the line says so."""
    inside = ["salloc", "--nodelist=node1,node2,node3", "-n6", "--overcommit", TOOL, "run", "--spool"]
    program = ["srun", "--mpi=pmix", "-n6", *halo("openmpi", 200)]
    run_job(*inside, "/tmp/q", "-o", "q.db", "--", *program)
    expect((verdict("q.db"), query("q.db", "SELECT count(*) FROM process"), files("q.db*")), ("complete", [(6,)], ["q.db"]),
           "run on a login node, the trace in a shared folder")
    output = run_job(*inside, "/tmp/r", "-o", "/tmp/r.db", "--", *program, codes=(1,))
    expect(("no process of this launcher sees the folder /tmp/r.db.spool" in output, spools_on_nodes("/tmp/r"), files("/tmp/r.db*")),
           (True, [0, 2, 2, 2], []), "run on a login node, the trace where no rank sees it: the spools stay")
    words = [word.replace("/tmp/r.db", "r.db") for word in later(output)]
    run(*words)
    expect((verdict("r.db"), query("r.db", "SELECT count(*) FROM process")), ("complete", [(6,)]),
           "the command of the line, with -o in a shared folder, makes it")


def collectors(node):
    """The processes of the collector on a node; all nodes' processes are in this test's namespace."""
    namespace = run(*on(node), "readlink /proc/self/ns/net").strip()
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{process}/cmdline", "rb") as words:
                is_one = b"mpistair-collector" in words.read().split(b"\0")[0]
            if is_one and os.readlink(f"/proc/{process}/ns/net") == namespace:
                found.append(int(process))
        except (FileNotFoundError, ProcessLookupError):
            pass
    return found


def is_dying(process):
    with open(f"/proc/{process}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[0] in "ZX"


def stop_collector(name, node):
    """A job whose collector stands still on a node before it has brought all. Returns the number of the job and of the process."""
    for _ in range(5):
        job = submit(name, [TOOL, "run", "-o", f"/tmp/{name}.db", "--spool", f"/tmp/{name}", "--", *LAUNCH, "-n8",
                            *halo(MPI, LONG)], "-N4", "-n8", "--overcommit", "--no-requeue")
        process = stop_found(name, node)
        time.sleep(0.5)
        if not any(map(os.path.exists, (f"/tmp/{name}.db.spool/collect.report", f"/tmp/{name}.db"))):
            return job, process
        if process in collectors(node):
            os.kill(process, signal.SIGCONT)  # too late: all was brought
        wait_for_end(job)
        run("rm", "-rf", f"/tmp/{name}.db", f"{name}.out")
    fail(f"{name}: its collector was never stopped in time")


def stop_found(name, node):
    """Waits for a collector on a node and stops it, which ends no process that is being killed. Returns the process."""
    until = time.monotonic() + 30
    while time.monotonic() < until:
        for process in collectors(node):
            try:
                if not is_dying(process):
                    os.kill(process, signal.SIGSTOP)
                    return process
            except (FileNotFoundError, ProcessLookupError):
                pass
        time.sleep(0.01)
    fail(f"{name}: no collector: {said(name)}")


def expect_nothing_lost(name, what):
    """No trace is there, or one that says what it lacks; and the line's command makes it of all."""
    if os.path.exists(f"/tmp/{name}.db"):
        expect(verdict(f"/tmp/{name}.db").startswith("incomplete"), True, f"{what}: {verdict(f'/tmp/{name}.db')}")
    run(*later(said(name)))
    expect((verdict(f"/tmp/{name}.db"), query(f"/tmp/{name}.db", "SELECT count(*) FROM process")), ("complete", [(8,)]),
           f"{what}: the command of the line makes the whole trace")


def check_cancelled():
    job = submit("f", [TOOL, "run", "-o", "/tmp/f.db", "--spool", "/tmp/f", "--", *LAUNCH, "-n8", *halo(MPI, 100000000)],
                 "-N4", "-n8", "--overcommit", "--no-requeue")
    wait_for("spools on all nodes", lambda: spools_on_nodes("/tmp/f") == [2] * 4)
    time.sleep(1)
    run("scancel", job)
    wait_for_end(job)
    expect(files("/tmp/f.db"), [], "scancel of the job: no trace")
    run(*later(said("f")))
    expect_cut("/tmp/f.db", "scancel of the job")
    expect(query("/tmp/f.db", "SELECT count(*) FROM process"), [(8,)], "scancel of the job: all ranks are there")
    expect_same(rows("/tmp/f.db"), bring_by_hand("f", "f"), "scancel of the job: as of spools in one place")
    job, process = stop_collector("g", 2)
    run("scancel", job)
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGCONT)
    wait_for_end(job)
    expect(sum(spools_on_nodes("/tmp/g")), 8, "scancel in collecting: the spools stay")
    expect_nothing_lost("g", "scancel in collecting")


def kill_collector(name, node, times):
    """A job whose collector is killed so many times."""
    job, process = stop_collector(name, node)
    os.kill(process, signal.SIGKILL)
    for _ in range(times - 1):
        wait_for("the end of the killed one", lambda: process not in collectors(node))
        os.kill(stop_found(name, node), signal.SIGKILL)
    wait_for_end(job)


def check_killed():
    """Killed once, it is started once more; killed each time, a line has the command."""
    for names, node, times in (("huv", 2, 1), ("iwx", 0, 2)):
        for name in names:
            kill_collector(name, node, times)
            if "failed to TCP connect to a peer" not in said(name):  # see run_job
                break
        what = f"a collector killed on node{node}, {times} times"
        if times == 1:
            expect(verdict(f"/tmp/{name}.db"), "complete", f"{what}: the next one brings all")
        else:
            expect((verdict(f"/tmp/{name}.db")[:10], sum(spools_on_nodes(f"/tmp/{name}"))), ("incomplete", 8), f"{what}: the spools stay")
            expect_nothing_lost(name, what)


def check_damaged():
    """Spools deleted, cut off, of another run, before they are collected."""
    def record(name, change):
        """Runs a job whose spools on node3 a last rank changes, before the launcher ends."""
        program = f"{shlex.join(map(str, halo('openmpi', 200)))}; [ \"$SLURM_PROCID\" != 7 ] || {{ sleep 0.3; {change}; }}"
        return run_job(TOOL, "run", "-o", f"/tmp/{name}.db", "--spool", f"/tmp/{name}", "--", *PMIX, "-n8", "bash", "-c", program)

    output = record("j", "rm /tmp/j/*-6.mpispool")
    expect((verdict("/tmp/j.db"), "Lost ranks: 6\n" in output, "1 of 8 spools are not here" in output),
           ("incomplete: spools of 1 processes are missing", True, True), "a spool deleted")
    record("k", "truncate -s -300000 /tmp/k/*-6.mpispool")
    expect(verdict("/tmp/k.db").startswith("incomplete"), True, f"a spool cut off: {verdict('/tmp/k.db')}")
    on_nodes("mkdir /tmp/l; cp /tmp/a/* /tmp/l", [3])
    output = record("l", "true")
    expect((verdict("/tmp/l.db"), files("/tmp/l*.db"), spools_on_nodes("/tmp/l")), ("complete", ["/tmp/l.db"], [0, 0, 0, 4]),
           "spools of another run are left alone")


def check_full():
    """The disk to which spools are brought has too little room, then enough; the disk of a node has none."""
    run("mkdir", "/tmp/m")
    run("mount", "-t", "tmpfs", "-o", "size=1m", "small", "/tmp/m")
    words = [TOOL, "run", "-o", "/tmp/m/m.db", "--spool", "/tmp/n", "--", *PMIX, "-n8", *halo("openmpi", 1500)]
    output = run_job(*words, codes=(0, 1))  # 1: the trace of what is there has no room either
    found = verdict("/tmp/m/m.db") if os.path.exists("/tmp/m/m.db") else "incomplete: there is none"
    expect(("No space left on device" in output, found.startswith("incomplete"), spools_on_nodes("/tmp/n")),
           (True, True, [2] * 4), "no room for the spools of all: none is removed")
    run("mount", "-o", "remount,size=200m", "/tmp/m")
    run(*later(output))
    expect((verdict("/tmp/m/m.db"), query("/tmp/m/m.db", "SELECT count(*) FROM process")), ("complete", [(8,)]),
           "with room the command of the line makes the whole trace")
    on_nodes("mkdir /tmp/o; mount -t tmpfs -o size=5m small /tmp/o", [3])
    run_job(TOOL, "run", "-o", "/tmp/o.db", "--spool", "/tmp/o", "--", *PMIX, "-n8", *halo("openmpi", 6000))
    found = verdict("/tmp/o.db")
    expect(found.startswith("incomplete"), True, f"the disk of a node is full: {found}")
    expect(len(query("/tmp/o.db", "SELECT 1 FROM process")), 8, "the disk of a node is full: all ranks are there")


def check_dead_node(daemons):
    job, _ = stop_collector("p", 3)
    kill_node(3, daemons)
    wait_for_end(job)
    expect(spools_on_nodes("/tmp/p"), [2] * 4, "a node dies in collecting: the others' spools stay")
    words = later(said("p"))
    alive = [word.replace("node[0-3]", "node[0-2]").replace("=4", "=3") for word in words]
    run(*alive)
    expect(verdict("/tmp/p.db").startswith("incomplete: spools of 2 processes"), True,
           f"a node dies in collecting: of the others, {verdict('/tmp/p.db')}")


PARTS = {"whole": lambda daemons: (check_whole, check_elsewhere, check_damaged, check_full),
         "faults": lambda daemons: (check_cancelled, check_killed, lambda: check_dead_node(daemons))}
slurm.main(__file__, TOOL, CLUSTER, PARTS[sys.argv[6]], 7)
