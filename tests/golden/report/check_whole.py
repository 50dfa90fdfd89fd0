"""No share of a recording that is not whole is shown without its mark, in any format of report, replay, diff and query; no
efficiency is above 1; time behind a spool that was full is not computation.

usage: check_whole.py MPISTAIR SHARE_SQL TRACE_CASES GEN_WRAPPERS MPI.TBL
"""
import csv
import io
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile

from made_trace import MPISTAIR, SQL, check, end, run

sys.path.insert(0, sys.argv[3])
import spool

MACHINE = "name toy\nsource made up\n" + "".join(f"{level} any tau - 1e-6 s\n{level} any bw 1 1e9 B/s\n"
                                                 for level in ("intra_socket", "inter_socket", "inter_node"))
# 100 messages and collectives in 10 ms; 90 % of the run is lost where the spools are full.
STEPS = ["repeat 100 every 100000", "0 Send 1 5 8 0-20000", "1 Recv 0 5 8 0-25000", "0 Allreduce 50000-60000 bytes=8",
         "1 Allreduce 55000-60000 bytes=8", "end"]
CASES = {
    "whole": [],
    "full": [f"process {rank} lost_limit=9000 lost_at=10000000 finish=100000000" for rank in (0, 1)],
    "one full": ["process 0 lost_disk=9000 lost_at=10000000 finish=100000000", "process 1 finish=100000000"],
    "absent": ["absent 1"],
    "killed": ["process 1 end=none"],
    "off": ["0 mark 0 10000000", "1 mark 0 10000000"],
}
PLAIN = re.compile(r"^(?!.*waited for a processor).*\d %", re.MULTILINE)
WITHOUT_MARK = re.compile(r"<(script|style)\b.*?</\1>", re.DOTALL)


def make(folder, name, lines):
    path = folder / name.replace(" ", "_")
    path.mkdir()
    script = spool.Script(*spool.read_functions(sys.argv[4], sys.argv[5]))
    absent = {f"{line.split()[1]} " for line in lines if line.startswith("absent")}
    script.read(["world 2", *(line for line in STEPS if line[:2] not in absent), *lines])
    script.write(path)
    trace = folder / f"{path.name}.db"
    code, _, err = run("ingest", path, "-o", trace)
    check(name, code == 0, err)
    return trace


