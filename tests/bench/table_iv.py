"""The pattern that stands for the largest of T Table IV (8,192 ranks on 64 nodes of 2 x 64 cores): its statistics beside the
paper's, and what making it takes. The mesh of the paper is not public; ours has its numbers of messages and bytes because
--far, --far-bytes and --cell-bytes were chosen for them, the rest is what comes out.

Usage: table_iv.py MPISTAIR [--output NAME]
Papers are named as in share/doc/MODELS.md.
"""
import argparse
import json
import resource
import subprocess
import time

WORDS = ("pattern mesh --nodes 64 --sockets 2 --cores 64 --cells 300000 --cell-bytes 16900 --far 1475000 --far-bytes 100 "
         "--json").split()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mpistair")
    parser.add_argument("--output", help="keep NAME.P.csv and NAME.L.csv")
    options = parser.parse_args()
    start = time.monotonic()
    said = subprocess.run([options.mpistair, *WORDS, *(["-o", options.output] if options.output else [])], check=True,
                          stdout=subprocess.PIPE, text=True, timeout=300).stdout
    took = time.monotonic() - start
    ours = json.loads(said)
    share = {level: 100 * found["bytes"] / ours["bytes"] for level, found in ours["levels"].items()}
    rows = [("messages", ours["messages"], 2744632), ("most messages of a rank", ours["received"]["most_messages"], 1235),
            ("volume [MB]", ours["bytes"] / 1e6, 9382), ("most of a rank [MB]", ours["received"]["most_bytes"] / 1e6, 1.86),
            ("least of a rank [KB]", ours["received"]["least_bytes"] / 1e3, 0.29), ("intra-socket [%]", share["intra_socket"], 74.8),
            ("inter-socket [%]", share["inter_socket"], 8.0), ("inter-node [%]", share["inter_node"], 17.2)]
    print(f"{'':24} {'here':>12} {'T Table IV':>12}")
    for name, here, paper in rows:
        print(f"{name:24} {here:12.6g} {paper:12}" if isinstance(here, float) else f"{name:24} {here:12} {paper:12}")
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    print(f"{took:.1f} s, {memory:.0f} MiB at the peak")


main()
