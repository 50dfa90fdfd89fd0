/* Finds where a window of the run begins and ends on each rank, for all commands that take --from and --to. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "predictor/run_read/reading.h"
#include "share/base/memory.h"
#include "share/base/number.h"

/* A share of the run, of 1e9. */
#define SHARES_OF_RUN 1e9

static const char duration_sql[] = "SELECT duration_ns FROM run";
/* Begin and end of an occurrence of a region on each rank, or of all of them. */
static const char region_sql[] =
    "SELECT rank, min(begin_ns), max(end_ns) FROM (SELECT o.rank, begin_ns, end_ns, row_number() OVER (PARTITION BY "
    "o.rank ORDER BY begin_ns, o.id) AS nth FROM occurrence o JOIN region r ON r.id = o.region WHERE r.name = ?2 OR "
    "r.path = ?2) WHERE ?1 = 0 OR nth = ?1 GROUP BY rank";

/* Fills places[n] with the begin, or the end, of what a bound names. A rank that has none takes the earliest begin, or
 * the latest end, of the others. */
static int find_bound(sqlite3 *database, const char *path, const struct run_bound *bound, bool begin, size_t n,
                      int64_t *places, struct error *error)
{
    int64_t open = begin ? RUN_FROM_OPEN : RUN_TO_OPEN, found = open, all = open;
    bool mark = bound->kind == RUN_BOUND_MARK, region = bound->kind == RUN_BOUND_REGION;
    struct cursor rows;
    if (bound->kind == RUN_BOUND_SHARE) {
        if (cursor_numbers(database, path, duration_sql, &all, 1, error) != 0)
            return -1;
        all = (int64_t)((double)all * ((double)bound->value / SHARES_OF_RUN) + 0.5);
    } else if (bound->kind == RUN_BOUND_TIME) {
        all = bound->value;
    }
    for (size_t i = 0; i < n; i++)
        places[i] = all;
    if (!mark && !region && bound->kind != RUN_BOUND_SITE)
        return 0;
    cursor_open(&rows, database, path,
                region ? region_sql
                : mark ? "SELECT rank, min(at_ns), max(at_ns) FROM mark WHERE number = ?1 GROUP BY rank"
                       : "SELECT rank, min(begin_ns), max(end_ns) FROM call WHERE callsite = ?1 GROUP BY rank",
                error);
    cursor_bind(&rows, region ? "it" : "i", bound->value, bound->region);
    while (cursor_next(&rows)) {
        int64_t rank = cursor_integer(&rows, 0), at_ns = cursor_integer(&rows, begin ? 1 : 2);
        if (rank < 0 || (size_t)rank >= n) {
            rows.result =
                error_set(error, "%s: rank %lld, but the table process has %zu ranks", path, (long long)rank, n);
            continue;
        }
        places[rank] = at_ns;
        if (found == open || (begin ? at_ns < found : at_ns > found))
            found = at_ns;
    }
    if (cursor_close(&rows) != 0)
        return -1;
    if (found == open && region)
        return error_set(error, "%s: --region: no rank has %s of region %s; see its tables region and occurrence", path,
                         bound->value > 0 ? "that occurrence" : "an occurrence", bound->region);
    if (found == open)
        return error_set(error, "%s: --%s: no %s %lld; see its table %s", path, begin ? "from" : "to",
                         mark ? "rank has the mark (MPI_Pcontrol)" : "call is from call site", (long long)bound->value,
                         mark ? "mark" : "callsite");
    for (size_t i = 0; i < n; i++)
        places[i] = places[i] == open ? found : places[i];
    return 0;
}

int run_bounds_find(sqlite3 *database, const char *path, const struct run_window *window, size_t n, int64_t *from_ns,
                    int64_t *to_ns, struct error *error)
{
    if (find_bound(database, path, &window->from, true, n, from_ns, error) != 0 ||
        find_bound(database, path, &window->to, false, n, to_ns, error) != 0)
        return -1;
    int64_t duration_ns = 0;
    if (window->from.kind == RUN_BOUND_TIME &&
        cursor_numbers(database, path, duration_sql, &duration_ns, 1, error) != 0)
        return -1;
    if (duration_ns > 0 && window->from.value >= duration_ns)
        return error_set(error, "%s: --from: the run ends at %.9g s, before %.9g s", path, reading_seconds(duration_ns),
                         reading_seconds(window->from.value));
    for (size_t i = 0; i < n; i++)
        if (to_ns[i] < from_ns[i])
            return error_set(error,
                             "%s: --from, --to: on rank %zu the window ends at %.9f s, before it begins at %.9f s",
                             path, i, reading_seconds(to_ns[i]), reading_seconds(from_ns[i]));
    return 0;
}

