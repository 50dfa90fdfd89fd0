"""`mpistair predict --model flow-window`, which knows how often a round is repeated: random patterns against the reference,
what a trace's rounds change, and what a user gives wrongly.

usage: test_tcp.py MPISTAIR SCHEMA.sql
"""
import json
import os
import random
import sqlite3
import subprocess
import sys
import unittest

from predict_test import PredictTest
from reference import Reference

MPISTAIR, SCHEMA = map(os.path.abspath, sys.argv[1:3])
MACHINE = """name m\nsource s\ninter_node any tau - 1e-3 s\ninter_node any bw 1 5e7 B/s\nintra_socket any tau - 0 s
intra_socket any bw 1 1e9 B/s\n"""


class Repeated(PredictTest):
    def run_predict(self, *arguments, code=0):
        done = subprocess.run([MPISTAIR, "predict", *arguments], capture_output=True, text=True, timeout=60)
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
            machine, path = self.random_machine(chance, protocols, 1e-3, (1e7, 2e8), 200000)
            ranks = chance.randrange(2, 12)
            places = [(chance.randrange(3), chance.randrange(2)) for _ in range(ranks)]
            messages = [(chance.randrange(ranks), chance.randrange(ranks), chance.choice([0, 1, 92160, chance.randrange(10 ** 6), chance.randrange(10 ** 7)]))
                        for _ in range(chance.randrange(40))]
            side, repetitions = ("in", "out", "max")[case // 3 % 3], chance.choice([1, 2, 6, 7, 8, 9, 40])
            flow_window = "--model", "flow-window", "--latency", side
            rows = self.predict(path, places, messages, *flow_window, "--repetitions", str(repetitions))
            reference = Reference(machine, places, messages, {}, 0)
            reference.repetitions = repetitions
            ten_times = self.predict(path, places, messages, *flow_window)
            for row, time_s, own_s, of_ten in zip(rows, reference.predict("flow-window", side), reference.own("flow-window", side),
                                                  ten_times):
                self.assertLessEqual(abs(row["time_s"] - time_s), 1e-9 * time_s, (case, row))
                self.assertLessEqual(abs(row["bandwidth_s"] - own_s), 1e-9 * own_s, (case, row))
                changed += row["time_s"] != of_ten["time_s"]
        self.assertGreater(changed, 20)  # by the number of repetitions

    def test_all_among_names(self):
        pattern = [[(0, 0), (1, 0)], [(0, 1, 100000)]]
        names = lambda *models: [row["model"] for row in self.predict(machine, *pattern, *models)][::2]
        machine = self.write("m.tbl", MACHINE + "any any gamma - 1e-9 s\n")
        self.assertIn("flow-window", names())
        self.assertEqual(names("--model", "all"), names())
        self.assertEqual(names("--model", "all,flow+queue"), [*names(), "flow+queue"])
        self.assertEqual(names("--model", "flow,all,flow"), ["flow", *(name for name in names() if name != "flow")])

    def test_rounds_of_a_trace(self):
        """A kind of n rounds is repeated n times, ten at most, or as often as is said."""
        machine, path = self.write("m.tbl", MACHINE), os.path.join(self.folder, "trace.db")
        messages = [(0, 1, 20000), (1, 0, 300000), (0, 2, 400000)]
        database = sqlite3.connect(path)
        database.execute("PRAGMA synchronous = OFF")
        with open(SCHEMA) as file:
            database.executescript(file.read())
        database.execute("INSERT INTO run VALUES (1,'k','0',0,0,'Open MPI','l','t','c',3,3,NULL,NULL,NULL,NULL)")
        database.executemany("INSERT INTO process(rank,node,socket,ended) VALUES (?,?,0,'finalize')", [(r, r) for r in range(3)])
        n_rounds = {1: 1, 2: 3, 3: 12}
        round_id = 0
        for kind, rounds in n_rounds.items():
            database.execute("INSERT INTO kind VALUES (?,?,3,900000)", (kind, rounds))
            for _ in range(rounds):
                round_id += 1
                begin = round_id * 10 ** 9
                database.execute("INSERT INTO round VALUES (?,?,?,?)", (round_id, kind, begin, begin + 10 ** 8))
                database.executemany("INSERT INTO round_process VALUES (?,?,?,?,0)",
                                     [(round_id, rank, begin, begin + 10 ** 8) for rank in range(3)])
                database.executemany(
                    "INSERT INTO message(src,dst,comm,tag,bytes,level,round_id,send_post_ns,recv_post_ns,recv_bytes,send_function,"
                    "recv_function,any_source,any_tag,uncertain) VALUES (?,?,0,0,?,'inter_node',?,?,?,?,'s','r',0,0,0)",
                    [(*message, round_id, begin, begin, message[2]) for message in messages])
        database.commit()
        rows = lambda options: {(kind, rank): time_s for kind, rank, time_s in database.execute(
            "SELECT kind_id, rank, time_s FROM prediction JOIN prediction_run q ON q.id = run_id "
            "WHERE model = 'flow-window' AND options = ?", (options,))}
        places = [(rank, 0) for rank in range(3)]
        for given, options in (([], ""), (["--repetitions", "2"], "repetitions=2")):
            self.run_predict(path, "--machine", machine, "--model", "flow-window", *given)
            for kind, rounds in n_rounds.items():
                repetitions = min(rounds, int(given[1]) if given else 10)
                expected = self.predict(machine, places, messages, "--model", "flow-window", "--repetitions", str(repetitions))
                for row in expected:
                    self.assertAlmostEqual(rows(options)[kind, row["rank"]], row["time_s"], delta=1e-15)
        self.assertGreater(rows("")[1, 1], 1.05 * rows("")[3, 1])  # later rounds have larger buffers

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
        for models in ("flow", "staircase,flow+queue"):
            said = self.run_predict(*common, "--model", models, "--repetitions", "3", code=2).stderr
            self.assertIn("expected --model flow-window", said)
        for models in ("all", "flow-window"):
            self.run_predict(*common, "--model", models, "--repetitions", "3")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
