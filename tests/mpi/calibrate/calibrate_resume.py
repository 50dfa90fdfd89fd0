"""mpistair calibrate that was killed: its samples are there, nothing of it runs on, the same call continues from them.

Usage: calibrate_resume.py MPISTAIR MPIEXEC MPI; MPI: mpich, openmpi. No assertion on how fast anything is: every wait
is for something that must happen, with a limit that only a broken program reaches.
"""
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback

TOOL, MPIEXEC, MPI = os.path.abspath(sys.argv[1]), *sys.argv[2:]
OPTIONS = ["--oversubscribe", "--bind-to", "none"] if MPI == "openmpi" else []
# Whatever else runs: what is disturbed by it is another test.
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", MPISTAIR_DISTURBED="1")
LIMIT_S = 60
failures = []


class TooShort(Exception):
    """A calibration had ended before what it was to be ended in."""


def expect(what, condition):
    if not condition:
        failures.append(what)


def words(*options, ranks=2, name="m"):
    return [TOOL, "calibrate", "-o", f"{name}.tbl", "--name", "m", *options, "--", MPIEXEC, *OPTIONS, "-n", str(ranks)]


def run(command, code=0, says="", **variables):
    environment = {**ENVIRONMENT, **variables}
    done = subprocess.run(command, capture_output=True, text=True, timeout=2 * LIMIT_S, env=environment)
    if done.returncode != code or says not in done.stderr:
        failures.append(f"{command[1:]}: exit {done.returncode}, expected {code} and '{says}'; stderr: {done.stderr}")
    return done


def wait_until(what, condition):
    """Waits until condition() holds, at most LIMIT_S; its value."""
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.02)
    raise TimeoutError(f"not within {LIMIT_S} s: {what}")


def lines_of(path):
    return open(path, newline="").read().split("\n")[:-1] if os.path.exists(path) else []


def samples_of(path, benchmark=""):
    return [line for line in lines_of(path) if line.startswith(benchmark + ",") or
            (not benchmark and "," in line and not line.startswith(("#", "benchmark,")))]


def descendants(pid):
    """All processes below pid, as (pid, start time) so that a number that is used again is not taken for one of them."""
    parents, found, waiting = {}, [], [pid]
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            fields = open(f"/proc/{entry}/stat").read().rpartition(")")[2].split()
        except OSError:
            continue
        parents.setdefault(int(fields[1]), []).append((int(entry), fields[19]))
    while waiting:
        for child in parents.get(waiting.pop(), []):
            found.append(child)
            waiting.append(child[0])
    return found


def lives(process):
    try:
        fields = open(f"/proc/{process[0]}/stat").read().rpartition(")")[2].split()
    except OSError:
        return False
    return fields[19] == process[1] and fields[0] != "Z"


