#!/usr/bin/env python3
"""Messages to oneself, exchanges, and polls with sleeps between them (tests/apps/asides.c): replay ends, the report calls
the sleeps waiting, joins no exchanges, and no figure of it exceeds what it is part of."""
import json
import pathlib
import sys

import job

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "golden/report"))
import parts

MACHINE = "name made\nsource made up\n" + "".join(f"{level} any tau - 1e-6 s\n{level} any bw 1 1e9 B/s\n"
                                                    for level in ("intra_socket", "inter_socket"))


def main():
    test = job.Job(__doc__)
    test.record(test.program("asides"), "{traffic}")
    test.expect_traffic()
    test.expect_complete()
    machine = test.folder / "made.tbl"
    machine.write_text(MACHINE, encoding="ascii")
    before = test.query("SELECT count(*) FROM message WHERE src = dst AND send_complete_ns < recv_post_ns")
    print(f"sends to oneself that were complete before their receive was posted: {before[0][0]}")
    test.must([test.mpistair, "replay", test.trace, "--machine", machine])
    report = json.loads(test.must([test.mpistair, "report", test.trace, "--json"]).stdout)
    spent = report["ranks"][1]["activity_s"]
    if not (spent["between_polls"] > 0.15 and spent["between_polls"] > 3 * spent["computation"]):
        job.fail(f"rank 1 slept between its polls, and did not compute: {spent}")
    joined = [finding["sentence"] for finding in report["findings"] if "MPI_Sendrecv" in finding["sentence"] and "joining" in finding["sentence"]]
    job.expect_equal(joined, [], "exchanges that wait for each other and should be joined")
    wrong = parts.wrong_parts(lambda *words: test.must([test.mpistair, *words]).stdout, test.trace)
    job.expect_equal(wrong, [], "figures that exceed their whole, or differ")


main()
