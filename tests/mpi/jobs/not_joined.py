#!/usr/bin/env python3
"""Processes that are started without the library, as by a wrapper script that unsets LD_PRELOAD. The others wait for a
stated time and go on without: the job ends with its own result, no message is in it that it did not send, and the trace
names who is missing and has all that the others sent each other."""
import job

JOIN_S = "3"


def pick(ranks, way):
    """A command in front of the program that does something to some ranks; launchers number them by one of these variables."""
    these = "|".join(map(str, ranks))
    return ["sh", "-c", f'case "${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}}" in {these}) {way};; *) exec "$@";; esac', "sh"]


def expect_trace(test, missing):
    size, here = test.ranks, test.ranks - len(missing)
    names = ", ".join(map(str, missing))
    job.expect_equal(test.value("SELECT verdict FROM completeness"),
                     f"incomplete: {len(missing)} process{'es' * (len(missing) > 1)} did not join the recording: "
                     f"rank{'s' * (len(missing) > 1)} {names}", "the verdict")
    job.expect_equal(test.query("SELECT rank, cause FROM loss"), [(rank, "not_joined") for rank in missing], "who is missing")
    job.expect_equal(test.query("SELECT world_size, spools FROM run"), [(size, here)], "ranks, and those with a spool")
    job.expect_equal(test.value("SELECT count(*) FROM message"), here * (here - 1), "messages among the others")
    job.expect_equal(test.value("SELECT count(*) FROM unmatched WHERE reason = 'partner_lost'"), 2 * here * len(missing),
                     "operations with those that are missing")
    report = test.must([test.mpistair, "report", test.trace, "--all"]).stdout
    job.expect_equal(report.count(f"did not join the recording: {len(missing)} of {size} ranks (rank"), 1, "lines of the report")


def check(test, missing, *before, way="exec env -u LD_PRELOAD \"$@\"", join_s=JOIN_S, said=1):
    size = test.ranks
    launch = [*before, *test.launch(*pick(missing, way), test.program("strangers"))]
    test.trace.unlink(missing_ok=True)
    if test.arguments.way == "run":
        done = test.must([test.mpistair, "run", "-o", test.trace, "--", *launch], 60, MPISTAIR_JOIN_S=join_s)
    else:
        done = test.must(launch, 60, **test.preloaded(MPISTAIR_JOIN_S=join_s))
        job.expect_equal(done.stderr.count("once all have ended, the trace is made by"), 1, "lines on how the trace is made")
        test.ingest()
    job.expect_equal(done.stdout.split(), ["sum", str((size - 1) * sum(100 + rank for rank in range(size)))], "the job's result")
    job.expect_equal(done.stderr.count(f"did not join the recording in {join_s} s"), said, "lines on who did not join")
    expect_trace(test, missing)
    for path in test.spools.glob("*"):
        path.unlink()
    return done


def main():
    test = job.Job(__doc__)
    check(test, [test.ranks - 1])
    check(test, [0])
    if test.ranks > 2:
        check(test, [0, 2])
    done = check(test, [1], way="MPISTAIR_DISABLE=1 exec \"$@\"", join_s="5")
    job.expect_equal(done.stderr.count("rank 1 has not joined the recording after 3 s"), 1, "lines while they wait")


main()
