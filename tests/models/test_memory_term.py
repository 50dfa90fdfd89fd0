"""The term +memory of `mpistair predict`: patterns whose figures are worked by hand, and what it refuses.

usage: test_memory_term.py MPISTAIR
"""
import csv
import io
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest


MPISTAIR = os.path.abspath(sys.argv[1])
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

    def test_trace_refuses(self):
        self.trace.touch()
        done = self.tool("predict", self.trace, "--rounds", "--machine", self.machine(), "--model", "postal+memory")
        self.refused(done, 2, "MODEL+memory requires --pattern", "LAW+memory")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
