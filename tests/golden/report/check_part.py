#!/usr/bin/env python3
"""What report, query, diff, replay and export show of a part of a run: hand-worked times, a part that is all of it beside the whole, parts
that add up to it, and parts that are none.

usage: check_part.py MPISTAIR SHARE_SQL TRACE_CASES GEN_WRAPPERS MPI.TBL
"""
import json
import pathlib
import sqlite3
import sys
import tempfile

from made_trace import check, database, end, run

sys.path.insert(0, sys.argv[3])
import spool

# A step lasts 100 us: rank 0 is 20 us in a send, rank 1 25 us in its receive; 10 and 5 us in a collective; and they compute for the rest.
STEPS = ["world 2", "process 0 finish=10000000", "process 1 finish=10000000", "0 mark 7 3000000", "1 mark 7 3100000",
         "repeat 100 every 100000", "0 Send 1 5 8 0-20000 call=20000", "1 Recv 0 5 8 0-25000 call=25000", "0 Allreduce 50000-60000 bytes=8",
         "1 Allreduce 55000-60000 bytes=8", "end"]
# What ranks wait for lies across step and part: requests, a collective that is waited for later, one-sided calls and files.
MIXED = ["world 2", "process 0 finish=20000000", "process 1 finish=20000000",
         "repeat 20 every 1000000", "0 Isend 1 5 70000 0-500000 call=20000", "1 Irecv 0 5 70000 100000-600000 call=30000", "0 Wait 400000-500000 1", "1 Wait 350000-600000 1",
         "0 Iallreduce 600000-900000 bytes=800 call=40000", "1 Iallreduce 650000-910000 bytes=800 call=50000", "0 Wait 800000-900000 1", "1 Wait 810000-910000 1", "end"]


def ingest(folder, name, lines):
    path = folder / name
    path.mkdir()
    script = spool.Script(*spool.read_functions(sys.argv[4], sys.argv[5]))
    script.read(lines)
    script.write(path)
    code, _, err = run("ingest", path, "-o", folder / f"{name}.db")
    check(name, code == 0, err)
    return folder / f"{name}.db"


def report(trace, *part):
    code, text, err = run("report", trace, "--json", *part)
    check(f"report of {part}", code == 0 and err == "", err)
    return json.loads(text)


def near(a, b):
    return a == b or (isinstance(a, (int, float)) and isinstance(b, (int, float)) and abs(a - b) <= 1e-9 * max(abs(a), abs(b)) + 1e-15)


def differences(a, b, where=""):
    if isinstance(a, dict) and isinstance(b, dict):
        for key in set(a) | set(b):
            yield from differences(a.get(key), b.get(key), f"{where}.{key}")
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for i, (x, y) in enumerate(zip(a, b)):
            yield from differences(x, y, f"{where}[{i}]")
    elif not near(a, b):
        yield f"{where}: {a} {b}"


def spent(found, kind):
    return next(row["time_s"] for row in found["time"]["activities"] if row["activity"] == kind)


def check_worked(trace):
    whole = report(trace)
    check("whole", near(spent(whole, "computation"), 14e-3), whole["time"])
    for part, messages, computed in ((("--from", "0.002", "--to", "0.006"), 40, 5600e-6), (("--from", "20%", "--to", "60%"), 40, 5600e-6),
                                     # the send and the receive are cut: 10 and 15 us of them are left, and no message
                                     (("--from", "0.00201", "--to", "0.006"), 39, 5600e-6),
                                     # short enough for copies of its messages and calls
                                     (("--from", "0.002", "--to", "0.003"), 10, 1400e-6), (("--from", "0.00201", "--to", "0.003"), 9, 1400e-6),
                                     # rank 0 from 3 ms on, rank 1 from 3.1 ms on: its message at 3 ms has one side
                                     (("--from", "mark:7", "--to", "40 %"), 9, 10 * 70e-6 + 9 * 70e-6)):
        found = report(trace, *part)
        calls = run("query", trace, "SELECT count(*) FROM message", "--format", "csv", *part)
        check(f"messages of {part}", calls[0] == 0 and calls[1].split()[1] == str(messages) and "part of the run" in calls[2], calls)
        check(f"computation of {part}", near(spent(found, "computation"), computed), found["time"]["activities"])
        check(f"whole of {part}", found["completeness"]["verdict"] == "complete" and "part" in found)
    text = run("report", trace, "--from", "20%", "--to", "60%")[1]
    check("says so", "part of the run: from 0.002 to 0.006 s of 0.01 s" in text, text)
    total = "SELECT sum(calls), sum(time_ns), sum(bytes) FROM total"
    rows = run("query", trace, total, "--format", "csv", "--from", "0.002", "--to", "0.006")[1].split()[1]
    check("totals", rows == f"160,{40 * 60000},{40 * 32}", rows)
    code, text, err = run("diff", trace, trace, "--json", "--from", "0.002", "--to", "0.006")
    check("diff", code == 0 and "part of the run" in text and near(json.loads(text)["runs"][0]["duration_s"], 0.004), text + err)
    for command in (["export", trace, "--to", "csv"], ["replay", trace, "--machine", trace.parent / "toy.tbl", "--json"]):
        seconds, share = (run(*command, "--from", a, "--to", b) for a, b in (("0.002", "0.006"), ("20%", "60%")))
        check(f"{command[0]} by share", seconds[0] == 0 and seconds[1].replace("from 0.002 s to 0.006 s", "from 20 % to 60 %") == share[1], seconds)


