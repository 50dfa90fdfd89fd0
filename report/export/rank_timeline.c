/* One query reads all that a rank did. Numbers are all that it sorts; names are looked up when a row comes out. Rows of
 * one time on one rank are a group: the call, and what it posts. Between groups come the ends: operations that are
 * complete wait in a heap, calls on the stack of their lane.
 *
 * No row is trusted: a rank that does not exist would be an index beyond an array, a time near the end of 64 bits a sum
 * that overflows. */
#include "report/export/rank_timeline.h"

#include <stdio.h>
#include <stdlib.h>

#include "share/base/array.h"
#include "share/base/json.h"
#include "share/base/memory.h"
#include "share/base/progress.h"

static int64_t integer_or_nothing(struct cursor *rows, int column)
{
    return sqlite3_column_type(rows->statement, column) == SQLITE_NULL ? EXPORT_NOTHING : cursor_integer(rows, column);
}

/* Names are read once, since a row of a message has numbers only, and quoted once, since JSON repeats them by the
 * million. */
struct name name_of(struct cursor *rows, int column, struct pool *pool)
{
    struct name name = {.text = cursor_text(rows, column, pool)};
    struct json *string = json_string(name.text);
    char *quoted = NULL;
    size_t length = 0;
    FILE *stream = or_no_memory(open_memstream(&quoted, &length));
    json_print(stream, string, JSON_LINE);
    if (fclose(stream) != 0)
        no_memory(0);
    name.json = pool_clean(pool, quoted, length);
    json_release(string);
    free(quoted);
    return name;
}

/* Maps an id of the table to its index; of two rows with one id the later one counts. */
static void map_id(struct map *map, int64_t id, size_t n)
{
    *map_at(map, (struct map_key){(uint64_t)id, 0, 0}) = (uint32_t)n;
}

static uint32_t find(const struct map *map, int64_t id)
{
    return map_find(map, (struct map_key){(uint64_t)id, 0, 0});
}

uint32_t names_comm(const struct export_names *names, int64_t id)
{
    return find(&names->comm_of_id, id);
}

static const char make_functions_sql[] =
    "DROP TABLE IF EXISTS temp.export_function;"
    "CREATE TABLE temp.export_function(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"
    "INSERT OR IGNORE INTO temp.export_function(name) SELECT name FROM function"
    " UNION SELECT function FROM collective UNION SELECT function FROM rma UNION SELECT function FROM unmatched"
    " UNION SELECT function FROM file_call UNION SELECT function FROM persistent";

static const char *const blocking_functions[] = {
    "MPI_Send", "MPI_Ssend", "MPI_Bsend", "MPI_Rsend", "MPI_Recv", "MPI_Sendrecv", "MPI_Sendrecv_replace", NULL};

static int read_functions(struct export *export, struct export_names *names)
{
    struct cursor rows;
    if (export_run(export, make_functions_sql) != 0)
        return -1;
    export_query(export, &rows,
                 "SELECT e.id, e.name, f.id FROM temp.export_function e LEFT JOIN function f ON f.name = e.name"
                 " ORDER BY e.id");
    while (cursor_next(&rows)) {
        size_t number = (size_t)cursor_integer(&rows, 0);
        if (number > names->n_functions) {
            struct named_function function = {.name = name_of(&rows, 1, &names->pool)};
            function.blocking = run_function_named(function.name.text, blocking_functions);
            ARRAY_ADD(names->functions, names->n_functions, function);
        }
        if (sqlite3_column_type(rows.statement, 2) != SQLITE_NULL)
            map_id(&names->function_of_id, cursor_integer(&rows, 2), number - 1);
    }
    return cursor_close(&rows);
}

static int read_sites(struct export *export, struct export_names *names)
{
    struct cursor rows;
    export_query(export, &rows, "SELECT id, place, coalesce(file, ''), coalesce(line, -1) FROM site");
    while (cursor_next(&rows)) {
        struct named_site site = {.place = name_of(&rows, 1, &names->pool),
                                  .file = name_of(&rows, 2, &names->pool),
                                  .id = cursor_integer(&rows, 0),
                                  .line = cursor_integer(&rows, 3)};
        map_id(&names->site_of_id, site.id, names->n_sites);
        ARRAY_ADD(names->sites, names->n_sites, site);
    }
    return cursor_close(&rows);
}

