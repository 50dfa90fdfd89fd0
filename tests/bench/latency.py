"""Latency that is put in: run times predicted from one undelayed trace, and measured with every packet delayed.

usage: latency.py MPISTAIR FOLDER_OF_APPS MPIEXEC --cluster SCRIPT --relay PROGRAM --benchmark PROGRAM
                  [--seconds S] [--runs N] [--keep FOLDER]

Two hosts of tests/cluster of one rank each, joined by relay.c. Through it without a delay a table is calibrated. Five programs of
tests/apps/zoo.c, which sleep where others compute (where ranks compute on few processors, the relay takes these from them, and a
run gets longer by more than its latency), run with delays of 10, 20, 50 and 100 us, and with none, in turns; the fastest turn of
each counts, and the fastest one without is the trace that is predicted from. Times are from the first call to the end of the
last. A ping-pong of MPI tells what each delay is worth to a message: on few processors ranks and relay share them, and it is more
than the packets' delay. So much is what `predict --add-latency` adds. Last comes the other way: the latency at which `predict
--tolerance latency` says that a run is 5 % longer, and how much longer the run with it was. Collectives are modelled.

A benchmark, not a test: it fails only where a step does. It needs the machine for itself; the load is printed. 4 minutes.
"""
import argparse
import collections
import contextlib
import csv
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

DELAYS_US = [10, 20, 50, 100]
OPTIONS = None


def run(*words, limit_s=300):
    words = [str(word) for word in words]
    done = subprocess.run(words, capture_output=True, text=True, timeout=limit_s, errors="replace",
                          env=dict(os.environ, OMP_NUM_THREADS="1", MPISTAIR_DISTURBED="1", MPISTAIR_RELAY=OPTIONS.relay))
    if done.returncode != 0:
        sys.exit(f"exit {done.returncode} from: {' '.join(words)}\n{done.stderr[-2000:]}")
    return done.stdout


@contextlib.contextmanager
def hosts(delay_us):
    folder = os.path.abspath("hosts")
    run(OPTIONS.cluster, "up", "-n", 2, "-m", 1, "-D", f"{delay_us}us", "-d", folder)
    try:
        yield [OPTIONS.cluster, "run", "-d", folder, "--"]
    finally:
        run(OPTIONS.cluster, "down", "-d", folder)


def record(prefix, trace, program):
    pathlib.Path(trace).unlink(missing_ok=True)
    run(*prefix, OPTIONS.mpistair, "run", "-o", trace, "--", OPTIONS.mpiexec, "-n", 2, *program)
    return trace


def predict(trace, *options):
    return json.loads(run(OPTIONS.mpistair, "replay", trace, "--machine", "here.tbl", "--law", "flow", "--collectives", "modelled",
                          "--json", *options))


def seconds(trace, sql):
    return 1e-9 * float(run(OPTIONS.mpistair, "query", trace, sql, "--format", "csv").split()[-1])


def measured_s(trace):
    """From the program's first call of MPI to the end of its last: MPI_Init and MPI_Finalize send messages of their own."""
    return seconds(trace, "SELECT max(end_ns) - min(begin_ns) FROM call")


def programs():
    for name, *words in (("healthy_halo", 300), ("healthy_sums", 300), ("sweep", "mended", 40), ("farm", "mended", 40), ("chain", 150)):
        yield name, [f"{OPTIONS.apps}/zoo-openmpi", name, *words]


def percent(share):
    return f"{100 * share:+.1f} %"


def one_way_us(delay_us):
    """Half a round trip of up to 16 bytes, as the benchmark of the calibration has it: the median of its samples."""
    with hosts(delay_us) as prefix:
        lines = run(*prefix, OPTIONS.mpiexec, "-n", 2, OPTIONS.benchmark, "pingpong", "--seconds", 4).splitlines()
    rows = csv.DictReader(line for line in lines if not line.startswith("#"))
    return 1e6 * statistics.median(float(row["seconds"]) for row in rows if int(row["bytes"]) <= 16)


