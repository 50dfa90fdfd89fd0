/* The count must not disturb what it counts: it is kept in arrays, and gathered at the end by collectives alone. */
#include "tests/apps/witness.h"

#include "tests/apps/app.h"

#include <errno.h>
#include <inttypes.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void witness_init(struct traffic *traffic)
{
    traffic->n_ranks = app_size();
    traffic->messages = app_allocate((size_t)traffic->n_ranks, sizeof(*traffic->messages));
    traffic->bytes = app_allocate((size_t)traffic->n_ranks, sizeof(*traffic->bytes));
}

void traffic_sent(struct traffic *traffic, int dst, uint64_t bytes)
{
    traffic->messages[dst]++;
    traffic->bytes[dst] += bytes;
}

/* Writes messages and bytes, [n_ranks * n_ranks], row src. Returns 0, or -1 with errno. */
static int write_rows(const char *path, size_t n_ranks, const uint64_t *messages, const uint64_t *bytes)
{
    FILE *file = fopen(path, "w");
    if (!file)
        return -1;
    fputs("src,dst,messages,bytes\n", file);
    for (size_t pair = 0; pair < n_ranks * n_ranks; pair++) {
        if (messages[pair] > 0)
            fprintf(file, "%zu,%zu,%" PRIu64 ",%" PRIu64 "\n", pair / n_ranks, pair % n_ranks, messages[pair],
                    bytes[pair]);
    }
    return fclose(file) ? -1 : 0;
}

void traffic_write(const struct traffic *traffic, const char *path)
{
    if (!path)
        return;
    size_t n_ranks = (size_t)traffic->n_ranks;
    size_t rows = app_rank() == 0 ? n_ranks : 0;
    uint64_t *messages = app_allocate(rows * n_ranks, sizeof(*messages));
    uint64_t *bytes = app_allocate(rows * n_ranks, sizeof(*bytes));
    MPI_Gather(traffic->messages, traffic->n_ranks, MPI_UINT64_T, messages, traffic->n_ranks, MPI_UINT64_T, 0,
               MPI_COMM_WORLD);
    MPI_Gather(traffic->bytes, traffic->n_ranks, MPI_UINT64_T, bytes, traffic->n_ranks, MPI_UINT64_T, 0,
               MPI_COMM_WORLD);
    if (app_rank() == 0 && write_rows(path, n_ranks, messages, bytes))
        app_fail("%s: cannot be written: %s", path, strerror(errno));
    free(messages);
    free(bytes);
}

void witness_release(struct traffic *traffic)
{
    free(traffic->messages);
    free(traffic->bytes);
}
