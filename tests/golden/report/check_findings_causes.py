#!/usr/bin/env python3
"""Findings of made traces, each kind where it is planted, and none of it where it is not:
why ranks compute longer: what the kernel counted, OpenMP, the machine.

usage: check_findings_causes.py MPISTAIR SHARE_SQL SHOW_FINDINGS
"""
import json

from made_run import MS, Made, apart, check_parts, expect_kind, expect_none, findings, kinds
from made_trace import check, run


def machine(folder):
    for kind, factors in (("slow-core", (130, 130, 130)), ("more work", (100, 100, 260))):
        made = Made(4)
        for _ in range(20):
            for site in range(3):
                for rank in range(4):
                    made.compute(rank, MS * (factors[site] if rank == 2 else 100) // 100)
                made.meet(30 + site)
        if kind == "slow-core":
            expect_kind("a slow core", folder, made, "slow-core", "rank 2 takes 1.30 times as long as the others at each of 3 lines: a slow core")
        else:
            expect_none("more work at one line", folder, made, "slow-core")
    made = Made(4)
    for _ in range(10):
        for rank in range(4):
            made.compute(rank, 10 * MS)
        made.meet(31)
    made.waits = {rank: 30 * MS for rank in range(4)}
    expect_kind("more ranks than processors", folder, made, "busy-processors", "for processors that others had")
    row = findings(made.write(folder / "a.db", "UPDATE node SET processors = 5; UPDATE process SET run_ns = iif(rank < 2, 0.5, 0.25) * observed_ns;"))[0]
    check("the part of the ranks", row[0] == "busy-processors" and row[7].endswith(": the ranks ran on 1.5 of 5 processors"), row)
    row = (findings(made.write(folder / "a.db", "UPDATE process SET processor = min(rank, 2), run_ns = iif(rank < 2, 1, 0.5) * observed_ns;")) or [[""] * 8])[0]
    apart = kinds(made.write(folder / "a.db", "UPDATE process SET processor = min(rank, 2);"))
    check("two that were more than a processor can give", apart == ["busy-processors"], apart)
    check("two on a processor", row[0] == "binding" and row[7].endswith(": ranks 2 and 3 share processor 2, nobody else is on it"), row)
    crowded = made.write(folder / "a.db", "UPDATE node SET processors = 2;")
    check("crowded", kinds(crowded) == ["crowded"] and "4 ranks share 2" in findings(crowded)[0][7], findings(crowded))


def counted(made, **own):
    """Rows of course and counter: rank 2 as given, the others run all the time, at 3 GHz, with 10 faults. Times in ms."""
    last = max(made.at) + MS
    rows = []
    for rank in range(made.ranks):
        inside = sum(leave - begin for r, begin, leave, *_ in made.collectives if r == rank)
        rows.append(f"INSERT INTO course VALUES ({rank}, 0, {last}, 0, 0, 0, {inside + MS}, 0, 0, 0, 20, 0);")
        count = {"user": last / MS, "system": 0, "wait": 0, "faults": 10, "clock": 3e9, **(own if rank == 2 else {})}
        for begin, end_ns in ((0, last // 2), (last // 2, last)):
            half = (end_ns - begin) / last * MS
            rows.append("INSERT INTO counter(rank, begin_ns, end_ns, user_ns, system_ns, wait_ns, minor_faults, major_faults, clock_cycles) VALUES "
                        f"({rank}, {begin}, {end_ns}, {int(count['user'] * half)}, {int(count['system'] * half)}, {int(count['wait'] * half)}, "
                        f"{int(count['faults'] * half / MS)}, 0, {int(count['clock'] * half / MS * last * 1e-9)});")
    return "".join(rows)


def instructions(folder):
    """Others compute in half of the windows and poll in MPI in the rest, with other instructions; rank 2 computes in all."""
    for cause, per_s, cycles_per_s, of_mpi in (("more work, 2.00 times the instructions", 1e9, 2e9, 3e9), ("0.25 instructions per cycle, others 0.50", 5e8, 2e9, 3e9),
                                               ("a clock of 1.00 GHz, others 2.00", 5e8, 1e9, 1e9), ("more work, on its processor all the time", 1e9, 2e9, None)):
        made = Made(4)
        for _ in range(20):
            for rank in range(4):
                made.compute(rank, 10 * MS + (rank == 2) * 10 * MS)
            made.meet(31)
        rows = []
        for rank in range(4):
            for n in range(20):
                inside = 0 if rank == 2 or n < 10 else 20 * MS
                if of_mpi is None and rank != 2: # the same in all windows: no rate of its own can be told
                    inside = 10 * MS
                rate, cycles = (per_s, cycles_per_s) if rank == 2 else (of_mpi or 3e9, 2e9) if inside else (1e9, 2e9)
                begin, end_ns = n * 20 * MS, (n + 1) * 20 * MS
                rows.append(f"INSERT INTO course VALUES ({rank}, {begin}, {end_ns}, 0, 0, 0, {inside}, 0, 0, 0, 1, 0);"
                            f"INSERT INTO counter VALUES ({rank}, {begin}, {end_ns}, {20 * MS}, 0, 0, 0, 0, 0, 0, 0, {int(rate * 0.02)}, {int(cycles * 0.02)}, NULL, NULL, NULL, NULL);")
        found = findings(made.write(folder / "a.db", "".join(rows)))
        check(f"instructions: {cause}", [row[0] for row in found] == ["late-rank"] and found[0][7].endswith("; why: " + cause) or
              cause.startswith("0.25") and "; why: " + cause in found[0][7], found)


def causes(folder):
    for more_ms, cause, own in ((10, "more work", {}), (10, "others had its processor", {"user": 200, "wait": 200}),
                                (10, "page faults", {"user": 210, "system": 190, "faults": 50000}),
                                (10, "system calls", {"user": 210, "system": 190, "faults": 20}),
                                (10, "it does not run", {"user": 200}),
                                (10, "a clock of 1.50 GHz, others 3.00", {"clock": 1.5e9}),
                                (10, None, {"user": 280, "wait": 70, "system": 50}), # a bit of all
                                (10, None, None)):
        made = Made(4)
        for _ in range(20):
            for rank in range(4):
                made.compute(rank, 10 * MS + (rank == 2) * more_ms * MS)
            made.meet(31)
        path = made.write(folder / "a.db", counted(made, **own) if own is not None else "")
        rows = findings(path)
        check(f"cause: {cause}, {own}", [row[0] for row in rows] == ["late-rank"] and rows[0][1] == "2" and
              ("; why: " + cause in rows[0][7] if cause else "why" not in rows[0][7]), rows)
        found = json.loads(run("report", path, "--json")[1])["findings"][0]
        check(f"JSON of cause {cause}", own is None and "cause" not in found or own is not None and
              (found["cause"] != "") == bool(cause) and abs(found["counted"]["computed_s"] - 0.4) < 0.002 and
              abs(found["counted_of_others"]["computed_s"] - 0.2) < 0.002, found)
    shown = run("report", made.write(folder / "a.db", counted(made, user=200, wait=200)), "--explain", "1")[1]
    check("counters as evidence", "what the kernel counted" in shown and "others, median" in shown and " 199 ms" in shown, shown)


def openmp(made, regions_ms, idle, wait_ms=0):
    """Rows of course and counter: parallel regions of four threads on each rank, which idle for that share of them."""
    last = max(made.at) + MS
    rows = []
    for rank in range(made.ranks):
        inside = sum(leave - begin for r, begin, leave, *_ in made.collectives if r == rank)
        rows.append(f"INSERT INTO course VALUES ({rank}, 0, {last}, 0, 0, 0, {inside + MS}, 0, 0, 0, 20, 0);")
        for begin, end in ((0, last // 2), (last // 2, last)):
            half_ms = regions_ms[rank] * (end - begin) / last * MS
            rows.append("INSERT INTO counter(rank, begin_ns, end_ns, user_ns, system_ns, wait_ns, minor_faults, major_faults, openmp_region_ns, openmp_thread_ns, "
                        f"openmp_idle_ns) VALUES ({rank}, {begin}, {end}, {(end - begin) * 4}, 0, 0, 10, 0, {int(half_ms)}, {int(4 * half_ms)}, {int(4 * half_ms * idle[rank])});")
    return "".join(rows)


def uneven_threads(folder):
    """20 steps of 10 ms of parallel regions; where rank 2 takes longer its threads have no more to do, but uneven work."""
    def made_of(more_ms):
        made = Made(4)
        for _ in range(20):
            for rank in range(4):
                made.compute(rank, 10 * MS + (rank == 2) * more_ms * MS)
            made.meet(31)
        return made

    made = made_of(10)
    path = made.write(folder / "a.db", openmp(made, (200, 200, 400, 200), (0, 0, 0.5, 0)))
    rows = findings(path)
    check("threads: why", rows[1][0] == "late-rank" and rows[1][1] == "2" and rows[1][10] == "0" and
          rows[1][7].endswith("; why: its threads idle 50 % of the parallel regions' time, others 0 %"), rows)
    check("threads: more than the rank", len(rows) == 2 and rows[0][0] == "uneven-threads" and rows[0][7].startswith(
          "threads idle 50 % of the parallel regions' time: work is uneven between threads of rank 2; even, it would take 200 ms less"), rows)
    found = json.loads(run("report", path, "--json")[1])["findings"][1]
    check("threads: JSON", found["cause"] == "threads" and abs(found["counted"]["idle"] - 0.5) < 0.01 and abs(found["counted"]["threads"] - 4) < 0.01 and
          abs(found["counted"]["regions_s"] - 0.4) < 0.01 and found["counted_of_others"]["idle"] == 0, found)
    shown = run("report", path, "--explain", "2")[1]
    check("threads as evidence", "its parallel regions of OpenMP take 0.4 s, of 4.0 threads, which idle 50 % of that time" in " ".join(shown.split()), shown)

    made = made_of(0) # no rank is late, but all could be faster
    rows = findings(made.write(folder / "a.db", openmp(made, [200] * 4, [0.4] * 4)))
    check("uneven threads of all", [row[0] for row in rows] == ["uneven-threads"] and rows[0][7].startswith("threads idle 40 % of the parallel regions' time") and
          len(rows[0][7]) <= 160 and abs(float(rows[0][8]) - 0.08) < 0.005, rows)
    for name, regions_ms, idle in (("even", 200, 0.1), ("short regions", 20, 0.2), ("no time", 200, 0)):
        found = kinds(made.write(folder / "a.db", openmp(made, [regions_ms] * 4, [idle] * 4)))
        check(f"threads: {name}", found == [], found)
    made.waits = {rank: 100 * MS for rank in range(4)} # others had their processors
    found = kinds(made.write(folder / "a.db", openmp(made, [200] * 4, [0.4] * 4)))
    check("threads whose processors others had", "uneven-threads" not in found, found)


check_parts("findings of causes", machine, causes, instructions, uneven_threads)
