/* A wildcard receive that never completed (a killed job, a freed request) has no envelope, and may have taken a message
 * of any envelope that it fits. It took none of an envelope whose messages are all known to be received. Otherwise a
 * send is left over at the end, or met a receive that never completed either. Then all messages of the envelope that
 * were received after the wildcard was posted may be shifted by one, and are marked uncertain. Most of their rows are
 * written by then, so they are marked in the database, all in one pass. */
#include "interpose/trace/stream/match_doubt.h"

#include <stdlib.h>

#include "interpose/database/row.h"
#include "share/base/array.h"

/* Returns the key of open receives with one communicator, rank, source and tag (either may be SPOOL_ANY); the earliest
 * is kept. */
static struct map_key open_key(uint32_t communicator, uint32_t rank, int32_t source, int32_t tag)
{
    return (struct map_key){(uint64_t)communicator << 32 | rank, (uint64_t)(uint32_t)source << 32 | (uint32_t)tag, 0};
}

void doubt_note_open(struct open_wildcards *open, const struct trace_operation *operation)
{
    if (operation->direction != SPOOL_RECEIVE)
        return;
    int32_t source = operation->peer_world >= 0 ? operation->peer_world : SPOOL_ANY;
    int32_t tag = operation->tag >= 0 ? operation->tag : SPOOL_ANY;
    uint32_t *first = map_at(&open->numbers, open_key(operation->communicator, operation->rank, source, tag));
    if (*first != MAP_ABSENT)
        return;
    array_grow(&open->posts_ns, open->n, sizeof *open->posts_ns);
    *first = (uint32_t)open->n;
    open->posts_ns[open->n++] = operation->post_ns;
}

void doubt_left_over(const struct open_wildcards *open, struct envelope *envelope, int64_t before_ns)
{
    uint32_t communicator = (uint32_t)(envelope->key.b >> 32), destination = (uint32_t)envelope->key.a;
    int32_t source = (int32_t)(envelope->key.a >> 32), tag = (int32_t)(uint32_t)envelope->key.b;
    const int32_t fits[][2] = {{SPOOL_ANY, SPOOL_ANY}, {SPOOL_ANY, tag}, {source, SPOOL_ANY}};
    for (size_t i = 0; envelope->key.c == 0 && i < sizeof fits / sizeof *fits; i++) {
        uint32_t number = map_find(&open->numbers, open_key(communicator, destination, fits[i][0], fits[i][1]));
        int64_t post_ns = number == MAP_ABSENT ? DOUBT_NEVER : open->posts_ns[number];
        if (post_ns < before_ns && post_ns < envelope->doubt_ns)
            envelope->doubt_ns = post_ns;
    }
}

void doubt_release(struct open_wildcards *open)
{
    map_release(&open->numbers);
    free(open->posts_ns);
    *open = (struct open_wildcards){0};
}

static int execute(sqlite3 *database, const char *sql)
{
    return sqlite3_exec(database, sql, NULL, NULL, NULL) == SQLITE_OK ? 0 : -1;
}

int doubts_write(const struct envelope *envelopes, size_t n, sqlite3 *database)
{
    size_t i = 0;
    while (i < n && envelopes[i].doubt_ns == DOUBT_NEVER)
        i++;
    if (i == n)
        return 0;
    if (execute(database, "PRAGMA temp_store = MEMORY; CREATE TEMP TABLE doubtful(src, dst, comm, tag, since_ns, "
                          "PRIMARY KEY (src, dst, comm, tag)) WITHOUT ROWID") != 0)
        return -1;
    struct row row = row_prepare(database, "doubtful", 5);
    for (; i < n; i++) {
        const struct envelope *envelope = &envelopes[i];
        if (envelope->doubt_ns != DOUBT_NEVER)
            row_insert(&row, "iiiii", (int64_t)(envelope->key.a >> 32), (int64_t)(uint32_t)envelope->key.a,
                       (int64_t)(envelope->key.b >> 32), (int64_t)(int32_t)(uint32_t)envelope->key.b,
                       envelope->doubt_ns);
    }
    if (row_finish(&row) != 0)
        return -1;
    /* Each form of the messages in question gets a twin with the doubt (16: DOUBT_WILDCARD), which then takes its
     * place. */
    _Static_assert(DOUBT_WILDCARD == 16, "as the statements below have it");
    return execute(
        database,
        "CREATE TEMP TABLE twin(id INTEGER PRIMARY KEY, form INTEGER UNIQUE);"
        "CREATE TEMP TABLE shifted(message INTEGER PRIMARY KEY, form INTEGER);"
        "INSERT INTO shifted SELECT m.id, m.form FROM message_row m JOIN doubtful d ON d.src = m.src AND d.dst = m.dst "
        "AND d.comm = m.comm AND d.tag = m.tag JOIN form f ON f.id = m.form "
        "WHERE m.send_post_ns + m.late_ns > d.since_ns AND NOT f.uncertain & 16;"
        "INSERT INTO twin SELECT (SELECT max(id) FROM form) + row_number() OVER (ORDER BY form), form "
        "FROM (SELECT DISTINCT form FROM shifted);"
        "INSERT INTO form SELECT t.id, level, send_function, recv_function, send_callsite, recv_callsite, any_source, "
        "any_tag, uncertain | 16, send_completed, recv_completed, send_memory, recv_memory FROM twin t JOIN form f ON "
        "f.id = t.form;"
        "UPDATE message_row SET form = (SELECT id FROM twin WHERE twin.form = message_row.form) "
        "WHERE id IN (SELECT message FROM shifted);"
        "DROP TABLE shifted; DROP TABLE twin; DROP TABLE doubtful");
}
