"""A trace in shards is the trace in one file: the same rows in all tables, in the same order. Of 2, 3 and 8 shards each case has
one number, in turn; the first three have all.

usage: check_shards.py MPISTAIR GEN_WRAPPERS MPI.TBL CASE...
"""
import glob
import os
import sqlite3
import sys
import tempfile

from shards import DIVIDED, OF_SHARDS, check, end, ingest, query, run, tables_of, tool, write_spools

NUMBERS = 2, 3, 8


def compare(name, folder, path, case, numbers):
    """Ingests with these numbers of shards. Returns whether the case has a trace at all."""
    one = os.path.join(folder, "one.db")
    if ingest(folder, one, path, case, "--shards", "1").returncode != 0:
        return False
    plain = tables_of(one, DIVIDED + OF_SHARDS)
    sqls = [f"SELECT {number}* FROM {table}" for table, number in zip(DIVIDED, ("rowid AS number, ", "rowid AS number, ", ""))]
    rows = [query(one, sql) for sql in sqls]
    for n in numbers:
        what, database = f"{name}, {n} shards", os.path.join(folder, f"shards{n}.db")
        done = ingest(folder, database, path, case, "--shards", str(n))
        check(what, done.returncode == 0, done.stderr)
        ranks = sqlite3.connect(one).execute("SELECT world_size FROM run").fetchone()[0]
        files = glob.glob(database + ".shard-*")
        check(f"{what}: files", len(files) == (min(n, ranks) if ranks > 1 else 0), files)
        own = DIVIDED if ranks > 1 else ()
        found = tables_of(database, own + OF_SHARDS)
        check(f"{what}: tables", all(found.get(table) == plain[table] for table in plain),
              [table for table in plain if found.get(table) != plain[table]])
        for sql, expected in zip(sqls, rows):
            check(f"{what}: {sql}", query(database, sql) == expected, query(database, sql)[:300] + "\n  one file: " + expected[:300])
        gathered(what, folder, database, n)
    return True


def gathered(what, folder, database, n):
    """One file of the shards is that of ingest: once as another file, once as the trace itself."""
    one, other = os.path.join(folder, "one.db"), os.path.join(folder, "gathered.db")
    expected = tables_of(one, ())
    done = tool("gather", database, "-o", other)
    check(f"{what}: gather", done.returncode == 0 and tables_of(other, ()) == expected, done.stderr)
    check(f"{what}: gather, numbers of calls", query(one, "SELECT rowid, * FROM call_row") == query(other, "SELECT rowid, * FROM call_row"))
    with sqlite3.connect(f"file:{other}?immutable=1", uri=True) as connection:
        check(f"{what}: integrity", connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)])
    if n == 2:
        done = tool("gather", database, "-o", database, "--quiet")
        check(f"{what}: gather in place", done.returncode == 0 and not done.stderr and tables_of(database, ()) == expected, done.stderr)
        check(f"{what}: gather in place, shards", not glob.glob(database + ".shard-*"))


def main():
    n = 0
    for path in sys.argv[4:]:
        with tempfile.TemporaryDirectory() as folder:
            case = run.read_case(path)
            write_spools(path, case, folder)
            numbers = NUMBERS if n < 3 else NUMBERS[n % 3:n % 3 + 1]
            n += compare(os.path.basename(path)[:-len(".case")], folder, path, case, numbers)
    check("cases with a trace", n > 40, n)
    return end()


sys.exit(main())
