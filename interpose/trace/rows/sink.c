/* Finding rows need not wait for SQLite, so a thread of its own inserts them: one set of batches fills while the other
 * is inserted. Millions of messages share few combinations of function, call site, level and flags: each combination, a
 * form, is stored once, which keeps the largest table of a trace small. */
#include "interpose/trace/rows/sink.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/database/row.h"
#include "interpose/trace/gather/place.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/saturating.h"

/* Marks NULL in a row. An id that is NULL becomes 1, 2, ... in the order of rows: SQLite then appends to the table,
 * without looking whether the id is there already. */
#define FEED_NULL TRACE_NO_TIME

/* Rows in memory as a table that SQLite reads: "INSERT INTO call_row SELECT * FROM feed_call_row" takes a whole batch
 * in one statement. SQLite then stays at the end of the table that it fills; with a statement for each row it would
 * begin, descend the tree and end for each. Feeds are virtual tables (sqlite.org/vtab.html), eponymous only: the table
 * has its module's name, and no statement can make or change one. It can only be scanned from the first row to the
 * last. */
struct feed {
    const char *table; /* the table that it fills; the feed itself is called feed_... */
    const char *into;  /* the same with the columns that are filled; NULL: all are */
    size_t columns;
    /* Returns the text that a value of a column stands for, NULL for a column of numbers; may be NULL itself. */
    const char *(*text)(int column, int64_t value);
    const int64_t *values; /* [n_values] row by row, in the order of the table's columns */
    size_t n_values;
    sqlite3_stmt *statement;
};

struct table {
    sqlite3_vtab base;
    const struct feed *feed;
};

struct feed_cursor {
    sqlite3_vtab_cursor base;
    const struct feed *feed;
    const int64_t *row, *end;
};

static int connect_table(sqlite3 *database, void *context, int argc, const char *const *argv, sqlite3_vtab **made,
                         char **error)
{
    (void)argc, (void)argv, (void)error;
    const struct feed *feed = context;
    char sql[512];
    int used = snprintf(sql, sizeof sql, "CREATE TABLE feed(c0");
    for (size_t i = 1; i < feed->columns; i++)
        used += snprintf(sql + used, sizeof sql - (size_t)used, ",c%zu", i);
    snprintf(sql + used, sizeof sql - (size_t)used, ")");
    int result = sqlite3_declare_vtab(database, sql);
    if (result != SQLITE_OK)
        return result;
    struct table *table = xcalloc(1, sizeof *table);
    table->feed = feed;
    *made = &table->base;
    return SQLITE_OK;
}

static int disconnect_table(sqlite3_vtab *table)
{
    free(table);
    return SQLITE_OK;
}

static int plan_scan(sqlite3_vtab *table, sqlite3_index_info *plan)
{
    (void)table;
    plan->estimatedCost = 1e6;
    return SQLITE_OK;
}

static int open_cursor(sqlite3_vtab *table, sqlite3_vtab_cursor **opened)
{
    struct feed_cursor *cursor = xcalloc(1, sizeof *cursor);
    cursor->feed = ((const struct table *)table)->feed;
    *opened = &cursor->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *cursor)
{
    free(cursor);
    return SQLITE_OK;
}

static int go_first(sqlite3_vtab_cursor *base, int plan, const char *plan_text, int argc, sqlite3_value **argv)
{
    (void)plan, (void)plan_text, (void)argc, (void)argv;
    struct feed_cursor *cursor = (struct feed_cursor *)base;
    cursor->row = cursor->feed->values;
    cursor->end = cursor->row + cursor->feed->n_values;
    return SQLITE_OK;
}

static int go_next(sqlite3_vtab_cursor *cursor)
{
    ((struct feed_cursor *)cursor)->row += ((struct feed_cursor *)cursor)->feed->columns;
    return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *cursor)
{
    return ((struct feed_cursor *)cursor)->row >= ((struct feed_cursor *)cursor)->end;
}

