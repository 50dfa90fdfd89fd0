"""How far each model is from this machine: calibrate it, record T Algorithm 2 with three irregular patterns of messages of
0.1 to 2 MB, and print the T11 error of each model next to the replicate error (T11 between two launches of the same
job; a perfect model scores about half of it).

Usage: three_patterns.py MPISTAIR ALGORITHM2 MPIEXEC [--ranks 8] [--launches 2] [--quick] [--folder FOLDER]
Open MPI. A benchmark, not a test: it fails only where a step does. What it recorded stays in FOLDER.
"""
import argparse
import csv
import itertools
import json
import os
import random
import subprocess
import sys
import tempfile

SMALLEST, LARGEST = 100_000, 2_000_000


def size(random_):
    """Log-uniform: as many messages below as above the geometric mean."""
    return int(SMALLEST * (LARGEST / SMALLEST) ** random_.random())


def sparse(ranks, random_):
    """Every rank sends to one to four others, drawn at random."""
    for src in range(ranks):
        for dst in random_.sample([r for r in range(ranks) if r != src], random_.randint(1, min(4, ranks - 1))):
            yield src, dst, size(random_)


def halo(ranks, random_):
    """A ring of neighbours exchanging unequal amounts, and a few far connections, as a partitioned mesh has them."""
    far = random_.sample([(a, b) for a, b in itertools.combinations(range(ranks), 2) if 1 < b - a < ranks - 1], 3)
    for a, b in [(r, (r + 1) % ranks) for r in range(ranks)] + far:
        yield a, b, size(random_)
        yield b, a, size(random_)


def hub(ranks, random_):
    """Half of the ranks send to two that receive much, which answer one; the rest exchange in pairs."""
    for src in range(2, ranks):
        yield src, src % 2, size(random_)
    yield 0, ranks - 1, size(random_)
    yield 1, ranks - 2, size(random_)
    for a in range(2, ranks - 1, 2):
        yield a, a + 1, size(random_)


def run(*words):
    done = subprocess.run([str(w) for w in words], stdout=subprocess.PIPE, text=True, timeout=600)
    if done.returncode != 0:
        sys.exit(f"three_patterns: exit {done.returncode} from: {' '.join(map(str, words))}")
    return done.stdout


def t11(actual, model):
    return sum(abs(a - m) for a, m in zip(actual, model)) / sum(actual)


def launch(options, launcher, pattern, number):
    """Records one launch; the times of the ranks as the program measured them and, by model, (error, bias)."""
    trace = f"{pattern}.{number}.db"
    printed = run(options.mpistair, "run", "-o", trace, "--", *launcher, options.algorithm2, f"{pattern}.csv")
    times = {int(row["rank"]): float(row["mean_s"]) for row in csv.DictReader(printed.splitlines())}
    run(options.mpistair, "predict", trace, "--machine", "./machine.tbl", "--model", "all")
    sql = "SELECT model, error, bias FROM model_error ORDER BY error"
    rows = json.loads(run(options.mpistair, "query", "--format", "json", trace, sql))
    rows = rows["rows"] if isinstance(rows, dict) else rows
    return [times[rank] for rank in sorted(times)], {r["model"]: (r["error"], r["bias"]) for r in rows}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mpistair", type=os.path.abspath)
    parser.add_argument("algorithm2", type=os.path.abspath)
    parser.add_argument("mpiexec")
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--launches", type=int, default=2)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--folder", default=None)
    options = parser.parse_args()
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    folder = options.folder or tempfile.mkdtemp(prefix="three-patterns-")
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    launcher = [options.mpiexec, "--oversubscribe", "--bind-to", "none", "-n", options.ranks]
    print(run(options.mpistair, "calibrate", *["--quick"] * options.quick, "-o", "machine.tbl", "--", *launcher))
    print(f"{'pattern':8} {'messages':>8} {'MB':>6} {'ms a rank':>9}  {'replicate':>9}  T11 error (bias) by model")
    for make in (sparse, halo, hub):
        name = make.__name__
        messages = list(make(options.ranks, random.Random(1)))
        with open(f"{name}.csv", "w") as file:
            file.write("src,dst,bytes\n" + "".join(f"{s},{d},{b}\n" for s, d, b in messages))
        launches = [launch(options, launcher, name, number) for number in range(options.launches)]
        times = [t for t, _ in launches]
        pairs = list(itertools.combinations(times, 2))
        replicate = sum(t11(a, b) for a, b in pairs) / len(pairs) if pairs else float("nan")
        mean = {
            model: [sum(errors[model][i] for _, errors in launches) / len(launches) for i in (0, 1)]
            for model in launches[0][1]
        }
        models = "  ".join(f"{model} {100 * error:.1f} % ({100 * bias:+.1f})" for model, (error, bias) in mean.items())
        total = sum(bytes_ for _, _, bytes_ in messages)
        slowest = 1e3 * sum(sum(t) / len(t) for t in times) / len(times)
        print(f"{name:8} {len(messages):8} {total / 1e6:6.1f} {slowest:9.3f}  {100 * replicate:7.1f} %  {models}")
    print(f"tables and traces are in {folder}")


main()
