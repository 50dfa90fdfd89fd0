#!/usr/bin/env python3
"""The file system of the spools runs full: the job goes on, and the totals of its calls are whole."""
import contextlib
import os
import subprocess

import job

TOTALS = """SELECT rank, f.name, direction, sum(calls), sum(bytes) FROM total t JOIN function f ON f.id = t.function
            WHERE NOT idle GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"""


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
    with small_file_system(test.spools, "6m"):
        test.must(command, **variables)
        test.ingest()
    test.expect_sound()
    totals, operations = test.query(TOTALS), test.value("SELECT count(*) FROM operation")
    job.expect_equal(test.query("SELECT * FROM loss"), [], "losses")
    job.expect_equal(test.value("SELECT detail FROM run"), "bursts", "detail on the full disk")
    print(f"{operations} operations recorded, the rest added up")

    test.trace.unlink()
    test.must(command, **variables)
    test.ingest()
    test.expect_complete()
    job.expect_equal(totals, test.query(TOTALS), "totals on the full disk, against those with room enough")
    if operations >= test.value("SELECT count(*) FROM operation"):
        job.fail("the disk was not full")


main()
