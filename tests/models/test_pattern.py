"""`mpistair pattern`: what each kind is, that a seed decides it, what a mesh must have, and the statistics against a count
of our own.

usage: test_pattern.py MPISTAIR SCHEMA.sql
"""
import csv
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter

from empty_trace import empty_trace

HAS_SCOTCH = "scotch" not in os.environ.get("MPISTAIR_LACKS", "").split()
MPISTAIR, SCHEMA = map(os.path.abspath, sys.argv[1:3])


def run(*words):
    done = subprocess.run([MPISTAIR, *map(str, words)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stderr == "", (words, done)
    return done.stdout


def read(path):
    with open(path, newline="") as file:
        return [tuple(int(v) for v in row[:3]) for row in list(csv.reader(file))[1:]]


def pattern(*words):
    """Messages, places and statistics."""
    said = json.loads(run("pattern", *words, "--json", "-o", "made"))
    return read("made.P.csv"), read("made.L.csv"), said


def count(messages, places):
    """The statistics, written from their description."""
    level = {"self": [0, 0], "intra_socket": [0, 0], "inter_socket": [0, 0], "inter_node": [0, 0]}
    number = {"received": Counter(), "sent": Counter()}
    volume = {"received": Counter(), "sent": Counter()}
    for src, dst, size in messages:
        a, b = places[src], places[dst]
        name = ("self" if src == dst else "inter_node" if a[1] != b[1] else
                "intra_socket" if a[2] == b[2] else "inter_socket")
        level[name][0] += 1
        level[name][1] += size
        if src != dst:
            for side, rank in (("sent", src), ("received", dst)):
                number[side][rank] += 1
                volume[side][rank] += size
    said = {"ranks": len(places), "nodes": len({p[1] for p in places}), "messages": len(messages),
            "bytes": sum(m[2] for m in messages),
            "levels": {name: {"messages": n, "bytes": b} for name, (n, b) in level.items()}}
    for side in ("received", "sent"):
        a_rank = [number[side][rank] for rank in range(len(places))]
        some = [v for v in volume[side].values() if v > 0]
        said[side] = {"most_messages": max(a_rank), "least_messages": min(a_rank), "most_bytes": max(some, default=0),
                      "least_bytes": min(some, default=0)}
    return said


def check_statistics():
    for words in (["irregular", "--ranks", 37, "--nodes", 3, "--sockets", 2, "--seed", 5, "--bytes", "0:9"],
                  ["mesh", "--ranks", 23, "--nodes", 2, "--sockets", 2, "--cells", 3000],
                  ["neighbours", "--ranks", 20, "--nodes", 2, "--sockets", 2, "--map", "node"]):
        if words[0] == "mesh" and not HAS_SCOTCH:
            continue
        messages, places, said = pattern(*words)
        assert said == count(messages, places), words
    with open("own.P.csv", "w") as file:
        file.write("src,dst,bytes\n0,0,7\n0,1,0\n1,2,5\n2,1,5\n2,1,18446744073709551598\n")
    with open("own.L.csv", "w") as file:
        file.write("rank,node,socket\n0,9,0\n1,9,1\n2,4,1\n")
    said = json.loads(run("pattern", "--pattern", "own.P.csv", "--placement", "own.L.csv", "--json"))
    counted = count(read("own.P.csv"), read("own.L.csv"))
    assert counted["bytes"] == 2**64 - 1 and said["levels"]["self"]["messages"] == 1

    def written(value):
        """Above 2^63 - 1 the nearest double is written."""
        if isinstance(value, dict):
            return {name: written(inner) for name, inner in value.items()}
        return float(value) if value > 2**63 - 1 else value

    assert said == written(counted)


def check_small():
    """By hand."""
    assert pattern("pairs", "--ranks", 8, "--bytes", 10)[0] == [
        (0, 1, 20), (1, 0, 20), (2, 3, 10), (3, 2, 10), (4, 5, 5), (5, 4, 5), (6, 7, 20), (7, 6, 20)]
    messages, places, _ = pattern("incast", "--nodes", 3, "--cores", 2, "--bytes", 4)
    assert messages == [(2, 0, 4), (3, 0, 4), (4, 0, 4), (5, 0, 4)]
    assert places == [(0, 0, 0), (1, 0, 0), (2, 1, 0), (3, 1, 0), (4, 2, 0), (5, 2, 0)]
    assert pattern("outcast", "--ranks", 3, "--bytes", 4)[0] == [(0, 1, 4), (0, 2, 4)]
    assert pattern("mixed", "--sockets", 2, "--cores", 3, "--bytes", 4)[0] == [
        (0, 1, 4), (1, 0, 4), (2, 5, 4), (5, 2, 4), (3, 4, 4), (4, 3, 4)]
    messages, _, said = pattern("neighbours", "--ranks", 10, "--sockets", 2, "--bytes", "600:1500")
    assert messages[:6] == [(4, 0, 100), (3, 0, 200), (1, 0, 300), (0, 1, 116), (4, 1, 233), (2, 1, 350)]
    assert len(messages) == 30 and said["levels"]["intra_socket"]["messages"] == 30
    assert [p[1:] for p in pattern("pairs", "--ranks", 8, "--nodes", 2, "--sockets", 2, "--map", "socket")[1]] == [
        (0, 0), (0, 1), (0, 0), (0, 1), (1, 0), (1, 1), (1, 0), (1, 1)]
    assert [p[1:] for p in pattern("pairs", "--ranks", 8, "--nodes", 2, "--sockets", 2, "--map", "node")[1]] == [
        (0, 0), (1, 0), (0, 0), (1, 0), (0, 1), (1, 1), (0, 1), (1, 1)]


def check_seeds():
    for kind in ("irregular", "mesh") if HAS_SCOTCH else ("irregular",):
        words = [kind, "--ranks", 12, "--far", 40, "--spread", 1]
        first, again = pattern(*words, "--seed", 3)[0], pattern(*words, "--seed", 3)[0]
        assert first == again, f"{kind}: the same seed gives another pattern"
        assert pattern(*words, "--seed", 4)[0] != first, f"{kind}: another seed gives the same pattern"


def check_irregular():
    sizes = []
    for seed in range(10):
        messages = pattern("irregular", "--ranks", 9, "--degree", 3, "--bytes", "100:10000", "--seed", seed)[0]
        sent = Counter(m[0] for m in messages)
        assert set(sent) == set(range(9)) and 1 <= min(sent.values()) and max(sent.values()) <= 3
        assert all(m[0] != m[1] for m in messages) and len({m[:2] for m in messages}) == len(messages)
        sizes += [m[2] for m in messages]
    assert all(100 <= size <= 10000 for size in sizes)
    below = sum(size < 1000 for size in sizes) / len(sizes)
    assert 0.3 < below < 0.7, f"{below} of the sizes are below their geometric mean"


def check_mesh():
    if not HAS_SCOTCH:
        done = subprocess.run([MPISTAIR, "pattern", "mesh", "--ranks", "4", "-o", "none"], capture_output=True, text=True)
        assert done.returncode == 1 and not os.path.exists("none.P.csv"), done
        assert "built without Scotch" in done.stderr and "libscotch-dev" in done.stderr, done
        return
    near, _, said = pattern("mesh", "--ranks", 64, "--cells", 20000, "--cell-bytes", 10)
    deep, _, _ = pattern("mesh", "--ranks", 64, "--cells", 20000, "--cell-bytes", 10, "--layers", 3)
    far, _, _ = pattern("mesh", "--ranks", 64, "--cells", 20000, "--cell-bytes", 10, "--far", 2000, "--far-bytes", 1)
    for messages in (near, deep, far):
        pairs = {m[:2] for m in messages}
        assert len(pairs) == len(messages), "two messages of the same ranks"
        assert all((b, a) in pairs for a, b in pairs), "not symmetric"
        assert {a for a, _ in pairs} == set(range(64)), "a rank without neighbours"
        assert messages == sorted(messages) and all(a != b for a, b in pairs)
    assert all(m[2] % 10 == 0 and m[2] > 0 for m in near)
    assert {m[:2] for m in near} <= {m[:2] for m in deep} and sum(m[2] for m in deep) > 2 * sum(m[2] for m in near)
    size = {m[:2]: m[2] for m in far}
    assert all(size[m[:2]] >= m[2] for m in near), "far pairs took bytes away"
    assert 0 < sum(size.values()) - sum(m[2] for m in near) <= 2 * 2000
    # A compact part of n cells has a surface of some 6 n^(2/3) cells, a scattered one of some 6 n.
    surface = said["bytes"] / 10 / 64
    assert 3 * (20000 / 64) ** (2 / 3) < surface < 9 * (20000 / 64) ** (2 / 3), f"{surface} cells around a part"


def check_recorded():
    database = empty_trace("t.db", SCHEMA)
    database.execute("INSERT INTO run VALUES (1,'k','0',0,0,'MPICH','l','t','c',3,3,NULL,NULL,NULL,NULL, 'all')")
    database.executemany("INSERT INTO process(rank,node,socket,ended) VALUES (?,?,?,'finalize')",
                         [(0, 0, 0), (1, 0, 1), (2, 5, 0)])
    database.executemany("INSERT INTO kind VALUES (?,1,1,8)", [(0,), (4,), (9,)])
    database.executemany("INSERT INTO round(id, kind_id, begin_ns, end_ns) VALUES (?,?,?,?)", [(0, 0, 0, 9), (1, 4, 1000, 3000), (2, 4, 5000, 7000),
                                                                (3, 9, 10, 20)])
    database.executemany(
        "INSERT INTO message(src,dst,comm,tag,bytes,round_id,send_post_ns,recv_post_ns,recv_bytes,"
        "send_function,recv_function,any_source,any_tag,uncertain) VALUES (?1,?2,?8,0,?3,?4,?5,?6,?7,'s','r',?9,0,0)",
        [(*message, 0, 0) for message in ((0, 1, 8, 0, 0, 0, 8), (2, 0, 70, 1, 1500, 1001, 70), (0, 2, 60, 1, 1200, 1100, 60),
                                          (0, 1, 50, 1, 1000, 1100, 50), (0, 1, 50, 2, 5000, 5100, 50), (2, 1, 3, 3, 10, 11, 3))]
        + [(2, 1, 4, 3, 10, 11, 4, 3, 1)])
    database.commit()
    database.close()
    messages, places, _ = pattern("--from", "t.db", "--kind", 4)
    assert messages == [(0, 1, 50), (0, 2, 60), (2, 0, 70)] and places == [(0, 0, 0), (1, 0, 1), (2, 5, 0)]
    with open("made.P.csv") as file:
        assert file.read() == "src,dst,bytes\n0,1,50\n0,2,60\n2,0,70\n"
    assert pattern("--from", "t.db", "--kind", 9)[0] == [(2, 1, 3), (2, 1, 4)]
    done = subprocess.run([MPISTAIR, "pattern", "--from", "t.db"], capture_output=True, text=True)
    assert done.returncode == 1 and "holds 3 kinds of round, 0 to 9: choose with --kind K" in done.stderr


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for check in (check_small, check_statistics, check_seeds, check_irregular, check_mesh, check_recorded):
            check()
            print(f"ok: {check.__name__}")
        os.chdir("/")


main()
