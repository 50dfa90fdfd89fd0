"""Slurm itself, on four nodes of tests/cluster/cluster, each with a /tmp of its own and the folder of the cluster shared: traces
have what the programs counted, and what a cancelled job, a dead node or a requeue leaves is named, whole and nothing more.

Usage: slurm_job.py CLUSTER MPISTAIR APPS MPIEXEC. APPS: the folder of numbered-mpich, progress-openmpi, ...; MPIEXEC: Open MPI's.

MPICH's programs start by `srun --mpi=pmi2`, Open MPI's by `srun --mpi=pmix` (Debian's Slurm 22.05 has both) and by mpiexec in
salloc.
"""
import os
import re
import shlex
import sys
import time

import slurm
from slurm import expect, expect_cut, fail, files, kill_node, on, query, run, said, submit, wait_for, wait_for_end

CLUSTER, TOOL, APPS, MPIEXEC = (os.path.abspath(word) for word in sys.argv[1:5])
HINT = re.compile(r"mpistair: records into (\S+?)( of each node)?; if the job is killed, the trace is made by: "
                  r"(mpistair ingest (\S+) -o (\S+))( -- .*)?\n")
OWN_COUNT = re.compile(r"rank=(\d+) (MPI_\w+) calls=(\d+) bytes=(\d+)")


def numbered(mpi, *words):
    return [f"{APPS}/numbered-{mpi}", *words]


def counts(trace):
    return {(rank, name): (calls, n_bytes) for rank, name, calls, n_bytes in query(trace, "SELECT rank, f.name, sum(calls), "
            "sum(iif(idle, 0, bytes)) FROM total t JOIN function f ON f.id = t.function GROUP BY 1, 2")}


def expect_trace(trace, output, ranks, what):
    """The trace has the calls and bytes that each rank printed, and is complete."""
    own = {(int(rank), name): (int(calls), int(n_bytes)) for rank, name, calls, n_bytes in OWN_COUNT.findall(output)}
    expect(len({rank for rank, _ in own}), ranks, f"{what}: ranks")
    traced = counts(trace)
    expect({key: traced.get(key) for key in own}, own, f"{what}: calls and bytes by rank")
    expect(query(trace, "SELECT verdict FROM completeness"), [("complete",)], f"{what}: verdict")


def expect_hint(name, what):
    """One line has the command that ingests, and beside the spools nothing is left. Returns the spools and the command."""
    hints = HINT.findall(said(name))
    expect(len(hints), 1, f"{what}: one line has the command that ingests")
    expect([file for file in files(f"{name}.db*") if file != f"{name}.db.spool"], [], f"{what}: no trace, no temporary file")
    return hints[0][0], [TOOL, *shlex.split(hints[0][2])[1:]]


def check_ways():
    record = [TOOL, "run", "-o"]
    pmi2, pmix = ["srun", "-N4", "-n8", "--mpi=pmi2"], ["srun", "-N4", "-n8", "--mpi=pmix"]
    expect_trace("a.db", run(*record, "a.db", "--", *pmi2, *numbered("mpich", "halo", "40")), 8, "MPICH by pmi2")
    switches = "SELECT host, group_concat(switch, ' ') FROM (SELECT * FROM node_switch ORDER BY level) JOIN node ON id = node GROUP BY host"
    expect(query("a.db", switches), [("node0", "s1 top"), ("node1", "s1 top"), ("node2", "s2 top"), ("node3", "s2 top")],
           "the switches of topology.conf above each node")
    expect(run(TOOL, "query", "a.db", "switches", "--topology", f"{os.path.dirname(os.environ['SLURM_CONF'])}/topology.conf"),
           run(TOOL, "query", "a.db", "switches"), "the same by --topology topology.conf")
    expect_trace("b.db", run(*record, "b.db", "--spool", "/tmp/spools", "--", *pmix, *numbered("openmpi", "halo", "200")), 8,
                 "Open MPI by pmix, spools on each node's /tmp")
    expect([run(*on(node), "ls -R /tmp/spools 2>/dev/null || true").strip() for node in range(4)].count("/tmp/spools:") +
           len(files("[ab].db?*")), 3, "nothing is left but three empty folders")
    output = run("salloc", "-N2", "-n4", *record, "c.db", "--spool", "/tmp/spools", "--", MPIEXEC, "-n", 4,
                 *numbered("openmpi", "halo", "200"))
    expect_trace("c.db", output, 4, "Open MPI by mpiexec in salloc")
    wrong = set(query("c.db", switches)) - {("node0", "s1 top"), ("node1", "s1 top")}
    expect(wrong, set(), "mpiexec starts ranks without Slurm on its own node, whose switches may not be known")
    output = run("env", "RECORD_ALL=1", "srun", "-N2", "-n4", "--mpi=pmix", *numbered("openmpi", "halo", "200"))
    wait_for("a trace by the TaskProlog", lambda: files("mpistair-*.db"))
    os.rename(*files("mpistair-*.db"), "site.db")
    expect_trace("site.db", output, 4, "TaskProlog of the site")
    expect(oct(os.stat("site.db").st_mode & 0o777), "0o600", "TaskProlog of the site: for its owner alone")
    for mpi, way in (("mpich", "pmi2"), ("openmpi", "pmix")):
        half = [f"--mpi={way}", "-N1", "-n2", *numbered(mpi, "halo", "50")]
        expect_trace(f"{mpi}.db", run(*record, f"{mpi}.db", "--", "srun", *half, ":", *half), 4, f"{mpi}: srun a : b, one world")


