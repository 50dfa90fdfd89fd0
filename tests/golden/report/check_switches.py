"""Switches above nodes: what report, query and predict make of a topology.conf of Slurm, of a .topo file and of what the job's
environment told, of a run on 8 nodes below 3 switches; and what they say of files that are wrong.

usage: check_switches.py MPISTAIR SHARE_SQL
"""
import json
import os
import pathlib
import tempfile

import made_trace
from made_trace import check, database, run

# Two leaf switches below one, a third at the top itself. n7 is written with its domain in the trace.
CONF = """# switches of the site
SwitchName=s1 Nodes=n[0-1],n02 LinkSpeed=100
switchname=s2 nodes=n[3-4] \\
   # joined
SwitchName = s3 Nodes = "n[5-7]"\r
SwitchName=mid Switches=s[1,2]
SwitchName=top Switches=mid,s3
"""
HOSTS = ["n0", "n1", "n02", "n3", "n4", "n5", "n6", "n7.site.org"]
PATHS = ["s1 mid top"] * 3 + ["s2 mid top"] * 2 + ["s3 top"] * 3
# (from rank, to rank, bytes); ranks 0 and 8 are on node 0, rank k on node k.
MESSAGES = [(0, 8, 7), (0, 1, 100), (1, 0, 10), (2, 3, 1000), (3, 2, 2000), (4, 5, 40000), (5, 6, 500000), (6, 5, 300000), (7, 8, 6000000)]


def make(path, recorded):
    rows = ["INSERT INTO run VALUES (1, 'r', '0.2.0', 0, 1000000000, 'Open MPI', 'Open MPI v4', 'MPI_THREAD_SINGLE', './job', 9, 9, "
            "4096, 65536, NULL, 'MPI_Init', 'all');",
            "INSERT INTO communicator VALUES (0, 'MPI_COMM_WORLD', NULL, NULL, 9, NULL, 1);"]
    for node, host in enumerate(HOSTS):
        rows.append(f"INSERT INTO node VALUES ({node}, '{host}', 1, 2, NULL, {node}, 2);")
        for level, switch in enumerate(PATHS[node].split() if recorded else [], 1):
            rows.append(f"INSERT INTO node_switch VALUES ({node}, {level}, '{switch}');")
    for rank in range(9):
        rows.append(f"INSERT INTO process(rank, node, socket, ended, begin_ns, end_ns) VALUES ({rank}, {rank % 8}, 0, 'finalize', 0, 1000000000);"
                    f"INSERT INTO communicator_member VALUES (0, {rank}, {rank});")
    for number, (src, dst, size) in enumerate(MESSAGES):
        at = 1000 * number
        level = "intra_socket" if src % 8 == dst % 8 else "inter_node"
        rows.append(f"INSERT INTO message VALUES ({number + 1}, {src}, {dst}, 0, 0, {size}, '{level}', NULL, {at}, {at + 500}, {at}, {at + 500}, "
                    f"{size}, 'MPI_Isend', 'MPI_Irecv', 0, 0, NULL, NULL, NULL, NULL, 0);")
    rows.append("UPDATE message_row SET send_call_ns = 500, recv_call_ns = 500; UPDATE form SET send_completed = 1, recv_completed = 1;")
    return database(path, "".join(rows))


def distances(text):
    lines = text.split("between nodes, by the lowest switch above both:\n")
    return [line.split()[:-2] for line in lines[1].split("switches with most")[0].splitlines()] if len(lines) > 1 else None


