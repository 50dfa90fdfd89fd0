"""Regions in a report: first screen, section, JSON, page, queries, of a made trace, against figures by hand.

usage: check_regions.py MPISTAIR SHARE_SQL
"""
import json
import pathlib
import tempfile

from made_trace import check, database, end, run

# Two ranks of 2 s. Region `solve` with 20 occurrences of `step` on each, of 40 ms, 10 ms of them in MPI at halo.c:42; number 7 of rank 1 takes
# 200 ms outside of MPI, and rank 0 waits for it. The path of the third region is long.
RUN = """
INSERT INTO run VALUES (1, 'key', '0', 0, 2000000000, 'Open MPI', 'Open MPI v5', 'MPI_THREAD_SINGLE', './app', 2, 2, NULL, NULL, NULL, 'MPI_Init', 'all');
INSERT INTO node(id, host) VALUES (0, 'node0');
INSERT INTO process(rank, node, ended, begin_ns, end_ns) VALUES (0, 0, 'finalize', 0, 2000000000), (1, 0, 'finalize', 0, 2000000000);
INSERT INTO communicator VALUES (0, NULL, NULL, NULL, 2, NULL, 1);
INSERT INTO callsite VALUES (1, '/b/job', 16, NULL, 'exchange', '/src/halo.c', 42), (2, '/b/job', 16, NULL, 'exchange', '/src/halo.c', 42);
INSERT INTO function VALUES (0, 'MPI_Allreduce');
"""
REGIONS = """
INSERT INTO region VALUES (0, NULL, 'solve', 'solve', 0, 'mpistair'), (1, 0, 'step', 'solve/step', 1, 'Kokkos'), (2, NULL, 'x', {long}, 0, 'NVTX');
INSERT INTO site_region VALUES (1, 1), (2, 0);
INSERT INTO region_total VALUES (0, 0, 1, 1000000000, 960000000, 1000000000, 20000000, 360000000, 1.0), (1, 0, 1, 1000000000, 970000000, 1000000000, 0, 200000000, 1.0),
                                (0, 1, 20, 960000000, 0, 200000000, 360000000, 0, 0.07), (1, 1, 20, 970000000, 0, 210000000, 200000000, 0, 0.074),
                                (1, 2, 1, 1000000, 0, 1000000, 0, 0, 1e-6);
INSERT INTO total VALUES (0, 0, 1, 0, NULL, 0, NULL, NULL, 4, 20, 160, 360000000, 170000000, 0, 0, NULL), (1, 0, 1, 0, NULL, 0, NULL, NULL, 4, 20, 160, 200000000, 10000000, 0, 0, NULL),
                         (0, 0, 2, 0, NULL, 0, NULL, NULL, 4, 1, 8, 20000000, 20000000, 0, 0, NULL);
INSERT INTO collective SELECT NULL, rank, 'MPI_Allreduce', 0, 8, NULL, begin_ns + end_ns - begin_ns - mpi_ns, end_ns, mpi_ns, 0, NULL, NULL, 1, NULL FROM occurrence WHERE region = 1;
INSERT INTO region_fault VALUES (0, 'no begin', 3), (1, 'no end', 1), (1, 'other', 5), (1, 'ignored', 2);
"""
OCCURRENCES = "".join(
    f"INSERT INTO occurrence VALUES (NULL, {rank}, 1, 1, {50000000 * i}, {50000000 * i + (210 if i == 6 else 40) * 1000000}, 0, "
    f"{(170 if (rank, i) == (0, 6) else 10) * 1000000}, 0);" for rank in range(2) for i in range(20))


def words(text):
    return " ".join(text.split())


