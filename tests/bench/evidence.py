"""The published measurements of Blue Waters and Summit, beside what mpistair fits and predicts from them.

usage: evidence.py MPISTAIR DATA [--write FOLDER]

DATA holds bluewaters/ and summit/ with the raw data of Bienz et al. 2018 and 2021 (public: bienz2/BlueWatersModel,
bienz2/BenchPress). Prints share/doc/EVIDENCE.md, or writes it with its pictures into FOLDER. Papers are named as in
share/doc/MODELS.md: B, T, H. A benchmark, not a test: it skips without the data, and fails only where a step does.
"""
import argparse
import collections
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import textwrap

OPTIONS = None
MODELS = os.path.basename("share/doc/MODELS.md")
ELEMENT_BYTES = 4  # of a row of both machines' files, which count ints or floats
PROCESSES = 16     # of a node of Blue Waters
SHORT, EAGER, RENDEZVOUS = "short", "eager", "rendezvous"
LEVELS = {"intra_socket": "on_node_on_socket.out", "inter_socket": "on_node_on_node.out", "inter_node": "orig_off_node"}


def mpistair(*words):
    words = [OPTIONS.mpistair, *map(str, words)]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"exit {done.returncode} from: {' '.join(words)}\n{done.stderr[-2000:]}")
    return done.stdout


def table_of(text):
    """Rows of a machine table: (level, protocol, parameter, n) -> value."""
    rows = {}
    for line in text.splitlines():
        words = line.split("#")[0].split()
        if len(words) >= 5 and words[0] not in ("name", "source"):
            rows[tuple(words[:4])] = float(words[4])
    return rows


def shipped(name):
    return table_of(mpistair("machine", "export", name))


def fit(samples, *options):
    """The table that mpistair fits to samples (level, bytes, n, seconds)."""
    pathlib.Path("samples.csv").write_text("level,bytes,n,seconds\n" + "".join("%s,%d,%d,%g\n" % row for row in samples))
    mpistair("machine", "fit", "samples.csv", "--name", "fitted", "-o", "fitted.tbl", *options)
    return table_of(pathlib.Path("fitted.tbl").read_text())


def numbers(path):
    """The lines of a file that are a whole number and reals."""
    for line in open(path):
        words = line.split()
        if len(words) > 1 and words[0].isdigit():
            yield int(words[0]), [float(word) for word in words[1:]]


def ping_pongs(level, seconds_of=lambda seconds: seconds / 2):
    """Samples of Blue Waters: rows are ints, times are those of a round trip."""
    return [(level, ELEMENT_BYTES * row, pairs, seconds_of(seconds))
            for row, times in numbers(OPTIONS.data / "bluewaters" / LEVELS[level]) for pairs, seconds in enumerate(times, 1)]


def percent(share):
    return f"{100 * share:+.0f} %"


def median_error(pairs):
    return statistics.median(abs(model / measured - 1) for measured, model in pairs)


