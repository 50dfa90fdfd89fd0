"""A run written for other simulators: a small one, line by line, and jobs by lot, which both formats must bring to their end, at
the time that the replay has on a network that costs nothing.

usage: test_run_export.py MPISTAIR SCHEMA.sql
"""
import collections
import json
import os
import random
import re
import subprocess
import sys
import unittest

from empty_trace import empty_trace
from predict_test import PredictTest
from reference_program import Message
from run_traces import Builder, Call, Job, Meeting, random_job

MPISTAIR, SCHEMA = map(os.path.abspath, sys.argv[1:3])
TABLE = "name m\nsource made up\n" + "".join(f"{level} any tau - 1e-6 s\n{level} any bw 1 1e9 B/s\n"
                                             for level in ("intra_socket", "inter_socket", "inter_node"))
JOBS = 40

GOAL = """num_ranks 2
rank 0 {
c0: calc 1000
s0: send 100b to 1 tag 0
s0 requires c0
c2: calc 2000
c2 requires s0
s1: send 1b to 1 tag 1
s1 requires c2
c3: calc 10
c3 irequires s1
r2: recv 50b from 1 tag 2
r2 requires c3
c4: calc 500
c4 irequires r2
c5: calc 5
c5 requires c4
c5 requires s1
c5 requires r2
s3: send 8b to 1 tag 3
s3 requires c5
r4: recv 8b from 1 tag 4
r4 irequires s3
y0_0: recv 1b from 1 tag 5
y0_0 requires r4
y0_0 requires s3
x0_0: send 1b to 1 tag 5
x0_0 requires r4
x0_0 requires s3
y2_0: recv 16b from 1 tag 6
y2_0 requires x0_0
y2_0 requires y0_0
x2_0: send 16b to 1 tag 6
x2_0 requires x0_0
x2_0 requires y0_0
y4_0: recv 24b from 1 tag 7
y4_0 requires x2_0
y4_0 requires y2_0
t0: calc 40
t0 requires y4_0
}
rank 1 {
b1: calc 300
c11: calc 700
c11 requires b1
r0: recv 100b from 0 tag 0
r0 requires c11
r1: recv 1b from 0 tag 1
r1 requires r0
s2: send 50b to 0 tag 2
s2 requires r1
s4: send 8b to 0 tag 4
s4 requires s2
r3: recv 8b from 0 tag 3
r3 irequires s4
y1_0: recv 1b from 0 tag 5
y1_0 requires r3
y1_0 requires s4
x1_0: send 1b to 0 tag 5
x1_0 requires r3
x1_0 requires s4
y3_0: recv 16b from 0 tag 6
y3_0 requires x1_0
y3_0 requires y1_0
x3_0: send 16b to 0 tag 6
x3_0 requires x1_0
x3_0 requires y1_0
x5_0: send 24b to 0 tag 7
x5_0 requires x3_0
x5_0 requires y3_0
t1: calc 50
t1 requires x5_0
}
"""
TIT = """0 init
0 compute 1000
0 send 1 0 100
0 compute 2000
0 isend 1 1 0
0 compute 10
0 irecv 1 2 50
0 compute 500
0 waitall
0 compute 5
0 isend 1 3 8
0 irecv 1 4 8
0 waitall
0 barrier
0 allreduce 16 0
0 bcast 24 1
0 compute 40
0 finalize
1 init
1 sleep 0.000000300
1 compute 700
1 recv 0 0 100
1 recv 0 1 1
1 send 0 2 50
1 isend 0 4 8
1 irecv 0 3 8
1 waitall
1 barrier
1 allreduce 16 0
1 bcast 24 1
1 compute 50
1 finalize
"""


class Deadlock(Exception):
    pass


