#!/usr/bin/env python3
"""Recordings that ran out of room (tests/apps/numbered.c): totals are what the program counted, to the last unit, and no
pair of a burst is wrong. Each kind is recorded with room for all and with a twentieth of what that took."""
import collections
import json
import re

import job

# Kinds with few steps: so that a recording with room for all has several times the least room.
STEPS = {"halo": 100000, "wavefront": 150000, "master_worker": 60000, "communicators": 60000, "threads": 6000, "persistent": 100000,
         "one_sided": 150000, "files": 100000, "collectives": 50000, "changing": 100000, "polls": 100000, "partitioned": 100000}
WILDCARDS = {"master_worker"}
POLLING = {"polls"}
SEVERAL_THREADS = {"threads"}
LEAST_ROOM = 6 << 20  # of a process
MUCH_WAITING = 0.1  # share of their time that ranks wait for a processor
# What the report's activities are made of, as far as numbered.c calls it.
FUNCTIONS = {"collectives": "f.name IN ('MPI_Allreduce', 'MPI_Barrier', 'MPI_Comm_dup', 'MPI_Comm_free')", "files": "f.name GLOB 'MPI_File_*'",
             "one_sided": "f.name GLOB 'MPI_Win_*' OR f.name = 'MPI_Put'"}


def own_counts(output):
    """{(rank, function): (calls, bytes)} that the ranks printed."""
    return {(int(rank), function): (int(calls), int(n_bytes)) for rank, function, calls, n_bytes in
            re.findall(r"rank=(\d+) (MPI_\w+) calls=(\d+) bytes=(\d+)", output)}


def traced_counts(test):
    return {(rank, function): (calls, n_bytes) for rank, function, calls, n_bytes in test.query(
        "SELECT rank, f.name, sum(calls), sum(iif(idle, 0, bytes)) FROM total t JOIN function f ON f.id = t.function GROUP BY 1, 2")}


def record(test, kind, steps, room):
    test.trace.unlink(missing_ok=True)
    done = test.must([test.mpistair, "run", "--room", str(room), "-o", test.trace, "--",
                      *test.launch(test.program("numbered"), kind, str(steps))], limit_s=300)
    own, traced = own_counts(done.stdout), traced_counts(test)
    job.expect_equal({key: traced.get(key) for key in own}, own, f"{kind}: calls and bytes by rank and function")
    wrong = test.value("SELECT count(*) FROM loss WHERE cause NOT IN ('at_once')")
    job.expect_equal(wrong, 0, f"{kind}: losses")
    return done


def expect_course(test, kind):
    """The time inside MPI of the course is that of the totals."""
    for rank, course_ns, total_ns in test.query(
            "SELECT rank, sum(point_to_point_ns + wait_ns + idle_ns + collective_ns + one_sided_ns + file_ns + other_ns), "
            "(SELECT sum(time_ns) FROM total t WHERE t.rank = c.rank) FROM course c GROUP BY rank"):
        if not abs(course_ns - total_ns) <= 0.01 * total_ns + 1e6:
            job.fail(f"{kind}: rank {rank}: {course_ns} ns inside MPI in the course, {total_ns} ns in the totals")


def expect_pairs(test, kind):
    """Receives are posted with the bytes of their message, and sizes follow each other within a burst."""
    if kind in WILDCARDS:
        wrong = test.value("SELECT count(*) FROM message WHERE recv_complete_ns < send_post_ns")
        job.expect_equal(wrong, 0, f"{kind}: messages that were complete before they were sent")
        return
    wrong = test.value("SELECT count(*) FROM message_row WHERE room_bytes <> 0")
    job.expect_equal(wrong, 0, f"{kind}: pairs that do not belong together")


def expect_unmatched(test, kind):
    reasons = collections.Counter(dict(test.query("SELECT reason, count(*) FROM unmatched GROUP BY reason")))
    if set(reasons) - {"cut_off", "proc_null"}:
        job.fail(f"{kind}: operations without a partner: {dict(reasons)}")


def expect_shares(test, kind):
    """The report's times are those of all calls, whatever has rows. Idle tests count as time inside MPI only where the totals
    are all there is, so those of kinds that poll are not compared. The findings of the report."""
    report = json.loads(test.must([test.mpistair, "report", "--format", "json", test.trace]).stdout)
    in_mpi_s = sum(row["time_s"] for row in report["time"]["activities"] if row["activity"] not in ("computation", "between_polls"))
    total_s = test.value("SELECT sum(time_ns) * 1e-9 FROM total")
    all_s, ranks_s = sum(row["time_s"] for row in report["time"]["activities"]), test.ranks * report["run"]["duration_s"]
    if kind not in SEVERAL_THREADS and all_s > 1.02 * ranks_s + 0.001:
        job.fail(f"{kind}: the report has {all_s} s of {test.ranks} ranks, which is more than the run's {ranks_s} s")
    if kind not in POLLING and not abs(in_mpi_s - total_s) <= 0.02 * total_s + 0.001:
        job.fail(f"{kind}: the report has {in_mpi_s} s inside MPI, the totals {total_s}")
    for activity, functions in FUNCTIONS.items():
        activity_s = sum(row["time_s"] for row in report["time"]["activities"] if row["activity"] == activity)
        functions_s = test.value(f"SELECT coalesce(sum(time_ns), 0) * 1e-9 FROM total t JOIN function f ON f.id = t.function WHERE {functions}")
        if not abs(activity_s - functions_s) <= 0.02 * total_s + 0.001:
            job.fail(f"{kind}: the report has {activity_s} s of {activity}, the totals of those functions {functions_s}")
    return report["findings"], {row["activity"]: row["time_s"] / all_s for row in report["time"]["activities"] if row["time_s"] > 0}


