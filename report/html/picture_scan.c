/* A trace may have 1e8 messages, so that all pictures share one pass over their rows, which several threads do side by
 * side (interpose/database/row_parts.h), each with sums of its own. Rows are numbers: what is the same for many
 * messages, their form, is looked up here instead of joined. Sums are integers, or added up in an order that the trace
 * alone decides, so that the page is the same with any number of threads. */
#include "report/html/picture_scan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/database/cursor.h"
#include "interpose/database/row_parts.h"
#include "report/html/pictures.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/order.h"
#include "share/base/saturating.h"
#include "share/base/side_by_side.h"

enum { LINES_MOST = 2000 };

#define NO_ACTIVITY SPENT_COUNT

/* One side of the messages of a form. */
struct scan_side {
    enum report_activity_kind activity; /* NO_ACTIVITY: another operation stands for its call */
    int64_t function, callsite;
};

struct scan_form {
    size_t level; /* LEVEL_COUNT: not known */
    struct scan_side send, receive;
};

/* What a message of a level takes alone, from some bytes on. */
struct scan_rate {
    size_t level;
    double from_bytes, below_bytes, tau_s, bytes_per_s;
};

/* What is known before rows are read. */
struct scan {
    const struct picture_source *source;
    struct row_parts parts;
    struct map numbers; /* of forms by their ids */
    struct scan_form *forms;
    size_t n_forms;
    struct map functions;                  /* index of the activity of a function by its id */
    enum report_activity_kind *activities; /* [n_activities] */
    size_t n_activities;
    struct scan_rate *rates;
    size_t n_rates;
    struct picture_rows *found; /* [parts.n] */
    double begin_ns, width_ns;  /* of a column */
    int64_t lines_below;        /* of 2^32: messages whose hash is below it are drawn */
    bool wants_bars;
};

/* What a part reads. */
struct scan_part {
    const struct scan *scan;
    struct picture_rows *rows;
    const struct scan_form *form; /* the last one, of form_id; NULL: not in the table */
    int64_t form_id;
    size_t file_lines; /* of the lines those of this file */
    int64_t n_taken;   /* rows of the table that is read */
};

const char *picture_machine(const struct report *report)
{
    size_t best = report_best_model(report);
    return best < report->n_models  ? report->models[best].machine
           : report->replay.id >= 0 ? report->replay.machine
                                    : "";
}

static struct map_key key_of(int64_t id)
{
    return (struct map_key){(uint64_t)id, 0, 0};
}

static enum report_activity_kind activity_of(const struct scan *scan, int64_t function)
{
    uint32_t at = map_find(&scan->functions, key_of(function));
    return at == MAP_ABSENT ? NO_ACTIVITY : scan->activities[at];
}

static int read_scan_functions(struct scan *scan)
{
    struct cursor rows;
    struct pool names = {0};
    picture_query(&rows, scan->source, "SELECT id, name FROM function WHERE id >= 0", "");
    while (cursor_next(&rows)) {
        *map_at(&scan->functions, key_of(cursor_integer(&rows, 0))) = (uint32_t)scan->n_activities;
        ARRAY_ADD(scan->activities, scan->n_activities, activity_kind(cursor_text(&rows, 1, &names)));
    }
    pool_release(&names);
    return cursor_close(&rows);
}

static struct scan_side scan_side_of(const struct scan *scan, struct cursor *rows, int column)
{
    bool stands = sqlite3_column_type(rows->statement, column + 2) != SQLITE_NULL;
    int64_t function = cursor_integer(rows, column);
    return (struct scan_side){stands ? activity_of(scan, function) : NO_ACTIVITY, function,
                              cursor_integer(rows, column + 1)};
}

static int read_scan_forms(struct scan *scan)
{
    struct cursor rows;
    picture_query(&rows, scan->source,
                  "SELECT id, coalesce(level, -1), send_function, coalesce(send_callsite, -1), send_completed, "
                  "recv_function, coalesce(recv_callsite, -1), recv_completed FROM form",
                  "");
    while (cursor_next(&rows)) {
        int64_t level = cursor_integer(&rows, 1);
        struct scan_form form = {.level = level >= 0 && level < LEVEL_COUNT ? (size_t)level : LEVEL_COUNT,
                                 .send = scan_side_of(scan, &rows, 2),
                                 .receive = scan_side_of(scan, &rows, 5)};
        *map_at(&scan->numbers, key_of(cursor_integer(&rows, 0))) = (uint32_t)scan->n_forms;
        ARRAY_ADD(scan->forms, scan->n_forms, form);
    }
    return cursor_close(&rows);
}

