"""What the checks of the report share: the tool, traces made of the schema and of SQL, and the count of what failed.

A check that imports it is called with the arguments MPISTAIR SHARE_SQL.
"""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../models"))
from empty_trace import empty_trace  # noqa: E402

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
    connection = empty_trace(path, SQL / "schema.sql")
    for script in scripts:
        connection.executescript(script)
    connection.commit()
    connection.close()
    return path


def end(what):
    """Says how many checks failed, and ends the program by that."""
    print(f"{what}:", "ok" if failures == 0 else f"{failures} failed")
    sys.exit(1 if failures else 0)
