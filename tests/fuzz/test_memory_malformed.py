"""Malformed samples and tables of memory contention: exit code and message of each, and that no table is left behind.

usage: test_memory_malformed.py MPISTAIR [TABLE]
With TABLE it prints what was said of each.
"""
import os
import subprocess
import sys
import tempfile

MPISTAIR = os.path.abspath(sys.argv[1])
SHOW = len(sys.argv) > 2
TOLD = "# memory cores 4\n# memory numa_nodes 1\n# memory numa_all 2\n# memory method nic\n"
HEADER = "benchmark,variant,level,bytes,n,seconds,launch,computing_numa,message_numa,at_s\n"


def row(variant, n, gb_per_s, computing="", message="", level="inter_node"):
    return f"memory_contention,{variant},{level},1000000000,{n},{1 / gb_per_s},1,{computing},{message},0.5\n"


def side(numa, alone=(5, 10, 12, 12), computation=(5, 9, 8, 8), message=(8, 7, 6, 6), only=(1, 2, 3, 4)):
    rows = row("message_alone", 0, 8, "", numa)
    for n, *rates in zip((1, 2, 3, 4), alone, computation, message):
        if n in only:
            rows += row("computation_alone", n, rates[0], numa) + row("computation", n, rates[1], numa, numa)
            rows += row("message", n, rates[2], numa, numa)
    return rows


GOOD = TOLD + HEADER + side(0) + side(1)
FIRST = row("message_alone", 0, 8, "", 0)  # in line 6
SECOND = row("computation_alone", 1, 5, 0)  # in line 7


def with_second(text):
    """The second row replaced."""
    return GOOD.replace(SECOND, text)


