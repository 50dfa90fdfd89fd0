"""Damaged spools: each case has its exit code and what must be said. Changes by lot: kept_spool.

usage: test_ingest_malformed.py MPISTAIR GEN_WRAPPERS MPI.TBL FOLDER_OF_SPOOL_PY SHARE
"""
import os
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, sys.argv[4])
import spool
import thin

MPISTAIR = sys.argv[1]
INGEST_SECONDS = 60
SECRET = b"nobody:$6$what is not for others\n"
SCRIPT = """world 2
1 communicator 2 Comm_dup parent=0 creation=0 leader=0 size=2 rank=1
0 communicator 2 Comm_dup parent=0 creation=0 leader=0 size=2 rank=0
repeat 70 every 100
0 Irecv 1 1 8 10-50
0 Isend 1 1 8 11-50
0 Waitall 12-50 2
1 Irecv 0 1 8 10-60 any_source
1 Isend 0 1 8 11-60
1 Waitall 12-60 2
0 Send 1 2 4 70-75 comm=2
1 Recv any 2 4 70-76 comm=2
end
* Allreduce 9000-9010
"""
# The rarer records, each kind with one name more than once; the first of rank 1 are RARE, in this order.
RARE_SCRIPT = """world 2
1 stack 1 0x1000,0x2000,0x3000,0x4000,0x5000
1 persistent 1 Psend_init 0 3 64 1 partitions=4
1 Start 0 3 64 5-90 started=1 partitioned stack=1
1 partitions 1 10-20 4 4
1 partition 1 Pready 2 10
1 persistent 2 Recv_init any 4 64 6
1 Start 0 4 64 7-90 started=2 receive any_source
1 rma Put 0 8 10-12 stack=1
1 file File_write_at 8 13-14 offset=16
1 mark 7 50
1 Mprobe 0 5 64 60-90 probe receive call=4
1 mark 0 91
1 Isend 0 6 1 92-99 off
1 mark 1 95
1 Iallreduce 96-110 call=2 nonblocking stack=1
1 Waitall 80-99 3
0 persistent 1 Precv_init 1 3 64 1 partitions=4
0 Start 1 3 64 5-90 started=1 receive partitioned
0 partitions 1 30-40 4 4
0 Send 1 4 64 7-30
0 Send 1 5 64 8-30
0 Irecv 1 6 1 92-99
0 mark 7 50
0 Iallreduce 96-110 call=2 nonblocking
"""
RARE = {}  # record of RARE_SCRIPT's rank 1 -> its place in the file
LOST = 200  # in the header: lost[]
TOPOLOGY, MAPS = LOST + 64 + 64 + 256 + 512 + 1024, LOST + 64 + 64 + 256 + 512 + 1024 + 512
CHUNKS = spool.HEADER_BYTES + spool.AREA_BYTES  # where chunks begin
FIRST = CHUNKS + 64  # the first record of a spool; that of rank 1 is a communicator
OPERATIONS = FIRST + spool.CHUNK_BYTES  # the first of the lane of its calls, operations of 64 bytes


def patch(at, form, *values):
    def change(data):
        struct.pack_into(form, data, at, *values)
        return data
    return change


def cut(size):
    return lambda data: data[:size]


def patch_rare(record, at, form, value):
    """Like patch, `at` bytes into a record of RARE_SCRIPT, whose places are known once it is written."""
    return lambda data: patch(RARE[record] + at, form, value)(data)


