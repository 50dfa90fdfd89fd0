/* Reads into memory all the rounds that predict reads one after the other. */
#include "predictor/what_if/replay_workload.h"

#include "interpose/database/database.h"
#include "predictor/replay/replay_history.h"
#include "predictor/replay/replay_mean.h"
#include "predictor/replay/replay_round.h"

/* Selects rounds in the order of kinds, each with how many the kind has. */
static const char rounds_sql[] =
    "SELECT kind_id, id, count(*) OVER (PARTITION BY kind_id) FROM round ORDER BY kind_id, id";

/* Adds the place-th round of a kind, which is in *round: its pattern goes into the workload. */
static int add_round(struct replay_round *round, size_t n_rounds, size_t n_taken, struct workload *workload,
                     struct error *error)
{
    struct pattern pattern = replay_round_take(round);
    int result = 0;
    if (workload_add(workload, n_rounds, (double)n_rounds / (double)n_taken, &pattern) != 0)
        result = error_set(error, "no memory for %zu messages", pattern.n_messages);
    pattern_release(&pattern);
    return result;
}

/* Adds all rounds that are taken; rows are those of rounds_sql. */
static int add_rounds(sqlite3_stmt *rows, const char *path, struct replay_round *round,
                      const struct replay_history *history, bool post_times, struct workload *workload,
                      struct error *error)
{
    sqlite3_int64 kind_id = 0;
    size_t place = 0, n_messages = 0;
    int step;
    for (bool first = true; (step = sqlite3_step(rows)) == SQLITE_ROW; first = false, place++) {
        size_t n_rounds = (size_t)sqlite3_column_int64(rows, 2);
        if (first || sqlite3_column_int64(rows, 0) != kind_id)
            place = 0;
        kind_id = sqlite3_column_int64(rows, 0);
        bool taken = post_times && replay_mean_takes(place, n_rounds, n_messages);
        if (place > 0 && !taken)
            continue;
        if (replay_round_read(round, sqlite3_column_int64(rows, 1), error) != 0)
            return -1;
        if (replay_history_tell(history, kind_id, round) != 0)
            return error_set(error, "no memory for %zu messages", round->pattern.n_messages);
        n_messages = place == 0 ? round->pattern.n_messages : n_messages;
        size_t n_taken = post_times ? replay_mean_count(n_rounds, n_messages) : 1;
        if ((!post_times || replay_mean_takes(place, n_rounds, n_messages)) &&
            add_round(round, n_rounds, n_taken, workload, error) != 0)
            return -1;
    }
    return step == SQLITE_DONE ? 0 : database_error(sqlite3_db_handle(rows), path, "the rounds cannot be read", error);
}

int replay_workload(sqlite3 *database, const char *path, const struct placement *placement, bool post_times,
                    struct workload *workload, struct error *error)
{
    struct recorded_places places;
    struct replay_round round = {0};
    struct replay_history history = {0};
    sqlite3_stmt *rows = NULL;
    if (recorded_places_given(database, path, placement, &places, error) != 0)
        return -1;
    if (workload_init(workload, placement->n_ranks) != 0) {
        recorded_places_release(&places);
        return error_set(error, "no memory for %zu ranks", placement->n_ranks);
    }
    int result = replay_history_read(database, path, placement->n_ranks, NULL, &history, error);
    if (result == 0)
        result = replay_round_init(&round, database, path, &places, error);
    if (result == 0 && sqlite3_prepare_v2(database, rounds_sql, -1, &rows, NULL) != SQLITE_OK)
        result = database_error(database, path, "the rounds cannot be read", error);
    if (result == 0)
        result = add_rounds(rows, path, &round, &history, post_times, workload, error);
    sqlite3_finalize(rows);
    replay_history_release(&history);
    replay_round_release(&round);
    recorded_places_release(&places);
    if (result != 0)
        workload_release(workload);
    return result;
}

static int add_host(sqlite3_stmt *row, const char *path, struct hosts *hosts, struct error *error)
{
    sqlite3_int64 node = sqlite3_column_int64(row, 0);
    sqlite3_int64 sockets = sqlite3_column_int64(row, 2), cores = sqlite3_column_int64(row, 3);
    const char *name = (const char *)sqlite3_column_text(row, 1);
    if (node < 0 || node > UINT32_MAX)
        return error_set(error, "%s: node: number %lld", path, (long long)node);
    bool known = sockets > 0 && cores > 0 && cores / sockets <= UINT32_MAX;
    if (hosts_add(hosts, (uint32_t)node, name != NULL ? name : "", known ? (uint32_t)(cores / sockets) : 0) != 0)
        return error_set(error, "no memory for the nodes");
    return 0;
}

int replay_hosts(sqlite3 *database, const char *path, struct hosts *hosts, struct error *error)
{
    sqlite3_stmt *statement = NULL;
    int result = 0, step = SQLITE_ERROR;
    *hosts = (struct hosts){0};
    if (sqlite3_prepare_v2(database, "SELECT id, host, sockets, cores FROM node", -1, &statement, NULL) == SQLITE_OK)
        while (result == 0 && (step = sqlite3_step(statement)) == SQLITE_ROW)
            result = add_host(statement, path, hosts, error);
    if (result == 0 && step != SQLITE_DONE)
        result = database_error(database, path, "the nodes cannot be read", error);
    sqlite3_finalize(statement);
    if (result != 0)
        hosts_release(hosts);
    else
        hosts_sort(hosts);
    return result;
}
