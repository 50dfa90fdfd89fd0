#!/usr/bin/env python3
"""A command whose standard output cannot be written has failed: exit code 1 and one line that says why.

usage: full_output.py MPISTAIR
"""
import subprocess
import sys

COMMANDS = [
    ["--help"], ["--version"], ["report", "--help"], ["doctor"],
    ["machine", "list"], ["machine", "show", "summit"], ["machine", "check", "summit", "--json"],
    ["machine", "memory", "henri", "--computing", "2"], ["predict", "--memory", "--machine", "henri", "--format", "csv"],
    ["predict", "--finegrain", "--machine", "blue-waters", "--bytes", "4096", "--threads", "4"],
    ["pattern", "pairs", "--ranks", "8"], ["pattern", "pairs", "--ranks", "8", "--json"],
]


def main():
    wrong = []
    with open("/dev/full", "w") as full:
        for command in COMMANDS:
            done = subprocess.run([sys.argv[1], *command], stdout=full, stderr=subprocess.PIPE, text=True, timeout=60)
            if done.returncode != 1 or "written" not in done.stderr:
                wrong.append(f"{' '.join(command)}: exit {done.returncode}, {done.stderr!r}")
    print("\n".join(wrong) or f"{len(COMMANDS)} commands ok")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
