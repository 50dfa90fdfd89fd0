"""The section on fine-grained messages of made traces, against the worked value of the model and figures by hand.

usage: check_fine_grained.py MPISTAIR SHARE_SQL
"""
import json
import pathlib
import tempfile

from made_trace import check, database, end, run

# Rank 0 starts seven times a message of 1 MiB in 32 partitions to each of six ranks on nodes of their own, computes 4.194304 ms
# from the return of the last start on, and one thread 4 % longer: the worked value of share/doc/MODELS.md, Fine-grained
# messages. Then it sends once by MPI_Isend what one thread has computed for 1 ms, and rank 1 sends to rank 0 from two
# processors, from one of them 3 us earlier.
PEERS, THREADS, ROUNDS, BYTES = 6, 32, 7, 1 << 20
COMPUTE_NS, LATE_NS = 4194304, 4362076
NODES = ", ".join(f"({rank}, 'node{rank}')" for rank in range(7))
PROCESSES = ", ".join(f"({rank}, {rank}, 0, 'finalize', 0, 900000000)" for rank in range(7))
TRACE = f"""
INSERT INTO run VALUES (1, 'key', '0', 0, 1000000000, 'MPICH', 'MPICH 4', 'MPI_THREAD_MULTIPLE', './app', 7, 7, NULL, NULL, NULL,
                        'MPI_Init', 'all');
INSERT INTO node(id, host) VALUES {NODES};
INSERT INTO process(rank, node, socket, ended, begin_ns, end_ns) VALUES {PROCESSES};
INSERT INTO communicator VALUES (0, NULL, NULL, NULL, 7, NULL, 1);
INSERT INTO function VALUES (1, 'MPI_Start'), (2, 'MPI_Isend'), (3, 'MPI_Irecv');
INSERT INTO form VALUES (1, 3, 1, 1, NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL), (2, 3, 2, 3, NULL, NULL, 0, 0, 0, 0, 0, NULL, NULL);
INSERT INTO kind VALUES (1, {ROUNDS}, {PEERS}, {PEERS * BYTES}), (2, 1, 2, 2000), (3, 1, 2, 2400);
INSERT INTO round(id, kind_id, begin_ns, end_ns) VALUES (8, 2, 400000000, 401000000), (9, 3, 500000000, 501000000);
INSERT INTO round_process VALUES (8, 0, 400000000, 401000000, 0), (9, 1, 500000000, 501000000, 0);
INSERT INTO call_row VALUES (0, 3, 398999000, 1000, 1, 0, NULL), (1, 3, 499989000, 1000, 1, 0, NULL);
INSERT INTO message_row VALUES (900, 0, 1, 0, 3, 1000, 2, 8, 400000000, 5000, 0, 6000, 0, 5, 0, 100, 100),
  (901, 0, 2, 0, 3, 1000, 2, 8, 400000200, 5000, 0, 6000, 0, 5, 0, 100, 100),
  (902, 1, 0, 0, 3, 1200, 2, 9, 500000000, 5000, 0, 6000, 0, 5, 0, 100, 100),
  (903, 1, 0, 0, 3, 1200, 2, 9, 500003000, 5000, 0, 6000, 0, 6, 0, 100, 100);
""" + "".join(f"""
INSERT INTO round(id, kind_id, begin_ns, end_ns) VALUES ({round}, 1, {round * 10000000}, {round * 10000000 + 9000000});
INSERT INTO round_process VALUES ({round}, 0, {round * 10000000}, {round * 10000000 + 9000000}, 0);
""" + "".join(f"""
INSERT INTO message_row VALUES ({10 * round + peer}, 0, {peer}, 0, 3, {BYTES}, 1, {round}, {round * 10000000 + peer * 100}, 8000000, 0,
                                8000000, 0, 0, 0, 100, 100);
INSERT INTO partition VALUES ({10 * round + peer}, NULL, 0, 'send', NULL, 1, 2, {THREADS}, {THREADS}, NULL, NULL);
""" for peer in range(1, PEERS + 1)) for round in range(1, ROUNDS + 1)) + f"""
WITH RECURSIVE t(n) AS (VALUES (0) UNION ALL SELECT n + 1 FROM t WHERE n < {THREADS - 1})
INSERT INTO partition SELECT m.id, NULL, 0, 'send', n, at, at, 1, {THREADS}, 'MPI_Pready', NULL
  FROM (SELECT m.id, t.n, m.round_id * 10000000 + {PEERS * 100 + 100} + CASE t.n WHEN m.round_id THEN {LATE_NS} ELSE {COMPUTE_NS} END AS at
        FROM t, message_row m WHERE m.form = 1) m;
"""
MACHINE = "name m\nsource test\ninter_node any tau - 2e-6 s\ninter_node any bw 1 12e9 B/s\n"
WORKED = {2: 3.180, 4: 2.690, 8: 1.710}  # per cent
C = 2e-6 + 1000 / 12e9  # of a buffer of the second round