class Picture:
    """A chart, points for what was measured and lines for what a model says, as SVG. The y axis is logarithmic, and x but for
    few whole numbers. Series whose names begin alike, up to a comma, have one colour."""

    COLOURS = ["#1b6ca8", "#c8553d", "#588157", "#8e5572", "#b08900", "#444444"]

    def __init__(self, title, x, y, is_linear=False):
        self.title, self.x, self.y, self.is_linear, self.series = title, x, y, is_linear, []

    def along(self, x):
        return x if self.is_linear else math.log10(x)

    def add(self, name, points, line=False):
        points = [(a, b) for a, b in points if (a > 0 or self.is_linear) and b > 0]
        if points:
            self.series.append((name, points, line))

    def svg(self):
        width, height, left, bottom, top, right = 680, 420, 70, 50, 36, 200
        xs = [self.along(a) for _, points, _ in self.series for a, _ in points]
        ys = [math.log10(b) for _, points, _ in self.series for _, b in points]
        x0, x1, y0, y1 = min(xs), max(xs) + 1e-9, math.floor(min(ys)), math.ceil(max(ys)) + 1e-9

        def place(a, b):
            return (left + (self.along(a) - x0) / (x1 - x0) * (width - left - right),
                    height - bottom - (math.log10(b) - y0) / (y1 - y0) * (height - bottom - top))

        out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" font-family="sans-serif" '
               f'font-size="11"><rect width="100%" height="100%" fill="white"/><text x="{left}" y="20" font-size="13">'
               f'{self.title}</text>']
        for mark in range(math.ceil(x0), math.floor(x1) + 1, max(1, round((x1 - x0) / 10))):
            at = place(mark if self.is_linear else 10 ** mark, 10 ** y0)[0]
            out.append(f'<path d="M{at:.1f} {top}V{height - bottom}" stroke="#ddd"/><text x="{at:.1f}" '
                       f'y="{height - bottom + 15}" text-anchor="middle">{mark if self.is_linear else f"1e{mark}"}</text>')
        for exponent in range(y0, int(y1) + 1):
            at = place(x0 if self.is_linear else 10 ** x0, 10 ** exponent)[1]
            out.append(f'<path d="M{left} {at:.1f}H{width - right}" stroke="#ddd"/><text x="{left - 6}" y="{at + 4:.1f}" '
                       f'text-anchor="end">1e{exponent}</text>')
        out.append(f'<text x="{(left + width - right) / 2}" y="{height - 12}" text-anchor="middle">{self.x}</text>'
                   f'<text x="16" y="{(top + height - bottom) / 2}" text-anchor="middle" transform="rotate(-90 16 '
                   f'{(top + height - bottom) / 2})">{self.y}</text>')
        groups = list(dict.fromkeys(name.split(",")[0] for name, _, _ in self.series))
        for i, (name, points, line) in enumerate(self.series):
            colour, at = self.COLOURS[groups.index(name.split(",")[0]) % len(self.COLOURS)], top + 14 * i + 8
            places = [place(a, b) for a, b in points]
            if line:
                out.append('<polyline fill="none" stroke="%s" stroke-width="1.5" points="%s"/>' %
                           (colour, " ".join("%.1f,%.1f" % point for point in sorted(places))))
            else:
                out += ['<circle cx="%.1f" cy="%.1f" r="2.5" fill="%s"/>' % (*point, colour) for point in places]
            mark = f'<path d="M{width - right + 10} {at}h16" stroke="{colour}" stroke-width="1.5"/>' if line else \
                f'<circle cx="{width - right + 18}" cy="{at}" r="3" fill="{colour}"/>'
            out.append(f'{mark}<text x="{width - right + 32}" y="{at + 4}">{name}</text>')
        return "\n".join(out) + "\n</svg>\n"


def show(pictures, name, picture):
    pictures[name] = picture.svg()
    return f"\n![{picture.title}](evidence/{name}.svg)\n"


# B: Blue Waters ------------------------------------------------------------------------------------------------------

def line_through(points):
    """Ordinary least squares: (at zero, per x)."""
    n, x, y = len(points), sum(a for a, _ in points), sum(b for _, b in points)
    slope = (n * sum(a * b for a, b in points) - x * y) / (n * sum(a * a for a, _ in points) - x * x)
    return (y - slope * x) / n, slope


