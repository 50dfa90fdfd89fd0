/* SQLite groups by sorting, which takes 1 to 3 s for 3e6 messages. Here the messages are read once, in the order in
 * which they are stored. The sums go to arrays over ranks: by level, and, for each of the heaviest kinds, of its first
 * round. */
#include "interpose/sums/message_sums.h"

#include <stdlib.h>
#include <string.h>

#include "interpose/sums/late_sums.h"
#include "share/base/array.h"
#include "share/base/level.h"
#include "share/base/saturating.h"
#include "interpose/database/cursor.h"

enum { UNKNOWN_LEVEL = LEVEL_COUNT, SENT, SUM_COUNT };

/* Names the columns of message_row in the order in which they are read. */
enum { SRC, DST, BYTES, FORM, ROUND_ID, SEND_POST_NS, LATE_NS, SEND_NS, RECV_NS };

struct sum {
    sqlite3_int64 n, bytes;
};

/* Sums what a rank receives in one round of a kind. */
struct kind_sum {
    int64_t n;
    int64_t bytes[LEVEL_COUNT + 1];
};

/* Holds one of the heaviest kinds. */
struct sample {
    const struct round_span *round; /* its first round */
    struct kind_sum *of_rank;       /* [n_ranks] */
    size_t n_ranks;
};

struct message_form {
    size_t level;
    int64_t waits_from_bytes; /* as the view form_waits; -1: never */
    bool known;
};

struct message_sums {
    const char *path;
    struct error *error;
    struct round_sums *rounds;
    struct sum (*of_rank)[SUM_COUNT]; /* [n_ranks] received by level, then sent */
    size_t n_ranks;                   /* the largest seen, plus one */
    size_t capacity;
    struct message_form *forms; /* [n_forms] */
    size_t n_forms;
    struct late_sums late;
    struct sample samples[HEAVIEST_KINDS];
    size_t n_samples;
};

/* Makes room for rank in (*array)[*capacity] of items of size bytes. */
static int make_room(const struct message_sums *sums, void *array, size_t *capacity, size_t rank, size_t size)
{
    if (rank < *capacity)
        return 0;
    if (array_reserve_zeroed(array, capacity, rank + 1, size) != 0)
        return error_set(sums->error, "%s: no memory for the sums of %zu ranks", sums->path, rank);
    return 0;
}

/* Adds one message of a rank. */
static int add(struct message_sums *sums, sqlite3_int64 rank, size_t which, sqlite3_int64 bytes)
{
    if (rank < 0 || rank >= MAX_RANK)
        return error_set(sums->error, "%s: rank %lld of a message, expected 0 to %d", sums->path, (long long)rank,
                         MAX_RANK - 1);
    if (make_room(sums, &sums->of_rank, &sums->capacity, (size_t)rank, sizeof *sums->of_rank) != 0)
        return -1;
    if ((size_t)rank >= sums->n_ranks)
        sums->n_ranks = (size_t)rank + 1;
    struct sum *sum = &sums->of_rank[rank][which];
    sum->n++;
    sum->bytes = saturating_add(sum->bytes, bytes);
    return 0;
}

static const struct message_form no_form = {UNKNOWN_LEVEL, -1, false};

static int add_form(struct message_sums *sums, struct cursor *rows)
{
    sqlite3_int64 form = cursor_integer(rows, 0), level = cursor_integer(rows, 1);
    bool known = sqlite3_column_type(rows->statement, 1) != SQLITE_NULL && level >= 0 && level < LEVEL_COUNT;
    if (form < 0 || form >= MAX_RANK)
        return 0; /* its messages count as of no known level */
    size_t n = sums->n_forms;
    if (make_room(sums, &sums->forms, &sums->n_forms, (size_t)form, sizeof *sums->forms) != 0)
        return -1;
    for (; n < sums->n_forms; n++)
        sums->forms[n] = no_form;
    sums->forms[form].known = true;
    sums->forms[form].level = known ? (size_t)level : (size_t)UNKNOWN_LEVEL;
    if (sqlite3_column_type(rows->statement, 2) != SQLITE_NULL)
        sums->forms[form].waits_from_bytes = cursor_integer(rows, 2);
    return 0;
}

