#!/usr/bin/env python3
"""What the kernel counts of a rank is in the trace: as the rank itself saw it, whatever is forbidden, and after a kill; the job has no
descriptor more for it."""
import re
import struct

import job

# getrusage gives times in ticks of the kernel's accounting, and the job counts without MPI_Finalize.
LEAST, MOST = 0.95, 1.25


def counted(test, way, **more):
    """({rank: (cpu_s, faults, open descriptors)} as the job says, {rank: (cpu_s, faults)} as the trace has, how perf was there, windows)."""
    trace = test.folder / f"{way}{len(more)}.db"
    done = test.run([test.mpistair, "run", "-o", trace, "--", *test.launch(test.program("counted"), way)], 60, **more)
    if way != "killed":
        job.expect_equal(done.returncode, 0, f"exit code, {way}")
    said = {int(rank): (float(cpu_s), int(faults), int(n)) for rank, cpu_s, faults, n in
            re.findall(r"rank (\d+) cpu_s (\S+) faults (\d+) open (\d+)", done.stdout)}
    test.trace = trace
    rows = {rank: (cpu_s, faults) for rank, cpu_s, faults in test.query(
        "SELECT rank, sum(user_ns + system_ns) * 1e-9, sum(minor_faults) FROM counter GROUP BY rank")}
    perf = [row[0] for row in test.query("SELECT DISTINCT perf FROM counter_source")]
    return said, rows, perf, test.value("SELECT count(*) FROM counter WHERE rank = 0")


def expect_like(said, rows, way):
    job.expect_equal(sorted(set(rows) & set(said)), sorted(said), f"ranks with counters, {way}") # a launcher that kills keeps what others print
    for rank, (cpu_s, faults, _) in said.items():
        print(f"{way}: rank {rank} says {cpu_s:.3f} s and {faults} faults, the trace {rows[rank]}")
        if way != "killed" and not LEAST * cpu_s <= rows[rank][0] <= MOST * cpu_s + 0.05:
            job.fail(f"{way}: rank {rank} worked {cpu_s} s, the trace has {rows[rank][0]}")
        if way == "killed" and not cpu_s - 0.2 <= rows[rank][0] <= MOST * cpu_s + 0.05: # the last sample may be old
            job.fail(f"{way}: rank {rank} worked {cpu_s} s, the trace has {rows[rank][0]}")
        if not faults <= rows[rank][1] <= faults + 1000:
            job.fail(f"{way}: rank {rank} had {faults} faults, the trace has {rows[rank][1]}")


def interfaces(test):
    """A made /sys with an interface of each sort, one that has no device, and the line of TCP."""
    root = test.folder / "root"
    files = {"sys/class/net/eth7/device": "",
             "proc/thread-self/net/snmp": "Ip: A B\nIp: 1 2\nTcp: RtoMin InSegs RetransSegs X\nTcp: 200 17 42 9\n",
             "proc/thread-self/net/dev": "Inter-|   Receive\n face |bytes    packets\n    lo: 7 7 7 7 0 0 0 0 7 7 7 7 0 0 0 0\n"
                                         "  eth7: 10 1000 100000 10000000 9 9 9 9 100 10000 1000000 100000000 9 9 9 9\n veth0: 7 7 7 7 0 0 0 0 7 7 7 7 0 0 0 0\n"}
    for name, value in (("port_rcv_data", 25), ("port_xmit_data", 50), ("port_rcv_packets", 3)):
        files[f"sys/class/infiniband/mlx5_0/ports/1/counters/{name}"] = str(value)
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text + "\n")
    trace = test.folder / "network.db"
    test.must([test.mpistair, "run", "--keep-spools", "-o", trace, "--", *test.launch(test.program("counted"))], MPISTAIR_TEST_ROOT=str(root))
    spool = min(test.folder.glob("network.db.spool/*.mpispool"), key=lambda path: struct.unpack_from("<i", path.read_bytes(), 32)[0])
    content = spool.read_bytes()
    n, known = struct.unpack_from("<II", content, 16384)
    names = [content[16400 + 32 * i:16432 + 32 * i].split(b"\0")[0].decode() for i in range(known)]
    values = {name: struct.unpack_from("<5Q", content, 16384 + 256 + 8 + 40 * i) for i, name in enumerate(names)}
    no = 2**64 - 1
    job.expect_equal(values, {"mlx5_0/1": (100, 200, 3, no, no), "eth7": (10, 100, 11000, 111100000, no), "tcp": (no, no, no, no, 42)}, "the first sample")
    if n < 2:
        job.fail(f"{n} samples of the network")


def main():
    test = job.Job(__doc__)
    interfaces(test)
    off, rows, perf, _ = counted(test, "plain", MPISTAIR_COUNTERS="no")
    job.expect_equal((rows, perf), ({}, []), "counters that were switched off")
    said, rows, perf, windows = counted(test, "plain")
    expect_like(said, rows, "plain")
    job.expect_equal({rank: row[2] for rank, row in said.items()}, {rank: row[2] for rank, row in off.items()}, "open descriptors")
    if windows < 3:
        job.fail(f"{windows} windows in 400 ms or more")
    if test.value("SELECT count(*) FROM counter WHERE rank = 0 AND end_ns <= begin_ns") > 0:
        job.fail("windows that end before they begin")
    expect_like(*counted(test, "few")[:2], "few")
    said, rows, _, windows = counted(test, "closes")
    expect_like(said, rows, "closes")
    if windows < 3:
        job.fail(f"{windows} windows of a program that closes files")
    said, rows, perf, _ = counted(test, "forbid")
    expect_like(said, rows, "forbid")
    job.expect_equal(perf, ["forbidden"], "counters of the processor behind a filter")
    said, rows, perf, windows = counted(test, "bare")
    expect_like(said, rows, "bare")
    job.expect_equal(perf, [None], "counters of the processor without a table of its own")
    job.expect_equal(counted(test, "plain", MPISTAIR_THREAD="0")[3], 1, "windows without a thread")
    said, rows, _, _ = counted(test, "killed")
    expect_like(said, rows, "killed")
    job.expect_equal(test.value("SELECT ended FROM process WHERE rank = 1"), "killed", "end of the last rank")


main()
