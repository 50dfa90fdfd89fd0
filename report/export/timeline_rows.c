/* One query reads all that a rank did. Numbers are all that it sorts; names are looked up when a row comes out.
 *
 * Nothing in it is taken on trust: a rank that does not exist would be an index beyond an array, a time near the end of
 * 64 bits a sum that overflows. */
#include "report/export/timeline_rows.h"

#include <stdlib.h>

/* Times and lengths stay so far below 64 bits that four of them can be added. */
#define MAX_TIME_NS (INT64_MAX / 4)

enum row_source {
    FROM_SEND,
    FROM_RECEIVE,
    FROM_UNMATCHED,
    FROM_COLLECTIVE,
    FROM_ONE_SIDED,
    FROM_FILE,
    FROM_CALL,
    FROM_MARK
};

enum row_column {
    COL_RANK,
    COL_AT,
    COL_SOURCE,
    COL_ID,
    COL_PEER,
    COL_COMM,
    COL_TAG,
    COL_BYTES,
    COL_FUNCTION, /* of messages the form */
    COL_DONE,
    COL_CALL,
    COL_RECEIVED,
    COL_SITE,
    COL_WHAT, /* the function that made a persistent request */
    COL_FLAG, /* nonblocking; of unmatched ones: failed; of calls: idle calls; of messages: exported */
    COL_MORE, /* window, file; of unmatched ones: it is a send */
};

/* Stand for what lies in the window of its rank, where there is one. */
#define KEPT_SIDES                                                                                                     \
    "kept(src, send_post_ns, send_post_ns + send_ns)"                                                                  \
    " AND kept(dst, send_post_ns + late_ns, send_post_ns + late_ns + recv_ns)"
#define KEPT_SEND    "kept(src, send_post_ns, send_post_ns + send_call_ns)"
#define KEPT_RECEIVE "kept(dst, send_post_ns + late_ns, send_post_ns + late_ns + recv_call_ns)"
#define KEPT_CALL    "kept(rank, begin_ns, begin_ns + call_ns)"
#define KEPT_BOTH    "kept(rank, begin_ns, begin_ns + call_ns) AND kept(rank, begin_ns, end_ns)"

#define FUNCTION_OF(table) "(SELECT e.id - 1 FROM temp.export_function e WHERE e.name = " table ".function)"

#define ROWS_SQL(sides, send, receive, unmatched, both, call, mark)                                                    \
    "SELECT src AS rank, send_post_ns AS at, 0 AS source, id, dst, comm, tag, bytes, form, send_ns, send_call_ns,"     \
    " late_ns + recv_ns, NULL, NULL, " sides ", NULL FROM message_row WHERE " send                                     \
    " UNION ALL SELECT dst, send_post_ns + late_ns, 1, id, src, comm, tag, bytes, form, recv_ns, recv_call_ns, NULL,"  \
    " NULL, NULL, " sides ", NULL FROM message_row WHERE " receive                                                     \
    " UNION ALL SELECT rank, post_ns, 2, id, peer, comm, tag, bytes, " FUNCTION_OF(                                    \
        "u") ", complete_ns - post_ns,"                                                                                \
             " NULL, NULL, callsite, NULL, reason = 'failed', direction = 'send' FROM unmatched u WHERE " unmatched    \
             " UNION ALL SELECT rank, begin_ns, 3, id, root, comm, NULL, bytes, " FUNCTION_OF(                         \
                 "c") ", end_ns - begin_ns,"                                                                           \
                      " call_ns, NULL, callsite, (SELECT " FUNCTION_OF(                                                \
                          "p") " FROM persistent p WHERE p.id = c.persistent), nonblocking,"                           \
                               " NULL FROM collective c WHERE " both                                                   \
                               " UNION ALL SELECT rank, begin_ns, 4, id, target, comm, NULL, bytes, " FUNCTION_OF(     \
                                   "r") ", end_ns - begin_ns,"                                                         \
                                        " call_ns, NULL, callsite, NULL, nonblocking, window FROM rma r WHERE " both   \
                                        " UNION ALL SELECT rank, begin_ns, 5, id, NULL, comm, NULL, "                  \
                                        "bytes, " FUNCTION_OF(                                                         \
                                            "f") ", end_ns - begin_ns,"                                                \
                                                 " call_ns, NULL, callsite, NULL, nonblocking, file FROM file_call f " \
                                                 "WHERE " both                                                         \
                                                 " UNION ALL SELECT rank, begin_ns, 6, rowid, NULL, NULL, NULL, "      \
                                                 "NULL, function, NULL, call_ns, NULL, callsite,"                      \
                                                 " NULL, idle_calls, NULL FROM call_row WHERE " call                   \
                                                 " UNION ALL SELECT rank, at_ns, 7, number, NULL, NULL, NULL, NULL, "  \
                                                 "NULL, NULL, NULL, NULL, callsite, NULL, NULL,"                       \
                                                 " NULL FROM mark WHERE " mark " ORDER BY rank, at, source, id"

