"""Applications of Debian: what each is started with, and what of its results must not change.

applications.py runs all of them, run_accuracy.py some. Inputs are made here, of fixed numbers by lot where they are data, so
that no package but the application's own is needed. Each runs some seconds on 2 ranks. What differs between plain runs, too,
is not compared: times, the last digits of sums of ranks that take work as they come (NWChem), the parts of a graph
(PT-Scotch).
"""
import gzip
import pathlib
import random
import re
import subprocess
from typing import Callable, NamedTuple

JOBS = pathlib.Path(__file__).resolve().parents[1] / "mpi/jobs"
SCALAPACK = "/usr/lib/x86_64-linux-gnu/scalapack/openmpi-tests/xdlu"
LAMMPS_TIMES = re.compile(r"^(Loop time of|Performance:|Total wall time|[0-9.]+% CPU use|  create_atoms CPU = "
                          r"|(Pair|Neigh|Comm|Output|Modify|Other) )")


class Application(NamedTuple):
    """One of them. prepare(folder) makes its input there; results(output, folder) returns the lines that count."""
    package: str
    command: list
    prepare: Callable
    results: Callable


def text(folder, name):
    return (folder / name).read_text(encoding="utf-8").splitlines()


def matching(lines, pattern):
    """The lines that hold the pattern, without spaces at their ends."""
    return [line.strip() for line in lines if re.search(pattern, line)]


def lammps_results(output, _):
    return [line for line in output if not LAMMPS_TIMES.match(line)]


def two_molecules(folder):
    lines = (JOBS / "water.inp").read_text(encoding="utf-8")
    (folder / "water.inp").write_text(lines.replace("STEPS 2", "STEPS 8"))


def cp2k_results(_, folder):
    """Energies without the last column, which is the time that the step took; positions."""
    return [" ".join(line.split()[:-1]) for line in text(folder, "water-1.ener")[1:]] + text(folder, "water-pos-1.xyz")


def box_of_water(folder, steps=4000):
    """A box of water for GROMACS: md.tpr."""
    (folder / "water.top").write_text('#include "oplsaa.ff/forcefield.itp"\n#include "oplsaa.ff/spce.itp"\n[ system ]\n'
                                      "water\n[ molecules ]\n")
    (folder / "water.mdp").write_text(f"integrator = md\nnsteps = {steps}\ndt = 0.002\ncoulombtype = PME\nrcoulomb = 0.9\n"
                                      "rvdw = 0.9\ntcoupl = berendsen\ntc-grps = System\ntau_t = 0.1\nref_t = 300\n"
                                      "gen_vel = yes\ngen_seed = 1\n")
    for words in (["solvate", "-cs", "spc216", "-box", "3", "3", "3", "-o", "water.gro", "-p", "water.top"],
                  ["grompp", "-f", "water.mdp", "-c", "water.gro", "-p", "water.top", "-o", "md.tpr", "-maxwarn", "5"]):
        subprocess.run(["gmx_mpi", "-quiet", *words], cwd=folder, check=True, capture_output=True)


def hpcc_input(folder, size=3000, ranks=2):
    """A run of Debian's example with other numbers, on a row of ranks."""
    lines = pathlib.Path("/usr/share/doc/hpcc/examples/_hpccinf.txt").read_text(encoding="utf-8")
    for word, value in (("Ns", size), ("Ps", 1), ("Qs", ranks)):
        lines = re.sub(rf"(?m)^\d+( +){word}$", rf"{value}\g<1>{word}", lines)
    (folder / "hpccinf.txt").write_text(lines)


def hpcc_results(_, folder):
    """Verdicts; how often it measures, and so passes, goes by time."""
    lines = text(folder, "hpccoutf.txt")
    return matching(lines, r"^Found|^Success|_Success|FAILED") + [f"passed: {bool(matching(lines, 'PASSED'))}"]


def silicon(folder):
    source = "/usr/share/doc/quantum-espresso/examples/atomic/pseudo-LDA-0.5/Si.pz-vbc.UPF.gz"
    (folder / "Si.UPF").write_bytes(gzip.decompress(pathlib.Path(source).read_bytes()))
    (folder / "si.in").write_text("""&control
 calculation = 'scf', pseudo_dir = '.', outdir = './out', prefix = 'si', disk_io = 'none', tprnfor = .true.
/
&system
 ibrav = 2, celldm(1) = 10.2, nat = 2, ntyp = 1, ecutwfc = 30
/
&electrons
 conv_thr = 1e-10
/
ATOMIC_SPECIES
Si 28.086 Si.UPF
ATOMIC_POSITIONS alat
Si 0.00 0.00 0.00
Si 0.26 0.25 0.25
K_POINTS automatic
8 8 6 1 1 1
""")


def relatives(n, length):
    """Sequences of DNA of which each is a copy of an earlier one with some letters changed."""
    chance = random.Random(7)
    found = [[chance.choice("ACGT") for _ in range(length)]]
    while len(found) < n:
        found.append([c if chance.random() > 0.06 else chance.choice("ACGT") for c in chance.choice(found)])
    return [f"t{i:<9d} {''.join(letters)}\n" for i, letters in enumerate(found)]


def phylip(folder):
    (folder / "dna.phy").write_text(" 20 1500\n" + "".join(relatives(20, 1500)))


