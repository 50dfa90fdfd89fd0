"""Whether the diagnosis names the faults of tests/apps/zoo.c, leaves the mended jobs alone, and says what mending gains.

usage: zoo.py MPISTAIR ZOO REPEATS [--machine TABLE] [--traces FOLDER] [--kind KIND ...] [--balanced] [--preload LIBRARY] -- MPIEXEC [OPTIONS]

Records each job with its fault and without it, REPEATS times each, and prints how often the first finding was one of
the kinds that stand for the fault, in its function; what else came first; how often that kind was named in the mended
job; and the gain that the finding predicts, beside the measured one: by how much the mended job was shorter (the
shortest of its recordings) than the job that has the finding, and how often these are within 5 points or 20 % of the
gain. Findings that another one explains (`explained_by`) come after it. "others took processors" counts the recordings
meanwhile in which other programs used a tenth of a processor or more: on such a machine busy-processors is true of a
mended job, too, and a rank may be late by chance. --balanced runs REPEATS jobs in which nothing is wrong instead, of
different kinds, sizes, lengths and numbers of ranks, and counts which name anything. --traces keeps the recordings
there, and takes those that are there. --preload is for MPICH on fewer cores than ranks: tests/apps/yield.c. A
benchmark, not a test: other load makes ranks late. Needs 4 ranks.
"""
import argparse
import collections
import json
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

EXPECTED = {
    "chain": {"chain"}, "ordered_sends": {"sends-in-turn"}, "late_receiver": {"late-receiver"}, "late_sender": {"late-rank"},
    "hot_receiver": {"hot-receiver"}, "receive_order": {"receive-order"}, "small_messages": {"small-messages"},
    "synchronous": {"synchronous"}, "no_progress": {"no-progress"}, "early_wait": {"early-wait"}, "late_collective": {"late-rank"},
    "uneven": {"imbalance"}, "small_collectives": {"small-collectives"}, "barriers": {"barriers"}, "root_part": {"root-part"},
    "uneven_counts": {"uneven-counts"}, "bad_algorithm": {"collective-algorithm"}, "sparse_all": {"small-collectives", "sparse-collective"}, "serial_locks": {"serial-locks"},
    "many_flushes": {"many-flushes"}, "wide_fence": {"wide-fence"}, "one_writer": {"one-writer"}, "small_writes": {"small-accesses"},
    "apart_writes": {"interleaved-accesses", "small-accesses"}, "threads_in_turn": {"threads-in-turn"},
    "start_up": {"start-up", "root-part"}, "shut_down": {"shut-down"}, "stretch": {"late-stretch"}, "trend": {"late-trend"},
    "outliers": {"outliers"}, "slower": {"slower"}, "one_step": {"slow-iteration"}, "missed_eager": {"misses-eager"}, "same_core": {"binding"},
    "more_work": {"imbalance", "late-rank"}, "taken_processor": {"busy-processors", "binding"}, "new_pages": {"imbalance", "late-rank"},
    # The makers of the rules did not have these before them. In `farm` rank 0 is late, and ranks could ask before they work.
    "corner": {"late-rank"}, "sweep": {"chain"}, "farm": {"early-wait", "late-rank"}, "healthy": set(), "healthy_noise": set(),
}
# Why the rank computes longer, where that is the fault.
CAUSES = {"more_work": "work", "taken_processor": "taken", "new_pages": "page-faults"}
# What the machine does to a job, not the job.
OF_THE_MACHINE = {"crowded", "busy-processors"}
HEALTHY = ("healthy", "healthy_noise", "healthy_halo", "healthy_sums", "healthy_busy")
RANKS = {**{kind: 2 for kind in CAUSES}, "same_core": 2, "bad_algorithm": 2}  # 4 of the others
# What is set for the job with its fault.
FORCED = {"bad_algorithm": {"coll_tuned_use_dynamic_rules": "1", "coll_tuned_bcast_algorithm": "3", "coll_tuned_bcast_algorithm_segmentsize": "1024"}}
SCALED = (1, 2, 4)  # ranks of the runs that `mpistair scaling` compares
# Of Open MPI alone: the first needs these variables and a table; MPICH copies what the second sends.
OF_OPEN_MPI = {*FORCED, "missed_eager"}
# Processors that other programs may use while a job is recorded on a machine that counts as quiet.
QUIET = 0.1
OPTIONS = None
LOADED = set() # recordings that were made on another one


