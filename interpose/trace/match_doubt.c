/* A wildcard receive that never completed (a killed job, a freed request) has no envelope, and may have taken a message
 * of any that it fits. Where a send of such an envelope is left over at the end, one too many receives came before it:
 * all messages of the envelope sent after the wildcard was posted may be shifted by one, and are marked uncertain. Most
 * of their rows are written by then, so that they are marked in the database.
 */
#include "match_doubt.h"

int doubt_note_open(struct matcher *matcher, const struct trace_operation *operation)
{
    if (operation->direction != SPOOL_RECEIVE)
        return 0;
    uint32_t *first = map_at(&matcher->open, (struct map_key){operation->communicator, operation->rank, 0});
    if (first == NULL)
        return -1;
    if (*first != MAP_ABSENT)
        return 0;
    struct open_receive *grown = trace_grow(matcher->open_receives, matcher->n_open, sizeof *grown);
    if (grown == NULL)
        return -1;
    matcher->open_receives = grown;
    *first = (uint32_t)matcher->n_open;
    matcher->open_receives[matcher->n_open++] = (struct open_receive){operation->post_ns, operation->tag};
    return 0;
}

const struct open_receive *doubt_open_for(const struct matcher *matcher, const struct envelope *envelope)
{
    uint32_t communicator = (uint32_t)(envelope->key.b >> 32), destination = (uint32_t)envelope->key.a;
    uint32_t open = map_find(&matcher->open, (struct map_key){communicator, destination, 0});
    if (envelope->key.c != 0 || open == MAP_ABSENT)
        return NULL;
    const struct open_receive *wildcard = &matcher->open_receives[open];
    bool fits = wildcard->tag == SPOOL_ANY || wildcard->tag == (int32_t)(uint32_t)envelope->key.b;
    return fits ? wildcard : NULL;
}

int match_doubts_write(const struct matcher *matcher, sqlite3 *database)
{
    /* Forms of the messages in question get a twin with the doubt, which then takes their place. */
    static const char *const statements[] = {
        "INSERT INTO form(level, send_function, recv_function, send_callsite, recv_callsite, any_source, any_tag, "
        "uncertain, send_completed, recv_completed) SELECT level, send_function, recv_function, send_callsite, "
        "recv_callsite, any_source, any_tag, uncertain | ?6, send_completed, recv_completed FROM form WHERE NOT "
        "uncertain & ?6 AND id IN (SELECT form FROM message_row WHERE src = ?1 AND dst = ?2 AND comm = ?3 AND tag = ?4 "
        "AND send_post_ns + late_ns > ?5)",
        "UPDATE message_row SET form = (SELECT max(t.id) FROM form t JOIN form f ON f.id = message_row.form AND "
        "t.level "
        "IS f.level AND t.send_function = f.send_function AND t.recv_function = f.recv_function AND t.send_callsite IS "
        "f.send_callsite AND t.recv_callsite IS f.recv_callsite AND t.any_source = f.any_source AND t.any_tag = "
        "f.any_tag AND t.uncertain = f.uncertain | ?6 AND t.send_completed IS f.send_completed AND t.recv_completed IS "
        "f.recv_completed) WHERE src = ?1 AND dst = ?2 AND comm = ?3 AND tag = ?4 AND send_post_ns + late_ns > ?5"};
    int failed = 0;
    for (size_t i = 0; i < matcher->n_envelopes; i++) {
        const struct envelope *envelope = &matcher->envelopes[i];
        for (int which = 0; envelope->doubt && which < 2; which++) {
            sqlite3_stmt *statement = NULL;
            failed |= sqlite3_prepare_v2(database, statements[which], -1, &statement, NULL) != SQLITE_OK;
            sqlite3_bind_int64(statement, 1, (int64_t)(envelope->key.a >> 32));
            sqlite3_bind_int64(statement, 2, (int64_t)(uint32_t)envelope->key.a);
            sqlite3_bind_int64(statement, 3, (int64_t)(envelope->key.b >> 32));
            sqlite3_bind_int64(statement, 4, (int64_t)(int32_t)(uint32_t)envelope->key.b);
            sqlite3_bind_int64(statement, 5, doubt_open_for(matcher, envelope)->post_ns);
            sqlite3_bind_int64(statement, 6, DOUBT_WILDCARD);
            failed |= sqlite3_step(statement) != SQLITE_DONE;
            sqlite3_finalize(statement);
        }
    }
    return failed ? -1 : 0;
}
