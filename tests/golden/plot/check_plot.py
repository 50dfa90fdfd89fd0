"""machine show --plot: a chart for each kind of samples, whose points, axes and units are those of table and samples, whatever text
the table has, and reasons where no chart can be made. predict --memory --plot: a chart for each placement.

Usage: check_plot.py MPISTAIR BUILT_SHARE; skipped (77) where the chart library was not there for the build.
"""
import math
import os
import pathlib
import subprocess
import sys
import tempfile

from charts import Page

MPISTAIR, BUILT_SHARE = map(os.path.abspath, sys.argv[1:])
NO_LIBRARY = str(pathlib.Path(__file__).resolve().parents[3] / "share")  # which the build has beside it
HEADER = "benchmark,variant,level,bytes,n,count,seconds,launch,ranks,domain,repeats,at_s"
TABLE = """name here
source {source}
intra_socket eager tau - 1e-6 s
intra_socket eager bw 1 2e9 B/s #: 1.9e9 2.1e9 9 relative-median
intra_socket eager bw 4 5e9 B/s #: 4e9 - 9 relative-median-flat
intra_socket rendezvous threshold - 4096 B #: - - - mpi_t
intra_socket rendezvous tau - 2e-6 s
intra_socket rendezvous bw 1 4e9 B/s
intra_socket rendezvous bw 4 8e9 B/s
"""
OTHER_ROWS = """any any queue_step 1024 6e-9 s #: 5e-9 7e-9 9 reversed-inorder
any any queue_step_unexpected 1024 1e-8 s
inter_node any delta - 2.1e-8 s/B
inter_node rendezvous injection - 4.8e7 B/s
inter_node any buffer - 1000000 B #: 900000 1100000 9 boundary
self any tau - 3e-7 s
self any bw 1 5e9 B/s
"""
# Title of a chart, and samples that bring it; those with ONLY need rows of all.tbl besides.
CHARTS = {
    "self: time over size": ["self,,self,{size},1,1,{time},1,0,,1,0.1"],
    "intra_socket: time over size": ["pingpong,,intra_socket,{size},1,1,{time},1,0-1,,1,0.1",
                                     "algorithm1,,intra_socket,{size},4,1,{time},1,a,,1,0.1"],
    "intra_socket: bandwidth of n processes, BW(n)": [],
    "inter_socket: ping-pong, by what a pair shares": ["pingpong,,inter_socket,{size},1,1,{time},1,0-1,l3,1,0.1",
                                                       "pingpong,,inter_socket,{size},1,1,{time},1,0-2,numa,1,0.1"],
    "inter_node: rate at which a node sends, n processes": ["injection,,inter_node,{size},2,1,{time},1,a,,1,0.1"],
    "intra_socket: search of the receive queues": ["queue,posted_reversed,intra_socket,8,{size},1,{time},1,a,,1,0.1",
                                                   "queue,unexpected_inorder,intra_socket,8,{size},1,{time},1,a,,1,0.1"],
    "inter_node: a link shared by pairs of nodes": ["contention,shared,inter_node,{size},2,4,{time},1,a,,1,0.1",
                                                    "contention,alone,inter_node,{size},1,4,{time},1,a,,1,0.1"],
    "Sizes taken or refused without the receiver": ["eager,taken,intra_socket,{size},1,1,{time},1,a,,1,0.1",
                                                    "buffer,refused,inter_node,{size},1,1,{time},1,a,,1,0.1"],
}
# Charts that come with those of some samples.
BESIDES = {"intra_socket: time over size": {"intra_socket: medians against the table"},
           "inter_socket: ping-pong, by what a pair shares": {"inter_socket: time over size"}}
OF_ALL_TABLE = {"self: medians against the table", "Search of the receive queues: a step"}
ALWAYS = {"intra_socket: time over size", "intra_socket: bandwidth of n processes, BW(n)"}
SIZES = 1, 64, 4096, 262144
failures = []


def expect(what, condition):
    if not condition:
        failures.append(what)


