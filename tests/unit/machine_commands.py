"""mpistair machine list, show, import, export, fit, check, diff: results, exit codes, and that a failure leaves no output.

Usage: machine_commands.py MPISTAIR SCHEMA.sql
"""
import json
import os
import stat
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../models"))
from empty_trace import empty_trace  # noqa: E402

TOOL, SCHEMA = (os.path.abspath(path) for path in sys.argv[1:])
failures = []


def run(*words, code=0, says=""):
    """Runs `mpistair machine WORDS`; its standard output. says: part of what it must write on standard error."""
    done = subprocess.run([TOOL, "machine", *words], capture_output=True, text=True, timeout=60)
    if done.returncode != code or says not in done.stderr:
        failures.append(f"machine {' '.join(words)}: exit {done.returncode}, expected {code}; stderr {done.stderr!r}")
    return done.stdout


def memory(machine, *words, code=0, says=""):
    """The same of `mpistair predict --memory`, which reads the table's rows of memory."""
    done = subprocess.run([TOOL, "predict", "--memory", "--machine", machine, *words], capture_output=True, text=True, timeout=60)
    if done.returncode != code or says not in done.stderr:
        failures.append(f"predict --memory {machine}: exit {done.returncode}, expected {code}; stderr {done.stderr!r}")
    return done.stdout


def expect(what, condition):
    if not condition:
        failures.append(what)


QUIET = "any any drift_small - 0.01 1 #: - - 9 probes\n"
GOOD = "intra_socket any tau - 1e-6 s #: 0.97e-6 1.03e-6 30 x\nintra_socket any bw 1 4e9 B/s #: 3.9e9 4.1e9 30 x\n"
CURVE = "intra_socket any bw 2 8e9 B/s #: 7.9e9 8.1e9 30 x\nintra_socket any bw 8 9e9 B/s #: 4e9 15e9 30 x\n"
QUEUE = "".join(f"any any queue_step {n} 2e-9 s #: - - {2 + n % 3} x\n" for n in (8, 16, 32, 64, 128))


def differences():
    """Values of both tables, whether their intervals have one in common, and what only one has; probes are no values."""
    with open("a.tbl", "w") as file:
        file.write("name a\nsource a test\n" + GOOD + QUIET + "any any gamma - 2e-9 s\n")
    with open("b.tbl", "w") as file:
        file.write("name b\nsource a test\n" + GOOD.replace("4e9 B/s #: 3.9e9 4.1e9", "1e9 B/s #: 0.9e9 1.1e9") +
                   "any any gamma - 1e-9 s\nintra_socket any buffer - 1000 B\n")
    shown = run("diff", "a.tbl", "b.tbl")
    expect(f"diff: {shown}", shown.splitlines()[2:4] == [
        "1 of 3 values differ beyond their intervals; of 1 an interval is not known; only in a: 0, only in b: 1", ""])
    expect(f"diff, rows: {shown}", [line.split() for line in shown.splitlines()[5:]] == [
        ["intra_socket", "any", "tau", "-", "1", "1", "us", "1.000", "no"], ["intra_socket", "any", "bw", "1", "4", "1", "GB/s", "0.250", "yes"],
        ["any", "any", "gamma", "-", "2", "1", "ns", "0.500", "-"]])
    rows = [(row["quantity"], row["a"], row["b"], row["apart"]) for row in json.loads(run("diff", "a.tbl", "b.tbl", "--json"))]
    expect(f"diff --json: {rows}", rows == [("tau", 1e-6, 1e-6, False), ("bw", 4e9, 1e9, True), ("gamma", 2e-9, 1e-9, None),
                                            ("buffer", None, 1000, None)])
    expect("a table and itself", run("diff", "a.tbl", "a.tbl").splitlines()[2].startswith("0 of 3 values differ"))
    run("diff", "a.tbl", code=2, says="expected two machines, NAME or FILE.tbl each")
    run("diff", "a.tbl", "absent.tbl", code=1, says="absent.tbl")


