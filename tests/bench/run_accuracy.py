"""How far the replay of whole runs is from what was measured: the same run again, and runs otherwise, measured afterwards.

usage: run_accuracy.py same|other MPISTAIR FOLDER_OF_APPS [--cluster SCRIPT] [--mpi MPI:MPIEXEC ...] [--seconds S] [--only WORD]
                       [--length N] [--keep FOLDER] [--ranks N,...] [--bind core] [--table FILE] [--cluster-mpi MPI] [--rate RATE]
                       [--preload LIBRARY ...] [--laws]

`same`: records programs twice (tests/apps steps, halo; LAMMPS, GROMACS and HPCC where they are installed, packages lammps,
gromacs, hpcc) with 2 and 4 ranks on this node, and over the cluster of namespaces at 400 Mbit/s, and replays each trace on a
table calibrated just before. It prints the error of the run time, the T11 error of the time inside MPI by rank, with recorded
and with modelled collectives, and the replicate error: the same two of one recording against the other. The medians stand
beside those of --buffers memory. The programs take some seconds; with --length 1, a tenth of their steps, much of a run is the
first touch of the transport's memory. With --keep the tables and traces stay in FOLDER, to be replayed by another build.
--ranks: other numbers of ranks on this node (0: none), of every MPI, bound as --bind says. --table: a table instead of a
calibration on this node. --laws: a line more a program, T11 of the time inside messages by each law (`mpistair predict`).
--cluster-mpi mpich: the cluster with MPICH over UCX's TCP, a rank a node, and with the libraries of --preload: its ranks spin,
which keeps the kernel's part of TCP off the processors (tests/apps/yield.c), and end not always (tests/apps/closing.c). Another
MPICH comes by LD_LIBRARY_PATH. --rate: that of the links (400mbit; none).
`other`: predicts from a trace what is measured afterwards: 100 Mbit/s from 400 and the other way, round-robin from block
places, one rank's computation doubled; eager limit 4 KiB to 64 KiB. It prints the predicted and the measured change.

A benchmark, not a test: it fails only where a step does. It needs the machine for itself; the load is printed.
T11 is named as in share/doc/MODELS.md.
"""
import argparse
import contextlib
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

import application_list

OPTIONS = None
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1",
                   MPISTAIR_DISTURBED="1")
# The steps of a run with --length 1, which takes 0.1 to 0.3 s on 2 ranks.
STEPS = [["halo", "-n", 400, "-b", "60000"], ["wavefront", "-n", 400, "-b", "20000"],
         ["double_buffer", "-n", 400, "-b", "200000", "-c", "300"], ["master_worker", "-n", 300, "-b", "30000"],
         ["irregular", "-n", 400, "-b", "100000"]]


def run(*words, limit_s=300, **variables):
    words = [str(word) for word in words]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=limit_s,
                          env=dict(ENVIRONMENT, **variables), errors="replace")
    if done.returncode != 0:
        raise RuntimeError(f"exit {done.returncode} from: {' '.join(words)}\n{done.stderr[-2000:]}")
    return done.stdout


@contextlib.contextmanager
def cluster(rate, ranks=2):
    folder = os.path.abspath(f"hosts-{rate}")
    run(OPTIONS.cluster, "up", "-n", 2, "-m", ranks, "-r", rate, "-d", folder)
    try:
        yield [OPTIONS.cluster, "run", "-d", folder, "--"]
    finally:
        run(OPTIONS.cluster, "down", "-d", folder)


class Place:
    """Where ranks run: words before the command, words of the launcher, the number of ranks, the law of sharing."""

    def __init__(self, name, mpi, mpiexec, ranks, prefix=(), options=(), law="staircase"):
        self.name, self.mpi, self.ranks, self.law = name, mpi, ranks, law
        self.prefix, self.launcher = list(prefix), [mpiexec, *options, "-n", str(ranks)]
        self.table = None

    def calibrate(self, seconds):
        """Takes seven times as long on the cluster: there is twice as much to measure, and the ranks outnumber the cores."""
        if OPTIONS.table and not self.prefix:
            self.table = OPTIONS.table
            return
        self.table = os.path.abspath(f"{self.name}.tbl".replace(" ", "-"))
        seconds *= 7 if self.prefix else 1
        run(*self.prefix, OPTIONS.mpistair, "calibrate", "--seconds", seconds, "-o", self.table, "--name", "here", "--",
            *self.launcher, limit_s=300 + 2 * seconds)

    def record(self, trace, program, extra=()):
        pathlib.Path(trace).unlink(missing_ok=True)
        run(*self.prefix, OPTIONS.mpistair, "run", "-o", trace, "--", self.launcher[0], *extra, *self.launcher[1:], *program)
        return trace


