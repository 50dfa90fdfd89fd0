"""Kills jobs of 2 ranks at random times, one after the other, ingests each, and holds the trace against the progress that
the ranks published themselves: every operation that ended 1 ms before the kill must be there.

usage: kills.py FOLDER_OF_JOB_PY KILLS --build BUILD --mpi NAME --launcher MPIEXEC

Between 0 and 400 ms after the first step, every third at a random time of the launch and of MPI_Init, when there may be
nothing to ingest yet: then ingest must say so. As many jobs again with little room are killed while their recording thins
itself. Prints how many were ingested and how close to the kill the traces reach.
"""
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, sys.argv.pop(1))
N_KILLS = int(sys.argv.pop(1))
ROOM = "12M"  # of the node: both ranks

import job  # noqa: E402
from killed import Killed  # noqa: E402


def clear(test):
    for folder in (test.spools, test.folder / "progress"):
        if folder.exists():
            for old in folder.iterdir():
                old.unlink()


def quiet(test):
    """Ingest without its words in the log."""
    return subprocess.run([test.mpistair, "ingest", test.spools, "-o", test.trace], capture_output=True, text=True,
                          env=test.environment(), timeout=300)


def kill_and_ingest(test, seconds, room):
    """Kills a job that long after its first step: (what its ranks published, when they were killed)."""
    running = Killed(test, MPISTAIR_SPOOL_LIMIT=room)
    time.sleep(seconds)
    killed_ns = running.send(signal.SIGKILL)
    running.end()
    done = quiet(test)
    if done.returncode != 0:
        job.fail(f"killed {seconds:.3f} s after its first step: ingest exits with {done.returncode}: {done.stderr}")
    return running, killed_ns


def kill_running(test, seconds):
    """Kills a job that runs; [(steps counted, of these 1 ms before the kill, steps in the trace)] of its ranks."""
    running, killed_ns = kill_and_ingest(test, seconds, "16G")  # for all, also where this script gets no processor for seconds
    test.expect_sound()
    return running.expect_recorded(killed_ns)


def kill_starting(test, seconds):
    """Kills a job that may not be through MPI_Init; whether it left a trace."""
    running = Killed(test, wait=False)
    time.sleep(seconds)
    running.launcher.kill()  # its ranks end with it, or are ended by what follows
    killed_ns = running.send(signal.SIGKILL)
    running.end()
    running.kill_all()  # a rank that is in MPI_Init yet would run on, into the next job's files
    done = quiet(test)
    if done.returncode == 0:
        running.expect_recorded(killed_ns)
    elif done.returncode != 1 or not done.stderr.startswith("mpistair"):
        job.fail(f"killed {seconds:.3f} s after its launch: ingest exits with {done.returncode}: {done.stderr}")
    return done.returncode == 0


def kill_thinning(test, seconds):
    """Kills a job whose room has been used up: its totals are true up to the kill, no pair of its bursts is wrong. Returns the steps
    counted, those of them that the totals lack, and the messages with rows."""
    running, killed_ns = kill_and_ingest(test, seconds, ROOM)
    job.expect_equal(test.value("SELECT count(*) FROM message_row WHERE room_bytes <> 0"), 0, "pairs that do not belong together")
    lacking, steps = 0, 0
    for rank in range(test.ranks):
        done, _, *times = running.read(rank)
        early = done - sum(t > killed_ns - 1000000 for t in times)
        calls = dict(test.query("SELECT f.name, sum(calls) FROM total t JOIN function f ON f.id = t.function WHERE rank = ? GROUP BY 1", rank))
        for function in "MPI_Isend", "MPI_Irecv", "MPI_Waitall":
            if not early <= calls.get(function, 0) <= done + 1:
                job.fail(f"rank {rank}: {done} steps, {early} of them ended 1 ms before the kill, totals have {calls}")
        lacking += max(done - calls["MPI_Waitall"], 0)
        steps += done
    thinned = test.value("SELECT detail FROM run") == "bursts"
    return thinned, steps, lacking, test.value("SELECT count(*) FROM message_row")


def main():
    test = job.Job(__doc__)
    test.ranks = 2
    random.seed(1)
    ranks, left = [], 0
    for _ in range(N_KILLS):
        clear(test)
        ranks += kill_running(test, random.uniform(0, 0.4))
    for _ in range(N_KILLS // 3):
        clear(test)
        left += kill_starting(test, random.uniform(0, 0.5))
    thinned = []
    for _ in range(N_KILLS):
        clear(test)
        thinned.append(kill_thinning(test, random.uniform(0.05, 1)))
    print(f"kills {test.mpi}: {N_KILLS} of {N_KILLS} jobs with {ROOM} of room ingested, {sum(row[0] for row in thinned)} of them thinned: of "
          f"{sum(row[1] for row in thinned)} steps the totals lack {sum(row[2] for row in thinned)}, all in the last 1 ms; none of "
          f"{sum(row[3] for row in thinned)} pairs is wrong")
    print(f"kills {test.mpi}: {N_KILLS} of {N_KILLS} jobs ingested, {sum(early for _, early, _ in ranks)} steps ended 1 ms before "
          f"the kill, none is missing; of the {sum(done for done, _, _ in ranks)} steps counted at all the trace lacks "
          f"{sum(max(0, done - traced) for done, _, traced in ranks)}")
    print(f"kills {test.mpi}: of {N_KILLS // 3} jobs killed while they started {left} left a trace, the others said that there is "
          f"nothing")


main()