/* ?1: the name of the machine. A protocol holds from its threshold to that of the next, the first from 0 on. */
static const char rates_sql[] =
    "WITH protocol AS ("
    "  SELECT CASE level WHEN 'intra_socket' THEN 1 WHEN 'inter_socket' THEN 2 WHEN 'inter_node' THEN 3 END AS level, "
    "    protocol, max(CASE quantity WHEN 'threshold' THEN value ELSE 0 END) AS from_bytes, "
    "    max(CASE quantity WHEN 'tau' THEN value ELSE 0 END) AS tau_s, "
    "    max(CASE WHEN quantity = 'bw' AND n = 1 THEN value END) AS bytes_per_s "
    "  FROM machine_parameter WHERE machine = ?1 GROUP BY level, protocol) "
    "SELECT level, CASE row_number() OVER w WHEN 1 THEN 0 ELSE from_bytes END, lead(from_bytes, 1, 9e999) OVER w, "
    "  tau_s, bytes_per_s "
    "FROM protocol WHERE bytes_per_s > 0 AND level IS NOT NULL WINDOW w AS (PARTITION BY level ORDER BY from_bytes)";

static int read_scan_rates(struct scan *scan)
{
    struct cursor rows;
    picture_query(&rows, scan->source, rates_sql, "t", picture_machine(scan->source->report));
    while (cursor_next(&rows))
        ARRAY_ADD(scan->rates, scan->n_rates,
                  (struct scan_rate){(size_t)cursor_integer(&rows, 0), cursor_real(&rows, 1), cursor_real(&rows, 2),
                                     cursor_real(&rows, 3), cursor_real(&rows, 4)});
    return cursor_close(&rows);
}

/* Returns what the message would take alone, 0 where that is not known. */
static double time_alone(const struct scan *scan, size_t level, double bytes)
{
    for (size_t i = 0; i < scan->n_rates; i++) {
        const struct scan_rate *rate = &scan->rates[i];
        if (rate->level == level && bytes >= rate->from_bytes && bytes < rate->below_bytes)
            return rate->tau_s + bytes / rate->bytes_per_s;
    }
    return 0;
}

/* Returns 0 for no bytes, else 1 + the power of two that is not above them. */
static size_t power_of(int64_t bytes)
{
    return bytes > 0 ? 64 - (size_t)__builtin_clzll((unsigned long long)bytes) : 0;
}

/* Adds a call to the columns that it touches. */
static void shade(const struct scan *scan, struct picture_rows *rows, int64_t row, size_t activity, double begin_ns,
                  double end_ns)
{
    double width = scan->width_ns, from = fmax(begin_ns, scan->begin_ns);
    double to = fmin(end_ns, scan->begin_ns + width * TIMELINE_COLUMNS);
    if (!(to > from))
        return;
    size_t column = (size_t)((from - scan->begin_ns) / width);
    for (; column < TIMELINE_COLUMNS && from < to; column++) {
        double end = fmin(scan->begin_ns + width * (double)(column + 1), to);
        rows->shades[((size_t)row * TIMELINE_COLUMNS + column) * SPENT_COUNT + activity] +=
            (uint64_t)(fmax(end - from, 0) / width * SHADE_UNITS + 0.5);
        from = fmax(end, from);
    }
}

static int longer_first(const void *left, const void *right)
{
    const struct timeline_bar *a = left, *b = right;
    return ORDER(b->call_ns, a->call_ns) ?: ORDER(a->source, b->source) ?: ORDER(a->number, b->number);
}

/* Puts a bar into a heap that has the longest ones, the last of them on top. */
static void keep_bar(struct picture_rows *rows, const struct timeline_bar *bar)
{
    struct timeline_bar *bars = rows->bars;
    size_t at;
    if (rows->n_bars < TIMELINE_BARS) {
        for (at = rows->n_bars++; at > 0 && longer_first(&bars[(at - 1) / 2], bar) < 0; at = (at - 1) / 2)
            bars[at] = bars[(at - 1) / 2];
    } else if (longer_first(bar, &bars[0]) > 0) {
        return;
    } else {
        at = 0;
        for (size_t child = 1; child < TIMELINE_BARS; child = 2 * at + 1) {
            if (child + 1 < TIMELINE_BARS && longer_first(&bars[child], &bars[child + 1]) < 0)
                child++;
            if (longer_first(bar, &bars[child]) > 0)
                break;
            bars[at] = bars[child];
            at = child;
        }
    }
    bars[at] = *bar;
}

