"""The tables total and course of a trace against its rows of single calls and messages: where all calls have rows, both say
the same."""
import collections
import sqlite3

# Of each call that has a row of its own: rank, function, call site, communicator, direction, peer; calls, bytes.
ROWS = """
SELECT src, f.send_function, f.send_callsite, comm, 'send', dst, count(*), total(bytes)
FROM message_row m JOIN form f ON f.id = m.form GROUP BY 1, 2, 3, 4, 6
UNION ALL
SELECT dst, f.recv_function, f.recv_callsite, comm, 'receive', src, count(*), total(bytes + room_bytes)
FROM message_row m JOIN form f ON f.id = m.form GROUP BY 1, 2, 3, 4, 6
UNION ALL
SELECT rank, n.id, callsite, comm, direction, peer, count(*), total(bytes)
FROM unmatched u JOIN function n ON n.name = u.function GROUP BY 1, 2, 3, 4, 5, 6
UNION ALL
SELECT rank, n.id, callsite, comm, NULL, NULL, count(*), total(bytes)
FROM collective c JOIN function n ON n.name = c.function GROUP BY 1, 2, 3, 4
UNION ALL
SELECT rank, n.id, callsite, comm, NULL, target, count(*), total(bytes)
FROM rma r JOIN function n ON n.name = r.function GROUP BY 1, 2, 3, 4, 6
UNION ALL
SELECT rank, n.id, callsite, comm, NULL, NULL, count(*), total(bytes)
FROM file_call c JOIN function n ON n.name = c.function GROUP BY 1, 2, 3, 4
UNION ALL
SELECT rank, n.id, callsite, comm, NULL, NULL, count(*), 0
FROM persistent p JOIN function n ON n.name = p.function GROUP BY 1, 2, 3, 4
"""
REJECTED = "SELECT rank, n.id, callsite, calls FROM rejected r JOIN function n ON n.name = r.function"
# Time by rank, function, call site.
TIMES = """
SELECT rank, n.id, callsite, idle_calls > 0, sum(max(idle_calls, 1)), sum(end_ns - begin_ns)
FROM call c JOIN function n ON n.name = c.function GROUP BY 1, 2, 3, 4
"""


def added(rows, keys):
    found = collections.defaultdict(lambda: [0, 0])
    for row in rows:
        for i, value in enumerate(row[keys:]):
            found[tuple(row[:keys])][i] += value
    return {key: value for key, value in found.items() if any(value)}


def wrong(database, moved=()):
    """What of the totals contradicts the rows of a trace in which all calls have rows. Totals have no call sites of the ranks of
    `moved`, whose modules came and went at one address."""
    found = []
    with sqlite3.connect(f"file:{database}?immutable=1", uri=True) as connection:
        def ask(sql):
            return connection.execute(sql).fetchall()

        def added_up(rows, keys):
            return added([(*row[:2], None, *row[3:]) if row[0] in moved else row for row in rows], keys)

        def compare(what, keys, totals, rows):
            totals, rows = added_up(totals, keys), added_up(rows, keys)
            if totals != rows:
                found.append(f"{what}: in total alone {[item for item in totals.items() if rows.get(item[0]) != item[1]]}, "
                             f"in rows alone {[item for item in rows.items() if totals.get(item[0]) != item[1]]}")

        if ask("SELECT detail FROM run")[0][0] != "all":
            return wrong_course(ask)
        left_out = ask("SELECT coalesce(sum(partners), 0) FROM recording_off")[0][0]
        objects = {row[0] for row in ask("SELECT id FROM function WHERE name GLOB 'MPI_Win_*' OR name GLOB 'MPI_File_*'")}
        if not left_out:
            compare("calls on communicators, windows, files", 6,
                    [row for row in ask("SELECT rank, function, callsite, comm, direction, peer, calls, bytes FROM total WHERE NOT idle AND NOT off")
                     if row[3] is not None or row[1] in objects],
                    [row for row in ask(ROWS) if row[3] is not None or row[1] in objects])
        rejected = ask("SELECT rank, function, callsite, calls FROM total WHERE direction IS NOT NULL AND comm IS NULL")
        compare("rejected calls", 3, rejected, ask(REJECTED))
        # The second half of an MPI_Sendrecv, and what MPI_Startall starts behind the first, are calls of the totals alone.
        several = {row[0] for row in ask("SELECT id FROM function WHERE name GLOB '*endrecv*' OR name = 'MPI_Startall'")}
        not_called = {row[0] for row in ask("SELECT n.id FROM persistent p JOIN function n ON n.name = p.function")}
        not_called |= {row[1] for row in ask(REJECTED)}
        times = added_up([row for row in ask("SELECT rank, function, callsite, idle, calls, time_ns FROM total WHERE NOT off") if row[1] not in not_called], 4)
        rows = added_up([row for row in ask(TIMES) if row[1] not in not_called], 4)
        for key in times.keys() | rows.keys():
            calls, ns = times.get(key, [0, 0])
            row_calls, row_ns = rows.get(key, [0, 0])
            if (calls != row_calls and key[1] not in several) or abs(ns - row_ns) > 1 + row_calls:
                found.append(f"time of rank, function, call site, idle {key}: {calls} calls {ns} ns in total, {row_calls} calls {row_ns} ns in rows")
        found += wrong_course(ask)
    return found


def wrong_course(ask):
    """What of the table course contradicts the totals."""
    found = []
    times = ("point_to_point_ns", "wait_ns", "idle_ns", "collective_ns", "one_sided_ns", "file_ns", "other_ns")
    totals = {row[0]: row[1:] for row in ask("SELECT rank, sum(time_ns), sum(calls), sum(iif(direction = 'send', bytes, 0)) FROM total GROUP BY rank")}
    for rank, n, time_ns, calls, sent in ask(f"SELECT rank, count(*), sum({' + '.join(times)}), sum(calls), sum(bytes) FROM course GROUP BY rank"):
        total_ns, total_calls, total_sent = totals.pop(rank, (0, 0, 0))
        if n > 512 or calls != total_calls or sent != total_sent or abs(time_ns - total_ns) > 1 + calls + 7 * n:
            found.append(f"course of rank {rank}: {n} windows, {calls} calls, {sent} bytes, {time_ns} ns; in total {total_calls}, {total_sent}, {total_ns}")
    if totals:
        found.append(f"no course of ranks {sorted(totals)}")
    gaps = ask("SELECT rank, begin_ns FROM (SELECT *, lag(end_ns) OVER (PARTITION BY rank ORDER BY begin_ns) AS before FROM course) "
               "WHERE before <> begin_ns OR end_ns < begin_ns")
    return found + [f"windows of the course that do not follow each other: {gaps}"] * bool(gaps)
