#!/usr/bin/env python3
"""A program that is built anew, replaced or deleted between its run and ingest: no line of another file stands for a call of
the one that ran, its build id is the one that ran, and ingest, report and JSON say why. What left the code as it was
changes nothing."""
import json
import os
import shutil
import subprocess

import job

SITE = """SELECT DISTINCT module, function, line, build_id FROM message JOIN callsite ON callsite.id = send_callsite"""


def build_id(path):
    notes = subprocess.run(["readelf", "-n", path], capture_output=True, text=True, check=True).stdout
    return next((line.split()[-1] for line in notes.splitlines() if "Build ID" in line), None)


class Program:
    """A copy of the program that can be changed, recorded by a job whose spools stay."""

    def __init__(self, test, kind):
        self.test, self.kind = test, kind
        self.path = test.folder / "program"
        self.later = test.folder / "later"
        self.restore()
        self.id = build_id(self.path)

    def restore(self):
        shutil.copy2(self.test.program(self.kind + "_1"), self.path)
        shutil.copy2(self.test.program(self.kind + "_2"), self.later)

    def record(self, *arguments):
        shutil.rmtree(self.test.spools, ignore_errors=True)
        self.test.must(self.test.launch(str(self.path), *arguments), **self.test.preloaded(MPISTAIR_INGEST="0"))

    def expect(self, what, line, *reasons):
        """Ingests, and expects the line, or none and the reasons."""
        test = self.test
        test.trace.unlink(missing_ok=True)
        said = test.ingest().stderr
        function = "main" if line else None
        job.expect_equal(test.query(SITE), [(str(self.path), function, line, self.id)], f"{what}: the call site")
        told = test.query("SELECT module, build_id, callsites > 0, reason FROM unnamed_module")
        job.expect_equal([row[:3] for row in told], [(str(self.path), self.id, 1)] if reasons else [], f"{what}: reasons")
        shown = test.must([test.mpistair, "report", "--section", "completeness", test.trace]).stdout
        first = test.must([test.mpistair, "report", test.trace]).stdout
        missing = json.loads(test.must([test.mpistair, "report", "--format", "json", test.trace]).stdout)["completeness"]
        names = [entry["name"] for entry in missing["unnamed_modules"]]
        for reason in reasons:
            for name, text in (("trace", told[0][3]), ("ingest", said), ("report", " ".join(shown.split())), ("JSON", names[0])):
                if reason not in text:
                    job.fail(f"{what}: {name} lacks '{reason}': {text}")
        for name, text in (("report", shown), ("first screen", first)):
            if ("without lines" in text) != bool(reasons):
                job.fail(f"{what}: {name} says {text}")


def with_id(test):
    program = Program(test, "rebuilt")
    program.record()
    program.expect("unchanged", 10)
    os.replace(program.later, program.path)
    program.expect("replaced", None, "its file was replaced since", f"build id {build_id(program.path)} now", program.id)
    program.restore()
    program.expect("restored", 10)
    shutil.copyfile(program.later, program.path)
    program.expect("built in place", None, "its file was replaced since", program.id)
    program.restore()
    test.must(["objcopy", "--only-keep-debug", program.path, test.folder / "program.debug"])
    test.must(["strip", program.path])
    test.must(["objcopy", "--add-gnu-debuglink=" + str(test.folder / "program.debug"), program.path])
    program.expect("stripped", 10)
    program.path.unlink()
    program.expect("deleted", None, "its file cannot be read here: No such file or directory")
    program.restore()
    program.record(str(program.later))
    program.expect("replaced while it ran", None, "its file was replaced since", program.id)


def without_id(test):
    program = Program(test, "rebuilt_plain")
    job.expect_equal(program.id, None, "build id")
    program.record()
    program.expect("unchanged", 10)
    before = program.path.stat()
    os.replace(program.later, program.path)
    os.utime(program.path, ns=(before.st_atime_ns, before.st_mtime_ns))
    program.expect("replaced", None, "its file was changed since")
    program.restore()
    program.record(str(program.later))
    program.expect("replaced while it ran", None, "its file was replaced or deleted while it ran")


def main():
    cases = {"id": with_id, "plain": without_id}
    test = job.Job(__doc__, lambda parser: parser.add_argument("--case", choices=cases, required=True))
    for command in ("readelf", "objcopy", "strip"):
        test.needs(command)
    cases[test.arguments.case](test)


main()
