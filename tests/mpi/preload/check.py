#!/usr/bin/env python3
"""Programs under the preload library behave as without it, and what should reach a backend does.

usage: check.py BUILD_FOLDER LIBMPISTAIR CASE [MPI MPIEXEC]

The backend is fake_backend.c, which logs how often its wrappers were called. Each case runs programs twice, bare and
preloaded, and compares exit status, stdout and stderr. Exit: 0, 1 with the differences, 77 skipped.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile

build, library, case = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3]
mpi, mpiexec = (sys.argv[4], sys.argv[5]) if len(sys.argv) > 4 else ("", "")
scratch = tempfile.mkdtemp(prefix="preload-")
failures = []
MESSAGES = 100


def expect(condition, text):
    print(("ok    " if condition else "WRONG ") + text)
    if not condition:
        failures.append(text)


def part(name):
    return os.path.join(build, name)


def environment(**more):
    env = {name: value for name, value in os.environ.items() if not name.startswith(("MPISTAIR_", "LD_PRELOAD"))}
    env.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMPI_MCA_btl="self,vader,tcp",
               OMPI_MCA_mpi_yield_when_idle="1", MPISTAIR_CONF="")
    env.update(more)
    return env


def run(command, **env):
    return subprocess.run(command, env=environment(**env), capture_output=True, text=True, timeout=100, cwd=scratch)


def backends(kind="fake"):
    """A folder with backends of both families, of one kind."""
    folder = os.path.join(scratch, kind)
    os.makedirs(folder, exist_ok=True)
    for family in ("mpich", "openmpi"):
        if os.path.exists(part(f"{kind}-{family}.so")):
            shutil.copy(part(f"{kind}-{family}.so"), os.path.join(folder, f"mpistair-backend-{family}.so"))
    return folder


def job(*command, ranks=2):
    words = [mpiexec, "-n", str(ranks)]
    if mpi == "openmpi":
        words += ["--oversubscribe", "--bind-to", "none"]
    return [*words, *command]


def lines(text):
    """Lines in an order that does not depend on which rank was first; Open MPI's report of a failed job names numbers."""
    return sorted(re.sub(r"\[\[\d+,\d+\],\d+\]", "[]", line) for line in text.splitlines())


def same(command, stderr=True, **env):
    """Runs bare and preloaded; returns the preloaded run and its logs, one dictionary a process."""
    name = " ".join(os.path.basename(word) for word in command if not word.startswith("-"))
    bare_env = {key: value for key, value in env.items() if key not in ("LD_PRELOAD", "MPISTAIR_LIB")}
    if "LD_PRELOAD" in env:
        bare_env["LD_PRELOAD"] = ":".join(p for p in env["LD_PRELOAD"].split(":") if not p.endswith("libmpistair.so"))
    log = tempfile.mkdtemp(dir=scratch)
    bare = run(command, **bare_env)
    preloaded = run(command, **{"LD_PRELOAD": library, "MPISTAIR_LIB": backends(), **env, "FAKE_LOG": log})
    expect(preloaded.returncode == bare.returncode, f"{name}: exit status {preloaded.returncode}, bare {bare.returncode}")
    expect(lines(preloaded.stdout) == lines(bare.stdout), f"{name}: stdout {preloaded.stdout!r}, bare {bare.stdout!r}")
    if stderr:
        expect(lines(preloaded.stderr) == lines(bare.stderr), f"{name}: stderr {preloaded.stderr!r}, bare {bare.stderr!r}")
    logs = []
    for file in os.listdir(log):
        with open(os.path.join(log, file), encoding="ascii") as text:
            logs.append(dict(line.rsplit(" ", 1) for line in text.read().splitlines()))
    return preloaded, logs


def expect_recorded(logs, init, processes=2, sends=MESSAGES, pcontrol=1):
    expect(len(logs) == processes, f"{processes} processes recorded: {logs}")
    for log in logs:
        expect(log["family"] == mpi, f"the backend of {mpi} was taken: {log}")
        expect(sum(int(log.get(name, 0)) for name in ("Init", "Init_thread")) == 1 and log.get(init) == "1",
               f"{init} was seen once")
        expect(log.get("Finalize") == "1", "Finalize was seen once")
        expect(log.get("Send") == str(sends), f"{sends} sends were seen once each")
        expect(int(log.get("passed Pcontrol", 0)) == pcontrol, "the call that is passed on was counted once")


def expect_said(done, words, n=1):
    said = [line for line in done.stderr.splitlines() if line.startswith("mpistair: ")]
    expect(len(said) == n and all(words in line for line in said), f"{n} line(s) with '{words}' on stderr: {said}")


