"""mpistair report and query against hand-written traces: golden output in every format, and what malformed databases
and wrong usage give.

usage: check_report.py MPISTAIR SHARE_SQL [--update]    (--update writes the golden files anew: read the diff)
"""
import csv
import html.parser
import io
import json
import os
import pathlib
import re
import sqlite3
import sys
import tempfile

from made_trace import SQL, check, database, end, run

HERE = pathlib.Path(__file__).absolute().parent
UPDATE = "--update" in sys.argv


def golden(name, text):
    path = HERE / name
    if UPDATE:
        path.write_text(text)
    expected = path.read_text()
    check(name, text == expected, f"differs from {path}:\n{text}")


def golden_of(name, *arguments):
    code, out, err = run(*arguments)
    check(name, code == 0 and err == "", f"exit {code}, stderr: {err}")
    golden(name, out)


def plain(text):
    """The words of a text, whichever lines they stand in."""
    return " ".join(text.split())


def refused(name, expected_code, expected_text, *arguments):
    code, out, err = run(*arguments)
    check(name, code == expected_code, f"exit {code}, expected {expected_code}; stderr: {err}")
    check(name, expected_text in err and out == "", f"expected '{expected_text}' in stderr, got: {err}; stdout: {out}")


class Page(html.parser.HTMLParser):
    """Balance of the tags, and whether anything is fetched; tests/html looks at what runs."""

    def __init__(self):
        super().__init__()
        self.open, self.problems, self.text = [], [], ""

    def handle_starttag(self, tag, attributes):
        if tag not in ("meta",):
            self.open.append(tag)
        if any(name in ("src", "href") for name, _ in attributes):
            self.problems.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.problems.append("/" + tag)

    def handle_data(self, data):
        self.text += data


def networks(folder):
    """What went through the interfaces of two nodes, and how much of it was the job's."""
    fixture = (HERE / "halo.sql").read_text()
    sent = "INSERT INTO total SELECT 2, 1, NULL, 0, 3, 0, 3, 'send', 20, 4, {}, 0, 0, 0, 0, NULL;"
    eth = "INSERT INTO network VALUES (0, 'eth0', 0, 9, 5000000000, 1000000000, 5, 0, NULL), (1, 'eth0', 0, 9, 1000000000, 1100000000, 5, 0, NULL);"
    for name, rows, expected in (
            ("network", eth + sent.format(1600000000), "of 8.10 GB on eth0 3.20 GB were this job's messages"),
            ("all", eth + sent.format(4100000000), "8.10 GB on eth0, all of it this job's messages"),
            ("losses", eth + "UPDATE network SET errors = node; INSERT INTO network VALUES (0, 'tcp', 0, 9, NULL, NULL, NULL, NULL, 12);",
             "0 B were this job's messages; errors 1, retransmissions 0 tcp; errors 0, retransmissions 12"),
            ("nothing", "", None)):
        path = database(folder / f"{name}.db", fixture, rows)
        out = " ".join(run("report", path, "--section", "run")[1].split())
        check(f"network of the nodes: {name}", expected in out if expected else " network " not in out, out)
    found = json.loads(run("report", folder / "network.db", "--json")[1])["run"]
    check("network as JSON", found["between_nodes_bytes"] == 3.2e9 and found["network"] == [
        {"name": "eth0", "bytes": 8.1e9, "packets": 10, "errors": 0, "retransmissions": None}], found)


