"""mpistair history on made traces: steps that are there are found and named, none are where there is only noise, exit codes, files.

usage: check_history.py MPISTAIR SHARE_SQL
"""
import csv
import io
import json
import pathlib
import random
import tempfile
import xml.etree.ElementTree

from made_trace import check, database, end, joint_calls, run

ROUNDS, MS, DAY = 16, 10**6, 86400 * 10**9
BEGIN = 1_700_000_000 * 10**9


def version(path, number, chance, slower=0.0, sites=("solve.c:10", "halo.c:20"), ranks=2, **more):
    """Three quarters of the time are before the first site, whose part is slower by that share of the run; 1 % of noise in each part."""
    first, second = (round(ms * MS * chance.gauss(1, 0.01)) for ms in (75, 20))
    steps = [(1, [first + round(100 * MS * slower)] * ranks, 5 * MS), (2, [second] * ranks, MS // 10)]
    return joint_calls(path, ranks, steps * ROUNDS, sites=sites, started_ns=BEGIN + number * DAY, **more)


def series(folder, seed, slower, begin=6, n=10):
    chance = random.Random(seed)
    folder.mkdir()
    for number in range(n):
        version(folder / f"v{n - number}.db", number, chance, slower if number >= begin else 0)
    return folder


def found(*arguments):
    code, text, error = run("history", *arguments, "--json")
    check(f"json of {arguments}", code == 0 and error == "", error)
    return json.loads(text)


def check_steps(folder):
    """v10 is the first in time, v1 the last; the seventh is v4."""
    named, alarms = 0, 0
    for seed in range(10):
        steps = found(series(folder / f"slow{seed}", seed, 0.05))["steps"]
        named += {step["since"] for step in steps} == {"v4"} and any(
            step["place"] == "before MPI_Allreduce solve solve.c:10" and abs(step["of_run"] - 0.05) < 0.015 for step in steps)
        alarms += bool(found(series(folder / f"same{seed}", 100 + seed, 0))["steps"])
    check("a slowdown of 5 % since the seventh", named >= 9, f"{named} of 10")
    check("no change", alarms == 0, f"{alarms} of 10")


def check_files(folder):
    slow, same = folder / "slow0", folder / "same0"
    junit, badge = folder / "junit.xml", folder / "badge.svg"
    code, text, error = run("history", slow, "--fail-if-slower", "3%", "--junit", junit, "--badge", badge)
    plain = " ".join(text.split())
    check("text", "before MPI_Allreduce solve solve.c:10 since v4:" in plain and "10 runs" in plain and "2023-11-14 22:13" in plain
          and max(map(len, text.split("\n"))) <= 80, text)
    check("fails", code == 1 and "slower since v4" in error, f"{code} {error}")
    suite = xml.etree.ElementTree.parse(junit).getroot()
    failed = [case.get("name") for case in suite if case.find("failure") is not None]
    check("junit", suite.tag == "testsuite" and int(suite.get("tests")) == len(suite) and int(suite.get("failures")) == len(failed)
          and "before MPI_Allreduce solve solve.c:10" in failed and "before MPI_Allreduce halo halo.c:20" not in failed, junit.read_text())
    image = xml.etree.ElementTree.parse(badge).getroot()
    rows = found(slow)["runs"]
    check("badge", image.tag.endswith("svg") and f"{rows[9]['change'] * 100:+.1f} %" in badge.read_text(), badge.read_text())
    check("median before", abs(rows[2]["median_s"] - (rows[0]["run_s"] + rows[1]["run_s"]) / 2) < 1e-12 and rows[0]["change"] is None, rows)
    check("order of time", [row["label"] for row in rows] == [f"v{10 - i}" for i in range(10)], rows)
    check("order as given", [row["label"] for row in found(slow, "--as-given")["runs"]][:2] == ["v1", "v10"])
    check("label of the folder", {row["label"] for row in found(slow, "--label-from", "folder")["runs"]} == {"slow0"})
    check("csv", len(list(csv.DictReader(io.StringIO(run("history", slow, "--format", "csv")[1])))) == 10)
    for code, arguments in ((0, [same, "--fail-if-slower", "3"]), (0, [slow, "--fail-if-slower", "20%"]), (2, [slow, "--fail-if-slower", "x"]), (0, [slow])):
        check(f"exit code of {arguments}", run("history", *arguments)[0] == code)
    check("nothing changed", "Nothing changed by more than noise and 3 % of the run." in run("history", same)[1])


def main(folder):
    check_steps(folder)
    check_files(folder)

    faster = found(series(folder / "faster", 3, -0.06))["steps"]
    check("faster", faster and all(step["of_run"] < 0 for step in faster) and run("history", folder / "faster", "--fail-if-slower", "0")[0] == 0, faster)
    chance, many = random.Random(5), folder / "mended"
    many.mkdir()
    for number in range(12):
        version(many / f"m{number:02}.db", number, chance, 0.1 if 4 <= number < 8 else 0)
    steps = [step for step in found(many)["steps"] if step["place"] == "run"]
    check("slower, then mended", [(step["since"], step["last"]) for step in steps] == [("m04", False), ("m08", True)], steps)
    check("what is mended does not fail", run("history", many, "--fail-if-slower", "3")[0] == 0)
    version(many / "m12.db", 12, chance, 0.3)
    code, _, error = run("history", many, "--fail-if-slower", "3")
    check("the last run alone", code == 1 and "m12" in error, f"{code} {error}")

    moved = folder / "moved"
    moved.mkdir()
    for number in range(9):
        version(moved / f"l{number}.db", number, chance, 0.08 if number >= 6 else 0, sites=(f"solve.c:{10 + number // 3}", "halo.c:20"))
    steps = found(moved)["steps"]
    check("a call site that moves", [step["since"] for step in steps] == ["l6"] * len(steps) and len(steps) == 2, steps)

    two = [version(folder / f"two{i}.db", i, chance) for i in range(2)]
    check("two runs", "Steps need 3 runs" in run("history", *two)[1])
    other = version(folder / "other.db", 5, chance, ranks=3, command="./other")
    text = " ".join(run("history", *two, other)[1].split())
    check("another job", "ran: ./other" in text and "has 3" in text, text)
    for paths, code, says in (([two[0]], 2, "at least two traces"), ([], 2, "at least two traces"), ([two[0], folder / "absent.db"], 1, "absent.db"),
                              ([two[0], database(folder / "empty.db")], 1, "empty")):
        got, text, error = run("history", *paths)
        check(f"{paths[1:]} is refused", got == code and says in error and not text, f"{got} {error}")


with tempfile.TemporaryDirectory(prefix="mpistair-history-") as scratch:
    main(pathlib.Path(scratch))
end("history")
