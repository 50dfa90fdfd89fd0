#!/usr/bin/env python3
"""Holds interpose/mpi.tbl against the mpi.h of every installed MPI, and mpi_abi.tbl against every standard ABI's.

usage: mpi_table.py GENERATOR MPI.TBL MPI_ABI.TBL CC PACKAGE...     (PACKAGE: pkg-config names of MPIs)

Every function that an mpi.h declares has a line, and its C types are those of the line but for qualifiers, which differ
from MPI to MPI. Where an MPI of version 5 or later is installed, every line is a function of at least one header. The
types are compared by the compiler: a file of static assertions is made of the table and compiled against each mpi.h. In
the same way the constants of mpi_abi.tbl are compared with those of an installed standard ABI. Every family is one that
the generator knows, and what is only counted is listed here: a function that carries messages cannot be left out by a
slip. Exits 77 (skipped) where no MPI is installed.
"""
import importlib.util
import os
import re
import subprocess
import sys
import tempfile

# Passed through and counted, by design: files, generalised requests, and the wait for buffered messages to be gone.
COUNTED = re.compile(r"(File_\w+|Register_datarep(_c)?|Grequest_(start|complete)|(Buffer|(Comm|Session))_(detach|i?flush)"
                     r"(_buffer)?(_c)?)$")
# Functions of one MPI alone, which no standard has, without a prefix that says so.
OWN = {"Session_set_info"}
# pkg-config's names of headers of the standard ABI; MPICH's Debian package has none.
ABI_HEADERS = ["ompi-abi-c", "mpich-abi", "/usr/lib/x86_64-linux-gnu/mpi_abi_mpich/include"]


def load_generator(path):
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location("gen_wrappers", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def unqualified(generator, c_types):
    return ", ".join(generator.plain(re.sub(generator.QUALIFIERS, " ", c_type)) for c_type in c_types) or "void"


def mismatches(generator, compiler, flags, kinds, functions, declared):
    lines = ["#include <mpi.h>", ""]
    for function in functions:
        result, found = declared[function.name]
        wanted = [kinds[kind] for kind, _ in function.arguments]
        lines.append(f"_Static_assert(__builtin_types_compatible_p({result} (*)({unqualified(generator, found)}), "
                     f'{function.result} (*)({unqualified(generator, wanted)})), "MPI_{function.name}");')
    return compiler_errors(compiler, flags, lines)


def compiler_errors(compiler, flags, lines):
    with tempfile.NamedTemporaryFile("w", suffix=".c") as source:
        source.write("\n".join(lines) + "\n")
        source.flush()
        done = subprocess.run([*compiler, "-std=c11", "-w", "-fsyntax-only", *flags, source.name], text=True,
                              capture_output=True)
    failed = re.findall(r'error:.*', done.stderr)
    return failed or ([done.stderr] if done.returncode != 0 else [])


def abi_mismatches(generator, compiler, flags, abi_table):
    """What an installed header of the standard ABI has in another way than mpi_abi.tbl. A removed function's may be missing."""
    constants = generator.read_abi_table(abi_table)[3]
    lines = ["#include <mpi.h>", "#include <stdint.h>", "_Static_assert(sizeof(MPI_Status) == 32, \"MPI_Status\");"]
    for c_type, values in constants.items():
        for name, value in values:
            if value.startswith("MPI_"):
                value = f"(intptr_t){value}"
            lines.append(f"char is_{name}[(intptr_t){name} == {value} ? 1 : -1];")
    return [error for error in compiler_errors(compiler, flags, lines)
            if not re.search("(NULL_COPY_FN|DUP_FN|NULL_DELETE_FN).* undeclared", error)]


def installed_abi_headers():
    for name in ABI_HEADERS:
        if name.startswith("/"):
            if os.path.exists(name + "/mpi.h"):
                yield name, ["-I" + name]
            continue
        asked = subprocess.run(["pkg-config", "--cflags", name], text=True, capture_output=True)
        if asked.returncode == 0:
            yield name, asked.stdout.split()


def misplaced(generator, functions):
    """Functions of unknown families, and of those that the recorder leaves alone without a reason."""
    known = set(generator.RECORDED_FAMILIES) | {"counted", "local"}
    errors = [f"{f.name}: there is no family {f.family}" for f in functions if f.family not in known | {"untracked"}]
    errors += [f"{f.name} is not recorded" for f in functions if f.family == "untracked"]
    return errors + [f"{f.name} is only counted" for f in functions if f.family == "counted" and not COUNTED.match(f.name)]


def main():
    generator, table, abi_table, compiler, packages = *sys.argv[1:4], sys.argv[4].split(), sys.argv[5:]
    generator = load_generator(generator)
    kinds, functions, _ = generator.read_table(table)
    by_name = {function.name: function for function in functions}
    if not packages:
        print("no MPI is installed")
        return 77
    errors, seen, is_modern = misplaced(generator, functions), set(), False
    for package in packages:
        flags = subprocess.run(["pkg-config", "--cflags", package], text=True, capture_output=True, check=True).stdout.split()
        declared = generator.declared_functions([*compiler, *flags])
        if len(declared) < 300:
            errors.append(f"{package}: only {len(declared)} functions found in mpi.h; the search is broken")
        seen |= declared.keys()
        is_modern |= not compiler_errors(compiler, flags, ["#include <mpi.h>", "_Static_assert(MPI_VERSION >= 5, \"\");"])
        errors += [f"{package}: MPI_{name} has no line in {table}" for name in sorted(declared.keys() - by_name.keys() - OWN)]
        both = [function for function in functions if function.name in declared]
        errors += [f"{package}: {error}"
                   for error in mismatches(generator, compiler, flags, kinds, both, declared)]
        print(f"{package}: {len(both)} of {len(declared)} functions compared")
        # The comparison can fail: a wrong type is noticed.
        wrong = by_name["Send"]
        swapped = {"Send": (declared["Send"][0], [declared["Send"][1][i] for i in (1, 0, 2, 3, 4, 5)])}
        if not mismatches(generator, compiler, flags, kinds, [wrong], swapped):
            errors.append(f"{package}: a wrong type of MPI_Send was not noticed")
    for name, flags in installed_abi_headers():
        errors += [f"{name}: {error}" for error in abi_mismatches(generator, compiler, flags, abi_table)]
        print(f"{name}: constants compared")
    if is_modern:
        errors += [f"{table}: MPI_{name} is in no mpi.h" for name in by_name
                   if name not in seen and not name.endswith("recv_init_c") and not name.endswith("send_init_c")]
    print("\n".join(errors))
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
