"""SIGINT and SIGTERM in the middle of the work: a shell shows 130 and 143, the output of before stays as it was, nothing lies
beside it, and a trace that was being changed is as before and can be read by somebody who may not write.

A command is signalled as soon as it has begun to write; one that was faster is run again.

usage: check_signals.py MPISTAIR SHARE_SQL SPOOLS_PY GEN_WRAPPERS MPI_TBL
"""
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from made_trace import MPISTAIR, SQL, check, database, end, run

TRACE_TESTS, GEN_WRAPPERS, TABLE = sys.argv[3:6]
sys.path.insert(0, TRACE_TESTS)
import spool  # found in that folder

HERE = pathlib.Path(__file__).parent
environment = dict(os.environ, MPISTAIR_SHARE=str(SQL.parent))
ATTEMPTS = 40


def as_in_a_terminal():
    """A job in the background ignores SIGINT, and so would its children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def signalled(folder, number, begun, *arguments, before):
    """Runs mpistair in folder, sends the signal once begun(folder) says so. Returns what a shell would show, or None where
    it ended by itself each time."""
    for _ in range(ATTEMPTS):
        process = subprocess.Popen([MPISTAIR, *arguments], cwd=folder, env=environment, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.PIPE, preexec_fn=as_in_a_terminal)
        while not begun(folder) and process.poll() is None:
            time.sleep(0.0005)
        process.send_signal(number)
        process.stderr.read()
        code = process.wait(timeout=60)
        if code != 0 and not was_done(folder, arguments, before):
            return 128 - code if code < 0 else code
        for name, content in before.items():  # it was faster, and has replaced its output
            (folder / name).write_bytes(content)
    return None


def was_done(folder, arguments, before):
    """Says whether a command that was signalled had replaced its output by all of it: the signal came before its exit."""
    found = {name: (folder / name).read_bytes() for name in before if (folder / name).exists()}
    if found == before:
        return False
    subprocess.run([MPISTAIR, *arguments], cwd=folder, env=environment, capture_output=True, timeout=60, check=True)
    done = found == {name: (folder / name).read_bytes() for name in before}
    for name, content in found.items():
        (folder / name).write_bytes(content)
    return done


def begun_beside(name):
    """Says whether there is a temporary file for that output."""
    return lambda folder: any(path.name.startswith(name + ".") for path in folder.iterdir())


def ends(what, folder, number, begun, *arguments):
    """Signals the command and holds the folder against what it was."""
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    code = signalled(folder, number, begun, *arguments, before=before)
    check(f"{what}: exit code", code == 128 + number, code)
    after = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    check(f"{what}: files", sorted(before) == sorted(after), sorted(set(after) ^ set(before)))
    for name in before:
        check(f"{what}: {name}", after.get(name) == before[name], "is not as before")


def many_rounds(folder):
    """A trace of 16 ranks on two nodes with 300 kinds of round, which to predict takes some tenths of a second."""
    path = database(folder / "t.db", (HERE / "halo.sql").read_text(), """
        WITH RECURSIVE k(n) AS (SELECT 10 UNION ALL SELECT n + 1 FROM k WHERE n < 310) INSERT INTO kind SELECT n, 4, 4, n FROM k;
        INSERT INTO round(id, kind_id, begin_ns, end_ns) SELECT id * 10, id, id * 100000000, id * 100000000 + 400000 FROM kind WHERE id >= 10;
        INSERT INTO round_process SELECT r.id, p.rank, r.begin_ns, r.begin_ns + 100000, 0 FROM round r, process p WHERE r.kind_id >= 10;
        INSERT INTO message SELECT NULL, p.rank, (p.rank + 1) % 4, 0, 7, 1000 * r.kind_id, 'inter_node', r.id, r.begin_ns, r.begin_ns + 90000,
          r.begin_ns, r.begin_ns + 95000, 1000 * r.kind_id, 'MPI_Isend', 'MPI_Irecv', 0, 0, 1, 2, 0, 0, 0
          FROM round r, process p WHERE r.kind_id >= 10;""")
    with sqlite3.connect(path) as connection:
        connection.execute("DELETE FROM prediction")
    return path


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name) / "query"
    folder.mkdir()
    many_rounds(folder)
    (folder / "out.csv").write_text("of before\n")
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    for number in (signal.SIGINT, signal.SIGTERM):
        ends(f"query, {number.name}", folder, number, begun_beside("out.csv"), "query", "t.db", endless, "--format", "csv", "-o", "out.csv")
    # A shell shows it, too.
    shown = subprocess.run(["bash", "-c", f'"{MPISTAIR}" query t.db "{endless}" >/dev/null & p=$!; sleep 0.2; kill -TERM $p; wait $p; echo $?'],
                           cwd=folder, env=environment, capture_output=True, text=True, timeout=60)
    check("a shell", shown.stdout == "143\n", shown)

    for number in (signal.SIGINT, signal.SIGTERM):
        ends(f"predict, {number.name}", folder, number, lambda where: (where / "t.db-journal").exists(),
             "predict", "t.db", "--rounds", "--machine", "summit", "--interval")
    if "otf2" not in os.environ.get("MPISTAIR_LACKS", "").split():
        ends("export to otf2", folder, signal.SIGINT, begun_beside("archive"), "export", "t.db", "--to", "otf2", "-o", "archive")
    ends("export to csv", folder, signal.SIGTERM, begun_beside("out.csv"), "export", "t.db", "--to", "csv", "-o", "out.csv")
    (folder / "t.db").chmod(0o444)
    folder.chmod(0o555)
    check("the trace behind predict", run("query", folder / "t.db", "SELECT count(*) FROM prediction")[:2] == (0, "count(*)\n       0\n"),
          run("query", folder / "t.db", "SELECT count(*) FROM prediction"))
    folder.chmod(0o755)

    # Killed while it changes the trace: whoever reads it next takes that back.
    whole = (folder / "t.db").read_bytes()
    (folder / "t.db").chmod(0o644)
    connection = sqlite3.connect(folder / "t.db", isolation_level=None)
    connection.executescript("PRAGMA cache_size = 1; BEGIN; CREATE TABLE rest(a); INSERT INTO rest SELECT zeroblob(1000) FROM message_row;")
    for end_of in ("", "-journal"):
        (folder / ("killed.db" + end_of)).write_bytes((folder / ("t.db" + end_of)).read_bytes())
    connection.close()
    check("a killed change", run("query", folder / "killed.db", "SELECT count(*) FROM sqlite_master WHERE name = 'rest'")[1].split()[-1] == "0" and
          (folder / "killed.db").read_bytes() == whole and not (folder / "killed.db-journal").exists(), os.listdir(folder))

    folder = pathlib.Path(name) / "ingest"
    folder.mkdir()
    (folder / "t.db").write_text("of before\n")
    script = spool.Script(*spool.read_functions(GEN_WRAPPERS, TABLE))
    script.read(["world 2", "repeat 4000 every 1000", "0 Isend 1 5 8 0-50", "1 Irecv 0 5 8 10-60", "end"])
    (folder / "spools").mkdir()
    script.write(str(folder / "spools"))
    for number in (signal.SIGINT, signal.SIGTERM):
        ends(f"ingest, {number.name}", folder, number, begun_beside("t.db"), "ingest", "spools", "-o", "t.db")

    # What import makes in TMPDIR goes, too, while it reads and while it ingests.
    folder = pathlib.Path(name) / "import"
    folder.mkdir()
    os.environ["TMPDIR"] = environment["TMPDIR"] = str(folder)
    (folder / "t.db").write_text("of before\n")
    (folder / "run.tit").write_text("0 init\n1 init\n" + "0 isend 1 5 100 6\n0 waitall\n1 recv 0 5 100 6\n" * 40000 + "0 finalize\n1 finalize\n")
    for number, begun in ((signal.SIGINT, lambda where: any(where.glob("mpistair-import-*/*"))), (signal.SIGTERM, begun_beside("t.db"))):
        ends(f"import, {number.name}", folder, number, begun, "import", "run.tit", "-o", "t.db")
        check(f"import, {number.name}: folder", not any(folder.glob("mpistair-import-*")), os.listdir(folder))
end("signals")
