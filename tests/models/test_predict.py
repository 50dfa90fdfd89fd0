"""`mpistair predict` as its users call it: patterns against share/doc/MODELS.md's worked values, traces against patterns.

usage: test_predict.py MPISTAIR SCHEMA.sql
"""
import csv
import io
import json
import os
import random
import sqlite3
import subprocess
import sys
import tempfile
import unittest

from empty_trace import empty_trace
from reference import LEVELS, Reference, cube_load, dragonfly_links, fat_tree_links, torus_links

MPISTAIR, SCHEMA = map(os.path.abspath, sys.argv[1:3])

PARTS = ["latency_s", "bandwidth_s", "contention_s", "queue_s", "link_s", "skew_s"]
MODELS = ["postal", "max-rate", "node-aware", "staircase", "staircase-max", "serial", "flow",
          "flow-window"]  # in the order of --model all
REFERENCES = [model for model in MODELS if model not in ("serial", "flow-window")]
SIDELESS = ["postal", "max-rate", "node-aware"]  # ignore --latency
PATTERN_A = [(0, 1, 2000000), (1, 0, 2000000), (2, 3, 1000000), (3, 2, 1000000), (4, 5, 500000), (5, 4, 500000)]
PATTERN_B = [(0, 1, 500000), (0, 2, 100000), (1, 0, 200000), (1, 2, 300000), (2, 0, 600000)]
PATTERN_C = [(2, 0, 600000), (3, 0, 200000), (3, 1, 250000), (3, 1, 250000), (0, 2, 400000)]
WORKED = [  # machine, model, pattern, sockets, microseconds
    ("thunderx2", "staircase", PATTERN_A, [0] * 6,
     [321.165949781, 321.165949781, 184.179648411, 184.179648411, 105.748275862, 105.748275862]),
    ("epyc-rome", "staircase", PATTERN_B, [0] * 3, [114.483968471, 83.372203765, 114.483968471]),
    ("epyc-rome", "max-rate", PATTERN_B, [0] * 3, [81.831372549, 50.719607843, 42.615686275]),
    ("thunderx2", "staircase", PATTERN_C, [0, 0, 0, 1], [124.914719933, 95.772350147, 120.514719933, 86.972350147]),
]


