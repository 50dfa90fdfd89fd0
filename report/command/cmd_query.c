/* Runs `mpistair query`: a named query, or SQL, on a trace.db opened read-only.
 *
 * Rows are not kept: text, whose columns are aligned, runs the query twice, once for the widths. On a terminal texts
 * are cut at its edge, numbers never: what does not fit then is shown as a line a column. */
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/database/shards.h"
#include "interpose/sums/whole.h"
#include "predictor/run_read/node_switches.h"
#include "predictor/run_read/trace_part.h"
#include "share/base/progress.h"
#include "report/command/commands.h"
#include "report/command/query_shards.h"
#include "share/base/csv.h"
#include "share/base/error.h"
#include "share/base/json.h"
#include "share/base/memory.h"
#include "share/base/options.h"
#include "share/base/output_file.h"
#include "share/base/installation.h"
#include "share/base/nearest.h"
#include "share/base/terminal.h"
#include "share/base/text_file.h"
#include "share/base/text_table.h"
#include "report/collect/fields.h"

static const char query_usage[] =
    "usage: mpistair query TRACE NAME|SQL [--format text|csv|json] [--from S] [--to S] [-o FILE]\n"
    "       mpistair query TRACE NAME|SQL --each-shard [--jobs N]\n"
    "       mpistair query --list\n"
    "\n"
    "Runs a named query (--list shows them) or one SQL statement on a trace.db, or on a folder of spools, which is\n"
    "ingested first. The trace is opened read-only. mpistair(5) describes its tables and views.\n";

enum { QUERY_ROWS_AT_ONCE = 4096 };

/* Returns a column of the present row as text, NULL as "-". real[32] and pool hold it. */
static const char *cell_text(sqlite3_stmt *statement, int column, char *real, struct pool *pool)
{
    if (sqlite3_column_type(statement, column) == SQLITE_FLOAT) {
        snprintf(real, 32, "%.6g", sqlite3_column_double(statement, column));
        return real;
    }
    const char *text = (const char *)sqlite3_column_text(statement, column);
    return text == NULL ? "-" : pool_clean(pool, text, (size_t)sqlite3_column_bytes(statement, column));
}

/* Adds the present row to a table: its widths alone, or its text. */
static void table_take_row(sqlite3_stmt *statement, struct text_table *table, bool widths)
{
    struct pool pool = {0};
    for (int i = 0; i < sqlite3_column_count(statement); i++) {
        char real[32];
        int type = sqlite3_column_type(statement, i);
        const char *text = cell_text(statement, i, real, &pool);
        if (widths)
            text_table_widen(table, (size_t)i, text);
        else
            text_table_text(table, text);
        if (type == SQLITE_INTEGER || type == SQLITE_FLOAT)
            text_table_set(table, (size_t)i, TEXT_RIGHT);
    }
    pool_release(&pool);
}

/* Runs the query, once for the widths, once for the rows. */
static int fill(FILE *stream, sqlite3_stmt *statement, struct text_table *table, bool widths)
{
    int step;
    sqlite3_reset(statement);
    for (size_t n = 1; (step = sqlite3_step(statement)) == SQLITE_ROW; n++) {
        table_take_row(statement, table, widths);
        if (!widths && n % QUERY_ROWS_AT_ONCE == 0)
            text_table_print(table, stream);
    }
    return step;
}

/* Writes each row as lines of a column's name and value, for terminals that are too narrow for a table. */
static int write_records(FILE *stream, sqlite3_stmt *statement)
{
    int step;
    sqlite3_reset(statement);
    for (size_t n = 1; (step = sqlite3_step(statement)) == SQLITE_ROW; n++) {
        struct pool pool = {0};
        struct text_table *table = text_table_new();
        text_table_column(table, NULL, TEXT_LEFT);
        text_table_column(table, NULL, TEXT_CUT);
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            char real[32];
            text_table_cell(table, "  %s", sqlite3_column_name(statement, i));
            text_table_text(table, cell_text(statement, i, real, &pool));
        }
        fprintf(stream, "row %zu\n", n);
        text_table_end(table, stream);
        pool_release(&pool);
    }
    return step;
}