def check_tree(folder):
    conf = folder / "topology.conf"
    conf.write_bytes(CONF.encode())
    told, plain = make(folder / "told.db", True), make(folder / "plain.db", False)
    # Worked by hand: 100 + 10 within s1; 1000 + 2000 between s1 and s2; 500000 + 300000 within s3; 40000 and 6000000 over top.
    expected = {"same switch": (4, 800110), "1 level up": (2, 3000), "2 levels up": (2, 6040000)}
    code, out, err = run("report", plain, "--json", "--topology", conf)
    found = json.loads(out) if code == 0 else {"distances": [], "switches": []}
    check("report: distances", {d["distance"]: (d["messages"], d["bytes"]) for d in found["distances"]} == expected, out[:300] + err)
    check("report: shares are of all bytes", abs(sum(d["share"] for d in found["distances"]) - 6843110 / 6843117) < 1e-6, found["distances"])
    check("report: most a rank", [d["max_messages"] for d in found["distances"]] == [1, 1, 1], found["distances"])
    # switch: level, nodes, ranks, within, up, down
    switches = {"s1": (1, 3, 4, 2, 110, 1, 1000, 2, 6002000), "s2": (1, 2, 2, 0, 0, 2, 42000, 1, 1000),
                "s3": (1, 3, 3, 2, 800000, 1, 6000000, 1, 40000), "mid": (2, 5, 6, 4, 3110, 1, 40000, 1, 6000000),
                "top": (3, 8, 9, 8, 6843110, 0, 0, 0, 0)}
    check("report: switches", {s["switch"]: (s["level"], s["nodes"], s["ranks"], s["within_bytes"], s["up_bytes"], s["down_bytes"])
                               for s in found["switches"]} ==
          {name: (v[0], v[1], v[2], v[4], v[6], v[8]) for name, v in switches.items()}, found["switches"])
    code, out, err = run("query", plain, "switches", "--json", "--topology", conf)
    rows = {row["switch"]: tuple(row[key] for key in list(row)[1:]) for row in json.loads(out or "[]")}
    check("query switches", code == 0 and rows == switches, out + err)
    for command in (("query", "switches"), ("report", "--section", "levels")):
        by_file = run(command[0], plain, *command[1:], "--topology", conf)
        by_trace = run(command[0], told, *command[1:])
        check(f"{command[0]}: the environment and the file say the same", by_file[:2] == by_trace[:2] and by_file[0] == 0 and
              "s3" in by_file[1], by_file[1] + by_trace[1] + by_file[2] + by_trace[2])
    text = run("report", told, "--section", "levels")[1]
    check("text: distances", "  1 level up          2            1  3.00 kB   0.0 %\n" in text, text)
    silent = run("report", plain, "--section", "levels")
    check("without switches nothing is said of them", silent[0] == 0 and "switch" not in silent[1], silent)
    check("query without switches", run("query", plain, "switches", "--format", "csv")[1].count("\n") == 1, "")
    code, out, _ = run("query", told, "switches", "--json", "--from", "0", "--to", "0.0000035")
    part = {row["switch"]: row["within_bytes"] for row in json.loads(out or "[]")}
    check("of a part of the run", code == 0 and (part["s1"], part["mid"], part["s3"]) == (110, 1110, 0), part)
    for name in ("report", "query"):
        out = run(name, told, *(["switches"] if name == "query" else ["--section", "levels"]), "--topology", "fat-tree-64")[1]
        check(f"{name}: a shipped topology in place of the recorded switches", "switch 1.0" in out and "s3" not in out, out)
    old = make(folder / "old.db", False)  # as written before there was such a table
    made = __import__("sqlite3").connect(old)
    made.execute("DROP TABLE node_switch")
    made.commit()
    made.close()
    for words in ((), ("--topology", conf)):
        done = run("query", old, "switches", "--format", "csv", *words)
        check("a trace without the table", done[0] == 0 and done[1].count("\n") == (6 if words else 1), done)
        check("report of a trace without the table", run("report", old, *words)[0] == 0, "")
    return plain, conf


def check_predict(folder, plain, conf):
    machine = folder / "m.tbl"
    machine.write_text("name m\nsource by hand\nany any delta - 1e-9 s/B\n" + "".join(
        f"{level} any tau - 1e-6 s\n{level} any bw 1 1e9 B/s\n" for level in ("self", "intra_socket", "inter_socket", "inter_node")))
    pattern, places = folder / "p.csv", folder / "l.csv"
    pattern.write_text("src,dst,bytes\n" + "".join(f"{src % 8},{dst % 8},{size}\n" for src, dst, size in MESSAGES[1:]))
    places.write_text("rank,node,socket\n" + "".join(f"{rank},{rank},0\n" for rank in range(8)))
    words = ("--pattern", pattern, "--placement", places, "--machine", machine, "--model", "postal+contention", "--json")
    code, out, err = run("predict", *words, "--topology", conf)
    check("predict: pattern", code == 0, err)
    # Loads of links by hand: s1 up 1000, down 6002000; mid up 40000, down 6000000; s2 up 42000, down 1000; s3 up 6000000, down
    # 40000. A rank pays for the most loaded link on the way of its own messages, those that it sends and gets.
    load = {0: 6002000, 1: 0, 2: 6002000, 3: 6002000, 4: 42000, 5: 42000, 6: 0, 7: 6002000}
    found = {row["rank"]: row["link_s"] * 1e9 for row in json.loads(out)} if code == 0 else {}
    check("predict: load of links", all(abs(found.get(rank, -1) - load[rank]) < 1 for rank in load), found)
    code, out, err = run("predict", plain, "--machine", machine, "--model", "postal+contention", "--topology", conf)
    check("predict: hosts of a trace", code == 0 and "postal+contention" in out, out + err)
    short = folder / "short.conf"
    short.write_text("SwitchName=s1 Nodes=n[0-6]\n")
    code, out, err = run("predict", plain, "--machine", machine, "--model", "postal+contention", "--topology", short)
    check("predict: a node that no switch has", code == 1 and "node 'n1'" not in err and "node 'n02' is at no switch of 'short.conf'" in err, err)
    code, out, err = run("query", plain, "switches", "--topology", short)
    check("query: nodes that no switch has", code == 0 and "2 of 8 nodes" in err and "(n02, ...)" in err, err)
    code, out, err = run("report", plain, "--section", "levels", "--topology", short)
    check("report: nodes that no switch has", code == 0 and "unknown" in out, out + err)
    apart = folder / "apart.conf"
    apart.write_text("SwitchName=a Nodes=n[0-1],n02\nSwitchName=b Nodes=n[3-7]\n")
    code, out, err = run("report", plain, "--section", "levels", "--topology", apart)
    check("two trees", code == 0 and "no common switch" in out, out + err)
    code, out, err = run("predict", plain, "--machine", machine, "--model", "postal+contention", "--topology", apart)
    check("predict: two trees", code == 1 and "'apart.conf' has no switch above both node" in err, err)


