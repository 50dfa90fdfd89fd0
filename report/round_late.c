/* Waiting for late senders: of a rank's time in a round what passed before the last message to it was posted. */
#include <stdlib.h>
#include <string.h>

#include "round_sums.h"
#include "rows.h"

static struct round_entry *find_entry(const struct round_sums *sums, const struct round_span *round, int64_t rank)
{
    struct round_entry *entries = sums->entries + round->first;
    size_t low = 0, high = round->n;
    if (high == 0 || rank < entries[0].rank)
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

void round_sums_post(struct round_sums *sums, const struct round_span *round, int64_t rank, int64_t post_ns)
{
    struct round_entry *entry = find_entry(sums, round, rank);
    int64_t late_ns;
    if (entry == NULL)
        return;
    if (__builtin_sub_overflow(post_ns, entry->begin_ns, &late_ns))
        late_ns = post_ns < 0 ? 0 : INT64_MAX;
    late_ns = late_ns > entry->length_ns ? entry->length_ns : late_ns;
    late_ns = late_ns < 0 ? 0 : late_ns;
    entry->late_ns = late_ns > entry->late_ns ? late_ns : entry->late_ns;
}

int round_sums_store_late(sqlite3 *database, const char *path, const struct round_sums *sums, struct error *error)
{
    struct rows rows;
    int64_t *late_ns = NULL; /* of a rank, -1: it received nothing */
    size_t n_ranks = 0;
    for (size_t i = 0; i < sums->n_entries; i++)
        n_ranks = sums->entries[i].rank >= n_ranks ? (size_t)sums->entries[i].rank + 1 : n_ranks;
    late_ns = malloc((n_ranks + 1) * sizeof *late_ns);
    if (late_ns == NULL)
        return error_set(error, "%s: no memory for %zu ranks", path, n_ranks);
    memset(late_ns, 0xff, (n_ranks + 1) * sizeof *late_ns);
    for (size_t i = 0; i < sums->n_entries; i++) {
        const struct round_entry *entry = &sums->entries[i];
        int64_t *sum = &late_ns[entry->rank];
        if (entry->late_ns >= 0 && __builtin_add_overflow(*sum < 0 ? 0 : *sum, entry->late_ns, sum))
            *sum = INT64_MAX;
    }
    rows_open(&rows, database, path, "INSERT INTO temp.rank_late VALUES (?1, ?2 * 1e-9)", error);
    for (size_t rank = 0; rank < n_ranks; rank++) {
        if (late_ns[rank] < 0 || rows.result != 0)
            continue;
        sqlite3_bind_int64(rows.statement, 1, (sqlite3_int64)rank);
        sqlite3_bind_int64(rows.statement, 2, late_ns[rank]);
        rows_next(&rows);
        sqlite3_reset(rows.statement);
    }
    free(late_ns);
    return rows_close(&rows);
}
