"""Malformed sweeps and results of the benchmark of fine-grained messaging: exit code and message of each, and that no file is left
behind or changed.

usage: test_sweep_malformed.py MPISTAIR [TABLE]
With TABLE it prints what was said of each.
"""
import os
import subprocess
import sys
import tempfile

MPISTAIR = os.path.abspath(sys.argv[1])
SHOW = len(sys.argv) > 2
GOOD = "--bytes 4096 65536\n--parts 2 4\n--interface p2p rma\n"

# what is wrong, content, in the message (None: it is well)
SWEEPS = [
    ("nothing", GOOD, None),
    ("CRLF, comments, a byte order mark, no end", "\ufeff# a sweep\r\n\r\n  --bytes  4096\t65536 # two\r\n--fold\r\n--parts 2", None),
    ("empty", "", "no option in it; expected lines as '--bytes 4096 65536'"),
    ("comments alone", "# --bytes 1\n\n", "no option in it"),
    ("a zero byte", "--bytes 1\0\n", "s.txt:1: "),
    ("no option", "bytes 4096\n", "s.txt:1: 'bytes': expected an option of mpistair finegrain, as --bytes"),
    ("misspelt", GOOD + "--thread 4\n", "s.txt:4: '--thread': expected an option of mpistair finegrain, as --bytes; did you mean --threads?"),
    ("an option of the command", "--output x\n", "s.txt:1: '--output': expected an option"),
    ("seed", GOOD + "--seed 1 2\n", "s.txt:4: --seed: not in a sweep; it is an option of the command"),
    ("twice", GOOD + "--parts 8\n", "s.txt:4: --parts: is in an earlier line, too; expected all its values in one line"),
    ("a value twice", "--bytes 1 2 1\n", "s.txt:1: --bytes 1: is given twice in the line"),
    ("no value", GOOD + "--peers\n", "s.txt:4: --peers: a value is missing"),
    ("a comment for values", "--peers # 6\n", "s.txt:1: --peers: a value is missing"),
    ("a value of a flag", GOOD + "--fold yes\n", "s.txt:4: --fold yes: takes no value"),
    ("letters", "--bytes 4k\n", "s.txt:1: --bytes 4k: expected a whole number, 1 to 2147483647"),
    ("commas", "--bytes 1,2\n", "s.txt:1: --bytes 1,2: expected a whole number"),
    ("0", "--bytes 1 0\n", "s.txt:1: --bytes 0: expected a whole number, 1 to"),
    ("negative", "--threads -4\n", "s.txt:1: --threads -4: expected a whole number, 1 to"),
    ("overflow", "--trials 99999999999999999999\n", "s.txt:1: --trials 99999999999999999999: expected a whole number"),
    ("NaN", "--compute nan\n", "s.txt:1: --compute nan: expected a number, 0 to 3600"),
    ("infinity", "--compute 1e999\n", "s.txt:1: --compute 1e999: expected a number"),
    ("an interface that there is not", "--interface p2p rms\n", "s.txt:1: --interface rms: expected p2p, rma, partitioned or persistent; did you mean rma?"),
    ("arrivals", "--arrivals lagard:4\n", "s.txt:1: arrivals 'lagard:4': expected laggard:PERCENT"),
    ("a file of arrivals that is not there", "--arrivals laggard:1 kde:none.csv\n", "s.txt:1: none.csv: "),
    ("a trace that is not there", "--arrivals trace:none.db\n", "s.txt:1: none.db"),
    ("several widths", "--width 1e-6 2e-6\n", "s.txt:1: --width: one value at most"),
    ("none fits", "--threads 4\n--parts 3 5\n", "none of 2 combinations of values is valid: --parts 3: expected a divisor of --threads 4"),
    ("the same by nine digits", "--compute 0.001 1e-3\n--bytes 1 2\n--parts 1\n", None),
    ("too many", "".join(f"--{name} {' '.join(map(str, range(1, 101)))}\n" for name in ("bytes", "trials", "iterations")),
     "more than 100000 combinations of values; expected fewer"),
    ("a line without end", "--bytes " + "1" * 70000 + "\n", "s.txt:1: "),
    ("binary", bytes(range(1, 256)), "s.txt:1: "),
]
HEADER = ("interface,rma,mpi,ranks,buffers_per_rank,peers,bytes,threads,parts,compute_s,arrivals,seed,trials,iterations,bsp_s,bsp_low_s,"
          "bsp_high_s,fine_s,fine_low_s,fine_high_s,speedup_percent,speedup_low_percent,speedup_high_percent,oversleep_s,void\n")
ROW = "p2p,,mpich,8,1,6,4096,16,4,0.004,laggard:4,1,5,200,1,1,1,1,1,1,{},1,2,1e-6,\n"


def row(old="", new="", speedup="1.5"):
    return ROW.format(speedup).replace(old, new, 1)


