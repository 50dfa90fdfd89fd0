"""`mpistair pattern` with wrong options and inputs: exit code and message of each, and no file is written or touched.

usage: test_pattern_malformed.py MPISTAIR
"""
import os
import random
import subprocess
import sys
import tempfile

MPISTAIR = os.path.abspath(sys.argv[1])
READ = ["--pattern", "p.csv", "--placement", "l.csv"]

# arguments, exit code, in the message
CASES = [
    ([], 2, "expected one of: a kind of pattern, --from TRACE.db, --pattern P.csv"),
    (["star", "--ranks", "4"], 2, "no kind 'star'"),
    (["x" * 5000, "--ranks", "4"], 2, "no kind 'xxx"),
    (["pairs", "mesh", "--ranks", "4"], 2, "'mesh' after 'pairs': expected one kind"),
    (["pairs"], 2, "expected --ranks N or --cores N"),
    (["pairs", "--ranks", "0"], 2, "--ranks 0: expected a whole number, 1 to 16777216"),
    (["pairs", "--ranks", "-2"], 2, "--ranks -2: expected a whole number"),
    (["pairs", "--ranks", "4.5"], 2, "--ranks 4.5: expected a whole number"),
    (["pairs", "--ranks", "99999999999999999999"], 2, "--ranks 99999999999999999999: expected a whole number"),
    (["pairs", "--ranks"], 2, "--ranks: a value is missing"),
    (["pairs", "--nodes", "16777216", "--sockets", "1024", "--cores", "65536"], 2, "expected at most one rank per core"),
    (["pairs", "--ranks", "9", "--nodes", "2", "--cores", "4"], 2, "9 ranks on 2 nodes of 1 sockets of 4 cores"),
    (["pairs", "--ranks", "5"], 1, "pairs: 5 ranks; expected an even number"),
    (["pairs", "--ranks", "4", "--bytes", "1:2"], 2, "--bytes MIN:MAX does not apply to pairs"),
    (["mesh", "--ranks", "4", "--bytes", "9"], 2, "--bytes does not apply to a mesh: use --cell-bytes"),
    (["irregular", "--ranks", "4", "--bytes", "9:2"], 2, "--bytes MIN:MAX 2: expected a whole number, 9 to"),
    (["irregular", "--ranks", "4", "--bytes", ":"], 2, "--bytes : expected a whole number"),
    (["irregular", "--ranks", "4", "--bytes", ""], 2, "--bytes : expected a whole number"),
    (["irregular", "--ranks", "4", "--bytes", "9" * 4000], 2, "expected a whole number"),
    (["irregular", "--ranks", "1"], 1, "irregular: 1 rank; expected 2 or more"),
    (["irregular", "--ranks", "4", "--degree", "0"], 2, "--degree 0: expected a whole number, 1 to"),
    (["incast", "--ranks", "1"], 1, "incast: 1 rank; expected 2 or more"),
    (["outcast", "--ranks", "1"], 1, "outcast: 1 rank; expected 2 or more"),
    (["neighbours", "--ranks", "8", "--sockets", "2"], 1, "neighbours: a socket with 4 ranks; expected 5 or more"),
    (["mixed", "--ranks", "6"], 1, "mixed: 6 ranks on 1 nodes of 1 sockets of 6 cores; expected sockets in pairs"),
    (["mesh", "--ranks", "1000", "--cells", "10"], 1, "cells for 1000 ranks; expected a cell a rank or more (--cells)"),
    (["mesh", "--ranks", "4", "--spread", "nan"], 2, "--spread nan: expected a number, 0 to 10"),
    (["mesh", "--ranks", "4", "--spread", "-1"], 2, "--spread -1: expected a number"),
    (["mesh", "--ranks", "4", "--cells", "0"], 2, "--cells 0: expected a whole number"),
    (["mesh", "--ranks", "4", "--seed", "4294967296"], 2, "--seed 4294967296: expected a whole number"),
    (["pairs", "--ranks", "4", "--map", "core"], 2, "--map core: expected block, socket or node"),
    (["pairs", "--ranks", "4", "--colour"], 2, "--colour: not an option"),
    (["pairs", "--ranks", "4", "-o", "no/such/folder/x"], 1, "no/such/folder/x.P.csv: cannot be written"),
    (["pairs", "--ranks", "4", "-o", "n" * 5000], 1, "--output: a name of 4096 bytes or more"),
    (["pairs", "--ranks", "4", "--kind", "1"], 2, "--kind requires --from TRACE.db"),
    (["pairs", "--ranks", "4", "--from", "none.db"], 2, "expected one of: a kind of pattern"),
    (["--ranks", "4"], 2, "expected a kind of pattern"),
    (["--from", "none.db"], 1, "none.db: cannot be opened"),
    (["--from", "p.csv"], 1, "p.csv: not a trace database"),
    (["--from", "none.db", "--kind", "x"], 2, "--kind x: expected a whole number"),
    (["--pattern", "p.csv"], 2, "expected --pattern and --placement together"),
    (["--placement", "l.csv"], 2, "expected one of: a kind"),
    ([*READ, "-o", "x"], 2, "--output does not apply to --pattern"),
    (["--pattern", "large.csv", "--placement", "l.csv"], 1, "the pattern's bytes are more than 64 bits hold"),
    (["--pattern", "rank.csv", "--placement", "l.csv"], 1, "rank.csv:2: column 'dst': rank 2 is not in the placement"),
    (["--pattern", "empty.csv", "--placement", "l.csv"], 1, "empty.csv:1: empty file"),
]
FILES = {"p.csv": "src,dst,bytes\n0,1,8\n", "l.csv": "rank,node,socket\n0,0,0\n1,0,0\n", "empty.csv": "",
         "large.csv": "src,dst,bytes\n0,1,18446744073709551615\n1,0,1\n", "rank.csv": "src,dst,bytes\n0,2,8\n"}


