"""A long run in shards: how long ingest takes, and time and peak memory of the first screen (at most 2 s and 200 MB), of the call sites,
of the page (at most 256 MB), of exports of a window and its first screen, of `query late_senders`, which reads sums, and of queries that read all messages: one that runs in the shards side by side, with 1 and 2
threads, and one that reads them as one table, whose time stands beside that of the same trace in one file, if that is wanted.

usage: shards.py MPISTAIR MAKE_SPOOLS FOLDER [RANKS STEPS SHARDS [one]]

Messages: 2 * RANKS * STEPS; 1e8 unless told, which takes 20 GB of spools and 8 GB of traces in FOLDER, removed at the end.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import time

MPISTAIR, MAKE_SPOOLS, FOLDER = map(os.path.abspath, sys.argv[1:4])
RANKS, STEPS, SHARDS = [int(word) for word in sys.argv[4:7]] or [1024, 48829, 64]
BUDGET_S, BUDGET_MB, PAGE_BUDGET_MB = 2, 200, 256


def measure(*words):
    """Seconds by the clock, of processors, and peak MB of a command."""
    begin = time.monotonic()
    child = os.fork()
    if child == 0:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.execv(words[0], words)
    _, status, usage = os.wait4(child, 0)
    if status != 0:
        sys.exit(f"{' '.join(words)}: status {status}")
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000


def show(what, *words):
    measured = measure(MPISTAIR, *words)
    print(f"{what:44} {measured[0]:8.2f} s {measured[1]:8.2f} s of processors {measured[2]:7.0f} MB", flush=True)
    return measured


def main():
    wrong = 0
    top = tempfile.mkdtemp(dir=FOLDER, prefix="shards-bench-")
    try:
        spools, trace, one = (os.path.join(top, name) for name in ("spools", "trace.db", "one.db"))
        os.mkdir(spools)
        subprocess.run([MAKE_SPOOLS, spools, str(RANKS), "16", str(STEPS)], check=True)
        print(f"{2 * RANKS * STEPS} messages of {RANKS} ranks, {SHARDS} shards")
        show("ingest", "ingest", spools, "-o", trace, "--quiet", "--shards", str(SHARDS))
        if sys.argv[7:] == ["one"]:
            show("ingest, one file", "ingest", spools, "-o", one, "--quiet", "--shards", "1")
        shutil.rmtree(spools)
        for what, words in (("first screen", ["report", trace]), ("call sites", ["report", trace, "--section", "call-sites"])):
            seconds, _, megabytes = show(what, *words)
            if seconds > BUDGET_S or megabytes > BUDGET_MB:
                wrong += 1
                print(f"  more than {BUDGET_S} s or {BUDGET_MB} MB")
        seconds, _, megabytes = show("page of HTML", "report", trace, "--format", "html", "-o", os.path.join(top, "page.html"))
        if megabytes > PAGE_BUDGET_MB:
            wrong += 1
            print(f"  more than {PAGE_BUDGET_MB} MB")
        ranks = f"0-{min(RANKS, 4) - 1}"
        for what, words in (("some ranks", ["--ranks", ranks]), ("all ranks", [])):
            show(f"export of {what}, a two-hundredth of the run", "export", trace, "--to", "perfetto", "--from", "50%", "--to", "50.5%",
                 "-o", os.path.join(top, "window.json"), *words)
        show("first screen of that part", "report", trace, "--from", "50%", "--to", "50.5%")
        show("query late_senders", "query", trace, "late_senders")
        for jobs in "1", "2":
            show(f"query slowest_messages, {jobs} thread{'s'[:jobs != '1']}", "query", trace, "slowest_messages", "--jobs", jobs, "--format", "csv")
        sql = "SELECT count(*), sum(bytes) FROM message_row"
        show("count and bytes, as one table", "query", trace, sql, "--format", "csv")
        show("count and bytes, each shard, 2 threads", "query", trace, sql, "--each-shard", "--jobs", "2")
        show("messages to one rank, as one table", "query", trace, "SELECT sum(bytes) FROM message_row WHERE dst = 7", "--format", "csv")
        show("messages of one round, as one table", "query", trace, "SELECT count(*) FROM message_row WHERE round_id = 77", "--format", "csv")
        if os.path.exists(one):
            show("count and bytes, one file", "query", one, sql, "--format", "csv")
            show("query slowest_messages, one file", "query", one, "slowest_messages", "--format", "csv")
    finally:
        shutil.rmtree(top)
    return 1 if wrong else 0


sys.exit(main())
