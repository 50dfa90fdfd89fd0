"""How near `mpistair predict --finegrain` comes to what `mpistair finegrain` measures, and what of the paper's findings (M)
holds here: each place is calibrated, then swept, then every row that is not void is predicted.

Usage: finegrain_accuracy.py MPISTAIR --cluster CLUSTER --mpi NAME:MPIEXEC [--mpi ...] [--seconds S] [--iterations N]
           [--only WORD] [--folder FOLDER]

Places: two ranks of MPICH, each bound to a core, folded, 16 threads (ranks that are not bound share a core at times);
eight ranks of Open MPI, six peers, 4 threads; four hosts of one rank (network namespaces, 400 Mbit/s, root alone), two
peers. More threads than processors oversleep, so that Open MPI also has a laggard that is as late as the computation is
long. Prints of each place how long the sweep took, how many rows are
void, |predicted - measured speed-up| in percentage points, and in how many of the groups (interface, bytes, arrivals) the
best number of parts is within a factor of 2. A benchmark: it fails only where a step does. It needs the machine for itself.
"""
import argparse
import collections
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

SIZES = [4096 * 4**i for i in range(6)]
Place = collections.namedtuple("Place", "name launcher level ppn sweep options prefix", defaults=[[]])


def places():
    for word in OPTIONS.mpi:
        mpi, mpiexec = word.split(":")
        if mpi == "mpich":
            bound = [mpiexec, "-bind-to", "core", "-n", "2"]
            yield Place("MPICH, 2 ranks", bound, "intra_socket", 2,
                        {"--interface": ["p2p", "rma", "partitioned"], "--parts": [2, 4, 8, 16], "--bytes": SIZES},
                        ["--fold", "--threads", "16", "--peers", "6"])
        else:
            many = [mpiexec, "--oversubscribe", "--bind-to", "none", "-n"]
            yield Place("Open MPI, 8 ranks", [*many, "8"], "intra_socket", 8,
                        {"--interface": ["p2p", "rma"], "--parts": [2, 4], "--bytes": SIZES, "--arrivals": ["laggard:4", "laggard:100"]},
                        ["--threads", "4", "--peers", "6"])
            if OPTIONS.cluster and os.geteuid() == 0:
                host = [OPTIONS.cluster, "run", "-n", "4", "-m", "1", "-r", "400mbit", "--"]
                yield Place("Open MPI, 4 hosts", [mpiexec, "-n", "4"], "inter_node", 1,
                            {"--interface": ["p2p", "persistent"], "--parts": [2, 4, 8], "--bytes": SIZES[1:5],
                             "--arrivals": ["laggard:100", "laggard:400"]},
                            ["--threads", "8", "--peers", "2"], host)


def run(*words):
    words = [str(word) for word in words]
    done = subprocess.run(words, capture_output=True, text=True, timeout=900,
                          env=os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "MPISTAIR_DISTURBED": "1"})
    if done.returncode != 0:
        sys.exit(f"finegrain_accuracy: exit {done.returncode} from: {' '.join(words)}\n{done.stderr}")
    return done.stdout


def predict(table, place, row):
    """Predicted speed-up in percent, and the bound."""
    said = run(OPTIONS.mpistair, "predict", "--finegrain", "--machine", table, "--level", place.level, "--peers", row["peers"],
               "--bytes", row["bytes"], "--parts", row["parts"], "--threads", row["threads"], "--compute-s", row["compute_s"],
               "--arrivals", row["arrivals"], "--interface", row["interface"], "--ppn", place.ppn, "--draws", 20, "--format", "csv")
    values, = csv.DictReader(said.splitlines())
    return float(values["speedup_percent"]), float(values["bound_percent"])


def groups(rows):
    found = collections.defaultdict(list)
    for row in rows:
        found[row["interface"], row["arrivals"], int(row["bytes"]), row["mpi"], row["ranks"]].append(row)
    return found


def best_parts(rows, value):
    return int(max(rows, key=value)["parts"])


def judge(rows):
    """Median difference in percentage points, groups with a near best K, groups of two rows and more."""
    far = [abs(row["predicted"] - row["measured"]) for row in rows]
    whole = [group for group in groups(rows).values() if len(group) > 1]
    near = sum(0.5 <= best_parts(group, lambda r: r["predicted"]) / best_parts(group, lambda r: r["measured"]) <= 2 for group in whole)
    return (statistics.median(far) if far else float("nan")), near, len(whole)


