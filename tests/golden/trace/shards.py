"""What the tests of traces in shards share: the rows of a trace, and cases as spools.

Of a test whose first arguments are MPISTAIR GEN_WRAPPERS MPI.TBL.
"""
import os
import shlex
import sqlite3
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import run
import spool

MPISTAIR, GEN_WRAPPERS, TABLE = (os.path.abspath(path) for path in sys.argv[1:4])
DIVIDED = ("message_row", "call_row", "round_process")
# What a trace in one file has no rows of.
OF_SHARDS = ("shard", "form_sum")
wrong = []


def check(what, is_right, found=""):
    if not is_right:
        wrong.append(f"{what}: {found}")


def tool(*words, **more):
    return subprocess.run([MPISTAIR, *words], capture_output=True, text=True, timeout=60, **more)


def query(database, sql):
    done = tool("query", database, sql, "--format", "csv")
    return done.stdout if done.returncode == 0 else done.stderr


def tables_of(database, without):
    with sqlite3.connect(f"file:{database}?immutable=1", uri=True) as connection:
        names = [name for name, in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        return {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in names if name not in without}


def write_spools(path, case, folder):
    script = spool.Script(*spool.read_functions(GEN_WRAPPERS, TABLE))
    script.read([line.replace("{case}", os.path.dirname(os.path.abspath(path))) for line in case["script"]])
    script.write(folder)


def ingest(folder, database, path, case, *options):
    options = [*options, *shlex.split(case["options"].replace("{case}", os.path.dirname(os.path.abspath(path))))]
    return tool("ingest", folder, "-o", database, "--quiet", *options)


def end():
    for line in wrong:
        print(line)
    return 1 if wrong else 0