static int read_comms(struct export *export, struct export_names *names)
{
    struct cursor rows;
    export_query(export, &rows,
                 "SELECT id, coalesce(nullif(name, ''), 'communicator ' || id), coalesce(remote, -1) FROM communicator"
                 " ORDER BY id");
    while (cursor_next(&rows)) {
        struct named_comm comm = {.name = name_of(&rows, 1, &names->pool),
                                  .id = cursor_integer(&rows, 0),
                                  .remote = cursor_integer(&rows, 2)};
        map_id(&names->comm_of_id, comm.id, names->n_comms);
        ARRAY_ADD(names->comms, names->n_comms, comm);
    }
    return cursor_close(&rows);
}

static bool read_side(struct export *export, const struct export_names *names, struct cursor *rows, int column,
                      struct form_side *side)
{
    side->function = find(&names->function_of_id, cursor_integer(rows, column));
    side->site = sqlite3_column_type(rows->statement, column + 1) == SQLITE_NULL
                     ? NAME_NONE
                     : find(&names->site_of_id, cursor_integer(rows, column + 1));
    side->completed = integer_or_nothing(rows, column + 2);
    if (side->function == NAME_NONE)
        error_set(export->error, "%s: form %lld: function %lld is not in the table function", export->path,
                  (long long)cursor_integer(rows, 0), (long long)cursor_integer(rows, column));
    return side->function != NAME_NONE;
}

static int read_forms(struct export *export, struct export_names *names)
{
    struct cursor rows;
    export_query(export, &rows,
                 "SELECT id, send_function, send_callsite, send_completed, recv_function, recv_callsite, recv_completed"
                 " FROM form");
    while (cursor_next(&rows)) {
        struct named_form form;
        if (!read_side(export, names, &rows, 1, &form.side[0]) || !read_side(export, names, &rows, 4, &form.side[1])) {
            rows.result = -1;
            break;
        }
        map_id(&names->form_of_id, cursor_integer(&rows, 0), names->n_forms);
        ARRAY_ADD(names->forms, names->n_forms, form);
    }
    return cursor_close(&rows);
}

int export_names_read(struct export *export, struct export_names *names)
{
    *names = (struct export_names){0};
    return read_functions(export, names) != 0 || read_sites(export, names) != 0 || read_comms(export, names) != 0 ||
                   read_forms(export, names) != 0
               ? -1
               : 0;
}

void export_names_release(struct export_names *names)
{
    pool_release(&names->pool);
    free(names->functions);
    free(names->sites);
    free(names->comms);
    free(names->forms);
    map_release(&names->function_of_id);
    map_release(&names->site_of_id);
    map_release(&names->comm_of_id);
    map_release(&names->form_of_id);
    *names = (struct export_names){0};
}

#define NEVER       INT64_MAX
#define MAX_TIME_NS (INT64_MAX / 4) /* four times and lengths can be added */

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

/* ?1: everything is exported, and none of the many rows needs to be asked for. Messages and calls that may be wanted
 * are in export_message and export_call (trace_export.h). */
