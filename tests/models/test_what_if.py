"""`mpistair predict --what-if` as its users call it: what is printed equals two plain predictions; placements by rule and by
search hold the places that the run had; the files for launchers say the placement.

usage: test_what_if.py MPISTAIR SCHEMA.sql
"""
import csv
import io
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import unittest

from empty_trace import empty_trace

MPISTAIR, SCHEMA = map(os.path.abspath, sys.argv[1:3])
TABLE = "name m\nsource s\n" + "".join(
    f"{level} eager tau - {tau} s\n{level} eager bw 1 {rate} B/s\n{level} eager bw 4 {2 * rate} B/s\n"
    f"{level} rendezvous tau - {2 * tau} s\n{level} rendezvous bw 1 {2 * rate} B/s\n"
    f"{level} rendezvous bw 4 {3 * rate} B/s\n{level} rendezvous threshold - 65536 B\n"
    for level, tau, rate in [("intra_socket", 1e-6, 4e9), ("inter_socket", 2e-6, 2e9), ("inter_node", 5e-6, 2e8)])


def groups_pattern(chance, ranks, size):
    """Groups of `size` ranks, of random numbers, exchange much among themselves, and a little with others."""
    order = chance.sample(range(ranks), ranks)
    messages = [(a, b, chance.randrange(200000, 300000)) for first in range(0, ranks, size)
                for a in order[first:first + size] for b in order[first:first + size] if a != b]
    messages += [(*chance.sample(range(ranks), 2), chance.randrange(5000)) for _ in range(ranks)]
    return messages, [set(order[first:first + size]) for first in range(0, ranks, size)]


NO_SCOTCH = "scotch" in os.environ.get("MPISTAIR_LACKS", "").split()


