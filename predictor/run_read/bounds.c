/* Finds where a window of the run begins and ends on each rank. */
#include <string.h>

#include "predictor/run_read/reading.h"
#include "share/base/number.h"

static int64_t earlier(int64_t a, int64_t b)
{
    return a == NO_TIME || (b != NO_TIME && b < a) ? b : a;
}

static int64_t later_bound(int64_t a, int64_t b)
{
    return a == NO_TIME || (b != NO_TIME && b > a) ? b : a;
}

static int64_t *place_of(struct read_rank *rank, bool begin)
{
    return begin ? &rank->from_ns : &rank->to_ns;
}

static void note(struct read_rank *rank, bool begin, int64_t at_ns)
{
    int64_t *place = place_of(rank, begin);
    *place = begin ? earlier(*place, at_ns) : later_bound(*place, at_ns);
}

static int find_mark(struct reading *reading, int64_t number, bool begin)
{
    struct cursor rows;
    cursor_open(&rows, reading->database, reading->path, "SELECT number, rank, at_ns FROM mark", reading->error);
    while (cursor_next(&rows)) {
        uint32_t rank;
        int64_t found, at_ns;
        if (row_read(reading, &rows, "mark", "irt", &found, &rank, &at_ns) != 0)
            rows.result = -1;
        else if (found == number)
            note(&reading->ranks[rank], begin, at_ns);
    }
    return cursor_close(&rows);
}

static void find_site(struct reading *reading, int64_t callsite, bool begin)
{
    for (size_t i = 0; i < reading->program->n_ranks; i++) {
        struct read_rank *rank = &reading->ranks[i];
        for (size_t k = 0; k < rank->n_items; k++)
            if (reading->program->sites[rank->items[k].site].callsite == callsite)
                note(rank, begin, begin ? rank->items[k].begin_ns : rank->items[k].end_ns);
    }
}

static int find_bound(struct reading *reading, const struct run_bound *bound, bool begin)
{
    const char *option = begin ? "from" : "to";
    if (bound->kind == RUN_BOUND_NONE)
        return 0;
    if (bound->kind == RUN_BOUND_MARK && find_mark(reading, bound->value, begin) != 0)
        return -1;
    if (bound->kind == RUN_BOUND_SITE)
        find_site(reading, bound->value, begin);
    int64_t all = bound->kind == RUN_BOUND_TIME ? bound->value : NO_TIME;
    for (size_t i = 0; i < reading->program->n_ranks; i++)
        all = begin ? earlier(all, *place_of(&reading->ranks[i], begin))
                    : later_bound(all, *place_of(&reading->ranks[i], begin));
    if (all == NO_TIME)
        return bound->kind == RUN_BOUND_MARK
                   ? error_set(reading->error, "%s: --%s: no rank has the mark %lld (MPI_Pcontrol); see its table mark",
                               reading->path, option, (long long)bound->value)
                   : error_set(reading->error, "%s: --%s: no call is from call site %lld; see its table callsite",
                               reading->path, option, (long long)bound->value);
    for (size_t i = 0; i < reading->program->n_ranks; i++)
        if (*place_of(&reading->ranks[i], begin) == NO_TIME)
            *place_of(&reading->ranks[i], begin) = all;
    return 0;
}

int bounds_find(struct reading *reading)
{
    if (reading->window == NULL)
        return 0;
    if (find_bound(reading, &reading->window->from, true) != 0 || find_bound(reading, &reading->window->to, false) != 0)
        return -1;
    for (size_t i = 0; i < reading->program->n_ranks; i++) {
        const struct read_rank *rank = &reading->ranks[i];
        if (rank->from_ns != NO_TIME && rank->to_ns != NO_TIME && rank->to_ns < rank->from_ns)
            return error_set(reading->error,
                             "%s: --from, --to: on rank %zu the window ends at %.9f s, before it begins at "
                             "%.9f s",
                             reading->path, i, reading_seconds(rank->to_ns), reading_seconds(rank->from_ns));
    }
    return 0;
}

int run_bound_parse(const char *text, struct run_bound *bound, struct error *error)
{
    double seconds;
    uint64_t number;
    bool mark = strncmp(text, "mark:", 5) == 0, site = strncmp(text, "site:", 5) == 0;
    if (mark || site) {
        const char *digits = text + 5 + (text[5] == '-' && mark);
        if (number_u64(digits, &number) != NULL || number > INT64_MAX)
            return error_set(error, "'%s': '%s' is not a number of a %s", text, text + 5, mark ? "mark" : "call site");
        *bound = (struct run_bound){mark ? RUN_BOUND_MARK : RUN_BOUND_SITE,
                                    digits == text + 5 ? (int64_t)number : -(int64_t)number};
        return 0;
    }
    if (number_real(text, &seconds) != NULL || seconds < 0 || seconds > 1e9)
        return error_set(error, "'%s': expected seconds since the begin of the run, mark:NUMBER or site:ID", text);
    *bound = (struct run_bound){RUN_BOUND_TIME, (int64_t)(seconds * 1e9 + 0.5)};
    return 0;
}