def replay(trace, table, *options):
    return json.loads(run(OPTIONS.mpistair, "replay", trace, "--machine", table, "--json", *options))


def run_error(result):
    return result["run"]["predicted_s"] / result["run"]["measured_s"] - 1


def mpi_error(result):
    return t11(mpi_s(result, "measured"), mpi_s(result, "predicted"))


def t11(measured, model):
    total = sum(measured)
    return sum(abs(a - b) for a, b in zip(measured, model)) / total if total > 0 else float("nan")


def mpi_s(result, side):
    return [rank[side]["mpi_s"] for rank in result["ranks"]]


def percent(share):
    return f"{100 * share:7.1f} %"


def real_programs(place):
    """Debian's packages are of Open MPI."""
    if place.mpi != "openmpi":
        return
    if shutil.which("lmp"):
        yield "LAMMPS", ["lmp", "-in", pathlib.Path(__file__).resolve().parent / "../mpi/jobs/melt.in", "-log", "none",
                         "-var", "steps", 100 * OPTIONS.length]
    if shutil.which("gmx_mpi"):
        if not pathlib.Path("md.tpr").exists():
            application_list.box_of_water(pathlib.Path(), 400 * OPTIONS.length)
        yield "GROMACS", ["gmx_mpi", "-quiet", "mdrun", "-ntomp", "1", "-s", "md.tpr"]
    if shutil.which("hpcc"):
        application_list.hpcc_input(pathlib.Path(), round(400 * OPTIONS.length ** 0.5), place.ranks)
        yield "HPCC", ["hpcc"]


def programs(place):
    folder = pathlib.Path(OPTIONS.apps)
    for kind, option, steps, *words in STEPS:
        yield kind, [folder / f"steps-{place.mpi}", kind, option, steps * OPTIONS.length, *words]
    yield "cg", [folder / f"halo-{place.mpi}", "--points", 10000 * (1 + OPTIONS.length)]
    yield from real_programs(place)


def node_places():
    for word in OPTIONS.mpi:
        mpi, mpiexec = word.split(":")
        for ranks in OPTIONS.ranks if OPTIONS.ranks is not None else [2, 4] if mpi == "openmpi" else [2]:
            options = ["--bind-to", OPTIONS.bind] + ["--oversubscribe"] * (ranks > 2) if mpi == "openmpi" else ["-bind-to", OPTIONS.bind]
            if ranks > 0:
                yield Place(f"{mpi} {ranks}", mpi, mpiexec, ranks, options=options)


@contextlib.contextmanager
def cluster_place():
    if OPTIONS.cluster_mpi == "openmpi":
        with cluster(OPTIONS.rate) as prefix:
            yield Place("cluster 4", "openmpi", "mpiexec.openmpi", 4, prefix, law="flow")
    else:
        ENVIRONMENT.update(UCX_TLS="tcp,self", LD_PRELOAD=":".join(OPTIONS.preload))
        with cluster(OPTIONS.rate, 1) as prefix:
            yield Place("mpich nodes", "mpich", "mpiexec.mpich", 2, prefix, law="flow")


