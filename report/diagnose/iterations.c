/* Finds iterations that take longer, whoever waits for whom: a single one that stands out, and all of them from a
 * moment on. Iterations are the occurrences of a region that all ranks enter equally often and all over the run; where
 * there is none such, or nothing is found by it, what lies between the ends of a call that all ranks make so. Of
 * several regions or lines that with the fewest counts, which is the outermost loop.
 *
 * Other load on processors makes iterations longer, too, but seldom all of them. So of a stretch of the run the fastest
 * iteration counts; none behind the moment may be as fast as those before it; and a rank whose processor was taken
 * meanwhile (table counter) is not named. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/diagnose/diagnosis.h"
#include "share/base/memory.h"
#include "share/base/statistics.h"

enum {
    ITERATIONS_LEAST = 24, /* fewer are none */
    ITERATION_BLOCKS = 16, /* stretches of the run that are held against each other, of 4 iterations and more */
    LEAST_BLOCKS = 3,      /* on either side of the moment */
};
/* Least share of the run that lies between the first and the last of these calls. */
#define ITERATIONS_SPAN 0.5
/* By what part iterations must be longer behind the moment, and the part of the stretches before it that may be as
 * long. */
#define SLOWER_BY 0.05
#define DISTURBED 0.25
/* How many times the median a single iteration must take, and how far beyond the next longest one it must stand. */
#define SLOW_TIMES 3.0
#define SLOW_ALONE 3.0
/* Least time by which a single iteration is longer, and that the run goes on behind a moment, in s. On a quiet machine
 * 150 jobs with nothing planted had single ones of 12 ms more, and two ranks on one processor for up to 0.3 s, before
 * the kernel moved one of them. */
#define SLOW_MORE_S    0.03
#define SLOWER_LASTS_S 0.5
/* How many times what a single iteration costs a late rank may cost: is it more, the rank is late besides. */
#define SLOW_PART 2.0
/* Part of what is longer that a rank or a call must have, to be its cause, and that a processor taken away may have. */
#define CAUSE_PART 0.5

struct iterations {
    uint32_t site;
    const char *region;      /* whose occurrences they are; NULL: they lie between calls of the site */
    size_t n, n_calls;       /* n_calls: how often the site, or the region, comes on each rank */
    double *from_s, *to_s;   /* [n_strands * n] on each strand */
    double *begin_s, *end_s; /* [n] on all; of a site: when the last rank has left the call */
    double *length_s;        /* [n] of a region: on the rank where it is longest */
    double *sorted;          /* [n] for whoever needs it */
};

/* Finds the line. Returns false where there is none. */
static bool find_site(const struct diagnosis *diagnosis, struct iterations *iterations)
{
    const struct run_program *program = &diagnosis->program;
    uint32_t *least = xmalloc((program->n_sites + 1) * sizeof *least), *most = xcalloc(program->n_sites, sizeof *most);
    double *first_s = xcalloc(program->n_sites, sizeof *first_s), *last_s = xcalloc(program->n_sites, sizeof *last_s);
    double run_s = diagnosis->recorded.end_s - diagnosis->recorded.begin_s;
    uint32_t found = UINT32_MAX;
    for (size_t i = 0; i < program->n_sites; i++)
        least[i] = UINT32_MAX;
    for (size_t i = 0; i < program->n_places; i++) {
        uint32_t site = program->places[i].site, calls = diagnosis->places[i].calls;
        least[site] = calls < least[site] ? calls : least[site];
        most[site] = calls > most[site] ? calls : most[site];
    }
    for (size_t i = diagnosis->first_call[1]; i-- > diagnosis->first_call[0];) {
        const struct run_timed_call *call = &diagnosis->calls->rows[i];
        uint32_t site = diagnosis_site_of_step(diagnosis, call->first_step);
        first_s[site] = call->begin_s;
        last_s[site] = last_s[site] > 0 ? last_s[site] : diagnosis_call_end_s(call);
    }
    for (uint32_t i = 0; i < program->n_sites; i++)
        if (diagnosis->sites[i].n_ranks == program->n_ranks && least[i] == most[i] && most[i] > ITERATIONS_LEAST &&
            last_s[i] - first_s[i] >= ITERATIONS_SPAN * run_s && (found == UINT32_MAX || most[i] < most[found]))
            found = i;
    if (found != UINT32_MAX)
        *iterations = (struct iterations){.site = found, .n = most[found] - 1, .n_calls = most[found]};
    free(least);
    free(most);
    free(first_s);
    free(last_s);
    return found != UINT32_MAX;
}