# name, change to the spool of rank 1, exit code, text on standard error, (cause in `loss` of rank 1 or None)
CASES = [
    ("empty", cut(0), 0, "ended at once", "at_once"),
    ("half a header", cut(30000), 0, "shorter than a header", "no_spool"),
    ("no magic", patch(0, "<Q", 5), 0, "no magic number", "no_spool"),
    ("magic not yet", patch(0, "<Q", 0), 0, "ended at once", "at_once"),
    ("another version", patch(8, "<I", 99), 1, "spool version 99", None),
    ("chunks of 0 bytes", patch(12, "<I", 0), 0, "size of chunks", "no_spool"),
    ("chunks of 4 GiB", patch(12, "<I", 0xFFFFFFC0), 0, "size of chunks", "no_spool"),
    ("more chunks than the file", patch(16, "<I", 7000), 0, "", "cut_off"),
    ("absurdly many chunks", patch(16, "<I", 0xFFFFFFFF), 0, "", "cut_off"),
    ("unknown clock", patch(20, "<I", 9), 0, "clock source", "no_spool"),
    ("rank not known yet", patch(32, "<i", -1), 0, "before it knew its rank", "no_spool"),
    ("rank beyond the world", patch(32, "<i", 2), 0, "rank or size", "no_spool"),
    ("negative world", patch(36, "<i", -5), 0, "rank or size", "no_spool"),
    ("world of another size", patch(36, "<i", 3), 1, "", None),
    ("same rank twice", patch(32, "<i", 0), 0, "rank 0 again", "no_spool"),
    ("another table", patch(56, "<Q", 1), 1, "another build", None),
    ("cut in mid chunk", cut(CHUNKS + 4096 + 1000), 0, "", "cut_off"),
    ("chunk without magic", patch(CHUNKS, "<I", 5), 0, "", "damaged"),
    ("unknown record type", patch(OPERATIONS, "<B", 200), 0, "", "damaged"),
    ("function out of range", patch(OPERATIONS + 2, "<H", 60000), 0, "", "damaged"),
    ("unknown communicator", patch(OPERATIONS + 4, "<I", 77), 0, "", "damaged"),
    ("peer beyond its communicator", patch(OPERATIONS + 8, "<i", 2), 0, "", "damaged"),
    ("peer of no meaning", patch(OPERATIONS + 8, "<i", -9), 0, "", "damaged"),
    ("negative tag", patch(OPERATIONS + 12, "<i", -7), 0, "", "damaged"),
    ("negative size", patch(OPERATIONS + 16, "<q", -1), 0, "", "damaged"),
    ("posted before the start", patch(OPERATIONS + 24, "<Q", 1), 0, "", "damaged"),
    ("completed before its post", patch(OPERATIONS + 32, "<Q", 2), 0, "", "damaged"),
    ("completed in 500 years", patch(OPERATIONS + 32, "<Q", 1 << 63), 0, "", "damaged"),
    ("completed in 70 years", patch(OPERATIONS + 32, "<Q", 1 << 61), 0, "", "damaged"),
    ("2^63 - 1 bytes", patch(OPERATIONS + 16, "<q", 2**63 - 1), 0, "", None),
    ("lost more than all", patch(LOST, "<QQ", 2**64 - 1, 2**64 - 1), 0, "", "disk"),
    ("communicator of no size", patch(FIRST + 20, "<i", 0), 0, "", "damaged"),
    ("communicator without parent", patch(FIRST + 8, "<I", 55), 0, "", "damaged"),
]

AREA = spool.HEADER_BYTES  # interpose/spool/area.h, beside the header's burst_level, burst_cut, burst_offset_ns and folded_chunks
SLOT, COURSE = AREA + thin.SLOTS_AT, AREA + thin.COURSE_AT
LEVEL, CUT, OFFSET, DROPPED = 11636, 11640, 11648, 11656


def many(*changes):
    def change(data):
        for one in changes:
            data = one(data)
        return data
    return change


def total(*values):
    return patch(SLOT, "<QIiHBBIQQQQd", *values)


def ghost(lane, first, last, n, *entry):
    return many(patch(AREA, "<II", 0, 40), patch(AREA + thin.GHOSTS_AT, "<IIII", lane, first, last, n),
                patch(AREA + thin.GHOSTS_AT + 16, "<IiiIQ", *entry), patch(LEVEL, "<I", 1), patch(DROPPED, "<Q", 1))


