"""finegrain --plot: a chart for each number of peers and arrivals, a line for each interface and number of parts, void rows marked,
whatever a path in the rows says.

Usage: check_sweep_plot.py MPISTAIR BUILT_SHARE; skipped (77) where the chart library was not there for the build.
"""
import os
import pathlib
import subprocess
import sys
import tempfile

from charts import Page

MPISTAIR, BUILT_SHARE = map(os.path.abspath, sys.argv[1:])
NO_LIBRARY = str(pathlib.Path(__file__).resolve().parents[3] / "share")  # which the build has beside it
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
    return Page(name)


def main():
    rows = [row(*interface, peers, 1 << power, parts, arrivals, power - parts)
            for peers in (6, 26) for arrivals in ("laggard:4", KDE) for interface in INTERFACES for parts in (2, 4)
            for power in (20, 12, 16)]
    page = draw("all.html", rows)
    expect("charts", page.titles == [f"{peers} peers, {arrivals}, 32 threads, 4.194 ms, mpich on 8 ranks"
                                     for peers in (6, 26) for arrivals in (KDE, "laggard:4")], page.titles)
    lines = [f"{interface} ({parts})" for interface in ("p2p", "rma fence", "rma passive", "partitioned", "persistent")
             for parts in (2, 4)]
    for title in page.titles:
        expect("lines", page.names(title) == lines, page.names(title))
        for name in lines:
            expected = [(1 << power, power - int(name[-2])) for power in (12, 16, 20)]
            expect(f"{title}: {name}", page.points(title, name) == expected, page.points(title, name))
        values = page.values(title)
        expect("axes", (values["x"]["unit"], values["x"]["type"], values["y"]["title"], values["y"]["unit"], values["xDomain"],
                        values["yDomain"]) == ("B", "log", "speed-up against BSP, %", "%", [1 << 12, 1 << 20], [0, 18]), values)
    series = page.rows(page.titles[0], "series")
    expect("looks", len({(row["colour"], row["shape"]) for row in series}) == len(series), series)
    # A void row has a mark, and one without a speed-up is left out, alone or in a line.
    one = [row("p2p", "", 6, 1 << power, 2, "laggard:4", 1) for power in (12, 14, 16)]
    plain = draw("one.html", one)
    expect("not void", plain.names(plain.titles[0]) == ["p2p (2)"], plain.charts)
    marked = draw("void.html", one[:2] + [one[2].replace(",\n", ",overslept\n")])
    expect("void", marked.points(marked.titles[0], "void") == [(1 << 16, 1)] and len(marked.points(marked.titles[0], "p2p (2)")) == 3,
           marked.charts)
    left = draw("left.html", one + [row("p2p", "", 6, 1 << 13, 2, "laggard:4", "")])
    expect("no speed-up", left.charts == plain.charts, left.charts)
    single = draw("single.html", [row("rma", "fence", 2, 1, 1, "normal:2e-6", 0)])
    expect("one row", single.points(single.titles[0], "rma fence (1)") == [(1, 0)], single.charts)
    wide = draw("wide.html", [row("p2p", "", 6, size, 2, "laggard:4", speedup)
                              for size, speedup in ((2, -1e29), (2147483647, 1e300), (64, 1e-300))])
    expect("wide", wide.points(wide.titles[0], "p2p (2)") == [(2, -1e29), (64, 1e-300)], wide.charts)
    pathlib.Path("r.csv").write_text(HEADER + "".join(one))
    done = subprocess.run([MPISTAIR, "finegrain", "--plot", "/dev/full", "r.csv"], capture_output=True, text=True, timeout=60)
    expect("full disk", done.returncode == 1 and "No space left" in done.stderr, done.stderr)
    done = subprocess.run([MPISTAIR, "finegrain", "--plot", "x.html", "r.csv"], capture_output=True, text=True, timeout=60,
                          env=dict(os.environ, MPISTAIR_SHARE=NO_LIBRARY))
    expect("no chart library", done.returncode == 1 and "libjs-vega" in done.stderr and not os.path.exists("x.html"), done.stderr)


if not os.path.exists(os.path.join(BUILT_SHARE, "html/vega.js")):
    print("built without the chart library (package libjs-vega)")
    sys.exit(77)
with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    main()
    os.chdir("/")
print("\n".join(failures) or "plot of sweeps ok")
sys.exit(bool(failures))
