#!/usr/bin/env python3
"""Call sites in Fortran have the names of the source, and its calls on files are recorded."""
import job

CALLS = [("mesh::sum_up", "MPI_Allreduce"), ("wait_for_all", "MPI_Barrier")]
FILE_CALLS = [("write_file", name, size, nonblocking) for name, size, nonblocking in (
    ("MPI_File_open", 0, 0), ("MPI_File_write_at_all", 4000, 0), ("MPI_File_iread_at", 4000, 1), ("MPI_File_close", 0, 0))]


def main():
    test = job.Job(__doc__, lambda parser: parser.add_argument("interface"))
    test.record(test.program("fortran_names_" + test.arguments.interface), str(test.folder / "output"))
    test.expect_complete()
    found = test.query("SELECT DISTINCT s.function, c.function FROM collective c JOIN callsite s ON s.id = c.callsite"
                       " WHERE s.file LIKE '%fortran_names.F90' AND s.line > 0 ORDER BY 1, 2")
    job.expect_equal(found, CALLS, "call sites of collectives")
    for rank in range(test.ranks):
        found = test.query("SELECT s.function, f.function, f.bytes, f.nonblocking FROM file_call f JOIN callsite s ON s.id = f.callsite"
                           " WHERE rank = ? AND end_ns IS NOT NULL AND NOT failed AND comm = 0 ORDER BY begin_ns", rank)
        job.expect_equal(found, 2 * FILE_CALLS, f"calls on files of rank {rank}")


main()
