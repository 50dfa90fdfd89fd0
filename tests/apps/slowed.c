/* A job with five call sites, of which one can be slowed: what `mpistair diff` must name.
 *
 * usage: slowed TIMES [SITE work|bytes|late PERCENT]
 *
 * It has TIMES rounds, each with a computation and a call at each of the sites 0 to 4. The one of number SITE gets
 * PERCENT more of work before it, of bytes in it (site 2, which has large messages), or of work on the last rank. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SITES = 5, STEPS = 60000, DOUBLES = 1 << 15, MOST_DOUBLES = 4 * DOUBLES };

struct job {
    int rank, size, left, right;
    int steps[SITES]; /* of the computation before each site */
    int doubles;      /* of each message of site 2 */
    double sum;
};

/* Keeps a processor busy for as many steps, whatever the compiler knows. */
static void compute(struct job *job, int site)
{
    volatile double value = job->rank + 1.0;
    for (int i = 0; i < job->steps[site]; i++)
        value = value * 1.0000001 + 1e-9;
    job->sum += value;
}

static void one_round(struct job *job)
{
    static double mine[MOST_DOUBLES], other[MOST_DOUBLES];
    double value = job->sum, got = 0;
    MPI_Request requests[2];
    compute(job, 0);
    MPI_Allreduce(&value, &got, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); /* slowed: 0 */
    compute(job, 1);
    MPI_Sendrecv(&value, 1, MPI_DOUBLE, job->right, 0, &got, 1, MPI_DOUBLE, job->left, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    compute(job, 2);
    MPI_Irecv(other, job->doubles, MPI_DOUBLE, job->left, 1, MPI_COMM_WORLD, &requests[0]); /* slowed: 2 */
    MPI_Isend(mine, job->doubles, MPI_DOUBLE, job->right, 1, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE); /* slowed: bytes */
    compute(job, 3);
    MPI_Bcast(&got, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD); /* slowed: 3 */
    compute(job, 4);
    MPI_Barrier(MPI_COMM_WORLD); /* slowed: 4 */
}

/* Slows what was asked for. Returns 0, or 2 where the arguments are wrong. */
static int slow(struct job *job, int argc, char **argv)
{
    for (int i = 0; i < SITES; i++)
        job->steps[i] = STEPS;
    job->doubles = DOUBLES;
    if (argc == 2)
        return 0;
    int site = argc == 5 ? atoi(argv[2]) : -1, percent = argc == 5 ? atoi(argv[4]) : -1;
    if (site < 0 || site >= SITES || percent < 0 || percent > 300)
        return 2;
    if (strcmp(argv[3], "bytes") == 0)
        job->doubles += DOUBLES / 100 * percent;
    else if (strcmp(argv[3], "work") == 0 || job->rank == job->size - 1)
        job->steps[site] += STEPS / 100 * percent;
    return 0;
}

int main(int argc, char **argv)
{
    struct job job = {0};
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.size);
    job.left = (job.rank + job.size - 1) % job.size;
    job.right = (job.rank + 1) % job.size;
    int wrong = argc < 2 ? 2 : slow(&job, argc, argv);
    for (int i = 0; wrong == 0 && i < atoi(argv[1]); i++)
        one_round(&job);
    MPI_Finalize();
    if (wrong != 0)
        fputs("usage: slowed TIMES [SITE work|bytes|late PERCENT]\n", stderr);
    return wrong;
}