def check_all_of_it(trace):
    whole, part = report(trace), report(trace, "--from", "0%", "--to", "100%")
    part.pop("part", None)
    differ = list(differences(whole, part))
    check(f"all of {trace.name}", not differ, differ[:8])


def check_adds_up(trace, cuts):
    """Parts of a run add up to it, wherever it is cut."""
    whole = report(trace)
    parts = [report(trace, "--from", f"{a:.9f}", "--to", f"{b:.9f}") for a, b in zip([0, *cuts], [*cuts, whole["run"]["duration_s"]])]
    inside = sum(inside_s(part) for part in parts)
    check(f"{trace.name} adds up", near(inside, inside_s(whole)), (inside, inside_s(whole)))
    sums = [run("query", trace, "SELECT sum(point_to_point_ns + wait_ns + collective_ns) AS n FROM course", "--format", "csv", "--from", f"{a:.9f}", "--to",
                f"{b:.9f}")[1].split()[1] for a, b in zip([0, *cuts], [*cuts, whole["run"]["duration_s"]])]
    one = run("query", trace, "SELECT sum(point_to_point_ns + wait_ns + collective_ns) AS n FROM course", "--format", "csv")[1].split()[1]
    check(f"course of {trace.name} adds up", abs(sum(map(int, sums)) - int(one)) <= 2 * len(sums), (sums, one))


def inside_s(found):
    return sum(row["time_s"] for row in found["time"]["activities"] if row["activity"] != "computation")


def check_none(trace):
    for part, code, words in ((("--from", "0.5", "--to", "0.2"), 1, "ends at"), (("--from", "3"), 1, "the run ends at 0.01 s"),
                              (("--from", "0.004", "--to", "0.004"), 1, "nothing of the run"), (("--from", "nan"), 2, "expected seconds"),
                              (("--to", "-1"), 2, "expected seconds"), (("--from", "101%"), 2, "expected seconds"), (("--from", "inf"), 2, "expected"),
                              (("--from", "mark:9"), 1, "no rank has the mark"), (("--from", "1e-3x"), 2, "expected seconds"), (("--from", ""), 2, "expected"),
                              (("--from", "60%", "--to", "20%"), 1, "before it begins"), (("--from", "%"), 2, "expected seconds")):
        for command in (("report", trace), ("query", trace, "ranks"), ("diff", trace, trace), ("replay", trace, "--machine", trace.parent / "toy.tbl"),
                        ("export", trace, "--to", "csv")):
            done = run(*command, *part)
            good = done[0] == code and words in done[2] or (command[0] in ("replay", "export") and part[0] == "--from" and part[-1] == "0.004")
            check(f"{command[0]} {part}", good or (command[0] == "export" and part == ("--to", "-1") and done[0] == 2), done)
    code, text, err = run("report", trace, "--to", "99")
    check("beyond the end", code == 0 and "from 0 to 0.01 s" in text, text + err)