static const char rows_sql[] =
    "SELECT src AS rank, send_post_ns AS at, 0 AS source, id, dst, comm, tag, bytes, form, send_ns, send_call_ns,"
    " late_ns + recv_ns, NULL, NULL, iif(?1, 1, " MESSAGE_IS_KEPT "), NULL FROM export_message"
    " WHERE ?1 OR kept(src, send_post_ns, send_post_ns + send_call_ns)"
    " UNION ALL SELECT dst, send_post_ns + late_ns, 1, id, src, comm, tag, bytes, form, recv_ns, recv_call_ns, NULL,"
    " NULL, NULL, iif(?1, 1, " MESSAGE_IS_KEPT "), NULL FROM export_message"
    " WHERE ?1 OR kept(dst, send_post_ns + late_ns, send_post_ns + late_ns + recv_call_ns)"
    " UNION ALL SELECT rank, post_ns, 2, id, peer, comm, tag, bytes,"
    " (SELECT e.id - 1 FROM temp.export_function e WHERE e.name = u.function), complete_ns - post_ns, NULL, NULL,"
    " callsite, NULL, reason = 'failed', direction = 'send' FROM unmatched u WHERE kept(rank, post_ns, complete_ns)"
    " UNION ALL SELECT rank, begin_ns, 3, id, root, comm, NULL, bytes,"
    " (SELECT e.id - 1 FROM temp.export_function e WHERE e.name = c.function), end_ns - begin_ns, call_ns, NULL,"
    " callsite, (SELECT (SELECT e.id - 1 FROM temp.export_function e WHERE e.name = p.function) FROM persistent p"
    " WHERE p.id = c.persistent), nonblocking, NULL FROM collective c"
    " WHERE ?1 OR kept(rank, begin_ns, begin_ns + call_ns) AND kept(rank, begin_ns, end_ns)"
    " UNION ALL SELECT rank, begin_ns, 4, id, target, comm, NULL, bytes,"
    " (SELECT e.id - 1 FROM temp.export_function e WHERE e.name = r.function), end_ns - begin_ns, call_ns, NULL,"
    " callsite, NULL, nonblocking, window FROM rma r"
    " WHERE ?1 OR kept(rank, begin_ns, begin_ns + call_ns) AND kept(rank, begin_ns, end_ns)"
    " UNION ALL SELECT rank, begin_ns, 5, id, NULL, comm, NULL, bytes,"
    " (SELECT e.id - 1 FROM temp.export_function e WHERE e.name = f.function), end_ns - begin_ns, call_ns, NULL,"
    " callsite, NULL, nonblocking, file FROM file_call f"
    " WHERE ?1 OR kept(rank, begin_ns, begin_ns + call_ns) AND kept(rank, begin_ns, end_ns)"
    " UNION ALL SELECT rank, begin_ns, 6, id, NULL, NULL, NULL, NULL, function, NULL, call_ns, NULL, callsite,"
    " NULL, idle_calls, NULL FROM export_call WHERE ?1 OR kept(rank, begin_ns, begin_ns + call_ns)"
    " UNION ALL SELECT rank, at_ns, 7, number, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, callsite, NULL, NULL,"
    " NULL FROM mark WHERE kept(rank, at_ns, NULL) ORDER BY rank, at, source, id";

struct timeline_row {
    uint32_t rank;
    int64_t at_ns;
    enum { ROW_OP, ROW_CALL, ROW_MARK } kind;
    struct timeline_op op;   /* of ROW_OP */
    uint32_t function, site; /* of the call */
    int64_t call_ns;         /* EXPORT_NOTHING: not known */
    int64_t idle_calls;
    int64_t number;      /* of ROW_MARK */
    bool stands;         /* this row stands for the call */
    bool never_returned; /* a call that waits, and whose return was not recorded */
};

struct lane {
    struct timeline_call *open; /* [n_open], the innermost last */
    size_t n_open;
};

/* An end that is still to come. */
struct due {
    int64_t at_ns;
    uint64_t sequence;
    bool arrival;
    struct timeline_op op;
};

struct timeline {
    struct export *export;
    const struct export_names *names;
    const struct timeline_listener *listener;
    struct cursor rows;
    bool threads;               /* may be in MPI at once */
    int64_t *begin_ns, *end_ns; /* [n_ranks] of the processes; EXPORT_NOTHING: not known */
    struct lane *lanes;
    size_t n_lanes;
    struct map lane_of_site;
    struct due *due; /* [n_due] a heap, the first one on top */
    size_t n_due;
    uint64_t sequence;
    struct timeline_row *group; /* [n_group] rows of one rank and time */
    size_t n_group;
    struct timeline_call *calls; /* [n_calls] of the group */
    size_t n_calls;
    int64_t rank; /* -1: none yet */
    int64_t last_ns;
};

static bool is_time(int64_t ns)
{
    return ns >= -MAX_TIME_NS && ns <= MAX_TIME_NS;
}

