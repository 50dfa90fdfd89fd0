#!/usr/bin/env python3
"""Collectives between GPUs, tests/apps/gpu_collectives.c: each in each way moves the right values, and the trace has the messages
and calls that paper H, section VI, describes of it, to the byte. Nothing here is measured: the memory of GPUs is the host's."""
import collections
import csv
import itertools
import os
import time

import job

EACH = 2      # processes of a GPU, unless a case says otherwise
REPEATS = 4   # without being asked, as in H
BYTES = 4800  # from each GPU to each
HEADER = ["collective", "way", "bytes", "gpus", "processes_per_gpu", "repeats", "minimum_s", "median_s", "ci_low_s", "ci_high_s"]
CALLS = {"alltoall": "MPI_Alltoall", "alltoallv": "MPI_Alltoallv", "alltoallv-messages": None, "allreduce": "MPI_Allreduce"}
WAYS = ["3-step", "extra-message", "duplicate-pointer"]
# Arguments, and what the line about them has to say: in a job of all ranks, and of a process without a launcher, which is faster.
WRONG = [
    (["gather", "3-step", "4800", "2"], "COLLECTIVE gather"), (["allreduce", "extra-message", "8", "2"], "BYTES 8"),
    (["alltoall", "3-step", "4800", "3"], "PROCESSES_PER_GPU 3: does not divide the {ranks} ranks of a node"),
]
WRONG_ALONE = [
    (["alltoall", "4-step", "4800", "1"], "WAY 4-step"), (["alltoall", "3-step", "0", "1"], "BYTES 0"),
    (["alltoall", "3-step", "many", "1"], "BYTES many"), (["alltoall", "3-step", "12", "1"], "BYTES 12"),
    (["alltoall", "3-step", "4800", "0"], "PROCESSES_PER_GPU 0"), (["alltoall", "3-step", "4800", "1", "0"], "REPEATS 0"),
    (["alltoall", "3-step", "4800", "1", "4", "varying"], "SIZES varying"), (["alltoall", "3-step", "4800"], "found 3 arguments"),
]


