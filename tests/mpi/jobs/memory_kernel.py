#!/usr/bin/env python3
"""How much longer +memory of the whole run makes messages while cores compute, held against what the kernel did by its own clock.

The tables are made up: what they say of the memory lets both the message and computation have all that they want, or lets the
message keep half while a core computes. Copies of the CPU, since there is one node."""
import sqlite3

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


def inside_s(test, machine, model):
    """Modelled time of rank 1 inside messages."""
    test.must([test.mpistair, "predict", test.trace, "--machine", machine, "--model", model])
    with sqlite3.connect(test.trace) as database:
        (model_s,), = database.execute("SELECT model_s FROM rank_error WHERE rank = 1 AND model = ?", [model])
    return model_s


def main():
    test = job.Job(__doc__)
    for who in ("none", "sender", "receiver"):
        done = test.record(test.program("memory_kernel"), who, str(REPETITIONS), "64000000", str(int(WORK_S * 1e6)))
        means = computing(line for line in done.stdout.splitlines() if len(line.split()) == 8)
        job.expect_equal(len(means), REPETITIONS, "repetitions that the job printed")
        enough = table(test, 0, "1e12", 1)
        job.expect_equal(inside_s(test, enough, "postal"), inside_s(test, enough, "postal+memory"), f"{who}: enough for both")
        for progress in (0, 2):
            half = table(test, progress, "8.1e9", 0.5)
            more_s = inside_s(test, half, "postal+memory") - inside_s(test, half, "postal")
            # The receiver waits for 16 ms of each message, or for twice as long while the sender stores. What moves while the
            # receiver itself stores is over when it waits, or waits for it.
            expected_s = 64e6 / 4e9 * sum(means) if who == "sender" else 0
            print(f"{who}, progress {progress}: {more_s:.4f} s more, expected {expected_s:.4f} s")
            if abs(more_s - expected_s) > LATE * 64e6 / 4e9 * REPETITIONS:
                job.fail(f"{who}: {more_s} s more by +memory, expected {expected_s}")


if __name__ == "__main__":
    main()