class Predict(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def path(self, name):
        return os.path.join(self.folder.name, name)

    def write_csv(self, name, header, rows):
        with open(self.path(name), "w", newline="") as file:
            csv.writer(file).writerows([header.split(","), *rows])
        return self.path(name)

    def run_predict(self, *arguments, code=0):
        rounds = [] if str(arguments[0]).startswith("-") else ["--rounds"]
        done = subprocess.run([MPISTAIR, "predict", *arguments, *rounds], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def predict_pattern(self, machine, model, messages, nodes, sockets, *arguments):
        """{rank: time_s}, in the order of the output."""
        pattern = self.write_csv("p.csv", "src,dst,bytes", messages)
        places = [(rank, nodes[rank], socket) for rank, socket in enumerate(sockets)]
        placement = self.write_csv("l.csv", "rank,node,socket", places)
        done = self.run_predict("--pattern", pattern, "--placement", placement, "--machine", machine, "--model", model,
                                "--format", "csv", *arguments)
        rows = list(csv.reader(io.StringIO(done.stdout)))
        self.assertEqual(rows[0], ["rank", "model", "time_s"])
        self.assertEqual([row[1] for row in rows[1:]], [model] * len(sockets))
        return {int(row[0]): float(row[2]) for row in rows[1:]}

    def test_worked_values(self):
        for machine, model, messages, sockets, microseconds in WORKED:
            times = self.predict_pattern(machine, model, messages, [5] * len(sockets), sockets)
            self.assertEqual(list(times), list(range(len(sockets))))
            for rank, expected in enumerate(microseconds):
                self.assertLess(abs(times[rank] * 1e6 / expected - 1), 1e-9)

    def test_output_file_and_json(self):
        pattern = self.write_csv("p.csv", "bytes,dst,src,send_s", [(10, 1, 0, 0.5)])
        placement = self.write_csv("l.csv", "rank,node,socket", [(1, 0, 0), (0, 0, 0)])
        common = ["--pattern", pattern, "--placement", placement, "--machine", "kunpeng"]
        done = self.run_predict(*common, "--json", "-o", self.path("out.json"))
        self.assertEqual(done.stdout, "")
        with open(self.path("out.json")) as file:
            rows = json.load(file)
        self.assertEqual([(row["model"], row["rank"]) for row in rows],
                         [(model, rank) for model in MODELS for rank in (0, 1)])
        for row in rows:
            parts = sum(row[part] for part in PARTS)
            self.assertEqual(row["time_s"], parts)
        # 2 ranks: nothing read at n > 1, so no note; a table that starts at n = 2 gives one.
        self.assertEqual(done.stderr, "")
        with open(self.path("m.tbl"), "w") as file:
            file.write("name m\nsource s\nintra_socket any tau - 0 s\nintra_socket any bw 2 1e9 B/s\n")
        common[-1] = self.path("m.tbl")
        self.assertIn("note: staircase: 1 bandwidths lie beyond", self.run_predict(*common).stderr)

    def test_random_patterns_against_the_reference(self):
        chance = random.Random(2023)
        for case in range(30):
            machine = {}
            for level in LEVELS:
                names = ["any"] if case % 3 == 0 else ["short", "eager", "rendezvous"][chance.randrange(3):]
                thresholds = sorted(chance.sample(range(1, 400000), len(names) - 1))
                machine[level] = {name: (threshold, chance.uniform(0, 5e-6),
                                         [(n, n ** 0.6 * chance.uniform(1e9, 2e9)) for n in (1, 2, 4, 8)])
                                  for name, threshold in zip(names, [0, *thresholds])}
            with open(self.path("m.tbl"), "w") as file:
                file.write("name m\nsource chance\n")
                for level, protocols in machine.items():
                    for name, (threshold, tau, knots) in protocols.items():
                        file.write(f"{level} {name} tau - {tau!r} s\n")
                        file.writelines(f"{level} {name} bw {n} {bw!r} B/s\n" for n, bw in knots)
                        if threshold > 0:
                            file.write(f"{level} {name} threshold - {threshold} B\n")
                last = list(machine["inter_node"])[-1]
                injection, buffer = ({last: chance.uniform(1e9, 6e9)}, chance.randrange(300000)) if case % 2 else ({}, 0)
                file.writelines(f"inter_node {name} injection - {rate!r} B/s\n" for name, rate in injection.items())
                file.writelines([f"inter_node any buffer - {buffer} B\n"] if case % 2 else [])
            ranks = chance.randrange(1, 24)
            places = [(chance.randrange(2), chance.randrange(2)) for _ in range(ranks)]
            messages = [(chance.randrange(ranks), chance.randrange(ranks),
                         chance.choice([0, 1000, 70000, chance.randrange(1000000)])) for _ in range(chance.randrange(90))]
            reference = Reference(machine, places, messages, injection, buffer)
            side = ("in", "out", "max")[case // 3 % 3]
            pattern = self.write_csv("p.csv", "src,dst,bytes", messages)
            placement = self.write_csv("l.csv", "rank,node,socket", [(rank, *place) for rank, place in enumerate(places)])
            done = self.run_predict("--pattern", pattern, "--placement", placement, "--machine", self.path("m.tbl"),
                                    "--model", ",".join(REFERENCES), "--latency", side, "--json")
            rows = {(row["model"], row["rank"]): row for row in json.loads(done.stdout)}
            self.assertEqual(len(rows), len(REFERENCES) * ranks)
            for model in REFERENCES:
                times, own = reference.predict(model, side), reference.own(model, side)
                for rank, time_s in enumerate(times):
                    row = rows[model, rank]
                    self.assertLessEqual(abs(row["time_s"] - time_s), 1e-9 * time_s + 1e-18, (case, row))
                    bandwidth_s = row["time_s"] - row["latency_s"] if own is None else own[rank]
                    self.assertLessEqual(abs(row["bandwidth_s"] - bandwidth_s), 1e-9 * time_s + 1e-18, (case, row))

    def test_interval(self):
        with open(self.path("m.tbl"), "w") as file:
            file.write("name m\nsource s\nintra_socket any tau - 0 s\n"
                       "intra_socket any bw 1 1e9 B/s #: 0.9e9 1.25e9 9 m\nintra_socket any bw 2 2e9 B/s\n")
        messages = [(0, 1, 900000)]
        pattern = self.write_csv("p.csv", "src,dst,bytes", messages)
        placement = self.write_csv("l.csv", "rank,node,socket", [(rank, 0, 0) for rank in range(2)])
        common = ["--pattern", pattern, "--placement", placement, "--machine", self.path("m.tbl"), "--model", "postal"]
        done = self.run_predict(*common, "--interval", "--format", "csv")
        self.assertIn("2 of 3 tau and bw of 'm' have no interval", done.stderr)
        self.assertEqual(done.stdout, self.run_predict(*common, "--interval", "--format", "csv").stdout)  # no chance
        rows = list(csv.reader(io.StringIO(done.stdout)))
        self.assertEqual(rows[0], ["rank", "model", "time_s", "low_s", "high_s"])
        for row in rows[1:]:
            self.assertAlmostEqual(float(row[2]), 9e-4)
            self.assertAlmostEqual(float(row[3]) / 7.2e-4, 1, delta=0.08)  # 200 draws
            self.assertAlmostEqual(float(row[4]) / 1e-3, 1, delta=0.08)  # 200 draws
        self.assertEqual([(row["low_s"], row["high_s"]) for row in json.loads(self.run_predict(*common, "--json").stdout)],
                         [(None, None)] * 2)
        table = self.run_predict(*common, "--interval").stdout.splitlines()
        self.assertEqual(table[0].split(), "rank model time [us] low [us] high [us] bandwidth [us]".split())
        self.assertEqual(table[1].split()[:3], ["0", "postal", "900.000"])
        common[common.index(self.path("m.tbl"))] = "epyc-rome"
        done = self.run_predict(*common, "--interval", "--format", "csv")
        self.assertIn("has no confidence intervals", done.stderr)
        self.assertTrue(done.stdout.splitlines()[1].endswith(",,"))
        trace = self.make_trace([(1, messages, {0: 1e-3, 1: 1e-3})], world=2, sockets=(0, 0))
        self.run_predict(trace, "--machine", self.path("m.tbl"))
        self.assertEqual(self.rows(trace, "SELECT count(*), count(low_s) FROM prediction"), [(2 * len(MODELS), 0)])
        self.run_predict(trace, "--interval")
        stored = self.rows(trace, "SELECT time_s, low_s, high_s FROM prediction JOIN prediction_run ON id = run_id WHERE "
                                  "model = 'postal'")
        self.assertEqual([tuple(map(float, row[2:])) for row in rows[1:]], stored)
        self.assertEqual(self.rows(trace, "SELECT sum(extrapolated) FROM prediction"), [(0,)])
        with open(self.path("m.tbl"), "w") as file:
            file.write("name m\nsource s\nintra_socket any tau - 0 s\nintra_socket any bw 2 2e9 B/s\n")
        self.run_predict(trace, "--machine", self.path("m.tbl"), "--model", "staircase")
        self.assertEqual(self.rows(trace, "SELECT model, sum(p.extrapolated) FROM prediction p JOIN prediction_run ON id = "
                                          "run_id WHERE p.extrapolated > 0 GROUP BY 1"), [("staircase", 2)])

    def test_odd_intervals(self):
        pattern = self.write_csv("p.csv", "src,dst,bytes", [(0, 1, 900000)])
        placement = self.write_csv("l.csv", "rank,node,socket", [(0, 0, 0), (1, 0, 0)])
        for ends, known in {"2e9 0.5e9": None, "-1 5e9": None, "nan nan": None, "- -": None, "1e9 1e9": None,
                            "0 2e9": True, "1e-300 1e300": True, "2e9 3e9": True, "1e8 -": True, "- 2e9": True}.items():
            with open(self.path("m.tbl"), "w") as file:
                file.write(f"name m\nsource s\nintra_socket any tau - 0 s\nintra_socket any bw 1 1e9 B/s #: {ends} 3 m\n")
            arguments = ["--pattern", pattern, "--placement", placement, "--machine", self.path("m.tbl"), "--interval", "-f", "csv"]
            done = subprocess.run([MPISTAIR, "predict", *arguments], capture_output=True, text=True, timeout=60)
            if done.returncode == 1:  # the table's reader, or a draw of an absurd machine
                self.assertRegex(done.stderr, "^mpistair: .*(m.tbl:4|out of range)", ends)
                continue
            for row in csv.DictReader(io.StringIO(done.stdout)):
                if float(row["time_s"]) == 0:  # nothing to do: known to take no time
                    continue
                self.assertEqual(row["low_s"] != "", known is True, (ends, row))
                if known:
                    self.assertLessEqual(float(row["low_s"]), float(row["time_s"]), (ends, row))
                    self.assertGreaterEqual(float(row["high_s"]), float(row["time_s"]), (ends, row))

    def make_trace(self, kinds, world=4, sockets=(0, 0, 0, 1), nodes=(0, 0, 0, 0)):
        """kinds: [(rounds, messages, {rank: measured_s})]."""
        path = self.path("trace.db")
        database = empty_trace(path, SCHEMA)
        database.execute("INSERT INTO run VALUES (1,'k','0',0,0,'MPICH','l','t','c',?,?,NULL,NULL,NULL,NULL, 'all')", (world, world))
        for rank in range(world):
            database.execute("INSERT INTO process(rank,node,socket,ended) VALUES (?,?,?,'finalize')",
                             (rank, nodes[rank], sockets[rank]))
        round_id = 0
        for kind_id, (rounds, messages, measured) in enumerate(kinds):
            database.execute("INSERT INTO kind VALUES (?,?,?,?)",
                             (kind_id, rounds, len(messages), sum(m[2] for m in messages)))
            for _ in range(rounds):
                database.execute("INSERT INTO round(id, kind_id, begin_ns, end_ns) VALUES (?,?,0,1)", (round_id, kind_id))
                for src, dst, size in messages:
                    database.execute(
                        "INSERT INTO message(src,dst,comm,tag,bytes,level,round_id,send_post_ns,recv_post_ns,recv_bytes,"
                        "send_function,recv_function,any_source,any_tag,uncertain) VALUES (?,?,0,0,?,NULL,?,0,0,?,'s','r',"
                        "0,0,0)", (src, dst, size, None if src == dst else round_id, size))
                for rank, seconds in measured.items():
                    database.execute("INSERT INTO round_process VALUES (?,?,0,?,0)", (round_id, rank, seconds * 1e9))
                round_id += 1
        database.commit()
        database.close()
        return path

    def rows(self, path, sql):
        database = sqlite3.connect(path)
        result = database.execute(sql).fetchall()
        database.close()
        return result

    def test_trace_gives_what_the_pattern_gives(self):
        pair = [(1, 3, 70000), (1, 1, 10)]
        path = self.make_trace([(3, PATTERN_C, {0: 1e-4, 1: 1e-4, 2: 1e-4, 3: 1e-4}), (1, pair, {1: 5e-5, 3: 2e-5})])
        done = self.run_predict(path, "--machine", "thunderx2", "--format", "csv")
        expected = {0: self.predict_pattern("thunderx2", "staircase", PATTERN_C, [0] * 4, [0, 0, 0, 1]),
                    1: self.predict_pattern("thunderx2", "staircase", pair, [0] * 4, [0, 0, 0, 1])}
        stored = self.rows(path, "SELECT kind_id, rank, time_s, " + " + ".join(PARTS) + " FROM "
                                 "prediction JOIN prediction_run ON id = run_id WHERE model = 'staircase'")
        self.assertEqual(sorted((kind, rank) for kind, rank, _, _ in stored), [(0, 0), (0, 1), (0, 2), (0, 3), (1, 1), (1, 3)])
        for kind, rank, time_s, parts_s in stored:
            self.assertEqual(time_s, expected[kind][rank])
            self.assertEqual(time_s, parts_s)
        # T11 by hand: three rounds of kind 0 and one of kind 1.
        actual = {0: 3e-4, 1: 3e-4 + 5e-5, 2: 3e-4, 3: 3e-4 + 2e-5}
        model = {rank: 3 * expected[0][rank] + (expected[1][rank] if rank in (1, 3) else 0) for rank in range(4)}
        error = sum(abs(actual[rank] - model[rank]) for rank in range(4)) / sum(actual.values())
        bias = sum(model[rank] - actual[rank] for rank in range(4)) / sum(actual.values())
        table = list(csv.DictReader(io.StringIO(done.stdout)))
        self.assertEqual([row["model"] for row in table], MODELS)
        self.assertAlmostEqual(float(table[MODELS.index("staircase")]["error"]), error, delta=1e-12)
        self.assertAlmostEqual(float(table[MODELS.index("staircase")]["bias"]), bias, delta=1e-12)
        self.assertEqual(int(table[MODELS.index("staircase")]["worst_rank"]), max(range(4), key=lambda r: abs(actual[r] - model[r])))

    def test_judgement(self):
        """Too few messages, and errors above half of the time, are said in each format."""
        for rounds, time_s, judgement, text in (1, 1e-4, "too few messages", "too little to judge a model by: the rounds have"), \
                (4, 1.0, "not explained", "even half of the time in messages"):
            path = self.make_trace([(1, PATTERN_C, {rank: time_s for rank in range(4)})] * rounds)
            database = sqlite3.connect(path)  # one round after the other
            for table in "round", "round_process":
                database.execute(f"UPDATE {table} SET begin_ns = begin_ns + {'id' if table == 'round' else 'round_id'} * 2000000000, "
                                 f"end_ns = end_ns + {'id' if table == 'round' else 'round_id'} * 2000000000")
            database.commit()
            database.close()
            for options, found in ((["--format", "csv"], lambda out: [row["judgement"] for row in csv.DictReader(io.StringIO(out))]),
                                   (["--json"], lambda out: [json.loads(line)["judgement"] for line in out.splitlines()] if out[0] == "{" else [row["judgement"] for row in json.loads(out)])):
                self.assertEqual(set(found(self.run_predict(path, "--machine", "thunderx2", *options).stdout)), {judgement}, options)
            self.assertIn(text, self.run_predict(path, "--machine", "thunderx2").stdout)
            os.unlink(path)

    def test_trace_again_replaces(self):
        path = self.make_trace([(1, PATTERN_C, {rank: 1e-4 for rank in range(4)})])
        self.run_predict(path, "--machine", "thunderx2")
        first = self.rows(path, "SELECT * FROM prediction ORDER BY run_id, rank")
        self.run_predict(path)  # the only machine of the trace
        self.assertEqual(len(self.rows(path, "SELECT * FROM prediction_run")), len(MODELS))
        self.assertEqual([row[1:] for row in first],
                         [row[1:] for row in self.rows(path, "SELECT * FROM prediction ORDER BY run_id, rank")])
        self.run_predict(path, "--latency", "max", "--model", "staircase,postal,staircase")
        self.assertEqual(self.rows(path, "SELECT model, options FROM prediction_run ORDER BY model, options"),
                         sorted([(model, "") for model in MODELS] + [("staircase", "latency=max")]))
        done = self.run_predict(path, "--latency", "max", "--json")
        self.assertEqual([row["options"] for row in json.loads(done.stdout)],
                         ["" if model in SIDELESS else "latency=max" for model in MODELS])
        self.run_predict(path, "--machine", "kunpeng")
        self.assertIn("thunderx2", self.run_predict(path, code=1).stderr)

    def test_loads_against_the_reference(self):
        networks = [
            ("topology torus\ndimensions 3 4 2\nnodes_per_router 2\n", lambda *ends: torus_links((3, 4, 2), 2, *ends)),
            ("topology fat-tree\nchildren 4 3 4\nparents 1 2 3\n",
             lambda *ends: fat_tree_links((4, 3, 4), (1, 2, 3), *ends)),
            ("topology fat-tree\nchildren 8 6\nparents 2 3\n", lambda *ends: fat_tree_links((8, 6), (2, 3), *ends)),
            ("topology dragonfly\ngroups 6\nrouters 4\nglobal_links 3\nnodes_per_router 2\n",
             lambda *ends: dragonfly_links(6, 4, 3, 2, *ends)), (None, None)]
        chance = random.Random(7)
        for text, links_of in networks * 3:
            nodes = [chance.randrange(48) for _ in range(chance.randrange(2, 100))]
            messages = [(chance.randrange(len(nodes)), chance.randrange(len(nodes)), chance.choice([0, 10 ** 6, 12345678]))
                        for _ in range(chance.randrange(1, 200))]
            crossing = [(src, dst, size) for src, dst, size in messages if size > 0 and nodes[src] != nodes[dst]]
            expected, loads = [0] * len(nodes), {}
            routes = [links_of(nodes[src], nodes[dst]) if text else ["cube"] for src, dst, _ in crossing]
            for (*_, size), links in zip(crossing, routes):
                for link in links:
                    loads[link] = loads.get(link, 0) + size
            if text is None and crossing:
                loads["cube"] = cube_load(nodes, messages)
            for (*ends, _), links in zip(crossing, routes):
                for rank in ends:
                    expected[rank] = max([expected[rank], *(loads[link] for link in links)])
            if text is not None:
                with open(self.path("t.topo"), "w") as file:
                    file.write("name t\n" + text)
            pattern = self.write_csv("p.csv", "src,dst,bytes", messages)
            placement = self.write_csv("l.csv", "rank,node,socket", [(rank, node, 0) for rank, node in enumerate(nodes)])
            done = self.run_predict("--pattern", pattern, "--placement", placement, "--machine", "blue-waters", "--model",
                                    "postal+contention", "--json", *(["--topology", self.path("t.topo")] if text else []))
            for row in json.loads(done.stdout):
                self.assertAlmostEqual(row["link_s"], 1e-10 * expected[row["rank"]], delta=1e-9 * row["link_s"] + 1e-18,
                                       msg=(text, row))

    def test_topology_of_a_trace(self):
        # B Fig. 6: nodes 0 and 2 of Geminis 0 and 1 to Geminis 2 and 3; both cross the link between 1 and 2.
        messages = [(0, 1, 1000000), (2, 3, 2000000)]
        path = self.make_trace([(1, messages, {rank: 1e-3 for rank in range(4)})], nodes=(0, 4, 2, 6))
        stored = ("SELECT model, options, rank, link_s FROM prediction JOIN prediction_run ON id = run_id "
                  "ORDER BY model, options, rank")
        self.run_predict(path, "--machine", "blue-waters", "--model", "staircase+contention", "--latency", "max",
                         "--topology", "gemini-line")
        line = [("staircase+contention", "latency=max topology=gemini-line", rank) for rank in range(4)]
        self.assertEqual([row[:3] for row in self.rows(path, stored)], line)
        for *_, link_s in self.rows(path, stored):
            self.assertAlmostEqual(link_s, 1e-10 * 3e6, delta=1e-15)
        # B7: four nodes of two Geminis, both messages one router on: 2 x 1 x 3e6 / 4. Beside what is there.
        done = self.run_predict(path, "--model", "postal,staircase+contention", "--json")
        self.assertEqual([row["options"] for row in json.loads(done.stdout)], ["", ""])
        rows = {row[:3]: row[3] for row in self.rows(path, stored)}
        self.assertEqual(len(rows), 12)
        self.assertAlmostEqual(rows["staircase+contention", "", 3], 1e-10 * 1.5e6, delta=1e-18)
        done = self.run_predict(path, "--topology", "gemini-line", code=2)
        self.assertIn("--topology requires a model with +contention", done.stderr)
        done = self.run_predict(path, "--topology", "no-such", "--model", "postal+contention", code=1)
        self.assertIn("topology 'no-such': not among the shipped ones", done.stderr)

    def test_places(self):
        measured = {rank: 1e-4 for rank in range(4)}
        path = self.make_trace([(1, PATTERN_C, measured)], sockets=(0, None, 0, 1))
        done = self.run_predict(path, "--machine", "thunderx2")
        self.assertIn("the socket of 1 ranks is not known and was taken as socket 0", done.stderr)
        first = self.rows(path, "SELECT rank, time_s FROM prediction ORDER BY run_id, rank")
        placement = self.write_csv("l.csv", "rank,node,socket", [(0, 0, 7), (1, 0, 7), (2, 0, 7), (3, 0, 1)])
        done = self.run_predict(path, "--placement", placement)
        self.assertEqual(done.stderr, "")
        self.assertEqual(first, self.rows(path, "SELECT rank, time_s FROM prediction ORDER BY run_id, rank"))
        with open(placement, "a") as file:
            file.write("4,0,0\n")
        self.assertIn("the placement has 5 ranks", self.run_predict(path, "--placement", placement, code=1).stderr)
        os.unlink(path)
        path = self.make_trace([(1, PATTERN_C, measured)], nodes=(0, 0, 0, None))
        self.assertIn("not known where rank 3 ran", self.run_predict(path, "--machine", "kunpeng", code=1).stderr)
        self.assertEqual(self.rows(path, "SELECT count(*) FROM machine"), [(0,)])  # nothing is left of a failure
        os.unlink(path)
        path = self.make_trace([(1, PATTERN_C, measured)], nodes=(0, 0, 0, 1))
        self.assertIn("no values for level inter_node", self.run_predict(path, "--machine", "kunpeng", code=1).stderr)

    def test_recorded_levels_that_differ_are_told(self):
        path = self.make_trace([(1, PATTERN_C, {0: 1e-4})])
        database = sqlite3.connect(path)
        database.execute("UPDATE form SET level = 1")  # those of rank 3 come from the other socket
        database.commit()
        database.close()
        self.assertIn("3 of 5 messages were recorded at another level", self.run_predict(path, "-m", "thunderx2").stderr)

    def test_no_rounds(self):
        path = self.make_trace([])
        done = self.run_predict(path, "--machine", "kunpeng", "--format", "csv")
        self.assertIn("holds no rounds", done.stderr)
        self.assertEqual(done.stdout.splitlines()[1], "kunpeng,postal,,,,,,")
        self.assertIn('"error": null', self.run_predict(path, "--machine", "kunpeng", "--json").stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