def formats(folder, halo):
    os.chdir(folder)
    golden_of("halo.txt", "report", "halo.db", "--all")
    golden_of("halo.csv", "report", "halo.db", "--format", "csv")
    golden_of("halo_postal.txt", "report", "--all", "--model", "postal", "halo.db")
    # What a model is off by more than half of, and what is too little to judge by, is said in text and JSON alike.
    judged = lambda path: [model["judgement"] for model in json.loads(run("report", path, "--model", "postal", "--json")[1])["models"]]
    check("judgement: not explained", judged("halo.db") == ["not explained"], judged("halo.db"))
    few = pathlib.Path("few.db")
    few.write_bytes(pathlib.Path("halo.db").read_bytes())
    connection = sqlite3.connect(few)
    connection.execute("UPDATE kind SET messages = 1")
    connection.commit()
    connection.close()
    check("judgement: too few", judged(few) == ["too few messages"] and run("report", few, "--all")[1].count("too few messages to judge a model by") == 2
          and "explains" not in run("report", few)[1], run("report", few)[1])
    # A rank that a model knows nothing of is marked, one by one, and the marks are explained once a table.
    one_sided = pathlib.Path("one_sided.db")
    one_sided.write_bytes(pathlib.Path("halo.db").read_bytes())
    connection = sqlite3.connect(one_sided)
    connection.execute("UPDATE prediction SET time_s = 0 WHERE rank = 2")
    connection.commit()
    connection.close()
    code, out, _ = run("report", one_sided, "--all")
    lines = out.splitlines()
    check("marked", code == 0 and out.count("~ the model ignores what this rank does") == 2 and
          out.count("0.00 us ~") > 2 and any(line.split()[0:1] == ["2"] and "0.00 us ~" in line for line in lines), out)
    check("not marked", "~ the model" not in run("report", "halo.db", "--all")[1])
    code, out, _ = run("report", "halo.db", "--format", "json")
    report = json.loads(out)
    check("json", code == 0 and report["run"]["command"] == "./halo <b>\"mesh\" & 'more'</b>", report["run"])
    # By hand: kind 1 measured 110, 210, 310, 410 us four times, kind 2 40 and 50 us once; staircase 110 us * (rank + 1).
    measured = [4 * 110 + 40, 4 * 210 + 50, 4 * 310, 4 * 410]
    modelled = [4 * 110 + 11, 4 * 220 + 22, 4 * 330, 4 * 440]
    error = (4 * (0 + 10 + 20 + 30) + 29 + 28) / sum(measured)  # within each kind, though kind 2 is modelled too fast
    staircase = next(m for m in report["models"] if m["model"] == "staircase")
    check("json error", abs(staircase["error"] - error) < 1e-12, staircase)
    check("json coverage", abs(staircase["coverage"] - 1) < 1e-12, staircase)
    replicate = 4 * 4 * 20 / (4 * (110 + 210 + 310 + 410))
    check("json run", (report["run"]["eager_limit_bytes"], report["run"]["eager_limit_network_bytes"],
                       report["run"]["own_cost_ns"], report["run"]["started_by"]) == (4096, 65536, 41.25, "MPI_Init"),
          report["run"])
    check("json replicate", abs(report["replicate"]["error"] - replicate) < 1e-12, report["replicate"])
    check("json ranks", [round(r["actual_s"] * 1e6) for r in report["ranks"]] == measured, report["ranks"])
    # By hand: rank 2 sends to rank 3, whose receive was posted after 15 us, after 30 us in four rounds; rank 1 receives from
    # rank 0 5 us after it sent, rank 2 from rank 1 10 us, and both messages are larger than the eager limit.
    late = [(round(r["late_senders_s"] * 1e6, 6), round(r["late_receivers_s"] * 1e6, 6)) for r in report["ranks"]]
    check("json late", late == [(0, 20), (0, 40), (0, 0), (60, 0)], late)
    check("json late shares", abs(report["rounds"]["late_senders_share"] - 60 / sum(measured)) < 1e-12 and
          abs(report["rounds"]["late_receivers_share"] - 60 / sum(measured)) < 1e-12, report["rounds"])
    late = [(l["rank"], l["partner"], l["cause"], l["messages"], round(l["late_s"] * 1e6, 6), round(l["longest_s"] * 1e6, 6),
             l["function"], l["place"]) for l in report["why"]["late"]]
    check("json late partners", late == [(3, 2, "sender", 4, 60, 15, "MPI_Irecv", "halo+0x125c"),
                                         (1, 2, "receiver", 4, 40, 10, "MPI_Isend", "exchange halo.c:42"),
                                         (0, 1, "receiver", 4, 20, 5, "MPI_Isend", "exchange halo.c:42")], late)
    # By hand: why. Of staircase 60 us a round of kind 1 and a tenth of it in kind 2 are bandwidth.
    rank0 = next(m for m in report["ranks"][0]["models"] if m["model"] == "staircase")
    for key, value in {"latency_s": 8.2e-6, "bandwidth_s": 246e-6, "contention_s": 4 * 48e-6 + 4.8e-6, "queue_s": 0,
                       "link_s": 0, "skew_s": 0, "low_s": 405.9e-6, "high_s": 496.1e-6}.items():
        check("json parts", abs(rank0[key] - value) < 1e-12, (key, rank0))
    mostly = [next(m["mostly"] for m in r["models"] if m["model"] == "staircase") for r in report["ranks"]]
    check("json extrapolated", [next(m["extrapolated"] for m in r["models"] if m["model"] == "staircase")
                                for r in report["ranks"]] == [False, False, True, False], report["ranks"])
    check("json mostly", mostly == ["bandwidth"] + 3 * ["contention"], mostly)
    postal = next(m for m in report["ranks"][0]["models"] if m["model"] == "postal")
    check("json no interval", postal["low_s"] is None and postal["high_s"] is None, postal)
    why = report["why"]
    check("json worst", [w["rank"] for w in why["worst_ranks"]] == [3, 2, 1, 0] and why["model"]["model"] == "staircase", why)
    # Rank 3 gets 15000 bytes (rendezvous, 1 GB/s) and sends 5000, fewer than any threshold: eager, 0.5 GB/s. Four rounds.
    partners = [(p["partner"], p["direction"], p["level"], p["messages"], p["bytes"], round(p["alone_s"] * 1e6, 6), p["share"])
                for p in why["worst_ranks"][0]["partners"]]
    check("json partners", partners == [(2, "from", "inter_node", 4, 60000, 60, 1), (0, "to", "inter_node", 4, 20000, 40, 1)],
          partners)
    # Rank r waits (3 - r) * 100 us for rank 3 in each of four rounds, which last 1000 us a round, in two of them 1080.
    wait = why["waits"][0]
    check("json waits", (wait["kind"], wait["rounds"], wait["ranks"], wait["last_rank"], wait["last_rounds"]) == (1, 4, 4, 3, 4)
          and abs(wait["wait_s"] - 2400e-6) < 1e-12 and abs(wait["mean_s"] - 150e-6) < 1e-12
          and abs(wait["longest_s"] - 300e-6) < 1e-12 and abs(wait["share"] - 2400 / (4160 + 2400)) < 1e-12
          and abs(why["wait_s"] - 2410e-6) < 1e-12, why["waits"])
    # Overlap by hand: of kind 1 rank r is 50 us * (r + 1) inside MPI, and outside as long, in the second half 20 us more;
    # of kind 2 rank 0 30 us inside and 10 outside, rank 1 50 inside.
    outside = [4 * 60 + 10, 4 * 110, 4 * 160, 4 * 210]
    inside = [4 * 50 + 30, 4 * 100 + 50, 4 * 150, 4 * 200]
    visible = {"staircase": [4 * 50 + 1, 4 * 110 + 22, 4 * 170, 4 * 230], "postal": [0, 10, 0, 0]}
    overlap = report["overlap"]
    check("json overlap", overlap["matters"] is True and overlap["longest_outside"] == [3, 2, 1, 0] and
          abs(overlap["outside_share"] - sum(outside) / sum(measured)) < 1e-12, overlap)
    for model in overlap["models"]:
        found = [next((m["outside_s"], m["in_mpi_s"], m["visible_s"]) for m in r["models"] if m["model"] == model["model"])
                 for r in report["ranks"]]
        values = list(zip(outside, inside, visible[model["model"]]))
        check("json visible", all(abs(a * 1e6 - b) < 1e-6 for x, y in zip(found, values) for a, b in zip(x, y)), (model, found, values))
        over = [v - i for v, i in zip(visible[model["model"]], inside)]
        off = {"staircase": 4 * (0 + 10 + 20 + 30) + 29 + 28, "postal": sum(inside) - 10}[model["model"]]
        check("json visible error", abs(model["error"] - off / sum(inside)) < 1e-12 and
              abs(model["bias"] - sum(over) / sum(inside)) < 1e-12, model)
    rows = list(csv.DictReader(io.StringIO(run("report", "halo.db", "--format", "csv")[1])))
    check("csv overlap", [round(float(r["visible_s"]) * 1e6, 6) for r in rows if r["model"] == "staircase"] == visible["staircase"] and
          [round(float(r["outside_s"]) * 1e6, 6) for r in rows if r["model"] == "postal"] == outside, rows)
    part_sum = sum(float(rows[0][part]) for part in ("latency_s", "bandwidth_s", "contention_s", "queue_s", "link_s", "skew_s"))
    check("csv parts", abs(part_sum - float(rows[0]["model_s"])) < 1e-15 and rows[0]["low_s"] != "", rows[0])
    check("csv rows", len(rows) == 8 and {r["host"] for r in rows} == {"node0<i>", "node1"}, rows)
    check("csv run", all((r["own_cost_ns"], r["eager_limit_bytes"], r["eager_limit_network_bytes"], r["recording"]) ==
                         ("41.25", "4096", "65536", "complete") for r in rows), rows)
    code, out, _ = run("report", "halo.db", "--format", "html")
    page = Page()
    page.feed(out)
    check("html", code == 0 and not page.problems and not page.open, (page.problems, page.open))
    check("html escapes", "./halo <b>\"mesh\" & 'more'</b>" in page.text and "<b>\"mesh" not in out, out[:400])
    code, out, _ = run("report", "halo.db", "--all", "-o", "out.txt")
    check("-o", code == 0 and out == "" and (folder / "out.txt").read_text() == (HERE / "halo.txt").read_text())
    (folder / "out.txt").write_text("as it was")
    run("report", "missing.db", "-o", "out.txt")
    check("-o after a failure", (folder / "out.txt").read_text() == "as it was")


