#!/usr/bin/env python3
"""A job that is rough with what is not its own: it and its files fare as without the recorder, and what could not be recorded
is counted with its cause."""
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
