/* freed makes and frees communicators of its own process, some of which it keeps, and prints by how much its memory has
 * grown meanwhile: what a recorder keeps of each. */
#include "tests/apps/app.h"

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { WARM = 200, MADE = 40000, KEPT = 20, EVERY = 2000 };

/* Returns the process's private memory in kB. */
static long private_kb(void)
{
    char line[256];
    long kb = -1;
    FILE *status = fopen("/proc/self/status", "r");
    while (status != NULL && kb < 0 && fgets(line, sizeof line, status) != NULL)
        if (sscanf(line, "RssAnon: %ld", &kb) != 1)
            kb = -1;
    if (status != NULL)
        fclose(status);
    return kb;
}

static void make_and_free(int n)
{
    for (int i = 0; i < n; i++) {
        MPI_Comm made;
        MPI_Comm_dup(MPI_COMM_SELF, &made);
        MPI_Comm_free(&made);
    }
}

int main(int argc, char **argv)
{
    MPI_Comm kept[KEPT];
    int value = 0;
    MPI_Init(&argc, &argv);
    make_and_free(WARM);
    long before_kb = private_kb();
    for (int i = 0; i < MADE; i++) {
        make_and_free(1);
        if (i % EVERY == 0)
            MPI_Comm_dup(MPI_COMM_SELF, &kept[i / EVERY]);
    }
    long after_kb = private_kb();
    for (int i = 0; i < KEPT; i++) {
        MPI_Sendrecv(&i, 1, MPI_INT, 0, i, &value, 1, MPI_INT, 0, i, kept[i], MPI_STATUS_IGNORE);
        MPI_Comm_free(&kept[i]);
    }
    printf("grew by %ld kB\n", after_kb - before_kb);
    MPI_Finalize();
    return 0;
}
