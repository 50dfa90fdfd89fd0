#!/usr/bin/env python3
"""A job that is rough with what is not its own: it and its files fare as without the recorder, and what could not be recorded
is counted with its cause."""
import errno
import os
import re
import shutil

import job


def add_arguments(parser):
    parser.add_argument("--case", choices=[name[5:] for name in globals() if name.startswith("case_")], required=True)


def run(test, way, path, ranks=2, **variables):
    test.ranks = ranks
    done = test.must(test.launch(test.program("rough"), way, str(path)), **test.preloaded(MPISTAIR_INGEST="0", **variables))
    return done.stdout, [line for line in done.stderr.splitlines() if line.startswith("mpistair")]


def expect_said(said, *words):
    if len(said) != 1 or not all(word in said[0] for word in words):
        job.fail(f"expected one line with {words}, found {said}")
    return int(re.search(r"mpistair: (\d+) records of 2 of 2 processes are lost", said[0])[1])


def case_close(test):
    """The recorder's descriptor is the program's: nothing goes there, and what was recorded before is whole."""
    _, said = run(test, "close", test.folder / "own")
    lost = expect_said(said, "descriptor closed by the program (")
    job.expect_equal([(test.folder / f"own.{rank}").stat().st_size for rank in range(2)], [4 << 20] * 2, "sizes")
    test.ingest()
    test.expect_sound()
    job.expect_equal(test.query("SELECT cause, sum(n) FROM loss GROUP BY cause"), [("closed", lost)], "losses")
    if test.value("SELECT min(n) FROM (SELECT count(*) AS n FROM operation GROUP BY rank)") < 3 * 16000:
        job.fail("operations before it are missing")


def case_space(test):
    """A limited address space: all is recorded as long as there is room, and some of it is left to the program."""
    output, said = run(test, "space", "-")
    lost = expect_said(said, "lost: RLIMIT_AS (ulimit -v) is reached (")
    job.expect_equal(sorted(output.split()), ["851968"] * 2 + ["whole"] * 2, "operations before the limit was reached")
    job.expect_equal(2 << 17 > lost > 1 << 17, True, "of the operations behind them most are lost")


def case_size(test):
    """Files are limited: the job is not ended by SIGXFSZ."""
    _, said = run(test, "size", "-")
    expect_said(said, "lost: RLIMIT_FSIZE (ulimit -f) is reached (")


SENT = 28 * 16384  # operations of each rank


def expect_all_counted(test, losses):
    """What is not recorded is counted, to the last operation."""
    test.ingest()
    test.expect_sound()
    for rank in range(2):
        there = test.value("SELECT count(*) FROM operation WHERE rank = ?", rank)
        lost = dict(test.query("SELECT cause, n FROM loss WHERE rank = ?", rank))
        print(f"rank {rank}: {there} operations, lost: {lost}")
        job.expect_equal((list(lost), there + sum(lost.values())), (losses, SENT), "causes, operations recorded or counted")


def case_refuse(test):
    """The system refuses room, for a reason that is not a full disk: the error is said, and all that is missing is counted."""
    for error in ("EPERM", "EDQUOT", "EROFS", "EINVAL"):
        output, said = run(test, "refuse", getattr(errno, error))
        job.expect_equal(output.split(), ["sent", str(SENT)] * 2, "the job's own output")
        expect_said(said, f"lost: the system refused room for the spools with {error}, {os.strerror(getattr(errno, error))} (")
        expect_all_counted(test, [f"refused_{error}"])
        report = " ".join(test.must([test.mpistair, "report", "--all", test.trace]).stdout.split())
        if f"records on ranks 0-1 (refused_{error}): the system refused room for the spool" not in report:
            job.fail(f"the report does not say {error}")
        shutil.rmtree(test.spools)
        test.trace.unlink()


def case_forbid(test):
    """A filter forbids fallocate and ftruncate alone: room comes by writing zeros."""
    _, said = run(test, "forbid", errno.EPERM)
    job.expect_equal(said, [], "lines of mpistair")
    expect_all_counted(test, [])
    test.expect_complete()


def case_ahead(test):
    """All room is there at the start: nothing is needed later, and what is beyond it is counted."""
    _, said = run(test, "refuse", errno.EPERM, MPISTAIR_PREALLOCATE="64M")
    job.expect_equal(said, [], "lines of mpistair")
    expect_all_counted(test, [])
    test.expect_complete()
    shutil.rmtree(test.spools)
    test.trace.unlink()
    _, said = run(test, "refuse", errno.EPERM, MPISTAIR_PREALLOCATE="16M")
    expect_said(said, "with EPERM")
    expect_all_counted(test, ["refused_EPERM"])
    job.expect_equal(test.value("SELECT min(n) FROM (SELECT count(*) AS n FROM operation GROUP BY rank)"), 8 * 16383 - 2,
                     "operations in the room of a rank")
    shutil.rmtree(test.spools)
    test.trace.unlink()
    _, said = run(test, "size", "-", MPISTAIR_PREALLOCATE="all")
    job.expect_equal(said[0], "mpistair: MPISTAIR_PREALLOCATE must be a number of bytes (with K, M or G), not 'all'; using none", "line")


def case_held(test):
    """Chunks with open operations are there until those are done."""
    output, said = run(test, "held", "-", ranks=1)
    job.expect_equal(said, [], "lines of mpistair")
    grown = int(re.search(r"grown by (-?\d+) MiB", output)[1])
    if grown > 12:
        job.fail(f"20 MiB of operations made the address space grow by {grown} MiB, though all are done")
    test.ingest()
    test.expect_sound()
    job.expect_equal(test.value("SELECT count(*) FROM message WHERE tag >= 0"), 24, "messages")
    job.expect_equal(test.value("SELECT count(*) FROM operation"), 24 * 2 + 24 + 20 * 16384, "operations")


def case_links(test):
    """A link where the recorder writes leads it nowhere."""
    victim = test.folder / "victim"
    victim.write_text("precious")
    output, said = run(test, "links", victim)
    job.expect_equal((output.count("planted"), said), (2, []), "links planted, lines of mpistair")
    job.expect_equal(victim.read_text(), "precious", "what the link leads to")
    maps = [test.spools / name for name in os.listdir(test.spools) if name.endswith(".maps")]
    job.expect_equal([path.is_symlink() for path in maps], [False] * 2, "links that are left")
    test.ingest()
    test.expect_complete()
    expect_modes(test, 0o700, 0o600)
    shutil.rmtree(test.spools)
    test.trace.unlink()
    run(test, "links", victim, MPISTAIR_READERS="all")
    test.must([test.mpistair, "ingest", test.spools, "-o", test.trace], MPISTAIR_READERS="all")
    expect_modes(test, 0o755, 0o644)


def expect_modes(test, folder, file):
    """Who may read the spools and the trace."""
    job.expect_equal(test.spools.stat().st_mode & 0o777, folder, "mode of the folder of spools")
    for path in [test.trace, *test.spools.iterdir()]:
        job.expect_equal(path.stat().st_mode & 0o777, file, f"mode of {path.name}")


def main():
    test = job.Job(__doc__, add_arguments)
    globals()["case_" + test.arguments.case](test)


main()
