"""Runs the cases of this folder: spools from a script (spool.py), ingest, and the rows that a reader expects.

usage: run.py MPISTAIR GEN_WRAPPERS MPI.TBL CASE

A case: the script; then `? SQL` (or `? @NAME`, a query of share/sql) and its rows, one a line, columns between '|', NULL
as '-'. Before the first: `options
...` for ingest, `exit N`, `stderr TEXT` (somewhere in it), `moved RANK` (several modules lay at its calls' addresses, so that totals
have no call sites of it). In what report and query say of its trace no part exceeds its whole;
efficiencies of a replay are what they must be to each other. '{case}' in the script stands for this folder.
"""
import os
import shlex
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../report"))
import parts
import spool
import totals


def read_case(path):
    case = {"script": [], "options": "", "exit": 0, "stderr": [], "moved": [], "queries": []}
    for line in open(path, encoding="utf-8"):
        line = line.split("#")[0].strip()
        if not line:
            continue
        word, _, rest = line.partition(" ")
        if word == "?":
            case["queries"].append((rest, []))
        elif case["queries"]:
            case["queries"][-1][1].append(line)
        elif word == "options":
            case["options"] = rest
        elif word == "exit" and rest.isdigit():
            case["exit"] = int(rest)
        elif word == "stderr":
            case["stderr"].append(rest)
        elif word == "moved":
            case["moved"].append(int(rest))
        else:
            case["script"].append(line)
    return case


def text_of(value):
    if isinstance(value, float):
        value = float(f"{value:.12g}")
    return "-" if value is None else str(value)


def rows_of(database, sql):
    if sql.startswith("@"):
        with open(os.path.join(os.environ["MPISTAIR_SHARE"], "sql", sql[1:] + ".sql"), encoding="utf-8") as file:
            sql = file.read()
    with sqlite3.connect(f"file:{database}?immutable=1", uri=True) as connection:
        return ["|".join(text_of(value) for value in row) for row in connection.execute(sql)]


# Views that read what ingest adds up.
SUMMED = ("joint_site", "traffic", "level_volume", "kind_actual", "kind_in_mpi", "rank_actual", "rank_late", "late_partner",
          "kind_wait")


def sums_differ(database):
    """Ingest adds up by itself: the same as the views say of a trace without its sums."""
    with sqlite3.connect(":memory:") as copy:
        with sqlite3.connect(f"file:{database}?immutable=1", uri=True) as connection:
            connection.backup(copy)

        def rows_of_views():
            # A number of several calls may be an integer in one and a real in the other, and differ in the last bit.
            return {view: sorted(tuple("-" if value is None else value if isinstance(value, str) else f"{value:.11g}" for value in row)
                                 for row in copy.execute(f"SELECT * FROM {view}")) for view in SUMMED}

        stored = rows_of_views()
        for table in ("joint_sum", "message_sum", "kind_sum"):
            copy.execute(f"DELETE FROM {table}")
        viewed = rows_of_views()
    return [f"sums of {view}\n    {stored[view]}\n  its rows say\n    {viewed[view]}"
            for view in SUMMED if stored[view] != viewed[view]]


def jobs_differ(command, database):
    """The same rows with one core as with four."""
    dumps = []
    for jobs in "1", "4":
        subprocess.run([*command, "--quiet", "--jobs", jobs], check=True, capture_output=True, timeout=60)
        with sqlite3.connect(f"file:{database}?immutable=1", uri=True) as connection:
            dumps.append(list(connection.iterdump()))
    return [] if dumps[0] == dumps[1] else ["--jobs 1 and --jobs 4 give other rows"]


def main():
    mpistair, gen_wrappers, table, path = sys.argv[1:5]
    folder_of_case = os.path.dirname(os.path.abspath(path))
    case = read_case(path)
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        script = spool.Script(*spool.read_functions(gen_wrappers, table))
        script.read([line.replace("{case}", folder_of_case) for line in case["script"]])
        script.write(folder)
        database = os.path.join(folder, "trace.db")
        command = [mpistair, "ingest", folder, "-o", database]
        command += shlex.split(case["options"].replace("{case}", folder_of_case))
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        if done.returncode != case["exit"]:
            failures.append(f"exit {done.returncode}, expected {case['exit']}\n{done.stderr}")
        failures += [f"standard error lacks '{text}':\n{done.stderr}" for text in case["stderr"] if text not in done.stderr]
        if case["exit"] != 0 and os.path.exists(database):
            failures.append("an output was written all the same")
        for sql, expected in case["queries"] if not failures else []:
            rows = rows_of(database, sql)
            if rows != expected:
                failures.append(f"{sql}\n  expected {expected}\n  found    {rows}")
        if case["exit"] == 0 and not failures:
            failures += sums_differ(database) + totals.wrong(database, case["moved"]) + jobs_differ(command, database)
            def tool(*words):
                return subprocess.run([mpistair, *words], capture_output=True, text=True, timeout=60).stdout

            failures += parts.wrong_parts(tool, database)
            for collectives in "recorded", "modelled":
                failures += parts.wrong_replay(tool, database, "--machine", "blue-waters", "--collectives", collectives)
    for failure in failures:
        print(f"{path}: {failure}")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
