#!/usr/bin/env python3
"""LAMMPS, which nobody here wrote: recording changes nothing in its output but times, and misses no message."""
import pathlib
import re

import job

INPUT = pathlib.Path(__file__).resolve().parent / "melt.in"
# What LAMMPS prints of time, here and in the table of its tasks.
TIMES = re.compile(r"^(Loop time of|Performance:|Total wall time|[0-9.]+% CPU use|  create_atoms CPU = |(Pair|Neigh|Comm|Output|Modify|Other) )")


def output_without_times(done):
    return [line for line in done.stdout.splitlines() if not TIMES.match(line)]


def main():
    test = job.Job(__doc__)
    test.ranks = 4
    test.needs("lmp")
    command = ["lmp", "-in", str(INPUT), "-log", "none"]
    plain = output_without_times(test.must(test.launch(*command)))
    recorded = output_without_times(test.record(*command))
    differing = [f"{a!r} became {b!r}" for a, b in zip(plain, recorded) if a != b]
    if len(plain) < 30 or len(plain) != len(recorded) or differing:
        job.fail(f"{len(plain)} lines without recording, {len(recorded)} with it; {'; '.join(differing[:5])}")
    test.expect_complete()
    test.expect_sound()
    messages = test.value("SELECT count(*) FROM message")
    print(f"{len(plain)} lines are the same; {messages} messages,", test.query("SELECT * FROM completeness"))
    if messages < 1000:
        job.fail("expected thousands of messages")


main()