static void take_one_call(struct scan_part *part, int64_t source, int64_t number, int64_t rank,
                          const struct scan_side *side, int64_t begin_ns, double late_ns, int64_t call_ns)
{
    const struct scan *scan = part->scan;
    struct picture_rows *rows = part->rows;
    if (side->activity == NO_ACTIVITY || rank < 0 || rank >= scan->source->bins.ranks || call_ns < 0)
        return;
    double at_ns = (double)begin_ns + late_ns;
    rows->calls++;
    rows->seen[side->activity] = true;
    if (scan->width_ns > 0)
        shade(scan, rows, rank / scan->source->rows.width, side->activity, at_ns, at_ns + (double)call_ns);
    if (scan->wants_bars)
        keep_bar(rows, &(struct timeline_bar){rank, side->function, side->callsite, side->activity, at_ns, call_ns,
                                              source, number});
}

enum { OF_CALLS, OF_SENDS, OF_RECEIVES };

enum { CALL_RANK, CALL_FUNCTION, CALL_BEGIN, CALL_LENGTH, CALL_SITE, CALL_NUMBER };

#define IS_KNOWN(row, column) (sqlite3_column_type(row, column) != SQLITE_NULL)

/* Returns the row's number; a row of a view has its place. */
static int64_t number_of(struct scan_part *part, sqlite3_stmt *row, int column)
{
    part->n_taken++;
    return IS_KNOWN(row, column) ? sqlite3_column_int64(row, column) : part->n_taken;
}

static int take_call_row(void *context, sqlite3_stmt *row, struct error *error)
{
    struct scan_part *part = context;
    int64_t function = sqlite3_column_int64(row, CALL_FUNCTION);
    const struct scan_side side = {activity_of(part->scan, function), function, sqlite3_column_int64(row, CALL_SITE)};
    (void)error;
    take_one_call(part, OF_CALLS, number_of(part, row, CALL_NUMBER), sqlite3_column_int64(row, CALL_RANK), &side,
                  sqlite3_column_int64(row, CALL_BEGIN), 0, sqlite3_column_int64(row, CALL_LENGTH));
    return 0;
}

enum { MSG_SRC, MSG_DST, MSG_BYTES, MSG_FORM, MSG_POST, MSG_LATE, MSG_RECV, MSG_SEND_CALL, MSG_RECV_CALL, MSG_ID };

static const char message_columns[] =
    "src, dst, bytes, form, send_post_ns, late_ns, recv_ns, send_call_ns, recv_call_ns";

static const struct scan_form *find_form(struct scan_part *part, int64_t id)
{
    if (part->form == NULL || part->form_id != id) {
        uint32_t at = map_find(&part->scan->numbers, key_of(id));
        part->form = at == MAP_ABSENT ? NULL : &part->scan->forms[at];
        part->form_id = id;
    }
    return part->form;
}

static void take_cell(struct scan_part *part, int64_t src, int64_t dst, int64_t bytes, size_t level, int64_t time_ns,
                      bool is_timed)
{
    const struct rank_bins *bins = &part->scan->source->bins;
    struct matrix_cell *cell = &part->rows->cells[src / bins->width * bins->n + dst / bins->width];
    double alone_s = part->scan->n_rates > 0 && is_timed ? time_alone(part->scan, level, (double)bytes) : 0;
    cell->messages++;
    cell->bytes = saturating_add(cell->bytes, bytes);
    if (is_timed)
        cell->time_ns = saturating_add(cell->time_ns, time_ns);
    if (alone_s > 0) {
        cell->timed_ns = saturating_add(cell->timed_ns, time_ns);
        cell->alone_s += alone_s;
    }
}

/* Draws messages by chance: a hash of the number of each decides, so that no regular order of them shows. */
static void take_line(struct scan_part *part, const struct timeline_line *line, bool is_done)
{
    int64_t width = part->scan->source->rows.width;
    uint64_t hash = ((uint64_t)line->id & UINT32_MAX) * UINT64_C(2654435761) & UINT32_MAX;
    if (!is_done || (int64_t)hash >= part->scan->lines_below || line->src / width == line->dst / width ||
        part->file_lines == LINES_MOST)
        return;
    ARRAY_ADD(part->rows->lines, part->rows->n_lines, *line);
    part->file_lines++;
}

