/* Runs `mpistair export`: a trace for other tools. `--to` names a format and, given once more, the end of the window,
 * as it does for `mpistair replay`. */
#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/database/cursor.h"
#include "interpose/database/row_parts.h"
#include "interpose/database/transaction.h"
#include "predictor/run_export/run_export.h"
#include "report/command/commands.h"
#include "report/export/trace_export.h"
#include "share/base/array.h"
#include "share/base/memory.h"
#include "share/base/options.h"
#include "share/base/progress.h"
#include "share/base/saturating.h"

/* Counts by the rule of that window: the calls that post both ends lie inside as a whole. */
static int note_kept(struct export *export, const struct run_program *program)
{
    struct cursor rows;
    int64_t n = 0, kept = 0;
    if (export->selection.all)
        return 0;
    export_query(export, &rows, "SELECT count(*) FROM message_row");
    if (cursor_next(&rows))
        n = cursor_integer(&rows, 0);
    for (size_t i = 0; i < program->n_messages; i++)
        kept += (program->messages[i].flags & MESSAGE_ONE_SIDED) == 0;
    if (rows.result == 0)
        fprintf(stderr, "mpistair: note: left out, as outside of --ranks, --from, --to: %lld of %lld messages\n",
                (long long)(n - kept), (long long)n);
    return cursor_close(&rows);
}

/* Writes the program of the run for the simulators LogGOPSim and SimGrid, as `mpistair replay` does. The program is
 * read with the same window; a rank that is not wanted is there and does nothing. */
static int export_program(struct export *export, bool goal)
{
    const char *output = export->output != NULL ? export->output : "-";
    struct run_window window = export->wish->window;
    struct run_program program = {0};
    if (export->selection.part_of_ranks)
        window.ranks = export->selection.wanted;
    if (run_program_read(export->database, export->path, &(struct run_want){.window = &window}, &program,
                         export->error) != 0)
        return -1;
    int result = run_export(&program, goal ? output : NULL, goal ? NULL : output, export->error);
    if (result == 0)
        result = note_kept(export, &program);
    run_program_release(&program);
    return result;
}

static int export_goal(struct export *export)
{
    return export_program(export, true);
}

static int export_simgrid(struct export *export)
{
    return export_program(export, false);
}

static const struct export_format {
    const char *name;
    int (*write)(struct export *export);
    bool tells; /* reports itself what a window leaves out */
} formats[] = {
    {"perfetto", export_perfetto, false}, {"otf2", export_otf2, false}, {"goal", export_goal, true},
    {"simgrid", export_simgrid, true},    {"csv", export_csv, false},   {"dot", export_dot, false},
};

static const char export_usage[] =
    "usage: mpistair export TRACE --to FORMAT [--ranks LIST] [--from S] [--to S] [-o FILE]\n"
    "\n"
    "Writes a trace for another tool. TRACE is a trace.db, or a folder of spools, which is "
    "ingested first. The formats:\n"
    "\n"
    "  perfetto  timeline for ui.perfetto.dev and Chrome (trace events, JSON)\n"
    "  otf2      archive for Vampir, Scalasca and others; needs -o, a folder\n"
    "  goal      schedule for LogGOPSim, as 'replay --goal' writes it\n"
    "  simgrid   time-independent trace for SMPI, as 'replay --tit' writes it\n"
    "  csv       messages, calls, collectives, one-sided calls, files: a row each\n"
    "  dot       graph of ranks and their traffic for Graphviz\n";

struct export_options {
    const struct export_format *format;
    const char *output;
    struct export_wish wish;
};

static const struct export_format *find_format(const char *name)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++)
        if (strcmp(name, formats[i].name) == 0)
            return &formats[i];
    return NULL;
}

static int take_export_from(void *context, const char *text)
{
    struct export_options *options = context;
    struct error error;
    return run_bound_parse(text, &options->wish.window.from, &error) == 0
               ? 0
               : wrong_usage("export", "--from: %s", error.text);
}

static int take_export_region(void *context, const char *text)
{
    run_region_parse(text, &((struct export_options *)context)->wish.window);
    return 0;
}

