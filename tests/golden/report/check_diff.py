"""mpistair diff on made traces: what is named, what is noise, formats, exit codes, and files that are no good.

usage: check_diff.py MPISTAIR SHARE_SQL
"""
import csv
import io
import json
import pathlib
import re
import tempfile

from made_trace import check, database, end, run

LINES, COLUMNS = 40, 80


def totals(path, computed_ms, detail="none"):
    """Two ranks that compute so long and wait in MPI_Send for 100 ms, 10 ms more on rank 1."""
    rows = [f"INSERT INTO run VALUES (1, '{path.name}', '0.2.0', 0, {computed_ms * 10**6 + 10**8}, 'Open MPI', 'Open MPI v4', "
            f"'MPI_THREAD_SINGLE', './job', 2, 2, 4096, NULL, NULL, 'MPI_Init', '{detail}');",
            "INSERT INTO node VALUES (0, 'here', 1, 4, NULL, 0, 4);", "INSERT INTO function VALUES (1, 'MPI_Send');",
            "INSERT INTO callsite VALUES (1, '/b/job', 10, NULL, 'halo', 'job.c', 10);"]
    rows += [f"INSERT INTO process(rank, node, socket, ended, begin_ns, end_ns) VALUES ({rank}, 0, 0, 'finalize', 0, {computed_ms * 10**6 + 10**8});"
             f"INSERT INTO total VALUES ({rank}, 1, 1, 0, {1 - rank}, 0, 0, 'send', 4, 50, 500, {10**8 + rank * 10**7}, 9, 0, 0, NULL);"
             for rank in range(2)]
    return database(path, "\n".join(rows))


def check_totals(folder):
    before = [totals(folder / f"before{i}.db", 1000 + i) for i in range(3)]
    after = [totals(folder / f"after{i}.db", 1200 + i, "bursts" if i == 1 else "none") for i in range(3)]
    code, text, err = run("diff", *before, "--", *after)
    check("totals", code == 0 and err == "" and re.search(r"\* +in computation +1.99 s +2.39 s +400 ms +\+20.1 %", text) and
          re.search(r" in Send job.c:10 +210 ms +210 ms +0.00 us", text) and "Times are those of all calls" in text, text + err)
    code, text, err = run("diff", *before[:2], "--", before[2], *before[:1])
    check("totals alike", code == 0 and "Nothing is above noise" in text, text + err)
    code, text, err = run("diff", before[0], trace(folder / "rows.db"))
    check("totals beside rows", code == 0 and "Times are those of all calls" in text, text + err)


def trace(path, reduce_us=1000, send_line=20, ranks=2, rounds=64, extra="", slow_rank=None, wobble_us=20, command="./job", key="k", burst_us=0):
    """Two call sites, 64 rounds: a computation of reduce_us and an Allreduce, one of 500 us and a send; it varies by +-wobble_us."""
    rows = [f"INSERT INTO run VALUES (1, '{key}', '0.2.0', {abs(hash(str(path))) % 10**9}, 0, 'Open MPI', 'Open MPI v4', "
            f"'MPI_THREAD_SINGLE', '{command}', {ranks}, {ranks}, 4096, NULL, NULL, 'MPI_Init', 'all');",
            "INSERT INTO node VALUES (0, 'here', 1, 4, NULL, 0, 4);",
            "INSERT INTO communicator VALUES (0, 'MPI_COMM_WORLD', NULL, NULL, %d, NULL, 1);" % ranks,
            f"INSERT INTO callsite VALUES (1, '/b/job', 10, NULL, 'solve', 'job.c', 10), (2, '/b/job', {send_line * 9}, NULL, 'halo', 'job.c', "
            f"{send_line}), (3, '/b/job', 30, NULL, 'halo', 'job.c', 300), (4, '/b/job', 40, NULL, 'extra', 'job.c', 400);",
            "INSERT INTO function VALUES (1, 'MPI_Barrier'), (2, 'MPI_Send'), (3, 'MPI_Recv');"]
    for rank in range(ranks):
        rows.append(f"INSERT INTO process(rank, node, socket, ended, begin_ns, end_ns) VALUES ({rank}, 0, 0, 'finalize', 0, 0);"
                    f"INSERT INTO communicator_member VALUES (0, {rank}, {rank});")
    at = [0] * ranks
    for i in range(rounds):
        for rank in range(ranks):
            wobble = ((i * 7 + rank * 3) % 5 - 2) * wobble_us // 2
            at[rank] += 1000 * (wobble + (reduce_us if slow_rank in (None, rank) else 1000) + (burst_us if 20 <= i < 24 else 0))
        left = max(at) + 100_000
        for rank in range(ranks):
            rows.append(f"INSERT INTO collective VALUES (NULL, {rank}, 'MPI_Allreduce', 0, 8, NULL, {at[rank]}, {left}, "
                        f"{left - at[rank]}, 0, NULL, NULL, 1, NULL);")
            rows.append(f"INSERT INTO call_row VALUES ({rank}, {2 + rank % 2}, {left + 500_000}, 50000, 0, 0, {2 + rank % 2});")
            at[rank] = left + 550_000
    rows.append(f"UPDATE run SET duration_ns = {max(at)}; UPDATE process SET end_ns = {max(at)};")
    database(pathlib.Path(path), "".join(rows), extra)
    return path


