#!/usr/bin/env python3
"""Checks the findings of made traces: each kind where it is planted, and none of it where it is not.

usage: check_findings.py MPISTAIR SHARE_SQL SHOW_FINDINGS
"""
import json
import os
import pathlib
import random
import re
import sqlite3
import subprocess
import sys
import tempfile

from made_trace import check, database, end, run

SHOW = sys.argv[3]
MS, US = 1000000, 1000


class Made:
    """A run of ranks that compute and meet; times in ns. Messages and collectives are added in the order of time."""

    def __init__(self, ranks, per_node=None, eager=65536):
        self.ranks, self.per_node = ranks, per_node or ranks
        self.at = [0] * ranks
        self.messages, self.collectives, self.forms = [], [], {}
        self.functions = {"MPI_Send": 1, "MPI_Recv": 2, "MPI_Allreduce": 3}
        self.waiting, self.transfers, self.accesses = [], [], []  # calls of MPI_Waitall, rows of rma and file_call
        self.waits = {}
        self.eager = eager

    def compute(self, rank, time_ns):
        self.at[rank] += time_ns

    def function(self, name):
        return self.functions.setdefault(name, len(self.functions) + 1)

    def meet(self, site, transfer_ns=10 * US, function="MPI_Allreduce", sizes=None, root=None):
        """A collective in which all wait for the last one, or for the root."""
        begin = list(self.at)
        leave = [(max(begin) if root is None else max(begin[rank], begin[root])) + transfer_ns for rank in range(self.ranks)]
        self.collectives += [(rank, begin[rank], leave[rank], site, function, sizes[rank] if sizes else 8, root) for rank in range(self.ranks)]
        self.function(function)
        self.at = leave

    def rendezvous(self, src, dst, size, site, recv_site, transfer_ns=MS, function="MPI_Send"):
        """A blocking send that waits for its receive."""
        post, recv = self.at[src], self.at[dst]
        self.at[src] = self.at[dst] = max(post, recv) + transfer_ns
        self.messages.append((src, dst, size, site, recv_site, post, self.at[src], recv, self.at[dst], function))

    def post(self, messages, wait_site, site=50, recv_site=60, transfer_ns=10 * US, work=None):
        """All ranks post the messages (src, dst, bytes), nonblocking, work, and wait for theirs, which come then."""
        posts = list(self.at)
        self.at = [at + US for at in posts]
        for rank in range(self.ranks):
            self.compute(rank, work[rank] if work else 0)
        begin = list(self.at)
        for rank in range(self.ranks):
            last = max([begin[rank]] + [posts[src] + US // 2 for src, dst, _ in messages if dst == rank])
            self.at[rank] = last + transfer_ns
            own = sum((src == rank) + (dst == rank) for src, dst, _ in messages)
            self.waiting.append((rank, begin[rank], self.at[rank], own, wait_site))
        self.messages += [(src, dst, size, site, recv_site, posts[src] + US // 2, self.at[src], posts[dst], self.at[dst], "MPI_Isend")
                          for src, dst, size in messages]

    def access(self, rank, function, size, offset, time_ns, site):
        begin = self.at[rank]
        self.at[rank] += time_ns
        self.accesses.append((rank, function, size, offset, begin, time_ns, site))

    def one_sided(self, rank, function, target, size, until_ns, site, collective=False):
        begin = self.at[rank]
        self.at[rank] = max(until_ns, begin + US)
        self.transfers.append((rank, function, target, size, begin, self.at[rank] - begin, site))

    def send(self, src, dst, size, site, recv_site, transfer_ns=10 * US, call_ns=0):
        """A blocking send and its receive, which is posted at once."""
        post, recv = self.at[src], self.at[dst]
        self.at[src] += call_ns or US
        self.at[dst] = max(post, recv) + transfer_ns
        self.messages.append((src, dst, size, site, recv_site, post, self.at[src], recv, self.at[dst]))

    def write(self, path, *more):
        nodes = (self.ranks + self.per_node - 1) // self.per_node
        last = max(self.at) + MS
        sql = [f"INSERT INTO run VALUES (1, 'k', '0', 0, {last}, 'Open MPI', 'Open MPI v4', 'MPI_THREAD_SINGLE', 'made', {self.ranks}, "
               f"{self.ranks}, {self.eager}, {self.eager}, NULL, 'MPI_Init', 'all');",
               f"INSERT INTO communicator VALUES (0, 'MPI_COMM_WORLD', NULL, NULL, {self.ranks}, NULL, 1);"]
        sql += [f"INSERT INTO node VALUES ({n}, 'node{n}', 1, {self.per_node}, NULL, {n}, {self.per_node});" for n in range(nodes)]
        sql += [f"INSERT INTO callsite VALUES ({n}, 'm', {n}, NULL, 'work', 'made.c', {n});" for n in range(1, 100)]
        sql += ["INSERT INTO communicator_member SELECT 0, value, value FROM generate_series;".replace(
            "generate_series", f"(WITH RECURSIVE r(value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM r WHERE value + 1 < {self.ranks}) "
                               "SELECT value FROM r)")]
        sql += ["INSERT INTO process(rank, node, socket, core, place, ended, begin_ns, end_ns, observed_ns, run_ns, wait_ns) VALUES "
                f"({r}, {r // self.per_node}, 0, {r % self.per_node}, 'observed', 'finalize', 0, {last}, {last}, {last}, {self.waits.get(r, 0)});"
                for r in range(self.ranks)]
        for src, dst, size, site, recv_site, post, sent, recv, done, *function in self.messages:
            function = function[0] if function else "MPI_Send"
            level = 1 if src // self.per_node == dst // self.per_node else 3
            form = self.forms.setdefault((level, site, recv_site, function), len(self.forms) + 1)
            inside = (US // 10, US // 10) if function == "MPI_Isend" else (sent - post, done - recv)
            sql.append("INSERT INTO message_row(src, dst, comm, tag, bytes, form, send_post_ns, send_ns, late_ns, recv_ns, room_bytes, "
                       f"send_call_ns, recv_call_ns) VALUES ({src}, {dst}, 0, 0, {size}, {form}, {post}, {sent - post}, {recv - post}, "
                       f"{done - recv}, 0, {inside[0]}, {inside[1]});")
        for (level, site, recv_site, function), n in self.forms.items():
            blocking = int(function != "MPI_Isend")
            sql.append(f"INSERT INTO form VALUES ({n}, {level}, {self.function(function)}, {self.function('MPI_Recv' if blocking else 'MPI_Irecv')}, "
                       f"{site}, {recv_site}, 0, 0, 0, {blocking}, {blocking}, NULL, NULL);")
        for rank, begin, leave, site, function, size, root in self.collectives:
            sql.append("INSERT INTO collective(rank, function, comm, bytes, root, begin_ns, end_ns, call_ns, nonblocking, callsite) VALUES "
                       f"({rank}, '{function}', 0, {size}, {'NULL' if root is None else root}, {begin}, {leave}, {leave - begin}, 0, {site});"
                       f"INSERT INTO call_row VALUES ({rank}, {self.function(function)}, {begin}, {leave - begin}, 0, 0, {site});")
        for rank, begin, end_ns, completed, site in self.waiting:
            sql.append(f"INSERT INTO call_row VALUES ({rank}, {self.function('MPI_Waitall')}, {begin}, {end_ns - begin}, {completed}, 0, {site});")
        for rank, function, target, size, begin, length, site in self.transfers:
            sql.append("INSERT INTO rma(rank, function, comm, window, target, bytes, begin_ns, end_ns, call_ns, nonblocking, callsite) VALUES "
                       f"({rank}, '{function}', 0, 1, {'NULL' if target is None else target}, {size}, {begin}, {begin + length}, {length}, 0, {site});"
                       f"INSERT INTO call_row VALUES ({rank}, {self.function(function)}, {begin}, {length}, 0, 0, {site});")
        for rank, function, size, offset, begin, length, site in self.accesses:
            sql.append("INSERT INTO file_call(rank, function, comm, file, bytes, offset, begin_ns, end_ns, call_ns, nonblocking, collective, "
                       f"failed, callsite) VALUES ({rank}, '{function}', 0, 1, {size}, {offset}, {begin}, {begin + length}, {length}, 0, 0, 0, "
                       f"{site}); INSERT INTO call_row VALUES ({rank}, {self.function(function)}, {begin}, {length}, 0, 0, {site});")
        sql += [f"INSERT INTO function VALUES ({n}, '{name}');" for name, n in self.functions.items()]
        return database(path, "BEGIN;" + "".join(sql) + "".join(more) + "COMMIT;")


def findings(path):
    done = subprocess.run([SHOW, path], capture_output=True, text=True, timeout=60)
    if done.returncode != 0:
        return done.stderr
    return [line.split("\t") for line in done.stdout.splitlines()]


def kinds(path):
    found = findings(path)
    return found if isinstance(found, str) else [row[0] for row in found]


def expect(name, path, kind, rank, place, *words):
    found = findings(path)
    rows = [row for row in found if row[0] == kind]
    check(name, len(rows) == 1 and rows[0][1] == str(rank) and rows[0][6] == place and all(word in rows[0][7] for word in words), found)
    check(name + ": two lines", all(len(row[7]) <= 160 for row in found), found)


def late_ranks(folder):
    chance = random.Random(1)
    for ranks in (2, 4, 16):
        made = Made(ranks)
        for _ in range(10):
            for rank in range(ranks):
                made.compute(rank, MS + chance.randrange(100 * US))
            made.compute(ranks - 2, 20 * MS)
            made.meet(31)
        expect(f"late among {ranks}", made.write(folder / "a.db"), "late-rank", ranks - 2, "work made.c:31",
               f"rank {ranks - 2} arrives last at MPI_Allreduce (work made.c:31) in 10 of 10 calls")
        made = Made(ranks)
        for _ in range(40):
            for rank in range(ranks):
                made.compute(rank, chance.randrange(2 * MS))
            made.meet(31)
        found = kinds(made.write(folder / "b.db"))
        check(f"by chance among {ranks}", found == [], found)


def chains(folder):
    """Rank 0 is late; it is handed on from rank to rank, and is still rank 0's."""
    made = Made(4)
    for _ in range(10):
        made.compute(0, 10 * MS)
        for rank in range(3):
            made.send(rank, rank + 1, 8, 10 + rank, 20)
    expect("a chain", made.write(folder / "a.db"), "late-rank", 0, "work made.c:10", "comes late to MPI_Send")
    check("a chain: nobody else", kinds(folder / "a.db") == ["late-rank"], findings(folder / "a.db"))


def uneven(folder):
    for ranks in (2, 4, 16):
        made = Made(ranks)
        for _ in range(10):
            for rank in range(ranks):
                made.compute(rank, (ranks + rank + (rank == ranks - 1)) * MS)
            made.meet(31)
        expect(f"uneven among {ranks}", made.write(folder / "a.db"), "imbalance", ranks - 1, "work made.c:31", "load balance", "rank 0,")


def late_sites(folder):
    for late in (20 * MS, 0):
        made = Made(4)
        for i in range(16):
            for rank in range(4):
                made.compute(rank, 5 * MS)
            made.meet(69)
            src = i % 4
            made.compute(src, late)
            made.send(src, (src + 1) % 4, 8, 50, 60)
            made.send((src + 2) % 4, (src + 3) % 4, 8, 51, 61)
            made.meet(70)
        path = made.write(folder / "a.db")
        if late:
            expect("a late site", path, "late-site", -1, "work made.c:50", "MPI_Send (work made.c:50) is reached late in 16 of 16 calls, by 4 ranks")
        else:
            check("no late site", kinds(path) == [], findings(path))


def busy(folder):
    made = Made(4)
    for _ in range(10):
        for rank in range(4):
            made.compute(rank, 10 * MS + (rank == 3) * 10 * MS)
        made.meet(31)
    made.waits = {rank: 100 * MS * (rank == 3) for rank in range(4)}
    path = made.write(folder / "a.db")
    check("busy: the scheduler, not a rank", kinds(path) == ["busy-processors"] and findings(path)[0][1] == "3", findings(path))


def has(path, kind):
    """The only row of a kind; None: there is none, or several."""
    rows = [row for row in findings(path) if row[0] == kind]
    return rows[0] if len(rows) == 1 else None


def small(folder):
    for size, times, found in ((8, 2000, True), (65536, 2000, False), (8, 50, False)):
        made = Made(4)
        for _ in range(times):
            for src in (0, 2):
                made.send(src, src + 1, size, 50, 60)
        row = has(made.write(folder / "a.db"), "small-messages")
        check(f"{times} messages of {size} bytes", (row is not None) == found, findings(folder / "a.db"))
        if found and row:
            check("small: said", row[6] == "work made.c:50" and len(row[7]) <= 160 and row[7].startswith(
                "MPI_Send (work made.c:50) sends 4000 messages of 8 B between 2 pairs of ranks; joining them saves "), row)
    rare = Made(2)
    for _ in range(2000):
        rare.compute(0, MS)
        rare.send(0, 1, 8, 50, 60)
    check("small, but seldom", has(rare.write(folder / "a.db"), "small-messages") is None, findings(folder / "a.db"))


def not_joined(folder):
    """What needs an answer to the message before it, by whatever way, cannot travel with it; a call counts once."""
    turns, pong, token, halo = Made(2), Made(2), Made(3), Made(2)
    for _ in range(2000):
        pong.send(0, 1, 8, 50, 60)
        pong.send(1, 0, 8, 51, 61)
        for src in range(3):
            token.send(src, (src + 1) % 3, 8, 50, 60)
        turns.send(0, 1, 8, 50, 60)
        turns.meet(70)
        for _ in range(5):
            halo.send(0, 1, 8, 50, 60)
        halo.send(1, 0, 8, 51, 61)
    for name, made in ("ping-pong", pong), ("a token through three ranks", token), ("a collective between", turns):
        check(f"{name}: nothing to join", "small-messages" not in kinds(made.write(folder / "a.db")), findings(folder / "a.db"))
    row = has(halo.write(folder / "a.db"), "small-messages")
    calls_s = sum((m[6] - m[5]) + min(m[8] - m[7], m[8] - m[5]) for m in halo.messages if m[3] == 50) * 1e-9
    check("four of five", row and "sends 10000 messages of 8 B between 1 pair of ranks; joining the 8000 that need no answer to the last saves" in row[7]
          and abs(float(row[3]) - 0.8 * calls_s) < 0.01 * calls_s, (findings(folder / "a.db"), calls_s))
    # Both ranks exchange 8 B by MPI_Sendrecv five times, then once the other way round: half of the time of its calls are sends.
    both = Made(2)
    for _ in range(2000):
        for src in range(2):
            begin = both.at[src]
            both.messages.append((src, 1 - src, 8, 50, 50, begin, begin + 10 * US, begin, begin + 10 * US))
        both.at = [at + 11 * US for at in both.at]
    path = both.write(folder / "a.db", "UPDATE form SET recv_completed = NULL; UPDATE function SET name = 'MPI_Sendrecv' WHERE id = 1;")
    check("exchanges: nothing to join", "small-messages" not in kinds(path), findings(path))


def ring(slow, nodes=3):
    made = Made(nodes, 1)
    for _ in range(20):
        for src in range(nodes):
            made.send(src, (src + 1) % nodes, 100000, 50, 60, slow if src == 1 else MS)
    return made


def slow_links(folder):
    row = has(ring(20 * MS).write(folder / "a.db"), "slow-link")
    check("a slow link", row and row[1:3] == ["1", "2"] and len(row[7]) <= 160 and row[7].startswith(
        "messages from node1 (rank 1) to node2 (rank 2) take 20 ms and more, 20.0 times"), findings(folder / "a.db"))
    for name, made, more in (("all alike", ring(MS), ""), ("two nodes", ring(20 * MS, 2), ""),
                             ("no places", ring(20 * MS), "UPDATE process SET node = NULL;"),
                             ("a level not known", ring(20 * MS), "UPDATE form SET level = NULL;")):
        check(name, "slow-link" not in kinds(made.write(folder / "a.db", more)), findings(folder / "a.db"))


def slow_switches(folder):
    """Of six nodes in a ring below three switches, the links from, to and within the second one are slow."""
    switches = "".join(f"INSERT INTO node_switch VALUES ({node}, 1, 's{node // 2}'), ({node}, 2, 'top');" for node in range(6))
    for name, slow, more, said in (("a slow switch", (1, 2, 3), switches, "; all slow ones have an end at switch s1"),
                                   ("slow links of two nodes of it", (1, 3), switches, "; all slow ones have an end at switch s1"),
                                   ("another link is slow, too", (1, 2, 4), switches, None), ("one slow link", (1,), switches, None),
                                   ("no switches", (1, 2, 3), "", None)):
        made = Made(6, 1)
        for _ in range(20):
            for src in range(6):
                made.send(src, (src + 1) % 6, 100000, 50, 60, 20 * MS if src in slow else MS)
        rows = [row for row in findings(made.write(folder / "a.db", more)) if row[0] == "slow-link"]
        check(name, len(rows) == len(slow) and all(row[7].endswith(said) if said else "switch" not in row[7] for row in rows), rows)


def busy_nodes(folder):
    for target in (0, None):
        made = Made(8, 2)
        for step in range(10):
            for src in range(2, 8):
                made.send(src, (src + 2) % 8 if target is None else src % 2, 1 << 20, 50, 60, MS)
        if target is None:
            expect_none("all nodes alike", folder, made, "busy-node")
        else:
            expect_kind("a busy node", folder, made, "busy-node", "node0 (2 ranks from 0 to 1) gets 100 % of the bytes between 4 nodes, 63 MB")


def apart(partner):
    made = Made(4, 2)
    for _ in range(20):
        for rank in range(4):
            if rank < rank ^ partner:
                made.send(rank, rank ^ partner, 100000, 50, 60, MS)
                made.send(rank ^ partner, rank, 100000, 50, 60, MS)
    return made


def places(folder):
    if "scotch" in os.environ.get("MPISTAIR_LACKS", "").split():
        check("without Scotch", "placement" not in kinds(apart(2).write(folder / "a.db")), findings(folder / "a.db"))
        return
    row = has(apart(2).write(folder / "a.db"), "placement")
    check("partners apart", row and len(row[7]) <= 160 and "8.0 MB go between nodes, 0 B with" in row[7] and
          "replay --best-placement" in row[7], findings(folder / "a.db"))
    for name, made, more in (("partners together", apart(1), ""), ("no places", apart(2), "UPDATE process SET node = NULL;"),
                             ("one place not known", apart(2), "UPDATE process SET node = NULL WHERE rank = 3;")):
        check(name, "placement" not in kinds(made.write(folder / "a.db", more)), findings(folder / "a.db"))


def expect_kind(name, folder, made, kind, *words):
    """The kind is found once, first or under nothing else, with a gain; returns its row."""
    found = findings(made.write(folder / "a.db"))
    rows = [row for row in found if row[0] == kind]
    check(name, len(rows) == 1 and rows[0][10] == "-1" and all(word in rows[0][7] for word in words), found)
    check(name + ": two lines", all(len(row[7]) <= 160 for row in found), found)
    return rows[0] if rows else [""] * 11


def expect_none(name, folder, made, *kinds_of):
    found = kinds(made.write(folder / "a.db"))
    check(name, not set(kinds_of) & set(found), findings(folder / "a.db"))


def expect_gain(name, row, made, mended):
    """The replay gains what the mended run is shorter by."""
    gain_ns = max(made.at) - max(mended.at)
    check(f"{name}: gain", row[8] and abs(float(row[8]) * 1e9 - gain_ns) < 0.1 * max(made.at), (row, gain_ns, max(made.at)))


def late_in_time(folder):
    def made_late(late_ns, ranks=4):
        made = Made(ranks)
        for step in range(60):
            for rank in range(ranks):
                made.compute(rank, MS + (late_ns(step) if rank == ranks // 2 else 0))
            made.meet(31)
        return made
    balanced = made_late(lambda step: 0)
    for kind, late_ns, words in (("late-rank", lambda step: 5 * MS, ("in 60 of 60 calls;",)),
                                 ("late-stretch", lambda step: 5 * MS * (20 <= step < 40), ("all from 0.02", " to 0.1")),
                                 ("late-trend", lambda step: step * MS // 5, ("more and more",)),
                                 ("outliers", lambda step: 20 * MS * (step % 12 == 7), ("in 5 of 60 calls, all over the run",))):
        made = made_late(late_ns)
        row = expect_kind(kind, folder, made, kind, "rank 2 arrives last at", *words)
        expect_gain(kind, row, made, balanced)
    made = made_late(lambda step: 5 * MS)
    for n, lines in enumerate(([(30.5, 60.5)], [(0, 60.5), (90.5, 240.5)])):
        kept = [(int(begin * MS), int(end_ns * MS)) for begin, end_ns in lines]
        row = findings(made.write(folder / "a.db", *(f"INSERT INTO burst VALUES ({begin}, {end_ns});" for begin, end_ns in kept)))[0]
        check(f"share of the gain in bursts {n}", row[0] == "late-rank" and 0.75 < float(row[9]) < 0.87, row)
    made = made_late(lambda step: 5 * MS * (40 <= step < 50))
    row = findings(made.write(folder / "a.db", f"INSERT INTO burst VALUES ({4 * MS}, {12 * MS}), ({20 * MS}, {100 * MS});"))[0]
    check("a stretch in bursts: when in the run", row[0] == "late-stretch" and "all from 0.04" in row[7] and " to 0.09" in row[7], row)
    expect_kind("a stretch of two", folder, made_late(lambda step: 3 * MS * (20 <= step < 40), 2), "late-stretch", "rank 1 arrives last at")
    made = Made(4)
    for _ in range(20):
        for rank in range(4):
            made.compute(rank, MS)
        made.meet(30)
        made.compute(1, 4 * MS)
        made.meet(31, function="MPI_Bcast", root=1)
    expect_kind("root's part", folder, made, "root-part", "rank 1, the root, works before MPI_Bcast (work made.c:31)")
    for once_ms in (800, 300):
        made = Made(4)
        for step in range(100):
            for rank in range(4):
                made.compute(rank, (100 if once_ms == 800 else 40) * MS)
            made.meet(30)
            if step == 50:
                made.compute(1, once_ms * MS)
                made.meet(31, function="MPI_Bcast", root=1)
        if once_ms == 800:
            expect_kind("once, but long", folder, made, "root-part", "rank 1, the root, works before MPI_Bcast (work made.c:31)")
        else:
            expect_none("once, and not long", folder, made, "root-part", "late-rank")


def iterations(folder):
    """One iteration that stands out, and all slower from a moment on; nothing of chance, of what was taken from a processor, of runs that
    begin slowly, or that have heavier iterations all along."""
    def loop(work_ns, transfer_ns=lambda step: 10 * US, steps=400):
        made = Made(4)
        for step in range(steps):
            for rank in range(4):
                made.compute(rank, int(work_ns(step, rank)))
            made.meet(30)
            for rank in range(4):
                made.compute(rank, MS)
            made.meet(31, transfer_ns=transfer_ns(step))
        return made
    usual = loop(lambda step, rank: 2 * MS)
    made = loop(lambda step, rank: 2 * MS + (MS if step >= 200 else 0))
    row = expect_kind("slower", folder, made, "slower", "from 0.6", "iterations take 1000 us longer, 33 %: all ranks before MPI_Allreduce (work made.c:30)")
    expect_gain("slower", row, made, usual)
    made = loop(lambda step, rank: 2 * MS, lambda step: (10 if step < 200 else 800) * US)
    row = expect_kind("slower calls", folder, made, "slower", "iterations take 790 us longer, 26 %: in MPI_Allreduce (work made.c:31)")
    expect_gain("slower calls", row, made, usual)
    made = loop(lambda step, rank: (2 + (60 if (step, rank) == (120, 2) else 0)) * MS)
    row = expect_kind("one iteration", folder, made, "slow-iteration", "iteration 120 of 399", "takes 63 ms, others 3.0 ms: rank 2 before MPI_Allreduce (work made.c:30)")
    expect_gain("one iteration", row, made, usual)
    for often_ms, first in ((6, "slow-iteration"), (30, "outliers")): # the rank is late elsewhere, too: by less than that iteration costs, or by far more
        found = findings(loop(lambda step, rank: (2 + (150 if step == 120 else often_ms if step % 16 == 7 else 0) * (rank == 2)) * MS).write(folder / "a.db"))
        check(f"one iteration of a late rank, {often_ms} ms", [row[0] for row in found][:1] == [first] and {row[0] for row in found} & {"outliers", "late-rank"}, found)
    made = loop(lambda step, rank: 2 * MS, lambda step: (60000 if step == 120 else 10) * US)
    row = expect_kind("one slow call", folder, made, "slow-iteration", "iteration 121 of 399", "in MPI_Allreduce (work made.c:31)")
    expect_gain("one slow call", row, made, usual)
    # What others do to iterations stays: mending one gains no more than that one.
    disturbed = [[random.Random(4 * step + rank).choice((0, 0, 0, 4)) for rank in range(4)] for step in range(400)]
    made = loop(lambda step, rank: (2 + disturbed[step][rank] + (150 if (step, rank) == (120, 2) else 0)) * MS)
    grows = loop(lambda step, rank: (2 + disturbed[step][rank] + (2 if step >= 200 else 0)) * MS)
    row = expect_kind("slower, disturbed", folder, grows, "slower", "from ", "all ranks before MPI_Allreduce")
    expect_gain("slower, disturbed", row, grows, loop(lambda step, rank: (2 + disturbed[step][rank]) * MS))
    grows = loop(lambda step, rank: 2 * MS, lambda step: (1000 if step < 200 else 1500) * US)
    row = [row for row in findings(grows.write(folder / "a.db")) if row[0] == "slower"]
    check("calls that get slower by half", len(row) == 1 and abs(float(row[0][8]) - 0.1) < 0.03, row)
    row = expect_kind("one iteration of a disturbed run", folder, made, "slow-iteration", "iteration 120 of 399", "rank 2 before MPI_Allreduce")
    expect_gain("one iteration of a disturbed run", row, made, loop(lambda step, rank: (2 + disturbed[step][rank]) * MS))
    taken = [f"INSERT INTO counter(rank, begin_ns, end_ns, wait_ns) VALUES (2, {at * MS}, {at * MS + 10 * MS}, {9 * MS if at >= 360 else 0});"
             for at in range(0, 1260, 10)]
    made = loop(lambda step, rank: (2 + (60 if (step, rank) == (120, 2) else 0)) * MS)
    found = kinds(made.write(folder / "a.db", *taken))
    check("a processor that was taken", "slow-iteration" not in found, found)
    lot = random.Random(11)
    nothing = {"usual": lambda step, rank: 2 * MS, "faster": lambda step, rank: (3 if step < 120 else 2) * MS,
               "every tenth": lambda step, rank: (8 if step % 10 == 0 else 2) * MS,
               "slow at first": lambda step, rank: (2 + (40 if step == 0 else 0)) * MS,
               "a slower stretch": lambda step, rank: (3 if 160 <= step < 240 else 2) * MS,
               "a slower end": lambda step, rank: (3 if step >= 380 else 2) * MS,
               "the last third of a second": lambda step, rank: (3 if step >= 310 else 2) * MS,
               "one of 20 ms": lambda step, rank: (22 if step == 120 else 2) * MS,
               "little": lambda step, rank: (2.05 if step >= 200 else 2) * MS}
    for number in range(20):
        nothing[f"noise {number}"] = lambda step, rank: (2 + lot.random() / 2 + (lot.expovariate(0.2) if lot.random() < 0.05 else 0)) * MS
        nothing[f"load {number}"] = lambda step, rank, first=lot.randrange(200): (
            2 + lot.random() / 10 + (lot.random() * 4 if first <= step < first + 200 and lot.random() < 0.8 else 0)) * MS
    for name, work in nothing.items():
        expect_none(f"iterations: {name}", folder, loop(work), "slower", "slow-iteration")
    expect_none("too few iterations", folder, loop(lambda step, rank: (2 + (60 if (step, rank) == (12, 2) else 0)) * MS, steps=20), "slower", "slow-iteration")


def occurrences(folder):
    """The same by the occurrences of a region, whose calls do not come equally often in each: the region that all ranks enter equally
    often; where one does not, or where the region is short, by the calls."""
    def loop(work_ns, tail_ns=lambda step, rank: 0, steps=400, share=1.0, left_out=()):
        made, bounds = Made(4), []
        for step in range(steps):
            begin = list(made.at)
            for part in range(1 + step % 3):
                for rank in range(4):
                    made.compute(rank, int(work_ns(step, rank) if part == 0 else MS))
                made.meet(30)
            for rank in range(4):
                made.compute(rank, int(tail_ns(step, rank)))
            if step < share * steps:
                bounds += [(rank, begin[rank], made.at[rank]) for rank in range(4) if (step, rank) not in left_out]
            if step % 7 == 0:
                made.meet(31)
        rows = [f"({rank}, 1, 0, {begin}, {end_ns}, 0, 0, 0)" for rank, begin, end_ns in bounds]
        made.regions = ["INSERT INTO region VALUES (0, NULL, 'solve', 'solve', 0, 'mpistair'), (1, 0, 'step', 'solve/step', 1, 'mpistair');",
                        f"INSERT INTO occurrence(rank, region, lane, begin_ns, end_ns, inner_ns, mpi_ns, unended) VALUES {', '.join(rows)};",
                        "INSERT INTO region_total SELECT rank, region, count(*), sum(end_ns - begin_ns), 0, max(end_ns - begin_ns), 0, 0, 0 "
                        "FROM occurrence GROUP BY rank, region;"]
        return made

    def found(made):
        return json.loads(run("report", made.write(folder / "o.db", *made.regions), "--format", "json")[1])["findings"]

    def expect(name, made, kind, *words):
        rows = [row for row in found(made) if row["kind"] == kind]
        check(name, len(rows) == 1 and all(word in rows[0]["sentence"] for word in words), [row["sentence"] for row in found(made)])
        return rows[0] if rows else {"rank": None, "begin_s": 0}

    usual = lambda step, rank: 2 * MS
    row = expect("slow occurrence", loop(lambda step, rank: (2 + (60 if (step, rank) == (120, 2) else 0)) * MS), "slow-iteration",
                 "occurrence 121 of 400 of solve/step, at 0.3", "takes 6", "rank 2 before MPI_Allreduce (work made.c:30)")
    check("its rank", row["rank"] == 2, row)
    # Work behind the last call of the region counts for the call that follows.
    expect("slow tail", loop(usual, lambda step, rank: (60 if (step, rank) == (126, 1) else 0) * MS), "slow-iteration",
           "occurrence 127 of 400 of solve/step", "rank 1 before MPI_Allreduce (work made.c:31)")
    row = expect("drift", loop(lambda step, rank: (2 + (step >= 268)) * MS), "slower",
                 "on the last 3", "% of the occurrences of solve/step are ", "% slower, by ", ": all ranks before MPI_Allreduce (work made.c:30)")
    check("since when", abs(row["begin_s"] - 0.82) < 0.1, row)
    expect("unequal", loop(lambda step, rank: (2 + (80 if (step, rank) == (120, 2) else 0)) * MS, left_out={(7, 3)}), "slow-iteration", "iteration ")
    expect("a short region", loop(lambda step, rank: (2 + (80 if (step, rank) == (220, 2) else 0)) * MS, share=0.3), "slow-iteration", "iteration ")
    lot = random.Random(13)
    nothing = {"usual": usual, "every tenth": lambda step, rank: (8 if step % 10 == 0 else 2) * MS,
               "a slower stretch": lambda step, rank: (3 if 160 <= step < 240 else 2) * MS,
               "one of 20 ms": lambda step, rank: (22 if step == 120 else 2) * MS}
    for number in range(10):
        nothing[f"noise {number}"] = lambda step, rank: (2 + lot.random() / 2 + (lot.expovariate(0.2) if lot.random() < 0.05 else 0)) * MS
    for name, work in nothing.items():
        rows = [row["sentence"] for row in found(loop(work)) if row["kind"] in ("slower", "slow-iteration")]
        check(f"occurrences: {name}", not rows, rows)


def turns(folder):
    def token(at_once):
        made = Made(4)
        for _ in range(20):
            for rank in range(4):
                if at_once:
                    made.compute(rank, 3 * MS)
            if not at_once:
                made.compute(0, 3 * MS)
            for rank in range(3):
                made.send(rank, rank + 1, 8, 10, 20)
                if not at_once:
                    made.compute(rank + 1, 3 * MS)
            made.send(3, 0, 8, 10, 20)
        return made
    row = expect_kind("a token", folder, token(False), "chain", "4 ranks work one after the other, from rank 0 on", "MPI_Recv (work made.c:20)")
    expect_gain("a token", row, token(False), token(True))
    expect_none("all at once", folder, token(True), "chain", "late-rank")

    def shift(size):
        made = Made(4)
        for _ in range(20):
            for rank in range(4):
                made.compute(rank, MS // 2)
            posts, recv = list(made.at), list(made.at)
            for src in (2, 1, 0):  # rank 3 sends nothing, and receives at once
                large = size > 65536
                done = max(posts[src], recv[src + 1]) + MS if large else posts[src] + 10 * US
                made.messages.append((src, src + 1, size, 10, 20, posts[src], done, recv[src + 1], max(done, recv[src + 1] + 10 * US)))
                recv[src] = done
                made.at[src + 1] = max(done, recv[src + 1] + 10 * US)
            made.at[0] = recv[0]
        return made
    expect_kind("sends in turn", folder, shift(1 << 20), "sends-in-turn", "MPI_Send (work made.c:10) sends in turn")
    expect_none("sends that need not wait", folder, shift(1000), "sends-in-turn", "late-receiver", "chain")


def receivers(folder):
    chance = random.Random(5)

    def pairs(late_ns, function="MPI_Send", size=1 << 20):
        made = Made(4)
        for _ in range(30):
            for src in (0, 2):
                lateness = late_ns()
                made.compute(src, 2 * MS + max(-lateness, 0))
                made.compute(src + 1, 2 * MS + max(lateness, 0))
                if size > 65536 or function == "MPI_Ssend":
                    made.rendezvous(src, src + 1, size, 10, 20, 100 * US, function)
                else:
                    made.send(src, src + 1, size, 10, 20)
        return made
    expect_kind("late receivers", folder, pairs(lambda: 5 * MS), "late-receiver", "MPI_Send (work made.c:10) waits for receives",
                "in 60 of 60 messages")
    expect_none("late by chance", folder, pairs(lambda: chance.choice((-1, 1)) * chance.randrange(2 * MS)), "late-receiver", "late-rank", "chain")
    expect_kind("synchronous", folder, pairs(lambda: 5 * MS, "MPI_Ssend", 100), "synchronous", "MPI_Ssend (work made.c:10) waits for receivers",
                "messages of 100 B")
    expect_none("not synchronous", folder, pairs(lambda: 5 * MS, "MPI_Send", 100), "synchronous", "late-receiver")
    for sizes in ((3000, 100000), (70000, 100000), (3000, 4000)):
        made = Made(2)
        for step in range(60):
            made.compute(0, 2 * MS)
            made.compute(1, (step % 2) * 4 * MS)
            if sizes[step // 2 % 2] > 65536:
                made.rendezvous(0, 1, sizes[step // 2 % 2], 10, 20, 100 * US)
            else:
                made.send(0, 1, sizes[step // 2 % 2], 10, 20)
        if sizes == (3000, 100000):
            expect_kind("eager missed", folder, made, "misses-eager", "MPI_Send (work made.c:10) waits for receivers",
                        "in its 30 of 60 messages above the eager limit of 66 kB")
        else:
            expect_none(f"sizes {sizes}", folder, made, "misses-eager")
    made = Made(5)
    for _ in range(20):
        for rank in range(1, 5):
            made.compute(rank, MS)
        for src in range(1, 5):
            made.compute(0, 2 * MS)
            made.rendezvous(src, 0, 1 << 20, 10, 20, 100 * US)
    expect_kind("a hot receiver", folder, made, "hot-receiver", "rank 0 receives from 4 ranks")


def order_of_receives(folder):
    for reverse in (True, False):
        made = Made(2)
        for _ in range(3):
            n, base = 2000, list(made.at)
            sent = [base[0] + 3 * MS + i * US for i in range(n)]
            recv = [base[1] + i * US for i in range(n)]
            end_ns = sent[-1] + MS
            order = reversed(range(n)) if reverse else range(n)
            for i, k in enumerate(order):
                made.messages.append((0, 1, 8, 10, 20, sent[k], sent[k] + 500, recv[i], end_ns, "MPI_Isend"))
            made.waiting += [(0, sent[-1] + 600, sent[-1] + 700, n, 40), (1, base[1] + n * US + 100, end_ns, n, 40)]
            made.at = [end_ns, end_ns]
        if reverse:
            expect_kind("reversed order", folder, made, "receive-order", "MPI_Irecv (work made.c:20) posts receives: each passes 1000 others")
        else:
            expect_none("in order", folder, made, "receive-order")


def overlap(folder):
    def halo(works, behind, transfer_ns, size):
        made = Made(4)
        for step in range(40):
            swapped = [(rank + step) % 2 for rank in range(4)]
            for rank in range(4):
                made.compute(rank, behind[swapped[rank]])
            made.post([(rank, (rank + 1) % 4, size) for rank in range(4)], 40, transfer_ns=transfer_ns, work=[works] * 4)
            for rank in range(4):
                made.compute(rank, behind[1 - swapped[rank]])
        return made
    expect_kind("waits too early", folder, halo(0, (MS, 5 * MS), 10 * US, 1000), "early-wait", "MPI_Waitall (work made.c:40) waits right behind")
    expect_none("waits that cost nothing", folder, halo(0, (3 * MS, 3 * MS), 10 * US, 1000), "early-wait")
    expect_kind("no progress", folder, halo(4 * MS, (0, 0), 2 * MS, 1 << 22), "no-progress", "messages of 4.2 MB move only in MPI_Waitall")
    for tests, expected in ((159, ["no-progress"]), (160, [])):
        path = halo(4 * MS, (0, 0), 2 * MS, 1 << 22).write(
            folder / "a.db", f"INSERT INTO function VALUES (90, 'MPI_Testall'); INSERT INTO total VALUES (0, 90, NULL, NULL, NULL, 0, NULL, NULL, 1, {tests}, "
                             "0, 1000, 10, 0, 1, NULL);")
        check(f"no progress with {tests} tests and 160 waits", kinds(path) == expected, findings(path))
    expect_none("progress", folder, halo(4 * MS, (0, 0), 20 * US, 1 << 22), "no-progress")


def collectives(folder):
    def sums(work):
        made = Made(4)
        for _ in range(50):
            for _ in range(20):
                for rank in range(4):
                    made.compute(rank, work)
                made.meet(31, 20 * US)
            for rank in range(4):
                made.compute(rank, MS)
            made.meet(32, 20 * US)
        return made
    expect_kind("small collectives", folder, sums(2 * US), "small-collectives", "MPI_Allreduce (work made.c:31) is called 1000 times by a rank for 8 B")
    expect_none("with work between", folder, sums(200 * US), "small-collectives")

    def barriers(differs, barrier):
        made = Made(4)
        for step in range(40):
            for rank in range(4):
                made.compute(rank, (6 * MS if (rank + step) % 2 else MS) if differs else 3 * MS)
            if barrier or step == 39:
                made.meet(31, function="MPI_Barrier")
        return made
    row = expect_kind("barriers", folder, barriers(True, True), "barriers", "in 40 calls of MPI_Barrier (work made.c:31)")
    expect_gain("barriers", row, barriers(True, True), barriers(True, False))
    expect_none("barriers that cost nothing", folder, barriers(False, True), "barriers")
    for kind, sizes in (("uneven", [10, 10, 100000, 10]), ("even", [1000, 1000, 1300, 1000])):
        made = Made(4)
        for _ in range(20):
            for rank in range(4):
                made.compute(rank, MS)
            made.meet(31, MS, "MPI_Allgatherv", sizes)
        if kind == "uneven":
            expect_kind("uneven counts", folder, made, "uneven-counts", "rank 2 has 100 % of the bytes of MPI_Allgatherv (work made.c:31)")
        else:
            expect_none("even counts", folder, made, "uneven-counts")


def algorithms(folder):
    """4 ranks on 4 processors; by the table, whose ranks share 1e10 B/s, three times 100 kB take 31 us in any order."""
    table = "INSERT INTO machine VALUES ('made', 'made');" + "".join(
        f"INSERT INTO machine_parameter(machine, level, protocol, quantity, n, value, unit, ci_low, ci_high) VALUES ('made', 'intra_socket', "
        f"'any', {row});" for row in ("'tau', NULL, 1e-6, 's', 9e-7, 1.1e-6", "'bw', 1, 1e10, 'B/s', 8e9, 1.2e10"))

    def casts(took, late=0):
        made = Made(4)
        for step in range(60):
            for rank in range(4):
                made.compute(rank, 50 * US + (late if rank == 0 else 0))
            made.meet(31, took(step), "MPI_Bcast", [100000] * 4, 0)
        return made
    path = casts(lambda step: 200 * US).write(folder / "a.db", table)
    rows = [row for row in findings(path) if row[0] == "collective-algorithm"]
    check("an algorithm far from the best", len(rows) == 1 and "60 times 100 kB among 4 ranks, takes 200 us; " in rows[0][7]
          and " with coll_tuned_bcast_algorithm=" in rows[0][7], findings(path))
    shown = json.loads(run("report", path, "--format", "json")[1])["findings"]
    ends = [(row["gain_low"], row["gain"], row["gain_high"]) for row in shown if row["kind"] == "collective-algorithm"]
    check("its gain has the ends of the table's intervals", len(ends) == 1 and all(
        abs(share * 16 - 60 * (0.2 - best)) < 0.2 for share, best in zip(ends[0], (0.0385, 0.031, 0.026))), ends)  # of 16 ms
    text = run("report", path, "--section", "findings")[1]
    check("the screen has them", re.search(r"gain \d+ % \(\d+\s+to \d+ %\)", " ".join(text.split())), text)
    for name, made, more in (("near the best", casts(lambda step: 30 * US), [table]),
                             ("without a table", casts(lambda step: 200 * US), []),
                             ("with two tables", casts(lambda step: 200 * US), [table, "INSERT INTO machine VALUES ('other', 'made');"]),
                             ("slow now and then", casts(lambda step: (20 if step % 3 else 500) * US), [table]),
                             ("a late root", casts(lambda step: 30 * US, 300 * US), [table]),
                             ("crowded", casts(lambda step: 200 * US), [table, "UPDATE node SET processors = 2;"])):
        found = kinds(made.write(folder / "a.db", *more))
        check("algorithm: " + name, "collective-algorithm" not in found, found)
    for text, named in ((table, True), (table.replace("8e9", "8e8"), False)):
        found = kinds(casts(lambda step: 80 * US).write(folder / "a.db", text))
        check(f"algorithm: a table that knows {'much' if named else 'little'}", named == ("collective-algorithm" in found), found)


def windows(folder):
    def locks(at_once):
        made, free = Made(4), 0
        for _ in range(10):
            for rank in range(4):
                if not at_once:
                    made.compute(rank, 20 * MS if rank == 0 else 100 * US)
                made.one_sided(rank, "MPI_Win_lock", 0, 0, free if at_once else 0, 10)
                made.one_sided(rank, "MPI_Put", 0, 64, 0, 11)
                made.compute(rank, 4 * MS if at_once else 0)
                made.one_sided(rank, "MPI_Win_unlock", 0, 0, 0, 12)
                free = made.at[rank]
            if not at_once:
                made.at = [max(made.at) + rank * MS for rank in range(4)]
        return made
    expect_kind("locks", folder, locks(True), "serial-locks", "locks of rank 0's window meet others", "MPI_Win_lock (work made.c:10)")
    expect_none("locks apart", folder, locks(False), "serial-locks")
    for each in (1, 50):
        made = Made(2)
        for i in range(4000):
            made.one_sided(0, "MPI_Put", 1, 8, 0, 11)
            made.one_sided(1, "MPI_Put", 0, 8, 0, 11)
            for rank in range(2) if i % each == each - 1 else ():
                made.one_sided(rank, "MPI_Win_flush", 1 - rank, 0, made.at[rank] + 5 * US, 12)
        if each == 1:
            expect_kind("flushes", folder, made, "many-flushes", "MPI_Win_flush (work made.c:12) comes 8000 times, behind 1 transfer each")
        else:
            expect_none("few flushes", folder, made, "many-flushes")
    for origins in ((0,), range(4)):
        made = Made(4)
        for step in range(40):
            for rank in range(4):
                made.compute(rank, 6 * MS if (rank + step) % 4 == 0 else MS)
            for rank in origins:
                made.one_sided(rank, "MPI_Put", (rank + 1) % 4, 64, 0, 11)
            last = max(made.at) + 10 * US
            for rank in range(4):
                made.one_sided(rank, "MPI_Win_fence", None, 0, last, 12)
            for rank in range(4):
                made.one_sided(rank, "MPI_Win_fence", None, 0, last + 20 * US, 13)  # one that closes, at another place
        if len(origins) == 1:
            expect_kind("fences", folder, made, "wide-fence", "4 ranks meet in MPI_Win_fence (work made.c:12), but only 2 transfer")
        else:
            expect_none("fences for all", folder, made, "wide-fence")


def files(folder):
    for writers in ((0,), range(4)):
        made = Made(4)
        for step in range(20):
            for rank in range(4):
                made.compute(rank, MS)
            for rank in writers:
                made.access(rank, "MPI_File_write_at", 1 << 20, (step * 4 + rank) << 20, 4 * MS // len(writers), 10)
            made.meet(31)
        if len(writers) == 1:
            expect_kind("one writer", folder, made, "one-writer", "rank 0 alone accesses files, at MPI_File_write_at (work made.c:10)")
        else:
            expect_none("four writers", folder, made, "one-writer", "small-accesses", "interleaved-accesses")
    for kind, size, stride in (("small-accesses", 64, 1), ("interleaved-accesses", 4096, 2), (None, 1 << 20, 1)):
        made = Made(2)
        for i in range(400):
            for rank in range(2):
                offset = (i * 2 + rank) * size if stride == 2 else (rank * 400 + i) * size
                made.access(rank, "MPI_File_write_at", size, offset, 20 * US, 10)
                made.compute(rank, 20 * US)
        if kind:
            expect_kind(kind, folder, made, kind, "MPI_File_write_at (work made.c:10)")
        else:
            expect_none("large accesses", folder, made, "small-accesses", "interleaved-accesses")


def threads(folder):
    for at_once in (True, False):
        made = Made(2)
        for step in range(200):
            for thread in range(2):
                begin = step * 200 * US + (0 if at_once else thread * 100 * US)
                length = 80 * US if at_once else 40 * US
                for src in range(2):
                    made.accesses.append((src, "MPI_File_sync", 0, 0, begin + thread * 100, length, 10))
        made.at = [200 * 200 * US] * 2
        if at_once:
            expect_kind("threads", folder, made, "threads-in-turn", "threads of a rank are in MPI_File_sync (work made.c:10) at the same time")
        else:
            expect_none("threads in turn", folder, made, "threads-in-turn")


def machine(folder):
    for kind, factors in (("slow-core", (130, 130, 130)), ("more work", (100, 100, 260))):
        made = Made(4)
        for _ in range(20):
            for site in range(3):
                for rank in range(4):
                    made.compute(rank, MS * (factors[site] if rank == 2 else 100) // 100)
                made.meet(30 + site)
        if kind == "slow-core":
            expect_kind("a slow core", folder, made, "slow-core", "rank 2 takes 1.30 times as long as the others at each of 3 lines: a slow core")
        else:
            expect_none("more work at one line", folder, made, "slow-core")
    made = Made(4)
    for _ in range(10):
        for rank in range(4):
            made.compute(rank, 10 * MS)
        made.meet(31)
    made.waits = {rank: 30 * MS for rank in range(4)}
    expect_kind("more ranks than processors", folder, made, "busy-processors", "for processors that others had")
    row = findings(made.write(folder / "a.db", "UPDATE node SET processors = 5; UPDATE process SET run_ns = iif(rank < 2, 0.5, 0.25) * observed_ns;"))[0]
    check("the part of the ranks", row[0] == "busy-processors" and row[7].endswith(": the ranks ran on 1.5 of 5 processors"), row)
    row = (findings(made.write(folder / "a.db", "UPDATE process SET processor = min(rank, 2), run_ns = iif(rank < 2, 1, 0.5) * observed_ns;")) or [[""] * 8])[0]
    apart = kinds(made.write(folder / "a.db", "UPDATE process SET processor = min(rank, 2);"))
    check("two that were more than a processor can give", apart == ["busy-processors"], apart)
    check("two on a processor", row[0] == "binding" and row[7].endswith(": ranks 2 and 3 share processor 2, nobody else is on it"), row)
    crowded = made.write(folder / "a.db", "UPDATE node SET processors = 2;")
    check("crowded", kinds(crowded) == ["crowded"] and "4 ranks share 2" in findings(crowded)[0][7], findings(crowded))


def counted(made, **own):
    """Rows of course and counter: rank 2 as given, the others run all the time, at 3 GHz, with 10 faults. Times in ms."""
    last = max(made.at) + MS
    rows = []
    for rank in range(made.ranks):
        inside = sum(leave - begin for r, begin, leave, *_ in made.collectives if r == rank)
        rows.append(f"INSERT INTO course VALUES ({rank}, 0, {last}, 0, 0, 0, {inside + MS}, 0, 0, 0, 20, 0);")
        count = {"user": last / MS, "system": 0, "wait": 0, "faults": 10, "clock": 3e9, **(own if rank == 2 else {})}
        for begin, end_ns in ((0, last // 2), (last // 2, last)):
            half = (end_ns - begin) / last * MS
            rows.append("INSERT INTO counter(rank, begin_ns, end_ns, user_ns, system_ns, wait_ns, minor_faults, major_faults, clock_cycles) VALUES "
                        f"({rank}, {begin}, {end_ns}, {int(count['user'] * half)}, {int(count['system'] * half)}, {int(count['wait'] * half)}, "
                        f"{int(count['faults'] * half / MS)}, 0, {int(count['clock'] * half / MS * last * 1e-9)});")
    return "".join(rows)


def instructions(folder):
    """Others compute in half of the windows and poll in MPI in the rest, with other instructions; rank 2 computes in all."""
    for cause, per_s, cycles_per_s, of_mpi in (("more work, 2.00 times the instructions", 1e9, 2e9, 3e9), ("0.25 instructions per cycle, others 0.50", 5e8, 2e9, 3e9),
                                               ("a clock of 1.00 GHz, others 2.00", 5e8, 1e9, 1e9), ("more work, on its processor all the time", 1e9, 2e9, None)):
        made = Made(4)
        for _ in range(20):
            for rank in range(4):
                made.compute(rank, 10 * MS + (rank == 2) * 10 * MS)
            made.meet(31)
        rows = []
        for rank in range(4):
            for n in range(20):
                inside = 0 if rank == 2 or n < 10 else 20 * MS
                if of_mpi is None and rank != 2: # the same in all windows: no rate of its own can be told
                    inside = 10 * MS
                rate, cycles = (per_s, cycles_per_s) if rank == 2 else (of_mpi or 3e9, 2e9) if inside else (1e9, 2e9)
                begin, end_ns = n * 20 * MS, (n + 1) * 20 * MS
                rows.append(f"INSERT INTO course VALUES ({rank}, {begin}, {end_ns}, 0, 0, 0, {inside}, 0, 0, 0, 1, 0);"
                            f"INSERT INTO counter VALUES ({rank}, {begin}, {end_ns}, {20 * MS}, 0, 0, 0, 0, 0, 0, 0, {int(rate * 0.02)}, {int(cycles * 0.02)}, NULL, NULL, NULL, NULL);")
        found = findings(made.write(folder / "a.db", "".join(rows)))
        check(f"instructions: {cause}", [row[0] for row in found] == ["late-rank"] and found[0][7].endswith("; why: " + cause) or
              cause.startswith("0.25") and "; why: " + cause in found[0][7], found)


def causes(folder):
    for more_ms, cause, own in ((10, "more work", {}), (10, "others had its processor", {"user": 200, "wait": 200}),
                                (10, "page faults", {"user": 210, "system": 190, "faults": 50000}),
                                (10, "system calls", {"user": 210, "system": 190, "faults": 20}),
                                (10, "it does not run", {"user": 200}),
                                (10, "a clock of 1.50 GHz, others 3.00", {"clock": 1.5e9}),
                                (10, None, {"user": 280, "wait": 70, "system": 50}), # a bit of all
                                (10, None, None)):
        made = Made(4)
        for _ in range(20):
            for rank in range(4):
                made.compute(rank, 10 * MS + (rank == 2) * more_ms * MS)
            made.meet(31)
        path = made.write(folder / "a.db", counted(made, **own) if own is not None else "")
        rows = findings(path)
        check(f"cause: {cause}, {own}", [row[0] for row in rows] == ["late-rank"] and rows[0][1] == "2" and
              ("; why: " + cause in rows[0][7] if cause else "why" not in rows[0][7]), rows)
        found = json.loads(run("report", path, "--json")[1])["findings"][0]
        check(f"JSON of cause {cause}", own is None and "cause" not in found or own is not None and
              (found["cause"] != "") == bool(cause) and abs(found["counted"]["computed_s"] - 0.4) < 0.002 and
              abs(found["counted_of_others"]["computed_s"] - 0.2) < 0.002, found)
    shown = run("report", made.write(folder / "a.db", counted(made, user=200, wait=200)), "--explain", "1")[1]
    check("counters as evidence", "what the kernel counted" in shown and "others, median" in shown and " 199 ms" in shown, shown)


def openmp(made, regions_ms, idle, wait_ms=0):
    """Rows of course and counter: parallel regions of four threads on each rank, which idle for that share of them."""
    last = max(made.at) + MS
    rows = []
    for rank in range(made.ranks):
        inside = sum(leave - begin for r, begin, leave, *_ in made.collectives if r == rank)
        rows.append(f"INSERT INTO course VALUES ({rank}, 0, {last}, 0, 0, 0, {inside + MS}, 0, 0, 0, 20, 0);")
        for begin, end in ((0, last // 2), (last // 2, last)):
            half_ms = regions_ms[rank] * (end - begin) / last * MS
            rows.append("INSERT INTO counter(rank, begin_ns, end_ns, user_ns, system_ns, wait_ns, minor_faults, major_faults, openmp_region_ns, openmp_thread_ns, "
                        f"openmp_idle_ns) VALUES ({rank}, {begin}, {end}, {(end - begin) * 4}, 0, 0, 10, 0, {int(half_ms)}, {int(4 * half_ms)}, {int(4 * half_ms * idle[rank])});")
    return "".join(rows)


def uneven_threads(folder):
    """20 steps of 10 ms of parallel regions; where rank 2 takes longer its threads have no more to do, but uneven work."""
    def made_of(more_ms):
        made = Made(4)
        for _ in range(20):
            for rank in range(4):
                made.compute(rank, 10 * MS + (rank == 2) * more_ms * MS)
            made.meet(31)
        return made

    made = made_of(10)
    path = made.write(folder / "a.db", openmp(made, (200, 200, 400, 200), (0, 0, 0.5, 0)))
    rows = findings(path)
    check("threads: why", rows[1][0] == "late-rank" and rows[1][1] == "2" and rows[1][10] == "0" and
          rows[1][7].endswith("; why: its threads idle 50 % of the parallel regions' time, others 0 %"), rows)
    check("threads: more than the rank", len(rows) == 2 and rows[0][0] == "uneven-threads" and rows[0][7].startswith(
          "threads idle 50 % of the parallel regions' time: work is uneven between threads of rank 2; even, it would take 200 ms less"), rows)
    found = json.loads(run("report", path, "--json")[1])["findings"][1]
    check("threads: JSON", found["cause"] == "threads" and abs(found["counted"]["idle"] - 0.5) < 0.01 and abs(found["counted"]["threads"] - 4) < 0.01 and
          abs(found["counted"]["regions_s"] - 0.4) < 0.01 and found["counted_of_others"]["idle"] == 0, found)
    shown = run("report", path, "--explain", "2")[1]
    check("threads as evidence", "its parallel regions of OpenMP take 0.4 s, of 4.0 threads, which idle 50 % of that time" in " ".join(shown.split()), shown)

    made = made_of(0) # no rank is late, but all could be faster
    rows = findings(made.write(folder / "a.db", openmp(made, [200] * 4, [0.4] * 4)))
    check("uneven threads of all", [row[0] for row in rows] == ["uneven-threads"] and rows[0][7].startswith("threads idle 40 % of the parallel regions' time") and
          len(rows[0][7]) <= 160 and abs(float(rows[0][8]) - 0.08) < 0.005, rows)
    for name, regions_ms, idle in (("even", 200, 0.1), ("short regions", 20, 0.2), ("no time", 200, 0)):
        found = kinds(made.write(folder / "a.db", openmp(made, [regions_ms] * 4, [idle] * 4)))
        check(f"threads: {name}", found == [], found)
    made.waits = {rank: 100 * MS for rank in range(4)} # others had their processors
    found = kinds(made.write(folder / "a.db", openmp(made, [200] * 4, [0.4] * 4)))
    check("threads whose processors others had", "uneven-threads" not in found, found)


def ends(folder):
    for kind, before, behind in (("start-up", 100 * MS, 0), ("shut-down", 0, 100 * MS), (None, 20 * MS, 20 * MS)):
        made = Made(4)
        made.compute(0, before)
        made.meet(30)
        for _ in range(40):
            for rank in range(4):
                made.compute(rank, 4 * MS)
            made.meet(31)
        made.compute(1, behind)
        made.meet(32)
        if kind:
            expect_kind(kind, folder, made, kind, f"the {kind} takes 10", "most for rank " + ("0" if before else "1"))
        else:
            expect_none("short ends", folder, made, "start-up", "shut-down")


def balanced(folder):
    """Work that differs by chance, and by a drift that lasts: nothing is named."""
    chance, named = random.Random(11), []
    for trial in range(40):
        ranks, steps = chance.choice((2, 4, 8)), chance.choice((20, 60, 150))
        made, drift = Made(ranks), [0] * ranks
        for step in range(steps):
            for rank in range(ranks):
                drift[rank] = 0.9 * drift[rank] + chance.gauss(0, 0.02)
                made.compute(rank, int(MS * max(1 + drift[rank] + chance.gauss(0, 0.04), 0.1)))
            for src in range(ranks) if trial % 2 else ():
                made.send(src, (src + 1) % ranks, 1000, 10, 20)
            if trial % 2 == 0 or step % 10 == 9:
                made.meet(31)
        named += [(trial, row[0], row[7]) for row in findings(made.write(folder / "a.db"))]
    check("40 balanced jobs: one at most names something", len({trial for trial, *_ in named}) <= 1, named)


def shown(folder):
    """What the report makes of findings: gains, evidence, kinds."""
    made = Made(4)
    for _ in range(10):
        for rank in range(4):
            made.compute(rank, MS + (rank == 2) * 9 * MS)
        made.meet(31)
    path = made.write(folder / "a.db")
    code, text, _ = run("report", path)
    check("the first screen", code == 0 and "1. rank 2 arrives last at" in text and "gain 89 %" in " ".join(text.split()), text)
    code, text, errors = run("report", path, "--explain", "1")
    check("explained", code == 0 and "Finding 1: late-rank" in text and "what to do: " in text and text.count("10  ") >= 4 and "mpistair query" in text,
          (text, errors))
    query = " ".join(text[text.index('"SELECT') + 1:].split('"')[0].split())
    code, rows, errors = run("query", path, query, "--format", "csv")
    check("its query", code == 0 and len(rows.splitlines()) == 41, (query, rows, errors))
    code, all_text, errors = run("report", path, "--section", "evidence")
    check("evidence of all", code == 0 and text.strip() in all_text, (all_text, errors))
    code, page, errors = run("report", path, "--format", "html", "--section", "findings,evidence")
    check("a link to the evidence", page.count('<a href="#finding-1">1. rank 2 arrives') == 1 and page.count('<h2 id="finding-1">') == 1, errors)
    code, text, errors = run("report", path, "--explain", "9")
    check("no such finding", code == 1 and "there is no finding 9; it has 1" in errors, errors)
    code, text, _ = run("report", "--list-findings")
    check("all kinds", code == 0 and text.count("what to do: ") == 40 and "\nchain\n" in text and all(len(line) <= 80 for line in text.splitlines()), text)


def damaged(folder):
    for made in (ring(20 * MS), apart(2)):
        for statement in ("UPDATE message_row SET bytes = -9223372036854775807 - 1", "UPDATE message_row SET bytes = 9223372036854775807",
                          "UPDATE message_row SET recv_ns = NULL, send_call_ns = NULL", "UPDATE message_row SET recv_call_ns = 9e999",
                          "UPDATE message_row SET late_ns = -9223372036854775807 - 1", "UPDATE message_row SET src = 77",
                          "UPDATE message_row SET recv_ns = 'x'", "UPDATE process SET node = -7", "UPDATE process SET node = 'x'",
                          "UPDATE process SET node = 5000000000 + rank", "UPDATE form SET send_function = 99, send_callsite = 'x'",
                          "DELETE FROM form", "DELETE FROM node", "UPDATE node SET host = x'ff00'", "DELETE FROM message_row"):
            done = subprocess.run([SHOW, made.write(folder / "a.db", statement + ";")], capture_output=True, text=True, errors="replace",
                                  timeout=60)
            check("damaged: " + statement, done.returncode in (0, 1) and (done.returncode == 0 or done.stderr.startswith("mpistair: ")), done)


def damaged_accesses(folder):
    made = Made(2)
    for i in range(20):
        for rank in range(2):
            made.access(rank, "MPI_File_write_at", 64, i * 64, 20 * US, 10)
            made.one_sided(rank, "MPI_Win_lock", 0, 0, 0, 11)
            made.one_sided(rank, "MPI_Put", 0, 64, 0, 12)
            made.one_sided(rank, "MPI_Win_unlock", 0, 0, 0, 13)
    for statement in ("UPDATE rma SET begin_ns = 9223372036854775807", "UPDATE rma SET call_ns = 9223372036854775807", "UPDATE rma SET rank = 77",
                      "UPDATE rma SET target = -7, window = NULL, comm = 'x'", "UPDATE rma SET function = x'ff00', callsite = -1",
                      "UPDATE file_call SET rank = 77", "UPDATE file_call SET rank = -1, begin_ns = -9223372036854775807",
                      "UPDATE file_call SET bytes = 9223372036854775807, call_ns = 9223372036854775807, offset = -9223372036854775807",
                      "UPDATE file_call SET offset = 'x', function = NULL, callsite = 12345", "DELETE FROM call_row"):
        done = subprocess.run([SHOW, made.write(folder / "a.db", statement.replace("NULL, callsite", "'', callsite") + ";")], capture_output=True,
                              text=True, errors="replace", timeout=60)
        check("damaged: " + statement, done.returncode in (0, 1) and (done.returncode == 0 or done.stderr.startswith("mpistair: ")), done)


def odd(folder):
    check("nothing recorded", kinds(Made(2).write(folder / "a.db", "DELETE FROM process;")) == [], findings(folder / "a.db"))
    alone = Made(1)
    for _ in range(5):
        alone.compute(0, MS)
        alone.meet(3)
    check("one rank", kinds(alone.write(folder / "a.db")) == [], kinds(folder / "a.db"))
    silent = Made(4)
    for rank in range(4):
        silent.compute(rank, rank * MS)
    check("no messages", kinds(silent.write(folder / "a.db")) == [], kinds(folder / "a.db"))
    made = Made(4)
    for _ in range(10):
        made.compute(2, 20 * MS)
        made.meet(31)
    unknown = made.write(folder / "a.db", "UPDATE process SET node = NULL, socket = NULL, wait_ns = NULL, observed_ns = NULL;"
                         "UPDATE collective SET callsite = NULL; UPDATE call_row SET callsite = NULL;")
    expect("places not known", unknown, "late-rank", 2, "", "rank 2 arrives last at MPI_Allreduce in 10 of 10 calls")
    for statement in ("UPDATE process SET wait_ns = -5, observed_ns = 9223372036854775807", "UPDATE process SET wait_ns = 9e999",
                      "UPDATE collective SET begin_ns = -9223372036854775807", "UPDATE collective SET rank = 77",
                      "UPDATE process SET rank = rank + 5", "UPDATE process SET begin_ns = 9223372036854775807",
                      "UPDATE callsite SET line = 'x', file = x'ff00'", "UPDATE call_row SET call_ns = -1",
                      "UPDATE communicator_member SET world_rank = 99", "DROP TABLE form"):
        done = subprocess.run([SHOW, made.write(folder / "a.db", statement + ";")], capture_output=True, text=True, timeout=60)
        check("damaged: " + statement, done.returncode in (0, 1) and (done.returncode == 0 or done.stderr.startswith("mpistair: ")), done)


def large(folder):
    made = Made(4096, 64)
    for _ in range(3):
        for rank in range(4096):
            made.compute(rank, MS + rank % 7 * US)
        made.compute(1234, 50 * MS)
        for rank in range(0, 4096, 2):
            made.send(rank, rank + 1, 8, 10, 20)
        made.meet(31)
    expect("4,096 ranks", made.write(folder / "a.db"), "late-rank", 1234, "work made.c:10", "rank 1234")


def kept(folder):
    """A long run keeps its findings: --explain shows them as the report found them, until the trace changes."""
    def change(*statements):
        connection = sqlite3.connect(path)
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.close()

    def first_line():
        return run("report", path, "--explain", 1)[1].split("\n")[1].strip()

    made = Made(4)
    for i in range(13000):
        for rank in range(4):
            made.compute(rank, MS + (rank == 2) * 2 * MS)
        made.send(0, 1, 8, 10, 20)
        made.meet(31)
    path = made.write(folder / "kept.db")
    before = path.read_bytes()
    run("report", path, "--topology", "fat-tree-64")
    check("kept: not by a report with switches of its own", path.read_bytes() == before)
    found = run("report", path, "--section", "evidence")
    check("kept: written", found[0] == 0 and path.read_bytes() != before, found)
    written = path.read_bytes()
    check("kept: the same", run("report", path, "--section", "evidence")[1] == found[1] and path.read_bytes() == written)
    explained = run("report", path, "--explain", 1)
    true_line = first_line()
    check("kept: explained", explained[0] == 0 and found[1] == "Evidence\n\n" + explained[1] and "rank 2 arrives last" in true_line, (explained, found))
    check("kept: no such", run("report", path, "--explain", 9) == (1, "", f"mpistair: {path}: there is no finding 9; it has 1\n"))
    change("UPDATE finding SET sentence = 'planted'", "UPDATE kept_by SET change = change + 1")
    check("kept: shown", first_line().startswith("1. planted; gain"), first_line())
    check("kept: not with switches of one's own", "planted" not in run("report", path, "--explain", 1, "--topology", "fat-tree-64")[1])
    change("UPDATE run SET command = 'other'")
    check("kept: void after a change", first_line() == true_line, first_line())
    for damage in ("UPDATE finding SET kind = 'none'", "UPDATE finding SET number = 2", "DROP TABLE finding_part", "UPDATE finding_part SET part = 60",
                   "INSERT INTO finding_rank SELECT finding, rank, calls, time_s, longest_s FROM finding_rank, callsite", "DELETE FROM kept_by",
                   "UPDATE finding_call SET finding = 'x'", "UPDATE finding SET explained_by = 9223372036854775807"):
        change("UPDATE finding SET sentence = 'planted'", "UPDATE kept_by SET change = change + 1", damage)
        check("kept: " + damage, first_line() == true_line, first_line())
    change("DELETE FROM kept_by")
    screens = [run("report", path, *options) for options in ([], ["--all"], ["--format", "json"])]  # the first one keeps
    again = [run("report", path, *options) for options in ([], ["--all"], ["--format", "json"])]
    check("kept: the same screens", again == screens and screens[0][0] == 0, [new[1] for new in again])
    change("UPDATE spent_rank SET computation_s = 1e6", "UPDATE kept_by SET change = change + 1")
    check("kept: sums are shown", "4000000 s  100 %" in run("report", path)[1], run("report", path))
    for damage in "DELETE FROM spent_rank WHERE rowid = 1", "DROP TABLE spent_site", "DELETE FROM spent_site", "DELETE FROM spent_run":
        change("UPDATE spent_rank SET computation_s = 1e6", "UPDATE kept_by SET change = change + 1", damage)
        check("kept: " + damage, run("report", path) == screens[0], run("report", path))
    change("DROP TABLE finding", "CREATE VIEW finding AS SELECT 1")
    check("kept: a view of that name", run("report", path, "--section", "evidence")[1] == found[1])
    made = Made(4)
    for _ in range(100):
        made.compute(2, MS)
        made.meet(31)
    before = made.write(folder / "short.db").read_bytes()
    check("kept: not of a short run", run("report", folder / "short.db")[0] == 0 and (folder / "short.db").read_bytes() == before)


def main():
    with tempfile.TemporaryDirectory() as name:
        for part in (late_ranks, chains, uneven, late_sites, busy, small, not_joined, slow_links, slow_switches, busy_nodes, places, late_in_time, iterations, occurrences, turns, receivers,
                     order_of_receives, overlap, collectives, algorithms, windows, files, threads, machine, causes, instructions, uneven_threads, ends, balanced, shown, damaged, damaged_accesses, odd, large, kept):
            part(pathlib.Path(name))
    end("findings")


if __name__ == "__main__":
    main()
