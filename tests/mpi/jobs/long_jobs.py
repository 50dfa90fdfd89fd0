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
    in_mpi_s = test.value("SELECT sum(end_ns - begin_ns) * 1e-9 FROM call WHERE rank = 1 AND function = 'MPI_Testany'")
    expect_share(in_mpi_s, own["test_s"], "seconds inside MPI_Testany")
    # The rank does nothing else in its rounds: what a round lacks is what its loop takes.
    in_rounds_s, actual_s = test.query("SELECT in_mpi_s, actual_s FROM rank_actual WHERE rank = 1")[0]
    expect_share(in_rounds_s, own["test_s"] + own["probe_s"], "seconds inside MPI in rounds", most=1.2)
    expect_share(in_rounds_s, actual_s, "seconds inside MPI of those in rounds", least=0.6)


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


def main():
    test = job.Job(__doc__, lambda parser: parser.add_argument("--case", required=True))
    test.ranks = 2
    globals()["case_" + test.arguments.case](test)


main()