def check_totals(folder):
    """Without rows of calls a part is that of the windows."""
    trace = folder / "totals.db"
    rows = ["INSERT INTO run VALUES (1, 'k', '0', 0, 10000, 'MPICH', 'MPICH', 'MPI_THREAD_SINGLE', 'job', 2, 2, 0, 0, 20, 'MPI_Init', 'none');",
            "INSERT INTO node VALUES (0, 'node0', 1, 4, NULL, 0, 4);", "INSERT INTO function VALUES (1, 'MPI_Wait');"]
    for rank in range(2):
        rows += [f"INSERT INTO process(rank, node, socket, ended, begin_ns, end_ns) VALUES ({rank}, 0, 0, 'finalize', 0, 10000);",
                 f"INSERT INTO total VALUES ({rank}, 1, NULL, NULL, NULL, 0, NULL, NULL, 0, 9, 0, 4000, 1000, 0, 0, NULL);"]
    database(trace, "\n".join(rows))
    code, _, err = run("report", trace, "--from", "10%")
    check("no windows", code == 1 and "nor windows of time" in err, err)
    windows = [f"INSERT INTO course VALUES ({rank}, {w * 1000}, {(w + 1) * 1000}, 0, {100 * w + 10 * rank}, 0, 0, 0, 0, 0, 1, 0);"
               for rank in range(2) for w in range(10)]
    connection = sqlite3.connect(trace)
    connection.executescript("\n".join(windows))
    connection.commit()
    connection.close()
    found = report(trace, "--from", "0.0000023", "--to", "0.0000047")
    check("at windows", found["part"]["at_windows"] and near(found["part"]["from_s"], 2e-6) and near(found["part"]["to_s"], 5e-6), found["part"])
    check("of windows", near(spent(found, "computation"), (6000 - (200 + 300 + 400) * 2 - 30) * 1e-9), found["time"]["activities"])
    check("words", "at the ends of windows" in run("report", trace, "--from", "0.0000023", "--to", "0.0000047")[1])


# Region solve is all of the run, with a step of 80 us from 10 us on in each tenth of it; both ranks are in a collective in the step
# (10 and 5 us), and in one between steps (6 us).
REGIONS = ["world 2", "process 0 finish=1000000", "process 1 finish=1000000", "* region 2 solve", "* region 3 step within=2",
           "* in 2 0-1000000 inner=800000", "repeat 10 every 100000", "* in 3 10000-90000", "0 Allreduce 50000-60000 bytes=8 region=3 site=0x10",
           "1 Allreduce 55000-60000 bytes=8 region=3 site=0x10", "* Allreduce 92000-98000 bytes=8 region=2 site=0x20", "end"]


def expect_regions(name, found, expected):
    """expected: path: ranks, occurrences, inclusive, own, inside MPI, longest, most and least outside MPI; all in us."""
    rows = {row["path"]: (row["ranks"], row["occurrences"], *(1e6 * row[key] if row[key] is not None else None for key in (
        "inclusive_s", "exclusive_s", "mpi_s", "longest_s", "most_outside_mpi_s", "least_outside_mpi_s"))) for row in found["regions"]}
    check(name, set(rows) == set(expected) and all(near(round(a, 6) if a is not None else None, b) for path in expected
                                                   for a, b in zip(rows[path], expected[path])), rows)


