"""A recording that lasts: spools, trace and memory stay within the room at every moment, and the report finds a slow stretch.

usage: long_run.py FOLDER_OF_JOB_PY SECONDS ROOM --build BUILD --mpi NAME --launcher MPIEXEC

Two ranks exchange messages at full speed (tests/apps/numbered.c, slow_stretch); for a thirtieth of the time the last one is slow.
Once a second: bytes of the spools on the disk, and what a rank has in memory. A run without the recorder says what of that is the
program's own.
"""
import json
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, sys.argv.pop(1))
SECONDS, ROOM = int(sys.argv.pop(1)), sys.argv.pop(1)

import job  # noqa: E402

UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def disk_bytes(folder):
    found = 0
    for path in folder.rglob("*"):
        try:
            found += path.stat().st_blocks * 512
        except FileNotFoundError:
            pass
    return found


def resident_kib(program):
    """Of each process of the program: anonymous memory, KiB; mapped spools are the disk's."""
    found = []
    for status in pathlib.Path("/proc").glob("[0-9]*/status"):
        try:
            if pathlib.Path(status.parent / "exe").resolve() == program:
                found.append(next(int(line.split()[1]) for line in status.read_text().splitlines() if line.startswith("RssAnon")))
        except (OSError, StopIteration):
            pass
    return found


def watch(test, command):
    program, most, memory, samples = pathlib.Path(test.program("numbered")).resolve(), 0, [], 0
    with open(test.folder / "output", "w+", encoding="utf-8", errors="replace") as output:
        started = subprocess.Popen(command, cwd=test.folder, env=test.environment(), stdout=output, stderr=subprocess.STDOUT)
        while started.poll() is None:
            time.sleep(1)
            samples += 1
            most = max(most, disk_bytes(test.folder))
            memory += [max(resident_kib(program), default=0)]
        output.seek(0)
        text = output.read()
    if started.returncode != 0:
        job.fail(f"exit {started.returncode}: {text}")
    return most, [kib for kib in memory if kib > 0], samples


def main():
    test = job.Job(__doc__)
    test.ranks = 2
    room = int(ROOM[:-1]) * UNITS[ROOM[-1]]
    _, plain, _ = watch(test, test.launch(test.program("numbered"), "slow_stretch", "5"))
    (test.folder / "output").unlink()
    most, memory, samples = watch(test, [test.mpistair, "run", "--room", ROOM, "-o", test.trace, "--",
                                         *test.launch(test.program("numbered"), "slow_stretch", str(SECONDS))])
    trace = test.trace.stat().st_size
    calls = test.value("SELECT sum(calls) FROM total")
    print(f"{SECONDS} s, {calls} calls, room {room >> 20} MiB, {samples} samples")
    print(f"spools at most {most / (1 << 20):.1f} MiB on the disk at any moment; trace {trace / (1 << 20):.1f} MiB")
    early, late = max(memory[:max(len(memory) // 10, 5)]), max(memory[len(memory) // 2:])
    print(f"memory of a rank: {max(plain)} KiB without the recorder, {early} KiB in the first tenth, {late} KiB in the second half")
    print(f"losses: {test.query('SELECT cause, n FROM loss')}; bursts: {test.value('SELECT count(*) FROM burst')}, "
          f"messages with rows: {test.value('SELECT count(*) FROM message_row')}")
    test.must([test.mpistair, "report", test.trace])
    if most > room * 1.01 or trace > room:
        job.fail(f"more than the room of {room} bytes")
    if late > early + 4096:
        job.fail("the memory of a rank grows")
    done = subprocess.run([test.mpistair, "report", "--format", "json", test.trace], capture_output=True, check=True, env=test.environment())
    found = json.loads(done.stdout)["findings"]
    begin, end = 0.6 * SECONDS, (0.6 + 1 / 30) * SECONDS
    hits = [row for row in found if row["rank"] == 1 and row["begin_s"] is not None and row["end_s"] is not None and
            begin - 2 <= row["begin_s"] and row["end_s"] <= end + 2 and "numbered.c" in row["place"]]
    if not hits:
        job.fail(f"the slow stretch of rank 1 from {begin:.0f} to {end:.0f} s is not named: {found}")
    print(f"named: {hits[0]['sentence']}")


main()
