"""`mpistair predict --finegrain` as its users call it: worked values, laws that hold for random tables and arrivals,
formats, notes, and what a user gives wrongly.

usage: test_finegrain.py MPISTAIR
"""
import csv
import io
import json
import math
import os
import random
import statistics
import subprocess
import sys
import unittest

from predict_test import PredictTest

MPISTAIR = os.path.abspath(sys.argv[1])
COLUMNS = ["interface", "parts", "bsp_s", "fine_s", "speedup_percent", "low_percent", "high_percent", "bound_percent"]
WORKED = "name m\nsource test\ninter_node any tau - 2e-6 s\ninter_node any bw 1 12e9 B/s\n"
NEEDED = ["--bytes", 1048576, "--threads", 32]


class Finegrain(PredictTest):
    def setUp(self):
        super().setUp()
        self.worked = self.write("worked.tbl", WORKED)

    def path(self, name):
        return os.path.join(self.folder, name)

    def call(self, *arguments, code=0, says=""):
        done = subprocess.run([MPISTAIR, "predict", *map(str, arguments)], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, (arguments, done.stderr))
        self.assertIn(says, done.stderr)
        if code != 0:
            self.assertEqual(done.stdout, "")
            self.assertEqual(len(done.stderr.splitlines()), 1, done.stderr)
        self.errors = done.stderr
        return done.stdout

    def rows(self, machine, *arguments):
        """{(interface, parts): [bsp_s, ...]}, from CSV."""
        text = self.call("--finegrain", "--machine", machine, "--format", "csv", *arguments)
        rows = list(csv.reader(io.StringIO(text)))
        self.assertEqual(rows[0], COLUMNS)
        return {(row[0], int(row[1])): [float(value) for value in row[2:]] for row in rows[1:]}

    def test_worked_values(self):
        rows = self.rows(self.worked, "--level", "inter_node", "--peers", 6, *NEEDED, "--parts", "2,4,8,16,32",
                         "--compute-s", "4.194304e-3", "--arrivals", "laggard:4")
        self.assertEqual(list(rows), [(name, parts) for name in ("p2p", "rma", "partitioned") for parts in (2, 4, 8, 16, 32)])
        for name in ("p2p", "rma", "partitioned"):
            found = [rows[name, parts] for parts in (2, 4, 8, 16, 32)]
            self.assertEqual({f"{row[0] * 1e6:.3f}" for row in found}, {"4898.364"})
            self.assertEqual([f"{row[2]:.3f}" for row in found], ["3.180", "2.690", "1.710", "-0.250", "-4.169"])
            for row in found:
                self.assertEqual(row[3:5], [row[2], row[2]])
                self.assertLess(row[2], row[5])
        self.assertIn("lacks tau_p2p, tau_rma, tau_partitioned at inter_node; tau was taken", self.errors)
        self.assertIn("lacks tau_thread", self.errors)
        self.assertIn("lacks queue_step and gamma", self.errors)

    def test_defaults_are_those_of_the_worked_values(self):
        everything = self.rows(self.worked, *NEEDED)
        self.assertEqual([parts for name, parts in everything if name == "p2p"], [1, 2, 4, 8, 16, 32])
        self.assertEqual(everything["p2p", 1][2], 0)
        self.assertEqual(f"{everything['rma', 2][2]:.3f}", "3.180")

    def random_table(self, chance):
        protocols = chance.choice([["any"], ["eager", "rendezvous"], ["short", "eager", "rendezvous"]])
        lines = ["name r", "source chance"]
        for i, protocol in enumerate(protocols):
            lines.append(f"inter_node {protocol} tau - {chance.uniform(0, 1e-5)!r} s")
            lines += [f"inter_node {protocol} bw {n} {chance.uniform(1e8, 2e10)!r} B/s" for n in (1, 2, 4)]
            lines += [f"inter_node {protocol} threshold - {3000 * i ** 3} B"] if i > 0 else []
        for quantity, high in (("tau_p2p", 1e-5), ("tau_rma", 1e-5), ("tau_partitioned", 1e-5), ("tau_thread", 1e-6), ("tau_request", 1e-4)):
            if chance.random() < 0.6:
                lines.append(f"inter_node any {quantity} - {chance.uniform(0, high)!r} s")
        lines += chance.choice([[], ["inter_node any partitions_early - 0 1"], ["inter_node any rate_rma - 0.5 1"]])
        lines += chance.choice([[], [f"any any queue_step {n} {chance.uniform(0, 1e-8)!r} s" for n in (1, 64, 512)],
                                [f"any any gamma - {chance.uniform(0, 1e-8)!r} s"]])
        return self.write("r.tbl", "\n".join(lines) + "\n")

    def test_laws_of_random_problems(self):
        """BSP is the same for all parts of an interface and never ends before the last thread; the gain is that of the two
        times, within its interval and below its bound; one draw has no interval."""
        chance = random.Random(194304)
        compared = 0
        for _ in range(60):
            threads, turns = chance.choice([1, 2, 6, 12, 16]), chance.choice([1, 1, 5])
            spread = 10 ** chance.uniform(-6, -2)
            arrivals = [[1e-3 + chance.uniform(0, spread) for _ in range(threads)] for _ in range(turns)]
            fixed = self.write("fixed.csv", "".join(f"0,{thread},{turn[thread]!r}\n"
                                                    for turn in arrivals for thread in range(threads)))
            found = self.rows(self.random_table(chance), "--peers", chance.randint(1, 26), "--bytes", int(10 ** chance.uniform(1.5, 6.5)),
                              "--threads", threads, "--ppn", chance.choice([1, 1, 2, 3, 9]), "--draws", turns,
                              "--arrivals", "fixed:" + fixed, "--interface", "p2p,rma,partitioned,persistent")
            self.assertEqual(len(found), 4 * sum(threads % k == 0 for k in range(1, threads + 1)))
            last_s = statistics.median(max(turn) for turn in arrivals)
            for (name, parts), (bsp, fine, gain, low, high, bound) in found.items():
                self.assertEqual(bsp, found[name, 1][0])
                self.assertGreaterEqual(min(bsp, fine), last_s * (1 - 1e-12))
                self.assertAlmostEqual(gain, 100 * (bsp - fine) / bsp, places=6)
                self.assertLessEqual(low, gain + 1e-9)
                self.assertLessEqual(gain, min(high, bound) + 1e-9)
                self.assertTrue(turns > 1 or low == gain == high)
                compared += 1
        self.assertGreater(compared, 500)

    def test_random_arrivals_have_an_interval_and_a_seed(self):
        arguments = [*NEEDED, "--arrivals", "normal:100us", "--parts", 8, "--interface", "p2p"]
        first, again = (self.rows(self.worked, *arguments, "--seed", 7)["p2p", 8] for _ in range(2))
        self.assertEqual(first, again)
        self.assertNotEqual(first, self.rows(self.worked, *arguments, "--seed", 8)["p2p", 8])
        self.assertLess(first[3], first[2])
        self.assertLess(first[2], first[4])

    def test_formats(self):
        table = self.rows(self.worked, *NEEDED)
        document = json.loads(self.call("--finegrain", "--machine", self.worked, *NEEDED, "--json"))
        self.assertEqual({(row["interface"], row["parts"]): [row[column] for column in COLUMNS[2:]] for row in document["rows"]},
                         table)
        self.assertEqual([(one["interface"], one["best_parts"], one["loses_from_parts"]) for one in document["interfaces"]],
                         [(name, 2, 16) for name in ("p2p", "rma", "partitioned")])
        self.assertAlmostEqual(document["limit_percent"], 100 * 6 * (2e-6 + 1048576 / 12e9) / 4898.36416e-6, places=9)
        text = self.call("--finegrain", "--machine", self.worked, *NEEDED)
        self.assertIn("rma: best with 2 parts, 3.18 %; it loses from 16 parts on", text)
        self.assertIn("none gains more than 10.95 %", text)
        alone = self.call("--finegrain", "--machine", self.worked, "--bytes", 8, "--threads", 2, "--arrivals", "laggard:0")
        self.assertIn("p2p: no number of parts gains anything; it loses from 2 parts on", alone)
        self.call("--finegrain", "--machine", self.worked, *NEEDED, "-o", self.path("out"), "--json")
        with open(self.path("out")) as file:
            self.assertEqual(json.load(file), document)

    def test_rates_are_shared(self):
        machine = self.write("shared.tbl", WORKED + "inter_node any bw 4 24e9 B/s\n")
        alone, shared = (self.rows(machine, *NEEDED, "--ppn", ppn)["rma", 1][0] for ppn in (1, 4))
        self.assertAlmostEqual(shared - alone, 6 * 1048576 / 12e9, places=12)
        self.rows(machine, *NEEDED, "--ppn", 5)
        self.assertIn("no bw of 5 at inter_node", self.errors)

    def test_partitions_that_leave_together_hide_nothing(self):
        machine = self.write("late.tbl", WORKED + "inter_node any partitions_early - 0 1\n")
        rows = self.rows(machine, *NEEDED)
        self.assertIn("moves partitions only when the last one is ready", self.errors)
        self.assertEqual(f"{rows['p2p', 2][2]:.3f}", "3.180")
        for parts in (1, 2, 4, 8, 16, 32):
            self.assertAlmostEqual(rows["partitioned", parts][1], 4.36207616e-3 + 6 * (parts * 2e-6 + 1048576 / 12e9), places=12)
        self.call("--finegrain", "--machine", self.write("two.tbl", WORKED + "inter_node any partitions_early - 2 1\n"), *NEEDED,
                  code=1, says="two.tbl:5")

    def test_bytes_and_requests_of_an_interface(self):
        text = (WORKED + "inter_node any rate_rma - 0.8 1\ninter_node any rate_partitioned - 0.25 1\n"
                "inter_node any tau_request - 30e-6 s\n")
        machine = self.write("rates.tbl", text)
        late = self.write("late_rates.tbl", text + "inter_node any partitions_early - 0 1\n")
        plain, rows, rows_late = (self.rows(table, *NEEDED) for table in (self.worked, machine, late))
        arrived, bytes_s = 4.36207616e-3, 6 * 1048576 / 12e9
        for parts in (1, 2, 4, 8, 16, 32):
            self.assertEqual(rows["p2p", parts], plain["p2p", parts])
            self.assertEqual(rows["rma", parts][0], plain["rma", parts][0])
            part_s = 6 * 2e-6 + bytes_s / 0.8 / parts
            self.assertAlmostEqual(rows["rma", parts][1], max(4.194304e-3 + (parts - 1) * part_s, arrived) + part_s, places=12)
            self.assertAlmostEqual(rows_late["partitioned", parts][1], arrived + 6 * (parts * 2e-6 + 30e-6) + 4 * bytes_s, places=12)
            early_s = 6 * 2e-6 + 4 * bytes_s / parts
            self.assertAlmostEqual(rows["partitioned", parts][1], max(4.194304e-3 + (parts - 1) * early_s, arrived) + early_s, places=12)
        for line, says in (("rate_rma - 0 1", "rate_rma"), ("rate_partitioned - 2 B/s", "expected '1'"), ("tau_request - -1 s", "tau_request")):
            bad = self.write("bad.tbl", WORKED + f"inter_node any {line}\n")
            self.call("--finegrain", "--machine", bad, *NEEDED, code=1, says="bad.tbl:5")
            self.call("--finegrain", "--machine", bad, *NEEDED, code=1, says=says)

    def test_the_fewest_parts_that_are_worth_it(self):
        def best(delay, bytes_, *more):
            said = json.loads(self.call("--finegrain", "--machine", self.worked, "--bytes", bytes_, "--threads", 32, "--interface", "rma",
                                        "--arrivals", f"laggard:{delay}", "--json", *more))
            return said["interfaces"][0]["best_parts"], {row["parts"]: row["speedup_percent"] for row in said["rows"]}

        parts, gains = best(100, 1 << 20)
        self.assertEqual(parts, min(k for k, gain in gains.items() if gain >= max(gains.values()) - 0.5))
        self.assertLess(gains[parts], max(gains.values()))
        parts, gains = best(100, 1 << 14) # all gains are below half a point: of those that gain the fewest parts
        self.assertLess(max(gains.values()), 0.5)
        self.assertEqual((parts, gains[1]), (2, 0))
        self.assertEqual(best(100, 1 << 20, "--parts", "16,32")[0], 16)

    def test_wrong_usage(self):
        one, empty, negative = (self.write(name, text) for name, text in (("one", "1e-3\n"), ("empty", ""), ("negative", "-1\n2\n")))
        good = ["--finegrain", "--machine", self.worked, *NEEDED]
        for arguments, says in (
                (["--parts", "3"], "--parts 3: expected a divisor of --threads 32"),
                (["--parts", "0"], "--parts 0: expected whole numbers"),
                (["--parts", "2,,4"], "--parts 2,,4"),
                (["--parts", "2,four"], "--parts 2,four"),
                (["--bytes", "16", "--parts", "32"], "--parts 32, --bytes 16"),
                (["--bytes", "0"], "--bytes 0"),
                (["--threads", "0"], "--threads 0"),
                (["--peers", "0"], "--peers 0"),
                (["--peers", "-1"], "--peers -1"),
                (["--ppn", "0"], "--ppn 0"),
                (["--draws", "0"], "--draws 0"),
                (["--level", "moon"], "--level moon: expected intra_socket"),
                (["--level", "self"], "--level self"),
                (["--interface", "rdma"], "--interface rdma: expected p2p, rma"),
                (["--interface", ""], "--interface"),
                (["--arrivals", "uniform:3"], "--arrivals"),
                (["--arrivals", "laggard:nan"], "--arrivals"),
                (["--arrivals", "kde:" + empty], "empty"),
                (["--arrivals", "kde:" + one], "one"),
                (["--arrivals", "fixed:" + negative], "negative:1"),
                (["--arrivals", "fixed:" + one, "--threads", "2"], "--arrivals"),
                (["--arrivals", "kde:/nothing/here"], "/nothing/here"),
                (["--width", "1e-6"], "--width requires --arrivals kde:FILE"),
                (["--compute-s", "-1"], "--compute-s -1"),
                (["--compute-s", "nan"], "--compute-s nan"),
                (["--compute-s", "1e9"], "--compute-s 1e9"),
                (["--memory"], "--memory and --finegrain"),
                (["--model", "flow"], "--finegrain and --model"),
                (["--pattern", "P.csv"], "--finegrain and --pattern"),
                (["--interval"], "--finegrain and --interval"),
                (["--eager-threshold", "5"], "--finegrain and --what-if"),
                (["--seconds", "3"], "--seconds and --seed require --best-placement"),
                (["--compute-cores", "3"], "--finegrain and --compute-cores"),
                (["trace.db"], "--finegrain and a trace")):
            self.call(*good, *arguments, code=2, says=says)
        self.call("--finegrain", *NEEDED, code=2, says="--finegrain requires --machine")
        self.call("--finegrain", "--machine", self.worked, "--threads", 4, code=2, says="--finegrain requires --bytes")
        self.call("--finegrain", "--machine", self.worked, "--bytes", 4, code=2, says="--finegrain requires --threads")
        self.call("--pattern", "P.csv", "--parts", 4, code=2, says="require --finegrain")

    def test_what_a_table_lacks(self):
        self.call("--finegrain", "--machine", self.worked, "--level", "intra_socket", *NEEDED, code=1, says="level intra_socket")
        self.call("--finegrain", "--machine", "/nothing.tbl", *NEEDED, code=1, says="/nothing.tbl")
        full = subprocess.run([MPISTAIR, "predict", "--finegrain", "--machine", self.worked, *map(str, NEEDED), "-o", "/dev/full"],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(full.returncode, 1)
        self.assertIn("/dev/full", full.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