def others_s():
    """Processor time since the start of the machine that nobody had who was started here and has ended."""
    ticks = [int(word) for word in pathlib.Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (sum(ticks[:3]) + sum(ticks[5:8])) / os.sysconf("SC_CLK_TCK") - ended.ru_utime - ended.ru_stime


def record(kind, number, mended=False, ranks=None, more=()):
    trace = pathlib.Path(OPTIONS.traces or ".", f"{kind}-{'mended' if mended else 'fault'}-{number}.db")
    machine = ["--machine", OPTIONS.machine] if OPTIONS.machine else []
    forced = {f"OMPI_MCA_{name}": value for name, value in FORCED.get(kind, {}).items() if not mended}
    words = [OPTIONS.mpistair, "run", *machine, "-o", trace, "--", *OPTIONS.launcher, "-n", ranks or RANKS.get(kind, 4), OPTIONS.zoo, kind, *more]
    began, began_s = time.monotonic(), others_s()
    done = trace.exists() or subprocess.run(
        [*map(str, words), *(["mended"] if mended else [])], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=300,
        env=dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1",
                 **({"LD_PRELOAD": OPTIONS.preload} if OPTIONS.preload else {}), **forced))
    if done is not True and done.returncode != 0:
        raise RuntimeError(f"{kind}: exit {done.returncode}\n{done.stderr[-1000:]}")
    if done is not True and others_s() - began_s > QUIET * (time.monotonic() - began):
        LOADED.add(trace.name)
    shown = subprocess.run([OPTIONS.mpistair, "report", trace, "--format", "json"], stdout=subprocess.PIPE, text=True, timeout=300)
    report = json.loads(shown.stdout)
    findings = [finding for finding in report["findings"] if finding["kind"] not in OF_THE_MACHINE - EXPECTED.get(kind, set())]
    return findings, report["run"]["duration_s"]


def scaling_finds(kind, number, mended):
    """Whether `mpistair scaling` names the fault's line as what stops scaling at 4 ranks, and what it names first: what ranks do before that line."""
    for ranks in SCALED:
        record(kind, f"{number}-of-{ranks}", mended, ranks)
    traces = [pathlib.Path(OPTIONS.traces or ".", f"{kind}-{'mended' if mended else 'fault'}-{number}-of-{ranks}.db") for ranks in SCALED]
    shown = subprocess.run([OPTIONS.mpistair, "scaling", *map(str, traces), "--json"], stdout=subprocess.PIPE, text=True, timeout=300, check=True)
    named = [site for site in json.loads(shown.stdout)["sites"] if site["since_ranks"] is not None]
    place = f"{named[0]['place']} from {named[0]['since_ranks']} ranks on" if named else "nothing"
    return place.startswith(f"before MPI_Allreduce {kind}") and place.endswith(" 4 ranks on"), place


def run_scaling(kind):
    rows = [[scaling_finds(kind, number, mended) for number in range(1, OPTIONS.repeats + 1)] for mended in (False, True)]
    others = collections.Counter(place for right, place in rows[0] if not right)
    right, false = sum(right for right, _ in rows[0]), sum(place.startswith("before") for _, place in rows[1])
    print(f"{kind:18} {right:>11} of {OPTIONS.repeats}  {'by mpistair scaling':>32}  {false} of {OPTIONS.repeats}; {dict(others) or ''}", flush=True)
    return right, false


def is_right(finding, kind):
    """A finding of the kind, at a line of the fault's function or of what it calls."""
    words = re.split(r"[ :]", finding["place"])
    if kind in CAUSES and (finding.get("cause"), finding["rank"]) != (CAUSES[kind], RANKS[kind] - 1):
        return False
    return finding["kind"] in EXPECTED[kind] and (not finding["place"] or kind in words or "send_some" in words)


