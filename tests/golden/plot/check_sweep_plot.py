"""finegrain --plot: a panel for each number of peers and arrivals, a line for each interface and number of parts, void rows marked, and
well-formed XML whatever a path in the rows says.

Usage: check_sweep_plot.py MPISTAIR; skipped (77) where gnuplot is not installed.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

MPISTAIR = os.path.abspath(sys.argv[1])
HEADER = ("interface,rma,mpi,ranks,buffers_per_rank,peers,bytes,threads,parts,compute_s,arrivals,seed,trials,iterations,bsp_s,bsp_low_s,"
          "bsp_high_s,fine_s,fine_low_s,fine_high_s,speedup_percent,speedup_low_percent,speedup_high_percent,oversleep_s,void\n")
KDE = "kde:/it's a `file`]]>&<x>.csv"
INTERFACES = ("p2p", ""), ("rma", "fence"), ("rma", "passive"), ("partitioned", ""), ("persistent", "")
failures = []


def expect(what, condition, detail=""):
    if not condition:
        failures.append(f"{what} {detail}")


def row(interface, rma, peers, size, parts, arrivals, speedup, void=""):
    return f'{interface},{rma},mpich,8,1,{peers},{size},32,{parts},0.004194304,"{arrivals}",1,5,200,1,1,1,1,1,1,{speedup},,,1e-6,{void}\n'


def draw(name, rows):
    pathlib.Path("r.csv").write_text(HEADER + "".join(rows))
    done = subprocess.run([MPISTAIR, "finegrain", "--plot", name, "r.csv"], capture_output=True, text=True, timeout=60)
    expect(f"{name}: exit {done.returncode}", (done.returncode, done.stdout, done.stderr) == (0, "", ""), done.stderr)
    svg = pathlib.Path(name).read_text()
    return svg, ["".join(element.itertext()).strip() for element in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]


def main():
    rows = [row(*interface, peers, 1 << power, parts, arrivals, power - parts)
            for peers in (6, 26) for arrivals in ("laggard:4", KDE) for interface in INTERFACES for parts in (2, 4)
            for power in (20, 12, 16)]
    _, texts = draw("all.svg", rows)
    titles = [text for text in texts if " peers, " in text]
    expect("panels", len(titles) == 4 and sum("laggard:4" in title for title in titles) == 2, titles)
    expect("a path", sum("it's a `file`" in title for title in titles) == 2, titles)
    for line in ("p2p (2)", "p2p (4)", "rma fence (2)", "rma passive (4)", "partitioned (2)", "persistent (4)"):
        expect(f"line {line}", texts.count(line) == 4, texts)
    expect("axes", "speed-up against BSP, %" in texts and "1 MiB" in texts and "void" not in texts, texts)
    # A void row has a mark, and one without a speed-up is left out, alone or in a line.
    one = [row("p2p", "", 6, 1 << power, 2, "laggard:4", 1) for power in (12, 14, 16)]
    plain, _ = draw("one.svg", one)
    marked, texts = draw("void.svg", one[:2] + [one[2].replace(",\n", ",overslept\n")])
    expect("void", "void" in texts and marked.count("<use") + marked.count("<path") > plain.count("<use") + plain.count("<path"))
    expect("no speed-up", draw("left.svg", one + [row("p2p", "", 6, 1 << 13, 2, "laggard:4", "")])[0] == plain)
    _, texts = draw("single.svg", [row("rma", "fence", 2, 1, 1, "normal:2e-6", 0)])
    expect("one row", "rma fence (1)" in texts, texts)
    draw("wide.svg", [row("p2p", "", 6, size, 2, "laggard:4", speedup) for size, speedup in ((2, -1e29), (2147483647, 1e300), (64, 1e-300))])
    done = subprocess.run([MPISTAIR, "finegrain", "--plot", "/dev/full", "r.csv"], capture_output=True, text=True, timeout=60)
    expect("full disk", done.returncode == 1 and "No space left" in done.stderr, done.stderr)
    pathlib.Path("none").mkdir()
    done = subprocess.run([MPISTAIR, "finegrain", "--plot", "x.svg", "r.csv"], capture_output=True, text=True, timeout=60,
                          env=dict(os.environ, PATH="none"))
    expect("no gnuplot", done.returncode == 1 and "gnuplot" in done.stderr and not os.path.exists("x.svg"), done.stderr)


if shutil.which("gnuplot") is None:
    print("skipped: gnuplot is not installed")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
    os.chdir("/")
print("\n".join(failures) or "plot of sweeps ok")
sys.exit(bool(failures))
