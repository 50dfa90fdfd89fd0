#!/usr/bin/env python3
"""Prints the path of an installed library of the standard ABI that belongs to an MPI; nothing where there is none.

usage: find_abi.py mpich|openmpi

Several may be installed under names of their own (libmpi_abi_mpich.so.1.0.0); what a library says of itself decides.
"""
import glob
import os
import subprocess
import sys

SAYS = {"mpich": b"MPICH", "openmpi": b"Open MPI"}
ASK = """import ctypes, sys
text, length = ctypes.create_string_buffer(16384), ctypes.c_int()
ctypes.CDLL(sys.argv[1]).MPI_Get_library_version(text, ctypes.byref(length))
sys.stdout.buffer.write(text.value)"""


def folders():
    yield from os.environ.get("LD_LIBRARY_PATH", "").split(":")
    yield from ["/usr/local/lib", "/usr/lib64", "/usr/lib", *sorted(glob.glob("/usr/lib/*-linux-gnu*"))]


def main():
    for folder in folders():
        for path in sorted(glob.glob(f"{folder}/libmpi_abi*.so.1*") if folder else []):
            said = subprocess.run([sys.executable, "-c", ASK, path], capture_output=True).stdout
            if SAYS[sys.argv[1]] in said:
                print(os.path.realpath(path))
                return


if __name__ == "__main__":
    main()
