#!/usr/bin/env python3
"""A job that reads and writes files in every way: the trace has each call as the program knows it, with its bytes, and no
longer than the program saw it take."""
import csv
import json

import culprit
import job

# Clocks that differ in speed by so much, and the moments between two looks at them.
SLACK, SLACK_S = 1.01, 2e-6


def own_calls(test, rank):
    with open(test.folder / f"calls-{rank}.csv", newline="", encoding="ascii") as file:
        return [(name, int(size), int(failed), float(least), float(most)) for name, size, failed, least, most in csv.reader(file)]


def expect_rank(test, rank):
    own = own_calls(test, rank)
    found = test.query("SELECT function, bytes, failed, (end_ns - begin_ns) * 1e-9, call_ns * 1e-9, nonblocking, collective"
                       " FROM file_call WHERE rank = ? ORDER BY begin_ns", rank)
    job.expect_equal([row[:3] for row in found], [(name, 0 if failed else size, failed) for name, size, failed, _, _ in own],
                     f"calls of rank {rank}")
    for (name, *_, least, most), (_, _, _, length, inside, nonblocking, collective) in zip(own, found):
        if length is None or not least <= SLACK * length or not length <= SLACK * most + SLACK_S or inside > length:
            job.fail(f"rank {rank}: {name}: {length} s, {inside} s inside; the program saw {least} to {most} s")
        job.expect_equal(nonblocking, int("_iread" in name or "_iwrite" in name), f"{name}: nonblocking")
        job.expect_equal(collective, int("_all" in name or name[9:] in ("open", "close", "set_view", "sync")), f"{name}: collective")


def expect_communicators(test):
    """The file that all opened belongs to the duplicate, which was freed at once; its other calls have its number."""
    shared = "FROM file_call f JOIN communicator c ON c.id = f.comm WHERE c.function = 'MPI_Comm_dup'"
    job.expect_equal(test.query(f"SELECT count(DISTINCT comm), count(DISTINCT rank), count(DISTINCT file) {shared}")[0],
                     (1, test.ranks, 1), "communicators, ranks, files")
    job.expect_equal(test.value(f"SELECT count(*) {shared}"),
                     sum(len(own_calls(test, rank)) - 5 for rank in range(test.ranks)), "calls on the shared file")
    job.expect_equal(test.query("SELECT function FROM file_call WHERE rank = 0 AND comm IS NULL"), [("MPI_File_read",)],
                     "calls of no communicator")


def main():
    test = job.Job(__doc__)
    test.record(test.program("files"), str(test.folder))
    test.expect_complete()
    for rank in range(test.ranks):
        expect_rank(test, rank)
    expect_communicators(test)
    job.expect_equal(test.query("SELECT function, sum(calls) FROM call_total WHERE function LIKE 'MPI_File%' GROUP BY 1 ORDER BY 1"),
                     test.query("SELECT function, count(*) FROM file_call GROUP BY 1 ORDER BY 1"), "calls in call_total")
    job.expect_equal(test.value("SELECT count(*) FROM untracked WHERE name LIKE 'MPI_File%'"), 0, "files that are only counted")
    job.expect_equal(test.value("SELECT count(*) FROM collective WHERE function NOT LIKE 'MPI_Comm%'"), 0, "collectives of the MPI itself")
    # A replay takes them as recorded.
    machine = test.folder / "plain.tbl"
    machine.write_text(culprit.MACHINE)
    test.must([test.mpistair, "replay", test.trace, "--machine", machine])
    measured, predicted = test.query("""SELECT sum(measured_s), sum(predicted_s) FROM replay_part JOIN replay_place USING (run_id, place)
        WHERE function LIKE 'MPI_File%' AND quantity = 'other'""")[0]
    if measured is None or abs(measured - predicted) > 1e-6 * measured:
        job.fail(f"files in the replay: {measured} s measured, {predicted} s predicted")
    time_s = {row["activity"]: row["time_s"] for row in json.loads(
        test.must([test.mpistair, "report", test.trace, "--format", "json"]).stdout)["time"]["activities"]}
    recorded_s = test.value("SELECT sum(call_ns) * 1e-9 FROM file_call")
    if abs(time_s["files"] - recorded_s) > 1e-6 * recorded_s:
        job.fail(f"files in the report: {time_s}, recorded {recorded_s} s")


if __name__ == "__main__":
    main()
