/* This program knows what it called: ranks pass 100 integers around a ring, print the sum, and leave.
 *
 * It ends with the exit code of its first argument. A second argument "fork" lets it start children the three ways,
 * which must record nothing: a forked one that goes on in this program, one that runs another, and system(). "leave"
 * and "leave-first" change the working directory behind and before MPI_Init. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MESSAGES = 100 };

static void check_children(void)
{
    int status = 0, flag = 0;
    pid_t child = fork();
    if (child == 0) {
        /* A child may ask this of its MPI, through our library, which must only hand it on. */
        MPI_Initialized(&flag);
        _exit(flag ? 7 : 8);
    }
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 7)
        printf("the forked child ended with %d\n", status);
    child = fork();
    if (child == 0) {
        execl("/bin/sh", "sh", "-c", "exit 9", (char *)NULL);
        _exit(1);
    }
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 9)
        printf("the child's program ended with %d\n", status);
    if (system("exit 3") != 3 << 8)
        printf("system() ended otherwise\n");
}

static void leave_if(int argc, char **argv, const char *when)
{
    if (argc > 2 && strcmp(argv[2], when) == 0 && chdir("/proc") != 0)
        abort();
}

int main(int argc, char **argv)
{
    int rank, size, sum = 0;
    leave_if(argc, argv, "leave-first");
    MPI_Init(&argc, &argv);
    leave_if(argc, argv, "leave");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc > 2 && strcmp(argv[2], "fork") == 0)
        check_children();
    for (int i = 0; i < MESSAGES; i++) {
        int got = 0;
        if (rank % 2 == 0)
            MPI_Send(&i, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
        MPI_Recv(&got, 1, MPI_INT, (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank % 2 != 0)
            MPI_Send(&i, 1, MPI_INT, (rank + 1) % size, 0, MPI_COMM_WORLD);
        sum += got;
    }
    MPI_Pcontrol(1, 2.5, "variable arguments");
    printf("rank %d of %d: %d\n", rank, size, sum);
    fflush(stdout);
    MPI_Finalize();
    return argc > 1 ? atoi(argv[1]) : 0;
}
