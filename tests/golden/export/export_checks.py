"""What exports must hold, whatever the trace: the rules of the formats as they are documented, and every message and call of the
trace, once and with its times to the ns. Checks raise Wrong.

Trace events: "Trace Event Format" of the Chrome project, as Perfetto reads it. OTF2: its own reader, package python3-otf2.
"""
import bisect
import collections
import csv
import functools
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import types
from fractions import Fraction

CALLS = "SELECT rank, function, begin_ns, end_ns FROM call"
MESSAGES = """SELECT id, src, dst, comm, tag, bytes, send_post_ns, send_complete_ns, recv_post_ns, recv_complete_ns, send_function,
              recv_function FROM message"""
METADATA = {"process_name": ("name", str), "process_labels": ("labels", str), "process_sort_index": ("sort_index", int),
            "thread_name": ("name", str), "thread_sort_index": ("sort_index", int)}
BLOCKING = re.compile(r"MPI_([SBR]?send|Ssend|Recv|Sendrecv|Sendrecv_replace)(_c)?$", re.IGNORECASE)


class Wrong(Exception):
    pass


def need(good, *what):
    if not good:
        raise Wrong(" ".join(map(str, what)))


def same(what, found, expected):
    """Compares multisets."""
    found, expected = collections.Counter(found), collections.Counter(expected)
    more, less = list((found - expected).items())[:3], list((expected - found).items())[:3]
    need(not more and not less, f"{what}: too many: {more}; missing: {less}")


def rows(database, sql):
    connection = sqlite3.connect(f"file:{database}?immutable=1", uri=True)
    connection.text_factory = lambda text: text.decode(errors="replace")
    found = list(connection.execute(sql))
    connection.close()
    return found


def ns(event, key):
    """A time of an event, which is written in us with the ns behind the point."""
    need(isinstance(event.get(key), Fraction), key, "of", event, "is no number of us")
    value = event[key] * 1000
    need(value.denominator == 1, key, "of", event, "is no whole number of ns")
    return int(value)


def check_event(event):
    """The fields that each kind of event must have."""
    phase = event.get("ph")
    need(phase in ("X", "M", "s", "f", "C", "i"), "phase of", event)
    need(isinstance(event.get("name"), str) and event["name"], "name of", event)
    need(isinstance(event.get("pid"), int) and event["pid"] > 0, "pid of", event)
    if phase == "M":
        key, kind = METADATA[event["name"]]
        need(isinstance(event["args"].get(key), kind), "args of", event)
        need(("tid" in event) == event["name"].startswith("thread"), "tid of", event)
        return
    ns(event, "ts")
    need(phase == "C" or (isinstance(event.get("tid"), int) and event["tid"] > 0), "tid of", event)
    if phase == "X":
        need(ns(event, "dur") >= 0, "dur of", event)
        need(isinstance(event.get("cat"), str) and isinstance(event["args"], dict), "cat or args of", event)
    elif phase in "sf":
        need(isinstance(event.get("id"), int) and isinstance(event.get("cat"), str), "id or cat of", event)
        need((event.get("bp") == "e") == (phase == "f"), "bp of", event)
    elif phase == "C":
        need(all(isinstance(value, int) and value >= 0 for value in event["args"].values()), "args of", event)
    else:
        need(event.get("s") in ("g", "p", "t"), "scope of", event)


def check_nesting(slices):
    """Slices of a thread lie one behind the other, or within each other."""
    for thread, spans in slices.items():
        open_ends = []
        for begin, minus_length in sorted((begin, begin - end) for begin, end in spans):
            end = begin - minus_length
            while open_ends and open_ends[-1] <= begin:
                open_ends.pop()
            need(not open_ends or end <= open_ends[-1], "slices of thread", thread, "overlap at", begin, "ns")
            open_ends.append(end)


def within(spans, at):
    """Says whether a time lies in one of the spans, whose begins are sorted and which seldom nest."""
    last = bisect.bisect_right(spans, (at, float("inf")))
    return any(begin <= at <= end for begin, end in spans[max(0, last - 20):last])


def read_perfetto(path):
    return json.loads(pathlib.Path(path).read_text(encoding="utf-8"), parse_float=Fraction,
                      object_pairs_hook=lambda pairs: unique(pairs))


def unique(pairs):
    need(len(dict(pairs)) == len(pairs), "a key twice:", pairs)
    return dict(pairs)


