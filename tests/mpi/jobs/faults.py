#!/usr/bin/env python3
"""What the recorder needs is not there: the job's exit status and output are those without it, one line on stderr says why
records are missing, from one rank, and what was recorded until then is in the trace, with the losses counted."""
import contextlib
import os
import pathlib
import shutil
import subprocess

import job

STEPS = 30000  # two chunks and more of a rank


def add_arguments(parser):
    parser.add_argument("--fault", choices=[name[6:] for name in globals() if name.startswith("fault_")], required=True)


def expect_same(test, said_words, steps=500, **variables):
    """The job as without the recorder, with one line more that has these words; none without words."""
    command = test.launch(test.program("abrupt"), "fail", str(steps), "-")
    bare = test.run(command)
    recorded = test.run(command, **test.preloaded(MPISTAIR_INGEST="0", **variables))
    job.expect_equal(recorded.returncode, bare.returncode, "exit status, against that without the recorder")
    job.expect_equal(recorded.stdout, bare.stdout, "output, against that without the recorder")
    said = [line for line in recorded.stderr.splitlines() if line.startswith("mpistair")]
    if len(said) != (len(said_words) > 0) or not all(word in said[0] for word in said_words):
        job.fail(f"expected one line with {said_words}, found {said}")
    if test.mpi == "mpich":
        job.expect_equal([line for line in recorded.stderr.splitlines() if line not in said], bare.stderr.splitlines(),
                         "the rest of stderr, against that without the recorder")


def expect_totals(test):
    """Little room, and nothing is lost: of a part of the operations there are records, of all of them totals."""
    test.ingest()
    test.expect_sound()
    job.expect_equal(test.query("SELECT * FROM loss"), [], "losses")
    for rank, calls in test.query("SELECT rank, sum(calls) FROM total WHERE direction IS NOT NULL GROUP BY rank"):
        there = test.value("SELECT count(*) FROM operation WHERE rank = ?", rank)
        print(f"rank {rank}: {there} of {calls} operations recorded")
        if not STEPS * 2 <= calls <= STEPS * 2 + 100 or there >= calls:
            job.fail(f"rank {rank}: {there} operations, {calls} in the totals, of {STEPS} steps")


def fault_limit(test):
    """The room of the spools is used up."""
    expect_same(test, [], STEPS, MPISTAIR_SPOOL_LIMIT="4M")
    expect_totals(test)


@contextlib.contextmanager
def file_system(test, *options):
    test.spools.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", *options, "tmpfs", test.spools], capture_output=True, text=True)
    if done.returncode != 0:
        job.skip(f"no file system can be mounted here: {done.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", test.spools], check=True)


def fault_full(test):
    """The disk of the spools is full: with room for the totals nothing is lost; without it, it is said."""
    with file_system(test, "-o", "size=7m"):
        expect_same(test, [], STEPS)
        expect_totals(test)
    shutil.rmtree(test.spools)
    test.trace.unlink()
    with file_system(test, "-o", "size=3m"):  # the totals of one process fit, or, at once, of none
        expect_same(test, ["of 2 processes are lost: the disk of the spools is full ("], STEPS)
        test.ingest()
        test.expect_sound()
        losses = test.query("SELECT cause, sum(n) FROM loss GROUP BY cause")
        there = test.query("SELECT sum(calls) FROM total WHERE direction IS NOT NULL GROUP BY rank")
        print(f"operations in the totals: {there}, lost: {losses}")
        job.expect_equal([cause for cause, _ in losses], ["disk"], "causes")
        if not losses[0][1] + sum(n for n, in there) >= 2 * STEPS * 2:
            job.fail("operations are neither in the totals nor counted as lost")


def fault_readonly(test):
    """The folder of the spools cannot be written."""
    said = ["2 of 2 processes are not recorded: rank 0 cannot write", str(test.spools)]
    if os.geteuid() != 0:
        test.spools.mkdir(mode=0o500)
        expect_same(test, said)
        return
    with file_system(test, "-o", "ro"):
        expect_same(test, said)


def fault_missing(test):
    """The folder of the spools cannot be made, for its own folder is missing."""
    test.spools = test.folder / "missing/spools"
    expect_same(test, ["2 of 2 processes are not recorded: rank 0 cannot write", "missing/spools", "No such file"])
    job.expect_equal((test.folder / "missing").exists(), False, "a folder of that name")


def fault_backend(test):
    """There is no backend for this MPI."""
    folder = test.folder / "no-backends"
    folder.mkdir()
    expect_same(test, [f"not recorded: mpistair-backend-{test.mpi}.so was not found in", str(folder)], MPISTAIR_LIB=str(folder))
    job.expect_equal(test.spools.exists(), False, "a folder of spools")


def fault_static(test):
    """The program holds its MPI in itself."""
    program = pathlib.Path(test.program("static"))
    if not program.exists():
        job.skip("the MPI has no static library here")
    test.program = lambda name: str(program)
    expect_same(test, ["not recorded: the program is statically linked to its MPI"])


def main():
    test = job.Job(__doc__, add_arguments)
    test.ranks = 2
    globals()["fault_" + test.arguments.fault](test)


main()
