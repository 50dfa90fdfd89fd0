/* Makes cells of the calls of a trace. The reader of whole runs (predictor/run_read) tells each call with what its time
 * went to; a rank's calls are kept until its last one, then sorted by site and summed up. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "predictor/run_read/run_read.h"
#include "report/compare/profile.h"
#include "share/base/array.h"
#include "share/base/statistics.h"

struct watched_call {
    uint32_t site;
    uint32_t number; /* keeps the order */
    double part_s[PROFILE_PARTS];
    bool collective; /* its time depends on a collective, also where MPI_Wait waits for one */
};

struct watching {
    struct profile *profile;
    const struct run_program *program;
    uint32_t rank;
    struct watched_call *calls; /* of the rank */
    size_t n_calls, capacity;
    double *values; /* [capacity] of one part */
    size_t values_capacity;
    bool no_memory;
};

/* Returns the mean of the fastest quarter. */
static double undisturbed(double *values, size_t n)
{
    sort_doubles(values, n);
    size_t quarter = (n + 3) / 4;
    double sum = 0;
    for (size_t i = 0; i < quarter; i++)
        sum += values[i];
    return sum / (double)quarter;
}

void profile_spans(double *values, size_t n, double span_s[PROFILE_SPANS])
{
    for (size_t span = 0; span < PROFILE_SPANS; span++) {
        size_t first = span * n / PROFILE_SPANS, end = (span + 1) * n / PROFILE_SPANS;
        if (n < PROFILE_SPANS) { /* a call then stands for more than one span, and is alone in each */
            span_s[span] = n == 0 ? 0 : values[first] * (double)n / PROFILE_SPANS;
            continue;
        }
        span_s[span] = undisturbed(values + first, end - first) * (double)n / PROFILE_SPANS;
    }
}

static void sum_part(struct watching *watching, struct profile_cell *cell, const struct watched_call *calls, size_t n,
                     enum profile_part part)
{
    double span_s[PROFILE_SPANS];
    for (size_t i = 0; i < n; i++) {
        watching->values[i] = calls[i].part_s[part];
        cell->total_s[part] += calls[i].part_s[part];
        watching->profile->run_span_s[i * PROFILE_SPANS / n] += calls[i].part_s[part];
    }
    if (part == PROFILE_WAIT)
        return;
    profile_spans(watching->values, n, span_s);
    for (size_t i = 0; i < PROFILE_SPANS; i++)
        cell->span_s[part][i] = (float)span_s[i];
}

static void add_cell(struct watching *watching, const struct watched_call *calls, size_t n)
{
    struct profile *profile = watching->profile;
    if (array_grow(&profile->cells, profile->n_cells, sizeof *profile->cells) != 0 ||
        array_reserve(&watching->values, &watching->values_capacity, n, sizeof *watching->values) != 0) {
        watching->no_memory = true;
        return;
    }
    struct profile_cell *cell = &profile->cells[profile->n_cells++];
    *cell = (struct profile_cell){.rank = watching->rank, .site = calls->site, .calls = n};
    for (enum profile_part part = 0; part < PROFILE_PARTS; part++)
        sum_part(watching, cell, calls, n, part);
    struct profile_site *site = &profile->sites[calls->site];
    for (size_t i = 0; i < n && site->kind == PROFILE_POINT_TO_POINT; i++)
        if (calls[i].collective)
            site->kind = PROFILE_COLLECTIVE;
}

static int compare_calls(const void *left, const void *right)
{
    const struct watched_call *a = left, *b = right;
    if (a->site != b->site)
        return a->site < b->site ? -1 : 1;
    return (a->number > b->number) - (a->number < b->number);
}

/* Makes room for the sites that the program has by now. */
static void keep_sites(struct watching *watching)
{
    struct profile *profile = watching->profile;
    for (; !watching->no_memory && profile->n_sites < watching->program->n_sites; profile->n_sites++) {
        if (array_grow(&profile->sites, profile->n_sites, sizeof *profile->sites) != 0) {
            watching->no_memory = true;
            return;
        }
        const struct run_site *site = &watching->program->sites[profile->n_sites];
        const char *function = pool_clean(&profile->pool, site->function, strlen(site->function));
        watching->no_memory = function == NULL;
        profile->sites[profile->n_sites] = (struct profile_site){.function = function,
                                                                 .symbol = "",
                                                                 .file = "",
                                                                 .module = "",
                                                                 .name = "",
                                                                 .callers = "",
                                                                 .callsite = site->callsite,
                                                                 .kind = PROFILE_OTHER};
        if (function != NULL)
            profile->sites[profile->n_sites].kind = profile_kind_of(function);
    }
}

