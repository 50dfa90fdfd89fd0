/* Another preloaded tool, as profilers are, wraps MPI_Init and MPI_Finalize by the profiling interface and notes in the
 * file TOOL_LOG that it did. It is linked to no MPI; it finds PMPI_X in whatever process it is loaded into. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default")))

int PMPI_Init(int *argc, char ***argv);
int PMPI_Init_thread(int *argc, char ***argv, int required, int *provided);
int PMPI_Finalize(void);
int PMPI_Pcontrol(const int level, ...);
EXPORTED int MPI_Init(int *argc, char ***argv);
EXPORTED int MPI_Init_thread(int *argc, char ***argv, int required, int *provided);
EXPORTED int MPI_Finalize(void);
EXPORTED int MPI_Pcontrol(const int level, ...);

static void note(const char *what)
{
    const char *path = getenv("TOOL_LOG");
    int file = path != NULL ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666) : -1;
    if (file < 0)
        return;
    dprintf(file, "%s\n", what);
    close(file);
}

int MPI_Init(int *argc, char ***argv)
{
    note("MPI_Init");
    int provided = 0; /* as tools do that start a thread */
    return PMPI_Init_thread(argc, argv, 0, &provided);
}

int MPI_Init_thread(int *argc, char ***argv, int required, int *provided)
{
    note("MPI_Init_thread");
    return PMPI_Init_thread(argc, argv, required, provided);
}

int MPI_Finalize(void)
{
    note("MPI_Finalize");
    return PMPI_Finalize();
}

/* Compilers make a jump of this call, which then returns to where MPI_Pcontrol was called. */
int MPI_Pcontrol(const int level, ...)
{
    return PMPI_Pcontrol(level);
}
