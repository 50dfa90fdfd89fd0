"""Runs MPI jobs under the recorder and holds the trace against what the job itself counted.

A test of this folder is a script called as `TEST.py --build BUILD --mpi NAME --launcher MPIEXEC ...`. It exits with 0,
with 77 where something that it needs is not here (the reason is the last line), with 1 where an expectation was wrong.
"""
import argparse
import csv
import os
import pathlib
import shlex
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
CLUSTER = pathlib.Path(__file__).resolve().parents[2] / "cluster/cluster"
RANKS = {"mpich": 2, "openmpi": 4}  # MPICH's ranks spin: no more of them than cores


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def fail(reason):
    print(f"FAILED: {reason}")
    sys.exit(1)


def expect_equal(found, expected, what):
    if found != expected:
        fail(f"{what}: found {found}, expected {expected}")


class Job:
    """The build and the MPI under test, and a scratch folder that goes away with the process."""

    def __init__(self, description, add_arguments=lambda parser: None):
        parser = argparse.ArgumentParser(description=description)
        parser.add_argument("--build", type=pathlib.Path, required=True)
        parser.add_argument("--mpi", choices=RANKS, required=True)
        parser.add_argument("--launcher", required=True)
        parser.add_argument("--abi", action="store_true", help="programs of the standard ABI, on that MPI")
        parser.add_argument("--ranks", type=int)
        parser.add_argument("--way", choices=["preload", "run"], default="preload",
                            help="recorded by the variables alone, or by `mpistair run`")
        add_arguments(parser)
        self.arguments = parser.parse_args()
        self.mpi = self.arguments.mpi
        self.ranks = self.arguments.ranks or RANKS[self.mpi]
        self.build = self.arguments.build.resolve()
        self.mpistair = str(self.build / "mpistair")
        self.preload = str(self.build / "interpose/preload/libmpistair.so")
        self._scratch = tempfile.TemporaryDirectory(prefix="mpistair-job-")
        self.folder = pathlib.Path(self._scratch.name)
        self.spools = self.folder / "spools"
        self.trace = self.folder / "trace.db"
        self.traffic = self.folder / "traffic.csv"

    def program(self, name):
        """The path of a program of tests/apps."""
        return str(self.build / "tests/apps" / f"{name}-{'abi' if self.arguments.abi else self.mpi}")

    def launch(self, *command):
        """The command that runs command on all ranks; {traffic} in it becomes the path of the traffic file."""
        options = ["--oversubscribe", "--bind-to", "none"] if self.mpi == "openmpi" else []
        return [self.arguments.launcher, *options, "-n", str(self.ranks),
                *(part.replace("{traffic}", str(self.traffic)) for part in command)]

    def environment(self, **more):
        """The environment without what a caller set for the recorder."""
        clean = {k: v for k, v in os.environ.items() if not k.startswith("MPISTAIR_") and k != "LD_PRELOAD"}
        return clean | {"MPISTAIR_CONF": "", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"} | more

    def run(self, command, limit_s=120, tries=1, **more):
        """Runs a command in the scratch folder, prints it and its output, and returns the finished process. tries: how often it may
        start, for a job that its MPI itself lets hang at times."""
        print("$", shlex.join(map(str, command)), *(f"[{k}={v}]" for k, v in more.items()), flush=True)
        started = subprocess.Popen(command, cwd=self.folder, env=self.environment(**more), stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, errors="replace", stdin=subprocess.DEVNULL)
        try:
            output = started.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            printed = self.stop(started)
            if tries == 1:
                fail(f"no end after {limit_s} s; it printed {printed}")
            print(f"once more: no end after {limit_s} s; it printed {printed}", flush=True)
            return self.run(command, limit_s, tries - 1, **more)
        # PRRTE, the launcher of Open MPI 5, puts NUL bytes between what it prints itself and what the job prints.
        done = subprocess.CompletedProcess(command, started.returncode, *(text.replace("\0", "") for text in output))
        print(done.stdout, done.stderr, f"-> {done.returncode}", sep="\n", flush=True)
        return done

    @staticmethod
    def stop(started):
        """Ends a job with all its ranks, which a launcher takes with it unless it is killed; returns what the job printed."""
        started.terminate()
        try:
            return started.communicate(timeout=10)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()
            return "what ranks that are left hold back"

    def must(self, command, limit_s=120, tries=1, **more):
        """The same for a command that has to exit with 0."""
        done = self.run(command, limit_s, tries, **more)
        expect_equal(done.returncode, 0, "exit code")
        return done

    def preloaded(self, **more):
        """The variables that a user sets by hand to record."""
        return {"LD_PRELOAD": self.preload, "MPISTAIR_OUTPUT": str(self.trace), "MPISTAIR_SPOOL": str(self.spools)} | more

    def record(self, *command, **more):
        """Records a job that ends well, in the way that was asked for."""
        self.trace.unlink(missing_ok=True)
        if self.arguments.way == "run":
            return self.must([self.mpistair, "run", "-o", self.trace, "--", *self.launch(*command)], **more)
        done = self.must(self.launch(*command), **self.preloaded(**more))
        until = time.monotonic() + 60
        while not self.trace.exists():
            if time.monotonic() > until:
                fail(f"no {self.trace.name} 60 s after the job; in the spools' folder: {os.listdir(self.spools)}")
            time.sleep(0.05)
        return done

    def ingest(self):
        """Spools to the trace, for jobs that could not do it themselves."""
        return self.must([self.mpistair, "ingest", self.spools, "-o", self.trace])

    def query(self, sql, *values):
        """The rows that SQL finds in the trace."""
        with sqlite3.connect(f"file:{self.trace}?immutable=1", uri=True) as database:
            return database.execute(sql, values).fetchall()

    def value(self, sql, *values):
        return self.query(sql, *values)[0][0]

    def expect_traffic(self):
        """Messages and bytes of every pair equal the job's own count."""
        with open(self.traffic, newline="", encoding="ascii") as file:
            own = {(int(r["src"]), int(r["dst"])): (int(r["messages"]), int(r["bytes"])) for r in csv.DictReader(file)}
        traced = {(src, dst): (messages, n_bytes) for src, dst, messages, n_bytes in self.query(
            "SELECT src, dst, sum(messages), sum(bytes) FROM traffic GROUP BY src, dst")}
        differing = [f"{pair}: the job sent {own.get(pair)}, the trace has {traced.get(pair)}"
                     for pair in sorted(own.keys() | traced.keys()) if own.get(pair) != traced.get(pair)]
        if differing or not own:
            fail(f"{len(differing)} of {len(own)} pairs differ (messages, bytes): {'; '.join(differing[:8])}")
        print(f"traffic: {sum(m for m, _ in own.values())} messages, {sum(b for _, b in own.values())} bytes, "
              f"{len(own)} pairs, all as the job counted")

    def expect_complete(self):
        verdict = self.value("SELECT verdict FROM completeness")
        if verdict != "complete":
            fail(f"completeness {self.query('SELECT * FROM completeness')[0]}; unmatched: "
                 f"{self.query('SELECT reason, direction, function, count(*) FROM unmatched GROUP BY 1, 2, 3')}; "
                 f"untracked: {self.query('SELECT name, sum(calls) FROM untracked WHERE affects_messages GROUP BY 1')}; "
                 f"lost: {self.query('SELECT * FROM loss')}")

    def expect_sound(self):
        """What holds in every trace, of a killed job too."""
        expect_equal(self.value("PRAGMA integrity_check"), "ok", "integrity of the database")
        expect_equal(self.value("SELECT count(*) FROM message WHERE recv_complete_ns < send_post_ns"), 0,
                     "messages that were received before they were sent")
        expect_equal(self.value("SELECT count(*) FROM message WHERE round_id IS NULL AND src <> dst"), 0,
                     "messages between two ranks without a round")
        expect_equal(self.value("SELECT count(*) FROM round_place p WHERE (SELECT count(*) FROM message_row m WHERE m.round_id = p.round_id "
                                "AND m.id BETWEEN p.first_message AND p.last_message) <> (SELECT messages FROM round r JOIN kind k "
                                "ON k.id = r.kind_id WHERE r.id = p.round_id)"), 0, "rounds whose messages are not where round_place says")

    def needs(self, command):
        if shutil.which(command) is None:
            skip(f"{command} is not installed")

    def cluster(self, *options):
        """What goes before a command to run it on hosts made of network namespaces."""
        if os.geteuid() != 0:
            skip("only root may make network namespaces")
        for command in ("ip", "tc", "unshare", "nsenter", "setpriv", "flock"):
            self.needs(command)
        if self.run([CLUSTER, "run", "-n", "1", "--", "true"]).returncode != 0:
            skip("this system lets nobody make network namespaces")
        return [CLUSTER, "run", *options, "--"]
