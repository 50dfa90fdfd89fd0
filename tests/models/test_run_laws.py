"""Laws that the reference of the whole run keeps for every program made by lot, and rounds from a common start against
`mpistair predict`. What `mpistair replay` gives is held against the same reference by test_replay.py.

usage: test_run_laws.py MPISTAIR
"""
import copy
import json
import os
import random
import subprocess
import sys
import unittest
from dataclasses import replace

from predict_test import PredictTest
from reference import LEVELS
from reference_program import Message, Program, Strand, Table
from reference_run import PARTS, Run, replay
from run_traces import random_job, random_table

MPISTAIR = os.path.abspath(sys.argv.pop(1))
LAWS = "staircase", "flow", "fair"


def made(seed):
    chance = random.Random(seed)
    job = random_job(chance)
    return chance, job.program(), random_table(chance)


def renamed(program, name):
    """The program with rank r called name[r]."""
    strands = sorted((replace(strand, rank=name[strand.rank]) for strand in program.strands), key=lambda strand: strand.rank)
    return Program([program.places[name.index(rank)] for rank in range(len(name))],
                   [replace(message, src=name[message.src], dst=name[message.dst]) for message in program.messages],
                   [replace(one, members=[name[rank] for rank in one.members], root=None if one.root is None else name[one.root],
                            after={name[rank]: after for rank, after in one.after.items()}) for one in program.collectives], strands)


def beside(one, other):
    """Both programs as one run, the other's ranks, messages and collectives behind the one's, its nodes beyond all others."""
    ranks, messages, collectives = len(one.places), len(one.messages), len(one.collectives)
    other = copy.deepcopy(other)

    def moved(kind, of):
        if kind in ("collective", "begin"):
            return of + collectives
        if kind == "wait":
            return [(side, k + (collectives if side == "member" else messages)) for side, k in of]
        return of if kind == "spend" else of + messages

    for strand in other.strands:
        strand.rank += ranks
        for step in strand.steps:
            step.of = moved(step.kind, step.of)
    return Program(
        one.places + [(node + 10, socket) for node, socket in other.places],
        one.messages + [replace(m, src=m.src + ranks, dst=m.dst + ranks) for m in other.messages],
        one.collectives + [replace(c, members=[rank + ranks for rank in c.members], root=None if c.root is None else c.root + ranks,
                                   after={rank + ranks: after for rank, after in c.after.items()}) for c in other.collectives],
        one.strands + other.strands)


def scaled(program, text, factor):
    """All times by factor: computation, what was recorded, latencies and overheads; bandwidths by its inverse."""
    program = copy.deepcopy(program)
    for strand in program.strands:
        strand.begin, strand.tail = strand.begin * factor, strand.tail * factor
        for step in strand.steps:
            step.compute = None if step.compute is None else step.compute * factor
            step.of = step.of * factor if step.kind == "spend" else step.of
    for one in program.collectives:
        one.after = {rank: after * factor for rank, after in one.after.items()}
    lines = []
    for line in text.splitlines():
        words = line.split()
        if words[-1] in ("s", "s/B", "B/s"):
            words[-2] = repr(float(words[-2]) * (1 / factor if words[-1] == "B/s" else factor))
        lines.append(" ".join(words))
    return program, "\n".join(lines)


