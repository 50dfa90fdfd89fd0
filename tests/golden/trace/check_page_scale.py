"""The pictures of `mpistair report --format html` are the same whether the trace is one file, whose rows threads read by ranges, or
shards, with any number of processors; and what SQL adds up over all messages and calls is in them: who sends to whom, sizes, shades
and the longest calls. A message that is changed shows in its cells alone. The page of a trace with too many rows says how late ranks
are found, has all else, and has them once they are found.

usage: check_page_scale.py MPISTAIR MAKE_SPOOLS
"""
import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

MPISTAIR, MAKE_SPOOLS = (os.path.abspath(path) for path in sys.argv[1:3])
COLUMNS, BARS = 240, 6000
os.environ.pop("MPISTAIR_SHARE", None)
wrong = []


def check(what, is_right, found=""):
    if not is_right:
        wrong.append(f"{what}: {str(found)[:1000]}")


def tool(*words, **more):
    done = subprocess.run([MPISTAIR, *words], capture_output=True, text=True, timeout=120, **more)
    check(" ".join(words), done.returncode == 0, done.stderr)
    return done.stdout


def page(trace, *words, **more):
    """The text of the page and the data of its pictures: tables by (picture, table), and notes."""
    text = tool("report", trace, "--format", "html", *words, **more).replace(trace, "TRACE")
    data = {name: json.loads(found) for name, found in re.findall(r'<script type="application/json" id="data-(\w+)">(.*?)</script>', text, re.S)}
    if not data:
        print("the page draws no pictures without Vega")
        sys.exit(77)
    return text, {(name, table): rows for name, picture in data.items() for table, rows in picture["tables"].items()}


def rows_of(tables, picture, table):
    return [tuple(row) for row in tables[picture, table]["rows"]]


