"""Efficiencies of regions and windows: of a job worked by hand, and of runs made by lot, whose figures must add up to those of the run.

usage: check_efficiencies.py MPISTAIR SHARE_SQL FOLDER_OF_SPOOL_PY GEN_WRAPPERS MPI.TBL [RUNS [SEED]]
"""
import json
import pathlib
import random
import sqlite3
import sys
import tempfile

from made_trace import check, end, run

sys.path.insert(0, sys.argv[3])
import spool  # noqa: E402

FUNCTIONS = spool.read_functions(sys.argv[4], sys.argv[5])
RUNS, SEED = (int(word) for word in (sys.argv[6:8] + ["40", "1"][len(sys.argv[6:8]):]))
EXACT = 1e-9


def near(value, expected):
    return (value is None) == (expected is None) and (value is None or abs(value - expected) <= EXACT * max(1, abs(expected)))


def ingest(folder, lines):
    script = spool.Script(*FUNCTIONS)
    script.read(lines)
    script.write(str(folder))
    trace = folder / "trace.db"
    code, _, err = run("ingest", folder, "-o", trace)
    check("ingest", code == 0, err)
    return trace


def rows_of(trace, sql):
    with sqlite3.connect(f"file:{trace}?immutable=1", uri=True) as connection:
        return connection.execute(sql).fetchall()


# Times in us. Rank 0 computes 100 in step and waits 200 there; in solve alone it computes 400, and its Recv of 800 to 900 is of a message
# that rank 1 sent from 700 to 900; outside it computes 150 and waits 50. Rank 1: 290 and 10 in step, 300 and 200 in solve, 180 and 20.
HAND = """world 2
process 0 finish=1000000
process 1 finish=1000000
* region 2 solve
* region 3 step within=2
0 in 2 100000-900000 inner=300000
0 in 3 200000-500000
0 Barrier 300000-500000 site=0x100 region=3
0 Recv 1 0 4000000 800000-900000 site=0x200 region=2
0 Barrier 950000-1000000 site=0x100
1 in 2 100000-900000 inner=300000
1 in 3 200000-500000
1 Barrier 490000-500000 site=0x100 region=3
1 Send 0 0 4000000 700000-900000 site=0x300 region=2
1 Barrier 980000-1000000 site=0x100
"""
# path and scope: time of all ranks there, computed; load balance, communication; serialisation, transfer: on an ideal network the message
# is there at 800, when it is received: the run takes 900, solve 700, and 400 outside of step.
WORKED = {("(run)", "run"): (2000, 1420, 710 / 770, 770 / 1000, 770 / 900, 900 / 1000),
          ("solve", "inclusive"): (1600, 1090, 545 / 590, 590 / 800, 590 / 700, 700 / 800),
          ("solve", "exclusive"): (1000, 700, 350 / 400, 400 / 500, 1, 400 / 500),
          ("solve/step", "inclusive"): (600, 390, 195 / 290, 290 / 300, 290 / 300, 1),
          ("solve/step", "exclusive"): (600, 390, 195 / 290, 290 / 300, 290 / 300, 1),
          ("(outside)", "outside"): (400, 330, 165 / 180, 180 / 200, 180 / 200, 1)}