def table_1(pictures):
    printed = shipped("blue-waters")
    lines = ["| level | protocol | alpha printed, s | fitted | | R_b printed, B/s | fitted | |", "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    worst, worst_of_samples = 0, 0
    for level in LEVELS:
        samples = ping_pongs(level)
        for protocol, low, high in ((SHORT, 0, 500), (EAGER, 500, 8000), (RENDEZVOUS, 8000, math.inf)):
            if (level, protocol) != ("inter_node", RENDEZVOUS):
                tau, per_byte = line_through([(size, seconds) for _, size, _, seconds in samples if low <= size < high])
                for parameter, n, value in (("tau", "-", tau), ("bw", "1", 1 / per_byte)):
                    worst_of_samples = max(worst_of_samples, abs(value / printed[level, protocol, parameter, n] - 1))
        together = fit([(name, size, 1, seconds) for name, size, _, seconds in samples], "--method", "ols", "--thresholds",
                       "0,500,8000")
        apart = fit(samples, "--method", "ols", "--thresholds", "0,500,8000")
        for protocol in (SHORT, EAGER, RENDEZVOUS):
            table = apart if (level, protocol) == ("inter_node", RENDEZVOUS) else together
            cells = []
            for parameter, n in (("tau", "-"), ("bw", "1")):
                key = (level, protocol, parameter, n)
                error = table[key] / printed[key] - 1
                cells += [f"{printed[key]:.2g}", f"{table[key]:.2g}", percent(error)]
                if table is together:
                    worst = max(worst, abs(error))
            lines.append(f"| {level} | {protocol} | {' | '.join(cells)} |")
    injection = apart[("inter_node", RENDEZVOUS, "bw", str(PROCESSES))]
    picture = Picture("Blue Waters: messages between nodes, one way", "bytes", "seconds")
    for pairs in (1, 4, 16):
        words = f"{pairs} pair" + "s" * (pairs > 1)
        points = collections.defaultdict(list)
        for _, size, n, seconds in ping_pongs("inter_node"):
            if n == pairs:
                points[size].append(seconds)
        picture.add(f"{words}, measured", [(size, statistics.median(times)) for size, times in points.items()])
        picture.add(f"{words}, max-rate", [(size, message_s(printed, "inter_node", size, pairs)) for size in points], True)
    return f"""### Table 1, fitted anew

`mpistair machine fit --method ols` on the raw ping-pongs, thresholds of 500 and 8,000 B as in the authors' code. The printed
values come out (to {100 * worst:.0f} % and better, but for rendezvous between nodes; to {100 * worst_of_samples:.0f} % by a line
through every sample, where `machine fit` takes the median of each size first) on three conditions, of which the data's files say
nothing: a row counts **ints of 4 bytes**, a time is that of a **round trip**, and one line is fitted through the samples of **all** numbers
of pairs together, from 1 to 8 or 16. Of rendezvous messages between nodes, which share the injection limit, the fit is by
the number of pairs, so alpha and R_b are those of one pair alone (B fits all at once). R_N printed 6.6e9 B/s; BW({PROCESSES}) fitted
{injection:.2g} B/s.

{chr(10).join(lines)}
{show(pictures, "bluewaters-pingpong", picture)}"""


def message_s(table, level, size, pairs=1):
    """B eq. 2 for one message of each of so many processes of a node."""
    protocol = SHORT if size < 500 else EAGER if size < 8000 else RENDEZVOUS
    rate = table[(level, protocol, "bw", "1")]
    injection = table.get((level, protocol, "injection", "-"), math.inf)
    return table[(level, protocol, "tau", "-")] + pairs * size / min(injection, pairs * rate)


def volleys(path):
    """HighVolumePingPong: (messages, ints in all, seconds of a round trip), minima over what a line has."""
    messages = size = None
    for line in open(path):
        words = line.split()
        if line.startswith("Num Msgs"):
            messages = int(words[-1])
        elif line.startswith("SizeMsgs"):
            size = int(words[-1])
        elif messages and len(words) == 4 and "e" in words[0]:
            yield messages, size, [float(word) for word in words]
            messages = None


def gamma(pictures):
    printed = shipped("blue-waters")
    lines = ["| messages | gamma from each file's fastest and slowest run, s |", "| --- | --- |"]
    picture = Picture("Blue Waters: n messages in reverse order, 256 kB in all", "messages", "seconds")
    found = collections.defaultdict(list)
    for level, name in (("intra_socket", "queue_socket_queue"), ("inter_socket", "queue_node_queue"),
                        ("inter_node", "queue_network_queue")):
        points = {}
        for messages, size, times in volleys(OPTIONS.data / "bluewaters" / name):
            if messages >= 512 and size <= 8 * messages:
                found[messages] += [(seconds / 2 - messages * message_s(printed, level, ELEMENT_BYTES * size / messages)) /
                                    messages ** 2 for seconds in (min(times), max(times))]
            if size == 65536:
                points[messages] = min(times) / 2
        picture.add(f"{level}, measured", points.items())
        picture.add(f"{level}, with queue", [(n, n * message_s(printed, level, ELEMENT_BYTES * 65536 / n) +
                                               printed[("any", "any", "gamma", "-")] * n * n) for n in points], True)
    for messages in sorted(found):
        lines.append(f"| {messages} | {min(found[messages]):.2g} to {max(found[messages]):.2g} |")
    all_of = [value for values in found.values() for value in values]
    return f"""### Queue search

Time of a volley of n messages whose receives are posted in reverse, less n messages of B eq. 2, over n^2. The printed 8.4e-9 s is an upper
bound; the files give {min(all_of):.2g} to {max(all_of):.2g}, more for longer queues once these leave the caches. Two of the four runs of a
line are 8 % faster than the others.

{chr(10).join(lines)}
{show(pictures, "bluewaters-queue", picture)}"""


def contention():
    """B's four Geminis in a line: all data of 32 processes of two of them pass one link, in each direction."""
    printed, values = shipped("blue-waters"), []
    for name in ("nodecomm_contention_128.out", "nodecomm_contention_256.out"):
        for messages, size, times in volleys(OPTIONS.data / "bluewaters" / name):
            total = ELEMENT_BYTES * size
            if messages <= 16 and total / messages >= 8000:
                rest = min(times) / 2 - messages * printed[("inter_node", RENDEZVOUS, "tau", "-")]
                rest -= PROCESSES * total / printed[("inter_node", RENDEZVOUS, "injection", "-")]
                values.append((total / messages, rest / (2 * 2 * PROCESSES * total)))
    by_size = collections.defaultdict(list)
    for size, value in values:
        by_size[size].append(value)
    lines = ["| bytes of a message | delta, s/B |", "| --- | --- |"]
    lines += [f"| {size:.0f} | {statistics.median(found):.2g} |" for size, found in sorted(by_size.items())]
    largest = statistics.median(by_size[max(by_size)])
    return f"""### Contention

What the volleys over one link take beyond B eq. 2, by the bytes of the link, those of the 64 processes of two Geminis. Printed: 1.0e-10 s/B. The largest messages
give {largest:.2g}; twice that, where l counts the 32 processes of one Gemini, is the printed value.

{chr(10).join(lines)}
"""


def amg_levels(path):
    """Levels of an AMG hierarchy: dictionaries of what the file says, with `what` and `level`."""
    level, found = None, []
    for line in open(path):
        line = line.strip()
        match = re.match(r"([^:=]+?)\s*[:=]\s*([-+.e0-9]+)$", line)
        if line.startswith("Level "):
            level = int(line.split()[1])
        elif line.startswith("A*") or line.endswith("Communication:"):
            found.append({"what": line.rstrip(":"), "level": level})
        elif match and found:
            found[-1].setdefault(match[1], float(match[2]))
    return [row for row in found if row.get("Comm Time", 0) > 0 and row.get("Total Bytes", 0) > 0]


def amg_model(table, row):
    """B eq. 2, 3, 5 with 7, from the most messages and bytes of a process."""
    rate_s = 0
    for place, level in (("Socket", "intra_socket"), ("Node", "inter_socket"), ("", "inter_node")):
        for word, protocol in (("Short", SHORT), ("Eager", EAGER), ("Rend", RENDEZVOUS)):
            rate = table[(level, protocol, "bw", "1")]
            injection = table.get((level, protocol, "injection", "-"), math.inf)
            rate_s += row.get(f"Num {word} {place}".strip(), 0) * table[(level, protocol, "tau", "-")]
            rate_s += PROCESSES * row.get(f"Size {word} {place}".strip(), 0) / min(injection, PROCESSES * rate)
    queue_s = table[("any", "any", "gamma", "-")] * row.get("Max Num Msgs", 0) ** 2
    hops = row.get("Byte Hops", 0) / row["Total Bytes"]
    link_s = table[("any", "any", "delta", "-")] * 2 * hops ** 3 * row["Total Bytes"] / max(1, row["Num Active Processes"]) * PROCESSES
    return rate_s, queue_s, link_s


TERMS = ["max-rate", "+ queue", "+ queue/3", "+ contention", "+ both"]


def amg_errors(table, levels):
    """T eq. 11 over the levels, of each of TERMS."""
    total, errors = sum(row["Comm Time"] for row in levels), [0] * len(TERMS)
    for row in levels:
        rate, queue, link = amg_model(table, row)
        for i, model in enumerate((rate, rate + queue, rate + queue / 3, rate + link, rate + queue + link)):
            errors[i] += abs(model - row["Comm Time"]) / total
    return errors


def amg(pictures):
    table, errors_of, picture_of, n_levels = shipped("blue-waters"), collections.defaultdict(list), {}, {}
    for path in sorted((OPTIONS.data / "bluewaters").glob("amg_*")):
        name = re.match(r"amg_(.*?_\d+)", path.name)[1]
        rows = [row for row in amg_levels(path) if "TAP" not in row["what"] and row.get("Byte Hops", 0) < 100 * row["Total Bytes"]]
        for what in sorted({row["what"] for row in rows}):
            levels = {(row["level"], row["Comm Time"]): row for row in rows if row["what"] == what}.values()
            if len(levels) < 4:
                continue
            key = (name, what.replace(" Communication", ""))
            errors_of[key].append(amg_errors(table, levels))
            n_levels[key] = max(len({row["level"] for row in levels}), n_levels.get(key, 0))
            if path.name == "amg_lin_elas_8192.out":
                picture = Picture(f"Blue Waters, 8,192 processes, linear elasticity: {what}", "level", "seconds", is_linear=True)
                first = {row["level"]: row for row in levels}
                picture.add("measured", [(n, row["Comm Time"]) for n, row in first.items()])
                for label, terms in (("max-rate", 1), ("+ queue", 2), ("+ both", 3)):
                    picture.add(label, [(n, sum(amg_model(table, row)[:terms])) for n, row in first.items()], True)
                picture_of[what] = show(pictures, "bluewaters-" + {"A*P": "spgemm", "A*x": "spmv"}[what], picture)
    lines = ["| matrix, processes | exchange | files | levels | " + " | ".join(TERMS) + " |", "| --- | --- | --- | --- | " + "--- | " * len(TERMS)]
    for (name, what), errors in errors_of.items():
        cells = [f"{100 * statistics.median(column):.0f} %" for column in zip(*errors)]
        lines.append(f"| {name} | {what} | {len(errors)} | {n_levels[name, what]} | {' | '.join(cells)} |")
    return f"""### Levels of algebraic multigrid (B Figs. 10, 11)

Time of the exchanges of each level, the error of a model as T eq. 11 over the levels: sum |measured - model| / sum measured, the median of repeated
jobs. The files have the most messages and bytes of a process, so these are the models' equations for the busiest process, with the printed table. Levels
whose byte hops are damaged are left out. B finds the searched length of the queue to be n^2/3, which is the column in the middle.

{chr(10).join(lines)}

The queue is what the exchanges of linear elasticity on 8,192 processes lack: with its bound the products with a vector come within
a few percent, and with n^2/3 they do not. Contention by eq. 7 is an upper bound and more than the whole time in half of the rows.
Of the anisotropic matrix nothing is concluded: on 1,024 processes the busiest one of level 0 sends 717 kB on its socket, for which the file has 9 ms, 80 times
what Table 1 and the ping-pongs give, so its times may be those of many exchanges.
{picture_of.get("A*x", "")}{picture_of.get("A*P", "")}"""


# T: the staircase on Summit ------------------------------------------------------------------------------------------

def summit_rows(path, of="CPU"):
    """Lines `Size S times...` of the part of a file whose title names `of`, in bytes."""
    part = ""
    for line in open(path):
        if line.startswith("Timing"):
            part = line
        words = line.split()
        if of in part and line.startswith("Size") and len(words) > 2:
            yield ELEMENT_BYTES * int(words[1]), [float(word) for word in words[2:]]


def predict(pairs, sizes, table, models):
    """The slowest rank's time by each model: pairs of processes of two nodes, each with messages of these sizes."""
    with open("p.csv", "w") as out:
        out.write("src,dst,bytes\n")
        for pair in range(pairs):
            out.writelines(f"{pair},{pairs + pair},{size}\n" for size in sizes)
    with open("l.csv", "w") as out:
        out.write("rank,node,socket\n" + "".join(f"{rank},{rank // pairs},{rank % pairs * 2 // max(1, pairs)}\n" for rank in range(2 * pairs)))
    found = collections.defaultdict(float)
    for row in json.loads(mpistair("predict", "--pattern", "p.csv", "--placement", "l.csv", "--machine", table, "--model",
                                   ",".join(models), "--json")):
        found[row["model"]] = max(found[row["model"]], row["time_s"])
    return found


def least_of(paths, of="CPU"):
    """The fastest of the jobs, by size and column: outliers of a shared network are only slower."""
    least = {}
    for path in paths:
        for size, times in summit_rows(path, of):
            known = least.get(size, times)
            least[size] = [min(pair) for pair in zip(known, times)]
    return least


def staircase(pictures):
    folder, models = OPTIONS.data / "summit", ["postal", "max-rate", "staircase", "flow"]
    jobs = sorted(folder.glob("maxrate.*"))
    steps = (1, 2, 4, 6, 8, 12, 16, 20, 24, 32, 40)
    fitted = fit([("inter_node", size, n, times[n - 1]) for size, times in least_of(jobs[:1]).items() for n in steps],
                 "--thresholds", "0,256,16384")
    pathlib.Path("summit.tbl").write_text(pathlib.Path("fitted.tbl").read_text())
    bandwidths = {n: fitted[("inter_node", RENDEZVOUS, "bw", str(n))] for n in steps}
    top = max(bandwidths.values())
    limit = next((n for n in steps if bandwidths[n] >= 0.95 * top), steps[-1])
    lines = ["| measured | sizes | " + " | ".join(models) + " | Table III and IV, max-rate |", "| --- | --- | " + "--- | " * (len(models) + 1)]
    for name, pattern, label in (("maxrate", "each", "1 to 40 pairs, each of that size, other jobs"),
                                 ("node_pong", "divided", "the size divided among 1 to 32 pairs"),
                                 ("mult_pong", "several", "1 to 40 messages of that size of one pair"),
                                 ("mult_pong_split", "parts", "the size divided into 1 to 40 messages of one pair")):
        files = sorted({path for path in folder.glob(name + ".*")})
        measured = least_of(files[1:] if name == "maxrate" else files)
        for low, high in ((256, 16383), (16384, 1 << 30)):
            pairs = collections.defaultdict(list)
            for size, times in measured.items():
                for n in steps:
                    share = size // n if pattern in ("divided", "parts") else size
                    if not low <= size <= high or n > len(times) or share < 1:
                        continue
                    alone = pattern in ("several", "parts")
                    shape = (1, [share] * n) if alone else (n, [share])
                    found = predict(*shape, "summit.tbl", models)
                    for model in models:
                        pairs[model].append((times[n - 1], found[model]))
                    pairs["printed"].append((times[n - 1], predict(*shape, "summit", ["node-aware"])["node-aware"]))
            if pairs:
                lines.append(f"| {label} | {'eager' if low == 256 else 'rendezvous'} | " +
                             " | ".join(f"{100 * median_error(pairs[model]):.0f} %" for model in [*models, "printed"]) + " |")
    picture = Picture("Summit: bandwidth of a node by pairs, rendezvous", "pairs", "B/s", is_linear=True)
    picture.add("fitted BW(n)", bandwidths.items())
    picture.add("n BW(1)", [(n, n * bandwidths[1]) for n in steps], True)
    return f"""## T: is the staircase right on a machine that is not Thune's?

BW(n) fitted by `mpistair machine fit` to one job's max-rate samples, then rounds of other jobs and other shapes predicted by `mpistair predict --pattern`: medians of
|model / measured - 1|, of each size the fastest of the jobs. A row of these files counts floats of 4 bytes: so they agree with the
authors' ping-pongs in bytes. The rendezvous bandwidth of a node is within 5 % of its top, {top:.2g} B/s, from {limit} pairs on (H's Table IV
has 3.3e10): a step, then flat. All messages of these files have one volume, so the staircase's own case, ranks that end one after the other, is not in them.

{chr(10).join(lines)}
{show(pictures, "summit-staircase", picture)}"""


# H: paths of GPU data on Summit --------------------------------------------------------------------------------------

WAYS = [("Cuda-Aware", "gpudirect"), ("Extra Message", "extra-message"), ("Duplicate DevPtr", "duplicate-pointer"), ("3-Step", "3-step")]


def way_of(title):
    return next((path for word, path in WAYS if word in title), None)


def collectives_of(paths):
    """Times by path: the fastest of all jobs and, of MPI_Alltoallv, of both implementations (as H does)."""
    best = {}
    for path in paths:
        way = None
        for line in open(path):
            words = line.split()
            if line.rstrip().endswith(":"):
                way = way_of(line)
            elif way and words and re.match(r"[-0-9.e+]+$", words[0]) and len(words) > 4:
                times = [float(word) for word in words]
                known = best.get(way, times)
                best[way] = [min(x for x in (a, b) if x > 0) if max(a, b) > 0 else -1 for a, b in zip(known, times)]
    return best


def predicted_ways(nodes, size, *options):
    messages = 6 * nodes - 1
    return {row["path"]: row["time_s"] for row in json.loads(
        mpistair("predict", "--gpu", "--machine", "summit", "--bytes", size * messages, "--messages", messages, "--gpus", 6,
                 "--ppn", 36, "--level", "inter_node", "--json", *options))["paths"]}


def gpu_paths(pictures):
    folder, kinds = OPTIONS.data / "summit", (("a part of each message", ()), ("whole messages", ("--whole-messages",)))
    lines = ["| nodes | a process sends | " + " | ".join(path for _, path in WAYS) + " | fastest said rightly |", "| --- | --- | " + "--- | " * (len(WAYS) + 1)]
    everything, hits, cases = collections.defaultdict(list), collections.Counter(), 0
    for nodes in (2, 4, 8, 16, 32):
        measured = collectives_of(sorted(folder.glob(f"all_to_all_v_{nodes}.*")))
        columns = min(len(times) for times in measured.values())
        cases += columns
        for kind, options in kinds:
            pairs, right, drawn = collections.defaultdict(list), 0, collections.defaultdict(list)
            for column in range(columns):
                found = predicted_ways(nodes, 4 << column, *options)
                times = {path: measured[path][column] for _, path in WAYS if path in measured and measured[path][column] > 0}
                right += min(times, key=times.get) == min(times, key=lambda path: found[path])
                for path, seconds in times.items():
                    pairs[path].append((seconds, found[path]))
                    everything[kind, path].append((seconds, found[path]))
                    drawn[path].append((4 << column, seconds, found[path]))
            hits[kind] += right
            lines.append(f"| {nodes} | {kind} | " + " | ".join(f"{100 * median_error(pairs[path]):.0f} %" for _, path in WAYS) +
                         f" | {right} of {columns} |")
        if nodes == 32:
            picture = Picture("Summit, MPI_Alltoallv of GPU buffers, 32 nodes, whole messages", "bytes of a message", "seconds")
            for _, path in WAYS:
                picture.add(f"{path}, measured", [point[:2] for point in drawn[path]])
                picture.add(f"{path}, model", [(size, model) for size, _, model in drawn[path]], True)
    for kind, _ in kinds:
        lines.append(f"| all | {kind} | " + " | ".join(f"{100 * median_error(everything[kind, path]):.0f} %" for _, path in WAYS) +
                     f" | {hits[kind]} of {cases} |")
    return f"""## H: paths of GPU data on Summit

`mpistair predict --gpu --machine summit` (Tables I to IV) against MPI_Alltoallv over GPU buffers, 6 GPUs and 36 processes a node, a message of each GPU to
each other one, 4 B to 128 kB; the fastest of three jobs, and of Spectrum MPI's own and of Isend and Irecv, as H takes it. Medians of |model / measured - 1|. All messages count as
between nodes, which of 2 nodes is right for 6 of 11 and of 32 for 186 of 191. The published formula lets each process of a GPU send a part of
each message; the program lets each send whole messages to a sixth of the partners (`--whole-messages`), so it pays a sixth of the latencies.

{chr(10).join(lines)}
{show(pictures, "summit-alltoallv", picture)}"""


def document(pictures):
    return f"""# Evidence

What mpistair's models say of machines that it never ran on, from measurements that others published: Blue Waters (Bienz, Gropp, Olson 2018; here B)
and Summit (Bienz, Olson, Gropp, Lockhart 2021; here H), beside the staircase of Thune et al. 2023 (T). All figures of this page are made by

    python3 tests/bench/evidence.py build/mpistair DATA --write share/doc

where DATA holds the authors' raw files (repositories bienz2/BlueWatersModel and bienz2/BenchPress, benchmarks/summit, as folders bluewaters and summit);
`meson test -C build --benchmark evidence` does the same where they lie in ../shared/data. What they mean for a model is in [{MODELS}]({MODELS}).

## B: Blue Waters

{table_1(pictures)}
{gamma(pictures)}
{contention()}
{amg(pictures)}
{staircase(pictures)}
{gpu_paths(pictures)}"""


def wrapped(text):
    """Fills paragraphs; tables, headings, pictures and commands stay."""
    parts = [part.strip("\n") for part in re.split(r"\n\s*\n", text.strip("\n"))]
    return "\n\n".join(part if part[0] in "|#! " else textwrap.fill(part, 120, break_long_words=False, break_on_hyphens=False)
                       for part in parts) + "\n"


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    parser.add_argument("mpistair", type=os.path.abspath)
    parser.add_argument("data", type=lambda name: pathlib.Path(name).resolve())
    parser.add_argument("--write", type=lambda name: pathlib.Path(name).resolve())
    OPTIONS = parser.parse_args()
    if not (OPTIONS.data / "bluewaters").is_dir():
        print(f"skipped: no measured data in {OPTIONS.data}")
        return 77
    pictures = {}
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        text = wrapped(document(pictures))
        os.chdir("/")
    if not OPTIONS.write:
        print(text)
        return 0
    page = OPTIONS.write / "EVIDENCE.md"
    kept = page.read_text().partition("\n## Import\n")  # of import_evidence.py
    page.write_text(text + "".join(kept[1:]))
    (OPTIONS.write / "evidence").mkdir(exist_ok=True)
    for name, svg in pictures.items():
        (OPTIONS.write / "evidence" / f"{name}.svg").write_text(svg)
    return 0


if __name__ == "__main__":
    sys.exit(main())