def queries(folder, halo):
    for query in sorted(SQL.glob("*.sql")):
        if query.name == "schema.sql":
            continue
        code, out, err = run("query", halo, query.stem)
        check(f"query {query.stem}", code == 0 and out.count("\n") >= 1, f"exit {code}: {err}")
        check(f"query {query.stem}", query.read_text().startswith("-- "), "no description in its first line")
        code, out, _ = run("query", halo, query.stem, "--format", "json")
        check(f"query {query.stem} json", code == 0 and isinstance(json.loads(out), list), out[:200])
    code, listing, _ = run("query", "--list")
    check("query --list", code == 0 and len([line for line in listing.splitlines() if line[0] != " "]) == len(list(SQL.glob("*.sql"))) - 1, listing)
    golden_of("query_traffic.txt", "query", halo, "traffic")
    golden_of("query_values.txt", "query", halo,
              "SELECT 1 AS n, NULL AS none, 'a\u00e9b' AS text, 0.1 AS real, x'00ff41' AS bytes, 9e999 AS huge")
    golden_of("query_values.json", "query", halo, "--format", "json",
              "SELECT 1 AS n, NULL AS none, 'a\u00e9b' AS text, 0.1 AS real, 2 AS n, 9e999 AS huge")
    golden_of("query_values.csv", "query", halo, "--format", "csv", "SELECT 'a,\"b\"' AS \"x,y\", NULL AS e, 0.1 AS r")
    code, out, _ = run("query", halo, "SELECT rank FROM process WHERE rank > 99; -- none")
    check("query without rows", code == 0 and out == "rank\n", out)
    refused("query bad SQL", 1, "no such column: nowhere", "query", halo, "SELECT nowhere FROM run")
    refused("query two statements", 1, "one statement", "query", halo, "SELECT 1; SELECT 2")
    refused("query delete", 1, "reads rows", "query", halo, "DELETE FROM message_row")
    refused("query returning", 1, "reads rows", "query", halo, "DELETE FROM message_row RETURNING id")
    refused("query vacuum", 1, "reads rows", "query", halo, f"VACUUM INTO '{folder}/copy.db'")
    check("query vacuum", not (folder / "copy.db").exists())
    refused("query empty", 1, "reads rows", "query", halo, " ; ")
    refused("query no name", 2, "no such query", "query", halo, "nothing_like_it")
    refused("query usage", 2, "one query", "query", halo)
    refused("query format", 2, "expected text, csv or json", "query", halo, "traffic", "--format", "html")