static void allocate_iterations(const struct diagnosis *diagnosis, struct iterations *iterations)
{
    size_t n = iterations->n, n_strands = diagnosis->program.n_strands;
    iterations->from_s = xcalloc(n_strands * n, sizeof *iterations->from_s);
    iterations->to_s = xcalloc(n_strands * n, sizeof *iterations->to_s);
    iterations->begin_s = xcalloc(n, sizeof *iterations->begin_s);
    iterations->end_s = xcalloc(n, sizeof *iterations->end_s);
    iterations->length_s = xcalloc(n, sizeof *iterations->length_s);
    iterations->sorted = xcalloc(n, sizeof *iterations->sorted);
}

static void release_iterations(struct iterations *iterations)
{
    FREE_ALL(iterations->from_s, iterations->to_s, iterations->begin_s, iterations->end_s, iterations->length_s,
             iterations->sorted);
}

/* Finds how long iterations between calls take. Returns false where a rank's calls do not fit. */
static bool time_iterations(const struct diagnosis *diagnosis, struct iterations *iterations)
{
    size_t n = iterations->n;
    allocate_iterations(diagnosis, iterations);
    for (size_t i = 0; i < n; i++)
        iterations->begin_s[i] = iterations->end_s[i] = -INFINITY;
    for (size_t strand = 0; strand < diagnosis->program.n_strands; strand++) {
        double *from_s = iterations->from_s + strand * n, *to_s = iterations->to_s + strand * n;
        size_t nth = 0;
        for (size_t i = diagnosis->first_call[strand]; i < diagnosis->first_call[strand + 1]; i++) {
            const struct run_timed_call *call = &diagnosis->calls->rows[i];
            if (diagnosis_site_of_step(diagnosis, call->first_step) != iterations->site)
                continue;
            if (nth > n)
                return false;
            double end_s = diagnosis_call_end_s(call);
            if (nth < n) {
                from_s[nth] = end_s;
                iterations->begin_s[nth] = fmax(iterations->begin_s[nth], end_s);
            }
            if (nth > 0) {
                to_s[nth - 1] = end_s;
                iterations->end_s[nth - 1] = fmax(iterations->end_s[nth - 1], end_s);
            }
            nth++;
        }
        if (nth != n + 1)
            return false;
    }
    for (size_t i = 0; i < n; i++)
        iterations->length_s[i] = fmax(iterations->end_s[i] - iterations->begin_s[i], 0);
    return true;
}

/* Finds how long the occurrences of a region take. Returns false where they have no rows on all ranks, lie side by
 * side, or are not all over the run. */
static bool time_occurrences(const struct diagnosis *diagnosis, struct iterations *iterations, int64_t region)
{
    struct cursor rows;
    struct error ignored = {0};
    size_t n = iterations->n, *nth = xcalloc(diagnosis->program.n_ranks, sizeof *nth), n_all = 0;
    bool fits = true;
    allocate_iterations(diagnosis, iterations);
    for (size_t i = 0; i < n; i++) {
        iterations->begin_s[i] = INFINITY;
        iterations->end_s[i] = -INFINITY;
    }
    cursor_open(&rows, diagnosis->database, diagnosis->path,
                "SELECT rank, begin_ns * 1e-9, end_ns * 1e-9 FROM occurrence WHERE region = ?1 AND NOT unended "
                "ORDER BY rank, begin_ns",
                &ignored);
    cursor_bind(&rows, "i", region);
    while (fits && cursor_next(&rows)) {
        int64_t rank = cursor_integer(&rows, 0);
        double begin_s = cursor_real(&rows, 1), end_s = cursor_real(&rows, 2);
        if (rank < 0 || (size_t)rank >= diagnosis->program.n_ranks || nth[rank] == n) {
            fits = false;
            break;
        }
        size_t i = nth[rank]++, at = (size_t)rank * n + i; /* a rank has one strand */
        fits = i == 0 || iterations->to_s[at - 1] <= begin_s;
        iterations->from_s[at] = begin_s;
        iterations->to_s[at] = end_s;
        iterations->begin_s[i] = fmin(iterations->begin_s[i], begin_s);
        iterations->end_s[i] = fmax(iterations->end_s[i], end_s);
        iterations->length_s[i] = fmax(iterations->length_s[i], end_s - begin_s);
        n_all++;
    }
    cursor_close(&rows);
    free(nth);
    return fits && n_all == n * diagnosis->program.n_ranks &&
           iterations->end_s[n - 1] - iterations->begin_s[0] >=
               ITERATIONS_SPAN * (diagnosis->recorded.end_s - diagnosis->recorded.begin_s);
}

