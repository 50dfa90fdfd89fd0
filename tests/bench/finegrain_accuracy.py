"""How near `mpistair predict --finegrain` comes to what `mpistair finegrain` measures, and what of the paper's findings (M)
holds here: each place is calibrated, then swept, then every row that is not void is predicted.

Usage: finegrain_accuracy.py MPISTAIR --cluster CLUSTER --mpi NAME:MPIEXEC [--mpi ...] [--seconds S] [--iterations N]
           [--replicates N] [--seed N] [--bytes S,S,...] [--only WORD] [--folder FOLDER]

Places: two ranks of MPICH, each bound to a core, folded, 16 threads (ranks that are not bound share a core at times);
eight ranks of Open MPI, six peers, 4 threads; four hosts of one rank (network namespaces, 400 Mbit/s, root alone), two
peers. More threads than processors oversleep, so that Open MPI also has a laggard that is as late as the computation is
long. A sweep is repeated with other seeds, replicates, and a row's speed-up is the median over those that are not void. Prints of
each place how long the sweeps took, how many rows are void, |predicted - measured speed-up| in percentage points, and in how many
of the groups (interface, bytes, arrivals) the best number of parts (that `predict` names) is within a factor of 2:

  - of the K with the largest measured speed-up (strict);
  - of any K that the replicates do not tell from that one, which are those less than the least significant difference below it:
    t_0.975 s sqrt(1/n + 1/n'), where s^2 is the variance of the replicates of a row, pooled over the group, and n and n' are
    their numbers. How many groups tell so much that some K would be wrong, and of those how many are right, stands beside it.

A benchmark: it fails only where a step does. It needs the machine for itself.
"""
import argparse
import collections
import csv
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

Place = collections.namedtuple("Place", "name launcher level ppn sweep options prefix", defaults=[[]])


def places():
    for word in OPTIONS.mpi:
        mpi, mpiexec = word.split(":")
        if mpi == "mpich":
            bound = [mpiexec, "-bind-to", "core", "-n", "2"]
            yield Place("MPICH, 2 ranks", bound, "intra_socket", 2,
                        {"--interface": ["p2p", "rma", "partitioned"], "--parts": [2, 4, 8, 16], "--bytes": OPTIONS.bytes},
                        ["--fold", "--threads", "16", "--peers", "6"])
        else:
            many = [mpiexec, "--oversubscribe", "--bind-to", "none", "-n"]
            yield Place("Open MPI, 8 ranks", [*many, "8"], "intra_socket", 8,
                        {"--interface": ["p2p", "rma"], "--parts": [2, 4], "--bytes": OPTIONS.bytes, "--arrivals": ["laggard:4", "laggard:100"]},
                        ["--threads", "4", "--peers", "6"])
            if OPTIONS.cluster and os.geteuid() == 0:
                host = [OPTIONS.cluster, "run", "-n", "4", "-m", "1", "-r", "400mbit", "--"]
                yield Place("Open MPI, 4 hosts", [mpiexec, "-n", "4"], "inter_node", 1,
                            {"--interface": ["p2p", "persistent"], "--parts": [2, 4, 8], "--bytes": OPTIONS.bytes[1:5],
                             "--arrivals": ["laggard:100", "laggard:400"]},
                            ["--threads", "8", "--peers", "2"], host)


def run(*words):
    words = [str(word) for word in words]
    done = subprocess.run(words, capture_output=True, text=True, timeout=900,
                          env=os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "MPISTAIR_DISTURBED": "1"})
    if done.returncode != 0:
        sys.exit(f"finegrain_accuracy: exit {done.returncode} from: {' '.join(words)}\n{done.stderr}")
    return done.stdout


def predict(table, place, group):
    """Sets what is predicted of the rows of a group; all of them get the best number of parts."""
    first = group[0]
    said = json.loads(run(OPTIONS.mpistair, "predict", "--finegrain", "--machine", table, "--level", place.level, "--peers", first["peers"],
                          "--bytes", first["bytes"], "--parts", ",".join(row["parts"] for row in group), "--threads", first["threads"],
                          "--compute-s", first["compute_s"], "--arrivals", first["arrivals"], "--interface", first["interface"],
                          "--ppn", place.ppn, "--draws", 20, "--json"))
    rows = {str(row["parts"]): row for row in said["rows"]}
    for row in group:
        row["predicted"], row["bound"] = (rows[row["parts"]][name] for name in ("speedup_percent", "bound_percent"))
        row["best"] = said["interfaces"][0]["best_parts"]


def groups(rows):
    found = collections.defaultdict(list)
    for row in rows:
        found[row["interface"], row["arrivals"], int(row["bytes"]), row["mpi"], row["ranks"]].append(row)
    return found


def student(freedom):
    """The 97.5 % quantile of Student's t by the expansion around the normal's (Abramowitz and Stegun 26.7.5)."""
    z = statistics.NormalDist().inv_cdf(0.975)
    return z + (z**3 + z) / (4 * freedom) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * freedom**2)


