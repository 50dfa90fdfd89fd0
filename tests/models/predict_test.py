"""What the tests of `mpistair predict` on random patterns share: files, random machines.

Imported, no test of its own.
"""
import csv
import os
import tempfile
import unittest

from reference import LEVELS


class PredictTest(unittest.TestCase):
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

    def random_machine(self, chance, protocols, tau_s, bytes_per_s, threshold_bytes, *lines):
        """{level: {protocol: (threshold, tau, [(n, bw)])}} and the table's file. tau up to tau_s,
        bandwidths from and to bytes_per_s, thresholds below threshold_bytes; lines: more of the table."""
        machine = {level: {name: (threshold, chance.uniform(0, tau_s),
                                  [(n, n ** 0.6 * chance.uniform(*bytes_per_s)) for n in (1, 2, 4, 8)])
                           for name, threshold in zip(protocols, [0, *sorted(chance.sample(range(1, threshold_bytes),
                                                                                           len(protocols) - 1))])}
                   for level in LEVELS}
        lines = ["name m", "source chance", *lines]
        for level, entries in machine.items():
            for name, (threshold, tau, knots) in entries.items():
                lines += [f"{level} {name} tau - {tau!r} s", *(f"{level} {name} bw {n} {bw!r} B/s" for n, bw in knots)]
                lines += [f"{level} {name} threshold - {threshold} B"] if threshold > 0 else []
        return machine, self.write("m.tbl", "\n".join(lines) + "\n")
