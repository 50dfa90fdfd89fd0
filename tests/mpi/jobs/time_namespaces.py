#!/usr/bin/env python3
"""A rank in a time namespace, as in a container after a restore: its CLOCK_MONOTONIC is 86,400 s ahead, or 20 s behind. All
times of all ranks lie within the run, which takes no longer than the job did; with MPI sessions all ranks are one run."""
import subprocess
import time

import job

OFFSETS_S = -20, 3, 600, 86400


def main():
    test = job.Job(__doc__)
    test.needs("unshare")
    if subprocess.run(["unshare", "-T", "--monotonic", "3", "--boottime", "3", "true"], capture_output=True, check=False).returncode != 0:
        job.skip("this system, or this user, makes no time namespaces")
    for ahead_s in OFFSETS_S:
        for rank in (0, 1):
            # The launchers give each rank its number by one of these variables.
            ahead = f'if [ "${{PMI_RANK:-$OMPI_COMM_WORLD_RANK}}" = {rank} ]; then ' \
                    f'exec unshare -T --monotonic {ahead_s} --boottime {ahead_s} "$@"; else exec "$@"; fi'
            begin_s = time.monotonic()
            test.record("sh", "-c", ahead, "sh", test.program("halo"), "--points", "500", "--traffic", "{traffic}")
            most_ns = int((time.monotonic() - begin_s) * 1e9)
            test.expect_traffic()
            test.expect_complete()
            test.expect_sound()
            job.expect_equal(test.value("SELECT duration_ns <= ? FROM run", most_ns), 1, "the run is no longer than the job")
            outside = "SELECT count(*) FROM {0}, run WHERE min({1}) < 0 OR max({1}) > duration_ns"
            for table, columns in {"process": "begin_ns, end_ns", "call": "begin_ns, end_ns", "collective": "begin_ns, end_ns",
                                   "message": "send_post_ns, recv_post_ns, send_complete_ns, recv_complete_ns"}.items():
                job.expect_equal(test.value(outside.format(table, columns)), 0, f"rows of {table} outside of the run")
            begins = test.query("SELECT max(begin_ns) - min(begin_ns), max(end_ns) - min(end_ns) FROM process")[0]
            print("the ranks begin and end within", *begins, "ns of each other")


main()
