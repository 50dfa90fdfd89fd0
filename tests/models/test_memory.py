"""`mpistair predict --memory` as its users call it: placements,
errors against samples, and what a user gives wrongly. Papers are named as in share/doc/MODELS.md.

usage: test_memory.py MPISTAIR MACHINES
"""
import csv
import io
import json
import math
import os
import random
import subprocess
import sys
import unittest

from predict_test import PredictTest

MPISTAIR, MACHINES = map(os.path.abspath, sys.argv[1:3])

QUANTITIES = ("cores_par", "total_par", "cores_seq", "total_seq", "total_par2", "alpha", "loss_left", "loss_right", "computation",
              "message")
SIDES = {"intra_socket": "local", "inter_socket": "remote"}
RATES = ("computation", "computation_alone", "message", "message_alone")
COLUMNS = ["computing_cores", "computation_numa", "message_numa", *(f"{rate}_bytes_per_s" for rate in RATES)]


class Memory(PredictTest):
    def path(self, name):
        return os.path.join(self.folder, name)

    def run_tool(self, arguments, code, says):
        done = subprocess.run([MPISTAIR, *map(str, arguments)], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, (arguments, done.stderr))
        self.assertIn(says, done.stderr)
        return done

    def call(self, *arguments, code=0, says=""):
        return self.run_tool(arguments, code, says).stdout

    def error(self, *arguments, says):
        return self.run_tool(arguments, 1, says).stderr

    def rows(self, machine, *arguments):
        """{(n, NUMA node of computation, of the message): rates}, from CSV."""
        rows = list(csv.reader(io.StringIO(self.call("predict", "--memory", "--machine", machine, "--format", "csv", *arguments))))
        self.assertEqual(rows[0], COLUMNS)
        return {tuple(map(int, row[:3])): tuple(map(float, row[3:])) for row in rows[1:]}

    def read_table(self, path):
        """What the samples of a machine know of it: NUMA nodes and cores of a socket; and what the model says of it:
        rates[n, NUMA node of computation, of the message]."""
        with open(path) as file:
            numbers = {words[2]: int(float(words[4])) for words in map(str.split, file) if words[2:3] in (["cores"], ["numa_nodes"])}
        table = {"numa_nodes": 1, **numbers, "rates": {}}
        for computation in range(2 * table["numa_nodes"]):
            table["rates"].update(self.rows(path, "--comp-numa", computation))
        return table

    def write_table(self, path, sides, cores, numa_nodes=1, method="memory"):
        with open(path, "w") as file:
            file.write(f"name m\nsource chance\nany any cores - {cores} 1\nany any numa_nodes - {numa_nodes} 1\n")
            for level, side in SIDES.items():
                for quantity in QUANTITIES if side in sides else ():
                    unit = "1" if quantity in ("cores_par", "cores_seq", "alpha") else "B/s"
                    file.write(f"{level} any memory_{quantity} - {sides[side][quantity]!r} {unit} #: - - 9 {method}\n")
        return path

    @staticmethod
    def random_side(chance, cores):
        total = chance.uniform(2e10, 1e11)
        return {"cores_par": chance.randint(1, cores), "total_par": total, "cores_seq": chance.randint(1, cores),
                "total_seq": total * chance.uniform(0.7, 1.1), "total_par2": total * chance.uniform(0.9, 1),
                "alpha": chance.choice([1, chance.uniform(0.2, 1)]), "loss_left": chance.uniform(0, 5e8),
                "loss_right": chance.uniform(-1e8, 4e8), "computation": total / chance.uniform(1, 1.5 * cores),
                "message": chance.uniform(1e9, 1.5e10)}

    def test_placements_and_formats(self):
        self.assertEqual({key[1:] for key in self.rows("henri")}, {(0, 0), (0, 1), (1, 0), (1, 1)})
        self.assertEqual({key[1:] for key in self.rows("henri-subnuma")}, {(0, 0), (0, 1), (0, 2), (2, 0), (2, 2), (2, 3)})
        self.assertEqual({key[1:] for key in self.rows("henri-subnuma", "--comm-numa", 3)}, {(i, 3) for i in range(4)})
        self.assertEqual(list(self.rows("henri", "--comp-numa", 1, "--comm-numa", 0, "--compute-cores", 7)), [(7, 1, 0)])
        self.assertEqual({key[0] for key in self.rows("billy")}, set(range(1, 33)))
        self.assertEqual(self.rows("diablo", "--compute-cores", 0, "--comp-numa", 0, "--comm-numa", 1),
                         {(0, 0, 1): (0, 0, 22394.3e6, 22394.3e6)})
        for name in ("henri", "henri-subnuma"):
            rows = json.loads(self.call("predict", "--memory", "--machine", name, "--format", "json"))
            self.assertEqual({tuple(row[column] for column in COLUMNS[:3]): tuple(row[column] for column in COLUMNS[3:])
                              for row in rows}, self.rows(name))
        lines = self.call("predict", "--memory", "--machine", "henri-subnuma", "--compute-cores", 12, "--comp-numa", 2).splitlines()
        self.assertIn("henri-subnuma", lines[0])
        self.assertEqual([line.split() for line in lines[2:]],
                         [["12", "2,", "remote", "0,", "local", "14391.4", "14391.4", "9767.2", "11450.4"],
                          ["12", "2,", "remote", "1,", "local", "14391.4", "14391.4", "9767.2", "11450.4"],
                          ["12", "2,", "remote", "2,", "remote", "11310.7", "14391.4", "3080.7", "11410.0"],
                          ["12", "2,", "remote", "3,", "remote", "14391.4", "14391.4", "9732.7", "11410.0"]])
        self.call("predict", "--memory", "--machine", "henri", "-o", self.path("out"), "--json")
        with open(self.path("out")) as file:
            self.assertEqual(len(json.load(file)), 72)

    def test_one_side_and_copies(self):
        chance = random.Random(4)
        sides = {side: self.random_side(chance, 6) for side in ("local", "remote")}
        local = self.write_table(self.path("local.tbl"), {"local": sides["local"]}, 6, 2, "cpu-copy")
        self.assertEqual({key[1:] for key in self.rows(local)}, {(0, 0), (0, 1)})
        self.assertEqual({key[1:] for key in self.rows(local, "--comp-numa", 1)}, {(1, 0), (1, 1)})
        self.call("predict", "--memory", "--machine", local, says="cpu-copy")
        self.call("predict", "--memory", "--machine", local, "--comp-numa", 0, "--comm-numa", 2, code=1,
                  says="machine 'm' has no memory_... at level inter_socket")
        remote = self.write_table(self.path("remote.tbl"), {"remote": sides["remote"]}, 6, 2)
        self.assertEqual({key[1:] for key in self.rows(remote)}, {(2, 2)})
        self.call("predict", "--memory", "--machine", remote, "--comm-numa", 1, code=1, says="level intra_socket")
        both = self.write_table(self.path("both.tbl"), sides, 6, 2)
        self.assertEqual(self.rows(both, "--comp-numa", 2, "--comm-numa", 2), self.rows(remote))

    def write_samples(self, name, table, chance, placements, method="nic", variants=RATES):
        """Samples around what the model says, three of each; {(variant, n, computation, message): median, B/s}."""
        medians, cores, nodes = {}, table["cores"], 2 * table["numa_nodes"]
        lines = [f"# memory cores {cores}", f"# memory numa_nodes {table['numa_nodes']}", f"# memory numa_all {nodes}",
                 f"# memory method {method}", "benchmark,variant,level,bytes,n,seconds,launch,computing_numa,message_numa,at_s"]
        level = "inter_node" if method == "nic" else "intra_socket"
        for computation, message in placements:
            for n in range(1, cores + 1):
                for variant, rate in zip(RATES, table["rates"][n, computation, message]):
                    place = (variant, 0 if variant == "message_alone" else n, "" if variant == "message_alone" else computation,
                             "" if variant == "computation_alone" else message)
                    if place in medians or variant not in variants:
                        continue
                    seconds = [64e6 / rate / chance.uniform(0.7, 1.2) for _ in range(3)]
                    medians[place] = 64e6 / sorted(seconds)[1]
                    lines += [f"memory_contention,{variant},{level},64000000,{place[1]},{each!r},1,{place[2]},{place[3]},0.5"
                              for each in seconds]
        self.write(name, "\n".join(lines) + "\n")
        return medians

    def expected_mapes(self, table, medians, asked=lambda n, computation, message: True):
        """{(of, placements): (MAPE, that of no contention, points)}, as D Table 2."""
        errors, remote = {}, table["numa_nodes"]
        for (variant, n, computation, message), measured in medians.items():
            if variant.endswith("_alone") or not asked(n, computation, message):
                continue
            rates = dict(zip(RATES, table["rates"][n, computation, message]))
            sample = computation == message and message in (0, remote)
            of = "communication" if variant == "message" else "computation"
            for placements in ("samples" if sample else "non-samples", "all"):
                errors.setdefault((of, placements), []).append(
                    [abs(measured - rates[name]) / measured for name in (variant, variant + "_alone")])
        mapes = {key: (*(math.fsum(column) / len(rows) for column in zip(*rows)), len(rows)) for key, rows in errors.items()}
        both = [mapes[of, "all"] for of in ("communication", "computation")]
        mapes["average", "all"] = ((both[0][0] + both[1][0]) / 2, (both[0][1] + both[1][1]) / 2, both[0][2] + both[1][2])
        return mapes

    def assert_mapes(self, expected, *arguments, says=""):
        rows = list(csv.reader(io.StringIO(self.call("predict", "--memory", "--format", "csv", *arguments, says=says))))
        self.assertEqual(rows[0], ["machine", "of", "placements", "mape", "mape_no_contention", "points"])
        self.assertEqual([tuple(row[1:3]) for row in rows[1:]], [
            *((of, placements) for of in ("communication", "computation") for placements in ("samples", "non-samples", "all")),
            ("average", "all")])
        for row in rows[1:]:
            value = expected.get(tuple(row[1:3]), (None, None, 0))
            self.assertEqual(int(row[5]), value[2], row)
            for text, share in zip(row[3:5], value):
                self.assertTrue(text == "" if share is None else math.isclose(float(text), share, rel_tol=1e-9), (row, value))
        objects = json.loads(self.call("predict", "--memory", "--format", "json", *arguments))
        self.assertEqual([["" if value is None else value for value in each.values()] for each in objects],
                         [[*row[:3], *(float(text) if text else "" for text in row[3:5]), int(row[5])] for row in rows[1:]])

    def test_errors_against_samples(self):
        chance = random.Random(2)
        for name in ("henri", "henri-subnuma", "occigen"):
            table = self.read_table(os.path.join(MACHINES, name + ".tbl"))
            nodes = range(2 * table["numa_nodes"])
            every = [(i, j) for i in nodes for j in nodes]
            medians = self.write_samples("raw.csv", table, chance, every)
            arguments = ("--machine", name, "--samples", self.path("raw.csv"))
            self.assert_mapes(self.expected_mapes(table, medians), *arguments)
            self.assert_mapes(self.expected_mapes(table, medians, lambda n, i, j: n == 9 and j == 1), *arguments,
                              "--compute-cores", 9, "--comm-numa", 1)
            lines = self.call("predict", "--memory", *arguments).splitlines()
            whole = self.expected_mapes(table, medians)["communication", "samples"]
            self.assertEqual(lines[2].split(), ["communication", "samples", f"{100 * whole[0]:.2f}", "%", f"{100 * whole[1]:.2f}",
                                                "%", str(whole[2])])
            # The two placements that the table is made of are all that --placements model measures.
            medians = self.write_samples("raw.csv", table, chance, [(0, 0), (table["numa_nodes"],) * 2])
            self.assert_mapes(self.expected_mapes(table, medians), *arguments)

    def test_errors_of_one_side(self):
        chance = random.Random(3)
        sides = {side: self.random_side(chance, 6) for side in ("local", "remote")}
        for method in ("nic", "cpu-copy"):
            table = self.read_table(self.write_table(self.path("both.tbl"), sides, 6, 1, method))
            medians = self.write_samples("raw.csv", table, chance, [(0, 0), (0, 1), (1, 0), (1, 1)], method)
            local = self.write_table(self.path("local.tbl"), {"local": sides["local"]}, 6, 1, method)
            self.assert_mapes(self.expected_mapes(table, medians, lambda n, i, j: i == j == 0), "--machine", local, "--samples",
                              self.path("raw.csv"), says=f"36 medians of {self.path('raw.csv')} are of placements")
            done = self.run_tool(("predict", "--memory", "--machine", local, "--samples", self.path("raw.csv"), "--comm-numa", 0,
                                  "--comp-numa", 0), 0, "")
            self.assertNotIn("medians of", done.stderr)
        self.call("predict", "--memory", "--machine", self.write_table(self.path("nic.tbl"), sides, 6), "--samples",
                  self.path("raw.csv"), code=1, says="method cpu-copy, but the table of machine 'm'")

    def test_wrong_tables(self):
        """Whatever is wrong with a row is told with its line, before anything is predicted."""
        side = self.random_side(random.Random(6), 6)
        with open(self.write_table(self.path("good.tbl"), {"local": side, "remote": side}, 6)) as file:
            good = file.read().splitlines()
        rows = {"intra_socket any memory_alpha - 0 1": "memory_alpha", "intra_socket any memory_alpha - 1.01 1": "memory_alpha",
                "intra_socket any memory_alpha - nan 1": "", "intra_socket any memory_alpha 3 0.5 1": "has no n",
                "intra_socket any memory_alpha 0.5 1": "", "intra_socket any memory_alpha - 0.5 B/s": "memory_alpha in 'B/s'",
                "intra_socket any memory_alpha - -0.5 1": "memory_alpha", "intra_socket any memory_alpha - 1e999 1": "",
                "intra_socket any memory_cores_seq - 0 1": "memory_cores_seq", "intra_socket any memory_cores_par - 2.5 1": "whole number",
                "intra_socket any memory_total_par - -1e9 B/s": "memory_total_par", "intra_socket any memory_message - 0 B/s": "",
                "intra_socket any memory_loss_left - inf B/s": ""}
        for row, says in rows.items():
            where = next(i for i, line in enumerate(good) if row.split()[2] in line)
            self.write("bad.tbl", "\n".join([*good[:where], row, *good[where + 1:]]) + "\n")
            self.assertIn(f"bad.tbl:{where + 1}: ", self.error("predict", "--memory", "--machine", self.path("bad.tbl"), says=says))
        where = next(i for i, line in enumerate(good) if "memory_alpha" in line)
        self.write("bad.tbl", "\n".join([*good, good[where]]) + "\n")
        self.error("predict", "--memory", "--machine", self.path("bad.tbl"), says="memory_alpha -' appears twice")
        self.write("bad.tbl", "\n".join([*good[:where], *good[where + 1:]]) + "\n")
        self.error("predict", "--memory", "--machine", self.path("bad.tbl"),
                   says="machine 'm' has no memory_alpha at level intra_socket, beside others of memory contention there")

    def test_wrong_samples(self):
        chance, table = random.Random(5), self.read_table(os.path.join(MACHINES, "henri.tbl"))
        self.write_samples("raw.csv", table, chance, [(0, 0)])
        samples = ("--samples", self.path("raw.csv"))
        self.call("predict", "--memory", "--machine", "bora", *samples)  # cannot be told from henri: 18 cores, 1 NUMA node
        self.call("predict", "--memory", "--machine", "dahu", *samples, code=1,
                  says="raw.csv: sockets of 18 cores and 1 NUMA nodes, but machine 'dahu' has 16 and 1")
        self.call("predict", "--memory", "--machine", "henri-subnuma", *samples, code=1, says="has 18 and 2")
        self.call("predict", "--memory", "--machine", "henri", *samples, "--comp-numa", 1, code=1, says="nothing was measured together")
        self.call("predict", "--memory", "--machine", "henri", *samples, "--comp-numa", 2, code=1, says="--comp-numa 2")
        self.call("predict", "--memory", "--machine", "henri", *samples, "--compute-cores", 19, code=1,
                  says="--compute-cores 19: the model covers the cores of one socket, of which machine 'henri' has 18")
        self.write_samples("raw.csv", table, chance, [(0, 0)], variants=("computation_alone", "message_alone"))
        self.call("predict", "--memory", "--machine", "henri", *samples, code=1, says="nothing was measured together")
        self.write("raw.csv", "benchmark,variant\n1,2\n")
        self.call("predict", "--memory", "--machine", "henri", *samples, code=1, says="raw.csv:")
        self.call("predict", "--memory", "--machine", "henri", "--samples", self.path("none.csv"), code=1, says="none.csv")
        self.call("predict", "trace.db", "--machine", "henri", *samples, code=2, says="require --memory")
        self.call("predict", "trace.db", "--machine", "henri", "--plot", "x.html", code=2, says="require --memory")
        self.call("predict", "--memory", "--machine", "henri", "--plot", "x.html", "--compute-cores", 3, code=2, says="--plot")

    def test_wrong_usage(self):
        memory = ("predict", "--memory", "--machine", "henri")
        self.call(*memory, "--compute-cores", 19, code=1, says="--compute-cores 19: the model covers the cores of one socket, "
                  "of which machine 'henri' has 18")
        self.call(*memory, "--comp-numa", 2, code=1, says="--comp-numa 2: machine 'henri' has the NUMA nodes 0 to 1")
        self.call(*memory, "--comm-numa", 7, code=1, says="--comm-numa 7: machine 'henri' has the NUMA nodes 0 to 1")
        self.call("predict", "--memory", "--machine", "summit", code=1, says="machine 'summit' has no memory_cores_par")
        table = self.write_table(self.path("m.tbl"), {"local": self.random_side(random.Random(1), 4)}, 4)
        with open(table) as file:
            lines = [line for line in file if " cores " not in line]
        with open(table, "w") as file:
            file.writelines(lines)
        self.call("predict", "--memory", "--machine", table, code=1, says="give a number with --compute-cores N")
        self.assertEqual(len(self.rows(table, "--compute-cores", 4096)), 1)
        for option, value in (("--compute-cores", 4097), ("--compute-cores", -1), ("--compute-cores", "many"), ("--comp-numa", ""),
                              ("--comm-numa", "1.5"), ("--comp-numa", "18446744073709551617")):
            self.call(*memory, option, value, code=2, says=option)
        self.call("predict", "--memory", code=2, says="--memory requires --machine")
        for options in (("trace.db",), ("--pattern", "P.csv"), ("--placement", "L.csv"), ("--model", "flow"), ("--latency", "in"),
                        ("--topology", "cube"), ("--repetitions", 2), ("--interval",)):
            self.call(*memory, *options, code=2, says="--memory and " + ("a trace" if options[0] == "trace.db" else options[0]))
        self.call(*memory, "--to-placement", "fill", code=2, says="--memory and --what-if")
        for option, says in (("--compute-cores", "requires --memory, or a model with +memory"), ("--comp-numa", "require --memory"),
                             ("--comm-numa", "require --memory")):
            self.call("predict", "trace.db", "--rounds", "--machine", "henri", option, 0, code=2, says=says)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
