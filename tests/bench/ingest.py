"""Speed, memory and size of ingest on spools of a ring without MPI (make_spools.c), beside the time that SQLite alone takes
to insert the same rows: read by one connection, bound and inserted by a prepared statement a table of another, indexes last
(bare_inserts.c). Then many small spools.

usage: ingest.py MPISTAIR MAKE_SPOOLS BARE_INSERTS SCHEMA.SQL [OPERATIONS ...]      1e6 and 1e7 unless told; `sums`: a job of
1,000 ranks recorded by --sums alone
"""
import os
import resource
import subprocess
import sys
import tempfile
import time

MPISTAIR, MAKE_SPOOLS, BARE_INSERTS, SCHEMA = sys.argv[1:5]
RANKS = 4


def run(*command):
    """(seconds, processor seconds, peak RSS in MiB)."""
    begin = time.perf_counter()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)}: status {status}")
    return time.perf_counter() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def measure_sums(ranks):
    """A job of an hour, recorded by --sums."""
    with tempfile.TemporaryDirectory(prefix="mpistair-bench-") as folder:
        subprocess.run([MAKE_SPOOLS, folder, str(ranks), "64", "1000000", "sums"], check=True)
        database = os.path.join(folder, "trace.db")
        took, processor, peak = run(MPISTAIR, "ingest", folder, "-o", database, "--quiet")
        screens = [run("sh", "-c", f"{MPISTAIR} report {database} > {folder}/screen") for _ in range(3)]
        size = os.path.getsize(database)
        print(f"{ranks} ranks, totals alone: ingest {took:.2f} s ({processor:.2f} s of a core, {peak:.0f} MiB), trace {size / 1e6:.1f} MB, "
              f"{size / 1e3 / ranks:.0f} kB a rank; first screen {min(s[0] for s in screens):.2f} s ({min(s[1] for s in screens):.2f} s of a core, "
              f"{screens[0][2]:.0f} MiB)")
        with open(f"{folder}/screen", encoding="utf-8") as screen:
            print("".join(screen.readlines()[:30]))


def measure(operations):
    with tempfile.TemporaryDirectory(prefix="mpistair-bench-") as folder:
        steps = max(operations // (4 * RANKS), 1)
        operations = 4 * RANKS * steps
        subprocess.run([MAKE_SPOOLS, folder, str(RANKS), str(RANKS), str(steps)], check=True)
        database, copy = os.path.join(folder, "trace.db"), os.path.join(folder, "copy.db")
        for options in ([], ["--no-calls"]):
            took, processor, peak = run(MPISTAIR, "ingest", folder, "-o", database, "--quiet", *options)
            size = os.path.getsize(database)
            out = subprocess.run([BARE_INSERTS, database, copy, SCHEMA], check=True, stdout=subprocess.PIPE, text=True).stdout
            rows, bare = int(out.split()[0]), float(out.split()[1])
            os.unlink(copy)
            print(f"{operations:.3g} operations {' '.join(options) or 'with calls':10s}: {took:6.2f} s, "
                  f"{operations / took:.3g} operations/s ({operations / processor:.3g} a processor second), "
                  f"peak {peak:.0f} MiB, {2 * size / operations:.1f} bytes a message; "
                  f"bare inserts of its {rows} rows {bare:.2f} s: {took / bare:.2f} times", flush=True)


def measure_many(nodes, ranks_a_node, steps):
    with tempfile.TemporaryDirectory(prefix="mpistair-bench-") as folder:
        ranks = nodes * ranks_a_node
        subprocess.run([MAKE_SPOOLS, folder, str(ranks), str(ranks_a_node), str(steps)], check=True)
        soft = min(256, resource.getrlimit(resource.RLIMIT_NOFILE)[1])
        took, _, peak = run("sh", "-c", f"ulimit -n {soft}; exec \"$@\"", "sh", MPISTAIR, "ingest", folder, "-o",
                            os.path.join(folder, "trace.db"))
        print(f"{ranks} spools of {nodes} nodes, {4 * ranks * steps} operations, at most {soft} open files: {took:.2f} s, "
              f"peak {peak:.0f} MiB", flush=True)


if sys.argv[5:] == ["sums"]:
    measure_sums(1000)
    sys.exit()
for count in sys.argv[5:] or ("1e6", "1e7"):
    measure(int(float(count)))
measure_many(256, 32, 5)
measure_sums(1000)
