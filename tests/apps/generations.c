/* generations spawns GENERATIONS processes one after the other: the parent gives each a number, the child computes for
 * MS milliseconds, hands the number back and ends before the next one is spawned.
 *
 *     generations GENERATIONS MS
 *
 * The parent prints `sum N`. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static void compute(double s)
{
    for (double end_s = MPI_Wtime() + s; MPI_Wtime() < end_s;)
        continue;
}

static void live_as_child(MPI_Comm parent, double s)
{
    int number;
    MPI_Recv(&number, 1, MPI_INT, 0, 1, parent, MPI_STATUS_IGNORE);
    compute(s);
    number++;
    MPI_Send(&number, 1, MPI_INT, 0, 2, parent);
    MPI_Comm_disconnect(&parent);
}

int main(int argc, char **argv)
{
    MPI_Comm parent, child;
    MPI_Init(&argc, &argv);
    if (argc != 3)
        MPI_Abort(MPI_COMM_WORLD, 2);
    MPI_Comm_get_parent(&parent);
    if (parent != MPI_COMM_NULL) {
        live_as_child(parent, atoi(argv[2]) * 1e-3);
        MPI_Finalize();
        return 0;
    }
    int sum = 0, answer = 0;
    for (int i = 0; i < atoi(argv[1]); i++) {
        MPI_Comm_spawn(argv[0], argv + 1, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &child, MPI_ERRCODES_IGNORE);
        MPI_Send(&i, 1, MPI_INT, 0, 1, child);
        MPI_Recv(&answer, 1, MPI_INT, 0, 2, child, MPI_STATUS_IGNORE);
        MPI_Comm_disconnect(&child);
        sum += answer;
    }
    printf("sum %d\n", sum);
    MPI_Finalize();
    return 0;
}
