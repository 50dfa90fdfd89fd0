/* As replay.c reads a round, but all of them stay in memory. */
#include "replay_workload.h"

#include "database.h"

static const char kinds_sql[] = "SELECT kind_id, min(id), count(*) FROM round GROUP BY kind_id ORDER BY kind_id";
static const char messages_sql[] =
    "SELECT src, dst, bytes, (send_post_ns - begin_ns) * 1e-9, (recv_post_ns - begin_ns) * 1e-9, comm, "
    "any_source FROM message "
    "JOIN round ON round.id = round_id WHERE round_id = ? AND src <> dst";

static int append_message(sqlite3_stmt *row, const char *path, size_t n_ranks, struct pattern *pattern,
                          struct error *error)
{
    sqlite3_int64 src = sqlite3_column_int64(row, 0), dst = sqlite3_column_int64(row, 1);
    sqlite3_int64 bytes = sqlite3_column_int64(row, 2);
    double send_s = sqlite3_column_double(row, 3), recv_s = sqlite3_column_double(row, 4);
    sqlite3_int64 odd = src < 0 || (size_t)src >= n_ranks ? src : dst;
    if (odd < 0 || (size_t)odd >= n_ranks)
        return error_set(error, "%s: rank %lld of a message is not in the world of %zu ranks", path, (long long)odd,
                         n_ranks);
    if (bytes < 0)
        return error_set(error, "%s: a message of %lld bytes", path, (long long)bytes);
    sqlite3_int64 comm = sqlite3_column_int64(row, 5);
    if (comm < 0 || comm > PATTERN_COMMUNICATOR_MAX)
        return error_set(error, "%s: a message of communicator %lld", path, (long long)comm);
    if (pattern_append(pattern, (uint32_t)src, (uint32_t)dst, (uint64_t)bytes) != 0 ||
        pattern_set_posts(pattern, &send_s, &recv_s) != 0 ||
        pattern_set_match(pattern, (uint32_t)comm, sqlite3_column_int(row, 6) != 0) != 0)
        return error_set(error, "no memory for %zu messages", pattern->n_messages);
    return 0;
}

/* Adds the kind whose rounds are rounds, the first of them bound to messages. */
static int add_kind(sqlite3 *database, const char *path, sqlite3_stmt *messages, sqlite3_int64 rounds,
                    struct workload *workload, struct error *error)
{
    struct pattern pattern = {0};
    int result = 0, step = SQLITE_DONE;
    while (result == 0 && (step = sqlite3_step(messages)) == SQLITE_ROW)
        result = append_message(messages, path, workload->n_ranks, &pattern, error);
    if (result == 0 && step != SQLITE_DONE)
        result = database_error(database, path, "a round cannot be read", error);
    if (result == 0 && workload_add(workload, (uint64_t)rounds, &pattern) != 0)
        result = error_set(error, "no memory for %zu messages", pattern.n_messages);
    sqlite3_reset(messages);
    pattern_release(&pattern);
    return result;
}

int replay_workload(sqlite3 *database, const char *path, size_t n_ranks, struct workload *workload, struct error *error)
{
    sqlite3_stmt *kinds = NULL, *messages = NULL;
    int result = 0, step = SQLITE_ERROR;
    if (workload_init(workload, n_ranks) != 0)
        return error_set(error, "no memory for %zu ranks", n_ranks);
    if (sqlite3_prepare_v2(database, kinds_sql, -1, &kinds, NULL) == SQLITE_OK &&
        sqlite3_prepare_v2(database, messages_sql, -1, &messages, NULL) == SQLITE_OK)
        while (result == 0 && (step = sqlite3_step(kinds)) == SQLITE_ROW) {
            sqlite3_bind_int64(messages, 1, sqlite3_column_int64(kinds, 1));
            result = add_kind(database, path, messages, sqlite3_column_int64(kinds, 2), workload, error);
        }
    if (result == 0 && step != SQLITE_DONE)
        result = database_error(database, path, "the rounds cannot be read", error);
    sqlite3_finalize(kinds);
    sqlite3_finalize(messages);
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
