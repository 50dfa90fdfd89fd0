/* SQLite looks names up among the temporary ones first, but for views of the trace itself, which know its own tables
 * alone. So those are made again, as temporary ones. Sums that ingest has stored are of the whole run: the views
 * compute them of rows where they find none. */
#include "predictor/run_read/trace_part.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/database/cursor.h"
#include "interpose/database/database.h"
#include "interpose/database/row_parts.h"
#include "share/base/memory.h"
#include "share/base/saturating.h"

void part_option_rows(struct part_options *options, struct option_row rows[PART_ROWS])
{
    *options = (struct part_options){0};
    const struct option_row all[PART_ROWS] = {
        {0, "from", "S|P%|mark:N|site:ID", "only the run from this time, share of it, MPI_Pcontrol(N) or call site on",
         .text = &options->from, .words = WORDS_NONE},
        {0, "to", "S|P%|mark:N|site:ID", "only the run up to there", .text = &options->to, .words = WORDS_NONE},
        {0, "region", "NAME[:N]",
         "only the N-th occurrence of that region on each rank; without N from the first to the last one",
         .text = &options->region, .words = WORDS_NONE},
    };
    memcpy(rows, all, sizeof all);
}

int part_options_check(struct part_options *options, const char *command)
{
    struct error error;
    if (options->from != NULL && run_bound_parse(options->from, &options->window.from, &error) != 0)
        return wrong_usage(command, "--from: %s", error.text);
    if (options->to != NULL && run_bound_parse(options->to, &options->window.to, &error) != 0)
        return wrong_usage(command, "--to: %s", error.text);
    if (options->region == NULL)
        return 0;
    if (options->from != NULL || options->to != NULL)
        return wrong_usage(command, "--region and --from, --to exclude each other");
    run_region_parse(options->region, &options->window);
    return 0;
}

/* The part of each rank. */
struct part_ranks {
    size_t n;
    int64_t *from_ns, *to_ns; /* [n] */
};

static void part_ranks_release(void *ranks)
{
    struct part_ranks *part = ranks;
    FREE_ALL(part->from_ns, part->to_ns, part);
}

/* Reads (rank, begin_ns, length_ns); a length that is not known is 0. Returns false for a rank that does not exist,
 * which readers report. */
static bool take_call(sqlite3_context *context, sqlite3_value **values, const struct part_ranks **part, int64_t *rank,
                      int64_t *begin_ns, int64_t *end_ns)
{
    *part = sqlite3_user_data(context);
    *rank = sqlite3_value_int64(values[0]);
    *begin_ns = sqlite3_value_int64(values[1]);
    *end_ns = saturating_add(*begin_ns, sqlite3_value_int64(values[2]));
    return *rank >= 0 && (size_t)*rank < (*part)->n;
}

static int64_t cut_at(const struct part_ranks *part, int64_t rank, int64_t at_ns)
{
    at_ns = at_ns < part->from_ns[rank] ? part->from_ns[rank] : at_ns;
    return at_ns > part->to_ns[rank] ? part->to_ns[rank] : at_ns;
}

/* part_inside(rank, begin_ns, length_ns): whether that lies in the part as a whole. */
static void part_inside(sqlite3_context *context, int n, sqlite3_value **values)
{
    const struct part_ranks *part;
    int64_t rank, begin_ns, end_ns;
    (void)n;
    bool known = take_call(context, values, &part, &rank, &begin_ns, &end_ns);
    sqlite3_result_int(context, !known || (begin_ns >= part->from_ns[rank] && end_ns <= part->to_ns[rank]));
}

/* part_left(rank, begin_ns, length_ns): how much of that lies in the part; NULL: nothing, nor is it a
 * moment in it. */
static void part_left(sqlite3_context *context, int n, sqlite3_value **values)
{
    const struct part_ranks *part;
    int64_t rank, begin_ns, end_ns;
    (void)n;
    if (!take_call(context, values, &part, &rank, &begin_ns, &end_ns)) {
        sqlite3_result_value(context, values[2]);
        return;
    }
    int64_t from_ns = cut_at(part, rank, begin_ns), to_ns = cut_at(part, rank, end_ns);
    if (to_ns > from_ns || (begin_ns >= part->from_ns[rank] && end_ns <= part->to_ns[rank]))
        sqlite3_result_int64(context, to_ns - from_ns);
}

