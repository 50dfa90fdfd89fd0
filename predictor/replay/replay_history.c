/* A connection is a pair of ranks in one direction. Rounds are gone through in the order of time; what a kind's first
 * round sends stands for all of them, since they are alike. */
#include "predictor/replay/replay_history.h"

#include <stdlib.h>

#include "interpose/database/cursor.h"
#include "interpose/database/database.h"
#include "predictor/pattern/radix_sort.h"
#include "share/base/array.h"
#include "share/base/memory.h"

/* Describes a message in the rounds of its kind. */
struct history_use {
    uint64_t ends; /* src, dst */
    double bytes;
    double first, last; /* carried by the connection before the kind's first and its last round so far */
    double rest_s;      /* summed over n_rests rounds */
    uint32_t connection, n_rests;
};

static const char kinds_sql[] = "SELECT kind_id, min(id) FROM round GROUP BY kind_id ORDER BY kind_id";
static const char messages_sql[] = "SELECT src, dst, bytes FROM message_row WHERE round_id = ? AND src <> dst";
static const char rounds_sql[] = "SELECT id, kind_id, begin_ns, end_ns FROM round ORDER BY begin_ns, id";
static const char ranks_sql[] = "SELECT rank, begin_ns, end_ns FROM round_process WHERE round_id = ?";

/* Serves while the rounds are read. */
struct history_reader {
    sqlite3 *database;
    const char *path;
    struct replay_history *history;
    const struct recorded_places *places;
    size_t n_ranks;
    double *carried;                /* [n_uses] bytes that a connection has carried */
    sqlite3_int64 *end_ns;          /* [n_uses] end of its sender's last round; -1: none */
    sqlite3_int64 *from_ns, *to_ns; /* [n_ranks] in the current round */
};

static int history_failed(const struct history_reader *reader, struct error *error)
{
    return database_error(reader->database, reader->path, "the rounds cannot be read", error);
}

static uint32_t src_of(const struct history_use *use)
{
    return (uint32_t)(use->ends >> 32);
}

static void add_use(struct history_reader *reader, sqlite3_stmt *row)
{
    struct replay_history *history = reader->history;
    sqlite3_int64 src = sqlite3_column_int64(row, 0), dst = sqlite3_column_int64(row, 1);
    if (src < 0 || dst < 0 || (size_t)src >= reader->n_ranks || (size_t)dst >= reader->n_ranks)
        return; /* whoever reads the round says so */
    const struct recorded_places *places = reader->places;
    if (places != NULL && places->placement.node[src] == places->placement.node[dst])
        return;
    array_grow(&history->uses, history->n_uses, sizeof *history->uses);
    history->uses[history->n_uses++] = (struct history_use){.ends = (uint64_t)src << 32 | (uint64_t)dst,
                                                            .bytes = (double)sqlite3_column_int64(row, 2)};
}

static int add_kind(struct history_reader *reader, sqlite3_stmt *row, sqlite3_stmt *messages, struct error *error)
{
    struct replay_history *history = reader->history;
    array_grow(&history->kinds, history->n_kinds, sizeof *history->kinds);
    struct history_kind *kind = &history->kinds[history->n_kinds++];
    *kind = (struct history_kind){.id = sqlite3_column_int64(row, 0), .first = history->n_uses};
    int step;
    sqlite3_bind_int64(messages, 1, sqlite3_column_int64(row, 1));
    while ((step = sqlite3_step(messages)) == SQLITE_ROW)
        add_use(reader, messages);
    int result = step == SQLITE_DONE ? 0 : history_failed(reader, error);
    sqlite3_reset(messages);
    kind->end = history->n_uses;
    for (size_t i = kind->first; i < kind->end; i++)
        kind->bytes += history->uses[i].bytes;
    return result;
}

