"""A sweep of the benchmark of fine-grained messaging that is killed goes on where it was, in the order that its seed gives; rows of
other sweeps are refused, and stay.

Usage: sweep_job.py MPISTAIR MPIEXEC MPI; MPI: mpich, openmpi. No assertion on how fast anything is.
"""
import csv
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

MPISTAIR, MPIEXEC, MPI = os.path.abspath(sys.argv[1]), *sys.argv[2:]
OPTIONS = ["--oversubscribe", "--bind-to", "none"] if MPI == "openmpi" else []
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
KEY = ("interface", "rma", "peers", "bytes", "threads", "parts", "compute_s", "arrivals", "seed", "trials", "iterations")
# 2 for p2p, and twice that for the two epochs of rma; 3 parts do not fit 4 threads.
SWEEP = """# a small one
--interface p2p rma
--rma fence passive
--parts 2 3
--bytes 64 4096   # of a buffer
"""
ROWS = 6
LIMIT_S = 120
failures = []


def expect(what, condition, detail=""):
    if not condition:
        failures.append(f"{what} {detail}")


def words(output, *options, sweep="sweep.txt", ranks="2"):
    return [MPISTAIR, "finegrain", "--peers", "2", "--fold", "--threads", "4", "--trials", "1", "--iterations", "2", "--compute", "1e-4",
            "--sweep", sweep, "-o", output, *options, "--", MPIEXEC, *OPTIONS, "-n", ranks]


def run(*arguments, code=0, **more):
    done = subprocess.run(words(*arguments, **more), capture_output=True, text=True, timeout=LIMIT_S, env=ENVIRONMENT)
    expect(f"{arguments}: exit {done.returncode}, expected {code}:", done.returncode == code, done.stderr)
    return done.stderr


def keys(path):
    with open(path, newline="", encoding="utf-8") as file:
        return [tuple(row[name] for name in KEY) for row in csv.DictReader(file)]


def wait_for_rows(path, n):
    until = time.monotonic() + LIMIT_S
    while not path.exists() or path.read_text().count("\n") < n + 1:
        if time.monotonic() > until:
            sys.exit(f"no {n} rows after {LIMIT_S} s")
        time.sleep(0.01)


def kill_and_resume(out):
    """SIGKILL in the middle; half a row more, as a kill within a write would leave."""
    process = subprocess.Popen(words(out), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
    wait_for_rows(out, 2)
    process.send_signal(signal.SIGKILL)
    process.wait()
    left = out.read_bytes()
    left = left[:left.rindex(b"\n") + 1]
    n_left = left.count(b"\n") - 1
    expect("rows before the kill", 2 <= n_left < ROWS, n_left)
    out.write_bytes(left + left.splitlines()[-1][:50])
    said = run(out)
    expect("it says what it had", f"{ROWS} configurations, {n_left} of them measured before" in said, said)
    expect("left out", "8 combinations are left out" in said and "--parts 3" in said, said)
    expect("what was there stays", out.read_bytes().startswith(left))
    found = keys(out)
    expect("each configuration once", len(found) == len(set(found)) == ROWS, found)
    expect("epochs of rma alone", {key[:2] for key in found} == {("p2p", ""), ("rma", "fence"), ("rma", "passive")}, found)
    expect("random order", found != sorted(found, key=lambda key: (key[0], key[1], int(key[5]), int(key[3]))))
    return found


def main():
    pathlib.Path("sweep.txt").write_text(SWEEP)
    out, whole = pathlib.Path("out.csv"), pathlib.Path("whole.csv")
    found = kill_and_resume(out)
    done = out.read_bytes()
    run(out)
    expect("nothing to do", out.read_bytes() == done)
    # The same seed gives the same order without a kill, another one another.
    run(whole)
    expect("order of the seed", keys(whole) == found, (keys(whole), found))
    pathlib.Path("fewer.txt").write_text(SWEEP.replace(" 4096", ""))
    pathlib.Path("more.txt").write_text(SWEEP.replace(" 4096", " 4096 128"))
    for arguments, more, says in (((out, "--seed", "7"), {}, "out.csv:2: this row is of no configuration of the sweep"),
                                  ((out,), {"sweep": "fewer.txt"}, "this row is of no configuration of the sweep"),
                                  (("sweep.txt",), {}, "sweep.txt:1: expected the header")):
        said = run(*arguments, code=1, **more)
        expect("refused", says in said and "-o" in said, said)
    half = pathlib.Path("half.csv")
    half.write_bytes(done + b"p2p,,half")
    run(half, "--seed", "7", code=1)
    expect("a refused file is as it was", half.read_bytes() == done + b"p2p,,half" and out.read_bytes() == done)
    other = pathlib.Path("other.csv")
    other.write_text(out.read_text().replace(f",{MPI},", ",another,", 1))
    expect("another MPI", "is of another, and the launcher is one of" in run(other, code=1))
    if MPI == "openmpi":
        shutil.copy(out, "three.csv")
        said = run("three.csv", sweep="more.txt", ranks="3", code=1)
        expect("other ranks", "rows are of 2 ranks" in said and "starts 3" in said, said)
        said = run("full.csv", sweep="more.txt", ranks="1", code=2)
        expect("the program's refusal names the configuration", "--interface" in said and "full.csv" in said, said)
    expect("device", "No space left" in run("/dev/full", code=1))
    # A longer sweep goes on with the rows there are; then the charts are drawn.
    options = ["--plot", "out.html"] if (pathlib.Path(MPISTAIR).parent / "share/html/vega.js").is_file() else []
    said = run(out, *options, sweep="more.txt")
    expect("a longer sweep", f"9 configurations, {ROWS} of them measured before" in said and out.read_bytes().startswith(done), said)
    if options:
        expect("the page", pathlib.Path("out.html").read_text().rstrip().endswith("</html>"))


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
    os.chdir("/")
print("\n".join(failures) or "sweep ok")
sys.exit(bool(failures))
