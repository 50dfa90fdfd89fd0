#!/usr/bin/env python3
"""Where a launcher ends before its processes, their spools are read once they have ended. A signal that ends `mpistair run`
meanwhile leaves the command that makes the trace."""
import re
import shlex
import signal
import subprocess
import time

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
    told(test, begun, script)


def told(test, begun, script):
    """Ends the recording command while a process of the job goes on, then makes the trace as it said."""
    enough, launched = test.folder / "enough", test.folder / "launched"
    begun.unlink()
    test.trace.unlink()
    words = [test.mpistair, "run", "-o", test.trace, "--", "sh", "-c", f'{script}; : > "{launched}"', "sh",
             test.program("left_behind"), str(begun), str(MESSAGES), str(enough)]
    heard = test.folder / "heard"  # a file: what is left behind keeps a pipe open
    with open(heard, "w") as stream:
        running = subprocess.Popen([str(word) for word in words], stderr=stream, env=test.environment())
    while not launched.exists():
        time.sleep(0.02)
    time.sleep(0.2)
    running.send_signal(signal.SIGTERM)
    job.expect_equal(running.wait(timeout=30), -signal.SIGTERM, "exit code")
    said = heard.read_text()
    command = re.search(r"it is made by: (mpistair ingest .*)", said)
    if command is None or test.trace.exists():
        job.fail(f"trace there: {test.trace.exists()}; said: {said}")
    enough.touch()
    time.sleep(1)
    test.must([test.mpistair, *shlex.split(command[1])[1:]])
    job.expect_equal(test.value("SELECT count(*) FROM message"), MESSAGES, "messages of the trace by hand")


main()