def check_exports():
    listed = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    names = [line.split()[-1] for line in listed.splitlines()]
    others = [name for name in names if name not in ("dlclose", "dlinfo") and not re.match(r"mpistair_v1_region_|ompt_start_tool$|kokkosp_|cali_(begin|end)_|InitializeInjectionNvtx2$|__itt_api_init$|P?MPI_|p?mpi_[a-z_]+$|(mpi|pmpir?)_[a-z_]+_f08(ts)?_(large_)?$", name)]
    expect(not others, f"only names of MPI in C and Fortran, of regions and OMPT, dlclose and dlinfo are exported: {others}")
    fortran = ("mpi_send", "mpi_send_", "mpi_send__", "MPI_SEND", "pmpi_send_", "mpi_send_f08_", "mpi_send_f08ts_",
               "pmpir_send_f08ts_", "mpi_send_f08ts_large_", "mpi_wait_f08_", "pmpi_wait_f08_")
    expect(set(fortran) <= set(names), "what Fortran calls for MPI_Send and MPI_Wait is there")
    expect(len(names) > 1200 and "MPI_Send" in names and "PMPI_Send" in names, f"{len(names)} symbols are exported")
    dynamic = subprocess.run(["readelf", "-d", library], capture_output=True, text=True, check=True).stdout
    needed = re.findall(r"NEEDED.*\[(.*)\]", dynamic)
    expect(all(re.match(r"(libc|libdl|ld-linux.*)\.so", name) for name in needed), f"it needs the C library alone: {needed}")


def check_inert():
    for command in (["ls", "/"], ["ls", "/does-not-exist"], ["bash", "-c", "echo $((1 + 1)); (exit 4); exit 3"],
                    ["sh", "-c", "kill -9 $$"], [sys.executable, "-c", "import sys, json; print(json.dumps([1])); sys.exit(2)"],
                    [sys.executable, "-c", "import os; p = os.fork(); os._exit(0) if not p else print(os.wait()[1])"]):
        same(command)


def check_weak():
    same([part("weak")])
    _, logs = same([part("weak"), "call"])
    expect(not logs, "nothing was recorded")


def check_names():
    plugins = [part("names-1.so"), part("names-2.so")]
    done, _ = same([part("host"), "01", *plugins])
    expect(done.stdout.count("\n") == 4, "both plugins ran, each with its own functions")
    same([part("host"), "0", *plugins], LD_PRELOAD=f"{library}:{plugins[1]}")
    done, _ = same([part("host"), "0", *plugins], NAMES_LOST="1")
    expect(done.returncode == 127 and "undefined symbol: mpi_recv_" in done.stderr, "an undefined function ends the process")


def check_unknown():
    done, logs = same([part("unknown")], stderr=False)
    expect(done.returncode == 0, "arguments and errno passed through")
    expect_said(done, "no backend for this MPI (\"Nobody's MPI 1.0\")")
    expect(not logs, "nothing was recorded")
    same([part("unknown")], PMI_RANK="1")
    same([part("unknown")], MPISTAIR_DISABLE="1")


def check_static():
    done, _ = same([part("static")], stderr=False)
    expect_said(done, "statically linked")


def check_two_mpis():
    for number in ("0", "1"):
        done, logs = same([part("host"), number, part("plugin-mpich.so"), part("plugin-openmpi.so")], stderr=False)
        expect("rank 0: 41" in done.stdout, "the plugin ran with its own MPI")
        expect(not logs, "nothing was recorded")
        expect_said(done, "2 MPI libraries")


def check_mpiexec():
    for option in ("--help", "--version", "--no-such-option"):
        same([mpiexec, option])
    same(job("true"))
    same(job("sh", "-c", "exit 0"))


def check_exchange():
    for arguments in ([], ["3"], ["0", "fork"]):
        _, logs = same(job(part(f"exchange-{mpi}"), *arguments), stderr=arguments != ["3"])
        expect_recorded(logs, "Init")


def check_mpif():
    _, logs = same(job(part(f"exchange-mpif-{mpi}")))
    expect_recorded(logs, "Init")


def check_f08():
    _, logs = same(job(part(f"exchange-f08-{mpi}")))
    expect_recorded(logs, "Init")


