"""Cases of tests/golden/trace, exported in every format: threads, intercommunicators, persistent and partitioned requests,
one-sided calls, processes that left nothing ... The same once more without calls, and of a window.

usage: check_cases.py MPISTAIR GEN_WRAPPERS MPI.TBL CASE ...
"""
import contextlib
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

MPISTAIR, GEN_WRAPPERS, TABLE = sys.argv[1:4]
CASES = os.path.dirname(os.path.abspath(sys.argv[4]))
sys.path.insert(0, CASES)
import export_checks
import run as cases
import spool


def ingest(case, folder, *options):
    """Returns the trace of a case, None where the case is one that must fail."""
    script = spool.Script(*spool.read_functions(GEN_WRAPPERS, TABLE))
    script.read([line.replace("{case}", CASES) for line in case["script"]])
    script.write(folder)
    database = os.path.join(folder, "trace.db")
    done = subprocess.run([MPISTAIR, "ingest", folder, "-o", database, *shlex.split(case["options"].replace("{case}", CASES)), *options],
                          capture_output=True, text=True, timeout=60)
    export_checks.need(done.returncode == case["exit"], "ingest:", done.stderr)
    return database if done.returncode == 0 else None


def export(database, form, *options):
    output = database + "." + form
    done = subprocess.run([MPISTAIR, "export", database, "--to", form, "-o", output, *options], capture_output=True, text=True,
                          timeout=60)
    return done, output


def check(database, calls, window, has_otf2):
    checks = {"perfetto": export_checks.check_perfetto, "csv": export_checks.check_csv, "dot": export_checks.check_dot}
    if has_otf2:
        checks["otf2"] = export_checks.check_otf2
    options = ["--ranks", "0", "--from", "0.00000001", "--to", "0.00000003"] if window else []
    for form, function in checks.items():
        done, output = export(database, form, *options)
        if window and done.returncode == 1 and ", before 1e-08 s" in done.stderr: # the run ends before the window
            continue
        export_checks.need(done.returncode == 0, form, done.stderr)
        whole = {"calls": calls} if form in ("perfetto", "otf2") else {}
        export_checks.need(not window or "left out" in done.stderr, form, "does not say what is left out:", done.stderr)
        function(output, None if window else database, **whole)
    if calls:
        for form in ("goal", "simgrid"):
            done, output = export(database, form, *options)
            export_checks.need(done.returncode in (0, 1) and (done.returncode == 0) == os.path.exists(output), form, done.stderr)


def main():
    failures, n = [], 0
    has_otf2 = "otf2" not in os.environ.get("MPISTAIR_LACKS", "").split()
    for path in map(pathlib.Path, sys.argv[4:]):
        for options, window in ((), False), (("--no-calls",), False), ((), True):
            with tempfile.TemporaryDirectory() as folder:
                try:
                    database = ingest(cases.read_case(path), folder, *options)
                    if database is not None:
                        check(database, not options, window, has_otf2)
                        n += 1
                except (export_checks.Wrong, subprocess.TimeoutExpired, ValueError, KeyError) as wrong:
                    failures.append(f"{path.name} {' '.join(options)}{' window' if window else ''}: {type(wrong).__name__}: {wrong}")
    print("\n".join(failures) or f"{n} traces, exported: ok")
    sys.exit(1 if failures or n == 0 else 0)


if __name__ == "__main__":
    main()