def run(*words, code=0, says="", share=None):
    """Runs `mpistair WORDS`; says: part of standard error. Nothing may be left beside the page."""
    environment = dict(os.environ, MPISTAIR_SHARE=share) if share is not None else None
    done = subprocess.run([MPISTAIR, *words], capture_output=True, text=True, errors="replace", timeout=120, env=environment)
    if done.returncode != code or says not in done.stderr:
        failures.append(f"{' '.join(words)}: exit {done.returncode}, expected {code}; stderr {done.stderr!r}")
    left = [name for name in os.listdir(".") if ".html." in name]
    expect(f"left behind by {' '.join(words)}: {left}", not left)
    return done.stdout


def show(*words, **expected):
    return run("machine", "show", *words, **expected)


def memory(machine, *words, **expected):
    return run("predict", "--memory", "--machine", machine, *words, **expected)


def time_of(size):
    """The median of the samples of a size."""
    return 1.1e-6 + size / 3e9


def samples(templates):
    return [template.format(size=size, time=repr(1e-6 * factor + size / 3e9))
            for template in templates for size in SIZES for factor in (1, 1.1, 2)]


def write(name, text):
    pathlib.Path(name).write_text(text)


def close(found, expected):
    return len(found) == len(expected) and all(math.isclose(a, b, rel_tol=1e-6) for row, wanted in zip(found, expected)
                                               for a, b in zip(row, wanted))


def check_series(page, title, name, expected, **style):
    """The points (x, y) of a series of a chart."""
    found = page.points(title, name, **style)
    expect(f"{title}, {name} {style}: {found}, expected {expected}", close(found, expected))


def check_panels():
    write("nothing.tbl", "name nothing\nsource a test\nany any gamma - 1e-9 s\n")
    write("lines.tbl", TABLE.format(source="a test"))
    write("all.tbl", TABLE.format(source="a test") + OTHER_ROWS)
    printed = show("./lines.tbl", "--plot", "lines.html")
    lines = Page("lines.html")
    expect("the table is printed too", "rendezvous" in printed)
    expect(f"without samples only lines: {lines.titles}", set(lines.titles) == ALWAYS)
    for title, templates in CHARTS.items():
        if templates:
            write("one.csv", "\n".join([HEADER, *samples(templates)]) + "\n")
            show("./lines.tbl", "--raw", "one.csv", "--plot", "one.html")
            drawn = set(Page("one.html").titles)
            expect(f"charts of the samples of '{title}': {sorted(drawn)}", drawn == ALWAYS | {title} | BESIDES.get(title, set()))
    rows = [row for templates in CHARTS.values() for row in samples(templates)]
    write("all.raw.csv", "\n".join([HEADER, *rows]) + "\n")
    show("./all.tbl", "--plot", "all.html")
    page = Page("all.html")
    expect(f"samples beside the table are found, all charts drawn: {page.titles}",
           set(page.titles) == set(CHARTS).union(OF_ALL_TABLE, *BESIDES.values()))
    expect("- is standard output", show("./all.tbl", "--plot", "-") == pathlib.Path("all.html").read_text())
    show("thunderx2", "--plot", "shipped.html")
    expect("a shipped machine", "inter_socket: bandwidth of n processes, BW(n)" in Page("shipped.html").titles)
    return page


