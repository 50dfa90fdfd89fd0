"""mpistair scaling on made traces: known efficiencies, sites that stop scaling, forecasts, formats, and what is refused.

usage: check_scaling.py MPISTAIR SHARE_SQL
"""
import csv
import io
import json
import pathlib
import tempfile

from made_trace import check, database, end, joint_calls, run

RANKS, ROUNDS, SECOND = (1, 2, 4, 8), 16, 10**9
LINES, COLUMNS = 40, 80


def amdahl(path, ranks, serial=0.05, more_ns=0):
    """100 s, of which rank 0 alone does the serial part."""
    parallel = round(100 * SECOND * (1 - serial) / ROUNDS / ranks)
    return joint_calls(path, ranks, [(1, [parallel + round(100 * SECOND * serial / ROUNDS) + more_ns] + [parallel] * (ranks - 1), 0)] * ROUNDS)


def root(path, ranks):
    """Run time 100 s / sqrt(p), of which each rank computes 100 s / p."""
    alone, all_ns = 100 * SECOND // ROUNDS // ranks, round(100 * SECOND / ROUNDS * ranks ** -0.5)
    return joint_calls(path, ranks, [(1, [alone] * ranks, all_ns - alone)] * ROUNDS)


def stops(path, ranks, command="./job", extra=""):
    """Two sites; the call of the second one takes as long on 4 ranks and more as on 1."""
    steps = [(1, [SECOND // ranks] * ranks, SECOND // 10 // ranks), (2, [SECOND // ranks] * ranks, SECOND // 10 // (ranks if ranks < 4 else 1))]
    return joint_calls(path, ranks, steps * ROUNDS, command=command, extra=extra)


def moved(path, ranks, more=0):
    """All computation is before the first site on 1 rank, on more ranks before the second one, and there 1 + more times as long."""
    computed_ns = [SECOND if ranks == 1 else round(SECOND * (1 + more)) // ranks] * ranks
    return joint_calls(path, ranks, [step for _ in range(ROUNDS) for step in
                                     ((1, computed_ns if ranks == 1 else [9] * ranks, 9), (2, computed_ns if ranks > 1 else [9] * ranks, 9))])


def weak(path, ranks):
    return joint_calls(path, ranks, [(1 + i % 2, [SECOND] * ranks, SECOND // 10 * (ranks if i % 2 else 1)) for i in range(ROUNDS)])


def found(*arguments):
    code, text, error = run("scaling", *arguments, "--json")
    check(f"json of {arguments}", code == 0 and error == "", error)
    return json.loads(text)


def close(a, b):
    return abs(a - b) < 1e-9


def main(folder):
    made = {make.__name__: [make(folder / f"{make.__name__}{ranks}.db", ranks) for ranks in RANKS] for make in (amdahl, root, stops, weak)}

    result = found(*reversed(made["amdahl"]))
    check("order and mode", result["scaling"] == "strong" and [row["ranks"] for row in result["runs"]] == list(RANKS), result)
    for row in result["runs"]:
        ranks, time = row["ranks"], 0.05 + 0.95 / row["ranks"]
        known = {"run_s": 100 * time, "speedup": 1 / time, "global": 1 / ranks / time, "parallel": 1 / ranks / time, "load_balance": 1 / ranks / time,
                 "communication": 1, "scalability": 1, "computation_s": 100}
        check(f"Amdahl on {ranks}", all(close(row[name], value) for name, value in known.items()), (row, known))
    check("Amdahl's law is found", result["laws"] == {"computation": "a + b / p", "mpi": "a + b / p"}, result["laws"])
    next_run, truth = result["forecast"], 100 * (0.05 + 0.95 / 16)
    check("Amdahl of 16", next_run["ranks"] == 16 and abs(next_run["run_s"] - truth) < 1e-6 and next_run["low_s"] - 1e-6 <= truth <= next_run["high_s"] + 1e-6
          and abs(next_run["global"] - 100 / 16 / truth) < 1e-6, next_run)
    check("who waits for the serial part", "in MPI_Allreduce" in result["sites"][0]["place"] and result["sites"][0]["since_ranks"] == 2
          and close(result["sites"][0]["waiting_s"][3], result["sites"][0]["time_s"][3]), result["sites"])

    result = found(*made["root"])
    for row in result["runs"]:
        share = row["ranks"] ** -0.5
        known = {"speedup": 1 / share, "global": share, "parallel": share, "load_balance": 1, "communication": share, "scalability": 1}
        check(f"root on {row['ranks']}", all(close(row[name], value) for name, value in known.items()), (row, known))
    check("root of 16", result["forecast"]["low_s"] < 25 < result["forecast"]["high_s"]
          and result["forecast"]["global_low"] < 0.25 < result["forecast"]["global_high"], result["forecast"])

    result = found(*made["stops"])
    check("stops at 4", result["sites"][0]["since_ranks"] == 4 and result["sites"][0]["line"] == 20 and result["sites"][0]["place"].startswith("in ")
          and all(site["since_ranks"] is None for site in result["sites"][1:]), result["sites"])
    check("its excess", close(result["sites"][0]["excess"], (0.1 - 0.1 / 8) / (2.1 / 8 + 0.1 + 0.1 / 8 - 0.1 / 8)), result["sites"][0])
    code, text, error = run("scaling", *made["stops"])
    plain = " ".join(text.split())
    check("named", code == 0 and "The call site that stops scaling, from 4 ranks on: in MPI_Allreduce halo halo.c:20" in plain and "Strong scaling" in text
          and "Forecast for 16 ranks" in plain, text + error)
    check("screen", text.count("\n") <= LINES and max(map(len, text.split("\n"))) <= COLUMNS, text)

    result = found(*(moved(folder / f"moved{ranks}.db", ranks) for ranks in (1, 2, 4)))
    check("computation before another call", all(site["since_ranks"] is None and site["excess"] < 1e-6 for site in result["sites"]), result["sites"])
    result = found(*(moved(folder / f"grown{ranks}.db", ranks, 0.1) for ranks in (1, 2, 4)))
    check("and more of it", [site["since_ranks"] for site in result["sites"]][:2] == [2, None] and abs(result["sites"][0]["excess"] - 0.1 / 1.1) < 1e-6
          and result["sites"][0]["place"].startswith("before ") and result["sites"][0]["line"] == 20, result["sites"])

    result = found(*made["weak"])
    check("weak", result["scaling"] == "weak" and close(result["exponent"], 1) and all(close(row["scalability"], 1) for row in result["runs"])
          and result["sites"][0]["line"] == 20, result)
    check("weak told to be strong", close(found(*made["weak"], "--strong")["runs"][3]["scalability"], 1 / 8))
    between = [amdahl(folder / "some.db", 1), joint_calls(folder / "more.db", 4, [(1, [50 * SECOND] * 4, 0)])]
    check("neither", "neither 0 (strong scaling) nor 1 (weak)" in " ".join(run("scaling", *between)[1].split()))
    check("told", "neither" not in run("scaling", *between, "--weak")[1])

    wild = [joint_calls(folder / f"wild{ranks}.db", ranks, [(1, [SECOND // ranks] * ranks, call_s * SECOND)]) for ranks, call_s in ((1, 0), (2, 9), (4, 2))]
    many = [joint_calls(folder / f"many{i}.db", 2**i, [(1, [SECOND // 2**i] * 2**i, SECOND // 50)] * 8) for i in range(8)]
    code, text, error = run("scaling", *many)
    check("many runs fit", code == 0 and max(map(len, text.split("\n"))) <= COLUMNS and "the other 3 numbers of ranks" in text and " 128 " in text
          and len(found(*many)["runs"]) == 8, text + error)
    check("no law", found(*wild)["forecast"] is None and "follow no law" in run("scaling", *wild)[1])
    code, text, error = run("scaling", *made["amdahl"][:2])
    check("two runs", code == 0 and "No forecast" in text and "4?" not in text and found(*made["amdahl"][:2])["forecast"] is None, text + error)
    rows = list(csv.DictReader(io.StringIO(run("scaling", *made["amdahl"], "--format", "csv")[1])))
    check("csv", [row["ranks"] for row in rows] == ["1", "2", "4", "8", "16"] and rows[4]["trace"] == "" and close(float(rows[1]["speedup"]), 1 / 0.525), rows)

    again = [amdahl(folder / f"again{i}.db", 2, more_ns=i * SECOND // ROUNDS) for i in (1, 3)]
    result = found(*made["amdahl"], *again)["runs"][1]
    check("median", result["runs"] == 3 and close(result["run_s"], 53.5) and close(result["spread"], 3 / 53.5), result)
    check("spread is shown", "spread of its runs" in run("scaling", *made["amdahl"], *again)[1])

    code, text, error = run("scaling", made["stops"][0], stops(folder / "other.db", 2, command="./other"))
    check("another command", code == 0 and "ran: ./other" in text, text + error)
    lost = stops(folder / "lost.db", 4, extra="INSERT INTO loss VALUES (3, 'disk', 5)")
    code, text, error = run("scaling", *made["stops"][:2], lost)
    check("not whole", code == 0 and "is not whole" in " ".join(text.split()) and "No forecast" in text, text + error)
    idle = joint_calls(folder / "idle.db", 2, [(1, [0, 0], SECOND)])
    for paths, says in (([made["stops"][0], idle], "expected a run whose ranks compute"), ([made["stops"][0]] * 2, "2 to 12 different numbers of ranks, found 1"),
                        ([made["stops"][0], database(folder / "empty.db")], "empty"), ([made["stops"][0], folder / "absent.db"], "absent.db")):
        code, text, error = run("scaling", *paths)
        check(f"{paths[1].name} is refused", code == 1 and says in error and not text, f"{code} {error}")
    check("one trace", run("scaling", made["stops"][0])[0] == 2)


with tempfile.TemporaryDirectory(prefix="mpistair-scaling-") as scratch:
    main(pathlib.Path(scratch))
end("scaling")