static int take_message_row(void *context, sqlite3_stmt *row, struct error *error)
{
    struct scan_part *part = context;
    int64_t ranks = part->scan->source->bins.ranks;
    int64_t src = sqlite3_column_int64(row, MSG_SRC), dst = sqlite3_column_int64(row, MSG_DST);
    int64_t bytes = sqlite3_column_int64(row, MSG_BYTES), post_ns = sqlite3_column_int64(row, MSG_POST);
    int64_t late_ns = sqlite3_column_int64(row, MSG_LATE), recv_ns = sqlite3_column_int64(row, MSG_RECV);
    int64_t number = number_of(part, row, MSG_ID);
    bool is_done = IS_KNOWN(row, MSG_RECV);
    const struct scan_form *form = find_form(part, sqlite3_column_int64(row, MSG_FORM));
    size_t level = form == NULL ? LEVEL_COUNT : form->level;
    (void)error;
    if (bytes >= 0) {
        struct size_sum *sum = &part->rows->sizes[level][power_of(bytes)];
        sum->messages++;
        sum->bytes = saturating_add(sum->bytes, bytes);
    }
    if (src >= 0 && src < ranks && dst >= 0 && dst < ranks) {
        int64_t time_ns = saturating_add(recv_ns, late_ns < 0 ? late_ns : 0);
        if (form != NULL)
            take_cell(part, src, dst, bytes, level, time_ns > 0 ? time_ns : 0, is_done);
        take_line(part,
                  &(struct timeline_line){number, src, dst, bytes, (double)post_ns,
                                          (double)post_ns + (double)late_ns + (double)recv_ns},
                  is_done && recv_ns >= 0);
    }
    if (form != NULL && IS_KNOWN(row, MSG_SEND_CALL))
        take_one_call(part, OF_SENDS, number, src, &form->send, post_ns, 0, sqlite3_column_int64(row, MSG_SEND_CALL));
    if (form != NULL && IS_KNOWN(row, MSG_RECV_CALL))
        take_one_call(part, OF_RECEIVES, number, dst, &form->receive, post_ns, (double)late_ns,
                      sqlite3_column_int64(row, MSG_RECV_CALL));
    return 0;
}

static void rows_init(struct picture_rows *rows, const struct picture_source *source)
{
    *rows = (struct picture_rows){0};
    rows->cells = xcalloc((size_t)(source->bins.n * source->bins.n), sizeof *rows->cells);
    rows->shades = xcalloc((size_t)source->rows.n * TIMELINE_COLUMNS * SPENT_COUNT, sizeof *rows->shades);
    rows->bars = xcalloc(source->rows.width == 1 ? TIMELINE_BARS : 1, sizeof *rows->bars);
}

void picture_rows_release(struct picture_rows *rows)
{
    FREE_ALL(rows->cells, rows->shades, rows->bars, rows->lines);
    *rows = (struct picture_rows){0};
}

static int begin_file(void *context, sqlite3 *database)
{
    struct scan_part *part = context;
    (void)database;
    part->file_lines = 0;
    return 0;
}

static int scan_part(void *context, size_t number, struct error *error)
{
    const struct scan *scan = context;
    static const struct row_reader messages = {
        .table = SHARD_MESSAGES, .columns = message_columns, .take = take_message_row, .prepare = begin_file};
    static const struct row_reader calls = {.table = SHARD_CALLS,
                                            .columns = "rank, function, begin_ns, call_ns, coalesce(callsite, -1)",
                                            .take = take_call_row};
    struct scan_part part = {.scan = scan, .rows = &scan->found[number]};
    rows_init(part.rows, scan->source);
    if (row_parts_read(&scan->parts, number, &messages, &part, error) != 0)
        return -1;
    part.n_taken = 0;
    return row_parts_read(&scan->parts, number, &calls, &part, error);
}

/* Of traces without calls rounds and collectives are drawn in their place. */
static int scan_rounds(struct scan *scan, struct picture_rows *into)
{
    struct scan_part part = {.scan = scan, .rows = into};
    struct cursor rows;
    picture_query(&rows, scan->source,
                  "SELECT 0, rank, begin_ns, end_ns - begin_ns, -1 FROM round_process "
                  "UNION ALL SELECT 1, rank, begin_ns, call_ns, coalesce(callsite, -1) FROM collective",
                  "");
    while (cursor_next(&rows)) {
        bool is_round = cursor_integer(&rows, 0) == 0;
        const struct scan_side side = {is_round ? SPENT_MESSAGES : SPENT_COLLECTIVES,
                                       is_round ? SCAN_ROUND : SCAN_COLLECTIVE, cursor_integer(&rows, 4)};
        take_one_call(&part, OF_CALLS, ++part.n_taken, cursor_integer(&rows, 1), &side, cursor_integer(&rows, 2), 0,
                      cursor_integer(&rows, 3));
    }
    return cursor_close(&rows);
}

