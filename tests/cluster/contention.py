"""Contention of a link that two pairs of nodes share, measured against modelled (tau count + delta l) for every number and
size of messages, as B Figs. 7 and 9; and delta against the inverse of the rate at which the link carries data.

Usage: contention.py CLUSTER MPISTAIR PROGRAM MPIEXEC [--link 400mbit] [--host none] [--ranks 2] [--seconds 25]
                     [--output FOLDER]
Open MPI, root; needs the machine for itself. A benchmark, not a test: it fails only where a step does.
Papers are named as in share/doc/MODELS.md.
"""
import argparse
import csv
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections import defaultdict

# Of a full Ethernet frame (1514 B of MTU 1500) TCP with time stamps carries 1448 B: what a shaped link has left for data.
PAYLOAD = 1448 / 1514
UNIT = {"kbit": 1e3, "mbit": 1e6, "gbit": 1e9}


def bytes_per_s(rate):
    number, unit = re.fullmatch(r"([0-9.]+)([kmg]bit)", rate).groups()
    return float(number) * UNIT[unit] / 8


def run(*words):
    done = subprocess.run([str(w) for w in words], capture_output=True, text=True, timeout=600)
    if done.returncode != 0:
        sys.exit(f"contention: exit {done.returncode} from: {' '.join(map(str, words))}\n{done.stderr}")
    return done.stdout, done.stderr


def print_shapes(raw, tau, delta):
    """A line a number and size of messages: measured, modelled, and what the pairs take alone."""
    times, alone = defaultdict(list), defaultdict(list)
    for row in csv.DictReader(line for line in open(raw) if not line.startswith("#")):
        shape = int(row["count"]), int(row["bytes"])
        (times[shape, int(row["n"])] if row["variant"] == "shared" else alone[shape]).append(float(row["seconds"]))
    print(f"{'count':>5} {'bytes':>8} {'l, bytes':>9} {'measured, ms':>12} {'modelled, ms':>12} {'error':>7}  {'alone, ms':>9} samples")
    for ((count, size), n), seconds in sorted(times.items()):
        measured, across = statistics.median(seconds), n * count * size
        modelled = tau * count + delta * across
        by_itself = statistics.median(alone[count, size]) if alone[count, size] else float("nan")
        print(f"{count:5} {size:8} {across:9} {1e3 * measured:12.3f} {1e3 * modelled:12.3f} "
              f"{100 * (modelled / measured - 1):+6.1f} %  {1e3 * by_itself:9.3f} {len(seconds):7}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cluster", type=os.path.abspath)
    parser.add_argument("mpistair", type=os.path.abspath)
    parser.add_argument("program", type=os.path.abspath)
    parser.add_argument("mpiexec")
    parser.add_argument("--link", default="400mbit")
    parser.add_argument("--host", default="none")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=25)
    parser.add_argument("--output", default=None)
    options = parser.parse_args()
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    folder = options.output or tempfile.mkdtemp(prefix="contention-")
    os.makedirs(folder, exist_ok=True)
    raw, table = os.path.join(folder, "raw.csv"), os.path.join(folder, "link.tbl")
    nodes = ["-n", 4, "-m", options.ranks, "-r", options.host, "-l", options.link]
    samples, _ = run(options.cluster, "run", *nodes, "--", options.mpiexec, "-n", 4 * options.ranks, options.program,
                     "contention", "--seconds", options.seconds, "--link", "0-2,1-3")
    with open(raw, "w") as file:
        file.write(samples)
    _, said = run(options.mpistair, "machine", "fit", raw, "--name", "link", "-o", table)
    print(said, end="")
    parameters = json.loads(run(options.mpistair, "machine", "show", table, "--json")[0])["parameters"]
    delta = next((p for p in parameters if p["quantity"] == "delta"), None)
    tau = re.search(r"counts and sizes: (\S+) s a message", said)
    if delta is None or tau is None:
        sys.exit("contention: the fit gives no delta")
    print_shapes(raw, float(tau.group(1)), delta["value"])
    expected = 1 / (PAYLOAD * bytes_per_s(options.link))
    print(f"delta {delta['value']:.4g} s/B ({delta['ci_low']:.4g} to {delta['ci_high']:.4g}), by arithmetic at "
          f"{options.link} {expected:.4g}: {100 * (delta['value'] / expected - 1):+.1f} %")
    print(f"samples and table are in {folder}")


main()
