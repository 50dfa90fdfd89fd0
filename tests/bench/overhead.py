"""Instructions that recording adds to a call, counted by callgrind with all threads: they do not depend on what else the machine
does. The mean of Irecv, Isend, Wait and Wait of a process to itself, of Accumulate and Win_flush, of the two borders of a region, and tests
without a result, each
out of two lengths of the same program (overhead.c), beside the same through the MPI's own functions, which are not recorded.

usage: overhead.py BUILD MPI=MPIEXEC ...
exit status 77: valgrind is not installed.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(sys.argv[1]).resolve()
ROUNDS = 5000, 45000
CALLS = {"exchange": 4, "test": 1, "testany": 1, "get_status": 1, "iprobe": 1, "accumulate": 2, "region": 2}  # of a round
WAYS = {"with records": {}, "with --sums": {"MPISTAIR_DETAIL": "none"}}


def instructions(launcher, program, kind, more, rounds):
    with tempfile.TemporaryDirectory(prefix="mpistair-bench-") as folder:
        environment = dict(os.environ, MPISTAIR_INGEST="0", MPISTAIR_SPOOL=folder, MPISTAIR_SPOOL_LIMIT="4G", MPISTAIR_CONF="",
                           OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", **more)
        subprocess.run([launcher, "-n", "1", "env", f"LD_PRELOAD={BUILD / 'interpose/preload/libmpistair.so'}", "valgrind",
                        "--tool=callgrind", f"--callgrind-out-file={folder}/out", program, kind, str(rounds)],
                       check=True, env=environment, cwd=folder, capture_output=True, timeout=600)
        text = pathlib.Path(folder, "out").read_text(encoding="utf-8", errors="replace")
    return int(re.findall(r"^(?:summary|totals): (\d+)", text, re.MULTILINE)[-1])


def a_call(launcher, program, what, way, more):
    """Instructions a call."""
    first, last = (instructions(launcher, program, way + what, more, rounds) for rounds in ROUNDS)
    return (last - first) / (ROUNDS[1] - ROUNDS[0]) / CALLS[what]


def main():
    if not shutil.which("valgrind"):
        print("skipped: valgrind is not installed")
        sys.exit(77)
    for mpi, launcher in (word.split("=") for word in sys.argv[2:]):
        program = BUILD / f"tests/bench/overhead-{mpi}"
        for what in CALLS:
            bare = a_call(launcher, program, what, "bare ", {})
            added = ", ".join(f"{a_call(launcher, program, what, '', more) - bare:.0f} more {way}" for way, more in WAYS.items())
            print(f"{mpi} {what}: {bare:.0f} instructions a call of the MPI alone, {added}", flush=True)


main()
