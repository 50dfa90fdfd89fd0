#!/usr/bin/env python3
"""Launches of a job in turn, one of which has a call site slowed: mpistair diff names that site first, and nothing else does.

The site takes two and a half times as long, and launches may differ by 40 %: machines that run tests are busy."""
import json
import pathlib

import job

ROUNDS, SITE = "200", 3
SOURCE = pathlib.Path(__file__).resolve().parents[2] / "apps/slowed.c"


def line_of(site):
    lines = SOURCE.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if f"/* slowed: {site} */" in line)


def record(test, name, *slowed):
    trace = test.folder / name
    test.must([test.mpistair, "run", "-o", trace, "--", *test.launch(test.program("slowed"), ROUNDS, *map(str, slowed))])
    return trace


def sites(test, *traces, launches="40%"):
    found = json.loads(test.must([test.mpistair, "diff", *traces, "--launches", launches, "--json"]).stdout)
    return [row for row in found["rows"] if row["table"].startswith("site")]


def expect_named(rows, part, ranks):
    first = rows[0]
    if not first["above_noise"] or (first["place"]["line"], first["place"]["part"]) != (line_of(SITE), part) or first["rank"] not in ranks:
        job.fail(f"line {line_of(SITE)} is not named first: {first}")


def main():
    test = job.Job(__doc__)
    plain, slow, late, again = (record(test, "a.db"), record(test, "slow.db", SITE, "work", "150"), record(test, "late.db", SITE, "late", "250"),
                                record(test, "b.db"))
    above = [row for row in sites(test, plain, again) if row["above_noise"]]
    if above:
        job.fail(f"between launches of one job: {above}")
    expect_named(sites(test, plain, slow), "before", [None])
    expect_named(sites(test, plain, late), "before", [None, test.ranks - 1])
    expect_named(sites(test, plain, again, "--", slow, slow, launches="10%"), "before", [None])


if __name__ == "__main__":
    main()
