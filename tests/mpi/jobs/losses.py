#!/usr/bin/env python3
"""A job with losses on purpose (tests/apps/losses.c), one spool taken away: the report's completeness section names each."""
import json

import job

STEPS = 30000  # each has three records: 160 bytes
EVERY = 500  # steps for each receive that stays open
LIMIT = 20 << 20  # of each rank 3 MiB for records


def main():
    test = job.Job(__doc__)
    test.ranks = 4
    done = test.run(test.launch(test.program("losses"), str(STEPS)),
                    **test.preloaded(MPISTAIR_INGEST="0", MPISTAIR_SPOOL_LIMIT=str(LIMIT)))
    if done.returncode == 0:
        job.fail("the job was to end by SIGKILL")
    spools = sorted(test.spools.glob("*.mpispool"))
    job.expect_equal(len(spools), 4, "spools")
    next(path for path in spools if path.stem.endswith("-3")).unlink()
    test.ingest()
    test.expect_sound()
    shown = test.must([test.mpistair, "report", test.trace, "--all"]).stdout
    section = " ".join(shown.split("Completeness\n")[1].split("\n\n")[0].split())
    for text in ("incomplete: spools of 1 processes are missing", "no spool: 1 of 4 ranks (rank 3)",
                 "on ranks 0-2 (limit): the limit of the spool was reached", "ended without MPI_Finalize: 3 ranks",
                 "only counted: ", "(cancelled)", "(partner_lost)", "rank 1 (freed)",
                 "recording was off (MPI_Pcontrol, MPISTAIR_WINDOW): 1 time on rank 0", "left out: 3 operations posted then and 3 partners",
                 "unsuccessful tests and probes: "):
        if text not in section:
            job.fail(f"'{text}' is not in the completeness section:\n{section}")
    missing = json.loads(test.must([test.mpistair, "report", "--format", "json", test.trace]).stdout)["completeness"]
    counts = {key: {entry["name"]: entry["n"] for entry in missing[key]}
              for key in ("loss_causes", "untracked_functions", "unmatched_reasons")}
    job.expect_equal(missing["left_out"], 6, "operations left out")
    job.expect_equal(counts["untracked_functions"].get("MPI_Buffer_detach"), 1, "calls of MPI_Buffer_detach")
    job.expect_equal(counts["unmatched_reasons"].get("cancelled"), 1, "cancelled operations")
    # What rank 0 recorded and what it lost are all that it did: of a step three records, the open receives, and eleven besides.
    recorded = test.value("SELECT count(*) FROM operation WHERE rank = 0") + test.value(
        "SELECT count(*) FROM call WHERE rank = 0 AND function IN ('MPI_Waitall', 'MPI_Wait', 'MPI_Probe', 'MPI_Cancel')"
    ) + test.value("SELECT count(*) FROM collective WHERE rank = 0") + test.value(
        "SELECT count(*) FROM mark WHERE rank = 0") + test.value("SELECT sum(operations) FROM recording_off WHERE rank = 0")
    lost = test.value("SELECT n FROM loss WHERE rank = 0 AND cause = 'limit'")
    print(f"rank 0: {recorded} recorded, {lost} lost")
    job.expect_equal(recorded + lost, 3 * STEPS + STEPS // EVERY + 11, "records and losses of rank 0")
    if lost < 1000 or not test.value("SELECT count(*) FROM message WHERE src = 0 AND dst = 1") > 1000:
        job.fail("expected thousands of messages, and thousands of losses")


main()