/* part_cut(rank, at_ns): the nearest time in the part. */
static void part_cut(sqlite3_context *context, int n, sqlite3_value **values)
{
    const struct part_ranks *part = sqlite3_user_data(context);
    int64_t rank = sqlite3_value_int64(values[0]), at_ns = sqlite3_value_int64(values[1]);
    (void)n;
    if (sqlite3_value_type(values[1]) != SQLITE_NULL)
        sqlite3_result_int64(context, rank >= 0 && (size_t)rank < part->n ? cut_at(part, rank, at_ns) : at_ns);
}

/* How a table is seen: FROM source, with columns cut to the part, scaled by how much of begin_ns to end_ns is left, or
 * of another expression. */
struct part_table {
    const char *name, *source;
    const char *cut, *scaled; /* "begin_ns end_ns"; NULL: none */
    const char *others[2][2]; /* column, expression */
};

#define FROM_NS "(SELECT from_ns FROM temp.run_part)"
#define TO_NS   "(SELECT to_ns FROM temp.run_part)"
#define DONE    " WHERE part_inside(rank, begin_ns, coalesce(end_ns - begin_ns, call_ns))"
#define LASTS   " WHERE part_left(rank, begin_ns, end_ns - begin_ns) > 0"

static const struct part_table part_tables[] = {
    {.name = "burst",
     .source = "main.burst WHERE begin_ns < " TO_NS " AND end_ns > " FROM_NS,
     .others = {{"begin_ns", "max(begin_ns, " FROM_NS ")"}, {"end_ns", "min(end_ns, " TO_NS ")"}}},
    {.name = "run",
     .source = "main.run",
     .others = {{"duration_ns", TO_NS " - " FROM_NS},
                {"detail", "iif(detail = 'bursts' AND NOT EXISTS (SELECT 1 FROM burst), 'none', detail)"}}},
    {.name = "process",
     .source = "main.process",
     .cut = "begin_ns end_ns",
     .scaled = "observed_ns run_ns wait_ns involuntary_switches"},
    {.name = "message_row", .source = "temp.part_message WHERE sent AND received"},
    {.name = "collective", .source = "main.collective" DONE},
    {.name = "rma", .source = "main.rma" DONE},
    {.name = "file_call", .source = "main.file_call" DONE},
    {.name = "round", .source = "main.round WHERE begin_ns >= " FROM_NS " AND end_ns <= " TO_NS},
    {.name = "round_process", .source = "main.round_process WHERE round_id IN (SELECT id FROM round)"},
    {.name = "kind",
     .source = "main.kind k JOIN (SELECT kind_id, count(*) AS n FROM round GROUP BY kind_id) r ON r.kind_id = k.id",
     .others = {{"rounds", "n"}}},
    {.name = "kind_sum", .source = "main.kind_sum WHERE 0"},
    {.name = "message_sum", .source = "main.message_sum WHERE 0"},
    {.name = "joint_sum", .source = "main.joint_sum WHERE 0"},
    {.name = "shard", .source = "main.shard WHERE 0"},
    {.name = "form_sum", .source = "main.form_sum WHERE 0"},
    {.name = "message_halves", .source = "main.message_halves WHERE 0"},
    {.name = "course",
     .source = "main.course" LASTS,
     .cut = "begin_ns end_ns",
     .scaled = "point_to_point_ns wait_ns idle_ns collective_ns one_sided_ns file_ns other_ns calls bytes"},
    {.name = "mark", .source = "main.mark WHERE part_inside(rank, at_ns, 0)"},
    {.name = "counter",
     .source = "main.counter" LASTS,
     .cut = "begin_ns end_ns",
     .scaled = "user_ns system_ns wait_ns voluntary_switches involuntary_switches minor_faults major_faults migrations "
               "instructions cycles clock_cycles openmp_region_ns openmp_thread_ns openmp_idle_ns"},
    {.name = "network", .source = "main.network WHERE begin_ns >= " FROM_NS " AND end_ns <= " TO_NS},
    {.name = "occurrence",
     .source = "main.occurrence WHERE part_left(rank, begin_ns, end_ns - begin_ns) IS NOT NULL",
     .cut = "begin_ns end_ns",
     .others = {{"inner_ns", "min(inner_ns, part_left(rank, begin_ns, end_ns - begin_ns))"},
                {"mpi_ns", "iif(part_inside(rank, begin_ns, end_ns - begin_ns), mpi_ns, NULL)"}}},
    {.name = "recording_off", .source = "main.recording_off" LASTS, .cut = "begin_ns end_ns"},
    {.name = "not_recorded", .source = "main.not_recorded" LASTS, .cut = "begin_ns end_ns"},
    {.name = "replay_run",
     .source = "main.replay_run WHERE options = (SELECT options FROM temp.run_part) OR "
               "options GLOB (SELECT options || ' *' FROM temp.run_part)"},
};

