"""mpistair report against traces made by hand and by lot, sum by sum: errors that would cancel out, errors that are withheld,
and all that it sums by itself against the views of the trace.

usage: check_sums.py MPISTAIR SHARE_SQL
"""
import json
import pathlib
import random
import sqlite3
import tempfile

from made_trace import check, database, end, run


def opposite_kinds(folder):
    """Kind 1 is modelled at twice its time, kind 2 at a third less, and so are the halves of the launch: the sums over both
    kinds are right, but no error is."""
    run_row = "INSERT INTO run VALUES (1, 'k', '0', 0, 0, 'MPICH', 'MPICH', 'MPI_THREAD_SINGLE', 'a', 1, 1, NULL, NULL, NULL, NULL, 'all');"
    rounds = [(1, 1, 100, 100), (2, 1, 100, 100), (3, 2, 300, 300), (4, 2, 300, 300), (5, 3, 10, 10), (6, 3, 20, 20), (7, 4, 20, 20),
              (8, 4, 10, 10)]
    lines = ["INSERT INTO process(rank, node, socket, ended) VALUES (0, 0, 0, 'finalize');"]
    lines += [f"INSERT INTO kind VALUES ({kind}, 2, 1, 1000);" for kind in (1, 2, 3, 4)]
    lines += [f"INSERT INTO round(id, kind_id, begin_ns, end_ns) VALUES ({i}, {kind}, {i}000000, {i}000000 + {us}000); INSERT INTO round_process VALUES "
              f"({i}, 0, {i}000000, {i}000000 + {us}000, {inside}000);" for i, kind, us, inside in rounds]
    lines += ["INSERT INTO prediction_run VALUES (1, 'toy', 'postal', '', 0), (2, 'toy', 'staircase', '', 0);"]
    lines += [f"INSERT INTO prediction VALUES ({run_id}, {kind}, 0, {us}e-6, 0, {us}e-6, 0, 0, 0, 0, NULL, NULL, 0);"
              for run_id, times in ((1, (200, 200, 15, 15)), (2, (110, 310, 15, 15))) for kind, us in enumerate(times, 1)]
    trace = database(folder / "opposite.db", run_row, *lines)
    report = json.loads(run("report", trace, "--format", "json")[1])
    found = [(m["model"], round(m["error"], 12), round(m["bias"], 12)) for m in report["models"]]
    expected = [("staircase", round(40 / 860, 12), round(40 / 860, 12)), ("postal", round(400 / 860, 12), 0)]
    check("kinds do not cancel", found == expected, f"{found}, expected {expected}")
    check("kinds do not cancel in the replicate error", abs(report["replicate"]["error"] - 40 / 860) < 1e-12, report["replicate"])
    rank = next(m for m in report["ranks"][0]["models"] if m["model"] == "postal")
    check("off_s of a rank", abs(rank["off_s"] - 400e-6) < 1e-15 and abs(rank["visible_off_s"] - 400e-6) < 1e-15, rank)
    shown = next(line for line in run("report", trace, "--all", "--model", "postal")[1].splitlines() if line.startswith("     0  0/0"))
    check("error and bias of a rank", "47 %   +0 %" in shown or "47 %  +0 %" in shown, shown)


def withheld(folder):
    """Two pairs of ranks on one socket, 100 us each: side by side for 100 us, for 10 us, or on two sockets."""
    run_row = "INSERT INTO run VALUES (1, 'k', '0', 0, 0, 'MPICH', 'MPICH', 'MPI_THREAD_SINGLE', 'a', 4, 4, NULL, NULL, NULL, NULL, 'all');"
    for name, later_us, socket, share, claimed in (("beside", 0, 0, 1, False), ("touching", 90, 0, 0.1, True), ("apart", 0, 1, 0, True)):
        trace = database(folder / f"{name}.db", run_row, "INSERT INTO node VALUES (0, 'a', 2, 4, NULL, 0, 4);",
                         *(f"INSERT INTO process(rank, node, socket, ended) VALUES ({r}, 0, {r // 2 * socket}, 'finalize');" for r in range(4)),
                         "INSERT INTO kind VALUES (1, 1, 1, 1000), (2, 1, 1, 1000);",
                         f"INSERT INTO round(id, kind_id, begin_ns, end_ns) VALUES (1, 1, 0, 100000), (2, 2, {later_us}000, {later_us + 100}000);",
                         *(f"INSERT INTO round_process VALUES ({r // 2 + 1}, {r}, {r // 2 * later_us}000, {r // 2 * later_us + 100}000, 0);"
                           for r in range(4)), "INSERT INTO prediction_run VALUES (1, 'toy', 'postal', '', 0);",
                         *(f"INSERT INTO prediction VALUES (1, {r // 2 + 1}, {r}, 1e-4, 0, 1e-4, 0, 0, 0, 0, NULL, NULL, 0);" for r in range(4)))
        report = json.loads(run("report", trace, "--format", "json")[1])
        check(f"concurrent rounds {name}", abs(report["rounds"]["concurrent_share"] - share) < 1e-12 and
              report["models"][0]["error_withheld"] is not claimed, (report["rounds"], report["models"]))
        text = run("report", trace, "--all")[1]
        row = next(line.split() for line in text.splitlines() if line.startswith("  toy  "))
        check(f"error {name}", (row[3] != "-") == claimed and ("no error is claimed" in text) != claimed, text)


