"""Where the ranks of a calibration are: topologies that hwloc is told of, places by hand, bindings, on a real MPI.

Usage: calibrate_places.py PROGRAM MPIEXEC MPI; PROGRAM: mpistair-benchmark-MPI; MPI: mpich, openmpi. Pairs and domains are compared with what
follows by hand; no assertion on how fast anything is.
"""
import csv
import os
import subprocess
import sys
import tempfile

PROGRAM, MPIEXEC, MPI = os.path.abspath(sys.argv[1]), *sys.argv[2:]
CPUS = sorted(os.sched_getaffinity(0))
FOR_EIGHT = "1", "3", "8", "25"  # seconds for eight ranks
failures = []


def expect(what, found, expected):
    if found != expected:
        failures.append(f"{what}: {found}, expected {expected}")


def launch(benchmark, ranks, *, bound=False, seconds="0.3", **variables):
    """The notes that a benchmark says as lists of words, and its samples."""
    if MPI == "openmpi":
        options = ["--bind-to", "core"] if bound else ["--oversubscribe", "--bind-to", "none"]
    else:
        options = ["-bind-to", "core" if bound else "none"]
    environment = dict(os.environ, OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", MPISTAIR_DISABLE="1")
    settings = [f"{name}={value}" for name, value in variables.items()]
    done = subprocess.run(
        [MPIEXEC, *options, "-n", str(ranks), "env", *settings, PROGRAM, benchmark, "--seconds", seconds],
        capture_output=True, text=True, timeout=100, env=environment,
    )
    if done.returncode != 0:
        failures.append(f"{benchmark} {variables}: exit {done.returncode}: {done.stderr}")
    notes = [line.split()[1:] for line in done.stderr.splitlines() if line.startswith("mpistair-note: ")]
    return notes, list(csv.DictReader(line for line in done.stdout.splitlines() if not line.startswith("#")))


def launch_until(complete, times, benchmark, ranks, **options):
    """The same, with the first of these times that is enough for complete(samples), or the longest: on a machine with much
    else to do it takes longer."""
    for seconds in times:
        notes, samples = launch(benchmark, ranks, seconds=seconds, **options)
        if complete(samples):
            break
    return notes, samples


def distinct(*columns):
    return lambda samples: {tuple(sample[column] for column in columns) for sample in samples}


def of(notes, key):
    return [words[1:] for words in notes if words[0] == key]


def synthetic_topologies():
    """Two ranks, bound to the processors 0 and 1, which hwloc is told to be parts of other machines."""
    if CPUS[:2] != [0, 1]:
        print("processors 0 and 1 are not both allowed: no synthetic topologies")
        return
    cases = {  # topology: node, socket, NUMA node, L3 of rank 0, of rank 1, level of the pair
        "pack:1 numa:2 l3:2 core:2 pu:1": ("0 0 0 0", "0 0 0 0", "intra_socket"),
        "pack:1 numa:2 l3:2 core:1 pu:1": ("0 0 0 0", "0 0 0 1", "intra_socket"),
        "pack:1 numa:2 l3:1 core:1 pu:1": ("0 0 0 0", "0 0 1 1", "intra_socket"),
        "pack:2 l3:2 core:2 pu:1": ("0 0 0 0", "0 0 0 0", "intra_socket"),
        "pack:2 l3:1 core:1 pu:1": ("0 0 0 0", "0 1 0 1", "inter_socket"),
        "pack:2 core:2 pu:1": ("0 0 0 -", "0 0 0 -", "intra_socket"),
    }
    for topology, (first, second, level) in cases.items():
        notes, samples = launch_until(bool, ("0.3", "0.8", "3"), "pingpong", 2, bound=True, HWLOC_SYNTHETIC=topology)
        places = of(notes, "place")
        expect(f"{topology}: places", [" ".join(p[1:5]) for p in places], [first, second])
        expect(f"{topology}: processors", [p[6] for p in places], ["0", "1"])
        expect(f"{topology}: binding", of(notes, "binding"), ["2 ranks bound to a core each on 1 node".split()])
        expect(f"{topology}: pairs", {(s["level"], s["ranks"]) for s in samples}, {(level, "0-1")})
        expect(f"{topology}: one pair has no domain", {s["domain"] for s in samples}, {""})


def wandering_ranks():
    """A rank that may run on both caches has neither; of one NUMA node it is sure."""
    topology = f"pack:1 numa:1 l3:{CPUS[-1] + 1} core:1 pu:1"
    notes, _ = launch("pingpong", 2, HWLOC_SYNTHETIC=topology)
    expected = ["0 0 0 -" if len(CPUS) > 1 else f"0 0 0 {CPUS[0]}"] * 2
    expect("unbound ranks", [" ".join(p[1:5]) for p in of(notes, "place")], expected)
    if len(CPUS) == os.cpu_count() and len(CPUS) > 1:
        expect("unbound", of(notes, "binding"), ["2 ranks unbound on 1 node".split()])


def placed_by_hand():
    """Eight ranks on two NUMA nodes of two caches: of 28 pairs 4 share a cache, 8 a NUMA node only, 16 the package."""
    with open("L.csv", "w") as file:
        file.write("rank,node,socket,numa,l3\n")
        file.writelines(f"{rank},0,0,{rank // 4},{rank // 2}\n" for rank in range(8))
    notes, samples = launch_until(lambda samples: len(distinct("ranks")(samples)) == 12, FOR_EIGHT, "pingpong", 8,
                                  MPISTAIR_PLACEMENT=os.path.abspath("L.csv"))
    expect("domains", of(notes, "domain"),
           [["intra_socket", "l3", "4"], ["intra_socket", "numa", "8"], ["intra_socket", "package", "16"]])
    expect("place of rank 6", [p[:5] for p in of(notes, "place")][6:7], [["6", "0", "0", "1", "3"]])
    if len(CPUS) < 8:
        expect("oversubscribed", [words[0] for words in of(notes, "oversubscribed")], ["8"])
    pairs = {}
    for sample in samples:
        pairs.setdefault(sample["domain"], set()).add(tuple(map(int, sample["ranks"].split("-"))))
    expect("an L3", pairs.get("l3"), {(0, 1), (2, 3), (4, 5), (6, 7)})
    expect("a NUMA node only", pairs.get("numa"), {(0, 2), (4, 6), (1, 3), (5, 7)})
    package = pairs.get("package", set())
    expect("the package only: four pairs of eight ranks", (len(package), len(set().union(*package))), (4, 8))
    expect("the package only: across NUMA nodes", {(a // 4, b // 4) for a, b in package}, {(0, 1)})
    points = distinct("n", "ranks", "domain")
    _, samples = launch_until(lambda samples: len(points(samples)) == 9, FOR_EIGHT, "algorithm1", 8,
                              MPISTAIR_PLACEMENT=os.path.abspath("L.csv"))
    expect("Algorithm 1", points(samples),
           {(n, "node0.socket0", domain) for n in ("1", "2") for domain in ("l3", "numa", "package")}
           | {("4", "node0.socket0", ""), ("4", "node0.socket0.2", ""), ("8", "node0.socket0", "")})


def all_sockets():
    """Eight ranks on two sockets of a node: both are measured, and one group between them."""
    with open("S.csv", "w") as file:
        file.write("rank,node,socket\n")
        file.writelines(f"{rank},0,{rank // 4}\n" for rank in range(8))
    notes, samples = launch_until(
        lambda samples: len(distinct("level", "ranks")(samples)) == 5 and len(distinct("level", "n")(samples)) == 6,
        FOR_EIGHT, "algorithm1", 8, MPISTAIR_PLACEMENT=os.path.abspath("S.csv"))
    expect("no domains", of(notes, "domain"), [])
    expect("groups", {(s["level"], s["ranks"]) for s in samples},
           {("intra_socket", f"node0.socket{socket}{selection}") for socket in "01" for selection in ("", ".2")}
           | {("inter_socket", "node0.socket0-1")})
    expect("N", {(s["level"], s["n"]) for s in samples},
           {(level, n) for level in ("intra_socket", "inter_socket") for n in ("1", "2", "4")})


with tempfile.TemporaryDirectory() as folder:
    os.chdir(folder)
    synthetic_topologies()
    wandering_ranks()
    if MPI == "openmpi":  # more ranks than cores: MPICH's spin
        placed_by_hand()
        all_sockets()
    os.chdir("/")
for failure in failures:
    print(failure)
sys.exit(1 if failures else 0)