/* Messages and calls of a part whose rounds hold at most this share of all messages are copied apart, the messages by
 * the places of rounds; beyond it, to go through all of them at each question takes less time and room. */
#define COPIED_SHARE "0.2"

#define IN_NO_ROUND "main.message_row WHERE round_id IS NULL"
#define ROUNDS_OF   "main.round WHERE begin_ns <= " TO_NS " AND end_ns >= " FROM_NS

/* All messages of a round lie in its times. */
static const char is_short_sql[] =
    "WITH apart(n) AS MATERIALIZED (SELECT count(*) FROM " IN_NO_ROUND ")"
    " SELECT (SELECT n FROM apart) + (SELECT total(messages) FROM main.kind k JOIN"
    "  (SELECT kind_id FROM " ROUNDS_OF ") r ON r.kind_id = k.id)"
    " <= " COPIED_SHARE " * ((SELECT n FROM apart) + (SELECT total(rounds * messages) FROM main.kind))";

/* Say on which sides a message lies inside; then of all messages and calls, or of copies. */
#define SIDES                                                                                                          \
    " part_inside(src, send_post_ns, send_call_ns) AS sent,"                                                           \
    " part_inside(dst, send_post_ns + late_ns, recv_call_ns) AS received"

static const char rows_views[] = "CREATE TEMP VIEW part_message AS SELECT *," SIDES " FROM main.message_row;"
                                 "CREATE TEMP VIEW part_call AS SELECT * FROM main.call_row";

/* The + keeps SQLite from making an index of all messages by their rounds. */
static const char rows_copied[] =
    "CREATE TEMP TABLE part_message AS SELECT * FROM (SELECT *," SIDES " FROM"
    "  (SELECT * FROM " IN_NO_ROUND " UNION ALL SELECT m.* FROM (SELECT id FROM " ROUNDS_OF ") r"
    "   CROSS JOIN main.round_place p ON p.round_id = r.id CROSS JOIN main.message_row m"
    "   ON +m.round_id = p.round_id AND m.id BETWEEN p.first_message AND p.last_message))"
    " WHERE sent OR received OR part_left(src, send_post_ns, send_call_ns) IS NOT NULL"
    "  OR part_left(dst, send_post_ns + late_ns, recv_call_ns) IS NOT NULL ORDER BY id;"
    "CREATE INDEX temp.part_message_id ON part_message(id);"
    "CREATE INDEX temp.part_message_round ON part_message(round_id);";

/* A message that is left out leaves the calls of its sides, and an operation without a partner. */
static const char calls_view[] =
    "CREATE TEMP VIEW call_row(rank, function, begin_ns, call_ns, completed, idle_calls, callsite) AS"
    " SELECT rank, function, part_cut(rank, begin_ns), part_left(rank, begin_ns, call_ns), completed, idle_calls,"
    "  callsite FROM part_call WHERE part_left(rank, begin_ns, call_ns) IS NOT NULL"
    " UNION ALL SELECT src, send_function, part_cut(src, send_post_ns), part_left(src, send_post_ns, send_call_ns),"
    "  send_completed, 0, send_callsite FROM part_message JOIN form f ON f.id = form"
    "  WHERE NOT (sent AND received) AND send_completed IS NOT NULL AND send_call_ns IS NOT NULL"
    "  AND part_left(src, send_post_ns, send_call_ns) IS NOT NULL"
    " UNION ALL SELECT dst, recv_function, part_cut(dst, send_post_ns + late_ns),"
    "  part_left(dst, send_post_ns + late_ns, recv_call_ns), recv_completed, 0, recv_callsite"
    "  FROM part_message JOIN form f ON f.id = form"
    "  WHERE NOT (sent AND received) AND recv_completed IS NOT NULL AND recv_call_ns IS NOT NULL"
    "  AND part_left(dst, send_post_ns + late_ns, recv_call_ns) IS NOT NULL";

