"""How soon every program that wants a GPU ends where there is none, with which reason: the median of five, with its launcher, beside a
program that only starts MPI and the shell's `true` and `false`. Open MPI's launcher waits for a second of its own where a rank failed
(odls_base_sigkill_timeout): so it does of `false`.

usage: gpu_ends.py MPISTAIR PROGRAMS_OF_CALIBRATE PROGRAMS_OF_TESTS --mpi MPI:MPIEXEC ...

A benchmark: it fails where a program gives no reason or the wrong exit code, and is skipped where there is a GPU.
"""
import os
import statistics
import subprocess
import sys
import tempfile
import time

MPISTAIR, CALIBRATE, APPS = map(os.path.abspath, sys.argv[1:4])
TURNS = 5
REASON = "no NVIDIA driver"
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", MPISTAIR_DISTURBED="1")
ENVIRONMENT.pop("OMPI_MCA_odls_base_sigkill_timeout", None)  # tests set it


def ends(name, command, code=0, gives_reason=True):
    """Prints how long a command takes, and what it says. Returns whether it says why, and exits as expected."""
    seconds = []
    for _ in range(TURNS):
        begin_s = time.monotonic()
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=ENVIRONMENT)
        seconds.append(time.monotonic() - begin_s)
    said = [line for line in (done.stdout + done.stderr).splitlines() if REASON in line]
    print(f"{statistics.median(seconds):6.2f} s  exit {done.returncode}  {name}: {said[0].strip() if said else '-'}", flush=True)
    return done.returncode == code and bool(said) == gives_reason


def main():
    if os.path.exists("/dev/nvidiactl"):
        print("skipped: a GPU is here")
        sys.exit(77)
    good = [ends("mpistair doctor", [MPISTAIR, "doctor"])]
    for mpi, mpiexec in (word.split(":") for word in sys.argv[5::2]):
        launcher = [mpiexec, *(["--oversubscribe", "--bind-to", "none"] if mpi == "openmpi" else []), "-n", "2"]
        program = os.path.join(CALIBRATE, f"mpistair-benchmark-{mpi}")
        only = [MPISTAIR, "calibrate", "--gpu", "only", "--restart", "-o", "absent.tbl"]
        good += [
            ends(f"{mpi}, true", [*launcher, "true"], gives_reason=False),
            ends(f"{mpi}, false", [*launcher, "false"], 1, gives_reason=False),
            ends(f"{mpi}, no more than MPI", [*launcher, program, "gpu_copy", "--hello"], gives_reason=False),
            ends(f"{mpi}, gpu_copy", [*launcher, program, "gpu_copy"]),
            ends(f"{mpi}, gpu_paths", [*launcher, program, "gpu_paths"]),
            ends(f"{mpi}, gpu_collectives, cuda-aware",
                 [*launcher, os.path.join(APPS, f"gpu_collectives-{mpi}"), "alltoall", "cuda-aware", "4800", "2"], 1),
            ends(f"{mpi}, calibrate --gpu only", [*only, "--", *launcher], 1),
            ends(f"{mpi}, calibrate --gpu only --path gpudirect", [*only, "--path", "gpudirect", "--", *launcher], 1),
        ]
    sys.exit(0 if all(good) else 1)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    try:
        main()
    finally:
        os.chdir("/")