def check_several():
    array = submit("array", [TOOL, "run", "--", "srun", "--mpi=pmix", *numbered("openmpi", "halo", "100")], "-n2", "--array=1-3")
    steps = [["srun", "-N1", "-n2", "--exact", f"--mpi={way}", *numbered(mpi, "halo", n)]
             for mpi, way, n in (("openmpi", "pmix", "111"), ("mpich", "pmi2", "222"))]
    both = " & ".join(map(shlex.join, steps)) + " & wait"
    two = submit("two", [TOOL, "run", "-o", "two.db", "--", "bash", "-c", both], "-N2", "-n4")
    wait_for_end(array)
    wait_for_end(two)
    traces = files("mpistair-*.db")
    expect(len(traces), 3, f"a trace for each task of an array: {traces}")
    one = {key: value for key, value in counts(traces[0]).items() if key[1] == "MPI_Isend"}
    for trace in traces:
        expect({key: counts(trace)[key] for key in one}, one, f"{trace}: the same traffic")
        expect(one[0, "MPI_Isend"][0], 100, f"{trace}: as it counted")
    expect(sorted(counts(trace)[0, "MPI_Isend"][0] for trace in ("two.db", "two-2.db")), [111, 222], "two steps at once")
    expect(files("*.spool*"), [], "no spools are left")


def check_ends():
    """scancel of a batch job, whose shell ends by SIGTERM, after which Slurm kills what is left of it; of its steps alone; a
    requeue, with spools on the node; a node that dies."""
    def start(name, *options, words=("halo", "100000000"), run_options=()):
        job = ["srun", "--mpi=pmix", *numbered("openmpi", *words)]
        return submit(name, [TOOL, "run", "-o", f"{name}.db", *run_options, "--", *job], "-N1", "-n2", *options)

    cancelled, steps = start("cancelled"), start("steps")
    again = start("again", "--requeue", "--nodelist=node2", words=("polls", "6000000"), run_options=("--spool", "/tmp/again"))
    wait_for("spools on node2", lambda: run(*on(2), "ls /tmp/again/*.mpispool 2>/dev/null | wc -l") == "2\n")
    time.sleep(0.5)
    run("scontrol", "requeue", again)
    wait_for("spools", lambda: len(files("*.db.spool/*.mpispool")) == 4)
    time.sleep(2)
    run("scancel", cancelled)
    run("scancel", "--signal=TERM", steps)
    wait_for_end(cancelled)
    wait_for_end(steps)
    spools, command = expect_hint("cancelled", "scancel")
    expect(len(files(f"{spools}/*.mpispool")), 2, "scancel: the spools stay")
    run(*command)
    expect_cut("cancelled.db", "scancel")
    expect_cut("steps.db", "scancel of the steps")
    expect(files("steps.db?*"), [], "scancel of the steps: the trace is made")
    late = start("late")
    wait_for("80 MB of spools", lambda: sum(map(os.path.getsize, files("late.db.spool/*.mpispool"))) > 80e6)
    run("scancel", "--signal=TERM", late)
    wait_for("ingest", lambda: files("late.db.spool/unfinished-*") or files("late.db"))
    run("scancel", late)
    wait_for_end(late)
    expect(files("late.db*"), ["late.db.spool"], "scancel during ingest: no trace, nothing beside the spools")
    run(*expect_hint("late", "scancel during ingest")[1])
    expect_cut("late.db", "scancel during ingest")
    expect(files("late.db.spool/unfinished-*"), [], "scancel during ingest: no temporary file after the next one")
    wait_for("requeue", lambda: "JobState=PENDING" in run("scontrol", "show", "job", again))
    run("scontrol", "update", f"JobId={again}", "StartTime=now")
    wait_for_end(again)
    expect_trace("again.db", said("again"), 2, "requeued")
    moved = "/tmp/again held an earlier run: it is now /tmp/again.1" in said("again")
    expect((len(HINT.findall(said("again"))), moved), (2, True), "requeue: the spools of the first try are kept")
    run(*on(2), f"{TOOL} ingest /tmp/again.1 -o {os.getcwd()}/first.db")
    expect_cut("first.db", "requeue")


def check_dead_node(daemons):
    os.mkdir("progress")
    job = submit("dead", [TOOL, "run", "-o", "dead.db", "--spool", "/tmp/dead", "--", "srun", "--mpi=pmix",
                          f"{APPS}/progress-openmpi", os.path.abspath("progress"), "plain"], "-N4", "-n4", "--no-requeue")
    wait_for("progress", lambda: len(files("progress/*")) == 4)
    time.sleep(1)
    kill_node(3, daemons)
    wait_for_end(job)
    run(*expect_hint("dead", "a dead node")[1])
    expect_cut("dead.db", "a dead node, of what one node has")
    os.mkdir("gathered")
    for node in range(4):
        run(*on(node), f"cp /tmp/dead/* {os.getcwd()}/gathered")
    run(TOOL, "ingest", "gathered", "-o", "gathered.db")
    expect_cut("gathered.db", "a dead node, of all nodes")
    expect(query("gathered.db", "SELECT count(*) FROM process"), [(4,)], "a dead node: all ranks are there")


slurm.main(__file__, TOOL, CLUSTER, lambda daemons: (check_ways, check_several, check_ends, lambda: check_dead_node(daemons)))