static const char unmatched_view[] =
    "CREATE TEMP VIEW unmatched(id, rank, direction, peer, comm, tag, bytes, reason, post_ns, complete_ns, function,"
    " callsite) AS"
    " SELECT id, rank, direction, peer, comm, tag, bytes, reason, post_ns, complete_ns, function, callsite"
    "  FROM main.unmatched WHERE part_inside(rank, post_ns, 0)"
    " UNION ALL SELECT -2 * m.id, src, 'send', dst, comm, tag, bytes, 'cut_off', send_post_ns, send_post_ns + send_ns,"
    "  name, send_callsite FROM part_message m JOIN form f ON f.id = m.form"
    "  JOIN function n ON n.id = send_function WHERE sent AND NOT received"
    " UNION ALL SELECT -2 * m.id - 1, dst, 'receive', src, comm, tag, bytes + room_bytes, 'cut_off',"
    "  send_post_ns + late_ns, send_post_ns + late_ns + recv_ns, name, recv_callsite"
    "  FROM part_message m JOIN form f ON f.id = m.form JOIN function n ON n.id = recv_function"
    "  WHERE received AND NOT sent";

/* Those of the rows. */
static const char totals_view[] =
    "CREATE TEMP VIEW total(rank, function, callsite, comm, peer, several, level, direction, bin, calls, bytes, "
    "time_ns,"
    " longest_ns, off, idle, error_ns) AS"
    " WITH RECURSIVE power(bin, bytes) AS (SELECT 1, 1 UNION ALL SELECT bin + 1, 2 * bytes FROM power WHERE bin < 63),"
    " joint AS MATERIALIZED (SELECT rank, begin_ns, function, comm, bytes FROM collective"
    "  UNION ALL SELECT rank, begin_ns, function, comm, bytes FROM rma"
    "  UNION ALL SELECT rank, begin_ns, function, comm, bytes FROM file_call),"
    " every(rank, function, callsite, comm, peer, level, direction, bytes, n, time_ns, idle) AS ("
    "  SELECT src, send_function, send_callsite, comm, dst, level, 'send', bytes, 1,"
    "   iif(send_completed IS NULL, 0, coalesce(send_call_ns, 0)), 0 FROM message_row m JOIN form f ON f.id = m.form"
    "  UNION ALL SELECT dst, recv_function, recv_callsite, comm, src, level, 'receive', bytes + room_bytes, 1,"
    "   iif(recv_completed IS NULL, 0, coalesce(recv_call_ns, 0)), 0 FROM message_row m JOIN form f ON f.id = m.form"
    "  UNION ALL SELECT c.rank, c.function, c.callsite, j.comm, NULL, NULL, NULL, coalesce(j.bytes, 0),"
    "   max(idle_calls, 1), call_ns, idle_calls > 0 FROM call_row c JOIN function n ON n.id = c.function"
    "   LEFT JOIN joint j ON j.rank = c.rank AND j.begin_ns = c.begin_ns AND j.function = n.name)"
    " SELECT rank, function, callsite, comm, peer, 0, level, direction,"
    "  coalesce((SELECT max(p.bin) FROM power p WHERE p.bytes <= every.bytes), 0) AS bin, sum(n), sum(bytes * n),"
    "  sum(time_ns), max(time_ns), 0, idle, NULL"
    " FROM every GROUP BY rank, function, callsite, comm, peer, level, direction, bin, idle";

/* Those of the occurrences, and of the calls in them. */
static const char regions_view[] =
    "CREATE TEMP VIEW region_total(rank, region, occurrences, time_ns, inner_ns, longest_ns, mpi_ns, inner_mpi_ns, "
    "square_s2)"
    " AS"
    " WITH one AS MATERIALIZED (SELECT rank, region, count(*) AS n, sum(end_ns - begin_ns) AS time_ns,"
    "  max(end_ns - begin_ns) AS longest_ns, total((end_ns - begin_ns) * 1e-9 * (end_ns - begin_ns) * 1e-9) AS "
    "square_s2"
    "  FROM occurrence GROUP BY rank, region),"
    " inside AS MATERIALIZED (SELECT rank, s.region, sum(end_ns - begin_ns) AS mpi_ns FROM call c"
    "  JOIN site_region s ON s.callsite = c.callsite GROUP BY rank, s.region)"
    " SELECT o.rank, o.region, n, time_ns, coalesce((SELECT sum(i.time_ns) FROM one i JOIN region r ON r.id = i.region"
    "  WHERE r.parent = o.region AND i.rank = o.rank), 0), longest_ns, coalesce(mpi_ns, 0), coalesce((SELECT "
    "sum(i.mpi_ns)"
    "  FROM inside i JOIN region_within w ON w.region = i.region WHERE w.outer_region = o.region AND i.region <> "
    "o.region"
    "  AND i.rank = o.rank), 0), square_s2"
    " FROM one o LEFT JOIN inside i ON i.rank = o.rank AND i.region = o.region";

