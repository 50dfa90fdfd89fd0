#!/usr/bin/env python3
"""A launcher starts two programs (mpiexec -n 1 ./a : -n 1 ./b): every output names each with its ranks."""
import csv
import json
import shutil

import job


def main():
    test = job.Job(__doc__)
    for name in "ab":
        shutil.copy(test.program("huge"), test.folder / name)
    test.ranks = 1
    command = [*test.launch("./a"), ":", "-n", "1", "./b"]
    if test.run(command).returncode != 0:  # Open MPI 5.0.7's launcher crashes at the colon
        test.ranks = 2
        script = 'if [ "$PMI_RANK$OMPI_COMM_WORLD_RANK" = 0 ]; then exec ./a; fi; exec ./b'
        command = test.launch("sh", "-c", script)
    test.must([test.mpistair, "run", "-o", test.trace, "--", *command])
    test.expect_complete()
    job.expect_equal(test.query("SELECT * FROM program"), [(0, 0, "./a"), (1, 1, "./b")], "programs")
    shown = test.must([test.mpistair, "report", test.trace]).stdout
    job.expect_equal(shown.splitlines()[0], "./a (rank 0), ./b (rank 1)", "heading of the report")
    section = test.must([test.mpistair, "report", test.trace, "--section", "run"]).stdout.splitlines()
    job.expect_equal([line.split() for line in section[1:3]], [["commands", "./a", "(rank", "0)"], ["./b", "(rank", "1)"]], "its section run")
    run = json.loads(test.must([test.mpistair, "report", test.trace, "--format", "json"]).stdout)["run"]
    job.expect_equal([(each["command"], each["where"], each["ranks"]) for each in run["programs"]], [("./a", "0", 1), ("./b", "1", 1)], "JSON")
    rows = csv.DictReader(test.must([test.mpistair, "report", test.trace, "--format", "csv"]).stdout.splitlines())
    job.expect_equal([(row["rank"], row["command"]) for row in rows], [("0", "./a"), ("1", "./b")], "CSV")
    page = test.must([test.mpistair, "report", test.trace, "--format", "html"]).stdout
    job.expect_equal(page.count("./a (rank 0), ./b (rank 1)") >= 2, True, "title and heading of the page")
    exported = test.folder / "trace.json"
    test.must([test.mpistair, "export", test.trace, "--to", "perfetto", "-o", exported])
    job.expect_equal(json.loads(exported.read_text())["otherData"]["command"], "./a (rank 0), ./b (rank 1)", "command of the timeline")


main()
