#!/usr/bin/env python3
"""A process that makes and frees 40,000 communicators: the recorder keeps next to nothing of them, and those that live on
stay what they are."""
import job

MOST_KB = 400  # 10 bytes for each, which is less than half of what their facts take


def main():
    test = job.Job(__doc__)
    grew_kb = []
    for variables in {}, test.preloaded():  # the MPI keeps something of its own
        done = test.must(test.launch(test.program("freed")), **variables)
        grew_kb += [int(line.split()[2]) for line in done.stdout.splitlines() if line.startswith("grew by ")]
    if len(grew_kb) != 2 or grew_kb[1] - grew_kb[0] > MOST_KB:
        job.fail(f"expected memory to grow by at most {MOST_KB} kB more than bare: {grew_kb}")
    job.expect_equal(test.value("SELECT count(*) FROM message"), 20, "messages on communicators that were kept")
    job.expect_equal(test.value("SELECT count(DISTINCT comm) FROM message"), 20, "communicators of these messages")
    job.expect_equal(test.value("SELECT sum(known = 0) FROM communicator"), 0, "communicators that are guessed")
    test.expect_complete()


if __name__ == "__main__":
    main()
