"""Ingest on 1, 2, 4 and 8 cores: the same rows, of a run with messages and of one of totals alone whose ranks do not all fit into
what threads may hold. Killed, and without room on the disk, it leaves the trace that was there, whatever its threads do.

usage: check_jobs.py MPISTAIR MAKE_SPOOLS [INGEST_UNDER_THREADSANITIZER]
"""
import hashlib
import os
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

MPISTAIR, MAKE_SPOOLS = sys.argv[1:3]
SANITIZED = sys.argv[3:]
wrong = []


def check(what, is_right, found=""):
    if not is_right:
        wrong.append(f"{what}: {found}")


def rows_of(database):
    """A digest of all rows of each table, in their order."""
    with sqlite3.connect(f"file:{database}?immutable=1", uri=True) as connection:
        check("integrity", connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)])
        tables = [name for name, in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        return {table: hashlib.sha256("".join(map(repr, connection.execute(f"SELECT * FROM {table}"))).encode()).hexdigest()
                for table in tables}


def ingest(folder, database, jobs, **more):
    return subprocess.run([MPISTAIR, "ingest", folder, "-o", database, "--quiet", "--jobs", str(jobs)], capture_output=True, text=True,
                          timeout=120, **more)


def no_room():
    """Lets no file grow beyond a part of the trace, as a full disk would."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))


for arguments in ("48", "16", "200"), ("900", "64", "1000000", "sums"):
    with tempfile.TemporaryDirectory() as top:
        folder, database = os.path.join(top, "spools"), os.path.join(top, "trace.db")
        os.mkdir(folder)
        subprocess.run([MAKE_SPOOLS, folder, *arguments], check=True)
        what = " ".join(arguments)
        serial = None
        messages = "sums" not in arguments
        for jobs in (1, 2, 4, 8) if messages else (1, 3):
            done = ingest(folder, database, jobs)
            check(f"{what}, {jobs} jobs", done.returncode == 0, done.stderr)
            rows = rows_of(database)
            serial = serial or rows
            check(f"{what}, {jobs} jobs", rows == serial, [table for table in rows if rows[table] != serial[table]])
        if not messages:
            continue
        for program in SANITIZED:
            os.unlink(database)
            done = subprocess.run([program, folder, database, "3"], capture_output=True, text=True, timeout=200)
            check("ThreadSanitizer", done.returncode == 0 and not done.stderr, done.stderr)
            check("ThreadSanitizer, rows", rows_of(database) == serial)
            divided, gathered = os.path.join(folder, "divided.db"), os.path.join(folder, "gathered.db")
            done = subprocess.run([program, folder, divided, "3", "4"], capture_output=True, text=True, timeout=200)
            check("ThreadSanitizer, shards", done.returncode == 0 and not done.stderr, done.stderr)
            done = subprocess.run([MPISTAIR, "gather", divided, "-o", gathered, "--quiet"], capture_output=True, text=True, timeout=60)
            check("ThreadSanitizer, rows of shards", done.returncode == 0 and rows_of(gathered) == serial, done.stderr)
        done = ingest(folder, database, 4, preexec_fn=no_room)
        check("full disk", done.returncode == 1 and len(done.stderr.splitlines()) == 1 and "cannot be written" in done.stderr, done.stderr)
        check("full disk leaves nothing", sorted(os.listdir(top)) == ["spools", "trace.db"], os.listdir(top))
        check("full disk, trace before", rows_of(database) == serial)
        for after_s in 0.02, 0.1, 0.3:
            process = subprocess.Popen([MPISTAIR, "ingest", folder, "-o", database, "--quiet", "--jobs", "4"], stderr=subprocess.DEVNULL)
            time.sleep(after_s)
            process.kill()
            process.wait()
            check(f"killed after {after_s} s", rows_of(database) == serial)
        done = ingest(folder, database, 4)
        check("after kills", done.returncode == 0 and rows_of(database) == serial, done.stderr)
done = ingest("none", "none.db", 0)
check("--jobs 0", done.returncode == 2 and "--jobs" in done.stderr, done.stderr)
for line in wrong:
    print(line)
sys.exit(1 if wrong else 0)
