#!/usr/bin/env python3
"""MPISTAIR_STACK=n: the frames of every operation as the source has them, each stack once; without libunwind, and with
numbers that are none, the job runs on and one rank says so. The program is stack.c."""
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "jobs"))
import job

SOURCE = pathlib.Path(__file__).with_name("stack.c")
STACKS = """SELECT DISTINCT operation.function, stack.id, depth, callsite.function, line FROM
  (SELECT iif(direction = 'send', send_function, recv_function) AS function, stack
     FROM origin JOIN message ON message.id = message_id
   UNION ALL SELECT function, stack FROM collective) AS operation
  JOIN stack ON stack.id = operation.stack JOIN callsite ON callsite.id = stack.callsite ORDER BY 1, 2, 3"""


def lines():
    """{comment: line} of the commented lines."""
    found = {}
    for number, line in enumerate(SOURCE.read_text(encoding="ascii").splitlines(), 1):
        comment = re.search(r";\s*/\* ([a-z ]+) \*/", line)
        if comment:
            found[comment.group(1)] = number
    return found


def add_arguments(parser):
    parser.add_argument("program")


def check_frames(test, wanted):
    at, found = lines(), {}
    for function, stack, _, name, line in test.query(STACKS):
        found.setdefault((function, stack), []).append((name, line))
    chains = sorted({(key[0], *frames) for key, frames in found.items()})
    job.expect_equal(len(chains), len(found), "different stacks")
    expected = {("MPI_Barrier", ("main", at["barrier"]))}
    for call, name in (("MPI_Send", "send"), ("MPI_Irecv", "irecv")):
        for side in ("left", "right"):
            expected.add((call, ("leaf", at[name]), (side, at[side]), ("repeat", at["repeat " + side]))[:wanted + 1])
    job.expect_equal({chain[:len(want)] for chain in chains for want in expected if chain[:len(want)] == want}, expected,
                     f"stacks of {wanted} frames")
    if any(len(chain) > wanted + 1 for chain in chains) or {chain[:2] for chain in chains} != {w[:2] for w in expected}:
        job.fail(f"stacks that should not be there: {chains}")
    job.expect_equal(test.value("SELECT count(*) FROM origin WHERE stack IS NOT NULL"),
                     2 * test.value("SELECT count(*) FROM message"), "operations with a stack")


def expect_none(test, done, words):
    said = [line for line in done.stderr.splitlines() if "MPISTAIR_STACK" in line]
    job.expect_equal(len(said), 1, "lines about it")
    if words not in said[0]:
        job.fail(f"expected '{words}': {said[0]}")
    job.expect_equal(test.value("SELECT count(*) FROM stack"), 0, "stacks")


def main():
    test = job.Job(__doc__, add_arguments)
    program = test.arguments.program
    bare = test.must(test.launch(program))
    for wanted in (3, 63):
        recorded = test.record(program, MPISTAIR_STACK=str(wanted))
        job.expect_equal(sorted(recorded.stdout.splitlines()), sorted(bare.stdout.splitlines()), "what the program prints")
        test.expect_complete()
        check_frames(test, wanted)
    expect_none(test, test.record(program, MPISTAIR_STACK="64"), "must be a number of frames from 0 to 63")
    # A library of its name that lacks what is needed, as LLVM's does.
    subprocess.run(["cc", "-shared", "-x", "c", "/dev/null", "-Wl,-soname,libunwind.so.8", "-o",
                    test.folder / "libunwind.so.8"], check=True)
    if test.run(["sh", "-c", "ldd $(command -v " + test.arguments.launcher + ") | grep -q libunwind.so.8"]).returncode != 0:
        expect_none(test, test.record(program, MPISTAIR_STACK="5", LD_LIBRARY_PATH=str(test.folder)), "needs libunwind")


main()
