#!/usr/bin/env python3
"""Runs a case of recorder_cases under the recorder and holds the spools against what the program says that it did.

usage: recorder.py CASE --preload LIB --dump SPOOL_DUMP --program RECORDER_CASES -- MPIEXEC [OPTION ...]
exit status 77: skipped, with the reason.
"""
import argparse
import os
import re
import shutil
import stat
import subprocess
import sys
import tempfile

SHARED = 8  # SPOOL_SHARED_HANDLE: which handles an MPI repeats is its own affair
OFF = 1 << 11  # SPOOL_OFF: recording was off


class Failed(Exception):
    pass


def require(condition, what):
    if not condition:
        raise Failed(what)


class Job:
    """One run of a case in a folder of its own."""

    def __init__(self, arguments, folder):
        self.arguments, self.folder = arguments, folder
        self.spools = os.path.join(folder, "spools")
        self.expected = os.path.join(folder, "expected")
        os.mkdir(self.expected)

    def run(self, case, status=0, **environment):
        """Runs the case with two ranks; returns its stderr. status None: any."""
        env = dict(os.environ, MPISTAIR_INGEST="0", MPISTAIR_SPOOL=self.spools, RECORDER_EXPECT=self.expected,
                   OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        env.update(environment)
        if not env["MPISTAIR_SPOOL"]:
            del env["MPISTAIR_SPOOL"]
        command = self.arguments.mpiexec + ["-n", "2", "env", "LD_PRELOAD=" + self.arguments.preload,
                                            self.arguments.program, case]
        done = subprocess.run(command, env=env, cwd=self.folder, text=True, timeout=100, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        require(status is None or done.returncode == status, f"exit status {done.returncode}\n{done.stderr}")
        require(done.stdout == "" or status != 0, f"output: {done.stdout}")
        return done.stderr

    def dump(self, rank):
        """(header, lines) of the rank's spool."""
        names = [name for name in os.listdir(self.spools) if name.endswith(f"-{rank}.mpispool")]
        require(len(names) == 1, f"rank {rank} left {len(names)} spools")
        text = subprocess.run([self.arguments.dump, os.path.join(self.spools, names[0])], text=True, check=True,
                              stdout=subprocess.PIPE).stdout
        lines = text.splitlines()
        return dict(re.findall(r"(\w+)=(\S+)", lines[0])), lines[1:]

    def family(self):
        """The MPI that runs the job."""
        return "openmpi" if "openmpi" in self.arguments.program else "mpich"

    def operations(self, rank, lines):
        """The operations of a dump in the form of the expected lines, with (post, completion) times beside."""
        out, times = [], []
        for line in lines:
            found = re.match(r"lane=\d+ operation (.*) flags=(\d+) persistent=\d+ site=1 cpu=(-?\d+),(-?\d+) ticks=(\d+),(\d+)$", line)
            if not found:
                require(" operation " not in line, f"rank {rank}: {line}")
                continue
            out.append(f"{found[1]} flags={int(found[2]) & ~SHARED}")
            times.append((int(found[5]), int(found[6])))
        return out, times

    def check(self, end="1", ordered=True):
        """Each rank's operations are those expected."""
        for rank in range(2):
            header, lines = self.dump(rank)
            require(header["end"] == end, f"rank {rank} ended as {header['end']}, not {end}")
            require(not any(key.startswith("lost") for key in header), f"rank {rank} lost records: {header}")
            require((header["finish"] == "1") == (end != "0"), f"rank {rank}: finish={header['finish']}")
            require(header["maps"] == "1" and header["topology"] == "1", f"rank {rank}: no maps or topology")
            found, times = self.operations(rank, lines)
            expected = open(os.path.join(self.expected, str(rank)), encoding="ascii").read().splitlines()
            if not ordered:
                found, expected = sorted(found), sorted(expected)
            for number, (is_there, wanted) in enumerate(zip(found, expected)):
                require(is_there == wanted, f"rank {rank} operation {number}:\n  {is_there}, not\n  {wanted}")
            require(len(found) == len(expected), f"rank {rank}: {len(found)} operations, not {len(expected)}")
            require(all(post < complete or complete == 0 for post, complete in times), f"rank {rank}: times")
        return self


def calls(lines):
    return [line.split(" ", 1)[1] for line in lines if " call " in line]


def case_plain(job):
    job.run(job.arguments.case)
    job.check()


def case_handles(job):
    case_plain(job)
    _, lines = job.dump(0)
    shared = [line for line in lines if (found := re.search(r" Isend .* flags=(\d+)", line)) and int(found[1]) & SHARED]
    require(shared, "no handle repeated: the case does not test what it is for")
    total = sum(int(found[1]) for line in calls(lines) if (found := re.search(r"completed=(\d+)", line)))
    require(total == 48, f"the completion calls report {total} operations, not 48")


def case_communicators(job):
    case_plain(job)
    for rank in range(2):
        _, lines = job.dump(rank)
        found = [line for line in lines if " communicator " in line]
        inter = [line for line in found if " identity=2 " in line]
        require(len(inter) == 1 and "parent=2 creation=5 " in inter[0] and "size=1" in inter[0] and "remote=1" in inter[0]
                and "hash=1" in inter[0], f"rank {rank}: the intercommunicator: {inter}")
        dups = [line for line in found if f"parent=0 creation={302} leader=0 size=2 rank={rank}" in line]
        require(len(dups) == 1, f"rank {rank}: creation 302 on the world is there {len(dups)} times")
        names = [line.split(" ", 1)[1] for line in lines if " name " in line]
        require(names == [f"name index={4 - rank} the double"], f"rank {rank}: names {names}")


def case_threads(job):
    case_plain_unordered(job)
    header, lines = job.dump(0)
    lanes = {line.split(" ", 1)[0] for line in lines if " operation " in line}
    require(header["thread"] == "3" and len(lanes) == 4, f"lanes of eight threads, four at a time: {lanes}")


def case_plain_unordered(job):
    job.run(job.arguments.case)
    job.check(ordered=False)


def case_exit(job):
    job.run("exit", status=None)
    # The first to exit is seen to; mpiexec may kill the other then.
    ends = [job.dump(rank)[0]["end"] for rank in range(2)]
    require("3" in ends and set(ends) <= {"0", "3"}, f"ends {ends}")
    for rank in range(2):
        found, _ = job.operations(rank, job.dump(rank)[1])
        require(len(found) == 2 and found[0].startswith("Sendrecv send"), f"rank {rank}: {found}")


def case_abort(job):
    job.run("abort", status=None)
    header, _ = job.dump(0)
    require(header["end"] == "2" and header["finish"] == "1", f"ended as {header['end']}")
    _, lines = job.dump(1)
    require(len(job.operations(1, lines)[0]) == 2, "rank 1's operations")


def case_kill(job):
    job.run("kill", status=None)
    whole = 0
    for rank in range(2):
        header, lines = job.dump(rank)
        found, _ = job.operations(rank, lines)
        expected = open(os.path.join(job.expected, str(rank)), encoding="ascii").read().splitlines()
        require(header["end"] == "0" and header["maps"] == "1", f"rank {rank}: {header}")
        # One rank at least is killed by itself, after all that it expects; mpiexec may kill the other before.
        whole += found == expected and len(found) == 3 and "complete=0" in found[2]
        posted = [re.sub("complete=.", "", line) for line in found]
        wanted = [re.sub("complete=.", "", line) for line in expected]
        n = min(len(posted), len(wanted))
        require(posted[:n] == wanted[:n] and 2 <= len(posted) <= 3, f"rank {rank}: {found}")
    require(whole >= 1, "no rank has all its operations up to the kill")


def flood(job, ranks=(0, 1), **environment):
    """Little room, and nothing is lost: what has no record any more is in the totals."""
    n = 100000
    job.run("flood", RECORDER_FLOOD=str(n), **environment)
    for rank in ranks:
        header, lines = job.dump(rank)
        found, _ = job.operations(rank, lines)
        folded = sum(int(re.search(r" calls=(\d+)", line)[1]) for line in lines if line.startswith("total Send "))
        lost = [int(value) for key, value in header.items() if key.startswith("lost")]
        require(0 < len(found) < n and len(found) + folded == n and not any(lost),
                f"rank {rank}: {len(found)} stored, {folded} added up, {lost} lost of {n}")


def case_limit(job):
    flood(job, MPISTAIR_SPOOL_LIMIT="2M")


def case_bad_limit(job):
    for bad in ("-1", "1T", "K", "99999999999G", "2MB"):
        stderr = job.run("wildcards", MPISTAIR_SPOOL_LIMIT=bad)
        said = [line for line in stderr.splitlines() if line.startswith("mpistair: ")]
        require(len(said) == 1 and f"MPISTAIR_SPOOL_LIMIT must be a number of bytes (with K, M or G), not '{bad}'" in said[0], f"{bad}: {stderr}")
        job.check()
        shutil.rmtree(job.spools)


def case_full(job):
    """A file system with room for the totals of both processes, and two chunks and a bit each."""
    os.mkdir(job.spools)
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=5548k", "none", job.spools], stderr=subprocess.PIPE,
                             text=True)
    if mounted.returncode != 0:
        print("skipped: a small file system needs root:", mounted.stderr.strip())
        sys.exit(77)
    try:
        flood(job)
    finally:
        subprocess.run(["umount", job.spools], check=True)


def case_unwritable(job):
    stderr = job.run("wildcards", MPISTAIR_SPOOL="/proc/none/such")
    said = [line for line in stderr.splitlines() if line.startswith("mpistair: ")]
    require(len(said) == 1 and "2 of 2 processes are not recorded" in said[0] and "/proc/none/such" in said[0], stderr)
    os.mkdir(job.spools)
    stderr = job.run("finalize", MPISTAIR_SPOOL=job.arguments.program)  # not a folder
    require(stderr.count("mpistair: ") == 1, stderr)


def case_ingest(job):
    """Rank 0 starts the ingest in a clean environment, and removes the spools if it succeeded."""
    stand_in, note = os.path.join(job.folder, "mpistair"), os.path.join(job.folder, "note")
    output = os.path.join(job.folder, "out.db")
    with open(stand_in, "w", encoding="ascii") as script:
        script.write(f'#!/bin/sh\nenv > "{note}"\necho "$@" > "{note}.arguments"\nls "$4" > "{note}.spools"\n'
                     'echo noise\n[ ! -e refuse ]\n')
    os.chmod(stand_in, stat.S_IRWXU)
    environment = dict(MPISTAIR_BIN=stand_in, MPISTAIR_INGEST="1", MPISTAIR_SPOOL="", MPISTAIR_OUTPUT="out.db",
                       TMPDIR=job.folder, MPISTAIR_PLACEMENT="L.csv")
    stderr = job.run("finalize", **environment)
    require("mpistair" not in stderr, stderr)
    words = open(note + ".arguments", encoding="ascii").read().split()
    require(words[:2] == ["ingest", "--run"] and words[4:] == ["-o", output], f"arguments {words}")
    key, folder = words[2:4]
    require(folder.startswith(os.path.join(job.folder, "mpistair-")), f"spool folder {folder}")
    require(not os.path.exists(folder), "the spools are still there")
    spools = [name for name in open(note + ".spools", encoding="ascii").read().split() if name.endswith(".mpispool")]
    require(sorted(spools) == [f"{key}-{rank}.mpispool" for rank in (0, 1)], f"spools {spools} of run {key}")
    names = [line.split("=", 1)[0] for line in open(note, encoding="utf-8", errors="replace")]
    bad = [name for name in names if name == "LD_PRELOAD" or name.startswith(("OMPI_", "PMI", "MPISTAIR_SPOOL"))]
    require(not bad and "MPISTAIR_PLACEMENT" in names, f"environment of the ingest: {bad}")
    open(os.path.join(job.folder, "refuse"), "w", encoding="ascii").close()
    stderr = job.run("finalize", **environment)
    said = [line for line in stderr.splitlines() if line.startswith("mpistair: ")]
    require(len(said) == 1 and f"-o {output}" in said[0], stderr)
    folder = said[0].split(" ingest ")[1].split()[2]
    require(len([name for name in os.listdir(folder) if name.endswith(".mpispool")]) == 2, "the spools are kept")


def case_untouched(job):
    """The recorder takes nothing that the application numbers: its communicators are those of a run without."""
    numbers = []
    for preload in (job.arguments.preload, ""):
        job.arguments.preload = preload
        job.run("untouched")
        numbers.append([open(os.path.join(job.expected, str(rank)), encoding="ascii").read() for rank in range(2)])
    require(numbers[0] == numbers[1], f"recorded: {numbers[0]}, without: {numbers[1]}")
    require(all("errors are fatal 1" in text for text in numbers[0]), f"the error handler: {numbers[0]}")
    require(all(job.dump(rank)[0]["end"] == "1" for rank in range(2)), "the recording ended with MPI_Finalize")


def case_collectives(job):
    job.run("collectives")
    expected = {
        0: ["Barrier 0 -1", "Bcast 12 1", "Allreduce 8 -1", "Reduce 16 0", "Gather 8 1", "Gatherv 4 0", "Scatter 24 0",
            "Scatterv 16 0", "Allgather 4 -1", "Allgather 16 -1", "Alltoall 16 -1", "Reduce_scatter 16 -1",
            "Reduce_scatter_block 16 -1", "Scan 4 -1"],
        1: ["Barrier 0 -1", "Bcast 12 1", "Allreduce 8 -1", "Reduce 16 0", "Gather 8 1", "Gatherv 12 0", "Scatter 12 0",
            "Scatterv 12 0", "Allgather 4 -1", "Allgather 16 -1", "Alltoall 16 -1", "Reduce_scatter 16 -1",
            "Reduce_scatter_block 16 -1", "Scan 4 -1"]}
    for rank in range(2):
        _, lines = job.dump(rank)
        found = [" ".join(re.search(r"collective (\w+) comm=0 bytes=(\d+) root=(-?\d+) ended=1", line).groups())
                 for line in lines if " collective " in line]
        require(found == expected[rank], f"rank {rank}: {found}")


def others(job, rank, kind, pattern):
    """What a rank's records of a kind say, in order."""
    lines = [line for line in job.dump(rank)[1] if f" {kind} " in line]
    return [" ".join(re.search(kind + " " + pattern, line).groups()) for line in lines]


def same(rank, found, expected):
    for number, (is_there, wanted) in enumerate(zip(found, expected)):
        require(is_there == wanted, f"rank {rank}, number {number}: {is_there}, not {wanted}")
    require(len(found) == len(expected), f"rank {rank}: {len(found)} records, not {len(expected)}: {found}")


def case_probes(job):
    case_plain(job)
    names = {rank: others(job, rank, "call", r"(\w+) completed=(\d+)") for rank in range(2)}
    three = ["Mrecv 1", "Imrecv 0", "Wait 1"]
    nothing = ["Mrecv 1", "Imrecv 0", "Wait 1"]
    last = ["Mrecv_c 1", "Wait 1"] if "Mrecv_c 1" in names[0] or job.family() == "mpich" else []  # Open MPI 6 has it
    same(0, names[0], nothing + last)
    same(1, names[1], three + nothing + ["Probe 0", "Iprobe 0"] + three + last)
    idle = [(int(found[1]), int(found[2]) > 0) for line in job.dump(1)[1]
            if (found := re.search(r"idle Iprobe calls=(\d+) timed=\d+ ticks=(\d+) site=1", line))]
    require(idle[0] == (100, True), f"100 unsuccessful probes are summed as {idle}")
    require("passed" not in "".join(job.dump(1)[1]), "calls were passed through")


def case_nonblocking(job):
    case_plain(job)
    for rank in range(2):
        same(rank, others(job, rank, "collective", r"(\w+) comm=(\d+) bytes=(\d+) root=(-?\d+) ended=1 flags=(\d+)"),
             ["Ibarrier 0 0 -1 8192", "Ibcast 0 12 1 8192", "Iallreduce 0 8 -1 8192",
              f"Iallgatherv 0 {(4, 12)[rank]} -1 8192", "Ireduce_scatter_block 0 16 -1 8192", "Ialltoall 0 16 -1 8192",
              "Ibarrier 1 0 -1 8192", "Cart_create 0 0 -1 0", "Ineighbor_allgather 2 4 -1 8192",
              "Ineighbor_alltoall 2 8 -1 8192"])


def case_rma(job):
    job.run("rma")
    for rank in range(2):
        peer = 1 - rank
        same(rank, others(job, rank, "access", r"(\w+) comm=(\d+) object=(\d+) target=(-?\d+) bytes=(\d+) ended=1 flags=(\d+)"),
             ["Win_allocate 0 1 -1 0 0", "Win_create 2 2 -1 0 0", "Win_fence 0 1 -1 0 0", f"Put 0 1 {peer} 4 0",
              "Put 0 1 -1 0 0", f"Get 0 1 {peer} 12 0", f"Accumulate 0 1 {peer} 4 0", "Win_fence 0 1 -1 0 0",
              f"Win_lock 0 1 {peer} 0 0", f"Fetch_and_op 0 1 {peer} 8 0", f"Win_flush 0 1 {peer} 0 0",
              f"Fetch_and_op 0 1 {peer} 4 0", f"Win_flush_local 0 1 {peer} 0 0", f"Compare_and_swap 0 1 {peer} 8 0",
              f"Get_accumulate 0 1 {peer} 8 0", f"Rput 0 1 {peer} 4 8192", f"Rget 0 1 {peer} 16 8192",
              f"Win_unlock 0 1 {peer} 0 0", "Win_post 0 1 -1 0 0", "Win_start 0 1 -1 0 0", f"Put 0 1 {peer} 4 0",
              "Win_complete 0 1 -1 0 0", ("Win_wait", "Win_test")[rank] + " 0 1 -1 0 0", "Win_lock_all 2 2 -1 0 0",
              f"Put 2 2 {peer} 4 0", "Win_unlock_all 2 2 -1 0 0", "Win_free 2 2 -1 0 0", "Win_free 0 1 -1 0 0"])
        require(not any(" operation " in line for line in job.dump(rank)[1]), f"rank {rank}: an operation")


def case_internal(job):
    """File output by ROMIO (Open MPI: by OMPIO, and by ROMIO where it has it) and a neighbourhood collective over point-to-point."""
    environments = [{}]
    if job.family() == "openmpi" and "MCA io: romio" in subprocess.run(["ompi_info"], capture_output=True, text=True).stdout:
        environments.append({"OMPI_MCA_io": "^ompio"})  # Open MPI 6 of Debian has OMPIO alone
    for environment in environments:
        job.run("internal", **environment)
        for rank in range(2):
            _, lines = job.dump(rank)
            require(not any(" operation " in line or " call " in line for line in lines), f"rank {rank}: {lines}")
            same(rank, others(job, rank, "collective", r"(\w+) comm=(\d+) bytes=(\d+)"),
                 ["Cart_create 0 0", "Neighbor_alltoallw 2 16", "Reduce 0 4"])
            same(rank, others(job, rank, "access", r"(\w+) comm=(\d+) object=(\d+) target=-1 bytes=(\d+) ended=1 flags=0"),
                 ["File_open 0 1 0", "File_set_view 0 1 0", "File_write_all 0 1 32768", "File_read_at_all 0 1 32768",
                  "File_close 0 1 0"])
        shutil.rmtree(job.spools)
def case_persistent(job):
    """Each operation of a start belongs to the persistent record of the same message."""
    case_plain(job)
    for rank in range(2):
        _, lines = job.dump(rank)
        made = {found[1]: found[2] for line in lines
                if (found := re.search(r" persistent (?:Recv|S|Ss|Bs|Rs)\w*_init number=(\d+) (comm=\S+ peer=\S+ tag=\S+ bytes=\d+) ", line))}
        require(len(made) == 16 + 3 + 6000, f"rank {rank}: {len(made)} persistent records")
        used = set()
        for line in lines:
            found = re.search(r" operation Start(?:all)? \w+ comm=(\S+) peer=(\S+) tag=(\S+) bytes=(\d+) .* flags=(\d+) persistent=(\d+) ", line)
            if not found:
                continue
            used.add(found[6])
            comm, peer, tag, size = re.findall(r"=(\S+)", made[found[6]])
            wild = int(found[5]) & 6
            require((comm, size) == (found[1], found[4]) and (wild or (peer, tag) == (found[2], found[3])),
                    f"rank {rank}: {line} is of {made[found[6]]}")
        require(used == set(made), f"rank {rank}: {set(made) - used} were never started")


def case_reported(job):
    """The call that reported an operation has it; the Waitall that frees the request reports the other alone."""
    case_plain(job)
    for rank in range(2):
        _, lines = job.dump(rank)
        found = [re.match(r"call (\w+) completed=(\d+)", line).groups() for line in calls(lines)]
        one = [("Request_get_status", "1"), ("Waitall", "1")]
        inactive = [("Request_get_status", "0")]
        again = [("Request_get_status", "1"), ("Wait", "0")] * 2
        require(found == one * 2 + inactive + again + [("Request_free", "0")], f"rank {rank}: {found}")


def case_control(job):
    case_plain(job)
    for rank in range(2):
        _, lines = job.dump(rank)
        marks = [line.split()[-1] for line in lines if " mark " in line]
        require(marks == (["7", "0", "1", "2", "-3"] if rank else ["7", "2", "-3"]), f"rank {rank}: marks {marks}")
        regions = [line.split("region ")[1] for line in lines if " region " in line]
        require(regions == ['name 2 in=0 "mark 7"', "2 flags=0"], f"rank {rank}: regions {regions}")
        stored = 4 if rank else 6
        require(len(calls(lines)) == stored, f"rank {rank}: {len(calls(lines))} calls, not {stored}")
        off = [bool(int(flags) & OFF) for flags in re.findall(r" collective .* flags=(\d+)", "\n".join(lines))]
        require(off == [bool(rank) and i in (2, 3) for i in range(6)], f"rank {rank}: collectives while recording is off: {off}")


def case_idup(job):
    case_plain(job)
    for rank in range(2):
        _, lines = job.dump(rank)
        made = [(int(index), int(identity), int(parent), int(creation)) for index, identity, parent, creation in
                re.findall(r"communicator index=(\d+) identity=(\d+) parent=(\d+) creation=(\d+)", "\n".join(lines))]
        # In the order of their completion, under the numbers of their calls.
        require(made[2:] == [(2, 0, 0, 1), (3, 0, 0, 0), (4, 0, 3, 0), (5, 0, 4, 0), (6, 0, 0, 2)], f"rank {rank}: {made}")
        same(rank, others(job, rank, "collective", r"(\w+) comm=(\d+) .* ended=1 flags=(\d+)"),
             ["Comm_idup 0 8192", "Comm_dup 0 0", "Comm_dup 3 0", "Comm_idup 4 8192", "Comm_idup 0 8192"])


def skip_where_told(job):
    for rank in range(2):
        with open(os.path.join(job.expected, str(rank)), encoding="ascii") as said:
            line = said.readline()
        if line.startswith("skipped: "):
            print(line.strip())
            sys.exit(77)


def case_started_collectives(job):
    job.run(job.arguments.case)
    skip_where_told(job)
    job.check()
    for rank in range(2):
        same(rank, others(job, rank, "persistent", r"(\w+) number=(\d+) comm=(\d+) peer=(-?\d+) .*bytes=(\d+)"),
             ["Barrier_init 1 0 -1 0", "Allreduce_init 2 0 -1 12", "Neighbor_alltoall_init 3 2 -1 16",
              "Bcast_init 4 0 1 20"])
        cycle = ["Start 0 20 1 8448 4", "Startall 0 0 -1 8448 1", "Startall 0 12 -1 8448 2", "Startall 2 16 -1 8448 3"]
        same(rank, others(job, rank, "collective", r"(\w+) comm=(\d+) bytes=(\d+) root=(-?\d+) ended=1 flags=(\d+) "
                          r"persistent=(\d+)"), ["Cart_create 0 0 -1 0 0"] + 2 * cycle)


def case_partitioned(job):
    for each in ("0", "1"):
        job.run(job.arguments.case, MPISTAIR_PARTITIONS=each)
        skip_where_told(job)
        job.check()
        for rank in range(2):
            same(rank, others(job, rank, "persistent", r"(\w+) number=1 comm=0 peer=(\d) tag=6 bytes=48 partitions=4"),
                 [("Psend_init 1", "Precv_init 0")[rank]])
            same(rank, others(job, rank, "partitions", r"number=(\d) done=(\d) of=4 first=1 last=1"), ["1 4", "2 4"])
            found = others(job, rank, "partition", r"(\w+) number=(\d) partition=(\d)")
            if rank == 0:
                one = ["Pready %d 1", "Pready_list %d 3", "Pready %d 0", "Pready_range %d 2"]
            else:
                one = [f"Parrived %d {i}" for i in range(4)]
            same(rank, found, [line % start for start in (1, 2) for line in one] if each == "1" else [])
        shutil.rmtree(job.spools)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("case")
    for option in ("--preload", "--dump", "--program"):
        parser.add_argument(option, required=True)
    parser.add_argument("mpiexec", nargs="+")
    arguments = parser.parse_args()
    for option in ("preload", "dump", "program"):  # the job runs in a folder of its own
        setattr(arguments, option, os.path.abspath(getattr(arguments, option)))
    folder = tempfile.mkdtemp(prefix="mpistair-recorder-")
    try:
        globals().get("case_" + arguments.case, case_plain)(Job(arguments, folder))
    except (Failed, subprocess.SubprocessError) as failure:
        print(f"{arguments.case}: {failure}")
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
