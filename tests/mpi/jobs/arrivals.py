#!/usr/bin/env python3
"""A job whose last rank comes late to a reduction, a fence and the write of a file: queries and report say for whom the others
wait, at which line, and that it was longer than the transfer behind it."""
import json
import pathlib

import job

LATE_MS = 60
WAIT_MS = 20  # at least; who waits may be kept off its processor for the rest
SOURCE = pathlib.Path(__file__).resolve().parents[2] / "apps/arrivals.c"
CALLS = {"reduction": ("collective", "MPI_Allreduce"), "fence": ("one-sided", "MPI_Win_fence"), "write": ("file", "MPI_File_write_at_all")}


def line_of(what):
    return next(number for number, line in enumerate(SOURCE.read_text().splitlines(), 1) if f"/* late: {what} */" in line)


def main():
    test = job.Job(__doc__)
    test.record(test.program("arrivals"), str(test.folder / "output"), str(LATE_MS))
    late = test.ranks - 1
    for what, (source, function) in CALLS.items():
        # Of an instance: who came last, and whether a rank waited for what the late one slept.
        found = test.query("SELECT min(last_rank), max(last_rank), count(DISTINCT instance), min(longest) FROM (SELECT instance, last_rank,"
                           " max(wait_ns) OVER (PARTITION BY instance) * 1e-6 AS longest FROM joint_call j JOIN callsite c ON c.id = j.callsite"
                           " WHERE source = ? AND j.function = ? AND c.line = ?)", source, function, line_of(what))[0]
        # An MPI may write without waiting.
        if found[:3] != (late, late, 5) or (source != "file" and found[3] < WAIT_MS):
            job.fail(f"{what}: last ranks {found[0]} to {found[1]} of {found[2]} instances, the shortest wait {found[3]} ms")
    site = test.query("SELECT m.name, s.calls, s.bytes, s.last_rank FROM collective_site s JOIN communicator m ON m.id = s.comm"
                      " WHERE s.function = 'MPI_Allreduce'")
    job.expect_equal(site, [("all of them", 5 * test.ranks, 40 * test.ranks, late)], "call sites of the reduction")
    report = json.loads(test.must([test.mpistair, "report", test.trace, "--json"]).stdout)
    for section, what in (("collectives", "reduction"), ("rma", "fence"), ("files", "write")):
        lines = [row["line"] for row in report[section]["longest"] if row["function"] == CALLS[what][1]]
        if line_of(what) not in lines:
            job.fail(f"report, {section}: line {line_of(what)} is not among {lines}")
    transfers = test.query("SELECT rank, target, sum(bytes) FROM rma WHERE function = 'MPI_Put' GROUP BY 1, 2 ORDER BY 1, 2")
    job.expect_equal(transfers, [(rank, (rank + 1) % test.ranks, 40) for rank in range(test.ranks)], "transfers")


if __name__ == "__main__":
    main()