static int take_export_to(void *context, const char *text)
{
    struct export_options *options = context;
    const struct export_format *format = find_format(text);
    if (format != NULL && options->format != NULL && format != options->format)
        return wrong_usage("export", "--to %s: --to %s was given before; expected one format", text,
                           options->format->name);
    if (format != NULL) {
        options->format = format;
        return 0;
    }
    struct error error;
    if (run_bound_parse(text, &options->wish.window.to, &error) != 0)
        return wrong_usage("export",
                           "--to: '%s' is neither a format (perfetto, otf2, goal, simgrid, csv, dot) nor the end of a "
                           "window (seconds, a percentage, mark:NUMBER or site:ID)",
                           text);
    return 0;
}

/* Reads a rank. Returns what is behind it, NULL where there is none. */
static const char *read_rank(const char *text, uint32_t *rank)
{
    char *end;
    unsigned long number = strtoul(text, &end, 10);
    *rank = (uint32_t)number;
    return isdigit((unsigned char)*text) && number < UINT32_MAX ? end : NULL;
}

/* Reads ranks and ranges of them, "0-3,7". */
static int take_ranks(void *context, const char *text)
{
    struct export_options *options = context;
    struct export_wish *wish = &options->wish;
    for (const char *at = text;; at++) {
        struct rank_range range;
        at = read_rank(at, &range.first);
        range.last = range.first;
        if (at != NULL && *at == '-')
            at = read_rank(at + 1, &range.last);
        if (at == NULL || (*at != ',' && *at != '\0') || range.first > range.last)
            return wrong_usage("export", "--ranks %s: expected ranks and ranges of ranks, such as 0-3,7", text);
        ARRAY_ADD(wish->ranks, wish->n_ranks, range);
        if (*at == '\0')
            return 0;
    }
}

static int parse_export(int argc, char **argv, struct export_options *options, const char **trace)
{
    const struct option_row rows[] = {
        {0, "to", "perfetto|otf2|goal|simgrid|csv|dot",
         "the format; or with S, P%, mark:N or site:ID the end of the window, in addition to the format",
         .take = take_export_to},
        {0, "ranks", "LIST", "only these ranks, such as 0-3,7", .take = take_ranks, .words = WORDS_NONE},
        {0, "from", "S|P%|mark:N|site:ID", "only the run from this time, share of it, MPI_Pcontrol(N) or call site on",
         .take = take_export_from, .words = WORDS_NONE},
        {0, "region", "NAME[:N]",
         "only the N-th occurrence of that region on each rank; without N from the first to the last one",
         .take = take_export_region, .words = WORDS_NONE},
        {'o', "output", "FILE", "the file to write; default: standard output; for otf2 a folder",
         .text = &options->output},
    };
    const struct option_table table = {"export",           export_usage,          rows, sizeof rows / sizeof rows[0],
                                       .context = options, .words = {WORDS_TRACE}};
    int code = options_read(&table, &argc, &argv);
    if (code != OPTIONS_READ)
        return code;
    if (argc != 1)
        return wrong_usage("export", "expected one trace, got %d arguments", argc);
    if (options->format == NULL)
        return wrong_usage("export", "no format: expected --to perfetto, otf2, goal, simgrid, csv or dot");
    if (options->format->write == export_otf2 && (options->output == NULL || strcmp(options->output, "-") == 0))
        return wrong_usage("export", "--to otf2 requires -o FOLDER, the archive to write");
    *trace = argv[0];
    return OPTIONS_READ;
}

/* The ranks and the window. A mark or a call site comes at another time on each rank, so the window is an array by
 * rank; the SQL function kept() looks rows up in it. */
enum { MAX_SELECTED = 1 << 24 };

static int count_ranks(struct export *export)
{
    struct selection *selection = &export->selection;
    struct cursor rows;
    export_query(export, &rows, "SELECT rank FROM process ORDER BY rank");
    while (cursor_next(&rows)) {
        if (cursor_integer(&rows, 0) != (int64_t)selection->n_ranks || selection->n_ranks == MAX_SELECTED)
            rows.result =
                error_set(export->error, "%s: process: rank %lld in row %zu; expected the ranks from 0 on, at most %d",
                          export->path, (long long)cursor_integer(&rows, 0), selection->n_ranks + 1, MAX_SELECTED);
        selection->n_ranks++;
    }
    return cursor_close(&rows);
}

