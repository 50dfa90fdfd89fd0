#!/usr/bin/env python3
"""The README is short, and what it shows works: its commands run one after the other on a small job, in an empty folder.

There mpistair is the one of the build, mpiexec starts the ranks of the MPI under test, app is tests/apps/culprit.c, and
calibrate copies a shipped table, as a calibration takes a minute. Not run are the scripts that other tests are (their files
must be there), what installs (packages, options and folders must be known), and the batch job (a shell and --help read it).
"""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

import job

SOURCE = pathlib.Path(__file__).resolve().parents[3]
MACHINE = SOURCE / "share/machines/thunderx2.tbl"
INSTALLS = ("sudo", "cp", "meson", "ninja", "module")
MOST_LINES, MOST_COLUMNS = 150, 120


def blocks(text):
    """Commands of indented blocks, without comments, and the fenced blocks by language."""
    fenced = dict(re.findall(r"^```(\w+)\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    rest = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    commands = re.findall(r"^    (\S.*)", re.sub(r"\\\n\s*", "", rest), re.MULTILINE)
    return [re.sub(r"\s+# .*", "", command) for command in commands], fenced


def prepare(test):
    """A folder with mpistair, mpiexec and app, and an environment that finds the first two."""
    programs = test.folder / "bin"
    programs.mkdir()
    scripts = {programs / "mpistair": f"""
        [ "$1" != calibrate ] || {{ sed 's/^name .*/name here/' {shlex.quote(str(MACHINE))} > "$3"; exit; }}
        exec {shlex.quote(test.mpistair)} "$@" """,
               programs / "mpiexec": f'shift 2; exec {shlex.join(test.launch())} "$@"',
               test.folder / "app": f"exec {shlex.quote(test.program('culprit'))} send 5"}
    for path, script in scripts.items():
        path.write_text(f"#!/bin/sh\n{script}\n")
        path.chmod(0o755)
    return {"PATH": f"{programs}:{os.environ['PATH']}"}


def check_installs(command):
    """Names that an installation takes: packages that are made, folders, options of meson, the folder of the module file.
    tests/roots/packages.sh runs those of packages."""
    words = shlex.split(command.replace("$HOME", "/home"))
    if words[:3] == ["sudo", "apt-get", "install"]:
        made = re.findall(r"^Package: (.*)", (SOURCE / "share/packaging/debian/control").read_text(), re.MULTILINE)
        for word in words[3:]:
            if re.sub(r"^\.\./(.*)_\*\.deb$", r"\1", word) not in made:
                job.fail(f"{command}: {word} is none of the packages that are made: {made}")
    if words[0] == "cp" and not (SOURCE / words[2]).is_dir():
        job.fail(f"{command}: no such folder")
    for option in re.findall(r"-D(\w+)=", command):
        if f"option('{option}'" not in (SOURCE / "meson.options").read_text():
            job.fail(f"{command}: no option {option} in meson.options")
    if words[:2] == ["module", "use"] and not words[2].endswith("/share/mpistair/modulefiles"):
        job.fail(f"{command}: check_install.py finds the module file in another folder")


def check_batch(test, script):
    (test.folder / "batch.sh").write_text(script)
    test.must(["sh", "-n", "batch.sh"])
    for command, options in re.findall(r"^mpistair (\w+)(.*?)(?: -- .*)?$", script, re.MULTILINE):
        text = test.must([test.mpistair, command, "--help"]).stdout
        for option in re.findall(r"(?<!\S)--?[a-z][a-z-]*", options):
            if not re.search(rf"(?<![\w-]){re.escape(option)}(?![\w-])", text):
                job.fail(f"the batch job: mpistair {command} has no option {option}")


def lacks(test, command):
    """What a command needs that may not be here, else None."""
    if "| dot " in command and not shutil.which("dot"):
        return "Graphviz"
    if "--to otf2" in command and "without" in test.run([test.mpistair, "export", "trace.db", "--to", "otf2", "-o", "probe"]).stderr:
        return "libotf2"
    return None


def check_python(test, script):
    pythons = [sys.executable, *filter(None, [shutil.which("python3", path="/usr/bin")])]
    able = [python for python in pythons if subprocess.run([python, "-c", "import pandas"], capture_output=True).returncode == 0]
    if not able:
        print("no Python here has pandas (package python3-pandas): the lines of Python were not run")
        return
    printed = test.must([able[0], "-c", script]).stdout
    if "MPI_Send" not in printed:
        job.fail("the lines of Python print no MPI_Send")


def main():
    test = job.Job(__doc__)
    text = (SOURCE / "README.md").read_text()
    lines = text.splitlines()
    if len(lines) > MOST_LINES:
        job.fail(f"README.md has {len(lines)} lines, at most {MOST_LINES} are read")
    for number, line in enumerate(lines, 1):
        if len(line) > MOST_COLUMNS:
            job.fail(f"README.md:{number}: {len(line)} columns, at most {MOST_COLUMNS}")
    commands, fenced = blocks(text)
    job.expect_equal(sorted(fenced), ["python", "sh", "text"], "languages of fenced blocks")
    environment = prepare(test)
    (test.folder / "traces").mkdir()
    for ranks in 1, 2:
        test.must([test.mpistair, "run", "-o", f"traces/{ranks}.db", "--", *test.launch()[:-1], str(ranks), test.program("halo")])
    n_run, not_run = 0, set()
    for command in commands:
        first, *more = command.split()
        if first == "sh":
            if not (SOURCE / more[0]).is_file():
                job.fail(f"{command}: no such script")
        elif first in INSTALLS:
            check_installs(command)
        elif missing := lacks(test, command):
            print(f"not run, as {missing} is not here: {command}")
            not_run.add(command)
        else:
            test.must(["sh", "-c", command], **environment)
            n_run += 1
            if " run " in command:
                # Two runs to compare; equal ones, as a launch differs from the next by more than nothing.
                for name in ("before.db", "after.db"):
                    shutil.copyfile(test.trace, test.folder / name)
    if n_run < 15:
        job.fail(f"only {n_run} commands were found and run: {commands}")
    for name in re.findall(r"(?:-o|>) (\S+\.\w+)", "\n".join(command for command in commands if command not in not_run)):
        path = test.folder / name
        if not path.exists() or path.is_file() and path.stat().st_size == 0:
            job.fail(f"no {name} was written, or nothing into it")
    check_batch(test, fenced["sh"])
    check_python(test, fenced["python"])


if __name__ == "__main__":
    main()