def run_goal(text):
    """[ns that each rank computes], end_ns: every operation at once, a send and its receive over when both have begun."""
    ranks, computes, rank = int(re.match(r"num_ranks (\d+)\n", text)[1]), collections.Counter(), None
    kinds, sizes, needs, ends = {}, {}, collections.defaultdict(list), collections.defaultdict(dict)
    for line in text.splitlines()[1:]:
        if begin := re.fullmatch(r"rank (\d+) \{", line):
            rank = int(begin[1])
        elif calc := re.fullmatch(r"(\w+): calc (\d+)(?: cpu \d+)?", line):
            assert (rank, calc[1]) not in kinds, line
            kinds[rank, calc[1]] = "calc"
            sizes[rank, calc[1]] = int(calc[2])
            computes[rank] += int(calc[2]) if calc[1][0] in "ct" else 0
        elif move := re.fullmatch(r"(\w+): (send|recv) (\d+)b (?:to|from) (\d+) tag (\d+)(?: cpu \d+)?", line):
            label, kind, size, peer, tag = move[1], move[2], *map(int, move.groups()[2:])
            assert (rank, label) not in kinds and peer < ranks and peer != rank and size > 0, line
            pair = ends[(rank, peer, tag) if kind == "send" else (peer, rank, tag)]
            assert kind not in pair, line
            pair[kind] = (rank, label)
            kinds[rank, label], sizes[rank, label] = kind, size
        elif need := re.fullmatch(r"(\w+) (i?requires) (\w+)", line):
            assert (rank, need[1]) in kinds and (rank, need[3]) in kinds, line
            needs[rank, need[1]].append(("end" if need[2] == "requires" else "begin", (rank, need[3])))
        else:
            assert line == "}", line
    partner = {}
    for pair in ends.values():
        assert len(pair) == 2 and sizes[pair["send"]] == sizes[pair["recv"]], pair
        partner[pair["send"]], partner[pair["recv"]] = pair["recv"], pair["send"]
    when, left, moved = {}, set(kinds), True
    while moved:
        moved = False
        for operation in sorted(left):
            if ("begin", operation) not in when and all(need in when for need in needs[operation]):
                when["begin", operation], moved = max((when[need] for need in needs[operation]), default=0), True
            both = [("begin", operation), ("begin", partner.get(operation, operation))]
            if all(event in when for event in both):
                when["end", operation] = max(when[event] for event in both) + (sizes[operation] if kinds[operation] == "calc" else 0)
                left.remove(operation)
                moved = True
    if left:
        raise Deadlock(sorted(left)[:5])
    return [computes[rank] for rank in range(ranks)], max(when.values(), default=0)


class Process:
    """What a process of a time-independent trace has come to."""

    def __init__(self):
        self.actions, self.next, self.now_ns, self.computes_ns, self.open, self.meetings = [], 0, 0.0, 0, set(), 0


def run_tit(text):
    """The same of a time-independent trace."""
    processes, posted, met = collections.defaultdict(Process), {}, collections.defaultdict(dict)
    for line in text.splitlines():
        if not line.startswith("#"):
            number, *action = line.split()
            processes[int(number)].actions.append(action)
    assert all(p.actions[0] == ["init"] and p.actions[-1] == ["finalize"] for p in processes.values())

    def request(number, action):
        peer, tag, size = map(int, action[1:])
        sends = action[0] in ("send", "isend")
        return ((number, peer, tag) if sends else (peer, number, tag)), "send" if sends else "recv", size

    def post(number, action):
        key, side, size = request(number, action)
        if (key, side) not in posted:
            posted[key, side] = (processes[number].now_ns, size)
        return key

    def complete(p, keys):
        if not all((key, side) in posted for key in keys for side in ("send", "recv")):
            return False
        p.now_ns = max([p.now_ns] + [posted[key, side][0] for key in keys for side in ("send", "recv")])
        return True

    def step(number, p):
        action = p.actions[p.next]
        if action[0] == "compute":
            p.now_ns += int(action[1])
            p.computes_ns += int(action[1])
        elif action[0] == "sleep":
            p.now_ns += float(action[1]) * 1e9
        elif action[0] in ("isend", "irecv"):
            key, side, _ = request(number, action)
            assert (key, side) not in posted, action
            p.open.add(post(number, action))
        elif action[0] in ("send", "recv"):
            return complete(p, [post(number, action)])
        elif action[0] == "wait":
            key = tuple(map(int, action[1:]))
            assert key in p.open, action
            if not complete(p, [key]):
                return False
            p.open.remove(key)
        elif action[0] == "waitall":
            if not complete(p, p.open):
                return False
            p.open = set()
        elif action[0] not in ("init", "finalize"):
            met[p.meetings][number] = (action, p.now_ns)
            if len(met[p.meetings]) < len(processes):
                return False
            p.now_ns = max(now_ns for _, now_ns in met[p.meetings].values())
            assert len({tuple(action) for action, _ in met[p.meetings].values()}) == 1, met[p.meetings]
            p.meetings += 1
        return True

    moved = True
    while moved:
        moved = False
        for number, p in processes.items():
            while p.next < len(p.actions) and step(number, p):
                p.next, moved = p.next + 1, True
    if any(p.next < len(p.actions) for p in processes.values()):
        raise Deadlock([(number, p.actions[p.next]) for number, p in processes.items() if p.next < len(p.actions)])
    for key in {key for key, _ in posted}:
        send, receive = posted[key, "send"][1], posted[key, "recv"][1]
        assert max(send, 1) == receive, key
    return [processes[number].computes_ns for number in sorted(processes)], max(p.now_ns for p in processes.values())


