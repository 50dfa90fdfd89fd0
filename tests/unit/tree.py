#!/usr/bin/env python3
"""The order of the source tree, so that a stranger finds the place of every line:

  - an #include of our own names a file from the root of the tree;
  - includes and calls point down: share/base < interpose < calibrate < predictor < report; tests may use all;
  - no circles: taking NAME.c and NAME.h as one, no file needs itself by way of others, and no folder does. A file needs
    another that it includes, and one whose function it calls;
  - no two headers have the same name;
  - a file that a comment names exists.

Calls are read from the text, as clang-format lays it out: a function's body stands between a { and a } in the first
column; NAME( in it is a call of the function NAME that is defined in the same file, else of one that a header in reach
declares. Calls by pointers and tables are none. First the test plants circles in a small tree and finds them.

usage: tree.py SOURCE_ROOT          counts, and for each circle its shortest way round, as
                                    `file:line function -> file:line function`
       tree.py SOURCE_ROOT --all    and every arrow between the files and folders of a circle
"""
import collections
import itertools
import pathlib
import re
import sys
import tempfile

FLOORS = ["share/base", "interpose", "calibrate", "predictor", "report", "tests"]
# The most files and folders that a top folder may have in circles, none where it is not named. Numbers only go down.
ALLOWED = {}
GENERATED = {"interpose/functions.h", "trampolines.inc", "fortran_stubs.inc"}
NAMED = re.compile(r"[\w/.]*\b[a-z]\w*\.[ch]\b(?!\w)")
FOREIGN = {"mpi.h", "mpif.h", "functions.h", "scotch.h", "ucx_impl.h"}
LITERAL = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.S)
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.M)
MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(\([^)]*\))?((?:[^\n]*\\\n)*[^\n]*)", re.M)
BODY = re.compile(r"^\{\n(.*?)^\}", re.S | re.M)
CALL = re.compile(r"(?<![\w.>#])([A-Za-z_]\w*)\s*\(")
# An arrow from one file to another: where, in which function (none: an include), to where, to which function.
Arrow = collections.namedtuple("Arrow", "file line function to_file to_line to_function")


def floor(name):
    return next(i for i, folder in enumerate(FLOORS) if name.startswith(folder + "/"))


def folder_of(name):
    return str(pathlib.PurePath(name).parent)


class Source:
    """A file: what it includes, defines (name -> line), declares, and calls ((line, caller, callee) each)."""

    def __init__(self, name, text):
        self.name, self.unit = name, name[:-2]
        self.includes = [(text.count("\n", 0, match.end()) + 1, match[1]) for match in INCLUDE.finditer(text)]
        self.defines, self.private, self.calls = {}, set(), []
        # Comments and literals go, lines stay.
        text = LITERAL.sub(lambda match: " " + "\n" * match[0].count("\n"), text)
        self.text = text
        for match in MACRO.finditer(text):
            if match[2]:
                self.defines[match[1]] = self.line(match.start(1))
                self.read_calls(match[1], match[3], match.start(3), set(re.findall(r"\w+", match[2])))
        text = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda match: "\n" * match[0].count("\n"), text, flags=re.M)
        self.text, outside, end = text, [], 0
        for body in BODY.finditer(text):
            before = text[end:body.start()]
            head = re.split(r"\n\s*\n|;\s*\n|^\}[^\n]*$", before, flags=re.M)[-1]
            function = CALL.search(re.sub(r"__attribute__\s*\(\(.*?\)\)", "", head, flags=re.S))
            outside.append(before)
            end = body.end()
            if function:
                self.defines[function[1]] = self.line(body.start() - len(head.lstrip()))
                if "static" in head.split("(")[0].split():
                    self.private.add(function[1])
                self.read_calls(function[1], body[1], body.start(1), set())
        outside.append(text[end:])
        self.declares = {match[1] for match in CALL.finditer("\n".join(outside))}

    def line(self, place):
        return self.text.count("\n", 0, place) + 1

    def read_calls(self, caller, body, place, parameters):
        for call in CALL.finditer(body):
            before = body[:call.start()].rstrip()
            if call[1] not in parameters and not before.endswith(("->", "##")):
                self.calls.append((self.line(place + call.start()), caller, call[1]))


