"""The same recorded runs by mpistair replay, by LogGOPSim and by the replay of SimGrid's SMPI, from the same figures of the machine.

Usage: simulators.py MPISTAIR APPS MPIEXEC [--table TABLE] [--traces FOLDER]

MPISTAIR_LOGGOPSIM names the folder with LogGOPSim and its txt2bin; smpirun is looked for in PATH. Exit status 77, skipped, where
both are absent. APPS is the folder of the built programs of tests/apps. Without --table the machine is calibrated first, with
--traces what NAME.db there holds is taken instead of recordings.

Two ranks, by default of one node. LogGOPS: o is the mean overhead of a post, L = tau - 2 o, G = 1/BW(1) of the largest messages'
class, S the size from which on it is rendezvous; times in ps, as G is an integer. SMPI: a host a rank, between them tau and
BW(1), the same o and S. mpistair takes the law flow between nodes, staircase else. Printed are the error of the run time, T11
(share/doc/MODELS.md, Errors) of the ranks' times in MPI, and wall time and memory of each simulator: for LogGOPSim with txt2bin,
for mpistair with reading the trace, the efficiencies and the blame. Other work on the machine is part of what was recorded: the load is printed.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PS = 1e12
STEPS = "200"
MELT = pathlib.Path(__file__).resolve().parent.parent / "mpi/jobs/melt.in"
LEVELS = "inter_node", "inter_socket", "intra_socket"
Run = collections.namedtuple("Run", "run_s mpi_s wall_s mebibytes")


# A process begins with the memory of the one that it was forked from: a small one starts the command and tells what it took.
TIMED = """import os, resource, sys, time
begin = time.monotonic()
code = os.spawnvp(os.P_WAIT, sys.argv[1], sys.argv[1:])
print("\\ntook", time.monotonic() - begin, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024)
sys.exit(code)"""


def timed(*words):
    """(stdout and stderr, seconds, MiB) of a command that must not fail."""
    words = list(map(str, words))
    done = subprocess.run([sys.executable, "-c", TIMED, *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=600)
    if done.returncode != 0:
        sys.exit(f"simulators: exit {done.returncode} from: {' '.join(words)}\n{done.stdout[-2000:]}")
    text, _, took = done.stdout.rpartition("\ntook ")
    return text, *map(float, took.split())


class Machine:
    """tau_s, bytes_per_s, overhead_s and rendezvous_bytes of a table's farthest level."""

    def __init__(self, path):
        lines = [line.split("#")[0].split() for line in path.read_text().splitlines()]
        level = next((level for level in LEVELS if any(words[:1] == [level] and words[2] == "tau" for words in lines)), None)
        rows = {tuple(words[1:4]): float(words[4]) for words in lines if words[:1] == [level]}
        classes = [name for name in ("any", "short", "eager", "rendezvous") if (name, "tau", "-") in rows]
        if not classes:
            sys.exit(f"simulators: {path}: no tau")
        def of(name, quantity, default=0.0):
            return rows.get((name, quantity, "-"), rows.get(("any", quantity, "-"), default))
        small, large = classes[0], classes[-1]
        self.law = "flow" if level == "inter_node" else "staircase"
        n, rate = min((int(n), value) for (name, quantity, n), value in rows.items() if (name, quantity) == (large, "bw"))
        self.tau_s, self.bytes_per_s = max(of(small, "tau"), 0), rate / n
        self.overhead_s = (of(small, "overhead_send") + of(small, "overhead_receive")) / 2
        self.rendezvous_bytes = int(rows.get(("rendezvous", "threshold", "-"), 0 if large == "any" else 2 ** 31 - 1))

    def __str__(self):
        return (f"tau {self.tau_s * 1e6:.3g} us, BW(1) {self.bytes_per_s / 1e9:.3g} GB/s, overhead {self.overhead_s * 1e9:.3g} ns, "
                f"rendezvous from {self.rendezvous_bytes} B")