def malformed(folder, halo):
    whole = halo.read_bytes()
    (folder / "empty.db").write_bytes(b"")
    (folder / "text.db").write_text("rank,node,socket\n0,0,0\n" * 100)
    (folder / "cut.db").write_bytes(whole[: len(whole) // 2])
    (folder / "cut_page.db").write_bytes(whole[:4096])
    scrambled = bytearray(whole)
    for offset in range(8192, len(scrambled), 97):
        scrambled[offset] ^= 0x5A
    (folder / "scrambled.db").write_bytes(scrambled)
    other = sqlite3.connect(folder / "other.db")
    other.execute("CREATE TABLE t(x)")
    other.commit()
    other.close()
    fixture = (HERE / "halo.sql").read_text()
    database(folder / "version.db", fixture, "PRAGMA user_version = 99;")
    database(folder / "no_run.db", fixture, "DELETE FROM run;")
    database(folder / "no_view.db", fixture, "DROP VIEW kind_halves;")
    database(folder / "no_column.db", fixture, "ALTER TABLE process RENAME COLUMN socket TO place_of_it;")
    database(folder / "below.db", fixture, "INSERT INTO process(rank, node, socket, ended) VALUES (-1, 0, 0, 'finalize');")
    (folder / "nothing").mkdir()
    for name, text in {"missing": "No such file", "empty": "is empty", "text": "not a database",
                       "cut": f"is cut off: it has {len(whole) // 2} of {len(whole)} bytes", "cut_page": "is cut off", "scrambled": "scrambled.db", "other": "not a trace",
                       "version": "schema version 99", "no_run": "no run", "no_view": "kind_halves",
                       "no_column": "no_column.db", "below": "below.db: process: rank -1; expected 0 to "}.items():
        refused(f"report {name}", 1, text, "report", folder / f"{name}.db")
        refused(f"report {name} json", 1, text, "report", "--format", "json", folder / f"{name}.db")
    refused("report folder", 1, "without spools", "report", folder / "nothing")
    refused("machines of a folder", 1, "is a folder; expected a trace", "machine", "list", folder / "nothing")
    refused("report model", 1, "no prediction", "report", halo, "--model", "nonesuch")
    refused("report usage", 2, "expected a trace: trace.db", "report")
    refused("report format", 2, "expected text, csv, json or html", "report", halo, "--format", "pdf")
    refused("report option", 2, "--colour: not an option", "report", halo, "--colour")
    refused("report output", 1, "cannot be written", "report", halo, "-o", folder / "no" / "such" / "folder")


def unusual(folder):
    run_row = ("INSERT INTO run VALUES (1, 'k', '0', 0, 0, 'MPICH', 'MPICH 4.0.2', 'MPI_THREAD_SINGLE', 'a' || char(27) "
               "|| '[31m' || x'ff', 2, 2, NULL, NULL, NULL, NULL, 'all');")
    silent = database(folder / "silent.db", run_row)
    golden_of("silent.txt", "report", "--all", silent.name)
    unknown = json.loads(run("report", silent, "--format", "json")[1])["run"]
    check("json unknown", [unknown[key] for key in ("eager_limit_bytes", "eager_limit_network_bytes", "own_cost_ns",
                                                    "started_by", "launched", "processor_wait")] == [None] * 6, unknown)
    # A trace of somebody else's making: no constraints, NULL in every column, extreme integers.
    loose = re.sub(r" REFERENCES \w+\(\w+\)|(?<! IS) NOT NULL| CHECK \(.*?\)| PRIMARY KEY(?! \()|,\s+(PRIMARY KEY|UNIQUE) \(.*?\)|"
                   r" WITHOUT ROWID", "", re.sub(r"--.*", "", (SQL / "schema.sql").read_text()))
    check("nulls", loose.count("NOT NULL") == loose.count("IS NOT NULL") and "PRIMARY" not in loose and "UNIQUE" not in loose, loose)
    tables = ("node", "process", "function", "form", "message_row", "unmatched", "kind", "round", "round_process", "prediction_run",
              "prediction", "untracked", "loss", "communicator", "recording_off", "call_row", "replay_run", "replay_place", "replay_part",
              "replay_efficiency", "program")
    for name, value in {"nulls": "NULL", "lowest": "-9223372036854775807", "highest": "9223372036854775807",
                        "texts": "char(233) || x'ff'", "infinite": "9e999"}.items():
        path = folder / f"{name}.db"
        connection = sqlite3.connect(path)
        connection.executescript(loose + run_row)
        for table in tables:
            columns = len(connection.execute(f"PRAGMA table_info({table})").fetchall())
            for row in (value, value, "1"):
                connection.execute(f"INSERT INTO {table} VALUES ({', '.join([row] * columns)})")
        columns = [row[1] for row in connection.execute("PRAGMA table_info(run)") if row[1] != "id"]
        connection.execute(f"UPDATE run SET {', '.join(f'{column} = {value}' for column in columns)}")
        connection.commit()
        connection.close()
        for kind in ("text", "csv", "json", "html"):
            code, out, err = run("report", path, "--format", kind)
            check(f"{name} {kind}", code in (0, 1) and (code == 0) == (out != "") and (code == 1) == (err != ""),
                  f"exit {code}: {err}")
            check(f"{name} {kind}", code == 0 or name not in ("nulls", "texts"), f"exit {code}: {err}")
            if kind == "json" and code == 0:
                json.loads(out)
    # 200 ranks: the worst and a summary, or all.
    many = database(folder / "many.db", (HERE / "halo.sql").read_text(),
                    "UPDATE run SET world_size = 200, spools = 200; WITH RECURSIVE r(n) AS (SELECT 4 UNION ALL SELECT n "
                    "+ 1 FROM r WHERE n < 199) INSERT INTO process(rank, node, socket, ended) SELECT n, 0, 0, "
                    "'finalize' FROM r; INSERT INTO round_process SELECT 2, rank, 10000000, 10000000 + 1000 * rank, 0 FROM process WHERE "
                    "rank > 3; INSERT INTO prediction SELECT 2, 1, rank, 1e-9 * rank * 200, 0, 1e-9 * rank * 200, 0, 0, 0, 0, NULL, NULL, 0 FROM process WHERE"
                    " rank > 3;")
    golden_of("many.txt", "report", "--all", many.name)
    code, out, _ = run("report", many, "--all", "--all-ranks")
    check("--all-ranks", code == 0 and out.split("Ranks\n")[1].split("\n\n")[0].count("\n") == 201, out[-300:])
    # From a share of 5 % of a rank's rounds on overlap is spoken of; without models with what was measured.
    for inside, shown in ((95, True), (96, False)):
        busy = database(folder / "busy.db", (HERE / "halo.sql").read_text(), "UPDATE round_process SET in_mpi_ns = end_ns - begin_ns;"
                        f"UPDATE round_process SET end_ns = begin_ns + 100000, in_mpi_ns = {inside}000 WHERE rank = 2;"
                        "DELETE FROM prediction; DELETE FROM prediction_run;")
        text = plain(run("report", busy, "--all")[1])
        check("overlap from 5 % on", ("Overlap" in text) == shown and ("400 us 380 us 20.0 us 5 %" in text) == shown, text)
        page = run("report", busy, "--format", "html")[1]
        check("overlap in html", ("Overlap" in page) == shown, page)
        found = json.loads(run("report", busy, "--format", "json")[1])["overlap"]
        check("overlap in json", (found["matters"], found["longest_outside"], found["models"]) == (shown, [2], []), found)
        rows = list(csv.DictReader(io.StringIO(run("report", busy, "--format", "csv")[1])))
        check("overlap in csv", [(round(float(r["outside_s"]) * 1e6, 6), r["visible_s"]) for r in rows] ==
              [(0, ""), (0, ""), (4 * (100 - inside), ""), (0, "")], rows)
    # Waits for a processor from 5 % on, and a process that its launcher did not join to others.
    for wait, ranks in ((49, 1), (50, 2)):
        shared = database(folder / "shared.db", (HERE / "halo.sql").read_text(), "UPDATE process SET launched = 9;"
                          "UPDATE process SET observed_ns = 2000000000, run_ns = 1500000000, wait_ns = 0, involuntary_switches = 5;"
                          "UPDATE process SET wait_ns = 900000000, involuntary_switches = 77 WHERE rank = 2;"
                          f"UPDATE process SET wait_ns = {wait} * 2000000 WHERE rank = 1; UPDATE process SET wait_ns = NULL WHERE rank = 3;")
        text = plain(run("report", shared, "--all")[1])
        check("wait", f"! {ranks} of 4 ranks waited for a processor that others had, most rank 2: 45.0 % of 2 s (77 involuntary "
              "switches); times include that wait" in text, text)
        check("launched", "! 9 ranks were expected, each made a world" in text and "incomplete: one of 9 processes" in text, text)
        found = json.loads(run("report", shared, "--json")[1])["run"]
        check("json wait", (found["launched"], found["processor_wait"]) == (9, {"ranks": ranks, "worst_rank": 2, "wait_share": 0.45,
              "run_share": 0.75, "observed_s": 2.0, "involuntary_switches": 77}), found)
    # Containers of one machine share its processors.
    for machine, shown in (("id", False), ("0", True)):
        boxes = database(folder / "boxes.db", (HERE / "halo.sql").read_text(), f"UPDATE node SET machine = {machine}, processors = 3;")
        check("crowded containers", ("4 ranks share 3 processors:" in plain(run("report", boxes, "--all")[1])) == shown, machine)
    lossy = database(folder / "lossy.db", (HERE / "halo.sql").read_text(),
                     "UPDATE run SET spools = 3; UPDATE node SET processors = 2; INSERT INTO loss VALUES (3, 'no_spool', 1), (1, 'disk', 17); INSERT INTO"
                     " untracked VALUES (0, 'MPI_Put', 5, 1); INSERT INTO unmatched VALUES (2, 1, 'receive', 3, 0, 7, 8,"
                     " 'partner_lost', 1, NULL, 'MPI_Irecv', 1); UPDATE process SET ended = 'killed' WHERE rank = 1;"
                     "DELETE FROM prediction; DELETE FROM prediction_run;"
                     "INSERT INTO loss VALUES (0, 'limit', 4), (1, 'limit', 1), (2, 'limit', 9), (0, 'memory', 1),"
                     " (2, 'cut_off', 21), (2, 'damaged', 2);"
                     "INSERT INTO unmatched VALUES (3, 0, 'send', 1, 0, 7, 8, 'unmatched', 1, 2, 'MPI_Send', 1),"
                     " (4, 2, 'receive', NULL, 0, NULL, 8, 'pending', 1, NULL, 'MPI_Irecv', 1),"
                     " (5, 2, 'receive', NULL, 0, NULL, 8, 'freed', 1, NULL, 'MPI_Irecv', 1),"
                     " (6, 2, 'receive', 1, 0, 7, 8, 'failed', 1, 2, 'MPI_Recv', 1),"
                     " (7, 2, 'receive', 1, 0, 7, 8, 'cancelled', 1, 2, 'MPI_Irecv', 1);"
                     "INSERT INTO rejected VALUES (0, 'MPI_Send', NULL, 3), (2, 'MPI_Send', NULL, 1);"
                     "INSERT INTO communicator(id, size, known) VALUES (3, 4, 0);"
                     "INSERT INTO message SELECT NULL, src, dst, 3, tag, 1, level, NULL, send_post_ns, send_complete_ns,"
                     " recv_post_ns, recv_complete_ns, recv_bytes, send_function, recv_function, 0, 0, NULL, NULL, NULL,"
                     " NULL, 5 FROM message WHERE round_id = 1;"
                     "INSERT INTO recording_off VALUES (0, 5, 1000000005, 3, 1), (2, 0, 500000000, 1, 0), (2, 600000000,"
                     " 1100000000, 0, 0);"
                     "INSERT INTO function VALUES (900, 'MPI_Test');"
                     "INSERT INTO call_row VALUES (0, 900, 1, 2, 1, 1000000, NULL), (3, 900, 1, 2, 1, 234, NULL);")
    golden_of("lossy.txt", "report", "--all", lossy.name)
    # All that is missing is named: each loss, its cause and its ranks.
    shown = run("report", lossy, "--all", "--all-ranks")[1]
    section = plain(shown.split("Completeness\n")[1].split("\n\n")[0])
    for text in ("no spool: 1 of 4 ranks (rank 3)", "17 records on rank 1 (disk)", "14 records on ranks 0-2 (limit)",
                 "1 record on rank 0 (memory)", "21 records on rank 2 (cut_off)", "2 records on rank 2 (damaged)",
                 "MPI_Put, 5 calls on rank 0", "(partner_lost)", "(unmatched)", "(pending)", "(freed)", "(failed)",
                 "rank 2 (cancelled)", "rank 0 (proc_null)", "order of 1 message was not certain", "several threads",
                 "creation of its communicator was not seen", "communicators whose creation was not seen: 1",
                 "off (MPI_Pcontrol, MPISTAIR_WINDOW): 3 times on ranks 0, 2, 2 s in all; left out: 4 operations posted then and 1 partner",
                 "unsuccessful tests and probes: 1000234", "rank 1 (killed)"):
        check("completeness section", text in section, f"'{text}' is not in\n{section}")
    missing = json.loads(run("report", lossy, "--format", "json")[1])["completeness"]
    check("json losses", {(c["name"], c["n"], c["where"]) for c in missing["loss_causes"]} == {
        ("disk", 17, "1"), ("limit", 14, "0-2"), ("memory", 1, "0"), ("cut_off", 21, "2"), ("damaged", 2, "2"),
        ("no_spool", 1, "3")}, missing)
    check("json off", missing["left_out"] == 5 and missing["recording_off"] == {
        "times": 3, "ranks": 2, "where": "0, 2", "operations": 4, "partners": 1, "time_s": 2.0}, missing)
    check("json rejected", [(c["name"], c["n"], c["where"]) for c in missing["rejected_calls"]] == [
        ("MPI_Send at ?", 4, "0, 2"), ("MPI_Recv at exchange halo.c:42", 1, "2")], missing)
    check("json doubts", [c["n"] for c in missing["uncertain_reasons"]] == [1, 1] and missing["unsuccessful_tests"] ==
          1000234 and missing["unknown_communicators"] == 1, missing)
    html_report = run("report", lossy, "--format", "html")[1]
    check("html losses", "14 records on ranks 0-2 (limit)" in html_report and "own cost" in html_report, html_report[:300])
    # Ranks without end: many ranges are cut.
    wide = database(folder / "wide.db", (HERE / "halo.sql").read_text(),
                    "WITH RECURSIVE r(n) AS (SELECT 5 UNION ALL SELECT n + 2 FROM r WHERE n < 99) INSERT INTO loss "
                    "SELECT n, 'disk', 1 FROM r; INSERT INTO loss VALUES (6, 'disk', 1);")
    shown = plain(run("report", wide, "--all")[1])
    check("many ranges", "lost: 49 records on ranks 5-7, 9, 11, 13, 15, 17, 19, 21, ... (disk)" in shown, shown[:1500])


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    halo = database(folder / "halo.db", (HERE / "halo.sql").read_text())
    networks(folder)
    formats(folder, halo)
    queries(folder, halo)
    malformed(folder, halo)
    unusual(folder)
    os.chdir("/")
end("report and query")
