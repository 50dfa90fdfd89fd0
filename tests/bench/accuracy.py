"""How far each model is from a machine: calibrates it, runs patterns that it has never seen (T Algorithm 2, recorded), and
prints the T11 error of each model beside the replicate error.

Usage: accuracy.py node|cluster MPISTAIR ALGORITHM2 MPIEXEC [--cluster SCRIPT] [OPTIONS]

`node`: 8 ranks on this machine; messages of 4-80 MB, so that a round lasts longer than the time slices of ranks that share a
processor. `cluster`: 4 nodes of 4 ranks in network namespaces, 400 Mbit/s (tests/cluster/cluster; exit status 77, skipped,
without root), 0.1-2 MB. Open MPI. Twelve random irregular patterns (`mpistair pattern irregular`) of a seed
that is printed, two launches each; then in- and outcast; on a node also T Fig. 3, three pairs exchanging 2s, s and s/2.
Nothing is fitted on the patterns. Measured is what algorithm2 says of itself, modelled what `mpistair predict` makes of
the recorded round. T11 = sum |measured - model| / sum measured; a model's is the mean over the launches. Replicate: T11
of one launch against the other; a perfect model scores about 0.7 of it.

A benchmark, not a test: it fails only where a step does. The machine is calibrated before, on a node also among and behind
the patterns; one table is fitted to all samples. What was recorded stays in FOLDER, with times.csv: the seconds of each
rank, launch and model.
Papers are named as in share/doc/MODELS.md.
"""
import argparse
import contextlib
import csv
import itertools
import json
import os
import secrets
import statistics
import subprocess
import sys
import tempfile

OPTIONS = None
# place: ranks, nodes, seconds of a calibration, calibrations: before the patterns, and evenly among them up to behind the
# last. On a node, where memory is the limit, a shared machine's speed changes by half in two minutes.
PLACES = {"node": (8, 1, 23, 5), "cluster": (16, 4, 120, 1)}
BYTES = {"node": "4000000:80000000", "cluster": "100000:2000000"}
REPETITIONS = 10


def run(*words):
    words = [str(word) for word in words]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=600)
    if done.returncode != 0:
        sys.exit(f"accuracy: exit {done.returncode} from: {' '.join(words)}\n{done.stderr}")
    return done.stdout


@contextlib.contextmanager
def machine():
    """The words that put a command onto the machine."""
    if OPTIONS.place == "node":
        yield []
        return
    folder = os.path.abspath("hosts")
    run(OPTIONS.cluster, "up", "-n", 4, "-m", 4, "-r", "400mbit", "-d", folder)
    try:
        yield [OPTIONS.cluster, "run", "-d", folder, "--"]
    finally:
        run(OPTIONS.cluster, "down", "-d", folder)


def launcher(ranks):
    settings = ["--oversubscribe", "--bind-to", OPTIONS.bind] if OPTIONS.place == "node" else []
    return [OPTIONS.mpiexec, *settings, "-n", ranks]


def t11(measured, model):
    return sum(abs(a - m) for a, m in zip(measured, model)) / sum(measured)


def select(trace, sql):
    rows = json.loads(run(OPTIONS.mpistair, "query", "--format", "json", trace, sql))
    return rows["rows"] if isinstance(rows, dict) else rows


def predicted(trace, name, repetitions):
    """{model: {rank: seconds}} of the recorded round, with its post times. Ranks that share nothing but the machine are
    rounds of their own in a trace: such a pattern is modelled from its file, at the recorded places."""
    kind = select(trace, "SELECT id, rounds, messages FROM kind ORDER BY bytes * rounds DESC LIMIT 1")[0]
    with open(f"{name}.P.csv", newline="") as file:
        n_messages = sum(row["src"] != row["dst"] for row in csv.DictReader(file))
    models = {}
    if kind["messages"] == n_messages:
        if kind["rounds"] != repetitions:
            print(f"    note: {trace}: {kind['rounds']} rounds of the pattern's kind, expected {repetitions}")
        run(OPTIONS.mpistair, "predict", trace, "--rounds", "--machine", "./machine.tbl", "--model", OPTIONS.models)
        rows = select(trace, "SELECT model, rank, time_s FROM prediction JOIN prediction_run ON run_id = prediction_run.id "
                             f"WHERE kind_id = {kind['id']}")
    else:
        places = select(trace, "SELECT rank, node, coalesce(socket, 0) AS socket FROM process ORDER BY rank")
        with open("places.csv", "w") as file:
            file.write("rank,node,socket\n" + "".join("{rank},{node},{socket}\n".format(**place) for place in places))
        said = run(OPTIONS.mpistair, "predict", "--pattern", f"{name}.P.csv", "--placement", "places.csv", "--machine",
                   "./machine.tbl", "--model", OPTIONS.models, "--json")
        rows = json.loads(said)
    for row in rows:
        models.setdefault(row["model"], {})[row["rank"]] = row["time_s"]
    return models