def saved(row, by):
    return {entry["parts"]: entry["saved_share"] for entry in row[by]}


def near(found, expected, within=1e-9):
    return found is not None and abs(found - expected) < within


def check_values(trace):
    fine = json.loads(run("report", trace, "--json")[1])["fine_grained"]
    check("sums", (fine["machine"], fine["unknown"], fine["kinds"], fine["unseen"], fine["left_out"]) == ("m", "", 3, 0, 0), fine)
    first, other, last = fine["longest"]
    check("first", [first[name] for name in ("kind", "threads", "times", "peers", "bytes")] == [1, THREADS, ROUNDS, PEERS, BYTES], first)
    check("whole", near(first["whole_s"] / ROUNDS, 4898.364e-6, 1e-9), first)
    check("late", near(first["late_s"], (LATE_NS - COMPUTE_NS) * 1e-9, 1e-12), first)
    for parts, percent in WORKED.items():
        check(f"worked {parts}", near(100 * saved(first, "p2p")[parts], percent, 6e-4), first)
        check(f"bound {parts}", saved(first, "bound")[parts] >= saved(first, "p2p")[parts], first)
    check("limit", near(first["limit_share"], 1 - LATE_NS * 1e-9 / (first["whole_s"] / ROUNDS)), first)
    check("unknown interfaces", set(saved(first, "rma").values()) | set(saved(first, "partitioned").values()) == {None}, first)
    # One thread is done after 1 ms; each further part costs both peers one more tau.
    check("one thread", [other[name] for name in ("kind", "threads", "peers", "bytes")] == [2, 1, 2, 1000], other)
    check("one thread, whole", near(other["whole_s"], 1e-3 + 2 * C, 1e-12), other)
    for parts in (2, 4, 8):
        check(f"one thread, {parts}", near(saved(other, "p2p")[parts], -2 * (parts - 1) * 2e-6 / other["whole_s"]), other)
        check(f"one thread, bound {parts}", saved(other, "bound")[parts] is None, other)
    # Two threads are done after 10 and 13 us, and one buffer of 2400 B is for one peer. The first half has left before.
    whole_s = 13e-6 + 2e-6 + 2400 / 12e9
    check("two threads", [last[name] for name in ("kind", "threads", "peers", "bytes")] == [3, 2, 1, 2400] and near(last["late_s"], 3e-6, 1e-12), last)
    check("two threads, 2", near(saved(last, "p2p")[2], 1200 / 12e9 / whole_s), last)
    check("two threads, 4", saved(last, "p2p")[4] is None and saved(last, "bound")[8] is None, last)


def check_text(trace):
    code, text, err = run("report", trace, "--section", "fine-grained")
    found = [" ".join(line.split()) for line in text.splitlines()]
    check("text", code == 0 and err == "" and all(len(line) <= 80 for line in text.splitlines()), text + err)
    check("rows", "1 32 6 1.05 MB 168 us p2p +3.2 % +2.7 % +1.7 %" in found, text)
    check("one thread", "where one thread posts" in text and "m has no tau_p2p" in text, text)
    check("html", "what no interface can pass" in run("report", trace, "--format", "html")[1])
    check("elsewhere", "Fine-grained" not in run("report", trace, "--section", "rounds")[1])