/* What a strand does in iterations: computation before calls, or time inside them. site UINT32_MAX: of all. Computation
 * behind the last call of an iteration counts for the call that follows. */
static void sum_series(const struct diagnosis *diagnosis, const struct iterations *iterations, uint32_t strand,
                       uint32_t site, bool inside, double *series_s)
{
    size_t n = iterations->n, nth = 0;
    const double *from_s = iterations->from_s + strand * n, *to_s = iterations->to_s + strand * n;
    memset(series_s, 0, n * sizeof *series_s);
    for (size_t i = diagnosis->first_call[strand]; i < diagnosis->first_call[strand + 1] && nth < n; i++) {
        const struct run_timed_call *call = &diagnosis->calls->rows[i];
        double end_s = diagnosis_call_end_s(call),
               computed_s = call->begin_s - diagnosis_before_s(diagnosis, strand, i);
        bool counts = site == UINT32_MAX || diagnosis_site_of_step(diagnosis, call->first_step) == site;
        for (; nth < n && to_s[nth] < end_s; nth++) /* what it computed in those that are over by now */
            if (counts && !inside)
                series_s[nth] += fmax(fmin(call->begin_s, to_s[nth]) - fmax(computed_s, from_s[nth]), 0);
        if (nth == n || !counts)
            continue;
        if (!inside)
            series_s[nth] += fmax(call->begin_s - fmax(computed_s, from_s[nth]), 0);
        else if (call->begin_s >= from_s[nth])
            series_s[nth] += fmax((double)call->rest_s, 0);
    }
}

static double fastest_of(const double *values, size_t from, size_t end)
{
    double least_s = INFINITY;
    for (size_t i = from; i < end; i++)
        least_s = fmin(least_s, values[i]);
    return least_s;
}

/* Fills fast[ITERATION_BLOCKS] with the fastest of each block. */
static void find_fastest(const struct iterations *iterations, const double *values, double *fast)
{
    for (size_t i = 0; i < ITERATION_BLOCKS; i++)
        fast[i] = fastest_of(values, i * iterations->n / ITERATION_BLOCKS, (i + 1) * iterations->n / ITERATION_BLOCKS);
}

/* Returns the median of the fastest of blocks [first, end). */
static double fast_of_blocks(const struct iterations *iterations, const double *values, size_t first, size_t end)
{
    double fast[ITERATION_BLOCKS];
    find_fastest(iterations, values, fast);
    return unsorted_median(fast + first, end - first);
}

/* Returns the nanoseconds for which a rank's processor was taken from begin to end, as far as windows of the table
 * counter that lie inside say; 0: not known. */
static double taken_s(const struct diagnosis *diagnosis, uint32_t rank, double begin_s, double end_s)
{
    struct cursor rows;
    struct error ignored = {0};
    double seconds = 0;
    cursor_open(&rows, diagnosis->database, diagnosis->path,
                "SELECT total(wait_ns) * 1e-9 FROM counter WHERE rank = ?1 AND begin_ns >= ?2 AND end_ns <= ?3",
                &ignored);
    cursor_bind(&rows, "iii", (int64_t)rank, (int64_t)(begin_s * 1e9), (int64_t)(end_s * 1e9));
    if (cursor_next(&rows))
        seconds = cursor_real(&rows, 0);
    cursor_close(&rows);
    return seconds > 0 ? seconds : 0;
}

/* Who makes iterations longer, and before or in which call. */
struct iteration_cause {
    uint32_t rank, site, strand;
    size_t n_ranks; /* that compute longer by CAUSE_PART of what is longer */
    double more_s;  /* computation of the rank that computes longest, or the call's time */
    bool inside;    /* in the call, not before it */
};

/* A difference between two sets of iterations: from one to the other something takes longer. */
struct iteration_change {
    size_t first, middle, end; /* blocks [first, middle) before, [middle, end) behind; middle 0: one iteration, nth */
    size_t nth;
    double more_s;
};