def efficiencies(value):
    """All efficiencies of a JSON document that are not null."""
    names = ("parallel", "load_balance", "communication", "serialisation", "transfer")
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from [inner] if key in names and isinstance(inner, (int, float)) else efficiencies(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from efficiencies(inner)


def check_text(name, is_whole, *arguments):
    code, out, err = run(*arguments)
    plain, marked = PLAIN.search(out), "%?" in out
    check(f"{name}: {arguments[0]}", code == 0 and (plain is None or is_whole) and marked != is_whole and
          ("%? is a share of a recording that is not whole: " in out) != is_whole, out + err)
    return out


def page_of(trace):
    """The page with its pictures, where the library that draws them was there when mpistair was built."""
    environment = {key: value for key, value in os.environ.items() if key != "MPISTAIR_SHARE"}
    return subprocess.run([MPISTAIR, "report", trace, "--format", "html"], capture_output=True, text=True, timeout=60, check=True,
                          env=environment).stdout


def check_report(name, trace, is_whole):
    check_text(name, is_whole, "report", trace)
    check_text(name, is_whole, "report", trace, "--all")
    report = json.loads(run("report", trace, "--json")[1])
    check(f"{name}: report JSON", report["whole"] is is_whole and (report["not_whole"] is None) == is_whole and
          all(0 <= value <= 1 for value in efficiencies(report)), (report["whole"], report["not_whole"], report["time"]))
    page = page_of(trace)
    shown = WITHOUT_MARK.sub("", page)
    noted = shown.count("Of what was recorded alone: ") == shown.count("<figcaption>")
    check(f"{name}: page", is_whole or (PLAIN.search(shown) is None and noted), shown)
    rows = list(csv.DictReader(io.StringIO(run("report", trace, "--format", "csv")[1])))
    check(f"{name}: report CSV", rows and all((row["recording"] == "complete") == is_whole for row in rows), rows)
    return report, page


def check_replay(name, trace, is_whole, machine):
    replay = json.loads(run("replay", trace, "--machine", machine, "--format", "json")[1])
    check(f"{name}: replay JSON", replay["whole"] is is_whole and (replay["not_whole"] is None) == is_whole and
          all(0 <= value <= 1 for value in efficiencies(replay)), replay["efficiencies"])
    out = check_text(name, is_whole, "replay", trace, "--machine", machine)
    rows = list(csv.DictReader(io.StringIO(run("replay", trace, "--machine", machine, "--format", "csv")[1])))
    lost_s = [float(row["measured_s"]) for row in rows if row["quantity"] == "not_recorded" and row["rank"] == ""]
    check(f"{name}: replay CSV", (lost_s != []) == ("full" in name), lost_s)
    return replay, out


def check_queries(name, trace, is_whole):
    """Each query that gives a share or an efficiency says what the recording has."""
    with sqlite3.connect(trace) as connection:
        for path in sorted(SQL.glob("*.sql")):
            if path.name == "schema.sql":
                continue
            rows = connection.execute(path.read_text())
            columns = [column[0] for column in rows.description]
            shares = [column for column in columns if column.endswith("share") or column == "efficiency"]
            rows = rows.fetchall()
            check(f"{name}: query {path.stem}", not shares or "recording" in columns, columns)
            if shares and rows:
                at = columns.index("recording")
                check(f"{name}: query {path.stem}", all((row[at] == "complete") == is_whole for row in rows), rows)
            if "efficiency" in columns:
                values = [row[columns.index(key)] for row in rows for key in ("measured", "predicted")]
                check(f"{name}: query {path.stem}", all(value is None or 0 <= value <= 1 for value in values), rows)


def check_diff(name, whole, trace, is_whole):
    check_text(name, is_whole, "diff", whole, trace, "--all")
    changes = json.loads(run("diff", whole, trace, "--format", "json")[1])
    check(f"{name}: diff JSON", [side["whole"] for side in changes["runs"]] == [True, is_whole] and
          (changes["runs"][1]["not_whole"] is None) == is_whole, changes["runs"])
    rows = list(csv.DictReader(io.StringIO(run("diff", whole, trace, "--format", "csv")[1])))
    check(f"{name}: diff CSV", rows and all(row["whole"] == str(int(is_whole)) for row in rows), rows)


def check_full(report, page, replay, text):
    """14 ms of the ranks' 200 ms are computation, 180 ms nobody knows."""
    rows = {row["activity"]: row for row in report["time"]["activities"]}
    check("full: computation", abs(rows["computation"]["time_s"] - 0.014) < 1e-4, rows)
    check("full: not recorded", abs(rows["not_recorded"]["time_s"] - 0.18) < 1e-4 and abs(rows["not_recorded"]["share"] - 0.9) < 1e-3, rows)
    check("full: no efficiency", report["time"]["parallel"] is None and
          set(replay["efficiencies"]["measured"].values()) | set(replay["efficiencies"]["predicted"].values()) == {None} and
          "18000 records lost" in replay["efficiencies_not_given"], replay["efficiencies"])
    check("full: replay", replay["run"]["measured_s"] < 0.0101 and "not given, as what ranks computed is not known" in text, text)
    check("full: page", ',"not recorded",0.09,' in page or "<figcaption>" not in page, page)


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    machine = folder / "toy.tbl"
    machine.write_text(MACHINE)
    traces = {name: make(folder, name, lines) for name, lines in CASES.items()}
    for name, trace in traces.items():
        is_whole = name == "whole"
        if name != "absent":
            replay, text = check_replay(name, trace, is_whole, machine)
        report, page = check_report(name, trace, is_whole)
        check_queries(name, trace, is_whole)
        check_diff(name, traces["whole"], trace, is_whole)
        if name == "full":
            check_full(report, page, replay, text)
end("marks of what is not whole")