/* Apart, so that a column of numbers, of which there are millions, costs few instructions. */
static __attribute__((noinline)) int get_text(const struct feed *feed, sqlite3_context *result, int column,
                                              int64_t value)
{
    const char *text = feed->text(column, value);
    if (text != NULL)
        sqlite3_result_text(result, text, -1, SQLITE_STATIC);
    else if (value != FEED_NULL)
        sqlite3_result_int64(result, value);
    return SQLITE_OK;
}

static int get_column(sqlite3_vtab_cursor *base, sqlite3_context *result, int column)
{
    const struct feed_cursor *cursor = (const struct feed_cursor *)base;
    int64_t value = cursor->row[column];
    if (cursor->feed->text != NULL)
        return get_text(cursor->feed, result, column, value);
    if (value != FEED_NULL)
        sqlite3_result_int64(result, value);
    return SQLITE_OK;
}

static int get_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *id)
{
    *id = ((struct feed_cursor *)base)->row - ((struct feed_cursor *)base)->feed->values;
    return SQLITE_OK;
}

static const sqlite3_module module_rows = {
    .xConnect = connect_table,
    .xBestIndex = plan_scan,
    .xDisconnect = disconnect_table,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = go_first,
    .xNext = go_next,
    .xEof = at_end,
    .xColumn = get_column,
    .xRowid = get_rowid,
};

/* Makes the feed known to the database; it must stay where it is until feed_end. Returns 0, or -1: the database says
 * why. */
static int feed_begin(struct feed *feed, sqlite3 *database)
{
    char name[64], sql[256];
    snprintf(name, sizeof name, "feed_%s", feed->table);
    snprintf(sql, sizeof sql, "INSERT INTO %s SELECT * FROM %s", feed->into != NULL ? feed->into : feed->table, name);
    return sqlite3_create_module(database, name, &module_rows, feed) != SQLITE_OK ||
                   sqlite3_prepare_v3(database, sql, -1, SQLITE_PREPARE_PERSISTENT, &feed->statement, NULL) != SQLITE_OK
               ? -1
               : 0;
}

/* Inserts the rows, in their order. Returns 0, or -1: the database says why. */
static int feed_insert(struct feed *feed, const int64_t *values, size_t n_values)
{
    if (n_values == 0)
        return 0;
    feed->values = values;
    feed->n_values = n_values;
    int result = sqlite3_step(feed->statement);
    sqlite3_reset(feed->statement);
    return result == SQLITE_DONE ? 0 : -1;
}

/* The database keeps the name of the feed, which must not be used again. */
static void feed_end(struct feed *feed)
{
    sqlite3_finalize(feed->statement);
    feed->statement = NULL;
}

/* The table with its rows' numbers. */
#define CALL_ROW_NUMBERED "call_row(rowid, rank, function, begin_ns, call_ns, completed, idle_calls, callsite)"

struct form {
    int32_t level; /* enum level, -1: not known */
    uint32_t send_callsite;
    uint32_t recv_callsite;
    uint16_t send_function;
    uint16_t recv_function;
    int8_t send_completed; /* operations that the posting call completed, -1: another operation stands for the call */
    int8_t recv_completed;
    bool any_source;
    bool any_tag;
    uint8_t uncertain;   /* enum trace_doubt */
    uint8_t send_memory; /* enum spool_memory */
    uint8_t recv_memory;
    int64_t messages, bytes; /* of all messages of the form */
};

/* Returns the id of the form, from 1. */
static int64_t form_of(struct sink *sink, const struct form *form)
{
    uint64_t flags = (uint64_t)form->any_source | (uint64_t)form->any_tag << 1 | (uint64_t)form->uncertain << 24 |
                     (uint64_t)(uint8_t)form->send_completed << 8 | (uint64_t)(uint8_t)form->recv_completed << 16 |
                     (uint64_t)(uint8_t)form->level << 32 | (uint64_t)form->send_memory << 40 |
                     (uint64_t)form->recv_memory << 48;
    struct map_key key = {(uint64_t)form->send_callsite << 32 | form->recv_callsite,
                          (uint64_t)form->send_function << 32 | form->recv_function, flags};
    uint32_t index = map_number(&sink->form_numbers, key, sink->n_forms);
    if (index == sink->n_forms)
        TRACE_ADD(sink->forms, sink->n_forms, *form);
    return (int64_t)index + 1;
}

