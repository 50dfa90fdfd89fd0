#!/usr/bin/env python3
"""Processes that use MPI sessions, without MPI_Init or beside it: their messages are in the trace, and how they ended."""
import socket

import job


def add_arguments(parser):
    parser.add_argument("--case", choices=["only", "before", "mixed", "after", "exit", "told", "again"], required=True)


def told_command(test, command, **variables):
    """Runs the job, which must tell how to make its trace; that command, and the job's output."""
    done = test.must(command, **test.preloaded(**variables))
    told = [line for line in done.stderr.splitlines() if line.startswith("mpistair: ")]
    if len(told) != 1 or " ingest --run " not in told[0] or test.trace.exists():
        job.fail(f"expected no trace and one line that tells how to make it, found {told}")
    return told[0].split(": ")[-1].split(), done.stdout


def again(test):
    """The launcher gives two jobs the same port: both are recorded, in one folder or each in its own."""
    command = test.launch(test.program("sessions"), "only")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for given in ({}, {"MPISTAIR_SPOOL": "", "TMPDIR": str(test.folder)}):
        commands = [told_command(test, command, MPIEXEC_PORT_RANGE=f"{port}:{port}", **given)[0] for _ in range(2)]
        for ingest in commands:
            test.must(ingest)
            job.expect_equal(test.value("SELECT count(*) FROM message"), 2 * test.ranks, "messages of one of the jobs")
            test.expect_complete()
            test.trace.unlink()


def main():
    test = job.Job(__doc__, add_arguments)
    case = test.arguments.case
    if case == "again":
        again(test)
        return
    command = test.launch(test.program("sessions"), "only" if case == "told" else case)
    bare = test.run(command)
    if bare.returncode == 77:
        job.skip("this MPI has no sessions")
    # MPICH 4.2 crashes in MPI_Finalize after both, and its launcher may say 0 all the same.
    if (bare.returncode != 0 or "Caught signal" in bare.stdout + bare.stderr) and case != "exit":
        job.skip("this MPI cannot do it without the recorder: sessions beside MPI_Init")
    if case == "told":
        ingest, output = told_command(test, command)
        test.must(ingest)
    elif case == "exit":  # MPI says nothing of the launcher's status and output then
        output = test.run([test.mpistair, "run", "-o", test.trace, "--", *command]).stdout
    else:
        output = test.must([test.mpistair, "run", "-o", test.trace, "--", *command]).stdout
    sent = sorted(tuple(map(int, line.split()[1:])) for line in output.splitlines() if line.startswith("message "))
    if case == "exit":
        sent = [(rank, (rank + 1) % test.ranks, 1, 10 + rank) for rank in range(test.ranks)]
    if not sent:
        job.fail("the program sent nothing")
    job.expect_equal(sorted(test.query("SELECT src, dst, tag, bytes FROM message")), sent, "messages")
    job.expect_equal(test.query("SELECT rank, ended FROM process ORDER BY rank"),
                     [(rank, "exit" if case == "exit" else "finalize") for rank in range(test.ranks)], "ends")
    if case == "exit":
        job.expect_equal(test.value("SELECT verdict FROM completeness"),
                         f"cut short: {test.ranks} ranks ended without MPI_Finalize; complete until then", "verdict")
    else:
        test.expect_complete()
    test.expect_sound()
    print(f"{len(sent)} messages, all as the program told")


main()
