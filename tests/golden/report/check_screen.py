"""The first screen of mpistair report: the whole text on a made run, and at most 40 lines of 80 columns on runs of every kind.

usage: check_screen.py MPISTAIR SHARE_SQL [--update]    (--update writes screen.txt anew: read the diff)
"""
import json
import pathlib
import sys
import tempfile

from made_trace import check, database, end, run

HERE = pathlib.Path(__file__).absolute().parent
STEP_NS = 1000000
FOLDERS = "/home/someone/work/projects/a-long-name-of-a-project/source"


def made_run(ranks, steps, late, place="exchange_of_halos.c", command="./solver --steps 20"):
    """A ring of messages and an Allreduce, for which rank `late` computes 0.3 ms of each step longer."""
    rows = [f"INSERT INTO run VALUES (1, 'k', '0', 1700000000000000000, {steps * STEP_NS}, 'MPICH', 'MPICH Version: 4.0.2', "
            f"'MPI_THREAD_SINGLE', '{command}', {ranks}, {ranks}, 4096, 65536, 20, 'MPI_Init', 'all');",
            *(f"INSERT INTO node VALUES ({n}, 'node{n}', 2, 64, NULL, {n}, 64);" for n in range((ranks + 63) // 64)),
            f"INSERT INTO communicator(id, size, known) VALUES (0, {ranks}, 1);",
            "INSERT INTO function VALUES (1, 'MPI_Isend'), (2, 'MPI_Recv'), (3, 'MPI_Wait'), (4, 'MPI_Allreduce');",
            *(f"INSERT INTO callsite VALUES ({i}, 'solver', {i}, NULL, '{name}', '{FOLDERS}/{place}', {40 + i});"
              for i, name in enumerate(("exchange", "exchange", "exchange", "norm"), 1)),
            "INSERT INTO form VALUES (1, 1, 1, 2, 1, 2, 0, 0, 0, 0, 1, NULL, NULL);", f"INSERT INTO kind VALUES (1, {steps}, {ranks}, {ranks * 1000});"]
    for rank in range(ranks):
        rows.append(f"INSERT INTO process(rank, node, socket, core, place, ended, begin_ns, end_ns, observed_ns, run_ns, wait_ns) VALUES "
                    f"({rank}, {rank // 64}, {rank // 32 % 2}, {rank % 64}, 'placement', 'finalize', 0, {steps * STEP_NS}, "
                    f"{steps * STEP_NS}, {steps * STEP_NS}, 0);")
    for step in range(steps):
        at = step * STEP_NS
        rows.append(f"INSERT INTO round(id, kind_id, begin_ns, end_ns) VALUES ({step + 1}, 1, {at + 300000}, {at + 400000});")
        for rank in range(ranks):
            arrives = at + (800000 if rank == late else 500000 + rank % 7 * 1000)
            rows.append(f"INSERT INTO message_row VALUES (NULL, {rank}, {(rank + 1) % ranks}, 0, 5, 1000, 1, {step + 1}, "
                        f"{at + 310000}, 80000, 2000, 58000, 0, 0, 0, 1000, 58000);"
                        f"INSERT INTO call_row VALUES ({rank}, 3, {at + 370000}, 20000, 1, 0, 3);"
                        f"INSERT INTO call_row VALUES ({rank}, 4, {arrives}, {at + 850000 - arrives}, 0, 0, 4);"
                        f"INSERT INTO collective(rank, function, comm, bytes, begin_ns, end_ns, call_ns, nonblocking, callsite) VALUES "
                        f"({rank}, 'MPI_Allreduce', 0, 8, {arrives}, {at + 850000}, {at + 850000 - arrives}, 0, 4);"
                        f"INSERT INTO round_process VALUES ({step + 1}, {rank}, {at + 300000}, {at + 390000}, 81000);")
    return "BEGIN;" + "\n".join(rows) + "COMMIT;"


def expect_fits(name, trace, *wanted):
    code, text, err = run("report", trace)
    lines = text.splitlines()
    check(name, code == 0 and err == "", f"exit {code}: {err}")
    check(f"{name} fits", len(lines) <= 40 and all(len(line) <= 80 for line in lines), text)
    for part in wanted:
        check(name, part in " ".join(text.split()), f"'{part}' is not in\n{text}")
    code, all_text, _ = run("report", trace, "--all")
    wide = [line for line in all_text.splitlines() if len(line) > 80]
    check(f"{name}, all sections fit", code == 0 and not wide, wide)
    return text


def whole(folder):
    text = expect_fits("whole", database(folder / "whole.db", made_run(8, 20, 5)))
    if "--update" in sys.argv:
        (HERE / "screen.txt").write_text(text)
    check("screen.txt", text == (HERE / "screen.txt").read_text(), text)


def figures(folder):
    """By hand: of each of 20 steps a rank is 1 us in MPI_Isend, 58 us in MPI_Recv, 20 us in MPI_Wait; 50 us in MPI_Allreduce
    if it is rank 5, and else 350 us less 1 us for each rank below it."""
    report = json.loads(run("report", folder / "whole.db", "--json")[1])
    times = {row["activity"]: row for row in report["time"]["activities"]}
    allreduce = [20 * (50 if rank == 5 else 350 - rank % 7) for rank in range(8)]
    for name, value in (("point_to_point", 8 * 20 * 79), ("collectives", sum(allreduce)),
                        ("computation", 8 * 20000 - 8 * 20 * 79 - sum(allreduce))):
        check(f"time of {name}", abs(times[name]["time_s"] * 1e6 - value) < 1, (times[name], value))
    check("least and most", abs(times["collectives"]["least_s"] * 1e6 - 1000) < 0.1 and times["collectives"]["most_rank"] in (0, 7), times)
    site = report["time"]["call_sites"][0]
    check("site", (site["function"], site["place"].split("/")[-1]) == ("MPI_Allreduce", "exchange_of_halos.c:44") and
          abs(site["last_rank_s"] * 1e6 - (sum(allreduce) - 8 * 20 * 50)) < 1, site)
    check("out of line", [row["rank"] for row in report["time"]["ranks_out_of_line"]] == [5], report["time"]["ranks_out_of_line"])
    same = database(folder / "same.db", made_run(8, 20, -1))
    check("in line", json.loads(run("report", same, "--json")[1])["time"]["ranks_out_of_line"] == [])


def kinds(folder):
    made = made_run(8, 5, 5)
    busy = "UPDATE process SET wait_ns = observed_ns / 2;"
    expect_fits("busy", database(folder / "busy.db", made, busy, "UPDATE node SET processors = 2;"),
                "8 of 8 ranks waited for a processor that others had")
    expect_fits("lossy", database(folder / "lossy.db", made, "UPDATE run SET spools = 7; INSERT INTO loss VALUES (3, 'no_spool', 1), (1, 'disk', 17);"
                                  "UPDATE process SET ended = 'killed' WHERE rank = 1;"),
                "recording incomplete: spools of 1 processes are missing", "cut short: rank 1 was killed or left by _exit")
    expect_fits("no messages", database(folder / "silent.db", made, "DELETE FROM message_row; DELETE FROM round_process; DELETE FROM round; DELETE FROM kind;"),
                "0 messages")
    expect_fits("no calls", database(folder / "no_calls.db", made, "UPDATE message_row SET send_call_ns = NULL, recv_call_ns = NULL; DELETE FROM call_row;"),
                "not known: it does not say when ranks were inside MPI")
    for name, damage in (("a rank that is none", "UPDATE message_row SET dst = 99 WHERE id = 3;"),
                         ("a size below zero", "UPDATE message_row SET bytes = -5 WHERE id = 3;"),
                         ("a function that is none", "UPDATE call_row SET function = 77 WHERE rank = 2;")):
        text = expect_fits(name, database(folder / "odd.db", made, damage), "Time of all ranks not known: ", "none: when ranks were inside MPI is not known")
        check(f"{name}: the rest", "Models" in text and "40 messages" in text, text)
    expect_fits("nothing", database(folder / "nothing.db", made_run(1, 0, 0)))
    names = made_run(8, 5, 5, place="a-very-" + "long-" * 20 + "name.c", command="./solver " + "--option=value " * 40)
    text = expect_fits("long names", database(folder / "long.db", names), ".c:44")
    check("long names", "..." in text.splitlines()[0], text)
    expect_fits("4,096 ranks", database(folder / "many.db", made_run(4096, 2, 77)), "4096 ranks on 64 nodes", "rank 77 is computing for")


def not_looked_for(folder):
    """The run can be read, but not all that findings need: a node without ranks has processors that nobody can tell."""
    damage = ("CREATE TABLE other AS SELECT id, host, sockets, cores, topology, machine FROM node; DROP TABLE node;"
              "CREATE TABLE node(id INTEGER PRIMARY KEY, host, sockets, cores, topology, machine); INSERT INTO node SELECT * FROM other;"
              "INSERT INTO node(id, host) VALUES (99, 'x'); DROP TABLE other; ALTER TABLE node ADD COLUMN processors INTEGER "
              "GENERATED ALWAYS AS (CASE id WHEN 99 THEN abs(id - 100 - 9223372036854775807) END) VIRTUAL;")
    whole = json.loads(run("report", database(folder / "whole.db", made_run(8, 20, 5)), "--json")[1])
    trace = database(folder / "odd.db", made_run(8, 20, 5), damage)
    why = "cannot be read: integer overflow"
    expect_fits("findings not known", trace, "Diagnosis " + why, "Time of all ranks all ranks", "rank 5 is computing for")
    report = json.loads(run("report", trace, "--json")[1])
    check("findings not known: JSON", report["no_findings"] == why and report["findings"] == [] and report["time"] == whole["time"],
          (report.get("no_findings"), report["findings"]))
    check("findings known: JSON", "no_findings" not in whole and whole["findings"] != [], whole["findings"])
    code, text, errors = run("report", trace, "--section", "findings")
    check("findings not known: section", (code, text, errors) == (0, f"Findings\n  not known: {why}\n", ""), (code, text, errors))


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    whole(folder)
    figures(folder)
    kinds(folder)
    not_looked_for(folder)
end("first screen")
