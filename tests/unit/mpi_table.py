#!/usr/bin/env python3
"""Holds interpose/mpi.tbl against the mpi.h of every installed MPI.

usage: mpi_table.py GENERATOR MPI.TBL CC PACKAGE...     (PACKAGE: pkg-config names of MPIs)

Every function that an mpi.h declares has a line, its C types are those of the line, and every line is a function of at
least one of the headers. The types are compared by the compiler: a file of static assertions is made of the table and
compiled against each mpi.h. Every family is one that the generator knows, and what is only counted is listed here: a
function that carries messages cannot be left out by a slip. Exits 77 (skipped) where no MPI is installed.
"""
import importlib.util
import re
import subprocess
import sys
import tempfile

# Passed through and counted, by design: files, generalised requests, and the wait for buffered messages to be gone.
COUNTED = re.compile(r"(File_\w+|Register_datarep(_c)?|Buffer_detach(_c)?|Grequest_(start|complete))$")

DECLARATION = re.compile(r"\bMPI_(\w+)\s*\(")


def load_generator(path):
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location("gen_wrappers", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def declared_functions(compiler, flags):
    """The names, without MPI_, of the functions that <mpi.h> declares."""
    done = subprocess.run([*compiler, "-E", "-P", *flags, "-x", "c", "-"], input="#include <mpi.h>\n", text=True,
                          capture_output=True, check=True)
    # Attributes hold names of functions in their messages; a function that callers must not use any more has one, too.
    text = re.sub(r'"[^"]*"', '""', done.stdout)
    names = set()
    for statement in text.split(";"):
        if "typedef" in statement:
            continue
        found = DECLARATION.search(statement)
        if found:
            names.add(found.group(1))
    return names


def declaration(kinds, function):
    """Its type as the table has it, for a pointer to the function."""
    parameters = ", ".join(kinds[kind].replace("@", name) for kind, name in function.arguments)
    return f"{function.result} (*)({parameters or 'void'})"


def mismatches(compiler, flags, kinds, functions):
    lines = ["#include <mpi.h>", ""]
    for function in functions:
        lines.append(f'_Static_assert(__builtin_types_compatible_p(__typeof__(&MPI_{function.name}), '
                     f'{declaration(kinds, function)}), "MPI_{function.name}");')
    with tempfile.NamedTemporaryFile("w", suffix=".c") as source:
        source.write("\n".join(lines) + "\n")
        source.flush()
        done = subprocess.run([*compiler, "-std=c11", "-w", "-fsyntax-only", *flags, source.name], text=True,
                              capture_output=True)
    failed = re.findall(r'error:.*', done.stderr)
    if done.returncode != 0 and not failed:
        failed = [done.stderr]
    return failed


def misplaced(generator, functions):
    """Functions of unknown families, and of those that the recorder leaves alone without a reason."""
    known = set(generator.RECORDED_FAMILIES) | {"counted", "local"}
    errors = [f"{f.name}: there is no family {f.family}" for f in functions if f.family not in known | {"untracked"}]
    errors += [f"{f.name} is not recorded" for f in functions if f.family == "untracked"]
    return errors + [f"{f.name} is only counted" for f in functions if f.family == "counted" and not COUNTED.match(f.name)]


def main():
    generator, table, compiler, packages = sys.argv[1], sys.argv[2], sys.argv[3].split(), sys.argv[4:]
    generator = load_generator(generator)
    kinds, functions, _ = generator.read_table(table)
    by_name = {function.name: function for function in functions}
    if not packages:
        print("no MPI is installed")
        return 77
    errors, seen = misplaced(generator, functions), set()
    for package in packages:
        flags = subprocess.run(["pkg-config", "--cflags", package], text=True, capture_output=True, check=True).stdout.split()
        declared = declared_functions(compiler, flags)
        if len(declared) < 300:
            errors.append(f"{package}: only {len(declared)} functions found in mpi.h; the search is broken")
        seen |= declared
        errors += [f"{package}: MPI_{name} has no line in {table}" for name in sorted(declared - by_name.keys())]
        both = [function for function in functions if function.name in declared]
        errors += [f"{package}: {error}" for error in mismatches(compiler, flags, kinds, both)]
        print(f"{package}: {len(both)} of {len(declared)} functions compared")
        # The comparison can fail: a wrong type is noticed.
        wrong = generator_function(by_name["Send"])
        if not mismatches(compiler, flags, kinds, [wrong]):
            errors.append(f"{package}: a wrong type of MPI_Send was not noticed")
    if len(packages) > 1:
        errors += [f"{table}: MPI_{name} is in no mpi.h" for name in by_name if name not in seen]
    print("\n".join(errors))
    return 1 if errors else 0


def generator_function(function):
    """The function with its first two arguments exchanged."""
    arguments = list(function.arguments)
    arguments[0], arguments[1] = arguments[1], arguments[0]
    return type(function)(function.name, function.family, function.result, arguments)


if __name__ == "__main__":
    sys.exit(main())