static double change_of(const struct iterations *iterations, const struct iteration_change *change,
                        const double *series_s)
{
    if (change->middle > 0)
        return fast_of_blocks(iterations, series_s, change->middle, change->end) -
               fast_of_blocks(iterations, series_s, change->first, change->middle);
    memcpy(iterations->sorted, series_s, iterations->n * sizeof *series_s);
    return series_s[change->nth] - unsorted_median(iterations->sorted, iterations->n);
}

/* Finds the site at which a strand's time grows most. */
static uint32_t find_cause_site(const struct diagnosis *diagnosis, const struct iterations *iterations,
                                const struct iteration_change *change, uint32_t strand, bool inside, double *most_s)
{
    const struct run_program *program = &diagnosis->program;
    double *series_s = xcalloc(iterations->n, sizeof *series_s);
    uint32_t found = UINT32_MAX;
    *most_s = 0;
    for (size_t i = 0; i < program->n_places; i++) {
        if (program->places[i].rank != program->strands[strand].rank || diagnosis->places[i].calls == 0)
            continue;
        sum_series(diagnosis, iterations, strand, program->places[i].site, inside, series_s);
        double more_s = change_of(iterations, change, series_s);
        if (more_s > *most_s) {
            *most_s = more_s;
            found = program->places[i].site;
        }
    }
    free(series_s);
    return found;
}

/* Finds who is the cause of a change. Returns false where nobody is known to be. */
static bool find_cause(const struct diagnosis *diagnosis, const struct iterations *iterations,
                       const struct iteration_change *change, struct iteration_cause *cause)
{
    const struct run_program *program = &diagnosis->program;
    double *series_s = xcalloc(iterations->n, sizeof *series_s), least_s = INFINITY, site_s;
    uint32_t fastest = 0;
    *cause = (struct iteration_cause){.site = UINT32_MAX};
    for (uint32_t strand = 0; strand < program->n_strands; strand++) {
        sum_series(diagnosis, iterations, strand, UINT32_MAX, false, series_s);
        double more_s = change_of(iterations, change, series_s);
        cause->n_ranks += more_s >= CAUSE_PART * change->more_s;
        if (more_s > cause->more_s) {
            cause->more_s = more_s;
            cause->strand = strand;
        }
        if (more_s < least_s) {
            least_s = more_s;
            fastest = strand;
        }
    }
    free(series_s);
    if (cause->n_ranks == 0) { /* the calls themselves: what they take behind all waits */
        cause->inside = true;
        cause->strand = fastest;
    }
    cause->site = find_cause_site(diagnosis, iterations, change, cause->strand, cause->inside, &site_s);
    cause->rank = program->strands[cause->strand].rank;
    if (cause->inside)
        cause->more_s = site_s;
    return cause->site != UINT32_MAX && site_s >= CAUSE_PART * change->more_s;
}

/* Lets what a strand does at the site take part[nth] of its time in each iteration. What it computes there before a
 * call behind an iteration counts as well, as in sum_series(). */
static void mend_iterations(const struct diagnosis *diagnosis, const struct iterations *iterations, uint32_t strand,
                            const struct iteration_cause *cause, const double *part, struct run_mend *mend)
{
    size_t n = iterations->n, first = 0;
    const double *from_s = iterations->from_s + strand * n, *to_s = iterations->to_s + strand * n;
    for (size_t i = diagnosis->first_call[strand]; i < diagnosis->first_call[strand + 1] && first < n; i++) {
        const struct run_timed_call *call = &diagnosis->calls->rows[i];
        double before_s = diagnosis_before_s(diagnosis, strand, i), computed_s = call->begin_s - before_s, less_s = 0;
        while (first < n && to_s[first] <= computed_s)
            first++;
        if (diagnosis_site_of_step(diagnosis, call->first_step) != cause->site)
            continue;
        size_t nth = first;
        for (; !cause->inside && nth < n && from_s[nth] < call->begin_s; nth++)
            less_s += (1 - part[nth]) * fmax(fmin(call->begin_s, to_s[nth]) - fmax(computed_s, from_s[nth]), 0);
        if (less_s > 0)
            mend_call(mend, i, before_s - less_s, INFINITY);
        for (; cause->inside && nth < n && to_s[nth] < diagnosis_call_end_s(call);)
            nth++;
        if (cause->inside && nth < n && call->begin_s >= from_s[nth] && call->rest_s > 0 && part[nth] < 1)
            mend_call(mend, i, INFINITY, part[nth] * (double)call->rest_s);
    }
}

