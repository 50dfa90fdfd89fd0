"""How long `mpistair predict` takes on a pattern of the size of T Table IV's largest (large.h), from file to output: CSV with
all models and with each, then a trace with the same messages as one round; `report` of that trace, and of one with as many
messages in many rounds. Aim: 2 s and 400 MB from CSV. Papers are named as in share/doc/MODELS.md.

With numbers of ranks: patterns like it of so many ranks, all models, how time and memory grow, and whether that is within the
budget of 1,048,576 ranks, 2 minutes on two cores and 12 GB, in proportion to the messages. 1048576 by hand: 9 GB of disk, minutes.

usage: bench_predict.py MPISTAIR BENCH_MODELS SCHEMA.sql [RANKS ...]
"""
import csv
import math
import os
import sqlite3
import subprocess
import sys
import tempfile
import time

MPISTAIR, BENCH_MODELS, SCHEMA = sys.argv[1:4]
SCALES = [int(argument) for argument in sys.argv[4:]]
BUDGET_MESSAGES, BUDGET_S, BUDGET_BYTES = 1048576 * 335, 2 * 120, 12e9
MODELS = ["all", "postal", "max-rate", "node-aware", "staircase", "flow"]
RANKS_A_NODE, RANKS_A_SOCKET = 128, 64


def run(title, *command, memory=True):
    """memory: not where this process itself is large: a child's peak begins with that of its parent."""
    begin = time.perf_counter()
    process = subprocess.Popen([MPISTAIR, *command], stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(command)}: status {status}")
    peak = f", peak {usage.ru_maxrss / 1024:.0f} MiB" if memory else ""
    print(f"{title:44s} {time.perf_counter() - begin:6.2f} s, {usage.ru_utime + usage.ru_stime:6.2f} s of processors{peak}",
          flush=True)
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024


def form_of(src, dst):
    if src // RANKS_A_NODE != dst // RANKS_A_NODE:
        return 4
    return 2 if src // RANKS_A_SOCKET == dst // RANKS_A_SOCKET else 3