def check_values(page):
    """Points, axes, units and thresholds against table and samples."""
    axes = {"intra_socket: time over size": ("size of a message", "B", "log", "time of a message", "s", "log"),
            "intra_socket: medians against the table": ("size of a message", "B", "log", "median / line", "", "log"),
            "intra_socket: bandwidth of n processes, BW(n)":
                ("processes at once, n", "", "linear", "all processes together", "B/s", "linear"),
            "Search of the receive queues: a step": ("messages, n", "", "log", "a step, c(n)", "s", "linear")}
    for title, expected in axes.items():
        found = tuple(page.values(title)[axis][key] for axis in "xy" for key in ("title", "unit", "type"))
        expect(f"axes of {title}: {found}", found == expected)
    medians = [(size, time_of(size)) for size in SIZES]
    title = "intra_socket: time over size"
    check_series(page, title, "n = 1, ping-pong", medians, pale=False, line=False)
    check_series(page, title, "n = 4", medians, pale=False, line=False)
    expect("samples", len(page.points(title, "n = 4", pale=True)) == 3 * len(SIZES))
    line = page.points(title, "n = 1, ping-pong", line=True)
    expect(f"the table's line: {line[0]}, {line[-1]}", close([line[0], line[-1]], [(1, 1e-6 + 1 / 2e9), (262144, 2e-6 + 262144 / 4e9)]))
    expect(f"thresholds: {page.rows(title, 'threshold')}", page.rows(title, "threshold") == [{"x": 4096, "text": "rendezvous from 4096 B"}])
    expect(f"x: {page.values(title)['xDomain']}", page.values(title)["xDomain"] == [1, 262144])
    line_of = {1: 1e-6 + 1 / 2e9, 64: 1e-6 + 64 / 2e9, 4096: 2e-6 + 4096 / 4e9, 262144: 2e-6 + 262144 / 4e9}
    check_series(page, "intra_socket: medians against the table", "n = 1, ping-pong",
                 [(size, time_of(size) / line_of[size]) for size in SIZES])
    check_series(page, "self: time over size", "n = 1, to itself", medians, pale=False, line=False)
    title = "intra_socket: bandwidth of n processes, BW(n)"
    check_series(page, title, "eager, measured", [(1, 2e9)])
    check_series(page, title, "eager, at least", [(4, 5e9)])
    check_series(page, title, "eager, max-rate", [(1, 2e9), (2.5, 5e9), (4, 5e9)])
    check_series(page, title, "rendezvous", [(1, 4e9), (4, 8e9)])
    found = [(row["low"], row["high"]) for row in page.series(title, "eager, measured")]
    expect(f"interval {found}", found == [(1.9e9, 2.1e9)])
    check_series(page, "inter_socket: ping-pong, by what a pair shares", "same L3", medians)
    check_series(page, "inter_node: rate at which a node sends, n processes", "4 KiB", [(2, 2 * 4096 / time_of(4096))])
    check_series(page, "inter_node: rate at which a node sends, n processes", "limit in the table", [(0, 4.8e7), (2, 4.8e7)])
    check_series(page, "intra_socket: search of the receive queues", "posted, reversed", medians, pale=False)
    check_series(page, "Search of the receive queues: a step", "c(n), posted", [(1024, 6e-9)])
    title = "inter_node: a link shared by pairs of nodes"
    check_series(page, title, "messages a process: 4", [(8 * size, time_of(size)) for size in SIZES], hollow=False)
    check_series(page, title, "messages a process: 4", [(4 * size, time_of(size)) for size in SIZES], hollow=True)
    check_series(page, title, "delta l, delta = 2.1e-08 s/B", [(4, 4 * 2.1e-8), (8 * 262144, 8 * 262144 * 2.1e-8)])
    title = "Sizes taken or refused without the receiver"
    rows = page.values(title)["rows"]
    expect(f"rows {rows}", sorted(rows) == ["inter_node, buffer", "intra_socket, eager"])
    buffer, eager = rows.index("inter_node, buffer"), rows.index("intra_socket, eager")
    check_series(page, title, "taken", [(size, eager + 0.18) for size in SIZES for _ in range(1)])
    check_series(page, title, "refused", [(size, buffer - 0.18) for size in SIZES])
    check_series(page, title, "in the table", sorted([(1e6, buffer), (4096, eager)], key=lambda point: point[1]), line=False)


def check_text():
    """A source may hold anything: it is text, not markup."""
    source = "it's <b> & \"q\" <script>bad</script> @x \\n {a_b} %s ü \x01 ]]>"
    write("odd.tbl", TABLE.format(source=source))
    show("./odd.tbl", "--plot", "odd.html")
    expect("the page holds the source", source.replace("\x01", "?") in Page("odd.html").text)
    expect("but no markup of it", "<script>bad" not in pathlib.Path("odd.html").read_text())
    pathlib.Path("latin.tbl").write_bytes(TABLE.format(source="a SOURCE").encode().replace(b"SOURCE", b"M\xfcnchen \xed\xa0\x80"))
    show("./latin.tbl", "--plot", "latin.html")
    expect("bytes that are no UTF-8", "M?nchen ???" in Page("latin.html").text)


