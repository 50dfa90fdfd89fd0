"""What is said to somebody who mistypes: each `$ line` of misspelt.txt, run on a small trace t.db, gives the lines behind it
on standard error and its exit code, and nothing on standard output. `--write` writes the file anew.

usage: check_misspelt.py MPISTAIR SHARE_SQL [--write]
"""
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

from made_trace import MPISTAIR, SQL, check, database, end

HERE = pathlib.Path(__file__).parent
EXPECTED = HERE / "misspelt.txt"
LEAST = 30


def said(line, folder):
    done = subprocess.run([MPISTAIR, *shlex.split(line)[1:]], cwd=folder, capture_output=True, text=True, timeout=60,
                          env=dict(os.environ, MPISTAIR_SHARE=str(SQL.parent)))
    check(line, done.stdout == "", f"prints {done.stdout!r}")
    return f"$ {line}\n{done.stderr}exit {done.returncode}\n"


blocks = re.findall(r"^\$ .*\n(?:(?!\$ ).*\n)*", EXPECTED.read_text(), re.MULTILINE)
check("the number of misspelt lines", len(blocks) >= LEAST, len(blocks))
with tempfile.TemporaryDirectory() as folder:
    database(pathlib.Path(folder) / "t.db", (HERE / "halo.sql").read_text())
    found = [said(block.splitlines()[0][2:], folder) for block in blocks]
if sys.argv[3:] == ["--write"]:
    EXPECTED.write_text("\n".join(found))
for expected, block in zip(blocks, found):
    check(block.splitlines()[0], block.strip() == expected.strip() or "--write" in sys.argv, f"says\n{block}expected\n{expected}")
end("misspelt")
