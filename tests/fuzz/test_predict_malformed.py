"""Malformed patterns, placements, tables and traces given to `mpistair predict`: exit code and message of each, and
nothing that was there is touched.

usage: test_predict_malformed.py MPISTAIR SCHEMA.sql
"""
import os
import sqlite3
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../models"))
from empty_trace import empty_trace  # noqa: E402

MPISTAIR, SCHEMA = map(os.path.abspath, sys.argv[1:3])
GOOD = {"p.csv": b"src,dst,bytes\n0,1,8000\n", "l.csv": b"rank,node,socket\n0,0,0\n1,0,0\n",
        "m.tbl": b"name m\nsource s\nintra_socket any tau - 1e-6 s\nintra_socket any bw 1 1e9 B/s\n"}
PATTERN = ["--pattern", "p.csv", "--placement", "l.csv", "--machine", "m.tbl", "--format", "csv"]
RUN = ["t.db", "--machine", "m.tbl"]
TABLE = GOOD["m.tbl"]

# file, content, exit code, in the message
FILES = [
    ("p.csv", b"", 1, "p.csv:1: empty file; expected a header line with src,dst,bytes"),
    ("p.csv", b"\0" * 5000, 1, "p.csv:1: zero byte"),
    ("p.csv", b"1" * 3000000, 1, "p.csv:1: line of more than"),
    ("p.csv", b"src,dst\n0,1\n", 1, "no column 'bytes'"),
    ("p.csv", b"src,dst,bytes,bytes\n0,1,8,8\n", 1, "column 'bytes' appears twice"),
    ("p.csv", b"src,dst,bytes\n0,1\n", 1, "p.csv:2: 2 fields, the header has 3"),
    ("p.csv", b"src,dst,bytes\n0,1,8\n0,1,-8\n", 1, "p.csv:3: column 'bytes': '-8'"),
    ("p.csv", b"src,dst,bytes\r\n0,1,8\r\n0,1,nan\r\n", 1, "p.csv:3: column 'bytes': 'nan'"),
    ("p.csv", b"src,dst,bytes\n0,1,18446744073709551616\n", 1, "is too large"),
    ("p.csv", b"src,dst,bytes\n0,2,8\n", 1, "rank 2 is not in the placement (ranks 0 to 1)"),
    ("p.csv", b"src,dst,bytes\n0,1,\"8\n", 1, "quoted field"),
    ("p.csv", None, 1, "p.csv: cannot be opened: No such file"),
    ("l.csv", b"rank,node,socket\n", 1, "l.csv: no ranks"),
    ("l.csv", b"rank,node,socket\n0,0,0\n0,0,0\n", 1, "l.csv:3: rank 0 appears twice"),
    ("l.csv", b"rank,node,socket\n0,0,0\n9,0,0\n", 1, "l.csv:3: rank 9, but there are 2 rows"),
    ("l.csv", b"rank,node,socket\n0,0,4294967296\n", 1, "l.csv:2: node and socket"),
    ("l.csv", b"rank,node,socket\n0,x,0\n", 1, "l.csv:2: column 'node': 'x'"),
    ("m.tbl", b"", 1, "m.tbl: is empty; expected a machine table"),
    ("m.tbl", TABLE[:-12], 1, "m.tbl:4: 3 words"),
    ("m.tbl", TABLE[:-3], 1, "m.tbl:4: bw in 'B', expected 'B/s'"),
    ("m.tbl", TABLE + b"intra_socket any bw 1 2e9 B/s\n", 1, "'intra_socket any bw 1' appears twice"),
    ("m.tbl", TABLE.replace(b"1e9", b"-1e9"), 1, "m.tbl:4: bw of -1e+09"),
    ("m.tbl", TABLE.replace(b"1e9", b"nan"), 1, "m.tbl:4: value 'nan'"),
    ("m.tbl", TABLE.replace(b"intra_socket any tau", b"intra_rack any tau"), 1, "m.tbl:3: level 'intra_rack'"),
    ("m.tbl", TABLE.replace(b"any tau", b"eager tau"), 1, "values for protocol 'any' and for 'eager'"),
    ("m.tbl", TABLE.replace(b"intra_socket any tau - 1e-6 s\n", b""), 1, "no tau for level intra_socket"),
    ("m.tbl", TABLE.replace(b"1e9", b"1e-308"), 1, "the modelled time of a rank is out of range"),
    ("m.tbl", b"y" * 100000, 1, "m.tbl:1: a line of more than"),
    ("m.tbl", TABLE + b"\0", 1, "m.tbl:5: a zero byte"),
]

