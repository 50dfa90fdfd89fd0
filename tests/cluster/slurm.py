"""Debian's Slurm on the four nodes of tests/cluster/cluster -n 4 -t. Its daemons end with the cluster's process namespace."""
import os
import shlex
import subprocess
import sys
import time

CONFIGURATION = """ClusterName=mpistair SlurmctldHost=node0 SlurmUser=root SlurmdUser=root MailProg=/bin/true
    AuthType=auth/munge AuthInfo=socket={folder}/munge.socket ProctrackType=proctrack/pgid TaskProlog={folder}/prolog
    StateSaveLocation={folder}/state SlurmctldPidFile={folder}/slurmctld.pid SlurmctldLogFile={folder}/slurmctld.log
    SlurmdSpoolDir=/tmp/slurmd SlurmdPidFile=/tmp/slurmd.pid SlurmdLogFile={folder}/%n.log
    SlurmdParameters=config_overrides SelectType=select/cons_tres SelectTypeParameters=CR_CPU ReturnToService=2
    SchedulerParameters=bf_interval=1,sched_interval=1,batch_sched_delay=0 KillWait=5 SlurmdTimeout=5 MessageTimeout=5"""
NODES = "NodeName=node[0-3] CPUs=2\nPartitionName=all Nodes=ALL Default=YES\n"
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