/* Returns a length, which two clocks may have made negative, as at least 0. */
static int64_t length(struct cursor *rows, int column)
{
    int64_t ns = integer_or_nothing(rows, column);
    return ns == EXPORT_NOTHING || ns >= 0 ? ns : 0;
}

static int row_error(struct timeline *timeline, const char *what, int64_t value)
{
    static const char *const tables[] = {"message_row", "message_row", "unmatched", "collective",
                                         "rma",         "file_call",   "call_row",  "mark"};
    const char *table = tables[cursor_integer(&timeline->rows, COL_SOURCE)];
    return error_set(timeline->export->error, "%s: %s, row %lld: %s: %lld", timeline->export->path, table,
                     (long long)cursor_integer(&timeline->rows, COL_ID), what, (long long)value);
}

/* Reads what all rows have. */
static int read_common(struct timeline *timeline, struct timeline_row *row)
{
    struct cursor *cursor = &timeline->rows;
    size_t n_ranks = timeline->export->selection.n_ranks;
    int64_t rank = cursor_integer(cursor, COL_RANK), at_ns = integer_or_nothing(cursor, COL_AT);
    int64_t done_ns = length(cursor, COL_DONE), call_ns = length(cursor, COL_CALL);
    int64_t received_ns = integer_or_nothing(cursor, COL_RECEIVED);
    if (rank < 0 || (size_t)rank >= n_ranks)
        return row_error(timeline, "a rank that is not in the table process", rank);
    if (!is_time(at_ns) || (done_ns != EXPORT_NOTHING && !is_time(done_ns)) ||
        (call_ns != EXPORT_NOTHING && !is_time(call_ns)) || (received_ns != EXPORT_NOTHING && !is_time(received_ns)))
        return row_error(timeline, "NULL, or no time of a run, in ns", at_ns);
    *row = (struct timeline_row){.rank = (uint32_t)rank, .at_ns = at_ns, .call_ns = call_ns};
    int64_t site = integer_or_nothing(cursor, COL_SITE);
    row->site = site == EXPORT_NOTHING ? NAME_NONE : find(&timeline->names->site_of_id, site);
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
        return row_error(timeline, "bytes below 0", row->op.bytes);
    if (row->op.peer != EXPORT_NOTHING && (row->op.peer < 0 || (size_t)row->op.peer >= n_ranks))
        return row_error(timeline, "a rank that is not in the table process", row->op.peer);
    return 0;
}

static int timeline_read_message(struct timeline *timeline, struct timeline_row *row, bool receive)
{
    const struct export_names *names = timeline->names;
    int64_t id = cursor_integer(&timeline->rows, COL_FUNCTION);
    uint32_t form = find(&names->form_of_id, id);
    if (form == MAP_ABSENT)
        return row_error(timeline, "a form that is not in the table form", id);
    const struct form_side *side = &names->forms[form].side[receive];
    bool blocking = names->functions[side->function].blocking;
    row->op.kind = receive ? OP_RECEIVE : OP_SEND;
    row->op.nonblocking = !blocking;
    row->op.cut = cursor_integer(&timeline->rows, COL_FLAG) == 0;
    row->op.function = row->function = side->function;
    row->site = side->site;
    row->stands = side->completed != EXPORT_NOTHING && row->call_ns != EXPORT_NOTHING;
    row->never_returned = blocking && row->op.done_ns == EXPORT_NOTHING;
    return 0;
}

/* Reads an operation that has a row of its own in the table call_row, unless calls were not wanted. */
static int read_other(struct timeline *timeline, struct timeline_row *row, enum row_source source)
{
    struct cursor *cursor = &timeline->rows;
    const struct export_names *names = timeline->names;
    int64_t function = integer_or_nothing(cursor, COL_FUNCTION), what = integer_or_nothing(cursor, COL_WHAT);
    bool flag = cursor_integer(cursor, COL_FLAG) != 0;
    if (function < 0 || (size_t)function >= names->n_functions)
        return row_error(timeline, "a function without a name", function);
    row->function = (uint32_t)function;
    row->op.function = what >= 0 && (size_t)what < names->n_functions ? (uint32_t)what : row->function;
    row->op.nonblocking = flag;
    row->never_returned = !flag && row->op.done_ns == EXPORT_NOTHING;
    if (source == FROM_UNMATCHED) {
        row->op.kind = OP_UNMATCHED;
        row->op.sends = cursor_integer(cursor, COL_MORE) != 0;
        row->op.nonblocking = !names->functions[function].blocking;
        row->op.window = EXPORT_NOTHING;
        row->never_returned = row->never_returned && !row->op.nonblocking;
        return 0;
    }
    row->op.kind = source == FROM_COLLECTIVE ? OP_COLLECTIVE : source == FROM_FILE ? OP_FILE : OP_ONE_SIDED;
    return 0;
}

