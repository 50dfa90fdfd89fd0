/* Finds that computation before a call is divided unevenly among the ranks, the same way all the time.
 *
 * Of two halves of the calls, every other one in each, the rank that computes most in one is held against the others in
 * the other one. What that adds up to comes out as 0 on average where the ranks differ by chance. */
#include <inttypes.h>
#include <math.h>

#include "report/diagnose/site_sums.h"

/* Lasting differences must explain so much of the waiting. */
#define LASTING 0.5

enum { LEAST_CALLS = 4 };

static double half_of(const struct diagnosis *diagnosis, const struct site_rank *rank, size_t half)
{
    return diagnosis->places[rank->place].half_s[half] * (1 - diagnosis->busy_share[rank->rank]);
}

/* Returns how much longer the rank with most in one half computes in the other one than the others, added up. */
static double lasting_s(const struct diagnosis *diagnosis, const struct site_sums *sums, size_t half)
{
    const struct site_rank *most = &sums->ranks[0];
    for (size_t i = 1; i < sums->n_ranks; i++)
        if (half_of(diagnosis, &sums->ranks[i], 1 - half) > half_of(diagnosis, most, 1 - half))
            most = &sums->ranks[i];
    double sum_s = 0;
    for (size_t i = 0; i < sums->n_ranks; i++)
        sum_s += half_of(diagnosis, most, half) - half_of(diagnosis, &sums->ranks[i], half);
    return sum_s;
}

int imbalance_find(struct diagnosis *diagnosis, const struct site_sums *sums, bool *found)
{
    const struct site_rank *most = &sums->ranks[0], *least = most;
    double mean_s = sums->computed_s / (double)sums->n_ranks;
    for (size_t i = 1; i < sums->n_ranks; i++) {
        most = sums->ranks[i].computed_s > most->computed_s ? &sums->ranks[i] : most;
        least = sums->ranks[i].computed_s < least->computed_s ? &sums->ranks[i] : least;
    }
    if (sums->n_ranks < 2 || sums->n_ranks < diagnosis->program.n_ranks / 2 ||
        diagnosis->places[most->place].calls < LEAST_CALLS)
        return 0;
    double cost_s = fmin(lasting_s(diagnosis, sums, 0) + lasting_s(diagnosis, sums, 1), sums->cost_s);
    if (!(cost_s >= LASTING * sums->cost_s) || cost_s < FINDING_LEAST_SHARE * diagnosis->all_s)
        return 0;
    struct finding finding = {.kind = FINDING_IMBALANCE, .rank = most->rank, .partner = least->rank, .cost_s = cost_s};
    char site[DIAGNOSIS_TEXT], most_text[DIAGNOSIS_TEXT], least_text[DIAGNOSIS_TEXT], waited[DIAGNOSIS_TEXT];
    *found = true;
    if (diagnosis_name_site(diagnosis, sums->site, &finding, site) != 0)
        return -1;
    return diagnosis_add(diagnosis, finding,
                         "work before %s is uneven: %s on rank %" PRIu32 ", %s on rank %" PRIu32
                         ", load balance %.0f %%; ranks wait %s for it",
                         site, diagnosis_seconds(most_text, most->computed_s), most->rank,
                         diagnosis_seconds(least_text, least->computed_s), least->rank, 100 * mean_s / most->computed_s,
                         diagnosis_seconds(waited, cost_s));
}
