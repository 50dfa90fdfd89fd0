/* A file of fixed times has as many of each thread of a rank, so that the rounds of a rank which have another number of
 * threads than most stay out. */
#include "calibrate/finegrain/arrivals/arrivals_trace.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "interpose/database/database.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/output_file.h"
#include "share/base/statistics.h"

struct kept {
    uint32_t rank;
    size_t n_threads;
    size_t first; /* of its seconds */
};

struct keeping {
    struct kept *rounds;
    size_t n_rounds, rounds_capacity;
    double *seconds;
    size_t n_seconds, seconds_capacity;
    bool partitioned;
};

static int keep(void *context, const struct round_arrivals *round, struct error *error)
{
    struct keeping *keeping = context;
    (void)error;
    array_reserve(&keeping->rounds, &keeping->rounds_capacity, keeping->n_rounds + 1, sizeof *keeping->rounds);
    array_reserve(&keeping->seconds, &keeping->seconds_capacity, keeping->n_seconds + round->n_threads,
                  sizeof *keeping->seconds);
    keeping->rounds[keeping->n_rounds++] = (struct kept){round->rank, round->n_threads, keeping->n_seconds};
    memcpy(keeping->seconds + keeping->n_seconds, round->seconds, round->n_threads * sizeof *round->seconds);
    keeping->n_seconds += round->n_threads;
    keeping->partitioned |= round->partitioned;
    return 0;
}

/* Returns the number of threads that most of the rounds have, of equally many the larger one. sizes[n] is room. */
static size_t usual_threads(const struct kept *rounds, size_t n, size_t *sizes)
{
    size_t best = 0, most = 0, run = 0;
    for (size_t i = 0; i < n; i++)
        sizes[i] = rounds[i].n_threads;
    qsort(sizes, n, sizeof *sizes, compare_sizes);
    for (size_t i = 0; i < n; i++) {
        run = i > 0 && sizes[i] == sizes[i - 1] ? run + 1 : 1;
        if (run >= most) {
            most = run;
            best = sizes[i];
        }
    }
    return best;
}

static void write_ranks(const struct keeping *keeping, size_t *sizes, FILE *stream, struct arrivals_found *found)
{
    fprintf(stream, "rank,thread,seconds\n");
    for (size_t begin = 0, end; begin < keeping->n_rounds; begin = end) {
        const struct kept *rounds = keeping->rounds + begin;
        for (end = begin; end < keeping->n_rounds && keeping->rounds[end].rank == rounds[0].rank; end++)
            continue;
        size_t usual = usual_threads(rounds, end - begin, sizes);
        if (found->n_ranks++ == 0)
            found->n_threads = usual;
        for (size_t i = 0; i < end - begin; i++) {
            if (rounds[i].n_threads != usual) {
                found->n_others++;
                continue;
            }
            found->n_rounds++;
            for (size_t t = 0; t < usual; t++)
                fprintf(stream, "%" PRIu32 ",%zu,%.17g\n", rounds[i].rank, t, keeping->seconds[rounds[i].first + t]);
        }
    }
}

static int none(const char *path, const struct arrivals_left_out *left_out, struct error *error)
{
    if (left_out->unseen > 0)
        return error_set(
            error, "%s: the trace does not say when partitions were ready; record with MPISTAIR_PARTITIONS=1", path);
    if (left_out->incomplete > 0)
        return error_set(error, "%s: no round of which all partitions are recorded", path);
    if (left_out->too_long > 0)
        return error_set(error, "%s: no computation that is shorter than a day", path);
    return error_set(error, "%s: no sends to other ranks in any round, so that nothing says when threads were done",
                     path);
}

int arrivals_trace_write(const char *trace_path, const char *csv_path, struct arrivals_found *found,
                         struct error *error)
{
    sqlite3 *database = NULL;
    struct keeping keeping = {0};
    struct arrivals_found told = {0};
    struct output_file file;
    if (database_open(trace_path, false, &database, error) != 0)
        return -1;
    int result = arrivals_trace_each(database, trace_path, keep, &keeping, &told.left_out, error);
    sqlite3_close(database);
    size_t *sizes = xcalloc(keeping.n_rounds, sizeof *sizes);
    if (result == 0 && keeping.n_rounds == 0)
        result = none(trace_path, &told.left_out, error);
    if (result == 0)
        result = output_file_open(&file, csv_path, error);
    if (result == 0) {
        told.partitioned = keeping.partitioned;
        write_ranks(&keeping, sizes, file.stream, &told);
        result = output_file_commit(&file, error);
    }
    if (result == 0)
        *found = told;
    free(sizes);
    free(keeping.rounds);
    free(keeping.seconds);
    return result;
}

char *arrivals_trace_keep(const char *trace_path, const char *folder, struct error *error)
{
    struct arrivals_found found;
    char *path = xasprintf("%s/mpistair-arrivals-XXXXXX", folder);
    int descriptor = mkstemp(path);
    if (descriptor < 0) {
        error_set(error, "%s: cannot be made for the times of %s: %s", path, trace_path, strerror(errno));
        free(path);
        return NULL;
    }
    close(descriptor);
    if (arrivals_trace_write(trace_path, path, &found, error) == 0)
        return path;
    unlink(path);
    free(path);
    return NULL;
}

int arrivals_trace_open(const struct arrivals_request *request, double compute_s, struct arrivals **arrivals,
                        struct error *error)
{
    const char *folder = getenv("TMPDIR");
    if (request->kind != ARRIVAL_TRACE)
        return arrivals_open(request, compute_s, arrivals, error);
    char *path = arrivals_trace_keep(request->path, folder != NULL && folder[0] != '\0' ? folder : "/tmp", error);
    if (path == NULL)
        return -1;
    struct arrivals_request fixed = {.kind = ARRIVAL_FIXED, .path = path};
    int result = arrivals_open(&fixed, compute_s, arrivals, error);
    unlink(path);
    free(path);
    return result;
}