def waters(folder):
    atoms = "".join(f"O 0 0 {z}\nH 0 0.757 {z + 0.586}\nH 0 -0.757 {z + 0.586}\n" for z in (0, 3, 6, 9))
    (folder / "waters.nw").write_text(f"start waters\ngeometry\n{atoms}end\nbasis\n* library 6-311++g**\nend\n"
                                      "task dft gradient\n")


def nwchem_results(output, _):
    """The energy but for its last digits."""
    return [line[:-4] for line in matching(output, r"Total DFT energy")]


def reads(folder):
    """Pieces of a strand of DNA, each from either end."""
    chance = random.Random(5)
    strand = "".join(chance.choice("ACGT") for _ in range(100000))
    other = str.maketrans("ACGT", "TGCA")
    with open(folder / "reads.fa", "w", encoding="ascii") as file:
        for i in range(60000):
            begin = chance.randrange(len(strand) - 100)
            read = strand[begin:begin + 100]
            file.write(f">{i}\n{read[::-1].translate(other) if chance.random() < 0.5 else read}\n")


def grid(folder):
    """A grid as a graph: for each vertex its number of neighbours, and which they are."""
    n = 250
    with open(folder / "grid.grf", "w", encoding="ascii") as file:
        file.write(f"0\n{n * n} {4 * n * (n - 1)}\n0 000\n")
        for y in range(n):
            for x in range(n):
                beside = [b * n + a for a, b in ((x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)) if 0 <= a < n and 0 <= b < n]
                file.write(f"{len(beside)} {' '.join(map(str, beside))}\n")


def grid_results(_, folder):
    """Which vertex is in which part differs between plain runs: that all are in one, and how many parts there are."""
    first, *rest = text(folder, "grid.map")
    return [first, str(len(rest)), str(len({line.split()[1] for line in rest}))]


def waveguide(folder):
    (folder / "guide.ctl").write_text("""
(set! geometry-lattice (make lattice (size 16 16 no-size)))
(set! geometry (list (make block (center 0 0) (size infinity 1 infinity) (material (make dielectric (epsilon 12))))))
(set! sources (list (make source (src (make gaussian-src (frequency 0.15) (fwidth 0.1))) (component Ez) (center -7 0))))
(set! pml-layers (list (make pml (thickness 1.0))))
(set! resolution 20)
(define through (add-flux 0.15 0.1 20 (make flux-region (center 6 0) (size 0 2))))
(run-until 400)
(display-fluxes through)
""")


def equations(folder):
    """Systems of what its own memory takes, with 6 sizes of blocks, by rows and by columns."""
    sizes = " ".join(str(350 + 8 * i) for i in range(20))
    (folder / "LU.dat").write_text(f"'LU factorization'\n'MPI'\n'LU.out' file\n6 device\n20 sizes\n{sizes} M\n{sizes} N\n"
                                   "6 blocks\n8 16 24 32 48 64 NB\n2 right sides\n1 8 NRHS\n1 blocks of these\n4 NBRHS\n"
                                   "2 grids\n1 2 P\n2 1 Q\n1.0 threshold\nF\n")


def lu_results(output, _):
    """Sizes and verdicts, without times and rates."""
    return [" ".join(line.split()[:8] + line.split()[-1:]) for line in output if line.startswith("WALL")] + matching(
        output, r"tests completed and")


APPLICATIONS = {
    "LAMMPS": Application("lammps", ["lmp", "-in", str(JOBS / "melt.in"), "-log", "none", "-var", "steps", "300"], lambda _: None,
                          lammps_results),
    "CP2K": Application("cp2k", ["cp2k.psmp", "-i", "water.inp"], two_molecules, cp2k_results),
    "GROMACS": Application("gromacs", ["gmx_mpi", "-quiet", "mdrun", "-ntomp", "1", "-reprod", "-s", "md.tpr"], box_of_water,
                           lambda _, folder: text(folder, "confout.gro")),
    "HPCC": Application("hpcc", ["hpcc"], hpcc_input, hpcc_results),
    "Quantum ESPRESSO": Application("quantum-espresso, quantum-espresso-data", ["pw.x", "-in", "si.in"], silicon,
                                    lambda output, _: matching(output, r"^!|force =|Total force")),
    "PhyML": Application("phyml", ["phyml-mpi", "-i", "dna.phy", "-b", "8", "--r_seed", "7", "--no_memory_check"], phylip,
                         lambda _, folder: text(folder, "dna.phy_phyml_tree.txt") +
                         text(folder, "dna.phy_phyml_boot_trees.txt")),
    "NWChem": Application("nwchem-openmpi, nwchem-data", ["nwchem.openmpi", "waters.nw"], waters, nwchem_results),
    "ABySS": Application("abyss", ["/usr/lib/abyss/ABYSS-P", "-k31", "-o", "contigs.fa", "reads.fa"], reads,
                         lambda _, folder: sorted(line for line in text(folder, "contigs.fa") if line[0] != ">")),
    "PT-Scotch": Application("ptscotch", ["dgpart", "64", "grid.grf", "grid.map"], grid, grid_results),
    "Meep": Application("meep-openmpi", ["meep", "guide.ctl"], waveguide, lambda output, _: matching(output, "^flux1")),
    "ScaLAPACK": Application("scalapack-mpi-test", [SCALAPACK], equations, lu_results),
}
