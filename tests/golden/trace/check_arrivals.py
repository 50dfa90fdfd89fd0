"""Times of threads out of traces: when partitions were ready, or sends were posted, since the last call before it returned.

usage: check_arrivals.py MPISTAIR GEN_WRAPPERS MPI.TBL SHOW_ARRIVALS
"""
import os
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import spool

MPISTAIR, GEN_WRAPPERS, TABLE, SHOW = sys.argv[1:5]

# Rank 0 starts its two requests and computes from 30 on; a partition is ready for one peer, then for the other. Operations
# are counted from 1 on, two a round.
PARTITIONED = """
world 3
0 persistent 1 Psend_init 1 5 800 1 partitions=2
0 persistent 2 Psend_init 2 5 400 2 partitions=2
1 persistent 1 Precv_init 0 5 800 1 partitions=2
2 persistent 1 Precv_init 0 5 400 1 partitions=2
""" + "".join(f"""
0 Start 1 5 800 {at + 10}-{at + 9000} started=1 partitioned call=5
0 partitions {n} {at + 1030}-{at + 5040} 2 2
0 Start 2 5 400 {at + 20}-{at + 9000} started=2 partitioned call=10
0 partitions {n + 1} {at + 1031}-{at + 5041} 2 2
0 partition {n} Pready 0 {at + 5040}
0 partition {n} Pready 1 {at + 1030}
0 partition {n + 1} Pready 0 {at + 5041}
0 partition {n + 1} Pready 1 {at + 1031}
0 Waitall {at + 8000}-{at + 9000} 2
1 Start 0 5 800 {at + 10}-{at + 9500} started=1 receive partitioned
1 partitions {round} - 0 2
1 Waitall {at + 20}-{at + 9500} 1
2 Start 0 5 400 {at + 10}-{at + 9500} started=1 receive partitioned
2 partitions {round} - 0 2
2 Waitall {at + 20}-{at + 9500} 1
""" for round, n, at in ((1, 1, 0), (2, 3, 100000)))

# Both ranks send two messages from two processors; rank 1 in the second round from one. The barrier before returns at 1000.
POSTED = """
world 2
* Barrier 10-1000
0 Irecv 1 5 80 2000-9000 cpu=4
0 Isend 1 5 80 2100-9000 cpu=4
0 Isend 1 6 80 6000-9000 cpu=2
0 Irecv 1 6 80 2150-9000 cpu=2
0 Waitall 6100-9000 4
1 Irecv 0 5 80 2000-9000 cpu=1
1 Irecv 0 6 80 2050-9000 cpu=1
1 Isend 0 5 80 3000-9000 cpu=1
1 Isend 0 6 80 3500-9000 cpu=7
1 Waitall 6200-9000 4
* Barrier 10000-11000
0 Irecv 1 5 80 12000-19000 cpu=2
0 Isend 1 5 80 13000-19000 cpu=4
0 Isend 1 6 80 12500-19000 cpu=2
0 Irecv 1 6 80 12600-19000 cpu=2
0 Waitall 16100-19000 4
1 Irecv 0 5 80 12000-19000 cpu=1
1 Irecv 0 6 80 12050-19000 cpu=1
1 Isend 0 5 80 13000-19000 cpu=1
1 Isend 0 6 80 13500-19000 cpu=1
1 Waitall 16200-19000 4
"""


def seconds(text):
    """Rows (rank, thread, time in ns), and the comment behind them."""
    lines = text.splitlines()
    assert lines[0] == "rank,thread,seconds", lines
    rows = [line.split(",") for line in lines[1:] if not line.startswith("#")]
    return [(int(rank), int(thread), round(float(s) * 1e9, 3)) for rank, thread, s in rows], lines[-1]


def made(folder, name, script):
    spools, database = os.path.join(folder, name), os.path.join(folder, name + ".db")
    os.mkdir(spools)
    written = spool.Script(*spool.read_functions(GEN_WRAPPERS, TABLE))
    written.read([line for line in script.splitlines() if line])
    written.write(spools)
    subprocess.run([MPISTAIR, "ingest", spools, "-o", database], check=True, capture_output=True, timeout=60)
    return database


