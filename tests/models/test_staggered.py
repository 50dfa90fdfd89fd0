"""`mpistair predict` with post times: random patterns against the reference, and what a user gives wrongly.

usage: test_staggered.py MPISTAIR
"""
import csv
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest

from reference import LEVELS
from reference_staggered import StaggeredReference

MPISTAIR = os.path.abspath(sys.argv[1])


class Staggered(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def write(self, name, text):
        with open(os.path.join(self.folder, name), "w", newline="") as file:
            file.write(text)
        return file.name

    def write_csv(self, name, header, rows):
        with open(os.path.join(self.folder, name), "w", newline="") as file:
            csv.writer(file).writerows([header.split(","), *rows])
        return file.name

    def predict(self, machine, places, header, messages, *arguments):
        done = subprocess.run([MPISTAIR, "predict", "--machine", machine, "--json", "--pattern",
                               self.write_csv("p.csv", header, messages), "--placement",
                               self.write_csv("l.csv", "rank,node,socket", [(r, *p) for r, p in enumerate(places)]),
                               *arguments], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def random_machine(self, chance, protocols, buffer):
        machine = {level: {name: (threshold, chance.uniform(0, 5e-6),
                                  [(n, n ** 0.6 * chance.uniform(1e9, 2e9)) for n in (1, 2, 4, 8)])
                           for name, threshold in zip(protocols, [0, *sorted(chance.sample(range(1, 400000), len(protocols) - 1))])}
                   for level in LEVELS}
        lines = ["name m", "source chance", f"inter_node any buffer - {buffer} B"]
        for level, entries in machine.items():
            for name, (threshold, tau, knots) in entries.items():
                lines += [f"{level} {name} tau - {tau!r} s", *(f"{level} {name} bw {n} {bw!r} B/s" for n, bw in knots)]
                lines += [f"{level} {name} threshold - {threshold} B"] if threshold > 0 else []
        return machine, self.write("m.tbl", "\n".join(lines) + "\n")

    def test_random_patterns_against_the_reference(self):
        chance = random.Random(50)
        skewed = 0
        for case in range(40):
            protocols = [["any"], ["eager", "rendezvous"], ["short", "eager", "rendezvous"]][case % 3]
            buffer = chance.randrange(300000) if case % 2 else 0
            machine, path = self.random_machine(chance, protocols, buffer)
            ranks = chance.randrange(2, 20)
            places = [(chance.randrange(2), chance.randrange(2)) for _ in range(ranks)]
            late_s = chance.choice([0, 1e-5, 1e-3, 1])
            # On a grid of times that binary fractions have: what begins together, begins together.
            at = lambda: late_s * chance.randrange(-4, 5) / 4
            messages = [(chance.randrange(ranks), chance.randrange(ranks),
                         chance.choice([0, 1000, 70000, chance.randrange(1000000)]), at(), at())
                        for _ in range(chance.randrange(70))]
            side = ("in", "out", "max")[case // 3 % 3]
            reference = StaggeredReference(machine, places, messages, {}, buffer)
            for model in ("staggered", "flow-staggered"):
                rows = self.predict(path, places, "src,dst,bytes,send_s,recv_s", messages, "--model", model, "--latency", side)
                for row, (time_s, skew_s) in zip(rows, reference.predict_parts(model, side)):
                    self.assertLessEqual(abs(row["time_s"] - time_s), 1e-9 * (time_s + late_s), (case, model, row))
                    self.assertLessEqual(abs(row["skew_s"] - skew_s), 1e-9 * (time_s + late_s), (case, model, row))
                    skewed += skew_s > 0
        self.assertGreater(skewed, 300)

    def test_one_column_of_times(self):
        """Receives without times are posted at the beginning, and the other way round."""
        one = [(0, 1, 10 ** 6, 0.5)]
        for column, expected in (("send_s", [0, 0.5]), ("recv_s", [0.5, 0])):
            rows = self.predict("epyc-rome", [(0, 0)] * 2, "src,dst,bytes," + column, one, "--model", "staggered")
            for row, skew_s in zip(rows, expected):
                self.assertAlmostEqual(row["skew_s"], skew_s, delta=1e-12)
        rows = self.predict("epyc-rome", [(0, 0)] * 2, "src,dst,bytes", [row[:3] for row in one], "--model", "staggered")
        self.assertEqual([row["skew_s"] for row in rows], [0, 0])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