static int choose_ranks(struct export *export)
{
    struct selection *selection = &export->selection;
    const struct export_wish *wish = export->wish;
    memset(selection->wanted, wish->n_ranks == 0, selection->n_ranks);
    for (size_t i = 0; i < wish->n_ranks; i++) {
        struct rank_range range = wish->ranks[i];
        if (range.last >= selection->n_ranks)
            return error_set(export->error, "--ranks: rank %" PRIu32 ": %s has %zu rank%s, numbered from 0", range.last,
                             export->path, selection->n_ranks, selection->n_ranks == 1 ? "" : "s");
        memset(selection->wanted + range.first, 1, range.last - range.first + 1);
    }
    selection->part_of_ranks = selection->n_ranks > 0 && memchr(selection->wanted, 0, selection->n_ranks) != NULL;
    return 0;
}

/* kept(rank) and kept(rank, begin_ns, end_ns). A rank that does not exist is kept: the reader of its row reports it. */
static void kept(sqlite3_context *context, int n, sqlite3_value **values)
{
    const struct selection *selection = sqlite3_user_data(context);
    int64_t rank = sqlite3_value_int64(values[0]);
    bool unknown = rank < 0 || (size_t)rank >= selection->n_ranks, is_kept = unknown || selection->wanted[rank];
    if (!unknown && n == 3) {
        int64_t begin_ns = sqlite3_value_int64(values[1]);
        int64_t end_ns = sqlite3_value_type(values[2]) == SQLITE_NULL ? begin_ns : sqlite3_value_int64(values[2]);
        is_kept = is_kept && begin_ns >= selection->from_ns[rank] && end_ns <= selection->to_ns[rank];
    }
    sqlite3_result_int(context, is_kept);
}

/* Finds what is wanted of each rank, and makes the SQL function kept(). Returns 0, or -1 with the reason. */
static int selection_make(struct export *export)
{
    struct selection *selection = &export->selection;
    const struct run_window *window = &export->wish->window;
    if (count_ranks(export) != 0)
        return -1;
    size_t n = selection->n_ranks;
    selection->wanted = xcalloc(n, 1);
    selection->from_ns = xcalloc(n, sizeof *selection->from_ns);
    selection->to_ns = xcalloc(n, sizeof *selection->to_ns);
    if (choose_ranks(export) != 0 || run_bounds_find(export->database, export->path, window, n, selection->from_ns,
                                                     selection->to_ns, export->error) != 0)
        return -1;
    selection->all =
        !selection->part_of_ranks && window->from.kind == RUN_BOUND_NONE && window->to.kind == RUN_BOUND_NONE;
    if (sqlite3_create_function(export->database, "kept", -1, SQLITE_UTF8, selection, kept, NULL, NULL) != SQLITE_OK)
        no_memory(0);
    return 0;
}

/* Holds how many messages there are, without a look at them: what is in no round, and what is in rounds. */
static const char messages_sql[] = "(SELECT count(*) FROM message_row WHERE round_id IS NULL) +"
                                   " (SELECT coalesce(sum(rounds * messages), 0) FROM kind)";

/* Looks messages up by the places of their rounds where they are at most so large a share of all: beyond it, to go
 * through the table takes less time. */
static const double LOOKED_UP = 0.2;

/* Finds whether rounds that overlap these times hold few of the messages; all messages of a round lie in its times.
 * Returns 0, or -1 with the reason. */
static int rounds_are_few(struct export *export, int64_t from_ns, int64_t to_ns)
{
    char *sql = xasprintf("SELECT (SELECT count(*) FROM message_row WHERE round_id IS NULL) +"
                          "   (SELECT total(k.messages) FROM round r JOIN kind k ON k.id = r.kind_id"
                          "    WHERE r.begin_ns <= %" PRId64 " AND r.end_ns >= %" PRId64 "),"
                          " %s",
                          to_ns, from_ns, messages_sql);
    struct cursor rows;
    export_query(export, &rows, sql);
    if (cursor_next(&rows))
        export->selection.few_rounds = cursor_real(&rows, 0) <= LOOKED_UP * cursor_real(&rows, 1);
    free(sql);
    return cursor_close(&rows);
}

enum { ID_RANGES_MOST = 100, IDS_BETWEEN = 10000 };

