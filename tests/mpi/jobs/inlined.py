#!/usr/bin/env python3
"""A call in a function that was inlined has that function's name, with those into which it went; stacks and report show them."""
import pathlib

import job

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "apps/inlined.c"


def line_of(comment):
    lines = SOURCE.read_text(encoding="ascii").splitlines()
    return next(number for number, line in enumerate(lines, 1) if line.endswith(f"/* {comment} */"))


def main():
    test = job.Job(__doc__)
    test.record(test.program("inlined"), MPISTAIR_STACK="8")
    test.expect_complete()
    chain = [("inner", line_of("inner")), ("outer", line_of("outer")), ("main", line_of("main"))]
    found = test.query("SELECT f.name, f.line FROM frame f WHERE f.callsite IN (SELECT callsite FROM operation WHERE tag = 0)"
                       " ORDER BY callsite, depth")
    job.expect_equal(found, chain, "functions at the call site")
    job.expect_equal(test.query("SELECT DISTINCT s.name, s.line, s.callers FROM operation o JOIN site s ON s.id = o.callsite WHERE tag = 1"),
                     [("main", line_of("itself"), "")], "a call that was not inlined")
    callers = f":{chain[0][1]} in outer :{chain[1][1]} in main :{chain[2][1]}"
    for command in (["query", test.trace, "stacks"], ["query", test.trace, "callsites"], ["report", test.trace, "--section", "call-sites"]):
        shown = " ".join(test.must([test.mpistair, *command]).stdout.split()).replace("/ ", "/")
        if f"inlined.c{callers}" not in shown:
            job.fail(f"{command[0]} shows no 'inlined.c{callers}'")


main()