static int write_text(FILE *stream, sqlite3_stmt *statement)
{
    struct text_table *table = text_table_new();
    for (int i = 0; i < sqlite3_column_count(statement); i++)
        text_table_column(table, sqlite3_column_name(statement, i), TEXT_CUT);
    int step = fill(stream, statement, table, true);
    if (stream == stdout)
        progress_show(NULL);
    if (step == SQLITE_DONE && terminal_columns(stream) > 0 && text_table_least(table) > terminal_columns(stream)) {
        text_table_release(table);
        return write_records(stream, statement);
    }
    if (step == SQLITE_DONE)
        step = fill(stream, statement, table, false);
    if (step == SQLITE_DONE)
        text_table_print(table, stream);
    text_table_release(table);
    return step;
}

static int write_query_csv(FILE *stream, sqlite3_stmt *statement)
{
    int n_columns = sqlite3_column_count(statement), step;
    for (int i = 0; i < n_columns; i++) {
        csv_text(stream, sqlite3_column_name(statement, i));
        fputc(i + 1 < n_columns ? ',' : '\n', stream);
    }
    while ((step = sqlite3_step(statement)) == SQLITE_ROW && !ferror(stream))
        statement_csv(stream, statement);
    return step;
}

static struct json *json_value(sqlite3_stmt *statement, int column, struct pool *pool)
{
    const char *text;
    switch (sqlite3_column_type(statement, column)) {
    case SQLITE_INTEGER:
        return json_integer(sqlite3_column_int64(statement, column));
    case SQLITE_FLOAT:
        return json_finite(sqlite3_column_double(statement, column));
    case SQLITE_NULL:
        return json_null();
    default:
        text = (const char *)sqlite3_column_text(statement, column);
        if (text == NULL)
            no_memory(0);
        return json_string(pool_clean(pool, text, (size_t)sqlite3_column_bytes(statement, column)));
    }
}

static int write_json(FILE *stream, sqlite3_stmt *statement)
{
    int n_columns = sqlite3_column_count(statement), step;
    struct json_rows rows = {.stream = stream};
    while ((step = sqlite3_step(statement)) == SQLITE_ROW) {
        struct pool pool = {0};
        struct json *row = json_object();
        for (int i = 0; i < n_columns; i++) {
            const char *name = sqlite3_column_name(statement, i);
            char numbered[64];
            if (json_has(row, name)) { /* it is a second column of this name */
                snprintf(numbered, sizeof numbered, "%.48s:%d", name, i + 1);
                name = numbered;
            }
            json_set(row, name, json_value(statement, i, &pool));
        }
        json_rows_add(&rows, row);
        pool_release(&pool);
        if (rows.failed)
            return SQLITE_NOMEM;
    }
    json_rows_end(&rows, NULL);
    return step;
}

/* Returns whether only blanks, semicolons and comments are left. */
static bool nothing_left(const char *sql)
{
    while (*sql != '\0') {
        if (isspace((unsigned char)*sql) || *sql == ';')
            sql++;
        else if (strncmp(sql, "--", 2) == 0)
            sql += strcspn(sql, "\n");
        else
            return false;
    }
    return true;
}

/* What a statement reads. */
struct query_reads {
    bool rows; /* of single calls or messages */
    bool totals;
};

/* An authorizer that forbids nothing. */
static int note_read(void *context, int action, const char *table, const char *column, const char *schema,
                     const char *view)
{
    static const char *const of_rows[] = {"message_row", "message_sum", "call_row", "collective", "joint_sum",
                                          "rma",         "file_call",   "round",    "late_sum",   "kind_sum"};
    struct query_reads *reads = context;
    (void)column;
    (void)schema;
    (void)view;
    if (action != SQLITE_READ || table == NULL)
        return SQLITE_OK;
    reads->totals = reads->totals || strcmp(table, "total") == 0;
    for (size_t i = 0; i < sizeof of_rows / sizeof *of_rows; i++)
        reads->rows = reads->rows || strcmp(table, of_rows[i]) == 0;
    return SQLITE_OK;
}

/* Says on standard error of which part of the run the rows of a query are, where that is not all. */
static int say_part(const struct open_trace *trace, const struct query_reads *reads, struct error *error)
{
    struct whole whole;
    if (!reads->rows || reads->totals)
        return 0;
    if (whole_read(&whole, trace->database, trace->path, error) != 0)
        return -1;
    if (whole.detail == WHOLE_TOTALS)
        fprintf(
            stderr,
            "mpistair: %s: totals alone were recorded, so that there are no rows of single calls and messages: record "
            "without --sums, or query the tables total and course\n",
            trace->path);
    else if (whole.detail == WHOLE_BURSTS)
        fprintf(stderr, "mpistair: %s: rows of single calls and messages are of %s; the table total has all\n",
                trace->path, whole.of_bursts);
    return 0;
}

