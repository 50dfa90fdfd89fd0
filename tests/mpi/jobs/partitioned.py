"""A job of partitioned messages: what report and replay say of it is what the job did, with times of all partitions and with the
first and the last alone.
"""
import json

import job

MESSAGES, ASKED, PARTS, BYTES = 5, 3, 4, 1 << 18
REST_S = 2e-3  # at least, from one partition to the next


def shown(test, *command):
    return json.loads(test.must([test.mpistair, *command, "--json"]).stdout)


def expect_arrivals(test):
    """A thread a partition, ready no earlier than the job let it be, a row a message each."""
    shown = test.must([test.build / "tests/golden/trace/show-arrivals", test.trace]).stdout.splitlines()
    rows = [[float(field) for field in line.split(",")] for line in shown[1:] if not line.startswith("#")]
    job.expect_equal([(rank, thread) for rank, thread, _ in rows],
                     [(0, thread) for _ in range(MESSAGES) for thread in range(PARTS)], "ranks and threads with times")
    for _, thread, seconds in rows:
        if seconds < 0.99 * (thread + 1) * REST_S:
            job.fail(f"partition {thread} was ready after {seconds} s")
    predict = [test.mpistair, "predict", "--finegrain", "--machine", "summit", "--bytes", str(PARTS * BYTES), "--threads", PARTS,
               "--arrivals", f"trace:{test.trace}", "--parts", "2", "--interface", "p2p", "--peers", "1", "--format", "csv"]
    gain = float(test.must(list(map(str, predict))).stdout.splitlines()[1].split(",")[4])
    if gain <= 0:
        job.fail(f"halves of buffers gain {gain} %, though the second one is ready 4 ms behind the first")


def main():
    test = job.Job(__doc__)
    for each in "1", "0":
        test.record(test.program("partitioned"), MPISTAIR_PARTITIONS=each)
        test.expect_complete()
        kept = test.query("SELECT direction, count(*) FROM partition WHERE partition IS NOT NULL GROUP BY 1 ORDER BY 1")
        if each == "1":
            expect_arrivals(test)
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
