/* Finds a call site that is reached late, whichever rank runs it: others wait for most of what ranks compute before it,
 * nearly each time, and other sites that post the same way are not late. */
#include <inttypes.h>

#include "report/diagnose/site_sums.h"

#define LATE_CALLS 0.6  /* of its calls that are late, at least */
#define AWAITED    0.5  /* of its computation for which others wait, at least */
#define LIKE       0.25 /* of its cost a call that one of another site may have, at most */

enum { LEAST_LATE = 4 };

int late_site_find(struct diagnosis *diagnosis, const struct site_sums *sums, uint64_t like_calls, double like_cost_s)
{
    uint64_t n_ranks = 0;
    for (size_t i = 0; i < sums->n_ranks; i++)
        n_ranks += sums->ranks[i].late > 0;
    if (sums->late < LEAST_LATE || (double)sums->late < LATE_CALLS * (double)sums->calls ||
        sums->direct_s < AWAITED * sums->computed_s || like_calls < LEAST_LATE ||
        like_cost_s / (double)like_calls > LIKE * sums->cost_s / (double)sums->calls)
        return 0;
    struct finding finding = {.kind = FINDING_LATE_SITE, .rank = -1, .partner = -1, .cost_s = sums->cost_s};
    char site[DIAGNOSIS_TEXT], waited[DIAGNOSIS_TEXT];
    if (diagnosis_name_site(diagnosis, sums->site, &finding, site) != 0)
        return -1;
    return diagnosis_add(diagnosis, finding,
                         "%s is reached late in %" PRIu64 " of %" PRIu64 " calls, by %" PRIu64
                         " rank%s; others wait %s for it, %.0f %% of all time",
                         site, sums->late, sums->calls, n_ranks, n_ranks == 1 ? "" : "s",
                         diagnosis_seconds(waited, sums->cost_s), 100 * sums->cost_s / diagnosis->all_s);
}