/* Lets a single iteration take as long as the median of all; those behind a moment take less by what their median, of
 * calls the fast ones, is longer there, but no less than is usual before it. */
static struct run_mend *mend_cause(const struct diagnosis *diagnosis, const struct iterations *iterations,
                                   const struct iteration_change *change, const struct iteration_cause *cause)
{
    const struct run_program *program = &diagnosis->program;
    bool is_single = change->middle == 0;
    size_t n = iterations->n, from = is_single ? change->nth : change->middle * n / ITERATION_BLOCKS;
    struct run_mend *mend = mend_new();
    double *series_s = xcalloc(n, sizeof *series_s), *sorted = iterations->sorted;
    for (uint32_t strand = 0; strand < program->n_strands; strand++) {
        if (!cause->inside && cause->n_ranks == 1 && strand != cause->strand)
            continue;
        sum_series(diagnosis, iterations, strand, cause->site, cause->inside, series_s);
        memcpy(sorted, series_s, n * sizeof *sorted);
        double slow_s = is_single ? series_s[from] : unsorted_median(sorted + from, n - from);
        double usual_s = unsorted_median(sorted, is_single ? n : from);
        double less_s = !is_single && cause->inside ? cause->more_s : fmax(slow_s - usual_s, 0);
        for (size_t i = 0; i < n; i++) {
            bool is_slow = (is_single ? i == from : i >= from) && series_s[i] > usual_s;
            series_s[i] = is_slow ? fmax(series_s[i] - less_s, usual_s) / series_s[i] : 1;
        }
        mend_iterations(diagnosis, iterations, strand, cause, series_s, mend);
    }
    free(series_s);
    return mend;
}

/* Says whether the diagnosis has named the rank already, or few with it, as one for which the others wait, and that
 * costs more than most_s, or as a root whose part says more. */
static bool is_named(const struct diagnosis *diagnosis, const struct iteration_cause *cause, double most_s)
{
    for (size_t i = 0; i < diagnosis->findings->n; i++) {
        const struct finding *other = &diagnosis->findings->rows[i];
        if (other->kind <= FINDING_ROOT_PART && !cause->inside && cause->n_ranks == 1 && other->rank == cause->rank &&
            (other->kind == FINDING_ROOT_PART || other->cost_s > most_s))
            return true;
    }
    return false;
}

static const char *whose_work(const struct diagnosis *diagnosis, const struct iteration_cause *cause, char *text)
{
    if (cause->n_ranks == 1)
        snprintf(text, DIAGNOSIS_TEXT, "rank %" PRIu32, cause->rank);
    else if (cause->n_ranks == diagnosis->program.n_ranks)
        snprintf(text, DIAGNOSIS_TEXT, "all ranks");
    else
        snprintf(text, DIAGNOSIS_TEXT, "%zu ranks, rank %" PRIu32 " most,", cause->n_ranks, cause->rank);
    return text;
}

/* Adds the one iteration that stands out, if there is one. */
static int slow_iteration_find(struct diagnosis *diagnosis, const struct iterations *iterations)
{
    size_t n = iterations->n, longest = 0;
    double next_s = 0;
    for (size_t i = 1; i < n; i++)
        longest = iterations->length_s[i] > iterations->length_s[longest] ? i : longest;
    for (size_t i = 0; i < n; i++)
        next_s = i != longest ? fmax(next_s, iterations->length_s[i]) : next_s;
    memcpy(iterations->sorted, iterations->length_s, n * sizeof *iterations->sorted);
    double median_s = unsorted_median(iterations->sorted, n), whole_s = iterations->length_s[longest];
    struct iteration_change change = {.nth = longest, .more_s = whole_s - median_s};
    struct iteration_cause cause;
    if (!(whole_s >= SLOW_TIMES * median_s) || change.more_s < SLOW_MORE_S ||
        change.more_s < SLOW_ALONE * (next_s - median_s) ||
        change.more_s < FINDING_LEAST_SHARE * diagnosis->all_s / (double)diagnosis->program.n_ranks ||
        !find_cause(diagnosis, iterations, &change, &cause) ||
        is_named(diagnosis, &cause, SLOW_PART * change.more_s * (double)diagnosis->program.n_ranks))
        return 0;
    if (!cause.inside && taken_s(diagnosis, cause.rank, iterations->begin_s[longest], iterations->end_s[longest]) >=
                             CAUSE_PART * change.more_s)
        return 0;
    struct finding finding =
        diagnosis_finding(FINDING_SLOW_ITERATION, change.more_s * (double)diagnosis->program.n_ranks);
    char text[DIAGNOSIS_TEXT], who[DIAGNOSIS_TEXT], more[DIAGNOSIS_TEXT], usual[DIAGNOSIS_TEXT];
    if (diagnosis_name_site(diagnosis, cause.site, &finding, text) != 0)
        return -1;
    finding.rank = cause.inside || cause.n_ranks != 1 ? -1 : (int64_t)cause.rank;
    finding.begin_s = diagnosis_when_s(diagnosis, iterations->begin_s[longest]);
    finding.end_s = diagnosis_when_s(diagnosis, iterations->end_s[longest]);
    finding.mend = mend_cause(diagnosis, iterations, &change, &cause);
    return diagnosis_add(diagnosis, finding, "%s %zu of %zu%s%s, at %.3g s, takes %s, others %s: %s%s %s",
                         iterations->region != NULL ? "occurrence" : "iteration", longest + 1, n,
                         iterations->region != NULL ? " of " : "", iterations->region != NULL ? iterations->region : "",
                         finding.begin_s, diagnosis_seconds(more, whole_s), diagnosis_seconds(usual, median_s),
                         cause.inside ? "in" : whose_work(diagnosis, &cause, who), cause.inside ? "" : " before", text);
}

