"""`mpistair import` of GOAL, DUMPI, time-independent and OTF2 traces: what is right, and at least 30 kinds of broken files of
each: exit 1, an error that names the file with line or offset and what was expected, and nothing written.

usage: test_import_malformed.py MPISTAIR
"""
import gzip
import os
import pathlib
import re
import resource
import shutil
import sqlite3
import struct
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
    ("second: recv 20b from 0\n}\n", "second: recv 20b from 0\n", ":20: cut off: expected '}'"),
    ("second: recv 20b from 0\n}\n", "second: rec", ":20: 'rec': expected send, recv or calc"),
    ("calc 1000", "calc 4611686018427387904", ":4: rank 0 computes here beyond 2^57 ns"),
    ("a: calc", "a:\0 calc", ":4: a zero byte"),
    (GOAL, "\ufeff" + GOAL, ":1: "),
    (GOAL, GOAL.replace("\n", "\n\0"), ":2: a zero byte"),
    (GOAL, "x" * 70000, ":1: a line of more than"),
    (GOAL, "", ":1: cut off: expected 'num_ranks N'"),
    (GOAL, TIT, ":1: '0': expected num_ranks or rank"),
]
GOOD_GOAL = [(GOAL, "num_ranks 2"), (GOAL, GOAL.replace("\n", "\r\n")), (GOAL, GOAL[:-1])]
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
    ("0 send 1 3 100", "0 send 1 3 -100", ":5: send: '-100': expected a number"),
    ("0 send 1 3 100", "0 send", ":5: send: expected a size"),
    ("0 compute 5e3", "0 compute", ":4: compute: expected an amount"),
    ("0 compute 5e3", "0 compute -5", ":4: compute: '-5': expected a number"),
    ("0 compute 5e3", "0 compute inf", ":4: compute: 'inf': expected a number"),
    ("0 compute 5e3", "0 sleep 1e18", ":4: rank 0 computes here beyond 2^57 ns"),
    ("0 wait 1 0 4", "0 wait", ":7: wait: no open request"),
    ("0 reduce 8 0 1", "0 reduce 8 0 2", ":11: reduce: '2': expected a number from 0 to 1"),
    ("0 barrier", "0 allreduce 8 0", "waits here for what no rank does"),
    ("1 init", "0 init", ":2: init: process 0 again"),
    ("0 barrier", "0 finalize\n0 barrier", "barrier: process 0 has finalized above"),
    ("1 init", "70000 init", ":2: '70000': expected 'PROCESS ACTION"),
    ("# a comment", "\0", ":3: a zero byte"),
    (TIT, TIT + TIT, ":17: init: process 0 has finalized above"),
    (TIT, TIT[:-5], "'fina': no action that is known"),
    (TIT, "\ufeff" + TIT, ":1: "),
    (TIT, "x" * 5000000, ":1: a line of more than"),
    (TIT, GOAL, ":1: 'num_ranks': expected 'PROCESS ACTION"),
    (TIT, "", ":1: no action of any process"),
    (TIT, "# nothing\n", ":1: no action of any process"),
    (TIT, "no_such_file.tit\n", "no_such_file.tit: cannot be opened"),
    (TIT, "x.tit\n", "names files, as does the file that names it"),
]
GOOD_TIT = [(TIT, TIT.replace("\n", "\r\n")), (TIT, TIT[:-1])]


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

    def test_good(self):
        """What looks wrong and is not: line ends of Windows, no end of the last line, ranks that do nothing."""
        for name, cases in ("x.goal", GOOD_GOAL), ("x.tit", GOOD_TIT):
            for old, new in cases:
                self.assertEqual(self.call(name, new).returncode, 0, new)

    def refused(self, files, says, what, **options):
        """Imports what must be refused, over an output that has to stay."""
        self.trace.write_text("what was there")
        done = subprocess.run([MPISTAIR, "import", *files, "-o", self.trace], capture_output=True, text=True, errors="replace", timeout=60,
                              env=dict(os.environ, TMPDIR=str(self.folder)), **options)
        self.assertEqual((done.returncode, self.trace.read_text()), (1, "what was there"), (what, done.stderr))
        self.assertRegex(done.stderr, "(?m)^mpistair: .*" + re.escape(says), what)
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("mpistair")], [], what)
        return done.stderr

    def check(self, name, text, cases):
        self.assertGreaterEqual(len({text.replace(old, new, 1) for old, new, _ in cases}), 30)
        path = self.folder / name
        for old, new, says in cases:
            self.assertIn(old, text)
            path.write_bytes(text.replace(old, new, 1).encode())
            error = self.refused([path], says, (old, new[:100]))
            self.assertRegex(error, r"\.(goal|tit)(:\d+)?: ", (old, new[:100]))

    def check_paths(self, suffix):
        """Four that are no files to read."""
        loop, folder, closed = (self.folder / f"{name}{suffix}" for name in ("loop-0", "folder-0", "closed-0"))
        loop.symlink_to(loop.name)
        folder.mkdir()
        closed.write_text("x")
        closed.chmod(0)
        self.refused([self.folder / f"absent-0{suffix}"], f"absent-0{suffix}: cannot be opened: No such file", "absent")
        self.refused([loop], f"loop-0{suffix}: cannot be opened: Too many levels", "loop")
        self.refused([folder], f"folder-0{suffix}: " + ("cannot be read: Is a directory" if suffix in (".goal", ".tit") else "a folder: expected"), "folder")
        if os.geteuid() != 0:
            self.refused([closed], f"closed-0{suffix}: cannot be", "no permission")
        elif os.path.exists("/proc/sys/fs"):  # root may read all but what does not let itself be read
            self.refused([self.unreadable(suffix)], f"closed-0{suffix}: ", "no permission")

    @unittest.skipIf(b"__asan_init" in pathlib.Path(MPISTAIR).read_bytes(), "a sanitizer takes all addresses")
    def test_no_memory(self):
        """Memory runs out behind the reader, which ends the process: nothing is left of the import's own files."""
        (self.folder / "x.goal").write_text("num_ranks 300\n")
        done = subprocess.run([MPISTAIR, "import", self.folder / "x.goal", "-o", self.trace], capture_output=True, text=True, timeout=60,
                              env=dict(os.environ, TMPDIR=str(self.folder)),
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (44 << 20, 44 << 20)))
        self.assertEqual((done.returncode, self.trace.exists()), (1, False), done.stderr[-300:])
        self.assertIn("no memory", done.stderr)
        self.assertEqual([name for name in os.listdir(self.folder) if name.startswith("mpistair")], [])

    def unreadable(self, suffix):
        path = self.folder / f"closed-0{suffix}"
        path.unlink()
        path.symlink_to("/proc/self/mem")
        return path

    def test_wrong_goal(self):
        self.check("x.goal", GOAL, WRONG_GOAL)
        self.check_paths(".goal")

    def test_wrong_tit(self):
        self.check("x.tit", TIT, WRONG_TIT)
        self.check_paths(".tit")

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

    def test_wrong_dumpi(self):
        """Broken in one of two files, or as a set."""
        first, second = dumpi_file.pair()
        index, n = len(second) - 64, 0

        def patched(at, value):
            return second[:at] + value + second[at + len(value):]

        def called(name, fields, mask=None):
            """A file in which a call comes first."""
            file = dumpi_file.File("node1")
            file.call(name, fields)
            if mask is not None:
                file.body = file.body[:2] + bytes([mask]) + file.body[3:]
            return file.bytes()
        number = dumpi_file.NUMBERS["Send"]
        huge, beyond = struct.pack(">i", 2 ** 31 - 1), struct.pack(">Q", 2 ** 63)
        cases = [
            (b"", "offset 0: no DUMPI trace: expected its magic number"),
            (second[:7], "offset 0: no DUMPI trace"),
            (second[:8], "offset 8: cut off: expected the index"),
            (second[:8][::-1] + second[8:], "offset 0: no DUMPI trace"),
            (b"num_ranks 2\n" * 10, "offset 0: no DUMPI trace"),
            (gzip.compress(second), "offset 0: no DUMPI trace"),
            (second[:100], "offset 100: cut off"),
            (second[:-1], "cut off: expected the index"),
            (second[:-8], ""),
            (second[:index], "cut off: expected the index"),
            (second + b"\n", "cut off: expected the index"),
            (second + second[:5], "cut off: expected the index"),
            (patched(index + 8, beyond), f"offset {index + 8}: expected where the sizes of datatypes are"),
            (patched(index + 8, struct.pack(">Q", len(second) - 2)), "expected where the sizes of datatypes are"),
            (patched(index + 32, beyond), f"offset {index + 32}: expected where the header is"),
            (patched(index + 32, struct.pack(">Q", len(second) - 9)), "expected where the header is"),
            (patched(index + 40, beyond), f"offset {index + 40}: expected where the calls are"),
            (patched(index + 40, struct.pack(">Q", len(second) - 3)), "expected where the calls are"),
            (patched(index + 40, struct.pack(">Q", len(second) - 9)), "offset"),
            (patched(16, struct.pack(">H", 5000)), "offset 16: no function has the number 5000"),
            (patched(16, struct.pack(">H", 128)), "offset 16: no function has the number 128"),
            (patched(16, struct.pack("<H", 124)), "offset 16: no function has the number 31744"),
            (called("Waitall", dumpi_file.four(2) + huge + huge), "cut off in the record at offset 16"),
            (called("Waitall", dumpi_file.four(2) + dumpi_file.array(1, 2) + b"\xff" * 4), "cut off in the record at offset 16"),
            (called("Init", dumpi_file.four(-1)), "cut off in the record at offset 16"),
            (called("Init", dumpi_file.four(1) + huge), "cut off in the record at offset 16"),
            (called("Barrier", dumpi_file.two(2), 0), "offset"),
            (called("Send", dumpi_file.four(1)), ""),
            (patched(16 + 2, b"\xff"), "offset"),
            (struct.pack(">HB", number, 0).join((second[:16], second[16:])), "offset"),
            (called("Comm_size", dumpi_file.two(2) + dumpi_file.four(3)), "of a run of 3 ranks; the files of 1 of them are not given"),
            (called("Comm_size", dumpi_file.two(2) + huge), "ranks: expected at most 65536"),
            (called("Comm_rank", dumpi_file.two(2) + dumpi_file.four(0)), "dumpi-0001.bin: of a rank that another file is of"),
            (called("Comm_rank", dumpi_file.two(2) + dumpi_file.four(7)), "of a run of 8 ranks"),
            (called("Send", dumpi_file.four(1) + dumpi_file.two(5) + dumpi_file.four(5, 0) + dumpi_file.two(2)), "of a run of 6 ranks"),
        ]
        paths = [self.folder / f"dumpi-{rank:04d}.bin" for rank in (0, 1)]
        paths[0].write_bytes(first)
        for content, says in cases:
            paths[1].write_bytes(content)
            error = self.refused(paths, says, (n, content[:40]))
            self.assertRegex(error, r"dumpi-000[01]\.bin: ", n)
            n += 1
        self.assertGreaterEqual(n, 30)
        paths[1].write_bytes(second)
        self.refused([paths[0], paths[0]], "of a rank that another file is of", "the same twice")
        self.refused(paths[1:], "expected the files of all ranks", "one is missing")
        self.check_paths(".bin")

    def test_incomplete_dumpi(self):
        """One file of a run: what it says of others stays without a partner."""
        file = dumpi_file.File("node0")
        file.call("Comm_size", dumpi_file.two(2) + dumpi_file.four(4))
        file.call("Comm_rank", dumpi_file.two(2) + dumpi_file.four(1))
        file.call("Comm_split", dumpi_file.two(2) + dumpi_file.four(0, 0) + dumpi_file.two(4))
        file.call("Send", dumpi_file.four(10) + dumpi_file.two(dumpi_file.DOUBLE) + dumpi_file.four(3, 7) + dumpi_file.two(2))
        file.call("Send", dumpi_file.four(6) + dumpi_file.two(dumpi_file.BYTE) + dumpi_file.four(2, 7) + dumpi_file.two(4))
        file.call("Send", dumpi_file.four(6) + dumpi_file.two(dumpi_file.BYTE) + dumpi_file.four(-1, 7) + dumpi_file.two(2))
        path = self.folder / "alone.bin"
        path.write_bytes(file.bytes())
        self.refused([path], "alone.bin: of a run of 4 ranks; the files of 3 of them are not given, the first that of rank 0; --incomplete",
                     "not allowed")
        self.trace.unlink()
        done = subprocess.run([MPISTAIR, "import", path, "--incomplete", "-o", self.trace], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("only 1 of 4 ranks", done.stderr)
        self.assertEqual(self.query("SELECT rank, peer, bytes, reason FROM unmatched ORDER BY post_ns"),
                         [(1, 3, 80, "partner_lost"), (1, None, 6, "partner_lost"), (1, None, 6, "proc_null")])

    def test_sendrecv(self):
        """One call posts two operations: of DUMPI, and of the archive that is exported of it."""
        files = []
        for rank in (0, 1):
            files.append(dumpi_file.File(f"node{rank}"))
            files[-1].call("Sendrecv", (dumpi_file.four(3) + dumpi_file.two(dumpi_file.BYTE) + dumpi_file.four(1 - rank, 7)) * 2 +
                           dumpi_file.two(2) + dumpi_file.status((1 - rank, 7)))
        done = self.import_dumpi([file.bytes() for file in files])
        self.assertEqual(done.returncode, 0, done.stderr)
        for form in "dumpi", "otf2":
            self.assertEqual(self.query("SELECT src, dst, bytes, recv_function FROM message ORDER BY 1"),
                             [(0, 1, 3, "MPI_Sendrecv"), (1, 0, 3, "MPI_Sendrecv")], form)
            self.assertEqual(self.query("SELECT rank, function, end_ns - begin_ns FROM call ORDER BY 1"),
                             [(0, "MPI_Sendrecv", 1000), (1, "MPI_Sendrecv", 1000)], form)
            if form == "dumpi" and "otf2" not in os.environ.get("MPISTAIR_LACKS", "").split():
                archive = self.folder / "archive"
                for words in ["export", self.trace, "--to", "otf2", "-o", archive], ["import", archive / "traces.otf2", "-o", self.trace]:
                    done = subprocess.run([MPISTAIR, *words], capture_output=True, text=True)
                    self.assertEqual(done.returncode, 0, done.stderr)

    def made_archive(self):
        """One of our own, of three messages."""
        self.assertEqual(self.call("x.goal", GOAL).returncode, 0)
        done = subprocess.run([MPISTAIR, "export", self.trace, "--to", "otf2", "-o", self.folder / "good"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.trace.unlink()
        return self.folder / "good"

    @unittest.skipIf("otf2" in os.environ.get("MPISTAIR_LACKS", "").split(), "built without libotf2")
    def test_wrong_otf2(self):
        good, bad = self.made_archive(), self.folder / "bad"
        names = ["traces.otf2", "traces.def", "traces/0.def", "traces/0.evt", "traces/2.evt"]
        # Cut off; with each file, what is named in the error.
        cases = [(name, lambda data, part=part: data[:int(len(data) * part)], f"{part} of it") for name in names
                 for part in (0, .1, .4, .7, .95) if not (name == "traces/0.def" and part > .9)]
        cases += [(name, None, "absent") for name in names]
        cases += [(name, lambda data: b"num_ranks 2\n" * 20, "a text") for name in names]
        cases += [("traces.otf2", lambda data: data[:4] + b"\xff" + data[5:], "another version"),
                  ("traces.otf2", lambda data: data[::-1], "backwards"), ("traces.def", lambda data: gzip.compress(data), "compressed"),
                  ("traces/0.evt", lambda data: b"", "empty")]
        for name, change, what in cases:
            shutil.rmtree(bad, ignore_errors=True)
            shutil.copytree(good, bad)
            if change is None:
                (bad / name).unlink()
            else:
                (bad / name).write_bytes(change((good / name).read_bytes()))
            error = self.refused([bad / "traces.otf2"], "bad/", (name, what))
            self.assertRegex(error, r"bad/traces(\.otf2|\.def|/\d\.(def|evt)): ", (name, what))
        self.assertGreaterEqual(len(cases), 30)
        self.refused([good / "traces.otf2", good / "traces.otf2"], "a trace of this format is one file", "the same twice")
        self.check_paths(".otf2")

    def test_usage(self):
        for arguments, says in ((["x.xyz", "-o", "t.db"], "its suffix is none of"), ([], "no file"), (["x.goal"], "expected -o FILE"),
                                (["x.goal", "-o", "-"], "expected -o FILE"), (["x.goal", "-o", "t.db", "--from", "pdf"], "--from pdf")):
            done = subprocess.run([MPISTAIR, "import", *arguments], capture_output=True, text=True, cwd=self.folder)
            self.assertEqual(done.returncode, 2, arguments)
            self.assertIn(says, done.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
