#!/usr/bin/env python3
"""One binding of the matrix: a program that calls every operation that the binding has, with and without the recorder.

The program prints the same both times. The trace has every message that the program says it sent, once, each with its
receive; every call of the program with its line; and no call from anywhere else. What the program says comes from its
notes (NOTES.rank, see matrix.c); of a Fortran program from its source: a comment `!@ NAME` ends the line of a call of
MPI_NAME that must show at least once.
"""
import collections
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "jobs"))
import find_mpi4py
import job

SITES = """
SELECT rank, called.function, file, line, count(*) FROM (
  SELECT src AS rank, send_function AS function, send_callsite AS site FROM message
  UNION ALL SELECT dst, recv_function, recv_callsite FROM message
  UNION ALL SELECT rank, function, callsite FROM unmatched
  UNION ALL SELECT rank, function, callsite FROM call
  UNION ALL SELECT rank, function, callsite FROM collective
  UNION ALL SELECT rank, function, callsite FROM persistent
  UNION ALL SELECT rank, function, callsite FROM partition WHERE function IS NOT NULL
) AS called LEFT JOIN callsite ON callsite.id = site
GROUP BY 1, 2, 3, 4"""
MESSAGES = "SELECT src, dst, tag, bytes, count(*) FROM message GROUP BY 1, 2, 3, 4"
# Calls of the main programs and of no interest to the matrix.
FRAME = {"MPI_Reduce", "MPI_Barrier", "MPI_Gather", "MPI_Gatherv"}


def add_arguments(parser):
    parser.add_argument("--source", type=pathlib.Path, action="append", default=[], help="Fortran with marked lines")
    parser.add_argument("--python", action="store_true", help="the command is a program of mpi4py, which has no lines")
    parser.add_argument("command", nargs="+")


def read_notes(test):
    """(calls of {(rank, function, file, line)}, messages of {(src, dst, tag, bytes)}) as the program counted them."""
    calls, messages = collections.Counter(), collections.Counter()
    for rank in range(test.ranks):
        for line in (test.folder / f"notes.{rank}").read_text(encoding="ascii").splitlines():
            words = line.split()
            if words[0] == "call":
                calls[rank, words[1], words[2], int(words[3])] += int(words[4])
            else:
                messages[rank, int(words[1]), int(words[2]), int(words[3])] += int(words[4])
    return calls, messages


def read_marks(sources):
    """{(function, file, line)} of the marked lines."""
    marks = set()
    for source in sources:
        for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), 1):
            marks |= {(f"MPI_{name}", source.name, number) for name in re.findall(r"!@ (\w+)", line)}
    return marks


def name_of(path):
    return path.rsplit("/", 1)[-1] if path else None


def check_sites(test, calls, marks):
    found = collections.Counter()
    for rank, function, file, line, n in test.query(SITES):
        if test.arguments.python:
            function = function.removesuffix("_c")  # mpi4py 4 calls the forms with large counts where the MPI has them
        if function not in FRAME:
            key = (function, None, 0) if test.arguments.python else (function, name_of(file), line)
            found[rank, *key] += n
    if test.arguments.python:
        merged = collections.Counter()
        for (rank, function, _, _), n in calls.items():
            merged[rank, function, None, 0] += n
        calls = merged
    missing = [f"{key}: {found[key]} of {n}" for key, n in sorted(calls.items(), key=str) if found[key] < n]
    expected = set(calls) | {(rank, *mark) for mark in marks for rank in range(test.ranks)}
    missing += [str(mark) for mark in sorted(marks) if not any((rank, *mark) in found for rank in range(test.ranks))]
    extra = [str(key) for key in sorted(found, key=str) if key not in expected]
    if missing or extra:
        job.fail(f"{len(missing)} call sites are not in the trace as they should: {'; '.join(missing[:12])}\n"
                 f"{len(extra)} are in it and nowhere in the program: {'; '.join(extra[:12])}")
    functions = {key[1] for key in calls} | {mark[0] for mark in marks}
    print(f"matrix: {len(functions)} functions, {len(expected if calls else marks)} call sites, {sum(found.values())} rows, "
          "all at their lines")


def check_messages(test, messages):
    traced = collections.Counter({tuple(row[:4]): row[4] for row in test.query(MESSAGES)})
    if messages and traced != messages:
        job.fail(f"messages (src, dst, tag, bytes): not in the trace {messages - traced}, not sent {traced - messages}")
    both_sides = test.value("SELECT count(*) FROM unmatched WHERE reason NOT IN ('proc_null', 'cancelled')")
    job.expect_equal(both_sides, 0, "operations without a partner")
    print(f"matrix: {sum(traced.values())} messages, each with its receive; "
          f"{dict(test.query('SELECT reason, count(*) FROM unmatched GROUP BY 1'))} besides, "
          f"{test.value('SELECT count(*) FROM message WHERE any_source OR any_tag')} by wildcards, "
          f"{test.value('SELECT count(*) FROM message WHERE uncertain')} uncertain")


def main():
    test = job.Job(__doc__, add_arguments)
    command = [part.replace("{notes}", str(test.folder / "notes")) for part in test.arguments.command]
    more = find_mpi4py.find(test) if test.arguments.python else {}
    if test.arguments.python:
        command.insert(0, find_mpi4py.PYTHON)
    bare = test.must(test.launch(*command), **more)
    notes = not test.arguments.source
    calls, messages = read_notes(test) if notes else (collections.Counter(), collections.Counter())
    recorded = test.record(*command, **more, MPISTAIR_PARTITIONS="1")
    job.expect_equal(recorded.stdout, bare.stdout, "what the program prints")
    if notes:
        calls, messages = read_notes(test)
    test.expect_complete()
    test.expect_sound()
    check_messages(test, messages)
    check_sites(test, calls, read_marks(test.arguments.source))


main()
