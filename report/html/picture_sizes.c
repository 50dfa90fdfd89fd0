/* Collects how many messages and bytes there are of each power of two and level. */
#include <inttypes.h>

#include "report/html/pictures.h"
#include "share/base/level.h"

enum { POWERS = 64, LEVELS = LEVEL_COUNT + 1 }; /* the last level: not known */

struct sum {
    int64_t messages;
    double bytes;
};

/* Returns 0 for no bytes, else 1 + the power of two that is not above them. */
static size_t power_of(int64_t bytes)
{
    size_t power = 0;
    while (bytes > 0) {
        bytes >>= 1;
        power++;
    }
    return power;
}

int picture_sizes(struct picture *picture, const struct picture_source *source, struct error *error)
{
    struct sum sums[LEVELS][POWERS] = {0};
    struct cursor rows;
    size_t first = POWERS, last = 0;
    picture_query(&rows, source,
                  "SELECT f.level, m.bytes, count(*) FROM message_row m LEFT JOIN form f ON f.id = m.form "
                  "WHERE m.bytes >= 0 GROUP BY f.level, m.bytes",
                  NULL, 0, error);
    while (cursor_next(&rows)) {
        bool known = sqlite3_column_type(rows.statement, 0) == SQLITE_INTEGER;
        int64_t level = cursor_integer(&rows, 0), bytes = cursor_integer(&rows, 1), n = cursor_integer(&rows, 2);
        size_t power = power_of(bytes);
        struct sum *sum = &sums[known && level >= 0 && level < LEVEL_COUNT ? level : LEVEL_COUNT][power];
        sum->messages += n;
        sum->bytes += (double)bytes * (double)n;
        first = power < first ? power : first;
        last = power > last ? power : last;
    }
    picture_table(picture, "size", "power from below level messages bytes");
    for (size_t power = first; power <= last && power < POWERS; power++)
        for (size_t level = 0; level < LEVELS; level++) {
            const struct sum *sum = &sums[level][power];
            if (sum->messages > 0)
                picture_row(picture, "iddtid", (int64_t)power, power == 0 ? 0.0 : (double)(UINT64_C(1) << (power - 1)),
                            (double)(UINT64_C(1) << power), level < LEVEL_COUNT ? level_name[level] : "not known",
                            sum->messages, sum->bytes);
        }
    picture_value(picture, "first", json_integer((int64_t)first));
    picture_value(picture, "last", json_integer((int64_t)last));
    if (first == POWERS)
        picture_lacks(picture, "No messages were recorded.");
    return cursor_close(&rows);
}
