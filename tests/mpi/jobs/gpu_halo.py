#!/usr/bin/env python3
"""The report's advice on a halo between GPUs, two nodes of four: each path's time equals a calculation by hand from Tables I
to IV of paper H (share/doc/MODELS.md), for the messages that the program knows it sent."""
import itertools
import json
import math

import job

# Bienz, Olson, Gropp, Lockhart 2021: alpha in s, beta in s/B. Tables I, II (own socket), III and IV; the sizes from which
# eager and rendezvous are taken are in the authors' public data.
BETWEEN_GPUS = {"intra_socket": (1.68e-5, 1.86e-11), "inter_node": (4.96e-6, 1.69e-10)}
COPIES = [(1.09e-5, 2.38e-11), (1.09e-5, 2.36e-11)]
BETWEEN_HOSTS = {"intra_socket": [(3.51e-7, 2.62e-10), (4.73e-7, 6.95e-11), (2.46e-6, 3.31e-11)],
                 "inter_node": [(1.38e-6, 3.82e-10), (1.85e-6, 3.93e-10), (6.56e-6, 8.51e-11)]}
NODE_BETA = {"cpu": 3.0e-11, "gpu": 5.1e-11}  # between nodes; of hosts for rendezvous alone
FROM_BYTES = [0, 256, 16384]
CELLS, ROUNDS, GPUS = 64, 20, 4
SIDES = (2, 2, 2)  # of the grid: its first half is the first node


def sizes_of(level):
    """The bytes of each message that a rank sends to ranks of its node, or of the other one."""
    sizes = []
    for offset in itertools.product((-1, 0, 1), repeat=3):
        if offset != (0, 0, 0) and (offset[0] == 0) == (level == "intra_socket"):
            sizes.append(8 * math.prod(CELLS if step == 0 else 1 for step in offset))
    return sizes


def direct_s(level, sizes):
    """All GPUs of the node send at once, and share what the node injects."""
    alpha, beta = BETWEEN_GPUS[level]
    if level == "inter_node":
        beta = max(beta, GPUS * NODE_BETA["gpu"])
    return sum(alpha + size * beta for size in sizes)


def three_step_s(level, sizes):
    seconds = sum(alpha + sum(sizes) * beta for alpha, beta in COPIES)
    for size in sizes:
        protocol = max(p for p in range(3) if FROM_BYTES[p] <= size)
        alpha, beta = BETWEEN_HOSTS[level][protocol]
        if level == "inter_node" and protocol == 2:
            beta = max(beta, GPUS * NODE_BETA["cpu"])
        seconds += alpha + size * beta
    return seconds


def expect_near(found, expected, what):
    if abs(found / expected - 1) > 1e-6:
        job.fail(f"{what}: found {found}, expected {expected} by hand")


def main():
    test = job.Job(__doc__, lambda parser: parser.add_argument("--driver", required=True))
    test.must([*test.cluster("-n", "2", "-m", str(GPUS)), test.mpistair, "run", "-o", test.trace, "--", test.arguments.launcher,
               "-n", str(2 * GPUS), test.program("gpu_halo"), test.arguments.driver, str(CELLS), str(ROUNDS), str(GPUS), test.traffic])
    test.expect_traffic()
    test.expect_complete()
    section = [test.mpistair, "report", test.trace, "--section", "gpu"]
    if "the trace has no machine table" not in test.must(section).stdout:
        job.fail("a trace without a machine")
    test.must([test.mpistair, "predict", test.trace, "--machine", "summit", "--model", "postal"])
    report = json.loads(test.must([test.mpistair, "report", test.trace, "--json"]).stdout)["gpu"]
    rows = {row["level"]: row for row in report["rows"]}
    job.expect_equal((report["machine"], len(report["rows"]), sorted(rows)), ("summit", 2, ["inter_node", "intra_socket"]), "rows")
    job.expect_equal(report["messages"], 26 * ROUNDS * 2 * GPUS, "messages between GPUs")
    text = " ".join(test.must(section).stdout.split())
    for level, row in rows.items():
        sizes = sizes_of(level)
        job.expect_equal((row["rounds"], row["gpus"], row["ppn"], row["messages"], row["bytes"]),
                         (ROUNDS, GPUS, GPUS, len(sizes), sum(sizes)), f"{level}: rounds, GPUs, processes, messages, bytes")
        by_hand = {"gpudirect": direct_s(level, sizes), "3-step": three_step_s(level, sizes)}
        expect_near(row["gpudirect_s"], by_hand["gpudirect"], f"{level}: gpudirect")
        for path in ("3_step_s", "extra_message_s", "duplicate_pointer_s"):  # with one process a GPU all three are one
            expect_near(row[path], by_hand["3-step"], f"{level}: {path}")
        fastest = min(by_hand, key=by_hand.get)
        job.expect_equal((row["fastest"], row["function"]), (fastest, "MPI_Isend"), f"{level}: fastest path, function")
        name = {"intra_socket": "on socket", "inter_node": "off node"}[level]
        saved = by_hand["gpudirect"] - by_hand["3-step"]
        if f"{name}: 3-step instead of MPI_Isend" not in text or f"saves {saved * 1e6:.3g} us of" not in text:
            job.fail(f"advice for {name}: {fastest} saves {saved} s")


main()