/* Finds the block from which on iterations take longer. Returns false where there is none. */
static bool find_moment(const struct iterations *iterations, struct iteration_change *change)
{
    double fast[ITERATION_BLOCKS], best_s = 0;
    find_fastest(iterations, iterations->length_s, fast);
    *change = (struct iteration_change){.first = 0, .end = ITERATION_BLOCKS};
    for (size_t middle = LEAST_BLOCKS; middle + LEAST_BLOCKS <= ITERATION_BLOCKS; middle++) {
        double before[ITERATION_BLOCKS], behind[ITERATION_BLOCKS];
        size_t n_behind = ITERATION_BLOCKS - middle, as_long = 0, as_fast = 0;
        memcpy(before, fast, middle * sizeof *fast);
        memcpy(behind, fast + middle, n_behind * sizeof *fast);
        double before_s = unsorted_median(before, middle), behind_s = unsorted_median(behind, n_behind);
        double between_s = (before_s + behind_s) / 2;
        for (size_t i = 0; i < middle; i++)
            as_long += fast[i] >= between_s;
        for (size_t i = middle; i < ITERATION_BLOCKS; i++)
            as_fast += fast[i] <= between_s;
        /* Of two moments the one that parts them better: what lies between the means, by how many are on its sides. */
        double parted_s = (behind_s - before_s) * sqrt((double)middle * (double)n_behind);
        if (as_fast == 0 && (double)as_long <= DISTURBED * (double)middle &&
            behind_s - before_s >= SLOWER_BY * before_s && parted_s > best_s) {
            best_s = parted_s;
            change->middle = middle;
            change->more_s = behind_s - before_s;
        }
    }
    return change->middle > 0;
}

