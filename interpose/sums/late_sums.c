/* Few pairs of ranks wait for each other often, so their sums fit a table in memory, where SQLite would sort all
 * messages. */
#include "interpose/sums/late_sums.h"

#include <stdlib.h>

#include "interpose/database/cursor.h"
#include "share/base/array.h"

struct late_sum {
    int64_t rank, partner, form, messages, late_ns, longest_ns;
    enum late_cause cause;
};

int late_sums_add(struct late_sums *late, enum late_cause cause, int64_t rank, int64_t partner, int64_t form,
                  int64_t late_ns)
{
    struct map_key key = {(uint64_t)rank << 32 | (uint64_t)partner, (uint64_t)form, cause};
    uint32_t *number = map_at(&late->numbers, key);
    if (number == NULL)
        return -1;
    if (*number == MAP_ABSENT) {
        if (late->n_sums >= MAP_ABSENT || array_grow(&late->sums, late->n_sums, sizeof *late->sums) != 0)
            return -1;
        *number = (uint32_t)late->n_sums;
        late->sums[late->n_sums++] =
            (struct late_sum){.rank = rank, .partner = partner, .form = form, .cause = cause, .longest_ns = late_ns};
    }
    struct late_sum *sum = &late->sums[*number];
    sum->messages++;
    if (__builtin_add_overflow(sum->late_ns, late_ns, &sum->late_ns))
        sum->late_ns = INT64_MAX;
    sum->longest_ns = late_ns > sum->longest_ns ? late_ns : sum->longest_ns;
    return 0;
}

int late_sums_store(sqlite3 *database, const char *path, const struct late_sums *late, struct error *error)
{
    static const char *const causes[LATE_COUNT] = {"sender", "receiver"};
    struct cursor rows;
    cursor_open(&rows, database, path, "INSERT INTO temp.late_form VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)", error);
    for (size_t i = 0; i < late->n_sums && rows.result == 0; i++) {
        const struct late_sum *sum = &late->sums[i];
        const int64_t values[] = {sum->rank, sum->partner, sum->form, sum->messages, sum->late_ns, sum->longest_ns};
        sqlite3_bind_text(rows.statement, 1, causes[sum->cause], -1, SQLITE_STATIC);
        for (int k = 0; k < 6; k++)
            sqlite3_bind_int64(rows.statement, k + 2, values[k]);
        cursor_next(&rows);
        sqlite3_reset(rows.statement);
    }
    return cursor_close(&rows);
}

void late_sums_release(struct late_sums *late)
{
    map_release(&late->numbers);
    free(late->sums);
    *late = (struct late_sums){0};
}
