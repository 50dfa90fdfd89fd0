#!/usr/bin/env python3
"""Every header compiles alone: whoever includes it needs to know nothing else, and the order of includes never matters.
A header is compiled with the options of the source files of its own folder, as compile_commands.json has them.

usage: headers.py SOURCE_ROOT BUILD_ROOT
"""
import json
import os
import shlex
import subprocess
import sys

KEPT = ("-I", "-D", "-isystem", "-std=", "-pthread")


def options_by_folder(build):
    """{folder: [(compiler, options that a header needs too, where they hold)]} of the folders with sources."""
    options = {}
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        for entry in json.load(file):
            source = os.path.realpath(os.path.join(entry["directory"], entry["file"]))
            words = shlex.split(entry["command"])
            if source.endswith(".c"):
                kept = [word for word in words[1:] if word.startswith(KEPT)]
                known = options.setdefault(os.path.dirname(source), [])
                if (words[0], kept, entry["directory"]) not in known:
                    known.append((words[0], kept, entry["directory"]))
    return options


def compiles(header, compiler, kept, directory):
    return subprocess.run([compiler, *kept, "-fsyntax-only", "-Wall", "-Wextra", "-Werror", "-x", "c", "-include", header,
                           os.devnull], cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def main():
    root, build = os.path.realpath(sys.argv[1]), sys.argv[2]
    options = options_by_folder(build)
    bad = alone = 0
    for folder, choices in sorted(options.items()):
        if os.path.commonpath([folder, root]) != root:
            continue
        for name in sorted(os.listdir(folder)):
            if not name.endswith(".h"):
                continue
            header = os.path.join(folder, name)
            said = ""
            for choice in choices:  # some sources of a folder may know more libraries than others
                done = compiles(header, *choice)
                if done.returncode == 0:
                    alone += 1
                    break
                said = said or done.stdout
            else:
                bad += 1
                print(f"{os.path.relpath(header, root)} does not compile alone:\n{said}")
    print(f"{alone} headers compile alone, {bad} do not")
    return 1 if bad or not alone else 0


if __name__ == "__main__":
    sys.exit(main())