static int read_call(struct timeline *timeline, struct timeline_row *row)
{
    int64_t id = cursor_integer(&timeline->rows, COL_FUNCTION);
    uint32_t function = find(&timeline->names->function_of_id, id);
    if (function == MAP_ABSENT)
        return row_error(timeline, "a function that is not in the table function", id);
    if (row->call_ns == EXPORT_NOTHING)
        return row_error(timeline, "call_ns is NULL, begin_ns", row->at_ns);
    row->kind = ROW_CALL;
    row->function = function;
    row->idle_calls = cursor_integer(&timeline->rows, COL_FLAG);
    row->stands = true;
    return 0;
}

static int timeline_read_row(struct timeline *timeline, struct timeline_row *row)
{
    enum row_source source = (enum row_source)cursor_integer(&timeline->rows, COL_SOURCE);
    if (read_common(timeline, row) != 0)
        return -1;
    switch (source) {
    case FROM_SEND:
    case FROM_RECEIVE:
        return timeline_read_message(timeline, row, source == FROM_RECEIVE);
    case FROM_CALL:
        return read_call(timeline, row);
    case FROM_MARK:
        row->kind = ROW_MARK;
        row->number = row->op.id;
        return 0;
    default:
        return read_other(timeline, row, source);
    }
}

static bool is_due_before(const struct due *a, const struct due *b)
{
    return a->at_ns != b->at_ns ? a->at_ns < b->at_ns : a->sequence < b->sequence;
}

static void due_add(struct timeline *timeline, int64_t at_ns, const struct timeline_op *op, bool arrival)
{
    array_grow(&timeline->due, timeline->n_due, sizeof *timeline->due);
    struct due added = {.at_ns = at_ns, .sequence = timeline->sequence++, .arrival = arrival, .op = *op};
    size_t i = timeline->n_due++;
    for (; i > 0 && is_due_before(&added, &timeline->due[(i - 1) / 2]); i = (i - 1) / 2)
        timeline->due[i] = timeline->due[(i - 1) / 2];
    timeline->due[i] = added;
}

static struct due due_take(struct timeline *timeline)
{
    struct due *due = timeline->due, first = due[0], last = due[--timeline->n_due];
    size_t i = 0, n = timeline->n_due;
    for (size_t child = 1; child < n; child = 2 * i + 1) {
        if (child + 1 < n && is_due_before(&due[child + 1], &due[child]))
            child++;
        if (!is_due_before(&due[child], &last))
            break;
        due[i] = due[child];
        i = child;
    }
    due[i] = last;
    return first;
}

static struct timeline_call *innermost(const struct lane *lane)
{
    return lane->n_open > 0 ? &lane->open[lane->n_open - 1] : NULL;
}

/* Returns the call that ends then, else one that is under way, on the lane of the post if it can be; NULL: none. */
static struct timeline_call *reporting_call(const struct timeline *timeline, uint32_t lane, int64_t at_ns)
{
    struct timeline_call *found = NULL;
    for (size_t i = 0; i < timeline->n_lanes; i++) {
        struct timeline_call *call = innermost(&timeline->lanes[(lane + i) % timeline->n_lanes]);
        if (call != NULL && call->end_ns == at_ns)
            return call;
        found = found == NULL ? call : found;
    }
    return found;
}