class Case:
    """What the program is asked for. holders: processes of each GPU that do the collective."""

    def __init__(self, collective, way, gpus, each=EACH, varying=False):
        self.collective, self.way, self.gpus, self.each, self.varying = collective, way, gpus, each, varying
        self.holders = 1 if way == "3-step" else each
        self.name = f"{collective} {way}, {each} processes a GPU{', varying sizes' if varying else ''}"

    def arguments(self):
        return [self.collective, self.way, str(BYTES), str(self.each), *([str(REPEATS), "varying"] if self.varying else [])]

    def pair_bytes(self, src, dst):
        """What GPU src sends to GPU dst."""
        return BYTES if not self.varying else BYTES * ((src + 2 * dst) % 3) + 8 * (src % 2) * (dst % 2)

    def part_bytes(self, gpu, holder, sends):
        """What a process of a GPU holds of what the GPU sends, or receives."""
        total = 0
        for other in range(1 if self.collective == "allreduce" else self.gpus):
            n = self.pair_bytes(*((gpu, other) if sends else (other, gpu))) // 8
            if self.collective == "alltoallv-messages":
                total += 8 * n if other % self.holders == holder else 0
            else:
                total += 8 * (n * (holder + 1) // self.holders - n * holder // self.holders)
        return total

    def messages(self):
        """({(src, dst): [messages, bytes]} of all repeats within groups of GPUs, the same between them)."""
        within, between = collections.defaultdict(lambda: [0, 0]), collections.defaultdict(lambda: [0, 0])

        def send(messages, src, dst, n_bytes):
            if n_bytes > 0:
                messages[src, dst][0] += REPEATS
                messages[src, dst][1] += REPEATS * n_bytes

        for gpu in range(self.gpus):
            first = gpu * self.each
            for holder in range(1, self.each if self.way == "extra-message" else 1):
                send(within, first, first + holder, self.part_bytes(gpu, holder, True))
                send(within, first + holder, first, self.part_bytes(gpu, holder, False))
            for other in range(self.gpus if self.collective == "alltoallv-messages" else 0):
                if other != gpu:
                    send(between, first + other % self.holders, other * self.each + gpu % self.holders, self.pair_bytes(gpu, other))
        return dict(within), dict(between)


def check_row(done, case):
    """The row that the program printed."""
    rows = [row for row in csv.reader(done.stdout.splitlines()) if len(row) == len(HEADER)]
    job.expect_equal(rows[:1], [HEADER], "header")
    job.expect_equal([row[:6] for row in rows[1:]],
                     [[case.collective, case.way, str(BYTES), str(case.gpus), str(case.each), str(REPEATS)]], "row")
    minimum, median, low, high = map(float, rows[1][6:])
    if not 0 < minimum <= low <= median <= high:
        job.fail(f"times out of order: {rows[1]}")
    if "hold the median with 87.5 %" not in done.stderr:
        job.fail("four repeats bound no interval of 95 %, and nothing says so")


def check_messages(test, case):
    """Messages of the trace are those of H, pair by pair; and what H says of their sums."""
    within, between = case.messages()
    found = {(src, dst): [n, n_bytes] for src, dst, n, n_bytes in
             test.query("SELECT src, dst, sum(messages), sum(bytes) FROM traffic GROUP BY src, dst")}
    job.expect_equal(found, within | between, f"{case.name}: messages and bytes by pair")
    if case.varying:
        return
    moved = sum(n_bytes for (src, dst), (_, n_bytes) in found.items() if src // case.each == dst // case.each)
    if case.way == "extra-message" and case.collective != "alltoallv-messages": # out, and back
        held = BYTES * (1 if case.collective == "allreduce" else case.gpus)
        job.expect_equal(moved, 2 * REPEATS * case.gpus * held * (case.each - 1) // case.each, f"{case.name}: bytes within groups")
    sent = collections.Counter()
    for (src, dst), (n, _) in found.items():
        sent[src] += n if src // case.each != dst // case.each else 0
    if case.collective == "alltoallv-messages": # a k-th of the GPUs; one of the k has its own among them
        job.expect_equal(sum(sent.values()), REPEATS * case.gpus * (case.gpus - 1), f"{case.name}: messages between groups")
        most = min(-(-case.gpus // case.holders), case.gpus - 1)
        job.expect_equal(max(sent.values(), default=0), REPEATS * most, f"{case.name}: most messages of a process to other groups")


def check_calls(test, case):
    """The processes that take part call the collective, on communicators of one process of each GPU, with their parts."""
    function = CALLS[case.collective]
    found = test.query("SELECT c.rank, c.function, m.size, c.bytes, count(*) FROM collective c JOIN communicator m ON m.id = c.comm"
                       " WHERE m.name = 'a process of each GPU' GROUP BY 1, 2, 3, 4 ORDER BY 1")
    calls = [] if function is None else [
        (gpu * case.each + holder, function, case.gpus, case.part_bytes(gpu, holder, True), REPEATS)
        for gpu in range(case.gpus) for holder in range(case.holders)]
    job.expect_equal(found, calls, f"{case.name}: calls (rank, function, size, bytes, calls)")
    members = test.query("SELECT group_concat(world_rank % ?, ' ') FROM (SELECT * FROM communicator_member ORDER BY communicator, rank)"
                         " JOIN communicator ON id = communicator WHERE name = 'a process of each GPU' GROUP BY id", case.each)
    job.expect_equal(sorted(members), [(" ".join([str(member)] * case.gpus),) for member in range(case.each)],
                     f"{case.name}: numbers in their groups of the members of each communicator")


def check_contents(test):
    """Every collective in every way, recorded: the program looks at all values itself. With two processes a GPU a k-th is as
    much as (k - 1) of k, so that some have four; these hold all for every fourth GPU, and so some of them nothing. There are as
    many GPUs as the ranks allow where what a process holds depends on their number, else two."""
    gpus = test.ranks // EACH
    cases = [Case(collective, way, gpus, varying=True) for collective in ("alltoallv", "alltoallv-messages") for way in WAYS[1:]]
    cases += [Case(collective, "extra-message", test.ranks // 4, each=4) for collective in ("allreduce", "alltoallv-messages")]
    cases += [Case("alltoallv-messages", way, gpus) for way in WAYS if way != "extra-message"]
    cases += [Case("alltoall", way, 2) for way in WAYS] + [Case("alltoallv", "3-step", 2)]
    cases += [Case("allreduce", way, 2) for way in WAYS if way != "extra-message"]
    for case in cases:
        test.ranks = case.gpus * case.each
        check_row(test.record(test.program("gpu_collectives"), *case.arguments()), case)
        check_messages(test, case)
        check_calls(test, case)
        test.expect_complete()


def check_wrong(test):
    """Wrong usage, wrong data, and a way that this machine lacks."""
    name = f"gpu_collectives-{test.mpi}: "
    for launched, rows in ((True, WRONG), (False, WRONG_ALONE)):
        for arguments, said in rows:
            command = [test.program("gpu_collectives"), *arguments]
            done = test.run(test.launch(*command) if launched else command, limit_s=20)
            job.expect_equal(done.returncode, 2, f"exit code of {arguments}")
            lines = [line for line in done.stderr.splitlines() if line.startswith(name)]
            if len(lines) != 1 or said.format(ranks=test.ranks) not in lines[0]:
                job.fail(f"{arguments}: expected one line that says '{said}', found {lines}")
    done = test.run(test.launch(test.program("gpu_collectives"), "alltoall", "3-step", str(BYTES), str(EACH), "1", "spoiled"), limit_s=20)
    last = BYTES // 8 - 1
    gpus = test.ranks // EACH
    # Of Open MPI 4.1.4's launcher one in 20 ends an aborted job by a segmentation fault of its own.
    if done.returncode == 0 or f"GPU {gpus - 1}: value {last} from GPU {gpus - 1} is" not in done.stderr:
        job.fail(f"a wrong value was not found, or not where it is: exit code {done.returncode}, {done.stderr}")
    begin = time.monotonic()
    done = test.run(test.launch(test.program("gpu_collectives"), "alltoall", "cuda-aware", str(BYTES), str(EACH)), limit_s=20)
    lines = [line for line in done.stderr.splitlines() if line.startswith("not available: ")]
    job.expect_equal((done.returncode, len(lines)), (1, 1), "exit code of cuda-aware, and lines that say why")
    print(f"cuda-aware ended after {time.monotonic() - begin:.2f} s with its launcher")


def check_nodes(test):
    """Two nodes of GPUs: messages that share data out stay in the node, those between GPUs of both are on the network."""
    each = 2 * EACH if test.mpi == "openmpi" else EACH
    case = Case("alltoallv-messages", "extra-message", 2 * each // EACH)
    test.trace.unlink(missing_ok=True)
    test.must([*test.cluster("-n", "2", "-m", str(each)), test.mpistair, "run", "-o", test.trace, "--", test.arguments.launcher,
               "-n", str(2 * each), test.program("gpu_collectives"), *case.arguments()])
    test.expect_complete()
    node = dict(test.query("SELECT rank, node FROM process"))
    job.expect_equal([len({node[gpu * EACH + member] for member in range(EACH)}) for gpu in range(case.gpus)], [1] * case.gpus,
                     "nodes of each GPU")
    within, between = case.messages()
    levels = {0: [0, 0], 1: [0, 0]}
    for (src, dst), sums in (within | between).items():
        levels[node[src] != node[dst]] = [a + b for a, b in zip(levels[node[src] != node[dst]], sums)]
    found = {network: sums for network, *sums in test.query(
        "SELECT level = 'inter_node', sum(messages), sum(bytes) FROM level_volume GROUP BY 1")}
    job.expect_equal(found, levels, "messages and bytes within and between nodes")
    crossing = REPEATS * 2 * (case.gpus // 2) ** 2
    job.expect_equal(found[1], [crossing, crossing * BYTES], "messages and bytes between the nodes' GPUs")


def check_devices(test):
    """With a driver that stands in for NVIDIA's the data are where that has them, and processes of a GPU open the first one's
    memory; with an MPI that says it takes a GPU's it gets the device's address."""
    driver = {"LD_LIBRARY_PATH": os.path.dirname(test.arguments.driver), "MOCK_CUDA": "ok"}
    for collective, way in itertools.zip_longest(CALLS, WAYS):  # what differs from host memory is the way's, not the collective's
        if way is not None:
            test.must(test.launch(test.program("gpu_collectives"), collective, way, str(BYTES), str(EACH)), **driver)
        test.must(test.launch(test.program("gpu_collectives"), collective, "cuda-aware", str(BYTES), str(EACH)),
                  LD_PRELOAD=test.arguments.aware, **driver)
    command = test.launch(test.program("gpu_collectives"), "alltoall", "duplicate-pointer", str(BYTES), str(EACH))
    refused = test.run(command, limit_s=20, **(driver | {"MOCK_CUDA": "no-ipc"}))
    if refused.returncode == 0 or "refuses cuIpcGetMemHandle" not in refused.stderr:
        job.fail(f"a driver that shares no memory: exit code {refused.returncode}, {refused.stderr}")
    spoiled = test.run(test.launch(test.program("gpu_collectives"), "alltoall", "3-step", str(BYTES), str(EACH)), limit_s=20,
                       **(driver | {"MOCK_CUDA": "spoiled"}))
    if spoiled.returncode == 0 or "value 0 from GPU" not in spoiled.stderr:
        job.fail(f"a copy that changes data was not found: exit code {spoiled.returncode}, {spoiled.stderr}")
    unaware = test.run(test.launch(test.program("gpu_collectives"), "alltoall", "cuda-aware", str(BYTES), str(EACH)), limit_s=20, **driver)
    if unaware.returncode == 0 or "not available: MPI not CUDA-aware" not in unaware.stderr:
        job.fail(f"an MPI that takes no GPU's memory: exit code {unaware.returncode}, {unaware.stderr}")


def main():
    test = job.Job(__doc__, lambda parser: (parser.add_argument("--driver", required=True), parser.add_argument("--aware", required=True)))
    check_contents(test)
    test.ranks = 2 * EACH  # what follows does not depend on how many GPUs there are
    check_devices(test)
    check_wrong(test)
    check_nodes(test)


main()