/* How a query is run. */
struct query_way {
    bool says; /* of which part of the run its rows are */
    const char
        *merge; /* NULL, or SQL: the query runs in each shard, its rows become the table part, which this reads */
    size_t jobs;
};

/* Runs the statement in each shard, and puts the one that merges the rows into its place. Returns 0, or -1 with the
 * reason. */
static int merge_shards(const struct open_trace *trace, sqlite3_stmt **statement, const struct query_way *way,
                        struct error *error)
{
    progress_show("query: shards");
    int result = query_shards(trace, *statement, way->jobs, error);
    progress_show(NULL);
    sqlite3_finalize(*statement);
    *statement = NULL;
    if (result == 0 && sqlite3_prepare_v2(trace->database, way->merge, -1, statement, NULL) != SQLITE_OK)
        result = error_set(error, "%s: SQL: %s", trace->path, sqlite3_errmsg(trace->database));
    return result;
}

static int run_query(const struct open_trace *trace, const char *sql, const struct query_way *way,
                     enum output_format format, const char *output_path)
{
    static int (*const writers[])(FILE *, sqlite3_stmt *) = {write_text, write_query_csv, write_json};
    sqlite3_stmt *statement = NULL;
    const char *rest = NULL;
    struct output_file output;
    struct error error;
    struct query_reads reads = {0};
    int result = EXIT_DONE;
    sqlite3_set_authorizer(trace->database, note_read, &reads);
    int prepared = sqlite3_prepare_v2(trace->database, sql, -1, &statement, &rest);
    sqlite3_set_authorizer(trace->database, NULL, NULL);
    if (prepared != SQLITE_OK)
        return fail("%s: SQL: %s", trace->path, sqlite3_errmsg(trace->database));
    if (statement == NULL || sqlite3_column_count(statement) == 0 || !sqlite3_stmt_readonly(statement))
        result = fail("SQL: expected a statement that reads rows, such as SELECT");
    else if (!nothing_left(rest))
        result = fail("SQL: expected one statement, found another one: '%.40s'", rest);
    else if ((way->says && say_part(trace, &reads, &error) != 0) ||
             (way->merge != NULL && merge_shards(trace, &statement, way, &error) != 0) ||
             output_file_open(&output, output_path, &error) != 0)
        result = error_report(&error);
    else {
        if (format == FORMAT_TEXT || output_path != NULL) /* else rows come as they are found */
            progress_show("query");
        int step = writers[format](output.stream, statement);
        progress_show(NULL);
        if (step != SQLITE_DONE && !ferror(output.stream)) {
            result =
                fail("%s: SQL: %s", trace->path, step == SQLITE_NOMEM ? "no memory" : sqlite3_errmsg(trace->database));
            output_file_discard(&output);
        } else if (output_file_commit(&output, &error) != 0) {
            result = error_report(&error);
        }
    }
    sqlite3_finalize(statement);
    return result;
}

enum { QUERY_MAX_BYTES = 1 << 20 };

/* Returns how the rows of shards become those of a named query, which the caller frees: the SQL behind "-- merge: " in
 * its comment. NULL: it cannot run in each shard by itself. */
static char *merge_of(const char *named)
{
    static const char mark[] = "\n-- merge: ";
    const char *begin = strstr(named, mark);
    return begin == NULL ? NULL
                         : xasprintf("%.*s", (int)strcspn(begin + sizeof mark - 1, "\n"), begin + sizeof mark - 1);
}

#define MERGE_NOTHING "SELECT * FROM part ORDER BY shard, rowid"

/* Queries that many users need lie beside the schema as files, NAME.sql, whose first line is a comment that says what
 * it answers. An argument of letters, digits, '_' and '-' alone is a name, everything else SQL. */
static bool is_name(const char *text)
{
    return text[0] != '\0' &&
           text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")] == '\0';
}

static int no_query(const char *name, struct error *error)
{
    struct nearest nearest = nearest_to(name);
    installation_each("sql", ".sql", nearest_add_named, &nearest, NULL);
    const char *hint = nearest_hint(&nearest);
    return error_set(error, "%s: no such query%s%s", name, hint,
                     hint[0] != '\0'
                         ? " 'mpistair query --list' shows the names"
                         : "; 'mpistair query --list' shows the names; write SQL as one argument, in quotes");
}

