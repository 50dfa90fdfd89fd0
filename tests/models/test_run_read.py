"""The program of a run that is read from a trace: by hand, call by call, and jobs by lot against what their maker says.

usage: test_run_read.py RUN_PROGRAM_TEXT SCHEMA
"""
import json
import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile
import unittest

from empty_trace import empty_trace
from run_traces import Call, Idle, Job, Meeting, random_job
from reference_program import Message

SCHEMA, READ = pathlib.Path(sys.argv.pop(2)), os.path.abspath(sys.argv.pop(1))
MS, US = 1000000, 1000
ONE_SIDED, GOES_ON, AWAITED = 4, 16, 64


class RunRead(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.template = pathlib.Path(cls.folder.name) / "empty.db"
        empty_trace(cls.template, SCHEMA).close()

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def start(self, ranks=2):
        self.job = Job([(0, 0)] * ranks, [0] * ranks, [0] * ranks)
        self.ends_ns = {}

    def message(self, src, dst, size, synchronous=False):
        self.job.messages.append(Message(src, dst, size, synchronous))
        return len(self.job.messages) - 1

    def call(self, rank, begin_ns, end_ns, function, posts=(), completes=(), **more):
        """Adds a call from begin to end to the rank, whose calls come in any order."""
        call = Call(function, 0, end_ns - begin_ns, list(posts), list(completes), begin_ns=begin_ns, end_ns=end_ns, **more)
        self.job.calls[rank].append(call)
        return call

    def read(self, *statements, window=(), check=False, fails=False):
        path = pathlib.Path(self.folder.name) / "trace.db"
        path.unlink(missing_ok=True)
        self.job.ends_ns = [max([call.end_ns for call in calls], default=0) for calls in self.job.calls]
        self.job.write(path, self.template)
        database = sqlite3.connect(path)
        for statement in statements:
            database.execute(statement)
        database.commit()
        database.close()
        done = subprocess.run([READ, *(["--check"] if check else []), path, *window], capture_output=True, text=True, timeout=60)
        if fails:
            self.assertEqual((done.returncode, done.stdout), (1, ""))
            self.assertIn("trace.db", done.stderr)
            return done.stderr
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stderr)
        return json.loads(done.stdout)

    @staticmethod
    def steps(program, strand=0):
        """[(function, compute in us, [(kind, object)])] of each call."""
        calls = []
        for step in program["strands"][strand]["steps"]:
            if step["enters"]:
                calls.append((step["function"], round(step["compute"] * 1e6, 3), []))
            of = step.get("waits", step.get("spent", step.get("object")))
            calls[-1][2].append((step["kind"], [tuple(wait) for wait in of] if step["kind"] == "wait"
                                 else round(of * 1e6, 3) if step["kind"] == "spend" else of))
        return calls

    @staticmethod
    def parts(program, rank, function):
        """{part: ms} of the calls of a function."""
        found = {}
        for place in program["measured"]:
            if place["rank"] == rank and place["function"] == function:
                for part, seconds in place.items():
                    if part not in ("rank", "function"):
                        found[part] = round(found.get(part, 0) + seconds * 1e3, 6)
        return found

    def whole(self, program, rank):
        return round(sum(value for place in program["measured"] if place["rank"] == rank
                         for part, value in place.items() if part not in ("rank", "function")) * 1e3, 6)

    def late_pair(self):
        self.start()
        k = self.message(0, 1, 10 ** 6)
        self.call(0, 5 * MS, 6 * MS, "MPI_Send", [("send", k)], [("send", k)])
        self.call(1, 1 * MS, 6 * MS, "MPI_Recv", [("receive", k)], [("receive", k)])

    def test_late_sender(self):
        self.late_pair()
        program = self.read()
        self.assertEqual(self.steps(program, 0), [("MPI_Send", 5000, [("send", 0), ("wait", [("send", 0)])])])
        self.assertEqual(self.steps(program, 1), [("MPI_Recv", 1000, [("receive", 0), ("wait", [("receive", 0)])])])
        self.assertEqual(self.parts(program, 1, "MPI_Recv"), {"computation": 1, "late_sender": 4, "bandwidth": 1})
        self.assertEqual(self.parts(program, 0, "MPI_Send"), {"computation": 5, "bandwidth": 1})
        self.assertEqual((self.whole(program, 0), self.whole(program, 1), program["run"]), (6, 6, 0.006))

    def test_long_operations(self):
        """Calls and operations of seconds are read as those of milliseconds are: what an item keeps in four bytes, and what it does not."""
        found = []
        for unit in (MS, 1000 * MS):
            self.start()
            k, back = self.message(0, 1, 10 ** 6, True), self.message(1, 0, 100)
            self.call(0, 1 * unit, 4 * unit, "MPI_Issend", [("send", k)])
            self.call(0, 5 * unit, 9 * unit, "MPI_Wait", completes=[("send", k)])
            self.call(0, 10 * unit, 15 * unit, "MPI_Recv", [("receive", back)], [("receive", back)])
            self.call(1, 0, 3 * unit, "MPI_Irecv", [("receive", k)])
            self.call(1, 8 * unit, 9 * unit, "MPI_Wait", completes=[("receive", k)])
            self.call(1, 13 * unit, 14 * unit, "MPI_Isend", [("send", back)])
            self.call(1, 18 * unit, 20 * unit, "MPI_Wait", completes=[("send", back)])
            program = self.read()
            times = {(rank, function): {part: round(ms * MS / unit, 6) for part, ms in self.parts(program, rank, function).items()}
                     for rank, function in ((0, "MPI_Issend"), (0, "MPI_Wait"), (0, "MPI_Recv"), (1, "MPI_Irecv"), (1, "MPI_Wait"))}
            found.append((times, [[(name, [step[0] for step in steps]) for name, _, steps in self.steps(program, rank)] for rank in (0, 1)]))
        self.assertEqual(found[0], found[1])
        self.assertEqual(found[1][0][0, "MPI_Recv"], {"computation": 1, "late_sender": 3, "bandwidth": 2})
        self.assertEqual(found[1][1][0], [("MPI_Issend", ["send"]), ("MPI_Wait", ["wait"]), ("MPI_Recv", ["receive", "wait"])])

    def test_processors(self):
        """A step that posts tells where it was recorded; what is no number of a processor does not."""
        self.late_pair()
        for value, expected in (("7", 7), ("0", 0), ("NULL", None), ("-1", None), ("70000", None), ("'x'", None)):
            program = self.read(f"UPDATE message_row SET send_cpu = {value}, recv_cpu = 3")
            found = {strand["rank"]: [step.get("processor") for step in strand["steps"]] for strand in program["strands"]}
            self.assertEqual(found, {0: [expected, None], 1: [3, None]}, value)

    def test_shared_processor(self):
        """Of the time in which both ranks compute on one processor each has half, where there are fewer processors than ranks;
        else, and on different ones, all is their own. So it is of what they do behind their last call."""
        for processors, send_cpu, expected in ((1, 3, (4500, 500, 1, 2)), (1, 4, (5000, 1000, 2, 3)), (2, 3, (5000, 1000, 2, 3)),
                                               ("NULL", 3, (5000, 1000, 2, 3))):
            self.late_pair()
            program = self.read(f"UPDATE node SET processors = {processors}", "UPDATE process SET end_ns = end_ns + 2000000 + 1000000 * rank",
                                f"UPDATE message_row SET send_cpu = {send_cpu}, recv_cpu = 3")
            computed = [self.steps(program, rank)[0][1] for rank in (0, 1)]
            tails = [round(strand["tail"] * 1e3, 6) for strand in sorted(program["strands"], key=lambda strand: strand["rank"])]
            self.assertEqual((*computed, *tails), expected, (processors, send_cpu))
            self.assertEqual(self.parts(program, 0, "MPI_Send")["computation"], 5)

    def test_handover(self):
        """From one rank's computation to the other one's on a processor take 1 us six times of 240, 2 us 114 times, then 3 us back. A
        hundred are too few to say."""
        for n, cpu, expected in (120, 3, 2e-6), (50, 3, 0), (120, 4, 0):
            self.start()
            for i in range(n):
                at_ns, k = 100 * US * i, self.message(0, 1, 8)
                self.call(0, at_ns + 40 * US, at_ns + 100 * US, "MPI_Send", [("send", k)], [("send", k)])
                self.call(1, at_ns - 3 * US if i else 0, at_ns + (41 if i < 6 else 42) * US, "MPI_Recv", [("receive", k)], [("receive", k)])
            program = self.read("UPDATE node SET processors = 1", f"UPDATE message_row SET send_cpu = {cpu}, recv_cpu = 3")
            self.assertAlmostEqual(program["handover"], expected, delta=1e-12)

    def test_late_receiver(self):
        """Only a send that lasted beyond the post of its receive waited for it; MPI_Isend does above the eager limit."""
        for function, limit, wait in ("MPI_Send", "NULL", 3), ("MPI_Isend", "1000", 3), ("MPI_Isend", "2000000", 0), ("MPI_Isend", "NULL", 0):
            self.start()
            k = self.message(0, 1, 10 ** 6)
            if function == "MPI_Send":
                self.call(0, 1 * MS, 5 * MS, function, [("send", k)], [("send", k)])
            else:
                self.call(0, 0, 1 * US, function, [("send", k)])
                self.call(0, 1 * MS, 5 * MS, "MPI_Wait", [], [("send", k)])
            self.call(1, 4 * MS, 5 * MS, "MPI_Recv", [("receive", k)], [("receive", k)])
            program = self.read(f"UPDATE run SET eager_limit_bytes = {limit}")
            parts = self.parts(program, 0, "MPI_Send" if function == "MPI_Send" else "MPI_Wait")
            self.assertEqual((parts.get("late_receiver", 0), parts["bandwidth"]), (wait, 4 - wait), (function, limit))

    def test_to_oneself(self):
        """A send to oneself that was complete before its receive was posted was buffered, whatever its function; that to another rank
        is the table's. One that was complete later may have waited for its receive."""
        for function in "MPI_Send", "MPI_Rsend", "MPI_Isend", "MPI_Start":
            for dst, receive_ns, flag in (0, 3 * MS, 2), (0, 1 * US, AWAITED), (1, 3 * MS, 0):
                self.start()
                k = self.message(0, dst, 10 ** 6)
                nonblocking = function in ("MPI_Isend", "MPI_Start")
                self.call(dst, receive_ns, receive_ns + 1, "MPI_Irecv", [("receive", k)])
                self.call(0, 1 * MS, 2 * MS, function, [("send", k)], [] if nonblocking else [("send", k)])
                if nonblocking:
                    self.call(0, 2 * MS + 10, 2 * MS + 20, "MPI_Wait", [], [("send", k)])
                self.call(dst, 4 * MS, 5 * MS, "MPI_Wait", [], [("receive", k)])
                never = AWAITED if function != "MPI_Send" else 0  # where the eager limit is not known only MPI_Send tells
                self.assertEqual(self.read()["messages"][0][3], flag & ~never, (function, dst, receive_ns))

    def test_sendrecv(self):
        self.start()
        ks = self.message(0, 1, 100), self.message(1, 0, 200)
        for rank in 0, 1:
            both = [("send", ks[rank]), ("receive", ks[1 - rank])]
            self.call(rank, (1 + rank) * MS, 3 * MS, "MPI_Sendrecv", both, both)
        program = self.read()
        for rank in 0, 1:
            posts = [("send", rank), ("receive", 1 - rank)]
            self.assertEqual(self.steps(program, rank), [("MPI_Sendrecv", 1000 + 1000 * rank, posts + [("wait", posts)])])
        self.assertEqual(self.parts(program, 0, "MPI_Sendrecv"), {"computation": 1, "late_sender": 1, "bandwidth": 1})

    def test_waitany(self):
        self.start()
        ks = [self.message(0, 1, 8) for _ in range(3)]
        for i, k in enumerate(ks):
            self.call(1, i * US, i * US + 500, "MPI_Irecv", [("receive", k)])
            self.call(0, (30 - i) * US, (31 - i) * US - 500, "MPI_Send", [("send", k)], [("send", k)])
        self.call(1, 10 * US, 29 * US, "MPI_Waitany", [], [("receive", ks[2])])
        self.call(1, 29 * US, 33 * US, "MPI_Waitsome", [], [("receive", ks[0]), ("receive", ks[1])])
        calls = self.steps(self.read(), 1)
        self.assertEqual([steps for _, _, steps in calls[3:]], [[("wait", [("receive", 2)])], [("wait", [("receive", 0), ("receive", 1)])]])
        self.assertEqual([steps for _, _, steps in calls[:3]], [[("receive", k)] for k in range(3)])

    def polled(self, gap_us, *statements):
        self.start()
        k = self.message(0, 1, 8)
        self.call(0, 90 * US, 95 * US, "MPI_Send", [("send", k)], [("send", k)])
        self.call(1, 0, 1 * US, "MPI_Irecv", [("receive", k)])
        idle = Idle(20, 20 * US, gap_us * US)
        self.call(1, (21 + gap_us) * US, (22 + gap_us) * US, "MPI_Test", [], [("receive", k)], idle=idle)
        return self.read(*statements)

    def test_loop_of_tests(self):
        program = self.polled(40)
        self.assertEqual(self.steps(program, 1), [("MPI_Irecv", 0, [("receive", 0)]), ("MPI_Test", 0, [("wait", [("receive", 0)])])])
        self.assertEqual(self.parts(program, 1, "MPI_Test"), {"late_sender": 0.061})

    def test_computing_between_tests(self):
        program = self.polled(100)
        self.assertEqual(self.steps(program, 1), [("MPI_Irecv", 0, [("receive", 0)]), ("MPI_Test", 0, [("spend", 20)]),
                                                  ("MPI_Test", 100, [("wait", [("receive", 0)])])])
        self.assertEqual(self.parts(program, 1, "MPI_Test"), {"computation": 0.1, "other": 0.02, "bandwidth": 0.001})
        self.assertEqual(self.whole(program, 1), 0.122)

    def test_sleeping_between_tests(self):
        """Where the operating system says that the rank slept between its tests it waited; where it ran, it computed. What it slept
        may have been elsewhere, as much as ranks that do not poll sleep."""
        times = "UPDATE process SET observed_ns = end_ns - begin_ns, wait_ns = 0, run_ns = end_ns - begin_ns - iif(rank = 1, {}, {})"
        for slept_us, others_us, waits in (100, 0, True), (90, 0, True), (70, 0, False), (0, 0, False), (100, 40, True), (100, 95, False):
            program = self.polled(100, times.format(slept_us * US, others_us * US))
            expected = {"late_sender": 0.089, "bandwidth": 0.032} if waits else {"computation": 0.1, "other": 0.02, "bandwidth": 0.001}
            self.assertEqual(self.parts(program, 1, "MPI_Test"), expected, (slept_us, others_us))
            self.assertEqual(program["between_polls"], [[1, "MPI_Test", 0.0001]] if waits else [], (slept_us, others_us))
        program = self.polled(100, times.format(100 * US, 0), "UPDATE process SET wait_ns = observed_ns * 9 / 10, run_ns = observed_ns / 100 WHERE rank = 1")
        self.assertEqual(program["between_polls"], [[1, "MPI_Test", 0.0001]])  # it waits for a processor when it wakes
        program = self.polled(100, times.format(0, 0), "UPDATE process SET run_ns = run_ns / 10, wait_ns = observed_ns * 9 / 10")
        self.assertEqual(program["between_polls"], [])  # it computes, if it has a processor
        for statement in ("UPDATE process SET run_ns = NULL", "UPDATE process SET wait_ns = NULL", "UPDATE process SET observed_ns = NULL",
                          "UPDATE process SET observed_ns = -1", "UPDATE process SET run_ns = 9e18"):
            program = self.polled(100, times.format(100 * US, 0), statement)
            self.assertEqual(self.parts(program, 1, "MPI_Test")["computation"], 0.1, statement)

    def test_tests_for_something_else(self):
        """A program looks after each piece of its work whether a message is there; its next success is another test's."""
        program = self.polled(20, "INSERT INTO function(name) VALUES ('MPI_Testany')",
                              "UPDATE call_row SET function = (SELECT id FROM function WHERE name = 'MPI_Testany') WHERE idle_calls > 0")
        self.assertEqual(self.steps(program, 1), [("MPI_Irecv", 0, [("receive", 0)]), ("MPI_Testany", 0, [("spend", 20)]),
                                                  ("MPI_Test", 20, [("wait", [("receive", 0)])])])
        self.assertEqual(self.parts(program, 1, "MPI_Testany"), {"other": 0.02})

    def test_probe_loop(self):
        """Iprobe until it succeeds, a receive of another rank's older message posted between, and the receive."""
        self.start()
        other, k = self.message(0, 1, 8), self.message(0, 1, 64)
        self.call(0, 50 * US, 51 * US, "MPI_Send", [("send", k)], [("send", k)])
        self.call(0, 90 * US, 91 * US, "MPI_Send", [("send", other)], [("send", other)])
        self.call(1, 60 * US, 61 * US, "MPI_Iprobe", idle=Idle(30, 30 * US, 20 * US))
        self.call(1, 61 * US, 62 * US, "MPI_Irecv", [("receive", other)])
        self.call(1, 63 * US, 64 * US, "MPI_Recv", [("receive", k)], [("receive", k)])
        self.call(1, 95 * US, 96 * US, "MPI_Wait", [], [("receive", other)])
        program = self.read()
        self.assertEqual(self.steps(program, 1)[:3], [("MPI_Iprobe", 10, [("probe", 1)]), ("MPI_Irecv", 0, [("receive", 0)]),
                                                      ("MPI_Recv", 1, [("receive", 1), ("wait", [("receive", 1)])])])
        self.assertEqual(self.parts(program, 1, "MPI_Iprobe"), {"computation": 0.01, "late_sender": 0.04, "bandwidth": 0.011})

    def test_matched_probe(self):
        self.start()
        k = self.message(0, 1, 8)
        self.call(0, 5 * US, 6 * US, "MPI_Send", [("send", k)], [("send", k)])
        self.call(1, 1 * US, 7 * US, "MPI_Mprobe", [("receive", k)])
        self.call(1, 8 * US, 9 * US, "MPI_Mrecv", [], [("receive", k)])
        program = self.read()
        self.assertEqual(self.steps(program, 1), [("MPI_Mprobe", 1, [("probe", 0), ("receive", 0)]), ("MPI_Mrecv", 1, [("wait", [("receive", 0)])])])
        self.assertEqual(self.parts(program, 1, "MPI_Mprobe"), {"computation": 0.001, "late_sender": 0.004, "bandwidth": 0.002})

    def test_collectives(self):
        """Twice each over ranks 3 and 1 of four, and once over all; the second Bcast from 1."""
        self.start(4)
        self.job.comms.append([3, 1])
        at = {1: 0, 3: 0}
        for function, comm, members, root in (("MPI_Bcast", 1, [3, 1], 3), ("MPI_Barrier", 1, [3, 1], None), ("MPI_Bcast", 1, [3, 1], 1)):
            self.job.meetings.append(Meeting(function, comm, members, root, 80, {}))
            for rank in members:
                self.call(rank, at[rank] + rank * MS, at[rank] + 5 * MS, function, collective=len(self.job.meetings) - 1)
                at[rank] += 6 * MS
        self.job.meetings.append(Meeting("MPI_Reduce", 0, [0, 1, 2, 3], 2, 8, {}))
        for rank in range(4):
            self.call(rank, (20 + rank) * MS, (24 + rank) * MS, "MPI_Reduce", collective=3)
        self.job.meetings.append(Meeting("MPI_Gatherv", 0, [0, 1, 2, 3], 2, 8, {}))
        for rank in range(4):
            self.call(rank, 30 * MS, 31 * MS, "MPI_Gatherv", collective=4)
        program = self.read()
        self.assertEqual([c["varies"] for c in program["collectives"] if c["kind"] == 5], [1])
        self.assertEqual(sum(c["varies"] for c in program["collectives"]), 1)
        self.assertEqual(program["open_mpi"], 0)
        program["collectives"] = [c for c in program["collectives"] if c["kind"] != 5]
        found = [(c["kind"], c["dependence"], c["root"], [(m[0], round(m[1] * 1e3, 6), m[2]) for m in c["members"]]) for c in program["collectives"]]
        self.assertEqual(sorted(found), sorted([(2, 1, 0, [(3, 2, 80), (1, 2, 80)]), (1, 0, -1, [(3, 2, 80), (1, 2, 80)]),
                                                (2, 1, 1, [(3, 2, 80), (1, 4, 80)]),
                                                (3, 2, 2, [(0, 4, 8), (1, 4, 8), (2, 3, 8), (3, 4, 8)])]))
        self.assertEqual(self.parts(program, 1, "MPI_Barrier"), {"computation": 2, "collective_wait": 2, "collective_transfer": 2})
        self.assertEqual(self.parts(program, 1, "MPI_Bcast"), {"computation": 3, "collective_wait": 2, "collective_transfer": 6})
        self.assertEqual([step["kind"] for step in program["strands"][1]["steps"]], ["collective"] * 5)

    def test_nobody_waits_for_neighbours_of_others(self):
        """A neighbourhood collective that a member left before another came depends on nobody, an Allreduce does."""
        for function, dependence in ("MPI_Neighbor_alltoall", 4), ("MPI_Allreduce", 0):
            self.start()
            for rank in 0, 1:
                self.call(rank, rank * 5 * MS, (1 + rank * 5) * MS, function, collective=0)
            self.job.meetings.append(Meeting(function, 0, [0, 1], None, 8, {}))
            one, = self.read()["collectives"]
            self.assertEqual((one["dependence"], [round(m[1] * 1e3, 6) for m in one["members"]]),
                             (dependence, [1, 1] if dependence else [0, 1]))

    def test_nonblocking_collective(self):
        self.start()
        self.job.meetings.append(Meeting("MPI_Iallreduce", 0, [0, 1], None, 8, {}))
        for rank in 0, 1:
            self.call(rank, rank * 3 * MS, rank * 3 * MS + US, "MPI_Iallreduce", collective=0)
            self.call(rank, 2 * MS + 2 * rank * MS, 5 * MS, "MPI_Wait").completes = []
        program = self.read("UPDATE collective SET nonblocking = 1, end_ns = 5000000", "UPDATE call_row SET completed = 1 WHERE begin_ns >= 2000000"
                            " AND function = (SELECT id FROM function WHERE name = 'MPI_Wait')")
        self.assertEqual(self.steps(program, 0), [("MPI_Iallreduce", 0, [("begin", 0)]), ("MPI_Wait", 1999, [("wait", [("member", 0)])])])
        self.assertEqual([round(m[1] * 1e3, 6) for m in program["collectives"][0]["members"]], [2, 2])
        self.assertEqual(self.parts(program, 0, "MPI_Wait"), {"computation": 1.999, "collective_wait": 1, "collective_transfer": 2})

    def test_startall(self):
        """Three operations of one MPI_Startall are one call; an MPI_Ssend_init makes its starts synchronous."""
        self.start()
        ks = [self.message(0, 1, 8) for _ in range(3)]
        for rank, side in enumerate(("send", "receive")):
            posts = [(side, k) for k in ks]
            self.call(rank, 1 * US, 2 * US, "MPI_Startall", posts)
            self.call(rank, 3 * US, 9 * US, "MPI_Waitall", [], posts)
        program = self.read("INSERT INTO persistent VALUES (1, 0, 'MPI_Ssend_init', 'send', 1, 0, 0, 8, 0, 0, 1, NULL)",
                            "INSERT INTO origin VALUES (2, NULL, 'send', 1, NULL)")
        for rank, side in enumerate(("send", "receive")):
            posts = [(side, k) for k in ks]
            self.assertEqual(self.steps(program, rank), [("MPI_Startall", 1, posts), ("MPI_Waitall", 1, [("wait", posts)])])
        self.assertEqual([m[3] for m in program["messages"]], [0, 1 | AWAITED, 0])

    def test_threads(self):
        """Calls that overlap are of two threads; later calls go to the one that posted what they wait for, or that made the last
        from their call site."""
        self.start()
        ks = [self.message(0, 1, 8) for _ in range(3)]
        self.call(1, 1 * US, 10 * US, "MPI_Recv", [("receive", ks[0])], [("receive", ks[0])])
        self.call(1, 4 * US, 8 * US, "MPI_Irecv", [("receive", ks[1])])
        self.call(1, 20 * US, 22 * US, "MPI_Recv", [("receive", ks[2])], [("receive", ks[2])])
        self.call(1, 30 * US, 33 * US, "MPI_Wait", [], [("receive", ks[1])])
        for i, k in enumerate(ks):
            self.call(0, (i + 5) * US, (i + 5) * US + 500, "MPI_Send", [("send", k)], [("send", k)])
        program = self.read()
        self.assertEqual([s["rank"] for s in program["strands"]], [0, 1, 1])
        self.assertEqual(self.steps(program, 1), [("MPI_Recv", 1, [("receive", 0), ("wait", [("receive", 0)])]),
                                                      ("MPI_Recv", 10, [("receive", 2), ("wait", [("receive", 2)])])])
        self.assertEqual(self.steps(program, 2), [("MPI_Irecv", 0, [("receive", 1)]), ("MPI_Wait", 22, [("wait", [("receive", 1)])])])
        self.assertEqual(program["strands"][2]["begin"], 4e-6)

    def test_incomplete(self):
        """A receive that no call reported complete is posted, and nobody waits for it; unmatched ones take their time."""
        self.start()
        k = self.message(0, 1, 8)
        self.call(0, 5 * US, 6 * US, "MPI_Send", [("send", k)], [("send", k)])
        self.call(1, 1 * US, 2 * US, "MPI_Irecv", [("receive", k)], [])
        self.call(1, 3 * US, 7 * US, "MPI_Wait", [], [("receive", k)])
        program = self.read("UPDATE message_row SET recv_ns = NULL")
        self.assertEqual(self.steps(program, 1), [("MPI_Irecv", 1, [("receive", 0)]), ("MPI_Wait", 1, [("spend", 4)])])
        program = self.read("DELETE FROM message_row")
        self.assertEqual(self.steps(program, 1), [("MPI_Wait", 3, [("spend", 4)])])
        program = self.read("UPDATE process SET begin_ns = NULL, end_ns = NULL, node = NULL")
        self.assertEqual([(s["begin"], s["tail"]) for s in program["strands"]], [(5e-6, 0), (1e-6, 0)])
        for table in "message_row", "call_row", "form", "collective":
            self.read(f"DELETE FROM {table}", *(["DELETE FROM message_row"] if table == "form" else []), check=True)

    def test_one_sided(self):
        self.start()
        self.call(0, 1 * US, 2 * US, "MPI_Put")
        self.call(0, 5 * US, 9 * US, "MPI_Win_fence")
        self.call(1, 7 * US, 9 * US, "MPI_Win_fence")
        rma = "INSERT INTO rma(rank, function, comm, window, target, bytes, begin_ns, end_ns, call_ns, nonblocking) VALUES "
        program = self.read(rma + "(0, 'MPI_Put', 0, 1, 1, 100, 1000, 2000, 1000, 0), (0, 'MPI_Win_fence', 0, 1, NULL, 0, 5000, 9000, 4000, 0),"
                            " (1, 'MPI_Win_fence', 0, 1, NULL, 0, 7000, 9000, 2000, 0)")
        self.assertEqual(self.steps(program, 0), [("MPI_Put", 1, [("send", 0)]), ("MPI_Win_fence", 3, [("wait", [("send", 0)]), ("collective", 0)])])
        self.assertEqual(program["messages"], [[0, 1, 100, ONE_SIDED]])
        self.assertEqual(self.parts(program, 0, "MPI_Win_fence"), {"computation": 0.003, "collective_wait": 0.002, "collective_transfer": 0.002})

    def window_job(self):
        self.start()
        ks = [self.message(0, 1, 8) for _ in range(4)]
        for i, k in enumerate(ks):
            self.call(0, (10 * i + 1) * MS, (10 * i + 2) * MS, "MPI_Send", [("send", k)], [("send", k)])
            self.call(1, (10 * i + 3) * MS, (10 * i + 4) * MS, "MPI_Recv", [("receive", k)], [("receive", k)])

    def test_window(self):
        """A call that lies across the border does not count; nor does a message with one end outside."""
        self.window_job()
        program = self.read(window=["0.0115", "0.0325"])
        self.assertEqual(self.steps(program, 0), [("MPI_Send", 9000, [("send", 0), ("wait", [("send", 0)])]), ("MPI_Send", 9000, [("spend", 1000)])])
        self.assertEqual(self.steps(program, 1), [("MPI_Recv", 1500, [("spend", 1000)]), ("MPI_Recv", 9000, [("receive", 0), ("wait", [("receive", 0)])])])
        self.assertEqual([(s["begin"], s["tail"]) for s in program["strands"]], [(0.012, 0), (0.0115, 0.0085)])
        self.assertEqual((self.whole(program, 0), self.whole(program, 1), program["run"]), (20, 21, 0.021))

    def test_window_by_mark_and_site(self):
        self.window_job()
        marks = "INSERT INTO mark VALUES (0, 7, 10500000, NULL), (1, 7, 11500000, NULL), (0, 8, 30500000, NULL)"
        program = self.read(marks, window=["mark:7", "mark:8"])
        self.assertEqual([(s["begin"], s["tail"]) for s in program["strands"]], [(0.0105, 0.0085), (0.0115, 0.0065)])
        program = self.read("UPDATE form SET recv_callsite = 5", window=["site:5", "-"])
        self.assertEqual([s["begin"] for s in program["strands"]], [0.003, 0.003])
        self.assertIn("no rank has the mark (MPI_Pcontrol) 9", self.read(window=["mark:9"], fails=True))
        self.assertIn("no call is from call site 9", self.read(window=["-", "site:9"], fails=True))
        for text in "", "x", "-1", "mark:", "mark:1x", "site:-1", "nan", "1e30":
            done = subprocess.run([READ, "--check", "x.db", text], capture_output=True, text=True, timeout=60)
            self.assertTrue(done.returncode == 1 and f"'{text}'" in done.stderr, (text, done.stderr))

    def test_damaged(self):
        for statement, expected in (
                ("UPDATE message_row SET dst = 2", "message_row.dst: rank 2, but the table process has 2 ranks"),
                ("UPDATE message_row SET src = -1", "message_row.src: rank -1"),
                ("UPDATE message_row SET bytes = -5", "-5 bytes"),
                ("UPDATE message_row SET send_post_ns = 9223372036854775807", "is no time of a run"),
                ("UPDATE message_row SET recv_ns = 9223372036854775807", "message_row.recv_ns"),
                ("UPDATE message_row SET form = 77", "form 77 is not in the table form"),
                ("UPDATE form SET send_function = 77", "function 77"),
                ("UPDATE message_row SET send_call_ns = NULL, recv_call_ns = NULL", "ingested with --no-calls"),
                ("UPDATE call_row SET rank = 5", "call_row.rank: rank 5"),
                ("UPDATE call_row SET function = 99", "function 99"),
                ("UPDATE process SET rank = rank + 10", "process: rank 10 on node 0 in row 1"),
                ("UPDATE process SET node = -1", "node -1"),
                ("DELETE FROM process", "process: 0 ranks"),
                ("DROP TABLE collective", "no such table: collective")):
            self.late_pair()
            self.call(1, 7 * MS, 8 * MS, "MPI_Wait")
            self.assertIn(expected, self.read(statement, fails=True), statement)

    def partitioned(self):
        """8 bytes in 4 partitions of 2: two by one call at 2 ms, one at 3, one at 4; MPI_Wait from 5 to 6 ms."""
        self.start()
        k = self.message(0, 1, 8)
        self.job.partitions, self.job.each = {k: 4}, {k}
        for rank, side in (0, "send"), (1, "receive"):
            self.call(rank, 1 * MS, 1 * MS + 5 * US, "MPI_Start", [(side, k)])
        for at_ms, partitions in (2, [3, 0]), (3, [1]), (4, [2]):
            self.call(0, at_ms * MS, at_ms * MS, "MPI_Pready_list", ready=(k, partitions))
        for rank, side in (0, "send"), (1, "receive"):
            self.call(rank, 5 * MS, 6 * MS, "MPI_Wait", [], [(side, k)])

    def test_partitions(self):
        """What a call marks ready leaves with it. Where a time is missing, or cannot be right, the first and the last one count,
        or that of MPI_Start."""
        self.partitioned()
        program = self.read()
        self.assertEqual([tuple(message[2:]) for message in program["messages"]], [(4, GOES_ON), (2, GOES_ON), (2, 0)])
        self.assertEqual(self.steps(program, 0), [
            ("MPI_Start", 1000, [("spend", 5)]), ("MPI_Pready_list", 995, [("send", 0)]), ("MPI_Pready_list", 1000, [("send", 1)]),
            ("MPI_Pready_list", 1000, [("send", 2)]), ("MPI_Wait", 1000, [("wait", [("send", 0), ("send", 1), ("send", 2)])])])
        self.assertEqual(self.steps(program, 1), [("MPI_Start", 1000, [("receive", 0), ("receive", 1), ("receive", 2)]),
                                                  ("MPI_Wait", 3995, [("wait", [("receive", 0), ("receive", 1), ("receive", 2)])])])
        for statement, sizes in (("DELETE FROM partition WHERE partition = 1", (2, 6)),
                                 ("INSERT INTO partition SELECT * FROM partition WHERE partition = 1", (4, 2, 2)),
                                 ("UPDATE partition SET first_ns = 4500000 WHERE partition = 1", (4, 2, 2)),
                                 ("UPDATE partition SET partition = 2 WHERE partition = 1", (4, 2, 2)),
                                 ("UPDATE partition SET partitions = 7", (2, 6)),
                                 ("UPDATE partition SET first_ns = NULL WHERE partition = 1", (2, 6)),
                                 ("UPDATE partition SET first_ns = NULL, last_ns = NULL", (8,)),
                                 ("UPDATE partition SET first_ns = 3", (8,)),
                                 ("UPDATE partition SET first_ns = 5999998 WHERE partition = 1", (8,)),
                                 ("UPDATE partition SET first_ns = 5999997 WHERE partition = 1", (4, 2, 2)),
                                 ("UPDATE partition SET message_id = 99", (8,)),
                                 ("UPDATE partition SET direction = 'receive'", (8,))):
            self.partitioned()
            program = self.read(statement)
            self.assertEqual([size for _, _, size, _ in program["messages"]], list(sizes), statement)
        for statement, expected in (("UPDATE partition SET partitions = 0", "partition.partitions: 0 of message 1"),
                                    ("UPDATE partition SET partitions = 1e12", "partition.partitions: 1000000000000 of message 1"),
                                    ("UPDATE partition SET first_ns = 9223372036854775807", "partition.first_ns: 9223372036854775807 ns"),
                                    ("DROP TABLE partition", "no such table: partition")):
            self.partitioned()
            self.assertIn(expected, self.read(statement, fails=True), statement)

    def test_odd_values(self):
        """What is odd but can be replayed is."""
        for statement in ("UPDATE message_row SET recv_ns = -5", "UPDATE message_row SET send_call_ns = -5", "UPDATE form SET send_completed = NULL",
                          "UPDATE call_row SET call_ns = -7, completed = -1, idle_calls = -3", "UPDATE message_row SET send_post_ns = send_post_ns - 9000000",
                          "UPDATE process SET begin_ns = 10000000, end_ns = 3", "UPDATE call_row SET idle_calls = 1e17", "UPDATE process SET node = 'a'",
                          "INSERT INTO call_row SELECT * FROM call_row", "UPDATE call_row SET begin_ns = 0"):
            self.late_pair()
            self.call(1, 7 * MS, 8 * MS, "MPI_Wait")
            self.read(statement, check=True)

    def test_by_lot(self):
        for seed in range(60):
            self.job = random_job(random.Random(seed))
            self.compare(seed)

    def compare(self, seed):
        """Holds what is read against what the job's maker says of its own trace."""
        path = pathlib.Path(self.folder.name) / "lot.db"
        self.job.write(path, self.template)
        done = subprocess.run([READ, path], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, (seed, done.stderr))
        found, expected = json.loads(done.stdout), self.job.program()
        members = []  # number of the collective and rank of each member
        for number, one in enumerate(found["collectives"]):
            members += [(number, rank) for rank, _, _ in one["members"]]
        meeting_of = {}  # of each collective as read
        for strand, maker in zip(found["strands"], expected.strands, strict=True):
            self.assertEqual((strand["rank"], round(strand["tail"], 9)), (maker.rank, round(maker.tail, 9)), seed)
            for step, made in zip(strand["steps"], maker.steps, strict=True):
                what = (seed, strand["rank"], step, made)
                self.assertEqual((step["kind"], step["enters"], step["leaves"]), (made.kind, made.compute is not None, made.leaves), what)
                self.assertAlmostEqual(step["compute"], made.compute or 0, 9, what)
                if step["kind"] == "wait":
                    waits = [(kind, meeting_of[members[i][0]] if kind == "member" else i) for kind, i in step["waits"]]
                    self.assertEqual(sorted(waits), sorted(made.of), what)
                elif step["kind"] == "spend":
                    self.assertAlmostEqual(step["spent"], made.of, 9, what)
                elif step["kind"] in ("collective", "begin"):
                    number, rank = members[step["object"]]
                    self.assertEqual((rank, meeting_of.setdefault(number, made.of)), (strand["rank"], made.of), what)
                else:
                    self.assertEqual(step["object"], made.of, what)
        for number, meeting in meeting_of.items():
            one, made = found["collectives"][number], expected.collectives[meeting]
            self.assertEqual([rank for rank, _, _ in one["members"]], made.members, seed)
            for rank, after, _ in one["members"]:
                self.assertAlmostEqual(after, made.after[rank], 9, (seed, number, rank))
            self.assertEqual(one["root"], -1 if made.root is None else made.members.index(made.root), seed)
        self.assertEqual([(*m[:3], m[3] & ~(GOES_ON | AWAITED)) for m in found["messages"]],
                         [(m.src, m.dst, m.bytes, m.synchronous + 2 * m.buffered) for m in expected.messages], seed)
        for rank, (begin, end) in enumerate(zip(self.job.begins_ns, self.job.ends_ns)):
            self.assertAlmostEqual(self.whole(found, rank), (end - begin) * 1e-6, 5, (seed, rank))


if __name__ == "__main__":
    unittest.main()
