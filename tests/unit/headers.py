#!/usr/bin/env python3
"""Every header compiles alone: whoever includes it needs to know nothing else, and the order of includes never matters.
A header is compiled with the options of the source files of its own folder, as compile_commands.json has them.

usage: headers.py SOURCE_ROOT BUILD_ROOT
"""
import concurrent.futures
import itertools
import json
import os
import shlex
import subprocess
import sys

KEPT = ("-I", "-D", "-isystem", "-std=", "-pthread")


def options_by_folder(build):
    """{folder: [(compiler (behind ccache, where meson found it), options that a header needs too, where they hold)]} of the folders with sources."""
    options = {}
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        for entry in json.load(file):
            source = os.path.realpath(os.path.join(entry["directory"], entry["file"]))
            words = shlex.split(entry["command"])
            if source.endswith(".c"):
                compiler = list(itertools.takewhile(lambda word: not word.startswith("-"), words))
                kept = [word for word in words if word.startswith(KEPT)]
                known = options.setdefault(os.path.dirname(source), [])
                if (compiler, kept, entry["directory"]) not in known:
                    known.append((compiler, kept, entry["directory"]))
    return options


def compiles(header, compiler, kept, directory):
    return subprocess.run([*compiler, *kept, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-x", "c", "-include", header,
                           os.devnull], cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def why_not(header, choices):
    """What the compiler says of a header that does not compile with any of the options; None: it compiles."""
    first = None
    for choice in choices:  # some sources of a folder may know more libraries than others
        done = compiles(header, *choice)
        if done.returncode == 0:
            return None
        first = first or done.stdout
    return first


def main():
    root, build = os.path.realpath(sys.argv[1]), sys.argv[2]
    headers = [(os.path.join(folder, name), choices) for folder, choices in sorted(options_by_folder(build).items())
               if os.path.commonpath([folder, root]) == root for name in sorted(os.listdir(folder)) if name.endswith(".h")]
    bad = alone = 0
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for (header, _), said in zip(headers, pool.map(lambda header: why_not(*header), headers)):
            if said is None:
                alone += 1
            else:
                bad += 1
                print(f"{os.path.relpath(header, root)} does not compile alone:\n{said}")
    print(f"{alone} headers compile alone, {bad} do not")
    return 1 if bad or not alone else 0


if __name__ == "__main__":
    sys.exit(main())