def check_odd_samples():
    """Few, equal, empty and absurd samples: what can be drawn is, and nothing else."""
    every = ["pingpong", "algorithm1", "self", "injection", "queue", "contention", "buffer", "eager", "overhead", "progress", "burst", "backlog"]
    variants = ["", "posted_inorder", "unexpected_reversed", "alone", "shared", "taken", "refused", "send", "receiver", "both", "rested", "stream", "other", "own"]
    cases = {"one sample": [(8, 1, 1e-6)], "no bytes": [(0, 1, 1e-6), (0, 4, 2e-6)],
             "equal times": [(8, 1, 1e-6), (64, 2, 1e-6)], "one large": [(2**40, 1, 0.5)],
             "absurd": [(2**62, 1, 1e300), (8, 2**63, 1e-300), (8, 1, 1e10), (8, 1, 1e-6)]}
    for name, values in cases.items():
        rows = [f"{benchmark},{variant},inter_node,{size},{n},1,{time!r},1,a,,1,0"
                for benchmark in every for variant in variants for size, n, time in values]
        write("odd.csv", "\n".join([HEADER, *rows]) + "\n")
        show("./all.tbl", "--raw", "odd.csv", "--plot", "odd.html")
        page = Page("odd.html")
        expect(f"{name}: {page.titles}", "inter_node: search of the receive queues" in page.titles and ALWAYS <= set(page.titles))
        for title in page.titles:
            for axis in ("x", "y"):
                low, high = page.values(title)[axis + "Domain"]
                expect(f"{name}: {title}: {axis} from {low} to {high}",
                       low < high and (low > 0 or page.values(title)[axis]["type"] == "linear"))
    write("odd.csv", HEADER + "\npingpong,,inter_node,8,1,1,1e300,1,a,,1,0\n")
    show("./nothing.tbl", "--raw", "odd.csv", "--plot", "none.html", code=1, says="nothing to draw")


def check_failures():
    write("old.html", "before")
    write("bad.csv", HEADER + "\npingpong,,intra_socket,8,1,1,-1,1,a,,1,0.1\n")
    show("./lines.tbl", "--raw", "bad.csv", "--plot", "old.html", code=1, says="bad.csv:2")
    show("./lines.tbl", "--raw", "none.csv", "--plot", "old.html", code=1, says="none.csv")
    show("./lines.tbl", "--plot", "old.html", code=1, says="libjs-vega", share=NO_LIBRARY)
    show("./nothing.tbl", "--plot", "old.html", code=1, says="nothing to draw")
    expect("a failure leaves what was there", pathlib.Path("old.html").read_text() == "before")
    show("./lines.tbl", "--plot", "no/such/folder.html", code=1, says="no/such/folder.html")
    show("./lines.tbl", "--raw", "all.raw.csv", code=2, says="--plot")
    show("./lines.tbl", "--plot", code=2, says="--plot")
    show("./lines.tbl", "--plot", "lines.html")
    expect("an old page is replaced", pathlib.Path("lines.html").stat().st_mode & 0o777 == 0o666 & ~umask)


def placements(page):
    """What the titles of the charts say of the NUMA nodes, in the order of the page, and how often a table was made of one."""
    return ([tuple(int(word) for word in title.replace(":", "").split() if word.isdigit()) for title in page.titles],
            sum("made the table" in title for title in page.titles))


def of_memory(*words):
    memory(*words, "--plot", "memory.html")
    return Page("memory.html")


