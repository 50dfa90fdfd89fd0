#!/usr/bin/env python3
"""Checks the findings of made traces: each kind where it is planted, and none of it where it is not.

usage: check_findings.py MPISTAIR SHARE_SQL SHOW_FINDINGS
"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile

from made_trace import check, database, end

SHOW = sys.argv[3]
MS, US = 1000000, 1000


class Made:
    """A run of ranks that compute and meet; times in ns. Messages and collectives are added in the order of time."""

    def __init__(self, ranks, per_node=None, eager=65536):
        self.ranks, self.per_node = ranks, per_node or ranks
        self.at = [0] * ranks
        self.messages, self.collectives, self.forms = [], [], {}
        self.waits = {}
        self.eager = eager

    def compute(self, rank, time_ns):
        self.at[rank] += time_ns

    def meet(self, site, transfer_ns=10 * US):
        begin = list(self.at)
        leave = max(begin) + transfer_ns
        self.collectives += [(rank, begin[rank], leave, site) for rank in range(self.ranks)]
        self.at = [leave] * self.ranks

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
               "INSERT INTO function VALUES (1, 'MPI_Send'), (2, 'MPI_Recv'), (3, 'MPI_Allreduce');",
               f"INSERT INTO communicator VALUES (0, 'MPI_COMM_WORLD', NULL, NULL, {self.ranks}, NULL, 1);"]
        sql += [f"INSERT INTO node VALUES ({n}, 'node{n}', 1, {self.per_node}, NULL, {n}, {self.per_node});" for n in range(nodes)]
        sql += [f"INSERT INTO callsite VALUES ({n}, 'm', {n}, NULL, 'work', 'made.c', {n});" for n in range(1, 100)]
        sql += ["INSERT INTO communicator_member SELECT 0, value, value FROM generate_series;".replace(
            "generate_series", f"(WITH RECURSIVE r(value) AS (SELECT 0 UNION ALL SELECT value + 1 FROM r WHERE value + 1 < {self.ranks}) "
                               "SELECT value FROM r)")]
        sql += ["INSERT INTO process(rank, node, socket, core, place, ended, begin_ns, end_ns, observed_ns, run_ns, wait_ns) VALUES "
                f"({r}, {r // self.per_node}, 0, {r % self.per_node}, 'observed', 'finalize', 0, {last}, {last}, {last}, {self.waits.get(r, 0)});"
                for r in range(self.ranks)]
        for src, dst, size, site, recv_site, post, sent, recv, done in self.messages:
            level = 1 if src // self.per_node == dst // self.per_node else 3
            form = self.forms.setdefault((level, site, recv_site), len(self.forms) + 1)
            sql.append("INSERT INTO message_row(src, dst, comm, tag, bytes, form, send_post_ns, send_ns, late_ns, recv_ns, room_bytes, "
                       f"send_call_ns, recv_call_ns) VALUES ({src}, {dst}, 0, 0, {size}, {form}, {post}, {sent - post}, {recv - post}, "
                       f"{done - recv}, 0, {sent - post}, {done - recv});")
        sql += [f"INSERT INTO form VALUES ({n}, {level}, 1, 2, {site}, {recv_site}, 0, 0, 0, 1, 1, NULL, NULL);"
                for (level, site, recv_site), n in self.forms.items()]
        for rank, begin, leave, site in self.collectives:
            sql.append("INSERT INTO collective(rank, function, comm, bytes, begin_ns, end_ns, call_ns, nonblocking, callsite) VALUES "
                       f"({rank}, 'MPI_Allreduce', 0, 8, {begin}, {leave}, {leave - begin}, 0, {site});"
                       f"INSERT INTO call_row VALUES ({rank}, 3, {begin}, {leave - begin}, 0, 0, {site});")
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


def main():
    with tempfile.TemporaryDirectory() as name:
        for part in (late_ranks, chains, uneven, late_sites, busy, small, not_joined, slow_links, places, damaged, odd, large):
            part(pathlib.Path(name))
    end("findings")


if __name__ == "__main__":
    main()
