#!/usr/bin/env python3
"""A job that counts its messages, recorded: the trace has the same, to the message, and says that it is complete.

The command comes after `--`: a program of tests/apps and its arguments, with {traffic} for the file of its counts.
"""
import job


def add_arguments(parser):
    parser.add_argument("command", nargs="+")


def main():
    test = job.Job(__doc__, add_arguments)
    name, *arguments = test.arguments.command
    (test.folder / "pattern.csv").write_text(
        "src,dst,bytes\n" + "".join(f"{i % test.ranks},{(i * 3 + 1) % test.ranks},{1000 * (i % 7) ** 3}\n" for i in range(40))
        + "0,0,0\n1,1,500\n0,0,100000\n0,1,1000000\n1,0,1000000\n") # with itself, too; several of the same pair
    test.record(test.program(name), *arguments)
    test.expect_traffic()
    test.expect_complete()
    test.expect_sound()
    job.expect_equal(test.value("SELECT count(*) FROM process WHERE ended = 'finalize'"), test.ranks,
                     "processes that reached MPI_Finalize")


main()