static const char all_sql[] = ROWS_SQL("1", "1", "1", "1", "1", "1", "1");
static const char kept_sql[] = ROWS_SQL(KEPT_SIDES, KEPT_SEND, KEPT_RECEIVE, "kept(rank, post_ns, complete_ns)",
                                        KEPT_BOTH, KEPT_CALL, "kept(rank, at_ns, NULL)");

void timeline_rows_open(struct timeline_rows *rows, struct export *export, const struct export_names *names)
{
    *rows = (struct timeline_rows){.export = export, .names = names};
    cursor_open(&rows->cursor, export->database, export->path, export->selection.all ? all_sql : kept_sql,
                export->error);
}

int timeline_rows_close(struct timeline_rows *rows)
{
    return cursor_close(&rows->cursor);
}

static int64_t integer_or_nothing(struct cursor *rows, int column)
{
    return sqlite3_column_type(rows->statement, column) == SQLITE_NULL ? EXPORT_NOTHING : cursor_integer(rows, column);
}

static bool is_time(int64_t ns)
{
    return ns >= -MAX_TIME_NS && ns <= MAX_TIME_NS;
}

/* Takes a length, which two clocks may have made negative. */
static int64_t length(struct cursor *rows, int column)
{
    int64_t ns = integer_or_nothing(rows, column);
    return ns == EXPORT_NOTHING || ns >= 0 ? ns : 0;
}

static int row_error(struct timeline_rows *rows, const char *what, int64_t value)
{
    static const char *const tables[] = {"message_row", "message_row", "unmatched", "collective",
                                         "rma",         "file_call",   "call_row",  "mark"};
    const char *table = tables[cursor_integer(&rows->cursor, COL_SOURCE)];
    return error_set(rows->export->error, "%s: %s, row %lld: %s: %lld", rows->export->path, table,
                     (long long)cursor_integer(&rows->cursor, COL_ID), what, (long long)value);
}

/* Takes what all rows have. */
static int read_common(struct timeline_rows *rows, struct timeline_row *row)
{
    struct cursor *cursor = &rows->cursor;
    int64_t rank = cursor_integer(cursor, COL_RANK), at_ns = integer_or_nothing(cursor, COL_AT);
    int64_t done_ns = length(cursor, COL_DONE), call_ns = length(cursor, COL_CALL);
    int64_t received_ns = integer_or_nothing(cursor, COL_RECEIVED);
    if (rank < 0 || (size_t)rank >= rows->export->selection.n_ranks)
        return row_error(rows, "a rank that is not in the table process", rank);
    if (!is_time(at_ns) || (done_ns != EXPORT_NOTHING && !is_time(done_ns)) ||
        (call_ns != EXPORT_NOTHING && !is_time(call_ns)) || (received_ns != EXPORT_NOTHING && !is_time(received_ns)))
        return row_error(rows, "NULL, or no time of a run, in ns", at_ns);
    *row = (struct timeline_row){.rank = (uint32_t)rank, .at_ns = at_ns, .call_ns = call_ns};
    int64_t site = integer_or_nothing(cursor, COL_SITE);
    row->site = site == EXPORT_NOTHING ? NAME_NONE : names_site(rows->names, site);
    row->op = (struct timeline_op){.id = cursor_integer(cursor, COL_ID),
                                   .post_ns = at_ns,
                                   .done_ns = done_ns == EXPORT_NOTHING ? EXPORT_NOTHING : at_ns + done_ns,
                                   .peer = integer_or_nothing(cursor, COL_PEER),
                                   .comm = integer_or_nothing(cursor, COL_COMM),
                                   .tag = integer_or_nothing(cursor, COL_TAG),
                                   .bytes = cursor_integer(cursor, COL_BYTES),
                                   .window = integer_or_nothing(cursor, COL_MORE),
                                   .received_ns = received_ns == EXPORT_NOTHING ? received_ns : at_ns + received_ns};
    if (row->op.bytes < 0)
        return row_error(rows, "bytes below 0", row->op.bytes);
    if (row->op.peer != EXPORT_NOTHING && (row->op.peer < 0 || (size_t)row->op.peer >= rows->export->selection.n_ranks))
        return row_error(rows, "a rank that is not in the table process", row->op.peer);
    return 0;
}

