"""How often `mpistair diff` is right: pairs of launches of one job, and of that job with one call site slowed by 20 %.

Usage: diff_pairs.py JOBS PAIRS --build BUILD --mpi MPI --launcher MPIEXEC [--ranks N]

JOBS is the folder of tests/mpi/jobs. Each pair has three launches, one after the other: a, the same again, slowed. Nothing
should be above the noise between the first two; the slowed site should be named between the first and the third. Two
ranks unless told otherwise, so that each has a processor of its own.
"""
import sys

sys.path.insert(0, sys.argv[1])
import job  # noqa: E402
import slowed  # noqa: E402

PERCENT = "20"


def main():
    folder, pairs = sys.argv[1], int(sys.argv[2])
    del sys.argv[1:3]
    if "--ranks" not in sys.argv:
        sys.argv += ["--ranks", "2"]
    test = job.Job(__doc__)
    quiet, named, first, told = 0, 0, 0, []
    for pair in range(pairs):
        a, b, c = (slowed.record(test, "a.db"), slowed.record(test, "b.db"), slowed.record(test, "c.db", slowed.SITE, "work", PERCENT))
        above = [row for row in slowed.sites(test, a, b, launches="5%") if row["above_noise"]]
        changed = [row for row in slowed.sites(test, a, c, launches="5%") if row["above_noise"]]
        is_site = [(row["place"]["line"], row["place"]["part"]) == (slowed.line_of(slowed.SITE), "before") for row in changed]
        quiet += not above
        named += any(is_site)
        first += bool(is_site and is_site[0])
        told.append(f"pair {pair}: {len(above)} above noise; slowed: {len(changed)} above noise, {'named' if any(is_site) else 'not named'}")
    print("\n".join(told))
    print(f"{test.mpi}, {test.ranks} ranks: nothing above noise in {quiet} of {pairs}; {PERCENT} % at one site named in {named}, "
          f"first in {first}")


if __name__ == "__main__":
    main()
