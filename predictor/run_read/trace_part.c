/* SQLite looks names up among the temporary ones first, but for views of the trace itself, which know its own tables
 * alone. So those are made again, as temporary ones. Sums that ingest has stored are of the whole run: the views compute
 * them of rows where they find none. */
#include "predictor/run_read/trace_part.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/database/cursor.h"
#include "interpose/database/database.h"
#include "share/base/memory.h"

void part_option_rows(struct part_options *options, struct option_row rows[PART_ROWS])
{
    *options = (struct part_options){0};
    const struct option_row all[PART_ROWS] = {
        {0, "from", "S|P%|mark:N|site:ID", "only the run from this time, share of it, MPI_Pcontrol(N) or call site on",
         .text = &options->from, .words = WORDS_NONE},
        {0, "to", "S|P%|mark:N|site:ID", "only the run up to there", .text = &options->to, .words = WORDS_NONE},
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
    free(part->from_ns);
    free(part->to_ns);
    free(part);
}

/* part_inside(rank, begin_ns, end_ns): whether that lies in the part as a whole; end_ns may be NULL. */
static void part_inside(sqlite3_context *context, int n, sqlite3_value **values)
{
    const struct part_ranks *part = sqlite3_user_data(context);
    int64_t rank = sqlite3_value_int64(values[0]), begin_ns = sqlite3_value_int64(values[1]);
    int64_t end_ns = sqlite3_value_type(values[n - 1]) == SQLITE_NULL ? begin_ns : sqlite3_value_int64(values[n - 1]);
    bool known = rank >= 0 && (size_t)rank < part->n;
    /* Readers report a rank that does not exist. */
    sqlite3_result_int(context, !known || (begin_ns >= part->from_ns[rank] && end_ns <= part->to_ns[rank]));
}

/* part_cut(rank, at_ns): the nearest time in the part. */
static void part_cut(sqlite3_context *context, int n, sqlite3_value **values)
{
    const struct part_ranks *part = sqlite3_user_data(context);
    int64_t rank = sqlite3_value_int64(values[0]), at_ns = sqlite3_value_int64(values[1]);
    (void)n;
    if (sqlite3_value_type(values[1]) == SQLITE_NULL)
        return;
    if (rank >= 0 && (size_t)rank < part->n) {
        at_ns = at_ns < part->from_ns[rank] ? part->from_ns[rank] : at_ns;
        at_ns = at_ns > part->to_ns[rank] ? part->to_ns[rank] : at_ns;
    }
    sqlite3_result_int64(context, at_ns);
}

/* How a table is seen: its columns but for those that have an expression here, FROM source. NULL ends the list. */
struct part_table {
    const char *name, *source;
    const char *columns[12][2]; /* name, expression */
};

#define CUT(column)                                                                                                    \
    {                                                                                                                  \
#column, "part_cut(rank, " #column ")"                                                                         \
    }
#define LEFT "(1.0 * (part_cut(rank, end_ns) - part_cut(rank, begin_ns)) / nullif(end_ns - begin_ns, 0))"
#define SCALED(column)                                                                                                 \
    {                                                                                                                  \
#column, "CAST(round(" #column " * " LEFT ") AS INTEGER)"                                                      \
    }
#define LASTS       "part_cut(rank, end_ns) > part_cut(rank, begin_ns)"
#define FROM_NS     "(SELECT from_ns FROM temp.run_part)"
#define TO_NS       "(SELECT to_ns FROM temp.run_part)"
#define SEND_INSIDE "part_inside(src, send_post_ns, send_post_ns + coalesce(send_call_ns, 0))"
#define RECV_INSIDE "part_inside(dst, send_post_ns + late_ns, send_post_ns + late_ns + coalesce(recv_call_ns, 0))"
#define DONE_INSIDE "part_inside(rank, begin_ns, coalesce(end_ns, begin_ns + call_ns))"
#define CALL_LASTS(rank, begin, length)                                                                                \
    "(part_inside(" rank ", " begin ", " begin " + " length ") OR "                                                    \
    "part_cut(" rank ", " begin " + " length ") > part_cut(" rank ", " begin "))"
#define CALL_CUT(rank, begin, length)                                                                                  \
    "part_cut(" rank ", " begin "), part_cut(" rank ", " begin " + " length ") - part_cut(" rank ", " begin ")"

static const struct part_table part_tables[] = {
    {"burst",
     "main.burst WHERE begin_ns < " TO_NS " AND end_ns > " FROM_NS,
     {{"begin_ns", "max(begin_ns, " FROM_NS ")"}, {"end_ns", "min(end_ns, " TO_NS ")"}}},
    {"run",
     "main.run",
     {{"duration_ns", TO_NS " - " FROM_NS},
      {"detail", "iif(detail = 'bursts' AND NOT EXISTS (SELECT 1 FROM burst), 'none', detail)"}}},
    {"process",
     "main.process",
     {CUT(begin_ns), CUT(end_ns), SCALED(observed_ns), SCALED(run_ns), SCALED(wait_ns), SCALED(involuntary_switches)}},
    {"message_row", "main.message_row WHERE " SEND_INSIDE " AND " RECV_INSIDE, {{0}}},
    {"collective", "main.collective WHERE " DONE_INSIDE, {{0}}},
    {"rma", "main.rma WHERE " DONE_INSIDE, {{0}}},
    {"file_call", "main.file_call WHERE " DONE_INSIDE, {{0}}},
    {"round", "main.round WHERE begin_ns >= " FROM_NS " AND end_ns <= " TO_NS, {{0}}},
    {"round_process", "main.round_process WHERE round_id IN (SELECT id FROM round)", {{0}}},
    {"kind",
     "main.kind k JOIN (SELECT kind_id, count(*) AS n FROM round GROUP BY kind_id) r ON r.kind_id = k.id",
     {{"rounds", "n"}}},
    {"kind_sum", "main.kind_sum WHERE 0", {{0}}},
    {"message_sum", "main.message_sum WHERE 0", {{0}}},
    {"joint_sum", "main.joint_sum WHERE 0", {{0}}},
    {"message_halves", "main.message_halves WHERE 0", {{0}}},
    {"course",
     "main.course WHERE " LASTS,
     {CUT(begin_ns), CUT(end_ns), SCALED(point_to_point_ns), SCALED(wait_ns), SCALED(idle_ns), SCALED(collective_ns),
      SCALED(one_sided_ns), SCALED(file_ns), SCALED(other_ns), SCALED(calls), SCALED(bytes)}},
    {"mark", "main.mark WHERE part_inside(rank, at_ns, at_ns)", {{0}}},
    {"recording_off", "main.recording_off WHERE " LASTS, {CUT(begin_ns), CUT(end_ns)}},
    {"not_recorded", "main.not_recorded WHERE " LASTS, {CUT(begin_ns), CUT(end_ns)}},
    {"replay_run",
     "main.replay_run WHERE options = (SELECT options FROM temp.run_part) OR "
     "options GLOB (SELECT options || ' *' FROM temp.run_part)",
     {{0}}},
};

/* A message of which one side alone lies inside is an operation without a partner, and the call of that side a call.
 * The totals are those of the rows. */
static const char
    part_views
        [] =
            "CREATE TEMP VIEW call_row(rank, function, begin_ns, call_ns, completed, idle_calls, callsite) AS"
            " SELECT rank, function, " CALL_CUT(
                "rank", "begin_ns", "call_ns") ", completed, idle_calls, callsite"
                                               " FROM main.call_row WHERE " CALL_LASTS("rank", "begin_ns", "call_ns") " UNION ALL SELECT src, f.send_function, " CALL_CUT(
                                                   "src", "send_post_ns",
                                                   "send_call_ns") ", f.send_completed, 0, f.send_callsite FROM "
                                                                   "main.message_row JOIN main.form f ON f.id = form"
                                                                   " WHERE f.send_completed IS NOT NULL AND "
                                                                   "send_call_ns IS NOT NULL AND NOT (" SEND_INSIDE
                                                                   " AND " RECV_INSIDE
                                                                   ") AND " CALL_LASTS("src", "send_post_ns", "send_call_ns") " UNION ALL SELECT dst, f.recv_function, " CALL_CUT(
                                                                       "dst", "send_post_ns + late_ns",
                                                                       "recv_call_ns") ", f.recv_completed, 0, "
                                                                                       "f.recv_callsite FROM "
                                                                                       "main.message_row JOIN "
                                                                                       "main.form f ON f.id = form"
                                                                                       " WHERE f.recv_completed IS NOT "
                                                                                       "NULL AND recv_call_ns IS NOT "
                                                                                       "NULL AND NOT (" SEND_INSIDE
                                                                                       " AND " RECV_INSIDE
                                                                                       ") AND " CALL_LASTS(
                                                                                           "dst",
                                                                                           "send_post_ns + late_ns",
                                                                                           "recv_call_ns") ";"
                                                                                                           "CREATE "
                                                                                                           "TEMP VIEW "
                                                                                                           "unmatched("
                                                                                                           "id, rank, "
                                                                                                           "direction, "
                                                                                                           "peer, "
                                                                                                           "comm, tag, "
                                                                                                           "bytes, "
                                                                                                           "reason, "
                                                                                                           "post_ns, "
                                                                                                           "complete_"
                                                                                                           "ns, "
                                                                                                           "function,"
                                                                                                           " callsite) "
                                                                                                           "AS"
                                                                                                           " SELECT "
                                                                                                           "id, rank, "
                                                                                                           "direction, "
                                                                                                           "peer, "
                                                                                                           "comm, tag, "
                                                                                                           "bytes, "
                                                                                                           "reason, "
                                                                                                           "post_ns, "
                                                                                                           "complete_"
                                                                                                           "ns, "
                                                                                                           "function, "
                                                                                                           "callsite"
                                                                                                           " FROM "
                                                                                                           "main."
                                                                                                           "unmatched "
                                                                                                           "WHERE "
                                                                                                           "part_"
                                                                                                           "inside("
                                                                                                           "rank, "
                                                                                                           "post_ns, "
                                                                                                           "post_ns)"
                                                                                                           " UNION ALL "
                                                                                                           "SELECT -2 "
                                                                                                           "* m.id, "
                                                                                                           "src, "
                                                                                                           "'send', "
                                                                                                           "dst, comm, "
                                                                                                           "tag, "
                                                                                                           "bytes, "
                                                                                                           "'cut_off', "
                                                                                                           "send_post_"
                                                                                                           "ns, "
                                                                                                           "send_post_"
                                                                                                           "ns + "
                                                                                                           "send_ns,"
                                                                                                           " n.name, "
                                                                                                           "f.send_"
                                                                                                           "callsite "
                                                                                                           "FROM "
                                                                                                           "main."
                                                                                                           "message_"
                                                                                                           "row m JOIN "
                                                                                                           "main.form "
                                                                                                           "f ON f.id "
                                                                                                           "= m.form"
                                                                                                           " JOIN "
                                                                                                           "main."
                                                                                                           "function n "
                                                                                                           "ON n.id = "
                                                                                                           "f.send_"
                                                                                                           "function "
                                                                                                           "WHERE"
                                                                                                           " " SEND_INSIDE
                                                                                                           " AND "
                                                                                                           "NOT"
                                                                                                           " " RECV_INSIDE
                                                                                                           " UNION ALL "
                                                                                                           "SELECT -2 "
                                                                                                           "* m.id - "
                                                                                                           "1, dst, "
                                                                                                           "'receive', "
                                                                                                           "src, comm, "
                                                                                                           "tag, bytes "
                                                                                                           "+ "
                                                                                                           "room_bytes,"
                                                                                                           " 'cut_off',"
                                                                                                           " send_post_"
                                                                                                           "ns + "
                                                                                                           "late_ns, "
                                                                                                           "send_post_"
                                                                                                           "ns + "
                                                                                                           "late_ns + "
                                                                                                           "recv_ns, "
                                                                                                           "n.name, "
                                                                                                           "f.recv_"
                                                                                                           "callsite"
                                                                                                           " FROM "
                                                                                                           "main."
                                                                                                           "message_"
                                                                                                           "row m JOIN "
                                                                                                           "main.form "
                                                                                                           "f ON f.id "
                                                                                                           "= m.form"
                                                                                                           " JOIN "
                                                                                                           "main."
                                                                                                           "function n "
                                                                                                           "ON n.id = "
                                                                                                           "f.recv_"
                                                                                                           "function "
                                                                                                           "WHERE"
                                                                                                           " " RECV_INSIDE
                                                                                                           " AND "
                                                                                                           "NOT"
                                                                                                           " " SEND_INSIDE
                                                                                                           ";"
                                                                                                           "CREATE "
                                                                                                           "TEMP VIEW "
                                                                                                           "total(rank,"
                                                                                                           " function, "
                                                                                                           "callsite, "
                                                                                                           "comm, "
                                                                                                           "peer, "
                                                                                                           "several, "
                                                                                                           "level, "
                                                                                                           "direction, "
                                                                                                           "bin, "
                                                                                                           "calls, "
                                                                                                           "bytes, "
                                                                                                           "time_ns,"
                                                                                                           " longest_"
                                                                                                           "ns, off, "
                                                                                                           "idle, "
                                                                                                           "error_ns) "
                                                                                                           "AS"
                                                                                                           " WITH "
                                                                                                           "RECURSIVE "
                                                                                                           "power(bin, "
                                                                                                           "bytes) AS "
                                                                                                           "(SELECT 1, "
                                                                                                           "1 UNION "
                                                                                                           "ALL SELECT "
                                                                                                           "bin + 1, 2 "
                                                                                                           "* bytes "
                                                                                                           "FROM power "
                                                                                                           "WHERE bin "
                                                                                                           "< 63),"
                                                                                                           " joint AS "
                                                                                                           "MATERIALIZE"
                                                                                                           "D (SELECT "
                                                                                                           "rank, "
                                                                                                           "begin_ns, "
                                                                                                           "function, "
                                                                                                           "comm, "
                                                                                                           "bytes FROM "
                                                                                                           "collective"
                                                                                                           "  UNION "
                                                                                                           "ALL SELECT "
                                                                                                           "rank, "
                                                                                                           "begin_ns, "
                                                                                                           "function, "
                                                                                                           "comm, "
                                                                                                           "bytes FROM "
                                                                                                           "rma"
                                                                                                           "  UNION "
                                                                                                           "ALL SELECT "
                                                                                                           "rank, "
                                                                                                           "begin_ns, "
                                                                                                           "function, "
                                                                                                           "comm, "
                                                                                                           "bytes FROM "
                                                                                                           "file_call),"
                                                                                                           " every("
                                                                                                           "rank, "
                                                                                                           "function, "
                                                                                                           "callsite, "
                                                                                                           "comm, "
                                                                                                           "peer, "
                                                                                                           "level, "
                                                                                                           "direction, "
                                                                                                           "bytes, n, "
                                                                                                           "time_ns, "
                                                                                                           "idle) AS ("
                                                                                                           "  SELECT "
                                                                                                           "src, "
                                                                                                           "f.send_"
                                                                                                           "function, "
                                                                                                           "f.send_"
                                                                                                           "callsite, "
                                                                                                           "comm, dst, "
                                                                                                           "f.level, "
                                                                                                           "'send', "
                                                                                                           "bytes, 1,"
                                                                                                           "   "
                                                                                                           "iif(f.send_"
                                                                                                           "completed "
                                                                                                           "IS NULL, "
                                                                                                           "0, "
                                                                                                           "coalesce("
                                                                                                           "send_call_"
                                                                                                           "ns, 0)), 0 "
                                                                                                           "FROM "
                                                                                                           "message_"
                                                                                                           "row m JOIN "
                                                                                                           "form f ON "
                                                                                                           "f.id = "
                                                                                                           "m.form"
                                                                                                           "  UNION "
                                                                                                           "ALL SELECT "
                                                                                                           "dst, "
                                                                                                           "f.recv_"
                                                                                                           "function, "
                                                                                                           "f.recv_"
                                                                                                           "callsite, "
                                                                                                           "comm, src, "
                                                                                                           "f.level, "
                                                                                                           "'receive', "
                                                                                                           "bytes + "
                                                                                                           "room_bytes,"
                                                                                                           " 1,"
                                                                                                           "   "
                                                                                                           "iif(f.recv_"
                                                                                                           "completed "
                                                                                                           "IS NULL, "
                                                                                                           "0, "
                                                                                                           "coalesce("
                                                                                                           "recv_call_"
                                                                                                           "ns, 0)), 0 "
                                                                                                           "FROM "
                                                                                                           "message_"
                                                                                                           "row m JOIN "
                                                                                                           "form f ON "
                                                                                                           "f.id = "
                                                                                                           "m.form"
                                                                                                           "  UNION "
                                                                                                           "ALL SELECT "
                                                                                                           "c.rank, "
                                                                                                           "c.function,"
                                                                                                           " c."
                                                                                                           "callsite, "
                                                                                                           "j.comm, "
                                                                                                           "NULL, "
                                                                                                           "NULL, "
                                                                                                           "NULL, "
                                                                                                           "coalesce(j."
                                                                                                           "bytes, 0),"
                                                                                                           "   "
                                                                                                           "max(idle_"
                                                                                                           "calls, 1), "
                                                                                                           "call_ns, "
                                                                                                           "idle_calls "
                                                                                                           "> 0 FROM "
                                                                                                           "call_row c "
                                                                                                           "JOIN "
                                                                                                           "function n "
                                                                                                           "ON n.id = "
                                                                                                           "c.function"
                                                                                                           "   LEFT "
                                                                                                           "JOIN joint "
                                                                                                           "j ON "
                                                                                                           "j.rank = "
                                                                                                           "c.rank AND "
                                                                                                           "j.begin_ns "
                                                                                                           "= "
                                                                                                           "c.begin_ns "
                                                                                                           "AND "
                                                                                                           "j.function "
                                                                                                           "= n.name)"
                                                                                                           " SELECT "
                                                                                                           "rank, "
                                                                                                           "function, "
                                                                                                           "callsite, "
                                                                                                           "comm, "
                                                                                                           "peer, 0, "
                                                                                                           "level, "
                                                                                                           "direction,"
                                                                                                           "  "
                                                                                                           "coalesce(("
                                                                                                           "SELECT "
                                                                                                           "max(p.bin) "
                                                                                                           "FROM power "
                                                                                                           "p WHERE "
                                                                                                           "p.bytes <= "
                                                                                                           "every."
                                                                                                           "bytes), 0) "
                                                                                                           "AS bin, "
                                                                                                           "sum(n), "
                                                                                                           "sum(bytes "
                                                                                                           "* n),"
                                                                                                           "  "
                                                                                                           "sum(time_"
                                                                                                           "ns), "
                                                                                                           "max(time_"
                                                                                                           "ns), 0, "
                                                                                                           "idle, NULL"
                                                                                                           " FROM "
                                                                                                           "every "
                                                                                                           "GROUP BY "
                                                                                                           "rank, "
                                                                                                           "function, "
                                                                                                           "callsite, "
                                                                                                           "comm, "
                                                                                                           "peer, "
                                                                                                           "level, "
                                                                                                           "direction, "
                                                                                                           "bin, idle;";

static int execute(sqlite3 *database, const char *path, const char *sql, struct error *error)
{
    return sqlite3_exec(database, sql, NULL, NULL, NULL) == SQLITE_OK
               ? 0
               : database_error(database, path, "no part of it can be taken", error);
}

static const char *expression_of(const struct part_table *table, const char *column)
{
    for (size_t i = 0; i < sizeof table->columns / sizeof *table->columns && table->columns[i][0] != NULL; i++)
        if (strcmp(table->columns[i][0], column) == 0)
            return table->columns[i][1];
    return column;
}

/* Makes the view of a table, whatever columns it has. */
static int view_of_table(sqlite3 *database, const char *path, const struct part_table *table, struct error *error)
{
    struct cursor rows;
    struct pool pool = {0};
    char *columns = xstrdup("");
    cursor_open(&rows, database, path, "SELECT name FROM pragma_table_info(?1, 'main')", error);
    cursor_bind(&rows, "t", table->name);
    while (cursor_next(&rows)) {
        const char *column = cursor_text(&rows, 0, &pool);
        char *longer =
            xasprintf("%s%s%s AS %s", columns, columns[0] != '\0' ? ", " : "", expression_of(table, column), column);
        free(columns);
        columns = longer;
    }
    int result = cursor_close(&rows);
    if (result == 0) {
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

static int make_views(sqlite3 *database, const char *path, struct error *error)
{
    int result = 0;
    for (size_t i = 0; result == 0 && i < sizeof part_tables / sizeof *part_tables; i++)
        result = view_of_table(database, path, &part_tables[i], error);
    if (result == 0)
        result = execute(database, path, part_views, error);
    return result == 0 ? views_again(database, path, error) : -1;
}

struct part_run {
    int64_t n_ranks, duration_ns;
    bool all; /* calls have rows */
};

static int read_part_run(sqlite3 *database, const char *path, struct part_run *run, struct error *error)
{
    struct cursor rows;
    cursor_open(&rows, database, path, "SELECT (SELECT count(*) FROM process), duration_ns, detail = 'all' FROM run",
                error);
    if (cursor_next(&rows))
        *run = (struct part_run){cursor_integer(&rows, 0), cursor_integer(&rows, 1), cursor_integer(&rows, 2) != 0};
    return cursor_close(&rows);
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
    char *sql = xasprintf("CREATE TEMP TABLE run_part AS SELECT %" PRId64 " AS from_ns, %" PRId64
                          " AS to_ns, '%s%s%s%s%s' AS options",
                          from_ns, to_ns, from[0] != '\0' ? "from " : "", from,
                          from[0] != '\0' && to[0] != '\0' ? " " : "", to[0] != '\0' ? "to " : "", to);
    int result = execute(database, path, sql, error);
    free(sql);
    return result;
}

/* Bounds all ranks by the run, finds the ends of all, and moves them to windows where it must. */
static int bound_part(sqlite3 *database, const char *path, const struct part_run *run, struct part_ranks *ranks,
                      int64_t *from_ns, int64_t *to_ns, struct error *error)
{
    *from_ns = run->duration_ns;
    *to_ns = 0;
    for (size_t i = 0; i < ranks->n; i++) {
        ranks->from_ns[i] = ranks->from_ns[i] < 0 ? 0 : ranks->from_ns[i];
        ranks->to_ns[i] = ranks->to_ns[i] > run->duration_ns ? run->duration_ns : ranks->to_ns[i];
        *from_ns = ranks->from_ns[i] < *from_ns ? ranks->from_ns[i] : *from_ns;
        *to_ns = ranks->to_ns[i] > *to_ns ? ranks->to_ns[i] : *to_ns;
    }
    if (*to_ns <= *from_ns)
        return error_set(error, "%s: --from, --to: nothing of the run, which lasts %.9g s, lies in that part", path,
                         (double)run->duration_ns * 1e-9);
    if (run->all)
        return 0;
    if (move_to_windows(database, path, from_ns, to_ns, error) != 0)
        return -1;
    for (size_t i = 0; i < ranks->n; i++) {
        ranks->from_ns[i] = *from_ns;
        ranks->to_ns[i] = *to_ns;
    }
    return 0;
}

static int make_functions(sqlite3 *database, struct part_ranks *ranks)
{
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC;
    if (sqlite3_create_function_v2(database, "part_cut", 2, flags, ranks, part_cut, NULL, NULL, NULL) != SQLITE_OK)
        no_memory(0);
    /* Whose data it is: released with this one, also where it fails. */
    if (sqlite3_create_function_v2(database, "part_inside", 3, flags, ranks, part_inside, NULL, NULL,
                                   part_ranks_release) != SQLITE_OK)
        no_memory(0);
    return 0;
}

int trace_part_apply(sqlite3 *database, const char *path, const struct run_window *window, struct trace_part *part,
                     struct error *error)
{
    struct part_run run = {0};
    int64_t from_ns, to_ns;
    *part = (struct trace_part){0};
    if (window == NULL || (window->from.kind == RUN_BOUND_NONE && window->to.kind == RUN_BOUND_NONE))
        return 0;
    if (read_part_run(database, path, &run, error) != 0)
        return -1;
    if (run.n_ranks <= 0 || run.n_ranks > MAX_RANK)
        return error_set(error, "%s: process: %" PRId64 " ranks; expected 1 to %d", path, run.n_ranks, MAX_RANK);
    struct part_ranks *ranks = xcalloc(1, sizeof *ranks);
    *ranks = (struct part_ranks){(size_t)run.n_ranks, xcalloc((size_t)run.n_ranks, sizeof *ranks->from_ns),
                                 xcalloc((size_t)run.n_ranks, sizeof *ranks->to_ns)};
    if (run_bounds_find(database, path, window, ranks->n, ranks->from_ns, ranks->to_ns, error) != 0 ||
        bound_part(database, path, &run, ranks, &from_ns, &to_ns, error) != 0) {
        part_ranks_release(ranks);
        return -1;
    }
    if (make_functions(database, ranks) != 0 || store_part(database, path, window, from_ns, to_ns, error) != 0 ||
        make_views(database, path, error) != 0)
        return -1;
    *part = (struct trace_part){.is_part = true,
                                .from_s = (double)from_ns * 1e-9,
                                .to_s = (double)to_ns * 1e-9,
                                .run_s = (double)run.duration_ns * 1e-9,
                                .at_windows = !run.all};
    return 0;
}

void trace_part_text(const struct trace_part *part, char text[PART_TEXT_BYTES])
{
    snprintf(text, PART_TEXT_BYTES, "part of the run: from %.6g to %.6g s of %.6g s%s", part->from_s, part->to_s,
             part->run_s, part->at_windows ? ", at the ends of windows" : "");
}
