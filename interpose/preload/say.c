/* A line from each of thousands of processes would bury what it says, so only rank 0 speaks, as far as the launcher's
 * environment tells which process that is. */
#include "interpose/preload/say.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int is_speaker(void)
{
    /* These are set by hydra and PMI; Open MPI; PMIx; srun. */
    static const char *const names[] = {"PMI_RANK", "OMPI_COMM_WORLD_RANK", "PMIX_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const char *rank = getenv(names[i]);
        if (rank != NULL)
            return strcmp(rank, "0") == 0;
    }
    return 1;
}

void say(const char *format, ...)
{
    if (!is_speaker())
        return;
    char text[2048];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    dprintf(STDERR_FILENO, "mpistair: %s\n", text);
}