def read_tree(texts):
    """The arrows from file to file of a tree (name -> text), and the names of includes that are none of it."""
    sources = {name: Source(name, text) for name, text in texts.items()}
    definitions = collections.defaultdict(list)
    for source in sources.values():
        for function in source.defines:
            definitions[function].append(source)
    reach = {}

    def reached(name):
        """The file and all that it includes, in one step or many."""
        if name not in reach:
            reach[name], todo = {name}, [name]
            while todo:
                for _, other in sources[todo.pop()].includes:
                    if other in sources and other not in reach[name]:
                        reach[name].add(other)
                        todo.append(other)
        return reach[name]

    def callees(source, function):
        """Those who define what the source calls by this name."""
        candidates = definitions.get(function, [])
        if any(other.unit == source.unit for other in candidates):
            return []
        near = reached(source.name)
        if not any(function in sources[name].declares or function in sources[name].defines for name in near):
            return []
        linked = [other for other in candidates if other.name in near or other.name.endswith(".c")
                  and function not in other.private and not other.name.startswith("tests/")]
        own = [other for other in linked if other.unit + ".h" in near]
        return own or linked

    arrows, unknown = [], []
    for source in sources.values():
        for line, included in source.includes:
            if included in sources:
                arrows.append(Arrow(source.name, line, "", included, 1, ""))
            elif included not in GENERATED:
                unknown.append(f"{source.name}:{line}: {included}")
        if not source.name.startswith("tests/"):
            for line, caller, function in source.calls:
                for other in callees(source, function):
                    arrows.append(Arrow(source.name, line, caller, other.name, other.defines[function], function))
    return arrows, unknown


def components(needs):
    """The strongly connected sets of more than one node (Tarjan 1972)."""
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


def shortest(needs, nodes):
    """The shortest way round in a strongly connected set: its nodes in order, the first once more at the end."""
    best = None
    for first in nodes:
        came, todo = {}, collections.deque([first])
        while todo and first not in came:
            name = todo.popleft()
            for other in sorted(needs[name]):
                if other in nodes and other not in came:
                    came[other] = name
                    todo.append(other)
        way = [first]
        while len(way) == 1 or way[-1] != first:
            way.append(came[way[-1]])
        if best is None or len(way) < len(best):
            best = way[::-1]
    return best


def words(arrow):
    if not arrow.function:
        return f"{arrow.file}:{arrow.line} includes {arrow.to_file}"
    return f"{arrow.file}:{arrow.line} {arrow.function} -> {arrow.to_file}:{arrow.to_line} {arrow.to_function}"


def circles(arrows, node_of):
    """(nodes, arrows of the shortest way round, all arrows by (from, to)) of each circle."""
    between, needs = collections.defaultdict(list), collections.defaultdict(set)
    for arrow in arrows:
        pair = node_of(arrow.file), node_of(arrow.to_file)
        if pair[0] != pair[1]:
            between[pair].append(arrow)
            needs[pair[0]].add(pair[1])
    for nodes in components(needs):
        way = shortest(needs, nodes)
        yield nodes, [between[pair][0] for pair in itertools.pairwise(way)], {
            pair: some for pair, some in sorted(between.items()) if pair[0] in nodes and pair[1] in nodes}


def circles_of_files(arrows):
    return circles(arrows, lambda name: name[:-2])


def circles_of_folders(arrows):
    return circles([arrow for arrow in arrows if not arrow.file.startswith("tests/")], folder_of)


