"""A command whose output cannot be written has failed: exit code 1 and one line that says why, with the file's name.

usage: check_full_output.py MPISTAIR SHARE_SQL
"""
import os
import pathlib
import resource
import signal
import subprocess
import tempfile

from made_trace import MPISTAIR, SQL, check, database, end

COMMANDS = [
    ["--help"], ["--version"], ["report", "--help"], ["doctor"],
    ["machine", "list"], ["machine", "show", "summit"], ["machine", "check", "summit", "--json"],
    ["predict", "--memory", "--machine", "henri", "--compute-cores", "2"], ["predict", "--memory", "--machine", "henri", "--format", "csv"],
    ["predict", "--finegrain", "--machine", "blue-waters", "--bytes", "4096", "--threads", "4"],
    ["pattern", "pairs", "--ranks", "8"], ["pattern", "pairs", "--ranks", "8", "--json"], ["pattern", "pairs", "--ranks", "4096"],
    ["report", "t.db"], ["report", "t.db", "--format", "json"], ["report", "t.db", "--format", "csv"], ["report", "t.db", "--format", "html"],
    ["query", "t.db", "SELECT * FROM message"], ["query", "t.db", "late_receivers"], ["export", "t.db", "--to", "perfetto"],
    ["query", "t.db", "--format", "json", "SELECT m.* FROM message m, message n"],
]
FILES = [  # each fills more than one buffer of its stream
    ["report", "t.db", "--format", "json"], ["report", "t.db", "--format", "csv"], ["report", "t.db", "--format", "html"],
    ["export", "t.db", "--to", "perfetto"], ["export", "t.db", "--to", "csv"],
]


def no_room():
    """Lets no file grow, as a full disk would."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (16, 16))


def check_failed(command, reason, folder, **more):
    done = subprocess.run([MPISTAIR, *command], cwd=folder, stderr=subprocess.PIPE, text=True, timeout=60,
                          env=dict(os.environ, MPISTAIR_SHARE=str(SQL.parent)), **more)
    errors = [line for line in done.stderr.splitlines() if "note: " not in line]
    check(" ".join(command), done.returncode == 1 and len(errors) == 1 and reason in errors[0],
          f"exit {done.returncode}, {done.stderr!r}")


with tempfile.TemporaryDirectory() as folder, open("/dev/full", "w") as full:
    database(pathlib.Path(folder) / "t.db", (pathlib.Path(__file__).parent / "halo.sql").read_text())
    for command in COMMANDS:
        check_failed(command, "standard output: cannot be written: No space left on device", folder, stdout=full)
    for command in FILES:
        check_failed([*command, "-o", "kept"], "kept: cannot be written: File too large", folder, preexec_fn=no_room)
        check(f"{' '.join(command)} leaves nothing", sorted(os.listdir(folder)) == ["t.db"], os.listdir(folder))
end("full output")
