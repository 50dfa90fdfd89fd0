#!/usr/bin/env python3
"""Findings of made traces, each kind where it is planted, and none of it where it is not:
collectives, one-sided communication, files, threads.

usage: check_findings_calls.py MPISTAIR SHARE_SQL SHOW_FINDINGS
"""
import json
import re

from made_run import MS, Made, US, check_parts, expect_gain, expect_kind, expect_none, findings, kinds
from made_trace import check, run


def collectives(folder):
    def sums(work):
        made = Made(4)
        for _ in range(50):
            for _ in range(20):
                for rank in range(4):
                    made.compute(rank, work)
                made.meet(31, 20 * US)
            for rank in range(4):
                made.compute(rank, MS)
            made.meet(32, 20 * US)
        return made
    expect_kind("small collectives", folder, sums(2 * US), "small-collectives", "MPI_Allreduce (work made.c:31) is called 1000 times by a rank for 8 B")
    expect_none("with work between", folder, sums(200 * US), "small-collectives")

    def barriers(differs, barrier):
        made = Made(4)
        for step in range(40):
            for rank in range(4):
                made.compute(rank, (6 * MS if (rank + step) % 2 else MS) if differs else 3 * MS)
            if barrier or step == 39:
                made.meet(31, function="MPI_Barrier")
        return made
    row = expect_kind("barriers", folder, barriers(True, True), "barriers", "in 40 calls of MPI_Barrier (work made.c:31)")
    expect_gain("barriers", row, barriers(True, True), barriers(True, False))
    expect_none("barriers that cost nothing", folder, barriers(False, True), "barriers")
    for kind, sizes in (("uneven", [10, 10, 100000, 10]), ("even", [1000, 1000, 1300, 1000])):
        made = Made(4)
        for _ in range(20):
            for rank in range(4):
                made.compute(rank, MS)
            made.meet(31, MS, "MPI_Allgatherv", sizes)
        if kind == "uneven":
            expect_kind("uneven counts", folder, made, "uneven-counts", "rank 2 has 100 % of the bytes of MPI_Allgatherv (work made.c:31)")
        else:
            expect_none("even counts", folder, made, "uneven-counts")


def algorithms(folder):
    """4 ranks on 4 processors; by the table, whose ranks share 1e10 B/s, three times 100 kB take 31 us in any order."""
    table = "INSERT INTO machine VALUES ('made', 'made');" + "".join(
        f"INSERT INTO machine_parameter(machine, level, protocol, quantity, n, value, unit, ci_low, ci_high) VALUES ('made', 'intra_socket', "
        f"'any', {row});" for row in ("'tau', NULL, 1e-6, 's', 9e-7, 1.1e-6", "'bw', 1, 1e10, 'B/s', 8e9, 1.2e10"))

    def casts(took, late=0):
        made = Made(4)
        for step in range(60):
            for rank in range(4):
                made.compute(rank, 50 * US + (late if rank == 0 else 0))
            made.meet(31, took(step), "MPI_Bcast", [100000] * 4, 0)
        return made
    path = casts(lambda step: 200 * US).write(folder / "a.db", table)
    rows = [row for row in findings(path) if row[0] == "collective-algorithm"]
    check("an algorithm far from the best", len(rows) == 1 and "60 times 100 kB among 4 ranks, takes 200 us; " in rows[0][7]
          and " with coll_tuned_bcast_algorithm=" in rows[0][7], findings(path))
    shown = json.loads(run("report", path, "--format", "json")[1])["findings"]
    ends = [(row["gain_low"], row["gain"], row["gain_high"]) for row in shown if row["kind"] == "collective-algorithm"]
    check("its gain has the ends of the table's intervals", len(ends) == 1 and all(
        abs(share * 16 - 60 * (0.2 - best)) < 0.2 for share, best in zip(ends[0], (0.0385, 0.031, 0.026))), ends)  # of 16 ms
    text = run("report", path, "--section", "findings")[1]
    check("the screen has them", re.search(r"gain \d+ % \(\d+\s+to \d+ %\)", " ".join(text.split())), text)
    for name, made, more in (("near the best", casts(lambda step: 30 * US), [table]),
                             ("without a table", casts(lambda step: 200 * US), []),
                             ("with two tables", casts(lambda step: 200 * US), [table, "INSERT INTO machine VALUES ('other', 'made');"]),
                             ("slow now and then", casts(lambda step: (20 if step % 3 else 500) * US), [table]),
                             ("a late root", casts(lambda step: 30 * US, 300 * US), [table]),
                             ("crowded", casts(lambda step: 200 * US), [table, "UPDATE node SET processors = 2;"])):
        found = kinds(made.write(folder / "a.db", *more))
        check("algorithm: " + name, "collective-algorithm" not in found, found)
    for text, named in ((table, True), (table.replace("8e9", "8e8"), False)):
        found = kinds(casts(lambda step: 80 * US).write(folder / "a.db", text))
        check(f"algorithm: a table that knows {'much' if named else 'little'}", named == ("collective-algorithm" in found), found)


