"""mpistair calibrate while others have the processors: it marks what they disturbed, and refuses what is no use.

Usage: calibrate_disturbed.py MPISTAIR MPIEXEC MPI [brief]; MPI: mpich, openmpi. brief leaves out the refusal, which knows no
MPI. The load is real: two busy processes on each processor, which end by themselves. How much they disturb is the scheduler's
affair, so the refusal is tested on samples that say that their ranks waited.
"""
import json
import os
import subprocess
import sys
import tempfile
import traceback

TOOL, MPIEXEC, MPI, *BRIEF = os.path.abspath(sys.argv[1]), *sys.argv[2:]
OPTIONS = ["--oversubscribe", "--bind-to", "none"] if MPI == "openmpi" else []
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
SPIN = "import os, sys, time\nos.sched_setaffinity(0, {int(sys.argv[1])})\nend, parent = time.monotonic() + 60, os.getppid()\n" \
       "while time.monotonic() < end and os.getppid() == parent: sum(range(10000))"
failures = []


def command(name, seconds):
    return [TOOL, "calibrate", "--seconds", seconds, "--launches", "1", "--name", "m", "-o", f"{name}.tbl", "--", MPIEXEC, *OPTIONS, "-n", "2"]


def expect(what, condition):
    if not condition:
        failures.append(what)


def run(words, code=0, says="", **variables):
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, env={**ENVIRONMENT, **variables})
    if done.returncode != code or says not in done.stderr:
        failures.append(f"{words[1:]}: exit {done.returncode}, expected {code} and '{says}'; stderr: {done.stderr}")
    return done.stdout


def read(name):
    with open(name) as file:
        return file.read()


def disturbed():
    """What the probes say of a real load, whether or not enough was measured for a table."""
    spinners = [subprocess.Popen([sys.executable, "-c", SPIN, str(cpu)]) for cpu in os.sched_getaffinity(0) for _ in range(2)]
    try:
        subprocess.run(command("l", "2"), capture_output=True, timeout=150, env={**ENVIRONMENT, "MPISTAIR_DISTURBED": "1"})
    finally:
        for spinner in spinners:
            spinner.kill()
            spinner.wait()
    lines = read("l.raw.csv").splitlines()
    probes = [line.split()[2:] for line in lines if line.startswith("# probe ")]
    for program, fewest in ("eager", 1), ("buffer", 1), ("curves", 2):  # before, and after what was measured
        expect(f"{fewest} probes of {program}: {probes}", sum(p[0] == program for p in probes) >= fewest)
    waited = [float(p[5]) for p in probes if p[5] != "-"]
    expect(f"ranks waited: {probes}", waited and max(waited) > 0.1)


def quiet(lines, waited):
    """The same samples as if every rank had waited so much, and all probes been alike."""
    header = next(line for line in lines if line.startswith("benchmark,")).split(",")
    for line in lines:
        if line.startswith("# probe "):
            words = line.split()
            yield " ".join([*words[:4], words[4], "1e-07", "2e-04", waited, "0", "quiet"])
        elif line.startswith("#") or line.startswith("benchmark,"):
            yield line
        else:
            yield ",".join(waited if name == "waited" else value for name, value in zip(header, line.split(",")))


def refused():
    for seconds in "3", "6", "20":  # the longer ones on a machine with much else to do
        words = command("m", seconds)
        done = subprocess.run(words, capture_output=True, timeout=150, env={**ENVIRONMENT, "MPISTAIR_DISTURBED": "1"})
        if done.returncode == 0 and " bw " in read("m.tbl"):
            break
    lines = read("m.raw.csv").splitlines()

    def resume(waited):
        with open("m.raw.csv.part", "w") as part:
            part.write("\n".join(quiet(lines, waited)) + "\n")

    resume("0.040")
    said = run(words)
    rows = {p["quantity"]: p for p in json.loads(run([TOOL, "machine", "show", "./m.tbl", "--json"]))["parameters"]}
    expect(f"the table says what it is worth: {rows}", rows["disturbed"]["value"] == 0 and rows["steal"]["value"] == 0 and
           rows["waited"]["value"] == 0.04 and {"drift_small", "drift_large"} <= set(rows))
    expect("nothing is said of it", "disturbed" not in run([TOOL, "machine", "check", "./m.tbl"]))
    kept = read("m.tbl"), read("m.raw.csv")
    resume("0.900")
    run(words, code=1, says="too disturbed: 100 % of the measurements were taken only while others had the machine (")
    expect("table and samples stay", (read("m.tbl"), read("m.raw.csv")) == kept)
    expect("its samples are set aside", ",0.900," in read("m.raw.csv.disturbed"))
    expect("nothing is continued", not os.path.exists("m.raw.csv.part"))
    resume("0.900")
    run(words, says="too disturbed: 100 %", MPISTAIR_DISTURBED="1")
    expect("check says it", "other programs had the processors during 100 % of the samples" in run([TOOL, "machine", "check", "./m.tbl"]))
    broken = read("m.raw.csv").replace(" quiet", " loud", 1)
    with open("m.raw.csv.part", "w") as part:
        part.write(broken)
    run(words, code=1, says="not written by an interrupted calibration")
    with open("broken.csv", "w") as file:
        file.write(broken)
    run([TOOL, "machine", "fit", "broken.csv", "--name", "b", "-o", "b.tbl"], code=1, says="verdict 'loud'")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    try:
        disturbed()
        if not BRIEF:
            refused()
    except Exception:
        failures.append(traceback.format_exc())
    os.chdir("/")
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