def test_itself():
    """Plants a circle of calls, one of includes and one of folders; each must be found, and nothing without them."""
    header = "/* {0}. */\n#ifndef {0}\n#define {0}\n{1}\n\nint {0}(int x);\n\n#endif\n"
    body = "/* {0}. */\n{2}\n\nint {0}(int x)\n{{\n    return {1}; /* other(x) */\n}}\n"
    plain = {}
    for name, called, room in (("top", "middle(x)", "a"), ("middle", "bottom(x)", "b"), ("bottom", "x", "b")):
        plain[f"report/{room}/{name}.h"] = header.format(name, "")
        below = {"top": "b/middle", "middle": "b/bottom"}.get(name)
        plain[f"report/{room}/{name}.c"] = body.format(
            name, called, f'#include "report/{below}.h"' if below else "")
    # Neither a string, nor a member, nor a static function of another file is a call.
    plain["report/b/bottom.c"] += '\nstatic int middle_part(int x)\n{\n    return x ? t->middle(x) : print("top(x)");\n}\n'
    # Both functions are declared by a third header, so that no file includes the other.
    calls = {"report/b/both.h": "/* Both. */\nint one(int x);\nint two(int x);\n"}
    for name, called in (("one", "two(x)"), ("two", "one(x)")):
        calls[f"report/b/{name}.c"] = body.format(name, called, '#include "report/b/both.h"')
    plants = {
        "calls": calls,
        "includes": {"report/b/bottom.h": header.format("bottom", '#include "report/b/middle.h"')},
        # bottom.c needs a new file of folder a, which needs nothing: folders a and b need each other, no two files do.
        "folders": {"report/a/aside.h": header.format("aside", ""), "report/a/aside.c": body.format("aside", "x", ""),
                    "report/b/bottom.c": body.format("bottom", "aside(x)", '#include "report/a/aside.h"')},
    }
    expected = {"nothing": ([], []), "calls": ([["report/b/one", "report/b/two"]], []),
                "includes": ([["report/b/bottom", "report/b/middle"]], []),
                "folders": ([], [["report/a", "report/b"]])}
    for plant in expected:
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (plain | plants.get(plant, {})).items():
                path = pathlib.Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            arrows, unknown = read_tree(read_texts(pathlib.Path(folder)))
        found = [nodes for nodes, *_ in circles_of_files(arrows)], [nodes for nodes, *_ in circles_of_folders(arrows)]
        assert found == expected[plant] and not unknown, (plant, found, unknown)
        if plant == "calls":
            way = [words(arrow) for _, way, _ in circles_of_files(arrows) for arrow in way]
            assert way == ["report/b/one.c:6 one -> report/b/two.c:4 two", "report/b/two.c:6 two -> report/b/one.c:4 one"], way


def read_texts(root):
    return {str(path.relative_to(root)): path.read_text(encoding="utf-8")
            for folder in FLOORS for path in sorted((root / folder).rglob("*.[ch]"))}


def main():
    test_itself()
    root, every = pathlib.Path(sys.argv[1]), "--all" in sys.argv
    texts = read_texts(root)
    arrows, unknown = read_tree(texts)
    wrong = {"includes that name no file from the root": unknown, "includes upward": [], "calls upward": []}
    for arrow in arrows:
        if floor(arrow.to_file) > floor(arrow.file):
            wrong["calls upward" if arrow.function else "includes upward"].append(words(arrow))
    strange = wrong["comments that name a file which is not there"] = []
    for name, text in texts.items():
        for comment in re.findall(r"/\*.*?\*/", text, re.S):
            for named in NAMED.findall(comment):
                if "NAME" in named or named.startswith(("net/", "opal/", "test/", "pml_", "btl_")) or named in FOREIGN:
                    continue
                if not any(other == named or other.endswith("/" + named) for other in texts):
                    strange.append(f"{name}: {named}")
    headers = collections.defaultdict(list)
    for name in texts:
        if name.endswith(".h"):
            headers[pathlib.PurePath(name).name].append(name)
    wrong["names of headers taken twice"] = [" ".join(same) for same in headers.values() if len(same) > 1]

    folders = collections.Counter(folder_of(name) for name in texts)
    largest, files = folders.most_common(1)[0]
    calls = sum(1 for arrow in arrows if arrow.function)
    print(f"{len(texts)} files in {len(folders)} folders, at most {files} in one ({largest});",
          f"{len(arrows) - calls} includes and {calls} calls go from file to file")
    inside = collections.Counter()
    for kind, found in (("files", circles_of_files(arrows)), ("folders", circles_of_folders(arrows))):
        for nodes, way, between in found:
            for node in nodes:
                inside[FLOORS[floor(node + "/")], kind] += 1
            print(f"\ncircle of {len(nodes)} {kind}: {' '.join(nodes)}", *map(words, way), sep="\n    ")
            if every:
                for (one, other), some in between.items():
                    print(f"    {one} -> {other}: {len(some)}", *map(words, some[:8]), sep="\n        ")
    print()
    for top in FLOORS[:-1]:
        now = inside[top, "files"], inside[top, "folders"]
        allowed = ALLOWED.get(top, (0, 0))
        print(f"{top}: {now[0]} files and {now[1]} folders in circles")
        if now[0] > allowed[0] or now[1] > allowed[1]:
            wrong.setdefault("more in circles than before", []).append(
                f"{top}: {now[0]} files, at most {allowed[0]}; {now[1]} folders, at most {allowed[1]}")
    for what, places in wrong.items():
        print(f"{what}: {len(places)}", *places, sep="\n    ")
    return any(wrong.values())


if __name__ == "__main__":
    sys.exit(main())
