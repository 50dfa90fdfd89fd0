"""`mpistair calibrate` under Slurm, as mpistair-calibrate(1) says it: in an allocation of two nodes srun starts the benchmarks, of
MPICH by `--mpi=pmi2`, of Open MPI by `--mpi=pmix`. MPICH calibrates two pairs of nodes, one on a switch, one across the link of
200 Mbit/s between two switches: rows have the level inter_node, and `mpistair machine diff` says that the places matter.

Usage: slurm_calibrate.py CLUSTER MPISTAIR
"""
import csv
import json
import os
import shlex
import subprocess
import sys

import slurm
from slurm import expect, fail, run

CLUSTER, TOOL = (os.path.abspath(word) for word in sys.argv[1:3])
LINK_BYTES_PER_S = 200e6 / 8
SECONDS = "4", "8", "24"  # the longer ones beside other load


def calibrate(name, nodes, way, enough):
    """Calibrates a pair of nodes into NAME.tbl and NAME.raw.csv, for a time that is enough."""
    for seconds in SECONDS:
        words = ["salloc", "-N2", "-n2", f"--nodelist={nodes}", TOOL, "calibrate", "--seconds", seconds, "--launches", "1", "--name", name,
                 "--restart", "-o", f"{name}.tbl", "--", "srun", f"--mpi={way}"]
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=90,
                              env={**os.environ, "MPISTAIR_DISTURBED": "1", "UCX_TLS": "self,tcp"})
        if done.returncode == 0 and enough(name):
            print(f"ok: {name}: {way} on {nodes}, {seconds} s", flush=True)
            return
    fail(f"{name}: {shlex.join(words)}: exit {done.returncode}: {done.stdout}")


def rows(name):
    """{(level, quantity, n): value} of all protocols, the last of each."""
    shown = json.loads(run(TOOL, "machine", "show", f"{name}.tbl", "--json"))
    return {(row["level"], row["quantity"], row["n"]): row["value"] for row in shown["parameters"]}


def has_bandwidth(name):
    return ("inter_node", "bw", 1) in rows(name)


def levels_of_samples(name):
    with open(f"{name}.raw.csv", newline="", encoding="utf-8") as file:
        lines = (line for line in file if not line.startswith("#"))
        return {row["level"] for row in csv.DictReader(lines)}


def check_pairs():
    calibrate("near", "node[0-1]", "pmi2", has_bandwidth)
    calibrate("far", "node[0,2]", "pmi2", has_bandwidth)
    for name in ("near", "far"):
        between = {level for level, quantity, _ in rows(name) if quantity in ("tau", "bw")} - {"self"}
        expect(between, {"inter_node"}, f"{name}: rows between ranks are of one level")
    text = run(TOOL, "machine", "diff", "near.tbl", "far.tbl")
    print(text, flush=True)
    differences = json.loads(run(TOOL, "machine", "diff", "near.tbl", "far.tbl", "--json"))
    # Of a protocol that the short calibration found in one table alone there is no ratio.
    ratios = [row["ratio"] for row in differences if (row["level"], row["quantity"], row["n"]) == ("inter_node", "bw", 1)]
    near, far = (rows(name)["inter_node", "bw", 1] for name in ("near", "far"))
    expect(len(ratios) > 0 and all(ratio is None or ratio < 0.5 for ratio in ratios) and far < near / 2, True,
           f"the pair across the link has less than half of the bandwidth: {near} and {far} B/s, {ratios}")
    expect(far < 4 * LINK_BYTES_PER_S, True, f"far: {far:.3g} B/s over a link of {LINK_BYTES_PER_S:.3g}")


def check_pmix():
    calibrate("openmpi", "node[0-1]", "pmix", lambda name: "inter_node" in levels_of_samples(name))
    source = json.loads(run(TOOL, "machine", "show", "openmpi.tbl", "--json"))["source"]
    expect("Open MPI" in source and "on 2 nodes" in source, True, f"openmpi: {source}")


slurm.main(__file__, TOOL, CLUSTER, lambda daemons: (check_pairs, check_pmix), n_words=2, link="200mbit")
