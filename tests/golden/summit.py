"""machine fit on the published Summit ping-pong samples gives Tables I and III of Bienz 2021 (heterogeneous), as printed, to 1 %.

Also: the breaks are found; relative weights bring the worst error of the on-node rendezvous line from 21 % to 7 %; a
line a level is closer to the samples than one line for all levels (the statement of Bienz 2018, Figs. 2 and 3).

Usage: summit.py MPISTAIR SAMPLES; exit status 77 (skipped) where the samples are absent.
"""
import csv
import os
import subprocess
import sys
import tempfile

# (level, protocol): alpha s, beta s/B
TABLE_3 = {
    ("intra_socket", "short"): (3.51e-07, 2.62e-10),
    ("intra_socket", "eager"): (4.73e-07, 6.95e-11),
    ("intra_socket", "rendezvous"): (2.46e-06, 3.31e-11),
    ("inter_socket", "short"): (9.08e-07, 1.46e-09),
    ("inter_socket", "eager"): (1.17e-06, 2.16e-10),
    ("inter_socket", "rendezvous"): (5.81e-06, 1.46e-10),
    ("inter_node", "short"): (1.38e-06, 3.82e-10),
    ("inter_node", "eager"): (1.85e-06, 3.93e-10),
    ("inter_node", "rendezvous"): (6.56e-06, 8.51e-11),
}
TABLE_1 = {
    ("intra_socket", "any"): (1.68e-05, 1.86e-11),
    ("inter_socket", "any"): (1.80e-05, 2.09e-11),
    ("inter_node", "any"): (4.96e-06, 1.69e-10),
}


def fit(tool, rows, folder, *options):
    """The table that `machine fit` writes for the rows, as {(level, protocol, quantity): value}."""
    raw, table = os.path.join(folder, "raw.csv"), os.path.join(folder, "out.tbl")
    with open(raw, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows(rows)
    subprocess.run([tool, "machine", "fit", raw, "--name", "summit", "-o", table, *options], check=True, timeout=60)
    words = [line.split() for line in open(table) if not line.startswith(("name", "source"))]
    return {(w[0], w[1], w[2]): float(w[4]) for w in words}


def compare(found, expected):
    bad = 0
    for (level, protocol), (alpha, beta) in expected.items():
        for name, value, printed in (
            ("tau", found[level, protocol, "tau"], alpha),
            ("1/bw", 1 / found[level, protocol, "bw"], beta),
        ):
            if abs(value - printed) > 0.01 * printed:
                print(f"{level} {protocol} {name}: {value:.4g}, the paper has {printed:.4g}")
                bad += 1
    return bad


def seconds(table, level, bytes):
    """The time of one message as the table has it."""
    protocols = [p for p in ("short", "eager", "rendezvous") if (level, p, "tau") in table]
    used = [p for p in protocols if table.get((level, p, "threshold"), 0) <= bytes][-1]
    return table[level, used, "tau"] + bytes / table[level, used, "bw"]


def worst_rendezvous(tool, cpu, folder):
    """The largest relative error of the on-node rendezvous lines against the minimum of each size, by method."""
    least, worst = {}, {}
    for row in cpu:
        point = row["level"], int(row["bytes"])
        if point[0] != "inter_node" and point[1] >= 16384:
            least[point] = min(least.get(point, float("inf")), float(row["seconds"]))
    for method in ("ols", "relative"):
        found = fit(tool, cpu, folder, "--method", method, "--statistic", "min", "--thresholds", "0,256,16384")
        worst[method] = max(abs(seconds(found, *point) / t - 1) for point, t in least.items())
        print(f"on-node rendezvous, {method}: worst error {100 * worst[method]:.1f} %")
    return 0 if 0.20 < worst["ols"] < 0.22 and worst["relative"] < 0.075 else 1


def node_aware(tool, cpu, folder):
    """The mean relative error over the samples of a line a level, and of one line for all, per protocol."""
    thresholds = ("--thresholds", "0,256,16384")
    aware = fit(tool, cpu, folder, *thresholds)
    one = fit(tool, [dict(row, level="inter_node") for row in cpu], folder, *thresholds)
    print("mean relative error: level, samples, a line a level, one line for all levels")
    bad = 0
    for level in ("intra_socket", "inter_socket", "inter_node", None):
        chosen = [row for row in cpu if level in (None, row["level"])]
        errors = [0.0, 0.0]
        for row in chosen:
            bytes, actual = int(row["bytes"]), float(row["seconds"])
            errors[0] += abs(seconds(aware, row["level"], bytes) / actual - 1) / len(chosen)
            errors[1] += abs(seconds(one, "inter_node", bytes) / actual - 1) / len(chosen)
        print(f"  {level or 'all':12}  {len(chosen):5}  {100 * errors[0]:5.1f} %  {100 * errors[1]:5.1f} %")
        # Most samples are between nodes: one line for all is the line of that level, and as good there.
        bad += errors[0] > errors[1] + 0.01 if level == "inter_node" else errors[0] >= errors[1]
    return bad


def main():
    tool, samples = sys.argv[1:]
    if not os.path.exists(samples):
        print(f"{samples} is absent: skipped")
        return 77
    rows = list(csv.DictReader(open(samples)))
    cpu, gpu = ([row for row in rows if row["path"] == path] for path in ("cpu", "gpu"))
    with tempfile.TemporaryDirectory() as folder:
        ols = ("--method", "ols", "--statistic", "min")
        bad = compare(fit(tool, cpu, folder, *ols, "--thresholds", "0,256,16384"), TABLE_3)
        bad += compare(fit(tool, gpu, folder, *ols, "--thresholds", "0"), TABLE_1)
        bad += worst_rendezvous(tool, cpu, folder) + node_aware(tool, cpu, folder)
        found = fit(tool, cpu, folder, "--statistic", "min", "--thresholds", "auto")
        for level in ("intra_socket", "inter_socket", "inter_node"):
            for protocol, expected in (("eager", 256), ("rendezvous", 16384)):
                value = found[level, protocol, "threshold"]
                if value != expected:
                    print(f"{level} {protocol}: threshold {value:g} found, expected {expected}")
                    bad += 1
    return 1 if bad else 0


sys.exit(main())
