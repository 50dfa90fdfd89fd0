#!/usr/bin/env python3
"""Processes of several MPI_COMM_WORLDs in one trace: spawned, connected, joined. Every process and message that the program
tells is in the trace, with the right ranks, and no other."""
import shlex
import shutil

import job


def add_arguments(parser):
    parser.add_argument("--case", choices=["spawn", "each", "join", "connect", "row", "bridge"], required=True)


def command(test):
    """The job's command line: for `connect` a script that starts two jobs, and the server by which they find each other."""
    program, case = test.program("worlds"), test.arguments.case
    if case != "connect":
        test.ranks = {"spawn": 2, "each": 3, "join": 1, "row": 1, "bridge": 2}[case]
        return test.launch(program, case, *{"spawn": ["2"], "row": ["4"]}.get(case, []))
    test.ranks = 2
    server, options = "", []
    if test.mpi == "openmpi":
        if shutil.which("ompi-server") is None:
            job.skip("Open MPI's jobs connect through ompi-server, which is not installed")
        server = "ompi-server --no-daemonize -r uri & server=$!; while [ ! -s uri ]; do sleep 0.1; done;"
        options = ["--ompi-server", "file:uri"]
    launcher, *rest = test.launch(program)
    sides = [shlex.join([launcher, *options, *rest, way, "port"]) for way in ("accept", "connect")]
    # The second waits for the port, which a first one that failed never makes.
    script = f"rm -f port uri; {server} {sides[0]} & first=$!; {sides[1]} & second=$!; code=0; " + \
        "wait $first || { code=$?; kill $second; }; wait $second || code=$?; " + \
        ("kill $server; " if server else "") + "exit $code"
    return ["timeout", "60", "sh", "-c", script]


def main():
    test = job.Job(__doc__, add_arguments)
    job_command = command(test)
    # Open MPI 5.0.7 hangs in MPI_Comm_disconnect of several; what hydra says may get lost when it ends a job.
    plain = test.run(["timeout", "40", *job_command], OMPI_MCA_mpi_yield_when_idle="1")
    if plain.returncode != 0:
        job.skip("this MPI cannot do it without the recorder: dynamic processes")
    done = test.must([test.mpistair, "run", "-o", test.trace, "--", *job_command], OMPI_MCA_mpi_yield_when_idle="1")
    lines = [line.split() for line in done.stdout.splitlines()]
    processes = {tuple(map(int, words[1:3])): int(words[3]) for words in lines if words and words[0] == "process"}
    sent = sorted(tuple(map(int, words[1:])) for words in lines if words and words[0] == "message")
    job.expect_equal(sorted(path.name for path in test.folder.glob("*.db")), ["trace.db"], "traces")
    traced = {pid: (rank, world, world_rank) for rank, world, world_rank, pid in
              test.query("SELECT rank, world, world_rank, pid FROM process")}
    job.expect_equal(set(traced), set(processes.values()), "processes")
    job.expect_equal({(world, rank): traced[pid][2] for (world, rank), pid in processes.items()},
                     {(world, rank): rank for world, rank in processes}, "ranks in their worlds")
    worlds = {(world, traced[pid][1]) for (world, _), pid in processes.items()}
    job.expect_equal(len(worlds), len({world for world, _ in worlds}), "worlds, one for each of the program's")
    names = {traced[pid][0]: name for name, pid in processes.items()}
    found = sorted((*names[src], *names[dst], tag, n_bytes) for src, dst, tag, n_bytes in
                   test.query("SELECT src, dst, tag, bytes FROM message"))
    job.expect_equal(found, sent, "messages")
    job.expect_equal(test.value("SELECT count(*) FROM communicator WHERE NOT known"), 0, "guessed communicators")
    job.expect_equal(test.value("SELECT world_size FROM run"), len(processes), "processes of the run")
    test.expect_complete()
    test.expect_sound()
    print(f"{len(processes)} processes of {len({w for w, _ in worlds})} worlds, {len(sent)} messages, all as the program told")


main()