def check_interfaces(folder, trace):
    """Parts of an interface with costs of its own, and ranks that share the bandwidth of their node."""
    table = folder / "costs.tbl"
    table.write_text(MACHINE.replace("name m", "name costs") + "inter_node any tau_p2p - 3e-6 s\ninter_node any tau_rma - 1e-6 s\n"
                     "inter_node any bw 7 14e9 B/s\nintra_socket any tau - 1e-6 s\nintra_socket any bw 1 1e9 B/s\n")
    run("predict", trace, "--rounds", "--machine", table)
    first = json.loads(run("report", trace, "--machine", "costs", "--json")[1])["fine_grained"]["longest"][0]
    c = 6 * (3e-6 + BYTES / 2 / 12e9)
    expected = max(COMPUTE_NS * 1e-9 + c, LATE_NS * 1e-9) + c
    whole = LATE_NS * 1e-9 + 6 * (3e-6 + BYTES / 12e9)
    check("tau_p2p", near(saved(first, "p2p")[2], 1 - expected / whole, 1e-6), (first, 1 - expected / whole))
    check("tau_rma", saved(first, "rma")[8] > saved(first, "p2p")[8] and saved(first, "partitioned")[2] is None, first)
    one_node = database(folder / "one_node.db", TRACE, "UPDATE process SET node = 0;")
    run("predict", one_node, "--rounds", "--machine", table)
    shared = json.loads(run("report", one_node, "--json")[1])["fine_grained"]["longest"][0]
    check("shared", near(shared["whole_s"] / ROUNDS, LATE_NS * 1e-9 + 6 * (3e-6 + BYTES / 2e9), 1e-9), shared)


def check_others(folder, table):
    empty = "the trace has no machine table"
    trace = database(folder / "none.db", TRACE)
    check("no machine", empty in run("report", trace, "--section", "fine-grained")[1].replace("\n", " "))
    check("no machine, json", json.loads(run("report", trace, "--json")[1])["fine_grained"]["longest"] == [])
    check("all", "Fine-grained" not in run("report", trace, "--all")[1])
    changes = {"UPDATE machine_parameter SET value = -1 WHERE quantity = 'bw';": "not known: ",
               "DELETE FROM partition WHERE partition IS NOT NULL;": "MPISTAIR_PARTITIONS=1",
               "DELETE FROM partition WHERE partition = 3;": "times of the sends are not known",
               "UPDATE form SET level = NULL;": "places or times",
               "UPDATE form SET level = 1;": "not known: ",
               "UPDATE message_row SET bytes = -5;": "places or times",
               "UPDATE message_row SET bytes = 9223372036854775807;": "Fine-grained",
               "UPDATE partition SET first_ns = -9000000000000000000;": "Fine-grained",
               "UPDATE partition SET partitions = 1000000000;": "times of the sends",
               "UPDATE round SET kind_id = 77;": "not known: ",
               "UPDATE process SET rank = rank + 100000000;": "Fine-grained",
               "UPDATE message_row SET src = -3;": "Fine-grained"}
    for number, (change, expected) in enumerate(changes.items()):
        trace = database(folder / f"changed{number}.db", TRACE)
        run("predict", trace, "--rounds", "--machine", table)
        changed = database(folder / f"changed{number}.db", TRACE, "INSERT INTO machine VALUES ('m', 'test'); INSERT INTO "
                           "machine_parameter(machine, level, protocol, quantity, n, value, unit) VALUES ('m', 'inter_node', 'any', 'tau', "
                           "NULL, 2e-6, 's'), ('m', 'inter_node', 'any', 'bw', 1, 12e9, 'B/s');", change)
        for arguments in (("report", changed, "--section", "fine-grained"), ("report", changed, "--json")):
            code, out, err = run(*arguments)
            check(change, (code == 0 and "nan" not in out and (expected in " ".join(out.split()) or "--json" in arguments)) or
                  (code == 1 and err.startswith("mpistair: ")), f"{arguments}: {code}\n{out[:3000]}{err}")


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    made = database(folder / "made.db", TRACE)
    (folder / "m.tbl").write_text(MACHINE)
    code, out, err = run("predict", made, "--rounds", "--machine", folder / "m.tbl")
    check("predict", code == 0, err)
    check_values(made)
    check_text(made)
    check_interfaces(folder, made)
    check_others(folder, folder / "m.tbl")
end("fine-grained messages")
