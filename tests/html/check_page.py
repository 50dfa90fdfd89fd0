"""The pages of `mpistair report --format html` and of --plot in a headless Chromium: every picture is there with its marks, nothing goes to the
console or elsewhere, nothing is wider than the page, dark and print colours apply, values show on hover, tables sort, and a
trace may hold anything.

usage: check_page.py MPISTAIR SHARE_SQL BUILT_SHARE
"""
import os
import pathlib
import subprocess
import sys
import tempfile

import browser

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "golden/report"))
from made_trace import MPISTAIR, check, database, end  # noqa: E402

HALO = (HERE.parent / "golden/report/halo.sql").read_text()
RICH = (HERE / "rich.sql").read_text()
MANY = (HERE / "many.sql").read_text()
READY = '"drawn" in document.documentElement.dataset'
# Counts the items of the mark of that name in a picture, whether it is drawn as SVG or on a canvas.
COUNT = """(function (picture, name) {
  const view = [...views].find(([element]) => element.dataset.picture === picture)[1];
  const count = (group) => group.items.reduce((sum, item) =>
    sum + (item.items || []).reduce((inner, mark) =>
      inner + (mark.name === name ? mark.items.length : 0) + (mark.marktype === "group" ? count(mark) : 0), 0), 0);
  return count(view.scenegraph().root);
})"""
PICTURES = ["timeline", "ranks", "course", "efficiency", "matrix", "map", "scatter", "sizes", "path"]


def page(name, *scripts):
    trace = database(pathlib.Path(name + ".db"), *scripts)
    environment = {key: value for key, value in os.environ.items() if key != "MPISTAIR_SHARE"}
    done = subprocess.run([MPISTAIR, "report", trace, "--format", "html", "-o", name + ".html"], capture_output=True,
                          timeout=60, env=environment)
    check(name, done.returncode == 0 and not done.stderr, f"exit {done.returncode}: {done.stderr}")
    return name + ".html"


def count(tab, picture, mark):
    return tab.ask(f"{COUNT}({picture!r}, {mark!r})")


def drawn(tab):
    return tab.ask("[...views.keys()].map((element) => element.dataset.picture)")


def check_layout(tab, name):
    """Nothing is wider than the page or than its frame, in both widths and colours and on paper."""
    backgrounds = set()
    for media, dark in (("screen", False), ("screen", True), ("print", True)):
        for width in (1280, 800):
            tab.look(width, media, dark)
            where = f"{name} at {width} px, {media}{', dark' if dark else ''}"
            check(where, tab.ask("document.documentElement.scrollWidth") <= width, "wider than the page")
            wide = tab.ask("""[...document.querySelectorAll('.drawing svg, .drawing canvas')].filter((drawing) =>
                drawing.getBoundingClientRect().right > drawing.closest('.drawing').getBoundingClientRect().right + 1 ||
                drawing.getBoundingClientRect().height < 50 || drawing.getBoundingClientRect().width < 200).map((drawing) =>
                drawing.closest('figure').id)""")
            check(where, wide == [], f"these do not fit: {wide}")
            backgrounds.add((media, dark, tab.ask("getComputedStyle(document.body).backgroundColor"),
                             tab.ask("views.size") == len(drawn(tab))))
    white, black = "rgb(255, 255, 255)", "rgb(20, 24, 29)"
    check(name + " colours", backgrounds == {("screen", False, white, True), ("screen", True, black, True),
                                             ("print", True, white, True)}, backgrounds)
    tab.look()
    check(name + " problems", tab.problems == [], tab.problems)


def check_halo(tab):
    tab.look()
    tab.open(page("halo", HALO, RICH), READY)
    check("pictures", drawn(tab) == PICTURES, drawn(tab))
    expected = {("timeline", "bars"): 20, ("timeline", "lines"): 17, ("matrix", "cells"): 5, ("map", "sockets"): 3,
                ("map", "nodes"): 2, ("map", "ribbons"): 3, ("map", "hosts"): 2, ("scatter", "points"): 4, ("scatter", "band"): 2,
                ("sizes", "bars"): 6, ("course", "cells"): 4 * 120, ("course", "bands"): 12 + 50, ("course", "regions"): 2,
                ("efficiency", "windows"): 4, ("path", "bars"): 3, ("path", "strip"): 2}
    found = {key: count(tab, *key) for key in expected}
    check("marks", found == expected, {key: found[key] for key in found if found[key] != expected[key]})
    widths = tab.ask("[...views].filter(([element]) => ['timeline', 'course', 'efficiency'].includes(element.closest('figure').id))"
                     ".map(([element, view]) => [view.width(), view.origin()[0]])")
    check("one time axis", len(widths) == 3 and widths[0] == widths[1] == widths[2], widths)
    parts = tab.ask("[...views.values()][1].data('part').map((part) => [part.rank, part.part, part.time])")
    of_rank_0 = {part: round(time * 1e3, 6) for rank, part, time in parts if rank == 0}
    check("not explained", of_rank_0 == {"computation": 7, "late sender": 2, "latency": 1, "bandwidth": 2, "not explained": 3},
          of_rank_0)
    check("title", tab.ask("document.title") == "mpistair: ./halo <b>\"mesh\" & 'more'</b>", tab.ask("document.title"))
    check("language", tab.ask("document.documentElement.lang") == "en")
    named = tab.ask("[...document.querySelectorAll('figure')].every((figure) => "
                    "document.getElementById(figure.getAttribute('aria-labelledby')).textContent)")
    check("figures are named", named)
    described = tab.ask("[...document.querySelectorAll('.drawing svg, .drawing canvas')].length")
    check("drawings", described == 9, described)
    check_layout(tab, "halo")


