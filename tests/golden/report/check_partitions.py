"""The section on partitioned messages of a made trace, in every format, against figures by hand.

usage: check_partitions.py MPISTAIR SHARE_SQL
"""
import csv
import io
import json
import pathlib
import sqlite3
import tempfile

from made_trace import check, database, end, run

# Rank 0 sends rank 1 four times 800 bytes from one place, started at 10 k ms, in 4 partitions ready 1, 2, 3 and 5 ms later. The
# receiver has 2 partitions, which it asks for: they have arrived after 4 and 7 ms, the last message's after 6 and 7 ms. Of
# the first two messages the times of all partitions were kept, of the third one the first and the last; of the last the
# receiver asked for one partition only, and it was complete after 9 ms. Another place sends one partition in no time.
TRACE = """
INSERT INTO run VALUES (1, 'key', '0', 0, 100000000, 'MPICH', 'MPICH 4', 'MPI_THREAD_SINGLE', './app', 2, 2, NULL, NULL, NULL,
                        'MPI_Init', 'all');
INSERT INTO node(id, host) VALUES (0, 'node0');
INSERT INTO process(rank, node, ended, begin_ns, end_ns) VALUES (0, 0, 'finalize', 0, 90000000), (1, 0, 'finalize', 0, 90000000);
INSERT INTO communicator VALUES (0, NULL, NULL, NULL, 2, NULL, 1), (2, 'halo', 0, 'MPI_Comm_dup', 2, NULL, 1);
INSERT INTO callsite VALUES (0, 'app', 16, NULL, 'exchange', '/src/halo.c', 42), (1, 'app', 32, NULL, 'last', '/src/end.c', 7);
INSERT INTO function VALUES (1, 'MPI_Start'), (2, 'MPI_Startall');
INSERT INTO form VALUES (1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, NULL, NULL), (2, 1, 2, 1, 1, 0, 0, 0, 0, 0, 0, NULL, NULL);
CREATE TEMP TABLE sent AS SELECT column1 AS id FROM (VALUES (1), (2), (3), (4));
INSERT INTO message_row SELECT id, 0, 1, 0, 3, 800, 1, NULL, 10000000 * id, 8000000, 1000, 8999000, 0, 0, 0, 100, 100 FROM sent;
INSERT INTO message_row VALUES (5, 0, 1, 2, 3, 100, 2, NULL, 70000000, 2000000, 0, 3000000, 0, 0, 0, 100, 100);
INSERT INTO partition SELECT id, NULL, 0, 'send', NULL, 10000000 * id + 1000000, 10000000 * id + 5000000, 4, 4, NULL, NULL FROM sent;
INSERT INTO partition SELECT id, NULL, 1, 'receive', NULL, 10000000 * id + 4000000, 10000000 * id + 7000000, 2 - (id = 4), 2, NULL, NULL
       FROM sent;
INSERT INTO partition SELECT id, NULL, 0, 'send', column1, 10000000 * id + column2, 10000000 * id + column2, 1, 4, 'MPI_Pready', 0
       FROM sent, (VALUES (0, 1000000), (1, 2000000), (2, 3000000), (3, 5000000)) WHERE id < 3;
INSERT INTO partition SELECT id, NULL, 1, 'receive', column1, 10000000 * id + column2, 10000000 * id + column2, 1, 2, 'MPI_Parrived', 0
       FROM sent, (VALUES (0, 4000000), (1, 7000000)) WHERE id < 3;
UPDATE partition SET first_ns = 26000000 WHERE message_id = 2 AND direction = 'receive' AND partition = 0;
INSERT INTO partition VALUES (5, NULL, 0, 'send', NULL, 71000000, 71000000, 1, 1, NULL, NULL);
"""


def same(found, expected):
    return abs(found - expected) < 1e-12


def check_values(trace):
    report = json.loads(run("report", trace, "--json")[1])["partitions"]
    first, other = report["largest"]
    check("sums", (report["sites"], report["messages"], report["bytes"]) == (2, 5, 3300), report)
    check("first", (first["function"], first["caller"], first["file"], first["line"], first["partitions"], first["messages"], first["bytes"])
          == ("MPI_Start", "exchange", "/src/halo.c", 42, 4, 4, 3200), first)
    # All had arrived 2 ms after the last one was ready, of the last message 4 ms after that; of the two kept messages one half
    # of one had arrived before.
    check("times", same(first["ready_s"], 4e-3) and same(first["arrival_s"], 2.5e-3) and same(first["hidden_share"], 0.25), first)
    check("other", (other["communicator"], other["ready_s"], other["hidden_share"]) == ("halo", 0, None) and same(other["arrival_s"], 2e-3), other)
    rows = list(csv.DictReader(io.StringIO(run("query", trace, "partition_sites", "--format", "csv")[1])))
    check("query", [(row["place"], row["partitions"], row["messages"], row["hidden_share"]) for row in rows]
          == [("exchange /src/halo.c:42", "4", "4", "0.25"), ("last /src/end.c:7", "1", "1", "")], rows)


def check_text(trace):
    code, text, err = run("report", trace, "--section", "partitions")
    found = [" ".join(line.split()) for line in text.splitlines()]
    check("text", code == 0 and err == "" and all(len(line) <= 80 for line in text.splitlines()), text + err)
    check("rows", "4 800 B 4 4.00 ms 2.50 ms 25.0 % Start at exchange halo.c:42" in found
          and "1 100 B 1 0.00 us 2.00 ms - Startall at last end.c:7," in found, text)
    check("unknown", "hidden is known where MPISTAIR_PARTITIONS=1" in text, text)
    page = run("report", trace, "--format", "html")[1]
    check("html", "Start at exchange halo.c:42" in page, page[:2000])


def check_others(folder):
    code, text, _ = run("report", database(folder / "empty.db", TRACE, "DELETE FROM partition;"), "--section", "partitions")
    check("empty", code == 0 and "no partitioned message was recorded" in text, text)
    changes = ("first_ns = NULL", "last_ns = NULL", "first_ns = 9000000000000000000, last_ns = -9000000000000000000", "partitions = 0",
               "partitions = -3", "done = 9", "partition = 7", "message_id = 99", "direction = 'odd'", "first_ns = 'late'", "rank = -1")
    for number, change in enumerate(changes):
        trace = database(folder / f"damaged{number}.db", TRACE, f"UPDATE partition SET {change};")
        for arguments in (("report", trace, "--section", "partitions"), ("report", trace, "--json"), ("query", trace, "partition_sites")):
            code, out, err = run(*arguments)
            check(change, (code == 0 and "nan" not in out) or (code == 1 and err.startswith("mpistair: ")), f"{arguments}: {code}\n{out}{err}")


def check_plan(trace):
    """Nothing is gone through once a message: a run may have a million."""
    connection = sqlite3.connect(trace)
    plan = [row[3] for row in connection.execute("EXPLAIN QUERY PLAN SELECT * FROM partition_site")]
    connection.close()
    scans = {step.split()[1] for step in plan if step.startswith("SCAN")}
    check("plan", scans <= {"partition", "e", "s", "partition_site"}, plan)


with tempfile.TemporaryDirectory() as temporary:
    made = database(pathlib.Path(temporary) / "made.db", TRACE)
    check_values(made)
    check_text(made)
    check_others(pathlib.Path(temporary))
    check_plan(made)
end("partitioned messages")