# What a damaged recorder, or a damaged file, may say of records that were dropped.
CASES += [
    ("bursts ages apart", patch(LEVEL, "<I", 0xFFFFFFFF), 0, "", None),
    ("bursts of no length", patch(CUT, "<I", 0xFFFFFFFF), 0, "", None),
    ("bursts of another age", many(patch(LEVEL, "<I", 3), patch(OFFSET, "<q", 2**63 - 1)), 0, "", None),
    ("bursts of an age before", many(patch(LEVEL, "<I", 3), patch(OFFSET, "<q", -2**63)), 0, "", None),
    ("total of no function", total(1, 0, 0, 60000, 0, 0, 0, 1, 0, 0, 0, 0.0), 0, "", "damaged"),
    ("total of 2^64 calls", total(1, 0, 0, 9, 0, 0, 0, 2**64 - 1, 0, 0, 0, 0.0), 0, "", "damaged"),
    ("total of 2^64 ticks", total(1, 0, 0, 9, 0, 0, 0, 1, 0, 2**64 - 1, 0, 0.0), 0, "", "damaged"),
    ("total of a bin beyond all", total(1, 0, 0, 9, 200, 0, 0, 1, 0, 0, 0, 0.0), 0, "", "damaged"),
    ("total of no square", total(1, 0, 0, 9, 0, 4, 0, 9, 1, 7, 7, float("nan")), 0, "", "damaged"),
    ("total of no communicator", total(1, 77, 5, 9, 0, 0, 0, 1, 0, 0, 0, 0.0), 0, "", None),
    ("total with a peer beyond its communicator", total(1, 0, 99, 9, 0, 0, 0, 1, 0, 0, 0, 0.0), 0, "", None),
    ("course of windows without end", patch(COURSE, "<II", 200, 3), 0, "", "damaged"),
    ("course of 2^32 windows", patch(COURSE, "<II", 30, 0xFFFFFFFF), 0, "", "damaged"),
    ("course of the longest windows", patch(COURSE, "<II", 63, 512), 0, "", None),
    ("ghost of 2^32 entries", ghost(1, 0, 0, 0xFFFFFFFF, 0, 0, 1, 0, 1), 0, "", "damaged"),
    ("ghost that ends before it begins", ghost(1, 5, 4, 1, 0, 0, 1, 0, 1), 0, "", "damaged"),
    ("ghost of chunks that are there", ghost(1, 0, 0xFFFFFFFF, 1, 0, 0, 1, 0, 7), 0, "", None),
    ("ghost of 2^64 sends", ghost(9, 0, 4, 1, 0, 0, 1, 0, 2**64 - 1), 0, "", None),
    ("ghost of no communicator", ghost(9, 0, 4, 1, 99, 0, 1, 0, 3), 0, "", None),
    ("ghost of no function", ghost(9, 0, 4, 1, 0, 0, 0, 0xFFFFFFFF, 3), 0, "", "damaged"),
    ("ghost of no request", ghost(9, 0, 4, 1, 0, 99, 0, 2, 3), 0, "", None),
    ("ghost of 2^64 collectives", ghost(9, 0, 4, 1, 0, 0, 0, 3 + 100, 2**64 - 1), 0, "", None),
    ("ghosts beyond the area", many(patch(AREA, "<II", 7, 0xFFFFFFFF), patch(LEVEL, "<I", 1)), 0, "", None),
    ("journal that puts back what is nowhere", many(patch(AREA + 64, "<IIIIII", 1, 0, 0, 512, 9, 0xFFFFFFFF),
                                                    patch(AREA + 88, "<I", 0xFFFFFFFF)), 0, "", None),
    ("journal of a chunk far away", patch(AREA + 64, "<IIIIII", 2, 0xFFFFFFFF, 0xFFFFFFFF, 0, 0, 0), 0, "", None),
    ("journal of a chunk that is being wiped out", patch(AREA + 64, "<IIIIII", 2, 1, 0xFFFFFFFF, 0, 0, 0), 0, "", None),
]

