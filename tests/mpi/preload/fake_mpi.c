/* Provides an MPI of a few functions that nobody knows, or, with -DFAKE_IN_PROGRAM, is a program that holds its MPI
 * itself. */
#include <stdarg.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))
#define BOTH(name, parameters, body)                                                                                   \
    EXPORTED int PMPI_##name parameters;                                                                               \
    int PMPI_##name parameters body EXPORTED int MPI_##name parameters __attribute__((weak, alias("PMPI_" #name)));

BOTH(Init, (int *argc, char ***argv), { return argc == 0 && argv == 0; })
BOTH(Finalize, (void), { return 0; })
BOTH(Initialized, (int *flag), { return *flag = 0; })
BOTH(Comm_rank, (int comm, int *rank), { return *rank = comm - comm; })
BOTH(Win_fence, (int assertion, void *window), { return assertion - assertion + (window == 0); })
/* Checks that its arguments arrive: level integers, then as many reals, all 1, 2, ... */
BOTH(Pcontrol, (int level, ...), {
    int wrong = 0;
    va_list arguments;
    va_start(arguments, level);
    for (int i = 1; i <= level; i++)
        wrong += va_arg(arguments, int) != i;
    for (int i = 1; i <= level; i++)
        wrong += va_arg(arguments, double) != (double)i;
    va_end(arguments);
    return wrong;
})
BOTH(Get_library_version, (char *version, int *length), {
    strcpy(version, "Nobody's MPI 1.0\nof yesterday");
    *length = (int)strlen(version);
    return 0;
})

#ifdef FAKE_IN_PROGRAM
int main(int argc, char **argv)
{
    int rank = 1;
    return MPI_Init(&argc, &argv) + MPI_Comm_rank(0, &rank) + rank + MPI_Finalize();
}
#endif