def end_in_the_middle(command, where, how, victim=lambda pid: pid, name="m"):
    """Starts a calibration, sends a signal once it has lines that begin like that and a job runs; what it said, its exit
    status."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, env=ENVIRONMENT)
    below = []

    def is_there():
        return any(line.startswith(where) for line in lines_of(f"{name}.raw.csv.part"))

    def is_in_the_middle():
        below[:] = descendants(process.pid)
        return process.poll() is not None or (is_there() and len(below) >= 3)

    try:
        wait_until(f"a job, and {where}", is_in_the_middle)
        if process.poll() is not None:
            raise TooShort(f"{where}: {process.communicate()[1]}")
        os.kill(victim(process.pid), how)
        said = process.communicate(timeout=LIMIT_S)[1]
        wait_until("the end of the launcher and its ranks", lambda: not any(map(lives, below)))
    finally:
        for pid, _ in filter(lives, [*below]):
            os.kill(pid, signal.SIGKILL)
        if process.poll() is None:
            process.kill()
            process.wait()
    return said, process.returncode


def launcher_below(pid):
    return descendants(pid)[0][0]


def killed(seconds):
    """Leaves what is continued below, and beside it what another calibration is to begin anew."""
    for name in filter(os.path.exists, ("m.tbl", "m.raw.csv", "m.raw.csv.part")):
        os.remove(name)
    command = words("--seconds", seconds)
    end_in_the_middle(command, "eager,", signal.SIGKILL)
    kept = samples_of("m.raw.csv.part")
    expect("no table, no final file", not os.path.exists("m.tbl") and not os.path.exists("m.raw.csv"))
    expect("samples are left", kept)

    # Another calibration is refused and harms nothing.
    before = open("m.raw.csv.part").read()
    run(words("--seconds", "9"), code=1, says=f"had 'seconds {seconds}', this one has 'seconds 9'")
    run(words("--seconds", seconds, "--launches", "2"), code=1, says="'launches 2'")
    run(words("--seconds", seconds, ranks=3), code=1, says="-n 2', this one has 'launcher")
    run(command, code=1, says="environment UCX_RNDV_THRESH=1024", UCX_RNDV_THRESH="1024")
    expect("a refusal leaves the samples", open("m.raw.csv.part").read() == before)
    with open("two.raw.csv.part", "w") as part:
        part.write(before)
    return kept


def interrupted_and_continued(seconds):
    """What was killed is continued by the same call, and once more behind an interrupt."""
    first = killed(seconds)
    command = words("--seconds", seconds)
    said, code = end_in_the_middle(command, "algorithm1,", signal.SIGINT)
    expect(f"an interrupt is told: {said}", "signal 2" in said and "again to continue" in said and code == 130)
    expect(f"what was killed is continued: {said}", "continuing with" in said and
           samples_of("m.raw.csv.part")[:len(first)] == first)
    done_first = ("# begin eager", "# begin buffer")
    before = [line for line in lines_of("m.raw.csv.part") if line.startswith(done_first)]
    with open("m.raw.csv.part", "a") as part:
        part.write("algorithm1,,intra_so")  # as a full disk or a dying machine leaves it
    kept = samples_of("m.raw.csv.part")
    done = run(command, says="continuing with")
    final, comments = samples_of("m.raw.csv"), [line for line in lines_of("m.raw.csv") if line.startswith("#")]
    expect("the rows of before are in the final file", final[:len(kept)] == kept and len(final) >= len(kept))
    expect("no file is left", not os.path.exists("m.raw.csv.part"))
    expect("programs that were done are not run again", before == [c for c in comments if c.startswith(done_first)])
    expect("the one that was ended is", sum(c.startswith("# begin curves") for c in comments) == 2)
    at_s = [float(line.rpartition(",")[2]) for line in final if line.startswith("algorithm1,")]
    n_kept = sum(line.startswith("algorithm1,") for line in kept)
    expect(f"time goes on where it was: {at_s}", all(at >= max(at_s[:n_kept]) for at in at_s[n_kept:]))
    expect("and a table", "written: m.tbl" in done.stdout)


def several_launches(seconds):
    """Both launches run every program, but the one whose launcher is killed in the first: that costs only its rows."""
    command = words("--seconds", seconds, "--launches", "2", "--restart", name="two")
    said, code = end_in_the_middle(command, "# begin buffer 1", signal.SIGKILL, launcher_below, name="two")
    launches = {line.split(",")[7] for line in samples_of("two.raw.csv")}
    if code != 0 or launches != {"1", "2"}:
        raise TooShort(f"exit {code}, samples of launches {launches}; {said}")
    expect(f"a failed benchmark is told, and no failure: {said}", "buffer" in said and "continuing without it" in said)
    expect(f"begins anew: {said}", "continuing with the" not in said)
    expect("its failure is kept", any(line.startswith("# failed buffer: ") for line in lines_of("two.raw.csv")))
    done = [line.split()[2:4] for line in lines_of("two.raw.csv") if line.startswith("# done ")]
    for launch, expected in ("1", {"eager", "fine", "curves"}), ("2", {"eager", "buffer", "fine", "curves"}):
        programs = [program for program, number in done if number == launch]
        expect(f"launch {launch} runs {programs}", expected == set(programs) and len(set(programs)) == len(programs))
    expect("the table says so", "of 2 launches" in open("two.tbl").read())


def long_enough(case, *times):
    """On a machine with much else to do the first time is not enough."""
    for seconds in times[:-1]:
        try:
            return case(seconds)
        except TooShort:
            pass
    case(times[-1])


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    try:
        long_enough(interrupted_and_continued, "5", "10", "30")
        long_enough(several_launches, "6", "12", "30")
    except Exception:
        failures.append(traceback.format_exc())
    os.chdir("/")
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
