#!/usr/bin/env python3
"""Regions that a program marks by mpistair_region.h, against its own count and clock."""
import job

SLACK = 0.1  # of a time that program and recorder measure one within the other, besides 20 us an occurrence


def add_arguments(parser):
    parser.add_argument("--case", choices=["plain", "thinned", "sums", "threads", "hostile", "kill", "off", "none"], required=True)


def told(test, rank):
    """What the rank counted: (path, occurrences, seconds, seconds in MPI)."""
    for line in (test.folder / str(rank)).read_text().splitlines():
        path, occurrences, seconds, in_mpi = line.split()
        yield path.replace("thread_", "thread "), int(occurrences), float(seconds), float(in_mpi)


def is_close(found_s, own_s, occurrences):
    return abs(found_s - own_s) <= SLACK * own_s + 20e-6 * occurrences


def check_sums(test, times=True):
    for rank in range(test.ranks):
        for path, occurrences, seconds, in_mpi in told(test, rank):
            rows = test.query("SELECT sum(occurrences), sum(inclusive_ns) * 1e-9, sum(mpi_ns) * 1e-9, min(exclusive_ns) FROM region_sum s "
                              "JOIN region r ON r.id = s.region WHERE rank = ? AND path = ?", rank, path)
            job.expect_equal(rows[0][0], occurrences, f"occurrences of {path} on rank {rank}")
            if times and not (is_close(rows[0][1], seconds, occurrences) and is_close(rows[0][2], in_mpi, occurrences)):
                job.fail(f"{path} on rank {rank}: the program measured {seconds} s, {in_mpi} s in MPI; the trace has {rows[0]}")
            if rows[0][3] < 0:
                job.fail(f"{path} on rank {rank}: {rows[0][3]} ns outside of the regions within it")


def check_efficiencies(test, outside=True):
    """Those of the outermost regions and of outside are, weighted by time, those of the run; so are those of windows. What is outside of
    regions of several threads is not known."""
    there, parallel = test.query("SELECT there_s, parallel FROM region_efficiency WHERE scope = 'run'")[0]
    rows = test.query("SELECT e.scope, there_s, e.parallel, e.load_balance, e.communication FROM region_efficiency e LEFT JOIN region r ON r.id = e.region "
                      "WHERE scope = 'outside' OR (scope = 'inclusive' AND r.parent IS NULL)")
    job.expect_equal(sum(row[0] == "outside" for row in rows), int(outside), "rows of what is outside of regions")
    for row in rows if outside else []:
        if not all(-1e-6 <= share <= 1 + 1e-6 for share in row[2:] if share is not None):
            job.fail(f"efficiencies beyond 0 and 1: {row}")
    found = sum(row[1] * row[2] for row in rows) / there
    if outside and not (abs(sum(row[1] for row in rows) - there) < 1e-9 * there and abs(found - parallel) < 1e-9):
        job.fail(f"the mean of the outermost regions and outside is {found}, not {parallel}: {rows}")
    windows = test.value("SELECT sum(ranks * (end_s - begin_s) * parallel) FROM window_efficiency") / there
    if abs(windows - parallel) > 1e-9:
        job.fail(f"the mean of the windows is {windows}, not {parallel}")
    said = test.must([test.mpistair, "report", test.trace, "--section", "regions"]).stdout
    if "efficiency of" not in said or ("(outside)" in said) != outside:
        job.fail(f"the section on regions has no efficiencies:\n{said}")


def faults(test):
    return dict(test.query("SELECT fault, min(n) FROM region_fault GROUP BY 1 HAVING count(*) = ?", test.ranks))


