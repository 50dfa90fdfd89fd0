"""What `mpistair predict --best-placement` promises and what it keeps: on four hosts of four ranks (network namespaces, 400
Mbit/s), three irregular patterns whose ranks are numbered badly are recorded; a placement is searched for by the model
flow, on a table that our own calibration measured there; the job is run again with the rank file that was written.
Predicted and measured gain are printed.

Usage: best_placement.py CLUSTER MPISTAIR ALGORITHM2 MPIEXEC [--launches 2] [--seed N] [--table FILE] [--folder FOLDER]
Open MPI; exit status 77, skipped, without root. Measured: the largest of the ranks' mean times of a repetition, as
algorithm2 says, predicted: the run time; the mean over the launches; the launches of both placements take turns. A benchmark: it fails only where a step does.
"""
import argparse
import csv
import json
import os
import random
import secrets
import subprocess
import sys
import tempfile

RANKS, NODES = 16, 4


def size(chance):
    return int(50_000 * 8 ** chance.random())


def numbered(pairs, chance):
    """Messages both ways along pairs of ranks that are then numbered at random."""
    name = chance.sample(range(RANKS), RANKS)
    return [(name[a], name[b], size(chance)) for pair in pairs for a, b in (pair, pair[::-1])]


def grid(chance):
    """A halo on a grid of 4 x 4."""
    pairs = [(r, r + step) for r in range(RANKS) for step in (1, 4) if r + step < RANKS and (step == 4 or r % 4 < 3)]
    return numbered(pairs, chance)


def groups(chance):
    """Four groups, each all to all, joined in a ring."""
    pairs = [(a, b) for a in range(RANKS) for b in range(a) if a // 4 == b // 4]
    return numbered(pairs + [(r, (r + 4) % RANKS) for r in range(0, RANKS, 4)], chance)


def tree(chance):
    """A random tree and as many far pairs again: what no placement makes easy."""
    pairs = [(r, chance.randrange(r)) for r in range(1, RANKS)]
    return numbered(pairs + [tuple(chance.sample(range(RANKS), 2)) for _ in range(RANKS - 1)], chance)


def run(*words):
    words = [str(word) for word in words]
    done = subprocess.run(words, capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        sys.exit(f"best_placement: exit {done.returncode} from: {' '.join(words)}\n{done.stderr}")
    return done.stdout


def launch(options, on, name, trace, rank_file):
    """Seconds of the slowest rank."""
    placed = ["--rankfile", os.path.abspath(rank_file)] if rank_file else []
    recorded = [options.mpistair, "run", "-o", trace, "--"] if trace else []
    printed = run(*on, *recorded, options.mpiexec, *placed, "-n", RANKS, options.algorithm2, f"{name}.csv")
    return max(float(row["mean_s"]) for row in csv.DictReader(printed.splitlines()))


def gain(before, after):
    return f"{1e3 * before:8.2f} {1e3 * after:8.2f} {100 * (before - after) / before:6.1f} %"


def measure(options, on, make):
    name = make.__name__
    messages = make(random.Random(options.seed))
    with open(f"{name}.csv", "w") as file:
        file.write("src,dst,bytes\n" + "".join(f"{src},{dst},{bytes_}\n" for src, dst, bytes_ in messages))
    launch(options, on, name, f"{name}.db", None)
    said = json.loads(run(options.mpistair, "predict", f"{name}.db", "--machine", options.table, "--model", "flow",
                          "--best-placement", "--rank-file", f"{name}-best", "--json"))
    with open(f"{name}-best.L.csv") as file:
        moved = sum(int(row["node"]) != int(row["rank"]) // (RANKS // NODES) for row in csv.DictReader(file))
    before, after = [], []
    for _ in range(options.launches):  # neither is recorded
        before.append(launch(options, on, name, None, None))
        after.append(launch(options, on, name, None, f"{name}-best.rankfile"))
    print(f"{name:8} {len(messages):8} {sum(m[2] for m in messages) / 1e6:6.1f} {moved:5}  "
          f"{gain(said['run']['predicted_s'], said['what_if']['predicted_s'])}  "
          f"{gain(sum(before) / len(before), sum(after) / len(after))}  "
          + " ".join(f"{1e3 * b:.1f}>{1e3 * a:.1f}" for b, a in zip(before, after)), flush=True)


def parse():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for word in ("cluster", "mpistair", "algorithm2"):
        parser.add_argument(word, type=os.path.abspath)
    parser.add_argument("mpiexec")
    parser.add_argument("--launches", type=int, default=2)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(10**6))
    parser.add_argument("--table", type=os.path.abspath, help="a machine table, instead of calibrating")
    parser.add_argument("--folder", default=None)
    return parser.parse_args()


def main():
    options = parse()
    if os.getuid() != 0 or subprocess.run([options.cluster, "run", "-n", "1", "--", "true"],
                                          capture_output=True).returncode != 0:
        print("skipped: no network namespaces here, or not root")
        return 77
    folder = options.folder or tempfile.mkdtemp(prefix="best-placement-")
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    hosts = os.path.abspath("hosts")
    run(options.cluster, "up", "-n", NODES, "-m", RANKS // NODES, "-r", "400mbit", "-d", hosts)
    try:
        on = [options.cluster, "run", "-d", hosts, "--"]
        if options.table is None:
            options.table = os.path.abspath("machine.tbl")
            run(*on, options.mpistair, "calibrate", "--quick", "-o", options.table, "--", options.mpiexec, "-n", RANKS)
        print(f"seed {options.seed}; T in ms before and after, by flow and measured; then each launch")
        print(f"{'pattern':8} {'messages':>8} {'MB':>6} {'moved':>5}  {'predicted':^26}  {'measured':^26}")
        for make in (grid, groups, tree):
            measure(options, on, make)
    finally:
        run(options.cluster, "down", "-d", hosts)
    print(f"what was recorded is in {folder}")
    return 0


sys.exit(main())