static int add_to_round(struct message_sums *sums, const struct round_span *round, sqlite3_int64 rank, size_t level,
                        sqlite3_int64 bytes)
{
    for (size_t i = 0; i < sums->n_samples; i++) {
        struct sample *sample = &sums->samples[i];
        if (sample->round != round)
            continue;
        if (make_room(sums, &sample->of_rank, &sample->n_ranks, (size_t)rank, sizeof *sample->of_rank) != 0)
            return -1;
        struct kind_sum *sum = &sample->of_rank[rank];
        sum->n++;
        sum->bytes[level] = saturating_add(sum->bytes[level], bytes);
    }
    return 0;
}

/* Adds a message of which one side was posted before the other, as in the view late; round is NULL if it is in none. */
static int add_late(struct message_sums *sums, struct cursor *rows, const struct round_span *round,
                    const struct message_form *form)
{
    sqlite3_int64 src = cursor_integer(rows, SRC), dst = cursor_integer(rows, DST),
                  late_ns = cursor_integer(rows, LATE_NS);
    sqlite3_int64 begin_ns = cursor_integer(rows, SEND_POST_NS), rank = src, partner = dst;
    enum late_cause cause = LATE_RECEIVER;
    if (late_ns < 0) {
        cause = LATE_SENDER;
        rank = dst;
        partner = src;
        if (__builtin_add_overflow(begin_ns, late_ns, &begin_ns))
            begin_ns = INT64_MIN;
        late_ns = late_ns == INT64_MIN ? INT64_MAX : -late_ns;
        if (sqlite3_column_type(rows->statement, RECV_NS) != SQLITE_NULL && cursor_integer(rows, RECV_NS) < late_ns)
            late_ns = cursor_integer(rows, RECV_NS);
    } else if (form->waits_from_bytes < 0 || cursor_integer(rows, BYTES) < form->waits_from_bytes ||
               sqlite3_column_type(rows->statement, SEND_NS) == SQLITE_NULL ||
               cursor_integer(rows, SEND_NS) < late_ns) {
        return 0;
    }
    if (late_sums_add(&sums->late, cause, rank, partner, cursor_integer(rows, FORM), late_ns) != 0 ||
        (round != NULL && round_late_add(sums->rounds, round, rank, cause, begin_ns, late_ns) != 0))
        return error_set(sums->error, "%s: no memory for who waited for whom", sums->path);
    return 0;
}

static int add_message(struct message_sums *sums, struct cursor *rows)
{
    sqlite3_int64 dst = cursor_integer(rows, DST), bytes = cursor_integer(rows, BYTES),
                  number = cursor_integer(rows, FORM);
    const struct message_form *form = number >= 0 && (size_t)number < sums->n_forms ? &sums->forms[number] : &no_form;
    if (add(sums, cursor_integer(rows, SRC), SENT, bytes) != 0 || add(sums, dst, form->level, bytes) != 0)
        return -1;
    const struct round_span *round = sqlite3_column_type(rows->statement, ROUND_ID) == SQLITE_NULL
                                         ? NULL
                                         : round_sums_find(sums->rounds, cursor_integer(rows, ROUND_ID));
    if (form->known && dst != cursor_integer(rows, SRC) && cursor_integer(rows, LATE_NS) != 0 &&
        add_late(sums, rows, round, form) != 0)
        return -1;
    return round == NULL ? 0 : add_to_round(sums, round, dst, form->level, bytes);
}

static int add_sample(struct message_sums *sums, struct cursor *rows)
{
    if (sums->n_samples < HEAVIEST_KINDS)
        sums->samples[sums->n_samples++].round = round_sums_find(sums->rounds, cursor_integer(rows, 0));
    return 0;
}

static int read_rows(sqlite3 *database, struct message_sums *sums, const char *sql,
                     int (*row)(struct message_sums *, struct cursor *))
{
    struct cursor rows;
    int result = 0;
    cursor_open(&rows, database, sums->path, sql, sums->error);
    while (result == 0 && cursor_next(&rows))
        result = row(sums, &rows);
    return cursor_close(&rows) == 0 ? result : -1;
}

