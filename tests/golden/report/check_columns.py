"""What people read fits their terminal: --help of every command at 40, 80 and 100 columns; and at 80 columns, on a terminal,
what query, machine, doctor, predict, replay and pattern print. (check_documents.py holds the pages of the manual.) Off a
terminal tables are whole, and no line of prose is longer than 80. Only a path may be longer, alone
on its line or behind a label, as long as the folder is in which this runs.

usage: check_columns.py MPISTAIR SHARE_SQL SPOOLS_PY GEN_WRAPPERS MPI_TBL
"""
import fcntl
import os
import pathlib
import pty
import re
import select
import struct
import subprocess
import sys
import tempfile
import termios

from made_trace import MPISTAIR, SQL, check, database, end

sys.path.insert(0, sys.argv[3])
import spool  # found in that folder

HERE = pathlib.Path(__file__).parent
environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
environment |= {"MPISTAIR_SHARE": str(SQL.parent), "TERM": "xterm", "LC_ALL": "C.UTF-8"}


def on_terminal(columns, folder, *arguments, **more):
    """What a terminal of so many columns shows of standard output."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    process = subprocess.Popen([MPISTAIR, *arguments], cwd=folder, stdin=subprocess.DEVNULL, stdout=theirs,
                               stderr=subprocess.DEVNULL, env=environment | more)
    shown = b""
    # This end stays open meanwhile: what lies in a terminal whose other end is closed may be lost.
    while True:
        ended = process.poll() is not None
        if select.select([ours], [], [], 0.01)[0]:
            shown += os.read(ours, 65536)
        elif ended:
            break
    os.close(theirs)
    os.close(ours)
    check(f"{' '.join(arguments)}: exit code", process.wait(timeout=60) in (0, 1))
    return shown.decode().replace("\r\n", "\n")


def fits(what, text, columns):
    check(f"{what}: has output", len(text) > 20, text)
    for line in re.sub(r"\033\[\d*m", "", text).splitlines():
        path_alone = re.fullmatch(r"(\s*|[\w ]{1,24})/\S*|\s*\S*/\S*", line)
        check(f"{what} at {columns} columns", len(line) <= columns or path_alone, f"{len(line)}: {line}")


def names(text):
    return re.findall(r"^  (\w[\w-]*)  ", text, re.MULTILINE)


with tempfile.TemporaryDirectory() as folder:
    trace = database(pathlib.Path(folder) / "t.db", (HERE / "halo.sql").read_text())
    commands = [[name] for name in names(on_terminal(80, folder, "--help"))]
    machine = [["machine", name] for name in names(on_terminal(80, folder, "machine", "--help"))]
    check("the commands", len(commands) >= 10 and len(machine) >= 6, commands)
    for command in [[], *commands, *machine]:
        for columns in (40, 80, 100):
            fits(" ".join([*command, "--help"]), on_terminal(columns, folder, *command, "--help"), columns)
        wide = on_terminal(300, folder, *command, "--help")
        fits(" ".join([*command, "--help"]), wide, 100)
        check("COLUMNS goes first", wide != on_terminal(300, folder, *command, "--help", COLUMNS="50") or not command)
    fits("--help below 40 columns", on_terminal(20, folder, "--help"), 40)

    subprocess.run([MPISTAIR, "pattern", "pairs", "--ranks", "4", "-o", "p"], cwd=folder, env=environment, check=True,
                   capture_output=True)
    script = spool.Script(*spool.read_functions(*sys.argv[4:6]))
    script.read(["world 2", "repeat 20 every 100000", "0 Isend 1 5 80000 {i}000-50000", "1 Irecv 0 5 80000 10-60000",
                 "* Waitall 100-60000", "* Allreduce 70000-90000", "end"])
    pathlib.Path(folder, "spools").mkdir()
    script.write(folder + "/spools")
    subprocess.run([MPISTAIR, "ingest", "spools", "-o", "run.db", "--quiet"], cwd=folder, env=environment, check=True)
    pattern = ("predict", "--pattern", "p.P.csv", "--placement", "p.L.csv", "--machine", "toy.tbl")
    subprocess.run([MPISTAIR, "machine", "export", "toy", "t.db", "-o", "toy.tbl"], cwd=folder, env=environment, check=True)
    shown = [["machine", "list"], ["machine", "check", "summit"], ["machine", "show", "summit"], ["machine", "show", "toy.tbl"],
             ["predict", "--memory", "--machine", "henri-subnuma"], ["doctor"], ["query", "--list"], ["pattern", "pairs", "--ranks", "8"],
             [*pattern, "--model", "postal,flow-window"], ["predict", "t.db", "--rounds", "--machine", "summit", "--model", "postal,flow-window"],
             ["predict", "run.db", "--machine", "summit", "--to-placement", "fill", "--model", "postal"],
             ["replay", "run.db", "--machine", "summit", "--sensitivity", "--no-latency"],
             ["query", "t.db", "SELECT 'a text that is longer than the terminal has columns, which is cut at its edge' x, 1 y"]]
    shown += [["query", "t.db", path.stem] for path in SQL.glob("*.sql") if path.stem != "schema" and
              subprocess.run([MPISTAIR, "query", "t.db", path.stem], cwd=folder, env=environment, capture_output=True).stdout.count(b"\n") > 1]
    check("named queries with rows", len(shown) > 25, len(shown))
    records = on_terminal(60, folder, "query", "t.db", "SELECT 1 " + ", 2 ".join(f"AS column_number_{i}" for i in range(9)))
    check("a row that is too wide", records.startswith("row 1\n  column_number_0  1\n  column_number_1  2\n"), records)
    for arguments in shown:
        fits(" ".join(arguments), on_terminal(80, folder, *arguments), 80)
    for arguments in (["machine", "list"], ["machine", "check", "summit"], ["query", "--list"], ["predict", "--memory", "--machine", "henri"]):
        fits(" ".join(arguments), subprocess.run([MPISTAIR, *arguments], env=environment, capture_output=True, text=True).stdout, 80)
    bold = on_terminal(80, folder, "query", "t.db", "SELECT 1 AS one")
    check("headings are bold on a terminal", "\033[1m" in bold, bold)
    plain = on_terminal(80, folder, "query", "t.db", "SELECT 1 AS one", NO_COLOR="1")
    check("not with NO_COLOR", "\033" not in plain, plain)
    whole = subprocess.run([MPISTAIR, "query", "t.db", f"SELECT '{'x' * 200}' AS y"], cwd=folder, env=environment, capture_output=True)
    check("a table in a file is whole", b"x" * 200 in whole.stdout, whole)
end("columns")