static void tell_end(struct timeline *timeline, const struct due *due)
{
    const struct timeline_listener *listener = timeline->listener;
    if (due->arrival) {
        listener->arrive(listener->context, &due->op);
        return;
    }
    struct timeline_call *call = reporting_call(timeline, due->op.lane, due->at_ns);
    if (call != NULL && call->n_done++ == 0)
        call->first_done = due->op;
    timeline->last_ns = due->at_ns > timeline->last_ns ? due->at_ns : timeline->last_ns;
    listener->complete(listener->context, &due->op, call != NULL ? call->lane : due->op.lane);
}

static void timeline_leave(struct timeline *timeline, struct lane *lane)
{
    struct timeline_call *call = &lane->open[--lane->n_open];
    timeline->listener->leave(timeline->listener->context, call);
    timeline->last_ns = call->end_ns > timeline->last_ns ? call->end_ns : timeline->last_ns;
    free(call->ops);
}

static struct lane *first_to_leave(const struct timeline *timeline)
{
    struct lane *first = NULL;
    for (size_t i = 0; i < timeline->n_lanes; i++) {
        struct lane *lane = &timeline->lanes[i];
        if (lane->n_open > 0 && (first == NULL || innermost(lane)->end_ns < innermost(first)->end_ns))
            first = lane;
    }
    return first;
}

/* Reports all ends up to a time to the listener, completions before the ends of the calls that report them. */
static void advance(struct timeline *timeline, int64_t until_ns)
{
    for (;;) {
        struct lane *lane = first_to_leave(timeline);
        int64_t leave_ns = lane != NULL ? innermost(lane)->end_ns : NEVER;
        int64_t due_ns = timeline->n_due > 0 ? timeline->due[0].at_ns : NEVER;
        if (due_ns <= leave_ns && due_ns <= until_ns && timeline->n_due > 0) {
            struct due due = due_take(timeline);
            tell_end(timeline, &due);
        } else if (leave_ns != NEVER && leave_ns <= until_ns) {
            timeline_leave(timeline, lane);
        } else {
            return;
        }
    }
}

/* Returns whether a lane has room for a call: after what was there, or within it where threads take turns. */
static bool fits(const struct timeline *timeline, size_t lane, const struct timeline_call *call)
{
    const struct timeline_call *open = innermost(&timeline->lanes[lane]);
    return open == NULL || (!timeline->threads && open->begin_ns < call->begin_ns && call->end_ns <= open->end_ns);
}

/* Returns the lane for a call: that of its call site if it is free, else the first free one, else a new one. */
static uint32_t find_lane(struct timeline *timeline, const struct timeline_call *call)
{
    uint32_t *usual = map_at(&timeline->lane_of_site, (struct map_key){call->site, 0, 0});
    if (*usual != MAP_ABSENT && *usual < timeline->n_lanes && fits(timeline, *usual, call))
        return *usual;
    size_t lane = 0;
    while (lane < timeline->n_lanes && !fits(timeline, lane, call))
        lane++;
    if (lane == timeline->n_lanes)
        ARRAY_ADD(timeline->lanes, timeline->n_lanes, (struct lane){0});
    return *usual = (uint32_t)lane;
}

static void timeline_enter(struct timeline *timeline, struct timeline_call *call)
{
    call->lane = find_lane(timeline, call);
    struct lane *lane = &timeline->lanes[call->lane];
    for (size_t i = 0; i < call->n_ops; i++)
        call->ops[i].lane = call->lane;
    ARRAY_ADD(lane->open, lane->n_open, *call);
    timeline->listener->enter(timeline->listener->context, call);
    for (size_t i = 0; i < call->n_ops; i++) {
        const struct timeline_op *op = &call->ops[i];
        if (op->done_ns != EXPORT_NOTHING && !op->cut)
            due_add(timeline, op->done_ns, op, false);
        if (op->kind == OP_SEND && op->received_ns != EXPORT_NOTHING && !op->cut && timeline->listener->arrive != NULL)
            due_add(timeline, op->received_ns, op, true);
    }
}