def rows_of(*arguments):
    code, text, error = run("diff", *arguments, "--json")
    check(f"json of {arguments}", code in (0, 1) and text, error)
    return json.loads(text)


def main(folder):
    check_totals(folder)
    a, b = trace(folder / "a.db"), trace(folder / "b.db", wobble_us=26)
    slow = trace(folder / "slow.db", reduce_us=1200)
    code, text, error = run("diff", a, b)
    check("launches of one job", code == 0 and "Nothing is above noise" in text, text + error)
    code, text, error = run("diff", a, slow)
    check("the site is named", code == 0 and "Time is added before MPI_Allreduce solve job.c:10: +25.6 ms, +20.4 %" in text, text + error)
    check("marked", any(line.startswith("  *  before Allreduce job.c:10") for line in text.split("\n")), text)
    whole = run("diff", a, slow, "--all")[1]
    for name, shown in ("first screen", text), ("--all", whole):
        check(f"{name}: columns", max(map(len, shown.split("\n"))) <= COLUMNS, shown)
    check("first screen: lines", text.count("\n") <= LINES, text)
    check("--all shows more", whole.count("\n") >= text.count("\n"), whole)
    code, text, error = run("diff", slow, a)
    check("faster", code == 0 and "Time is saved before MPI_Allreduce solve job.c:10" in text, text + error)

    found = rows_of(a, slow)
    first = next(row for row in found["rows"] if row["table"] == "site")
    check("json", first["above_noise"] and first["place"]["line"] == 10 and first["place"]["part"] == "before"
          and abs(first["change_s"] - 0.0256) < 1e-6 and first["noise_s"] < first["change_s"], first)
    check("levels need no messages", not any(row["table"] == "level" for row in found["rows"]), found)
    code, text, error = run("diff", a, slow, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(text)))
    check("csv has the rows of json", [row["name"] for row in rows] == [row["name"] for row in found["rows"]], text)
    code, text, error = run("diff", a, slow, "--format", "html", "-o", folder / "d.html")
    check("html", code == 0 and "<title>" in (folder / "d.html").read_text() and "job.c:10" in (folder / "d.html").read_text(), error)

    # Four of 64 rounds take 10 ms longer: more than the noise, but one of 16 spans only.
    burst = trace(folder / "burst.db", burst_us=10000)
    code, text, error = run("diff", a, burst)
    plain = " ".join(text.split())
    check("in few spans", code == 0 and re.search(r"The run takes .* more than the noise of [\d.]+ %, but in few of its 16 spans only: [+-]0\.\d % "
                                                  r"without the 2 largest and the 2 smallest changes\.", plain)
          and "No time is above noise throughout the run" in plain and "may be launches" not in plain and "~ exceeds noise" in plain, text)
    share, noise = (float(found) for found in re.search(r": \+([\d.]+) %, more than the noise of ([\d.]+) %", plain).groups())
    check("the text does not contradict itself", share > noise, text)
    check("in few spans: columns", max(map(len, text.split("\n"))) <= COLUMNS, text)
    found = rows_of(a, burst)["rows"]
    check("in few spans: json", found[0]["table"] == "run" and found[0]["decision"] == "in few spans only"
          and abs(found[0]["steady_s"]) < found[0]["noise_s"] < found[0]["change_s"], found[0])
    rows = list(csv.DictReader(io.StringIO(run("diff", a, burst, "--format", "csv")[1])))
    check("in few spans: csv", [row["decision"] for row in rows] == [row["decision"] for row in found], rows)
    check("within noise", rows_of(a, b)["rows"][0]["decision"] == "within noise" and "within the noise of" in run("diff", a, b)[1])

    late = rows_of(a, trace(folder / "late.db", reduce_us=1090, slow_rank=1))
    above = [(row["table"], row["rank"]) for row in late["rows"] if row["above_noise"] and row["table"].startswith("site")]
    check("a late rank alone", above == [("site on rank", 1)], late)

    for code, arguments in ((1, ["--fail-above", "5%"]), (1, ["--fail-above", "19.5 %"]), (0, ["--fail-above", "25"]), (0, ["--launches", "30%"])):
        check(f"exit code of {arguments}", run("diff", a, slow, *arguments)[0] == code)
    code, text, error = run("diff", a, slow, "--fail-above", "5%")
    check("says what failed", "run takes +12.0 %" in error and "above 5 %: most is added before MPI_Allreduce solve job.c:10" in error, error)
    check("faster never fails", run("diff", slow, a, "--fail-above", "0%")[0] == 0)
    check("noise never fails", run("diff", a, b, "--fail-above", "0%")[0] == 0)

    more = [trace(folder / f"{name}.db", reduce_us=us) for name, us in (("a2", 1010), ("a3", 995), ("s2", 1195), ("s3", 1210))]
    groups = rows_of(a, more[0], more[1], "--", slow, more[2], more[3])
    check("groups", next(row for row in groups["rows"] if row["table"] == "site")["above_noise"]
          and [r["side"] for r in groups["runs"]] == list("AAABBB"), groups)
    check("one against more", [r["side"] for r in rows_of(a, more[0], more[1])["runs"]] == list("ABB"))
    check("three of one job", rows_of(a, more[0], more[1])["above_noise"] == 0)

    moved = rows_of(a, trace(folder / "moved.db", send_line=25))
    check("a moved line", not any(row["state"].startswith("only") for row in moved["rows"]), moved)
    other = trace(folder / "other.db", ranks=3, command="./other", extra="UPDATE callsite SET function = 'new' WHERE id = 2")
    code, text, error = run("diff", a, other)
    check("other ranks and command", code == 0 and "has 2 ranks" in text and "ran: ./other" in text and "only B" in text and "only A" in text, text)
    code, text, error = run("diff", a, a)
    check("the same file", code == 0 and "are the same run" in " ".join(text.split()) and "Nothing is above noise" in text, text + error)
    nothing = database(folder / "nothing.db", "INSERT INTO run VALUES (1, 'k', '0', 0, 0, 'MPICH', '', '', 'x', 1, 1, 0, 0, 0, NULL, 'all');"
                       "INSERT INTO process(rank, ended) VALUES (0, 'finalize');")
    code, text, error = run("diff", nothing, nothing)
    check("no time", code == 0 and "took no time" in text and "nan" not in text, text + error)
    check("no time, json", "NaN" not in run("diff", nothing, a, "--json")[1])

    empty = database(folder / "empty.db")
    (folder / "cut.db").write_bytes(a.read_bytes()[:5000])
    (folder / "text.db").write_text("no database")
    old = trace(folder / "old.db", extra="PRAGMA user_version = 3")
    negative = trace(folder / "negative.db", extra="UPDATE run SET duration_ns = -5")
    for path, says in ((empty, "holds no run"), (folder / "cut.db", "cut.db"), (folder / "text.db", "text.db"), (old, "schema version 3"),
                       (folder / "absent.db", "absent.db"), (negative, "run.duration_ns is -5")):
        code, text, error = run("diff", a, path)
        check(f"{path.name} is refused", code == 1 and says in error and not text, f"{code} {error}")
    for name, change in (("huge", "UPDATE call_row SET call_ns = 9223372036854775807"), ("null", "UPDATE collective SET end_ns = NULL"),
                         ("words", "UPDATE callsite SET line = 'x', file = NULL"), ("ranks", "UPDATE call_row SET rank = -7"),
                         ("kinds", "UPDATE collective SET begin_ns = 'soon'")):
        code, text, error = run("diff", a, trace(folder / f"{name}.db", extra=change))
        check(f"{name}: answered", code in (0, 1) and (code == 0) == (error == ""), f"{code} {error}")

    for arguments, says in (([], "at least two traces"), ([a], "at least two traces"), ([a, "--"], "one on each side"), ([a, "--", b, "--", b], "at most one --"),
                            ([a, b, "--fail-above", "x"], "expected a percentage"), ([a, b, "--fail-above", "-1"], "expected a percentage"),
                            ([a, b, "--launches", "nan"], "expected a percentage"), ([a, b, "--format", "xml"], "xml")):
        code, text, error = run("diff", *arguments)
        check(f"{arguments[1:]} is wrong usage", code == 2 and says in error, f"{code} {error}")


with tempfile.TemporaryDirectory(prefix="mpistair-diff-") as scratch:
    main(pathlib.Path(scratch))
end("diff")
