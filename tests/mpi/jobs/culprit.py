#!/usr/bin/env python3
"""Jobs with a planted culprit: the first screen, of the report and of its section on the whole run, names its rank and its
line; without the culprit the report has no finding of its kind.

A busy machine hides what was planted and plants culprits of its own: each job is recorded up to ATTEMPTS times."""
import json
import pathlib
import re

import job

ATTEMPTS, LATE_MS, SCREEN = 4, "20", 25
SOURCE = pathlib.Path(__file__).resolve().parents[2] / "apps/culprit.c"
# The smallest table there is. All messages are synchronous in it, as those of the variant `receive` are.
MACHINE = "name plain\nsource made up\n" + "".join(
    f"{level} any tau - 1e-6 s\n{level} any bw 1 {rate} B/s\n"
    for level, rate in (("intra_socket", 1e9), ("inter_socket", 1e9), ("inter_node", 5e7)))


def line_of(variant):
    lines = SOURCE.read_text().splitlines()
    return next(number for number, line in enumerate(lines, 1) if f"/* late: {variant} */" in line)


def not_named(test, variant, machine, rank):
    """What the section on the whole run lacks, or None."""
    test.must([test.mpistair, "replay", test.trace, "--machine", machine])
    screen = test.must([test.mpistair, "report", test.trace, "--section", "whole-run"]).stdout.splitlines()[:SCREEN]
    rows = re.sub(r"\n {20,}", "", "\n".join(screen)).splitlines()  # a long path goes on in its column of the next line
    place = f"culprit.c:{line_of(variant)}"
    if any(line.split()[:1] == [str(rank)] and line.endswith(place) for line in rows):
        return None
    return f"{variant}: the first {SCREEN} lines do not name rank {rank} and {place}"


def findings_of(test, kind):
    """The findings of a kind, which the first screen must tell in the same words."""
    screen = "".join(test.must([test.mpistair, "report", test.trace]).stdout.split())  # a line may end within a long path
    found = json.loads(test.must([test.mpistair, "report", test.trace, "--format", "json"]).stdout)["findings"]
    found = [finding for finding in found if finding["kind"] == kind]
    return found, [finding for finding in found if "".join(finding["sentence"].split()) in screen]


def expect_in_one(record, wrong):
    """Records until the report shows what it should; wrong: returns what it does not, or None."""
    found = []
    for _ in range(ATTEMPTS):
        record()
        found.append(wrong())
        if not found[-1]:
            return
    job.fail("; ".join(found))


def missing(test, kind, variant, *words, rank=None):
    """What the first screen should tell and does not, with its line, where the program marks one, and its rank, where it has
    one; None: it does."""
    place = f"culprit.c:{line_of(variant)}" if variant else ""
    found, told = findings_of(test, kind)
    if any(finding["place"].endswith(place) and rank in (None, finding["rank"]) and all(word in finding["sentence"] for word in words)
           for finding in told):
        return None
    return f"the first screen has no {kind} with {place or 'no line'}, rank {rank}, {words}: {found}"


def expect_finding(test, record, kind, variant, *words, rank=None, also=lambda: None):
    """also: returns what else the same recording does not show, or None."""
    expect_in_one(record, lambda: missing(test, kind, variant, *words, rank=rank) or also())


def expect_none(test, record, kind, variant):
    """None of the kind at the line; of a kind without lines none at all."""

    def wrong():
        found = [finding for finding in findings_of(test, kind)[0]
                 if finding["place"] == "" or finding["place"].endswith(f"culprit.c:{line_of(variant)}")]
        return f"{variant}, nothing planted: {found}" if found else None

    expect_in_one(record, wrong)


def on_hosts(test, nodes, ranks, *command, slow=False):
    """Records a job on hosts, one after the other; slow: the link to the last has a twentieth of the others' rate."""
    test.trace.unlink(missing_ok=True)
    limit = f"nsenter --target 1 --net tc qdisc replace dev link{nodes - 1} root tbf rate 20mbit burst 64kb latency 100ms && "
    test.must([*test.cluster("-n", str(nodes), "-m", str(ranks // nodes), "-r", "400mbit"), "sh", "-c",
               (limit if slow else "") + 'exec "$0" "$@"', test.mpistair, "run", "-o", test.trace, "--", test.arguments.launcher,
               "--map-by", "node", "-n", str(ranks), test.program("culprit"), *command])


def slow_link(test, machine):
    expect_finding(test, lambda: on_hosts(test, 3, 3, "ring", "0", slow=True), "slow-link", None, "node1 (rank 1) to node2 (rank 2)",
                   rank=1, also=lambda: not_named(test, "ring", machine, 2))
    expect_none(test, lambda: on_hosts(test, 3, 3, "ring", "0"), "slow-link", "ring")


def placement(test):
    expect_finding(test, lambda: on_hosts(test, 2, 4, "placement", "1"), "placement", None, "0 B with", "replay --best-placement")
    expect_none(test, lambda: on_hosts(test, 2, 4, "placement", "0"), "placement", "placement")


def job_of(test, *command):
    return lambda: test.record(test.program("culprit"), *command)


def imbalance(test):
    """Ranks that work need processors of their own: where others have them, that is what the report says."""
    test.ranks = 2
    expect_none(test, job_of(test, "imbalance", "0"), "imbalance", "imbalance")
    found = []
    for _ in range(ATTEMPTS):
        job_of(test, "imbalance", LATE_MS)()
        if test.value("SELECT max(wait_share) FROM processor_share") < 0.02:
            found.append(missing(test, "imbalance", "imbalance", "on rank 1, ", rank=1))
            if not found[-1]:
                return
    if found:
        job.fail("; ".join(found))
    print("imbalance is left out: others have the processors that the ranks need")


def main():
    test = job.Job(__doc__, lambda parser: parser.add_argument("--link", action="store_true", help="what needs hosts instead"))
    machine = test.folder / "plain.tbl"
    machine.write_text(MACHINE)
    if test.arguments.link:
        slow_link(test, machine)
        placement(test)
        return
    last = test.ranks - 1
    for variant in ("reduce", "send", "halo", "receive"):
        expect_finding(test, job_of(test, variant, LATE_MS), "late-rank", variant, f"rank {last} ", rank=last,
                       also=lambda: not_named(test, variant, machine, last))
        expect_none(test, job_of(test, variant, "0"), "late-rank", variant)
    more = [("small", "2000", "small-messages")] + ([("site", LATE_MS, "late-site")] if test.ranks >= 4 else [])
    for variant, amount, kind in more:
        expect_finding(test, job_of(test, variant, amount), kind, variant)
        expect_none(test, job_of(test, variant, "0"), kind, variant)
    imbalance(test)


if __name__ == "__main__":
    main()
