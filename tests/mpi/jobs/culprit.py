#!/usr/bin/env python3
"""Jobs with a planted culprit: the first screen of the section on the whole run names its rank and its line."""
import pathlib

import job

LATE_MS, SCREEN = "20", 25
SOURCE = pathlib.Path(__file__).resolve().parents[2] / "apps/culprit.c"
# The smallest table there is. All messages are synchronous in it, as those of the variant `receive` are.
MACHINE = "name plain\nsource made up\n" + "".join(
    f"{level} any tau - 1e-6 s\n{level} any bw 1 {rate} B/s\n"
    for level, rate in (("intra_socket", 1e9), ("inter_socket", 1e9), ("inter_node", 5e7)))


def line_of(variant):
    lines = SOURCE.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if f"/* late: {variant} */" in line)


def expect_named(test, variant, machine, rank):
    test.must([test.mpistair, "replay", test.trace, "--machine", machine])
    screen = test.must([test.mpistair, "report", test.trace, "--section", "whole-run"]).stdout.splitlines()[:SCREEN]
    place = f"culprit.c:{line_of(variant)}"
    if not any(line.split()[:1] == [str(rank)] and line.endswith(place) for line in screen):
        job.fail(f"{variant}: the first {SCREEN} lines do not name rank {rank} and {place}")


def slow_link(test, machine):
    """The link to the last of three nodes has a twentieth of the others' rate."""
    slow = "nsenter --target 1 --net tc qdisc replace dev link2 root tbf rate 20mbit burst 64kb latency 100ms"
    test.must([*test.cluster("-n", "3", "-m", "1", "-r", "400mbit"), "sh", "-c", f'{slow} && exec "$0" "$@"', test.mpistair, "run",
               "-o", test.trace, "--", test.arguments.launcher, "-n", "3", test.program("culprit"), "ring", "0"])
    expect_named(test, "ring", machine, 2)


def main():
    test = job.Job(__doc__, lambda parser: parser.add_argument("--link", action="store_true", help="a slow link instead"))
    machine = test.folder / "plain.tbl"
    machine.write_text(MACHINE)
    if test.arguments.link:
        slow_link(test, machine)
        return
    for variant in ("reduce", "send", "receive"):
        test.record(test.program("culprit"), variant, LATE_MS)
        expect_named(test, variant, machine, test.ranks - 1)


if __name__ == "__main__":
    main()