def bins(ranks, most):
    return -(-ranks // most) if ranks > most else 1


def near(a, b):
    return abs(a - b) <= 1e-8 * max(abs(a), abs(b))


def compare(name, trace, ranks, tables):
    """Holds the pictures against what SQL finds. Returns which of them are not right."""
    database = sqlite3.connect(f"file:{trace}?mode=ro", uri=True)
    off = []
    width = bins(ranks, 128)
    cells = database.execute("SELECT src / ?1 * ?1, dst / ?1 * ?1, count(*), sum(bytes), sum(max(recv_ns + min(late_ns, 0), 0)) * 1e-9 "
                             "FROM message_row GROUP BY 1, 2 ORDER BY 1, 2", [width]).fetchall()
    found = rows_of(tables, "matrix", "cell")
    off += [("cell", *a[:2]) for a, b in zip(cells, found) if a[:3] != b[:3] or not near(a[3], b[3]) or not near(a[4], b[4])]
    off += [("cells", len(cells), len(found))] if len(cells) != len(found) else []
    sizes = database.execute("SELECT bytes, count(*), sum(bytes) FROM message_row GROUP BY bytes ORDER BY bytes").fetchall()
    powers = {}
    for size, n, all_bytes in sizes:
        now = powers.setdefault(size.bit_length(), [0, 0])
        now[0] += n
        now[1] += all_bytes
    sums = {}
    for power, _, _, _, n, all_bytes in rows_of(tables, "sizes", "size"):
        now = sums.setdefault(power, [0, 0])
        now[0] += n
        now[1] += all_bytes
    off += [("size", power) for power in {*powers, *sums} if powers.get(power) != sums.get(power)]

    width = bins(ranks, 64)
    begin, end = database.execute("SELECT min(begin_ns), max(end_ns) FROM process").fetchone()
    calls = database.execute("SELECT rank, begin_ns, call_ns FROM call_row UNION ALL SELECT src, send_post_ns, send_call_ns FROM message_row "
                             "UNION ALL SELECT dst, send_post_ns + late_ns, recv_call_ns FROM message_row").fetchall()
    column_ns, shades = (end - begin) / COLUMNS, {}
    for rank, at, length in calls:
        column = int((at - begin) / column_ns)
        while column < COLUMNS and begin + column * column_ns < at + length:
            inside = min(begin + (column + 1) * column_ns, at + length) - max(begin + column * column_ns, at)
            shades[rank // width, column] = shades.get((rank // width, column), 0) + max(inside, 0)
            column += 1
    found = {row[:2]: row[4] for row in rows_of(tables, "timeline", "shade")}
    for (row, column), inside in shades.items():
        share = inside / column_ns / min(width, ranks - row * width) * 100
        if abs(min(share, 100) - found.get((row, column), 0)) > 0.5001 and share > 0.501:
            off.append(("shade", row, column))
    off += [("shade", *place) for place in found if place not in shades]
    if width == 1:
        longest = sorted((length for _, _, length in calls), reverse=True)[:BARS]
        bars = sorted((round((to - at) * 1e9) for _, _, at, to, _ in rows_of(tables, "timeline", "bar")), reverse=True)
        off += [("bars", len(longest), len(bars))] if len(longest) != len(bars) or max(abs(a - b) for a, b in zip(longest, bars)) > 1 else []
    n = database.execute("SELECT count(*) FROM message_row").fetchone()[0]
    below = int(1000 / n * 2**32)
    lines = database.execute("SELECT src, dst FROM message_row WHERE (id * 2654435761 & 4294967295) < ? AND src / ? <> dst / ? ORDER BY id",
                             [below, width, width]).fetchall()
    off += [("lines", len(lines))] if [row[5:] for row in rows_of(tables, "timeline", "line")] != lines or not lines else []
    database.close()
    return off


def one_core():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def check_agreement(top, ranks, steps):
    spools = os.path.join(top, f"spools-{ranks}")
    one, split = os.path.join(top, f"one-{ranks}.db"), os.path.join(top, f"split-{ranks}.db")
    os.mkdir(spools)
    subprocess.run([MAKE_SPOOLS, spools, str(ranks), "16", str(steps)], check=True)
    tool("ingest", spools, "-o", one, "--quiet", "--shards", "1")
    tool("ingest", spools, "-o", split, "--quiet", "--shards", "7")
    shutil.rmtree(spools)
    text, tables = page(one)
    check(f"{ranks} ranks, by SQL", compare("one", one, ranks, tables) == [], compare("one", one, ranks, tables))
    check(f"{ranks} ranks, on one processor", page(one, preexec_fn=one_core)[1] == tables)
    more = page(split)[1]
    check(f"{ranks} ranks, shards", more == tables, [key for key in tables if more[key] != tables[key]])
    check(f"{ranks} ranks, shards on one processor", page(split, preexec_fn=one_core)[1] == tables)
    return one, text, tables


def check_planted(top, trace, ranks):
    """One message of another size, and one call that lasts longer, are found, each where it is."""
    planted = os.path.join(top, "planted.db")
    shutil.copy(trace, planted)
    with sqlite3.connect(planted) as database:
        src, dst = database.execute("SELECT src, dst FROM message_row WHERE id = 1001").fetchone()
        database.execute("UPDATE message_row SET bytes = 3 * bytes WHERE id = 1001")
    size = sqlite3.connect(trace).execute("SELECT bytes FROM message_row WHERE id = 1001").fetchone()[0]
    off = compare("planted", trace, ranks, page(planted)[1])
    width = bins(ranks, 128)
    expected = {("cell", src // width * width, dst // width * width), ("size", size.bit_length()), ("size", (3 * size).bit_length())}
    check("a planted size", set(off) == expected, (off, expected))
    with sqlite3.connect(planted) as database:
        database.execute("UPDATE message_row SET bytes = ? WHERE id = 1001", [size])
        rank, at = database.execute("SELECT rank, begin_ns FROM call_row WHERE rowid = 501").fetchone()
        begin, end = database.execute("SELECT min(begin_ns), max(end_ns) FROM process").fetchone()
        database.execute("UPDATE call_row SET call_ns = call_ns + ? WHERE rowid = 501", [(end - begin) // 10])
    off = {key for key in compare("planted", trace, ranks, page(planted)[1]) if key[0] != "bars"}
    column = int((at - begin) / (end - begin) * COLUMNS)
    check("a planted call", off and off <= {("shade", rank // bins(ranks, 64), column + i) for i in range(26)}, off)


def check_large(top, trace, text, tables):
    """Rows are counted by the largest of their numbers."""
    large = os.path.join(top, "large.db")
    shutil.copy(trace, large)
    with sqlite3.connect(large) as database:
        database.execute("DROP TABLE IF EXISTS kept_by")
        database.execute("UPDATE call_row SET rowid = 3000000 WHERE rowid = (SELECT max(rowid) FROM call_row)")
    reason = "late ranks and waits are not on this page yet"
    check("small page", reason not in text)
    of_large, large_tables = page(large)
    check("large page", reason in of_large and "mpistair report TRACE" in of_large)
    check("large pictures", large_tables == tables, [key for key in tables if large_tables.get(key) != tables[key]])
    tool("report", large)
    later = page(large)[0]
    check("a large page once they are found", reason not in later and later == text)


def main():
    with tempfile.TemporaryDirectory(prefix="mpistair-page-") as top:
        one, text, tables = check_agreement(top, 40, 650)
        check_large(top, one, text, tables)
        check_agreement(top, 300, 90)
        check_planted(top, os.path.join(top, "one-300.db"), 300)
    for line in wrong:
        print(f"FAILED {line}")
    return 1 if wrong else 0


sys.exit(main())