static int execute(sqlite3 *database, const char *path, const char *sql, struct error *error)
{
    return sqlite3_exec(database, sql, NULL, NULL, NULL) == SQLITE_OK
               ? 0
               : database_error(database, path, "no part of it can be taken", error);
}

static bool is_among(const char *column, const char *words)
{
    size_t length = strlen(column);
    for (const char *at = words; at != NULL && (at = strstr(at, column)) != NULL; at++)
        if ((at == words || at[-1] == ' ') && (at[length] == '\0' || at[length] == ' '))
            return true;
    return false;
}

/* Returns the expression of a column, which the caller frees. */
static char *expression_of(const struct part_table *table, const char *column)
{
    for (size_t i = 0; i < 2 && table->others[i][0] != NULL; i++)
        if (strcmp(table->others[i][0], column) == 0)
            return xstrdup(table->others[i][1]);
    if (is_among(column, table->cut))
        return xasprintf("part_cut(rank, %s)", column);
    if (is_among(column, table->scaled))
        return xasprintf("CAST(round(1.0 * %s * (part_cut(rank, end_ns) - part_cut(rank, begin_ns)) / "
                         "nullif(end_ns - begin_ns, 0)) AS INTEGER)",
                         column);
    return xstrdup(column);
}

/* Makes the view of a table, whatever columns it has; none of one that traces had not at first. */
static int view_of_table(sqlite3 *database, const char *path, const struct part_table *table, struct error *error)
{
    struct cursor rows;
    struct pool pool = {0};
    char *columns = xstrdup("");
    cursor_open(&rows, database, path, "SELECT name FROM pragma_table_info(?1, 'main')", error);
    cursor_bind(&rows, "t", table->name);
    while (cursor_next(&rows)) {
        const char *column = cursor_text(&rows, 0, &pool);
        char *expression = expression_of(table, column);
        char *longer = xasprintf("%s%s%s AS %s", columns, columns[0] != '\0' ? ", " : "", expression, column);
        FREE_ALL(expression, columns);
        columns = longer;
    }
    int result = cursor_close(&rows);
    if (result == 0 && columns[0] != '\0') {
        char *sql = xasprintf("CREATE TEMP VIEW %s AS SELECT %s FROM %s", table->name, columns, table->source);
        result = execute(database, path, sql, error);
        free(sql);
    }
    free(columns);
    pool_release(&pool);
    return result;
}

/* Makes the trace's own views again. Findings that are kept are those of the whole run. */
static int views_again(sqlite3 *database, const char *path, struct error *error)
{
    static const char make[] = "CREATE VIEW ";
    struct cursor rows;
    char *all = xstrdup("");
    cursor_open(&rows, database, path,
                "SELECT type, name, sql FROM main.sqlite_master WHERE type = 'view' OR (type = 'table' AND (name GLOB "
                "'finding*' OR name = 'kept_by'))",
                error);
    while (cursor_next(&rows)) {
        const char *type = (const char *)sqlite3_column_text(rows.statement, 0);
        const char *name = (const char *)sqlite3_column_text(rows.statement, 1);
        const char *sql = (const char *)sqlite3_column_text(rows.statement, 2);
        if (type == NULL || name == NULL || sql == NULL || (type[0] == 'v' && strncmp(sql, make, sizeof make - 1) != 0))
            continue;
        char *more = type[0] == 'v' ? xasprintf("%sCREATE TEMP VIEW %s;", all, sql + sizeof make - 1)
                                    : xasprintf("%sCREATE TEMP VIEW \"%s\" AS SELECT * FROM main.\"%s\" WHERE 0;", all,
                                                name, name);
        free(all);
        all = more;
    }
    int result = cursor_close(&rows);
    if (result == 0)
        result = execute(database, path, all, error);
    free(all);
    return result;
}