static struct timeline_call *timeline_add_call(struct timeline *timeline, const struct timeline_row *row,
                                               int64_t end_ns)
{
    ARRAY_ADD(timeline->calls, timeline->n_calls,
              (struct timeline_call){.begin_ns = row->at_ns,
                                     .end_ns = end_ns,
                                     .function = row->function,
                                     .site = row->site,
                                     .idle_calls = row->idle_calls,
                                     .returned = true,
                                     .timed = row->stands});
    return &timeline->calls[timeline->n_calls - 1];
}

/* Returns the call that posted the operation of a row. Where calls were not recorded it is made up: a blocking one
 * lasts as long as its operation, of another one it is unknown. */
static struct timeline_call *call_of(struct timeline *timeline, const struct timeline_row *row)
{
    bool recorded = false;
    for (size_t i = 0; i < timeline->n_calls; i++) {
        struct timeline_call *call = &timeline->calls[i];
        recorded = recorded || call->timed;
        if (call->function == row->function && call->site == row->site && call->idle_calls == 0)
            return call;
    }
    if (recorded)
        return &timeline->calls[0];
    bool lasts = !row->op.nonblocking && row->op.done_ns != EXPORT_NOTHING;
    return timeline_add_call(timeline, row, lasts ? row->op.done_ns : row->at_ns);
}

static void attach(struct timeline *timeline, const struct timeline_row *row)
{
    struct timeline_call *call = call_of(timeline, row);
    ARRAY_ADD(call->ops, call->n_ops, row->op);
    if (row->never_returned && (!call->timed || call->end_ns == call->begin_ns)) {
        call->returned = false;
        call->end_ns = NEVER;
    }
}

/* Hands the rows of one rank and time to the listener. */
static void tell_group(struct timeline *timeline)
{
    const struct timeline_listener *listener = timeline->listener;
    if (timeline->n_group == 0)
        return;
    int64_t at_ns = timeline->group[0].at_ns;
    timeline->n_calls = 0;
    for (size_t i = 0; i < timeline->n_group; i++)
        if (timeline->group[i].stands)
            timeline_add_call(timeline, &timeline->group[i], at_ns + timeline->group[i].call_ns);
    for (size_t i = 0; i < timeline->n_group; i++)
        if (timeline->group[i].kind == ROW_OP)
            attach(timeline, &timeline->group[i]);
    advance(timeline, at_ns);
    for (size_t i = 0; i < timeline->n_calls; i++)
        timeline_enter(timeline, &timeline->calls[i]);
    for (size_t i = 0; listener->mark != NULL && i < timeline->n_group; i++)
        if (timeline->group[i].kind == ROW_MARK)
            listener->mark(listener->context, timeline->group[i].number, at_ns, timeline->group[i].site);
    timeline->last_ns = at_ns > timeline->last_ns ? at_ns : timeline->last_ns;
    timeline->n_group = 0;
}

static int timeline_end_rank(struct timeline *timeline)
{
    const struct timeline_listener *listener = timeline->listener;
    int64_t rank = timeline->rank;
    if (rank < 0)
        return 0;
    tell_group(timeline);
    advance(timeline, NEVER - 1);
    int64_t end_ns = timeline->end_ns[rank], to_ns = timeline->export->selection.to_ns[rank];
    end_ns = end_ns > to_ns ? to_ns : end_ns;
    end_ns = end_ns == EXPORT_NOTHING || end_ns < timeline->last_ns ? timeline->last_ns : end_ns;
    for (size_t i = 0; i < timeline->n_lanes; i++)
        while (timeline->lanes[i].n_open > 0) {
            innermost(&timeline->lanes[i])->end_ns = end_ns;
            timeline_leave(timeline, &timeline->lanes[i]);
        }
    map_clear(&timeline->lane_of_site);
    return listener->rank_end(listener->context, (uint32_t)rank, end_ns);
}

