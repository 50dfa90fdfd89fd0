#!/usr/bin/env python3
"""A rank shares its processor with a busy process: the trace has how long it waited for it, and the report says so."""
import json
import os
import subprocess
import sys

import job


def main():
    test = job.Job(__doc__)
    try:
        if int(open("/proc/self/schedstat", encoding="ascii").read().split()[0]) == 0:
            job.skip("this kernel counts no time of waiting")
    except (OSError, IndexError):
        job.skip("no /proc/self/schedstat here")
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))}) # for all that is started here
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        test.record(test.program("overlap"), "10", "1000", "40000")
    finally:
        busy.kill()
    test.expect_complete()
    (observed, run, wait, switches), = test.query("SELECT observed_ns, run_ns, wait_ns, involuntary_switches FROM process")
    print(f"observed {observed} ns, ran {run} ns, waited {wait} ns, {switches} involuntary switches")
    # It works for 400 ms by the clock, and a scheduler that is fair gives it half of that.
    if not 0.05 * observed < wait <= observed or run <= 0 or switches < 1:
        job.fail("the wait for the processor is not in the trace")
    said = [line for line in test.must([test.mpistair, "report", test.trace]).stdout.splitlines() if "waited for a processor" in line]
    job.expect_equal(len(said), 1, "lines of the report on it")
    found = json.loads(test.must([test.mpistair, "report", test.trace, "--json"]).stdout)["run"]["processor_wait"]
    job.expect_equal((found["ranks"], found["worst_rank"], found["involuntary_switches"]), (1, 0, switches), "the report's JSON")


main()
