"""The term +memory of `mpistair predict`: patterns and traces whose figures are worked by hand, and what it refuses.

usage: test_memory_term.py MPISTAIR SCHEMA.sql
"""
import csv
import io
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import unittest

from empty_trace import empty_trace
from reference_program import Message
from run_traces import Call, Job

MPISTAIR, SCHEMA = map(os.path.abspath, sys.argv[1:3])
MS = 1000000
MB = 1000000

# T = 30, 30, 29, 29 GB/s for 1 .. 4 cores. R(1) = 12 + 5 < 30: the message keeps 10 of 10. R(2) = 24 + 5 < 30: 6 of 10. From
# 3 on R = 41 is more: 5 of 10, and 24 of 28 are left for the cores (alone: T_seq).
MEMORY = {"cores_par": "2 1", "total_par": "30e9 B/s", "cores_seq": "3 1", "total_seq": "28e9 B/s", "total_par2": "29e9 B/s",
          "alpha": "0.5 1", "loss_left": "1e9 B/s", "loss_right": "0 B/s", "computation": "12e9 B/s", "message": "10e9 B/s"}
KEEPS, SLOWS = [1, 1, 0.6, 0.5, 0.5], [1, 1, 1, 28 / 24, 28 / 24]


class MemoryTerm(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.trace = self.folder / "trace.db"

    def write(self, name, *lines):
        (self.folder / name).write_text("\n".join(lines) + "\n")
        return self.folder / name

    def machine(self, method="memory", *lines, **changed):
        """1 GB/s within a node, 10 GB/s between nodes, and what MEMORY says of the memory."""
        rows = [f"{level} any {row}" for level, row in (
            ("intra_socket", "tau - 0 s"), ("intra_socket", "bw 1 1e9 B/s"), ("inter_socket", "tau - 0 s"),
            ("inter_socket", "bw 1 1e9 B/s"), ("inter_node", "tau - 0 s"), ("inter_node", "bw 1 1e10 B/s"))]
        memory = [f"intra_socket any memory_{name} - {value} #: - - 3 {method}" for name, value in (MEMORY | changed).items()
                  if value is not None]
        return self.write("m.tbl", "name m", "source made up", *rows, *memory, "any any cores - 4 1", *lines)

    def tool(self, *arguments):
        return subprocess.run([MPISTAIR, *map(str, arguments)], capture_output=True, text=True, timeout=60)

    def pattern(self, messages, places, cores, *options, machine=None, model="postal+memory"):
        pattern = self.write("p.csv", "src,dst,bytes", *(",".join(map(str, message)) for message in messages))
        placement = self.write("l.csv", "rank,node,socket", *(f"{rank},{node},{socket}" for rank, (node, socket) in enumerate(places)))
        options = [*options, *(["--compute-cores", cores] if cores is not None else [])]
        return self.tool("predict", "--pattern", pattern, "--placement", placement, "--machine", machine or self.machine(),
                         "--model", model, *options)

    def rows(self, *arguments, **more):
        done = self.pattern(*arguments, "--json", **more)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout), done.stderr

    def refused(self, done, code, *texts):
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        for text in texts:
            self.assertIn(text, done.stderr)

    def test_one_message(self):
        for cores in range(5):
            rows, note = self.rows([(0, 1, 10 * MB)], [(0, 0), (1, 0)], cores)
            self.assertEqual(note, "")
            for row in rows:
                self.assertAlmostEqual(row["bandwidth_s"], 1e-3, delta=1e-15)
                self.assertAlmostEqual(row["memory_s"], 1e-3 / KEEPS[cores] - 1e-3, delta=1e-15)
                self.assertAlmostEqual(row["time_s"], 1e-3 / KEEPS[cores], delta=1e-15)
            self.assertAlmostEqual(rows[1]["compute_slowdown"], SLOWS[cores], delta=1e-12)
            self.assertEqual(rows[0]["compute_slowdown"], 1)  # nothing arrives at its socket

    def test_several_messages(self):
        """Rank 1 gets 10 MB from another node in 1 ms and 3 MB from its own in 3 ms, which the NIC's table leaves alone: with
        two cores 1/0.6 ms and 3 ms, a factor of 7/6 for the 4 ms of both. Rank 2 sends within the node only."""
        rows, _ = self.rows([(0, 1, 10 * MB), (2, 1, 3 * MB)], [(0, 0), (1, 0), (1, 0)], 2)
        added = {row["rank"]: row["memory_s"] for row in rows}
        self.assertAlmostEqual(added[1], 4e-3 / 6, delta=1e-15)
        self.assertAlmostEqual(added[0], 1e-3 / 0.6 - 1e-3, delta=1e-15)
        self.assertEqual(added[2], 0)

    def test_contention_is_scaled_as_well(self):
        """Two receivers of a node share its 10 GB/s: their 2 ms become 4."""
        rows, _ = self.rows([(0, 2, 10 * MB), (1, 3, 10 * MB)], [(0, 0), (0, 0), (1, 0), (1, 0)], 3, model="staircase+memory")
        for row in rows:
            self.assertAlmostEqual(row["bandwidth_s"] + row["contention_s"], 2e-3, delta=1e-15)
            self.assertAlmostEqual(row["memory_s"], 2e-3, delta=1e-15)

    def test_small_messages_are_counted(self):
        _, note = self.rows([(0, 1, MB), (0, 1, MB - 1), (1, 0, 5), (0, 1, 0)], [(0, 0), (1, 0)], 1)
        self.assertEqual(note, "mpistair: note: postal+memory: outside the calibrated range: 2 of 3 messages are smaller than 1 MB\n")

    def test_formats(self):
        done = self.pattern([(0, 1, 10 * MB)], [(0, 0), (1, 0)], 3, "--format", "csv", model="postal,postal+memory")
        rows = list(csv.reader(io.StringIO(done.stdout)))
        self.assertEqual(rows[0], ["rank", "model", "time_s", "compute_slowdown"])
        self.assertEqual([float(row[3]) for row in rows[1:]], [1, 1, 1, 28 / 24])
        text = self.pattern([(0, 1, 10 * MB)], [(0, 0), (1, 0)], 3).stdout.splitlines()
        self.assertEqual(text[0].split(), "rank model time [us] bandwidth [us] memory [us] compute slowdown".split())
        self.assertEqual(text[2].split(), ["1", "postal+memory", "2000.000", "1000.000", "1000.000", "1.167"])

    def test_tables_and_levels(self):
        """A table by a NIC leaves messages within a node alone; one by copies of the CPU is for those alone."""
        within, between = [(0, 0), (0, 0)], [(0, 0), (1, 0)]
        rows, note = self.rows([(0, 1, 10 * MB)], within, 2)
        self.assertEqual([(row["memory_s"], row["compute_slowdown"]) for row in rows], [(0, 1)] * 2)
        self.assertIn("nothing changes: the memory_... rows of 'm' are for messages between nodes", note)
        rows, note = self.rows([(0, 1, 10 * MB)], within, 2, machine=self.machine("cpu-copy"))
        self.assertAlmostEqual(rows[1]["memory_s"], 1e-2 / 0.6 - 1e-2, delta=1e-15)
        self.assertEqual(note, "")
        self.refused(self.pattern([(0, 1, 10 * MB)], between, 2, machine=self.machine("cpu-copy")), 1, "machine 'm'", "cpu-copy",
                     "between nodes")

    def test_bad_input(self):
        message, places = [(0, 1, 10 * MB)], [(0, 0), (1, 0)]
        self.refused(self.pattern(message, places, None), 2, "--compute-cores")
        self.refused(self.pattern(message, places, 2, model="postal"), 2, "--compute-cores requires --memory, or a model with +memory")
        self.refused(self.pattern(message, places, "x"), 2, "--compute-cores")
        self.refused(self.pattern(message, places, 5), 1, "--compute-cores 5", "4 cores")
        self.refused(self.pattern(message, places, 2, machine="blue-waters"), 1, "blue-waters", "memory_")
        self.refused(self.pattern(message, places, 2, machine=self.machine(alpha=None)), 1, "memory_alpha")
        self.refused(self.pattern(message, places, 4, machine=self.machine(loss_right="40e9 B/s")), 1, "4 cores and a message")

    def made_trace(self, *statements):
        """Four ranks, 0 on another node. Rank 0 sends 10 MB to rank 1, which waits from 2 ms on and has it at 10 ms. Rank 2 of
        rank 1's socket computes but for 4 to 8 ms; rank 3 is on the other socket and always computes."""
        job = Job([(0, 0), (1, 0), (1, 0), (1, 1)], [0] * 4, [MS] * 4)
        job.messages = [Message(0, 1, 10 * MB)]
        job.calls[0] = [Call("MPI_Send", 0, 10 * MS, [("send", 0)], [("send", 0)])]
        job.calls[1] = [Call("MPI_Irecv", 0, 1, [("receive", 0)]), Call("MPI_Wait", 2 * MS - 1, 8 * MS, [], [("receive", 0)])]
        job.calls[2] = [Call("MPI_File_read", 4 * MS, 4 * MS), Call("MPI_File_read", 3 * MS, 1)]
        job.calls[3] = [Call("MPI_File_read", 11 * MS, 1)]
        job.finish()
        template = self.folder / "template.db"
        empty_trace(template, SCHEMA).close()
        job.write(self.trace, template)
        database = sqlite3.connect(self.trace)
        database.executemany("INSERT INTO round_process VALUES (1, ?, 0, ?, 0)", [(0, 10 * MS), (1, 10 * MS)])
        for statement in statements:
            database.execute(statement)
        database.commit()
        database.close()

    def stored(self, machine, *options):
        done = self.tool("predict", self.trace, "--rounds", "--machine", machine, "--model", "postal,postal+memory", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        database = sqlite3.connect(self.trace)
        rows = database.execute("SELECT rank, memory_s, arriving_s, computing, compute_slowdown FROM prediction_memory "
                                "ORDER BY rank").fetchall()
        parts = database.execute("SELECT model, rank, time_s, bandwidth_s, contention_s FROM prediction p JOIN prediction_run r "
                                 "ON r.id = run_id ORDER BY model, rank").fetchall()
        database.close()
        self.assertEqual([row[:2] for row in parts], [(model, rank) for model in ("postal", "postal+memory") for rank in (0, 1)])
        for _, _, time_s, bandwidth_s, contention_s in parts:
            self.assertAlmostEqual(time_s, bandwidth_s + contention_s, delta=1e-15)
        self.assertEqual([row[0] for row in rows], [0, 1])
        self.assertAlmostEqual(parts[3][4], rows[1][1], delta=1e-15)
        return rows[1], done

    def test_trace(self):
        """In 10 ms rank 1 computes 2 ms (but for 1 ns) and rank 2 computes 6: 0.8 of a core. If messages move inside MPI of the
        receiver only, these are 4 of 8 ms: half a core. The sender is inside all the time."""
        self.made_trace()
        for progress, computing in ((None, 0.8), (1, 0.8), (2, 0.5), (3, 0.5)):
            rows = [f"inter_node any progress - {progress} 1"] if progress is not None else []
            changed = {"cores_par": "1 1", "total_par": "20e9 B/s", "total_par2": "20e9 B/s", "loss_left": "0 B/s",
                       "computation": "16e9 B/s", "cores_seq": "1 1"}
            # R(1) = 16 + 5 > 20 = T: alpha. So n cores below 1 leave 1 - n / 2.
            found, done = self.stored(self.machine("memory", *rows, **changed))
            self.assertAlmostEqual(found[3], computing, delta=1e-6)
            self.assertAlmostEqual(found[1], 1e-3 / (1 - computing / 2) - 1e-3, delta=1e-9)
            self.assertAlmostEqual(found[4], 1 + computing * (16 / 15 - 1), delta=1e-6)
            self.assertIn("(compute_slowdown)", done.stdout)
            report = self.tool("report", self.trace, "--machine", "m", "--section", "why").stdout
            self.assertIn(f"{computing:.2f} of its threads compute", " ".join(report.split()))

    def test_trace_with_threads(self):
        """Rank 2 had so many processors outside MPI that two or three threads must have computed there."""
        inside = 4 * MS + 1
        for threads, processors in ((1, "NULL"), (1, 1.4), (2, 1.6), (2, 2), (3, 3)):
            self.made_trace(f"UPDATE process SET observed_ns = end_ns - begin_ns, run_ns = {inside} + {processors} * "
                            f"(end_ns - begin_ns - {inside}) WHERE rank = 2")
            found, _ = self.stored(self.machine())
            self.assertAlmostEqual(found[3], 0.2 + 0.6 * threads, delta=1e-6)

    def test_trace_formats(self):
        self.made_trace()
        _, done = self.stored(self.machine(), "--format", "csv")
        rows = list(csv.DictReader(io.StringIO(done.stdout)))
        self.assertEqual((rows[0]["computing"], rows[0]["compute_slowdown"]), ("", ""))
        self.assertAlmostEqual(float(rows[1]["computing"]), 0.8, delta=1e-6)
        self.assertEqual(float(rows[1]["compute_slowdown"]), 1)
        _, done = self.stored(self.machine(), "--json")
        self.assertEqual(["computing" in row for row in json.loads(done.stdout)], [False, True])

    def test_trace_without_calls(self):
        self.made_trace("DELETE FROM call_row", "UPDATE message_row SET send_call_ns = NULL, recv_call_ns = NULL")
        found, done = self.stored(self.machine())
        self.assertEqual((found[1], found[3], found[4]), (0, 0, 1))
        self.assertIn("has no calls", done.stderr)

    def test_trace_of_before(self):
        """A trace without the table gets it; what was there of the same model is replaced."""
        self.made_trace("DROP VIEW model_memory", "DROP TABLE prediction_memory")
        first, _ = self.stored(self.machine())
        again, _ = self.stored(self.machine())
        self.assertEqual(first, again)

    def test_trace_refuses(self):
        self.made_trace()
        done = self.tool("predict", self.trace, "--rounds", "--machine", self.machine(), "--model", "postal+memory", "--compute-cores", 2)
        self.refused(done, 2, "--compute-cores requires --pattern")
        done = self.tool("predict", self.trace, "--rounds", "--machine", self.machine("cpu-copy"), "--model", "postal+memory")
        self.refused(done, 1, "cpu-copy", "between nodes")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