class Plain(Builder):
    """Jobs without collectives and probes: what costs nothing elsewhere costs nothing here."""

    def collective(self):
        self.exchange()

    def receive(self, rank, k):
        if self.chance.random() < 0.5:
            self.call(rank, "MPI_Irecv", [("receive", k)])
            self.pending[rank].append(("receive", k))
        else:
            self.call(rank, "MPI_Recv", [("receive", k)], [("receive", k)])


class RunExport(PredictTest):
    def setUp(self):
        super().setUp()
        self.template, self.trace, self.goal, self.tit = (os.path.join(self.folder, name)
                                                          for name in ("template.db", "trace.db", "run.goal", "run.tit"))
        self.table = self.write("m.tbl", TABLE)
        empty_trace(self.template, SCHEMA).close()

    def export(self, job, *options):
        job.write(self.trace, self.template)
        done = subprocess.run([MPISTAIR, "replay", self.trace, "--machine", self.table, "--format", "json", "--goal", self.goal, "--tit",
                               self.tit, *options], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(self.goal) as goal, open(self.tit) as tit:
            return goal.read(), tit.read(), json.loads(done.stdout), done.stderr

    def small_job(self):
        job = Job([(0, 0), (0, 0)], [0, 300], [40, 50])
        job.messages = [Message(0, 1, 100), Message(0, 1, 0), Message(1, 0, 50), Message(0, 1, 8), Message(1, 0, 8)]
        job.meetings = [Meeting("MPI_Barrier", 0, [0, 1], None, 0, {0: 20, 1: 20}),
                        Meeting("MPI_Allreduce", 0, [0, 1], None, 16, {0: 20, 1: 20}),
                        Meeting("MPI_Bcast", 0, [0, 1], 1, 24, {0: 20, 1: 20})]
        meet = [Call(meeting.function, 0, 100, collective=number) for number, meeting in enumerate(job.meetings)]
        job.calls[0] = [Call("MPI_Send", 1000, 100, [("send", 0)], [("send", 0)]), Call("MPI_Isend", 2000, 100, [("send", 1)]),
                        Call("MPI_Irecv", 10, 100, [("receive", 2)]),
                        Call("MPI_Waitall", 500, 100, [], [("send", 1), ("receive", 2)]),
                        Call("MPI_Sendrecv", 5, 100, [("send", 3), ("receive", 4)], [("send", 3), ("receive", 4)]), *meet]
        again = [Call(meeting.function, 0, 100, collective=number) for number, meeting in enumerate(job.meetings)]
        job.calls[1] = [Call("MPI_Recv", 700, 100, [("receive", 0)], [("receive", 0)]),
                        Call("MPI_Recv", 0, 100, [("receive", 1)], [("receive", 1)]),
                        Call("MPI_Send", 0, 100, [("send", 2)], [("send", 2)]),
                        Call("MPI_Sendrecv", 0, 100, [("receive", 3), ("send", 4)], [("receive", 3), ("send", 4)]), *again]
        job.finish()
        return job

    def test_small_run(self):
        goal, tit, _, note = self.export(self.small_job())
        self.maxDiff = None
        self.assertEqual(goal, GOAL)
        self.assertEqual(tit, TIT)
        self.assertIn(f"{self.goal}: not as it was: 3 collectives, as messages\n", note)
        self.assertNotIn(self.tit, note)

    def computation(self, found):
        return [rank["measured"]["computation_s"] * 1e9 for rank in found["ranks"]]

    def test_jobs_by_lot(self):
        for seed in range(JOBS):
            goal, tit, found, _ = self.export(random_job(random.Random(4000 + seed)))
            for name, (computes, _) in (("goal", run_goal(goal)), ("tit", run_tit(tit))):
                for rank, expected_ns in enumerate(self.computation(found)):
                    self.assertAlmostEqual(computes[rank], expected_ns, delta=1.01, msg=(seed, name, rank))

    def test_network_that_costs_nothing(self):
        for seed in range(JOBS):
            chance = random.Random(5000 + seed)
            job = Plain(chance, chance.randrange(2, 9), chance.randrange(4, 30), lambda: chance.randrange(3000)).job
            goal, tit, found, _ = self.export(job, "--no-latency", "--no-transfer", "--no-contention")
            expected_ns = found["what_if"]["predicted_s"] * 1e9
            for name, (_, end_ns) in (("goal", run_goal(goal)), ("tit", run_tit(tit))):
                self.assertAlmostEqual(end_ns, expected_ns, delta=60, msg=(seed, name))

    def test_file_that_cannot_be_written(self):
        self.small_job().write(self.trace, self.template)
        for option in ("--goal", "--tit"):
            path = os.path.join(self.folder, "none", "file")
            done = subprocess.run([MPISTAIR, "replay", self.trace, "--machine", self.table, option, path], capture_output=True, text=True,
                                  timeout=60)
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn(f"{path}: cannot be written", done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1] + sys.argv[3:])
