"""The sections on collectives, one-sided communication and files of a made trace, in every format, against figures by hand.

usage: check_sites.py MPISTAIR SHARE_SQL
"""
import json
import pathlib
import tempfile

from made_trace import check, database, end, run

# Three ranks. In each of four Allreduces rank 2 comes 3 ms after the others and all leave 1 ms later; one of a subcommunicator
# is called by rank 0 alone. In two fences rank 1 is 1 ms late. All write 1000 bytes in 2 ms, rank 0 begins 1 ms later.
TRACE = """
INSERT INTO run VALUES (1, 'key', '0', 0, 100000000, 'Open MPI', 'Open MPI v5', 'MPI_THREAD_SINGLE', './app', 3, 3, NULL, NULL, NULL,
                        'MPI_Init', 'all');
INSERT INTO node(id, host) VALUES (0, 'node0');
INSERT INTO process(rank, node, ended, begin_ns, end_ns) VALUES (0, 0, 'finalize', 0, 90000000), (1, 0, 'finalize', 0, 90000000),
                                                                (2, 0, 'finalize', 0, 90000000);
INSERT INTO communicator VALUES (0, NULL, NULL, NULL, 3, NULL, 1), (2, 'rows & <b>', 0, 'MPI_Comm_split', 2, NULL, 1);
INSERT INTO callsite VALUES (0, 'app', 16, NULL, 'dot', '/src/halo.c', 119), (1, 'app', 32, NULL, 'a_name_that_is_too_long_for_a_line',
                            '/src/solve.c', 7), (2, 'app', 48, NULL, 'save', '/src/save.c', 3), (3, '?', 64, NULL, NULL, NULL, NULL);
CREATE TEMP TABLE rank AS SELECT column1 AS rank FROM (VALUES (0), (1), (2));
CREATE TEMP TABLE step AS SELECT column1 AS step FROM (VALUES (0), (1), (2), (3));
INSERT INTO collective SELECT NULL, rank, 'MPI_Allreduce', 0, 80, NULL, 1000000 * (10 * step + iif(rank = 2, 4, 1)),
                              1000000 * (10 * step + 5), 0, 0, NULL, NULL, 0, NULL FROM rank, step;
INSERT INTO collective VALUES (NULL, 0, 'MPI_Ibarrier', 2, 0, NULL, 50000000, 50500000, 1000, 1, NULL, NULL, 1, NULL);
INSERT INTO rma SELECT NULL, rank, 'MPI_Win_fence', 0, 1, NULL, 0, 1000000 * (60 + 10 * step + (rank = 1)), 1000000 * (62 + 10 * step),
                       1000000 * (2 - (rank = 1)), NULL, 0, 3, NULL FROM rank, step WHERE step < 2;
INSERT INTO rma VALUES (NULL, 0, 'MPI_Put', 0, 1, 1, 4096, 63000000, 63500000, 500000, NULL, 0, 3, NULL);
INSERT INTO file_call SELECT NULL, rank, 'MPI_File_write_at_all', 0, 1, 1000, 0, 80000000 + 1000000 * (rank = 0), 82000000,
                             2000000 - 1000000 * (rank = 0), 0, 1, 0, NULL, 2, NULL FROM rank;
INSERT INTO file_call VALUES (NULL, 1, 'MPI_File_open', NULL, NULL, 0, NULL, 83000000, 83100000, 100000, 0, 1, 1, NULL, 2, NULL);
"""
SECTIONS = ("--section", "collectives,rma,files")


def row(text, *words):
    """Whether a line of the text has the words, in this order and with nothing between."""
    return any(" ".join(words) in " ".join(line.split()) for line in text.splitlines())


def same(found, expected):
    return abs(found - expected) < 1e-12


def check_text(trace):
    code, text, err = run("report", trace, *SECTIONS)
    check("text", code == 0 and err == "" and all(len(line) <= 80 for line in text.splitlines()), text + err)
    # 4 * (2 * 3 ms + 0) of 4 * (2 * 4 ms + 1 ms)
    check("allreduce", row(text, "12", "80 B", "36.0 ms", "66.7 %", "2, 100 %", "Allreduce at dot halo.c:119"), text)
    check("barrier", row(text, "1", "0 B", "500 us", "-", "-", "Ibarrier* solve.c:7, rows & <b>"), text)
    check("fence", row(text, "6", "-", "10.0 ms", "10.0 ms", "40.0 %", "Win_fence"), text)
    check("put", row(text, "1", "4.10 kB", "500 us", "500 us", "-", "Put"), text)
    # A rank that does not wait writes 1000 B in 1 ms.
    check("write", row(text, "3", "1.00 kB", "5.00 ms", "40.0 %", "1.00 MB", "write_at_all at save save.c:3"), text)
    check("failed", "! 1 call failed" in text and "joint calls: 40.0 % waiting" in text, text)
    check("together", "joint calls: 66.7 % waiting for the last rank to arrive, 33.3 % behind that" in text, text)


def check_json(trace):
    report = json.loads(run("report", trace, "--json")[1])
    longest = report["collectives"]["longest"][0]
    check("json", (longest["function"], longest["last_rank"], longest["calls"], longest["bytes"]) == ("MPI_Allreduce", 2, 12, 960)
          and same(longest["wait_s"], 0.024) and same(longest["transfer_s"], 0.012), longest)
    check("json rma", report["rma"]["sites"] == 2 and same(report["rma"]["wait_s"], 0.004), report["rma"])
    check("json files", (report["files"]["calls"], report["files"]["failed"], report["files"]["bytes"]) == (4, 1, 3000)
          and same(report["files"]["longest"][0]["bytes_per_s"], 1e6), report["files"])


def check_empty(folder):
    code, text, _ = run("report", database(folder / "empty.db", TRACE, "DELETE FROM collective; DELETE FROM rma; DELETE FROM file_call;"),
                        *SECTIONS)
    check("empty", code == 0 and all(f"no {what} was recorded" in text for what in ("collective", "one-sided call", "call on a file")), text)


def check_damaged(folder):
    """What ingest never writes gives figures or an error, no crash."""
    for number, change in enumerate((
            "end_ns = NULL", "begin_ns = end_ns + 5000000", "comm = 99", "callsite = 99", "bytes = -5", "begin_ns = -9000000000000000000",
            "bytes = 9000000000000000000", "function = ''", "rank = -1", "end_ns = 'late'", "function = 'MPI_' || x'ff'", "comm = 'a'")):
        trace = database(folder / f"damaged{number}.db", TRACE, *(f"UPDATE {table} SET {change};" for table in ("collective", "rma", "file_call")))
        for arguments in (("report", trace), ("report", trace, "--json"), ("query", trace, "files"), ("query", trace, "rma_sites"),
                          ("query", trace, "collective_sites"), ("query", trace, "call_sizes")):
            code, out, err = run(*arguments)
            check(change, (code == 0 and "nan" not in out) or (code == 1 and err.startswith("mpistair: ")), f"{arguments}: {code}\n{out}{err}")


with tempfile.TemporaryDirectory() as temporary:
    made = database(pathlib.Path(temporary) / "made.db", TRACE)
    check_text(made)
    check_json(made)
    page = run("report", made, "--format", "html")[1]
    check("html", "Allreduce at dot halo.c:119" in page and "rows &amp; &lt;b&gt;" in page, page)
    check_empty(pathlib.Path(temporary))
    check_damaged(pathlib.Path(temporary))
end("sites of collectives, one-sided calls and files")
