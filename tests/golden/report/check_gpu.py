"""The section on GPUs of made traces, against the second implementation of the paths (tests/models/reference_gpu.py).

usage: check_gpu.py MPISTAIR SHARE_SQL
"""
import json
import pathlib
import sys
import tempfile

from made_trace import SQL, check, database, end, run

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "models"))
import reference_gpu as reference

# Five ranks on node 0, of which 0 and 2 send from a GPU, and two on node 1. A kind of three rounds: its messages (src, dst,
# bytes, form). Forms: 1 to 3 lie between GPUs and nodes, 4 on a socket; 5 has one side on a GPU, 6 none, 7 is a rank's own.
ROUNDS = 3
MESSAGES = [(0, 5, 4096, 1), (0, 6, 4096, 1), (2, 5, 100000, 1), (2, 5, 100000, 2), (2, 6, 100000, 1), (2, 6, 100, 3),
            (5, 0, 1000000, 1), (0, 2, 50000, 4), (1, 6, 777, 5), (1, 5, 777, 6), (3, 3, 10, 7)]
NODE = [0, 0, 0, 0, 0, 1, 1]
FORMS = [(3, "device 0", "device 1"), (3, "managed 0", "device 0"), (3, "device 0", "managed 31"), (1, "device 0", "device 1"),
         (3, "device 0", "pinned"), (3, None, None), (0, "device 0", "device 0")]
TRACE = "".join([
    "INSERT INTO run VALUES (1, 'key', '0', 0, 1000000000, 'MPICH', 'MPICH 4', 'MPI_THREAD_SINGLE', './app', 7, 7, NULL, NULL, NULL, 'MPI_Init', 'all');",
    "INSERT INTO node(id, host) VALUES (0, 'a'), (1, 'b'); INSERT INTO communicator VALUES (0, NULL, NULL, NULL, 7, NULL, 1);",
    "INSERT INTO function VALUES (1, 'MPI_Isend'), (2, 'MPI_Irecv'), (3, 'MPI_Send');",
    "INSERT INTO callsite(id, module, offset, file, line) VALUES (9, 'app', 16, 'halo.cu', 42), (10, 'app', 32, 'other.cu', 7);",
    f"INSERT INTO kind VALUES (1, {ROUNDS}, {len(MESSAGES) - 1}, 1);",
    *(f"INSERT INTO process(rank, node, socket, ended, begin_ns, end_ns) VALUES ({rank}, {node}, 0, 'finalize', 0, 900000000);"
      for rank, node in enumerate(NODE)),
    *("INSERT INTO form VALUES ({}, {}, {}, 2, {}, NULL, 0, 0, 0, 0, 0, {}, {});".format(
        number, level, 3 if number == 3 else 1, 10 if number == 3 else 9, *("NULL" if m is None else f"'{m}'" for m in memory))
      for number, (level, *memory) in enumerate(FORMS, 1)),
    *(f"INSERT INTO round(id, kind_id, begin_ns, end_ns) VALUES ({round}, 1, {round * 10**6}, {round * 10**6 + 900000});"
      f"INSERT INTO round_process VALUES ({round}, 0, {round * 10**6}, {round * 10**6 + 900000}, 0);" for round in range(1, ROUNDS + 1)),
    *(f"INSERT INTO message_row VALUES ({100 * round + i}, {src}, {dst}, 0, 0, {size}, {form}, {round if src != dst else 'NULL'}, "
      f"{round * 10**6 + i}, 1000, 0, 1000, 0, 0, 0, 100, 100);"
      for round in range(1, ROUNDS + 1) for i, (src, dst, size, form) in enumerate(MESSAGES))])
SUMMIT = SQL.parent / "machines/summit.tbl"
KEYS = ["gpudirect_s", "3_step_s", "extra_message_s", "duplicate_pointer_s"]
EMPTY = "no message between GPUs was recorded"


def stored(table):
    """SQL that puts a table into a trace."""
    rows = [line.split() for line in table.splitlines()[2:] if line and not line.startswith("#")]
    return "INSERT INTO machine VALUES ('m', 'test');" + "".join(
        "INSERT INTO machine_parameter(machine, level, protocol, quantity, n, value, unit) VALUES ('m', {}, {}, '{}', {}, {}, '{}');".format(
            f"'{level}'" if level != "any" else "'any'", f"'{protocol}'", quantity, "NULL" if n == "-" else n, value, unit)
        for level, protocol, quantity, n, value, unit in rows)


def section(trace):
    return " ".join(run("report", trace, "--section", "gpu")[1].split())


def rows_of(trace):
    gpu = json.loads(run("report", trace, "--json")[1])["gpu"]
    return gpu, {row["level"]: row for row in gpu["rows"]}


def expected_s(table, path, level, sizes, gpus, ppn):
    """Copies of all messages once; the rest by sizes. The reference takes messages of one size."""
    copies = reference.path_s(table, path, level, sum(sizes), 1, 0, gpus, ppn) - message_s(table, path, level, sum(sizes), gpus, ppn)
    return copies + sum(message_s(table, path, level, size, gpus, ppn) for size in sizes)


