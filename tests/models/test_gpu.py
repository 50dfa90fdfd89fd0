"""`mpistair predict --gpu` as its users call it: H's tables by hand, random tables against the reference, crossovers against the
times on either side of them, formats, and what a user gives wrongly.

usage: test_gpu.py MPISTAIR SUMMIT.TBL
"""
import csv
import io
import itertools
import json
import os
import random
import subprocess
import sys
import unittest

from predict_test import PredictTest
from reference_gpu import PATHS, parse, path_s

MPISTAIR, SUMMIT = map(os.path.abspath, sys.argv[1:3])
ACCURACY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../bench/gpu_accuracy.py")


class Gpu(PredictTest):
    def call(self, *arguments, code=0, says="", machine="summit"):
        done = subprocess.run([MPISTAIR, "predict", "--gpu", "--machine", machine, *map(str, arguments)],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, (arguments, done.stderr))
        self.assertIn(says, done.stderr)
        if code != 0:
            self.assertEqual(done.stdout, "")
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        return done.stdout

    def rows(self, *arguments, machine="summit"):
        """{path: time_s}, [(below, above, bytes)], from CSV."""
        rows = list(csv.reader(io.StringIO(self.call("--format", "csv", *arguments, machine=machine))))
        self.assertEqual(rows[0], ["path", "time_s"])
        times = {row[0]: float(row[1]) for row in rows[1:] if row[0] != "crossover"}
        return times, [(row[1], row[2], int(row[3])) for row in rows if row[0] == "crossover"]

    def crossovers(self, messages):
        return self.rows("--bytes", 1 << 20, "--messages", messages, "--path", "gpudirect,3-step")[1]

    def test_one_message_by_hand(self):
        times, _ = self.rows("--bytes", 1 << 20)
        self.assertAlmostEqual(times["gpudirect"], 4.96e-6 + (1 << 20) * 1.69e-10, delta=1e-15)
        self.assertAlmostEqual(times["3-step"], 2 * 1.09e-5 + 6.56e-6 + (1 << 20) * (2.36e-11 + 8.51e-11 + 2.38e-11),
                               delta=1e-15)
        found = self.crossovers(1)
        print("H, III: GPUDirect is more efficient for all modeled sizes of a single message; by its Tables I to III:", found)
        self.assertEqual(found, [("gpudirect", "3-step", 641096)])

    def test_several_messages_by_hand(self):
        print('H, V: "copying to the CPU is faster than CUDA-aware MPI for nearly all sizes when sending at least 10 messages"; '
              "by its tables, of the bytes of all messages:")
        for messages, expected in ((10, [34267, 1035617]), (50, [492631, 2789042])):
            found = self.crossovers(messages)
            print(messages, "messages:", found)
            self.assertEqual(found, [("3-step", "gpudirect", expected[0]), ("gpudirect", "3-step", expected[1])])

    def test_limits(self):
        answer = json.loads(self.call("--bytes", 1, "--json"))
        self.assertEqual(answer["copy_pays_from_messages"], 7)
        self.assertEqual(answer["injection_binds_from_processes"], 3)
        self.assertEqual(answer["injection_binds_from_gpus"], 4)
        text = self.call("--bytes", 1)
        for line in ("copying to the host pays from 7 messages on", "binds from 3 processes", "binds from 4 GPUs"):
            self.assertIn(line, text)

    def test_six_gpus_by_hand(self):
        """600 messages of 1 MiB each, six GPUs and 36 cores a node: every limit of a node binds."""
        size = 600 << 20
        times, _ = self.rows("--bytes", size, "--messages", 600, "--gpus", 6, "--ppn", 36, "--duplicate", 1)
        copies = 2 * 1.09e-5 + (1 << 20) * (2.36e-11 + 2.38e-11)
        part = (1 << 20) / 6
        self.assertAlmostEqual(times["gpudirect"], 600 * 4.96e-6 + 6 * size * 5.1e-11, delta=1e-12)
        self.assertAlmostEqual(times["3-step"], copies + 600 * 6.56e-6 + 6 * size * 3.0e-11, delta=1e-12)
        self.assertAlmostEqual(times["duplicate-pointer"], copies + 600 * 6.56e-6 + 36 * size / 6 * 3.0e-11, delta=1e-12)
        self.assertAlmostEqual(times["extra-message"] - times["duplicate-pointer"],
                               2 * 5 * (2.46e-6 + part * 3.31e-11), delta=1e-12)

    def check(self, table, machine, draw):
        level, messages, duplicate, gpus, ppn, size, whole = draw
        arguments = ["--level", level, "--messages", messages, "--duplicate", duplicate, "--gpus", gpus, "--ppn", ppn]
        arguments += ["--whole-messages"] if whole else []
        times, found = self.rows(*arguments, "--bytes", size, machine=machine)

        def expected(path, size):
            return path_s(table, path, level, size, messages, duplicate, gpus, ppn, whole)

        for path in PATHS:
            self.assertAlmostEqual(times[path] / expected(path, size), 1, delta=1e-12, msg=(draw, path))
        for below, above, bytes in found:
            self.assertLess(expected(above, bytes), expected(below, bytes), (draw, below, above, bytes))
            self.assertLessEqual(expected(below, bytes - 1), expected(above, bytes - 1) * (1 + 1e-12), (draw, below, above, bytes))
        if ppn == gpus:
            return len(found)
        for one, other in itertools.combinations(PATHS, 2):
            between = [crossover for crossover in found if {one, other} == set(crossover[:2])]
            for size in sorted(int(2 ** (k / 4)) for k in range(160)):
                passed = [crossover for crossover in between if crossover[2] <= size]
                faster = passed[-1][1] if passed else between[0][0] if between else None
                difference = expected(one, size) - expected(other, size)
                if abs(difference) <= 1e-11 * expected(one, size):
                    continue
                faster_now = one if difference < 0 else other
                self.assertIn(faster, (None, faster_now), (draw, one, other, size, between))
        return len(found)

    def test_random_problems_and_tables(self):
        chance, n = random.Random(20), 0
        text = open(SUMMIT).read()
        for k in range(60):
            lines = []
            for line in text.splitlines():
                words = line.split()
                if words and words[-1] in ("s", "B/s"):
                    limit = "injection" in line  # never less than what one sends
                    words[4] = repr(float(words[4]) * 2 ** (chance.uniform(2, 3) if limit else chance.uniform(-2, 2)))
                lines.append(" ".join(words))
            machine = self.write("drawn.tbl", "\n".join(lines) + "\n")
            gpus = chance.choice((1, 2, 4, 6))
            messages = chance.choice((1, 2, 3, 7, 10, 50, 1000))
            draw = (chance.choice(("intra_socket", "inter_socket", "inter_node")), messages,
                    chance.choice((0, 0.3, 1)), gpus, gpus * chance.choice((1, 2, 3, 6)),
                    messages * int(2 ** chance.uniform(0, 28)), chance.random() < 0.5)
            n += self.check(parse("\n".join(lines)), machine, draw)
        print(n, "crossovers of 60 drawn tables are where the reference has them")
        self.assertGreater(n, 60)

    def test_what_a_table_lacks(self):
        text = open(SUMMIT).read()
        blind = self.write("blind.tbl", "\n".join(line for line in text.splitlines() if " tau_gpu " not in line) + "\n")
        self.assertIn("not available: machine 'summit' has no tau_gpu", self.call("--bytes", 1, machine=blind))
        self.assertIn("\ngpudirect,\n3-step,", self.call("--bytes", 1, "--format", "csv", machine=blind))
        self.call("--bytes", 1, "--path", "gpudirect", code=1, says="--path gpudirect: ", machine=blind)
        self.call("--bytes", 1, code=1, says="no path between GPUs", machine="blue-waters")
        nowhere = self.write("nowhere.tbl", "\n".join(line for line in text.splitlines() if "inter_socket" not in line) + "\n")
        self.call("--bytes", 1, "--level", "inter_socket", code=1, says="for level inter_socket", machine=nowhere)
        equal = self.write("equal.tbl", text.replace("inter_node rendezvous threshold - 16384", "inter_node rendezvous threshold - 256"))
        self.call("--bytes", 1, code=1, says="threshold", machine=equal)

    def made_samples(self, factor=1.0):
        """RAW.csv of a machine of straight lines: messages 2 us, 10 GB/s one, 16 GB/s two together; copies 10 us and 20 GB/s to a
        GPU, 12 us and 25 GB/s from it, by two at once 30 and 40 GB/s; messages between GPUs 5 us and 8 GB/s. Its ways take what
        share/doc/MODELS.md says, times factor."""
        sizes = [4**k for k in range(13)]
        rows = [("pingpong", "", size, 1, 1, 2e-6 + size / 10e9) for size in sizes]
        rows += [("algorithm1", "", size, n, 1, 2e-6 + n * size / rate) for n, rate in ((1, 10e9), (2, 16e9)) for size in sizes]
        copies = {1: (20e9, 25e9), 2: (30e9, 40e9)}
        rows += [("gpu_copy", "to_pinned", size, 1, 1, 10e-6 + size / copies[1][0]) for size in sizes]
        rows += [("gpu_copy", "from_pinned", size, 1, 1, 12e-6 + size / copies[1][1]) for size in sizes]
        rows += [("gpu_paths", "push", size, 2, 1, 10e-6 + 2 * size / copies[2][0]) for size in sizes]
        rows += [("gpu_paths", "pull", size, 2, 1, 12e-6 + 2 * size / copies[2][1]) for size in sizes]

        def copied(size, n):
            return 22e-6 + size / copies[n][0] + size / copies[n][1]

        for size in sizes:
            for count in (1, 5, 10):
                if size >= count:
                    rows.append(("gpu_paths", "gpudirect", size, 1, count, factor * (count * 5e-6 + size / 8e9)))
                    rows.append(("gpu_paths", "3-step", size, 1, count, factor * (copied(size, 1) + count * 2e-6 + size / 10e9)))
            handed = 2 * (2e-6 + size / 2 / 10e9)
            rows.append(("gpu_paths", "duplicate-pointer", size, 2, 1, factor * (copied(size, 2) + 2e-6 + size / 16e9)))
            rows.append(("gpu_paths", "extra-message", size, 2, 1, factor * (copied(size, 1) + handed + 2e-6 + size / 16e9)))
        return self.write_csv("made.csv", "benchmark,variant,level,bytes,n,count,seconds",
                              [(name, variant, "intra_socket", size, n, count, seconds) for name, variant, size, n, count, seconds in rows])

    def accuracy(self, raw):
        return subprocess.run([sys.executable, ACCURACY, MPISTAIR, "--raw", raw], capture_output=True, text=True, timeout=120)

    def test_measured_ways(self):
        """Samples of the ways against predictions from a table of the other sizes, by the benchmark that does so with a GPU."""
        done = self.accuracy(self.made_samples())
        self.assertIn("all: median relative error 0.0 % of 44", done.stdout, done.stderr)
        largest = [float(line.split("largest ")[1].split()[0]) for line in done.stdout.splitlines() if "largest" in line]
        self.assertEqual(len(largest), 8, done.stdout)
        self.assertLess(max(largest), 0.1, done.stdout)
        self.assertIn("all: median relative error 50.0 %", self.accuracy(self.made_samples(2.0)).stdout)

    def test_wrong_usage(self):
        cases = [(("--path", "teleport"), "no path 'teleport'"), (("--path", "3-step,"), "no path ''"),
                 (("--messages", 0), "--messages 0"), (("--bytes", 0), "--bytes 0"), (("--bytes", 1 << 41), "2^40"),
                 (("--duplicate", -0.1), "--duplicate"), (("--duplicate", 1.1), "--duplicate"), (("--duplicate", "nan"), "--duplicate"),
                 (("--level",), "--level: a value is missing"), (("--level", "self"), "--level self"), (("--level", "moon"), "--level moon"),
                 (("--ppn", 41), "has 40 cores"), (("--ppn", 0), "--ppn 0"), (("--gpus", 3, "--ppn", 4), "equally many processes for each GPU"),
                 (("--gpus", 0), "--gpus 0"), (("--messages", 70), "at least one byte per message"), (("--memory",), "--memory and --gpu"),
                 (("--finegrain",), "--finegrain and --gpu"), (("x.db",), "a trace"), (("--pattern", "p.csv"), "--pattern"),
                 (("--peers", 2), "require --finegrain"), (("--compute-cores", 2), "--compute-cores")]
        for arguments, says in cases:
            self.call("--bytes", 64, *arguments, code=2, says=says)
        self.call(code=2, says="--gpu requires --bytes")
        done = subprocess.run([MPISTAIR, "predict", "--messages", "2", "x.db"], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("require --gpu", done.stderr)


unittest.main(argv=sys.argv[:1], verbosity=0)
