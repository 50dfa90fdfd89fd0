#!/usr/bin/env python3
"""A program built with -fsanitize=address starts under the recorder, ends as it does without, and its trace is complete; what
the user gives its runtime stays."""
import os

import job


def main():
    test = job.Job(__doc__)
    program = test.program("sanitized")
    if not os.path.exists(program):
        job.skip("no -fsanitize=address here")
    # MPIs leak; and the runtime ends a C program where hwloc loads an OpenCL library of C++ that throws.
    options = {"ASAN_OPTIONS": f"detect_leaks=0:log_path={test.folder}/asan", "HWLOC_COMPONENTS": "-opencl"}
    command = test.launch(program, "--traffic", "{traffic}")
    bare = test.run(command, **options)
    if bare.returncode != 0:
        job.skip("the program does not run with this MPI")
    test.traffic.unlink()
    done = test.record(program, "--traffic", "{traffic}", **options)
    job.expect_equal(done.stdout, bare.stdout, "output, against that without the recorder")
    job.expect_equal([path.name for path in test.folder.glob("asan*")], [], "findings of AddressSanitizer")
    test.expect_traffic()
    test.expect_complete()


main()
