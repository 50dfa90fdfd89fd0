"""Traces of which only bursts have rows of single calls and messages: the errors of the laws are those of the bursts, each
replayed by itself from the measured begins of its ranks.

usage: test_bursts.py MPISTAIR SCHEMA.sql
"""
import json
import sqlite3
import sys
import unittest

import test_replay_command as made
from reference_program import Message
from run_traces import Call, Job, Meeting

MS, US = 1000000, 1000
RANKS = 4


def ring(steps, late=1):
    """A halo on a ring, an Allreduce every fourth step; computation of some 2 ms, rank 2 now and then longer."""
    now = [rank * 10 * US for rank in range(RANKS)]
    job = Job([(0, 0)] * RANKS, list(now), [MS] * RANKS)
    for step in range(steps):
        first, transfer = len(job.messages), 400 * US + 30 * US * (step % 4)
        gaps = [2 * MS + 50 * US * ((rank + step) % 3) + (late * MS if rank == 2 and step % 5 == 0 else 0) for rank in range(RANKS)]
        sent = [begin + gap + 3 * US for begin, gap in zip(now, gaps)]
        for rank in range(RANKS):
            left = (rank - 1) % RANKS
            job.messages.append(Message(rank, (rank + 1) % RANKS, 200000 + 1000 * (step % 7)))
            job.calls[rank].append(Call("MPI_Irecv", gaps[rank], 2 * US, posts=[("receive", first + left)]))
            job.calls[rank].append(Call("MPI_Isend", US, 3 * US, posts=[("send", first + rank)]))
            waits = sent[rank] + 4 * US
            now[rank] = max(waits, sent[left], sent[rank]) + transfer
            job.calls[rank].append(Call("MPI_Waitall", US, now[rank] - waits, completes=[
                ("receive", first + left), ("send", first + rank)]))
        if step % 4 == 3:
            job.meetings.append(Meeting("MPI_Allreduce", 0, list(range(RANKS)), None, 8, dict.fromkeys(range(RANKS), 20 * US)))
            for rank in range(RANKS):
                job.calls[rank].append(Call("MPI_Allreduce", 5 * US, 20 * US, collective=len(job.meetings) - 1))
            now = [max(now) + 25 * US] * RANKS
    job.finish()
    return job