static void end_rank(struct watching *watching)
{
    if (watching->n_calls == 0)
        return;
    keep_sites(watching);
    qsort(watching->calls, watching->n_calls, sizeof *watching->calls, compare_calls);
    for (size_t i = 0, end; i < watching->n_calls && !watching->no_memory; i = end) {
        for (end = i + 1; end < watching->n_calls && watching->calls[end].site == watching->calls[i].site;)
            end++;
        add_cell(watching, watching->calls + i, end - i);
    }
    watching->n_calls = 0;
}

static void watch_call(void *context, const struct run_program *program, const struct run_call *call)
{
    struct watching *watching = context;
    const double *part_s = call->part_s.part_s;
    watching->program = program;
    if (call->rank != watching->rank)
        end_rank(watching);
    watching->rank = call->rank;
    if (watching->no_memory ||
        array_reserve(&watching->calls, &watching->capacity, watching->n_calls + 1, sizeof *watching->calls) != 0) {
        watching->no_memory = true;
        return;
    }
    struct watched_call *kept = &watching->calls[watching->n_calls];
    double wait_s = part_s[RUN_LATE_SENDER] + part_s[RUN_LATE_RECEIVER] + part_s[RUN_COLLECTIVE_WAIT];
    *kept = (struct watched_call){.site = call->site, .number = (uint32_t)watching->n_calls};
    kept->part_s[PROFILE_COMPUTATION] = part_s[RUN_COMPUTATION];
    kept->part_s[PROFILE_WAIT] = wait_s;
    kept->part_s[PROFILE_CALL] = fmax(call->end_s - call->begin_s - wait_s, 0);
    kept->collective = part_s[RUN_COLLECTIVE_WAIT] + part_s[RUN_COLLECTIVE_TRANSFER] > 0;
    watching->n_calls++;
}

static int compare_ids(const void *left, const void *right)
{
    int64_t a = ((const struct profile_site *)left)->callsite, b = ((const struct profile_site *)right)->callsite;
    return (a > b) - (a < b);
}

/* Fills in what the table callsite says of the sites. */
static int name_sites(struct profile *profile, sqlite3 *database, struct error *error)
{
    struct cursor rows;
    struct profile_site *places = NULL;
    size_t n = 0;
    cursor_open(&rows, database, profile->path,
                "SELECT c.id, function, c.file, c.line, module, offset, s.name, s.callers FROM callsite c JOIN site s "
                "ON s.id = c.id ORDER BY c.id",
                error);
    while (cursor_next(&rows)) {
        if (array_grow(&places, n, sizeof *places) != 0) {
            cursor_no_memory(&rows);
            break;
        }
        places[n++] = (struct profile_site){.callsite = cursor_integer(&rows, 0),
                                            .symbol = cursor_text(&rows, 1, &profile->pool),
                                            .file = cursor_text(&rows, 2, &profile->pool),
                                            .line = cursor_integer(&rows, 3),
                                            .module = cursor_text(&rows, 4, &profile->pool),
                                            .offset = cursor_integer(&rows, 5),
                                            .name = cursor_text(&rows, 6, &profile->pool),
                                            .callers = cursor_text(&rows, 7, &profile->pool)};
    }
    int result = cursor_close(&rows);
    for (size_t i = 0; n > 0 && result == 0 && i < profile->n_sites; i++) {
        struct profile_site *site = &profile->sites[i];
        const struct profile_site *place = bsearch(site, places, n, sizeof *places, compare_ids);
        if (place == NULL)
            continue;
        const char *function = site->function;
        enum profile_kind kind = site->kind;
        *site = *place;
        site->function = function;
        site->kind = kind;
    }
    free(places);
    return result;
}

int profile_read_calls(struct profile *profile, sqlite3 *database, struct error *error)
{
    struct run_program program = {0};
    struct watching watching = {.profile = profile};
    struct run_watch watch = {watch_call, &watching};
    int result = run_program_watch(database, profile->path, NULL, &watch, &program, error);
    if (result == 0) {
        end_rank(&watching);
        run_program_release(&program);
        result = watching.no_memory ? error_set(error, "%s: no memory for its calls", profile->path)
                                    : name_sites(profile, database, error);
    }
    free(watching.calls);
    free(watching.values);
    return result;
}
