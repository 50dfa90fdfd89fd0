#!/usr/bin/env python3
"""A C++ exception that an error handler throws passes the recorder's frames; what the calls posted is closed."""
import job

FAILED = [(0, "send", "MPI_Isend"), (0, "send", "MPI_Send"), (0, "send", "MPI_Ssend"), (1, "receive", "MPI_Irecv")]
# Tag, bytes as sent, and whether the order is certain: an exception does not say whether a receive took a message.
MESSAGES = [(1, 1, 0), (2, 2, 1), (2, 48, 1), (2, 49, 1), (3, 3, 0)]


def main():
    test = job.Job(__doc__)
    output = test.record(test.program("thrown")).stdout
    for rank in range(2):
        if f"rank {rank}: 4 caught, 4 unwound" not in output:
            raise SystemExit(f"rank {rank} did not catch all exceptions: {output}")
    test.expect_complete()
    job.expect_equal(test.query("SELECT rank, direction, function FROM unmatched WHERE reason = 'failed' ORDER BY rank, function"),
                     FAILED, "calls that were left")
    job.expect_equal(test.query("SELECT tag, bytes, uncertain > 0 FROM message ORDER BY tag, bytes"), MESSAGES, "messages")


main()
