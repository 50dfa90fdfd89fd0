#!/usr/bin/env python3
"""Findings of made traces, each kind where it is planted, and none of it where it is not:
who waits for whom in messages and collectives, and where.

usage: check_findings.py MPISTAIR SHARE_SQL SHOW_FINDINGS
"""
import os
import random

from made_run import MS, Made, US, apart, check_parts, expect, expect_gain, expect_kind, expect_none, findings, has, kinds, ring
from made_trace import check


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


check_parts("findings", late_ranks, chains, uneven, late_sites, busy, small, not_joined, slow_links, slow_switches, busy_nodes, places,
            turns, receivers, order_of_receives, overlap)
