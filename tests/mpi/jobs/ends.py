#!/usr/bin/env python3
"""A job ends in one of many ways (tests/apps/abrupt.c): its exit status and what it prints are those without the recorder,
which says nothing, and the trace has every operation up to the end."""
import re

import job

# Way: how its processes ended as the trace has it. Where one process ends, launchers kill those that are left.
ENDS = {"finish": "finalize", "fail": "finalize", "callback": "finalize", "fork": "finalize", "forkexit": "finalize",
        "forkexec": "finalize", "forkkill": "finalize", "exit": "exit", "abort": "abort", "early": "abort", "kill": "killed",
        "segv": "killed", "midway": "killed", "_exit": "killed"}
VERDICTS = {"exit": "ended without MPI_Finalize", "abort": "called MPI_Abort", "killed": "killed or left by _exit"}
STEPS = 2000
# Where all processes end by themselves, without MPI_Finalize, they race with their launcher's clean-up: hydra's exit status
# is 0, or another one in one launch of 20, with the recorder as without. MPI does not define it.
STATUS_UNDEFINED = ["exit", "_exit"]
# Where they are killed, the hydra of MPICH 4.2 says 0 in one launch of 5, with the recorder as without.
STATUS_LOST = ["kill", "segv"]


def add_arguments(parser):
    parser.add_argument("--end", choices=ENDS, required=True)


def of_the_job(text):
    """Without the box that MPICH's launcher draws around the bad end of a process, and the empty lines about it."""
    return [line for line in text.splitlines() if line.strip() and not line.startswith("=") and "(signal " not in line
            and not line.startswith("This typically refers to a problem with your application")
            and not line.startswith("Please see the FAQ")]


def without_numbers(text):
    """Without what libevent in Open MPI's launcher prints of pipes that it closed already, in one bad end of some hundred,
    with the recorder as without."""
    return sorted(re.sub(r"0x[0-9a-f]+|\d+", "N", line) for line in text.splitlines() if not line.startswith("[warn] Epoll "))


def expect_same(test, bare, recorded):
    lost = test.mpi == "mpich" and test.arguments.end in STATUS_LOST and 0 in (recorded.returncode, bare.returncode)
    if test.arguments.end not in STATUS_UNDEFINED and not lost:
        job.expect_equal(recorded.returncode, bare.returncode, "exit status, against that without the recorder")
    whole, found = of_the_job(bare.stdout), of_the_job(recorded.stdout)
    # A launcher that kills its job may lose what was last printed, with the recorder as without.
    if ENDS[test.arguments.end] == "finalize" or (whole and found):
        job.expect_equal(found, whole, "output, against that without the recorder")
    said = [line for line in recorded.stderr.splitlines() if line.startswith("mpistair")]
    job.expect_equal(said, [], "lines of the recorder's")
    # What Open MPI's launcher says of a bad end depends on who hears of it first.
    if ENDS[test.arguments.end] == "finalize":
        job.expect_equal(without_numbers(recorded.stderr), without_numbers(bare.stderr), "stderr, against that without the recorder")


def main():
    test = job.Job(__doc__, add_arguments)
    way = test.arguments.end
    command = test.launch(test.program("abrupt"), way, str(STEPS), "-" if way in ("midway", "early") else "{traffic}")
    bare = test.run(command)
    test.traffic.unlink(missing_ok=True)
    recorded = test.run(command, **test.preloaded(MPISTAIR_INGEST="0"))
    expect_same(test, bare, recorded)
    test.ingest()
    test.expect_sound()
    ended = {how for how, in test.query("SELECT DISTINCT ended FROM process")}
    also = set() if ENDS[way] == "finalize" else {"killed"}
    if ENDS[way] not in ended or not ended <= {ENDS[way]} | also:
        job.fail(f"how the processes ended: found {ended}, expected {ENDS[way]}, or killed by the launcher")
    job.expect_equal(test.query("SELECT rank, cause FROM loss"), [], "losses")
    if way == "early":
        # The others were in MPI_Init still, as the recorder has it; each has a spool all the same.
        job.expect_equal(len(test.query("SELECT rank FROM process WHERE pid IS NOT NULL")), test.ranks, "processes")
        return
    if way == "midway":
        # The last rank killed itself after its posts in the last step: all of them are there.
        posted = dict(test.query("SELECT direction, count(*) FROM operation WHERE rank = ? GROUP BY direction", test.ranks - 1))
        job.expect_equal(posted, {"send": STEPS + 1, "receive": STEPS + 1}, "operations of the killed rank")
        return
    test.expect_traffic()
    # All is there, until the end that the verdict names.
    verdict = test.value("SELECT verdict FROM completeness")
    if ENDS[way] == "finalize":
        job.expect_equal(verdict, "complete", "verdict")
    elif not (verdict.startswith("cut short: ") and VERDICTS[ENDS[way]] in verdict and verdict.endswith("; complete until then")):
        job.fail(f"verdict: found '{verdict}', expected that it names how ranks ended, and complete until then")


main()