def launch(on, name, ranks, number, repetitions=REPETITIONS, exchanges=1):
    """One recorded launch: the seconds of each rank for one exchange of the pattern."""
    printed = run(*on, OPTIONS.mpistair, "run", "-o", f"{name}.{number}.db", "--", *launcher(ranks), OPTIONS.algorithm2,
                  "--repetitions", repetitions, "--exchanges", exchanges, f"{name}.P.csv")
    return {int(row["rank"]): float(row["mean_s"]) for row in csv.DictReader(printed.splitlines())}


def modelled(name, number, times, repetitions=REPETITIONS):
    """The seconds of the ranks of a launch, measured and those of each model."""
    models = predicted(f"{name}.{number}.db", name, repetitions)
    with open("times.csv", "a", newline="") as file:
        writer = csv.writer(file)
        writer.writerows((name, number, rank, model, found.get(rank, 0.0))
                         for model, found in {"measured": times, **models}.items() for rank in sorted(times))
    # A rank without messages is in no round: it takes no time, and none is modelled.
    return ([times[rank] for rank in sorted(times)],
            {model: [found.get(rank, 0.0) for rank in sorted(times)] for model, found in models.items()})


def errors_of(launches):
    """(replicate error, {model: T11, the mean over the launches})."""
    pairs = list(itertools.combinations([measured for measured, _ in launches], 2))
    replicate = statistics.mean(t11(a, b) for a, b in pairs) if pairs else float("nan")
    return replicate, {model: statistics.mean(t11(measured, models[model]) for measured, models in launches)
                       for model in launches[0][1]}


def print_line(name, messages, megabytes, ms, replicate, errors):
    print(f"{name:14} {messages:>8} {megabytes:>7} {ms:>8}  {replicate:>9}  "
          + "  ".join(f"{text:>{max(7, len(model))}}" for model, text in errors.items()), flush=True)


def percent(value):
    return f"{100 * value:.1f} %"


def record(on, name, words):
    """Makes and runs one pattern: what `mpistair pattern` says of it, and each launch's times."""
    ranks, nodes, *_ = PLACES[OPTIONS.place]
    said = json.loads(run(OPTIONS.mpistair, "pattern", *words, "--ranks", ranks, "--nodes", nodes, "--json", "-o", name))
    return said, [launch(on, name, ranks, number) for number in range(OPTIONS.launches)]


def pattern_line(name, said, launches, header):
    launches = [modelled(name, number, times) for number, times in enumerate(launches)]
    replicate, errors = errors_of(launches)
    if header:
        print_line("pattern", "messages", "MB", "ms", "replicate", {model: model for model in errors})
    ms = 1e3 * statistics.mean(statistics.mean(measured) for measured, _ in launches)
    print_line(name, said["messages"], f"{said['bytes'] / 1e6:.1f}", f"{ms:.2f}", percent(replicate),
               {model: percent(error) for model, error in errors.items()})
    return replicate, errors


def print_summary(found):
    replicate = statistics.median(r for r, _ in found)
    medians = {model: statistics.median(errors[model] for _, errors in found) for model in found[0][1]}
    print_line("median", "", "", "", percent(replicate), {model: percent(error) for model, error in medians.items()})
    best = min(medians, key=medians.get)
    print(f"best: {best}, {percent(medians[best])}, {medians[best] / replicate:.2f} times the replicate error")
    if "staircase" in medians:
        below = sum(errors[best] < errors["staircase"] for _, errors in found)
        print(f"      below the published staircase on {below} of {len(found)} patterns")


def patterns(on):
    """Records all patterns, between the calibrations, and then prints what the models say of them."""
    words = ["irregular", "--bytes", OPTIONS.bytes or BYTES[OPTIONS.place], "--seed"]
    made = {f"irregular-{seed}": [*words, seed] for seed in range(OPTIONS.seed, OPTIONS.seed + OPTIONS.patterns)}
    made.update({kind: [kind, "--bytes", 1000000] for kind in ("incast", "outcast")})
    due, recorded = calibrations_due(len(made)), {}
    for i, (name, of) in enumerate(made.items()):
        if i in due:
            calibrate(on, due.index(i))
        recorded[name] = record(on, name, of)
    if len(made) in due:
        calibrate(on, len(due) - 1)
    fit(len(due))
    print(f"irregular patterns of seed {OPTIONS.seed} on; ms: mean of the ranks; T11 by model")
    found = []
    for name in made:
        if name == "incast" and found:
            print_summary(found)
        found.append(pattern_line(name, *recorded[name], not found))