/* Stores the rows of the sums that are not 0. */
static int store_levels(sqlite3 *database, const struct message_sums *sums)
{
    struct cursor in, out;
    cursor_open(&in, database, sums->path, "INSERT INTO temp.incoming VALUES (?4, ?1, ?2, ?3)", sums->error);
    cursor_open(&out, database, sums->path, "INSERT INTO temp.outgoing VALUES (?1, ?2, ?3)", sums->error);
    for (size_t which = 0; in.result == 0 && out.result == 0 && which < SUM_COUNT; which++) {
        struct cursor *rows = which == SENT ? &out : &in;
        for (size_t rank = 0; rows->result == 0 && rank < sums->n_ranks; rank++) {
            const struct sum *sum = &sums->of_rank[rank][which];
            if (sum->n == 0)
                continue;
            sqlite3_bind_int64(rows->statement, 1, (sqlite3_int64)rank);
            sqlite3_bind_int64(rows->statement, 2, sum->n);
            sqlite3_bind_int64(rows->statement, 3, sum->bytes);
            if (which < UNKNOWN_LEVEL)
                sqlite3_bind_text(rows->statement, 4, level_name[which], -1, SQLITE_STATIC);
            else if (which == UNKNOWN_LEVEL)
                sqlite3_bind_null(rows->statement, 4);
            cursor_next(rows);
            sqlite3_reset(rows->statement);
        }
    }
    int result = cursor_close(&in);
    return cursor_close(&out) == 0 ? result : -1;
}

/* Stores the traffic of each kind's first round; without messages it stays NULL. */
static int store_kinds(sqlite3 *database, const struct message_sums *sums)
{
    struct cursor rows;
    cursor_open(&rows, database, sums->path,
                "UPDATE temp.heaviest_kind SET max_messages = ?2, intra_socket_bytes = ?3, inter_socket_bytes = ?4, "
                "inter_node_bytes = ?5 WHERE kind_id = ?1",
                sums->error);
    for (size_t i = 0; rows.result == 0 && i < sums->n_samples; i++) {
        const struct sample *sample = &sums->samples[i];
        struct kind_sum sum = {0};
        for (size_t rank = 0; rank < sample->n_ranks; rank++) {
            sum.n = sample->of_rank[rank].n > sum.n ? sample->of_rank[rank].n : sum.n;
            for (size_t level = 0; level < LEVEL_COUNT; level++)
                sum.bytes[level] = saturating_add(sum.bytes[level], sample->of_rank[rank].bytes[level]);
        }
        if (sum.n == 0)
            continue;
        sqlite3_bind_int64(rows.statement, 1, sample->round->kind_id);
        sqlite3_bind_int64(rows.statement, 2, sum.n);
        sqlite3_bind_int64(rows.statement, 3, sum.bytes[LEVEL_INTRA_SOCKET]);
        sqlite3_bind_int64(rows.statement, 4, sum.bytes[LEVEL_INTER_SOCKET]);
        sqlite3_bind_int64(rows.statement, 5, sum.bytes[LEVEL_INTER_NODE]);
        cursor_next(&rows);
        sqlite3_reset(rows.statement);
    }
    return cursor_close(&rows);
}

int message_sums_make(sqlite3 *database, const char *path, struct round_sums *rounds, struct error *error)
{
    struct message_sums sums = {.path = path, .error = error, .rounds = rounds};
    int result = read_rows(database, &sums, "SELECT id, level, from_bytes FROM form LEFT JOIN form_waits ON form = id",
                           add_form);
    if (result == 0)
        result = read_rows(database, &sums,
                           "SELECT min(r.id) FROM temp.heaviest_kind k JOIN round r ON r.kind_id = k.kind_id "
                           "GROUP BY r.kind_id",
                           add_sample);
    if (result == 0)
        result = read_rows(
            database, &sums,
            "SELECT src, dst, bytes, form, round_id, send_post_ns, late_ns, send_ns, recv_ns FROM message_row",
            add_message);
    if (result == 0)
        result = store_levels(database, &sums);
    if (result == 0)
        result = store_kinds(database, &sums);
    if (result == 0)
        result = late_sums_store(database, path, &sums.late, error);
    late_sums_release(&sums.late);
    for (size_t i = 0; i < sums.n_samples; i++)
        free(sums.samples[i].of_rank);
    free(sums.of_rank);
    free(sums.forms);
    return result;
}
