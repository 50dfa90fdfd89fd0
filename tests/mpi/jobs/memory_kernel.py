#!/usr/bin/env python3
"""How many cores +memory and replay take as computing while a message arrives, held against what the kernel did by its own clock.

The tables are made up: what they say of the memory lets both the message and computation have all that they want, so that the
numbers of repetitions count alike, or lets the message keep half. Copies of the CPU, since there is one node."""
import json
import sqlite3
import statistics

import job

REPETITIONS, WORK_S = 4, 0.2
LATE = 0.1  # between a reading of the clock and the call behind it another process may have the core


def table(test, progress, total, alpha):
    memory = {"cores_par": "1 1", "total_par": f"{total} B/s", "cores_seq": "1 1", "total_seq": f"{total} B/s",
              "total_par2": f"{total} B/s", "alpha": f"{alpha} 1", "loss_left": "0 B/s", "loss_right": "0 B/s",
              "computation": "8e9 B/s", "message": "4e9 B/s"}
    levels = ("intra_socket", "inter_socket")
    lines = ["name made-up", "source made up", "any any gamma - 1e-12 s", *(f"{level} any tau - 1e-6 s" for level in levels),
             *(f"{level} any bw 1 4e9 B/s" for level in levels), *(f"{level} any progress - {progress} 1" for level in levels),
             *(f"intra_socket any memory_{name} - {value} #: - - 3 cpu-copy" for name, value in memory.items())]
    path = test.folder / "made-up.tbl"
    path.write_text("\n".join(lines) + "\n")
    return path


def computing(lines):
    """Of each repetition the mean over the time from the later post to the end of the receive."""
    times = {0: [], 1: []}  # of each rank, a repetition each: begin of barrier, post, stores and wait, end of the wait
    for line in lines:
        rank, _, *own, _ = line.split()
        times[int(rank)].append([float(at) for at in own])
    outside = [(one[2], one[3]) for own in times.values() for one in own]
    outside += [(one[4], following[0]) for own in times.values() for one, following in zip(own, own[1:])]
    means = []
    for sender, receiver in zip(times[0], times[1]):
        begin, end = max(sender[1], receiver[1]), receiver[4]
        means.append(sum(max(min(to, end) - max(at, begin), 0) for at, to in outside) / (end - begin))
    return means


def near(found, expected, what):
    print(f"{what}: {found:.3f}, by the program's own clock {expected:.3f}")
    if abs(found - expected) > LATE:
        job.fail(f"{what}: {found}, expected {expected}")


def main():
    test = job.Job(__doc__)
    for who in ("none", "sender", "receiver"):
        done = test.record(test.program("memory_kernel"), who, str(REPETITIONS), "64000000", str(int(WORK_S * 1e6)))
        means = computing(line for line in done.stdout.splitlines() if len(line.split()) == 8)
        job.expect_equal(len(means), REPETITIONS, "repetitions that the job printed")
        for progress in (0, 2):
            machine = table(test, progress, "1e12", 1)
            shown = json.loads(test.must([test.mpistair, "predict", test.trace, "--rounds", "--machine", machine, "--model",
                                          "postal,postal+memory,postal+queue-captured+memory", "--json"]).stdout)
            test.must([test.mpistair, "replay", test.trace, "--machine", machine, "--memory"])
            with sqlite3.connect(test.trace) as database:
                found = dict(database.execute("SELECT model, computing FROM prediction_memory WHERE rank = 1"))
            if progress == 0:
                near(found["postal+memory"], means[0], f"{who}: postal+memory, the first repetition")
                near(found["postal+queue-captured+memory"], statistics.mean(means), f"{who}: with queue-captured, all repetitions")
            elif who == "receiver": # it computes, or the message moves
                near(found["postal+memory"], 0, "receiver, which must be inside MPI")
            job.expect_equal([row["error"] for row in shown[:1]], [row["error"] for row in shown[1:2]], "errors by alpha = 1")
        machine = table(test, 0, "8.1e9", 0.5)
        half = json.loads(test.must([test.mpistair, "predict", test.trace, "--rounds", "--machine", machine, "--model", "postal+memory", "--json"]).stdout)
        with sqlite3.connect(test.trace) as database:
            (memory_s, n), = database.execute("SELECT memory_s, computing FROM prediction_memory WHERE rank = 1 AND model = 'postal+memory'")
        job.expect_equal(round(memory_s / 16e-3, 6), round(1 / (1 - min(n, 1) / 2) - 1, 6), f"{who}: memory_s by n = {n}, {half}")


if __name__ == "__main__":
    main()
