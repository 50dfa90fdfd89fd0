"""What `mpistair replay` stores and `mpistair report` shows of it, and what replay says of traces and options that it cannot
use.

usage: test_replay_command.py MPISTAIR SCHEMA.sql
"""
import csv
import io
import json
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import unittest

from empty_trace import empty_trace
from reference_program import Message
from run_traces import Call, Job, Meeting

MPISTAIR, SCHEMA = map(os.path.abspath, sys.argv[1:3])
MS = 1000000
MACHINE = "name gigabyte\nsource made up\n" + "".join(f"{level} any tau - 0 s\n{level} any bw 1 1e9 B/s\n"
                                                       for level in ("intra_socket", "inter_socket"))


def chain():
    """Rank 0 computes 5 ms, then 1 MB goes from 0 to 1 to 2."""
    job = Job([(0, 0)] * 3, [0] * 3, [1] * 3)
    job.messages = [Message(0, 1, 1000000), Message(1, 2, 1000000)]
    for rank, function, gap_ns, side, k in ((0, "MPI_Send", 5, "send", 0), (1, "MPI_Recv", 2, "receive", 0),
                                            (1, "MPI_Send", 0, "send", 1), (2, "MPI_Recv", 3, "receive", 1)):
        length_ns = 4 * MS if rank > 0 and side == "receive" else MS
        job.calls[rank].append(Call(function, gap_ns * MS, length_ns, [(side, k)], [(side, k)]))
    job.finish()
    return job


def barrier():
    """No message: rank 1 comes 2 ms late."""
    job = Job([(0, 0)] * 2, [0] * 2, [1] * 2)
    job.meetings = [Meeting("MPI_Barrier", 0, [0, 1], None, 0, {0: 1000, 1: 1000})]
    for rank in range(2):
        job.calls[rank].append(Call("MPI_Barrier", (1 + 2 * rank) * MS, 0, collective=0))
    job.finish()
    return job


def to_oneself(function="MPI_Send"):
    """A message of 1 kB that its rank sends itself before it posts the receive, as an MPI that buffers it lets it."""
    job = Job([(0, 0)], [0], [1])
    job.messages = [Message(0, 0, 1000)]
    blocking = function != "MPI_Isend"
    job.calls[0] = [Call(function, MS, 1000, [("send", 0)], [("send", 0)] if blocking else [])]
    job.calls[0] += [] if blocking else [Call("MPI_Wait", 0, 1000, [], [("send", 0)])]
    job.calls[0].append(Call("MPI_Recv", MS, 1000, [("receive", 0)], [("receive", 0)]))
    job.finish()
    return job


def lonely():
    job = Job([(0, 0)], [0], [5 * MS])
    job.finish()
    return job


def partitioned(each):
    """4 MB in 4 partitions, ready at 1, 2, 3 and 10 ms; the receiver waits from 1 ms on."""
    job = Job([(0, 0)] * 2, [0] * 2, [0] * 2)
    job.messages, job.partitions, job.each = [Message(0, 1, 4000000)], {0: 4}, {0} if each else set()
    job.calls[0] = [Call("MPI_Start", 0, 0, [("send", 0)])]
    job.calls[0] += [Call("MPI_Pready", gap_ns * MS, 0, ready=(0, [i])) for i, gap_ns in enumerate((1, 1, 1, 7))]
    job.calls[0].append(Call("MPI_Wait", 0, 4 * MS, completes=[("send", 0)]))
    job.calls[1] = [Call("MPI_Start", 0, 0, [("receive", 0)]), Call("MPI_Wait", MS, 13 * MS, completes=[("receive", 0)])]
    job.finish()
    return job