def message_s(table, path, level, size, gpus, ppn):
    """One message without the copies: those of the reference are what a table with free messages leaves."""
    if path == "gpudirect":
        return reference.path_s(table, path, level, size, 1, 0, gpus, ppn)
    team = ppn // gpus if path in ("extra-message", "duplicate-pointer") else 1
    protocol = reference.protocol_of(table, level, size // team)
    return table[level, protocol, "tau"] + size / team / reference.rate(table, level, protocol, "bw", "injection", gpus * team)


def check_values(trace):
    table = reference.parse(SUMMIT.read_text())
    gpu, rows = rows_of(trace)
    check("sums", (gpu["machine"], gpu["unknown"], gpu["kinds"], gpu["messages"], gpu["one_side"]) == ("m", "", 2, 8 * ROUNDS, ROUNDS), gpu)
    # Of each rank: its messages, GPUs of its node, processes there.
    off_node = [([4096, 4096], 2, 4), ([100000, 100000, 100000, 100], 2, 4), ([1000000], 1, 2)]
    groups = {"inter_node": off_node, "intra_socket": [([50000], 1, 5)]}
    for level, ranks in groups.items():
        for path, key in zip(reference.PATHS, KEYS):
            expected = max(expected_s(table, path, level, *rank) for rank in ranks)
            check(f"{level} {path}", abs(rows[level][key] / expected - 1) < 1e-9, (rows[level], expected))
        slowest = max(ranks, key=lambda rank: expected_s(table, "gpudirect", level, *rank))
        found = [rows[level][name] for name in ("rounds", "messages", "bytes", "gpus", "ppn")]
        check(level, found == [ROUNDS, len(slowest[0]), sum(slowest[0]), *slowest[1:]], rows[level])
        best = min(zip(KEYS, reference.PATHS), key=lambda pair: rows[level][pair[0]])[1]
        check(f"{level} fastest", rows[level]["fastest"] == best, rows[level])
        check(f"{level} site", (rows[level]["function"], rows[level]["file"], rows[level]["line"]) == ("MPI_Isend", "halo.cu", 42), rows[level])


def check_text(trace):
    code, text, err = run("report", trace, "--section", "gpu")
    check("text", code == 0 and err == "" and all(len(line) <= 80 for line in text.splitlines()), text + err)
    flat = " ".join(text.split())
    for part in ("ways of the data between GPUs, by the model on m:", "off node 1 1 1.00 MB gpudirect", "duplicate-pointer",
                 "instead of MPI_Isend (halo.cu:42) of the GPU's memory saves", "3 messages between a GPU and a host's memory left out"):
        check(part, part in flat, text)
    check("html", "duplicate-pointer" in run("report", trace, "--format", "html")[1])
    check("elsewhere", "duplicate-pointer" not in run("report", trace, "--section", "rounds")[1])


def check_tables(folder, summit):
    """What a table lacks is told, and what it has is compared."""
    without = "\n".join(line for line in summit.splitlines() if "tau_gpu" not in line)
    trace = database(folder / "no_direct.db", TRACE, stored(without))
    gpu, rows = rows_of(trace)
    check("no gpudirect", rows["inter_node"]["gpudirect_s"] is None and rows["inter_node"]["3_step_s"] > 0, gpu)
    check("its reason", "gpudirect is not available: " in section(trace) and "instead of" not in section(trace), section(trace))
    without = "\n".join(line for line in summit.splitlines() if "gpu" not in line)
    trace = database(folder / "no_gpu.db", TRACE, stored(without))
    gpu, rows = rows_of(trace)
    check("no path", rows["inter_node"]["fastest"] is None and "3-step is not available: " in section(trace), section(trace))
    slow = summit.replace("inter_node any tau_gpu - 4.96e-06", "inter_node any tau_gpu - 1e-09").replace("5917159763.313609", "1e15")
    trace = database(folder / "direct.db", TRACE, stored(slow.replace("19607843137.2549", "1e15")))
    check("gpudirect is fastest", "leave MPI_Isend (halo.cu:42) to the MPI, which is the fastest way" in section(trace), section(trace))


def check_others(folder, machine):
    trace = database(folder / "none.db", TRACE)
    check("no machine", EMPTY in section(trace) and json.loads(run("report", trace, "--json")[1])["gpu"]["rows"] == [], section(trace))
    check("all", "between GPUs" not in run("report", trace, "--all")[1])
    changes = {"UPDATE form SET send_memory = NULL;": "left out",
               "UPDATE form SET recv_memory = 'pinned';": "left out",
               "UPDATE form SET level = NULL;": "left out",
               "UPDATE form SET level = 1000;": "left out",
               "UPDATE form SET send_memory = 'device', recv_memory = 'managed -7';": "ways of the data",
               "UPDATE machine_parameter SET value = -1 WHERE quantity = 'bw_gpu';": "not known: ",
               "UPDATE machine_parameter SET value = 0 WHERE quantity = 'tau_to_gpu';": "ways of the data",
               "UPDATE message_row SET bytes = -5;": "left out",
               "UPDATE message_row SET bytes = 9223372036854775807;": "ways of the data",
               "UPDATE message_row SET src = -3;": "ways of the data",
               "UPDATE message_row SET round_id = NULL;": "left out",
               "UPDATE kind SET rounds = 0;": "ways of the data",
               "UPDATE kind SET rounds = -9223372036854775807;": "ways of the data",
               "DELETE FROM kind;": "left out",
               "UPDATE process SET node = NULL;": "ways of the data",
               "UPDATE callsite SET file = char(27) || '[31m' || hex(zeroblob(2000));": "ways of the data"}
    for number, (change, expected) in enumerate(changes.items()):
        changed = database(folder / f"changed{number}.db", TRACE, machine, change)
        for arguments in (("report", changed, "--section", "gpu"), ("report", changed, "--json")):
            code, out, err = run(*arguments)
            flat = " ".join(out.split())
            good = code == 0 and "nan" not in out and "\x1b" not in out and (expected in flat or "--json" in arguments)
            check(change, good or (code == 1 and err.startswith("mpistair: ")), f"{arguments}: {code}\n{out[:3000]}{err}")


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    summit = SUMMIT.read_text()
    made = database(folder / "made.db", TRACE, stored(summit))
    check_values(made)
    check_text(made)
    check_tables(folder, summit)
    check_others(folder, stored(summit))
end("GPUs")
