#!/usr/bin/env python3
"""Findings of made traces, each kind where it is planted, and none of it where it is not:
what is shown of findings, of odd, large and damaged traces; nothing of healthy ones; findings that are kept.

usage: check_findings_traces.py MPISTAIR SHARE_SQL SHOW_FINDINGS
"""
import random
import sqlite3
import subprocess

from made_run import MS, Made, SHOW, US, apart, check_parts, expect, findings, kinds, ring
from made_trace import check, run


def balanced(folder):
    """Work that differs by chance, and by a drift that lasts: nothing is named."""
    chance, named = random.Random(11), []
    for trial in range(40):
        ranks, steps = chance.choice((2, 4, 8)), chance.choice((20, 60, 150))
        made, drift = Made(ranks), [0] * ranks
        for step in range(steps):
            for rank in range(ranks):
                drift[rank] = 0.9 * drift[rank] + chance.gauss(0, 0.02)
                made.compute(rank, int(MS * max(1 + drift[rank] + chance.gauss(0, 0.04), 0.1)))
            for src in range(ranks) if trial % 2 else ():
                made.send(src, (src + 1) % ranks, 1000, 10, 20)
            if trial % 2 == 0 or step % 10 == 9:
                made.meet(31)
        named += [(trial, row[0], row[7]) for row in findings(made.write(folder / "a.db"))]
    check("40 balanced jobs: one at most names something", len({trial for trial, *_ in named}) <= 1, named)


def shown(folder):
    """What the report makes of findings: gains, evidence, kinds."""
    made = Made(4)
    for _ in range(10):
        for rank in range(4):
            made.compute(rank, MS + (rank == 2) * 9 * MS)
        made.meet(31)
    path = made.write(folder / "a.db")
    code, text, _ = run("report", path)
    check("the first screen", code == 0 and "1. rank 2 arrives last at" in text and "gain 89 %" in " ".join(text.split()), text)
    code, text, errors = run("report", path, "--explain", "1")
    check("explained", code == 0 and "Finding 1: late-rank" in text and "what to do: " in text and text.count("10  ") >= 4 and "mpistair query" in text,
          (text, errors))
    query = " ".join(text[text.index('"SELECT') + 1:].split('"')[0].split())
    code, rows, errors = run("query", path, query, "--format", "csv")
    check("its query", code == 0 and len(rows.splitlines()) == 41, (query, rows, errors))
    code, all_text, errors = run("report", path, "--section", "evidence")
    check("evidence of all", code == 0 and text.strip() in all_text, (all_text, errors))
    code, page, errors = run("report", path, "--format", "html", "--section", "findings,evidence")
    check("a link to the evidence", page.count('<a href="#finding-1">1. rank 2 arrives') == 1 and page.count('<h2 id="finding-1">') == 1, errors)
    code, text, errors = run("report", path, "--explain", "9")
    check("no such finding", code == 1 and "there is no finding 9; it has 1" in errors, errors)
    code, text, _ = run("report", "--list-findings")
    check("all kinds", code == 0 and text.count("what to do: ") == 40 and "\nchain\n" in text and all(len(line) <= 80 for line in text.splitlines()), text)


def damaged(folder):
    for made in (ring(20 * MS), apart(2)):
        for statement in ("UPDATE message_row SET bytes = -9223372036854775807 - 1", "UPDATE message_row SET bytes = 9223372036854775807",
                          "UPDATE message_row SET recv_ns = NULL, send_call_ns = NULL", "UPDATE message_row SET recv_call_ns = 9e999",
                          "UPDATE message_row SET late_ns = -9223372036854775807 - 1", "UPDATE message_row SET src = 77",
                          "UPDATE message_row SET recv_ns = 'x'", "UPDATE process SET node = -7", "UPDATE process SET node = 'x'",
                          "UPDATE process SET node = 5000000000 + rank", "UPDATE form SET send_function = 99, send_callsite = 'x'",
                          "DELETE FROM form", "DELETE FROM node", "UPDATE node SET host = x'ff00'", "DELETE FROM message_row"):
            done = subprocess.run([SHOW, made.write(folder / "a.db", statement + ";")], capture_output=True, text=True, errors="replace",
                                  timeout=60)
            check("damaged: " + statement, done.returncode in (0, 1) and (done.returncode == 0 or done.stderr.startswith("mpistair: ")), done)