def make_trace(path, ranks, rounds):
    """rounds: a list of (kind, [(src, dst, bytes)]) in the order of time; lists may repeat."""
    database = sqlite3.connect(path)
    with open(SCHEMA) as schema:
        text = schema.read()
    database.executescript("PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;" + text)
    execute = database.execute
    execute("INSERT INTO run(id, run_key, mpistair_version, started_unix_ns, duration_ns, mpi_family, mpi_library, "
            "thread_level, command, world_size, spools, detail) VALUES (1, 'bench', '0', 0, ?, 'MPICH', 'MPICH', "
            "'MPI_THREAD_SINGLE', 'bench', ?, ?, 'all')", (len(rounds) * 2000000, ranks, ranks))
    database.executemany("INSERT INTO node(id, host, sockets, cores) VALUES (?, ?, 2, 128)",
                         ((n, f"node{n}") for n in range((ranks + RANKS_A_NODE - 1) // RANKS_A_NODE)))
    database.executemany("INSERT INTO process(rank, node, socket, core, pid, place, ended, begin_ns, end_ns) "
                         "VALUES (?, ?, ?, ?, ?, 'placement', 'finalize', 0, 1)",
                         ((r, r // RANKS_A_NODE, r % RANKS_A_NODE // RANKS_A_SOCKET, r % RANKS_A_NODE, r + 1)
                          for r in range(ranks)))
    execute("INSERT INTO function VALUES (1, 'MPI_Isend'), (2, 'MPI_Irecv')")
    for level in range(4):
        execute("INSERT INTO form(id, level, send_function, recv_function, any_source, any_tag, uncertain) "
                "VALUES (?, ?, 1, 2, 0, 0, 0)", (level + 1, level))
    execute("INSERT INTO communicator(id, size, known) VALUES (0, ?, 1)", (ranks,))
    kinds = dict(rounds)
    for kind, messages in kinds.items():
        execute("INSERT INTO kind VALUES (?, ?, ?, ?)", (kind, sum(other == kind for other, _ in rounds), len(messages),
                                                         sum(message[2] for message in messages)))
    n_messages = 0
    for number, (kind, messages) in enumerate(rounds, 1):
        begin = 2000000 * number
        execute("INSERT INTO round VALUES (?, ?, ?, ?, ?)", (number, kind, begin, begin + 1000000, n_messages + 1))
        n_messages += len(messages)
        database.executemany("INSERT INTO message_row(src, dst, comm, tag, bytes, form, round_id, send_post_ns, send_ns, "
                             "late_ns, recv_ns, room_bytes, send_call_ns, recv_call_ns) "
                             "VALUES (?, ?, 0, 0, ?, ?, ?, ?, 50000, 100, 60000, 0, 80, 80)",
                             ((src, dst, size, form_of(src, dst), number, begin + src % 1000)
                              for src, dst, size in messages))
        part = {message[0] for message in messages} | {message[1] for message in messages}
        database.executemany("INSERT INTO round_process VALUES (?, ?, ?, ?, 50000)",
                             ((number, rank, begin + rank % 50, begin + 90000 + (rank + number) % 999)
                              for rank in sorted(part)))
    database.commit()
    database.close()


def scales(folder):
    first, over = None, False
    for ranks in SCALES:
        prefix = os.path.join(folder, "scale")
        subprocess.run([BENCH_MODELS, prefix, str(ranks)], check=True)
        messages = ranks * 335
        seconds, peak = run(f"predict --pattern, all, {ranks} ranks", "predict", "--pattern", prefix + ".P.csv", "--placement",
                            prefix + ".L.csv", "--machine", "summit", "--format", "csv", "-o", os.path.join(folder, "out"))
        grown = "" if first is None else f", exponent {math.log(seconds / first[1]) / math.log(ranks / first[0]):.2f}"
        first = first or (ranks, seconds)
        budget_s, budget_bytes = (budget * messages / BUDGET_MESSAGES for budget in (BUDGET_S, BUDGET_BYTES))
        over = over or seconds > budget_s or peak > budget_bytes
        print(f"    {seconds / messages * 1e9:.0f} ns and {peak / messages:.1f} bytes a message, of {budget_s / messages * 1e9:.0f} and "
              f"{budget_bytes / messages:.1f}{grown}", flush=True)
    if over:
        sys.exit("more than the budget")


with tempfile.TemporaryDirectory(prefix="mpistair-bench-") as folder:
    if SCALES:
        scales(folder)
        sys.exit()
    large, out = os.path.join(folder, "large"), os.path.join(folder, "out")
    subprocess.run([BENCH_MODELS, large], check=True)
    pattern = large + ".P.csv"
    print(f"{pattern}: {os.path.getsize(pattern) / 1e6:.1f} MB")
    for model in MODELS:
        run(f"predict --pattern, {model}", "predict", "--pattern", pattern, "--placement", large + ".L.csv", "--machine",
            "summit", "--model", model, "--format", "csv", "-o", out)
    with open(pattern, newline="") as file:
        messages = [tuple(map(int, row)) for row in list(csv.reader(file))[1:]]
    one, many = os.path.join(folder, "one.db"), os.path.join(folder, "many.db")
    make_trace(one, 8192, [(1, messages)])
    near = [(src, dst, size) for src, dst, size in messages if src < RANKS_A_SOCKET and dst < RANKS_A_SOCKET]
    make_trace(many, RANKS_A_SOCKET, [(1 + i % 8, near[100 * (i % 8):100 * (i % 8) + 100]) for i in range(27446)])
    for name, trace in (("one round", one), ("27,446 rounds", many)):
        run(f"predict of {len(messages)} messages in {name}", "predict", trace, "--rounds", "--machine", "summit", "-o", out,
            memory=False)
        run(f"report of {len(messages)} messages in {name}", "report", trace, "-o", out, memory=False)
