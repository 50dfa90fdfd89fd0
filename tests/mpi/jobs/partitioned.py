"""A job of partitioned messages: what report and replay say of it is what the job did, with times of all partitions and with the
first and the last alone.
"""
import json

import job

MESSAGES, ASKED, PARTS, BYTES = 5, 3, 4, 1 << 18
REST_S = 2e-3  # at least, from one partition to the next


def shown(test, *command):
    return json.loads(test.must([test.mpistair, *command, "--json"]).stdout)


def main():
    test = job.Job(__doc__)
    for each in "1", "0":
        test.record(test.program("partitioned"), MPISTAIR_PARTITIONS=each)
        test.expect_complete()
        kept = test.query("SELECT direction, count(*) FROM partition WHERE partition IS NOT NULL GROUP BY 1 ORDER BY 1")
        job.expect_equal(kept, [("receive", ASKED * PARTS), ("send", MESSAGES * PARTS)] if each == "1" else [], "times of partitions")
        site, = shown(test, "report", test.trace)["partitions"]["largest"]
        job.expect_equal((site["function"], site["messages"], site["partitions"], site["bytes"]),
                         ("MPI_Start", MESSAGES, PARTS, MESSAGES * PARTS * BYTES), "the call site")
        if site["ready_s"] < (PARTS - 1) * REST_S or site["arrival_s"] < 0:
            job.fail(f"partitions became ready within {site['ready_s']} s, and had arrived {site['arrival_s']} s later")
        known = site["hidden_share"] is not None
        job.expect_equal(known, each == "1", "whether it is known what arrived early")
        if known and not 0 <= site["hidden_share"] <= 1:
            job.fail(f"{site['hidden_share']} of the bytes arrived early")
        # With all times each partition leaves by itself, else the first one and the others.
        replay = test.must([test.mpistair, "replay", test.trace, "--machine", "thunderx2"]).stdout
        pieces = MESSAGES * (PARTS if each == "1" else 2)
        if f"2 ranks, {pieces} messages" not in replay:
            job.fail(f"expected {pieces} messages in the replay")


main()