def tied(group):
    """The numbers of parts that the replicates do not tell from the best one, which is the first."""
    best = max(group, key=lambda row: row["measured"])
    freedom = sum(len(row["replicates"]) - 1 for row in group)
    parts = [int(best["parts"])]
    if freedom > 0:
        squares = sum((value - statistics.fmean(row["replicates"]))**2 for row in group for value in row["replicates"])
        for row in group:
            least = student(freedom) * math.sqrt(squares / freedom * (1 / len(row["replicates"]) + 1 / len(best["replicates"])))
            if row is not best and best["measured"] - row["measured"] < least:
                parts.append(int(row["parts"]))
    return parts


def is_near(best, parts):
    return any(best <= 2 * one and one <= 2 * best for one in parts)


def judge(rows):
    """What is said of rows; groups have two rows and more."""
    far = [abs(row["predicted"] - row["measured"]) for row in rows]
    whole = [(group[0]["best"], tied(group), [int(row["parts"]) for row in group]) for group in groups(rows).values() if len(group) > 1]
    strict = sum(is_near(best, ties[:1]) for best, ties, _ in whole)
    near = sum(is_near(best, ties) for best, ties, _ in whole)
    told = [is_near(best, ties) for best, ties, parts in whole if not all(is_near(one, ties) for one in parts)]
    return (f"difference {statistics.median(far) if far else math.nan:.1f} points in the median of {len(rows)} rows; the best K within a "
            f"factor of 2 in {strict} of {len(whole)} (strict), of any K that is not told from the best in {near} of {len(whole)}; "
            f"{len(told)} groups tell a wrong K, of these {sum(told)} are right")


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


def sweep(place, label, seed):
    """Measures all rows once. Returns them, and how long it took."""
    text, out = f"{label}.txt", f"{label}-{seed}.csv"
    pathlib.Path(text).write_text("".join(f"{name} {' '.join(map(str, values))}\n" for name, values in place.sweep.items()))
    pathlib.Path(out).unlink(missing_ok=True)
    began = time.monotonic()
    run(*place.prefix, OPTIONS.mpistair, "finegrain", *place.options, "--iterations", OPTIONS.iterations, "--trials", 1, "--seed", seed,
        "--sweep", os.path.abspath(text), "-o", os.path.abspath(out), "--", *place.launcher)
    took_s = time.monotonic() - began
    with open(out, newline="") as file:
        return list(csv.DictReader(file)), took_s


def combine(rows):
    """One row of all replicates that are not void, in the order of their parts."""
    same = collections.defaultdict(list)
    for row in rows:
        if not row["void"] and row["speedup_percent"]:
            same[row["interface"], row["arrivals"], int(row["bytes"]), int(row["parts"])].append(row)
    for _, replicates in sorted(same.items()):
        row = dict(replicates[0])
        row["replicates"] = [float(one["speedup_percent"]) for one in replicates]
        row["measured"] = statistics.median(row["replicates"])
        yield row


def measure(place):
    label = place.name.replace(" ", "-").replace(",", "").lower()
    table = f"{label}.tbl"
    if not (OPTIONS.keep and os.path.exists(table)):
        run(*place.prefix, OPTIONS.mpistair, "calibrate", "--seconds", OPTIONS.seconds, "--restart", "-o", os.path.abspath(table),
            "--name", "here", "--", *place.launcher)
    sweeps = [sweep(place, label, OPTIONS.seed + i) for i in range(OPTIONS.replicates)]
    rows = [row for replicate, _ in sweeps for row in replicate]
    valid = list(combine(rows))
    n_void = sum(bool(row["void"]) for row in rows)
    overslept = statistics.median(float(row["oversleep_s"]) for row in rows)
    print(f"{place.name}: {len(sweeps)} sweeps of {len(sweeps[0][0])} rows in {', '.join(f'{took:.0f}' for _, took in sweeps)} s, "
          f"{n_void} of {len(rows)} rows void; the last thread overslept {1e6 * overslept:.1f} us in the middle")
    if not valid:
        return []
    for group in groups(valid).values():
        predict(table, place, group)
        ties = tied(group)
        for row in group:
            parts = int(row["parts"])
            mark = ", best" if parts == ties[0] else ", as good" if parts in ties else ""
            print(f"  {row['interface']:11} {row['arrivals']:11} {int(row['bytes']):8} B {parts:>2} parts: measured {row['measured']:+7.1f} % "
                  f"({' '.join(f'{value:+.1f}' for value in row['replicates'])}{mark}), predicted {row['predicted']:+7.1f} %"
                  f"{', best' if parts == row['best'] else ''}, at most {row['bound']:.1f} %")
    print(f"  {judge(valid)}")
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
    print(f"all places: {judge(rows)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mpistair", type=os.path.abspath)
    parser.add_argument("--cluster", type=os.path.abspath)
    parser.add_argument("--mpi", action="append", required=True)
    parser.add_argument("--seconds", default="57")
    parser.add_argument("--iterations", default="20")
    parser.add_argument("--replicates", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--bytes", type=lambda text: [int(one) for one in text.split(",")], default=[4096 * 4**i for i in range(6)])
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", action="store_true", help="take tables that are in --folder already")
    parser.add_argument("--folder")
    OPTIONS = parser.parse_args()
    main()