def three_pairs(on):
    """T Fig. 3: a line a size, us of each pair measured and modelled. Many exchanges on end: six ranks that share two
    processors start apart by more than one of them takes."""
    print("\nthree pairs exchanging 2s, s and s/2 bytes (T Fig. 3): measured, then by model, us of each pair")
    header = True
    for s in (2**k for k in range(1, 22, OPTIONS.pairs_step)):
        name = f"pairs-{s}"
        run(OPTIONS.mpistair, "pattern", "pairs", "--ranks", 6, "--bytes", s, "-o", name)
        times = launch(on, name, 6, 0, 20, min(2000, max(2, 2**23 // s)))
        measured, models = modelled(name, 0, times, 20)
        if header:
            print(f"{'s':>8}  {'measured':^26}" + "".join(f"  {model:^26}" for model in models))
            header = False
        print(f"{s:8}" + "".join("  " + " ".join(f"{1e6 * (t[p] + t[p + 1]) / 2:8.1f}" for p in (0, 2, 4))
                                 for t in (measured, *models.values())), flush=True)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("place", choices=PLACES)
    parser.add_argument("mpistair", type=os.path.abspath)
    parser.add_argument("algorithm2", type=os.path.abspath)
    parser.add_argument("mpiexec")
    parser.add_argument("--cluster", type=os.path.abspath)
    parser.add_argument("--patterns", type=int, default=12)
    parser.add_argument("--launches", type=int, default=2)
    parser.add_argument("--models", default="all")
    parser.add_argument("--ranks", type=int, help="on a node, in place of 8")
    parser.add_argument("--bind", default="none", help="to what the ranks of a node are bound: none, core")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6), help="of the first pattern")
    parser.add_argument("--bytes", help="MIN:MAX of a message of the irregular patterns")
    parser.add_argument("--pairs-step", type=int, default=1, help="Fig. 3: every so many powers of two; 0: leave it out")
    parser.add_argument("--table", type=os.path.abspath, help="a machine table, instead of calibrating")
    parser.add_argument("--quick", action="store_true", help="calibrate in 23 s")
    parser.add_argument("--folder", default=None)
    options = parser.parse_args()
    if options.ranks is not None:
        PLACES["node"] = (options.ranks, *PLACES["node"][1:])
    if options.place == "cluster" and options.cluster is None:
        parser.error("cluster: --cluster tests/cluster/cluster is missing")
    return options


def calibrations_due(n_patterns):
    """Before which patterns; n_patterns: behind the last."""
    *_, calibrations = PLACES[OPTIONS.place]
    if OPTIONS.table is not None:
        return []
    return [round(i * n_patterns / max(1, calibrations - 1)) for i in range(calibrations)]


def calibrate(on, number):
    ranks, _, seconds, _ = PLACES[OPTIONS.place]
    how_long = ["--quick"] if OPTIONS.quick else ["--seconds", seconds]
    print(run(*on, OPTIONS.mpistair, "calibrate", *how_long, "--name", OPTIONS.place, "-o", f"machine.{number}.tbl", "--",
              *launcher(ranks)), flush=True)


def fit(calibrations):
    """machine.tbl: of the samples of all calibrations, each with launches of its own."""
    if OPTIONS.table is not None:
        with open(OPTIONS.table) as given, open("machine.tbl", "w") as table:
            table.write(given.read())
        return
    launches, header = 0, None
    with open("machine.raw.csv", "w", newline="") as pooled:
        for number in range(calibrations):
            with open(f"machine.{number}.raw.csv", newline="") as file:
                lines = file.read().splitlines()
            own_launches = 0
            for line in lines:  # in their order: a probe says of the samples before it whether they were disturbed
                if line.startswith("benchmark,"):
                    if header is None:
                        pooled.write(line + "\n")
                    header = line.split(",")
                elif line.startswith("#"):
                    pooled.write(line + "\n")
                else:
                    row = dict(zip(header, line.split(",")))
                    own_launches = max(own_launches, int(row["launch"]))
                    row["launch"] = str(launches + int(row["launch"]))
                    pooled.write(",".join(row.values()) + "\n")
            launches += own_launches
    run(OPTIONS.mpistair, "machine", "fit", "machine.raw.csv", "--name", OPTIONS.place, "-o", "machine.tbl")


def main():
    global OPTIONS
    OPTIONS = parse()
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    if OPTIONS.place == "cluster" and subprocess.run([OPTIONS.cluster, "run", "-n", "1", "--", "true"],
                                                     capture_output=True).returncode != 0:
        print("skipped: no network namespaces here")
        return 77
    folder = OPTIONS.folder or tempfile.mkdtemp(prefix=f"accuracy-{OPTIONS.place}-")
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    with open("times.csv", "w") as file:
        file.write("pattern,launch,rank,model,seconds\n")
    with machine() as on:
        patterns(on)
        if OPTIONS.place == "node" and OPTIONS.pairs_step > 0:
            three_pairs(on)
    print(f"tables and traces are in {folder}")
    return 0


sys.exit(main())