/* Numbers the connections, and clears what they carried. */
static int number_connections(struct history_reader *reader, struct error *error)
{
    struct replay_history *history = reader->history;
    size_t n = history->n_uses;
    if (n >= UINT32_MAX)
        return error_set(error, "%s: %zu messages between nodes; at most %u can be predicted", reader->path, n,
                         UINT32_MAX - 1);
    uint64_t *keys = xmalloc((2 * n + 1) * sizeof *keys);
    uint32_t *ids = xmalloc((2 * n + 1) * sizeof *ids), number = 0;
    reader->carried = xcalloc(n + 1, sizeof *reader->carried);
    reader->end_ns = xmalloc((n + 1) * sizeof *reader->end_ns);
    for (size_t i = 0; i < n; i++) {
        keys[i] = history->uses[i].ends;
        ids[i] = (uint32_t)i;
        reader->end_ns[i] = -1;
    }
    radix_sort((struct radix_run){keys, ids}, n, (struct radix_run){keys + n, ids + n});
    for (size_t i = 0; i < n; i++) {
        number += i > 0 && keys[i] != keys[i - 1];
        history->uses[ids[i]].connection = number;
    }
    free(keys);
    free(ids);
    return 0;
}

static int compare_kind(const void *id, const void *kind)
{
    sqlite3_int64 a = *(const sqlite3_int64 *)id, b = ((const struct history_kind *)kind)->id;
    return (a > b) - (a < b);
}

static struct history_kind *find_kind(const struct replay_history *history, sqlite3_int64 id)
{
    return history->n_kinds > 0 ? bsearch(&id, history->kinds, history->n_kinds, sizeof *history->kinds, compare_kind)
                                : NULL;
}

/* Reads when the senders of a kind's round were in it; those that are not told were in all of it. */
static int read_ranks(struct history_reader *reader, sqlite3_stmt *round, sqlite3_stmt *ranks,
                      const struct history_kind *kind, struct error *error)
{
    for (size_t i = kind->first; i < kind->end; i++) {
        reader->from_ns[src_of(&reader->history->uses[i])] = sqlite3_column_int64(round, 2);
        reader->to_ns[src_of(&reader->history->uses[i])] = sqlite3_column_int64(round, 3);
    }
    int step;
    sqlite3_bind_int64(ranks, 1, sqlite3_column_int64(round, 0));
    while ((step = sqlite3_step(ranks)) == SQLITE_ROW) {
        sqlite3_int64 rank = sqlite3_column_int64(ranks, 0);
        if (rank < 0 || (size_t)rank >= reader->n_ranks)
            continue;
        reader->from_ns[rank] = sqlite3_column_int64(ranks, 1);
        reader->to_ns[rank] = sqlite3_column_int64(ranks, 2);
    }
    sqlite3_reset(ranks);
    return step == SQLITE_DONE ? 0 : history_failed(reader, error);
}

static void live_round(struct history_reader *reader, struct history_kind *kind)
{
    struct history_use *uses = reader->history->uses;
    for (size_t i = kind->first; i < kind->end; i++) {
        struct history_use *use = &uses[i];
        sqlite3_int64 rest_ns = reader->from_ns[src_of(use)] - reader->end_ns[use->connection];
        use->last = reader->carried[use->connection];
        if (kind->n_rounds == 0)
            use->first = use->last;
        if (reader->end_ns[use->connection] < 0)
            continue;
        use->rest_s += rest_ns > 0 ? (double)rest_ns * 1e-9 : 0;
        use->n_rests++;
    }
    for (size_t i = kind->first; i < kind->end; i++) {
        reader->carried[uses[i].connection] += uses[i].bytes;
        reader->end_ns[uses[i].connection] = reader->to_ns[src_of(&uses[i])];
    }
    kind->n_rounds++;
}

static int compare_ends(const void *a, const void *b)
{
    const struct history_use *x = a, *y = b;
    return (x->ends > y->ends) - (x->ends < y->ends);
}

/* Ends a kind: sets its values in bytes of the kind's round. From here on its uses are in the order of their ends. */
static void end_history_kind(const struct replay_history *history, struct history_kind *kind)
{
    if (kind->first == kind->end)
        return;
    qsort(&history->uses[kind->first], kind->end - kind->first, sizeof *history->uses, compare_ends);
    double first = 0, last = 0;
    for (size_t i = kind->first; i < kind->end; i++) {
        first += history->uses[i].first;
        last += history->uses[i].last;
    }
    if (!(kind->bytes > 0))
        return;
    kind->before = first / kind->bytes;
    if (kind->n_rounds > 1)
        kind->between = (last - first) / (double)(kind->n_rounds - 1) / kind->bytes - 1;
    kind->between = kind->between > 0 ? kind->between : 0;
}

