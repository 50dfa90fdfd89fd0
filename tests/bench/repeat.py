"""How well a calibration repeats, and whether its intervals hold what later ones find, with both MPIs that are here.

Usage: repeat.py MPISTAIR LATER MPI MPIEXEC [MPI MPIEXEC ...]

One calibration and LATER more of each MPI, in turns, one after the other. Prints how long each took and what it says of
the machine meanwhile; for every value its median, how far the furthest is from it, and whether the median of the others
lies in the 95 % interval of the first, and of each of them. One that was too disturbed is told and made again, as often
as LATER times. 8 ranks of Open MPI, 2 of MPICH, which does not yield the processor to ranks in excess.
"""
import collections
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

LAUNCH = {"openmpi": ["--oversubscribe", "--bind-to", "none", "-n", "8"], "mpich": ["-n", "2"]}
ENVIRONMENT = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")


# What has an interval, by what the latencies and rates of a protocol have in common; searches and shares have none.
LEFT_OUT = ("threshold", "buffer", "drift_small", "drift_large", "disturbed", "waited", "steal")
SHARES = ("drift_small", "drift_large", "disturbed", "waited", "steal")


def calibrate(tool, mpi, mpiexec, folder, i):
    """Seconds and {(level, protocol, quantity, n): row} of one calibration, None where it was too disturbed; prints the
    first one's table and check."""
    table = os.path.join(folder, f"{mpi}{i}.tbl")
    begin = time.monotonic()
    words = [tool, "calibrate", "--name", mpi, "-o", table, "--", mpiexec, *LAUNCH[mpi]]
    said = subprocess.run(words, env=ENVIRONMENT, capture_output=True, text=True)
    seconds = time.monotonic() - begin
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg()[:2])
    if said.returncode == 1 and "too disturbed" in said.stderr:
        print(f"{mpi}: {seconds:.0f} s, load {load}: {said.stderr.splitlines()[-1]}", flush=True)
        return seconds, None
    if said.returncode != 0:
        sys.exit(f"{words}: exit {said.returncode}; {said.stderr}")
    if i == 0:
        print(said.stdout)
        check = subprocess.run([tool, "machine", "check", table], capture_output=True, text=True)
        print(check.stdout + check.stderr)
    shown = subprocess.run([tool, "machine", "show", table, "--json"], check=True, capture_output=True, text=True)
    rows = {(r["level"], r["protocol"], r["quantity"], r["n"]): r for r in json.loads(shown.stdout)["parameters"]}
    shares = ", ".join(f"{key[2]} {100 * row['value']:.1f} %" for key, row in rows.items() if key[2] in SHARES)
    print(f"{mpi}: {seconds:.0f} s, load {load}: {shares}", flush=True)
    return seconds, rows


def holds(row, value):
    """None: the table tells no interval."""
    if row["ci_low"] is None and row["ci_high"] is None:
        return None
    return (row["ci_low"] is None or row["ci_low"] <= value) and (row["ci_high"] is None or value <= row["ci_high"])


def held_by(tables, first, key):
    """Whether the interval of tables[first] holds the median of all others."""
    later = [table[key]["value"] for i, table in enumerate(tables) if i != first and key in table]
    return holds(tables[first][key], statistics.median(later)) if later and key in tables[first] else None


def compare(tables):
    """A line a value, and a sum by quantity: held by the first interval, and by each one that there is."""
    sums = collections.defaultdict(lambda: [0, 0, 0, 0])
    furthest = 0.0
    for key in sorted(set().union(*tables), key=str):
        level, protocol, quantity, n = key
        if quantity in SHARES:
            continue
        values = [table[key]["value"] for table in tables if key in table]
        median = statistics.median(values)
        off = max(abs(value / median - 1) for value in values) if median > 0 else 0.0
        missing = f"; not in {len(tables) - len(values)}" if len(values) < len(tables) else ""
        each = [held for held in (held_by(tables, i, key) for i in range(len(tables))) if held is not None]
        first = held_by(tables, 0, key)
        held = "" if quantity in LEFT_OUT else f"; held by the first: {'-' if first is None else 'yes' if first else 'NO'}, by {sum(each)} of {len(each)}"
        print(f"  {level:13}{protocol:11}{quantity:22}{'-' if n is None else n:>6}{median:12.4g}  furthest {100 * off:5.1f} %{held}{missing}")
        if quantity not in LEFT_OUT:
            # Steps through short queues are next to nothing: how far in percent says nothing.
            furthest = max(furthest, off) if quantity in ("tau", "bw") else furthest
            total = sums[level if level == "self" else f"{protocol} {quantity}"]
            for i, count in enumerate((first is True, first is not None, sum(each), len(each))):
                total[i] += count
    print(f"  furthest of all latencies and bandwidths from its median: {100 * furthest:.1f} %")
    sums["all"] = [sum(column) for column in zip(*sums.values())]
    for name, (first, of, each, of_each) in sums.items():
        print(f"  {name:28} medians of the later in the first's interval: {first} of {of}; each as the first: {each} of {of_each}, {100 * each / max(1, of_each):.0f} %")


def main():
    tool, later, pairs = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    mpis = list(zip(pairs[::2], pairs[1::2]))
    tables, seconds, refused = {mpi: [] for mpi, _ in mpis}, {mpi: [] for mpi, _ in mpis}, {mpi: 0 for mpi, _ in mpis}
    with tempfile.TemporaryDirectory() as folder:
        while any(len(tables[mpi]) <= later and refused[mpi] <= later for mpi, _ in mpis):
            for mpi, mpiexec in mpis:
                if len(tables[mpi]) > later or refused[mpi] > later:
                    continue
                spent, table = calibrate(tool, mpi, mpiexec, folder, len(tables[mpi]))
                seconds[mpi].append(spent)
                refused[mpi] += table is None
                tables[mpi] += [table] if table is not None else []
    for mpi, _ in mpis:
        print(f"{mpi}: {len(tables[mpi])} calibrations and {refused[mpi]} that were too disturbed, {min(seconds[mpi]):.0f} to {max(seconds[mpi]):.0f} s")
        if len(tables[mpi]) > 1:
            compare(tables[mpi])


main()