def ours(mpistair, trace, table, law, files):
    """(measured, predicted); the files for the others are written by a call apart, so that they are not timed."""
    timed(mpistair, "replay", trace, "--machine", table, "--goal", files / "run.goal", "--tit", files / "run.tit", "-o", files / "text")
    output = files / "replay.json"
    _, wall_s, mebibytes = timed(mpistair, "replay", trace, "--machine", table, "--law", law, "--json", "-o", output)
    found = json.loads(output.read_text())
    def take(side):
        return Run(found["run"][f"{side}_s"], [rank[side]["mpi_s"] for rank in found["ranks"]], wall_s, mebibytes)
    return take("measured"), take("predicted")


def goal_times(text):
    rank = None
    times = collections.defaultdict(lambda: [0.0, 0.0])
    for line in text.splitlines():
        if line.startswith("rank "):
            rank = int(line.split()[1])
        elif calc := re.match(r"([bct])\d+: calc (\d+)", line):
            times[rank][calc[1] == "b"] += int(calc[2]) * 1e-9
    return times


def loggopsim(folder, machine, files):
    text = (files / "run.goal").read_text()
    (files / "ps.goal").write_text(re.sub(r"(?<=calc )\d+", lambda ns: ns[0] + "000" if ns[0] != "0" else "0", text))
    _, convert_s, convert_mebibytes = timed(folder / "txt2bin", "-i", files / "ps.goal", "-o", files / "run.bin")
    o = round(machine.overhead_s * PS)
    output, wall_s, mebibytes = timed(folder / "LogGOPSim", "-f", files / "run.bin", "-o", o, "-L", max(0, round(machine.tau_s * PS) - 2 * o),
                                      "-g", 0, "-O", 0, "-G", max(1, round(PS / machine.bytes_per_s)), "-S",
                                      max(0, machine.rendezvous_bytes - 1))
    ends = {int(rank): int(end) / PS for rank, end in re.findall(r"^Host (\d+): (\d+)", output, re.M)}
    if not ends:
        sys.exit(f"simulators: LogGOPSim tells no times:\n{output[-2000:]}")
    times = goal_times(text)
    return Run(max(ends.values()), [ends[rank] - sum(times[rank]) for rank in sorted(ends)], convert_s + wall_s,
               max(mebibytes, convert_mebibytes))


def platform(machine, ranks):
    hosts = "".join(f'<host id="h{i}" speed="1Gf"/><link id="l{i}" bandwidth="{machine.bytes_per_s!r}Bps" latency="{machine.tau_s / 2!r}s"'
                    ' sharing_policy="SPLITDUPLEX"/>\n' for i in range(ranks))
    routes = "".join(f'<route src="h{i}" dst="h{k}" symmetrical="NO"><link_ctn id="l{i}" direction="UP"/>'
                     f'<link_ctn id="l{k}" direction="DOWN"/></route>\n' for i in range(ranks) for k in range(ranks) if i != k)
    return ('<?xml version="1.0"?>\n<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">\n<platform version="4.1">'
            f'<zone id="z" routing="Full">\n{hosts}{routes}</zone></platform>\n')