def show(database):
    return subprocess.run([SHOW, database], capture_output=True, text=True, timeout=60)


def change(database, sql):
    with sqlite3.connect(database) as connection:
        connection.executescript(sql)
    connection.close()


def expect(found, expected):
    assert found == expected, f"\nexpected {expected}\nfound    {found}"


def check_partitioned(folder):
    database = made(folder, "partitioned", PARTITIONED)
    rows = [(0, 0, 5010), (0, 1, 1000)]
    expect(seconds(show(database).stdout),
           (rows * 2, "# ranks 1, threads 2, rounds 2, others 0, partitioned 1, unseen 0, incomplete 0"))
    predict = [MPISTAIR, "predict", "--finegrain", "--machine", "summit", "--bytes", "1000", "--format", "csv", "--parts", "2",
               "--arrivals", "trace:" + database, "--threads"]
    done = subprocess.run(predict + ["2"], capture_output=True, text=True, timeout=60)
    expect((done.returncode, done.stdout.splitlines()[1].split(",")[1]), (0, "2"))
    done = subprocess.run(predict + ["4"], capture_output=True, text=True, timeout=60)
    expect((done.returncode, "times of 2 threads of rank 0; expected 4" in done.stderr), (2, True))
    change(database, "DELETE FROM partition WHERE rowid = (SELECT min(rowid) FROM partition WHERE partition = 0)")
    expect(seconds(show(database).stdout)[0], [(0, 0, 5011)] + rows[1:] + rows)  # its other peer has it
    change(database, "DELETE FROM partition WHERE rowid = (SELECT min(rowid) FROM partition WHERE partition = 0)")
    expect(seconds(show(database).stdout),
           (rows, "# ranks 1, threads 2, rounds 1, others 0, partitioned 1, unseen 0, incomplete 1"))
    change(database, "UPDATE partition SET first_ns = 1e17 WHERE partition = 0")
    expect(show(database).stderr, f"mpistair: {database}: no round of which all partitions are recorded\n")
    change(database, "DELETE FROM partition WHERE partition IS NOT NULL")
    expect(show(database).stderr, f"mpistair: {database}: the trace does not say when partitions were ready; record with "
                                  "MPISTAIR_PARTITIONS=1\n")


def check_posted(folder):
    database = made(folder, "posted", POSTED)
    expect(seconds(show(database).stdout),  # of a job with one thread the first send counts
           ([(0, 0, 1100), (0, 0, 1500), (1, 0, 2000), (1, 0, 2000)],
            "# ranks 2, threads 1, rounds 4, others 0, partitioned 0, unseen 0, incomplete 0"))
    change(database, "UPDATE run SET thread_level = 'MPI_THREAD_MULTIPLE'")
    expect(seconds(show(database).stdout),  # processors in order; of rank 1 the round with more threads
           ([(0, 0, 5000), (0, 1, 1100), (0, 0, 1500), (0, 1, 2000), (1, 0, 2000), (1, 1, 2500)],
            "# ranks 2, threads 2, rounds 3, others 1, partitioned 0, unseen 0, incomplete 0"))
    change(database, "UPDATE message_row SET send_cpu = NULL")
    expect(seconds(show(database).stdout)[0], [(0, 0, 1100), (0, 0, 1500), (1, 0, 2000), (1, 0, 2000)])
    change(database, "UPDATE message_row SET send_post_ns = send_post_ns + 100000000000000")
    expect(show(database).stderr, f"mpistair: {database}: no computation that is shorter than a day\n")
    change(database, "DELETE FROM message_row")
    expect(show(database).stderr, f"mpistair: {database}: no round has sends to other ranks, which show when threads "
                                  "were done\n")


def check_bad(folder):
    path = os.path.join(folder, "bad.db")
    with open(path, "wb") as file:
        file.write(b"SQLite format 3\0 but no more")
    for bad in (path, os.path.join(folder, "none.db"), folder):
        done = show(bad)
        expect((done.returncode, done.stdout, bad in done.stderr), (1, "", True))


def main():
    with tempfile.TemporaryDirectory() as folder:
        check_partitioned(folder)
        check_posted(folder)
        check_bad(folder)


main()
