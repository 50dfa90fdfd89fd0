"""Ingest says what the file held whose place a trace takes: a trace with predictions and a replay, another file, nothing.

usage: check_replaced.py MPISTAIR SHARE_SQL SPOOLS_PY GEN_WRAPPERS MPI_TBL
"""
import pathlib
import sys
import tempfile

from made_trace import check, database, end, run

sys.path.insert(0, sys.argv[3])
import spool  # found in that folder

with tempfile.TemporaryDirectory() as name:
    folder = pathlib.Path(name)
    (folder / "spools").mkdir()
    script = spool.Script(*spool.read_functions(*sys.argv[4:6]))
    script.read(["world 2", "0 Isend 1 5 8 0-50", "1 Irecv 0 5 8 10-60"])
    script.write(str(folder / "spools"))
    halo = (pathlib.Path(__file__).parent / "halo.sql").read_text()

    def notes(path, *options):
        code, _, said = run("ingest", folder / "spools", "-o", path, *options)
        check(f"ingest to {path.name}", code == 0, said)
        return [line.removeprefix(f"mpistair: note: {path} is replaced: ") for line in said.splitlines() if "is replaced" in line]

    trace = database(folder / "full.db", halo, "INSERT INTO replay_run VALUES (1, 'toy', 'flow', 'recorded', '', 1, 1, 0)")
    said = notes(trace)
    check("a trace with predictions", len(said) == 1 and said[0].startswith("recorded 2023-11-1") and
          said[0].endswith(", 4 ranks, 2 predictions, 1 replay"), said)
    said = notes(trace)
    check("a trace without", len(said) == 1 and said[0].endswith(", 2 ranks"), said)
    check("--quiet", notes(trace, "--quiet") == [], "says something")
    check("a new name", notes(folder / "new.db") == [], "says something")
    (folder / "text.db").write_text("precious\n")
    check("another file", notes(folder / "text.db") == ["it is not a trace of mpistair"], "")
    cut = folder / "cut.db"
    cut.write_bytes(trace.read_bytes()[:5000])
    check("a damaged trace", len(notes(cut)) == 1, "")
end("replaced")
