"""Every command names a call site in the same way: its short function, file and line with the callers that it was inlined into,
else module and offset; and each output stays what it is whatever bytes names have.

usage: check_places.py MPISTAIR SHARE_SQL
"""
import csv
import io
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import tempfile

from made_trace import MPISTAIR, SQL, check, database, end, run

# Three sites of MPI_Allreduce on both ranks: of a stripped library, of C++ without lines, of a function that was inlined.
TRACE = """
INSERT INTO run VALUES (1, 'key', '0', 0, 100000000, 'Open MPI', 'Open MPI v5', 'MPI_THREAD_SINGLE', './app', 2, 2, NULL, NULL, NULL,
                        'MPI_Init', 'all');
INSERT INTO node(id, host) VALUES (0, 'node0');
INSERT INTO process(rank, node, ended, begin_ns, end_ns) VALUES (0, 0, 'finalize', 0, 90000000), (1, 0, 'finalize', 0, 90000000);
INSERT INTO communicator VALUES (0, NULL, NULL, NULL, 2, NULL, 1);
INSERT INTO callsite VALUES (0, '/opt/app/libfoo.so', 6699, NULL, NULL, NULL, NULL), (1, '/opt/app/libfoo.so', 64, NULL,
                            'int Foam::reduce<int>(int const&, int)', NULL, NULL), (2, '/opt/app/app', 48, NULL, 'inner', '/src/t.c', 6);
INSERT INTO frame VALUES (1, 0, 'Foam::reduce<int>', 'int Foam::reduce<int>(int const&, int)', NULL, NULL),
                         (2, 0, 'inner', 'inner', '/src/t.c', 6), (2, 1, 'outer', 'outer', '/src/t.c', 10),
                         (2, 2, 'main', 'main', '/src/main.c', 17);
INSERT INTO function VALUES (1, 'MPI_Allreduce');
CREATE TEMP TABLE rank AS SELECT column1 AS rank FROM (VALUES (0), (1));
CREATE TEMP TABLE step AS SELECT column1 AS step FROM (VALUES (0), (1), (2));
INSERT INTO collective SELECT NULL, rank, 'MPI_Allreduce', 0, 80, NULL, 1000000 * (10 * step + iif(rank = 1, 4, 1)),
                              1000000 * (10 * step + 5), 1000000 * (5 - iif(rank = 1, 4, 1)), 0, NULL, step, step, NULL FROM rank, step;
INSERT INTO call_row SELECT rank, 1, 1000000 * (10 * step + iif(rank = 1, 4, 1)), 1000000 * (5 - iif(rank = 1, 4, 1)), 0, 0, step
                     FROM rank, step;
INSERT INTO stack VALUES (0, 0, 0), (0, 1, 2);
INSERT INTO unmatched(rank, direction, comm, bytes, reason, post_ns, function, callsite)
  VALUES (0, 'send', 0, 8, 'unmatched', 40000000, 'MPI_Send', 2), (0, 'send', 0, 8, 'failed', 41000000, 'MPI_Send', 0);
INSERT INTO origin VALUES (NULL, 1, 'send', NULL, 0);
INSERT INTO mark VALUES (0, 7, 45000000, 1);
INSERT INTO replay_run VALUES (1, 'm', 'fair', 'recorded', '', 1, 1, NULL);
INSERT INTO replay_place SELECT 1, rank * 3 + step, rank, 'MPI_Allreduce', step, 0.1, 0.1 FROM rank, step;
INSERT INTO replay_part SELECT 1, place, 'transfer', 0.2, 0.1 FROM replay_place;
"""
STRIPPED, CPP, INLINED = "libfoo.so+0x1a2b", "Foam::reduce<int>", "inner /src/t.c:6 in outer :10 in main main.c:17"
# All that breaks a form: ends of lines and cells, quotes, markup, an escape sequence, Latin-1, half a character, none at all.
BYTES = b"/a\n\t\r,;\"'\\<b>&</script><!--\x1b[31m\x07\x9b\xe9\xc3|%s{}\xff\xed\xa0\x80\xe2\x80\xae$(x)`"


def words(text):
    return " ".join(text.split())


def check_one_way(folder):
    trace = database(folder / "made.db", TRACE)
    for name, places in (("callsites", (STRIPPED, INLINED)), ("collective_sites", (STRIPPED, CPP, INLINED)),
                         ("stacks", (f"{INLINED} > {STRIPPED}",)), ("blame", (STRIPPED, CPP)), ("critical_path", (STRIPPED, CPP))):
        code, text, err = run("query", trace, name)
        check(name, code == 0 and err == "" and all(place in text for place in places), text + err)
        check(f"{name} knows all", not re.search(r"(^|\s)\?(\s|$)", text), text)
    text = words(run("report", trace, "--section", "call-sites,completeness")[1])
    for place in (f"MPI_Allreduce {STRIPPED}", f"MPI_Allreduce {CPP}", f"MPI_Allreduce {INLINED}", f"MPI_Send at {STRIPPED}"):
        check("call sites of the report", place in text, text)
    text = words(run("report", trace)[1])
    check("first screen", f"MPI_Allreduce {STRIPPED}" in text and f"MPI_Allreduce {CPP}" in text and "inner" in text, text)
    text = words(run("report", trace, "--section", "collectives,whole-run")[1])
    for place in (f"Allreduce at {STRIPPED}", f"Allreduce at {CPP}", "Allreduce at inner t.c:6", f"MPI_Allreduce at {INLINED}"):
        check("sections", place in text, text)
    found = json.loads(run("report", trace, "--json")[1])
    check("json", {site["place"] for site in found["time"]["call_sites"]} >= {STRIPPED, CPP, INLINED}, found["time"]["call_sites"])
    check("json of collectives", {site["caller"] for site in found["collectives"]["longest"]} == {STRIPPED, CPP, "inner"},
          found["collectives"])
    text = run("diff", trace, "--", trace, "--all")[1]
    check("diff", f"Allreduce {STRIPPED}" in text and f"Allreduce {CPP}" in text and "Allreduce t.c:6" in text, text)
    run("export", trace, "--to", "csv", "-o", folder / "made.csv")
    rows = list(csv.DictReader(open(folder / "made.csv", newline="", encoding="utf-8")))
    check("csv", {row["place"] for row in rows} >= {STRIPPED, CPP, INLINED}, rows)
    run("export", trace, "--to", "perfetto", "-o", folder / "made.json")
    text = (folder / "made.json").read_text(encoding="utf-8")
    check("trace events", all(f'"{place}"' in text for place in (STRIPPED, CPP, INLINED)), text)
    page = run("report", trace, "--format", "html")[1]
    check("page", STRIPPED in page and INLINED in page.replace("\\/", "/"), "not in the page")