class Laws(PredictTest):
    def same(self, found, expected, run_s, message):
        for rank, (one, other) in enumerate(zip(found, expected, strict=True)):
            for quantity in one:
                self.assertAlmostEqual(one[quantity], other[quantity], delta=1e-9 * run_s, msg=(message, rank, quantity))

    def test_parts(self):
        used = dict.fromkeys(PARTS, 0.0)
        for seed in range(5):
            _, program, text = made(seed)
            for law in LAWS:
                done = replay(Table(text), program, law)
                for rank in done.ranks:
                    self.assertAlmostEqual(sum(rank[part + "_s"] for part in PARTS), rank["run_s"], delta=1e-12 * done.run_s)
                    for part in PARTS:
                        self.assertGreaterEqual(rank[part + "_s"], -1e-12 * done.run_s, (seed, law, part))
                        used[part] += rank[part + "_s"]
        self.assertEqual({part for part, time_s in used.items() if time_s <= 0}, set())

    def test_names_do_not_matter(self):
        for seed in range(5):
            chance, program, text = made(seed)
            name = chance.sample(range(len(program.places)), len(program.places))
            for law in LAWS:
                one, other = replay(Table(text), program, law), replay(Table(text), renamed(program, name), law)
                self.same([other.ranks[name[rank]] for rank in range(len(name))], one.ranks, one.run_s, (seed, law))

    def test_jobs_on_their_own_nodes_do_not_touch(self):
        for seed in range(0, 8, 2):
            _, one, text = made(seed)
            _, other, _ = made(seed + 1)
            for law in LAWS:
                alone = [replay(Table(text), program, law) for program in (one, other)]
                both = replay(Table(text), beside(one, other), law)
                self.same(both.ranks, alone[0].ranks + alone[1].ranks, both.run_s, (seed, law))

    def test_scaling(self):
        for seed in range(5):
            chance, program, text = made(seed)
            factor = chance.uniform(0.1, 10)
            for law in LAWS:
                one, other = replay(Table(text), program, law), replay(Table(scaled(program, text, factor)[1]),
                                                                       scaled(program, text, factor)[0], law)
                self.same([{key: value * factor for key, value in rank.items()} for rank in one.ranks], other.ranks, other.run_s,
                          (seed, law))

    def test_capacity(self):
        """No group receives, no NIC carries more than the best that its table has, at any moment, so over no window; and all
        bytes arrive."""
        shared = 0
        for seed in range(10):
            _, program, text = made(seed)
            table = Table(text)
            for law in LAWS:
                run = Run(table, program, law).replay()
                for _, _, rates in run.rates:
                    shared += len(rates) > 1
                    for group, members in self.groups(run, rates, law).items():
                        most = max(value for k in members for _, value in table.knots[run.flows[k].of])
                        self.assertLessEqual(sum(rates[k] for k in members), most * (1 + 1e-12), (seed, law, group))
                for flow in run.flows:
                    if flow.message.bytes and not flow.self_sent:
                        self.assertAlmostEqual(sum(size for *_, size in flow.segments), flow.message.bytes, delta=1e-6)
        self.assertGreater(shared, 1000)

    def test_buckets(self):
        """Over no window does a NIC carry more than its bucket holds and the wire carries meanwhile; some carry more than that."""
        beyond = 0
        for seed in range(20):
            _, program, text = made(seed)
            table = Table(text + "inter_node any burst - 50000 B\n")
            for of in table.classes:
                table.knots[of] = [(1, 1e9 if of == table.wire(("inter_node", None)) else 3e9)] if of[0] == "inter_node" else table.knots[of]
            run = Run(table, program, "flow").replay()
            room, most = 50000, max(value for _, value in table.knots[table.wire(("inter_node", None))])
            beside = {}  # bytes that passed beyond the wire's, of the window that has most of them
            for begin, end, rates in run.rates:
                passing = {key: sum(rates[k] for k in members) for key, members in self.groups(run, rates, "flow").items()
                           if key[0] != "socket"}
                for key in beside.keys() | passing.keys():
                    surplus = (passing.get(key, 0) - most) * (end - begin)
                    beside[key] = max(beside.get(key, 0) + surplus, 0)
                    self.assertLessEqual(beside[key], room * (1 + 1e-9), (seed, key))
                    beyond += beside[key] > 0
        self.assertGreater(beyond, 100)

    @staticmethod
    def groups(run, rates, law):
        found = {}
        for k in rates:
            flow = run.flows[k]
            src, dst = run.places[flow.message.src], run.places[flow.message.dst]
            keys = [("socket", dst)] if flow.of[0] != "inter_node" else [("in", dst[0])]
            if flow.of[0] == "inter_node" and law != "staircase":
                keys.append(("out", src[0]))
            for key in keys:
                found.setdefault(key, []).append(k)
        return found

    def predict(self, table, places, messages, model):
        done = subprocess.run([MPISTAIR, "predict", "--machine", table, "--model", model, "--json", "--pattern",
                               self.write_csv("p.csv", "src,dst,bytes", messages), "--placement",
                               self.write_csv("l.csv", "rank,node,socket", [(r, *p) for r, p in enumerate(places)])],
                              capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return [row["time_s"] for row in json.loads(done.stdout)]

    def common_start(self, text, places, messages, law):
        """The end of every rank that posts all that it has at 0, then waits."""
        strands = [Strand(rank, 0.0) for rank in range(len(places))]
        for strand in strands:
            mine = [(side, k) for k, (src, dst, _) in enumerate(messages) for side, end in (("send", src), ("receive", dst))
                    if end == strand.rank]
            if mine:
                strand.call(0.0, *mine, ("wait", mine))
        program = Program(places, [Message(*message) for message in messages], [], strands)
        return [rank["run_s"] for rank in replay(Table(text), program, law).ranks]

    def one_class(self, chance):
        lines = ["name m", "source chance"]
        for level in LEVELS:
            lines += [f"{level} any tau - 0 s"]
            lines += [f"{level} any bw {n} {n ** 0.6 * chance.uniform(1e9, 1.1e9)!r} B/s" for n in (1, 2, 4, 8)]
        return "\n".join(lines) + "\n"

    def test_rounds_from_a_common_start(self):
        """Receivers end at the staircase's t_i where each has one level and class; deliveries are flow's where one NIC is the
        limit. Elsewhere a round by itself goes by rules of its own: how far apart the two are is printed."""
        chance = random.Random(3)
        apart = {"staircase": [], "flow": []}
        for case in range(20):
            text = self.one_class(chance)
            table = self.write("m.tbl", text)
            # Half of the ranks send to the other half: on one socket, on two nodes, then anywhere.
            nodes = (lambda rank: 0, lambda rank: rank % 2, lambda rank: chance.randrange(3))[case % 3]
            places = [(nodes(rank), 0) for rank in range(8)]
            messages = [(2 * chance.randrange(4), 2 * chance.randrange(4) + 1, chance.randrange(1, 10 ** 6)) for _ in range(12)]
            found = self.common_start(text, places, messages, "staircase")
            expected = self.predict(table, places, messages, "staircase")
            if case % 3 < 2:
                for rank in range(1, 8, 2):
                    self.assertAlmostEqual(found[rank], expected[rank], delta=1e-9 * max(expected), msg=(case, rank))
            apart["staircase"].append(max(abs(a - b) for a, b in zip(found, expected)) / max(expected))
            # All from nodes of their own to the ranks of one node, or the other way round.
            places = [(0 if rank < 4 else rank, 0) for rank in range(8)]
            messages = [(rank, chance.randrange(4), chance.randrange(1, 10 ** 6)) for rank in range(4, 8)]
            if case % 2:
                messages = [(dst, src, size) for src, dst, size in messages]
            found, expected = self.common_start(text, places, messages, "flow"), self.predict(table, places, messages, "flow")
            for rank in range(8):
                self.assertAlmostEqual(found[rank], expected[rank], delta=1e-9 * max(expected), msg=(case, rank))
            places = [(rank // 2, 0) for rank in range(8)]
            messages = [(*chance.sample(range(8), 2), chance.randrange(1, 10 ** 6)) for _ in range(12)]
            found, expected = self.common_start(text, places, messages, "flow"), self.predict(table, places, messages, "flow")
            apart["flow"].append(max(abs(a - b) for a, b in zip(found, expected)) / max(expected))
        for law, differences in apart.items():
            print(f"{law}: rounds by lot, largest difference of a rank between the whole run's rules and predict's: median "
                  f"{sorted(differences)[len(differences) // 2]:.1%}, most {max(differences):.1%} of the round")


if __name__ == "__main__":
    unittest.main()
