#!/usr/bin/env python3
"""Every header compiles alone: whoever includes it needs to know nothing else, and the order of includes never matters.
The build itself shows it of a header that a source file includes before all else. The others are compiled here, with the
options of the source files of their own folder, as compile_commands.json has them.

usage: headers.py SOURCE_ROOT BUILD_ROOT [HEADER ...]    HEADER: of a library that the build goes without
"""
import concurrent.futures
import itertools
import json
import os
import re
import shlex
import subprocess
import sys

KEPT = ("-I", "-D", "-isystem", "-std=", "-pthread")
FIRST = re.compile(r'(?:\s|/\*.*?\*/|//[^\n]*)*#include "([^"]+)"', re.DOTALL)  # an include with nothing but comments before it


def first_include(source, root):
    """The header that a source file includes before all else; None: another line comes first, or a system's header."""
    with open(source, encoding="utf-8") as file:
        found = FIRST.match(file.read())
    beside = found and os.path.join(os.path.dirname(source), found[1])
    return found and os.path.realpath(beside if os.path.exists(beside) else os.path.join(root, found[1]))


def sources_of(source):
    """What a unit of meson's unity builds includes, each a source file; else the file itself."""
    if "-unity" not in os.path.basename(source):
        return [source]
    with open(source, encoding="utf-8") as file:
        return [os.path.realpath(path) for path in re.findall(r"#include\s*<(.*)>", file.read())]


def read_commands(build, root):
    """{folder: [(compiler (behind ccache, where meson found it), options that a header needs too, where they hold)]} of the folders
    with sources, and the headers that a source begins with."""
    options, begun_with = {}, set()
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        for entry in json.load(file):
            source = os.path.realpath(os.path.join(entry["directory"], entry["file"]))
            words = shlex.split(entry["command"])
            if source.endswith(".c"):
                compiler = list(itertools.takewhile(lambda word: not word.startswith("-"), words))
                kept = [word for word in words if word.startswith(KEPT)]
                sources = sources_of(source)
                for folder in {os.path.dirname(path) for path in sources}:
                    known = options.setdefault(folder, [])
                    if (compiler, kept, entry["directory"]) not in known:
                        known.append((compiler, kept, entry["directory"]))
                begun_with.add(first_include(sources[0], root))  # the others of a unit come behind it
    return options, begun_with


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
    options, begun_with = read_commands(build, root)
    headers = [(os.path.join(folder, name), choices) for folder, choices in sorted(options.items())
               if os.path.commonpath([folder, root]) == root for name in sorted(os.listdir(folder)) if name.endswith(".h")]
    others = [header for header in headers if header[0] not in begun_with]
    bad, alone = 0, len(headers) - len(others)
    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for (header, _), said in zip(others, pool.map(lambda header: why_not(*header), others)):
            if said is None:
                alone += 1
            else:
                bad += 1
                print(f"{os.path.relpath(header, root)} does not compile alone:\n{said}")
    print(f"{alone} headers compile alone, {len(headers) - len(others)} of them as a source begins with them; {bad} do not")
    return 1 if bad or not alone else 0


if __name__ == "__main__":
    sys.exit(main())
