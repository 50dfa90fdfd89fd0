#!/usr/bin/env python3
"""The launcher of one MPI starts a program of another: each process is a world of its own. That is said at the start, and in
each trace; jobs of one rank that a script starts are nothing of the kind."""
import os

import job

SAID = "it is not the launcher of their MPI"


def main():
    test = job.Job(__doc__)
    own = test.program("halo")
    other = own.removesuffix(test.mpi) + {"mpich": "openmpi", "openmpi": "mpich"}[test.mpi]
    if not os.path.exists(other):
        job.skip("the other MPI is not here")
    points = ["--points", "500"]
    done = test.must([test.mpistair, "run", "-o", test.trace, "--", *test.launch(other, *points)])
    job.expect_equal(done.stderr.count(SAID), 1, "lines on the launcher")
    for name in ("trace.db", "trace-2.db"):
        test.trace = test.folder / name
        job.expect_equal(test.query("SELECT world_size, launched FROM run, process"), [(1, 2)], "ranks, and how many were launched")
        job.expect_equal(test.value("SELECT verdict FROM completeness").split(",")[0],
                         "incomplete: one of 2 processes that the launcher started", "the verdict")
    report = test.must([test.mpistair, "report", test.trace, "--all"]).stdout
    job.expect_equal(report.count("2 ranks were expected"), 1, "lines of the report")
    test.ranks = 1
    done = test.must([test.mpistair, "run", "-o", test.folder / "one.db", "--", "sh", "-c", '"$@" & "$@"; wait', "sh",
                      *test.launch(own, *points)])
    job.expect_equal((done.stderr.count(SAID), done.stderr.count("; complete\n")), (0, 2), "lines on two jobs of one rank")


main()