def windows(folder):
    def locks(at_once):
        made, free = Made(4), 0
        for _ in range(10):
            for rank in range(4):
                if not at_once:
                    made.compute(rank, 20 * MS if rank == 0 else 100 * US)
                made.one_sided(rank, "MPI_Win_lock", 0, 0, free if at_once else 0, 10)
                made.one_sided(rank, "MPI_Put", 0, 64, 0, 11)
                made.compute(rank, 4 * MS if at_once else 0)
                made.one_sided(rank, "MPI_Win_unlock", 0, 0, 0, 12)
                free = made.at[rank]
            if not at_once:
                made.at = [max(made.at) + rank * MS for rank in range(4)]
        return made
    expect_kind("locks", folder, locks(True), "serial-locks", "locks of rank 0's window meet others", "MPI_Win_lock (work made.c:10)")
    expect_none("locks apart", folder, locks(False), "serial-locks")
    for each in (1, 50):
        made = Made(2)
        for i in range(4000):
            made.one_sided(0, "MPI_Put", 1, 8, 0, 11)
            made.one_sided(1, "MPI_Put", 0, 8, 0, 11)
            for rank in range(2) if i % each == each - 1 else ():
                made.one_sided(rank, "MPI_Win_flush", 1 - rank, 0, made.at[rank] + 5 * US, 12)
        if each == 1:
            expect_kind("flushes", folder, made, "many-flushes", "MPI_Win_flush (work made.c:12) comes 8000 times, behind 1 transfer each")
        else:
            expect_none("few flushes", folder, made, "many-flushes")
    for origins in ((0,), range(4)):
        made = Made(4)
        for step in range(40):
            for rank in range(4):
                made.compute(rank, 6 * MS if (rank + step) % 4 == 0 else MS)
            for rank in origins:
                made.one_sided(rank, "MPI_Put", (rank + 1) % 4, 64, 0, 11)
            last = max(made.at) + 10 * US
            for rank in range(4):
                made.one_sided(rank, "MPI_Win_fence", None, 0, last, 12)
            for rank in range(4):
                made.one_sided(rank, "MPI_Win_fence", None, 0, last + 20 * US, 13)  # one that closes, at another place
        if len(origins) == 1:
            expect_kind("fences", folder, made, "wide-fence", "4 ranks meet in MPI_Win_fence (work made.c:12), but only 2 transfer")
        else:
            expect_none("fences for all", folder, made, "wide-fence")


def files(folder):
    for writers in ((0,), range(4)):
        made = Made(4)
        for step in range(20):
            for rank in range(4):
                made.compute(rank, MS)
            for rank in writers:
                made.access(rank, "MPI_File_write_at", 1 << 20, (step * 4 + rank) << 20, 4 * MS // len(writers), 10)
            made.meet(31)
        if len(writers) == 1:
            expect_kind("one writer", folder, made, "one-writer", "rank 0 alone accesses files, at MPI_File_write_at (work made.c:10)")
        else:
            expect_none("four writers", folder, made, "one-writer", "small-accesses", "interleaved-accesses")
    for kind, size, stride in (("small-accesses", 64, 1), ("interleaved-accesses", 4096, 2), (None, 1 << 20, 1)):
        made = Made(2)
        for i in range(400):
            for rank in range(2):
                offset = (i * 2 + rank) * size if stride == 2 else (rank * 400 + i) * size
                made.access(rank, "MPI_File_write_at", size, offset, 20 * US, 10)
                made.compute(rank, 20 * US)
        if kind:
            expect_kind(kind, folder, made, kind, "MPI_File_write_at (work made.c:10)")
        else:
            expect_none("large accesses", folder, made, "small-accesses", "interleaved-accesses")


def threads(folder):
    for at_once in (True, False):
        made = Made(2)
        for step in range(200):
            for thread in range(2):
                begin = step * 200 * US + (0 if at_once else thread * 100 * US)
                length = 80 * US if at_once else 40 * US
                for src in range(2):
                    made.accesses.append((src, "MPI_File_sync", 0, 0, begin + thread * 100, length, 10))
        made.at = [200 * 200 * US] * 2
        if at_once:
            expect_kind("threads", folder, made, "threads-in-turn", "threads of a rank are in MPI_File_sync (work made.c:10) at the same time")
        else:
            expect_none("threads in turn", folder, made, "threads-in-turn")


check_parts("findings of calls", collectives, algorithms, windows, files, threads)
