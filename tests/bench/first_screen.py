"""User time and peak memory of `mpistair report` on a trace of about 1e6 messages, beside the user time of going through these
messages once in the same process's turn: SELECT count(*), sum(bytes) FROM message_row. Machines are shared, so that the ratio of
the two is what can be compared; each is the least of several runs, taken in turn. The first report
keeps what it finds: the budget of those that follow is 2 s and 200 MiB. Last, what `mpistair export` takes for a few ranks.

usage: first_screen.py MPISTAIR MANY.SQL SHARE_SQL [STEPS]      600 ranks send a message a step; 1664 unless told
"""
import os
import pathlib
import resource
import sqlite3
import sys
import tempfile

MPISTAIR, MANY, SQL = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).read_text(), pathlib.Path(sys.argv[3]).absolute()
STEPS = int(sys.argv[4]) if len(sys.argv) > 4 else 1664
TURNS = 3


def make(path):
    """The trace of the test of the page, of more steps."""
    steps = f"CREATE TEMP TABLE step(i INTEGER PRIMARY KEY); WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c " \
            f"WHERE i + 1 < {STEPS}) INSERT INTO step SELECT i FROM c;"
    longer = MANY.replace("n a, n s WHERE s.i < 10", "n a, step s").replace("11000000", str((STEPS + 1) * 1000000))
    if longer.count("step s") != 2:
        sys.exit("many.sql no longer has the steps that this benchmark makes more of")
    database = sqlite3.connect(path)
    database.execute("PRAGMA synchronous = OFF")
    database.executescript((SQL / "schema.sql").read_text() + "BEGIN;" + steps + longer + "COMMIT;")
    messages = database.execute("SELECT count(*) FROM message_row").fetchone()[0]
    database.close()
    return messages


def of_child(work):
    """User seconds and peak MiB of a child process that does the work."""
    child = os.fork()
    if child == 0:
        work()
        os._exit(1)
    _, status, usage = os.wait4(child, 0)
    if status != 0:
        sys.exit(f"a child process ended with status {status}")
    return usage.ru_utime, usage.ru_maxrss / 1024


def scan(path):
    begin = resource.getrusage(resource.RUSAGE_SELF).ru_utime
    database = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    database.execute("SELECT count(*), sum(bytes) FROM message_row").fetchone()
    return resource.getrusage(resource.RUSAGE_SELF).ru_utime - begin


def report(path, output, options):
    os.environ["MPISTAIR_SHARE"] = str(SQL.parent)
    os.execv(MPISTAIR, [MPISTAIR, "report", str(path), "-o", str(output), *options])


def export(path, output):
    os.environ["MPISTAIR_SHARE"] = str(SQL.parent)
    os.execv(MPISTAIR, [MPISTAIR, "export", str(path), "--to", "perfetto", "--ranks", "0-3", "--from", "40%", "--to", "60%", "-o", str(output)])


def forget(path):
    """What a report has kept in the trace is void: the next one finds anew."""
    database = sqlite3.connect(path)
    database.execute("DROP TABLE IF EXISTS kept_by")
    database.commit()
    database.close()


def later_reports(path, output):
    forget(path)
    first, later = (of_child(lambda: report(path, output, [])) for _ in range(2))
    ends = of_child(lambda: export(path, output))
    print(f"first report that keeps what it finds: {first[0]:.2f} s of user time, {first[1]:.0f} MiB; those that follow: {later[0]:.2f} s, "
          f"{later[1]:.0f} MiB; export of four ranks, a fifth of the run: {ends[0]:.2f} s, {ends[1]:.0f} MiB", flush=True)
    if later[0] > 2 or later[1] > 200:
        sys.exit("a later report takes more than 2 s or 200 MiB")


with tempfile.TemporaryDirectory(prefix="mpistair-bench-") as name:
    trace, output = pathlib.Path(name) / "trace.db", pathlib.Path(name) / "output"
    n_messages = make(trace)
    scan(trace)  # the file is in memory from here on
    for what, chosen in (("first screen", []), ("--all", ["--all"]), ("--format json", ["--format", "json"])):
        scans, reports, peaks = [], [], []
        for _ in range(TURNS):
            forget(trace)
            scans.append(scan(trace))
            user_s, peak = of_child(lambda: report(trace, output, chosen))
            reports.append(user_s)
            peaks.append(peak)
        print(f"{n_messages} messages, {what}: {min(reports):.2f} s of user time, {min(reports) / min(scans):.1f} times a scan of the "
              f"messages ({min(scans):.3f} s), peak {max(peaks):.0f} MiB", flush=True)
    later_reports(trace, output)
