"""How often the first screen is right: jobs with a planted culprit, and the same without it, REPEATS times each.

Usage: culprits.py JOBS REPEATS --build BUILD --mpi MPI --launcher MPIEXEC [--cluster]

JOBS is the folder of tests/mpi/jobs. Prints of each job how often the finding of its kind stands in the report with the
culprit's line and rank, how often one of that kind stands there without the culprit, what else was found, and one
sentence. 2 ranks with MPICH, 4 with Open MPI (2 where the ranks compute); --cluster: those that need several nodes.
"""
import collections
import json
import sys

sys.path.insert(0, sys.argv[1])
import culprit  # noqa: E402
import job  # noqa: E402

# What is run with the culprit and without it, the kind of finding, and whether it is the last rank's.
ONE_NODE = [("reduce", "20", "0", "late-rank", True), ("send", "20", "0", "late-rank", True), ("receive", "20", "0", "late-rank", True),
            ("site", "20", "0", "late-site", False), ("imbalance", "20", "0", "imbalance", True),
            ("small", "2000", "0", "small-messages", False)]


def findings(test):
    return json.loads(test.must([test.mpistair, "report", test.trace, "--format", "json"]).stdout)["findings"]


def is_named(test, finding, variant, kind, last):
    has_line = kind in ("slow-link", "placement") or finding["place"].endswith(f"culprit.c:{culprit.line_of(variant)}")
    return finding["kind"] == kind and has_line and (not last or finding["rank"] == test.ranks - 1)


def tell(test, name, variant, record, kind, last, repeats):
    """Prints a line for the job with the culprit and one without; record(planted) records it."""
    for planted in (True, False):
        times, others, sentence = 0, collections.Counter(), ""
        for _ in range(repeats):
            record(planted)
            found = findings(test)
            right = [finding for finding in found if is_named(test, finding, variant, kind, last)]
            times += bool(right)
            others.update({finding["kind"] for finding in found if finding not in right})
            sentence = right[0]["sentence"] if right else sentence
        rest = ", ".join(f"{other} {n}" for other, n in sorted(others.items()))
        told.append(f"{name:10} {'planted' if planted else 'removed':8} {kind} named in {times} of {repeats}"
                    + (f"; others: {rest}" if rest else "") + (f"; {sentence}" if sentence else ""))


told = []


def main():
    repeats = int(sys.argv[2])
    del sys.argv[1:3]
    test = job.Job(__doc__, lambda parser: parser.add_argument("--cluster", dest="on_hosts", action="store_true"))
    if test.arguments.on_hosts:
        tell(test, "ring", "ring", lambda planted: culprit.on_hosts(test, 3, 3, "ring", "0", slow=planted), "slow-link", False, repeats)
        tell(test, "placement", "placement", lambda planted: culprit.on_hosts(test, 2, 4, "placement", "1" if planted else "0"),
             "placement", False, repeats)
    else:
        for variant, planted, removed, kind, last in ONE_NODE:
            test.ranks = 2 if test.mpi == "mpich" or variant == "imbalance" else 4
            if variant == "site" and test.ranks < 4:
                continue
            tell(test, variant, variant, lambda is_planted, words=(variant, planted, removed): test.record(
                test.program("culprit"), words[0], words[1 if is_planted else 2]), kind, last, repeats)
    print("\n".join(told))


if __name__ == "__main__":
    main()