def same_run(place, errors):
    place.calibrate(OPTIONS.seconds)
    for name, program in programs(place):
        if OPTIONS.only and OPTIONS.only not in f"{place.name} {name}":
            continue
        try:
            traces = [f"{place.name}-{name}-{i}.db".replace(" ", "-") for i in (0, 1)]
            results = [replay(place.record(trace, program), place.table, "--law", place.law) for trace in traces]
            modelled = replay(traces[0], place.table, "--law", place.law, "--collectives", "modelled")
            from_memory = [replay(trace, place.table, "--law", place.law, "--buffers", "memory") for trace in traces]
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"{place.name:12} {name:14} {error}")
            continue
        runs, times = [run_error(result) for result in results], [mpi_error(result) for result in results]
        measured = [result["run"]["measured_s"] for result in results]
        replicate = abs(measured[0] - measured[1]) / statistics.mean(measured)
        both = [mpi_s(result, "measured") for result in results]
        mean = [statistics.mean(pair) for pair in zip(*both)]
        replicate_mpi = sum(abs(a - b) for a, b in zip(*both)) / sum(mean)
        with_modelled = (run_error(modelled), mpi_error(modelled))
        print(f"{place.name:12} {name:14} {measured[0]:8.3f} s {percent(runs[0])} {percent(runs[1])}   {percent(times[0])} "
              f"{percent(times[1])}   {percent(with_modelled[0])} {percent(with_modelled[1])}   {percent(replicate)} "
              f"{percent(replicate_mpi)}", flush=True)
        if OPTIONS.laws:
            print_laws(traces[0], place.table)
        memory = [abs(run_error(result)) for result in from_memory], [mpi_error(result) for result in from_memory]
        errors.append((place.name, [abs(e) for e in runs], times, memory, replicate, replicate_mpi))


def print_laws(trace, table):
    rows = json.loads(run(OPTIONS.mpistair, "predict", trace, "--machine", table, "--json"))
    print(f"{'':12} {'in messages':14} " + ", ".join(f"{row['law']} {100 * row['error']:.1f}" for row in rows)
          + f" %; replicate {100 * (rows[0]['replicate_error'] or 0):.1f} %", flush=True)


def same():
    print(f"{'place':12} {'program':14} {'run':>10} {'run time: error of two':>20} {'in MPI: T11 of two':>22} "
          f"{'collectives modelled':>22} {'replicate: run, in MPI':>24}")
    errors = []
    for place in node_places():
        same_run(place, errors)
    try:
        if OPTIONS.cluster:
            with cluster_place() as place:
                same_run(place, errors)
    except (RuntimeError, OSError) as error:
        print(f"cluster: left out: {error}")
    for name in sorted({name for name, *_ in errors}):
        of = [error for error in errors if error[0] == name]
        print(f"{name}: median of {len(of)} programs: run {percent(statistics.median(e for _, runs, *_ in of for e in runs))}, "
              f"in MPI {percent(statistics.median(t for _, _, times, *_ in of for t in times))}, with --buffers memory "
              f"{percent(statistics.median(e for _, _, _, memory, *_ in of for e in memory[0]))} and "
              f"{percent(statistics.median(t for _, _, _, memory, *_ in of for t in memory[1]))}, replicate run "
              f"{percent(statistics.median(r for *_, r, _ in of))}, in MPI {percent(statistics.median(r for *_, r in of))}")


def tell(errors, what, name, before_s, predicted_s, measured_s, again_s):
    noise = abs(measured_s - again_s) / measured_s
    change, told = measured_s / before_s - 1, predicted_s / before_s - 1
    sign = "" if abs(change) <= 2 * noise else "sign right" if change * told > 0 else "SIGN WRONG"
    error = predicted_s / statistics.mean([measured_s, again_s]) - 1
    errors.setdefault(what, []).append(abs(error))
    print(f"{what:24} {name:14} {before_s:8.3f} s  predicted {predicted_s:8.3f} ({percent(told)})  measured {measured_s:8.3f} "
          f"({percent(change)})  error {percent(error)}  noise {percent(noise)} {sign}", flush=True)


def measured(place, trace, program, extra=()):
    return [replay(place.record(trace, program, extra), place.table, "--law", place.law)["run"]["measured_s"] for _ in (0, 1)]


def other_rates(errors):
    """Traces of one rate, replayed with the table of the other."""
    places, traces = {}, {}
    for rate in ("400mbit", "100mbit"):
        with cluster(rate) as prefix:
            place = Place(rate, "openmpi", "mpiexec.openmpi", 4, prefix, law="flow")
            place.calibrate(OPTIONS.seconds)
            places[rate] = place.table
            for name, program in list(programs(place))[:OPTIONS.programs]:
                runs = [replay(place.record(f"{name}-{rate}-{i}.db", program), place.table, "--law", "flow")["run"]["measured_s"]
                        for i in (0, 1)]
                traces[name, rate] = (f"{name}-{rate}-0.db", runs)
    for (name, rate), (trace, runs) in traces.items():
        to = "100mbit" if rate == "400mbit" else "400mbit"
        result = replay(trace, places[rate], "--law", "flow", "--to-machine", places[to])
        tell(errors, f"{rate} to {to}", name, runs[0], result["what_if"]["predicted_s"], *traces[name, to][1])


