/* Runs one case of recorder_expect.h under the recorder: recorder_cases CASE. */
#include "tests/mpi/recorder/recorder_expect.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static FILE *cases_file;

void expect_open(int rank)
{
    char path[4096];
    const char *folder = getenv("RECORDER_EXPECT");
    snprintf(path, sizeof path, "%s/%d", folder ? folder : ".", rank);
    cases_file = fopen(path, "w");
    REQUIRE(cases_file != NULL);
}

void expect_close(void)
{
    fclose(cases_file);
}

void expect(const char *function, const char *direction, int comm, int peer, int tag, long long bytes, int complete,
            int flags)
{
    fprintf(cases_file, "%s %s comm=%d peer=%d tag=%d bytes=%lld complete=%d flags=%d\n", function, direction, comm,
            peer, tag, bytes, complete, flags);
    fflush(cases_file);
}

void expect_number(const char *what, long long number)
{
    fprintf(cases_file, "%s %lld\n", what, number);
}

void expect_skip(const char *reason)
{
    fprintf(cases_file, "skipped: %s\n", reason);
    fflush(cases_file);
}

void expect_failed(const char *path, int line, const char *condition)
{
    fprintf(stderr, "%s:%d: %s does not hold\n", path, line, condition);
    fflush(stderr);
    abort();
}

static const struct {
    const char *name;
    void (*run)(int rank);
} cases[] = {
    {"handles", case_handles},
    {"wildcards", case_wildcards},
    {"null", case_null},
    {"many", case_many},
    {"errors", case_errors},
    {"communicators", case_communicators},
    {"cancel", case_cancel},
    {"datatypes", case_datatypes},
    {"threads", case_threads},
    {"fork", case_fork},
    {"finalize", case_finalize},
    {"exit", case_exit},
    {"abort", case_abort},
    {"kill", case_kill},
    {"flood", case_flood},
    {"collectives", case_collectives},
    {"idup", case_idup},
    {"started_collectives", case_started_collectives},
    {"partitioned", case_partitioned},
    {"probes", case_probes},
    {"nonblocking", case_nonblocking},
    {"rma", case_rma},
    {"internal", case_internal},
    {"persistent", case_persistent},
    {"isendrecv", case_isendrecv},
    {"reported", case_reported},
    {"control", case_control},
    {"untouched", case_untouched},
};

int main(int argc, char **argv)
{
    int rank, provided;
    errno = 0;
    if (argc > 1 && strcmp(argv[1], "threads") == 0)
        MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
    else
        MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    expect_open(rank);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (argc > 1 && strcmp(argv[1], cases[i].name) == 0)
            cases[i].run(rank);
    MPI_Finalize();
    expect_close();
    return 0;
}
