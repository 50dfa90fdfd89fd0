#!/usr/bin/env python3
"""Call sites in C++ have the names of the source, not those of the linker."""
import job

SHORT = ["mesh::exchange<long>", "ring<double>::pass<3>"]
FUNCTIONS = {"double ring<double>::pass<3>(double, int)": "MPI_Sendrecv", "int mesh::exchange<long>(long, int)": "MPI_Send"}


def main():
    test = job.Job(__doc__)
    test.record(test.program("members"))
    test.expect_complete()
    found = test.query("SELECT DISTINCT c.function, o.function, c.file LIKE '%members.cpp', c.line > 0 FROM operation o "
                       "JOIN callsite c ON c.id = o.callsite WHERE o.direction = 'send' ORDER BY 1")
    job.expect_equal(found, [(name, call, 1, 1) for name, call in FUNCTIONS.items()], "call sites of the sends")
    job.expect_equal(test.query("SELECT DISTINCT s.name FROM operation o JOIN site s ON s.id = o.callsite "
                                "WHERE o.direction = 'send' ORDER BY 1"), [(name,) for name in SHORT], "their names in tables")


main()