def other_places(errors):
    with cluster("400mbit") as prefix:
        place = Place("places", "openmpi", "mpiexec.openmpi", 4, prefix, law="flow")
        place.calibrate(OPTIONS.seconds)
        for name, program in list(programs(place))[:OPTIONS.programs]:
            before = replay(place.record("block.db", program), place.table, "--law", "flow", "--to-placement", "round-robin-nodes")
            tell(errors, "block to round-robin", name, before["run"]["measured_s"], before["what_if"]["predicted_s"],
                 *measured(place, "robin.db", program, ["--map-by", "node"]))


def other_computation(errors):
    for place in node_places():
        if place.ranks > 2:
            continue
        place.calibrate(OPTIONS.seconds)
        for name, program in list(programs(place))[:OPTIONS.programs]:
            before = replay(place.record("one.db", program), place.table, "--scale-computation", "rank:1:2")
            tell(errors, f"rank 1 doubled, {place.mpi}", name, before["run"]["measured_s"], before["what_if"]["predicted_s"],
                 *measured(place, "two.db", [*program, "-x", "1:2"]))


def other_threshold(errors):
    """Open MPI's own limit inside a node, as its parameter sets it."""
    for place in node_places():
        if place.mpi != "openmpi" or place.ranks > 2:
            continue
        limits = {bytes_: ["--mca", "btl_vader_eager_limit", str(bytes_)] for bytes_ in (4096, 65536)}
        place.launcher[1:1] = limits[4096]
        place.calibrate(OPTIONS.seconds)
        for kind in ("halo", "wavefront", "irregular"):
            program = [pathlib.Path(OPTIONS.apps) / f"steps-{place.mpi}", kind, "-n", 400 * OPTIONS.length, "-b", "30000"]
            place.launcher[1:4] = limits[4096]
            before = replay(place.record("small.db", program), place.table, "--eager-threshold", 65536)
            place.launcher[1:4] = limits[65536]
            tell(errors, "eager 4 KiB to 64 KiB", kind, before["run"]["measured_s"], before["what_if"]["predicted_s"],
                 *measured(place, "large.db", program))


def other():
    errors = {}
    for step in (other_computation, other_threshold, other_places, other_rates):
        try:
            step(errors)
        except (RuntimeError, OSError) as error:
            print(f"{step.__name__}: left out: {error}")
    for what, found in errors.items():
        print(f"{what}: median error of the run time {percent(statistics.median(found))} of {len(found)}")


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["same", "other"])
    parser.add_argument("mpistair", type=os.path.abspath)
    parser.add_argument("apps", type=os.path.abspath)
    parser.add_argument("--cluster", type=os.path.abspath)
    parser.add_argument("--mpi", action="append", default=[])
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--programs", type=int, default=3)
    parser.add_argument("--length", type=int, default=10)
    parser.add_argument("--only")
    parser.add_argument("--keep", type=os.path.abspath)
    parser.add_argument("--ranks", type=lambda word: [int(number) for number in word.split(",")])
    parser.add_argument("--bind", default="none")
    parser.add_argument("--table", type=os.path.abspath)
    parser.add_argument("--cluster-mpi", choices=["openmpi", "mpich"], default="openmpi")
    parser.add_argument("--rate", default="400mbit")
    parser.add_argument("--preload", type=os.path.abspath, action="append", default=[])
    parser.add_argument("--laws", action="store_true")
    OPTIONS = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors")
    with contextlib.nullcontext(OPTIONS.keep) if OPTIONS.keep else tempfile.TemporaryDirectory() as folder:
        os.makedirs(folder, exist_ok=True)
        os.chdir(folder)
        (same if OPTIONS.what == "same" else other)()
        os.chdir("/")
        print(f"load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    sys.exit(main())