bool sink_form_has(const struct sink *sink, size_t index, uint8_t doubt)
{
    return (sink->forms[index].uncertain & doubt) != 0;
}

int64_t sink_twin(struct sink *sink, size_t index, uint8_t doubt, int64_t messages, int64_t bytes)
{
    struct form twin = sink->forms[index];
    twin.uncertain |= doubt;
    twin.messages = messages;
    twin.bytes = bytes;
    sink->forms[index].messages -= messages;
    sink->forms[index].bytes -= bytes;
    TRACE_ADD(sink->forms, sink->n_forms, twin);
    return (int64_t)sink->n_forms;
}

#define MEMORY_TEXT 16

/* Returns the memory as the trace names it, NULL for that of the host. */
static const char *memory_text(unsigned memory, char text[MEMORY_TEXT])
{
    static const char *const kinds[] = {NULL, "pinned", "device", "managed"};
    const char *kind = kinds[memory & SPOOL_MEMORY_KIND];
    if ((memory & SPOOL_MEMORY_KIND) < SPOOL_MEMORY_DEVICE)
        return kind;
    snprintf(text, MEMORY_TEXT, "%s %u", kind, memory >> SPOOL_MEMORY_GPU_SHIFT);
    return text;
}

int sink_write_forms(const struct sink *sink)
{
    struct row row = row_prepare(sink->database, "form", 13);
    for (uint32_t i = 0; i < sink->n_forms; i++) {
        const struct form *form = &sink->forms[i];
        char texts[2][MEMORY_TEXT];
        row_insert(&row, "kniiuubbbnntt", i, form->level, function_id(form->send_function),
                   function_id(form->recv_function), form->send_callsite, form->recv_callsite, form->any_source,
                   form->any_tag, form->uncertain, form->send_completed, form->recv_completed,
                   memory_text(form->send_memory, texts[0]), memory_text(form->recv_memory, texts[1]));
    }
    return row_finish(&row);
}

int sink_write_form_sums(const struct sink *sink)
{
    struct row row = row_prepare(sink->database, "form_sum", 3);
    for (uint32_t i = 0; i < sink->n_forms; i++)
        row_insert(&row, "kii", i, sink->forms[i].messages, sink->forms[i].bytes);
    return row_finish(&row);
}

static int write_functions(sqlite3 *database)
{
    struct row row = row_prepare(database, "function", 2);
    for (uint16_t i = 0; i < FN_COUNT; i++)
        row_insert(&row, "it", function_id(i), function_name(i));
    return row_finish(&row);
}

/* Columns of the table unmatched whose text a number stands for. */
enum { UNMATCHED_DIRECTION = 2, UNMATCHED_REASON = 7, UNMATCHED_FUNCTION = 10 };

static const char *unmatched_text(int column, int64_t value)
{
    static const char *const reasons[] = {
        [REASON_MATCHED] = "unmatched", [REASON_PARTNER_LOST] = "partner_lost", [REASON_CANCELLED] = "cancelled",
        [REASON_FAILED] = "failed",     [REASON_PROC_NULL] = "proc_null",       [REASON_FREED] = "freed",
        [REASON_PENDING] = "pending",   [REASON_UNMATCHED] = "unmatched",       [REASON_CUT_OFF] = "cut_off"};
    switch (column) {
    case UNMATCHED_DIRECTION:
        return value == SPOOL_SEND ? "send" : "receive";
    case UNMATCHED_REASON:
        return reasons[value];
    case UNMATCHED_FUNCTION:
        return function_name((uint16_t)value);
    default:
        return NULL;
    }
}

static const struct feed tables[SINK_TABLES] = {
    [SINK_MESSAGES] = {.table = "message_row", .columns = 17},
    [SINK_UNMATCHED] = {.table = "unmatched", .columns = 12, .text = unmatched_text},
    [SINK_CALLS] = {.table = "call_row", .columns = 7},
    [SINK_ROUNDS] = {.table = "round", .columns = 5},
    [SINK_MEMBERS] = {.table = "round_process", .columns = 5},
    [SINK_MESSAGE_SUMS] = {.table = "message_sum", .columns = 11},
    [SINK_KIND_SUMS] = {.table = "kind_sum", .columns = 10},
};

