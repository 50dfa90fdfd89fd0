"""Public traces of other tools, imported, beside what the format's own tool prints of them.

usage: import_evidence.py MPISTAIR FOLDER [--otf2-print PROGRAM] [--dumpi2ascii PROGRAM] [--machine NAME]

FOLDER holds traces, at any depth: OTF2 archives (.otf2), GOAL (.goal), time-independent traces (.tit) and DUMPI (.bin: files
of a folder whose names differ in the last number alone are one trace, any other file is one rank of a run). The tools are
otf2-print, sst-dumpi's dumpi2ascii, and for texts the text itself. Prints a table of ranks, sends and their bytes: imported, and
the tool's. Each imported trace then goes through report, predict, diff with itself, and export with its messages read back.
Fails where a step does or figures differ; exit status 77, skipped, without traces.
"""
import argparse
import collections
import csv
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile

SENDS = r"MPI_(?:Send|[BSR]send|I[bsr]?send|Sendrecv|Sendrecv_replace)"
OWN = collections.namedtuple("OWN", "ranks sends bytes to_none")


def run(*words):
    done = subprocess.run(list(map(str, words)), capture_output=True, text=True, errors="replace", timeout=600)
    return done.returncode, done.stdout, done.stderr


def output_of(*words):
    code, text, errors = run(*words)
    if code != 0:
        raise RuntimeError(f"exit {code} from {words[0]}: {errors[-500:]}")
    return text


def own_otf2(files):
    text = output_of(OPTIONS.otf2_print, files[0])
    sizes = list(map(int, re.findall(r"^MPI_I?SEND\s.*Length: (\d+)", text, re.M)))
    places = re.findall(r"^LOCATION_GROUP\s.*Type: PROCESS", output_of(OPTIONS.otf2_print, "-G", files[0]), re.M)
    return OWN(len(places), len(sizes), sum(sizes), 0)


def own_goal(files):
    text = files[0].read_text()
    sizes = list(map(int, re.findall(r"^\s*(?:\S+:\s*)?send (\d+)b? to", text, re.M)))
    return OWN(int(re.search(r"num_ranks (\d+)", text)[1]), len(sizes), sum(sizes), 0)


def own_tit(files):
    lines = [line.split() for line in files[0].read_text().splitlines()]
    sizes = [int(words[4]) * (8, 4, 1, 2, 8, 4, 1)[int((words + [6])[5])] for words in lines if words[1:2] in (["send"], ["isend"])]
    return OWN(len({words[0] for words in lines if words}), len(sizes), sum(sizes), 0)


def own_dumpi(files):
    ranks, sends, total, to_none = len(files), 0, 0, 0
    for path in files:
        text = output_of(OPTIONS.dumpi2ascii, "-S", "-X", path)
        types = {int(number): int(size) for number, size in re.findall(r"^Datatype (\d+) .* has size (-?\d+)", text, re.M)}
        persistent = {}
        for name, body in re.findall(r"^(MPI_\w+) entering.*\n((?:(?!MPI_\w+ returning).*\n)*)", text, re.M):
            values = dict(re.findall(r"^\S+ (?:send)?(\w+)=(\[[^\]]*\]|-?\d+)", body, re.M)[::-1])
            if name == "MPI_Comm_size" and values["comm"] == "2":
                ranks = int(values["size"])
            is_init = re.fullmatch("MPI_(Send|[BSR]send)_init", name)
            posted = []
            if is_init or re.fullmatch(SENDS, name):
                of = int(values["count"]) * max(types.get(int(values.get("datatype", values.get("type"))), 1), 0), int(values["dest"])
                persistent.update({values["request"].strip("[]"): of} if is_init else {})
                posted = [] if is_init else [of]
            elif name == "MPI_Recv_init":
                persistent.pop(values["request"].strip("[]"), None)
            elif name in ("MPI_Start", "MPI_Startall"):
                requests = re.findall(r"\d+", values.get("request", values.get("requests", "")))
                posted = [persistent[request] for request in requests if request in persistent]
            for size, peer in posted:
                ranks = max(ranks, peer + 1)
                to_none += peer < 0
                sends, total = (sends + 1, total + size) if peer >= 0 else (sends, total)
    return OWN(ranks, sends, total, to_none)


TOOLS = {".otf2": "otf2_print", ".bin": "dumpi2ascii"}
OWN_OF = {".otf2": own_otf2, ".goal": own_goal, ".tit": own_tit, ".bin": own_dumpi}


def traces(folder):
    found = collections.defaultdict(list)
    for path in sorted(folder.rglob("*")):
        if path.suffix in OWN_OF and path.is_file() and not path.name.startswith("."):
            numbered = re.fullmatch(r"(.*\D)\d+", path.stem) if path.suffix == ".bin" else None
            found[path.parent, numbered[1] if numbered else path.stem, path.suffix].append(path)
    return found


