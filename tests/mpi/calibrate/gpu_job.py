"""What the tests of calibrate --gpu share: commands with and without a mock of the driver, and samples.

Imported, no test of its own.
"""
import csv
import os
import subprocess
import sys

# The build's own runner puts the folder of every library of a test there.
PATHS = [part for part in os.environ.get("LD_LIBRARY_PATH", "").split(":") if part and "mock_cuda" not in part]
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", MPISTAIR_DISTURBED="1",
                   MPISTAIR_DISABLE="1", LD_LIBRARY_PATH=":".join(PATHS))
failures = []


def launcher(mpiexec, mpi, ranks):
    return [mpiexec, *(["--oversubscribe", "--bind-to", "none"] if mpi == "openmpi" else []), "-n", str(ranks)]


def expect(what, condition):
    if not condition:
        failures.append(what)


def start(*words, library, mock=None, **variables):
    """What a command writes, both streams. mock: what the mock of the driver, library, is told, None: there is none."""
    environment = {**ENVIRONMENT, **variables}
    if mock is not None:
        environment.update(LD_LIBRARY_PATH=":".join([os.path.dirname(library), *PATHS]), MOCK_CUDA=mock)
    return subprocess.run(words, capture_output=True, text=True, timeout=100, env=environment)


def run(*words, code=0, says="", **options):
    """As start(), of a command of which the exit code and what it says are known."""
    return judged(start(*words, **options), code, says)


def is_right(done, code, says):
    return done.returncode == code and says in done.stderr + done.stdout


def judged(done, code, says):
    expect(f"{' '.join(done.args)}: exit {done.returncode}, expected {code} and {says!r}; said {done.stderr}{done.stdout}",
           is_right(done, code, says))
    return done


def measured(expected, keys, *words, seconds=1, **options):
    """Runs a program of samples until it has the expected kinds, keys(rows) of them: where others have the processors, a few
    seconds are not enough for all. More than expected is more at once. Returns what it said last, and the kinds."""
    for limit_s in (seconds, 4 * seconds, 12 * seconds):
        done = run(*words, "--seconds", str(limit_s), **options)
        found = keys(rows(done.stdout))
        if not found < expected:
            break
    return done, found


def calibrated(tool, *words, code=0, says="", **options):
    """Runs mpistair calibrate as run() does, with more seconds where it had too few samples to end so, as measured()."""
    for seconds in ("3", "12", "36"):
        done = start(tool, "calibrate", "--restart", "--seconds", seconds, *words, **options)
        if is_right(done, code, says):
            break
    return judged(done, code, says)


def ends(*words, **options):
    """Runs a program that has nothing to measure: it does not wait for the time that it is given, which no test has."""
    return run(*words, "--seconds", "1000", **options)


def rows(text):
    return list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))


def end():
    for failure in failures:
        print(failure)
    sys.exit(1 if failures else 0)
