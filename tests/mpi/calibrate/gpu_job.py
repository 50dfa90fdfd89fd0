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


def run(*words, library, code=0, says="", mock=None, **variables):
    """What a command writes, both streams. mock: what the mock of the driver, library, is told, None: there is none."""
    environment = {**ENVIRONMENT, **variables}
    if mock is not None:
        environment.update(LD_LIBRARY_PATH=":".join([os.path.dirname(library), *PATHS]), MOCK_CUDA=mock)
    done = subprocess.run(words, capture_output=True, text=True, timeout=100, env=environment)
    if done.returncode != code or says not in done.stderr + done.stdout:
        failures.append(f"{' '.join(words)} ({mock}): exit {done.returncode}, expected {code} and {says!r}; "
                        f"said {done.stderr}{done.stdout}")
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


def calibrated(tool, *words, says, seconds=3, **options):
    """Runs mpistair calibrate until it has enough samples to say that; as measured()."""
    for limit_s in (seconds, 4 * seconds, 12 * seconds):
        done = run(tool, "calibrate", "--seconds", str(limit_s), "--restart", *words, **options)
        if says in done.stderr:
            break
    expect(f"{' '.join(words)}: {says!r}, said {done.stderr}", says in done.stderr)
    return done


def ends(*words, **options):
    """Runs a program that has nothing to measure: it does not wait for the time that it is given, which no test has."""
    return run(*words, "--seconds", "1000", **options)


def rows(text):
    return list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))


def end():
    for failure in failures:
        print(failure)
    sys.exit(1 if failures else 0)
