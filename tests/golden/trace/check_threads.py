"""Golden cases under ThreadSanitizer, on four cores: no report, and the rows that one core gives.

usage: check_threads.py MPISTAIR GEN_WRAPPERS MPI.TBL CASE ... [INGEST_UNDER_THREADSANITIZER]
"""
import os
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import run
import spool

MPISTAIR, GEN_WRAPPERS, TABLE = sys.argv[1:4]
CASES = [word for word in sys.argv[4:] if word.endswith(".case")]
SANITIZED = [word for word in sys.argv[4:] if not word.endswith(".case")]
FUNCTIONS = spool.read_functions(GEN_WRAPPERS, TABLE)
SKIPPED = 77


def rows_of(database):
    with sqlite3.connect(f"file:{database}?immutable=1", uri=True) as connection:
        return list(connection.iterdump())


def wrong_of(path):
    case, wrong = run.read_case(path), []
    if case["options"] or case["exit"] != 0:
        return [f"{path}: the program here knows no options, and expects a trace"]
    with tempfile.TemporaryDirectory() as top:
        folder, database = os.path.join(top, "spools"), os.path.join(top, "trace.db")
        os.mkdir(folder)
        script = spool.Script(*FUNCTIONS)
        script.read([line.replace("{case}", os.path.dirname(os.path.abspath(path))) for line in case["script"]])
        script.write(folder)
        subprocess.run([MPISTAIR, "ingest", folder, "-o", database, "--quiet", "--jobs", "1"], check=True, capture_output=True, timeout=60)
        serial = rows_of(database)
        os.unlink(database)
        done = subprocess.run([SANITIZED[0], folder, database, "4"], capture_output=True, text=True, timeout=60)
        if done.returncode != 0 or "ThreadSanitizer" in done.stderr:
            wrong.append(f"{path}: {done.stderr}")
        elif rows_of(database) != serial:
            wrong.append(f"{path}: other rows than those of one core")
    return wrong


if not SANITIZED:
    print("no ThreadSanitizer")
    sys.exit(SKIPPED)
found = [line for path in CASES for line in wrong_of(path)]
for line in found:
    print(line)
sys.exit(1 if found else 0)