static int by_id(const void *left, const void *right)
{
    const struct timeline_line *a = left, *b = right;
    return ORDER(a->id, b->id);
}

static void add_part(struct picture_rows *rows, const struct picture_rows *part, const struct picture_source *source)
{
    for (int64_t i = 0; i < source->bins.n * source->bins.n; i++) {
        struct matrix_cell *cell = &rows->cells[i];
        const struct matrix_cell *more = &part->cells[i];
        cell->messages += more->messages;
        cell->bytes = saturating_add(cell->bytes, more->bytes);
        cell->time_ns = saturating_add(cell->time_ns, more->time_ns);
        cell->timed_ns = saturating_add(cell->timed_ns, more->timed_ns);
        cell->alone_s += more->alone_s;
    }
    for (size_t level = 0; level < SIZE_LEVELS; level++)
        for (size_t power = 0; power < SIZE_POWERS; power++) {
            struct size_sum *sum = &rows->sizes[level][power];
            sum->messages += part->sizes[level][power].messages;
            sum->bytes = saturating_add(sum->bytes, part->sizes[level][power].bytes);
        }
    for (size_t i = 0; i < (size_t)source->rows.n * TIMELINE_COLUMNS * SPENT_COUNT; i++)
        rows->shades[i] += part->shades[i];
    for (size_t i = 0; i < SPENT_COUNT; i++)
        rows->seen[i] = rows->seen[i] || part->seen[i];
    rows->calls += part->calls;
    for (size_t i = 0; i < part->n_bars; i++)
        keep_bar(rows, &part->bars[i]);
    for (size_t i = 0; i < part->n_lines; i++)
        ARRAY_ADD(rows->lines, rows->n_lines, part->lines[i]);
}

static int scan_all(struct scan *scan, struct picture_rows *rows)
{
    const struct picture_source *source = scan->source;
    scan->found = xcalloc(scan->parts.n, sizeof *scan->found);
    int result = side_by_side(scan->parts.n, 0, scan_part, scan, source->error);
    for (size_t i = 0; i < scan->parts.n; i++) {
        if (result == 0)
            add_part(rows, &scan->found[i], source);
        picture_rows_release(&scan->found[i]);
    }
    if (result == 0 && rows->calls == 0)
        result = scan_rounds(scan, rows);
    qsort(rows->bars, rows->n_bars, sizeof *rows->bars, longer_first);
    if (rows->n_lines > 0)
        qsort(rows->lines, rows->n_lines, sizeof *rows->lines, by_id);
    rows->n_lines = rows->n_lines > LINES_MOST ? LINES_MOST : rows->n_lines;
    free(scan->found);
    return result;
}

int picture_span(const struct picture_source *source, double *begin_ns, double *end_ns)
{
    struct cursor rows;
    picture_query(&rows, source,
                  "SELECT coalesce(min(begin_ns), 0), max(coalesce(max(end_ns), 0), "
                  "coalesce((SELECT duration_ns FROM run), 0)) FROM process",
                  "");
    if (cursor_next(&rows)) {
        *begin_ns = cursor_real(&rows, 0);
        *end_ns = cursor_real(&rows, 1);
    }
    return cursor_close(&rows);
}

int picture_rows_read(struct picture_rows *rows, const struct picture_source *source)
{
    struct scan scan = {.source = source, .wants_bars = source->rows.width == 1};
    int64_t messages = source->report->messages;
    double end_ns = 0;
    rows_init(rows, source);
    scan.lines_below =
        messages > TIMELINE_LINES ? (int64_t)((double)TIMELINE_LINES / (double)messages * 4294967296.0) : 4294967296;
    int result = picture_span(source, &scan.begin_ns, &end_ns);
    scan.width_ns = (end_ns - scan.begin_ns) / TIMELINE_COLUMNS;
    if (result == 0)
        result = row_parts_init(&scan.parts, source->database, source->report->path, source->error);
    if (result == 0 && (read_scan_functions(&scan) != 0 || read_scan_forms(&scan) != 0 || read_scan_rates(&scan) != 0 ||
                        scan_all(&scan, rows) != 0))
        result = -1;
    row_parts_release(&scan.parts);
    map_release(&scan.numbers);
    map_release(&scan.functions);
    FREE_ALL(scan.forms, scan.activities, scan.rates);
    return result;
}
