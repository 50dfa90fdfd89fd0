"""Exports of made traces: what is written where nothing is, where names are hostile, where times are missing, where the trace is
damaged; options, files and folders.

usage: check_export.py MPISTAIR SHARE_SQL
"""
import json
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "report"))
import made_trace
from export_checks import Wrong, check_csv, check_dot, check_otf2, check_perfetto, read_perfetto
from made_trace import check, database, run

FORMATS = ["perfetto", "otf2", "goal", "simgrid", "csv", "dot"]
RUN = """INSERT INTO run VALUES (1, 'key', '0', 1700000000000000000, 9000, 'MPICH', 'MPICH 4', '{level}', './app', {ranks}, {ranks},
         NULL, NULL, NULL, NULL, 'all');
         INSERT INTO node(id, host, sockets) VALUES (0, {host}, 2);
         INSERT INTO communicator(id, name, size, known) VALUES (0, 'MPI_COMM_WORLD', {ranks}, 1);"""
HOSTILE = "a\"b\\c\n\u00fc\u2603<script>\x01|{}>"


def made(folder, name, ranks, *scripts, level="MPI_THREAD_SINGLE", host="node0"):
    places = "".join(f"INSERT INTO process(rank, node, socket, ended, begin_ns, end_ns) VALUES ({rank}, 0, {rank % 2}, 'finalize', 0, 9000);"
                     f"INSERT INTO communicator_member VALUES (0, {rank}, {rank});" for rank in range(ranks))
    text = "'" + host.replace("'", "''") + "'"
    return database(folder / name, RUN.format(level=level, ranks=ranks, host=text), places, *scripts)