def check_by_hand(folder):
    trace = ingest(folder, HAND.splitlines())
    bare = json.loads(run("report", trace, "--json")[1])["region_efficiencies"]
    check("no replay", len(bare) == len(WORKED) and all(row["serialisation"] is None and row["transfer"] is None for row in bare), bare)
    code, _, err = run("replay", trace, "--machine", "blue-waters")
    check("replay", code == 0, err)
    found = {(row["path"], row["scope"]): row for row in json.loads(run("report", trace, "--json")[1])["region_efficiencies"]}
    check("rows", found.keys() == WORKED.keys(), found.keys())
    for key, (there, computed, load_balance, communication, serialisation, transfer) in WORKED.items():
        row = found.get(key, {})
        worked = {"there_s": there * 1e-6, "computed_s": computed * 1e-6, "parallel": computed / there, "load_balance": load_balance,
                  "communication": communication, "serialisation": serialisation, "transfer": transfer, "ranks": 2}
        for name, value in worked.items():
            check(f"{key} {name}", near(row.get(name), value), (row.get(name), value))
    viewed = rows_of(trace, "SELECT path, scope, parallel, transfer FROM region_efficiency")
    check("view", all(near(parallel, found[path, scope]["parallel"]) and near(transfer, found[path, scope]["transfer"])
                      for path, scope, parallel, transfer in viewed) and len(viewed) == len(found), viewed)
    code, text, err = run("query", trace, "region_efficiencies", "--format", "csv")
    check("query", code == 0 and [row.split(",")[0] for row in text.splitlines()[1:]] ==
          ["(run)", "solve", "solve", "solve/step", "solve/step", "(outside)"], text + err)
    # Of the 300 us inside messages, 100 and 200, all are in solve alone.
    code, _, err = run("predict", trace, "--machine", "blue-waters", "--model", "flow")
    check("predict", code == 0, err)
    (off, modelled), = rows_of(trace, "SELECT sum(off_s), sum(model_s) FROM rank_error")
    errors = rows_of(trace, "SELECT path, scope, actual_s, model_s, off_s, error FROM region_error ORDER BY scope")
    check("errors of regions", [row[:2] for row in errors] == [("solve", "exclusive"), ("solve", "inclusive")], errors)
    for row in errors:
        check("error of solve", all(map(near, row[2:], (300e-6, modelled, off, off / 300e-6))), (row, modelled, off))
    code, text, err = run("query", trace, "region_errors", "--format", "csv")
    check("query of errors", code == 0 and text.count("\n") == 3, text + err)
    rows = json.loads(run("report", trace, "--json")[1])["region_errors"]
    check("errors in JSON", [row["path"] for row in rows] == ["solve", "solve"] and near(rows[0]["actual_s"], 300e-6), rows)
    check("errors in models", "solve 300 us" in " ".join(run("report", trace, "--section", "models")[1].split()), "no row of solve")
    text = run("report", trace, "--section", "regions")[1]
    for line in ("(run) 71 % 92 % 77 % 86 % 90 % -", "solve 68 % 92 % 74 % 84 % 88 % 70 %", "(outside) 82 % 92 % 90 % 90 % 100 % -"):
        check("text " + line, line in " ".join(text.split()), text)
    check("columns", all(len(line) <= 80 for line in text.splitlines()), text)
    # A part has sums of its own: of step alone.
    code, text, err = run("query", trace, "SELECT path, there_s, parallel FROM region_efficiency WHERE scope = 'inclusive' AND path = 'solve/step'",
                          "--format", "csv", "--region", "step")
    check("part", code == 0 and near(float(text.split(",")[-1]), 0.65) and near(float(text.split(",")[-2]), 6e-4), text + err)


def made_by_lot(lot):
    """Lines of a run of nested regions, and {(path, scope): {rank: [there, computed]}} in ns as they were made. Barriers hold ranks
    together; some ranks have regions that others lack."""
    ranks, lines, sums = lot.randint(1, 4), [], {}
    names = ["a", "b", "c"]
    numbers, order = {}, []

    def number_of(path):
        if path not in numbers:
            numbers[path] = 2 + len(numbers)
            order.append(path)
        return numbers[path]

    plan = []  # of all ranks alike: begin of a region, its end, a barrier, a region of rank 0 alone
    depth = 0
    for _ in range(lot.randint(5, 30)):
        kind = lot.choice(["begin", "end", "call", "call", "alone"])
        if kind == "begin" and depth < 3:
            plan.append(("begin", lot.choice(names)))
            depth += 1
        elif kind == "end" and depth > 0:
            plan.append(("end", None))
            depth -= 1
        elif kind in ("call", "alone"):
            plan.append((kind, None))
    plan += [("end", None)] * depth
    at = [lot.randrange(3000) for _ in range(ranks)]
    records = [[] for _ in range(ranks)]
    stacks = [[] for _ in range(ranks)]  # path, begin, in MPI, in regions within, in MPI in those, its line

    def leave(rank):
        path, begin, mpi, inner, inner_mpi, line = stacks[rank].pop()
        length = at[rank] - begin
        records[rank][line] = f"{rank} in {number_of(path)} {begin}-{at[rank]} inner={inner}"
        for scope, there, inside in (("inclusive", length, mpi + inner_mpi), ("exclusive", length - inner, mpi)):
            own = sums.setdefault((path, scope), {}).setdefault(rank, [0, 0])
            own[0] += there
            own[1] += there - inside
        if stacks[rank]:
            stacks[rank][-1][3] += length
            stacks[rank][-1][4] += mpi + inner_mpi

    def enter(rank, name):
        path = (stacks[rank][-1][0] + "/" if stacks[rank] else "") + name
        number_of(path)
        stacks[rank].append([path, at[rank], 0, 0, 0, len(records[rank])])
        records[rank].append("")

    for kind, name in plan:
        for rank in range(ranks):
            at[rank] += lot.randrange(1, 5000)
        if kind == "call":
            arrivals = list(at)
            out = max(at) + lot.randrange(1, 2000)
            for rank in range(ranks):
                at[rank] = out + lot.randrange(50)
                if stacks[rank]:
                    stacks[rank][-1][2] += at[rank] - arrivals[rank]
                within = f" region={number_of(stacks[rank][-1][0])}" if stacks[rank] else ""
                records[rank].append(f"{rank} Barrier {arrivals[rank]}-{at[rank]} site=0x100{within}")
        elif kind == "alone":
            enter(0, "d")
            at[0] += lot.randrange(1, 4000)
            leave(0)
        else:
            for rank in range(ranks):
                enter(rank, name) if kind == "begin" else leave(rank)
    finish = [t + lot.randrange(3000) for t in at]
    lines.append(f"world {ranks}")
    lines += [f"process {rank} finish={finish[rank]}" for rank in range(ranks)]
    for path in order:
        outer, _, name = path.rpartition("/")
        lines.append(f"* region {numbers[path]} {name}" + (f" within={numbers[outer]}" if outer else ""))
    for rank in range(ranks):
        lines += records[rank]
    return lines, sums


