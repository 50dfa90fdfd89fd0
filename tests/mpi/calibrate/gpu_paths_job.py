"""The ways from one GPU to another as mpistair calibrate --gpu measures them, on a mock of the driver whose memory processes
share: which ways are measured with what the machine has, and what is said of the others; that data arrive; and that no
number of the mock gets into a table.

Usage: gpu_paths_job.py MPISTAIR PROGRAM LIBCUDA_OF_TESTS LIBAWARE_OF_TESTS MPIEXEC MPI [brief]; PROGRAM: mpistair-benchmark-MPI;
MPI: mpich, openmpi. brief leaves out what knows no MPI.
The program compares what went each way before it measures; nothing is said of times.
"""
import functools
import os
import sys
import tempfile

import gpu_job
from gpu_job import expect, rows

TOOL, PROGRAM, LIBRARY, AWARE = map(os.path.abspath, sys.argv[1:5])
launcher = functools.partial(gpu_job.launcher, *sys.argv[5:7])
BRIEF = sys.argv[7:] == ["brief"]
run = functools.partial(gpu_job.run, library=LIBRARY)
HOST = {("host", 1, count) for count in (1, 5, 10)}
DIRECT = {("gpudirect", 1, count) for count in (1, 5, 10)}
STEPS = {("3-step", 1, count) for count in (1, 5, 10)} | {("3-step_events", 1, 1)}
SHARED = {("extra-message", 2, 1), ("extra-message_events", 2, 1)}
POINTER = {("duplicate-pointer", 1, 1)}
POINTERS = POINTER | {(variant + clock, 2, 1) for variant in ("duplicate-pointer", "pull", "push") for clock in ("", "_events")}
NOT_AWARE = "gpudirect MPI not CUDA-aware"
ONE_PROCESS = "extra-message_intra_socket each end has one process on its socket"


def keys(samples):
    """(variant, processes at each end, messages of each), without the mark of the mock, which all have."""
    expect("a sample without mark", all(row["variant"].startswith("mock_") for row in samples))
    return {(row["variant"].removeprefix("mock_"), int(row["n"]), int(row["count"])) for row in samples}


def measure(expected, *words, ranks=2, mock="ok", says=(), **variables):
    done, found = gpu_job.measured(expected, keys, *launcher(ranks), PROGRAM, "gpu_paths", *words, library=LIBRARY, mock=mock, **variables)
    expect(f"{mock} {words}: found {found ^ expected} more or less than expected, said {done.stderr}", found == expected)
    for text in says:
        expect(f"{mock} {words}: expected {text!r}, said {done.stderr}", f"not_available {text}" in done.stderr)
    return done


def two_processes():
    """One at each end."""
    absent = ["gpu_paths_inter_socket no two of the 2 ranks are at this level", "gpu_paths_inter_node no two"]
    measure(HOST | STEPS | POINTER, says=[NOT_AWARE, ONE_PROCESS, *absent])
    measure(DIRECT, "--path", "gpudirect", LD_PRELOAD=AWARE)
    if BRIEF:
        return
    measure(HOST | STEPS, "--path", "3-step,host", mock="one")
    measure(set(), "--path", "copy")
    measure(set(), "--path", "gpudirect", mock="one", LD_PRELOAD=AWARE, says=["gpudirect_intra_socket one GPU"])
    sized = measure({("3-step", 1, count) for count in (1, 5, 10)} | {("3-step_events", 1, 1)}, "--path", "3-step", "--buffer", "4")
    sizes = {count: {int(row["bytes"]) for row in rows(sized.stdout) if int(row["count"]) == count} for count in (1, 5)}
    expect(f"sizes {sizes}", sizes[1] <= {4**i for i in range(12)} and sizes[5] <= {4**i for i in range(5, 12)})


def four_processes():
    """Two at each end, one of which has the other's memory."""
    measure(SHARED, "--path", "extra-message", ranks=4)
    done = measure(POINTERS, "--path", "duplicate-pointer", ranks=4)
    expect("ranks", {row["ranks"] for row in rows(done.stdout)} == {"0-2"} or {row["ranks"] for row in rows(done.stdout)} == {"0-1"})
    for mock, call in () if BRIEF else (("no-ipc", "cuIpcGetMemHandle"), ("no-ipc-open", "cuIpcOpenMemHandle")):
        done = measure(set(), "--path", "duplicate-pointer", ranks=4, mock=mock, says=["duplicate-pointer rank "])
        expect(f"{mock}: {done.stderr}", f"the NVIDIA driver refuses {call} with" in done.stderr)


