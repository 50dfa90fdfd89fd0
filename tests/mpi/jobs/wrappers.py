#!/usr/bin/env python3
"""Jobs with wrappers of their own, which call PMPI_X: each message is recorded once, wherever the wrappers stand; what
a library sends by PMPI_X alone is not recorded, and the trace says so."""
import pathlib

import job


def exchange(test, name, preload, *arguments):
    test.record(name, "{traffic}" if not arguments else arguments[0], *arguments[1:], LD_PRELOAD=preload)
    test.expect_traffic()
    test.expect_complete()
    test.expect_sound()


def main():
    test = job.Job(__doc__)
    wrappers = test.program("own_wrappers") + ".so"
    churn = ("--traffic", "{traffic}")
    exchange(test, test.program("wrapped_churn"), test.preload, *churn)
    for preload in (f"{wrappers}:{test.preload}", f"{test.preload}:{wrappers}"):
        exchange(test, test.program("churn"), preload, *churn)
    for interface in ("mpif_h", "mpi_f08"):
        if pathlib.Path(test.program(f"fortran_{interface}")).exists():
            exchange(test, test.program(f"fortran_{interface}"), f"{wrappers}:{test.preload}")
    test.record(test.program("hidden"))
    job.expect_equal(test.value("SELECT count(*) FROM message"), 2, "messages by MPI_X")
    job.expect_equal(test.query("SELECT name, sum(calls) FROM untracked GROUP BY name"), [("MPI_Sendrecv", 2)],
                     "calls of PMPI_X that are not recorded")
    job.expect_equal(test.value("SELECT verdict FROM completeness"),
                     "incomplete: 2 calls not recorded that may carry messages", "the verdict")


main()
