/* Adds up all processes' losses on rank 0, so that a job of many processes reports them once. A job that does not reach
 * MPI_Finalize reports nothing: its spools have the counts. See losses.h. */
#include "interpose/backend/run/losses.h"
#include "interpose/backend/run/say_line.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "interpose/backend/recorder/state.h"
#include "interpose/spool/error_name.h"

/* What processes add up: records by cause, all of them, processes that lost any, and records that were refused, by the
 * error. */
enum {
    N_ERRORS = 256, /* errno values of Linux lie below; 0: not known */
    RECORDS = SPOOL_LOSS_COUNT,
    PROCESSES,
    BY_ERROR,
    N_COUNTS = BY_ERROR + N_ERRORS
};

static void append_text(char *text, size_t size, const char *what)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s", what);
}

/* Appends to text what fits. */
static void append(char *text, size_t size, const char *what, uint64_t n)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%s%s (%" PRIu64 ")", used > 0 ? ", " : "", what, n);
}

/* Appends the records that are lost as the system refused room, by the error: by_error[N_ERRORS]. */
static void append_refused(char *text, size_t size, const uint64_t *by_error)
{
    for (uint32_t error = 0; error < N_ERRORS; error++) {
        char name[16], what[160];
        if (by_error[error] == 0)
            continue;
        error_name(name, sizeof name, error);
        snprintf(what, sizeof what, "the system refused room for the spools with %s, %s", name, strerror((int)error));
        append(text, size, error > 0 ? what : "the system refused room for the spools", by_error[error]);
    }
    if (by_error[EPERM] > 0)
        append_text(text, size, " (MPISTAIR_PREALLOCATE takes all room in MPI_Init)");
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
    uint64_t mine[N_COUNTS] = {0}, all[N_COUNTS] = {0};
    for (int cause = 0; header && cause < SPOOL_LOSS_COUNT; cause++) {
        mine[cause] = __atomic_load_n(&header->lost[cause], __ATOMIC_RELAXED);
        mine[RECORDS] += mine[cause];
    }
    mine[PROCESSES] = mine[RECORDS] > 0;
    if (mine[SPOOL_LOSS_REFUSED] > 0)
        mine[BY_ERROR + (header->refused_error < N_ERRORS ? header->refused_error : 0)] = mine[SPOOL_LOSS_REFUSED];
    if (PMPI(Reduce)(mine, all, N_COUNTS, MPI_UINT64_T, MPI_SUM, 0, run->comm) != MPI_SUCCESS || run->rank != 0 ||
        all[RECORDS] == 0)
        return;
    char text[1024] = "";
    for (int cause = 0; cause < SPOOL_LOSS_COUNT; cause++)
        if (all[cause] > 0 && cause != SPOOL_LOSS_REFUSED)
            append(text, sizeof text, causes[cause] ? causes[cause] : "other", all[cause]);
    append_refused(text, sizeof text, all + BY_ERROR);
    say_line("%" PRIu64 " records of %" PRIu64 " of %d processes are lost: %s; spools in %s", all[RECORDS],
             all[PROCESSES], run->size, text, run->folder);
}