static int make_part_left(void *context, sqlite3 *database)
{
    return sqlite3_create_function(database, "part_left", 3, SQLITE_UTF8 | SQLITE_DETERMINISTIC, context, part_left,
                                   NULL, NULL) == SQLITE_OK
               ? 0
               : -1;
}

/* Copies the rows that are looked at: messages in their rounds, and calls out of all, by threads. */
static int copy_part(sqlite3 *database, const char *path, struct part_ranks *ranks, struct error *error)
{
    struct row_parts parts;
    const struct row_reader calls = {
        .table = SHARD_CALLS, .where = "part_left(rank, begin_ns, call_ns) IS NOT NULL", .prepare = make_part_left};
    int result = execute(database, path, rows_copied, error);
    if (result != 0)
        return result;
    result = row_parts_init(&parts, database, path, error);
    if (result == 0)
        result = row_parts_copy(&parts, &calls, "part_call", ranks, error);
    row_parts_release(&parts);
    return result;
}

static int make_views(sqlite3 *database, const char *path, struct part_ranks *ranks, struct error *error)
{
    static const char *const others[] = {calls_view, unmatched_view, totals_view, regions_view};
    int64_t is_short;
    if (cursor_numbers(database, path, is_short_sql, &is_short, 1, error) != 0)
        return -1;
    int result = is_short ? copy_part(database, path, ranks, error) : execute(database, path, rows_views, error);
    for (size_t i = 0; result == 0 && i < sizeof part_tables / sizeof *part_tables; i++)
        result = view_of_table(database, path, &part_tables[i], error);
    for (size_t i = 0; result == 0 && i < sizeof others / sizeof *others; i++)
        result = execute(database, path, others[i], error);
    return result == 0 ? views_again(database, path, error) : -1;
}

/* Moves the ends outwards to the nearest ends of windows. */
static int move_to_windows(sqlite3 *database, const char *path, int64_t *from_ns, int64_t *to_ns, struct error *error)
{
    struct cursor rows;
    bool found = false;
    cursor_open(
        &rows, database, path,
        "SELECT (SELECT min(b) FROM (SELECT max(begin_ns) AS b FROM course WHERE begin_ns <= ?1 GROUP BY rank)),"
        " (SELECT max(e) FROM (SELECT min(end_ns) AS e FROM course WHERE end_ns >= ?2 GROUP BY rank)),"
        " EXISTS (SELECT 1 FROM course)",
        error);
    cursor_bind(&rows, "ii", *from_ns, *to_ns);
    if (cursor_next(&rows)) {
        found = cursor_integer(&rows, 2) != 0;
        if (sqlite3_column_type(rows.statement, 0) != SQLITE_NULL)
            *from_ns = cursor_integer(&rows, 0);
        if (sqlite3_column_type(rows.statement, 1) != SQLITE_NULL)
            *to_ns = cursor_integer(&rows, 1);
    }
    if (cursor_close(&rows) != 0)
        return -1;
    return found
               ? 0
               : error_set(error,
                           "%s: --from, --to: it has neither rows of all calls nor windows of time (table course), so "
                           "that nothing is known of a part",
                           path);
}

/* Stores where the part lies as temp.run_part, and what a replay of it is stored under. */
static int store_part(sqlite3 *database, const char *path, const struct run_window *window, int64_t from_ns,
                      int64_t to_ns, struct error *error)
{
    char from[RUN_BOUND_BYTES], to[RUN_BOUND_BYTES];
    run_bound_text(&window->from, from);
    run_bound_text(&window->to, to);
    for (char *at = from; (at = strchr(at, '\'')) != NULL;)
        *at = '?';
    for (char *at = to; (at = strchr(at, '\'')) != NULL;)
        *at = '?';
    char *sql = xasprintf("CREATE TEMP TABLE run_part AS SELECT %" PRId64 " AS from_ns, %" PRId64
                          " AS to_ns, '%s%s%s%s%s' AS options",
                          from_ns, to_ns, from[0] != '\0' ? "from " : "", from,
                          from[0] != '\0' && to[0] != '\0' ? " " : "", to[0] != '\0' ? "to " : "", to);
    int result = execute(database, path, sql, error);
    free(sql);
    return result;
}