def check_region_table(folder):
    """The table of regions of a part: occurrences that lie in it, cut at its ends."""
    trace = ingest(folder, "regions", REGIONS)
    expect_regions("regions of the run", report(trace), {"solve": (2, 2, 2000, 400, 270, 1000, 890, 840), "solve/step": (2, 20, 1600, 1600, 150, 80, 750, 700)})
    # From 130 to 370 us: 60 us of step 1, 80 of step 2, 60 of step 3, and two collectives between them.
    middle = report(trace, "--from", "0.000130", "--to", "0.000370")
    expect_regions("regions of a part", middle, {"solve": (2, 2, 480, 80, 69, 240, 213, 198), "solve/step": (2, 6, 400, 400, 45, 80, 185, 170)})
    check("shares of a part", near(round([row["share"] for row in middle["regions"] if row["path"] == "solve"][0], 9), round(80 / 480, 9)), middle["regions"])
    rows = {(row["path"], row["scope"]): row["parallel"] for row in middle["region_efficiencies"]}
    check("efficiencies of regions", set(rows) == {(path, scope) for path in ("solve", "solve/step") for scope in ("inclusive", "exclusive")} and
          near(round(rows["solve/step", "inclusive"], 9), round(355 / 400, 9)) and near(round(rows["solve", "exclusive"], 9), round(56 / 80, 9)), rows)
    # A border within a call cuts that as well: 57 to 93 us has 3 us of each collective of step 0, and 1 us of the one behind it.
    expect_regions("a border within calls", report(trace, "--from", "0.000057", "--to", "0.000093"),
                   {"solve": (2, 2, 72, 6, 8, 36, 32, 32), "solve/step": (2, 2, 66, 66, 6, 33, 30, 30)})
    expect_regions("an occurrence", report(trace, "--region", "step:3"), {"solve": (2, 2, 160, 0, 15, 80, 75, 70), "solve/step": (2, 2, 160, 160, 15, 80, 75, 70)})
    text = run("report", trace, "--section", "regions", "--from", "0.000130", "--to", "0.000370")[1]
    check("text", "solve/step      6" in text and "of the occurrences that lie in this part of the run, cut at its ends\n" in text and "(run)" not in text, text)
    check("first screen", "Regions with most time of their own" in run("report", trace, "--from", "0.000130", "--to", "0.000370")[1])
    connection = sqlite3.connect(trace)
    connection.executescript("UPDATE occurrence SET end_ns = end_ns + 400000, mpi_ns = 0 WHERE region = (SELECT id FROM region WHERE name = 'step') AND rank = 1"
                             " AND begin_ns BETWEEN 500000 AND 600000")
    connection.commit()
    for part in ([], ["--from", "0.000400"]):
        slow = report(trace, *part)["slow_occurrences"] if not part else None
        rows = run("report", trace, "--section", "regions", *part)[1] if part else str(slow)
        check(f"numbers of slow occurrences {part}", (slow and (slow[0]["rank"], slow[0]["number"]) == (1, 6)) or " 1       6 " in rows, rows)
    connection.executescript("UPDATE run SET detail = 'bursts'; INSERT INTO burst VALUES (0, 1000000);")
    connection.commit()
    text = run("report", trace, "--section", "regions", "--from", "20%", "--to", "40%")[1]
    check("bursts", "cut at its ends; of those that have a record: of" in " ".join(text.split()), text)
    connection.executescript("DELETE FROM occurrence")
    connection.commit()
    text = run("report", trace, "--section", "regions", "--to", "20%")[1]
    check("no records", "no occurrence of a region that has a record lies in this part" in text, text)
    connection.close()


def check_regions(trace):
    """The first region holds 20 steps, its inner one each step; rank 1 begins 10 us later."""
    rows = ["INSERT INTO region VALUES (1, NULL, 'solve', 'solve', 0, 'mpistair'), (2, 1, 'a:b', 'solve/a:b', 1, 'mpistair');"]
    for rank in range(2):
        rows += [f"INSERT INTO occurrence(rank, region, lane, begin_ns, end_ns, inner_ns, mpi_ns, unended) VALUES ({rank}, {region}, 0, {begin + 10000 * rank}, "
                 f"{end_ns + 10000 * rank}, 0, 0, 0);"
                 for region, begin, end_ns in [(1, 2000000, 4000000), *((2, 2000000 + 100000 * i, 2100000 + 100000 * i) for i in range(20))]]
    connection = sqlite3.connect(trace)
    connection.executescript("".join(rows))
    connection.commit()
    connection.close()
    for name, begin, end_ns, messages in (("solve", 2000000, 4010000, 19), ("solve:1", 2000000, 4010000, 19), ("solve/a:b:3", 2200000, 2310000, 0),
                                          ("a:b:3", 2200000, 2310000, 0), ("a:b", 2000000, 4010000, 19)):
        found = report(trace, "--region", name)
        check(f"region {name}", near(found["part"]["from_s"], begin * 1e-9) and near(found["part"]["to_s"], end_ns * 1e-9), found["part"])
        n = run("query", trace, "SELECT count(*) AS n FROM message", "--format", "csv", "--region", name)[1].split()[1]
        check(f"messages of region {name}", n == str(messages), n)
    sums = run("query", trace, "SELECT rank, region, occurrences, time_ns, inner_ns FROM region_total", "--format", "csv", "--region", "a:b:3")[1].split()[1:]
    check("sums of a region", sums == [f"{rank},{region},1,100000,{inner}" for rank in (0, 1) for region, inner in ((1, 100000), (2, 0))], sums)
    for name in ("nothing", "solve:2", "a:b:21", "a", "'"):
        for command in (("report", trace), ("query", trace, "ranks"), ("diff", trace, trace), ("export", trace, "--to", "csv"),
                        ("replay", trace, "--machine", trace.parent / "toy.tbl")):
            done = run(*command, "--region", name)
            check(f"{command[0]} of no region {name}", done[0] == 1 and "--region: no rank has" in done[2], done)
    done = run("report", trace, "--region", "solve", "--to", "3")
    check("region and time", done[0] == 2 and "exclude each other" in done[2], done)


