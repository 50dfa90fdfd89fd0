"""`mpistair import` of GOAL, DUMPI and time-independent traces: what is right, and what is wrong with its line and reason.

usage: test_import_malformed.py MPISTAIR
"""
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import dumpi_file

MPISTAIR = os.path.abspath(sys.argv[1])

GOAL = """num_ranks 3

rank 0 {
a: calc 1000
b: send 100b to 1 tag 4
c: send 20b to 2
b requires a
c requires b
}

rank 1 {
r: recv 100b from 0 tag 4
w: calc 500 // works on it
w requires r
s: send 7b to 2 tag 9
s requires w
}
rank 2 {
first: recv 7b from 1 tag 9
second: recv 20b from 0
}
"""

TIT = """0 init
1 init
# a comment
0 compute 5e3
0 send 1 3 100
0 irecv 1 4 10 0
0 wait 1 0 4
1 recv 0 3 100
1 isend 0 4 10 0
1 waitall 1
0 reduce 8 0 1
1 reduce 8 0 1
0 barrier
1 barrier
0 finalize
1 finalize
"""

# What replaces what in GOAL, and what the error says.
WRONG_GOAL = [
    ("num_ranks 3", "num_ranks 0", ":1: expected 'num_ranks N'"),
    ("num_ranks 3", "num_ranks -3", ":1: expected 'num_ranks N'"),
    ("num_ranks 3", "num_ranks 99999999999", ":1: expected 'num_ranks N'"),
    ("num_ranks 3", "num_ranks 3\nnum_ranks 3", ":2: expected 'num_ranks N' once"),
    ("num_ranks 3\n", "", ": expected 'rank R {'"),
    ("num_ranks 3", "ranks 3", "'ranks': expected num_ranks or rank"),
    ("rank 2 {", "rank 3 {", "expected 'rank R {' with a rank below num_ranks"),
    ("rank 2 {", "rank 1 {", "rank 1 again"),
    ("rank 2 {", "rank 2", "expected 'rank R {'"),
    ("calc 1000", "calc -1", ":4: expected 'calc NANOSECONDS'"),
    ("calc 1000", "calc 1e3", ":4: expected 'calc NANOSECONDS'"),
    ("calc 1000", "calc 99999999999999999999", ":4: expected 'calc NANOSECONDS'"),
    ("calc 1000", "compute 1000", "'compute': expected send, recv or calc"),
    ("send 100b to 1", "send 100b from 1", "expected 'send BYTESb to RANK [tag TAG]' with a rank below 3"),
    ("send 100b to 1", "send 100b to 3", "with a rank below 3"),
    ("send 100b to 1", "send b to 1", "expected 'send BYTESb"),
    ("send 100b to 1", "send nan to 1", "expected 'send BYTESb"),
    ("tag 4", "tag", "'tag': expected a number"),
    ("tag 4", "tag -4", "'tag': expected a number"),
    ("tag 4", "label 4", "'label': expected tag, cpu or nic"),
    ("b: send", "a: send", ":5: label 'a' is taken"),
    ("b requires a", "b requires z", ":7: no label 'z' above"),
    ("b requires a", "z requires a", ":7: no label 'z' above"),
    ("b requires a", "b needs a", ":7: 'b needs': expected 'LABEL: OPERATION'"),
    ("b requires a", "b requires a\na requires c", "requires itself"),
    ("tag 9\nsecond", "tag 8\nsecond", "rank 2 waits here for what no rank does"),
    ("second: recv 20b from 0\n}\n", "second: recv 20b from 0\n", "cut off: expected '}'"),
    ("a: calc", "a:\0 calc", ":4: "),
    (GOAL, "", ""),
    (GOAL, "num_ranks 2", None),
]
WRONG_TIT = [
    ("0 send 1 3 100", "0 send 2 3 100", ":5: send: '2': expected a number from 0 to 1"),
    ("0 send 1 3 100", "0 send 1 -3 100", ":5: send: '-3': expected a number"),
    ("0 send 1 3 100", "0 send 1 3 1e300", ":5: send: '1e300': expected a number"),
    ("0 send 1 3 100", "0 send 1 3 nan", ":5: send: 'nan': expected a number"),
    ("0 send 1 3 100", "0 send 1 3", ":5: send: expected a size"),
    ("0 send 1 3 100", "0 send 1 3 100 9", ":5: send: '9': expected a number from 0 to 6"),
    ("0 send 1 3 100", "0 shout 1 3 100", ":5: 'shout': no action that is known"),
    ("0 send 1 3 100", "-1 send 1 3 100", ":5: '-1': expected 'PROCESS ACTION"),
    ("0 send 1 3 100", "99999999999 send 1 3 100", ":5: '99999999999': expected 'PROCESS ACTION"),
    ("0 wait 1 0 4", "0 wait 1 0 5", ":7: wait: no open request from 1 to 0 with tag 5"),
    ("0 compute 5e3", "0 compute x", ":4: compute: 'x': expected a number"),
    ("1 barrier\n", "", "waits here for what no rank does"),
    ("1 recv 0 3 100\n", "1 recv 0 2 100\n", "waits here for what no rank does"),
    (TIT, "", ""),
    (TIT, "# nothing\n", "no action of any process"),
    (TIT, "no_such_file.tit\n", "no_such_file.tit"),
]


