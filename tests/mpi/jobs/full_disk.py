#!/usr/bin/env python3
"""The file system of the spools runs full: the job goes on, and what is not recorded is counted."""
import contextlib
import os
import subprocess

import job

# What the recorder writes a record for: operations, completion calls, collectives; and what it counts as lost.
RECORDS = """SELECT (SELECT count(*) FROM operation) + (SELECT count(*) FROM call WHERE function LIKE 'MPI_Wait%')
                    + (SELECT count(*) FROM collective) + (SELECT coalesce(sum(n), 0) FROM loss)"""


@contextlib.contextmanager
def small_file_system(folder, size):
    folder.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder], capture_output=True, text=True)
    if mounted.returncode != 0:
        job.skip(f"no small file system can be mounted: {mounted.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", folder], check=True)


def main():
    test = job.Job(__doc__)
    if os.geteuid() != 0:
        job.skip("only root may mount a small file system")
    command = test.launch(test.program("abrupt"), "finish", "40000", "{traffic}")
    variables = test.preloaded(MPISTAIR_INGEST="0")
    with small_file_system(test.spools, "3m"):
        test.must(command, **variables)
        test.ingest()
    test.expect_sound()
    lost = test.value("SELECT coalesce(sum(n), 0) FROM loss")
    records = test.value(RECORDS)
    verdict = test.value("SELECT verdict FROM completeness")
    print(f"{records - lost} recorded, {lost} lost: {verdict}")
    if lost == 0 or lost == records or not verdict.startswith("incomplete"):
        job.fail("expected some records, some lost, and a verdict that says so")

    test.trace.unlink()
    test.must(command, **variables)
    test.ingest()
    test.expect_complete()
    job.expect_equal(records, test.value(RECORDS), "records and losses on the full disk, against those with room enough")


main()
