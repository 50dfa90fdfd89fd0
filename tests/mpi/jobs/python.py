#!/usr/bin/env python3
"""mpi4py, which loads its MPI out of sight of the dynamic linker's search, is recorded as any other program."""
import pathlib

import find_mpi4py
import job

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = HERE / "mpi4py_exchange.py"
FILE_CALLS = [("open", 0), ("write_at_all", 1200), ("iwrite_at", 1200), ("write_at_all_begin", 1200), ("write_at_all_end", 0),
              ("read_at", 1200), ("close", 0)]


def main():
    test = job.Job(__doc__)
    more = find_mpi4py.find(test)
    test.record(find_mpi4py.PYTHON, str(PROGRAM), "{traffic}", **more)
    test.expect_traffic()
    test.expect_complete()
    test.expect_sound()
    test.record(find_mpi4py.PYTHON, str(HERE / "mpi4py_files.py"), str(test.folder / "output"), **more)
    test.expect_complete()
    for rank in range(test.ranks):
        # Newer versions of mpi4py call the functions with large counts, MPI_File_..._c.
        found = test.query("SELECT function, bytes FROM file_call WHERE rank = ? AND end_ns IS NOT NULL AND NOT failed"
                           " AND comm = 0 ORDER BY begin_ns", rank)
        job.expect_equal([(name.removeprefix("MPI_File_").removesuffix("_c"), size) for name, size in found], FILE_CALLS,
                         f"calls on files of rank {rank}")


main()