/* In a shard the ids and numbers of rows are those that they would have in one file. */
static const struct feed shard_feeds[SINK_TABLES] = {
    [SINK_MESSAGES] = {.table = "message_row", .columns = 17},
    [SINK_CALLS] = {.table = "call_row", .into = CALL_ROW_NUMBERED, .columns = 8},
    [SINK_MEMBERS] = {.table = "round_process", .columns = 5},
};

static void *insert_batches(void *argument)
{
    struct sink_file *file = argument;
    struct feed feeds[SINK_TABLES];
    memcpy(feeds, file->is_shard ? shard_feeds : tables, sizeof feeds);
    bool failed = false;
    for (size_t i = 0; i < SINK_TABLES; i++)
        failed = failed || (file->takes[i] && feed_begin(&feeds[i], file->database) != 0);
    pthread_mutex_lock(&file->lock);
    for (;;) {
        while (!file->full && !file->ended)
            pthread_cond_wait(&file->changed, &file->lock);
        if (!file->full)
            break;
        const struct sink_batch *batches = file->batches[1 - file->filling];
        pthread_mutex_unlock(&file->lock);
        for (size_t i = 0; i < SINK_TABLES; i++) /* the database keeps the first failure */
            failed = failed || feed_insert(&feeds[i], batches[i].values, batches[i].n_values) != 0;
        pthread_mutex_lock(&file->lock);
        file->failed = failed;
        file->full = false;
        pthread_cond_broadcast(&file->changed);
    }
    pthread_mutex_unlock(&file->lock);
    for (size_t i = 0; i < SINK_TABLES; i++)
        feed_end(&feeds[i]);
    return NULL;
}

static int file_begin(struct sink_file *file, sqlite3 *database, bool is_shard, bool has_shards)
{
    *file = (struct sink_file){.database = database, .is_shard = is_shard, .begin_ns = INT64_MAX, .end_ns = INT64_MIN};
    for (size_t i = 0; i < SINK_TABLES; i++)
        file->takes[i] = !has_shards || (shard_feeds[i].table != NULL) == is_shard;
    pthread_mutex_init(&file->lock, NULL);
    pthread_cond_init(&file->changed, NULL);
    return pthread_create(&file->thread, NULL, insert_batches, file);
}

/* Ends the thread, after its last row. Returns 0, or -1 where it failed. */
static int file_end(struct sink_file *file)
{
    pthread_mutex_lock(&file->lock);
    file->ended = true;
    pthread_cond_broadcast(&file->changed);
    pthread_mutex_unlock(&file->lock);
    pthread_join(file->thread, NULL);
    for (size_t i = 0; i < SINK_TABLES; i++)
        FREE_ALL(file->batches[0][i].values, file->batches[1][i].values);
    return file->failed ? -1 : 0;
}

int sink_begin(struct sink *sink, sqlite3 *database, bool calls, const struct sink_shards *shards)
{
    *sink = (struct sink){.database = database, .calls = calls, .shards = shards};
    if (write_functions(database) != 0)
        return -1;
    sink->files = xcalloc(shards->n + 1, sizeof *sink->files);
    for (int result = 0; sink->n_files <= shards->n; sink->n_files++) {
        size_t i = sink->n_files;
        result = file_begin(&sink->files[i], i == 0 ? database : shards->databases[i - 1], i > 0, shards->n > 0);
        if (result == 0)
            continue;
        while (sink->n_files-- > 0)
            file_end(&sink->files[sink->n_files]);
        free(sink->files);
        return result;
    }
    return 0;
}

static int file_flush(struct sink_file *file)
{
    pthread_mutex_lock(&file->lock);
    while (file->full)
        pthread_cond_wait(&file->changed, &file->lock);
    bool failed = file->failed;
    if (!failed) {
        file->filling = 1 - file->filling;
        for (size_t i = 0; i < SINK_TABLES; i++)
            file->batches[file->filling][i].n_values = 0;
        file->full = true;
        pthread_cond_broadcast(&file->changed);
    }
    pthread_mutex_unlock(&file->lock);
    return failed ? -1 : 0;
}

