#!/usr/bin/env python3
"""A recorded job, exported: every message and call once, with the times of the trace; LAMMPS, or the halo exchange."""
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "golden" / "export"))
import export_checks
import job


def estimate(archive):
    """otf2-estimator takes the numbers of definitions of the archive."""
    lines = [f"set Location {len({entry[1] for entry in archive.events})}", "set Region 100", "get MpiIsend", "get MpiIrecv", "exit"]
    if shutil.which("otf2-estimator") is None:
        return
    done = subprocess.run(["otf2-estimator"], input="\n".join(lines) + "\n", capture_output=True, text=True, timeout=60)
    sizes = [int(word) for word in done.stdout.replace(":", " ").split() if word.isdigit()]
    if done.returncode != 0 or len(sizes) < 2 or min(sizes) <= 0:
        job.fail(f"otf2-estimator: {done.returncode} {done.stdout} {done.stderr}")


def main():
    test = job.Job(__doc__, lambda parser: parser.add_argument("--lammps", action="store_true"))
    lammps = test.arguments.lammps
    if lammps:
        test.ranks = 4
        test.needs("lmp")
    command = ["lmp", "-in", str(HERE / "melt.in"), "-log", "none"] if lammps else [test.program("halo")]
    test.record(*command)
    checks = {"perfetto": lambda path: export_checks.check_perfetto(path, test.trace, recorded=True),
              "csv": lambda path: export_checks.check_csv(path, test.trace),
              "dot": lambda path: export_checks.check_dot(path, test.trace),
              "otf2": lambda path: export_checks.check_otf2(path, test.trace)}
    for form, check in checks.items():
        output = f"{test.trace}.{form}"
        done = subprocess.run([str(test.mpistair), "export", str(test.trace), "--to", form, "-o", output], capture_output=True,
                              text=True, timeout=120)
        if "without libotf2" in done.stderr:
            continue
        if done.returncode != 0 or done.stderr:
            job.fail(f"{form}: {done.returncode} {done.stderr}")
        try:
            found = check(output)
        except export_checks.Wrong as wrong:
            job.fail(f"{form}: {wrong}")
        if form == "otf2" and found is not None and len(found.of("MpiIsend", "MpiSend")) > 0:
            estimate(found)
    print(test.value("SELECT count(*) FROM message"), "messages, exported")


main()
