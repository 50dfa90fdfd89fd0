#!/usr/bin/env python3
"""A job that names more bytes than there are, in calls for which MPI moves none (tests/apps/huge.c): all is recorded as it was
named, up to 2^63 - 1 bytes a call, and what adds it up stops there."""
import json

import job

GIB, EIB, MOST = 1 << 30, 1 << 60, (1 << 63) - 1
SENT = [17 * GIB] + [EIB] * 8 + [MOST]  # of each call to MPI_PROC_NULL


def main():
    test = job.Job(__doc__)
    test.record(test.program("huge"))
    test.expect_complete()
    test.expect_sound()
    job.expect_equal(test.query("SELECT cause, sum(n) FROM loss GROUP BY cause"), [], "losses")
    for rank in range(test.ranks):
        for tag in range(1, 5):
            job.expect_equal([size for size, in test.query("SELECT bytes FROM operation WHERE rank = ? AND tag = ? ORDER BY post_ns",
                                                           rank, tag)], SENT, f"bytes of rank {rank}, tag {tag}")
        job.expect_equal([size for size, in test.query("SELECT bytes FROM persistent WHERE rank = ? ORDER BY init_ns", rank)], SENT,
                         f"bytes of the persistent requests of rank {rank}")
        job.expect_equal([size for size, in test.query("SELECT bytes FROM collective WHERE rank = ? ORDER BY begin_ns", rank)],
                         [17 * GIB, 8 * ((1 << 31) - 1)] + [EIB] * 8 + [MOST], f"bytes of the broadcasts of rank {rank}")
    for form in ("text", "csv", "html"):
        test.must([test.mpistair, "report", test.trace, "--all", "--format", form])
    report = json.loads(test.must([test.mpistair, "report", test.trace, "--all", "--format", "json"]).stdout)
    job.expect_equal(report["completeness"]["verdict"], "complete", "verdict of the report")
    summed = test.must([test.mpistair, "query", test.trace, "--format", "csv", "collectives"]).stdout.splitlines()[1].split(",")
    job.expect_equal((summed[0], summed[2]), ("MPI_Bcast", str(MOST)), "sum of what was broadcast")
    for name in ("traffic", "ranks", "callsites", "unmatched", "message_sizes", "calls"):
        test.must([test.mpistair, "query", test.trace, name])
    for name in ("perfetto", "csv", "dot", "goal", "simgrid"):
        test.must([test.mpistair, "export", test.trace, "--to", name, "-o", test.folder / name])
    test.must([test.mpistair, "diff", test.trace, test.trace])


main()
