#!/usr/bin/env python3
"""mpistair run as a user calls it: statuses, what it leaves behind, mistakes, signals, a run within a run.

usage: run.py MPISTAIR EXCHANGE MPI MPIEXEC PRELOAD [brief]   (EXCHANGE: the program of exchange.c)
brief leaves out what knows no MPI.
"""
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile

mpistair, exchange, mpi, mpiexec = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3], sys.argv[4]
preload, brief = os.path.abspath(sys.argv[5]), sys.argv[6:] == ["brief"]
scratch = tempfile.mkdtemp(prefix="run-")
failures = []
JOB = [mpiexec, *(["--oversubscribe", "--bind-to", "none"] if mpi == "openmpi" else []), "-n", "2"]


def expect(condition, text):
    print(("ok    " if condition else "WRONG ") + text)
    if not condition:
        failures.append(text)


def environment(**more):
    env = {name: value for name, value in os.environ.items()
           if not name.startswith(("MPISTAIR_", "LD_PRELOAD", "SLURM_", "OMPI_MCA_mca_base_env_list"))}
    env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_mpi_yield_when_idle="1",
               MPISTAIR_CONF="")
    env.update(more)
    return env


def run(*arguments, **env):
    done = subprocess.run([mpistair, "run", *arguments], cwd=scratch, env=environment(**env), capture_output=True, text=True,
                          timeout=100)
    print(f"      run {' '.join(os.path.basename(a) for a in arguments)}: {done.returncode} {done.stderr!r}")
    return done


def folder():
    return sorted(os.listdir(scratch))


def messages(name):
    with sqlite3.connect(f"file:{os.path.join(scratch, name)}?mode=ro", uri=True) as database:
        return database.execute("SELECT count(*) FROM message").fetchone()[0]


def check_jobs():
    done = run("-o", "a.db", "--", *JOB, exchange)
    expect(done.returncode == 0 and folder() == ["a.db"], f"a trace and no spools: {folder()}")
    expect(messages("a.db") == 200, "all 200 messages are in it")
    expect("rank 1 of 2: 4950" in done.stdout, "the job's output is there")
    before = os.stat(os.path.join(scratch, "a.db")).st_mtime_ns
    done = run("-o", "a.db", "--", "sh", "-c", "exit 3")
    expect(done.returncode == 3, "exits as the job did")
    expect("nothing was recorded" in done.stderr, "says that nothing was recorded")
    expect(run("-o", "a.db", "true").returncode == 1, "a good job without a trace: 1")
    expect(os.stat(os.path.join(scratch, "a.db")).st_mtime_ns == before and folder() == ["a.db"], "and the old one is untouched")
    expect(run("-o", "a.db", "sh", "-c", "kill -9 $$").returncode == 137, "a job that was killed: 128 + 9")
    done = run("-o", "b.db", "--keep-spools", "--spool", "spools", *JOB, exchange, "4")
    expect(done.returncode == 4 and messages("b.db") == 200, "a job that fails at its end is recorded, too")
    expect(any(name.endswith(".mpispool") for name in os.listdir(os.path.join(scratch, "spools"))), "the spools are kept")
    done = run("-o", "b.db", "--spool", "spools", *JOB, exchange)
    expect(done.returncode == 0 and "held an earlier run: it is now" in done.stderr and "spools.1" in folder(),
           "spools of an earlier run are moved aside")
    open(os.path.join(scratch, "spools.1", "file"), "w").close()
    done = run("-o", "b.db", "--spool", "spools.1", *JOB, exchange)
    expect(done.returncode == 1 and "this one is not empty" in done.stderr, "a folder with other files is not taken")
    expect(run("-o", "c.db", "--keep-spools", *JOB, exchange).returncode == 0, "spools beside the output")
    done = run("-o", "c.db", *JOB, exchange)
    expect(done.returncode == 0 and messages("c.db") == 200 and "c.db.spool.1" in folder() and "c.db.spool" not in folder(),
           "an earlier run's spools are moved aside")
    done = run(*JOB, exchange, SLURM_JOB_ID="77")
    expect(done.returncode == 0 and messages("mpistair-77.db") == 200, "the default name is that of the batch job")