# The same for RARE_SCRIPT. A number that names nothing is damage, and what it belonged to is kept.
RARE_CASES = [
    ("as it is", lambda data: data, 0, "", None),
    ("stack of 2^32 frames", patch_rare("stack", 4, "<I", 0xFFFFFFFF), 0, "", "damaged"),
    ("stack of 64 frames", patch_rare("stack", 4, "<I", 64), 0, "", "damaged"),
    ("stack of no frames", patch_rare("stack", 4, "<I", 0), 0, "", "damaged"),
    ("stack without number", patch_rare("stack", 2, "<H", 0), 0, "", "damaged"),
    ("stack of another number", patch_rare("stack", 2, "<H", 9), 0, "", "damaged"),
    ("persistent of a number beyond all", patch_rare("persistent", 44, "<I", 0xFFFFFFFF), 0, "", "damaged"),
    ("persistent without number", patch_rare("persistent", 44, "<I", 0), 0, "", "damaged"),
    ("persistent of no communicator", patch_rare("persistent", 4, "<I", 99), 0, "", "damaged"),
    ("persistent of no direction", patch_rare("persistent", 1, "<B", 7), 0, "", "damaged"),
    ("persistent of no function", patch_rare("persistent", 2, "<H", 0xFFFF), 0, "", "damaged"),
    ("persistent with the number of another", patch_rare("persistent 2", 44, "<I", 1), 0, "", "damaged"),
    ("persistent of 2^32 partitions", patch_rare("persistent", 48, "<I", 0xFFFFFFFF), 0, "", None),
    ("start of no request", patch_rare("start", 60, "<I", 77), 0, "", "damaged"),
    ("operation with a stack that is not there", patch_rare("start", 58, "<H", 77), 0, "", "damaged"),
    ("partitions without operation", patch_rare("start", 56, "<H", 256), 0, "", "damaged"),
    ("partitions without number", patch_rare("partitions", 4, "<I", 0), 0, "", "damaged"),
    ("partitions that end before they begin", patch_rare("partitions", 8, "<Q", 1 << 50), 0, "", "damaged"),
    ("partitions before the start", patch_rare("partitions", 8, "<Q", 1), 0, "", "damaged"),
    ("partition without partitions", patch_rare("partition", 16, "<I", 5), 0, "", "damaged"),
    ("partition beyond the last", patch_rare("partition", 4, "<I", 4), 0, "", "damaged"),
    ("partition before the start", patch_rare("partition", 8, "<Q", 1), 0, "", "damaged"),
    ("one-sided call of no communicator", patch_rare("rma", 4, "<I", 99), 0, "", "damaged"),
    ("one-sided call to nobody", patch_rare("rma", 8, "<i", 2), 0, "", "damaged"),
    ("one-sided call of negative size", patch_rare("rma", 16, "<q", -1), 0, "", "damaged"),
    ("one-sided call that ends before it begins", patch_rare("rma", 32, "<Q", 2), 0, "", "damaged"),
    ("call on a file at a negative offset", patch_rare("file", 56, "<q", -2), 0, "", "damaged"),
    ("call on a file of negative size", patch_rare("file", 16, "<q", -1), 0, "", "damaged"),
    ("one-sided call of no function", patch_rare("rma", 2, "<H", 0xFFFF), 0, "", "damaged"),
    ("mark before the start", patch_rare("mark", 8, "<Q", 1), 0, "", "damaged"),
    ("mark of the smallest number", patch_rare("mark", 4, "<i", -2**31), 0, "", None),
    ("all at once off", patch_rare("mark", 4, "<i", 0), 0, "", None),
    ("name without end", patch_rare("last", 0, "160s", b"\x0a" + b"\xff" * 159), 0, "", "damaged"),
    ("name of no communicator", patch_rare("last", 0, "8s", b"\x0a\0\0\0\x63\0\0\0"), 0, "", None),
]


def ingest(folder):
    database = os.path.join(folder, "trace.db")
    if os.path.exists(database):
        os.unlink(database)
    done = subprocess.run([MPISTAIR, "ingest", folder, "-o", database, "--quiet"], capture_output=True, text=True,
                          timeout=INGEST_SECONDS)
    return done, database


def check_case(folder, original, name, change, code, text, cause):
    """What is wrong, or None."""
    with open(os.path.join(folder, "run-1.mpispool"), "wb") as file:
        file.write(change(bytearray(original)))
    done, database = ingest(folder)
    if name == "world of another size":
        code = done.returncode if done.returncode in (0, 1) else code  # either may be the damaged one of two
    if done.returncode != code or text not in done.stderr or "Sanitizer" in done.stderr:
        return f"{name}: exit {done.returncode}, expected {code} and '{text}':\n{done.stderr}"
    if cause is not None:
        with sqlite3.connect(f"file:{database}?immutable=1", uri=True) as connection:
            causes = [row[0] for row in connection.execute("select cause from loss where rank = 1 and n > 0")]
            verdict = connection.execute("select verdict from completeness").fetchone()[0]
        if cause not in causes or verdict == "complete":
            return f"{name}: expected the loss '{cause}', found {causes}, verdict '{verdict}'"
    return None


