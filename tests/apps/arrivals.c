/* arrivals lets its last rank come late to a reduction, a fence and the write of a file.
 *
 *     arrivals FILE MS    (late by MS milliseconds, five times each) */
#include "tests/apps/app.h"

#include <mpi.h>
#include <time.h>

enum { TIMES = 5 };

struct job {
    int rank, size;
    struct timespec late;
    MPI_Comm comm; /* a named copy of MPI_COMM_WORLD */
    MPI_Win window;
    MPI_File file;
};

static void be_late(const struct job *job)
{
    MPI_Barrier(job->comm);
    if (job->rank == job->size - 1)
        nanosleep(&job->late, NULL);
}

static void work(const struct job *job)
{
    double mine = job->rank, sum;
    be_late(job);
    MPI_Allreduce(&mine, &sum, 1, MPI_DOUBLE, MPI_SUM, job->comm); /* late: reduction */
    MPI_Win_fence(0, job->window);
    MPI_Put(&mine, 1, MPI_DOUBLE, (job->rank + 1) % job->size, 0, 1, MPI_DOUBLE, job->window);
    be_late(job);
    MPI_Win_fence(0, job->window); /* late: fence */
    be_late(job);
    MPI_File_write_at_all(job->file, 8 * job->rank, &mine, 1, MPI_DOUBLE, MPI_STATUS_IGNORE); /* late: write */
}

int main(int argc, char **argv)
{
    struct job job = {0};
    double *memory;
    MPI_Init(&argc, &argv);
    if (argc != 3)
        app_fail("usage: arrivals FILE MS");
    job.late.tv_nsec = (long)app_integer("MS", argv[2], 0, 999) * 1000000L;
    job.rank = app_rank();
    job.size = app_size();
    MPI_Comm_dup(MPI_COMM_WORLD, &job.comm);
    MPI_Comm_set_name(job.comm, "all of them");
    MPI_Win_allocate(sizeof *memory, 1, MPI_INFO_NULL, job.comm, &memory, &job.window);
    if (MPI_File_open(job.comm, argv[1], MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &job.file) != MPI_SUCCESS)
        app_fail("%s: cannot be written", argv[1]);
    for (int i = 0; i < TIMES; i++)
        work(&job);
    MPI_File_close(&job.file);
    MPI_Win_free(&job.window);
    MPI_Comm_free(&job.comm);
    MPI_Finalize();
    return 0;
}