def irregular(rng):
    """A trace by lot: ids of rounds with gaps, kinds of one and of many rounds, ranks that are missing from a round or
    receive nothing, rounds without ranks, messages of rounds that are not there, of ranks not of the round, of no round."""
    n_ranks, ids = 6, sorted(rng.sample(range(1, 90), 30))
    names = ("MPI_Send", "MPI_Isend", "MPI_Ibsend", "MPI_Issend_c", "MPI_Sendrecv", "MPI_Recv")
    lines = [f"INSERT INTO function VALUES ({i}, '{name}');" for i, name in enumerate(names, 1)]
    lines += [f"INSERT INTO process(rank, node, socket, ended) VALUES ({r}, {r // 3}, {r % 3 // 2}, 'finalize');" for r in range(n_ranks)]
    lines += [f"INSERT INTO form VALUES ({f}, {f if f < 4 else 'NULL'}, {f + 1}, 6, {f % 2}, {f % 3}, 0, 0, 0, 1, 1, NULL, NULL);" for f in range(5)]
    kinds = {i: rng.choice([1, 1, 1, 2, 2] + list(range(3, 20))) for i in ids}
    for kind in set(kinds.values()):
        lines.append(f"INSERT INTO kind VALUES ({kind}, {list(kinds.values()).count(kind)}, 3, 1000);")
    for i in ids:
        begin = rng.randrange(10 ** 9)
        lines.append(f"INSERT INTO round(id, kind_id, begin_ns, end_ns) VALUES ({i}, {kinds[i]}, {begin}, {begin + 10 ** 6});")
        for rank in rng.sample(range(n_ranks), rng.randrange(0, n_ranks)):
            first, length = begin + rng.randrange(1000), rng.choice([500, rng.randrange(10 ** 6)])
            lines.append(f"INSERT INTO round_process VALUES ({i}, {rank}, {first}, {first + length}, {rng.randrange(length + 1)});")
        for _ in range(rng.randrange(20)):
            lines.append(f"INSERT INTO message_row(src, dst, comm, tag, bytes, form, round_id, send_post_ns, late_ns, send_ns, recv_ns, "
                         f"room_bytes) VALUES"
                         f" ({rng.randrange(n_ranks)}, {rng.randrange(n_ranks)}, 0, 0, {rng.randrange(9000)}, {rng.randrange(6)},"
                         f" {rng.choice([i, i, i, i, 'NULL', 95])}, {begin + rng.randrange(-1000, 10 ** 6)}, "
                         f"{rng.choice([0, rng.randrange(-10 ** 6, 10 ** 6)])}, {rng.choice(['NULL', rng.randrange(10 ** 6)])}, "
                         f"{rng.choice(['NULL', rng.randrange(10 ** 6)])}, 0);")
    lines.append("INSERT INTO prediction_run VALUES (1, 'toy', 'postal', '', 0);")
    lines += [f"INSERT INTO prediction VALUES (1, {kind}, {rank}, {us}e-6, {us}e-6, 0, 0, 0, 0, 0, NULL, NULL, 0);"
              for kind in set(kinds.values()) for rank in range(n_ranks) for us in [rng.randrange(1, 900)]]
    return "\n".join(lines)


def concurrent_share(connection):
    """By definition, over the pieces between all begins and ends."""
    places = {rank: (node, socket) for rank, node, socket in connection.execute("SELECT rank, node, socket FROM process")}
    entries, rounds = list(connection.execute("SELECT round_id, rank, begin_ns, end_ns FROM round_process")), {}
    for round_id, rank, begin, end in entries:
        rounds.setdefault(round_id, []).append((places[rank], begin, end))
    lanes = {}
    for round_id, ranks in rounds.items():
        nodes = {place[0] for place, _, _ in ranks}
        for lane in {place for place, _, _ in ranks} | (nodes if len(nodes) > 1 else set()) if len(ranks) > 1 else ():
            own = [(begin, end) for place, begin, end in ranks if lane in (place, place[0])]
            lanes.setdefault(lane, {})[round_id] = (min(begin for begin, _ in own), max(end for _, end in own))
    crowded = 0
    for round_id, rank, begin, end in entries:
        others = [span for lane in (places[rank], places[rank][0]) if round_id in lanes.get(lane, ())
                  for other, span in lanes[lane].items() if other != round_id]
        cuts = sorted({begin, end, *(min(max(t, begin), end) for span in others for t in span)})
        crowded += sum(b - a for a, b in zip(cuts, cuts[1:]) if any(x <= a and b <= y for x, y in others))
    return crowded / sum(end - begin for _, _, begin, end in entries)


