#!/usr/bin/env python3
"""Two nodes whose clocks are made to differ by 50 ms and 20 ppm: in the trace no receive completes before its send starts,
and the offset that was found is the true one within the error bound that the trace gives; of a killed job, too."""
import time

import job

AHEAD_NS, FASTER = 50_000_000, 20e-6
SOURCE = "/sys/devices/system/clocksource/clocksource0/current_clocksource"


def shift_ns(monotonic_ns):
    """What the hook adds to CLOCK_MONOTONIC of node1."""
    return AHEAD_NS + FASTER * monotonic_ns


def run(test, each, *program):
    """Runs a job on the two nodes; CLOCK_MONOTONIC before and after it."""
    begin_ns = time.monotonic_ns()
    test.run([*test.cluster("-n", "2", "-m", str(each), "-r", "400mbit"), "env", f"MPISTAIR_TEST_CLOCK=node1:{AHEAD_NS},{FASTER * 1e6}",
              test.mpistair, "run", "-o", test.trace, "--", test.arguments.launcher, "-n", str(2 * each), *program])
    return begin_ns, time.monotonic_ns()


def expect_offsets(test, begin_ns, end_ns, sources):
    """Every offset that was measured is what the hook made of node1's clock, within its bound."""
    rows = test.query("SELECT source, at_ns, offset_ns, uncertainty_ns FROM clock WHERE node = 1 AND source <> 'messages' ORDER BY at_ns")
    job.expect_equal([source for source, *_ in rows], sources, "measurements of node1's clock")
    by_messages_ns = test.value("SELECT coalesce(max(uncertainty_ns), 0) FROM clock WHERE node = 1 AND source = 'messages'")
    for source, _, offset_ns, uncertainty_ns in rows:
        uncertainty_ns += by_messages_ns
        most, least = -shift_ns(begin_ns), -shift_ns(end_ns)
        print(f"{source}: offset {offset_ns} ns, true {least:.0f} to {most:.0f} ns, bound {uncertainty_ns} ns")
        if not 0 < uncertainty_ns < 50_000_000 or not least - uncertainty_ns <= offset_ns <= most + uncertainty_ns:
            job.fail(f"{source}: the offset is not within its bound")
    return rows


def expect_order(test):
    n, earliest_ns = test.query("SELECT count(*), min(recv_complete_ns - send_post_ns) FROM message JOIN process s ON s.rank = src "
                                "JOIN process d ON d.rank = dst WHERE s.node <> d.node")[0]
    print(f"{n} messages between the nodes; the earliest is received {earliest_ns} ns after its send began")
    if n < 50 or earliest_ns < 0:
        job.fail("expected messages between the nodes, none received before it was sent")


def main():
    test = job.Job(__doc__)
    each = 1 if test.mpi == "mpich" else 2
    with open(SOURCE, encoding="ascii") as file:
        if file.read().strip() != "tsc":
            job.skip("the hook shifts the clock only where the recorder's ticks are those of the TSC")

    begin_ns, end_ns = run(test, each, test.program("halo"), "--traffic", test.traffic)
    test.expect_traffic()
    test.expect_complete()
    first, last = expect_offsets(test, begin_ns, end_ns, ["init", "finalize"])
    expect_order(test)
    drift = (last[2] - first[2]) / (last[1] - first[1])
    bound = (first[3] + last[3]) / (last[1] - first[1])
    print(f"drift {drift * 1e6:.2f} ppm, bound {bound * 1e6:.2f} ppm")
    if abs(drift + FASTER) > bound:
        job.fail(f"expected a drift of {-FASTER * 1e6:.0f} ppm")

    test.trace.unlink()
    begin_ns, end_ns = run(test, each, test.program("abrupt"), "kill", "3000", str(test.traffic))
    test.expect_traffic()
    expect_offsets(test, begin_ns, end_ns, ["init"])
    expect_order(test)
    print(test.query("SELECT * FROM clock"))


main()
