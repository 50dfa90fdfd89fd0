#!/usr/bin/env python3
"""Findings of made traces, each kind where it is planted, and none of it where it is not:
what changes in the course of a run: when ranks are late, iterations, begin and end.

usage: check_findings_course.py MPISTAIR SHARE_SQL SHOW_FINDINGS
"""
import json
import random

from made_run import MS, Made, US, check_parts, expect, expect_gain, expect_kind, expect_none, findings, kinds
from made_trace import check, run


def late_in_time(folder):
    def made_late(late_ns, ranks=4):
        made = Made(ranks)
        for step in range(60):
            for rank in range(ranks):
                made.compute(rank, MS + (late_ns(step) if rank == ranks // 2 else 0))
            made.meet(31)
        return made
    balanced = made_late(lambda step: 0)
    for kind, late_ns, words in (("late-rank", lambda step: 5 * MS, ("in 60 of 60 calls;",)),
                                 ("late-stretch", lambda step: 5 * MS * (20 <= step < 40), ("all from 0.02", " to 0.1")),
                                 ("late-trend", lambda step: step * MS // 5, ("more and more",)),
                                 ("outliers", lambda step: 20 * MS * (step % 12 == 7), ("in 5 of 60 calls, all over the run",))):
        made = made_late(late_ns)
        row = expect_kind(kind, folder, made, kind, "rank 2 arrives last at", *words)
        expect_gain(kind, row, made, balanced)
    made = made_late(lambda step: 5 * MS)
    for n, lines in enumerate(([(30.5, 60.5)], [(0, 60.5), (90.5, 240.5)])):
        kept = [(int(begin * MS), int(end_ns * MS)) for begin, end_ns in lines]
        row = findings(made.write(folder / "a.db", *(f"INSERT INTO burst VALUES ({begin}, {end_ns});" for begin, end_ns in kept)))[0]
        check(f"share of the gain in bursts {n}", row[0] == "late-rank" and 0.75 < float(row[9]) < 0.87, row)
    made = made_late(lambda step: 5 * MS * (40 <= step < 50))
    row = findings(made.write(folder / "a.db", f"INSERT INTO burst VALUES ({4 * MS}, {12 * MS}), ({20 * MS}, {100 * MS});"))[0]
    check("a stretch in bursts: when in the run", row[0] == "late-stretch" and "all from 0.04" in row[7] and " to 0.09" in row[7], row)
    expect_kind("a stretch of two", folder, made_late(lambda step: 3 * MS * (20 <= step < 40), 2), "late-stretch", "rank 1 arrives last at")
    made = Made(4)
    for _ in range(20):
        for rank in range(4):
            made.compute(rank, MS)
        made.meet(30)
        made.compute(1, 4 * MS)
        made.meet(31, function="MPI_Bcast", root=1)
    expect_kind("root's part", folder, made, "root-part", "rank 1, the root, works before MPI_Bcast (work made.c:31)")
    for once_ms in (800, 300):
        made = Made(4)
        for step in range(100):
            for rank in range(4):
                made.compute(rank, (100 if once_ms == 800 else 40) * MS)
            made.meet(30)
            if step == 50:
                made.compute(1, once_ms * MS)
                made.meet(31, function="MPI_Bcast", root=1)
        if once_ms == 800:
            expect_kind("once, but long", folder, made, "root-part", "rank 1, the root, works before MPI_Bcast (work made.c:31)")
        else:
            expect_none("once, and not long", folder, made, "root-part", "late-rank")


def iterations(folder):
    """One iteration that stands out, and all slower from a moment on; nothing of chance, of what was taken from a processor, of runs that
    begin slowly, or that have heavier iterations all along."""
    def loop(work_ns, transfer_ns=lambda step: 10 * US, steps=400):
        made = Made(4)
        for step in range(steps):
            for rank in range(4):
                made.compute(rank, int(work_ns(step, rank)))
            made.meet(30)
            for rank in range(4):
                made.compute(rank, MS)
            made.meet(31, transfer_ns=transfer_ns(step))
        return made
    usual = loop(lambda step, rank: 2 * MS)
    made = loop(lambda step, rank: 2 * MS + (MS if step >= 200 else 0))
    row = expect_kind("slower", folder, made, "slower", "from 0.6", "iterations take 1000 us longer, 33 %: all ranks before MPI_Allreduce (work made.c:30)")
    expect_gain("slower", row, made, usual)
    made = loop(lambda step, rank: 2 * MS, lambda step: (10 if step < 200 else 800) * US)
    row = expect_kind("slower calls", folder, made, "slower", "iterations take 790 us longer, 26 %: in MPI_Allreduce (work made.c:31)")
    expect_gain("slower calls", row, made, usual)
    made = loop(lambda step, rank: (2 + (60 if (step, rank) == (120, 2) else 0)) * MS)
    row = expect_kind("one iteration", folder, made, "slow-iteration", "iteration 120 of 399", "takes 63 ms, others 3.0 ms: rank 2 before MPI_Allreduce (work made.c:30)")
    expect_gain("one iteration", row, made, usual)
    for often_ms, first in ((6, "slow-iteration"), (30, "outliers")): # the rank is late elsewhere, too: by less than that iteration costs, or by far more
        found = findings(loop(lambda step, rank: (2 + (150 if step == 120 else often_ms if step % 16 == 7 else 0) * (rank == 2)) * MS).write(folder / "a.db"))
        check(f"one iteration of a late rank, {often_ms} ms", [row[0] for row in found][:1] == [first] and {row[0] for row in found} & {"outliers", "late-rank"}, found)
    made = loop(lambda step, rank: 2 * MS, lambda step: (60000 if step == 120 else 10) * US)
    row = expect_kind("one slow call", folder, made, "slow-iteration", "iteration 121 of 399", "in MPI_Allreduce (work made.c:31)")
    expect_gain("one slow call", row, made, usual)
    # What others do to iterations stays: mending one gains no more than that one.
    disturbed = [[random.Random(4 * step + rank).choice((0, 0, 0, 4)) for rank in range(4)] for step in range(400)]
    made = loop(lambda step, rank: (2 + disturbed[step][rank] + (150 if (step, rank) == (120, 2) else 0)) * MS)
    grows = loop(lambda step, rank: (2 + disturbed[step][rank] + (2 if step >= 200 else 0)) * MS)
    row = expect_kind("slower, disturbed", folder, grows, "slower", "from ", "all ranks before MPI_Allreduce")
    expect_gain("slower, disturbed", row, grows, loop(lambda step, rank: (2 + disturbed[step][rank]) * MS))
    grows = loop(lambda step, rank: 2 * MS, lambda step: (1000 if step < 200 else 1500) * US)
    row = [row for row in findings(grows.write(folder / "a.db")) if row[0] == "slower"]
    check("calls that get slower by half", len(row) == 1 and abs(float(row[0][8]) - 0.1) < 0.03, row)
    row = expect_kind("one iteration of a disturbed run", folder, made, "slow-iteration", "iteration 120 of 399", "rank 2 before MPI_Allreduce")
    expect_gain("one iteration of a disturbed run", row, made, loop(lambda step, rank: (2 + disturbed[step][rank]) * MS))
    taken = [f"INSERT INTO counter(rank, begin_ns, end_ns, wait_ns) VALUES (2, {at * MS}, {at * MS + 10 * MS}, {9 * MS if at >= 360 else 0});"
             for at in range(0, 1260, 10)]
    made = loop(lambda step, rank: (2 + (60 if (step, rank) == (120, 2) else 0)) * MS)
    found = kinds(made.write(folder / "a.db", *taken))
    check("a processor that was taken", "slow-iteration" not in found, found)
    lot = random.Random(11)
    nothing = {"usual": lambda step, rank: 2 * MS, "faster": lambda step, rank: (3 if step < 120 else 2) * MS,
               "every tenth": lambda step, rank: (8 if step % 10 == 0 else 2) * MS,
               "slow at first": lambda step, rank: (2 + (40 if step == 0 else 0)) * MS,
               "a slower stretch": lambda step, rank: (3 if 160 <= step < 240 else 2) * MS,
               "a slower end": lambda step, rank: (3 if step >= 380 else 2) * MS,
               "the last third of a second": lambda step, rank: (3 if step >= 310 else 2) * MS,
               "one of 20 ms": lambda step, rank: (22 if step == 120 else 2) * MS,
               "little": lambda step, rank: (2.05 if step >= 200 else 2) * MS}
    for number in range(20):
        nothing[f"noise {number}"] = lambda step, rank: (2 + lot.random() / 2 + (lot.expovariate(0.2) if lot.random() < 0.05 else 0)) * MS
        nothing[f"load {number}"] = lambda step, rank, first=lot.randrange(200): (
            2 + lot.random() / 10 + (lot.random() * 4 if first <= step < first + 200 and lot.random() < 0.8 else 0)) * MS
    for name, work in nothing.items():
        expect_none(f"iterations: {name}", folder, loop(work), "slower", "slow-iteration")
    expect_none("too few iterations", folder, loop(lambda step, rank: (2 + (60 if (step, rank) == (12, 2) else 0)) * MS, steps=20), "slower", "slow-iteration")


def occurrences(folder):
    """The same by the occurrences of a region, whose calls do not come equally often in each: the region that all ranks enter equally
    often; where one does not, or where the region is short, by the calls."""
    def loop(work_ns, tail_ns=lambda step, rank: 0, steps=400, share=1.0, left_out=()):
        made, bounds = Made(4), []
        for step in range(steps):
            begin = list(made.at)
            for part in range(1 + step % 3):
                for rank in range(4):
                    made.compute(rank, int(work_ns(step, rank) if part == 0 else MS))
                made.meet(30)
            for rank in range(4):
                made.compute(rank, int(tail_ns(step, rank)))
            if step < share * steps:
                bounds += [(rank, begin[rank], made.at[rank]) for rank in range(4) if (step, rank) not in left_out]
            if step % 7 == 0:
                made.meet(31)
        rows = [f"({rank}, 1, 0, {begin}, {end_ns}, 0, 0, 0)" for rank, begin, end_ns in bounds]
        made.regions = ["INSERT INTO region VALUES (0, NULL, 'solve', 'solve', 0, 'mpistair'), (1, 0, 'step', 'solve/step', 1, 'mpistair');",
                        f"INSERT INTO occurrence(rank, region, lane, begin_ns, end_ns, inner_ns, mpi_ns, unended) VALUES {', '.join(rows)};",
                        "INSERT INTO region_total SELECT rank, region, count(*), sum(end_ns - begin_ns), 0, max(end_ns - begin_ns), 0, 0, 0 "
                        "FROM occurrence GROUP BY rank, region;"]
        return made

    def found(made):
        return json.loads(run("report", made.write(folder / "o.db", *made.regions), "--format", "json")[1])["findings"]

    def expect(name, made, kind, *words):
        rows = [row for row in found(made) if row["kind"] == kind]
        check(name, len(rows) == 1 and all(word in rows[0]["sentence"] for word in words), [row["sentence"] for row in found(made)])
        return rows[0] if rows else {"rank": None, "begin_s": 0}

    usual = lambda step, rank: 2 * MS
    row = expect("slow occurrence", loop(lambda step, rank: (2 + (60 if (step, rank) == (120, 2) else 0)) * MS), "slow-iteration",
                 "occurrence 121 of 400 of solve/step, at 0.3", "takes 6", "rank 2 before MPI_Allreduce (work made.c:30)")
    check("its rank", row["rank"] == 2, row)
    # Work behind the last call of the region counts for the call that follows.
    expect("slow tail", loop(usual, lambda step, rank: (60 if (step, rank) == (126, 1) else 0) * MS), "slow-iteration",
           "occurrence 127 of 400 of solve/step", "rank 1 before MPI_Allreduce (work made.c:31)")
    row = expect("drift", loop(lambda step, rank: (2 + (step >= 268)) * MS), "slower",
                 "on the last 3", "% of the occurrences of solve/step are ", "% slower, by ", ": all ranks before MPI_Allreduce (work made.c:30)")
    check("since when", abs(row["begin_s"] - 0.82) < 0.1, row)
    expect("unequal", loop(lambda step, rank: (2 + (80 if (step, rank) == (120, 2) else 0)) * MS, left_out={(7, 3)}), "slow-iteration", "iteration ")
    expect("a short region", loop(lambda step, rank: (2 + (80 if (step, rank) == (220, 2) else 0)) * MS, share=0.3), "slow-iteration", "iteration ")
    lot = random.Random(13)
    nothing = {"usual": usual, "every tenth": lambda step, rank: (8 if step % 10 == 0 else 2) * MS,
               "a slower stretch": lambda step, rank: (3 if 160 <= step < 240 else 2) * MS,
               "one of 20 ms": lambda step, rank: (22 if step == 120 else 2) * MS}
    for number in range(10):
        nothing[f"noise {number}"] = lambda step, rank: (2 + lot.random() / 2 + (lot.expovariate(0.2) if lot.random() < 0.05 else 0)) * MS
    for name, work in nothing.items():
        rows = [row["sentence"] for row in found(loop(work)) if row["kind"] in ("slower", "slow-iteration")]
        check(f"occurrences: {name}", not rows, rows)


def ends(folder):
    for kind, before, behind in (("start-up", 100 * MS, 0), ("shut-down", 0, 100 * MS), (None, 20 * MS, 20 * MS)):
        made = Made(4)
        made.compute(0, before)
        made.meet(30)
        for _ in range(40):
            for rank in range(4):
                made.compute(rank, 4 * MS)
            made.meet(31)
        made.compute(1, behind)
        made.meet(32)
        if kind:
            expect_kind(kind, folder, made, kind, f"the {kind} takes 10", "most for rank " + ("0" if before else "1"))
        else:
            expect_none("short ends", folder, made, "start-up", "shut-down")


check_parts("findings of the course", late_in_time, iterations, occurrences, ends)