class Bursts(unittest.TestCase):
    setUp, tool, query = made.ReplayCommand.setUp, made.ReplayCommand.tool, made.ReplayCommand.query

    def write(self, job):
        made.ReplayCommand.write(self, job)
        with sqlite3.connect(self.trace) as database:
            database.execute("UPDATE collective SET instance = (SELECT count(*) FROM collective c WHERE c.rank = collective.rank "
                             "AND c.begin_ns <= collective.begin_ns)")

    def thin(self, *bursts, keep=()):
        """Leaves the rows of calls that begin in a burst, and of messages both of whose ends are posted in the same one."""
        with sqlite3.connect(self.trace) as database:
            database.execute("UPDATE run SET detail = 'bursts'")
            database.executemany("INSERT INTO burst VALUES (?, ?)", bursts)
            inside = "EXISTS (SELECT 1 FROM burst WHERE {0} >= burst.begin_ns AND {0} < burst.end_ns{1})"
            for table in "call_row", "collective":
                database.execute(f"DELETE FROM {table} WHERE NOT " + inside.format(table + ".begin_ns", ""))
            post = "message_row.send_post_ns + message_row.late_ns"
            database.execute("DELETE FROM message_row WHERE NOT " + inside.format(
                "send_post_ns", f" AND {post} >= burst.begin_ns AND {post} < burst.end_ns") + f" AND id NOT IN ({','.join(map(str, keep))})")

    def predict(self, *arguments, code=0):
        self.machine.write_text(made.MACHINE.replace("1e9", "5e8"))
        done = self.tool("predict", self.trace, "--machine", self.machine, *arguments)
        self.assertEqual(done.returncode, code, done.stderr)
        return done

    def test_errors_are_near_those_of_the_whole_run(self):
        job = ring(400)
        self.write(job)
        whole = {row["law"]: row for row in json.loads(self.predict("--json").stdout)}
        self.write(job)
        end_ns = max(job.ends_ns)
        bursts = [(begin, begin + 50 * MS) for begin in range(37 * MS + 123, end_ns, 200 * MS)]
        self.thin(*bursts)
        found = {row["law"]: row for row in json.loads(self.predict("--json").stdout)}
        self.assertEqual(found.keys(), whole.keys())
        for law, row in found.items():
            self.assertGreater(whole[law]["error"], 0.05)
            self.assertAlmostEqual(row["error"], whole[law]["error"], delta=0.02, msg=law)
            self.assertAlmostEqual(row["bias"], whole[law]["bias"], delta=0.02, msg=law)
            self.assertEqual(row["bursts"], len(bursts))
            self.assertAlmostEqual(row["burst_share"], 0.25, delta=0.03)
            self.assertAlmostEqual(row["measured_run_s"], row["burst_share"] * end_ns * 1e-9, delta=1e-3)
        self.assertIn(f"{len(bursts)} bursts, ", self.predict().stdout)
        # The story: parts of the ranks and the critical path are those of the bursts.
        story = json.loads(self.tool("replay", self.trace, "--machine", self.machine, "--json").stdout)
        self.assertEqual(story["bursts"], len(bursts))
        self.assertAlmostEqual(sum(place["critical_s"] for place in story["places"]), story["run"]["predicted_s"], delta=1e-6)
        for rank in story["ranks"]:
            for side in "measured", "predicted":
                self.assertAlmostEqual(rank[side]["computation_s"] + rank[side]["mpi_s"], rank[side]["run_s"], delta=1e-9)
                self.assertLessEqual(rank[side]["run_s"], story["run"][f"{side}_s"] * (1 + 1e-9))
        for side in story["efficiencies"].values():
            for share in side.values():
                self.assertTrue(0 < share <= 1 + 1e-9, story["efficiencies"])
        done = self.tool("report", self.trace)
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_each_begins_when_the_one_before_is_over(self):
        """Two bursts in which rank 0 sends 1 MB after 3 ms, which rank 1 awaits: as predicted 3 + 2 ms, and the rest computation."""
        job = Job([(0, 0)] * 2, [0, 0], [10 * MS] * 2)
        for k in range(3):
            job.messages.append(Message(0, 1, 10 ** 6))
            job.calls[0].append(Call("MPI_Send", 3 * MS if k == 0 else 100 * MS, MS, [("send", k)], [("send", k)]))
            job.calls[1].append(Call("MPI_Recv", MS if k == 0 else 98 * MS, 3 * MS, [("receive", k)], [("receive", k)]))
        job.finish()
        self.write(job)
        first, second = job.calls[0][0].begin_ns - 3 * MS, job.calls[0][2].begin_ns - 3 * MS
        self.thin((first, first + 8 * MS), (second, second + 8 * MS))
        row, = json.loads(self.predict("--model", "postal", "--json").stdout)
        self.assertAlmostEqual(row["measured_run_s"], 0.016, delta=1e-9)
        self.assertAlmostEqual(row["modelled_run_s"], 0.018, delta=1e-8)  # the message takes 1 ms longer than recorded, in each
        inside = self.query("SELECT rank, actual_s, model_s FROM rank_error ORDER BY rank")
        receive_s = sum(min(call.end_ns, begin + 8 * MS) - max(call.begin_ns, begin)
                        for call, begin in ((job.calls[1][0], first), (job.calls[1][2], second))) * 1e-9
        self.assertAlmostEqual(inside[0][1], 0.002, delta=1e-9)
        self.assertAlmostEqual(inside[0][2], 0.004, delta=1e-8)
        self.assertAlmostEqual(inside[1][1], receive_s, delta=1e-9)

    def test_nothing_spans_bursts(self):
        """A message that is sent in one burst and received in the next, and a collective whose members are in two, count in
        neither: no rank waits for another burst."""
        job = Job([(0, 0)] * 2, [0, 0], [MS] * 2)
        job.messages = [Message(0, 1, 1000), Message(0, 1, 1000), Message(0, 1, 1000)]
        for k, (sent, received) in enumerate(((MS, 2 * MS), (MS, 200 * MS), (200 * MS, 2 * MS))):
            job.calls[0].append(Call("MPI_Send", sent, MS, [("send", k)], [("send", k)]))
            job.calls[1].append(Call("MPI_Recv", received, MS, [("receive", k)], [("receive", k)]))
        job.finish()
        self.write(job)
        self.thin((0, 50 * MS), (150 * MS, 300 * MS), keep=[2])
        self.assertEqual(self.query("SELECT id FROM message_row ORDER BY id"), [(1,), (2,), (3,)])
        story = json.loads(self.tool("replay", self.trace, "--machine", self.machine, "--json").stdout)
        self.assertEqual(story["bursts"], 2)
        self.predict()

    def test_collectives_meet_by_their_number(self):
        """At the begin of the burst rank 1 is one Allreduce ahead, so that by counting rows it would meet the wrong ones."""
        job = ring(40)
        self.write(job)
        begins = sorted(call.begin_ns for call in job.calls[1] if call.collective is not None)
        own = sorted(call.begin_ns for call in job.calls[2] if call.collective is not None)
        at = next(i for i in range(2, 8) if own[i] != begins[i])
        cut = (own[at] + begins[at]) // 2
        self.thin((cut, cut + 60 * MS))
        rows = self.query("SELECT rank, min(instance), count(*) FROM collective GROUP BY rank ORDER BY rank")
        self.assertGreater(len({row[1] for row in rows}), 1, rows)
        story = json.loads(self.tool("replay", self.trace, "--machine", self.machine, "--json").stdout)
        longest = max(rank["measured"]["collective_wait_s"] for rank in story["ranks"])
        self.assertLess(longest, 0.02, "waits of neighbouring steps, not of other instances")

    def test_no_detail(self):
        self.write(ring(4))
        with sqlite3.connect(self.trace) as database:
            database.execute("UPDATE run SET detail = 'none'")
            for table in "message_row", "call_row", "collective":
                database.execute(f"DELETE FROM {table}")
        for command in "predict", "replay":
            done = self.tool(command, self.trace, "--machine", self.machine)
            self.assertEqual((done.returncode, done.stdout), (1, ""), done.stderr)
            self.assertIn("no single calls and messages were recorded", done.stderr)

    def test_malformed(self):
        job = ring(40)
        for burst in ((50 * MS, 10 * MS),), ((0, 20 * MS), (10 * MS, 30 * MS)), ((None, 20 * MS),):
            self.write(job)
            with sqlite3.connect(self.trace) as database:
                database.execute("DROP TABLE burst")
                database.execute("CREATE TABLE burst(begin_ns, end_ns)")
                database.executemany("INSERT INTO burst VALUES (?, ?)", burst)
            self.assertIn("burst: from", self.predict(code=1).stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
