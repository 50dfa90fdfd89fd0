/* Adds up all processes' losses on rank 0, so that a job of many processes reports them once. A job that does not reach
 * MPI_Finalize reports nothing: its spools have the counts. See losses.h. */
#include "interpose/backend/process/losses.h"

#include <inttypes.h>
#include <stdio.h>

#include "interpose/backend/recorder/recorder.h"

/* Appends to text what fits. */
static void append(char *text, size_t size, const char *what, uint64_t n)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s (%" PRIu64 ")", used > 0 ? ", " : "", what, n);
}

void losses_tell(const struct run *run, const struct spool_header *header)
{
    static const char *const causes[SPOOL_LOSS_COUNT] = {
        [SPOOL_LOSS_DISK] = "the disk of the spools is full",
        [SPOOL_LOSS_LIMIT] = "MPISTAIR_SPOOL_LIMIT is reached",
        [SPOOL_LOSS_MEMORY] = "no memory",
        [SPOOL_LOSS_CLOSED] = "descriptor closed by the program",
        [SPOOL_LOSS_FILE_SIZE] = "RLIMIT_FSIZE (ulimit -f) is reached",
        [SPOOL_LOSS_ADDRESS_SPACE] = "RLIMIT_AS (ulimit -v) is reached",
    };
    uint64_t mine[SPOOL_LOSS_COUNT + 2] = {0}, all[SPOOL_LOSS_COUNT + 2] = {0}; /* by cause, then the sum and the number
                                                                                 * of processes */
    for (int cause = 0; header && cause < SPOOL_LOSS_COUNT; cause++) {
        mine[cause] = __atomic_load_n(&header->lost[cause], __ATOMIC_RELAXED);
        mine[SPOOL_LOSS_COUNT] += mine[cause];
    }
    mine[SPOOL_LOSS_COUNT + 1] = mine[SPOOL_LOSS_COUNT] > 0;
    if (PMPI(Reduce)(mine, all, SPOOL_LOSS_COUNT + 2, MPI_UINT64_T, MPI_SUM, 0, run->comm) != MPI_SUCCESS ||
        run->rank != 0 || all[SPOOL_LOSS_COUNT] == 0)
        return;
    char text[512] = "";
    for (int cause = 0; cause < SPOOL_LOSS_COUNT; cause++)
        if (all[cause] > 0)
            append(text, sizeof text, causes[cause] ? causes[cause] : "other", all[cause]);
    fprintf(stderr, "mpistair: %" PRIu64 " records of %" PRIu64 " of %d processes are lost: %s; spools in %s\n",
            all[SPOOL_LOSS_COUNT], all[SPOOL_LOSS_COUNT + 1], run->size, text, run->folder);
}
