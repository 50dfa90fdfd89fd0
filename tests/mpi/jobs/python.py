#!/usr/bin/env python3
"""mpi4py, which loads its MPI out of sight of the dynamic linker's search, is recorded as any other program."""
import pathlib

import find_mpi4py
import job

PROGRAM = pathlib.Path(__file__).resolve().parent / "mpi4py_exchange.py"


def main():
    test = job.Job(__doc__)
    more = find_mpi4py.find(test)
    test.record(find_mpi4py.PYTHON, str(PROGRAM), "{traffic}", **more)
    test.expect_traffic()
    test.expect_complete()
    test.expect_sound()


main()