# what is wrong, content, in the message (None: it is well)
SAMPLES = [
    ("nothing", GOOD, None),
    ("CRLF", GOOD.replace("\n", "\r\n"), None),
    ("one side only", TOLD + HEADER + side(0), None),
    ("the remote side only", TOLD + HEADER + side(1), None),
    ("beyond the peak left out", TOLD + HEADER + side(0, (5, 4.9, 4.8, 4.8), (5, 4, 3, 3), only=(1, 2, 4)), None),
    ("one row twice: a second sample", GOOD + SECOND, None),
    ("0/0: no core between the peaks", TOLD + HEADER + side(0, (5, 4, 3, 3), (5, 3, 2, 2), (3, 3, 3, 3)), None),
    ("empty", "", "raw.csv:1: empty file; expected a header line with benchmark,variant,level,"),
    ("no rows", TOLD + HEADER, "raw.csv: holds no samples; expected rows of the benchmark memory_contention"),
    ("no column n", GOOD.replace(",n,", ",m,"), "raw.csv:5: no column 'n'; expected a header line with benchmark,"),
    ("no column computing_numa", GOOD.replace("computing_numa", "x"), "raw.csv:5: no column 'computing_numa'; expected"),
    ("no column message_numa", GOOD.replace("message_numa", "x"), "raw.csv:5: no column 'message_numa'"),
    ("a column twice", GOOD.replace("at_s", "n"), "raw.csv:5: column 'n' appears twice"),
    ("samples of messages", "level,bytes,seconds\nintra_socket,8,1e-6\n", "raw.csv:2: a sample of pingpong, not of memory"),
    ("another benchmark in a later row", with_second(SECOND.replace("memory_contention", "queue")),
     "raw.csv:7: benchmark 'queue', expected memory_contention"),
    ("an unknown variant", with_second(SECOND.replace("_alone", "s")), "raw.csv:7: variant 'computations', expected comp"),
    ("an unknown level", with_second(SECOND.replace("inter_node", "moon")), "raw.csv:7: level 'moon', expected intra_socket"),
    ("a level that the network card has not", with_second(SECOND.replace("inter_node", "intra_socket")),
     "raw.csv:7: level intra_socket, expected inter_node: `# memory method nic`"),
    ("two levels", GOOD.replace("nic", "cpu-copy").replace(SECOND, SECOND.replace("inter_node", "intra_socket")),
     "raw.csv:7: level intra_socket, but inter_node in the rows before"),
    ("bytes 0", with_second(SECOND.replace("1000000000", "0")), "raw.csv:7: bytes 0, expected 1 or more"),
    ("negative bytes", with_second(SECOND.replace("1000000000", "-8")), "raw.csv:7: column 'bytes': '-8' is not"),
    ("huge bytes", with_second(SECOND.replace("1000000000", "9" * 30)), "raw.csv:7: column 'bytes': '" + "9" * 30 + "' is"),
    ("seconds 0", with_second(SECOND.replace("0.2", "0")), "raw.csv:7: seconds 0, expected a time above 0"),
    ("negative bandwidth", with_second(SECOND.replace("0.2", "-0.2")), "raw.csv:7: seconds -0.2, expected a time above 0"),
    ("NaN", with_second(SECOND.replace("0.2", "nan")), "raw.csv:7: column 'seconds': 'nan' is not"),
    ("infinite", with_second(SECOND.replace("0.2", "inf")), "raw.csv:7: column 'seconds': 'inf' is not"),
    ("huge seconds", with_second(SECOND.replace("0.2", "1e999")), "raw.csv:7: column 'seconds': '1e999' is"),
    ("too fast", with_second(SECOND.replace("0.2", "1e-300")), "raw.csv:7: 1000000000 bytes in 1e-300 s are"),
    ("too slow", with_second(SECOND.replace("0.2", "1e300")), "raw.csv:7: 1000000000 bytes in 1e+300 s are"),
    ("a word for n", with_second(SECOND.replace(",1,0.2", ",one,0.2")), "raw.csv:7: column 'n': 'one' is not"),
    ("n 0", with_second(SECOND.replace(",1,0.2", ",0,0.2")), "raw.csv:7: n 0, expected 1 to 4 computing cores"),
    ("n beyond the cores", with_second(SECOND.replace(",1,0.2", ",5,0.2")), "raw.csv:7: n 5, expected 1 to 4 computing cores"),
    ("n of a message alone", GOOD.replace(FIRST, FIRST.replace(",0,0.125", ",1,0.125")), "raw.csv:6: n 1, expected 0"),
    ("a NUMA node beyond the node's", with_second(SECOND.replace("1,0,,", "1,2,,")), "raw.csv:7: computing_numa 2, expected 0 to 1"),
    ("no NUMA node", with_second(SECOND.replace("1,0,,", "1,,,")), "raw.csv:7: computing_numa '' is"),
    ("a NUMA node of data that are not", with_second(SECOND.replace("1,0,,", "1,0,0,")), "raw.csv:7: message_numa '0', expected no"),
    ("a launch beyond 32 bits", with_second(SECOND.replace(",1,0,,", ",4294967296,0,,")), "raw.csv:7: launch 4294967296 is too"),
    ("cut off", GOOD[:GOOD.index(SECOND) + 40], "raw.csv:7: "),
    ("a zero byte", with_second(SECOND.replace("0.2", "0\0")), "raw.csv:7: zero byte, not a text file"),
    ("no line of cores", GOOD.replace("# memory cores 4\n", ""), "raw.csv:5: a row, but no line `# memory cores N` before it"),
    ("no line of the method", GOOD.replace("# memory method nic\n", ""), "raw.csv:5: a row, but no line `# memory method nic|cpu"),
    ("cores 0", GOOD.replace("cores 4", "cores 0"), "raw.csv:1: memory cores 0, expected 1 to 4096"),
    ("cores in a word", GOOD.replace("cores 4", "cores four"), "raw.csv:1: memory cores 'four' is not"),
    ("cores twice", "# memory cores 8\n" + GOOD, "raw.csv:2: memory cores 4, but 8 before"),
    ("an unknown method", GOOD.replace("nic", "pigeon"), "raw.csv:4: memory method 'pigeon', expected nic or cpu-copy"),
    ("half a socket", GOOD.replace("numa_nodes 1", "numa_nodes 3"), "raw.csv:6: 3 NUMA nodes of a socket, 2 of the node"),
    ("a comment cut off", GOOD.replace("numa_all 2", "numa_all"), "raw.csv:3: expected `# memory KEY VALUE`"),
    ("no message alone", GOOD.replace(FIRST, ""), "raw.csv: no samples of message_alone with n = 0 and data on NUMA node 0"),
    ("no n = 1", TOLD + HEADER + side(0, only=(2, 3, 4)), "raw.csv: no samples of computation_alone with n = 1"),
    ("an n without its message", GOOD.replace(row("message", 2, 7, 0, 0), ""), "raw.csv: no samples of message with n = 2"),
    ("an n below the peak left out", TOLD + HEADER + side(0, only=(1, 3, 4)),
     "n = 2 and data on NUMA node 0; expected every number of cores from 1 to the peak at n = 3"),
    ("no side", TOLD + HEADER + row("computation", 1, 5, 0, 1) + row("message", 1, 5, 0, 1),
     "raw.csv: no samples with the data of computation and message both on NUMA node 0, or both on 1"),
]

