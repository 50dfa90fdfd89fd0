#!/usr/bin/env python3
"""The memory of each operation's buffer is in the trace as the program allocated it, with a driver that stands in for NVIDIA's."""
import collections
import csv

import job


def allocated(test):
    """{(rank, tag): Counter of kinds} as the ranks wrote it."""
    kinds = collections.defaultdict(collections.Counter)
    for rank in range(2):
        with open(f"{test.traffic}{rank}", newline="", encoding="ascii") as file:
            for own_rank, tag, kind in csv.reader(file):
                kinds[int(own_rank), int(tag)][kind] += 1
    return kinds


def main():
    test = job.Job(__doc__, lambda parser: parser.add_argument("--driver", required=True))
    unversioned = test.folder / "libcuda.so"
    unversioned.symlink_to(test.arguments.driver)
    program = [test.program("gpu_memory"), test.arguments.driver, str(unversioned), "{traffic}"]
    test.record(*program)
    own = allocated(test)
    test.expect_complete()
    traced = collections.defaultdict(collections.Counter)
    for src, dst, tag, sent, received, n in test.query(
            "SELECT src, dst, tag, send_memory, recv_memory, count(*) FROM message_memory GROUP BY 1, 2, 3, 4, 5"):
        traced[src, tag][sent] += n
        traced[dst, tag][received] += n
    differing = [f"rank {rank} tag {tag}: found {dict(traced[rank, tag])}, allocated {dict(own[rank, tag])}"
                 for rank, tag in sorted(own.keys() | traced.keys()) if own[rank, tag] != traced[rank, tag]]
    if differing or len(own) < 100:
        job.fail(f"{len(differing)} of {len(own)} differ: {'; '.join(differing[:8])}")
    on_gpu = "(send_memory GLOB 'device*' OR send_memory GLOB 'managed*' OR recv_memory GLOB 'device*' OR recv_memory GLOB 'managed*')"
    job.expect_equal(test.query(f"SELECT DISTINCT level, {on_gpu} FROM message JOIN message_memory USING (id) ORDER BY 1"),
                     [("gpu_on_socket", 1), ("intra_socket", 0)], "levels")
    print(f"{sum(sum(c.values()) for c in own.values())} operations lie where the program put them")


main()
