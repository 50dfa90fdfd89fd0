#!/usr/bin/env python3
"""Processes that are spawned one after the other, each gone before the next one begins: there are two at a time, so two
share the processors; efficiencies are those of two; and the critical path goes on from a child to the call that spawned it."""
import json
import re

import job

CHILDREN, COMPUTED_MS = 8, 30


def main():
    test = job.Job(__doc__)
    test.ranks = 1
    # Without mpistair, too, Open MPI 4.1 hangs in about 1 of 30 such chains of MPI_Comm_spawn.
    done = test.must([test.mpistair, "run", "-o", test.trace, "--", *test.launch(test.program("generations"), str(CHILDREN),
                                                                                str(COMPUTED_MS))],
                     limit_s=30, tries=3, OMPI_MCA_mpi_yield_when_idle="1")
    job.expect_equal(done.stdout.split(), ["sum", str(CHILDREN * (CHILDREN + 1) // 2)], "the job's result")
    job.expect_equal(test.value("SELECT count(*) FROM process"), CHILDREN + 1, "ranks")
    test.expect_complete()
    replay = ["--machine", "blue-waters"]
    told = json.loads(test.must([test.mpistair, "replay", test.trace, *replay, "--format", "json"]).stdout)
    for name, efficiencies in told["efficiencies"].items():
        over = {efficiency: value for efficiency, value in efficiencies.items() if not 0 <= value <= 1.001}
        job.expect_equal(over, {}, f"efficiencies ({name}) out of range")
    computed_s = test.value("SELECT sum(end_ns - begin_ns) * 1e-9 FROM process WHERE rank > 0")
    run_s = test.value("SELECT duration_ns * 1e-9 FROM run")
    least, most = CHILDREN * COMPUTED_MS * 1e-3 * 0.9 / (run_s + computed_s), (run_s / 2 + computed_s) / (run_s + computed_s)
    parallel = told["efficiencies"]["measured"]["parallel"]
    print(f"parallel efficiency {parallel:.3f}, expected {least:.3f} to {most:.3f}")
    if not least <= parallel <= most:
        job.fail("the parallel efficiency is not that of two ranks at a time")

    job.expect_equal(test.must([test.mpistair, "replay", test.trace, *replay]).returncode, 0, "replay")
    path = test.query("SELECT rank, function, sum(critical_s) AS s FROM replay_place GROUP BY 1, 2 ORDER BY s DESC")
    print(path[:4])
    job.expect_equal(path[0][:2], (0, "MPI_Comm_spawn"), "what most of the critical path is made of")
    by_child = dict(test.query("SELECT rank, sum(critical_s) FROM replay_place WHERE rank > 0 GROUP BY 1"))
    lived = dict(test.query("SELECT rank, (end_ns - begin_ns) * 1e-9 FROM process WHERE rank > 0"))
    job.expect_equal([rank for rank, on_path_s in by_child.items() if on_path_s > lived[rank] * 1.1 + 1e-3], [],
                     "ranks that are on the critical path for longer than they lived")
    report = test.must([test.mpistair, "report", test.trace, "--all"]).stdout
    crowds = {int(n) for n in re.findall(r"(\d+) ranks share", report)}
    job.expect_equal(crowds - {2}, set(), "numbers of ranks that share processors")
    job.expect_equal(report.count("the median rank"), 0, "ranks out of line")


main()