/* Reads a named query's text, which the caller frees. Returns 0, or -1 with the reason. */
static int read_named(const char *name, char **sql, struct error *error)
{
    char path[PATH_MAX];
    if (strcmp(name, "schema") == 0 || installation_named("sql", ".sql", name, path, sizeof path) != 0)
        return no_query(name, error);
    *sql = text_file_read(path, QUERY_MAX_BYTES, error);
    return *sql == NULL ? -1 : 0;
}

/* Writes a query's name and what its first line says. */
static int list_query(void *context, const char *name, const char *path, struct error *error)
{
    if (strcmp(name, "schema") == 0) /* lies beside the queries and is none */
        return 0;
    char *sql = text_file_read(path, QUERY_MAX_BYTES, error);
    if (sql == NULL)
        return -1;
    const char *description = strncmp(sql, "-- ", 3) == 0 ? sql + 3 : "";
    char line[512];
    snprintf(line, sizeof line, "%.*s", (int)strcspn(description, "\n"), description);
    int at = fprintf(context, "%-16s ", name);
    help_text_fill(context, line, (unsigned)at, (unsigned)at, terminal_page(context));
    free(sql);
    return 0;
}

int cmd_query(int argc, char **argv)
{
    int format = FORMAT_TEXT;
    bool list = false, each_shard = false;
    uint64_t jobs = 0;
    const char *output = NULL, *topology = NULL;
    struct error error;
    struct part_options part_options;
    struct trace_part part;
    enum { N_OWN = 7 };
    struct option_row rows[N_OWN + PART_ROWS] = {
        {'f', "format", "text|csv|json",
         "text (default): NULL is '-', reals have six digits; csv: NULL is empty; json: an array of objects",
         .choice = &format},
        {0, "json", NULL, "the same as --format json", .choice = &format, .value = FORMAT_JSON},
        {'o', "output", "FILE", "the file to write; default: standard output", .text = &output},
        {0, "topology", "NAME|FILE",
         "the switches above the nodes: a topology.conf of Slurm, a .topo file or a shipped one; default: as the job's "
         "environment told",
         .text = &topology, .words = WORDS_TOPOLOGY},
        {0, "each-shard", NULL,
         "run the query in each shard of the trace by itself, and print the rows of all behind a column shard; a trace "
         "in one file is shard 1",
         .flag = &each_shard},
        {'j', "jobs", "N",
         "shards to read at a time, with --each-shard and for queries that can be merged (default: as many as "
         "processor cores)",
         .whole = &jobs, .least = 1, .most = 1024},
        {0, "list", NULL, "list the named queries", .flag = &list},
    };
    part_option_rows(&part_options, rows + N_OWN);
    const struct option_table table = {
        "query", query_usage, rows, sizeof rows / sizeof rows[0], .notes = NULL, .words = {WORDS_TRACE, WORDS_QUERY}};
    int result = options_read(&table, &argc, &argv);
    if (result != OPTIONS_READ)
        return result;
    if (list)
        return installation_each("sql", ".sql", list_query, stdout, &error) == 0 ? EXIT_DONE : error_report(&error);
    if (argc != 2)
        return wrong_usage("query", "expected a trace and one query, got %d argument%s", argc, argc == 1 ? "" : "s");
    if ((result = part_options_check(&part_options, "query")) != 0)
        return result;
    const char *path = argv[0], *query = argv[1];
    char *named = NULL;
    if (is_name(query) && read_named(query, &named, &error) != 0) {
        error_report(&error);
        return EXIT_WRONG_USAGE;
    }
    struct open_trace trace;
    result = open_trace_part(&trace, path, &part_options.window, &part);
    if (result == EXIT_DONE && node_switches_take(trace.database, trace.path, topology, &error) != 0)
        result = error_report(&error);
    if (result == EXIT_DONE && part.is_part) {
        char text[PART_TEXT_BYTES];
        trace_part_text(&part, text);
        fprintf(stderr, "mpistair: %s: %s\n", trace.path, text);
    }
    if (result == EXIT_DONE && part.is_part && each_shard)
        result = wrong_usage("query", "--each-shard: expected the whole run, without --from, --to and --region");
    char *merge = NULL;
    if (result == EXIT_DONE && each_shard)
        merge = xstrdup(MERGE_NOTHING);
    else if (result == EXIT_DONE && named != NULL && !part.is_part && shards_have_sums(trace.database))
        merge = merge_of(named);
    if (result == EXIT_DONE)
        result = run_query(&trace, named != NULL ? named : query,
                           &(struct query_way){strcmp(query, "completeness") != 0, merge, (size_t)jobs},
                           (enum output_format)format, output);
    close_trace(&trace);
    FREE_ALL(named, merge);
    return result;
}