int sink_flush(struct sink *sink)
{
    int result = 0;
    for (size_t i = 0; i < sink->n_files; i++)
        result |= file_flush(&sink->files[i]);
    return result;
}

int sink_end(struct sink *sink)
{
    int result = sink_flush(sink);
    for (size_t i = 0; i < sink->n_files; i++)
        result |= file_end(&sink->files[i]);
    return result;
}

void sink_release(struct sink *sink)
{
    free(sink->files);
    free(sink->forms);
    map_release(&sink->form_numbers);
}

static void file_add(struct sink_file *file, enum sink_table table, size_t n, const int64_t *values)
{
    struct sink_batch *batch = &file->batches[file->filling][table];
    array_reserve(&batch->values, &batch->capacity, batch->n_values + n, sizeof *values);
    memcpy(batch->values + batch->n_values, values, n * sizeof *values);
    batch->n_values += n;
    file->rows[table]++;
}

void sink_add(struct sink *sink, enum sink_table table, const int64_t *values)
{
    file_add(&sink->files[0], table, tables[table].columns, values);
}

/* Returns the file of the rows of a rank. */
static struct sink_file *file_of(const struct sink *sink, uint32_t rank)
{
    return &sink->files[sink->shards->n == 0 ? 0 : 1 + sink->shards->of_rank[rank]];
}

/* Notes that a row of the file lies between these times. */
static void widen(struct sink_file *file, int64_t begin_ns, int64_t end_ns)
{
    file->begin_ns = begin_ns < file->begin_ns ? begin_ns : file->begin_ns;
    file->end_ns = end_ns > file->end_ns ? end_ns : file->end_ns;
}

static int64_t length_of(int64_t begin_ns, int64_t end_ns)
{
    return end_ns == TRACE_NO_TIME ? FEED_NULL : end_ns - begin_ns;
}

/* Returns NULL for a number that is not known, as it stands for none. */
static int64_t known(int64_t number, int64_t none)
{
    return number == none ? FEED_NULL : number;
}

/* Returns the form of a message: what it has in common with others. */
static int64_t form_of_message(struct sink *sink, const struct trace *trace, const struct trace_operation *send,
                               const struct trace_operation *receive)
{
    struct form form = {.level = message_level(trace, send, receive),
                        .send_callsite = send->callsite,
                        .recv_callsite = receive->callsite,
                        .send_function = send->function,
                        .recv_function = receive->function,
                        .send_completed = send->completed,
                        .recv_completed = receive->completed,
                        .any_source = (receive->flags & SPOOL_ANY_SOURCE) != 0,
                        .any_tag = (receive->flags & SPOOL_ANY_TAG) != 0,
                        .uncertain = receive->uncertain,
                        .send_memory = send->memory,
                        .recv_memory = receive->memory};
    return form_of(sink, &form);
}

int64_t sink_message(struct sink *sink, const struct trace *trace, const struct trace_operation *send,
                     const struct trace_operation *receive, int64_t round, int64_t *form)
{
    struct sink_file *file = file_of(sink, receive->rank);
    *form = form_of_message(sink, trace, send, receive);
    struct form *sums = &sink->forms[*form - 1];
    sums->messages++;
    sums->bytes = saturating_add(sums->bytes, (int64_t)send->bytes);
    const int64_t values[] = {
        file->is_shard ? sink->n_messages + 1 : FEED_NULL,
        send->rank,
        receive->rank,
        receive->communicator,
        send->tag,
        (int64_t)send->bytes,
        *form,
        known(round, 0),
        send->post_ns,
        length_of(send->post_ns, send->complete_ns),
        receive->post_ns - send->post_ns,
        length_of(receive->post_ns, receive->complete_ns),
        (int64_t)(receive->bytes - send->bytes),
        known(send->cpu_post, -1),
        known(receive->cpu_post, -1),
        sink->calls ? send->post_end_ns - send->post_ns : FEED_NULL,
        sink->calls ? receive->post_end_ns - receive->post_ns : FEED_NULL,
    };
    file_add(file, SINK_MESSAGES, sizeof values / sizeof *values, values);
    widen(file, send->post_ns < receive->post_ns ? send->post_ns : receive->post_ns, receive->post_end_ns);
    widen(file, send->post_ns, receive->complete_ns);
    return ++sink->n_messages;
}