# arguments, exit code, in the message
COMMANDS = [
    ([], 2, "expected a trace, or --pattern"),
    (["--pattern", "p.csv"], 2, "--pattern requires --placement"),
    (["--pattern", "p.csv", "--placement", "l.csv"], 2, "--pattern requires --machine"),
    (["t.db", *PATTERN], 2, "'t.db' and --pattern: expected only one"),
    (["a.db", "b.db"], 2, "expected one trace, got several"),
    ([*PATTERN, "--model", "staircase,crystal-ball"], 2, "no model 'crystal-ball': expected postal"),
    ([*PATTERN, "--model", ""], 2, "no model ''"),
    ([*PATTERN, "--model", "m" * 5000], 2, "no model 'mmm"),
    ([*PATTERN, "--latency", "both"], 2, "--latency both: expected in, out or max"),
    ([*PATTERN, "--format", "xml"], 2, "--format xml: expected text, csv or json"),
    ([*PATTERN, "--colour"], 2, "--colour"),
    ([*PATTERN, "--machine", "cray-1"], 1, "machine 'cray-1': not among the shipped ones (b"),
    ([*PATTERN, "--machine", "x" * 3000], 1, "not among the shipped ones"),
    ([*PATTERN, "-o", "no/such/folder/x"], 1, "no/such/folder/x: cannot be written"),
    ([*PATTERN, "--to-placement", "fill"], 2, "a change (--what-if) requires a trace; for a pattern"),
    (["t.db", "--rounds", "--machine", "m.tbl", "--best-placement"], 2, "a change (--what-if) requires a trace without --rounds"),
    ([*RUN, "--what-if"], 2, "--what-if: expected a change"),
    ([*RUN, "--to-placement", "fill", "--best-placement"], 2, "--to-placement and --best-placement exclude each other"),
    ([*RUN, "--no-latency", "--seconds", "3"], 2, "--seconds and --seed require --best-placement"),
    ([*RUN, "--no-latency", "--rank-file", "x"], 2, "--rank-file requires --to-placement or --best-placement"),
    ([*RUN, "--best-placement", "--rank-file", ""], 2, "--rank-file: expected"),
    ([*RUN, "--best-placement", "--seconds", "0"], 2, "--seconds 0: expected more than 0"),
    *[([*RUN, "--best-placement", "--seconds", value], 2, f"--seconds {value}: expected a number, 0 to 86400")
      for value in ("-1", "1e9", "nan", "inf", "", "3s")],
    *[([*RUN, "--best-placement", "--seed", value], 2, f"--seed {value[:40]}: expected a whole number")
      for value in ("-1", "x", "18446744073709551616", "", "9" * 3000)],
    *[([*RUN, "--eager-threshold", value], 2, f"--eager-threshold {value}: expected a whole number")
      for value in ("-1", "64k", "1.5", "nan")],
    ([*RUN, "--best-placement", "--rank-file", "x", "--model", "flow,tea"], 2, "no law 'tea'"),
    (["none.db"], 1, "none.db: cannot be opened: No such file"),
    (["p.csv"], 1, "p.csv: not a trace database"),
    (["empty.db"], 1, "empty.db: is empty"),
    (["other.db"], 1, "other.db: an SQLite file, but not a trace"),
    (["cut.db", "--machine", "m.tbl"], 1, "cut.db: "),
    (["version.db"], 1, "version.db: schema version 99"),
    (["norun.db"], 1, "norun.db: holds no run"),
    (["t.db"], 1, "t.db: holds no machine: choose with --machine"),
    (["t.db", "--machine", "cray-1"], 1, "machine 'cray-1'"),
    (["rank.db", "--machine", "m.tbl"], 1, "rank 7 of a message is not in the world of 2 ranks"),
    (["bytes.db", "--machine", "m.tbl"], 1, "a message of -5 bytes"),
    (["world.db", "--machine", "m.tbl"], 1, "run.world_size is -1"),
    (["nocalls.db", "--machine", "m.tbl"], 1, "ingested with --no-calls"),
    (["t.db", "--machine", "m.tbl", "--model", "staircase-max"], 2, "it is a model of rounds: --rounds"),
    (["t.db", "--machine", "m.tbl", "--model", "flow+nothing"], 2, "no term 'nothing'"),
    (["t.db", "--machine", "m.tbl", "--model", "flow+memory+memory"], 2, "comes twice"),
    (["t.db", "--machine", "m.tbl", "--interval", "--model", "flow,postal"], 2, "expected one law for a what-if, --sensitivity, --tolerance or --interval, got 2"),
    (["t.db", "--rounds", "--machine", "m.tbl", "--sensitivity"], 2, "--sensitivity requires a trace without --rounds"),
    ([*PATTERN, "--to", "mark:1"], 2, "--to requires a trace"),
    (["t.db", "--machine", "m.tbl", "--from", "yesterday"], 2, "'mpistair predict --help'"),
    (["t.db", "--machine", "m.tbl", "--latency", "out"], 2, "--latency requires --rounds"),
    (["--rounds", *PATTERN], 2, "--rounds requires a trace"),
    (["machine.db"], 1, "machine 'bad': bw of -1, expected a value above 0"),
]


