"""tests/run.sh knows every suite that has a test, and no name beside: it ends with exit code 2 before it builds anything.

usage: suites.py SOURCE BUILD
"""
import json
import pathlib
import subprocess
import sys

SOURCE, BUILD = map(pathlib.Path, sys.argv[1:3])
tests = json.loads((BUILD / "meson-info/intro-tests.json").read_text())
suites = {suite.split(":")[-1] for test in tests for suite in test["suite"]}
folder = BUILD / "no-such-folder"

for argument in ("nosuch", "nosuch/halo", "unit mpi", ""):
    done = subprocess.run(["sh", SOURCE / "tests/run.sh", folder, "unit", argument], capture_output=True, text=True, timeout=30)
    assert done.returncode == 2, (argument, done)
    listed = set(done.stderr.split("suites: ")[1].split(";")[0].split())
    assert listed == suites, (argument, listed ^ suites)
    assert not done.stdout and not folder.exists(), (argument, done.stdout)
print("run.sh: ok")
