#!/usr/bin/env python3
"""What the course of a run says where no call has a row: for whom the others wait in one stretch of it, and nothing of courses in
which nobody does.

usage: check_course.py MPISTAIR SHARE_SQL
"""
import json
import pathlib
import random
import sys
import tempfile

from made_trace import check, database, end, run

RANKS, WINDOWS, WINDOW_NS = 4, 300, 10 ** 9


def made(folder, share):
    """The findings of a run of totals alone, of whose windows the ranks compute share(rank, window)."""
    duration = WINDOWS * WINDOW_NS
    rows = [f"INSERT INTO run VALUES (1, 'k', '0', 1700000000000000000, {duration}, 'MPICH', 'MPICH Version: 4.0.2', 'MPI_THREAD_SINGLE', "
            f"'solver', {RANKS}, {RANKS}, 4096, 65536, 20, 'MPI_Init', 'none');",
            "INSERT INTO node VALUES (0, 'node0', 1, 4, NULL, 0, 4);",
            f"INSERT INTO communicator(id, size, known) VALUES (0, {RANKS}, 1);",
            "INSERT INTO function VALUES (1, 'MPI_Waitall'), (2, 'MPI_Isend');",
            "INSERT INTO callsite VALUES (1, 'solver', 1, NULL, 'exchange', '/s/halo.c', 12), (2, 'solver', 2, NULL, 'exchange', '/s/halo.c', 9);"]
    for rank in range(RANKS):
        rows += [f"INSERT INTO process(rank, node, socket, core, place, ended, begin_ns, end_ns, observed_ns, run_ns, wait_ns) VALUES "
                 f"({rank}, 0, 0, {rank}, 'placement', 'finalize', 0, {duration}, {duration}, {duration}, 0);",
                 f"INSERT INTO total VALUES ({rank}, 1, 1, NULL, NULL, 0, NULL, NULL, 0, 1000, 0, {duration // 2}, 1000, 0, 0, NULL);",
                 f"INSERT INTO total VALUES ({rank}, 2, 2, 0, 1, 0, 0, 'send', 5, 1000, 0, {duration // 9}, 1000, 0, 0, NULL);"]
        rows += [f"INSERT INTO course VALUES ({rank}, {w * WINDOW_NS}, {(w + 1) * WINDOW_NS}, 0, "
                 f"{int(WINDOW_NS * (1 - share(rank, w)))}, 0, 0, 0, 0, 0, 1000, 0);" for w in range(WINDOWS)]
    trace = database(folder / "course.db", "\n".join(rows))
    code, text, err = run("report", trace, "--format", "json")
    check("report", code == 0 and err == "", err)
    return json.loads(text)["findings"], run("report", trace)[1]


def check_queries(trace):
    """Queries of messages that totals can answer do so; others say why they have no rows."""
    for name, rows in (("traffic", "src,dst,messages,bytes,level\n0,1,1000,0,self\n1,1,1000,0,self\n2,1,1000,0,self\n3,1,1000,0,self\n"),
                       ("level_volume", "level,messages,bytes,share,recording\nself,4000,0,,complete; totals only\n"),
                       ("message_sizes", "level,from_bytes,below_bytes,messages,bytes\nself,16,32,4000,0\n"),
                       ("callsites", "place,address,mpi_function,operations,bytes,mean_s\nexchange /s/halo.c:9,solver+0x2,MPI_Isend,4000,0,\n")):
        code, text, err = run("query", trace, name, "--format", "csv")
        check(name, (code, text, err) == (0, rows, ""), (code, text, err))
    code, text, err = run("query", trace, "late_senders", "--format", "csv")
    check("late_senders", code == 0 and text.count("\n") == 1 and "totals alone were recorded" in err, text + err)
    code, text, err = run("query", trace, "ranks", "--format", "csv")
    check("ranks", code == 0 and err == "" and text.splitlines()[1].endswith(",1000,0,0,0"), text + err)


def main():
    lot = random.Random(7)

    def noise(rank, window):
        return lot.uniform(0.2, 0.4)

    def slow(rank, window):
        return (0.95 if rank == 2 else 0.03) if 180 <= window < 190 else noise(rank, window)

    def phase(rank, window):  # all compute
        return 0.97 if 180 <= window < 190 else noise(rank, window)

    def uneven(rank, window):  # one does all along
        return 0.8 if rank == 2 else 0.1

    def lumps(rank, window):  # others take processors, now from one rank, now from another
        return 0.9 if 20 + 60 * rank <= window < 26 + 60 * rank + rank else noise(rank, window) / 4

    def alone(rank, window):  # one computes longer while the others compute as before: nobody waits for it
        return 0.95 if rank == 2 and 180 <= window < 190 else 0.6 + noise(rank, window)

    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        found, screen = made(folder, slow)
        check_queries(folder / "course.db")
        check("one finding", [(row["kind"], row["rank"]) for row in found] == [("late-stretch", 2)], found)
        if found:
            row = found[0]
            check("when", abs(row["begin_s"] - 180) < 1.2 and abs(row["end_s"] - 190) < 1.2, row)
            check("gain", abs(row["gain_s"] - 9.2) < 0.5 and abs(row["gain"] - 9.2 / 300) < 0.002, row)
            check("line", row["function"] == "MPI_Waitall" and row["place"].endswith("halo.c:12"), row)
            check("screen", "% of the time from 180 to 190 s, 30 % otherwise" in " ".join(screen.split()), screen)
        for name, share in (("phase", phase), ("uneven", uneven), ("alone", alone), ("lumps", lumps), *((f"noise {i}", noise) for i in range(20))):
            check(f"nothing in {name}", not made(folder, share)[0])
    end("course")


if __name__ == "__main__":
    sys.exit(main())