def check_perfetto(path, database=None, calls=True, recorded=False):
    """database: a trace of which all is exported; calls: it has calls; recorded: by a job, where every message is received in a
    call."""
    document = read_perfetto(path)
    need(document["displayTimeUnit"] in ("ms", "ns"), "displayTimeUnit")
    slices, flows, threads = collections.defaultdict(list), {"s": {}, "f": {}}, {}
    found_calls, entered = [], []
    for event in document["traceEvents"]:
        check_event(event)
        if event["name"] == "thread_name":
            need(event["tid"] not in threads, "thread", event["tid"], "is named twice")
            threads[event["tid"]] = event["pid"]
        if event["ph"] == "M":
            continue
        need("tid" not in event or threads.get(event["tid"]) == event["pid"], "thread without a name:", event)
        at = ns(event, "ts")
        if event["ph"] == "X":
            end = at + ns(event, "dur")
            slices[event["tid"]].append((at, end))
            if event["args"].get("returned", True) and "length" not in event["args"]:
                found_calls.append((event["pid"] - 1, event["name"], at, end))
            else:
                entered.append((event["pid"] - 1, event["name"], at))
        elif event["ph"] in "sf":
            need(event["id"] not in flows[event["ph"]], "flow", event["id"], "twice")
            flows[event["ph"]][event["id"]] = (event["pid"] - 1, event["tid"], at)
    for spans in slices.values():
        spans.sort()
    check_nesting(slices)
    need(flows["s"].keys() == flows["f"].keys(), "flows without their other end")
    for kind in "sf" if recorded else "s":
        for _, thread, at in flows[kind].values():
            need(within(slices[thread], at), "flow at", at, "ns is outside of the slices of thread", thread)
    if database is not None:
        expected = rows(database, MESSAGES)
        same("flows", [(i, src[0], src[2], flows["f"][i][0], flows["f"][i][2]) for i, src in flows["s"].items()],
             [(row[0], row[1], row[6], row[2], row[9]) for row in expected if row[9] is not None])
        if calls:
            stored = rows(database, CALLS)
            never = collections.Counter(entered)
            for call in [call for call in stored if never[call[:3]] > 0 and call[2] == call[3]]:
                never[call[:3]] -= 1
                stored.remove(call)
            same("calls", found_calls, stored)
    return document


def check_csv(path, database=None):
    with open(path, newline="", encoding="utf-8", errors="surrogateescape") as file:
        table = list(csv.DictReader(file))
    for row in table:
        need(None not in row and None not in row.values(), "row of another width:", row)
    if database is not None:
        number = lambda text: int(text) if text else None
        columns = ["rank", "peer", "communicator", "tag", "bytes", "begin_ns", "complete_ns", "peer_begin_ns", "peer_complete_ns"]
        same("messages in CSV", [(number(row["id"]), *(number(row[name]) for name in columns), row["function"], row["peer_function"])
                                 for row in table if row["what"] == "message"], rows(database, MESSAGES))
        same("calls in CSV", [(int(row["rank"]), row["function"], int(row["begin_ns"]), int(row["end_ns"]))
                              for row in table if row["what"] == "call"], rows(database, CALLS))
        for what, source in {"collective": "collective", "one-sided": "rma", "file": "file_call"}.items():
            same(what + " in CSV", [(int(row["id"]), int(row["rank"]), int(row["begin_ns"])) for row in table if row["what"] == what],
                 rows(database, f"SELECT id, rank, begin_ns FROM {source}"))
    return table


def check_dot(path, database=None):
    """Graphviz reads it, where it is installed; the edges' sums are the traffic."""
    text = pathlib.Path(path).read_text(encoding="utf-8")
    edges = re.findall(r"g(\d+) -> g(\d+) \[.*bytes=(\d+), messages=(\d+)\]", text)
    if shutil.which("dot"):
        done = subprocess.run(["dot", "-Tplain", path], capture_output=True, text=True, timeout=120)
        need(done.returncode == 0 and not done.stderr, "dot:", done.returncode, done.stderr)
        need(len(re.findall(r"^edge ", done.stdout, re.MULTILINE)) == len(edges), "edges of", path)
    if database is not None:
        same("traffic", [(int(edge[3]), int(edge[2])) for edge in edges],
             [row[:2] for row in rows(database, "SELECT count(*), sum(bytes), src, dst FROM message GROUP BY src, dst")])
    return text


def python3_otf2(*arguments):
    """Runs read_archive.py, which says why not in this process."""
    return subprocess.run([sys.executable, "-S", pathlib.Path(__file__).with_name("read_archive.py"), *arguments],
                          capture_output=True, text=True, timeout=120, env=os.environ | {"MALLOC_PERTURB_": "0"})


@functools.cache
def has_python3_otf2():
    return python3_otf2().returncode != 77


class Archive:
    """What python3-otf2 reads: (rank, thread, ns, kind, event) of all locations."""

    def __init__(self, folder):
        done = python3_otf2(pathlib.Path(folder) / "traces.otf2")
        need(done.returncode == 0, "python3-otf2:", done.returncode, done.stderr)
        lines = done.stdout.splitlines()
        self.resolution = int(lines[0])
        self.events = []
        for group, thread, at, kind, fields in map(json.loads, lines[1:]):
            need(thread.startswith(group), "location", thread, "in", group)
            self.events.append((int(group.removeprefix("rank ")), thread, at, kind, types.SimpleNamespace(**fields)))

    def of(self, *kinds):
        return [entry for entry in self.events if entry[3] in kinds]


