#!/usr/bin/env python3
"""The batch system ends a job that is out of time: SIGTERM to all processes, SIGKILL to those that stay. The trace has
everything that ended before, and the launcher's exit status tells of what ended a rank: its own way, or SIGTERM or SIGKILL,
by which launchers end the others once one has ended."""
import signal
import time

import job
from killed import Killed

OWN_WAY = {"plain": signal.SIGTERM, "stays": signal.SIGKILL, "exits": 7}
# Hydra's for a rank whose connection it sees closed before its end (exit_status in MPICH's src/pm/hydra/pm/pmiserv/pmip_cb.c):
# 1, and 0 in some launches with that of MPICH 4.2, with the recorder as without.
UNSEEN = {"mpich": {0, 1}}


def one(test, way):
    running = Killed(test, way)
    running.wait_for_steps(200)
    first_ns = running.send(signal.SIGTERM)
    last_ns = first_ns
    if way == "stays":
        time.sleep(0.3)
        last_ns = running.send(signal.SIGKILL)
    status, stderr = running.end()
    print(f"{way}: exit status {status}")
    ways = {number + base for number in (OWN_WAY[way], signal.SIGTERM, signal.SIGKILL) for base in (0, 128)}
    if status not in ways | UNSEEN.get(test.mpi, set()):
        job.fail(f"{way}: exit status {status}, expected {int(OWN_WAY[way])}, SIGTERM's or SIGKILL's (or 128 more)")
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


def main():
    test = job.Job(__doc__)
    test.ranks = 2
    for way in ("plain", "stays", "exits"):
        if test.spools.exists():
            for old in test.spools.iterdir():
                old.unlink()
        one(test, way)


main()
