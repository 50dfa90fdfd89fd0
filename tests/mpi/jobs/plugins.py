#!/usr/bin/env python3
"""Plug-ins that are unloaded and leave their addresses to others: each call stands under the one that made it, and where
that is not known under none. What a plug-in sends has its own tag."""
import pathlib
import re

import job

SOURCE = pathlib.Path(__file__).resolve().parents[2] / "apps/plug.c"
REUSE = "init open a call a 70 close a open b call b 50 close b open a call a 30 close a open b call b 20"
# case: what the program does, {(tag, function): messages whose call site is known}, messages of which it is not
CASES = {
    "reuse": (REUSE, {(1, "plug"): 100, (2, "plug"): 70}, 0),
    "gone": ("open b init open a call a 70 close a call b 5 close b", {(1, "plug"): 70, (2, "plug"): 5}, 0),
    "unseen": ("init open a call a 70 unseen a open b call b 50 close b open a call a 3 close a", {(1, "plug"): 3}, 120),
    "ucx": (REUSE.replace("close", "ucx"), {(1, "plug"): 100, (2, "plug"): 70}, 0),
    "ucx end": ("init open a call a 5 end a 7 ucx a open b call b 3 ucx b", {(1, "plug"): 5, (1, "leave"): 7, (2, "plug"): 3}, 0),
    "ucx killed": ("init open a call a 70 ucx a open b call b 50 kill", {(1, "plug"): 70, (2, "plug"): 50}, 0),
    "end": ("init open a call a 5 end a 7 close a open b call b 3", {(1, "plug"): 5, (1, "leave"): 7, (2, "plug"): 3}, 0),
    "namespace": ("init namespace a call a 70 close a namespace b call b 50 close b open a call a 30",
                  {(1, "plug"): 100, (2, "plug"): 50}, 0),
    "killed": ("open a init call a 70 close a open b call b 50 kill", {(1, "plug"): 70, (2, "plug"): 50}, 0),
    "many": ("init" + 40 * " open a call a 2 close a open b call b 3 close b", {(1, "plug"): 80, (2, "plug"): 120}, 0),
}
SITES = """SELECT tag, module, function, line, count(*) FROM message LEFT JOIN callsite ON callsite.id = send_callsite
  GROUP BY 1, 2, 3, 4"""
FRAMES = """SELECT tag, module, function, line, count(*) FROM message JOIN origin ON message_id = message.id
  AND direction = 'send' JOIN stack ON stack.id = origin.stack JOIN callsite ON callsite.id = stack.callsite
  WHERE depth = 0 GROUP BY 1, 2, 3, 4"""


def lines():
    """{function: its line that sends}"""
    found = {}
    for number, line in enumerate(SOURCE.read_text(encoding="ascii").splitlines(), 1):
        comment = re.search(r"/\* (sendrecv|at end) \*/", line)
        if comment:
            found["plug" if comment[1] == "sendrecv" else "leave"] = number
    return found


def known(test, sql, paths):
    """({(tag, function): messages at its line}, messages at unknown places); fails where one stands under another plug-in."""
    found, unknown = {}, 0
    for tag, module, function, line, n in test.query(sql):
        if module == "?":
            unknown += n
        elif module != paths[tag] or line != lines().get(function):
            job.fail(f"{n} messages of {paths[tag]} stand under {module}: {function}, line {line}")
        else:
            found[tag, function] = found.get((tag, function), 0) + n
    return found, unknown


def record(test, words, paths, **more):
    program, plugs = test.program("plugins"), {"PLUG_A": paths[1], "PLUG_B": paths[2]}
    if "kill" not in words:
        return test.record(program, *words.split(), **plugs, **more)
    done = test.run(test.launch(program, *words.split()), **test.preloaded(**plugs, **more))
    test.ingest()
    return done


def expect_reused(done):
    """The second plug-in lay where the first one had been."""
    places = re.findall(r"^[ab] (0x[0-9a-f]+)$", done.stdout, re.M)
    if len(places) > 1 and len(set(places)) == len(places):
        job.skip(f"this system uses no address again: {places}")


def threads(test, paths):
    record(test, "init threads 40", paths)
    found, unknown = known(test, SITES, paths)
    job.expect_equal(sum(found.values()) + unknown, 400, "messages")
    if sum(found.values()) < 200:
        job.fail(f"of 400 messages {found} are known, {unknown} are not")


def polls(test, paths):
    """Unsuccessful probes are summed by call site, and sums end with the plug-in."""
    record(test, "init open a call a -100 close a open b call b -50 close b", paths)
    found = test.query("SELECT module, sum(idle_calls) FROM call JOIN callsite ON callsite.id = callsite"
                       " WHERE call.function = 'MPI_Iprobe' GROUP BY 1 ORDER BY 1")
    job.expect_equal(found, [(paths[1], 100), (paths[2], 50)], "probes")


def stacks(test, paths):
    record(test, REUSE, paths, MPISTAIR_STACK="8")
    job.expect_equal(known(test, FRAMES, paths), (CASES["reuse"][1], 0), "first frames of the messages' stacks")


def main():
    others = {"threads": threads, "polls": polls, "stacks": stacks}
    test = job.Job(__doc__, lambda parser: parser.add_argument("--case", choices=[*CASES, *others], required=True))
    paths = {tag: str(test.build / f"tests/apps/{name}-{test.mpi}.so") for tag, name in ((1, "plug_a"), (2, "plug_b"))}
    if test.arguments.case in others:
        others[test.arguments.case](test, paths)
        return
    words, sites, unknown = CASES[test.arguments.case]
    done = record(test, words, paths)
    if test.arguments.case != "gone":
        expect_reused(done)
    job.expect_equal(known(test, SITES, paths), (sites, unknown), "messages at known call sites, and others")
    told = test.query("SELECT module, reason FROM unnamed_module")
    job.expect_equal([module for module, _ in told], ["?"] if unknown else [], f"reasons {told}")


main()