def check_without_ingest():
    done = run("-o", "g.db", *JOB, exchange, "4", MPISTAIR_INGEST="0")
    expect(done.returncode == 4 and folder() == ["g.db.spool"], f"MPISTAIR_INGEST=0: spools and no trace: {folder()}")
    told = [line.split("is made by: mpistair ")[1] for line in done.stderr.splitlines() if "is made by: mpistair " in line]
    expect(len(told) == 1 and subprocess.run([mpistair, *told[0].split()], cwd=scratch, timeout=60).returncode == 0 and
           messages("g.db") == 200, f"and the command that makes the trace: {told}")
    shutil.rmtree(os.path.join(scratch, "g.db.spool"), ignore_errors=True)
    os.unlink(os.path.join(scratch, "g.db"))


def check_relative_names():
    """Relative names of a job with LD_PRELOAD by hand mean the folder that it was started in, wherever it goes."""
    os.mkdir(os.path.join(scratch, "tmp"))
    for when, name, value in (("leave", "TMPDIR", "tmp"), ("leave-first", "TMPDIR", "tmp"), ("leave-first", "MPISTAIR_SPOOL", "spools")):
        done = subprocess.run([*JOB, "env", f"{name}={value}", exchange, "0", when], cwd=scratch, capture_output=True, text=True,
                              timeout=100, env=environment(LD_PRELOAD=preload, MPISTAIR_OUTPUT="h.db", OMPI_MCA_orte_tmpdir_base="/tmp"))
        expect(done.returncode == 0 and "h.db" in folder() and messages("h.db") == 200,
               f"a program that leaves its folder ({when}) with {name}={value}: {done.stderr!r} {folder()}")
        if "h.db" in folder():
            os.unlink(os.path.join(scratch, "h.db"))


def check_without_libdw():
    """mpistair starts where libdw cannot be loaded, and says once that there are no source lines."""
    os.mkdir(os.path.join(scratch, "library"))
    open(os.path.join(scratch, "library", "libdw.so.1"), "w", encoding="ascii").close()
    done = run("-o", "l.db", "--", "sh", "-c", '"$@" && "$@"', "sh", *JOB, exchange, LD_LIBRARY_PATH=os.path.join(scratch, "library"))
    expect(done.returncode == 0 and messages("l.db") == messages("l-2.db") == 200, "recorded without libdw")
    expect(done.stderr.count("no source lines") == 1, "which is said once")


def command(name):
    with sqlite3.connect(f"file:{os.path.join(scratch, name)}?mode=ro", uri=True) as database:
        return database.execute("SELECT command FROM run").fetchone()[0]


def check_script():
    """Several MPI jobs in one script: a trace each, in their order."""
    for first, second in (("d.db", "d-2.db"), ("e", "e-2")):
        done = run("-o", first, "--", "sh", "-c", '"$@" && "$@" 0 second', "sh", *JOB, exchange)
        expect(done.returncode == 0 and first + ".spool" not in folder(), "and no spools are left")
        expect((messages(first), messages(second)) == (200, 200), f"{first} and {second} have all messages of their job")
        expect((command(first), command(second)) == (exchange, exchange + " 0 second"), "in the order of the jobs")