def check_plain(test):
    check_sums(test)
    job.expect_equal(faults(test), {}, "faults")
    job.expect_equal({name for name, in test.query("SELECT path FROM region")},
                     {"job", "solve", "solve/step", "solve/step/exchange", "solve/stepped", "assemble", "write", "open at the end"}, "regions")
    # One line is called in two regions and makes two call sites; their calls are all the calls.
    ring = test.query("SELECT r.path, sum(t.calls) FROM total t JOIN site_region USING(callsite) JOIN region r ON r.id = region "
                      "JOIN callsite c ON c.id = t.callsite WHERE c.function = 'ring' AND t.direction = 'send' GROUP BY 1 ORDER BY 1")
    job.expect_equal(ring, [("solve", test.ranks), ("solve/step/exchange", 40 * test.ranks)], "sends of the line in `ring` by region")
    places = {place.rsplit(" ", 1)[-1] for place, in test.query("SELECT place FROM site WHERE name = 'ring'")}
    job.expect_equal(places, {"[solve]", "[solve/step/exchange]"}, "what call sites say of their region")


def check_occurrences(test):
    """Inclusive time and time in MPI of the occurrences are those of the sums, where all have records."""
    wrong = test.query("SELECT s.rank, r.path, s.occurrences, s.inclusive_ns, s.mpi_ns, count(o.id), sum(end_ns - begin_ns), sum(o.mpi_ns) "
                       "FROM region_sum s JOIN region r ON r.id = s.region LEFT JOIN occurrence o ON o.rank = s.rank AND o.region = s.region "
                       "GROUP BY 1, 2 HAVING count(o.id) <> s.occurrences OR abs(sum(end_ns - begin_ns) - s.inclusive_ns) > 100 + s.inclusive_ns / 1000 "
                       "OR abs(sum(o.mpi_ns) - s.mpi_ns) > 1000 + s.mpi_ns / 1000")
    job.expect_equal(wrong, [], "regions whose occurrences do not add up")


def record(test, case, *words, **more):
    test.record(test.program("regions"), str(test.folder), case, *words, **more)


def plain(test):
    record(test, "plain")
    check_plain(test)
    check_occurrences(test)
    check_efficiencies(test)
    # The step that was slow on rank 1: of that region, outside of MPI, the longest.
    slow = test.query("SELECT rank, n FROM (SELECT rank, row_number() OVER (PARTITION BY rank ORDER BY begin_ns) - 1 AS n, "
                      "end_ns - begin_ns - o.mpi_ns AS own_ns FROM occurrence o JOIN region r ON r.id = region WHERE path = 'solve/step') "
                      "ORDER BY own_ns DESC LIMIT 1")
    if slow != [(1, 17)]:
        print(f"a busy machine made {slow} slower than the step that sleeps 30 ms")
    longest = test.value("SELECT max(end_ns - begin_ns - o.mpi_ns) FROM occurrence o JOIN region r ON r.id = region WHERE path = 'solve/step' AND rank = 1")
    if longest < 30e6:
        job.fail(f"a step of rank 1 sleeps 30 ms, and the longest has {longest} ns outside of MPI")


def thinned(test):
    """100,000 occurrences in a room for few: the sums are of all of them."""
    record(test, "hostile", "100000", MPISTAIR_SPOOL_LIMIT="5M")
    found = test.query("SELECT rank, sum(occurrences) FROM region_total t JOIN region r ON r.id = t.region WHERE name LIKE 'name %' OR name = '(other regions)' GROUP BY 1")
    job.expect_equal(found, [(rank, 100001) for rank in range(test.ranks)], "occurrences by rank") # one more: open at the end
    if test.value("SELECT count(*) FROM occurrence") >= test.value("SELECT sum(occurrences) FROM region_total"):
        job.fail("nothing was dropped: the room was too large for this test")


def sums(test):
    record(test, "plain", MPISTAIR_DETAIL="none")
    check_sums(test)
    check_efficiencies(test)
    job.expect_equal(test.value("SELECT count(*) FROM occurrence"), 0, "occurrences with a record")