class WhatIf(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(self.folder.name)
        with open("m.tbl", "w") as file:
            file.write(TABLE)

    def predict(self, *arguments, code=0):
        done = subprocess.run([MPISTAIR, "predict", *map(str, arguments)], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def table(self, *arguments):
        """{model: (before_s, after_s)} of the run, and the rows of its ranks."""
        rows = list(csv.DictReader(io.StringIO(self.predict(*arguments, "--format", "csv").stdout)))
        totals = {row["model"]: (float(row["before_s"]), float(row["after_s"])) for row in rows if row["rank"] == ""}
        return totals, [row for row in rows if row["rank"] != ""]

    def write(self, name, header, rows):
        with open(name, "w", newline="") as file:
            csv.writer(file).writerows([header.split(","), *rows])

    def write_case(self, messages, places):
        self.write("p.csv", "src,dst,bytes", messages)
        self.write("l.csv", "rank,node,socket", [(rank, *place) for rank, place in enumerate(places)])
        return ["--pattern", "p.csv", "--placement", "l.csv", "--machine", "m.tbl"]

    def times(self, *arguments):
        """{(model, rank): time_s} of a plain prediction."""
        rows = csv.DictReader(io.StringIO(self.predict(*arguments, "--format", "csv").stdout))
        return {(row["model"], int(row["rank"])): float(row["time_s"]) for row in rows}

    def check_sides(self, case, changes, plain_after):
        """Before and after are what plain predictions of the two sides give."""
        totals, rows = self.table(*case, *changes)
        before, after = self.times(*case), self.times(*plain_after)
        self.assertEqual(len(rows), len(before))
        for row in rows:
            key = (row["model"], int(row["rank"]))
            self.assertAlmostEqual(float(row["before_s"]), before[key], delta=1e-12 * before[key] + 1e-30)
            self.assertAlmostEqual(float(row["after_s"]), after[key], delta=1e-12 * after[key] + 1e-30)
        for model, (total, other) in totals.items():
            self.assertAlmostEqual(total / max(t for (m, _), t in before.items() if m == model), 1, delta=1e-12)
            self.assertAlmostEqual(other / max(t for (m, _), t in after.items() if m == model), 1, delta=1e-12)
        return rows

    def test_changes_are_two_predictions(self):
        chance = random.Random(7)
        messages = [(*chance.sample(range(12), 2), chance.choice([0, 100, 60000, 70000, 200000])) for _ in range(60)]
        places = [(rank // 4, rank % 4 // 2) for rank in range(12)]
        case = self.write_case(messages, places)
        other = [(node + 1, socket) for node, socket in reversed(places)]
        self.write("other.csv", "rank,node,socket", [(rank, *place) for rank, place in enumerate(other)])
        rows = self.check_sides(case, ["--to-placement", "other.csv"],
                                [*case[:2], "--placement", "other.csv", *case[4:]])
        self.assertEqual([(int(r["to_node"]), int(r["to_socket"])) for r in rows[:12]], other)
        self.check_sides(case, ["--to-machine", "summit"], [*case[:4], "--machine", "summit"])
        with open("eager.tbl", "w") as file:
            file.write(TABLE.replace("65536", "150000"))
        self.check_sides(case, ["--what-if", "--eager-threshold", "150000"], [*case[:4], "--machine", "eager.tbl"])
        together = {}
        for src, dst, size in messages:
            together[src, dst] = together.get((src, dst), 0) + size
        self.assertLess(len(together), len(messages))
        self.write("one.csv", "src,dst,bytes", [(*ends, size) for ends, size in together.items()])
        self.check_sides(case, ["--aggregate"], ["--pattern", "one.csv", *case[2:]])
        self.write("both.csv", "rank,node,socket", [(rank, *place) for rank, place in enumerate(other)])
        self.check_sides(case, ["--aggregate", "--to-placement", "both.csv", "--to-machine", "eager.tbl"],
                         ["--pattern", "one.csv", "--placement", "both.csv", "--machine", "eager.tbl"])

    def placed(self, places, rule):
        case = self.write_case([(0, 1, 8)], places)
        _, rows = self.table(*case, "--model", "postal", "--to-placement", rule)
        return [(int(row["to_node"]), int(row["to_socket"])) for row in rows]

    def test_rules(self):
        places = [(7, 1), (2, 0), (7, 0), (2, 5), (2, 5), (2, 0), (7, 1), (7, 1)]
        self.assertEqual(self.placed(places, "fill"), [(2, 0), (2, 0), (2, 5), (2, 5), (7, 0), (7, 1), (7, 1), (7, 1)])
        self.assertEqual(self.placed(places, "round-robin-nodes"),
                         [(2, 0), (7, 0), (2, 0), (7, 1), (2, 5), (7, 1), (2, 5), (7, 1)])
        self.assertEqual(self.placed(places, "round-robin-sockets"),
                         [(2, 0), (2, 5), (2, 0), (2, 5), (7, 0), (7, 1), (7, 1), (7, 1)])

    @unittest.skipIf(NO_SCOTCH, "the search for places begins with Scotch, without which this mpistair was built")
    def test_search_finds_the_groups(self):
        """Four groups that fit a node each: where they are together nothing much crosses; the search finds that."""
        for seed in range(5):
            messages, groups = groups_pattern(random.Random(seed), 16, 4)
            case = self.write_case(messages, [(rank // 4, rank % 4 // 2) for rank in range(16)])
            done = self.predict(*case, "--best-placement", "--rank-file", "best", "--seed", seed, "--json")
            result, = json.loads(done.stdout)
            self.assertEqual(result["model"], "flow")
            self.assertLess(result["after_s"], 0.5 * result["before_s"])
            places = [(rank["to_node"], rank["to_socket"]) for rank in result["ranks"]]
            self.assertEqual(sorted(places), sorted((r // 4, r % 4 // 2) for r in range(16)))
            nodes = [{rank for rank in range(16) if places[rank][0] == node} for node in range(4)]
            self.assertEqual(sorted(map(sorted, nodes)), sorted(map(sorted, groups)))
            # The written placement is that one: predicted plainly it takes the time that was told.
            plain = self.times(*case[:2], "--placement", "best.L.csv", *case[4:], "--model", "flow")
            self.assertAlmostEqual(max(plain.values()) / result["after_s"], 1, delta=1e-12)
            again, = json.loads(self.predict(*case, "--best-placement", "--seed", seed, "--json").stdout)
            self.assertEqual(again, result)

    @unittest.skipIf(NO_SCOTCH, "the search for places begins with Scotch, without which this mpistair was built")
    def test_search_is_never_worse(self):
        chance = random.Random(5)
        for case_number in range(12):
            ranks = chance.randrange(1, 20)
            places = [(chance.randrange(4), chance.randrange(3)) for _ in range(ranks)]
            messages = [(chance.randrange(ranks), chance.randrange(ranks), chance.choice([0, 10, 80000, 400000]))
                        for _ in range(chance.randrange(60))]
            case = self.write_case(messages, places)
            model = chance.choice(["postal", "staircase", "max-rate", "flow", "flow+queue"])
            if "queue" in model:
                with open("m.tbl", "w") as file:
                    file.write(TABLE + "any any gamma - 1e-9 s\n")
            totals, rows = self.table(*case, "--best-placement", "--seconds", "0.2", "--model", model)
            self.assertLessEqual(totals[model][1], totals[model][0])
            self.assertEqual(sorted((int(r["to_node"]), int(r["to_socket"])) for r in rows), sorted(places))

    @unittest.skipIf(NO_SCOTCH, "the search for places begins with Scotch, without which this mpistair was built")
    def test_machine_without_a_level(self):
        """Places that the machine cannot predict are passed by."""
        with open("m.tbl", "w") as file:
            file.write("name m\nsource s\n" + "".join(
                f"{level} any tau - 1e-6 s\n{level} any bw 1 1e9 B/s\n" for level in ("intra_socket", "inter_node")))
        case = self.write_case([(0, 2, 100000), (1, 3, 90000)], [(0, 0), (1, 0), (1, 1), (0, 1)])
        totals, rows = self.table(*case, "--best-placement", "--model", "staircase")
        self.assertLessEqual(totals["staircase"][1], totals["staircase"][0])

    def make_trace(self, kinds, places, hosts):
        """kinds: [(rounds, messages)]; hosts: {node: (name, sockets, cores)}."""
        database = empty_trace("t.db", SCHEMA)
        world = len(places)
        database.execute("INSERT INTO run VALUES (1,'k','0',0,0,'MPICH','l','t','c',?,?,NULL,NULL,NULL,NULL, 'all')", (world, world))
        for node, (name, sockets, cores) in hosts.items():
            database.execute("INSERT INTO node(id,host,sockets,cores) VALUES (?,?,?,?)", (node, name, sockets, cores))
        for rank, (node, socket) in enumerate(places):
            database.execute("INSERT INTO process(rank,node,socket,ended) VALUES (?,?,?,'finalize')", (rank, node, socket))
        round_id = 0
        for kind, (rounds, messages) in enumerate(kinds):
            database.execute("INSERT INTO kind VALUES (?,?,?,?)", (kind, rounds, len(messages), sum(m[2] for m in messages)))
            for _ in range(rounds):
                database.execute("INSERT INTO round VALUES (?,?,0,1)", (round_id, kind))
                for src, dst, size in messages:
                    database.execute(
                        "INSERT INTO message(src,dst,comm,tag,bytes,level,round_id,send_post_ns,recv_post_ns,recv_bytes,"
                        "send_function,recv_function,any_source,any_tag,uncertain) VALUES (?,?,0,0,?,NULL,?,0,0,?,'s','r',"
                        "0,0,0)", (src, dst, size, round_id, size))
                round_id += 1
        database.commit()
        database.close()

    @unittest.skipIf(NO_SCOTCH, "the search for places begins with Scotch, without which this mpistair was built")
    def test_trace(self):
        places = [(0, 0), (1, 0), (0, 0), (1, 1)]
        first, second = [(0, 1, 100000), (2, 3, 50000)], [(1, 2, 70000)]
        self.make_trace([(3, first), (2, second)], places, {0: ("a.x", 2, 4), 1: ("b-1", 2, 8)})
        with open("t.db", "rb") as file:
            stored = file.read()
        case = ["t.db", "--rounds", "--machine", "m.tbl", "--model", "staircase"]
        totals, rows = self.table(*case, "--to-placement", "fill", "--rank-file", "out")
        after = [(int(r["to_node"]), int(r["to_socket"])) for r in rows]
        self.assertEqual(after, [(0, 0), (0, 0), (1, 0), (1, 1)])
        for side, at in ((0, places), (1, after)):
            total, rank_s = 0, [0] * 4
            for rounds, messages in ((3, first), (2, second)):
                times = self.times(*self.write_case(messages, at), "--model", "staircase")
                total += rounds * max(times.values())
                rank_s = [rank_s[rank] + rounds * times["staircase", rank] for rank in range(4)]
            self.assertAlmostEqual(totals["staircase"][side] / total, 1, delta=1e-12)
            for rank in range(4):
                told = float(rows[rank]["after_s" if side else "before_s"])
                self.assertAlmostEqual(told, rank_s[rank], delta=1e-12 * rank_s[rank])
        with open("t.db", "rb") as file:
            self.assertEqual(file.read(), stored)  # nothing is stored
        with open("out.rankfile") as file:
            self.assertEqual(file.read(), "rank 0=a.x slot=0:0\nrank 1=a.x slot=0:1\n"
                                          "rank 2=b-1 slot=0:0-3\nrank 3=b-1 slot=1:0-3\n")
        with open("out.hosts") as file:
            self.assertEqual(file.read(), "a.x:1\na.x:1\nb-1:1\nb-1:1\n")
        with open("out.L.csv") as file:
            self.assertEqual(file.read(), "rank,node,socket\n0,0,0\n1,0,0\n2,1,0\n3,1,1\n")
        # text: what changes, T, who gains
        text = self.predict(*case, "--best-placement").stdout
        self.assertTrue(re.search(r"^placement by search: \d of 4 ranks move$", text, re.M), text)
        self.assertTrue(re.search(r"^staircase +\d+\.\d+ +\d+\.\d+ +\d+\.\d %$", text, re.M), text)
        self.assertTrue(re.search(r"^staircase: \d ranks gain, \d lose, \d stay the same$", text, re.M), text)

    @unittest.skipIf(NO_SCOTCH, "the search for places begins with Scotch, without which this mpistair was built")
    def test_notes(self):
        """More ranks than cores, ranks of a node that are not consecutive, places that are not known."""
        self.make_trace([(1, [(0, 1, 8)])], [(0, 0), (1, 0), (0, 0)], {0: ("a", 1, 1), 1: ("b", None, None)})
        case = ["t.db", "--rounds", "--machine", "m.tbl"]
        done = self.predict(*case, "--to-placement", "round-robin-nodes", "--rank-file", "out")
        self.assertIn("the ranks of 1 nodes are not consecutive", done.stderr)
        with open("out.rankfile") as file:
            self.assertEqual(file.read(), "rank 0=a slot=0:*\nrank 1=b slot=0:*\nrank 2=a slot=0:*\n")
        self.make_trace([(1, [(0, 1, 8)])], [(0, 0), (None, None), (0, None)], {0: ("a", 1, 1)})
        done = self.predict(*case, "--best-placement", code=1)
        self.assertIn("it is not known where rank 1 ran: give a placement", done.stderr)
        self.write("l.csv", "rank,node,socket", [(rank, 0, 0) for rank in range(3)])
        self.predict(*case, "--placement", "l.csv", "--best-placement")
        self.make_trace([], [(0, 0)], {0: ("a", 1, 1)})
        self.assertIn("holds no rounds", self.predict(*case, "--best-placement").stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1], verbosity=1)