def check_by_lot(folder, lot):
    lines, sums = made_by_lot(lot)
    folder.mkdir()
    trace = ingest(folder, lines)
    found = {(path, scope): row for path, scope, *row in rows_of(
        trace, "SELECT path, scope, ranks, there_s, computed_s, longest_s, most_s, parallel, load_balance, communication FROM region_efficiency")}
    one = str(folder)
    for key, by_rank in sums.items():
        there, computed = (sum(own[i] for own in by_rank.values()) * 1e-9 for i in (0, 1))
        longest, most = (max(own[i] for own in by_rank.values()) * 1e-9 for i in (0, 1))
        expected = [len(by_rank), there, computed, longest, most, computed / there, computed / len(by_rank) / most, most / longest] if there > 0 and most > 0 else None
        if expected is not None:
            check(f"{one} {key}", key in found and all(map(near, found[key], expected)), (found.get(key), expected, lines))
    rows = rows_of(trace, "SELECT there_s, parallel FROM region_efficiency e LEFT JOIN region r ON r.id = e.region "
                          "WHERE scope = 'outside' OR (scope = 'inclusive' AND r.parent IS NULL)")
    (there, parallel), = rows_of(trace, "SELECT there_s, parallel FROM region_efficiency WHERE scope = 'run'")
    check(f"{one} times of regions", near(sum(row[0] for row in rows), there), (rows, there))
    check(f"{one} regions", near(sum(row[0] * row[1] for row in rows) / there, parallel), (rows, parallel, lines))
    # The regions alone, each with the time outside of those within it, do the same.
    rows = rows_of(trace, "SELECT there_s, parallel FROM region_efficiency WHERE scope IN ('outside', 'exclusive')")
    check(f"{one} exclusive", near(sum(row[0] * row[1] for row in rows) / there, parallel), (rows, parallel, lines))
    # Windows: time in which a rank was not there yet, or no longer, counts as time without computation.
    rows = rows_of(trace, "SELECT ranks * (end_s - begin_s), parallel FROM window_efficiency")
    check(f"{one} windows", near(sum(row[0] * row[1] for row in rows) / there, parallel), (rows, there, parallel))
    # The run's is what the report says.
    said = json.loads(run("report", trace, "--json")[1])
    said = said["time"]["efficiencies"] if "efficiencies" in said["time"] else said["time"]
    check(f"{one} report", near(said["parallel"], parallel), (said, parallel))


def main():
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        (folder / "hand").mkdir()
        check_by_hand(folder / "hand")
        for number in range(RUNS):
            check_by_lot(folder / f"lot{SEED + number}", random.Random(SEED + number))
    end("efficiencies of regions and windows")


if __name__ == "__main__":
    main()