def message(id, src, dst, times, functions=("MPI_Isend", "MPI_Irecv"), calls=True, tag=5, size=100):
    """times: post and completion of the send, of the receive; each posting call takes 10 ns unless it waits."""
    numbers = ", ".join("NULL" if time is None else str(time) for time in times)
    rows = f"""INSERT INTO message VALUES ({id}, {src}, {dst}, 0, {tag}, {size}, 'intra_socket', NULL, {numbers}, {size}, '{functions[0]}',
               '{functions[1]}', 0, 0, NULL, NULL, NULL, NULL, 0);"""
    lengths = [(times[i + 1] or times[i]) - times[i] if functions[i // 2] in ("MPI_Send", "MPI_Recv") else 10 for i in (0, 2)]
    if calls:
        rows += f"UPDATE message_row SET send_call_ns = {lengths[0]}, recv_call_ns = {lengths[1]} WHERE id = {id};"
    return rows


def call(rank, function, begin, end):
    return f"""INSERT INTO function(name) SELECT '{function}' WHERE '{function}' NOT IN (SELECT name FROM function);
               INSERT INTO call_row SELECT {rank}, id, {begin}, {end} - {begin}, 1, 0, NULL FROM function WHERE name = '{function}';"""


def export(trace, form, *options):
    output = str(trace) + "." + form
    code, out, errors = run("export", trace, "--to", form, "-o", output, *options)
    return code, output, errors


def whole(name, trace, has_otf2, calls=True, exported=("perfetto", "csv", "dot", "otf2")):
    """Exports and checks a trace."""
    checks = {"perfetto": check_perfetto, "csv": check_csv, "dot": check_dot, "otf2": check_otf2}
    for form in exported:
        if form == "otf2" and not has_otf2:
            continue
        code, output, errors = export(trace, form)
        check(f"{name}: {form}", code == 0, errors)
        try:
            checks[form](output, trace, **({"calls": calls} if form in ("perfetto", "otf2") else {}))
        except Wrong as wrong:
            check(f"{name}: {form}", False, wrong)


def check_made(folder, has_otf2):
    waits = call(0, "MPI_Wait", 150, 200) + call(1, "MPI_Wait", 200, 300)
    plain = made(folder, "plain.db", 2, message(1, 0, 1, (100, 200, 120, 300)), waits)
    whole("plain", plain, has_otf2)
    slices = {(event["name"], event["pid"]): event for event in read_perfetto(str(plain) + ".perfetto")["traceEvents"] if event["ph"] == "X"}
    arguments = {"rank": 1, "from": 0, "tag": 5, "bytes": 100, "communicator": "MPI_COMM_WORLD", "message": 1}
    check("what a call posts", slices["MPI_Irecv", 2]["args"] == arguments, slices)
    check("what a call completes", slices["MPI_Wait", 2]["args"] == arguments, slices)
    counts = [(event["pid"], float(event["ts"]), event["args"]["bytes"]) for event in read_perfetto(str(plain) + ".perfetto")["traceEvents"]
              if event["ph"] == "C"]
    check("bytes in flight", counts == [(1, 0.1, 100), (1, 0.3, 0)], counts)
    whole("blocking", made(folder, "blocking.db", 2, message(1, 0, 1, (100, 200, 120, 300), ("MPI_Send", "MPI_Recv"))), has_otf2)
    whole("itself", made(folder, "itself.db", 1, message(1, 0, 0, (100, 200, 120, 200)), call(0, "MPI_Waitall", 150, 200)), has_otf2)
    whole("no calls", made(folder, "calls.db", 2, message(1, 0, 1, (100, 200, 120, 300), calls=False)), has_otf2, calls=False)
    whole("empty", made(folder, "empty.db", 3), has_otf2)
    whole("before the begin", made(folder, "early.db", 2, message(1, 0, 1, (-50, 200, 120, 300)), waits), has_otf2)
    never = made(folder, "never.db", 2, message(1, 0, 1, (100, 200, 120, None), ("MPI_Isend", "MPI_Recv")), waits)
    whole("never received", never, has_otf2)
    hung = [event for event in read_perfetto(str(never) + ".perfetto")["traceEvents"] if event["name"] == "MPI_Recv"]
    check("a receive that never returned", [(event["args"]["returned"], event["ts"] + event["dur"]) for event in hung] == [(False, 9)], hung)
    threads = message(1, 0, 1, (100, 400, 120, 400), ("MPI_Send", "MPI_Recv")) + message(2, 0, 1, (200, 300, 220, 300), ("MPI_Send", "MPI_Recv"))
    for level, lanes in ("MPI_THREAD_MULTIPLE", 2), ("MPI_THREAD_SERIALIZED", 1):
        trace = made(folder, f"{level}.db", 2, threads, level=level)
        whole(level, trace, has_otf2)
        found = {event["tid"] for event in read_perfetto(str(trace) + ".perfetto")["traceEvents"] if event["ph"] == "X"}
        check(f"{level}: threads", len(found) == 2 * lanes, found)


def check_hostile(folder, has_otf2):
    text = "'" + HOSTILE.replace("'", "''") + "'"
    trace = made(folder, "hostile.db", 2, message(1, 0, 1, (100, 200, 120, 300)), f"""
        INSERT INTO callsite VALUES (1, {text}, 16, NULL, {text}, {text}, 7); UPDATE form SET send_callsite = 1;
        UPDATE communicator SET name = {text}; UPDATE run SET command = {text}, mpi_library = CAST(x'ff00fe' AS TEXT);
        UPDATE callsite SET module = CAST(x'ff41' AS TEXT);""", host=HOSTILE)
    whole("hostile names", trace, has_otf2)
    names = {event["args"]["communicator"] for event in read_perfetto(str(trace) + ".perfetto")["traceEvents"] if event["ph"] == "X"}
    check("a hostile name", len(names) == 1 and "\u00fc\u2603<script>" in names.pop(), names)


def check_damaged(folder, has_otf2):
    """Nothing of a trace is taken on trust: an error says what is wrong, and nothing is written."""
    good = message(1, 0, 1, (100, 200, 120, 300)) + call(0, "MPI_Wait", 150, 200)
    damages = ["UPDATE message_row SET dst = 99", "UPDATE message_row SET src = -1", "UPDATE message_row SET form = 77",
               "UPDATE message_row SET bytes = -5", "UPDATE message_row SET send_post_ns = 9223372036854775807",
               "UPDATE call_row SET begin_ns = -9223372036854775807", "UPDATE call_row SET function = 1234",
               "UPDATE form SET recv_function = 99", "UPDATE process SET rank = 7 WHERE rank = 1", "DROP TABLE communicator", "DELETE FROM run",
               "INSERT INTO collective(rank, function, comm, bytes, begin_ns, call_ns, nonblocking) VALUES (9, 'MPI_Barrier', 0, 0, 1, 1, 0)"]
    for number, damage in enumerate(damages):
        trace = made(folder, f"damaged{number}.db", 2, good, damage)
        for form in ["perfetto"] + ["otf2"] * has_otf2:
            code, output, errors = export(trace, form)
            check(f"{damage}: {form}", code == 1 and str(trace) in errors and not os.path.exists(output), f"{code} {errors}")
    strange = ["UPDATE message_row SET tag = 'text'", "UPDATE message_row SET send_ns = -7, recv_ns = -9", "DELETE FROM communicator_member",
               "UPDATE process SET node = NULL, begin_ns = NULL, end_ns = NULL", "DELETE FROM communicator",
               "UPDATE message_row SET bytes = 9223372036854775807", "UPDATE call_row SET callsite = 55"]
    for number, damage in enumerate(strange):
        trace = made(folder, f"strange{number}.db", 2, good, damage)
        for form in ["perfetto", "csv", "dot"] + ["otf2"] * has_otf2:
            code, output, errors = export(trace, form)
            check(f"{damage}: {form}", code == 0, f"{code} {errors}")
        json.loads(pathlib.Path(f"{trace}.perfetto").read_text())


def check_window(folder):
    trace = made(folder, "window.db", 3, message(1, 0, 1, (100, 200, 120, 300)), message(2, 1, 2, (1100, 1200, 1120, 1300)),
                 message(3, 0, 1, (2100, 2200, 2120, 2300)), "INSERT INTO mark VALUES (0, 4, 1000, NULL), (1, 4, 1050, NULL);")
    for options, ids in {(): [1, 2, 3], ("--ranks", "0,1"): [1, 3], ("--ranks", "1-2"): [2], ("--from", "mark:4"): [2, 3],
                         ("--to", "0.0000013"): [1, 2], ("--from", "0.00000105", "--to", "0.000001299"): [],
                         ("--ranks", "0-2", "--to", "mark:4"): [1]}.items():
        code, output, errors = export(trace, "csv", *options)
        found = [int(row["id"]) for row in check_csv(output) if row["what"] == "message"]
        check(f"{options}", code == 0 and found == ids, f"{found} {errors}")
        check(f"{options}: what is left out", ("left out" in errors) == bool(options) and
              (not options or f"{3 - len(ids)} of 3 messages" in errors), errors)
        flows = [event["id"] for event in check_perfetto(export(trace, "perfetto", *options)[1])["traceEvents"] if event["ph"] == "s"]
        check(f"{options}: perfetto", flows == ids or sorted(flows) == ids, flows)
    for wrong, word in {("--ranks", "5"): "rank 5", ("--from", "mark:9"): "mark", ("--to", "site:3"): "site",
                        ("--from", "0.000003", "--to", "0.000001"): "before"}.items():
        code, _, errors = export(trace, "csv", *wrong)
        check(f"{wrong}", code == 1 and word in errors, f"{code} {errors}")
    for wrong in [], ["--to", "pdf"], ["--to", "csv", "--to", "dot"], ["--to", "csv", "--ranks", "3-1"], ["--to", "csv", "--ranks", ""], \
            ["--to", "csv", "--ranks", "1,,2"], ["--to", "csv", "--from", "mark:x"], ["--to", "otf2"]:
        code, out, errors = run("export", trace, *wrong)
        check(f"usage {wrong}", code == 2 and out == "" and errors, f"{code} {errors}")


def check_parts(folder):
    """Of random messages and calls, every part has what lies inside as a whole, by a count of its own; most messages are in rounds,
    by which those of a short part are looked up."""
    random.seed(7)
    messages = []
    for i in range(200):
        post, late = random.randrange(8000), random.randrange(-50, 50)
        messages.append((i + 1, *random.sample(range(6), 2), (post, post + 10 + random.randrange(90), post + late, post + late + 10 + random.randrange(90))))
    calls = [(random.randrange(6), begin, begin + random.randrange(60)) for begin in random.sample(range(8000), 100)]
    rounds = []
    in_time = sorted(messages[:180], key=lambda row: min(row[3]))
    for number, begin in enumerate(range(0, len(in_time), 4), 1):
        group = in_time[begin:begin + 4]
        rounds += [f"INSERT INTO kind VALUES ({number}, 1, 4, 400); INSERT INTO round(id, kind_id, begin_ns, end_ns) VALUES ({number}, {number}, "
                   f"{min(min(row[3]) for row in group)}, {max(max(row[3]) for row in group)});",
                   f"UPDATE message_row SET round_id = {number} WHERE id IN ({', '.join(str(row[0]) for row in group)});"]
    trace = made(folder, "parts.db", 6, *(message(*row) for row in messages), *rounds, *(call(rank, "MPI_Wait", begin, end) for rank, begin, end in calls))
    for _ in range(25):
        first, last = sorted(random.choices(range(6), k=2))
        begin, end = sorted(random.choices(range(9000), k=2))
        inside = [(first <= src <= last and begin <= times[0] and times[1] <= end, first <= dst <= last and begin <= times[2] and times[3] <= end)
                  for _, src, dst, times in messages]
        kept_calls = sum(first <= rank <= last and begin <= call_begin and call_end <= end for rank, call_begin, call_end in calls)
        _, output, errors = export(trace, "perfetto", "--ranks", f"{first}-{last}", "--from", f"{begin / 1e9:.9f}", "--to", f"{end / 1e9:.9f}")
        text = (f"{len(messages) - sum(s and r for s, r in inside)} of {len(messages)} messages ({sum(s != r for s, r in inside)} of them with one "
                f"side inside), {len(calls) - kept_calls} of {len(calls)} calls")
        check(f"ranks {first} to {last}, {begin} to {end} ns", text in errors, f"{errors} {text}")
        events = check_perfetto(output)["traceEvents"]
        flows = sorted(event["id"] for event in events if event["ph"] == "s")
        check("their messages", flows == [row[0] for row, (s, r) in zip(messages, inside) if s and r], flows)
        waits = sum(event["ph"] == "X" and event["name"] == "MPI_Wait" for event in events)
        check("their calls", waits == kept_calls, f"{waits} {kept_calls}")


def check_output(folder, has_otf2):
    trace = made(folder, "output.db", 2, message(1, 0, 1, (100, 200, 120, 300)))
    for form in ["perfetto", "csv", "dot", "goal", "simgrid"]:
        code, out, errors = run("export", trace, "--to", form)
        check(f"{form} to standard output", code == 0 and out == pathlib.Path(export(trace, form)[1]).read_text(), errors)
        code, _, errors = run("export", trace, "--to", form, "-o", "/dev/full")
        check(f"{form} to a full disk", code == 1 and "/dev/full" in errors, f"{code} {errors}")
        code, _, errors = run("export", trace, "--to", form, "-o", folder / "missing" / "x")
        check(f"{form} into no folder", code == 1 and "missing" in errors, f"{code} {errors}")
    code, _, errors = run("replay", trace, "--machine", "summit", "--goal", folder / "replay.goal", "--tit", folder / "replay.simgrid")
    check("replay", code == 0, errors)
    for form in "goal", "simgrid":
        check(f"{form} as replay writes it", (folder / f"replay.{form}").read_text() == pathlib.Path(f"{trace}.{form}").read_text())
        idle = pathlib.Path(export(trace, form, "--ranks", "0")[1]).read_text()
        check(f"{form} of one rank", "send" not in idle and ("num_ranks 2" in idle or "1 init" in idle), idle)
    if not has_otf2:
        return
    for name, files in {"theirs": ["letter.txt"], "like": ["traces.otf2"], "more": []}.items():
        place = folder / name
        place.mkdir()
        for file in files:
            (place / file).write_text("mine")
        if name == "more":
            check("an empty folder", run("export", trace, "--to", "otf2", "-o", place)[0] == 0)
            check("an archive of ours", run("export", trace, "--to", "otf2", "-o", place)[0] == 0)
            (place / "traces" / "letter.txt").write_text("mine")
        before = sorted(map(str, place.rglob("*")))
        code, _, errors = run("export", trace, "--to", "otf2", "-o", place)
        check(f"folder {name}", code == 1 and "not an archive" in errors and before == sorted(map(str, place.rglob("*"))), f"{code} {errors}")
    code, _, errors = run("export", trace, "--to", "otf2", "-o", folder / "missing" / "x")
    check("otf2 into no folder", code == 1 and "missing" in errors, f"{code} {errors}")
    check("nothing is left beside", not list(folder.glob("more.*")), list(folder.glob("more.*")))


def check_interrupted(folder):
    """Nothing is left of an archive that a signal ends, and the process ends by the signal. One that was faster is written again."""
    trace = made(folder, "long.db", 2, message(1, 0, 1, (100, 200, 120, 300)), """
        WITH RECURSIVE i(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM i WHERE n < 40000)
        INSERT INTO message_row SELECT n, 0, 1, 0, 5, 8, form, NULL, n * 100, 50, 0, 60, 0, NULL, NULL, 10, 10 FROM i, message_row;""")
    for number in signal.SIGINT, signal.SIGTERM:
        code = 0
        for _ in range(40):
            if code != 0:
                break
            process = subprocess.Popen([made_trace.MPISTAIR, "export", trace, "--to", "otf2", "-o", folder / "long.otf2"],
                                       stderr=subprocess.PIPE, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL))
            while not list(folder.glob("long.otf2.*/traces")) and process.poll() is None:
                time.sleep(0.0005)
            process.send_signal(number)
            process.communicate(timeout=60)
            code = process.returncode
        check(f"{number.name}: exit code", code == -number, code)
        check(f"{number.name}: folders", not list(folder.glob("long.otf2.*")), list(folder.glob("long.otf2*")))


def check_many(folder):
    """Of many ranks a box is a socket, or several nodes; of many edges the heaviest are there."""
    for ranks, word in (100, "a box is a socket"), (4000, "several nodes"):
        trace = made(folder, f"many{ranks}.db", ranks, "".join(message(i + 1, i % ranks, (i * 7 + 1) % ranks, (100, 200, 120, 300), size=i + 1)
                                                                for i in range(200)))
        connection = sqlite3.connect(trace)
        if ranks == 4000:
            connection.executescript("INSERT INTO node(id, host) SELECT rank, 'n' || rank FROM process WHERE rank > 0 AND rank % 20 = 0;"
                                     "UPDATE process SET node = rank - rank % 20;")
        connection.commit()
        connection.close()
        code, output, errors = export(trace, "dot")
        text = check_dot(output)
        check(f"{ranks} ranks", code == 0 and word in text and word in errors and text.count(" -> ") <= 400, errors)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        code, _, errors = run("export", made(folder, "probe.db", 1), "--to", "otf2", "-o", folder / "probe.otf2")
        has_otf2 = "without libotf2" not in errors
        check("otf2", code == 0 or "libopen-trace-format2-dev" in errors, errors)
        check_made(folder, has_otf2)
        check_hostile(folder, has_otf2)
        check_damaged(folder, has_otf2)
        check_window(folder)
        check_parts(folder)
        check_output(folder, has_otf2)
        if has_otf2:
            check_interrupted(folder)
        check_many(folder)
    made_trace.end("exports")


if __name__ == "__main__":
    main()