def valid(name, output):
    """Returns bytes as text, which has nothing that moves a cursor."""
    try:
        text = output.decode()
    except UnicodeDecodeError as error:
        check(name, False, f"{error}: {output[:400]}")
        return output.decode(errors="replace")
    check(name, not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", text.replace("\r\n", "\n")), repr(text[:2000]))
    return text


def run_bytes(*arguments):
    done = subprocess.run([MPISTAIR, *arguments], capture_output=True, timeout=60,
                          env=dict(os.environ, MPISTAIR_SHARE=str(SQL.parent), LC_ALL="C.UTF-8"))
    return done.returncode, done.stdout, done.stderr


def check_bytes(folder):
    """Names of any bytes, in the trace and of the trace: each output is of its form and has the line."""
    made = database(folder / "plain.db", TRACE)
    connection = sqlite3.connect(made)
    name = "CAST(x'" + BYTES.hex() + "' AS TEXT)"
    connection.executescript(f"UPDATE callsite SET module = {name}, function = iif(id > 0, {name}, NULL), file = iif(id > 1, {name}, NULL);"
                             f"UPDATE frame SET name = {name}, function = {name}, file = iif(callsite = 2, {name}, NULL);"
                             f"UPDATE run SET command = {name}, mpi_library = {name}; UPDATE node SET host = {name}, topology = {name};"
                             f"UPDATE communicator SET name = {name}; UPDATE replay_run SET machine = {name};")
    connection.commit()
    connection.close()
    trace = os.fsencode(folder) + b"/" + BYTES.replace(b"/", b"") + b".db"
    os.rename(made, trace)
    for arguments in ([b"query", trace, b"callsites"], [b"query", trace, b"stacks"], [b"report", trace, b"--all"],
                      [b"diff", trace, b"--", trace, b"--all"], [b"query", trace, b"SELECT * FROM callsite"]):
        code, output, errors = run_bytes(*arguments)
        text = valid(f"text of {arguments[0]}", output)
        check(f"text of {arguments[0]}", code == 0 and errors == b"" and text, errors)
        check(f"the line in text of {arguments[0]}", ":6" in text or arguments[-1].endswith((b"callsite", b"--all")), text)
    for arguments in ([b"query", trace, b"callsites", b"--json"], [b"query", trace, b"SELECT * FROM site", b"--json"],
                      [b"report", trace, b"--json"], [b"diff", trace, b"--", trace, b"--json"], [b"export", trace, b"--to", b"perfetto"]):
        code, output, errors = run_bytes(*arguments)
        check(f"json of {arguments[0]}", code == 0 and errors == b"" and json.loads(valid(f"json of {arguments[0]}", output)), errors)
    for arguments in ([b"query", trace, b"callsites", b"--format", b"csv"], [b"report", trace, b"--format", b"csv"],
                      [b"diff", trace, b"--", trace, b"--format", b"csv"], [b"export", trace, b"--to", b"csv"]):
        code, output, errors = run_bytes(*arguments)
        rows = list(csv.reader(io.StringIO(valid(f"csv of {arguments[0]}", output))))
        check(f"csv of {arguments[0]}", code == 0 and errors == b"" and len({len(row) for row in rows}) == 1, f"{rows} {errors}")
    for arguments in ([b"report", trace, b"--format", b"html"], [b"diff", trace, b"--", trace, b"--format", b"html"]):
        code, output, errors = run_bytes(*arguments)
        page = output.decode()
        check(f"page of {arguments[0]}", code == 0 and errors == b"" and "<b>&</" not in page and page.count("</script>") ==
              len(re.findall("<script[ >]", page)), errors)
    code, output, errors = run_bytes(b"export", trace, b"--to", b"dot")
    check("dot", code == 0 and errors == b"" and valid("dot", output).count("\n") > 3, errors)
    for arguments in ([b"report", trace + b"x"], [b"query", trace, b"SELECT x"], [b"export", trace, b"--to", b"csv", b"-o", trace + b"/no"],
                      [b"report", trace, b"--" + BYTES], [BYTES], [b"replay", trace, b"--machine", BYTES], [b"query", trace, BYTES]):
        code, output, errors = run_bytes(*arguments)
        text = valid(f"error of {arguments}", errors)
        check(f"error of {arguments}", code > 0 and output == b"" and text.count("\n") == 1, errors)


with tempfile.TemporaryDirectory() as temporary:
    check_one_way(pathlib.Path(temporary))
    check_bytes(pathlib.Path(temporary))
end("names of places")