# What replaces what in the table of henri, and what is said; of its rows the local ones come first.
TABLES = [
    ("nothing", b"", b"", None),
    ("CRLF", b"\n", b"\r\n", None),
    ("0/0: no core between the peaks", b"memory_cores_par - 17 1", b"memory_cores_par - 18 1", None),
    ("alpha 0", b"alpha - 0.915", b"alpha - 0", "t.tbl:9: memory_alpha of 0, expected a share above 0 and at most 1"),
    ("alpha above 1", b"alpha - 0.915", b"alpha - 1.2", "t.tbl:9: memory_alpha of 1.2, expected a share above 0 and at most 1"),
    ("negative alpha", b"alpha - 0.915", b"alpha - -0.5", "t.tbl:9: memory_alpha of -0.5, expected a share above 0"),
    ("alpha NaN", b"alpha - 0.915", b"alpha - nan", "t.tbl:9: value 'nan' is not"),
    ("infinite total", b"73423.0e6", b"inf", "t.tbl:5: value 'inf' is not"),
    ("huge total", b"73423.0e6", b"1e999", "t.tbl:5: value '1e999' is"),
    ("n_seq 0", b"cores_seq - 18", b"cores_seq - 0", "t.tbl:6: memory_cores_seq of 0, expected a value above 0"),
    ("half a core", b"cores_par - 17", b"cores_par - 16.5", "t.tbl:4: memory_cores_par of 16.5, expected a whole number"),
    ("negative bandwidth", b"72589.9e6", b"-72589.9e6", "t.tbl:7: memory_total_seq of -7.25899e+10, expected a value above 0"),
    ("a value with n", b"memory_alpha -", b"memory_alpha 3", "t.tbl:9: memory_alpha has no n"),
    ("another unit", b"4455.4e6 B/s", b"4455.4e6 s", "t.tbl:12: memory_computation in 's', expected 'B/s'"),
    ("a word for a value", b"73423.0e6", b"fast", "t.tbl:5: value 'fast' is not"),
    ("one row twice", b"any any numa_nodes", b"intra_socket any memory_alpha - 0.9 1\nany any numa_nodes",
     "t.tbl:24: 'intra_socket any memory_alpha -' appears twice, first in line 9"),
    ("cut off", b" 1\nintra_socket any memory_loss_left", b"\n", "t.tbl:9: 5 words, expected 6"),
    ("a row missing", b"intra_socket any memory_alpha - 0.915 1\n", b"", "has no memory_alpha at level intra_socket"),
]

# What replaces what in the table of henri, and what machine check doubts.
DOUBTS = [
    ("the loss of the totals", b"loss_left - 35.3e6", b"loss_left - 35.7e6", "memory_loss_left: 0.0357 GB/s a core, but"),
    ("a rounded loss", b"loss_left - 35.3e6", b"loss_left - 35.5e6", None),
    ("a loss of no core", b"cores_par - 17", b"cores_par - 18", "no core lies between memory_cores_par and memory_cores_seq, both 18"),
    ("total_par2 above total_par", b"73387.7e6", b"83387.7e6", "memory_total_par: 73.42 GB/s is less than what memory_total_par2"),
    ("a total below one core's", b"4455.4e6", b"84455.4e6", "memory_total_par: 73.42 GB/s is less than what one core has alone"),
    ("more than all cores", b"4455.4e6", b"3455.4e6", "memory_total_seq: 72.59 GB/s is more than memory_cores_seq times one core"),
    ("more cores than a socket has", b"cores - 18", b"cores - 16", "memory_cores_par: 17, but a socket has 16 cores"),
    ("fewer cores alone", b"cores_seq - 7", b"cores_seq - 4", "memory_cores_seq: 4 is below memory_cores_par, 5"),
    ("too large a loss", b"119.8e6", b"2119.8e6", "memory_loss_right: 2.12 GB/s a core leaves"),
    ("too large a gain", b"119.8e6", b"-919.8e6", "memory_loss_right: -0.9198 GB/s a core gives all 18 cores"),
    ("a row missing", b"inter_socket any memory_alpha - 0.761 1\n", b"", "no memory_alpha beside it"),
]
failures = []