void sink_operation_call(struct sink *sink, const struct trace_operation *operation)
{
    if (operation->completed >= 0)
        sink_call(sink, (struct call_row){.begin_ns = operation->post_ns,
                                          .call_ns = operation->post_end_ns - operation->post_ns,
                                          .rank = operation->rank,
                                          .completed = (uint32_t)operation->completed,
                                          .callsite = operation->callsite,
                                          .function = operation->function});
}

int64_t sink_unmatched(struct sink *sink, const struct trace_operation *operation)
{
    const int64_t values[] = {
        ++sink->n_unmatched,
        operation->rank,
        [UNMATCHED_DIRECTION] = operation->direction,
        known(operation->peer_world, -1),
        operation->communicator,
        operation->tag < 0 ? FEED_NULL : operation->tag,
        (int64_t)operation->bytes,
        [UNMATCHED_REASON] = operation->reason,
        operation->post_ns,
        operation->complete_ns,
        [UNMATCHED_FUNCTION] = operation->function,
        known(operation->callsite, TRACE_NONE),
    };
    sink_add(sink, SINK_UNMATCHED, values);
    sink_operation_call(sink, operation);
    return sink->n_unmatched;
}

void sink_call(struct sink *sink, struct call_row row)
{
    if (!sink->calls)
        return;
    struct sink_file *file = file_of(sink, row.rank);
    const int64_t values[] = {
        ++sink->n_calls, row.rank,       function_id(row.function),      row.begin_ns, row.call_ns,
        row.completed,   row.idle_calls, known(row.callsite, TRACE_NONE)};
    size_t unnumbered = file->is_shard ? 0 : 1;
    file_add(file, SINK_CALLS, sizeof values / sizeof *values - unnumbered, values + unnumbered);
    widen(file, row.begin_ns, row.begin_ns + row.call_ns);
    file->idle_calls += row.idle_calls;
}

void sink_late_calls_begin(struct sink *sink)
{
    bool has_shards = sink->shards->n > 0;
    for (size_t i = 0; sink->calls && i < sink->n_files; i++)
        if (sink->files[i].is_shard == has_shards)
            sink->files[i].late_calls = row_prepare(sink->files[i].database, CALL_ROW_NUMBERED, 8);
}

void sink_late_call(struct sink *sink, struct call_row row)
{
    if (!sink->calls)
        return;
    struct sink_file *file = file_of(sink, row.rank);
    row_insert(&file->late_calls, "iuiiiuuu", ++sink->n_calls, row.rank, function_id(row.function), row.begin_ns,
               row.call_ns, row.completed, row.idle_calls, row.callsite);
    file->rows[SINK_CALLS]++;
    widen(file, row.begin_ns, row.begin_ns + row.call_ns);
}

int sink_late_calls_end(struct sink *sink)
{
    int result = 0;
    for (size_t i = 0; sink->calls && i < sink->n_files; i++)
        if (sink->files[i].late_calls.statement != NULL || sink->files[i].late_calls.failed)
            result |= row_finish(&sink->files[i].late_calls);
    return result;
}

void sink_round(struct sink *sink, uint32_t kind, int64_t begin_ns, int64_t end_ns, int64_t first_message)
{
    sink_add(sink, SINK_ROUNDS, (const int64_t[]){FEED_NULL, (int64_t)kind + 1, begin_ns, end_ns, first_message});
}

void sink_member(struct sink *sink, int64_t round, uint32_t rank, int64_t begin_ns, int64_t end_ns, int64_t in_mpi_ns)
{
    file_add(file_of(sink, rank), SINK_MEMBERS, 5, (const int64_t[]){round, rank, begin_ns, end_ns, in_mpi_ns});
}
