#!/usr/bin/env python3
"""MPISTAIR_DETAIL=none: no call has a record, and the totals are what programs counted (tests/apps/numbered.c), to the last
unit, with several threads as well; of a job that is killed they go up to the last calls. Defaults of a site say the same."""
import argparse
import collections
import contextlib
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import tempfile
import time

STEPS = {"halo": 500, "wavefront": 500, "master_worker": 500, "communicators": 2000, "threads": 300, "persistent": 500,
         "one_sided": 500, "files": 300, "collectives": 500, "changing": 500, "polls": 20000}
RECORDS = re.compile(r"^lane=\d+ (operation|call|idle|collective|access|sum) ", re.M)


def require(condition, message):
    if not condition:
        raise SystemExit(message)


class Job:
    def __init__(self, arguments, folder, detail):
        self.arguments, self.folder = arguments, pathlib.Path(folder)
        self.environment = dict(os.environ, MPISTAIR_DETAIL=detail, MPISTAIR_INGEST="0", MPISTAIR_SPOOL=str(self.folder / "spools"),
                                OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")

    def command(self, *words):
        return [*self.arguments.launcher, "-n", "2", "env", f"LD_PRELOAD={self.arguments.preload}", str(self.arguments.program), *words]

    def run(self, *words):
        done = subprocess.run(self.command(*words), env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=100)
        require(done.returncode == 0, f"{words}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def dumps(self):
        """{rank: text} of the spools, which are then removed."""
        found = {}
        for spool in (self.folder / "spools").glob("*.mpispool"):
            text = subprocess.run([self.arguments.dump, spool], check=True, stdout=subprocess.PIPE, text=True).stdout
            found[int(re.search(r"header rank=(\d+)", text)[1])] = text
        for file in (self.folder / "spools").glob("*"):
            file.unlink()
        return found


def totals(text):
    """{MPI_X: [calls, bytes]}; of tests without a result the calls alone."""
    found = collections.defaultdict(lambda: [0, 0])
    for function, flags, calls, n_bytes in re.findall(r"^total (\w+) peer=-?\d+ flags=(\d+) calls=(\d+) bytes=(\d+)", text, re.M):
        found["MPI_" + function][0] += int(calls)
        found["MPI_" + function][1] += 0 if int(flags) & 4 else int(n_bytes)
    return found


def case_counts(job):
    for kind, steps in STEPS.items():
        done = job.run(kind, str(steps))
        own = re.findall(r"rank=(\d+) (MPI_\w+) calls=(\d+) bytes=(\d+)", done.stdout)
        require(own, f"{kind}: the program counted nothing")
        dumps = job.dumps()
        for rank, function, calls, n_bytes in own:
            found = totals(dumps[int(rank)])[function]
            require(found == [int(calls), int(n_bytes)], f"{kind}, rank {rank}, {function}: {found}, not {[int(calls), int(n_bytes)]}")
        for rank, text in dumps.items():
            require(not RECORDS.search(text), f"{kind}: rank {rank} has records: {RECORDS.search(text)}")
            require("lost" not in text.splitlines()[0], f"{kind}: rank {rank}: {text.splitlines()[0]}")
    # Of the tests that found nothing some were timed: the first two of each row, and one in 64.
    calls = timed = 0
    job.run("polls", "40000")
    for flags, n_calls, n_timed in re.findall(r"^total Test peer=-5 flags=(\d+) calls=(\d+) bytes=(\d+)", job.dumps()[1], re.M):
        if int(flags) & 4:
            calls, timed = calls + int(n_calls), timed + int(n_timed)
    rows = 40
    require(calls > 64 * 30, f"{calls} tests without a result are too few for this test")
    expected = 2 * rows + (calls - 2 * rows) / 64
    require(abs(timed - expected) < 6 * expected ** 0.5 + rows, f"{timed} of {calls} tests were timed, expected about {expected:.0f}")


def case_killed(job):
    running = subprocess.Popen(job.command("halo", "100000000"), env=job.environment, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True)
    spools, until, pids = job.folder / "spools", time.monotonic() + 60, []
    while time.monotonic() < until:
        time.sleep(0.5)
        dumps = [subprocess.run([job.arguments.dump, spool], stdout=subprocess.PIPE, text=True).stdout for spool in spools.glob("*.mpispool")]
        pids = [int(found[1]) for text in dumps if (found := re.search(r" pid=(\d+)", text))]
        if len(pids) == 2 and all(totals(text)["MPI_Isend"][0] > 100 for text in dumps):
            break
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):  # its launcher may have killed it when the other one was gone
            os.kill(pid, signal.SIGKILL)
    try:
        running.wait(30)
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGKILL)
    dumps = job.dumps()
    require(len(dumps) == 2, f"{len(dumps)} spools of 2")
    for rank, text in dumps.items():
        found = totals(text)
        posts = [found["MPI_Irecv"][0], found["MPI_Isend"][0]]
        require(posts[1] > 100 and 0 <= posts[0] - posts[1] <= 1, f"rank {rank}: killed after {posts} posts of receives and sends")
        require(" end=0 " in text, f"rank {rank}: {text.splitlines()[0]}")


