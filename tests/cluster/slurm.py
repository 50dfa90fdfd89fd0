"""Debian's Slurm on the four nodes of tests/cluster/cluster -n 4 -t. Its daemons end with the cluster's process namespace."""
import glob
import os
import pathlib
import shlex
import shutil
import sqlite3
import subprocess
import sys
import time

CONFIGURATION = """ClusterName=mpistair SlurmctldHost=node0 SlurmUser=root SlurmdUser=root MailProg=/bin/true
    AuthType=auth/munge AuthInfo=socket={folder}/munge.socket ProctrackType=proctrack/pgid TaskProlog={folder}/prolog
    StateSaveLocation={folder}/state SlurmctldPidFile={folder}/slurmctld.pid SlurmctldLogFile={folder}/slurmctld.log
    SlurmdSpoolDir=/tmp/slurmd SlurmdPidFile=/tmp/slurmd.pid SlurmdLogFile={folder}/%n.log
    SlurmdParameters=config_overrides SelectType=select/cons_tres SelectTypeParameters=CR_CPU ReturnToService=2
    SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=0 KillWait=5 SlurmdTimeout=5 MessageTimeout=5
    TopologyPlugin=topology/tree"""
NODES = "NodeName=node[0-3] CPUs=2\nPartitionName=all Nodes=ALL Default=YES\n"
TOPOLOGY = "SwitchName=s1 Nodes=node[0-1]\nSwitchName=s2 Nodes=node[2,3]\nSwitchName=top Switches=s[1-2]\n"
PROLOG = """#!/bin/sh
[ "${{RECORD_ALL:-0}}" = 0 ] || echo "export LD_PRELOAD={library}"
"""


def fail(reason):
    print(f"FAILED: {reason}", flush=True)
    os.system("tail -n 3 ../slurm/*.log; ls -l . *.spool*")
    sys.exit(1)


