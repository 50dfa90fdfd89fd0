#!/usr/bin/env python3
"""The batch system ends a job that is out of time: SIGTERM to all processes, SIGKILL to those that stay. The trace has
everything that ended before, and the launcher's exit status is one that it has without the recorder: where a rank exits
first, hydra kills the other, and returns the status of either."""
import signal
import time

import job
from killed import Killed

BARE_RUNS = 10


def one(test, way, recorded):
    disable = {} if recorded else {"MPISTAIR_DISABLE": "1"}
    running = Killed(test, way, **disable)
    running.wait_for_steps(200)
    first_ns = running.send(signal.SIGTERM)
    last_ns = first_ns
    if way == "stays":
        time.sleep(0.3)
        last_ns = running.send(signal.SIGKILL)
    status, stderr = running.end()
    if not recorded:
        return status
    print(f"{way}: exit status {status}")
    said = [line for line in stderr.splitlines() if line.startswith("mpistair")]
    job.expect_equal(said, [], "lines of the recorder's")
    test.ingest()
    test.expect_sound()
    for rank, (done, early, traced) in enumerate(running.expect_recorded(last_ns)):
        print(f"rank {rank}: {done} steps counted, {early} of them 1 ms before the last signal, {traced} in the trace")
    ended = {how for how, in test.query("SELECT DISTINCT ended FROM process")}
    expected = {"exits": "exit"}.get(way, "killed")
    if expected not in ended or not ended <= {expected, "killed"}:
        job.fail(f"{way}: how the processes ended: found {ended}, expected {expected}")
    return status


def main():
    test = job.Job(__doc__)
    test.ranks = 2
    for way in ("plain", "stays", "exits"):
        if test.spools.exists():
            for old in test.spools.iterdir():
                old.unlink()
        with_tool, without = one(test, way, True), []
        while with_tool not in without and len(without) < BARE_RUNS:
            without.append(one(test, way, False))
        if with_tool not in without:
            job.fail(f"{way}: exit status {with_tool}, without the recorder {without}")


main()
