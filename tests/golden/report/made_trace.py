"""What the checks of the report share: the tool, traces made of the schema and of SQL, and the count of what failed.

A check that imports it is called with the arguments MPISTAIR SHARE_SQL.
"""
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../models"))
from empty_trace import empty_trace  # noqa: E402

MPISTAIR, SQL = os.path.abspath(sys.argv[1]), pathlib.Path(sys.argv[2]).absolute()
failures = 0


def check(name, good, detail=""):
    global failures
    if not good:
        failures += 1
        print(f"FAILED {name}: {detail}")


def run(*arguments):
    environment = dict(os.environ, MPISTAIR_SHARE=str(SQL.parent), LC_ALL="C.UTF-8")
    done = subprocess.run([MPISTAIR, *map(str, arguments)], capture_output=True, timeout=60, env=environment)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def database(path, *scripts):
    connection = empty_trace(path, SQL / "schema.sql")
    for script in scripts:
        connection.executescript(script)
    connection.commit()
    connection.close()
    return path


def joint_calls(path, ranks, steps, sites=("solve.c:10", "halo.c:20"), command="./job", started_ns=0, extra=""):
    """A job of Allreduces, a step each: (number of the site from 1 on, what each rank computes before in ns, how long the call
    takes once the last one is there in ns)."""
    rows = [f"INSERT INTO run VALUES (1, '{path.name}', '0.2.0', {started_ns}, 0, 'Open MPI', 'Open MPI v4', 'MPI_THREAD_SINGLE', "
            f"'{command}', {ranks}, {ranks}, 4096, NULL, NULL, 'MPI_Init', 'all');",
            f"INSERT INTO node VALUES (0, 'here', 1, {ranks}, NULL, 0, {ranks});",
            f"INSERT INTO communicator VALUES (0, 'MPI_COMM_WORLD', NULL, NULL, {ranks}, NULL, 1);"]
    for number, site in enumerate(sites, 1):
        file, line = site.split(":")
        rows.append(f"INSERT INTO callsite VALUES ({number}, '/b/job', {line}, NULL, '{file[:-2]}', '{file}', {line});")
    rows += [f"INSERT INTO process(rank, node, socket, ended, begin_ns, end_ns) VALUES ({rank}, 0, 0, 'finalize', 0, 0);"
             f"INSERT INTO communicator_member VALUES (0, {rank}, {rank});" for rank in range(ranks)]
    left = 0
    for site, computed_ns, call_ns in steps:
        at = [left + computed_ns[rank] for rank in range(ranks)]
        left = max(at) + call_ns
        rows += [f"INSERT INTO collective VALUES (NULL, {rank}, 'MPI_Allreduce', 0, 8, NULL, {at[rank]}, {left}, {left - at[rank]}, 0, "
                 f"NULL, NULL, {site}, NULL);" for rank in range(ranks)]
    rows.append(f"UPDATE run SET duration_ns = {left}; UPDATE process SET end_ns = {left};")
    return database(path, "".join(rows), extra)


def end(what):
    """Says how many checks failed, and ends the program by that."""
    print(f"{what}:", "ok" if failures == 0 else f"{failures} failed")
    sys.exit(1 if failures else 0)