def damaged_accesses(folder):
    made = Made(2)
    for i in range(20):
        for rank in range(2):
            made.access(rank, "MPI_File_write_at", 64, i * 64, 20 * US, 10)
            made.one_sided(rank, "MPI_Win_lock", 0, 0, 0, 11)
            made.one_sided(rank, "MPI_Put", 0, 64, 0, 12)
            made.one_sided(rank, "MPI_Win_unlock", 0, 0, 0, 13)
    for statement in ("UPDATE rma SET begin_ns = 9223372036854775807", "UPDATE rma SET call_ns = 9223372036854775807", "UPDATE rma SET rank = 77",
                      "UPDATE rma SET target = -7, window = NULL, comm = 'x'", "UPDATE rma SET function = x'ff00', callsite = -1",
                      "UPDATE file_call SET rank = 77", "UPDATE file_call SET rank = -1, begin_ns = -9223372036854775807",
                      "UPDATE file_call SET bytes = 9223372036854775807, call_ns = 9223372036854775807, offset = -9223372036854775807",
                      "UPDATE file_call SET offset = 'x', function = NULL, callsite = 12345", "DELETE FROM call_row"):
        done = subprocess.run([SHOW, made.write(folder / "a.db", statement.replace("NULL, callsite", "'', callsite") + ";")], capture_output=True,
                              text=True, errors="replace", timeout=60)
        check("damaged: " + statement, done.returncode in (0, 1) and (done.returncode == 0 or done.stderr.startswith("mpistair: ")), done)


def odd(folder):
    check("nothing recorded", kinds(Made(2).write(folder / "a.db", "DELETE FROM process;")) == [], findings(folder / "a.db"))
    alone = Made(1)
    for _ in range(5):
        alone.compute(0, MS)
        alone.meet(3)
    check("one rank", kinds(alone.write(folder / "a.db")) == [], kinds(folder / "a.db"))
    silent = Made(4)
    for rank in range(4):
        silent.compute(rank, rank * MS)
    check("no messages", kinds(silent.write(folder / "a.db")) == [], kinds(folder / "a.db"))
    made = Made(4)
    for _ in range(10):
        made.compute(2, 20 * MS)
        made.meet(31)
    unknown = made.write(folder / "a.db", "UPDATE process SET node = NULL, socket = NULL, wait_ns = NULL, observed_ns = NULL;"
                         "UPDATE collective SET callsite = NULL; UPDATE call_row SET callsite = NULL;")
    expect("places not known", unknown, "late-rank", 2, "", "rank 2 arrives last at MPI_Allreduce in 10 of 10 calls")
    for statement in ("UPDATE process SET wait_ns = -5, observed_ns = 9223372036854775807", "UPDATE process SET wait_ns = 9e999",
                      "UPDATE collective SET begin_ns = -9223372036854775807", "UPDATE collective SET rank = 77",
                      "UPDATE process SET rank = rank + 5", "UPDATE process SET begin_ns = 9223372036854775807",
                      "UPDATE callsite SET line = 'x', file = x'ff00'", "UPDATE call_row SET call_ns = -1",
                      "UPDATE communicator_member SET world_rank = 99", "DROP TABLE form"):
        done = subprocess.run([SHOW, made.write(folder / "a.db", statement + ";")], capture_output=True, text=True, timeout=60)
        check("damaged: " + statement, done.returncode in (0, 1) and (done.returncode == 0 or done.stderr.startswith("mpistair: ")), done)


def large(folder):
    made = Made(4096, 64)
    for _ in range(3):
        for rank in range(4096):
            made.compute(rank, MS + rank % 7 * US)
        made.compute(1234, 50 * MS)
        for rank in range(0, 4096, 2):
            made.send(rank, rank + 1, 8, 10, 20)
        made.meet(31)
    expect("4,096 ranks", made.write(folder / "a.db"), "late-rank", 1234, "work made.c:10", "rank 1234")