def case_wrong(job):
    """What is neither full nor none is told once, and all is recorded."""
    done = job.run("halo", "10")
    lines = [line for line in done.stderr.splitlines() if "MPISTAIR_DETAIL" in line]
    require(len(lines) == 1 and "'1000'" in lines[0], f"{lines}")
    require(all(RECORDS.search(text) for text in job.dumps().values()), "nothing was recorded")


def case_defaults(job):
    """MPISTAIR_CONF names a file: its keys count where the environment has none, rank 0 tells of what is wrong, and the
    application's environment stays."""
    file, trace = job.folder / "site.conf", job.folder / "trace.db"
    told = lambda done: [line for line in done.stderr.splitlines() if file.name in line]
    for key in ("MPISTAIR_DETAIL", "MPISTAIR_INGEST"):
        del job.environment[key]
    job.environment["MPISTAIR_CONF"] = str(file)
    file.write_text(f"# of a site\nMPISTAIR_DETAIL = none\nMPISTAIR_OUTPUT={trace}\nMPISTAIR_READERS=all\n")
    done = job.run("halo", "10")
    require(not told(done), done.stderr)
    with contextlib.closing(sqlite3.connect(trace)) as database:
        calls, = database.execute("SELECT sum(calls) FROM total").fetchone()
        records, = database.execute("SELECT (SELECT count(*) FROM message) + (SELECT count(*) FROM call)").fetchone()
    require(calls and not records, f"the trace has totals of {calls} calls, {records} records\n{done.stderr}")
    require(trace.stat().st_mode & 0o077 == 0o044, f"{trace.stat().st_mode:o}: MPISTAIR_READERS is for the trace, too")
    job.environment["MPISTAIR_INGEST"] = "0"
    file.write_text("MPISTAIR_DETAIL=none\nMPISTAIR_STAKC=3\nMPISTAIR_KEY=1\n")
    lines = told(job.run("halo", "10"))
    require(len(lines) == 1 and f"{file}:2: 'MPISTAIR_STAKC' is not a known key" in lines[0] and "1 more line is wrong" in lines[0], f"{lines}")
    require(not any(RECORDS.search(text) for text in job.dumps().values()), "the lines that are right do not count")
    job.environment["MPISTAIR_DETAIL"] = "full"
    job.run("halo", "10")
    require(all(RECORDS.search(text) for text in job.dumps().values()), "the environment does not win")
    file.unlink()
    lines = told(job.run("halo", "10"))
    require(len(lines) == 1 and "No such file" in lines[0], f"{lines}")
    require(all(RECORDS.search(text) for text in job.dumps().values()), "nothing is recorded without the file")
    file.write_text("MPISTAIR_DISABLE=1\n")
    done = job.run("halo", "10")
    require(not job.dumps() and not done.stderr, f"recorded in spite of MPISTAIR_DISABLE: {done.stderr}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=("counts", "killed", "wrong", "defaults"))
    for name in ("--preload", "--dump", "--program"):
        parser.add_argument(name, type=pathlib.Path, required=True)
    parser.add_argument("launcher", nargs="+")
    arguments = parser.parse_args()
    for name in ("preload", "dump", "program"):
        setattr(arguments, name, getattr(arguments, name).resolve())
    with tempfile.TemporaryDirectory(prefix="mpistair-sums-") as folder:
        globals()["case_" + arguments.case](Job(arguments, folder, "1000" if arguments.case == "wrong" else "none"))


main()