def threads(test):
    record(test, "threads")
    check_sums(test, times=False)
    job.expect_equal(test.query("SELECT path, sum(occurrences) FROM region_total t JOIN region r ON r.id = region WHERE name = 'part' GROUP BY 1 ORDER BY 1"),
                     [("thread 0/part", 2000 * test.ranks), ("thread 1/part", 1000 * test.ranks)], "regions within those of threads")
    job.expect_equal(faults(test), {}, "faults")
    check_occurrences(test)


def hostile(test):
    record(test, "hostile", "1000000", MPISTAIR_SPOOL_LIMIT="64M")
    check_efficiencies(test)
    lost = faults(test)
    job.expect_equal((lost["no begin"], lost["no end"], lost["ignored"]), (3, 2, 36), "ends and begins too many")
    job.expect_equal(test.value("SELECT count(*) FROM region WHERE name <> '(other regions)'"), 2046, "regions with a name of their own")
    found = test.query("SELECT rank, sum(occurrences) FROM region_total t JOIN region r ON r.id = t.region WHERE name LIKE 'name %' OR name = '(other regions)' GROUP BY 1")
    job.expect_equal(found, [(rank, 1000001) for rank in range(test.ranks)], "occurrences of a million names")
    others = test.query("SELECT occurrences FROM region_total t JOIN region r ON r.id = t.region WHERE name = '(other regions)'")
    job.expect_equal(others, [(lost["other"],)] * test.ranks, "what is counted as other")
    names = {name: n for name, n in test.query("SELECT name, sum(occurrences) FROM region_total t JOIN region r ON r.id = t.region GROUP BY 1")}
    job.expect_equal(names["x" * 240 + "..."], 2 * test.ranks, "two names of 10 kB that differ at their end")
    job.expect_equal(names["(no name)"], 2 * test.ranks, "names that are empty or NULL")
    job.expect_equal(names["?[31m name ?|,\"'"], test.ranks, "a name that would harm a terminal")
    for section in ([], ["--format", "html", "-o", str(test.folder / "page.html")], ["--json"]):
        test.must([test.mpistair, "report", test.trace, *section])


def kill(test):
    test.run(test.launch(test.program("regions"), str(test.folder), "kill"), **test.preloaded())
    test.ingest()
    for rank in range(test.ranks):
        rows = test.query("SELECT path, unended FROM occurrence o JOIN region r ON r.id = region WHERE rank = ? AND path LIKE 'doomed%' ORDER BY 1", rank)
        job.expect_equal(rows, [("doomed", 1), ("doomed/inner", 1)], f"what rank {rank} was in")
        check_within = test.query("SELECT exclusive_ns, inclusive_ns FROM region_sum s JOIN region r ON r.id = region WHERE rank = ? AND path = 'doomed'", rank)
        if not 0 <= check_within[0][0] < 1e6 + 0.1 * check_within[0][1]:
            job.fail(f"almost all time of `doomed` was in the region within it: {check_within}")
    test.expect_sound()


def off(test):
    record(test, "off")
    check_sums(test, times=False)
    for rank in range(test.ranks):
        own = next(row for row in told(test, rank) if row[0] == "unseen")
        found = test.value("SELECT inclusive_ns * 1e-9 FROM region_sum s JOIN region r ON r.id = region WHERE path = 'unseen' AND rank = ?", rank)
        if not is_close(found, own[2], own[1]):
            job.fail(f"rank {rank} measured {own[2]} s in `unseen`, the trace has {found}")


def none(test):
    """A job without regions, and one with them that is not recorded."""
    test.record(test.program("halo"), "--traffic", "{traffic}")
    for table in "region", "site_region", "region_total", "occurrence", "region_fault":
        job.expect_equal(test.value(f"SELECT count(*) FROM {table}"), 0, f"rows of {table}")
    test.expect_complete()
    test.must(test.launch(test.program("regions"), str(test.folder), "plain"))


def main():
    test = job.Job(__doc__, add_arguments)
    {"plain": plain, "thinned": thinned, "sums": sums, "threads": threads, "hostile": hostile, "kill": kill, "off": off,
     "none": none}[test.arguments.case](test)


if __name__ == "__main__":
    main()
