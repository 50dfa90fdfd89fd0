"""Whether the first screen of each program's report has the table Models, with every law's error.

usage: models_screens.py MPISTAIR APPS --mpi MPI:MPIEXEC:TABLE ... [--ranks 2,4] [--preload LIBRARY] [--print PROGRAM] [--only WORD]

Records ten kinds of programs by `mpistair run --machine TABLE`, which predicts at the end, with 2 and 4 ranks: steps of APPS
(halo, wavefront, double buffer, one whose partners and sizes change, nonblocking sums), conjugate gradients, one-sided, and of
Open MPI, whose packages Debian has, LAMMPS, GROMACS and HPCC where they are installed. Prints a line each: the laws of the
table in order, with the errors, or what is missing. --print: the whole screen of that program. --preload is for MPICH on fewer
cores than ranks: tests/apps/yield.c. A benchmark, not a test: programs take seconds. Exits with 1 where a table is missing.
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import application_list

OPTIONS = None
STEPS = [("halo", "60000"), ("wavefront", "20000"), ("double_buffer", "200000"), ("irregular", "100000"), ("sums_ahead", "60000")]


def programs(mpi, ranks):
    apps = pathlib.Path(OPTIONS.apps).resolve()
    for kind, size in STEPS:
        yield kind, [apps / f"steps-{mpi}", kind, "-n", "200", "-b", size]
    yield "cg", [apps / f"halo-{mpi}", "--points", "20000"]
    yield "one_sided", [apps / f"numbered-{mpi}", "one_sided", "2000"]
    if mpi == "openmpi" and shutil.which("lmp"):
        yield "LAMMPS", ["lmp", "-in", application_list.JOBS / "melt.in", "-log", "none", "-var", "steps", "50"]
    if mpi == "openmpi" and shutil.which("gmx_mpi"):
        if not pathlib.Path("md.tpr").exists():
            application_list.box_of_water(pathlib.Path(), 200)
        yield "GROMACS", ["gmx_mpi", "-quiet", "mdrun", "-ntomp", "1", "-s", "md.tpr"]
    if mpi == "openmpi" and shutil.which("hpcc"):
        application_list.hpcc_input(pathlib.Path(), 400, ranks)
        yield "HPCC", ["hpcc"]


def screen(mpi, launcher, table, ranks, name, words):
    """The first screen of the program's report, or why there is none."""
    trace = pathlib.Path(f"{name}-{mpi}-{ranks}.db")
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_NUM_THREADS="1",
                       **({"LD_PRELOAD": OPTIONS.preload} if OPTIONS.preload and mpi == "mpich" else {}))
    bound = ["--oversubscribe", "--bind-to", "none"] if mpi == "openmpi" else []
    done = subprocess.run([*map(str, [OPTIONS.mpistair, "run", "--machine", table, "-o", trace, "--", launcher, *bound, "-n", ranks,
                                      *words])], capture_output=True, text=True, timeout=300, env=environment, errors="replace")
    if done.returncode != 0:
        return f"exit {done.returncode}: {done.stderr[-300:]}"
    return subprocess.run([OPTIONS.mpistair, "report", trace], capture_output=True, text=True, timeout=300, check=True).stdout


def laws(shown):
    """[(law, error)] of the table Models."""
    table = re.search(r"(?m)^Models.*\n((?:.+\n)+)", shown)
    return re.findall(r"(?m)^ *([a-z-]+) +([0-9.]+ %)", table[1]) if table else []


def main():
    global OPTIONS
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("mpistair", type=os.path.abspath)
    parser.add_argument("apps")
    parser.add_argument("--mpi", action="append", default=[])
    parser.add_argument("--ranks", default="2,4")
    parser.add_argument("--preload", type=os.path.abspath)
    parser.add_argument("--print", action="append", default=[])
    parser.add_argument("--only", default="")
    OPTIONS = parser.parse_args()
    OPTIONS.apps = os.path.abspath(OPTIONS.apps)
    places = [word.split(":") for word in OPTIONS.mpi]
    places = [(mpi, launcher, os.path.abspath(table)) for mpi, launcher, table in places]
    missing = n = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for mpi, launcher, table in places:
            for ranks in OPTIONS.ranks.split(","):
                for name, words in programs(mpi, int(ranks)):
                    if OPTIONS.only not in name:
                        continue
                    shown = screen(mpi, launcher, table, ranks, name, words)
                    found = laws(shown)
                    n += 1
                    missing += not found
                    print(f"{name} {mpi} {ranks}:", ", ".join(f"{law} {error}" for law, error in found) or f"no table: {shown[:400]}",
                          flush=True)
                    if name in OPTIONS.print:
                        print(shown)
    print(f"{n - missing} of {n} first screens have the table Models")
    return 1 if missing or n == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