/* Adds that iterations take longer from a moment on. */
static int slower_find(struct diagnosis *diagnosis, const struct iterations *iterations)
{
    struct iteration_change change;
    struct iteration_cause cause;
    if (iterations->n < (size_t)4 * ITERATION_BLOCKS || !find_moment(iterations, &change))
        return 0;
    size_t from = change.middle * iterations->n / ITERATION_BLOCKS, n_behind = iterations->n - from;
    double loss_s = change.more_s * (double)n_behind, from_s = iterations->begin_s[from];
    double end_s = iterations->end_s[iterations->n - 1];
    if (end_s - from_s < SLOWER_LASTS_S ||
        loss_s < FINDING_LEAST_SHARE * diagnosis->all_s / (double)diagnosis->program.n_ranks ||
        !find_cause(diagnosis, iterations, &change, &cause) || is_named(diagnosis, &cause, 0))
        return 0;
    /* Was the processor taken for so much longer behind the moment than before it? */
    double before_s = taken_s(diagnosis, cause.rank, iterations->begin_s[0], from_s) / (double)from;
    double behind_s = taken_s(diagnosis, cause.rank, from_s, end_s) / (double)n_behind;
    if (!cause.inside && behind_s - before_s >= CAUSE_PART * change.more_s)
        return 0;
    struct finding finding = diagnosis_finding(FINDING_SLOWER, loss_s * (double)diagnosis->program.n_ranks);
    char text[DIAGNOSIS_TEXT], who[DIAGNOSIS_TEXT], more[DIAGNOSIS_TEXT];
    if (diagnosis_name_site(diagnosis, cause.site, &finding, text) != 0)
        return -1;
    double usual_s = fast_of_blocks(iterations, iterations->length_s, 0, change.middle);
    finding.rank = cause.inside || cause.n_ranks != 1 ? -1 : (int64_t)cause.rank;
    finding.begin_s = diagnosis_when_s(diagnosis, from_s);
    finding.end_s = diagnosis_when_s(diagnosis, end_s);
    finding.mend = mend_cause(diagnosis, iterations, &change, &cause);
    diagnosis_seconds(more, change.more_s);
    const char *whose = cause.inside ? "in" : whose_work(diagnosis, &cause, who),
               *before = cause.inside ? "" : " before";
    if (iterations->region == NULL)
        return diagnosis_add(diagnosis, finding, "from %.3g s on iterations take %s longer, %.0f %%: %s%s %s",
                             finding.begin_s, more, 100 * change.more_s / usual_s, whose, before, text);
    return diagnosis_add(diagnosis, finding,
                         "from %.3g s on the last %.0f %% of the occurrences of %s are %.0f %% slower, by %s: %s%s %s",
                         finding.begin_s, 100 * (double)n_behind / (double)iterations->n, iterations->region,
                         100 * change.more_s / usual_s, more, whose, before, text);
}

/* Adds what it finds in these iterations. */
static int judge_iterations(struct diagnosis *diagnosis, const struct iterations *iterations)
{
    int result = slow_iteration_find(diagnosis, iterations);
    return result == 0 ? slower_find(diagnosis, iterations) : result;
}

enum { REGIONS_TRIED = 4 };

/* Goes by the occurrences of the first region that fits. */
static int judge_regions(struct diagnosis *diagnosis)
{
    struct iterations found[REGIONS_TRIED];
    int64_t regions[REGIONS_TRIED];
    struct cursor rows;
    size_t n = 0;
    int result = 0;
    cursor_open(&rows, diagnosis->database, diagnosis->path,
                "SELECT r.id, CASE WHEN length(path) <= 32 THEN path WHEN length(name) <= 28 THEN '.../' || name "
                "ELSE substr(name, 1, 29) || '...' END, min(t.occurrences) FROM region_total t JOIN region r ON r.id = "
                "t.region GROUP BY r.id "
                "HAVING count(*) = ?1 AND min(t.occurrences) = max(t.occurrences) AND min(t.occurrences) > ?2 AND "
                "min(t.time_ns) > 0 ORDER BY min(t.occurrences), r.depth, r.id",
                diagnosis->error);
    cursor_bind(&rows, "ii", (int64_t)diagnosis->program.n_ranks, (int64_t)ITERATIONS_LEAST);
    for (; n < REGIONS_TRIED && cursor_next(&rows); n++) {
        regions[n] = cursor_integer(&rows, 0);
        found[n] = (struct iterations){.region = cursor_text(&rows, 1, diagnosis->pool),
                                       .n = (size_t)cursor_integer(&rows, 2),
                                       .n_calls = (size_t)cursor_integer(&rows, 2)};
    }
    if (cursor_close(&rows) != 0)
        return -1;
    bool fits = false;
    for (size_t i = 0; result == 0 && !fits && i < n; i++) {
        fits = time_occurrences(diagnosis, &found[i], regions[i]);
        if (fits)
            result = judge_iterations(diagnosis, &found[i]);
        release_iterations(&found[i]);
    }
    return result;
}

int diagnose_iterations(struct diagnosis *diagnosis)
{
    const struct run_program *program = &diagnosis->program;
    struct iterations iterations = {0};
    size_t n_findings = diagnosis->findings->n;
    if (program->n_bursts > 0 || program->n_strands != program->n_ranks || program->n_ranks == 0 ||
        diagnosis->calls->n == 0)
        return 0;
    int result = judge_regions(diagnosis);
    if (result != 0 || diagnosis->findings->n > n_findings || !find_site(diagnosis, &iterations))
        return result;
    if (time_iterations(diagnosis, &iterations))
        result = judge_iterations(diagnosis, &iterations);
    release_iterations(&iterations);
    return result;
}
