"""Queue search, measured and bounded: B Algorithm 1 (tests/apps/queue_search.c), 1 to 10,000 messages of constant
total bytes, in the order of their receives and against it, on each MPI.

Usage: queue_search.py MPISTAIR FOLDER_OF_CALIBRATION FOLDER_OF_APPS [--seconds 30] [--folder FOLDER] -- MPI MPIEXEC ...

First the MPI's own steps: `calibrate --quick` for latency and bandwidth, the benchmark `queue` for --seconds. Then a recorded
run in each order; a row for each n and half of Algorithm 1 (first: all receives are posted before; second: after the sends):
measured    what the program says, us, median
max-rate    without queues, us
+queue      the bound B3 added, us
A benchmark, not a test: it fails only where a step does.
Papers are named as in share/doc/MODELS.md.
"""
import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile

OPTIONS = {"openmpi": ["--oversubscribe", "--bind-to", "none"], "mpich": []}


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=300)
    if done.returncode != 0:
        sys.exit(f"queue_search: exit {done.returncode} from: {' '.join(map(str, words))}\n{done.stderr}")
    return done.stdout


def calibrate(options, mpi, launcher):
    """MPI.tbl of this MPI; returns its path."""
    run(options.mpistair, "calibrate", "--quick", "--name", mpi, "-o", f"quick-{mpi}.tbl", "--", *launcher)
    with open(f"queue-{mpi}.raw.csv", "w") as file:
        file.write(run(*launcher, os.path.join(options.calibration, f"mpistair-benchmark-{mpi}"), "queue", "--seconds", options.seconds))
    run(options.mpistair, "machine", "fit", f"queue-{mpi}.raw.csv", "--name", mpi, "-o", f"queue-{mpi}.tbl")
    rows = [line for line in open(f"quick-{mpi}.tbl") if " queue_step" not in line]
    steps = [line for line in open(f"queue-{mpi}.tbl") if " queue_step" in line]
    with open(f"{mpi}.tbl", "w") as file:
        file.writelines([f"name {mpi}\n" if row.startswith("name ") else row for row in rows + steps])
    print(f"{mpi}: ns a step, by depth:", *(f"{words[3]} {words[2].replace('queue_step', '').strip('_') or 'posted'} "
          f"{1e9 * float(words[4]):.2f}," for words in map(str.split, steps)))


def predictions(options, mpi, trace):
    """{(n, half): {model: time_s}} of the receiver."""
    run(options.mpistair, "predict", trace, "--rounds", "--machine", f"./{mpi}.tbl", "--model", "max-rate,max-rate+queue")
    sql = ("SELECT q.model AS model, p.time_s, m.dst AS dst, m.n AS n FROM prediction p "
           "JOIN prediction_run q ON q.id = p.run_id JOIN (SELECT kind_id, min(id) AS id FROM round GROUP BY kind_id) r "
           "ON r.kind_id = p.kind_id JOIN (SELECT round_id, dst, count(*) AS n FROM message WHERE bytes > 0 GROUP BY "
           "round_id, dst) m ON m.round_id = r.id AND m.dst = p.rank")
    found = {}
    for row in json.loads(run(options.mpistair, "query", "--format", "json", trace, sql)):
        key = (row["n"], "first" if row["dst"] == 1 else "second")
        found.setdefault(key, {})[row["model"]] = row["time_s"]
    return found


def compare(options, mpi, launcher):
    calibrate(options, mpi, launcher)
    print(f"{mpi:8} {'order':8} {'half':6} {'n':>5} {'measured':>12} {'max-rate':>10} {'+queue':>12}")
    for order in ("in", "reversed"):
        trace = f"{mpi}-{order}.db"
        printed = run(options.mpistair, "run", "-o", trace, "--", *launcher,
                      os.path.join(options.apps, f"queue_search-{mpi}"), "--order", order)
        found = predictions(options, mpi, trace)
        for half in ("first", "second"):
            for row in csv.DictReader(printed.splitlines()):
                of = found[int(row["n"]), half]
                print(f"{mpi:8} {order:8} {half:6} {row['n']:>5} {1e6 * float(row[half + '_s']):12.1f} "
                      f"{1e6 * of['max-rate']:10.1f} {1e6 * of['max-rate+queue']:12.1f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mpistair", type=os.path.abspath)
    parser.add_argument("calibration", type=os.path.abspath)
    parser.add_argument("apps", type=os.path.abspath)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--folder")
    parser.add_argument("mpis", nargs="+", metavar="MPI MPIEXEC")
    options = parser.parse_args()
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    folder = os.path.abspath(options.folder or tempfile.mkdtemp(prefix="queue-search-"))
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)
    for mpi, mpiexec in zip(options.mpis[::2], options.mpis[1::2]):
        compare(options, mpi, [mpiexec, *OPTIONS[mpi], "-n", "2"])
    print(f"tables and traces are in {folder}")


main()
