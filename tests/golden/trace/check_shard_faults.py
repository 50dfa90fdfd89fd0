"""A shard that is missing, empty, cut off, of another ingest, a folder, unreadable or damaged is named, with its ranks and what to
do: by the report as a line, by what needs its rows as an error. Sums are shown all the same. A trace and its shards are replaced as
one, also where ingest is killed or the disk is full, and can be moved and renamed.

usage: check_shard_faults.py MPISTAIR MAKE_SPOOLS
"""
import glob
import os
import re
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

MPISTAIR, MAKE_SPOOLS = (os.path.abspath(path) for path in sys.argv[1:3])
NOBODY = 65534
wrong = []


def check(what, is_right, found=""):
    if not is_right:
        wrong.append(f"{what}: {found}")


def tool(*words, **more):
    return subprocess.run([MPISTAIR, *words], capture_output=True, text=True, timeout=120, **more)


def ingest(spools, database, n, **more):
    return tool("ingest", spools, "-o", database, "--quiet", "--shards", str(n), **more)


def shards_of(database):
    return sorted(glob.glob(database + ".shard-*"))


def words_of(text):
    return " ".join(text.split())


def cut(path, size):
    with open(path, "r+b") as file:
        file.truncate(size)


def damage(path):
    """Pages behind the first ones, which opening a file reads, become nonsense."""
    with open(path, "r+b") as file:
        file.seek(6 * 4096)
        file.write(b"\xff" * (os.path.getsize(path) - 7 * 4096))


def make_folder(path):
    os.unlink(path)
    os.mkdir(path)


def as_nobody():
    os.setuid(NOBODY)


def check_fault(name, path, database, fault, shown, unreadable):
    """path is faulty now; fault: what is said of it. shown: by the first screen, too."""
    more = {"preexec_fn": as_nobody} if unreadable and os.getuid() == 0 else {}
    shard = os.path.basename(path)
    lines = words_of(tool("report", database, "--section", "completeness", **more).stdout)
    first = tool("report", database, **more)
    line = rf"! shard {re.escape(shard)} {fault}: messages to ranks 4-7, their calls and rounds are not shown"
    if shown:
        check(f"{name}: completeness", re.search(line, lines), lines)
        check(f"{name}: first screen", first.returncode == 0 and re.search(line, words_of(first.stdout)), first.stdout + first.stderr)
        found = tool("report", database, "--json", **more)
        check(f"{name}: JSON", found.returncode == 1 and shard in found.stderr, found.stderr)
    error = rf"{re.escape(path)}: {fault}.*; it has messages to ranks 4-7, their calls and rounds: copy it beside the trace again, or " \
            "ingest the run again"
    for words in (["query", database, "SELECT sum(bytes), sum(recv_cpu) FROM message_row"], ["query", database, "SELECT * FROM call_row ORDER BY rowid"],
                  ["query", database, "SELECT count(*) FROM round_process WHERE rank = 5"], ["query", database, "callsites"],
                  ["predict", database, "--machine", "henri"], ["report", database, "--all"],
                  ["gather", database, "-o", database + ".one"], ["export", database, "--to", "csv", "-o", database + ".csv"]):
        done = tool(*words, **more)
        check(f"{name}: {' '.join(words)}", done.returncode == 1 and re.search(error, words_of(done.stderr)), (done.returncode, done.stderr))
    check(f"{name}: no output", not glob.glob(database + ".one*") and not glob.glob(database + ".csv*"))
    for sql in ("SELECT * FROM traffic", "late_senders", "completeness", "SELECT count(*) FROM message_row WHERE dst = 3",
                "SELECT sum(call_ns) FROM call_row WHERE rank >= 8"):
        done = tool("query", database, sql, **more)
        check(f"{name}: {sql}", done.returncode == 0 and not done.stderr, done.stderr)


