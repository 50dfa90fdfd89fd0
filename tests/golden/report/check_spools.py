"""report and query on the spools of a job, which they ingest first, and again when a spool is newer than the trace.

usage: check_spools.py MPISTAIR PRELOAD PROGRAM LAUNCHER ...
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

MPISTAIR, PRELOAD, PROGRAM, *LAUNCHER = sys.argv[1:]
failures = []


def run(*command, **environment):
    done = subprocess.run(command, capture_output=True, timeout=100, text=True, env=dict(os.environ, **environment))
    return done.returncode, done.stdout, done.stderr


def check(name, good, detail):
    if not good:
        failures.append(f"{name}: {detail}")


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary) / "the spools"
    code, out, err = run(*LAUNCHER, PROGRAM, "--points", "2000", LD_PRELOAD=PRELOAD, MPISTAIR_SPOOL=str(folder),
                         MPISTAIR_INGEST="0", OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    check("job", code == 0, f"exit {code}: {out}{err}")
    spools = sorted(folder.glob("*.mpispool"))
    check("job", len(spools) == 2, f"spools: {spools}")
    code, out, err = run(MPISTAIR, "report", str(folder), "--json")
    check("folder", code == 0, f"exit {code}: {err}")
    report = json.loads(out)
    check("folder", report["completeness"]["verdict"] == "complete" and report["run"]["messages"] > 0, out[:2000])
    trace = folder / "trace.db"
    first = trace.stat().st_mtime_ns
    code, out, err = run(MPISTAIR, "query", str(spools[0]), "SELECT count(*) AS n FROM message", "--json")
    check("one spool", code == 0 and json.loads(out) == [{"n": report["run"]["messages"]}], f"exit {code}: {out}{err}")
    check("one spool", trace.stat().st_mtime_ns == first and err == "", f"ingested again: {err}")
    time.sleep(0.02)
    os.utime(spools[0])
    code, out, err = run(MPISTAIR, "query", str(folder), "completeness")
    check("newer spool", code == 0 and trace.stat().st_mtime_ns > first, f"exit {code}, not ingested again: {err}")
    whole = spools[1].read_bytes()
    spools[1].write_bytes(b"no spool at all")
    before = trace.read_bytes()
    os.utime(spools[1], (time.time() + 5, time.time() + 5))
    code, out, err = run(MPISTAIR, "report", str(folder))
    check("damaged spool", (code == 1 and out == "" and trace.read_bytes() == before) or "incomplete" in out,
          f"exit {code}: {out}{err}")
print("\n".join(failures) or "spools: ok")
sys.exit(1 if failures else 0)