WRONG = [  # file, its line, what is said of it
    ("SwitchName=s1 Nodes=n[1-3\n", 1, "'[' without ']'"),
    ("SwitchName=s1 Nodes=n1-3]\n", 1, "']' without '['"),
    ("\nSwitchName=s1 Nodes=n[3-1]\n", 2, "'3-1', expected a range from the smaller number"),
    ("SwitchName=s1 Nodes=n[1-a]\n", 1, "'[1-a]', expected numbers and ranges"),
    ("SwitchName=s1 Nodes=n[]\n", 1, "'[]', expected numbers"),
    ("SwitchName=s1 Nodes=n[1,]\n", 1, "expected numbers"),
    ("SwitchName=s1 Nodes=n1,,n2\n", 1, "an empty name"),
    ("SwitchName=s1 Nodes=n[1-99999999]\n", 1, "more than 1048576 nodes"),
    ("SwitchName=s1 Nodes=" + "n" * 300 + "\n", 1, "a name of more than 255 bytes"),
    ("SwitchName=s1\n", 1, "switch 's1' with nothing below it"),
    ("SwitchName=s1 Nodes=n1 Switches=s2\n", 1, "both Nodes and Switches"),
    ("SwitchName=s[1-2] Nodes=n1\n", 1, "expected the name of one switch"),
    ("Nodes=n1\n", 1, "no SwitchName="),
    ("SwitchName=s1 Nodes=n1 Nodes=n2\n", 1, "a second Nodes="),
    ("SwitchName=s1 Nodes=n1\nSwitchName=s1 Nodes=n2\n", 2, "switch 's1' a second time, line 1 has it already"),
    ("SwitchName=s1 Nodes=n1\nSwitchName=t Switches=s1,s2\n", 2, "switch 's2' has no line of its own"),
    ("SwitchName=s1 Nodes=n1\nSwitchName=a Switches=b\nSwitchName=b Switches=a\n", 2, "is below itself"),
    ("SwitchName=s1 Nodes=n1\nSwitchName=s2 \\\nNodes=n2 Colour=red\n", 3, "'Colour', expected SwitchName, Nodes"),
    ("SwitchName=s1 Nodes\n", 1, "'Nodes', expected KEY=VALUE"),
    ("SwitchName=s1 Nodes=\n", 1, "Nodes= without a value"),
    ('SwitchName=s1 Nodes="n1\n', 1, "without the second quotation mark"),
    ("BlockName=b1 Nodes=n1\n", 1, "'BlockName', expected SwitchName"),
    ("SwitchName=s1 Nodes=n1\nSwitchName=s2 Nodes=n2 \\", 2, "ends behind '\\'"),
    ("SwitchName=s1 Nodes=n1\0\n", 1, "a zero byte"),
]


def check_wrong(folder, plain):
    wrong = folder / "wrong.conf"
    for text, line, reason in WRONG:
        wrong.write_bytes(text.encode())
        for words in (("report", plain), ("query", plain, "switches"), ("predict", plain, "--machine", "toy", "--model", "postal+contention")):
            code, out, err = run(*words, "--topology", wrong)
            check(f"{words[0]} of {text!r}", code == 1 and out == "" and f"{wrong}:{line}: " in err and reason in err, (code, out[:200], err))
    other = folder / "other.conf"
    other.write_text("SwitchName=s1 Nodes=m[1-9]\n")
    code, _, err = run("report", plain, "--topology", other)
    check("no node has a place", code == 1 and "none of the 8 nodes" in err and "(n0, ...)" in err, (code, err))
    code, _, err = run("report", plain, "--topology", "two-switches")
    check("a list of routes has no switches", code == 1 and "has no switches" in err, err)
    code, _, err = run("query", plain, "switches", "--topology", folder / "none.conf")
    check("no such file", code == 1 and "none.conf: cannot be opened" in err, err)
    code, _, err = run("report", plain, plain, "--topology", other)
    check("several traces", code == 2 and "expected only one trace" in err, err)
    twice = folder / "twice.conf"
    twice.write_text("SwitchName=s1 Nodes=n[0-7],n02\nSwitchName=s2 Nodes=n[0-3]\nSwitchName=t1 Switches=s[1-2]\nSwitchName=t2 Switches=s[1-2]\n")
    code, out, err = run("query", plain, "switches", "--format", "csv", "--topology", twice)
    check("several ways up", code == 0 and "6 nodes or switches are attached to several" in err and out.splitlines()[1].startswith("s1,1,8,"), out + err)


with tempfile.TemporaryDirectory() as name:
    os.chdir(name)
    trace, file = check_tree(pathlib.Path(name))
    check_predict(pathlib.Path(name), trace, file)
    check_wrong(pathlib.Path(name), trace)
raise SystemExit(made_trace.failures > 0)
