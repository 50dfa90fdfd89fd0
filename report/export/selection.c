/* The ranks and the window of --ranks, --from and --to. A mark or a call site comes at another time on each rank, so
 * the window is an array by rank; the SQL function kept() looks rows up in it. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/database/cursor.h"
#include "report/export/trace_export.h"
#include "share/base/memory.h"

enum { MAX_SELECTED = 1 << 24 };

static int count_ranks(struct export *export)
{
    struct selection *selection = &export->selection;
    struct cursor rows;
    cursor_open(&rows, export->database, export->path, "SELECT rank FROM process ORDER BY rank", export->error);
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

/* Fills places[] by a query for the begin and the end, by rank, of what a bound names. */
static int bound_by_rank(struct export *export, const struct run_bound *bound, const char *sql, int64_t *places,
                         bool begin)
{
    struct cursor rows;
    cursor_open(&rows, export->database, export->path, sql, export->error);
    if (rows.result == 0)
        sqlite3_bind_int64(rows.statement, 1, bound->value);
    while (cursor_next(&rows)) {
        int64_t rank = cursor_integer(&rows, 0);
        if (rank < 0 || (size_t)rank >= export->selection.n_ranks)
            rows.result = error_set(export->error, "%s: rank %lld, but the table process has %zu ranks", export->path,
                                    (long long)rank, export->selection.n_ranks);
        else
            places[rank] = cursor_integer(&rows, begin ? 1 : 2);
    }
    return cursor_close(&rows);
}

static int find_bound(struct export *export, const struct run_bound *bound, int64_t *places, bool begin)
{
    size_t n = export->selection.n_ranks;
    int64_t open = begin ? INT64_MIN : INT64_MAX, found = open;
    for (size_t i = 0; i < n; i++)
        places[i] = bound->kind == RUN_BOUND_TIME ? bound->value : open;
    if (bound->kind == RUN_BOUND_NONE || bound->kind == RUN_BOUND_TIME)
        return 0;
    bool mark = bound->kind == RUN_BOUND_MARK;
    const char *sql = mark ? "SELECT rank, min(at_ns), max(at_ns) FROM mark WHERE number = ? GROUP BY rank"
                           : "SELECT rank, min(begin_ns), max(end_ns) FROM call WHERE callsite = ? GROUP BY rank";
    if (bound_by_rank(export, bound, sql, places, begin) != 0)
        return -1;
    for (size_t i = 0; i < n; i++)
        if (places[i] != open && (found == open || (begin ? places[i] < found : places[i] > found)))
            found = places[i];
    if (found == open)
        return error_set(export->error, "%s: --%s: no %s %lld; see its table %s", export->path, begin ? "from" : "to",
                         mark ? "rank has the mark (MPI_Pcontrol)" : "call is from call site", (long long)bound->value,
                         mark ? "mark" : "callsite");
    for (size_t i = 0; i < n; i++)
        places[i] = places[i] == open ? found : places[i];
    return 0;
}

static int check_window(const struct export *export)
{
    const struct selection *selection = &export->selection;
    for (size_t i = 0; i < selection->n_ranks; i++)
        if (selection->to_ns[i] < selection->from_ns[i])
            return error_set(export->error,
                             "%s: --from, --to: on rank %zu the window ends at %.9f s, before it begins at %.9f s",
                             export->path, i, (double)selection->to_ns[i] * 1e-9, (double)selection->from_ns[i] * 1e-9);
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

int selection_make(struct export *export)
{
    struct selection *selection = &export->selection;
    const struct run_window *window = &export->wish->window;
    if (count_ranks(export) != 0)
        return -1;
    size_t n = selection->n_ranks;
    selection->wanted = xcalloc(n, 1);
    selection->from_ns = xcalloc(n, sizeof *selection->from_ns);
    selection->to_ns = xcalloc(n, sizeof *selection->to_ns);
    if (choose_ranks(export) != 0 || find_bound(export, &window->from, selection->from_ns, true) != 0 ||
        find_bound(export, &window->to, selection->to_ns, false) != 0 || check_window(export) != 0)
        return -1;
    selection->all =
        !selection->part_of_ranks && window->from.kind == RUN_BOUND_NONE && window->to.kind == RUN_BOUND_NONE;
    if (sqlite3_create_function(export->database, "kept", -1, SQLITE_UTF8, selection, kept, NULL, NULL) != SQLITE_OK)
        no_memory(0);
    return 0;
}

void selection_release(struct selection *selection)
{
    free(selection->wanted);
    free(selection->from_ns);
    free(selection->to_ns);
    *selection = (struct selection){0};
}

static const char left_out_sql[] =
    "SELECT m.n, m.n - m.inside, m.cut, c.n, c.n - c.inside FROM"
    " (SELECT count(*) AS n, coalesce(sum(s AND r), 0) AS inside, coalesce(sum(s <> r), 0) AS cut FROM"
    "   (SELECT kept(src, send_post_ns, send_post_ns + send_ns) AS s,"
    "           kept(dst, send_post_ns + late_ns, send_post_ns + late_ns + recv_ns) AS r FROM message_row)) m,"
    " (SELECT count(*) AS n, coalesce(sum(kept(rank, begin_ns, begin_ns + call_ns)), 0) AS inside FROM call_row) c";

int selection_tell(struct export *export)
{
    struct cursor rows;
    if (export->selection.all)
        return 0;
    cursor_open(&rows, export->database, export->path, left_out_sql, export->error);
    if (cursor_next(&rows))
        fprintf(stderr,
                "mpistair: note: left out, as outside of --ranks, --from, --to: %lld of %lld messages (%lld of them "
                "with one side inside), %lld of %lld calls that post none\n",
                (long long)cursor_integer(&rows, 1), (long long)cursor_integer(&rows, 0),
                (long long)cursor_integer(&rows, 2), (long long)cursor_integer(&rows, 4),
                (long long)cursor_integer(&rows, 3));
    return cursor_close(&rows);
}
