"""All commands say the same of a trace in shards as of one in one file.

usage: check_shard_readers.py MPISTAIR GEN_WRAPPERS MPI.TBL MACHINE.TBL CASE...
"""
import glob
import os
import sys
import tempfile

MACHINE = sys.argv.pop(4)
import shards
from shards import check, tool

FORMATS = "csv", "perfetto", "dot", "goal", "simgrid"


def outputs(folder, queries):
    """All that is said of trace.db in the folder, by what was asked."""
    found = {}

    def ask(*words):
        done = tool(*words, cwd=folder)
        found[" ".join(words)] = done.returncode, done.stdout, done.stderr

    for name in queries:
        ask("query", "trace.db", name, "--format", "csv")
    ask("query", "trace.db", "completeness", "--from", "0", "--to", "1")
    for options in ["--all"], ["--format", "json"], ["--format", "csv"], ["--all", "--from", "0", "--to", "0.000001"]:
        ask("report", "trace.db", *options)
    ask("diff", "trace.db", "trace.db", "--json")
    for form in FORMATS:
        ask("export", "trace.db", "--to", form, "-o", "out")
        found["files of " + form] = {}
        for name in glob.glob(os.path.join(folder, "out*")):
            with open(name, "rb") as file:
                found["files of " + form][os.path.basename(name)] = file.read()
            os.unlink(name)
    ask("predict", "trace.db", "--machine", MACHINE)
    ask("predict", "trace.db", "--machine", MACHINE, "--rounds")
    ask("replay", "trace.db", "--machine", MACHINE)
    ask("report", "trace.db", "--all")
    return found


def main():
    queries = [os.path.basename(path)[:-4] for path in glob.glob(os.path.join(os.environ["MPISTAIR_SHARE"], "sql", "*.sql"))]
    queries = sorted(name for name in queries if name != "schema")
    check("named queries", len(queries) > 40, queries)
    for path in sys.argv[4:]:
        with tempfile.TemporaryDirectory() as folder:
            spools, case = os.path.join(folder, "spools"), shards.run.read_case(path)
            os.mkdir(spools)
            shards.write_spools(path, case, spools)
            said = []
            for n in "1", "3":
                own = os.path.join(folder, n)
                os.mkdir(own)
                done = shards.ingest(spools, os.path.join(own, "trace.db"), path, case, "--shards", n)
                check(path, done.returncode == 0, done.stderr)
                said.append(outputs(own, queries))
            check(path, bool(glob.glob(os.path.join(folder, "3", "*.shard-*"))), "no shards")
            failed = [words for words, one in said[0].items() if isinstance(one, tuple) and one[0] != 0 and
                      not words.endswith(("goal -o out", "simgrid -o out"))] # of a thinned run there are none
            check(f"{path}: commands that fail", not failed, failed)
            for words, one in said[0].items():
                check(f"{os.path.basename(path)}: {words}", said[1].get(words) == one, f"{said[1].get(words)}\n one file: {one}"[:1500])
    return shards.end()


sys.exit(main())
