#!/usr/bin/env python3
"""`mpistair run --machine` predicts what it recorded: report then shows laws. Whatever goes wrong with the machine shows before
the job starts, what goes wrong in predicting is a note that changes neither exit code nor trace."""
import os
import shlex

import culprit
import job


def run(test, code, machine, command, **more):
    """Records a command with a machine and returns what run said on stderr."""
    done = test.run([test.mpistair, "run", "--machine", machine, "-o", test.trace, "--", *command], **more)
    job.expect_equal(done.returncode, code, "exit code of run")
    return done.stderr


def laws(test, trace):
    test.trace = trace
    return {law for law, in test.query("SELECT model FROM model_error WHERE machine = 'plain' AND error IS NOT NULL")}


def main():
    test = job.Job(__doc__)
    machine, trace = test.folder / "plain.tbl", test.trace
    machine.write_text(culprit.MACHINE)
    halo, reduce = test.launch(test.program("culprit"), "send", "5"), test.launch(test.program("culprit"), "reduce", "5")
    listed = {row.split()[0] for row in test.must([test.mpistair, "predict", "--help"]).stdout.split("laws")[-1].splitlines()
              if row.startswith("  ")}

    # Names are checked before the job, which would leave a file.
    started = test.folder / "started"
    (test.folder / "broken.tbl").write_text("name broken\nintra_socket any tau - fast s\n")
    for wrong, reason in (("planes", "planes"), (test.folder / "broken.tbl", "broken.tbl:2"), (test.folder, "directory")):
        if reason not in run(test, 1, wrong, ["touch", started]):
            job.fail(f"--machine {wrong}: no reason that has {reason}")
    job.expect_equal((started.exists(), trace.exists()), (False, False), "the job ran with a wrong machine, a trace is there")
    job.expect_equal(test.run([test.mpistair, "run", "--machine"]).returncode, 2, "exit code without a name")

    # Nothing is said beyond what a run without a machine says, and the report shows the laws.
    said = run(test, 0, machine, halo)
    found = laws(test, trace)
    if not {"flow", "postal", "staircase"} <= found or not found <= listed:
        job.fail(f"laws with an error: {found}, listed: {listed}; {said}")
    screen = test.must([test.mpistair, "report", trace]).stdout
    if "on plain" not in screen or "late sender" not in screen:
        job.fail("the first screen shows no law, or no late sender")

    # Each job of a script is predicted; a job that fails is, too, and its exit code stays.
    script = test.folder / "script"
    script.write_text(f"{shlex.join(halo)} && {shlex.join(halo)} && exit 7")
    run(test, 7, machine, ["sh", script])
    second = trace.with_name("trace-2.db")
    for each in (trace, second):
        if not laws(test, each):
            job.fail(f"{each.name} of a script is not predicted")
    test.trace = trace

    # Without messages there is nothing to predict.
    run(test, 0, machine, reduce)
    job.expect_equal(laws(test, trace), set(), "laws of a run without messages")
    if "no messages to compare" not in test.must([test.mpistair, "report", trace]).stdout:
        job.fail("the report does not say why no law is shown")

    # A table that is gone when the job has ended is a note.
    script.write_text(f"{shlex.join(halo)} && rm {shlex.quote(str(machine))}")
    said = run(test, 0, machine, ["sh", script])
    if f"mpistair predict {trace} --machine {machine}" not in said:
        job.fail(f"no note on how to predict: {said}")
    job.expect_equal(test.value("SELECT count(*) > 0 FROM message"), 1, "messages are in the trace")

    # Where the trace is made later, so is the prediction.
    machine.write_text(culprit.MACHINE)
    os.remove(trace)
    said = run(test, 0, machine, halo, MPISTAIR_INGEST="0")
    if f"mpistair predict {trace} --machine {machine}" not in said or trace.exists():
        job.fail(f"MPISTAIR_INGEST=0: a trace, or no word on predicting: {said}")


if __name__ == "__main__":
    main()
