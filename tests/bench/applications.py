"""Real applications with and without the recorder, in turns: run times, results, completeness.

usage: applications.py FOLDER_OF_JOB_PY PAIRS --build BUILD --mpi NAME --launcher MPIEXEC [--only NAME]

application_list.py says which. 2 ranks on 2 processors, an own folder for each run; only the job itself is timed, ingest is
not.
"""
import pathlib
import shutil
import statistics
import sys
import time

FOLDER = pathlib.Path(sys.argv.pop(1)).resolve()
PAIRS = int(sys.argv.pop(1))
sys.path.insert(0, str(FOLDER))

import job  # noqa: E402
from application_list import APPLICATIONS  # noqa: E402


def run(test, command, application, recorded):
    """(seconds, results) of one run; its files go to a fresh folder with its input."""
    test.folder = test.scratch / "run"
    shutil.rmtree(test.folder, ignore_errors=True)
    shutil.copytree(test.scratch / "input", test.folder)
    shutil.rmtree(test.spools, ignore_errors=True)
    variables = test.preloaded(MPISTAIR_INGEST="0") if recorded else {}
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
    _, expected = run(test, command, application, False)
    if not expected:
        job.fail(f"{name}: no results in what it printed and wrote")
    seconds = {False: [], True: []}
    for pair in range(PAIRS):
        for recorded in ((False, True), (True, False))[pair % 2]:
            took, found = run(test, command, application, recorded)
            seconds[recorded].append(took)
            job.expect_equal(found, expected, f"{name}: results{' with the recorder' if recorded else ''}")
            if recorded:
                test.trace.unlink(missing_ok=True)
                test.ingest()
    bare, traced = statistics.median(seconds[False]), statistics.median(seconds[True])
    ratios = sorted(t / b for t, b in zip(seconds[True], seconds[False]))
    print(f"applications: {name}: {bare:.3f} s without, {traced:.3f} s with the recorder (medians of {PAIRS} pairs), ratio "
          f"{traced / bare:.3f}, of the pairs {ratios[0]:.3f} to {ratios[-1]:.3f}, median {statistics.median(ratios):.3f}; "
          f"{len(expected)} lines of results the same in all runs")
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
