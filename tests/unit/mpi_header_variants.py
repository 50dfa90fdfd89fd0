#!/usr/bin/env python3
"""A backend follows the mpi.h that it is built against: other qualifiers, functions that are missing, functions that are
new. What the recorder cannot follow is an error that names the function, in the table and in the header.

usage: mpi_header_variants.py GENERATOR MPI.TBL SOURCE_ROOT BUILD_ROOT CC PACKAGE...

Each installed mpi.h, and the headers beside it, are changed as text, and the wrappers, for one change the whole recorder,
are compiled against the result. Exits 77 (skipped) where no MPI is installed.
"""
import glob
import os
import re
import subprocess
import sys
import tempfile

GENERATOR, TABLE, SOURCE, BUILD = sys.argv[1:5]
COMPILER, PACKAGES = sys.argv[5].split(), sys.argv[6:]
DECLARATION = re.compile(r"\bMPI_(\w+)\s*\(([^()]*)\)(?=[^{};]*;)")
failures = []


def check(what, good):
    if not good:
        failures.append(what)


def change(headers, function):
    """The headers with their declarations, not their macros, put through the function."""
    return {name: "".join(part if part.startswith("#") else DECLARATION.sub(function, part)
                          for part in re.split(r"^(#(?:.*\\\n)*.*\n)", text, flags=re.M))
            for name, text in headers.items()}


def turn_const(found):
    """A declaration with every argument's `const` turned: there where it was not, gone where it was."""
    parameters = []
    for parameter in found.group(2).split(","):
        if "*" not in parameter and "[" not in parameter:
            parameters.append(parameter)
        elif re.search(r"\bconst\b", parameter):
            parameters.append(re.sub(r"\bconst\b", "", parameter))
        else:
            parameters.append(" const " + parameter.strip())
    return f"MPI_{found.group(1)}({','.join(parameters)})"


def replaced(name, pattern, to):
    """Changes the declaration of one function; the pattern must be in it."""
    def in_declaration(found):
        if found.group(1) != name:
            return found.group(0)
        text, n = re.subn(pattern, to, found.group(2), count=1)
        check(f"{name}: '{pattern}' is in its declaration", n == 1)
        return f"MPI_{name}({text})"
    return in_declaration


class Variant:
    def __init__(self, folder, headers, flags):
        self.folder, self.flags = folder, [f"-I{folder}", *flags]
        for name, text in headers.items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as out:
                out.write(text)
        self.wrappers = os.path.join(folder, "wrappers.c")

    def generate(self):
        done = subprocess.run([sys.executable, GENERATOR, "wrappers", TABLE, self.wrappers, *COMPILER, *self.flags], text=True,
                              capture_output=True)
        return done.returncode, done.stderr

    def compile(self, source, *options):
        done = subprocess.run([*COMPILER, "-std=c11", "-D_GNU_SOURCE", "-Wall", "-Wextra", "-fsyntax-only", *options,
                               *self.flags, f"-I{SOURCE}", f"-I{BUILD}", source], text=True, capture_output=True)
        return done.returncode, done.stderr

    def builds(self, what):
        code, said = self.generate()
        check(f"{what}: wrappers are made: {said}", code == 0)
        if code == 0:
            code, said = self.compile(self.wrappers, "-Werror")
            check(f"{what}: wrappers compile: {said[:1500]}", code == 0)


def variants(headers, package, flags, called, recorded):
    def make(changed):
        folder = tempfile.mkdtemp(prefix="mpi-header-")
        folders.append(folder)
        return Variant(folder, changed, flags)

    turned = make(change(headers, turn_const))
    turned.builds(f"{package}, every const turned")
    together = os.path.join(turned.folder, "recorder.c")  # as the backend is compiled
    with open(together, "w", encoding="utf-8") as out:
        out.writelines(f'#include "{source}"\n' for source in sorted(glob.glob(f"{SOURCE}/interpose/backend/**/*.c", recursive=True)))
    code, said = turned.compile(together)
    check(f"{package}, every const turned: the recorder compiles: {said[:1500]}", code == 0)

    gone = recorded - called
    kept = change(headers, lambda found: ("MPI_gone_" if found.group(1) in gone else "MPI_") + f"{found.group(1)}({found.group(2)})")
    without = make(kept)
    without.builds(f"{package}, {len(gone)} functions removed")
    text = open(without.wrappers, encoding="utf-8").read()
    check(f"{package}: functions are gone", len(gone) > 100 and not any(f"wrap_{name}(" in text for name in gone))

    odd = change(change(headers, replaced("Send", r"\bint\s+tag\b", "short tag")), replaced("Recv", r"\bint\s+tag\b", "int"))
    odd["mpi.h"] += "\nint MPI_Brand_new(const int *, MPI_Comm comm);\n"
    make(odd).builds(f"{package}, MPI_Send with a narrower argument, MPI_Recv with one without a name, a function added")

    for what, changed, expected in [
            ("an argument more", replaced("Send", "$", ", int hint"), "disagree on MPI_Send: it has 7 arguments, the table 6"),
            ("another pointer", replaced("Test", r"\bint\s*\*", "long *"), "disagree on MPI_Test: its argument flag is 'long *'"),
            ("a number for a pointer", replaced("Wait", r"\bMPI_Request\s*\*", "long "),
             "disagree on MPI_Wait: its argument request is 'long'")]:
        code, said = make(change(headers, changed)).generate()
        check(f"{package}, {what}: said '{said}'", code != 0 and expected in said and "mpi.tbl" in said and "<mpi.h>" in said)
    wider = make(change(headers, replaced("Send", r"\bint\s+tag\b", "long tag")))
    wider.generate()
    code, said = wider.compile(wider.wrappers)
    check(f"{package}, a wider argument: said '{said[:500]}'",
          code != 0 and "mpi.tbl and mpi.h disagree on MPI_Send: tag is no int" in said)


folders = []


def main():
    if not PACKAGES:
        print("no MPI is installed")
        return 77
    called = set()
    for source in glob.glob(f"{SOURCE}/interpose/backend/**/*.[ch]", recursive=True):
        called |= set(re.findall(r"\b(?:PMPI|NEXT)\((\w+)\)", open(source, encoding="utf-8").read()))
    recorded = {line.split()[0] for line in open(TABLE, encoding="utf-8")
                if line[0].isalpha() and line.split()[1].split("=")[0] not in ("local", "counted")}
    try:
        for package in PACKAGES:
            flags = subprocess.run(["pkg-config", "--cflags", package], text=True, capture_output=True, check=True).stdout.split()
            used = subprocess.run([*COMPILER, "-M", *flags, "-x", "c", "-"], input="#include <mpi.h>\n", text=True,
                                  capture_output=True, check=True).stdout.split()
            beside = os.path.dirname(next(path for path in used if os.path.basename(path) == "mpi.h"))
            headers = {os.path.basename(path): open(path, encoding="utf-8").read() for path in used
                       if os.path.dirname(path) == beside}
            variants(headers, package, flags, called, recorded)
            print(f"{package}: {len(folders)} variants")
    finally:
        for folder in folders:
            for name in os.listdir(folder):
                os.unlink(os.path.join(folder, name))
            os.rmdir(folder)
    print("\n".join(failures))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