def from_caches():
    """Five of 1 MB at 1 GB/s, five of 4 MB at 4 GB/s, but for one of each that took as long as the other kind."""
    job = Job([(0, 0)] * 2, [0] * 2, [0] * 2)
    for number in range(10):
        megabytes = 1 if number < 5 else 4
        took_ns = {0: MS // 4, 5: 4 * MS}.get(number, MS)
        job.messages.append(Message(0, 1, megabytes * 1000000))
        job.calls[0].append(Call("MPI_Ssend", MS, took_ns, [("send", number)], [("send", number)]))
        job.calls[1].append(Call("MPI_Recv", MS, took_ns, [("receive", number)], [("receive", number)]))
    job.finish()
    return job


def one_is_late():
    """Two of 1 MB cross five times from caches, in 0.25 ms each. Rank 1 takes part 1 ms later, so that rank 0 sees both complete
    late."""
    job = Job([(0, 0)] * 2, [0] * 2, [0] * 2)
    for number in range(0, 10, 2):
        job.messages += [Message(0, 1, 1000000), Message(1, 0, 1000000)]
        for rank in range(2):
            posts = [("send", number + rank), ("receive", number + 1 - rank)]
            job.calls[rank].append(Call("MPI_Isend", 0, 0, posts[:1]))
            job.calls[rank].append(Call("MPI_Irecv", 0, 0, posts[1:]))
            job.calls[rank].append(Call("MPI_Waitall", MS * (1 + rank), MS * (2 - rank) - 3 * MS // 4, completes=posts))
    job.finish()
    return job


CACHED = "".join(f"intra_socket any {row}\n" for row in ("bw_cached 1 4e9 B/s", "cached_bytes - 5000000 B"))


class ReplayCommand(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.trace, self.machine = self.folder / "trace.db", self.folder / "gigabyte.tbl"
        self.machine.write_text(MACHINE)
        empty_trace(self.folder / "template.db", SCHEMA).close()

    def write(self, job, *statements):
        job.write(self.trace, self.folder / "template.db")
        connection = sqlite3.connect(self.trace)
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.close()

    def tool(self, *arguments):
        return subprocess.run([MPISTAIR, *map(str, arguments)], capture_output=True, text=True, timeout=60)

    def test_buffers_in_caches(self):
        """Of each kind one in five messages takes as long as those of the other kind: so it is in the replay."""
        self.write(from_caches())
        seconds = {"memory": 10 + 5 + 20, "recorded": 10 + 4.25 + 8, "cached": 10 + 1.25 + 5}
        for table, cached in ((MACHINE, {}), (MACHINE + CACHED, {"recorded": 5, "cached": 10})):
            self.machine.write_text(table)
            for buffers in seconds:
                done = self.tool("replay", self.trace, "--machine", self.machine, "--json", "--buffers", buffers)
                self.assertEqual("changes no message" in done.stderr, buffers == "cached" and not cached)
                result = json.loads(done.stdout)
                self.assertEqual(result["cached_messages"], cached.get(buffers, 0))
                expected_ms = seconds[buffers if cached else "memory"]
                self.assertAlmostEqual(result["run"]["predicted_s"], expected_ms * 1e-3, delta=1e-6)
        self.machine.write_text(MACHINE + CACHED.replace("5000000", "2000000"))  # too small for those of 4 MB
        self.assertEqual(json.loads(self.replay("--json", "--buffers", "cached"))["cached_messages"], 5)
        self.machine.write_text(MACHINE + CACHED.replace("bw_cached 1", "bw_cached 18446744073709551614"))
        self.assertEqual(json.loads(self.replay("--json", "--buffers", "cached"))["cached_messages"], 10)
        self.machine.write_text(MACHINE + CACHED.partition("\n")[2])
        nothing = self.tool("replay", self.trace, "--machine", self.machine, "--json", "--buffers", "cached")
        self.assertEqual(json.loads(nothing.stdout)["cached_messages"], 0)
        self.assertIn("--buffers cached changes no message: 'gigabyte' has no rows", nothing.stderr)
        self.machine.write_text(MACHINE + CACHED)
        self.assertIn("buffers of 5 messages in caches, as recorded times say", self.replay("--buffers", "recorded"))
        self.assertEqual(json.loads(self.replay("--json"))["cached_messages"], 5)
        refused = self.tool("replay", self.trace, "--buffers", "disk")
        self.assertEqual(refused.returncode, 2)
        self.assertIn("--buffers", refused.stderr)
        connection = sqlite3.connect(self.trace)
        stored = {row[0] for row in connection.execute("SELECT options FROM replay_run")}
        connection.close()
        self.assertEqual(stored, {"", "buffers memory", "buffers cached"})

    def test_buffers_of_what_is_seen_late(self):
        """What a message took ends with the call that completed its receive, which waits for others as well."""
        self.write(one_is_late())
        self.machine.write_text(MACHINE + CACHED + "intra_socket any progress - 2 1\n")
        result = json.loads(self.replay("--json"))
        self.assertEqual(result["cached_messages"], 10)
        self.assertAlmostEqual(result["run"]["predicted_s"], result["run"]["measured_s"], delta=1e-6)

    def test_buffers_of_large_messages(self):
        """Of messages that caches do not hold whole they have a part: the same share of the messages is taken from there."""
        self.write(from_caches())
        self.machine.write_text(MACHINE + CACHED.replace("5000000", "2000000"))
        self.assertEqual(json.loads(self.replay("--json"))["cached_messages"], 5)

    def replay(self, *options):
        done = self.tool("replay", self.trace, "--machine", self.machine, *options)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return done.stdout

    def query(self, sql):
        connection = sqlite3.connect(self.trace)
        rows = connection.execute(sql).fetchall()
        connection.close()
        return rows

    def refused(self, code, text, *options, trace=None):
        done = self.tool("replay", trace or self.trace, *(options or ("--machine", self.machine)))
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.stderr.count("mpistair:"), 1, done.stderr)

    def test_to_oneself(self):
        """What was complete before its receive was posted is, so that the rank goes on; the run as it was takes 2 ms."""
        for function in "MPI_Send", "MPI_Rsend", "MPI_Bsend", "MPI_Isend":
            self.write(to_oneself(function))
            self.replay()
            (predicted_s,), = self.query("SELECT predicted_s FROM replay_run")
            self.assertAlmostEqual(predicted_s, 0.002, 6, function)

    def test_stored(self):
        self.write(chain())
        shown = json.loads(self.replay("--json"))
        (run, machine, options, measured_s, predicted_s), = self.query(
            "SELECT id, machine, options, measured_s, predicted_s FROM replay_run")
        self.assertEqual((machine, options, measured_s, predicted_s),
                         ("gigabyte", "", shown["run"]["measured_s"], shown["run"]["predicted_s"]))
        places = self.query("SELECT rank, function, blamed_s, critical_s FROM replay_place WHERE blamed_s > 0")
        self.assertEqual([(rank, function) for rank, function, _, _ in places], [(0, "MPI_Send")])
        self.assertAlmostEqual(places[0][2], 0.006, delta=1e-9)
        self.assertAlmostEqual(places[0][3], 0.005, delta=1e-9)
        (parts_s,), = self.query("SELECT sum(predicted_s) FROM replay_part WHERE quantity IN ('computation', 'late_sender', "
                                 "'late_receiver', 'transfer', 'collective_wait', 'collective_transfer', 'other')")
        self.assertAlmostEqual(parts_s, sum(rank["predicted"]["run_s"] for rank in shown["ranks"]), delta=1e-12)
        self.assertEqual(self.query("SELECT efficiency FROM replay_efficiency ORDER BY 1"), [
            (name,) for name in ("communication", "ideal", "load_balance", "parallel", "serialisation", "transfer")])
        self.replay("--what-if", "--no-transfer")
        self.assertEqual(self.query("SELECT count(*), max(predicted_s) FROM replay_run"), [(1, predicted_s)])
        self.replay("--to", "0.0062")
        self.assertEqual(self.query("SELECT options FROM replay_run ORDER BY id"), [("",), ("to 0.0062 s",)])
        self.assertEqual(self.query("SELECT count(DISTINCT run_id) FROM replay_place"), [(2,)])
        for query in ("blame", "critical_path", "run_parts", "efficiencies"):
            done = self.tool("query", self.trace, query, "--json")
            self.assertGreater(len(json.loads(done.stdout)), 0, (query, done.stderr))
        self.assertGreater(run, 0)

    def test_partitions(self):
        """At 1 GB/s a partition takes 1 ms: three leave while rank 0 computes, the last one at 10 ms. Where only the first and the
        last time were kept, three leave at 10 ms. Without any the message leaves with MPI_Start."""
        for each, sql, run_s, late_s, transfer_s in ((True, "SELECT 1", 0.011, 0.009, 0.001), (False, "SELECT 1", 0.013, 0.009, 0.003),
                                                     (False, "DELETE FROM partition", 0.010, 0, 0.003)):
            self.write(partitioned(each), sql)
            shown = json.loads(self.replay("--json"))
            rank = shown["ranks"][1]["predicted"]
            self.assertAlmostEqual(shown["run"]["predicted_s"], run_s, delta=1e-9)
            self.assertAlmostEqual(rank["late_sender_s"], late_s, delta=1e-9)
            self.assertAlmostEqual(rank["transfer_s"], transfer_s, delta=1e-9)
        self.write(partitioned(True))
        (at,), = self.query("SELECT count(*) FROM replay_run")
        self.assertEqual(at, 0)
        shown = json.loads(self.tool("replay", self.trace, "--machine", self.machine, "--scale-computation", "rank:0:2",
                                     "--json").stdout)
        self.assertAlmostEqual(shown["what_if"]["predicted_s"], 0.021, delta=1e-9)

    def test_partitions_that_leave_together(self):
        """With partitions_early 0 nothing leaves before 10 ms, then 4 MB; with 1 it is as without the row."""
        self.write(partitioned(True))
        for early, run_s in (0, 0.014), (1, 0.011):
            self.machine.write_text(MACHINE + f"intra_socket any partitions_early - {early} 1\n")
            shown = json.loads(self.replay("--json"))
            self.assertAlmostEqual(shown["run"]["predicted_s"], run_s, delta=1e-9)
            self.assertAlmostEqual(shown["ranks"][1]["predicted"]["late_sender_s"], 0.009, delta=1e-9)

    def test_partitions_of_threads(self):
        """Other threads make the same ready while rank 0 is in MPI_Wait from 1 ms on: it waits for its own sender until 10 ms."""
        job = partitioned(True)
        for call, begin_ms, length_ms in zip(job.calls[0], (0, 2, 3, 4, 10, 1), (0, 0, 0, 0, 0, 13)):
            call.begin_ns, call.end_ns = begin_ms * MS, (begin_ms + length_ms) * MS
        self.write(job)
        shown = json.loads(self.replay("--json"))
        self.assertAlmostEqual(shown["run"]["predicted_s"], 0.011, delta=1e-9)
        for rank in shown["ranks"]:
            found = [rank["predicted"][part + "_s"] for part in ("late_sender", "late_receiver", "transfer", "other")]
            for value, expected in zip(found, (0.009, 0, 0.001, 0), strict=True):
                self.assertAlmostEqual(value, expected, delta=1e-9, msg=rank)
            self.assertAlmostEqual(rank["measured"]["late_sender_s"], 0.009, delta=1e-9)
            self.assertAlmostEqual(rank["measured"]["transfer_s"], 0.004, delta=1e-9)

    def test_memory(self):
        """By the made-up rows one core leaves a message half. Rank 2 has computed its 3 ms when the first one begins at 5; if it
        took 9, that message took 2 ms, and the second one, which nobody meets, began at 9."""
        job = chain()
        job.tails_ns = [0] * 3
        job.finish()
        self.write(job)
        self.refused(1, "memory_", "--machine", self.machine, "--memory")
        rows = {"cores_par": "1 1", "total_par": "20e9 B/s", "cores_seq": "1 1", "total_seq": "16e9 B/s", "total_par2": "20e9 B/s",
                "alpha": "0.5 1", "loss_left": "0 B/s", "loss_right": "0 B/s", "computation": "16e9 B/s", "message": "10e9 B/s"}
        memory = "".join(f"intra_socket any memory_{name} - {value} #: - - 3 cpu-copy\n" for name, value in rows.items())
        self.machine.write_text(MACHINE + memory + "any any cores - 4 1\n")
        without, shown = json.loads(self.replay("--json")), json.loads(self.tool("replay", self.trace, "--machine", self.machine,
                                                                                 "--memory", "--json").stdout)
        self.assertNotIn("compute_slowdown", without["run"])
        self.assertAlmostEqual(without["run"]["predicted_s"], 0.007, delta=1e-9)
        self.assertAlmostEqual(shown["run"]["predicted_s"], 0.007, delta=1e-9)
        self.assertEqual(shown["run"]["compute_slowdown"], 1)
        self.assertEqual(self.query("SELECT law, options FROM replay_run ORDER BY id"), [("staircase", ""), ("staircase+memory", "")])
        text = self.tool("replay", self.trace, "--machine", self.machine, "--memory", "--scale-computation", "rank:2:3").stdout
        self.assertIn("law staircase+memory, collectives recorded\n", text)
        self.assertIn("(compute_slowdown): 1.000 times as long as without; what if: 1.067\n", text)
        after = json.loads(self.tool("replay", self.trace, "--machine", self.machine, "--memory", "--scale-computation", "rank:2:3",
                                     "--json").stdout)
        self.assertAlmostEqual(after["what_if"]["compute_slowdown"], 16 / 15, delta=1e-9)
        self.assertAlmostEqual(after["what_if"]["predicted_s"], 0.010, delta=1e-9)
        self.machine.write_text(MACHINE + memory.replace("cpu-copy", "memory"))
        self.assertIn("+memory changes no message", self.tool("replay", self.trace, "--machine", self.machine, "--memory").stderr)

    def test_report(self):
        self.write(chain())
        self.assertNotIn("Whole run", self.tool("report", self.trace, "--all").stdout)
        self.replay()
        text = self.tool("report", self.trace, "--section", "whole-run").stdout
        first = text.splitlines()[:25]
        self.assertTrue(any(line.split() == ["0", "6.00", "ms", "100.0", "%", "MPI_Send"] for line in first), text)
        self.assertIn("to blame for 0.006 s", text)
        replay = json.loads(self.tool("report", self.trace, "--json").stdout)["replay"]
        self.assertEqual((replay["machine"], replay["blamed"][0]["rank"]), ("gigabyte", 0))
        self.assertAlmostEqual(sum(row["time_s"] for row in replay["critical_path"]), replay["predicted_s"], delta=1e-9)
        self.assertIn("Whole run", self.tool("report", self.trace, "--format", "html").stdout)
        rows = list(csv.DictReader(io.StringIO(self.tool("report", self.trace, "--format", "csv").stdout)))
        self.assertEqual([float(row["blamed_s"]) > 0 for row in rows], [True, False, False])
        self.assertNotIn("Whole run", self.tool("report", self.trace, "--machine", "another", "--all").stdout)

    def test_not_stored(self):
        """Where storing fails, the answer stands, and nothing is half stored."""
        self.write(chain())
        self.replay()
        before = self.query("SELECT * FROM replay_place")
        connection = sqlite3.connect(self.trace)
        connection.execute("CREATE TRIGGER t BEFORE INSERT ON replay_efficiency BEGIN SELECT raise(ABORT, 'no'); END")
        connection.commit()
        connection.close()
        done = self.tool("replay", self.trace, "--machine", self.machine)
        self.assertEqual(done.returncode, 0)
        self.assertIn("Who is to blame", done.stdout)
        self.assertIn("not stored", done.stderr)
        self.assertEqual(self.query("SELECT * FROM replay_place"), before)

    def test_nothing_predicted(self):
        """Without messages to others and modelled collectives all is copied; that is no error of 0 %."""
        for job, hint in (barrier(), True), (to_oneself(), False), (lonely(), False):
            self.write(job)
            text = self.replay()
            self.assertIn("nothing is predicted: no message goes to another rank", text)
            self.assertEqual("--collectives modelled" in text, hint)
            self.assertNotRegex(text, r"[+-]\d+\.\d %|error \d")
            answer = json.loads(self.replay("--json"))
            self.assertEqual((answer["copied"], answer["run"]["mpi_error"]), (True, None))
            self.assertEqual(self.query("SELECT mpi_error FROM replay_run"), [(None,)])
            note = self.tool("replay", self.trace, "--machine", self.machine, "--format", "csv").stderr
            self.assertIn("note: nothing is predicted", note)
            report = " ".join(self.tool("report", self.trace, "--section", "whole-run").stdout.split())
            self.assertIn("copied: nothing is predicted", report)
            self.assertNotIn("error", report)
        self.write(chain())
        self.assertIn("error", self.replay())
        self.assertIs(json.loads(self.replay("--json"))["copied"], False)

    def test_few(self):
        self.write(barrier())
        self.assertIn("rank 1       100.0 %", self.replay())
        self.write(lonely())
        text = self.replay()
        self.assertIn("Nobody waits", text)
        self.assertIn("1 rank, 0 messages, 0 collectives", text)
        done = self.tool("report", self.trace, "--all")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("nan ", text)
        self.assertNotIn("nan", self.tool("replay", self.trace, "--machine", self.machine, "--format", "csv").stdout)

    def test_refused(self):
        self.write(chain())
        self.refused(1, "No such file", trace=self.folder / "none.db")
        self.refused(1, "is a folder", trace=self.folder)
        (self.folder / "empty.db").write_bytes(b"")
        self.refused(1, "is empty", trace=self.folder / "empty.db")
        whole = self.trace.read_bytes()
        (self.folder / "cut.db").write_bytes(whole[:len(whole) // 2])
        self.refused(1, "is cut off", trace=self.folder / "cut.db")
        machine = "--machine", self.machine
        self.refused(1, "choose with --machine", "--law", "flow")
        self.refused(1, "nonesuch", "--machine", "nonesuch")
        self.refused(2, "expected", *machine, "--law", "nonesuch")
        self.refused(2, "--from", *machine, "--from", "soon")
        self.refused(2, "--to", *machine, "--to", "-1")
        self.refused(1, "--to", *machine, "--from", "0.005", "--to", "0.001")
        self.refused(1, "mark", *machine, "--from", "mark:7")
        self.refused(1, "site", *machine, "--to", "site:99")
        self.refused(1, "rank 9", *machine, "--scale-computation", "rank:9:2")
        self.refused(1, "call site 99", *machine, "--scale-computation", "site:99:2")
        self.refused(2, "--scale-computation", *machine, "--scale-computation", "rank:0:nan")
        self.refused(1, "cannot be written", *machine, "-o", self.folder / "no" / "such")
        (self.folder / "between.tbl").write_text(MACHINE.replace("intra_socket", "inter_node"))
        self.refused(1, "no values for level intra_socket", "--machine", self.folder / "between.tbl")

    def test_nothing_to_replay(self):
        self.write(chain(), "UPDATE message_row SET send_call_ns = NULL, recv_call_ns = NULL", "DELETE FROM call_row")
        self.refused(1, "calls")
        self.write(chain())
        self.refused(1, "--from: the run ends at", "--machine", self.machine, "--from", "50")
        self.refused(1, "nothing of the run lies in that window", "--machine", self.machine, "--from", "0.001", "--to", "0.001")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
