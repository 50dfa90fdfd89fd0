/* Puts the messages of each sender in the order in which their sends were posted, as they will be posted again. */
#include "predictor/replay/replay_pattern.h"

#include "interpose/database/cursor.h"
#include "predictor/what_if/places.h"

/* Reads one row of numbers; NULL becomes 0. */
static int select_numbers(sqlite3 *database, const char *path, const char *sql, int64_t parameter, int n,
                          int64_t *numbers, struct error *error)
{
    struct cursor rows;
    cursor_open(&rows, database, path, sql, error);
    sqlite3_bind_int64(rows.statement, 1, parameter);
    bool found = cursor_next(&rows);
    for (int i = 0; i < n; i++)
        numbers[i] = found ? cursor_integer(&rows, i) : 0;
    return cursor_close(&rows);
}

static int find_round(sqlite3 *database, const char *path, bool kind_given, int64_t kind, int64_t *round,
                      struct error *error)
{
    int64_t kinds[3], rounds[2]; /* number, least, largest; number, least */
    if (select_numbers(database, path, "SELECT count(DISTINCT kind_id), min(kind_id), max(kind_id) FROM round", 0, 3,
                       kinds, error) != 0)
        return -1;
    if (kinds[0] == 0)
        return error_set(error, "%s: holds no rounds", path);
    if (!kind_given && kinds[0] > 1)
        return error_set(error, "%s: holds %lld kinds of round, %lld to %lld: choose with --kind K", path,
                         (long long)kinds[0], (long long)kinds[1], (long long)kinds[2]);
    if (!kind_given)
        kind = kinds[1];
    if (select_numbers(database, path, "SELECT count(*), min(id) FROM round WHERE kind_id = ?", kind, 2, rounds,
                       error) != 0)
        return -1;
    if (rounds[0] == 0)
        return error_set(error, "%s: no round of kind %lld; the kinds are from %lld to %lld", path, (long long)kind,
                         (long long)kinds[1], (long long)kinds[2]);
    *round = rounds[1];
    return 0;
}

static int read_pattern_messages(sqlite3 *database, const char *path, int64_t round_id, size_t n_ranks,
                                 struct pattern *pattern, struct error *error)
{
    struct cursor rows;
    cursor_open(
        &rows, database, path,
        "SELECT src, dst, bytes FROM message_row WHERE round_id = ? AND src <> dst ORDER BY src, send_post_ns, id",
        error);
    sqlite3_bind_int64(rows.statement, 1, round_id);
    while (cursor_next(&rows)) {
        int64_t src = cursor_integer(&rows, 0), dst = cursor_integer(&rows, 1), bytes = cursor_integer(&rows, 2);
        int64_t wrong = src < 0 || (size_t)src >= n_ranks ? src : dst;
        if (wrong < 0 || (size_t)wrong >= n_ranks)
            rows.result = error_set(error, "%s: rank %lld of a message is not in the world of %zu ranks", path,
                                    (long long)wrong, n_ranks);
        else if (bytes < 0)
            rows.result = error_set(error, "%s: a message of %lld bytes", path, (long long)bytes);
        else if (pattern_append(pattern, (uint32_t)src, (uint32_t)dst, (uint64_t)bytes) != 0)
            rows.result = error_set(error, "%s: a round of more than %zu messages", path, pattern->n_messages);
    }
    return cursor_close(&rows);
}

int replay_pattern(sqlite3 *database, const char *path, bool kind_given, int64_t kind, struct pattern *pattern,
                   struct placement *placement, struct error *error)
{
    struct recorded_places places = {0};
    int64_t round = 0;
    *pattern = (struct pattern){0};
    *placement = (struct placement){0};
    if (find_round(database, path, kind_given, kind, &round, error) != 0 ||
        recorded_places_read(database, path, &places, error) != 0)
        return -1;
    int result = read_pattern_messages(database, path, round, places.placement.n_ranks, pattern, error);
    if (result == 0) {
        *placement = places.placement;
        places.placement = (struct placement){0};
    } else {
        pattern_release(pattern);
    }
    recorded_places_release(&places);
    return result;
}
