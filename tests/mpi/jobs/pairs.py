#!/usr/bin/env python3
"""Which send met which receive, where that is easily got wrong: what the trace calls certain is what rank 1 received, and
all that it received is there, but for the envelopes whose order nobody can know.
"""
import job

# Tags whose messages are uncertain, with the doubts that they have: a receive that may have been too short was left by
# the error handler; a send that MPI may have taken back; a wildcard receive that was never reported.
UNCERTAIN = {11: {64}, 41: {32}, 51: {16}}
REJECTED = 12 + 3  # that MPI returned from, and that their error handler left


def record(test, *words, **environment):
    """Rows (tag, room, bytes, uncertain) of the trace, of which none that is certain is wrong, and what the job says."""
    test.record(test.program("pairs"), str(test.folder / "truth"), *words, **environment)
    with open(test.folder / "truth", encoding="ascii") as file:
        truth = {tuple(map(int, line.split())) for line in file}
    rows = test.query("SELECT tag, recv_bytes, bytes, uncertain FROM message ORDER BY tag, recv_bytes")
    wrong = [row[:3] for row in rows if not row[3] and row[:3] not in truth]
    job.expect_equal(wrong, [], "pairs called certain that the job did not make (tag, room, bytes)")
    return rows, truth


def main():
    test = job.Job(__doc__)
    test.ranks = 2
    # The least room: a chunk for the definitions, one for the thread that begins, two for the other. The recorder's
    # own thread would make room as soon as the receives end that stay open.
    rows, _ = record(test, "full", MPISTAIR_SPOOL_LIMIT="4M", MPISTAIR_THREAD="0")
    job.expect_equal([row[3] & 128 for row in rows], [0, 128, 128], "doubts of messages of two threads, one of which is cut off")
    rows, truth = record(test)
    missing = sorted(truth - {row[:3] for row in rows if not row[3]})
    job.expect_equal([pair for pair in missing if pair[0] not in UNCERTAIN], [], "pairs that are missing or not certain")
    doubts = {}
    for tag, _, _, uncertain in rows:
        if uncertain:
            doubts.setdefault(tag, set()).add(uncertain)
    job.expect_equal(doubts, UNCERTAIN, "doubts by tag")
    late = test.query("""SELECT bytes, send_complete_ns > next FROM (
        SELECT bytes, send_complete_ns, lead(send_post_ns) OVER (ORDER BY send_post_ns) AS next FROM message WHERE tag = 60)
        WHERE next IS NOT NULL AND send_complete_ns IS NOT NULL""")
    job.expect_equal([late for _, late in late], [0] * 4, "sends that were reported only after the next one was posted")
    job.expect_equal(test.query("SELECT reason, count(*) FROM unmatched WHERE tag = 70 GROUP BY 1"), [("freed", 1)],
                     "the send that was cancelled, freed and never received")
    job.expect_equal(test.query("SELECT * FROM loss"), [], "losses")
    job.expect_equal(test.value("SELECT rejected FROM completeness"), REJECTED, "rejected calls")
    job.expect_equal(test.value("SELECT sum(calls) FROM rejected_call r JOIN callsite c ON c.id = r.callsite"), REJECTED,
                     "rejected calls with their call sites")


main()