def smpi(smpirun, machine, files, ranks):
    actions = (files / "run.tit").read_text().splitlines(keepends=True)
    times, names = collections.defaultdict(lambda: [0.0, 0.0]), []
    for rank in range(ranks):
        names.append(str(files / f"run.{rank}"))
        own = [line for line in actions if line.split()[0] == str(rank)]
        pathlib.Path(names[-1]).write_text("".join(own))
        for line in own:
            _, action, *values = line.split()
            if action == "compute":
                times[rank][0] += int(values[0]) * 1e-9
        if own[1].split()[1] == "sleep":
            times[rank][1] = float(own[1].split()[2])
    (files / "traces").write_text("\n".join(names) + "\n")
    (files / "hosts").write_text("".join(f"h{i}\n" for i in range(ranks)))
    (files / "platform.xml").write_text(platform(machine, ranks))
    o, s = f"0:{machine.overhead_s!r}:0", min(machine.rendezvous_bytes, 2 ** 31 - 1)
    words = [smpirun, "-np", ranks, "-platform", files / "platform.xml", "-hostfile", files / "hosts", "-replay", files / "traces",
             "--cfg=smpi/host-speed:1Gf", "--cfg=network/model:CM02", "--cfg=network/bandwidth-factor:1",
             "--cfg=network/latency-factor:1", "--cfg=network/weight-S:0", f"--cfg=smpi/os:{o}", f"--cfg=smpi/ois:{o}", f"--cfg=smpi/or:{o}",
             f"--cfg=smpi/async-small-thresh:{s}", f"--cfg=smpi/send-is-detached-thresh:{s}"]
    output, wall_s, mebibytes = timed(*words)
    ended = re.search(r"Simulation time ([0-9.]+)", output)
    if ended is None:
        sys.exit(f"simulators: SMPI tells no time:\n{output[-2000:]}")
    ends = dict(re.findall(r"^\[h(\d+):\S+ ([0-9.]+)\] \S*smpi_replay\.cpp", timed(*words, "--log=smpi_replay.thres:verbose")[0], re.M))
    return Run(float(ended[1]), [float(ends[str(rank)]) - sum(times[rank]) for rank in range(ranks)], wall_s, mebibytes)


def show(name, tool, measured, run):
    mpi = sum(abs(a - b) for a, b in zip(measured.mpi_s, run.mpi_s, strict=True)) / sum(measured.mpi_s)
    print(f"{name:14s} {tool:10s} {measured.run_s:10.4f} {run.run_s:10.4f} {(run.run_s / measured.run_s - 1) * 100:+8.1f} {mpi * 100:8.1f}"
          f" {run.wall_s:8.2f} {run.mebibytes:8.1f}", flush=True)


def programs(apps):
    yield "halo", [apps / "halo-openmpi"]
    for name in ("wavefront", "double_buffer"):
        yield name, [apps / "rounds-openmpi", name, STEPS, "traffic"]
    if shutil.which("lmp"):
        yield "LAMMPS", ["lmp", "-in", MELT, "-log", "none"]


def record(options, name, words, folder):
    if options.traces is not None:
        return options.traces / f"{name}.db"
    inside = folder / name
    inside.mkdir()
    os.chdir(inside)
    timed(options.mpistair, "run", "-o", inside / "trace.db", "--", *options.launcher, *words)
    return inside / "trace.db"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mpistair", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("apps", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("mpiexec")
    parser.add_argument("--table", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--traces", type=lambda path: pathlib.Path(path).resolve())
    options = parser.parse_args()
    options.launcher = [options.mpiexec, "-n", "2", "--oversubscribe", "--bind-to", "none"]
    smpirun, folder = shutil.which("smpirun"), os.environ.get("MPISTAIR_LOGGOPSIM")
    if smpirun is None and folder is None:
        print("skipped: no smpirun (SimGrid) in PATH, no MPISTAIR_LOGGOPSIM (folder of LogGOPSim and txt2bin)")
        sys.exit(77)
    os.environ.update({"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "MPISTAIR_DISTURBED": "1"})
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        if options.table is None:
            options.table = work / "machine.tbl"
            timed(options.mpistair, "calibrate", "--quick", "-o", options.table, "--", *options.launcher)
        machine = Machine(options.table)
        print(f"{machine}; load {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors")
        print(f"{'program':14s} {'simulator':10s} {'run s':>10s} {'predicted':>10s} {'error %':>8s} {'MPI T11 %':>8s} {'wall s':>8s} {'MiB':>8s}")
        for program, words in programs(options.apps):
            trace = record(options, program, words, work)
            files = work / f"{program}.files"
            files.mkdir()
            measured, predicted = ours(options.mpistair, trace, options.table, machine.law, files)
            show(program, "mpistair", measured, predicted)
            if folder is not None:
                show(program, "LogGOPSim", measured, loggopsim(pathlib.Path(folder).resolve(), machine, files))
            if smpirun is not None:
                show(program, "SMPI", measured, smpi(smpirun, machine, files, len(measured.mpi_s)))


main()
