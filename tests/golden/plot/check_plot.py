"""machine show --plot: one panel for each kind of samples, well-formed XML whatever the table says, and reasons where no
picture can be made. predict --memory --plot: one panel for each placement, on the same page.

Usage: check_plot.py MPISTAIR; skipped (77) where gnuplot is not installed.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

MPISTAIR = os.path.abspath(sys.argv[1])
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
# Title of a panel, and samples that bring it.
PANELS = {
    "self: time over size": ["self,,self,{size},1,1,{time},1,0,,1,0.1"],
    "intra_socket: time over size": ["pingpong,,intra_socket,{size},1,1,{time},1,0-1,,1,0.1",
                                     "algorithm1,,intra_socket,{size},4,1,{time},1,a,,1,0.1"],
    "intra_socket: bandwidth of n processes": [],
    "inter_socket: ping-pong, by what a pair shares": ["pingpong,,inter_socket,{size},1,1,{time},1,0-1,l3,1,0.1",
                                                       "pingpong,,inter_socket,{size},1,1,{time},1,0-2,numa,1,0.1"],
    "inter_node: rate at which a node sends": ["injection,,inter_node,{size},2,1,{time},1,a,,1,0.1"],
    "Search of the receive queues, intra_socket": ["queue,posted_reversed,intra_socket,8,{size},1,{time},1,a,,1,0.1",
                                                   "queue,unexpected_inorder,intra_socket,8,{size},1,{time},1,a,,1,0.1"],
    "inter_node: a link shared by pairs of nodes": ["contention,shared,inter_node,{size},2,4,{time},1,a,,1,0.1",
                                                    "contention,alone,inter_node,{size},1,4,{time},1,a,,1,0.1"],
    "Sizes taken or refused": ["eager,taken,intra_socket,{size},1,1,{time},1,a,,1,0.1",
                               "buffer,refused,inter_node,{size},1,1,{time},1,a,,1,0.1"],
}
always_drawn = {"intra_socket: time over size", "intra_socket: bandwidth of n processes"}
failures = []


def expect(what, condition):
    if not condition:
        failures.append(what)


def run(*words, code=0, says="", path=None):
    """Runs `mpistair WORDS`; says: part of standard error. Nothing may be left beside the picture."""
    environment = dict(os.environ, PATH=path) if path is not None else None
    done = subprocess.run([MPISTAIR, *words], capture_output=True, text=True, errors="replace", timeout=120, env=environment)
    if done.returncode != code or says not in done.stderr:
        failures.append(f"{' '.join(words)}: exit {done.returncode}, expected {code}; stderr {done.stderr!r}")
    left = [name for name in os.listdir(".") if ".svg." in name]
    expect(f"left behind by {' '.join(words)}: {left}", not left)
    return done.stdout


def show(*words, **expected):
    return run("machine", "show", *words, **expected)


def memory(machine, *words, **expected):
    return run("predict", "--memory", "--machine", machine, *words, **expected)


def texts(svg):
    """All texts of a picture; fails where it is no XML."""
    return ["".join(element.itertext()).strip()
            for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def samples(templates):
    return [template.format(size=size, time=repr(1e-6 * factor + size / 3e9))
            for template in templates for size in (1, 64, 4096, 262144) for factor in (1, 1.1, 2)]


def titles(svg):
    return {title for title in PANELS if any(text.startswith(title) for text in texts(svg))}


def write(name, text):
    pathlib.Path(name).write_text(text)


def check_panels():
    write("nothing.tbl", "name nothing\nsource a test\nany any gamma - 1e-9 s\n")
    write("lines.tbl", TABLE.format(source="a test"))
    write("all.tbl", TABLE.format(source="a test") + OTHER_ROWS)
    printed = show("./lines.tbl", "--plot", "lines.svg")
    lines = pathlib.Path("lines.svg").read_text()
    expect("the table is printed too", "rendezvous" in printed)
    expect("without samples only lines", titles(lines) == always_drawn)
    expect("no residuals without samples", not any("median / line" in text for text in texts(lines)))
    expect("thresholds are named", "rendezvous from 4096 B" in texts(lines))
    for title, templates in PANELS.items():
        if templates:
            write("one.csv", "\n".join([HEADER, *samples(templates)]) + "\n")
            show("./lines.tbl", "--raw", "one.csv", "--plot", "one.svg")
            drawn = titles(pathlib.Path("one.svg").read_text())
            expect(f"panels of the samples of '{title}': {sorted(drawn)}", drawn == always_drawn | {title})
    rows = [row for templates in PANELS.values() for row in samples(templates)]
    write("all.raw.csv", "\n".join([HEADER, *rows]) + "\n")
    show("./all.tbl", "--plot", "all.svg")
    found = texts(pathlib.Path("all.svg").read_text())
    expect("samples beside the table are found, all panels drawn",
           titles(pathlib.Path("all.svg").read_text()) == set(PANELS))
    for text in ("median / line - 1", "n = 1, ping-pong", "n = 4", "rendezvous, max-rate", "eager, at least",
                 "a step c(n), ns", "limit in the table", "delta l, delta = 2.1e-08 s/B", "taken", "same L3", "4 KiB"):
        expect(f"the whole picture says '{text}'", text in found)
    expect("- is standard output", titles(show("./all.tbl", "--plot", "-")) == set(PANELS))
    show("thunderx2", "--plot", "shipped.svg")
    expect("a shipped machine", "inter_socket: bandwidth of n processes, BW(n)" in
           texts(pathlib.Path("shipped.svg").read_text()))


def check_text():
    """A source may hold anything: it is text, neither command nor markup."""
    source = "it's <b> & \"q\" `touch cut` $(touch cut) @x \\n {a_b} %s ü \x01 ]]>"
    write("odd.tbl", TABLE.format(source=source))
    show("./odd.tbl", "--plot", "odd.svg")
    found = " ".join(texts(pathlib.Path("odd.svg").read_text()))
    for part in ("it's <b> & \"q\" `touch cut` $(touch cut) @x \\n {a_b} %s ü",):
        expect(f"the picture holds '{part}' of the source", part in found)
    expect("nothing of the source was run", not os.path.exists("cut"))
    pathlib.Path("latin.tbl").write_bytes(TABLE.format(source="a SOURCE").encode().replace(b"SOURCE", b"M\xfcnchen \xed\xa0\x80"))
    show("./latin.tbl", "--plot", "latin.svg")
    expect("bytes that are no UTF-8", any("M?nchen ???" in text for text in
                                          texts(pathlib.Path("latin.svg").read_bytes())))
    write("long.tbl", TABLE.format(source="word " * 95 + "w" * 30))
    show("./long.tbl", "--plot", "long.svg")
    expect("a long source takes several lines", sum("word word" in text for text in
                                                    texts(pathlib.Path("long.svg").read_text())) > 2)


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
        show("./all.tbl", "--raw", "odd.csv", "--plot", "odd.svg")
        drawn = titles(pathlib.Path("odd.svg").read_text())
        expect(f"{name}: {drawn}", "Search of the receive queues, intra_socket" not in drawn and always_drawn <= drawn)
    write("odd.csv", HEADER + "\npingpong,,inter_node,8,1,1,1e300,1,a,,1,0\n")
    show("./nothing.tbl", "--raw", "odd.csv", "--plot", "none.svg", code=1, says="nothing to draw")


def check_failures():
    write("old.svg", "before")
    write("bad.csv", HEADER + "\npingpong,,intra_socket,8,1,1,-1,1,a,,1,0.1\n")
    show("./lines.tbl", "--raw", "bad.csv", "--plot", "old.svg", code=1, says="bad.csv:2")
    show("./lines.tbl", "--raw", "none.csv", "--plot", "old.svg", code=1, says="none.csv")
    os.mkdir("empty")
    show("./lines.tbl", "--plot", "old.svg", code=1, says="gnuplot-nox", path=os.path.abspath("empty"))
    os.mkdir("broken")
    write("broken/gnuplot", "#!/bin/sh\necho 'line 0: no terminal svg' >&2\nexit 1\n")
    os.chmod("broken/gnuplot", 0o755)
    show("./lines.tbl", "--plot", "old.svg", code=1, says="gnuplot: line 0: no terminal svg",
         path=os.path.abspath("broken"))
    show("./nothing.tbl", "--plot", "old.svg", code=1, says="nothing to draw")
    expect("a failure leaves what was there", pathlib.Path("old.svg").read_text() == "before")
    show("./lines.tbl", "--plot", "no/such/folder.svg", code=1, says="no/such/folder.svg")
    show("./lines.tbl", "--raw", "all.raw.csv", code=2, says="--plot")
    show("./lines.tbl", "--plot", code=2, says="--plot")
    show("./lines.tbl", "--plot", "lines.svg")
    expect("an old picture is replaced", pathlib.Path("lines.svg").stat().st_mode & 0o777 == 0o666 & ~umask)


def placements(svg):
    """What the titles of the panels say of the NUMA nodes, in the order of the page, and how often a table was made of one."""
    found = [text for text in texts(svg) if text.startswith("computation in NUMA node")]
    return ([tuple(int(word) for word in text.replace(":", "").split() if word.isdigit()) for text in found],
            sum("made the table" in text for text in found))


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
    printed = memory("henri", "--plot", "henri.svg")
    svg = pathlib.Path("henri.svg").read_text()
    expect("the rows are printed too", "62375.6" in printed)
    expect(f"placements of henri: {placements(svg)}", placements(svg) == ([(0, 0), (1, 0), (0, 1), (1, 1)], 2))
    for text in ("message, GB/s", "computation, GB/s", "computing cores, n", "message, model", "computation alone, model"):
        expect(f"4 panels say '{text}': {texts(svg).count(text)}", texts(svg).count(text) == 4)
    expect("without samples only lines", not any("measured" in text for text in texts(svg)))
    expect("all that differ", placements(memory("henri-subnuma", "--plot", "-")) ==
           ([(0, 0), (2, 0), (0, 1), (0, 2), (2, 2), (2, 3)], 2))
    expect("one", placements(memory("henri-subnuma", "--plot", "-", "--comp-numa", "3", "--comm-numa", "3")) == ([(3, 3)], 0))
    write("memory.csv", memory_samples(4))
    memory("henri-subnuma", "--samples", "memory.csv", "--plot", "sub.svg")
    svg = pathlib.Path("sub.svg").read_text()
    expect(f"a grid of samples: {placements(svg)}", placements(svg) == ([(i, j) for j in range(4) for i in range(4)], 2))
    for text in ("message, measured", "message alone, measured", "computation, measured", "computation alone, measured"):
        expect(f"16 panels say '{text}': {texts(svg).count(text)}", texts(svg).count(text) == 16)
    write("old.svg", "before")
    memory("henri", "--plot", "old.svg", code=1, says="gnuplot-nox", path=os.path.abspath("empty"))
    write("many.tbl", "".join("name many\nsource a test\nany any numa_nodes - 40 1\n" if line.startswith("name") else line
                              for line in run("machine", "export", "henri").splitlines(True) if "numa_nodes" not in line and
                              not line.startswith("source")))
    memory("./many.tbl", "--comp-numa", "1", "--plot", "old.svg", code=1, says="80 placements, expected at most 64")
    memory("henri", "--samples", "none.csv", "--plot", "old.svg", code=1, says="none.csv")
    memory("henri", "--plot", "no/such/folder.svg", code=1, says="no/such/folder.svg")
    memory("henri", "--plot", "/dev/full", code=1, says="/dev/full: cannot be written")
    show("thunderx2", "--plot", "/dev/full", code=1, says="/dev/full: cannot be written")
    expect("a failure leaves what was there", pathlib.Path("old.svg").read_text() == "before")


if shutil.which("gnuplot") is None:
    print("gnuplot is not installed")
    sys.exit(77)
umask = os.umask(0)
os.umask(umask)
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    check_panels()
    check_text()
    check_odd_samples()
    check_failures()
    check_memory()
    os.chdir("/")
print("\n".join(failures) or "plot: ok")
sys.exit(1 if failures else 0)