def check_screen(trace):
    code, text, err = run("report", trace)
    check("screen", code == 0 and err == "" and all(len(line) <= 80 for line in text.splitlines()) and len(text.splitlines()) <= 40, text + err)
    lines = text.split("Regions with most time of their own\n")[1].split("\n\n")[0].splitlines()
    check("screen lines", len(lines) <= 5, lines)
    check("screen rows", words(lines[1]) == "solve/step 40 1.93 s 1.93 s 48 % 29 % 210 ms 1", lines)
    check("screen order", words(lines[2]) == "solve 2 2.00 s 70.0 ms 2 % 29 % 1.00 s 0", lines)
    check("screen long path", words(lines[3]).startswith(".../xxxxxxxxxxxxx... 1 1.00 ms"), lines)
    check("screen slow", words(lines[4]) == "slow: solve/step no. 7, rank 1: 200 ms outside MPI, median 30.0 ms", lines)
    check("screen sites", "MPI_Allreduce halo.c:42 [step]" in words(text) or "MPI_Allreduce exchange halo.c:42 [step]" in words(text), text)


def check_section(trace):
    code, text, err = run("report", trace, "--section", "regions")
    check("section", code == 0 and err == "" and all(len(line) <= 80 for line in text.splitlines()), text + err)
    for said in ("3 ends of a region without a begin", "1 region ended only with the one around or with the thread", "5 occurrences of regions beyond the 2046",
                 "2 begins of a region left out", "slow occurrence of"):
        check("section: " + said, said in words(text), text)
    check("section slow", "solve/step 1 7 300 ms 200 ms 30.0 ms 210 ms" in words(text), text)


def check_values(trace):
    found = json.loads(run("report", trace, "--json")[1])
    step = found["regions"][0]
    check("json", (step["path"], step["way"], step["ranks"], step["occurrences"], step["longest_rank"], step["busiest_rank"]) == ("solve/step", "Kokkos", 2, 40, 1, 1), step)
    for name, value in {"inclusive_s": 1.93, "exclusive_s": 1.93, "mpi_s": 0.56, "share": 0.4825, "longest_s": 0.21, "most_outside_mpi_s": 0.77,
                        "least_outside_mpi_s": 0.6}.items():
        check("json " + name, abs(step[name] - value) < 1e-9, step)
    check("json solve", abs(found["regions"][1]["mpi_s"] - 0.58) < 1e-9 and abs(found["regions"][1]["exclusive_s"] - 0.07) < 1e-9, found["regions"][1])
    slow = found["slow_occurrences"]
    check("json slow", [(row["path"], row["rank"], row["number"]) for row in slow] == [("solve/step", 1, 7)], slow)
    page = run("report", trace, "--format", "html", "--all")[1]
    check("page", "Regions</h2>" in page.replace("</a>", "") and "solve/step" in page, "no regions on the page")


def check_queries(trace):
    rows = run("query", trace, "regions", "--format", "csv")[1].splitlines()
    check("query regions", rows[1].split(",")[:3] == ["solve/step", "2", "40"] and abs(float(rows[1].split(",")[3]) - 1.93) < 1e-9, rows)
    rows = run("query", trace, "region_sites", "--format", "csv")[1].splitlines()
    check("query sites", [row.split(",")[:2] + row.split(",")[-3:-2] for row in rows[1:]] == [["solve/step", "MPI_Allreduce", "40"], ["solve", "MPI_Allreduce", "1"]], rows)
    rows = run("query", trace, "slow_occurrences", "--format", "csv")[1].splitlines()
    check("query slow", len(rows) == 2 and rows[1].split(",")[:3] == ["solve/step", "1", "7"], rows)


with tempfile.TemporaryDirectory() as temporary:
    folder = pathlib.Path(temporary)
    path = folder / "regions.db"
    database(path, RUN + OCCURRENCES + REGIONS.format(long="'" + "/".join(["x" * 240] * 40) + "'"))
    check_screen(path)
    check_section(path)
    check_values(path)
    check_queries(path)
    path = folder / "none.db"
    database(path, RUN)
    code, text, err = run("report", path, "--all")
    check("no regions", code == 0 and "egions" not in text, text + err)
    check("no section", "the program marks no regions" in run("report", path, "--section", "regions")[1], "")
    check("no json", json.loads(run("report", path, "--json")[1])["regions"] == [], "")
    for query in "regions", "region_sites", "slow_occurrences":
        check("no rows", run("query", path, query)[0] == 0, query)
end("regions")
