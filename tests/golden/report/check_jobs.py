"""mpistair report of several traces: a line a job, in the order given, as text, CSV and JSON, also where one cannot be read.

usage: check_jobs.py MPISTAIR SHARE_SQL
"""
import csv
import io
import json
import pathlib
import tempfile

from made_trace import check, database, end, run


def job(command, ranks, in_mpi_ns):
    """Each rank runs 1 s: a quarter of in_mpi_ns in MPI_Send, the rest in MPI_Recv; calls while recording is off do not count."""
    rows = ["INSERT INTO run VALUES (1, 'k', '0', 1700000000000000000, 1000000000, 'MPICH', 'MPICH Version: 4.0.2', 'MPI_THREAD_SINGLE', "
            f"'{command}', {ranks}, {ranks}, NULL, NULL, NULL, NULL, 'none');",
            "INSERT INTO node VALUES (0, 'node0', 2, 64, NULL, 0, 64);",
            "INSERT INTO function VALUES (1, 'MPI_Send'), (2, 'MPI_Recv');",
            "INSERT INTO callsite VALUES (1, 'a', 1, NULL, 'halo', 'halo.c', 7);"]
    for rank in range(ranks):
        rows.append("INSERT INTO process(rank, node, socket, core, place, ended, begin_ns, end_ns, observed_ns, run_ns, wait_ns) VALUES "
                    f"({rank}, 0, 0, {rank}, 'placement', 'finalize', 0, 1000000000, 1000000000, 1000000000, 0);")
        for function, time, off in ((1, in_mpi_ns // 4, 0), (2, in_mpi_ns - in_mpi_ns // 4, 0), (1, 900000000, 1)):
            rows.append("INSERT INTO total(rank, function, callsite, several, bin, calls, bytes, time_ns, longest_ns, off, idle) VALUES "
                        f"({rank}, {function}, 1, 0, 0, 1, 0, {time}, {time}, {off}, 0);")
    return "\n".join(rows)


with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    first = database(folder / "z.db", job("./first", 4, 400000000))
    second = database(folder / "a.db", job("./second", 2, 100000000))
    bad = folder / "bad.db"
    bad.write_text("no database")
    code, text, err = run("report", first, second)
    lines = text.splitlines()
    check("text", code == 0 and err == "" and len(lines) == 3, (code, text, err))
    for line, parts in zip(lines[1:], (("2023-11-14 22:13", " 4 ", "40 %", "./first", "MPI_Recv halo halo.c:7", "z.db"),
                                       ("2023-11-14 22:13", " 2 ", "10 %", "./second", "MPI_Recv halo halo.c:7", "a.db"))):
        check("line", all(part in line for part in parts), (line, parts))
    code, text, err = run("report", first, bad, second, "--json")
    rows = json.loads(text)
    check("bad", code == 1 and "bad.db" in err and [row["command"] for row in rows] == ["./first", "./second"], (code, text, err))
    check("json", [(row["ranks"], round(row["in_mpi"], 9), row["duration_s"]) for row in rows] == [(4, 0.4, 1), (2, 0.1, 1)], rows)
    code, text, _ = run("report", first, second, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    check("csv", code == 0 and [(row["ranks"], row["largest_function"]) for row in rows] == [("4", "MPI_Recv"), ("2", "MPI_Recv")], text)
    check("html", run("report", first, second, "--format", "html")[0] == 2)
    check("sections", run("report", first, second, "--all")[0] == 2)
end("jobs")
