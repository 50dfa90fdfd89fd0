"""mpistair calibrate --gpu on a real MPI: what is said where there is no GPU, and, on a mock of the driver, which samples
are taken and that no table can be made of them.

Usage: gpu_copy_job.py MPISTAIR PROGRAM LIBCUDA_OF_TESTS MPIEXEC MPI; PROGRAM: mpistair-benchmark-MPI; MPI: mpich, openmpi.
Nothing is said of times.
"""
import functools
import os
import sys
import tempfile

import gpu_job
from gpu_job import expect, rows

TOOL, PROGRAM, LIBRARY = map(os.path.abspath, sys.argv[1:4])
LAUNCHER = gpu_job.launcher(*sys.argv[4:6], 2)
run = functools.partial(gpu_job.run, library=LIBRARY)
calibrated = functools.partial(gpu_job.calibrated, TOOL, library=LIBRARY)
HOST = {way + clock for way in ("to_pinned", "to_pageable", "from_pinned", "from_pageable") for clock in ("", "_events")}
WAYS = HOST | {"device", "device_events"}
PEER = {"peer", "peer_events"}


def without_gpu():
    """Nothing is asked of a GPU that is not there, and the reason is told at once."""
    run(*LAUNCHER, PROGRAM, "gpu_copy", "--hello")
    reasons = {"none": "the NVIDIA driver sees no GPU", "old": "is of CUDA 11.2", "refused": "refuses cuInit with",
               "lacking": "lacks cuDeviceGetName", "full": "refuses cuMemAlloc with", "broken": "refuses cuMemcpyHtoDAsync with"}
    if not os.path.exists("/dev/nvidiactl"):
        reasons[None] = "no NVIDIA driver"
    for mock, reason in reasons.items():
        done = gpu_job.ends(*LAUNCHER, PROGRAM, "gpu_copy", library=LIBRARY, mock=mock, says="mpistair-note: not_available gpu")
        expect(f"{mock}: says {done.stderr}, expected {reason}", reason in done.stderr)
        expect(f"{mock}: samples {done.stdout}", done.stdout == "")


def calibrations_without_gpu():
    """Alone it fails; that it is a remark beside all else shows gpu_paths_job.py."""
    only = run(TOOL, "calibrate", "--gpu", "only", "--seconds", "2", "-o", "only.tbl", "--", *LAUNCHER, code=1, mock="none",
               says="gpu: not available: the NVIDIA driver sees no GPU")
    expect(f"files of a calibration of nothing: {os.listdir()}", not os.path.exists("only.tbl"))
    expect(f"the reason is told once: {only.stderr}", only.stderr.count("not available") == 1)


def samples_of_the_mock():
    """Every way is measured, by the rank whose place it is, and marked; of the machine that has all of them at every size."""
    cases = {"ok": WAYS | PEER, "one": WAYS, "apart": WAYS}
    missing = {"ok": "gpu_copy_far", "one": "gpu_copy_peer one GPU", "apart": "gpu_copy_peer the first GPU cannot reach"}
    for mock, ways in cases.items():
        sizes = {4**i for i in range(13)} if mock == "ok" else {0}
        kinds = {("mock_" + way, size) for way in ways for size in sizes}
        done, found = gpu_job.measured(kinds, lambda samples: {(r["variant"], int(r["bytes"]) if mock == "ok" else 0) for r in samples},
                                       *LAUNCHER, PROGRAM, "gpu_copy", library=LIBRARY, mock=mock, says=f"not_available {missing[mock]}",
                                       seconds=3 if mock == "ok" else 1)
        samples = rows(done.stdout)
        expect(f"{mock}: more or less than expected {found ^ kinds}", found == kinds)
        expect(f"{mock}: levels and ranks", {(r["level"], r["ranks"]) for r in samples} == {("intra_socket", "0"), ("self", "0")})
        expect(f"{mock}: within", all((r["level"] == "self") == (r["variant"].startswith("mock_device")) for r in samples))
        expect(f"{mock}: times", all(float(r["seconds"]) > 0 for r in samples))


def no_table_of_the_mock():
    calibrated("--gpu", "only", "--path", "copy", "-o", "mock.tbl", "--", *LAUNCHER, mock="ok", code=1, says="a sample of a mock of a driver")
    expect("a table of the mock", not os.path.exists("mock.tbl"))
    samples = rows(open("mock.raw.csv").read()) if os.path.exists("mock.raw.csv") else []
    expect("samples stay", samples and {r["variant"] for r in samples} <= {"mock_" + way for way in WAYS | PEER})
    run(TOOL, "machine", "fit", "mock.raw.csv", "--name", "x", "-o", "mock.tbl", code=1,
        says="a sample of a mock of a driver")
    expect("a fit of the mock", not os.path.exists("mock.tbl"))


def fit_of_copies():
    """Rows of pinned copies by the wall clock, from times made up: 10 us and 25 GB/s there, 12 us and 20 GB/s back."""
    lines = ["benchmark,variant,level,bytes,n,seconds"]
    for size in (4**i for i in range(13)):
        lines.append(f"gpu_copy,to_pinned,intra_socket,{size},1,{10e-6 + size / 25e9}")
        lines.append(f"gpu_copy,from_pinned,inter_socket,{size},1,{12e-6 + size / 20e9}")
        lines.append(f"gpu_copy,to_pageable,intra_socket,{size},1,{1e-3 + size / 1e9}")
        lines.append(f"gpu_copy,to_pinned_events,intra_socket,{size},1,{1e-6 + size / 26e9}")
    with open("made.csv", "w") as file:
        file.write("\n".join(lines) + "\n")
    run(TOOL, "machine", "fit", "made.csv", "--name", "made", "-o", "made.tbl")
    found = {tuple(line.split()[:3]): float(line.split()[4]) for line in open("made.tbl") if "_gpu " in line}
    expected = {("intra_socket", "any", "tau_to_gpu"): 10e-6, ("intra_socket", "any", "bw_to_gpu"): 25e9,
                ("inter_socket", "any", "tau_from_gpu"): 12e-6, ("inter_socket", "any", "bw_from_gpu"): 20e9}
    expect(f"rows {found}", found.keys() == expected.keys()
           and all(abs(found[key] / value - 1) < 1e-6 for key, value in expected.items()))


def wrong_usage():
    run(TOOL, "calibrate", "--gpu", "never", "--", *LAUNCHER, code=2, says="also or only")
    run(TOOL, "calibrate", "--gpu", code=2, says="--gpu")
    run(TOOL, "calibrate", "--memory", "--gpu", "also", "--", *LAUNCHER, code=2, says="--gpu does not apply to --memory")
    run(*LAUNCHER, PROGRAM, "gpu_copy", "--seconds", "x", code=2, says="--seconds x: expected a number")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    without_gpu()
    calibrations_without_gpu()
    samples_of_the_mock()
    no_table_of_the_mock()
    fit_of_copies()
    wrong_usage()
    os.chdir("/")
gpu_job.end()