SPOOL_BEGIN = CHUNKS


def write_script(folder, text):
    """The spool of rank 1 as bytes."""
    script = spool.Script(*spool.read_functions(sys.argv[2], sys.argv[3]))
    script.read(text.splitlines())
    with open(script.write(folder)[1], "rb") as file:
        return file.read()


def find_rare(data):
    """Fills RARE; `last` is the room behind the last record."""
    for at, names in ((FIRST, ("stack", "persistent", "persistent 2", "mark")),
                      (OPERATIONS, ("start", "partitions", "partition", "start 2", "rma", "file"))):
        for name in names:
            RARE[name] = at
            at += spool.record_bytes(data, at)
    while data[at] != 0:
        at += spool.record_bytes(data, at)
    RARE["last"] = at


def name_file(folder, at, path):
    """Lets the headers of both spools name a file."""
    for rank in (0, 1):
        with open(os.path.join(folder, f"run-{rank}.mpispool"), "r+b") as file:
            file.seek(at)
            file.write(path.encode().ljust(512, b"\0"))


def check_named_files(folder, secret):
    """A header may name any file; those that are no plain files beside the spool are not read, and none is kept unread."""
    beside = os.path.join(folder, "beside")
    failures = []
    for name, at, path, make in (
            ("map of no end", MAPS, "/dev/zero", None),
            ("map that is a pipe", MAPS, beside, lambda: os.mkfifo(beside)),
            ("map that is a link", MAPS, beside, lambda: os.symlink("/dev/zero", beside)),
            ("map that is a folder", MAPS, beside, lambda: os.mkdir(beside)),
            ("topology elsewhere", TOPOLOGY, secret, None),
            ("topology above", TOPOLOGY, os.path.join(folder, "..", os.path.basename(secret)), None),
            ("topology that is a link", TOPOLOGY, beside, lambda: os.symlink(secret, beside)),
            ("topology that is none", TOPOLOGY, beside, lambda: shutil.copy(secret, beside)),
            ("topology of 1 TiB", TOPOLOGY, beside, lambda: open(beside, "w").truncate(1 << 40))):
        write_script(folder, SCRIPT)
        name_file(folder, at, path)
        if make is not None:
            make()
        try:
            done, database = ingest(folder)
        except subprocess.TimeoutExpired:
            failures.append(f"{name}: read for {INGEST_SECONDS} s")
        else:
            with open(database, "rb") as file:
                if done.returncode != 0 or SECRET in file.read():
                    failures.append(f"{name}: exit {done.returncode}, or the file lies in the trace: {done.stderr}")
        if make is not None:
            (os.rmdir if os.path.isdir(beside) and not os.path.islink(beside) else os.unlink)(beside)
    return failures


def check_sums(folder):
    """A program may name any number of bytes: all records are kept, and what adds them up stops at the largest integer."""
    failures = []
    most = (1 << 63) - 1
    write_script(folder, f"""world 2
repeat 20 every 1000
0 Send 1 0 {most} 1-2
1 Recv 0 0 {most} 1-3
0 Send null 0 {1 << 60} 4-5
0 Bcast 10-20 bytes={most} root=0
1 Bcast 10-20 bytes={most} root=0
0 rma Put 1 {most} 21-22
0 file File_write {most} 23-24 offset={most}
end
0 persistent 1 Send_init 1 0 {most} 40000
""")
    done, database = ingest(folder)
    with sqlite3.connect(database) as trace:
        lost = trace.execute("SELECT cause, n FROM loss").fetchall()
        rows = trace.execute("SELECT (SELECT count(*) FROM message WHERE bytes = ?1), (SELECT count(*) FROM collective WHERE "
                             "bytes = ?1), (SELECT count(*) FROM rma WHERE bytes = ?1), (SELECT count(*) FROM file_call WHERE "
                             "bytes = ?1 AND offset = ?1), (SELECT count(*) FROM persistent WHERE bytes = ?1)", (most,)).fetchone()
    if done.returncode != 0 or lost or rows != (20, 40, 20, 20, 1):
        failures.append(f"more bytes than there are: exit {done.returncode}: {done.stderr}; lost {lost}; rows {rows}")
    for words in (["report", "--all", database], ["report", "--all", "--format", "json", database], ["report", "--format", "csv", database],
                  ["report", "--format", "html", database], ["replay", database, "--machine", "blue-waters"], ["diff", database, database],
                  *(["query", database, name] for name in ("traffic", "ranks", "callsites", "collectives", "rma", "message_sizes",
                                                           "unmatched", "files", "calls")),
                  *(["export", database, "--to", name, "-o", os.path.join(folder, name)] for name in ("perfetto", "csv", "dot"))):
        done = subprocess.run([MPISTAIR, *words], capture_output=True, text=True, timeout=60)
        if done.returncode != 0:
            failures.append(f"{' '.join(words[:3])} of what is too large: exit {done.returncode}: {done.stderr}")
    return failures


