"""A job that works between post and wait: the report has the section on overlap in every format, as the query says.

usage: check_overlap.py MPISTAIR PRELOAD PROGRAM LAUNCHER ...
"""
import csv
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile

MPISTAIR, PRELOAD, PROGRAM, *LAUNCHER = sys.argv[1:]
STEPS, WORK_US = 10, 3000
failures = []


def run(*command, **environment):
    done = subprocess.run([*map(str, command)], capture_output=True, timeout=100, text=True, env=dict(os.environ, **environment))
    check(command[1], done.returncode == 0, f"exit {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def check(name, good, detail):
    if not good:
        failures.append(f"{name}: {detail}")


def record(trace, work_us):
    run(*LAUNCHER, PROGRAM, STEPS, 1000, work_us, LD_PRELOAD=PRELOAD, MPISTAIR_OUTPUT=str(trace),
        OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    run(MPISTAIR, "predict", trace, "--rounds", "--machine", "epyc-rome", "--model", "staircase,postal")


with tempfile.TemporaryDirectory() as temporary:
    trace = pathlib.Path(temporary) / "trace.db"
    record(trace, WORK_US)
    report = json.loads(run(MPISTAIR, "report", trace, "--json"))
    query = {(row["model"], row["rank"]): row for row in json.loads(run(MPISTAIR, "query", trace, "overlap", "--json"))}
    check("work", all(rank["actual_s"] - rank["in_mpi_s"] >= STEPS * WORK_US * 1e-6 for rank in report["ranks"]), report["ranks"])
    check("json", report["overlap"]["matters"] and sorted(report["overlap"]["longest_outside"]) == [0, 1] and
          len(report["overlap"]["models"]) == 2, report["overlap"])
    for rank in report["ranks"]:
        for model in rank["models"]:
            row = query[model["model"], rank["rank"]]
            check("json", all(abs(model[key] - row[key]) <= 1e-12 for key in ("outside_s", "visible_s", "in_mpi_s", "model_s")),
                  (model, row))
            # Messages of 1000 bytes take some microseconds: the work hides all of it.
            check("visible", model["visible_s"] == 0 and model["model_s"] > 0, model)
    rows = list(csv.DictReader(io.StringIO(run(MPISTAIR, "report", trace, "--format", "csv"))))
    check("csv", len(rows) == 4 and all(abs(float(row["outside_s"]) - query[row["model"], int(row["rank"])]["outside_s"]) < 1e-12
                                       and float(row["visible_s"]) == 0 for row in rows), rows)
    for kind in ("text", "html"):
        text = run(MPISTAIR, "report", trace, "--all", "--format", kind)
        check(kind, "Overlap" in text and "of the time in rounds passed outside MPI" in text, text)
print("\n".join(failures) or "overlap: ok")
sys.exit(1 if failures else 0)
