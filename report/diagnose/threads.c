/* Finds threads of a rank that are inside MPI at the same time and slow each other, since the MPI lets one after the
 * other. Calls are held against those of that site that had the MPI for themselves, without what they wait for other
 * ranks. Where there are none, the time that calls of several threads take at once, but one would not, must be a tenth
 * of all time: the partner's threads make each other late as well. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "report/diagnose/diagnosis.h"
#include "share/base/memory.h"
#include "share/base/order.h"
#include "share/base/statistics.h"

/* How many times as long calls must last as those without another thread beside them. */
#define THREAD_SLOWED 1.5
/* Share of all time where there is nothing to hold them against. */
#define THREAD_WITHOUT_LIKE 0.1

enum { THREAD_LEAST_LIKE = 16, THREAD_LEAST_CALLS = 64 };

struct thread_call {
    size_t call;
    uint32_t strand, site;
    double begin_s, end_s, rest_s;
};

struct thread_site {
    uint64_t n, alone;
    double rest_s, alone_s;
    double at_once_s; /* calls beside others, all but one */
};

static int threads_compare_begins(const void *left, const void *right)
{
    const struct thread_call *a = left, *b = right;
    return ORDER(a->begin_s, b->begin_s) ?: ORDER(a->strand, b->strand) ?: ORDER(a->call, b->call);
}

/* Sums the calls of a rank, by their begins; those that meet one of another thread apart from the others. */
static void threads_sum_rank(const struct thread_call *calls, size_t n, struct thread_site *sites)
{
    bool *meets = xcalloc(n, sizeof *meets);
    for (size_t i = 0, last = 0; i < n; i++) {
        if (i > 0 && calls[i].begin_s < calls[last].end_s && calls[i].strand != calls[last].strand) {
            meets[i] = meets[last] = true;
            sites[calls[i].site].at_once_s += fmin(calls[last].end_s, calls[i].end_s) - calls[i].begin_s;
        }
        if (i == 0 || calls[i].end_s > calls[last].end_s)
            last = i;
    }
    for (size_t i = 0; i < n; i++) {
        struct thread_site *site = &sites[calls[i].site];
        site->n += meets[i];
        site->rest_s += meets[i] ? calls[i].rest_s : 0;
        site->alone += !meets[i];
        site->alone_s += meets[i] ? 0 : calls[i].rest_s;
    }
    free(meets);
}

/* Returns what the fastest tenth of a site's calls takes at most, as part of the mean. */
static double threads_fast_part(const struct diagnosis *diagnosis, uint32_t site)
{
    double *rest_s = xcalloc(diagnosis->calls->n, sizeof *rest_s);
    size_t n = 0;
    for (size_t i = 0; i < diagnosis->calls->n; i++)
        if (diagnosis_site_of_step(diagnosis, diagnosis->calls->rows[i].first_step) == site)
            rest_s[n++] = fmax((double)diagnosis->calls->rows[i].rest_s, 0);
    sort_doubles(rest_s, n);
    double part = rest_s[n / 10] / mean_of(rest_s, n);
    free(rest_s);
    return part;
}

static int threads_judge(struct diagnosis *diagnosis, uint32_t site, const struct thread_site *sums)
{
    bool has_like = sums->alone >= THREAD_LEAST_LIKE;
    double like_s = has_like ? sums->alone_s / (double)sums->alone : 0;
    double cost_s = has_like ? sums->rest_s - like_s * (double)sums->n : sums->at_once_s;
    struct finding finding = diagnosis_finding(FINDING_THREADS_IN_TURN, cost_s);
    char text[DIAGNOSIS_TEXT], took[DIAGNOSIS_TEXT];
    if (sums->n < THREAD_LEAST_CALLS ||
        cost_s < (has_like ? FINDING_LEAST_SHARE : THREAD_WITHOUT_LIKE) * diagnosis->all_s ||
        (has_like && sums->rest_s < THREAD_SLOWED * like_s * (double)sums->n))
        return 0;
    if (diagnosis_name_site(diagnosis, site, &finding, text) != 0)
        return -1;
    finding.mend = mend_new();
    double part = threads_fast_part(diagnosis, site); /* calls beside none share processors with other ranks' threads */
    mend_rests(&diagnosis->program, finding.mend, site,
               has_like ? fmin(part, like_s * (double)sums->n / sums->rest_s) : part);
    return diagnosis_add(diagnosis, finding,
                         "threads of a rank are in %s at the same time and wait for each other: %" PRIu64
                         " calls, %s, %.0f %% of "
                         "all time",
                         text, sums->n, diagnosis_seconds(took, cost_s), 100 * cost_s / diagnosis->all_s);
}

int diagnose_threads(struct diagnosis *diagnosis)
{
    const struct run_program *program = &diagnosis->program;
    struct thread_site *sites = xcalloc(program->n_sites, sizeof *sites);
    struct thread_call *calls = NULL;
    int result = 0;
    for (uint32_t first = 0, end; first < program->n_strands; first = end) {
        size_t n = 0;
        for (end = first + 1; end < program->n_strands && program->strands[end].rank == program->strands[first].rank;)
            end++;
        if (end - first < 2)
            continue;
        calls = xcalloc(diagnosis->first_call[end] - diagnosis->first_call[first], sizeof *calls);
        for (uint32_t strand = first; strand < end; strand++)
            for (size_t i = diagnosis->first_call[strand]; i < diagnosis->first_call[strand + 1]; i++) {
                const struct run_timed_call *call = &diagnosis->calls->rows[i];
                calls[n++] = (struct thread_call){i,
                                                  strand,
                                                  diagnosis_site_of_step(diagnosis, call->first_step),
                                                  call->begin_s,
                                                  diagnosis_call_end_s(call),
                                                  fmax((double)call->rest_s, 0)};
            }
        if (n > 0)
            qsort(calls, n, sizeof *calls, threads_compare_begins);
        threads_sum_rank(calls, n, sites);
        free(calls);
    }
    for (uint32_t site = 0; result == 0 && site < program->n_sites; site++)
        result = threads_judge(diagnosis, site, &sites[site]);
    free(sites);
    return result;
}