def windows(trace, *part):
    code, text, err = run("query", trace, "SELECT * FROM window_efficiency ORDER BY number", "--json", *part)
    check("windows", code == 0, err)
    return json.loads(text)


def check_windows(steps, totals):
    """Each window of 1000 ns has rank r for 1000 - 100 w - 10 r in computation; the windows add up to the run."""
    for row in windows(totals):
        own, other = 1000 - 100 * row["number"], 990 - 100 * row["number"]
        expected = {"begin_s": row["number"] * 1e-6, "end_s": (row["number"] + 1) * 1e-6, "ranks": 2, "computed_s": (own + other) * 1e-9,
                    "most_rank": 0, "most_s": own * 1e-9, "load_balance": (own + other) / 2 / own, "communication": own / 1000,
                    "parallel": (own + other) / 2000}
        check("window", all(near(row[key], value) for key, value in expected.items()), (row, expected))
    for trace, parts in ((totals, ()), (steps, ())):
        rows, found = windows(trace, *parts), report(trace, *parts)["time"]
        computed = sum(row["computed_s"] for row in rows)
        check("windows add up", near(computed, found["activities"][0]["time_s"]), (computed, found["activities"][0]))
        parallel = sum(row["parallel"] * row["ranks"] * (row["end_s"] - row["begin_s"]) for row in rows) / found["ranks_s"]
        check("efficiencies add up", near(parallel, found["parallel"]), (parallel, found))
    # Rank 1 waits for the sends, 5 us of each collective is rank 0 that waits for rank 1.
    code, text, err = run("query", steps, "SELECT rank, function, sum(waits) AS waits, sum(waited_s) AS s FROM window_awaited GROUP BY 1, 2", "--json")
    check("awaited", code == 0 and [(row["rank"], row["function"], row["waits"], round(row["s"], 12)) for row in json.loads(text)] ==
          [(1, "MPI_Allreduce", 100, 100 * 5e-6)], text + err)
    code, text, err = run("query", steps, "windows", "--format", "csv")
    check("query of windows", code == 0 and len(text.splitlines()) == 1 + len(windows(steps)) and "MPI_Allreduce" in text, text + err)


def check_strip(folder):
    """For whom the others wait over time: rank 1 from the middle on; of one rank all along, and of nobody, nothing is said."""
    for name, slow, strip in (("half", lambda part: 1 if part >= 30 else None, "." * 30 + "1" * 30), ("all", lambda part: 1, None), ("none", lambda part: None, None)):
        rows = ["INSERT INTO run VALUES (1, 'k', '0', 0, 6000000000, 'MPICH', 'MPICH', 'MPI_THREAD_SINGLE', 'job', 3, 3, 0, 0, 20, 'MPI_Init', 'none');",
                "INSERT INTO node VALUES (0, 'node0', 1, 4, NULL, 0, 4);"]
        for rank in range(3):
            rows.append(f"INSERT INTO process(rank, node, socket, ended, begin_ns, end_ns) VALUES ({rank}, 0, 0, 'finalize', 0, 6000000000);")
            rows += [f"INSERT INTO course VALUES ({rank}, {part * 100000000}, {(part + 1) * 100000000}, 0, "
                     f"{0 if slow(part) in (rank, None) else 60000000}, 0, 0, 0, 0, 0, 1, 0);" for part in range(60)]
        text = run("report", database(folder / f"{name}.db", "\n".join(rows)))[1]
        check(f"strip of {name}", (f"waits for rank: {strip}" in text) if strip else "waits for rank:" not in text, text)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "toy.tbl").write_text("name toy\nsource made up\n" + "".join(f"{level} any tau - 1e-6 s\n{level} any bw 1 1e9 B/s\n" for level in (
            "intra_socket", "inter_socket", "inter_node")))
        steps, mixed = ingest(folder, "steps", STEPS), ingest(folder, "mixed", MIXED)
        halo = database(folder / "halo.db", (pathlib.Path(__file__).parent / "halo.sql").read_text())
        for trace in (steps, mixed, halo):
            check_all_of_it(trace)
        check_worked(steps)
        check_adds_up(steps, [0.001, 0.00201, 0.004055, 0.0073])
        check_adds_up(steps, [part * 0.00073 for part in range(1, 14)])
        check_adds_up(mixed, [0.0004, 0.00355, 0.01145, 0.0199])
        check_none(steps)
        check_totals(folder)
        check_windows(steps, folder / "totals.db")
        check_strip(folder)
        check_regions(steps)
        check_region_table(folder)
    end("part")


if __name__ == "__main__":
    sys.exit(main())
