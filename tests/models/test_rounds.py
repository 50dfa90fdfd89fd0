"""`mpistair predict --rounds` of a trace with several rounds a kind: which rounds count.

usage: test_rounds.py MPISTAIR SCHEMA.sql
"""
import csv
import io
import os
import random
import sqlite3
import subprocess
import sys
import unittest

from empty_trace import empty_trace
from predict_test import PredictTest

MPISTAIR, SCHEMA = map(os.path.abspath, sys.argv[1:3])


class Rounds(PredictTest):
    def make_trace(self, rounds):
        """Four ranks on one socket. rounds: [(kind, begin_ns, {rank: first post_ns}, [(src, dst, bytes, send_ns, recv_ns)])],
        posts from the round's begin."""
        path = os.path.join(self.folder, "trace.db")
        database = empty_trace(path, SCHEMA)
        database.execute("INSERT INTO run VALUES (1,'k','0',0,0,'MPICH','l','t','c',4,4,NULL,NULL,NULL,NULL, 'all')")
        database.executemany("INSERT INTO process(rank,node,socket,ended) VALUES (?,0,0,'finalize')", [(r,) for r in range(4)])
        for kind in {kind for kind, *_ in rounds}:
            messages = next(m for k, _, _, m in rounds if k == kind)
            database.execute("INSERT INTO kind VALUES (?,?,?,?)", (kind, sum(k == kind for k, *_ in rounds), len(messages),
                                                                   sum(m[2] for m in messages)))
        for round_id, (kind, begin, first, messages) in enumerate(rounds):
            database.execute("INSERT INTO round(id, kind_id, begin_ns, end_ns) VALUES (?,?,?,?)", (round_id, kind, begin, begin + 10 ** 6))
            database.executemany("INSERT INTO round_process VALUES (?,?,?,?,0)",
                                 [(round_id, rank, begin + at, begin + 10 ** 6) for rank, at in first.items()])
            database.executemany(
                "INSERT INTO message(src,dst,comm,tag,bytes,level,round_id,send_post_ns,recv_post_ns,recv_bytes,send_function,"
                "recv_function,any_source,any_tag,uncertain) VALUES (?,?,0,0,?,'intra_socket',?,?,?,?,'s','r',0,0,0)",
                [(src, dst, size, round_id, begin + send, begin + recv, size) for src, dst, size, send, recv in messages])
        database.commit()
        database.close()
        return path

    def machine(self):
        """Searches cost 10 ns an entry, a message of one byte takes 1 ns."""
        return self.write("m.tbl", "name m\nsource s\nintra_socket any tau - 1e-6 s\nintra_socket any bw 1 1e9 B/s\n"
                          "intra_socket any bw 4 2e9 B/s\nany any queue_step 64 1e-8 s\n")

    def stored(self, trace, *arguments):
        """{(model, kind, rank): (time_s, queue_s)}"""
        done = subprocess.run([MPISTAIR, "predict", trace, "--rounds", "--machine", self.machine(), *arguments], capture_output=True,
                              text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        database = sqlite3.connect(trace)
        rows = database.execute("SELECT model, kind_id, rank, time_s, queue_s FROM prediction JOIN prediction_run ON id = run_id")
        found = {tuple(row[:3]): row[3:] for row in rows}
        database.close()
        return found

    def test_models_side_by_side(self):
        """Rounds of many messages are predicted by several models at a time: each says what it says alone."""
        rng = random.Random(5)
        rounds = []
        for i in range(3):
            begins = {rank: rng.randrange(20000) for rank in range(4)}
            pairs = [rng.sample(range(4), 2) for _ in range(2500)]
            rounds.append((i % 2, i * 10 ** 7, begins, [(src, dst, rng.randrange(1, 10 ** 5), begins[src] + rng.randrange(9000),
                                                         begins[dst] + rng.randrange(9000)) for src, dst in pairs]))
        trace = self.make_trace(rounds)
        timed = {"postal+queue", "flow+queue"}
        together = self.stored(trace, "--model", ",".join(["all", *timed]))
        models = {model for model, _, _ in together}
        self.assertLess({"staircase", "flow", *timed}, models)
        self.assertEqual(len(together), 8 * len(models))
        with sqlite3.connect(trace) as database:
            database.execute("DELETE FROM prediction")
            database.execute("DELETE FROM prediction_run")
        for model in models:
            alone = self.stored(trace, "--model", model)
        self.assertEqual(alone, together)

    def test_moved_messages_are_those_of_one_round_a_kind(self):
        trace = self.make_trace([(0, i * 10 ** 6, {0: 0, 1: 0}, [(0, 1, 1000, 0, 0), (1, 0, 1000, 0, 0)]) for i in range(5)])
        with sqlite3.connect(trace) as database:
            database.execute("UPDATE form SET level = 3 WHERE id % 2")
        done = subprocess.run([MPISTAIR, "predict", trace, "--rounds", "--machine", self.machine(), "--model",
                               "staircase,postal+queue"], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("1 of 2 messages were recorded at another level", done.stderr)

    def test_one_reader_of_rounds(self):
        """A standing receive, posts that differ from round to round, ranks that begin late: what the pattern of a kind gives is
        what predict stored."""
        rounds = [(0, 10 ** 9, {0: 0, 1: 5000, 2: 0}, [(0, 1, 10 ** 6, 0, -9 * 10 ** 8), (2, 1, 5 * 10 ** 5, -4000, 7000)]),
                  (1, 2 * 10 ** 9, {0: 30000, 3: 0}, [(3, 0, 10 ** 6, -10 ** 8, 40000)]),
                  (0, 3 * 10 ** 9, {0: 90000, 1: 0, 2: 0}, [(0, 1, 10 ** 6, 90000, 0), (2, 1, 5 * 10 ** 5, 0, 7000)])]
        trace, models, machine = self.make_trace(rounds), "staircase,postal+queue", self.machine()
        found = self.stored(trace, "--model", models)
        subprocess.run([MPISTAIR, "pattern", "--from", trace, "--kind", "1", "-o", os.path.join(self.folder, "k")], check=True,
                       capture_output=True, timeout=60)
        done = subprocess.run([MPISTAIR, "predict", "--pattern", os.path.join(self.folder, "k.P.csv"), "--placement",
                               os.path.join(self.folder, "k.L.csv"), "--machine", machine, "--model", "postal+queue",
                               "--format", "csv"], capture_output=True, text=True, timeout=60, check=True)
        for row in csv.DictReader(io.StringIO(done.stdout)):
            key = ("postal+queue", 1, int(row["rank"]))
            if key in found:
                self.assertAlmostEqual(float(row["time_s"]) * 1e6, found[key][0] * 1e6, delta=1e-6)

    def test_overlap(self):
        """Rank 0 computes longer than its send takes, rank 1 for 40 us of about 100; two rounds."""
        trace = self.make_trace([(0, i * 10 ** 6, {0: 0, 1: 0}, [(0, 1, 10 ** 6, 0, 0)]) for i in range(2)])
        database = sqlite3.connect(trace)
        database.execute("UPDATE round_process SET end_ns = begin_ns + 110000, in_mpi_ns = CASE rank WHEN 0 THEN 5000 ELSE 70000 END")
        database.commit()
        alone_s = 1e6 / 10.2e9
        self.stored(trace, "--machine", "epyc-rome", "--model", "staircase")
        rows = database.execute("SELECT rank, outside_s, model_s, visible_s, in_mpi_s FROM rank_visible ORDER BY rank").fetchall()
        database.close()
        expected = [(0, 210e-6, 2 * alone_s, 0, 10e-6),
                    (1, 80e-6, 2 * (alone_s + 1.7e-6), 2 * (alone_s + 1.7e-6) - 80e-6, 140e-6)]
        for row, values in zip(rows, expected, strict=True):
            for value, other in zip(row, values, strict=True):
                self.assertAlmostEqual(value, other, delta=1e-12)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