def check_tool():
    tool_log = os.path.join(scratch, "tool.log")
    for order, init in ((f"{part('tool.so')}:{library}", "Init_thread"), (f"{library}:{part('tool.so')}", "Init")):
        for program in ("exchange", "exchange-f08", "exchange-mpif"):
            if not os.path.exists(part(f"{program}-{mpi}")):
                continue
            done, logs = same(job(part(f"{program}-{mpi}")), LD_PRELOAD=order, TOOL_LOG=tool_log)
            in_front = order.endswith(library)
            # A tool in front sees MPI_Init only where the application calls that.
            expect(len(logs) == 2, f"{program}: two processes recorded: {logs}")
            expect(all(log.get("Send") == str(MESSAGES) and log.get("Finalize") == "1" and
                       sum(int(log.get(name, 0)) for name in ("Init", "Init_thread")) == 1 for log in logs),
                   f"{program}: everything was seen once with the tool {'in front' if in_front else 'behind'}")
            # Open MPI's Fortran hands on MPI_PCONTROL by a jump, which looks like the tool's.
            unseen = mpi == "openmpi" and program != "exchange" and not in_front
            expect(all(int(log.get("passed Pcontrol", 0)) == (0 if unseen else 1) for log in logs),
                   f"{program}: what is passed on was counted once: {logs}")
            if program == "exchange":
                expect(all(init in log for log in logs), f"{init} was what reached us")
                with open(tool_log, encoding="ascii") as text:
                    noted = text.read().split()
                expect(sorted(noted) == ["MPI_Finalize"] * 4 + ["MPI_Init"] * 4, f"the tool worked, bare and preloaded: {noted}")
            if os.path.exists(tool_log):
                os.remove(tool_log)


def check_plugin():
    _, logs = same([part("host"), "0", part(f"plugin-{mpi}.so")])
    expect(len(logs) == 1 and logs[0].get("Send") == "1" and logs[0].get("Wait") == "1" and logs[0]["family"] == mpi,
           f"recorded though its MPI is RTLD_LOCAL: {logs}")


def check_handle():
    """MPI's functions come out of its own handle: nothing can be recorded, and rank 0 says why."""
    needed = subprocess.run(["ldd", part(f"exchange-{mpi}")], capture_output=True, text=True, check=True).stdout
    library = re.search(r"(lib(?:mpi|mpich)\.so\S*) =>", needed)[1]
    done, logs = same(job(part("handle"), library), stderr=False)
    expect(done.returncode == 0 and not logs, f"it runs, and nothing is recorded: {done.returncode} {logs}")
    expect_said(done, "not recorded: the program calls its MPI past the loader's search order")
    expect_said(same(job(part("handle"), library), MPISTAIR_DISABLE="1")[0], "", 0)


def check_refused():
    program = job(part(f"exchange-{mpi}"))
    text = os.path.join(scratch, "text")
    os.makedirs(text)
    with open(os.path.join(text, f"mpistair-backend-{mpi}.so"), "w", encoding="ascii") as file:
        file.write("no shared object\n" * 100)
    cases = [("nowhere", os.path.join(scratch, "nowhere"), "was not found in"), ("foreign", backends("foreign"), "another version"),
             ("text", text, "cannot be loaded")]
    if mpi == "openmpi":
        cases.append(("needy", backends("needy"), "which is not the Open MPI of this process"))
    for name, folder, words in cases:
        done, logs = same(program, stderr=False, MPISTAIR_LIB=folder)
        expect_said(done, words)
        expect(not logs, f"{name}: nothing was recorded")
    _, logs = same(program, FAKE_REFUSES="1")
    expect(not logs, "a backend that does not start records nothing")
    _, logs = same(program, MPISTAIR_DISABLE="1")
    expect(not logs, "MPISTAIR_DISABLE records nothing")
    _, logs = same(program, LD_PRELOAD=f"{library}:{shutil.copy(library, scratch)}")
    expect_recorded(logs, "Init")


def check_mpi4py():
    script = ("from mpi4py import MPI\nc = MPI.COMM_WORLD\nr = c.Get_rank()\n"
              "q = c.irecv(source=1 - r)\nc.send({'from': r}, dest=1 - r)\nimport os\nos.write(1, f'{r} {q.wait()}\\n'.encode())\n")
    for python in ("/usr/bin/python3", sys.executable):
        found = subprocess.run([python, "-c", "from mpi4py import MPI; print(MPI.Get_library_version())"], capture_output=True,
                               text=True, env=environment())
        if ("Open MPI" if mpi == "openmpi" else "MPICH") in found.stdout:
            _, logs = same(job(python, "-c", script))
            expect(len(logs) == 2 and all(log.get("Init_thread") == "1" and log.get("Finalize") == "1" for log in logs) and
                   all("Send" in log or "Isend" in log or "passed Mprobe" in log for log in logs), f"mpi4py was recorded: {logs}")
            return
    print(f"skipped: no mpi4py for {mpi}; Debian's python3-mpi4py is for Open MPI. PYTHONPATH may name one that was built "
          f"with the other's mpicc")
    sys.exit(77)


try:
    globals()[f"check_{case}"]()
finally:
    shutil.rmtree(scratch, ignore_errors=True)
sys.exit(1 if failures else 0)
