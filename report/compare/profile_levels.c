/* Sums up the messages of each level. A message takes time from when both sides had posted it to when its receive was
 * complete: what one side waits for the other is not the level's. */
#include <math.h>
#include <stdlib.h>

#include "report/compare/profile.h"
#include "share/base/array.h"
#include "share/base/saturating.h"

struct level_times {
    double *values;
    size_t n, capacity;
};

static void add(struct profile_level *level, struct level_times *times, struct cursor *rows)
{
    double seconds = cursor_real(rows, 2) * 1e-9;
    int64_t bytes = cursor_integer(rows, 1);
    level->messages++;
    level->bytes = (uint64_t)saturating_add((int64_t)level->bytes, bytes > 0 ? bytes : 0);
    if (!(isfinite(seconds) && seconds >= 0)) /* never reported complete, or two clocks that disagree */
        return;
    if (array_reserve(&times->values, &times->capacity, times->n + 1, sizeof *times->values) != 0) {
        cursor_no_memory(rows);
        return;
    }
    level->total_s += seconds;
    times->values[times->n++] = seconds;
}

int profile_read_levels(struct profile *profile, sqlite3 *database, struct error *error)
{
    struct level_times times[PROFILE_LEVELS] = {{0}};
    struct cursor rows;
    cursor_open(&rows, database, profile->path,
                "SELECT f.level, m.bytes, m.recv_ns - max(-m.late_ns, 0) FROM message_row m "
                "LEFT JOIN form f ON f.id = m.form ORDER BY m.id",
                error);
    while (cursor_next(&rows)) {
        bool known = sqlite3_column_type(rows.statement, 0) != SQLITE_NULL;
        int64_t level = cursor_integer(&rows, 0);
        size_t place = known && level >= 0 && level < PROFILE_LEVELS - 1 ? (size_t)level : PROFILE_LEVELS - 1;
        add(&profile->levels[place], &times[place], &rows);
    }
    for (size_t i = 0; i < PROFILE_LEVELS; i++) {
        profile_spans(times[i].values, times[i].n, profile->levels[i].span_s);
        free(times[i].values);
    }
    return cursor_close(&rows);
}
