#!/usr/bin/env python3
"""Places given by hand: every message has the level that a table made by hand gives for its two ranks.

The machine is a made-up one of 2 packages x 2 NUMA nodes x 2 cores (HWLOC_SYNTHETIC), so that two sockets can be
tested anywhere.
"""
import job

# rank: node, socket
PLACEMENTS = {
    "two sockets": {0: (0, 0), 1: (0, 1), 2: (0, 0), 3: (0, 1), 4: (0, 1), 5: (0, 1), 6: (0, 0), 7: (0, 0)},
    "two nodes": {0: (0, 0), 1: (1, 0), 2: (0, 1), 3: (1, 1), 4: (0, 0), 5: (1, 0), 6: (0, 1), 7: (1, 1)},
}
# Row src, column dst: self (=), intra-socket (.), inter-socket (I), inter-node (N).
BY_HAND = {
    "two sockets": [
        "=I.III..",
        "I=I...II",
        ".I=III..",
        "I.I=..II",
        "I.I.=.II",
        "I.I..=II",
        ".I.III=.",
        ".I.III.=",
    ],
    "two nodes": [
        "=NIN.NIN",
        "N=NIN.NI",
        "IN=NIN.N",
        "NIN=NIN.",
        ".NIN=NIN",
        "N.NIN=NI",
        "IN.NIN=N",
        "NIN.NIN=",
    ],
}
LEVELS = {"=": "self", ".": "intra_socket", "I": "inter_socket", "N": "inter_node"}


def check(test, name):
    ranks = range(test.ranks)
    placement = test.folder / "placement.csv"
    places = PLACEMENTS[name]
    placement.write_text("rank,node,socket\n" + "".join(f"{r},{places[r][0]},{places[r][1]}\n" for r in ranks))
    test.record(test.program("churn"), "--rounds", "10", "--traffic", "{traffic}",
                HWLOC_SYNTHETIC="pack:2 numa:2 core:2 pu:1", MPISTAIR_PLACEMENT=str(placement),
                OMPI_MCA_mpi_yield_when_idle="1")  # Open MPI believes in the eight cores and would spin
    test.expect_traffic()
    test.expect_complete()
    wrong = [f"{src} to {dst}: {level}, expected {LEVELS[BY_HAND[name][src][dst]]}"
             for src, dst, level in test.query("SELECT DISTINCT src, dst, level FROM message")
             if level != LEVELS[BY_HAND[name][src][dst]]]
    if wrong:
        job.fail(f"{name}: {len(wrong)} pairs have a wrong level: {'; '.join(wrong[:8])}")
    print(f"{name}: all levels as by hand:", test.query("SELECT level, count(*) FROM message GROUP BY level"))
    job.expect_equal(test.query("SELECT rank, node, socket FROM process ORDER BY rank"),
                     [(r, *places[r]) for r in ranks], "places of the processes")


def main():
    test = job.Job(__doc__)
    for name in PLACEMENTS:
        check(test, name)


main()
