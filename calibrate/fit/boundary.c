/* Each search of a benchmark (samples of one n and launch) gives a boundary of its own: the cut with the fewest samples
 * on the wrong side, refused ones below it or taken ones from it on. Several searches are summed up by their median and
 * by their quantiles of 2.5 and 97.5 %.
 *
 * A search's true boundary lies in the gap between its largest taken and its smallest refused size, or, where refused
 * sizes lie below taken ones, in that overlap; a size that was both taken and refused belongs to it.
 *
 * fit_buffer makes a row of it: B of share/doc/MODELS.md, flow, the bytes that the transport takes without a receiver's
 * progress. The samples (calibrate/benchmark/buffer.c) are messages that were taken from the sender while the receiver
 * was paused, or refused. B is the largest size that is taken, so one byte less than the boundary, for each level. Its
 * interval shows how far the windows of a transport differ from pair to pair. */
#include "calibrate/fit/boundary.h"

#include <math.h>
#include <stdlib.h>

#include "calibrate/fit/fits.h"
#include "share/base/memory.h"
#include "share/base/statistics.h"

#define TAIL 0.025

struct boundary_outcome {
    uint32_t launch;
    uint64_t n;
    uint64_t bytes;
    bool taken;
};

static int compare_outcomes(const void *left, const void *right)
{
    const struct boundary_outcome *a = left, *b = right;
    int order = COMPARE(a->launch, b->launch);
    if (order == 0)
        order = COMPARE(a->n, b->n);
    return order != 0 ? order : COMPARE(a->bytes, b->bytes);
}

/* Returns the cut of one search, outcomes sorted by size; the smallest of equally good ones. */
static double best_cut(const struct boundary_outcome *outcomes, size_t n)
{
    size_t wrong = 0;
    for (size_t i = 0; i < n; i++)
        wrong += outcomes[i].taken;
    size_t fewest = wrong;
    double best = (double)outcomes[0].bytes;
    for (size_t first = 0, end; first < n; first = end) {
        for (end = first; end < n && outcomes[end].bytes == outcomes[first].bytes; end++)
            wrong = outcomes[end].taken ? wrong - 1 : wrong + 1;
        if (wrong < fewest) {
            fewest = wrong;
            best = end < n ? (double)outcomes[end].bytes : INFINITY;
        }
    }
    return best;
}

static struct boundary boundary_of(const struct boundary_outcome *outcomes, size_t n)
{
    double largest_taken = 0, smallest_refused = INFINITY;
    for (size_t i = 0; i < n; i++) {
        double bytes = (double)outcomes[i].bytes;
        if (outcomes[i].taken)
            largest_taken = bytes;
        else if (bytes < smallest_refused)
            smallest_refused = bytes;
    }
    double after_taken = largest_taken + 1; /* sizes are whole bytes */
    return (struct boundary){
        .bytes = best_cut(outcomes, n),
        .low = fmin(after_taken, smallest_refused),
        .high = fmax(after_taken, smallest_refused),
        .n_samples = n,
    };
}

static double median(const double *sorted, size_t n)
{
    double below = sorted[(n - 1) / 2], above = sorted[n / 2];
    return isinf(above) ? below : ceil((below + above) / 2);
}

/* Sorts values[n_searches] of one member. */
static double *column(const struct boundary *searches, size_t n_searches, size_t offset, double *values)
{
    for (size_t i = 0; i < n_searches; i++)
        values[i] = *(const double *)((const char *)&searches[i] + offset);
    sort_doubles(values, n_searches);
    return values;
}

static void sum_up(const struct boundary *searches, size_t n_searches, double *values, struct boundary *boundary)
{
    size_t tail = (size_t)(TAIL * (double)n_searches), end = n_searches - 1 - tail;
    *boundary = (struct boundary){.n_samples = 0};
    boundary->bytes = median(column(searches, n_searches, offsetof(struct boundary, bytes), values), n_searches);
    boundary->low = column(searches, n_searches, offsetof(struct boundary, low), values)[tail];
    boundary->high = column(searches, n_searches, offsetof(struct boundary, high), values)[end];
    for (size_t i = 0; i < n_searches; i++)
        boundary->n_samples += searches[i].n_samples;
}

/* Fills searches[n]; leaves out a search that the end of the time cut off before its first refusal, or its first taken
 * size, where others have both. Returns their number. */
static size_t boundaries_find(const struct boundary_outcome *outcomes, size_t n, struct boundary *searches)
{
    size_t n_searches = 0, n_whole = 0;
    for (size_t first = 0, end; first < n; first = end) {
        size_t taken = outcomes[first].taken;
        for (end = first + 1;
             end < n && outcomes[end].n == outcomes[first].n && outcomes[end].launch == outcomes[first].launch; end++)
            taken += outcomes[end].taken;
        bool whole = taken > 0 && taken < end - first;
        if (whole && n_whole++ == 0)
            n_searches = 0;
        if (whole || n_whole == 0)
            searches[n_searches++] = boundary_of(&outcomes[first], end - first);
    }
    return n_searches;
}

bool boundary_find(const struct samples *samples, enum benchmark benchmark, enum level level, struct boundary *boundary)
{
    size_t n = 0;
    struct boundary_outcome *outcomes = xcalloc(samples->n_samples, sizeof *outcomes);
    for (size_t i = 0; i < samples->n_samples; i++) {
        const struct sample *sample = &samples->samples[i];
        if (sample->benchmark == benchmark && sample->level == level &&
            (sample->variant == VARIANT_TAKEN || sample->variant == VARIANT_REFUSED))
            outcomes[n++] =
                (struct boundary_outcome){sample->launch, sample->n, sample->bytes, sample->variant == VARIANT_TAKEN};
    }
    if (n > 0) {
        struct boundary *searches = xcalloc(n, sizeof *searches);
        double *values = xcalloc(n, sizeof *values);
        qsort(outcomes, n, sizeof *outcomes, compare_outcomes);
        sum_up(searches, boundaries_find(outcomes, n, searches), values, boundary);
        free(searches);
        free(values);
    }
    free(outcomes);
    return n > 0;
}

void fit_buffer(const struct fit *fit)
{
    for (int level = 0; level < LEVEL_COUNT; level++) {
        struct boundary boundary;
        if (!boundary_find(fit->samples, BENCHMARK_BUFFER, (enum level)level, &boundary))
            continue;
        if (isinf(boundary.bytes))
            fit_note(fit->notes, "%s buffer: left out: the transport took all that was tried, up to %.0f B",
                     level_name[level], boundary.low - 1);
        else
            fit_row(fit->machine, (enum level)level, PROTOCOL_ANY, "buffer", MACHINE_NO_N,
                    (struct line_value){boundary.bytes - 1, boundary.low - 1, boundary.high - 1}, boundary.n_samples,
                    "boundary");
    }
}
