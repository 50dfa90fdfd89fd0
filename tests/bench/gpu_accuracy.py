"""How near `mpistair predict --gpu` comes to the ways between GPUs as `mpistair calibrate --gpu` measures them: a table fitted
on every second size predicts the sizes between.

Usage: gpu_accuracy.py MPISTAIR [--raw RAW.csv] [--seconds S] [-- MPIEXEC -n RANKS]

Measures with the launcher, or takes samples that were measured before (RAW.csv). Prints of each level, way, number of
processes and of messages the median of the relative errors, and that of all. Without a GPU it says so and exits with 77: skipped.
"""
import argparse
import collections
import csv
import os
import statistics
import subprocess
import sys
import tempfile

PATHS = ("gpudirect", "3-step", "extra-message", "duplicate-pointer")
SKIPPED = 77


def run(*words, **options):
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=900, **options)


def must(*words):
    done = run(*words)
    if done.returncode != 0:
        sys.exit(f"gpu_accuracy: exit {done.returncode} from: {' '.join(map(str, words))}\n{done.stderr}")
    return done.stdout


def measure(tool, seconds, launcher):
    """The samples' file."""
    done = run(tool, "calibrate", "--gpu", "also", "--seconds", seconds, "--restart", "-o", "all.tbl", "--", *launcher)
    said = done.stdout + done.stderr
    for line in said.splitlines():
        if line.startswith("gpu: not available: "):
            print("no GPU here: " + line.removeprefix("gpu: not available: "))
            sys.exit(SKIPPED)
    if done.returncode != 0:
        sys.exit(f"gpu_accuracy: exit {done.returncode} from mpistair calibrate\n{said}")
    return "all.raw.csv"


def halve(raw):
    """Writes the samples of every second size to half.csv, comments too. Returns the ways' times at the other sizes:
    {(level, way, n, count, bytes): [seconds]}."""
    with open(raw, newline="") as file:
        lines = file.read().splitlines()
    header = next(line for line in lines if line and not line.startswith("#")).split(",")
    rows = {number: dict(zip(header, line.split(","))) for number, line in enumerate(lines)
            if line and not line.startswith("#") and line.split(",") != header}
    sizes = collections.defaultdict(set)
    for row in rows.values():
        sizes[row["benchmark"]].add(int(row["bytes"]))
    kept = {name: set(sorted(found)[::2]) for name, found in sizes.items()}
    left_out = {number for number, row in rows.items()
                if row["benchmark"] in ("pingpong", "algorithm1", "injection", "gpu_copy", "gpu_paths")
                and int(row["bytes"]) not in kept[row["benchmark"]]}
    with open("half.csv", "w") as file:
        file.write("\n".join(line for number, line in enumerate(lines) if number not in left_out) + "\n")
    times = collections.defaultdict(list)
    for number in left_out:
        row = rows[number]
        if row["benchmark"] == "gpu_paths" and row["variant"] in PATHS:
            times[row["level"], row["variant"], int(row["n"]), int(row["count"]), int(row["bytes"])].append(float(row["seconds"]))
    return times


def predict(tool, level, way, n, count, size):
    said = must(tool, "predict", "--gpu", "--machine", os.path.abspath("half.tbl"), "--level", level, "--bytes", size, "--messages", count,
                "--ppn", n, "--path", way, "--format", "csv")
    return next(float(row["time_s"]) for row in csv.DictReader(said.splitlines()) if row["path"] == way)


def main():
    arguments, launcher = sys.argv[1:], []
    if "--" in arguments:
        arguments, launcher = arguments[:arguments.index("--")], arguments[arguments.index("--") + 1:]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mpistair", type=os.path.abspath)
    parser.add_argument("--raw", type=os.path.abspath)
    parser.add_argument("--seconds", default="120")
    options = parser.parse_args(arguments)
    if not options.raw and not launcher:
        parser.error("no samples: expected --raw RAW.csv, or a launcher behind --")
    with tempfile.TemporaryDirectory() as scratch:
        os.chdir(scratch)
        times = halve(options.raw or measure(options.mpistair, options.seconds, launcher))
        must(options.mpistair, "machine", "fit", "half.csv", "--name", "half", "-o", "half.tbl")
        errors = collections.defaultdict(list)
        for (level, way, n, count, size), seconds in sorted(times.items()):
            measured = statistics.median(seconds)
            errors[level, way, n, count].append(abs(predict(options.mpistair, level, way, n, count, size) / measured - 1))
        os.chdir("/")
    if not errors:
        sys.exit("gpu_accuracy: no time of a way at the sizes that were left out")
    for (level, way, n, count), found in errors.items():
        print(f"{level:13} {way:18} {n} process{'es' if n > 1 else ''}, {count} message{'s' if count > 1 else ''}: "
              f"median relative error {100 * statistics.median(found):.1f} %, largest {100 * max(found):.1f} %, {len(found)} sizes")
    everything = [error for found in errors.values() for error in found]
    print(f"all: median relative error {100 * statistics.median(everything):.1f} % of {len(everything)}; wanted: at most 15 %")


if __name__ == "__main__":
    main()