def answer(question, values, good):
    """values: a label and a number each; good: says of a number whether it fits the paper's finding."""
    if values:
        fits = sum(good(value) for _, value in values)
        print(f"  {question}: {fits} of {len(values)}; " + ", ".join(f"{name} {value:+.1f}" for name, value in values[:8]))


def findings(rows):
    """The four findings of the paper's case study, over this place's rows; speed-ups in percent."""
    parts = max(int(row["parts"]) for row in rows)
    answer("two parts never lose more than 1 %", [(f"{r['interface']} {r['bytes']} B {r['arrivals']}", r["measured"]) for r in rows
                                                 if r["parts"] == "2"], lambda value: value > -1)
    found, worst, spread, growth = groups(rows), [], [], []
    for (interface, arrivals, bytes_, _, _), group in sorted(found.items(), key=str):
        by_parts = {int(row["parts"]): row["measured"] for row in group}
        if interface == "p2p" and len(group) > 1 and parts in by_parts:
            worst.append((f"{bytes_} B {arrivals}", by_parts[parts] - min(by_parts.values())))
        if interface == "rma" and len(group) > 1:
            spread.append((f"{bytes_} B {arrivals}", max(by_parts.values()) - min(by_parts.values())))
    for interface, arrivals in sorted({key[:2] for key in found}):
        by_bytes = {key[2]: max(row["measured"] for row in group) for key, group in found.items() if key[:2] == (interface, arrivals)}
        if len(by_bytes) > 1:
            growth.append((f"{interface} {arrivals}", by_bytes[max(by_bytes)] - by_bytes[min(by_bytes)]))
    answer(f"{parts} parts are the worst over p2p (above the worst, points)", worst, lambda value: value == 0)
    answer("rma does not depend on the number of parts (best less worst, points)", spread, lambda value: value < 5)
    answer("gains grow with bytes (largest less smallest buffers, points)", growth, lambda value: value > 0)


def measure(place):
    label = place.name.replace(" ", "-").replace(",", "").lower()
    table, sweep, out = f"{label}.tbl", f"{label}.txt", f"{label}.csv"
    run(*place.prefix, OPTIONS.mpistair, "calibrate", "--seconds", OPTIONS.seconds, "--restart", "-o", os.path.abspath(table), "--name",
        "here", "--", *place.launcher)
    pathlib.Path(sweep).write_text("".join(f"{name} {' '.join(map(str, values))}\n" for name, values in place.sweep.items()))
    pathlib.Path(out).unlink(missing_ok=True)
    began = time.monotonic()
    run(*place.prefix, OPTIONS.mpistair, "finegrain", *place.options, "--iterations", OPTIONS.iterations, "--trials", 1, "--sweep",
        os.path.abspath(sweep), "-o", os.path.abspath(out), "--", *place.launcher)
    took_s = time.monotonic() - began
    with open(out, newline="") as file:
        rows = list(csv.DictReader(file))
    valid = [row for row in rows if not row["void"] and row["speedup_percent"]]
    overslept = statistics.median(float(row["oversleep_s"]) for row in rows)
    print(f"{place.name}: {len(rows)} rows in {took_s:.0f} s, {len(rows) - len(valid)} of them void; the last thread overslept "
          f"{1e6 * overslept:.1f} us in the middle")
    if not valid:
        return []
    for row in valid:
        row["measured"] = float(row["speedup_percent"])
        row["predicted"], row["bound"] = predict(table, place, row)
        print(f"  {row['interface']:11} {row['arrivals']:11} {int(row['bytes']):8} B {row['parts']:>2} parts: measured {row['measured']:+7.1f} % "
              f"({float(row['speedup_low_percent']):+.1f} to {float(row['speedup_high_percent']):+.1f}), predicted {row['predicted']:+7.1f} %, "
              f"at most {row['bound']:.1f} %")
    far, near, n = judge(valid)
    print(f"  difference {far:.1f} points in the median; the best K within a factor of 2 in {near} of {n}")
    findings(valid)
    return valid


def main():
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(OPTIONS.folder or scratch)
        for place in places():
            if OPTIONS.only in place.name:
                rows += measure(place)
        os.chdir("/")
    far, near, n = judge(rows)
    print(f"all places: difference {far:.1f} points in the median of {len(rows)} rows; the best K within a factor of 2 in {near} of {n}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mpistair", type=os.path.abspath)
    parser.add_argument("--cluster", type=os.path.abspath)
    parser.add_argument("--mpi", action="append", required=True)
    parser.add_argument("--seconds", default="57")
    parser.add_argument("--iterations", default="20")
    parser.add_argument("--only", default="")
    parser.add_argument("--folder")
    OPTIONS = parser.parse_args()
    main()