def as_the_views(folder):
    """A report sums in its own way; all that it shows is what the views of the trace say."""
    run_row = ("INSERT INTO run VALUES (1, 'k', '0', 0, 0, 'MPICH', 'MPICH', 'MPI_THREAD_SINGLE', 'a', 6, 6, 2000, 5000, NULL, NULL, 'all');"
               "INSERT INTO node VALUES (0, 'a', 2, 3, NULL, 0, 3), (1, 'b', 2, 3, NULL, 1, 3);")
    for seed in range(6):
        trace = database(folder / "views.db", run_row, irregular(random.Random(seed)))
        report = json.loads(run("report", trace, "--format", "json")[1])
        connection = sqlite3.connect(trace)

        def agree(name, found, sql):
            expected = [tuple(row) for row in connection.execute(sql)]
            check(f"{name} as the views say, seed {seed}", len(found) == len(expected) and all(
                a == b or (isinstance(b, float) and abs(a - b) <= 1e-12 * abs(b)) for x, y in zip(found, expected)
                for a, b in zip(x, y, strict=True)), f"{found}\n{expected}")

        def of(rows, *keys):
            return [tuple(row[key] for key in keys) for row in rows]

        agree("ranks", of(report["ranks"], "rank", "actual_s", "in_mpi_s", "late_senders_s", "late_receivers_s", "first_half_s",
                          "second_half_s"),
              "SELECT p.rank, a.actual_s, a.in_mpi_s, l.late_senders_s, l.late_receivers_s, h.first_s, h.second_s FROM process p LEFT JOIN rank_actual a USING "
              "(rank) LEFT JOIN rank_late l USING (rank) LEFT JOIN rank_replicate h USING (rank) ORDER BY p.rank")
        agree("received", of(report["ranks"], "rank", "received_messages", "received_bytes"),
              "SELECT rank, count(m.id), coalesce(sum(bytes), 0) FROM process LEFT JOIN message m ON dst = rank GROUP BY rank")
        agree("kinds", of(report["rounds"]["heaviest_kinds"], "kind", "rounds", "messages", "max_messages", "bytes", "intra_socket",
                          "inter_socket", "inter_node", "time_s"),
              "SELECT kind_id, rounds, messages, coalesce(max_messages, 0), bytes, 1.0 * intra_socket_bytes / bytes, "
              "1.0 * inter_socket_bytes / bytes, 1.0 * inter_node_bytes / bytes, time_s FROM kind_summary "
              "ORDER BY time_s DESC, kind_id LIMIT 10")
        agree("waits", of(report["why"]["waits"], "kind", "rounds", "ranks", "wait_s", "mean_s", "longest_s", "share", "last_rank",
                          "last_rounds"),
              "SELECT kind_id, rounds, ranks, wait_s, mean_s, longest_s, share, last_rank, last_rounds FROM kind_wait "
              "ORDER BY wait_s DESC, kind_id LIMIT 10")
        agree("late", of(report["why"]["late"], "cause", "rank", "partner", "function", "messages", "late_s", "longest_s"),
              "SELECT cause, rank, partner, function, messages, late_s, longest_s FROM late_partner "
              "ORDER BY late_s DESC, cause, rank, partner, function, callsite LIMIT 10")
        agree("models", of(report["models"], "error", "mape", "bias", "worst_rank"),
              "SELECT error, mape, bias, worst_rank FROM round_model_error")
        agree("overlap", of([rank["models"][0] for rank in report["ranks"]], "outside_s", "model_s", "visible_s", "in_mpi_s",
                            "visible_off_s"),
              "SELECT outside_s, model_s, visible_s, in_mpi_s, off_s FROM process LEFT JOIN rank_visible USING (rank) ORDER BY rank")
        share = concurrent_share(connection)
        check(f"concurrent by definition, seed {seed}", abs(report["rounds"]["concurrent_share"] - share) < 1e-12, (report["rounds"], share))
        agree("replicate", [of([report["replicate"]], "error", "share")[0]],
              "SELECT error, share FROM round_replicate_error")
        connection.close()


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    opposite_kinds(folder)
    withheld(folder)
    as_the_views(folder)
end("sums of reports")
