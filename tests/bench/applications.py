"""Real applications with and without the recorder, in turns: run times, results, completeness.

usage: applications.py FOLDER_OF_JOB_PY PAIRS --build BUILD --mpi NAME --launcher MPIEXEC [--only LAMMPS|CP2K]

LAMMPS (C++), and CP2K (Fortran, `use mpi`): electrons and atoms of two water molecules. 2 ranks on 2 processors. What they print
is compared without its times, of CP2K the energies, forces and positions in its files to the last digit.
"""
import pathlib
import re
import shutil
import statistics
import sys
import time

FOLDER = pathlib.Path(sys.argv.pop(1)).resolve()
PAIRS = int(sys.argv.pop(1))
sys.path.insert(0, str(FOLDER))

import job  # noqa: E402

LAMMPS_TIMES = re.compile(r"^(Loop time of|Performance:|Total wall time|[0-9.]+% CPU use|  create_atoms CPU = "
                          r"|(Pair|Neigh|Comm|Output|Modify|Other) )")


def lammps_results(done, _):
    return [line for line in done.stdout.splitlines() if not LAMMPS_TIMES.match(line)]


def cp2k_results(_, folder):
    """Energies without the last column, which is the time that the step took; positions."""
    energies = [line.split()[:-1] for line in (folder / "water-1.ener").read_text().splitlines()[1:]]
    return energies + (folder / "water-pos-1.xyz").read_text().splitlines()


APPLICATIONS = {
    "LAMMPS": ("lmp", "lammps", ["-in", str(FOLDER / "melt.in"), "-log", "none"], lammps_results),
    "CP2K": ("cp2k.psmp", "cp2k", ["-i", str(FOLDER / "water.inp")], cp2k_results),
}


def run(test, command, results, recorded):
    """(seconds, results) of one run; its files go to a fresh folder."""
    test.folder = test.scratch / "run"
    shutil.rmtree(test.folder, ignore_errors=True)
    test.folder.mkdir()
    shutil.rmtree(test.spools, ignore_errors=True)
    variables = test.preloaded(MPISTAIR_INGEST="0") if recorded else {}
    begin = time.monotonic()
    done = test.must(command, limit_s=300, OMP_NUM_THREADS="1", **variables)
    return time.monotonic() - begin, results(done, test.folder)


def compare(test, name):
    program, package, words, results = APPLICATIONS[name]
    if shutil.which(program) is None:
        print(f"applications: {name} is left out: {program} is not installed (package {package})")
        return False
    command = test.launch(program, *words)
    _, expected = run(test, command, results, False)
    seconds = {False: [], True: []}
    for pair in range(PAIRS):
        for recorded in ((False, True), (True, False))[pair % 2]:
            took, found = run(test, command, results, recorded)
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
        print(f"applications: {name}: not recorded:", test.query("SELECT name, sum(calls) FROM untracked WHERE affects_messages GROUP BY 1"))
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
