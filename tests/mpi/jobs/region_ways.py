#!/usr/bin/env python3
"""Regions by each of the ways that programs have to mark them: their names, how often, and which calls are in which."""
import pathlib

import find_mpi4py
import job

HERE = pathlib.Path(__file__).resolve().parent
WAYS = {"nvtx": "NVTX", "itt": "ITT", "kokkos": "Kokkos", "caliper": "Caliper", "pcontrol": "MPI_Pcontrol", "ipm": "MPI_Pcontrol",
        "python": "mpistair", "fortran": "mpistair", "scopes": "mpistair"}
LOOP = [("OUTER", 3, 3), ("OUTER/inner", 3, 0)]
PHASES = [("moment", 1, 0), ("phase", 1, 1)]
# Path, occurrences, and the barriers made in it, outside of regions within it, of a rank.
EXPECTED = {"nvtx": LOOP + [("first ä", 1, 0), ("first ä/second", 1, 1)], "pcontrol": [("mark 7", 3, 3)],
            "python": LOOP + [("failing ä", 1, 0)] + PHASES, "fortran": LOOP + PHASES}
HOOKS = ("NVTX_INJECTION64_PATH", "INTEL_LIBITTNOTIFY64", "KOKKOS_TOOLS_LIBS")


def main():
    test = job.Job(__doc__, lambda parser: parser.add_argument("--with", dest="how", choices=WAYS, required=True))
    how = test.arguments.how
    more = {"MPISTAIR_PCONTROL": "names"} if how == "ipm" else {}
    if how == "python":
        more |= find_mpi4py.find(test)
        command = [find_mpi4py.PYTHON, str(HERE / "regions_of_python.py"), str(HERE.parents[2] / "interpose/region")]
    elif how == "fortran":
        command = [test.program("fortran_regions")]
    elif how == "scopes":
        command = [test.program("region_scopes")]
    else:
        command = [test.program("region_ways"), how]
    test.record(*command, **more)
    job.expect_equal({way for way, in test.query("SELECT way FROM region")}, {WAYS[how]}, "ways")
    for rank in range(test.ranks):
        rows = test.query("SELECT path, occurrences, coalesce((SELECT sum(calls) FROM total c JOIN site_region s ON s.callsite = c.callsite "
                          "JOIN function f ON f.id = c.function WHERE s.region = r.id AND c.rank = t.rank AND f.name = 'MPI_Barrier'), 0) "
                          "FROM region_total t JOIN region r ON r.id = t.region WHERE rank = ? ORDER BY path", rank)
        job.expect_equal(rows, sorted(EXPECTED.get(how, LOOP)), f"regions of rank {rank}")
    job.expect_equal(test.query("SELECT * FROM region_fault"), [], "faults")
    if how in ("python", "fortran", "caliper", "pcontrol"):  # and without the recorder they do nothing
        test.must(test.launch(*command), **more)
    if how in ("nvtx", "itt", "kokkos"):  # a tool of the user's stays
        done = test.run([test.mpistair, "run", "-o", test.trace, "--", "sh", "-c", "echo tool=$" + HOOKS[0]], **{HOOKS[0]: "/mine"})
        if "tool=/mine" not in done.stdout:
            job.fail("mpistair run replaced a tool that the user had chosen")


if __name__ == "__main__":
    main()