def run(*words, limit_s=40):
    """Runs a command that ends well; returns what it printed, both streams."""
    done = subprocess.run([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          timeout=limit_s)
    if done.returncode != 0:
        fail(f"{shlex.join(map(str, words))}: exit {done.returncode}: {done.stdout}")
    return done.stdout


def wait_for(what, holds, limit_s=30):
    until = time.monotonic() + limit_s
    while not holds():
        if time.monotonic() > until:
            fail(f"{what}: not within {limit_s} s; queue: {run('squeue')}")
        time.sleep(0.1)


def start(folder, library):
    """Returns the slurmd of each node; the folder is on all of them."""
    folder.mkdir()
    (folder / "state").mkdir()
    (folder / "slurm.conf").write_text("\n".join([*CONFIGURATION.format(folder=folder).split(), NODES]))
    (folder / "topology.conf").write_text(TOPOLOGY)
    (folder / "prolog").write_text(PROLOG.format(library=library))
    (folder / "prolog").chmod(0o755)
    (folder / "key").write_bytes(os.urandom(128))
    (folder / "key").chmod(0o600)
    os.environ["SLURM_CONF"] = str(folder / "slurm.conf")
    munged = subprocess.Popen(["munged", "--foreground", "--force", *(f"--{name}={folder}/{file}" for name, file in (
        ("key-file", "key"), ("socket", "munge.socket"), ("pid-file", "munge.pid"), ("log-file", "munge.log"),
        ("seed-file", "munge.seed")))], stderr=open(folder / "munge.err", "w"))
    wait_for("munge", lambda: (folder / "munge.socket").exists() or munged.poll() is not None)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.Popen(["slurmctld", "-D"], **quiet)
    daemons = [subprocess.Popen([*on(i), f"mkdir /tmp/slurmd; exec slurmd -D -f {folder}/slurm.conf"], **quiet) for i in range(4)]
    idle = ["sinfo", "--noheader", "--format=%T %D"]
    wait_for("four idle nodes", lambda: subprocess.run(idle, capture_output=True, text=True).stdout == "idle 4\n")
    return daemons


def on(node):
    return [os.environ["OMPI_MCA_plm_rsh_agent"], f"node{node}"]


def expect(found, expected, what):
    if found != expected:
        fail(f"{what}: found {found}, expected {expected}")
    print(f"ok: {what}", flush=True)


def query(trace, sql):
    with sqlite3.connect(f"file:{trace}?mode=ro", uri=True) as database:
        return database.execute(sql).fetchall()


def expect_cut(trace, what):
    """A trace of a killed job is sound, and no reader takes it for a whole one."""
    verdict = query(trace, "SELECT verdict FROM completeness")[0][0]
    expect(verdict.startswith(("incomplete", "cut short")), True, f"{what}: {verdict}")
    expect(query(trace, "PRAGMA integrity_check"), [("ok",)], f"{what}: integrity")
    if "killed" not in {ended for ended, in query(trace, "SELECT DISTINCT ended FROM process")}:
        fail(f"{what}: no process was killed")


def files(pattern):
    return sorted(glob.glob(pattern))


def submit(name, command, *options):
    """Starts a batch job of one command, whose output goes to NAME.out; returns its number."""
    script = pathlib.Path(f"{name}.sh")
    script.write_text("#!/bin/bash\n" + shlex.join(map(str, command)) + "\n")
    return run("sbatch", "--parsable", f"--output={name}.out", "--open-mode=append", *options, script).strip()


def wait_for_end(number):
    wait_for(f"job {number} ends", lambda: subprocess.run(["squeue", "--noheader", f"--jobs={number}"], capture_output=True,
                                                          text=True).stdout == "")


def said(name):
    return pathlib.Path(f"{name}.out").read_text()


def kill_node(number, daemons):
    node = run(*on(number), "readlink /proc/self/ns/net").strip()
    daemons[number].kill()
    for process in filter(str.isdigit, os.listdir("/proc")):  # all of the node but who holds its namespaces
        try:
            holds = pathlib.Path(f"/proc/{process}/cmdline").read_bytes().startswith(b"sleep")
            if os.readlink(f"/proc/{process}/ns/net") == node and not holds:
                os.kill(int(process), 9)
        except (FileNotFoundError, ProcessLookupError):
            pass


def main(file, tool, cluster, checks, n_words=4, link=None):
    """Runs the checks on the cluster; by SIGTERM a cluster takes all away. link: the rate of one between nodes 0, 1 and 2, 3."""
    if len(sys.argv) > n_words + 1:
        shared = pathlib.Path(os.environ["OMPI_MCA_plm_rsh_agent"]).parent
        os.environ.update(UCX_NET_DEVICES="eth0", MPISTAIR_CONF="")
        (shared / "work").mkdir()
        os.chdir(shared / "work")
        begun = time.monotonic()
        daemons = start(shared / "slurm", pathlib.Path(tool).parent / "interpose/preload/libmpistair.so")
        plugins = run("srun", "--mpi=list").split()
        print(run("srun", "--version").strip(), " ".join(plugins), flush=True)
        if not {"pmi2", "pmix"} <= set(plugins):
            print("skipped: this Slurm lacks the plugin pmi2 or pmix")
            sys.exit(77)
        for check in checks(daemons):
            check()
            print(f"after {time.monotonic() - begun:.1f} s", flush=True)
        return
    missing = [name for name in ("munged", "slurmctld", "slurmd", "srun", "sbatch") if shutil.which(name) is None]
    reason = f"not installed: {', '.join(missing)}" if missing else "not root" if os.geteuid() != 0 else \
        "the build lies in /tmp, of which each node has its own" if tool.startswith("/tmp/") else \
        "no namespaces here" if subprocess.run([cluster, "run", "-n", "1", "-t", "--", "true"]).returncode != 0 else None
    if reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    inner = [sys.executable, os.path.abspath(file), *sys.argv[1:n_words + 1], "inner"]
    shared = ["-l", link] if link else []
    bounded = ["setpriv", "--pdeathsig", "TERM", "timeout", "--foreground", "110"]
    sys.exit(subprocess.run([*bounded, cluster, "run", "-n", "4", "-m", "2", *shared, "-t", "--", *inner]).returncode)