def refuse_mocks():
    """What a mock of a driver measured is in no table: neither read as a row, nor fitted."""
    with open("mock.tbl", "w") as file:
        file.write("name mock\nsource a test\n" + GOOD + "intra_socket any tau_to_gpu - 1e-6 s #: - - 30 mock\n")
    for command in ("check", "show"):
        shown = run(command, "./mock.tbl", code=1, says="mock.tbl:5: tau_to_gpu was measured on a mock of a driver")
        expect(f"{command} of a mock's table: {shown}", shown == "")
    with open("mock.csv", "w") as file:
        file.write("level,bytes,seconds,variant\n")
        file.writelines(f"intra_socket,{size},{1e-6 + size * 1e-9},\n" for size in (1, 1000, 100000))
    run("fit", "mock.csv", "--name", "x", "-o", "fitted.tbl")
    with open("mock.csv", "a") as file:
        file.write("intra_socket,8,1e-6,mock_to_pinned\n")
    os.remove("fitted.tbl")
    run("fit", "mock.csv", "--name", "x", "-o", "fitted.tbl", code=1,
        says="mock.csv:5: variant 'mock_to_pinned': a sample of a mock of a driver")
    expect("a table of a mock's samples", not os.path.exists("fitted.tbl"))
    os.remove("mock.csv")
    os.remove("mock.tbl")


def refuse_empty():
    """A file that exists is named as what is wrong, whatever its name ends in."""
    for name in ("empty", "empty.tbl"):
        with open(name, "w"):
            pass
        run("show", name, code=1, says=f"{name}: is empty; expected a machine table")
        os.remove(name)
    run("show", "empty", code=1, says="machine 'empty': not among the shipped ones")


def check_verdicts():
    """machine check begins with what the table may be used for; alike doubts are one line."""
    def check(rows, *options, code=0):
        with open("judged.tbl", "w") as file:
            file.write("name judged\nsource a test\n" + rows)
        shown = run("check", "./judged.tbl", *options, code=code)
        expect(f"80 columns: {shown}", "--json" in options or max(map(len, shown.splitlines())) <= 80)
        return shown

    usable = check(GOOD + QUIET)
    expect(f"usable: {usable}", usable.startswith("judged: usable\n") and len(usable.splitlines()) <= 3)
    part = check(GOOD + CURVE + QUEUE + QUIET)
    expect(f"usable for a part: {part}", part.startswith("judged: usable for latency and bandwidth (n up to 2) within a socket\n"
           "  not for bandwidth from n = 8 on within a socket, queue search\n"))
    expect(f"alike doubts are one line: {part}", "queue_step 8 to 128 (5 values): only 3 to 4 samples each\n" in part
           and part.count("queue_step") == 2)
    expect("--all has a line a value", check(GOOD + CURVE + QUEUE + QUIET, "--all").count("queue_step") == 10)
    unrest = check(GOOD + QUIET.replace("0.01", "0.3"))
    expect(f"an uneasy machine: {unrest}", unrest.startswith("judged: do not use\n") and "30 %" in unrest.splitlines()[1])
    unknown = check(QUEUE + QUIET)
    expect(f"no latency: {unknown}", unknown.startswith("judged: do not use\n  at no level"))
    told = json.loads(check(GOOD + CURVE + QUIET, "--json", "--strict", code=1))
    expect(f"json: {told}", told["verdict"] == "usable for" and "bandwidth" in told["not_for"] and len(told["doubts"]) == 1)
    check(GOOD)
    shown = [line.split()[2:7] for line in run("show", "./judged.tbl").splitlines() if line.split()[:1] in (["tau"], ["bw"])]
    expect(f"digits as the interval supports: {shown}", shown == [["1", "us", "0.97", "..", "1.03"], ["4", "GB/s", "3.9", "..", "4.1"]])


