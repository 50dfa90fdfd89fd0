"""Speed of ingest: a ring of 4 ranks that exchanges until a million operations are recorded, without MPI. Beside it the
time that SQLite alone takes to copy the same rows into an empty database of the same schema.

usage: ingest.py MPISTAIR GEN_WRAPPERS MPI.TBL FOLDER_OF_SPOOL_PY SCHEMA.SQL [OPERATIONS]
"""
import os
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, sys.argv[4])
import spool

RANKS = 4
TABLES = ("form", "message_row", "unmatched", "call_row", "collective", "kind", "round", "round_process")


def write_spools(folder, operations):
    functions, _, table_hash = spool.read_functions(sys.argv[2], sys.argv[3])
    spool.CHUNK_BYTES = 1 << 20
    steps = operations // (4 * RANKS)
    for rank in range(RANKS):
        process = spool.Process(rank, RANKS)
        right, left = (rank + 1) % RANKS, (rank - 1) % RANKS
        records = bytearray()
        for step in range(steps):
            begin = spool.START_NS + 4000 * step + 10 * rank
            end = begin + 2000
            for receive, name, peer, tag in ((1, "Irecv", left, 0), (1, "Irecv", right, 1), (0, "Isend", right, 0),
                                             (0, "Isend", left, 1)):
                records += struct.pack("<BBHIiiQQQQIhhH6x", 1, receive, functions[name], 0, peer, tag, 1000, begin, end, 0, 80,
                                       rank, rank, 0)
                begin += 100
            records += struct.pack("<BBHIQQII", 2, 0, functions["Waitall"], 4, begin, 0, end - begin, 0)
        process.add(records)
        process.clock(4000 * steps)
        process.write(folder, functions, table_hash)
    return 4 * RANKS * steps


def copy_rows(source, target):
    with open(sys.argv[5], encoding="utf-8") as schema, sqlite3.connect(target, isolation_level=None) as connection:
        connection.execute("PRAGMA journal_mode=OFF")
        connection.execute("PRAGMA synchronous=OFF")
        connection.executescript(schema.read())
        connection.execute("ATTACH ? AS source", (source,))
        begin = time.perf_counter()
        connection.execute("BEGIN")
        for table in TABLES:
            connection.execute(f"INSERT INTO main.{table} SELECT * FROM source.{table}")
        connection.execute("COMMIT")
        return time.perf_counter() - begin


def main():
    wanted = int(sys.argv[6]) if len(sys.argv) > 6 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        operations = write_spools(folder, wanted)
        database = os.path.join(folder, "trace.db")
        for options in ([], ["--no-calls"]):
            begin = time.perf_counter()
            subprocess.run([sys.argv[1], "ingest", folder, "-o", database, "--quiet", *options], check=True)
            took = time.perf_counter() - begin
            copy = os.path.join(folder, f"copy{len(options)}.db")
            bare = copy_rows(database, copy)
            print(f"ingest {' '.join(options) or 'with calls'}: {operations} operations in {took:.2f} s, "
                  f"{operations / took:.3g} operations/s, {os.path.getsize(database) / operations:.0f} bytes an operation; "
                  f"the same rows copied by SQLite alone: {bare:.2f} s ({took / bare:.2f} times)")


if __name__ == "__main__":
    main()
