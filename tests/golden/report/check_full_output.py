"""A command whose standard output cannot be written has failed: exit code 1 and one line that says why.

usage: check_full_output.py MPISTAIR SHARE_SQL
"""
import os
import pathlib
import subprocess
import tempfile

from made_trace import MPISTAIR, SQL, check, database, end

COMMANDS = [
    ["--help"], ["--version"], ["report", "--help"], ["doctor"],
    ["machine", "list"], ["machine", "show", "summit"], ["machine", "check", "summit", "--json"],
    ["machine", "memory", "henri", "--computing", "2"], ["predict", "--memory", "--machine", "henri", "--format", "csv"],
    ["predict", "--finegrain", "--machine", "blue-waters", "--bytes", "4096", "--threads", "4"],
    ["pattern", "pairs", "--ranks", "8"], ["pattern", "pairs", "--ranks", "8", "--json"], ["pattern", "pairs", "--ranks", "4096"],
    ["report", "t.db"], ["report", "t.db", "--format", "json"], ["report", "t.db", "--format", "csv"], ["report", "t.db", "--format", "html"],
    ["query", "t.db", "SELECT * FROM message"], ["query", "t.db", "late_receivers"], ["export", "t.db", "--to", "perfetto"],
]


with tempfile.TemporaryDirectory() as folder, open("/dev/full", "w") as full:
    database(pathlib.Path(folder) / "t.db", (pathlib.Path(__file__).parent / "halo.sql").read_text())
    for command in COMMANDS:
        done = subprocess.run([MPISTAIR, *command], cwd=folder, stdout=full, stderr=subprocess.PIPE, text=True, timeout=60,
                              env=dict(os.environ, MPISTAIR_SHARE=str(SQL.parent)))
        errors = [line for line in done.stderr.splitlines() if "note: " not in line]
        check(" ".join(command), done.returncode == 1 and len(errors) == 1 and "written: No space left on device" in errors[0],
              f"exit {done.returncode}, {done.stderr!r}")
end("full output")