def expect_late(test, kind, findings):
    """A rank that is late by its program is named, unless others had the processors: then all are late by turns."""
    waited = test.value("SELECT total(wait_ns) / total(run_ns + wait_ns) FROM process")
    if kind == "halo" and waited < MUCH_WAITING and not any(finding["rank"] == test.ranks - 1 for finding in findings):
        job.fail(f"{kind}: the late rank is not named; ranks waited for a processor {100 * waited:.1f} % of the time")


def show_shares(kind, whole, thinned):
    """Of two runs, which the machine may have treated differently: no check."""
    print(f"{kind}: of all time, whole and with little room:",
          ", ".join(f"{name} {100 * share:.1f} and {100 * thinned.get(name, 0):.1f} %" for name, share in whole.items()), flush=True)


def errors(test):
    """{law: error} of the laws of the whole run."""
    done = test.must([test.mpistair, "predict", test.trace, "--machine", test.arguments.machine, "--json"])
    return {row["law"]: row["error"] for row in json.loads(done.stdout) if row["error"] is not None}


def show_errors(kind, whole, thinned):
    if not whole or not thinned:
        print(f"{kind}: no errors of laws: {whole} of the whole run, {thinned} of its bursts")
        return
    best = min(whole, key=whole.get)
    print(f"{kind}: error of the best law, {best}: {100 * whole[best]:.1f} % of the whole run, {100 * thinned[best]:.1f} % of its bursts: "
          f"{thinned[best] / whole[best]:.2f} times; of all laws " +
          ", ".join(f"{law} {100 * whole[law]:.1f} {100 * thinned[law]:.1f}" for law in whole if law in thinned), flush=True)


def main():
    def add_arguments(parser):
        parser.add_argument("--kind", action="append")
        parser.add_argument("--machine", help="a table: also compare the errors of the laws")
        parser.add_argument("--factor", type=int, default=1, help="how many times as many steps")
        parser.add_argument("--room", type=int, help="bytes, instead of a twentieth")

    test = job.Job(__doc__, add_arguments)
    has = test.run([test.program("numbered")]).stderr.split()  # MPI before 4 has no partitioned messages
    for kind in test.arguments.kind or [kind for kind in STEPS if kind in has]:
        steps = STEPS[kind] * test.arguments.factor
        record(test, kind, steps, 4 << 30)
        job.expect_equal(test.value("SELECT detail FROM run"), "all", f"{kind}: detail with room for all")
        findings, shares = expect_shares(test, kind)
        expect_late(test, kind, findings)
        whole = errors(test) if test.arguments.machine else {}
        messages, operations = test.value("SELECT count(*) FROM message"), test.value("SELECT sum(calls) FROM total WHERE NOT idle")
        room = test.arguments.room or max(operations * 64 // 20, LEAST_ROOM * test.ranks)
        record(test, kind, steps, room)
        if operations * 64 < 2 * room:
            continue
        job.expect_equal(test.value("SELECT detail FROM run"), "bursts", f"{kind}: detail with room for a part")
        bursts, kept = test.value("SELECT count(*) FROM burst"), test.value("SELECT count(*) FROM message")
        print(f"{kind}: {kept} of {messages} messages in {bursts} bursts, room {room}", flush=True)
        # The bursts of a job that changes may all lie where it sends no messages, and the least room is for a millisecond.
        may_be_none = kind == "changing" or test.arguments.room
        if bursts == 0 or kept > messages or (messages > 0 and kept == 0 and not may_be_none):
            job.fail(f"{kind}: {kept} of {messages} messages in {bursts} bursts")
        expect_course(test, kind)
        expect_pairs(test, kind)
        expect_unmatched(test, kind)
        findings, thinned_shares = expect_shares(test, kind)
        if kind not in POLLING:
            show_shares(kind, shares, thinned_shares)
        if test.arguments.machine:
            show_errors(kind, whole, errors(test))
        if not test.arguments.room:
            expect_late(test, kind, findings)


if __name__ == "__main__":
    main()
