/* Finds call sites that send many small messages to the same ranks, each of which costs what one large one would.
 *
 * A message costs what its two calls take once both are posted: what a call waits for its partner is another finding.
 * Those that cannot travel with the one before, as they depend on an answer to it, save nothing. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "report/diagnose/diagnosis.h"
#include "report/diagnose/joined.h"

/* The calls must take so much of all ranks' time. */
#define LEAST_SHARE 0.05

enum { LEAST_MESSAGES = 100, MOST_SITES = 8 };

/* Sums the pairs of a call site. */
struct small_site {
    uint32_t site, src, dst; /* the lowest ranks */
    uint64_t n, small, pairs, joined;
    double bytes, call_s, joined_s; /* joined_s: of those that can travel with the one before */
};

static int add(struct diagnosis *diagnosis, const struct small_site *sums)
{
    struct finding finding = {.kind = FINDING_SMALL_MESSAGES,
                              .rank = sums->pairs == 1 ? (int64_t)sums->src : -1,
                              .partner = sums->pairs == 1 ? (int64_t)sums->dst : -1,
                              .cost_s = fmin(sums->joined_s, diagnosis->all_s)};
    char site[DIAGNOSIS_TEXT], bytes[DIAGNOSIS_TEXT], took[DIAGNOSIS_TEXT], some[DIAGNOSIS_TEXT] = "joining them";
    if (!(sums->joined_s >= LEAST_SHARE * diagnosis->all_s))
        return 0;
    if (sums->joined + sums->pairs < sums->n)
        snprintf(some, sizeof some, "joining the %" PRIu64 " that need no answer to the last", sums->joined);
    if (diagnosis_name_site(diagnosis, sums->site, &finding, site) != 0)
        return -1;
    return diagnosis_add(diagnosis, finding,
                         "%s sends %" PRIu64 " messages of %s between %" PRIu64
                         " pair%s of ranks; %s saves %s at most, %.0f %% of all time",
                         site, sums->n, diagnosis_bytes(bytes, sums->bytes / (double)sums->n), sums->pairs,
                         sums->pairs == 1 ? "" : "s", some, diagnosis_seconds(took, finding.cost_s),
                         100 * finding.cost_s / diagnosis->all_s);
}

static void sum_sites(const struct diagnosis *diagnosis, struct small_site *sites)
{
    for (size_t i = 0; i < diagnosis->program.n_sites; i++)
        sites[i] = (struct small_site){.site = (uint32_t)i, .src = UINT32_MAX, .dst = UINT32_MAX};
    for (size_t i = 0; i < diagnosis->pairs->n_rank_pairs; i++) {
        const struct rank_pair *pair = &diagnosis->pairs->rank_pairs[i];
        struct small_site *site = &sites[pair->site];
        site->src = pair->src < site->src ? pair->src : site->src;
        site->dst = pair->dst < site->dst ? pair->dst : site->dst;
        site->n += pair->n;
        site->small += pair->small;
        site->pairs++;
        site->bytes += pair->bytes;
        site->call_s += pair->call_ns * 1e-9;
        site->joined += pair->joined;
        site->joined_s += pair->call_ns * 1e-9 * (double)pair->joined / (double)pair->n;
    }
}

/* Says whether most of a site's messages are small, so that their median is, and their calls take time. */
static bool is_small(const struct diagnosis *diagnosis, const struct small_site *site)
{
    return 2 * site->small > site->n && site->n >= LEAST_MESSAGES * site->pairs &&
           site->call_s >= LEAST_SHARE * diagnosis->all_s;
}

static int compare_sites(const void *left, const void *right)
{
    const struct small_site *a = left, *b = right;
    if (a->joined_s < b->joined_s || a->joined_s > b->joined_s)
        return a->joined_s > b->joined_s ? -1 : 1;
    return a->site < b->site ? -1 : a->site > b->site;
}

int diagnose_small_messages(struct diagnosis *diagnosis)
{
    size_t n_sites = diagnosis->program.n_sites, n = 0;
    struct small_site *sites = malloc((n_sites + 1) * sizeof *sites);
    if (sites == NULL)
        return diagnosis_no_memory(diagnosis);
    sum_sites(diagnosis, sites);
    for (size_t i = 0; i < n_sites; i++)
        n += is_small(diagnosis, &sites[i]);
    int result = n > 0 && joined_count(&diagnosis->program, diagnosis->pairs) != 0 ? diagnosis_no_memory(diagnosis) : 0;
    if (n > 0)
        sum_sites(diagnosis, sites);
    n = 0;
    for (size_t i = 0; i < n_sites; i++)
        if (is_small(diagnosis, &sites[i]))
            sites[n++] = sites[i];
    if (n > 0)
        qsort(sites, n, sizeof *sites, compare_sites);
    for (size_t i = 0; result == 0 && i < n && i < MOST_SITES; i++)
        result = add(diagnosis, &sites[i]);
    free(sites);
    return result;
}
