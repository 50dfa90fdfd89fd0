#!/usr/bin/env python3
"""Eight threads a rank under MPI_THREAD_MULTIPLE: nothing is lost, and no handle is taken for another thread's.

Each thread has tags of its own, and its messages of a tag are sent and received in turn: the k-th send of a tag must have
met the k-th receive.
"""
import job


def add_arguments(parser):
    parser.add_argument("--messages", type=int, default=20000)
    parser.add_argument("--threads", type=int, default=8)


def main():
    test = job.Job(__doc__, add_arguments)
    test.ranks = 2
    command = [test.program("threads"), "{traffic}", test.arguments.messages, test.arguments.threads]
    bare = test.run(test.launch(*map(str, command)), limit_s=600)
    if bare.returncode == 77:
        job.skip("this MPI does not grant MPI_THREAD_MULTIPLE")
    recorded = test.record(*map(str, command), limit_s=600)
    job.expect_equal(recorded.stdout, bare.stdout, "what the program prints")
    test.expect_traffic()
    test.expect_complete()
    test.expect_sound()
    crossed = test.value("""SELECT count(*) FROM (
        SELECT row_number() OVER (PARTITION BY src, tag ORDER BY send_post_ns, id) AS sent,
               row_number() OVER (PARTITION BY src, tag ORDER BY recv_post_ns, id) AS received FROM message)
        WHERE sent <> received""")
    job.expect_equal(crossed, 0, "messages that met another receive than that of their turn")
    print(f"threads: {test.value('SELECT count(*) FROM message')} messages of {test.arguments.threads} threads a rank, "
          f"{test.value('SELECT count(*) FROM message WHERE uncertain')} uncertain")


main()