def members(database):
    """The rank that a rank of MPI_COMM_WORLD has in a communicator of OTF2; both groups of an intercommunicator are one."""
    found = collections.defaultdict(list)
    for comm, world_rank in rows(database, "SELECT communicator, world_rank FROM communicator_member ORDER BY communicator, rank"):
        found[comm].append(world_rank)
    remote = dict(rows(database, "SELECT id, remote FROM communicator WHERE remote IS NOT NULL"))

    def rank_in(comm, world_rank):
        both = sorted({comm, remote.get(comm, comm)})
        ranks = [rank for group in both for rank in found[group]]
        return ranks.index(world_rank) if world_rank in ranks else world_rank
    return rank_in


def check_requests(archive):
    """Every request is posted once, completed at most once, later, and by its own rank."""
    posted, completed = {}, {}
    for rank, _, at, kind, event in archive.of("MpiIsend", "MpiIrecvRequest", "NonBlockingCollectiveRequest"):
        need(event.request_id not in posted, "request", event.request_id, "is posted twice")
        posted[event.request_id] = (rank, at, kind)
    ends = {"MpiIsendComplete": "MpiIsend", "MpiIrecv": "MpiIrecvRequest",
            "NonBlockingCollectiveComplete": "NonBlockingCollectiveRequest"}
    for rank, _, at, kind, event in archive.of(*ends):
        need(event.request_id not in completed, "request", event.request_id, "is complete twice")
        completed[event.request_id] = True
        need(event.request_id in posted, kind, "of a request that nobody posted")
        need(posted[event.request_id][0] == rank and posted[event.request_id][1] <= at and posted[event.request_id][2] == ends[kind],
             kind, "does not fit", posted[event.request_id])


def check_order(archive):
    last, stacks = {}, collections.defaultdict(list)
    for rank, thread, at, kind, event in archive.events:
        need(at >= last.get(thread, 0), kind, "of", thread, "goes back in time")
        last[thread] = at
        if kind == "Enter":
            stacks[thread].append(event.region)
        elif kind == "Leave":
            need(stacks[thread] and stacks[thread].pop() == event.region, thread, "leaves a region that it is not in")
    need(not any(stacks.values()), "a region that nobody leaves")


def check_otf2(folder, database=None, calls=True):
    """Returns the archive, None where python3-otf2 is not installed."""
    if database is not None and calls and shutil.which("otf2-print"):
        # It takes a second, however few events there are: once for each trace is enough.
        for what in [], ["-G"]:
            done = subprocess.run(["otf2-print", *what, str(pathlib.Path(folder) / "traces.otf2")], capture_output=True, text=True,
                                  errors="replace", timeout=120)
            need(done.returncode == 0 and not done.stderr, "otf2-print", *what, done.returncode, done.stderr[:500])
    if not has_python3_otf2():
        return None
    archive = Archive(folder)
    need(archive.resolution == 1000000000, "ticks a second:", archive.resolution)
    check_order(archive)
    check_requests(archive)
    if database is None:
        return archive
    expected, rank_in = rows(database, MESSAGES), members(database)
    base = min([0] + [row[6] for row in expected] + [row[8] for row in expected] + [row[2] for row in rows(database, CALLS)])
    same("sends in OTF2", [(rank, event.receiver, event.msg_tag, event.msg_length, at + base, kind)
                           for rank, _, at, kind, event in archive.of("MpiSend", "MpiIsend")],
         [(row[1], rank_in(row[3], row[2]), row[4] % 2**32, row[5], row[6], "MpiSend" if BLOCKING.match(row[10]) else "MpiIsend")
          for row in expected])
    same("receives in OTF2", [(rank, event.sender, event.msg_tag, event.msg_length, at + base, kind)
                              for rank, _, at, kind, event in archive.of("MpiRecv", "MpiIrecv")],
         [(row[2], rank_in(row[3], row[1]), row[4] % 2**32, row[5], row[9], "MpiRecv" if BLOCKING.match(row[11]) else "MpiIrecv")
          for row in expected if row[9] is not None])
    same("ends of sends in OTF2", [(rank, at + base) for rank, _, at, _, _ in archive.of("MpiIsendComplete")],
         [(row[1], row[7]) for row in expected if row[7] is not None and not BLOCKING.match(row[10])])
    if calls:
        same("calls in OTF2", [(rank, event.region, at + base) for rank, _, at, _, event in archive.of("Enter")
                               if event.region != "application"], [row[:3] for row in rows(database, CALLS)])
    return archive
