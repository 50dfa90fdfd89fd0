"""What the checks of the report share: the tool, traces made of the schema and of SQL, and the count of what failed.

A check that imports it is called with the arguments MPISTAIR SHARE_SQL.
"""
import os
import pathlib
import sqlite3
import subprocess
import sys

MPISTAIR, SQL = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).absolute()
failures = 0


def check(name, good, detail=""):
    global failures
    if not good:
        failures += 1
        print(f"FAILED {name}: {detail}")


def run(*arguments):
    environment = dict(os.environ, MPISTAIR_SHARE=str(SQL.parent), LC_ALL="C.UTF-8")
    done = subprocess.run([MPISTAIR, *map(str, arguments)], capture_output=True, timeout=60, env=environment)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def database(path, *scripts):
    path.unlink(missing_ok=True)
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA synchronous = OFF")  # nothing of a test need survive a crash
    connection.executescript((SQL / "schema.sql").read_text())
    for script in scripts:
        connection.executescript(script)
    connection.commit()
    connection.close()
    return path


def end(what):
    """Says how many checks failed, and ends the program by that."""
    print(f"{what}:", "ok" if failures == 0 else f"{failures} failed")
    sys.exit(1 if failures else 0)
