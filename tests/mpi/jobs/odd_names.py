#!/usr/bin/env python3
"""A program, a working directory and a trace whose names have any bytes: functions and lines stay, texts are valid UTF-8.
They stay where the spools lie in a folder whose name is longer than a header holds, too."""
import json
import os
import shutil

import job

ODD = b"d \xe9\n\t\"'\\<b>&;,$(x)\xff\x1b[31m"


SITES = "SELECT name, line > 0, file LIKE '%inlined.c' FROM site WHERE id IN (SELECT callsite FROM operation) ORDER BY 1"


def deep(test):
    spools = test.folder.joinpath(*(4 * ["spools" + 200 * "s"]))
    spools.mkdir(parents=True)
    test.record(test.program("inlined"), MPISTAIR_SPOOL=str(spools))
    job.expect_equal(test.query(SITES), [("inner", 1, 1), ("main", 1, 1)], "call sites of spools in a long folder")
    job.expect_equal(test.value("SELECT count(*) FROM process WHERE core IS NULL"), 0, "processes without a place")
    test.trace.unlink()


def main():
    test = job.Job(__doc__)
    deep(test)
    folder = os.path.join(os.fsencode(test.folder), ODD)
    os.mkdir(folder)
    program, test.trace = os.path.join(folder, b"p" + ODD), os.path.join(folder, b"t" + ODD + b".db")
    shutil.copy(test.program("inlined"), program)
    options = ["--oversubscribe", "--bind-to", "none"] if test.mpi == "openmpi" else []
    test.folder = folder
    done = test.run([test.mpistair, "run", "-o", test.trace, "--", test.arguments.launcher, *options, "-n", "2", program])
    job.expect_equal((done.returncode, "\x1b" in done.stderr), (0, False), "exit code, escape sequences")
    os.link(test.trace, os.path.join(os.path.dirname(folder), b"plain.db"))  # for what opens it by a URI
    test.trace = os.path.join(os.fsdecode(os.path.dirname(folder)), "plain.db")
    test.expect_complete()
    found = test.query(SITES)
    job.expect_equal(found, [("inner", 1, 1), ("main", 1, 1)], "call sites")
    modules = test.query("SELECT DISTINCT c.module FROM operation o JOIN callsite c ON c.id = o.callsite")
    job.expect_equal([module.endswith('p' + ODD.decode(errors="replace").replace("\ufffd", "?")) for module, in modules], [True], modules)
    report = json.loads(test.must([test.mpistair, "report", test.trace, "--json"]).stdout)
    if "\x1b" in report["run"]["command"]:
        job.fail(f"an escape sequence in {report['run']['command']}")


main()