static int read_kinds(struct history_reader *reader, sqlite3_stmt *kinds, sqlite3_stmt *messages, struct error *error)
{
    int step, result = 0;
    while ((step = sqlite3_step(kinds)) == SQLITE_ROW && result == 0)
        result = add_kind(reader, kinds, messages, error);
    if (result == 0 && step != SQLITE_DONE)
        result = history_failed(reader, error);
    return result == 0 ? number_connections(reader, error) : result;
}

static int read_rounds(struct history_reader *reader, sqlite3_stmt *rounds, sqlite3_stmt *ranks, struct error *error)
{
    int step;
    while ((step = sqlite3_step(rounds)) == SQLITE_ROW) {
        struct history_kind *kind = find_kind(reader->history, sqlite3_column_int64(rounds, 1));
        if (kind == NULL || kind->first == kind->end)
            continue;
        if (read_ranks(reader, rounds, ranks, kind, error) != 0)
            return -1;
        live_round(reader, kind);
    }
    for (size_t k = 0; k < reader->history->n_kinds; k++)
        end_history_kind(reader->history, &reader->history->kinds[k]);
    return step == SQLITE_DONE ? 0 : history_failed(reader, error);
}

static bool one_node(const struct placement *placement)
{
    for (size_t rank = 1; rank < placement->n_ranks; rank++)
        if (placement->node[rank] != placement->node[0])
            return false;
    return true;
}

/* Returns how many rounds there are, -1 if it is not known. */
static int64_t count_rounds(sqlite3 *database, const char *path)
{
    struct cursor rows;
    cursor_open(&rows, database, path, "SELECT count(*) FROM round", NULL);
    int64_t n = cursor_next(&rows) ? cursor_integer(&rows, 0) : -1;
    cursor_close(&rows);
    return n;
}

int replay_history_read(sqlite3 *database, const char *path, size_t n_ranks, const struct recorded_places *places,
                        struct replay_history *history, struct error *error)
{
    static const char *const sql[] = {kinds_sql, messages_sql, rounds_sql, ranks_sql};
    enum { KINDS, MESSAGES, ROUNDS, RANKS, STATEMENTS };
    sqlite3_stmt *statements[STATEMENTS] = {NULL};
    struct history_reader reader = {
        .database = database, .path = path, .history = history, .places = places, .n_ranks = n_ranks};
    int result = 0;
    *history = (struct replay_history){0};
    if ((places != NULL && one_node(&places->placement)) || count_rounds(database, path) == 1)
        return 0;
    reader.from_ns = xcalloc(n_ranks + 1, sizeof *reader.from_ns);
    reader.to_ns = xcalloc(n_ranks + 1, sizeof *reader.to_ns);
    for (int which = 0; result == 0 && which < STATEMENTS; which++)
        if (sqlite3_prepare_v2(database, sql[which], -1, &statements[which], NULL) != SQLITE_OK)
            result = history_failed(&reader, error);
    if (result == 0)
        result = read_kinds(&reader, statements[KINDS], statements[MESSAGES], error);
    if (result == 0 && history->n_uses > 0)
        result = read_rounds(&reader, statements[ROUNDS], statements[RANKS], error);
    for (int which = 0; which < STATEMENTS; which++)
        sqlite3_finalize(statements[which]);
    free(reader.carried);
    free(reader.end_ns);
    free(reader.from_ns);
    free(reader.to_ns);
    return result;
}

void replay_history_tell(const struct replay_history *history, sqlite3_int64 kind_id, struct replay_round *round)
{
    const struct history_kind *kind = find_kind(history, kind_id);
    struct pattern *pattern = &round->pattern;
    if (kind == NULL || kind->first == kind->end)
        return;
    double *rest_s = xcalloc(pattern->n_messages + 1, sizeof *rest_s);
    for (size_t k = 0; k < pattern->n_messages; k++) {
        uint64_t src = round->world_rank[pattern->src[k]], dst = round->world_rank[pattern->dst[k]];
        const struct history_use wanted = {.ends = src << 32 | dst};
        const struct history_use *use =
            bsearch(&wanted, &history->uses[kind->first], kind->end - kind->first, sizeof *history->uses, compare_ends);
        if (use != NULL && use->n_rests > 0)
            rest_s[k] = use->rest_s / use->n_rests;
    }
    free(pattern->rest_s);
    pattern->rest_s = rest_s;
    pattern->carried_before = kind->before;
    pattern->carried_between = kind->between;
}

void replay_history_release(struct replay_history *history)
{
    free(history->kinds);
    free(history->uses);
    *history = (struct replay_history){0};
}
