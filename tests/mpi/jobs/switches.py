#!/usr/bin/env python3
"""Switches above the node: real ranks keep what Slurm's variables say, and the trace has it."""
import job

# SLURM_TOPOLOGY_ADDR, SLURM_TOPOLOGY_ADDR_PATTERN, the switches from the node's own up
CASES = [
    ("top.s1.node1", "switch.switch.node", ["s1", "top"]),
    ("s1.node1.site.org", "switch.node", ["s1"]),
    ("top.mid.s3.node1", None, ["s3", "mid", "top"]),
    ("node1", "node", []),
    ("x" * 600 + ".node1", "switch.node", []),  # there is no room for it
    (None, None, []),
]


def main():
    test = job.Job(__doc__)
    for address, pattern, switches in CASES:
        variables = {"SLURM_TOPOLOGY_ADDR": address, "SLURM_TOPOLOGY_ADDR_PATTERN": pattern}
        test.record(test.program("churn"), "--rounds", "10", "--traffic", "{traffic}",
                    **{name: value for name, value in variables.items() if value is not None})
        job.expect_equal(test.query("SELECT level, switch FROM node_switch ORDER BY level"), list(enumerate(switches, 1)),
                         f"switches of {str(address)[:40]}")
        test.expect_complete()


main()