static int read_message(struct timeline_rows *rows, struct timeline_row *row, bool receive)
{
    int64_t id = cursor_integer(&rows->cursor, COL_FUNCTION);
    uint32_t form = map_find(&rows->names->form_of_id, (struct map_key){(uint64_t)id, 0, 0});
    if (form == MAP_ABSENT)
        return row_error(rows, "a form that is not in the table form", id);
    const struct form_side *side = &rows->names->forms[form].side[receive];
    bool blocking = rows->names->functions[side->function].blocking;
    row->op.kind = receive ? OP_RECEIVE : OP_SEND;
    row->op.nonblocking = !blocking;
    row->op.cut = cursor_integer(&rows->cursor, COL_FLAG) == 0;
    row->function = side->function;
    row->site = side->site;
    row->stands = side->completed != EXPORT_NOTHING && row->call_ns != EXPORT_NOTHING;
    row->never_returned = blocking && row->op.done_ns == EXPORT_NOTHING;
    return 0;
}

/* Takes an operation that has a row of its own in the table call_row, unless calls were not wanted. */
static int read_other(struct timeline_rows *rows, struct timeline_row *row, enum row_source source)
{
    struct cursor *cursor = &rows->cursor;
    int64_t function = integer_or_nothing(cursor, COL_FUNCTION), what = integer_or_nothing(cursor, COL_WHAT);
    bool flag = cursor_integer(cursor, COL_FLAG) != 0;
    if (function < 0 || (size_t)function >= rows->names->n_functions)
        return row_error(rows, "a function without a name", function);
    row->function = (uint32_t)function;
    row->op.nonblocking = flag;
    if (source == FROM_UNMATCHED) {
        row->op.kind = OP_UNMATCHED;
        row->op.sends = cursor_integer(cursor, COL_MORE) != 0;
        row->op.nonblocking = !rows->names->functions[function].blocking;
        row->op.window = EXPORT_NOTHING;
        row->never_returned = !row->op.nonblocking && !flag && row->op.done_ns == EXPORT_NOTHING;
        return 0;
    }
    row->op.kind = source == FROM_COLLECTIVE ? OP_COLLECTIVE : source == FROM_FILE ? OP_FILE : OP_ONE_SIDED;
    if (what >= 0 && (size_t)what < rows->names->n_functions)
        row->op.function = (uint32_t)what;
    else
        row->op.function = row->function;
    row->never_returned = !flag && row->op.done_ns == EXPORT_NOTHING;
    return 0;
}

static int read_call(struct timeline_rows *rows, struct timeline_row *row)
{
    int64_t id = cursor_integer(&rows->cursor, COL_FUNCTION);
    uint32_t function = map_find(&rows->names->function_of_id, (struct map_key){(uint64_t)id, 0, 0});
    if (function == MAP_ABSENT)
        return row_error(rows, "a function that is not in the table function", id);
    if (row->call_ns == EXPORT_NOTHING)
        return row_error(rows, "call_ns is NULL, begin_ns", row->at_ns);
    row->kind = ROW_CALL;
    row->function = function;
    row->idle_calls = cursor_integer(&rows->cursor, COL_FLAG);
    row->stands = true;
    return 0;
}

static int read_row(struct timeline_rows *rows, struct timeline_row *row)
{
    enum row_source source = (enum row_source)cursor_integer(&rows->cursor, COL_SOURCE);
    if (read_common(rows, row) != 0)
        return -1;
    switch (source) {
    case FROM_SEND:
    case FROM_RECEIVE:
        if (read_message(rows, row, source == FROM_RECEIVE) != 0)
            return -1;
        break;
    case FROM_CALL:
        return read_call(rows, row);
    case FROM_MARK:
        row->kind = ROW_MARK;
        row->number = row->op.id;
        return 0;
    default:
        return read_other(rows, row, source);
    }
    row->op.function = row->function;
    return 0;
}

bool timeline_rows_next(struct timeline_rows *rows, struct timeline_row *row)
{
    if (!cursor_next(&rows->cursor))
        return false;
    if (read_row(rows, row) != 0)
        rows->cursor.result = -1;
    return rows->cursor.result == 0;
}