def kept(folder):
    """A long run keeps its findings: --explain shows them as the report found them, until the trace changes."""
    def change(*statements):
        connection = sqlite3.connect(path)
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.close()

    def first_line():
        return run("report", path, "--explain", 1)[1].split("\n")[1].strip()

    made = Made(4)
    for i in range(13000):
        for rank in range(4):
            made.compute(rank, MS + (rank == 2) * 2 * MS)
        made.send(0, 1, 8, 10, 20)
        made.meet(31)
    path = made.write(folder / "kept.db")
    before = path.read_bytes()
    run("report", path, "--topology", "fat-tree-64")
    check("kept: not by a report with switches of its own", path.read_bytes() == before)
    found = run("report", path, "--section", "evidence")
    check("kept: written", found[0] == 0 and path.read_bytes() != before, found)
    written = path.read_bytes()
    check("kept: the same", run("report", path, "--section", "evidence")[1] == found[1] and path.read_bytes() == written)
    explained = run("report", path, "--explain", 1)
    true_line = first_line()
    check("kept: explained", explained[0] == 0 and found[1] == "Evidence\n\n" + explained[1] and "rank 2 arrives last" in true_line, (explained, found))
    check("kept: no such", run("report", path, "--explain", 9) == (1, "", f"mpistair: {path}: there is no finding 9; it has 1\n"))
    change("UPDATE finding SET sentence = 'planted'", "UPDATE kept_by SET change = change + 1")
    check("kept: shown", first_line().startswith("1. planted; gain"), first_line())
    check("kept: not with switches of one's own", "planted" not in run("report", path, "--explain", 1, "--topology", "fat-tree-64")[1])
    change("UPDATE run SET command = 'other'")
    check("kept: void after a change", first_line() == true_line, first_line())
    for damage in ("UPDATE finding SET kind = 'none'", "UPDATE finding SET number = 2", "DROP TABLE finding_part", "UPDATE finding_part SET part = 60",
                   "INSERT INTO finding_rank SELECT finding, rank, calls, time_s, longest_s FROM finding_rank, callsite", "DELETE FROM kept_by",
                   "UPDATE finding_call SET finding = 'x'", "UPDATE finding SET explained_by = 9223372036854775807"):
        change("UPDATE finding SET sentence = 'planted'", "UPDATE kept_by SET change = change + 1", damage)
        check("kept: " + damage, first_line() == true_line, first_line())
    change("DELETE FROM kept_by")
    screens = [run("report", path, *options) for options in ([], ["--all"], ["--format", "json"])]  # the first one keeps
    again = [run("report", path, *options) for options in ([], ["--all"], ["--format", "json"])]
    check("kept: the same screens", again == screens and screens[0][0] == 0, [new[1] for new in again])
    change("UPDATE spent_rank SET computation_s = 1e6", "UPDATE kept_by SET change = change + 1")
    check("kept: sums are shown", "4000000 s  100 %" in run("report", path)[1], run("report", path))
    for damage in "DELETE FROM spent_rank WHERE rowid = 1", "DROP TABLE spent_site", "DELETE FROM spent_site", "DELETE FROM spent_run":
        change("UPDATE spent_rank SET computation_s = 1e6", "UPDATE kept_by SET change = change + 1", damage)
        check("kept: " + damage, run("report", path) == screens[0], run("report", path))
    change("DROP TABLE finding", "CREATE VIEW finding AS SELECT 1")
    check("kept: a view of that name", run("report", path, "--section", "evidence")[1] == found[1])
    made = Made(4)
    for _ in range(100):
        made.compute(2, MS)
        made.meet(31)
    before = made.write(folder / "short.db").read_bytes()
    check("kept: not of a short run", run("report", folder / "short.db")[0] == 0 and (folder / "short.db").read_bytes() == before)


check_parts("findings of traces", balanced, shown, damaged, damaged_accesses, odd, large, kept)
