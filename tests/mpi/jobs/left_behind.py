#!/usr/bin/env python3
"""Where a launcher ends before its processes, their spools are read once they have ended."""
import job

MESSAGES = 50


def main():
    test = job.Job(__doc__)
    begun = test.folder / "begun"
    script = f'"$@" & until [ -e "{begun}" ]; do sleep 0.02; done'
    test.must([test.mpistair, "run", "-o", test.trace, "--", "sh", "-c", script, "sh", test.program("left_behind"), str(begun),
               str(MESSAGES)])
    job.expect_equal(test.query("SELECT ended FROM process"), [("finalize",)], "how the process ended")
    job.expect_equal(test.value("SELECT count(*) FROM message"), MESSAGES, "messages")
    test.expect_complete()


main()
