/* Puts messages in the order in which their sends were posted, as they will be posted again. */
#include "predictor/replay/replay_pattern.h"

#include <stdlib.h>

#include "interpose/database/cursor.h"
#include "predictor/replay/replay_place.h"
#include "predictor/replay/replay_round.h"
#include "share/base/memory.h"

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

/* Compares messages of one sender by the order of their posts; those of one time stay as they were read. */
static int compare_posts(const void *left, const void *right, void *context)
{
    const struct pattern *pattern = context;
    size_t a = *(const size_t *)left, b = *(const size_t *)right;
    if (pattern->src[a] != pattern->src[b])
        return pattern->src[a] < pattern->src[b] ? -1 : 1;
    if (pattern->send_s[a] != pattern->send_s[b])
        return pattern->send_s[a] < pattern->send_s[b] ? -1 : 1;
    return (a > b) - (a < b);
}

/* Appends the messages of `from` in that order. */
static void append_by_posts(struct pattern *from, struct pattern *pattern)
{
    size_t n = from->n_messages, *order = xmalloc((n + 1) * sizeof *order);
    for (size_t i = 0; i < n; i++)
        order[i] = i;
    if (n > 1)
        qsort_r(order, n, sizeof *order, compare_posts, from);
    for (size_t i = 0; i < n; i++) {
        size_t k = order[i];
        pattern_append(pattern, from->src[k], from->dst[k], from->bytes[k]);
        pattern_set_posts(pattern, &from->send_s[k], &from->recv_s[k]);
        if (from->match != NULL)
            pattern_set_match(pattern, from->match[k] / 2, from->match[k] % 2 != 0);
    }
    free(order);
}

static int read_pattern_messages(sqlite3 *database, const char *path, int64_t round_id,
                                 const struct recorded_places *places, struct pattern *pattern, struct error *error)
{
    struct replay_round round = {0};
    int result = replay_round_init(&round, database, path, places, error);
    if (result == 0)
        result = replay_round_read(&round, round_id, error);
    if (result == 0) {
        struct pattern messages = replay_round_take(&round);
        append_by_posts(&messages, pattern);
        pattern_release(&messages);
    }
    replay_round_release(&round);
    return result;
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
    int result = read_pattern_messages(database, path, round, &places, pattern, error);
    if (result == 0) {
        *placement = places.placement;
        places.placement = (struct placement){0};
    } else {
        pattern_release(pattern);
    }
    recorded_places_release(&places);
    return result;
}
