#!/usr/bin/env python3
"""The jobs of tests/apps/rounds.c have the rounds that a reader of their source would draw; each file says why."""
import job

STEPS = 20


def grid_edges(ranks):
    """Pairs of neighbours on the grid of MPI_Dims_create, for the numbers of ranks that are used here."""
    rows, columns = {2: (2, 1), 8: (4, 2)}[ranks]
    return rows * (columns - 1) + columns * (rows - 1)


def expected(case, ranks):
    """(rounds, kinds); kinds None: depends on which worker was the faster."""
    return {
        "master_worker": (2 * (STEPS + ranks - 1), None),
        "wavefront": (STEPS * grid_edges(ranks), grid_edges(ranks)),
        "double_buffer": (STEPS, 1),
        "standing_receive": (STEPS, 2),
    }[case]


def main():
    test = job.Job(__doc__)
    for case in ("master_worker", "wavefront", "double_buffer", "standing_receive"):
        test.record(test.program("rounds"), case, str(STEPS), "{traffic}")
        test.expect_traffic()
        test.expect_complete()
        test.expect_sound()
        rounds, kinds = expected(case, test.ranks)
        job.expect_equal(test.value("SELECT count(*) FROM round"), rounds, f"rounds of {case}")
        if kinds is not None:
            job.expect_equal(test.value("SELECT count(*) FROM kind"), kinds, f"kinds of {case}")


main()