def main():
    times = collections.defaultdict(list)
    all_programs = dict(programs())
    with hosts(0) as prefix:
        run(*prefix, OPTIONS.mpistair, "calibrate", "--seconds", OPTIONS.seconds, "-o", "here.tbl", "--name", "here", "--",
            OPTIONS.mpiexec, "-n", 2, limit_s=300 + OPTIONS.seconds)
    way_us = {delay_us: one_way_us(delay_us) for delay_us in [0, *DELAYS_US]}
    added_us = {delay_us: way - way_us[0] for delay_us, way in way_us.items()}
    print(f"half a round trip of MPI: {way_us[0]:.1f} us at once;", ", ".join(
        f"{added_us[delay_us]:+.1f} us with {delay_us} us" for delay_us in DELAYS_US), flush=True)
    for turn in range(OPTIONS.runs):
        for delay_us in [0, *DELAYS_US]:
            with hosts(delay_us) as prefix:
                for name, program in all_programs.items():
                    times[name, delay_us].append((measured_s(record(prefix, f"{name}.{delay_us}.{turn}.db", program)), turn))
    print("| program | delay, us | added, us | measured, s (slowest) | longer | predicted, s | longer | error |\n| --- | --- | --- | --- | --- "
          "| --- | --- | --- |")
    errors, traces = [], {name: f"{name}.0.{min(times[name, 0])[1]}.db" for name in all_programs}
    for name, trace in traces.items():
        before, around_s = None, seconds(trace, "SELECT max(end_ns) - min(begin_ns) FROM process") - measured_s(trace)
        for delay_us in [0, *DELAYS_US]:
            found = predict(trace, *(["--add-latency", f"{added_us[delay_us]:.2f}us"] if delay_us else []))
            predicted_s = found["what_if" if delay_us else "run"]["predicted_s"] - around_s
            real_s = min(times[name, delay_us])[0]
            before = before or (real_s, predicted_s)
            error = predicted_s / real_s - 1
            errors += [(abs(error), name, delay_us)] if delay_us else []
            print(f"| {name} | {delay_us} | {added_us[delay_us]:.1f} | {real_s:.3f} ({max(times[name, delay_us])[0]:.3f}) | "
                  f"{percent(real_s / before[0] - 1)} | {predicted_s:.3f} | {percent(predicted_s / before[1] - 1)} | {percent(error)} |", flush=True)
    print(f"\nerror of the run time with a delay: median {100 * statistics.median(e for e, *_ in errors):.1f} %, worst "
          f"{100 * max(errors)[0]:.1f} % ({max(errors)[1]}, {max(errors)[2]} us), of {len(errors)}\n")
    print("| program | 1 % longer by | 5 % | 10 % | measured with the delay of 5 % |\n| --- | --- | --- | --- | --- |")
    for name, trace in traces.items():
        told_us = [1e6 * row["added_s"] if row["added_s"] else None for row in predict(trace, "--tolerance", "latency")["tolerance"]["rows"]]
        longer = "-"
        if told_us[1] is not None:
            with hosts(round(told_us[1], 1)) as prefix:
                real_s = min(measured_s(record(prefix, "run.db", all_programs[name])) for _ in range(OPTIONS.runs))
            longer = percent(real_s / min(times[name, 0])[0] - 1)
        words = [f"{value:.1f} us" if value is not None else "-" for value in told_us]
        print(f"| {name} | {' | '.join(words)} | {longer} |", flush=True)


def parse():
    parser = argparse.ArgumentParser()
    for name in "mpistair", "apps", "mpiexec":
        parser.add_argument(name, type=os.path.abspath)
    for name in "cluster", "relay", "benchmark", "keep":
        parser.add_argument(f"--{name}", type=os.path.abspath)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument("--runs", type=int, default=3)
    return parser.parse_args()


if __name__ == "__main__":
    OPTIONS = parse()
    print(f"load {os.getloadavg()[0]:.1f}, {os.cpu_count()} processors")
    with contextlib.nullcontext(OPTIONS.keep) if OPTIONS.keep else tempfile.TemporaryDirectory() as scratch:
        os.makedirs(scratch, exist_ok=True)
        os.chdir(scratch)
        main()
        os.chdir("/")
    print(f"load {os.getloadavg()[0]:.1f}")