/* Writes as a condition in SQL which ids the messages of rounds have that overlap these times: ranges, which may have
 * others as well where rounds lie close together, or many of them apart. */
static int list_ids(struct export *export, int64_t from_ns, int64_t to_ns, char **condition)
{
    struct cursor rows;
    size_t length = 0, n = 0;
    int64_t first = 0, last = 0;
    bool is_open = false;
    FILE *stream = or_no_memory(open_memstream(condition, &length));
    fputs("(round_id IS NULL", stream);
    export_query(export, &rows,
                 "SELECT p.first_message, p.last_message FROM round r JOIN round_place p ON p.round_id = r.id"
                 " WHERE begin_ns <= ?1 AND end_ns >= ?2 ORDER BY p.first_message");
    cursor_bind(&rows, "ii", to_ns, from_ns);
    while (cursor_next(&rows)) {
        int64_t next = cursor_integer(&rows, 0), end = cursor_integer(&rows, 1);
        if (is_open && next > saturating_add(last, IDS_BETWEEN) && ++n < ID_RANGES_MOST) {
            fprintf(stream, " OR id BETWEEN %" PRId64 " AND %" PRId64, first, last);
            is_open = false;
        }
        first = is_open ? first : next;
        last = is_open && last > end ? last : end;
        is_open = true;
    }
    if (is_open)
        fprintf(stream, " OR id BETWEEN %" PRId64 " AND %" PRId64, first, last);
    fputs(") AND ", stream);
    if (fclose(stream) != 0)
        no_memory(0);
    return cursor_close(&rows);
}

static int make_kept(void *context, sqlite3 *database)
{
    return sqlite3_create_function(database, "kept", -1, SQLITE_UTF8, context, kept, NULL, NULL) == SQLITE_OK ? 0 : -1;
}

/* Bounds of the ranks that are wanted, and of their times. */
struct outer_bounds {
    int64_t first, last, from_ns, to_ns;
};

/* Copies what may be wanted. Rows of ranks that do not exist are wanted, as of kept(). */
static int copy_rows(struct export *export, const struct outer_bounds *bounds)
{
    struct selection *selection = &export->selection;
    struct row_parts parts;
    char *ids = NULL;
    int result = row_parts_init(&parts, export->database, export->path, export->error);
    if (result == 0 && selection->few_rounds)
        result = list_ids(export, bounds->from_ns, bounds->to_ns, &ids);
    char *ranks = xasprintf("BETWEEN %" PRId64 " AND %" PRId64, bounds->first, bounds->last);
    char *times = xasprintf("BETWEEN %" PRId64 " AND %" PRId64, bounds->from_ns, bounds->to_ns);
    char *messages =
        xasprintf("%s(src %s AND send_post_ns %s AND kept(src) OR "
                  "dst %s AND send_post_ns + late_ns %s AND kept(dst) OR "
                  "src NOT BETWEEN 0 AND %zu - 1 OR dst NOT BETWEEN 0 AND %zu - 1)",
                  ids != NULL ? ids : "", ranks, times, ranks, times, selection->n_ranks, selection->n_ranks);
    char *calls = xasprintf("(rank %s AND begin_ns %s AND kept(rank) OR rank NOT BETWEEN 0 AND %zu - 1)", ranks, times,
                            selection->n_ranks);
    if (result == 0)
        result = row_parts_copy(
            &parts,
            &(struct row_reader){
                .table = SHARD_MESSAGES, .where = messages, .by_index = ids != NULL, .prepare = make_kept},
            "export_message", selection, export->error);
    if (result == 0)
        result = row_parts_copy(&parts,
                                &(struct row_reader){.table = SHARD_CALLS,
                                                     .where = calls,
                                                     .of_ranks = selection->part_of_ranks,
                                                     .first_rank = bounds->first,
                                                     .last_rank = bounds->last,
                                                     .prepare = make_kept},
                                "export_call", selection, export->error);
    row_parts_release(&parts);
    FREE_ALL(ids, ranks, times, messages, calls);
    return result;
}

