"""Real applications without the recorder, with it, without its counters, and with `--sums`, in turns: run times, results,
completeness.

usage: applications.py FOLDER_OF_JOB_PY TURNS --build BUILD --mpi NAME --launcher MPIEXEC [--only NAME]

application_list.py says which. 2 ranks on 2 processors, an own folder for each run; only the job itself is timed, ingest is
not.
"""
import pathlib
import shutil
import statistics
import sys
import time

FOLDER = pathlib.Path(sys.argv.pop(1)).resolve()
TURNS = int(sys.argv.pop(1))
sys.path.insert(0, str(FOLDER))

import job  # noqa: E402
from application_list import APPLICATIONS  # noqa: E402


WAYS = {"without the recorder": None, "recorded": {}, "without counters": {"MPISTAIR_COUNTERS": "no"},
        "with --sums": {"MPISTAIR_DETAIL": "none"}}
BARE, RECORDED, UNCOUNTED, SUMS = WAYS


def run(test, command, application, way):
    """(seconds, results) of one run; its files go to a fresh folder with its input."""
    test.folder = test.scratch / "run"
    shutil.rmtree(test.folder, ignore_errors=True)
    shutil.copytree(test.scratch / "input", test.folder)
    shutil.rmtree(test.spools, ignore_errors=True)
    variables = {} if way == BARE else test.preloaded(MPISTAIR_INGEST="0", **WAYS[way])
    begin = time.monotonic()
    done = test.must(command, limit_s=300, OMP_NUM_THREADS="1", **variables)
    return time.monotonic() - begin, application.results(done.stdout.splitlines(), test.folder)


def compare(test, name):
    application = APPLICATIONS[name]
    if shutil.which(application.command[0]) is None:
        print(f"applications: {name} is left out: {application.command[0]} is not installed (packages: {application.package})")
        return False
    shutil.rmtree(test.scratch / "input", ignore_errors=True)
    (test.scratch / "input").mkdir()
    application.prepare(test.scratch / "input")
    command = test.launch(*application.command)
    _, expected = run(test, command, application, BARE)
    if not expected:
        job.fail(f"{name}: no results in what it printed and wrote")
    seconds = {way: [] for way in WAYS}
    for turn in range(TURNS):
        for way in list(WAYS)[::1 if turn % 2 else -1]:
            took, found = run(test, command, application, way)
            seconds[way].append(took)
            job.expect_equal(found, expected, f"{name}: results {way}")
            if way == RECORDED:
                test.trace.unlink(missing_ok=True)
                test.ingest()
    print(f"applications: {name}: {len(expected)} lines of results the same in all runs; medians of {TURNS} turns:",
          ", ".join(f"{statistics.median(seconds[way]):.3f} s {way}" for way in WAYS))
    for way in RECORDED, UNCOUNTED, SUMS:
        ratios = sorted(took / bare for took, bare in zip(seconds[way], seconds[BARE]))
        print(f"applications: {name}: {way}: {min(seconds[way]) / min(seconds[BARE]):.3f} times as long in the best run of each, "
              f"{ratios[0]:.3f} to {ratios[-1]:.3f} by turns, median {statistics.median(ratios):.3f}", flush=True)
    print(f"applications: {name}:", *(f"{n} {function}," for function, n in test.query(
        "SELECT function, count(*) FROM operation GROUP BY 1 ORDER BY 2 DESC")), "messages",
        test.value("SELECT count(*) FROM message"), "verdict", test.value("SELECT verdict FROM completeness"))
    if name == "LAMMPS":  # nothing of what it calls goes unrecorded
        test.expect_complete()
    if test.query("SELECT 1 FROM untracked WHERE affects_messages"):
        print(f"applications: {name}: not recorded:",
              test.query("SELECT name, sum(calls) FROM untracked WHERE affects_messages GROUP BY 1"))
    return True


def add_arguments(parser):
    parser.add_argument("--only", choices=APPLICATIONS)


def main():
    test = job.Job(__doc__, add_arguments)
    test.ranks = 2
    test.scratch = test.folder
    names = [test.arguments.only] if test.arguments.only else APPLICATIONS
    if not any([compare(test, name) for name in names]):
        job.skip("none of the applications is installed")


main()