def check_hands(tab):
    """What a reader does: hover, choose, zoom, sort."""
    tab.ask("document.getElementById('matrix').scrollIntoView()")
    place = tab.ask("""(function () {
      const cell = document.querySelector('#matrix .cells path').getBoundingClientRect();
      return [cell.x + cell.width / 2, cell.y + cell.height / 2];
    })()""")
    tab.mouse("mouseMoved", *place)
    text = tab.ask("document.getElementById('hover').hidden ? '' : document.getElementById('hover').textContent")
    check("hover", "sender0" in text and "receiver1" in text and "messages" in text, text)
    before = tab.ask("document.querySelector('#matrix .cells path').getAttribute('fill')")
    for choice in ("messages", "time", "ratio"):
        tab.ask(f"""(function () {{
          const select = document.querySelector('#matrix select');
          select.value = [...select.options].find((option) => option.value === {choice!r}).value;
          select.dispatchEvent(new Event('change', {{ bubbles: true }}));
        }})()""")
        check("matrix of " + choice, count(tab, "matrix", "cells") == {"ratio": 4}.get(choice, 5), count(tab, "matrix", "cells"))
    tab.ask("new Promise((resolve) => setTimeout(resolve, 50))")
    after = tab.ask("document.querySelector('#matrix .cells path').getAttribute('fill')")
    check("colours of the choice", before != after, after)
    tab.ask("[...views.values()][0].signal('zoom', 6).signal('centre', 0.02).run() && 0")
    check("zoom", 0 < count(tab, "timeline", "bars") < 20, count(tab, "timeline", "bars"))
    tab.ask("[...views.values()][0].signal('zoom', 0).run() && 0")
    tab.ask("document.getElementById('timeline').scrollIntoView()")
    strip = tab.ask("""(function () {
      const strip = document.querySelector('#timeline .overview path').getBoundingClientRect();
      return [strip.x, strip.y + strip.height / 2, strip.width];
    })()""")
    tab.mouse("mousePressed", strip[0] + strip[2] * 0.25, strip[1], button="left", clickCount=1)
    tab.mouse("mouseMoved", strip[0] + strip[2] * 0.5, strip[1], button="left")
    tab.mouse("mouseReleased", strip[0] + strip[2] * 0.5, strip[1], button="left", clickCount=1)
    window = tab.ask("[...views.values()][0].signal('window') / [...views.values()][0].signal('end')")
    start = tab.ask("[...views.values()][0].signal('from') / [...views.values()][0].signal('end')")
    check("strip", abs(window - 0.25) < 0.02 and abs(start - 0.25) < 0.02, (start, window))
    shown = tab.ask("[...views.values()][0].scale('x').domain().map((at) => at / [...views.values()][0].signal('end'))")
    check("axis of the strip", abs(shown[0] - start) < 1e-9 and abs(shown[1] - start - window) < 1e-9, shown)
    field = tab.ask("""(function () {
      const field = document.querySelector('#timeline .field path').getBoundingClientRect();
      return [field.x + field.width * 0.75, field.y + field.height / 2];
    })()""")
    under = "[...views.values()][0].scale('x').domain().reduce((sum, at, i) => sum + at * (i ? 0.75 : 0.25), 0)"
    place = tab.ask(under)
    tab.mouse("mouseWheel", *field, deltaX=0, deltaY=-100, modifiers=2)
    closer = tab.ask("[...views.values()][0].signal('window') / [...views.values()][0].signal('end')")
    moved = abs(tab.ask(under) - place) / tab.ask("[...views.values()][0].signal('window')")
    check("wheel", abs(closer - window * 2 ** -0.5) < 0.01 and moved < 0.02, (closer, moved))
    sorted_rows = tab.ask("""(function () {
      const head = [...document.querySelectorAll('table.sorts th')].find((head) => head.textContent === 'volume');
      const column = head.cellIndex, body = head.closest('table').tBodies[0];
      const read = () => [...body.rows].map((row) => row.cells[column].textContent);
      head.querySelector('button').click();
      const down = read(), state = head.getAttribute('aria-sort');
      head.querySelector('button').click();
      return [down, state, read(), head.getAttribute('aria-sort')];
    })()""")
    down = ["401 kB", "160 kB", "80.0 kB", "64 B"]
    check("sorting", sorted_rows == [down, "descending", down[::-1], "ascending"], sorted_rows)
    check("problems of hands", tab.problems == [], tab.problems)


