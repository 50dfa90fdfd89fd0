#!/usr/bin/env python3
"""The order of the house, held against the tree as it stands, so that a stranger finds the room of every line:

  - an #include of our own names a file from the root of the tree;
  - includes point down: share/base < interpose < calibrate < predictor < report; tests may include all;
  - no circles: taking NAME.c and NAME.h as one, no file needs itself by way of others;
  - no two headers have the same name;
  - a file that a comment names exists.

usage: tree.py SOURCE_ROOT
"""
import collections
import pathlib
import re
import sys

FLOORS = ["share/base", "interpose", "calibrate", "predictor", "report", "tests"]
GENERATED = {"interpose/functions.h", "trampolines.inc", "fortran_stubs.inc"}
NAMED = re.compile(r"[\w/.]*\b[a-z]\w*\.[ch]\b(?!\w)")
FOREIGN = {"mpi.h", "mpif.h", "functions.h", "scotch.h", "ucx_impl.h"}


def floor(name):
    return next(i for i, folder in enumerate(FLOORS) if name.startswith(folder + "/"))


def comments(text):
    return re.findall(r"/\*.*?\*/", text, re.S)


def circles(needs):
    """The strongly connected sets of more than one file (Tarjan 1972)."""
    number, low, stack, found = {}, {}, [], []

    def visit(name):
        number[name] = low[name] = len(number)
        stack.append(name)
        for other in sorted(needs[name]):
            if other not in number:
                visit(other)
            if other in stack:
                low[name] = min(low[name], low[other])
        if low[name] == number[name]:
            place = stack.index(name)
            if len(stack) - place > 1:
                found.append(sorted(stack[place:]))
            del stack[place:]

    sys.setrecursionlimit(10000)
    for name in sorted(needs):
        if name not in number:
            visit(name)
    return found


def main():
    root = pathlib.Path(sys.argv[1])
    texts = {}
    for folder in FLOORS:
        for path in sorted((root / folder).rglob("*.[ch]")):
            texts[str(path.relative_to(root))] = path.read_text(encoding="utf-8")
    wrong = {"includes that name no file from the root": [], "includes upward": [], "circles of files": [],
             "names of headers taken twice": [], "comments that name a file which is not there": []}
    needs = collections.defaultdict(set)
    for name, text in texts.items():
        for included in re.findall(r'^\s*#\s*include\s+"([^"]+)"', text, re.M):
            if included in GENERATED:
                continue
            if included not in texts:
                wrong["includes that name no file from the root"].append(f"{name}: {included}")
                continue
            if floor(included) > floor(name):
                wrong["includes upward"].append(f"{name}: {included}")
            if included[:-2] != name[:-2]:
                needs[name[:-2]].add(included[:-2])
        for comment in comments(text):
            for named in NAMED.findall(comment):
                if "NAME" in named or named.startswith(("net/", "opal/", "test/", "pml_", "btl_")) or named in FOREIGN:
                    continue
                if not any(other == named or other.endswith("/" + named) for other in texts):
                    wrong["comments that name a file which is not there"].append(f"{name}: {named}")
    wrong["circles of files"] = [" ".join(circle) for circle in circles(needs)]
    headers = collections.defaultdict(list)
    for name in texts:
        if name.endswith(".h"):
            headers[pathlib.PurePath(name).name].append(name)
    wrong["names of headers taken twice"] = [" ".join(same) for same in headers.values() if len(same) > 1]
    folders = collections.Counter(str(pathlib.PurePath(name).parent) for name in texts)
    largest, files = folders.most_common(1)[0]
    print(f"{len(texts)} files in {len(folders)} folders, at most {files} in one ({largest})")
    for what, places in wrong.items():
        print(f"{what}: {len(places)}", *places, sep="\n    ")
    return any(wrong.values())


if __name__ == "__main__":
    sys.exit(main())