def memory_samples(nodes):
    rows = ["# memory cores 18", f"# memory numa_nodes {nodes // 2}", f"# memory numa_all {nodes}", "# memory method nic",
            "benchmark,variant,level,bytes,n,seconds,launch,computing_numa,message_numa,at_s"]
    for i in range(nodes):
        for j in range(nodes):
            rows += [f"memory_contention,{variant},inter_node,64000000,{n},{0.01 * time!r},1,{i},{j},0"
                     for variant in ("computation", "message") for n in (1, 9, 18) for time in range(1, 8)]
        rows += [f"memory_contention,computation_alone,inter_node,64000000,9,0.01,1,{i},,0",
                 f"memory_contention,message_alone,inter_node,64000000,0,0.01,1,,{i},0"]
    return "\n".join(rows) + "\n"


def check_memory():
    printed = memory("henri", "--plot", "henri.html")
    page = Page("henri.html")
    expect("the rows are printed too", "62375.6" in printed)
    expect(f"placements of henri: {placements(page)}", placements(page) == ([(0, 0), (1, 0), (0, 1), (1, 1)], 2))
    for title in page.titles:
        axes = [page.values(title)[axis] for axis in ("x", "y", "right")]
        expect(f"axes of {title}: {axes}", [(axis["title"], axis["unit"]) for axis in axes] ==
               [("computing cores, n", ""), ("message", "B/s"), ("computation", "B/s")])
        expect("one scale for all charts", page.values(title)["yDomain"] == page.values(page.titles[0])["yDomain"])
        expect(f"only lines: {page.names(title)}", page.names(title) ==
               ["message, model", "message alone, model", "computation, model", "computation alone, model"])
    last = page.points(page.titles[0], "computation, model")[-1]
    expect(f"computation with all cores: {last}", last[0] == 18 and f"{last[1] / 1e6:.1f}" in printed)
    expect("all that differ", placements(of_memory("henri-subnuma")) == ([(0, 0), (2, 0), (0, 1), (0, 2), (2, 2), (2, 3)], 2))
    expect("one", placements(of_memory("henri-subnuma", "--comp-numa", "3", "--comm-numa", "3")) == ([(3, 3)], 0))
    write("memory.csv", memory_samples(4))
    page = of_memory("henri-subnuma", "--samples", "memory.csv")
    expect(f"a grid of samples: {placements(page)}", placements(page) == ([(i, j) for j in range(4) for i in range(4)], 2))
    for title in page.titles:
        check_series(page, title, "message, measured", [(n, 64e6 / 0.04) for n in (1, 9, 18)])
        check_series(page, title, "message alone, measured", [(0, 64e6 / 0.01)])
        check_series(page, title, "computation, measured", [(n, page.points(title, "computation, measured")[0][1]) for n in (1, 9, 18)])
        check_series(page, title, "computation alone, measured", [(9, page.points(title, "computation alone, measured")[0][1])])
    write("old.html", "before")
    memory("henri", "--plot", "old.html", code=1, says="libjs-vega", share=NO_LIBRARY)
    write("many.tbl", "".join("name many\nsource a test\nany any numa_nodes - 40 1\n" if line.startswith("name") else line
                              for line in run("machine", "export", "henri").splitlines(True) if "numa_nodes" not in line and
                              not line.startswith("source")))
    memory("./many.tbl", "--comp-numa", "1", "--plot", "old.html", code=1, says="80 charts, expected at most 64")
    memory("henri", "--samples", "none.csv", "--plot", "old.html", code=1, says="none.csv")
    memory("henri", "--plot", "no/such/folder.html", code=1, says="no/such/folder.html")
    memory("henri", "--plot", "/dev/full", code=1, says="/dev/full: cannot be written")
    show("thunderx2", "--plot", "/dev/full", code=1, says="/dev/full: cannot be written")
    expect("a failure leaves what was there", pathlib.Path("old.html").read_text() == "before")


if not os.path.exists(os.path.join(BUILT_SHARE, "html/vega.js")):
    print("built without the chart library (package libjs-vega)")
    sys.exit(77)
umask = os.umask(0)
os.umask(umask)
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    check_values(check_panels())
    check_text()
    check_odd_samples()
    check_failures()
    check_memory()
    os.chdir("/")
print("\n".join(failures) or "plot: ok")
sys.exit(1 if failures else 0)