def run_balanced():
    named = 0
    for number in range(OPTIONS.repeats):
        kind, ranks = HEALTHY[number % len(HEALTHY)], (2, 4)[number // len(HEALTHY) % 2]
        size, steps = (8, 1000, 30000, 400000)[number // 3 % 4], (30, 100, 300)[number // 7 % 3]
        findings = record(kind, number, ranks=ranks, more=(steps, size))[0]
        named += bool(findings)
        for finding in findings:
            print(f"{kind} {ranks} ranks {steps} steps {size} B: {finding['kind']}: {finding['sentence']}; gain {finding['gain']}", flush=True)
    print(f"{named} of {OPTIONS.repeats} balanced jobs named, others took processors in {len(LOADED)}; load {os.getloadavg()[0]:.1f}")


def main():
    global OPTIONS
    parser = argparse.ArgumentParser()
    parser.add_argument("mpistair", type=os.path.abspath)
    parser.add_argument("zoo", type=os.path.abspath)
    parser.add_argument("repeats", type=int)
    parser.add_argument("--machine", type=os.path.abspath)
    parser.add_argument("--traces", type=os.path.abspath)
    parser.add_argument("--kind", action="append")
    parser.add_argument("--balanced", action="store_true")
    parser.add_argument("--preload", type=os.path.abspath)
    parser.add_argument("launcher", nargs="+")
    OPTIONS = parser.parse_args()
    right_of_all, of_all, false_of_all, close_of_all, gains_of_all = 0, 0, 0, 0, 0
    print(f"load {os.getloadavg()[0]:.1f}\n{'job':18} first finding right  gain: predicted, measured, close  named when mended; what else came first")
    if OPTIONS.traces:
        os.makedirs(OPTIONS.traces, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        if OPTIONS.balanced:
            run_balanced()
            os.chdir("/")
            return
        left_out = set(FORCED if not OPTIONS.machine else ()) | set(OF_OPEN_MPI if OPTIONS.zoo.endswith("mpich") else ())
        for kind in OPTIONS.kind or [kind for kind in [*EXPECTED, "stops_scaling"] if kind not in left_out]:
            if kind not in EXPECTED:
                right, false = run_scaling(kind)
                right_of_all, of_all, false_of_all = right_of_all + right, of_all + OPTIONS.repeats, false_of_all + false
                continue
            right, false, others, gains, times = 0, 0, collections.Counter(), [], ([], [])
            for number in range(1, OPTIONS.repeats + 1):
                for mended in (False, True):
                    findings, duration_s = record(kind, number, mended)
                    times[mended].append(duration_s)
                    if mended or not EXPECTED[kind]:
                        false += any(finding["kind"] in EXPECTED[kind] for finding in findings) if EXPECTED[kind] else bool(findings)
                        others.update(f"mended: {finding['kind']}" for finding in findings[:1])
                    elif findings and is_right(findings[0], kind):
                        right += 1
                        gains += [(findings[0]["gain"], duration_s)] if findings[0]["gain"] is not None else []
                    else:
                        others[" ".join([findings[0]["kind"], findings[0]["place"], findings[0].get("cause", "")]) if findings else "nothing"] += 1
            pairs = [(predicted, 1 - min(times[1]) / time_s) for predicted, time_s in gains]
            close = sum(abs(predicted - measured) <= max(0.05, 0.2 * measured) for predicted, measured in pairs)
            gain = "{:.0f} %, {:.0f} %, ".format(*(100 * statistics.median(side) for side in zip(*pairs))) + f"{close} of {len(gains)}" if gains else "-"
            close_of_all, gains_of_all = close_of_all + close, gains_of_all + len(gains)
            shown = f"{right} of {OPTIONS.repeats}" if EXPECTED[kind] else "-"
            loaded = sum(name.startswith(f"{kind}-") for name in LOADED)
            others |= {"others took processors": loaded} if loaded else {}
            print(f"{kind:18} {shown:>19}  {gain:>32}  {false} of {OPTIONS.repeats * (1 if EXPECTED[kind] else 2)}; {dict(others) or ''}", flush=True)
            right_of_all, of_all = right_of_all + right, of_all + (OPTIONS.repeats if EXPECTED[kind] else 0)
            false_of_all += false
        os.chdir("/")
    print(f"{right_of_all} of {of_all} first findings right; {close_of_all} of {gains_of_all} gains close; {false_of_all} mended or "
          f"healthy jobs named; load {os.getloadavg()[0]:.1f}")


if __name__ == "__main__":
    sys.exit(main())
