"""A benchmark that is killed leaves its samples, and goes on from them.

Usage: resume_job.py PROGRAM MPIEXEC MPI; PROGRAM: mpistair-benchmark-MPI; MPI: mpich, openmpi. No assertion on how fast anything is.
"""
import csv
import os
import signal
import subprocess
import sys
import tempfile
import time

PROGRAM, MPIEXEC, MPI = os.path.abspath(sys.argv[1]), *sys.argv[2:]
MARK = f"MPISTAIR_TEST_MARK={os.getpid()}"
OPTIONS = ["--oversubscribe", "--bind-to", "none"] if MPI == "openmpi" else []
ENVIRONMENT = dict(
    os.environ,
    OMPI_ALLOW_RUN_AS_ROOT="1",
    OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
    MPISTAIR_PLACEMENT="L.csv",  # one pair, whatever the machine
    **dict([MARK.split("=")]),
)
WAIT_S = 60
failures = []


def expect(what, condition):
    if not condition:
        failures.append(what)


def words(*options):
    return [MPIEXEC, *OPTIONS, "-n", "2", PROGRAM, "pingpong", *options]


def run(*options, code=0):
    done = subprocess.run(words(*options), capture_output=True, text=True, timeout=WAIT_S, env=ENVIRONMENT)
    if done.returncode != code:
        failures.append(f"{' '.join(options)}: exit {done.returncode}, expected {code}; stderr: {done.stderr}")
    return done


def measured(after_s, *options):
    """Rows of a run of so many seconds more than after_s that has some; on a machine with much else to do the shortest
    time is not enough."""
    for seconds in 1, 4, 20:
        rows = rows_of(run("--seconds", f"{after_s + seconds:.1f}", *options).stdout)
        if rows:
            break
    return rows


def rows_of(text):
    return list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))


def marked():
    """Processes of this test, by their environment: what a killed launcher leaves behind."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if MARK.encode() in file.read().split(b"\0") and int(pid) != os.getpid():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def end_marked():
    end = time.monotonic() + 10
    while marked() and time.monotonic() < end:
        time.sleep(0.1)
    for pid in marked():
        os.kill(pid, signal.SIGKILL)


def killed():
    """What the program wrote until its launcher was killed: whole lines, whatever is behind the last of them."""
    with open("killed.csv", "wb") as file:
        launcher = subprocess.Popen(words("--seconds", "50"), stdout=file, stderr=subprocess.DEVNULL, env=ENVIRONMENT)
        end = time.monotonic() + WAIT_S
        while open("killed.csv").read().count("\n") < 20 and time.monotonic() < end and launcher.poll() is None:
            time.sleep(0.05)
        launcher.kill()
        launcher.wait()
        end_marked()
    text = open("killed.csv").read()
    text = text[:text.rfind("\n") + 1]
    expect("samples are written while the program runs", text.count("\n") >= 20)
    return text


def goes_on(text):
    before = rows_of(text)
    spent_s = max(float(row["at_s"]) for row in before)
    with open("resume.csv", "w") as file:
        file.write("# mpistair calibrate\n" + text + "pingpong,,intra_soc")
    after = measured(spent_s, "--resume", "resume.csv")
    expect("goes on measuring", after)
    expect("the time goes on, too", all(float(row["at_s"]) >= spent_s for row in after))
    done = run("--seconds", "0.1", "--resume", "resume.csv")
    expect("time that is spent is not spent again", spent_s < 0.1 or not rows_of(done.stdout))
    other = measured(0, "--launch", "7", "--resume", "resume.csv")
    expect("another launch begins anew", all(row["launch"] == "7" for row in other))
    expect("and measures", other)


def ends_at_once():
    """Samples of all items, each known exactly: nothing is left to measure, whatever the time limit."""
    with open("known.csv", "w") as file:
        header = "benchmark,variant,level,bytes,n,count,seconds,launch,ranks,domain,repeats,at_s\n"
        first = measured(0)[0]
        file.write(header)
        for power in range(23):
            for _ in range(12):
                row = dict(first, bytes=1 << power, seconds=1e-6, at_s=0.5)
                file.write(",".join(str(row[name]) for name in header.strip().split(",")) + "\n")
    done = run("--seconds", "1000", "--resume", "known.csv")
    expect("nothing is measured", not rows_of(done.stdout))
    expect(f"all are known: {done.stderr}", "23 of 23 medians within 2 %" in done.stderr)
    with open("known.csv", "a") as file:
        file.write("pingpong,,intra_socket,3,1,1,1e-6,1,0-1,,1,0.5\n")
    done = run("--seconds", "1000", "--resume", "known.csv")
    expect(f"a sample of no item: {done.stderr}", "1 of 277 earlier samples fit no measurement" in done.stderr)


def fails_cleanly():
    absent = run("--seconds", "1", "--resume", "absent.csv", code=1)
    expect(f"absent: {absent.stderr}", "absent.csv: cannot be opened" in absent.stderr)
    with open("bad.csv", "w") as file:
        file.write("benchmark,bytes\npingpong,1\n")
    bad = run("--seconds", "1", "--resume", "bad.csv", code=1)
    expect(f"bad: {bad.stderr}", "bad.csv:1: no column 'variant'" in bad.stderr)


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    with open("L.csv", "w") as place:
        place.write("rank,node,socket\n0,0,0\n1,0,0\n")
    goes_on(killed())
    ends_at_once()
    fails_cleanly()
    os.chdir("/")
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
