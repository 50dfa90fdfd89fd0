/* A rank may wait for many partners at once: what counts is the union of the times, for each cause by itself. */
#include "interpose/sums/round_late.h"

#include <stdlib.h>

#include "interpose/database/cursor.h"
#include "share/base/array.h"

/* Holds a wait, cut to the time of the rank in the round. */
struct late_span {
    size_t of; /* entry * LATE_COUNT + cause */
    int64_t begin_ns, end_ns;
};

static struct round_entry *find_entry(const struct round_sums *sums, const struct round_span *round, int64_t rank)
{
    if (round->n == 0)
        return NULL;
    struct round_entry *entries = sums->entries + round->first;
    size_t low = 0, high = round->n;
    if (rank < entries[0].rank)
        return NULL;
    size_t at = (size_t)(rank - entries[0].rank); /* where no rank is missing between */
    if (at < high && entries[at].rank == rank)
        return &entries[at];
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (entries[middle].rank < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < round->n && entries[low].rank == rank ? &entries[low] : NULL;
}

int round_late_add(struct round_sums *sums, const struct round_span *round, int64_t rank, enum late_cause cause,
                   int64_t begin_ns, int64_t length_ns)
{
    const struct round_entry *entry = find_entry(sums, round, rank);
    int64_t end_ns;
    if (entry == NULL)
        return 0;
    if (__builtin_add_overflow(begin_ns, length_ns, &end_ns))
        end_ns = length_ns < 0 ? INT64_MIN : INT64_MAX;
    begin_ns = begin_ns > entry->begin_ns ? begin_ns : entry->begin_ns;
    end_ns = end_ns < entry->begin_ns + entry->length_ns ? end_ns : entry->begin_ns + entry->length_ns;
    if (end_ns <= begin_ns)
        return 0;
    if (array_grow(&sums->late, sums->n_late, sizeof *sums->late) != 0)
        return -1;
    size_t number = (size_t)(entry - sums->entries);
    sums->late[sums->n_late++] = (struct late_span){number * LATE_COUNT + (size_t)cause, begin_ns, end_ns};
    return 0;
}

static int compare_spans(const void *left, const void *right)
{
    const struct late_span *a = left, *b = right;
    if (a->of != b->of)
        return a->of < b->of ? -1 : 1;
    return (a->begin_ns > b->begin_ns) - (a->begin_ns < b->begin_ns);
}

/* Adds the unions up to late_ns[rank]. */
static void add_up(const struct round_sums *sums, int64_t (*late_ns)[LATE_COUNT])
{
    int64_t until_ns = INT64_MIN;
    for (size_t i = 0; i < sums->n_late; i++) {
        const struct late_span *span = &sums->late[i];
        int64_t *sum = &late_ns[sums->entries[span->of / LATE_COUNT].rank][span->of % LATE_COUNT];
        if (i == 0 || span->of != sums->late[i - 1].of)
            until_ns = INT64_MIN;
        int64_t begin_ns = span->begin_ns > until_ns ? span->begin_ns : until_ns;
        if (span->end_ns <= begin_ns)
            continue;
        if (__builtin_add_overflow(*sum, span->end_ns - begin_ns, sum))
            *sum = INT64_MAX;
        until_ns = span->end_ns;
    }
}

int round_late_store(sqlite3 *database, const char *path, struct round_sums *sums, struct error *error)
{
    struct cursor rows;
    size_t n_ranks = 0;
    for (size_t i = 0; i < sums->n_entries; i++)
        n_ranks = sums->entries[i].rank >= n_ranks ? (size_t)sums->entries[i].rank + 1 : n_ranks;
    int64_t(*late_ns)[LATE_COUNT] = calloc(n_ranks + 1, sizeof *late_ns);
    unsigned char *is_there = calloc(n_ranks + 1, 1);
    if (late_ns == NULL || is_there == NULL) {
        free(late_ns);
        free(is_there);
        return error_set(error, "%s: no memory for %zu ranks", path, n_ranks);
    }
    for (size_t i = 0; i < sums->n_entries; i++)
        is_there[sums->entries[i].rank] = 1;
    if (sums->n_late > 1)
        qsort(sums->late, sums->n_late, sizeof *sums->late, compare_spans);
    add_up(sums, late_ns);
    cursor_open(&rows, database, path, "INSERT INTO temp.rank_late VALUES (?1, ?2 * 1e-9, ?3 * 1e-9)", error);
    for (size_t rank = 0; rank < n_ranks; rank++) {
        if (!is_there[rank] || rows.result != 0)
            continue;
        sqlite3_bind_int64(rows.statement, 1, (sqlite3_int64)rank);
        sqlite3_bind_int64(rows.statement, 2, late_ns[rank][LATE_SENDER]);
        sqlite3_bind_int64(rows.statement, 3, late_ns[rank][LATE_RECEIVER]);
        cursor_next(&rows);
        sqlite3_reset(rows.statement);
    }
    free(late_ns);
    free(is_there);
    return cursor_close(&rows);
}
