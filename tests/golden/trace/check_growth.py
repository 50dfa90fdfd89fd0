"""Call sites of collectives cost a query the same, however many calls they made; those of windows and files a look at each
row: steps of SQLite's machine for n calls and for four times as many.

usage: check_growth.py MPISTAIR GEN_WRAPPERS MPI.TBL
"""
import os
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import spool

QUERIES = {"collective_sites": 0, "rma_sites": 20, "files": 20}  # steps for a call more


def script(calls):
    lines = ["world 3"]
    for i in range(calls):
        at = 100 * i
        for rank in range(3):
            lines += [f"{rank} Allreduce {at + rank}-{at + 10} bytes=8", f"{rank} Bcast {at + 20 + rank}-{at + 30} bytes=8 root=1",
                      f"{rank} rma Win_fence null 0 {at + 40 + rank}-{at + 50}",
                      f"{rank} file File_write_all 64 {at + 60 + rank}-{at + 70} file=1"]
    return lines


def steps_of(database, name):
    """How many steps the query takes, and the calls that its rows count."""
    steps = 0

    def count():
        nonlocal steps
        steps += 1
        return 0

    with open(os.path.join(os.environ["MPISTAIR_SHARE"], "sql", name + ".sql"), encoding="utf-8") as file:
        sql = file.read()
    with sqlite3.connect(f"file:{database}?immutable=1", uri=True) as connection:
        connection.row_factory = sqlite3.Row
        connection.set_progress_handler(count, 1)
        return sum(row["calls"] for row in connection.execute(sql)), steps


def main():
    mpistair, gen_wrappers, table = sys.argv[1:4]
    found, failures = {}, 0
    for calls in (100, 400):
        with tempfile.TemporaryDirectory() as folder:
            made = spool.Script(*spool.read_functions(gen_wrappers, table))
            made.read(script(calls))
            made.write(folder)
            database = os.path.join(folder, "trace.db")
            subprocess.run([mpistair, "ingest", folder, "-o", database], check=True, timeout=60)
            found[calls] = {name: steps_of(database, name) for name in QUERIES}
    for name, allowed in QUERIES.items():
        (few, few_steps), (many, many_steps) = found[100][name], found[400][name]
        print(f"{name}: {few_steps} steps for {few} calls, {many_steps} for {many}")
        failures += few == 0 or many != 4 * few or many_steps > few_steps + allowed * (many - few)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
