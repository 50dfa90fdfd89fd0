#!/usr/bin/env python3
"""Processes that use MPI sessions, without MPI_Init or beside it: their messages are in the trace, and how they ended."""
import job


def add_arguments(parser):
    parser.add_argument("--case", choices=["only", "before", "mixed", "after", "exit", "told"], required=True)


def main():
    test = job.Job(__doc__, add_arguments)
    case = test.arguments.case
    command = test.launch(test.program("sessions"), "only" if case == "told" else case)
    if test.mpi == "openmpi" and test.run(command).returncode == 77:
        job.skip("this MPI has no sessions")
    if case == "told":
        done = test.must(command, **test.preloaded())
        told = [line for line in done.stderr.splitlines() if " ingest --run " in line]
        job.expect_equal((len(told), test.trace.exists()), (1, False), "lines that tell how to make the trace, and a trace")
        test.must(told[0].split(": ")[-1].split())
    elif case == "exit":  # MPI says nothing of the launcher's status and output then
        done = test.run([test.mpistair, "run", "-o", test.trace, "--", *command])
    else:
        done = test.must([test.mpistair, "run", "-o", test.trace, "--", *command])
    sent = sorted(tuple(map(int, line.split()[1:])) for line in done.stdout.splitlines() if line.startswith("message "))
    if case == "exit":
        sent = [(rank, (rank + 1) % test.ranks, 1, 10 + rank) for rank in range(test.ranks)]
    if not sent:
        job.fail("the program sent nothing")
    job.expect_equal(sorted(test.query("SELECT src, dst, tag, bytes FROM message")), sent, "messages")
    job.expect_equal(test.query("SELECT rank, ended FROM process ORDER BY rank"),
                     [(rank, "exit" if case == "exit" else "finalize") for rank in range(test.ranks)], "ends")
    test.expect_complete()
    test.expect_sound()
    print(f"{len(sent)} messages, all as the program told")


main()