def check_world(folder):
    """A world of which next to nothing is there."""
    script = spool.Script(*spool.read_functions(sys.argv[2], sys.argv[3]))
    script.read(["world 1"])
    script.processes[0].world = 1 << 24
    script.write(folder)
    done, _ = ingest(folder)
    good = done.returncode == 1 and "run-0.mpispool: its job has 16777216 processes, but only 1" in done.stderr
    return [] if good else [f"a world of 2^24 with one spool: exit {done.returncode}: {done.stderr}"]


def check_cut_meanwhile(folder):
    """A spool that is cut between its first and its last reading: ingest reads the schema between them, here from a pipe."""
    write_script(folder, SCRIPT)
    share = os.path.join(folder, "share")
    schema = os.path.join(share, "sql", "schema.sql")
    shutil.copytree(sys.argv[5], share)
    with open(schema, "rb") as file:
        text = file.read()
    os.unlink(schema)
    os.mkfifo(schema)
    run = subprocess.Popen([MPISTAIR, "ingest", folder, "-o", os.path.join(folder, "trace.db")], stderr=subprocess.PIPE,
                           text=True, env=os.environ | {"MPISTAIR_SHARE": share})
    pipe = None
    while pipe is None and run.poll() is None:
        try:
            pipe = os.open(schema, os.O_WRONLY | os.O_NONBLOCK)  # fails until it is read
        except OSError:
            time.sleep(0.01)
    if pipe is not None:
        os.set_blocking(pipe, True)
        os.truncate(os.path.join(folder, "run-1.mpispool"), SPOOL_BEGIN + 4096)
        with open(pipe, "wb") as file:
            file.write(text)
    told = run.communicate(timeout=INGEST_SECONDS)[1]
    left = [name for name in os.listdir(folder) if name.startswith("trace.db")]
    good = run.returncode == 1 and "run-1.mpispool: became shorter than" in told and left == []
    return [] if good else [f"cut while it is read: exit {run.returncode}, {left} left: {told}"]


def main():
    failures = []
    with tempfile.TemporaryDirectory() as above:
        folder, secret = os.path.join(above, "spools"), os.path.join(above, "secret")
        os.mkdir(folder)
        with open(secret, "wb") as file:
            file.write(SECRET)
        failures += check_named_files(folder, secret) + check_sums(folder)
    with tempfile.TemporaryDirectory() as folder:
        failures += check_world(folder)
    with tempfile.TemporaryDirectory() as folder:
        failures += check_cut_meanwhile(folder)
    with tempfile.TemporaryDirectory() as folder:
        for text, cases in ((SCRIPT, CASES), (RARE_SCRIPT, RARE_CASES)):
            original = write_script(folder, text)
            if text is RARE_SCRIPT:
                find_rare(original)
            for case in cases:
                failures.append(check_case(folder, original, *case))
        shutil.rmtree(folder)
        os.mkdir(folder)
        for name in ("no spool at all", "a folder named so"):
            done, _ = ingest(folder)
            if done.returncode != 1 or "no readable spool" not in done.stderr:
                failures.append(f"{name}: exit {done.returncode}: {done.stderr}")
            if name == "no spool at all":
                os.mkdir(os.path.join(folder, "x.mpispool"))
    failures = [failure for failure in failures if failure is not None]
    print("\n".join(failures))
    total = len(CASES) + len(RARE_CASES) + 2 + 13
    print(f"{total - len(failures)} of {total} damaged spools read as expected")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