def write(name, content):
    with open(name, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def run(*words):
    return subprocess.run([MPISTAIR, "machine", *words], capture_output=True, text=True, timeout=60)


def predict(table):
    return subprocess.run([MPISTAIR, "predict", "--memory", "--machine", table, "--compute-cores", "2"], capture_output=True, text=True,
                          timeout=60)


def judge(what, done, message):
    good = done.returncode == 0 if message is None else (
        done.returncode == 1 and message in done.stderr and done.stderr.count("\n") == 1 and done.stdout == "")
    if not good:
        failures.append(f"{what}: exit {done.returncode}, expected {message}: {done.stderr}")
    if SHOW:
        print(f"{what:40} {done.returncode}  {done.stderr.strip()[:150]}")


def check_samples():
    for what, content, message in SAMPLES:
        write("raw.csv", content)
        done = run("fit", "raw.csv", "--memory", "--name", "n", "-o", "out.tbl")
        judge(what, done, message)
        if os.path.exists("out.tbl") != (done.returncode == 0):
            failures.append(f"{what}: a table is there after exit {done.returncode}")
        elif done.returncode == 0:
            judge(f"the table of {what}", predict("./out.tbl"), None)
            os.remove("out.tbl")
    write("raw.csv", GOOD)
    for words, code, message in ((["fit", "raw.csv", "--name", "n"], 1, "raw.csv:6: a sample of memory contention: 'mpistair machine fit --memory'"),
                                 (["check", "henri", "--raw", "raw.csv"], 1, "raw.csv:6: a sample of memory contention"),
                                 (["fit", "raw.csv", "--memory", "--name", "n", "--method", "ols"], 2, "do not apply to --memory")):
        done = run(*words)
        if done.returncode != code or message not in done.stderr:
            failures.append(f"{words}: exit {done.returncode}, expected {code} and {message}: {done.stderr}")
    write("here.tbl", run("export", "henri").stdout)
    os.rename("raw.csv", "here.raw.csv")
    judge("samples of memory contention beside a table", run("check", "./here.tbl"), None)


def check_tables():
    with open(os.path.join(os.environ["MPISTAIR_SHARE"], "machines/henri.tbl"), "rb") as file:
        table = file.read()
    for what, old, new, message in TABLES:
        if old not in table:
            failures.append(f"{what}: henri.tbl has no {old}")
        write("t.tbl", table.replace(old, new) if old == b"\n" else table.replace(old, new, 1))
        judge(what, predict("./t.tbl"), message)
    for what, old, new, message in DOUBTS:
        if old not in table:
            failures.append(f"{what}: henri.tbl has no {old}")
        write("t.tbl", table.replace(old, new, 1))
        done = run("check", "./t.tbl")
        said = " ".join(done.stdout.split())
        if done.returncode != 0 or (message or "usable for memory contention") not in said or (message is None and "memory_loss" in said):
            failures.append(f"{what}: expected {message}: {done.stdout}{done.stderr}")
        if SHOW:
            print(f"{what:40} {' '.join(done.stdout.split(chr(10) + chr(10))[-1].split())[:150]}")


def check_shipped():
    """Of the printed tables, that of henri-subnuma alone does not fit together."""
    for name in ("billy", "bora", "dahu", "diablo", "grvingt", "henri", "henri-subnuma", "occigen", "pyxis"):
        said = " ".join(run("check", name).stdout.split())
        odd = name == "henri-subnuma"
        if ("memory_loss_left:" in said) != odd or ("memory_cores_seq:" in said) != odd:
            failures.append(f"machine check {name}: {said}")
        if odd and "it would follow for memory_cores_par 2; the table keeps what its source prints" not in said:
            failures.append(f"machine check {name}: {said}")


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    check_samples()
    check_tables()
    check_shipped()
    os.chdir("/")
print("\n".join(failures) or f"memory contention: {len(SAMPLES)} files of samples, {len(TABLES) + len(DOUBTS)} tables: ok")
sys.exit(1 if failures else 0)
