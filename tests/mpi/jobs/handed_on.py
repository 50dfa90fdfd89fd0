#!/usr/bin/env python3
"""LD_PRELOAD set by hand for Open MPI's launch by ssh: where it is handed on, both nodes are recorded; where it is not, the
job runs as it would without, and one line says why there is no trace."""
import job

SAID = "not recorded: LD_PRELOAD does not reach the other nodes"


def main():
    test = job.Job(__doc__)
    cluster = test.cluster("-n", "2", "-m", "2")
    names = ["LD_PRELOAD", "MPISTAIR_OUTPUT", "MPISTAIR_SPOOL"]
    program = [test.program("halo"), "--points", "2000", "--traffic", test.traffic]

    def launch(*options, limit_s=60, **more):
        test.trace.unlink(missing_ok=True)
        variables = [f"{name}={value}" for name, value in test.preloaded(**more).items()]
        return test.must([*cluster, "env", *variables, test.arguments.launcher, *options, "-n", "4", *program], limit_s)

    def expect_recorded():
        test.expect_traffic()
        test.expect_complete()
        job.expect_equal(test.value("SELECT count(*) FROM node"), 2, "nodes")

    done = launch()
    job.expect_equal((done.stderr.count("mpistair: "), done.stderr.count(SAID)), (1, 1), "lines on stderr")
    job.expect_equal(test.trace.exists(), False, "a trace")

    launch(*(word for name in names for word in ("-x", name)))
    expect_recorded()
    launch("--mca", "mca_base_env_list", ";".join(names))
    expect_recorded()
    parameters = test.folder / ".openmpi/mca-params.conf"
    parameters.parent.mkdir()
    parameters.write_text(f"mca_base_env_list = {';'.join(names)}\n")
    launch(HOME=str(test.folder))
    expect_recorded()


main()