/* Bounds all ranks by the run, finds the ends of all, and moves them to windows where it must. */
static int bound_part(sqlite3 *database, const char *path, int64_t duration_ns, bool all, struct part_ranks *ranks,
                      int64_t *from_ns, int64_t *to_ns, struct error *error)
{
    *from_ns = duration_ns;
    *to_ns = 0;
    for (size_t i = 0; i < ranks->n; i++) {
        ranks->from_ns[i] = ranks->from_ns[i] < 0 ? 0 : ranks->from_ns[i];
        ranks->to_ns[i] = ranks->to_ns[i] > duration_ns ? duration_ns : ranks->to_ns[i];
        *from_ns = ranks->from_ns[i] < *from_ns ? ranks->from_ns[i] : *from_ns;
        *to_ns = ranks->to_ns[i] > *to_ns ? ranks->to_ns[i] : *to_ns;
    }
    if (*to_ns <= *from_ns)
        return error_set(error, "%s: --from, --to: nothing of the run, which lasts %.9g s, lies in that part", path,
                         (double)duration_ns * 1e-9);
    if (all)
        return 0;
    if (move_to_windows(database, path, from_ns, to_ns, error) != 0)
        return -1;
    for (size_t i = 0; i < ranks->n; i++) {
        ranks->from_ns[i] = *from_ns;
        ranks->to_ns[i] = *to_ns;
    }
    return 0;
}

/* The connection owns ranks from here on. */
static void make_functions(sqlite3 *database, struct part_ranks *ranks)
{
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
    if (sqlite3_create_function_v2(database, "part_inside", 3, flags, ranks, part_inside, NULL, NULL,
                                   part_ranks_release) != SQLITE_OK ||
        sqlite3_create_function_v2(database, "part_left", 3, flags, ranks, part_left, NULL, NULL, NULL) != SQLITE_OK ||
        sqlite3_create_function_v2(database, "part_cut", 2, flags, ranks, part_cut, NULL, NULL, NULL) != SQLITE_OK)
        no_memory(0);
}

int trace_part_apply(sqlite3 *database, const char *path, const struct run_window *window, struct trace_part *part,
                     struct error *error)
{
    enum { RANKS, DURATION_NS, ALL, N_VALUES }; /* ALL: all calls have rows */
    int64_t from_ns, to_ns, run[N_VALUES];
    *part = (struct trace_part){0};
    if (window == NULL || (window->from.kind == RUN_BOUND_NONE && window->to.kind == RUN_BOUND_NONE))
        return 0;
    if (cursor_numbers(database, path, "SELECT (SELECT count(*) FROM process), duration_ns, detail = 'all' FROM run",
                       run, N_VALUES, error) != 0)
        return -1;
    if (run[RANKS] <= 0 || run[RANKS] > MAX_RANK)
        return error_set(error, "%s: process: %" PRId64 " ranks; expected 1 to %d", path, run[RANKS], MAX_RANK);
    struct part_ranks *ranks = xcalloc(1, sizeof *ranks);
    *ranks = (struct part_ranks){(size_t)run[RANKS], xcalloc((size_t)run[RANKS], sizeof *ranks->from_ns),
                                 xcalloc((size_t)run[RANKS], sizeof *ranks->to_ns)};
    if (run_bounds_find(database, path, window, ranks->n, ranks->from_ns, ranks->to_ns, error) != 0 ||
        bound_part(database, path, run[DURATION_NS], run[ALL] != 0, ranks, &from_ns, &to_ns, error) != 0) {
        part_ranks_release(ranks);
        return -1;
    }
    make_functions(database, ranks);
    if (store_part(database, path, window, from_ns, to_ns, error) != 0 || make_views(database, path, ranks, error) != 0)
        return -1;
    *part = (struct trace_part){.is_part = true,
                                .from_s = (double)from_ns * 1e-9,
                                .to_s = (double)to_ns * 1e-9,
                                .run_s = (double)run[DURATION_NS] * 1e-9,
                                .at_windows = run[ALL] == 0};
    return 0;
}

void trace_part_text(const struct trace_part *part, char text[PART_TEXT_BYTES])
{
    snprintf(text, PART_TEXT_BYTES, "part of the run: from %.6g to %.6g s of %.6g s%s", part->from_s, part->to_s,
             part->run_s, part->at_windows ? ", at the ends of windows" : "");
}
