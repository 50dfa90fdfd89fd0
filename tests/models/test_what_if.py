"""`mpistair predict TRACE.db` with other places of the ranks: by rule, by search, and the files for launchers.

usage: test_what_if.py MPISTAIR SCHEMA.sql
"""
import csv
import json
import random
import sys
import unittest

import test_replay_command as made
from reference_program import Message
from run_traces import Call, Job

MACHINE = "name m\nsource s\n" + "".join(f"{level} any tau - {tau} s\n{level} any bw 1 {rate} B/s\n" for level, tau, rate in [
    ("intra_socket", 1e-6, 4e9), ("inter_socket", 2e-6, 2e9), ("inter_node", 5e-6, 2e8)])


def job_of(places, messages):
    """All messages at once, then all waits."""
    job = Job(places, [0] * len(places), [0] * len(places))
    for k, (src, dst, size) in enumerate(messages):
        job.messages.append(Message(src, dst, size))
        job.calls[src].append(Call("MPI_Isend", 0, 100, posts=[("send", k)]))
        job.calls[dst].append(Call("MPI_Irecv", 0, 100, posts=[("receive", k)]))
    for k, (src, dst, _) in enumerate(messages):
        job.calls[src].append(Call("MPI_Wait", 0, 1000, completes=[("send", k)]))
        job.calls[dst].append(Call("MPI_Wait", 0, 1000, completes=[("receive", k)]))
    job.finish()
    return job


def hosts(*rows):
    return [f"INSERT INTO node(id, host, sockets, cores) VALUES ({row}) ON CONFLICT DO UPDATE SET host = excluded.host, "
            "sockets = excluded.sockets, cores = excluded.cores" for row in rows]