def check_many(tab):
    tab.open(page("many", MANY), READY)
    check("many: pictures", drawn(tab) == ["timeline", "ranks", "matrix", "map", "sizes"], drawn(tab))
    cells = count(tab, "matrix", "cells")
    check("many: cells", 128 <= cells <= 128 * 128, cells)
    shades = count(tab, "timeline", "shades")
    check("many: shades", 64 <= shades <= 64 * 240 and count(tab, "timeline", "bars") == 0, shades)
    lines = count(tab, "timeline", "lines")
    check("many: lines", 20 <= lines <= 1500, lines)
    text = tab.ask("document.getElementById('timeline').textContent")
    check("many: it says so", f"a sample of {lines} of 6000 messages" in text and "stands for 10 of the 600 ranks" in text, text)
    check("many: bars", count(tab, "ranks", "bars") <= 128 * 6, count(tab, "ranks", "bars"))
    check("many: places", count(tab, "map", "sockets") <= 32, count(tab, "map", "sockets"))
    check("many: what lacks", "mpistair predict" in tab.ask("document.getElementById('scatter').textContent") and
          "mpistair replay" in tab.ask("document.getElementById('path').textContent") and
          "no course" in tab.ask("document.getElementById('course').textContent"))
    check_layout(tab, "many")
    check("many: size", os.path.getsize("many.html") < 1.5e6, os.path.getsize("many.html"))


def check_odd(tab):
    run = "INSERT INTO run VALUES (1, 'k', '0.1.0', 0, 1000000, 'Open MPI', 'x', 'MPI_THREAD_SINGLE', %s, %d, %d, 4096, 65536, 1, 'MPI_Init', 'all');"
    process = "INSERT INTO process(rank, node, socket, ended, begin_ns, end_ns) VALUES (0, 0, 0, 'finalize', 0, 1000000);"
    hostile = "'./a </script><script>document.title = \"bad\"</script> \"''<!-- ' || char(7, 8238, 233, 128640) || ' ]]>'"
    cases = {
        "one rank": run % ("'./a'", 1, 1) + "INSERT INTO node(id, host) VALUES (0, 'n');" + process,
        "no ranks": run % ("'./a'", 0, 0),
        "no process": run % ("'./a'", 4, 0),
        "hostile": run % (hostile, 1, 1) + f"INSERT INTO node(id, host) VALUES (0, {hostile});" + process +
                   f"INSERT INTO function VALUES (1, {hostile});"
                   f"INSERT INTO callsite VALUES (1, 'm', 1, NULL, {hostile}, {hostile}, 1);"
                   "INSERT INTO call_row VALUES (0, 1, 10, 500000, 0, 0, 1);",
        "damaged": HALO + RICH + """
            UPDATE message_row SET recv_ns = NULL WHERE id % 3 = 0;
            UPDATE message_row SET bytes = 1000000000000000000, late_ns = -9223372036854775807 WHERE id % 5 = 1;
            UPDATE message_row SET src = 2000000, bytes = -7 WHERE id % 5 = 2;
            UPDATE message_row SET form = 999, bytes = 'x' WHERE id % 5 = 3;
            UPDATE call_row SET begin_ns = -9223372036854775807, call_ns = 9223372036854775807 WHERE rank = 1;
            UPDATE call_row SET call_ns = -5, callsite = 77, function = 88 WHERE rank = 2;
            UPDATE process SET end_ns = 9e300 WHERE rank = 2;
            UPDATE process SET node = 1e18, socket = 'x' WHERE rank = 3;
            UPDATE replay_part SET measured_s = 9e999 WHERE place = 1;
            UPDATE replay_place SET critical_s = -1 WHERE place = 2;
            UPDATE replay_run SET predicted_s = 9e999;
            UPDATE prediction SET time_s = 9e999 WHERE rank = 1;
            UPDATE machine_parameter SET value = -1 WHERE quantity = 'bw';
            INSERT INTO process(rank, ended) VALUES (9223372036854775807, 'lost');""",
    }
    for name, script in cases.items():
        tab.open(page(name, script), READY)
        check(name, tab.problems == [], tab.problems)
        check(name + ": title", tab.ask("document.title").startswith("mpistair: "), tab.ask("document.title"))
        check(name + ": width", tab.ask("document.documentElement.scrollWidth") <= 1280)
    check("one rank alone", "No messages were recorded." in pathlib.Path("one rank.html").read_text())
    text = pathlib.Path("hostile.html").read_text()
    check("hostile text", "<script>document" not in text and "\a" not in text, "stands in the page as it is")