def faults(top, spools):
    other = os.path.join(top, "other.db")
    ingest(spools, other, 4)
    foreign = shards_of(other)[1]
    cases = {
        "missing": (os.unlink, "is missing", True),
        "empty": (lambda path: cut(path, 0), "is empty", True),
        "cut off": (lambda path: cut(path, os.path.getsize(path) // 2), r"is cut off: it has \d+ of \d+ bytes", True),
        "foreign": (lambda path: shutil.copy(foreign, path), "is of another trace", True),
        "another number": (lambda path: shutil.copy(path.replace("shard-2", "shard-3"), path), "is of another trace", True),
        "a folder": (make_folder, "is a folder", True),
        "text": (lambda path: open(path, "w").write("text " * 1000), "is no shard of a trace", True),
        "unreadable": (lambda path: os.chmod(path, 0), "cannot be opened: Permission denied", True),
        "damaged": (damage, "cannot be read: database disk image is malformed", False),
    }
    for name, (spoil, fault, shown) in cases.items():
        folder = os.path.join(top, name.replace(" ", "-"))
        os.mkdir(folder)
        database = os.path.join(folder, "trace.db")
        check(name, ingest(spools, database, 4).returncode == 0)
        shards = shards_of(database)
        for path in database, *shards:
            os.chmod(path, 0o666)
        os.chmod(folder, 0o777)
        spoil(shards[1])
        check_fault(name, shards[1], database, fault, shown, name == "unreadable")
        shutil.rmtree(folder)


ALL = "SELECT count(*), sum(id * bytes) FROM message_row"


def replaced(top, spools):
    database = os.path.join(top, "trace.db")
    check("ingest", ingest(spools, database, 3).returncode == 0)
    shards, rows = shards_of(database), tool("query", database, ALL).stdout
    check("shards", len(shards) == 3, shards)

    def stays(what):
        check(f"{what}: rows", tool("query", database, ALL).stdout == rows)
        check(f"{what}: shards", set(shards) <= set(shards_of(database)), shards_of(database))

    def no_room():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 18, 1 << 18))

    done = ingest(spools, database, 4, preexec_fn=no_room)
    check("full disk", done.returncode == 1 and len(done.stderr.splitlines()) == 1 and "cannot be written" in done.stderr, done.stderr)
    stays("full disk")
    check("full disk leaves nothing", sorted(os.listdir(top)) == sorted(["spools", "trace.db", *map(os.path.basename, shards)]), os.listdir(top))
    for after_s in 0.02, 0.05, 0.1, 0.2, 0.3:
        process = subprocess.Popen([MPISTAIR, "ingest", spools, "-o", database, "--quiet", "--shards", "4"], stderr=subprocess.DEVNULL)
        time.sleep(after_s)
        process.send_signal(signal.SIGTERM)
        process.wait()
        if shards_of(database) != shards: # it was done
            check(f"done within {after_s} s", len(shards_of(database)) == 4 and not set(shards) & set(shards_of(database)), shards_of(database))
            shards = shards_of(database)
        stays(f"ended after {after_s} s")
        check(f"ended after {after_s} s leaves nothing", sorted(os.listdir(top)) == sorted(["spools", "trace.db", *map(os.path.basename, shards)]),
              os.listdir(top))
    check("again", ingest(spools, database, 2).returncode == 0)
    check("old shards go", len(shards_of(database)) == 2 and not set(shards) & set(shards_of(database)), shards_of(database))
    check("again: rows", tool("query", database, ALL).stdout == rows)
    copy = os.path.join(top, "copy.db")
    shutil.copy(database, copy)
    check("a copy", tool("query", copy, ALL).stdout == rows)
    check("over a copy", ingest(spools, copy, 1).returncode == 0 and tool("query", database, ALL).stdout == rows, os.listdir(top))
    moved = os.path.join(top, "elsewhere")
    os.mkdir(moved)
    for path in database, *shards_of(database):
        shutil.move(path, os.path.join(moved, os.path.basename(path).replace("trace.db", "renamed.db")))
    check("moved and renamed", tool("query", os.path.join(moved, "renamed.db"), ALL).stdout == rows, os.listdir(moved))
    link = os.path.join(top, "link.db")
    os.symlink(os.path.join(moved, "renamed.db"), link)
    check("by a link", tool("query", link, ALL).stdout == rows)
    done = ingest(spools, os.path.join(moved, "renamed.db"), 1)
    check("one file in place of shards", done.returncode == 0 and os.listdir(moved) == ["renamed.db"], os.listdir(moved))
    for number in "0", "257", "x":
        check(f"--shards {number}", ingest(spools, database, number).returncode == 2)


def unlisted(top, spools):
    """A trace whose list of shards is gone has not no messages."""
    database = os.path.join(top, "unlisted.db")
    ingest(spools, database, 3)
    with sqlite3.connect(database) as connection:
        connection.execute("DELETE FROM shard")
    connection.close()
    for words in ["query", database, "SELECT count(*) FROM message"], ["gather", database, "-o", database + ".one"]:
        done = tool(*words)
        check(f"unlisted: {words}", done.returncode == 1 and "table shard" in done.stderr, done.stderr)


def each_shard(top, spools):
    """SQL in each shard, on one core and on more."""
    database, one = os.path.join(top, "each.db"), os.path.join(top, "each-one.db")
    ingest(spools, database, 3)
    ingest(spools, one, 1)
    sql = "SELECT count(*), sum(id), min(dst), max(dst) FROM message"
    for jobs in "1", "4":
        done = tool("query", database, sql, "--each-shard", "--jobs", jobs, "--format", "csv")
        rows = [[int(word) for word in line.split(",")] for line in done.stdout.splitlines()[1:]]
        whole = [int(word) for word in tool("query", one, sql, "--format", "csv").stdout.splitlines()[1].split(",")]
        check(f"each shard, {jobs} jobs", [row[0] for row in rows] == [1, 2, 3] and [row[3:] for row in rows] == [[0, 5], [6, 10], [11, 15]] and
              [sum(row[i] for row in rows) for i in (1, 2)] == whole[:2], done.stdout + done.stderr)
        for query in "slowest_messages", "message_sizes":
            check(f"{query}, {jobs} jobs", tool("query", database, query, "--jobs", jobs).stdout == tool("query", one, query).stdout)
    done = tool("query", one, sql, "--each-shard", "--format", "csv")
    check("each shard of one file", done.stdout.splitlines()[1].startswith("1,"), done.stdout + done.stderr)
    done = tool("query", database, "SELECT nothing", "--each-shard")
    check("each shard, wrong SQL", done.returncode == 1 and "nothing" in done.stderr, done.stderr)
    done = tool("query", database, sql, "--each-shard", "--from", "50%")
    check("each shard of a part", done.returncode == 2, done.stderr)
    os.unlink(glob.glob(database + ".shard-2*")[0])
    for words in [sql, "--each-shard"], ["slowest_messages"]:
        done = tool("query", database, *words)
        check(f"a shard is missing, {words}", done.returncode == 1 and "messages to ranks 6-10" in done.stderr and not done.stdout, done.stderr)


with tempfile.TemporaryDirectory() as top:
    os.chmod(top, 0o755)
    spools = os.path.join(top, "spools")
    os.mkdir(spools)
    subprocess.run([MAKE_SPOOLS, spools, "16", "4", "300"], check=True)
    faults(top, spools)
    each_shard(top, spools)
    unlisted(top, spools)
    for path in glob.glob(os.path.join(top, "*.db*")):
        os.unlink(path)
    replaced(top, spools)
for line in wrong:
    print(line)
sys.exit(1 if wrong else 0)
