"""`mpistair replay` on the traces of jobs by lot against the reference, and a job that cannot end.

usage: test_replay.py MPISTAIR SCHEMA.sql
"""
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

from empty_trace import empty_trace
from predict_test import PredictTest
from reference_program import Deadlock, Message, Table
from reference_run import PARTS, replay
from run_traces import Call, Job, random_job, random_table

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../golden/report"))
from parts import wrong_efficiencies, wrong_replay  # noqa: E402

MPISTAIR, SCHEMA = map(os.path.abspath, sys.argv[1:3])
LAWS = "staircase", "flow", "fair"
JOBS = 60
BACKLOG_JOBS = 50
EFFICIENCY_JOBS = 28


class Replay(PredictTest):
    def setUp(self):
        super().setUp()
        # In memory where that is possible: every replay is stored, and waits for the disk.
        memory = tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
        self.addCleanup(memory.cleanup)
        self.template, self.trace = (os.path.join(memory.name, name) for name in ("template.db", "trace.db"))
        empty_trace(self.template, SCHEMA).close()

    def run_tool(self, table, law):
        return subprocess.run([MPISTAIR, "replay", self.trace, "--machine", table, "--law", law, "--collectives", "recorded",
                               "--format", "json"], capture_output=True, text=True, timeout=60)

    def replay(self, table, law):
        done = self.run_tool(table, law)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def compare(self, found, job, expected, message):
        within = 1e-9 * expected.run_s
        self.assertAlmostEqual(found["run"]["predicted_s"], expected.run_s, delta=within, msg=message)
        measured_s = (max(job.ends_ns) - min(job.begins_ns)) * 1e-9
        self.assertAlmostEqual(found["run"]["measured_s"], measured_s, delta=1e-9 * measured_s, msg=message)
        for rank, (row, parts) in enumerate(zip(found["ranks"], expected.ranks, strict=True)):
            self.assertEqual(row["rank"], rank)
            for quantity, value_s in parts.items():
                self.assertAlmostEqual(row["predicted"][quantity], value_s, delta=within, msg=(message, rank, quantity))
            self.compare_measured(row["measured"], job, rank, (message, rank))

    def compare_measured(self, measured, job, rank, message):
        """Time outside calls is computation, all parts add up to the rank's time."""
        run_ns = job.ends_ns[rank] - job.begins_ns[rank]
        computation_ns = job.tails_ns[rank] + sum(call.gap_ns + (call.idle.gap_ns if call.idle and not call.idle.waits() else 0)
                                                  for call in job.calls[rank])
        parts = ("computation", "late_sender", "late_receiver", "transfer", "collective_wait", "collective_transfer", "other")
        for quantity, value_ns in (("run_s", run_ns), ("computation_s", computation_ns), ("mpi_s", run_ns - computation_ns)):
            self.assertAlmostEqual(measured[quantity], value_ns * 1e-9, delta=1e-15 * run_ns, msg=(message, quantity))
        self.assertAlmostEqual(sum(measured[part + "_s"] for part in parts), run_ns * 1e-9, delta=1e-18 * run_ns + 1e-14, msg=message)
        self.assertGreaterEqual(min(measured[part + "_s"] for part in parts), -1e-14, message)

    def test_jobs_by_lot(self):
        totals = dict.fromkeys(PARTS, 0.0)
        for seed in range(JOBS):
            chance = random.Random(1000 + seed)
            job, text = random_job(chance), random_table(chance)
            job.write(self.trace, self.template)
            table = self.write("m.tbl", text)
            law = LAWS[seed % 3]
            expected = replay(Table(text), job.program(), law)
            self.compare(self.replay(table, law), job, expected, (seed, law))
            for rank in expected.ranks:
                for part in PARTS:
                    totals[part] += rank[part + "_s"]
        self.assertEqual({part for part, time_s in totals.items() if time_s <= 0}, set())

    def test_efficiencies_by_lot(self):
        """They lie within 0 and 1 and their products are exact, also where all ranks share a processor of each node."""
        laws = "postal", "max-rate", "staircase", "serial", "flow", "flow-window", "fair"
        for seed in range(EFFICIENCY_JOBS):
            chance = random.Random(5000 + seed)
            job, text = random_job(chance), random_table(chance)
            job.write(self.trace, self.template)
            if seed % 2:
                with sqlite3.connect(self.trace) as connection:
                    connection.executescript("UPDATE node SET processors = 1; UPDATE process SET processor = 0; "
                                             "UPDATE message_row SET send_cpu = 0, recv_cpu = 0;")
            options = "--law", laws[seed % len(laws)], "--collectives", ("recorded", "modelled")[seed // 2 % 2]
            self.assertEqual(wrong_replay(self.tool, self.trace, "--machine", self.write("m.tbl", text), *options), [], seed)

    def test_wrong_efficiencies_are_found(self):
        good = {"parallel": 0.25, "load_balance": 0.5, "communication": 0.5, "serialisation": 0.5, "transfer": 1.0}
        self.assertEqual(wrong_efficiencies(good, {}), [])
        self.assertEqual(wrong_efficiencies(good, {"serialisation": "at least", "transfer": "at most"}), [])
        for fault in ({"transfer": 2.09, "serialisation": 0.5 / 2.09}, {"parallel": 0.25 + 1e-9}, {"transfer": None}, {"load_balance": -0.5}):
            self.assertNotEqual(wrong_efficiencies(good | fault, {}), [], fault)
        for fault in {"transfer": "at most"}, {"parallel": "at most"}, {"transfer": "at most", "serialisation": "at most"}:
            self.assertNotEqual(wrong_efficiencies(good, fault), [], fault)

    @staticmethod
    def tool(*words):
        done = subprocess.run([MPISTAIR, *words], capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return done.stdout

    def test_backlogs_by_lot(self):
        """Jobs whose messages between nodes wait for cards, for ranks, and for what comes the other way."""
        queue_s, crossing = 0.0, 0
        for seed in range(BACKLOG_JOBS):
            chance = random.Random(3000 + seed)
            job, text = random_job(chance), random_table(chance)
            text = "".join(line + "\n" for line in text.splitlines() if not re.match(r"inter_node \w+ (progress|backlog)", line))
            pair_bytes = chance.choice([chance.randrange(1, 300000), 10 ** 15])
            for row, row_bytes in ("backlog", chance.randrange(1, 300000)), ("backlog_pair", pair_bytes):
                text += f"inter_node any {row} - {row_bytes} B\n"
            text += f"inter_node any progress - {chance.randrange(4)} 1\n"
            job.write(self.trace, self.template)
            expected = replay(Table(text), job.program(), "flow")
            self.compare(self.replay(self.write("m.tbl", text), "flow"), job, expected, seed)
            queue_s += sum(rank["queue_s"] for rank in expected.ranks)
            crossing += sum(flow.crossing > 0 for flow in expected.flows)
        self.assertGreater(queue_s, 1e-3)
        self.assertGreater(crossing, 5)

    def pairs(self, places, senders, bytes_of, table, law):
        """Pairs that move at the same time, each a round of its own, recorded with the times that the staircase has for all of
        them together; predict, which takes each by itself, is far off, replay is within 1 %."""
        n = len(places)
        pattern = "".join(f"{src},{src + n // 2},{bytes_of[src]}\n{src + n // 2},{src},{bytes_of[src]}\n" for src in senders)
        times = self.times(pattern, places, table)
        job = Job(places, [0] * n, [1000] * n)
        for src in senders:
            dst = src + n // 2
            k = len(job.messages)
            job.messages += [Message(src, dst, bytes_of[src]), Message(dst, src, bytes_of[src])]
            for rank, send, receive in ((src, k, k + 1), (dst, k + 1, k)):
                wait_ns = round(times[rank] * 1e9) - 200
                job.calls[rank] = [Call("MPI_Irecv", 0, 100, posts=[("receive", receive)]),
                                   Call("MPI_Isend", 0, 100, posts=[("send", send)]),
                                   Call("MPI_Waitall", 0, wait_ns, completes=[("receive", receive), ("send", send)])]
        job.finish()
        job.write(self.trace, self.template)
        found = self.replay(table, law)
        ranks = [(rank["measured"]["mpi_s"], rank["predicted"]["mpi_s"]) for rank in found["ranks"]]
        error = sum(abs(a - b) for a, b in ranks) / sum(a for a, _ in ranks)
        self.assertLess(error, 0.01)
        self.assertLess(abs(found["run"]["predicted_s"] / found["run"]["measured_s"] - 1), 0.01)
        return error

    def times(self, pattern, places, table):
        placement = self.write("L.csv", "rank,node,socket\n" + "".join(f"{r},{n},{s}\n" for r, (n, s) in enumerate(places)))
        done = subprocess.run([MPISTAIR, "predict", "--pattern", self.write("P.csv", "src,dst,bytes\n" + pattern), "--placement",
                               placement, "--machine", table, "--model", "staircase", "--format", "csv"], capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [float(line.split(",")[2]) for line in done.stdout.splitlines()[1:]]

    def test_pairs_of_a_socket(self):
        """Eight pairs of one socket of ThunderX2, sizes all different."""
        self.pairs([(0, 0)] * 16, range(8), [4000000 + 500000 * (i % 8) for i in range(16)], "thunderx2", "staircase")

    def test_pairs_of_two_nodes(self):
        """Thirty-two pairs through the NICs of two nodes."""
        table = self.write("nic.tbl", "name nic\nsource made up\ninter_node any tau - 2e-6 s\n" +
                           "".join(f"inter_node any bw {n} {bw}e9 B/s\n" for n, bw in ((1, 8), (2, 11), (32, 12))))
        for law in LAWS:
            self.pairs([(0, 0)] * 32 + [(1, 0)] * 32, range(32), [1000000] * 64, table, law)

    def test_best_placement(self):
        """Partners on two nodes come together, in the run and in its interval; a doubled rank doubles the run that it is."""
        job = Job([(0, 0), (0, 0), (1, 0), (1, 0)], [0] * 4, [10 ** 6] * 4)
        for k, (src, dst) in enumerate(((0, 2), (1, 3), (2, 0), (3, 1))):
            job.messages.append(Message(src, dst, 10 ** 6))
            job.calls[src].append(Call("MPI_Isend", 0, 100, posts=[("send", k)]))
            job.calls[dst].append(Call("MPI_Irecv", 0, 100, posts=[("receive", k)]))
        for k, (src, dst) in enumerate(((0, 2), (1, 3), (2, 0), (3, 1))):
            for rank, side in ((src, "send"), (dst, "receive")):
                job.calls[rank].append(Call("MPI_Wait", 0, 1000, completes=[(side, k)]))
        job.finish()
        job.write(self.trace, self.template)
        rows = ["intra_socket any tau - 0 s", "intra_socket any bw 1 1e10 B/s #: 0.9e10 1.1e10 10 median",
                "inter_node any tau - 0 s", "inter_node any bw 1 1e9 B/s #: 0.5e9 2e9 10 median"]
        table = self.write("m.tbl", "name m\nsource hand\n" + "\n".join(rows) + "\n")
        words = [MPISTAIR, "replay", self.trace, "--machine", table, "--json", "--interval"]
        found = json.loads(subprocess.run([*words, "--best-placement"], capture_output=True, text=True, check=True).stdout)
        self.assertEqual([found["placement"][0][0] == found["placement"][2][0], found["placement"][1][0] == found["placement"][3][0]],
                         [True, True])
        self.assertAlmostEqual(found["run"]["predicted_s"], 0.003, delta=1e-5)  # 2 MB into each node at 1 GB/s, then the tail
        self.assertAlmostEqual(found["what_if"]["predicted_s"], 0.0012, delta=1e-5)  # 2 MB on each socket at 10 GB/s
        low_s, high_s = found["run"]["change_95_s"]
        self.assertTrue(low_s < found["what_if"]["predicted_s"] - found["run"]["predicted_s"] < high_s < 0, (low_s, high_s))
        found = json.loads(subprocess.run([*words, "--scale-computation", "rank:3:2"], capture_output=True, text=True,
                                          check=True).stdout)
        self.assertAlmostEqual(found["what_if"]["predicted_s"] - found["run"]["predicted_s"], 0.001, delta=1e-9)

    def test_deadlock(self):
        """Two blocking sends that a buffer took when they were recorded; by rendezvous neither ends."""
        job = Job([(0, 0)] * 3, [0] * 3, [1000] * 3)
        job.messages = [Message(0, 1, 10 ** 6), Message(1, 0, 10 ** 6)]
        for rank, function in enumerate(("MPI_Send", "MPI_Rsend")):
            job.calls[rank] = [Call(function, 10, 100, [("send", rank)], [("send", rank)]),
                               Call("MPI_Recv", 10, 100, [("receive", 1 - rank)], [("receive", 1 - rank)])]
        job.finish()
        job.write(self.trace, self.template)
        text = "name m\nsource hand\n" + "".join(f"intra_socket rendezvous {row}\n" for row in ("tau - 1e-6 s", "bw 1 1e9 B/s"))
        with self.assertRaises(Deadlock):
            replay(Table(text), job.program())
        done = self.run_tool(self.write("m.tbl", text), "staircase")
        self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
        for words in ("rank 0", "rank 1", "MPI_Send", "MPI_Rsend"):
            self.assertIn(words, done.stderr)
        self.assertNotIn("rank 2", done.stderr)
        done = self.run_tool(self.write("m.tbl", text.replace("rendezvous", "eager")), "staircase")
        self.assertEqual(done.returncode, 0, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