def make_trace(path, *statements, world=2, version=None):
    database = empty_trace(path, SCHEMA)
    if world is not None:
        database.execute("INSERT INTO run VALUES (1,'k','0',0,0,'MPICH','l','t','c',?,?,NULL,NULL,NULL,NULL, 'all')", (world, world))
    database.executemany("INSERT INTO process(rank,node,socket,ended) VALUES (?,0,0,'finalize')", [(0,), (1,)])
    database.execute("INSERT INTO kind VALUES (0,1,1,8)")
    database.execute("INSERT INTO round(id, kind_id, begin_ns, end_ns) VALUES (0,0,0,1)")
    database.execute("INSERT INTO message(src,dst,comm,tag,bytes,round_id,send_post_ns,recv_post_ns,recv_bytes,"
                     "send_function,recv_function,any_source,any_tag,uncertain) VALUES (0,1,0,0,8,0,0,0,8,'s','r',0,0,0)")
    for statement in statements:
        database.execute(statement)
    if version is not None:
        database.execute(f"PRAGMA user_version = {version}")
    database.commit()
    database.close()


def write_inputs():
    for name, content in GOOD.items():
        with open(name, "wb") as file:
            file.write(content)


def write_traces():
    make_trace("t.db")
    make_trace("nocalls.db")
    make_trace("version.db", version=99)
    make_trace("norun.db", world=None)
    make_trace("world.db", world=-1)
    make_trace("rank.db", "UPDATE message_row SET dst = 7")
    make_trace("bytes.db", "UPDATE message_row SET bytes = -5")
    make_trace("huge.db", "UPDATE message_row SET bytes = 9223372036854775807",
               *["INSERT INTO message(src,dst,comm,tag,bytes,round_id,send_post_ns,recv_post_ns,recv_bytes,send_function,"
                 "recv_function,any_source,any_tag,uncertain) VALUES (0,1,0,0,9223372036854775807,0,0,0,8,'s','r',0,0,0)"] * 2)
    make_trace("machine.db", "INSERT INTO machine VALUES ('bad','s')",
               "INSERT INTO machine_parameter(machine,level,protocol,quantity,n,value,unit) "
               "VALUES ('bad','intra_socket','any','bw',1,-1,'B/s')")
    with open("empty.db", "wb"):
        pass
    database = sqlite3.connect("other.db")
    database.execute("CREATE TABLE x(y)")
    database.commit()
    database.close()
    with open("t.db", "rb") as file:
        whole = file.read()
    with open("cut.db", "wb") as file:
        file.write(whole[:len(whole) // 2])


def check(what, arguments, code, message):
    """1 if it failed."""
    before = {}
    for name in os.listdir("."):
        with open(name, "rb") as file:
            before[name] = file.read()
    rounds = ["--rounds"] if arguments and arguments[0] in ("rank.db", "bytes.db", "world.db") else []
    done = subprocess.run([MPISTAIR, "predict", *arguments, *rounds], capture_output=True, timeout=60)
    error = done.stderr.decode(errors="replace")
    after = {}
    for name in os.listdir("."):
        with open(name, "rb") as file:
            after[name] = file.read()
    wrong = []
    if done.returncode != code:
        wrong.append(f"exit code {done.returncode}, expected {code}")
    if message not in error or not error.startswith("mpistair: "):
        wrong.append(f"no '{message}'")
    if len(error) > 1500:
        wrong.append(f"{len(error)} bytes of message")
    if done.stdout:
        wrong.append("output")
    if before != after:
        wrong.append("files changed: " + ", ".join(n for n in after if before.get(n) != after[n]))
    if wrong:
        print(f"not ok: {what}: {'; '.join(wrong)}\n  stderr: {error[:500]}")
    return len(wrong) > 0


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        for name, content, code, message in FILES:
            write_inputs()
            if content is None:
                os.unlink(name)
            else:
                with open(name, "wb") as file:
                    file.write(content)
            with open("out.csv", "w") as file:
                file.write("before")
            failed += check(f"{name} {content[:60] if content is not None else 'missing'}", [*PATTERN, "-o", "out.csv"],
                            code, message)
        write_inputs()
        write_traces()
        for arguments, code, message in COMMANDS:
            failed += check(" ".join(arguments)[:100], arguments, code, message)
        os.chdir("/")
    print(f"{len(FILES) + len(COMMANDS)} cases, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