/* Ends the rank that was there, begins those up to `rank`; at_ns: of its first event, EXPORT_NOTHING: it has none. */
static int begin_ranks(struct timeline *timeline, int64_t rank, int64_t at_ns)
{
    const struct timeline_listener *listener = timeline->listener;
    const struct selection *selection = &timeline->export->selection;
    while (timeline->rank < rank) {
        if (timeline_end_rank(timeline) != 0)
            return -1;
        do
            timeline->rank++;
        while (timeline->rank < rank && !selection->wanted[timeline->rank]);
        if ((size_t)timeline->rank >= selection->n_ranks || !selection->wanted[timeline->rank]) {
            timeline->rank = -1;
            return 0;
        }
        size_t now = (size_t)timeline->rank;
        int64_t first_ns = timeline->rank == rank ? at_ns : EXPORT_NOTHING, begin_ns = timeline->begin_ns[now];
        if (begin_ns != EXPORT_NOTHING && begin_ns < selection->from_ns[now] &&
            selection->from_ns[now] <= selection->to_ns[now])
            begin_ns = selection->from_ns[now];
        if (begin_ns == EXPORT_NOTHING || (first_ns != EXPORT_NOTHING && first_ns < begin_ns))
            begin_ns = first_ns != EXPORT_NOTHING ? first_ns : 0;
        timeline->last_ns = begin_ns;
        listener->rank_begin(listener->context, (uint32_t)now, begin_ns);
    }
    return 0;
}

static int timeline_take_row(struct timeline *timeline, const struct timeline_row *row)
{
    const struct timeline_row *first = timeline->group;
    if (timeline->n_group > 0 && first->rank == row->rank && first->at_ns != row->at_ns)
        tell_group(timeline);
    if (timeline->rank != row->rank && begin_ranks(timeline, row->rank, row->at_ns) != 0)
        return -1;
    ARRAY_ADD(timeline->group, timeline->n_group, *row);
    return 0;
}

/* Reads how long the processes ran, and whether their threads may be in MPI at once. */
static int read_processes(struct timeline *timeline)
{
    struct export *export = timeline->export;
    struct cursor rows;
    size_t n = export->selection.n_ranks;
    timeline->begin_ns = xcalloc(n, sizeof *timeline->begin_ns);
    timeline->end_ns = xcalloc(n, sizeof *timeline->end_ns);
    export_query(export, &rows,
                 "SELECT begin_ns, end_ns, thread_level = 'MPI_THREAD_MULTIPLE' FROM process, run ORDER BY rank");
    for (size_t i = 0; i < n && cursor_next(&rows); i++) {
        timeline->begin_ns[i] = integer_or_nothing(&rows, 0);
        timeline->end_ns[i] = integer_or_nothing(&rows, 1);
        timeline->threads = cursor_integer(&rows, 2) != 0;
    }
    return cursor_close(&rows);
}

static int timeline_read_rows(struct timeline *timeline)
{
    struct export *export = timeline->export;
    struct progress progress;
    struct timeline_row row;
    size_t n = 0;
    progress_start(&progress, "export: rows of the trace");
    export_query(export, &timeline->rows, rows_sql);
    cursor_bind(&timeline->rows, "i", (int64_t) export->selection.all);
    while (cursor_next(&timeline->rows)) {
        progress_step(&progress, ++n);
        if (timeline_read_row(timeline, &row) != 0 || timeline_take_row(timeline, &row) != 0)
            timeline->rows.result = -1;
    }
    progress_end(&progress);
    return cursor_close(&timeline->rows);
}

static void timeline_release(struct timeline *timeline)
{
    for (size_t i = 0; i < timeline->n_lanes; i++) {
        for (size_t k = 0; k < timeline->lanes[i].n_open; k++)
            free(timeline->lanes[i].open[k].ops);
        free(timeline->lanes[i].open);
    }
    free(timeline->lanes);
    free(timeline->due);
    free(timeline->group);
    free(timeline->calls);
    free(timeline->begin_ns);
    free(timeline->end_ns);
    map_release(&timeline->lane_of_site);
}

int timeline_read(struct export *export, const struct export_names *names, const struct timeline_listener *listener)
{
    struct timeline timeline = {.export = export, .names = names, .listener = listener, .rank = -1};
    int result = read_processes(&timeline) != 0 ? -1 : timeline_read_rows(&timeline);
    if (result == 0 && export->selection.n_ranks > 0)
        result = begin_ranks(&timeline, (int64_t) export->selection.n_ranks, EXPORT_NOTHING);
    timeline_release(&timeline);
    return result;
}