# Also without a speed-up, which leaves nothing to draw: such a file is read whole.
NOTHING = "no row of it has a speed-up: there is nothing to draw"
RESULTS = [
    ("header alone", HEADER, NOTHING),
    ("no speed-up", HEADER + row(speedup=""), NOTHING),
    ("CRLF", (HEADER + row(speedup="")).replace("\n", "\r\n"), NOTHING),
    ("the same twice", HEADER + row(speedup="") * 2, NOTHING),
    ("empty", "", "r.csv:1: empty file; expected a header line with interface,rma,mpi,"),
    ("no header", row(), "r.csv:1: "),
    ("cut off", HEADER + row() + "p2p,,mp", "r.csv:3: 3 fields, the header has 25"),
    ("NaN", HEADER + row(speedup="nan"), "r.csv:2: speedup_percent 'nan' is not a finite number"),
    ("infinity", HEADER + row(speedup="1e999"), "r.csv:2: speedup_percent '1e999' "),
    ("letters", HEADER + row() + row(speedup="much"), "r.csv:3: speedup_percent 'much' is not a finite number"),
    ("interface", HEADER + row("p2p", "mpi"), "r.csv:2: --interface mpi: expected p2p, rma, partitioned or persistent"),
    ("rma without an epoch", HEADER + row("p2p", "rma"), "r.csv:2: rma is empty; expected fence or passive"),
    ("an epoch of p2p", HEADER + row("p2p,", "p2p,fence"), "r.csv:2: --rma fence: only with --interface rma"),
    ("negative", HEADER + row(",4096,", ",-4096,"), "r.csv:2: --bytes -4096: expected a whole number"),
    ("overflow", HEADER + row(",4096,", ",99999999999999999999,"), "r.csv:2: --bytes 99999999999999999999: expected"),
    ("parts", HEADER + row(",16,4,", ",16,5,"), "r.csv:2: --parts 5: expected a divisor of --threads 16"),
    ("no MPI", HEADER + row("mpich", ""), "r.csv:2: mpi is empty"),
    ("no arrivals", HEADER + row("laggard:4", ""), "r.csv:2: arrivals is empty"),
    ("no ranks", HEADER + row(",8,1,", ",0,1,"), "r.csv:2: ranks 0, expected 1 or more"),
    ("a column too few", HEADER.replace(",void", ""), "r.csv:1: "),
    ("a line without end", HEADER + "p2p" * 500000, "r.csv:2: "),
    ("too many charts", HEADER + "".join(row("laggard:4", f"laggard:{i}") for i in range(65)), "65 charts, expected at most 64"),
]
failures = []


def run(*words):
    try:
        return subprocess.run([MPISTAIR, "finegrain", *words], capture_output=True, text=True, errors="replace", timeout=60)
    except subprocess.TimeoutExpired:
        sys.exit(f"no end: {words}")


def write(path, content):
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def check(what, done, codes, expected):
    if SHOW:
        print(f"{what}: {done.returncode} {done.stderr.strip()[:200]}")
    line = done.stderr.strip()
    if done.returncode not in codes or done.stdout or (expected is not None and expected not in line):
        failures.append(f"{what}: exit {done.returncode}, {line[:300]!r}, expected {expected!r}")


def check_sweep(what, content, expected):
    """A launcher that is none comes behind the file: its message says that the file was taken."""
    write("s.txt", content)
    done = run("--sweep", "s.txt", "-o", "out.csv", "--", "./no-launcher")
    check(what, done, (1,) if expected is None else (2,), expected or "no-launcher")
    if os.path.exists("out.csv"):
        failures.append(f"{what}: out.csv is left")


def check_results(what, content, expected):
    write("r.csv", content)
    check(what, run("--plot", "p.html", "r.csv"), (1,), expected)
    if os.path.exists("p.html"):
        failures.append(f"{what}: p.html is left")


def check_usage():
    for words, expected in ((("--sweep", "s.txt", "--", "true"), "--sweep requires -o OUT.csv"),
                            (("--sweep", "s.txt", "-o", "o.csv"), "no launcher: expected -- mpiexec -n RANKS"),
                            (("--plot", "p.html"), "expected only a file of results"),
                            (("--plot", "p.html", "a.csv", "b.csv"), "expected only a file of results"),
                            (("--plot", "p.html", "-o", "o.csv", "a.csv"), "expected only a file of results"),
                            (("--sweep", "s.txt", "-o", "o.csv", "--raw", "r", "--", "true"), "--raw does not apply to --sweep"),
                            (("--plot", "p.html", "--format", "json", "a.csv"), "--format does not apply to --plot"),
                            (("--sweep", "missing.txt", "-o", "o.csv", "--", "true"), "missing.txt")):
        check(f"usage {words}", run(*words), (2,), expected)
    check("missing", run("--plot", "p.html", "missing.csv"), (1,), "missing.csv")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    for case in SWEEPS:
        check_sweep(*case)
    for case in RESULTS:
        check_results(*case)
    check_usage()
    os.chdir("/")
print("\n".join(failures) or f"{len(SWEEPS) + len(RESULTS)} cases ok")
sys.exit(bool(failures))
