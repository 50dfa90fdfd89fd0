"""share/examples/plots.py draws three pictures of a trace, also of one without messages, and says what is wrong with a file
that is none. Skipped where no Python here has pandas and matplotlib.

usage: check_plots.py SCRIPT SCHEMA HALO.sql
"""
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile

SCRIPT, SCHEMA, HALO = sys.argv[1:]
pythons = [sys.executable, *filter(None, [shutil.which("python3", path="/usr/bin")])]
able = [python for python in pythons if subprocess.run([python, "-c", "import pandas, matplotlib"], capture_output=True).returncode == 0]
if not able:
    print("skipped: no pandas and matplotlib (packages python3-pandas, python3-matplotlib)")
    sys.exit(77)


def draw(trace, folder):
    return subprocess.run([able[0], SCRIPT, str(trace), str(folder)], capture_output=True, text=True, timeout=100)


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    for name, scripts in {"halo": [SCHEMA, HALO], "empty": [SCHEMA]}.items():
        with sqlite3.connect(folder / f"{name}.db") as database:
            for script in scripts:
                database.executescript(pathlib.Path(script).read_text())
        database.close()
        (folder / name).mkdir()
        done = draw(folder / f"{name}.db", folder / name)
        assert done.returncode == 0, done.stderr
        for picture in ("pairs", "ranks", "sizes"):
            content = (folder / name / f"{picture}.png").read_bytes()
            assert content.startswith(b"\x89PNG") and len(content) > 4000, (name, picture, len(content))
    assert draw(folder / "missing.db", folder).returncode != 0
    assert not (folder / "missing.db").exists()
print("plots: ok")