def check_charts(tab):
    """Charts of calibrations, of memory contention and of sweeps, each with its marks."""
    table = ["name here", "source a test", "intra_socket eager tau - 1e-6 s", "intra_socket eager bw 1 2e9 B/s #: 1.9e9 2.1e9 9 ols",
             "intra_socket eager bw 4 5e9 B/s", "intra_socket rendezvous threshold - 4096 B", "intra_socket rendezvous tau - 2e-6 s",
             "intra_socket rendezvous bw 1 4e9 B/s"]
    pathlib.Path("here.tbl").write_text("\n".join(table) + "\n")
    pathlib.Path("here.raw.csv").write_text("benchmark,variant,level,bytes,n,seconds\n" + "".join(
        f"{benchmark},{variant},intra_socket,{size},1,{1e-6 * factor + size / 3e9!r}\n" for factor in (1, 1.1, 2)
        for size in (8, 4096, 65536) for benchmark, variant in (("pingpong", ""), ("eager", "taken"))))
    pathlib.Path("rows.csv").write_text(
        "interface,rma,mpi,ranks,buffers_per_rank,peers,bytes,threads,parts,compute_s,arrivals,seed,trials,iterations,bsp_s,bsp_low_s,"
        "bsp_high_s,fine_s,fine_low_s,fine_high_s,speedup_percent,speedup_low_percent,speedup_high_percent,oversleep_s,void\n" +
        "".join(f"p2p,,mpich,8,1,6,{size},32,{parts},0.004,laggard:4,1,5,200,1,1,1,1,1,1,{parts - 2.5},,,1e-6,\n"
                for size in (64, 4096) for parts in (2, 4)))
    cases = {"machine show here.tbl --plot": [("chart-1", "points", 3 * 3 + 3), ("chart-1", "lines", 2 * 25 + 2),
                                       ("chart-1", "thresholds", 1), ("chart-1", "texts", 1), ("chart-2", "points", 3),
                                       ("chart-3", "points", 2), ("chart-3", "intervals", 1), ("chart-4", "points", 4)],
             "predict --memory --machine henri --plot": [(f"chart-{i}", "lines", 4 * 19) for i in (1, 2, 3, 4)],
             "finegrain --plot": [("chart-1", "points", 4), ("chart-1", "lines", 4)]}
    for i, (command, expected) in enumerate(cases.items()):
        name = f"charts{i}.html"
        done = subprocess.run([MPISTAIR, *command.split(), name, *(["rows.csv"] if i == 2 else [])], capture_output=True, timeout=60)
        check(command, done.returncode == 0 and not done.stderr, f"exit {done.returncode}: {done.stderr}")
        tab.open(name, READY)
        check(command, drawn(tab) == list(dict.fromkeys(chart for chart, _, _ in expected)), drawn(tab))
        found = [(chart, mark, count(tab, chart, mark)) for chart, mark, _ in expected]
        check(command + ": marks", found == expected, found)
        hidden = tab.ask("""[...document.querySelectorAll('.drawing')].filter((drawing) => [...drawing.querySelectorAll('text')].some(
            (text) => text.textContent && text.getBoundingClientRect().top < drawing.getBoundingClientRect().top - 1)).length""")
        check(command + ": legends", hidden == 0, hidden)
        check_layout(tab, command)


def main():
    program = browser.find()
    if program is None:
        print("no Chromium is installed (package chromium)")
        sys.exit(77)
    if not (pathlib.Path(sys.argv[3]) / "html/vega.js").is_file():
        print("built without the chart library (package libjs-vega)")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="mpistair-page-") as folder, browser.Browser(program) as tab:
        os.chdir(folder)
        check_halo(tab)
        check_hands(tab)
        check_many(tab)
        check_odd(tab)
        check_charts(tab)
        os.chdir("/")
    end("page")


main()