def main():
    connection = empty_trace("trace.db", SCHEMA)
    columns = connection.execute("SELECT name, type FROM pragma_table_info('run')").fetchall()
    values = [1 if kind == "INTEGER" else "x" for _, kind in columns]
    connection.execute(f"INSERT INTO run VALUES ({','.join('?' * len(values))})", values)
    connection.commit()
    connection.close()

    expect("list names the shipped machines", "thunderx2" in run("list"))
    rows = json.loads(memory("henri", "--compute-cores", "15", "--json"))
    rows = rows if isinstance(rows, list) else rows["rows"]
    expect("memory: four placements", [(r["computation_numa"], r["message_numa"]) for r in rows] ==
           [(0, 0), (0, 1), (1, 0), (1, 1)])
    expect("memory: worked value D", abs(rows[0]["computation_bytes_per_s"] / 62917.7935e6 - 1) < 1e-9 and
           abs(rows[0]["message_bytes_per_s"] / 10505.2065e6 - 1) < 1e-9)
    memory("henri", "--compute-cores", "19", code=1, says="18")
    memory("thunderx2", code=1, says="has no memory_cores_par at level intra_socket")
    table = run("export", "henri")
    for word, value, says in (("memory_alpha - 0.915", "memory_alpha - -0.1", "memory_alpha of -0.1"),
                              ("any cores - 18 1", "any cores - 5000 1", "expected at most 4096"),
                              ("memory_cores_seq - 18", "memory_cores_seq - 1.5", "expected a whole number")):
        expect(f"{word} is in the table", word in table)
        with open("wrong.tbl", "w") as file:
            file.write(table.replace(word, value))
        memory("wrong.tbl", code=1, says=says)
    expect("list --json is JSON", any(m["name"] == "epyc-rome" for m in json.loads(run("list", "--json"))))
    shown = json.loads(run("show", "thunderx2", "--json"))
    expect("show --json has BW(2)", any(p["n"] == 2 and p["value"] == 14.6e9 for p in shown["parameters"]))
    expect("show prints GB/s", "14.6 GB/s" in " ".join(run("show", "thunderx2").split()))
    with open("units.tbl", "w") as file:
        file.write("name units\nsource a test\nany any queue_step_unexpected 64 6.5e-9 s #: 6e-9 7e-9 9 x\n"
                   "any any gamma - 3e-9 s\ninter_node any delta - 2.09e-8 s/B\ninter_node any buffer - 1250000 B\n"
                   "inter_node any other - 7 B\n")
    lines = run("show", "./units.tbl").splitlines()[4:]
    expect(f"show has the levels as headings: {lines}", [line for line in lines if line[0] != " "] == ["any, any", "inter_node, any"])
    units = [line.split()[:7] for line in lines if line[0] == " "]
    expect(f"show prints units that fit the quantity: {units}", [row[:4] for row in units] == [
        ["queue_step_unexpected", "64", "6.5", "ns"], ["gamma", "-", "3", "ns"], ["delta", "-", "20.9", "ns/B"],
        ["buffer", "-", "1250", "kB"], ["other", "-", "7", "B"]] and units[0][4:] == ["6", "..", "7"])

    with open("raw.csv", "w") as file:
        file.write("level,bytes,seconds\n")
        file.writelines(f"inter_node,{size},{1e-6 + size / 2e9!r}\n" for size in (8, 64, 512, 4096, 32768))
    run("fit", "raw.csv", "--name", "mine", "--thresholds", "0", "-o", "mine.tbl")
    mine = {p["quantity"]: p["value"] for p in json.loads(run("show", "./mine.tbl", "--json"))["parameters"]}
    expect(f"fit finds 1 us and 2 GB/s: {mine}", abs(mine["tau"] - 1e-6) < 1e-12 and abs(mine["bw"] - 2e9) < 1)

    # Comments tell what the calibration knew; a malformed one harms nothing.
    with open("told.csv", "w") as file:
        file.write("# mpistair calibrate 1\n#\n# rendezvous\n# rendezvous inter_node nan V\n# rendezvous mars 5 V\n")
        file.write("# rendezvous inter_node -5 V\n# rendezvous inter_node 1e999 V\n# rendezvous inter_node 512 limit\n")
        file.write("# rendezvous " + "x" * 9000 + "\nlevel,bytes,seconds\n# begin \"\n")
        file.writelines(f"inter_node,{size},{1e-6 + size / 2e9!r}\n" for size in (8, 64, 512, 4096, 32768))
    run("fit", "told.csv", "--name", "told", "-o", "told.tbl")
    told = [p for p in json.loads(run("show", "./told.tbl", "--json"))["parameters"] if p["method"] == "mpi_t"]
    expect(f"the fit knows what the MPI told: {told}", [(p["protocol"], p["value"]) for p in told] == [("rendezvous", 512)])

    run("import", "mine.tbl", "trace.db")
    run("import", "mine.tbl", "trace.db")
    run("import", "epyc-rome", "trace.db")
    expect("list shows the database's", [line.split()[:2] for line in run("list", "trace.db").splitlines() if line[0] != " "][-1:] ==
           [["mine", "database"]])
    expect("export gives the table back", run("export", "mine", "trace.db") == open("mine.tbl").read())
    run("export", "epyc-rome", "-o", "rome.tbl")
    expect("exported table reads as the shipped one",
           run("show", "./rome.tbl", "--json") == run("show", "epyc-rome", "--json"))
    expect("show --database finds what was measured", json.loads(run("show", "mine", "--database", "trace.db", "--json")))

    expect("check tells ThunderX2's BW(1) < BW(2)/2", "inter_socket any bw 1" in run("check", "thunderx2"))
    run("check", "thunderx2", "--strict", code=1)
    refuse_mocks()
    differences()
    refuse_empty()
    check_verdicts()
    run("check", "xeon-gold-6230", "--strict")
    expect("check counts samples", "only 5 samples" in run("check", "mine.tbl", "--raw", "raw.csv"))

    run(code=2)
    run("dance", code=2, says="no subcommand 'dance'")
    run("show", code=2, says="expected one machine")
    run("show", "no-such-machine", code=1, says="no-such-machine")
    run("show", "epyc-rome", "--wrong", code=2, says="--wrong")
    run("import", "mine.tbl", code=2, says="trace.db")
    run("import", "mine.tbl", "raw.csv", code=1, says="raw.csv")
    run("export", "nobody", "trace.db", code=1, says="nobody")
    run("fit", "raw.csv", code=2, says="--name")
    run("fit", "raw.csv", "--name", "a/b", code=2, says="--name")
    run("fit", "raw.csv", "--name", "m", "--method", "cubic", code=2, says="relative or ols")
    run("fit", "raw.csv", "--name", "m", "--statistic", "mean", code=2, says="median or min")
    run("fit", "raw.csv", "--name", "m", "--thresholds", "256", code=2, says="expected 0 first")
    run("fit", "raw.csv", "raw.csv", "--name", "m", code=2, says="expected one file")
    run("fit", "absent.csv", "--name", "m", "-o", "mine.tbl", code=1, says="absent.csv")
    open("one.csv", "w").write("level,bytes,seconds\nself,8,1e-6\nself,8,2e-6\n")
    before = open("mine.tbl").read()
    run("fit", "one.csv", "--name", "m", "-o", "mine.tbl", code=1, says="no level has a protocol with two sizes")
    expect("a failed fit leaves the table", open("mine.tbl").read() == before)
    run("fit", "raw.csv", "--name", "m", "-o", "nowhere/m.tbl", code=1, says="nowhere/m.tbl")

    # What is no file is written to, not replaced: a pipe here, /dev/null in the life of root.
    os.mkfifo("pipe")
    reader = os.open("pipe", os.O_RDONLY | os.O_NONBLOCK)
    run("fit", "raw.csv", "--name", "m", "-o", "pipe")
    expect("a table through a pipe", os.read(reader, 65536).startswith(b"name m\n"))
    expect("a pipe stays a pipe", stat.S_ISFIFO(os.stat("pipe").st_mode))
    os.close(reader)

    for failure in failures:
        print(failure)
    return 1 if failures else 0


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    code = main()
    os.chdir("/")
sys.exit(code)