class Import(unittest.TestCase):
    def setUp(self):
        self._folder = tempfile.TemporaryDirectory()
        self.addCleanup(self._folder.cleanup)
        self.folder = pathlib.Path(self._folder.name)
        self.trace = self.folder / "t.db"

    def call(self, name, text, *options):
        path = self.folder / name
        path.write_bytes(text.encode())
        return subprocess.run([MPISTAIR, "import", path, "-o", self.trace, *options], capture_output=True, text=True, timeout=60,
                              env=dict(os.environ, TMPDIR=str(self.folder)))

    def query(self, sql):
        with sqlite3.connect(self.trace) as database:
            return database.execute(sql).fetchall()

    def test_goal(self):
        done = self.call("x.goal", GOAL)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.query("SELECT src, dst, tag, bytes FROM message ORDER BY 1, 2"),
                         [(0, 1, 4, 100), (0, 2, 0, 20), (1, 2, 9, 7)])
        # Rank 1 works from the moment on when rank 0 has sent.
        sent, = self.query("SELECT send_post_ns FROM message WHERE src = 0 AND dst = 1")[0]
        posted, = self.query("SELECT send_post_ns FROM message WHERE src = 1")[0]
        self.assertEqual((sent - 1000, posted - sent >= 500), (0, True), (sent, posted))
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("mpistair")], [])

    def test_tit(self):
        done = self.call("x.tit", TIT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.query("SELECT src, dst, tag, bytes FROM message ORDER BY 1"), [(0, 1, 3, 100), (1, 0, 4, 80)])
        self.assertEqual(self.query("SELECT function, root, bytes, count(*) FROM collective GROUP BY 1, 2, 3 ORDER BY 1"),
                         [("MPI_Barrier", None, 0, 2), ("MPI_Reduce", 1, 8, 2)])

    def test_line_ends(self):
        self.assertEqual(self.call("x.goal", GOAL.replace("\n", "\r\n")).returncode, 0)
        self.assertEqual(len(self.query("SELECT 1 FROM message")), 3)

    def check(self, name, text, cases):
        for old, new, says in cases:
            self.assertIn(old, text)
            self.trace.unlink(missing_ok=True)
            done = self.call(name, text.replace(old, new, 1))
            if says is None:
                continue
            self.assertEqual((done.returncode, self.trace.exists()), (1, False), (old, new, done.stderr))
            self.assertIn(says, done.stderr, (old, new))
            self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("mpistair")], [], (old, new))

    def test_wrong_goal(self):
        self.check("x.goal", GOAL, WRONG_GOAL)

    def test_wrong_tit(self):
        self.check("x.tit", TIT, WRONG_TIT)

    def import_dumpi(self, files, limit_s=60):
        self.trace.unlink(missing_ok=True)
        paths = []
        for rank, content in enumerate(files):
            paths.append(self.folder / f"dumpi-{rank:04d}.bin")
            paths[-1].write_bytes(content)
        return subprocess.run([MPISTAIR, "import", *paths, "-o", self.trace], capture_output=True, text=True, timeout=limit_s,
                              errors="replace", env=dict(os.environ, TMPDIR=str(self.folder)))

    def test_dumpi(self):
        done = self.import_dumpi(dumpi_file.pair())
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(self.query("SELECT src, dst, comm > 0, tag, bytes FROM message ORDER BY 5 DESC, 1"),
                         [(0, 1, 0, 7, 80), (1, 0, 1, 9, 4), (0, 1, 1, 9, 4), (0, 1, 0, 5, 3), (1, 0, 0, 5, 3)][:1] +
                         [(0, 1, 1, 9, 4), (1, 0, 1, 9, 4), (0, 1, 0, 5, 3), (1, 0, 0, 5, 3)])
        self.assertEqual(self.query("SELECT count(*) FROM unmatched"), [(0,)])
        self.assertEqual(self.query("SELECT function, comm > 0, bytes, root FROM collective WHERE rank = 1 ORDER BY begin_ns"),
                         [("MPI_Allreduce", 1, 16, None), ("MPI_Gather", 0, 6, 0)])
        self.assertEqual(self.query("SELECT count(*) FROM node"), [(2,)])
        self.assertEqual(self.query("SELECT rank, world_rank FROM communicator_member WHERE communicator = "
                                    "(SELECT max(comm) FROM message) ORDER BY 1"), [(0, 1), (1, 0)])

    def test_cut_dumpi(self):
        """However a file is cut, and whatever byte of it is another one, nothing is written that cannot be read."""
        first, second = dumpi_file.pair()
        for length in range(0, len(second), 41):
            done = self.import_dumpi([first, second[:length]])
            self.assertEqual((done.returncode, self.trace.exists()), (1, False), (length, done.stderr))
            self.assertIn("dumpi-0001.bin", done.stderr)
        for at in range(0, len(second), 29):
            done = self.import_dumpi([first, second[:at] + bytes([second[at] ^ 0x55]) + second[at + 1:]])
            self.assertIn(done.returncode, (0, 1), (at, done.stderr))

    def test_files_of_ranks(self):
        path = self.folder / "dumpi-0001.bin"
        path.write_bytes(dumpi_file.pair()[1])
        done = subprocess.run([MPISTAIR, "import", path, "-o", self.trace], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn("expected the files of all ranks", done.stderr)

    def test_usage(self):
        for arguments, says in ((["x.xyz", "-o", "t.db"], "its suffix is none of"), ([], "no file"), (["x.goal"], "expected -o FILE"),
                                (["x.goal", "-o", "-"], "expected -o FILE"), (["x.goal", "-o", "t.db", "--from", "pdf"], "--from pdf")):
            done = subprocess.run([MPISTAIR, "import", *arguments], capture_output=True, text=True, cwd=self.folder)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(says, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
