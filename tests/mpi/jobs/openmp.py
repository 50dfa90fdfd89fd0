#!/usr/bin/env python3
"""Threads of OpenMP that have nothing to do: the trace has for how long, as they saw it themselves, by OMPT; another tool of OMPT keeps
its place; and the job may unload the runtime, or close all its files."""
import os
import re
import shutil
import subprocess

import job

# Beside what is preempted between the clock reads of the program and ours.
NEAR, NEAR_S = 0.2, 0.03


def compiled(test):
    """The libraries of the part with OpenMP and of a tool, by a clang that has LLVM's runtime."""
    clang = shutil.which("clang") or job.skip("no clang, whose OpenMP has OMPT")
    paths = []
    for name, options in (("part", ["-fopenmp"]), ("tool", [])):
        paths.append(test.folder / f"openmp_{name}.so")
        source = os.path.join(os.path.dirname(__file__), f"../../apps/openmp_{name}.c")
        done = subprocess.run([clang, "-O1", "-fPIC", "-shared", *options, source, "-o", paths[-1]], capture_output=True, text=True)
        if done.returncode != 0:
            job.skip(f"clang has no OpenMP here: {done.stderr.splitlines()[0]}")
    return paths


def measured(test, part, way, **more):
    """({rank: (regions_s, idle_s)} as the job says, the same and the threads as the trace has, what it wrote to standard error)."""
    test.trace = test.folder / f"{way}{len(more)}.db"
    done = test.run([test.mpistair, "run", "-o", test.trace, "--", *test.launch(test.program("openmp_threads"), str(part), way)], 60,
                    OMP_WAIT_POLICY="passive", **more)
    job.expect_equal(done.returncode, 0, f"exit code, {way}: {done.stderr[-500:]}")
    said = {int(rank): (float(regions_s), float(idle_s)) for rank, regions_s, idle_s in re.findall(r"rank (\d+) regions_s (\S+) idle_s (\S+)", done.stdout)}
    rows = {rank: row for rank, *row in test.query(
        "SELECT rank, sum(openmp_region_ns) * 1e-9, sum(openmp_idle_ns) * 1e-9, 1.0 * sum(openmp_thread_ns) / sum(openmp_region_ns) FROM counter GROUP BY rank")}
    return said, rows, done.stderr


def expect_near(found, expected, what):
    if not abs(found - expected) <= NEAR * expected + NEAR_S:
        job.fail(f"{what}: {found:.3f} s, the program says {expected:.3f}")


def main():
    test = job.Job(__doc__)
    part, tool = compiled(test)
    for way in ("uneven", "even", "tasks", "nested", "unloads", "closes", "before"):
        said, rows, _ = measured(test, part, way)
        job.expect_equal(sorted(rows), sorted(said), f"ranks with threads, {way}")
        for rank, (regions_s, idle_s) in said.items():
            print(f"{way}: rank {rank} says {regions_s:.3f} s in regions, {idle_s:.3f} s idle, the trace {rows[rank]}")
            if rows[rank][2] is None:
                job.fail(f"{way}: nothing of rank {rank}'s threads")
            outer_s = regions_s if way == "nested" else 0
            expect_near(rows[rank][0], regions_s + outer_s, f"{way}: regions of rank {rank}")
            if way == "tasks": # of what no task is run, a thread also begins and ends
                if not 0.2 * idle_s - NEAR_S <= rows[rank][1] <= idle_s + NEAR_S:
                    job.fail(f"{way}: rank {rank} idles {rows[rank][1]:.3f} s, without tasks it is for {idle_s:.3f} s")
            else:
                expect_near(rows[rank][1], idle_s, f"{way}: rank {rank} idles")
            if not (1.3 if way == "nested" else 1.9) <= rows[rank][2] <= 2:
                job.fail(f"{way}: {rows[rank][2]} threads on rank {rank}")
    if test.value("SELECT count(*) FROM counter WHERE openmp_idle_ns > openmp_thread_ns * 1.5 + 1e7") > 0:
        job.fail("windows in which threads idle longer than they are there")
    for way, more in (("preloaded", {"LD_PRELOAD": ":".join(filter(None, [os.environ.get("LD_PRELOAD"), str(tool)]))}), ("variable", {"OMP_TOOL_LIBRARIES": str(tool)})):
        said, rows, words = measured(test, part, "uneven", **more, WAY=way)
        job.expect_equal(re.findall(r"the tool saw (\d+) regions", words), ["40"] * len(said), f"regions that a tool of others sees, {way}")
        job.expect_equal({row[0] for row in rows.values()}, {None}, f"regions in the trace beside a tool of others, {way}")
    said, rows, _ = measured(test, part, "uneven", MPISTAIR_COUNTERS="no")
    job.expect_equal(rows, {}, "counters that were switched off")


main()
