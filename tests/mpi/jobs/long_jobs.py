#!/usr/bin/env python3
"""What jobs do that run for hours (tests/apps/long_job.c): the trace's sums are those that the program counted and timed."""
import csv
import io
import json
import re

import job


def numbers(output):
    """{rank: {name: number}} of the lines that the ranks printed."""
    found = {}
    for line in output.splitlines():
        words = dict(re.findall(r"(\w+)=(\S+)", line))
        if "rank" in words:
            found[int(words.pop("rank"))] = {name: float(value) for name, value in words.items()}
    return found


def expect_between(value, least, most, what):
    print(f"{what}: {value:.6f} from {least:.6f} to {most:.6f}")
    if not least <= value <= most:
        job.fail(f"{what}: {value:.6f}, expected {least:.6f} to {most:.6f}")


def expect_share(part, whole, what, least=0.8, most=1.01):
    print(f"{what}: {part:.6f} of {whole:.6f}")
    if not least * whole <= part <= most * whole:
        job.fail(f"{what}: {part:.6f} of {whole:.6f}, expected {least} to {most} of it")


def case_polls(test):
    own = numbers(test.record(test.program("long_job"), "polls").stdout)[1]
    test.expect_sound()
    test.expect_complete()
    for function, calls in (("MPI_Testany", "tests"), ("MPI_Iprobe", "probes")):
        job.expect_equal(test.value("SELECT sum(idle_calls) FROM call WHERE rank = 1 AND function = ?", function),
                         own[calls], f"unsuccessful calls of {function}")
        sites = test.value("SELECT count(DISTINCT callsite) FROM call WHERE idle_calls > 0 AND function = ?", function)
        job.expect_equal(sites, 1, f"call sites of {function}")
    # One test in 64 is timed: of those that lost their processor meanwhile there may be many among them, or none.
    in_mpi_s = test.value("SELECT sum(end_ns - begin_ns) * 1e-9 FROM call WHERE rank = 1 AND function = 'MPI_Testany'")
    error_s = test.value("SELECT sqrt(sum(error_ns * 1e-9 * error_ns * 1e-9)) FROM total WHERE rank = 1 AND idle")
    expect_between(in_mpi_s, 0.8 * own["steady_s"], 1.01 * own["test_s"] + 4 * error_s, "seconds inside MPI_Testany")
    # The rank does nothing else in its rounds: what a round lacks is what its loop takes.
    in_rounds_s = test.value("SELECT in_mpi_s FROM rank_actual WHERE rank = 1")
    expect_between(in_rounds_s, 0.8 * own["steady_s"], 1.2 * (own["test_s"] + own["probe_s"]) + 4 * error_s,
                   "seconds inside MPI in rounds")


def case_late(test):
    own = numbers(test.record(test.program("long_job"), "late").stdout)[1]
    test.expect_sound()
    test.expect_complete()
    report = json.loads(test.must([test.mpistair, "report", "--format", "json", test.trace]).stdout)
    rank = report["ranks"][1]
    expect_share(rank["late_receivers_s"], own["send_s"], "seconds of sends before their receive", least=0.5)
    expect_share(rank["late_senders_s"], own["receive_s"], "seconds of receives before their send", least=0.5)
    rows = csv.DictReader(io.StringIO(test.must([test.mpistair, "report", "--format", "csv", test.trace]).stdout))
    job.expect_equal([float(row["late_receivers_s"]) for row in rows][1], rank["late_receivers_s"], "late_receivers_s of the CSV")
    for name, function, seconds in (("late_receivers", "MPI_Ssend", "send_s"), ("late_senders", "MPI_Recv", "receive_s")):
        shown = json.loads(test.must([test.mpistair, "query", test.trace, name, "--format", "json"]).stdout)[0]
        job.expect_equal((shown["rank"], shown["late_rank"], shown["function"], shown["messages"]), (1, 0, function, 4), name)
        expect_share(shown["late_s"], own[seconds], f"seconds of query {name}", least=0.5)
    sites = json.loads(test.must([test.mpistair, "query", test.trace, "callsites", "--format", "json"]).stdout)
    job.expect_equal(sorted(site["bytes"] for site in sites), [32, 32, 800000, 800000], "bytes by call site")


def totals(test, rank):
    return {function: calls for function, calls in
            test.query("SELECT f.name, sum(calls) FROM total t JOIN function f ON f.id = t.function WHERE rank = ? GROUP BY 1", rank)}


def case_window(test):
    program = test.program("long_job")
    for given in ("mark 4-6", "mark 5-"):
        test.record(program, "window", MPISTAIR_WINDOW=given)
        test.expect_sound()
        inside = {"mark 4-6": 2 * 2, "mark 5-": 2 + 4}[given]  # times of five exchanges
        job.expect_equal(test.value("SELECT count(*) FROM message"), inside * 10, f"messages with {given}")
        job.expect_equal(test.value("SELECT count(*) FROM collective WHERE function = 'MPI_Allreduce'"), inside * 10,
                         f"collectives with {given}")
        job.expect_equal(test.value("SELECT count(*) FROM mark"), 16, f"marks with {given}")
        job.expect_equal(test.query("SELECT reason FROM unmatched"), [], f"operations without a partner with {given}")
        for rank in range(2):
            job.expect_equal({f: n for f, n in totals(test, rank).items() if f != "MPI_Pcontrol"},
                             {"MPI_Isend": 40, "MPI_Recv": 40, "MPI_Wait": 40, "MPI_Allreduce": 40}, f"all calls with {given}")
            job.expect_equal(test.value("SELECT sum(bytes) FROM total WHERE off AND direction = 'send' AND rank = ?", rank),
                             4 * (40 - 5 * inside), f"bytes sent outside of {given}")
        job.expect_equal(test.value("SELECT max(ranks) FROM (SELECT count(*) AS ranks FROM round_process GROUP BY round_id)"), 2,
                         "ranks of a round")
    test.record(program, "window", MPISTAIR_WINDOW="10ms-1h")
    for rank in range(2):
        job.expect_equal(totals(test, rank)["MPI_Isend"], 40, "all sends with a window in time")
    for wrong in ("5s-3s", "mark 2-4"):
        done = test.record(program, "window", MPISTAIR_WINDOW=wrong)
        said = [line for line in done.stderr.splitlines() if "MPISTAIR_WINDOW must be" in line and f"not '{wrong}'" in line]
        job.expect_equal(len(said), 1, f"lines on the window {wrong}")
        test.expect_complete()


def case_uneven(test):
    """Ranks switch recording on at different calls: those made while it was off count for the numbers of the others."""
    test.record(test.program("long_job"), "uneven")
    test.expect_sound()
    for function in ("MPI_Barrier", "MPI_Win_fence"):
        found = test.query("SELECT instance, rank FROM joint_call WHERE function = ? ORDER BY instance, rank", function)
        met = [(3, 1)] + [(number, rank) for number in range(4, 9) for rank in range(2)]
        job.expect_equal(found, met, f"numbers and ranks of {function}")
        for rank in range(2):
            job.expect_equal(totals(test, rank)[function], 8, f"all calls of {function} of rank {rank}")


def main():
    test = job.Job(__doc__, lambda parser: parser.add_argument("--case", required=True))
    test.ranks = 2
    globals()["case_" + test.arguments.case](test)


main()