def messages(database):
    with sqlite3.connect(database) as opened:
        return collections.Counter(opened.execute("SELECT src, dst, bytes FROM message"))


def check(trace, work):
    """What does not work of an imported trace."""
    failed = []
    steps = [("report", trace), ("report", trace, "--format", "html", "-o", work / "r.html"), ("diff", trace, trace),
             ("predict", trace, "--machine", OPTIONS.machine)]
    for words in steps:
        code, _, errors = run(OPTIONS.mpistair, *words)
        if code != 0 and not (words[0] == "predict" and code == 1 and errors):
            failed.append(f"{' '.join(map(str, words[:1] + words[2:]))}: exit {code}: {errors.strip()[-300:]}")
        elif code != 0:
            print(f"    predict: {errors.strip()[:300]}")
    expected = messages(trace)
    for form, name in ("goal", "x.goal"), ("simgrid", "x.tit"), ("otf2", "x.otf2"), ("csv", "x.csv"):
        code, _, errors = run(OPTIONS.mpistair, "export", trace, "--to", form, "-o", work / name)
        if code != 0:
            failed.append(f"export --to {form}: exit {code}: {errors.strip()[-300:]}")
            continue
        if form == "csv":
            with open(work / name, newline="", encoding="utf-8") as file:
                back = collections.Counter((int(row["rank"]), int(row["peer"]), int(row["bytes"])) for row in csv.DictReader(file)
                                           if row["what"] == "message")
        else:
            path = work / name / "traces.otf2" if form == "otf2" else work / name
            code, _, errors = run(OPTIONS.mpistair, "import", path, "-o", work / "b.db")
            back = messages(work / "b.db") if code == 0 else None
        # GOAL has no collectives: there they are messages, too.
        if back is None or (expected - back if form == "goal" else expected != back):
            failed.append(f"export --to {form}: read back, {errors.strip()[-300:] if back is None else 'other messages'}")
    shutil.rmtree(work / "x.otf2", ignore_errors=True)
    return failed


def compare(name, suffix, files, work):
    """Prints a row; returns what is wrong."""
    trace, tool = work / "t.db", TOOLS.get(suffix)
    if tool and shutil.which(getattr(OPTIONS, tool)) is None:
        print(f"    {name}{suffix}: left out, as there is no {getattr(OPTIONS, tool)}")
        return []
    code, _, errors = run(OPTIONS.mpistair, "import", *files, *["--incomplete"] * (suffix == ".bin" and len(files) == 1), "-o", trace)
    if code != 0:
        return [f"import: exit {code}: {errors.strip()}"]
    own = OWN_OF[suffix](files)
    with sqlite3.connect(trace) as opened:
        ranks, = opened.execute("SELECT world_size FROM run").fetchone()
        matched, size = opened.execute("SELECT count(*), coalesce(sum(bytes), 0) FROM message").fetchone()
        left = {reason: (n, size) for reason, n, size in opened.execute(
            "SELECT reason, count(*), sum(bytes) FROM unmatched WHERE direction = 'send' GROUP BY 1")}
    none, _ = left.pop("proc_null", (0, 0))
    sends, total = matched + sum(n for n, _ in left.values()), size + sum(size for _, size in left.values())
    reasons = ", ".join(f"{n} {reason}" for reason, (n, _) in sorted(left.items()))
    print(f"| {suffix[1:]} | {name} | {ranks} / {own.ranks} | {sends} / {own.sends} | {total} / {own.bytes} | {none} / {own.to_none} | "
          f"{matched} | {reasons} |", flush=True)
    notes = [line for line in errors.splitlines() if "not imported" in line or "INCOMPLETE" in line]
    print("".join(f"    {line.replace(str(files[0].parent) + '/', '')}\n" for line in notes), end="")
    return ([] if (ranks, sends, total, none) == own else ["other figures than the format's own tool has"]) + check(trace, work)


def main():
    found = traces(OPTIONS.folder)
    if not found:
        print(f"skipped: no traces in {OPTIONS.folder}")
        return 77
    print("| format | trace | ranks | sends | bytes | to nobody | messages | sends without a partner |\n" + "| --- " * 8 + "|")
    wrong = 0
    for (folder, name, suffix), files in found.items():
        with tempfile.TemporaryDirectory() as work:
            failed = compare(str(folder.relative_to(OPTIONS.folder) / name), suffix, files, pathlib.Path(work))
        print("".join(f"    WRONG: {folder.name}/{name}{suffix}: {text}\n" for text in failed), end="", flush=True)
        wrong += len(failed)
    print(f"{len(found)} traces, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("mpistair", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("folder", type=lambda path: pathlib.Path(path).resolve())
    parser.add_argument("--otf2-print", default="otf2-print")
    parser.add_argument("--dumpi2ascii", default="dumpi2ascii")
    parser.add_argument("--machine", default="blue-waters")
    OPTIONS = parser.parse_args()
    sys.exit(main())