def snapshot():
    return {name: open(name, "rb").read() for name in os.listdir(".")}


def check(arguments, code, message):
    """What is wrong, or None."""
    before = snapshot()
    done = subprocess.run([MPISTAIR, "pattern", *arguments], capture_output=True, text=True, timeout=60)
    what = f"{' '.join(arguments)[:100]}: exit {done.returncode}, expected {code} and '{message}': {done.stderr[:500]}"
    sane = done.returncode == code and message in done.stderr and done.stderr.startswith("mpistair: ")
    return None if sane and not done.stdout and len(done.stderr) < 1500 and snapshot() == before else what


def check_random(generator):
    """Options of any sense: an exit code of ours, no crash; a pattern that is written can be read."""
    words = [generator.choice(["mesh", "pairs", "neighbours", "mixed", "incast", "outcast", "irregular"])]
    for option in generator.sample(["--ranks", "--nodes", "--sockets", "--cores", "--seed", "--bytes", "--degree", "--cells",
                                    "--layers", "--cell-bytes", "--far", "--far-bytes", "--spread"], generator.randint(1, 6)):
        words += [option, generator.choice(["0", "1", "2", "3", "7", "12", "40", "1:5", "x"])]
    words += ["-o", "random"]
    done = subprocess.run([MPISTAIR, "pattern", *words], capture_output=True, text=True, timeout=60)
    if done.returncode not in (0, 1, 2) or "Sanitizer" in done.stderr or "runtime error" in done.stderr:
        return f"{' '.join(words)}: exit {done.returncode}: {done.stderr}"
    if done.returncode != 0:
        return None
    again = subprocess.run([MPISTAIR, "pattern", "--pattern", "random.P.csv", "--placement", "random.L.csv"],
                           capture_output=True, text=True, timeout=60)
    return None if again.stdout == done.stdout else f"{' '.join(words)}: read again:\n{again.stdout}{again.stderr}"


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, text in FILES.items():
            with open(name, "w") as file:
                file.write(text)
        failures = [check(*case) for case in CASES]
        generator = random.Random(7)
        failures += [check_random(generator) for _ in range(100)]
        os.chdir("/")
    failures = [failure for failure in failures if failure is not None]
    print("\n".join(failures))
    print(f"{len(CASES) + 100 - len(failures)} of {len(CASES) + 100} as expected")
    return 1 if failures else 0


sys.exit(main())