/* Makes export_message and export_call, by the ranks and times of which all that is wanted lies within. */
static int select_rows(struct export *export)
{
    const struct selection *selection = &export->selection;
    struct outer_bounds bounds = {.first = UINT32_MAX, .from_ns = INT64_MAX, .to_ns = INT64_MIN};
    if (selection->all)
        return export_run(export, "CREATE TEMP VIEW export_message AS SELECT * FROM message_row;"
                                  "CREATE TEMP VIEW export_call AS SELECT rowid AS id, * FROM call_row");
    for (size_t rank = 0; rank < selection->n_ranks; rank++) {
        if (!selection->wanted[rank])
            continue;
        bounds.first = bounds.first == UINT32_MAX ? (int64_t)rank : bounds.first;
        bounds.last = (int64_t)rank;
        bounds.from_ns = selection->from_ns[rank] < bounds.from_ns ? selection->from_ns[rank] : bounds.from_ns;
        bounds.to_ns = selection->to_ns[rank] > bounds.to_ns ? selection->to_ns[rank] : bounds.to_ns;
    }
    return rounds_are_few(export, bounds.from_ns, bounds.to_ns) != 0 ? -1 : copy_rows(export, &bounds);
}

/* %s: the numbers of all messages, and of all calls that post none. */
static const char left_out_sql[] =
    "SELECT m.n, m.n - m.inside, m.cut, c.n, c.n - c.inside FROM"
    " (SELECT %s AS n, coalesce(sum(s AND r), 0) AS inside,"
    "   coalesce(sum(s <> r), 0) AS cut FROM"
    "   (SELECT kept(src, send_post_ns, send_post_ns + send_ns) AS s,"
    "           kept(dst, send_post_ns + late_ns, send_post_ns + late_ns + recv_ns) AS r FROM export_message)) m,"
    " (SELECT %s AS n,"
    "   coalesce(sum(kept(rank, begin_ns, begin_ns + call_ns)), 0) AS inside FROM export_call) c";

/* Prints on stderr how many messages and calls are left out, if any are. */
static int selection_tell(struct export *export)
{
    struct cursor rows;
    if (export->selection.all)
        return 0;
    bool has_sums = shards_have_sums(export->database);
    char *sql = xasprintf(left_out_sql,
                          has_sums                       ? "(SELECT sum(messages) FROM shard)"
                          : export->selection.few_rounds ? messages_sql
                                                         : "(SELECT count(*) FROM message_row)",
                          has_sums ? "(SELECT sum(calls) FROM shard)" : "(SELECT count(*) FROM call_row)");
    export_query(export, &rows, sql);
    free(sql);
    if (cursor_next(&rows))
        fprintf(stderr,
                "mpistair: note: left out, as outside of --ranks, --from, --to: %lld of %lld messages (%lld of them "
                "with one side inside), %lld of %lld calls that post none\n",
                (long long)cursor_integer(&rows, 1), (long long)cursor_integer(&rows, 0),
                (long long)cursor_integer(&rows, 2), (long long)cursor_integer(&rows, 4),
                (long long)cursor_integer(&rows, 3));
    return cursor_close(&rows);
}

static int write_export(const struct export_options *options, const struct open_trace *trace)
{
    struct error error = {0};
    struct export export = {.database = trace->database,
                            .path = trace->path,
                            .output = options->output,
                            .wish = &options->wish,
                            .error = &error};
    interruptible_begin(trace->database); /* an archive is a folder, which no handler of signals can remove */
    progress_show("export");
    int code = selection_make(&export);
    if (code == 0 && !options->format->tells)
        code = select_rows(&export);
    if (code == 0)
        code = options->format->write(&export);
    if (code == 0 && !options->format->tells)
        code = selection_tell(&export);
    free(export.selection.wanted);
    free(export.selection.from_ns);
    free(export.selection.to_ns);
    progress_show(NULL);
    interruptible_end(trace->database);
    return code == 0 ? EXIT_DONE : error_report(&error);
}

int cmd_export(int argc, char **argv)
{
    struct export_options options = {0};
    const char *path = NULL;
    struct open_trace trace;
    int code = parse_export(argc, argv, &options, &path);
    if (code == OPTIONS_READ) {
        code = open_trace(&trace, path);
        if (code == EXIT_DONE)
            code = write_export(&options, &trace);
        close_trace(&trace);
    }
    free(options.wish.ranks);
    return code;
}