int bounds_find(struct reading *reading)
{
    size_t n = reading->program->n_ranks;
    if (reading->want.window == NULL)
        return 0;
    int64_t *from_ns = xcalloc(n, sizeof *from_ns), *to_ns = xcalloc(n, sizeof *to_ns);
    int result =
        run_bounds_find(reading->database, reading->path, reading->want.window, n, from_ns, to_ns, reading->error);
    for (size_t i = 0; result == 0 && i < n; i++) {
        reading->ranks[i].from_ns = from_ns[i];
        reading->ranks[i].to_ns = to_ns[i];
    }
    FREE_ALL(from_ns, to_ns);
    return result;
}

int run_bound_parse(const char *text, struct run_bound *bound, struct error *error)
{
    double value;
    uint64_t number;
    bool mark = strncmp(text, "mark:", 5) == 0, site = strncmp(text, "site:", 5) == 0;
    if (mark || site) {
        const char *digits = text + 5 + (text[5] == '-' && mark);
        if (number_u64(digits, &number) != NULL || number > INT64_MAX)
            return error_set(error, "'%s': '%s' is not a number of a %s", text, text + 5, mark ? "mark" : "call site");
        *bound = (struct run_bound){mark ? RUN_BOUND_MARK : RUN_BOUND_SITE,
                                    digits == text + 5 ? (int64_t)number : -(int64_t)number, NULL};
        return 0;
    }
    size_t length = strcspn(text, " %");
    char digits[64];
    bool share = strcmp(text + length, "%") == 0 || strcmp(text + length, " %") == 0;
    snprintf(digits, sizeof digits, "%.*s", share && length < sizeof digits ? (int)length : 63, text);
    if (number_real(digits, &value) != NULL || value < 0 || value > (share ? 100 : 1e9))
        return error_set(error,
                         "'%s': expected seconds since the begin of the run, a percentage of it, mark:NUMBER or "
                         "site:ID",
                         text);
    *bound = share ? (struct run_bound){RUN_BOUND_SHARE, (int64_t)(value * (SHARES_OF_RUN / 100) + 0.5), NULL}
                   : (struct run_bound){RUN_BOUND_TIME, (int64_t)(value * 1e9 + 0.5), NULL};
    return 0;
}

void run_region_parse(const char *text, struct run_window *window)
{
    static char name[4096];
    uint64_t number = 0;
    const char *colon = strrchr(text, ':'); /* names may have some */
    bool numbered = colon != NULL && number_u64(colon + 1, &number) == NULL && number > 0 && number <= UINT32_MAX;
    snprintf(name, sizeof name, "%.*s", numbered ? (int)(colon - text) : (int)sizeof name - 1, text);
    window->from = window->to = (struct run_bound){RUN_BOUND_REGION, numbered ? (int64_t)number : 0, name};
}

void run_bound_text(const struct run_bound *bound, char text[RUN_BOUND_BYTES])
{
    text[0] = '\0';
    if (bound->kind == RUN_BOUND_TIME)
        snprintf(text, RUN_BOUND_BYTES, "%.10g s", reading_seconds(bound->value));
    else if (bound->kind == RUN_BOUND_SHARE)
        snprintf(text, RUN_BOUND_BYTES, "%.10g %%", (double)bound->value / (SHARES_OF_RUN / 100));
    else if (bound->kind == RUN_BOUND_REGION)
        snprintf(text, RUN_BOUND_BYTES, "region %.20s:%" PRId64, bound->region, bound->value);
    else if (bound->kind != RUN_BOUND_NONE)
        snprintf(text, RUN_BOUND_BYTES, "%s:%" PRId64, bound->kind == RUN_BOUND_MARK ? "mark" : "site", bound->value);
}