class WhatIf(unittest.TestCase):
    setUp, write, tool = made.ReplayCommand.setUp, made.ReplayCommand.write, made.ReplayCommand.tool

    def predict(self, *arguments, code=0):
        self.machine.write_text(MACHINE)
        done = self.tool("predict", self.trace, "--machine", self.machine, *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def placed(self):
        with open(self.folder / "out.L.csv", newline="") as file:
            return [(int(row["node"]), int(row["socket"])) for row in csv.DictReader(file)]

    def test_rules(self):
        places = [(7, 1), (2, 0), (7, 0), (2, 5), (2, 5), (2, 0), (7, 1), (7, 1)]
        self.write(job_of(places, [(0, 1, 8)]), *hosts("7, 'b', 2, 4", "2, 'a', 6, 12"))
        for rule, expected in (
                ("fill", [(2, 0), (2, 0), (2, 5), (2, 5), (7, 0), (7, 1), (7, 1), (7, 1)]),
                ("round-robin-nodes", [(2, 0), (7, 0), (2, 0), (7, 1), (2, 5), (7, 1), (2, 5), (7, 1)]),
                ("round-robin-sockets", [(2, 0), (2, 5), (2, 0), (2, 5), (7, 0), (7, 1), (7, 1), (7, 1)])):
            self.predict("--to-placement", rule, "--rank-file", self.folder / "out")
            self.assertEqual(self.placed(), expected)

    def test_rank_files(self):
        """Shares of cores, more ranks than cores, ranks of a node that are not consecutive."""
        self.write(job_of([(0, 0), (1, 0), (0, 0), (1, 1)], [(0, 1, 8)]), *hosts("0, 'a.x', 2, 2", "1, 'b-1', 2, 8"))
        done = self.predict("--to-placement", "fill", "--rank-file", self.folder / "out")
        self.assertNotIn("consecutive", done.stderr)
        self.assertEqual((self.folder / "out.rankfile").read_text(), "rank 0=a.x slot=0:*\nrank 1=a.x slot=0:*\n"
                         "rank 2=b-1 slot=0:0-3\nrank 3=b-1 slot=1:0-3\n")
        self.assertEqual((self.folder / "out.hosts").read_text(), "a.x:1\na.x:1\nb-1:1\nb-1:1\n")
        self.assertEqual(self.placed(), [(0, 0), (0, 0), (1, 0), (1, 1)])
        done = self.predict("--to-placement", "round-robin-nodes", "--rank-file", self.folder / "out")
        self.assertIn("the ranks of 2 nodes are not consecutive", done.stderr)

    def test_search_finds_the_groups(self):
        """Four groups that fit a node each, of random numbers: where they are together little crosses; the search finds that."""
        places = [(rank // 4, rank % 4 // 2) for rank in range(16)]
        for seed in range(3):
            chance = random.Random(seed)
            order = chance.sample(range(16), 16)
            groups = [order[first:first + 4] for first in range(0, 16, 4)]
            messages = [(a, b, chance.randrange(200000, 300000)) for group in groups for a in group for b in group if a != b]
            messages += [(*chance.sample(range(16), 2), chance.randrange(5000)) for _ in range(16)]
            self.write(job_of(places, messages), *hosts(*(f"{node}, 'n{node}', 2, 4" for node in range(4))))
            search = ["--best-placement", "--seed", seed, "--model", "flow", "--json"]
            found = json.loads(self.predict(*search, "--rank-file", self.folder / "out").stdout)
            self.assertLess(found["what_if"]["predicted_s"], 0.5 * found["run"]["predicted_s"])
            placed = [tuple(place) for place in found["placement"]]
            self.assertEqual(sorted(placed), sorted(places))
            nodes = [sorted(rank for rank in range(16) if placed[rank][0] == node) for node in range(4)]
            self.assertEqual(sorted(nodes), sorted(map(sorted, groups)))
            # Replayed on the written placement the run takes the time that was told.
            self.assertEqual(self.placed(), placed)
            plain = json.loads(self.predict("--to-placement", self.folder / "out.L.csv", "--model", "flow", "--json").stdout)
            self.assertAlmostEqual(plain["what_if"]["predicted_s"] / found["what_if"]["predicted_s"], 1, delta=1e-12)

    def test_search_is_never_worse(self):
        chance = random.Random(5)
        for _ in range(8):
            ranks = chance.randrange(1, 16)
            places = [(chance.randrange(4), chance.randrange(3)) for _ in range(ranks)]
            messages = [(chance.randrange(ranks), chance.randrange(ranks), chance.choice([0, 10, 80000, 400000]))
                        for _ in range(chance.randrange(60))]
            self.write(job_of(places, [message for message in messages if message[0] != message[1]]))
            found = json.loads(self.predict("--best-placement", "--seconds", "0.2", "--json", "--model",
                                            chance.choice(["postal", "staircase", "max-rate", "flow"])).stdout)
            self.assertLessEqual(found["what_if"]["predicted_s"], found["run"]["predicted_s"])
            self.assertEqual(sorted(map(tuple, found["placement"])), sorted(places))

    def test_refused(self):
        """Malformed files, levels that the machine lacks, nodes without a name that a launcher takes: nothing is written."""
        table = "name m\nsource s\nintra_socket any tau - 1e-6 s\nintra_socket any bw 1 1e9 B/s\n"
        files = {"l3.csv": "rank,node,socket\n0,0,0\n1,0,0\n2,0,0\n", "far.csv": "rank,node,socket\n0,0,0\n1,1,0\n",
                 "p.csv": "src,dst,bytes\n0,1,8\n"}
        for name, text in files.items():
            (self.folder / name).write_text(text)
        out = self.folder / "x"
        for host, arguments, message in (
                ("a", ["--eager-threshold", 64], "machine 'm' has no row `threshold` of protocol rendezvous"),
                ("a", ["--machine", "blue-waters", "--eager-threshold", 100], "uses the short protocol up to 500 bytes"),
                ("a", ["--to-machine", "cray-1"], "machine 'cray-1': not"),
                ("a", ["--to-placement", self.folder / "none.csv"], "none.csv: "),
                ("a", ["--to-placement", "roundrobin-nodes"], "neither a rule nor a file; did you mean round-robin-nodes?"),
                ("a", ["--to-placement", self.folder / "l3.csv"], "l3.csv: 3 ranks, expected 2"),
                ("a", ["--to-placement", self.folder / "p.csv"], "p.csv:1: no column 'rank'"),
                ("a", ["--to-placement", self.folder / "far.csv"], "no values for level inter_node"),
                ("a", ["--best-placement", "--rank-file", self.folder / "no/such/x"], "no/such/x.rankfile: cannot be written"),
                ("a", ["--best-placement", "--rank-file", out, "-o", self.folder / "no/such/y"], "no/such/y: cannot be written"),
                ("a b", ["--best-placement", "--rank-file", out], "node 0 is named 'a b'"),
                ("", ["--best-placement", "--rank-file", out], "node 0 is named ''")):
            self.write(job_of([(0, 0)] * 2, [(0, 1, 8)]), *hosts(f"0, '{host}', 1, 4"))
            self.machine.write_text(table)
            done = self.tool("predict", self.trace, "--machine", self.machine, *arguments)
            self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
            self.assertIn(message, done.stderr)
            self.assertEqual(list(self.folder.glob("x*")), [])

    def test_rounds_and_patterns_refuse(self):
        self.write(job_of([(0, 0)] * 2, [(0, 1, 8)]))
        for change in (["--to-placement", "fill"], ["--eager-threshold", "5"], ["--best-placement"]):
            self.assertIn("requires a trace without --rounds", self.predict("--rounds", *change, code=2).stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