def check_two_at_once():
    """Two runs with one -o at once: both traces are whole, and neither is the other's."""
    meet = 'touch up-$1; while [ ! -e up-0 ] || [ ! -e up-1 ]; do sleep 0.02; done; shift; "$@" && "$@" 0 again'
    processes = [subprocess.Popen([mpistair, "run", "-o", "t.db", "--", "sh", "-c", meet, "sh", str(i), *JOB, exchange, "0", f"of-{i}"],
                                  cwd=scratch, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                 for i in range(2)]
    said = [process.communicate(timeout=100)[1] for process in processes]
    print(f"      two at once: {said}")
    expect([process.returncode for process in processes] == [0, 0], "two runs with one -o at once end well")
    told = sum("another mpistair run records to" in text for text in said)
    expect(told == 1, f"one of them says that its trace has another name: {told}")
    traces = [name for name in folder() if name.startswith("t.db") or name.startswith("t-")]
    expect(len(traces) == 4 and "t.db" in traces, f"a trace for each of their jobs, and no spools are left: {traces}")
    expect(all(messages(name) == 200 for name in traces), "each with all messages of its job, and no others")
    expect(sorted(command(name) for name in traces) == sorted([f"{exchange} 0 of-{i}{again}" for i in range(2) for again in ("", " 0 again")]),
           "and every job has its own")
    first = command("t.db")
    done = run("-o", "t.db", *JOB, exchange, "0", "later")
    expect(done.returncode == 0 and command("t.db") != first, "a later run with this -o replaces the trace")
    for name in ("mpistair-78.db", "mpistair-78-2.db"):
        done = run(*JOB, exchange, SLURM_JOB_ID="78")
        expect(done.returncode == 0 and messages(name) == 200, f"without -o none is replaced: {name}")
    for name in ("mpistair-79.db", "mpistair-79-2.db"):
        subprocess.run([*JOB, exchange], cwd=scratch, env=environment(SLURM_JOB_ID="79", LD_PRELOAD=preload), timeout=100,
                       stdout=subprocess.DEVNULL)
        expect(name in folder() and messages(name) == 200, f"nor of LD_PRELOAD by hand without MPISTAIR_OUTPUT: {name}")
        expect(os.stat(os.path.join(scratch, name)).st_mode & 0o777 == 0o600, "which its owner alone can read")


def check_reasons():
    """Nothing was recorded: what the command shows of the reason is named."""
    with open(os.path.join(scratch, "wrapper"), "w", encoding="ascii") as file:
        file.write('#!/bin/sh\n# unset LD_PRELOAD would be wrong\nunset LD_PRELOAD\nexec "$@"\n')
    os.chmod(os.path.join(scratch, "wrapper"), 0o755)
    owned = shutil.copy(shutil.which("true"), os.path.join(scratch, "owned"))
    cases = [(["env", "-i", "true"], "env starts its program with an empty environment"),
             ([*JOB, "/usr/bin/env", "-u", "LD_PRELOAD", "A=b", exchange], "env removes LD_PRELOAD from"),
             (["sh", "./wrapper", "true"], "wrapper:3: this line"),
             ([*JOB, "./wrapper", exchange], "wrapper:3: this line removes LD_PRELOAD: unset LD_PRELOAD"),
             (["nice", "true", "sudo"], "sudo does not pass LD_PRELOAD on"),
             (["nice", "/bin/true", "sudo"], "Likely reasons")]
    if os.path.exists("/sbin/ldconfig"):
        cases.append((["nice", "/sbin/ldconfig", "--version"], "/sbin/ldconfig is statically linked"))
    if os.geteuid() == 0:
        os.chown(owned, 1, -1)
        os.chmod(owned, 0o4755)
        cases.append((["nice", "./owned"], "owned runs with rights of its owner (setuid"))
    for words, reason in cases:
        done = run("-o", "r.db", "--", *words)
        expect(done.returncode == 1 and "nothing was recorded" in done.stderr and reason in done.stderr,
               f"{' '.join(map(os.path.basename, words))}: {reason}")
        expect(("Likely reasons" in done.stderr) == (reason == "Likely reasons"), "the likely ones only where none is found")
    for token, is_one in (("$LIB", True), ("${ORIGIN}", True), ("x$PLATFORM", True), ("$LIBRARY", False)):
        place = os.path.join(scratch, token)
        os.makedirs(place)
        shutil.copy(preload, place)
        done = run("-o", "r.db", "--", "true", MPISTAIR_LIB=place)
        expect(done.returncode == 1 and ("the loader replaces " + token.lstrip("x") in done.stderr) == is_one, f"installed in {token}")
        report = subprocess.run([mpistair, "doctor"], env=environment(MPISTAIR_LIB=place), capture_output=True, text=True, timeout=100)
        expect(("the loader replaces" in " ".join(report.stdout.split())) == is_one, "doctor says so, too")


def check_mistakes():
    marker = os.path.join(scratch, "started")
    with open(os.path.join(scratch, "placement.csv"), "w", encoding="ascii") as file:
        file.write("rank,node\n0,0\n")
    for code, words, arguments in ((2, "no job", []), (2, "--no-such", ["--no-such", "touch", marker]), (2, "-o", ["-o", "-", "touch", marker]),
                                   (1, "/nowhere/x.db", ["-o", "/nowhere/x.db", "touch", marker]), (1, "not a regular file", ["-o", ".", "touch", marker]),
                                   (1, "placement.csv:1", ["--placement", "placement.csv", "touch", marker]),
                                   (1, "cannot be started", ["/nowhere/mpiexec"])):
        done = run(*arguments)
        expect(done.returncode == code and words in done.stderr, f"{words}: exit code {code}")
    expect(not os.path.exists(marker), "no job was started")
    expect(not [name for name in folder() if name.endswith(".spool")], f"nothing is left: {folder()}")


def check_environment():
    shown = ["sh", "-c", 'echo "$LD_PRELOAD" "$MPISTAIR_OUTPUT" "$MPISTAIR_INGEST" "$OMPI_MCA_mca_base_env_list"']
    done = run("-o", "e.db", *shown, LD_PRELOAD="libm.so.6")
    preload, output, ingest, *handed_on = done.stdout.split(" ", 3)
    expect(preload.endswith("libmpistair.so:libm.so.6") and preload.startswith("/"), "in front of what is preloaded")
    expect(output == os.path.join(os.path.realpath(scratch), "e.db") and ingest == "run", "the output, absolute")
    expect(run("-o", "e.db", *shown, LD_PRELOAD="/x/libasan.so.8 libm.so.6").stdout.split()[0].startswith("/x/libasan.so.8:/"),
           "but behind the runtime of a sanitizer")
    expect(handed_on == ["\n"], "a command that is not Open MPI's gets no list of variables")
    if mpi == "openmpi":
        for given, words in (({}, []), ({"OMPI_MCA_mca_base_env_list": "ONE"}, []), ({}, ["-x", "TWO"])):
            done = run("-o", "e.db", mpiexec, *words, *JOB[1:], exchange, ONE="1", TWO="2", **given)
            expect(done.returncode == 0 and messages("e.db") == 200, f"variables handed on, with {given or words or 'none before'}")
    done = run("-o", "outer.db", mpistair, "run", "-o", "inner.db", "--", "sh", "-c", 'echo "$LD_PRELOAD"; ' + " ".join([*JOB, exchange]))
    expect(done.stdout.split("\n")[0].count("libmpistair.so") == 1, "a run within a run preloads once")
    expect(messages("inner.db") == 200, "and the inner one records")
    told = [line for line in done.stderr.splitlines() if "inside this one" in line]
    expect(len(told) == 1 and told[0].endswith("/inner.db"), "the outer one says where the trace is")
    expect(done.returncode == 0 and "outer.db" not in folder(), "exits as the job did, with no trace of its own")
    done = run("-o", "outer.db", "--", "sh", "-c", f"'{mpistair}' run -o inner.db -- {' '.join([*JOB, exchange])}; exit 5")
    expect(done.returncode == 5 and messages("inner.db") == 200, "also where the job failed behind it")


def check_signals():
    for sent in (signal.SIGTERM, signal.SIGINT):
        # A job of its own session, so that what it gets came from mpistair alone.
        job = "import signal, sys, time; signal.signal(%d, lambda *_: sys.exit(9)); print('up', flush=True); time.sleep(60)" % sent
        process = subprocess.Popen([mpistair, "run", "-o", "s.db", "--", "setsid", sys.executable, "-c", job], cwd=scratch,
                                   env=environment(), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        process.stdout.readline()
        process.send_signal(sent)
        expect(process.wait(timeout=50) == 9, f"{sent.name} reaches the job, and its status comes back")
    # In a batch job, which SIGKILL may end at any moment then, the trace is left to a command. What was recorded is a job before.
    job = " ".join([*JOB, exchange]) + "; echo up; exec sleep 60"
    process = subprocess.Popen([mpistair, "run", "-o", "killed.db", "--", "setsid", "sh", "-c", job], cwd=scratch,
                               env=environment(SLURM_JOB_ID="80"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while process.stdout.readline() not in ("up\n", ""):
        pass
    process.send_signal(signal.SIGTERM)
    said = [line for line in process.communicate(timeout=50)[1].splitlines() if line.startswith("mpistair: ")]
    expect(process.returncode == 128 + signal.SIGTERM and len(said) == 2 and said[1].startswith("mpistair: ended before the trace was made"),
           f"SIGTERM in a batch job: a line at the start, one at the end: {said}")
    expect([name for name in folder() if name.startswith("killed.db")] == ["killed.db.spool"], "the spools stay, and nothing else")
    subprocess.run([mpistair, *said[0].split("by: mpistair ")[1].split()], check=True, stderr=subprocess.DEVNULL)
    expect(messages("killed.db") == 200, "its command makes the trace")


try:
    check_without_ingest()
    check_jobs()
    check_script()
    check_environment()
    check_relative_names()
    if not brief:
        check_without_libdw()
        check_two_at_once()
        check_reasons()
        check_mistakes()
        check_signals()
finally:
    shutil.rmtree(scratch, ignore_errors=True)
sys.exit(1 if failures else 0)
