"""Malformed topologies given to `mpistair predict`: exit code and message of each, and no crash on what is cut off.

usage: test_topology_malformed.py MPISTAIR
"""
import os
import subprocess
import sys
import tempfile

MPISTAIR = os.path.abspath(sys.argv[1])
TORUS = b"name t\ntopology torus\ndimensions 4 2\nnodes_per_router 2\n"
TREE = b"name t\ntopology fat-tree\nchildren 4 4\nparents 1 2\n"
FLY = b"name t\ntopology dragonfly\ngroups 3\nrouters 2\nglobal_links 1\n"
LIST = b"name t\ntopology links\nroute 0 1 0 1\nroute 1 0 2\nnode 0 0\nnode 1 1\n"

# content, in the message (None: it is well)
FILES = [
    (TORUS, None), (TREE, None), (FLY, None), (LIST, None),
    (TORUS.replace(b"\n", b"\r\n") + b"  # comment\n\n", None),
    (b"", "t.topo: no line `name N`, not a topology"),
    (b"name t\n", "t.topo: expected a line `dimensions K ...`"),
    (b"name t u\n", "t.topo:1: expected one line `name N`"),
    (b"name t\nname t\n", "t.topo:2: expected one line `name N`"),
    (b"name " + b"x" * 64 + b"\n", "t.topo:1: expected one line `name N`"),
    (b"name a,b\n", "t.topo:1: expected one line `name N`"),
    (b"name t\ndimensions 4\n", "t.topo:2: 'dimensions' before a line `topology"),
    (b"name t\ntopology hypercube\n", "t.topo:2: topology 'hypercube', expected torus, mesh"),
    (b"name t\ntopology\n", "t.topo:2: topology '', expected"),
    (TORUS + b"topology torus\n", "t.topo:5: a second line `topology`"),
    (TORUS + b"groups 4\n", "t.topo:5: 'groups' is not a parameter of a topology torus"),
    (TORUS + b"dimensions 4\n", "t.topo:5: a second line `dimensions`"),
    (TORUS + b"nodes_per_router 2\n", "t.topo:5: a second line `nodes_per_router`"),
    (TORUS.replace(b"4 2", b""), "t.topo:3: dimensions without a number"),
    (TORUS.replace(b"4 2", b"4 0"), "t.topo:3: dimensions 0, expected 1 to"),
    (TORUS.replace(b"4 2", b"4 -2"), "t.topo:3: dimensions '-2' is not"),
    (TORUS.replace(b"4 2", b"4 nan"), "t.topo:3: dimensions 'nan' is not"),
    (TORUS.replace(b"4 2", b"4 99999999999999999999"), "t.topo:3: dimensions '99999999999999999999' is too large"),
    (TORUS.replace(b"4 2", b"1 " * 9), "t.topo:3: dimensions: more than 8 numbers"),
    (TORUS.replace(b"4 2", b"1048576 1048576 1048576 1048576"), "t.topo: more than 1048576 positions"),
    (TORUS.replace(b"router 2", b"router 2 2"), "t.topo:4: expected one number behind nodes_per_router"),
    (TREE.replace(b"1 2", b"1"), "t.topo: expected lines `children K ...` and `parents K ...` with a number a level"),
    (TREE.replace(b"1 2", b"1 2 2"), "t.topo: expected lines `children K ...` and `parents K ...` with a number a level"),
    (TREE.replace(b"1 2", b"1048576 1048576"), "or 16777216 links"),
    (FLY.replace(b"groups 3", b"groups 4"), "t.topo: 2 routers with 1 global links reach 2 groups, not the other 3"),
    (FLY.replace(b"groups 3\n", b""), "t.topo: expected lines `groups K`"),
    (FLY.replace(b"routers 2", b"routers 1048576"), "or 16777216 links"),
    (b"name t\ntopology links\n", "t.topo: no routes"),
    (LIST + b"route 0 1 5\n", "t.topo: the route from position 0 to 1 appears twice"),
    (LIST + b"route 1 1\n", "t.topo:7: a route from position 1 to itself"),
    (LIST + b"route 1\n", "t.topo:7: expected `route FROM TO [LINK ...]`"),
    (LIST + b"route 1 2 -1\n", "t.topo:7: link '-1' is not"),
    (LIST + b"route 1 2 16777216\n", "t.topo:7: link 16777216, expected 0 to 16777215"),
    (LIST + b"route 1048576 2\n", "t.topo:7: position 1048576, expected 0 to 1048575"),
    (LIST + b"node 1\n", "t.topo:7: expected `node NODE POSITION`"),
    (LIST + b"node 1 0\n", "t.topo: node 1 appears twice"),
    (LIST + b"node 2 2\n", "t.topo: node 2 at position 2, but there are 2 positions"),
    (LIST.replace(b"node 1 1\n", b""), "node 1 has no place in topology 't' of 2 positions"),
    (LIST.replace(b"route 0 1 0 1\n", b""), "topology 't' has no route from position 0 to 1"),
    (LIST + b"\0", "t.topo:7: a zero byte"),
    (b"y" * 100000, "t.topo:1: a line of more than"),
    (None, "t.topo: cannot be opened: No such file"),
]

failures = []


def predict(content, folder):
    path = os.path.join(folder, "t.topo")
    if content is None:
        os.remove(path)
    else:
        with open(path, "wb") as file:
            file.write(content)
    return subprocess.run(
        [MPISTAIR, "predict", "--pattern", "p.csv", "--placement", "l.csv", "--machine", "blue-waters", "--model",
         "postal+contention", "--topology", "t.topo", "--format", "csv"],
        cwd=folder, capture_output=True, text=True, timeout=60)


with tempfile.TemporaryDirectory() as folder:
    for name, content in (("p.csv", "src,dst,bytes\n0,1,8000\n"), ("l.csv", "rank,node,socket\n0,0,0\n1,1,0\n")):
        with open(os.path.join(folder, name), "w") as file:
            file.write(content)
    for content, message in FILES:
        done = predict(content, folder)
        good = done.returncode == 0 and done.stderr == "" if message is None else (
            done.returncode == 1 and message in done.stderr and done.stdout == "" and done.stderr.count("\n") == 1)
        if not good:
            failures.append(f"{content and content[:80]}: exit {done.returncode}: {done.stderr}")
print("\n".join(failures) or f"topologies: {len(FILES)}: ok")
sys.exit(1 if failures else 0)
