"""`mpistair predict --model flow` and flow-window, which know how often a round is repeated and what is left of it in buffers:
random patterns against the reference, what a trace's rounds change, and what a user gives wrongly.

usage: test_repeated.py MPISTAIR SCHEMA.sql
"""
import csv
import json
import os
import random
import sqlite3
import subprocess
import sys
import unittest

from empty_trace import empty_trace
from predict_test import PredictTest
from reference import Reference

MPISTAIR, SCHEMA = map(os.path.abspath, sys.argv[1:3])
MACHINE = """name m\nsource s\ninter_node any tau - 1e-3 s\ninter_node any bw 1 5e7 B/s\nintra_socket any tau - 0 s
intra_socket any bw 1 1e9 B/s\n"""


class Repeated(PredictTest):
    def run_predict(self, *arguments, code=0):
        rounds = [] if str(arguments[0]).startswith("-") else ["--rounds"]
        done = subprocess.run([MPISTAIR, "predict", *arguments, *rounds], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def predict(self, machine, places, messages, *arguments):
        return json.loads(self.run_predict(
            "--machine", machine, "--json", "--pattern", self.write_csv("p.csv", "src,dst,bytes", messages), "--placement",
            self.write_csv("l.csv", "rank,node,socket", [(r, *p) for r, p in enumerate(places)]), *arguments).stdout)

    def test_random_patterns_against_the_reference(self):
        chance = random.Random(60)
        changed = 0
        for case in range(30):
            protocols = [["any"], ["eager", "rendezvous"], ["short", "eager", "rendezvous"]][case % 3]
            buffer = chance.choice([1, 300000, 3000000])
            machine, path = self.random_machine(chance, protocols, 1e-3, (1e7, 2e8), 200000,
                                                *([f"inter_node any buffer - {buffer} B"] if buffer > 0 else []))
            ranks = chance.randrange(2, 12)
            places = [(chance.randrange(3), chance.randrange(2)) for _ in range(ranks)]
            messages = [(chance.randrange(ranks), chance.randrange(ranks), chance.choice([0, 1, 92160, chance.randrange(10 ** 6), chance.randrange(10 ** 7)]))
                        for _ in range(chance.randrange(40))]
            side, repetitions = ("in", "out", "max")[case // 3 % 3], chance.choice([1, 2, 7, 8, 9, 40, 1000])
            rows = self.predict(path, places, messages, "--model", "flow", "--latency", side, "--repetitions", str(repetitions))
            reference = Reference(machine, places, messages, {}, buffer)
            reference.repetitions = repetitions
            alone = self.predict(path, places, messages, "--model", "flow", "--latency", side)
            for row, time_s, own_s, other in zip(rows, reference.predict("flow", side), reference.own("flow", side), alone):
                self.assertLessEqual(abs(row["time_s"] - time_s), 1e-9 * time_s, (case, row))
                self.assertLessEqual(abs(row["bandwidth_s"] - own_s), 1e-9 * own_s, (case, row))
                changed += row["time_s"] != other["time_s"]
        self.assertGreater(changed, 20)  # by the number of repetitions

    def test_all_among_names(self):
        pattern = [[(0, 0), (1, 0)], [(0, 1, 100000)]]
        names = lambda *models: [row["model"] for row in self.predict(machine, *pattern, *models)][::2]
        machine = self.write("m.tbl", MACHINE + "any any gamma - 1e-9 s\n")
        self.assertIn("flow-window", names())
        self.assertEqual(names("--model", "all"), names())
        self.assertEqual(names("--model", "all,flow+queue"), [*names(), "flow+queue"])
        self.assertEqual(names("--model", "flow,all,flow"), ["flow", *(name for name in names() if name != "flow")])

    def make_trace(self, ranks, rounds):
        """rounds: [(kind, begin_s of senders, end_s, [(src, dst, bytes)])]."""
        path = os.path.join(self.folder, "trace.db")
        database = empty_trace(path, SCHEMA)
        database.execute("INSERT INTO run VALUES (1,'k','0',0,0,'Open MPI','l','t','c',?,?,NULL,NULL,NULL,NULL, 'all')", (ranks, ranks))
        database.executemany("INSERT INTO process(rank,node,socket,ended) VALUES (?,?,0,'finalize')", [(r, r) for r in range(ranks)])
        database.executemany("INSERT INTO kind VALUES (?,?,3,900000)",
                             [(kind, sum(other == kind for other, *_ in rounds)) for kind in {kind for kind, *_ in rounds}])
        for round_id, (kind, begin_s, end_s, messages) in enumerate(rounds, 1):
            begin, end = round(begin_s * 1e9), round(end_s * 1e9)
            database.execute("INSERT INTO round(id, kind_id, begin_ns, end_ns) VALUES (?,?,?,?)", (round_id, kind, begin, end))
            database.executemany("INSERT INTO round_process VALUES (?,?,?,?,0)",
                                 [(round_id, rank, begin, end) for rank in range(ranks)])
            database.executemany(
                "INSERT INTO message(src,dst,comm,tag,bytes,level,round_id,send_post_ns,recv_post_ns,recv_bytes,send_function,"
                "recv_function,any_source,any_tag,uncertain) VALUES (?,?,0,0,?,'inter_node',?,?,?,?,'s','r',0,0,0)",
                [(*message, round_id, begin, begin, message[2]) for message in messages])
        database.commit()
        database.close()
        return path

    def stored(self, path, machine, *arguments):
        """{(model, kind, rank): time_s}"""
        self.run_predict(path, "--machine", machine, *arguments)
        database = sqlite3.connect(path)
        rows = database.execute("SELECT model, kind_id, rank, time_s FROM prediction JOIN prediction_run q ON q.id = run_id "
                                "WHERE options = ?", ("repetitions=" + arguments[-1] if "--repetitions" in arguments else "",))
        found = {tuple(row[:3]): row[3] for row in rows}
        database.close()
        return found

    def test_rounds_of_a_trace(self):
        """A kind of n rounds is repeated n times, or no more often than is said."""
        machine = self.write("m.tbl", MACHINE + "inter_node any buffer - 700000 B\n")
        messages, places = [(0, 1, 20000), (1, 0, 300000), (0, 2, 400000)], [(rank, 0) for rank in range(3)]
        kinds = [1, 2, 2, 2, 3, 3]
        trace = self.make_trace(3, [(kind, i, i + 0.1, messages) for i, kind in enumerate(kinds)])
        for given in ([], ["--repetitions", "2"]):
            found = self.stored(trace, machine, "--model", "flow,flow-window", *given)
            for kind in 1, 2, 3:
                n = min(kinds.count(kind), int(given[1]) if given else kinds.count(kind))
                rows = self.predict(machine, places, messages, "--model", "flow,flow-window", "--repetitions", str(n))
                for row in rows:
                    self.assertAlmostEqual(found[row["model"], kind, row["rank"]], row["time_s"], delta=1e-15)

    def test_a_full_buffer_stays_full(self):
        """200 one-way rounds of 1 MB at 50 MB/s: 2 MB may be left at the end, the rest takes its 3.96 s."""
        machine = self.write("m.tbl", MACHINE + "inter_node any buffer - 2e6 B\n")
        row = self.predict(machine, [(0, 0), (1, 0)], [(0, 1, 10 ** 6)], "--model", "flow", "--repetitions", "200")[0]
        self.assertAlmostEqual(row["time_s"], 3.96 / 200, delta=1e-4)
        table = self.write("h.tbl", """name h\nsource s\ninter_node any tau - 1e-6 s\ninter_node any bw 1 1e9 B/s
inter_node any buffer - 2e6 B\nintra_socket any tau - 0 s\nintra_socket any bw 1 5e9 B/s\n""")
        for repetitions, mean_us in ((1, 200), (2, 200), (3, 1400 / 3), (4, 600)):
            row = self.predict(table, [(0, 0), (1, 0)], [(0, 1, 10 ** 6)], "--model", "flow", "--repetitions", str(repetitions))[0]
            self.assertAlmostEqual(row["time_s"] * 1e6, mean_us, delta=1e-6)

    def test_absurd_machines(self):
        """Beyond the range of a double: an error. Near to it: a time."""
        places, messages = [(0, 0), (1, 0), (1, 0)], [(0, 1, 10 ** 6), (1, 0, 10 ** 5), (2, 0, 5), (0, 0, 7)]
        for bandwidth, tau, code in (("1e-308", "0", 1), ("1e-308", "1e300", 1), ("1e308", "0", 0), ("1e9", "1e300", 0), ("1e-290", "0", 0)):
            machine = self.write("m.tbl", MACHINE.replace("1e-3", tau).replace("5e7", bandwidth))
            files = ["--pattern", self.write_csv("p.csv", "src,dst,bytes", messages), "--placement",
                     self.write_csv("l.csv", "rank,node,socket", [(r, *p) for r, p in enumerate(places)])]
            done = self.run_predict(*files, "--machine", machine, "--model", "flow-window", "--json", code=code)
            if code == 1:
                self.assertIn("the modelled time of a rank is out of range", done.stderr)
            else:
                self.assertTrue(all(0 <= row["time_s"] < float("inf") for row in json.loads(done.stdout)))

    def test_wrong_repetitions(self):
        self.write("m.tbl", MACHINE)
        common = ["--pattern", self.write_csv("p.csv", "src,dst,bytes", []), "--placement",
                  self.write_csv("l.csv", "rank,node,socket", [(0, 0, 0)]), "--machine", os.path.join(self.folder, "m.tbl")]
        for text in ("", "0", "-1", "1001", "ten", "1.5", "99999999999999999999"):
            said = self.run_predict(*common, "--model", "flow-window", "--repetitions", text, code=2).stderr
            self.assertIn("--repetitions", said)
        for models in ("serial", "staircase,postal+queue"):
            said = self.run_predict(*common, "--model", models, "--repetitions", "3", code=2).stderr
            self.assertIn("--repetitions requires --model flow or flow-window", said)
        for models in ("all", "flow-window", "flow"):
            self.run_predict(*common, "--model", models, "--repetitions", "3")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
