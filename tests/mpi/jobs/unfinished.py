#!/usr/bin/env python3
"""A job that ends without MPI_Finalize: its spools have every operation up to the end."""
import job


def add_arguments(parser):
    parser.add_argument("--end", choices=["kill", "midway", "exit", "_exit", "abort"], required=True)


def expect_last_rank(test, steps):
    """The last rank killed itself after its posts in the last step: all of them are there."""
    posted = dict(test.query("SELECT direction, count(*) FROM operation WHERE rank = ? GROUP BY direction", test.ranks - 1))
    job.expect_equal(posted, {"send": steps + 1, "receive": steps + 1}, "operations of the killed rank")


def main():
    test = job.Job(__doc__, add_arguments)
    end = test.arguments.end
    steps = 3000
    done = test.run(test.launch(test.program("abrupt"), end, str(steps), "-" if end == "midway" else "{traffic}"),
                    **test.preloaded(MPISTAIR_INGEST="0"))
    if end in ("kill", "midway", "abort"):
        if done.returncode == 0:
            job.fail("the job was killed, yet exits with 0")
    test.ingest()
    test.expect_sound()
    ended = {how for how, in test.query("SELECT DISTINCT ended FROM process")}
    # Where one process ends, launchers kill those that are left.
    expected = {"exit": "exit", "abort": "abort"}.get(end, "killed")
    if expected not in ended or not ended <= {expected, "killed"}:
        job.fail(f"how the processes ended: found {ended}, expected {expected}, or killed by the launcher")
    if end == "midway":
        expect_last_rank(test, steps)
    else:
        test.expect_traffic()
        test.expect_complete()


main()