def places():
    """Levels by a placement by hand: sockets 0 and 1 of a node, and another node."""
    with open("places.csv", "w") as file:
        file.write("rank,node,socket\n0,0,0\n1,0,1\n2,1,0\n")
    levels = {(level, variant) for level in ("inter_socket", "inter_node") for variant in ("3-step", "3-step_events")}
    levels |= {("inter_node", "gpudirect")}
    done, found = gpu_job.measured(levels, lambda samples: {(row["level"], row["variant"].removeprefix("mock_")) for row in samples},
                                   *launcher(3), PROGRAM, "gpu_paths", "--path", "3-step,gpudirect", library=LIBRARY, mock="ok",
                                   LD_PRELOAD=AWARE, MPISTAIR_PLACEMENT=os.path.abspath("places.csv"))
    expect(f"levels {found}, said {done.stderr}", found == levels)
    for text in ("gpudirect_inter_socket the GPUs are of one socket", "gpu_paths_intra_socket no two of the 3 ranks"):
        expect(f"{text}: {done.stderr}", text in done.stderr)


def wrong_data():
    """A byte that is changed on its way is found before anything is measured."""
    done = run(*launcher(2), PROGRAM, "gpu_paths", "--seconds", "3", mock="spoiled", code=1, says="byte 0 of 5003 on the way 3-step")
    expect("samples of a wrong way", rows(done.stdout) == [])


def refusals():
    """Without what is needed the program ends at once, with 0 and the reason."""
    run(*launcher(2), PROGRAM, "gpu_paths", "--hello")
    reasons = {"none": "gpu the NVIDIA driver sees no GPU", "lacking": "gpu the NVIDIA driver is of CUDA 12.4 and lacks",
               "full": "gpu_paths rank 0: the NVIDIA driver refuses cuMemAlloc", "broken": "gpu_paths rank 0: the NVIDIA driver refuses cuMemcpyHtoDAsync"}
    if not os.path.exists("/dev/nvidiactl"):
        reasons[None] = "gpu no NVIDIA driver"
    for mock, reason in reasons.items():
        done = gpu_job.ends(*launcher(2), PROGRAM, "gpu_paths", library=LIBRARY, mock=mock, says="not_available " + reason)
        expect(f"{mock}: {done.stdout}", done.stdout == "")


def calibrations():
    """A whole sweep goes on without what there is not; alone it fails. No table is made of the mock."""
    calibrated = functools.partial(gpu_job.calibrated, TOOL, "-o", "x.tbl", library=LIBRARY)
    done = calibrated("--gpu", "only", "--path", "gpudirect", "--", *launcher(2), mock="ok", code=1,
                      says="gpudirect: not available: MPI not CUDA-aware")
    expect(f"why: {done.stderr}", "nothing of a GPU was measured" in done.stderr and not os.path.exists("x.tbl"))
    calibrated("--gpu", "also", "--path", "gpudirect", "--", *launcher(2), mock="ok", says="gpudirect: not available: MPI not")
    expect("a table of the host", os.path.exists("x.tbl") and "_gpu" not in open("x.tbl").read())
    os.remove("x.tbl")
    calibrated("--gpu", "only", "--path", "3-step", "--", *launcher(2), mock="ok", code=1, says="a sample of a mock of a driver")
    samples = rows(open("x.raw.csv").read())
    expect("samples stay", samples and {row["benchmark"] for row in samples} == {"gpu_paths"} and keys(samples) <= STEPS)
    expect("a table of the mock", not os.path.exists("x.tbl"))


def wrong_usage():
    for words, says in ((["--gpu", "only", "--path", "teleport"], "no path 'teleport'"), (["--gpu", "only", "--path", "copy,"], "no path ''"),
                        (["--path", "copy"], "--path requires --gpu"), (["--memory", "--path", "copy", "--gpu", "also"], "does not apply to --memory")):
        run(TOOL, "calibrate", *words, "--", *launcher(2), code=2, says=says)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    two_processes()
    four_processes()
    if not BRIEF:
        wrong_data()
        refusals()
        places()
        calibrations()
        wrong_usage()
    os.chdir("/")
gpu_job.end()
