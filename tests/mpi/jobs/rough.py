#!/usr/bin/env python3
"""A job that is rough with what is not its own: it and its files fare as without the recorder, the totals have all its calls,
and what could not be recorded nor added up is counted with its cause."""
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


def expect_added_up(test, output, said):
    """There was too little room, and nothing is lost: what has no record any more is in the totals, to the last operation."""
    sent = sorted(int(n) for n in re.findall(r"^sent (\d+)$", output, re.MULTILINE))
    job.expect_equal((len(sent), said), (2, []), "ranks that told how much they sent, lines of mpistair")
    test.ingest()
    test.expect_sound()
    job.expect_equal(test.query("SELECT * FROM loss"), [], "losses")
    calls = test.query("SELECT sum(calls) FROM total WHERE direction = 'send' GROUP BY rank")
    job.expect_equal(sorted(n for n, in calls), sent, "sends in the totals, of each rank")
    there = test.value("SELECT count(*) FROM operation")
    print(f"{there} of {sum(sent)} operations recorded")
    job.expect_equal((test.value("SELECT detail FROM run"), there < sum(sent)), ("bursts", True),
                     "detail, and that there was little room")


def again(test):
    shutil.rmtree(test.spools)
    test.trace.unlink()


def case_close(test):
    """The recorder's descriptor is the program's: nothing goes there, and the chunks that are mapped serve for the rest."""
    output, said = run(test, "close", test.folder / "own")
    job.expect_equal([(test.folder / f"own.{rank}").stat().st_size for rank in range(2)], [4 << 20] * 2, "sizes")
    expect_added_up(test, output, said)


def case_space(test):
    """A limited address space: some of it is left to the program."""
    output, said = run(test, "space", "-")
    job.expect_equal(output.count("whole"), 2, "ranks that got memory of their own")
    expect_added_up(test, output, said)


def case_size(test):
    """Files are limited: the job is not ended by SIGXFSZ."""
    expect_added_up(test, *run(test, "size", "-"))


SENT = 28 * 16384  # sends of each rank
CLINGING = 28 * 16  # requests of each rank, each cancelled and waited for once no record of that has room


def case_refuse(test):
    """The system refuses room, for a reason that is not a full disk. Where chunks cannot be used again, as requests in all of
    them are open, the error is said, and all that is missing is counted."""
    for error in ("EPERM", "EDQUOT", "EROFS", "EINVAL"):
        expect_added_up(test, *run(test, "refuse", getattr(errno, error)))
        again(test)
        output, said = run(test, "cling", getattr(errno, error))
        job.expect_equal(output.split(), ["sent", str(SENT)] * 2, "the job's own output")
        text = f"the system refused room for the spools with {error}, {os.strerror(getattr(errno, error))} ("
        found = re.match(r"mpistair: (\d+) records of 2 of 2 processes are lost: " + re.escape(text), "".join(said))
        if len(said) != 1 or not found:
            job.fail(f"expected one line that says {text}, found {said}")
        test.ingest()
        test.expect_sound()
        losses = test.query("SELECT rank, cause, n FROM loss ORDER BY rank")
        job.expect_equal([loss[:2] for loss in losses], [(rank, f"refused_{error}") for rank in range(2)], "ranks and causes")
        job.expect_equal(sum(n for _, _, n in losses), int(found[1]), "records that were said to be lost")
        for rank, _, lost in losses:
            there = test.value("SELECT sum(calls) FROM total WHERE direction IS NOT NULL AND rank = ?", rank)  # if it is thinned, too
            print(f"rank {rank}: {there} operations, {lost} records lost, detail {test.value('SELECT detail FROM run')}")
            job.expect_equal(there + lost, SENT + 3 * CLINGING, "operations, and what ends requests, recorded or counted")
        report = " ".join(test.must([test.mpistair, "report", "--all", test.trace]).stdout.split())
        if f"records on ranks 0-1 (refused_{error}): the system refused room for the spool" not in report:
            job.fail(f"the report does not say {error}")
        again(test)


def expect_all(test, said):
    job.expect_equal(said, [], "lines of mpistair")
    test.ingest()
    test.expect_sound()
    test.expect_complete()
    job.expect_equal(test.query("SELECT count(*) FROM operation GROUP BY rank"), [(SENT,)] * 2, "operations")


def case_forbid(test):
    """A filter forbids fallocate and ftruncate alone: room comes by writing zeros."""
    expect_all(test, run(test, "forbid", errno.EPERM)[1])


def case_ahead(test):
    """All room is there at the start: nothing is needed later, and what is beyond it is added up."""
    expect_all(test, run(test, "refuse", errno.EPERM, MPISTAIR_PREALLOCATE="64M")[1])
    again(test)
    expect_added_up(test, *run(test, "refuse", errno.EPERM, MPISTAIR_PREALLOCATE="16M"))
    for spool in test.spools.glob("*.mpispool"):
        if not 10 << 20 < spool.stat().st_size < 11 << 20:  # 8 MiB of records, 2 MiB of totals
            job.fail(f"{spool} has {spool.stat().st_size} bytes, not those of its room")
    again(test)
    _, said = run(test, "size", "-", MPISTAIR_PREALLOCATE="all")
    job.expect_equal(said, ["mpistair: MPISTAIR_PREALLOCATE must be a number of bytes (with K, M or G), not 'all'; using none"], "lines")


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
    again(test)
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
