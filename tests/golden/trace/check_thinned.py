"""Random runs, whole and thinned (thin.py): what is paired in a burst is paired in the whole run, what lies in a burst has its row,
numbers of joint calls are those of the whole run, and the totals are equal to the last unit.

usage: check_thinned.py MPISTAIR GEN_WRAPPERS MPI.TBL [RUNS [SEED]]
"""
import os
import random
import sqlite3
import struct
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import spool
import thin

MPISTAIR, GEN_WRAPPERS, TABLE = sys.argv[1:4]
RUNS, SEED = (int(word) for word in (sys.argv[4:6] + ["6", "1"][len(sys.argv[4:6]):]))
FUNCTIONS = spool.read_functions(GEN_WRAPPERS, TABLE)
MS = 1_000_000


def events_of(chance):
    """Lines of a script by rank, in the order of time, and how many ranks."""
    ranks = chance.randint(2, 4)
    n_lanes = chance.choice((1, 1, 2))
    length = chance.randint(900, 1500) * MS
    events = {rank: [] for rank in range(ranks)}
    # Times in which a lane of a rank does nothing.
    silent = {}
    for rank in range(ranks):
        for lane in range(n_lanes):
            begin = chance.randrange(length)
            silent[rank, lane] = (begin, begin + chance.choice((0, 0, 350 * MS)))

    def place(rank, at):
        lane = chance.randrange(n_lanes)
        begin, end = silent[rank, lane]
        return (end + (at - begin) // 50 if begin <= at < end else at), lane

    def add(rank, at, lane, text, end):
        events[rank].append((at, lane, text.format(begin=at, end=end)))

    comms = [0, 2] if chance.random() < 0.7 else [0]
    at = 10 * MS
    while at < length:
        at += chance.randrange(1, 2 * MS)
        kind = chance.random()
        if kind < 0.75:
            source, to = chance.randrange(ranks), chance.randrange(ranks)
            tag, comm, size = chance.randrange(2), chance.choice(comms), chance.choice((0, 8, 1000, 70000))
            sent, lane = place(source, at)
            way = chance.choice(("Send", "Isend", "Isend"))
            end = sent + chance.randrange(1, MS // 2)
            add(source, sent, lane, f"{way} {to} {tag} {size} {{begin}}-{{end}} comm={comm} lane={lane} site=4096", end)
            if way == "Isend" and chance.random() < 0.3:
                add(source, end, lane, f"Wait {{begin}}-{{end}} 1 lane={lane}", end + 10)
            posted, lane = place(to, max(at + chance.randrange(-4 * MS, 4 * MS), MS))
            words = f"Irecv {source} {tag} {size + 10} {{begin}}-{{end}} comm={comm} lane={lane} site=8192"
            words += chance.choice(("", "", " any_source", " any_tag", " any_source any_tag"))
            add(to, posted, lane, words, max(posted, sent) + chance.randrange(1, 3 * MS))
        elif kind < 0.8:
            rank = chance.randrange(ranks)
            when, lane = place(rank, at)
            add(rank, when, lane, f"Isend null 0 8 {{begin}}-{{end}} lane={lane}", when + 5)
        elif kind < 0.84:
            rank = chance.randrange(ranks)
            when, lane = place(rank, at)
            add(rank, when, lane, f"Irecv {chance.randrange(ranks)} 1 8 {{begin}}-{{end}} cancelled lane={lane}", when + 5)
        elif kind < 0.87:
            rank = chance.randrange(ranks)
            when, lane = place(rank, at)
            add(rank, when, lane, f"idle Test {chance.randint(1, 50)} {{begin}} {chance.randint(1, 900)} lane={lane}", 0)
        elif kind < 0.93:
            function, comm = chance.choice(("Barrier", "Allreduce")), chance.choice(comms)
            for rank in range(ranks):
                begin = at + chance.randrange(MS)
                add(rank, begin, 0, f"{function} {{begin}}-{{end}} comm={comm}", at + 2 * MS)
            at += 2 * MS
        else:
            function = chance.choice(("rma Win_fence null 0", "file File_write_at_all 100"))
            for rank in range(ranks):
                begin = at + chance.randrange(MS)
                add(rank, begin, 0, f"{function} {{begin}}-{{end}}", at + 2 * MS)
            at += 2 * MS
    return ranks, {rank: sorted(of_rank, key=lambda event: event[0]) for rank, of_rank in events.items()}


def script_of(chance):
    ranks, events = events_of(chance)
    lines = [f"world {ranks}", f"* communicator 2 Comm_dup parent=0 creation=0 leader=0 size={ranks} rank=0 begin=1 end=2"]
    lines = lines[:1] + [f"{rank} communicator 2 Comm_dup parent=0 creation=0 leader=0 size={ranks} rank={rank} begin=1 end=2" for rank in range(ranks)]
    return lines + [f"{rank} {text}" for rank in range(ranks) for _, _, text in events[rank]], ranks


def ingest(folder, lines, options, fault=None):
    """The trace of the script, with options of each process."""
    made = spool.Script(*FUNCTIONS)
    made.read(lines[:1] + [f"process {rank} {words}" for rank, words in options.items()] + lines[1:])
    paths = made.write(folder)
    for path in paths if fault is not None else []:
        fault(path)
    database = os.path.join(folder, "trace.db")
    done = subprocess.run([MPISTAIR, "ingest", folder, "-o", database], capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        sys.exit(f"ingest: {done.stderr}")
    connection = sqlite3.connect(database)
    return connection, done.stderr


def pairs(trace):
    return set(trace.execute("SELECT src, dst, comm, tag, bytes, send_post_ns, send_post_ns + late_ns FROM message_row"))


def posts(trace):
    return trace.execute("SELECT src, 'send', send_post_ns FROM message_row UNION ALL SELECT dst, 'receive', send_post_ns + late_ns "
                         "FROM message_row UNION ALL SELECT rank, direction, post_ns FROM unmatched ORDER BY 1, 2, 3").fetchall()


def totals(trace):
    return trace.execute("SELECT rank, function, (SELECT offset FROM callsite c WHERE c.id = callsite) AS site, comm, peer, several, level, direction, bin, "
                         "sum(calls), sum(bytes), sum(time_ns), max(longest_ns), off, idle FROM total GROUP BY rank, function, site, comm, peer, several, level, direction, bin, "
                         "off, idle ORDER BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 14, 15").fetchall()


def burst(at, offset, level, cut):
    """The number of the burst: what stays, and three quarters of the margin to both sides; None: between bursts."""
    length = thin.BURST_NS >> cut
    beyond = min(length, thin.MARGIN_NS) * 3 // 4 if level or cut else 0
    number, since = divmod(at + spool.START_NS + offset + beyond, thin.BURST_NS << level)
    return number if since < length + 2 * beyond else None


def compare(whole, thinned, offset, level, cut):
    """What of the thinned trace is not as in the whole one; how many pairs it has."""
    failures = []
    known, found = pairs(whole), pairs(thinned)
    if found - known:
        failures.append(f"{len(found - known)} of {len(found)} pairs are wrong: {sorted(found - known)[:2]}")
    expected = [post for post in posts(whole) if burst(post[2], offset, level, cut) is not None]
    if posts(thinned) != expected:
        failures.append(f"{len(posts(thinned))} operations have rows, {len(expected)} lie in bursts")
    both = [pair for pair in known if burst(pair[5], offset, level, cut) == burst(pair[6], offset, level, cut) is not None]
    for what, ask in (("totals", totals), ("course", lambda trace: trace.execute("SELECT * FROM course ORDER BY rank, begin_ns").fetchall())):
        if ask(whole) != ask(thinned):
            failures.append(f"{what} differ: {[row for row in zip(ask(whole), ask(thinned)) if row[0] != row[1]][:2]}")
    for table in ("collective", "rma", "file_call"):
        numbers = {row[:-1]: row[-1] for row in whole.execute(f"SELECT rank, function, begin_ns, instance FROM {table}")}
        for *call, instance in thinned.execute(f"SELECT rank, function, begin_ns, instance FROM {table}"):
            if instance is not None and instance != numbers[tuple(call)]:
                failures.append(f"{table}: {call} is number {instance}, was {numbers[tuple(call)]}")
                break
    return failures, len(found), len(both)


def miscount(path):
    """A fault in the first counts: as if a send had been counted twice."""
    with open(path, "r+b") as file:
        content = bytearray(file.read())
        base = spool.HEADER_BYTES + thin.GHOSTS_AT
        n = struct.unpack_from("<IIII", content, base)[3]
        for i in range(n):
            entry = base + 16 + 24 * i
            if struct.unpack_from("<I", content, entry + 12)[0] == thin.SEND:
                struct.pack_into("<Q", content, entry + 16, struct.unpack_from("<Q", content, entry + 16)[0] + 1)
        file.seek(0)
        file.write(content)


def main():
    chance = random.Random(SEED)
    n_found = n_both = n_faults = 0
    for run in range(RUNS):
        lines, ranks = script_of(chance)
        level, cut, offset = chance.choice((1, 2, 3)), chance.choice((0, 0, 1)), chance.randrange(10**9)
        options = {rank: f"burst_level={chance.randint(1, level)} burst_offset={offset}" for rank in range(ranks)}
        options[0] = f"burst_level={level} burst_cut={cut} burst_offset={offset}"
        with tempfile.TemporaryDirectory() as folder:
            for name in ("whole", "thinned", "wrong"):
                os.mkdir(os.path.join(folder, name))
            whole, _ = ingest(os.path.join(folder, "whole"), lines, {})
            thinned, said = ingest(os.path.join(folder, "thinned"), lines, options)
            wrong, _ = ingest(os.path.join(folder, "wrong"), lines, options, miscount)
            failures, found, both = compare(whole, thinned, offset, level, cut)
            n_found, n_both = n_found + found, n_both + both
            if "totals of all, detail in" not in said:
                failures.append(f"ingest does not say that it is thinned: {said}")
            n_faults += bool(compare(whole, wrong, offset, level, cut)[0])
            for failure in failures:
                print(f"run {run} of seed {SEED}, {ranks} ranks, level {level}, cut {cut}: {failure}")
            if failures:
                sys.exit(1)
    if n_found < 0.8 * n_both:
        sys.exit(f"only {n_found} of {n_both} pairs that lie in bursts were found")
    if n_faults < RUNS / 2:
        sys.exit(f"wrong counts were noticed in {n_faults} of {RUNS} runs")
    print(f"{RUNS} runs: {n_found} of {n_both} pairs in bursts, wrong counts noticed in {n_faults}")


if __name__ == "__main__":
    main()
