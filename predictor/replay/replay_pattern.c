/* Messages in the order in which their sends were posted, as they will be posted again. */
#include "replay_pattern.h"

#include "database.h"
#include "replay_place.h"

/* One row of numbers; NULL becomes 0. -1: the statement fails or has no row. */
static int select_numbers(sqlite3 *database, const char *sql, int64_t parameter, size_t n, int64_t *numbers)
{
    sqlite3_stmt *statement = NULL;
    int result = -1;
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK) {
        sqlite3_bind_int64(statement, 1, parameter);
        if (sqlite3_step(statement) == SQLITE_ROW) {
            for (size_t i = 0; i < n; i++)
                numbers[i] = sqlite3_column_int64(statement, (int)i);
            result = 0;
        }
    }
    sqlite3_finalize(statement);
    return result;
}

static int find_round(sqlite3 *database, const char *path, bool kind_given, int64_t kind, int64_t *round,
                      struct error *error)
{
    int64_t kinds[3], rounds[2]; /* number, least, largest; number, least */
    if (select_numbers(database, "SELECT count(DISTINCT kind_id), min(kind_id), max(kind_id) FROM round", 0, 3,
                       kinds) != 0)
        return database_error(database, path, "the rounds cannot be read", error);
    if (kinds[0] == 0)
        return error_set(error, "%s: holds no rounds", path);
    if (!kind_given && kinds[0] > 1)
        return error_set(error, "%s: holds %lld kinds of round, %lld to %lld: choose with --kind K", path,
                         (long long)kinds[0], (long long)kinds[1], (long long)kinds[2]);
    if (!kind_given)
        kind = kinds[1];
    if (select_numbers(database, "SELECT count(*), min(id) FROM round WHERE kind_id = ?", kind, 2, rounds) != 0)
        return database_error(database, path, "the rounds cannot be read", error);
    if (rounds[0] == 0)
        return error_set(error, "%s: no round of kind %lld; the kinds are from %lld to %lld", path, (long long)kind,
                         (long long)kinds[1], (long long)kinds[2]);
    *round = rounds[1];
    return 0;
}

static int read_message(sqlite3_stmt *row, const char *path, const struct recorded_places *places,
                        struct pattern *pattern, struct error *error)
{
    sqlite3_int64 bytes = sqlite3_column_int64(row, 2);
    double send_s = sqlite3_column_double(row, 3), recv_s = sqlite3_column_double(row, 4);
    for (int side = 0; side < 2; side++) {
        sqlite3_int64 rank = sqlite3_column_int64(row, side);
        if (rank < 0 || (size_t)rank >= places->placement.n_ranks)
            return error_set(error, "%s: rank %lld of a message is not in the world of %zu ranks", path,
                             (long long)rank, places->placement.n_ranks);
        if (!places->node_known[rank])
            return error_set(error, "%s: it is not known where rank %lld ran; expected a place of each rank", path,
                             (long long)rank);
    }
    if (bytes < 0)
        return error_set(error, "%s: a message of %lld bytes", path, (long long)bytes);
    sqlite3_int64 comm = sqlite3_column_int64(row, 5);
    if (comm < 0 || comm > PATTERN_COMMUNICATOR_MAX)
        return error_set(error, "%s: a message of communicator %lld", path, (long long)comm);
    if (pattern_append(pattern, (uint32_t)sqlite3_column_int64(row, 0), (uint32_t)sqlite3_column_int64(row, 1),
                       (uint64_t)bytes) != 0 ||
        pattern_set_posts(pattern, &send_s, &recv_s) != 0 ||
        pattern_set_match(pattern, (uint32_t)comm, sqlite3_column_int(row, 6) != 0) != 0)
        return error_set(error, "no memory for %zu messages", pattern->n_messages);
    return 0;
}

static int read_messages(sqlite3 *database, const char *path, int64_t round, const struct recorded_places *places,
                         struct pattern *pattern, struct error *error)
{
    static const char sql[] =
        "SELECT src, dst, bytes, (send_post_ns - begin_ns) * 1e-9, (recv_post_ns - begin_ns) * 1e-9, comm, any_source "
        "FROM message JOIN round ON round.id = round_id WHERE round_id = ? ORDER BY src, send_post_ns, message.id";
    sqlite3_stmt *statement = NULL;
    int result = 0, step = SQLITE_ERROR;
    if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL) == SQLITE_OK) {
        sqlite3_bind_int64(statement, 1, round);
        while (result == 0 && (step = sqlite3_step(statement)) == SQLITE_ROW)
            result = read_message(statement, path, places, pattern, error);
    }
    if (result == 0 && step != SQLITE_DONE)
        result = database_error(database, path, "the messages cannot be read", error);
    sqlite3_finalize(statement);
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
    int result = read_messages(database, path, round, &places, pattern, error);
    if (result == 0) {
        *placement = places.placement;
        places.placement = (struct placement){0};
    } else {
        pattern_release(pattern);
    }
    recorded_places_release(&places);
    return result;
}
